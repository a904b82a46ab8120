//! The kernels, generic over the instruction set and the number format.
//!
//! One register tile, [`Tile`], computes every product: linear layers, scores, and the weighted sums of values. It
//! multiplies rows of words by a matrix of words. A word is one f32, two bf16 or four bytes, and [`Product`]
//! defines the product of two words. Everything else works on rows of f32.

use std::marker::PhantomData;

use super::attention::{Part, Running};
use super::buffer::{LINE, Scratch};
use super::factors::{Input, Matrix, OUTLIERS, Operand, PAD, SMALLEST, Then};
use super::simd::{Simd, SimdBf16, bf16};

/// Rows of a register tile.
pub(super) const MR: usize = 6;

/// The product of two words. Sums are words too: for floats, their bits.
pub(super) trait Product<S: Simd> {
    /// How many numbers a word contains.
    const GROUP: usize;

    /// Adds the products of the numbers in two words to a sum.
    unsafe fn dot(s: S, sum: S::I, a: S::I, b: S::I) -> S::I;

    /// Computes the product of `rows` rows of `a` from `first` on (rounded up to whole tiles) and a panel of `w`.
    /// Writes it as floats, in consecutive rows of the width of a panel.
    #[inline(always)]
    unsafe fn product(s: S, a: &Operand, first: usize, rows: usize, w: &Matrix, panel: usize, to: *mut f32) {
        let width = S::VECTORS * S::LANES;
        let next = (panel + 1) % (w.columns / width);
        for row in (0..rows).step_by(MR) {
            unsafe {
                let tile = Tile {
                    depth: w.depth,
                    left: a.words().add((first + row) * a.depth),
                    left_stride: a.depth,
                    right: w.words().add(panel * w.depth * width),
                    right_stride: width,
                    next: Some(w.words().add(next * w.depth * width + row / MR * (w.depth / AHEAD) * width)),
                };
                tile.multiply::<S, Self>(s, S::VECTORS, to.add(row * width).cast(), width);
            }
        }
    }
}

/// Number formats that store each number by itself, without a scale.
pub(super) trait Float<S: Simd>: Product<S> {
    /// Stores a vector of floats at position `at` of a row of words.
    unsafe fn put(s: S, row: *mut u32, at: usize, x: S::F);
    /// Stores a row of `width` floats as words.
    unsafe fn hold(s: S, from: *const f32, width: usize, to: *mut u32);
    /// Stores a row of floats rounded to bf16, to nearest, ties to even.
    unsafe fn hold_bf16(s: S, from: *const f32, width: usize, to: *mut u32);
    /// Packs a vector of columns of `first` and, if a word contains two numbers, of `second` into words.
    unsafe fn column(s: S, first: *const f32, second: *const f32) -> S::I;
    /// Computes powers of two with an error below the rounding error of this format.
    unsafe fn exp2(s: S, x: S::F) -> S::F;
}

/// 32-bit floats.
pub(super) struct F32;
/// bfloat16, summed in f32.
pub(super) struct Bf16;
/// Bytes, summed in 32-bit integers; outliers, which are too large for bytes, are stored as `Large`.
pub(super) struct Bytes<Large>(PhantomData<Large>);

impl<S: Simd> Product<S> for F32 {
    const GROUP: usize = 1;

    #[inline(always)]
    unsafe fn dot(s: S, sum: S::I, a: S::I, b: S::I) -> S::I {
        unsafe { s.as_words(s.fma(s.as_floats(a), s.as_floats(b), s.as_floats(sum))) }
    }
}

impl<S: Simd> Float<S> for F32 {
    #[inline(always)]
    unsafe fn put(s: S, row: *mut u32, at: usize, x: S::F) {
        unsafe { s.store(row.add(at).cast(), x) }
    }
    #[inline(always)]
    unsafe fn hold(_: S, from: *const f32, width: usize, to: *mut u32) {
        unsafe { to.cast::<f32>().copy_from_nonoverlapping(from, width) };
    }
    #[inline(always)]
    unsafe fn hold_bf16(_: S, from: *const f32, width: usize, to: *mut u32) {
        for i in 0..width {
            unsafe { to.add(i).write(u32::from(bf16(from.add(i).read())) << 16) };
        }
    }
    #[inline(always)]
    unsafe fn column(s: S, first: *const f32, _: *const f32) -> S::I {
        unsafe { s.as_words(s.load(first)) }
    }
    #[inline(always)]
    unsafe fn exp2(s: S, x: S::F) -> S::F {
        unsafe { exp2(s, x) }
    }
}

