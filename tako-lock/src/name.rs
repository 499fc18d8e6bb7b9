//! Names of locks, apps and environments, and the places in a store that they make.

use std::fmt;
use std::sync::Arc;

use crate::backend::Key;
pub(crate) use crate::name_rules::check;
use crate::name_rules::{MAX_LEN, NameFault};

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameFault::Empty => f.write_str("it is empty"),
            NameFault::Character { offset } => {
                write!(f, "the character at byte {offset} is not one of `a-z`, `0-9`, `-`")
            }
            NameFault::First => f.write_str("it does not start with a letter"),
            NameFault::DoubledHyphen { offset } => write!(f, "it has a doubled `-` at byte {offset}"),
            NameFault::LastHyphen => f.write_str("it ends with `-`"),
            NameFault::TooLong { length } => {
                write!(f, "it has {length} characters, and {MAX_LEN} is the most")
            }
        }
    }
}

/// What a lease is for. Leases of different kinds never share a record: no lock's name has a `.` in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Subject<'a> {
    /// The lock of this name.
    Lock(&'a str),
    /// The cron of this name.
    Cron(&'a str),
    /// The app's deployment to the environment.
    Deploy,
}

const CRON: &str = "cron.";
const DEPLOY: &str = "deploy.lease";

impl<'a> Subject<'a> {
    /// Reads back what `Display` writes.
    ///
    /// # Errors
    /// The name of the lock, or of the cron, is none.
    pub(crate) fn of(text: &'a str) -> Result<Subject<'a>, NameFault> {
        if text == DEPLOY {
            return Ok(Subject::Deploy);
        }
        match text.strip_prefix(CRON) {
            Some(name) => check(name).map(|()| Subject::Cron(name)),
            None => check(text).map(|()| Subject::Lock(text)),
        }
    }
}

impl Subject<'static> {
    /// The name that it was declared with.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Subject::Lock(name) | Subject::Cron(name) => name,
            Subject::Deploy => DEPLOY,
        }
    }

    /// What messages call it.
    pub(crate) fn title(self) -> Arc<str> {
        match self {
            Subject::Lock(name) => name.into(),
            Subject::Cron(_) | Subject::Deploy => self.to_string().into(),
        }
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Lock(name) => f.write_str(name),
            Subject::Cron(name) => write!(f, "{CRON}{name}"),
            Subject::Deploy => f.write_str(DEPLOY),
        }
    }
}

/// The namespace of an engine's locks: `pr-42` never contends with `prod`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Namespace {
    app: String,
    env: String,
}

impl Namespace {
    /// Of a program that has not said what it is.
    pub(crate) fn local() -> Namespace {
        Namespace { app: "app".into(), env: "dev".into() }
    }

    /// # Errors
    /// Which of the two is not a legal part of a path, and why. Both are judged.
    pub(crate) fn new(app: &str, env: &str) -> Result<Namespace, Vec<String>> {
        let fault = |what, value| {
            part_fault(value).map(|fault| format!("the {what} `{value}` cannot be part of a path: {fault}"))
        };
        let faults: Vec<String> =
            [fault("app", app), fault("environment", env)].into_iter().flatten().collect();
        if faults.is_empty() { Ok(Namespace { app: app.into(), env: env.into() }) } else { Err(faults) }
    }

    /// The key of `subject`'s lease.
    ///
    /// Joining the parts with `-` as they are is ambiguous: app `shop`, env `prod-eu`, lock `x` would share a record
    /// with env `prod`, lock `eu-x`. So each `-` in the app and in the name is doubled. The environment may have
    /// single ones only, so the first and the last single `-` are the joints.
    pub(crate) fn key(&self, subject: Subject<'_>) -> Key {
        let Namespace { app, env } = self;
        let doubled = |name: &str| name.replace('-', "--");
        let path = match subject {
            Subject::Lock(name) => format!("{}-{}", self.path("run"), doubled(name)),
            Subject::Cron(name) => format!("{}-{CRON}{}", self.path("run"), doubled(name)),
            Subject::Deploy => self.path("deploy"),
        };
        Key::new(path, format!("{app}/{env}/{subject}"))
    }

