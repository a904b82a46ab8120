//! Documents: what the parser finds in a text, where, and at what cost.
//!
//! The code is `crates/text/src/document`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `blocks` | Are Markdown blocks and titles those that the parser reports? |
//! | `data_urls` | Does an inline `data:` URL stay in the text and cost nothing? |
//! | `formats` | Which blocks and sections have YAML, JSON and source code? |
//! | `front_matter` | Which front matter is recognised, and what does it say? |
//! | `layers` | Is each encoding read, and where is each part in the file? |
//! | `markdown_traps` | Do constructs that break Markdown chunkers break nothing here? |
//! | `parsing` | Are blocks, sections, tags, links and positions right? |
//! | `room` | How much memory may one document take? |
//! | `security` | Which security signals are found, and what does each profile do? |

mod blocks;
mod data_urls;
mod formats;
mod front_matter;
mod layers;
mod markdown_traps;
mod parsing;
mod room;
mod security;

use chunkmill::document::Document;

fn parse(text: &str) -> Document {
    Document::from_text("doc.md", text)
}

fn kinds(document: &Document) -> Vec<&'static str> {
    document.blocks.iter().map(|block| block.kind.name()).collect()
}

fn titles(document: &Document) -> Vec<&str> {
    document.sections.iter().map(|section| section.title.as_str()).collect()
}
