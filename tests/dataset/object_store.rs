//! Corpora and datasets in an object store: here one in memory, which supports conditional puts like the services
//! do. `make test-distributed` uses a server.
//!
//! A dataset in a store has the bytes of one in a folder, whatever happens on the way: a run may end at any of its
//! operations, or be overtaken by another run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, InnerDocuments, Root, RowColumns, discover};
use chunkmill::dataset::{Dataset, Manifest, Sweep, Verification, gc, verify};
use chunkmill::error::{Error, exit};
use chunkmill::job::{self, Event, Job};
use chunkmill::search::{Mode, Query, Searcher};
use chunkmill::storage::{Entry, Input, Location, ObjectStorage, OutputFile, Storage, Version};
use object_store::ObjectStore;
use object_store::memory::InMemory;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::common::{folder, tree, write};
use crate::dataset::every_format;
use crate::dataset::jobs::{Numbers, date, difference, fake, job, memory, page, put, run_job};

/// A bucket whose contents outlive the processes that use it.
#[derive(Clone)]
struct Bucket(Arc<dyn ObjectStore>);

impl Bucket {
    fn new() -> Self {
        Self(Arc::new(InMemory::new()))
    }

    /// Opens a prefix as another process would.
    fn at(&self, prefix: &str) -> Location {
        let storage = ObjectStorage::new("mem://bucket".to_owned(), Arc::clone(&self.0));
        Location::new(format!("mem://bucket/{prefix}"), Arc::new(storage))
    }

    /// Uploads every file of a folder, and gives the files in the folder the modification times of the objects.
    fn upload(&self, folder: &Path, prefix: &str) {
        let to = self.at(prefix);
        for (name, bytes) in tree(folder) {
            send(&to, &name, &bytes);
            let entry = to.storage().find(&to.join(&name)).unwrap().unwrap();
            assert_eq!(entry.bytes, bytes.len() as u64);
            let file = File::options().write(true).open(folder.join(&name)).unwrap();
            file.set_modified(entry.modified.unwrap()).unwrap();
        }
    }

    /// Returns all files below a prefix, without those that say how a dataset came about.
    fn entries(&self, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let below = self.at(prefix);
        let mut found = below.storage().files_below(below.path()).unwrap();
        found.retain(|entry| !entry.path.parent().is_some_and(|folder| folder.ends_with(".changes")));
        let name = |path: &Path| path.strip_prefix(below.path()).unwrap().to_str().unwrap().to_owned();
        found.iter().map(|entry| (name(&entry.path), below.storage().read(&entry.path).unwrap())).collect()
    }
}

fn send(to: &Location, name: &str, bytes: &[u8]) {
    let working = to.join("working");
    let mut output = to.storage().create(&working).unwrap();
    output.write_all(bytes).unwrap();
    drop(output);
    to.storage().rename(&working, &to.join(name)).unwrap();
}

fn corpus() -> TempDir {
    let home = memory();
    for number in 0..8 {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 0));
    }
    home
}

/// Returns a job over documents in a bucket.
fn job_over(root: &Location) -> Job {
    let mut job = job(&[]);
    job.roots = vec![Root { collection: "default".to_owned(), location: root.clone() }];
    job
}

fn verified(out: &Location) -> Verification {
    let verification = verify(out, None).unwrap();
    assert_eq!(verification.findings, [], "{out}");
    verification
}

/// Returns the files that the manifest of a dataset names, with the manifest, the list and the card, but no
/// leftovers.
fn snapshot(bucket: &Bucket, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let manifest = Manifest::read(&bucket.at(prefix)).unwrap();
    let mut named: BTreeSet<String> = manifest.files.into_iter().map(|file| file.path).collect();
    named.extend(["manifest.json", "quarantine.jsonl", "README.md"].map(str::to_owned));
    let mut found = bucket.entries(prefix);
    found.retain(|name, _| named.contains(name));
    found
}

