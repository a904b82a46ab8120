//! The kernels, generic over the instruction set and over how numbers are held.
//!
//! One register tile, [`tile`], computes every product: linear layers, scores, and the weighted sums
//! of values. It multiplies rows of words by a matrix of words; a word is one f32, two bf16 or four
//! bytes, and [`Product`] says what multiplying two words means. Everything else works on rows of f32.

use super::buffer::Scratch;
use super::simd::{Simd, bf16};
use super::{Attention, Input, Matrix, Operand, PAD, Then};

/// Rows of a register tile.
pub(super) const MR: usize = 6;

/// How the numbers of a product are held, and what a product of two words is.
pub(super) trait Product<S: Simd> {
    /// Numbers in a word.
    const GROUP: usize;
    /// What sums are kept in.
    type Sum: Copy;

    /// No sum yet.
    unsafe fn zero(s: S) -> Self::Sum;
    /// Adds the products of the numbers of words.
    unsafe fn dot(s: S, sum: Self::Sum, a: S::I, b: S::I) -> Self::Sum;
    /// Writes a sum.
    unsafe fn store(s: S, to: *mut u32, sum: Self::Sum);
    /// Reads a sum.
    unsafe fn load(s: S, from: *const u32) -> Self::Sum;
    /// Adds to `to`, or sets it to if `first`, the product of `MR` rows of `a` and a panel of `w` over one chunk
    /// of their depth, as floats: `MR` rows of a panel's width.
    unsafe fn product(s: S, a: &Operand, row: usize, w: &Matrix, panel: usize, chunk: usize, to: *mut f32);
    /// Holds a vector of floats at position `at` of a row of words.
    unsafe fn put(s: S, row: *mut u32, at: usize, x: S::F);
    /// Powers of two whose error is below what rounding to this kind of number costs.
    unsafe fn exp2(s: S, x: S::F) -> S::F;
    /// Holds a row of `width` floats as words.
    unsafe fn hold(s: S, from: *const f32, width: usize, to: *mut u32);
}

/// 32-bit floats.
pub(super) struct F32;
/// bfloat16, summed in f32.
pub(super) struct Bf16;
/// Bytes, summed in 32-bit integers.
pub(super) struct Bytes;

impl<S: Simd> Product<S> for F32 {
    const GROUP: usize = 1;
    type Sum = S::F;

    #[inline(always)]
    unsafe fn zero(s: S) -> S::F {
        unsafe { s.splat(0.0) }
    }
    #[inline(always)]
    unsafe fn dot(s: S, sum: S::F, a: S::I, b: S::I) -> S::F {
        unsafe { s.fma(s.as_floats(a), s.as_floats(b), sum) }
    }
    #[inline(always)]
    unsafe fn store(s: S, to: *mut u32, sum: S::F) {
        unsafe { s.store(to.cast(), sum) }
    }
    #[inline(always)]
    unsafe fn load(s: S, from: *const u32) -> S::F {
        unsafe { s.load(from.cast()) }
    }
    #[inline(always)]
    unsafe fn product(s: S, a: &Operand, row: usize, w: &Matrix, panel: usize, chunk: usize, to: *mut f32) {
        unsafe { floats::<S, Self>(s, a, row, w, panel, chunk, to) }
    }
    #[inline(always)]
    unsafe fn put(s: S, row: *mut u32, at: usize, x: S::F) {
        unsafe { s.store(row.add(at).cast(), x) }
    }
    #[inline(always)]
    unsafe fn exp2(s: S, x: S::F) -> S::F {
        unsafe { exp2(s, x) }
    }
    #[inline(always)]
    unsafe fn hold(_: S, from: *const f32, width: usize, to: *mut u32) {
        unsafe { to.cast::<f32>().copy_from_nonoverlapping(from, width) };
    }
}

impl<S: Simd> Product<S> for Bf16 {
    const GROUP: usize = 2;
    type Sum = S::F;

