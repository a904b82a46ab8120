//! Models that run through candle, on any device. Only this module, [`network`] and [`decoder`] use the tensor library.
//!
//! Texts of equal length are computed without padding and without a mask. [`batch`] makes only batches of equal
//! length, so a vector does not depend on the other texts in its batch.
//!
//! [`batch`]: crate::batch

mod decoder;
mod network;

use std::collections::HashMap;

use candle_core::{DType, Tensor};
use chunkmill_base::error::{Error, Result};
use chunkmill_text::tokens::TokenCounter;

use network::{CandleNetwork, Family, SUPPORTED};

use crate::backend::{Backend, Device, Engine, PrecisionSetting};
use crate::embedder::{Batching, Embedder, EncodedText, ModelInfo, ModelInput, Reads, Role, failed};
use crate::folder::Folder;
use crate::head::Head;
use crate::kernel::{Isa, Precision};
use crate::late;
use crate::late::{Token, TokenEmbedder, Window};
use crate::model::Settings;
use crate::modules::Module;
use crate::tokenizer::ModelTokenizer;

pub(super) struct Candle {
    info: ModelInfo,
    tokenizer: ModelTokenizer,
    head: Head,
    /// Width of the network's states.
    hidden: usize,
    network: CandleNetwork,
    device: candle_core::Device,
}

impl Candle {
    pub(super) fn load(mut folder: Folder, mut settings: Settings, backend: Backend) -> Result<Self> {
        let device = backend.device;
        if let PrecisionSetting::Fixed(precision @ (Precision::Bf16 | Precision::Int8)) = backend.precision {
            return Err(Error::setting(
                "precision",
                format!("candle computes this model in f32, not in {precision}"),
                "use --precision auto",
            ));
        }
        let family = Family::read(&settings.model_type, &settings.config, settings.tokenizer.max_tokens())
            .map_err(|e| folder.error(format!("config.json: {e}"), "the file is damaged or too new"))?
            .ok_or_else(|| {
                let problem = format!("networks of type `{}` are not supported", settings.model_type);
                folder.error(problem, &format!("use a model of type {SUPPORTED}"))
            })?;
        let hidden = family.dim();
        let dim = settings.fit(&folder, hidden, backend.dimensions)?;
        if device == Device::Cpu {
            // Texts are embedded in parallel, so matrix products must not be split across threads again.
            gemm::set_threading_threshold(usize::MAX);
        }
        let device = open(device)?;
        let tensors = read(&mut folder, &settings.network, &device)?;
        let damaged = |e: candle_core::Error| folder.error(format!("weights: {e}"), "pull the model again");
        let network = family.build(tensors, &device).map_err(damaged)?;
        // Candle's matrix products choose instructions by processor; our instruction set identifies it well enough.
        let libraries = [cfg!(feature = "accelerate"), cfg!(feature = "mkl")];
        let arithmetic = format!("{:?} {} {libraries:?}", device.location(), Isa::best());
        let info = settings.info(&folder, dim, Engine::Candle, Precision::F32, arithmetic);
        Ok(Self { info, tokenizer: settings.tokenizer, head: settings.head, hidden, network, device })
    }

    fn forward(&self, batch: &[&[u32]], width: usize) -> candle_core::Result<Vec<f32>> {
        let ragged = batch.iter().any(|ids| ids.len() != width);
        let padded = |value: &dyn Fn(&[u32], usize) -> u32| -> candle_core::Result<Tensor> {
            let flat: Vec<u32> = batch.iter().flat_map(|ids| (0..width).map(|at| value(ids, at))).collect();
            Tensor::from_vec(flat, (batch.len(), width), &self.device)
        };
        let ids = padded(&|ids, at| ids.get(at).copied().unwrap_or_default())?;
        let mask = if ragged { Some(padded(&|ids, at| u32::from(at < ids.len()))?) } else { None };
        let hidden = self.network.forward(&ids, mask.as_ref())?;
        hidden.to_dtype(DType::F32)?.flatten_all()?.to_vec1()
    }
}

impl Embedder for Candle {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn encode(&self, text: &str, role: Role) -> Result<EncodedText> {
        self.tokenizer.encode(text, role)
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>> {
        let batch: Vec<&[u32]> = batch.iter().map(|input| input.ids).collect();
        let width = batch.iter().map(|ids| ids.len()).max().unwrap_or_default();
        if width == 0 {
            return Ok(vec![0.0; batch.len() * self.info.dim]);
        }
        if !self.network.masks() && batch.iter().any(|ids| ids.len() != width) {
            return batch
                .iter()
                .map(|ids| self.embed_ids(&[ids]))
                .collect::<Result<Vec<_>>>()
                .map(|rows| rows.concat());
        }
        let hidden = self.hidden;
        let states = self.forward(&batch, width).map_err(|error| failed("running the model")(&error))?;
        let texts = states.chunks(width * hidden).zip(batch).map(|(tokens, ids)| &tokens[..ids.len() * hidden]);
        self.head.vectors(texts, hidden, hidden)
    }

    fn counter(&self) -> &dyn TokenCounter {
        &self.tokenizer
    }

    fn batching(&self) -> Batching {
        // Small batches are fastest on a CPU, because their data stays in its cache.
        Batching { reads: Reads::Ids, tokens: 2048, mixed: false, concurrent: self.device.is_cpu(), remember: true }
    }

    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        self.head.is_mean().then_some(self)
    }
}

impl TokenEmbedder for Candle {
    fn tokens(&self, text: &str) -> Result<Vec<Token>> {
        self.tokenizer.tokens(text)
    }

    fn frame(&self, name: Option<&str>) -> Result<[Vec<u32>; 2]> {
        self.tokenizer.frame(name)
    }

    fn sums(&self, windows: &[&Window]) -> Result<Vec<f32>> {
        let dim = self.hidden;
        let mut sums = Vec::new();
        // Windows of one length need no padding.
        for alike in windows.chunk_by(|a, b| a.ids.len() == b.ids.len()) {
            let width = alike[0].ids.len();
            let batch: Vec<&[u32]> = alike.iter().map(|window| window.ids.as_slice()).collect();
            let hidden = self.forward(&batch, width).map_err(|error| failed("running the model")(&error))?;
            for (states, window) in hidden.chunks_exact(width * dim).zip(alike) {
                late::sum(states, dim, dim, &window.ranges, &mut sums);
            }
        }
        Ok(sums)
    }

    fn width(&self) -> usize {
        self.hidden
    }

    fn finish(&self, mean: Vec<f32>) -> Vec<f32> {
        self.head.finish(mean)
    }
}

/// Reads a model's weights, by name.
fn read(folder: &mut Folder, network: &Module, device: &candle_core::Device) -> Result<HashMap<String, Tensor>> {
    let mut tensors = HashMap::new();
    for bytes in folder.weights(network)? {
        let damaged = |e: candle_core::Error| folder.error(format!("weights: {e}"), "pull the model again");
        tensors.extend(candle_core::safetensors::load_buffer(&bytes, device).map_err(damaged)?);
    }
    Ok(tensors)
}

fn open(device: Device) -> Result<candle_core::Device> {
    let opened = match device {
        Device::Cpu => return Ok(candle_core::Device::Cpu),
        Device::Cuda(ordinal) => candle_core::Device::new_cuda(ordinal),
        Device::Metal => candle_core::Device::new_metal(0),
    };
    opened.map_err(|error| {
        Error::setting(
            "device",
            format!("{device} cannot be used: {error}"),
            "use --device cpu, or build with the feature `cuda` or `metal`",
        )
    })
}
