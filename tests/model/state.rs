//! What the model remembers. Every instant is kept relative to the present, every version is either the one that stands
//! or one that never will again, and fences are ranks: so the states are finite although time has no end.

/// So many ticks, or an instant so many ticks from now.
pub(crate) type Ticks = i8;

/// See `tako::policy`: the same relations as there, in ticks.
pub(crate) const TTL: Ticks = 3;
pub(crate) const HEARTBEAT: Ticks = 1;
pub(crate) const MARGIN: Ticks = 1;
pub(crate) const GUARD: Ticks = 1;
/// How far off an estimate of the store's time may be that says so.
pub(crate) const ERROR: Ticks = 2;
/// Further back an instant makes no difference: whoever asks the store for its time takes over.
const LONG_AGO: Ticks = -GUARD - 1;

#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub(crate) struct State {
    /// What the store keeps.
    pub(crate) record: Option<Record>,
    pub(crate) nodes: Vec<Node>,
    /// Requests that the network still owns although their senders have given them up.
    pub(crate) late: Vec<Request>,
    /// The highest fence that a claim has brought into the store, and that work has started under.
    pub(crate) claimed: Option<Fence>,
    pub(crate) started: Option<Fence>,
    /// An operator has removed the record, which the model allows once.
    pub(crate) is_removed: bool,
    /// The first invariant that a step has broken.
    pub(crate) broken: Option<Invariant>,
}

/// The invariants that are seen in a step. I1 and I4 are seen in a state.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq)]
pub(crate) enum Invariant {
    I2,
    I3,
    I5,
    I9,
}

/// Node `n`'s acquisition, while it lasts, is `n`; one that is over has a number past the nodes'.
pub(crate) type Owner = u8;
/// A rank below 128: the numbers themselves make no difference.
pub(crate) type Fence = u8;

#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record {
    pub(crate) owner: Owner,
    /// In store time; `None`: released.
    pub(crate) expires: Option<Ticks>,
    pub(crate) fence: Fence,
}

/// A version of the record, as one who has seen it remembers it.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Token {
    /// That there was no record.
    Absent,
    /// The one that stands there.
    Current,
    /// One that has been written over.
    Past,
}

/// A process and its host. It may be slow, stopped or starved at any point: time never waits for it.
#[derive(Debug, Clone, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) phase: Phase,
    /// By how many ticks its clock has got ahead. It may change with every tick, within the promise.
    pub(crate) slip: Ticks,
    /// The version that it has been looking at, and for how long by its own clock (`step::Watched`).
    pub(crate) watched: Option<(Token, Ticks)>,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Between two looks, or down.
    Idle,
    /// `engine/claim.rs`
    Claim(Write),
    /// `engine/hold.rs`
    Hold(Hold),
    /// `engine/release.rs`
    Release(Write),
}

/// `engine/write.rs`: a body on its way to the store.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub(crate) expected: Token,
    pub(crate) expires: Option<Ticks>,
    pub(crate) fence: Fence,
    /// How far off the store's time may have been when the body was made; `None`: a guess.
    pub(crate) error: Option<Ticks>,
    /// How long ago it was made, before its first send, and how long ago it was last sent, by the node's own clock.
    pub(crate) made: Ticks,
    pub(crate) sent: Ticks,
    pub(crate) copy: Copy,
}

/// Where the request is that its sender waits for.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Copy {
    OnItsWay,
    /// The answer is on its way: applied as this version, with so much of the lease left by the store's clock.
    Applied(Token, Ticks),
    /// The same: refused.
    Refused,
    /// There is none: its sender knows nothing, and pauses.
    Unanswered,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hold {
    /// What the hold wrote last, as far as it knows.
    pub(crate) expires: Ticks,
    pub(crate) token: Token,
    pub(crate) fence: Fence,
    /// How long until its deadline, by its own clock. At 0, `check` says that it is lost.
    pub(crate) left: Ticks,
    /// Whoever has asked `check` has been told "lost".
    pub(crate) was_lost: bool,
    /// `engine/heartbeat.rs`: the body on its way.
    pub(crate) beat: Option<Write>,
    /// The last body that went unanswered since the last confirmation. The engine remembers all of them; they are a
    /// tick apart, and a lease is short.
    pub(crate) in_doubt: Option<Write>,
}

/// A request without anybody who waits for it.
#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request {
    pub(crate) owner: Owner,
    pub(crate) verb: Verb,
    pub(crate) expected: Token,
    pub(crate) expires: Option<Ticks>,
    pub(crate) fence: Fence,
}

