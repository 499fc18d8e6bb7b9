//! Judges the arguments of `cron!`: a name, a schedule, perhaps a time zone, and nothing else.

use proc_macro2::{Literal, Span, TokenTree};
use syn::LitStr;

use crate::args::{Argument, Shape};
use crate::call::{Call, Caller};
use crate::diag::{Faults, Heading, Message};
use crate::options::no_options;
use crate::placed::{Placed, ROLES, Role};
use crate::tokens::{peeled, quote_code, whole_code};
use crate::validate::{concatenated, one_name, only_string};
use crate::{naming, schedule_rules, scheduling, zones};

/// What examples show where the user's own cannot be shown.
const NAME: &str = "nightly-rollup";
const SCHEDULE: &str = "0 3 * * *";
const ZONE: &str = "Europe/Berlin";

/// A legal declaration.
pub(crate) struct Declared {
    name: LitStr,
    schedule: LitStr,
    zone: LitStr,
}

impl Declared {
    pub(crate) fn literals(&self) -> [Literal; 3] {
        [&self.name, &self.schedule, &self.zone].map(LitStr::token)
    }
}

/// The call as it should be written, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) schedule: String,
    pub(crate) zone: Option<String>,
}

impl Written {
    pub(crate) fn with_schedule(&self, schedule: &str) -> String {
        Written { schedule: schedule.to_owned(), ..self.clone() }.code()
    }

    pub(crate) fn with_zone(&self, zone: Option<&str>) -> String {
        Written { zone: zone.map(str::to_owned), ..self.clone() }.code()
    }

    fn rest(&self) -> String {
        let zone = self.zone.as_ref().map(|zone| format!(", \"{zone}\"")).unwrap_or_default();
        format!(", \"{}\"{zone}", self.schedule)
    }

    fn code(&self) -> String {
        format!("`cron!(\"{}\"{})`", self.name, self.rest())
    }
}

/// The literals, when all is legal; what is wrong goes to `faults`.
pub(crate) fn declared(arguments: &[Argument], faults: &mut Faults) -> Option<Declared> {
    let mut placed = Placed::new(arguments);
    let in_order = placed.in_order();
    let text = |role| placed.text(role);
    let written = Written {
        name: text(Role::Name).and_then(|name| naming::repair(&name)).unwrap_or_else(|| NAME.to_owned()),
        schedule: text(Role::Schedule)
            .filter(|schedule| schedule_rules::check(schedule).is_ok())
            .unwrap_or_else(|| SCHEDULE.to_owned()),
        zone: text(Role::Zone).filter(|zone| schedule_rules::zone(zone).is_some()),
    };
    let call = Call {
        caller: Caller::Cron { rest: written.rest() },
        example: written.name.clone(),
        span: Span::call_site(),
    };
    let declared = if in_order {
        let name = name(&call, &placed, faults);
        let schedule = schedule(&written, &placed, faults);
        let zone = zone(&written, &placed, faults);
        name.zip(schedule).zip(zone).map(|((name, schedule), zone)| Declared { name, schedule, zone })
    } else {
        disordered(&placed, faults);
        None
    };
    if let ([first, ..], [.., last]) = (&placed.options[..], &placed.options[..]) {
        let shown = [&first.trees[..], &last.trees[..]].concat();
        faults.push(&shown, no_options(&call, &placed.options, Some(&written.name)), Heading::Options);
    }
    for comma in &placed.commas {
        let message =
            Message::new("`cron!` has a comma too many").help(format!("remove it: {}", written.code()));
        faults.push(&comma.trees, message, Heading::Literal);
    }
    declared
}

fn disordered(placed: &Placed, faults: &mut Faults) {
    let mut given: Vec<(Role, String)> =
        ROLES.iter().filter_map(|role| placed.text(*role)).map(|text| (Role::of_text(&text), text)).collect();
    given.sort_unstable();
    let texts: Vec<String> = given.iter().map(|(_, text)| format!("{text:?}")).collect();
    let shown: Vec<TokenTree> =
        placed.roles.iter().flatten().flat_map(|argument| argument.trees.clone()).collect();
    let message = Message::new("the arguments of `cron!` stand in another order").help(format!(
        "first the name, then the schedule, then the time zone: `cron!({})`",
        texts.join(", ")
    ));
    faults.push(&shown, message, Heading::Literal);
}

fn name(call: &Call, placed: &Placed, faults: &mut Faults) -> Option<LitStr> {
    if let Some(argument) = placed.roles[0] {
        return one_name(call, argument, faults).0;
    }
    let (needed, shown) = match placed.roles[1].or(placed.roles[2]) {
        Some(argument) => ("`cron!` needs a name, as its first argument", &argument.trees[..]),
        None => ("`cron!` needs a name and a schedule", &[][..]),
    };
    let message = Message::new(needed)
        .help(format!("name the work it does: {}", call.with(&call.example)))
        .note(call.words().rule);
    faults.push(shown, message, Heading::Name);
    None
}

