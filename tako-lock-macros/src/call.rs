//! Which macro was called, and the words in which it is spoken of.

use proc_macro2::Span;

#[cfg(feature = "cron")]
use crate::diag::{CRON_POLICY, CRON_RULE, CRON_WHY};
use crate::diag::{POLICY, RULE, WHY};

/// Which macro was called, and the name that its examples show.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) caller: Caller,
    pub(crate) example: String,
    /// Stands for the call where no token of it can be shown.
    pub(crate) span: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    Bang,
    Attribute,
    #[cfg(feature = "cron")]
    Cron {
        /// What stands behind the name in the call as it should be written.
        rest: String,
    },
}

/// What differs between the messages of one macro and another.
#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) title: &'static str,
    /// What has the name.
    pub(crate) noun: &'static str,
    /// What it does with the work.
    pub(crate) does: &'static str,
    /// All of its arguments.
    pub(crate) takes: &'static str,
    /// The rule of its name.
    pub(crate) rule: &'static str,
    /// Why there are literals only.
    pub(crate) why: &'static str,
    /// Why there are no options.
    pub(crate) policy: &'static str,
}

const BANG: Words = Words {
    title: "`lock!`",
    noun: "lock",
    does: "protects",
    takes: "a name",
    rule: RULE,
    why: WHY,
    policy: POLICY,
};
const ATTRIBUTE: Words = Words { title: "`#[tako::lock]`", ..BANG };
#[cfg(feature = "cron")]
const CRON: Words = Words {
    title: "`cron!`",
    noun: "cron",
    does: "does",
    takes: "a name, a schedule, a time zone",
    rule: CRON_RULE,
    why: CRON_WHY,
    policy: CRON_POLICY,
};

impl Call {
    pub(crate) fn words(&self) -> &'static Words {
        match self.caller {
            Caller::Bang => &BANG,
            Caller::Attribute => &ATTRIBUTE,
            #[cfg(feature = "cron")]
            Caller::Cron { .. } => &CRON,
        }
    }

    /// The call as it should be written.
    pub(crate) fn with(&self, name: &str) -> String {
        match &self.caller {
            Caller::Bang => format!("`lock!(\"{name}\")`"),
            Caller::Attribute => format!("`#[tako::lock(\"{name}\")]`"),
            #[cfg(feature = "cron")]
            Caller::Cron { rest } => format!("`cron!(\"{name}\"{rest})`"),
        }
    }
}
