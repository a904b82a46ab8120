//! Models of the BERT family on the CPU. chunkmill's speed depends on this module.
//!
//! [`kernel`](crate::kernel) is the arithmetic, compiled for each instruction set. `encoder` is the network that uses it.
//! `weights` reads the various formats in which networks are stored. `cross` and `classifier` use the encoder to
//! score pairs of texts, `splade` to weigh the tokens of a vocabulary. Texts of any lengths share a batch without
//! padding, and each core processes its own batches without waiting for others.
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
mod runner;
mod samples;
pub(super) mod splade;
mod weights;

use chunkmill_base::error::Result;
use chunkmill_text::tokens::TokenCounter;

use crate::backend::{Dimensions, Engine};
use crate::embedder::{Batching, Embedder, EncodedText, ModelInfo, ModelInput, Parallel, Reads, Role};
use crate::folder::Folder;
use crate::head::Head;
use crate::late::{self, Token, TokenEmbedder, Window};
use crate::model::Settings;
use crate::tokenizer::ModelTokenizer;
use encoder::StateSelection;
pub(crate) use runner::Plan;
use runner::{BATCH_TOKENS, Runner};

/// A model of the BERT family.
pub(super) struct Cpu {
    info: ModelInfo,
    tokenizer: ModelTokenizer,
    head: Head,
    runner: Runner,
}

impl Cpu {
    pub(super) fn load(
        mut folder: Folder,
        mut settings: Settings,
        plan: Plan,
        dimensions: Option<Dimensions>,
    ) -> Result<Self> {
        let dim = settings.fit(&folder, plan.network.shape().hidden, dimensions)?;
        let (runner, _) = Runner::load(&mut folder, &settings.network, plan, &settings.tokenizer)?;
        let info = settings.info(&folder, dim, Engine::Cpu, runner.precision, runner.isa.name().to_owned());
        let Settings { tokenizer, head, .. } = settings;
        Ok(Self { info, tokenizer, head, runner })
    }
}

impl Embedder for Cpu {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn encode(&self, text: &str, role: Role) -> Result<EncodedText> {
        self.tokenizer.encode(text, role)
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>> {
        let batch: Vec<&[u32]> = batch.iter().map(|input| input.ids).collect();
        let stride = self.runner.encoder.stride();
        let wanted = if self.head.is_cls() { StateSelection::First } else { StateSelection::All };
        self.runner.states(&batch, &[], wanted, |texts| self.head.vectors(texts, stride, self.runner.hidden))?
    }

    fn counter(&self) -> &dyn TokenCounter {
        &self.tokenizer
    }

    fn batching(&self) -> Batching {
        Batching {
            reads: Reads::Ids,
            tokens: BATCH_TOKENS,
            texts: usize::MAX,
            mixed: true,
            padded: false,
            parallel: Parallel::Cores,
            remember: true,
        }
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
        let stride = self.runner.encoder.stride();
        self.runner.states(&batch, &[], StateSelection::All, |texts| {
            let mut sums = Vec::new();
            for (tokens, window) in texts.zip(windows) {
                late::sum(tokens, stride, self.runner.hidden, &window.ranges, &mut sums);
            }
            sums
        })
    }

    fn width(&self) -> usize {
        self.runner.hidden
    }

    fn finish(&self, mean: Vec<f32>) -> Vec<f32> {
        self.head.finish(mean)
    }
}
