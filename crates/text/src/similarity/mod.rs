//! How much of one text stands in another, whatever else is around it: mirrored pages, copies with a new date, versions of
//! a manual.
//!
//! A text is its set of [`Shingles`], all runs of five words. Two texts are alike by how many they share. To find the pairs
//! among many texts, each has a [`Signature`], of which alike texts share a part. A signature finds copies of words, not
//! texts that say the same in other words.

mod minhash;
mod random;
mod shingles;

pub use minhash::{BANDS, SIGNATURE, Signature};
pub use shingles::{SHINGLE_WORDS, Shingles};