impl<S: SimdBf16> Product<S> for Bf16 {
    const GROUP: usize = 2;

    #[inline(always)]
    unsafe fn dot(s: S, sum: S::I, a: S::I, b: S::I) -> S::I {
        unsafe { s.as_words(s.dot_bf16(s.as_floats(sum), a, b)) }
    }
}

impl<S: SimdBf16> Float<S> for Bf16 {
    #[inline(always)]
    unsafe fn put(s: S, row: *mut u32, at: usize, x: S::F) {
        unsafe { s.store_bf16(row.cast::<u16>().add(at), x) }
    }
    #[inline(always)]
    unsafe fn hold(s: S, from: *const f32, width: usize, to: *mut u32) {
        for i in (0..width).step_by(S::LANES) {
            unsafe { Self::put(s, to, i, s.load(from.add(i))) };
        }
    }
    #[inline(always)]
    unsafe fn hold_bf16(s: S, from: *const f32, width: usize, to: *mut u32) {
        unsafe { Self::hold(s, from, width, to) }
    }
    #[inline(always)]
    unsafe fn column(s: S, first: *const f32, second: *const f32) -> S::I {
        unsafe { s.pair_bf16(s.load(first), s.load(second)) }
    }
    #[inline(always)]
    unsafe fn exp2(s: S, x: S::F) -> S::F {
        // Minimax polynomial of degree 3: a relative error of 7.5e-5, a fortieth of the rounding error of bf16.
        unsafe { power(s, x, [0.055_171_67, 0.242_611_14, 0.693_260_97, 0.999_928_06]) }
    }
}

impl<S: Simd, Large: Float<S>> Product<S> for Bytes<Large> {
    const GROUP: usize = 4;

    #[inline(always)]
    unsafe fn dot(s: S, sum: S::I, a: S::I, b: S::I) -> S::I {
        unsafe { s.dot_bytes(sum, a, b) }
    }

    #[inline(always)]
    unsafe fn product(s: S, a: &Operand, first: usize, rows: usize, w: &Matrix, panel: usize, to: *mut f32) {
        let width = S::VECTORS * S::LANES;
        let chunks = w.depth / w.chunk;
        let next = (panel + 1) % (w.columns / width);
        let extra = OUTLIERS / Large::GROUP;
        for row in (0..rows).step_by(MR) {
            unsafe {
                // The sums start with the products of the outliers.
                let tile = Tile {
                    depth: extra,
                    left: a.extra.as_ptr().add((first + row) * EXTRA_ROW),
                    left_stride: EXTRA_ROW,
                    right: w.extra.as_ptr().add(panel * extra * width),
                    right_stride: width,
                    next: None,
                };
                tile.multiply::<S, Large>(s, S::VECTORS, to.add(row * width).cast(), width);
            }
        }
        for chunk in 0..chunks {
            for row in (0..rows).step_by(MR) {
                unsafe {
                    let mut sums = [0_u32; MR * PAD];
                    let at = chunk * w.chunk * width;
                    let tile = Tile {
                        depth: w.chunk,
                        left: a.words().add((first + row) * a.depth + chunk * w.chunk),
                        left_stride: a.depth,
                        right: w.words().add(panel * w.depth * width + at),
                        right_stride: width,
                        next: Some(w.words().add(next * w.depth * width + at + row / MR * (w.chunk / AHEAD) * width)),
                    };
                    tile.multiply::<S, Self>(s, S::VECTORS, sums.as_mut_ptr(), width);
                    for v in 0..S::VECTORS {
                        let at = chunk * w.columns + panel * width + v * S::LANES;
                        let zero = s.load_words(w.zeros.as_ptr().add(at).cast());
                        let scale = s.load(w.scales.as_ptr().add(at));
                        for r in 0..MR {
                            let sum = s.load_words(sums.as_ptr().add(r * width + v * S::LANES));
                            let sum = s.to_floats(s.sub_words(sum, zero));
                            let row_scale = *a.scales.get_unchecked((first + row + r) * chunks + chunk);
                            let to = to.add((row + r) * width + v * S::LANES);
                            s.store(to, s.fma(sum, s.mul(scale, s.splat(row_scale)), s.load(to)));
                        }
                    }
                }
            }
        }
    }
}

