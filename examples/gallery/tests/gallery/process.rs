//! The program itself, as a process of its own.

use std::process::{Output, Stdio};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use gallery::client::Client;
use gallery::ledger::Ledger;
use gallery::run::{Run, State};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Far beyond what anything here takes: it only keeps a fault from hanging the tests.
const LIMIT: Duration = Duration::from_mins(1);

fn gallery(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gallery"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Killed and reaped also when an assertion fails.
    command.kill_on_drop(true);
    command
}

async fn output(arguments: &[&str]) -> Output {
    timeout(LIMIT, gallery(arguments).output()).await.expect("it did not end").unwrap()
}

#[tokio::test]
async fn the_demonstration_holds_what_it_promises() {
    let output = output(&["demo"]).await;
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "meanwhile, \"reindex\" is held by",
        "wave 3: started ",
        "harbour-4.png came in by run",
        "land/hills.png           png    72 x 48 ",
        "the caller is told 503 Service Unavailable",
        "no two runs of a job overlapped, and every run has a higher fence than the one before it",
    ] {
        assert!(told.contains(line), "`{line}` is missing in:\n{told}");
    }
}

#[tokio::test]
async fn sigterm_drains() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("ledger.redb");
    let database_argument = database.to_str().unwrap();
    let mut child =
        gallery(&["--port", "0", "--database", database_argument, "--pace", "250"]).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let client = Client::new(address(&mut stdout).await);
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.send(Method::POST, "/reindex", Bytes::new()).await }
    });
    let under_way = async {
        while !client.get::<Vec<Run>>("/runs").await.unwrap().iter().any(|run| run.done > 0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LIMIT, under_way).await.unwrap();

    terminate(&child);

    let (status, answer) = timeout(LIMIT, call).await.unwrap().unwrap().unwrap();
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(String::from_utf8_lossy(&answer).contains("the engine is shutting down"));
    let ended = timeout(LIMIT, child.wait()).await.expect("it did not end").unwrap();
    assert!(ended.success(), "{ended}");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "stopped: every lock was given back\n");
    let run = Ledger::open(&database).unwrap().runs().await.unwrap().remove(0);
    assert_eq!(run.state, State::Failed);
    assert!(client.get::<Vec<Run>>("/runs").await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named_with_its_flag() {
    let output = output(&["--photos", "no/such/folder"]).await;
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("`--photos no/such/folder` is not a folder"), "{told}");
}

async fn address(stdout: &mut (impl AsyncBufReadExt + Unpin)) -> std::net::SocketAddr {
    let mut line = String::new();
    timeout(LIMIT, stdout.read_line(&mut line)).await.unwrap().unwrap();
    line.trim().strip_prefix("gallery at http://").expect(&line).parse().unwrap()
}

fn terminate(child: &Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    kill_process(id.expect("it has not been waited for"), Signal::TERM).unwrap();
}
