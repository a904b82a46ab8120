//! The families of networks that candle computes, behind one interface.
//!
//! Candle's modules are strict about names and lenient about meaning: they ignore some settings of a `config.json`
//! and all tensors that they do not expect. This module therefore completes and checks the configuration and renames
//! tensors to the names that candle reads. If a tensor of the network is never read, that is an error: the network
//! would not be the model's.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{DType, Device, Module, Shape, Tensor, bail};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Embedding, Init, LayerNorm, VarBuilder, embedding, layer_norm};
use candle_transformers::models::{bert, jina_bert, modernbert, nomic_bert, xlm_roberta};
use chunkmill_base::value;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::decoder::{self, Decoder};
use super::mask::hidden;
use crate::fields::Fields;
use crate::model::first_position;
use crate::tensors::{in_network, prefix};

/// Candle's result type.
type Answer<T> = candle_core::Result<T>;

/// The supported types of networks, for messages.
pub(super) const SUPPORTED: &str =
    "bert (Jina's too), camembert, distilbert, gemma3_text, modernbert, nomic_bert, qwen3, roberta, xlm-roberta";

/// Maximum number of tokens for which rotation tables are built.
const MOST_TOKENS: usize = 1 << 20;

/// A checked configuration.
pub(super) enum Family {
    Bert(bert::Config),
    /// The same network as [`Family::Bert`], under other names and without token types. Candle's own module is not
    /// used, because it computes GELU by its approximation.
    Distil(bert::Config),
    Roberta(xlm_roberta::Config),
    Modern(modernbert::Config),
    Nomic(nomic_bert::Config),
    Jina(jina_bert::Config),
    Decoder(decoder::DecoderConfig),
}

/// A network ready to run.
pub(super) enum CandleNetwork {
    Bert(Bert),
    Roberta(xlm_roberta::XLMRobertaModel),
    Modern(modernbert::ModernBert),
    Nomic(nomic_bert::NomicBertModel),
    Jina(Jina),
    Decoder(Decoder),
}

impl Family {
    /// Reads a configuration for texts of up to `max_tokens`. Returns `None` if the family is not supported.
    pub(super) fn read(model_type: &str, config: &[u8], max_tokens: usize) -> Result<Option<Self>, String> {
        let fields = Fields(serde_json::from_slice(config).map_err(|error| error.to_string())?);
        for key in ["is_decoder", "add_cross_attention"] {
            fields.only(key, &[json!(false)])?;
        }
        let alibi = fields.get("position_embedding_type") == Some(&json!("alibi"));
        let family = match model_type {
            "bert" if alibi => Self::Jina(fields.jina()?),
            "bert" => Self::Bert(fields.bert()?),
            "distilbert" => Self::Distil(fields.distil()?),
            "roberta" | "xlm-roberta" | "camembert" => Self::Roberta(fields.roberta(model_type)?),
            "modernbert" => Self::Modern(fields.modern(max_tokens)?),
            "nomic_bert" => Self::Nomic(fields.nomic(max_tokens)?),
            "qwen3" => Self::Decoder(decoder::DecoderConfig::qwen3(&fields, max_tokens)?),
            "gemma3_text" => Self::Decoder(decoder::DecoderConfig::gemma3(&fields, max_tokens)?),
            _ => return Ok(None),
        };
        let (hidden, heads, rotated) = match &family {
            Self::Bert(config) | Self::Distil(config) => (config.hidden_size, config.num_attention_heads, false),
            Self::Roberta(config) => (config.hidden_size, config.num_attention_heads, false),
            Self::Modern(config) => (config.hidden_size, config.num_attention_heads, true),
            Self::Nomic(config) => (config.n_embd, config.n_head, true),
            Self::Jina(config) => (config.hidden_size, config.num_attention_heads, false),
            // The width of its heads is independent of `hidden`.
            Self::Decoder(config) => (config.hidden, 1, true),
        };
        if hidden == 0 || heads == 0 || hidden % heads != 0 {
            return Err(format!("a width of {hidden} cannot be divided into {}", value::count(heads, "head")));
        }
        if rotated && (hidden / heads % 2 != 0 || max_tokens > MOST_TOKENS) {
            return Err(format!(
                "rotary embeddings do not support heads of width {} with {}",
                hidden / heads,
                value::count(max_tokens, "token")
            ));
        }
        Ok(Some(family))
    }

