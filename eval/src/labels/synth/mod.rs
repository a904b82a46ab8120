//! Makes up questions from a corpus without labels, for a first answer when there are only documents: by rules, or, if asked
//! to, by a language model.
//!
//! | kind | the question | its evidence |
//! | --- | --- | --- |
//! | `heading` | a heading, after those above it if it says little alone | the section's own text without the heading |
//! | `sentence` | the most informative words of a sentence, in order | the paragraph without that sentence |
//! | `title` | a document's title and a term that no other document has | the paragraph that introduces the term |
//!
//! | `model` | written by a language model about a passage | the passage |
//!
//! # What makes a question usable
//!
//! - It is specific enough: its words carry enough bits (inverse document frequency, with paragraphs as documents)
//!   to tell one passage from all others. A question that two candidates share is dropped.
//! - Its evidence is in one place: a passage is ambiguous and dropped if half of it, in runs of four words, also
//!   appears elsewhere.
//! - Its evidence has the size of an answer, [`SIZE`] characters, so whether it is found depends more on where
//!   chunks are cut than on how large they may be.
//! - No two questions share evidence.
//!
//! # What is chosen
//!
//! Kinds take turns. Each takes its next question from the document that has the fewest so far, so a long document
//! has no more weight than a short one. Ties between documents, and the order of a document's questions, are
//! decided by a hash of the seed, the document's id and the place. The same corpus and seed produce the same
//! bytes, in whatever order files are found.
//!
//! # Bias
//!
//! These questions compare settings on one corpus; as absolute figures they mean little.
//!
//! - Questions share words with the text, which people's questions often do not. Keyword search looks better than
//!   it is, and all figures are higher than with real questions.
//! - Heading questions favour settings that keep or repeat headings, and cover only documents that have some.
//! - Sentence questions need chunks that contain a sentence's neighbours, so they favour chunks that keep
//!   paragraphs whole, and cover only paragraphs of at least three sentences.
//! - Title questions favour chunks that carry their document's title.
//! - Questions about code and tables are rare, and there are none about short and very long sections. None needs
//!   two places at once.
//!
//! That is why every question has the tag [`SYNTHETIC`](super::set::SYNTHETIC), and why questions that people have
//! asked, even fifty of them, should replace these.
//!
//! # Files
//!
//! | file | question it answers |
//! | --- | --- |
//! | `words` | Which words and sentences does a text have? |
//! | `texts` | How much does each word say in this corpus, and which passages are ambiguous? |
//! | `candidate` | What is a question that may be chosen? |
//! | `heading`, `sentence`, `title` | Which questions of this kind are there? |
//! | `written` | Which question did a language model write about a passage, and is it usable? |
//! | `synthesis` | Which of them are chosen? |

mod candidate;
mod heading;
mod sentence;
mod synthesis;
mod texts;
mod title;
mod words;
mod written;

pub use candidate::{Kind, SIZE};
pub use synthesis::{SynthSettings, Synthesis, refuse_real_labels, synth, synth_by_model};
pub(crate) use words::sentences;
pub use written::TASK;
