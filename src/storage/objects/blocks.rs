//! Reading an object in blocks, as they are asked for.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore};

use super::requests::{again, refused, wait};
use crate::storage::Input;
use crate::storage::input::{BLOCK, Blocks};

/// Blocks of an object that are kept: together at least a row group.
const KEPT: usize = 4;

/// An object whose size is known. It may be sent again while it is read: what has a hash in its name is still the same.
#[derive(Debug)]
struct Object {
    store: Arc<dyn ObjectStore>,
    meta: ObjectMeta,
    /// By number, those that were used last at the end.
    blocks: Mutex<VecDeque<(u64, Bytes)>>,
}

/// Opens an object, and fetches its first block.
pub(super) fn open(store: Arc<dyn ObjectStore>, path: &object_store::path::Path) -> io::Result<Input> {
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

/// An object, or a part of it, with what is known of it.
pub(super) async fn fetch(
    store: &dyn ObjectStore,
    path: &object_store::path::Path,
    options: GetOptions,
) -> io::Result<(ObjectMeta, Bytes)> {
    let result = store.get_opts(path, options).await.map_err(refused)?;
    let meta = result.meta.clone();
    Ok((meta, result.bytes().await.map_err(refused)?))
}
