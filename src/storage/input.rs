//! Reading a file, wherever it is.
//!
//! A file in an object store is fetched in blocks, as they are asked for: a reader that wants two columns of a
//! Parquet file does not wait for the others, and one that wants a whole file larger than memory gets it. A few
//! blocks are kept, because columns are read side by side.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};

use super::requests::{again, refused, wait};

/// Bytes that are fetched at once.
const BLOCK: u64 = 4 << 20;

/// Blocks of a file that are kept: together at least a row group.
const KEPT: usize = 4;

/// A file that is being read.
#[derive(Debug)]
pub struct Input {
    source: Source,
    len: u64,
}

#[derive(Debug)]
enum Source {
    File(File),
    Object { object: Arc<Object>, at: u64 },
}

/// An object whose size is known. It may be sent again while it is read: what has a hash in its name is still the same.
#[derive(Debug)]
struct Object {
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    /// By number, those that were used last at the end.
    blocks: Mutex<VecDeque<(u64, Bytes)>>,
}

impl Input {
    /// A file of this machine.
    ///
    /// # Errors
    /// The system's.
    pub fn file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { source: Source::File(file), len })
    }

    /// Opens an object, and fetches its first block.
    pub(super) fn object(store: Arc<dyn ObjectStore>, path: &object_store::path::Path) -> io::Result<Self> {
        let first = GetOptions { range: Some(GetRange::Bounded(0..BLOCK)), ..GetOptions::default() };
        let (meta, block) = wait(again(async || {
            let failed = match fetch(&*store, path, first.clone()).await {
                Err(error) if error.kind() == io::ErrorKind::Other => error,
                fetched => return fetched,
            };
            // There is no first byte in an empty one.
            let (meta, _) = fetch(&*store, path, GetOptions::new().with_head(true)).await?;
            if meta.size == 0 { Ok((meta, Bytes::new())) } else { Err(failed) }
        }))?;
        let len = meta.size;
        let blocks = Mutex::new(VecDeque::from([(0, block)]));
        Ok(Self { source: Source::Object { object: Arc::new(Object { store, meta, blocks }), at: 0 }, len })
    }

    /// Size of the file when it was opened.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.len
    }

    /// Another reader of the same file, at this offset. Readers of a file of this machine have their place in common.
    ///
    /// # Errors
    /// The system's.
    pub fn reader_at(&self, offset: u64) -> io::Result<Self> {
        let source = match &self.source {
            Source::File(file) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(offset))?;
                Source::File(file)
            }
            Source::Object { object, .. } => Source::Object { object: Arc::clone(object), at: offset },
        };
        Ok(Self { source, len: self.len })
    }
}

impl Read for Input {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Source::File(file) => file.read(buf),
            Source::Object { object, at } => {
                if *at >= self.len || buf.is_empty() {
                    return Ok(0);
                }
                let block = object.block(*at / BLOCK)?;
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
            Source::File(file) => file.seek(to),
            Source::Object { at, .. } => {
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

impl Object {
    fn block(&self, number: u64) -> io::Result<Bytes> {
        let kept = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut kept = kept();
            if let Some(place) = kept.iter().position(|(kept, _)| *kept == number) {
                let found = kept.remove(place);
                kept.extend(found.clone());
                return Ok(found.map(|(_, block)| block).unwrap_or_default());
            }
        }
        let start = number * BLOCK;
        let options = GetOptions {
            range: Some(GetRange::Bounded(start..(start + BLOCK).min(self.meta.size))),
            ..GetOptions::default()
        };
        let (meta, block) = wait(again(|| fetch(&*self.store, &self.meta.location, options.clone())))?;
        if meta.size != self.meta.size {
            return Err(io::Error::other("another file took its place while it was read"));
        }
        let mut kept = kept();
        kept.push_back((number, block.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(block)
    }
}

async fn fetch(
    store: &dyn ObjectStore,
    path: &object_store::path::Path,
    options: GetOptions,
) -> io::Result<(ObjectMeta, Bytes)> {
    let result = store.get_opts(path, options).await.map_err(refused)?;
    let meta = result.meta.clone();
    Ok((meta, result.bytes().await.map_err(refused)?))
}
