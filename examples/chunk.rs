//! Splits a text into chunks and prints the id, byte range, heading path and content of each.
//!
//! ```sh
//! cargo run --release --example chunk
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use chunkmill::chunk::{Spec, chunk};
use chunkmill::document::Document;
use chunkmill::error::Result;

const GUIDE: &str = "# Guide\n\nStart here.\n\n## Install\n\nRun it.\n\n## Remove\n\nDelete its folder.\n";

fn main() -> Result<()> {
    // The name determines the format: this one is Markdown.
    let document = Document::from_text("guide.md", GUIDE);
    // The settings that `chunkmill chunk` takes as flags, written as text. `Spec::default()` is the default.
    let spec: Spec = "heading-tokens max=64 overlap=8".parse()?;
    // Only sizes in a model's own tokens need that model's counter, in place of `None`.
    for chunk in chunk(&document, &spec, spec.sizer(None)?)? {
        println!("{} bytes {:?}, under {}", chunk.id, chunk.range, chunk.heading_path.join(" > "));
        println!("{}\n", chunk.content(&document).trim_end());
    }
    Ok(())
}
