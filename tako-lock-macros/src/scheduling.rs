//! What is wrong with a schedule, in words, and the schedule that was meant.

use crate::advice::nearest;
use crate::cron::Written;
use crate::diag::Message;
use crate::look_alike;
use crate::schedule_item::Item;
use crate::schedule_rules::{self, FIELDS, Fault, NICKNAMES};

pub(crate) const RULE: &str = "a schedule is `minute hour day month weekday`, with a second before them if wanted; \
     or one of `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`";
/// What a question mark tells of where a schedule comes from.
pub(crate) const QUARTZ: &str =
    "this is no schedule of Quartz or Spring: weekdays count from `0`, `SUN`, to `6`, `SAT`, and not from 1";

/// What to say of one fault of `schedule`.
pub(crate) fn message(written: &Written, schedule: &str, fault: &Fault) -> Message {
    match fault {
        Fault::Empty => Message::new("the schedule is empty")
            .help(format!("say when it is due; each night at three: {}", written.with_schedule("0 3 * * *")))
            .note(RULE),
        Fault::Character { offset } => character(written, schedule, *offset),
        Fault::Nickname => nickname(written, schedule),
        Fault::Setting => setting(written, schedule),
        Fault::Count { fields } => count(written, schedule, *fields),
        Fault::Item { field, place, kind } => Item { written, schedule, field, place }.message(*kind),
        Fault::Parser(words) => {
            Message::new(format!("the parser refuses the schedule `{schedule}`: {words}")).note(RULE)
        }
        Fault::Never => never(written, schedule),
    }
}

fn character(written: &Written, schedule: &str, offset: usize) -> Message {
    let Some(odd) = schedule[offset..].chars().next() else { return Message::new("the schedule is empty") };
    let position = schedule[..offset].chars().count() + 1;
    let code = format!("U+{:04X}", u32::from(odd));
    let Some(look_alike) = look_alike::find(odd) else {
        return Message::new(format!("character {position} of the schedule is `{odd}` ({code})")).note(RULE);
    };
    let plain = |c: char| match look_alike::find(c) {
        Some(found) => found.plain(),
        None => Some(c),
    };
    let repaired: String = schedule.chars().filter_map(plain).collect();
    let message =
        Message::new(format!("character {position} of the schedule is {}", look_alike.describe(odd)));
    if schedule_rules::check(&repaired).is_ok() {
        message.help(format!("write {}", written.with_schedule(&repaired)))
    } else {
        message.note(RULE)
    }
}

fn nickname(written: &Written, schedule: &str) -> Message {
    let word = schedule.split_ascii_whitespace().next().unwrap_or_default().to_lowercase();
    let message = Message::new(format!("the schedule `{}` is none that is known", schedule.trim()));
    let (lead, meant) = match &word[..] {
        "@midnight" => ("that is", "@daily"),
        "@every" => {
            let period = schedule.split_ascii_whitespace().nth(1).and_then(period);
            return match period {
                Some(meant) => message.help(format!("write it as steps: {}", written.with_schedule(&meant))),
                None => message.help(format!(
                    "write it as steps; every five minutes: {}",
                    written.with_schedule("*/5 * * * *")
                )),
            }
            .note("ticks are times of the clock, the same on all instances: none counts from when it was started")
            .note(RULE);
        }
        "@reboot" | "@startup" => {
            return message
                .help("what has to be done when an instance starts, do in `main`, before `run`")
                .note("ticks are times of the clock, the same on all instances")
                .note(RULE);
        }
        _ => match NICKNAMES
            .iter()
            .find(|known| **known == word)
            .copied()
            .or_else(|| nearest(&word, NICKNAMES.into_iter()))
        {
            Some(known) if known == word => ("it stands alone:", known),
            Some(known) => ("did you mean", known),
            None => return message.note(RULE),
        },
    };
    message.help(format!("{lead} `{meant}`: {}", written.with_schedule(meant))).note(RULE)
}

/// `5m` as steps, where they divide what they are steps of.
fn period(text: &str) -> Option<String> {
    let unit = text.chars().last()?;
    let number: u16 = text[..text.len() - unit.len_utf8()].parse().ok()?;
    let steps = |whole: u16| {
        (number > 0 && number < whole && whole.is_multiple_of(number)).then(|| format!("*/{number}"))
    };
    match (unit, number) {
        ('m', 60) | ('h', 1) => Some("@hourly".to_owned()),
        ('h', 24) | ('d', 1) => Some("@daily".to_owned()),
        ('s', _) => steps(60).map(|steps| format!("{steps} * * * * *")),
        ('m', _) => steps(60).map(|steps| format!("{steps} * * * *")),
        ('h', _) => steps(24).map(|steps| format!("0 {steps} * * *")),
        _ => None,
    }
}

