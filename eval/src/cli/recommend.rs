//! `chunkmill-eval recommend`: one command from documents to advice.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use chunkmill::cli::{EmbeddingFlags, ServiceFlags, ThreadFlags, note, print, print_json, print_prose};
use chunkmill::config::Options;
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root};
use chunkmill::error::{Error, exit};
use chunkmill::value::{Value, count};
use serde_json::json;

use super::advice::advice;
use super::label::{label, prepare};
use super::sweep::{Progress, command, environment, now, tell_of_replaced};
use crate::data::files::{refuse_inside, remove_file, replace};
use crate::findings::assemble::MeasuredRun;
use crate::labels::ask::QuestionFile;
use crate::labels::set::{LabelSet, QUERIES, Query, corpus_of, is_set, to_jsonl};
use crate::labels::synth::{Kind, SynthSettings, refuse_real_labels, synth};
use crate::run::plan;
use crate::run::sweep::{Labelled, Run, SweepSettings, check_models, sweep};
use crate::show;

/// What is in the folder of the result: the labels, the run and its settings.
const LABELS: &str = "labels";
const RUN: &str = "run";
const FILE: &str = "sweep.toml";

/// The settings that are tried, until the time is up. Those that were best on the most sets of labels come first.
const SWEEP: &str = include_str!("../../sweeps/recommend.toml");

/// Number of synthetic questions to make if there are no real ones.
const SYNTHETIC: usize = 200;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill-eval recommend docs -o first-look\n\
\x20 chunkmill-eval recommend docs --questions questions.txt -o advice\n\
\x20 chunkmill index docs -o out --config advice/chunkmill.toml";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Folder of documents, or a set of labels: a folder with corpus/ and queries.jsonl
    documents: PathBuf,
    /// Real questions, with evidence (like queries.jsonl) or without (one per line). Without evidence, chunkmill proposes
    /// passages and asks you which ones answer them
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,
    /// Try no further chunk settings after this many minutes; the first ones are always tried
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = u64::read)]
    minutes: u64,
    /// Also try the default with this reranker: a folder or a hub id. It is advised only if the questions show a gain
    #[arg(long, value_name = "FOLDER|HUB_ID[@REVISION]")]
    rerank: Option<String>,
    /// Folder for the result: chunkmill.toml, report.html, the labels and the run. An interrupted run resumes
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    out: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    embedding: EmbeddingFlags,
    #[command(flatten)]
    service: ServiceFlags,
    #[command(flatten)]
    threads: ThreadFlags,
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    refuse_other_folders(&args)?;
    let flags =
        Options { embedding: args.embedding.0, service: args.service.0, run: args.threads.0, ..Options::default() };
    let options = flags.or(environment()?);
    let set = labels(&args.documents, args.questions.as_deref(), &args.out, &options)?;
    let labelled = Labelled::read(&set)?;
    let file = args.out.join(FILE);
    replace(&file, tried(args.rerank.as_deref()).as_bytes())?;
    let plan = plan::read(&file, options)?;
    let out = args.out.join(RUN);
    let models = check_models(&plan)?;
    let start = |plan: &plan::Plan| Run::new(plan, &labelled, &models[..plan.builds.len()], command(), now());
    let run = start(&plan);
    tell_of_replaced(&run, &out, &args.out);
    let mut progress = Progress::new();
    let limit = Duration::from_secs(args.minutes.saturating_mul(60));
    let settings = SweepSettings { limit: Some(limit), ..SweepSettings::default() };
    let done = sweep(&plan, &run, &out, &labelled, &settings, &mut |event| progress.on(&event))?;
    let plan = plan.first(done);
    let run = start(&plan);
    sweep(&plan, &run, &out, &labelled, &SweepSettings::default(), &mut |_| {})?;
    let mut report = MeasuredRun::read(&out, run, labelled)?.report();
    // The labels are in our own folder; users know the name of their documents.
    if let Some(name) = fs::canonicalize(&args.documents).ok().and_then(|path| Some(path.file_name()?.to_owned())) {
        report.labels.name = name.to_string_lossy().into_owned();
    }
    let verdict = report.verdict.as_ref().context("no question could be scored")?;
    let mut written = show::write(&report, None, &args.out)?;
    let settings = args.out.join("chunkmill.toml");
    let corpus = if set == args.documents { corpus_of(&set) } else { args.documents.clone() };
    let command = format!("chunkmill index {} -o OUT --config {}", corpus.display(), settings.display());
    replace(&settings, format!("# {command}\n{}", verdict.toml).as_bytes())?;
    written.push(settings);
    if args.json {
        print_json(
            &json!({ "advice": verdict.advice, "advised": verdict.advised, "verdict": report.verdict, "cells": report.cells.len(), "files": written }),
        )?;
    } else {
        let report = args.out.join("report.html");
        print_prose(advice(&verdict.advice))?;
        print(format_args!("\nreport  {}\nuse it  {command}", report.display()))?;
    }
    Ok(exit::DONE)
}

