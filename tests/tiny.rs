//! Invented models of every family, written as sentence-transformers folders.
//!
//! A weight's value depends on its purpose, not on what its family calls it. Networks that are the same under
//! different names therefore produce the same vectors.

use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};

use crate::common::write;

#[path = "model_folder.rs"]
mod model_folder;

/// Special tokens in the order of BERT's vocabulary, then words.
const VOCABULARY: [&str; 16] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "a", "cat", "dog", "sat", "ran", "##s", "on", "mat", ".", ",", "and"];

/// Dimensions of the invented BERT: wide enough for its products to take the same code as real ones.
pub const TINY_DIM: usize = 160;

/// Number of buckets of distances.
const BUCKETS: usize = 32;

/// Width of a decoder's heads.
const HEAD: usize = 32;

/// Rows of position tables, including those that RoBERTa leaves unused.
pub const POSITIONS: usize = 64;

/// An invented model.
#[derive(Debug, Clone, Copy)]
pub struct Tiny {
    /// `model_type`, or `jina`, whose files say `bert`.
    pub family: &'static str,
    pub hidden: usize,
    pub heads: usize,
    pub inner: usize,
    pub layers: usize,
    pub max_tokens: usize,
    /// Prefix of the names of tensors.
    pub prefix: &'static str,
    /// Whether token types add something.
    pub types: bool,
}

impl Tiny {
    pub fn new(family: &'static str, hidden: usize, heads: usize) -> Self {
        Self { family, hidden, heads, inner: 2 * hidden + 8, layers: 3, max_tokens: 40, prefix: "", types: true }
    }

    /// Returns whether positions start after the id of padding, 1.
    pub fn counts_from_padding(&self) -> bool {
        matches!(self.family, "roberta" | "xlm-roberta" | "camembert" | "mpnet")
    }

    fn learns_positions(&self) -> bool {
        !matches!(self.family, "modernbert" | "nomic_bert" | "jina") && !self.is_decoder()
    }

    /// Returns whether only candle computes it: a decoder, whose heads have a width of their own.
    pub fn is_decoder(&self) -> bool {
        matches!(self.family, "qwen3" | "gemma3_text")
    }

    /// Returns the number of rows in its table of positions, which is larger if it is tried with long texts.
    fn positions(&self) -> usize {
        POSITIONS.max(if self.max_tokens > 500 { self.max_tokens + 2 } else { 0 })
    }

