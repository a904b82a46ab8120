//! Files in an object store.
//!
//! An object is there as a whole or not at all, so a file is first made on this machine, without a name, so that it
//! ends with the process, and sent when it gets its name: in one request, or in parts of which a few are in memory at a time. A
//! request that fails is sent again, with growing pauses, as `object_store` does it; what was cut off while it was read
//! is fetched from there on.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::{
    GetOptions, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    UpdateVersion,
};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::{Entry, Input, Output, Storage, Version};

/// Bytes of a part of a file that is sent in parts; services take 10,000 parts at most, of 5 MiB at least.
const PART: u64 = 8 << 20;
const MOST_PARTS: u64 = 9_000;

/// Parts that are in memory at once, on their way.
const SENDING: usize = 4;

/// How long is waited before a conditional request is sent again: twice as long each time, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// Files that are fetched at once.
const FETCHING: usize = 32;

/// A bucket of an object store.
#[derive(Debug)]
pub struct ObjectStorage {
    /// How its paths begin: `s3://bucket`.
    base: String,
    store: Arc<dyn ObjectStore>,
    /// Files of this machine that are being made, by the name that they were created with.
    unsent: Mutex<HashMap<PathBuf, File>>,
}

impl ObjectStorage {
    /// The bucket of a store; `base` is how its paths begin, such as `s3://bucket`.
    #[must_use]
    pub fn new(base: String, store: Arc<dyn ObjectStore>) -> Self {
        Self { base, store, unsent: Mutex::default() }
    }

    /// The key of an object.
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

    /// A file that was created and has not got its name, from its start.
    fn made(&self, path: &Path) -> io::Result<Option<File>> {
        let made = self.unsent().get(path).map(File::try_clone).transpose()?;
        made.map(|mut file| file.rewind().map(|()| file)).transpose()
    }

