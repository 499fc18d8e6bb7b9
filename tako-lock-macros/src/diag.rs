//! Faults: what is wrong, where, and how it reads.

use proc_macro2::{Span, TokenStream, TokenTree};

/// The page that explains each message at length.
const PAGE: &str = "https://docs.rs/tako-lock/latest/tako/errors/#";
/// Where a line of a message is broken.
const WIDTH: usize = 112;

pub(crate) const RULE: &str = "the name becomes part of a storage path (`leases/run-<app>-<env>-<name>`): 1 to 64 of \
     `a-z`, `0-9`, `-`; a letter first; no `-` last or doubled";
pub(crate) const POLICY: &str = "in v0 the framework owns the lease policy: a 30 s TTL, a heartbeat every 10 s while \
     your code runs, and a jittered poll about every 2 s while waiting";
pub(crate) const WHY: &str = "the name is read while compiling: lock names are the identity, and every lock of a \
     program can be listed before it runs";
#[cfg(feature = "cron")]
pub(crate) const CRON_RULE: &str = "the name becomes part of a storage path (`leases/run-<app>-<env>-cron.<name>`): 1 to \
     64 of `a-z`, `0-9`, `-`; a letter first; no `-` last or doubled";
#[cfg(feature = "cron")]
pub(crate) const CRON_POLICY: &str = "in v0 a declaration says what runs and when, and nothing else: how instances share \
     the work is chosen at `run`, and the framework owns the lease policy";
#[cfg(feature = "cron")]
pub(crate) const CRON_WHY: &str = "all of it is read while compiling: a schedule that cannot run does not compile, and \
     every cron of a program can be listed with its next run";

/// The heading of the page that a message points to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Heading {
    Literal,
    Name,
    Options,
    Placement,
    Signature,
    #[cfg(feature = "cron")]
    Schedule,
    #[cfg(feature = "cron")]
    TimeZone,
}

/// The text of one fault.
#[derive(Debug)]
pub(crate) struct Message {
    text: String,
}

impl Message {
    /// Starts with the one line that names what was found.
    pub(crate) fn new(found: impl Into<String>) -> Message {
        Message { text: found.into() }
    }

    /// What to do about it.
    pub(crate) fn help(self, line: impl AsRef<str>) -> Message {
        self.line("help", line.as_ref())
    }

    /// The rule, or the reason.
    pub(crate) fn note(self, line: impl AsRef<str>) -> Message {
        self.line("note", line.as_ref())
    }

    /// The user's text on a line of its own, a part of it marked from below: the compiler can show the place of a whole
    /// literal only.
    #[cfg(feature = "cron")]
    pub(crate) fn shown(mut self, text: &str, part: std::ops::Range<usize>, mark: &str) -> Message {
        let lead = "\n  = note: ";
        let indent = " ".repeat(lead.len() - 1 + text[..part.start].chars().count());
        let carets = "^".repeat(text[part].chars().count().max(1));
        self.text.extend([lead, text, "\n", &indent, &carets, " ", mark]);
        self
    }

    fn line(mut self, kind: &str, line: &str) -> Message {
        let lead = format!("\n  = {kind}: ");
        let indent = format!("\n{}", " ".repeat(lead.len() - 1));
        self.text.push_str(&lead);
        let mut column = lead.len();
        for (position, word) in line.split(' ').enumerate() {
            let length = word.chars().count() + 1;
            if position > 0 && column + length > WIDTH {
                self.text.push_str(&indent);
                column = indent.len();
            } else if position > 0 {
                self.text.push(' ');
            }
            self.text.push_str(word);
            column += length;
        }
        self
    }
}

/// All faults of one call, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    errors: Vec<syn::Error>,
}

impl Faults {
    /// Records a fault of these tokens; of the whole call when there are none.
    pub(crate) fn push(&mut self, trees: &[TokenTree], message: Message, heading: Heading) {
        let tokens: TokenStream = trees.iter().cloned().collect();
        let text = message.line("docs", &format!("{PAGE}{}", heading.anchor())).text;
        self.errors.push(syn::Error::new_spanned(tokens, text));
    }

    /// As [`push`](Faults::push), for a place that is one span.
    pub(crate) fn push_at(&mut self, span: Span, message: Message, heading: Heading) {
        let text = message.line("docs", &format!("{PAGE}{}", heading.anchor())).text;
        self.errors.push(syn::Error::new(span, text));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// One `compile_error!` a fault; each stands for an item, a statement or an expression of any type.
    pub(crate) fn compile_errors(&self) -> Vec<TokenStream> {
        self.errors.iter().map(syn::Error::to_compile_error).collect()
    }
}

impl Heading {
    fn anchor(self) -> &'static str {
        match self {
            Heading::Literal => "literal",
            Heading::Name => "name",
            Heading::Options => "options",
            Heading::Placement => "placement",
            Heading::Signature => "signature",
            #[cfg(feature = "cron")]
            Heading::Schedule => "schedule",
            #[cfg(feature = "cron")]
            Heading::TimeZone => "time-zone",
        }
    }
}
