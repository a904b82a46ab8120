//! The command line of `chunkmill-eval`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `pair` | How are two runs named? |
//! | `advice` | How is the advice printed? |
//! | `lost` | How is lost evidence printed? |
//! | `program` | Which commands are there? |
//!
//! Every other file is the command of its name.

mod advice;
mod agree;
mod baseline;
mod compare;
mod diff;
mod gate;
mod import;
mod label;
mod lost;
mod pair;
mod program;
mod questions;
mod recommend;
mod report;
mod sweep;
mod synth;
mod table;
mod verify;

pub use program::{Cli, main};
