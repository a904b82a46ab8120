//! The embedding cache: a vector is computed once and reused by every later run with the same text and model. If a
//! run is killed, the next run resumes with the vectors already written.
//!
//! A [`Cache`] is one `SQLite` database that several processes can use at once. A row's key is a hash of everything
//! that determines a vector to the last bit ([`Space`], then the token ids), so no row is ever out of date. Rows are
//! written twice a second during the run.
//!
//! A cache is a convenience. Each row has a checksum, and a row with a wrong checksum is removed. A damaged database is
//! renamed. Any other problem (no space, no permission, locked for too long) leads to one warning and a run without a
//! cache: never to a failed job or a different vector.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use blake3::Hash;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::safely;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};

use crate::embedder::Embedder;
use crate::sparse::SparseModel;

/// Default size limit in bytes on disk.
pub const DEFAULT_LIMIT: u64 = 4 << 30;

/// The smallest limit that leaves room for vectors in addition to the database's own pages.
pub const MIN_LIMIT: u64 = 4 << 20;

/// Name of the database file. A new table layout gets a new name.
const FILE: &str = "embeddings-v1.sqlite";

/// Maximum time before a computed vector is written.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long another process may lock the database before this one continues without it. A busy disk may take several
/// seconds for one transaction.
const PATIENCE: Duration = Duration::from_secs(20);

/// Maximum bytes of pending vectors. A thread that exceeds it waits for the disk.
const MAX_PENDING: usize = 8 << 20;

/// Bytes of a database page. Rows of the usual 384 to 1024 values fill it well.
const PAGE: u64 = 16 << 10;

/// Rows read per transaction. The limit keeps all rows from being in memory twice.
const READ_AT_ONCE: usize = 4096;

/// Milliseconds during which a row's time of last use is not updated again.
const RECENT: i64 = 3_600_000;

/// The release, which may round differently than others.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Bytes of a key, and of a checksum.
const HASH: usize = 16;

/// Everything except the text that determines a vector to the last bit. Vectors of different spaces never mix.
#[derive(Debug, Clone, Copy)]
pub struct Space {
    key: [u8; 32],
    /// Number of values of a vector, if all have the same.
    dim: Option<usize>,
}

impl Space {
    /// Returns the space of an embedder's vectors. Each release of chunkmill has its own spaces, because it may round
    /// differently.
    #[must_use]
    pub fn of(embedder: &dyn Embedder) -> Self {
        let info = embedder.info();
        // Vectors of a service do not depend on the release, and cost money.
        let release = if info.service.is_some() { "service" } else { RELEASE };
        Self::new(release, &info.fingerprint, &info.arithmetic, Some(info.dim))
    }

    /// Returns the space of a model's sparse vectors, whose tokens and weights are stored one after the other.
    pub(crate) fn of_sparse(model: &SparseModel) -> Self {
        Self::new(RELEASE, &model.fingerprint, &model.arithmetic, None)
    }

    fn new(release: &str, fingerprint: &str, arithmetic: &str, dim: Option<usize>) -> Self {
        let of_vector = dim.map_or("sparse".to_owned(), |dim| dim.to_string());
        let parts = [release, fingerprint, arithmetic, &of_vector];
        Self { key: *blake3::hash(parts.join("\n").as_bytes()).as_bytes(), dim }
    }

    /// Returns whether this can be a vector of the space.
    fn has(&self, vector: &[f32]) -> bool {
        self.dim.map_or(vector.len().is_multiple_of(2), |dim| vector.len() == dim) && is_finite(vector)
    }

    fn key(&self, text: &Hash) -> Hash {
        blake3::keyed_hash(&self.key, text.as_bytes())
    }
}

/// A store of vectors on disk, shared by threads and processes. New vectors are written within a second, and when the
/// cache is dropped.
#[derive(Debug)]
pub struct Cache {
    shared: Arc<SharedState>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct SharedState {
    folder: PathBuf,
    limit: u64,
    pending: Mutex<Pending>,
    wake: Condvar,
    /// `None` after a failure. Never locked while `pending` is.
    store: Mutex<Option<Store>>,
    told_of_damage: AtomicBool,
    /// Number of times that the database failed.
    failures: AtomicUsize,
}

/// Changes that have not been written yet.
#[derive(Debug, Default)]
struct Pending {
    rows: Vec<(Hash, Vec<u8>)>,
    used: Vec<Hash>,
    damaged: Vec<Hash>,
    bytes: usize,
    closing: bool,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.used.is_empty() && self.damaged.is_empty()
    }
}

