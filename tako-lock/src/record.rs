//! What the store keeps for one lock: a small JSON object, written whole each time.
//!
//! `{"owner":"web-7f#5f0c…","expires":"2026-12-01T12:00:30.125Z","fence":1764590430125,"lock":"gallery/pr-42/reindex"}`

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant on the store's own clock, in whole milliseconds since the Unix epoch.
///
/// The epoch itself ([`StoreTime::RELEASED`]) in a record means that the lock is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreTime(u64);

impl StoreTime {
    /// The `expires` of a released record.
    pub const RELEASED: StoreTime = StoreTime(0);
    /// The last instant that RFC 3339 can write: the end of the year 9999.
    pub const MAX: StoreTime = StoreTime(253_402_300_799_999);

    /// The instant so many milliseconds after the Unix epoch, at most [`StoreTime::MAX`].
    pub const fn from_millis(millis: u64) -> StoreTime {
        if millis < Self::MAX.0 { StoreTime(millis) } else { Self::MAX }
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This instant moved on by `span`, at most to [`StoreTime::MAX`].
    #[must_use]
    pub fn plus(self, span: Duration) -> StoreTime {
        let millis = span.as_secs().saturating_mul(1_000).saturating_add(u64::from(span.subsec_millis()));
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// The time from `earlier` to this instant; zero when `earlier` is not earlier.
    pub fn since(self, earlier: StoreTime) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl From<SystemTime> for StoreTime {
    fn from(time: SystemTime) -> StoreTime {
        let millis = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        StoreTime::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

impl From<StoreTime> for SystemTime {
    fn from(time: StoreTime) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(time.0)
    }
}

impl fmt::Display for StoreTime {
    /// RFC 3339, UTC, with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis(SystemTime::from(*self)).fmt(f)
    }
}

impl Serialize for StoreTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StoreTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StoreTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text).map_err(|error| {
            D::Error::custom(format_args!("`{text}` is not an RFC 3339 time in UTC: {error}"))
        })?;
        Ok(StoreTime::from(time))
    }
}

/// A number that grows with every hold of one lock. Hand it to the systems that the guarded work writes to, and
/// let them refuse a number below the highest that they have seen: the work of a stale holder then cannot land.
///
/// See Martin Kleppmann, [How to do distributed locking](https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(u64);

impl Fence {
    /// The fence with this number.
    pub const fn new(number: u64) -> Fence {
        Fence(number)
    }

    /// The number to send along with each write.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who wrote a record: a label for people, `#`, and a random 128-bit id that is fresh for each acquisition.
///
/// Ownership is equality of the whole text. The label never decides anything: containers share host names and
/// process ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Owner(Arc<str>);

impl Owner {
    /// The owner with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Owner {
        Owner(text.into())
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part for people: all before the last `#`.
    pub fn label(&self) -> &str {
        self.0.rsplit_once('#').map_or(&self.0, |(label, _)| label)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The state of one lock, as its store keeps it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The last acquisition that wrote here; with `expires` it identifies one logical write.
    pub owner: Owner,
    /// When the lease ends, in store time; [`StoreTime::RELEASED`] when it has been given back.
    pub expires: StoreTime,
    /// The highest fence handed out so far. A hold takes a higher one, and never one behind the present, in milliseconds.
    pub fence: Fence,
    /// The full identity, `<app>/<env>/<name>`: a record with another one is a foreign object at our path.
    pub lock: Arc<str>,
    /// Of a cron's lease: the scheduled instant of the last tick that was claimed. Whoever writes the record keeps it.
    #[serde(default, deserialize_with = "a_mark", skip_serializing_if = "Option::is_none")]
    pub mark: Option<StoreTime>,
    /// What a newer version has written beside these; carried through unchanged.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A mark that is there has to be an instant: `null`, read as "no mark", would have a tick run again.
fn a_mark<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StoreTime>, D::Error> {
    StoreTime::deserialize(deserializer).map(Some)
}

/// The fields of a record that this version does not know: what a newer one has written.
///
/// Numbers are carried through as far as JSON's readers agree on them: integers of 64 bits, and doubles to the last bit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extra(Option<Arc<Fields>>);

type Fields = BTreeMap<String, serde_json::Value>;

impl Extra {
    /// No such fields.
    pub const NONE: Extra = Extra(None);

    /// The value of the field `name`.
    pub fn get(&self, name: &str) -> Option<&serde_json::Value> {
        self.0.as_ref()?.get(name)
    }
}

impl FromIterator<(String, serde_json::Value)> for Extra {
    fn from_iter<I: IntoIterator<Item = (String, serde_json::Value)>>(fields: I) -> Extra {
        let fields: Fields = fields.into_iter().collect();
        Extra((!fields.is_empty()).then(|| Arc::new(fields)))
    }
}

impl Serialize for Extra {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().flat_map(|fields| fields.iter()))
    }
}

impl<'de> Deserialize<'de> for Extra {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Extra, D::Error> {
        Ok(Fields::deserialize(deserializer)?.into_iter().collect())
    }
}

impl Clone for Record {
    fn clone(&self) -> Record {
        let Record { owner, expires, fence, lock, mark, extra } = self;
        Record {
            owner: owner.clone(),
            expires: *expires,
            fence: *fence,
            lock: lock.clone(),
            mark: *mark,
            extra: extra.clone(),
        }
    }

    /// Leaves alone what the two share already, as versions of one record do.
    fn clone_from(&mut self, source: &Record) {
        let Record { owner, expires, fence, lock, mark, extra } = source;
        (self.expires, self.fence, self.mark) = (*expires, *fence, *mark);
        if !Arc::ptr_eq(&self.owner.0, &owner.0) {
            self.owner = owner.clone();
        }
        if !Arc::ptr_eq(&self.lock, lock) {
            self.lock = lock.clone();
        }
        if self.extra.0.is_some() || extra.0.is_some() {
            self.extra = extra.clone();
        }
    }
}

impl Record {
    /// Whether the record has been given back. One that is not may still have expired.
    pub fn is_released(&self) -> bool {
        self.expires == StoreTime::RELEASED
    }

