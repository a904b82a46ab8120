//! The tables: designs × ways to search × budgets, what changes against one setting, and what all sets choose together.

use std::fmt::Write;

use super::{best_first, budgets, bytes, changed, chosen, first, pairs, shown, size, variants};
use crate::data::report::Cell;
use crate::findings::analysis::figure;
use crate::findings::sets::{Choice, Set, Sets, Shift};
use crate::score::judge::in_context;
use crate::score::stats::{HeldOut, kendall_tau_b, mean};
use crate::show::markdown::escape;
use crate::show::view::{counted, significant, whole};

pub(super) fn tables(sets: &Sets, own: &str) -> String {
    let Some(first) = first(sets) else { return String::new() };
    let metric = first.scoring.primary.as_str();
    let mut text = String::new();
    settings_table(&mut text, sets, metric);
    changes_table(&mut text, sets, own, metric);
    parts_table(&mut text, sets, own);
    choices_table(&mut text, sets, own);
    synthetic_table(&mut text, sets);
    text.trim_end().to_owned() + "\n"
}

/// Writes the head of a table: a title, and columns of which the first ones are text and the others numbers.
fn head(text: &mut String, title: &str, columns: &[String], texts: usize) {
    let rules = (0..columns.len()).map(|at| if at < texts { " --- |" } else { " --: |" });
    let _ = write!(text, "### {title}\n\n| {} |\n|{}\n", columns.join(" | "), rules.collect::<String>());
}

/// Writes all settings, by the means of all sets at each budget, with what they cost.
fn settings_table(text: &mut String, sets: &Sets, metric: &str) {
    let budgets = budgets(sets);
    let mean_at = |id: &str, budget: usize| Some(mean(&sets.means(id, &in_context(budget))?));
    let most: Vec<f64> = budgets
        .iter()
        .map(|&budget| sets.common().into_iter().filter_map(|id| mean_at(id, budget)).fold(f64::MIN, f64::max))
        .collect();
    let title = format!("Evidence in a context, mean of {}", counted(sets.as_slice().len(), "set"));
    let mut columns = vec!["setting".to_owned()];
    columns.extend(budgets.iter().map(|&budget| whole(budget as u64)));
    columns.extend(["bytes per byte", "s per MB", "ms, p95"].map(str::to_owned));
    head(text, &title, &columns, 1);
    for (id, _) in best_first(sets, metric) {
        let shown = budgets.iter().zip(&most).map(|(&budget, most)| match mean_at(id, budget) {
            Some(value) if value >= *most => format!("**{}**", figure(value)),
            value => value.map(figure).unwrap_or_default(),
        });
        let cost = |of: fn(&Cell, f64) -> Option<f64>| {
            let values = sets.as_slice().iter().map(|Set { report, .. }| of(report.cell(id)?, size(report)));
            values.collect::<Option<Vec<f64>>>().map(|values| significant(mean(&values))).unwrap_or_default()
        };
        let costs = [
            cost(|cell, size| Some(bytes(cell) / size)),
            cost(|cell, size| Some(cell.cost.index.as_ref()?.seconds.median / (size / 1e6))),
            cost(|cell, _| Some(cell.cost.query_ms.p95)),
        ];
        let _ = writeln!(text, "| {} | {} |", escape(id), shown.chain(costs).collect::<Vec<_>>().join(" | "));
    }
    text.push_str(
        "\nBytes of the dataset per byte of documents; seconds to index a megabyte of them, without loading the model; the \
         95th percentile of the milliseconds that a question takes.\n\n",
    );
}

/// Writes what each setting changes in each set.
fn changes_table(text: &mut String, sets: &Sets, own: &str, metric: &str) {
    let ids: Vec<&str> = best_first(sets, metric).into_iter().map(|(id, _)| id).collect();
    let shifts = sets.shifts(&ids, own, metric);
    if shifts.iter().all(Option::is_none) {
        return;
    }
    let mut columns = vec!["setting".to_owned(), "all sets".to_owned()];
    columns.extend(sets.as_slice().iter().map(|set| escape(&set.name)));
    head(text, &format!("Changes of {} against {}", escape(metric), escape(own)), &columns, 1);
    for (id, shift) in ids.iter().zip(shifts) {
        let Some(shift) = shift.filter(|_| *id != own) else { continue };
        let values: Vec<String> = [shift.all].into_iter().chain(shift.sets).map(shown).collect();
        let _ = writeln!(text, "| {} | {} |", escape(id), values.join(" | "));
    }
    text.push_str("\n95 % intervals; bold if chance does not explain a change.\n\n");
}

