//! `chunkmill verify`: checks a dataset against its manifest and, if asked, its corpus.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Instant;

use serde::Serialize;

use crate::cli::args::ConfigArgs;
use crate::cli::flags::{ModelFlags, QuestionServiceFlags, ThreadFlags};
use crate::cli::job::{size, stop_on_interrupt};
use crate::cli::output::{print_json, print_prose};
use crate::cli::start::use_threads;
use crate::config::{Config, Options};
use crate::corpus::Root;
use crate::dataset::{Check, Dataset, Finding, Verification, verify};
use crate::error::exit;
use crate::job::{Sample, sample};
use crate::storage::Location;
use crate::value::{Value, count};

/// Number of findings of one kind that are shown to people.
const SHOWN: u64 = 10;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill verify out\n\
\x20 chunkmill verify out --corpus docs\n\
\x20 chunkmill verify out --sample 100";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// Also compare the dataset with the source files; give the same paths as to `index`
    #[arg(long, value_name = "PATH", num_args = 1..)]
    corpus: Vec<String>,
    /// Also embed N chunks again, spread over the dataset, and compare the vectors; a service is paid for it
    #[arg(long, value_name = "N", value_parser = NonZeroUsize::read)]
    sample: Option<NonZeroUsize>,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    service: QuestionServiceFlags,
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
    /// Vectors that were computed again, with `--sample`.
    sample: Option<&'a Sample>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let roots = args.corpus.iter().map(|root| root.parse()).collect::<Result<Vec<Root>, _>>()?;
    let is_named = args.model.0.model.is_some();
    let config = args.config.resolve(Options {
        embedding: args.model.0,
        service: args.service.0,
        run: args.threads.0,
        ..Options::default()
    })?;
    use_threads(config.threads)?;
    let started = Instant::now();
    let verification = verify(&args.dataset, (!roots.is_empty()).then_some(&roots))?;
    let sample = match args.sample.filter(|_| verification.findings.is_empty()) {
        Some(most) => compared(&args.dataset, &config, is_named, most.get())?,
        None => None,
    };
    let seconds = started.elapsed().as_secs_f64();
    let Verification { files, rows, bytes, findings, found, notes, .. } = &verification;
    let ok = findings.is_empty() && sample.as_ref().is_none_or(Sample::is_alike);
    if args.json {
        let (files, rows, bytes) = (*files, *rows, *bytes);
        print_json(&VerifySummary {
            ok,
            files,
            rows,
            bytes,
            seconds,
            found,
            findings,
            notes,
            sample: sample.as_ref(),
        })?;
    } else {
        let mut words = describe(&verification, !roots.is_empty(), seconds);
        words.extend(sample.iter().flat_map(|sample| ["\n".to_owned(), in_words(sample)]));
        print_prose(words)?;
    }
    Ok(if ok { exit::DONE } else { exit::CHECK_FAILED })
}

/// Embeds some chunks of a dataset again with the model that made it.
fn compared(dataset: &Location, config: &Config, is_named: bool, most: usize) -> anyhow::Result<Option<Sample>> {
    let stop = stop_on_interrupt()?;
    let dataset = Dataset::open(dataset)?;
    let embedder = config.embedder_of(dataset.manifest(), is_named)?;
    Ok(sample(&dataset, embedder.as_ref(), most, &stop)?)
}

fn in_words(sample: &Sample) -> String {
    let Sample { chunks, least, median, least_chunk, .. } = sample;
    let chunks = count(*chunks, "vector");
    let compared = format!("{chunks} computed again: cosine {median:.6} in the middle, {least:.6} at least");
    if sample.is_alike() {
        return compared;
    }
    format!(
        "problem: {compared} ({least_chunk})\n  help: the model is another one now: index again with --fresh and --embedding-cache off"
    )
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
