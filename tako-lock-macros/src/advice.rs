//! Options that other libraries have, and what to do here instead.

use crate::call::Caller;
#[cfg(feature = "cron")]
use crate::cron_advice;

/// What a family of options is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Ttl,
    Heartbeat,
    Wait,
    Poll,
    Place,
    Holder,
    Sharing,
    Crate,
    #[cfg(feature = "cron")]
    Cron(cron_advice::Topic),
}

/// The words of each topic, in lower case and without `_`.
const WORDS: &[(Topic, &[&str])] = &[
    (
        Topic::Ttl,
        &[
            "ttl",
            "ttlms",
            "ttlsecs",
            "lease",
            "leasetime",
            "duration",
            "expiry",
            "expires",
            "expire",
            "expiration",
            "lifetime",
            "maxage",
            "hold",
            "holdtime",
            "validity",
        ],
    ),
    (
        Topic::Heartbeat,
        &[
            "heartbeat",
            "heartbeatinterval",
            "renew",
            "renewal",
            "refresh",
            "keepalive",
            "extend",
            "extension",
            "autorenew",
            "interval",
        ],
    ),
    (
        Topic::Wait,
        &[
            "wait",
            "waittime",
            "maxwait",
            "waittimeout",
            "timeout",
            "timeoutms",
            "acquiretimeout",
            "deadline",
            "block",
            "blocking",
            "nonblocking",
            "nowait",
            "try",
            "trylock",
        ],
    ),
    (
        Topic::Poll,
        &[
            "poll",
            "pollinterval",
            "retry",
            "retries",
            "maxretries",
            "retrydelay",
            "backoff",
            "jitter",
            "delay",
            "attempts",
            "spin",
        ],
    ),
    (
        Topic::Place,
        &[
            "bucket",
            "prefix",
            "path",
            "key",
            "namespace",
            "scope",
            "env",
            "environment",
            "app",
            "project",
            "region",
            "create",
            "store",
            "storage",
            "backend",
            "url",
            "table",
            "engine",
            "client",
        ],
    ),
    (
        Topic::Holder,
        &[
            "owner",
            "holder",
            "identity",
            "instance",
            "host",
            "hostname",
            "token",
            "fence",
            "fencing",
            "generation",
            "id",
        ],
    ),
    (Topic::Crate, &["crate"]),
    (
        Topic::Sharing,
        &[
            "reentrant",
            "recursive",
            "shared",
            "exclusive",
            "read",
            "write",
            "readers",
            "permits",
            "max",
            "limit",
            "count",
            "concurrency",
            "semaphore",
            "fair",
            "fairness",
            "priority",
            "global",
            "local",
        ],
    ),
];

/// The topic of an option's word; a slip of the pen is forgiven.
pub(crate) fn topic(caller: &Caller, word: &str) -> Option<Topic> {
    let word: String = word.to_lowercase().chars().filter(|c| *c != '_').collect();
    match caller {
        Caller::Bang | Caller::Attribute => among(WORDS, &word),
        #[cfg(feature = "cron")]
        Caller::Cron { .. } => among(cron_advice::WORDS, &word),
    }
}

fn among<T: Copy>(topics: &[(T, &[&'static str])], word: &str) -> Option<T> {
    let known = nearest(word, topics.iter().flat_map(|(_, words)| words.iter().copied()))?;
    topics.iter().find(|(_, words)| words.contains(&known)).map(|(topic, _)| *topic)
}

/// The first of the nearest of `known`; a slip of one letter is forgiven, in long words two.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let forgiven = match word.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    known
        .filter(|known| known.len().abs_diff(word.len()) <= forgiven)
        .map(|known| (distance(word, known), known))
        .filter(|(distance, _)| *distance <= forgiven)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

impl Topic {
    /// What to do instead.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Topic::Ttl => {
                "work of any length keeps the lock: it is renewed while your code runs, and freed within about half a \
                 minute of a crash"
            }
            Topic::Heartbeat => {
                "the lock is renewed for you while your code runs; there is nothing to set or to call"
            }
            Topic::Wait => {
                "choose how to wait where you take it: `run` waits, `try_run` does not, `ctx.with_timeout(limit)` \
                 waits for at most `limit`"
            }
            Topic::Poll => {
                "`run` asks again by itself until the lock is free or its context ends; for one attempt, use `try_run`"
            }
            Topic::Place => {
                "the place is made for you: `leases/run-<app>-<env>-<name>`; the app, the environment and the store \
                 are the engine's: set `TAKO_APP` and `TAKO_ENV`, or use `Engine::builder()`"
            }
            Topic::Holder => {
                "each hold gets its own owner and fencing token: read them with `ctx.fence()` while your code runs, \
                 and name the instance with `Engine::builder()`"
            }
            Topic::Crate => {
                "no option is needed where the dependency has another name: `extern crate other as tako;` at the root of \
                 the program, or `use other as tako;` in the module"
            }
            Topic::Sharing => {
                "a lock has one holder at a time, and its holder cannot take it again: pass the `ctx` that your code \
                 was given on to what it calls"
            }
            #[cfg(feature = "cron")]
            Topic::Cron(topic) => topic.advice(),
        }
    }
}

/// How many letters must be added, left out, changed or swapped with a neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let changed = usize::from(left[i - 1] != right[j - 1]);
            let mut least = (rows[i - 1][j - 1] + changed).min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if swapped {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::{Topic, WORDS, topic};
    use crate::call::Caller;

    #[test]
    fn a_slip_of_the_pen_finds_its_topic() {
        let table = [
            ("ttl", Some(Topic::Ttl)),
            ("tll", Some(Topic::Ttl)),
            ("TTL", Some(Topic::Ttl)),
            ("ttl_secs", Some(Topic::Ttl)),
            ("expirey", Some(Topic::Ttl)),
            ("hartbeat", Some(Topic::Heartbeat)),
            ("keep_alive", Some(Topic::Heartbeat)),
            ("timeuot", Some(Topic::Wait)),
            ("blokcing", Some(Topic::Wait)),
            ("retires", Some(Topic::Poll)),
            ("bukcet", Some(Topic::Place)),
            ("onwer", Some(Topic::Holder)),
            ("re_entrant", Some(Topic::Sharing)),
            ("colour", None),
            ("x", None),
            ("", None),
        ];
        for (word, expected) in table {
            assert_eq!(topic(&Caller::Bang, word), expected, "{word:?}");
        }
    }

    #[test]
    fn each_word_belongs_to_its_own_topic_alone() {
        for (expected, words) in WORDS {
            for word in *words {
                assert_eq!(topic(&Caller::Bang, word), Some(*expected), "{word}");
            }
        }
    }
}
