//! The network between a process and the store. Once a request was sent it belongs to the network: what becomes of
//! it is decided there and then, and no caller can recall it.

use std::sync::Arc;

use tako::backend::{BackendError, ErrorKind, Key, LeaseBackend, Record, StoreTime, Stored, Swap, Token};
use tokio::sync::oneshot;

use super::calendar::{MILLISECOND, SECOND, lock};
use super::chance::Chance;
use super::event::{Event, Verb};
use super::plan::Fault;
use super::process::Process;
use super::store::{Store, Swapping, Written};

/// One process's way to the store.
pub(crate) struct Link(pub(crate) Arc<Process>);

/// What becomes of one request.
struct Fate {
    fault: Option<Fault>,
    /// When it arrives, if it does.
    arrives: Option<u64>,
    /// How long the answer takes, if one comes.
    back: Option<u64>,
    disguise: Disguise,
}

enum Disguise {
    None,
    /// Not even carried out.
    Error(ErrorKind),
    /// Carried out.
    ErrorOnceApplied(ErrorKind),
    Refused,
}

impl Fate {
    fn decide(process: &Process, is_write: bool, is_aimed: bool) -> Fate {
        let plan = &process.simulation.plan;
        let now = process.simulation.calendar.now();
        let mut luck = lock(&process.luck);
        let (there, back) = (latency(&mut luck, plan.latency), latency(&mut luck, plan.latency));
        let whole =
            Fate { fault: None, arrives: Some(now + there), back: Some(back), disguise: Disguise::None };
        if process.simulation.is_quiet() {
            return whole;
        }
        let cut = |way: usize| process.cut[way].load(std::sync::atomic::Ordering::Relaxed);
        if now < cut(0) {
            return Fate { fault: Some(Fault::Partition), arrives: None, back: None, ..whole };
        }
        if now < cut(1) {
            return Fate { fault: Some(Fault::Partition), back: None, ..whole };
        }
        let aim = if is_aimed { plan.aim } else { 1 };
        let hit = Fault::OF_REQUESTS.into_iter().find(|fault| luck.hits(plan.rates[*fault as usize] * aim));
        let whole = Fate { fault: hit, ..whole };
        match hit {
            Some(Fault::Delay) => {
                let late = luck.spread(100 * MILLISECOND, 20 * SECOND);
                if luck.once_in(2) {
                    Fate { arrives: Some(now + there + late), ..whole }
                } else {
                    Fate { back: Some(back + late), ..whole }
                }
            }
            Some(Fault::LostRequest) => Fate { arrives: None, back: None, ..whole },
            Some(Fault::LostReply) => Fate { back: None, ..whole },
            Some(Fault::LandsLate) => {
                let late = luck.between(3 * SECOND, 45 * SECOND);
                Fate { arrives: Some(now + there + late), back: None, ..whole }
            }
            Some(Fault::Fails) => Fate { disguise: Disguise::Error(ErrorKind::Unavailable), ..whole },
            Some(Fault::Throttled) => Fate { disguise: Disguise::Error(ErrorKind::Throttled), ..whole },
            Some(Fault::FailsOnceApplied) => {
                let kind = luck.pick(&[ErrorKind::Unavailable, ErrorKind::UnknownOutcome]);
                Fate { disguise: Disguise::ErrorOnceApplied(kind), ..whole }
            }
            Some(Fault::Disguised) if is_write => Fate { disguise: Disguise::Refused, ..whole },
            _ => Fate { fault: None, ..whole },
        }
    }
}

fn latency(luck: &mut Chance, (least, most): (u64, u64)) -> u64 {
    luck.between(least, most)
}

type Answer<T> = Result<T, BackendError>;
/// What is noted of an answer, and which answers count.
type Heard<T> = (Event, fn(&T) -> bool);

