//! The one division that all metrics share.

/// Divides two sizes; returns 0 if the divisor is 0.
#[expect(clippy::cast_precision_loss, reason = "texts and lists are shorter than 2^53")]
pub fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
