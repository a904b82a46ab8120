//! Intervals contain the truth as often as they claim, tests are wrong as rarely as they claim, and orders equal
//! those of a slower method. The figures of SciPy were printed by its version 1.17.1.

use std::slice;

use chunkmill_eval::score::stats::{
    Bootstrap, ClusteredValues, bootstrap, deviation, held_out, holm, kendall_tau_b, max_t, mean,
    minimum_detectable_effect, normal_cdf, normal_quantile, pareto, probability_best, randomisation, student_quantile,
};
use proptest::prelude::*;

use crate::common::{dice, note};

const SETTINGS: Bootstrap = Bootstrap { confidence: 0.95, resamples: 1_000, seed: 7 };

/// Returns a normal variable as the sum of twelve uniform ones.
fn normal(next: &mut impl FnMut() -> f64) -> f64 {
    (0..12).map(|_| next()).sum::<f64>() - 6.0
}

/// Returns values from 0 to 1 with a peak at each end, as recall has. Their mean is 0.7.
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
    for (questions, confidence, allowed) in
        [(100, 0.95, 0.93..=0.965), (100, 0.8, 0.775..=0.825), (30, 0.95, 0.925..=0.965)]
    {
        let samples: Vec<Vec<f64>> = (0..TRIES).map(|_| shares(&mut next, questions)).collect();
        // Each try has its own resamples, so the tries are independent.
        let holds = |(seed, row): (usize, &Vec<f64>)| {
            let interval = bootstrap(
                &[&ClusteredValues::alone(row)],
                &Bootstrap { confidence, resamples: 400, seed: seed as u64 },
            )[0];
            (interval.lo..=interval.hi).contains(&0.7)
        };
        let held = samples.iter().enumerate().filter(|&sample| holds(sample)).count() as f64 / TRIES as f64;
        assert!(allowed.contains(&held), "{questions} {confidence}: {held}");
        note(&format!(
            "intervals of {confidence} contained the true mean in {held} of {TRIES} tries of {questions} questions"
        ));
    }
}

#[test]
fn an_interval_is_that_of_numpy() {
    let values =
        [0.0, 0.0, 0.2, 0.25, 0.5, 0.5, 0.6, 0.75, 0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 0.4, 0.9, 0.1, 0.0, 1.0, 0.33];
    let interval = bootstrap(&[&ClusteredValues::alone(&values)], &Bootstrap { resamples: 200_000, ..SETTINGS })[0];
    // Quantiles .01588 and .98412 of 2,000,000 means in NumPy: norm.cdf(sqrt(20 / 19) * t.ppf(.025, 19)) of SciPy.
    assert!((interval.lo - 0.384).abs() < 0.003 && (interval.hi - 0.7445).abs() < 0.003, "{interval:?}");
    assert!((mean(&values) - 0.5665).abs() < 1e-12 && (deviation(&values) - 0.376_527_223_451_372_8).abs() < 1e-12);
}

#[test]
fn intervals_depend_neither_on_the_rows_beside_them_nor_on_threads() {
    let mut next = dice(2);
    let rows: Vec<Vec<f64>> = (0..50).map(|at| shares(&mut next, [40, 7, 0, 41][at % 4])).collect();
    let rows: Vec<ClusteredValues> = rows.iter().map(|row| ClusteredValues::alone(row)).collect();
    let slices: Vec<&ClusteredValues> = rows.iter().collect();
    let on = |threads: usize, rows: &[&ClusteredValues]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bootstrap(rows, &SETTINGS))
    };
    let all = on(1, &slices);
    assert_eq!(all, on(4, &slices));
    let alone: Vec<_> = slices.iter().map(|row| bootstrap(&[row], &SETTINGS)[0]).collect();
    assert_eq!(all, alone);
    let reversed: Vec<&ClusteredValues> = slices.iter().rev().copied().collect();
    assert_eq!(all, bootstrap(&reversed, &SETTINGS).into_iter().rev().collect::<Vec<_>>());
    assert_ne!(all, bootstrap(&slices, &Bootstrap { seed: 8, ..SETTINGS }));
}

