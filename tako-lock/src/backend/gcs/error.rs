//! What a failed request means: a sign that the client shows, looked up in a table.

use std::error::Error as _;
use std::fmt;

use google_cloud_gax::error::CredentialsError;
use google_cloud_gax::error::rpc::StatusDetails;
use google_cloud_storage::Error;

use crate::backend::{BackendError, ErrorKind};

/// What was asked of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Read,
    /// Only on a condition.
    Swap,
    /// On no condition: of the object that tells the time.
    Touch,
}

/// What came back instead of an answer, as far as it decides anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sign {
    /// The store's own words: the code, and the reasons that it gives.
    Status { code: u16, reasons: Vec<String>, message: String },
    /// No connection: nothing was sent.
    NoConnection,
    /// No token: nothing was sent.
    NoToken { is_transient: bool },
    /// The request could not even be put together.
    NoRequest,
    /// The connection broke, or the answer was cut off or makes no sense. (An answer that was cut off shows as one that
    /// cannot be parsed, with no hint of a broken connection.)
    NoAnswer,
}

/// What a sign means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// There is no such object.
    Absent,
    /// The condition did not hold.
    Refused,
    Failed(ErrorKind, Advice),
}

/// What people are told to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    None,
    Bucket,
    Credentials,
    Login,
    Permission,
    Retention,
}

/// Reasons of a 403 that mean the objects' own rules: <https://docs.cloud.google.com/storage/docs/json_api/v1/status-codes>.
const RETAINED: [&str; 2] = ["retentionPolicyNotMet", "objectUnderActiveHold"];
/// What the service says where it gives no such reason. Not just the word: a lock may be named `hold`.
const RETAINED_TEXT: [&str; 4] =
    ["retention policy", "object retention", "active temporary hold", "active event-based hold"];
/// Reasons of a 403 that a 429 would give as well.
const LIMITED: [&str; 3] = ["rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"];

const LOGIN: &str = "no token could be had. On a machine of yours, run `gcloud auth application-default login`; in the \
                     cloud, attach a service account to the workload";
const CREDENTIALS: &str =
    "the credentials are not valid. Renew them, or attach a service account to the workload";

/// The table.
pub(super) fn meaning(verb: Verb, sign: &Sign) -> Meaning {
    use ErrorKind::{Denied, Misconfigured, Throttled, Unavailable, UnknownOutcome};
    use Meaning::{Absent, Failed, Refused};
    // A read changes nothing, so nothing about it can be in doubt.
    let in_doubt = if verb == Verb::Read { Unavailable } else { UnknownOutcome };
    let (code, reasons, message) = match sign {
        Sign::Status { code, reasons, message } => (*code, reasons, message),
        Sign::NoConnection => return Failed(Unavailable, Advice::None),
        Sign::NoToken { is_transient: true } => return Failed(Unavailable, Advice::Login),
        Sign::NoToken { is_transient: false } => return Failed(Denied, Advice::Credentials),
        Sign::NoRequest => return Failed(Misconfigured, Advice::None),
        Sign::NoAnswer => return Failed(in_doubt, Advice::None),
    };
    let is_among = |known: &[&str]| reasons.iter().any(|reason| known.contains(&reason.as_str()));
    match (code, verb) {
        (404, Verb::Read) => Absent,
        (404, _) => Failed(Misconfigured, Advice::Bucket),
        // 409: another write of the object was under way. Like a failed condition, it has changed nothing.
        (409 | 412, Verb::Swap) => Refused,
        (409 | 412, _) => Failed(Unavailable, Advice::None),
        (429, _) => Failed(Throttled, Advice::None),
        (401, _) => Failed(Denied, Advice::Credentials),
        (403, _) if is_among(&LIMITED) => Failed(Throttled, Advice::None),
        (403, _) if is_among(&RETAINED) || RETAINED_TEXT.iter().any(|text| message.contains(text)) => {
            Failed(Misconfigured, Advice::Retention)
        }
        (403, _) => Failed(Denied, Advice::Permission),
        // 408: the server gave up on a request that it may have had whole.
        (408 | 500..=599, _) => Failed(in_doubt, Advice::None),
        (400..=499, _) => Failed(Misconfigured, Advice::None),
        // Some server between here and the store: a redirect is not followed.
        _ => Failed(in_doubt, Advice::None),
    }
}

