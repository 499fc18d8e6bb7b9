//! Real processes with the real engine over the protocol of Google Cloud Storage, while their parent kills them with
//! SIGKILL, stops them past their deadline, and cuts, stalls, delays and swallows what they send.
//!
//! ```text
//!   child: engine ──▶ proxy, one a child ──▶ double          the parent aims at whoever holds the lock
//!     │  └─ work under the lock: look, dawdle, act, look, dawdle, act, …
//!     ├──▶ the file      one line a look, appended           shared by all, survives every kill
//!     ├──▶ the register  one request an act                  a server in the parent that refuses lower fences
//!     └──▶ the witness   flock, from look to look            never waited for
//! ```
//!
//! # What each witness can say, and what is a violation
//!
//! A *look* is one `ctx.check()` and one `ctx.fence()`, between two stamps of `CLOCK_BOOTTIME`, which all processes of a
//! machine share and which the engine goes by. It said "held" at some instant between the stamps, no more is known: a
//! process may be stopped between a stamp and the look, so an earlier hold is only ever charged with the stamp **before**
//! a look, and a later hold is given credit from the stamp before its first. What is reported is then certain, whatever
//! was stopped when. Looks whose stamps lie far apart are counted: they are rare. H1 and H2 are holds, H1
//! with the lower fence, so that H1 was granted first.
//!
//! 1. **By the clock** (I1, I4): H2's code runs, and a later look of H1 still said "held".
//! 2. **By the file's order** (I1, I4), no clock: H1 read the file's length, H2's first line stood in it by then, and the
//!    look of H1 that came after still said "held".
//! 3. **By the guard** (I1 for a holder that acts within MARGIN + GUARD of its look): H1 was never given back, being killed
//!    or lost, and H2's code runs sooner than that after a look of H1 that said "held".
//! 4. **By the witness** (I1), no clock: H2 found the flock taken and read in it whose it was, between two looks that
//!    said "held"; and H1, which wrote that and takes it out before it lets go, had taken it between two such looks. A
//!    holder that was stopped keeps the flock as well: its next look says "lost", and that is none.
//! 5. **By the register** (I2): a *stale act*: one of H1 was accepted once the register had accepted one of H2. The order
//!    of arrival decides, not the fences, so a register or an engine that gets fences wrong is found as well. A process that
//!    is stopped between look and act does act late. That is no overlap by its own clock, and no lock can prevent it: the
//!    register has to refuse it, and how often it did is counted. A hold's first act follows its first look at once, and
//!    *is* its beginning as far as the register goes: what arrives before it came before.
//! 6. **By the register** (I1): an act was refused, although no more than MARGIN + GUARD had passed since the look before it.
//! 7. **Fences** (I2): two holds with one fence, or a hold whose fence changes.
//! 8. **Liveness** (I6): nobody acted for a long time, although most processes were left in peace.
//! 9. **The end** (I7): a process that ends in order leaves a task, a thread, a descriptor or a lease behind; the record is
//!    not free in the end; a lost hold's caller got no error (I4); a process ended by itself.
//!
//! A line that ends a hold is written before anything that could give it back. So a hold without one, or with "lost", was
//! never given back. Plants ([`plant`]) show that the checks can fail.
//!
//! What is drawn from the seed is the plan: what befalls whom, how long, after which pause. Real time does the rest.

mod caller;
mod child;
pub mod command;
mod judge;
mod line;
mod node;
mod parent;
mod plan;
pub mod plant;
mod proxy;
mod register;
mod slow;

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tako::policy::Policy;
use tako::prelude::{Lock, lock};

use crate::millis;

/// What the processes run under: a tenth of the program's own policy, sound by the same relations.
pub const POLICY: Policy = Policy {
    ttl: millis(3_000),
    heartbeat: millis(1_000),
    poll: millis(200),
    attempt: millis(400),
    margin: millis(300),
    guard: millis(300),
    pace: millis(100),
    retry: millis(30),
    release: millis(1_200),
    useful: millis(700),
};

const _: () = assert!(POLICY.is_sound(), "chaos under a policy that promises nothing");

/// How long after a look that said "held" nobody else may start, unless the hold was given back. The store's dates are
/// whole milliseconds.
const COVERED: Duration = POLICY.margin.saturating_add(POLICY.guard).saturating_sub(Duration::from_millis(5));

static LOCK: Lock = lock!("reindex");

/// Nanoseconds since the machine started, the same for all its processes.
fn clock() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds * 1_000_000_000 + nanos
}

/// So many nanoseconds of it.
fn span(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}
