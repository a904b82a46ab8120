//! Representations of chunks for search: vectors computed from some text, of one width and one number type.
//!
//! A dataset can have several, each a column. All are roundings of the same vector, and none needs anything but that
//! vector: no minimum and maximum of a corpus, which would make a chunk's bytes depend on other chunks. Columns,
//! encodings, checks and searches derive from these values.

use std::fmt;
use std::str::FromStr;

use chunkmill_base::value::{Value, named};
use half::f16;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value as Json, json};

named! {
    /// How vectors are stored.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum EmbeddingType: "a type of embedding" {
        /// `FixedSizeList<Float32>`.
        #[default]
        F32 = "f32",
        /// `FixedSizeList<Float16>`: half the size, about three decimal digits.
        F16 = "f16",
        /// `List<Float32>`, for readers without fixed-size lists.
        List = "list",
        /// `FixedSizeList<Int8>`: a quarter of the size. 127 stands for 1.
        Int8 = "int8",
        /// `FixedSizeList<UInt8>`: a bit for each dimension, 1 if the value is above 0, the most significant bit of a byte first.
        Bits = "bits",
    }
}

/// The integer that stands for 1 in [`EmbeddingType::Int8`].
pub const INT8_ONE: f32 = 127.0;

impl EmbeddingType {
    /// Returns how far rounding may move the length of a vector of `dim` values from 1.
    pub fn tolerance(self, dim: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "dimensions are few")]
        let dim = dim as f64;
        match self {
            Self::F16 => 1e-3,
            Self::F32 | Self::List => 1e-4,
            // Half a step in each value.
            Self::Int8 => 1e-4 + 0.5 / f64::from(INT8_ONE) * dim.sqrt(),
            // Signs have no length.
            Self::Bits => f64::INFINITY,
        }
    }

    /// Returns whether vectors stored in this way are as they were computed.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::F32 | Self::List)
    }

    /// Returns whether it is only for vectors of length 1: its values have no length, or a largest one.
    pub fn needs_unit_length(self) -> bool {
        matches!(self, Self::Int8 | Self::Bits)
    }

    /// Returns the column that has vectors of this type.
    fn column(self) -> &'static str {
        match self {
            Self::F32 | Self::F16 | Self::List => "embedding",
            Self::Int8 => "embedding_int8",
            Self::Bits => "embedding_bits",
        }
    }

    /// Describes the column in words.
    fn holds(self) -> &'static str {
        match self {
            Self::F32 | Self::F16 | Self::List => "the vector",
            Self::Int8 => "the vector in bytes, 127 times its values, rounded; only with `int8` in --embedding-type",
            Self::Bits => {
                "the signs of the vector: bits that are 1 for values above 0, the most significant bit of a byte first; \
                 only with `bits` in --embedding-type"
            }
        }
    }
}

/// The types in which a dataset has its vectors: one or more, at most one of which is in the column `embedding`. Written as
/// names with commas between them, the most exact first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EmbeddingTypes {
    /// By the order of [`EmbeddingType::ALL`].
    has: [bool; EmbeddingType::ALL.len()],
}

impl EmbeddingTypes {
    /// Returns the types, the most exact first.
    pub fn iter(self) -> impl Iterator<Item = EmbeddingType> {
        EmbeddingType::ALL.into_iter().zip(self.has).filter_map(|(kind, has)| has.then_some(kind))
    }

    /// Returns the most exact type.
    pub fn best(self) -> EmbeddingType {
        self.iter().next().unwrap_or_default()
    }

    /// Returns whether vectors stored in these types can be stored in the types `wanted` as if they were computed again.
    pub fn serve(self, wanted: Self) -> bool {
        self.best().is_exact() || wanted.iter().all(|wanted| self.iter().any(|kind| kind == wanted))
    }
}

impl From<EmbeddingType> for EmbeddingTypes {
    fn from(kind: EmbeddingType) -> Self {
        Self { has: EmbeddingType::ALL.map(|one| one == kind) }
    }
}

impl Default for EmbeddingTypes {
    fn default() -> Self {
        EmbeddingType::default().into()
    }
}

