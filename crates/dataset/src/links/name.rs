//! Names, which are stored as hashes.

/// Returns the hash of a name. Names are stored as hashes because these are short. With a million names, two hashes
/// are equal by chance in fewer than one in ten million corpora.
pub(super) fn hash(name: &str) -> u64 {
    let hash = blake3::hash(name.as_bytes());
    hash.as_bytes().iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}
