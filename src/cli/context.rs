//! `chunkmill context`: passages that answer a question, packed into a token budget.

use std::num::NonZeroUsize;

use super::print;
use super::retrieval::RetrievalArgs;
use crate::error::exit;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    retrieval: RetrievalArgs,
    /// Most tokens (cl100k) of all that is printed
    #[arg(long, value_name = "N", default_value = "2000")]
    budget: NonZeroUsize,
    /// How many of the best chunks are considered
    #[arg(short, value_name = "N", default_value_t = 50)]
    k: usize,
    /// Print one JSON object: the text, its tokens, and its passages with their places
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    let budget = args.budget.get();
    let context = args.retrieval.ask(args.k, |searcher, query| searcher.context(&searcher.search(query)?, budget))?;
    if args.json {
        print(serde_json::to_string(&context)?)?;
    } else if !context.text.is_empty() {
        // `print` ends the line.
        print(context.text.trim_end_matches('\n'))?;
    }
    if context.text.is_empty() && context.left_out > 0 {
        tracing::warn!("not even the first line of the best chunk fits {budget} tokens; raise --budget");
    }
    Ok(exit::DONE)
}
