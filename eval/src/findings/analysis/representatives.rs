//! A few cells that represent all: those that the advice names, and the best of each kind.

use std::collections::BTreeSet;

use super::ranking::{is_default, ranked};
use crate::data::report::{Cell, Report};

/// Largest number of representatives.
const FEW: usize = 8;

/// Returns the ids of the recommended cell, the best one, the default, the smallest that is as good, the second best,
/// and the best of each strategy and of each way to search; at most eight.
pub(crate) fn representatives(report: &Report) -> Vec<String> {
    let Some(verdict) = &report.verdict else { return Vec::new() };
    let order = ranked(report);
    let ranked: Vec<&Cell> = order.into_iter().map(|at| &report.cells[at]).collect();
    let named = [Some(&verdict.advised), Some(&verdict.best)].into_iter().flatten();
    let named = named.chain(ranked.iter().find(|cell| is_default(cell)).map(|cell| &cell.id));
    let named = named.chain([&verdict.cheapest]).chain(ranked.get(1).map(|cell| &cell.id));
    let mut kinds = BTreeSet::new();
    let mut is_new = |cell: &Cell| {
        let strategy = cell.spec.get("strategy").and_then(|strategy| strategy.as_str()).unwrap_or_default();
        let new = [kinds.insert(strategy.to_owned()), kinds.insert(cell.retrieval.clone())];
        new.contains(&true)
    };
    let kinds: Vec<&String> = ranked.iter().filter(|cell| is_new(cell)).map(|cell| &cell.id).collect();
    let mut chosen: Vec<String> = Vec::new();
    for id in named.chain(kinds) {
        if !chosen.contains(id) && report.cell(id).is_some() && chosen.len() < FEW {
            chosen.push(id.clone());
        }
    }
    chosen
}
