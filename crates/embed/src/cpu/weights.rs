//! Reads networks of the BERT family for the encoder: which networks it can run, and where their files contain the
//! parameters.
//!
//! A family consists of a [`TensorNames`], which is a table of names, and a function that reads `config.json` into a
//! [`Shape`]. Tensors are checked against both, because the encoder indexes them without further checks. A tensor
//! of the network that was not read is an error, because the encoder would then compute a different network than
//! the model's.

use std::cell::RefCell;
use std::collections::BTreeSet;

use chunkmill_base::value;
use serde_json::{Value, json};

use super::encoder::{Embeddings, LayerWeights, Linear, Norm, Norms, Shape, Sight};
use crate::fields::Fields;
use crate::kernel::{Distances, MAX_HEAD, Then};
use crate::model::first_position;
use crate::tensors::{Tensors, in_network, prefix};

/// Maximum number of tokens for which tables of angles or distances are built.
const MOST_TOKENS: usize = 1 << 20;

/// A network that the encoder can run.
#[derive(Debug)]
pub(super) struct Network {
    shape: Shape,
    layout: &'static TensorNames,
    biases: Biases,
    vocabulary: usize,
    /// Number of rows in the table of positions, if positions are learned.
    positions: Option<usize>,
    /// Number of positions that texts can reach.
    reached: usize,
    /// Number of token types, if the network distinguishes them; a single text is of the first type.
    types: Option<usize>,
    /// Biases that are added to scores by distance.
    distances: Option<Bias>,
}

/// Biases that are added to the score of a query and a key by their distance.
#[derive(Debug)]
enum Bias {
    /// A learned number for each bucket of distances and head (Raffel et al. 2020); contains the number of buckets.
    Buckets(usize),
    /// The distance times a slope that decreases from head to head (Press et al. 2022).
    Slopes,
}

/// Flags from `config.json` for the parts that have biases.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the files have them so")]
struct Biases {
    attention: bool,
    up: bool,
    down: bool,
    norms: bool,
}

const ALL: Biases = Biases { attention: true, up: true, down: true, norms: true };

/// A network and the tensors of its files.
pub(super) struct Weights<'a> {
    network: &'a Network,
    tensors: &'a Tensors,
    prefix: &'a str,
    read: RefCell<BTreeSet<String>>,
}

/// A family's names for its tensors, and which of them exist.
#[derive(Debug, Clone, Copy)]
struct TensorNames {
    words: &'static str,
    first_norm: &'static str,
    layers: &'static str,
    /// Queries, keys, values.
    attention: Parts,
    output: &'static str,
    attention_norm: &'static str,
    /// The first half of the feed-forward part and, if it is gated, the gate.
    up: Parts,
    down: &'static str,
    feed_forward_norm: &'static str,
    /// Whether the first layer has a norm for its attention.
    normalizes_first: bool,
    last_norm: Option<&'static str>,
}

/// Linear layers with the same inputs.
#[derive(Debug, Clone, Copy)]
enum Parts {
    /// Separate tensors, each with its own name.
    Apart(&'static [&'static str]),
    /// One tensor with this many layers stacked in it.
    Together(&'static str, usize),
}

const BERT: TensorNames = TensorNames {
    words: "embeddings.word_embeddings",
    first_norm: "embeddings.LayerNorm",
    layers: "encoder.layer",
    attention: Parts::Apart(&["attention.self.query", "attention.self.key", "attention.self.value"]),
    output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    up: Parts::Apart(&["intermediate.dense"]),
    down: "output.dense",
    feed_forward_norm: "output.LayerNorm",
    normalizes_first: true,
    last_norm: None,
};

const DISTIL: TensorNames = TensorNames {
    layers: "transformer.layer",
    attention: Parts::Apart(&["attention.q_lin", "attention.k_lin", "attention.v_lin"]),
    output: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    up: Parts::Apart(&["ffn.lin1"]),
    down: "ffn.lin2",
    feed_forward_norm: "output_layer_norm",
    ..BERT
};

const MPNET: TensorNames = TensorNames {
    attention: Parts::Apart(&["attention.attn.q", "attention.attn.k", "attention.attn.v"]),
    output: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    ..BERT
};

const JINA: TensorNames = TensorNames {
    up: Parts::Together("mlp.gated_layers", 2),
    down: "mlp.wo",
    feed_forward_norm: "mlp.layernorm",
    ..BERT
};