/// Number of words from one row of outliers to the next: a cache line. The rest of it stays zero, so a row of
/// outliers is also a row of an AMX tile.
pub(super) const EXTRA_ROW: usize = 16;

/// The factors of a register tile; strides are in words.
#[derive(Clone, Copy)]
struct Tile {
    /// Depth in words.
    depth: usize,
    /// `MR` rows of words.
    left: *const u32,
    left_stride: usize,
    /// One row of columns for each word of the depth.
    right: *const u32,
    right_stride: usize,
    /// The right factor of a later product: one row of it is prefetched every [`AHEAD`] words of the depth.
    next: Option<*const u32>,
}

/// Number of words of the depth per prefetched row of the next panel. It equals the number of tiles in [`ROWS`], so
/// the panel is in the cache when its first tile needs it. Otherwise the first tile would wait for memory, unlike
/// the others.
const AHEAD: usize = ROWS / MR;

impl Tile {
    /// Computes the product with `NV` vectors of columns, as raw sums.
    #[inline(always)]
    unsafe fn product<S: Simd, P: Product<S> + ?Sized, const NV: usize>(self, s: S, to: *mut u32, to_stride: usize) {
        unsafe {
            let mut sums = [[s.as_words(s.splat(0.0)); NV]; MR];
            if let Some(mut next) = self.next {
                for at in (0..self.depth).step_by(AHEAD) {
                    for v in (0..NV * S::LANES).step_by(LINE) {
                        s.prefetch(next.wrapping_add(v));
                    }
                    next = next.wrapping_add(NV * S::LANES);
                    for at in at..at + AHEAD {
                        self.step::<S, P, NV>(s, at, &mut sums);
                    }
                }
            } else {
                for at in 0..self.depth {
                    self.step::<S, P, NV>(s, at, &mut sums);
                }
            }
            for r in 0..MR {
                for v in 0..NV {
                    s.store_words(to.add(r * to_stride + v * S::LANES), sums[r][v]);
                }
            }
        }
    }

    /// Adds the products of one word of the depth.
    #[inline(always)]
    unsafe fn step<S: Simd, P: Product<S> + ?Sized, const NV: usize>(
        self,
        s: S,
        at: usize,
        sums: &mut [[S::I; NV]; MR],
    ) {
        unsafe {
            let right = self.right.add(at * self.right_stride);
            let mut columns = [s.load_words(right); NV];
            for v in 1..NV {
                columns[v] = s.load_words(right.add(v * S::LANES));
            }
            for r in 0..MR {
                let x = s.splat_word(self.left.add(r * self.left_stride + at));
                for v in 0..NV {
                    sums[r][v] = P::dot(s, sums[r][v], x, columns[v]);
                }
            }
        }
    }

    /// Computes the product with `vectors` (at least 1) vectors of columns, but not more than [`Simd::VECTORS`].
    #[inline(always)]
    unsafe fn multiply<S: Simd, P: Product<S> + ?Sized>(self, s: S, vectors: usize, to: *mut u32, to_stride: usize) {
        unsafe {
            match vectors.min(S::VECTORS) {
                1 => self.product::<S, P, 1>(s, to, to_stride),
                2 => self.product::<S, P, 2>(s, to, to_stride),
                3 if S::VECTORS >= 3 => self.product::<S, P, 3>(s, to, to_stride),
                _ if S::VECTORS >= 4 => self.product::<S, P, 4>(s, to, to_stride),
                _ => self.product::<S, P, 2>(s, to, to_stride),
            }
        }
    }
}

