//! Compares the kernels of the CPU encoder with plain sums in f64, for every instruction set of this machine and
//! every precision.
//!
//! Tolerances follow from the arithmetic: a sum of `n` products may be off by about `n` roundings of the sum of
//! their sizes. Numbers that kernels hold as bf16 or as bytes are rounded here first, so these kernels get hardly
//! more tolerance. All instruction sets are compared with the same reference, so they agree within twice the
//! tolerance. `PROPTEST_CASES` can set another number of cases.

use std::panic::{AssertUnwindSafe, catch_unwind};

use chunkmill::embed::kernel::{
    Attention, Distances, Floats, Input, Isa, Kernel, Matrix, OUTLIERS, Operand, PAD, Precision, Rotation, Scratch,
    Then,
};

/// Half the distance from 1 to the next f32.
const UNIT: f64 = 1.0 / 16_777_216.0;

/// Smaller numbers lose bits, and some instructions treat them as zero.
const TINY: f64 = f32::MIN_POSITIVE as f64;

/// Random numbers that are the same on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Returns a number from `least` to `most`.
    fn within(&mut self, least: usize, most: usize) -> usize {
        least + (self.next() % (most - least + 1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.within(0, from.len() - 1)]
    }

    /// Returns a number from -1 to 1.
    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / 8_388_608.0 - 1.0
    }

    fn values(&mut self, kind: Kind, len: usize) -> Vec<f32> {
        let huge = self.within(0, len.max(1) - 1);
        let equal = self.float();
        let value = |i| match kind {
            Kind::Plain => self.float(),
            Kind::Zeros => 0.0,
            Kind::Equal => equal,
            Kind::OneHuge => self.float() * if i == huge { 1e6 } else { 0.01 },
            Kind::Negative => -self.float().abs() - 0.01,
            Kind::Denormal => self.float() * 1e-39,
            Kind::Ties => (self.within(0, 127) * 2 + 257) as f32 / self.pick(&[256.0, -256.0]),
            Kind::Large => self.float() * 1e30,
        };
        (0..len).map(value).collect()
    }
}

/// Kinds of numbers that have broken kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Zeros,
    Equal,
    OneHuge,
    Negative,
    Denormal,
    /// Halfway between two bf16.
    Ties,
    Large,
}

const KINDS: [Kind; 10] = [
    Kind::Plain,
    Kind::Plain,
    Kind::Plain,
    Kind::Zeros,
    Kind::Equal,
    Kind::OneHuge,
    Kind::Negative,
    Kind::Denormal,
    Kind::Ties,
    Kind::Large,
];

fn cases(usual: usize) -> usize {
    std::env::var("PROPTEST_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Returns every kernel that runs here.
fn kernels() -> Vec<(Isa, Precision, Kernel)> {
    let all = Isa::ALL.into_iter().flat_map(|isa| Precision::ON_CPU.map(|precision| (isa, precision)));
    all.filter_map(|(isa, precision)| Some((isa, precision, Kernel::new(isa, precision)?))).collect()
}

/// A buffer that starts as NaN, between two zones that must not be written to.
struct Guarded(Vec<f32>);

impl Guarded {
    const ZONE: usize = 80;
    const MARK: u32 = 0x7fc0_dead;

    fn new(len: usize) -> Self {
        Self(vec![f32::from_bits(Self::MARK); len + 2 * Self::ZONE])
    }

    fn inside(&mut self) -> &mut [f32] {
        let end = self.0.len() - Self::ZONE;
        &mut self.0[Self::ZONE..end]
    }

    /// Returns what was written, and asserts that nothing was written outside.
    fn finish(self) -> Vec<f32> {
        let (before, rest) = self.0.split_at(Self::ZONE);
        let (inside, after) = rest.split_at(rest.len() - Self::ZONE);
        assert!(before.iter().chain(after).all(is_mark), "something was written outside of the result");
        inside.to_vec()
    }
}

fn is_mark(x: &f32) -> bool {
    x.to_bits() == Guarded::MARK
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// Returns rows of `width` numbers, with zeros up to the padded width.
fn padded(rows: &[f32], width: usize) -> Vec<f32> {
    let zeros = width.next_multiple_of(PAD) - width;
    rows.chunks_exact(width).flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, zeros))).collect()
}

fn floats(values: &[f32]) -> Floats {
    let mut floats = Floats::new(values.len().next_multiple_of(PAD));
    floats[..values.len()].copy_from_slice(values);
    floats
}

fn bf16(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000)
}

fn rounded(values: &[f32]) -> Vec<f32> {
    values.iter().map(|&x| bf16(x)).collect()
}

/// A number, and how far from it a kernel's result may be.
#[derive(Debug, Clone, Copy)]
struct Near(f64, f64);

#[track_caller]
fn check(got: f32, near: Near, what: &dyn std::fmt::Display) {
    let Near(want, tolerance) = near;
    assert!((f64::from(got) - want).abs() <= tolerance, "{what}: {got:e} is not {want:e} ± {tolerance:e}");
}

/// Computes the normal distribution with a series that has no cancellation.
fn phi(x: f64) -> f64 {
    if x.abs() > 9.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum) = (x, x);
    for k in 1..200 {
        term *= x * x / f64::from(2 * k + 1);
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt()
}

