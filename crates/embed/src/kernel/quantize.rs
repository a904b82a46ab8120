//! Weights as bytes.

use super::factors::SMALLEST;

/// Quantizes weights to signed bytes and returns their scale and the sum of the bytes.
///
/// Tries a few scales around the one that fits the largest weight and picks the one with the smallest squared
/// error: clipping a large weight often pays off.
pub(super) fn quantize(row: &[f32], saturates: bool, words: &mut [u32]) -> (f32, i32) {
    const SHARES: [f32; 9] = [1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6];
    // Larger than the largest weight needs, for when pairs would be clipped; with the last one, none is.
    const MORE: [f32; 7] = [1.1, 1.2, 1.3, 1.45, 1.6, 1.8, 127.0 / 64.0];
    let shares = SHARES.into_iter().chain(MORE.into_iter().filter(|_| saturates));
    let greatest = row.iter().fold(SMALLEST, |max, x| max.max(x.abs()));
    let error = |scale: f32| {
        let bytes = row.chunks(2).flat_map(|pair| bytes(pair, 1.0 / scale, saturates));
        bytes.zip(row).map(|(byte, x)| f64::from(byte * scale - x).powi(2)).sum::<f64>()
    };
    let scales = shares.map(|share| share * greatest / 127.0);
    let errors = scales.map(|scale| (scale, error(scale)));
    let (scale, _) = errors.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((greatest / 127.0, 0.0));
    let mut sum = 0;
    words.fill(0);
    for (word, four) in words.iter_mut().zip(row.chunks(4)) {
        let mut held = [0; 4];
        let bytes = four.chunks(2).flat_map(|pair| bytes(pair, 1.0 / scale, saturates));
        for (to, byte) in held.iter_mut().zip(bytes) {
            #[expect(clippy::cast_possible_truncation, reason = "whole, and within a byte")]
            let whole = byte as i8;
            sum += i32::from(whole);
            *to = whole.cast_unsigned();
        }
        *word = u32::from_le_bytes(held);
    }
    (scale, sum)
}

/// Rounds two weights to integers from -127 to 127. If products of two bytes are summed in 16 bits, their sum is
/// limited so even the greatest unsigned bytes do not overflow.
fn bytes(pair: &[f32], inverse: f32, saturates: bool) -> [f32; 2] {
    /// `i16::MAX / 255`, rounded down.
    const MOST: f32 = 128.0;
    let byte = |x: &f32| (x * inverse).round_ties_even().clamp(-127.0, 127.0);
    let [first, second] = [0, 1].map(|at| pair.get(at).map_or(0.0, byte));
    let excess = if saturates { ((first + second).abs() - MOST).max(0.0) } else { 0.0 };
    // Only two weights of the same sign can exceed the limit, so neither changes its sign.
    let half = (excess / 2.0).floor();
    let less = |x: f32, by: f32| x - by.copysign(x);
    if first.abs() > second.abs() {
        [less(first, excess - half), less(second, half)]
    } else {
        [less(first, half), less(second, excess - half)]
    }
}
