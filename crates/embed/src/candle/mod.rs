//! Models that run through candle, on any device. Only this folder uses the tensor library.
//!
//! Texts of equal length are computed without padding and without a mask. On the CPU [`batch`] makes only batches of
//! equal length, so a vector does not depend on the other texts in its batch. On a GPU it makes batches of one bucket,
//! and texts are padded to its width; see there for what that means for the last bits.
//!
//! [`batch`]: crate::batch

mod decoder;
mod mask;
mod network;

use std::collections::HashMap;

use candle_core::{DType, Tensor};
use chunkmill_base::error::{Error, Result};
use chunkmill_text::tokens::TokenCounter;

use network::{CandleNetwork, Family, SUPPORTED};

use crate::backend::{Backend, Device, Engine, PrecisionSetting};
use crate::embedder::{Batching, Embedder, EncodedText, ModelInfo, ModelInput, Parallel, Reads, Role, failed};
use crate::folder::Folder;
use crate::head::Head;
use crate::kernel::{Isa, Precision};
use crate::late;
use crate::late::{Token, TokenEmbedder, Window};
use crate::model::Settings;
use crate::modules::Module;
use crate::split::bucket;
use crate::tokenizer::ModelTokenizer;

pub(super) struct Candle {
    info: ModelInfo,
    tokenizer: ModelTokenizer,
    head: Head,
    /// Width of the network's states.
    hidden: usize,
    network: CandleNetwork,
    device: candle_core::Device,
    /// Whether texts are padded to the width of their bucket.
    padded: bool,
}

impl Candle {
    pub(super) fn load(mut folder: Folder, mut settings: Settings, backend: Backend) -> Result<Self> {
        let device = backend.device;
        let family = Family::read(&settings.model_type, &settings.config, settings.tokenizer.max_tokens())
            .map_err(|e| folder.error(format!("config.json: {e}"), "the file is damaged or too new"))?
            .ok_or_else(|| {
                let problem = format!("networks of type `{}` are not supported", settings.model_type);
                folder.error(problem, &format!("use a model of type {SUPPORTED}"))
            })?;
        let hidden = family.dim();
        let dim = settings.fit(&folder, hidden, backend.dimensions)?;
        let (precision, dtype) = precision(backend, &family)?;
        if device == Device::Cpu {
            // Texts are embedded in parallel, so matrix products must not be split across threads again.
            gemm::set_threading_threshold(usize::MAX);
        }
        let device = open(device)?;
        let tensors = read(&mut folder, &settings.network, &device)?;
        let damaged = |e: candle_core::Error| folder.error(format!("weights: {e}"), "pull the model again");
        let network = family.build(tensors, dtype, &device).map_err(damaged)?;
        // Candle's matrix products choose instructions by processor; our instruction set identifies it well enough.
        let libraries = [cfg!(feature = "accelerate"), cfg!(feature = "mkl")];
        let arithmetic = format!("{:?} {} {libraries:?}", device.location(), Isa::best());
        let info = settings.info(&folder, dim, Engine::Candle, precision, arithmetic);
        let padded = !device.is_cpu() && network.pads();
        Ok(Self { info, tokenizer: settings.tokenizer, head: settings.head, hidden, network, device, padded })
    }