pub(super) fn sign(error: &Error) -> Sign {
    if let Some(code) = error.http_status_code() {
        let status = error.status();
        let reason = |detail: &StatusDetails| match detail {
            StatusDetails::ErrorInfo(info) => Some(info.reason.clone()),
            _ => None,
        };
        return Sign::Status {
            code,
            reasons: status
                .map_or_else(Vec::new, |status| status.details.iter().filter_map(reason).collect()),
            message: status.map(|status| status.message.clone()).unwrap_or_default(),
        };
    }
    if let Some(cause) = error.source().and_then(|cause| cause.downcast_ref::<CredentialsError>()) {
        Sign::NoToken { is_transient: cause.is_transient() }
    } else if error.is_transient_and_before_rpc() {
        Sign::NoConnection
    } else if error.is_serialization() {
        Sign::NoRequest
    } else {
        Sign::NoAnswer
    }
}

/// The error that the engine and people get.
pub(super) fn failed(
    verb: Verb,
    bucket: &str,
    path: &str,
    kind: ErrorKind,
    advice: Advice,
    error: &Error,
) -> BackendError {
    let (asks, permissions, does) = match verb {
        Verb::Read => (
            "reading",
            "`storage.objects.get` and, where there is nothing yet, `storage.objects.list`",
            "read",
        ),
        Verb::Swap | Verb::Touch => {
            ("writing", "`storage.objects.create` and, to overwrite, `storage.objects.delete`", "write")
        }
    };
    let what = match kind {
        ErrorKind::Throttled => "was throttled",
        ErrorKind::UnknownOutcome => "brought no answer, so it may have been done",
        ErrorKind::Denied | ErrorKind::Misconfigured => "was refused",
        ErrorKind::Unavailable | ErrorKind::Corrupt => "failed",
    };
    let advice = match advice {
        Advice::None => String::new(),
        Advice::Bucket => format!(
            ": there is no bucket `{bucket}`. Create it (`gcloud storage buckets create gs://{bucket} \
             --uniform-bucket-level-access --public-access-prevention`), or set TAKO_BUCKET to the one that you have"
        ),
        Advice::Credentials => format!(": {CREDENTIALS}"),
        Advice::Login => format!(": {LOGIN}"),
        Advice::Permission => format!(
            ": this program may not {does} there, or there is no bucket `{bucket}`; it needs {permissions}. Grant its \
             service account `roles/storage.objectUser` on the bucket (`tako::cloud` shows a narrower grant)"
        ),
        Advice::Retention => {
            ": the bucket has a retention policy, or the object is on hold, so no record can be rewritten. \
             Such a bucket cannot host leases: remove the policy, or set TAKO_BUCKET to another bucket"
                .to_owned()
        }
    };
    let is_token = matches!(error.source(), Some(cause) if cause.is::<CredentialsError>());
    let causes = if is_token { Causes::root(error) } else { Causes::of(error) };
    BackendError::new(kind, format!("{asks} `gs://{bucket}/{path}` {what}{advice}")).with_source(causes)
}

/// The error when the first token cannot be had.
pub(super) fn no_token(error: &CredentialsError) -> BackendError {
    let (kind, advice) =
        if error.is_transient() { (ErrorKind::Unavailable, LOGIN) } else { (ErrorKind::Denied, CREDENTIALS) };
    BackendError::new(kind, format!("asking for access to Google Cloud failed: {advice}"))
        .with_source(Causes::root(error))
}

/// A page of HTML from some server between is no help in a log.
const LONGEST: usize = 1_000;

/// The client's error with all that caused it as one text: the client repeats each cause in the text above it.
#[derive(Debug)]
pub(super) struct Causes(String);

impl Causes {
    pub(super) fn of(error: &(dyn std::error::Error + 'static)) -> Causes {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            let part = cause.to_string();
            if !text.contains(&part) {
                text.push_str(": ");
                text.push_str(&part);
            }
            next = cause.source();
        }
        if text.len() > LONGEST {
            text.truncate(text.floor_char_boundary(LONGEST));
            text.push('\u{2026}');
        }
        Causes(text)
    }

    /// The deepest cause alone: above it, no token says five times over that there is no token.
    fn root(error: &(dyn std::error::Error + 'static)) -> Causes {
        let mut deepest = error;
        while let Some(cause) = deepest.source() {
            deepest = cause;
        }
        Causes::of(deepest)
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Causes {}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