impl Link {
    /// Sends a request; `carry_out` is what the store does with it.
    async fn request<T: Send + 'static>(
        &self,
        fate: Fate,
        refused: Option<T>,
        carry_out: impl FnOnce(&Process, u64) -> Answer<T> + Send + 'static,
        heard: Option<Heard<T>>,
    ) -> Answer<T> {
        let (answer, receiver) = oneshot::channel();
        let process = self.0.clone();
        let sent = process.simulation.calendar.now();
        if let Some(arrives) = fate.arrives {
            let calendar = process.simulation.calendar.clone();
            calendar.at(arrives, move || {
                let truth = match fate.disguise {
                    Disguise::Error(kind) => Err(BackendError::new(kind, "the store is failing")),
                    _ => carry_out(&process, sent),
                };
                let Some(back) = fate.back else { return };
                let now = process.simulation.calendar.now();
                let is_plain = fate.fault.is_none_or(|fault| fault == Fault::Delay);
                let told = match (fate.disguise, refused) {
                    (Disguise::ErrorOnceApplied(kind), _) => Err(BackendError::new(kind, "the store failed")),
                    (Disguise::Refused, Some(refused)) => Ok(refused),
                    _ => truth,
                };
                process.simulation.calendar.clone().at(now + back, move || {
                    let took = process.simulation.calendar.now() - sent;
                    if let (Some((heard, is_good)), Ok(answer)) = (heard, &told)
                        && is_plain
                        && took < 2 * SECOND
                        && is_good(answer)
                    {
                        process.simulation.note(heard);
                    }
                    // The caller may have gone.
                    let _ = answer.send(told);
                });
            });
        }
        match receiver.await {
            Ok(answer) => answer,
            // No answer ever comes. The engine has a cap on its patience.
            Err(_) => std::future::pending().await,
        }
    }

    fn sent(&self, place: u8, verb: Verb, owner: u32, expires: u64, fault: Option<Fault>) {
        let Process { number, simulation, .. } = &*self.0;
        let local = self.0.now().as_nanos();
        simulation.note(Event::Sent { process: *number, lock: place, verb, owner, expires, local, fault });
    }
}

impl LeaseBackend for Link {
    async fn load(&self, key: &Key) -> Answer<Option<Stored>> {
        let place = super::place(key.lock());
        let fate = Fate::decide(&self.0, false, false);
        self.sent(place, Verb::Load, 0, 0, fate.fault);
        let carry_out = move |process: &Process, _| Ok(lock(&process.simulation.store).load(place));
        self.request(fate, None, carry_out, None).await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Answer<Swap> {
        let place = super::place(key.lock());
        let Process { number: process, simulation, .. } = &*self.0;
        let (owner, verb) = {
            let mut history = lock(&simulation.history);
            let owner = history.owner(&record.owner);
            (owner, history.checks.verb(owner, record.expires.as_millis()))
        };
        let fate = Fate::decide(&self.0, true, verb != Verb::Claim);
        let (expires, fence) = (record.expires.as_millis(), record.fence.get());
        self.sent(place, verb, owner, expires, fate.fault);
        let creations = lock(&simulation.store).creations(place);
        let swapping = Swapping { expected: expected.cloned(), record: record.clone(), creations };
        let (number, sent) = (*process, simulation.calendar.now());
        let carry_out = move |process: &Process, sent: u64| {
            let simulation = &process.simulation;
            let now = simulation.calendar.now();
            let written = lock(&simulation.store).swap(now, place, &swapping);
            let is_applied = matches!(written, Written::Applied { .. });
            simulation.note(Event::Landed {
                process: number,
                lock: place,
                verb,
                owner,
                expires,
                fence,
                sent,
                is_applied,
            });
            match written {
                Written::Applied { token } => {
                    let at = simulation.plan.is_dated.then(|| Store::time(now));
                    Ok(Swap::Applied { token, at })
                }
                Written::Refused => Ok(Swap::Refused),
                Written::Throttled => {
                    simulation.count(Fault::Throttled);
                    Err(BackendError::new(ErrorKind::Throttled, "one write a second"))
                }
            }
        };
        let heard = Event::Heard { process: number, lock: place, verb, owner, sent };
        self.request(fate, Some(Swap::Refused), carry_out, Some((heard, |swap| *swap != Swap::Refused))).await
    }

    async fn now(&self) -> Answer<StoreTime> {
        let fate = Fate::decide(&self.0, false, false);
        self.sent(0, Verb::Clock, 0, 0, fate.fault);
        let carry_out = |process: &Process, _| Ok(process.simulation.store_time());
        self.request(fate, None, carry_out, None).await
    }
}
