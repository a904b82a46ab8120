//! `chunkmill stats`: what is in a dataset.

use serde::Serialize;

use crate::chunk::{Context, Pooling, Spec};
use crate::cli::job::size;
use crate::cli::output::{print, print_json};
use crate::dataset::{Counts, EdgeCount, EdgeKinds, Manifest};
use crate::error::exit;
use crate::storage::Location;
use crate::value::count;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Stats<'a> {
    #[serde(flatten)]
    counts: Counts,
    files: usize,
    file_bytes: u64,
    spec: &'a str,
    spec_fingerprint: &'a str,
    model: &'a str,
    model_revision: Option<&'a str>,
    model_fingerprint: &'a str,
    dim: usize,
    format_version: u32,
    tool_version: &'a str,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let manifest = Manifest::read(&args.dataset)?;
    let stats = Stats {
        counts: manifest.counts,
        files: manifest.files.len(),
        file_bytes: manifest.files.iter().map(|file| file.bytes).sum(),
        spec: &manifest.spec.text,
        spec_fingerprint: &manifest.spec.fingerprint,
        model: &manifest.model.id,
        model_revision: manifest.model.revision.as_deref(),
        model_fingerprint: &manifest.model.fingerprint,
        dim: manifest.model.dim,
        format_version: manifest.format_version,
        tool_version: &manifest.tool_version,
    };
    if args.json {
        print_json(&stats)?;
        return Ok(exit::DONE);
    }
    let Counts { discovered, documents, chunks, quarantined, bytes, tokens, model_tokens, truncated, .. } =
        manifest.counts;
    let Counts { edges, unresolved_edges, edges_by_kind: EdgeKinds { link, wikilink, image }, .. } = manifest.counts;
    let kind = |name: &str, of: EdgeCount| format!("{} ({} unresolved)", count(of.edges, name), of.unresolved);
    print(format!(
        "documents   {documents} of {discovered} discovered, {quarantined} quarantined, {}\n\
         chunks      {chunks}, {truncated} of them truncated by the model\n\
         edges       {edges}, {unresolved_edges} unresolved: {}, {}, {}\n\
         tokens      {tokens} ({}), {model_tokens} (the model's)\n\
         chunked     {} [{}]\n\
         context     {}\n\
         embedded    {}, {} [{}]\n\
         dataset     {}, {}, format {}, written by chunkmill {}",
        size(bytes),
        kind("link", link),
        kind("wikilink", wikilink),
        kind("image", image),
        manifest.spec.encoding(),
        stats.spec,
        stats.spec_fingerprint,
        context(&manifest),
        stats.model,
        count(stats.dim, "dimension"),
        stats.model_fingerprint,
        count(stats.files, "file"),
        size(stats.file_bytes),
        stats.format_version,
        stats.tool_version,
    ))?;
    Ok(exit::DONE)
}

/// Describes the context that the model saw before each chunk.
fn context(manifest: &Manifest) -> &'static str {
    let spec = Spec::resolve(&manifest.spec.settings).ok();
    let spec = spec.filter(|spec| spec.fingerprint() == manifest.spec.fingerprint);
    if spec.as_ref().is_some_and(|spec| spec.pooling() == Pooling::Late) {
        return "late: the model read each document whole, in windows";
    }
    match spec.map(|spec| spec.context()) {
        Some(Context::Full) => "full: the model saw the document's name and the headings before each chunk",
        Some(Context::Document) => "document: the model saw the document's name before each chunk",
        Some(Context::Headings) => "headings: the model saw the headings before each chunk, not the document's name",
        Some(Context::None) => "none: the model saw each chunk alone, without the document's name",
        None => "from an older version: the vectors do not include the document's name; index again to add it",
    }
}
