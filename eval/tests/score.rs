//! What answers are worth: places that were worked out by hand.

use std::collections::BTreeMap;

use chunkmill_eval::record::{Answer, ChunkPlace};
use chunkmill_eval::report::EvidenceCounts;
use chunkmill_eval::score::{Chunks, Judge, ScoringOptions, score};
use chunkmill_eval::sweep::Labelled;
use tempfile::TempDir;

use crate::common::folder;

/// Ten characters of evidence, of which two have two bytes, in a text of ASCII around them.
const TEXT: &str = "0123456789 grün-blöd \n0123456789 abcdefghij 0123456789\n";

fn set() -> TempDir {
    let line = |id: &str, references: &str| format!(r#"{{"query_id":"{id}","query":"?","references":[{references}]}}"#);
    let at = |text: &str| {
        let start = TEXT.find(text).unwrap();
        format!(r#"{{"doc_id":"a.md","start":{start},"end":{},"text":"{text}"}}"#, start + text.len())
    };
    let queries = [
        line("text", &at("grün-blöd")),
        line("two", &format!("{},{}", at("grün-blöd"), at("abcdefghij"))),
        line("whole", r#"{"doc_id":"b.md"}"#),
        line("gone", r#"{"doc_id":"a.md","start":0,"end":4,"text":"gone"}"#),
    ];
    folder(&[("corpus/a.md", TEXT), ("corpus/b.md", "another"), ("queries.jsonl", &queries.join("\n"))])
}

/// Chunks of `a.md` by bytes and tokens, and the only one of `b.md` last.
fn places(of_a: &[(usize, usize, usize)]) -> Vec<ChunkPlace> {
    let of_a = of_a.iter().map(|&(start, end, tokens)| ChunkPlace { doc: 1, start, end, tokens });
    of_a.chain([ChunkPlace { doc: 0, start: 0, end: 7, tokens: 1 }]).collect()
}

struct Outcome {
    values: BTreeMap<String, Vec<Option<f64>>>,
    evidence: EvidenceCounts,
    omega: Vec<Option<f64>>,
}

/// Scores answers that all questions get alike.
fn outcome(places: &[ChunkPlace], rows: &[usize], documents: &[usize], k: usize) -> Outcome {
    let set = set();
    let labelled = Labelled::read(set.path()).unwrap();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked).unwrap();
    assert_eq!(Vec::from_iter(judge.queries()), [0, 1, 2], "the last question's evidence is gone");
    let chunks = Chunks::new(&judge, &["b.md".to_owned(), "a.md".to_owned()], places);
    let answer = Answer { rows: rows.to_vec(), scores: vec![0.0; rows.len()], documents: documents.to_vec() };
    let options = ScoringOptions { budgets: vec![10, 25], ..ScoringOptions::default() };
    let (values, evidence) = score(&judge, &chunks, &vec![answer; 4], k, &options);
    Outcome { values, evidence, omega: chunks.precision_omega(&judge, &options) }
}

fn close(value: Option<f64>, expected: f64) {
    assert!((value.unwrap() - expected).abs() < 1e-12, "{value:?} is not {expected}");
}

#[test]
fn text_is_measured_in_characters() {
    // Bytes 0..23 are 21 characters, of which 9 are evidence.
    let Outcome { values, evidence, omega } = outcome(&places(&[(0, 23, 20), (23, 57, 30)]), &[0, 1, 2], &[1, 0], 1);
    close(values["span_recall"][0], 1.0);
    close(values["span_precision"][0], 9.0 / 21.0);
    close(values["span_iou"][0], 9.0 / 21.0);
    close(omega[0], 9.0 / 21.0);
    close(values["span_recall"][1], 9.0 / 19.0);
    close(values["span_precision"][1], 9.0 / 21.0);
    assert_eq!(values["span_recall"][2], None, "a document judged as a whole has no text to find");
    close(values["recall_at_k"][1], 0.5);
    close(values["hit_at_k"][1], 1.0);
    close(values["mrr_at_10"][1], 1.0);
    close(values["retrieved_tokens"][0], 20.0);
    assert_eq!(evidence, EvidenceCounts { whole: 2, split: 0, missed: 1, unreachable: 0 });
}

#[test]
fn documents_are_ranked_by_their_best_chunks() {
    let values = outcome(&places(&[(0, 57, 20)]), &[0, 1], &[1, 0], 5).values;
    close(values["doc_mrr_at_10"][0], 1.0);
    close(values["doc_mrr_at_10"][2], 0.5);
    close(values["doc_recall_at_100"][2], 1.0);
    close(values["doc_ndcg_at_10"][2], 1.0 / 3_f64.log2());
}

#[test]
fn evidence_that_two_chunks_share_is_split_and_found_at_the_second() {
    let places = places(&[(0, 15, 10), (15, 57, 10)]);
    let Outcome { values, evidence, .. } = outcome(&places, &[0, 2, 1], &[1, 0], 3);
    close(values["recall_at_k"][0], 1.0);
    close(values["mrr_at_10"][0], 1.0 / 3.0);
    assert_eq!(evidence, EvidenceCounts { whole: 1, split: 2, missed: 0, unreachable: 0 });
}

#[test]
fn a_budget_cuts_what_no_longer_fits() {
    // The first 10 of 20 tokens are taken to be half of the text: characters 0..10, without evidence. Five tokens
    // of the second chunk are its first 5 of 30 characters.
    let values = outcome(&places(&[(0, 23, 20), (23, 57, 30)]), &[0, 1], &[1, 0], 5).values;
    close(values["recall_in_10_tokens"][0], 0.0);
    close(values["recall_in_25_tokens"][0], 1.0);
    close(values["recall_in_25_tokens"][1], 9.0 / 19.0);
}

#[test]
fn what_no_chunk_holds_is_unreachable() {
    let Outcome { evidence, .. } = outcome(&places(&[(0, 15, 10)]), &[0, 1], &[1, 0], 5);
    assert_eq!(evidence, EvidenceCounts { whole: 0, split: 0, missed: 0, unreachable: 3 });
}

#[test]
fn tokens_of_whole_documents_are_those_of_the_documents_that_were_retrieved() {
    let all = outcome(&places(&[(0, 23, 20), (23, 57, 30)]), &[0, 1, 2], &[1, 0], 3).values;
    let one = outcome(&places(&[(0, 23, 20), (23, 57, 30)]), &[0, 1, 2], &[1, 0], 1).values;
    let count = |text: &str| chunkmill::tokens::TokenCounter::count(chunkmill::tokens::cl100k(), text).unwrap() as f64;
    close(one["whole_document_tokens"][0], count(TEXT));
    close(all["whole_document_tokens"][0], count(TEXT) + count("another"));
}