impl fmt::Display for EmbeddingTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.iter().map(EmbeddingType::name).collect::<Vec<_>>().join(","))
    }
}

impl FromStr for EmbeddingTypes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut types = Self { has: [false; EmbeddingType::ALL.len()] };
        for name in text.split(',') {
            let kind: EmbeddingType = name.trim().parse()?;
            if let Some(known) = types.iter().find(|known| known.column() == kind.column()) {
                return Err(if known == kind {
                    format!("`{text}` has `{kind}` twice; name each type once")
                } else {
                    format!("`{known}` and `{kind}` are for the same column; choose one of them")
                });
            }
            types.has = std::array::from_fn(|at| types.has[at] || EmbeddingType::ALL[at] == kind);
        }
        Ok(types)
    }
}

impl Value for EmbeddingTypes {
    fn read(text: &str) -> Result<Self, String> {
        text.parse()
    }

    fn schema() -> Json {
        let name = EmbeddingType::ALL.map(EmbeddingType::name).join("|");
        json!({"type": "string", "pattern": format!("^({name})(,({name}))*$")})
    }
}

impl Serialize for EmbeddingTypes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EmbeddingTypes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A vector stored with each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Representation {
    /// Number of dimensions.
    pub dim: usize,
    /// Type in which vectors are stored.
    pub stored: EmbeddingType,
}

impl Representation {
    /// Returns the representations of a dataset, the most exact first: the vector of the text that the model sees of a
    /// chunk. It depends on nothing else, so the [cache](crate::cache) can look it up by that text.
    pub fn all(dim: usize, types: EmbeddingTypes) -> Vec<Self> {
        types.iter().map(|stored| Self { dim, stored }).collect()
    }

    /// Returns the representations that the vectors can be restored from, see [`restore`]: the first alone if it is exact.
    pub fn sources(all: &[Self]) -> &[Self] {
        match all {
            [first, ..] if first.stored.is_exact() => &all[..1],
            all => all,
        }
    }

    /// Returns its column in `chunks`.
    pub fn column(&self) -> &'static str {
        self.stored.column()
    }

    /// Returns the description of a vector column; `None` for other columns.
    pub fn describe(column: &str) -> Option<&'static str> {
        EmbeddingType::ALL.into_iter().find(|kind| kind.column() == column).map(EmbeddingType::holds)
    }

    /// Returns the number of values that are stored of a vector.
    pub fn width(&self) -> usize {
        if self.stored == EmbeddingType::Bits { self.dim.div_ceil(8) } else { self.dim }
    }

    /// Returns the number of bytes of a vector.
    pub fn bytes(&self) -> usize {
        self.width()
            * match self.stored {
                EmbeddingType::F32 | EmbeddingType::List => 4,
                EmbeddingType::F16 => 2,
                EmbeddingType::Int8 | EmbeddingType::Bits => 1,
            }
    }

    /// Returns vectors, row after row, as they are stored.
    pub fn store(&self, vectors: &[f32]) -> StoredVectors {
        match self.stored {
            EmbeddingType::F32 | EmbeddingType::List => StoredVectors::F32(vectors.to_vec()),
            EmbeddingType::F16 => StoredVectors::F16(vectors.iter().map(|&x| f16::from_f32(x)).collect()),
            EmbeddingType::Int8 => StoredVectors::Int8(vectors.iter().map(|&x| int8(x)).collect()),
            EmbeddingType::Bits => StoredVectors::Bits(
                vectors.chunks(self.dim.max(1)).flat_map(|vector| vector.chunks(8).map(bits)).collect(),
            ),
        }
    }
}

/// Vectors as a column has them, row after row.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredVectors {
    /// Of [`EmbeddingType::F32`] or [`EmbeddingType::List`].
    F32(Vec<f32>),
    /// Of [`EmbeddingType::F16`].
    F16(Vec<f16>),
    /// Of [`EmbeddingType::Int8`].
    Int8(Vec<i8>),
    /// Of [`EmbeddingType::Bits`]. Each row begins with a new byte; the bits after the last dimension are 0.
    Bits(Vec<u8>),
}

