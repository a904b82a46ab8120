//! Plots as SVG: curves with their intervals, clouds of points, and axes with round numbers.
//!
//! The same drawing works inline in a page, where it is as wide as its box, and as a standalone file. Lines and
//! clouds are in a layer that stretches, with strokes that do not; text and marked points are placed in per cent of
//! the width.
//!
//! | file | question it answers |
//! | --- | --- |
//! | `scale` | Where on an axis is a value, and which numbers are next to it? |
//! | `plot` | How is a plot drawn? |

mod plot;
mod scale;

pub use plot::{Axis, Curve, Dot, Look, Plot, STYLE, Value};
pub use scale::Scale;
