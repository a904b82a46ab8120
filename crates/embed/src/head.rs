//! Turns the vectors of a text's tokens into one, with the modules that sentence-transformers puts after a network.
//!
//! They are small compared with the network, so every engine uses this module, which computes them in the same order on
//! every processor.

use chunkmill_base::error::Result;
use chunkmill_base::value;
use serde::Deserialize;

use crate::embedder::{finite, normalize};
use crate::folder::Folder;
use crate::modules::Module;
use crate::tensors::Tensors;

/// How token vectors become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pooling {
    /// The first token's vector.
    Cls,
    /// The greatest value in each dimension.
    Max,
    /// The mean over all tokens.
    Mean,
    /// The sum divided by the square root of the number of tokens.
    MeanSqrtLen,
    /// The mean weighted by position: the first token counts once, the second twice.
    WeightedMean,
    /// The last token's vector.
    Last,
}

impl Pooling {
    /// Every pooling, in the order in which they are concatenated.
    pub(super) const ALL: [Self; 6] =
        [Self::Cls, Self::Max, Self::Mean, Self::MeanSqrtLen, Self::WeightedMean, Self::Last];

    /// Returns the name written to datasets.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::MeanSqrtLen => "mean_sqrt_len",
            Self::WeightedMean => "weighted_mean",
            Self::Last => "last",
        }
    }

    /// Returns the current name in sentence-transformers.
    fn mode(self) -> &'static str {
        match self {
            Self::MeanSqrtLen => "mean_sqrt_len_tokens",
            Self::WeightedMean => "weightedmean",
            Self::Last => "lasttoken",
            _ => self.name(),
        }
    }

    /// Returns the field that older versions used.
    fn field(self) -> &'static str {
        match self {
            Self::Cls => "pooling_mode_cls_token",
            Self::Max => "pooling_mode_max_tokens",
            Self::Mean => "pooling_mode_mean_tokens",
            Self::MeanSqrtLen => "pooling_mode_mean_sqrt_len_tokens",
            Self::WeightedMean => "pooling_mode_weightedmean_tokens",
            Self::Last => "pooling_mode_lasttoken",
        }
    }

    /// Pools a text's token vectors, which are `stride` floats apart, into `vector`.
    pub(super) fn pool(self, tokens: &[f32], stride: usize, vector: &mut [f32]) {
        let rows = || tokens.chunks(stride);
        match self {
            Self::Cls => vector.iter_mut().zip(tokens).for_each(|(to, &x)| *to = x),
            Self::Last => vector.iter_mut().zip(rows().last().unwrap_or_default()).for_each(|(to, &x)| *to = x),
            Self::Max => {
                vector.fill(f32::NEG_INFINITY);
                for token in rows() {
                    vector.iter_mut().zip(token).for_each(|(max, &x)| *max = max.max(x));
                }
            }
            Self::Mean | Self::MeanSqrtLen | Self::WeightedMean => {
                vector.fill(0.0);
                let mut weight = 0.0;
                let mut total = 0.0;
                for token in rows() {
                    weight = if self == Self::WeightedMean { weight + 1.0 } else { 1.0 };
                    total += weight;
                    vector.iter_mut().zip(token).for_each(|(sum, &x)| *sum += weight * x);
                }
                let divisor = if self == Self::MeanSqrtLen { total.sqrt() } else { total };
                for sum in vector.iter_mut() {
                    *sum /= divisor;
                }
            }
        }
    }
}

/// A step after pooling.
#[derive(Debug)]
enum Step {
    /// A linear layer.
    Dense(Dense),
    /// Layer normalisation with these weights and biases.
    LayerNorm([Vec<f32>; 2]),
    /// Scaling to length 1.
    Normalize,
}

/// A linear layer with its activation and residual.
#[derive(Debug)]
pub(super) struct Dense {
    /// A row of weights for each input.
    weight: Vec<f32>,
    bias: Vec<f32>,
    activation: Activation,
    residual: Residual,
    inputs: usize,
}

/// The residual that is added to a linear layer's result.
#[derive(Debug)]
enum Residual {
    None,
    /// The layer's input.
    Input,
    /// The layer's input, multiplied by weights of its own.
    Projected(Vec<f32>),
}

/// The function that is applied after a linear layer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Activation {
    Identity,
    Gelu,
    Tanh,
    Relu,
    Sigmoid,
    Silu,
}

