//! What is wrong with a schedule, in words, and the schedule that was meant.

use std::ops::Range;

use crate::advice::nearest;
use crate::cron::Written;
use crate::diag::Message;
use crate::look_alike;
use crate::schedule_rules::{self, FIELDS, Fault, Field, ItemFault, NICKNAMES};

pub(crate) const RULE: &str = "a schedule is `minute hour day-of-month month weekday`, with a second before them if wanted; \
     or one of `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`";
/// Three quarters of the week's confusion comes from here.
const QUARTZ: &str =
    "this is no schedule of Quartz or Spring: weekdays count from `0`, `SUN`, to `6`, `SAT`, and not from 1";

/// What to say of one fault of `schedule`.
pub(crate) fn message(written: &Written, schedule: &str, fault: &Fault) -> Message {
    match fault {
        Fault::Empty => Message::new("the schedule is empty")
            .help(format!("say when it is due; each night at three: {}", written.with_schedule("0 3 * * *")))
            .note(RULE),
        Fault::Character { offset } => character(written, schedule, *offset),
        Fault::Nickname => nickname(written, schedule),
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
        "@midnight" => ("that is `@daily`", "@daily"),
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
            Some(known) if known == word => ("such a form stands alone", known),
            Some(known) => ("did you mean this one", known),
            None => return message.note(RULE),
        },
    };
    message.help(format!("{lead}: {}", written.with_schedule(meant))).note(RULE)
}

/// `5m` as steps, where they divide what they are steps of.
fn period(text: &str) -> Option<String> {
    let unit = text.chars().last()?;
    let number: u16 = text[..text.len() - unit.len_utf8()].parse().ok()?;
    let steps =
        |whole: u16| (number > 0 && number < whole && whole % number == 0).then(|| format!("*/{number}"));
    match (unit, number) {
        ('m', 60) | ('h', 1) => Some("@hourly".to_owned()),
        ('h', 24) | ('d', 1) => Some("@daily".to_owned()),
        ('s', _) => steps(60).map(|steps| format!("{steps} * * * * *")),
        ('m', _) => steps(60).map(|steps| format!("{steps} * * * *")),
        ('h', _) => steps(24).map(|steps| format!("0 {steps} * * *")),
        _ => None,
    }
}

fn count(written: &Written, schedule: &str, fields: usize) -> Message {
    let words: Vec<&str> = schedule.split_ascii_whitespace().collect();
    let offer = |message: Message, lead: &str, meant: &str| {
        if schedule_rules::check(meant).is_ok() {
            message.help(format!("{lead}: {}", written.with_schedule(meant)))
        } else {
            message
        }
    };
    if let Some(zone) = words[0].strip_prefix("TZ=").or_else(|| words[0].strip_prefix("CRON_TZ=")) {
        let meant = Written { zone: Some(zone.to_owned()), ..written.clone() };
        return Message::new("the schedule has a time zone in it")
            .help(format!("make it an argument of its own: {}", meant.with_schedule(&words[1..].join(" "))))
            .note(RULE);
    }
    if fields > 6 {
        let message = Message::new(format!("the schedule has {fields} fields, and 6 is the most"));
        let message = if fields == 7 {
            let message = offer(message, "a year cannot be given", &words[..6].join(" "));
            if schedule.contains('?') { message.note(QUARTZ) } else { message }
        } else {
            message.help("only the time belongs here, and no user or command as in a crontab")
        };
        return message.note(RULE);
    }
    let missing = 5 - fields;
    let stars = vec!["*"; missing].join(" ");
    let read: Vec<String> =
        FIELDS[1..].iter().zip(&words).map(|(field, word)| format!("{} `{word}`", field.called)).collect();
    let lacking: Vec<&str> = FIELDS[1 + fields..].iter().map(|field| field.called).collect();
    let lacking = match &lacking[..] {
        [before @ .., last] if !before.is_empty() => format!("{} and the {last}", before.join(", the ")),
        _ => lacking.concat(),
    };
    let behind = format!("{} {stars}", words.join(" "));
    let before = format!("0 {} {}", words.join(" "), vec!["*"; missing - 1].join(" "));
    let message = Message::new(format!(
        "the schedule has {fields} of 5 fields: read from the left, the {lacking} is missing"
    ))
    .note(format!("it reads as {}", read.join(", ")));
    let message = offer(message, &format!("if it is the {lacking}"), behind.trim());
    // A single star would give every minute, which nobody leaves out.
    let message = offer(message, "if it is the minute", before.trim());
    message.note(RULE)
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
    let reading = format!("day of the month `{day}`, month `{month}`");
    message.note(format!(
        "it reads as {reading}; February has 28 or 29 days, April, June, September and November have 30"
    ))
}

