//! What is on disk: the files of a run, and how files are read and written.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `files` | How are files read and written, and where not? |
//! | [`trec`] | How are runs and judgements written for other programs? |
//! | [`left_out`] | Which settings were not tried, and why? |
//! | [`answers`] | Where are the answers: wanted, and handed over? |
//! | [`report`] | What did a sweep find out? → `report.json`: everything that is shown or compared |
//! | [`spans`] | Which bytes do several ranges cover together? |
//! | [`record`] | What was measured on one dataset? → a file of the run |

pub mod answers;
pub(crate) mod files;
pub mod left_out;
pub mod record;
pub mod report;
pub mod spans;
pub mod trec;