/// Computes what follows a product. GELU's slope is below 1.13, and its error here is below 1.5e-7 and a few
/// roundings. SiLU is similar.
fn follow(then: Then, product: Near, before: f32) -> Near {
    let Near(x, tolerance) = product;
    match then {
        Then::Store => product,
        Then::Gelu => Near(x * phi(x), 1.13 * tolerance + (1.5e-7 + 8.0 * UNIT) * (x.abs() + tolerance) + TINY),
        Then::GeluTanh => {
            let z = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            let slack = 1.13 * tolerance + (4e-7 + 16.0 * UNIT) * (x.abs() + tolerance) + TINY;
            Near(x / (1.0 + (-2.0 * z).exp()), slack)
        }
        Then::Silu => {
            let slack = 1.1 * tolerance + (4e-7 + 8.0 * UNIT) * (x.abs() + tolerance) + TINY;
            Near(x / (1.0 + (-x).exp()), slack)
        }
        Then::Relu => Near(x.max(0.0), tolerance),
        Then::Times => {
            let before = f64::from(before);
            Near(x * before, tolerance * before.abs() + 2.0 * UNIT * (x * before).abs() + TINY)
        }
        Then::Add => Near(x + f64::from(before), tolerance + 2.0 * UNIT * (x.abs() + f64::from(before.abs()))),
    }
}

/// A linear layer and its input.
struct Layer {
    rows: usize,
    inputs: usize,
    outputs: usize,
    a: Vec<f32>,
    w: Vec<f32>,
    bias: Vec<f32>,
    input: Input,
    largest: usize,
    outliers: Vec<usize>,
    floor: Option<f32>,
}

impl Layer {
    fn random(random: &mut Random, rows: usize, inputs: usize, outputs: usize, kinds: [Kind; 2]) -> Self {
        let [a, w] = [random.values(kinds[0], rows * inputs), random.values(kinds[1], outputs * inputs)];
        let kind = random.pick(&[Kind::Plain, Kind::Zeros]);
        let bias = random.values(kind, outputs);
        let floor = random.pick(&[None, None, Then::Gelu.floor()]).filter(|&floor| a.iter().all(|&x| x >= floor));
        let observed = floor.is_some() || random.pick(&[true, false]);
        let sizes: Vec<f32> = (0..inputs).map(|_| random.float()).collect();
        let mut outliers: Vec<usize> = (0..inputs).collect();
        outliers.sort_by(|&i, &j| sizes[j].total_cmp(&sizes[i]).then(i.cmp(&j)));
        outliers.truncate(if observed { OUTLIERS } else { 0 });
        let largest = random.pick(&[64, 128]);
        let input = if observed { Input::observed(&sizes, floor, largest) } else { Input::unknown(inputs) };
        Self { rows, inputs, outputs, a, w, bias, input, largest, outliers, floor }
    }

    /// Returns how many numbers share a scale.
    fn block(&self) -> usize {
        let width = self.inputs.next_multiple_of(PAD);
        if self.outliers.is_empty() {
            return width;
        }
        (1..=self.largest / PAD).rev().map(|pads| pads * PAD).find(|block| width.is_multiple_of(*block)).unwrap()
    }

    /// Returns the product of these factors, each of which is exact.
    fn product(&self, a: &[f32], w: &[f32]) -> Vec<Near> {
        let mut found = Vec::new();
        for a in a.chunks_exact(self.inputs) {
            for (w, &bias) in w.chunks_exact(self.inputs).zip(&self.bias) {
                let (mut sum, mut size, mut lost) = (f64::from(bias), f64::from(bias.abs()), TINY);
                for (&a, &w) in a.iter().zip(w) {
                    let (a, w) = (f64::from(a), f64::from(w));
                    sum += a * w;
                    size += (a * w).abs();
                    lost += TINY * (1.0 + a.abs().max(w.abs()));
                }
                found.push(Near(sum, (self.inputs + 4) as f64 * UNIT * size + lost));
            }
        }
        found
    }

    /// Returns the weights as a kernel of bytes holds them, read back with rows that have one number each.
    fn held_weights(&self, kernel: &Kernel) -> Vec<f32> {
        let width = self.inputs.next_multiple_of(PAD);
        let sizes: Vec<f32> = (0..self.inputs).map(|i| f32::from(self.outliers.contains(&i))).collect();
        let input =
            if self.outliers.is_empty() { self.input.clone() } else { Input::observed(&sizes, None, self.largest) };
        let matrix = kernel.matrix(&self.w, &vec![0.0; self.outputs], &input);
        let mut ones = vec![0.0; self.inputs * width];
        for i in 0..self.inputs {
            ones[i * width + i] = 127.0;
        }
        let mut operand = Operand::default();
        kernel.hold(&mut ones, width, self.inputs, &input, &mut operand);
        let columns = self.outputs.next_multiple_of(PAD);
        let mut out = vec![f32::NAN; self.inputs * columns];
        kernel.multiply(&operand, &matrix, Then::Store, &mut out);
        let mut held = vec![0.0; self.w.len()];
        for o in 0..self.outputs {
            for i in 0..self.inputs {
                held[o * self.inputs + i] = out[i * columns + o] / 127.0;
            }
        }
        held
    }

