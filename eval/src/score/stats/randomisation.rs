//! Whether settings differ at all: the paired randomisation test, and corrections for running many of them.

use rayon::prelude::*;

use super::mean::float;
use super::rng::SplitMix;

/// Number of differences whose sums are looked up together: 256 sums for each group of eight.
const GROUP: usize = 8;

/// Sums that differ by less than this share of the sum of absolute values are equal except for rounding.
const ROUNDING: f64 = 1e-12;

/// Returns the two-sided p-value of the paired randomisation test with the mean as its statistic (Fisher; Smucker,
/// Allan & Carterette 2007 compare it with other tests on retrieval runs and recommend it). If two settings were
/// alike, the sign of each question's difference would be that of a coin toss. p is the share of all choices of
/// signs whose mean is at least as far from 0 as the observed mean. A cluster of questions has one sign; its value
/// is then its sum.
///
/// Differences of 0 have no sign. If there are at most `permutations` choices for the other `m` differences, all
/// 2^m are evaluated and p is exact. Otherwise that many are drawn, of which `b` are as far from 0, and p is (b +
/// 1) / (permutations + 1), which is never 0 (Phipson & Smyth 2010). Without any difference, p is 1.
pub fn randomisation(differences: &[f64], permutations: usize, seed: u64) -> f64 {
    max_t(&[differences], permutations, seed).first().map_or(1.0, |found| found.p)
}

/// The result of a permutation test for one of several comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PermutationTest {
    /// The p-value of this comparison alone: [`randomisation`].
    pub p: f64,
    /// The probability that any of the comparisons would be as extreme if none of them had a real difference.
    pub p_max: f64,
}

/// Runs the randomisation test for several comparisons over the same questions, with the single-step `MaxT`
/// correction (Westfall & Young 1993, "Resampling-based multiple testing", §2; Dudoit, Shaffer & Boldrick 2003).
/// All comparisons get the same signs, which preserves what they have in common: settings that answer alike count
/// as little more than one, whereas [`holm`] treats all as unrelated. A comparison's statistic is |Σd| / √Σd²,
/// which grows with Student's t and makes comparisons of different spread comparable. `p_max` is the share of
/// signs for which the largest of all statistics is at least as large as its own. If all findings below 0.05 are
/// accepted, any of them is wrong in at most 5 % of cases.
///
/// A row contains a difference for each question, or a sum for each cluster; rows may differ in length. The
/// choices of signs are counted as in [`randomisation`], over the questions that differ in any row.
pub fn max_t(rows: &[&[f64]], permutations: usize, seed: u64) -> Vec<PermutationTest> {
    let length = rows.iter().map(|row| row.len()).max().unwrap_or_default();
    let value = |row: &[f64], at: usize| row.get(at).copied().unwrap_or_default();
    let differing: Vec<usize> = (0..length).filter(|&at| rows.iter().any(|row| value(row, at) != 0.0)).collect();
    let signs = Signs::new(differing.len(), permutations, seed);
    // Each block of rows has one list of its highest statistics. The maximum does not depend on the order of the
    // blocks.
    let block = rows.len().div_ceil(4 * rayon::current_num_threads()).max(1);
    let looked_at: Vec<(Vec<Statistic>, Vec<f64>)> = rows
        .par_chunks(block)
        .map(|block| {
            let mut highest = vec![0.0; signs.ways];
            let row = |row: &&[f64]| differing.iter().map(|&at| value(row, at)).collect::<Vec<_>>();
            (block.iter().map(|one| Statistic::of(&row(one), &signs, &mut highest)).collect(), highest)
        })
        .collect();
    let mut highest = vec![0.0_f64; signs.ways];
    for (_, of_block) in &looked_at {
        highest.iter_mut().zip(of_block).for_each(|(highest, other)| *highest = highest.max(*other));
    }
    highest.sort_unstable_by(f64::total_cmp);
    let found = |Statistic { as_far, found }: Statistic| {
        let beyond = signs.ways - highest.partition_point(|&highest| highest < found);
        PermutationTest { p: signs.share(as_far), p_max: if found > 0.0 { signs.share(beyond) } else { 1.0 } }
    };
    looked_at.into_iter().flat_map(|(statistics, _)| statistics).map(found).collect()
}