impl Activation {
    /// Returns the activation of a Python class.
    pub(super) fn of(class: &str) -> Option<Self> {
        Some(match class.strip_prefix("torch.nn.modules.")? {
            "linear.Identity" => Self::Identity,
            "activation.GELU" => Self::Gelu,
            "activation.Tanh" => Self::Tanh,
            "activation.ReLU" => Self::Relu,
            "activation.Sigmoid" => Self::Sigmoid,
            "activation.SiLU" => Self::Silu,
            _ => return None,
        })
    }

    pub(super) fn apply(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            // x · Φ(x) (Hendrycks and Gimpel 2016).
            Self::Gelu => 0.5 * x * (1.0 + libm::erff(x * std::f32::consts::FRAC_1_SQRT_2)),
            Self::Tanh => x.tanh(),
            Self::Relu => x.max(0.0),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Silu => x / (1.0 + (-x).exp()),
        }
    }
}

/// Transposes a matrix: a row for each output becomes a row for each input.
fn transposed(rows: &[f32], inputs: usize) -> Vec<f32> {
    (0..inputs).flat_map(|input| rows.iter().skip(input).step_by(inputs).copied()).collect()
}

/// Adds each row of `weight`, multiplied by its input, to a result.
fn add_product(weight: &[f32], input: &[f32], to: &mut [f32]) {
    for (row, &x) in weight.chunks_exact(to.len()).zip(input) {
        to.iter_mut().zip(row).for_each(|(sum, w)| *sum += w * x);
    }
}

impl Dense {
    /// Creates a layer from its weights, given as a row for each output.
    pub(super) fn new(rows: &[f32], bias: Vec<f32>, activation: Activation) -> Self {
        let inputs = rows.len() / bias.len().max(1);
        Self { weight: transposed(rows, inputs), bias, activation, residual: Residual::None, inputs }
    }

    /// Applies the layer to a vector.
    pub(super) fn apply(&self, input: &[f32]) -> Vec<f32> {
        let mut result = self.bias.clone();
        add_product(&self.weight, input, &mut result);
        for x in &mut result {
            *x = self.activation.apply(*x);
        }
        match &self.residual {
            Residual::None => {}
            Residual::Input => result.iter_mut().zip(input).for_each(|(sum, x)| *sum += x),
            Residual::Projected(weight) => add_product(weight, input, &mut result),
        }
        result
    }
}

/// Added to a variance, as torch does.
const EPSILON: f64 = 1e-5;

/// Applies layer normalisation to one vector, with weights and biases, summed in f64.
#[expect(clippy::cast_precision_loss, reason = "a vector has far fewer than 2^52 values")]
#[expect(clippy::cast_possible_truncation, reason = "vectors are f32")]
pub(super) fn layer_norm(vector: &mut [f32], [weight, bias]: &[Vec<f32>; 2], epsilon: f64) {
    let count = vector.len() as f64;
    let mean = vector.iter().map(|&x| f64::from(x)).sum::<f64>() / count;
    let variance = vector.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / count;
    let scale = 1.0 / (variance + epsilon).sqrt();
    for ((x, weight), bias) in vector.iter_mut().zip(weight).zip(bias) {
        *x = ((f64::from(*x) - mean) * scale) as f32 * weight + bias;
    }
}

/// The modules after a network.
#[derive(Debug)]
pub(super) struct Head {
    /// The results of several poolings are concatenated.
    poolings: Vec<Pooling>,
    steps: Vec<Step>,
    /// Number of leading values to keep, if not all.
    kept: Option<usize>,
}

impl Head {
    /// Reads the modules that `modules.json` lists after the network, in order.
    ///
    /// # Errors
    /// [`Error::Model`](chunkmill_base::error::Error::Model) if it lists a module that cannot be computed, or a file is
    /// missing or damaged.
    pub(super) fn read(folder: &mut Folder, modules: &[Module]) -> Result<Self> {
        let mut head = Self { poolings: Vec::new(), steps: Vec::new(), kept: None };
        for (index, module) in modules.iter().enumerate() {
            let pooled = !head.poolings.is_empty();
            match (index, module.kind()) {
                (0, "Transformer") => {}
                (0, "StaticEmbedding") => head.poolings = vec![Pooling::Mean],
                (_, "Pooling") if index > 0 && !pooled => {
                    head.poolings = poolings(folder, module)?;
                }
                (_, "Normalize") if pooled => head.steps.push(Step::Normalize),
                (_, "Dense") if pooled => head.steps.push(Step::Dense(dense(folder, module)?)),
                (_, "LayerNorm") if pooled => head.steps.push(Step::LayerNorm(norm(folder, module)?)),
                // Dropout only acts during training.
                (_, "Dropout") if pooled => {}
                _ => {
                    let problem = format!("modules.json asks for `{}` as module {index}", module.name());
                    let help =
                        "supported: Transformer and Pooling, or StaticEmbedding; then Dense, LayerNorm, Normalize";
                    return Err(folder.error(problem, help));
                }
            }
        }
        if head.poolings.is_empty() {
            let help = "add a Pooling module, as sentence-transformers does";
            return Err(folder.error("modules.json lists no Pooling module", help));
        }
        Ok(head)
    }

