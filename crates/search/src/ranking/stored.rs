//! Vectors as a store may keep them: in fewer bits or fewer dimensions. Searching a dataset as if its vectors were reduced shows
//! how much a reduction loses.

use std::fmt;
use std::str::FromStr;

use chunkmill_embed::{EmbeddingTypes, Representation, StoredVectors, is_zero};
use rayon::prelude::*;

use super::column::Column;

/// The form in which a store keeps vectors: types as in `--embedding-type`, the smallest of which is searched and the most exact of
/// which scores the best rows again, optionally with `@N` for only the first N dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StoredAs {
    /// Types in which vectors are kept.
    pub types: EmbeddingTypes,
    /// Number of leading dimensions that are kept; all if `None`.
    pub dimensions: Option<usize>,
}

impl fmt::Display for StoredAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.types)?;
        self.dimensions.map_or(Ok(()), |dimensions| write!(f, "@{dimensions}"))
    }
}

impl FromStr for StoredAs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (types, dimensions) = text.split_once('@').map_or((text, None), |(types, rest)| (types, Some(rest)));
        let types = types.parse()?;
        let dimensions = dimensions.map(|text| text.parse().ok().filter(|&dimensions: &usize| dimensions > 0));
        match dimensions {
            None => Ok(Self { types, dimensions: None }),
            Some(Some(dimensions)) => Ok(Self { types, dimensions: Some(dimensions) }),
            Some(None) => Err(format!("`{text}` does not end in @N, for the first N dimensions")),
        }
    }
}

impl StoredAs {
    /// Returns the number of bytes of a vector with `dim` dimensions.
    pub fn bytes(self, dim: usize) -> usize {
        let dim = self.dimensions.unwrap_or(dim).min(dim);
        Representation::all(dim, self.types).iter().map(Representation::bytes).sum()
    }

    /// Returns the columns that a store would have of vectors of length 1: the most exact and, if there are several, the
    /// smallest. Shortened vectors are scaled to length 1 again.
    pub(super) fn columns(self, mut values: Vec<f32>, dim: usize) -> (Column, Option<Column>) {
        let kept = self.dimensions.unwrap_or(dim).min(dim);
        if kept < dim {
            values = values.par_chunks(dim).flat_map_iter(|vector| shortened(&vector[..kept])).collect();
        }
        let all = Representation::all(kept, self.types);
        let (best, smallest) = (all[0], all[all.len() - 1]);
        let small = (best != smallest).then(|| Column::new(smallest, smallest.store(&values)));
        let zeros: Vec<bool> = values.chunks(kept.max(1)).map(is_zero).collect();
        let stored = if best.stored.is_exact() { StoredVectors::F32(values) } else { best.store(&values) };
        let mut exact = Column::new(best, stored);
        exact.mark_zeros(&zeros);
        (exact, small)
    }
}

/// Returns a vector scaled to length 1.
fn shortened(vector: &[f32]) -> impl Iterator<Item = f32> + '_ {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(move |value| if length > 0.0 { value / length } else { *value })
}
