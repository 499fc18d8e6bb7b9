//! Where the tests find a server: the double, the emulator, or whatever the environment points at.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::LazyLock;

use crate::gcs_double::{Answer, Double, send};

/// One double for tests that need no more than a bucket of their own.
pub static DOUBLE: LazyLock<Double> = LazyLock::new(Double::start);

/// A server on this machine, with or without the bucket that a test wants.
#[derive(Debug, Clone, Copy)]
pub struct Server {
    address: SocketAddr,
}

impl Server {
    /// The double.
    pub fn double() -> Server {
        Server { address: DOUBLE.address() }
    }

    /// The emulator, where `STORAGE_EMULATOR_HOST` says that there is one.
    ///
    /// # Panics
    /// When what it says is not the address of anything: a server that was promised is not skipped.
    pub fn emulator() -> Option<Server> {
        let told = std::env::var("STORAGE_EMULATOR_HOST").ok().filter(|told| !told.is_empty())?;
        let host = told.strip_prefix("http://").unwrap_or(&told).trim_end_matches('/');
        let address = host.to_socket_addrs().ok().and_then(|mut all| all.find(SocketAddr::is_ipv4));
        Some(Server {
            address: address.unwrap_or_else(|| panic!("STORAGE_EMULATOR_HOST={told} is no address")),
        })
    }

    /// Where clients are to be pointed.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes a bucket; one that is there already will do.
    ///
    /// # Panics
    /// When the server refuses or is not there.
    pub async fn make_bucket(&self, name: &str) {
        let body = serde_json::json!({ "name": name }).to_string();
        let answer =
            self.ask("POST", "/storage/v1/b?project=demo", "application/json", body.as_bytes()).await;
        assert!(matches!(answer.status, 200 | 409), "bucket {name}: {answer:?}");
    }

    /// Sends one request.
    ///
    /// # Panics
    /// When no answer comes.
    pub async fn ask(&self, method: &str, target: &str, content_type: &str, body: &[u8]) -> Answer {
        let sent = send(self.address, method, target, content_type, body).await;
        sent.unwrap_or_else(|error| panic!("{method} {target} at {}: {error}", self.address))
    }
}
