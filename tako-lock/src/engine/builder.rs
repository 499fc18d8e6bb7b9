//! How an engine is put together. It has no option for the lease policy, and will not have one in v0.

use std::sync::Arc;

use super::Engine;
use super::store::Remote;
use crate::backend::LeaseBackend;
use crate::error::ConfigError;
use crate::name::Namespace;
use crate::policy::Policy;
use crate::world::{Ambient, OwnThread, World};

/// The longest label, in bytes.
pub(super) const MAX_LABEL: usize = 95;

/// Puts an engine together; see [`Engine::builder`].
#[must_use = "a builder builds nothing until `build`"]
pub struct EngineBuilder<B> {
    backend: B,
    app: String,
    env: String,
    label: String,
    place: Place,
    policy: Policy,
}

enum Place {
    OwnThread,
    Ambient,
    #[cfg(feature = "simulation")]
    World(Arc<dyn World>),
}

impl<B: LeaseBackend> EngineBuilder<B> {
    pub(super) fn new(backend: B) -> EngineBuilder<B> {
        EngineBuilder {
            backend,
            app: "app".into(),
            env: "dev".into(),
            label: crate::config::host_label(),
            place: Place::OwnThread,
            policy: Policy::V0,
        }
    }

    /// The app whose locks these are: 1 to 64 of `a-z`, `0-9`, `-`, no `-` first, last or doubled. Default: `app`.
    pub fn app(mut self, app: impl Into<String>) -> Self {
        self.app = app.into();
        self
    }

    /// The environment: locks of `pr-42` never contend with those of `prod`. The same rules. Default: `dev`.
    pub fn env(mut self, env: impl Into<String>) -> Self {
        self.env = env.into();
        self
    }

    /// What people read as the holder in a record, in logs and in errors; it decides nothing. Default: host name and
    /// process id. Cut off after 95 bytes.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Runs store requests and heartbeats on a thread of the engine's own, so that work that blocks the caller's
    /// runtime cannot starve them, and counts the time that the machine is suspended. The default.
    pub fn on_own_thread(mut self) -> Self {
        self.place = Place::OwnThread;
        self
    }

    /// Runs everything on the tokio runtime that calls, which must have its timer enabled. For tests, where paused
    /// time is then exact, and for stores in the same process: a blocked runtime sends no heartbeats, and time in
    /// suspend does not count.
    pub fn on_callers_runtime(mut self) -> Self {
        self.place = Place::Ambient;
        self
    }

    /// Runs the engine in a simulated world.
    #[cfg(feature = "simulation")]
    pub fn in_world(mut self, world: Arc<dyn World>) -> Self {
        self.place = Place::World(world);
        self
    }

    /// Runs the engine under a policy of the test's own.
    #[cfg(feature = "simulation")]
    pub fn under_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The engine.
    ///
    /// # Errors
    /// The app or the environment cannot be part of a path, or the engine's thread could not be started.
    pub fn build(self) -> Result<Engine, ConfigError> {
        let namespace = Namespace::new(&self.app, &self.env).map_err(ConfigError::new)?;
        let world: Arc<dyn World> = match self.place {
            Place::Ambient => Arc::new(Ambient::new()),
            Place::OwnThread => Arc::new(own_thread()?),
            #[cfg(feature = "simulation")]
            Place::World(world) => world,
        };
        Ok(over(Arc::new(self.backend), world, self.policy, namespace, &self.label))
    }
}

pub(super) fn own_thread() -> Result<OwnThread, ConfigError> {
    OwnThread::start()
        .map_err(|error| ConfigError::one(format!("the engine's thread could not be started: {error}")))
}

/// The engine over a backend.
pub(super) fn over<B: LeaseBackend>(
    backend: Arc<B>,
    world: Arc<dyn World>,
    policy: Policy,
    namespace: Namespace,
    label: &str,
) -> Engine {
    let store = Remote { backend, world: world.clone(), policy };
    Engine::assemble(world, Box::new(store), policy, namespace, readable(label))
}

/// One line, not too long, never empty.
fn readable(label: &str) -> String {
    let mut text: String = label.chars().filter(|next| !next.is_control()).collect();
    text.truncate(text.floor_char_boundary(MAX_LABEL));
    if text.is_empty() { "unnamed".into() } else { text }
}
