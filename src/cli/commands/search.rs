//! `chunkmill search`: the chunks or documents that answer a question best.

use std::num::NonZeroUsize;

use crate::cli::line::{Line, Look};
use crate::cli::output::{print, print_json, print_line, screen};
use crate::cli::retrieval::{RetrievalArgs, percent, warn_of_unlikely};
use crate::cli::snippet::snippet;
use crate::error::exit;
use crate::search::{DocumentHit, DocumentInfo, FoundChunk, Hit, Passage, Query, Searcher, Show};
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
    let question = args.retrieval.question().to_owned();
    let show_hit = |hit: &Hit, document: Option<&DocumentInfo>| {
        let Hit { rank, score, chance, path, citation, header_path, .. } = hit;
        print_line(&place(*rank, *score, *chance, path, citation, header_path))?;
        if let Some(document) = document {
            print_line(&Line::default().with(Look::Faint, format_args!("    {}", document_in_words(document))))?;
        }
        print_snippet(own(hit), header_path, &question, 4)?;
        print("")
    };
    let least = args.retrieval.least();
    let found = |count: usize| {
        if let (0, Some(least)) = (count, least) {
            tracing::warn!("no result has the score {least} of --min-score");
        }
    };
    match show {
        Show::Documents => {
            let documents = args.retrieval.ask(k, |searcher, query| {
                let documents = searcher.documents(query)?;
                let chances = documents.iter().flat_map(|hit| &hit.chunks).filter_map(|hit| hit.chance);
                warn_of_unlikely(searcher, query, chances.reduce(f64::max))?;
                Ok(documents)
            })?;
            found(documents.len());
            for document in documents {
                if args.json { print_json(&document) } else { print_document(&document, &question) }?;
            }
        }
        Show::Spans => {
            let spans = args.retrieval.ask(k, |searcher, query| searcher.spans(&found_by(searcher, query)?))?;
            found(spans.len());
            for span in spans {
                if args.json { print_json(&span) } else { print_span(&span, &question) }?;
            }
        }
        Show::Chunks | Show::Both => {
            let both = show == Show::Both;
            let hits = args.retrieval.ask(k, |searcher, query| searcher.hits(&found_by(searcher, query)?, both))?;
            found(hits.len());
            for hit in hits {
                if args.json { print_json(&hit) } else { show_hit(&hit, hit.document.as_deref()) }?;
            }
        }
    }
    Ok(exit::DONE)
}

/// Returns the best chunks for a query. Warns if none of them is likely to answer it.
fn found_by(searcher: &Searcher, query: &Query<'_>) -> crate::error::Result<Vec<FoundChunk>> {
    let found = searcher.search(query)?;
    warn_of_unlikely(searcher, query, FoundChunk::highest_chance(&found))?;
    Ok(found)
}

/// The line of a result: rank, score, chance, place, headings.
fn place(rank: usize, score: f64, chance: Option<f64>, path: &str, citation: &str, header_path: &str) -> Line {
    let chance = chance.map_or_else(String::new, |chance| format!("{:>3}  ", percent(chance)));
    let line = Line::default().with(Look::Faint, format_args!("{rank:>2}. {score:.4}  {chance}"));
    line.with_place(citation, path).with(Look::Plain, format_args!("  {header_path}"))
}

fn print_span(span: &Passage, question: &str) -> anyhow::Result<()> {
    let Passage { number, score, chance, path, citation, header_path, content, .. } = span;
    print_line(&place(*number, *score, *chance, path, citation, header_path))?;
    print_snippet(content, header_path, question, 4)?;
    print("")
}

fn print_document(hit: &DocumentHit, question: &str) -> anyhow::Result<()> {
    let DocumentHit { rank, score, document, chunks } = hit;
    let title = document.title.as_deref().unwrap_or_default();
    print_line(&place(*rank, *score, None, &document.path, &document.path, title))?;
    for hit in chunks {
        let line = Line::default().with(Look::Faint, format_args!("    {:.4}  ", hit.score));
        let line = line.with_place(&hit.citation, &hit.path).with(Look::Plain, format_args!("  {}", hit.header_path));
        print_line(&line)?;
        print_snippet(own(hit), &hit.header_path, question, 8)?;
    }
    print("")
}

fn document_in_words(document: &DocumentInfo) -> String {
    let title = document.title.as_deref().unwrap_or_default();
    let tags = document.tags.iter().flat_map(|tag| [" #", tag]).collect::<String>();
    format!("{title} ({}, {}){tags}", count(document.lines, "line"), count(document.chunk_count, "chunk"))
}

/// Returns the text of a hit without what it repeats before its own.
fn own(hit: &Hit) -> &str {
    hit.content.get(hit.prefix_len as usize..).unwrap_or(&hit.content)
}

fn print_snippet(text: &str, header_path: &str, question: &str, indent: usize) -> anyhow::Result<()> {
    print_line(&snippet(text, header_path, question, indent, screen()))
}