/// Writes what one change to the own setting does at each budget.
fn parts_table(text: &mut String, sets: &Sets, own: &str) {
    let Some(cell) = first(sets).and_then(|report| report.cell(own)) else { return };
    let ids = variants(sets, own);
    if ids.is_empty() {
        return;
    }
    let budgets = budgets(sets);
    let mut columns = vec![String::new(), "changed".to_owned()];
    columns.extend(budgets.iter().map(|&budget| whole(budget as u64)));
    head(
        text,
        &format!("One change to {}, mean of {}", escape(own), counted(sets.as_slice().len(), "set")),
        &columns,
        2,
    );
    let by_budget: Vec<Vec<Option<Shift>>> =
        budgets.iter().map(|&budget| sets.shifts(&ids, own, &in_context(budget))).collect();
    for (at, id) in ids.iter().enumerate() {
        let cells =
            by_budget.iter().map(|shifts| shifts[at].as_ref().map(|shift| shown(shift.all)).unwrap_or_default());
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(text, "| {} | {} | {} |", at + 1, escape(&changed(id, cell)), cells.join(" | "));
    }
    text.push('\n');
}

/// Writes what all sets choose together, at each budget.
fn choices_table(text: &mut String, sets: &Sets, own: &str) {
    let choices: Vec<(usize, Choice)> =
        budgets(sets).into_iter().filter_map(|budget| Some((budget, sets.choice(&in_context(budget))?))).collect();
    if choices.is_empty() {
        return;
    }
    let columns = ["tokens", "best of all", "its mean", "chosen by half, on it", "on the other half"];
    let mut columns: Vec<String> = columns.map(str::to_owned).into();
    let several = choices.iter().any(|(_, choice)| !choice.others.is_empty());
    columns.extend(several.then(|| "chosen by the other sets".to_owned()));
    columns.push(escape(own));
    head(text, "The setting that all sets choose", &columns, 2);
    for (budget, choice) in &choices {
        let half =
            |of: fn(&HeldOut) -> f64| choice.halves.as_ref().map(|halves| figure(of(halves))).unwrap_or_default();
        let mut values = vec![figure(choice.mean), half(|it| it.chosen), half(|it| it.held_out)];
        let others: Vec<f64> = choice.others.iter().map(|(_, mean)| *mean).collect();
        values.extend(several.then(|| figure(mean(&others))));
        values.push(sets.means(own, &in_context(*budget)).map(|means| figure(mean(&means))).unwrap_or_default());
        let _ = writeln!(text, "| {} | {} | {} |", whole(*budget as u64), escape(&choice.best), values.join(" | "));
    }
    text.push_str(
        "\nThe questions of each set are halved 100 times. The best setting by one half of all sets is measured by the \
         other: the mean of that is what the choice brings without the luck of selection. In the same way, a set is \
         measured with the setting that the other sets choose.\n\n",
    );
}

fn synthetic_table(text: &mut String, sets: &Sets) {
    let rows = sets.as_slice().iter().filter_map(|set| {
        let pairs = pairs(set);
        let (made, real): (Vec<f64>, Vec<f64>) = pairs.iter().map(|(_, made, real)| (*made, *real)).unzip();
        let (tau, chosen) = (kendall_tau_b(&made, &real)?, chosen(&pairs)?);
        let most = real.iter().copied().fold(f64::MIN, f64::max);
        Some(format!("| {} | {} | {} | {} |\n", escape(&set.name), pairs.len(), figure(tau), figure(most - chosen.2)))
    });
    let rows: String = rows.collect();
    if !rows.is_empty() {
        let columns = ["set", "settings", "Kendall's tau-b", "loss of the synthetic choice"].map(str::to_owned);
        head(text, "Synthetic and real questions", &columns, 1);
        text.push_str(&rows);
    }
}