    /// Returns the width of the hidden states.
    pub(super) fn dim(&self) -> usize {
        match self {
            Self::Bert(config) | Self::Distil(config) => config.hidden_size,
            Self::Roberta(config) => config.hidden_size,
            Self::Modern(config) => config.hidden_size,
            Self::Nomic(config) => config.n_embd,
            Self::Jina(config) => config.hidden_size,
            Self::Decoder(config) => config.hidden,
        }
    }

    /// Returns whether candle computes the network in 16 bits too. For the others it makes masks, positions or
    /// rotations that are of another type or not exact in 16 bits.
    pub(super) fn halves(&self) -> bool {
        matches!(self, Self::Bert(_) | Self::Distil(_) | Self::Nomic(_) | Self::Decoder(_))
    }

    /// Builds the network from its tensors, under the names they have in the files.
    pub(super) fn build(
        self,
        tensors: HashMap<String, Tensor>,
        dtype: DType,
        device: &Device,
    ) -> Answer<CandleNetwork> {
        let mut tensors = bare(tensors);
        match &self {
            Self::Distil(config) => {
                tensors = tensors.into_iter().map(|(name, tensor)| (name_in_bert(&name), tensor)).collect();
                let types = Tensor::zeros((config.type_vocab_size, config.hidden_size), DType::F32, device)?;
                tensors.insert("embeddings.token_type_embeddings.weight".to_owned(), types);
            }
            Self::Modern(config) => {
                // Candle skips a norm that it cannot read, which is correct only in the first layer.
                for layer in 1..config.num_hidden_layers {
                    let name = format!("layers.{layer}.attn_norm.weight");
                    fits(&tensors, &name, &Shape::from(config.hidden_size))?;
                }
            }
            _ => {}
        }
        let expected: BTreeSet<String> = tensors.keys().filter(|name| in_network(name)).cloned().collect();
        let read = Arc::new(Mutex::new(BTreeSet::new()));
        let recorder = Box::new(Recorder { tensors, read: Arc::clone(&read) });
        let variables = VarBuilder::from_backend(recorder, dtype, device.clone());
        let network = match self {
            Self::Bert(config) | Self::Distil(config) => CandleNetwork::Bert(Bert::new(&config, &variables)?),
            Self::Roberta(config) => CandleNetwork::Roberta(xlm_roberta::XLMRobertaModel::new(&config, variables)?),
            Self::Modern(config) => {
                let variables = variables.rename_f(|name| name.strip_prefix("model.").unwrap_or(name).to_owned());
                CandleNetwork::Modern(modernbert::ModernBert::load(variables, &config)?)
            }
            Self::Nomic(config) => CandleNetwork::Nomic(nomic_bert::NomicBertModel::load(variables, &config)?),
            Self::Jina(config) => CandleNetwork::Jina(Jina::new(variables, config)?),
            Self::Decoder(config) => CandleNetwork::Decoder(Decoder::new(config, &variables)?),
        };
        let read = read.lock().unwrap_or_else(PoisonError::into_inner);
        match expected.difference(&read).next() {
            None => Ok(network),
            Some(name) => bail!("the tensor `{name}` belongs to a network of another kind than config.json describes"),
        }
    }
}

impl CandleNetwork {
    /// Returns whether texts of different lengths can be computed together.
    pub(super) fn masks(&self) -> bool {
        !matches!(self, Self::Jina(_) | Self::Decoder(_))
    }

