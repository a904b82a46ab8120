//! Chunks: where a document is cut, and what a chunk says of itself.
//!
//! The code is `crates/text/src/chunk`. Files named `strategy_…` test one strategy each, with its presets.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `baselines` | Do the baselines cut as the chunkers that they are named after? |
//! | `heading_path` | Which heading path does a chunk have? |
//! | `heading_with_text` | Does a heading stay with the text under it? |
//! | `hostile_documents` | Do documents that break other chunkers keep every promise? |
//! | `normalize` | What is removed from the cleaned text of a chunk? |
//! | `properties` | Does every promise hold for any document and any spec? |
//! | `real_corpus` | Does it hold for 3,112 real files, and are their counts right? |
//! | `repeats` | Does a chunk know by its place what it repeats? |
//! | `sentences` | Where does a sentence end? |
//! | `source_code` | What happens to documentation, small items, and large ones? |
//! | `spec` | Which specs are valid, and what do presets stand for? |
//! | `strategy_header` | Does `header` follow every rule of seed 1? |
//! | `strategy_heading` | Does `heading` follow every rule of seed 4? |
//! | `strategy_lines` | Does `lines` follow every rule of seed 5? |
//! | `strategy_section` | Does `section` follow every rule of seed 2? |
//! | `strategy_semantic` | Do `semantic`, `code_aware` and `fixed` follow every rule of seed 3? |
//! | `strategy_structure` | Where does `structure` cut, and what does the packer add? |

mod baselines;
mod heading_path;
mod heading_with_text;
mod hostile_documents;
mod normalize;
pub mod properties;
mod real_corpus;
mod repeats;
mod sentences;
mod source_code;
mod spec;
mod strategy_header;
mod strategy_heading;
mod strategy_lines;
mod strategy_section;
mod strategy_semantic;
mod strategy_structure;

use crate::common::Cut;

/// Returns the kinds of the chunks.
fn kinds(cut: &Cut) -> Vec<&'static str> {
    cut.chunks.iter().map(|chunk| chunk.kind.name()).collect()
}
