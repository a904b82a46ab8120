//! Reads a network of the BERT family into what the encoder computes with: which networks it can run,
//! and where in their files the parameters are.
//!
//! Tensors come from any function that knows them by name, so nothing here knows a tensor library.
//! Shapes are checked against `config.json`: the encoder indexes without asking again.

use serde::Deserialize;
use serde_json::Value;

use super::encoder::{Embeddings, LayerWeights, Linear, Norm, Shape};
use super::kernel::MAX_HEAD;
use crate::embed::model::first_position;
use crate::embed::tensors::Floats;

/// Where tensors come from, by their names.
pub(super) type Source<'a> = &'a dyn Fn(&str) -> Option<Result<Floats, String>>;

/// Why the encoder cannot run a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unsupported(String);

/// A network that the encoder can run.
#[derive(Debug)]
pub(super) struct Network {
    shape: Shape,
    names: &'static Names,
    vocabulary: usize,
    positions: usize,
    /// Positions that texts reach.
    reached: usize,
    /// Kinds of tokens, if the network tells them apart; a text alone is of the first kind.
    types: Option<usize>,
}

/// A network with its files.
pub(super) struct Weights<'a> {
    network: &'a Network,
    source: Source<'a>,
    prefix: &'static str,
}

#[derive(Deserialize)]
struct Kind {
    model_type: String,
}

/// What is read of `config.json`. `DistilBERT` has names of its own.
#[derive(Deserialize)]
struct Config {
    vocab_size: usize,
    #[serde(alias = "dim")]
    hidden_size: usize,
    #[serde(alias = "n_layers")]
    num_hidden_layers: usize,
    #[serde(alias = "n_heads")]
    num_attention_heads: usize,
    #[serde(alias = "hidden_dim")]
    intermediate_size: usize,
    #[serde(alias = "activation")]
    hidden_act: Option<Value>,
    max_position_embeddings: usize,
    type_vocab_size: Option<usize>,
    layer_norm_eps: Option<f32>,
    pad_token_id: Option<usize>,
    position_embedding_type: Option<String>,
    is_decoder: Option<bool>,
    add_cross_attention: Option<bool>,
}

/// What the tensors of a layer are called.
#[derive(Debug)]
struct Names {
    layers: &'static str,
    attention: [&'static str; 3],
    output: &'static str,
    output_norm: &'static str,
    up: &'static str,
    down: &'static str,
    down_norm: &'static str,
}

static BERT: Names = Names {
    layers: "encoder.layer",
    attention: ["attention.self.query", "attention.self.key", "attention.self.value"],
    output: "attention.output.dense",
    output_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    down_norm: "output.LayerNorm",
};

static DISTIL: Names = Names {
    layers: "transformer.layer",
    attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    output: "attention.out_lin",
    output_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    down_norm: "output_layer_norm",
};

/// What may stand before every name.
const PREFIXES: [&str; 6] = ["", "bert.", "roberta.", "distilbert.", "model.", "0.auto_model."];

impl Network {
    /// Reads `config.json` for texts of up to `max_tokens`.
    pub(super) fn read(config: &[u8], max_tokens: usize) -> Result<Self, Unsupported> {
        let damaged = |error: serde_json::Error| Unsupported(format!("config.json: {error}"));
        let Kind { model_type } = serde_json::from_slice(config).map_err(damaged)?;
        let names = match model_type.as_str() {
            "bert" | "roberta" | "xlm-roberta" | "camembert" => &BERT,
            "distilbert" => &DISTIL,
            _ => return Err(Unsupported(format!("it computes no networks of type `{model_type}`"))),
        };
        let config: Config = serde_json::from_slice(config).map_err(damaged)?;
        if let Some(problem) = config.problem() {
            return Err(Unsupported(problem));
        }
        let distil = model_type == "distilbert";
        let first_position = first_position(&model_type, config.pad_token_id);
        let epsilon = if distil { None } else { config.layer_norm_eps };
        Ok(Self {
            shape: Shape {
                hidden: config.hidden_size,
                heads: config.num_attention_heads,
                intermediate: config.intermediate_size,
                layers: config.num_hidden_layers,
                epsilon: epsilon.unwrap_or(1e-12),
                first_position,
            },
            names,
            vocabulary: config.vocab_size,
            positions: config.max_position_embeddings,
            reached: first_position.saturating_add(max_tokens),
            types: (!distil).then(|| config.type_vocab_size.unwrap_or(2)),
        })
    }

    /// Its shape.
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether there is a word vector for each of these tokens.
    pub(super) fn has_all(&self, ids: &[u32]) -> bool {
        ids.iter().all(|&id| (id as usize) < self.vocabulary)
    }

