//! The lease policy: framework-owned in v0, so these are constants and nothing sets them.
//!
//! Each relation that safety or liveness rests on is asserted below, while compiling.

use std::time::Duration;

/// How long a record protects its holder without a heartbeat (the specification's figure).
pub const TTL: Duration = Duration::from_secs(30);
/// Time from one heartbeat's send to the next: TTL/3 (the specification's figure).
pub const HEARTBEAT: Duration = Duration::from_secs(10);
/// Mean pause between two looks at a lock that another process holds; each pause is drawn from
/// 75 % to 125 % of it, so that campaigners never fall into step.
pub const POLL: Duration = Duration::from_secs(2);
/// Cap on one store request: a hung request must not eat the lease.
pub const ATTEMPT: Duration = Duration::from_secs(3);
/// A holder stops counting on its lease this long before the record can be taken.
pub const MARGIN: Duration = Duration::from_secs(2);
/// A campaigner waits this long past expiry before it takes a record over.
pub const GUARD: Duration = Duration::from_secs(2);
/// Least gap between two mutations of one record after the store has throttled one
/// (Google Cloud Storage accepts one a second for each object).
pub const PACE: Duration = Duration::from_secs(1);

/// A tick of a cron that is so far ahead of the store's time is not claimed: the clock of the host that came for it is
/// fast, and its mark would keep the other instances from every tick up to that one.
pub const EARLY: Duration = Duration::from_secs(10);

/// The timing that one engine runs under. The program's engines all run under [`Policy::V0`];
/// tests inject a shorter one below the public interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// See [`TTL`].
    pub ttl: Duration,
    /// See [`HEARTBEAT`].
    pub heartbeat: Duration,
    /// See [`POLL`].
    pub poll: Duration,
    /// See [`ATTEMPT`].
    pub attempt: Duration,
    /// See [`MARGIN`].
    pub margin: Duration,
    /// See [`GUARD`].
    pub guard: Duration,
    /// See [`PACE`].
    pub pace: Duration,
    /// Mean pause before a failed request is sent again.
    pub retry: Duration,
    /// A release that has not succeeded by then is left to lapse.
    pub release: Duration,
    /// Useful time that must be left when a lease is won; with less, the user's code is not started.
    pub useful: Duration,
}

impl Policy {
    /// The policy of this version.
    pub const V0: Policy = Policy {
        ttl: TTL,
        heartbeat: HEARTBEAT,
        poll: POLL,
        attempt: ATTEMPT,
        margin: MARGIN,
        guard: GUARD,
        pace: PACE,
        retry: Duration::from_millis(300),
        release: Duration::from_secs(5),
        useful: Duration::from_secs(5),
    };

    /// Two monotonic clocks may run apart by this share (5 %) before exclusion by time alone is in doubt.
    pub const DRIFT_PERCENT: u32 = 5;

    /// How long one confirmed write lets its holder act, counted from before its first send.
    pub const fn validity(&self) -> Duration {
        self.ttl.saturating_sub(self.margin)
    }

    /// The longest that a hold lives without a confirmed heartbeat once one is due.
    pub const fn slack(&self) -> Duration {
        self.validity().saturating_sub(self.heartbeat)
    }

    /// Whether every relation that the engine rests on holds.
    pub const fn is_sound(&self) -> bool {
        let drift = Self::DRIFT_PERCENT as u128;
        let validity = self.validity().as_nanos();
        // The holder's clock may be slow and the campaigner's fast: the one has to be done before the other may start.
        let exclusive = validity * (100 + drift) * (100 + drift)
            <= (self.ttl.as_nanos() + self.guard.as_nanos()) * 100 * 100;
        // After one hung beat there is still time for a second and a third try.
        let persistent = self.slack().as_nanos() >= 3 * (self.attempt.as_nanos() + self.retry.as_nanos());
        let useful = self.useful.as_nanos() + self.attempt.as_nanos() <= validity;
        let thirds = self.heartbeat.as_nanos() * 3 <= self.ttl.as_nanos();
        exclusive && persistent && useful && thirds && !self.poll.is_zero() && !self.retry.is_zero()
    }
}

const _: () = assert!(Policy::V0.is_sound(), "the v0 lease policy breaks a relation that exclusion rests on");

#[cfg(test)]
mod tests {
    use super::{Duration, Policy};

    #[test]
    fn an_unsound_policy_is_told_apart() {
        let ms = Duration::from_millis;
        assert!(Policy::V0.is_sound());
        assert!(!Policy { margin: ms(0), guard: ms(0), ..Policy::V0 }.is_sound(), "no room for drift");
        assert!(!Policy { attempt: ms(9_000), ..Policy::V0 }.is_sound(), "one hung beat would eat the lease");
        assert!(!Policy { heartbeat: ms(15_000), ..Policy::V0 }.is_sound());
        assert!(
            !Policy { useful: ms(27_000), ..Policy::V0 }.is_sound(),
            "no lease would ever be worth starting"
        );
        assert!(!Policy { poll: ms(0), ..Policy::V0 }.is_sound(), "a hot loop");
    }
}