    /// Returns whether padding after a text leaves its states as they are, up to the last bits.
    pub(super) fn pads(&self) -> bool {
        self.masks() || matches!(self, Self::Decoder(network) if network.is_causal())
    }

    /// Returns the last hidden states of texts of one length, or of texts padded to it, with a mask of ones and zeros.
    pub(super) fn forward(&self, ids: &Tensor, mask: Option<&Tensor>) -> Answer<Tensor> {
        let all = || mask.map_or_else(|| ids.ones_like(), |mask| Ok(mask.clone()));
        match self {
            Self::Bert(network) => network.forward(ids, mask),
            Self::Roberta(network) => network.forward(ids, &all()?, &ids.zeros_like()?, None, None, None),
            Self::Modern(network) => network.forward(ids, &all()?),
            Self::Nomic(network) => network.forward(ids, None, mask),
            Self::Jina(network) => network.reaching(ids.dim(1)?)?.forward(ids),
            Self::Decoder(network) => network.forward(ids),
        }
    }
}

/// BERT's network. Embeddings and mask are computed here: candle's own mask multiplies zero by a number that is infinite
/// in 16 bits, so each of its values would be NaN.
pub(super) struct Bert {
    words: Embedding,
    positions: Embedding,
    types: Embedding,
    norm: LayerNorm,
    encoder: bert::BertEncoder,
}

impl Bert {
    fn new(config: &bert::Config, variables: &VarBuilder<'_>) -> Answer<Self> {
        let inputs = variables.pp("embeddings");
        let table = |rows, name| embedding(rows, config.hidden_size, inputs.pp(name));
        Ok(Self {
            words: table(config.vocab_size, "word_embeddings")?,
            positions: table(config.max_position_embeddings, "position_embeddings")?,
            types: table(config.type_vocab_size, "token_type_embeddings")?,
            norm: layer_norm(config.hidden_size, config.layer_norm_eps, inputs.pp("LayerNorm"))?,
            encoder: bert::BertEncoder::load(variables.pp("encoder"), config)?,
        })
    }

    fn forward(&self, ids: &Tensor, mask: Option<&Tensor>) -> Answer<Tensor> {
        let (texts, tokens) = ids.dims2()?;
        let last = u32::try_from(tokens).map_err(candle_core::Error::wrap)?;
        let positions = self.positions.forward(&Tensor::arange(0, last, ids.device())?)?;
        let states = (self.words.forward(ids)? + self.types.forward(&ids.zeros_like()?)?)?;
        let states = self.norm.forward(&states.broadcast_add(&positions)?)?;
        let dtype = states.dtype();
        let added = match mask {
            Some(mask) => {
                let seen = Tensor::zeros((texts, tokens), dtype, ids.device())?;
                let unseen = Tensor::full(hidden(dtype), (texts, tokens), ids.device())?.to_dtype(dtype)?;
                mask.where_cond(&seen, &unseen)?.reshape((texts, 1, 1, tokens))?
            }
            None => Tensor::zeros((1, 1, 1, 1), dtype, ids.device())?,
        };
        self.encoder.forward(&states, &added)
    }
}

/// Jina's network. It contains a table of all distances in a text for every head, which takes gigabytes for the 8192
/// tokens that these models read. It is therefore built for the text lengths that occur.
pub(super) struct Jina {
    variables: VarBuilder<'static>,
    config: jina_bert::Config,
    made: Mutex<(usize, Arc<jina_bert::BertModel>)>,
}

impl Jina {
    fn new(variables: VarBuilder<'static>, config: jina_bert::Config) -> Answer<Self> {
        let made = Self::make(&variables, &config, 512)?;
        Ok(Self { variables, config, made: Mutex::new(made) })
    }

    fn make(
        variables: &VarBuilder<'static>,
        config: &jina_bert::Config,
        length: usize,
    ) -> Answer<(usize, Arc<jina_bert::BertModel>)> {
        let config = jina_bert::Config { max_position_embeddings: length, ..config.clone() };
        Ok((length, Arc::new(jina_bert::BertModel::new(variables.clone(), &config)?)))
    }