    /// Asserts that the squared error of weights held as bytes is at most that of half a step of the greatest weight
    /// each.
    fn check_held_weights(&self, held: &[f32], steps: f64, what: &str) {
        for (w, held) in self.w.chunks_exact(self.inputs).zip(held.chunks_exact(self.inputs)) {
            for start in (0..self.inputs).step_by(self.block()) {
                let block = start..self.inputs.min(start + self.block());
                let inside: Vec<usize> = block.filter(|i| !self.outliers.contains(i)).collect();
                let greatest = inside.iter().fold(0.0_f64, |max, &i| max.max(f64::from(w[i].abs())));
                let error: f64 = inside.iter().map(|&i| (f64::from(w[i]) - f64::from(held[i])).powi(2)).sum();
                let most = inside.len() as f64 * ((greatest / steps).powi(2) + 1e-64);
                assert!(error <= most * 1.001, "{what}: weights of {greatest:e} are off by {error:e} > {most:e}");
            }
            for &i in &self.outliers {
                check(held[i], Near(f64::from(bf16(w[i])), w[i].abs() as f64 * 4.0 * UNIT + TINY), &what);
            }
        }
    }

    /// Returns the product of bytes: of rows rounded as documented, and of weights as the kernel holds them.
    fn product_of_bytes(&self, held: &[f32]) -> Vec<Near> {
        let mut found = Vec::new();
        for a in self.a.chunks_exact(self.inputs) {
            // Each input as the kernel holds it, and how far it may be from that near a tie.
            let mut inputs = vec![(0.0, 0.0); self.inputs];
            let floor = self.floor.unwrap_or(0.0);
            for start in (0..self.inputs).step_by(self.block()) {
                let block = start..self.inputs.min(start + self.block());
                let inside: Vec<usize> = block.filter(|i| !self.outliers.contains(i)).collect();
                let size = |&i: &usize| if self.floor.is_some() { a[i] } else { a[i].abs() };
                // The zeros of outliers and of the padding count too.
                let greatest = inside.iter().map(size).fold(0.0, f32::max);
                let scale = f64::from(greatest - floor) / if self.floor.is_some() { 255.0 } else { 127.0 };
                for i in inside {
                    let steps = (f64::from(a[i]) - f64::from(floor)) / scale.max(1e-60);
                    let tie = (steps.fract().abs() - 0.5).abs() < 1e-4;
                    let value = f64::from(floor) + steps.round() * scale;
                    assert!((value - f64::from(a[i])).abs() <= scale * 0.5001, "half a step");
                    inputs[i] = (value, if tie { scale } else { 0.0 });
                }
            }
            for &i in &self.outliers {
                inputs[i] = (f64::from(bf16(a[i])), 0.0);
            }
            for (w, &bias) in held.chunks_exact(self.inputs).zip(&self.bias) {
                let (mut sum, mut size, mut lost) = (f64::from(bias), f64::from(bias.abs()), TINY);
                for (&(a, tie), &w) in inputs.iter().zip(w) {
                    let w = f64::from(w);
                    sum += a * w;
                    size += (a.abs() + f64::from(floor.abs())) * w.abs();
                    lost += tie * w.abs() + TINY * (1.0 + a.abs().max(w.abs()));
                }
                found.push(Near(sum, 32.0 * UNIT * size + lost));
            }
        }
        found
    }

    /// Checks everything that is promised of `matrix`, `hold` and `multiply`.
    fn check(&self, random: &mut Random, kernels: &mut [(Isa, Precision, Kernel, Operand)]) {
        let exact = self.product(&self.a, &self.w);
        let halves = self.product(&rounded(&self.a), &rounded(&self.w));
        let (width, columns) = (self.inputs.next_multiple_of(PAD), self.outputs.next_multiple_of(PAD));
        for (isa, precision, kernel, operand) in kernels {
            let what = format!("{isa} {precision}, {} rows, {} to {}", self.rows, self.inputs, self.outputs);
            let expected = match precision {
                Precision::F32 | Precision::F16 => exact.clone(),
                Precision::Bf16 => halves.clone(),
                Precision::Int8 => {
                    let held = self.held_weights(kernel);
                    // Pairs of weights must be small if products of bytes are summed in 16 bits.
                    let steps = if matches!(isa, Isa::Avx2 | Isa::Avx512) { 128.0 } else { 254.0 };
                    self.check_held_weights(&held, steps, &what);
                    self.product_of_bytes(&held)
                }
            };
            let matrix = kernel.matrix(&self.w, &self.bias, &self.input);
            let mut rows = padded(&self.a, self.inputs);
            let before = bits(&rows);
            // The operand has been used for other shapes before.
            kernel.hold(&mut rows, width, self.rows, &self.input, operand);
            assert_eq!(bits(&rows), before, "{what}: rows that are held stay the same");
            for then in [Then::Store, Then::Gelu, Then::GeluTanh, Then::Silu, Then::Relu, Then::Add, Then::Times] {
                let adds = matches!(then, Then::Add | Then::Times);
                let mut out = Guarded::new(self.rows * columns);
                let start: Vec<f32> = (0..self.rows * columns).map(|_| random.float()).collect();
                if adds {
                    out.inside().copy_from_slice(&start);
                }
                kernel.multiply(operand, &matrix, then, out.inside());
                let out = out.finish();
                for (row, got) in out.chunks_exact(columns).enumerate() {
                    for (o, &got) in got.iter().enumerate() {
                        let start = start[row * columns + o];
                        if o >= self.outputs {
                            let want = if then == Then::Add { start } else { 0.0 };
                            assert!(got == want, "{what}: the padding became {got:e}");
                            continue;
                        }
                        let near = follow(then, expected[row * self.outputs + o], start);
                        check(got, near, &format_args!("{what}, {then:?}, row {row}, output {o}"));
                    }
                }
                // A row produces the same result alone as among others.
                let row = random.within(0, self.rows - 1);
                let (mut alone, mut one) = (Operand::default(), Guarded::new(columns));
                one.inside().copy_from_slice(&start[row * columns..][..columns]);
                let single = &mut rows[row * width..][..width].to_vec();
                kernel.hold(single, width, 1, &self.input, &mut alone);
                kernel.multiply(&alone, &matrix, then, one.inside());
                assert_eq!(
                    bits(&one.finish()),
                    bits(&out[row * columns..][..columns]),
                    "{what}, {then:?}: row {row} alone"
                );
            }
        }
    }
}

