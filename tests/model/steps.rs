//! What a node does, a function for each verb of the engine.

use super::decisions::{self, Refused, Sight};
use super::plants::Plant;
use super::protocol::{Event, Protocol};
use super::state::{Copy, Hold, Invariant, Phase, Record, State, Token, Write, number};
use super::store::write;

/// How a write came out (`write::Outcome`).
enum Outcome {
    /// With what the store's answer says is left of it, unless the answer was lost.
    Landed(Token, Option<i8>),
    Earlier,
    Others,
}

impl Protocol {
    /// `engine/campaign.rs`: reads the record and claims it if it is free. The read takes no time: the model lets the
    /// claim wait on its way instead, and a claim on a version that is not there any more is refused.
    pub(crate) fn look(&self, state: &mut State, index: usize, sight: Sight) {
        let record = state.record;
        let node = &mut state.nodes[index];
        let age = match node.watched {
            Some((Token::Current, age)) => age,
            Some((_, age)) if self.plant == Some(Plant::WatchedSinceAnyVersion) => age,
            _ => 0,
        };
        node.watched = record.map(|_| (Token::Current, age));
        let Some((expected, fence)) = decisions::judge(record, node.watched, sight, self.plant) else {
            return;
        };
        let by_store_time = decisions::judge(record, None, sight, self.plant).is_some();
        self.tally.note(match record {
            None => Event::Created,
            Some(Record { expires: None, .. }) => Event::HandedOver,
            Some(_) if by_store_time => Event::TakenOverByStoreTime,
            Some(_) => Event::TakenOverByWatching,
        });
        node.watched = None;
        node.phase = Phase::Claim(send(expected, Some(sight.expiry()), fence, sight.body_error()));
    }

    /// `engine/write.rs`: the attempt is over, and nobody knows what became of it.
    pub(crate) fn unanswered(&self, state: &mut State, index: usize) {
        self.give_up(state, index);
        match &mut state.nodes[index].phase {
            Phase::Claim(write) if self.plant == Some(Plant::TimeoutTakenForSuccess) => {
                let write = *write;
                self.won(state, index, &write, Token::Current, None, true);
            }
            Phase::Claim(write) | Phase::Release(write) => write.copy = Copy::Unanswered,
            // `engine/heartbeat.rs`: one try for each body, and the next is dated anew.
            Phase::Hold(hold) => {
                if let Some(write) = hold.beat.take() {
                    let copy = Copy::Unanswered;
                    hold.in_doubt = Some(Write { expected: Token::Past, sent: 0, copy, ..write });
                }
            }
            Phase::Idle => {}
        }
    }

    /// `Write::swapped` and `Write::loaded`. The read that follows a refusal takes no time; one that fails is an
    /// attempt that went unanswered.
    fn outcome(&self, state: &State, index: usize, write: &Write) -> Outcome {
        if let Copy::Applied(token, left) = write.copy {
            return Outcome::Landed(token, Some(left));
        }
        match (self.plant, decisions::after_refusal(number(index), write, state.record)) {
            (Some(Plant::RefusalTakenForSuccess), _) => Outcome::Landed(Token::Current, None),
            (Some(Plant::RefusalTakenForLoss), _) | (_, Refused::Others) => Outcome::Others,
            (_, Refused::Ours) => Outcome::Landed(Token::Current, None),
            (_, Refused::Earlier) => Outcome::Earlier,
        }
    }

    pub(crate) fn answered(&self, state: &mut State, index: usize, is_wanted: bool) {
        let Some(write) = write(state, index).map(|write| *write) else { return };
        let outcome = self.outcome(state, index, &write);
        match state.nodes[index].phase {
            Phase::Claim(_) => match outcome {
                Outcome::Landed(token, left) => self.won(state, index, &write, token, left, is_wanted),
                Outcome::Earlier | Outcome::Others => state.retire(index),
            },
            Phase::Release(_) => match (outcome, state.record) {
                (Outcome::Earlier, Some(_)) => {
                    self.tally.note(Event::ReleasedOverALateBeat);
                    retarget(state, index);
                }
                (Outcome::Others, Some(_)) if self.plant == Some(Plant::ReleaseOverAnothersRecord) => {
                    retarget(state, index);
                }
                _ => state.retire(index),
            },
            Phase::Hold(_) => self.beaten(state, index, &write, &outcome),
            Phase::Idle => {}
        }
    }

