//! The parent: starts the processes, troubles them by the plan, ends them in order, and asks the judge.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use super::child::{self, Told};
use super::judge::{Evidence, Verdict, judge};
use super::node::{Node, Process, odd};
use super::plan::{Aim, Plan, Step, Trouble};
use super::plant::Plant;
use super::proxy::{Proxy, Weather};
use super::register::Register;
use super::{POLICY, clock, line, span};
use crate::gcs_double::{Bucket, Double, Generations};
use crate::millis;

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Order {
    /// The binary `chaos`, which is run again as each of the processes.
    pub program: PathBuf,
    /// Decides what befalls whom.
    pub seed: u64,
    /// How long there is trouble.
    pub length: Duration,
    /// How many processes run side by side.
    pub nodes: usize,
    /// A mistake on purpose. The run ends with the first violation.
    pub plant: Option<Plant>,
}

/// How often what was done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    pub(super) kills: usize,
    pub(super) stops: usize,
    pub(super) cuts: usize,
    pub(super) stalls: usize,
    pub(super) delays: usize,
    pub(super) swallows: usize,
    /// Of all of these, those that met the present holder.
    pub(super) at_holder: usize,
    /// Pieces of the network's traffic that met with some weather.
    pub(super) touched: u64,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    pub(super) order: Order,
    pub(super) done: Done,
    pub(super) verdict: Verdict,
    /// Where the evidence is; nowhere when nothing was broken.
    pub(super) folder: Option<PathBuf>,
}

/// No more processes than this many fewer are in trouble at once, so that somebody can have the lock.
const SPARED: usize = 2;

/// Runs `order`.
///
/// # Errors
/// Those of the machine: no port, no process, no file.
pub fn run(order: &Order) -> io::Result<Outcome> {
    let folder = std::env::temp_dir().join(format!("tako-chaos-{}-{}", std::process::id(), clock()));
    fs::create_dir(&folder)?;
    // On this thread: the processes die with the one that started them.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (done, verdict) = runtime.block_on(async {
        let mut parent = Parent::new(order, &folder).await?;
        parent.trouble().await?;
        if order.plant.is_none_or(|plant| plant == Plant::Leaky) {
            if !order.length.is_zero() {
                parent.calm_down().await?;
            }
            parent.end().await?;
        }
        let mut verdict = parent.judged()?;
        verdict.violations.append(&mut parent.violations);
        parent.done.touched = parent.nodes.iter().map(|node| node.proxy.touched()).sum();
        io::Result::Ok((parent.done, verdict))
    })?;
    let is_clean = verdict.violations.is_empty() || order.plant.is_some();
    if is_clean {
        fs::remove_dir_all(&folder)?;
    }
    let folder = Some(folder).filter(|_| !is_clean);
    Ok(Outcome { order: order.clone(), done, verdict, folder })
}

struct Parent<'a> {
    order: &'a Order,
    folder: &'a Path,
    nodes: Vec<Node>,
    register: Register,
    bucket: Bucket,
    kills: BTreeMap<(usize, u32), u64>,
    done: Done,
    violations: Vec<String>,
    _store: Double,
}

