//! Scores of answers, compared with values computed by hand.

use std::collections::BTreeMap;

use chunkmill_eval::data::record::{Answer, ChunkPlace, ContextPlaces};
use chunkmill_eval::data::report::{ChanceRecord, EvidenceCounts};
use chunkmill_eval::run::sweep::Labelled;
use chunkmill_eval::score::chance::judged;
use chunkmill_eval::score::judge::{Chunks, Judge, ScoringOptions, score};
use tempfile::TempDir;

use crate::common::folder;

/// Nine characters of evidence, two of which take two bytes, surrounded by ASCII text.
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

/// Returns chunks of `a.md` by bytes and tokens, followed by the only chunk of `b.md`.
fn places(of_a: &[(usize, usize, usize)]) -> Vec<ChunkPlace> {
    let of_a = of_a.iter().map(|&(start, end, tokens)| ChunkPlace { doc: 1, start, end, tokens });
    of_a.chain([ChunkPlace { doc: 0, start: 0, end: 7, tokens: 1 }]).collect()
}

/// Documents, each with ranges of its bytes.
type Passages = Vec<(usize, Vec<[usize; 2]>)>;

struct Outcome {
    values: BTreeMap<String, Vec<Option<f64>>>,
    evidence: EvidenceCounts,
    omega: Vec<Option<f64>>,
}

/// Scores answers that are the same for all questions.
fn outcome(places: &[ChunkPlace], rows: &[usize], documents: &[usize], k: usize) -> Outcome {
    handed_over(places, rows, documents, k, &[])
}

/// Does the same with contexts of 10 and 25 tokens.
fn handed_over(places: &[ChunkPlace], rows: &[usize], documents: &[usize], k: usize, contexts: &[Passages]) -> Outcome {
    let set = set();
    let labelled = Labelled::read(set.path()).unwrap();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, true).unwrap();
    assert_eq!(Vec::from_iter(judge.queries()), [0, 1, 2], "the last question's evidence is gone");
    let chunks = Chunks::new(&judge, &["b.md".to_owned(), "a.md".to_owned()], places);
    let contexts = contexts.iter().map(|passages| ContextPlaces { tokens: 9, passages: passages.clone() }).collect();
    let (rows, documents) = (rows.to_vec(), documents.to_vec());
    let answer = Answer { scores: vec![0.0; rows.len()], rows, documents, contexts, ..Answer::default() };
    let options = ScoringOptions { budgets: vec![10, 25], ..ScoringOptions::default() };
    let (values, evidence) = score(&judge, &chunks, &vec![answer; 4], k, &options);
    Outcome { values, evidence, omega: chunks.precision_omega(&judge, &options) }
}

fn close(value: Option<f64>, expected: f64) {
    assert!((value.unwrap() - expected).abs() < 1e-12, "{value:?} is not {expected}");
}

