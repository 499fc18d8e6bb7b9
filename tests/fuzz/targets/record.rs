//! Whatever stands in a record's place: an error, or a record that is written as it was read.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::Value;
use tako::backend::Record;

fuzz_target!(|body: &[u8]| -> Corpus {
    let Ok(record) = Record::from_json(body) else { return Corpus::Keep };
    let again = record.to_json().expect("what was read can be written");
    assert_eq!(Record::from_json(&again).expect("and read again"), record);
    if record.is_released() {
        let fields: Value = serde_json::from_slice(body).expect("a record is JSON");
        let expires = fields["expires"].as_str().expect("a time is text");
        assert!(expires.starts_with("1970-01-01T00:00:00"), "{expires} is free");
    }
    Corpus::Keep
});
