//! The program: what a user types, and what the program prints.
//!
//! The code is `src/cli` and `src/config.rs`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `filter` | Does `chunkmill filter` turn tables of documents into tables of chunks? |
//! | `looks` | What stands out on a terminal, and is plain elsewhere? |
//! | `mistakes` | Which message answers a name, flag or file that does not exist? |
//! | `output` | What does each command print, and with which exit code? |
//! | `remarks` | Is a user told of what was not as meant, though it was no error? |
//! | `settings` | Which source of settings goes before which? |
//! | `terminal` | Can a document, path or setting act on the terminal? |
//! | `version` | What does `--version` say? |

pub mod filter;
mod looks;
mod mistakes;
mod output;
mod remarks;
mod settings;
mod terminal;
mod version;
