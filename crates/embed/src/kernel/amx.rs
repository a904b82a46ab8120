//! AMX: products of tiles of 16 rows by 64 bytes, many times as fast as products of vectors.
//!
//! Every product uses one register block of 32 rows by 32 columns: four tiles of sums and two of each factor, so a
//! step of four tile products loads four tiles. All tiles have the same shape, and rows and columns are padded to
//! it. Everything other than products uses the AVX-512 code.
//!
//! The compiler supports neither the instructions nor the registers yet, so blocks are inline assembly. Each block
//! keeps its sums in tiles from the first product to the last, and leaves nothing in tiles.

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm512_shuffle_i32x4, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};
use std::mem::MaybeUninit;

use super::attention::Part;
use super::avx512::Avx512;
use super::buffer::Scratch;
use super::compile::avx512_bf16_kernels;
use super::factors::{Matrix, Operand, Then};
use super::isa::{Isa, Precision};
use super::ops::{self, Bf16, EXTRA_ROW, F32};
use super::simd::Simd;
use super::table::{Kernel, Multiply};

/// Number of rows of a tile, and of 32-bit words in a row.
const TILE: usize = 16;

/// Number of rows and columns of a register block, and of columns in a panel of a matrix: a step of a block then
/// reads one contiguous piece of the matrix.
const SIDE: usize = 2 * TILE;

/// Number of rows that are multiplied by a panel before the next panel: its weights are fetched once for all of
/// them, and their sums and a chunk of the panel fit in the first-level cache.
const ROWS: usize = 4 * SIDE;

/// Number of steps of a block, each one tile deep, before other rows are processed. For bf16 this makes a chunk of
/// a panel 24 KiB.
const STEPS: usize = 12;

/// The shapes of the eight tiles in the format of `ldtilecfg`: all have full size.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

static SHAPES: Shapes = {
    let (mut row_bytes, mut rows) = ([0; 16], [0; 16]);
    let mut tile = 0;
    while tile < 8 {
        row_bytes[tile] = 64;
        rows[tile] = 16;
        tile += 1;
    }
    Shapes { palette: 1, start_row: 0, reserved: [0; 14], row_bytes, rows }
};

/// Sets the shapes of this thread's tiles. Every kernel starts with this, because other code in the process may use
/// tiles of other shapes.
#[inline(always)]
unsafe fn configure() {
    // SAFETY: the processor has AMX and the process may use it; the instruction reads 64 bytes.
    unsafe {
        asm!(
            "ldtilecfg [{shapes}]",
            shapes = in(reg) &raw const SHAPES,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly, preserves_flags)
        );
    }
}

/// The locations of a block's factors and sums; all strides are in bytes.
#[derive(Clone, Copy)]
struct Block {
    /// Number of tiles in the depth, at least one.
    steps: usize,
    /// Number of rows of the left factor that count: with [`TILE`] or fewer, the lower half is skipped.
    rows: usize,
    left: *const u32,
    left_stride: usize,
    /// Rows of [`SIDE`] words.
    right: *const u32,
    right_stride: usize,
    sums: *mut f32,
    sums_stride: usize,
}

