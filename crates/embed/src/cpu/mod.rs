//! Models of the BERT family on the CPU. chunkmill's speed depends on this module.
//!
//! [`kernel`](crate::kernel) is the arithmetic, compiled for each instruction set. `encoder` is the network that uses it.
//! `weights` reads the various formats in which networks are stored. `cross` and `classifier` use the encoder to
//! score pairs of texts. Texts of any lengths share a batch without padding, and each core processes its own
//! batches without waiting for others.
//!
//! # Precision
//!
//! `auto` is bf16 if the processor has instructions that multiply bf16, otherwise f32. bf16 keeps every golden
//! vector of all-MiniLM-L6-v2 within a cosine of .9999 of f32. int8 is even faster and keeps them within .999. It
//! changed nDCG@10 on `SciFact` by .0003, but by up to .003 with blocks of other sizes. A figure that varies this
//! much says little about other corpora, so int8 must be selected explicitly.

mod classifier;
pub(super) mod cross;
mod encoder;
mod samples;
mod weights;

use std::sync::{Mutex, PoisonError};

use chunkmill_base::error::Result;
use chunkmill_text::tokens::TokenCounter;

use crate::backend::{Backend, Device, Dimensions, Engine};
use crate::embedder::{Batching, Embedder, Encoded, ModelInfo, Role, failed};
use crate::folder::Folder;
use crate::head::Head;
use crate::kernel::{Isa, Kernel, Precision};
use crate::late::{self, Token, TokenEmbedder, Window};
use crate::model::Settings;
use crate::modules::Module;
use crate::tensors::Tensors;
use crate::tokenizer::ModelTokenizer;
use encoder::{Encoder, Tokens, Workspace};
use weights::Network;

/// Default number of tokens in a batch. With this size, the data that is processed together stays in a core's
/// cache.
const BATCH_TOKENS: usize = 384;

/// A plan for running a model, made before any weights are read.
pub(super) struct Plan {
    network: Network,
    kernel: Kernel,
}

impl Plan {
    /// Makes the plan, or returns why this encoder cannot run the model.
    pub(super) fn new(config: &[u8], max_tokens: usize, backend: Backend) -> std::result::Result<Self, String> {
        if backend.device != Device::Cpu {
            return Err(format!("it does not run on {}", backend.device));
        }
        let isa = backend.isa.unwrap_or_else(Isa::best);
        let precision = backend.precision.on(isa);
        let kernel = Kernel::new(isa, precision).ok_or_else(|| format!("this processor does not support {isa}"))?;
        let network = Network::read(config, max_tokens)?;
        Ok(Self { network, kernel })
    }
}

/// A network with its weights.
struct Running {
    encoder: Encoder,
    /// Width of the network's states.
    hidden: usize,
    precision: Precision,
    isa: Isa,
    /// Workspaces not in use; there is one for each thread that has run the network so far.
    idle: Mutex<Vec<Workspace>>,
}

impl Running {
    /// Reads and prepares a network's weights. Also returns all tensors of its files.
    fn load(folder: &mut Folder, module: &Module, plan: Plan, tokenizer: &ModelTokenizer) -> Result<(Self, Tensors)> {
        let Plan { network, kernel } = plan;
        let tensors = Tensors::read(folder, module)?;
        let damaged = |problem: String| folder.error(format!("weights: {problem}"), "pull the model again");
        let weights = network.open(&tensors).map_err(damaged)?;
        let embeddings = weights.embeddings().map_err(damaged)?;
        let (hidden, precision, isa) = (network.shape().hidden, kernel.precision(), kernel.isa());
        let samples = if precision == Precision::Int8 { samples::encode(tokenizer)? } else { Vec::new() };
        let samples: Vec<&[u32]> = samples.iter().map(Vec::as_slice).filter(|ids| network.has_all(ids)).collect();
        let layer = |index| weights.layer(index);
        let encoder = Encoder::new(kernel, network.shape().clone(), embeddings, &samples, layer).map_err(damaged)?;
        weights.all_read().map_err(damaged)?;
        tracing::info!("{} runs on the CPU in {precision} with {isa}", folder.id);
        Ok((Self { encoder, hidden, precision, isa, idle: Mutex::default() }, tensors))
    }

