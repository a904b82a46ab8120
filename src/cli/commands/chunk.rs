//! `chunkmill chunk`: chunks as JSON lines, without a model.

use std::sync::mpsc::SendError;

use crate::cli::args::{ConfigArgs, CorpusArgs};
use crate::cli::flags::{ChunkFlags, ModelFlags, ThreadFlags};
use crate::cli::output::print_json_lines;
use crate::cli::start::{use_threads, warn_of_settings};
use crate::config::{Config, Options};
use crate::corpus::{self, QuarantinedDocument, Source};
use crate::dataset::ChunkLines;
use crate::error::{Result, exit};
use crate::job::{Recipe, Results, in_order};
use crate::tokens::{TokenCounter, Unit};

/// Bytes of documents that a thread processes at a time; a larger document is processed alone.
const BLOCK_BYTES: u64 = 64 << 10;

/// Bytes of lines written at a time.
const WRITE_BYTES: usize = 128 << 10;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill chunk docs > chunks.jsonl\n\
\x20 chunkmill chunk README.md --unit tokens --max 256 --overlap 32";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    corpus: CorpusArgs,
    #[command(flatten)]
    chunking: ChunkFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    threads: ThreadFlags,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let roots = args.corpus.roots()?;
    let config = args.config.resolve(Options {
        corpus: args.corpus.flags.0,
        chunking: args.chunking.0,
        embedding: args.model.0,
        run: args.threads.0,
        ..Options::default()
    })?;
    warn_of_settings(&config);
    use_threads(config.threads)?;
    config.spec.encoding().load();
    let counter = model_counter(&config)?;
    let sizer = config.spec.sizer(counter.as_deref())?;
    let found = corpus::discover(&roots, &config.filter, &[])?;
    let recipe = Recipe { spec: &config.spec, sizer, admission: config.admission, levels: None };
    let mut quarantined = found.quarantined;
    let run = |sources: &[Source], made: &Results<Result<ChunkingResult>>| make(&recipe, sources, made);
    in_order(corpus::blocks(&found.sources, BLOCK_BYTES), run, |made| -> anyhow::Result<()> {
        match made? {
            ChunkingResult::Lines(lines) => print_json_lines(&lines)?,
            ChunkingResult::PassedOver(document) => quarantined.push(document),
        }
        Ok(())
    })?;
    for document in &quarantined {
        tracing::warn!("quarantined {}: {}", document.doc_id, document.reason);
    }
    Ok(if quarantined.is_empty() { exit::DONE } else { exit::QUARANTINED })
}

/// Loads the tokenizer of the model if sizes are counted with it.
pub(crate) fn model_counter(config: &Config) -> Result<Option<Box<dyn TokenCounter>>> {
    let needed = config.spec.unit() == Unit::Model;
    needed.then(|| config.counter()).transpose()
}

/// The result of chunking documents.
enum ChunkingResult {
    Lines(Vec<u8>),
    PassedOver(QuarantinedDocument),
}

/// Produces the lines of some documents. Sends them in pieces: every line repeats the fields that the chunks of a
/// document share, so all lines together would be large.
fn make(
    recipe: &Recipe<'_>,
    sources: &[Source],
    made: &Results<Result<ChunkingResult>>,
) -> Result<(), SendError<Result<ChunkingResult>>> {
    // The last line exceeds the limit, usually by less than an eighth.
    let buffer = || Vec::with_capacity(WRITE_BYTES + WRITE_BYTES / 8);
    let mut lines = buffer();
    let sources = match corpus::fetch(sources) {
        Ok(sources) => sources,
        Err(error) => return made.send(Err(error)),
    };
    for source in sources {
        let cut = match recipe.cut(source) {
            Ok(Ok(cut)) => cut,
            Ok(Err(passed_over)) => {
                made.send(Ok(ChunkingResult::PassedOver(passed_over)))?;
                continue;
            }
            Err(error) => return made.send(Err(error)),
        };
        let writer = ChunkLines::new(&cut.row);
        for row in cut.rows() {
            writer.push(&row, &mut lines);
            if lines.len() >= WRITE_BYTES {
                made.send(Ok(ChunkingResult::Lines(std::mem::replace(&mut lines, buffer()))))?;
            }
        }
    }
    made.send(Ok(ChunkingResult::Lines(lines)))
}
