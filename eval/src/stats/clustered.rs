//! Values of questions that resemble each other, and are therefore drawn together.

use super::float;

/// Values by cluster: their sums and numbers. What is drawn is a cluster with all its values, so that questions about
/// one place count as one piece of evidence as far as they say the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Clustered {
    sums: Vec<f64>,
    counts: Vec<f64>,
}

impl FromIterator<(usize, f64)> for Clustered {
    /// From values with the numbers of their clusters.
    fn from_iter<I: IntoIterator<Item = (usize, f64)>>(values: I) -> Self {
        let mut clustered = Self::default();
        for (cluster, value) in values {
            if clustered.sums.len() <= cluster {
                clustered.sums.resize(cluster + 1, 0.0);
                clustered.counts.resize(cluster + 1, 0.0);
            }
            clustered.sums[cluster] += value;
            clustered.counts[cluster] += 1.0;
        }
        clustered
    }
}

impl Clustered {
    /// Values that are each a cluster of their own.
    #[must_use]
    pub fn alone(values: &[f64]) -> Self {
        Self { sums: values.to_vec(), counts: vec![1.0; values.len()] }
    }

    /// The sum of each cluster's values, by its number.
    #[must_use]
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// How many values each cluster has, by its number.
    #[must_use]
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// How many clusters have a value.
    #[must_use]
    pub fn clusters(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0.0).count()
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|&count| count == 0.0)
    }

    /// Arithmetic mean of all values; 0 of none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let count = self.len();
        if count > 0.0 { self.sums.iter().sum::<f64>() / count } else { 0.0 }
    }

    /// Standard error of the mean: √(G / (G − 1) · Σ(s − n·mean)²) / N over G clusters with sums s, numbers n and N
    /// values in all (Cochran 1977, "Sampling techniques", §9A.2, a ratio of clusters' totals). Values that are each a cluster
    /// have their sample deviation over √N. 0 of fewer than two clusters.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        let clusters = self.clusters();
        if clusters < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.sums.iter().zip(&self.counts).map(|(sum, count)| (sum - count * mean).powi(2)).sum();
        (float(clusters) / float(clusters - 1) * squares).sqrt() / self.len()
    }

    /// The clusters that have a value: sums and numbers.
    pub(super) fn filled(&self) -> (Vec<f64>, Vec<f64>) {
        let pairs = self.sums.iter().zip(&self.counts).filter(|(_, count)| **count > 0.0);
        pairs.map(|(sum, count)| (*sum, *count)).unzip()
    }
}
