//! How certain is a number? Intervals, tests and orders over values per question; no files, no reports.
//!
//! - [`bootstrap`]: how far the mean over these questions may be from the mean over all questions of this kind.
//! - [`randomisation`], [`max_t`], [`holm`]: whether two settings differ at all, and whether they still do after
//!   correction for many pairs.
//! - [`probability_best`], [`held_out`]: what is known about the best of many.
//! - [`minimum_detectable_effect`]: which difference this many questions could show.
//! - [`pareto`], [`kendall_tau_b`]: which settings are not beaten at their cost, and how well two orders agree.
//!
//! Everything random depends on a seed and the number of the sample alone, so a result depends neither on the
//! number of threads nor on what else is computed. Questions that resemble each other are drawn together:
//! [`Clustered`].

mod bootstrap;
mod clustered;
mod normal;
mod order;
mod randomisation;
mod rng;
mod selection;

pub use bootstrap::{Bootstrap, Interval, bootstrap, constant, unseen};
pub use clustered::Clustered;
pub use normal::{POWER, minimum_detectable_effect, normal_cdf, normal_quantile, student_quantile};
pub use order::{kendall_tau_b, pareto};
pub use randomisation::{Found, holm, max_t, randomisation};
pub use selection::{HeldOut, held_out, probability_best};

/// Returns the arithmetic mean, or 0 without values.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / float(values.len()) }
}

/// Returns the population standard deviation, √(Σ(x − mean)² / n), or 0 without values.
#[must_use]
pub fn deviation(values: &[f64]) -> f64 {
    let center = mean(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - center).powi(2)).collect();
    mean(&squares).sqrt()
}

/// Converts a count to a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "questions, cells and samples are fewer than 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}
