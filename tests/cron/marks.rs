//! The mark in the record survives all that happens to it.

use std::time::SystemTime;

use tako::backend::{Key, Record};
use tako::{LockError, StoreTime, policy};
use tako_lock_tests::faulty::Verb;
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, millis, record, secs};
use tokio::time::sleep;

use crate::stage::{Stage, key, singleflight};

const MARK: Option<StoreTime> = Some(StoreTime::from_millis(1_796_126_400_000));

/// A process that does not know marks carries the field through like any that it does not know: here one that does, but
/// has no use for it.
#[tokio::test(start_paused = true)]
async fn claims_heartbeats_releases_and_takeovers_keep_it() {
    for is_dead in [false, true] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        let expires = if is_dead { table.time().plus(policy::TTL) } else { StoreTime::RELEASED };
        table.put(&Record { mark: MARK, ..record("cron#1", expires, 7) });
        p1.work(&witness, secs(25)).await.expect("a hold");
        let history = table.history();
        let verbs: Vec<Verb> = history.iter().map(|write| write.verb).collect();
        assert_eq!(verbs, [Verb::Claim, Verb::Beat, Verb::Beat, Verb::Release]);
        for write in history {
            assert_eq!(write.record.mark, MARK, "{write:?}");
        }
        // Once more, over the record that it remembers.
        LOCK.run(&p1.ctx(), async |_| Ok::<_, LockError>(())).await.expect("a hold");
        assert_eq!(table.stored().expect("a record").record.mark, MARK);
    }
}

/// The last version that knew no mark: its record has the field among those that it does not know.
#[derive(serde::Serialize, serde::Deserialize)]
struct OldRecord {
    owner: String,
    expires: String,
    fence: u64,
    lock: String,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

#[tokio::test(start_paused = true)]
async fn a_process_that_does_not_know_it_carries_it_through() {
    let stage = Stage::new().await;
    stage.start("P1", 0, &singleflight(), millis(50));
    let tick = stage.tick(1);
    sleep(secs(65)).await;
    let ours = stage.record().expect("a record");
    let mut old: OldRecord = serde_json::from_slice(&ours.to_json().expect("JSON")).expect("an old record");
    (old.owner, old.fence) = ("old#1".into(), old.fence + 1);
    let bytes = serde_json::to_vec(&old).expect("JSON");
    let back = Record::from_json(&bytes).expect("a record");
    assert_eq!((back.mark.map(SystemTime::from), back.owner.label()), (Some(tick), "old"));
    stage.table.put_at(&key(), &back);
    stage.start("late", -50_000, &singleflight(), millis(50));
    sleep(secs(52)).await;
    assert_eq!(stage.starts().len(), 1, "{:?}", stage.reports());
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_and_a_release_carry_the_mark_of_the_claim() {
    let stage = Stage::new().await;
    stage.start("P1", 0, &singleflight(), secs(25));
    let tick = stage.tick(1);
    sleep(secs(100)).await;
    let history = stage.table.history();
    let verbs: Vec<Verb> = history.iter().map(|write| write.verb).collect();
    assert_eq!(verbs, [Verb::Claim, Verb::Beat, Verb::Beat, Verb::Release]);
    for write in history {
        assert_eq!(write.record.mark.map(SystemTime::from), Some(tick), "{write:?}");
    }
}

/// A tick costs what a lock costs, and one that somebody else has claimed costs one read.
#[tokio::test(start_paused = true)]
async fn a_tick_costs_two_writes_and_a_skipped_one_a_read() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    sleep(secs(1)).await;
    let p2 = stage.start("P2", -500, &singleflight(), millis(50));
    sleep(secs(605)).await;
    assert_eq!(stage.starts().len(), 10);
    assert_eq!((p1.process.link.writes(), p2.process.link.writes()), (20, 0));
    assert_eq!(p2.process.link.count(&[Verb::Load]), 10);
    assert!(p2.process.link.count(&[Verb::Clock]) <= 1, "the clock is not asked for each tick");
}

/// Two writes and no read for each: the remembered record has the mark too.
#[tokio::test(start_paused = true)]
async fn a_lone_instance_swaps_on_the_record_that_it_remembers() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    sleep(secs(605)).await;
    assert_eq!(p1.process.link.count(&[Verb::Load]), 1, "the first");
    assert_eq!(stage.starts().len(), 10);
}

#[test]
fn the_deploy_lease_and_crons_stand_where_no_lock_can() {
    let engine = tako::Engine::memory();
    let at = |name: &str| engine.key(name).map(|key| (key.path().to_owned(), key.lock().to_string()));
    assert_eq!(engine.key("cron.minutely").ok(), Some(key()));
    let deploy = Key::new("leases/deploy-app-dev", "app/dev/deploy.lease");
    assert_eq!(engine.key(tako::deploy_lease().name()).ok(), Some(deploy));
    for no_name in ["cron.", "cron.Minutely", "deploy", "deploy.other"] {
        let found = at(no_name);
        let is_a_lock =
            no_name == "deploy" && found.as_ref().is_ok_and(|found| found.0 == "leases/run-app-dev-deploy");
        assert!(found.is_err() || is_a_lock, "{no_name}: {found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_deploy_lease_is_had_by_one_and_says_by_whom_and_since_when() {
    let table = Table::new();
    let (one, other) = (table.process("ci-17"), table.process("ci-18"));
    let began = table.time();
    let ctx = one.ctx();
    let deploying = tokio::spawn(async move {
        let deploy = async |_| {
            sleep(secs(100)).await;
            Ok::<_, LockError>("out")
        };
        tako::deploy_lease().try_run(&ctx, deploy).await
    });
    sleep(secs(45)).await;
    let refused = tako::deploy_lease().try_run(&other.ctx(), async |_| Ok::<_, LockError>("twice")).await;
    assert!(matches!(refused, Ok(None)), "{refused:?}");
    let holder = other.engine.inspect("deploy.lease").await.expect("an answer").expect("a holder");
    assert_eq!((holder.owner.label(), holder.is_expired), ("ci-17", false));
    let since = holder.since().expect("the record tells");
    assert!(since.since(began) < secs(1) && began.since(since) < secs(1), "{since} against {began}");
    assert!(
        LOCK.try_run(&other.ctx(), async |_| Ok::<_, LockError>(())).await.is_ok_and(|ran| ran.is_some())
    );
    assert!(matches!(deploying.await, Ok(Ok(Some("out")))));
    let next = tako::deploy_lease().try_run(&other.ctx(), async |_| Ok::<_, LockError>("next")).await;
    assert!(matches!(next, Ok(Some("next"))));
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_is_no_time_tells_no_time() {
    for fence in [u64::MAX, u64::MAX - 1] {
        let table = Table::new();
        table.put(&record("far#1", table.time().plus(policy::TTL), fence));
        let holder =
            table.process("P1").engine.inspect("reindex").await.expect("an answer").expect("a holder");
        assert_eq!(holder.since(), None, "{holder:?}");
    }
}