/// Defines a function that computes a block. With `$add`, it can add to existing sums. With `$next`, it prefetches
/// the bytes from `$next` on into the second-level cache, a quarter as many as it reads of the right factor.
macro_rules! block {
    ($(#[$doc:meta])* $name:ident, $dot:literal $(, $add:ident, $next:ident)?) => {
        $(#[$doc])*
        #[inline(always)]
        unsafe fn $name(block: Block $(, $add: bool, $next: *const u32)?) {
            let flags = usize::from(block.rows > TILE) $(| usize::from($add) << 1)?;
            let half = TILE * block.left_stride;
            // SAFETY: the caller guarantees AMX, `configure`, and memory for whole tiles of both factors and the
            // sums, or for the upper half of the rows if the lower half is skipped. Prefetching cannot fault. Tile
            // registers keep nothing from one block to the next.
            unsafe {
                asm!(
                    $(
                        concat!("test {flags:e}, {", stringify!($add), "}"),
                        "jz 3f",
                        "tileloadd tmm0, [{c} + {ldc}]",
                        "tileloadd tmm1, [{c} + {ldc} + 64]",
                        "test {flags:e}, 1",
                        "jz 2f",
                        "tileloadd tmm2, [{d} + {ldc}]",
                        "tileloadd tmm3, [{d} + {ldc} + 64]",
                        "jmp 2f",
                        "3:",
                    )?
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{a} + {lda}]",
                    "tileloadd tmm6, [{b} + {ldb}]",
                    "tileloadd tmm7, [{b} + {ldb} + 64]",
                    concat!($dot, " tmm0, tmm4, tmm6"),
                    concat!($dot, " tmm1, tmm4, tmm7"),
                    $(
                        concat!("prefetcht1 [{", stringify!($next), "}]"),
                        concat!("prefetcht1 [{", stringify!($next), "} + 64]"),
                        concat!("prefetcht1 [{", stringify!($next), "} + 128]"),
                        concat!("prefetcht1 [{", stringify!($next), "} + 192]"),
                        concat!("prefetcht1 [{", stringify!($next), "} + 256]"),
                        concat!("prefetcht1 [{", stringify!($next), "} + 320]"),
                        concat!("prefetcht1 [{", stringify!($next), "} + 384]"),
                        concat!("prefetcht1 [{", stringify!($next), "} + 448]"),
                        concat!("add {", stringify!($next), "}, 512"),
                    )?
                    "test {flags:e}, 1",
                    "jz 4f",
                    "tileloadd tmm5, [{e} + {lda}]",
                    concat!($dot, " tmm2, tmm5, tmm6"),
                    concat!($dot, " tmm3, tmm5, tmm7"),
                    "4:",
                    "add {a}, 64",
                    "add {e}, 64",
                    "add {b}, {down}",
                    "dec {steps}",
                    "jnz 2b",
                    "tilestored [{c} + {ldc}], tmm0",
                    "tilestored [{c} + {ldc} + 64], tmm1",
                    "test {flags:e}, 1",
                    "jz 5f",
                    "tilestored [{d} + {ldc}], tmm2",
                    "tilestored [{d} + {ldc} + 64], tmm3",
                    "5:",
                    steps = inout(reg) block.steps => _,
                    flags = in(reg) flags,
                    a = inout(reg) block.left => _,
                    e = inout(reg) block.left.wrapping_byte_add(half) => _,
                    lda = in(reg) block.left_stride,
                    b = inout(reg) block.right => _,
                    ldb = in(reg) block.right_stride,
                    down = in(reg) TILE * block.right_stride,
                    c = in(reg) block.sums,
                    d = in(reg) block.sums.wrapping_byte_add(TILE * block.sums_stride),
                    ldc = in(reg) block.sums_stride,
                    $($add = const 2, $next = inout(reg) $next => _,)?
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack)
                );
            }
        }
    };
}

block!(
    /// Computes a block of bf16 products, in attention.
    block_bf16,
    "tdpbf16ps"
);
block!(
    /// Computes a block of bf16 products, in a linear layer.
    block_bf16_ahead,
    "tdpbf16ps",
    add,
    next
);
block!(
    /// Computes a block of products of unsigned by signed bytes, in a linear layer; sums are integers.
    block_bytes_ahead,
    "tdpbusd",
    add,
    next
);

/// The vectors for everything other than products of tiles.
type Vectors = Avx512<true, true>;
const VECTORS: Vectors = Avx512::<true, true>;
const LANES: usize = <Vectors as Simd>::LANES;

/// Number of bytes from one row of [`SIDE`] words to the next.
const SIDE_BYTES: usize = SIDE * 4;

/// Sums of a block, row by row; written before they are read.
#[repr(align(64))]
struct TileSums<const ROWS: usize>(MaybeUninit<[[f32; SIDE]; ROWS]>);