impl StoredVectors {
    /// Returns the vectors that these stand for, of `dim` values. Those of bits have length 1; bits cannot say that a vector is
    /// zero.
    pub fn floats(&self, dim: usize) -> Vec<f32> {
        match self {
            Self::F32(values) => values.clone(),
            Self::F16(values) => values.iter().map(|x| x.to_f32()).collect(),
            Self::Int8(values) => values.iter().map(|&x| f32::from(x) / INT8_ONE).collect(),
            Self::Bits(values) => {
                #[expect(clippy::cast_precision_loss, reason = "dimensions are few")]
                let size = 1.0 / (dim as f32).sqrt();
                let rows = values.chunks(dim.div_ceil(8).max(1));
                rows.flat_map(|row| (0..dim).map(|at| if bit(row, at) { size } else { -size })).collect()
            }
        }
    }

    /// Returns for each row whether both have the same values in it. Each row has `width` values.
    pub fn equal_rows(&self, other: &Self, width: usize) -> Vec<bool> {
        fn equal<T: PartialEq>(a: &[T], b: &[T], width: usize) -> Vec<bool> {
            a.chunks(width.max(1)).zip(b.chunks(width.max(1))).map(|(a, b)| a == b).collect()
        }
        match (self, other) {
            (Self::F32(a), Self::F32(b)) => equal(a, b, width),
            (Self::F16(a), Self::F16(b)) => equal(a, b, width),
            (Self::Int8(a), Self::Int8(b)) => equal(a, b, width),
            (Self::Bits(a), Self::Bits(b)) => equal(a, b, width),
            _ => Vec::new(),
        }
    }
}

/// Returns vectors that every one of some columns, the most exact first, stores as it does: the computed vectors if a column
/// is exact. If columns are not of the same vectors, there are none, and storing the result again shows it.
pub fn restore(columns: &[StoredVectors], dim: usize) -> Vec<f32> {
    let Some((first, others)) = columns.split_first() else { return Vec::new() };
    let mut vectors = first.floats(dim);
    for column in others {
        match column {
            StoredVectors::F32(_) | StoredVectors::F16(_) => {}
            StoredVectors::Int8(values) => {
                // No value is stored as the smallest byte, so damage stays what it is.
                let differs = |x: f32, value: i8| x.is_finite() && value != i8::MIN && int8(x) != value;
                for (x, &value) in vectors.iter_mut().zip(values).filter(|(x, value)| differs(**x, **value)) {
                    *x = nearest_that_rounds_to(*x, value);
                }
            }
            StoredVectors::Bits(values) => {
                for (vector, row) in vectors.chunks_mut(dim.max(1)).zip(values.chunks(dim.div_ceil(8).max(1))) {
                    for (at, x) in vector.iter_mut().enumerate() {
                        // A value so small that coarser types round it to 0 keeps its sign here.
                        if bit(row, at) && *x <= 0.0 {
                            *x = f32::MIN_POSITIVE;
                        }
                    }
                }
            }
        }
    }
    vectors
}

/// Returns a value of a unit vector as a byte: rounded to nearest, ties to even, like `numpy.rint`.
fn int8(x: f32) -> i8 {
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    let rounded = (x * INT8_ONE).round_ties_even().clamp(-INT8_ONE, INT8_ONE) as i8;
    rounded
}

/// Returns the number nearest to `x` that is stored as `value`, which `x` is not.
fn nearest_that_rounds_to(x: f32, value: i8) -> f32 {
    let side = if int8(x) < value { -1.0 } else { 1.0 };
    // Towards `x`, and away from it.
    let step = |edge: f32, to: f32| if to < 0.0 { edge.next_down() } else { edge.next_up() };
    let mut edge = (f32::from(value) + 0.5 * side) / INT8_ONE;
    while int8(step(edge, side)) == value {
        edge = step(edge, side);
    }
    while int8(edge) != value {
        edge = step(edge, -side);
    }
    edge
}

/// Returns up to eight values as bits.
fn bits(values: &[f32]) -> u8 {
    values.iter().enumerate().fold(0, |byte, (at, &x)| byte | u8::from(x > 0.0) << (7 - at))
}

/// Returns whether the value of a dimension is above 0.
fn bit(row: &[u8], at: usize) -> bool {
    row.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
}
