//! The words that all crates of chunkmill share. It has no opinion about documents, models or files.
//!
//! # Map
//!
//! | module | question it answers |
//! | --- | --- |
//! | `value` | How are values and numbers written, and which name did a typo mean? |
//! | [`error`] | What can go wrong, and what does the process say then? |
//! | [`setting`] | What is a setting, and what do we know about it? |
//! | [`safely`] | How is a file opened if somebody else may have taken its name? |

pub mod value;

pub mod error;

pub mod setting;

pub mod safely;