    pub fn config(&self) -> Value {
        let Self { hidden, heads, inner, layers, .. } = self;
        let vocabulary = VOCABULARY.len();
        match self.family {
            "distilbert" => json!({
                "model_type": "distilbert", "vocab_size": vocabulary, "dim": hidden, "n_layers": layers,
                "n_heads": heads, "hidden_dim": inner, "activation": "gelu", "max_position_embeddings": self.positions(),
                "initializer_range": 0.02, "pad_token_id": 0, "sinusoidal_pos_embds": false,
            }),
            "modernbert" => json!({
                "model_type": "modernbert", "vocab_size": vocabulary, "hidden_size": hidden,
                "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
                "hidden_activation": "gelu", "max_position_embeddings": self.positions(), "norm_eps": 1e-5, "pad_token_id": 0,
                "global_attn_every_n_layers": 2, "global_rope_theta": 16000.0, "local_attention": 8,
                "local_rope_theta": 1000.0, "attention_bias": false, "mlp_bias": false, "norm_bias": false,
            }),
            "nomic_bert" => json!({
                "model_type": "nomic_bert", "vocab_size": vocabulary, "n_embd": hidden, "n_layer": layers,
                "n_head": heads, "n_inner": inner, "n_positions": self.positions(), "type_vocab_size": 2,
                "layer_norm_epsilon": 1e-12, "rotary_emb_fraction": 1.0, "rotary_emb_base": 1000,
                "rotary_emb_interleaved": false, "rotary_emb_scale_base": null, "rotary_scaling_factor": null,
                "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false, "causal": false,
                "activation_function": "swiglu", "prenorm": false, "parallel_block": false, "use_rms_norm": false,
            }),
            "qwen3" => json!({
                "model_type": "qwen3", "vocab_size": vocabulary, "hidden_size": hidden, "head_dim": HEAD,
                "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads / 2,
                "intermediate_size": inner, "hidden_act": "silu", "max_position_embeddings": self.positions(),
                "rms_norm_eps": 1e-6, "rope_theta": 1000.0, "rope_scaling": null, "attention_bias": false,
                "use_sliding_window": false, "sliding_window": null, "tie_word_embeddings": true,
            }),
            "gemma3_text" => json!({
                "model_type": "gemma3_text", "vocab_size": vocabulary, "hidden_size": hidden, "head_dim": HEAD,
                "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": heads / 2,
                "intermediate_size": inner, "hidden_activation": "gelu_pytorch_tanh",
                "max_position_embeddings": self.positions(), "rms_norm_eps": 1e-6, "query_pre_attn_scalar": 48,
                "rope_theta": 16000.0, "rope_local_base_freq": 1000.0, "rope_scaling": null, "attention_bias": false,
                "attn_logit_softcapping": null, "sliding_window": 12, "use_bidirectional_attention": true,
                "layer_types": (0..*layers).map(|layer| if layer % 2 == 1 { "full_attention" } else { "sliding_attention" })
                    .collect::<Vec<_>>(),
                "pad_token_id": 0,
            }),
            family => {
                let kinds = if self.counts_from_padding() { 1 } else { 2 };
                let mut config = json!({
                    "model_type": family, "vocab_size": vocabulary, "hidden_size": hidden,
                    "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": inner,
                    "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
                    "max_position_embeddings": self.positions(), "type_vocab_size": kinds,
                    "initializer_range": 0.02, "layer_norm_eps": 1e-12,
                    "pad_token_id": u32::from(self.counts_from_padding()),
                });
                if family == "mpnet" {
                    config["relative_attention_num_buckets"] = json!(BUCKETS);
                    config.as_object_mut().unwrap().remove("type_vocab_size");
                }
                if family == "jina" {
                    config["model_type"] = json!("bert");
                    config["position_embedding_type"] = json!("alibi");
                    config["feed_forward_type"] = json!("geglu");
                }
                config
            }
        }
    }

    fn tensors(&self) -> Tensors {
        let dim = self.hidden;
        let mut tensors = Vec::new();
        let mut add = |name: &str, purpose: &str, shape: &[usize]| {
            let count = shape.iter().product();
            // Gemma's norms add 1 to their weights.
            let base = if purpose.ends_with("norm.weight") && self.family != "gemma3_text" { 1.0 } else { 0.0 };
            tensors.push((format!("{}{name}", self.prefix), shape.to_vec(), values(purpose, count, base)));
        };
        let words = match self.family {
            "modernbert" => "embeddings.tok_embeddings",
            "qwen3" | "gemma3_text" => "embed_tokens",
            _ => "embeddings.word_embeddings",
        };
        add(&format!("{words}.weight"), "words", &[VOCABULARY.len(), dim]);
        if !matches!(self.family, "distilbert" | "modernbert" | "mpnet") && !self.is_decoder() {
            let rows = if self.counts_from_padding() { 1 } else { 2 };
            add("embeddings.token_type_embeddings.weight", "types", &[rows, dim]);
        }
        if self.learns_positions() {
            add("embeddings.position_embeddings.weight", "positions", &[self.positions(), dim]);
        }
        if self.family == "mpnet" {
            add("encoder.relative_attention_bias.weight", "distances", &[BUCKETS, self.heads]);
        }
        let norm = match self.family {
            "modernbert" => "embeddings.norm",
            "nomic_bert" => "emb_ln",
            _ => "embeddings.LayerNorm",
        };
        if !self.is_decoder() {
            add(&format!("{norm}.weight"), "first.norm.weight", &[dim]);
        }
        if self.family != "modernbert" && !self.is_decoder() {
            add(&format!("{norm}.bias"), "first.norm.bias", &[dim]);
        }
        for layer in 0..self.layers {
            for (name, shape) in self.layer() {
                let name = format!("{}.{layer}.{name}", self.layer_prefix());
                // ModernBERT's first layer lacks the first norm.
                if layer == 0 && name.ends_with("attn_norm.weight") {
                    continue;
                }
                add(&name, &format!("{layer}.{}", purpose(&name)), &shape);
            }
        }
        if self.family == "modernbert" {
            add("final_norm.weight", "last.norm.weight", &[dim]);
        }
        if self.is_decoder() {
            add("norm.weight", "last.norm.weight", &[dim]);
        }
        for (name, shape, values) in &mut tensors {
            if name.ends_with("token_type_embeddings.weight") && !self.types {
                values.fill(0.0);
            }
            if name.ends_with("position_embeddings.weight") && self.counts_from_padding() {
                values.truncate((shape[0] - 2) * shape[1]);
                values.splice(0..0, self::values("unused", 2 * shape[1], 0.0));
            }
            assert_eq!(shape.iter().product::<usize>(), values.len());
        }
        if self.family == "bert" {
            // A layer that sentence-transformers saves too, but that nothing reads.
            tensors.push((format!("{}pooler.dense.weight", self.prefix), vec![dim, dim], vec![0.5; dim * dim]));
        }
        tensors
    }

