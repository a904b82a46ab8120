//! The order of relevant results: hit, recall, precision, MRR, MAP and nDCG at a cutoff.
//!
//! All are computed from a [`Ranking`], which stores what each result adds to earlier ones. Chunks and documents
//! differ only in how this is determined.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::ratio::ratio;
use super::text::Target;
use crate::data::spans::{Cover, Span};

/// The order of results with the same score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The smaller id comes first, as in chunkmill's own search.
    SmallerFirst,
    /// The larger id comes first, as in `trec_eval`.
    LargerFirst,
}

/// Sorts results by descending score and breaks ties by id. Scores that are not numbers come last. `trec_eval`
/// reads scores as 32-bit numbers; here, scores that differ at all are not a tie.
pub fn ordered<I: Ord>(mut scored: Vec<(I, f64)>, ties: Ties) -> Vec<I> {
    let number = |score: f64| if score.is_nan() { f64::NEG_INFINITY } else { score + 0.0 };
    scored.sort_by(|(a, x), (b, y)| {
        let ids = if ties == Ties::SmallerFirst { a.cmp(b) } else { b.cmp(a) };
        (x.is_nan().cmp(&y.is_nan())).then(number(*y).total_cmp(&number(*x))).then(ids)
    });
    scored.into_iter().map(|(id, _)| id).collect()
}

/// When a piece of evidence counts as found. The share refers to its units and is above 0. Nothing is found before
/// at least one unit is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coverage {
    /// A single result contains this share of it.
    One(f64),
    /// The results up to this rank together contain this share of it. Evidence that a chunker cut in two then
    /// counts as found when both parts are there, as it would for a reader.
    Together(f64),
}

/// How a grade is converted to a gain in nDCG.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gain {
    /// The grade itself (Järvelin and Kekäläinen 2002): `ndcg` of `trec_eval` and of ranx.
    Linear,
    /// `2^grade - 1` (Burges et al. 2005): `ndcg_burges` of ranx.
    Exponential,
}

impl Gain {
    fn of(self, grade: f64) -> f64 {
        match self {
            Self::Linear => grade,
            Self::Exponential => grade.exp2() - 1.0,
        }
    }
}

/// A ranked list combined with its judgements.
///
/// A target is something to find: a relevant document, or a piece of evidence. Each target is found once, by the
/// first result that completes it. A result is relevant if it finds a target that no earlier result found. A
/// result that only repeats earlier ones is not relevant, so no value can exceed 1, however many chunks of one
/// reference are retrieved. One result may find several targets.
///
/// `k` counts results; all of them are used if there are fewer. With `k = 0` every value is 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// For each result, the grades of the targets that it finds, in descending order.
    results: Vec<Vec<f64>>,
    /// The grades of all targets, in descending order.
    targets: Vec<f64>,
}

impl Ranking {
    /// Creates a ranking of ids against judgements. A repeated id is skipped and takes no rank, so the documents
    /// of ranked chunks are ranked by their best chunk. Ids that were not judged, or were judged 0 or less, are
    /// not relevant.
    pub fn of_ids<I: Eq + Hash>(ranked: impl IntoIterator<Item = I>, judged: &HashMap<I, f64>) -> Self {
        let targets: Vec<(Vec<&I>, f64)> = judged.iter().map(|(id, &grade)| (vec![id], grade)).collect();
        let ranked: Vec<I> = ranked.into_iter().collect();
        Self::of_any(&ranked, &targets)
    }

    /// Creates a ranking where each target is a list of ids, any one of which will do.
    pub fn of_any<I: Eq + Hash>(ranked: &[I], targets: &[(Vec<&I>, f64)]) -> Self {
        let mut of: HashMap<&I, Vec<usize>> = HashMap::new();
        for (at, (ids, _)) in targets.iter().enumerate().filter(|(_, (_, grade))| *grade > 0.0) {
            for &id in ids {
                of.entry(id).or_default().push(at);
            }
        }
        let (mut seen, mut found) = (HashSet::new(), HashSet::new());
        let results = ranked.iter().filter(|id| seen.insert(*id)).map(|id| {
            let brought = of.get(id).into_iter().flatten().filter(|&&at| found.insert(at));
            falling(brought.map(|&at| targets[at].1))
        });
        Self { results: results.collect(), targets: falling(targets.iter().map(|&(_, grade)| grade)) }
    }

