//! Which questions resemble each other, and are drawn together.

use std::collections::BTreeMap;

use crate::report::{QueryRecord, Report};
use crate::stats::Clustered;

/// With fewer clusters, drawing them says less than taking each question for itself.
const FEWEST: usize = 20;

/// The cluster of each question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clusters {
    numbers: Vec<usize>,
    count: usize,
    /// In how many places the evidence is, if that is too few to draw places.
    too_few: Option<usize>,
}

impl Clusters {
    /// Of a report's questions.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        Self::of_questions(report.queries.iter())
    }

    /// Of some questions of a report. If they are of fewer than 20 clusters, each is its own.
    pub fn of_questions<'r>(queries: impl Iterator<Item = &'r QueryRecord>) -> Self {
        // A question without a number is no other's neighbour.
        let named: Vec<(usize, usize)> =
            queries.enumerate().map(|(at, query)| query.cluster.map_or((1, at), |cluster| (0, cluster))).collect();
        let mut known = BTreeMap::new();
        let numbers: Vec<usize> = named
            .iter()
            .map(|name| {
                let next = known.len();
                *known.entry(name).or_insert(next)
            })
            .collect();
        let count = known.len();
        if count < FEWEST && count < numbers.len() {
            return Self { count: numbers.len(), numbers: (0..numbers.len()).collect(), too_few: Some(count) };
        }
        Self { numbers, count, too_few: None }
    }

    /// Values of the questions by cluster; a question without a value is left out.
    pub fn gather(&self, values: impl Iterator<Item = Option<f64>>) -> Clustered {
        self.numbers.iter().zip(values).filter_map(|(&cluster, value)| Some((cluster, value?))).collect()
    }

    /// The cluster of the question at a position.
    #[must_use]
    pub fn number(&self, question: usize) -> usize {
        self.numbers[question]
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no question.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// In how many places the evidence is, if these are too few for clusters.
    #[must_use]
    pub fn too_few(&self) -> Option<usize> {
        self.too_few
    }
}
