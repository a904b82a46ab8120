//! A model's weights as plain numbers, for our own encoder.

use std::collections::HashMap;
use std::ops::Range;

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

use super::folder::Folder;
use crate::error::Result;

/// Bytes before a file's header: its length.
const LENGTH: usize = 8;

/// A model's weights by name.
pub(super) struct Tensors {
    files: Vec<Vec<u8>>,
    places: HashMap<String, Place>,
}

/// Where a tensor is, and how its numbers are written.
struct Place {
    file: usize,
    bytes: Range<usize>,
    dtype: Dtype,
    shape: Vec<usize>,
}

/// The shape of a tensor and its values, row by row.
pub(super) type Floats = (Vec<usize>, Vec<f32>);

impl Tensors {
    /// Reads and checks those of the network.
    pub(super) fn read(folder: &mut Folder) -> Result<Self> {
        let files = folder.weights()?;
        Self::new(folder, files)
    }

    /// Checks those of some files.
    pub(super) fn new(folder: &Folder, files: Vec<Vec<u8>>) -> Result<Self> {
        let mut places = HashMap::new();
        for (file, bytes) in files.iter().enumerate() {
            // It checks that tensors lie side by side up to the end, and have as many bytes as their shapes say.
            let (header, metadata) = SafeTensors::read_metadata(bytes)
                .map_err(|error| folder.error(format!("weights: {error}"), "pull the model again"))?;
            places.extend(metadata.tensors().into_iter().map(|(name, info)| {
                let (start, end) = info.data_offsets;
                let bytes = LENGTH + header + start..LENGTH + header + end;
                (name, Place { file, bytes, dtype: info.dtype, shape: info.shape.clone() })
            }));
        }
        Ok(Self { files, places })
    }

    /// The names of all.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// A tensor in f32, or why it has no such form; `None` if there is none of this name.
    pub(super) fn floats(&self, name: &str) -> Option<Result<Floats, String>> {
        let Place { file, bytes, dtype, shape } = self.places.get(name)?;
        let bytes = &self.files[*file][bytes.clone()];
        let values = match dtype {
            Dtype::F32 => numbers(bytes, f32::from_le_bytes),
            Dtype::F16 => numbers(bytes, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Dtype::BF16 => numbers(bytes, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            #[expect(clippy::cast_possible_truncation, reason = "weights are computed with in f32")]
            Dtype::F64 => numbers(bytes, |bytes| f64::from_le_bytes(bytes) as f32),
            other => {
                return Some(Err(format!("the tensor `{name}` is of type {other:?}, not of floating-point numbers")));
            }
        };
        Some(Ok((shape.clone(), values)))
    }
}

/// What stands before every name of a network's tensors in files of larger models, `bert.` for example: the shortest
/// thing that stands before one of `first`.
pub(super) fn prefix<'n>(names: impl Iterator<Item = &'n str>, first: &[&str]) -> &'n str {
    let prefixes = names.filter_map(|name| first.iter().find_map(|first| name.strip_suffix(first)));
    let whole = prefixes.filter(|prefix| prefix.is_empty() || prefix.ends_with('.'));
    whole.min_by_key(|prefix| (prefix.len(), *prefix)).unwrap_or_default()
}

/// Whether a tensor decides the hidden states: neither a head for some task nor a table that is computed.
pub(super) fn in_network(name: &str) -> bool {
    let parts = ["embeddings.", "emb_ln.", "encoder.", "transformer.", "layers.", "final_norm."];
    let computed = [".position_ids", ".token_type_ids", ".inv_freq"];
    parts.iter().any(|part| name.starts_with(part)) && !computed.iter().any(|end| name.ends_with(end))
}

fn numbers<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| number(bytes)).collect()
}
