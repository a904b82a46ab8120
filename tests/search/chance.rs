//! The chance of evidence: it is what the formula says, it is there where scores are sums, and what is unlikely stays
//! out of a context and is told to the user.

use chunkmill::search::{FillRule, Filter, FoundChunk, Fusion, Mode, Packing, Query, Ranking, Searcher};

use super::ranking::{dot, open, row_of, vectors};
use crate::common::{folder, json_lines, run};
use crate::search::results::{Coarse, DIM};

/// Three documents of 55 sections, in two folders, with words that repeat.
fn searcher() -> (tempfile::TempDir, Searcher) {
    searcher_of(55)
}

/// The same with documents of so many sections.
fn searcher_of(sections: usize) -> (tempfile::TempDir, Searcher) {
    let words = ["vault", "backup", "shelf", "agent", "plan", "jar", "key"];
    let section =
        |at: usize| format!("## {} {at}\n\nThe {} has a {}.\n\n", words[at % 7], words[at % 5], words[at % 3]);
    let document = |from: usize| (from..from + sections).map(section).collect::<String>();
    let home = folder(&[
        ("docs/a/one.md", &document(0)),
        ("docs/a/two.md", &document(sections)),
        ("docs/b.md", &document(2 * sections)),
    ]);
    let searcher = open(&home, "heading-tokens");
    (home, searcher)
}

#[test]
fn a_chance_is_what_the_formula_says() {
    // The best thousand of more than a thousand set the scale.
    for sections in [55, 400] {
        let (_home, searcher) = searcher_of(sections);
        let wide: Vec<Vec<f64>> =
            vectors(searcher.dataset()).iter().map(|vector| vector.iter().map(|v| f64::from(*v)).collect()).collect();
        let pairs = |same: bool| {
            let mut products = Vec::new();
            for (a, one) in wide.iter().enumerate() {
                products.extend((0..wide.len()).filter(|b| (a == *b) == same).map(|b| dot(one, &wide[b])));
            }
            products.iter().sum::<f64>() / products.len() as f64
        };
        let (others, itself) = (pairs(false), pairs(true));
        let vector = Coarse::vector("backup of a vault");
        let in_a = Filter { paths: vec!["a".parse().unwrap()], ..Filter::default() };
        for (filter, count) in [(Filter::default(), searcher.len()), (in_a, 2 * sections)] {
            let query = Query { text: "backup of a vault", vector: Some(&vector), k: 5000, filter, ..Query::default() };
            let found = searcher.search(&query).unwrap();
            assert_eq!(found.len(), count);
            let [all, pool] = [count, count.min(1000)].map(|count| count as f64);
            let highest = (2.0 * pool.ln()).sqrt() + 2.5 * (1.0 - pool / all);
            for FoundChunk { score, parts, chance, .. } in found {
                let similarity = (parts.vector.unwrap().score - others) / (itself - others);
                let log_odds = 0.62 * (score - highest) + 6.2 * similarity - 4.1;
                let expected = 1.0 / (1.0 + (-log_odds).exp());
                let chance = chance.unwrap();
                assert!(
                    (chance - expected).abs() < 1e-4 && 0.0 < chance && chance < 1.0,
                    "{chance} and not {expected}"
                );
            }
        }
    }
}

#[test]
fn only_a_weighted_sum_of_something_has_a_chance() {
    let (_home, searcher) = searcher();
    let vector = Coarse::vector("backup");
    let chances = |mode: Mode, fusion: Fusion, vector: &[f32]| {
        let ranking = Ranking { fusion, ..Ranking::default() };
        let query = Query { mode, text: "backup", vector: Some(vector), k: 500, ranking, ..Query::default() };
        let found = searcher.search(&query).unwrap();
        assert!(!found.is_empty() || mode == Mode::Vector);
        found.iter().filter(|found| found.chance.is_some()).count()
    };
    assert_eq!(chances(Mode::Hybrid, Fusion::Linear, &vector), searcher.len());
    assert_eq!(chances(Mode::Graph, Fusion::Linear, &vector), searcher.len());
    assert_eq!(chances(Mode::Hybrid, Fusion::Rrf, &vector), 0);
    assert_eq!(chances(Mode::Vector, Fusion::Linear, &vector), 0);
    assert_eq!(chances(Mode::Keyword, Fusion::Linear, &vector), 0);
    // The model knows no word of the question.
    assert_eq!(chances(Mode::Hybrid, Fusion::Linear, &[0.0; DIM]), 0);
    // Too few chunks, because a filter lets few pass or the documents have few.
    let filter = Filter { paths: vec!["b.md".parse().unwrap()], ..Filter::default() };
    let query = Query { text: "backup", vector: Some(&vector), k: 500, filter, ..Query::default() };
    let found = searcher.search(&query).unwrap();
    assert!(found.len() == 55 && found.iter().all(|found| found.chance.is_none()));
    for document in ["", "# One\n\nalone\n"] {
        let home = folder(&[("docs/a.md", document)]);
        let searcher = open(&home, "heading-tokens");
        let query = Query { text: "alone", vector: Some(&vector), k: 5, ..Query::default() };
        assert!(searcher.search(&query).unwrap().iter().all(|found| found.chance.is_none()));
    }
}

