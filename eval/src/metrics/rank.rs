//! The order in which what is relevant comes: hit, recall, precision, MRR, MAP and nDCG at a cutoff.
//!
//! All are computed from a [`Ranking`], which knows for every result what it brings that no earlier
//! one brought. Chunks and documents differ only in how that is found out.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::ratio;
use super::spans::{Cover, Span};
use super::text::Target;

/// Which of two results with the same score comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The smaller id: how chunkmill's own search orders.
    SmallerFirst,
    /// The larger id: how `trec_eval` orders.
    LargerFirst,
}

/// Results by falling score, ties by id. Scores that are not numbers come last. `trec_eval` takes
/// scores as 32-bit numbers; here those that differ at all are no tie.
#[must_use]
pub fn ordered<I: Ord>(mut scored: Vec<(I, f64)>, ties: Ties) -> Vec<I> {
    let number = |score: f64| if score.is_nan() { f64::NEG_INFINITY } else { score + 0.0 };
    scored.sort_by(|(a, x), (b, y)| {
        let ids = if ties == Ties::SmallerFirst { a.cmp(b) } else { b.cmp(a) };
        (x.is_nan().cmp(&y.is_nan())).then(number(*y).total_cmp(&number(*x))).then(ids)
    });
    scored.into_iter().map(|(id, _)| id).collect()
}

/// When a piece of evidence counts as found. The share is one of its units and above 0; nothing is
/// found before at least one unit is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Coverage {
    /// One result holds this share of it.
    One(f64),
    /// The results up to here together hold this share of it. Evidence that a chunker cut in two
    /// then counts as found when both parts are there, as it would for a reader.
    Together(f64),
}

/// How a grade becomes a gain of nDCG.
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

/// A ranked list, seen through its judgements.
///
/// A target is something to find: a relevant document, or a piece of evidence. Each is found once,
/// by the first result that brings it. A result is relevant if it brings a target that none before
/// it has brought; one that only repeats what is known is not, so no value can be over 1, however
/// many chunks of one reference are retrieved. One result may bring several targets.
///
/// `k` counts results, and all are taken if there are fewer. With `k = 0` every value is 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ranking {
    /// For each result the grades of what it brings, falling.
    results: Vec<Vec<f64>>,
    /// The grades of all there is to find, falling.
    targets: Vec<f64>,
}

impl Ranking {
    /// Of ids against judgements. An id that comes again is passed over and takes no place: so the
    /// documents of ranked chunks are ranked by their best chunk. What is not judged, or not above
    /// 0, is not relevant.
    pub fn of_ids<I: Eq + Hash>(ranked: impl IntoIterator<Item = I>, judged: &HashMap<I, f64>) -> Self {
        let targets: Vec<(Vec<&I>, f64)> = judged.iter().map(|(id, &grade)| (vec![id], grade)).collect();
        let ranked: Vec<I> = ranked.into_iter().collect();
        Self::of_any(&ranked, &targets)
    }

    /// The same where each target is a list of ids, any of which will do.
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

    /// Of chunks against evidence, which is found with the first of its texts that is. A chunk that comes again keeps its
    /// place and brings nothing. Evidence without text is nothing to find.
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

    /// Whether a result up to `k` is relevant: 1 or 0. `success_k` of `trec_eval`, `hit_rate@k` of ranx.
    #[must_use]
    pub fn hit(&self, k: usize) -> f64 {
        if self.top(k).any(|brought| !brought.is_empty()) { 1.0 } else { 0.0 }
    }

    /// Targets found up to `k`, over all. `recall_k` of `trec_eval`, `recall@k` of ranx.
    #[must_use]
    pub fn recall(&self, k: usize) -> f64 {
        ratio(self.top(k).map(Vec::len).sum(), self.targets.len())
    }

    /// Relevant results up to `k`, over `k`, also where there are fewer results. `P_k` of
    /// `trec_eval`, `precision@k` of ranx.
    #[must_use]
    pub fn precision(&self, k: usize) -> f64 {
        ratio(self.top(k).filter(|brought| !brought.is_empty()).count(), k)
    }

    /// One over the rank of the first relevant result, 0 if it is beyond `k`. Its mean over
    /// questions is MRR@k. `recip_rank` of `trec_eval`, `mrr@k` of ranx.
    #[must_use]
    pub fn reciprocal_rank(&self, k: usize) -> f64 {
        self.top(k).position(|brought| !brought.is_empty()).map_or(0.0, |at| ratio(1, at + 1))
    }

    /// The precision at the rank of each target found up to `k`, summed, over the number of all
    /// targets: `Σ_t precision(rank(t)) / |targets|`. Its mean over questions is MAP@k.
    /// `map_cut_k` of `trec_eval`, `map@k` of ranx.
    #[must_use]
    pub fn average_precision(&self, k: usize) -> f64 {
        let (mut relevant, mut sum) = (0, 0.0);
        for (at, brought) in self.top(k).enumerate().filter(|(_, brought)| !brought.is_empty()) {
            relevant += 1;
            sum += ratio(relevant, at + 1) * ratio(brought.len(), 1);
        }
        if self.targets.is_empty() { 0.0 } else { sum / ratio(self.targets.len(), 1) }
    }

    /// Discounted cumulative gain over that of the best order: `Σ gain(i) / log2(i + 1)` over the
    /// places `i` from 1 to `k`, divided by the same sum for all targets by falling grade.
    ///
    /// A result that brings several targets fills as many places, best first, and one that brings
    /// none fills one: so the value is 1 exactly if nothing comes before the targets but better
    /// ones, however they are spread over chunks, and the best order does not depend on the chunker.
    ///
    /// Source: Järvelin and Kekäläinen 2002, or Burges et al. 2005 ([`Gain`]). With at most one
    /// target per result, `ndcg_cut_k` of `trec_eval` and `ndcg@k` of ranx.
    #[must_use]
    pub fn ndcg(&self, k: usize, gain: Gain) -> f64 {
        let places = self.results.iter().flat_map(|brought| if brought.is_empty() { &[0.0] } else { &brought[..] });
        let best = discounted(self.targets.iter(), k, gain);
        if best > 0.0 { discounted(places, k, gain) / best } else { 0.0 }
    }

    fn top(&self, k: usize) -> impl Iterator<Item = &Vec<f64>> {
        self.results.iter().take(k)
    }
}

/// The grades that are above 0, largest first.
fn falling(grades: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut grades: Vec<f64> = grades.into_iter().filter(|&grade| grade > 0.0).collect();
    grades.sort_by(|a, b| b.total_cmp(a));
    grades
}

fn discounted<'g>(grades: impl Iterator<Item = &'g f64>, k: usize, gain: Gain) -> f64 {
    let places = grades.take(k).enumerate();
    places.map(|(at, &grade)| gain.of(grade) / ratio(at + 2, 1).log2()).sum()
}

/// The position of the result with which a text is found.
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
