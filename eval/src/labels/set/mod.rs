//! Labelled questions: the native format, and the current places of the answers in the corpus.
//!
//! ```text
//! set/
//!   corpus/**        the documents
//!   queries.jsonl    one question per line
//! ```
//!
//! A question names its evidence as byte ranges with the text that was there when it was labelled, or as whole
//! documents. The text shows whether a range still means the same. If not, the text is searched for in the current
//! document, and then in the others ([`PlaceState`]). Evidence that has only moved is scored at its new place. Evidence
//! that has drifted is reported and not scored: it is not a miss. A text without a range, as people write it, is
//! accepted if it is in its document once.
//!
//! If an answer is in several places and any of them will do, its reference is a list of alternatives. It is found
//! when one of them is.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `question` | What is a question, and what is its evidence? |
//! | `find` | Where is a text in a document, ignoring white space? |
//! | `corpus` | Which documents are there? |
//! | `lines` | How is a question written? |
//! | `folder` | Which files is a set, and how is it replaced at once? |
//! | `label_set` | How is a set read? |
//! | `drift` | Does a place still have its text, and what became of it? |
//! | `elsewhere` | Which other document has a text that has left its own? |
//! | `check` | Which references can be scored, and where are they now? |

mod check;
mod corpus;
mod drift;
mod elsewhere;
mod find;
mod folder;
mod label_set;
mod lines;
mod question;

pub use check::{ScorablePlace, ScorableReference};
pub use corpus::Corpus;
pub use drift::{PlaceCheck, PlaceState};
pub(crate) use elsewhere::DUPLICATE;
pub(crate) use find::{Finder, beginning};
pub use folder::{CORPUS, QUERIES, corpus_of, is_set, queries_of};
pub(crate) use folder::{commit, settle, stage, was_interrupted};
pub use label_set::LabelSet;
pub(crate) use label_set::SET;
pub use lines::to_jsonl;
pub(crate) use lines::{REFERENCE, id, optional_id};
pub use question::{FoundBy, Place, Query, Quote, Reference, SYNTHETIC};
