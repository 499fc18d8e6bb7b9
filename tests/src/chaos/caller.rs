//! Work under the lock: it looks, dawdles and acts in turn, and leaves word of all that it sees.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use tako::prelude::Ctx;
use tako::{CancelCause, LockError};

use super::child::{Told, ledger, witness};
use super::line::{HoldId, How, Ledger, Line, Look, Stretch};
use super::plant::Plant;
use super::{LOCK, clock, register};
use crate::millis;
use crate::sim::chance::Chance;

/// One of those that contend in a process.
pub(super) struct Caller {
    told: Arc<Told>,
    ctx: Ctx,
    calls: Arc<AtomicU32>,
    ledger: Ledger,
    witness: Arc<File>,
    chance: Chance,
}

impl Caller {
    pub(super) fn new(told: Arc<Told>, ctx: Ctx, calls: Arc<AtomicU32>, number: u64) -> Caller {
        let stream = 1_000 + told.node as u64 * 1_000_000 + u64::from(told.life) * 10 + number;
        // A descriptor of its own: a flock belongs to it.
        let witness = File::options().read(true).write(true).open(witness(&told.folder));
        Caller {
            chance: Chance::new(told.seed, stream),
            ledger: Ledger::open(&ledger(&told.folder)).expect("the file"),
            witness: Arc::new(witness.expect("the witness")),
            told,
            ctx,
            calls,
        }
    }

    pub(super) async fn live(mut self) {
        loop {
            let pause = self.chance.between(20, 500);
            tokio::time::sleep(millis(pause)).await;
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            let hold = HoldId { node: self.told.node, life: self.told.life, call };
            let answer = match self.chance.below(5) {
                0 => self.once(hold).await,
                1 => self.drop_halfway(hold).await,
                _ => self.wait(hold).await,
            };
            match answer {
                Ok(()) | Err(LockError::Lost(_) | LockError::Unavailable { .. }) => {}
                Err(LockError::ShuttingDown { .. }) => return,
                Err(LockError::Cancelled(cancelled)) if cancelled.cause() == CancelCause::Shutdown => return,
                Err(error) => println!("odd {hold}: {error:?}"),
            }
        }
    }

    async fn wait(&mut self, hold: HoldId) -> Result<(), LockError> {
        let ctx = self.ctx.clone();
        let mut has_lost = false;
        let work = async |ctx| {
            has_lost = self.work(ctx, hold).await;
            Ok(())
        };
        let answer = LOCK.run(&ctx, work).await;
        tell_if_unsaid(hold, has_lost, &answer);
        answer
    }

    async fn once(&mut self, hold: HoldId) -> Result<(), LockError> {
        let ctx = self.ctx.clone();
        let mut has_lost = false;
        let work = async |ctx| {
            has_lost = self.work(ctx, hold).await;
            Ok(())
        };
        let answer = LOCK.try_run(&ctx, work).await;
        tell_if_unsaid(hold, has_lost, &answer);
        answer.map(|_| ())
    }

    async fn drop_halfway(&mut self, hold: HoldId) -> Result<(), LockError> {
        let patience = millis(self.chance.spread(30, 12_000));
        let ledger = Ledger::open(&ledger(&self.told.folder)).expect("the file");
        let mut run = Box::pin(self.wait(hold));
        tokio::select! {
            answer = &mut run => answer,
            () = tokio::time::sleep(patience) => {
                // The call is dropped after this.
                ledger.append(&Line::End(hold, How::Dropped, clock())).expect("the file");
                Ok(())
            }
        }
    }

    /// Looks and acts in turn; tells whether a look said that the lease was lost.
    async fn work(&mut self, ctx: Ctx, hold: HoldId) -> bool {
        let length = match self.chance.below(10) {
            0..5 => self.chance.between(20, 300),
            5..8 => self.chance.between(500, 3_000),
            // Through the longest cut.
            _ => self.chance.between(4_000, 8_000),
        };
        let until = Instant::now() + millis(length);
        let mut number = 0;
        let mut first_fence = None;
        let mut inside = None;
        loop {
            let at = Stretch { hold, number };
            let (fence, before) = self.look(&ctx, at, &mut first_fence);
            // Taken from look to look.
            drop(inside.take());
            let Some(fence) = fence else {
                let is_lost = ctx.cause() == Some(CancelCause::Lost);
                self.end(hold, if is_lost { How::Lost } else { How::Returned });
                return is_lost;
            };
            if number > 0 && Instant::now() >= until {
                self.end(hold, How::Returned);
                return false;
            }
            inside = self.enter(at);
            if number > 0 {
                self.dawdle().await;
            }
            // Whether it was accepted is for the register to remember.
            register::act(self.told.register, at, fence, before).await.expect("the register");
            let pause = self.chance.spread(2, 30);
            tokio::time::sleep(millis(pause)).await;
            number += 1;
        }
    }

    fn look(&self, ctx: &Ctx, at: Stretch, first_fence: &mut Option<u64>) -> (Option<u64>, u64) {
        let seen = self.ledger.length().expect("the file");
        let before = clock();
        let is_held = ctx.check().is_ok();
        let mut fence = ctx.fence().filter(|_| is_held).map(tako::Fence::get);
        let after = clock();
        if self.told.plant == Some(Plant::Unchecked) {
            fence = fence.or(*first_fence);
            *first_fence = fence;
        }
        self.ledger.append(&Line::Look(Look { at, fence, seen, before, after })).expect("the file");
        (fence, before)
    }

    fn end(&self, hold: HoldId, how: How) {
        self.ledger.append(&Line::End(hold, how, clock())).expect("the file");
    }

    /// Takes the flock if it is free, and says who has it if not.
    fn enter(&self, at: Stretch) -> Option<Inside> {
        match self.witness.try_lock() {
            Ok(()) => {
                let inside = Inside(self.witness.clone());
                self.witness.write_all_at(format!("{at}\n").as_bytes(), 0).expect("the witness");
                Some(inside)
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut text = [0; 64];
                let length = self.witness.read_at(&mut text, 0).expect("the witness");
                let text = str::from_utf8(&text[..length]).unwrap_or_default();
                let by = text.strip_suffix('\n').and_then(|name| name.parse().ok());
                self.ledger.append(&Line::Contended(at, by)).expect("the file");
                None
            }
            Err(std::fs::TryLockError::Error(error)) => panic!("the witness: {error}"),
        }
    }

    /// Between look and act, where a stop hurts most. No longer than a holder may.
    async fn dawdle(&mut self) {
        let length = millis(if self.chance.once_in(2) {
            self.chance.between(50, 200)
        } else {
            self.chance.spread(1, 100)
        });
        if self.chance.once_in(4) {
            // As work does that knows nothing of futures.
            std::thread::sleep(length);
        } else {
            tokio::time::sleep(length).await;
        }
    }
}

/// The flock. It goes with the name that says whose it is.
struct Inside(Arc<File>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.set_len(0).expect("the witness");
        self.0.unlock().expect("the witness");
    }
}

/// I4: the caller of a hold that was lost gets the error, although its work returned a value.
fn tell_if_unsaid<T>(hold: HoldId, has_lost: bool, answer: &Result<T, LockError>) {
    if has_lost && !matches!(answer, Err(LockError::Lost(_))) {
        println!("odd {hold}: lost, and its caller was told nothing");
    }
}