const NOMIC: TensorNames = TensorNames {
    first_norm: "emb_ln",
    layers: "encoder.layers",
    attention: Parts::Together("attn.Wqkv", 3),
    output: "attn.out_proj",
    attention_norm: "norm1",
    up: Parts::Apart(&["mlp.fc12", "mlp.fc11"]),
    down: "mlp.fc2",
    feed_forward_norm: "norm2",
    ..BERT
};

const MODERN: TensorNames = TensorNames {
    words: "embeddings.tok_embeddings",
    first_norm: "embeddings.norm",
    layers: "layers",
    attention: Parts::Together("attn.Wqkv", 3),
    output: "attn.Wo",
    attention_norm: "attn_norm",
    up: Parts::Together("mlp.Wi", 2),
    down: "mlp.Wo",
    feed_forward_norm: "mlp_norm",
    normalizes_first: false,
    last_norm: Some("final_norm"),
};

/// The name of the bucket table.
const BUCKETS: &str = "encoder.relative_attention_bias";

impl Network {
    /// Reads `config.json` for texts of up to `max_tokens`, or returns why the encoder cannot run the network.
    pub(super) fn read(config: &[u8], max_tokens: usize) -> Result<Self, String> {
        let fields = &serde_json::from_slice(config).map(Fields).map_err(|error| format!("config.json: {error}"))?;
        for key in ["is_decoder", "add_cross_attention"] {
            fields.only(key, &[json!(false)])?;
        }
        let model_type = fields.get("model_type").and_then(Value::as_str).unwrap_or_default();
        let network = match model_type {
            "bert" if fields.get("position_embedding_type") == Some(&json!("alibi")) => Self::jina(fields, max_tokens),
            "bert" | "roberta" | "xlm-roberta" | "camembert" => Self::bert(fields, model_type, max_tokens),
            "distilbert" => Self::distil(fields, max_tokens),
            "mpnet" => Self::mpnet(fields, max_tokens),
            "modernbert" => Self::modern(fields, max_tokens),
            "nomic_bert" => Self::nomic(fields, max_tokens),
            _ => return Err(format!("it does not support networks of type `{model_type}`")),
        }?;
        let Shape { hidden, heads, intermediate, ref rotations, longest, .. } = network.shape;
        if [hidden, heads, intermediate].contains(&0) || network.types == Some(0) {
            return Err("config.json has a size of 0".to_owned());
        }
        if !hidden.is_multiple_of(heads) {
            return Err(format!("a width of {hidden} cannot be divided into {heads} heads"));
        }
        let head = hidden / heads;
        if head > MAX_HEAD {
            return Err(format!("its heads are {head} wide, more than {MAX_HEAD}"));
        }
        if !rotations.is_empty() && !head.is_multiple_of(2) {
            return Err(format!("heads of {} cannot be rotated in pairs", value::count(head, "number")));
        }
        if network.positions.is_none() && longest > MOST_TOKENS {
            return Err(format!("it reads {longest} tokens, more than {MOST_TOKENS}"));
        }
        Ok(network)
    }

    /// Returns the shape of the network.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns whether there is a word vector for each of these tokens.
    pub(super) fn has_all(&self, ids: &[u32]) -> bool {
        ids.iter().all(|&id| (id as usize) < self.vocabulary)
    }

    /// Returns the activation in the language-model head of the network with this `config.json`.
    pub(super) fn head_activation(&self, config: &[u8]) -> Result<Then, String> {
        let fields = serde_json::from_slice(config).map(Fields).map_err(|error| format!("config.json: {error}"))?;
        match fields.get("model_type").and_then(Value::as_str) {
            // Their heads have this one, whatever the layers have.
            Some("roberta" | "xlm-roberta" | "camembert" | "mpnet") => Ok(Then::Gelu),
            Some("modernbert") => fields.activation(&["classifier_activation"]),
            _ => Ok(self.shape.activation),
        }
    }

