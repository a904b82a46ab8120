//! `chunkmill stats`: what is in a dataset.

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use serde::Serialize;

use crate::chunk::{Context, Pooling, Spec};
use crate::cli::job::{links, size};
use crate::cli::output::{print, print_json, print_prose};
use crate::dataset::{Counts, Dataset, EdgeCount, EdgeKinds, FileEntry, Manifest, Table};
use crate::embed::SparseModel;
use crate::error::{Error, Result, exit};
use crate::job::{RepeatedParagraph, boilerplate};
use crate::storage::Location;
use crate::value::count;

/// Number of repeated paragraphs that are shown to people.
const MOST_PARAGRAPHS: usize = 50;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// Also list the links that lead nowhere
    #[arg(long)]
    links: bool,
    /// Also list the documents that have nearly the words of another
    #[arg(long)]
    duplicates: bool,
    /// Also list the paragraphs that stand in at least this many documents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    boilerplate: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Stats<'a> {
    snapshot: String,
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
    sparse_model: Option<&'a str>,
    sparse_model_revision: Option<&'a str>,
    sparse_model_fingerprint: Option<&'a str>,
    format_version: u32,
    tool_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_links: Option<Vec<LostLink>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    near_duplicates: Option<Vec<NearDuplicate>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boilerplate: Option<Vec<RepeatedParagraph>>,
}

/// A document that has nearly the words of another.
#[derive(Serialize)]
struct NearDuplicate {
    doc_id: String,
    duplicate_of: String,
    jaccard: f64,
    containment: f64,
}

/// Returns the documents of a dataset that have nearly the words of another.
fn near_duplicates(dataset: &Dataset) -> Result<Vec<NearDuplicate>> {
    let mut found = Vec::new();
    for file in dataset.files(Table::Duplicates) {
        for batch in dataset.read(file, &["doc_id", "duplicate_of", "jaccard", "containment"], None)? {
            let batch = batch?;
            let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
            let share = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<Float64Type>();
            let columns = || Some((text("doc_id")?, text("duplicate_of")?, share("jaccard")?, share("containment")?));
            let (ids, originals, jaccard, containment) = columns().ok_or_else(|| lacks_columns(dataset, file))?;
            found.extend((0..batch.num_rows()).map(|row| NearDuplicate {
                doc_id: ids.value(row).to_owned(),
                duplicate_of: originals.value(row).to_owned(),
                jaccard: jaccard.value(row),
                containment: containment.value(row),
            }));
        }
    }
    found.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    Ok(found)
}

fn lacks_columns(dataset: &Dataset, file: &FileEntry) -> Error {
    Error::Dataset {
        path: dataset.root().join(&file.path),
        problem: format!("does not have the columns of `{}`", file.table),
        help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
    }
}

/// A link that leads nowhere.
#[derive(Serialize)]
struct LostLink {
    from_doc: String,
    kind: String,
    target: String,
}