/// Number of rows of an operand that are processed together: their sums and a chunk of a panel fit in the
/// first-level cache.
const ROWS: usize = 8 * MR;

/// Computes `out = then(a · w + bias)` for `a.rows` rows of `out`, which are `stride` floats apart.
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
    // Every sum is written before it is read, so the sums are not initialized.
    let mut sums = std::mem::MaybeUninit::<Sums>::uninit();
    let sums = sums.as_mut_ptr().cast::<f32>();
    for first in (0..a.rows).step_by(ROWS) {
        let rows = ROWS.min(a.rows - first);
        for (panel, column) in (0..w.columns).step_by(width).enumerate() {
            unsafe {
                P::product(s, a, first, rows, w, panel, sums);
                let bias = w.bias.as_ptr().add(column);
                finish(s, rows, width, sums, bias, then, out.add(first * stride + column), stride);
            }
        }
    }
}

/// Adds the bias to `rows` consecutive rows of `width` sums, applies `then` and writes the result to `out`.
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
    // The `match` is outside the loops: inside, it would be repeated for each vector.
    macro_rules! each {
        (|$value:ident, $to:ident| $result:expr) => {
            for row in 0..rows {
                for at in (0..width).step_by(S::LANES) {
                    unsafe {
                        let $value = s.add(s.load(sums.add(row * width + at)), s.load(bias.add(at)));
                        let $to = out.add(row * stride + at);
                        s.store($to, $result);
                    }
                }
            }
        };
    }
    match then {
        Then::Store => each!(|value, to| value),
        Then::Gelu => each!(|value, to| gelu(s, value)),
        Then::GeluTanh => each!(|value, to| gelu_tanh(s, value)),
        Then::Silu => each!(|value, to| times_sigmoid(s, value, value)),
        Then::Relu => each!(|value, to| s.max(value, s.splat(0.0))),
        Then::Add => each!(|value, to| s.add(s.load(to), value)),
        Then::Times => each!(|value, to| s.mul(s.load(to), value)),
    }
}

#[repr(align(64))]
#[expect(dead_code, reason = "written and read by pointers")]
struct Sums([f32; ROWS * PAD]);

/// Stores rows of `width` floats as words.
#[inline(always)]
pub(super) unsafe fn hold<S: Simd, P: Float<S>>(s: S, from: *mut f32, width: usize, _: &Input, to: &mut Operand) {
    for row in 0..to.rows {
        unsafe { P::hold(s, from.add(row * width), width, to.words_mut().add(row * to.depth)) };
    }
}

/// Stores rows of `width` floats as words, rounded to bf16.
#[inline(always)]
pub(super) unsafe fn hold_bf16<S: Simd, P: Float<S>>(s: S, from: *mut f32, width: usize, _: &Input, to: &mut Operand) {
    for row in 0..to.rows {
        unsafe { P::hold_bf16(s, from.add(row * width), width, to.words_mut().add(row * to.depth)) };
    }
}

