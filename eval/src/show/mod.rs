//! Showing: a report becomes something to read.
//!
//! | file | question it answers |
//! | --- | --- |
//! | [`render`] | How is a report shown? → one HTML page, Markdown, CSV, XML for CI, JSON |
//! | [`recommend`] | Which settings are tried by default, and what does the result mean? |

pub mod recommend;
pub mod render;
