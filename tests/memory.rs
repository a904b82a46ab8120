//! Memory does not grow with the text of a corpus: ten times as many documents, about the same peak.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{folder, program, write};

/// Indexing `corpus`.
fn index(home: &Path, corpus: &str) -> Command {
    let mut command = program(home);
    command.args(["index", corpus, "-o", "out", "--embedder", "fake", "--progress", "never", "--fresh"]);
    // Large enough parts, so that what is bounded is full with one corpus already.
    command.args(["--files", "2"]);
    // The cache remembers what memory does not.
    command.arg("--embedding-cache").arg(home.join(format!("cache-{corpus}")));
    command
}

/// Chunking `corpus`.
fn chunk(home: &Path, corpus: &str) -> Command {
    let mut command = program(home);
    command.args(["chunk", corpus]);
    command
}

/// The most memory that a command took at any time, in kB.
fn peak(mut command: Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The kernel keeps the highest value, and a process that has ended has none: the last look comes close to it.
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse().unwrap()));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success());
    peak
}

/// What may be known of a document for the whole of a run: where it is, what it is called, what it leads to.
const KB_OF_A_DOCUMENT: u64 = 4;

#[cfg(target_os = "linux")]
#[test]
fn ten_times_the_corpus_takes_the_same_memory() {
    let home = folder(&[]);
    let documents = 8000;
    for number in 0..documents {
        let section = |i: usize| {
            let text = format!("Word {i} of page {number} and what follows from it. ").repeat(25);
            format!("## Section {i}\n\n{text}\n\nSee [there]({}.md#section-{i}).\n\n", number + 1)
        };
        let text: String = (0..20).map(section).collect();
        let text = format!("# Page {number}\n\n{text}");
        assert!(text.len() as u64 > 5 * 1024 * KB_OF_A_DOCUMENT, "what is known is little beside the text");
        write(home.path(), &format!("tenfold/{}/{number}.md", number % 10), text.as_bytes());
        if number < documents / 10 {
            write(home.path(), &format!("once/{}/{number}.md", number % 10), text.as_bytes());
        }
    }
    // No text is there twice, or the larger one would be the easier one.
    for job in [index, chunk] {
        let [once, tenfold] = ["once", "tenfold"].map(|corpus| peak(job(home.path(), corpus)));
        eprintln!("memory: {once} kB for a corpus, {tenfold} kB for ten of it");
        assert!(once > 10_000, "the peak was seen");
        let known = (documents - documents / 10) * KB_OF_A_DOCUMENT;
        assert!(tenfold < once + known, "{once} kB for a corpus, {tenfold} kB for ten of it");
    }
}
