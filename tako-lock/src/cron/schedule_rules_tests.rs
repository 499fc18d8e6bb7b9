use croner::parser::{CronParser, Seconds, Year};

use crate::cron::schedule_rules::{Fault, ItemFault, check, zone};

#[test]
fn every_rule_has_a_row() {
    use Fault::{Character, Count, Empty, Never, Nickname, Setting};
    use ItemFault::{
        LastAlone, Nothing, Nth, OpenRange, OutOfRange, Question, Reversed, StarInList, StepOfOne,
        StepTooBig, StepZero, Unknown,
    };
    let whole: &[(&str, Fault)] = &[
        ("", Empty),
        ("  ", Empty),
        ("0 9\u{2013}17 * * *", Character { offset: 3 }),
        ("@dayly", Nickname),
        ("@daily UTC", Nickname),
        ("@every 5m", Nickname),
        ("TZ=UTC 0 3 * * *", Setting),
        ("0 3 * *", Count { fields: 4 }),
        ("0 0 3 * * * 2026", Count { fields: 7 }),
        ("0 0 30 2 *", Never),
        ("0 0 31 2,4,6,9,11 *", Never),
        ("0 0 30 2 +MON", Never),
    ];
    for (expression, fault) in whole {
        assert_eq!(check(expression).err(), Some(vec![fault.clone()]), "{expression:?}");
    }
    let items: &[(&str, &str, &str, ItemFault)] = &[
        ("60 3 * * *", "minute", "60", OutOfRange),
        ("0 24 * * *", "hour", "24", OutOfRange),
        ("0 3 0 * *", "day", "0", OutOfRange),
        ("0 3 * 13 *", "month", "13", OutOfRange),
        ("0 3 * * 8", "weekday", "8", OutOfRange),
        ("60 0 3 * * *", "second", "60", OutOfRange),
        ("0 3-24 * * *", "hour", "24", OutOfRange),
        ("99999999999 3 * * *", "minute", "99999999999", OutOfRange),
        ("-1 3 * * *", "minute", "-1", OpenRange),
        ("MON 3 * * *", "minute", "MON", Unknown),
        ("0 3 * MON *", "month", "MON", Unknown),
        ("0 3 * * MONN", "weekday", "MONN", Unknown),
        ("0 3 * * 1MON", "weekday", "1MON", Unknown),
        ("0 3 L-3 * *", "day", "L", Unknown),
        ("L 3 * * *", "minute", "L", Unknown),
        ("0 3 15W * 15W", "weekday", "15W", Unknown),
        ("*/x 3 * * *", "minute", "x", Unknown),
        ("1-2-3 3 * * *", "minute", "1-2-3", Unknown),
        ("1,,2 3 * * *", "minute", "1,,2", Nothing),
        ("1, 3 * * *", "minute", "1,", Nothing),
        ("0 3 ? * *", "day", "?", Question),
        ("0 3 *,1 * *", "day", "*", StarInList),
        ("0 22-4 * * *", "hour", "22-4", Reversed),
        ("0 3 * * FRI-MON", "weekday", "FRI-MON", Reversed),
        ("5/15 * * * *", "minute", "5/15", StepOfOne),
        ("/15 * * * *", "minute", "/15", StepOfOne),
        ("0 3 * * * /usr/bin/x", "weekday", "/usr/bin/x", Unknown),
        ("*/0 * * * *", "minute", "*/0", StepZero),
        ("*/60 * * * *", "minute", "*/60", StepTooBig),
        ("0 3 * */65535 *", "month", "*/65535", StepTooBig),
        ("0 3 * * L", "weekday", "L", LastAlone),
        ("0 3 * * FRI#6", "weekday", "FRI#6", Nth),
        ("0 3 * * FRI#", "weekday", "FRI#", Nth),
    ];
    for (expression, called, text, expected) in items {
        let faults = check(expression).expect_err(expression);
        let [Fault::Item { field, place, kind }] = &faults[..] else { panic!("{expression:?}: {faults:?}") };
        assert_eq!(
            (field.called, &expression[place.clone()], kind),
            (*called, *text, expected),
            "{expression:?}"
        );
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let faults = check("60 24 0 13 8").expect_err("all of them are wrong");
    assert_eq!(faults.len(), 5, "{faults:?}");
}

#[test]
fn what_people_write_is_legal() {
    for expression in [
        "* * * * *",
        "*/15 * * * *",
        "  0   3 *\t* * ",
        "0 9-17 * * MON-FRI",
        "0 9-17/2 1,15 JAN-mar,12 0,7",
        "30 0 3 * * *",
        "0 3 L * *",
        "0 3 LW * *",
        "0 3 15W * *",
        "0 3 * * FRI#2",
        "0 3 * * 5#L",
        "0 3 * * FRIL",
        "0 3 * * FRI-SUN",
        "0 3 1-7 * +MON",
        "0 0 29 2 *",
        "0 0 30 2 MON",
        "@hourly",
        "@Daily",
        " @weekly ",
        "@monthly",
        "@yearly",
        "@annually",
    ] {
        assert!(check(expression).is_ok(), "{expression:?}: {:?}", check(expression));
    }
}

/// Pieces that meet every rule often, put together by chance.
fn soup(seed: u64) -> String {
    const PIECES: &[&str] = &[
        "*", "*", "*", "0", "1", "5", "7", "12", "23", "31", "59", "60", "/", "/2", "-", "-5", ",", ",3",
        "L", "W", "#", "#2", "#L", "+", "?", "MON", "sun", "JAN", "dec", "@daily", "65535",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or_default() % bound
    };
    let fields: Vec<String> = (0..5 + below(2))
        .map(|_| {
            if below(4) > 0 {
                "*".to_owned()
            } else {
                (0..=below(3)).map(|_| PIECES[below(PIECES.len())]).collect()
            }
        })
        .collect();
    fields.join(" ")
}

/// The parser never refuses what the rules let pass, so its own words are never needed. And what the rules refuse, it
/// refuses too; but not a step past the end, an empty place in a list, `?` for `*`, an `L` that is no weekday, and names in
/// fields that have none, which it replaces before it looks.
#[test]
fn the_rules_and_the_parser_agree() {
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    let (mut legal, mut refused) = (0, 0);
    for seed in 1..=20_000 {
        let expression = soup(seed);
        match check(&expression) {
            Ok(_) => legal += 1,
            Err(faults) => {
                refused += 1;
                assert!(
                    !faults.iter().any(|fault| matches!(fault, Fault::Parser(_))),
                    "{expression:?}: {faults:?}"
                );
                let stricter = faults.iter().any(|fault| match fault {
                    Fault::Never => true,
                    Fault::Item { kind: ItemFault::Unknown, place, .. } => {
                        expression[place.clone()].contains(|c: char| c.is_ascii_alphabetic())
                    }
                    Fault::Item { kind, .. } => matches!(
                        kind,
                        ItemFault::StepTooBig
                            | ItemFault::Nothing
                            | ItemFault::Question
                            | ItemFault::LastAlone
                    ),
                    _ => false,
                });
                if !stricter {
                    assert!(parser.parse(&expression).is_err(), "{expression:?}: {faults:?}");
                }
            }
        }
    }
    assert!(legal > 2000 && refused > 2000, "{legal} legal, {refused} refused");
}

#[test]
fn zones_are_places() {
    for name in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT-2", "US/Eastern"] {
        assert!(zone(name).is_some(), "{name}");
    }
    for name in ["", "utc", "europe/berlin", "Europe/Berlim", "CET", "EST", "GMT", "UTC+2", "Japan", "Berlin"]
    {
        assert!(zone(name).is_none(), "{name}");
    }
}
