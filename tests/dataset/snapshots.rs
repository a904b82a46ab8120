//! Snapshots: only what changed is rebuilt, an interrupted run is resumed, and in every case the bytes are those of
//! a run from scratch.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arrow::array::AsArray;
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter};
use chunkmill::dataset::{ChangeKind, Changes, Dataset, Table};
use chunkmill::duplicates::DropRule;
use chunkmill::error::Error;
use chunkmill::job::{self, Job};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{finish, folder, program, run, tree, write};
use crate::dataset::jobs::{Numbers, date, difference, entries, fake, job, memory, page, put, run_job, unsynced};

fn corpus(pages: usize) -> TempDir {
    let home = folder(&[]);
    for number in 0..pages {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 0));
    }
    home
}

fn index(home: &Path, out: &str, extra: &[&str]) -> Value {
    let mut args = vec!["index", "docs", "-o", out, "--embedder", "fake", "--json", "--min", "50", "--max", "400"];
    if !extra.contains(&"--files") {
        args.extend(["--files", "3"]);
    }
    args.extend(extra);
    let (code, stdout, err) = run(home, &args);
    assert!(code == 0 || code == 3, "{code}: {err}");
    serde_json::from_str(&stdout).unwrap()
}

/// Returns every file of a dataset by name.
fn files(home: &Path, out: &str) -> BTreeMap<String, Vec<u8>> {
    tree(&home.join(out)).into_iter().collect()
}

/// Asserts that both datasets have the same files with the same bytes.
fn assert_same(home: &Path, a: &str, b: &str) {
    let (a, b) = (files(home, a), files(home, b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(b[name] == *bytes, "{name} differs");
    }
}

#[test]
fn a_second_run_over_the_same_corpus_makes_nothing_and_changes_nothing() {
    let home = corpus(30);
    let first = index(home.path(), "out", &[]);
    assert_eq!(first["chunks_reused"], 0);
    let before = files(home.path(), "out");
    let second = index(home.path(), "out", &[]);
    assert_eq!((&second["texts_embedded"], &second["chunks_reused"]), (&0.into(), &first["chunks"]));
    assert!(files(home.path(), "out") == before);
    let fresh = index(home.path(), "out", &["--fresh"]);
    assert_eq!((&fresh["texts_embedded"], &fresh["chunks_reused"]), (&first["texts_embedded"], &0.into()));
    assert!(files(home.path(), "out") == before);
}

#[test]
fn an_edit_touches_the_file_of_its_document_and_embeds_only_what_is_new() {
    let home = corpus(40);
    index(home.path(), "out", &[]);
    let before = files(home.path(), "out");
    put(home.path(), "docs/7.md", &page(7, 1));
    let summary = index(home.path(), "out", &[]);
    let embedded = summary["texts_embedded"].as_u64().unwrap();
    assert!((1..=6).contains(&embedded), "{embedded} texts of one page");
    let after = files(home.path(), "out");
    let changed: Vec<&String> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    for table in ["data/chunks/", "data/documents/"] {
        assert_eq!(changed.iter().filter(|name| name.starts_with(table)).count(), 1, "{changed:?}");
    }
    index(home.path(), "fresh", &[]);
    assert_same(home.path(), "out", "fresh");
}

/// A corpus of two collections that changes, and the job over it.
struct History {
    home: TempDir,
    numbers: Numbers,
    /// Number of names used so far.
    named: usize,
    job: Job,
    include: usize,
}

/// The ways in which vectors are stored.
const TYPES: [&str; 8] = ["f32", "f16", "list", "f32,int8", "int8,bits", "f16,bits", "f16,int8,bits", "bits"];

/// Ends of documents: nothing, or paragraphs that others have too.
const END: [&str; 3] = [
    "",
    "\nThese words stand at the end of many pages.\n",
    "\nAnd these words are at the end of others.\n\nThese words stand  at the end\nof many pages.\n",
];

const SPECS: [&str; 4] = [
    "header unit=tokens min=50 max=400 overlap=0",
    "header unit=tokens min=50 max=400 overlap=20",
    "heading unit=chars max=300 overlap=20",
    "none",
];

/// The contents of a dataset by document: the hash of the file with what of it is not embedded, and the number of chunks.
type Documents = BTreeMap<String, (String, u64)>;

fn documents(out: &Path) -> Documents {
    let dataset = Dataset::open(out).unwrap();
    let texts = |table: Table, columns: &[&str]| {
        let batches = dataset.files(table).flat_map(|file| dataset.read(file, columns, None).unwrap());
        let rows = batches.flat_map(|batch| {
            let batch = batch.unwrap();
            let column = |at: usize| batch.column(at).as_string::<i32>().iter().map(|text| text.unwrap().to_owned());
            column(0).zip(column(batch.num_columns() - 1)).collect::<Vec<_>>()
        });
        rows.collect::<Vec<_>>()
    };
    let hashes = texts(Table::Documents, &["doc_id", "content_hash"]);
    let mut found: Documents = hashes.into_iter().map(|(id, hash)| (id, (hash, 0))).collect();
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read(file, &["doc_id", "boilerplate"], None).unwrap().map(Result::unwrap) {
            for (row, id) in batch.column(0).as_string::<i32>().iter().enumerate() {
                let skipped = format!(" {:?}", batch.column(1).as_list::<i32>().value(row));
                found.get_mut(id.unwrap()).unwrap().0 += &skipped;
            }
        }
    }
    for (id, _) in texts(Table::Chunks, &["doc_id"]) {
        found.get_mut(&id).unwrap().1 += 1;
    }
    found
}