    /// Returns the width at which a text of this length is computed.
    fn padded_to(&self, len: usize) -> usize {
        if self.padded { bucket(len, self.info.max_tokens) } else { len }
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
        let width = self.padded_to(batch.iter().map(|ids| ids.len()).max().unwrap_or_default());
        if width == 0 {
            return Ok(vec![0.0; batch.len() * self.info.dim]);
        }
        if !self.padded && !self.network.masks() && batch.iter().any(|ids| ids.len() != width) {
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
        let on_cpu = self.device.is_cpu();
        // Small batches are fastest on a CPU, because their data stays in its cache. A GPU is idle without large ones.
        let tokens = if on_cpu { 2048 } else { 16_384 };
        let parallel = if on_cpu { Parallel::Cores } else { Parallel::One };
        let (texts, padded) = (usize::MAX, self.padded);
        Batching { reads: Reads::Ids, tokens, texts, mixed: false, padded, parallel, remember: true }
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
        // On the CPU, windows of one length need no padding.
        for alike in windows.chunk_by(|a, b| self.padded_to(a.ids.len()) == self.padded_to(b.ids.len())) {
            let width = self.padded_to(alike[0].ids.len());
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

/// Returns the precision to compute in, and the type of its numbers.
fn precision(backend: Backend, family: &Family) -> Result<(Precision, DType)> {
    let PrecisionSetting::Fixed(precision) = backend.precision else { return Ok((Precision::F32, DType::F32)) };
    let refused = |problem: String| Error::Setting {
        origin: "precision".to_owned(),
        problem,
        help: "use --precision auto".to_owned(),
    };
    let dtype = match precision {
        Precision::F32 => return Ok((precision, DType::F32)),
        Precision::F16 => DType::F16,
        Precision::Bf16 => DType::BF16,
        Precision::Int8 => return Err(refused("candle computes this model in f32, not in int8".to_owned())),
    };
    if backend.device == Device::Cpu {
        return Err(refused(format!("candle computes this model in f32, not in {precision}, unless it runs on a GPU")));
    }
    if !family.halves() {
        return Err(refused(format!("candle computes this kind of network in f32, not in {precision}")));
    }
    Ok((precision, dtype))
}

fn open(device: Device) -> Result<candle_core::Device> {
    let opened = match device {
        Device::Cpu => return Ok(candle_core::Device::Cpu),
        Device::Cuda(ordinal) => candle_core::Device::new_cuda(ordinal),
        Device::Metal => candle_core::Device::new_metal(0),
    };
    let help = match device {
        Device::Cuda(_) if cfg!(feature = "cuda") => {
            "use --device cpu; or install NVIDIA's driver 580 or newer, and put the folder of libcublas.so.13 and \
             libcurand.so.10 into LD_LIBRARY_PATH"
        }
        _ => "use --device cpu, or build with the feature `cuda` or `metal`",
    };
    opened.map_err(|error| {
        // Candle may add the functions that were called, in the lines below.
        let problem = error.to_string();
        Error::setting(
            "device",
            format!("{device} cannot be used: {}", problem.lines().next().unwrap_or_default()),
            help,
        )
    })
}

#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::{DType, Device, Family, PrecisionSetting, precision};
    use crate::backend::{Backend, Engine};

    fn family(model_type: &str) -> Family {
        let config = br#"{"vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 8, "max_position_embeddings": 8}"#;
        Family::read(model_type, config, 8).unwrap().unwrap()
    }

    fn chosen(device: Device, setting: &str, model_type: &str) -> Result<DType, String> {
        let setting: PrecisionSetting = setting.parse().unwrap();
        let backend = Backend { device, precision: setting, ..Engine::Candle.into() };
        precision(backend, &family(model_type)).map(|(_, dtype)| dtype).map_err(|error| error.to_string())
    }

    #[test]
    fn sixteen_bits_are_for_a_gpu_and_for_networks_that_are_exact_enough_in_them() {
        for device in [Device::Cpu, Device::Cuda(0), Device::Metal] {
            for setting in ["auto", "f32"] {
                assert_eq!(chosen(device, setting, "bert"), Ok(DType::F32), "{device} {setting}");
            }
            assert!(chosen(device, "int8", "bert").unwrap_err().contains("not in int8"), "{device}");
        }
        for (setting, dtype) in [("f16", DType::F16), ("bf16", DType::BF16)] {
            assert_eq!(chosen(Device::Cuda(1), setting, "bert"), Ok(dtype));
            let on_cpu = chosen(Device::Cpu, setting, "bert").unwrap_err();
            assert!(on_cpu.contains("unless it runs on a GPU"), "{on_cpu}");
            let other = chosen(Device::Cuda(0), setting, "modernbert").unwrap_err();
            assert!(other.contains("this kind of network in f32"), "{other}");
        }
    }
}
