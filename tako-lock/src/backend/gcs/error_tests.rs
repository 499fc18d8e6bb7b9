//! A test for each row of the table, and the signs of real errors.

use google_cloud_gax::error::CredentialsError;
use google_cloud_storage::Error;

use super::Verb::{Read, Swap, Touch};
use super::{Advice, Causes, ErrorKind, Meaning, Sign, Verb, failed, meaning, sign};

fn status(code: u16, reason: &str, message: &str) -> Sign {
    let reasons = if reason.is_empty() { Vec::new() } else { vec![reason.to_owned()] };
    Sign::Status { code, reasons, message: message.into() }
}

fn assert_row(verbs: &[Verb], sign: &Sign, expected: Meaning) {
    for verb in verbs {
        assert_eq!(meaning(*verb, sign), expected, "{verb:?} {sign:?}");
    }
}

const ALL: &[Verb] = &[Read, Swap, Touch];
const WRITES: &[Verb] = &[Swap, Touch];

fn fails(kind: ErrorKind) -> Meaning {
    Meaning::Failed(kind, Advice::None)
}

#[test]
fn no_object_is_an_answer_to_a_read() {
    assert_row(&[Read], &status(404, "notFound", "No such object"), Meaning::Absent);
}

#[test]
fn no_bucket_is_what_a_404_tells_a_write() {
    assert_row(
        WRITES,
        &status(404, "notFound", ""),
        Meaning::Failed(ErrorKind::Misconfigured, Advice::Bucket),
    );
}

#[test]
fn a_failed_condition_is_a_refusal() {
    assert_row(&[Swap], &status(412, "conditionNotMet", ""), Meaning::Refused);
    // Without a condition nothing can have failed it.
    assert_row(&[Read, Touch], &status(412, "", ""), fails(ErrorKind::Unavailable));
}

#[test]
fn a_conflict_is_a_refusal_too() {
    assert_row(&[Swap], &status(409, "conflict", ""), Meaning::Refused);
    assert_row(&[Read, Touch], &status(409, "conflict", ""), fails(ErrorKind::Unavailable));
}

#[test]
fn too_many_requests_are_not_applied() {
    assert_row(ALL, &status(429, "rateLimitExceeded", ""), fails(ErrorKind::Throttled));
    assert_row(ALL, &status(403, "userRateLimitExceeded", ""), fails(ErrorKind::Throttled));
}

#[test]
fn a_request_timeout_leaves_a_write_in_doubt() {
    assert_row(&[Read], &status(408, "", ""), fails(ErrorKind::Unavailable));
    assert_row(WRITES, &status(408, "", ""), fails(ErrorKind::UnknownOutcome));
}

#[test]
fn a_failing_server_leaves_a_write_in_doubt() {
    for code in [500, 502, 503, 504, 599] {
        assert_row(&[Read], &status(code, "", ""), fails(ErrorKind::Unavailable));
        assert_row(WRITES, &status(code, "", ""), fails(ErrorKind::UnknownOutcome));
    }
}

#[test]
fn no_permission_is_denied() {
    let denied = Meaning::Failed(ErrorKind::Denied, Advice::Permission);
    assert_row(ALL, &status(403, "forbidden", "x does not have storage.objects.get access"), denied);
    assert_row(ALL, &status(403, "", ""), denied);
    // The name of a lock stands in the text.
    assert_row(ALL, &status(403, "forbidden", "denied: leases/run-app-prod-hold-retention"), denied);
}

#[test]
fn a_retained_object_cannot_be_rewritten() {
    let retained = Meaning::Failed(ErrorKind::Misconfigured, Advice::Retention);
    assert_row(ALL, &status(403, "retentionPolicyNotMet", ""), retained);
    assert_row(ALL, &status(403, "objectUnderActiveHold", ""), retained);
    let text =
        "Object 'b/o' is subject to bucket's retention policy or object retention and cannot be deleted";
    assert_row(ALL, &status(403, "forbidden", text), retained);
}

#[test]
fn unknown_credentials_are_denied() {
    assert_row(ALL, &status(401, "authError", ""), Meaning::Failed(ErrorKind::Denied, Advice::Credentials));
}

