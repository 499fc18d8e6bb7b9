//! The processes, as their parent has them. However the parent ends, they end with it.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};

use super::child::Told;

/// One life of one process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    said: Receiver<String>,
}

impl Process {
    /// It dies with the thread that calls this.
    pub(super) fn start(program: &Path, told: &Told) -> io::Result<Process> {
        let mut command = Command::new(program);
        command.args(told.words()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let output = child.stdout.take().map(BufReader::new);
        let (sender, said) = channel();
        // Ends with the process.
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Process { child, said })
    }

    /// What it has said since it was asked last.
    pub(super) fn said(&self) -> Vec<String> {
        self.said.try_iter().collect()
    }

    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        // Not waited for yet, so the number is still this process's.
        let pid = Pid::from_child(&self.child);
        Ok(kill_process(pid, signal)?)
    }

    /// SIGKILL: no destructor runs, nothing is given back. Stopped processes die of it as well.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        self.child.kill()?;
        self.child.wait()
    }

    /// Asks it to end in order.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.child.stdin.as_mut().map_or(Ok(()), |input| input.write_all(b"end\n"))
    }

    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself is as good.
        let _ = self.kill();
    }
}
