//! A network with a language-model head on chunkmill's own encoder: it gives each token of a text an output for every token of
//! the vocabulary.

use chunkmill_base::error::Result;

use super::encoder::{Linear, Scales, StateSelection, padded};
use super::runner::{Plan, Runner};
use super::weights::HeadWeights;
use crate::embedder::{EncodedText, Role, SparseEmbedder};
use crate::folder::Folder;
use crate::kernel::{Floats, Input, Kernel, Matrix, Operand, PAD, Precision, Then};
use crate::model::InputSettings;
use crate::sparse::{SparseModel, SparseVector};
use crate::splade::{QueryWeights, SparseSettings, SpladePooling, checked_vocabulary};
use crate::tokenizer::ModelTokenizer;

/// Number of tokens of the vocabulary whose outputs are computed together: their weights and the outputs of a batch stay in
/// a core's cache.
const PANEL: usize = 512;

/// Number of values of texts that are in memory together: one for each text and token of the vocabulary.
const VALUES: usize = 4 << 20;

/// A network that turns documents into sparse vectors.
pub(crate) struct Splade {
    info: SparseModel,
    tokenizer: ModelTokenizer,
    runner: Runner,
    head: LanguageHead,
    pooling: SpladePooling,
    /// The weights of questions, if the network does not read them.
    queries: Option<QueryWeights>,
}

impl Splade {
    pub(crate) fn load(mut folder: Folder, settings: SparseSettings, plan: Plan) -> Result<Self> {
        let (kernel, activation) = (plan.kernel, plan.network.head_activation(&settings.input.config));
        let damaged =
            |folder: &Folder, problem: String| folder.error(format!("weights: {problem}"), "pull the model again");
        let activation = activation.map_err(|problem| folder.error(problem, "use another sparse model"))?;
        let (runner, tensors) = Runner::load(&mut folder, &settings.network, plan, &settings.input.tokenizer)?;
        let weights = HeadWeights::read(&tensors, &settings.input.model_type, runner.encoder.words(), runner.hidden);
        let weights = weights.map_err(|problem| folder.error(problem, "use a model with a language-model head"))?;
        let queries = settings.query.as_ref().map(|module| QueryWeights::read(&mut folder, module)).transpose()?;
        let vocabulary = checked_vocabulary(weights.decoder.bias.len(), queries.as_ref());
        let vocabulary = vocabulary.map_err(|problem| damaged(&folder, problem))?;
        let info = settings.info(&folder, vocabulary, runner.precision, runner.isa.name().to_owned());
        let head = LanguageHead::new(kernel, &weights, activation, runner.encoder.epsilon());
        let SparseSettings { input: InputSettings { tokenizer, .. }, pooling, .. } = settings;
        Ok(Self { info, tokenizer, runner, head, pooling, queries })
    }
}

impl Splade {
    /// Returns the vectors of texts whose values are in memory together.
    fn embed_together(&self, texts: &[&[u32]]) -> Result<Vec<SparseVector>> {
        let stride = self.runner.encoder.stride();
        let lengths: Vec<usize> = texts.iter().map(|ids| ids.len()).collect();
        let values = self.runner.states(texts, &[], StateSelection::All, |all| {
            let mut states = Floats::new(lengths.iter().sum::<usize>() * stride);
            let mut at = 0;
            for text in all {
                states[at..at + text.len()].copy_from_slice(text);
                at += text.len();
            }
            self.head.pooled(&mut states[..at], stride, &lengths, self.pooling)
        })?;
        values.iter().map(|values| self.pooling.vector(values)).collect()
    }
}

impl SparseEmbedder for Splade {
    fn info(&self) -> &SparseModel {
        &self.info
    }

    fn encode(&self, text: &str) -> Result<EncodedText> {
        self.tokenizer.encode(text, Role::Document)
    }

    fn embed(&self, batch: &[&[u32]]) -> Result<Vec<SparseVector>> {
        // A text without tokens is about none.
        let texts: Vec<&[u32]> = batch.iter().copied().filter(|ids| !ids.is_empty()).collect();
        let together = (VALUES / self.info.vocabulary).max(1);
        let parts = texts.chunks(together).map(|texts| self.embed_together(texts)).collect::<Result<Vec<_>>>()?;
        let mut vectors = parts.into_iter().flatten();
        Ok(batch.iter().map(|ids| if ids.is_empty() { None } else { vectors.next() }.unwrap_or_default()).collect())
    }

