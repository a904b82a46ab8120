//! A disk that fails: at every operation of a run in turn, the disk is full, breaks, does half of what it should, or
//! the machine crashes and loses what was not synced. In every case, the dataset is the old one or the new one, and
//! the next run ends with the bytes of an undisturbed run.
//!
//! The disk is the real one behind the seam [`Storage`], without its syncing: a sync is only recorded, and a crash
//! then undoes what was not synced. The effects of a crash are those that POSIX allows and that journals leave. The
//! contents of a file that was not synced may be missing, shorter, or zeros. The names in a folder that was not
//! synced are as they were before the last operations on them, in the order of the operations. After a rename
//! between folders of which only the new one was synced, both names may exist.
//!
//! The program itself is run on disks that are really full.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chunkmill::dataset::{Sweep, gc};
use chunkmill::error::{Error, Result};
use chunkmill::job;
use chunkmill::storage::{self, FileSystem, Location, Storage};
use tempfile::TempDir;

use crate::common::{PROGRAM, finish, note, other_program, run};
use crate::dataset::jobs::{
    Numbers, date, difference, entries, fake, job, memory, page, put, run_job, unsynced, whole,
};

/// The system's error numbers. The errors of a run must contain their descriptions.
const NO_ROOM: i32 = 28;
const BROKEN: i32 = 5;

/// A fault at one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// The operation fails with this error and does nothing.
    Error(i32),
    /// A write takes fewer bytes than it was given, which is not an error.
    Short,
    /// A write is interrupted, which is not an error either.
    Interrupted,
    /// A write takes some bytes, and the next operation fails with this error.
    Torn(i32),
    /// The operation is done in part or not at all, nothing is done after it, and what was not synced is lost.
    Crash(Loss, u64),
}

/// Which of the operations on names that were not synced a crash undoes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    Nothing,
    Everything,
    /// A random number of the last ones.
    Some,
}

/// A file's bytes, and whether they were synced.
#[derive(Debug)]
struct Saved {
    path: PathBuf,
    bytes: Vec<u8>,
    durable: bool,
}

/// How to undo an operation on names.
#[derive(Debug)]
enum Undo {
    Create { path: PathBuf, before: Option<Saved> },
    MakeFolder(PathBuf),
    Rename { from: PathBuf, to: PathBuf, before: Option<Saved> },
    Remove(Saved),
    RemoveFolder { folders: Vec<PathBuf>, files: Vec<Saved> },
}

impl Undo {
    /// Returns the folder whose syncing makes the operation durable.
    fn folder(&self) -> &Path {
        let path = match self {
            Self::Create { path, .. } | Self::MakeFolder(path) | Self::Remove(Saved { path, .. }) => path,
            Self::Rename { to, .. } => to,
            Self::RemoveFolder { folders, .. } => &folders[0],
        };
        path.parent().unwrap()
    }
}

/// The operations so far, what they did that is not durable yet, and the planned fault.
#[derive(Debug)]
struct State {
    fault: Option<(usize, Fault)>,
    numbers: Numbers,
    /// Descriptions of the operations so far.
    done: Vec<String>,
    dead: bool,
    undo: Vec<Undo>,
    /// Files whose bytes were not synced, by their current name.
    unsynced: BTreeSet<PathBuf>,
    /// Renames between folders: the old name, and the new one in a folder that was synced.
    two_names: Vec<(PathBuf, PathBuf)>,
}

#[derive(Debug, Clone)]
struct Flaky(Arc<Mutex<State>>);

/// A file that is being written.
#[derive(Debug)]
struct FlakyFile {
    disk: Flaky,
    file: File,
    path: PathBuf,
}

fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

impl State {
    /// Begins an operation. Returns the fault that applies to it, if any.
    fn begin(&mut self, what: String) -> io::Result<Option<Fault>> {
        if self.dead {
            return Err(dead());
        }
        let at = self.done.len();
        self.done.push(what);
        match self.fault {
            Some((n, Fault::Error(error))) if n == at => Err(io::Error::from_raw_os_error(error)),
            Some((n, Fault::Torn(error))) if n + 1 == at => Err(io::Error::from_raw_os_error(error)),
            Some((n, fault)) if n == at => {
                self.dead = matches!(fault, Fault::Crash(..));
                Ok(Some(fault))
            }
            _ => Ok(None),
        }
    }

