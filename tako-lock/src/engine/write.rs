//! One conditional write whose outcome has to be known: acquire, heartbeat and release all go through here.
//!
//! A request can be lost on its way out, on its way back, answered by a client library's own retry, or land late.
//! The one thing that settles it is a second swap of the *same body on the same token*: it is applied (then no
//! earlier copy was, and none can be), or refused (then the record tells whose write stands in it). A load that
//! still shows the old token proves nothing, because a copy may land after it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::queue::Slot;
use super::step::{self, Confirmed, Refusal};
use super::store::{Answer, Reply};
use crate::backend::{BackendError, ErrorKind, Record, StoreTime, Stored, Swap, Token};
use crate::clock::Moment;
use crate::race::{Race, race};
use crate::world::BoxFuture;

/// How hard a write is tried.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// Not sent again after this.
    pub(super) until: Moment,
    /// Nor more often than this.
    pub(super) tries: u32,
    /// So many tries follow each other quickly, the others at the pace of a poll.
    pub(super) quick: u32,
    /// Only while some copy may have been applied: otherwise a fresh body serves better.
    pub(super) only_in_doubt: bool,
}

impl Effort {
    /// Quick tries until the end: a lease or its release is at stake.
    pub(super) fn quick(until: Moment) -> Effort {
        Effort { until, tries: u32::MAX, quick: u32::MAX, only_in_doubt: false }
    }

    /// A few quick tries, then patience: nothing is held, and the store may be down for long.
    pub(super) fn patient(until: Moment) -> Effort {
        Effort { until, tries: u32::MAX, quick: 3, only_in_doubt: true }
    }

    /// So many tries and no more.
    pub(super) fn few(until: Moment, tries: u32) -> Effort {
        Effort { until, tries, quick: tries, only_in_doubt: true }
    }
}

/// A body on its way to the store.
pub(super) struct Write {
    slot: Arc<Slot>,
    expected: Option<Token>,
    record: Record,
    /// How far off the store's time may have been when the body was made.
    error: Option<Duration>,
    /// When the body was made: before the first send of it.
    made: Moment,
    /// Before the last send; `None` before the first.
    last_sent: Option<Moment>,
    /// Kept here, not in the future that awaits it: whoever drops that future can go on from where it stood.
    in_flight: Option<InFlight>,
    /// Some copy of the body may have been applied, or may still be.
    in_doubt: bool,
}

enum InFlight {
    Swap(BoxFuture<Answer<Swap>>),
    Load(BoxFuture<Answer<Option<Stored>>>),
}

/// How a write came out, once that is settled.
pub(super) enum Outcome {
    /// It stands in the record.
    Landed { token: Token, confirmed: Confirmed },
    /// It does not, and never will: another write by the same owner stands there.
    Earlier(Stored),
    /// It does not, and never will: the record is somebody else's, free, or gone.
    Others(Option<Stored>),
}

impl Write {
    /// A write of `record` over the version `expected`.
    pub(super) fn new(
        slot: Arc<Slot>,
        made: Moment,
        expected: Option<Token>,
        record: Record,
        error: Option<Duration>,
    ) -> Write {
        Write { slot, made, expected, record, error, last_sent: None, in_flight: None, in_doubt: false }
    }

    pub(super) fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    pub(super) fn into_record(self) -> Record {
        self.record
    }

    /// Starts anew over another version.
    pub(super) fn retarget(&mut self, expected: Token) {
        self.expected = Some(expected);
        (self.made, self.last_sent) = (self.slot.shared.world.now(), None);
        (self.in_flight, self.in_doubt) = (None, false);
    }

    /// Whether some copy of it may be in the store, or may get there yet.
    pub(super) fn may_land(&self) -> bool {
        self.in_doubt || matches!(self.in_flight, Some(InFlight::Swap(_)))
    }

    /// Sends it, again and again, until its outcome is known or the `effort` is spent. Each failure on the way is
    /// told to `failed`.
    ///
    /// # Errors
    /// The store's last word, when the outcome could not be settled, or when asking again is of no use.
    ///
    /// # Cancel safety
    /// The request under way stays in `self`; calling this again goes on with it.
    pub(super) async fn settle(
        &mut self,
        effort: Effort,
        failed: impl Fn(&BackendError),
    ) -> Result<Outcome, BackendError> {
        let mut tries = 0;
        loop {
            let answer = match self.send() {
                Some(answer) => answer,
                None => self.receive().await,
            };
            let failure = match answer {
                Ok(outcome) => return Ok(outcome),
                Err(failure) => failure,
            };
            failed(&failure);
            tries += 1;
            let Shared { world, policy, .. } = &*self.slot.shared;
            let mean = if tries < effort.quick { policy.retry } else { policy.poll };
            let again = world.now().plus(self.slot.shared.pause_after(failure.kind(), mean));
            let is_settled = effort.only_in_doubt && !self.in_doubt;
            if !failure.kind().is_transient() || is_settled || tries >= effort.tries || again >= effort.until
            {
                return Err(failure);
            }
            world.sleep_until(again).await;
            if world.now() >= effort.until {
                return Err(failure);
            }
        }
    }