/// A snapshot's id and, for each chunk, the hash of its row: all that a copy elsewhere needs to know.
type Copy = (String, BTreeMap<String, String>);

fn copy_of(out: &Path) -> Copy {
    let dataset = Dataset::open(out).unwrap();
    let mut rows = BTreeMap::new();
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read_texts(file, ["chunk_id", "row_hash"]).unwrap() {
            let [ids, hashes] = batch.unwrap();
            rows.extend(ids.iter().flatten().map(str::to_owned).zip(hashes.iter().flatten().map(str::to_owned)));
        }
    }
    (dataset.id(), rows)
}

/// Brings a copy up to date by the changes since its snapshot. Fails if it is not the dataset then.
fn follows((snapshot, rows): &Copy, out: &Path) -> Result<(), String> {
    let dataset = Dataset::open(out).unwrap();
    let changes = Changes::since(&dataset, snapshot).map_err(|error| error.to_string())?;
    let mut rows = rows.clone();
    for change in &changes.rows {
        let before = rows.get(&change.chunk_id);
        let is_right = match change.change {
            ChangeKind::Added => before.is_none(),
            ChangeKind::Removed => before == Some(&change.row_hash),
            ChangeKind::Changed => before.is_some_and(|before| *before != change.row_hash),
            ChangeKind::Moved => before != Some(&change.row_hash) && change.moved_from.is_some(),
        };
        if !is_right {
            return Err(format!("since {snapshot}: {change:?}, but before {before:?}"));
        }
        match change.change {
            ChangeKind::Removed => rows.remove(&change.chunk_id),
            _ => rows.insert(change.chunk_id.clone(), change.row_hash.clone()),
        };
    }
    let is_same = rows == copy_of(out).1;
    if is_same { Ok(()) } else { Err(format!("the changes since {snapshot} do not lead to the dataset")) }
}

impl History {
    fn new(seed: u64) -> Self {
        let home = memory();
        for number in 0..7 {
            put(home.path(), &format!("docs/{number}.md"), &(page(number, 0) + END[number % END.len()]));
        }
        // Never changed, so there is a document whatever the globs.
        put(home.path(), "notes/always.md", &page(30, 0));
        let mut job = job(&[&home.path().join("docs"), &home.path().join("notes")]);
        job.roots[1].collection = "notes".to_owned();
        Self { home, numbers: Numbers::new(seed), named: 0, job, include: 0 }
    }

    /// Returns a name that no document has yet, in either collection.
    fn name(&mut self) -> String {
        self.named += 1;
        let folder = ["docs", "notes", "docs/deep"][self.numbers.below(3)];
        let extension = ["md", "md", "txt"][self.numbers.below(3)];
        format!("{folder}/n{}.{extension}", self.named)
    }

