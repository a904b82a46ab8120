//! Representations of chunks for search: vectors computed from some text, of one width and one number type. A
//! dataset currently has one. Columns, encodings, checks, searches and the harness's figures derive from this value,
//! so this is the place to declare a second one. Code that relies on there being exactly one destructures
//! [`all`](Representation::all), so the compiler points to it.

use chunkmill_base::value::named;

named! {
    /// How vectors are stored.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum EmbeddingType: "a type of embedding" {
        /// `FixedSizeList<Float32>`.
        #[default]
        F32 = "f32",
        /// `FixedSizeList<Float16>`: half the size, about three decimal digits.
        F16 = "f16",
        /// `List<Float32>`, for readers without fixed-size lists.
        List = "list",
    }
}

impl EmbeddingType {
    /// Returns the number of bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::List => 4,
        }
    }

    /// Returns how far rounding may move the length of a vector from 1.
    pub fn tolerance(self) -> f64 {
        match self {
            Self::F16 => 1e-3,
            Self::F32 | Self::List => 1e-4,
        }
    }

    /// Returns whether storing values of this type again as `wanted` has the same result as storing the computed ones.
    pub fn serves(self, wanted: Self) -> bool {
        self == wanted || self != Self::F16
    }
}

/// A vector stored with each chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Representation {
    /// Its column in `chunks`.
    pub column: &'static str,
    /// Description of the column's contents.
    pub holds: &'static str,
    /// Number of values in a vector.
    pub dim: usize,
    /// Type they are stored as.
    pub stored: EmbeddingType,
}

impl Representation {
    /// Returns the representations of a dataset: the vector of the text that the model sees of a chunk. It depends on
    /// nothing else, so the [cache](crate::cache) can look it up by that text.
    pub fn all(dim: usize, stored: EmbeddingType) -> [Self; 1] {
        [Self { column: "embedding", holds: "the vector", dim, stored }]
    }

    /// Returns the description of a vector column; `None` for other columns.
    pub fn describe(column: &str) -> Option<&'static str> {
        let known = Self::all(0, EmbeddingType::default());
        known.into_iter().find(|known| known.column == column).map(|known| known.holds)
    }

    /// Returns the number of bytes of a vector's values.
    pub fn bytes(&self) -> usize {
        self.dim * self.stored.bytes()
    }
}