    #[inline(always)]
    unsafe fn zero(s: S) -> S::F {
        unsafe { s.splat(0.0) }
    }
    #[inline(always)]
    unsafe fn dot(s: S, sum: S::F, a: S::I, b: S::I) -> S::F {
        unsafe { s.dot_bf16(sum, a, b) }
    }
    #[inline(always)]
    unsafe fn store(s: S, to: *mut u32, sum: S::F) {
        unsafe { s.store(to.cast(), sum) }
    }
    #[inline(always)]
    unsafe fn load(s: S, from: *const u32) -> S::F {
        unsafe { s.load(from.cast()) }
    }
    #[inline(always)]
    unsafe fn product(s: S, a: &Operand, row: usize, w: &Matrix, panel: usize, chunk: usize, to: *mut f32) {
        unsafe { floats::<S, Self>(s, a, row, w, panel, chunk, to) }
    }
    #[inline(always)]
    unsafe fn put(s: S, row: *mut u32, at: usize, x: S::F) {
        unsafe { s.store_bf16(row.cast::<u16>().add(at), x) }
    }
    #[inline(always)]
    unsafe fn exp2(s: S, x: S::F) -> S::F {
        // Minimax polynomial of degree 3: a relative error of 7.5e-5, a fortieth of a bf16's rounding.
        unsafe { power(s, x, [0.055_171_67, 0.242_611_14, 0.693_260_97, 0.999_928_06]) }
    }
    #[inline(always)]
    unsafe fn hold(s: S, from: *const f32, width: usize, to: *mut u32) {
        let to = to.cast::<u16>();
        for i in (0..width).step_by(S::LANES) {
            unsafe { s.store_bf16(to.add(i), s.load(from.add(i))) };
        }
    }
}

impl<S: Simd> Product<S> for Bytes {
    const GROUP: usize = 4;
    type Sum = S::I;

    #[inline(always)]
    unsafe fn zero(s: S) -> S::I {
        unsafe { s.as_words(s.splat(0.0)) }
    }
    #[inline(always)]
    unsafe fn dot(s: S, sum: S::I, a: S::I, b: S::I) -> S::I {
        unsafe { s.dot_bytes(sum, a, b) }
    }
    #[inline(always)]
    unsafe fn store(s: S, to: *mut u32, sum: S::I) {
        unsafe { s.store_words(to, sum) }
    }
    #[inline(always)]
    unsafe fn load(s: S, from: *const u32) -> S::I {
        unsafe { s.load_words(from) }
    }
    #[inline(always)]
    unsafe fn product(s: S, a: &Operand, row: usize, w: &Matrix, panel: usize, chunk: usize, to: *mut f32) {
        let width = S::VECTORS * S::LANES;
        let chunks = w.depth / w.chunk;
        unsafe {
            if chunk == 0 {
                // What is too large for bytes starts the sums.
                let extra = w.extra.as_ptr().add(panel * EXTRA * width);
                let rows = a.extra.as_ptr().add(row * EXTRA_ROW);
                tiles::<S, Bf16, true>(s, S::VECTORS, EXTRA, rows, EXTRA_ROW, extra, width, to.cast(), width);
            }
            let mut sums = [0_u32; MR * PAD];
            let rows = a.words().add(row * a.depth + chunk * w.chunk);
            let words = w.words().add((panel * w.depth + chunk * w.chunk) * width);
            tiles::<S, Self, true>(s, S::VECTORS, w.chunk, rows, a.depth, words, width, sums.as_mut_ptr(), width);
            for v in 0..S::VECTORS {
                let at = chunk * w.columns + panel * width + v * S::LANES;
                let zero = s.load_words(w.zeros.as_ptr().add(at).cast());
                let scale = s.load(w.scales.as_ptr().add(at));
                for r in 0..MR {
                    let i = r * width + v * S::LANES;
                    let sum = s.to_floats(s.sub_words(s.load_words(sums.as_ptr().add(i)), zero));
                    let scale = s.mul(scale, s.splat(*a.scales.get_unchecked((row + r) * chunks + chunk)));
                    s.store(to.add(i), s.fma(sum, scale, s.load(to.add(i))));
                }
            }
        }
    }
    #[inline(always)]
    unsafe fn put(_: S, _: *mut u32, _: usize, _: S::F) {
        unreachable!("attention is not computed in bytes")
    }
    #[inline(always)]
    unsafe fn exp2(s: S, x: S::F) -> S::F {
        unsafe { exp2(s, x) }
    }
    #[inline(always)]
    unsafe fn hold(_: S, _: *const f32, _: usize, _: *mut u32) {
        unreachable!("bytes are held by `hold_bytes`, which knows what is too large for them")
    }
}

/// Words of numbers that are held as bf16 beside a row of bytes.
pub(super) const EXTRA: usize = super::OUTLIERS / 2;

/// Words from one such row to the next: a cache line, of which the rest stays zero, so that a row is also one
/// of a tile of AMX.
pub(super) const EXTRA_ROW: usize = 16;

