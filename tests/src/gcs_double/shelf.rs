//! One bucket as the service keeps it: objects, generations, preconditions, and the limits that a bucket may have.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tako::backend::StoreTime;
use tokio::time::Instant;

use super::http::Reply;

/// How generations follow each other. They are unique in any case; more is not promised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Generations {
    /// Each is higher than those before, as is mostly seen.
    #[default]
    Up,
    /// Higher and lower ones in turn.
    UpAndDown,
    /// Each is lower than those before.
    Down,
}

#[derive(Debug, Clone)]
pub(super) struct Object {
    generation: i64,
    pub(super) body: Vec<u8>,
    cache_control: String,
    content_type: String,
    updated: StoreTime,
}

/// An upload, as it was asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Upload {
    pub(super) name: String,
    pub(super) if_generation: Option<i64>,
    pub(super) crc32c: Option<String>,
    pub(super) cache_control: String,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Shelf {
    name: String,
    objects: BTreeMap<String, Object>,
    made: i64,
    admitted: BTreeMap<String, Instant>,
    pub(super) generations: Generations,
    /// The least time between two mutations of one object.
    pub(super) pace: Duration,
    /// An object may be made, but not written over or deleted.
    pub(super) retains: bool,
    /// There is no such bucket any more.
    pub(super) is_gone: bool,
    /// Conditions are not looked at, as by a server that somebody wrote in haste.
    pub(super) is_careless: bool,
    /// What the server's clock shows in excess of the host's, in milliseconds.
    pub(super) ahead: i64,
}

impl Shelf {
    pub(super) fn new(name: &str) -> Shelf {
        Shelf { name: name.to_owned(), ..Shelf::default() }
    }

    pub(super) fn object(&self, name: &str) -> Option<&Object> {
        self.objects.get(name).filter(|_| !self.is_gone)
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.objects.remove(name).is_some()
    }

    /// The reply, and the generation that was made.
    pub(super) fn insert(&mut self, upload: &Upload, ahead: i64) -> (Reply, Option<i64>) {
        let refused = |status, reason| (Reply::error(status, reason), None);
        if self.is_gone {
            return refused(404, "notFound");
        }
        if upload.crc32c.as_ref().is_some_and(|told| *told != crc32c(&upload.body)) {
            return refused(400, "invalid");
        }
        if !self.admits(&upload.name) {
            return refused(429, "rateLimitExceeded");
        }
        let present = self.objects.get(&upload.name);
        let is_other = |expected: i64| expected != present.map_or(0, |object| object.generation);
        if upload.if_generation.is_some_and(is_other) && !self.is_careless {
            return refused(412, "conditionNotMet");
        }
        if self.retains && present.is_some() {
            return refused(403, "retentionPolicyNotMet");
        }
        let generation = self.put(upload, ahead);
        (Reply::json(200, &self.metadata(&upload.name)), Some(generation))
    }

    /// Writes without asking: an operator's hand.
    pub(super) fn put(&mut self, upload: &Upload, ahead: i64) -> i64 {
        const BASE: i64 = 1_796_134_558_073_883;
        self.made += 1;
        let is_lower = match self.generations {
            Generations::Up => false,
            Generations::UpAndDown => self.made % 2 == 0,
            Generations::Down => true,
        };
        let generation = BASE + self.made * if is_lower { -1_013 } else { 1_013 };
        let object = Object {
            generation,
            body: upload.body.clone(),
            cache_control: upload.cache_control.clone(),
            content_type: upload.content_type.clone(),
            updated: self.time(ahead),
        };
        self.objects.insert(upload.name.clone(), object);
        generation
    }

    pub(super) fn media(&self, name: &str) -> Reply {
        let Some(object) = self.object(name) else { return Reply::error(404, "notFound") };
        let size = object.body.len().to_string();
        let headers = vec![
            ("content-type", object.content_type.clone()),
            ("cache-control", object.cache_control.clone()),
            ("x-goog-generation", object.generation.to_string()),
            ("x-goog-metageneration", "1".into()),
            ("x-goog-stored-content-encoding", "identity".into()),
            ("x-goog-stored-content-length", size),
            ("x-goog-hash", format!("crc32c={}", crc32c(&object.body))),
            ("x-goog-storage-class", "STANDARD".into()),
        ];
        Reply { status: 200, headers, body: object.body.clone() }
    }

    pub(super) fn delete(&mut self, name: &str) -> Reply {
        if self.object(name).is_none() {
            return Reply::error(404, "notFound");
        }
        if !self.admits(name) {
            return Reply::error(429, "rateLimitExceeded");
        }
        if self.retains {
            return Reply::error(403, "retentionPolicyNotMet");
        }
        self.remove(name);
        Reply { status: 204, headers: Vec::new(), body: Vec::new() }
    }

    /// Refused writes count as well, throttled ones do not.
    fn admits(&mut self, name: &str) -> bool {
        let now = Instant::now();
        if self.admitted.get(name).is_some_and(|last| now < *last + self.pace) {
            return false;
        }
        self.admitted.insert(name.to_owned(), now);
        true
    }

    fn time(&self, ahead: i64) -> StoreTime {
        let here = StoreTime::from(SystemTime::now()).as_millis();
        StoreTime::from_millis(here.saturating_add_signed(self.ahead + ahead))
    }

    pub(super) fn metadata(&self, name: &str) -> serde_json::Value {
        let Some(object) = self.object(name) else { return serde_json::Value::Null };
        json!({
            "kind": "storage#object",
            "id": format!("{}/{name}/{}", self.name, object.generation),
            "name": name,
            "bucket": self.name,
            "generation": object.generation.to_string(),
            "metageneration": "1",
            "size": object.body.len().to_string(),
            "contentType": object.content_type,
            "cacheControl": object.cache_control,
            "crc32c": crc32c(&object.body),
            "storageClass": "STANDARD",
            "timeCreated": object.updated.to_string(),
            "updated": object.updated.to_string(),
        })
    }
}

/// The checksum as the service writes it: base64 of its four bytes.
pub(super) fn crc32c(body: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Six digits of six bits hold the 32 bits and four more.
    let bits = u64::from(crc32c::crc32c(body)) << 4;
    let digit = |place: u32| char::from(DIGITS[usize::try_from(bits >> (30 - 6 * place) & 63).unwrap_or(0)]);
    (0..6).map(digit).chain("==".chars()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_checksum_is_written_as_the_service_writes_it() {
        assert_eq!(super::crc32c(br#"{"a":1}"#), "z/fVag==");
        assert_eq!(super::crc32c(br#"{"a":2}"#), "+xB98w==");
    }
}
