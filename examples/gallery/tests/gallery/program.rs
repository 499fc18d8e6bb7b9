//! The program itself, as a process of its own that never outlives its test.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Result;
use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use gallery::client::Client;
use gallery::run::Run;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Far beyond what anything here takes: it only keeps a fault from hanging the tests.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn gallery(arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gallery"));
    command.args(arguments).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Killed and reaped also when an assertion fails.
    command.kill_on_drop(true);
    command
}

/// The service over the pictures that ship with it, on a port that the system chose, with a ledger of its own.
pub(crate) struct Service {
    pub(crate) client: Client,
    pub(crate) database: PathBuf,
    process: Child,
    stdout: BufReader<ChildStdout>,
    _folder: TempDir,
}

impl Service {
    /// Starts one that rests for `pace` after each picture, and waits until it listens.
    pub(crate) async fn start(pace: Duration, environment: &[(&str, &str)]) -> Service {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("ledger.redb");
        let pace = pace.as_millis().to_string();
        let arguments = ["--port", "0", "--database", database.to_str().unwrap(), "--pace", &pace];
        let mut process = gallery(&arguments, environment).spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        timeout(LIMIT, stdout.read_line(&mut line)).await.expect("it does not listen").unwrap();
        let address: Option<SocketAddr> =
            line.trim().strip_prefix("gallery at http://").and_then(|address| address.parse().ok());
        let Some(address) = address else {
            let output = timeout(LIMIT, process.wait_with_output()).await.expect("it does not end").unwrap();
            panic!("`{line}`\n{}", String::from_utf8_lossy(&output.stderr));
        };
        Service { client: Client::new(address), database, process, stdout, _folder: folder }
    }

    /// Asks for a reindex, whose answer comes when it is over.
    pub(crate) fn reindex(&self) -> JoinHandle<Result<(StatusCode, Bytes)>> {
        let client = self.client.clone();
        tokio::spawn(async move { client.send(Method::POST, "/reindex", Bytes::new()).await })
    }

    pub(crate) async fn runs(&self) -> Vec<Run> {
        self.client.get("/runs").await.unwrap()
    }

    /// Waits until a run has looked at its first picture.
    pub(crate) async fn run_under_way(&self) -> Run {
        let under_way = async {
            loop {
                let run = self.runs().await.into_iter().find(|run| run.finished.is_none() && run.done > 0);
                if let Some(run) = run {
                    return run;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LIMIT, under_way).await.expect("no run is under way")
    }

    /// SIGTERM.
    pub(crate) fn terminate(&self) {
        let id = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(id.expect("it has not been waited for"), Signal::TERM).unwrap();
    }

    /// SIGKILL: no destructor runs, nothing is given back.
    #[cfg(feature = "gcs")]
    pub(crate) async fn kill(&mut self) {
        self.process.kill().await.unwrap();
    }

    /// How it ended, and what it said before.
    pub(crate) async fn ended(&mut self) -> (ExitStatus, String) {
        let status = timeout(LIMIT, self.process.wait()).await.expect("it did not end").unwrap();
        let mut told = String::new();
        self.stdout.read_to_string(&mut told).await.unwrap();
        (status, told)
    }
}