/// [`Product::product`] of numbers that need no scales.
#[inline(always)]
unsafe fn floats<S: Simd, P: Product<S>>(
    s: S,
    a: &Operand,
    row: usize,
    w: &Matrix,
    panel: usize,
    chunk: usize,
    to: *mut f32,
) {
    let width = S::VECTORS * S::LANES;
    unsafe {
        let words = w.words().add((panel * w.depth + chunk * w.chunk) * width);
        let rows = a.words().add(row * a.depth + chunk * w.chunk);
        if chunk == 0 {
            tiles::<S, P, true>(s, S::VECTORS, w.chunk, rows, a.depth, words, width, to.cast(), width);
        } else {
            tiles::<S, P, false>(s, S::VECTORS, w.chunk, rows, a.depth, words, width, to.cast(), width);
        }
    }
}

/// `MR` rows of `a` by `NV` vectors of columns of `b`, over `k` words; the raw sums go to `c`, or
/// are added to what is there unless `FIRST`. The strides `lda`, `ldb` and `ldc` are in words.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the arguments of every matrix product")]
unsafe fn tile<S: Simd, P: Product<S>, const NV: usize, const FIRST: bool>(
    s: S,
    k: usize,
    a: *const u32,
    lda: usize,
    b: *const u32,
    ldb: usize,
    c: *mut u32,
    ldc: usize,
) {
    unsafe {
        let mut sums = [[P::zero(s); NV]; MR];
        if !FIRST {
            for r in 0..MR {
                for v in 0..NV {
                    sums[r][v] = P::load(s, c.add(r * ldc + v * S::LANES));
                }
            }
        }
        let mut b = b;
        for i in 0..k {
            let mut columns = [s.load_words(b); NV];
            for v in 1..NV {
                columns[v] = s.load_words(b.add(v * S::LANES));
            }
            for r in 0..MR {
                let x = s.splat_word(a.add(r * lda + i));
                for v in 0..NV {
                    sums[r][v] = P::dot(s, sums[r][v], x, columns[v]);
                }
            }
            b = b.add(ldb);
        }
        for r in 0..MR {
            for v in 0..NV {
                P::store(s, c.add(r * ldc + v * S::LANES), sums[r][v]);
            }
        }
    }
}

/// [`tile`] over `vectors` (1 to [`Simd::VECTORS`]) vectors of columns.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the arguments of every matrix product")]
unsafe fn tiles<S: Simd, P: Product<S>, const FIRST: bool>(
    s: S,
    vectors: usize,
    k: usize,
    a: *const u32,
    lda: usize,
    b: *const u32,
    ldb: usize,
    c: *mut u32,
    ldc: usize,
) {
    unsafe {
        match vectors.min(S::VECTORS) {
            1 => tile::<S, P, 1, FIRST>(s, k, a, lda, b, ldb, c, ldc),
            2 => tile::<S, P, 2, FIRST>(s, k, a, lda, b, ldb, c, ldc),
            3 if S::VECTORS >= 3 => tile::<S, P, 3, FIRST>(s, k, a, lda, b, ldb, c, ldc),
            _ if S::VECTORS >= 4 => tile::<S, P, 4, FIRST>(s, k, a, lda, b, ldb, c, ldc),
            _ => tile::<S, P, 2, FIRST>(s, k, a, lda, b, ldb, c, ldc),
        }
    }
}

/// Rows of an operand that are worked on together: their sums and a chunk of a panel fit in the
/// first-level cache.
const ROWS: usize = 8 * MR;

/// `out = then(a · w + bias)`, `a.rows` rows of `out` that are `stride` floats apart.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd, P: Product<S>>(
    s: S,
    a: &Operand,
    w: &Matrix,
    then: Then,
    out: *mut f32,
    stride: usize,
) {
    let width = S::VECTORS * S::LANES;
    // Every sum is set before it is read, so they need not be cleared.
    let mut sums = std::mem::MaybeUninit::<Sums>::uninit();
    let sums = sums.as_mut_ptr().cast::<f32>();
    for first in (0..a.rows).step_by(ROWS) {
        let rows = ROWS.min(a.rows - first);
        for (panel, column) in (0..w.columns).step_by(width).enumerate() {
            unsafe {
                for chunk in 0..w.depth / w.chunk {
                    for row in (0..rows).step_by(MR) {
                        P::product(s, a, first + row, w, panel, chunk, sums.add(row * width));
                    }
                }
                let bias = w.bias.as_ptr().add(column);
                finish(s, rows, width, sums, bias, then, out.add(first * stride + column), stride);
            }
        }
    }
}