    /// Creates a ranking of chunks against evidence. Evidence is found as soon as one of its alternative texts is.
    /// A repeated chunk keeps its rank and finds nothing. Evidence without text is not a target.
    #[must_use]
    pub fn of_chunks(chunks: &[Span], targets: &[Target], rule: Coverage) -> Self {
        let mut results: Vec<Vec<f64>> = vec![Vec::new(); chunks.len()];
        let counts = |target: &&Target| target.grade > 0.0 && target.any.iter().any(|text| text.size() > 0);
        for target in targets.iter().filter(counts) {
            if let Some(at) = target.any.iter().filter_map(|text| found_at(text, chunks, rule)).min() {
                results[at].push(target.grade);
            }
        }
        let results = results.into_iter().map(falling).collect();
        Self { results, targets: falling(targets.iter().filter(counts).map(|target| target.grade)) }
    }

    /// Returns 1 if a result up to `k` is relevant, else 0. `success_k` of `trec_eval`, `hit_rate@k` of ranx.
    pub fn hit(&self, k: usize) -> f64 {
        if self.top(k).any(|brought| !brought.is_empty()) { 1.0 } else { 0.0 }
    }

    /// Returns the share of the targets found up to `k`. `recall_k` of `trec_eval`, `recall@k` of ranx.
    pub fn recall(&self, k: usize) -> f64 {
        ratio(self.top(k).map(Vec::len).sum(), self.targets.len())
    }

    /// Returns the number of relevant results up to `k`, divided by `k` even if there are fewer results. `P_k` of
    /// `trec_eval`, `precision@k` of ranx.
    pub fn precision(&self, k: usize) -> f64 {
        ratio(self.top(k).filter(|brought| !brought.is_empty()).count(), k)
    }

    /// Returns one over the rank of the first relevant result, or 0 if it is beyond `k`. The mean over questions
    /// is MRR@k. `recip_rank` of `trec_eval`, `mrr@k` of ranx.
    pub fn reciprocal_rank(&self, k: usize) -> f64 {
        self.top(k).position(|brought| !brought.is_empty()).map_or(0.0, |at| ratio(1, at + 1))
    }

    /// Returns the sum of the precision at the rank of each target found up to `k`, divided by the number of all
    /// targets: `Σ_t precision(rank(t)) / |targets|`. The mean over questions is MAP@k. `map_cut_k` of
    /// `trec_eval`, `map@k` of ranx.
    pub fn average_precision(&self, k: usize) -> f64 {
        let (mut relevant, mut sum) = (0, 0.0);
        for (at, brought) in self.top(k).enumerate().filter(|(_, brought)| !brought.is_empty()) {
            relevant += 1;
            sum += ratio(relevant, at + 1) * ratio(brought.len(), 1);
        }
        if self.targets.is_empty() { 0.0 } else { sum / ratio(self.targets.len(), 1) }
    }

    /// Returns the discounted cumulative gain divided by that of the best order: `Σ gain(i) / log2(i + 1)` over
    /// the places `i` from 1 to `k`, divided by the same sum for all targets in descending order of grade.
    ///
    /// A result that finds several targets fills as many places, best first; one that finds none fills one place.
    /// The value is therefore 1 exactly if nothing but better targets precedes each target, however the targets
    /// are spread over chunks, and the best order does not depend on the chunker.
    ///
    /// Source: Järvelin and Kekäläinen 2002, or Burges et al. 2005 ([`Gain`]). With at most one
    /// target per result, `ndcg_cut_k` of `trec_eval` and `ndcg@k` of ranx.
    pub fn ndcg(&self, k: usize, gain: Gain) -> f64 {
        let places = self.results.iter().flat_map(|brought| if brought.is_empty() { &[0.0] } else { &brought[..] });
        let best = discounted(self.targets.iter(), k, gain);
        if best > 0.0 { discounted(places, k, gain) / best } else { 0.0 }
    }

    fn top(&self, k: usize) -> impl Iterator<Item = &Vec<f64>> {
        self.results.iter().take(k)
    }
}

/// Returns the grades above 0, largest first.
fn falling(grades: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut grades: Vec<f64> = grades.into_iter().filter(|&grade| grade > 0.0).collect();
    grades.sort_by(|a, b| b.total_cmp(a));
    grades
}

fn discounted<'g>(grades: impl Iterator<Item = &'g f64>, k: usize, gain: Gain) -> f64 {
    let places = grades.take(k).enumerate();
    places.map(|(at, &grade)| gain.of(grade) / ratio(at + 2, 1).log2()).sum()
}

/// Returns the position of the result with which a text is found.
fn found_at(text: &Cover, chunks: &[Span], rule: Coverage) -> Option<usize> {
    let size = text.size();
    let enough = |covered: usize, share: f64| covered > 0 && ratio(covered, size) >= share;
    match rule {
        Coverage::One(share) => chunks.iter().position(|chunk| enough(text.within(chunk), share)),
        Coverage::Together(share) => {
            let mut missing = text.clone();
            chunks.iter().position(|chunk| {
                missing.remove(chunk);
                enough(size - missing.size(), share)
            })
        }
    }
}