#[test]
fn text_is_measured_in_characters() {
    // Bytes 0..23 are 21 characters, 9 of them evidence.
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
    // The first 10 of 20 tokens count as half of the text: characters 0..10, which contain no evidence. Five tokens
    // of the second chunk count as its first 5 of 30 characters.
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

#[test]
fn a_context_is_scored_by_the_evidence_that_is_in_it() {
    // The first context has four of 9 characters, "grün". The second has everything except "j", in two passages.
    let place = |from: &str, to: &str| [TEXT.find(from).unwrap(), TEXT.find(to).unwrap()];
    let contexts = [
        vec![(1, vec![place("789 g", "-bl")]), (0, vec![[0, 7]])],
        vec![(1, vec![place("789 g", "öd"), place("öd", " \n012")]), (1, vec![place(" abc", "j 0")])],
    ];
    let values = handed_over(&places(&[(0, 57, 20)]), &[], &[], 3, &contexts).values;
    close(values["evidence_in_context_10"][0], 4.0 / 9.0);
    close(values["evidence_in_context_10"][1], 4.0 / 19.0);
    close(values["evidence_in_context_25"][0], 1.0);
    close(values["evidence_in_context_25"][1], 18.0 / 19.0);
    assert_eq!(values["evidence_in_context_25"][2], None, "a document judged as a whole has no text");
    let all = |name: &str| values[name][..2].iter().map(|value| value.unwrap()).collect::<Vec<_>>();
    assert_eq!(
        (all("all_evidence_in_context_10"), all("all_evidence_in_context_25")),
        (vec![0.0, 0.0], vec![1.0, 0.0])
    );
}

/// Scores one question over documents, given by name and text. Each document is one chunk.
fn of_one_question(documents: &[(&str, &str)], references: &str, duplicates: bool, found: &[&str]) -> Outcome {
    let line = format!(r#"{{"query_id":"q","query":"?","references":[{references}]}}"#);
    let files: Vec<(String, &str)> = documents.iter().map(|(name, text)| (format!("corpus/{name}"), *text)).collect();
    let mut files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    files.push(("queries.jsonl", &line));
    let set = folder(&files);
    let labelled = Labelled::read(set.path()).unwrap();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, duplicates).unwrap();
    let names: Vec<String> = documents.iter().map(|(name, _)| (*name).to_owned()).collect();
    let whole = |(doc, (_, text)): (usize, &(&str, &str))| ChunkPlace { doc, start: 0, end: text.len(), tokens: 5 };
    let places: Vec<ChunkPlace> = documents.iter().enumerate().map(whole).collect();
    let chunks = Chunks::new(&judge, &names, &places);
    let rows: Vec<usize> = found.iter().map(|name| names.iter().position(|known| known == name).unwrap()).collect();
    let contexts = vec![ContextPlaces {
        tokens: 9,
        passages: rows.iter().map(|&row| (row, vec![[0, places[row].end]])).collect(),
    }];
    let scores = vec![0.0; rows.len()];
    let answer = Answer { scores, documents: rows.clone(), rows, contexts, ..Answer::default() };
    let options = ScoringOptions { budgets: vec![10], duplicates, ..ScoringOptions::default() };
    let (values, evidence) = score(&judge, &chunks, &[answer], 5, &options);
    Outcome { values, evidence, omega: chunks.precision_omega(&judge, &options) }
}

#[test]
fn one_alternative_is_enough_and_all_of_its_places_are_needed() {
    let documents = [("a.md", "yes"), ("b.md", "also"), ("c.md", "both"), ("d.md", "no")];
    let references = r#"{"any":[{"doc_id":"a.md","start":0,"end":3,"text":"yes"},
        {"all":[{"doc_id":"b.md","start":0,"end":4,"text":"also"},{"doc_id":"c.md","start":0,"end":4,"text":"both"}]}]}"#
        .replace('\n', "");
    let share = |found: &[&str]| {
        let Outcome { values, evidence, .. } = of_one_question(&documents, &references, false, found);
        let value = |name: &str| values[name][0].unwrap();
        assert_eq!(value("evidence_in_context_10"), value("span_recall"));
        assert_eq!(value("recall_at_k") == 1.0, evidence.whole + evidence.split == 1);
        (value("span_recall"), value("recall_at_k"), value("mrr_at_10"), value("doc_mrr_at_10"))
    };
    assert_eq!(share(&["a.md"]), (1.0, 1.0, 1.0, 1.0));
    assert_eq!(share(&["d.md", "a.md", "b.md"]), (1.0, 1.0, 0.5, 0.5));
    // One of two places is half of that alternative, which is more than nothing of the other one.
    assert_eq!(share(&["b.md"]), (0.5, 0.0, 0.0, 1.0));
    assert_eq!(share(&["b.md", "d.md", "c.md"]), (1.0, 1.0, 1.0 / 3.0, 1.0));
    assert_eq!(share(&["d.md"]), (0.0, 0.0, 0.0, 0.0));
}