/// Writes `rows` rows of `width` sums that lie one after another to `out`, with the bias and what else is done.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "three arrays and their shape")]
pub(super) unsafe fn finish<S: Simd>(
    s: S,
    rows: usize,
    width: usize,
    sums: *const f32,
    bias: *const f32,
    then: Then,
    out: *mut f32,
    stride: usize,
) {
    for row in 0..rows {
        for at in (0..width).step_by(S::LANES) {
            unsafe {
                let value = s.add(s.load(sums.add(row * width + at)), s.load(bias.add(at)));
                let to = out.add(row * stride + at);
                match then {
                    Then::Store => s.store(to, value),
                    Then::Gelu => s.store(to, gelu(s, value)),
                    Then::Add => s.store(to, s.add(s.load(to), value)),
                }
            }
        }
    }
}

#[repr(align(64))]
#[expect(dead_code, reason = "written and read by pointers")]
struct Sums([f32; ROWS * PAD]);

/// Rows of `width` floats held as words.
#[inline(always)]
pub(super) unsafe fn hold<S: Simd, P: Product<S>>(s: S, from: *mut f32, width: usize, _: &Input, to: &mut Operand) {
    for row in 0..to.rows {
        unsafe { P::hold(s, from.add(row * width), width, to.words_mut().add(row * to.depth)) };
    }
}

/// Rows of `width` floats held as bytes, each block of [`Input::block`] with a scale of its own, and the
/// outliers apart as bf16. The floats are unchanged afterwards.
#[inline(always)]
pub(super) unsafe fn hold_bytes<S: Simd>(s: S, from: *mut f32, width: usize, input: &Input, to: &mut Operand) {
    let blocks = width / input.block;
    for row in 0..to.rows {
        unsafe {
            let from = from.add(row * width);
            let mut kept = [0.0_f32; super::OUTLIERS];
            for (kept, &at) in kept.iter_mut().zip(&input.outliers) {
                *kept = from.add(at).replace(0.0);
            }
            let extra = to.extra.as_mut_ptr().add(row * EXTRA_ROW).cast::<u16>();
            for (i, &x) in kept.iter().enumerate() {
                extra.add(i).write(bf16(x));
            }
            let bytes = to.words_mut().add(row * to.depth).cast::<u8>();
            for block in 0..blocks {
                let from = from.add(block * input.block);
                let bytes = bytes.add(block * input.block);
                let mut greatest = s.splat(super::SMALLEST);
                for i in (0..input.block).step_by(S::LANES) {
                    let x = s.load(from.add(i));
                    greatest = s.max(greatest, if input.floor.is_some() { x } else { s.abs(x) });
                }
                let (low, steps) = match input.floor {
                    Some(floor) => (floor, 255.0),
                    None => (0.0, 127.0),
                };
                let scale = (s.greatest(greatest) - low) / steps;
                let inverse = s.splat(1.0 / scale);
                // Halves round to even, and the zero of signed numbers is the middle of the bytes.
                let offset = s.splat(if input.floor.is_some() { -low / scale } else { 128.0 });
                for i in (0..input.block).step_by(S::LANES) {
                    let x = s.round(s.fma(s.load(from.add(i)), inverse, offset));
                    s.store_bytes(bytes.add(i), s.min(s.max(x, s.splat(0.0)), s.splat(255.0)));
                }
                *to.scales.get_unchecked_mut(row * blocks + block) = scale;
            }
            for (&kept, &at) in kept.iter().zip(&input.outliers) {
                from.add(at).write(kept);
            }
        }
    }
}