#[test]
fn a_dataset_in_a_bucket_has_the_bytes_of_one_in_a_folder() {
    let (home, bucket) = (corpus(), Bucket::new());
    write(home.path(), "docs/bad.md", b"\xff\xfe\xfd");
    for version in 0..3 {
        put(home.path(), "docs/1.md", &page(1, version));
        bucket.upload(&home.path().join("docs"), "docs");
        let local = home.path().join("out");
        run_job(&job(&[&home.path().join("docs")]), &local).unwrap();
        let remote = bucket.at("deep/out");
        let report = run_job(&job_over(&bucket.at("docs")), &remote).unwrap();
        assert_eq!(report.quarantined.len(), 1);
        assert!(version == 0 || report.chunks_reused > 0, "what did not change is reused");
        assert_eq!(difference(&snapshot(&bucket, "deep/out"), &tree(&local).into_iter().collect()), None);
        verified(&remote);
        let roots = job_over(&bucket.at("docs")).roots;
        assert_eq!(verify(&remote, Some(&roots)).unwrap().findings, []);
    }
    // Each commit leaves the files of the previous snapshot, which may still be read. They are removed when they are
    // old enough.
    let remote = bucket.at("deep/out");
    assert!(bucket.entries("deep/out").len() > snapshot(&bucket, "deep/out").len());
    assert!(verified(&remote).notes.len() > 4);
    let kept = gc(&remote, Sweep::default()).unwrap();
    assert!(kept.removed.is_empty() && kept.kept.len() > 4);
    let now = Some(Duration::ZERO);
    gc(&remote, Sweep { older_than: now, dry_run: true, ..Sweep::default() }).unwrap();
    assert!(bucket.entries("deep/out").len() > snapshot(&bucket, "deep/out").len());
    gc(&remote, Sweep { older_than: now, ..Sweep::default() }).unwrap();
    assert_eq!(difference(&bucket.entries("deep/out"), &snapshot(&bucket, "deep/out")), None);
    assert_eq!(verified(&remote).notes, []);
}

#[test]
fn a_dataset_in_a_bucket_is_searched_promoted_and_deleted_from() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    let (remote, local) = (bucket.at("out"), Location::from(&home.path().join("out")));
    let stop = AtomicBool::new(false);
    for (docs, out) in [(bucket.at("docs"), &remote), (Location::from(&home.path().join("docs")), &local)] {
        run_job(&job_over(&docs), out).unwrap();
        job::promote(out, "3.md", "important", &stop).unwrap();
        job::delete(out, &["4.md".to_owned()], &[], &stop).unwrap();
        verified(out);
    }
    assert_eq!(difference(&snapshot(&bucket, "out"), &tree(local.path()).into_iter().collect()), None);
    let found = [&remote, &local].map(|out| {
        let searcher = Searcher::open(Dataset::open(out).unwrap(), None).unwrap();
        let query = Query { mode: Mode::Keyword, text: "topic 5", k: 5, ..Query::default() };
        searcher.search(&query).unwrap()
    });
    assert!(!found[0].is_empty() && found[0] == found[1]);
}

#[test]
fn shards_of_a_plan_in_a_bucket_end_in_the_bytes_of_one_process() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    let (job, out) = (job_over(&bucket.at("docs")), bucket.at("out"));
    let stop = AtomicBool::new(false);
    let plan = job::plan(&job, &out, fake().as_ref(), 2, &stop).unwrap();
    let shard = |shard| job::run_shard(&job, &bucket.at("out"), fake().as_ref(), &plan, shard, &stop, &|_| ());
    assert_eq!(shard(2).unwrap().parts_made, 1);
    let early = job::commit(&plan, &out, &stop).unwrap_err().to_string();
    assert!(early.contains("lacks the parts of these shards of the plan: 1/2"), "{early}");
    assert_eq!(shard(1).unwrap().parts_made, 1);
    assert_eq!(shard(2).unwrap().parts_made, 0, "an earlier attempt has made it");
    job::commit(&plan, &out, &stop).unwrap();
    job::commit(&plan, &out, &stop).unwrap();
    assert!(shard(2).unwrap().committed);
    let local = home.path().join("out");
    run_job(&crate::dataset::jobs::job(&[&home.path().join("docs")]), &local).unwrap();
    assert_eq!(difference(&bucket.entries("out"), &tree(&local).into_iter().collect()), None);
}

