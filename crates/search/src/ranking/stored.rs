//! Vectors as a store may keep them: in fewer bits or fewer dimensions. A dataset contains them in full. Searching
//! them as if they were reduced shows how much a reduction loses.

use std::fmt;
use std::str::FromStr;

use chunkmill_embed::is_zero;
use rayon::prelude::*;

/// The form in which a store keeps vectors: `f32`, `int8` or `binary`, each optionally with `@N` for only the
/// first N dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StoredAs {
    /// Form in which a value is kept.
    pub value: StoredValue,
    /// Number of leading dimensions that are kept; all if `None`.
    pub dimensions: Option<usize>,
}

/// The form in which a value of a vector is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StoredValue {
    /// Single precision.
    #[default]
    F32,
    /// An integer from −127 to 127, where 127 is the largest absolute value of all vectors.
    Int8,
    /// The sign. The question keeps its values, as in a search that scores the hits of binary codes again.
    Binary,
}

impl StoredValue {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::F32, Self::Int8, Self::Binary];

    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Int8 => "int8",
            Self::Binary => "binary",
        }
    }
}

impl fmt::Display for StoredAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.value.name())?;
        self.dimensions.map_or(Ok(()), |dimensions| write!(f, "@{dimensions}"))
    }
}

impl FromStr for StoredAs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, dimensions) = text.split_once('@').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let value = StoredValue::ALL.into_iter().find(|value| value.name() == name);
        let dimensions = dimensions.map(|text| text.parse().ok().filter(|&dimensions: &usize| dimensions > 0));
        match (value, dimensions) {
            (Some(value), None) => Ok(Self { value, dimensions: None }),
            (Some(value), Some(Some(dimensions))) => Ok(Self { value, dimensions: Some(dimensions) }),
            _ => Err(format!("`{text}` is not f32, int8 or binary, optionally with @N for the first N dimensions")),
        }
    }
}

impl StoredAs {
    /// Returns the number of bytes of a vector with `dim` dimensions.
    pub fn bytes(self, dim: usize) -> usize {
        let kept = self.dimensions.unwrap_or(dim).min(dim);
        match self.value {
            StoredValue::F32 => 4 * kept,
            StoredValue::Int8 => kept,
            StoredValue::Binary => kept.div_ceil(8),
        }
    }

    /// Replaces vectors of length 1, one after the other, by the vectors that the store would return. Shortened
    /// vectors are scaled to length 1 again. Dimensions that are not kept become 0, so questions need not be
    /// shortened.
    pub(super) fn apply(self, values: &mut [f32], dim: usize) {
        let kept = self.dimensions.unwrap_or(dim).min(dim);
        if dim == 0 || (self.value == StoredValue::F32 && kept == dim) {
            return;
        }
        if kept < dim {
            values.par_chunks_mut(dim).for_each(|vector| {
                vector[kept..].fill(0.0);
                let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
                if length > 0.0 {
                    for value in vector.iter_mut() {
                        *value /= length;
                    }
                }
            });
        }
        match self.value {
            StoredValue::F32 => {}
            StoredValue::Int8 => {
                let most = values.par_iter().map(|value| value.abs()).reduce(|| 0.0, f32::max);
                let step = most / 127.0;
                if step > 0.0 {
                    values.par_iter_mut().for_each(|value| *value = (*value / step).round() * step);
                }
            }
            StoredValue::Binary => {
                #[expect(clippy::cast_precision_loss, reason = "dimensions are few")]
                let size = 1.0 / (kept as f32).sqrt();
                // A vector of zeros says nothing, and its signs would say something.
                values.par_chunks_mut(dim).filter(|vector| !is_zero(vector)).for_each(|vector| {
                    for value in &mut vector[..kept] {
                        *value = if *value > 0.0 { size } else { -size };
                    }
                });
            }
        }
    }
}
