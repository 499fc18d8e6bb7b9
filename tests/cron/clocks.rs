//! Wall clocks that are wrong, and that are set.

use tako::backend::{Extra, Fence, Owner, Record};
use tako::cron::{CronConfig, Outcome};
use tako::{StoreTime, policy};
use tako_lock_tests::{millis, secs};
use tokio::time::sleep;

use crate::stage::{Stage, key, singleflight};

const HOUR: i64 = 3_600_000;

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_hours_ahead_claims_nothing_and_starves_nobody() {
    let stage = Stage::new().await;
    stage.start("fast", 3 * HOUR, &singleflight(), millis(50));
    stage.start("right", 0, &singleflight(), millis(50));
    let (ticks, future) = ([stage.tick(1), stage.tick(2)], stage.tick(181));
    sleep(secs(125)).await;
    for tick in ticks {
        assert_eq!(stage.runner(tick).as_deref(), Some("right"));
    }
    let outcome = stage.outcome("fast", future);
    let Outcome::Early { by } = outcome else { panic!("{outcome:?}") };
    assert!(secs(3 * 3_600 - 2) < by && by < secs(3 * 3_600 + 2), "it says by how much: {by:?}");
    assert_eq!(stage.mark(), Some(ticks[1]), "no mark in the future");
}

/// However old what it knows of the store's time is: within the bound its ticks are early, and past it refused.
#[tokio::test(start_paused = true)]
async fn the_bound_holds_for_an_old_estimate_too() {
    let bound = i64::try_from(policy::EARLY.as_millis()).unwrap();
    for (ahead, is_claimed) in [(bound - 1_000, true), (bound + 1_500, false)] {
        let stage = Stage::new().await;
        let fast = stage.start("fast", ahead, &singleflight(), millis(50));
        let first = stage.tick(1);
        sleep(secs(60)).await;
        assert_eq!(stage.runner(first).is_some(), is_claimed, "{ahead}: {:?}", stage.reports());
        // For an hour it sees no tick, and learns nothing of the store's time.
        fast.host.suspend();
        sleep(secs(3_600)).await;
        fast.host.resume();
        let later = stage.tick(5);
        sleep(secs(300)).await;
        assert_eq!(stage.runner(later).is_some(), is_claimed, "{ahead}: {:?}", stage.reports());
    }
}

#[tokio::test(start_paused = true)]
async fn a_fast_clock_that_is_set_right_takes_part_at_once() {
    let stage = Stage::new().await;
    let fast = stage.start("fast", 3 * HOUR, &singleflight(), millis(50));
    sleep(secs(90)).await;
    assert_eq!(stage.starts().len(), 0);
    fast.host.set_clock(-3 * HOUR);
    let next = stage.tick(1);
    sleep(secs(40)).await;
    assert_eq!(stage.runner(next).as_deref(), Some("fast"));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_runs_nothing_again() {
    for config in [singleflight(), CronConfig::default()] {
        let stage = Stage::new().await;
        let p1 = stage.start("P1", 0, &config, millis(50));
        sleep(secs(305)).await;
        let ran = stage.starts().len();
        assert_eq!(ran, 5);
        p1.host.set_clock(-HOUR);
        sleep(secs(3_590)).await;
        assert_eq!(stage.starts().len(), ran, "an hour that it has lived through already");
        sleep(secs(75)).await;
        assert_eq!(stage.starts().len(), ran + 1);
    }
}

/// More than three hours back is the mending of a clock: the instance starts anew, and marks decide.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_by_a_day_runs_no_claimed_tick_again() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    sleep(secs(305)).await;
    let again = stage.tick(0);
    p1.host.set_clock(-24 * HOUR);
    sleep(secs(100)).await;
    assert_eq!(stage.starts().len(), 5);
    let outcomes: Vec<_> = stage.reports().into_iter().skip(5).map(|(_, report)| report.outcome).collect();
    assert!(
        !outcomes.is_empty() && outcomes.iter().all(|outcome| matches!(outcome, Outcome::Claimed { .. }))
    );
    p1.host.set_clock(24 * HOUR);
    sleep(secs(100)).await;
    assert_eq!(
        stage.outcomes("P1", again).iter().filter(|out| matches!(out, Outcome::Ran { .. })).count(),
        1
    );
    assert!(stage.starts().len() >= 6, "it goes on: {:?}", stage.reports().last());
}

