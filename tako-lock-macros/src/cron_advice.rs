//! Options that schedulers have, and what to do here instead.

use crate::advice::Topic as Any;

/// What a family of a scheduler's options is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Sharing,
    Zone,
    Schedule,
    Missed,
    Limit,
    Retry,
    Spread,
    Switch,
}

/// The words of each topic, in lower case and without `_`.
pub(crate) const WORDS: &[(Any, &[&str])] = &[
    (
        Any::Cron(Topic::Sharing),
        &[
            "singleflight",
            "singleton",
            "single",
            "overlap",
            "allowoverlap",
            "withoutoverlapping",
            "concurrent",
            "concurrency",
            "concurrencypolicy",
            "maxinstances",
            "exclusive",
            "leader",
            "distributed",
            "ononeserver",
            "lock",
            "mutex",
            "cronconfig",
        ],
    ),
    (Any::Cron(Topic::Zone), &["utc", "offset", "local", "location", "dst"]),
    (
        Any::Cron(Topic::Schedule),
        &["every", "interval", "period", "seconds", "minutes", "hours", "days", "start"],
    ),
    (
        Any::Cron(Topic::Missed),
        &["catchup", "misfire", "missed", "backfill", "startingdeadline", "coalesce", "makeup"],
    ),
    (Any::Cron(Topic::Limit), &["timeout", "deadline", "maxduration", "maxruntime"]),
    (Any::Cron(Topic::Retry), &["retry", "retries", "maxretries", "backoff", "attempts", "backofflimit"]),
    (Any::Cron(Topic::Spread), &["jitter", "delay", "splay", "stagger", "hash"]),
    (Any::Cron(Topic::Switch), &["enabled", "disabled", "suspend", "paused", "when"]),
    (Any::Ttl, &["ttl", "lease", "leasetime", "lockatmostfor", "lockatleastfor", "expiry", "duration"]),
    (Any::Heartbeat, &["heartbeat", "renew", "refresh", "keepalive"]),
    (
        Any::Place,
        &[
            "bucket",
            "prefix",
            "path",
            "namespace",
            "env",
            "environment",
            "app",
            "project",
            "region",
            "store",
            "backend",
        ],
    ),
    (Any::Crate, &["crate"]),
];

impl Topic {
    /// What to do instead.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Topic::Sharing => {
                "how instances share the work is chosen where it runs: \
                 `ROLLUP.run(&ctx, CronConfig { singleflight: true, ..Default::default() }, …)` runs each tick on one \
                 instance, `singleton: true` the whole schedule on one; with neither, every instance runs every tick"
            }
            Topic::Zone => {
                "the time zone is the third argument, a place such as `\"Europe/Berlin\"`; without it, it is `UTC`"
            }
            Topic::Schedule => {
                "when the work is due stands in the schedule: `*/5 * * * *` is every five minutes, `*/10 * * * * *` every \
                 ten seconds, `0 3 * * *` each night at three"
            }
            Topic::Missed => {
                "a tick that is missed while no instance is there is not made up: let the work ask what is left to do"
            }
            Topic::Limit => "limit the work inside of it: `ctx.with_timeout(limit)`",
            Topic::Retry => {
                "an error is logged, and the schedule goes on: what has to be tried again, try inside of the work"
            }
            Topic::Spread => {
                "a tick is one instant, the same on all instances; with `singleflight`, one of them runs it"
            }
            Topic::Switch => "a declaration alone runs nothing: to switch it off, do not call `run`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WORDS;
    use crate::advice::topic;
    use crate::call::Caller;

    #[test]
    fn each_word_belongs_to_its_own_topic_alone() {
        for (expected, words) in WORDS {
            for word in *words {
                assert_eq!(topic(&Caller::Cron { rest: String::new() }, word), Some(*expected), "{word}");
            }
        }
    }
}
