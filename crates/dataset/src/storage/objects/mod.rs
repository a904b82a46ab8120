//! Files in an object store.
//!
//! An object exists completely or not at all. So a file is first written to an unnamed local file, which
//! disappears with the process, and sent when it is renamed: in one request, or in parts, a few of which are in
//! memory at a time.
//!
//! `object_store` retries failed requests with exponential back-off. What it leaves to its caller is retried here:
//! a list or an upload whose answer was cut off, and a conditional request, which may have been answered.
//!
//! `services` decides which store a URL names and which credentials it uses; `requests` has what all requests
//! share; `blocks` reads an object piece by piece.

mod blocks;
mod requests;
pub(super) mod services;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::TryFutureExt;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::{
    GetOptions, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    UpdateVersion,
};
use tokio::task::JoinSet;

use super::entry::{Entry, Tag, Version};
use super::files::{OutputFile, Storage};
use super::input::Input;
use requests::{again, refused, wait};

/// Bytes per part of a multipart upload. Services accept at most 10,000 parts, of at least 5 MiB each.
const PART: u64 = 8 << 20;
const MOST_PARTS: u64 = 9_000;

/// Number of parts in memory at once while they are being sent.
const SENDING: usize = 4;

/// Number of files fetched at once.
const FETCHING: usize = 32;

/// A bucket of an object store.
#[derive(Debug)]
pub struct ObjectStorage {
    /// Prefix of its paths: `s3://bucket`.
    base: String,
    store: Arc<dyn ObjectStore>,
    /// Local files that are being written, by the name they were created with.
    unsent: Mutex<HashMap<PathBuf, File>>,
}

impl ObjectStorage {
    /// Creates the storage for a bucket; `base` is the prefix of its paths, for example `s3://bucket`.
    #[must_use]
    pub fn new(base: String, store: Arc<dyn ObjectStore>) -> Self {
        Self { base, store, unsent: Mutex::default() }
    }

