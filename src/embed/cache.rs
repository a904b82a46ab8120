//! Vectors that outlive a run: what was computed once is not computed again, by any run that has the
//! same text and model, and a run that was killed goes on where it ended.
//!
//! A [`Cache`] is one `SQLite` database that several processes use at once. A row's key is a hash of
//! everything that decides a vector to the last bit ([`Space`], then the token ids), so nothing in it
//! is ever out of date. Rows are written twice a second, while the run goes on.
//!
//! A cache is a convenience. Each row has a checksum, and one that fails it is removed; a damaged
//! database is moved aside. Whatever else is wrong (no room, no permission, locked for long) ends in
//! one warning and a run without a cache: never in a failed job, and never in another vector.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use blake3::Hash;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};

use super::Embedder;
use crate::error::{Error, Result};

/// Bytes on disk when nothing else is said.
pub const DEFAULT_LIMIT: u64 = 4 << 30;

/// The smallest limit that leaves room for vectors beside the database's own pages.
pub const MIN_LIMIT: u64 = 4 << 20;

/// The database's name; another layout of its tables gets another name.
const FILE: &str = "embeddings-v1.sqlite";

/// Longest time that a computed vector waits to be written.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long another process may hold the database before this one goes on without it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes of vectors that may wait; then who brings more has to wait for the disk.
const MAX_PENDING: usize = 8 << 20;

/// Bytes of a page. Rows of the usual 384 to 1024 values fill one well.
const PAGE: u64 = 16 << 10;

/// Rows that are read in one transaction, so that they are not in memory twice.
const READ_AT_ONCE: usize = 4096;

/// A row that was used within this time, in milliseconds, is not written to say that it is used again.
const RECENT: i64 = 3_600_000;

/// Bytes of a key, and of a checksum.
const HASH: usize = 16;

/// Everything but the text that decides a vector to the last bit. Vectors of two spaces never meet.
#[derive(Debug, Clone, Copy)]
pub struct Space {
    key: [u8; 32],
    dim: usize,
}

impl Space {
    /// The space of an embedder's vectors. Another release of chunkmill may round differently, so it
    /// has spaces of its own.
    #[must_use]
    pub fn of(embedder: &dyn Embedder) -> Self {
        let info = embedder.info();
        let parts = [env!("CARGO_PKG_VERSION"), &info.fingerprint, &info.arithmetic, &info.dim.to_string()];
        Self { key: *blake3::hash(parts.join("\n").as_bytes()).as_bytes(), dim: info.dim }
    }

    fn key(&self, text: &Hash) -> Hash {
        blake3::keyed_hash(&self.key, text.as_bytes())
    }
}

/// A store of vectors on disk, shared by threads and processes. What was put in is written within a
/// second, and when it is dropped.
#[derive(Debug)]
pub struct Cache {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    limit: u64,
    pending: Mutex<Pending>,
    wake: Condvar,
    /// `None` after trouble. Never locked together with `pending`.
    store: Mutex<Option<Store>>,
    told_of_damage: AtomicBool,
}

/// What is to be written.
#[derive(Debug, Default)]
struct Pending {
    rows: Vec<(Hash, Vec<u8>)>,
    used: Vec<Hash>,
    damaged: Vec<Hash>,
    bytes: usize,
    closing: bool,
}

