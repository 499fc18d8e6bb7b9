//! The client of the service, made by the first request.
//!
//! Credentials and connections have tasks of their own (a token is renewed in one, a connection is driven by one), and
//! these live on the runtime that the client was made on. So it is made where the requests run: on the engine's thread.
//! A client made on the caller's runtime would die with that.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use google_cloud_auth::build_errors::Error as CredentialsFault;
use google_cloud_auth::credentials::{self, Credentials};
use google_cloud_gax::client_builder::Error as ClientFault;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_storage::client::Storage;
use tokio::sync::Mutex;

use super::error::{Causes, no_token};
use crate::backend::{BackendError, ErrorKind};

pub(super) struct Client {
    emulator: Option<String>,
    state: Mutex<State>,
}

enum State {
    Unmade,
    /// Under way. Kept here, so that a request whose time is up leaves it for the next one to go on with.
    Making(Pin<Box<dyn Future<Output = Result<Made, ClientFault>> + Send>>),
    Made(Arc<Made>),
}

pub(super) struct Made {
    pub(super) storage: Storage,
    credentials: Credentials,
}

impl Client {
    pub(super) fn new(emulator: Option<String>) -> Client {
        Client { emulator, state: Mutex::new(State::Unmade) }
    }

    /// Begins to make the client, on the runtime that is entered. The credentials are looked for at once.
    ///
    /// # Errors
    /// The credentials that the environment points to cannot be read.
    pub(super) fn prepare(&self) -> Result<(), BackendError> {
        match self.state.try_lock() {
            Ok(mut state) if matches!(*state, State::Unmade) => *state = self.begin()?,
            _ => {}
        }
        Ok(())
    }

    /// Waits for the first token.
    ///
    /// # Errors
    /// It cannot be had.
    pub(super) async fn connect(&self) -> Result<(), BackendError> {
        let made = self.get().await?;
        #[expect(clippy::default_trait_access, reason = "the type's crate is not among ours")]
        let headers = made.credentials.headers(Default::default()).await;
        headers.map(drop).map_err(|error| no_token(&error))
    }

    pub(super) async fn get(&self) -> Result<Arc<Made>, BackendError> {
        let mut state = self.state.lock().await;
        if matches!(*state, State::Unmade) {
            *state = self.begin()?;
        }
        if let State::Making(making) = &mut *state {
            match making.await {
                Ok(made) => *state = State::Made(Arc::new(made)),
                Err(fault) => {
                    *state = State::Unmade;
                    let unfit = BackendError::new(
                        ErrorKind::Misconfigured,
                        "the client for Cloud Storage cannot be made",
                    );
                    return Err(unfit.with_source(Causes::of(&fault)));
                }
            }
        }
        match &*state {
            State::Made(made) => Ok(made.clone()),
            State::Unmade | State::Making(_) => {
                Err(BackendError::new(ErrorKind::Unavailable, "the client for Cloud Storage is not ready"))
            }
        }
    }

    /// Credentials that have failed for good are never tried again by the client that has them: the next request
    /// makes a new one, and finds them mended or not.
    pub(super) async fn discard(&self, failed: &Arc<Made>) {
        let mut state = self.state.lock().await;
        if matches!(&*state, State::Made(made) if Arc::ptr_eq(made, failed)) {
            *state = State::Unmade;
        }
    }

    fn begin(&self) -> Result<State, BackendError> {
        let credentials = match &self.emulator {
            Some(_) => credentials::anonymous::Builder::new().build(),
            None => found().map_err(|fault| no_credentials(&fault))?,
        };
        // One request is one request: what to do about a failure is the engine's to decide, which knows how long the
        // lease is good for. The client's own default would try for 300 s, and tell one's own success as a refusal.
        let builder = Storage::builder().with_retry_policy(NeverRetry).with_credentials(credentials.clone());
        let builder = match &self.emulator {
            Some(address) => builder.with_endpoint(address),
            None => builder,
        };
        Ok(State::Making(Box::pin(async move { Ok(Made { storage: builder.build().await?, credentials }) })))
    }
}

/// What is wrong with the credentials that the environment points to, found without sending anything. That a workload
/// has no service account at all is only seen when a token is asked for.
pub(crate) fn credentials_fault() -> Option<String> {
    // They want a runtime for the task that renews the token. It never runs here.
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    let fault = {
        let _inside = runtime.enter();
        found().err().map(|fault| told(&no_credentials(&fault)))
    };
    runtime.shutdown_background();
    fault
}

/// An error and its cause as one sentence.
pub(crate) fn told(error: &BackendError) -> String {
    Causes::of(error).to_string()
}

