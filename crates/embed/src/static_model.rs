//! Static models: a table contains a vector for each token, and a text's vector is the mean of its tokens' vectors
//! (model2vec, and the `StaticEmbedding` of sentence-transformers). No network runs, so they are a hundred times as
//! fast.
//!
//! Vectors are summed token by token in f32, always in the same order, so they do not depend on the processor.

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value;
use chunkmill_text::tokens::TokenCounter;

use crate::backend::{Backend, Device, Engine, PrecisionSetting};
use crate::embedder::{Batching, Embedder, EncodedText, ModelInfo, ModelInput, Parallel, Reads, Role, failed, finite};
use crate::folder::Folder;
use crate::head::Head;
use crate::kernel::Precision;
use crate::late::{Token, TokenEmbedder, Window};
use crate::model::Settings;
use crate::tensors::Tensors;
use crate::tokenizer::ModelTokenizer;

/// Number of values that are summed at once, in the processor's registers.
const BLOCK: usize = 32;

/// A static model.
pub(super) struct Table {
    info: ModelInfo,
    tokenizer: ModelTokenizer,
    head: Head,
    /// Rows of `width` values.
    vectors: Vec<f32>,
    width: usize,
    /// The row of each token, if it differs from the token's id.
    rows: Option<Vec<u32>>,
    /// The factor for each token's row, if there are factors.
    weights: Option<Vec<f32>>,
    /// Number of token ids.
    tokens: usize,
}

impl Table {
    pub(super) fn load(mut folder: Folder, mut settings: Settings, backend: Backend) -> Result<Self> {
        if let PrecisionSetting::Fixed(precision @ (Precision::Bf16 | Precision::Int8 | Precision::F16)) =
            backend.precision
        {
            return Err(Error::setting(
                "precision",
                format!("{} is a table of vectors, which is summed in f32, not in {precision}", folder.id),
                "use --precision auto",
            ));
        }
        if backend.device != Device::Cpu {
            tracing::warn!("{} is a table of vectors, which is used on the CPU, not on {}", folder.id, backend.device);
        }
        let tensors = Tensors::read(&mut folder, &settings.network)?;
        let damaged = |problem: String| folder.error(format!("weights: {problem}"), "pull the model again");
        let missing = || damaged("there is no tensor `embedding.weight` or `embeddings`".to_owned());
        let found = ["embedding.weight", "embeddings"].into_iter().find_map(|name| tensors.numbers(name));
        let (shape, vectors) = found.ok_or_else(missing)?.map_err(damaged)?;
        let [count, width] = shape[..] else {
            return Err(damaged(format!("the table has the shape {shape:?}, which is not two-dimensional")));
        };
        if count == 0 || width == 0 {
            return Err(damaged(format!("the table has the shape {shape:?}")));
        }
        let rows = tensors.positions("mapping").transpose().map_err(damaged)?;
        if let Some(row) = rows.iter().flatten().find(|&&row| row as usize >= count) {
            let rows = value::count(count, "row");
            return Err(damaged(format!("`mapping` contains row {row}, but the table has {rows}")));
        }
        let tokens = rows.as_ref().map_or(count, Vec::len);
        let weights = tensors.floats("weights").transpose().map_err(damaged)?.map(|(_, weights)| weights);
        if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != tokens) {
            let (weights, tokens) = (value::count(weights.len(), "weight"), value::count(tokens, "token"));
            return Err(damaged(format!("it has {weights} for {tokens}")));
        }
        let dim = settings.fit(&folder, width, backend.dimensions)?;
        tracing::info!("{} is a table of vectors, without a network", folder.id);
        let info = settings.info(&folder, dim, Engine::Cpu, Precision::F32, "any".to_owned());
        let Settings { tokenizer, head, .. } = settings;
        Ok(Self { info, tokenizer, head, vectors, width, rows, weights, tokens })
    }

    /// Adds up the vectors of tokens.
    fn sum(&self, ids: &[u32], sum: &mut [f32]) {
        for (at, block) in sum.chunks_mut(BLOCK).enumerate() {
            // A block of known length is summed in registers.
            match <&mut [f32; BLOCK]>::try_from(&mut *block) {
                Ok(block) => {
                    let mut registers = [0.0; BLOCK];
                    for &id in ids {
                        let (weight, row) = self.row(id, at * BLOCK);
                        if let Some(row) = row.first_chunk::<BLOCK>() {
                            registers.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * x);
                        }
                    }
                    *block = registers;
                }
                Err(_) => {
                    for &id in ids {
                        let (weight, row) = self.row(id, at * BLOCK);
                        block.iter_mut().zip(row).for_each(|(sum, &x)| *sum += weight * x);
                    }
                }
            }
        }
    }

    /// Returns a token's factor, and the values of its row from `from` on.
    fn row(&self, id: u32, from: usize) -> (f32, &[f32]) {
        let weight = self.weights.as_ref().map_or(1.0, |weights| weights[id as usize]);
        let row = self.rows.as_ref().map_or(id, |rows| rows[id as usize]) as usize;
        (weight, &self.vectors[row * self.width + from..(row + 1) * self.width])
    }

    /// Refuses tokens that are not in the table.
    fn check(&self, ids: &[u32]) -> Result<()> {
        match ids.iter().find(|&&id| id as usize >= self.tokens) {
            None => Ok(()),
            Some(id) => {
                let tokens = value::count(self.tokens, "token");
                Err(failed("reading the table")(&format!("token {id} is not among its {tokens}")))
            }
        }
    }
}

impl Embedder for Table {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn encode(&self, text: &str, role: Role) -> Result<EncodedText> {
        self.tokenizer.encode(text, role)
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>> {
        let batch: Vec<&[u32]> = batch.iter().map(|input| input.ids).collect();
        let mut vectors = Vec::with_capacity(batch.len() * self.info.dim);
        for ids in batch {
            self.check(ids)?;
            let mut mean = vec![0.0; self.width];
            self.sum(ids, &mut mean);
            #[expect(clippy::cast_precision_loss, reason = "a text has far fewer than 2^24 tokens")]
            let count = ids.len().max(1) as f32;
            for x in &mut mean {
                *x /= count;
            }
            vectors.extend(self.head.finish(mean));
        }
        finite(vectors)
    }

    fn counter(&self) -> &dyn TokenCounter {
        &self.tokenizer
    }

    fn batching(&self) -> Batching {
        // Batches only distribute the work to threads.
        Batching {
            reads: Reads::Ids,
            tokens: 1 << 15,
            texts: usize::MAX,
            mixed: true,
            padded: false,
            parallel: Parallel::Cores,
            remember: false,
        }
    }

    fn by_token(&self) -> Option<&dyn TokenEmbedder> {
        Some(self)
    }
}

impl TokenEmbedder for Table {
    fn tokens(&self, text: &str) -> Result<Vec<Token>> {
        self.tokenizer.tokens(text)
    }

    fn frame(&self, name: Option<&str>) -> Result<[Vec<u32>; 2]> {
        self.tokenizer.frame(name)
    }

    fn sums(&self, windows: &[&Window]) -> Result<Vec<f32>> {
        let mut sums = Vec::new();
        for window in windows {
            self.check(&window.ids)?;
            for range in &window.ranges {
                let from = sums.len();
                sums.resize(from + self.width, 0.0);
                self.sum(&window.ids[range.clone()], &mut sums[from..]);
            }
        }
        Ok(sums)
    }

    fn width(&self) -> usize {
        self.width
    }

    fn finish(&self, mean: Vec<f32>) -> Vec<f32> {
        self.head.finish(mean)
    }
}
