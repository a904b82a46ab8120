//! Reading an object in blocks, on demand.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};

use super::requests::{again, refused, wait};
use crate::storage::Input;
use crate::storage::input::{BLOCK, Blocks};

/// Blocks of an object to keep: together at least one row group.
const KEPT: usize = 4;

/// An object of known size. It may be sent again while it is read; if its name contains a hash, its bytes are still
/// the same.
#[derive(Debug)]
struct Object {
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    /// Blocks by number, the most recently used last.
    blocks: Mutex<VecDeque<(u64, Bytes)>>,
}

/// Opens an object and fetches its first block.
pub(super) fn open(store: Arc<dyn ObjectStore>, path: &object_store::path::Path) -> io::Result<Input> {
    let first = GetOptions { range: Some(GetRange::Bounded(0..BLOCK)), ..GetOptions::default() };
    let (meta, block) = wait(again(async || {
        let failed = match fetch(&*store, path, first.clone()).await {
            Err(error) if error.kind() == io::ErrorKind::Other => error,
            fetched => return fetched,
        };
        // An empty object has no first byte.
        let (meta, _) = fetch(&*store, path, GetOptions::new().with_head(true)).await?;
        if meta.size == 0 { Ok((meta, Bytes::new())) } else { Err(failed) }
    }))?;
    let len = meta.size;
    let blocks = Mutex::new(VecDeque::from([(0, block)]));
    Ok(Input::blocks(Arc::new(Object { store, meta, blocks }), len))
}

impl Blocks for Object {
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
            return Err(io::Error::other("the file was replaced while it was being read"));
        }
        let mut kept = kept();
        kept.push_back((number, block.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(block)
    }
}

/// Fetches an object, or a part of it, with its metadata.
pub(super) async fn fetch(
    store: &dyn ObjectStore,
    path: &object_store::path::Path,
    options: GetOptions,
) -> io::Result<(ObjectMeta, Bytes)> {
    let result = store.get_opts(path, options).await.map_err(refused)?;
    let meta = result.meta.clone();
    Ok((meta, result.bytes().await.map_err(refused)?))
}
