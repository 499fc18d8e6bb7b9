//! Leases in Google Cloud Storage: one object a lease, changed only on the condition `ifGenerationMatch`.

mod client;
mod config;
mod error;
mod wire;

use std::fmt;
use std::sync::Arc;

use google_cloud_storage::Error;
use google_cloud_storage::model::Object;
use google_cloud_storage::read_resume_policy::NeverResume;

pub(crate) use self::client::told;
use self::client::{Client, Made};
pub use self::config::GcsConfig;
pub(crate) use self::config::Place;
use self::error::{Meaning, Sign, Verb, failed, meaning, sign};
use super::{BackendError, ErrorKind, Key, LeaseBackend, Record, StoreTime, Stored, Swap, Token};
use crate::config::ConfigError;

/// What stands in the object that is written to be told the time.
const CLOCK_BODY: &str = r#"{"about":"written to learn the time of this store"}"#;

/// Leases in a bucket of Google Cloud Storage.
///
/// A record is an object; its generation is the token; `ifGenerationMatch` is the compare-and-swap. Each verb is one
/// request that is sent once: the client's own retries are off, and how long a request may take is the engine's to say.
///
/// [`Engine::gcs`](crate::Engine::gcs) makes an engine over it. By itself it is for the conformance suite, and for
/// wrapping it in a backend of your own. The client is made by the first request, and lives on the runtime that this
/// runs on.
pub struct GcsLease {
    client: Client,
    bucket: String,
    /// The bucket as the client names it.
    parent: String,
    /// The object that is written to be told the time.
    clock: String,
}

impl GcsLease {
    /// The leases of one app and environment. Nothing is sent.
    ///
    /// # Errors
    /// What does not add up, all of it at once.
    ///
    /// # Examples
    /// ```
    /// use tako::GcsConfig;
    /// use tako::backend::GcsLease;
    ///
    /// # fn main() -> Result<(), tako::ConfigError> {
    /// let lease = GcsLease::new(&GcsConfig {
    ///     project: "demo".into(),
    ///     app: "gallery".into(),
    ///     env: "test".into(),
    ///     emulator: Some("localhost:4443".into()),
    ///     ..GcsConfig::default()
    /// })?;
    /// assert_eq!(lease.bucket(), "demo-tako");
    /// # Ok(()) }
    /// ```
    pub fn new(config: &GcsConfig) -> Result<GcsLease, ConfigError> {
        Ok(GcsLease::at(config.place()?))
    }

    pub(crate) fn at(place: Place) -> GcsLease {
        GcsLease {
            client: Client::new(place.emulator),
            parent: format!("projects/_/buckets/{}", place.bucket),
            clock: place.namespace.path("clock"),
            bucket: place.bucket,
        }
    }

    /// The bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Looks for credentials, on the runtime that is entered.
    ///
    /// # Errors
    /// Those that the environment points to cannot be read.
    pub(crate) fn prepare(&self) -> Result<(), BackendError> {
        self.client.prepare()
    }

    /// Waits for the first token.
    ///
    /// # Errors
    /// It cannot be had.
    pub(crate) async fn connect(&self) -> Result<(), BackendError> {
        self.client.connect().await
    }

    /// One upload: a multipart POST. `None`: the condition did not hold.
    async fn write(
        &self,
        path: &str,
        body: String,
        condition: Option<i64>,
    ) -> Result<Option<Object>, BackendError> {
        let client = self.client.get().await?;
        // Given up front, the checksum is compared by the server before it commits. Left to the client, it follows in
        // a third part, which emulators refuse or take for content.
        let checksum = crc32c::crc32c(body.as_bytes());
        let write = client
            .storage
            .write_object(&self.parent, path, body)
            .set_content_type(wire::CONTENT_TYPE)
            .set_cache_control(wire::CACHE_CONTROL)
            .with_known_crc32c(checksum);
        let (verb, write) = match condition {
            Some(generation) => (Verb::Swap, write.set_if_generation_match(generation)),
            None => (Verb::Touch, write),
        };
        // Thirty kilobytes of future are better off on the heap.
        match Box::pin(write.send_unbuffered()).await {
            Ok(object) => Ok(Some(object)),
            Err(error) => self.no(verb, path, &client, &error).await.map(|()| None),
        }
    }

    /// One download: the body and its generation come in one answer. `None`: there is no such object.
    async fn read(&self, path: &str) -> Result<Option<(Vec<u8>, i64)>, BackendError> {
        let client = self.client.get().await?;
        // A read that breaks off is read anew by the engine, and not quietly resumed in here.
        let read = client.storage.read_object(&self.parent, path).with_read_resume_policy(NeverResume);
        let broken = async |error: Error| self.no(Verb::Read, path, &client, &error).await.map(|()| None);
        let mut answer = match read.send().await {
            Ok(answer) => answer,
            Err(error) => return broken(error).await,
        };
        let mut body = Vec::new();
        while let Some(part) = answer.next().await {
            match part {
                Ok(part) if body.len() + part.len() > wire::LARGEST => {
                    return Err(wire::too_large(&self.place(path)));
                }
                Ok(part) => body.extend_from_slice(&part),
                Err(error) => return broken(error).await,
            }
        }
        Ok(Some((body, answer.object().generation)))
    }

    /// Whether an error is an answer: there is no such object, or the condition did not hold.
    ///
    /// # Errors
    /// It is a failure.
    async fn no(
        &self,
        verb: Verb,
        path: &str,
        client: &Arc<Made>,
        error: &Error,
    ) -> Result<(), BackendError> {
        let sign = sign(error);
        if sign == (Sign::NoToken { is_transient: false }) {
            self.client.discard(client).await;
        }
        match meaning(verb, &sign) {
            Meaning::Absent | Meaning::Refused => Ok(()),
            Meaning::Failed(kind, advice) => Err(failed(verb, &self.bucket, path, kind, advice, error)),
        }
    }

    fn place(&self, path: &str) -> String {
        format!("gs://{}/{path}", self.bucket)
    }

    /// An answer that the service never gives.
    fn senseless(&self, kind: ErrorKind, path: &str, what: &str) -> BackendError {
        BackendError::new(kind, format!("the answer about `{}` has no {what}", self.place(path)))
    }
}

impl LeaseBackend for GcsLease {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        let Some((body, generation)) = self.read(key.path()).await? else { return Ok(None) };
        let record = wire::record(&self.place(key.path()), &body)?;
        let token = wire::token(generation)
            .ok_or_else(|| self.senseless(ErrorKind::Unavailable, key.path(), "generation"))?;
        Ok(Some(Stored { record, token }))
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        let body = wire::body(&self.place(key.path()), record)?;
        // A token that is no generation was never this store's: nothing can be stored under it.
        let Some(condition) = wire::condition(expected) else { return Ok(Swap::Refused) };
        let Some(object) = self.write(key.path(), body, Some(condition)).await? else {
            return Ok(Swap::Refused);
        };
        let token = wire::token(object.generation)
            .ok_or_else(|| self.senseless(ErrorKind::UnknownOutcome, key.path(), "generation"))?;
        Ok(Swap::Applied { token, at: wire::written_at(&object) })
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        let written = self.write(&self.clock, CLOCK_BODY.to_owned(), None).await?;
        written
            .and_then(|object| wire::written_at(&object))
            .ok_or_else(|| self.senseless(ErrorKind::Unavailable, &self.clock, "time"))
    }
}

impl fmt::Debug for GcsLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcsLease").field("bucket", &self.bucket).finish_non_exhaustive()
    }
}
