//! Intervals hold as often as they say, tests are wrong as seldom as they say, and orders are those that a
//! slower way finds. The figures of scipy were printed by its version 1.17.1.

use chunkmill_eval::stats::{
    Bootstrap, bootstrap, deviation, holm, kendall_tau_b, mean, minimum_detectable_effect, normal_cdf, normal_quantile,
    pareto, randomisation,
};
use proptest::prelude::*;

use crate::common::{dice, note};

const SETTINGS: Bootstrap = Bootstrap { confidence: 0.95, resamples: 1_000, seed: 7 };

/// A normal variable as the sum of twelve uniform ones.
fn normal(next: &mut impl FnMut() -> f64) -> f64 {
    (0..12).map(|_| next()).sum::<f64>() - 6.0
}

/// Values from 0 to 1 with a heap at each end, as recall has them; their mean is 0.7.
fn shares(next: &mut impl FnMut() -> f64, questions: usize) -> Vec<f64> {
    let mut value = || match next() {
        place if place < 0.55 => 1.0,
        place if place < 0.7 => 0.0,
        _ => next(),
    };
    (0..questions).map(|_| value()).collect()
}

#[test]
fn an_interval_holds_the_true_mean_about_as_often_as_it_says() {
    const TRIES: usize = 2_000;
    let mut next = dice(1);
    for (confidence, allowed) in [(0.95, 0.93..=0.965), (0.8, 0.775..=0.825)] {
        let samples: Vec<Vec<f64>> = (0..TRIES).map(|_| shares(&mut next, 100)).collect();
        // Each with its own resamples, so that the tries are independent.
        let holds = |(seed, row): (usize, &Vec<f64>)| {
            let interval = bootstrap(&[row], &Bootstrap { confidence, resamples: 400, seed: seed as u64 })[0];
            (interval.lo..=interval.hi).contains(&0.7)
        };
        let held = samples.iter().enumerate().filter(|&sample| holds(sample)).count() as f64 / TRIES as f64;
        assert!(allowed.contains(&held), "{confidence}: {held}");
        note(&format!("intervals of {confidence} held the true mean in {held} of {TRIES} tries of 100 questions"));
    }
}

#[test]
fn an_interval_is_that_of_scipy() {
    let values =
        [0.0, 0.0, 0.2, 0.25, 0.5, 0.5, 0.6, 0.75, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 0.4, 0.9, 0.1, 0.0, 1.0, 0.33];
    let interval = bootstrap(&[&values], &Bootstrap { resamples: 200_000, ..SETTINGS })[0];
    // scipy.stats.bootstrap(method="percentile") with 2,000,000 samples.
    assert!((interval.lo - 0.4).abs() < 0.003 && (interval.hi - 0.73).abs() < 0.003, "{interval:?}");
    assert!((mean(&values) - 0.5665).abs() < 1e-12 && (deviation(&values) - 0.376_527_223_451_372_8).abs() < 1e-12);
}

#[test]
fn intervals_depend_neither_on_the_rows_beside_them_nor_on_threads() {
    let mut next = dice(2);
    let rows: Vec<Vec<f64>> = (0..50).map(|at| shares(&mut next, [40, 7, 0, 41][at % 4])).collect();
    let slices: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let on = |threads: usize, rows: &[&[f64]]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bootstrap(rows, &SETTINGS))
    };
    let all = on(1, &slices);
    assert_eq!(all, on(4, &slices));
    let alone: Vec<_> = slices.iter().map(|row| bootstrap(&[row], &SETTINGS)[0]).collect();
    assert_eq!(all, alone);
    let reversed: Vec<&[f64]> = slices.iter().rev().copied().collect();
    assert_eq!(all, bootstrap(&reversed, &SETTINGS).into_iter().rev().collect::<Vec<_>>());
    assert_ne!(all, bootstrap(&slices, &Bootstrap { seed: 8, ..SETTINGS }));
}

