//! Files as the harness reads and writes them: text in UTF-8 with the place of what is not, files that are replaced
//! at once, and folders that must not be written into.

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use chunkmill::error::{Error, Result};
use chunkmill::safely;

/// A decoded text file.
#[derive(Debug, Default)]
pub(crate) struct TextFile {
    /// The text, without a byte order mark unless it was asked for. Bytes that are not UTF-8 are replaced.
    pub(crate) text: String,
    /// The lines, from 1, in which something was replaced.
    pub(crate) broken: Vec<usize>,
}

impl TextFile {
    /// Reads a file of lines, some of which may be broken. `help` is for a file that cannot be read.
    ///
    /// # Errors
    /// [`Error::Named`] or [`Error::Io`] if it cannot be read, [`Error::Setting`] if it is UTF-16 or UTF-32.
    pub(crate) fn read(path: &Path, help: &str) -> Result<Self> {
        let mut read = Self::with_mark(path, help)?;
        if read.text.starts_with(MARK) {
            read.text.drain(..MARK.len_utf8());
        }
        Ok(read)
    }

    /// Reads a file like [`TextFile::read`], and keeps its byte order mark, which counts in offsets.
    pub(crate) fn with_mark(path: &Path, help: &str) -> Result<Self> {
        let bytes = fs::read(path).map_err(Error::named(path, help))?;
        let wide = [&b"\xff\xfe"[..], b"\xfe\xff", b"\0\0\xfe\xff"].iter().any(|mark| bytes.starts_with(mark));
        // In UTF-16 without a mark, every other byte of plain text is 0; JSON and CSV contain none.
        if wide || bytes.iter().take(64).filter(|&&byte| byte == 0).count() > 8 {
            return Err(not_utf8(path, 1, "is UTF-16 or UTF-32"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { text, broken: Vec::new() }),
            Err(error) => {
                let lines = error.as_bytes().split(|&byte| byte == b'\n').enumerate();
                let broken = lines.filter(|(_, line)| str::from_utf8(line).is_err()).map(|(at, _)| at + 1).collect();
                Ok(Self { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), broken })
            }
        }
    }

    /// Reads a file without a byte order mark in which nothing may be broken.
    ///
    /// # Errors
    /// Those of [`TextFile::read`], and [`Error::Setting`] with the line of what is not UTF-8.
    pub(crate) fn whole(path: &Path, help: &str) -> Result<String> {
        Self::read(path, help)?.unbroken(path)
    }

    /// Returns the text, or an error with the first broken line.
    pub(crate) fn unbroken(self, path: &Path) -> Result<String> {
        match self.broken.first() {
            Some(&line) => Err(not_utf8(path, line, NOT_UTF8)),
            None => Ok(self.text),
        }
    }
}

/// The byte order mark that some programs write before UTF-8.
const MARK: char = '\u{feff}';

/// The problem of a broken line.
pub(crate) const NOT_UTF8: &str = "is not UTF-8";

fn not_utf8(path: &Path, line: usize, problem: &str) -> Error {
    Error::setting(format!("{}:{line}", path.display()), problem, "save the file as UTF-8")
}

/// Writes a file atomically: under another name first. Creates its folder if necessary.
///
/// # Errors
/// [`Error::Io`] if it cannot be written.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let write = || {
        let mut file = safely::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&part);
        Error::io("write", path)(error)
    })
}

/// Writes a new file and waits until it is on disk. Creates its folder if necessary.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let write = || {
        let mut file = safely::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(Error::io("write", path))
}

/// Waits until the names in a folder are on disk, where the system can do that.
pub(crate) fn sync_folder(folder: &Path) {
    // Some systems cannot open a folder. Then its names are as safe as the system keeps them.
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

/// Renames a file or folder.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::io("rename", from))
}

/// Removes a file if it exists.
pub(crate) fn remove_file(path: &Path) -> Result<()> {
    gone(fs::remove_file(path), path)
}

/// Removes a file, a link, or a folder with all it contains, if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    gone(if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) }, path)
}

fn gone(removed: io::Result<()>, path: &Path) -> Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Refuses to write into a folder of documents: what is written there would be read as documents later.
///
/// # Errors
/// [`Error::Setting`] if `out` is that folder or inside it.
pub(crate) fn refuse_inside(out: &Path, documents: &Path) -> Result<()> {
    let (out_at, documents_at) = (real(out), real(documents));
    if documents_at.is_dir() && out_at.starts_with(&documents_at) {
        return Err(refused(out, format!("is inside the documents in {}", documents.display())));
    }
    Ok(())
}

/// Refuses to replace a folder that contains the documents which are read, or to write into them.
///
/// # Errors
/// [`Error::Setting`] if one of the two is inside the other.
pub(crate) fn refuse_overlap(out: &Path, documents: &Path) -> Result<()> {
    refuse_inside(out, documents)?;
    if documents.exists() && real(documents).starts_with(real(out)) {
        return Err(refused(out, format!("contains the documents in {}", documents.display())));
    }
    Ok(())
}

fn refused(out: &Path, problem: String) -> Error {
    let help = "name an empty or new folder beside the documents with -o".to_owned();
    Error::setting(out.display().to_string(), problem, help)
}

/// Returns a path without links, `.` and `..`. A part that does not exist yet is kept.
fn real(path: &Path) -> PathBuf {
    let mut real = std::env::current_dir().unwrap_or_default();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(real.pop()),
            part => real.push(part),
        }
        real = fs::canonicalize(&real).unwrap_or(real);
    }
    real
}