    /// Makes a change and returns a description of it.
    fn change(&mut self, version: usize) -> String {
        let home = self.home.path().to_owned();
        let names = tree(&home).into_iter().map(|(name, _)| name);
        let names: Vec<String> =
            names.filter(|name| !name.starts_with("out") && !name.ends_with("always.md")).collect();
        let old = names.get(self.numbers.below(names.len().max(1))).cloned().unwrap_or("docs/0.md".to_owned());
        let (old_path, new) = (home.join(&old), self.name());
        fs::create_dir_all(home.join(&new).parent().unwrap()).unwrap();
        let kind = self.numbers.below(12);
        if names.len() < 3 && kind > 1 {
            put(&home, &new, &page(self.named, version));
            return format!("{new} is new");
        }
        match kind {
            0 | 1 => {
                let end = END[self.numbers.below(END.len())];
                put(&home, &old, &(page(self.numbers.below(20), version) + end));
                format!("{old} is edited")
            }
            2 | 3 => {
                fs::remove_file(&old_path).unwrap();
                format!("{old} is deleted")
            }
            // Also into another collection.
            4 | 5 => {
                fs::rename(&old_path, home.join(&new)).unwrap();
                format!("{old} is moved to {new}")
            }
            6 | 7 => {
                fs::copy(&old_path, home.join(&new)).unwrap();
                date(&home.join(&new), 0);
                format!("{old} is copied to {new}")
            }
            8 => {
                date(&old_path, version as u64);
                format!("{old} is touched")
            }
            9 => {
                write(&home, &old, b"\xff\xfe\xfd not text \xc3");
                date(&old_path, 0);
                format!("{old} cannot be decoded")
            }
            10 => {
                self.job.spec = SPECS[self.numbers.below(SPECS.len())].parse().unwrap();
                self.job.output.embedding_type = TYPES[self.numbers.below(TYPES.len())].parse().unwrap();
                format!("{} and {} are asked for", self.job.spec, self.job.output.embedding_type)
            }
            _ => {
                self.job.drop_duplicates =
                    [DropRule::None, DropRule::Exact, DropRule::Near(900)][self.numbers.below(3)];
                self.job.skip_boilerplate = [None, Some(2), Some(4)][self.numbers.below(3)];
                self.job.output.files = 1 + self.numbers.below(3);
                self.include = self.numbers.below(3);
                let include = [&[][..], &["**/*.md".to_owned()], &["**/*.txt".to_owned(), "always.md".to_owned()]];
                self.job.filter = Filter::new(include[self.include], &[], true, DEFAULT_MAX_BYTES).unwrap();
                format!(
                    "{} files, include {:?}, duplicates {} and boilerplate {:?} are asked for",
                    self.job.output.files, include[self.include], self.job.drop_duplicates, self.job.skip_boilerplate
                )
            }
        }
    }

    /// Returns whether vectors of a dataset that was built by the job `before` may be kept.
    fn keeps(&self, before: &Job) -> bool {
        let [was, is] = [before, &self.job].map(|job| job.output.embedding_type.to_string());
        // Rounded values cannot be restored, but stored as they are.
        let is_exact = was.contains("f32") || was.contains("list");
        let serves = is_exact || is.split(',').all(|kind| was.split(',').any(|known| known == kind));
        before.spec.fingerprint() == self.job.spec.fingerprint() && serves
    }

    /// Makes some changes and a run, a few times. Fails with a description of what is wrong.
    fn go_through(&mut self) -> Result<(), String> {
        let (out, fresh) = (self.home.path().join("out"), self.home.path().join("out-fresh"));
        let unsynced = unsynced(&out);
        run_job(&self.job, &unsynced).unwrap();
        let mut happened = Vec::new();
        let mut copies = vec![copy_of(&out)];
        for step in 1..=3 {
            let (before, known) = (self.job.clone(), documents(&out));
            for _ in 0..=self.numbers.below(4) {
                happened.push(self.change(step));
            }
            let stopped = self.numbers.below(4) == 0;
            if stopped {
                // A run that is interrupted somewhere and then resumed must make no difference.
                let events = AtomicUsize::new(self.numbers.below(20));
                let stop = AtomicBool::new(false);
                let watch = |_| stop.store(events.fetch_sub(1, Ordering::Relaxed) <= 1, Ordering::Relaxed);
                happened.push(match job::run(&self.job, &unsynced, fake().as_ref(), &stop, &watch) {
                    Err(Error::Interrupted) => "a run is stopped".to_owned(),
                    Ok(_) => "a run that should be stopped is not".to_owned(),
                    Err(error) => return Err(format!("{happened:#?}: {error}")),
                });
            }
            let report = run_job(&self.job, &unsynced).map_err(|error| format!("{happened:#?}: {error}"))?;
            run_job(&self.job, &fresh).unwrap();
            if let Some(problem) = difference(&entries(&out), &entries(&fresh)) {
                return Err(format!("{happened:#?}: {problem}"));
            }
            fs::remove_dir_all(&fresh).unwrap();
            copies.push(copy_of(&out));
            for copy in &copies {
                follows(copy, &out).map_err(|problem| format!("{happened:#?}: {problem}"))?;
            }
            let now = documents(&out);
            let unchanged = now.iter().filter(|(id, (hash, _))| known.get(*id).is_some_and(|(old, _)| old == hash));
            let unchanged = unchanged.map(|(_, (_, chunks))| chunks).sum::<u64>();
            let expected = if self.keeps(&before) { unchanged } else { 0 };
            let (kept, new) = (report.chunks_reused, report.manifest.counts.chunks - report.chunks_reused);
            if kept < expected || (!stopped && kept > expected) || report.texts_embedded as u64 > new {
                let embedded = report.texts_embedded;
                return Err(format!("{happened:#?}: kept {kept} of {expected} chunks, embedded {embedded} of {new}"));
            }
        }
        Ok(())
    }
}

