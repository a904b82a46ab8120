//! `chunkmill search`: the chunks or documents that answer a question best.

use std::num::NonZeroUsize;

use crate::cli::output::{print, print_json};
use crate::cli::retrieval::RetrievalArgs;
use crate::error::exit;
use crate::search::{DocumentHit, Hit, Passage, Searcher, Show};
use crate::value::{Value, count};

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill search out \"how long are backups kept?\"\n\
\x20 chunkmill search out \"how long are backups kept?\" -k 10 --path guide --json\n\
\x20 chunkmill search out \"restore a vault\" --mode keyword --show documents";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    retrieval: RetrievalArgs,
    /// How many results to print
    #[arg(
        short,
        value_name = "N",
        default_value = "5",
        allow_negative_numbers = true,
        value_parser = NonZeroUsize::read
    )]
    k: NonZeroUsize,
    /// What to print: chunks, spans (adjacent chunks merged), documents (each with its matching chunks), or both (chunks
    /// with their documents)
    #[arg(long, value_name = "WHAT", default_value_t = Show::Chunks)]
    show: Show,
    /// Print one JSON object per chunk or document
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let (k, show) = (args.k.get(), args.show);
    if show == Show::Documents {
        let documents = args.retrieval.ask(k, Searcher::documents)?;
        for document in &documents {
            if args.json { print_json(document) } else { print(document_in_words(document)) }?;
        }
        return Ok(exit::DONE);
    }
    if show == Show::Spans {
        let spans = args.retrieval.ask(k, |searcher, query| searcher.spans(&searcher.search(query)?))?;
        for span in &spans {
            if args.json { print_json(span) } else { print(span_in_words(span)) }?;
        }
        return Ok(exit::DONE);
    }
    let hits = args.retrieval.ask(k, |searcher, query| searcher.hits(&searcher.search(query)?, show == Show::Both))?;
    for hit in &hits {
        if args.json { print_json(hit) } else { print(in_words(hit)) }?;
    }
    Ok(exit::DONE)
}

fn in_words(hit: &Hit) -> String {
    let Hit { rank, score, citation, header_path, .. } = hit;
    let document = hit.document.as_ref().map(|document| {
        let title = document.title.as_deref().unwrap_or_default();
        let tags = document.tags.iter().flat_map(|tag| [" #", tag]).collect::<String>();
        let (lines, chunks) = (count(document.lines, "line"), count(document.chunk_count, "chunk"));
        format!("    {title} ({lines}, {chunks}){tags}\n")
    });
    format!(
        "{rank:>2}. {score:.4}  {citation}  {header_path}\n{}    {}\n",
        document.unwrap_or_default(),
        beginning(&hit.content)
    )
}

fn span_in_words(span: &Passage) -> String {
    let Passage { number, score, citation, header_path, content, .. } = span;
    format!("{number:>2}. {score:.4}  {citation}  {header_path}\n    {}\n", beginning(content))
}

fn document_in_words(hit: &DocumentHit) -> String {
    let DocumentHit { rank, score, document, chunks } = hit;
    let title = document.title.as_deref().unwrap_or_default();
    let head = format!("{rank:>2}. {score:.4}  {}  {title}\n", document.path);
    let chunk = |Hit { score, citation, header_path, content, .. }: &Hit| {
        format!("    {score:.4}  {citation}  {header_path}\n        {}\n", beginning(content))
    };
    [head].into_iter().chain(chunks.iter().map(chunk)).collect()
}

/// Returns the first words of a text, on one line, and "…" if there are more.
fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, next)) = line.char_indices().nth(240) else { return line };
    let start = &line[..end];
    // A single long word is cut.
    let end = if next == ' ' { end } else { start.rfind(' ').unwrap_or(end) };
    format!("{} …", &line[..end])
}
