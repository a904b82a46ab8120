//! `chunkmill context`: passages that answer a question, packed into a token budget.

use crate::cli::output::{print, print_json};
use crate::cli::retrieval::{ContextArgs, PackedQuestion};
use crate::error::exit;

/// Shown below the help.
const EXAMPLES: &str = "Example:\n\
\x20 chunkmill context out \"how long are backups kept?\" --budget 1500";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    context: ContextArgs,
    /// Print one JSON object: the text, its token count, and its passages with their ranges
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    let PackedQuestion { context, .. } = args.context.pack()?;
    if args.json {
        print_json(&context)?;
    } else if !context.text.is_empty() {
        // `print` adds the line end.
        print(context.text.trim_end_matches('\n'))?;
    }
    Ok(exit::DONE)
}