    /// The record as the store's bytes.
    ///
    /// # Errors
    /// None for a record of this crate; the signature leaves room for `extra` values that JSON cannot write.
    pub fn to_json(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Reads a record from the store's bytes.
    ///
    /// # Errors
    /// Where and why the bytes are not a record. Such a body is never "free": report it, with the object's name.
    pub fn from_json(bytes: &[u8]) -> Result<Record, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
#[path = "record_properties.rs"]
mod properties;

#[cfg(test)]
mod tests {
    use super::{Fence, Owner, Record, StoreTime};

    const SAMPLE: &str = r#"{"owner":"web-7f#5f0c","expires":"2026-12-01T12:00:30.125Z","fence":1764590430125,"lock":"gallery/pr-42/reindex"}"#;

    #[test]
    fn the_documented_sample_round_trips() {
        let record = Record::from_json(SAMPLE.as_bytes()).unwrap();
        assert_eq!(record.owner.label(), "web-7f");
        assert_eq!(record.expires, StoreTime::from_millis(1_796_126_430_125));
        assert_eq!(record.fence, Fence::new(1_764_590_430_125));
        assert_eq!(String::from_utf8(record.to_json().unwrap()).unwrap(), SAMPLE);
    }

    #[test]
    fn fields_of_a_newer_version_are_carried_through() {
        let text = SAMPLE.replace(
            '}',
            r#","news":{"tick":"x","n":[1,2.5,-1.275496066600135e112,null]},"z":18446744073709551615}"#,
        );
        let mut record = Record::from_json(text.as_bytes()).unwrap();
        let parsed = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
        assert_eq!(parsed(&record.to_json().unwrap()), parsed(text.as_bytes()));
        record.expires = StoreTime::RELEASED;
        let again = Record::from_json(&record.to_json().unwrap()).unwrap();
        assert!(again.is_released());
        assert_eq!(again.extra, record.extra);
    }

    #[test]
    fn a_mark_is_an_instant_and_stands_behind_the_rest() {
        let text = SAMPLE.replace('}', r#","mark":"2026-12-01T12:00:00.000Z"}"#);
        let record = Record::from_json(text.as_bytes()).unwrap();
        assert_eq!(record.mark, Some(StoreTime::from_millis(1_796_126_400_000)));
        assert_eq!(String::from_utf8(record.to_json().unwrap()).unwrap(), text);
        for mark in ["null", "\"\"", "\"soon\"", "0", "1796126400000", "{}", "[]", "\"2026-12-01\""] {
            let text = SAMPLE.replace('}', &format!(r#","mark":{mark}}}"#));
            assert!(Record::from_json(text.as_bytes()).is_err(), "never \"no mark\": {mark}");
        }
    }

    #[test]
    fn a_body_that_is_not_a_record_is_an_error_and_never_free() {
        let hostile: &[&[u8]] = &[
            b"",
            b"null",
            b"[]",
            b"{}",
            b"\xff\xfe",
            br#"{"owner":"x","expires":"","fence":1,"lock":"l"}"#,
            br#"{"owner":"x","expires":"1970-01-01","fence":1,"lock":"l"}"#,
            br#"{"owner":"x","expires":0,"fence":1,"lock":"l"}"#,
            br#"{"owner":7,"expires":"1970-01-01T00:00:00Z","fence":1,"lock":"l"}"#,
            br#"{"owner":"x","expires":"1970-01-01T00:00:00Z","fence":-1,"lock":"l"}"#,
            br#"{"owner":"x","expires":"1970-01-01T00:00:00Z","fence":1e3,"lock":"l"}"#,
            br#"{"owner":"x","expires":"1970-01-01T00:00:00Z","fence":18446744073709551616,"lock":"l"}"#,
            br#"{"owner":"x","owner":"y","expires":"1970-01-01T00:00:00Z","fence":1,"lock":"l"}"#,
            br#"{"owner":"x","expires":"1970-01-01T00:00:00Z","fence":1,"lock":"l"} trailing"#,
        ];
        for body in hostile {
            assert!(Record::from_json(body).is_err(), "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_record_cloned_over_another_is_the_same_as_a_clone() {
        let sample = Record::from_json(SAMPLE.as_bytes()).unwrap();
        let extra = [("news".to_owned(), serde_json::Value::Null)].into_iter().collect();
        let mark = Some(StoreTime::from_millis(7));
        let next = Record { expires: StoreTime::RELEASED, fence: Fence::new(9), ..sample.clone() };
        let other = Record { owner: Owner::new("o#1"), lock: "a/b/c".into(), mark, extra, ..sample.clone() };
        for (from, to) in [(&sample, &next), (&sample, &other), (&other, &sample), (&other, &other)] {
            let mut over = from.clone();
            over.clone_from(to);
            assert_eq!(over, *to);
        }
    }

    #[test]
    fn the_whole_range_of_fences_and_times_survives() {
        for number in [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
            for expires in [StoreTime::RELEASED, StoreTime::from_millis(1), StoreTime::MAX] {
                let record = Record {
                    owner: Owner::new("\u{1F419} \"quoted\" # a#b\n"),
                    expires,
                    fence: Fence::new(number),
                    lock: "a/b/c".into(),
                    mark: None,
                    extra: super::Extra::NONE,
                };
                assert_eq!(Record::from_json(&record.to_json().unwrap()).unwrap(), record);
            }
        }
    }
}
