//! All tests in one binary: what the public interface and the program do.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod common;

mod architecture;
mod chunking;
// mod cli;
// mod corpus;
// mod counting;
// mod document;
// mod embedding;
mod header;
mod heading;
// mod hub;
// mod powershell;
mod properties;
// mod readers;
// mod scifact;
// mod settings;
// mod store;
