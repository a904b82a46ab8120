//! What stands for a chunk in a search: vectors, each of some text, of one width, in numbers of one type. A dataset has
//! one today. Columns, encodings, checks, searches and the harness's figures follow from this value, so that a second one
//! is declared here; whoever relies on there being one takes [`all`](Representation::all) apart, and the compiler names
//! the place.

use crate::value::named;

/// How vectors are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmbeddingType {
    /// `FixedSizeList<Float32>`.
    #[default]
    F32,
    /// `FixedSizeList<Float16>`: half the size, about three decimal digits.
    F16,
    /// `List<Float32>`, for readers that know no fixed-size lists.
    List,
}

impl EmbeddingType {
    /// Every type.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::List];

    /// The name used in settings and manifests.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::List => "list",
        }
    }

    /// Bytes of a value.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::List => 4,
        }
    }

    /// How far from 1 rounding may take the length of a vector.
    #[must_use]
    pub fn tolerance(self) -> f64 {
        match self {
            Self::F16 => 1e-3,
            Self::F32 | Self::List => 1e-4,
        }
    }

    /// Whether values that were stored so, and are to be stored as `wanted`, are still what was computed.
    #[must_use]
    pub fn serves(self, wanted: Self) -> bool {
        self == wanted || self != Self::F16
    }
}

named!(EmbeddingType, "a type of embedding");

/// A vector that each chunk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Representation {
    /// Its column in `chunks`.
    pub column: &'static str,
    /// What the column holds, in words.
    pub holds: &'static str,
    /// Values in a vector.
    pub dim: usize,
    /// How they are stored.
    pub stored: EmbeddingType,
}

impl Representation {
    /// Those of a dataset: the vector of the text that the model sees of a chunk, and of nothing else, which is why the
    /// [cache](super::cache) can find it by that text.
    #[must_use]
    pub fn all(dim: usize, stored: EmbeddingType) -> [Self; 1] {
        [Self { column: "embedding", holds: "the vector", dim, stored }]
    }

    /// What a column of vectors holds; `None` if it is another one.
    #[must_use]
    pub fn describe(column: &str) -> Option<&'static str> {
        let known = Self::all(0, EmbeddingType::default());
        known.into_iter().find(|known| known.column == column).map(|known| known.holds)
    }

    /// Bytes of a vector's values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.dim * self.stored.bytes()
    }
}