#[test]
fn of_two_runs_at_once_one_commits_and_the_other_says_so() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    put(home.path(), "docs/1.md", &page(1, 1));
    bucket.upload(&home.path().join("docs"), "later");
    for before in [None, Some("docs")] {
        if let Some(before) = before {
            run_job(&job_over(&bucket.at(before)), bucket.at("out")).unwrap();
        }
        // While the first run is working, the second one begins and ends.
        let watch = |event| {
            if matches!(event, Event::Discovered { .. }) {
                run_job(&job_over(&bucket.at("later")), bucket.at("out")).unwrap();
            }
        };
        let job = Job { fresh: true, ..job_over(&bucket.at("docs")) };
        let first = job::run(&job, &bucket.at("out"), fake().as_ref(), &AtomicBool::new(false), &watch);
        let error = first.unwrap_err();
        assert!(matches!(error, Error::Replaced { .. }) && error.exit_code() == exit::LOCKED, "{error}");
        assert!(error.to_string().contains("mem://bucket/out: was replaced by another run"), "{error}");
        verified(&bucket.at("out"));
        run_job(&job_over(&bucket.at("later")), bucket.at("fresh")).unwrap();
        assert_eq!(difference(&snapshot(&bucket, "out"), &snapshot(&bucket, "fresh")), None);
    }
}

/// A process that ends at its n-th operation that changes something: before it, or after it and before the process
/// learns the result.
#[derive(Debug)]
struct Mortal {
    storage: ObjectStorage,
    left: AtomicUsize,
    after: bool,
}

impl Mortal {
    fn operate<T>(&self, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let dead = || io::Error::other("the process is dead");
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Err(_) => Err(dead()),
            Ok(1) if self.after => operation().and_then(|_| Err(dead())),
            Ok(1) => Err(dead()),
            Ok(_) => operation(),
        }
    }

    fn alive(&self) -> io::Result<()> {
        let is_dead = self.left.load(Ordering::Relaxed) == 0;
        if is_dead { Err(io::Error::other("the process is dead")) } else { Ok(()) }
    }
}

impl Storage for Mortal {
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        self.alive()?;
        self.storage.create(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.storage.create_dir_all(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate(|| self.storage.rename(from, to))
    }
    fn replace(&self, from: &Path, to: &Path, version: &Version) -> io::Result<()> {
        self.operate(|| self.storage.replace(from, to, version))
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.operate(|| self.storage.remove_file(path))
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.operate(|| self.storage.remove_dir_all(path))
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.storage.sync_dir(path)
    }
    fn is_object_store(&self) -> bool {
        true
    }
    fn find(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.alive()?;
        self.storage.find(path)
    }
    fn version(&self, path: &Path) -> io::Result<Version> {
        self.storage.version(path)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.alive()?;
        self.storage.list(folder)
    }
    fn files_below(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.storage.files_below(folder)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.alive()?;
        self.storage.read(path)
    }
    fn read_all(&self, paths: &[PathBuf]) -> Vec<io::Result<Vec<u8>>> {
        self.storage.read_all(paths)
    }
    fn open(&self, path: &Path) -> io::Result<Input> {
        self.storage.open(path)
    }
}

#[test]
fn a_run_that_ends_at_any_operation_leaves_the_old_dataset_or_the_new_one() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    for (name, version) in [("1.md", 1), ("2.md", 1), ("9.md", 0)] {
        put(home.path(), &format!("docs/{name}"), &page(9, version));
    }
    bucket.upload(&home.path().join("docs"), "later");
    let (before, later) = (job_over(&bucket.at("docs")), job_over(&bucket.at("later")));
    run_job(&before, bucket.at("before")).unwrap();
    run_job(&later, bucket.at("after")).unwrap();
    let [old, new] = ["before", "after"].map(|prefix| snapshot(&bucket, prefix));
    let mut ended = 0;
    for after in [false, true] {
        for at in 1.. {
            let prefix = format!("out-{after}-{at}");
            run_job(&before, bucket.at(&prefix)).unwrap();
            let storage = ObjectStorage::new("mem://bucket".to_owned(), Arc::clone(&bucket.0));
            let mortal = Mortal { storage, left: AtomicUsize::new(at), after };
            let run = run_job(&later, Location::new(format!("mem://bucket/{prefix}"), Arc::new(mortal)));
            verified(&bucket.at(&prefix));
            let mut found = snapshot(&bucket, &prefix);
            let is_new = found["manifest.json"] == new["manifest.json"];
            if !is_new {
                assert_eq!(difference(&found, &old), None, "at {at}");
            } else {
                // The list and the card are for people: they may be the old ones until the next run.
                for name in ["quarantine.jsonl", "README.md"] {
                    let there = found.remove(name).unwrap();
                    assert!(there == new[name] || there == old[name]);
                }
            }
            let done = run.is_ok();
            ended += usize::from(!done);
            run_job(&later, bucket.at(&prefix)).unwrap();
            assert_eq!(difference(&snapshot(&bucket, &prefix), &new), None, "at {at}");
            gc(&bucket.at(&prefix), Sweep { older_than: Some(Duration::ZERO), work: true, dry_run: false }).unwrap();
            assert_eq!(difference(&bucket.entries(&prefix), &new), None, "nothing else is left at {at}");
            if done {
                break;
            }
        }
    }
    assert!(ended > 20, "{ended}");
}

