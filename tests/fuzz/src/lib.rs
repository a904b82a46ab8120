//! The library up to `chunk`, compiled from the same files under the same name.
//!
//! The whole library depends on candle, arrow and the hub client, which take many minutes to build with a fuzzer's
//! instrumentation and are not fuzzed. These modules take one minute. `tests/replay.rs` checks that the list is
//! complete.

#![allow(dead_code, reason = "the rest of the library uses it")]

#[path = "../../../src/value.rs"]
pub mod value;
#[path = "../../../src/error.rs"]
pub mod error;
#[path = "../../../src/settings.rs"]
pub mod settings;

#[path = "../../../src/storage/mod.rs"]
pub mod storage;

#[path = "../../../src/corpus.rs"]
pub mod corpus;
#[path = "../../../src/document/mod.rs"]
pub mod document;
#[path = "../../../src/tokens/mod.rs"]
pub mod tokens;

#[path = "../../../src/chunk/mod.rs"]
pub mod chunk;
