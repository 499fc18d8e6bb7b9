//! Sees who is inside the guarded section, and that nobody is who should not be.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tako::{Ctx, Fence, LockError};
use tokio::time::Instant;

use crate::faulty::lock;

/// One start of guarded work.
#[derive(Debug, Clone)]
pub struct Stay {
    /// Whose.
    pub who: String,
    /// Under which fence.
    pub fence: Fence,
    /// When it began, counted from when the witness was made.
    pub from: Duration,
    ctx: Ctx,
}

/// Sees every start of guarded work. Clones see the same.
#[derive(Clone)]
pub struct Witness {
    started: Instant,
    stays: Arc<Mutex<Vec<Stay>>>,
}

impl Witness {
    /// Has seen nothing yet.
    #[allow(clippy::new_without_default, reason = "a witness has a start in time")]
    pub fn new() -> Witness {
        Witness { started: Instant::now(), stays: Arc::default() }
    }

    /// Enters the guarded section.
    ///
    /// # Panics
    /// When it is not ours alone.
    pub fn enter(&self, who: &str, ctx: &Ctx) -> Fence {
        let fence = ctx.fence().expect("work starts under a live lease, and so with a fence");
        let mut stays = lock(&self.stays);
        for earlier in stays.iter() {
            assert!(
                earlier.ctx.check().is_err(),
                "I1, I4: when the work of {who} starts, every earlier hold knows that it is over, but {earlier:?}"
            );
            assert!(fence > earlier.fence, "I2: fences grow, but {fence} of {who} follows {earlier:?}");
        }
        let from = self.started.elapsed();
        stays.push(Stay { who: who.into(), fence, from, ctx: ctx.clone() });
        fence
    }

    /// Works for so long, or until told to stop.
    pub async fn work(&self, who: &str, ctx: &Ctx, length: Duration) -> Result<Fence, LockError> {
        let fence = self.enter(who, ctx);
        ctx.until_cancelled(tokio::time::sleep(length)).await;
        ctx.check().map(|()| fence)
    }

    /// Works for so long, and listens to nobody.
    pub async fn work_deaf(&self, who: &str, ctx: &Ctx, length: Duration) -> Result<Fence, LockError> {
        let fence = self.enter(who, ctx);
        tokio::time::sleep(length).await;
        Ok(fence)
    }

    /// Every start so far.
    pub fn stays(&self) -> Vec<Stay> {
        lock(&self.stays).clone()
    }

    /// How often `who` has started.
    pub fn starts(&self, who: &str) -> usize {
        lock(&self.stays).iter().filter(|stay| stay.who == who).count()
    }

    /// When `who` started last.
    ///
    /// # Panics
    /// When it never did.
    pub fn last_start(&self, who: &str) -> Duration {
        let stays = lock(&self.stays);
        stays.iter().rev().find(|stay| stay.who == who).expect("a start").from
    }
}
