//! The environment, read as settings: every fault of one start is reported at once.

use std::fmt;

#[cfg(feature = "gcs")]
use crate::backend::gcs::GcsConfig;
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
    /// In a bucket.
    #[cfg(feature = "gcs")]
    Gcs(GcsConfig),
}

/// Reads the settings. `variable` looks one up: the process environment, or a test's table.
///
/// # Errors
/// Everything that is wrong, at once.
pub(crate) fn settings(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, ConfigError> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let env = value("TAKO_ENV");
    let mut faults = Vec::new();
    let is_local = matches!(env.as_deref(), None | Some("dev" | "test"));
    let lease = value("TAKO_LEASE");
    let in_memory = match lease.as_deref() {
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
        let cloud = ["K_SERVICE", "KUBERNETES_SERVICE_HOST"].into_iter().find(|name| value(name).is_some());
        if let (Some(cloud), None) = (cloud, lease) {
            faults.push(format!(
                "{cloud} is set, so this program runs in the cloud beside other instances, but {} would keep its locks in \
                 memory, where they exclude nobody. Set TAKO_ENV to the environment's name (such as `prod`), with TAKO_PROJECT \
                 and TAKO_APP; or, for a single instance, TAKO_LEASE=memory",
                env.as_ref().map_or("an unset TAKO_ENV".to_owned(), |env| format!("TAKO_ENV={env}")),
            ));
        }
        let app = value("TAKO_APP").unwrap_or_else(|| "app".into());
        return match Namespace::new(&app, env.as_deref().unwrap_or("dev")) {
            Ok(namespace) if faults.is_empty() => Ok(Settings::Memory { namespace }),
            outcome => {
                faults.extend(outcome.err().unwrap_or_default());
                Err(ConfigError { faults })
            }
        };
    }
    let asks = lease.map_or_else(
        || format!("TAKO_ENV={}", env.as_deref().unwrap_or_default()),
        |lease| format!("TAKO_LEASE={lease}"),
    );
    in_bucket(&asks, value, faults)
}

/// The settings for leases in Google Cloud Storage, which `asks` asks for.
fn in_bucket(
    asks: &str,
    value: impl Fn(&str) -> Option<String>,
    mut faults: Vec<String>,
) -> Result<Settings, ConfigError> {
    if cfg!(not(feature = "gcs")) {
        faults.push(format!(
            "{asks} asks for leases in Google Cloud Storage, and this program was built without them. Enable the feature `gcs` \
             of tako-lock (`cargo add tako-lock --features gcs`); or, for a single instance, set TAKO_LEASE=memory"
        ));
    }
    let bucket = value("TAKO_BUCKET");
    let mut required = |name: &str, what: &str| {
        value(name).unwrap_or_else(|| {
            faults.push(format!(
                "{name} is not set: {asks} asks for leases in Google Cloud Storage, which need {what}"
            ));
            // Legal, so that it is not told for malformed as well.
            "unset".to_owned()
        })
    };
    let project = required("TAKO_PROJECT", "the Google Cloud project");
    let app = required("TAKO_APP", "the app's name");
    let env = value("TAKO_ENV").unwrap_or_else(|| "dev".into());
    #[cfg(feature = "gcs")]
    {
        let emulator = value("STORAGE_EMULATOR_HOST");
        let config = GcsConfig { project, app, env, bucket, emulator, label: None };
        faults.extend(config.faults());
        if faults.is_empty() { Ok(Settings::Gcs(config)) } else { Err(ConfigError { faults }) }
    }
    #[cfg(not(feature = "gcs"))]
    {
        drop((project, bucket));
        faults.extend(Namespace::new(&app, &env).err().unwrap_or_default());
        Err(ConfigError { faults })
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
        let error = with(&[
            ("TAKO_ENV", "Prod"),
            ("TAKO_LEASE", "gcs"),
            ("TAKO_APP", "a--b"),
            ("STORAGE_EMULATOR_HOST", "localhost:1"),
        ])
        .unwrap_err();
        let faults = error.faults();
        let built_without = usize::from(cfg!(not(feature = "gcs")));
        assert_eq!(faults.len(), 3 + built_without, "{error}");
        let project = &faults[built_without];
        assert!(project.contains("TAKO_PROJECT is not set: TAKO_LEASE=gcs asks for leases"), "{error}");
        assert!(error.to_string().contains("reasons:\n- TAKO_"), "{error}");
        assert!(faults[1 + built_without].contains("the app `a--b`"), "{error}");
        assert!(faults[2 + built_without].contains("the environment `Prod`"), "{error}");
        let error = with(&[("TAKO_LEASE", "redis"), ("K_SERVICE", "x")]).unwrap_err();
        assert!(error.faults()[0].contains("TAKO_LEASE is `redis`"), "{error}");
    }

    #[cfg(not(feature = "gcs"))]
    #[test]
    fn without_the_feature_the_refusal_names_it() {
        let error = with(&[("TAKO_ENV", "prod"), ("TAKO_PROJECT", "p"), ("TAKO_APP", "a")]).unwrap_err();
        assert!(error.to_string().contains("cargo add tako-lock --features gcs"), "{error}");
    }

    #[cfg(feature = "gcs")]
    #[test]
    fn any_other_environment_is_in_the_projects_bucket() {
        let of = |more: &[(&str, &str)]| {
            let base =
                [("TAKO_PROJECT", "demo"), ("TAKO_APP", "gallery"), ("STORAGE_EMULATOR_HOST", "localhost:1")];
            match with(&[&base[..], more].concat()).unwrap() {
                Settings::Gcs(config) => config,
                Settings::Memory { .. } => panic!("in memory"),
            }
        };
        let config = of(&[("TAKO_ENV", "pr-42")]);
        assert_eq!((&*config.app, &*config.env), ("gallery", "pr-42"));
        assert_eq!(config.emulator.as_deref(), Some("localhost:1"));
        assert_eq!(config.place().unwrap().bucket, "demo-tako");
        let config = of(&[("TAKO_LEASE", "gcs"), ("TAKO_BUCKET", "other")]);
        assert_eq!((&*config.env, &*config.place().unwrap().bucket), ("dev", "other"));
    }

    #[cfg(feature = "gcs")]
    #[test]
    fn malformed_values_are_told_with_what_is_not_set() {
        let error = with(&[
            ("TAKO_ENV", "prod"),
            ("TAKO_BUCKET", "no/bucket"),
            ("TAKO_PROJECT", "demo"),
            ("STORAGE_EMULATOR_HOST", "http://"),
        ])
        .unwrap_err();
        let faults = error.faults();
        assert_eq!(faults.len(), 3, "{error}");
        assert!(faults[0].contains("TAKO_APP is not set: TAKO_ENV=prod asks"), "{error}");
        assert!(faults[1].contains("`no/bucket` is not the name of a bucket"), "{error}");
        assert!(faults[2].contains("STORAGE_EMULATOR_HOST"), "{error}");
    }
}
