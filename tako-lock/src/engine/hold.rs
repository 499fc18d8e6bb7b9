//! A hold: one tenure of one lock, from the grant to its end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use scopeguard::ScopeGuard;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::loss::{Deadline, Standing};
use super::queue::{Slot, Turn};
use super::release::Release;
use super::scope::Scope;
use crate::backend::{BackendError, Fence, Owner, Record, StoreTime, Token};
use crate::clock::Moment;
use crate::error::{CancelCause, LossCause, Lost};

/// What the holder, its heartbeats and its context share.
pub(crate) struct Hold {
    pub(super) slot: Arc<Slot>,
    /// The hold that this one was taken under, for reentrancy and for `check`.
    pub(crate) outer: Option<Arc<Hold>>,
    pub(crate) fence: Fence,
    /// Tells holds apart where owners need not be compared.
    pub(super) number: u64,
    since: Moment,
    deadline: Deadline,
    lost: OnceLock<Lost>,
    draining: AtomicBool,
    cancel: Cancel,
    /// When the heartbeat is due that the engine's book has for this hold, if it has one. Guarded by the book's lock.
    pub(super) due: AtomicU64,
    /// Wakes a heartbeat in flight when the hold is over.
    pub(super) over: Notify,
    state: Mutex<State>,
}

/// Cancels the context of the user's code. The token is made when somebody first waits for it: most holds end
/// before anybody has.
struct Cancel {
    parent: CancellationToken,
    token: OnceLock<CancellationToken>,
}

/// What the next write of this hold starts from.
pub(super) struct State {
    /// Taken by the release.
    pub(super) version: Option<(Record, Token)>,
    /// The mark that the record goes back to, unless work is started under the hold.
    mark_before: Option<StoreTime>,
    pub(super) is_begun: bool,
    pub(super) last_error: Option<BackendError>,
}

/// What a campaign won.
pub(super) struct Grant {
    pub(super) record: Record,
    pub(super) mark_before: Option<StoreTime>,
    pub(super) token: Token,
    /// When it was known to be won.
    pub(super) since: Moment,
    pub(super) deadline: Moment,
}

impl Hold {
    /// A hold for code that runs under `scope`.
    pub(super) fn new(slot: Arc<Slot>, scope: &Scope, grant: Grant) -> Arc<Hold> {
        let Grant { record, mark_before, token, since, deadline } = grant;
        Arc::new(Hold {
            outer: scope.hold().cloned(),
            fence: record.fence,
            number: slot.shared.heartbeats.number(),
            since,
            deadline: Deadline::new(deadline),
            lost: OnceLock::new(),
            draining: AtomicBool::new(false),
            cancel: Cancel { parent: scope.token().clone(), token: OnceLock::new() },
            due: AtomicU64::new(0),
            over: Notify::new(),
            state: Mutex::new(State {
                version: Some((record, token)),
                mark_before,
                is_begun: false,
                last_error: None,
            }),
            slot,
        })
    }

    /// The token that the user's code can wait for. It is cancelled with the parent's and when the code should stop.
    pub(super) fn token(&self) -> &CancellationToken {
        let token = self.cancel.token.get_or_init(|| self.cancel.parent.child_token());
        // Whoever ends the hold marks it first and looks for a token after; this is the other half of that bargain.
        fence(Ordering::SeqCst);
        if self.fault().is_some() {
            token.cancel();
        }
        token
    }