impl<const ROWS: usize> TileSums<ROWS> {
    #[inline(always)]
    fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    #[inline(always)]
    fn row(&mut self, row: usize) -> *mut f32 {
        self.0.as_mut_ptr().cast::<f32>().wrapping_add(row * SIDE)
    }
}

/// Computes [`ops::multiply`] with tiles, `chunk` steps of a panel for up to [`ROWS`] rows at a time.
///
/// `product` computes the sums of a block's rows over some steps. Its arguments are the first row and the number of
/// rows, the panel, the first step and the number of steps, the sums, and the address to prefetch for the next
/// panel.
#[inline(always)]
unsafe fn multiply(
    a: &Operand,
    w: &Matrix,
    then: Then,
    out: *mut f32,
    stride: usize,
    chunk: usize,
    mut product: impl FnMut(usize, usize, usize, usize, usize, *mut f32, *const u32),
) {
    let steps = w.depth / TILE;
    let mut sums = TileSums::<ROWS>::new();
    // SAFETY: the caller guarantees AMX, and the lengths as for `ops::multiply`: the operand has rows for whole
    // blocks, the matrix has whole panels.
    unsafe {
        configure();
        for first in (0..a.rows).step_by(ROWS) {
            let rows = ROWS.min(a.rows - first);
            for panel in 0..w.columns / SIDE {
                for step in (0..steps).step_by(chunk) {
                    let count = chunk.min(steps - step);
                    // Address of this chunk in the next panel; each block prefetches the next piece of it.
                    let mut next = w.words().wrapping_add(((panel + 1) * steps + step) * TILE * SIDE);
                    for row in (0..rows).step_by(SIDE) {
                        let left = SIDE.min(rows - row);
                        product(first + row, left, panel, step, count, sums.row(row), next);
                        next = next.wrapping_add(count * TILE * SIDE / 4);
                        if step + count == steps {
                            let column = panel * SIDE;
                            let bias = w.bias.as_ptr().add(column);
                            let to = out.add((first + row) * stride + column);
                            ops::finish(VECTORS, left, SIDE, sums.row(row), bias, then, to, stride);
                        }
                    }
                }
            }
        }
    }
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")]
unsafe fn multiply_bf16(a: &Operand, w: &Matrix, then: Then, out: *mut f32, stride: usize) {
    // SAFETY: guaranteed by the caller; a block's tiles are within the operand's padded rows and one panel.
    unsafe {
        multiply(a, w, then, out, stride, STEPS, |row, rows, panel, step, steps, sums, next| {
            let block = Block {
                steps,
                rows,
                left: a.words().add(row * a.depth + step * TILE),
                left_stride: a.depth * 4,
                right: w.words().add((panel * w.depth + step * TILE) * SIDE),
                right_stride: SIDE_BYTES,
                sums,
                sums_stride: SIDE_BYTES,
            };
            block_bf16_ahead(block, step > 0, next);
        });
    }
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")]
unsafe fn multiply_bytes(a: &Operand, w: &Matrix, then: Then, out: *mut f32, stride: usize) {
    let chunk = w.chunk / TILE;
    let chunks = w.depth / w.chunk;
    let mut whole = TileSums::<SIDE>::new();
    let s = VECTORS;
    // SAFETY: guaranteed by the caller; a block's tiles are within the operand's padded rows and one panel. There
    // is a scale for each row and chunk, and a scale and a zero for each chunk and column.
    unsafe {
        multiply(a, w, then, out, stride, chunk, |row, rows, panel, step, steps, sums, next| {
            let index = step / chunk;
            let block = Block {
                steps,
                rows,
                left: a.words().add(row * a.depth + step * TILE),
                left_stride: a.depth * 4,
                right: w.words().add((panel * w.depth + step * TILE) * SIDE),
                right_stride: SIDE_BYTES,
                sums: whole.row(0),
                sums_stride: SIDE_BYTES,
            };
            block_bytes_ahead(block, false, next);
            if index == 0 {
                // The sums start with the products of the outliers.
                block_bf16(Block {
                    steps: 1,
                    left: a.extra.as_ptr().add(row * EXTRA_ROW),
                    left_stride: EXTRA_ROW * 4,
                    right: w.extra.as_ptr().add(panel * EXTRA_ROW * SIDE),
                    sums,
                    ..block
                });
            }
            let at = index * w.columns + panel * SIDE;
            let vectors: [usize; SIDE / LANES] = std::array::from_fn(|v| v * LANES);
            let zeros = vectors.map(|v| s.load_words(w.zeros.as_ptr().add(at + v).cast()));
            let scales = vectors.map(|v| s.load(w.scales.as_ptr().add(at + v)));
            for r in 0..rows {
                let row_scale = s.splat(*a.scales.get_unchecked((row + r) * chunks + index));
                for v in 0..vectors.len() {
                    let sum = s.load_words(whole.row(r).add(vectors[v]).cast());
                    let sum = s.mul(s.to_floats(s.sub_words(sum, zeros[v])), scales[v]);
                    let to = sums.add(r * SIDE + vectors[v]);
                    s.store(to, s.fma(sum, row_scale, s.load(to)));
                }
            }
        });
    }
}

/// Writes [`TILE`] words of each of [`TILE`] rows, which are `stride` words apart, as columns of a panel.
#[inline(always)]
unsafe fn transpose(rows: *const u32, stride: usize, to: *mut u32) {
    // SAFETY: the caller guarantees AVX-512 and whole rows and columns.
    unsafe {
        let rows: [__m512i; TILE] = std::array::from_fn(|r| VECTORS.load_words(rows.add(r * stride)));
        // Interleaves pairs of rows within quarters of a vector, then groups of four rows.
        let pairs: [__m512i; TILE] = std::array::from_fn(|i| {
            let (a, b) = (rows[i / 2 * 2], rows[i / 2 * 2 + 1]);
            if i % 2 == 0 { _mm512_unpacklo_epi32(a, b) } else { _mm512_unpackhi_epi32(a, b) }
        });
        let fours: [__m512i; TILE] = std::array::from_fn(|i| {
            let first = i / 4 * 4 + i % 4 / 2;
            let (a, b) = (pairs[first], pairs[first + 2]);
            if i % 2 == 0 { _mm512_unpacklo_epi64(a, b) } else { _mm512_unpackhi_epi64(a, b) }
        });
        // Quarter `q` of `fours[4 * i + c]` is column `4 * q + c` of rows `4 * i` to `4 * i + 3`.
        for c in 0..4 {
            let (a, b) = (fours[c], fours[c + 4]);
            let even = _mm512_shuffle_i32x4::<0x88>(a, b);
            let odd = _mm512_shuffle_i32x4::<0xdd>(a, b);
            let (a, b) = (fours[c + 8], fours[c + 12]);
            let even_below = _mm512_shuffle_i32x4::<0x88>(a, b);
            let odd_below = _mm512_shuffle_i32x4::<0xdd>(a, b);
            let columns = [
                _mm512_shuffle_i32x4::<0x88>(even, even_below),
                _mm512_shuffle_i32x4::<0x88>(odd, odd_below),
                _mm512_shuffle_i32x4::<0xdd>(even, even_below),
                _mm512_shuffle_i32x4::<0xdd>(odd, odd_below),
            ];
            for (quarter, column) in columns.into_iter().enumerate() {
                VECTORS.store_words(to.add((4 * quarter + c) * SIDE), column);
            }
        }
    }
}

/// Computes [`ops::attend`] with tiles, [`SIDE`] queries at a time. Heads whose width is not a multiple of [`SIDE`]
/// use floats, because the bf16 products of AVX-512 are slower than float products on processors with AMX.
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")]
unsafe fn attend(part: &Part<'_>, scratch: &mut Scratch) {
    // SAFETY: guaranteed by the caller.
    unsafe { if part.is_whole() { attend_to::<true>(part, scratch) } else { attend_to::<false>(part, scratch) } }
}

#[inline(always)]
unsafe fn attend_to<const WHOLE: bool>(part: &Part<'_>, scratch: &mut Scratch) {
    // Copies, because the compiler knows that writes to memory do not change them.
    let (head, part) = (*part.head, part.clone());
    let (part, width) = (&part, head.width);
    let s = VECTORS;
    if !width.is_multiple_of(SIDE) {
        // SAFETY: guaranteed by the caller.
        return unsafe { ops::attend::<_, F32>(s, part, scratch) };
    }
    let (len, looked_at) = (part.queries.len(), part.keys.len());
    let keys = looked_at.next_multiple_of(SIDE);
    let depth = width / 2;
    let size = keys * depth;
    let queries = len.next_multiple_of(SIDE) * depth;
    let [q, k, kt, v, scores, weights, products] =
        scratch.divide([queries, size, size, size, SIDE * keys, SIDE * keys / 2, SIDE * width]);
    let (scores, products) = (scores.cast::<f32>(), products.cast::<f32>());
    // SAFETY: guaranteed by the caller; queries, keys and weights are padded to whole blocks. The contents of the
    // padding only affect rows of scores and products that are not read.
    unsafe {
        configure();
        let hold = |from: &[f32], at: usize, to: *mut u32| {
            <Bf16 as ops::Float<Vectors>>::hold(s, from.as_ptr().add(at * head.stride), width, to);
        };
        for at in 0..len {
            hold(head.queries, part.queries.start + at, q.add(at * depth));
        }
        for at in 0..looked_at {
            hold(head.keys, part.keys.start + at, k.add(at * depth));
        }
        k.add(looked_at * depth).write_bytes(0, (keys - looked_at) * depth);
        // Each group of SIDE keys becomes rows with one word of each key.
        for at in (0..keys).step_by(TILE) {
            for word in (0..depth).step_by(TILE) {
                let to = kt.add(at / SIDE * SIDE * depth + word * SIDE + at % SIDE);
                transpose(k.add(at * depth + word), depth, to);
            }
        }
        ops::pair::<_, Bf16>(s, part, keys, v);
        for first in (0..len).step_by(SIDE) {
            let rows = SIDE.min(len - first);
            let query = part.queries.start + first;
            let span = if WHOLE { 0..keys } else { part.span(query..query + rows, SIDE) };
            for column in span.clone().step_by(SIDE) {
                block_bf16(Block {
                    steps: depth / TILE,
                    rows,
                    left: q.add(first * depth),
                    left_stride: depth * 4,
                    right: kt.add(column * depth),
                    right_stride: SIDE_BYTES,
                    sums: scores.add(column),
                    sums_stride: keys * 4,
                });
            }
            let mut factors = [ops::Factors::default(); SIDE];
            for (r, factors) in factors.iter_mut().enumerate().take(rows) {
                let (scores, weights) = (scores.add(r * keys), weights.add(r * keys / 2));
                *factors = ops::weigh::<_, Bf16, WHOLE>(s, part, query + r, &span, scores, weights);
            }
            for column in (0..width).step_by(SIDE) {
                block_bf16(Block {
                    steps: span.len() / SIDE,
                    rows,
                    left: weights,
                    left_stride: keys * 2,
                    right: v.add(span.start / 2 * width + column),
                    right_stride: width * 4,
                    sums: products.add(column),
                    sums_stride: width * 4,
                });
            }
            for (r, factors) in factors.iter().enumerate().take(rows) {
                factors.apply::<_, WHOLE>(
                    s,
                    products.add(r * width),
                    part.out.add((query + r) * part.out_stride),
                    width,
                );
            }
        }
    }
}

/// Returns the AVX-512 kernels, with products replaced by those of tiles where tiles are faster.
pub(super) fn kernel(isa: Isa, precision: Precision) -> Kernel {
    let kernel = avx512_bf16_kernels::kernel(isa, precision);
    let multiply: Multiply = match precision {
        Precision::F32 | Precision::F16 => return kernel,
        Precision::Bf16 => multiply_bf16,
        Precision::Int8 => multiply_bytes,
    };
    Kernel { panel: SIDE, extra: EXTRA_ROW, multiply, attend, ..kernel }
}
