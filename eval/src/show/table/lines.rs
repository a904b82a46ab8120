//! `table.csv`: every figure, for a spreadsheet or a data frame.

use std::io;

use super::{best_first, budgets};
use crate::findings::sets::Sets;
use crate::score::judge::in_context;
use crate::score::stats::Interval;
use crate::show::csv::rows;

/// Renders a row per setting, set and budget, with every digit.
pub(super) fn csv(sets: &Sets, own: &str) -> io::Result<String> {
    let names = ["setting", "set", "tokens", "evidence", "change", "change_lo", "change_hi"];
    let mut lines = vec![names.map(str::to_owned).to_vec()];
    for budget in budgets(sets) {
        let metric = in_context(budget);
        let ids: Vec<&str> = best_first(sets, &metric).into_iter().map(|(id, _)| id).collect();
        for (id, shift) in ids.iter().zip(sets.shifts(&ids, own, &metric)) {
            let means = sets.means(id, &metric).unwrap_or_default();
            for (at, (set, mean)) in sets.as_slice().iter().zip(means).enumerate() {
                let change = shift.as_ref().map(|shift| shift.sets[at]);
                let of = |value: fn((f64, Interval)) -> f64| change.map(|it| value(it).to_string()).unwrap_or_default();
                let changes = [of(|it| it.0), of(|it| it.1.lo), of(|it| it.1.hi)];
                let mut line = vec![(*id).to_owned(), set.name.clone(), budget.to_string(), mean.to_string()];
                line.extend(changes);
                lines.push(line);
            }
        }
    }
    rows(lines)
}