    fn reaching(&self, length: usize) -> Answer<Arc<jina_bert::BertModel>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.0 < length {
            *made = Self::make(&self.variables, &self.config, length.next_power_of_two())?;
        }
        Ok(Arc::clone(&made.1))
    }
}

impl Fields {
    fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    /// Sets fields that are absent.
    fn complete<const N: usize>(&mut self, defaults: [(&str, Value); N]) {
        for (key, value) in defaults {
            if self.get(key).is_none() {
                self.set(key, value);
            }
        }
    }

    fn parse<T: DeserializeOwned>(self) -> Result<T, String> {
        serde_json::from_value(Value::Object(self.0)).map_err(|error| error.to_string())
    }

    fn bert(mut self) -> Result<bert::Config, String> {
        self.only("position_embedding_type", &[json!("absolute")])?;
        self.complete([
            ("hidden_act", json!("gelu")),
            ("hidden_dropout_prob", json!(0.0)),
            ("initializer_range", json!(0.02)),
            ("layer_norm_eps", json!(1e-12)),
            ("pad_token_id", json!(0)),
            ("position_embedding_type", json!("absolute")),
            ("type_vocab_size", json!(2)),
        ]);
        if ["gelu_new", "gelu_pytorch_tanh"].map(|name| Some(json!(name))).contains(&self.get("hidden_act").cloned()) {
            self.set("hidden_act", json!("geluapproximate"));
        }
        // Candle would try it as a prefix of tensor names, but they have none.
        self.0.remove("model_type");
        self.parse()
    }

    fn distil(mut self) -> Result<bert::Config, String> {
        for (name, in_bert) in [
            ("dim", "hidden_size"),
            ("n_layers", "num_hidden_layers"),
            ("n_heads", "num_attention_heads"),
            ("hidden_dim", "intermediate_size"),
            ("activation", "hidden_act"),
        ] {
            if let Some(value) = self.0.remove(name) {
                self.set(in_bert, value);
            }
        }
        self.set("type_vocab_size", json!(1));
        self.set("layer_norm_eps", json!(1e-12));
        self.bert()
    }

    fn roberta(mut self, model_type: &str) -> Result<xlm_roberta::Config, String> {
        self.only("position_embedding_type", &[json!("absolute")])?;
        let padding = first_position(model_type, None).saturating_sub(1);
        self.complete([
            ("attention_probs_dropout_prob", json!(0.0)),
            ("hidden_act", json!("gelu")),
            ("hidden_dropout_prob", json!(0.0)),
            ("layer_norm_eps", json!(1e-12)),
            ("pad_token_id", json!(padding)),
            ("position_embedding_type", json!("absolute")),
            ("type_vocab_size", json!(2)),
        ]);
        self.parse()
    }

    fn modern(mut self, max_tokens: usize) -> Result<modernbert::Config, String> {
        self.only("hidden_activation", &[json!("gelu")])?;
        self.only("rope_scaling", &[])?;
        // Newer files use other names for the same settings.
        if let Some(epsilon) = self.get("norm_eps").cloned() {
            self.set("layer_norm_eps", epsilon);
        }
        for (kind, theta) in [("full_attention", "global_rope_theta"), ("sliding_attention", "local_rope_theta")] {
            if let Some(value) = self.rotations(Some(kind))?.and_then(|rotations| rotations.get("rope_theta").cloned())
            {
                self.set(theta, value);
            }
        }
        let mut every = None;
        if let Some(Value::Array(kinds)) = self.get("layer_types") {
            let full: Vec<bool> = kinds.iter().map(|kind| kind == "full_attention").collect();
            let count = full.iter().skip(1).position(|&full| full).map_or(full.len().max(1), |at| at + 1);
            if full.iter().enumerate().any(|(layer, &full)| full != (layer % count == 0)) {
                return Err("`layer_types` does not follow a repeating pattern".to_owned());
            }
            every = Some(count);
        }
        if let Some(every) = every {
            self.set("global_attn_every_n_layers", json!(every));
        }
        self.complete([
            ("global_attn_every_n_layers", json!(3)),
            ("global_rope_theta", json!(160_000.0)),
            ("layer_norm_eps", json!(1e-5)),
            ("local_attention", json!(128)),
            ("local_rope_theta", json!(10_000.0)),
            ("pad_token_id", json!(0)),
        ]);
        self.set("max_position_embeddings", json!(max_tokens));
        let config: modernbert::Config = self.parse()?;
        if config.global_attn_every_n_layers == 0 {
            return Err("`global_attn_every_n_layers` is 0".to_owned());
        }
        Ok(config)
    }

