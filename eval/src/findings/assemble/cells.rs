//! A cell without its values: its settings and its costs.

use std::collections::BTreeMap;

use chunkmill::config::{EmbeddingOptions, NO_MODEL, Options, SearchOptions};
use chunkmill::search::{Mode, StoredAs};

use crate::data::record::Record;
use crate::data::report::{Cell, CellReranker, Cost, EvidenceCounts, Percentiles};
use crate::run::sweep::{Run, RunCell};
use crate::run::worker::Way;

/// Describes a cell and its costs, without its values.
pub(super) fn describe(run: &Run, cell: &RunCell, record: &Record) -> Cell {
    let dataset = &record.dataset;
    let found = &record.variants[cell.variant];
    // Keyword search alone does not embed questions.
    let with_embedding = |(at, ms): (usize, &f64)| {
        let embedding = if found.mode == "keyword" { None } else { record.embed_ms.get(at) };
        ms + embedding.unwrap_or(&0.0)
    };
    Cell {
        outcomes: String::new(),
        id: cell.id.clone(),
        build: record.build.clone(),
        spec: dataset.spec.clone(),
        spec_text: dataset.spec_text.clone(),
        model: dataset.model.clone(),
        engine: dataset.engine.clone(),
        retrieval: found.mode.clone(),
        reranker: reranker(run, cell),
        k: cell.k,
        halves: halves(run, cell),
        snapshot: dataset.snapshot.clone(),
        chunks: dataset.chunks,
        metrics: BTreeMap::new(),
        values: BTreeMap::new(),
        evidence: EvidenceCounts::default(),
        chance: None,
        cost: Cost {
            documents: dataset.documents,
            quarantined: dataset.quarantined,
            tokens: dataset.tokens,
            bytes: dataset.bytes,
            vector_bytes: vector_bytes(run, cell, record),
            truncated: dataset.truncated,
            texts: dataset.texts,
            texts_reused: dataset.texts_reused,
            index: record.index.clone(),
            peak_rss: record.peak_rss.clone(),
            query_ms: Percentiles::of(found.search_ms.iter().enumerate().map(with_embedding).collect()),
            search_ms: Percentiles::of(found.search_ms.clone()),
        },
        p_best: None,
        comparison: None,
        pareto: Vec::new(),
        toml: toml_of(run, cell, record),
    }
}

/// Returns the bytes of the vectors as stored for a cell.
fn vector_bytes(run: &Run, cell: &RunCell, record: &Record) -> u64 {
    let stored_as = run.builds[cell.build].variants[cell.variant].stored_as.parse::<StoredAs>().unwrap_or_default();
    let dataset = &record.dataset;
    if stored_as == StoredAs::default() {
        dataset.vector_bytes
    } else {
        dataset.chunks.saturating_mul(stored_as.bytes(dataset.dim) as u64)
    }
}

/// Returns the reranker of a cell, with the cell that only lacks it.
fn reranker(run: &Run, cell: &RunCell) -> Option<CellReranker> {
    let way = |cell: &RunCell| run.builds[cell.build].variants[cell.variant].clone();
    let model = way(cell).options.rerank.filter(|name| name != NO_MODEL)?;
    let plain = |cell: &RunCell| {
        let Way { options, stored_as, .. } = way(cell);
        let none = SearchOptions { rerank: None, rerank_depth: None, rerank_weight: None, rerank_ms: None, ..options };
        (cell.build, cell.k, none, stored_as)
    };
    let lacks =
        |other: &&RunCell| way(other).options.rerank.is_none_or(|name| name == NO_MODEL) && plain(other) == plain(cell);
    Some(CellReranker { model, without: run.cells.iter().find(lacks).map(|other| other.id.clone()) })
}

/// Returns the ids of the vector and keyword cells that a fused cell is made of.
fn halves(run: &Run, cell: &RunCell) -> Vec<String> {
    let way = |cell: &RunCell| run.builds[cell.build].variants[cell.variant].clone();
    let search = |cell: &RunCell| way(cell).options;
    let fields = |o: &SearchOptions| (o.content_weight, o.headings_weight, o.tags_weight, o.aliases_weight);
    let own = search(cell);
    if !matches!(own.mode, Some(Mode::Hybrid | Mode::Graph)) {
        return Vec::new();
    }
    let is_half = |other: &&RunCell| {
        let search = search(other);
        (other.build, other.k) == (cell.build, cell.k)
            && match search.mode {
                Some(Mode::Vector) => way(other).stored_as == way(cell).stored_as,
                Some(Mode::Keyword) => fields(&search) == fields(&own),
                _ => false,
            }
    };
    run.cells.iter().filter(is_half).map(|half| half.id.clone()).collect()
}

/// Returns the settings of a cell as a `chunkmill.toml`.
fn toml_of(run: &Run, cell: &RunCell, record: &Record) -> String {
    let build = &run.builds[cell.build];
    let chunking = serde_json::from_value(serde_json::Value::Object(record.dataset.spec.clone())).unwrap_or_default();
    let Options { corpus, embedding, output, .. } = build.options.clone();
    // Settings that do not affect results depend on the machine, so they are left out.
    let embedding = EmbeddingOptions {
        device: None,
        cpu_isa: None,
        batch_tokens: None,
        embedding_cache: None,
        embedding_cache_size: None,
        ..embedding
    };
    let Way { options: search, stored_as, .. } = build.variants[cell.variant].clone();
    let options = Options { corpus, chunking, embedding, output, search, ..Options::default() };
    let text = toml::to_string(&options).unwrap_or_default();
    // Empty tables are left out.
    let mut tables: Vec<&str> = text.split("\n\n").collect();
    tables.retain(|table| table.trim().lines().count() > 1);
    let text = format!("{}\n", tables.join("\n\n").trim());
    // A dataset keeps its vectors in full precision; a store that keeps them in another form has its own settings
    // for that.
    let default = StoredAs::default().to_string();
    if stored_as == default { text } else { format!("# for a store that keeps vectors as {stored_as}\n{text}") }
}
