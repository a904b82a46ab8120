//! Sorted texts, split by a budget of tokens.

/// The most that a batch may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub(crate) tokens: usize,
    pub(crate) texts: usize,
}

/// Splits sorted texts into batches of at most so many tokens (or one text) and texts, each of one length unless `mixed`.
pub(crate) fn split<T>(sorted: &[T], most: Most, mixed: bool, len: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let (mut tokens, mut texts) = (0, 1);
    let together = |before: &T, next: &T| {
        if texts == 1 {
            tokens = len(before);
        }
        tokens += len(next);
        texts += 1;
        let fits = tokens <= most.tokens && texts <= most.texts && (mixed || len(before) == len(next));
        if !fits {
            texts = 1;
        }
        fits
    };
    sorted.chunk_by(together).collect()
}

/// The narrowest step between the widths of two buckets: what the products of a GPU like best.
const STEP: usize = 8;

/// Number of tokens from which the memory for attention counts: it grows with the square of the width.
const SQUARE: usize = 2048;

/// Returns the width that a text is padded to: its length rounded up to one of eight steps between two powers of two, at
/// most `most`. From 64 tokens on, less than an eighth of the width is padding.
pub(crate) fn bucket(len: usize, most: usize) -> usize {
    let step = (len.checked_ilog2().map_or(0, |log| 1_usize << log) / 8).max(STEP);
    len.next_multiple_of(step).min(most).max(len)
}

/// Splits texts, sorted by length, into batches of one width. The widths of a batch add up to at most `budget`, where
/// wide texts count more, or it is one text.
pub(crate) fn pack<T>(sorted: &[T], budget: usize, width: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let alike = sorted.chunk_by(|a, b| width(a) == width(b));
    let batches = alike.flat_map(|texts| {
        let width = width(&texts[0]);
        let cost = width.max(width * width / SQUARE).max(1);
        texts.chunks((budget / cost).max(1))
    });
    batches.collect()
}

#[cfg(test)]
mod tests {
    use super::{Most, bucket, pack, split};

    #[test]
    fn a_bucket_is_wide_enough_and_less_than_an_eighth_of_it_is_padding() {
        let mut widths = std::collections::BTreeSet::new();
        let mut before = 0;
        for len in 1..=8192 {
            let width = bucket(len, 8192);
            assert!(width >= len && width >= before && width.is_multiple_of(8), "{len}: {width}");
            assert!(len < 64 || (width - len) * 8 < width, "{len}: {width}");
            assert_eq!(bucket(width, 8192), width, "a full bucket has no padding");
            widths.insert(width);
            before = width;
        }
        assert_eq!(widths.len(), 8 * 8, "eight to 64 tokens, and eight for each doubling");
        assert_eq!(
            [1, 9, 64, 65, 127, 128, 129, 513].map(|len| bucket(len, 8192)),
            [8, 16, 64, 72, 128, 128, 144, 576]
        );
        assert_eq!([bucket(250, 254), bucket(254, 254), bucket(0, 254)], [254, 254, 0], "not above the model's limit");
        assert_eq!(bucket(300, 254), 300, "a text is never cut");
    }

    #[test]
    fn a_batch_keeps_its_limits_of_tokens_and_texts() {
        let lengths: Vec<usize> = (0..400).rev().collect();
        for (tokens, texts) in [(1, 1), (1000, usize::MAX), (1000, 3), (usize::MAX, 7), (usize::MAX, usize::MAX)] {
            let batches = split(&lengths, Most { tokens, texts }, true, |&len| len);
            assert_eq!(batches.concat(), lengths, "every text once, in order");
            for pair in batches.windows(2) {
                let sum = pair[0].iter().sum::<usize>();
                assert!((sum <= tokens || pair[0].len() == 1) && pair[0].len() <= texts, "{pair:?}");
                assert!(sum + pair[1][0] > tokens || pair[0].len() == texts, "no batch is cut early: {pair:?}");
            }
        }
    }

    #[test]
    fn a_batch_has_one_width_and_keeps_its_budget() {
        let lengths: Vec<usize> = (1..=4000).rev().collect();
        for budget in [1, 500, 16_384] {
            let batches = pack(&lengths, budget, |&len| bucket(len, 8192));
            assert_eq!(batches.concat(), lengths, "every text once, in order");
            for batch in batches {
                let width = bucket(batch[0], 8192);
                assert!(batch.iter().all(|&len| bucket(len, 8192) == width));
                assert!(batch.len() == 1 || batch.len() * width <= budget, "{batch:?}");
            }
        }
        let wide = [8192; 5];
        assert_eq!(pack(&wide, 16_384, |&len| len).len(), 5, "attention over wide texts takes much memory");
        assert_eq!(pack(&[4096; 5], 16_384, |&len| len).len(), 3);
        assert!(pack(&[] as &[usize], 100, |&len| len).is_empty());
        assert_eq!(pack(&[0, 0], 100, |&len| len).len(), 1, "texts without tokens");
    }
}
