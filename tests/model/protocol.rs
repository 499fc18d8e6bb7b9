//! The model: which steps there are, and which promises must hold in each state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stateright::{Model, Property};

use super::decisions::{self, Sight};
use super::plants::Plant;
use super::state::{Copy, Invariant, Node, Phase, State, Ticks, Verb};
use super::steps;

/// What is explored.
#[derive(Clone)]
pub(crate) struct Protocol {
    pub(crate) nodes: usize,
    /// How far a node's clock may get ahead and fall back again. Two clocks that do so in opposite ways use up MARGIN
    /// and GUARD, and no more.
    pub(crate) slip: Ticks,
    /// How many requests the network may keep that nobody waits for.
    pub(crate) late: usize,
    /// Whether an operator may remove the record. What is promised under that is I2, I3 and I9.
    pub(crate) is_removable: bool,
    pub(crate) plant: Option<Plant>,
    pub(crate) tally: Arc<Tally>,
}

/// How often what had to happen did: a model in which nothing happens keeps every promise.
#[derive(Default)]
pub(crate) struct Tally([AtomicU64; EVENTS.len()]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Created,
    HandedOver,
    TakenOverByStoreTime,
    TakenOverByWatching,
    AnswerLostAndAdopted,
    GrantGivenBack,
    Renewed,
    BeatAdopted,
    LostByItsClock,
    LostToAnother,
    ReleasedOverALateBeat,
    LandedLate,
}

pub(crate) const EVENTS: [Event; 12] = [
    Event::Created,
    Event::HandedOver,
    Event::TakenOverByStoreTime,
    Event::TakenOverByWatching,
    Event::AnswerLostAndAdopted,
    Event::GrantGivenBack,
    Event::Renewed,
    Event::BeatAdopted,
    Event::LostByItsClock,
    Event::LostToAnother,
    Event::ReleasedOverALateBeat,
    Event::LandedLate,
];