fn schedule(written: &Written, placed: &Placed, faults: &mut Faults) -> Option<LitStr> {
    let Some(argument) = placed.roles[1] else {
        // Without any argument it has been said already.
        if let Some(other) = placed.roles[0].or(placed.roles[2]) {
            let message = Message::new("`cron!` needs a schedule, as its second argument")
                .help(format!("say when it is due; each night at three: {}", written.code()))
                .note(scheduling::RULE);
            faults.push(&other.trees, message, Heading::Schedule);
        }
        return None;
    };
    let Shape::Text(text) = &argument.shape else {
        not_a_literal(written, Role::Schedule, argument, faults);
        return None;
    };
    let schedule = text.value();
    match schedule_rules::check(&schedule) {
        Ok(_) => Some(LitStr::new(&schedule, text.span())),
        Err(found) => {
            for fault in &found {
                faults.push(
                    &argument.trees,
                    scheduling::message(written, &schedule, fault),
                    Heading::Schedule,
                );
            }
            None
        }
    }
}

/// `UTC` where none is given.
fn zone(written: &Written, placed: &Placed, faults: &mut Faults) -> Option<LitStr> {
    let Some(argument) = placed.roles[2] else { return Some(LitStr::new("UTC", Span::call_site())) };
    let Shape::Text(text) = &argument.shape else {
        not_a_literal(written, Role::Zone, argument, faults);
        return None;
    };
    let zone = text.value();
    if schedule_rules::zone(&zone).is_some() {
        return Some(LitStr::new(&zone, text.span()));
    }
    faults.push(&argument.trees, zones::message(written, &zone), Heading::TimeZone);
    None
}

/// Something else than a string literal stands in the place of the schedule or the zone.
fn not_a_literal(written: &Written, role: Role, argument: &Argument, faults: &mut Faults) {
    let called = role.called();
    let legal = |text: &String| match role {
        Role::Schedule => schedule_rules::check(text).is_ok(),
        Role::Name | Role::Zone => schedule_rules::zone(text).is_some(),
    };
    let code = |text: &str| match role {
        Role::Schedule => written.with_schedule(text),
        Role::Name | Role::Zone => written.with_zone(Some(text)),
    };
    // Nobody means the zone that is there without one.
    let example = || if role == Role::Zone { code(ZONE) } else { written.code() };
    let meant = |text: Option<String>| text.filter(legal).map_or_else(&example, |text| code(&text));
    let found = |what: &str| {
        let shown = quote_code(&argument.trees);
        Message::new(format!("the {called} of `cron!` is a string literal, found {what} `{shown}`"))
    };
    let message = match &argument.shape {
        Shape::Keyword { key, separator, value } => {
            let key = if *separator == '=' { format!("{key} =") } else { format!("{key}:") };
            Message::new(format!("the {called} of `cron!` has no keyword"))
                .help(format!("drop `{key}`: {}", meant(only_string(value))))
        }
        Shape::Macro { name, inside } => {
            let joined = if name == "concat" { concatenated(peeled(inside.clone()), ',') } else { None };
            Message::new(format!("the {called} of `cron!` is a string literal, found a call of `{name}!`"))
                .help(format!("write the {called} itself: {}", meant(joined)))
        }
        Shape::Suffixed(text) => Message::new(format!(
            "the {called} of `cron!` is a string literal without a suffix, found `{}` on it",
            text.suffix()
        ))
        .help(format!("remove it: {}", meant(Some(text.value())))),
        Shape::Literal { called: what, inside } => found(&format!("the {what}"))
            .help(format!("write the {called} itself: {}", meant(Some(inside.clone())))),
        Shape::Path { constant } => found(if *constant { "the constant" } else { "the path" })
            .help(format!("write the {called} itself in its place: {}", example())),
        Shape::Words | Shape::Text(_) | Shape::Comma | Shape::Applied { .. } | Shape::Expression => {
            // Written without quotes, it has perhaps been spaced by the compiler: `@ daily`.
            let bare = whole_code(&argument.trees);
            let bare =
                [bare.replace("@ ", "@"), bare.replace("/ ", "/").replace(" /", "/")].into_iter().find(legal);
            match bare {
                Some(bare) => Message::new(format!(
                    "the {called} of `cron!` is a string literal, found `{bare}` without quotes"
                ))
                .help(format!("put it in quotes: {}", code(&bare))),
                None => found("the expression")
                    .help(format!("write the {called} itself: {}", meant(only_string(&argument.trees)))),
            }
        }
    };
    let why = Call {
        caller: Caller::Cron { rest: String::new() },
        example: String::new(),
        span: Span::call_site(),
    };
    let heading = Heading::Literal;
    faults.push(&argument.trees, message.note(why.words().why), heading);
}
