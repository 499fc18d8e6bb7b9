//! The store, and the network that owns what was sent: `backend::LeaseBackend::swap`, and what befalls it.

use super::plants::Plant;
use super::protocol::{Event, Protocol};
use super::state::{Copy, Invariant, Phase, Record, Request, State, Token, Verb, Write, number};

impl Protocol {
    /// Carries out `request`, if the record's version is the one that it expects; tells whether it was.
    fn swap(&self, state: &mut State, request: Request) -> bool {
        let Request { owner, verb, expected, expires, fence } = request;
        let current = if state.record.is_some() { Token::Current } else { Token::Absent };
        if expected != current && !self.ignores_tokens(verb) {
            return false;
        }
        let before = state.record.filter(|before| before.owner == owner);
        match (verb, before) {
            (Verb::Claim, _) if Some(fence) <= state.claimed => state.breaks(Invariant::I2),
            (Verb::Claim, _) => state.claimed = Some(fence),
            (_, None) => state.breaks(Invariant::I3),
            (_, Some(before)) if before.expires.is_none() => state.breaks(Invariant::I9),
            _ => {}
        }
        state.is_written_over();
        state.record = Some(Record { owner, expires, fence });
        true
    }

    fn ignores_tokens(&self, verb: Verb) -> bool {
        match self.plant {
            Some(Plant::RenewalWithoutTheToken) => verb == Verb::Beat,
            Some(Plant::ReleaseWithoutTheToken) => verb == Verb::Release,
            _ => false,
        }
    }

    /// The request that `node` waits for gets there.
    pub(crate) fn land(&self, state: &mut State, node: usize, is_sent_twice: bool) {
        let Some(request) = awaited(state, node) else { return };
        let is_applied = self.swap(state, request);
        let Some(write) = write(state, node) else { return };
        write.copy = if is_applied && !is_sent_twice {
            Copy::Applied(Token::Current, request.expires.unwrap_or(0).max(0))
        } else {
            Copy::Refused
        };
    }

    /// `node` waits no longer for what it has sent. That may land yet, if it has not.
    pub(crate) fn give_up(&self, state: &mut State, node: usize) {
        if let Some(request) = awaited(state, node)
            && state.late.len() < self.late
        {
            state.late.push(request);
        }
    }

    pub(crate) fn land_late(&self, state: &mut State, index: usize) {
        let request = state.late.remove(index);
        if self.swap(state, request) {
            self.tally.note(Event::LandedLate);
        }
    }

    /// What expects a version that has been written over makes no difference any more.
    pub(crate) fn forget_what_cannot_land(&self, state: &mut State) {
        let current = if state.record.is_some() { Token::Current } else { Token::Absent };
        state.late.retain(|request| request.expected == current || self.ignores_tokens(request.verb));
        if self.plant != Some(Plant::WatchedSinceAnyVersion) {
            for node in &mut state.nodes {
                node.watched.take_if(|(token, _)| *token == Token::Past);
            }
        }
    }
}

/// The write of `node` that is under way.
pub(crate) fn write(state: &mut State, node: usize) -> Option<&mut Write> {
    match &mut state.nodes[node].phase {
        Phase::Idle => None,
        Phase::Claim(write) | Phase::Release(write) => Some(write),
        Phase::Hold(hold) => hold.beat.as_mut(),
    }
}

/// The request of `node` that has not got to the store yet.
fn awaited(state: &mut State, node: usize) -> Option<Request> {
    let verb = match &state.nodes[node].phase {
        Phase::Claim(_) => Verb::Claim,
        Phase::Release(_) => Verb::Release,
        _ => Verb::Beat,
    };
    let Write { expected, expires, fence, copy, .. } = *write(state, node)?;
    (copy == Copy::OnItsWay).then_some(Request { owner: number(node), verb, expected, expires, fence })
}
