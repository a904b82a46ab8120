//! The program itself is killed, at random moments and at each file operation, and run again. It ends with the bytes
//! of an undisturbed run, and recomputes only what it had not stored when it died.
//!
//! `make crash` runs the long version (`CHUNKMILL_CRASH=long`), which prints its figures. The short version makes do
//! with a few kills and the most important operations.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, note, program};
use crate::dataset::jobs::{Numbers, difference, entries, memory, put, whole};
use crate::tiny::Tiny;

/// Returns whether there is time for everything.
fn is_long() -> bool {
    std::env::var("CHUNKMILL_CRASH").is_ok_and(|value| value == "long")
}

/// Words in the vocabulary of the invented model, which could not tell texts of other words apart.
const WORDS: [&str; 9] = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "and"];

const DOCUMENTS: usize = 48;
const SECTIONS: usize = 40;

/// The longest time for which the program has a vector only in memory, in seconds: the half second that
/// `embed/cache.rs` promises, and as much again for the write itself on a busy machine.
const KEPT_BACK: f64 = 1.0;

/// The maximum number of parts between the model and the disk: one in the model, one in the queue, one being
/// written.
const ON_THE_WAY: usize = 3;

/// Creates a corpus of sections with one chunk each, all different to the model, which takes some seconds for all of
/// them.
fn long_corpus() -> TempDir {
    let home = folder(&[]);
    Tiny { inner: 640, layers: 4, max_tokens: 60, ..Tiny::new("bert", 320, 4) }.write(&home.path().join("slow"));
    for document in 0..DOCUMENTS {
        let section = |section: usize| {
            let mut number = document * SECTIONS + section;
            let mut name = Vec::new();
            for _ in 0..5 {
                name.push(WORDS[number % WORDS.len()]);
                number /= WORDS.len();
            }
            format!("# {}\n\n{}\n\n", name.join(" "), "the cat sat on a mat . ".repeat(7))
        };
        let text: String = (0..SECTIONS).map(section).collect();
        put(home.path(), &format!("docs/{document}.md"), &text);
    }
    home
}

/// Returns the job over this corpus, with its progress in the file `log`. With a cache there is only one part, so
/// only the cache keeps what was computed.
fn long_job(home: &Path, out: &str, cache: &str, log: &str) -> Command {
    let mut command = program(home);
    let files = if cache == "off" { "8" } else { "1" };
    command.args([
        "index",
        "docs",
        "-o",
        out,
        "--model",
        "slow",
        "--files",
        files,
        "--json",
        "--embedding-cache",
        cache,
    ]);
    command.args(["--min", "1", "--max", "200", "--overlap", "0", "--progress", "json", "--progress-interval", "0"]);
    command.stdout(Stdio::piped()).stderr(fs::File::create(home.join(log)).unwrap());
    command
}

