//! All tests in one binary: what the public interface and the program do.

#![allow(
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests fail by panicking, and say on standard error what they skip"
)]

mod common;

mod architecture;
mod chunking;
mod cli;
mod corpus;
mod counting;
mod document;
mod formats;
mod embedding;
mod header;
mod heading;
mod hub;
mod powershell;
mod properties;
mod readers;
mod scifact;
mod settings;
mod store;
