//! Pictures on disk: found, and read as far as an index needs.

use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tako::prelude::*;
use walkdir::{DirEntry, WalkDir};

use crate::jobs::JobError;

/// What is taken for a picture before anybody has looked inside.
const EXTENSIONS: [&str; 8] = ["bmp", "gif", "jpeg", "jpg", "png", "tif", "tiff", "webp"];

/// One entry of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Photo {
    /// Below the folder of pictures, with `/` between its parts.
    pub path: String,
    /// What was found there.
    #[serde(flatten)]
    pub content: Content,
}

/// What a file turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// A picture.
    Picture(Picture),
    /// Called a picture, and cannot be read as one. It stays in the index so that its owner learns of it.
    Broken {
        /// Why not.
        error: String,
    },
}

/// What the index knows of a picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// Its format, by its first bytes: a file's name may lie.
    pub format: String,
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// The file's length.
    pub bytes: u64,
    /// Of the whole file, in hexadecimal.
    pub sha256: String,
}

/// Whether a file of this name is taken for a picture.
pub fn is_picture_name(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    !name.starts_with('.')
        && extension.is_some_and(|own| EXTENSIONS.iter().any(|known| own.eq_ignore_ascii_case(known)))
}

/// Lists the pictures below `root`. What cannot be walked (a folder without permission, a link in a circle) is listed
/// as broken.
///
/// Blocking code may ask the context too, and must: a walk of a million files outlives many a lease.
///
/// # Errors
/// `root` itself cannot be read, which must not look like a folder that has been emptied; or the context has ended.
pub fn walk(ctx: &Ctx, root: &Path) -> Result<Vec<Result<String, Photo>>, JobError> {
    let mut found = Vec::new();
    let visible = |entry: &DirEntry| entry.depth() == 0 || !name_of(entry).starts_with('.');
    for entry in WalkDir::new(root).follow_links(true).sort_by_file_name().into_iter().filter_entry(visible) {
        ctx.check()?;
        match entry {
            Ok(entry) if entry.file_type().is_file() && is_picture_name(&name_of(&entry)) => {
                found.push(Ok(relative(root, entry.path())));
            }
            Ok(_) => {}
            Err(error) if error.depth() == 0 => return Err(JobError::Folder(error.into())),
            Err(error) => {
                let path = error.path().map_or_else(|| "?".to_owned(), |path| relative(root, path));
                found.push(Err(Photo::broken(path, &error)));
            }
        }
    }
    Ok(found)
}

impl Photo {
    /// Reads the picture at `path` below `root`.
    pub fn read(root: &Path, path: String) -> Photo {
        let content = File::open(root.join(&path)).map_err(ReadError::from);
        match content.and_then(|file| Picture::read(BufReader::new(file))) {
            Ok(picture) => Photo { path, content: Content::Picture(picture) },
            Err(error) => Photo::broken(path, &error),
        }
    }

    /// An entry for what could not be read.
    pub fn broken(path: String, error: &dyn std::error::Error) -> Photo {
        Photo { path, content: Content::Broken { error: error.to_string() } }
    }
}

impl Picture {
    /// Reads the header, then the whole for its hash, from one open file: what replaces it meanwhile is another picture.
    ///
    /// # Errors
    /// It cannot be read, or not as a picture.
    pub fn read(mut file: impl io::BufRead + Seek) -> Result<Picture, ReadError> {
        let format = imagesize::reader_type(&mut file)?;
        file.rewind()?;
        let size = imagesize::reader_size(&mut file)?;
        file.rewind()?;
        let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 64 * 1024]);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    hash.update(&buffer[..count]);
                    bytes += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Picture {
            format: format!("{format:?}").to_lowercase(),
            width: size.width,
            height: size.height,
            bytes,
            sha256: hexadecimal(&hash.finalize()),
        })
    }
}

/// Why a file is not a picture.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    File(#[from] io::Error),
    /// What is in it is no picture.
    #[error("the file is not a picture that can be read: {0}")]
    Header(#[from] imagesize::ImageError),
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn name_of(entry: &DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

fn relative(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