    fn save(&self, path: &Path) -> Option<Saved> {
        let bytes = fs::read(path).ok()?;
        Some(Saved { path: path.to_owned(), bytes, durable: !self.unsynced.contains(path) })
    }

    /// Restores a file.
    fn restore(&mut self, saved: &Saved) {
        if saved.path.parent().unwrap().is_dir() {
            fs::write(&saved.path, &saved.bytes).unwrap();
            if !saved.durable {
                self.unsynced.insert(saved.path.clone());
            }
        }
    }

    fn take_back(&mut self, undo: Undo) {
        match undo {
            Undo::Create { path, before } => {
                let _ = fs::remove_file(&path);
                self.unsynced.remove(&path);
                before.iter().for_each(|saved| self.restore(saved));
            }
            Undo::MakeFolder(path) => {
                let _ = fs::remove_dir_all(&path);
                self.unsynced.retain(|file| !file.starts_with(&path));
            }
            Undo::Rename { from, to, before } => {
                if fs::rename(&to, &from).is_ok() && self.unsynced.remove(&to) {
                    self.unsynced.insert(from);
                }
                before.iter().for_each(|saved| self.restore(saved));
            }
            Undo::Remove(saved) => self.restore(&saved),
            Undo::RemoveFolder { folders, files } => {
                folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
                files.iter().for_each(|saved| self.restore(saved));
            }
        }
    }

    /// Stops the machine: what was not synced is lost, to the extent of `loss`.
    fn lose(&mut self, loss: Loss) {
        let count = match loss {
            Loss::Nothing => 0,
            Loss::Everything => self.undo.len(),
            Loss::Some => self.numbers.below(self.undo.len() + 1),
        };
        for undo in self.undo.split_off(self.undo.len() - count).into_iter().rev() {
            self.take_back(undo);
        }
        for (from, to) in std::mem::take(&mut self.two_names) {
            if from.parent().unwrap().is_dir() && !from.exists() && to.exists() && self.numbers.below(2) == 0 {
                fs::copy(&to, &from).unwrap();
            }
        }
        for path in std::mem::take(&mut self.unsynced) {
            let Ok(mut bytes) = fs::read(&path) else { continue };
            let keep = self.numbers.below(bytes.len() + 1);
            match self.numbers.below(4) {
                0 => {}
                1 => bytes.truncate(keep),
                2 => bytes.clear(),
                _ => bytes[keep / 2..].fill(0),
            }
            fs::write(&path, bytes).unwrap();
        }
    }
}

impl Flaky {
    fn new(seed: u64, fault: Option<(usize, Fault)>) -> Self {
        Self(Arc::new(Mutex::new(State {
            fault,
            numbers: Numbers::new(seed),
            done: Vec::new(),
            dead: false,
            undo: Vec::new(),
            unsynced: BTreeSet::new(),
            two_names: Vec::new(),
        })))
    }

    /// Performs one operation on names, unless a fault prevents it.
    fn operate<T>(&self, what: &str, path: &Path, act: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.0.lock().unwrap();
        match state.begin(format!("{what} {}", path.display()))? {
            Some(Fault::Crash(..)) => Err(dead()),
            _ => act(&mut state),
        }
    }
}

impl Flaky {
    fn at(&self, path: &Path) -> Location {
        Location::new(path, Arc::new(self.clone()))
    }
}

