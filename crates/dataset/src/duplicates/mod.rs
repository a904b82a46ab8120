//! Finds documents that have nearly the same words as another.
//!
//! Of alike documents, the one that comes first by its id stays, and each of the others is a duplicate of one that stays.
//! So the result depends on the documents alone, not on their order or on how the work is divided, and no document is a
//! duplicate only by way of a third.
//!
//! There are three steps. Signatures propose pairs: documents that share a band of 8 values. How many values of two signatures
//! agree tells most of the pairs that are not alike: pages of one template share bands, and would be compared with thousands
//! of others. Then the runs of words of both are compared exactly. A document is compared with at most 256 others per band,
//! the first by id.

mod rule;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chunkmill_base::error::Result;
use chunkmill_text::similarity::{BANDS, SIGNATURE, Shingles, Signature};
use rayon::prelude::*;

pub use rule::{DropRule, LEAST_NEAR};

/// Largest number of documents that a document is compared with because they share a band.
const MOST: usize = 256;

/// How far the share of values that agree may be below the similarity, which it estimates: about four standard deviations.
const DOUBT: f64 = 0.15;

/// Bytes of documents whose runs of words are in memory at once.
const BATCH_BYTES: u64 = 64 << 20;

/// Jaccard similarity from which documents count as alike.
pub const NEAR: f64 = 0.8;

/// What is known of a document before its words are compared: some 300 bytes.
#[derive(Debug, Clone)]
pub struct Sketch {
    /// Id of the document.
    pub doc_id: String,
    /// Hash of the whole document.
    pub content: u128,
    /// Its signature; `None` if it has fewer words than a run.
    pub signature: Option<Box<ShortSignature>>,
    /// Size in bytes.
    pub bytes: u64,
}

/// A signature as far as documents are compared by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShortSignature {
    /// Hashes of its bands.
    bands: [u64; BANDS],
    /// The lowest byte of each value.
    values: [u8; SIGNATURE],
}

impl ShortSignature {
    /// Shortens a signature.
    pub fn new(signature: &Signature) -> Self {
        let band = |band| {
            let bytes: Vec<u8> = signature.band(band).iter().flat_map(|value| value.to_le_bytes()).collect();
            u64::from_le_bytes(blake3::hash(&bytes).as_bytes()[..8].try_into().unwrap_or_default())
        };
        Self { bands: std::array::from_fn(band), values: signature.0.map(|value| value.to_le_bytes()[0]) }
    }

    /// Returns the share of the values that agree, an estimate of the Jaccard similarity.
    fn agreement(&self, other: &Self) -> f64 {
        let agree: u8 = self.values.iter().zip(&other.values).map(|(a, b)| u8::from(a == b)).sum();
        f64::from(agree) / f64::from(u8::try_from(SIGNATURE).unwrap_or(u8::MAX))
    }
}

/// The document that another is a duplicate of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Duplicate {
    /// Number of that document.
    pub of: usize,
    /// Share of the runs of both documents that both have.
    pub jaccard: f64,
    /// Share of the runs of the duplicate that the other document has.
    pub containment: f64,
}

impl Duplicate {
    fn same(of: usize) -> Self {
        Self { of, jaccard: 1.0, containment: 1.0 }
    }
}

/// Returns the first 16 bytes of a hash in hexadecimal.
pub(crate) fn short(hash: &str) -> u128 {
    hash.get(..32).and_then(|digits| u128::from_str_radix(digits, 16).ok()).unwrap_or_default()
}

