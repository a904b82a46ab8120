//! A real corpus: 3,112 files, 33 MB of Markdown with front matter, byte order marks and CRLF.

use chunkmill::chunk::{Boundary, Chunk, Preset, Strategy, chunk};
use chunkmill::document::{BlockKind, Document, trim};
use chunkmill::hub::sha256;
use chunkmill::tokens::{TokenCounter, Unit, cl100k};
use rayon::prelude::*;

use crate::chunk::properties::preset_in;
use crate::common::{documents, json_lines, note, powershell, run, sizer};
use crate::promises::check;

/// SHA-256 of the lines `path TAB tokens LF` in order of path, as Python's tiktoken counts them; see
/// `golden/count.py`.
const PYTHON_TIKTOKEN: &str = "c971d2a22267ba39115ee101ea53606d6bb0a1a3652f9f9d8477708314547c20";

#[test]
fn every_preset_in_every_unit_keeps_every_promise() {
    let Some(root) = powershell() else { return };
    let documents = documents(root);
    assert_eq!(documents.len(), 3112);
    for preset in Preset::ALL {
        for unit in Unit::ALL {
            let spec = preset_in(preset, unit);
            let chunks: usize = documents
                .par_iter()
                .map(|document: &Document| {
                    let chunks = chunk(document, &spec, sizer(&spec)).unwrap();
                    check(document, &spec, &chunks, false);
                    chunks.len()
                })
                .sum();
            note(&format!("{spec}: {chunks} chunks of {} documents", documents.len()));
        }
    }
}

/// Returns whether a cut at this byte is inside a code block, a table or a list item.
fn cuts_a_block(document: &Document, at: usize) -> bool {
    let before = document.blocks.partition_point(|block| block.range.start < at);
    let top = document.top_level_block_before(before);
    top.is_some_and(|top| {
        document.blocks[top..before].iter().any(|block| {
            matches!(block.kind, BlockKind::Code | BlockKind::Table | BlockKind::ListItem)
                && at < trim(&document.text, block.range.clone()).end
        })
    })
}

#[test]
fn fences_tables_and_list_items_are_never_cut_without_a_flag() {
    let Some(root) = powershell() else { return };
    let documents = documents(root);
    for strategy in [Strategy::Header, Strategy::Section, Strategy::Semantic, Strategy::CodeAware, Strategy::Lines] {
        let tight = format!("{strategy} unit=tokens min=20 target=150 max=200 overlap=20").parse().unwrap();
        for spec in [strategy.preset().spec(), tight] {
            let counts = documents.par_iter().map(|document| {
                let chunks = chunk(document, &spec, sizer(&spec)).unwrap();
                let flagged = |chunk: &Chunk| chunk.flags.iter().any(|flag| flag.starts_with("oversized_"));
                let cut = |chunk: &&Chunk| {
                    cuts_a_block(document, chunk.range.start) || cuts_a_block(document, chunk.range.end)
                };
                let cuts = chunks.iter().filter(cut);
                let unflagged = cuts.clone().filter(|chunk| !flagged(chunk)).inspect(|chunk| {
                    note(&format!("{}: {}", chunk.id, &chunk.content(document)));
                });
                [chunks.len(), cuts.clone().count(), unflagged.count(), chunks.iter().filter(|c| flagged(c)).count()]
            });
            let [chunks, cut, unflagged, flagged] =
                counts.reduce(|| [0; 4], |a, b| std::array::from_fn(|i| a[i] + b[i]));
            note(&format!("{spec}: {chunks} chunks, {flagged} flagged, {cut} cut inside, {unflagged} without a flag"));
            assert_eq!(unflagged, 0, "{spec}");
        }
    }
}

#[test]
fn seed_2s_criteria_hold() {
    let Some(root) = powershell() else { return };
    let spec = Preset::Sections.spec();
    let documents = documents(root);
    let totals = documents.par_iter().map(|document| {
        let chunks = chunk(document, &spec, sizer(&spec)).unwrap();
        let level = |chunk: &Chunk| document.sections[document.section_at(chunk.range.start).unwrap()].level;
        let chars = |chunk: &Chunk| document.text[chunk.range.clone()].chars().count();
        let over = |chunk: &&Chunk| chunk.content(document).chars().count() > spec.max();
        let over_unflagged = chunks.iter().filter(over).filter(|chunk| chunk.flags.is_empty()).count();
        // A small section whose level lets it take the next one has done that.
        let unmerged = chunks.windows(2).filter(|pair| {
            let sections = pair[0].sub_index.is_none() && pair[1].sub_index.unwrap_or(0) == 0;
            sections && chars(&pair[0]) < spec.min() && level(&pair[0]) >= level(&pair[1])
        });
        let sentence = |chunk: &&Chunk| matches!(chunk.boundary, Boundary::Sentence);
        // Only a paragraph that is over the maximum on its own is cut between sentences.
        let avoidable = chunks.iter().filter(sentence).filter(|chunk| {
            let before = document.blocks.partition_point(|block| block.range.start < chunk.range.start);
            let size = |block: &chunkmill::document::Block| document.text[block.range.clone()].chars().count();
            size(&document.blocks[before - 1]) <= spec.max()
        });
        [
            chunks.len(),
            chunks.iter().filter(over).count(),
            over_unflagged,
            unmerged.count(),
            chunks.iter().filter(sentence).count(),
            avoidable.count(),
        ]
    });
    let [chunks, over, over_unflagged, unmerged, sentences, avoidable] =
        totals.reduce(|| [0; 6], |a, b| std::array::from_fn(|i| a[i] + b[i]));
    note(&format!(
        "{spec}: {chunks} chunks, {over} over max ({over_unflagged} of them without a flag), \
         {unmerged} small ones left unmerged, {sentences} cuts between sentences ({avoidable} avoidable)"
    ));
    assert_eq!((over_unflagged, unmerged, avoidable), (0, 0, 0));
}

#[test]
fn token_counts_equal_those_of_pythons_tiktoken() {
    let Some(root) = powershell() else { return };
    let count =
        |document: &Document| format!("{}\t{}\n", document.origin.path, cl100k().count(&document.text).unwrap());
    let lines: String = documents(root).iter().map(count).collect();
    assert_eq!(sha256(lines.as_bytes()), PYTHON_TIKTOKEN);
}

#[test]
fn tokens_equal_those_of_tiktoken_rs() {
    let Some(root) = powershell() else { return };
    documents(root).par_iter().for_each(|document| crate::tokens::counting::expect_equal(&document.text));
}

#[test]
fn the_whole_corpus_is_chunked_and_nothing_disappears() {
    let Some(root) = powershell() else { return };
    let home = tempfile::TempDir::new().unwrap();
    let (code, out, err) = run(home.path(), &["chunk", root.to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""));
    let with_text = documents(root).into_iter().filter(|document| !document.sections.is_empty()).count();
    let ids: std::collections::BTreeSet<String> =
        json_lines(&out).iter().map(|line| line["doc_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), with_text, "every document that is not blank has a chunk");
}
