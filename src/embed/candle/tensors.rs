//! The weights of a model as candle reads them: for its own networks, and as plain numbers for our encoder.

use std::collections::HashMap;

use candle_core::{DType, Tensor};

use crate::embed::model::Folder;
use crate::error::Result;

/// A model's weights by name.
pub(in crate::embed) struct Tensors(HashMap<String, Tensor>);

impl Tensors {
    /// Reads and checks them.
    pub(super) fn read(folder: &mut Folder, device: &candle_core::Device) -> Result<Self> {
        let mut tensors = HashMap::new();
        for bytes in folder.weights()? {
            let damaged = |e: candle_core::Error| folder.error(format!("weights: {e}"), "pull the model again");
            tensors.extend(candle_core::safetensors::load_buffer(&bytes, device).map_err(damaged)?);
        }
        Ok(Self(tensors))
    }

    /// By their names.
    pub(super) fn into_map(self) -> HashMap<String, Tensor> {
        self.0
    }

    /// Reads and checks them, for another engine.
    pub(in crate::embed) fn on_cpu(folder: &mut Folder) -> Result<Self> {
        Self::read(folder, &candle_core::Device::Cpu)
    }

    /// The shape of a tensor and its values as f32, row by row.
    pub(in crate::embed) fn floats(&self, name: &str) -> Option<(Vec<usize>, Vec<f32>)> {
        let tensor = self.0.get(name)?;
        let values = tensor.to_dtype(DType::F32).and_then(|tensor| tensor.flatten_all()?.to_vec1());
        Some((tensor.dims().to_vec(), values.ok()?))
    }
}
