//! Numbers: how good the answers are, and how certain that is.
//!
//! | file | question it answers |
//! | --- | --- |
//! | [`metrics`] | How much of the answers does the retrieved text contain? Numbers only, no files |
//! | [`stats`] | How certain is a number? Intervals, tests and orders; numbers only, no reports |
//! | [`judge`] | How good is each answer of a setting? |
//! | [`chance`] | Is a chance of evidence right, and what does a lowest chance cost? |

pub mod chance;
pub mod judge;
pub mod metrics;
pub mod stats;
