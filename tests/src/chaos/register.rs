//! What the work changes: a server in the parent that refuses lower fences, and remembers what came when.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::clock;
use super::line::{HoldId, Stretch};
use crate::faulty::lock;

/// One act, as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) at: Stretch,
    pub(super) fence: u64,
    /// The clock before the look that allowed it.
    pub(super) before: u64,
    pub(super) arrived: u64,
    pub(super) is_accepted: bool,
}

/// Clones are the same.
#[derive(Debug, Clone)]
pub(super) struct Register {
    pub(super) address: SocketAddr,
    acts: Arc<Mutex<Vec<Act>>>,
    /// Planted: it accepts everything.
    is_open: bool,
}

impl Register {
    pub(super) async fn start(is_open: bool) -> io::Result<Register> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let register = Register { address: listener.local_addr()?, acts: Arc::default(), is_open };
        let served = register.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = served.clone();
                // One that breaks off is the child's death.
                tokio::spawn(async move { served.serve(stream).await });
            }
        });
        Ok(register)
    }

    async fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let words: Vec<&str> = line.trim_end().split(' ').collect();
        let [at, fence, before] = words[..] else { return Ok(()) };
        let (Ok(at), Ok(fence), Ok(before)) = (at.parse(), fence.parse(), before.parse()) else {
            return Ok(());
        };
        let is_accepted = self.decide(at, fence, before);
        stream.write_all(if is_accepted { b"accepted\n" } else { b"refused\n" }).await
    }

    fn decide(&self, at: Stretch, fence: u64, before: u64) -> bool {
        let mut acts = lock(&self.acts);
        let highest = acts.iter().map(|act| act.fence).max().unwrap_or(0);
        let is_accepted = self.is_open || fence >= highest;
        acts.push(Act { at, fence, before, arrived: clock(), is_accepted });
        is_accepted
    }

    /// All acts so far.
    pub(super) fn acts(&self) -> Vec<Act> {
        lock(&self.acts).clone()
    }

    /// Who acted last, and when.
    pub(super) fn last(&self) -> Option<(HoldId, u64)> {
        lock(&self.acts).iter().rev().find(|act| act.is_accepted).map(|act| (act.at.hold, act.arrived))
    }
}

/// Acts. Tells whether it was accepted.
pub(super) async fn act(register: SocketAddr, at: Stretch, fence: u64, before: u64) -> io::Result<bool> {
    let mut stream = BufReader::new(TcpStream::connect(register).await?);
    stream.write_all(format!("{at} {fence} {before}\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_line(&mut answer).await?;
    Ok(answer == "accepted\n")
}