    fn nomic(mut self, max_tokens: usize) -> Result<nomic_bert::Config, String> {
        // Candle's defaults for these are those of one particular model.
        let needed = ["n_embd", "n_head", "n_inner", "n_layer", "vocab_size", "layer_norm_epsilon"];
        let rotation = ["rotary_emb_base", "rotary_emb_fraction", "activation_function"];
        if let Some(key) = needed.iter().chain(&rotation).find(|key| self.get(key).is_none()) {
            return Err(format!("`{key}` is missing"));
        }
        self.only("activation_function", &[json!("swiglu")])?;
        self.only("rotary_emb_fraction", &[json!(1), json!(1.0)])?;
        self.only("rotary_scaling_factor", &[json!(1), json!(1.0)])?;
        self.only("rotary_emb_scale_base", &[])?;
        for key in ["causal", "parallel_block", "use_rms_norm"] {
            self.only(key, &[json!(false)])?;
        }
        self.set("n_positions", json!(max_tokens));
        self.0.remove("model_type");
        self.0.retain(|_, value| !value.is_null());
        self.parse()
    }

    fn jina(mut self) -> Result<jina_bert::Config, String> {
        self.only("feed_forward_type", &[json!("geglu")])?;
        self.complete([
            ("hidden_act", json!("gelu")),
            ("initializer_range", json!(0.02)),
            ("layer_norm_eps", json!(1e-12)),
            ("max_position_embeddings", json!(0)),
            ("pad_token_id", json!(0)),
            ("type_vocab_size", json!(2)),
        ]);
        self.parse()
    }
}

/// Removes the prefix that names have in files of larger models, for example `bert.`, and uses the current names of a
/// norm's parameters.
fn bare(tensors: HashMap<String, Tensor>) -> HashMap<String, Tensor> {
    let first = ["embeddings.word_embeddings.weight", "embeddings.tok_embeddings.weight", "embed_tokens.weight"];
    let prefix = prefix(tensors.keys().map(String::as_str), &first).to_owned();
    let named = tensors.into_iter().filter_map(|(name, tensor)| {
        let name = name.strip_prefix(&prefix)?;
        let name = match name.rsplit_once('.') {
            Some((norm, "gamma")) => format!("{norm}.weight"),
            Some((norm, "beta")) => format!("{norm}.bias"),
            _ => name.to_owned(),
        };
        Some((name, tensor))
    });
    named.collect()
}

/// Returns BERT's name for a tensor of `DistilBERT`.
fn name_in_bert(name: &str) -> String {
    const PARTS: [(&str, &str); 8] = [
        ("attention.q_lin", "attention.self.query"),
        ("attention.k_lin", "attention.self.key"),
        ("attention.v_lin", "attention.self.value"),
        ("attention.out_lin", "attention.output.dense"),
        ("sa_layer_norm", "attention.output.LayerNorm"),
        ("ffn.lin1", "intermediate.dense"),
        ("ffn.lin2", "output.dense"),
        ("output_layer_norm", "output.LayerNorm"),
    ];
    let in_bert = || {
        let (layer, rest) = name.strip_prefix("transformer.layer.")?.split_once('.')?;
        let (part, kind) = rest.rsplit_once('.')?;
        let (_, part) = PARTS.iter().find(|(distil, _)| *distil == part)?;
        Some(format!("encoder.layer.{layer}.{part}.{kind}"))
    };
    in_bert().unwrap_or_else(|| name.to_owned())
}