#[derive(Debug, Clone, Copy, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Claim,
    Beat,
    Release,
}

impl State {
    pub(crate) fn new(nodes: usize) -> State {
        let node = Node { phase: Phase::Idle, slip: 0, watched: None };
        State {
            record: None,
            nodes: vec![node; nodes],
            late: Vec::new(),
            claimed: None,
            started: None,
            is_removed: false,
            broken: None,
        }
    }

    /// One tick of the store's clock, in which the clock of each node makes so many.
    pub(crate) fn tick(&mut self, by: &[Ticks]) {
        let pass = |expires: &mut Ticks| *expires = (*expires - 1).max(LONG_AGO);
        if let Some(Record { expires: Some(expires), .. }) = &mut self.record {
            pass(expires);
        }
        self.late.iter_mut().filter_map(|request| request.expires.as_mut()).for_each(pass);
        for (node, by) in self.nodes.iter_mut().zip(by) {
            node.slip += by - 1;
            if let Some((_, age)) = &mut node.watched {
                *age = (*age + by).min(TTL + GUARD);
            }
            // How old a release is makes no difference.
            let is_dated = !matches!(node.phase, Phase::Release(_));
            if let Phase::Hold(hold) = &mut node.phase {
                pass(&mut hold.expires);
                hold.left = (hold.left - by).max(0);
                hold.was_lost |= hold.left == 0;
            }
            for write in node.writes().filter(|_| is_dated) {
                write.expires.as_mut().into_iter().for_each(pass);
                write.made = (write.made + by).min(TTL);
                write.sent = (write.sent + by).min(TTL);
            }
        }
    }

    pub(crate) fn breaks(&mut self, invariant: Invariant) {
        self.broken.get_or_insert(invariant);
    }

    /// The version that stands there becomes one that has been.
    pub(crate) fn is_written_over(&mut self) {
        let pass = |token: &mut Token| {
            if *token == Token::Current {
                *token = Token::Past;
            }
        };
        self.late.iter_mut().for_each(|request| pass(&mut request.expected));
        for node in &mut self.nodes {
            node.watched.iter_mut().for_each(|(token, _)| pass(token));
            if let Phase::Hold(hold) = &mut node.phase {
                pass(&mut hold.token);
            }
            for Write { expected, copy, .. } in node.writes() {
                pass(expected);
                if let Copy::Applied(token, _) = copy {
                    pass(token);
                }
            }
        }
    }

    pub(crate) fn each_fence(&mut self, mut visit: impl FnMut(&mut Fence)) {
        self.record.iter_mut().for_each(|record| visit(&mut record.fence));
        self.late.iter_mut().for_each(|request| visit(&mut request.fence));
        self.claimed.iter_mut().chain(&mut self.started).for_each(&mut visit);
        for node in &mut self.nodes {
            if let Phase::Hold(hold) = &mut node.phase {
                visit(&mut hold.fence);
            }
            node.writes().for_each(|write| visit(&mut write.fence));
        }
    }

    pub(crate) fn owners(&mut self) -> impl Iterator<Item = &mut Owner> {
        let late = self.late.iter_mut().map(|request| &mut request.owner);
        self.record.iter_mut().map(|record| &mut record.owner).chain(late)
    }

    /// The acquisition of `node` is over: what bears its name is a dead owner's from here on.
    pub(crate) fn retire(&mut self, node: usize) {
        let fresh = self.owners().map(|owner| *owner).max().map_or(0, |owner| owner + 1);
        let fresh = fresh.max(number(self.nodes.len()));
        self.owners().filter(|owner| **owner == number(node)).for_each(|owner| *owner = fresh);
        self.nodes[node].phase = Phase::Idle;
    }
}

pub(crate) fn number(index: usize) -> u8 {
    u8::try_from(index).expect("a model is small")
}

impl Node {
    pub(crate) fn writes(&mut self) -> impl Iterator<Item = &mut Write> {
        let (write, hold) = match &mut self.phase {
            Phase::Idle => (None, None),
            Phase::Claim(write) | Phase::Release(write) => (Some(write), None),
            Phase::Hold(hold) => (None, Some(hold)),
        };
        let beats = hold.into_iter().flat_map(|hold| hold.in_doubt.iter_mut().chain(&mut hold.beat));
        write.into_iter().chain(beats)
    }
}
