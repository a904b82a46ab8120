//! `chunkmill-eval verify`: checks whether the labels of a set still match its documents.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chunkmill::cli::{print, print_json};
use chunkmill::error::exit;
use chunkmill::value::count;
use serde_json::{Value, json};

use crate::labels::set::{LabelSet, PlaceCheck, PlaceState};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Folder with corpus/ and queries.jsonl
    set: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The names of the states, as in [`PlaceState::name`], in the order of the summary.
const STATES: [&str; 6] = ["valid", "moved", "split", "ambiguous", "gone", "no_document"];

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let labels = LabelSet::read(&args.set)?;
    let corpus = labels.corpus()?;
    let checked = labels.check(&corpus);
    let mut states: BTreeMap<&str, usize> = STATES.iter().map(|&name| (name, 0)).collect();
    for checked in &checked {
        *states.entry(checked.state.name()).or_default() += 1;
    }
    let references = checked.chunk_by(|a, b| (a.query, a.reference) == (b.query, b.reference)).count();
    let drifted = checked.iter().filter(|checked| checked.state.has_drifted()).count();
    let synthetic = labels.queries.iter().filter(|query| query.is_synthetic()).count();
    let unanswered = labels.queries.iter().filter(|query| query.is_unanswered()).count();
    let notable: Vec<&PlaceCheck> = checked.iter().filter(|checked| checked.state != PlaceState::Valid).collect();
    if args.json {
        let not_valid: Vec<Value> = notable.iter().map(|checked| record(&labels, checked)).collect();
        let summary = json!({
            "documents": corpus.documents,
            "queries": labels.queries.len(),
            "synthetic": synthetic,
            "unanswered": unanswered,
            "references": references,
            "places": checked.len(),
            "states": states,
            "drifted": drifted,
            "not_valid": not_valid,
        });
        print_json(&summary)?;
    } else {
        for checked in &notable {
            let (query, at) = checked.of(&labels);
            let place = at.quote.as_ref().map(|quote| format!(" {}..{}", quote.range.start, quote.range.end));
            let (name, problem) = (checked.state.name(), checked.state.describe());
            let line = format!("{name} {}: {}{}: {problem}", query.id, at.doc_id, place.unwrap_or_default());
            print(line)?;
        }
        if synthetic > 0 {
            let synthetic = count(synthetic, "synthetic query");
            print(format_args!("{synthetic}, made from the text by `chunkmill-eval synth`"))?;
        }
        if unanswered > 0 {
            print(format_args!("{} that the documents do not answer", count(unanswered, "query")))?;
        }
        let counts: Vec<String> =
            STATES.iter().filter(|&&name| states[name] > 0).map(|&name| format!("{} {name}", states[name])).collect();
        print(format_args!(
            "{}, {} {} {}: {}; {drifted} drifted",
            count(labels.queries.len(), "query"),
            count(references, "reference"),
            if checked.len() == references { "to".to_owned() } else { format!("in {} places of", checked.len()) },
            count(corpus.documents, "document"),
            if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
        ))?;
    }
    Ok(if drifted == 0 { exit::DONE } else { exit::CHECK_FAILED })
}

fn record(labels: &LabelSet, checked: &PlaceCheck) -> Value {
    let (query, at) = checked.of(labels);
    let range = at.quote.as_ref().map(|quote| &quote.range);
    let found = match &checked.state {
        PlaceState::Moved(to) | PlaceState::Elsewhere(_, to) => vec![[to.start, to.end]],
        PlaceState::Split(pieces) => pieces.iter().map(|piece| [piece.start, piece.end]).collect(),
        _ => Vec::new(),
    };
    json!({
        "query_id": query.id,
        "doc_id": at.doc_id,
        "start": range.map(|range| range.start),
        "end": range.map(|range| range.end),
        "state": checked.state.name(),
        "found": found,
        "found_in": if let PlaceState::Elsewhere(doc_id, _) = &checked.state { doc_id } else { &at.doc_id },
        "problem": checked.state.describe(),
    })
}