impl Cache {
    /// Opens the cache in a folder, which is created if it does not exist. It takes at most `limit` bytes on disk; the
    /// least recently used vectors are removed first.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder or the database cannot be written, or another process locks it for seconds. A
    /// damaged database is not an error: it is renamed.
    pub fn open(folder: &Path, limit: u64) -> Result<Self> {
        let limit = limit.max(MIN_LIMIT);
        let shared = Arc::new(SharedState {
            folder: folder.to_owned(),
            limit,
            pending: Mutex::default(),
            wake: Condvar::new(),
            store: Mutex::new(Some(Store::open(folder, limit, false)?)),
            told_of_damage: AtomicBool::new(false),
            failures: AtomicUsize::new(0),
        });
        let at_work = Arc::clone(&shared);
        let writer = thread::Builder::new().name("cache".to_owned()).spawn(move || at_work.write_now_and_then());
        Ok(Self { shared, writer: Some(writer.map_err(Error::io("start a thread for", folder))?) })
    }

    /// Returns the vectors of texts, by the hash of what the model reads of each. `None` if a vector is missing or
    /// damaged.
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
                *vector = decode(key, &found.blob, space);
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
            tracing::warn!("{}: some vectors are damaged; they are removed and computed again", path.display());
        }
        vectors
    }

    /// Adds vectors that were paid for, like [`put`](Self::put). They are written when this returns, so no kind of end of
    /// this process loses them.
    ///
    /// # Errors
    /// [`Error::Io`] if they cannot be written.
    pub fn keep<'v>(&self, space: &Space, vectors: impl Iterator<Item = (Hash, &'v [f32])>) -> Result<()> {
        let failures = self.shared.failures.load(Ordering::SeqCst);
        self.put(space, vectors);
        self.shared.flush();
        // Another thread may have taken them, and failed.
        let is_open = lock(&self.shared.store).is_some();
        if is_open && self.shared.failures.load(Ordering::SeqCst) == failures {
            return Ok(());
        }
        let problem =
            "the cache failed, and vectors of a service are not paid for without it; `--embedding-cache off` does";
        Err(Error::io("keep vectors in", self.shared.folder.join(FILE))(io::Error::other(problem)))
    }

    /// Adds vectors of texts, by the hash of what the model read of each.
    pub fn put<'v>(&self, space: &Space, vectors: impl Iterator<Item = (Hash, &'v [f32])>) {
        let shared = &*self.shared;
        let rows = vectors.filter(|(_, vector)| space.has(vector));
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
        // A writer that panicked has already reported it; the cache is intact in any case.
        let _ = self.writer.take().map(JoinHandle::join);
    }
}

impl SharedState {
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

    /// Writes the pending changes. They are taken while the database is locked: the next thread that locks it finds
    /// them there.
    fn flush(&self) {
        let written = self.with_store(|store| {
            let taken = self.take_pending();
            if taken.is_empty() { Ok(()) } else { store.write(&taken) }
        });
        if written.is_none() {
            // Without a database, nobody else would ever take them.
            self.take_pending();
        }
    }

    fn take_pending(&self) -> Pending {
        let mut pending = lock(&self.pending);
        let closing = pending.closing;
        std::mem::replace(&mut *pending, Pending { closing, ..Pending::default() })
    }

    /// Runs `work` on the database, if there is one. After a failure, the database is closed or replaced by a new one.
    fn with_store<T>(&self, work: impl FnOnce(&mut Store) -> rusqlite::Result<T>) -> Option<T> {
        let mut guard = lock(&self.store);
        let error = match work(guard.as_mut()?) {
            Ok(done) => return Some(done),
            Err(error) => error,
        };
        self.failures.fetch_add(1, Ordering::SeqCst);
        // Close it first; a database in use cannot be renamed.
        *guard = None;
        let path = self.folder.join(FILE);
        if !is_damage(&error) {
            tracing::warn!("{}: {error}; this run continues without the embedding cache", path.display());
            return None;
        }
        match Store::open(&self.folder, self.limit, true) {
            Ok(store) => *guard = Some(store),
            Err(error) => tracing::warn!("{error}; this run continues without the embedding cache"),
        }
        None
    }
}

/// A row found in the database.
struct CacheRow {
    blob: Vec<u8>,
    used: i64,
}

/// How the size limit is divided.
struct Budget {
    /// Bytes of vectors per transaction.
    transaction: usize,
    /// Rows changed or removed per transaction. Keys are scattered, so a page may contain only one of them.
    rows: usize,
    /// Size in bytes at which the write-ahead log is checkpointed into the database.
    log: u64,
    /// Maximum bytes of the database.
    database: u64,
}

