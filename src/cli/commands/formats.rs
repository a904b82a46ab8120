//! `chunkmill formats`: which documents this program reads, and what reads them.

use serde_json::json;

use crate::cli::output::{print, print_json};
use crate::corpus::default_include;
use crate::document::Format;
use crate::error::exit;
use crate::read::ReadFormat;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print one JSON object per format
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let by_default = default_include();
    let read = ReadFormat::ALL.iter().map(|format| (format.name, format.extensions.to_vec(), format.description));
    for (name, extensions, description) in texts().into_iter().chain(read) {
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

/// Returns the formats whose text is the file itself, with their extensions.
fn texts() -> [(&'static str, Vec<&'static str>, &'static str); 4] {
    let of = |is: fn(&Format) -> bool| {
        Format::EXTENSIONS.iter().filter(|(format, _)| is(format)).flat_map(|(_, all)| all.iter().copied()).collect()
    };
    [
        ("markdown", of(|format| *format == Format::Markdown), "Markdown, with pulldown-cmark"),
        ("text", of(|format| *format == Format::Text), "plain text, and any other file that is text"),
        ("yaml, json", of(|format| matches!(format, Format::Yaml | Format::Json)), "YAML and JSON"),
        (
            "source code",
            of(|format| matches!(format, Format::Code(_))),
            "source code: items and their documentation comments",
        ),
    ]
}