impl Tally {
    pub(crate) fn note(&self, event: Event) {
        self.0[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn of(&self, event: Event) -> u64 {
        self.0[event as usize].load(Ordering::Relaxed)
    }
}

/// What a step is. The number is the node's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Time passes, on the store's clock by one tick, on each node's by so many.
    Tick(Vec<Ticks>),
    /// A campaigner reads the record, and claims it if it is free.
    Look(usize, Sight),
    /// The request on its way gets to the store; its answer is on its way then.
    Land(usize),
    /// The same, and a client library's own retry: the answer is the retry's.
    LandTwice(usize),
    /// No answer comes in time: the request is lost or late, or its answer is lost.
    Unanswered(usize),
    /// The answer arrives.
    Answered(usize),
    /// The same for a claim whose caller has gone: what was won is given back.
    AnsweredToNobody(usize),
    /// The same body once more, on the same version.
    Resend(usize),
    /// A claim or release that is given up, by a crash as well.
    Abandon(usize),
    Beat(usize, Sight),
    /// The engine looks at the clock and finds the hold lost.
    Lose(usize),
    /// The work ends.
    End(usize),
    Crash(usize),
    /// A request that nobody waits for gets to the store.
    LandLate(usize),
    Remove,
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.nodes)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.ticks(state, actions);
        for (index, node) in state.nodes.iter().enumerate() {
            let write = match &node.phase {
                Phase::Idle => {
                    actions.extend(Sight::ALL.map(|sight| Action::Look(index, sight)));
                    continue;
                }
                Phase::Claim(write) | Phase::Release(write) => Some(write),
                Phase::Hold(hold) => {
                    actions.extend([Action::End(index), Action::Crash(index)]);
                    if hold.left == 0 {
                        actions.push(Action::Lose(index));
                    }
                    if hold.beat.is_none() && decisions::is_beat_due(hold.left) {
                        actions.extend(Sight::ALL.map(|sight| Action::Beat(index, sight)));
                    }
                    hold.beat.as_ref()
                }
            };
            match write.map(|write| write.copy) {
                Some(Copy::OnItsWay) => {
                    let steps = [Action::Land(index), Action::LandTwice(index), Action::Unanswered(index)];
                    actions.extend(steps);
                }
                Some(Copy::Applied(..) | Copy::Refused) => {
                    actions.extend([Action::Unanswered(index), Action::Answered(index)]);
                    if matches!(node.phase, Phase::Claim(_)) {
                        actions.push(Action::AnsweredToNobody(index));
                    }
                }
                Some(Copy::Unanswered) => actions.extend([Action::Resend(index), Action::Abandon(index)]),
                None => {}
            }
        }
        actions.extend((0..state.late.len()).map(Action::LandLate));
        if self.may_remove(state) {
            actions.push(Action::Remove);
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Tick(by) => state.tick(&by),
            Action::Look(node, sight) => self.look(&mut state, node, sight),
            Action::Land(node) => self.land(&mut state, node, false),
            Action::LandTwice(node) => self.land(&mut state, node, true),
            Action::Unanswered(node) => self.unanswered(&mut state, node),
            Action::Answered(node) => self.answered(&mut state, node, true),
            Action::AnsweredToNobody(node) => self.answered(&mut state, node, false),
            Action::Resend(node) => steps::resend(&mut state, node),
            Action::Abandon(node) => state.retire(node),
            Action::Beat(node, sight) => self.beat(&mut state, node, sight),
            Action::Lose(node) => self.lose(&mut state, node),
            Action::End(node) => self.end(&mut state, node),
            Action::Crash(node) => self.crash(&mut state, node),
            Action::LandLate(index) => self.land_late(&mut state, index),
            Action::Remove => {
                (state.record, state.is_removed) = (None, true);
                state.is_written_over();
            }
        }
        self.forget_what_cannot_land(&mut state);
        let state = state.into_normal_form();
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        vec![
            Property::always("I1 exclusion", |_, state: &State| state.is_removed || holders(state) <= 1),
            Property::always("I2 fences grow", |_, state: &State| state.broken != Some(Invariant::I2)),
            Property::always("I3 exactness", |_, state: &State| state.broken != Some(Invariant::I3)),
            Property::always("I4 loss is told", |_, state: &State| !state.nodes.iter().any(is_revived)),
            Property::always("I5 no false loss", |_, state: &State| state.broken != Some(Invariant::I5)),
            Property::always("I9 no write after the end", |_, state: &State| {
                state.broken != Some(Invariant::I9)
            }),
        ]
    }
}

fn holders(state: &State) -> usize {
    let is_live = |node: &&Node| matches!(&node.phase, Phase::Hold(hold) if decisions::is_live(hold.left));
    state.nodes.iter().filter(is_live).count()
}

/// Whoever was told "lost" stays right.
fn is_revived(node: &Node) -> bool {
    matches!(&node.phase, Phase::Hold(hold) if hold.was_lost && decisions::is_live(hold.left))
}

impl Protocol {
    /// Every way in which the clocks may go on.
    fn ticks(&self, state: &State, actions: &mut Vec<Action>) {
        let mut ways = vec![Vec::new()];
        for node in &state.nodes {
            let steps = (0..=2).filter(|by| (0..=self.slip).contains(&(node.slip + by - 1)));
            let longer = |way: &Vec<Ticks>| {
                let way = way.clone();
                steps.clone().map(move |by| [way.as_slice(), &[by]].concat()).collect::<Vec<_>>()
            };
            ways = ways.iter().flat_map(longer).collect();
        }
        actions.extend(ways.into_iter().map(Action::Tick));
    }

    /// An operator removes a record, once, while nothing is on its way that would make one: such a request, landing
    /// afterwards, would bring back a fence from before the removal.
    fn may_remove(&self, state: &State) -> bool {
        let is_settled = |node: &Node| matches!(node.phase, Phase::Idle | Phase::Hold(_));
        self.is_removable
            && !state.is_removed
            && state.record.is_some()
            && state.nodes.iter().all(is_settled)
            && !state.late.iter().any(|request| request.verb == Verb::Claim)
    }
}