#[test]
fn a_part_that_was_finished_before_the_process_ended_is_taken_over() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    let job = job_over(&bucket.at("docs"));
    let storage = ObjectStorage::new("mem://bucket".to_owned(), Arc::clone(&bucket.0));
    // Three files of the first part, and its receipt.
    let mortal = Mortal { storage, left: AtomicUsize::new(5), after: false };
    run_job(&job, Location::new("mem://bucket/out", Arc::new(mortal))).unwrap_err();
    assert!(bucket.entries("out").contains_key(".staging/part-00000.json"));
    let kept = gc(&bucket.at("out"), Sweep { older_than: Some(Duration::ZERO), ..Sweep::default() }).unwrap();
    assert!(kept.kept.iter().any(|found| found.kind.name == "staged"), "{kept:?}");
    let report = run_job(&job, bucket.at("out")).unwrap();
    assert!(report.chunks_reused > 0 && report.chunks_reused < report.manifest.counts.chunks);
    verified(&bucket.at("out"));
}

#[test]
fn documents_of_every_format_in_a_bucket_are_those_of_a_folder_also_after_runs_that_ended() {
    let (home, bucket) = (every_format::corpus(), Bucket::new());
    // Its rows have no column `text`.
    fs::remove_file(home.path().join("docs/csv.csv")).unwrap();
    write(home.path(), "docs/rows.jsonl", b"{\"text\": \"Of wheat in a row.\"}\n{\"text\": \"Of rye in another.\"}\n");
    let part =
        "--b\nContent-Type: text/html\nContent-Disposition: attachment; filename=a.html\n\n<p>Of oats.</p>\n--b--\n";
    let mail = format!("Subject: Mill\nContent-Type: multipart/mixed; boundary=b\n\n{part}");
    write(home.path(), "docs/attached.eml", mail.as_bytes());
    bucket.upload(&home.path().join("docs"), "docs");
    let rows = Some(RowColumns { text: "text".to_owned(), id: None });
    let inner = InnerDocuments { rows, attachments: true };
    let of = |root: Location| {
        let job = job_over(&root);
        Job { filter: job.filter.clone().with_inner(inner.clone()).unwrap(), ..job }
    };
    let local = home.path().join("out");
    let report = run_job(&of(Location::from(&home.path().join("docs"))), &local).unwrap();
    assert_eq!((report.quarantined.len(), report.manifest.counts.documents), (0, 19));
    let whole = tree(&local).into_iter().collect();
    let job = of(bucket.at("docs"));
    for left in [2, 5, 6, 8, 11] {
        let storage = ObjectStorage::new("mem://bucket".to_owned(), Arc::clone(&bucket.0));
        let mortal = Mortal { storage, left: AtomicUsize::new(left), after: false };
        let prefix = format!("out-{left}");
        run_job(&job, Location::new(format!("mem://bucket/{prefix}"), Arc::new(mortal))).unwrap_err();
        run_job(&job, bucket.at(&prefix)).unwrap();
        assert_eq!(difference(&snapshot(&bucket, &prefix), &whole), None, "{left}");
        assert_eq!(verify(&bucket.at(&prefix), Some(&job.roots)).unwrap().findings, []);
    }
}