    /// Returns the key of an object.
    fn key(&self, path: &Path) -> io::Result<object_store::path::Path> {
        let text = path.to_str().map(|text| if cfg!(windows) { text.replace('\\', "/") } else { text.to_owned() });
        let key = text.as_deref().and_then(|text| text.strip_prefix(&*self.base));
        let key = key.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("is not in {}", self.base)))?;
        object_store::path::Path::parse(key).map_err(io::Error::other)
    }

    fn path(&self, key: &object_store::path::Path) -> PathBuf {
        PathBuf::from(format!("{}/{key}", self.base))
    }

    fn entry(&self, meta: &ObjectMeta) -> Entry {
        let (path, modified) = (self.path(&meta.location), Some(meta.last_modified.into()));
        Entry { path, is_folder: false, bytes: meta.size, modified }
    }

    fn unsent(&self) -> MutexGuard<'_, HashMap<PathBuf, File>> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a file that was created but not yet renamed.
    fn made(&self, path: &Path) -> io::Result<Option<File>> {
        let made = self.unsent().get(path).map(File::try_clone).transpose()?;
        made.map(|mut file| file.rewind().map(|()| file)).transpose()
    }

    fn head(&self, path: &Path) -> io::Result<Option<ObjectMeta>> {
        let key = self.key(path)?;
        // The bucket itself is not an object.
        if key.as_ref().is_empty() {
            return Ok(None);
        }
        match wait(again(|| self.store.head(&key).map_err(refused))) {
            Ok(meta) => Ok(Some(meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a local file.
    async fn send(&self, mut file: &File, to: &object_store::path::Path) -> io::Result<()> {
        let bytes = file.metadata()?.len();
        file.rewind()?;
        if bytes <= PART {
            let mut body = Vec::new();
            file.read_to_end(&mut body)?;
            self.store.put(to, body.into()).await.map_err(refused)?;
            return Ok(());
        }
        let mut upload = self.store.put_multipart(to).await.map_err(refused)?;
        let sent = send_parts(&mut *upload, file, PART.max(bytes.div_ceil(MOST_PARTS))).await;
        if sent.is_err() {
            // Parts that stay behind would be billed. If the abort fails too, the first error is the one to
            // report.
            let _ = upload.abort().await;
        }
        sent
    }
}

async fn send_parts(upload: &mut dyn MultipartUpload, file: &File, size: u64) -> io::Result<()> {
    let mut sending = JoinSet::new();
    loop {
        let mut part = Vec::new();
        file.take(size).read_to_end(&mut part)?;
        let is_last = part.is_empty();
        if !is_last {
            sending.spawn(upload.put_part(PutPayload::from(part)));
        }
        while sending.len() >= SENDING || (is_last && !sending.is_empty()) {
            let sent = sending.join_next().await.transpose().map_err(io::Error::other)?;
            sent.transpose().map_err(refused)?;
        }
        if is_last {
            // Any failure may pass, including a lost answer to a completed upload: the whole file is sent again.
            return upload.complete().await.map(drop).map_err(io::Error::other);
        }
    }
}

impl Storage for ObjectStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        let file = tempfile::tempfile()?;
        let output = Unsent(file.try_clone()?);
        self.unsent().insert(path.to_owned(), file);
        Ok(Box::new(output))
    }

    fn create_dir_all(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let to = self.key(to)?;
        if let Some(made) = self.made(from)? {
            wait(again(|| self.send(&made, &to)))?;
            self.unsent().remove(from);
            return Ok(());
        }
        let key = self.key(from)?;
        wait(again(|| self.store.copy(&key, &to).map_err(refused)))?;
        self.remove_file(from)
    }

    fn replace(&self, from: &Path, to: &Path, Version(version): &Version) -> io::Result<()> {
        let bytes = Bytes::from(self.read(from)?);
        let key = self.key(to)?;
        let update = |Tag { e_tag, version }| PutMode::Update(UpdateVersion { e_tag, version });
        let mode = version.clone().map_or(PutMode::Create, update);
        wait(again(async || {
            let put = self.store.put_opts(&key, bytes.clone().into(), PutOptions::from(mode.clone()));
            let Err(error) = put.await.map_err(refused) else { return Ok(()) };
            // The write may have succeeded and its answer been lost.
            match again(|| fetch(&*self.store, &key)).await {
                Ok(there) if there == bytes => Ok(()),
                Ok(_) => Err(error),
                // Nothing is there, as expected: whatever the request conflicted with is gone, so it is tried
                // again.
                Err(absent) if absent.kind() == io::ErrorKind::NotFound && version.is_none() => {
                    Err(io::Error::other(error))
                }
                Err(unknown) => Err(unknown),
            }
        }))?;
        self.remove_file(from)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        if self.unsent().remove(path).is_some() {
            return Ok(());
        }
        let key = self.key(path)?;
        match wait(again(|| self.store.delete(&key).map_err(refused))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let key = self.key(path)?;
        wait(again(async || {
            // The whole list first: removals might disturb it.
            let below = self.store.list(Some(&key)).map_ok(|meta| meta.location);
            let below: Vec<_> = below.try_collect().await.map_err(refused)?;
            let mut removing = self.store.delete_stream(stream::iter(below.into_iter().map(Ok)).boxed());
            while let Some(removed) = removing.next().await {
                match removed {
                    Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => return Err(refused(error)),
                }
            }
            Ok(())
        }))
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn is_object_store(&self) -> bool {
        true
    }

    fn find(&self, path: &Path) -> io::Result<Option<Entry>> {
        Ok(self.head(path)?.as_ref().map(|meta| self.entry(meta)))
    }

    fn version(&self, path: &Path) -> io::Result<Version> {
        let version = |meta: ObjectMeta| Tag { e_tag: meta.e_tag, version: meta.version };
        Ok(Version(self.head(path)?.map(version)))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let key = self.key(folder)?;
        let listed = wait(again(|| self.store.list_with_delimiter(Some(&key)).map_err(refused)))?;
        let below = |key| Entry { path: self.path(key), is_folder: true, bytes: 0, modified: None };
        let folders = listed.common_prefixes.iter().map(below);
        let found = folders.chain(listed.objects.iter().map(|meta| self.entry(meta))).collect();
        Ok(without_markers(found, folder))
    }

    fn files_below(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let key = self.key(folder)?;
        let listed: Vec<ObjectMeta> = wait(again(|| self.store.list(Some(&key)).try_collect().map_err(refused)))?;
        Ok(without_markers(listed.iter().map(|meta| self.entry(meta)).collect(), folder))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if let Some(mut made) = self.made(path)? {
            let mut bytes = Vec::new();
            made.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let key = self.key(path)?;
        wait(again(|| fetch(&*self.store, &key)))
    }

    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<Vec<u8>>> {
        let fetched = stream::iter(paths).map(|path| async {
            let key = self.key(path)?;
            again(|| fetch(&*self.store, &key)).await
        });
        let fetched = async { Ok(fetched.buffered(FETCHING).collect().await) };
        // Without threads to wait in, all of them fail for the same reason.
        wait(fetched).unwrap_or_else(|error| paths.iter().map(|_| Err(io::Error::other(error.to_string()))).collect())
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        if let Some(made) = self.made(path)? {
            return Input::file(made);
        }
        blocks::open(Arc::clone(&self.store), &self.key(path)?)
    }
}

async fn fetch(store: &dyn ObjectStore, key: &object_store::path::Path) -> io::Result<Vec<u8>> {
    let (_, bytes) = blocks::fetch(store, key, GetOptions::default()).await?;
    Ok(bytes.into())
}

/// Sorts the entries of a folder by path and removes markers: a folder that was created by hand is an empty object
/// with the folder's name, which is not a file.
fn without_markers(mut found: Vec<Entry>, folder: &Path) -> Vec<Entry> {
    found.sort_by(|a, b| a.path.cmp(&b.path));
    let is_above = |entry: &Entry, next: Option<&Entry>| next.is_some_and(|next| next.path.starts_with(&entry.path));
    let is_marker: Vec<bool> = (0..found.len())
        .map(|at| {
            let entry = &found[at];
            let is_empty = !entry.is_folder && entry.bytes == 0;
            is_empty && (entry.path == folder || is_above(entry, found.get(at + 1)) || is_twin(entry, at, &found))
        })
        .collect();
    let mut is_marker = is_marker.into_iter();
    found.retain(|_| !is_marker.next().unwrap_or_default());
    found
}

/// Returns whether the entry before it is the folder of the same name.
fn is_twin(entry: &Entry, at: usize, found: &[Entry]) -> bool {
    at > 0 && found[at - 1].is_folder && found[at - 1].path == entry.path
}

/// A local file that is sent when it is renamed. Until then nothing needs to be durable.
#[derive(Debug)]
struct Unsent(File);

impl Write for Unsent {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl OutputFile for Unsent {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
