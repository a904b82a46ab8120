//! Labels questions that people asked and that have no evidence yet: search proposes passages, and a person says
//! which of them answer the question.
//!
//! # Bias
//!
//! Search does not propose what it does not find. To limit the bias, a proposal is a whole passage of the document,
//! never a chunk, because its borders would favour the settings that found it. Proposals come from three ways to search
//! in turn, and some are random. The person can also enter or select any other text, or say that the documents do not
//! answer the question. A reference says how it was found ([`Reference::found_by`]), and a verdict that rests on what
//! search proposed repeats it.
//!
//! [`Reference::found_by`]: crate::labels::set::Reference::found_by
//!
//! # Files
//!
//! | file | question it answers |
//! | --- | --- |
//! | `questions` | Which questions are in a file? |
//! | `passages` | Which whole passages does a document have, and under which headings? |
//! | `propose` | Which passages may answer a question, and what is around them? |
//! | `people` | What did each person answer, and do they agree? |
//! | `answers` | What was answered so far? The one state of a session, saved after each answer |
//! | `terminal` | How is a person asked at a terminal? |
//! | [`page`] | How is a person asked in a browser? |

mod answers;
pub mod page;
mod passages;
mod people;
mod propose;
mod questions;
mod terminal;

pub use answers::{Answers, QuestionState, SessionOutcome};
pub use people::{PeopleAgreement, compare_people, is_name, read_labels};
pub use propose::{Proposal, Proposer};
pub use questions::{OpenQuestion, QuestionFile};
pub use terminal::session;