/// Returns every kernel, each with an operand that was full of NaN.
fn used_kernels() -> Vec<(Isa, Precision, Kernel, Operand)> {
    let used = |(isa, precision, kernel): (Isa, Precision, Kernel)| {
        let mut operand = Operand::default();
        kernel.hold(&mut vec![f32::NAN; 100 * 448], 448, 100, &Input::unknown(448), &mut operand);
        (isa, precision, kernel, operand)
    };
    kernels().into_iter().map(used).collect()
}

#[test]
fn products_of_random_shapes_are_right() {
    let mut kernels = used_kernels();
    for seed in 0..cases(24) as u64 {
        let mut random = Random(seed);
        let most = random.pick(&[8, 30, 130]);
        let rows = random.within(1, most);
        let (inputs, outputs) = (random.within(1, 400), random.within(1, 200));
        let kinds = [random.pick(&KINDS), random.pick(&KINDS)];
        // Their products must be finite.
        let kinds = if kinds == [Kind::Large; 2] { [Kind::Large, Kind::Plain] } else { kinds };
        Layer::random(&mut random, rows, inputs, outputs, kinds).check(&mut random, &mut kernels);
    }
}

#[test]
fn products_of_shapes_at_the_edges_of_tiles_are_right() {
    let mut kernels = used_kernels();
    let mut random = Random(1);
    let shapes = [
        (1, 1, 1),
        (5, 63, 63),
        (6, 64, 64),
        (7, 65, 65),
        (47, 191, 1),
        (48, 192, 8),
        (12, 128, 9),
        (13, 256, 64),
        (49, 193, 17),
    ];
    for (rows, inputs, outputs) in shapes.into_iter().chain([(96, 384, 15), (97, 128, 128)]) {
        Layer::random(&mut random, rows, inputs, outputs, [Kind::Plain; 2]).check(&mut random, &mut kernels);
    }
}

#[test]
fn products_of_every_kind_of_number_are_right() {
    let mut kernels = used_kernels();
    let mut random = Random(2);
    let pairs = KINDS[2..].iter().flat_map(|&a| KINDS[2..].iter().map(move |&w| [a, w]));
    for kinds in pairs.filter(|kinds| *kinds != [Kind::Large; 2]) {
        Layer::random(&mut random, 8, 70, 20, kinds).check(&mut random, &mut kernels);
    }
}

#[test]
fn rows_of_zeros_give_the_bias_exactly() {
    for (isa, precision, kernel) in kernels() {
        let (weight, bias): (Vec<f32>, Vec<f32>) = ((0..640).map(|i| i as f32).collect(), vec![1e-33; 10]);
        let input = Input::unknown(64);
        let (mut operand, mut out) = (Operand::default(), vec![f32::NAN; 64]);
        kernel.hold(&mut [0.0; 64], 64, 1, &input, &mut operand);
        kernel.multiply(&operand, &kernel.matrix(&weight, &bias, &input), Then::Store, &mut out);
        assert_eq!(out[..10], bias, "{isa} {precision}");
    }
}

#[test]
fn layer_normalisation_is_right() {
    for seed in 0..4 * cases(24) as u64 {
        let mut random = Random(seed);
        let rows = random.within(0, 9);
        let any = random.within(1, 400);
        let width = random.pick(&[1, 15, 16, 63, 64, 65, 129, 384, 400, any]);
        let kind = random.pick(&KINDS);
        let epsilon = random.pick(&[1e-12_f32, 1e-5]);
        // Squares of larger numbers are not finite.
        let large = if kind == Kind::Large { 1e-13 } else { 1.0 };
        let shift = random.pick(&[0.0, 0.0, 3.0, 1000.0]);
        let values: Vec<f32> = random.values(kind, rows * width).iter().map(|x| x * large + shift).collect();
        let [weight, bias] = [random.values(Kind::Plain, width), random.values(Kind::Plain, width)];
        let [held_weight, held_bias] = [&weight, &bias].map(|values| floats(values));
        let start = padded(&values, width);
        let stride = width.next_multiple_of(PAD);
        for (isa, precision, kernel) in kernels() {
            let mut x = Guarded::new(start.len());
            x.inside().copy_from_slice(&start);
            kernel.layer_norm(x.inside(), width, &held_weight, &held_bias, epsilon);
            let x = x.finish();
            for (row, (got, values)) in x.chunks_exact(stride).zip(values.chunks_exact(width)).enumerate() {
                let what = format!("{isa} {precision}, seed {seed}, {kind:?}, width {width}, row {row}");
                let n = width as f64;
                let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
                let size = values.iter().map(|&x| f64::from(x.abs())).sum::<f64>() / n;
                let deviations = values.iter().map(|&x| f64::from(x) - mean);
                let variance = deviations.clone().map(|x| x * x).sum::<f64>() / n;
                let furthest = deviations.clone().fold(0.0, |max: f64, x| max.max(x.abs()));
                let off = (n + 2.0) * UNIT * size + 2.0 * UNIT * furthest + TINY;
                let wrong = 2.0 * variance.sqrt() * off + off * off + (n + 8.0) * UNIT * (variance + off * off);
                let total = variance + f64::from(epsilon);
                for (i, (&got, deviation)) in got.iter().zip(deviations).enumerate() {
                    let (weight, bias) = (f64::from(weight[i]), f64::from(bias[i]));
                    // However the sums are rounded, no number is further out than this.
                    let most = weight.abs() * n.sqrt() * 1.001 + bias.abs() * 1.001 + TINY;
                    assert!(f64::from(got.abs()) <= most, "{what}: {got:e} is out of {most:e}");
                    if wrong < 0.2 * total {
                        let scale = 1.0 / total.sqrt();
                        let value = deviation * scale;
                        let slack = 1.3 * (off * scale + value.abs() * wrong / total) + 6.0 * UNIT * value.abs();
                        let slack = slack * weight.abs() + 3.0 * UNIT * (value * weight).abs().max(bias.abs()) + TINY;
                        check(got, Near(value * weight + bias, slack), &what);
                    }
                }
                assert!(got[width..].iter().all(|&x| x == 0.0), "{what}: the padding stays zero");
                let mut alone = start[row * stride..][..stride].to_vec();
                kernel.layer_norm(&mut alone, width, &held_weight, &held_bias, epsilon);
                assert_eq!(bits(&alone), bits(got), "{what} alone");
            }
        }
    }
}

