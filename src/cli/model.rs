//! `chunkmill model`: fetch a model, or check one.

use std::path::PathBuf;

use clap::Subcommand;

use super::print;
use crate::embed::hub::{self, ModelRef};
use crate::embed::{self, Backend, Device, Role};
use crate::error::exit;

#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fetch a model into the Hugging Face cache and check its hashes
    Pull {
        /// Hub id with an optional revision
        #[arg(default_value_t)]
        model: ModelRef,
        /// Install the default model from a folder instead, if its files have the pinned hashes
        #[arg(long, value_name = "FOLDER", conflicts_with = "model")]
        from: Option<PathBuf>,
    },
    /// Load a model, embed a sentence, and print what a dataset would record of it
    Check {
        /// Folder, or hub id with an optional revision
        #[arg(default_value_t)]
        model: ModelRef,
        /// Where to run it: cpu, cuda:N, metal
        #[arg(long, value_name = "DEVICE", default_value_t)]
        device: Device,
    },
}

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    match args.command {
        Command::Pull { model, from } => {
            let mut folder = match from {
                Some(from) => hub::install_default(&from)?,
                None => hub::locate(&model)?,
            };
            let settings = embed::model::Settings::read(&mut folder)?;
            settings.check_weights(&mut folder)?;
            print(format!("{} is in {}", folder.id, folder.path.display()))?;
            for (name, hash) in folder.hashes() {
                print(format!("  {hash}  {name}"))?;
            }
            print(format!("  {} network, {} tokens", settings.model_type, settings.tokenizer.max_tokens()))?;
        }
        Command::Check { model, device } => {
            let backend = Backend { device, ..Backend::default() };
            let embedder = embed::load(backend, &model)?;
            let info = embedder.info();
            let ids = embedder.encode("A sentence to see whether the model runs.", Role::Document)?.ids;
            let vector = embedder.embed(&[&ids])?;
            let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            print(format!(
                "{}{}\n  fingerprint {}\n  runs on {} in {}, by {}\n  {} dimensions, {} tokens, {} pooling, norm of a vector {norm:.6}",
                info.id,
                info.revision.as_deref().map(|revision| format!("@{revision}")).unwrap_or_default(),
                info.fingerprint,
                device,
                info.precision,
                embed::explain(backend, &model)?,
                info.dim,
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