#[test]
fn what_is_no_dataset_is_left_alone_in_a_bucket_too() {
    let bucket = Bucket::new();
    let home = corpus();
    bucket.upload(&home.path().join("docs"), "docs");
    let job = job_over(&bucket.at("docs"));
    let error = run_job(&job, bucket.at("docs")).unwrap_err().to_string();
    assert!(error.contains("is both corpus and output"), "{error}");
    send(&bucket.at("other"), "a.txt", b"no dataset");
    let error = run_job(&job, bucket.at("other")).unwrap_err().to_string();
    assert!(error.contains("is neither empty nor a dataset"), "{error}");
    let error = run_job(&job, bucket.at("docs/1.md")).unwrap_err().to_string();
    assert!(error.contains("mem://bucket/docs/1.md is a file"), "{error}");
    let error = Dataset::open(bucket.at("nowhere")).unwrap_err().to_string();
    assert!(error.contains("mem://bucket/nowhere/manifest.json: does not exist"), "{error}");
    // A dataset below the corpus is not part of the corpus.
    send(&bucket.at("docs"), "out/data/x.md", b"no document");
    bucket.at("docs").storage().remove_file(&bucket.at("docs").join("out/data/x.md")).unwrap();
    run_job(&job, bucket.at("docs/out")).unwrap();
    let report = run_job(&job, bucket.at("docs/out")).unwrap();
    assert_eq!(report.manifest.counts.documents, 8, "its own card is not a document");
}

#[test]
fn urls_are_locations_and_others_are_refused_with_a_reason() {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n")]);
    let url = format!("file://{}", home.path().join("docs").display());
    assert_eq!(url.parse::<Location>().unwrap(), Location::from(&home.path().join("docs")));
    let root: Root = format!("notes={url}").parse().unwrap();
    assert_eq!((root.collection.as_str(), root.location.path()), ("notes", home.path().join("docs").as_path()));
    for (url, problem) in [("ftp://host/x", "`ftp` is not a supported kind"), ("s3:///x", "names no bucket")] {
        let error = url.parse::<Location>().unwrap_err();
        assert!(error.to_string().contains(problem) && error.exit_code() == exit::USAGE, "{error}");
    }
    let root: Root = "docs=s3://bucket/a//b/".parse().unwrap();
    assert_eq!((root.collection.as_str(), root.location.to_string()), ("docs", "s3://bucket/a/b".to_owned()));
    let root: Root = "s3://bucket/a=b".parse().unwrap();
    assert_eq!((root.collection.as_str(), root.location.to_string()), ("default", "s3://bucket/a=b".to_owned()));
}

#[test]
fn a_file_larger_than_what_is_sent_or_fetched_at_once_is_read_as_it_was_written() {
    let bucket = Bucket::new();
    let mut numbers = Numbers::new(7);
    let bytes: Vec<u8> = (0..21_000_000).map(|_| u8::try_from(numbers.below(256)).unwrap()).collect();
    let location = bucket.at("large");
    send(&location, "file", &bytes);
    send(&location, "empty", b"");
    let storage = location.storage();
    assert_eq!(storage.open(&location.join("empty")).unwrap().size(), 0);
    assert!(storage.read(&location.join("file")).unwrap() == bytes);
    let mut input = storage.open(&location.join("file")).unwrap();
    let mut whole = Vec::new();
    input.read_to_end(&mut whole).unwrap();
    assert!(whole == bytes);
    for _ in 0..200 {
        let at = numbers.below(bytes.len() + 10);
        let len = numbers.below(9_000_000) >> numbers.below(24);
        let mut part = Vec::new();
        if numbers.below(2) == 0 {
            input.seek(SeekFrom::Start(at as u64)).unwrap();
            input.by_ref().take(len as u64).read_to_end(&mut part).unwrap();
        } else {
            input.reader_at(at as u64).unwrap().take(len as u64).read_to_end(&mut part).unwrap();
        }
        let expected = bytes.get(at..).unwrap_or_default();
        assert!(part == expected[..len.min(expected.len())], "{len} bytes at {at}");
    }
    // Another object with the same name is not mixed in.
    let input = storage.open(&location.join("file")).unwrap();
    send(&location, "file", &bytes[1..]);
    let mut part = Vec::new();
    assert!(input.reader_at(bytes.len() as u64 - 100).unwrap().read_to_end(&mut part).is_err());
}