    /// Keeps only this many leading values of each vector, scaled again if the whole vector is.
    pub(super) fn keep(&mut self, count: usize) {
        self.kept = Some(count);
    }

    /// Returns the number of leading values that are kept, if not all.
    pub(super) fn kept(&self) -> Option<usize> {
        self.kept
    }

    /// Returns the length of the whole vectors for a network of this width, or what does not fit.
    pub(super) fn dim(&self, hidden: usize) -> Result<usize, String> {
        let fits = |width: usize, wanted: usize, what: &str| {
            let problem = || {
                let wanted = value::count(wanted, "value");
                format!("the module {what} reads vectors of {wanted}, but gets {width}")
            };
            if width == wanted { Ok(()) } else { Err(problem()) }
        };
        let mut width = hidden * self.poolings.len();
        for step in &self.steps {
            match step {
                Step::Dense(dense) => {
                    fits(width, dense.inputs, "Dense")?;
                    width = dense.bias.len();
                }
                Step::LayerNorm([weight, _]) => fits(width, weight.len(), "LayerNorm")?,
                Step::Normalize => {}
            }
        }
        Ok(width)
    }

    /// Makes the vectors have length 1.
    pub(super) fn normalize(&mut self) {
        if !self.normalizes() {
            self.steps.push(Step::Normalize);
        }
    }

    /// Returns whether the vectors have length 1.
    pub(super) fn normalizes(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Normalize))
    }

    /// Returns the names of the poolings, joined by `+`.
    pub(super) fn pooling(&self) -> String {
        self.poolings.iter().map(|pooling| pooling.name()).collect::<Vec<_>>().join("+")
    }

    /// Returns whether vectors are plain means over tokens, which can be taken over any subset of them.
    pub(super) fn is_mean(&self) -> bool {
        self.poolings == [Pooling::Mean]
    }

    /// Returns whether vectors are made from the first token alone.
    pub(super) fn is_cls(&self) -> bool {
        self.poolings == [Pooling::Cls]
    }

    /// Returns the vectors of texts, one after another. Token vectors are `hidden` values long and `stride` floats
    /// apart.
    ///
    /// # Errors
    /// [`Error::Embed`](chunkmill_base::error::Error::Embed) if a value is not finite.
    pub(super) fn vectors<'t>(
        &self,
        texts: impl Iterator<Item = &'t [f32]>,
        stride: usize,
        hidden: usize,
    ) -> Result<Vec<f32>> {
        finite(texts.flat_map(|tokens| self.vector(tokens, stride, hidden)).collect())
    }

    /// Returns the vector of one text.
    pub(super) fn vector(&self, tokens: &[f32], stride: usize, hidden: usize) -> Vec<f32> {
        let mut pooled = vec![0.0; hidden * self.poolings.len()];
        for (pooling, part) in self.poolings.iter().zip(pooled.chunks_exact_mut(hidden)) {
            pooling.pool(tokens, stride, part);
        }
        self.finish(pooled)
    }

    /// Turns a text's pooled vector into its final vector.
    pub(super) fn finish(&self, pooled: Vec<f32>) -> Vec<f32> {
        let mut vector = self.steps.iter().fold(pooled, |mut vector, step| {
            match step {
                Step::Dense(dense) => return dense.apply(&vector),
                Step::LayerNorm(weights) => layer_norm(&mut vector, weights, EPSILON),
                Step::Normalize => normalize(&mut vector),
            }
            vector
        });
        if let Some(count) = self.kept {
            vector.truncate(count);
            if self.normalizes() {
                normalize(&mut vector);
            }
        }
        vector
    }
}

