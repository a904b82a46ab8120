//! `chunkmill-eval agree`: checks whether two sets of questions rank settings alike.

use std::collections::BTreeSet;

use chunkmill::cli::{print, print_json};
use chunkmill::error::exit;

use super::pair::PairArgs;
use crate::findings::agreement::{Agreement, agreement};

pub(super) fn run(args: &PairArgs) -> anyhow::Result<u8> {
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