/// One head of one text. Queries, keys and values are next to each other, with gaps.
struct Head {
    len: usize,
    width: usize,
    scale: f32,
    stride: usize,
    parts: [Vec<f32>; 3],
    /// How far a token looks.
    reach: Option<usize>,
    /// The number that each distance adds to a score.
    bias: Option<fn(isize) -> f32>,
}

impl Head {
    /// Returns the same numbers with NaN in the gaps. The last token's row ends where the buffer does.
    fn spread(&self) -> [Vec<f32>; 3] {
        [0, 1, 2].map(|part| {
            let mut spread = vec![f32::NAN; (self.len - 1) * self.stride + self.width];
            for (at, row) in self.parts[part].chunks_exact(self.width).enumerate() {
                spread[at * self.stride..][..self.width].copy_from_slice(row);
            }
            spread
        })
    }

    /// Computes `softmax(scale · q · kᵀ) · v` of these numbers. `coarse` is the relative error of a weight.
    fn attention(&self, parts: [&[f32]; 3], coarse: f64) -> Vec<Near> {
        let [q, k, v] = parts.map(|part| part.chunks_exact(self.width));
        let scale = f64::from(self.scale);
        let mut found = Vec::new();
        for (at, q) in q.enumerate() {
            let reach = self.reach.unwrap_or(usize::MAX);
            let seen = at.saturating_sub(reach)..self.len.min(at.saturating_add(reach).saturating_add(1));
            let v = v.clone().skip(seen.start).take(seen.len());
            let scores: Vec<(f64, f64)> = (k.clone().enumerate().skip(seen.start).take(seen.len()).map(|(key, k)| {
                let products = || q.iter().zip(k).map(|(&q, &k)| f64::from(q) * f64::from(k));
                let lost: f64 = q.iter().zip(k).map(|(&q, &k)| TINY * (1.0 + f64::from(q.abs().max(k.abs())))).sum();
                let bias = self.bias.map_or(0.0, |bias| f64::from(bias(key.cast_signed() - at.cast_signed())));
                let sum: f64 = (products().sum::<f64>() + bias) * scale;
                let size: f64 = (products().map(f64::abs).sum::<f64>() + bias.abs()) * scale;
                (sum, (self.width + 4) as f64 * UNIT * size + lost * scale)
            }))
            .collect();
            let greatest = scores.iter().fold(f64::NEG_INFINITY, |max, x| max.max(x.0));
            let weights: Vec<f64> = scores.iter().map(|x| (x.0 - greatest).exp()).collect();
            let total: f64 = weights.iter().sum();
            let wrong = |&(score, off): &(f64, f64)| {
                let off = off + 4.0 * UNIT * (score.abs() + greatest.abs());
                off.exp_m1() + coarse + (self.len + 8) as f64 * UNIT
            };
            let wrong: Vec<f64> = scores.iter().map(wrong).collect();
            let all: f64 = weights.iter().zip(&wrong).map(|(w, e)| w / total * e).sum();
            for i in 0..self.width {
                let values = || v.clone().map(|v| f64::from(v[i])).zip(&weights).zip(&wrong);
                let sum: f64 = values().map(|((v, w), _)| v * w / total).sum();
                let size: f64 = values().map(|((v, w), _)| v.abs() * w / total).sum();
                let off: f64 = values().map(|((v, w), e)| v.abs() * w / total * e).sum();
                let most = values().fold(0.0_f64, |max, ((v, _), _)| max.max(v.abs()));
                let lost = self.len as f64 * 4.0 * TINY * (1.0 + most);
                let tolerance = if all < 0.5 { (off + all * size) / (1.0 - all) + lost } else { 2.0 * most + TINY };
                found.push(Near(sum, tolerance));
            }
        }
        found
    }

