//! The program's own engine: installed by name, or found from the environment on first use.

use std::panic::Location;

use once_cell::sync::OnceCell;

use crate::config::{self, Settings};
use crate::engine::Engine;
use crate::error::ConfigError;

static PROGRAMS: OnceCell<Programs> = OnceCell::new();

struct Programs {
    engine: Engine,
    origin: Origin,
}

enum Origin {
    Installed(&'static Location<'static>),
    Environment,
}

impl Engine {
    /// Makes this the program's engine: the one that [`Ctx::background`](crate::Ctx::background) leads to.
    ///
    /// # Errors
    /// There is one already; the error says where it was installed, or that an earlier use has found it from the
    /// environment.
    ///
    /// # Examples
    /// ```
    /// let engine = tako::Engine::memory();
    /// engine.install().unwrap();
    /// assert!(engine.install().unwrap_err().to_string().contains("has one already"));
    /// ```
    #[track_caller]
    pub fn install(&self) -> Result<(), ConfigError> {
        let origin = Origin::Installed(Location::caller());
        match PROGRAMS.try_insert(Programs { engine: self.clone(), origin }) {
            Ok(_) => Ok(()),
            Err((first, _)) => Err(ConfigError::one(match first.origin {
                Origin::Installed(at) => {
                    format!(
                        "no second engine can be installed: the program has one already, installed at {at}"
                    )
                }
                Origin::Environment => {
                    "no engine can be installed any more: the program has one already, which the first \
                    use of a lock found from the environment. Install yours before that"
                        .to_owned()
                }
            })),
        }
    }

    /// The program's engine: the installed one, or on first use the one that the environment tells. For what needs it
    /// by hand: [`shutdown`](Engine::shutdown), [`inspect`](Engine::inspect).
    ///
    /// # Errors
    /// The environment does not add up. Everything that is wrong is told at once; a later call reads it again. Whether a
    /// store in the cloud can be reached, and lets this program in, is not asked here: [`check`](Engine::check) does.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), tako::ConfigError> {
    /// let engine = tako::Engine::program()?;
    /// # Ok(()) }
    /// ```
    pub fn program() -> Result<Engine, ConfigError> {
        Engine::of_program().cloned()
    }

    pub(crate) fn of_program() -> Result<&'static Engine, ConfigError> {
        // A failure is not kept: the next use reads the environment again.
        let programs = PROGRAMS.get_or_try_init(|| {
            let engine = match config::from_environment()? {
                Settings::Memory { namespace } => Engine::memory_for(namespace),
                #[cfg(feature = "gcs")]
                Settings::Gcs(config) => Engine::in_gcs(&config)?.0,
            };
            Ok(Programs { engine, origin: Origin::Environment })
        })?;
        Ok(&programs.engine)
    }
}