impl Cache {
    /// Opens the cache in a folder, which is made if need be. It takes at most `limit` bytes on disk:
    /// what was not used for the longest time goes first.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder or the database cannot be written, or another process holds it for
    /// seconds. A damaged database is no error: it is moved aside.
    pub fn open(folder: &Path, limit: u64) -> Result<Self> {
        let limit = limit.max(MIN_LIMIT);
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            limit,
            pending: Mutex::default(),
            wake: Condvar::new(),
            store: Mutex::new(Some(Store::open(folder, limit, false)?)),
            told_of_damage: AtomicBool::new(false),
        });
        let at_work = Arc::clone(&shared);
        let writer = thread::Builder::new().name("cache".to_owned()).spawn(move || at_work.write_now_and_then());
        Ok(Self { shared, writer: Some(writer.map_err(Error::io("start a thread for", folder))?) })
    }

    /// The vectors of texts, by the hash of what the model reads of each. `None` for those that are
    /// not here, or not as they were written.
    #[must_use]
    pub fn get(&self, space: &Space, texts: &[Hash]) -> Vec<Option<Vec<f32>>> {
        let shared = &*self.shared;
        shared.flush();
        let mut vectors = vec![None; texts.len()];
        let mut damaged = false;
        for (texts, vectors) in texts.chunks(READ_AT_ONCE).zip(vectors.chunks_mut(READ_AT_ONCE)) {
            let keys: Vec<Hash> = texts.iter().map(|text| space.key(text)).collect();
            let Some(found) = shared.with_store(|store| store.read(&keys)) else { break };
            let mut pending = lock(&shared.pending);
            for ((key, found), vector) in keys.iter().zip(found).zip(vectors) {
                let Some(found) = found else { continue };
                *vector = decode(key, &found.blob, space.dim);
                if vector.is_none() {
                    damaged = true;
                    pending.damaged.push(*key);
                } else if found.used < now() - RECENT {
                    pending.used.push(*key);
                }
            }
        }
        if damaged && !shared.told_of_damage.swap(true, Ordering::Relaxed) {
            let path = shared.folder.join(FILE);
            tracing::warn!("{}: vectors there are damaged; they are removed and computed again", path.display());
        }
        vectors
    }

    /// Puts in vectors of texts, by the hash of what the model read of each.
    pub fn put<'v>(&self, space: &Space, vectors: impl Iterator<Item = (Hash, &'v [f32])>) {
        let shared = &*self.shared;
        let rows = vectors.filter(|(_, vector)| vector.len() == space.dim && is_finite(vector));
        let rows: Vec<(Hash, Vec<u8>)> = rows.map(|(text, vector)| encode(space.key(&text), vector)).collect();
        let mut pending = lock(&shared.pending);
        pending.bytes += rows.iter().map(|(_, blob)| blob.len()).sum::<usize>();
        pending.rows.extend(rows);
        let bytes = pending.bytes;
        drop(pending);
        if bytes > MAX_PENDING {
            shared.flush();
        } else if bytes > Budget::of(shared.limit).transaction {
            shared.wake.notify_one();
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        lock(&self.shared.pending).closing = true;
        self.shared.wake.notify_one();
        // A writer that panicked has said so; the cache is whole in any case.
        let _ = self.writer.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn write_now_and_then(&self) {
        loop {
            let pending = lock(&self.pending);
            let idle = |pending: &mut Pending| !pending.closing && pending.bytes <= Budget::of(self.limit).transaction;
            let waited = self.wake.wait_timeout_while(pending, INTERVAL, idle);
            let (pending, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let closing = pending.closing;
            drop(pending);
            self.flush();
            if closing {
                return;
            }
        }
    }

    /// Writes what waits.
    fn flush(&self) {
        let taken = {
            let mut pending = lock(&self.pending);
            let closing = pending.closing;
            std::mem::replace(&mut *pending, Pending { closing, ..Pending::default() })
        };
        if !(taken.rows.is_empty() && taken.used.is_empty() && taken.damaged.is_empty()) {
            self.with_store(|store| store.write(&taken));
        }
    }

    /// Works on the database, if there is one. After a failure there is none, or a new one.
    fn with_store<T>(&self, work: impl FnOnce(&mut Store) -> rusqlite::Result<T>) -> Option<T> {
        let mut guard = lock(&self.store);
        let error = match work(guard.as_mut()?) {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        // Closed before anything else, so that it can be moved.
        *guard = None;
        let path = self.folder.join(FILE);
        if !is_damage(&error) {
            tracing::warn!("{}: {error}; this run goes on without a cache of vectors", path.display());
            return None;
        }
        match Store::open(&self.folder, self.limit, true) {
            Ok(store) => *guard = Some(store),
            Err(error) => tracing::warn!("{error}; this run goes on without a cache of vectors"),
        }
        None
    }
}

/// A vector on disk.
struct Found {
    blob: Vec<u8>,
    used: i64,
}

/// How the limit is shared out.
struct Budget {
    /// Bytes of vectors in a transaction.
    transaction: usize,
    /// Rows that are changed or removed in a transaction: keys are scattered, a page may hold but one.
    rows: usize,
    /// Bytes of the write-ahead log after which it is worked into the database.
    log: u64,
    /// Bytes of the database.
    database: u64,
}

impl Budget {
    fn of(limit: u64) -> Self {
        let log = (limit / 16).min(8 << 20);
        // The log grows past its bound by what one transaction writes, and by more while the database
        // shrinks; beside it is a small index of it.
        let number = |of: u64| usize::try_from(of).unwrap_or(usize::MAX);
        Self { transaction: number(log / 4), rows: number(2 * log / PAGE), log, database: limit - 4 * log }
    }
}

/// The open database.
#[derive(Debug)]
struct Store {
    connection: Connection,
    log: PathBuf,
    limit: u64,
    /// Shared by all who have the database open: nobody may move it then. Released when dropped, which
    /// is after the connection.
    _in_use: File,
}

impl Store {
    /// Opens the database; one that is damaged, or known to be, is moved aside first.
    fn open(folder: &Path, limit: u64, damaged: bool) -> Result<Self> {
        make_private(folder).map_err(Error::io("create", folder))?;
        let path = folder.join(FILE);
        let lock_file = |name: &str| {
            let path = folder.join(name);
            let file = File::options().create(true).truncate(false).write(true).open(&path);
            file.map_err(Error::io("write", path))
        };
        // Held while it is opened: two processes must not create, judge or move it at once.
        let opening = lock_file("opening.lock")?;
        lock_within(PATIENCE, || opening.try_lock()).map_err(Error::io("lock", &path))?;
        let in_use = lock_file("in-use.lock")?;
        let connected = if damaged { None } else { Some(connect(&path, limit)) };
        let connection = match connected {
            Some(Err(error)) if !is_damage(&error) => Err(error),
            Some(Ok(connection)) => Ok(connection),
            None | Some(Err(_)) => {
                in_use.try_lock().map_err(io::Error::from).map_err(Error::io("move aside the damaged", &path))?;
                let aside = move_aside(&path).map_err(Error::io("move aside the damaged", &path))?;
                let (path, aside) = (path.display(), aside.display());
                tracing::warn!("{path} is damaged; it was moved to {aside}, and a new one is begun");
                in_use.unlock().map_err(Error::io("unlock", folder))?;
                connect(&folder.join(FILE), limit)
            }
        };
        let connection = connection.map_err(|error| Error::io("open", &path)(io::Error::other(error)))?;
        lock_within(PATIENCE, || in_use.try_lock_shared()).map_err(Error::io("lock", &path))?;
        Ok(Self { connection, log: beside(&path, "-wal"), limit, _in_use: in_use })
    }

    fn read(&mut self, keys: &[Hash]) -> rusqlite::Result<Vec<Option<Found>>> {
        // One snapshot for all of them.
        let transaction = self.connection.transaction()?;
        let mut select = transaction
            .prepare("SELECT vectors.vector, texts.used FROM texts JOIN vectors USING (id) WHERE texts.key = ?1")?;
        let mut find = |key: &Hash| {
            select.query_row([short(key)], |row| Ok(Found { blob: row.get(0)?, used: row.get(1)? })).optional()
        };
        keys.iter().map(&mut find).collect()
    }

    fn write(&mut self, pending: &Pending) -> rusqlite::Result<()> {
        let Pending { rows, used, damaged, .. } = pending;
        let budget = Budget::of(self.limit);
        for keys in damaged.chunks(budget.rows) {
            self.remove(keys.iter().map(short))?;
        }
        // Neighbours share a page.
        let mut used: Vec<&[u8]> = used.iter().map(short).collect();
        used.sort_unstable();
        for keys in used.chunks(budget.rows) {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut update = transaction.prepare("UPDATE texts SET used = ?2 WHERE key = ?1")?;
            keys.iter().try_for_each(|key| update.execute(params![key, now()]).map(drop))?;
            drop(update);
            transaction.commit()?;
        }
        let row_bytes = rows.first().map_or(1, |(_, blob)| blob.len());
        for rows in rows.chunks((budget.transaction / row_bytes).max(1)) {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut is_there = transaction.prepare("SELECT 1 FROM texts JOIN vectors USING (id) WHERE key = ?1")?;
                let mut vector = transaction.prepare("INSERT INTO vectors (vector) VALUES (?1)")?;
                let mut text =
                    transaction.prepare("INSERT OR REPLACE INTO texts (key, id, used) VALUES (?1, ?2, ?3)")?;
                for (key, blob) in rows {
                    // Another process may have been faster.
                    if !is_there.exists([short(key)])? {
                        let id = vector.insert([blob])?;
                        text.execute(params![short(key), id, now()])?;
                    }
                }
            }
            transaction.commit()?;
            self.keep_limit()?;
        }
        // Also where nothing is new: the limit may be lower than it was.
        self.keep_limit()
    }

    /// Removes rows by their keys, in one transaction.
    fn remove<'k>(&mut self, mut keys: impl Iterator<Item = &'k [u8]>) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let mut vector =
                transaction.prepare("DELETE FROM vectors WHERE id = (SELECT id FROM texts WHERE key = ?1)")?;
            let mut text = transaction.prepare("DELETE FROM texts WHERE key = ?1")?;
            keys.try_for_each(|key| vector.execute([key]).and_then(|_| text.execute([key])).map(drop))?;
        }
        transaction.commit()
    }

    /// Removes what was not used for the longest time until the database is well below its limit.
    fn keep_limit(&mut self) -> rusqlite::Result<()> {
        let Budget { database, log, rows, .. } = Budget::of(self.limit);
        // With others at work, what SQLite does by itself does not make the log start anew.
        if fs::metadata(&self.log).is_ok_and(|file| file.len() > 2 * log) {
            self.checkpoint()?;
        }
        if self.bytes()? <= database {
            return Ok(());
        }
        while self.bytes()? > database - database / 16 {
            let oldest: Vec<Vec<u8>> = {
                let count: i64 = self.connection.query_row("SELECT count(*) FROM texts", [], |row| row.get(0))?;
                let mut select = self.connection.prepare("SELECT key FROM texts ORDER BY used, id LIMIT ?1")?;
                select.query_map([count / 16 + 1], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
            };
            if oldest.is_empty() {
                // What is left are vectors whose keys were lost to damage.
                self.connection.execute("DELETE FROM vectors", [])?;
                self.give_back()?;
                break;
            }
            for keys in oldest.chunks(rows) {
                self.remove(keys.iter().map(Vec::as_slice))?;
                self.give_back()?;
            }
        }
        Ok(())
    }

    /// Makes the file smaller by the pages that are free.
    fn give_back(&self) -> rusqlite::Result<()> {
        let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum")?;
        // Each step frees one page.
        let mut steps = vacuum.query([])?;
        while steps.next()?.is_some() {}
        self.checkpoint()
    }

    /// Works the log into the database. Nothing more is written before that is done: `SQLite` refuses
    /// at once while another process is at it, and who then went on to write would keep that one from
    /// ending.
    fn checkpoint(&self) -> rusqlite::Result<()> {
        let started = Instant::now();
        while self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))? {
            if started.elapsed() > PATIENCE {
                let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                return Err(rusqlite::Error::SqliteFailure(busy, Some("its log is in use for long".to_owned())));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn bytes(&self) -> rusqlite::Result<u64> {
        let pages: i64 = self.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        Ok(PAGE * u64::try_from(pages).unwrap_or_default())
    }
}

/// Connects to the database and makes its tables if it is new.
fn connect(path: &Path, limit: u64) -> rusqlite::Result<Connection> {
    // One thread at a time uses it, as `Shared::store` sees to.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    let log = Budget::of(limit).log;
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if pages == 0 {
        // These two count for a new database only, and before it is one with a log.
        connection.execute_batch(&format!("PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = INCREMENTAL;"))?;
    }
    // NORMAL: a committed row survives the end of the process at once, and of the machine soon after.
    connection.execute_batch(&format!(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = NORMAL;
         PRAGMA wal_autocheckpoint = {};
         PRAGMA journal_size_limit = {log};
         PRAGMA cell_size_check = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL);
         CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, id INTEGER NOT NULL, used INTEGER NOT NULL)
             WITHOUT ROWID;",
        log / PAGE
    ))?;
    // Both tables have a first page that can be read.
    connection.query_row("SELECT max(id) FROM vectors", [], |_| Ok(()))?;
    connection.query_row("SELECT max(key) FROM texts", [], |_| Ok(()))?;
    Ok(connection)
}

