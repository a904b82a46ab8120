//! Decoders used for embeddings: Qwen3, and Gemma 3, in which a token may also attend to later ones.
//!
//! Candle's own modules for these families are made to generate text: they keep results for earlier tokens, need all
//! scores of a text at once, and do not support a Gemma that looks ahead. The network here covers both families by
//! its settings.

use std::ops::Range;

use candle_core::{DType, Device, Module, Result as Answer, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::rotary_emb::rope;
use candle_nn::{Activation, Embedding, Linear, RmsNorm, VarBuilder, embedding, linear_no_bias};
use candle_transformers::utils::repeat_kv;
use chunkmill_base::value;
use serde_json::{Value, json};

use super::mask::hidden;
use crate::fields::Fields;

/// Number of queries whose scores are computed together. The scores take memory for this many times a text's tokens,
/// instead of the square of its length.
const QUERIES: usize = 512;

/// Maximum number of layers, and maximum width of a head: far beyond existing models, to bound memory.
const MOST_LAYERS: usize = 1024;
const WIDEST_HEAD: usize = 512;

/// A checked configuration.
pub(super) struct DecoderConfig {
    vocabulary: usize,
    pub(super) hidden: usize,
    inner: usize,
    heads: usize,
    /// Number of key and value heads, each shared by the same number of query heads.
    shared: usize,
    head: usize,
    epsilon: f64,
    activation: Activation,
    /// Added to the weights of norms.
    norm_offset: f64,
    /// Factor for token embeddings.
    embedding_scale: f64,
    /// Factor for attention scores.
    score_scale: f64,
    /// Whether there are also norms after attention and after the feed-forward part.
    norms_behind: bool,
    /// Whether a token sees only itself and those before it.
    causal: bool,
    layers: Vec<Reach>,
    max_tokens: usize,
}

/// How far a layer's tokens see, and the base of their rotation.
#[derive(Clone, Copy)]
struct Reach {
    /// Tokens at this distance or farther are not seen.
    window: Option<usize>,
    theta: f64,
}

impl Fields {
    fn required(&self, key: &str) -> Result<&Value, String> {
        self.get(key).ok_or_else(|| format!("`{key}` is missing"))
    }

    /// Returns a required positive number.
    fn positive(&self, key: &str) -> Result<f64, String> {
        let value = self.required(key)?;
        value.as_f64().filter(|x| x.is_finite() && *x > 0.0).ok_or_else(|| format!("`{key}` is {value}"))
    }

    /// Returns a required positive count.
    fn whole(&self, key: &str) -> Result<usize, String> {
        let value = self.required(key)?;
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        count.filter(|&count| count > 0 && count < 1 << 32).ok_or_else(|| format!("`{key}` is {value}"))
    }

    /// Returns the number of layers.
    fn depth(&self) -> Result<usize, String> {
        let layers = self.whole("num_hidden_layers")?;
        if layers > MOST_LAYERS {
            return Err(format!("{layers} layers are not from 1 to {MOST_LAYERS}"));
        }
        Ok(layers)
    }

    /// Returns the base of the rotation, for layers of `kind` if it is given, as newer or older files specify it.
    fn theta(&self, kind: Option<&str>, old: &str) -> Result<f64, String> {
        match self.rotations(kind)? {
            Some(rotations) => rotations.positive("rope_theta"),
            None => self.positive(old),
        }
    }
}

impl DecoderConfig {
    /// Returns the configuration of a Qwen3.
    pub(super) fn qwen3(fields: &Fields, max_tokens: usize) -> Result<Self, String> {
        fields.only("hidden_act", &[json!("silu")])?;
        fields.only("use_sliding_window", &[json!(false)])?;
        fields.only("is_causal", &[json!(true)])?;
        let layers = fields.depth()?;
        fields.only("layer_types", &[json!(vec!["full_attention"; layers])])?;
        let theta = fields.theta(None, "rope_theta")?;
        Self::of(fields, max_tokens, vec![Reach { window: None, theta }; layers])
    }

    /// Returns the configuration of a Gemma 3.
    pub(super) fn gemma3(fields: &Fields, max_tokens: usize) -> Result<Self, String> {
        fields.only("hidden_activation", &[json!("gelu_pytorch_tanh")])?;
        fields.only("attn_logit_softcapping", &[])?;
        fields.only("use_bidirectional_attention", &[json!(true), json!(false)])?;
        let causal = fields.get("use_bidirectional_attention") != Some(&json!(true));
        let wide = Reach { window: None, theta: fields.theta(Some("full_attention"), "rope_theta")? };
        let window = fields.whole("sliding_window")?;
        // Half of the window lies on either side.
        let window = if causal { window } else { window / 2 + 1 };
        let near =
            Reach { window: Some(window), theta: fields.theta(Some("sliding_attention"), "rope_local_base_freq")? };
        let count = fields.depth()?;
        let layers = if let Some(kinds) = fields.get("layer_types") {
            let kinds = kinds.as_array().filter(|kinds| kinds.len() == count);
            let kinds = kinds.ok_or_else(|| format!("`layer_types` does not list {}", value::count(count, "layer")))?;
            let reach = |kind: &Value| match kind.as_str() {
                Some("full_attention") => Ok(wide),
                Some("sliding_attention") => Ok(near),
                _ => Err(format!("a layer's type is {kind}, which is not supported")),
            };
            kinds.iter().map(reach).collect::<Result<_, _>>()?
        } else {
            let named = ["sliding_window_pattern", "_sliding_window_pattern"];
            let Some(key) = named.into_iter().find(|key| fields.get(key).is_some()) else {
                return Err("`layer_types` is missing".to_owned());
            };
            let every = fields.whole(key)?;
            (1..=count).map(|layer| if layer % every == 0 { wide } else { near }).collect()
        };
        let config = Self::of(fields, max_tokens, layers)?;
        #[expect(clippy::cast_precision_loss, reason = "widths are far below 2^52")]
        Ok(Self {
            activation: Activation::GeluPytorchTanh,
            norm_offset: 1.0,
            embedding_scale: (config.hidden as f64).sqrt(),
            score_scale: fields.positive("query_pre_attn_scalar")?.sqrt().recip(),
            norms_behind: true,
            causal,
            ..config
        })
    }

    /// Returns the settings that both families share, with Qwen3's values for the others.
    fn of(fields: &Fields, max_tokens: usize, layers: Vec<Reach>) -> Result<Self, String> {
        fields.only("attention_bias", &[json!(false)])?;
        fields.only("rope_scaling", &[])?;
        let (heads, shared) = (fields.whole("num_attention_heads")?, fields.whole("num_key_value_heads")?);
        if heads % shared != 0 {
            let (heads, shared) = (value::count(heads, "query head"), value::count(shared, "key head"));
            return Err(format!("{heads} cannot share {shared}"));
        }
        let head = fields.whole("head_dim")?;
        if head % 2 != 0 || head > WIDEST_HEAD {
            return Err(format!("rotary embeddings do not support heads of width {head}"));
        }
        #[expect(clippy::cast_precision_loss, reason = "widths are far below 2^52")]
        Ok(Self {
            vocabulary: fields.whole("vocab_size")?,
            hidden: fields.whole("hidden_size")?,
            inner: fields.whole("intermediate_size")?,
            heads,
            shared,
            head,
            epsilon: fields.positive("rms_norm_eps")?,
            activation: Activation::Silu,
            norm_offset: 0.0,
            embedding_scale: 1.0,
            score_scale: (head as f64).sqrt().recip(),
            norms_behind: false,
            causal: true,
            layers,
            max_tokens,
        })
    }

    fn norm(&self, width: usize, variables: &VarBuilder<'_>) -> Answer<RmsNorm> {
        Ok(RmsNorm::new((variables.get(width, "weight")? + self.norm_offset)?, self.epsilon))
    }
}

/// Cosines and sines of all positions, `[tokens, head / 2]` each.
#[derive(Clone)]
struct Rotations([Tensor; 2]);

impl Rotations {
    #[expect(clippy::cast_precision_loss, reason = "like transformers, which computes them in f32")]
    #[expect(clippy::cast_possible_truncation, reason = "like transformers, which computes them in f32")]
    fn new(theta: f64, head: usize, tokens: usize, dtype: DType, device: &Device) -> Answer<Self> {
        let speeds = (0..head).step_by(2).map(|at| theta.powf(at as f64 / head as f64).recip() as f32);
        let speeds: Vec<f32> = speeds.collect();
        let angles = || (0..tokens).flat_map(|place| speeds.iter().map(move |speed| place as f32 * speed));
        let table = |of: fn(f32) -> f32| {
            Tensor::from_vec(angles().map(of).collect::<Vec<f32>>(), (tokens, head / 2), device)?.to_dtype(dtype)
        };
        Ok(Self([table(f32::cos)?, table(f32::sin)?]))
    }

    /// Rotates `[texts, heads, tokens, head]`.
    fn turn(&self, x: &Tensor) -> Answer<Tensor> {
        let tokens = x.dim(2)?;
        let [cos, sin] = &self.0;
        rope(&x.contiguous()?, &cos.narrow(0, 0, tokens)?, &sin.narrow(0, 0, tokens)?)
    }
}

struct DecoderLayer {
    /// Same as in [`Reach`].
    window: Option<usize>,
    rotations: Rotations,
    before_attention: RmsNorm,
    query: Linear,
    key: Linear,
    value: Linear,
    out: Linear,
    query_norm: RmsNorm,
    key_norm: RmsNorm,
    behind_attention: Option<RmsNorm>,
    before_feed_forward: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
    behind_feed_forward: Option<RmsNorm>,
}

/// The network.
pub(super) struct Decoder {
    config: DecoderConfig,
    embedding: Embedding,
    layers: Vec<DecoderLayer>,
    norm: RmsNorm,
}

impl Decoder {
    pub(super) fn new(config: DecoderConfig, variables: &VarBuilder<'_>) -> Answer<Self> {
        // Layers with the same base share a table.
        let mut made: Vec<(f64, Rotations)> = Vec::new();
        let mut layers = Vec::new();
        for (index, &reach) in config.layers.iter().enumerate() {
            let known = made.iter().find(|(theta, _)| theta.total_cmp(&reach.theta).is_eq());
            let rotations = if let Some((_, rotations)) = known {
                rotations.clone()
            } else {
                let (dtype, device) = (variables.dtype(), variables.device());
                let new = Rotations::new(reach.theta, config.head, config.max_tokens, dtype, device)?;
                made.push((reach.theta, new.clone()));
                new
            };
            layers.push(DecoderLayer::new(&config, reach.window, rotations, &variables.pp(format!("layers.{index}")))?);
        }
        let embedding = embedding(config.vocabulary, config.hidden, variables.pp("embed_tokens"))?;
        let norm = config.norm(config.hidden, &variables.pp("norm"))?;
        Ok(Self { config, embedding, layers, norm })
    }

    /// Returns whether no token sees a later one, such as padding.
    pub(super) fn is_causal(&self) -> bool {
        self.config.causal
    }

    /// Returns the last hidden states of texts of one length: `[texts, tokens]` to `[texts, tokens, hidden]`.
    pub(super) fn forward(&self, ids: &Tensor) -> Answer<Tensor> {
        let mut states = (self.embedding.forward(ids)? * self.config.embedding_scale)?;
        for layer in &self.layers {
            states = layer.forward(&self.config, &states)?;
        }
        self.norm.forward(&states)
    }
}

impl DecoderLayer {
    fn new(
        config: &DecoderConfig,
        window: Option<usize>,
        rotations: Rotations,
        variables: &VarBuilder<'_>,
    ) -> Answer<Self> {
        let DecoderConfig { hidden, inner, head, .. } = *config;
        let (queries, keys) = (config.heads * head, config.shared * head);
        let norm = |width, name: &str| config.norm(width, &variables.pp(name));
        let linear = |from, to, name: &str| linear_no_bias(from, to, variables.pp(name));
        let behind = |name| config.norms_behind.then(|| norm(hidden, name)).transpose();
        // Qwen3's name suggests a norm after attention, but it is the norm before the feed-forward part.
        let feed_forward = if config.norms_behind { "pre_feedforward_layernorm" } else { "post_attention_layernorm" };
        Ok(Self {
            window,
            rotations,
            before_attention: norm(hidden, "input_layernorm")?,
            query: linear(hidden, queries, "self_attn.q_proj")?,
            key: linear(hidden, keys, "self_attn.k_proj")?,
            value: linear(hidden, keys, "self_attn.v_proj")?,
            out: linear(queries, hidden, "self_attn.o_proj")?,
            query_norm: norm(head, "self_attn.q_norm")?,
            key_norm: norm(head, "self_attn.k_norm")?,
            behind_attention: behind("post_attention_layernorm")?,
            before_feed_forward: norm(hidden, feed_forward)?,
            gate: linear(hidden, inner, "mlp.gate_proj")?,
            up: linear(hidden, inner, "mlp.up_proj")?,
            down: linear(inner, hidden, "mlp.down_proj")?,
            behind_feed_forward: behind("post_feedforward_layernorm")?,
        })
    }

    fn forward(&self, config: &DecoderConfig, states: &Tensor) -> Answer<Tensor> {
        let behind = |norm: &Option<RmsNorm>, x: Tensor| match norm {
            Some(norm) => norm.forward(&x),
            None => Ok(x),
        };
        let attended = self.attention(config, &self.before_attention.forward(states)?)?;
        let states = (states + behind(&self.behind_attention, attended)?)?;
        let x = self.before_feed_forward.forward(&states)?;
        let gated = (config.activation.forward(&self.gate.forward(&x)?)? * self.up.forward(&x)?)?;
        &states + behind(&self.behind_feed_forward, self.down.forward(&gated)?)?
    }

    fn attention(&self, config: &DecoderConfig, x: &Tensor) -> Answer<Tensor> {
        let (texts, tokens, _) = x.dims3()?;
        let heads = |linear: &Linear, count| linear.forward(x)?.reshape((texts, tokens, count, config.head));
        let alike = |x: Tensor| repeat_kv(x, config.heads / config.shared)?.contiguous();
        let query = self.query_norm.forward(&heads(&self.query, config.heads)?)?.transpose(1, 2)?;
        let query = (self.rotations.turn(&query)? * config.score_scale)?;
        let key = self.key_norm.forward(&heads(&self.key, config.shared)?)?.transpose(1, 2)?;
        let key = alike(self.rotations.turn(&key)?)?;
        let value = alike(heads(&self.value, config.shared)?.transpose(1, 2)?)?;
        let mut parts = Vec::new();
        for start in (0..tokens).step_by(QUERIES) {
            let end = (start + QUERIES).min(tokens);
            let first = self.window.map_or(0, |window| (start + 1).saturating_sub(window));
            let last = match self.window {
                _ if config.causal => end,
                Some(window) => (end - 1).saturating_add(window).min(tokens),
                None => tokens,
            };
            let seen = |x: &Tensor| x.narrow(2, first, last - first)?.contiguous();
            let mut scores = query.narrow(2, start, end - start)?.contiguous()?.matmul(&seen(&key)?.t()?)?;
            if let Some(hidden) = self.hidden(config.causal, start..end, first..last, x)? {
                scores = scores.broadcast_add(&hidden)?;
            }
            parts.push(softmax_last_dim(&scores)?.matmul(&seen(&value)?)?);
        }
        let joined = Tensor::cat(&parts, 2)?.transpose(1, 2)?.reshape((texts, tokens, config.heads * config.head))?;
        self.out.forward(&joined)
    }

    /// Returns the values to add to the scores of these queries and keys, if any.
    fn hidden(&self, causal: bool, queries: Range<usize>, keys: Range<usize>, like: &Tensor) -> Answer<Option<Tensor>> {
        if !causal && self.window.is_none() {
            return Ok(None);
        }
        let shape = (queries.len(), keys.len());
        let window = self.window.unwrap_or(usize::MAX);
        let unseen = hidden(like.dtype());
        let added = queries.flat_map(|query| {
            keys.clone().map(move |key| {
                let seen = query.abs_diff(key) < window && (key <= query || !causal);
                if seen { 0.0 } else { unseen }
            })
        });
        Tensor::from_vec(added.collect::<Vec<f32>>(), shape, like.device())?.to_dtype(like.dtype()).map(Some)
    }
}