/// A fault of one item, with all that is needed to speak of it.
struct Item<'a> {
    written: &'a Written,
    schedule: &'a str,
    field: &'static Field,
    place: &'a Range<usize>,
}

impl Item<'_> {
    fn message(&self, kind: ItemFault) -> Message {
        let (called, text) = (self.field.called, self.text());
        let has = |what: &str| self.begun(format!("the {called} of the schedule has {what}, `{text}`"));
        match kind {
            ItemFault::Unknown if self.step() => {
                self.begun(format!("the {called} of the schedule has a step that is no number, `{text}`"))
            }
            ItemFault::Unknown | ItemFault::OutOfRange => self.not_a_value(),
            ItemFault::Nothing => {
                let meant: Vec<&str> = text.split(',').filter(|item| !item.is_empty()).collect();
                let message = has("an empty place in its list");
                self.offer(message, "remove the comma", &meant.join(","))
            }
            ItemFault::Question => {
                let message = has("a question mark");
                self.offer(message, "every value is `*`", &text.replace('?', "*")).note(QUARTZ)
            }
            ItemFault::StarInList => has("a star in a list")
                .help(format!("`*` is every {called} already: leave out one or the other")),
            ItemFault::Reversed => {
                let message = has("a range that ends before it begins");
                match self.both_sides() {
                    Some(both) => self.offer(message, &format!("across the end, it is two: `{both}`"), &both),
                    None => message,
                }
            }
            ItemFault::OpenRange => {
                let Field { first, last, .. } = self.field;
                let meant = match text.strip_suffix('-') {
                    Some(from) => format!("{from}-{last}"),
                    None => format!("{first}{text}"),
                };
                self.offer(has("a range with one end"), &format!("write both: `{meant}`"), &meant)
            }
            ItemFault::StepOfOne => {
                let (from, step) = text.split_once('/').unwrap_or_default();
                let meant = match from {
                    "" => format!("*/{step}"),
                    from => format!("{from}-{}/{step}", self.field.last),
                };
                let message = has("a step from a single value");
                let message = self.offer(message, &format!("a step goes through a range: `{meant}`"), &meant);
                if from.is_empty() {
                    message
                } else {
                    self.offer(message, "or through all", &format!("*/{step}"))
                }
            }
            ItemFault::StepZero => {
                let whole = text.split('/').next().unwrap_or_default();
                self.offer(has("a step of zero"), &format!("for every {called}, write `{whole}`"), whole)
            }
            ItemFault::StepTooBig => {
                let Field { first, last, .. } = self.field;
                let message = has(&format!("a step that is longer than {first}–{last}"));
                let message = self.offer(message, &format!("once is `{first}`"), &first.to_string());
                message.note("a step starts anew in each round of its field, so it is no period across them")
            }
            ItemFault::LastAlone => {
                let message = has("an `L` without a day");
                self.offer(message, "the last Friday of the month is `FRI#L`", "FRI#L")
                    .help("the last day of the month stands in the field of the day: `L * *`")
            }
            ItemFault::Nth => has("something else than 1 to 5 or `L` behind its `#`")
                .help("the second Friday of the month is `FRI#2`, the last is `FRI#L`"),
        }
    }

    fn text(&self) -> &str {
        &self.schedule[self.place.clone()]
    }

    /// Whether the place is that of a step.
    fn step(&self) -> bool {
        self.schedule[..self.place.start].ends_with('/')
    }

    fn begun(&self, found: String) -> Message {
        Message::new(found).shown(self.schedule, self.place.clone(), self.field.called)
    }

    /// `lead`, with the schedule ready to paste when `meant` is all that it takes.
    fn offer(&self, message: Message, lead: &str, meant: &str) -> Message {
        let Range { start, end } = *self.place;
        let replaced = format!("{}{meant}{}", &self.schedule[..start], &self.schedule[end..]);
        if schedule_rules::check(&replaced).is_ok() {
            message.help(format!("{lead}: {}", self.written.with_schedule(&replaced)))
        } else {
            message.help(lead)
        }
    }

    fn not_a_value(&self) -> Message {
        let (field, text) = (self.field, self.text());
        let Field { called, first, last, names } = field;
        let range = match names {
            [] => format!("{first} to {last}"),
            [from, .., to] => format!("{first} to {last}, or {from} to {to}"),
            [_] => String::new(),
        };
        let message = self.begun(format!("the {called} of the schedule is {range}, found `{text}`"));
        let capitals = text.to_ascii_uppercase();
        if let Some(meant) = self.name(&capitals) {
            return self.offer(message, &format!("did you mean `{meant}`"), meant);
        }
        if let Some(other) = FIELDS.iter().find(|other| other.names.contains(&&*capitals)) {
            return message
                .help(format!("`{text}` is a {}; the fields stand in their order", other.called))
                .note(RULE);
        }
        match (*called, text) {
            ("second" | "minute", "60") => {
                let unit = if *called == "second" { "minute" } else { "hour" };
                self.offer(message, &format!("the full {unit} is `0`"), "0")
            }
            ("hour", "24") => self.offer(message, "midnight is `0`", "0"),
            ("month", "0") => self.offer(message, "January is `1`", "1"),
            ("day of the month", "0") => self.offer(message, "the first day is `1`", "1"),
            ("day of the month", "32") => self.offer(message, "the last day is `L`", "L"),
            ("weekday", year) if year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()) => {
                message.help("a year cannot be given; six fields begin with a second").note(RULE)
            }
            ("weekday", _) => message.note("0 and 7 are Sunday"),
            _ if capitals.contains(['L', 'W', '#']) => message.note(
                "`L` and `15W` are days of the month, `FRI#2` and `FRI#L` are weekdays; no other field has such",
            ),
            _ => message.note(RULE),
        }
    }

    /// The field's own name that this is a longer or a wrong form of.
    fn name(&self, capitals: &str) -> Option<&'static str> {
        let names = self.field.names;
        let longer = names.iter().find(|name| capitals.is_ascii() && capitals.starts_with(**name));
        // Only letters are a slip of the pen: `13` is no `3`.
        let letters = !capitals.is_empty() && capitals.bytes().all(|byte| byte.is_ascii_uppercase());
        longer
            .copied()
            .filter(|_| letters)
            .or_else(|| nearest(capitals, names.iter().copied()).filter(|_| letters))
    }

    /// `22-4` as `22-23,0-4`.
    fn both_sides(&self) -> Option<String> {
        let (from, to) = self.text().split_once('-')?;
        let weekday = self.field.called == "weekday";
        let (first, last) = match self.field.names {
            [first, .., last] if from.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                if weekday {
                    ("MON".to_owned(), "SUN".to_owned())
                } else {
                    ((*first).to_owned(), (*last).to_owned())
                }
            }
            _ => ((self.field.first + u16::from(weekday)).to_string(), self.field.last.to_string()),
        };
        let range = |from: &str, to: &str| {
            if from.eq_ignore_ascii_case(to) { from.to_owned() } else { format!("{from}-{to}") }
        };
        Some(if to == "0" && weekday {
            range(from, "7")
        } else {
            format!("{},{}", range(from, &last), range(&first, to))
        })
    }
}