    fn head(&self, path: &Path) -> io::Result<Option<ObjectMeta>> {
        let key = self.key(path)?;
        match wait(self.store.head(&key))? {
            Ok(meta) => Ok(Some(meta)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(refused(error)),
        }
    }

    /// Sends a file of this machine.
    async fn send(&self, mut file: File, to: &object_store::path::Path) -> io::Result<()> {
        let bytes = file.metadata()?.len();
        if bytes <= PART {
            let mut body = Vec::new();
            file.read_to_end(&mut body)?;
            self.store.put(to, body.into()).await.map_err(refused)?;
            return Ok(());
        }
        let mut upload = self.store.put_multipart(to).await.map_err(refused)?;
        let sent = send_parts(&mut *upload, file, PART.max(bytes.div_ceil(MOST_PARTS))).await;
        if sent.is_err() {
            // What was sent would cost rent. That it cannot be taken back is said by the first failure already.
            let _ = upload.abort().await;
        }
        sent
    }
}

async fn send_parts(upload: &mut dyn MultipartUpload, file: File, size: u64) -> io::Result<()> {
    let mut sending = JoinSet::new();
    loop {
        let mut part = Vec::new();
        (&file).take(size).read_to_end(&mut part)?;
        if part.is_empty() {
            break;
        }
        if sending.len() >= SENDING {
            sent(sending.join_next().await)?;
        }
        sending.spawn(upload.put_part(PutPayload::from(part)));
    }
    while !sending.is_empty() {
        sent(sending.join_next().await)?;
    }
    upload.complete().await.map_err(refused)?;
    Ok(())
}

fn sent(part: Option<Result<object_store::Result<()>, tokio::task::JoinError>>) -> io::Result<()> {
    match part {
        None => Ok(()),
        Some(sent) => sent.map_err(io::Error::other)?.map_err(refused),
    }
}

impl Storage for ObjectStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
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
            wait(self.send(made, &to))??;
            self.unsent().remove(from);
            return Ok(());
        }
        let from = self.key(from)?;
        wait(self.store.rename(&from, &to))?.map_err(refused)
    }

    fn replace(&self, from: &Path, to: &Path, Version(version): &Version) -> io::Result<()> {
        let bytes = Bytes::from(self.read(from)?);
        let key = self.key(to)?;
        let mode = version.clone().map_or(PutMode::Create, PutMode::Update);
        let mut pause = FIRST_PAUSE;
        loop {
            let put = self.store.put_opts(&key, bytes.clone().into(), PutOptions::from(mode.clone()));
            let Err(error) = wait(put)? else { break };
            // It may have been done, and the answer lost. `object_store` does not try this again for itself.
            if wait(fetch(&*self.store, &key))?.is_ok_and(|there| there == bytes) {
                break;
            }
            let error = refused(error);
            if error.kind() != io::ErrorKind::Other || pause > LAST_PAUSE {
                return Err(error);
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
        self.remove_file(from)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        if self.unsent().remove(path).is_some() {
            return Ok(());
        }
        match wait(self.store.delete(&self.key(path)?))? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(refused(error)),
        }
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let key = self.key(path)?;
        let below = self.store.list(Some(&key)).map_ok(|meta| meta.location);
        let removed = wait(async {
            // The whole list first: what is removed may not disturb it.
            let below: Vec<_> = below.try_collect().await?;
            let removing = self.store.delete_stream(stream::iter(below.into_iter().map(Ok)).boxed());
            let ignore_absent = |removed| async move {
                match removed {
                    Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
                    Err(error) => Err(error),
                }
            };
            removing.then(ignore_absent).try_collect::<()>().await
        })?;
        removed.map_err(refused)
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
        let version = |meta: ObjectMeta| UpdateVersion { e_tag: meta.e_tag, version: meta.version };
        Ok(Version(self.head(path)?.map(version)))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let key = self.key(folder)?;
        let listed = wait(self.store.list_with_delimiter(Some(&key)))?.map_err(refused)?;
        let folder = |key| Entry { path: self.path(key), is_folder: true, bytes: 0, modified: None };
        let folders = listed.common_prefixes.iter().map(folder);
        let mut found: Vec<Entry> = folders.chain(listed.objects.iter().map(|meta| self.entry(meta))).collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn files_below(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let key = self.key(folder)?;
        let listed: Vec<ObjectMeta> = wait(self.store.list(Some(&key)).try_collect())?.map_err(refused)?;
        // Where folders are made by hand there are empty objects for them.
        let files = listed.iter().filter(|meta| !meta.location.as_ref().ends_with('/'));
        let mut found: Vec<Entry> = files.map(|meta| self.entry(meta)).collect();
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if let Some(mut made) = self.made(path)? {
            let mut bytes = Vec::new();
            made.read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        let key = self.key(path)?;
        wait(fetch(&*self.store, &key))?.map_err(refused)
    }

    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<Vec<u8>>> {
        let fetched = stream::iter(paths).map(|path| async {
            let key = self.key(path)?;
            fetch(&*self.store, &key).await.map_err(refused)
        });
        match wait(fetched.buffered(FETCHING).collect()) {
            Ok(fetched) => fetched,
            Err(error) => paths.iter().map(|_| Err(io::Error::other(error.to_string()))).collect(),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        if let Some(made) = self.made(path)? {
            return Input::file(made);
        }
        Input::object(Arc::clone(&self.store), &self.key(path)?)
    }
}

async fn fetch(store: &dyn ObjectStore, key: &object_store::path::Path) -> object_store::Result<Vec<u8>> {
    let result = store.get_opts(key, GetOptions::default()).await?;
    Ok(result.bytes().await?.into())
}

/// A file that is sent when it gets its name: until then nothing of it need be durable.
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

impl Output for Unsent {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The system's error for what an object store says.
pub(super) fn refused(error: object_store::Error) -> io::Error {
    use io::ErrorKind;
    let kind = match &error {
        object_store::Error::NotFound { .. } => ErrorKind::NotFound,
        object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. } => {
            ErrorKind::AlreadyExists
        }
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            ErrorKind::PermissionDenied
        }
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// Waits for what goes on in the threads that talk to object stores.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> io::Result<T> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = if let Some(runtime) = RUNTIME.get() {
        runtime
    } else {
        let started = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        RUNTIME.get_or_init(|| started)
    };
    Ok(runtime.block_on(future))
}
