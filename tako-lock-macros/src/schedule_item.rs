//! What is wrong with one item of a schedule, in words, and what was meant.

use std::ops::Range;

use crate::advice::nearest;
use crate::cron::Written;
use crate::diag::Message;
use crate::schedule_rules::{self, FIELDS, Field, ItemFault};
use crate::scheduling::{QUARTZ, RULE, without_command};

/// A fault of one item, with all that is needed to speak of it.
pub(crate) struct Item<'a> {
    pub(crate) written: &'a Written,
    pub(crate) schedule: &'a str,
    pub(crate) field: &'static Field,
    pub(crate) place: &'a Range<usize>,
}

impl Item<'_> {
    pub(crate) fn message(&self, kind: ItemFault) -> Message {
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
                let message =
                    self.begun(format!("the {called} of the schedule is an `{text}` without a day"));
                self.offer(message, "the last Friday of the month is `FRI#L`", "FRI#L")
                    .help("the last day of the month is a day: `0 3 L * *`")
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
            ("day", "0") => self.offer(message, "the first day is `1`", "1"),
            ("day", "32") => self.offer(message, "the last day is `L`", "L"),
            ("weekday", year) if year.len() == 4 && number(year) => {
                let words: Vec<&str> = self.schedule.split_ascii_whitespace().collect();
                without_command(self.written, message, &words).note("six fields begin with a second")
            }
            ("weekday", _) if number(text) => message.note("0 and 7 are Sunday"),
            _ if capitals.chars().all(|c| "LW#".contains(c) || c.is_ascii_digit()) && !number(text) => message.note(
                "`L` and `15W` are days of the month, `FRI#2` and `FRI#L` are weekdays; no other field has such",
            ),
            ("weekday", _) => {
                let words: Vec<&str> = self.schedule.split_ascii_whitespace().collect();
                without_command(self.written, message, &words).note(RULE)
            }
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

fn number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