impl Parent<'_> {
    async fn new<'a>(order: &'a Order, folder: &'a Path) -> io::Result<Parent<'a>> {
        let store = Double::start();
        let bucket = store.bucket(child::BUCKET);
        bucket.generations(Generations::UpAndDown);
        if order.plant == Some(Plant::CarelessStore) {
            bucket.neglect();
        }
        let register = Register::start(order.plant == Some(Plant::OpenRegister)).await?;
        File::create(child::witness(folder))?;
        File::create(child::ledger(folder))?;
        let mut nodes = Vec::new();
        for node in 0..order.nodes {
            let proxy = Proxy::start(store.address()).await?;
            let told = Told {
                node,
                life: 0,
                seed: order.seed,
                endpoint: format!("http://{}", proxy.address),
                register: register.address,
                folder: folder.to_owned(),
                plant: order.plant,
            };
            let mut node = Node { told, proxy, process: None, trouble: None };
            node.start(&order.program)?;
            nodes.push(node);
        }
        Ok(Parent {
            order,
            folder,
            nodes,
            register,
            bucket,
            kills: BTreeMap::new(),
            done: Done::default(),
            violations: Vec::new(),
            _store: store,
        })
    }

    /// One step after another, until the time is over; with a plant, until something is found.
    async fn trouble(&mut self) -> io::Result<()> {
        // First they all get to work.
        let patience = Instant::now() + Duration::from_secs(30);
        while self.register.acts().len() < 10 && Instant::now() < patience {
            self.pass(millis(20)).await?;
        }
        let end = Instant::now() + self.order.length;
        for step in Plan::new(self.order.seed, self.order.nodes) {
            self.pass(step.pause).await?;
            if Instant::now() >= end {
                break;
            }
            if self.order.plant.is_some() && !self.judged()?.violations.is_empty() {
                break;
            }
            self.take(step).await?;
        }
        Ok(())
    }

    /// Lets time pass, in which troubles end.
    async fn pass(&mut self, pause: Duration) -> io::Result<()> {
        let until = Instant::now() + pause;
        loop {
            let now = Instant::now();
            for node in &mut self.nodes {
                node.recover(now, &self.order.program)?;
                self.violations.extend(node.oddities()?);
            }
            if now >= until {
                return Ok(());
            }
            sleep(millis(10).min(until - now)).await;
        }
    }

    async fn take(&mut self, step: Step) -> io::Result<()> {
        while self.free().len() <= SPARED {
            self.pass(millis(20)).await?;
        }
        let patience = Instant::now() + Duration::from_secs(3);
        let mut holder = self.holder();
        while step.aim == Aim::Holder && holder.is_none() && Instant::now() < patience {
            self.pass(millis(5)).await?;
            holder = self.holder();
        }
        let free = self.free();
        let target = match step.aim {
            Aim::All => {
                for number in free {
                    self.nodes[number].befall(step);
                }
                self.count(step.trouble);
                return Ok(());
            }
            Aim::Holder => holder.unwrap_or(free[0]),
            Aim::Node(number) => *free.iter().find(|each| **each >= number).unwrap_or(&free[0]),
        };
        self.done.at_holder += usize::from(Some(target) == holder);
        self.count(step.trouble);
        let node = &mut self.nodes[target];
        match step.trouble {
            Trouble::Kill => {
                self.kills.insert((target, node.told.life), clock());
                node.kill()?;
            }
            Trouble::Stop => node.process.as_ref().map_or(Ok(()), |process| process.signal(Signal::STOP))?,
            Trouble::Network(_) => {}
        }
        node.befall(step);
        Ok(())
    }

    fn count(&mut self, trouble: Trouble) {
        let count = match trouble {
            Trouble::Kill => &mut self.done.kills,
            Trouble::Stop => &mut self.done.stops,
            Trouble::Network(Weather::Cut) => &mut self.done.cuts,
            Trouble::Network(Weather::Swallow) => &mut self.done.swallows,
            Trouble::Network(Weather::Delay(_)) => &mut self.done.delays,
            Trouble::Network(Weather::Stall { .. } | Weather::Clear) => &mut self.done.stalls,
        };
        *count += 1;
    }

    /// Those in no trouble.
    fn free(&self) -> Vec<usize> {
        let is_free = |number: &usize| self.nodes[*number].trouble.is_none();
        (0..self.nodes.len()).filter(is_free).collect()
    }

    /// Who acted just now, if it is in no trouble.
    fn holder(&self) -> Option<usize> {
        let (hold, at) = self.register.last()?;
        let node = &self.nodes[hold.node];
        let is_present = span(clock() - at) < millis(300) && node.told.life == hold.life;
        (is_present && node.trouble.is_none()).then_some(hold.node)
    }

    /// All troubles end, and the lock goes round once more.
    async fn calm_down(&mut self) -> io::Result<()> {
        let now = Instant::now();
        for node in &mut self.nodes {
            node.trouble = node.trouble.map(|(trouble, _)| (trouble, now));
        }
        self.pass((POLICY.ttl + POLICY.guard) * 3 / 2).await
    }

    /// Each process ends in order, and leaves nothing behind.
    async fn end(&mut self) -> io::Result<()> {
        for node in &mut self.nodes {
            node.process.as_mut().map_or(Ok(()), Process::end)?;
        }
        let patience = Instant::now() + Duration::from_secs(20);
        for node in &mut self.nodes {
            let number = node.told.node;
            let Some(mut process) = node.process.take() else { continue };
            let status = loop {
                match process.ended()? {
                    None if Instant::now() < patience => sleep(millis(20)).await,
                    status => break status,
                }
            };
            // Its last words are on their way.
            sleep(millis(50)).await;
            let said = process.said();
            if !status.is_some_and(|status| status.success())
                || said.last().is_none_or(|word| word != "ended")
            {
                self.violations.push(format!("9: process {number} did not end in order: {status:?}"));
            }
            self.violations.extend(odd(number, said));
        }
        let record = self.bucket.record("leases/run-gallery-test-reindex");
        if record.as_ref().is_none_or(|record| !record.is_released()) {
            self.violations.push(format!("9: in the end the record is not free: {record:?}"));
        }
        Ok(())
    }

    /// The acts first: whatever led to them stands in the file by then.
    fn judged(&self) -> io::Result<Verdict> {
        let acts = self.register.acts();
        let text = fs::read_to_string(child::ledger(self.folder))?;
        let (lines, unreadable) = line::read(&text);
        Ok(judge(&Evidence { lines, unreadable, acts, kills: self.kills.clone() }))
    }
}
