//! `chunkmill-eval synth`: makes synthetic questions from documents, as a set.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use chunkmill::answer;
use chunkmill::cli::{AnswerFlags, EmbeddingFlags, ServiceFlags, ThreadFlags, answer_client, note, print, watched};
use chunkmill::config::{Config, Options};
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root};
use chunkmill::error::exit;
use chunkmill::value::{Value, count};

use crate::data::files::refuse_overlap;
use crate::labels::ask::Proposer;
use crate::labels::synth::{Kind, SynthSettings, Synthesis, TASK, refuse_real_labels, synth, synth_by_model};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folders or files of documents; NAME=PATH puts them below NAME/ in the set
    #[arg(required = true)]
    corpus: Vec<Root>,
    /// Folder to write. It must be new or empty, or hold synthetic questions, which are replaced
    #[arg(short, long, value_name = "SET")]
    output: PathBuf,
    /// Largest number of questions
    #[arg(long, value_name = "N", default_value = "200", value_parser = NonZeroUsize::read)]
    queries: NonZeroUsize,
    /// Seed of the random choice of questions
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = u64::read)]
    seed: u64,
    /// Kinds of questions to make, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "KIND", default_value = "heading,sentence,title")]
    kinds: Vec<Kind>,
    /// Have the questions written by the language model at --answer-endpoint: one request for each, with a passage of your documents.
    /// Questions that search does not find, that point to the document or copy it are dropped
    #[arg(long, conflicts_with = "kinds")]
    by_model: bool,
    #[command(flatten)]
    answer: AnswerFlags,
    #[command(flatten)]
    embedding: EmbeddingFlags,
    #[command(flatten)]
    service: ServiceFlags,
    #[command(flatten)]
    threads: ThreadFlags,
    /// Only files that match this glob; repeat to allow several [default: markdown and plain text]
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Skip files that match this glob
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    for root in args.corpus.iter().map(|root| root.location.path()) {
        refuse_overlap(&args.output, root)?;
    }
    refuse_real_labels(&args.output)?;
    let filter = Filter::new(&args.include, &args.exclude, true, DEFAULT_MAX_BYTES)?;
    let settings = SynthSettings { queries: args.queries.get(), seed: args.seed, kinds: args.kinds.clone() };
    let made = if args.by_model {
        let flags = Options {
            answer: args.answer.0,
            embedding: args.embedding.0,
            service: args.service.0,
            run: args.threads.0,
            ..Options::default()
        };
        by_model(&args.corpus, &filter, &settings, &args.output, flags.or(Options::from_env()?).resolve()?)?
    } else {
        let made = synth(&args.corpus, &filter, &settings)?;
        made.set.write(&args.output)?;
        made
    };
    warn(&made, settings.queries);
    let Synthesis { set, kinds, asked, .. } = &made;
    let kinds: Vec<String> = kinds.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let line = format!(
        "{}: {} ({}) about {asked} of {}",
        args.output.display(),
        count(set.queries.len(), "synthetic question"),
        kinds.join(", "),
        count(set.documents.len(), "document")
    );
    print(line)?;
    Ok(exit::DONE)
}

/// The reason for which a question fails the round trip.
const NOT_FOUND: &str = "with which search does not find the passage";

/// Has questions written by a language model, and keeps those with which their passage is found again.
fn by_model(
    roots: &[Root],
    filter: &Filter,
    settings: &SynthSettings,
    set: &Path,
    config: Config,
) -> anyhow::Result<Synthesis> {
    let client = answer_client(&config.answer)?;
    let mut write = |passage: &str| answer::write(&client, TASK, passage);
    let mut made = synth_by_model(roots, filter, settings, &mut write)?;
    made.set.write(set)?;
    let proposer = watched(|watch| Proposer::new(set, config, watch))?;
    let mut kept = Vec::new();
    for query in std::mem::take(&mut made.set.queries) {
        if proposer.finds(&query)? {
            kept.push(query);
        } else {
            *made.dropped.entry(NOT_FOUND).or_default() += 1;
        }
    }
    made.kinds.insert(Kind::Model.name(), kept.len());
    made.set.queries = kept;
    made.set.write(set)?;
    Ok(made)
}

fn warn(made: &Synthesis, wanted: usize) {
    for document in &made.unreadable {
        tracing::warn!("{} is not in the set: it {}", document.doc_id, document.reason);
    }
    for (reason, dropped) in &made.dropped {
        note(format_args!("dropped: {} {reason}\n", count(*dropped, "question")));
    }
    if let Some(error) = &made.stopped {
        tracing::warn!("no further questions were written: {error}");
    }
    let questions = made.set.queries.len();
    if questions < wanted && made.dropped.is_empty() && made.stopped.is_none() {
        let questions = count(questions, "question");
        tracing::warn!("{questions}, not {wanted}: the documents yield no more");
    }
}