impl Budget {
    fn of(limit: u64) -> Self {
        let log = (limit / 16).min(8 << 20);
        // The log exceeds its bound by the size of one transaction, and by more while the database shrinks. It also
        // has a small index file.
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
    /// Lock shared by all processes that have the database open; while it is held, nobody may rename the database.
    /// Released when dropped, which is after the connection.
    _in_use: File,
}

impl Store {
    /// Opens the database in a folder that only its owner can read: vectors reveal a lot about their texts. If it is damaged, or `damaged` says so, it is renamed first and a new one is created.
    fn open(folder: &Path, limit: u64, damaged: bool) -> Result<Self> {
        safely::create_private_dir(folder).map_err(Error::io("create", folder))?;
        let path = folder.join(FILE);
        let lock_file = |name: &str| {
            let path = folder.join(name);
            safely::open_to_lock(&path).map_err(Error::io("write", path))
        };
        // Held while the database is opened: two processes must not create, check or rename it at once.
        let opening = lock_file("opening.lock")?;
        lock_within(PATIENCE, || opening.try_lock()).map_err(Error::io("lock", &path))?;
        let in_use = lock_file("in-use.lock")?;
        for ending in ["", "-wal", "-shm", "-journal"] {
            let path = beside(&path, ending);
            safely::file_or_free(&path).map_err(Error::io("open", &path))?;
        }
        let connected = if damaged { None } else { Some(connect(&path, limit)) };
        let connection = match connected {
            Some(Err(error)) if !is_damage(&error) => Err(error),
            Some(Ok(connection)) => Ok(connection),
            None | Some(Err(_)) => {
                in_use.try_lock().map_err(io::Error::from).map_err(Error::io("move aside the damaged", &path))?;
                let aside = move_aside(&path).map_err(Error::io("move aside the damaged", &path))?;
                let (path, aside) = (path.display(), aside.display());
                tracing::warn!("{path} is damaged; it was moved to {aside}, and a new database was created");
                in_use.unlock().map_err(Error::io("unlock", folder))?;
                connect(&folder.join(FILE), limit)
            }
        };
        let connection = connection.map_err(|error| Error::io("open", &path)(io::Error::other(error)))?;
        lock_within(PATIENCE, || in_use.try_lock_shared()).map_err(Error::io("lock", &path))?;
        Ok(Self { connection, log: beside(&path, "-wal"), limit, _in_use: in_use })
    }

    fn read(&mut self, keys: &[Hash]) -> rusqlite::Result<Vec<Option<CacheRow>>> {
        // One snapshot for all reads.
        let transaction = self.connection.transaction()?;
        let mut select = transaction
            .prepare("SELECT vectors.vector, texts.used FROM texts JOIN vectors USING (id) WHERE texts.key = ?1")?;
        let mut find = |key: &Hash| {
            select.query_row([short(key)], |row| Ok(CacheRow { blob: row.get(0)?, used: row.get(1)? })).optional()
        };
        keys.iter().map(&mut find).collect()
    }

    fn write(&mut self, pending: &Pending) -> rusqlite::Result<()> {
        let Pending { rows, used, damaged, .. } = pending;
        let budget = Budget::of(self.limit);
        for keys in damaged.chunks(budget.rows) {
            self.remove(keys.iter().map(short))?;
        }
        // Neighbouring keys share a page.
        let mut used: Vec<&[u8]> = used.iter().map(short).collect();
        used.sort_unstable();
        for keys in used.chunks(budget.rows) {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut update = transaction.prepare("UPDATE texts SET used = ?2 WHERE key = ?1")?;
            keys.iter().try_for_each(|key| update.execute(params![key, now()]).map(drop))?;
            drop(update);
            transaction.commit()?;
        }
        // Keys that were scattered over all pages would let the log grow by as many in each transaction. Sorted in
        // groups, rows stay in order of age, more or less.
        let row_bytes = rows.first().map_or(1, |(_, blob)| blob.len());
        let mut rows: Vec<&(Hash, Vec<u8>)> = rows.iter().collect();
        let group = (budget.transaction / row_bytes).max(1);
        rows.chunks_mut(group).for_each(|rows| rows.sort_unstable_by_key(|(key, _)| *key.as_bytes()));
        for rows in rows.chunks(group).flat_map(|rows| rows.chunks(budget.rows)) {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut is_there = transaction.prepare("SELECT 1 FROM texts JOIN vectors USING (id) WHERE key = ?1")?;
                let mut vector = transaction.prepare("INSERT INTO vectors (vector) VALUES (?1)")?;
                let mut text =
                    transaction.prepare("INSERT OR REPLACE INTO texts (key, id, used) VALUES (?1, ?2, ?3)")?;
                for (key, blob) in rows {
                    // Another process may have written it first.
                    if !is_there.exists([short(key)])? {
                        let id = vector.insert([blob])?;
                        text.execute(params![short(key), id, now()])?;
                    }
                }
            }
            transaction.commit()?;
            self.keep_limit()?;
        }
        // Also if there are no new rows: the limit may be lower than before.
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