/// A storage in which files vanish or cannot be read, as configured.
#[derive(Debug)]
struct Spiteful {
    storage: ObjectStorage,
    /// A folder that loses a file just before the commit.
    vanishes: Option<&'static str>,
    /// A file that cannot be read, and the error.
    refuses: Option<(&'static str, io::ErrorKind)>,
}

impl Spiteful {
    fn at(
        bucket: &Bucket,
        prefix: &str,
        vanishes: Option<&'static str>,
        refuses: Option<(&'static str, io::ErrorKind)>,
    ) -> Location {
        let storage = ObjectStorage::new("mem://bucket".to_owned(), Arc::clone(&bucket.0));
        Location::new(format!("mem://bucket/{prefix}"), Arc::new(Self { storage, vanishes, refuses }))
    }
}

impl Storage for Spiteful {
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> {
        self.storage.create(path)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.storage.create_dir_all(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.storage.rename(from, to)?;
        // The card is staged last.
        if let Some(folder) = self.vanishes.filter(|_| to.ends_with("README.md")) {
            let found = self.storage.files_below(&PathBuf::from("mem://bucket/out").join(folder))?;
            self.storage.remove_file(&found[0].path)?;
        }
        Ok(())
    }
    fn replace(&self, from: &Path, to: &Path, version: &Version) -> io::Result<()> {
        self.storage.replace(from, to, version)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.storage.remove_file(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.storage.remove_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.storage.sync_dir(path)
    }
    fn is_object_store(&self) -> bool {
        true
    }
    fn find(&self, path: &Path) -> io::Result<Option<Entry>> {
        self.storage.find(path)
    }
    fn version(&self, path: &Path) -> io::Result<Version> {
        self.storage.version(path)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.storage.list(folder)
    }
    fn files_below(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        self.storage.files_below(folder)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.refuses {
            Some((name, kind)) if path.ends_with(name) => Err(kind.into()),
            _ => self.storage.read(path),
        }
    }
    fn open(&self, path: &Path) -> io::Result<Input> {
        self.storage.open(path)
    }
}

#[test]
fn no_snapshot_names_a_file_that_was_removed_before_the_commit() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    let job = job_over(&bucket.at("docs"));
    for folder in ["data/chunks", "data/edges", "state/outlines"] {
        let error = run_job(&job, Spiteful::at(&bucket, "out", Some(folder), None)).unwrap_err().to_string();
        assert!(error.contains(folder) && error.contains("was removed before it could be committed"), "{error}");
        assert!(Dataset::open(bucket.at("out")).is_err(), "there was no dataset and there is none");
    }
    run_job(&job, bucket.at("out")).unwrap();
    verified(&bucket.at("out"));
}

#[test]
fn documents_that_cannot_be_fetched_end_the_run_and_take_nothing_out_of_the_dataset() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    run_job(&job_over(&bucket.at("docs")), bucket.at("out")).unwrap();
    let before = snapshot(&bucket, "out");
    let docs = |kind| job_over(&Spiteful::at(&bucket, "docs", None, Some(("3.md", kind))));
    for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::Other] {
        let error = run_job(&docs(kind), bucket.at("out")).unwrap_err().to_string();
        assert!(error.contains("cannot read mem://bucket/docs/3.md"), "{error}");
        assert_eq!(difference(&snapshot(&bucket, "out"), &before), None);
    }
    // A document that has disappeared since it was listed is quarantined, as in a folder.
    let report = run_job(&docs(io::ErrorKind::NotFound), bucket.at("out")).unwrap();
    assert_eq!(report.quarantined.len(), 1);
    // A receipt that cannot be read does not count as missing.
    let unreadable = Some(("part-00000.json", io::ErrorKind::PermissionDenied));
    send(&bucket.at("out/.staging"), "part-00000.json", b"{}");
    let error = run_job(&docs(io::ErrorKind::NotFound), Spiteful::at(&bucket, "out", None, unreadable)).unwrap_err();
    assert!(error.to_string().contains("cannot read mem://bucket/out/.staging/part-00000.json"), "{error}");
}

#[test]
fn what_a_snapshot_has_already_is_not_sent_again() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "docs");
    let times = || {
        let out = bucket.at("out");
        let found = out.storage().files_below(&out.join("data")).unwrap();
        found.into_iter().map(|entry| (entry.path, entry.modified)).collect::<Vec<_>>()
    };
    run_job(&job_over(&bucket.at("docs")), bucket.at("out")).unwrap();
    let before = times();
    run_job(&Job { fresh: true, ..job_over(&bucket.at("docs")) }, bucket.at("out")).unwrap();
    assert_eq!(times(), before);
    verified(&bucket.at("out"));
}

