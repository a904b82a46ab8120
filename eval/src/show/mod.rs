//! Showing: a report becomes something to read. Every form is a pure function of the report.
//!
//! | file | question it answers |
//! | --- | --- |
//! | [`page`], [`markdown`], [`csv`], [`junit`], [`json`] | What does a report look like in this form? |
//! | [`table`] | How do several runs compare, in Markdown and plots for the book? |
//! | `view` | What do all forms need to know of a report? |
//! | `baseline` | What differs from an earlier report? |
//! | `text` | How is outside text escaped? |
//! | `prose` | What do page and Markdown say in the same words? |
//! | [`svg`] | How is a plot drawn that stands alone? |
//! | `files` | Which files does a report consist of? |

mod baseline;
pub mod csv;
mod files;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod page;
mod prose;
pub mod svg;
pub mod table;
mod text;
mod view;

pub use baseline::Baseline;
pub use files::write;