    /// [`settle`](Write::settle), cut off at the end of the effort even while a request hangs.
    pub(super) async fn settle_strictly(
        &mut self,
        effort: Effort,
        failed: impl Fn(&BackendError),
    ) -> Option<Result<Outcome, BackendError>> {
        let slot = self.slot.clone();
        // Made only when there is something to wait for.
        let timer = async { slot.shared.world.sleep_until(effort.until).await };
        match race(pin!(self.settle(effort, failed)), pin!(timer)).await {
            Race::First(result) => Some(result),
            Race::Second(()) => None,
        }
    }

    /// Sends the swap, unless a request is under way. The outcome is there at once where the store is in memory; `None`:
    /// [`receive`](Write::receive) brings it.
    pub(super) fn send(&mut self) -> Option<Result<Outcome, BackendError>> {
        if self.in_flight.is_some() {
            return None;
        }
        let shared = &*self.slot.shared;
        self.last_sent = Some(if self.last_sent.is_none() { self.made } else { shared.world.now() });
        match shared.store.swap(&self.slot.key, self.expected.as_ref(), &self.record) {
            Reply::Now(answer) => self.swapped(answer),
            Reply::Later(request) => {
                self.in_flight = Some(InFlight::Swap(request));
                None
            }
        }
    }

    /// Awaits the request under way, and after a refusal the load that explains it.
    async fn receive(&mut self) -> Result<Outcome, BackendError> {
        loop {
            let outcome = match &mut self.in_flight {
                Some(InFlight::Swap(request)) => {
                    let answer = request.await;
                    self.in_flight = None;
                    self.swapped(answer)
                }
                Some(InFlight::Load(request)) => {
                    let answer = request.await;
                    // A failed load is asked again by way of the swap, which settles as much.
                    self.in_flight = None;
                    Some(self.loaded(answer))
                }
                None => self.send(),
            };
            if let Some(outcome) = outcome {
                return outcome;
            }
        }
    }

    fn swapped(&mut self, answer: Answer<Swap>) -> Option<Result<Outcome, BackendError>> {
        match answer {
            Ok(Swap::Applied { token, at }) => {
                self.in_doubt = false;
                Some(Ok(self.applied(token, at)))
            }
            Ok(Swap::Refused) => {
                // Refused after it was applied is what a client library's own retry makes of a lost answer: only the
                // record tells.
                self.in_doubt = true;
                match self.slot.shared.store.load(&self.slot.key) {
                    Reply::Now(answer) => Some(self.loaded(answer)),
                    Reply::Later(request) => {
                        self.in_flight = Some(InFlight::Load(request));
                        None
                    }
                }
            }
            Err(failure) => {
                self.in_doubt |= matches!(failure.kind(), ErrorKind::Unavailable | ErrorKind::UnknownOutcome);
                Some(Err(failure))
            }
        }
    }

    fn loaded(&mut self, answer: Answer<Option<Stored>>) -> Result<Outcome, BackendError> {
        let stored = answer?;
        self.in_doubt = false;
        Ok(match step::after_refusal(&self.record, stored) {
            Refusal::Ours(token) => {
                self.slot.shared.store_clock.learn_undated();
                Outcome::Landed { token, confirmed: self.confirmed(self.slot.shared.world.now(), None) }
            }
            Refusal::Earlier(stored) => Outcome::Earlier(stored),
            Refusal::Others(stored) => Outcome::Others(stored),
        })
    }

    fn applied(&self, token: Token, at: Option<StoreTime>) -> Outcome {
        let Shared { world, store_clock, .. } = &*self.slot.shared;
        let sent = self.last_sent.unwrap_or(self.made);
        if self.record.is_released() {
            // How long a free record is good for is nobody's question.
            return Outcome::Landed { token, confirmed: self.confirmed(sent, None) };
        }
        let known = world.now();
        match at {
            Some(at) => store_clock.learn(sent, known, at),
            None => store_clock.learn_undated(),
        }
        Outcome::Landed { token, confirmed: self.confirmed(known, at.map(|at| (sent, at))) }
    }

    /// What it is good for if a look finds it in the record after all.
    pub(super) fn if_landed(&self) -> Confirmed {
        self.confirmed(self.made, None)
    }

    fn confirmed(&self, known: Moment, applied: Option<(Moment, StoreTime)>) -> Confirmed {
        Confirmed { first_sent: self.made, known, applied, expires: self.record.expires, error: self.error }
    }
}

impl Shared {
    /// How long to wait after a failure before the next try, about `mean`: a store that throttles is given its pace
    /// on top.
    pub(super) fn pause_after(&self, failure: ErrorKind, mean: Duration) -> Duration {
        let pace = if failure == ErrorKind::Throttled { self.policy.pace } else { Duration::ZERO };
        pace + self.world.jittered(mean)
    }
}
