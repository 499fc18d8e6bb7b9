//! The engine over Google Cloud Storage, on a thread of its own.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Engine;
use super::builder::{over, own_thread};
use crate::backend::gcs::{GcsConfig, GcsLease, told};
use crate::error::ConfigError;
use crate::policy::Policy;
use crate::race::{Race, race};
use crate::world::World;

/// How long [`Engine::gcs`] waits for the first token.
const FIRST_TOKEN: Duration = Duration::from_secs(10);

impl Engine {
    /// An engine whose leases are objects in a bucket of Google Cloud Storage. It has a thread of its own: the caller's
    /// runtime may be blocked, or end.
    ///
    /// Credentials are found as Google's own clients do ([Application Default
    /// Credentials](https://docs.cloud.google.com/docs/authentication/application-default-credentials)); an emulator is
    /// spoken to without any. The store itself is not asked: [`check`](Engine::check) does that. What bucket and role it
    /// takes stands in [`tako::cloud`](crate::cloud).
    ///
    /// # Errors
    /// All that is wrong with the settings, at once; or no token for Google Cloud can be had, within ten seconds.
    ///
    /// # Cancel safety
    /// It leaves nothing behind.
    ///
    /// # Examples
    /// ```no_run
    /// use tako::{Engine, GcsConfig};
    ///
    /// # async fn start() -> Result<(), tako::ConfigError> {
    /// let engine = Engine::gcs(GcsConfig {
    ///     project: "shop-1234".into(),
    ///     app: "gallery".into(),
    ///     env: "prod".into(),
    ///     ..GcsConfig::default()
    /// })
    /// .await?;
    /// engine.install()?;
    /// # Ok(()) }
    /// ```
    pub async fn gcs(config: GcsConfig) -> Result<Engine, ConfigError> {
        let (engine, lease) = Engine::in_gcs(&config)?;
        let world = engine.world();
        let (answer, receiver) = oneshot::channel();
        let task = Box::pin(async move {
            // Nobody listens any more only if the caller has gone.
            let _ = answer.send(lease.connect().await);
        });
        // Handed back, the task has dropped nothing: the answer below is then that nobody has sent one.
        drop(world.spawn(task));
        let late = world.sleep_until(world.now().plus(FIRST_TOKEN));
        match race(pin!(receiver), pin!(late)).await {
            Race::First(Ok(Ok(()))) => Ok(engine),
            Race::First(Ok(Err(error))) => Err(ConfigError::one(told(&error))),
            Race::First(Err(_)) => {
                Err(ConfigError::one("the engine's thread has ended before it got a token"))
            }
            Race::Second(()) => Err(ConfigError::one(format!(
                "no token for Google Cloud came within {} s: the metadata server, or whatever the credentials point \
                 to, does not answer",
                FIRST_TOKEN.as_secs()
            ))),
        }
    }

    /// The same without waiting for a token: the first request does.
    pub(crate) fn in_gcs(config: &GcsConfig) -> Result<(Engine, Arc<GcsLease>), ConfigError> {
        let faults = config.faults();
        if !faults.is_empty() {
            return Err(ConfigError::new(faults));
        }
        let place = config.place()?;
        let label = config.label.clone().unwrap_or_else(crate::config::host_label);
        let namespace = place.namespace.clone();
        let lease = Arc::new(GcsLease::at(place));
        let thread = own_thread()?;
        {
            // The tasks that renew the token have to live as long as the engine.
            let _inside = thread.enter();
            lease.prepare().map_err(|error| ConfigError::one(told(&error)))?;
        }
        let world: Arc<dyn World> = Arc::new(thread);
        Ok((over(lease.clone(), world, Policy::V0, namespace, &label), lease))
    }
}