#[test]
fn evidence_that_stands_twice_is_found_in_either_place_if_it_is_long_enough_to_be_the_same() {
    let long = "Backups are kept for thirty days, after which they are removed for good.";
    let short = "Thirty days.";
    for (text, found) in [(long, 1.0), (short, 0.0)] {
        let (a, b) = (format!("# Here\n\n{text}\n"), format!("# There\n\n{text} And more.\n"));
        let documents = [("a.md", a.as_str()), ("b.md", b.as_str())];
        let start = a.find(text).unwrap();
        let references = format!(r#"{{"doc_id":"a.md","start":{start},"end":{},"text":"{text}"}}"#, start + text.len());
        let values = |duplicates| of_one_question(&documents, &references, duplicates, &["b.md"]).values;
        close(values(true)["evidence_in_context_10"][0], found);
        close(values(true)["doc_recall_at_10"][0], found);
        close(values(false)["evidence_in_context_10"][0], 0.0);
    }
}

#[test]
fn questions_whose_evidence_begins_near_each_other_are_one_cluster() {
    let text = format!("{}\n", "word ".repeat(10_000));
    let at = |id: &str, doc: &str, start: usize| {
        format!(
            r#"{{"query_id":"{id}","query":"?","references":[{{"doc_id":"{doc}","start":{start},"end":{},"text":"word"}}]}}"#,
            start + 4
        )
    };
    let lines = [
        at("1", "a.md", 0),
        at("2", "a.md", 19_995),
        at("3", "a.md", 20_000),
        at("4", "b.md", 5),
        at("5", "a.md", 100),
    ];
    let set = folder(&[("corpus/a.md", &text), ("corpus/b.md", &text), ("queries.jsonl", &lines.join("\n"))]);
    let labelled = Labelled::read(set.path()).unwrap();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, true).unwrap();
    assert_eq!(judge.clusters(), [0, 0, 1, 2, 0]);
}

/// Hanley & McNeil's area under the curve is the mean over the questions without an answer.
#[test]
fn questions_without_an_answer_are_told_apart_by_the_best_score() {
    let line = |id: &str| format!(r#"{{"query_id":"{id}","query":"?","references":[{{"doc_id":"a.md"}}]}}"#);
    let none = |id: &str| format!(r#"{{"query_id":"{id}","query":"?","unanswered":true}}"#);
    let gone = r#"{"query_id":"g","query":"?","references":[{"doc_id":"gone.md"}]}"#.to_owned();
    // They need not be last in the set.
    let queries = [none("u"), line("a"), line("b"), gone, none("v"), line("c")];
    let set = folder(&[("corpus/a.md", TEXT), ("queries.jsonl", &queries.join("\n"))]);
    let labelled = Labelled::read(set.path()).unwrap();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, true).unwrap();
    assert_eq!(Vec::from_iter(judge.queries()), [1, 2, 5]);
    assert_eq!(judge.unanswered(), [0, 4]);
    let chunks = Chunks::new(&judge, &["a.md".to_owned()], &[ChunkPlace { doc: 0, start: 0, end: 20, tokens: 5 }]);
    let answer = |scores: &[f32]| Answer {
        rows: vec![0; scores.len()],
        scores: scores.to_vec(),
        documents: vec![0],
        ..Answer::default()
    };
    // The fourth question's evidence is gone, so its score counts for nothing.
    let answers = [&[0.5, 0.4][..], &[0.9], &[0.5], &[7.0], &[], &[0.7]].map(answer);
    let (values, _) = score(&judge, &chunks, &answers, 5, &ScoringOptions::default());
    let told = &values["no_answer_told_apart"];
    assert_eq!(told[..3], [None, None, None]);
    close(told[3], 2.5 / 3.0);
    close(told[4], 1.0);
    for (name, column) in values.iter().filter(|(name, _)| *name != "no_answer_told_apart") {
        assert_eq!((column.len(), &column[3..]), (5, &[None, None][..]), "{name}");
    }
    // Without questions of this kind there is no such metric.
    let set = folder(&[("corpus/a.md", TEXT), ("queries.jsonl", &line("a"))]);
    let labelled = Labelled::read(set.path()).unwrap();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, true).unwrap();
    assert!(
        !score(&judge, &chunks, &[answer(&[0.5])], 5, &ScoringOptions::default())
            .0
            .contains_key("no_answer_told_apart")
    );
    // It compares questions, so it cannot choose a setting.
    let options = ScoringOptions { primary: Some("no_answer_told_apart".to_owned()), ..ScoringOptions::default() };
    assert!(options.check("sweep.toml").is_err());
}