#[test]
fn whatever_happens_to_a_corpus_leaves_the_bytes_of_a_run_from_nothing() {
    const HISTORIES: u64 = 240;
    let (next, failures) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= HISTORIES {
                        break;
                    }
                    if let Err(problem) = History::new(seed).go_through() {
                        failures.lock().unwrap().push(format!("seed {seed}: {problem}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {HISTORIES} histories:\n{}", failures.len(), failures[0]);
}

/// Returns a run with a model of real cost, so there is something to stop.
fn long_job(home: &Path, out: &str) -> std::process::Command {
    let mut command = program(home);
    command.args(["index", "docs", "-o", out, "--model", "tiny", "--files", "6", "--json", "--progress", "never"]);
    command.args(["--min", "1", "--max", "200", "--overlap", "0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn long_corpus() -> TempDir {
    let home = folder(&[]);
    crate::common::tiny_model(&home.path().join("tiny"));
    for number in 0..60 {
        let text: String =
            (0..40).map(|i| format!("# s{i}\n\n{} word{i} page{number}\n\n", "the cat sat . ".repeat(9))).collect();
        put(home.path(), &format!("docs/{number}.md"), &text);
    }
    home
}

#[test]
fn vectors_that_other_instructions_computed_are_computed_again() {
    let home = folder(&[("docs/a.md", "# A\n\nthe cat sat on the mat\n"), ("docs/b.md", "# B\n\nthe mat sat\n")]);
    crate::common::tiny_model(&home.path().join("tiny"));
    let index = |out: &str, isa: &str| {
        let args = ["index", "docs", "-o", out, "--model", "tiny", "--files", "1", "--json", "--cpu-isa", isa];
        let (code, report, err) = run(home.path(), &args);
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&report).unwrap()
    };
    let best = index("out", "avx2");
    assert_eq!(index("out", "avx2")["chunks_reused"], best["chunks"]);
    assert_eq!(index("out", "portable")["chunks_reused"], 0);
    index("fresh", "portable");
    assert_same(home.path(), "out", "fresh");
}

#[test]
fn a_second_writer_is_refused_and_told_who_the_first_is() {
    let home = long_corpus();
    let mut first = long_job(home.path(), "out").spawn().unwrap();
    while !home.path().join("out/.staging").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let (code, _, err) = finish(long_job(home.path(), "out").output().unwrap());
    assert_eq!(code, 4, "{err}");
    assert!(err.contains(&format!("process {}", first.id())), "{err}");
    // A holder that dies leaves no lock behind that somebody would have to break.
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(finish(long_job(home.path(), "out").output().unwrap()).0, 0);
    let names: Vec<String> = tree(&home.path().join("out")).into_iter().map(|(name, _)| name).collect();
    assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
}

#[test]
fn a_document_that_could_not_be_read_for_a_moment_is_indexed_by_the_next_run() {
    let home = crate::dataset::jobs::memory();
    for number in 0..8 {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 0));
    }
    let (job, out) = (crate::dataset::jobs::job(&[&home.path().join("docs")]), home.path().join("out"));
    run_job(&job, &out).unwrap();
    put(home.path(), "docs/3.md", &page(3, 1));
    let file = home.path().join("docs/3.md");
    // The document is intact when the run looks at it and when the run ends, but not when it is read.
    let watch = |event| match event {
        chunkmill::job::Event::Kept { .. } => fs::write(&file, b"\xc3\x28").unwrap(),
        chunkmill::job::Event::Prepared { chunks: 0, .. } => put(home.path(), "docs/3.md", &page(3, 1)),
        _ => {}
    };
    let report = job::run(&job, &out.as_path().into(), fake().as_ref(), &AtomicBool::new(false), &watch).unwrap();
    assert_eq!(report.quarantined.iter().map(|row| row.doc_id.as_str()).collect::<Vec<_>>(), ["3.md"]);
    assert!(run_job(&job, &out).unwrap().quarantined.is_empty());
    run_job(&job, home.path().join("fresh")).unwrap();
    assert_eq!(difference(&entries(&out), &entries(&home.path().join("fresh"))), None);
}
