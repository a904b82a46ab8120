//! Memory does not grow with the text of a corpus: ten times as many documents have about the same peak.

use std::path::Path;
use std::process::Command;

use crate::common::{folder, peak, program, write};

/// Returns the program as a command that indexes `corpus`.
fn index(home: &Path, corpus: &str) -> Command {
    let mut command = program(home);
    command.args(["index", corpus, "-o", "out", "--embedder", "fake", "--progress", "never", "--fresh"]);
    // The parts are large enough for everything bounded to be full even with the small corpus.
    command.args(["--files", "2"]);
    // The cache remembers what memory does not.
    command.arg("--embedding-cache").arg(home.join(format!("cache-{corpus}")));
    command
}

/// Returns the program as a command that chunks `corpus`.
fn chunk(home: &Path, corpus: &str) -> Command {
    let mut command = program(home);
    command.args(["chunk", corpus]);
    command
}

/// What a run may remember of each document: where it is, its name, and where its links lead.
const BYTES_OF_A_DOCUMENT: u64 = 4096;

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
        assert!(text.len() as u64 > 5 * BYTES_OF_A_DOCUMENT, "what is remembered is small compared with the text");
        write(home.path(), &format!("tenfold/{}/{number}.md", number % 10), text.as_bytes());
        if number < documents / 10 {
            write(home.path(), &format!("once/{}/{number}.md", number % 10), text.as_bytes());
        }
    }
    // No text occurs twice, or the larger corpus would be the easier one.
    for job in [index, chunk] {
        let cost = |corpus| {
            let (peak, code) = peak(job(home.path(), corpus));
            assert_eq!(code, 0);
            peak
        };
        let [once, tenfold] = ["once", "tenfold"].map(cost);
        eprintln!("memory: {once} bytes for a corpus, {tenfold} bytes for ten of it");
        assert!(once > 10_000_000, "the peak was seen");
        let known = (documents - documents / 10) * BYTES_OF_A_DOCUMENT;
        assert!(tenfold < once + known, "{once} bytes for a corpus, {tenfold} bytes for ten of it");
    }
}
