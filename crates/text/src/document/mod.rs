//! A document, parsed once: its text, blocks with byte ranges, sections, front matter, tags, links and positions.
//! Every chunking strategy reads this, and none parses again.
//!
//! All ranges are byte ranges of [`Document::text`], which are byte ranges of the file if it is UTF-8. Parsing
//! cannot fail: anything odd about a document becomes a [`flag`](Document::flags), and no byte of its text is
//! lost.

mod admission;
mod anchor;
mod block;
mod code;
mod data_url;
mod depth;
#[expect(clippy::module_inception, reason = "it has the type that the folder is about")]
mod document;
mod encoding;
mod format;
mod front_matter;
mod layer;
pub mod line;
mod markdown;
mod name;
mod nodes;
mod origin;
mod parsed;
mod position;
mod reading;
mod regions;
mod room;
mod security;
mod source_map;
mod structure;
mod structured;
mod tag;
mod text;
mod trial;
mod white_space;
mod writer;

pub use admission::{Admission, DOCUMENT_BLOCKED};
pub use anchor::slug;
pub use block::{Block, BlockKind, Footnote, Link, LinkKind, Section};
pub(crate) use data_url::around_data_urls;
pub use data_url::{INLINE_DATA, blank_data_urls, short_target, without_data_urls};
pub use document::{Costly, Document, MANY_TAGS, MAX_TAGS, PARSER_VERSION};
pub use format::{Format, Language};
pub use front_matter::MALFORMED_FRONT_MATTER;
pub use layer::{Layer, MAX_BYTES, Refusal};
pub use name::name;
pub use origin::{DEFAULT_COLLECTION, EXTERNAL, Origin};
pub use position::Positions;
pub(crate) use position::padded;
pub use reading::{HtmlPart, ReadSettings};
pub(crate) use regions::{fence, inside_containers};
pub use security::{MANY_SIGNALS, MAX_SIGNALS, SecurityProfile, Signal, SignalKind, after_scheme};
pub use source_map::{SourceMap, Stretch, Width};
pub use structure::{DropReason, Dropped, Place, ReadFlag, Structure};
pub use structured::{MALFORMED_JSON, MALFORMED_YAML};
pub use white_space::{MAX_TITLE, is_blank, on_one_line, trim, visible_chars};
pub use writer::{Inline, LayerWriter};