#[test]
fn the_randomisation_test_finds_what_is_not_there_as_often_as_alpha_and_what_is_there_more_often_the_larger_it_is() {
    const TRIES: usize = 1_500;
    let mut next = dice(3);
    let mut found = |shift: f64, alpha: f64| {
        let significant = (0..TRIES).filter(|&seed| {
            // Four in five questions do not change, as between settings that are nearly the same.
            let change = |next: &mut dyn FnMut() -> f64| if next() < 0.8 { 0.0 } else { next() - 0.5 };
            let differences: Vec<f64> = (0..80).map(|_| change(&mut next) + shift * normal(&mut next).abs()).collect();
            randomisation(&differences, 499, seed as u64) <= alpha
        });
        significant.count() as f64 / TRIES as f64
    };
    let (five, twenty) = (found(0.0, 0.05), found(0.0, 0.2));
    assert!((0.035..=0.065).contains(&five) && (0.17..=0.23).contains(&twenty), "{five} {twenty}");
    let power = [five, found(0.02, 0.05), found(0.05, 0.05), found(0.1, 0.05)];
    assert!(power.windows(2).all(|pair| pair[0] + 0.05 < pair[1]), "{power:?}");
    note(&format!("found without a difference: {five} at 0.05, {twenty} at 0.2; with growing ones {power:?}"));
}

#[test]
fn the_minimum_detectable_effect_is_found_in_four_of_five_cases() {
    const TRIES: usize = 1_000;
    let mut next = dice(4);
    let effect = minimum_detectable_effect(1.0, 100, 0.05, 0.8);
    assert!((effect - 0.280_158_5).abs() < 1e-6, "{effect}");
    let shown = (0..TRIES).filter(|&seed| {
        let differences: Vec<f64> = (0..100).map(|_| normal(&mut next) + effect).collect();
        randomisation(&differences, 499, seed as u64) <= 0.05
    });
    let power = shown.count() as f64 / TRIES as f64;
    assert!((0.76..=0.84).contains(&power), "{power}");
    assert!(minimum_detectable_effect(1.0, 0, 0.05, 0.8).is_infinite());
}

#[test]
fn p_values_are_those_of_scipy() {
    // scipy.stats.permutation_test(permutation_type="samples"), exact.
    let differences = [0.3, -0.1, 0.0, 0.25, 0.5, -0.2, 0.1, 0.4, 0.0, 0.15];
    assert_eq!(randomisation(&differences, 10_000, 1), 0.093_75);
    assert_eq!(randomisation(&differences, 256, 1), 0.093_75, "zeros have no sign: 2^8 ways");
    let drawn = randomisation(&differences, 255, 1);
    assert!(drawn != 0.093_75 && (drawn - 0.093_75).abs() < 0.06, "{drawn}");
    // The same with 2,000,000 drawn.
    let many: Vec<f64> = (0..40).map(|at| ((f64::from(at) * 1.7).sin() * 300.0 + 60.0).round() / 1_000.0).collect();
    let p = randomisation(&many, 100_000, 1);
    assert!((p - 0.059_742).abs() < 0.003, "{p}");
}

#[test]
fn p_values_at_the_ends() {
    assert_eq!(randomisation(&[], 100, 1), 1.0);
    assert_eq!(randomisation(&[0.0; 30], 100, 1), 1.0);
    assert_eq!(randomisation(&[1.0; 5], 100, 1), 2.0 / 32.0);
    assert_eq!(randomisation(&[0.1; 300], 999, 1), 1.0 / 1_000.0, "never 0");
    assert_eq!(randomisation(&[0.1, 0.2, -0.3], 100, 1), 1.0, "a mean of 0, but for rounding");
}

#[test]
fn holm_as_by_hand() {
    // 0.005·4, 0.01·3, 0.03·2, and 0.04·1, which may not be under the one before.
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (ours, by_hand) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((ours - by_hand).abs() < 1e-12, "{adjusted:?}");
    }
    assert_eq!(holm(&[]), Vec::<f64>::new());
    assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
}

