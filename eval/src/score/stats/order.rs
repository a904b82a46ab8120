//! Orders: which points are not beaten, and how well two orders agree.

use super::mean::float;

/// Returns which points of (cost, quality) are on the Pareto front: no other point costs at most as much, is at
/// least as good, and differs in one of the two. Equal points are on the front together.
pub fn pareto(points: &[(f64, f64)]) -> Vec<bool> {
    // Points are visited by ascending cost, and by descending quality for the same cost. A point is beaten unless
    // it is better than all points before it, or equal to the last one on the front.
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| points[a].0.total_cmp(&points[b].0).then(points[b].1.total_cmp(&points[a].1)));
    let mut on_front = vec![false; points.len()];
    let mut last: Option<(f64, f64)> = None;
    for at in order {
        let point = points[at];
        if last.is_none_or(|last| point.1 > last.1 || point == last) {
            on_front[at] = true;
            last = Some(point);
        }
    }
    on_front
}

/// Returns Kendall's tau-b of paired values (Kendall 1945, "The treatment of ties in ranking problems"): (P − Q) /
/// √((N − T)(N − U)). P pairs have the same order in both, and Q pairs the opposite order. N is the number of all
/// pairs; T and U are the numbers of ties in the one and in the other. 1 is the same order, −1 the reverse; `None`
/// if one of them is tied everywhere. Values without a partner are ignored.
pub fn kendall_tau_b(one: &[f64], other: &[f64]) -> Option<f64> {
    let values: Vec<(f64, f64)> = one.iter().copied().zip(other.iter().copied()).collect();
    let sign = |from: f64, to: f64| i64::from(to > from) - i64::from(to < from);
    let (mut balance, mut ordered_by_one, mut ordered_by_other) = (0_i64, 0, 0);
    for (at, a) in values.iter().enumerate() {
        for b in &values[at + 1..] {
            let (x, y) = (sign(a.0, b.0), sign(a.1, b.1));
            balance += x * y;
            ordered_by_one += usize::from(x != 0);
            ordered_by_other += usize::from(y != 0);
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "pairs are fewer than 2^53")]
    let balance = balance as f64;
    let pairs = (float(ordered_by_one) * float(ordered_by_other)).sqrt();
    (pairs > 0.0).then(|| balance / pairs)
}
