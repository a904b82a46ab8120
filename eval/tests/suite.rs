//! All tests of the harness in one binary. They test the public interface and the program.

#![allow(
    clippy::pedantic,
    clippy::single_range_in_vec_init,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "tests fail by panicking, and print to standard error what they skip"
)]

mod agreement;
mod analysis;
mod browser;
#[path = "../../tests/built.rs"]
mod built;
mod chroma;
mod common;
mod damage;
mod example;
mod flaws;
mod gate;
mod grid;
#[path = "../../tests/hostile.rs"]
mod hostile;
mod import;
mod import_hub;
mod import_sets;
mod label;
mod label_page;
mod labels;
mod lost;
mod messages;
mod metrics;
#[path = "../../tests/paged.rs"]
mod paged;
#[path = "../../tests/book/pages.rs"]
mod pages;
mod parity;
mod programs;
mod properties;
#[path = "../../tests/python.rs"]
mod python;
mod questions;
mod race;
mod regression;
mod render;
mod score;
mod stats;
mod sweep;
mod synth;
mod synth_model;
mod table;
mod terminal;
#[path = "../../tests/tiny.rs"]
#[allow(dead_code, reason = "the library's tests use more of it")]
mod tiny;
