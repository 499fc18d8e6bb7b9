//! The processes, as their parent has them. However the parent ends, they end with it.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

use super::child::Told;
use super::plan::{Step, Trouble};
use super::proxy::{Proxy, Weather};

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

/// One of those that run side by side, over all its lives.
pub(super) struct Node {
    pub(super) told: Told,
    pub(super) proxy: Proxy,
    /// `None` between two lives.
    pub(super) process: Option<Process>,
    /// What it is in, and until when.
    pub(super) trouble: Option<(Trouble, Instant)>,
}

impl Node {
    pub(super) fn start(&mut self, program: &Path) -> io::Result<()> {
        self.told.life += 1;
        self.process = Some(Process::start(program, &self.told)?);
        Ok(())
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        self.process.take().map_or(Ok(()), |mut process| process.kill().map(drop))
    }

    pub(super) fn befall(&mut self, step: Step) {
        if let Trouble::Network(weather) = step.trouble {
            self.proxy.set(weather);
        }
        self.trouble = Some((step.trouble, Instant::now() + step.length));
    }

    pub(super) fn recover(&mut self, now: Instant, program: &Path) -> io::Result<()> {
        let Some((trouble, _)) = self.trouble.take_if(|(_, until)| *until <= now) else { return Ok(()) };
        match trouble {
            Trouble::Kill => self.start(program),
            Trouble::Stop => self.process.as_ref().map_or(Ok(()), |process| process.signal(Signal::CONT)),
            Trouble::Network(_) => {
                self.proxy.set(Weather::Clear);
                Ok(())
            }
        }
    }

    /// What it said that it should not have, and whether it has ended by itself.
    pub(super) fn oddities(&mut self) -> io::Result<Vec<String>> {
        let number = self.told.node;
        let Some(process) = &mut self.process else { return Ok(Vec::new()) };
        let status = process.ended()?;
        let mut found = odd(number, process.said());
        if let Some(status) = status {
            found.push(format!("9: process {number} ended by itself: {status}"));
            // Not told again.
            self.process = None;
        }
        Ok(found)
    }
}

pub(super) fn odd(number: usize, said: Vec<String>) -> Vec<String> {
    let odd = |line: String| Some(format!("9: process {number}: {}", line.strip_prefix("odd ")?));
    said.into_iter().filter_map(odd).collect()
}
