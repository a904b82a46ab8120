//! Search over a dataset.

mod vector;

pub use vector::{Hit, search};
