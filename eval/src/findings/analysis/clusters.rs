//! Which questions resemble each other and are therefore drawn together.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::report::{QueryRecord, Report};
use crate::score::stats::ClusteredValues;

/// With fewer clusters, drawing clusters says less than drawing single questions.
const FEWEST: usize = 20;

/// The cluster of each question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters {
    numbers: Vec<usize>,
    count: usize,
    /// Number of places that contain the evidence, if there are too few of them to draw places.
    too_few: Option<usize>,
}

impl Clusters {
    /// Returns the clusters of a report's questions.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        Self::of_questions(report.queries.iter())
    }

    /// Returns the clusters of some questions of a report. With fewer than 20 clusters, each question becomes its
    /// own cluster. Questions that the documents do not answer are on their own, and do not count: nothing is found for
    /// them.
    pub fn of_questions<'r>(queries: impl Iterator<Item = &'r QueryRecord>) -> Self {
        // A question without a cluster number has no neighbours.
        let name = |(at, query): (usize, &'r QueryRecord)| match query.cluster {
            _ if query.unanswered => (2, at),
            Some(cluster) => (0, cluster),
            None => (1, at),
        };
        let named: Vec<(usize, usize)> = queries.enumerate().map(name).collect();
        let answered = || named.iter().filter(|(kind, _)| *kind < 2);
        let (questions, count) = (answered().count(), answered().collect::<BTreeSet<_>>().len());
        let mut known = BTreeMap::new();
        let numbers: Vec<usize> = named
            .iter()
            .map(|name| {
                let next = known.len();
                *known.entry(name).or_insert(next)
            })
            .collect();
        if count < FEWEST && count < questions {
            return Self { count: questions, numbers: (0..numbers.len()).collect(), too_few: Some(count) };
        }
        Self { numbers, count, too_few: None }
    }

    /// Groups the values of the questions by cluster. Questions without a value are left out.
    pub fn gather(&self, values: impl Iterator<Item = Option<f64>>) -> ClusteredValues {
        self.numbers.iter().zip(values).filter_map(|(&cluster, value)| Some((cluster, value?))).collect()
    }

    /// Returns the cluster of the question at a position.
    pub fn number(&self, question: usize) -> usize {
        self.numbers[question]
    }

    /// Returns the number of clusters.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no questions.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of places that contain the evidence, if there are too few of them for clusters.
    pub fn too_few(&self) -> Option<usize> {
        self.too_few
    }
}