#[tokio::test(start_paused = true)]
async fn ticks_that_a_clock_was_set_over_are_missed_and_the_latest_runs_late() {
    let stage = Stage::new().await;
    // Slow by an hour, and then set right.
    let p1 = stage.start("P1", -HOUR, &CronConfig::default(), millis(50));
    sleep(secs(30)).await;
    let (latest, first) = (stage.tick(0), stage.tick(1));
    p1.host.set_clock(HOUR);
    sleep(secs(6)).await;
    let reports = stage.reports();
    let missed = reports.iter().find_map(|(_, report)| match report.outcome {
        Outcome::Missed { last, ticks } => Some((report.scheduled, last, ticks)),
        _ => None,
    });
    let minutes = |minutes: u64| std::time::Duration::from_mins(minutes);
    assert_eq!(missed, Some((latest - minutes(59), latest - minutes(1), 59)), "{reports:?}");
    let Outcome::Ran { tick, .. } = stage.outcome("P1", latest) else { panic!("{reports:?}") };
    assert!(tick.late >= secs(30), "{tick:?}");
    sleep(secs(30)).await;
    assert!(matches!(stage.outcome("P1", first), Outcome::Ran { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_suspended_host_makes_nothing_up() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    sleep(secs(65)).await;
    p1.host.suspend();
    sleep(secs(600)).await;
    let latest = stage.tick(0);
    p1.host.resume();
    sleep(secs(10)).await;
    assert_eq!(stage.starts().len(), 2, "the one before, and the one whose successor has not come");
    assert_eq!(stage.runner(latest).as_deref(), Some("P1"));
}

/// A mark that somebody's hand has put into the future stops the cron, visibly, until a hand puts it right; what a process
/// remembers does not stand in the way.
#[tokio::test(start_paused = true)]
async fn a_mark_in_the_far_future_is_told_and_can_be_mended() {
    let stage = Stage::new().await;
    stage.start("P1", 0, &singleflight(), millis(50));
    sleep(secs(65)).await;
    let right = stage.record().expect("a record");
    let wrong = Record { mark: Some(StoreTime::MAX), ..right.clone() };
    stage.table.put_at(&key(), &wrong);
    let (second, third) = (stage.tick(1), stage.tick(2));
    sleep(secs(60)).await;
    let outcome = stage.outcome("P1", second);
    assert!(
        matches!(outcome, Outcome::Claimed { mark, .. } if StoreTime::from(mark) == StoreTime::MAX),
        "{outcome:?}"
    );
    stage.table.put_at(&key(), &Record { mark: None, ..right });
    sleep(secs(60)).await;
    assert!(matches!(stage.outcome("P1", third), Outcome::Ran { .. }));
}

/// The same where the process remembers the free record that it wrote itself.
#[tokio::test(start_paused = true)]
async fn a_claimed_tick_is_always_told_by_the_record_itself() {
    for is_dated in [true, false] {
        let stage = Stage::new().await;
        let p1 = stage.start("P1", 0, &singleflight(), millis(50));
        if !is_dated {
            p1.process.link.never_dates();
        }
        sleep(secs(65)).await;
        let before = p1.process.link.requests().len();
        // The clock goes back by a day: every tick is behind the mark that the process remembers.
        p1.host.set_clock(-24 * HOUR);
        sleep(secs(60)).await;
        let sent: Vec<_> =
            p1.process.link.requests().split_off(before).iter().map(|sent| sent.verb).collect();
        assert_eq!(sent, [tako_lock_tests::faulty::Verb::Load], "one read, and no write (dated: {is_dated})");
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_not_the_crons_is_left_alone() {
    let stage = Stage::new().await;
    let foreign = Record {
        owner: Owner::new("other#1"),
        expires: StoreTime::RELEASED,
        fence: Fence::new(7),
        lock: "other/app/cron.minutely".into(),
        mark: None,
        extra: Extra::NONE,
    };
    stage.table.put_at(&key(), &foreign);
    stage.start("P1", 0, &singleflight(), millis(50));
    let tick = stage.tick(1);
    sleep(secs(70)).await;
    let outcome = stage.outcome("P1", tick);
    let is_told = matches!(outcome, Outcome::Unclaimed { error: tako::LockError::Corrupt { .. } });
    assert!(is_told, "{outcome:?}");
    assert_eq!(stage.record(), Some(foreign));
}