    /// Finds the tensors of the network. Their names may have a prefix, for example `bert.`.
    pub(super) fn open<'a>(&'a self, tensors: &'a Tensors) -> Result<Weights<'a>, String> {
        let prefix = prefix(tensors.names(), &[&format!("{}.weight", self.layout.words)]);
        let weights = Weights { network: self, tensors, prefix, read: RefCell::default() };
        // Fails early if the last layer is missing, before memory is allocated for all that `config.json` promises.
        if let Some(last) = self.shape.layers.len().checked_sub(1) {
            weights.norm(&format!("{}.{last}.{}", self.layout.layers, self.layout.feed_forward_norm))?;
        }
        Ok(weights)
    }
}

/// Maximum number of layers of a network: no memory is allocated for a config that promises more.
const MOST_LAYERS: usize = 1 << 12;

impl Fields {
    /// Returns the first of these names that is present, and its value.
    fn first<'n>(&self, names: &[&'n str]) -> Option<(&'n str, &Value)> {
        names.iter().find_map(|&name| Some((name, self.get(name)?)))
    }

    /// Returns a size, from the first of these names that is present.
    fn size(&self, names: &[&str]) -> Result<usize, String> {
        self.optional_size(names)?.ok_or_else(|| format!("config.json: `{}` is missing", names[0]))
    }

    fn optional_size(&self, names: &[&str]) -> Result<Option<usize>, String> {
        let Some((name, value)) = self.first(names) else { return Ok(None) };
        let size = value.as_u64().and_then(|size| usize::try_from(size).ok());
        size.map(Some).ok_or_else(|| format!("config.json: `{name}` is {value}, which is not a size"))
    }

    fn number(&self, names: &[&str], default: f64) -> Result<f64, String> {
        let Some((name, value)) = self.first(names) else { return Ok(default) };
        value.as_f64().ok_or_else(|| format!("config.json: `{name}` is {value}, not a number"))
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool, String> {
        let Some(value) = self.get(name) else { return Ok(default) };
        value.as_bool().ok_or_else(|| format!("config.json: `{name}` is {value}, not true or false"))
    }

    fn activation(&self, names: &[&str]) -> Result<Then, String> {
        let Some((_, value)) = self.first(names) else { return Ok(Then::Gelu) };
        match value.as_str() {
            Some("gelu") => Ok(Then::Gelu),
            Some("gelu_new" | "gelu_pytorch_tanh" | "gelu_fast") => Ok(Then::GeluTanh),
            Some("silu" | "swish") => Ok(Then::Silu),
            Some("relu") => Ok(Then::Relu),
            _ => Err(format!("it does not support the activation {value}")),
        }
    }

    fn epsilon(&self, names: &[&str], default: f64) -> Result<f32, String> {
        #[expect(clippy::cast_possible_truncation, reason = "to the precision that is computed in")]
        self.number(names, default).map(|epsilon| epsilon as f32)
    }

    fn layers(&self, names: &[&str], sight: Sight) -> Result<Vec<Sight>, String> {
        let count = self.size(names)?;
        if (1..=MOST_LAYERS).contains(&count) {
            Ok(vec![sight; count])
        } else {
            Err(format!("config.json: {count} layers are not from 1 to {MOST_LAYERS}"))
        }
    }
}

impl Network {
    fn bert(fields: &Fields, model_type: &str, max_tokens: usize) -> Result<Self, String> {
        if let Some(positions) = fields.get("position_embedding_type")
            && positions != "absolute"
        {
            return Err(format!("its positions are {positions}, not \"absolute\""));
        }
        Self::like_bert(fields, model_type, max_tokens)
    }

    /// Reads BERT without checking how positions are embedded.
    fn like_bert(fields: &Fields, model_type: &str, max_tokens: usize) -> Result<Self, String> {
        let positions = fields.size(&["max_position_embeddings"])?;
        let padding = fields.optional_size(&["pad_token_id"])?;
        let first_position = first_position(model_type, padding);
        Ok(Self {
            shape: Shape {
                hidden: fields.size(&["hidden_size", "dim"])?,
                heads: fields.size(&["num_attention_heads", "n_heads"])?,
                intermediate: fields.size(&["intermediate_size", "hidden_dim"])?,
                layers: fields.layers(&["num_hidden_layers", "n_layers"], Sight::default())?,
                epsilon: fields.epsilon(&["layer_norm_eps"], 1e-12)?,
                first_position,
                rotations: Vec::new(),
                activation: fields.activation(&["hidden_act", "activation"])?,
                norms: Norms::After,
                longest: positions.saturating_sub(first_position),
            },
            layout: &BERT,
            biases: ALL,
            vocabulary: fields.size(&["vocab_size"])?,
            positions: Some(positions),
            reached: first_position.saturating_add(max_tokens),
            types: Some(fields.optional_size(&["type_vocab_size"])?.unwrap_or(2)),
            distances: None,
        })
    }