#[test]
fn a_whole_bucket_is_a_place_and_markers_of_folders_are_no_files() {
    let (home, bucket) = (corpus(), Bucket::new());
    bucket.upload(&home.path().join("docs"), "");
    let report = run_job(&job_over(&bucket.at("")), home.path().join("out")).unwrap();
    assert_eq!(report.manifest.counts.documents, 8);
    let marked = Bucket::new();
    send(&marked.at(""), "docs/sub", b"");
    marked.upload(&home.path().join("docs"), "docs/sub");
    marked.upload(&home.path().join("docs"), "docs/other");
    let mut job = job_over(&marked.at("docs"));
    job.filter = Filter::new(&["**".to_owned()], &[], true, DEFAULT_MAX_BYTES).unwrap();
    let report = run_job(&job, marked.at("out")).unwrap();
    assert_eq!(report.manifest.counts.documents, 16, "an object without bytes above others is not a document");
    send(&marked.at(""), "out/data", b"");
    let report = run_job(&job, marked.at("out")).unwrap();
    assert_eq!(report.chunks_reused, report.manifest.counts.chunks);
    verified(&marked.at("out"));
}

/// Generates names for which ignore rules, hidden files and folders of version control make a difference.
fn trees() -> impl Strategy<Value = Vec<(String, Option<Vec<String>>)>> {
    let name = prop::sample::select(vec!["a", "b", "notes", ".hid", "x.md", ".git", "build"]);
    let file = prop::sample::select(vec!["a.md", "b.md", "c.txt", ".h.md", "d.png"]);
    let rule = prop::sample::select(vec![
        "*.md",
        "a.md",
        "!a.md",
        "/b.md",
        "notes/",
        "!notes/",
        "build",
        "**/c.txt",
        "notes/*",
        "!notes/a.md",
        "# no",
        "",
        "a/b.md",
        "/a/",
        "[",
        "!",
        "x.md/",
        ".hid",
    ]);
    let rules = prop::collection::vec(rule.prop_map(str::to_owned), 0..4);
    let folders = prop::collection::vec(name, 0..3).prop_map(|names| names.join("/"));
    let document = (folders.clone(), file).prop_map(|(folder, file)| (format!("{folder}/{file}"), None));
    let ignore = (folders, prop::sample::select(vec![".gitignore", ".ignore"]), rules)
        .prop_map(|(folder, name, rules)| (format!("{folder}/{name}"), Some(rules)));
    prop::collection::vec(prop_oneof![3 => document, 1 => ignore], 1..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_documents_are_found_in_a_bucket_as_in_a_folder(tree in trees(), hidden: bool) {
        let (home, bucket) = (memory(), Bucket::new());
        let docs = home.path().join("docs");
        fs::create_dir(&docs).unwrap();
        for (name, rules) in &tree {
            let name = name.trim_start_matches('/');
            let path = docs.join(name);
            // A name is either a file or a folder.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.exists() {
                let text = rules.as_ref().map_or("# A\n".to_owned(), |rules| rules.join("\n"));
                fs::write(&path, text).unwrap();
                date(&path, 0);
            }
        }
        bucket.upload(&docs, "docs");
        let filter = Filter::new(&[], &[], hidden, DEFAULT_MAX_BYTES).unwrap();
        let found = |location: Location| {
            let root = Root { collection: "default".to_owned(), location };
            let found = discover(&[root], &filter, &[]).ok()?;
            let sources = found.sources.into_iter();
            Some(sources.map(|source| (source.origin.doc_id, source.bytes, source.origin.modified_micros)).collect::<Vec<_>>())
        };
        prop_assert_eq!(found(bucket.at("docs")), found(Location::from(&docs)));
    }
}