    fn query(&self, text: &str) -> Result<SparseVector> {
        if let Some(weights) = &self.queries {
            return weights.vector(text);
        }
        let ids = self.tokenizer.encode(text, Role::Query)?.ids;
        Ok(self.embed(&[&ids])?.pop().unwrap_or_default())
    }
}

/// The layers after the network: a linear layer with its activation and norm, and one with an output for each token of the
/// vocabulary.
struct LanguageHead {
    kernel: Kernel,
    hidden: usize,
    epsilon: f32,
    dense: Matrix,
    activation: Then,
    norm: Scales,
    /// The last layer, in parts of [`PANEL`] outputs.
    decoder: Vec<(usize, Matrix)>,
}

impl LanguageHead {
    fn new(kernel: Kernel, weights: &HeadWeights, activation: Then, epsilon: f32) -> Self {
        // Bytes would be too coarse: outputs near 0 decide which tokens a vector has.
        let kernel = if kernel.precision() == Precision::Int8 { kernel.floats() } else { kernel };
        let HeadWeights { dense, norm, decoder } = weights;
        let hidden = dense.bias.len();
        let input = Input::unknown(hidden);
        let matrix = |Linear { weight, bias }: &Linear| kernel.matrix(weight, bias, &input);
        let panels = decoder.weight.chunks(PANEL * hidden).zip(decoder.bias.chunks(PANEL));
        Self {
            kernel,
            hidden,
            epsilon,
            dense: matrix(dense),
            activation,
            norm: padded(norm),
            decoder: panels.map(|(weight, bias)| (bias.len(), kernel.matrix(weight, bias, &input))).collect(),
        }
    }

    /// Returns a value for each token of the vocabulary for each text: its greatest output, or the sum of its weights. Texts
    /// have `lengths` states, which are `stride` floats apart.
    fn pooled(&self, states: &mut [f32], stride: usize, lengths: &[usize], pooling: SpladePooling) -> Vec<Vec<f32>> {
        let Self { kernel, hidden, .. } = self;
        let (rows, input) = (states.len() / stride, Input::unknown(*hidden));
        let mut operand = Operand::default();
        kernel.hold(states, stride, rows, &input, &mut operand);
        let mut transformed = Floats::new(rows * stride);
        kernel.multiply(&operand, &self.dense, self.activation, &mut transformed);
        let transformed = &mut transformed[..rows * stride];
        let [weight, bias] = &self.norm;
        kernel.layer_norm(transformed, *hidden, weight, bias, self.epsilon);
        kernel.hold(transformed, stride, rows, &input, &mut operand);
        let vocabulary = self.decoder.iter().map(|(count, _)| count).sum();
        let mut values = vec![vec![if pooling.sums { 0.0 } else { f32::NEG_INFINITY }; vocabulary]; lengths.len()];
        let mut outputs = Floats::new(rows * PANEL);
        for (index, (count, matrix)) in self.decoder.iter().enumerate() {
            let wide = count.next_multiple_of(PAD);
            kernel.multiply(&operand, matrix, Then::Store, &mut outputs);
            let mut rest = &outputs[..rows * wide];
            for (values, length) in values.iter_mut().zip(lengths) {
                let (of_text, after) = rest.split_at(length * wide);
                rest = after;
                let values = &mut values[index * PANEL..][..*count];
                for outputs in of_text.chunks_exact(wide) {
                    if pooling.sums {
                        values.iter_mut().zip(outputs).for_each(|(sum, &x)| *sum += pooling.weight(x));
                    } else {
                        // A comparison with NaN is false, and it has to be noticed.
                        let greater = |most: f32, x: f32| if x <= most || most.is_nan() { most } else { x };
                        values.iter_mut().zip(outputs).for_each(|(most, &x)| *most = greater(*most, x));
                    }
                }
            }
        }
        values
    }
}
