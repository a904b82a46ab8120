//! Search: which chunks answer a question, in which order, and what is said about them.
//!
//! The code is `crates/search/src`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `answer` | What is sent to a language model, and how are its replies handled? |
//! | `chance` | Is a chance what the formula says, and what follows from it? |
//! | `keywords` | Is a word found however it is written? |
//! | `ranking` | Do language, document and links count as the formula says? |
//! | `results` | Are lists exact, filters first, and contexts within budget? |
//! | `scifact` | Are the published figures of SciFact reproduced? |
//! | `small` | Among many chunks, do bytes and signs find what floats find, and what sets the scale of scores? |
//! | `sparse` | Do sparse vectors reach the dataset, and do they count as the formula says? |

pub mod answer;
mod chance;
mod keywords;
mod ranking;
mod results;
mod scifact;
mod small;
mod sparse;
