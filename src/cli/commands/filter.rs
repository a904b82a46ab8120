//! `chunkmill filter`: documents in a table on standard input, chunks in a table on standard output.

use std::fmt::Display;
use std::io::{self, BufReader, BufWriter, IsTerminal, Write};
use std::sync::atomic::AtomicBool;

use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;

use super::chunk::model_counter;
use super::frames::Frames;
use crate::cli::args::ConfigArgs;
use crate::cli::flags::{AdmissionFlags, ChunkFlags, EmbeddingFlags, ServiceFlags, ThreadFlags};
use crate::cli::job::{Ready, stop_on_interrupt};
use crate::cli::output;
use crate::cli::start::{use_threads, warn_of_settings};
use crate::config::{Options, OutputOptions};
use crate::embed::Batcher;
use crate::embed::EmbeddingTypes;
use crate::error::{Error, caught, exit};
use crate::job::{Recipe, TableFilter};
use crate::value::count;

/// Shown below the help.
const EXAMPLES: &str = "Example:\n\
\x20 python make_table.py | chunkmill filter --preset windows --embed > chunks.arrow";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Embed the chunks too, which adds columns of vectors
    #[arg(long, help_heading = "Embedding")]
    embed: bool,
    /// Types of the vectors: f32, f16 or list, int8, bits [default: f32]
    #[arg(long, value_name = "TYPE,…", help_heading = "Embedding")]
    embedding_type: Option<EmbeddingTypes>,
    #[command(flatten)]
    chunking: ChunkFlags,
    #[command(flatten)]
    admission: AdmissionFlags,
    #[command(flatten)]
    embedding: EmbeddingFlags,
    #[command(flatten)]
    service: ServiceFlags,
    #[command(flatten)]
    threads: ThreadFlags,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let config = args.config.resolve(Options {
        corpus: args.admission.0,
        chunking: args.chunking.0,
        embedding: args.embedding.0,
        service: args.service.0,
        output: OutputOptions { embedding_type: args.embedding_type, ..OutputOptions::default() },
        run: args.threads.0,
        ..Options::default()
    })?;
    warn_of_settings(&config);
    if io::stdin().is_terminal() {
        return Err(no_table("is a terminal").into());
    }
    config.spec.encoding().load();
    let vectors = config.output.embedding_type;
    if args.embed {
        let Ready { job, embedder, stop } = Ready::new(Vec::new(), config, false)?;
        let sizer = job.spec.sizer(Some(embedder.counter()))?;
        let recipe = Recipe { spec: &job.spec, sizer, admission: job.admission, levels: None };
        let batcher = Batcher::new(embedder.as_ref(), job.batch_tokens).with_cache(job.cache.as_deref());
        return stream(recipe, Some(batcher), vectors, &stop);
    }
    use_threads(config.threads)?;
    let stop = stop_on_interrupt()?;
    let counter = model_counter(&config)?;
    let sizer = config.spec.sizer(counter.as_deref())?;
    let recipe = Recipe { spec: &config.spec, sizer, admission: config.admission, levels: None };
    stream(recipe, None, vectors, &stop)
}

/// Chunks the table on standard input to standard output, one batch at a time.
fn stream(
    recipe: Recipe<'_>,
    batcher: Option<Batcher<'_>>,
    vectors: EmbeddingTypes,
    stop: &AtomicBool,
) -> anyhow::Result<u8> {
    let input = caught(|| {
        StreamReader::try_new(Frames::new(BufReader::new(io::stdin().lock())), None).map_err(|e| e.to_string())
    });
    let input = input.flatten();
    let mut input = input.map_err(|problem| no_table(&format!("is not an Arrow IPC stream: {problem}")))?;
    let mut filter = TableFilter::new(recipe, batcher, vectors, &input.schema())?;
    let mut output =
        StreamWriter::try_new(BufWriter::new(output::binary()?), &filter.schema()).map_err(cannot_write)?;
    let mut errors = 0;
    let damaged = |problem: &dyn Display| {
        anyhow::anyhow!("cannot read the table on standard input: it is damaged or truncated: {problem}")
    };
    while let Some(batch) = caught(|| input.next()).map_err(|problem| damaged(&problem))? {
        let batch = batch.map_err(|error| damaged(&error))?;
        errors += filter.chunk(&batch, stop, |rows| output.write(rows).map_err(cannot_write))?;
        // The sender may wait for these rows before it sends more.
        output.get_mut().flush().map_err(|error| cannot_write(error.into()))?;
    }
    output.finish().map_err(cannot_write)?;
    output.get_mut().flush().map_err(|error| cannot_write(error.into()))?;
    if errors > 0 {
        tracing::warn!("{} produced no chunks; the column `error` says why", count(errors, "row"));
    }
    Ok(if errors == 0 { exit::DONE } else { exit::QUARANTINED })
}

fn no_table(problem: &str) -> Error {
    Error::setting(
        "standard input",
        problem,
        "pipe a table into it, as an Arrow IPC stream with the columns doc_id and text",
    )
}

pub(super) fn cannot_write(error: ArrowError) -> Error {
    let error = match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    };
    Error::io("write", "standard output")(error)
}
