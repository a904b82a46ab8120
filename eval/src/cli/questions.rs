//! `chunkmill-eval questions`: collects questions that people ask already.

use std::path::PathBuf;

use chunkmill::cli::print;
use chunkmill::error::exit;
use chunkmill::value::{Value, count};

use crate::labels::import::{CollectSettings, collect_questions};

/// Number of questions whose other wordings are shown.
const SHOWN: usize = 3;

/// Shown below the help.
const EXAMPLES: &str = "A table (.csv, .tsv, .jsonl, .json, .parquet) has a column with a question, a page (.md, .html) has questions as headings, \
                        in bold, or as summaries, and any other file has one on each line. Questions that ask the same become one, and the most \
                        frequent ones come first.\n\n\
                        Examples:\n\
\x20 chunkmill-eval questions searches.csv --column term -o questions.jsonl\n\
\x20 chunkmill-eval questions docs/faq.md -o questions.txt\n\
\x20 gh issue list --state all --limit 500 --json title > issues.json\n\
\x20 chunkmill-eval questions issues.json searches.csv -o questions.jsonl\n\
\x20 chunkmill-eval label docs --questions questions.jsonl -o set";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Search logs, pages of frequent questions, titles of issues
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Column of the questions [default: question, query, keyword, title or the like]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
    /// Column that says how often a question was asked [default: count, hits, searches or the like; else each row counts once]
    #[arg(long, value_name = "NAME")]
    count_column: Option<String>,
    /// Leave out questions that were asked fewer times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = u64::read)]
    min_count: u64,
    /// File to write, which must not exist: with counts if its name ends with .jsonl, else one question on each line
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    let Args { files, column, count_column, min_count, output } = args;
    let collected = collect_questions(&files, &CollectSettings { column, count_column, least: min_count })?;
    collected.write(&output)?;
    let mut lines = vec![format!(
        "{}: {} of {} in {}",
        output.display(),
        count(collected.questions.len(), "question"),
        collected.read,
        count(files.len(), "file")
    )];
    if collected.repeats > 0 {
        lines.push(format!("left out: {}", count(collected.repeats, "repeat")));
    }
    if !collected.alike.is_empty() {
        let shown = collected.alike.iter().take(SHOWN);
        let shown: Vec<String> =
            shown.map(|(other, kept)| format!("\n  `{other}` asks the same as `{kept}`")).collect();
        lines.push(format!("left out: {} in other words{}", count(collected.alike.len(), "repeat"), shown.concat()));
    }
    if collected.rare > 0 {
        lines.push(format!("left out: {} asked fewer than {min_count} times", count(collected.rare, "question")));
    }
    if collected.left_out.count > 0 {
        lines.push(format!("left out: {}", count(collected.left_out.count, "unusable row")));
    }
    collected.left_out.warn("left out");
    print(lines.join("\n"))?;
    Ok(if collected.left_out.count > 0 { exit::QUARANTINED } else { exit::DONE })
}