    /// Finds its tensors: names may have a prefix, `bert.` for example.
    pub(super) fn open<'a>(&'a self, source: Source<'a>) -> Result<Weights<'a>, String> {
        let weights = |prefix: &&'static str| Weights { network: self, source, prefix };
        let found = PREFIXES.iter().map(weights).find(|weights| weights.norm("embeddings.LayerNorm").is_ok());
        let weights = found.unwrap_or(weights(&""));
        // Nothing is set aside for layers that are only promised.
        let last = format!("{}.{}.{}", self.names.layers, self.shape.layers - 1, self.names.down_norm);
        weights.norm(&last)?;
        Ok(weights)
    }
}

impl Config {
    /// What the encoder does not compute, if anything.
    fn problem(&self) -> Option<String> {
        let (hidden, heads) = (self.hidden_size, self.num_attention_heads);
        if let Some(activation) = &self.hidden_act
            && activation != "gelu"
        {
            return Some(format!("its activation is {activation}, not \"gelu\""));
        }
        if let Some(positions) = &self.position_embedding_type
            && positions != "absolute"
        {
            return Some(format!("its positions are `{positions}`, not `absolute`"));
        }
        if self.is_decoder == Some(true) || self.add_cross_attention == Some(true) {
            return Some("it is a decoder".to_owned());
        }
        if [hidden, heads, self.intermediate_size, self.num_hidden_layers].contains(&0)
            || self.type_vocab_size == Some(0)
        {
            return Some("config.json has a size of 0".to_owned());
        }
        if !hidden.is_multiple_of(heads) {
            return Some(format!("a width of {hidden} cannot be divided into {heads} heads"));
        }
        if hidden / heads > MAX_HEAD {
            return Some(format!("its heads are {} wide, more than {MAX_HEAD}", hidden / heads));
        }
        None
    }
}

impl Weights<'_> {
    /// The parameters of the embedding layer.
    pub(super) fn embeddings(&self) -> Result<Embeddings, String> {
        let Network { shape, vocabulary, positions, reached, types, .. } = self.network;
        if reached > positions {
            return Err(format!("there are {positions} positions, but texts reach {reached}"));
        }
        let every = match types {
            Some(types) => {
                let mut rows = self.tensor("embeddings.token_type_embeddings.weight", &[*types, shape.hidden])?;
                rows.truncate(shape.hidden);
                rows
            }
            None => vec![0.0; shape.hidden],
        };
        Ok(Embeddings {
            words: self.tensor("embeddings.word_embeddings.weight", &[*vocabulary, shape.hidden])?,
            positions: self.tensor("embeddings.position_embeddings.weight", &[*positions, shape.hidden])?,
            every,
            norm: self.norm("embeddings.LayerNorm")?,
        })
    }

    /// The parameters of a layer.
    pub(super) fn layer(&self, index: usize) -> Result<LayerWeights, String> {
        let Network { shape: Shape { hidden, intermediate, .. }, names, .. } = self.network;
        let (hidden, intermediate) = (*hidden, *intermediate);
        let at = |part: &str| format!("{}.{index}.{part}", names.layers);
        let [query, key, value] = names.attention.map(|part| self.linear(&at(part), hidden, hidden));
        Ok(LayerWeights {
            attention: [query?, key?, value?],
            output: self.linear(&at(names.output), hidden, hidden)?,
            output_norm: self.norm(&at(names.output_norm))?,
            up: self.linear(&at(names.up), intermediate, hidden)?,
            down: self.linear(&at(names.down), hidden, intermediate)?,
            down_norm: self.norm(&at(names.down_norm))?,
        })
    }

    fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear, String> {
        Ok(Linear {
            weight: self.tensor(&format!("{name}.weight"), &[outputs, inputs])?,
            bias: self.tensor(&format!("{name}.bias"), &[outputs])?,
        })
    }

    /// A norm's parameters, whose names were others once.
    fn norm(&self, name: &str) -> Result<Norm, String> {
        let shape = [self.network.shape.hidden];
        let either = |new: &str, old: &str| {
            let old = self.get(&format!("{name}.{old}"), &shape);
            old.unwrap_or_else(|| self.tensor(&format!("{name}.{new}"), &shape))
        };
        Ok(Norm { weight: either("weight", "gamma")?, bias: either("bias", "beta")? })
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        self.get(name, shape).ok_or_else(|| format!("there is no tensor `{name}`"))?
    }

    /// A tensor's values, if it is there, and if it has the shape.
    fn get(&self, name: &str, shape: &[usize]) -> Option<Result<Vec<f32>, String>> {
        let (found, values) = match (self.source)(&format!("{}{name}", self.prefix))? {
            Ok(found) => found,
            Err(problem) => return Some(Err(problem)),
        };
        let count = shape.iter().try_fold(1, |count: usize, &size| count.checked_mul(size));
        Some(if found == shape && count == Some(values.len()) {
            Ok(values)
        } else {
            Err(format!("the tensor `{name}` is {found:?}, but config.json says {shape:?}"))
        })
    }
}
