//! All tests in one binary. They test the public interface and the program.

#![allow(
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests fail by panicking, and print to standard error what they skip"
)]

mod answer;
mod architecture;
mod asymmetric;
mod blocks;
mod built;
mod cache;
mod chunking;
mod cli;
mod common;
mod corpus;
mod costs;
mod counting;
mod crash;
mod damage;
mod data_urls;
mod designs;
mod document;
mod embedding;
mod encodings;
mod examples;
mod faults;
mod filed;
mod fixtures;
mod formats;
mod gc;
mod header;
mod heading;
mod headings;
mod heads;
mod hostile;
mod hub;
mod instructions;
mod invalidation;
mod items;
mod jobs;
mod kernels;
mod keywords;
mod late;
mod layers;
mod lifecycle;
mod lines;
mod links;
mod memory;
mod messages;
mod models;
mod normalize;
mod objects;
mod pages;
mod powershell;
mod presets;
mod promises;
mod properties;
mod python;
mod ranking;
mod readers;
mod reference;
mod remarks;
mod repeats;
mod replay;
mod rerank;
mod scifact;
mod search;
mod security;
mod sentences;
mod settings;
mod shards;
mod snapshots;
mod store;
mod structure;
mod table;
mod tables;
mod terminal;
mod tiny;
mod traps;
mod trust;
mod verify;
mod version;
mod words;
