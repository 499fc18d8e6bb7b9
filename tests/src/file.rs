//! A third party's backend: leases in the files of one directory, for the processes of one machine.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as IoKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tako::backend::{BackendError, ErrorKind, Key, LeaseBackend, Record, StoreTime, Stored, Swap, Token};

/// Leases in the files of one directory. Any number of values, in any number of processes, may share it.
#[derive(Debug, Clone)]
pub struct FileLease {
    directory: PathBuf,
    _scratch: Option<Arc<Scratch>>,
}

impl FileLease {
    /// The leases in `directory`, which is made when it is not there.
    pub fn new(directory: impl Into<PathBuf>) -> io::Result<FileLease> {
        let directory = directory.into();
        fs::create_dir_all(&directory)?;
        Ok(FileLease { directory, _scratch: None })
    }

    /// The leases in a new directory, which goes with the last clone of this value.
    pub fn scratch() -> io::Result<FileLease> {
        let scratch = Arc::new(Scratch::new()?);
        Ok(FileLease { directory: scratch.path.clone(), _scratch: Some(scratch) })
    }

    /// Where the record of `key` is kept.
    pub fn place(&self, key: &Key) -> PathBuf {
        let spell = |byte| match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        };
        let mut name: String = key.path().bytes().map(spell).collect();
        // File names end at 255 bytes, and the engine makes longer paths. `+` is in no name, so no directory has
        // the name of a file.
        let mut place = self.directory.clone();
        while name.len() > 200 {
            let rest = name.split_off(200);
            place.push(name + "+");
            name = rest;
        }
        place.join(name)
    }

    /// Waits for the directory, which is ours until the answer is dropped: also against threads of this process,
    /// since each call opens the file anew.
    fn enter(&self) -> io::Result<Guard> {
        let path = self.directory.join(".guard");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.lock()?;
        Ok(Guard { file })
    }
}

impl LeaseBackend for FileLease {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        // A rename replaces the whole file, so no lock is needed to read one version of it.
        read(&self.place(key))
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        let place = self.place(key);
        let failed = |error| unavailable("writing", &place, error);
        // Nothing awaits under the guard: a dropped request leaves nothing half done.
        let mut guard = self.enter().map_err(failed)?;
        if read(&place)?.map(|stored| stored.token).as_ref() != expected {
            return Ok(Swap::Refused);
        }
        let token = guard.next_token().map_err(failed)?;
        let at = StoreTime::from(SystemTime::now());
        let body = record.to_json().map_err(|error| failed(error.into()))?;
        replace(&place, &[format!("{token}\n").as_bytes(), &body].concat()).map_err(failed)?;
        Ok(Swap::Applied { token: Token::from(token), at: Some(at) })
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        // All processes of one machine share its clock.
        Ok(StoreTime::from(SystemTime::now()))
    }
}

/// The directory's lock, whose file counts the tokens: a key whose file was removed gets no token twice.
struct Guard {
    file: File,
}

impl Guard {
    fn next_token(&mut self) -> io::Result<u64> {
        let mut text = String::new();
        self.file.rewind()?;
        self.file.read_to_string(&mut text)?;
        let last = if text.is_empty() { 0 } else { text.parse::<u64>().map_err(io::Error::other)? };
        self.file.rewind()?;
        // Numbers grow, so the new text covers the old one.
        write!(self.file, "{}", last + 1)?;
        Ok(last + 1)
    }
}

fn read(place: &Path) -> Result<Option<Stored>, BackendError> {
    let bytes = match fs::read(place) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == IoKind::NotFound => return Ok(None),
        Err(error) => return Err(unavailable("reading", place, error)),
    };
    parse(&bytes).map(Some).ok_or_else(|| {
        let message = format!("{} does not hold a token and a record", place.display());
        BackendError::new(ErrorKind::Corrupt, message)
    })
}

fn parse(bytes: &[u8]) -> Option<Stored> {
    let (token, record) = std::str::from_utf8(bytes).ok()?.split_once('\n')?;
    let token = Token::from(token.parse::<u64>().ok()?);
    Some(Stored { record: Record::from_json(record.as_bytes()).ok()?, token })
}

fn replace(place: &Path, body: &[u8]) -> io::Result<()> {
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent)?;
    }
    // `~` is in no name either.
    let draft = place.with_file_name("~draft");
    fs::write(&draft, body)?;
    fs::rename(draft, place)
}

/// Sent or not is not a question here: the rename is the last step, and its failure means that it was not made.
fn unavailable(doing: &str, place: &Path, error: io::Error) -> BackendError {
    BackendError::new(ErrorKind::Unavailable, format!("{doing} {} failed", place.display()))
        .with_source(error)
}

/// A directory of a test's own, removed at its end.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A new one.
    pub fn new() -> io::Result<Scratch> {
        use std::hash::{BuildHasher, Hasher, RandomState};
        let chance = RandomState::new().build_hasher().finish();
        let path = std::env::temp_dir().join(format!("tako-lock-{}-{chance:016x}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Scratch { path })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left of a test is in nobody's way.
        let _ = fs::remove_dir_all(&self.path);
    }
}