/// Runs the job to its end.
fn to_its_end(home: &Path, out: &str, cache: &str) -> Value {
    let output = long_job(home, out, cache, "log").output().unwrap();
    assert!(output.status.success(), "{}", fs::read_to_string(home.join("log")).unwrap());
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(of: &Value, name: &str) -> i64 {
    of[name].as_i64().unwrap()
}

/// Kills a run some milliseconds after it has embedded this many texts. The run's own progress chooses the moment,
/// so all moments stay equally likely on a busy machine. Returns whether the run was still working.
fn kill_after(child: &mut Child, log: &Path, texts: i64, milliseconds: u64) -> bool {
    let embedded = || {
        let text = fs::read_to_string(log).unwrap();
        let last: Option<Value> = text.lines().rev().find_map(|line| serde_json::from_str(line).ok());
        last.map_or(0, |line| number(&line, "texts_embedded"))
    };
    while embedded() < texts {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        sleep(Duration::from_millis(2));
    }
    sleep(Duration::from_millis(milliseconds));
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

/// Returns how many texts a killed run had embedded, and how many of these need not have been in the cache yet.
fn account(log: &str) -> (i64, i64) {
    // The last line may be incomplete.
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let Some(last) = lines.last() else { return (0, 0) };
    let died = last["seconds"].as_f64().unwrap();
    let before = lines.iter().rfind(|line| line["seconds"].as_f64().unwrap() < died - KEPT_BACK);
    let all = lines.iter().map(|line| number(line, "texts_embedded")).max().unwrap();
    (all, all - before.map_or(0, |line| number(line, "texts_embedded")))
}

/// Formats the smallest, middle and largest of some numbers.
fn spread(numbers: &[i64]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let of = |at: usize| sorted.get(at).copied().unwrap_or_default();
    format!("min {} median {} max {}", of(0), of(sorted.len() / 2), of(sorted.len().saturating_sub(1)))
}

#[cfg(unix)]
#[test]
fn a_run_that_is_killed_is_continued_and_computes_little_again() {
    let home = long_corpus();
    let home = home.path();
    // Not on a disk, which may be busy with other work just when vectors have to be written.
    let vectors = memory();
    let vectors = vectors.path().join("vectors");
    let vectors = vectors.to_str().unwrap();
    let whole_report = to_its_end(home, "whole", "off");
    to_its_end(home, "whole-1", vectors);
    fs::remove_dir_all(vectors).unwrap();
    let references = ["whole", "whole-1"].map(|out| entries(&home.join(out)));
    let distinct = number(&whole_report, "texts_embedded");
    assert_eq!(distinct as usize, DOCUMENTS * SECTIONS);
    assert_eq!(number(&whole_report, "chunks"), distinct, "one text, one chunk");
    let parts = whole(&home.join("whole")).unwrap().files;
    let largest = parts.iter().filter(|file| file.table == "chunks").map(|file| file.rows).max().unwrap() as i64;

    let (wanted, mut trial, mut kills, mut told_apart) = (if is_long() { 120 } else { 6 }, 0, 0, 0);
    let mut redundant: [Vec<i64>; 2] = [Vec::new(), Vec::new()];
    while kills < wanted {
        trial += 1;
        assert!(trial < 4 * wanted, "only {kills} runs were still at work when they were killed");
        let mut numbers = Numbers::new(trial as u64);
        let cached = trial % 2 == 0;
        let cache = if cached { vectors } else { "off" };
        let (mut embedded, mut bound) = (0, 0);
        // Some of the runs that resume are killed, too.
        for _ in 0..1 + numbers.below(3) / 2 {
            let mut child = long_job(home, "out", cache, "log").spawn().unwrap();
            // Each moment of the run is equally likely, and so are the beginning and the end.
            let texts = (numbers.below(distinct as usize * 11 / 10) as i64).min(distinct) - embedded;
            let milliseconds = numbers.below(100) as u64;
            let killed = kill_after(&mut child, &home.join("log"), texts, milliseconds);
            kills += usize::from(killed);
            let (all, lately) = account(&fs::read_to_string(home.join("log")).unwrap());
            embedded += all;
            if killed {
                bound += if cached { lately } else { ON_THE_WAY as i64 * largest };
            }
        }
        let report = to_its_end(home, "out", cache);
        let (anew, kept) = (number(&report, "texts_embedded"), number(&report, "chunks_reused"));
        assert_eq!(anew + kept + number(&report, "texts_cached"), distinct, "trial {trial}");
        // A batch that was finished when the kill came may be in the cache but not in the account.
        let again = (embedded + anew - distinct).max(0);
        assert!(again <= bound, "trial {trial}: {again} texts embedded again, {embedded} before; at most {bound}");
        told_apart += usize::from(bound < embedded);
        redundant[usize::from(cached)].push(again);
        let problem = difference(&entries(&home.join("out")), &references[usize::from(cached)]);
        assert_eq!(problem, None, "trial {trial}");
        fs::remove_dir_all(home.join("out")).unwrap();
        let _ = fs::remove_dir_all(vectors);
    }
    assert!(told_apart > 0, "no kill came late enough to tell work that was kept from work that was lost");
    let rate = distinct as f64 / whole_report["seconds_embedding"].as_f64().unwrap();
    note(&format!(
        "crash: {kills} kills in {trial} trials of a run of {:.1} s, {distinct} texts, {rate:.0} texts/s; embedded again: \
         without a cache {} (a part has up to {largest}), with one {}; {told_apart} trials had done more than they may lose",
        whole_report["seconds"].as_f64().unwrap(),
        spread(&redundant[0]),
        spread(&redundant[1]),
    ));
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
#[test]
fn a_run_that_is_killed_at_an_operation_is_continued() {
    note("SKIPPED: runs can be killed at system calls only on Linux on x86-64");
}

/// Runs under `ptrace`, which stop at each of their system calls that change files below a folder.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod failpoints {
    use std::collections::BTreeSet;
    use std::ffi::OsStr;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileExt;
    use std::os::unix::process::CommandExt;
    use std::path::PathBuf;

    use chunkmill::job::Job;
    use libc::{c_int, c_long, pid_t};

    use super::*;
    use crate::dataset::jobs::{job, page, run_job};

    /// How a traced run ended.
    struct Traced {
        /// The names of the system calls that it reached, with their files.
        points: Vec<String>,
        killed: bool,
    }

    /// The reason why the system does not allow tracing.
    #[derive(Debug)]
    struct Refused(io::Error);

    #[expect(unsafe_code, reason = "a system call")]
    fn ptrace(request: libc::c_uint, thread: pid_t, data: *mut libc::c_void) -> c_long {
        // SAFETY: the requests used here write only to `data`, which is null, a number, or what they expect.
        unsafe { libc::ptrace(request, thread, std::ptr::null_mut::<libc::c_void>(), data) }
    }

    /// Returns the next stop or end of a child or thread that this thread traces.
    #[expect(unsafe_code, reason = "a system call")]
    fn wait() -> Option<(pid_t, c_int)> {
        let mut status = 0;
        // SAFETY: `status` outlives the call. Children of other threads, that is, of other tests, are left alone.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        (thread > 0).then_some((thread, status))
    }

    #[expect(unsafe_code, reason = "a system call")]
    fn kill(process: pid_t) {
        // SAFETY: the process is a child that has not been waited for yet.
        unsafe { libc::kill(process, libc::SIGKILL) };
    }

    #[expect(unsafe_code, reason = "plain numbers")]
    fn registers(thread: pid_t) -> Option<libc::user_regs_struct> {
        // SAFETY: zeros are valid registers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        (ptrace(libc::PTRACE_GETREGS, thread, (&raw mut registers).cast()) == 0).then_some(registers)
    }

    fn folder_of(thread: pid_t, fd: u64) -> PathBuf {
        let cwd = fd as c_int == libc::AT_FDCWD;
        let link = if cwd { format!("/proc/{thread}/cwd") } else { format!("/proc/{thread}/fd/{}", fd as c_int) };
        fs::read_link(link).unwrap_or_default()
    }

    fn text_at(thread: pid_t, address: u64) -> PathBuf {
        let memory = fs::File::open(format!("/proc/{thread}/mem"));
        let mut bytes = Vec::new();
        let mut byte = [0];
        while let Ok(memory) = &memory
            && memory.read_exact_at(&mut byte, address + bytes.len() as u64).is_ok()
            && byte[0] != 0
        {
            bytes.push(byte[0]);
        }
        PathBuf::from(OsStr::from_bytes(&bytes))
    }

    /// The system calls that change files, or may change them.
    const CHANGES: [c_long; 22] = [
        libc::SYS_open,
        libc::SYS_openat,
        libc::SYS_creat,
        libc::SYS_write,
        libc::SYS_pwrite64,
        libc::SYS_writev,
        libc::SYS_pwritev,
        libc::SYS_copy_file_range,
        libc::SYS_sendfile,
        libc::SYS_truncate,
        libc::SYS_ftruncate,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_rename,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_link,
        libc::SYS_unlink,
        libc::SYS_unlinkat,
        libc::SYS_rmdir,
        libc::SYS_mkdir,
        libc::SYS_mkdirat,
    ];

    /// Returns a filter that stops at these calls, and nowhere else, for the tracer.
    fn filter() -> Vec<libc::sock_filter> {
        let step = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
        let count = CHANGES.len() as u8;
        // The number of the call is the first word of a filter's input.
        let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
        let equals = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
        steps.extend((0..count).zip(CHANGES).map(|(at, call)| step(equals, count - at, 0, call as u32)));
        let end = |action| step(libc::BPF_RET | libc::BPF_K, 0, 0, action);
        steps.extend([end(libc::SECCOMP_RET_ALLOW), end(libc::SECCOMP_RET_TRACE)]);
        steps
    }

    /// Returns the name and file of the system call that a thread is about to make, if it changes files.
    fn change(thread: pid_t) -> Option<(&'static str, PathBuf)> {
        let found = registers(thread)?;
        let (a, b, c, d) = (found.rdi, found.rsi, found.rdx, found.r10);
        let cwd = c_int::cast_unsigned(libc::AT_FDCWD).into();
        let at = |fd, path| folder_of(thread, fd).join(text_at(thread, path));
        let creates = |flags: u64| flags & c_int::cast_unsigned(libc::O_CREAT) as u64 != 0;
        Some(match found.orig_rax.cast_signed() {
            libc::SYS_openat if creates(c) => ("create", at(a, b)),
            libc::SYS_open if creates(b) => ("create", at(cwd, a)),
            libc::SYS_creat => ("create", at(cwd, a)),
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev => {
                ("write", folder_of(thread, a))
            }
            libc::SYS_copy_file_range => ("write", folder_of(thread, c)),
            libc::SYS_sendfile => ("write", folder_of(thread, a)),
            libc::SYS_ftruncate => ("resize", folder_of(thread, a)),
            libc::SYS_truncate => ("resize", at(cwd, a)),
            libc::SYS_fsync | libc::SYS_fdatasync => ("sync", folder_of(thread, a)),
            libc::SYS_rename | libc::SYS_link => ("rename", at(cwd, b)),
            libc::SYS_renameat | libc::SYS_renameat2 => ("rename", at(c, d)),
            libc::SYS_unlink => ("remove", at(cwd, a)),
            libc::SYS_unlinkat => ("remove", at(a, b)),
            libc::SYS_rmdir => ("remove folder", at(cwd, a)),
            libc::SYS_mkdir => ("create folder", at(cwd, a)),
            libc::SYS_mkdirat => ("create folder", at(a, b)),
            _ => return None,
        })
    }

    /// Runs a program and kills it at the beginning of system call number `kill_at` of those that change files below
    /// `below`.
    #[expect(unsafe_code, reason = "what a child does before it becomes the program")]
    fn traced(mut command: Command, below: &Path, kill_at: Option<usize>) -> Result<Traced, Refused> {
        let mut filter = filter();
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        let program = (&raw const program) as usize;
        let ask = move || {
            let asked = ptrace(libc::PTRACE_TRACEME, 0, std::ptr::null_mut()) == 0;
            // SAFETY: the filter is in the parent's memory, and the child has a copy of that until it becomes the
            // program.
            let filtered = unsafe {
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, program) == 0
            };
            if asked && filtered { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        // SAFETY: the child makes only system calls.
        let spawned = unsafe { command.pre_exec(ask) }.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = spawned.map_err(Refused)?.id().cast_signed();
        let mut found = Traced { points: Vec::new(), killed: false };
        let mut known = BTreeSet::new();
        while let Some((thread, status)) = wait() {
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                if thread == child {
                    found.killed = libc::WIFSIGNALED(status);
                    return Ok(found);
                }
                continue;
            }
            let is_new = known.insert(thread);
            let mut signal = 0;
            match status >> 8 {
                // The child has just become the program.
                libc::SIGTRAP if thread == child && is_new => {
                    let options = libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
                    let set = ptrace(libc::PTRACE_SETOPTIONS, child, options as usize as *mut libc::c_void);
                    assert_eq!(set, 0, "{}", io::Error::last_os_error());
                }
                stop if stop == libc::SIGTRAP | libc::PTRACE_EVENT_SECCOMP << 8 => {
                    if let Some((what, path)) = change(thread).filter(|(_, path)| path.starts_with(below)) {
                        if kill_at == Some(found.points.len()) {
                            kill(child);
                        }
                        found.points.push(format!("{what} {}", path.strip_prefix(below).unwrap().display()));
                    }
                }
                // The thread that created another one, and the new thread.
                stop if stop == libc::SIGTRAP | libc::PTRACE_EVENT_CLONE << 8 => {}
                libc::SIGSTOP if is_new => {}
                other => signal = other,
            }
            ptrace(libc::PTRACE_CONT, thread, signal as usize as *mut libc::c_void);
        }
        Ok(found)
    }

    /// Returns the number of files of the dataset. More files only repeat the operations of one file.
    fn files() -> usize {
        if is_long() { 2 } else { 1 }
    }

    /// Returns the job that [`command`] runs.
    fn same_job(home: &Path, docs: &str) -> Job {
        let mut job = job(&[&home.join(docs)]);
        job.output.files = files();
        job
    }

    /// Returns the program as a command that indexes documents.
    fn command(home: &Path, docs: &str) -> Command {
        let mut command = program(home);
        command.args(["index", docs, "-o", "out", "--embedder", "fake", "--progress", "never"]);
        command.args(["--files", &files().to_string(), "--threads", "1"]);
        command.args(["--unit", "tokens", "--strategy", "header", "--min", "50", "--max", "400", "--overlap", "0"]);
        command
    }

    fn restore(out: &Path, files: &BTreeMap<String, Vec<u8>>) {
        let _ = fs::remove_dir_all(out);
        for (name, bytes) in files {
            if !name.ends_with('/') {
                crate::common::write(out, name, bytes);
            }
        }
    }

    /// Kills the program at its operations, each time starting with the files `start`. Returns how many operations
    /// it was killed at, and how many there are.
    fn sweep(home: &Path, docs: &str, start: &BTreeMap<String, Vec<u8>>) -> Result<(usize, usize), Refused> {
        let out = home.join("out");
        let fresh = home.join(format!("fresh-{docs}"));
        run_job(&same_job(home, docs), &fresh).unwrap();
        let end = entries(&fresh);
        restore(&out, start);
        let all = traced(command(home, docs), &out, None)?.points;
        assert_eq!(difference(&entries(&out), &end), None, "a traced run of the program");
        for what in ["create data/", "rename manifest.json", "sync ", "remove .lock", "create folder .staging/data"] {
            let what = what.replace("create data/", "create .staging/");
            assert!(all.iter().any(|point| point.starts_with(&what)), "{what}: {all:#?}");
        }
        // Most operations are writes, and half a dozen of these tell as much as all.
        let is_many = |point: &str| point.starts_with("write ") || point.starts_with("create .");
        let many = all.iter().filter(|point| is_many(point)).count();
        let mut passed = 0;
        let mut chosen: Vec<usize> = Vec::new();
        for (at, point) in all.iter().enumerate() {
            passed += usize::from(is_many(point));
            if is_long() || !is_many(point) || passed % (many / 6).max(1) == 0 {
                chosen.push(at);
            }
        }
        for &at in &chosen {
            restore(&out, start);
            let run = traced(command(home, docs), &out, Some(at))?;
            let point = run.points.last().cloned().unwrap_or_default();
            assert!(run.killed && run.points.len() == at + 1, "{at} of {}: {point}", all.len());
            let manifest = fs::read(out.join("manifest.json")).ok();
            assert!(
                [start.get("manifest.json"), end.get("manifest.json")].contains(&manifest.as_ref()),
                "{at}, {point}: neither the old manifest nor the new one"
            );
            if manifest.is_some() {
                whole(&out).unwrap_or_else(|problem| panic!("{at}, {point}: {problem}"));
            }
            run_job(&same_job(home, docs), &out).unwrap_or_else(|error| panic!("{at}, {point}: {error}"));
            assert_eq!(difference(&entries(&out), &end), None, "{at}, {point}");
        }
        Ok((chosen.len(), all.len()))
    }

    #[test]
    fn a_run_that_is_killed_at_an_operation_is_continued() {
        let home = memory();
        let home = home.path().canonicalize().unwrap();
        for number in 0..8 {
            put(&home, &format!("docs/{number}.md"), &page(number, 0));
            put(&home, &format!("later/{number}.md"), &page(number, usize::from(number == 3)));
        }
        fs::rename(home.join("later/5.md"), home.join("later/named.md")).unwrap();
        fs::remove_file(home.join("later/6.md")).unwrap();
        let mut swept = Vec::new();
        let mut start = BTreeMap::new();
        for docs in ["docs", "later"] {
            match sweep(&home, docs, &start) {
                Ok((killed, all)) => swept.push(format!("{killed} of {all}")),
                Err(Refused(error)) => {
                    let refused = format!("this system does not allow tracing: {error}");
                    assert!(std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_none(), "{refused}");
                    return note(&format!("SKIPPED: {refused}"));
                }
            }
            start = entries(&home.join("fresh-docs"));
        }
        note(&format!("crash: killed at operations of a first run, {}; of an incremental one, {}", swept[0], swept[1]));
    }
}
