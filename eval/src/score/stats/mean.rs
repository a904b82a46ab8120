//! Means and deviations.

/// Returns the arithmetic mean, or 0 without values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / float(values.len()) }
}

/// Returns the population standard deviation, √(Σ(x − mean)² / n), or 0 without values.
pub fn deviation(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - center).powi(2)).collect();
    mean(&squares).sqrt()
}

/// Converts a count to a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "questions, cells and samples are fewer than 2^53")]
pub(super) fn float(count: usize) -> f64 {
    count as f64
}