/// Layer normalisation in place of rows of `stride` floats, of which the first `width` count and the
/// rest are zero: `(x - mean) / sqrt(variance + epsilon) * weight + bias` (Ba et al. 2016).
#[inline(always)]
#[expect(clippy::cast_precision_loss, reason = "widths are far below 2^24")]
pub(super) unsafe fn layer_norm<S: Simd>(
    s: S,
    x: &mut [f32],
    stride: usize,
    width: usize,
    weight: *const f32,
    bias: *const f32,
    epsilon: f32,
) {
    for row in x.chunks_exact_mut(stride) {
        unsafe {
            let row = row.as_mut_ptr();
            let mut sum = s.splat(0.0);
            for i in (0..stride).step_by(S::LANES) {
                sum = s.add(sum, s.load(row.add(i)));
            }
            let mean = s.sum(sum) / width as f32;
            let center = s.splat(mean);
            let mut squares = s.splat(0.0);
            let whole = width / S::LANES * S::LANES;
            for i in (0..whole).step_by(S::LANES) {
                let x = s.sub(s.load(row.add(i)), center);
                squares = s.fma(x, x, squares);
            }
            // The padding is left out: its share, the squares of the mean, may be greater than all the rest, and
            // would leave little of it when subtracted.
            let mut squares = s.sum(squares);
            for i in whole..width {
                let x = *row.add(i) - mean;
                squares += x * x;
            }
            let scale = s.splat(1.0 / (squares / width as f32 + epsilon).sqrt());
            for i in (0..stride).step_by(S::LANES) {
                let x = s.mul(s.sub(s.load(row.add(i)), center), scale);
                s.store(row.add(i), s.fma(x, s.load(weight.add(i)), s.load(bias.add(i))));
            }
        }
    }
}

/// One head of one text: `softmax(scale · q · kᵀ) · v`.
///
/// The keys are transposed and the values paired once; then, for each few queries, scores, softmax
/// and weighted sum all stay in the first-level cache.
#[inline(always)]
pub(super) unsafe fn attend<S: Simd, P: Product<S>>(s: S, job: &Attention<'_>, scratch: &mut Scratch) {
    let Attention { len, width, .. } = *job;
    let keys = len.next_multiple_of(S::LANES.max(P::GROUP));
    let depth = width / P::GROUP;
    let [q, kt, v, scores, weights] = scratch.divide([
        len.next_multiple_of(MR) * depth,
        keys * depth,
        keys / P::GROUP * width,
        MR * keys,
        MR * keys / P::GROUP,
    ]);
    unsafe {
        let row = |from: *const f32, at: usize| from.add(at * job.stride);
        for at in 0..len {
            P::hold(s, row(job.queries.as_ptr(), at), width, q.add(at * depth));
        }
        transpose::<S, P>(s, job, keys, kt);
        pair::<S, P>(s, job, keys, v);
        // Powers of two are cheaper than powers of e.
        let exponent = s.splat(job.scale * std::f32::consts::LOG2_E);
        for first in (0..len).step_by(MR) {
            for column in (0..keys).step_by(S::VECTORS * S::LANES) {
                let vectors = (keys - column) / S::LANES;
                tiles::<S, P, true>(
                    s,
                    vectors,
                    depth,
                    q.add(first * depth),
                    depth,
                    kt.add(column),
                    keys,
                    scores.add(column),
                    keys,
                );
            }
            let rows = MR.min(len - first);
            let mut sums = [0.0_f32; MR];
            for (r, sum) in sums.iter_mut().enumerate().take(rows) {
                let to = weights.add(r * keys / P::GROUP);
                *sum = weigh::<S, P>(s, scores.cast::<f32>().add(r * keys), len, keys, exponent, to);
            }
            let mut products = [0_u32; MR * PAD];
            let depth = keys / P::GROUP;
            for column in (0..width).step_by(S::VECTORS * S::LANES) {
                let vectors = ((width - column) / S::LANES).min(S::VECTORS);
                let to = products.as_mut_ptr();
                tiles::<S, P, true>(s, vectors, depth, weights, depth, v.add(column), width, to, PAD);
                for (r, sum) in sums.iter().enumerate().take(rows) {
                    let inverse = s.splat(1.0 / sum);
                    for i in (0..vectors * S::LANES).step_by(S::LANES) {
                        let value = s.mul(s.load(to.cast::<f32>().add(r * PAD + i)), inverse);
                        s.store(job.out.add((first + r) * job.out_stride + column + i), value);
                    }
                }
            }
        }
    }
}

/// One query's weights for its scores, `2^(exponent · (score - greatest))`, of which `len` count of `keys`.
/// Returns their sum.
#[inline(always)]
pub(super) unsafe fn weigh<S: Simd, P: Product<S>>(
    s: S,
    scores: *mut f32,
    len: usize,
    keys: usize,
    exponent: S::F,
    weights: *mut u32,
) -> f32 {
    unsafe {
        for at in len..keys {
            scores.add(at).write(f32::NEG_INFINITY);
        }
        let mut greatest = s.load(scores);
        for i in (S::LANES..keys).step_by(S::LANES) {
            greatest = s.max(greatest, s.load(scores.add(i)));
        }
        let greatest = s.mul(s.splat(s.greatest(greatest)), exponent);
        let mut total = s.splat(0.0);
        for i in (0..keys).step_by(S::LANES) {
            let x = s.sub(s.mul(s.load(scores.add(i)), exponent), greatest);
            let weight = P::exp2(s, x);
            total = s.add(total, weight);
            P::put(s, weights, i, weight);
        }
        s.sum(total)
    }
}

