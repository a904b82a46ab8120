//! `chunkmill search`: the chunks nearest to a question.

use std::path::PathBuf;

use super::args::{ModelArgs, ThreadArgs, merge};
use super::{print, use_threads};
use crate::config::Options;
use crate::embed::hub::ModelRef;
use crate::embed::{self, Backend, Engine, ModelInfo, PrecisionSetting, Role};
use crate::error::{Error, exit};
use crate::named::named;
use crate::search;
use crate::store::Dataset;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder of the dataset
    dataset: PathBuf,
    /// What to look for
    query: String,
    /// How to search: vector (exact)
    #[arg(long, value_name = "MODE", default_value_t = Mode::Vector)]
    mode: Mode,
    /// How many chunks to show
    #[arg(short, value_name = "N", default_value_t = 5)]
    k: usize,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    /// Print one JSON object per chunk
    #[arg(long)]
    json: bool,
}

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// By the dot product with every vector.
    Vector,
}

impl Mode {
    const ALL: [Self; 1] = [Self::Vector];

    fn name(self) -> &'static str {
        match self {
            Self::Vector => "vector",
        }
    }
}

named!(Mode, "a way to search");

pub(super) fn run(args: Args) -> anyhow::Result<u8> {
    let dataset = Dataset::open(&args.dataset)?;
    let manifest = dataset.manifest();
    let named = args.model.model.is_some();
    let config =
        merge(Options { embedding: args.model.options(), threads: args.threads.threads, ..Options::default() })?;
    use_threads(config.threads)?;
    // The dataset says what made its vectors; nothing else could read them.
    let ModelInfo { engine, precision, .. } = manifest.model;
    let backend = Backend { engine, precision: PrecisionSetting::Fixed(precision), ..config.backend };
    let model = match config.model {
        Some(model) if named => model,
        configured => recorded(&manifest.model).or_else(|error| configured.ok_or(error))?,
    };
    let embedder = embed::load(backend, &model)?;
    if embedder.info().fingerprint != manifest.model.fingerprint {
        return Err(Error::Model {
            model: embedder.info().id.clone(),
            problem: format!(
                "is not the model of the dataset ({}, fingerprint {}); its own fingerprint is {}",
                manifest.model.id,
                manifest.model.fingerprint,
                embedder.info().fingerprint
            ),
            help: "search with the same model, or index again".to_owned(),
        }
        .into());
    }
    let encoded = embedder.encode(&args.query, Role::Query)?;
    let vector = embedder.embed(&[&encoded.ids])?;
    let hits = match args.mode {
        Mode::Vector => search::search(&dataset, &vector, args.k)?,
    };
    for hit in &hits {
        if args.json {
            print(serde_json::to_string(hit)?)?;
        } else {
            let text: Vec<&str> = hit.content.split_whitespace().collect();
            let text: String = text.join(" ").chars().take(240).collect();
            print(format!(
                "{:>2}. {:.4}  {}:{}-{}  {}\n    {text}\n",
                hit.rank, hit.score, hit.path, hit.start_line, hit.end_line, hit.header_path
            ))?;
        }
    }
    Ok(exit::DONE)
}

/// The model that a dataset says it was made with.
fn recorded(model: &ModelInfo) -> crate::error::Result<ModelRef> {
    let wrong =
        |problem: String| Error::Model { model: model.id.clone(), problem, help: "name it: --model FOLDER".to_owned() };
    if model.engine == Engine::Fake {
        return Ok(ModelRef::default());
    }
    let Some(revision) = &model.revision else {
        return Err(wrong("was a local folder when the dataset was made".to_owned()));
    };
    format!("{}@{revision}", model.id).parse().map_err(wrong)
}