/// Tensors by name, and the names of those that have been read.
struct Recorder {
    tensors: HashMap<String, Tensor>,
    read: Arc<Mutex<BTreeSet<String>>>,
}

impl SimpleBackend for Recorder {
    fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Answer<Tensor> {
        fits(&self.tensors, name, &shape)?;
        self.get_unchecked(name, dtype, device)
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Answer<Tensor> {
        let Some(tensor) = self.tensors.get(name) else { bail!("there is no tensor `{name}`") };
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        tensor.to_device(device)?.to_dtype(dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }
}

/// Checks that there is a tensor of this name and shape.
fn fits(tensors: &HashMap<String, Tensor>, name: &str, shape: &Shape) -> Answer<()> {
    match tensors.get(name) {
        Some(tensor) if tensor.shape() == shape => Ok(()),
        Some(tensor) => bail!("the tensor `{name}` is {:?}, but config.json says {shape:?}", tensor.shape()),
        None => bail!("there is no tensor `{name}`"),
    }
}

#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use candle_core::{D, DType, Device, Tensor};
    use candle_nn::VarBuilder;
    use candle_transformers::models::bert::BertModel;

    use super::*;

    const BERT: &str = r#"{"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "max_position_embeddings": 40, "type_vocab_size": 2}"#;
    const NOMIC: &str = r#"{"vocab_size": 50, "n_embd": 32, "n_head": 4, "n_inner": 64, "n_layer": 2, "n_positions": 40,
        "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0, "type_vocab_size": 2,
        "activation_function": "swiglu", "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false}"#;
    const QWEN: &str = r#"{"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "hidden_act": "silu"}"#;

    fn family(model_type: &str, config: &str) -> Family {
        Family::read(model_type, config.as_bytes(), 40).unwrap().unwrap()
    }

    /// Makes up the tensors that a network reads, the same ones each time.
    #[derive(Clone, Default)]
    struct MadeUp(Arc<Mutex<HashMap<String, Tensor>>>);

    impl SimpleBackend for MadeUp {
        fn get(&self, shape: Shape, name: &str, _: Init, dtype: DType, device: &Device) -> Answer<Tensor> {
            let seed = name.bytes().fold(7_u32, |seed, byte| seed.wrapping_mul(31).wrapping_add(u32::from(byte)));
            let is_norm = name.contains("norm") || name.contains("LayerNorm") || name.contains("emb_ln");
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let x = (state >> 8) as f32 / (1 << 24) as f32 - 0.5;
                if is_norm && name.ends_with("weight") { 1.0 + x * 0.2 } else { x * 0.4 }
            };
            let values: Vec<f32> = (0..shape.elem_count()).map(|_| next()).collect();
            let tensor = Tensor::from_vec(values, shape, device)?;
            self.0.lock().unwrap().insert(name.to_owned(), tensor.clone());
            tensor.to_dtype(dtype)
        }

        fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Answer<Tensor> {
            bail!("`{name}` was asked for without a shape")
        }

        fn contains_tensor(&self, _: &str) -> bool {
            false
        }
    }

    /// Returns a network's tensors: those that it reads.
    fn tensors(family: Family) -> HashMap<String, Tensor> {
        let made = MadeUp::default();
        let variables = VarBuilder::from_backend(Box::new(made.clone()), DType::F32, Device::Cpu);
        match family {
            Family::Bert(config) => drop(Bert::new(&config, &variables).unwrap()),
            Family::Nomic(config) => drop(nomic_bert::NomicBertModel::load(variables, &config).unwrap()),
            Family::Decoder(config) => drop(Decoder::new(config, &variables).unwrap()),
            _ => unreachable!(),
        }
        made.0.lock().unwrap().clone()
    }