/// Whether an error says that the file is not a sound database.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        // A column of another type than it was written with.
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::IntegralValueOutOfRange(..) => true,
        _ => matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
    }
}

/// Gives a damaged database another name, over an older one there. Its log says nothing without it.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = beside(path, ".damaged");
    fs::rename(path, &aside)?;
    for ending in ["-wal", "-shm"] {
        match fs::remove_file(beside(path, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}

/// The path with something after its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes a folder that only its owner reads: vectors tell much of the texts they come from.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Tries a lock until it is had or the time is over.
fn lock_within(time: Duration, attempt: impl Fn() -> Result<(), TryLockError>) -> io::Result<()> {
    let started = Instant::now();
    loop {
        match attempt() {
            Err(TryLockError::WouldBlock) if started.elapsed() < time => thread::sleep(Duration::from_millis(10)),
            tried => return tried.map_err(io::Error::from),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In milliseconds since 1970: when a row is used.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The part of a key that rows are found by. The checksum covers all of it.
fn short(key: &Hash) -> &[u8] {
    &key.as_bytes()[..HASH]
}

/// A row: a checksum over key and vector, then the vector.
fn encode(key: Hash, vector: &[f32]) -> (Hash, Vec<u8>) {
    let mut blob = vec![0; HASH];
    blob.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
    let sum = checksum(&key, &blob[HASH..]);
    blob[..HASH].copy_from_slice(&sum.as_bytes()[..HASH]);
    (key, blob)
}

/// The vector of a row, if it is as it was written.
fn decode(key: &Hash, blob: &[u8], dim: usize) -> Option<Vec<f32>> {
    let (sum, values) = blob.split_at_checked(HASH)?;
    if checksum(key, values).as_bytes()[..HASH] != *sum {
        return None;
    }
    let (values, rest) = values.as_chunks();
    let vector: Vec<f32> = values.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    (rest.is_empty() && vector.len() == dim && is_finite(&vector)).then_some(vector)
}

fn checksum(key: &Hash, values: &[u8]) -> Hash {
    blake3::keyed_hash(key.as_bytes(), values)
}

fn is_finite(vector: &[f32]) -> bool {
    vector.iter().all(|value| value.is_finite())
}
