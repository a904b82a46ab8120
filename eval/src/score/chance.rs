//! Is a chance of evidence right, and what does a lowest chance cost?
//!
//! Two questions, as in the literature on selective answers. Reliability: of the chunks that are said to hold evidence with
//! a chance of about p, does a share of p hold it? Risk: if only questions are answered whose best chunk has at least a
//! chance of p, how many with an answer and how many without one are answered? Questions without an answer are those of
//! the labels, and every question with an answer once more, without the documents that answer it. So about half have
//! none, which is what the chances assume.

use std::collections::HashSet;

use super::judge::{Chunks, Judge, highest};
use crate::data::record::Answer;
use crate::data::report::{ChanceBin, ChanceRecord, RiskPoint};
use crate::score::metrics::ratio;

/// Bounds of the bins of reliability.
const BINS: [f64; 9] = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0];

/// Lowest chances of the risk curve.
const LEAST: [f64; 8] = [0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4];

/// Judges the chances of some answers; `None` if they are not known.
pub fn judged(judge: &Judge, chunks: &Chunks, answers: &[Answer]) -> Option<ChanceRecord> {
    // Each chunk's chance, and whether it holds evidence.
    let mut said: Vec<(f64, bool)> = Vec::new();
    // Each question's best chance, and whether it has an answer.
    let mut asked: Vec<(f64, bool)> = Vec::new();
    for (at, query) in judge.queries().enumerate() {
        let Answer { rows, chances, chances_without, .. } = &answers[query];
        let relevant: HashSet<usize> = chunks.relevant(judge, at).into_iter().map(|(row, _)| row).collect();
        said.extend(rows.iter().zip(chances).map(|(row, chance)| (f64::from(*chance), relevant.contains(row))));
        said.extend(chances_without.iter().map(|chance| (f64::from(*chance), false)));
        asked.extend(highest(chances).map(|best| (best.into(), true)));
        asked.extend(highest(chances_without).map(|best| (best.into(), false)));
    }
    for &query in judge.unanswered() {
        let chances = &answers[query].chances;
        said.extend(chances.iter().map(|chance| (f64::from(*chance), false)));
        asked.extend(highest(chances).map(|best| (best.into(), false)));
    }
    if asked.is_empty() {
        return None;
    }
    asked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let reliability = BINS.windows(2).filter_map(|bounds| bin(&said, bounds[0], bounds[1])).collect();
    let risk = LEAST.map(|least| risk(&asked, least)).into();
    Some(ChanceRecord { reliability, risk, area: area(&asked) })
}

/// Counts the chunks whose chance is in a range. The highest bin has both of its bounds. `None` if there are none.
fn bin(said: &[(f64, bool)], from: f64, to: f64) -> Option<ChanceBin> {
    let is_in = |chance: f64| from <= chance && (chance < to || to >= 1.0);
    let of: Vec<(f64, bool)> = said.iter().copied().filter(|(chance, _)| is_in(*chance)).collect();
    let found = of.iter().filter(|(_, holds)| *holds).count();
    let sum: f64 = of.iter().map(|(chance, _)| chance).sum();
    (!of.is_empty()).then(|| ChanceBin {
        from,
        to,
        chunks: of.len(),
        said: sum / count(of.len()),
        found: ratio(found, of.len()),
    })
}

/// Counts the questions that are answered if the best chunk must have a chance.
fn risk(asked: &[(f64, bool)], least: f64) -> RiskPoint {
    let of = |has_answer: bool| {
        let all: Vec<f64> = asked.iter().filter(|(_, has)| *has == has_answer).map(|(chance, _)| *chance).collect();
        ratio(all.iter().filter(|chance| **chance >= least).count(), all.len())
    };
    RiskPoint { least, answered: of(true), mistaken: of(false) }
}

/// Returns the area under the curve of risk and coverage: questions are answered in the order of their chances, the risk is
/// the share of those so far that have no answer, and the area is its mean over all of them (Geifman and El-Yaniv 2017,
/// "Selective Classification for Deep Neural Networks"). Equal chances are answered together.
fn area(asked: &[(f64, bool)]) -> f64 {
    let (mut sum, mut seen, mut without) = (0.0, 0, 0);
    for equal in asked.chunk_by(|a, b| a.0.to_bits() == b.0.to_bits()) {
        seen += equal.len();
        without += equal.iter().filter(|(_, has_answer)| !has_answer).count();
        sum += ratio(without, seen) * count(equal.len());
    }
    sum / count(asked.len())
}

#[expect(clippy::cast_precision_loss, reason = "questions and chunks are far fewer than 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}
