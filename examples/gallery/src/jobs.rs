//! The two jobs, and the locks that they run under.
//!
//! What a job owes to its lock, in the order in which it comes up:
//! 1. It takes its fence first, and every write to the ledger brings it along.
//! 2. It asks [`Ctx::check`] between pictures, and once more before the write that counts.
//! 3. It keeps blocking work off the runtime's threads, where heartbeats may live.

use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tako::prelude::*;
use tako::{Engine, Fence, LockError};
use tokio::task::{JoinError, spawn_blocking};

use crate::index::{self, Content, Photo, Picture, ReadError};
use crate::ledger::{Change, Ledger, LedgerError};
use crate::run::{Kind, Run};

/// The lock of the rebuild. Whoever writes `lock!("reindex")` elsewhere means this one.
static REINDEX: Lock = lock!("reindex");

/// Where imported pictures go, below the folder of pictures.
pub const IMPORTED: &str = "imported";

/// What the jobs work on.
#[derive(Debug)]
pub struct Gallery {
    /// Where the locks are.
    pub engine: Engine,
    /// Where runs and pictures are written down.
    pub ledger: Ledger,
    /// The folder of pictures.
    pub photos: PathBuf,
    /// A rest after each picture, so that people can watch a run. Zero in earnest.
    pub pace: Duration,
}

/// A picture that somebody sends in.
#[derive(Debug)]
pub struct Upload {
    name: String,
    bytes: Vec<u8>,
    picture: Picture,
}

/// Why a job did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The lock was not had, or was lost.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The ledger refused, or failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The folder of pictures is not to be read. The index is left as it was.
    #[error("the folder of pictures cannot be read")]
    Folder(#[source] io::Error),
    /// What was sent in cannot be kept under its name.
    #[error(
        "`{0}` is not a name for a picture: letters, digits, `.`, `-` and `_`, and an extension such as `.png`"
    )]
    BadName(String),
    /// What was sent in is no picture.
    #[error("`{name}` was not imported")]
    NotAPicture {
        /// Its name.
        name: String,
        /// Why not.
        source: ReadError,
    },
    /// There is a picture of that name.
    #[error("a picture `{0}` has been imported before; choose another name")]
    Exists(String),
    /// The picture could not be stored.
    #[error("the picture cannot be stored")]
    Store(#[source] io::Error),
    /// The job was called without its lock.
    #[error("the job does not hold a lock")]
    NotHeld,
    /// The job's own thread or task died.
    #[error("the job died")]
    Died(#[from] JoinError),
}

/// Rebuilds the index if nobody else does: `None` means that somebody holds the lock, and their run will do.
///
/// # Errors
/// As [`Lock::try_run`], and whatever the rebuild meets.
pub async fn reindex(ctx: &Ctx, gallery: &Gallery) -> Result<Option<Run>, JobError> {
    REINDEX
        .try_run(ctx, async |ctx| {
            let run = gallery.ledger.begin(Kind::Reindex, fence(&ctx)?).await?;
            let change = read_all(&ctx, gallery, &run).await;
            settle(&ctx, gallery, run, change).await
        })
        .await
}

/// Takes in one picture. Imports queue: each gets its turn.
///
/// # Errors
/// As [`Lock::run`]; there is a picture of that name, or it cannot be stored.
#[tako::lock("import")]
pub async fn import(ctx: Ctx, gallery: &Gallery, upload: Upload) -> Result<Run, JobError> {
    let run = gallery.ledger.begin(Kind::Import, fence(&ctx)?).await?;
    let change = store(&ctx, gallery, &run, upload).await;
    settle(&ctx, gallery, run, change).await
}

/// The fence of the hold that a job runs under.
fn fence(ctx: &Ctx) -> Result<u64, JobError> {
    ctx.check()?;
    ctx.fence().map(Fence::get).ok_or(JobError::NotHeld)
}

async fn read_all(ctx: &Ctx, gallery: &Gallery, run: &Run) -> Result<Change, JobError> {
    // Only what was known before the walk can be found missing by it: an import may add to the index meanwhile.
    let known = gallery.ledger.photos().await?;
    let mut change = Change { gone: known.into_iter().map(|photo| photo.path).collect(), found: Vec::new() };
    let files = {
        let (ctx, root) = (ctx.clone(), gallery.photos.clone());
        spawn_blocking(move || index::walk(&ctx, &root)).await??
    };
    let total = files.len() as u64;
    gallery.ledger.progress(run, 0, total).await?;
    for (done, file) in (1..).zip(files) {
        ctx.check()?;
        let photo = match file {
            Ok(path) => read(&gallery.photos, path).await,
            Err(broken) => broken,
        };
        if let Content::Broken { error } = &photo.content {
            tracing::warn!(run.id, photo.path, error, "not a picture that can be read");
        }
        change.gone.remove(&photo.path);
        change.found.push(photo);
        gallery.ledger.progress(run, done, total).await?;
        // Four lines a run, whether of ten pictures or of a million.
        if done * 4 / total != (done - 1) * 4 / total {
            tracing::info!(run.id, done, total, "reindex under way");
        }
        rest(ctx, gallery.pace).await;
    }
    Ok(change)
}

async fn read(root: &Path, path: String) -> Photo {
    let (root, name) = (root.to_owned(), path.clone());
    match spawn_blocking(move || Photo::read(&root, path)).await {
        Ok(photo) => photo,
        // A decoder that panics over one file is no reason to lose the others.
        Err(died) => Photo::broken(name, &died),
    }
}

async fn store(ctx: &Ctx, gallery: &Gallery, run: &Run, upload: Upload) -> Result<Change, JobError> {
    let Upload { name, bytes, picture } = upload;
    let folder = gallery.photos.join(IMPORTED);
    let path = format!("{IMPORTED}/{name}");
    gallery.ledger.progress(run, 0, 1).await?;
    rest(ctx, gallery.pace).await;
    ctx.check()?;
    spawn_blocking(move || keep(&folder, name, &bytes)).await??;
    // A crash from here on leaves a picture that is not in the index; the next reindex finds it.
    gallery.ledger.progress(run, 1, 1).await?;
    Ok(Change { found: vec![Photo { path, content: Content::Picture(picture) }], ..Change::default() })
}

impl Upload {
    /// Looks at what was sent in, before it queues for the lock: who holds a lock should have nothing left to refuse.
    ///
    /// # Errors
    /// It cannot be kept under its name, or is no picture.
    pub async fn read(name: String, bytes: Vec<u8>) -> Result<Upload, JobError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
        if name.len() > 100 || !name.chars().all(plain) || !index::is_picture_name(&name) {
            return Err(JobError::BadName(name));
        }
        spawn_blocking(move || match Picture::read(Cursor::new(&bytes)) {
            Ok(picture) => Ok(Upload { name, bytes, picture }),
            Err(source) => Err(JobError::NotAPicture { name, source }),
        })
        .await?
    }
}