    /// Removes the least recently used rows until the database is well below its limit.
    fn keep_limit(&mut self) -> rusqlite::Result<()> {
        let Budget { database, log, rows, .. } = Budget::of(self.limit);
        // While other processes use the database, SQLite's automatic checkpoints do not restart the log.
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
                // The remaining vectors lost their keys to damage.
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

    /// Shrinks the file by its free pages.
    fn give_back(&self) -> rusqlite::Result<()> {
        let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum")?;
        // Each step frees one page.
        let mut steps = vacuum.query([])?;
        while steps.next()?.is_some() {}
        self.checkpoint()
    }

    /// Checkpoints the log into the database, and retries until that succeeds. While another process checkpoints,
    /// `SQLite` refuses immediately; a process that then continued to write would keep the other from finishing.
    fn checkpoint(&self) -> rusqlite::Result<()> {
        let started = Instant::now();
        while self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))? {
            if started.elapsed() > PATIENCE {
                let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
                return Err(rusqlite::Error::SqliteFailure(
                    busy,
                    Some("another process has used its log for too long".to_owned()),
                ));
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

/// Connects to the database and creates its tables if it is new.
fn connect(path: &Path, limit: u64) -> rusqlite::Result<Connection> {
    // `Shared::store` ensures that only one thread at a time uses the connection. No link is followed at the name itself,
    // and SQLite itself follows none at those of its log.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    // SQLite would refuse a link anywhere in the path.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let whole = folder.map_or_else(|| path.to_owned(), |folder| folder.join(FILE));
    let connection = Connection::open_with_flags(whole, flags)?;
    connection.busy_timeout(PATIENCE)?;
    let log = Budget::of(limit).log;
    let pages: i64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    if pages == 0 {
        // These two affect only a new database, before WAL mode is enabled.
        connection.execute_batch(&format!("PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = INCREMENTAL;"))?;
    }
    // With NORMAL, a committed row survives a crash of the process immediately, and of the machine soon after.
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
    // Check that the first page of both tables can be read.
    connection.query_row("SELECT max(id) FROM vectors", [], |_| Ok(()))?;
    connection.query_row("SELECT max(key) FROM texts", [], |_| Ok(()))?;
    Ok(connection)
}

/// Returns whether an error means that the database is damaged.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        // A column with a different type than was written.
        rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::IntegralValueOutOfRange(..) => true,
        _ => matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)),
    }
}

/// Renames a damaged database, replacing an older one, and deletes its log, which is useless without it.
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

/// Returns the path with `ending` appended to its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Retries a lock until it is acquired or the time has passed.
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

/// Returns the current time in milliseconds since 1970, the unit of `used`.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the part of a key that rows are looked up by. The checksum covers the whole key.
fn short(key: &Hash) -> &[u8] {
    &key.as_bytes()[..HASH]
}

/// Encodes a row: a checksum over key and vector, then the vector.
fn encode(key: Hash, vector: &[f32]) -> (Hash, Vec<u8>) {
    let mut blob = vec![0; HASH];
    blob.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
    let sum = checksum(&key, &blob[HASH..]);
    blob[..HASH].copy_from_slice(&sum.as_bytes()[..HASH]);
    (key, blob)
}

/// Decodes the vector of a row, if it is intact.
fn decode(key: &Hash, blob: &[u8], space: &Space) -> Option<Vec<f32>> {
    let (sum, values) = blob.split_at_checked(HASH)?;
    if checksum(key, values).as_bytes()[..HASH] != *sum {
        return None;
    }
    let (values, rest) = values.as_chunks();
    let vector: Vec<f32> = values.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    (rest.is_empty() && space.has(&vector)).then_some(vector)
}

fn checksum(key: &Hash, values: &[u8]) -> Hash {
    blake3::keyed_hash(key.as_bytes(), values)
}

fn is_finite(vector: &[f32]) -> bool {
    vector.iter().all(|value| value.is_finite())
}
