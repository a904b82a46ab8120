//! Jobs that run in this process with the fake embedder, corpora for them, and checks that hold for any dataset, for
//! tests that run hundreds of jobs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, UNIX_EPOCH};

use chunkmill::chunk::Spec;
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root};
use chunkmill::dataset::{Dataset, FloatEncoding, Manifest, Output, Table, read_outlines};
use chunkmill::document::Admission;
use chunkmill::duplicates::DropRule;
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Embedder, EmbeddingTypes, Engine, load};
use chunkmill::error::Result;
use chunkmill::job::{self, Job, Report};
use chunkmill::storage::{self, FileSystem, Location, Storage};
use tempfile::TempDir;

use crate::common::{tree, write};

/// Numbers of a linear congruential generator (Knuth): the same for the same seed, on every machine.
#[derive(Debug, Clone)]
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        // Small seeds would start alike.
        let mut numbers = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        numbers.below(2);
        numbers
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// Sets a file's modification time. Times are part of the dataset, so nothing could be compared if they were not
/// fixed.
pub fn date(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)).unwrap();
}

/// Writes a document with a fixed time.
pub fn put(home: &Path, name: &str, text: &str) {
    write(home, name, text.as_bytes());
    date(&home.join(name), 0);
}

/// Returns a document of two sections, with a link that leads somewhere and one that may not.
pub fn page(number: usize, version: usize) -> String {
    let filler = format!("Words about topic {number}, in version {version}. ").repeat(8);
    let links = format!("See [next]({}.md#part) and [[{}]].", number + 1, number + 2);
    format!("# Page {number}\n\n{filler}\n\n{links}\n\n## Part\n\n{filler}{number}\n")
}

/// Creates a temporary folder, in memory if the system has a place for that.
pub fn memory() -> TempDir {
    tempfile::Builder::new().tempdir_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

/// Returns a job over these roots that writes two files of each table.
pub fn job(roots: &[&Path]) -> Job {
    Job {
        roots: roots.iter().map(|root| Root::new(*root)).collect(),
        filter: Filter::new(&[], &[], true, DEFAULT_MAX_BYTES).unwrap(),
        admission: Admission::default(),
        drop_duplicates: DropRule::None,
        skip_boilerplate: None,
        spec: "header unit=tokens min=50 max=400 overlap=0".parse::<Spec>().unwrap(),
        output: Output { files: 2, embedding_type: EmbeddingTypes::default(), float_encoding: FloatEncoding::Bss },
        batch_tokens: None,
        deny_truncation: false,
        cache: None,
        fresh: false,
        allow_shrink: true,
    }
}

pub fn fake() -> Box<dyn Embedder> {
    load(Engine::Fake, &ModelRef::default()).unwrap()
}

/// Runs a job with the fake embedder.
pub fn run_job(job: &Job, out: impl Into<Location>) -> Result<Report> {
    job::run(job, &out.into(), fake().as_ref(), &AtomicBool::new(false), &|_| ())
}

/// Returns the location of a folder that is written to through [`Unsynced`].
pub fn unsynced(path: &Path) -> Location {
    Location::new(path, Arc::new(Unsynced))
}

/// The file system without waiting for the medium, which these tests do not test.
#[derive(Debug, Clone, Copy)]
pub struct Unsynced;

#[derive(Debug)]
struct UnsyncedFile(Box<dyn storage::OutputFile>);

impl Storage for Unsynced {
    fn create(&self, path: &Path) -> io::Result<Box<dyn storage::OutputFile>> {
        Ok(Box::new(UnsyncedFile(FileSystem.create(path)?)))
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        FileSystem.create_dir_all(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        FileSystem.rename(from, to)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        FileSystem.remove_file(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        FileSystem.remove_dir_all(path)
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl Write for UnsyncedFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl storage::OutputFile for UnsyncedFile {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns everything below a folder: files with their bytes, and folders, whose names end in a slash.
pub fn entries(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn folders(below: &Path, root: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        let folders_here = fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        for path in folders_here.filter(|path| !path.ends_with(".changes")) {
            found.insert(format!("{}/", path.strip_prefix(root).unwrap().display()), Vec::new());
            folders(&path, root, found);
        }
    }
    let mut found: BTreeMap<String, Vec<u8>> = tree(folder).into_iter().collect();
    folders(folder, folder, &mut found);
    found
}

/// Describes the difference between the contents of two folders. Returns `None` if they are the same to the byte.
pub fn difference(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) -> Option<String> {
    let only = |a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>| {
        a.keys().filter(|name| !b.contains_key(*name)).cloned().collect::<Vec<_>>()
    };
    let changed: Vec<_> = a.iter().filter(|(name, bytes)| b.get(*name).is_some_and(|other| other != *bytes)).collect();
    let (more, less) = (only(a, b), only(b, a));
    let changed: Vec<&String> = changed.into_iter().map(|(name, _)| name).collect();
    let same = more.is_empty() && less.is_empty() && changed.is_empty();
    (!same).then(|| format!("not expected: {more:?}; missing: {less:?}; with other bytes: {changed:?}"))
}

/// Returns the manifest of a dataset if the dataset is intact: every file that the manifest names has its size, its
/// hash and its rows, and every row can be read. Otherwise fails with a description of what is wrong.
pub fn whole(out: &Path) -> Result<Manifest, String> {
    let dataset = Dataset::open(out).map_err(|error| error.to_string())?;
    let manifest = dataset.manifest().clone();
    for file in &manifest.files {
        let path: PathBuf = out.join(&file.path);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", file.path))?;
        if bytes.len() as u64 != file.bytes || blake3::hash(&bytes).to_hex().as_str() != file.blake3 {
            return Err(format!("{} does not have its hash", file.path));
        }
        let table = Table::ALL.into_iter().find(|table| table.name() == file.table);
        let rows = match table {
            Some(table) => {
                let schema = manifest.schema(table);
                let columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
                let batches = dataset.read(file, &columns, None).map_err(|error| error.to_string())?;
                let rows = batches.map(|batch| batch.map(|batch| batch.num_rows()));
                rows.sum::<Result<usize>>().map_err(|error| error.to_string())?
            }
            None => {
                let rows = read_outlines(&FileSystem, path).map_err(|error| error.to_string())?;
                rows.collect::<Result<Vec<_>>>().map_err(|error| error.to_string())?.len()
            }
        };
        if rows as u64 != file.rows {
            return Err(format!("{} has {rows} rows, not {}", file.path, file.rows));
        }
    }
    Ok(manifest)
}
