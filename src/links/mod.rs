//! What a link leads to: another document of the corpus, a section of one, or nothing.
//!
//! A link can be resolved only when every document is known, so it takes two steps. While a
//! document is at hand, its [`Outline`] says what can be linked to in it and which links it has.
//! When all were seen, the [`Catalog`] finds what a link as written means.
//!
//! Links follow paths, as in a browser, and stay in their collection. Wikilinks follow names, as in
//! note-taking tools: in their own collection first, then in the others. Links with a scheme or a
//! host lead out of the corpus and are not looked at.
//!
//! The catalog is all that is kept in memory of a corpus: for a document its id, 40 bytes, and 16
//! for each alias and each part of its path; for a heading or other anchor 16 bytes, however long
//! its text. A million headings are 16 MB.

mod catalog;
mod outline;
mod target;

pub use catalog::{Catalog, Lead, Listing};
pub use outline::{Anchor, Outgoing, Outline};

/// Names are kept as hashes, which are short. Among a million names, two are equal by
/// chance less often than once in ten million corpora.
fn hash(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    hash.as_bytes().iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}
