//! What `deploy/gpu/prove.sh` runs on a machine with a GPU: does a device compute the same vectors as the CPU, and how
//! fast. Each command prints a line of JSON, and ends with 1 if a promise is broken.
//!
//! `gpu contract|cosine|speed --device cuda:0 --precision f16 [--model FOLDER|ID | --shape bert|nomic] …`
//!
//! A shape is a network with made-up weights: of all-MiniLM-L6-v2 (`bert`) or nomic-embed-text-v1.5 (`nomic`).

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark may fail")]
#![expect(clippy::print_stdout, reason = "standard output is the result")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use chunkmill::embed::model_ref::ModelRef;
use chunkmill::embed::{Backend, Batcher, Device, Embedder, Engine, Precision, PrecisionSetting, Role, load};
use chunkmill::error::Result;
use clap::{Parser, ValueEnum};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use tempfile::TempDir;

#[path = "../tests/model_folder.rs"]
mod model_folder;

#[derive(Parser)]
struct Arguments {
    command: Command,
    #[arg(long)]
    device: Device,
    #[arg(long, default_value_t)]
    precision: PrecisionSetting,
    #[arg(long)]
    model: Option<ModelRef>,
    #[arg(long, default_value = "bert")]
    shape: Shape,
    /// Folder for the made-up model. If there is one, it is used.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Texts for `cosine`: a JSON string in each line.
    #[arg(long, default_value = "tests/golden/texts.jsonl")]
    texts: PathBuf,
    /// Tokens of each text for `speed`.
    #[arg(long, default_value_t = 128)]
    tokens: usize,
    /// Tokens of all texts of a run for `speed`.
    #[arg(long, default_value_t = 1 << 17)]
    total: usize,
    /// Runs of `speed` go on for this long, after one that does not count.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Command {
    /// The promises of every embedder, as `tests` checks them on the CPU.
    Contract,
    /// Cosine to the vectors of the built-in encoder in f32.
    Cosine,
    /// Tokens per second, tokenising included.
    Speed,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    Bert,
    Nomic,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok((result, kept)) => {
            println!("{result}");
            if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("{}", json!({ "error": error.to_string() }));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(Value, bool)> {
    let temporary = TempDir::new().unwrap();
    let model = arguments.model.clone().unwrap_or_else(|| {
        let folder = arguments.folder.clone().unwrap_or_else(|| temporary.path().join("made-up"));
        if !folder.join("model.safetensors").exists() {
            arguments.shape.write(&folder);
        }
        ModelRef::Folder(folder)
    });
    let Arguments { device, precision, .. } = *arguments;
    let on_device = load(Backend { engine: Engine::Candle, precision, device, ..Backend::default() }, &model)?;
    let (mut result, kept) = match arguments.command {
        Command::Contract => contract(on_device.as_ref())?,
        Command::Cosine => {
            let precision = PrecisionSetting::Fixed(Precision::F32);
            let on_cpu = load(Backend { engine: Engine::Cpu, precision, ..Backend::default() }, &model)?;
            let texts = std::fs::read_to_string(&arguments.texts).unwrap();
            let texts: Vec<String> = texts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            cosines(on_device.as_ref(), on_cpu.as_ref(), &texts)?
        }
        Command::Speed => speed(on_device.as_ref(), arguments)?,
    };
    let info = on_device.info();
    result["model"] = json!(info.id);
    result["precision"] = json!(info.precision);
    result["device"] = json!(device);
    Ok((result, kept))
}

/// Returns the vectors of texts, as an index computes them.
fn vectors(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>> {
    let rows = Batcher::new(embedder, None).embed(texts, Role::Document, &AtomicBool::new(false), &|_, _| ())?.vectors;
    Ok(rows.chunks(embedder.info().dim).map(<[f32]>::to_vec).collect())
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Checks what the tests call the contract of an embedder: a vector of length 1 for every text, the same for equal
/// texts, and nearly the same alone, in a batch of its bucket, and in a batch of any lengths.
fn contract(embedder: &dyn Embedder) -> Result<(Value, bool)> {
    let info = embedder.info();
    let largest = match info.precision {
        Precision::F32 => 1e-5,
        Precision::F16 => 2e-3,
        Precision::Bf16 | Precision::Int8 => 2e-2,
    };
    let long = "w17 w4 w901 w33 ".repeat(info.max_tokens);
    let mut texts: Vec<String> =
        ["", "w1 w2", "w3 w7 w5 w12 w44 w9", "日本語 🚲 \u{301}", &long, "w1 w2", "\0"].map(str::to_owned).into();
    texts.extend((0..60).map(|i| ["w5 w6", "w7 w8 .", "w9 w10 w11 w12 w13"][i % 3].repeat(1 + i % 7)));
    let mut broken = Vec::new();
    let mut check = |holds: bool, promise: &str| {
        if !holds {
            broken.push(promise.to_owned());
        }
    };
    let batched = vectors(embedder, &texts)?;
    let encoded = texts.iter().map(|text| embedder.encode(text, Role::Document)).collect::<Result<Vec<_>>>()?;
    let ids: Vec<&[u32]> = encoded.iter().map(|text| text.ids.as_slice()).collect();
    let mixed = embedder.embed_ids(&ids)?;
    let mut difference = 0.0_f32;
    for ((ids, batched), mixed) in ids.iter().zip(&batched).zip(mixed.chunks(info.dim)) {
        let alone = embedder.embed_ids(&[ids])?;
        check(alone.iter().chain(batched).chain(mixed).all(|x| x.is_finite()), "every value is finite");
        let norm = batched.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
        check(!info.normalize || (norm - 1.0).abs() < 1e-5, "every vector has length 1");
        for (x, y) in alone.iter().zip(batched).chain(alone.iter().zip(mixed)) {
            difference = difference.max((x - y).abs());
        }
    }
    check(difference <= largest, "a batch changes only the last bits");
    check(batched[1] == batched[5], "equal texts have equal vectors");
    check(cosine(&batched[1], &batched[2]) < 0.9999, "different texts have different vectors");
    check(ids[4].len() == info.max_tokens, "a long text is cut to what the model reads");
    check(embedder.embed(&[])?.is_empty(), "no texts have no vectors");
    broken.sort();
    broken.dedup();
    let kept = broken.is_empty();
    Ok((json!({ "texts": texts.len(), "largest_difference": difference, "broken": broken }), kept))
}

fn cosines(on_device: &dyn Embedder, on_cpu: &dyn Embedder, texts: &[String]) -> Result<(Value, bool)> {
    let pairs = vectors(on_device, texts)?.into_iter().zip(vectors(on_cpu, texts)?);
    let cosines: Vec<f64> = pairs.map(|(ours, theirs)| cosine(&ours, &theirs)).collect();
    let least = cosines.iter().copied().fold(f64::INFINITY, f64::min);
    #[expect(clippy::cast_precision_loss, reason = "a few hundred texts")]
    let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
    // What the tests ask of the CPU, against sentence-transformers.
    let wanted = if on_device.info().precision == Precision::F32 { 0.9999 } else { 0.999 };
    Ok((json!({ "texts": texts.len(), "least": least, "mean": mean, "wanted": wanted }), least >= wanted))
}

fn speed(embedder: &dyn Embedder, arguments: &Arguments) -> Result<(Value, bool)> {
    let &Arguments { tokens, total, seconds, .. } = arguments;
    // The tokenizer adds two. A different first word makes each text different, because equal ones are computed once.
    let text = |index: usize| {
        (0..tokens.saturating_sub(2))
            .map(|at| format!("w{}", (index * 7 + at * 13) % WORDS))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let texts: Vec<String> = (0..total.div_ceil(tokens)).map(text).collect();
    let read = |texts: &[String]| -> Result<usize> {
        let read = Batcher::new(embedder, None).embed(texts, Role::Document, &AtomicBool::new(false), &|_, _| ())?;
        Ok(read.tokens_read)
    };
    read(&texts)?;
    let start = Instant::now();
    let (mut done, mut runs) = (0, 0);
    while runs == 0 || start.elapsed().as_secs_f64() < seconds {
        done += read(&texts)?;
        runs += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let per_second = done as f64 / start.elapsed().as_secs_f64();
    let right = done == runs * texts.len() * tokens;
    Ok((
        json!({ "tokens": tokens, "texts": texts.len(), "runs": runs, "tokens_per_second": per_second.round() }),
        right,
    ))
}

/// Number of words that the tokenizer of a made-up model knows.
const WORDS: usize = 1000;

impl Shape {
    /// Writes a folder for sentence-transformers with a network of this shape.
    fn write(self, folder: &Path) {
        let words: Vec<String> = (0..WORDS).map(|word| format!("w{word}")).collect();
        let vocabulary: Vec<&str> =
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].into_iter().chain(words.iter().map(String::as_str)).collect();
        let (hidden, max_tokens) = match self {
            Self::Bert => (384, 512),
            Self::Nomic => (768, 8192),
        };
        model_folder::write(folder, hidden, max_tokens, &self.config(max_tokens), &vocabulary);
        let mut tensors = Vec::new();
        for (name, shape) in self.tensors() {
            let bytes = made_up(&name, &shape);
            tensors.push((name, shape, bytes));
        }
        let views = tensors
            .iter()
            .map(|(name, shape, bytes)| (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
        safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
    }

    fn config(self, max_tokens: usize) -> Value {
        match self {
            Self::Bert => json!({
                "model_type": "bert", "vocab_size": 30522, "hidden_size": 384, "num_hidden_layers": 6,
                "num_attention_heads": 12, "intermediate_size": 1536, "hidden_act": "gelu",
                "max_position_embeddings": max_tokens, "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0,
            }),
            Self::Nomic => json!({
                "model_type": "nomic_bert", "vocab_size": 30528, "n_embd": 768, "n_layer": 12, "n_head": 12,
                "n_inner": 3072, "n_positions": max_tokens, "type_vocab_size": 2, "layer_norm_epsilon": 1e-12,
                "rotary_emb_fraction": 1.0, "rotary_emb_base": 1000, "rotary_emb_interleaved": false,
                "qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false, "causal": false,
                "activation_function": "swiglu", "prenorm": false, "parallel_block": false, "use_rms_norm": false,
            }),
        }
    }

    /// Returns the names and shapes of the tensors.
    fn tensors(self) -> Vec<(String, Vec<usize>)> {
        let mut tensors = Vec::new();
        let mut add = |name: String, shape: &[usize]| tensors.push((name, shape.to_vec()));
        match self {
            Self::Bert => {
                for (table, rows) in [("word", 30522), ("position", 512), ("token_type", 2)] {
                    add(format!("embeddings.{table}_embeddings.weight"), &[rows, 384]);
                }
                let mut both = |name: String, out: usize, into: Option<usize>| {
                    add(format!("{name}.weight"), &[Some(out), into].into_iter().flatten().collect::<Vec<_>>());
                    add(format!("{name}.bias"), &[out]);
                };
                both("embeddings.LayerNorm".to_owned(), 384, None);
                for layer in 0..6 {
                    let layer = format!("encoder.layer.{layer}");
                    for part in ["self.query", "self.key", "self.value", "output.dense"] {
                        both(format!("{layer}.attention.{part}"), 384, Some(384));
                    }
                    both(format!("{layer}.attention.output.LayerNorm"), 384, None);
                    both(format!("{layer}.intermediate.dense"), 1536, Some(384));
                    both(format!("{layer}.output.dense"), 384, Some(1536));
                    both(format!("{layer}.output.LayerNorm"), 384, None);
                }
            }
            Self::Nomic => {
                add("embeddings.word_embeddings.weight".to_owned(), &[30528, 768]);
                add("embeddings.token_type_embeddings.weight".to_owned(), &[2, 768]);
                let layers = (0..12).map(|layer| format!("encoder.layers.{layer}."));
                for layer in layers {
                    for (name, shape) in [
                        ("attn.Wqkv", [3 * 768, 768]),
                        ("attn.out_proj", [768, 768]),
                        ("mlp.fc11", [3072, 768]),
                        ("mlp.fc12", [3072, 768]),
                        ("mlp.fc2", [768, 3072]),
                    ] {
                        add(format!("{layer}{name}.weight"), &shape);
                    }
                    for kind in ["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"] {
                        add(format!("{layer}{kind}"), &[768]);
                    }
                }
                add("emb_ln.weight".to_owned(), &[768]);
                add("emb_ln.bias".to_owned(), &[768]);
            }
        }
        tensors
    }
}

/// Returns numbers that depend on the name, of a size that keeps a network's states near 1.
fn made_up(name: &str, shape: &[usize]) -> Vec<u8> {
    let mut state =
        name.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    let one = shape.len() == 1 && name.ends_with("weight");
    #[expect(clippy::cast_precision_loss, reason = "a few thousand inputs")]
    let size = if shape.len() == 1 { 0.1 } else { (12.0 / shape[1] as f32).sqrt() };
    let mut bytes = Vec::with_capacity(4 * shape.iter().product::<usize>());
    for _ in 0..shape.iter().product() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        #[expect(clippy::cast_precision_loss, reason = "16 bits")]
        let around_zero = (state >> 16) as f32 / 65536.0 - 0.5;
        bytes.extend((f32::from(u8::from(one)) + around_zero * size).to_le_bytes());
    }
    bytes
}