/// Quantizes rows of `width` floats to bytes. Each block of [`Input::block`] numbers has its own scale. The
/// outliers are stored separately, rounded to bf16. The floats are unchanged afterwards.
#[inline(always)]
pub(super) unsafe fn hold_bytes<S: Simd, Large: Float<S>>(
    s: S,
    from: *mut f32,
    width: usize,
    input: &Input,
    to: &mut Operand,
) {
    let blocks = width / input.block;
    for row in 0..to.rows {
        unsafe {
            let from = from.add(row * width);
            let mut kept = [0.0_f32; OUTLIERS];
            for (kept, &at) in kept.iter_mut().zip(&input.outliers) {
                *kept = from.add(at).replace(0.0);
            }
            let extra = to.extra.as_mut_ptr().add(row * EXTRA_ROW);
            for (i, &x) in kept.iter().enumerate() {
                if Large::GROUP == 2 {
                    extra.cast::<u16>().add(i).write(bf16(x));
                } else {
                    extra.add(i).write(u32::from(bf16(x)) << 16);
                }
            }
            let bytes = to.words_mut().add(row * to.depth).cast::<u8>();
            for block in 0..blocks {
                let from = from.add(block * input.block);
                let bytes = bytes.add(block * input.block);
                let mut greatest = s.splat(SMALLEST);
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
                // Halves round to even. For signed numbers, zero is the middle of the byte range.
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

/// Applies layer normalisation, `(x - mean) / sqrt(variance + epsilon) * weight + bias` (Ba et al. 2016), in place
/// to rows of `stride` floats. The first `width` floats of a row count; the others are zero.
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
            // The padding is excluded: its share, the squares of the mean, may exceed all the rest, and subtracting
            // it afterwards would cancel most digits.
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

/// Computes `softmax(scale · q · kᵀ) · v` for some queries of a head.
///
/// The keys are transposed and the values paired once. Then a few queries at a time are processed, so their scores,
/// softmax and weighted sums stay in the first-level cache.
#[inline(always)]
pub(super) unsafe fn attend<S: Simd, P: Float<S>>(s: S, part: &Part<'_>, scratch: &mut Scratch) {
    unsafe {
        if part.is_whole() {
            attend_to::<S, P, true>(s, part, scratch);
        } else {
            attend_to::<S, P, false>(s, part, scratch);
        }
    }
}

#[inline(always)]
unsafe fn attend_to<S: Simd, P: Float<S>, const WHOLE: bool>(s: S, part: &Part<'_>, scratch: &mut Scratch) {
    // Copies, because the compiler knows that writes to memory do not change them.
    let (head, part) = (*part.head, part.clone());
    let (part, width) = (&part, head.width);
    let len = part.queries.len();
    let align = S::LANES.max(P::GROUP);
    let keys = part.keys.len().next_multiple_of(align);
    let depth = width / P::GROUP;
    let [q, kt, v, scores, weights] = scratch.divide([
        len.next_multiple_of(MR) * depth,
        keys * depth,
        keys / P::GROUP * width,
        MR * keys,
        MR * keys / P::GROUP,
    ]);
    unsafe {
        let from = head.queries.as_ptr().add(part.queries.start * head.stride);
        for at in 0..len {
            P::hold(s, from.add(at * head.stride), width, q.add(at * depth));
        }
        transpose::<S, P>(s, part, keys, kt);
        pair::<S, P>(s, part, keys, v);
        for first in (0..len).step_by(MR) {
            let rows = MR.min(len - first);
            let query = part.queries.start + first;
            let span = if WHOLE { 0..keys } else { part.span(query..query + rows, align) };
            for column in span.clone().step_by(S::VECTORS * S::LANES) {
                let vectors = (span.end - column) / S::LANES;
                let tile = Tile {
                    depth,
                    left: q.add(first * depth),
                    left_stride: depth,
                    right: kt.add(column),
                    right_stride: keys,
                    next: None,
                };
                tile.multiply::<S, P>(s, vectors, scores.add(column), keys);
            }
            let mut factors = [Factors::default(); MR];
            for (r, factors) in factors.iter_mut().enumerate().take(rows) {
                let to = weights.add(r * keys / P::GROUP);
                *factors = weigh::<S, P, WHOLE>(s, part, query + r, &span, scores.cast::<f32>().add(r * keys), to);
            }
            let mut products = [0_u32; MR * PAD];
            for column in (0..width).step_by(S::VECTORS * S::LANES) {
                let vectors = ((width - column) / S::LANES).min(S::VECTORS);
                let to = products.as_mut_ptr();
                let tile = Tile {
                    depth: span.len() / P::GROUP,
                    left: weights,
                    left_stride: keys / P::GROUP,
                    right: v.add(span.start / P::GROUP * width + column),
                    right_stride: width,
                    next: None,
                };
                tile.multiply::<S, P>(s, vectors, to, PAD);
                for (r, factors) in factors.iter().enumerate().take(rows) {
                    let out = part.out.add((query + r) * part.out_stride + column);
                    factors.apply::<S, WHOLE>(s, to.cast::<f32>().add(r * PAD), out, vectors * S::LANES);
                }
            }
        }
    }
}

/// The factors of a query's new weighted sum of values and, if there is one, of its result so far, to which it is
/// added.
#[derive(Clone, Copy, Default)]
pub(super) struct Factors {
    new: f32,
    old: Option<f32>,
}

impl Factors {
    /// Updates `width` numbers of a result.
    #[inline(always)]
    pub(super) unsafe fn apply<S: Simd, const WHOLE: bool>(self, s: S, sums: *const f32, out: *mut f32, width: usize) {
        for i in (0..width).step_by(S::LANES) {
            unsafe {
                let value = s.mul(s.load(sums.add(i)), s.splat(self.new));
                let value = match self.old {
                    Some(old) if !WHOLE => s.fma(s.load(out.add(i)), s.splat(old), value),
                    _ => value,
                };
                s.store(out.add(i), value);
            }
        }
    }
}

/// Computes one query's weights, `2^(exponent · (score - greatest))`, from its scores of a span of keys. Returns
/// the factors for its result. Scores are at the index of their key; weights start at index 0.
#[inline(always)]
pub(super) unsafe fn weigh<S: Simd, P: Float<S>, const WHOLE: bool>(
    s: S,
    part: &Part<'_>,
    query: usize,
    span: &std::ops::Range<usize>,
    scores: *mut f32,
    weights: *mut u32,
) -> Factors {
    unsafe {
        // Powers of two are cheaper than powers of e.
        let exponent = s.splat(part.head.scale * std::f32::consts::LOG2_E);
        if !WHOLE && let Some(bias) = part.bias(query, span.start) {
            for i in (0..span.len()).step_by(S::LANES) {
                let score = scores.add(span.start + i);
                s.store(score, s.add(s.load(score), s.load(bias.add(i))));
            }
        }
        let seen = if WHOLE { 0..part.keys.len() } else { part.seen(query) };
        for at in span.start..seen.start {
            scores.add(at).write(f32::NEG_INFINITY);
        }
        for at in seen.end..span.end {
            scores.add(at).write(f32::NEG_INFINITY);
        }
        let scores = scores.add(span.start);
        let mut greatest = s.load(scores);
        for i in (S::LANES..span.len()).step_by(S::LANES) {
            greatest = s.max(greatest, s.load(scores.add(i)));
        }
        let mut most = s.mul(s.splat(s.greatest(greatest)), exponent);
        let before = if WHOLE { None } else { part.running.map(|running| running.add(query)) };
        if let Some(before) = before {
            most = s.max(most, s.splat((*before).greatest));
        }
        let mut total = s.splat(0.0);
        for i in (0..span.len()).step_by(S::LANES) {
            let x = s.sub(s.mul(s.load(scores.add(i)), exponent), most);
            let weight = P::exp2(s, x);
            total = s.add(total, weight);
            P::put(s, weights, i, weight);
        }
        let total = s.sum(total);
        let Some(before) = before else { return Factors { new: 1.0 / total, old: None } };
        let greatest = s.greatest(most);
        let is_first = (*before).greatest == f32::NEG_INFINITY;
        let old = s.greatest(P::exp2(s, s.sub(s.splat((*before).greatest), most)));
        // Before the first part there is no result: the sum is 0 and `out` is not read.
        before.write(Running { greatest, total: (*before).total * old + total });
        Factors { new: 1.0, old: if is_first { None } else { Some(old) } }
    }
}

/// Rotates the numbers of a head's first `half` with those of its second.
#[inline(always)]
pub(super) unsafe fn rotate<S: Simd>(s: S, x: *mut f32, half: usize, cosines: *const f32, sines: *const f32) {
    let whole = half / S::LANES * S::LANES;
    unsafe {
        for i in (0..whole).step_by(S::LANES) {
            let (first, second) = (s.load(x.add(i)), s.load(x.add(half + i)));
            let (cosine, sine) = (s.load(cosines.add(i)), s.load(sines.add(i)));
            s.store(x.add(i), s.sub(s.mul(first, cosine), s.mul(second, sine)));
            s.store(x.add(half + i), s.add(s.mul(second, cosine), s.mul(first, sine)));
        }
        for i in whole..half {
            let (first, second) = (*x.add(i), *x.add(half + i));
            let (cosine, sine) = (*cosines.add(i), *sines.add(i));
            x.add(i).write(first * cosine - second * sine);
            x.add(half + i).write(second * cosine + first * sine);
        }
    }
}

/// Writes keys as columns: word `w` of key `j` to `to[w * keys + j]`.
#[inline(always)]
unsafe fn transpose<S: Simd, P: Float<S>>(s: S, part: &Part<'_>, keys: usize, to: *mut u32) {
    let (head, len) = (*part.head, part.keys.len());
    let first = head.keys.as_ptr().wrapping_add(part.keys.start * head.stride);
    let depth = head.width / P::GROUP;
    let mut words = [0_u32; MAX_HEAD];
    for at in 0..keys {
        unsafe {
            if at < len {
                P::hold(s, first.add(at * head.stride), head.width, words.as_mut_ptr());
            } else {
                words[..depth].fill(0);
            }
            for (w, &word) in words[..depth].iter().enumerate() {
                // Volatile: otherwise the compiler emits scatter instructions, which are slower.
                to.add(w * keys + at).write_volatile(word);
            }
        }
    }
}

/// Maximum width of a head.
pub(crate) const MAX_HEAD: usize = 256;

/// Packs the values of consecutive keys into words, as many as a word has numbers, to match the words of weights.
#[inline(always)]
pub(super) unsafe fn pair<S: Simd, P: Float<S>>(s: S, part: &Part<'_>, keys: usize, to: *mut u32) {
    let (head, len) = (*part.head, part.keys.len());
    let first = head.values.as_ptr().wrapping_add(part.keys.start * head.stride);
    let zeros = [0.0_f32; MAX_HEAD];
    let row = |at: usize| if at < len { first.wrapping_add(at * head.stride) } else { zeros.as_ptr() };
    for (index, at) in (0..keys).step_by(P::GROUP).enumerate() {
        let to = to.wrapping_add(index * head.width);
        for i in (0..head.width).step_by(S::LANES) {
            unsafe {
                s.store_words(to.add(i), P::column(s, row(at).add(i), row(at + 1).add(i)));
            }
        }
    }
}

/// Computes `2^x` for `x` up to 0 with a relative error of 2e-7; results below 2^-126 become 2^-126.
#[inline(always)]
unsafe fn exp2<S: Simd>(s: S, x: S::F) -> S::F {
    // Minimax polynomial of 2^f for f from -1/2 to 1/2, relative error 7.5e-8 before rounding.
    unsafe { power(s, x, [0.001_327_647_2, 0.009_675_542, 0.055_507_13, 0.240_221_2, 0.693_146_94, 1.000_000_1]) }
}

/// Computes `2^x` for `x` up to 0 with a polynomial for `2^f`, `f` from -1/2 to 1/2, highest power first.
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

/// Computes `x · Φ(x)` (Hendrycks and Gimpel 2016), with Φ from Abramowitz and Stegun 7.1.26: absolute error below
/// 1.5e-7 · |x|.
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

/// Computes `x · σ(z)` for an `x` with the sign of `z`. It uses `e^-|z|`, so nothing overflows.
#[inline(always)]
unsafe fn times_sigmoid<S: Simd>(s: S, x: S::F, z: S::F) -> S::F {
    unsafe {
        let power = exp2(s, s.mul(s.abs(z), s.splat(-std::f32::consts::LOG2_E)));
        let tail = s.div(power, s.add(power, s.splat(1.0)));
        s.sub(s.max(x, s.splat(0.0)), s.mul(s.abs(x), tail))
    }
}

/// Computes GELU with the hyperbolic tangent: `x · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) / 2`, which is
/// `x · σ(2 …)`.
#[inline(always)]
unsafe fn gelu_tanh<S: Simd>(s: S, x: S::F) -> S::F {
    // 2 · √(2/π), and that times 0.044715
    const SLOPE: f32 = 1.595_769_2;
    const CUBE: f32 = 0.071_354_82;
    unsafe {
        let z = s.mul(x, s.fma(s.mul(x, x), s.splat(CUBE), s.splat(SLOPE)));
        times_sigmoid(s, x, z)
    }
}
