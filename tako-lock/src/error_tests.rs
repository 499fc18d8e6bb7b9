//! Messages as a user reads them, and the page that explains them, kept in step.

use std::error::Error;
use std::time::Duration;

use super::{
    BackendError, CancelCause, Cancelled, ErrorKind, Fence, LockError, LossCause, Lost, Owner, Span,
};
use crate::config::settings;

const PATH: &str = "leases/run-gallery-prod-reindex";

/// The page as plain text: quotation marks of Markdown, code marks and line ends taken out.
fn page() -> String {
    let page = include_str!("docs/errors.md");
    let lines = page.lines().map(|line| line.strip_prefix("> ").unwrap_or(line));
    plain(&lines.collect::<Vec<_>>().join(" "))
}

fn plain(text: &str) -> String {
    text.replace(['`', '*'], "").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn from_backend(kind: ErrorKind) -> LockError {
    let error = BackendError::new(kind, "what the store said");
    LockError::from_backend("reindex".into(), PATH.into(), Duration::from_millis(3_312), error)
}

fn lost(cause: LossCause) -> Lost {
    Lost::new("reindex".into(), Fence::new(7), Duration::from_secs(41), cause)
}

#[test]
fn the_page_has_every_message_to_the_letter() {
    let lock = || "reindex".into();
    let waited = Duration::from_secs(30);
    let holder = Some(Owner::new("web-7f-1#5f0c\u{2026}"));
    let messages = [
        LockError::from(lost(LossCause::Vanished)),
        Cancelled::waiting(CancelCause::TimedOut, lock(), waited, holder).into(),
        Cancelled::at_work(CancelCause::Shutdown, Some(lock())).into(),
        LockError::Reentrant { lock: lock() },
        LockError::ShuttingDown { lock: lock(), since: Duration::from_secs(3) },
        from_backend(ErrorKind::Unavailable),
        from_backend(ErrorKind::Denied),
        from_backend(ErrorKind::Misconfigured),
        from_backend(ErrorKind::Corrupt),
    ];
    let page = page();
    for message in messages.map(|error| error.to_string()) {
        assert!(page.contains(&plain(&message)), "the page does not have: {message}");
    }
    let last_error = Some(BackendError::new(ErrorKind::Unavailable, "it is down"));
    for cause in [LossCause::Expired { last_error }, LossCause::Expired { last_error: None }] {
        assert!(page.contains(&plain(&cause.to_string())), "the page does not have: {cause}");
    }
    for table in [
        &[("TAKO_LEASE", "redis")][..],
        &[("K_SERVICE", "gallery")],
        // Not set, or (built without the feature) no such backend.
        &[("TAKO_ENV", "prod"), ("TAKO_APP", "a"), ("STORAGE_EMULATOR_HOST", "localhost:1")],
    ] {
        let error =
            settings(|name| table.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()));
        // The page explains in its own words what follows the first sentence.
        for message in error.unwrap_err().faults() {
            let sentence = message.split(". ").next().unwrap_or_default();
            assert!(page.contains(&plain(sentence)), "the page does not have: {sentence}");
        }
    }
}

#[test]
fn every_variant_has_its_section() {
    let page = include_str!("docs/errors.md");
    for variant in [
        "Lost",
        "Cancelled",
        "Reentrant",
        "ShuttingDown",
        "Unavailable",
        "Denied",
        "Misconfigured",
        "Corrupt",
        "Config",
    ] {
        assert!(page.contains(&format!("\n## `{variant}`\n")), "{variant}");
    }
}

#[test]
fn a_loss_is_the_specifications_sentence_and_its_cause_is_the_source() {
    let down = BackendError::new(ErrorKind::Unavailable, "it is down").with_source("connection refused");
    let error = LockError::from(lost(LossCause::Expired { last_error: Some(down) }));
    assert_eq!(
        error.to_string(),
        "lease \"reindex\" was lost while held (ttl expired or forcibly taken) \u{2014} work after the loss point may not have run"
    );
    let mut chain = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        chain.push(cause.to_string());
        next = cause.source();
    }
    let expired = "no heartbeat was confirmed in time: the store was failing";
    assert_eq!(chain, [expired, "it is down", "connection refused"], "each told once");
}

#[test]
fn a_cause_is_never_repeated_in_the_text_above_it() {
    for kind in [ErrorKind::Unavailable, ErrorKind::Denied, ErrorKind::Misconfigured, ErrorKind::Corrupt] {
        let error = from_backend(kind);
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("what the store said"));
        assert!(!error.to_string().contains("what the store said"));
    }
}

#[test]
fn spans_read_well() {
    let table = [
        (0, "0s"),
        (7, "7ms"),
        (1_234, "1s 234ms"),
        (9_999, "9s 999ms"),
        (10_000, "10s"),
        (75_400, "1m 15s"),
        (3_600_000, "1h"),
    ];
    for (millis, expected) in table {
        assert_eq!(Span(Duration::from_millis(millis)).to_string(), expected);
    }
}