fn setting(written: &Written, schedule: &str) -> Message {
    let (first, rest) = schedule.trim().split_once(' ').unwrap_or((schedule, ""));
    let (name, value) = first.split_once('=').unwrap_or_default();
    let message = Message::new(format!("the schedule begins with a setting, `{name}`"));
    if schedule_rules::zone(value).is_some() && schedule_rules::check(rest).is_ok() {
        let meant = Written { zone: Some(value.to_owned()), ..written.clone() };
        message.help(format!("the time zone is an argument of its own: {}", meant.with_schedule(rest.trim())))
    } else {
        message.help("the time zone is an argument of its own, behind the schedule").note(RULE)
    }
}

fn count(written: &Written, schedule: &str, fields: usize) -> Message {
    if !schedule.contains(|c: char| c == '*' || c.is_ascii_digit()) {
        return Message::new(format!("the schedule `{}` is not made of fields", schedule.trim()))
            .help(format!("each night at three: {}", written.with_schedule("0 3 * * *")))
            .note(RULE);
    }
    let words: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let message = if fields > 6 { too_many(written, &words) } else { too_few(written, &words) };
    message.note(RULE)
}

fn too_many(written: &Written, words: &[&str]) -> Message {
    let message = Message::new(format!("the schedule has {} fields, and 6 is the most", words.len()));
    let without_year = words[..6].join(" ").replace('?', "*");
    let message = if words.len() == 7 && schedule_rules::check(&without_year).is_ok() {
        message.help(format!("a year cannot be given: {}", written.with_schedule(&without_year)))
    } else {
        without_command(written, message, words)
    };
    if words.contains(&"?") { message.note(QUARTZ) } else { message }
}

/// What stands behind five legal fields does not belong there.
pub(crate) fn without_command(written: &Written, message: Message, words: &[&str]) -> Message {
    let time = words[..5].join(" ");
    if schedule_rules::check(&time).is_ok() {
        let time = written.with_schedule(&time);
        message.help(format!("only the time belongs here, and no year, user or command: {time}"))
    } else {
        message
    }
}

fn too_few(written: &Written, words: &[&str]) -> Message {
    let missing = 5 - words.len();
    // The missing ones are neighbours, rather at the end; as stars they fit there.
    let mut filled = (0..=words.len())
        .rev()
        .map(|at| (at, [&words[..at], &vec!["*"; missing], &words[at..]].concat().join(" ")));
    let legal = filled.find(|(_, all)| schedule_rules::check(all).is_ok());
    let at = legal.as_ref().map_or(words.len(), |(at, _)| *at);
    let lacking: Vec<&str> = FIELDS[1 + at..][..missing].iter().map(|field| field.called).collect();
    let lacking = match &lacking[..] {
        [before @ .., last] if !before.is_empty() => format!("{} and the {last} are", before.join(", the ")),
        _ => format!("{} is", lacking.concat()),
    };
    let mut message =
        Message::new(format!("the schedule has {} of 5 fields: the {lacking} missing", words.len()));
    if let Some((_, all)) = legal {
        message = message.help(format!("if it may be any: {}", written.with_schedule(&all)));
    }
    // `3 * * *` is every hour, or was to be every day.
    let daily = [&["0"], words, &vec!["*"; missing - 1]].concat().join(" ");
    if words.get(1).is_none_or(|second| *second == "*") && schedule_rules::check(&daily).is_ok() {
        message =
            message.help(format!("if it is the minute that is missing: {}", written.with_schedule(&daily)));
    }
    message
}

fn never(written: &Written, schedule: &str) -> Message {
    let message =
        Message::new(format!("the schedule `{}` never runs: no month has such a day", schedule.trim()));
    let words: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let [.., day, month, _] = &words[..] else { return message.note(RULE) };
    let last = words.len() - 3;
    let meant: Vec<&str> =
        words.iter().enumerate().map(|(at, word)| if at == last { "L" } else { *word }).collect();
    let meant = meant.join(" ");
    let message = if schedule_rules::check(&meant).is_ok() {
        message.help(format!("for the last day of the month, write `L`: {}", written.with_schedule(&meant)))
    } else {
        message
    };
    let reading = format!("day `{day}`, month `{month}`");
    message.note(format!(
        "it reads as {reading}; February has 28 or 29 days, April, June, September and November have 30"
    ))
}
