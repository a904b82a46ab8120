//! Whether settings differ at all: the paired randomisation test, and corrections for making many of them.

use rayon::prelude::*;

use super::float;
use super::rng::SplitMix;

/// Differences whose sums are looked up together: 256 sums for each eight.
const GROUP: usize = 8;

/// Sums that differ by less than this share of the sum of all sizes are equal: only rounding parts them.
const ROUNDING: f64 = 1e-12;

/// Two-sided p-value of the paired randomisation test with the mean as its statistic (Fisher; Smucker, Allan &
/// Carterette 2007 compare it with other tests on retrieval runs and advise it). If two settings were alike, the
/// sign of each question's difference would be a coin's; p is the share of all ways to choose the signs of which
/// the mean is as far from 0 as that found. A cluster of questions has one sign: what is given is then its sum.
///
/// Differences of 0 have no sign. If there are at most `permutations` ways for the other `m`, all 2^m are looked
/// at and p is exact; else so many are drawn, of which `b` are as far, and p is (b + 1) / (permutations + 1),
/// never 0 (Phipson & Smyth 2010). Without any difference p is 1.
#[must_use]
pub fn randomisation(differences: &[f64], permutations: usize, seed: u64) -> f64 {
    max_t(&[differences], permutations, seed).first().map_or(1.0, |found| found.p)
}

/// What a permutation test says of one of several comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Of this comparison alone: [`randomisation`].
    pub p: f64,
    /// That any of the comparisons would be as far out, if in none of them anything differed.
    pub p_max: f64,
}

/// The randomisation test of several comparisons over the same questions, with the single-step `MaxT` correction
/// (Westfall & Young 1993, "Resampling-based multiple testing", §2; Dudoit, Shaffer & Boldrick 2003). All comparisons get the
/// same signs, so what they have in common stays: settings that answer alike count as little more than one, where
/// [`holm`] takes all as if they were strangers. A comparison's statistic is |Σd| / √Σd², which grows with Student's t and
/// makes comparisons of different spread alike; `p_max` is the share of signs for which the largest of all statistics is as
/// large as its own. Whoever believes those below 0.05 is wrong about any of them in at most 5 % of cases.
///
/// A row is a difference for each question, or the sum of each cluster's; rows may be of different length. Ways to choose
/// signs are counted as in [`randomisation`], over the questions that differ in any row.
#[must_use]
pub fn max_t(rows: &[&[f64]], permutations: usize, seed: u64) -> Vec<Found> {
    let length = rows.iter().map(|row| row.len()).max().unwrap_or_default();
    let value = |row: &[f64], at: usize| row.get(at).copied().unwrap_or_default();
    let differing: Vec<usize> = (0..length).filter(|&at| rows.iter().any(|row| value(row, at) != 0.0)).collect();
    let signs = Signs::new(differing.len(), permutations, seed);
    // A block of rows has one list of the highest statistics; the larger of two does not depend on their order.
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
        Found { p: signs.share(as_far), p_max: if found > 0.0 { signs.share(beyond) } else { 1.0 } }
    };
    looked_at.into_iter().flat_map(|(statistics, _)| statistics).map(found).collect()
}

/// The ways to choose signs that are looked at.
struct Signs {
    /// So many ways.
    ways: usize,
    /// Bits of each way, one after the other.
    bits: Vec<u64>,
    /// Words of bits for each.
    words: usize,
    /// Whether these are all there are.
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

    /// A number of ways as a p-value.
    fn share(&self, ways: usize) -> f64 {
        if self.all { float(ways) / float(self.ways) } else { float(ways + 1) / float(self.ways + 1) }
    }
}

/// A comparison that was looked at.
struct Statistic {
    /// Ways to choose signs of which the sum is as far from 0 as that found.
    as_far: usize,
    /// The statistic found; 0 if it says nothing.
    found: f64,
}

impl Statistic {
    /// Raises the highest statistic of each way to its own.
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

/// The sums of each eight differences for all 256 ways to choose their signs, so that a permutation costs one
/// look for eight questions.
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

    /// The sum of all differences; a bit that is set turns a sign round.
    fn with(&self, signs: &[u64]) -> f64 {
        let groups = signs.iter().flat_map(|word| word.to_le_bytes());
        self.0.iter().zip(groups).map(|(table, signs)| table[usize::from(signs)]).sum()
    }
}

/// p-values corrected for being many (Holm 1979, "A simple sequentially rejective multiple test procedure"): the
/// smallest of n is multiplied by n, the next by n − 1 and so on; none may be smaller than one before it, nor
/// over 1. Whoever believes all those below 0.05 is wrong about any of them in at most 5 % of cases, however the
/// comparisons depend on each other.
#[must_use]
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
