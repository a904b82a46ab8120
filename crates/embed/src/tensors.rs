//! A model's weights as plain numbers, for the built-in encoder.

use std::collections::HashMap;
use std::ops::Range;

use chunkmill_base::error::Result;
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors};

use crate::folder::Folder;
use crate::modules::Module;

/// Bytes of the header's length, at the start of a file.
const LENGTH: usize = 8;

/// A model's weights by name.
pub(super) struct Tensors {
    files: Vec<Vec<u8>>,
    places: HashMap<String, Place>,
}

/// The location of a tensor and the encoding of its numbers.
struct Place {
    file: usize,
    bytes: Range<usize>,
    dtype: Dtype,
    shape: Vec<usize>,
}

/// The shape of a tensor and its values, row by row.
pub(super) type FloatTensor = (Vec<usize>, Vec<f32>);

impl Tensors {
    /// Reads and checks the weights of a module.
    pub(super) fn read(folder: &mut Folder, module: &Module) -> Result<Self> {
        let files = folder.weights(module)?;
        let mut places: HashMap<String, Place> = HashMap::new();
        for (file, bytes) in files.iter().enumerate() {
            // This checks that the tensors fill the file without gaps and have as many bytes as their shapes say.
            let (header, metadata) = SafeTensors::read_metadata(bytes)
                .map_err(|error| folder.error(format!("weights: {error}"), "pull the model again"))?;
            for (name, info) in metadata.tensors() {
                let (start, end) = info.data_offsets;
                let bytes = LENGTH + header + start..LENGTH + header + end;
                let name = renamed(name);
                let place = Place { file, bytes, dtype: info.dtype, shape: info.shape.clone() };
                if places.insert(name.clone(), place).is_some() {
                    return Err(
                        folder.error(format!("weights: the tensor `{name}` is there twice"), "pull the model again")
                    );
                }
            }
        }
        Ok(Self { files, places })
    }

    /// Returns the names of all tensors.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// Returns a tensor in f32, or why it cannot be converted; `None` if there is no tensor of this name.
    pub(super) fn floats(&self, name: &str) -> Option<Result<FloatTensor, String>> {
        let (Place { dtype, shape, .. }, bytes) = self.find(name)?;
        let values = match dtype {
            Dtype::F32 => numbers(bytes, f32::from_le_bytes),
            Dtype::F16 => numbers(bytes, |bytes| f16::from_le_bytes(bytes).to_f32()),
            Dtype::BF16 => numbers(bytes, |bytes| bf16::from_le_bytes(bytes).to_f32()),
            #[expect(clippy::cast_possible_truncation, reason = "weights are computed with in f32")]
            Dtype::F64 => numbers(bytes, |bytes| f64::from_le_bytes(bytes) as f32),
            other => {
                return Some(Err(format!("the tensor `{name}` is of type {other:?}, not of a floating-point type")));
            }
        };
        Some(Ok((shape.clone(), values)))
    }

    /// Returns the values of a tensor of this shape, or why it is not one; `None` if there is no tensor of this name.
    pub(super) fn shaped(&self, name: &str, shape: &[usize]) -> Option<Result<Vec<f32>, String>> {
        let of_shape = |(found, values): FloatTensor| {
            if found == shape { Ok(values) } else { Err(format!("the tensor `{name}` is {found:?}, not {shape:?}")) }
        };
        Some(self.floats(name)?.and_then(of_shape))
    }

    /// Returns a tensor of signed bytes or floats, in f32.
    pub(super) fn numbers(&self, name: &str) -> Option<Result<FloatTensor, String>> {
        match self.find(name)? {
            #[expect(clippy::cast_possible_wrap, reason = "the bits are those of a signed byte")]
            (Place { dtype: Dtype::I8, shape, .. }, bytes) => {
                Some(Ok((shape.clone(), bytes.iter().map(|&byte| f32::from(byte as i8)).collect())))
            }
            _ => self.floats(name),
        }
    }

    /// Returns a tensor as a list of positions, or why it is not one; `None` if there is no tensor of this name.
    pub(super) fn positions(&self, name: &str) -> Option<Result<Vec<u32>, String>> {
        let (Place { dtype, .. }, bytes) = self.find(name)?;
        let positions: Option<Vec<u32>> = match dtype {
            Dtype::I64 => numbers(bytes, |bytes| u32::try_from(i64::from_le_bytes(bytes)).ok()),
            Dtype::I32 => numbers(bytes, |bytes| u32::try_from(i32::from_le_bytes(bytes)).ok()),
            Dtype::U32 => numbers(bytes, |bytes| Some(u32::from_le_bytes(bytes))),
            other => return Some(Err(format!("the tensor `{name}` is of type {other:?}, not of an integer type"))),
        };
        Some(positions.ok_or_else(|| format!("the tensor `{name}` contains a number that is not a valid position")))
    }

    fn find(&self, name: &str) -> Option<(&Place, &[u8])> {
        let place = self.places.get(name)?;
        Some((place, &self.files[place.file][place.bytes.clone()]))
    }
}

/// Returns the present name of a tensor: files that were converted from TensorFlow call the parameters of a norm `gamma` and
/// `beta`, which transformers renames too.
fn renamed(name: String) -> String {
    let now = [(".gamma", ".weight"), (".beta", ".bias")];
    now.iter().find_map(|(then, now)| Some(format!("{}{now}", name.strip_suffix(then)?))).unwrap_or(name)
}

/// Returns the prefix of a network's tensor names in files of larger models, for example `bert.`: the shortest
/// prefix found before one of `first`.
pub(super) fn prefix<'n>(names: impl Iterator<Item = &'n str>, first: &[&str]) -> &'n str {
    let prefixes = names.filter_map(|name| first.iter().find_map(|first| name.strip_suffix(first)));
    let whole = prefixes.filter(|prefix| prefix.is_empty() || prefix.ends_with('.'));
    whole.min_by_key(|prefix| (prefix.len(), *prefix)).unwrap_or_default()
}

/// Returns whether a tensor affects the hidden states. Task heads and computed tables do not.
pub(super) fn in_network(name: &str) -> bool {
    let parts =
        ["embeddings.", "embed_tokens.", "emb_ln.", "encoder.", "transformer.", "layers.", "final_norm.", "norm."];
    let computed = [".position_ids", ".token_type_ids", ".inv_freq"];
    parts.iter().any(|part| name.starts_with(part)) && !computed.iter().any(|end| name.ends_with(end))
}

fn numbers<const N: usize, T, C: FromIterator<T>>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> C {
    bytes.as_chunks().0.iter().map(|&bytes| number(bytes)).collect()
}
