//! What a context stands for, as the engine sees it: how it can end, and what it holds.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::hold::{Hold, HoldFault};
use super::queue::Slot;
use crate::backend::Fence;
use crate::clock::Moment;
use crate::error::{CancelCause, Cancelled, LockError, Lost};
use crate::race::{Race, race};
use crate::world::World;

/// The engine's half of a context.
#[derive(Clone)]
pub(crate) struct Scope {
    source: Source,
    limit: Option<Limit>,
}

/// What cancels a scope, and the innermost hold that it is under; the others follow from that.
#[derive(Clone)]
enum Source {
    Token(CancellationToken, Option<Arc<Hold>>),
    /// That hold's own token.
    Hold(Arc<Hold>),
}

/// The nearest time limit, on the clock that it was set by.
#[derive(Clone)]
struct Limit {
    world: Arc<dyn World>,
    at: Moment,
}

/// Why a scope has ended.
pub(crate) enum Ending {
    Lost(Lost),
    /// By `cause`, under the innermost lock, if any.
    Cancelled {
        cause: CancelCause,
        lock: Option<Arc<str>>,
    },
}

impl From<Ending> for LockError {
    fn from(ending: Ending) -> LockError {
        match ending {
            Ending::Lost(lost) => LockError::Lost(lost),
            Ending::Cancelled { cause, lock } => Cancelled::at_work(cause, lock).into(),
        }
    }
}

impl Scope {
    /// A scope that nothing ends but its own token.
    pub(crate) fn root() -> Scope {
        Scope { source: Source::Token(CancellationToken::new(), None), limit: None }
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        match &self.source {
            Source::Token(token, _) => token,
            Source::Hold(hold) => hold.token(),
        }
    }

    /// The innermost hold.
    pub(super) fn hold(&self) -> Option<&Arc<Hold>> {
        match &self.source {
            Source::Token(_, hold) => hold.as_ref(),
            Source::Hold(hold) => Some(hold),
        }
    }

    fn is_cancelled(&self) -> bool {
        match &self.source {
            Source::Token(token, _) => token.is_cancelled(),
            Source::Hold(hold) => hold.is_cancelled(),
        }
    }

    /// A scope that ends with this one, and can be ended by itself.
    pub(crate) fn child(&self) -> Scope {
        let source = Source::Token(self.token().child_token(), self.hold().cloned());
        Scope { source, limit: self.limit.clone() }
    }

    /// A child that ends after `limit` at the latest.
    pub(crate) fn with_timeout(&self, world: Arc<dyn World>, limit: Duration) -> Scope {
        let now = world.now();
        let own = now.plus(limit);
        let at = self.limit.as_ref().map_or(own, |outer| own.min(now.plus(outer.left())));
        Scope { limit: Some(Limit { world, at }), ..self.child() }
    }

    /// Why the scope has ended, if it has: the clock is asked at this very moment. A loss outranks the rest, since
    /// it is the one that the work must not miss.
    pub(crate) fn ending(&self) -> Option<Ending> {
        let mut ended = None;
        for hold in self.holds() {
            match hold.fault() {
                Some(HoldFault::Lost(lost)) => return Some(Ending::Lost(lost)),
                Some(HoldFault::Ended(cause)) => ended = ended.or(Some(cause)),
                None => {}
            }
        }
        let timed_out = || self.limit.as_ref().is_some_and(|limit| limit.left().is_zero());
        if ended.is_none() && timed_out() {
            ended = Some(CancelCause::TimedOut);
        }
        ended.or_else(|| self.is_cancelled().then_some(CancelCause::Cancelled)).map(|cause| {
            let lock = self.hold().map(|hold| hold.slot.name.clone());
            Ending::Cancelled { cause, lock }
        })
    }

    /// The scope of code that runs under `hold`, which was taken under this one.
    pub(crate) fn held(&self, hold: &Arc<Hold>) -> Scope {
        Scope { source: Source::Hold(hold.clone()), limit: self.limit.clone() }
    }

    /// Ends when the scope does.
    pub(crate) async fn ended(&self) {
        let timer = async {
            match &self.limit {
                Some(limit) => limit.world.sleep_until(limit.at).await,
                None => pending().await,
            }
        };
        if self.ending().is_none() {
            race(pin!(self.token().cancelled()), pin!(timer)).await;
        }
    }

    /// Runs `work` until the scope ends; `None` when that came first.
    pub(crate) async fn until_ended<F: Future>(&self, work: F) -> Option<F::Output> {
        match race(pin!(self.ended()), pin!(work)).await {
            Race::First(()) => None,
            Race::Second(output) => Some(output),
        }
    }

    /// The fence of the innermost hold, while that is live.
    pub(crate) fn fence(&self) -> Option<Fence> {
        self.hold().filter(|hold| hold.is_live()).map(|hold| hold.fence)
    }

    /// The holds that the scope descends from, innermost first.
    fn holds(&self) -> impl Iterator<Item = &Arc<Hold>> {
        std::iter::successors(self.hold(), |hold| hold.outer.as_ref())
    }

    /// Whether it would wait for itself.
    pub(super) fn holds_slot(&self, slot: &Arc<Slot>) -> bool {
        self.holds().any(|hold| Arc::ptr_eq(&hold.slot, slot))
    }
}

impl Limit {
    fn left(&self) -> Duration {
        self.at.since(self.world.now())
    }
}