#[test]
fn the_normal_distribution_is_that_of_scipy() {
    for (p, x) in
        [(0.5, 0.0), (0.8, 0.841_621_233_572_914_3), (0.975, 1.959_963_984_540_054), (0.01, -2.326_347_874_040_841)]
    {
        assert!((normal_quantile(p) - x).abs() < 1e-12, "{p}");
        assert!((normal_cdf(x) - p).abs() < 1e-14, "{x}");
    }
    assert!((normal_cdf(-3.1) - 0.000_967_603_213_218_356_3).abs() < 1e-15);
    assert!(normal_quantile(0.0).is_finite() && normal_quantile(1.0).is_finite());
}

#[test]
fn tau_with_ties_is_that_of_scipy() {
    let (a, b) =
        ([1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 8.0, 1.0, 0.0], [2.0, 1.0, 1.0, 4.0, 4.0, 6.0, 5.0, 5.0, 3.0, 0.0]);
    assert!((kendall_tau_b(&a, &b).unwrap() - 0.683_130_051_063_973_2).abs() < 1e-12);
    assert_eq!(kendall_tau_b(&a, &[1.0; 10]), None);
    assert_eq!(kendall_tau_b(&[], &[]), None);
}

/// Few levels, so that there are ties.
fn values(most: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((0..6i32).prop_map(f64::from), 0..most)
}

proptest! {
    #[test]
    fn holm_keeps_the_order_and_lowers_nothing(p in prop::collection::vec(0.0..=1.0, 0..40)) {
        let adjusted = holm(&p);
        for (at, &one) in p.iter().enumerate() {
            prop_assert!(one <= adjusted[at] && adjusted[at] <= 1.0);
            for (with, &other) in p.iter().enumerate() {
                prop_assert!(one > other || adjusted[at] <= adjusted[with]);
            }
        }
    }

    #[test]
    fn the_front_is_what_no_point_beats(costs in values(30), qualities in values(30)) {
        let points: Vec<(f64, f64)> = costs.into_iter().zip(qualities).collect();
        let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 >= b.1 && a != b;
        let expected: Vec<bool> = points.iter().map(|&one| !points.iter().any(|&other| beats(other, one))).collect();
        prop_assert_eq!(pareto(&points), expected);
    }

    #[test]
    fn tau_is_the_correlation_of_the_signs_of_pairs(a in values(12), b in values(12)) {
        // Another definition of the same: over all ordered pairs, a cosine.
        let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
        let sign = |x: f64| if x == 0.0 { 0.0 } else { x.signum() };
        let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
        for p in &pairs {
            for q in &pairs {
                let (x, y) = (sign(p.0 - q.0), sign(p.1 - q.1));
                both += x * y;
                one += x * x;
                other += y * y;
            }
        }
        match kendall_tau_b(&a, &b) {
            Some(tau) => prop_assert!((tau - both / f64::sqrt(one * other)).abs() < 1e-12 && tau.abs() <= 1.0 + 1e-12),
            None => prop_assert!(one * other == 0.0),
        }
    }

    #[test]
    fn an_interval_is_within_the_values_and_around_the_mean(row in prop::collection::vec(-5.0..5.0f64, 1..30)) {
        let interval = bootstrap(&[&row], &SETTINGS)[0];
        let (least, most) = row.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
        prop_assert!(least - 1e-9 <= interval.lo && interval.hi <= most + 1e-9);
        prop_assert!(interval.lo - 1e-9 <= mean(&row) && mean(&row) <= interval.hi + 1e-9);
        let narrow = bootstrap(&[&row], &Bootstrap { confidence: 0.5, ..SETTINGS })[0];
        prop_assert!(interval.lo <= narrow.lo && narrow.hi <= interval.hi);
    }

    #[test]
    fn p_is_the_same_for_either_direction_and_scale(row in prop::collection::vec(-1.0..1.0f64, 0..30)) {
        let p = randomisation(&row, 300, 5);
        prop_assert!(p > 0.0 && p <= 1.0);
        let turned: Vec<f64> = row.iter().map(|value| value * -8.0).collect();
        prop_assert_eq!(p, randomisation(&turned, 300, 5));
    }
}