impl Storage for Flaky {
    fn create(&self, path: &Path) -> io::Result<Box<dyn storage::OutputFile>> {
        self.operate("create", path, |state| {
            let before = state.save(path);
            let file = File::create(path)?;
            state.undo.push(Undo::Create { path: path.to_owned(), before });
            state.unsynced.insert(path.to_owned());
            let file = FlakyFile { disk: self.clone(), file, path: path.to_owned() };
            Ok(Box::new(file) as Box<dyn storage::OutputFile>)
        })
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.operate("create folder", path, |state| {
            let missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
            FileSystem.create_dir_all(path)?;
            state.undo.extend(missing.into_iter().rev().map(|path| Undo::MakeFolder(path.to_owned())));
            Ok(())
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate("rename to", to, |state| {
            let before = state.save(to);
            FileSystem.rename(from, to)?;
            state.unsynced.remove(to);
            if state.unsynced.remove(from) {
                state.unsynced.insert(to.to_owned());
            }
            state.undo.push(Undo::Rename { from: from.to_owned(), to: to.to_owned(), before });
            Ok(())
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.operate("remove", path, |state| {
            let saved = state.save(path);
            FileSystem.remove_file(path)?;
            state.unsynced.remove(path);
            state.undo.extend(saved.map(Undo::Remove));
            Ok(())
        })
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        let fault = state.begin(format!("remove folder {}", path.display()))?;
        if !path.exists() {
            return Ok(());
        }
        let below = entries(path);
        let (folders, files): (Vec<_>, Vec<_>) = below.keys().partition(|name| name.ends_with('/'));
        let files: Vec<Saved> = files.iter().map(|name| state.save(&path.join(name)).unwrap()).collect();
        if let Some(Fault::Crash(..)) = fault {
            // Some of the files are gone, in no predictable order.
            for saved in files {
                if state.numbers.below(2) == 0 {
                    fs::remove_file(&saved.path)?;
                    state.unsynced.remove(&saved.path);
                    state.undo.push(Undo::Remove(saved));
                }
            }
            return Err(dead());
        }
        FileSystem.remove_dir_all(path)?;
        state.unsynced.retain(|file| !file.starts_with(path));
        let folders = [path.to_owned()].into_iter().chain(folders.iter().map(|name| path.join(name))).collect();
        state.undo.push(Undo::RemoveFolder { folders, files });
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.operate("sync folder", path, |state| {
            fs::read_dir(path)?;
            let State { undo, two_names, .. } = state;
            two_names.retain(|(from, _)| from.parent() != Some(path));
            undo.retain(|undo| {
                if undo.folder() != path {
                    return true;
                }
                if let Undo::Rename { from, to, .. } = undo
                    && from.parent() != to.parent()
                {
                    two_names.push((from.clone(), to.clone()));
                }
                false
            });
            Ok(())
        })
    }
}

impl Write for FlakyFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.0.lock().unwrap();
        let fault = state.begin(format!("write {}", self.path.display()))?;
        let part = &buf[..state.numbers.below(buf.len().max(1))];
        match fault {
            Some(Fault::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
            // A write of zero bytes would mean that nothing more can be written.
            Some(Fault::Short | Fault::Torn(_)) => self.file.write(&buf[..part.len().max(buf.len().min(1))]),
            Some(Fault::Crash(..)) => {
                self.file.write_all(part)?;
                Err(dead())
            }
            _ => {
                self.file.write_all(buf)?;
                Ok(buf.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl storage::OutputFile for FlakyFile {
    fn sync(&mut self) -> io::Result<()> {
        self.disk.operate("sync", &self.path, |state| {
            state.unsynced.remove(&self.path);
            Ok(())
        })
    }
}

/// A run in which every fault is tried, and the state before it.
struct Scenario {
    name: &'static str,
    home: TempDir,
    act: Act,
    /// The contents of the dataset's folder before the run.
    start: BTreeMap<String, Vec<u8>>,
    /// The contents of the dataset's folder after an undisturbed run.
    end: BTreeMap<String, Vec<u8>>,
    /// The operations of the undisturbed run.
    operations: Vec<String>,
    /// The position of the operation that commits.
    commit: usize,
}

/// Work on a dataset's folder that ends when it is done or told to stop. Doing it again makes no difference.
type Act = Box<dyn Fn(&Location, &AtomicBool) -> Result<()> + Send + Sync>;

const MANIFEST: &str = "manifest.json";

impl Scenario {
    /// A run over the documents in `docs`, starting with the files `start`.
    fn new(name: &'static str, home: TempDir, docs: &str, start: BTreeMap<String, Vec<u8>>) -> Self {
        let job = job(&[&home.path().join(docs)]);
        let fresh = home.path().join(format!("fresh-{docs}"));
        run_job(&job, &fresh).unwrap();
        let act =
            move |out: &Location, stop: &AtomicBool| job::run(&job, out, fake().as_ref(), stop, &|_| ()).map(drop);
        Self::of(name, home, Box::new(act), start, entries(&fresh))
    }

    /// Any work that turns `start` into `end`.
    fn of(
        name: &'static str,
        home: TempDir,
        act: Act,
        start: BTreeMap<String, Vec<u8>>,
        end: BTreeMap<String, Vec<u8>>,
    ) -> Self {
        let mut scenario = Self { name, home, act, start, end, operations: Vec::new(), commit: 0 };
        let out = scenario.prepare("counted");
        let disk = Flaky::new(0, None);
        (scenario.act)(&disk.at(&out), &AtomicBool::new(false)).unwrap();
        assert_eq!(difference(&entries(&out), &scenario.end), None, "{name}");
        scenario.operations = std::mem::take(&mut disk.0.lock().unwrap().done);
        for name in scenario.end.keys().filter(|name| !name.ends_with('/') && !scenario.start.contains_key(*name)) {
            let placed = format!("rename to {}", out.join(name).display());
            assert!(scenario.operations.contains(&placed), "{name} did not come through the seam");
        }
        let commit = format!("rename to {}", out.join(MANIFEST).display());
        scenario.commit = scenario.operations.iter().position(|done| *done == commit).unwrap();
        scenario
    }

    /// Creates the dataset's folder as it is before the run, under a name of its own.
    fn prepare(&self, name: &str) -> PathBuf {
        let out = self.home.path().join(name);
        let _ = fs::remove_dir_all(&out);
        for (name, bytes) in &self.start {
            let path = out.join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
        out
    }

    /// Returns whether the dataset is the new one. Fails with the reason if it is neither the old one nor the new
    /// one.
    fn is_new(&self, out: &Path) -> Result<bool, String> {
        let Ok(found) = fs::read(out.join(MANIFEST)) else {
            return if self.start.contains_key(MANIFEST) { Err("the manifest is gone".to_owned()) } else { Ok(false) };
        };
        whole(out)?;
        if found == self.end[MANIFEST] {
            return Ok(true);
        }
        (self.start.get(MANIFEST) == Some(&found)).then_some(false).ok_or_else(|| "an unknown manifest".to_owned())
    }

    /// Runs with a fault at operation `at`, then again without one. Fails with a description of what is wrong.
    fn attempt(&self, folder: &str, at: usize, fault: Fault) -> Result<(), String> {
        let out = self.prepare(folder);
        let seed = match fault {
            Fault::Crash(_, seed) => seed,
            _ => 0,
        };
        let disk = Flaky::new(at as u64 * 1000 + seed, Some((at, fault)));
        let act = |location: &Location| (self.act)(location, &AtomicBool::new(false));
        let run = catch_unwind(AssertUnwindSafe(|| act(&disk.at(&out)))).map_err(|_| "a panic".to_owned())?;
        let mut state = disk.0.lock().unwrap();
        match (fault, run) {
            (Fault::Crash(loss, _), _) => {
                state.lose(loss);
                if out.is_dir() {
                    fs::write(out.join(".lock"), "process 1 on a machine that stopped\n").unwrap();
                }
                // A commit is permanent once the run has synced its folder afterwards.
                let is_new = self.is_new(&out)?;
                if at > self.commit + 1 && !is_new {
                    return Err("the new dataset was lost after it was committed".to_owned());
                }
                if at <= self.commit && is_new {
                    return Err("the new dataset was there before it was committed".to_owned());
                }
            }
            (Fault::Short | Fault::Interrupted, Err(error)) => return Err(format!("the run should not fail: {error}")),
            (Fault::Short | Fault::Interrupted, Ok(_)) => {
                if let Some(problem) = difference(&entries(&out), &self.end) {
                    return Err(problem);
                }
            }
            (Fault::Error(code) | Fault::Torn(code), Err(error)) => {
                let (said, reason) = (error.to_string(), io::Error::from_raw_os_error(code).to_string());
                if !said.contains(&reason) || !said.contains(self.home.path().to_str().unwrap()) {
                    return Err(format!("an unclear error: {said}"));
                }
                let failed = at + usize::from(matches!(fault, Fault::Torn(_)));
                if self.is_new(&out)? != (failed > self.commit) {
                    return Err(format!("after `{said}` the wrong dataset is there"));
                }
            }
            // Operations that only tidy up may fail.
            (Fault::Error(_) | Fault::Torn(_), Ok(_)) => {
                if !self.is_new(&out)? {
                    return Err("no error and no new dataset".to_owned());
                }
            }
        }
        drop(state);
        if matches!(fault, Fault::Crash(..)) {
            self.stop_early(&out)?;
        }
        act(&unsynced(&out)).map_err(|error| format!("the next run fails: {error}"))?;
        difference(&entries(&out), &self.end).map_or(Ok(()), |problem| Err(format!("after the next run: {problem}")))
    }

    /// Starts a run after a crash and stops it at once. It may only have tidied up.
    fn stop_early(&self, out: &Path) -> Result<(), String> {
        let is_new = self.is_new(out)?;
        match (self.act)(&unsynced(out), &AtomicBool::new(true)) {
            Err(Error::Interrupted) => {}
            // There was nothing left to stop.
            Ok(_) if is_new => return Ok(()),
            other => return Err(format!("the run that should have stopped: {:?}", other.err())),
        }
        if self.is_new(out)? != is_new {
            return Err("a run that stopped has changed the dataset".to_owned());
        }
        let wanted = if is_new { &self.end } else { &self.start };
        for name in ["README.md", "quarantine.jsonl"] {
            if fs::read(out.join(name)).ok().as_ref() != wanted.get(name) {
                return Err(format!("{name} is not that of the dataset"));
            }
        }
        Ok(())
    }

    /// Tries every fault at every operation.
    fn sweep(&self) {
        let losses = [Loss::Nothing, Loss::Everything, Loss::Some, Loss::Some];
        let mut attempts: Vec<(usize, Fault)> = Vec::new();
        for (at, operation) in self.operations.iter().enumerate() {
            attempts.extend([NO_ROOM, BROKEN].map(|code| (at, Fault::Error(code))));
            if operation.starts_with("write ") {
                attempts.extend([Fault::Short, Fault::Interrupted, Fault::Torn(NO_ROOM)].map(|fault| (at, fault)));
            }
        }
        // One more crash: the machine stops after the run has ended.
        for at in 0..=self.operations.len() {
            // A folder may be removed in part, and there are many possible parts.
            let times = self.operations.get(at).map_or(1, |what| if what.starts_with("remove folder") { 8 } else { 1 });
            let crashes = (0..).zip(losses.iter().cycle().take(times * losses.len()));
            attempts.extend(crashes.map(|(seed, &loss)| (at, Fault::Crash(loss, seed))));
        }
        let next = AtomicUsize::new(0);
        let failures = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (next, attempts, failures) = (&next, &attempts, &failures);
                scope.spawn(move || {
                    let folder = format!("out-{thread}");
                    while let Some(&(at, fault)) = attempts.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if let Err(problem) = self.attempt(&folder, at, fault) {
                            let operation = self.operations.get(at).map_or("the end", String::as_str);
                            failures.lock().unwrap().push((at, format!("{at} ({operation}), {fault:?}: {problem}")));
                        }
                    }
                });
            }
        });
        let mut failures = failures.into_inner().unwrap();
        failures.sort_by_key(|(at, _)| *at);
        let texts: Vec<&str> = failures.iter().take(20).map(|(_, text)| text.as_str()).collect();
        assert!(texts.is_empty(), "{}: {} of {}:\n{}", self.name, failures.len(), attempts.len(), texts.join("\n"));
        let (operations, count) = (self.operations.len(), attempts.len());
        note(&format!("faults: {}: {operations} operations, each covered; {count} faults", self.name));
    }
}

/// Creates a corpus of eight documents.
fn corpus() -> TempDir {
    let home = memory();
    for number in 0..8 {
        put(home.path(), &format!("docs/{number}.md"), &page(number, 0));
    }
    home
}

/// Copies the documents into another folder and works on them: an edit, a removal, a new name, a new document, and
/// one that cannot be read.
fn work_on(home: &Path, from: &str, to: &str, version: usize) {
    for (name, bytes) in crate::common::tree(&home.join(from)) {
        put(home, &format!("{to}/{name}"), &String::from_utf8_lossy(&bytes));
    }
    put(home, &format!("{to}/{version}.md"), &page(version, version));
    fs::remove_file(home.join(to).join(format!("{}.md", version + 1))).unwrap();
    fs::rename(home.join(to).join(format!("{}.md", version + 2)), home.join(to).join(format!("named-{version}.md")))
        .unwrap();
    put(home, &format!("{to}/new-{version}.md"), &page(20 + version, version));
    fs::write(home.join(to).join("torn.md"), b"\xff\xfe\xfd").unwrap();
    date(&home.join(to).join("torn.md"), 0);
}

fn dataset(home: &TempDir, docs: &str, out: &str) -> BTreeMap<String, Vec<u8>> {
    let out = home.path().join(out);
    run_job(&job(&[&home.path().join(docs)]), unsynced(&out)).unwrap();
    entries(&out)
}

#[test]
fn a_first_run_survives_any_fault_at_any_operation() {
    Scenario::new("a first run", corpus(), "docs", BTreeMap::new()).sweep();
}

#[test]
fn a_run_over_a_corpus_that_changed_survives_any_fault_at_any_operation() {
    let home = corpus();
    work_on(home.path(), "docs", "later", 1);
    let start = dataset(&home, "docs", "before");
    Scenario::new("an incremental run", home, "later", start).sweep();
}

/// A scenario that resumes a run that ended just before its commit, over a corpus that has changed again.
fn continued(name: &'static str, start: impl Fn(&TempDir) -> BTreeMap<String, Vec<u8>>) -> Scenario {
    let home = corpus();
    work_on(home.path(), "docs", "later", 1);
    work_on(home.path(), "later", "latest", 4);
    let start = start(&home);
    let scenario = Scenario::new("the run that is stopped", home, "later", start);
    let out = scenario.prepare("stopped");
    let disk = Flaky::new(0, Some((scenario.commit, Fault::Crash(Loss::Nothing, 0))));
    (scenario.act)(&disk.at(&out), &AtomicBool::new(false)).unwrap_err();
    let start = entries(&out);
    assert!(
        start.keys().any(|name| name.starts_with(".staging/") && name.ends_with("/README.md")),
        "the card is staged"
    );
    Scenario::new(name, scenario.home, "latest", start)
}

#[test]
fn a_run_that_continues_a_first_one_survives_any_fault_at_any_operation() {
    continued("a run that continues a first one", |_| BTreeMap::new()).sweep();
}

#[test]
fn a_run_that_continues_an_incremental_one_survives_any_fault_at_any_operation() {
    continued("a run that continues an incremental one", |home| dataset(home, "docs", "before")).sweep();
}

/// The work of two shards and its commit, over a corpus that has changed.
#[test]
fn shards_and_their_commit_survive_any_fault_at_any_operation() {
    let home = corpus();
    work_on(home.path(), "docs", "later", 1);
    let start = dataset(&home, "docs", "before");
    let end = dataset(&home, "later", "after");
    let job = job(&[&home.path().join("later")]);
    let stop = AtomicBool::new(false);
    let plan = job::plan(&job, &home.path().join("before").into(), fake().as_ref(), 2, &stop).unwrap();
    assert!(plan.parts.iter().all(|part| part.shard.is_some()), "each shard has something to do");
    let act = move |out: &Location, stop: &AtomicBool| {
        for shard in 1..=2 {
            job::run_shard(&job, out, fake().as_ref(), &plan, shard, stop, &|_| ())?;
        }
        job::commit(&plan, out, stop).map(drop)
    };
    Scenario::of("two shards and a commit", home, Box::new(act), start, end).sweep();
}

#[test]
fn a_promotion_survives_any_fault_at_any_operation() {
    let home = corpus();
    let start = dataset(&home, "docs", "out");
    let act = |out: &Location, stop: &AtomicBool| job::promote(out, "3.md", "important", stop).map(drop);
    act(&unsynced(&home.path().join("out")), &AtomicBool::new(false)).unwrap();
    let end = entries(&home.path().join("out"));
    Scenario::of("a promotion", home, Box::new(act), start, end).sweep();
}

#[test]
fn a_deletion_survives_any_fault_at_any_operation() {
    let home = corpus();
    let start = dataset(&home, "docs", "out");
    let act = |out: &Location, stop: &AtomicBool| {
        match job::delete(out, &["3.md".to_owned()], &[], stop) {
            // An earlier attempt deleted it. The next command removes what that left behind.
            Err(Error::Setting { .. }) => gc(out, Sweep::default()).map(drop),
            other => other.map(drop),
        }
    };
    act(&unsynced(&home.path().join("out")), &AtomicBool::new(false)).unwrap();
    let end = entries(&home.path().join("out"));
    Scenario::of("a deletion", home, Box::new(act), start, end).sweep();
}

/// A dataset `out`, a corpus `docs` that has grown since, and the result of a run over it with enough space.
#[cfg(unix)]
struct Grown {
    home: TempDir,
    before: BTreeMap<String, Vec<u8>>,
    after: BTreeMap<String, Vec<u8>>,
}

#[cfg(unix)]
impl Grown {
    const INDEX: [&str; 11] =
        ["index", "docs", "--embedder", "fake", "--files", "2", "--min", "50", "--max", "400", "-o"];

    fn new() -> Self {
        let home = corpus();
        let index = |out: &str| {
            let (code, _, err) = run(home.path(), &[&Self::INDEX[..], &[out]].concat());
            assert_eq!(code, 0, "{err}");
            entries(&home.path().join(out))
        };
        let before = index("out");
        for number in 0..200 {
            put(home.path(), &format!("docs/{number}.md"), &page(number, number));
        }
        let after = index("fresh");
        Self { home, before, after }
    }

    /// Runs a shell script. Its arguments are the program and the arguments that make it index the corpus into
    /// `out`.
    fn run(&self, shell: &[&str], script: &str, out: &str) -> (i32, String, String) {
        let mut command = other_program(self.home.path(), shell[0]);
        command.args(&shell[1..]).args(["-c", script, PROGRAM]).args(Self::INDEX).arg(out);
        finish(command.output().unwrap())
    }

    /// Asserts that a run ended for lack of space and reported the file and how much space it needs.
    fn assert_full(&self, code: i32, err: &str, reason: &str, out: &str) {
        assert_eq!(code, 5, "{err}");
        assert!(err.contains(&format!("{out}/.staging")) && err.contains(reason), "{err}");
        // The documents take about 200 kB as rows. The reported need is of that order.
        let need = err.split_once("make room for about ").and_then(|(_, need)| need.split_once(" MB"));
        let need: u64 = need.expect(err).0.parse().unwrap();
        assert!((1..=3).contains(&need), "{err}");
    }

    fn assert_old(&self, out: &str) {
        whole(&self.home.path().join(out)).unwrap();
        let mut found = entries(&self.home.path().join(out));
        found.retain(|name, _| !name.starts_with(".staging/"));
        assert_eq!(difference(&found, &self.before), None);
    }

    fn assert_new(&self, out: &str) {
        assert_eq!(difference(&entries(&self.home.path().join(out)), &self.after), None);
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_ends_the_run_and_leaves_the_old_dataset() {
    let grown = Grown::new();
    // The limit is in blocks of 512 or of 1024 bytes, depending on the shell. The files of chunks are far larger.
    let (code, _, err) = grown.run(&["sh"], r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#, "out");
    grown.assert_full(code, &err, "File too large", "out");
    grown.assert_old("out");
    let (code, _, err) = grown.run(&["sh"], r#"exec "$0" "$@""#, "out");
    assert_eq!(code, 0, "{err}");
    grown.assert_new("out");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run_and_leaves_the_old_dataset() {
    // A private mount, which no other process sees and which ends with the process.
    let shells = [&["unshare", "-Urm", "sh"][..], &["unshare", "-m", "sh"]];
    let mounts = |shell: &&&[&str]| {
        let mut command = Command::new(shell[0]);
        let command = command.args(&shell[1..]).args(["-c", "mount -t tmpfs tmpfs /mnt"]);
        command.output().is_ok_and(|output| output.status.success())
    };
    let Some(shell) = shells.iter().find(mounts) else {
        return note("SKIPPED: a small disk needs user namespaces, or root");
    };
    let grown = Grown::new();
    fs::create_dir(grown.home.path().join("small")).unwrap();
    // Whole pages for the existing files, and a few more.
    let pages: usize = grown.before.values().map(|bytes| 1 + bytes.len().div_ceil(4096)).sum();
    let script = r#"
        mount -t tmpfs -o size=SIZE tmpfs small && cp -r out small/out || exit 99
        "$0" "$@"
        code=$?
        cp -r small/out full && mount -o remount,size=64m small || exit 98
        "$0" "$@" && cp -r small/out roomy || exit 97
        exit $code"#;
    let script = script.replace("SIZE", &(4096 * (pages + 8)).to_string());
    let (code, _, err) = grown.run(shell, &script, "small/out");
    grown.assert_full(code, &err, "No space left on device", "small/out");
    grown.assert_old("full");
    grown.assert_new("roomy");
}