/// A set of three questions about two documents and one without an answer, and its judge and chunks: one per document.
fn of_chances() -> (Judge, Chunks) {
    let line = |id: &str, doc: &str, text: &str| {
        let end = text.len();
        format!(
            r#"{{"query_id":"{id}","query":"?","references":[{{"doc_id":"{doc}","start":0,"end":{end},"text":"{text}"}}]}}"#
        )
    };
    let none = r#"{"query_id":"u","query":"?","unanswered":true}"#.to_owned();
    let queries = [line("a", "a.md", "first"), none, line("b", "b.md", "second"), line("c", "a.md", "first")];
    let files = [("corpus/a.md", "first"), ("corpus/b.md", "second"), ("queries.jsonl", &queries.join("\n"))];
    let set = folder(&files);
    let labelled = Labelled::read(set.path()).unwrap();
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, true).unwrap();
    assert_eq!(judge.sources(4), [vec!["a.md"], vec![], vec!["b.md"], vec!["a.md"]]);
    let places = [5, 6].into_iter().enumerate().map(|(doc, end)| ChunkPlace { doc, start: 0, end, tokens: 1 });
    let chunks = Chunks::new(&judge, &["a.md".to_owned(), "b.md".to_owned()], &places.collect::<Vec<_>>());
    (judge, chunks)
}

/// An answer with both chunks, `a.md` first, their chances, and those of the best chunks without the right document.
fn with_chances(chances: &[f32], without: &[f32]) -> Answer {
    let (chances, chances_without) = (chances.to_vec(), without.to_vec());
    Answer { rows: vec![0, 1], scores: vec![1.0, 2.0], chances, chances_without, ..Answer::default() }
}

#[test]
fn chances_are_compared_with_what_was_found_and_with_questions_that_have_no_answer() {
    let (judge, chunks) = of_chances();
    let answers = [
        with_chances(&[0.75, 0.15], &[0.15]),
        with_chances(&[0.004, 0.03], &[]),
        with_chances(&[0.5, 0.15], &[0.5]),
        with_chances(&[0.25, 0.004], &[0.015]),
    ];
    let ChanceRecord { reliability, risk, area } = judged(&judge, &chunks, &answers).unwrap();
    let bins: Vec<(f64, usize, usize)> = reliability
        .iter()
        .map(|bin| (bin.from, bin.chunks, (bin.found * bin.chunks as f64).round() as usize))
        .collect();
    assert_eq!(bins, [(0.0, 2, 0), (0.01, 1, 0), (0.02, 1, 0), (0.1, 3, 1), (0.2, 1, 1), (0.4, 2, 0), (0.6, 1, 1)]);
    assert_eq!(bins.iter().map(|bin| bin.1).sum::<usize>(), 11);
    assert!((reliability[3].said - 0.15).abs() < 1e-6);
    let at = |least: f64| risk.iter().find(|point| point.least == least).map(|point| (point.answered, point.mistaken));
    assert_eq!(at(0.005), Some((1.0, 1.0)));
    assert_eq!(at(0.02), Some((1.0, 0.75)));
    assert_eq!(at(0.1), Some((1.0, 0.5)));
    assert_eq!(at(0.4), Some((2.0 / 3.0, 0.25)));
    // In order: .75 with; .5 with and .5 without together; .25 with; .15, .03, .015 without.
    let expected = (0.0 + 2.0 / 3.0 + 1.0 / 4.0 + 2.0 / 5.0 + 3.0 / 6.0 + 4.0 / 7.0) / 7.0;
    assert!((area - expected).abs() < 1e-12, "{area} and not {expected}");

    let (values, _) = score(&judge, &chunks, &answers, 5, &ScoringOptions::default());
    // The share of .75, .5 and .25 above .15, .5 and .015.
    close(values["left_out_told_apart"][0], 1.0);
    close(values["left_out_told_apart"][1], 0.5);
    close(values["left_out_told_apart"][2], 1.0);
    assert_eq!(values["left_out_told_apart"][3], None);
    // The chance decides, not the score, which is the same for all.
    close(values["no_answer_told_apart"][3], 1.0);
    let options = ScoringOptions { primary: Some("left_out_told_apart".to_owned()), ..ScoringOptions::default() };
    assert!(options.check("sweep.toml").is_err());

    // A search that knows no chances has no record, and its questions are told apart by their scores.
    let unknown = answers.map(|answer| Answer { chances: Vec::new(), chances_without: Vec::new(), ..answer });
    assert_eq!(judged(&judge, &chunks, &unknown), None);
    let (values, _) = score(&judge, &chunks, &unknown, 5, &ScoringOptions::default());
    assert_eq!(values["left_out_told_apart"], [None; 4]);
    close(values["no_answer_told_apart"][3], 0.5);
}
