//! Rows as lines of JSON: the bytes are those of `serde_json`, whatever the row contains.

use std::sync::Arc;

use chunkmill::chunk::Spec;
use chunkmill::dataset::{ChunkLines, ChunkRow, DocumentRow, HeadingRow, ImageRow, LinkRow, Time};
use proptest::prelude::*;

use crate::common::cut;

/// Returns the rows of a small document, with a link, an image, tags and metadata.
fn rows() -> (DocumentRow, Vec<ChunkRow>) {
    let text =
        "---\ntags: [a, b]\naliases: [other]\nowner: me\n---\n\n# Top\n\n[there](x.md)\n\n## Low\n\n![seen](y.png)\n";
    let cut = cut("heading-tokens", text);
    let document = DocumentRow::new(&cut.document, cut.chunks.len());
    let row = |chunk| ChunkRow::new(&cut.document, chunk, &Spec::default(), &document, 0);
    let rows = cut.chunks.iter().cloned().map(row).collect();
    (document, rows)
}

fn same_as_serde_json(document: &DocumentRow, row: &ChunkRow) {
    let mut line = b"before".to_vec();
    ChunkLines::new(document).push(row, &mut line);
    assert_eq!(String::from_utf8(line).unwrap(), format!("before{}\n", serde_json::to_string(row).unwrap()));
}

#[test]
fn lines_are_those_of_serde_json() {
    let (document, rows) = rows();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| !row.headings.is_empty()));
    assert!(!rows[0].links.is_empty() && !rows[1].images.is_empty() && rows[0].tags.len() == 2);
    rows.iter().for_each(|row| same_as_serde_json(&document, row));
}

#[test]
fn every_character_is_escaped_as_serde_json_does_wherever_it_stands() {
    let (document, mut rows) = rows();
    let row = &mut rows[0];
    for c in (0..=0x17F).chain([0x2028, 0x2029, 0xFEFF, 0xFFFF, 0x1F600]).filter_map(char::from_u32) {
        // Texts are read in words of eight bytes.
        row.content = (0..18).map(|at| format!("{}{c}{c}{}", "x".repeat(at), "y".repeat(17 - at))).collect();
        same_as_serde_json(&document, row);
    }
}

/// Generates texts with many characters that must be escaped, and many that only look like it.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => "[\u{0}-\u{3}\u{8}-\u{d}\u{1f} !\"\\\\/\u{7f}\u{80}\u{a2}é𐍈]{0,20}",
        2 => any::<String>(),
        2 => "[a-z]{0,40}",
    ];
    proptest::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(hostile(), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hostile_rows_are_those_of_serde_json(
        names in proptest::array::uniform8(hostile()),
        [headings, tags, aliases, targets] in proptest::array::uniform4(texts()),
        numbers in proptest::array::uniform8(any::<i64>()),
        known in proptest::option::of((any::<i64>(), any::<bool>(), hostile())),
        modified in proptest::option::of(any::<i64>()),
    ) {
        let (mut document, mut rows) = rows();
        let row = &mut rows[0];
        let [id, collection, path, metadata, chunk_id, header_path, content, hash] = names;
        (document.doc_id, document.collection, document.path) = (id.into(), collection.into(), path.into());
        (document.tags, document.aliases, document.metadata) = (tags.into(), aliases.into(), metadata.into());
        document.promotion_level = known.as_ref().map(|(_, _, text)| text.as_str().into());
        document.modified_time = modified.map(Time::from_micros);
        row.doc_id = Arc::clone(&document.doc_id);
        row.collection = Arc::clone(&document.collection);
        row.path = Arc::clone(&document.path);
        row.tags = Arc::clone(&document.tags);
        row.aliases = Arc::clone(&document.aliases);
        row.metadata = Arc::clone(&document.metadata);
        row.promotion_level.clone_from(&document.promotion_level);
        row.modified_time = document.modified_time;
        (row.chunk_id, row.header_path, row.content, row.content_hash) = (chunk_id, header_path.into(), content, hash);
        row.headings =
            headings.iter().zip(numbers).map(|(title, level)| HeadingRow { level, title: title.clone() }).collect();
        row.heading_path = headings.into();
        row.links = targets.iter().zip(row.heading_path.iter()).map(|(target, text)| LinkRow {
            kind: "wikilink",
            target: target.clone(),
            url: known.as_ref().map(|(_, _, url)| url.clone()),
            text: text.clone(),
        }).collect();
        row.images = targets.into_iter().map(|target| ImageRow { alt: target.clone(), url: None, target }).collect();
        row.flags = known.iter().flat_map(|_| ["one", "two"]).collect();
        [row.chunk_index, row.section_index, row.n_in_section, row.start_byte, ..] = numbers;
        [.., row.end_byte, row.start_line, row.n_chars, row.n_tokens] = numbers;
        row.sub_index = known.as_ref().map(|(number, ..)| *number);
        row.n_model_tokens = row.sub_index;
        row.truncated = known.as_ref().map(|(_, yes, _)| *yes);
        row.normalized_content = known.map(|(_, _, text)| text);
        same_as_serde_json(&document, row);
    }
}