    fn distil(fields: &Fields, max_tokens: usize) -> Result<Self, String> {
        let bert = Self::bert(fields, "distilbert", max_tokens)?;
        let shape = Shape { epsilon: 1e-12, ..bert.shape };
        Ok(Self { shape, layout: &DISTIL, types: None, ..bert })
    }

    fn mpnet(fields: &Fields, max_tokens: usize) -> Result<Self, String> {
        let buckets = fields.optional_size(&["relative_attention_num_buckets"])?.unwrap_or(32);
        if buckets < 4 || !buckets.is_multiple_of(2) {
            let buckets = value::count(buckets, "distance bucket");
            return Err(format!("config.json: {buckets}; there must be an even number, at least 4"));
        }
        let bert = Self::bert(fields, "mpnet", max_tokens)?;
        Ok(Self { layout: &MPNET, types: None, distances: Some(Bias::Buckets(buckets)), ..bert })
    }

    fn jina(fields: &Fields, max_tokens: usize) -> Result<Self, String> {
        fields.only("feed_forward_type", &[json!("geglu")])?;
        let bert = Self::like_bert(fields, "bert", max_tokens)?;
        Ok(Self {
            // `hidden_act` is ignored.
            shape: Shape { longest: max_tokens, activation: Then::Gelu, ..bert.shape },
            layout: &JINA,
            biases: Biases { up: false, ..ALL },
            positions: None,
            distances: Some(Bias::Slopes),
            ..bert
        })
    }

    fn nomic(fields: &Fields, max_tokens: usize) -> Result<Self, String> {
        fields.only("rotary_emb_fraction", &[json!(1), json!(1.0)])?;
        fields.only("rotary_scaling_factor", &[json!(1), json!(1.0)])?;
        fields.only("rotary_emb_scale_base", &[])?;
        for key in ["causal", "parallel_block", "use_rms_norm", "prenorm", "rotary_emb_interleaved"] {
            fields.only(key, &[json!(false)])?;
        }
        let activation = match fields.get("activation_function").and_then(Value::as_str) {
            Some("swiglu") => Then::Silu,
            Some("geglu") => Then::Gelu,
            other => return Err(format!("`activation_function` is {}, which is not supported", json!(other))),
        };
        let attention = fields.flag("qkv_proj_bias", true)?;
        Ok(Self {
            shape: Shape {
                hidden: fields.size(&["n_embd"])?,
                heads: fields.size(&["n_head"])?,
                intermediate: fields.size(&["n_inner"])?,
                layers: fields.layers(&["n_layer"], Sight { reach: None, rotation: Some(0) })?,
                epsilon: fields.epsilon(&["layer_norm_epsilon"], 1e-5)?,
                first_position: 0,
                rotations: vec![fields.number(&["rotary_emb_base"], 10_000.0)?],
                activation,
                norms: Norms::After,
                longest: max_tokens,
            },
            layout: &NOMIC,
            biases: Biases {
                attention,
                up: fields.flag("mlp_fc1_bias", true)?,
                down: fields.flag("mlp_fc2_bias", true)?,
                norms: true,
            },
            vocabulary: fields.size(&["vocab_size"])?,
            positions: None,
            reached: max_tokens,
            types: match fields.optional_size(&["type_vocab_size"])? {
                Some(0) => None,
                types => Some(types.unwrap_or(2)),
            },
            distances: None,
        })
    }

