//! `chunkmill-eval synth`: makes synthetic questions from documents, as a set.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use chunkmill::cli::print;
use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root};
use chunkmill::error::exit;
use chunkmill::value::{Value, count};

use crate::data::files::refuse_overlap;
use crate::labels::synth::{Kind, SynthSettings, Synthesis, refuse_real_labels, synth};

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
    /// Only files that match this glob; repeat to allow several [default: markdown and plain text]
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Skip files that match this glob
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    for root in args.corpus.iter().map(|root| root.location.path()) {
        refuse_overlap(&args.output, root)?;
    }
    refuse_real_labels(&args.output)?;
    let filter = Filter::new(&args.include, &args.exclude, true, DEFAULT_MAX_BYTES)?;
    let settings = SynthSettings { queries: args.queries.get(), seed: args.seed, kinds: args.kinds.clone() };
    let made = synth(&args.corpus, &filter, &settings)?;
    made.set.write(&args.output)?;
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

fn warn(made: &Synthesis, wanted: usize) {
    for document in &made.unreadable {
        tracing::warn!("{} is not in the set: it {}", document.doc_id, document.reason);
    }
    let questions = made.set.queries.len();
    if questions < wanted {
        let questions = count(questions, "question");
        tracing::warn!("{questions}, not {wanted}: the documents yield no more");
    }
}