/// Keys as columns: word `w` of key `j` goes to `to[w * keys + j]`.
#[inline(always)]
unsafe fn transpose<S: Simd, P: Product<S>>(s: S, job: &Attention<'_>, keys: usize, to: *mut u32) {
    let depth = job.width / P::GROUP;
    let mut words = [0_u32; MAX_HEAD];
    for at in 0..keys {
        unsafe {
            if at < job.len {
                P::hold(s, job.keys.as_ptr().add(at * job.stride), job.width, words.as_mut_ptr());
            } else {
                words[..depth].fill(0);
            }
            for (w, &word) in words[..depth].iter().enumerate() {
                // Volatile, or the compiler makes scatter instructions of it, which are slower.
                to.add(w * keys + at).write_volatile(word);
            }
        }
    }
}

/// Widest head.
pub const MAX_HEAD: usize = 256;

/// Values with as many keys in a word as words have numbers, so that they can follow weights in it.
#[inline(always)]
pub(super) unsafe fn pair<S: Simd, P: Product<S>>(s: S, job: &Attention<'_>, keys: usize, to: *mut u32) {
    let row = |at: usize| job.values.as_ptr().wrapping_add(at * job.stride);
    let zeros = [0.0_f32; MAX_HEAD];
    let row = |at: usize| if at < job.len { row(at) } else { zeros.as_ptr() };
    for (index, at) in (0..keys).step_by(P::GROUP).enumerate() {
        let to = to.wrapping_add(index * job.width);
        for i in (0..job.width).step_by(S::LANES) {
            unsafe {
                let first = s.load(row(at).add(i));
                let words =
                    if P::GROUP == 1 { s.as_words(first) } else { s.pair_bf16(first, s.load(row(at + 1).add(i))) };
                s.store_words(to.add(i), words);
            }
        }
    }
}

/// `2^x` for `x` up to 0, to a relative error of 2e-7; what is below 2^-126 becomes 2^-126.
#[inline(always)]
unsafe fn exp2<S: Simd>(s: S, x: S::F) -> S::F {
    // Minimax polynomial of 2^f for f from -1/2 to 1/2, relative error 7.5e-8 before rounding.
    unsafe { power(s, x, [0.001_327_647_2, 0.009_675_542, 0.055_507_13, 0.240_221_2, 0.693_146_94, 1.000_000_1]) }
}

/// `2^x` for `x` up to 0, by a polynomial of `2^f` for `f` from -1/2 to 1/2, highest power first.
#[inline(always)]
unsafe fn power<S: Simd, const N: usize>(s: S, x: S::F, polynomial: [f32; N]) -> S::F {
    unsafe {
        let x = s.max(x, s.splat(-126.0));
        let whole = s.round(x);
        let part = s.sub(x, whole);
        let mut power = s.splat(polynomial[0]);
        for coefficient in &polynomial[1..] {
            power = s.fma(power, part, s.splat(*coefficient));
        }
        s.scale(power, whole)
    }
}

/// `x · Φ(x)` (Hendrycks and Gimpel 2016), with Φ from Abramowitz and Stegun 7.1.26: absolute error
/// below 1.5e-7 · |x|.
#[inline(always)]
unsafe fn gelu<S: Simd>(s: S, x: S::F) -> S::F {
    // The formula's coefficients, halved: Φ(-|x|) = erfc(|x|/√2) / 2.
    const TAIL: [f32; 4] = [-0.726_576, 0.710_706_9, -0.142_248_37, 0.127_414_8];
    // 0.3275911 / √2
    const SLOPE: f32 = 0.231_641_89;
    unsafe {
        let size = s.abs(x);
        let t = s.div(s.splat(1.0), s.fma(size, s.splat(SLOPE), s.splat(1.0)));
        let mut tail = s.splat(0.530_702_7);
        for coefficient in TAIL {
            tail = s.fma(tail, t, s.splat(coefficient));
        }
        let density = exp2(s, s.mul(s.mul(x, x), s.splat(-0.5 * std::f32::consts::LOG2_E)));
        let tail = s.mul(s.mul(tail, t), density);
        s.sub(s.max(x, s.splat(0.0)), s.mul(size, tail))
    }
}
