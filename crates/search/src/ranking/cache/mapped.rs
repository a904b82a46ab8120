//! Memory that is a file. It is not copied or decoded, all processes share it, and the system can take it back: an index of a
//! million vectors takes no memory of its own.

use std::fs::File;
use std::io;
use std::ops::Deref;

use arrow::buffer::Buffer;
use memmap2::Mmap;
use stable_deref_trait::StableDeref;
use tantivy::directory::OwnedBytes;

/// Maps a file into memory.
///
/// # Errors
/// The system's; also for an empty file.
pub(super) fn map(file: &File) -> io::Result<Buffer> {
    // SAFETY: nobody may change the file while it is mapped. Files of the cache are written under a name of their own, renamed
    // when they are complete, and never changed after that; to remove one does not touch the mapping. They belong to the user,
    // who is told (SECURITY.md) that nobody else may write to the folder.
    let mapped = unsafe { Mmap::map(file) }?;
    Ok(Buffer::from(bytes::Bytes::from_owner(mapped)))
}

/// Bytes that are where they are however often this value is moved.
struct InPlace(Buffer);

impl Deref for InPlace {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

// SAFETY: a `Buffer` points to an allocation or a mapping that it shares, and does not contain the bytes.
unsafe impl StableDeref for InPlace {}

/// Shares bytes with the keyword index.
pub(super) fn shared(bytes: Buffer) -> OwnedBytes {
    OwnedBytes::new(InPlace(bytes))
}
