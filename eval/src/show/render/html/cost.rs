//! Costs: of storage, of indexing, and of reading.

use super::parts::{Section, build_name, row, table};
use crate::data::report::{Cell, Spread};
use crate::show::render::view::{View, bytes, count, percent, significant, whole};

pub(super) fn section(view: &View) -> Option<Section> {
    let cells = view.choice();
    if cells.is_empty() {
        return None;
    }
    let builds = View::builds(&cells);
    let timed = builds.iter().any(|cell| cell.cost.index.is_some());
    let body = format!(
        "{}<h3>Size of a dataset</h3>{}{}",
        reader(view),
        datasets(view, &builds),
        if timed { indexing(view, &builds) } else { "<p>The sweep did not time indexing.</p>".to_owned() }
    );
    Some(Section {
        id: "cost",
        title: "What it costs",
        lead:
            "For the recommended setting, the best one, the smallest that is as good, and the best of each strategy and each way to search. \
               All settings are in report.csv."
                .to_owned(),
        body,
    })
}

/// Renders how many tokens chunks save compared with whole documents.
fn reader(view: &View) -> String {
    let mean = |cell: &Cell, name: &str| cell.metrics.get(name).map(|summary| summary.mean);
    let Some(advised) = view.advised() else { return String::new() };
    match (mean(advised, "retrieved_tokens"), mean(advised, "whole_document_tokens")) {
        (Some(chunks), Some(documents)) if documents > 0.0 => format!(
            "<p>The k best chunks of the recommended setting are {} tokens. The whole documents would have been {}: {} of that is \
             saved.</p>",
            count(chunks),
            count(documents),
            percent(1.0 - chunks / documents)
        ),
        _ => String::new(),
    }
}

fn datasets(view: &View, builds: &[&Cell]) -> String {
    let rows: Vec<String> = builds
        .iter()
        .map(|cell| {
            let cost = &cell.cost;
            let peak = |stage: &str| cost.peak_rss.get(stage).map_or_else(|| "–".to_owned(), |peak| bytes(*peak));
            let reused = format!("{} of {}", whole(cost.texts_reused), whole(cost.texts));
            let numbers = [
                whole(cell.chunks),
                whole(cost.tokens),
                bytes(cost.bytes),
                bytes(cost.vector_bytes),
                whole(cost.quarantined),
                reused,
                peak("index"),
                peak("search"),
            ];
            row(&build_name(view, cell), &numbers)
        })
        .collect();
    let head = [
        "Chunks made by",
        "chunks",
        "tokens",
        "on disk",
        "vectors alone",
        "documents quarantined",
        "vectors reused",
        "peak memory, indexing",
        "peak memory, searching",
    ];
    table("Size of a dataset", &head, &rows)
}

fn indexing(view: &View, builds: &[&Cell]) -> String {
    let rows: Vec<String> = builds
        .iter()
        .filter_map(|cell| {
            let index = cell.cost.index.as_ref()?;
            let spread = |s: Spread| match index.repeats {
                1 => significant(s.median),
                _ => format!("{} <small>{}–{}</small>", significant(s.median), significant(s.min), significant(s.max)),
            };
            let stage = |name: &str| index.stages.get(name).map_or_else(|| "–".to_owned(), |s| spread(*s));
            let share = percent(index.chunking_share.median);
            let numbers = [
                index.repeats.to_string(),
                spread(index.seconds),
                stage("chunk"),
                stage("embed"),
                stage("write"),
                share,
            ];
            Some(row(&build_name(view, cell), &numbers))
        })
        .collect();
    let head = ["Chunks made by", "runs", "total, s", "chunk, s", "embed, s", "write, s", "chunking’s share, %"];
    let note = "<p>Seconds per run without the cache: the median, and the range if there were several runs. The stages \
                overlap in time.</p>";
    format!("<h3>Time to index</h3>{note}{}", table("Time to index", &head, &rows))
}
