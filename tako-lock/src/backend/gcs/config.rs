//! Which bucket, and how to get there.

use super::client::credentials_fault;
use crate::config::ConfigError;
use crate::name::Namespace;

/// Where an app keeps its leases in Google Cloud Storage; see [`Engine::gcs`](crate::Engine::gcs).
///
/// # Examples
/// ```
/// use tako::GcsConfig;
///
/// let config = GcsConfig {
///     project: "shop-1234".into(),
///     app: "gallery".into(),
///     env: "pr-42".into(),
///     ..GcsConfig::default()
/// };
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GcsConfig {
    /// The Google Cloud project. The leases are in its bucket `<project>-tako`.
    pub project: String,
    /// The app whose locks these are; see [`EngineBuilder::app`](crate::EngineBuilder::app).
    pub app: String,
    /// The environment: locks of `pr-42` never contend with those of `prod`.
    pub env: String,
    /// Another bucket than `<project>-tako`.
    pub bucket: Option<String>,
    /// The address of an emulator, such as `localhost:4443`, which is spoken to without credentials. Default: what
    /// `STORAGE_EMULATOR_HOST` says; without either, the service itself.
    pub emulator: Option<String>,
    /// What people read as the holder; see [`EngineBuilder::label`](crate::EngineBuilder::label). Default: host name and
    /// process id.
    pub label: Option<String>,
}

/// A [`GcsConfig`] that adds up.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) namespace: Namespace,
    pub(crate) bucket: String,
    pub(crate) emulator: Option<String>,
}

impl GcsConfig {
    /// All that is wrong, at once: with these settings, and with the credentials that the environment points to.
    pub(crate) fn faults(&self) -> Vec<String> {
        let settings = self.place().err();
        // An emulator is spoken to without any.
        let credentials = if self.emulator().is_none() { credentials_fault() } else { None };
        settings.iter().flat_map(ConfigError::faults).cloned().chain(credentials).collect()
    }

    fn emulator(&self) -> Option<String> {
        let from_environment = || std::env::var("STORAGE_EMULATOR_HOST").ok();
        self.emulator.clone().or_else(from_environment).filter(|host| !host.is_empty())
    }

    /// # Errors
    /// All that is wrong, at once.
    pub(crate) fn place(&self) -> Result<Place, ConfigError> {
        let mut faults = Vec::new();
        let namespace = Namespace::new(&self.app, &self.env).map_err(|parts| faults.extend(parts)).ok();
        let bucket = self.bucket.clone().unwrap_or_else(|| format!("{}-tako", self.project));
        if self.bucket.is_none() && self.project.is_empty() {
            faults.push("the Google Cloud project is not given, and no bucket either".to_owned());
        } else if let Some(fault) = bucket_fault(&bucket) {
            let or = if self.bucket.is_none() {
                format!(". It is made of the project `{}`; TAKO_BUCKET names another", self.project)
            } else {
                String::new()
            };
            faults.push(format!("`{bucket}` is not the name of a bucket: {fault}{or}"));
        }
        let emulator =
            self.emulator().and_then(|host| emulator(&host).map_err(|fault| faults.push(fault)).ok());
        match namespace {
            Some(namespace) if faults.is_empty() => Ok(Place { namespace, bucket, emulator }),
            _ => Err(ConfigError::new(faults)),
        }
    }
}

/// The rules of <https://docs.cloud.google.com/storage/docs/buckets#naming>, as far as a name may go into an address.
fn bucket_fault(bucket: &str) -> Option<&'static str> {
    let is_legal = |next: char| matches!(next, 'a'..='z' | '0'..='9' | '-' | '_' | '.');
    if !bucket.chars().all(is_legal) {
        Some("it may have `a-z`, `0-9`, `-`, `_` and `.` only")
    } else if !(3..=222).contains(&bucket.len()) || bucket.split('.').any(|part| part.len() > 63) {
        Some("it has to have 3 to 63 characters")
    } else if !(bucket.starts_with(|first: char| first.is_ascii_alphanumeric())
        && bucket.ends_with(|last: char| last.is_ascii_alphanumeric()))
        || bucket.contains("..")
    {
        Some("it has to start and end with a letter or a digit, and dots stand alone")
    } else {
        None
    }
}

/// The address of an emulator, with the scheme that Google's own clients take it to have.
fn emulator(host: &str) -> Result<String, String> {
    let address = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let address = address.trim_end_matches('/');
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    let is_host = |rest: &str| {
        !rest.is_empty()
            && !rest.starts_with([':', '/'])
            && rest.chars().all(|next| next.is_ascii_graphic() && !matches!(next, '@' | '?' | '#'))
    };
    if rest.is_some_and(is_host) {
        Ok(address.to_owned())
    } else {
        Err(format!(
            "`{host}` is not the address of an emulator (STORAGE_EMULATOR_HOST): it looks like `localhost:4443`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{GcsConfig, bucket_fault, emulator};

    fn config(project: &str) -> GcsConfig {
        GcsConfig {
            project: project.into(),
            app: "gallery".into(),
            env: "pr-42".into(),
            emulator: Some("localhost:4443".into()),
            ..GcsConfig::default()
        }
    }

    #[test]
    fn the_bucket_is_the_projects_or_the_named_one() {
        assert_eq!(config("demo").place().unwrap().bucket, "demo-tako");
        let named = GcsConfig { bucket: Some("other.example.com".into()), ..config("demo") };
        assert_eq!(named.place().unwrap().bucket, "other.example.com");
        // No project is needed where the bucket has a name of its own.
        assert_eq!(
            GcsConfig { project: String::new(), ..named }.place().unwrap().bucket,
            "other.example.com"
        );
    }

    #[test]
    fn an_emulators_address_is_taken_with_and_without_its_scheme() {
        for (host, address) in [
            ("localhost:4443", "http://localhost:4443"),
            ("http://localhost:4443/", "http://localhost:4443"),
            ("https://fake:443", "https://fake:443"),
            ("[::1]:4443", "http://[::1]:4443"),
        ] {
            assert_eq!(emulator(host).as_deref(), Ok(address));
        }
        for host in ["http://", "ftp://x", ":4443", "local host", "user@host"] {
            assert!(emulator(host).is_err(), "{host}");
        }
    }

    #[test]
    fn a_bucket_that_would_lead_elsewhere_is_refused() {
        for bucket in ["demo-tako", "a_b.c-1", "abc"] {
            assert_eq!(bucket_fault(bucket), None, "{bucket}");
        }
        let long = "x".repeat(64);
        for bucket in
            ["", "ab", "-ab", "ab-", "a/b/c", "../b/other", "Demo", "a..b", "p:x-tako", "a?b=c", &long]
        {
            assert!(bucket_fault(bucket).is_some(), "{bucket}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let wrong =
            GcsConfig { app: "Gallery".into(), emulator: Some("http://".into()), ..config("example.com:p") };
        let error = wrong.place().unwrap_err();
        assert_eq!(error.faults().len(), 3, "{error}");
        assert!(error.faults()[1].contains("made of the project `example.com:p`; TAKO_BUCKET"), "{error}");
        let empty = GcsConfig { project: String::new(), ..config("") }.place().unwrap_err();
        assert!(empty.to_string().contains("the Google Cloud project is not given"), "{empty}");
    }
}
