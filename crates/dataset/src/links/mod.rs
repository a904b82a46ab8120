//! Resolves links: to another document of the corpus, to a section of one, or to nothing.
//!
//! A link can only be resolved when all documents are known, so there are two steps. While a document is in memory,
//! its [`Outline`] records the places that links can name and the document's own links. After all documents have
//! been read, the [`Catalog`] finds the target of each link.
//!
//! Links follow paths, as in a browser, and stay in their collection. Wikilinks follow names, as in note-taking
//! tools: first in their own collection, then in the others; a name that is spelled exactly comes before one that
//! differs in case. Links with a scheme or a host lead out of the corpus and are ignored.
//!
//! The catalog is the only part of a corpus that stays in memory. For each document it contains the id, 40 bytes,
//! and 16 bytes for each alias and each part of the path; for each heading or other anchor 16 bytes, regardless of
//! the length of its text. A million headings take 16 MB.

mod catalog;
mod name;
mod outline;
mod target;

pub use catalog::{Catalog, Lead, Listing};
pub use outline::{Anchor, Outgoing, Outline};
