//! Each trouble at each step: what the caller gets, what it costs, and what is left in the record. `matrix.md` is the
//! table, and says how to read it.

use std::time::Duration;

use tako_lock_tests::matrix::cells;
use tokio::task::JoinSet;

use crate::cell::{Cell, STEPS, Step, TROUBLES, Trouble};

/// Whether `seen` is what the table says. `*` stands for two or more: as often as the pauses between tries allow.
fn agrees(told: &str, seen: &str) -> bool {
    let (told, seen): (Vec<_>, Vec<_>) = (told.split(' ').collect(), seen.split(' ').collect());
    let is_many = |seen: &str| seen.parse::<u32>().is_ok_and(|count| (2..400).contains(&count));
    told.len() == seen.len()
        && told.iter().zip(seen).all(|(told, seen)| *told == seen || (*told == "*" && is_many(seen)))
}

/// Plays cells side by side.
async fn play(cells: impl Iterator<Item = (Step, Trouble)>) -> Vec<(Step, Trouble, String)> {
    // All clients are made before the first cell is played: that takes a small machine seconds, and a request that
    // has to wait for it would be counted as one more trouble.
    let ready =
        cells.map(|(step, trouble)| Cell::new(step, trouble)).collect::<JoinSet<_>>().join_all().await;
    let played = (0..).zip(ready).map(|(number, cell)| async move {
        // Nor are their heartbeats to fall on one instant.
        tokio::time::sleep(Duration::from_millis(number * 12)).await;
        (cell.step, cell.trouble, cell.play().await)
    });
    played.collect::<JoinSet<_>>().join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_trouble_at_each_step_comes_out_as_the_table_says() {
    let table = cells(include_str!("matrix.md"));
    let wrong = |(step, trouble, seen): &(Step, Trouble, String)| {
        let told = table.get(&(format!("{trouble:?}"), format!("{step:?}")));
        let is_right = told.is_some_and(|told| agrees(told, seen));
        (!is_right).then(|| format!("{trouble:?} at {step:?}: told {told:?}, seen `{seen}`"))
    };
    let all: Vec<_> = STEPS.into_iter().flat_map(|step| TROUBLES.map(|trouble| (step, trouble))).collect();
    assert_eq!(table.len(), all.len(), "the table has a cell for each trouble at each step, and no other");
    let played = play(all.into_iter()).await;
    // A machine that is busy with other things adds timeouts of its own. What is wrong is wrong a second time.
    let doubtful: Vec<_> = played.iter().filter(|cell| wrong(cell).is_some()).collect();
    for cell in &doubtful {
        eprintln!("once more: {}", wrong(cell).unwrap_or_default());
    }
    assert!(doubtful.len() <= 20, "{} cells are wrong", doubtful.len());
    let again = play(doubtful.into_iter().map(|(step, trouble, _)| (*step, *trouble))).await;
    let wrong: Vec<_> = again.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
