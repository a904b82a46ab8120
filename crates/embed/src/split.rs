//! Sorted texts, split by a budget of tokens.

/// Splits sorted texts into batches of at most `most` tokens (or one text), each of one length unless `mixed`.
pub(crate) fn split<T>(sorted: &[T], most: usize, mixed: bool, len: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut tokens = 0;
    let together = |before: &T, next: &T| {
        if tokens == 0 {
            tokens = len(before);
        }
        tokens += len(next);
        let fits = tokens <= most && (mixed || len(before) == len(next));
        if !fits {
            tokens = 0;
        }
        fits
    };
    sorted.chunk_by(together).collect()
}
