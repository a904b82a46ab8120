//! `chunkmill gc`: removes files that no manifest names.

use std::time::Duration;

use serde::Serialize;

use crate::cli::job::size;
use crate::cli::output::{print_json, print_prose};
use crate::dataset::{Leftover, Sweep, Swept, gc};
use crate::error::exit;
use crate::storage::Location;
use crate::value::{Value, count};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The dataset: a folder, or a URL such as `s3://BUCKET/PREFIX`
    dataset: Location,
    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Also remove finished parts of interrupted runs and shards, which the next `index` or `commit` would reuse
    #[arg(long)]
    staging: bool,
    /// Remove only what is older than this many hours [default: 24 in an object store, otherwise 0]
    #[arg(long, value_name = "HOURS", value_parser = u64::read)]
    older_than: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The output of `--json`.
#[derive(Serialize)]
struct GcSummary {
    dry_run: bool,
    removed_bytes: u64,
    removed: Vec<Item>,
    kept_bytes: u64,
    kept: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    path: String,
    bytes: u64,
    kind: &'static str,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<u8> {
    let older_than = args.older_than.map(|hours| Duration::from_secs(hours.saturating_mul(3600)));
    let swept = gc(&args.dataset, Sweep { dry_run: args.dry_run, work: args.staging, older_than })?;
    if args.json {
        let items = |leftovers: &[Leftover]| leftovers.iter().map(|leftover| item(&args.dataset, leftover)).collect();
        let summary = GcSummary {
            dry_run: args.dry_run,
            removed_bytes: bytes(&swept.removed),
            removed: items(&swept.removed),
            kept_bytes: bytes(&swept.kept),
            kept: items(&swept.kept),
        };
        print_json(&summary)?;
    } else {
        print_prose(describe(&swept, args))?;
    }
    Ok(exit::DONE)
}

fn item(root: &Location, Leftover { kind, path, bytes, .. }: &Leftover) -> Item {
    let path = path.strip_prefix(root.path()).unwrap_or(path).to_string_lossy().into_owned();
    Item { path, bytes: *bytes, kind: kind.name }
}

fn bytes(leftovers: &[Leftover]) -> u64 {
    leftovers.iter().map(|leftover| leftover.bytes).sum()
}

fn describe(Swept { removed, kept }: &Swept, args: &Args) -> String {
    let line = |verb: &str, leftover: &Leftover| {
        let Item { path, bytes, .. } = item(&args.dataset, leftover);
        format!("{verb} {path}: {}, {}", count(bytes, "byte"), leftover.kind.what)
    };
    let verb = if args.dry_run { "would remove" } else { "removed" };
    let mut lines: Vec<String> = removed.iter().map(|leftover| line(verb, leftover)).collect();
    lines.extend(kept.iter().map(|leftover| line("kept", leftover)));
    if kept.iter().any(|leftover| leftover.kind.is_work) {
        lines.push(format!("  help: chunkmill gc {} --staging removes that too", args.dataset));
    }
    if kept.iter().any(|leftover| !leftover.kind.is_work) {
        let help = "sets a lower age limit and removes newer files too";
        lines.push(format!("  help: chunkmill gc {} --older-than HOURS {help}", args.dataset));
    }
    lines.push(format!("{verb} {}, kept {}", size(bytes(removed)), size(bytes(kept))));
    lines.join("\n")
}
