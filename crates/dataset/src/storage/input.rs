//! Reading a file, wherever it is.
//!
//! A file in an object store is fetched in blocks on demand. So a reader that wants two columns of a Parquet file
//! does not wait for the others, and a whole file can be read even if it is larger than memory. A few blocks are
//! kept, because columns are read side by side.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;

/// Bytes per fetch.
pub(super) const BLOCK: u64 = 4 << 20;

/// A file that is fetched in blocks of [`BLOCK`] bytes; the last one may be shorter.
pub(super) trait Blocks: Debug + Send + Sync {
    /// Fetches a block by its number.
    fn block(&self, number: u64) -> io::Result<Bytes>;
}

/// A file that is being read.
#[derive(Debug)]
pub struct Input {
    source: InputSource,
    len: u64,
}

#[derive(Debug)]
enum InputSource {
    File(File),
    Blocks { blocks: Arc<dyn Blocks>, at: u64 },
}

impl Input {
    /// Reads a local file.
    ///
    /// # Errors
    /// The system's.
    pub fn file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { source: InputSource::File(file), len })
    }

    /// Reads a file of `len` bytes that is not on this machine.
    pub(super) fn blocks(blocks: Arc<dyn Blocks>, len: u64) -> Self {
        Self { source: InputSource::Blocks { blocks, at: 0 }, len }
    }

    /// Returns the size of the file when it was opened.
    pub fn size(&self) -> u64 {
        self.len
    }

    /// Returns another reader of the same file, at this offset. Readers of a local file share one position.
    ///
    /// # Errors
    /// The system's.
    pub fn reader_at(&self, offset: u64) -> io::Result<Self> {
        let source = match &self.source {
            InputSource::File(file) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(offset))?;
                InputSource::File(file)
            }
            InputSource::Blocks { blocks, .. } => InputSource::Blocks { blocks: Arc::clone(blocks), at: offset },
        };
        Ok(Self { source, len: self.len })
    }
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            InputSource::File(file) => file.read(buf),
            InputSource::Blocks { blocks, at } => {
                if *at >= self.len || buf.is_empty() {
                    return Ok(0);
                }
                let block = blocks.block(*at / BLOCK)?;
                let offset = usize::try_from(*at % BLOCK).unwrap_or(usize::MAX);
                let rest = block.get(offset..).filter(|rest| !rest.is_empty());
                let rest = rest.ok_or(io::ErrorKind::UnexpectedEof)?;
                let len = rest.len().min(buf.len());
                buf[..len].copy_from_slice(&rest[..len]);
                *at += len as u64;
                Ok(len)
            }
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.source {
            InputSource::File(file) => file.seek(to),
            InputSource::Blocks { at, .. } => {
                let place = match to {
                    SeekFrom::Start(place) => Some(place),
                    SeekFrom::End(offset) => self.len.checked_add_signed(offset),
                    SeekFrom::Current(offset) => at.checked_add_signed(offset),
                };
                *at = place.ok_or(io::ErrorKind::InvalidInput)?;
                Ok(*at)
            }
        }
    }
}
