//! The file that all processes append to, line by line.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

/// One call of one life of one process, and the hold that came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HoldId {
    /// Which of the processes that run side by side.
    pub(super) node: usize,
    /// Counts how often it was started.
    pub(super) life: u32,
    pub(super) call: u32,
}

/// The stretch between one look of a hold and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stretch {
    pub(super) hold: HoldId,
    /// The number of the look that begins it.
    pub(super) number: u32,
}

/// One look at the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Whose, and which.
    pub(super) at: Stretch,
    /// `None`: not held.
    pub(super) fence: Option<u64>,
    /// The file's length before it.
    pub(super) seen: u64,
    /// The clock before it.
    pub(super) before: u64,
    /// The clock after it.
    pub(super) after: u64,
}

/// How a hold ended, as its own work saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The work returned; the release comes after this line.
    Returned,
    /// A look said that it was lost.
    Lost,
    /// The call is about to be dropped.
    Dropped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Look(Look),
    /// The flock was taken already, by whom it says; `None` when it said nothing.
    Contended(Stretch, Option<Stretch>),
    End(HoldId, How, u64),
}

impl fmt::Display for HoldId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.node, self.life, self.call)
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.hold, self.number)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Look(Look { at, fence, seen, before, after }) => {
                let fence = fence.unwrap_or(0);
                write!(f, "look {at} {fence} {seen} {before} {after}")
            }
            Line::Contended(at, Some(by)) => write!(f, "contended {at} {by}"),
            Line::Contended(at, None) => write!(f, "contended {at} -"),
            Line::End(hold, how, at) => {
                let how = match how {
                    How::Returned => "returned",
                    How::Lost => "lost",
                    How::Dropped => "dropped",
                };
                write!(f, "end {hold} {how} {at}")
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Unreadable;

impl From<std::num::ParseIntError> for Unreadable {
    fn from(_: std::num::ParseIntError) -> Unreadable {
        Unreadable
    }
}

impl FromStr for HoldId {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<HoldId, Unreadable> {
        let parts: Vec<&str> = text.split('.').collect();
        let [node, life, call] = parts[..] else { return Err(Unreadable) };
        Ok(HoldId { node: node.parse()?, life: life.parse()?, call: call.parse()? })
    }
}

impl FromStr for Stretch {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Stretch, Unreadable> {
        let (hold, number) = text.split_once('/').ok_or(Unreadable)?;
        Ok(Stretch { hold: hold.parse()?, number: number.parse()? })
    }
}

impl FromStr for Line {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Line, Unreadable> {
        let words: Vec<&str> = text.split(' ').collect();
        Ok(match words[..] {
            ["look", at, fence, seen, before, after] => Line::Look(Look {
                at: at.parse()?,
                fence: Some(fence.parse()?).filter(|fence| *fence > 0),
                seen: seen.parse()?,
                before: before.parse()?,
                after: after.parse()?,
            }),
            ["contended", at, "-"] => Line::Contended(at.parse()?, None),
            ["contended", at, by] => Line::Contended(at.parse()?, Some(by.parse()?)),
            ["end", hold, how, at] => {
                let how = match how {
                    "returned" => How::Returned,
                    "lost" => How::Lost,
                    "dropped" => How::Dropped,
                    _ => return Err(Unreadable),
                };
                Line::End(hold.parse()?, how, at.parse()?)
            }
            _ => return Err(Unreadable),
        })
    }
}

/// The file, as a process has it open.
#[derive(Debug)]
pub(super) struct Ledger(File);

impl Ledger {
    pub(super) fn open(path: &Path) -> io::Result<Ledger> {
        OpenOptions::new().append(true).create(true).open(path).map(Ledger)
    }

    pub(super) fn length(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }

    /// One system call: the kernel puts whole lines one after another.
    pub(super) fn append(&self, line: &Line) -> io::Result<()> {
        let text = format!("{line}\n");
        let written = (&self.0).write(text.as_bytes())?;
        if written == text.len() { Ok(()) } else { Err(io::Error::other("a line was cut")) }
    }
}

/// What stands in the file by now, each line with the length that the file had with it; and what cannot be read.
pub(super) fn read(text: &str) -> (Vec<(u64, Line)>, Vec<String>) {
    let (mut lines, mut unreadable, mut length) = (Vec::new(), Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        length += line.len() as u64;
        match line.strip_suffix('\n').map(str::parse) {
            Some(Ok(line)) => lines.push((length, line)),
            Some(Err(Unreadable)) => unreadable.push(line.to_owned()),
            // Being written.
            None => {}
        }
    }
    (lines, unreadable)
}

#[cfg(test)]
mod tests {
    use super::{HoldId, How, Line, Look, Stretch, read};

    #[test]
    fn lines_come_back_as_they_were() {
        let hold = HoldId { node: 3, life: 2, call: 17 };
        let at = Stretch { hold, number: 4 };
        let look = Look { at, fence: Some(9), seen: 100, before: 7, after: 8 };
        let lines = [
            Line::Look(look),
            Line::Look(Look { fence: None, ..look }),
            Line::Contended(at, Some(at)),
            Line::Contended(at, None),
            Line::End(hold, How::Lost, 12),
            Line::End(hold, How::Returned, 12),
            Line::End(hold, How::Dropped, 12),
        ];
        let text = lines.map(|line| line.to_string()).join("\n") + "\n";
        let (back, unreadable) = read(&(text.clone() + "look 3.2"));
        assert_eq!(back.iter().map(|(_, line)| *line).collect::<Vec<_>>(), lines);
        assert_eq!(back.last().map(|(length, _)| *length), Some(text.len() as u64));
        assert!(unreadable.is_empty());
        assert_eq!(read("look 3.2 held\n").1, ["look 3.2 held\n"]);
    }
}