/// Reads how a module pools, in the format of current or older versions of sentence-transformers.
fn poolings(folder: &mut Folder, module: &Module) -> Result<Vec<Pooling>> {
    let (name, config): (_, serde_json::Map<String, serde_json::Value>) = config(folder, module)?;
    if config.get("include_prompt") == Some(&false.into()) {
        let help = "use a model that pools all tokens";
        return Err(folder.error(format!("{name} excludes the prompt from pooling"), help));
    }
    let of = |mode: &serde_json::Value| Pooling::ALL.into_iter().find(|pooling| mode == pooling.mode());
    let chosen = match config.get("pooling_mode") {
        Some(serde_json::Value::Array(modes)) => modes.iter().map(of).collect(),
        Some(mode) => of(mode).map(|pooling| vec![pooling]),
        None => {
            let chosen = Pooling::ALL.into_iter().filter(|pooling| config.get(pooling.field()) == Some(&true.into()));
            Some(chosen.collect())
        }
    };
    chosen.filter(|chosen: &Vec<Pooling>| !chosen.is_empty()).ok_or_else(|| {
        let names = Pooling::ALL.map(Pooling::mode).join(", ");
        folder.error(format!("{name} asks for a pooling that is not one of {names}"), "use a model with one of these")
    })
}

#[derive(Deserialize)]
struct DenseConfig {
    in_features: usize,
    out_features: usize,
    #[serde(default = "yes")]
    bias: bool,
    activation_function: Option<String>,
    module_input_name: Option<String>,
    module_output_name: Option<String>,
    #[serde(default)]
    use_residual: bool,
}

fn yes() -> bool {
    true
}

fn dense(folder: &mut Folder, module: &Module) -> Result<Dense> {
    let (name, config): (_, DenseConfig) = config(folder, module)?;
    let DenseConfig { in_features, out_features, bias, activation_function, use_residual, .. } = config;
    // The last module of a reranker names its result differently.
    let (vector, scores) = ("sentence_embedding", "scores");
    let reads = config.module_input_name.is_none_or(|name| name == vector);
    if !reads || config.module_output_name.is_some_and(|name| name != vector && name != scores) {
        let help = "use a model whose Dense modules read and write `sentence_embedding`";
        return Err(folder.error(format!("{name} reads or writes something other than the text's vector"), help));
    }
    let class = activation_function.as_deref().unwrap_or("torch.nn.modules.activation.Tanh");
    let activation = Activation::of(class).ok_or_else(|| {
        folder.error(
            format!("{name} asks for the activation `{class}`"),
            "supported: Identity, Tanh, ReLU, Sigmoid, SiLU, GELU",
        )
    })?;
    let tensors = Tensors::read(folder, module)?;
    let weight = |folder: &Folder, name: &str| {
        let rows = tensor(folder, module, &tensors, name, &[out_features, in_features])?;
        Ok(transposed(&rows, in_features))
    };
    Ok(Dense {
        weight: weight(folder, "linear.weight")?,
        bias: if bias {
            tensor(folder, module, &tensors, "linear.bias", &[out_features])?
        } else {
            vec![0.0; out_features]
        },
        activation,
        residual: match use_residual {
            false => Residual::None,
            true if in_features == out_features => Residual::Input,
            true => Residual::Projected(weight(folder, "residual.weight")?),
        },
        inputs: in_features,
    })
}

fn norm(folder: &mut Folder, module: &Module) -> Result<[Vec<f32>; 2]> {
    #[derive(Deserialize)]
    struct PoolingConfig {
        dimension: usize,
    }
    let (_, PoolingConfig { dimension }) = config(folder, module)?;
    let tensors = Tensors::read(folder, module)?;
    let part = |name| tensor(folder, module, &tensors, name, &[dimension]);
    Ok([part("norm.weight")?, part("norm.bias")?])
}

/// Reads a module's configuration, and returns its file name and contents.
fn config<T: for<'de> Deserialize<'de>>(folder: &mut Folder, module: &Module) -> Result<(String, T)> {
    // The model's own folder belongs to the network.
    if module.path().is_empty() {
        return Err(folder.escapes(module.path()));
    }
    let name = module.file("config.json");
    let bytes = folder.read(&name)?;
    let config = folder.json(&name, &bytes)?;
    Ok((name, config))
}

fn tensor(folder: &Folder, module: &Module, tensors: &Tensors, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
    let problem = match tensors.floats(name) {
        Some(Ok((found, values))) if found == shape => return Ok(values),
        Some(Ok((found, _))) => format!("the tensor `{name}` is {found:?}, but its config.json says {shape:?}"),
        Some(Err(problem)) => problem,
        None => format!("there is no tensor `{name}`"),
    };
    Err(folder.error(format!("weights of {}: {problem}", module.path()), "pull the model again"))
}
