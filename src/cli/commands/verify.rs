//! `chunkmill verify`: checks a dataset against its manifest and, if asked, its corpus.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use crate::cli::args::ConfigArgs;
use crate::cli::flags::ThreadFlags;
use crate::cli::job::size;
use crate::cli::output::{print_json, print_prose};
use crate::cli::start::use_threads;
use crate::config::Options;
use crate::corpus::Root;
use crate::dataset::{Check, Finding, Verification, verify};
use crate::error::exit;
use crate::storage::Location;
use crate::value::count;

/// Number of findings of one kind that are shown to people.
const SHOWN: u64 = 10;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill verify out\n\
\x20 chunkmill verify out --corpus docs";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// Also compare the dataset with the source files; give the same paths as to `index`
    #[arg(long, value_name = "PATH", num_args = 1..)]
    corpus: Vec<String>,
    #[command(flatten)]
    threads: ThreadFlags,
    #[command(flatten)]
    config: ConfigArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct VerifySummary<'a> {
    ok: bool,
    files: u64,
    rows: u64,
    bytes: u64,
    seconds: f64,
    /// Number of findings by kind; `findings` does not list all of a very common kind.
    found: &'a BTreeMap<Check, u64>,
    findings: &'a [Finding],
    notes: &'a [Finding],
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let roots = args.corpus.iter().map(|root| root.parse()).collect::<Result<Vec<Root>, _>>()?;
    let config = args.config.resolve(Options { run: args.threads.0.clone(), ..Options::default() })?;
    use_threads(config.threads)?;
    let started = Instant::now();
    let verification = verify(&args.dataset, (!roots.is_empty()).then_some(&roots))?;
    let seconds = started.elapsed().as_secs_f64();
    let Verification { files, rows, bytes, findings, found, notes, .. } = &verification;
    let ok = findings.is_empty();
    if args.json {
        let (files, rows, bytes) = (*files, *rows, *bytes);
        print_json(&VerifySummary { ok, files, rows, bytes, seconds, found, findings, notes })?;
    } else {
        print_prose(describe(&verification, !roots.is_empty(), seconds))?;
    }
    Ok(if ok { exit::DONE } else { exit::CHECK_FAILED })
}

fn describe(verification: &Verification, compared: bool, seconds: f64) -> String {
    let Verification { files, rows, bytes, counts, findings, found, notes } = verification;
    let mut lines = Vec::new();
    let mut shown: BTreeMap<Check, u64> = BTreeMap::new();
    for (number, Finding { check, file, problem, help }) in findings.iter().enumerate() {
        let so_far = shown.entry(*check).or_default();
        *so_far += 1;
        if *so_far <= SHOWN {
            lines.push(format!("{file}: {problem}"));
        }
        // The help is the same for all findings of a kind, so it is printed once, after the last.
        if !findings[number + 1..].iter().any(|other| other.check == *check) {
            let all = found.get(check).copied().unwrap_or_default();
            if all > SHOWN {
                lines.push(format!("  … and {} more", all - SHOWN));
            }
            lines.push(format!("  help: {help}"));
        }
    }
    for Finding { file, problem, help, .. } in notes {
        lines.push(format!("note: {file}: {problem}\n  help: {help}"));
    }
    let all: u64 = found.values().sum();
    let result = if all == 0 { "verified".to_owned() } else { count(all, "problem") };
    let with_corpus = if compared { ", compared with the corpus" } else { "" };
    lines.push(format!(
        "{result}: {}, {} in all tables, {}, {}, {}{with_corpus}, in {seconds:.1} s",
        count(*files, "file"),
        count(*rows, "row"),
        size(*bytes),
        count(counts.documents, "document"),
        count(counts.chunks, "chunk")
    ));
    lines.join("\n")
}