#[test]
fn other_faults_of_the_request_are_the_settings() {
    for code in [400, 405, 411, 413] {
        assert_row(ALL, &status(code, "", ""), fails(ErrorKind::Misconfigured));
    }
    assert_row(ALL, &Sign::NoRequest, fails(ErrorKind::Misconfigured));
}

#[test]
fn a_redirect_is_not_followed_and_nothing_is_taken_from_it() {
    for code in [301, 304, 307] {
        assert_row(&[Read], &status(code, "", ""), fails(ErrorKind::Unavailable));
        assert_row(WRITES, &status(code, "", ""), fails(ErrorKind::UnknownOutcome));
    }
}

#[test]
fn without_a_connection_nothing_was_sent() {
    assert_row(ALL, &Sign::NoConnection, fails(ErrorKind::Unavailable));
}

#[test]
fn without_a_token_nothing_was_sent() {
    let waits = Meaning::Failed(ErrorKind::Unavailable, Advice::Login);
    assert_row(ALL, &Sign::NoToken { is_transient: true }, waits);
    let denied = Meaning::Failed(ErrorKind::Denied, Advice::Credentials);
    assert_row(ALL, &Sign::NoToken { is_transient: false }, denied);
}

#[test]
fn a_broken_answer_leaves_a_write_in_doubt() {
    assert_row(&[Read], &Sign::NoAnswer, fails(ErrorKind::Unavailable));
    assert_row(WRITES, &Sign::NoAnswer, fails(ErrorKind::UnknownOutcome));
}

#[test]
fn the_clients_errors_show_their_signs() {
    assert_eq!(sign(&Error::connect("refused")), Sign::NoConnection);
    assert_eq!(sign(&Error::io("reset by peer")), Sign::NoAnswer);
    assert_eq!(sign(&Error::timeout("late")), Sign::NoAnswer);
    assert_eq!(sign(&Error::deser("EOF while parsing")), Sign::NoAnswer);
    assert_eq!(sign(&Error::ser("no")), Sign::NoRequest);
    for is_transient in [true, false] {
        let error = Error::authentication(CredentialsError::from_msg(is_transient, "no token"));
        assert_eq!(sign(&error), Sign::NoToken { is_transient });
    }
}

#[test]
fn messages_name_the_object_the_permission_and_the_way_out() {
    let error = Error::deser("EOF");
    let text =
        |verb, kind, advice| failed(verb, "demo-tako", "leases/run-a-b-c", kind, advice, &error).to_string();
    let denied = text(Read, ErrorKind::Denied, Advice::Permission);
    for part in [
        "`gs://demo-tako/leases/run-a-b-c`",
        // Whoever may not look into a bucket is not told whether there is one.
        "or there is no bucket `demo-tako`",
        "`storage.objects.get`",
        "`roles/storage.objectUser`",
    ] {
        assert!(denied.contains(part), "{denied}");
    }
    let denied = text(Swap, ErrorKind::Denied, Advice::Permission);
    assert!(
        denied.contains("`storage.objects.create`") && denied.contains("`storage.objects.delete`"),
        "{denied}"
    );
    let bucket = text(Swap, ErrorKind::Misconfigured, Advice::Bucket);
    assert!(bucket.contains("gcloud storage buckets create gs://demo-tako"), "{bucket}");
    let retention = text(Swap, ErrorKind::Misconfigured, Advice::Retention);
    assert!(retention.contains("cannot host leases"), "{retention}");
    let doubt = text(Swap, ErrorKind::UnknownOutcome, Advice::None);
    assert_eq!(
        doubt,
        "writing `gs://demo-tako/leases/run-a-b-c` brought no answer, so it may have been done"
    );
}

#[test]
fn each_cause_is_told_once_and_not_at_length() {
    #[derive(Debug, thiserror::Error)]
    #[error("above: {0}")]
    struct Above(#[source] std::io::Error);
    let error = Above(std::io::Error::other("below"));
    assert_eq!(Causes::of(&error).to_string(), "above: below");
    let long = std::io::Error::other("\u{e4}".repeat(5_000));
    assert!(Causes::of(&long).to_string().len() < 1_010);
}