    /// Texts of these lengths, padded to a width, and their mask.
    fn texts(lengths: &[usize], width: usize) -> [Tensor; 2] {
        let make = |value: &dyn Fn(usize, usize, usize) -> u32| {
            let of = |(text, &len): (usize, &usize)| (0..width).map(|at| value(text, at, len)).collect::<Vec<_>>();
            let values: Vec<u32> = lengths.iter().enumerate().flat_map(of).collect();
            Tensor::from_vec(values, (lengths.len(), width), &Device::Cpu).unwrap()
        };
        let id = |text: usize, at: usize| u32::try_from(1 + (at * 7 + text * 5) % 49).unwrap();
        [make(&|text, at, len| if at < len { id(text, at) } else { 0 }), make(&|_, at, len| u32::from(at < len))]
    }

    fn mean(states: &Tensor, text: usize, len: usize) -> Vec<f32> {
        let states = states.to_dtype(DType::F32).unwrap().get(text).unwrap().narrow(0, 0, len).unwrap();
        states.mean(0).unwrap().to_vec1().unwrap()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    #[test]
    fn networks_compute_padded_texts_and_in_sixteen_bits_as_alone_and_in_f32() {
        for (model_type, config) in [("bert", BERT), ("nomic_bert", NOMIC), ("qwen3", QWEN)] {
            let build = |dtype| {
                let family = family(model_type, config);
                assert!(family.halves());
                family.build(tensors(self::family(model_type, config)), dtype, &Device::Cpu).unwrap()
            };
            let exact = build(DType::F32);
            assert!(exact.pads());
            let lengths = [5, 21, 24, 9];
            let [ids, mask] = texts(&lengths, 24);
            let alone = lengths.map(|len| {
                let text = lengths.iter().position(|&other| other == len).unwrap();
                let ids = ids.get(text).unwrap().narrow(0, 0, len).unwrap().unsqueeze(0).unwrap();
                mean(&exact.forward(&ids, None).unwrap(), 0, len)
            });
            for (dtype, least) in [(DType::F32, 0.999_999), (DType::F16, 0.9999), (DType::BF16, 0.998)] {
                let states = build(dtype).forward(&ids, Some(&mask)).unwrap();
                assert_eq!((states.dtype(), states.dim(D::Minus1).unwrap()), (dtype, 32));
                for (text, (&len, alone)) in lengths.iter().zip(&alone).enumerate() {
                    let cosine = cosine(&mean(&states, text, len), alone);
                    assert!(cosine > least, "{model_type} in {dtype:?}: {cosine} for {len} tokens");
                }
            }
        }
    }

    #[test]
    fn our_bert_is_candles_to_the_bit() {
        let Family::Bert(config) = family("bert", BERT) else { unreachable!() };
        let made = VarBuilder::from_tensors(tensors(family("bert", BERT)), DType::F32, &Device::Cpu);
        let candles = BertModel::load(made, &config).unwrap();
        let ours = family("bert", BERT).build(tensors(family("bert", BERT)), DType::F32, &Device::Cpu).unwrap();
        let bits = |states: Tensor| -> Vec<u32> {
            states.flatten_all().unwrap().to_vec1::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
        };
        let [ids, _] = texts(&[24, 24], 24);
        let theirs = candles.forward(&ids, &ids.zeros_like().unwrap(), None).unwrap();
        assert_eq!(bits(ours.forward(&ids, None).unwrap()), bits(theirs));
        let [ids, mask] = texts(&[24, 11], 24);
        let theirs = candles.forward(&ids, &ids.zeros_like().unwrap(), Some(&mask)).unwrap();
        assert_eq!(bits(ours.forward(&ids, Some(&mask)).unwrap()), bits(theirs));
    }
}
