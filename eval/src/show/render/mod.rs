//! Renders a report for people and programs. Every format is a pure function of the report.
//!
//! [`html`] is for reading, [`markdown`] for a pull request, [`csv`] for a spreadsheet, [`junit`] for continuous
//! integration, and [`json`] for programs. [`table`] compares several runs. [`svg`] draws plots.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `view` | What do all formats need to know of a report? |
//! | `baseline` | What differs from an earlier report? |
//! | `text` | How is outside text escaped? |
//! | `prose` | What do page and Markdown say in the same words? |
//! | [`svg`] | How is a plot drawn? |
//! | [`html`], [`markdown`], [`csv`], [`junit`], [`json`] | What does a report look like in this format? |
//! | [`table`] | How do several runs compare? |
//! | `files` | Which files does a report consist of? |

mod baseline;
pub mod csv;
mod files;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
mod prose;
pub mod svg;
pub mod table;
mod text;
mod view;

pub use baseline::Baseline;
pub use files::write;
