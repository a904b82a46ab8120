//! Drops settings that are significantly worse after part of the questions, instead of asking them the rest.
//!
//! Successive halving (Karnin, Koren & Somekh 2013; Jamieson & Talwalkar 2016) drops half of the candidates at each
//! stage, however good they are. Here, a stage drops only settings that are significantly worse than the best so
//! far, as Hoeffding races do (Maron & Moore 1994), so the rest is compared as if nothing had been dropped.

use crate::data::record::{Answer, Elimination};
use crate::score::judge::{Chunks, Judge, ScoringOptions, value};
use crate::score::stats::{ClusteredValues, mean, student_quantile};

/// Shares of the questions after which settings are dropped.
const STAGES: [f64; 2] = [0.25, 0.5];

/// Upper bound on the probability that the best setting is dropped.
const RISK: f64 = 0.05;

/// Number of clusters below which nothing is dropped.
const FEWEST: usize = 20;

/// A race of settings.
#[derive(Debug)]
pub struct Race<'a> {
    judge: &'a Judge,
    options: &'a ScoringOptions,
    metric: String,
    clusters: Vec<usize>,
    /// Allowed probability of dropping a setting that is not worse, at each comparison.
    alpha: f64,
    leader: Option<Leader>,
}

/// The best of the settings that were asked all questions.
#[derive(Debug)]
struct Leader {
    id: String,
    mean: f64,
    values: Vec<Option<f64>>,
}

impl<'a> Race<'a> {
    /// Creates a race of `cells` cells.
    #[must_use]
    pub fn new(judge: &'a Judge, options: &'a ScoringOptions, cells: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "cells are far fewer than 2^52")]
        let looks = (STAGES.len() * cells.max(1)) as f64;
        let metric = options.primary_for(judge);
        Self { judge, options, metric, clusters: judge.clusters(), alpha: RISK / looks, leader: None }
    }

    /// Returns the judge of the answers.
    pub fn judge(&self) -> &'a Judge {
        self.judge
    }

    /// Returns the questions of each stage, as positions in the set of `queries` questions. Clusters are kept
    /// together, in an order that depends on the seed. Questions that cannot be scored are asked last.
    pub fn stages(&self, queries: usize) -> Vec<Vec<usize>> {
        let order = |cluster: usize| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&self.options.seed.to_le_bytes()).update(&cluster.to_le_bytes());
            *hasher.finalize().as_bytes()
        };
        let mut scored: Vec<(usize, usize)> = self.judge.queries().zip(self.clusters.iter().copied()).collect();
        scored.sort_by_cached_key(|&(query, cluster)| (order(cluster), query));
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share"
        )]
        let wanted = |share: f64| (share * scored.len() as f64).ceil() as usize;
        let mut stages = Vec::new();
        let mut rest = scored.as_slice();
        for share in STAGES {
            let mut end = wanted(share).saturating_sub(scored.len() - rest.len());
            while end > 0 && end < rest.len() && rest[end].1 == rest[end - 1].1 {
                end += 1;
            }
            let (stage, others) = rest.split_at(end.min(rest.len()));
            stages.push(stage.iter().map(|&(query, _)| query).collect());
            rest = others;
        }
        let mut last: Vec<usize> = rest.iter().map(|&(query, _)| query).collect();
        let known: Vec<usize> = scored.iter().map(|&(query, _)| query).collect();
        last.extend((0..queries).filter(|query| !known.contains(query)));
        stages.push(last);
        stages.retain(|stage: &Vec<usize>| !stage.is_empty());
        stages
    }

    /// Returns the values of answers by the primary metric, one per question of the judge; `None` for questions
    /// that were not asked.
    pub fn values(&self, chunks: &Chunks, answers: &[Option<Answer>], k: usize) -> Vec<Option<f64>> {
        value(self.judge, chunks, answers, k, self.options, &self.metric)
    }

    /// Returns, for each running setting, whether its values so far are significantly worse than those of the best
    /// finished setting or of the best running one.
    pub fn lagging(&self, running: &[(&str, Vec<Option<f64>>)]) -> Vec<Option<Elimination>> {
        let best = running.iter().map(|(id, values)| Leader::new(id, values.clone()));
        let best = best.flatten().reduce(|best, next| if next.mean > best.mean { next } else { best });
        let leaders: Vec<&Leader> = self.leader.iter().chain(&best).collect();
        let lags = |(_, values): &(&str, Vec<Option<f64>>)| leaders.iter().find_map(|leader| self.lags(values, leader));
        running.iter().map(lags).collect()
    }

    /// Returns whether a setting is significantly worse than another, by the questions that both were asked.
    /// Whichever setting is truly the best, it is compared with each other cell at most once per stage, so the
    /// probabilities of [`Race::alpha`] sum to [`RISK`].
    fn lags(&self, values: &[Option<f64>], leader: &Leader) -> Option<Elimination> {
        let both = values.iter().zip(&leader.values).zip(&self.clusters);
        let both = || both.clone().filter_map(|((own, other), &cluster)| Some((cluster, (*own)?, (*other)?)));
        let differences: ClusteredValues = both().map(|(cluster, own, other)| (cluster, own - other)).collect();
        let clusters = differences.clusters();
        if clusters < FEWEST {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "clusters are far fewer than 2^52")]
        let reach = -student_quantile(self.alpha, (clusters - 1) as f64) * differences.standard_error();
        let own: ClusteredValues = both().map(|(cluster, own, _)| (cluster, own)).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of questions")]
        let questions = differences.len() as usize;
        (differences.mean() + reach < 0.0).then(|| Elimination {
            questions,
            mean: own.mean(),
            better: leader.id.clone(),
            difference: differences.mean(),
        })
    }

    /// Records a setting that was asked all questions. It becomes the leader if it is the best so far.
    pub fn finish(&mut self, id: &str, values: Vec<Option<f64>>) {
        let Some(next) = Leader::new(id, values) else { return };
        if self.leader.as_ref().is_none_or(|leader| next.mean > leader.mean) {
            self.leader = Some(next);
        }
    }
}

impl Leader {
    /// Returns `None` if there are no values.
    fn new(id: &str, values: Vec<Option<f64>>) -> Option<Self> {
        let all: Vec<f64> = values.iter().flatten().copied().collect();
        (!all.is_empty()).then(|| Self { id: id.to_owned(), mean: mean(&all), values })
    }
}
