//! `chunkmill changes`: which chunks a copy of a dataset has to write and to delete.

use std::io::{BufWriter, Write};

use arrow::ipc::writer::StreamWriter;

use super::filter::cannot_write;
use crate::cli::output::{self, print, print_json, print_prose};
use crate::dataset::{ChangeKind, Changes, Dataset};
use crate::error::exit;
use crate::storage::Location;
use crate::value::count;

/// Shown below the help.
const EXAMPLES: &str = "Examples:\n\
\x20 chunkmill changes out --since 0f3c9a1e\n\
\x20 chunkmill changes out --since out.last-week --arrow > changes.arrow";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// The earlier snapshot: its id or the beginning of it (`chunkmill stats` shows the id of a snapshot), or the place of
    /// a copy of the dataset
    #[arg(long, value_name = "SNAPSHOT")]
    since: String,
    /// Print a JSON object with the ids of both snapshots, then one per chunk
    #[arg(long)]
    json: bool,
    /// Print an Arrow IPC stream with all columns of the chunks, including their vectors
    #[arg(long, conflicts_with = "json")]
    arrow: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let dataset = Dataset::open(&args.dataset)?;
    let changes = Changes::since(&dataset, &args.since)?;
    if args.json {
        print_json(&serde_json::json!({"since": changes.since, "snapshot": changes.snapshot}))?;
        changes.rows.iter().try_for_each(print_json)?;
        return Ok(exit::DONE);
    }
    if args.arrow {
        let schema = changes.chunks_schema(&dataset);
        let mut stream = StreamWriter::try_new(BufWriter::new(output::binary()?), &schema).map_err(cannot_write)?;
        for rows in changes.chunks(&dataset) {
            stream.write(&rows?).map_err(cannot_write)?;
        }
        stream.finish().map_err(cannot_write)?;
        stream.get_mut().flush().map_err(|error| cannot_write(error.into()))?;
        return Ok(exit::DONE);
    }
    let of = |kind: ChangeKind| format!("{} {}", changes.count(kind), kind.name());
    let kinds = ChangeKind::ALL.map(of).join(", ");
    let here = changes.rows.iter().filter(|row| row.change != ChangeKind::Removed).count() as u64;
    let same = dataset.manifest().counts.chunks.saturating_sub(here);
    print_prose(format!("since {}: {kinds}; {} the same", changes.since, count(same, "chunk")))?;
    for row in &changes.rows {
        let from = row.moved_from.as_ref().map(|id| format!("  (was {id})")).unwrap_or_default();
        print(format_args!("  {:7}  {}{from}", row.change, row.chunk_id))?;
    }
    Ok(exit::DONE)
}