/// The choices of signs that are evaluated.
struct Signs {
    /// Number of choices.
    ways: usize,
    /// Bits of each choice, one after the other.
    bits: Vec<u64>,
    /// Number of 64-bit words per choice.
    words: usize,
    /// Whether these are all possible choices.
    all: bool,
}

impl Signs {
    fn new(questions: usize, permutations: usize, seed: u64) -> Self {
        let words = questions.div_ceil(64).max(1);
        let every = u32::try_from(questions).ok().and_then(|bits| 1_usize.checked_shl(bits));
        if let Some(ways) = every.filter(|&ways| ways <= permutations.max(1)) {
            return Self { ways, bits: (0..ways as u64).collect(), words, all: true };
        }
        let bits = (0..permutations).flat_map(|permutation| {
            let mut draws = SplitMix::stream(!seed, permutation);
            (0..words).map(move |_| draws.next())
        });
        Self { ways: permutations, bits: bits.collect(), words, all: false }
    }

    fn of(&self, way: usize) -> &[u64] {
        &self.bits[way * self.words..(way + 1) * self.words]
    }

    /// Converts a number of choices to a p-value.
    fn share(&self, ways: usize) -> f64 {
        if self.all { float(ways) / float(self.ways) } else { float(ways + 1) / float(self.ways + 1) }
    }
}

/// The statistic of one comparison.
struct Statistic {
    /// Number of choices of signs whose sum is at least as far from 0 as the observed sum.
    as_far: usize,
    /// The observed statistic; 0 if there are no differences.
    found: f64,
}

impl Statistic {
    /// Computes the statistic of some differences, and raises the highest statistic of each choice of signs to its
    /// own.
    fn of(differences: &[f64], signs: &Signs, highest: &mut [f64]) -> Self {
        let sums = Sums::of(differences);
        let all: f64 = differences.iter().map(|difference| difference.abs()).sum();
        let limit = differences.iter().sum::<f64>().abs() - ROUNDING * all;
        let squares: f64 = differences.iter().map(|difference| difference * difference).sum();
        let scale = if squares > 0.0 { 1.0 / squares.sqrt() } else { 0.0 };
        let mut as_far = 0;
        for (way, highest) in highest.iter_mut().enumerate() {
            let sum = sums.with(signs.of(way)).abs();
            as_far += usize::from(sum >= limit);
            *highest = highest.max(sum * scale);
        }
        Self { as_far, found: limit * scale }
    }
}

/// The sums of each group of eight differences for all 256 choices of their signs. A permutation then needs one
/// look-up for eight questions.
struct Sums(Vec<[f64; 1 << GROUP]>);

impl Sums {
    fn of(differences: &[f64]) -> Self {
        let table = |group: &[f64]| {
            std::array::from_fn(|signs| {
                group.iter().enumerate().map(|(bit, value)| if signs >> bit & 1 == 0 { *value } else { -value }).sum()
            })
        };
        Self(differences.chunks(GROUP).map(table).collect())
    }

    /// Returns the sum of all differences. A set bit reverses a sign.
    fn with(&self, signs: &[u64]) -> f64 {
        let groups = signs.iter().flat_map(|word| word.to_le_bytes());
        self.0.iter().zip(groups).map(|(table, signs)| table[usize::from(signs)]).sum()
    }
}

/// Corrects p-values for multiple comparisons (Holm 1979, "A simple sequentially rejective multiple test
/// procedure"). The smallest of n is multiplied by n, the next by n − 1 and so on; none may be smaller than the
/// one before it, nor exceed 1. If all findings below 0.05 are accepted, any of them is wrong in at most 5 % of
/// cases, however the comparisons depend on each other.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max(p[at] * float(p.len() - rank)).min(1.0);
        adjusted[at] = least;
    }
    adjusted
}
