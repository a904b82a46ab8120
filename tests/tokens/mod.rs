//! Sizes: how long a range is in any unit.
//!
//! The code is `crates/text/src/tokens`.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `counting` | Do counts equal those of tiktoken, and prefix sums direct counts? |
//! | `encodings` | Does the same hold for the encodings other than `cl100k_base`? |

pub mod counting;
mod encodings;