/// Application Default Credentials, for this service only.
fn found() -> Result<Credentials, CredentialsFault> {
    credentials::Builder::default()
        .with_scopes(["https://www.googleapis.com/auth/devstorage.read_write"])
        .build()
}

fn no_credentials(fault: &CredentialsFault) -> BackendError {
    let text = "the credentials for Google Cloud cannot be read. Correct GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud \
                auth application-default login`";
    BackendError::new(ErrorKind::Denied, text).with_source(Causes::of(fault))
}

#[cfg(test)]
mod tests {
    use google_cloud_auth::credentials::testing::error_credentials;
    use tokio::sync::oneshot;

    use super::super::{GcsConfig, GcsLease};
    use super::{Arc, Client, ClientFault, ErrorKind, Made, NeverRetry, State, Storage};
    use crate::backend::{Key, LeaseBackend};

    /// Nobody listens there.
    const NOWHERE: &str = "http://localhost:1";

    fn client() -> Client {
        Client::new(Some(NOWHERE.into()))
    }

    fn lease() -> GcsLease {
        let config = GcsConfig {
            project: "demo".into(),
            app: "gallery".into(),
            env: "test".into(),
            emulator: Some(NOWHERE.into()),
            ..GcsConfig::default()
        };
        GcsLease::new(&config).unwrap()
    }

    #[tokio::test]
    async fn a_client_is_kept_until_it_is_discarded_and_then_made_anew() {
        let client = client();
        client.prepare().unwrap();
        let first = client.get().await.unwrap();
        assert!(Arc::ptr_eq(&first, &client.get().await.unwrap()));
        client.discard(&first).await;
        let second = client.get().await.unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        // A request that was sent by the old one and fails late does not throw the new one away.
        client.discard(&first).await;
        assert!(Arc::ptr_eq(&second, &client.get().await.unwrap()));
    }

    #[tokio::test]
    async fn a_client_that_takes_several_attempts_to_make_is_made_once() {
        let (finish, finished) = oneshot::channel::<()>();
        let slow = {
            let made = client().get().await.unwrap();
            Box::pin(async move {
                finished.await.expect("the first attempts must not drop it");
                Ok(Made { storage: made.storage.clone(), credentials: made.credentials.clone() })
            })
        };
        let client = Client { state: State::Making(slow).into(), ..client() };
        for _ in 0..3 {
            tokio::select! {
                biased;
                _ = client.get() => panic!("it cannot be made yet"),
                () = tokio::task::yield_now() => {}
            }
            client.prepare().unwrap();
        }
        finish.send(()).expect("it is still under way");
        let made = client.get().await.unwrap();
        assert!(Arc::ptr_eq(&made, &client.get().await.unwrap()));
    }

    #[tokio::test]
    async fn a_client_that_cannot_be_made_is_an_error_once_and_made_by_the_next_request() {
        let broken = Box::pin(async { Err(ClientFault::transport("no TLS")) });
        let client = Client { state: State::Making(broken).into(), ..client() };
        let Err(error) = client.get().await else { panic!("it cannot be made") };
        assert_eq!(error.kind(), ErrorKind::Misconfigured);
        assert!(super::told(&error).contains("no TLS"), "{}", super::told(&error));
        assert!(client.get().await.is_ok());
    }

    /// The credentials of the first client cannot be mended: it never asks for a token again. Those that the next
    /// client finds are good, and it gets as far as the connection.
    #[tokio::test]
    async fn credentials_that_have_failed_for_good_are_looked_for_anew_by_the_next_request() {
        let key = Key::new("leases/run-gallery-test-reindex", "gallery/test/reindex");
        for (is_transient, first, second) in [
            (false, ErrorKind::Denied, ErrorKind::Unavailable),
            (true, ErrorKind::Unavailable, ErrorKind::Unavailable),
        ] {
            let credentials = error_credentials(is_transient);
            let builder = Storage::builder().with_retry_policy(NeverRetry).with_endpoint(NOWHERE);
            let storage = builder.with_credentials(credentials.clone()).build().await.unwrap();
            let failing = Arc::new(Made { storage, credentials });
            let client = Client { state: State::Made(failing.clone()).into(), ..client() };
            let lease = GcsLease { client, ..lease() };
            assert_eq!(lease.connect().await.unwrap_err().kind(), first);
            assert_eq!(lease.load(&key).await.unwrap_err().kind(), first);
            assert_eq!(lease.load(&key).await.unwrap_err().kind(), second);
            let is_kept = Arc::ptr_eq(&failing, &lease.client.get().await.unwrap());
            assert_eq!(is_kept, is_transient, "whoever may still get a token goes on asking");
        }
    }
}
