//! Values of questions that resemble each other and are therefore drawn together.

use super::mean::float;

/// Values by cluster: their sums and counts. A cluster is drawn with all its values, so questions about one place
/// count as one piece of evidence where they agree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClusteredValues {
    sums: Vec<f64>,
    counts: Vec<f64>,
}

impl FromIterator<(usize, f64)> for ClusteredValues {
    /// Groups values by the numbers of their clusters.
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

impl ClusteredValues {
    /// Makes each value a cluster of its own.
    #[must_use]
    pub fn alone(values: &[f64]) -> Self {
        Self { sums: values.to_vec(), counts: vec![1.0; values.len()] }
    }

    /// Returns the sum of each cluster's values, by its number.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Returns the number of values in each cluster, by its number.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Returns the number of clusters with a value.
    pub fn clusters(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0.0).count()
    }

    /// Returns the number of values.
    pub fn len(&self) -> f64 {
        self.counts.iter().sum()
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|&count| count == 0.0)
    }

    /// Returns the arithmetic mean of all values, or 0 without values.
    pub fn mean(&self) -> f64 {
        let count = self.len();
        if count > 0.0 { self.sums.iter().sum::<f64>() / count } else { 0.0 }
    }

    /// Returns the standard error of the mean, √(G / (G − 1) · Σ(s − n·mean)²) / N, over G clusters with sums s,
    /// counts n and N values in total (Cochran 1977, "Sampling techniques", §9A.2, a ratio of cluster totals). If
    /// every value is its own cluster, this is the sample deviation over √N. Returns 0 for fewer than two
    /// clusters.
    pub fn standard_error(&self) -> f64 {
        let clusters = self.clusters();
        if clusters < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.sums.iter().zip(&self.counts).map(|(sum, count)| (sum - count * mean).powi(2)).sum();
        (float(clusters) / float(clusters - 1) * squares).sqrt() / self.len()
    }

    /// Returns the sums and counts of the clusters with a value.
    pub(super) fn filled(&self) -> (Vec<f64>, Vec<f64>) {
        let pairs = self.sums.iter().zip(&self.counts).filter(|(_, count)| **count > 0.0);
        pairs.map(|(sum, count)| (*sum, *count)).unzip()
    }
}
