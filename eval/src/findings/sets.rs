//! What holds over several sets of labels, each with a run of one sweep?
//!
//! A setting that suits one corpus may be bad for another, so a default is chosen by all of them. A figure over sets is
//! the mean of the sets' means: a set with many questions has no more weight than another. The standard error of a
//! difference is the root of the sum of the sets' squared errors, divided by the number of sets, because sets are
//! independent.

use crate::data::report::Report;
use crate::findings::analysis::{Clusters, direction, paired, resampling};
use crate::score::stats::{ClusteredValues, HeldOut, Interval, bootstrap, held_out, mean, normal_quantile};

/// Number of times that the questions of each set are halved.
const SPLITS: usize = 100;

/// A set of labels with its runs.
#[derive(Debug)]
pub struct Set {
    /// Its name.
    pub name: String,
    /// The run with its own questions.
    pub report: Report,
    /// The run with synthetic questions from its documents, if there is one.
    pub synthetic: Option<Report>,
}

/// Sets of labels with runs of the same sweep.
#[derive(Debug)]
pub struct Sets {
    sets: Vec<Set>,
    clusters: Vec<Clusters>,
}

/// The change from one setting to another.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// Over all sets, with its interval.
    pub all: (f64, Interval),
    /// In each set, with its interval.
    pub sets: Vec<(f64, Interval)>,
}

/// The setting that all sets choose together, and what a choice like that brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Id of the setting with the highest mean.
    pub best: String,
    /// Its mean.
    pub mean: f64,
    /// The choice by the questions of one half of each set, and what it brings for the other; `None` if a set has too
    /// few questions to be halved.
    pub halves: Option<HeldOut>,
    /// For each set, the setting that the other sets choose, and its mean in that set; empty with one set.
    pub others: Vec<(String, f64)>,
}

impl Sets {
    /// Takes the sets in the order in which they are shown.
    pub fn new(sets: Vec<Set>) -> Self {
        let clusters = sets.iter().map(|set| Clusters::of(&set.report)).collect();
        Self { sets, clusters }
    }

    /// Returns the sets in their order.
    pub fn as_slice(&self) -> &[Set] {
        &self.sets
    }

    /// Returns the cells that all runs have, in the order of the first run.
    pub fn common(&self) -> Vec<&str> {
        let Some((first, others)) = self.sets.split_first() else { return Vec::new() };
        let ids = first.report.cells.iter().map(|cell| cell.id.as_str());
        ids.filter(|id| others.iter().all(|set| set.report.cell(id).is_some())).collect()
    }

    /// Returns a cell's mean in each set; `None` if one of the sets lacks it.
    pub fn means(&self, id: &str, metric: &str) -> Option<Vec<f64>> {
        self.sets.iter().map(|set| Some(set.report.cell(id)?.metrics.get(metric)?.mean)).collect()
    }

    /// Returns how a metric changes from the cell `own` to each of `ids`; `None` where one of the sets lacks either.
    pub fn shifts(&self, ids: &[&str], own: &str, metric: &str) -> Vec<Option<Shift>> {
        let by_set: Vec<Vec<Option<(ClusteredValues, Interval)>>> = self
            .sets
            .iter()
            .zip(&self.clusters)
            .map(|(Set { report, .. }, clusters)| {
                let own = report.cell(own);
                let difference = |id: &&str| Some(paired(report.cell(id)?, own?, metric, clusters));
                let differences: Vec<Option<ClusteredValues>> = ids.iter().map(difference).collect();
                let rows: Vec<&ClusteredValues> = differences.iter().flatten().collect();
                let mut found = bootstrap(&rows, &resampling(&report.scoring)).into_iter();
                differences.into_iter().map(|row| row.and_then(|row| Some((row, found.next()?)))).collect()
            })
            .collect();
        let shift = |at: usize| {
            let sets: Vec<&(ClusteredValues, Interval)> =
                by_set.iter().map(|set| set[at].as_ref()).collect::<Option<_>>()?;
            let squares: f64 = sets.iter().map(|(row, _)| row.standard_error().powi(2)).sum();
            #[expect(clippy::cast_precision_loss, reason = "there are few sets")]
            let reach = normal_quantile(0.975) * squares.sqrt() / sets.len() as f64;
            let all = mean(&sets.iter().map(|(row, _)| row.mean()).collect::<Vec<_>>());
            Some(Shift {
                all: (all, Interval { lo: all - reach, hi: all + reach }),
                sets: sets.iter().map(|(row, interval)| (row.mean(), *interval)).collect(),
            })
        };
        (0..ids.len()).map(shift).collect()
    }

    /// Returns the setting that all sets choose together by a metric; `None` if they have none in common.
    pub fn choice(&self, metric: &str) -> Option<Choice> {
        let Set { report: first, .. } = self.sets.first()?;
        let sign = direction(first, metric);
        let rows: Vec<(&str, Vec<ClusteredValues>)> =
            self.common().into_iter().filter_map(|id| Some((id, self.values(id, metric, sign)?))).collect();
        let best_by = |sets: &dyn Fn(usize) -> bool| {
            let score = |row: &[ClusteredValues]| {
                let means = row.iter().enumerate().filter(|(at, _)| sets(*at)).map(|(_, set)| set.mean());
                mean(&means.collect::<Vec<_>>())
            };
            let scored = rows.iter().map(|(id, row)| (*id, row, score(row)));
            scored.reduce(|best, next| if next.2 > best.2 { next } else { best })
        };
        let (best, _, best_mean) = best_by(&|_| true)?;
        let chosen_by_others = |at: usize| {
            let (id, row, _) = best_by(&|set| set != at)?;
            Some((id.to_owned(), row[at].mean() * sign))
        };
        let several = self.sets.len() > 1;
        let values: Vec<&[ClusteredValues]> = rows.iter().map(|(_, row)| row.as_slice()).collect();
        let unsigned = |half: HeldOut| HeldOut { chosen: half.chosen * sign, held_out: half.held_out * sign, ..half };
        Some(Choice {
            best: best.to_owned(),
            mean: best_mean * sign,
            halves: held_out(&values, SPLITS, first.scoring.seed).map(unsigned),
            others: (0..self.sets.len()).filter(|_| several).filter_map(chosen_by_others).collect(),
        })
    }

    /// Returns a cell's values in each set, times `sign`; `None` if one of the sets has none.
    fn values(&self, id: &str, metric: &str, sign: f64) -> Option<Vec<ClusteredValues>> {
        let of = |(set, clusters): (&Set, &Clusters)| {
            let values = set.report.cell(id)?.values.get(metric)?;
            let gathered = clusters.gather(values.iter().map(|value| value.map(|value| value * sign)));
            (!gathered.is_empty()).then_some(gathered)
        };
        self.sets.iter().zip(&self.clusters).map(of).collect()
    }
}
