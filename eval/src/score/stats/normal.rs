//! The normal distribution, and the effects that a number of questions can show.

use std::f64::consts::PI;

/// Returns the probability that a standard normal variable is at most `x`, to about 1e-15: Φ(x) = ½ + φ(x) · (x +
/// x³/3 + x⁵/(3·5) + …) (Marsaglia 2004, "Evaluating the normal distribution").
pub fn normal_cdf(x: f64) -> f64 {
    // Beyond this, the rest is too small to change 1 in an f64.
    if x.abs() > 8.3 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut sum, mut term, mut odd) = (x, x, 1.0);
    while term.abs() > f64::EPSILON * sum.abs() {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * density(x)
}

fn density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / (2.0 * PI).sqrt()
}

/// Returns the `x` with [`normal_cdf`]`(x) = p`. `p` is kept at least 1e-15 away from 0 and 1, so the result is
/// finite.
pub fn normal_quantile(p: f64) -> f64 {
    // Newton's method from 0 on the upper half, where Φ is concave, approaches from below with every step.
    let upper = p.max(1.0 - p).min(1.0 - 1e-15);
    let mut x = 0.0;
    for _ in 0..100 {
        let step = (upper - normal_cdf(x)) / density(x);
        x += step;
        if step.abs() < 1e-14 {
            break;
        }
    }
    if p < 0.5 { -x } else { x }
}

/// Returns the `x` that a variable of Student's distribution with this many degrees of freedom exceeds with
/// probability 1 − `p`. Uses the expansion of Fisher & Cornish (Abramowitz & Stegun 1964, 26.7.5), accurate to
/// three digits from 5 degrees of freedom on.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    let z = normal_quantile(p);
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
        (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z) / 92160.0,
    ];
    // Σ term · freedom^−n, from the last term.
    z + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom)
}

/// The usual probability with which a difference of the stated size should be detected (Cohen 1988).
pub const POWER: f64 = 0.8;

/// Returns the smallest true mean of paired differences that questions show with probability `power` in a
/// two-sided test at `alpha`: (z(1 − alpha/2) + z(power)) · `standard_error` (Bloom 1995, "Minimum detectable
/// effects"; Cohen 1988 for power). `standard_error` is that of the mean difference.
///
/// For few questions, such as 20, the result is a few per cent too small, because it uses the normal distribution
/// instead of Student's.
pub fn minimum_detectable_effect(standard_error: f64, alpha: f64, power: f64) -> f64 {
    (normal_quantile(1.0 - alpha / 2.0) + normal_quantile(power)) * standard_error
}