    fn modern(fields: &Fields, max_tokens: usize) -> Result<Self, String> {
        fields.only("rope_scaling", &[])?;
        let mut bases = [
            fields.number(&["global_rope_theta"], 160_000.0)?,
            match fields.0.get("local_rope_theta") {
                // Null means the same as the other.
                Some(Value::Null) => fields.number(&["global_rope_theta"], 160_000.0)?,
                _ => fields.number(&["local_rope_theta"], 10_000.0)?,
            },
        ];
        // Newer files have the same values under other names.
        for (kind, base) in ["full_attention", "sliding_attention"].iter().zip(&mut bases) {
            let Some(rotations) = fields.rotations(Some(kind))? else { continue };
            *base = rotations.number(&["rope_theta"], *base)?;
        }
        let all = Sight { reach: None, rotation: Some(0) };
        let reach = fields.optional_size(&["local_attention"])?.unwrap_or(128) / 2;
        let near = Sight { reach: Some(reach), rotation: Some(1) };
        let mut layers = fields.layers(&["num_hidden_layers"], near)?;
        match fields.get("layer_types") {
            Some(Value::Array(kinds)) if kinds.len() == layers.len() => {
                for (layer, kind) in layers.iter_mut().zip(kinds) {
                    *layer = match kind.as_str() {
                        Some("full_attention") => all,
                        Some("sliding_attention") => near,
                        _ => return Err(format!("it does not support layers of type {kind}")),
                    };
                }
            }
            Some(kinds) => return Err(format!("config.json: `layer_types` is {kinds}, not one for each layer")),
            None => {
                let every = fields.optional_size(&["global_attn_every_n_layers"])?.unwrap_or(3);
                if every == 0 {
                    return Err("config.json: `global_attn_every_n_layers` is 0".to_owned());
                }
                layers.iter_mut().step_by(every).for_each(|layer| *layer = all);
            }
        }
        let (attention, feed_forward) = (fields.flag("attention_bias", false)?, fields.flag("mlp_bias", false)?);
        Ok(Self {
            shape: Shape {
                hidden: fields.size(&["hidden_size"])?,
                heads: fields.size(&["num_attention_heads"])?,
                intermediate: fields.size(&["intermediate_size"])?,
                layers,
                epsilon: fields.epsilon(&["norm_eps", "layer_norm_eps"], 1e-5)?,
                first_position: 0,
                rotations: bases.to_vec(),
                activation: fields.activation(&["hidden_activation"])?,
                norms: Norms::Before,
                longest: max_tokens,
            },
            layout: &MODERN,
            biases: Biases { attention, up: feed_forward, down: feed_forward, norms: fields.flag("norm_bias", false)? },
            vocabulary: fields.size(&["vocab_size"])?,
            positions: None,
            reached: max_tokens,
            types: None,
            distances: None,
        })
    }
}