    fn layer_prefix(&self) -> &'static str {
        match self.family {
            "distilbert" => "transformer.layer",
            "modernbert" | "qwen3" | "gemma3_text" => "layers",
            "nomic_bert" => "encoder.layers",
            _ => "encoder.layer",
        }
    }

    /// Returns the names and shapes of a layer's tensors.
    fn layer(&self) -> Vec<(String, Vec<usize>)> {
        let (dim, inner) = (self.hidden, self.inner);
        // Queries, keys, values, the layer after attention, and both halves of the feed-forward part.
        let bert = |attention: [&'static str; 4], up: (&'static str, usize), down: &'static str| {
            let square = attention.map(|name| (name, dim, dim));
            square.into_iter().chain([(up.0, up.1, dim), (down, dim, inner)]).collect()
        };
        let attention =
            ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"];
        let linear: Vec<(&str, usize, usize)> = match self.family {
            "distilbert" => {
                let names = ["attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin"];
                bert(names, ("ffn.lin1", inner), "ffn.lin2")
            }
            "modernbert" => vec![
                ("attn.Wqkv", 3 * dim, dim),
                ("attn.Wo", dim, dim),
                ("mlp.Wi", 2 * inner, dim),
                ("mlp.Wo", dim, inner),
            ],
            "nomic_bert" => vec![
                ("attn.Wqkv", 3 * dim, dim),
                ("attn.out_proj", dim, dim),
                ("mlp.fc11", inner, dim),
                ("mlp.fc12", inner, dim),
                ("mlp.fc2", dim, inner),
            ],
            "qwen3" | "gemma3_text" => vec![
                ("self_attn.q_proj", self.heads * HEAD, dim),
                ("self_attn.k_proj", self.heads / 2 * HEAD, dim),
                ("self_attn.v_proj", self.heads / 2 * HEAD, dim),
                ("self_attn.o_proj", dim, self.heads * HEAD),
                ("mlp.gate_proj", inner, dim),
                ("mlp.up_proj", inner, dim),
                ("mlp.down_proj", dim, inner),
            ],
            "jina" => bert(attention, ("mlp.gated_layers", 2 * inner), "mlp.wo"),
            "mpnet" => {
                let names = ["attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o"];
                bert(names, ("intermediate.dense", inner), "output.dense")
            }
            _ => bert(attention, ("intermediate.dense", inner), "output.dense"),
        };
        let norms: &[&str] = match self.family {
            "distilbert" => &["sa_layer_norm", "output_layer_norm"],
            "modernbert" => &["attn_norm", "mlp_norm"],
            "nomic_bert" => &["norm1", "norm2"],
            "jina" => &["attention.output.LayerNorm", "mlp.layernorm"],
            "mpnet" => &["attention.LayerNorm", "output.LayerNorm"],
            "qwen3" => &["input_layernorm", "post_attention_layernorm"],
            "gemma3_text" => &[
                "input_layernorm",
                "post_attention_layernorm",
                "pre_feedforward_layernorm",
                "post_feedforward_layernorm",
            ],
            _ => &["attention.output.LayerNorm", "output.LayerNorm"],
        };
        let unbiased = |name: &str| {
            matches!(self.family, "modernbert" | "nomic_bert")
                || self.is_decoder()
                || (self.family == "jina" && name == "mlp.gated_layers")
        };
        let mut parts = Vec::new();
        for (name, rows, columns) in linear {
            parts.push((format!("{name}.weight"), vec![rows, columns]));
            if !unbiased(name) {
                parts.push((format!("{name}.bias"), vec![rows]));
            }
        }
        for name in norms {
            parts.push((format!("{name}.weight"), vec![dim]));
            if self.family != "modernbert" && !self.is_decoder() {
                parts.push((format!("{name}.bias"), vec![dim]));
            }
        }
        if self.is_decoder() {
            parts.extend(["q_norm", "k_norm"].map(|name| (format!("self_attn.{name}.weight"), vec![HEAD])));
        }
        parts
    }

    /// Writes the folder.
    pub fn write(&self, folder: &Path) {
        // RoBERTa's vocabulary begins with other special tokens.
        let mut words = VOCABULARY;
        if self.counts_from_padding() {
            words[..4].copy_from_slice(&["[CLS]", "[PAD]", "[SEP]", "[UNK]"]);
        }
        model_folder::write(folder, self.hidden, self.max_tokens, &self.config(), &words);
        save(&self.tensors(), folder);
    }
}

