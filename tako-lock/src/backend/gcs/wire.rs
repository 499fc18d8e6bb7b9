//! A record as an object, and back.

use google_cloud_storage::model::Object;

use crate::backend::{BackendError, ErrorKind, Record, StoreTime, Token};

/// The largest body that is read or written. A record has some two hundred bytes; what a newer version adds fits
/// many times over.
pub(super) const LARGEST: usize = 64 * 1024;

pub(super) const CONTENT_TYPE: &str = "application/json";
/// Without it a publicly readable object may be served from a cache for an hour, the record of an hour ago. A write
/// resets it, so every write sets it.
pub(super) const CACHE_CONTROL: &str = "no-store";

/// What `ifGenerationMatch` has to say; `None` for a token that no object ever has.
pub(super) fn condition(expected: Option<&Token>) -> Option<i64> {
    let Some(token) = expected else {
        // 0: only while there is no object.
        return Some(0);
    };
    token.as_number().and_then(|number| i64::try_from(number).ok()).filter(|number| *number > 0)
}

/// The token of a generation; `None` for what is none.
pub(super) fn token(generation: i64) -> Option<Token> {
    u64::try_from(generation).ok().filter(|number| *number > 0).map(Token::from)
}

/// When the object was last written, by the store's clock.
pub(super) fn written_at(object: &Object) -> Option<StoreTime> {
    let time = object.update_time.as_ref()?;
    let seconds = u64::try_from(time.seconds()).ok()?;
    let millis = u64::try_from(time.nanos()).ok()? / 1_000_000;
    Some(StoreTime::from_millis(seconds.saturating_mul(1_000).saturating_add(millis)))
}

/// The record as the object's body.
pub(super) fn body(place: &str, record: &Record) -> Result<String, BackendError> {
    let unfit =
        |why: String| BackendError::new(ErrorKind::Corrupt, format!("the record for `{place}` {why}"));
    let json =
        record.to_json().map_err(|error| unfit("cannot be written as JSON".into()).with_source(error))?;
    if json.len() > LARGEST {
        return Err(unfit(format!("has {} bytes, and {LARGEST} is the most", json.len())));
    }
    String::from_utf8(json).map_err(|error| unfit("is not text".into()).with_source(error))
}

/// The object's body as a record.
pub(super) fn record(place: &str, body: &[u8]) -> Result<Record, BackendError> {
    Record::from_json(body).map_err(|error| {
        BackendError::new(ErrorKind::Corrupt, format!("the object `{place}` is not a lease record"))
            .with_source(error)
    })
}

pub(super) fn too_large(place: &str) -> BackendError {
    BackendError::new(
        ErrorKind::Corrupt,
        format!("the object `{place}` is not a lease record: it has more than {LARGEST} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use super::{Token, condition, token};

    #[test]
    fn only_generations_are_conditions() {
        assert_eq!(condition(None), Some(0));
        assert_eq!(condition(Some(&Token::from(7))), Some(7));
        // As a condition 0 would mean "create", and that is not what a token asks for.
        for never in [Token::from(0), Token::from(u64::MAX), Token::from("7")] {
            assert_eq!(condition(Some(&never)), None, "{never}");
        }
        assert_eq!(token(7), Some(Token::from(7)));
        assert_eq!((token(0), token(-1)), (None, None));
    }
}