#[test]
fn the_randomisation_test_finds_what_is_not_there_as_often_as_alpha_and_what_is_there_more_often_the_larger_it_is() {
    const TRIES: usize = 1_500;
    let mut next = dice(3);
    let mut found = |shift: f64, alpha: f64| {
        let significant = (0..TRIES).filter(|&seed| {
            // Four in five questions do not change, as with settings that are nearly the same.
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
    let effect = minimum_detectable_effect(0.1, 0.05, 0.8);
    assert!((effect - 0.280_158_5).abs() < 1e-6, "{effect}");
    let shown = (0..TRIES).filter(|&seed| {
        let differences: Vec<f64> = (0..100).map(|_| normal(&mut next) + effect).collect();
        randomisation(&differences, 499, seed as u64) <= 0.05
    });
    let power = shown.count() as f64 / TRIES as f64;
    assert!((0.76..=0.84).contains(&power), "{power}");
}

#[test]
fn p_values_are_those_of_scipy() {
    // scipy.stats.permutation_test(permutation_type="samples"), exact.
    let differences = [0.3, -0.1, 0.0, 0.25, 0.5, -0.2, 0.1, 0.4, 0.0, 0.15];
    assert_eq!(randomisation(&differences, 10_000, 1), 0.093_75);
    assert_eq!(randomisation(&differences, 256, 1), 0.093_75, "zeros have no sign: 2^8 ways");
    let drawn = randomisation(&differences, 255, 1);
    assert!(drawn != 0.093_75 && (drawn - 0.093_75).abs() < 0.06, "{drawn}");
    // The same with 2,000,000 random draws.
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
    assert_eq!(randomisation(&[0.1, 0.2, -0.3], 100, 1), 1.0, "a mean of 0 apart from rounding");
}

#[test]
fn holm_as_by_hand() {
    // 0.005·4, 0.01·3, 0.03·2, and 0.04·1, which must not be below the previous one.
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (ours, by_hand) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((ours - by_hand).abs() < 1e-12, "{adjusted:?}");
    }
    assert_eq!(holm(&[]), Vec::<f64>::new());
    assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
}

/// Returns questions in clusters of four. Each value is the sum of its cluster's common part and a part of its own.
fn clustered(next: &mut impl FnMut() -> f64, clusters: usize, common: f64) -> Vec<(usize, f64)> {
    let mut values = Vec::new();
    for cluster in 0..clusters {
        let shared = common * normal(next);
        values.extend((0..4).map(|_| (cluster, shared + normal(next))));
    }
    values
}

#[test]
fn intervals_over_clusters_hold_the_truth_where_those_over_questions_do_not() {
    const TRIES: usize = 1_000;
    let mut next = dice(5);
    let (mut held, mut held_alone, mut error) = (0, 0, 0.0);
    for seed in 0..TRIES {
        let values = clustered(&mut next, 60, 1.0);
        let settings = Bootstrap { confidence: 0.95, resamples: 500, seed: seed as u64 };
        let by_cluster: ClusteredValues = values.iter().copied().collect();
        let alone = ClusteredValues::alone(&values.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        let holds = |row: &ClusteredValues| {
            let interval = bootstrap(&[row], &settings)[0];
            usize::from((interval.lo..=interval.hi).contains(&0.0))
        };
        held += holds(&by_cluster);
        held_alone += holds(&alone);
        error += by_cluster.standard_error().powi(2);
    }
    let [held, held_alone] = [held, held_alone].map(|count| count as f64 / TRIES as f64);
    assert!((0.93..=0.97).contains(&held) && held_alone < 0.85, "{held} {held_alone}");
    // The variance for 60 clusters of 4 is (1 + 1/4) / 60.
    let error = (error / TRIES as f64 / (1.25 / 60.0)).sqrt();
    assert!((0.97..=1.03).contains(&error), "{error}");
    note(&format!(
        "95 % intervals were right in {held} of 1,000 sweeps with clusters of four, over questions in {held_alone}"
    ));
}

/// Computes the same as `max_t` by trying every choice of signs.
fn max_t_by_hand(rows: &[Vec<f64>]) -> Vec<f64> {
    let questions = rows[0].len();
    let statistic = |row: &[f64], way: usize| {
        let signed = row.iter().enumerate().map(|(at, value)| if way >> at & 1 == 0 { *value } else { -value });
        let root = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        if root > 0.0 { (signed.sum::<f64>() / root).abs() } else { 0.0 }
    };
    let highest: Vec<f64> =
        (0..1 << questions).map(|way| rows.iter().map(|row| statistic(row, way)).fold(0.0, f64::max)).collect();
    let p = |row: &Vec<f64>| {
        let own = statistic(row, 0);
        highest.iter().filter(|&&highest| highest >= own - 1e-9).count() as f64 / highest.len() as f64
    };
    rows.iter().map(p).collect()
}

#[test]
fn max_t_is_what_every_choice_of_signs_gives() {
    let mut next = dice(6);
    for _ in 0..20 {
        let rows: Vec<Vec<f64>> = (0..5)
            .map(|row| (0..9).map(|_| if next() < 0.3 { 0.0 } else { next() - 0.4 - 0.1 * f64::from(row) }).collect())
            .collect();
        let found = max_t(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1_000, 3);
        for ((row, found), by_hand) in rows.iter().zip(&found).zip(max_t_by_hand(&rows)) {
            assert!((found.p_max - by_hand).abs() < 1e-12, "{found:?} {by_hand}");
            assert!((found.p - randomisation(row, 1_000, 3)).abs() < 1e-12);
        }
        // The same with random draws.
        let drawn = max_t(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), 500, 3);
        assert!(found.iter().zip(drawn).all(|(exact, drawn)| (exact.p_max - drawn.p_max).abs() < 0.1));
    }
    assert!(max_t(&[], 100, 1).is_empty());
    assert!(max_t(&[&[0.0; 4], &[1.0; 4]], 100, 1).iter().map(|found| found.p_max).eq([1.0, 0.125]));
}

#[test]
fn max_t_is_wrong_as_seldom_as_it_says_and_sees_more_than_holm_where_rows_are_alike() {
    const TRIES: usize = 400;
    let mut next = dice(7);
    // Twenty rows that have most of their values in common. Only the last one has something to find.
    let mut sweep = |shift: f64| {
        let common: Vec<f64> = (0..60).map(|_| normal(&mut next)).collect();
        let rows = (0..20).map(|row| {
            let shift = if row == 19 { shift } else { 0.0 };
            common.iter().map(|value| value + 0.3 * normal(&mut next) + shift).collect()
        });
        rows.collect::<Vec<Vec<f64>>>()
    };
    let mut count = |shift: f64| {
        let (mut by_max, mut by_holm) = (0, 0);
        for seed in 0..TRIES {
            let rows = sweep(shift);
            let found = max_t(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>(), 999, seed as u64);
            let holm = holm(&found.iter().map(|found| found.p).collect::<Vec<_>>());
            let looked_at = if shift > 0.0 { 19..20 } else { 0..20 };
            by_max += usize::from(looked_at.clone().any(|row| found[row].p_max <= 0.05));
            by_holm += usize::from(looked_at.clone().any(|row| holm[row] <= 0.05));
        }
        [by_max, by_holm].map(|count| count as f64 / TRIES as f64)
    };
    let ([wrong, wrong_by_holm], [seen, seen_by_holm]) = (count(0.0), count(0.4));
    assert!((0.025..=0.08).contains(&wrong) && wrong_by_holm < wrong, "{wrong} {wrong_by_holm}");
    assert!(seen > seen_by_holm + 0.1, "{seen} {seen_by_holm}");
    note(&format!(
        "wrong about any of 20 alike rows: MaxT {wrong}, Holm {wrong_by_holm}; seen: {seen}, {seen_by_holm}"
    ));
}

#[test]
fn the_probability_of_being_best_is_that_of_the_difference() {
    let mut next = dice(8);
    // For two rows, it is Φ(difference / standard error).
    for shift in [0.0, 0.1, 0.2] {
        let rows: Vec<Vec<f64>> =
            [0.0, shift].iter().map(|shift| (0..300).map(|_| normal(&mut next) + shift).collect()).collect();
        let differences: Vec<f64> = rows[1].iter().zip(&rows[0]).map(|(one, other)| one - other).collect();
        let difference = ClusteredValues::alone(&differences);
        let expected = normal_cdf(difference.mean() / difference.standard_error());
        let clustered: Vec<ClusteredValues> = rows.iter().map(|row| ClusteredValues::alone(row)).collect();
        let shares =
            probability_best(&clustered.iter().collect::<Vec<_>>(), &Bootstrap { resamples: 4_000, ..SETTINGS });
        assert!((shares[1] - expected).abs() < 0.03, "{shares:?} {expected}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
    // Equal rows share the probability, and a row that is never best has none.
    let values: Vec<f64> = (0..50).map(|_| next()).collect();
    let worse: Vec<f64> = values.iter().map(|value| value - 0.1).collect();
    let rows = [ClusteredValues::alone(&values), ClusteredValues::alone(&values), ClusteredValues::alone(&worse)];
    let shares = probability_best(&rows.iter().collect::<Vec<_>>(), &SETTINGS);
    assert!(shares.iter().zip([0.5, 0.5, 0.0]).all(|(share, expected)| (share - expected).abs() < 1e-9), "{shares:?}");
    assert!(probability_best(&[], &SETTINGS).is_empty());
}

#[test]
fn the_luck_of_being_chosen_is_not_in_what_is_held_out() {
    const TRIES: usize = 200;
    let mut next = dice(9);
    let (mut chosen, mut kept, mut found) = (0.0, 0.0, 0.0);
    for seed in 0..TRIES {
        // Thirty settings that are all alike, with a true mean of 0.
        let rows: Vec<ClusteredValues> =
            (0..30).map(|_| ClusteredValues::alone(&(0..100).map(|_| normal(&mut next)).collect::<Vec<_>>())).collect();
        let record = held_out(&rows.iter().map(slice::from_ref).collect::<Vec<_>>(), 20, seed as u64).unwrap();
        chosen += record.chosen / TRIES as f64;
        kept += record.held_out / TRIES as f64;
        found += rows.iter().map(ClusteredValues::mean).fold(f64::MIN, f64::max) / TRIES as f64;
    }
    // The expected maximum of 30 standard normal variables is 2.043; divide it by √50 for means of 50 questions.
    assert!(
        (chosen - 2.043 / 50.0_f64.sqrt()).abs() < 0.02 && found > 0.15 && kept.abs() < 0.02,
        "{chosen} {found} {kept}"
    );
    note(&format!(
        "thirty equal settings of mean 0: the best has {found:.3}, chosen by half {chosen:.3}, held out {kept:.3}"
    ));
    // A clear winner is always chosen.
    let rows =
        [0.0, 1.0].map(|shift| ClusteredValues::alone(&(0..40).map(|_| next() * 0.1 + shift).collect::<Vec<_>>()));
    let record = held_out(&rows.iter().map(slice::from_ref).collect::<Vec<_>>(), 50, 1).unwrap();
    assert!(record.same == 1.0 && (record.held_out - rows[1].mean()).abs() < 0.01, "{record:?}");
    assert!(held_out(&[&[ClusteredValues::alone(&[1.0])]], 10, 1).is_none() && held_out(&[], 10, 1).is_none());
    // Over several sets the mean of their means decides: the second setting is a little better in the small set, and much
    // worse in the large one.
    let of = |value: f64, count: usize| ClusteredValues::alone(&vec![value; count]);
    let rows = [[of(0.5, 10), of(0.5, 1000)], [of(0.9, 10), of(0.2, 1000)]];
    let record = held_out(&rows.iter().map(<[_; 2]>::as_slice).collect::<Vec<_>>(), 10, 1).unwrap();
    assert!(record.same == 1.0 && (record.held_out - 0.55).abs() < 1e-9, "{record:?}");
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
fn students_distribution_is_that_of_scipy() {
    for (p, freedom, t) in [
        (0.975, 19.0, 2.093_024),
        (0.975, 59.0, 2.000_995),
        (0.9, 10.0, 1.372_184),
        (0.975, 5.0, 2.570_582),
        (0.005, 30.0, -2.749_996),
        (0.6, 200.0, 0.253_684),
    ] {
        assert!((student_quantile(p, freedom) - t).abs() < 2e-3, "{p} {freedom}: {}", student_quantile(p, freedom));
    }
}

#[test]
fn tau_with_ties_is_that_of_scipy() {
    let (a, b) =
        ([1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 8.0, 1.0, 0.0], [2.0, 1.0, 1.0, 4.0, 4.0, 6.0, 5.0, 5.0, 3.0, 0.0]);
    assert!((kendall_tau_b(&a, &b).unwrap() - 0.683_130_051_063_973_2).abs() < 1e-12);
    assert_eq!(kendall_tau_b(&a, &[1.0; 10]), None);
    assert_eq!(kendall_tau_b(&[], &[]), None);
}

/// Generates values of few levels, which makes ties likely.
fn values(most: usize) -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((0..6i32).prop_map(f64::from), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

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
        // An equivalent definition: a cosine over all ordered pairs.
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
        let interval = bootstrap(&[&ClusteredValues::alone(&row)], &SETTINGS)[0];
        let (least, most) = row.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
        prop_assert!(least - 1e-9 <= interval.lo && interval.hi <= most + 1e-9);
        prop_assert!(interval.lo - 1e-9 <= mean(&row) && mean(&row) <= interval.hi + 1e-9);
        let narrow = bootstrap(&[&ClusteredValues::alone(&row)], &Bootstrap { confidence: 0.5, ..SETTINGS })[0];
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
