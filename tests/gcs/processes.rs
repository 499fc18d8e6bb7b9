//! Two processes over one bucket: a run collapses into the other's, and a holder that is killed is followed.
//!
//! The bucket is the emulator's where `STORAGE_EMULATOR_HOST` names one, the double's otherwise. Under the policy of a
//! program the hand-over takes half a minute: that test runs where `TAKO_TEST_SLOW` is set.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tako::policy::Policy;
use tako::prelude::{Lock, lock};
use tako::{Ctx, LockError};
use tako_lock_tests::gcs_engine::{SHORT, engine};
use tako_lock_tests::gcs_server::Server;

static LOCK: Lock = lock!("reindex");

const PART: &str = "TAKO_TEST_PART";
const ENDPOINT: &str = "TAKO_TEST_ENDPOINT";
const BUCKET: &str = "TAKO_TEST_CHILDS_BUCKET";
const POLICY: &str = "TAKO_TEST_POLICY";
/// Before each line that is for the parent; the rest is the test harness's.
const MARK: &str = "child: ";

/// A process of this test's own, which never outlives it.
struct Child {
    process: std::process::Child,
    lines: Receiver<String>,
}

impl Child {
    fn start(part: &str, server: Server, bucket: &str, policy: &str) -> Child {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command.args(["--exact", "processes::one_process_of_two", "--ignored", "--nocapture"]);
        command.env(PART, part).env(ENDPOINT, server.endpoint()).env(BUCKET, bucket).env(POLICY, policy);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a process");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let (sender, lines) = channel();
        // Ends with the process.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let Some((_, told)) = line.split_once(MARK) else { continue };
                if sender.send(told.to_owned()).is_err() {
                    return;
                }
            }
        });
        Child { process, lines }
    }

    /// The next thing that it says.
    fn says(&self, patience: Duration) -> String {
        self.lines.recv_timeout(patience).expect("the process says something in time")
    }

    /// SIGKILL: no destructor runs, nothing is given back.
    fn kill(&mut self) {
        // One that has ended by itself is as good.
        let _ = self.process.kill();
        self.process.wait().expect("it is ours to wait for");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn tell(text: &str) {
    println!("{MARK}{text}");
}

#[tokio::test]
#[ignore = "run by the tests in this file"]
async fn one_process_of_two() {
    // Also run by whoever runs all ignored tests, for whom there is nothing to do.
    let Ok(part) = std::env::var(PART) else { return };
    let wanted = |name| std::env::var(name).expect("set by the parent");
    let policy = if wanted(POLICY) == "v0" { Policy::V0 } else { SHORT };
    let engine = engine(&wanted(ENDPOINT), &wanted(BUCKET), &part, policy).await;
    let ctx = engine.ctx();
    let hold = async |ctx: Ctx| {
        tell(&format!("holds {}", ctx.fence().expect("a live lease")));
        if part == "holder" {
            // Until it is killed, and never much longer than its parent lives.
            tokio::time::sleep(Duration::from_mins(2)).await;
        }
        ctx.check()
    };
    if part == "visitor" {
        match LOCK.try_run(&ctx, hold).await {
            Ok(None) => tell("collapsed"),
            other => tell(&format!("{other:?}")),
        }
    } else {
        tell("waits");
        let ended: Result<(), LockError> = LOCK.run(&ctx, hold).await;
        tell(&format!("{ended:?}"));
    }
    let _ = engine.shutdown(policy.release).await;
}

/// Under the policy of this name, how long after the kill of its holder the lock was in the other process's hands.
async fn hand_over(name: &'static str, policy: Policy) -> Duration {
    let server = Server::emulator().unwrap_or_else(Server::double);
    // Buckets of an emulator outlive a test.
    let bucket = format!("tako-{name}-{}", std::process::id());
    server.make_bucket(&bucket).await;
    tokio::task::spawn_blocking(move || {
        let start = |part: &str| Child::start(part, server, &bucket, name);
        let fence = |text: String| -> u64 {
            let told = text.strip_prefix("holds ").and_then(|fence| fence.parse().ok());
            told.unwrap_or_else(|| panic!("`{text}`"))
        };
        let soon = Duration::from_secs(20);

        let mut holder = start("holder");
        assert_eq!(holder.says(soon), "waits");
        let first = fence(holder.says(soon));
        assert_eq!(start("visitor").says(soon), "collapsed");
        let heir = start("heir");
        assert_eq!(heir.says(soon), "waits");
        // The heir waits through a heartbeat at least.
        std::thread::sleep(policy.heartbeat * 3 / 2);
        holder.kill();
        let killed = Instant::now();
        let second = fence(heir.says((policy.ttl + policy.guard + policy.poll) * 2));
        let waited = killed.elapsed();
        assert_eq!(heir.says(soon), "Ok(())");
        assert!(second > first, "fences grow: {first}, {second}");
        waited
    })
    .await
    .expect("the processes")
}

fn check(policy: Policy, waited: Duration) {
    eprintln!("handed over {waited:?} after the kill, under a TTL of {:?}", policy.ttl);
    // The last heartbeat was sent so long ago at most; where it failed once, somewhat longer.
    let least = (policy.ttl + policy.guard).saturating_sub(policy.heartbeat + policy.attempt);
    assert!(
        waited >= least,
        "taken over after {waited:?}, from a holder whose last heartbeat was still good"
    );
    // POLL is a mean, and the look and the claim are requests.
    let most = policy.ttl + policy.guard + policy.poll * 5 / 4 + policy.attempt * 2;
    assert!(waited <= most, "handed over after {waited:?}");
}

#[tokio::test]
async fn a_killed_process_is_followed_by_the_one_that_waits() {
    check(SHORT, hand_over("short", SHORT).await);
}

#[tokio::test]
async fn a_killed_process_is_followed_within_ttl_guard_and_poll() {
    if std::env::var_os("TAKO_TEST_SLOW").is_none() {
        eprintln!("skipped: TAKO_TEST_SLOW is not set");
        return;
    }
    check(Policy::V0, hand_over("v0", Policy::V0).await);
}
