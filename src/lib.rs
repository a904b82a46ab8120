//! x
pub mod error;
pub mod corpus;
pub mod document;
pub mod tokens;
pub mod chunk;
pub mod embed;
