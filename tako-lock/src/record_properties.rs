//! What must hold for every record, and for every body that may stand in a record's place.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Fence, Owner, Record, StoreTime};

const KNOWN: [&str; 5] = ["owner", "expires", "fence", "lock", "mark"];

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("JSON has no such number", |number| {
            serde_json::Number::from_f64(number).map(Value::Number)
        }),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        ".*".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(".*", inner, 0..6).prop_map(|fields| Value::from(Map::from_iter(fields))),
        ]
    })
}

fn fields() -> impl Strategy<Value = BTreeMap<String, Value>> {
    btree_map(".{0,12}", value(), 0..5).prop_map(|mut fields| {
        fields.retain(|name, _| !KNOWN.contains(&&**name));
        fields
    })
}

prop_compose! {
    fn record()(
        owner in ".*",
        expires in prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..StoreTime::MAX.as_millis()],
        fence in prop_oneof![Just(u64::MAX), Just(i64::MAX as u64 + 1), any::<u64>()],
        lock in ".*",
        mark in prop::option::of(any::<u64>().prop_map(StoreTime::from_millis)),
        extra in fields(),
    ) -> Record {
        Record {
            owner: Owner::new(owner),
            expires: StoreTime::from_millis(expires),
            fence: Fence::new(fence),
            lock: lock.into(),
            mark,
            extra: extra.into_iter().collect(),
        }
    }
}

/// Reads `body`; what can be read can be written, and reads as the same again.
fn read(body: &[u8]) -> Option<Record> {
    let record = Record::from_json(body).ok()?;
    let again = record.to_json().expect("what was read can be written");
    assert_eq!(Record::from_json(&again).expect("and read again"), record);
    Some(record)
}

/// A body of which everything but the field `name` is right.
fn body_with(name: &str, value: Value) -> Vec<u8> {
    let mut body =
        json!({ "owner": "p#1", "expires": "2026-12-01T12:00:30.125Z", "fence": 7, "lock": "a/b/c" });
    body[name] = value;
    body.to_string().into_bytes()
}

proptest! {
    #[test]
    fn every_record_is_read_as_it_was_written(record in record()) {
        let json = record.to_json().unwrap();
        prop_assert_eq!(Record::from_json(&json).unwrap(), record);
    }

    #[test]
    fn a_renewal_by_an_older_version_leaves_what_it_does_not_know(record in record(), millis in any::<u64>()) {
        let written: Value = serde_json::from_slice(&record.to_json().unwrap()).unwrap();
        let mut renewed = Record::from_json(&record.to_json().unwrap()).unwrap();
        renewed.expires = StoreTime::from_millis(millis);
        let rewritten: Value = serde_json::from_slice(&renewed.to_json().unwrap()).unwrap();
        for (name, value) in written.as_object().unwrap().iter().filter(|(name, _)| *name != "expires") {
            prop_assert_eq!(rewritten.get(name), Some(value));
        }
    }

    #[test]
    fn no_bytes_are_too_much_for_it(body in vec(any::<u8>(), 0..200)) {
        // Random bytes are no record, not even by chance.
        prop_assert!(read(&body).is_none());
    }

    #[test]
    fn a_damaged_record_is_itself_or_an_error_but_never_free(
        record in record(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4),
        length in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let live = Record { expires: StoreTime::from_millis(1_796_126_430_125), ..record };
        let mut body = live.to_json().unwrap();
        if is_cut {
            body.truncate(length.index(body.len()));
            prop_assert!(read(&body).is_none(), "half a record is none");
        }
        for (at, byte, kind) in damage {
            let at = at.index(body.len() + 1);
            match (kind, body.get_mut(at)) {
                (0, Some(place)) => *place = byte,
                (1, Some(_)) => _ = body.remove(at),
                _ => body.insert(at, byte),
            }
        }
        // Three bytes do not make the epoch of that date.
        prop_assert!(!read(&body).is_some_and(|record| record.is_released()));
    }

    #[test]
    fn a_field_of_another_kind_is_an_error(
        name in prop::sample::select(&KNOWN[..]),
        value in value().prop_filter("another kind", |value| !value.is_string() && !value.is_u64()),
    ) {
        prop_assert!(read(&body_with(name, value)).is_none());
    }

    #[test]
    fn a_time_is_read_for_what_it_says(text in prop_oneof![".*", "[0-9TZ:.+-]{0,30}", "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,12})?Z"]) {
        let record = read(&body_with("expires", text.clone().into()));
        let is_epoch = text.starts_with("1970-01-01T00:00:00");
        prop_assert!(is_epoch || !record.is_some_and(|record| record.is_released()), "{text:?} is free");
    }
}

#[test]
fn a_body_of_ten_megabytes_is_read_or_refused() {
    const SIZE: usize = 10 << 20;
    let large = "x".repeat(SIZE);
    let record = Record::from_json(&body_with("news", large.clone().into())).unwrap();
    assert_eq!(record.extra.get("news"), Some(&Value::from(large)));
    assert_eq!(Record::from_json(&record.to_json().unwrap()).unwrap(), record);
    for byte in *b"[{\"0 \xff" {
        assert!(read(&vec![byte; SIZE]).is_none(), "{}", char::from(byte));
    }
}

#[test]
fn nesting_is_read_or_refused_and_never_overflows() {
    for (depth, is_read) in [(1, true), (100, true), (1_000, false), (1_000_000, false)] {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let body = format!(
                r#"{{"owner":"p#1","expires":"1970-01-01T00:00:00Z","fence":7,"lock":"a/b/c","news":{nested}}}"#
            );
            assert_eq!(read(body.as_bytes()).is_some(), is_read, "{depth} times {open}");
        }
    }
}