/// Returns the sweep file, with the default and a reranker after the default alone.
fn tried(reranker: Option<&str>) -> String {
    let Some(model) = reranker else { return SWEEP.to_owned() };
    let model = toml::Value::from(model);
    let grid = format!("[[grid]]\npreset = [\"structure\"]\nmode = \"hybrid\"\nrerank = [{model}]\n\n");
    let after_first = SWEEP.match_indices("[[grid]]").nth(1).map_or(SWEEP.len(), |(at, _)| at);
    [&SWEEP[..after_first], &grid, &SWEEP[after_first..]].concat()
}

/// Refuses documents that do not exist, and an output folder that holds something else, or in which the result would
/// become a document.
fn refuse_other_folders(args: &Args) -> anyhow::Result<()> {
    let (documents, out) = (&args.documents, &args.out);
    fs::metadata(documents)
        .map_err(Error::named(documents, "name an existing folder of documents, or a set of labels"))?;
    let own_labels = args.questions.is_none() && is_set(documents);
    refuse_inside(out, &if own_labels { corpus_of(documents) } else { documents.clone() })?;
    let is_ours = out.join(RUN).join("run.json").is_file() || corpus_of(&out.join(LABELS)).is_dir();
    // An earlier run may have been killed before it wrote more.
    let ours = |name: &str| [LABELS, RUN].contains(&name) || name.starts_with(FILE);
    let entries = match fs::read_dir(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(Error::named(out, "name a folder with -o"))?,
    };
    if is_ours || entries.flatten().all(|entry| entry.file_name().to_str().is_some_and(ours)) {
        return Ok(());
    }
    Err(Error::setting(
        out.display().to_string(),
        "is neither empty nor the result of an earlier `recommend`",
        "name an empty or new folder with -o",
    )
    .into())
}

/// Returns the set of labels to measure with: the documents' own, one made from the given questions, or a synthetic
/// one.
fn labels(documents: &Path, questions: Option<&Path>, out: &Path, options: &Options) -> anyhow::Result<PathBuf> {
    if questions.is_none() && is_set(documents) {
        return Ok(documents.to_owned());
    }
    let set = out.join(LABELS);
    let roots = [Root::new(documents)];
    let Some(file) = questions else {
        refuse_real_labels(&set)?;
        let filter = Filter::new(&[], &[], true, DEFAULT_MAX_BYTES)?;
        let wanted = SynthSettings { queries: SYNTHETIC, seed: 1, kinds: Kind::ALL.to_vec() };
        let made = synth(&roots, &filter, &wanted)?;
        made.set.write(&set)?;
        note(format_args!(
            "made up {} about {}; real questions are better: --questions FILE\n",
            count(made.set.queries.len(), "question"),
            count(made.asked, "document")
        ));
        return Ok(set);
    };
    let questions = QuestionFile::read(file)?;
    prepare(&roots, &set)?;
    let given = set.join(QUERIES);
    let mut known = if given.is_file() { LabelSet::read(&set)?.queries } else { Vec::new() };
    if known.iter().all(Query::is_synthetic) {
        // Made by an earlier run without --questions.
        remove_file(&given)?;
        known.clear();
    }
    let is_open = |text: &str| !known.iter().any(|query| query.text == text);
    let open = questions.plain.iter().filter(|asked| is_open(&asked.text)).count();
    if open > 0 && io::stdin().is_terminal() {
        let (outcome, _) = label(&roots, &questions, &set, options.clone().resolve()?, None)?;
        let labelled = outcome.labelled + outcome.unanswered;
        if outcome.open > 0 && labelled > 0 {
            let all = count(labelled + outcome.open, "question");
            note(format_args!("measuring with {labelled} of {all}; the same command goes on with the rest\n"));
        }
    } else {
        let mut queries = known;
        queries.extend(
            questions
                .labelled
                .iter()
                .filter(|query| !queries.iter().any(|known| known.id == query.id))
                .cloned()
                .collect::<Vec<_>>(),
        );
        if !queries.is_empty() {
            fs::create_dir_all(&set).map_err(Error::io("create", &set))?;
            replace(&given, to_jsonl(&queries)?.as_bytes())?;
        }
    }
    if !given.is_file() {
        return Err(Error::setting(
            file.display().to_string(),
            format!("has {}, but no evidence", count(open, "question")),
            format!(
                "add evidence with `chunkmill-eval label {} --questions {} -o {}`, then run this again",
                documents.display(),
                file.display(),
                set.display()
            ),
        )
        .into());
    }
    Ok(set)
}
