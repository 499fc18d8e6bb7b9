//! Heartbeat: keeps a lease alive until its hold is over, and tells the hold when it is lost.
//!
//! One keeper for each engine sleeps until the next heartbeat is due and starts it as a task of its own. So a hold
//! that ends before its first heartbeat costs no task, and a hung heartbeat delays no other hold's.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Shared;
use super::hold::Hold;
use super::queue::Slot;
use super::step::{self, Confirmed};
use super::write::{Effort, Outcome, Write};
use crate::backend::{BackendError, Owner, Record};
use crate::clock::Moment;
use crate::race::{Race, race};

/// Every hold of an engine, in the order in which heartbeats are due.
#[derive(Default)]
pub(super) struct Heartbeats {
    book: Mutex<Book>,
    /// Wakes the keeper when a heartbeat is due before the one that it sleeps for.
    earlier: Notify,
    /// The keeper went down with its runtime while something was held.
    orphaned: AtomicBool,
    last_number: AtomicU64,
}

#[derive(Default)]
struct Book {
    due: BTreeMap<(Moment, u64), Arc<Hold>>,
    /// Holds whose heartbeat is under way.
    beating: BTreeMap<u64, Arc<Hold>>,
    /// Until when the keeper sleeps; `None` when there is none.
    keeper: Option<Moment>,
    /// Shut down with its grace over: nothing is kept up any more.
    closed: bool,
}

impl Heartbeats {
    pub(super) fn number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Puts `hold` down for its next heartbeat, unless it is over. The last was confirmed at `known`. Tells whether
    /// there is a keeper, or a runtime to start one on.
    pub(super) fn enrol(&self, hold: &Arc<Hold>, known: Moment) -> bool {
        let shared = &hold.slot.shared;
        let mut book = self.book();
        // Asked under the lock: a hold is ended first and struck off after, so it cannot slip in between.
        let Some(deadline) = hold.deadline().filter(|_| !book.closed) else { return true };
        book.beating.remove(&hold.number);
        let due = step::beat_due(deadline, known, &shared.policy);
        hold.due.store(due.as_nanos(), Ordering::Relaxed);
        book.due.insert((due, hold.number), hold.clone());
        match book.keeper {
            Some(wakes) if wakes <= due => {}
            Some(_) => self.earlier.notify_one(),
            None => return start_keeper(shared, book),
        }
        true
    }

    /// Starts another keeper on the caller's runtime, if the last one went down with its own.
    pub(super) fn revive(&self, shared: &Arc<Shared>) {
        if self.orphaned.swap(false, Ordering::AcqRel) {
            let book = self.book();
            if book.keeper.is_none() && !book.due.is_empty() {
                start_keeper(shared, book);
            }
        }
    }

    /// Takes `hold` off the book: no heartbeat of it is started from here on.
    pub(super) fn strike(&self, hold: &Hold) {
        let mut book = self.book();
        let due = Moment::from_nanos(hold.due.load(Ordering::Relaxed));
        if book.due.remove(&(due, hold.number)).is_none() {
            book.beating.remove(&hold.number);
        }
    }

    /// Who holds `slot`, if this process does.
    pub(super) fn holder_of(&self, slot: &Slot) -> Option<Owner> {
        let book = self.book();
        let mut holds = book.due.values().chain(book.beating.values());
        holds.find(|hold| hold.slot.key == slot.key).and_then(|hold| hold.owner())
    }

    /// Every hold on the book, in a fixed order.
    pub(super) fn holds(&self) -> Vec<Arc<Hold>> {
        let book = self.book();
        book.due.values().chain(book.beating.values()).cloned().collect()
    }

    /// Stops keeping up whatever is still held; tells what that was.
    pub(super) fn close(&self) -> Vec<Arc<Hold>> {
        let left = self.holds();
        self.book().closed = true;
        for hold in &left {
            self.strike(hold);
            hold.over.notify_one();
        }
        left
    }