    /// The result of all tokens, or of the first one only.
    fn attend(&self, kernel: &Kernel, parts: &[Vec<f32>; 3], first: bool, scratch: &mut Scratch) -> Vec<f32> {
        let [q, k, v] = parts;
        let out_stride = self.width + 5;
        let rows = if first { 1 } else { self.len };
        let mut out = Guarded::new((rows - 1) * out_stride + self.width);
        let mut job = Attention::new([q, k, v], self.stride, self.len, self.width, self.scale);
        if first {
            job = job.of_first();
        }
        if let Some(reach) = self.reach {
            job = job.within(reach);
        }
        // Made for longer texts than this one.
        let distances = self.bias.map(|bias| Distances::new(self.len + 3, bias));
        if let Some(distances) = &distances {
            job = job.biased(distances);
        }
        kernel.attend(job, out.inside(), out_stride, scratch);
        let out = out.finish();
        let gaps = out.chunks(out_stride).flat_map(|row| &row[self.width.min(row.len())..]);
        assert!(gaps.into_iter().all(is_mark), "something was written between the rows");
        out.chunks(out_stride).flat_map(|row| &row[..self.width]).copied().collect()
    }

    fn check(&self, random: &mut Random, kernels: &mut [(Isa, Precision, Kernel, Scratch)]) {
        let [q, k, v] = [&self.parts[0], &self.parts[1], &self.parts[2]].map(|part| part.as_slice());
        let exact = self.attention([q, k, v], 4e-7);
        let halves = [q, k, v].map(rounded);
        // A weight is rounded to bf16 after an exponential that is accurate to 7.5e-5.
        let halves = self.attention([&halves[0], &halves[1], &halves[2]], 1.0 / 256.0 + 1e-4);
        let spread = self.spread();
        for (isa, precision, kernel, scratch) in kernels {
            let what = format!("{isa} {precision}, {} tokens of width {}", self.len, self.width);
            let got = self.attend(kernel, &spread, false, scratch);
            let first = self.attend(kernel, &spread, true, scratch);
            assert_eq!(bits(&first), bits(&got[..self.width]), "{what}: the first token alone");
            let wrong = |expected: &[Near]| {
                let inside = |(got, near): (&f32, &Near)| (f64::from(*got) - near.0).abs() <= near.1;
                got.iter().zip(expected).position(|pair| !inside(pair))
            };
            // Instruction sets without products of bf16 compute attention in f32.
            if wrong(&exact).is_some() && (*precision == Precision::F32 || wrong(&halves).is_some()) {
                let expected = if *precision == Precision::F32 { &exact } else { &halves };
                let at = wrong(expected).unwrap();
                check(got[at], expected[at], &format_args!("{what}: token {}, {}", at / self.width, at % self.width));
            }
            if self.reach.is_some() || self.bias.is_some() {
                continue;
            }
            // Neither a query's place among the others nor the previous contents of the scratch space matter.
            let turn = random.within(0, self.len - 1);
            let mut turned = self.parts.clone();
            turned[0].rotate_left(turn * self.width);
            let turned = Self { parts: turned, ..*self };
            let mut other = turned.attend(kernel, &turned.spread(), false, &mut Scratch::default());
            other.rotate_right(turn * self.width);
            assert_eq!(bits(&got), bits(&other), "{what}: queries turned by {turn}");
        }
    }
}

fn heads(shapes: impl Iterator<Item = (u64, usize, usize, [Kind; 3])>) {
    heads_that_look(shapes.map(|shape| (shape, None, None)));
}

/// A head's seed, length, width and kinds of numbers; how far its tokens look; and what distances add to scores.
type Look = ((u64, usize, usize, [Kind; 3]), Option<usize>, Option<fn(isize) -> f32>);

fn heads_that_look(shapes: impl Iterator<Item = Look>) {
    let with_scratch = |(isa, precision, kernel)| (isa, precision, kernel, Scratch::default());
    let mut kernels: Vec<_> = kernels().into_iter().map(with_scratch).collect();
    for ((seed, len, width, kinds), reach, bias) in shapes {
        let mut random = Random(seed);
        let mut parts = kinds.map(|kind| random.values(kind, len * width));
        // Products and weights must be finite.
        if kinds[0] == Kind::Large {
            parts[1].iter_mut().for_each(|x| *x *= 1e-30);
        }
        let stride = width + random.within(0, 40);
        Head { len, width, scale: 1.0 / (width as f32).sqrt(), stride, parts, reach, bias }
            .check(&mut random, &mut kernels);
    }
}

#[test]
fn attention_of_random_shapes_is_right() {
    heads((0..cases(16) as u64).map(|seed| {
        let mut random = Random(seed + 1000);
        let most = random.pick(&[10, 60, 300]);
        let kinds = [random.pick(&KINDS), random.pick(&KINDS[..9]), random.pick(&KINDS)];
        (seed, random.within(1, most), 16 * random.within(1, 8), kinds)
    }));
}

#[test]
fn attention_at_the_edges_of_tiles_is_right() {
    let lens = [1, 2, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65];
    let widths = [16, 32, 48, 64, 80, 256];
    heads(lens.into_iter().enumerate().map(|(i, len)| (i as u64, len, widths[i % 6], [Kind::Plain; 3])));
}

#[test]
fn attention_within_a_window_is_right() {
    let lens = [1, 2, 7, 31, 63, 65, 127, 128, 129, 200, 300];
    let reaches = [0, 1, 3, 8, 16, 64, 127, 128, 1000];
    heads_that_look(lens.into_iter().enumerate().flat_map(|(i, len)| {
        let shape = move |seed: usize| (seed as u64, len, [16, 32, 64][seed % 3], [Kind::Plain; 3]);
        (0..3).map(move |j| (shape(i + j), Some(reaches[(3 * i + 4 * j) % reaches.len()]), None))
    }));
}

