//! A network with its weights, ready to run.

use std::sync::{Mutex, PoisonError};

use chunkmill_base::error::Result;

use super::encoder::{Encoder, StateSelection, Workspace};
use super::samples;
use super::weights::Network;
use crate::backend::{Backend, Device};
use crate::embedder::failed;
use crate::folder::Folder;
use crate::kernel::{Isa, Kernel, Precision};
use crate::modules::Module;
use crate::tensors::Tensors;
use crate::tokenizer::ModelTokenizer;

/// Default number of tokens in a batch. With this size, the data that is processed together stays in a core's
/// cache.
pub(super) const BATCH_TOKENS: usize = 384;

/// A plan for running a model, made before any weights are read.
pub(crate) struct Plan {
    pub(super) network: Network,
    pub(super) kernel: Kernel,
}

impl Plan {
    /// Makes the plan, or returns why this encoder cannot run the model.
    pub(crate) fn new(config: &[u8], max_tokens: usize, backend: Backend) -> std::result::Result<Self, String> {
        if backend.device != Device::Cpu {
            return Err(format!("it does not run on {}", backend.device));
        }
        let isa = backend.isa.unwrap_or_else(Isa::best);
        let precision = backend.precision.on(isa);
        if !Precision::ON_CPU.contains(&precision) {
            return Err(format!("it does not compute in {precision}"));
        }
        let kernel = Kernel::new(isa, precision).ok_or_else(|| format!("this processor does not support {isa}"))?;
        let network = Network::read(config, max_tokens)?;
        Ok(Self { network, kernel })
    }
}

/// A network with its weights.
pub(super) struct Runner {
    pub(super) encoder: Encoder,
    /// Width of the network's states.
    pub(super) hidden: usize,
    pub(super) precision: Precision,
    pub(super) isa: Isa,
    /// Workspaces not in use; there is one for each thread that has run the network so far.
    pub(super) idle: Mutex<Vec<Workspace>>,
}

impl Runner {
    /// Reads and prepares a network's weights. Also returns all tensors of its files.
    pub(super) fn load(
        folder: &mut Folder,
        module: &Module,
        plan: Plan,
        tokenizer: &ModelTokenizer,
    ) -> Result<(Self, Tensors)> {
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
    pub(super) fn states<T>(
        &self,
        batch: &[&[u32]],
        seconds: &[usize],
        wanted: StateSelection,
        make: impl FnOnce(&mut dyn ExactSizeIterator<Item = &[f32]>) -> T,
    ) -> Result<T> {
        if let Some(problem) = batch.iter().find_map(|ids| self.encoder.refuses(ids)) {
            return Err(failed("running the model")(&problem));
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = idle().pop().unwrap_or_default();
        let mut rest = self.encoder.forward(batch, seconds, wanted, &mut workspace);
        let mut texts = batch.iter().map(|ids| {
            let count = if wanted == StateSelection::All { ids.len() } else { 1 };
            let (tokens, after) = rest.split_at(count * self.encoder.stride());
            rest = after;
            tokens
        });
        let result = make(&mut texts);
        idle().push(workspace);
        Ok(result)
    }
}