    /// Moves the holds that are due to those under way; tells when the keeper is needed next.
    fn take_due(&self, now: Moment) -> (Vec<Arc<Hold>>, Option<Moment>) {
        let mut book = self.book();
        let mut due = Vec::new();
        while let Some(entry) = book.due.first_entry()
            && entry.key().0 <= now
        {
            let hold = entry.remove();
            book.beating.insert(hold.number, hold.clone());
            due.push(hold);
        }
        book.keeper = book.due.first_key_value().map(|((at, _), _)| *at);
        (due, book.keeper)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a keeper on the runtime at hand; tells whether there is one.
fn start_keeper(shared: &Arc<Shared>, mut book: MutexGuard<'_, Book>) -> bool {
    book.keeper = book.due.first_key_value().map(|((at, _), _)| *at);
    drop(book);
    let keeper = Keeper { shared: shared.clone(), is_done: false };
    let is_started = shared.world.spawn(Box::pin(keeper.keep())).is_ok();
    if !is_started {
        tracing::warn!("no runtime to send heartbeats on: what is held will lapse");
    }
    is_started
}

/// Sleeps until the next heartbeat is due; ends when nothing is held.
struct Keeper {
    shared: Arc<Shared>,
    is_done: bool,
}

impl Keeper {
    async fn keep(mut self) {
        let shared = self.shared.clone();
        let heartbeats = &shared.heartbeats;
        loop {
            let (due, next) = heartbeats.take_due(shared.world.now());
            self.is_done = next.is_none();
            for hold in due {
                let beat = Beat { hold, is_done: false };
                if shared.world.spawn(Box::pin(beat.run())).is_err() {
                    tracing::warn!("no runtime to send a heartbeat on: what is held will lapse");
                }
            }
            let Some(next) = next else { return };
            race(pin!(heartbeats.earlier.notified()), pin!(shared.world.sleep_until(next))).await;
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if !self.is_done {
            let heartbeats = &self.shared.heartbeats;
            heartbeats.book().keeper = None;
            heartbeats.orphaned.store(true, Ordering::Release);
        }
    }
}

/// One heartbeat, tried until it is confirmed, the hold is over, or its deadline passes.
struct Beat {
    hold: Arc<Hold>,
    is_done: bool,
}

impl Beat {
    async fn run(mut self) {
        let confirmed = self.confirm().await;
        self.is_done = true;
        let heartbeats = &self.hold.slot.shared.heartbeats;
        match confirmed {
            Some(known) => _ = heartbeats.enrol(&self.hold, known),
            None if self.hold.is_lost() => heartbeats.strike(&self.hold),
            // Given back: its release strikes it off.
            None => {}
        }
    }

    /// When the hold was confirmed; `None` when it is over.
    async fn confirm(&self) -> Option<Moment> {
        let Beat { hold, .. } = self;
        let Shared { world, policy, .. } = &*hold.slot.shared;
        let mut in_doubt: Vec<Confirmed> = Vec::new();
        loop {
            // A holder past its deadline never renews: it has lost. The look at the clock says so to all.
            hold.standing();
            let deadline = hold.deadline()?;
            let Some(write) = self.until_over(deadline, self.next_write()).await? else { continue };
            let mut write = write?;
            // One try for each body, and the next is dated anew: a body that landed only after many tries would be
            // almost used up. A copy that was thought lost and landed is found by the refusal of the next.
            let once = Effort::few(deadline, 1);
            let settled = self.until_over(deadline, write.settle(once, |error| self.failed(error))).await?;
            let pause = match settled {
                Some(Ok(Outcome::Landed { token, confirmed })) => {
                    hold.renewed(write.into_record(), token);
                    match step::deadline(&confirmed, policy) {
                        Some(until) => return hold.extend(until).then_some(confirmed.known),
                        // A write whose validity nobody can tell confirms nothing.
                        None => world.jittered(policy.pace),
                    }
                }
                Some(Ok(Outcome::Earlier(stored))) => {
                    let landed = in_doubt.iter().find(|body| body.expires == stored.record.expires);
                    let until = landed.and_then(|body| step::deadline(body, policy));
                    hold.renewed(stored.record, stored.token);
                    if let Some(until) = until {
                        return hold.extend(until).then(|| world.now());
                    }
                    world.jittered(policy.retry)
                }
                Some(Ok(Outcome::Others(stored))) => {
                    hold.lose(step::loss_of(stored.map(|stored| stored.record), &write.record().owner));
                    return None;
                }
                // Errors alone are not loss: only the deadline is.
                Some(Err(error)) => {
                    if write.may_land() {
                        in_doubt.push(write.if_landed());
                    }
                    let mean = if error.kind().is_transient() { policy.retry } else { policy.pace };
                    hold.slot.shared.pause_after(error.kind(), mean)
                }
                // The deadline has passed over a request under way.
                None => continue,
            };
            self.until_over(deadline, world.sleep_until(world.now().plus(pause))).await?;
        }
    }

    /// `work`, until the deadline (`Some(None)`) or the end of the hold (`None`).
    async fn until_over<F: Future>(&self, deadline: Moment, work: F) -> Option<Option<F::Output>> {
        let world = &self.hold.slot.shared.world;
        let in_time = async {
            match race(pin!(work), pin!(world.sleep_until(deadline))).await {
                Race::First(output) => Some(output),
                Race::Second(()) => None,
            }
        };
        match race(pin!(self.hold.over.notified()), pin!(in_time)).await {
            Race::First(()) => None,
            Race::Second(output) => Some(output),
        }
    }

    fn failed(&self, error: &BackendError) {
        tracing::warn!(lock = &*self.hold.slot.name, %error, "heartbeat failed; trying on until the deadline");
        self.hold.state().last_error = Some(error.clone());
    }

    /// The next body; `None` when the hold is over.
    async fn next_write(&self) -> Option<Write> {
        let Hold { slot, .. } = &*self.hold;
        let Shared { world, store_clock, policy, .. } = &*slot.shared;
        if !store_clock.can_date(store_clock.read(world.now()), policy) {
            // Failing that, the old estimate serves, and what it may be off comes out of the lease.
            let _ = slot.shared.calibrate().await;
        }
        let (record, token) = self.hold.version()?;
        let now = world.now();
        let (expires, error) = slot.shared.expiry_from(store_clock.read(now), Some(record.expires));
        Some(Write::new(slot.clone(), now, Some(token), Record { expires, ..record }, error))
    }
}

impl Drop for Beat {
    fn drop(&mut self) {
        if !self.is_done {
            // Dropped with the runtime that it was on: due again wherever the next keeper starts.
            let Shared { heartbeats, world, .. } = &*self.hold.slot.shared;
            heartbeats.enrol(&self.hold, world.now());
        }
    }
}