    /// Runs the network on a batch and returns what `make` returns for the hidden states of each text's wanted tokens.
    /// `seconds` says at which token of each text a second text begins; texts without an entry have none.
    fn states<T>(
        &self,
        batch: &[&[u32]],
        seconds: &[usize],
        wanted: Tokens,
        make: impl FnOnce(&mut dyn ExactSizeIterator<Item = &[f32]>) -> T,
    ) -> Result<T> {
        if let Some(problem) = batch.iter().find_map(|ids| self.encoder.refuses(ids)) {
            return Err(failed("running the model")(&problem));
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = idle().pop().unwrap_or_default();
        let mut rest = self.encoder.forward(batch, seconds, wanted, &mut workspace);
        let mut texts = batch.iter().map(|ids| {
            let count = if wanted == Tokens::All { ids.len() } else { 1 };
            let (tokens, after) = rest.split_at(count * self.encoder.stride());
            rest = after;
            tokens
        });
        let result = make(&mut texts);
        idle().push(workspace);
        Ok(result)
    }
}

/// A model of the BERT family.
pub(super) struct Cpu {
    info: ModelInfo,
    tokenizer: ModelTokenizer,
    head: Head,
    running: Running,
}

impl Cpu {
    pub(super) fn load(
        mut folder: Folder,
        mut settings: Settings,
        plan: Plan,
        dimensions: Option<Dimensions>,
    ) -> Result<Self> {
        let dim = settings.fit(&folder, plan.network.shape().hidden, dimensions)?;
        let (running, _) = Running::load(&mut folder, &settings.network, plan, &settings.tokenizer)?;
        let info = settings.info(&folder, dim, Engine::Cpu, running.precision, running.isa.name().to_owned());
        let Settings { tokenizer, head, .. } = settings;
        Ok(Self { info, tokenizer, head, running })
    }
}

impl Embedder for Cpu {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn encode(&self, text: &str, role: Role) -> Result<Encoded> {
        self.tokenizer.encode(text, role)
    }

    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<f32>> {
        let stride = self.running.encoder.stride();
        let wanted = if self.head.is_cls() { Tokens::First } else { Tokens::All };
        self.running.states(batch, &[], wanted, |texts| self.head.vectors(texts, stride, self.running.hidden))?
    }

    fn counter(&self) -> &dyn TokenCounter {
        &self.tokenizer
    }

    fn batching(&self) -> Batching {
        Batching { tokens: BATCH_TOKENS, mixed: true, concurrent: true, remember: true }
    }

    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        self.head.is_mean().then_some(self)
    }
}

impl TokenEmbedder for Cpu {
    fn tokens(&self, text: &str) -> Result<Vec<Token>> {
        self.tokenizer.tokens(text)
    }

    fn frame(&self, name: Option<&str>) -> Result<[Vec<u32>; 2]> {
        self.tokenizer.frame(name)
    }

    fn sums(&self, windows: &[&Window]) -> Result<Vec<f32>> {
        let batch: Vec<&[u32]> = windows.iter().map(|window| window.ids.as_slice()).collect();
        let stride = self.running.encoder.stride();
        self.running.states(&batch, &[], Tokens::All, |texts| {
            let mut sums = Vec::new();
            for (tokens, window) in texts.zip(windows) {
                late::sum(tokens, stride, self.running.hidden, &window.ranges, &mut sums);
            }
            sums
        })
    }

    fn width(&self) -> usize {
        self.running.hidden
    }

    fn finish(&self, mean: Vec<f32>) -> Vec<f32> {
        self.head.finish(mean)
    }
}