/// Returns the links of a dataset that lead nowhere.
fn lost_links(dataset: &Dataset) -> Result<Vec<LostLink>> {
    let mut lost = Vec::new();
    for file in dataset.files(Table::Edges) {
        for batch in dataset.read(file, &["resolved", "from_doc", "kind", "target"], None)? {
            let batch = batch?;
            let damaged = || lacks_columns(dataset, file);
            let column = |name: &str| batch.column_by_name(name).ok_or_else(damaged);
            let texts = |name: &str| column(name)?.as_string_opt::<i32>().ok_or_else(damaged);
            let resolved = column("resolved")?.as_boolean_opt().ok_or_else(damaged)?;
            let (from, kinds, targets) = (texts("from_doc")?, texts("kind")?, texts("target")?);
            for row in (0..batch.num_rows()).filter(|&row| !resolved.value(row)) {
                let [from_doc, kind, target] = [from, kinds, targets].map(|column| column.value(row).to_owned());
                lost.push(LostLink { from_doc, kind, target });
            }
        }
    }
    Ok(lost)
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let dataset = Dataset::open(&args.dataset)?;
    let manifest = dataset.manifest();
    let stats = Stats {
        snapshot: dataset.id(),
        counts: manifest.counts,
        files: manifest.files.len(),
        file_bytes: manifest.files.iter().map(|file| file.bytes).sum(),
        spec: &manifest.spec.text,
        spec_fingerprint: &manifest.spec.fingerprint,
        model: &manifest.model.id,
        model_revision: manifest.model.revision.as_deref(),
        model_fingerprint: &manifest.model.fingerprint,
        dim: manifest.model.dim,
        sparse_model: manifest.model.sparse.as_ref().map(|sparse| &*sparse.id),
        sparse_model_revision: manifest.model.sparse.as_ref().and_then(|sparse| sparse.revision.as_deref()),
        sparse_model_fingerprint: manifest.model.sparse.as_ref().map(|sparse| &*sparse.fingerprint),
        format_version: manifest.format_version,
        tool_version: &manifest.tool_version,
        lost_links: args.links.then(|| lost_links(&dataset)).transpose()?,
        near_duplicates: args.duplicates.then(|| near_duplicates(&dataset)).transpose()?,
        boilerplate: args.boilerplate.map(|least| boilerplate(&dataset, least)).transpose()?,
    };
    if args.json {
        print_json(&stats)?;
        return Ok(exit::DONE);
    }
    let Counts { discovered, documents, chunks, quarantined, bytes, tokens, model_tokens, truncated, .. } =
        manifest.counts;
    let Counts { duplicates, .. } = manifest.counts;
    let Counts { edges, unresolved_edges, edges_by_kind: EdgeKinds { link, wikilink, image }, .. } = manifest.counts;
    let kind = |name: &str, of: EdgeCount| match of.unresolved {
        0 => count(of.edges, name),
        lost => format!("{} ({lost} lost)", count(of.edges, name)),
    };
    print_prose(format!(
        "documents   {documents} of {discovered} discovered, {quarantined} quarantined, {}, {}\n\
         chunks      {chunks}, {truncated} of them truncated by the model\n\
         links       {}: {}, {}, {}\n\
         tokens      {tokens} ({}), {model_tokens} (the model's)\n\
         chunked     {} [{}]\n\
         context     {}\n\
         embedded    {}, {} [{}]\n{}\
         dataset     {}, {}, format {}, written by chunkmill {}\n\
         snapshot    {}",
        size(bytes),
        alike(duplicates),
        links(edges, unresolved_edges),
        kind("link", link),
        kind("wikilink", wikilink),
        kind("image", image),
        manifest.spec.encoding(),
        stats.spec,
        stats.spec_fingerprint,
        context(manifest),
        stats.model,
        count(stats.dim, "dimension"),
        stats.model_fingerprint,
        sparse(manifest),
        count(stats.files, "file"),
        size(stats.file_bytes),
        stats.format_version,
        stats.tool_version,
        stats.snapshot,
    ))?;
    for LostLink { from_doc, kind, target } in stats.lost_links.iter().flatten() {
        print(format_args!("  leads nowhere  {from_doc}  {kind}  {target}"))?;
    }
    for NearDuplicate { doc_id, duplicate_of, jaccard, .. } in stats.near_duplicates.iter().flatten() {
        print(format_args!("  near-duplicate  {jaccard:.2}  {doc_id}  of {duplicate_of}"))?;
    }
    let repeated = stats.boilerplate.as_deref().unwrap_or_default();
    for RepeatedParagraph { documents, text, .. } in repeated.iter().take(MOST_PARAGRAPHS) {
        print(format_args!("  stands in {documents} documents  {text}"))?;
    }
    if let more @ 1.. = repeated.len().saturating_sub(MOST_PARAGRAPHS) {
        print(format_args!("  … and {} more; --json has all", count(more, "paragraph")))?;
    }
    Ok(exit::DONE)
}

/// Says how many documents have nearly the words of another.
fn alike(duplicates: u64) -> String {
    match duplicates {
        0 => "no near-duplicates".to_owned(),
        _ => count(duplicates, "near-duplicate"),
    }
}

/// Describes the sparse model in a line, if there is one.
fn sparse(manifest: &Manifest) -> String {
    let of = |SparseModel { id, vocabulary, fingerprint, .. }: &SparseModel| {
        format!("sparse      {id}, vocabulary of {} [{fingerprint}]\n", count(*vocabulary, "token"))
    };
    manifest.model.sparse.as_ref().map(of).unwrap_or_default()
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