/// Finds the duplicates among documents: for each, the one that it is a duplicate of. Of alike documents, the first in their
/// order stays. Documents with a Jaccard similarity of at least `near` are alike. `read` returns the runs of words of some
/// documents.
///
/// # Errors
/// Those of `read`.
pub fn find(
    documents: &[Sketch],
    near: f64,
    mut read: impl FnMut(&[usize]) -> Result<Vec<Shingles>>,
) -> Result<Vec<Option<Duplicate>>> {
    let first = first_of_same(documents);
    let candidates = candidates(documents, &first, near - DOUBT);
    let bytes = |number: &usize| documents[*number].bytes;
    let mut alike: BTreeMap<usize, Vec<Duplicate>> = BTreeMap::new();
    let mut compare = |later: &[usize], earlier: &[usize], runs: &HashMap<usize, Shingles>| {
        let known: BTreeSet<usize> = earlier.iter().copied().collect();
        let compared = later.par_iter().map(|later| {
            let own = &runs[later];
            let pair = |&of: &usize| {
                let other = &runs[&of];
                let jaccard = own.jaccard(other);
                // Most candidates are not alike.
                (jaccard >= near).then(|| Duplicate { of, jaccard, containment: own.contained_in(other) })
            };
            let pairs = candidates[later].iter().filter(|of| known.contains(of));
            (*later, pairs.filter_map(pair).collect::<Vec<_>>())
        });
        for (later, pairs) in compared.collect::<Vec<_>>() {
            alike.entry(later).or_default().extend(pairs);
        }
    };
    let all: Vec<usize> = candidates.keys().copied().collect();
    let mut rest = &all[..];
    while !rest.is_empty() {
        // As many documents as may be in memory together with those that they are compared with.
        let (mut needed, mut size, mut count) = (BTreeSet::new(), 0, 0);
        for later in rest {
            let new: Vec<usize> =
                candidates[later].iter().chain([later]).filter(|number| !needed.contains(*number)).copied().collect();
            size += new.iter().map(bytes).sum::<u64>();
            if count > 0 && size > BATCH_BYTES {
                break;
            }
            needed.extend(new);
            count += 1;
        }
        let (later, others) = rest.split_at(count);
        rest = others;
        let needed: Vec<usize> = needed.into_iter().collect();
        // A single document may be like many large ones.
        for part in blocks(&needed, bytes) {
            let mut wanted = part.to_vec();
            wanted.extend(later.iter().filter(|number| part.binary_search(number).is_err()));
            let runs = read(&wanted)?;
            compare(later, part, &wanted.into_iter().zip(runs).collect());
        }
    }
    let mut found: Vec<Option<Duplicate>> = vec![None; documents.len()];
    for document in 0..documents.len() {
        let original = first[document];
        let own = alike.get(&original).into_iter().flatten().copied();
        let options = own.chain((original != document).then(|| Duplicate::same(original)));
        found[document] = options.filter(|pair| found[pair.of].is_none()).min_by_key(|pair| pair.of);
    }
    Ok(found)
}

/// Divides documents into blocks that are about as large as they may be.
fn blocks(numbers: &[usize], bytes: impl Fn(&usize) -> u64) -> Vec<&[usize]> {
    let mut size = 0;
    let mut blocks = Vec::new();
    let mut start = 0;
    for (at, number) in numbers.iter().enumerate() {
        size += bytes(number);
        if size > BATCH_BYTES && at > start {
            blocks.push(&numbers[start..at]);
            (start, size) = (at, bytes(number));
        }
    }
    blocks.push(&numbers[start..]);
    blocks
}

/// Returns, for each document, the first one with the same content and the same signature.
fn first_of_same(documents: &[Sketch]) -> Vec<usize> {
    let mut known = HashMap::new();
    let key = |sketch: &Sketch| (sketch.content, sketch.signature.as_ref().map(|signature| signature.bands));
    documents.iter().enumerate().map(|(number, sketch)| *known.entry(key(sketch)).or_insert(number)).collect()
}

/// Returns, for each document that is the first of its kind, the earlier ones of other kinds that share a band with it, and of
/// whose signatures at least this share agrees.
fn candidates(documents: &[Sketch], first: &[usize], least: f64) -> BTreeMap<usize, BTreeSet<usize>> {
    let signature = |number: usize| documents[number].signature.as_deref();
    let mut candidates: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for band in 0..BANDS {
        let of = (0..documents.len()).filter(|&number| first[number] == number);
        let mut values: Vec<(u64, usize)> =
            of.filter_map(|number| Some((signature(number)?.bands[band], number))).collect();
        values.par_sort_unstable();
        for shared in values.chunk_by(|a, b| a.0 == b.0) {
            for (position, &(_, later)) in shared.iter().enumerate().skip(1) {
                for &(_, earlier) in &shared[..position.min(MOST)] {
                    let agreement = signature(later).zip(signature(earlier)).map(|(a, b)| a.agreement(b));
                    if agreement.is_some_and(|agreement| agreement >= least) {
                        candidates.entry(later).or_default().insert(earlier);
                    }
                }
            }
        }
    }
    candidates
}

#[cfg(test)]
mod tests;
