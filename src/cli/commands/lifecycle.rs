//! `chunkmill promote` and `delete`: changing a dataset without its corpus.

use crate::cli::job::stop_on_interrupt;
use crate::cli::output::{print_json, print_prose};
use crate::error::exit;
use crate::job::{self, ChangeCounts};
use crate::storage::Location;
use crate::value::count;

#[derive(clap::Args)]
pub(crate) struct PromoteArgs {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// Id of the document
    #[arg(value_name = "DOC")]
    document: String,
    /// New promotion level
    level: String,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(crate) struct DeleteArgs {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// Ids of documents
    #[arg(value_name = "DOC", required_unless_present = "collection")]
    documents: Vec<String>,
    /// Delete every document of this collection; repeat for several
    #[arg(long, value_name = "NAME")]
    collection: Vec<String>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn promote(args: &PromoteArgs) -> anyhow::Result<u8> {
    let stop = stop_on_interrupt()?;
    let changed = job::promote(&args.dataset, &args.document, &args.level, &stop)?;
    report(changed, args.json, &format!("{} is at level {}", args.document, args.level))
}

pub(crate) fn delete(args: &DeleteArgs) -> anyhow::Result<u8> {
    let stop = stop_on_interrupt()?;
    let changed = job::delete(&args.dataset, &args.documents, &args.collection, &stop)?;
    report(changed, args.json, "deleted")
}

fn report(changed: ChangeCounts, json: bool, what: &str) -> anyhow::Result<u8> {
    if json {
        print_json(&changed)?;
    } else {
        let (documents, chunks) = (count(changed.documents, "document"), count(changed.chunks, "chunk"));
        print_prose(format!("{what}: {documents} with {chunks}"))?;
    }
    Ok(exit::DONE)
}