#[test]
fn attention_that_distances_change_is_right() {
    let slope: fn(isize) -> f32 = |far| -0.3 * far.unsigned_abs() as f32;
    let uneven: fn(isize) -> f32 = |far| (far as f32 * 0.7).sin() + if far > 0 { 1.0 } else { 0.0 };
    let lens = [1, 2, 9, 17, 33, 64, 130];
    heads_that_look(lens.into_iter().enumerate().flat_map(|(i, len)| {
        let shape = (i as u64, len, [16, 32, 64][i % 3], [Kind::Plain; 3]);
        [(shape, None, Some(slope)), (shape, None, Some(uneven)), (shape, Some(5), Some(uneven))]
    }));
}

/// Keys are processed in parts. The result of the earlier parts is scaled each time.
#[test]
fn attention_over_long_texts_is_right() {
    let slope: fn(isize) -> f32 = |far| -0.01 * far.unsigned_abs() as f32;
    heads_that_look([1023, 1024, 1025, 1100, 2049].into_iter().enumerate().flat_map(|(i, len)| {
        let shape = (i as u64, len, [16, 32][i % 2], [Kind::Plain; 3]);
        [(shape, None, None), (shape, None, Some(slope)), (shape, Some(700), None)]
    }));
}

#[test]
fn rotations_are_right() {
    for (isa, precision, kernel) in kernels() {
        for (seed, (rows, heads, real, width)) in
            [(1, 1, 2, 16), (7, 3, 16, 16), (40, 2, 26, 32), (9, 4, 64, 64), (5, 2, 80, 80)].into_iter().enumerate()
        {
            let stride = heads * width + 16;
            let start = Random(seed as u64).values(Kind::Plain, rows * stride);
            let mut turned = start.clone();
            let rotation = Rotation::new(real, 50, 1000.0);
            kernel.rotate(&mut turned, stride, heads, width, &rotation);
            for (at, (row, from)) in turned.chunks(stride).zip(start.chunks(stride)).enumerate() {
                for (i, &got) in row.iter().enumerate() {
                    let (head, i) = (i / width, i % width);
                    let half = real / 2;
                    if head >= heads || i >= real {
                        assert_eq!(got, from[head * width + i], "{isa} {precision}: the rest stays");
                        continue;
                    }
                    let pair = i % half;
                    let (x, y) = (f64::from(from[head * width + pair]), f64::from(from[head * width + half + pair]));
                    // The angle is computed in single precision, as in the training of models.
                    let angle = at as f64 / 1000_f64.powf(2.0 * pair as f64 / real as f64);
                    let want =
                        if i < half { x * angle.cos() - y * angle.sin() } else { y * angle.cos() + x * angle.sin() };
                    let slack = (4.0 * UNIT * angle + 4.0 * UNIT) * (x.abs() + y.abs()) + TINY;
                    check(got, Near(want, slack), &format_args!("{isa} {precision}: row {at}, {i} of {real}"));
                }
            }
        }
    }
}

#[test]
fn attention_to_tokens_that_are_all_alike_is_their_mean() {
    heads(KINDS.into_iter().enumerate().map(|(i, kind)| (i as u64, 37, 32, [Kind::Equal, Kind::Equal, kind])));
}

#[test]
fn attention_to_one_token_of_two_is_its_value_rounded_at_most_once() {
    let mut random = Random(3);
    for (isa, precision, kernel) in kernels() {
        for chosen in [0, 1] {
            // The other token's weight is negligible compared with this one's.
            let (mut keys, mut values) = (vec![0.0; 32], random.values(Kind::Ties, 32));
            keys[chosen * 16..][..16].fill(10.0);
            values[chosen * 16] = 1.0;
            let mut out = vec![f32::NAN; 32];
            let job = Attention::new([&[1.0; 32], &keys, &values], 16, 2, 16, 1.0);
            kernel.attend(job, &mut out, 16, &mut Scratch::default());
            for (i, (&got, &x)) in out[..16].iter().zip(&values[chosen * 16..]).enumerate() {
                // The exponential of zero may not be exactly 1, but it is the same for all.
                let got = f64::from(got) / f64::from(out[0]);
                let near = |x: f32| (got - f64::from(x)).abs() <= 4.0 * UNIT * f64::from(x.abs());
                let fine = near(x) || (precision != Precision::F32 && near(bf16(x)));
                assert!(fine, "{isa} {precision}, token {chosen}, {i}: {got} for {x}");
            }
        }
    }
}

/// Asserts that a call panics with this message.
fn panics(what: &str, expected: &str, call: impl FnOnce()) {
    let Err(panic) = catch_unwind(AssertUnwindSafe(call)) else { panic!("{what} is accepted") };
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
    assert!(text.contains(expected), "{what}: `{text}` does not say `{expected}`");
}

