//! x
pub mod error;
mod named;
pub mod corpus;
pub mod document;
pub mod tokens;
pub mod chunk;
pub mod embed;
pub mod store;
pub mod index;
pub mod search;
pub mod config;
pub mod cli;
