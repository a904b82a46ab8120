//! Whether two settings differ at all: the paired randomisation test, and Holm's correction.

use super::float;
use super::rng::SplitMix;

/// Differences whose sums are looked up together: 256 sums for each eight.
const GROUP: usize = 8;

/// Sums that differ by less than this share of the sum of all sizes are equal: only rounding parts them.
const ROUNDING: f64 = 1e-12;

/// Two-sided p-value of the paired randomisation test with the mean as its statistic (Fisher; Smucker, Allan &
/// Carterette 2007 compare it with other tests on retrieval runs and advise it). If two settings were alike, the
/// sign of each question's difference would be a coin's; p is the share of all ways to choose the signs of which
/// the mean is as far from 0 as that found.
///
/// Differences of 0 have no sign. If there are at most `permutations` ways for the other `m`, all 2^m are looked
/// at and p is exact; else so many are drawn, of which `b` are as far, and p is (b + 1) / (permutations + 1),
/// never 0 (Phipson & Smyth 2010). Without any difference p is 1.
#[must_use]
pub fn randomisation(differences: &[f64], permutations: usize, seed: u64) -> f64 {
    let signed: Vec<f64> = differences.iter().copied().filter(|&difference| difference != 0.0).collect();
    let sums = Sums::of(&signed);
    let all: f64 = signed.iter().map(|difference| difference.abs()).sum();
    let limit = signed.iter().sum::<f64>().abs() - ROUNDING * all;
    let is_as_far = |signs: &[u64]| sums.with(signs).abs() >= limit;
    let ways = u32::try_from(signed.len()).ok().and_then(|bits| 1_usize.checked_shl(bits));
    if let Some(ways) = ways.filter(|&ways| ways <= permutations.max(1)) {
        let as_far = (0..ways).filter(|&way| is_as_far(&[way as u64])).count();
        return float(as_far) / float(ways);
    }
    let mut signs = vec![0; signed.len().div_ceil(64)];
    let as_far = (0..permutations)
        .filter(|&permutation| {
            let mut draws = SplitMix::stream(!seed, permutation);
            signs.fill_with(|| draws.next());
            is_as_far(&signs)
        })
        .count();
    float(as_far + 1) / float(permutations + 1)
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
