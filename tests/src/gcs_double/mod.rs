//! A Google Cloud Storage of the tests' own: the part of its HTTP interface that a lease uses, on loopback, with
//! the faults that the service is known for.
//!
//! ```
//! # use tako_lock_tests::gcs_double::{Double, Fault, Kind};
//! let double = Double::start();
//! let bucket = double.bucket("demo-tako");
//! // The second heartbeat is written, and its answer lost.
//! bucket.on(Kind::Beat, 1..2, Fault::ResetOnceDone);
//! assert_eq!(bucket.counts().beats, 0);
//! ```
//! It speaks for itself only: `gcs_parity` shows that it answers as the emulator does.

mod fault;
mod history;
mod http;
mod serve;
mod shelf;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tako::backend::Record;
use tokio::sync::oneshot;
use tokio::time::Instant;

use self::fault::Rule;
pub use self::fault::{Fault, Kind};
use self::history::History;
pub use self::history::{Counts, Entry, log};
pub use self::http::{Answer, send};
pub use self::shelf::Generations;
use self::shelf::{Shelf, Upload};

/// The server. It has a thread of its own, and ends when dropped.
#[derive(Debug)]
pub struct Double {
    address: SocketAddr,
    floor: Arc<Floor>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Floor {
    started: Instant,
    buckets: Mutex<BTreeMap<String, Bucket>>,
}

impl Double {
    /// A server without buckets, on a free port.
    ///
    /// # Panics
    /// When there is no port or no thread to be had.
    pub fn start() -> Double {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        let floor = Arc::new(Floor { started: Instant::now(), buckets: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let served = floor.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(serve::serve(listener, served, stopped));
        });
        Double { address, floor, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients are to be pointed.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bucket `name`, made when it is not there.
    pub fn bucket(&self, name: &str) -> Bucket {
        self.floor.make(name)
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed; what it broke the test has seen.
            let _ = thread.join();
        }
    }
}

impl Floor {
    fn bucket(&self, name: &str) -> Option<Bucket> {
        lock(&self.buckets).get(name).cloned()
    }

    fn make(&self, name: &str) -> Bucket {
        let make = || Bucket { started: self.started, state: Arc::new(Mutex::new(State::new(name))) };
        lock(&self.buckets).entry(name.to_owned()).or_insert_with(make).clone()
    }
}

/// One bucket. Clones are the same.
#[derive(Debug, Clone)]
pub struct Bucket {
    started: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    shelf: Shelf,
    rules: Vec<Rule>,
    history: History,
}

impl State {
    fn new(name: &str) -> State {
        State { shelf: Shelf::new(name), rules: Vec::new(), history: History::default() }
    }
}

impl Bucket {
    /// From now on, `fault` befalls the requests of this kind with these numbers, counted from zero over the
    /// bucket's whole life.
    pub fn on(&self, kind: Kind, which: Range<usize>, fault: Fault) -> &Bucket {
        self.state().rules.push(Rule { kind, which, fault });
        self
    }

    /// Forgets all rules.
    pub fn heal(&self) {
        self.state().rules.clear();
    }

    /// Takes one mutation of an object in so much time, and answers 429 to the rest.
    pub fn limit(&self, pace: Duration) {
        self.state().shelf.pace = pace;
    }

    /// How generations follow each other from now on.
    pub fn generations(&self, generations: Generations) {
        self.state().shelf.generations = generations;
    }

    /// Sets a retention policy: objects are made, but not written over.
    pub fn retain(&self) {
        self.state().shelf.retains = true;
    }

    /// Deletes the bucket.
    pub fn close(&self) {
        self.state().shelf.is_gone = true;
    }

    /// Stops looking at conditions.
    pub fn neglect(&self) {
        self.state().shelf.is_careless = true;
    }

    /// Lets the server's clock show so many milliseconds more than the host's.
    pub fn set_clock_ahead(&self, milliseconds: i64) {
        self.state().shelf.ahead = milliseconds;
    }

    /// Deletes an object, as an operator would. Tells whether it was there.
    pub fn remove(&self, object: &str) -> bool {
        self.state().shelf.remove(object)
    }

    /// Writes an object, as an operator would.
    pub fn put(&self, object: &str, body: &[u8]) {
        let upload = Upload { name: object.to_owned(), body: body.to_vec(), ..Upload::default() };
        self.state().shelf.put(&upload, 0);
    }

    /// What an object holds.
    pub fn body(&self, object: &str) -> Option<Vec<u8>> {
        self.state().shelf.object(object).map(|object| object.body.clone())
    }

    /// The record in an object.
    ///
    /// # Panics
    /// When it holds something else.
    pub fn record(&self, object: &str) -> Option<Record> {
        self.body(object).map(|body| Record::from_json(&body).expect("a record"))
    }

    /// The metadata of an object, as an answer bears it; null when there is none.
    pub fn metadata(&self, object: &str) -> serde_json::Value {
        self.state().shelf.metadata(object)
    }

    /// Requests so far, by kind.
    pub fn counts(&self) -> Counts {
        self.state().history.counts()
    }

    /// Every request so far.
    pub fn history(&self) -> Vec<Entry> {
        self.state().history.entries.clone()
    }

    /// Forgets all requests so far; those that come after count from zero.
    pub fn forget(&self) {
        self.state().history.entries.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
