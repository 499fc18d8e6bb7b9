//! The environment, read as settings: every fault of one start is reported at once.

use std::fmt;

use crate::name::Namespace;

/// The settings of this program do not add up. Every fault that was found is in the text, one a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    faults: Vec<String>,
}

impl ConfigError {
    pub(crate) fn new(faults: Vec<String>) -> ConfigError {
        ConfigError { faults }
    }

    pub(crate) fn one(fault: impl Into<String>) -> ConfigError {
        ConfigError { faults: vec![fault.into()] }
    }

    /// What is wrong, and what to do, one fault each.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.faults {
            [fault] => fault.fmt(f),
            faults => {
                write!(f, "the locks of this program cannot be set up, for {} reasons:", faults.len())?;
                faults.iter().try_for_each(|fault| write!(f, "\n- {fault}"))
            }
        }
    }
}

impl std::error::Error for ConfigError {}

/// Where the program's own engine keeps its leases.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Settings {
    /// In this process.
    Memory { namespace: Namespace },
}

/// Reads the settings. `variable` looks one up: the process environment, or a test's table.
///
/// # Errors
/// Everything that is wrong, at once.
pub(crate) fn settings(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, ConfigError> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let env = value("TAKO_ENV");
    let app = value("TAKO_APP");
    let mut faults = Vec::new();
    let is_local = matches!(env.as_deref(), None | Some("dev" | "test"));
    let in_memory = match value("TAKO_LEASE").as_deref() {
        None => is_local,
        Some("memory") => true,
        Some("gcs") => false,
        Some(other) => {
            faults.push(format!("TAKO_LEASE is `{other}`; it may be `memory` or `gcs`, or be left unset"));
            is_local
        }
    };
    if in_memory {
        // A choice that was made is taken for one; only the default is never silently local in the cloud.
        let is_chosen = value("TAKO_LEASE").is_some();
        let cloud = ["K_SERVICE", "KUBERNETES_SERVICE_HOST"].into_iter().find(|name| value(name).is_some());
        if let (Some(cloud), false) = (cloud, is_chosen) {
            faults.push(format!(
                "{cloud} is set, so this program runs in the cloud beside other instances, but {} would keep its locks in \
                 memory, where they exclude nobody. Set TAKO_ENV to the environment's name (such as `prod`), with TAKO_PROJECT \
                 and TAKO_APP; or, for a single instance, TAKO_LEASE=memory",
                env.as_ref().map_or("an unset TAKO_ENV".to_owned(), |env| format!("TAKO_ENV={env}")),
            ));
        }
    } else {
        let asks = value("TAKO_LEASE").map_or_else(
            || format!("TAKO_ENV={}", env.as_deref().unwrap_or_default()),
            |lease| format!("TAKO_LEASE={lease}"),
        );
        faults.push(format!(
            "{asks} asks for leases in Google Cloud Storage, and this version of tako-lock has no such backend yet. Build an \
             engine over a store of your own (`Engine::builder`) and install it; or, for a single instance, set TAKO_LEASE=memory"
        ));
        for (name, what) in [("TAKO_PROJECT", "the Google Cloud project"), ("TAKO_APP", "the app's name")] {
            if value(name).is_none() {
                faults.push(format!("{name} is not set: leases in Google Cloud Storage need {what}"));
            }
        }
    }
    let local = Namespace::local();
    let namespace = match (app, env) {
        (None, None) => Ok(local),
        (app, env) => Namespace::new(app.as_deref().unwrap_or("app"), env.as_deref().unwrap_or("dev")),
    };
    match namespace {
        Ok(namespace) if faults.is_empty() => Ok(Settings::Memory { namespace }),
        Ok(_) => Err(ConfigError { faults }),
        Err(parts) => {
            faults.extend(parts);
            Err(ConfigError { faults })
        }
    }
}

/// Reads the process environment.
///
/// # Errors
/// As [`settings`].
pub(crate) fn from_environment() -> Result<Settings, ConfigError> {
    settings(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
}

/// Host name and process id: the label of an owner, for people.
pub(crate) fn host_label() -> String {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let host = std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).unwrap_or_default();
    let host = if host.is_empty() { "host" } else { &host };
    format!("{host}-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::{Namespace, Settings, settings};

    fn with(table: &[(&str, &str)]) -> Result<Settings, super::ConfigError> {
        settings(|name| table.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    fn memory(app: &str, env: &str) -> Settings {
        Settings::Memory { namespace: Namespace::new(app, env).unwrap() }
    }

    #[test]
    fn development_and_tests_are_in_memory() {
        assert_eq!(with(&[]), Ok(memory("app", "dev")));
        assert_eq!(with(&[("TAKO_ENV", "")]), Ok(memory("app", "dev")));
        assert_eq!(with(&[("TAKO_ENV", "test"), ("TAKO_APP", "gallery")]), Ok(memory("gallery", "test")));
        assert_eq!(with(&[("TAKO_ENV", "prod"), ("TAKO_LEASE", "memory")]), Ok(memory("app", "prod")));
    }

    #[test]
    fn it_is_never_silently_local_in_the_cloud() {
        for cloud in ["K_SERVICE", "KUBERNETES_SERVICE_HOST"] {
            let error = with(&[(cloud, "x")]).unwrap_err().to_string();
            assert!(
                error.contains(cloud)
                    && error.contains("an unset TAKO_ENV")
                    && error.contains("Set TAKO_ENV"),
                "{error}"
            );
            let error = with(&[(cloud, "x"), ("TAKO_ENV", "dev")]).unwrap_err().to_string();
            assert!(error.contains("TAKO_ENV=dev"), "{error}");
            assert_eq!(
                with(&[(cloud, "x"), ("TAKO_LEASE", "memory")]),
                Ok(memory("app", "dev")),
                "a choice is a choice"
            );
        }
    }

    #[test]
    fn all_faults_are_told_together() {
        let error = with(&[("TAKO_ENV", "Prod"), ("TAKO_LEASE", "gcs"), ("TAKO_APP", "a--b")]).unwrap_err();
        let faults = error.faults();
        assert_eq!(faults.len(), 4, "{error}");
        assert!(error.to_string().contains("for 4 reasons:\n- TAKO_LEASE=gcs asks for leases"), "{error}");
        assert!(faults[1].contains("TAKO_PROJECT is not set"));
        assert!(faults[2].contains("the app `a--b`") && faults[3].contains("the environment `Prod`"));
        let error = with(&[("TAKO_LEASE", "redis"), ("K_SERVICE", "x")]).unwrap_err();
        assert!(error.faults()[0].contains("TAKO_LEASE is `redis`"), "{error}");
    }
}