/// Whole, or not at all: a reindex that comes by must not find half a picture.
fn keep(folder: &Path, name: String, bytes: &[u8]) -> Result<(), JobError> {
    std::fs::create_dir_all(folder).map_err(JobError::Store)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(JobError::Store)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(JobError::Store)?;
    match file.persist_noclobber(folder.join(&name)) {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Err(JobError::Exists(name)),
        Err(failed) => Err(JobError::Store(failed.error)),
    }
}

/// Writes down how a run ended.
async fn settle(
    ctx: &Ctx,
    gallery: &Gallery,
    run: Run,
    change: Result<Change, JobError>,
) -> Result<Run, JobError> {
    let finished = match change.and_then(|change| Ok(ctx.check().map(|()| change)?)) {
        Ok(change) => gallery.ledger.finish(&run, change).await.map_err(JobError::from),
        Err(error) => Err(error),
    };
    match &finished {
        Ok(run) => tracing::info!(run.id, run.fence, run.done, "{} finished", run.kind.lock()),
        Err(error) => {
            tracing::warn!(run.id, run.fence, %error, "{} failed", run.kind.lock());
            // Safe even when the lock is lost: if somebody else has begun, the fence is refused.
            if let Err(error) = gallery.ledger.fail(&run, error.to_string()).await {
                tracing::warn!(run.id, run.fence, %error, "its failure could not be written down");
            }
        }
    }
    finished
}

async fn rest(ctx: &Ctx, pace: Duration) {
    if !pace.is_zero() {
        ctx.until_cancelled(tokio::time::sleep(pace)).await;
    }
}
