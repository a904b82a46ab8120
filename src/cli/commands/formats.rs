//! `chunkmill formats`: which documents this program reads, and what reads them.

use serde_json::json;

use crate::cli::output::{print, print_json};
use crate::corpus::default_include;
use crate::error::exit;
use crate::read::ReadFormat;

/// Formats whose text is the file itself, with their extensions.
const TEXTS: [(&str, &[&str], &str); 4] = [
    ("markdown", &["md", "markdown", "mdx", "mkd"], "Markdown, with pulldown-cmark"),
    ("text", &["txt", "text"], "plain text, and any other file that is text"),
    ("yaml, json", &["yaml", "yml", "json", "jsonc", "jsonl", "ndjson"], "YAML and JSON"),
    (
        "source code",
        &[
            "rs", "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "go", "java", "c", "h", "cc",
            "cpp", "cxx", "hpp", "hh", "hxx",
        ],
        "source code: items and their documentation comments",
    ),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object per format
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let by_default = default_include();
    let read = ReadFormat::ALL.iter().map(|format| (format.name, format.extensions, format.description));
    for (name, extensions, description) in TEXTS.into_iter().chain(read) {
        let default = extensions.iter().all(|extension| by_default.contains(&format!("*.{extension}")));
        if args.json {
            print_json(&json!({
                "format": name,
                "extensions": extensions,
                "read_by": description,
                "by_default": default,
            }))?;
            continue;
        }
        let include = if default { "" } else { " (with --include)" };
        print(format!("{name:<13} {description}{include}"))?;
        for line in extensions.chunks(12) {
            print(format!("{:<13}   .{}", "", line.join(" .")))?;
        }
    }
    Ok(exit::DONE)
}