    /// `engine/claim.rs`: granted. Work starts unless nobody wants it any more, or it came too late.
    fn won(
        &self,
        state: &mut State,
        index: usize,
        write: &Write,
        token: Token,
        left: Option<i8>,
        is_wanted: bool,
    ) {
        let &Write { expires, fence, .. } = write;
        let until = decisions::deadline(write, left, self.plant);
        let is_useful =
            until.is_some_and(decisions::is_useful) || self.plant == Some(Plant::LateGrantStarted);
        let (Some(until), Some(expires), true, true) = (until, expires, is_useful, is_wanted) else {
            self.tally.note(Event::GrantGivenBack);
            state.nodes[index].phase = Phase::Release(send(token, None, fence, None));
            return;
        };
        if left.is_none() {
            self.tally.note(Event::AnswerLostAndAdopted);
        }
        if Some(fence) <= state.started {
            state.breaks(Invariant::I2);
        }
        state.started = state.started.max(Some(fence));
        let hold = Hold { expires, token, fence, left: until, was_lost: false, beat: None, in_doubt: None };
        state.nodes[index].phase = Phase::Hold(hold);
    }

    /// `engine/heartbeat.rs`: the next body, dated anew. A hold never writes the same `expires` twice.
    pub(crate) fn beat(&self, state: &mut State, index: usize, sight: Sight) {
        let Phase::Hold(hold) = &mut state.nodes[index].phase else { return };
        let is_spared = matches!(self.plant, Some(Plant::BeatPastTheDeadline | Plant::NoLatch));
        let expires = sight.expiry();
        let is_new =
            hold.expires != expires && hold.in_doubt.is_none_or(|write| write.expires != Some(expires));
        if !is_new || !(decisions::is_live(hold.left) || is_spared) {
            return;
        }
        hold.beat = Some(send(hold.token, Some(expires), hold.fence, sight.body_error()));
        if hold.was_lost && self.plant == Some(Plant::BeatPastTheDeadline) {
            state.breaks(Invariant::I9);
        }
    }

    fn beaten(&self, state: &mut State, index: usize, write: &Write, outcome: &Outcome) {
        let record = state.record;
        let Phase::Hold(hold) = &mut state.nodes[index].phase else { return };
        hold.beat = None;
        let until = match (outcome, record) {
            (Outcome::Landed(token, left), _) => {
                (hold.token, hold.expires) = (*token, write.expires.unwrap_or(0));
                self.tally.note(if left.is_some() { Event::Renewed } else { Event::BeatAdopted });
                decisions::deadline(write, *left, self.plant)
            }
            (Outcome::Earlier, Some(Record { expires: Some(expires), .. })) => {
                (hold.token, hold.expires) = (Token::Current, expires);
                let landed = hold.in_doubt.filter(|body| body.expires == Some(expires));
                landed.and_then(|body| decisions::deadline(&body, None, self.plant))
            }
            _ => {
                if record.is_some_and(|record| record.owner == number(index) && record.expires.is_some()) {
                    state.breaks(Invariant::I5);
                }
                self.tally.note(Event::LostToAnother);
                state.retire(index);
                return;
            }
        };
        // A write whose validity nobody can tell confirms nothing.
        let Some(until) = until else { return };
        hold.in_doubt = None;
        match decisions::extend(hold.left, until) {
            Some(left) => {
                hold.left = left;
                hold.was_lost |= left == 0;
            }
            None if self.plant == Some(Plant::NoLatch) => hold.left = until,
            None => self.lose(state, index),
        }
    }

    /// `engine/loss.rs`: nothing is sent for this hold any more. Its work may still be running: it has been told.
    pub(crate) fn lose(&self, state: &mut State, index: usize) {
        self.tally.note(Event::LostByItsClock);
        self.give_up(state, index);
        state.retire(index);
    }

    /// `engine/release.rs`: the work has ended. What is on its way is abandoned, and the lease given back.
    pub(crate) fn end(&self, state: &mut State, index: usize) {
        let Phase::Hold(hold) = &state.nodes[index].phase else { return };
        let (token, fence, left) = (hold.token, hold.fence, hold.left);
        let is_ended = decisions::end(left);
        if !is_ended && self.plant != Some(Plant::ReleaseAfterTheLoss) {
            self.lose(state, index);
            return;
        }
        self.give_up(state, index);
        state.nodes[index].phase = Phase::Release(send(token, None, fence, None));
        if !is_ended {
            state.breaks(Invariant::I9);
        }
    }

    /// Nothing is left of it but what the network owns. Started anew, it is like any node that has just looked away.
    pub(crate) fn crash(&self, state: &mut State, index: usize) {
        self.give_up(state, index);
        state.retire(index);
    }
}

/// `Write::send`, once more.
pub(crate) fn resend(state: &mut State, index: usize) {
    if let Some(write) = write(state, index) {
        (write.sent, write.copy) = (0, Copy::OnItsWay);
    }
}

/// `Write::retarget`
fn retarget(state: &mut State, index: usize) {
    if let Some(write) = write(state, index) {
        *write = send(Token::Current, None, write.fence, None);
    }
}

fn send(expected: Token, expires: Option<i8>, fence: u8, error: Option<i8>) -> Write {
    Write { expected, expires, fence, error, made: 0, sent: 0, copy: Copy::OnItsWay }
}