    /// Where something else of this namespace than a lock stands, which no lock can be: `what` is not `run`.
    pub(crate) fn path(&self, what: &str) -> String {
        let Namespace { app, env } = self;
        format!("leases/{what}-{}-{env}", app.replace('-', "--"))
    }
}

/// As for locks, but a digit may stand first.
fn part_fault(part: &str) -> Option<NameFault> {
    let fault = check(part).err()?;
    let digit_first = part.starts_with(|first: char| first.is_ascii_digit());
    if fault == NameFault::First && digit_first {
        // The rest is judged behind a letter; a length of the most is then one more than is seen.
        return match check(&format!("x{part}")).err() {
            Some(NameFault::TooLong { length }) if length == MAX_LEN + 1 => None,
            Some(NameFault::TooLong { length }) => Some(NameFault::TooLong { length: length - 1 }),
            Some(NameFault::Character { offset }) => Some(NameFault::Character { offset: offset - 1 }),
            Some(NameFault::DoubledHyphen { offset }) => {
                Some(NameFault::DoubledHyphen { offset: offset - 1 })
            }
            other => other,
        };
    }
    Some(fault)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{CRON, MAX_LEN, Namespace, Subject, check, part_fault};

    #[test]
    fn the_path_is_the_specifications_for_hyphen_free_parts() {
        let key = Namespace::new("gallery", "pr-42").unwrap().key(Subject::Lock("reindex"));
        assert_eq!(key.path(), "leases/run-gallery-pr-42-reindex");
        assert_eq!(&**key.lock(), "gallery/pr-42/reindex");
    }

    #[test]
    fn what_is_no_lock_stands_where_no_lock_can() {
        let namespace = Namespace::new("photo-gallery", "pr-42").unwrap();
        let places = [
            (Subject::Cron("night-ly"), "leases/run-photo--gallery-pr-42-cron.night--ly", "cron.night-ly"),
            (Subject::Deploy, "leases/deploy-photo--gallery-pr-42", "deploy.lease"),
        ];
        for (subject, path, text) in places {
            let key = namespace.key(subject);
            assert_eq!((key.path(), &**key.lock()), (path, &*format!("photo-gallery/pr-42/{text}")));
            assert_eq!(Subject::of(text).unwrap(), subject, "what is written is read back");
        }
        for text in
            ["cron", "cron.", "cron.Nightly", "cron.a--b", "deploy.leases", "deploy.", "cron.cron.a", "."]
        {
            assert!(!matches!(Subject::of(text), Ok(Subject::Cron(_) | Subject::Deploy)), "{text}");
        }
    }

    /// Splits at the first and the last single `-`, and halves the doubled ones.
    fn decode(path: &str) -> Option<(String, String, String)> {
        let rest = path.strip_prefix("leases/run-")?;
        let bytes = rest.as_bytes();
        let is_single = |at: usize| {
            bytes[at] == b'-'
                && (at == 0 || bytes[at - 1] != b'-')
                && bytes.get(at + 1).is_some_and(|next| *next != b'-')
        };
        let first = (0..bytes.len()).find(|at| is_single(*at))?;
        let last = (0..bytes.len()).rfind(|at| is_single(*at))?;
        let (app, env, name) = (&rest[..first], rest.get(first + 1..last)?, &rest[last + 1..]);
        Some((app.replace("--", "-"), env.to_owned(), name.replace("--", "-")))
    }

    /// Every legal part of up to `length` characters over a small alphabet.
    fn parts(length: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..length {
            let upto = all.len();
            for at in from..upto {
                for next in ['a', '1', '-'] {
                    all.push(format!("{}{next}", all[at]));
                }
            }
            from = upto;
        }
        all.retain(|part| part_fault(part).is_none());
        all
    }

    #[test]
    fn every_path_decodes_to_what_it_was_made_of() {
        let parts = parts(4);
        assert!(parts.len() > 40, "{}", parts.len());
        let (mut paths, mut identities, mut keys) = (BTreeSet::new(), BTreeSet::new(), 0);
        let mut insert = |key: crate::backend::Key| {
            keys += 1;
            paths.insert(key.path().to_owned());
            identities.insert(key.lock().to_string());
        };
        for app in &parts {
            for env in &parts {
                let namespace = Namespace::new(app, env).unwrap();
                for name in parts.iter().filter(|name| check(name).is_ok()) {
                    let decoded = decode(namespace.key(Subject::Lock(name)).path()).unwrap();
                    assert_eq!((&decoded.0, &decoded.1, &decoded.2), (app, env, name));
                    let decoded = decode(namespace.key(Subject::Cron(name)).path()).unwrap();
                    let name = &format!("{CRON}{name}");
                    assert_eq!((&decoded.0, &decoded.1, &decoded.2), (app, env, name));
                }
                insert(namespace.key(Subject::Deploy));
                for name in parts.iter().filter(|name| check(name).is_ok()) {
                    insert(namespace.key(Subject::Lock(name)));
                    insert(namespace.key(Subject::Cron(name)));
                }
            }
        }
        assert_eq!(
            (paths.len(), identities.len()),
            (keys, keys),
            "no two leases share a record or an identity"
        );
    }

    #[test]
    fn both_parts_are_judged_at_once() {
        let faults = Namespace::new("Shop", "pr--1").unwrap_err();
        assert_eq!(faults.len(), 2);
        assert!(
            faults[0].contains("the app `Shop`") && faults[1].contains("the environment `pr--1`"),
            "{faults:?}"
        );
        for (app, is_legal) in [
            ("1a", true),
            ("9", true),
            ("-a", false),
            ("a-", false),
            ("1--a", false),
            ("", false),
            ("1A", false),
        ] {
            assert_eq!(Namespace::new(app, "prod").is_ok(), is_legal, "{app}");
        }
        assert!(Namespace::new(&"1".repeat(64), "prod").is_ok());
        assert!(Namespace::new(&"1".repeat(65), "prod").is_err());
    }

    /// A legal part of up to the longest length, made by the rules' own words.
    fn part(first: &'static str) -> impl Strategy<Value = String> {
        let word = "[a-z0-9]{1,12}";
        (first, proptest::collection::vec(word, 0..12)).prop_map(|(first, words)| {
            let mut part = [vec![first], words].concat().join("-");
            part.truncate(MAX_LEN);
            part.trim_end_matches('-').to_owned()
        })
    }

    /// Texts near the edge of what is legal.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![part("[a-z0-9-][a-z0-9]{0,9}"), "[a-c0-1-]{0,8}", "[a-z]{62,67}", ".{0,8}"]
    }

    /// The rules as the specification words them.
    fn is_legal(text: &str, may_start_with_digit: bool) -> bool {
        (1..=64).contains(&text.chars().count())
            && text.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-'))
            && text.starts_with(|first: char| {
                first.is_ascii_lowercase() || may_start_with_digit && first.is_ascii_digit()
            })
            && !text.ends_with('-')
            && !text.contains("--")
    }

    proptest! {
        #[test]
        fn a_text_is_a_name_exactly_when_it_keeps_every_rule(text in text()) {
            prop_assert_eq!(check(&text).is_ok(), is_legal(&text, false));
            prop_assert_eq!(Namespace::new(&text, "prod").is_ok(), is_legal(&text, true));
            prop_assert_eq!(Namespace::new("app", &text).is_ok(), is_legal(&text, true));
        }

        #[test]
        fn paths_are_one_to_one_up_to_the_longest_names(
            app in part("[a-z0-9][a-z0-9]{0,9}"),
            env in part("[a-z0-9][a-z0-9]{0,9}"),
            name in part("[a-z][a-z0-9]{0,9}"),
        ) {
            prop_assert!(check(&name).is_ok(), "{}", name);
            let key = Namespace::new(&app, &env).unwrap().key(Subject::Lock(&name));
            prop_assert!(key.path().len() <= 272, "more than a backend has to take: {}", key.path());
            prop_assert_eq!(decode(key.path()), Some((app.clone(), env.clone(), name.clone())));
            prop_assert_eq!(&**key.lock(), format!("{app}/{env}/{name}"));
        }
    }
}
