//! `chunkmill-eval agree`: checks whether two sets of questions rank settings alike, or whether two people's labels name
//! the same evidence.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chunkmill::cli::{print, print_json};
use chunkmill::error::exit;

use super::pair::PairArgs;
use crate::findings::agreement::{Agreement, agreement};
use crate::labels::ask::{compare_people, read_labels};
use crate::labels::set::{is_set, queries_of};

pub(super) fn run(args: &PairArgs) -> anyhow::Result<u8> {
    if let (Some(a), Some(b)) = (label_file(&args.a), label_file(&args.b)) {
        let found = compare_people(&read_labels(&a)?, &read_labels(&b)?);
        if args.json { print_json(&found) } else { print(found.describe()) }?;
        return Ok(exit::DONE);
    }
    let (a, b, metrics) = args.read()?;
    for metric in &metrics {
        let all = agreement(&a, &b, metric, None)?;
        let modes: BTreeSet<&str> = a.cells.iter().map(|cell| cell.retrieval.as_str()).collect();
        // There may be too few settings with one way to search.
        let each = modes.into_iter().filter_map(|mode| agreement(&a, &b, metric, Some(mode)).ok());
        for found in [all].into_iter().chain(each) {
            if args.json { print_json(&found) } else { print(describe(&found)) }?;
        }
    }
    Ok(exit::DONE)
}

/// Returns the file of labels that a path names: itself, or that of a set.
fn label_file(path: &Path) -> Option<PathBuf> {
    let is_file = path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file();
    if is_file { Some(path.to_owned()) } else { is_set(path).then(|| queries_of(path)) }
}

fn describe(found: &Agreement) -> String {
    let Agreement { metric, retrieval, cells, tau, pick, best, regret, random_regret } = found;
    let which = retrieval.as_ref().map_or(String::new(), |retrieval| format!(" by {retrieval} search"));
    let tau = tau.map_or("not defined".to_owned(), |tau| format!("{tau:.3}"));
    format!(
        "{metric}{which}: Kendall's tau-b over {cells} settings is {tau}. A's best, `{}`, has {:.3} in B; B's best, \
         `{}`, has {:.3}. The regret is {regret:.3}; for a random setting it is {random_regret:.3}.",
        pick.0, pick.1, best.0, best.1
    )
}