    /// Whether the code was told to stop from outside: by the caller's context, or by its own.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.token.get().unwrap_or(&self.cancel.parent).is_cancelled()
    }

    /// Wakes whoever waits for the end. The end itself has been marked before.
    fn cancel(&self) {
        fence(Ordering::SeqCst);
        if let Some(token) = self.cancel.token.get() {
            token.cancel();
        }
        self.over.notify_one();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this hold wrote last, as far as it knows, and the version that it made; `None` once it is being released.
    pub(super) fn version(&self) -> Option<(Record, Token)> {
        self.state().version.clone()
    }

    /// The same, for the release, which is the last to write. A tick that was claimed and not started is nobody's again.
    pub(super) fn take_version(&self) -> Option<(Record, Token)> {
        let mut state = self.state();
        let (mut record, token) = state.version.take()?;
        if !state.is_begun {
            record.mark = state.mark_before;
        }
        Some((record, token))
    }

    /// A heartbeat stands in the record.
    pub(super) fn renewed(&self, mut record: Record, token: Token) {
        let mut state = self.state();
        state.last_error = None;
        if let Some(version) = &mut state.version {
            // It may have moved on while the heartbeat was on its way.
            record.mark = record.mark.max(version.0.mark);
            *version = (record, token);
        }
    }

    pub(crate) fn owner(&self) -> Option<Owner> {
        self.state().version.as_ref().map(|(record, _)| record.owner.clone())
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.deadline.get()
    }

    /// Looks at the clock. (I4: a starved task or a stopped process learns of its loss here, on its first look.)
    pub(super) fn standing(&self) -> Standing {
        let standing = self.deadline.standing(self.slot.shared.world.now());
        if standing == Standing::Lost {
            self.told_lost(None);
        }
        standing
    }

    pub(super) fn is_lost(&self) -> bool {
        self.standing() == Standing::Lost
    }

    pub(crate) fn is_live(&self) -> bool {
        self.standing() == Standing::Live
    }

    /// Why work under this hold should stop, if it should.
    pub(super) fn fault(&self) -> Option<HoldFault> {
        match self.standing() {
            Standing::Lost => Some(HoldFault::Lost(self.told_lost(None))),
            Standing::Ended => Some(HoldFault::Ended(CancelCause::Released)),
            Standing::Live if self.draining.load(Ordering::Acquire) => {
                Some(HoldFault::Ended(CancelCause::Shutdown))
            }
            Standing::Live => None,
        }
    }

    /// Moves the deadline on after a confirmed heartbeat; tells whether the hold is still live.
    pub(super) fn extend(&self, to: Moment) -> bool {
        match self.deadline.extend(self.slot.shared.world.now(), to) {
            Standing::Live => true,
            Standing::Ended => false,
            Standing::Lost => {
                self.told_lost(None);
                false
            }
        }
    }

    /// Ends the hold as lost.
    pub(super) fn lose(&self, cause: LossCause) {
        if self.deadline.lose() {
            self.told_lost(Some(cause));
        }
    }

    /// The one loss of this hold: tells the context and the log the first time.
    fn told_lost(&self, cause: Option<LossCause>) -> Lost {
        let mut is_news = false;
        let lost = self.lost.get_or_init(|| {
            is_news = true;
            let cause =
                cause.unwrap_or_else(|| LossCause::Expired { last_error: self.state().last_error.clone() });
            Lost::new(self.slot.name.clone(), self.fence, self.held_for(), cause)
        });
        if is_news {
            self.cancel();
            tracing::warn!(
                lock = &*self.slot.name,
                fence = self.fence.get(),
                held_for = ?lost.held_for(),
                cause = %lost.cause(),
                "lease lost"
            );
        }
        lost.clone()
    }

    /// Tells the user's code to stop, while heartbeats go on.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        if let Some(token) = self.cancel.token.get() {
            token.cancel();
        }
    }

    /// Ends the hold at `now` by its holder's will. After this it sends no heartbeat, and its context is over. It stays
    /// on the book until its release has been settled.
    fn end(&self, now: Moment) -> Result<(), Lost> {
        let standing = self.deadline.end(now);
        let ending = if standing == Standing::Lost { Err(self.told_lost(None)) } else { Ok(()) };
        if standing == Standing::Lost {
            self.slot.shared.heartbeats.strike(self);
        }
        self.cancel();
        ending
    }

    pub(super) fn since(&self) -> Moment {
        self.since
    }

    pub(super) fn held_for(&self) -> Duration {
        self.slot.shared.world.now().since(self.since)
    }
}

/// Why work under a hold should stop.
pub(super) enum HoldFault {
    Lost(Lost),
    Ended(CancelCause),
}

/// A hold with the turn that it was won in. However it is dropped, the lease is given back.
pub(crate) struct Tenure(ScopeGuard<Parts, fn(Parts)>);

struct Parts {
    hold: Arc<Hold>,
    turn: Turn,
}

impl Tenure {
    pub(super) fn new(hold: Arc<Hold>, turn: Turn) -> Tenure {
        // The caller's future was dropped, or the user's code panics: a release that is dropped goes on in the
        // background.
        Tenure(scopeguard::guard(Parts { hold, turn }, |parts| drop(parts.end())))
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.0.hold
    }

    /// Runs the user's code. Each time it is woken the clock is looked at first, so that a process that was
    /// stopped finds its context cancelled before any await of its own returns (I4).
    pub(crate) async fn watch<F: Future>(&self, mut work: Pin<&mut F>) -> F::Output {
        let hold = self.hold();
        // The grant itself was a look.
        let mut is_woken = false;
        poll_fn(|context| {
            if std::mem::replace(&mut is_woken, true) {
                hold.standing();
                hold.slot.shared.heartbeats.revive(&hold.slot.shared);
            }
            work.as_mut().poll(context)
        })
        .await
    }

    /// Ends the hold and gives the lease back.
    ///
    /// # Errors
    /// The lease was lost before its code ended.
    ///
    /// # Cancel safety
    /// The release goes on in the background.
    pub(crate) async fn finish(self) -> Result<(), Lost> {
        if let Some(release) = ScopeGuard::into_inner(self.0).end()?.and_then(Release::send) {
            // On the heap, as a campaign is.
            Box::pin(release.settle()).await;
        }
        Ok(())
    }
}

impl Parts {
    /// A lost hold writes no more (I9): its record is somebody else's, or runs out.
    fn end(self) -> Result<Option<Release>, Lost> {
        let Parts { hold, turn } = self;
        let now = hold.slot.shared.world.now();
        hold.end(now)?;
        Ok(Release::of_hold(hold, now, turn))
    }
}
