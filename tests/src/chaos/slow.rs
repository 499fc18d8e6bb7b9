//! A world whose clock runs slow: planted, to show that an overlap is seen.

use std::time::Duration;

use tako::backend::StoreTime;
use tako::simulation::{BoxFuture, Moment, World};
use tokio::runtime::Handle;

use super::clock;
use super::plant::SLOWNESS;
use crate::sim::chance::Chance;

/// This process, by a clock that runs at a fraction of its speed.
#[derive(Debug)]
pub(super) struct Slow {
    started: u64,
}

impl Slow {
    pub(super) fn new() -> Slow {
        Slow { started: clock() }
    }
}

impl World for Slow {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.started + (clock() - self.started) / u64::from(SLOWNESS))
    }

    fn sleep_until(&self, at: Moment) -> BoxFuture<()> {
        let left = at.since(self.now()) * SLOWNESS;
        Box::pin(tokio::time::sleep(left + Duration::from_nanos(u64::from(SLOWNESS))))
    }

    fn spawn(&self, task: BoxFuture<()>) -> Result<(), BoxFuture<()>> {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(task)),
            Err(_) => return Err(task),
        }
        Ok(())
    }

    fn is_reachable(&self) -> bool {
        Handle::try_current().is_ok()
    }

    fn detaches_requests(&self) -> bool {
        true
    }

    fn random(&self) -> u128 {
        let mut chance = Chance::new(clock(), u64::from(std::process::id()));
        u128::from(chance.draw()) << 64 | u128::from(chance.draw())
    }

    fn wall(&self) -> StoreTime {
        StoreTime::from(std::time::SystemTime::now())
    }

    fn stop(&self) {}
}