#[test]
fn what_is_unlikely_stays_out_of_a_context_even_if_there_is_room() {
    let home = folder(&[(
        "docs/a.md",
        "# A\n\n## One\n\nfirst\n\n## Two\n\nsecond\n\n## Three\n\nthird\n\n## Four\n\nfourth\n",
    )]);
    let searcher = open(&home, "heading-tokens");
    let hits = [("One", Some(0.4)), ("Three", Some(0.004)), ("Two", Some(0.02)), ("Four", None)];
    let found: Vec<FoundChunk> = (0..)
        .zip(hits)
        .map(|(rank, (heading, chance))| {
            let score = 3.0 - f64::from(rank) / 4.0;
            FoundChunk { row: row_of(&searcher, heading), score, parts: Default::default(), chance }
        })
        .collect();
    let has = |rule: FillRule| {
        let context = searcher.context(&found, 1000, rule).unwrap();
        assert_eq!(context.chance, Some(0.4));
        let words = ["first", "second", "third", "fourth"].map(|word| context.text.contains(word));
        assert_eq!(context.left_out, words.iter().filter(|has| !**has).count(), "{}", context.text);
        (words, context.passages)
    };
    for order in [Packing::Evidence, Packing::Rank] {
        let (words, passages) = has(FillRule { order, ..FillRule::default() });
        assert_eq!(words, [true, true, false, true], "a chance that is not known is not low");
        // The rank is that of the search, whatever was left out. A passage has its best chance.
        let facts: Vec<_> = passages.iter().map(|passage| (passage.rank, passage.chance)).collect();
        assert_eq!(facts, [(1, Some(0.4)), (4, None)]);
        assert_eq!(has(FillRule { order, least: 0.05.try_into().unwrap() }).0, [true, false, false, true]);
        assert_eq!(has(order.into()).0, [true; 4], "without a lowest chance");
    }
}

#[test]
fn words_that_no_document_has_are_named_as_they_are_written() {
    let home = folder(&[
        ("docs/kept backups.md", "# Retention\n\nBackups are kept for thirty days in the café, in `getUserById`.\n"),
        ("docs/other.md", "---\ntags: [food]\n---\n# Other\n\nNothing of interest is written here in English.\n"),
    ]);
    let searcher = open(&home, "heading-tokens");
    let unknown = |question: &str| searcher.unknown_words(question, &Ranking::default()).unwrap();
    let none: [&str; 0] = [];
    assert_eq!(unknown("What is the capital of France, and whose?"), ["capital", "France"]);
    // Other forms of a word, headings, tags, paths and parts of names are known.
    assert_eq!(unknown("Which backup, retention, cafe or food?"), none);
    assert_eq!(unknown("getUserById user kept"), none);
    assert_eq!(unknown("xylophone Xylophone 🎷 zebra xylophone"), ["xylophone", "Xylophone", "zebra"]);
    assert_eq!(unknown("?"), none);
    assert_eq!(unknown(""), none);
}

#[test]
fn the_program_says_when_the_documents_may_not_answer() {
    let sections: String = (0..120).map(|at| format!("## Apple {at}\n\nThis one is green.\n\n")).collect();
    let home = folder(&[("docs/a.md", &sections)]);
    let home = home.path();
    let index = ["index", "docs", "-o", "out", "--embedder", "fake", "--preset", "heading-tokens"];
    assert_eq!(run(home, &index).0, 0);
    let asked = |command: &str, more: &[&str]| {
        let (code, out, err) = run(home, &[&[command, "out", "xylophone green"], more].concat());
        assert_eq!(code, 0, "{err}");
        (out, err)
    };
    let remark = "the documents may not answer this question";
    let shows = ["chunks", "documents", "spans", "both"].map(|show| ["--show", show]);
    let searches = shows.iter().map(|show| ("search", &show[..]));
    for (command, more) in searches.chain([("context", &[][..])]) {
        let (_, err) = asked(command, more);
        assert!(err.contains(remark) && err.contains("no document has `xylophone`"), "{command} {more:?}: {err}");
        // Other ways to search do not know a chance.
        let (out, err) = asked(command, &[more, &["--fusion", "rrf"]].concat());
        assert!(!out.is_empty() && err.is_empty(), "{command} {more:?}: {err}");
    }
    let (out, _) = asked("search", &["--json"]);
    assert!(json_lines(&out).iter().all(|hit| (0.0..0.03).contains(&hit["chance"].as_f64().unwrap())), "{out}");
    let (out, _) = asked("search", &[]);
    assert!(out.lines().next().unwrap().contains(" %  "), "{out}");
    let (out, err) = asked("context", &["--least", "0.9"]);
    assert!(out.is_empty() && err.contains("at least 90 %; to see the best ones, lower --least"), "{err}");
    // A model is not asked without passages, nor about what no document has; nothing is sent to where nothing listens.
    let service = ["--answer-endpoint", "http://127.0.0.1:9/v1", "--answer-model", "m"];
    for least in [&["--least", "0.9"][..], &[]] {
        let (out, err) = asked("answer", &[&service[..], least].concat());
        assert!(out.is_empty() && err.contains("the language model was not asked; with --least 0"), "{err}");
        let (out, _) = asked("answer", &[&service[..], least, &["--json"]].concat());
        assert_eq!(json_lines(&out)[0]["lacks"], serde_json::json!(["xylophone"]), "{out}");
    }
    let anyway = run(home, &[&["answer", "out", "xylophone green", "--least", "0"], &service[..]].concat());
    assert!(anyway.0 == 5 && anyway.2.contains("127.0.0.1:9"), "{anyway:?}");
    let (out, err) = asked("context", &["--least", "0", "--json"]);
    assert!(!json_lines(&out)[0]["passages"].as_array().unwrap().is_empty() && !err.contains("--least"), "{out}{err}");
    let (code, _, err) = run(home, &["context", "out", "green", "--least", "2"]);
    assert!(code == 2 && err.contains("2 is not between 0 and 1"), "{err}");
}