impl Weights<'_> {
    /// Returns the parameters of the embedding layer and of the norm after the last layer.
    pub(super) fn embeddings(&self) -> Result<Embeddings, String> {
        let Network { shape, layout, vocabulary, reached, .. } = self.network;
        let table = |name: &str, rows| self.tensor(&format!("{name}.weight"), &[rows, shape.hidden]);
        let positions = match self.network.positions {
            Some(positions) if *reached > positions => {
                return Err(format!("it has {}, but texts reach {reached}", value::count(positions, "position")));
            }
            Some(positions) => Some(table("embeddings.position_embeddings", positions)?),
            None => None,
        };
        let types = self.network.types.map(|types| table("embeddings.token_type_embeddings", types)).transpose()?;
        Ok(Embeddings {
            words: table(layout.words, *vocabulary)?,
            positions,
            second: types.as_ref().and_then(|rows| rows.chunks_exact(shape.hidden).nth(1)).map(<[f32]>::to_vec),
            every: types.map(|mut rows| {
                rows.truncate(shape.hidden);
                rows
            }),
            norm: self.norm(layout.first_norm)?,
            distances: self.distances()?,
            last_norm: layout.last_norm.map(|name| self.norm(name)).transpose()?,
        })
    }

    /// Returns the biases of each head by distance. They are added before scores are divided by the square root of
    /// the head's width.
    fn distances(&self) -> Result<Vec<Distances>, String> {
        let Shape { hidden, heads, longest, .. } = self.network.shape;
        #[expect(clippy::cast_precision_loss, reason = "a head is far narrower than 2^24")]
        let root = ((hidden / heads) as f32).sqrt();
        Ok(match self.network.distances {
            None => Vec::new(),
            Some(Bias::Slopes) => {
                #[expect(clippy::cast_precision_loss, reason = "texts have far fewer than 2^24 tokens")]
                let of = |slope: f32| Distances::new(longest, move |far| -slope * far.unsigned_abs() as f32 * root);
                slopes(heads).into_iter().map(of).collect()
            }
            Some(Bias::Buckets(buckets)) => {
                let table = self.tensor(&format!("{BUCKETS}.weight"), &[buckets, heads])?;
                let of = |head| Distances::new(longest, |far| table[bucket(far, buckets) * heads + head] * root);
                (0..heads).map(of).collect()
            }
        })
    }

    /// Returns the parameters of a layer.
    pub(super) fn layer(&self, index: usize) -> Result<LayerWeights, String> {
        let Network { shape: Shape { hidden, intermediate, .. }, layout, biases, .. } = self.network;
        let (hidden, intermediate) = (*hidden, *intermediate);
        let at = |part: &str| format!("{}.{index}.{part}", layout.layers);
        let mut attention = self.parts(&layout.attention, at, [hidden, hidden], biases.attention)?.into_iter();
        let mut up = self.parts(&layout.up, at, [intermediate, hidden], biases.up)?.into_iter();
        let mut next = || attention.next().ok_or_else(|| "attention has three parts".to_owned());
        let normalizes = index > 0 || layout.normalizes_first;
        Ok(LayerWeights {
            attention: [next()?, next()?, next()?],
            output: self.linear(&at(layout.output), [hidden, hidden], biases.attention)?,
            attention_norm: normalizes.then(|| self.norm(&at(layout.attention_norm))).transpose()?,
            up: up.next().ok_or("a feed-forward part has two halves")?,
            gate: up.next(),
            down: self.linear(&at(layout.down), [hidden, intermediate], biases.down)?,
            feed_forward_norm: self.norm(&at(layout.feed_forward_norm))?,
        })
    }

    /// Fails if a tensor of the network has not been read.
    pub(super) fn all_read(&self) -> Result<(), String> {
        let read = self.read.borrow();
        let names = self.tensors.names().filter_map(|name| name.strip_prefix(self.prefix));
        match names.filter(|name| in_network(name) && !read.contains(*name)).min() {
            None => Ok(()),
            Some(name) => {
                Err(format!("the tensor `{name}` belongs to a network of another kind than config.json describes"))
            }
        }
    }

    fn parts(
        &self,
        parts: &Parts,
        at: impl Fn(&str) -> String,
        [outputs, inputs]: [usize; 2],
        bias: bool,
    ) -> Result<Vec<Linear>, String> {
        match *parts {
            Parts::Apart(names) => names.iter().map(|name| self.linear(&at(name), [outputs, inputs], bias)).collect(),
            Parts::Together(name, count) => {
                let all = self.linear(&at(name), [outputs.saturating_mul(count), inputs], bias)?;
                let each = all.weight.chunks_exact(outputs * inputs).zip(all.bias.chunks_exact(outputs));
                Ok(each.map(|(weight, bias)| Linear { weight: weight.to_vec(), bias: bias.to_vec() }).collect())
            }
        }
    }

    fn linear(&self, name: &str, [outputs, inputs]: [usize; 2], bias: bool) -> Result<Linear, String> {
        let weight = self.tensor(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = if bias { self.tensor(&format!("{name}.bias"), &[outputs])? } else { vec![0.0; outputs] };
        Ok(Linear { weight, bias })
    }

    fn norm(&self, name: &str) -> Result<Norm, String> {
        let size = self.network.shape.hidden;
        let weight = self.tensor(&format!("{name}.weight"), &[size])?;
        let bias =
            if self.network.biases.norms { self.tensor(&format!("{name}.bias"), &[size])? } else { vec![0.0; size] };
        Ok(Norm { weight, bias })
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        self.get(name, shape).ok_or_else(|| format!("there is no tensor `{name}`"))?
    }

    /// Returns a tensor's values if it exists, or an error if it has another shape.
    fn get(&self, name: &str, shape: &[usize]) -> Option<Result<Vec<f32>, String>> {
        let (found, values) = match self.tensors.floats(&format!("{}{name}", self.prefix))? {
            Ok(found) => found,
            Err(problem) => return Some(Err(problem)),
        };
        self.read.borrow_mut().insert(name.to_owned());
        let count = shape.iter().try_fold(1, |count: usize, &size| count.checked_mul(size));
        Some(if found == shape && count == Some(values.len()) {
            Ok(values)
        } else {
            Err(format!("the tensor `{name}` is {found:?}, but config.json says {shape:?}"))
        })
    }
}

