//! The arguments of `cron!`, each in the place that it is for.

use proc_macro2::Delimiter;

use crate::advice::topic;
use crate::args::{Argument, Shape};
use crate::call::Caller;
use crate::schedule_rules;
use crate::tokens::quote_code;
use crate::validate::only_string;

/// What an argument is for. The order is that of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Name,
    Schedule,
    Zone,
}
pub(crate) const ROLES: [Role; 3] = [Role::Name, Role::Schedule, Role::Zone];

impl Role {
    pub(crate) fn called(self) -> &'static str {
        match self {
            Role::Name => "name",
            Role::Schedule => "schedule",
            Role::Zone => "time zone",
        }
    }

    fn of_key(key: &str) -> Option<Role> {
        match key {
            "name" | "id" | "job" => Some(Role::Name),
            "schedule" | "cron" | "expression" | "pattern" | "at" => Some(Role::Schedule),
            "tz" | "zone" | "timezone" | "time_zone" => Some(Role::Zone),
            _ => None,
        }
    }

    /// What a text is by its looks; a name where it looks like nothing else.
    pub(crate) fn of_text(text: &str) -> Role {
        let fields = text.split_ascii_whitespace().count();
        if text.starts_with('@') || (fields > 3 && text.contains(|c: char| c == '*' || c.is_ascii_digit())) {
            Role::Schedule
        } else if schedule_rules::zone(text).is_some() {
            Role::Zone
        } else {
            Role::Name
        }
    }
}

/// The arguments, each in its place.
pub(crate) struct Placed<'a> {
    pub(crate) roles: [Option<&'a Argument>; 3],
    pub(crate) options: Vec<&'a Argument>,
    pub(crate) commas: Vec<&'a Argument>,
}

impl<'a> Placed<'a> {
    pub(crate) fn new(arguments: &'a [Argument]) -> Placed<'a> {
        let mut placed = Placed { roles: [None; 3], options: Vec::new(), commas: Vec::new() };
        for argument in arguments {
            if let Shape::Comma = argument.shape {
                placed.commas.push(argument);
                continue;
            }
            let at = match &argument.shape {
                Shape::Keyword { key, .. } => Role::of_key(key).map(|role| role as usize),
                _ if is_option(argument) && placed.roles[0].is_some() => None,
                _ => placed.roles.iter().position(Option::is_none),
            };
            match at.map(|at| &mut placed.roles[at]) {
                Some(free @ None) => *free = Some(argument),
                _ => placed.options.push(argument),
            }
        }
        placed
    }

    pub(crate) fn text(&self, role: Role) -> Option<String> {
        match &self.roles[role as usize]?.shape {
            Shape::Text(text) => Some(text.value()),
            Shape::Keyword { value, .. } => only_string(value),
            _ => None,
        }
    }

    /// Where one of the three is left out, the others move up. Whether they stand in their order then.
    pub(crate) fn in_order(&mut self) -> bool {
        let given: Vec<(&Argument, Role)> = self
            .roles
            .iter()
            .flatten()
            .filter_map(|argument| match &argument.shape {
                Shape::Text(text) => Some((*argument, Role::of_text(&text.value()))),
                _ => None,
            })
            .collect();
        let distinct = given
            .iter()
            .enumerate()
            .all(|(at, (_, role))| given[..at].iter().all(|(_, other)| other != role));
        if !distinct || given.len() != self.roles.iter().flatten().count() {
            return true;
        }
        if !given.iter().map(|(_, role)| role).is_sorted() {
            return false;
        }
        self.roles = [None; 3];
        for (argument, role) in given {
            self.roles[role as usize] = Some(argument);
        }
        true
    }
}

fn is_option(argument: &Argument) -> bool {
    match &argument.shape {
        Shape::Applied { inside, .. } => {
            inside.delimiter() == Delimiter::Brace || only_string(&argument.trees).is_none()
        }
        Shape::Words => topic(&Caller::Cron { rest: String::new() }, &quote_code(&argument.trees)).is_some(),
        _ => false,
    }
}