#[test]
fn what_does_not_fit_is_refused() {
    for (isa, precision, kernel) in kernels() {
        let what = |what: &str| format!("{isa} {precision}: {what}");
        let mut operand = Operand::default();
        let input = Input::unknown(128);
        let matrix = |inputs: usize, input: &Input| kernel.matrix(&vec![0.5; 70 * inputs], &[0.5; 70], input);

        let row = "a row of weights for each bias";
        panics(&what("half a row"), row, || drop(kernel.matrix(&[0.0; 15], &[0.0; 2], &input)));
        panics(&what("no bias"), row, || drop(kernel.matrix(&[0.0; 15], &[], &input)));
        panics(&what("no weights"), row, || drop(kernel.matrix(&[], &[0.0; 2], &input)));

        let mut hold = |floats: usize, width, rows, input: &Input| {
            kernel.hold(&mut vec![0.0; floats], width, rows, input, &mut operand);
        };
        panics(&what("a ragged width"), "rows of padded width", || hold(1000, 65, 1, &input));
        panics(&what("a row too few"), "rows of padded width", || hold(383, 128, 3, &input));
        panics(&what("more rows than there can be"), "rows of padded width", || hold(128, 128, 1 << 57, &input));
        panics(&what("part of a block"), "blocks of padded width", || hold(192, 192, 1, &input));
        let last = Input::observed(&[&[0.0; 300][..], &[1.0; 20]].concat(), None, 128);
        panics(&what("outliers outside"), "outliers are inputs", || hold(64, 64, 1, &last));

        let fit = "factors and product fit";
        kernel.hold(&mut [0.5; 256], 128, 2, &input, &mut operand);
        let (whole, other) = (matrix(128, &input), matrix(64, &Input::unknown(64)));
        let multiply = |operand: &Operand, matrix: &Matrix, len| {
            kernel.multiply(operand, matrix, Then::Store, &mut vec![0.0; len]);
        };
        multiply(&operand, &whole, 256);
        panics(&what("a product too short"), fit, || multiply(&operand, &whole, 255));
        panics(&what("another depth"), fit, || multiply(&operand, &other, 256));
        panics(&what("an operand that holds nothing"), fit, || multiply(&Operand::default(), &whole, 256));
        for other in Precision::ON_CPU.into_iter().filter(|other| *other != precision) {
            // At one of these widths, the number of words is the same.
            for width in [64, 128, 256, 512] {
                let (input, mut held) = (Input::unknown(width), Operand::default());
                let kernel = Kernel::new(isa, other).unwrap();
                kernel.hold(&mut vec![0.5; width], width, 1, &input, &mut held);
                panics(&what("a kernel of another precision"), fit, || {
                    kernel.multiply(&operand, &whole, Then::Store, &mut [0.0; 256]);
                });
                panics(&what("an operand of another precision"), fit, || multiply(&held, &whole, 256));
                let alien = kernel.matrix(&vec![0.5; width], &[0.5], &input);
                panics(&what("a matrix of another precision"), fit, || {
                    kernel.multiply(&operand, &alien, Then::Store, &mut [0.0; 256]);
                });
            }
        }
        if precision == Precision::Int8 {
            let (narrow, wide) = (Input::observed(&[1.0; 256], None, 128), Input::unknown(256));
            let matrix = matrix(256, &narrow);
            kernel.hold(&mut [0.5; 256], 256, 1, &wide, &mut operand);
            panics(&what("other blocks"), fit, || multiply(&operand, &matrix, 256));
        }

        let lengths = "rows of one width";
        let norm = |len, weight, bias| {
            kernel.layer_norm(&mut vec![0.0; len], 65, &Floats::new(weight), &Floats::new(bias), 1e-12);
        };
        norm(256, 128, 128);
        panics(&what("half a row to normalise"), lengths, || norm(192, 128, 128));
        panics(&what("too few weights"), lengths, || norm(256, 112, 128));
        panics(&what("too few biases"), lengths, || norm(256, 128, 112));

        let attend = |lens: [usize; 4], stride, len, width, out_stride| {
            let [q, k, v] = [lens[0], lens[1], lens[2]].map(|len| vec![0.5; len]);
            let job = Attention::new([&q, &k, &v], stride, len, width, 0.5);
            kernel.attend(job, &mut vec![0.0; lens[3]], out_stride, &mut Scratch::default());
        };
        attend([82, 82, 82, 92], 33, 3, 16, 38);
        panics(&what("a short query"), "a row for each token", || attend([81, 82, 82, 92], 33, 3, 16, 38));
        panics(&what("a short key"), "a row for each token", || attend([82, 81, 82, 92], 33, 3, 16, 38));
        panics(&what("a short value"), "a row for each token", || attend([82, 82, 81, 92], 33, 3, 16, 38));
        panics(&what("a short result"), "room for the result", || attend([82, 82, 82, 91], 33, 3, 16, 38));
        panics(&what("no tokens"), "a head's width", || attend([82; 4], 16, 0, 16, 16));
        for width in [0, 8, 24, 272] {
            panics(&what("a width of no head"), "a head's width", || attend([999; 4], 300, 1, width, 300));
        }
        let most = usize::MAX / 16 + 2;
        panics(&what("more tokens than there can be"), "a row for each token", || attend([99; 4], 16, most, 16, 16));
        panics(&what("more results than there can be"), "room for the result", || {
            attend([99; 4], 16, 2, 16, most * 16 - 16)
        });
    }
}

#[test]
fn there_is_a_kernel_exactly_where_the_processor_has_the_instructions() {
    for isa in Isa::ALL {
        for precision in Precision::ON_CPU {
            let kernel = Kernel::new(isa, precision);
            assert_eq!(kernel.is_some(), isa.is_available(), "{isa}");
            assert!(kernel.is_none_or(|kernel| kernel.precision() == precision), "{isa}");
            assert!(kernel.is_none_or(|kernel| kernel.floats().precision() == Precision::F32), "{isa}");
        }
    }
    assert!(Isa::Portable.is_available());
}