/// The parameters of a language-model head: the layers after the network that give an output for each token of the
/// vocabulary.
#[derive(Debug)]
pub(super) struct HeadWeights {
    /// The first layer.
    pub(super) dense: Linear,
    /// The norm after it.
    pub(super) norm: Norm,
    /// The last layer, with an output for each token.
    pub(super) decoder: Linear,
}

/// A family's names for the layers of the head: the first, its norm, and those that the last layer, or only its bias, may
/// have.
struct HeadNames {
    dense: &'static str,
    norm: &'static str,
    decoder: &'static str,
    bias: &'static str,
}

impl HeadNames {
    fn of(model_type: &str) -> Result<Self, String> {
        let [dense, norm, decoder, bias] = match model_type {
            "bert" => [
                "cls.predictions.transform.dense",
                "cls.predictions.transform.LayerNorm",
                "cls.predictions.decoder",
                "cls.predictions.bias",
            ],
            "roberta" | "xlm-roberta" | "camembert" | "mpnet" => {
                ["lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"]
            }
            "distilbert" => ["vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"],
            "modernbert" => ["head.dense", "head.norm", "decoder", "decoder.bias"],
            _ => return Err(format!("chunkmill does not support language-model heads of type `{model_type}`")),
        };
        Ok(Self { dense, norm, decoder, bias })
    }
}

impl HeadWeights {
    /// Reads the head of a network of this width. Its last layer shares the vectors of `words`, unless the files have others.
    pub(super) fn read(tensors: &Tensors, model_type: &str, words: &[f32], hidden: usize) -> Result<Self, String> {
        let names = HeadNames::of(model_type)?;
        let tokens = words.len() / hidden;
        let read = |name: &str, shape: &[usize]| tensors.shaped(name, shape).transpose();
        let needed = |name: &str, shape: &[usize]| {
            read(name, shape)?
                .ok_or_else(|| format!("there is no tensor `{name}`; is the model a masked language model?"))
        };
        // Only ModernBERT may have no biases here.
        let or_zeros = |name: &str, size: usize| match model_type {
            "modernbert" => Ok(read(name, &[size])?.unwrap_or_else(|| vec![0.0; size])),
            _ => needed(name, &[size]),
        };
        let HeadNames { dense, norm, decoder, bias } = names;
        let decoder_bias = match read(&format!("{decoder}.bias"), &[tokens])? {
            Some(bias) => bias,
            None => or_zeros(bias, tokens)?,
        };
        Ok(Self {
            dense: Linear {
                weight: needed(&format!("{dense}.weight"), &[hidden, hidden])?,
                bias: or_zeros(&format!("{dense}.bias"), hidden)?,
            },
            norm: Norm {
                weight: needed(&format!("{norm}.weight"), &[hidden])?,
                bias: or_zeros(&format!("{norm}.bias"), hidden)?,
            },
            decoder: Linear {
                weight: read(&format!("{decoder}.weight"), &[tokens, hidden])?.unwrap_or_else(|| words.to_vec()),
                bias: decoder_bias,
            },
        })
    }
}

/// Returns the slopes of heads (Press et al. 2022). The first heads, up to the largest power of two, get a
/// geometric series; the others get every second slope of the series for twice as many heads.
#[expect(clippy::cast_precision_loss, reason = "there are few heads")]
fn slopes(heads: usize) -> Vec<f32> {
    let whole = 1 << heads.ilog2();
    let series = |count: usize| (1..=count).map(move |i| (-8.0 * i as f32 / count as f32).exp2());
    series(whole).chain(series(2 * whole).step_by(2)).take(heads).collect()
}

/// Returns the bucket of a key that is `far` tokens after the query (Raffel et al. 2020). Each side has half of the
/// buckets. Half of these contain one distance each; the others get wider and wider, up to a distance of 128.
#[expect(clippy::cast_precision_loss, reason = "texts have far fewer than 2^24 tokens")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
fn bucket(far: isize, buckets: usize) -> usize {
    const FARTHEST: f32 = 128.0;
    let side = buckets / 2;
    let exact = side / 2;
    let distance = far.unsigned_abs();
    let within = if distance < exact {
        distance
    } else {
        let share = (distance as f32 / exact as f32).ln() / (FARTHEST / exact as f32).ln();
        (exact + (share * (side - exact) as f32) as usize).min(side - 1)
    };
    within + if far > 0 { side } else { 0 }
}
