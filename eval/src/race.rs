//! Settings that are surely worse after a part of the questions are not asked the others.
//!
//! Successive halving (Karnin, Koren & Somekh 2013; Jamieson & Talwalkar 2016) drops half of what is tried at each stage, whatever it
//! is worth. Here a stage drops only what is significantly worse than the best that was finished, as Hoeffding races do
//! (Maron & Moore 1994), so what is left is compared as if nothing had been dropped.

use crate::record::{Answer, Dropped};
use crate::score::{Chunks, Judge, ScoringOptions, value};
use crate::stats::{Clustered, mean, student_quantile};

/// Shares of the questions after which settings are dropped.
const STAGES: [f64; 2] = [0.25, 0.5];

/// Probability that the best of all is dropped, at most.
const RISK: f64 = 0.05;

/// With fewer clusters nothing is sure.
const FEWEST: usize = 20;

/// A race of settings.
#[derive(Debug)]
pub struct Race<'a> {
    judge: &'a Judge,
    options: &'a ScoringOptions,
    metric: String,
    clusters: Vec<usize>,
    /// Probability with which a setting may be dropped that is no worse, each time it is looked at.
    alpha: f64,
    leader: Option<Leader>,
}

/// The best of those that were asked all questions.
#[derive(Debug)]
struct Leader {
    id: String,
    mean: f64,
    values: Vec<Option<f64>>,
}

impl<'a> Race<'a> {
    /// A race of so many cells.
    #[must_use]
    pub fn new(judge: &'a Judge, options: &'a ScoringOptions, cells: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "cells are far fewer than 2^52")]
        let looks = (STAGES.len() * cells.max(1)) as f64;
        let metric = options.primary_for(judge);
        Self { judge, options, metric, clusters: judge.clusters(), alpha: RISK / looks, leader: None }
    }

    /// By what answers are judged.
    #[must_use]
    pub fn judge(&self) -> &'a Judge {
        self.judge
    }

    /// Positions in the set of the questions of each stage, `queries` in all. Clusters are kept together, and come in an
    /// order that the seed decides; a question that cannot be scored is asked last.
    #[must_use]
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

    /// What answers are worth by the metric that decides, question by question of the judge; `None` of those that were not
    /// asked.
    #[must_use]
    pub fn values(&self, chunks: &Chunks, answers: &[Option<Answer>], k: usize) -> Vec<Option<f64>> {
        value(self.judge, chunks, answers, k, self.options, &self.metric)
    }

    /// Which of some settings, by their values so far, are surely worse than the best that was asked all questions, or than
    /// the best of themselves.
    #[must_use]
    pub fn lagging(&self, running: &[(&str, Vec<Option<f64>>)]) -> Vec<Option<Dropped>> {
        let best = running.iter().map(|(id, values)| Leader::new(id, values.clone()));
        let best = best.flatten().reduce(|best, next| if next.mean > best.mean { next } else { best });
        let leaders: Vec<&Leader> = self.leader.iter().chain(&best).collect();
        let lags = |(_, values): &(&str, Vec<Option<f64>>)| leaders.iter().find_map(|leader| self.lags(values, leader));
        running.iter().map(lags).collect()
    }

    /// Whether a setting is surely worse than another, by the questions that both were asked. Whichever is the best of all: it
    /// is compared with each other cell at each stage at most, so the probabilities of [`Race::alpha`] sum to [`RISK`].
    fn lags(&self, values: &[Option<f64>], leader: &Leader) -> Option<Dropped> {
        let both = values.iter().zip(&leader.values).zip(&self.clusters);
        let both = || both.clone().filter_map(|((own, other), &cluster)| Some((cluster, (*own)?, (*other)?)));
        let differences: Clustered = both().map(|(cluster, own, other)| (cluster, own - other)).collect();
        let clusters = differences.clusters();
        if clusters < FEWEST {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "clusters are far fewer than 2^52")]
        let reach = -student_quantile(self.alpha, (clusters - 1) as f64) * differences.standard_error();
        let own: Clustered = both().map(|(cluster, own, _)| (cluster, own)).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of questions")]
        let questions = differences.len() as usize;
        (differences.mean() + reach < 0.0).then(|| Dropped {
            questions,
            mean: own.mean(),
            better: leader.id.clone(),
            difference: differences.mean(),
        })
    }

    /// A setting was asked all questions: it leads from now on if it is the best so far.
    pub fn finish(&mut self, id: &str, values: Vec<Option<f64>>) {
        let Some(next) = Leader::new(id, values) else { return };
        if self.leader.as_ref().is_none_or(|leader| next.mean > leader.mean) {
            self.leader = Some(next);
        }
    }
}

impl Leader {
    /// `None` without a value.
    fn new(id: &str, values: Vec<Option<f64>>) -> Option<Self> {
        let all: Vec<f64> = values.iter().flatten().copied().collect();
        (!all.is_empty()).then(|| Self { id: id.to_owned(), mean: mean(&all), values })
    }
}