impl Tiny {
    /// Writes a folder with the network and, after it, the layers that judge pairs of texts, as transformers saves
    /// it.
    pub fn write_cross_encoder(&self, folder: &Path) {
        self.write(folder);
        for name in ["modules.json", "1_Pooling/config.json", "sentence_bert_config.json"] {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
        let mut config = self.config();
        let more = json!({"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "num_labels": 1});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        write(folder, "config.json", config.to_string().as_bytes());
        write(folder, "tokenizer_config.json", json!({"model_max_length": self.max_tokens}).to_string().as_bytes());
        let mut tokenizer: Value =
            serde_json::from_slice(&std::fs::read(folder.join("tokenizer.json")).unwrap()).unwrap();
        let part = |kind: &str, id: &str, of: u32| json!({kind: {"id": id, "type_id": of}});
        // Families without token types have tokenizers that do not distinguish the two texts.
        let second = u32::from(matches!(self.family, "bert" | "jina" | "nomic_bert"));
        tokenizer["post_processor"]["pair"] = json!([
            part("SpecialToken", "[CLS]", 0),
            part("Sequence", "A", 0),
            part("SpecialToken", "[SEP]", 0),
            part("Sequence", "B", second),
            part("SpecialToken", "[SEP]", second),
        ]);
        write(folder, "tokenizer.json", tokenizer.to_string().as_bytes());
        let dim = self.hidden;
        let (dense, out, bias) = match self.family {
            "bert" | "jina" => ("pooler.dense", "classifier", true),
            "distilbert" => ("pre_classifier", "classifier", true),
            "modernbert" => ("head.dense", "classifier", false),
            _ => ("classifier.dense", "classifier.out_proj", true),
        };
        let mut layers = vec![(format!("{dense}.weight"), vec![dim, dim]), (format!("{out}.weight"), vec![1, dim])];
        layers.push((format!("{out}.bias"), vec![1]));
        if bias {
            layers.push((format!("{dense}.bias"), vec![dim]));
        } else {
            layers.push(("head.norm.weight".to_owned(), vec![dim]));
        }
        let base = self.base();
        let mut tensors = self.tensors_of_larger();
        for (name, shape) in layers {
            let count = shape.iter().product();
            let start = if name == "head.norm.weight" { 1.0 } else { 0.0 };
            let made = values(&name, count, start);
            // The family's own file may already have it, unused.
            let name = if name.starts_with("pooler") { format!("{base}{name}") } else { name };
            tensors.retain(|(other, ..)| *other != name);
            tensors.push((name, shape, made));
        }
        save(&tensors, folder);
    }
}

/// How the questions of an invented sparse model are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseQueries {
    /// By the network.
    Network,
    /// By weights in a tensor.
    Table,
    /// By weights in a file by token.
    Words,
}

impl Tiny {
    /// Writes a folder with the network and a language-model head, as sentence-transformers saves a sparse model.
    /// `pooling` is its strategy and its activation.
    pub fn write_sparse(&self, folder: &Path, pooling: [&str; 2], queries: SparseQueries) {
        self.write(folder);
        std::fs::remove_dir_all(folder.join("1_Pooling")).unwrap();
        let module = |name: &str| format!("sentence_transformers.sparse_encoder.models.{name}");
        let listed = |index: usize, path: &str, name: &str| json!({"idx": index, "name": index.to_string(), "path": path, "type": module(name)});
        let at = if queries == SparseQueries::Network { "1_SpladePooling" } else { "document_1_SpladePooling" };
        let modules = if queries == SparseQueries::Network {
            json!([listed(0, "", "MLMTransformer"), listed(1, at, "SpladePooling")])
        } else {
            let table = "query_0_SparseStaticEmbedding";
            let router = json!({
                "types": {table: module("SparseStaticEmbedding"), "": module("MLMTransformer"), at: module("SpladePooling")},
                "structure": {"document": ["", at], "query": [table]},
                "parameters": {"default_route": "document", "allow_empty_key": true},
            });
            write(folder, "router_config.json", router.to_string().as_bytes());
            self.write_weights_of_words(&folder.join(table), queries);
            json!([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Router"}])
        };
        write(folder, "modules.json", modules.to_string().as_bytes());
        let about = json!({"model_type": "SparseEncoder", "prompts": {"query": "", "document": ""},
                           "default_prompt_name": null, "similarity_fn_name": "dot"});
        write(folder, "config_sentence_transformers.json", about.to_string().as_bytes());
        let [strategy, activation] = pooling;
        let pooling = json!({"pooling_strategy": strategy, "activation_function": activation,
                             "word_embedding_dimension": VOCABULARY.len()});
        write(folder, &format!("{at}/config.json"), pooling.to_string().as_bytes());
        write(folder, "tokenizer_config.json", self.tokenizer_config().to_string().as_bytes());
        let (dim, words) = (self.hidden, VOCABULARY.len());
        let [dense, norm, bias] = match self.family {
            "bert" => {
                ["cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"]
            }
            "distilbert" => ["vocab_transform", "vocab_layer_norm", "vocab_projector.bias"],
            "modernbert" => ["head.dense", "head.norm", "decoder.bias"],
            _ => ["lm_head.dense", "lm_head.layer_norm", "lm_head.bias"],
        };
        let mut layers = vec![
            (format!("{dense}.weight"), "head", vec![dim, dim], 0.0),
            (format!("{norm}.weight"), "head.norm.weight", vec![dim], 1.0),
            (bias.to_owned(), "tokens", vec![words], 0.0),
        ];
        if self.family != "modernbert" {
            layers.push((format!("{dense}.bias"), "head.bias", vec![dim], 0.0));
            layers.push((format!("{norm}.bias"), "head.norm.bias", vec![dim], 0.0));
        }
        let mut tensors = self.tensors_of_larger();
        tensors.extend(layers.into_iter().map(|(name, purpose, shape, base)| {
            let count = shape.iter().product();
            (name, shape, values(purpose, count, base))
        }));
        save(&tensors, folder);
    }

    /// Writes the weights that each word of a question has.
    fn write_weights_of_words(&self, folder: &Path, queries: SparseQueries) {
        let tokenizer = std::fs::read(folder.parent().unwrap().join("tokenizer.json")).unwrap();
        write(folder, "tokenizer.json", &tokenizer);
        write(folder, "tokenizer_config.json", self.tokenizer_config().to_string().as_bytes());
        let weights: Vec<f32> =
            (0..VOCABULARY.len()).map(|token| if token < 4 { 0.0 } else { token as f32 / 8.0 }).collect();
        if queries == SparseQueries::Table {
            write(folder, "config.json", b"{\"frozen\": true}");
            save(&vec![("weight".to_owned(), vec![weights.len()], weights)], folder);
        } else {
            write(folder, "config.json", b"{\"frozen\": true, \"path\": \"idf.json\"}");
            let by_word: serde_json::Map<String, Value> = VOCABULARY
                .iter()
                .zip(weights)
                .skip(4)
                .map(|(word, weight)| ((*word).to_owned(), json!(weight)))
                .collect();
            write(folder, "idf.json", Value::Object(by_word).to_string().as_bytes());
        }
    }

    fn tokenizer_config(&self) -> Value {
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": self.max_tokens, "pad_token": "[PAD]",
            "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]",
        })
    }

    /// Returns the prefix of the network's tensors in files of larger models.
    fn base(&self) -> &'static str {
        match self.family {
            "bert" | "jina" => "bert.",
            "distilbert" => "distilbert.",
            "modernbert" => "model.",
            "mpnet" => "mpnet.",
            _ => "roberta.",
        }
    }

    /// Returns the network's tensors with that prefix.
    fn tensors_of_larger(&self) -> Tensors {
        let mut tensors = self.tensors();
        for (name, ..) in &mut tensors {
            name.insert_str(0, self.base());
        }
        tensors
    }
}

/// Names, shapes and values.
type Tensors = Vec<(String, Vec<usize>, Vec<f32>)>;

fn save(tensors: &Tensors, folder: &Path) {
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let written: Vec<_> = tensors.iter().map(|(name, shape, values)| (name, shape, bytes(values))).collect();
    let views = written
        .iter()
        .map(|(name, shape, bytes)| (name.as_str(), TensorView::new(Dtype::F32, shape.to_vec(), bytes).unwrap()));
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
}

/// Returns the purpose of a layer's tensor, in words that families share if they share the thing.
fn purpose(name: &str) -> String {
    let (part, kind) = name.rsplit_once('.').unwrap();
    let known = [
        ("attention.self.query", "query"),
        ("attention.q_lin", "query"),
        ("attention.self.key", "key"),
        ("attention.k_lin", "key"),
        ("attention.self.value", "value"),
        ("attention.v_lin", "value"),
        ("attention.output.dense", "out"),
        ("attention.out_lin", "out"),
        ("intermediate.dense", "up"),
        ("ffn.lin1", "up"),
        ("attention.attn.q", "query"),
        ("attention.attn.k", "key"),
        ("attention.attn.v", "value"),
        ("attention.attn.o", "out"),
        ("attention.LayerNorm", "middle.norm"),
        ("attention.output.LayerNorm", "middle.norm"),
        ("sa_layer_norm", "middle.norm"),
        ("output.dense", "down"),
        ("ffn.lin2", "down"),
        ("output.LayerNorm", "end.norm"),
        ("output_layer_norm", "end.norm"),
    ];
    let shared = known.iter().find(|(own, _)| part.ends_with(own)).map(|(_, shared)| (*shared).to_owned());
    let is_norm = part.to_lowercase().contains("norm");
    let own = || part.rsplit('.').next().unwrap().to_owned() + if is_norm { ".norm" } else { "" };
    format!("{}.{kind}", shared.unwrap_or_else(own))
}

/// Returns numbers around a base that depend on their purpose.
fn values(purpose: &str, count: usize, base: f32) -> Vec<f32> {
    let mut seed =
        purpose.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    let number = |_| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        base + ((seed >> 16) as f32 / 65536.0 - 0.5) / 4.0
    };
    (0..count).map(number).collect()
}

/// Writes a BERT model.
pub fn tiny_model(folder: &Path) {
    let inner = 2 * TINY_DIM;
    Tiny { inner, layers: 2, max_tokens: 12, ..Tiny::new("bert", TINY_DIM, 2) }.write(folder);
}
