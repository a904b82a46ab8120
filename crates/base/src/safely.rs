//! Opens files whose names somebody else may have taken.
//!
//! A dataset, a cache or the folder of a model may come from somebody else. Where we expect a file, there may then be
//! a symbolic link to a file elsewhere, or a named pipe or a device, which blocks or never ends. So every file at a
//! known name is opened here: to write, only if the name is free or belongs to a file, not a link; to read, only if
//! it leads to a file. The folders above may be links: people put `data` on another disk.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Creates a file, or empties an existing one. A symbolic link is refused, not followed.
///
/// # Errors
/// The system's; also if the name belongs to anything but a file.
pub fn create(path: &Path) -> io::Result<File> {
    // Emptied only after we know that it is a file.
    let file = open_as(path, File::options().write(true).create(true).truncate(false), true)?;
    file.set_len(0)?;
    Ok(file)
}

/// Creates a file that only its owner may read. Fails if the name belongs to anything.
///
/// # Errors
/// The system's.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    open_as(path, &mut options, true)
}

/// Opens a file to lock and overwrite it, and creates it if it does not exist. A symbolic link is refused, not followed.
///
/// # Errors
/// The system's; also if the name belongs to anything but a file.
pub fn open_to_lock(path: &Path) -> io::Result<File> {
    open_as(path, File::options().read(true).write(true).create(true).truncate(false), true)
}

/// Opens a file for reading. Symbolic links are followed, but named pipes, sockets and devices are refused.
///
/// # Errors
/// The system's; also if the path leads to anything but a file.
pub fn open(path: &Path) -> io::Result<File> {
    // To open some devices has an effect.
    if let Some(kind) = other_kind(fs::metadata(path)?.file_type()) {
        return Err(refused(kind));
    }
    open_as(path, File::options().read(true), false)
}

/// Reads a whole file as [`open`] opens it.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    // The length may be a lie: a file may have holes.
    bytes.try_reserve_exact(usize::try_from(file.metadata()?.len()).unwrap_or_default())?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a folder and its parents that only their owner may read. Succeeds if it exists.
///
/// # Errors
/// The system's.
pub fn create_private_dir(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Fails if the name belongs to a symbolic link.
///
/// # Errors
/// The system's; also if it is a link.
pub fn no_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => Err(refused(LINK)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Fails if the name belongs to anything but a file; for files that a library opens.
///
/// # Errors
/// The system's; also if it is not a file.
pub fn file_or_free(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => other_kind(metadata.file_type()).map_or(Ok(()), |kind| Err(refused(kind))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

const LINK: &str = "a symbolic link, which is not followed";

fn open_as(path: &Path, options: &mut OpenOptions, to_write: bool) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // A pipe without a reader or writer would block. A file ignores this.
        options.custom_flags(if to_write { libc::O_NOFOLLOW | libc::O_NONBLOCK } else { libc::O_NONBLOCK });
    }
    #[cfg(not(unix))]
    if to_write {
        no_link(path)?;
    }
    let file = options.open(path).map_err(|error| {
        // The system's own words for a link are "too many levels", and for a pipe "no device".
        let found = fs::symlink_metadata(path).ok().and_then(|metadata| other_kind(metadata.file_type()));
        found.filter(|kind| to_write || *kind != LINK).map_or(error, refused)
    })?;
    match other_kind(file.metadata()?.file_type()) {
        Some(kind) => Err(refused(kind)),
        None => Ok(file),
    }
}

fn refused(kind: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("there is {kind}, where a file belongs; remove it"))
}

/// Returns what this is with its article, unless it is a file.
fn other_kind(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a FIFO");
        } else if kind.is_socket() {
            return Some("a socket");
        } else if kind.is_block_device() || kind.is_char_device() {
            return Some("a device");
        }
    }
    if kind.is_symlink() {
        Some(LINK)
    } else if kind.is_dir() {
        Some("a folder")
    } else {
        None
    }
}
