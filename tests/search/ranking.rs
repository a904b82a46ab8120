//! Ranking: words are understood in their language, the document counts, scores are summed as the formula says, and
//! no trap makes the result worse than words and vectors alone.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use chunkmill::dataset::{Dataset, Table};
use chunkmill::document::name;
use chunkmill::search::{
    Context, FieldWeights, Filter, FoundChunk, Fusion, LanguageSetting, Mode, Packing, Query, Ranking, Searcher, Share,
    Weight,
};
use tempfile::TempDir;

use crate::common::{folder, json_lines, run, write};
use crate::search::results::{Coarse, DIM, dataset};
use crate::tiny::Tiny;

pub(super) fn open(home: &TempDir, spec: &str) -> Searcher {
    Searcher::open(dataset(home.path(), &["docs"], spec), None).unwrap()
}

fn weight(value: f64) -> Weight {
    value.try_into().unwrap()
}

fn share(value: f64) -> Share {
    value.try_into().unwrap()
}

/// Returns the documents that a keyword search finds, best first, each once.
fn keyword(searcher: &Searcher, text: &str, ranking: Ranking) -> Vec<String> {
    let query = Query { mode: Mode::Keyword, text, k: 1000, ranking, ..Query::default() };
    let mut seen = BTreeSet::new();
    let found = searcher.search(&query).unwrap();
    let docs = found.iter().map(|found| searcher.place(found.row).document.doc_id.clone());
    docs.filter(|doc| seen.insert(doc.clone())).collect()
}

/// Returns a ranking for which only chunks count.
fn chunks(language: LanguageSetting) -> Ranking {
    Ranking { language, document: Weight::ZERO, ..Ranking::default() }
}

const ENGLISH: &str =
    "The tide of the river turns the mills that stand along the water, and people walk there in the evening.";
const GERMAN: &str =
    "Der Zähler misst den Strom, und die Häuser am Fluss werden durch die Mühlen versorgt, wie man sagt.";

#[test]
fn forms_of_a_word_are_one_word_in_the_language_of_each_document() {
    let home = folder(&[
        ("docs/en.md", &format!("# One\n\n{ENGLISH} The pinned versions were organized twice.\n")),
        ("docs/de.md", &format!("# Zwei\n\n{GERMAN} Die Häuser haben Verträge.\n")),
        ("docs/said.md", "---\nlang: fr-FR\n---\n# Trois\n\nchevaux nationales\n"),
        ("docs/more.md", &format!("# Five\n\n{ENGLISH} Nothing else is to be found here.\n")),
        ("docs/short.md", "# Four\n\npinning\n"),
    ]);
    let searcher = open(&home, "heading-tokens");
    let auto =
        |text: &str| keyword(&searcher, text, chunks(LanguageSetting::Auto)).into_iter().collect::<BTreeSet<_>>();
    let these = |docs: &[&str]| docs.iter().map(|doc| (*doc).to_owned()).collect::<BTreeSet<_>>();
    // A document that is too short to tell counts as being in the language of most others.
    assert_eq!(auto("pin"), these(&["en.md", "short.md"]));
    assert_eq!(auto("organizing version"), these(&["en.md"]));
    assert_eq!(auto("Vertrag"), these(&["de.md"]));
    assert_eq!(auto("haus"), these(&["de.md"]), "without accents");
    assert_eq!(auto("national"), these(&["said.md"]), "as its front matter says");
    let none = |text: &str| keyword(&searcher, text, chunks(LanguageSetting::None));
    assert_eq!(none("pin"), [""; 0]);
    assert_eq!(none("pinned"), ["en.md"]);
    let english = |text: &str| keyword(&searcher, text, chunks("en".parse().unwrap()));
    assert_eq!(english("pins"), ["short.md", "en.md"], "the shorter first");
    assert!("xx".parse::<LanguageSetting>().unwrap_err().contains("auto, none, ar, da, de"));
    // Every word of a document finds it, in any language.
    for file in ["en.md", "de.md", "said.md", "short.md"] {
        let text = std::fs::read_to_string(home.path().join("docs").join(file)).unwrap();
        let body = text.rsplit("---").next().unwrap();
        for word in body.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            assert!(auto(word).contains(file), "`{word}` is in {file}");
        }
    }
}

#[test]
fn a_document_says_its_language_in_any_usual_way() {
    let norwegian = "no nb nn nb-NO no_NO Norwegian norsk nob".split(' ').enumerate();
    let mut files = vec![("docs/en.md".to_owned(), format!("# One\n\n{ENGLISH}\n"))];
    files.extend(
        norwegian
            .map(|(at, lang)| (format!("docs/{at}.md"), format!("---\nlang: {lang}\n---\n# A\n\nDe hus står her.\n"))),
    );
    files.push(("docs/pt.md".to_owned(), "---\nLanguage: pt-BR\n---\n# B\n\nmeninos\n".to_owned()));
    files.push(("docs/zh.md".to_owned(), "---\nlang: zh-Hans\n---\n# C\n\nquadrangles here\n".to_owned()));
    files.push(("docs/js.md".to_owned(), "---\nlanguage: js\n---\n# D\n\ntriangles here\n".to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let home = folder(&files);
    let searcher = open(&home, "heading-tokens");
    let found = |text: &str| keyword(&searcher, text, chunks(LanguageSetting::Auto));
    assert_eq!(found("husene").len(), 8);
    assert_eq!(found("menino"), ["pt.md"]);
    assert_eq!(found("quadrangle"), [""; 0], "Chinese has no stemmer");
    assert_eq!(found("triangle"), ["js.md"], "that is no language of a text");
}

#[test]
fn function_words_of_a_question_do_not_count_unless_it_has_no_others() {
    let home = folder(&[
        ("docs/what.md", &format!("# Asking\n\nWhat is what? How does one know what is which? {ENGLISH}\n")),
        ("docs/zebra.md", &format!("# Animals\n\n{ENGLISH} A zebra sleeps.\n")),
    ]);
    let searcher = open(&home, "heading-tokens");
    let ranking = chunks(LanguageSetting::Auto);
    assert_eq!(keyword(&searcher, "What is how the zebra does it?", ranking), ["zebra.md"]);
    assert_eq!(keyword(&searcher, "how which", ranking), ["what.md"]);
    assert_eq!(keyword(&searcher, "which zebra", chunks(LanguageSetting::None)).len(), 2);
}

#[test]
fn text_without_spaces_is_found_by_pairs_of_characters() {
    let home = folder(&[
        ("docs/a.md", "# 一\n\n数据库的连接池大小\n"),
        ("docs/b.md", "# 二\n\n大的数据和小的库\n"),
        ("docs/c.md", "# 三\n\nデータベースに接続する。서버의 데이터베이스를 연결합니다.\n"),
    ]);
    let searcher = open(&home, "heading-tokens");
    for language in [LanguageSetting::Auto, LanguageSetting::None] {
        let found = |text: &str| keyword(&searcher, text, chunks(language));
        assert_eq!(found("数据库"), ["a.md", "b.md"], "both pairs before one");
        assert_eq!(found("据库"), ["a.md"]);
        assert_eq!(found("池"), ["a.md"], "one character alone");
        assert_eq!(found("データベース"), ["c.md"]);
        assert_eq!(found("데이터베이스"), ["c.md"], "without its particle");
    }
}

#[test]
fn the_words_of_a_path_and_of_a_title_find_all_chunks_of_a_document() {
    let rest = "## Part\n\nThey keep it for thirty days.\n\n## Other\n\nNobody reads it.\n";
    let home = folder(&[
        ("docs/policies/FiverrPrivacy_2024.txt", "They keep it for thirty days.\n\nNobody reads it.\n"),
        ("docs/policies/groupon.txt", "They keep it for sixty days.\n\nNobody reads it, or keeps it.\n"),
        ("docs/titled.md", &format!("---\ntitle: Viber rules\n---\n{rest}")),
    ]);
    let searcher = open(&home, "recursive unit=words max=6");
    let first = |text: &str, ranking| keyword(&searcher, text, ranking).into_iter().next();
    for name in ["fiverr", "Privacy of fiverr", "2024"] {
        let found = first(&format!("{name}: for how many days do they keep it?"), Ranking::default());
        assert_eq!(found.as_deref(), Some("policies/FiverrPrivacy_2024.txt"), "{name}");
    }
    assert_eq!(first("viber thirty days", Ranking::default()).as_deref(), Some("titled.md"));
    let fields = FieldWeights { title: Weight::ZERO, path: Weight::ZERO, ..FieldWeights::default() };
    assert_eq!(keyword(&searcher, "fiverr viber groupon", Ranking { fields, ..Ranking::default() }), [""; 0]);
    assert_eq!(keyword(&searcher, "fiverr", Ranking { document: Weight::ZERO, ..Ranking::default() }), [""; 0]);
}

/// Returns every vector of a dataset, in the order of its rows.
pub(super) fn vectors(dataset: &Dataset) -> Vec<Vec<f32>> {
    use arrow::array::AsArray;
    let mut vectors = Vec::new();
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &["embedding"], None).unwrap() {
            let batch = batch.unwrap();
            let list = batch.column(0).as_fixed_size_list();
            let values = list.values().as_primitive::<arrow::datatypes::Float32Type>().values();
            vectors.extend(values.chunks(DIM).map(<[f32]>::to_vec));
        }
    }
    vectors
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns standard deviations from the mean of the rows that count, or 0 if all are equal.
fn z(values: &[f64], counts: &[bool]) -> Vec<f64> {
    let counted: Vec<f64> = values.iter().zip(counts).filter(|(_, counts)| **counts).map(|(value, _)| *value).collect();
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    let deviation = (counted.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / counted.len() as f64).sqrt();
    values.iter().map(|value| if deviation < 1e-9 { 0.0 } else { (value - mean) / deviation }).collect()
}

/// Returns what the sum should be for every row, computed in the simplest way.
fn summed(searcher: &Searcher, text: &str, vector: &[f32], ranking: &Ranking, counts: &[bool]) -> Vec<f64> {
    let wide = |vector: &[f32]| vector.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
    let (all, question) = (vectors(searcher.dataset()), wide(vector));
    let doc = |row: usize| &searcher.place(row as u32).document.doc_id;
    let w = ranking.neighbours.get();
    let by_vector: Vec<f64> = (0..all.len())
        .map(|row| {
            let own = wide(&all[row]);
            let mut blend = own.clone();
            for other in [row.wrapping_sub(1), row + 1] {
                if other < all.len() && doc(other) == doc(row) {
                    blend.iter_mut().zip(&all[other]).for_each(|(a, b)| *a += w * f64::from(*b));
                }
            }
            let length = dot(&blend, &blend).sqrt();
            if length > 0.0 { dot(&question, &blend) * dot(&own, &own).sqrt() / length } else { 0.0 }
        })
        .collect();
    let query = Query { mode: Mode::Keyword, text, k: all.len(), ranking: *ranking, ..Query::default() };
    let found: HashMap<u32, f64> = searcher.search(&query).unwrap().iter().map(|f| (f.row, f.score)).collect();
    let by_keyword: Vec<f64> = (0..all.len()).map(|row| found.get(&(row as u32)).copied().unwrap_or(0.0)).collect();
    let (v, k, a) = (z(&by_vector, counts), z(&by_keyword, counts), ranking.vector_share.get());
    (0..all.len()).map(|row| a * v[row] + (1.0 - a) * k[row]).collect()
}

#[test]
fn a_linear_sum_is_its_formula_over_the_chunks_that_pass_the_filter() {
    let home = TempDir::new().unwrap();
    for number in 0..30 {
        let sections: String =
            (0..5).map(|s| format!("## Part {s}\n\nApples {} and pears {}.\n\n", number * s, s % 3)).collect();
        write(
            home.path(),
            &format!("docs/{}/{number}.md", number % 4),
            format!("# Doc {number}\n\n{sections}").as_bytes(),
        );
    }
    let searcher = open(&home, "heading-tokens");
    let everything = Filter::default();
    let few = Filter { paths: vec!["3/7.md".parse().unwrap(), "2/10.md".parse().unwrap()], ..Filter::default() };
    let cases = [
        ("apples 12", "question", Ranking::default(), &everything),
        ("apples 12", "question", Ranking { vector_share: share(0.25), ..Ranking::default() }, &everything),
        ("doc 7 pears", "other", Ranking { neighbours: weight(0.7), ..Ranking::default() }, &everything),
        (
            "doc 7 pears",
            "other",
            Ranking { neighbours: Weight::ZERO, document: weight(3.0), ..Ranking::default() },
            &few,
        ),
        ("nothing of it", "other", Ranking::default(), &everything),
        ("", "other", Ranking::default(), &few),
    ];
    for (text, question, ranking, filter) in cases {
        let vector = Coarse::vector(question);
        let takes = |row: u32| {
            let path = &searcher.place(row).document.path;
            filter.is_empty() || path == "3/7.md" || path == "2/10.md"
        };
        let counts: Vec<bool> = (0..searcher.len() as u32).map(takes).collect();
        let expected = summed(&searcher, text, &vector, &ranking, &counts);
        let query = Query {
            mode: Mode::Hybrid,
            text,
            vector: Some(&vector),
            k: 9999,
            ranking,
            filter: filter.clone(),
            ..Query::default()
        };
        let found = searcher.search(&query).unwrap();
        assert_eq!(found.len(), counts.iter().filter(|counts| **counts).count(), "every chunk has a place: {text:?}");
        for hit in &found {
            let expected = expected[hit.row as usize];
            assert!((hit.score - expected).abs() < 1e-4, "{text:?}: {} is not {expected}", hit.score);
        }
        assert!(found.is_sorted_by(|a, b| a.score >= b.score));
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(alone.install(|| searcher.search(&query)).unwrap(), found, "on one thread");
        assert_eq!(searcher.search(&Query { k: 3, ..query }).unwrap(), found[..3]);
    }
}

#[test]
fn where_a_half_says_nothing_the_other_decides() {
    let home = folder(&[
        ("docs/a.md", "# Same\n\napples\n"),
        ("docs/b.md", "# Same\n\npears\n"),
        ("docs/c.md", "# Same\n\nplums\n"),
    ]);
    let searcher = open(&home, "none");
    let ask = |text: &str, vector: &[f32]| -> Vec<(String, f64)> {
        let query = Query { mode: Mode::Hybrid, text, vector: Some(vector), k: 9, ..Query::default() };
        let found = searcher.search(&query).unwrap();
        found.iter().map(|f| (searcher.place(f.row).document.doc_id.clone(), f.score)).collect()
    };
    // All vectors are equally near, so words alone decide.
    let by_words = ask("plums", &[0.0; DIM]);
    assert!(by_words.len() == 3 && by_words[0].0 == "c.md" && by_words[1].1 == by_words[2].1, "{by_words:?}");
    assert!(by_words[1].0 == "a.md", "equals in their order");
    // None of the words occurs, or there are none, so vectors alone decide.
    let vector = Coarse::vector("# Same\n\npears\n");
    for text in ["zebra", ""] {
        let query = Query { mode: Mode::Vector, vector: Some(&vector), k: 9, ..Query::default() };
        let alone = searcher.search(&query).unwrap();
        let names: Vec<String> = alone.iter().map(|f| searcher.place(f.row).document.doc_id.clone()).collect();
        assert_eq!(ask(text, &vector).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
    }
    let nothing = ask("zebra", &[0.0; DIM]);
    assert!(nothing.iter().all(|(_, score)| *score == 0.0) && nothing[0].0 == "a.md", "{nothing:?}");
    let one = folder(&[("docs/a.md", "# One\n\nword\n")]);
    let query = Query { mode: Mode::Hybrid, text: "word", vector: Some(&vector), k: 9, ..Query::default() };
    assert_eq!(open(&one, "none").search(&query).unwrap()[0].score, 0.0);
}

#[test]
fn recency_and_links_are_terms_of_the_same_sum() {
    let home = folder(&[
        ("docs/hub.md", "# Hub\n\nxylophone, see [far](far.md)\n"),
        ("docs/far.md", "# Far\n\nnothing of interest\n"),
        ("docs/old.md", "# Old\n\nxylophone\n"),
    ]);
    let old = std::fs::File::options().write(true).open(home.path().join("docs/hub.md")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000)).unwrap();
    let searcher = open(&home, "none");
    let zero = [0.0; DIM];
    let ask = |mode, ranking| {
        let query = Query { mode, text: "xylophone", vector: Some(&zero), k: 9, ranking, ..Query::default() };
        let found = searcher.search(&query).unwrap();
        found
            .into_iter()
            .map(|f| (searcher.place(f.row).document.doc_id.clone(), f))
            .collect::<HashMap<String, FoundChunk>>()
    };
    let ranking = Ranking { document: Weight::ZERO, graph_seeds: 1, ..Ranking::default() };
    let (hybrid, graph) = (ask(Mode::Hybrid, ranking), ask(Mode::Graph, ranking));
    // The best hit is the shorter document, and nothing is linked with it.
    assert_eq!(hybrid["far.md"].score, graph["far.md"].score);
    let graph = ask(Mode::Graph, Ranking { graph_seeds: 2, ..ranking });
    let gained = graph["far.md"].score - hybrid["far.md"].score;
    assert!((gained - 0.5 * hybrid["hub.md"].score).abs() < 1e-12, "half the score of what links to it: {gained}");
    assert_eq!(graph["far.md"].parts.graph.unwrap().score, hybrid["hub.md"].score);
    let newer = ask(Mode::Hybrid, Ranking { recency: weight(0.1), ..ranking });
    assert!(newer["hub.md"].score < hybrid["hub.md"].score && newer["old.md"].score > hybrid["old.md"].score);
    assert!(newer["hub.md"].parts.recency.is_some());
}

#[test]
fn a_context_takes_what_promises_most_for_its_tokens() {
    let long = "and so on and on it goes ".repeat(12);
    let home = folder(&[
        ("docs/a.md", &format!("# A\n\n## Long\n\nlong {long}\n\n## Short\n\nshort one\n\n## Next\n\nnext one\n")),
        ("docs/b.md", "# B\n\n## Other\n\nother one\n"),
    ]);
    let searcher = open(&home, "heading-tokens");
    let row = |heading: &str| row_of(&searcher, heading);
    let found: Vec<FoundChunk> = [("Long", 2.0), ("Short", 1.9), ("Other", 1.6), ("Next", 1.55)]
        .map(|(heading, score)| FoundChunk { row: row(heading), score, parts: Default::default(), chance: None })
        .into();
    let headings = |packing, budget| {
        let context = searcher.context(&found, budget, packing).unwrap();
        context.passages.iter().map(|passage| passage.content.matches("## ").count()).collect::<Vec<_>>()
    };
    let alone = searcher.context(&found[..1], 1000, Packing::Rank).unwrap().tokens;
    assert_eq!(headings(Packing::Rank, alone + 3), [1], "the long one, and no room for another");
    // The short one, then the next one, which needs no label of its own, then the other one.
    let both = [found[1], found[3]];
    let both = searcher.context(&both, 1000, Packing::Rank).unwrap().tokens;
    assert_eq!(headings(Packing::Evidence, both + 3), [2]);
    assert_eq!(headings(Packing::Evidence, alone), [2, 1]);
    assert_eq!(headings(Packing::Evidence, 1000), [3, 1]);
}

#[test]
fn the_rest_of_a_budget_has_a_part_of_one_more_chunk() {
    let text = |from: usize| {
        let sentence = |at: usize| format!("Sentence {at} of this long section says what number {at} means. ");
        (from..from + 12).map(sentence).collect::<String>()
    };
    let sections = [("One", 100), ("Two", 200), ("Three", 300)];
    let document = sections.map(|(title, from)| format!("## {title}\n\n{}\n\n", text(from))).concat();
    let home = folder(&[("docs/a.md", &format!("# A\n\n{document}"))]);
    let searcher = open(&home, "heading-tokens");
    let found = |scores: &[(u32, f64)]| -> Vec<FoundChunk> {
        scores.iter().map(|&(row, score)| FoundChunk { row, score, parts: Default::default(), chance: None }).collect()
    };
    let [one, two, three] = ["One", "Two", "Three"].map(|heading| row_of(&searcher, heading));
    for packing in [Packing::Evidence, Packing::Rank] {
        let context = |scores: &[(u32, f64)], more: usize| {
            let context = context_of(&searcher, &found(scores), packing, more);
            assert!(context.tokens + 20 > context.budget, "{} of {}", context.tokens, context.budget);
            context
        };
        // The chunk that follows: its first sentences, below those that are there.
        let after = context(&[(one, 2.0), (two, 1.0)], 80);
        let [passage] = &after.passages[..] else { panic!("{}", after.text) };
        assert!(passage.cut && after.left_out == 0);
        assert!(passage.content.contains("Sentence 111") && passage.content.contains("## Two\n\nSentence 200"));
        assert!(passage.content.trim_end().ends_with('.') && !passage.content.contains("Sentence 211"));
        // The chunk before: its last sentences.
        let before = context(&[(two, 2.0), (one, 1.0)], 80);
        let [passage] = &before.passages[..] else { panic!("{}", before.text) };
        assert!(passage.cut && passage.content.starts_with("Sentence 1") && !passage.content.contains("Sentence 100"));
        assert!(passage.content.contains("Sentence 111") && passage.content.contains("Sentence 211"));
        // Between two that are there, the first ones: what is missing ends the passage.
        let all = [(one, 2.0), (three, 1.9)];
        let both = searcher.context(&found(&all), 10_000, packing).unwrap();
        let between = searcher.context(&found(&[all[0], all[1], (two, 1.0)]), both.tokens + 60, packing).unwrap();
        let contents: Vec<_> = between.passages.iter().map(|passage| (passage.cut, &*passage.content)).collect();
        let [(true, first), (false, last)] = contents[..] else { panic!("{}", between.text) };
        assert!(first.contains("Sentence 200") && !first.contains("Sentence 211") && last.contains("Sentence 300"));
        // Too little room for a part that says something.
        let little = context_of(&searcher, &found(&[(one, 2.0), (two, 1.0)]), packing, 10);
        assert!(!little.passages[0].cut && little.left_out == 1);
    }
}

#[test]
fn weak_chunks_fill_a_budget_only_when_no_other_is_left() {
    let long = "and so on and on it goes. ".repeat(12);
    let home = folder(&[
        ("docs/a.md", &format!("# A\n\n## One\n\nFirst, {long}\n\n## Two\n\nSecond, {long}\n")),
        ("docs/b.md", "# B\n\n## Short\n\nshort\n"),
    ]);
    let searcher = open(&home, "heading-tokens");
    let row = |heading: &str| row_of(&searcher, heading);
    let hits = |scores: [f64; 3]| -> Vec<FoundChunk> {
        let rows = ["One", "Two", "Short"].map(row).into_iter().zip(scores);
        rows.map(|(row, score)| FoundChunk { row, score, parts: Default::default(), chance: None }).collect()
    };
    let has_short = |scores, more| {
        let context = context_of(&searcher, &hits(scores), Packing::Evidence, more);
        context.passages.iter().any(|passage| passage.path == "b.md")
    };
    // There is room for the short one or for a part of the second.
    assert!(!has_short([2.0, 1.9, 1.4], 50));
    assert!(has_short([2.0, 1.9, 1.6], 50) && has_short([1.3, 1.2, 1.1], 50));
    assert!(has_short([2.0, 1.9, 1.4], 1000), "the others are all there");
}

/// The row of the first chunk below a heading.
pub(super) fn row_of(searcher: &Searcher, heading: &str) -> u32 {
    let mut rows = 0..searcher.len() as u32;
    rows.find(|row| searcher.place(*row).heading_path.last() == Some(&heading)).unwrap()
}

/// The context of all hits, in the tokens of the first one and so many more.
fn context_of(searcher: &Searcher, found: &[FoundChunk], packing: Packing, more: usize) -> Context {
    let whole = searcher.context(&found[..1], 10_000, packing).unwrap();
    searcher.context(found, whole.tokens + more, packing).unwrap()
}

#[test]
fn a_document_has_the_name_that_says_something() {
    for (title, path, expected) in [
        (Some("Rate limits"), "api/rate_limits.md", Some("Rate limits")),
        (Some("Index"), "guide/index.md", Some("guide")),
        (Some("Two\nlines"), "x/y.md", Some("Two lines")),
        (None, "TickTick__To_Do.txt", Some("TickTick To Do")),
        (None, "deploy/README.md", Some("deploy")),
        (None, "src/mod.rs", Some("src")),
        (None, "notes/2024-05-01.txt", Some("notes")),
        (None, "0123456789abcdef0123.txt", None),
        (None, "7f9c2ba4-e88f-827d-6160-45507605853e.txt", None),
        (None, "1984.txt", None),
        (None, "index.md", None),
        (None, "notes/.hidden", Some("notes")),
        (None, "", None),
        (Some("  "), "a/b/c.md", None),
        (None, "deadbeef.txt", Some("deadbeef")),
    ] {
        assert_eq!(name(title, path).as_deref(), expected, "{title:?} at {path}");
    }
}

/// The fake embedder's vectors depend on the text alone, so they show what the model sees of each chunk.
#[test]
fn the_context_of_a_chunk_stands_before_it_in_what_the_model_sees_and_nowhere_else() {
    let text = "# Guide\n\nStart.\n\n## Install\n\nRun it.\n";
    let home =
        folder(&[("docs/user-manual.md", text), ("docs/plain_notes.txt", "Only text.\n"), ("docs/7.txt", "Number.\n")]);
    let seen = |spec: &str| -> Vec<(String, Vec<f32>)> {
        let dataset = dataset(home.path(), &["docs"], &format!("heading-tokens {spec}"));
        let vectors = vectors(&dataset);
        let searcher = Searcher::open(dataset, None).unwrap();
        let rows: Vec<FoundChunk> = (0..vectors.len() as u32)
            .map(|row| FoundChunk { row, score: 0.0, parts: Default::default(), chance: None })
            .collect();
        let hits = searcher.hits(&rows, false).unwrap();
        let mut seen: Vec<_> = hits.into_iter().map(|hit| hit.content).zip(vectors).collect();
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        seen
    };
    let expected: [(&str, [&str; 4]); 3] = [
        ("context=none", ["", "", "", ""]),
        ("context=headings", ["Guide\n\n", "Guide > Install\n\n", "", ""]),
        ("context=full", ["Guide\n\n", "Guide > Install\n\n", "", "plain notes\n\n"]),
    ];
    let plain = seen("");
    for (spec, before) in expected {
        for (((content, vector), before), (same, _)) in seen(spec).iter().zip(before).zip(&plain) {
            assert_eq!(content, same, "the row has the content alone");
            assert_eq!(*vector, Coarse::vector(&format!("{before}{content}")), "{spec}: {content:?} after {before:?}");
        }
    }
    // A title that is not the first heading comes before it.
    write(home.path(), "docs/user-manual.md", format!("---\ntitle: Handbook\n---\n{text}").as_bytes());
    let (content, vector) = &seen("context=full")[1];
    assert_eq!(*vector, Coarse::vector(&format!("Handbook > Guide > Install\n\n{content}")));
}

/// Invented corpora in which names say nothing, or something wrong. The words of the evidence decide in all of them.
#[test]
fn no_trap_of_names_hides_the_evidence() {
    let fact =
        |n: usize| format!("The {} valve closes at {} bar.", ["copper", "brass", "steel", "iron"][n % 4], 100 + n);
    let page = |n: usize| format!("{ENGLISH}\n\n{}\n\n{ENGLISH}\n", fact(n));
    type Names = fn(usize) -> String;
    let corpora: [(&str, usize, Names); 5] = [
        ("one file", 1, |_| "all.txt".to_owned()),
        ("hashes", 40, |n| format!("{}.txt", &blake3::hash(&[n as u8]).to_hex()[..20])),
        ("numbers", 40, |n| format!("{}.txt", 100 + (n + 7) % 40)),
        ("one name in many folders", 40, |n| format!("{}/{}/index.txt", n / 8, n % 8)),
        ("a common word", 40, |n| if n == 3 { "valve.txt".to_owned() } else { format!("part{n}.txt") }),
    ];
    let questions: [fn(usize) -> String; 4] = [
        |n| {
            format!(
                "At how many bar does the valve close that is made of {}? {}",
                ["copper", "brass", "steel", "iron"][n % 4],
                100 + n
            )
        },
        |n| format!("valve {}", 100 + n),
        |n| format!("Consider part{} and part{}: valve {} bar", (n + 1) % 40, (n + 2) % 40, 100 + n),
        |n| format!("In the handbook of Nobody Inc., which valve closes at {} bar?", 100 + n),
    ];
    for (corpus, files, path) in corpora {
        let home = TempDir::new().unwrap();
        for n in 0..files {
            let text = if files == 1 { (0..40).map(page).collect::<String>() } else { page(n) };
            write(home.path(), &format!("docs/{}", path(n)), text.as_bytes());
        }
        let searcher = open(&home, "recursive unit=words max=40");
        let zero = [0.0; DIM];
        for (at, question) in questions.iter().enumerate() {
            let found = |ranking: Ranking| -> usize {
                let hit = |n: &usize| {
                    let text = question(*n);
                    let query = Query {
                        mode: Mode::Hybrid,
                        text: &text,
                        vector: Some(&zero),
                        k: 3,
                        ranking,
                        ..Query::default()
                    };
                    let hits = searcher.hits(&searcher.search(&query).unwrap(), false).unwrap();
                    hits.iter().any(|hit| hit.content.contains(&fact(*n)))
                };
                (0..40).filter(hit).count()
            };
            let before = Ranking {
                fusion: Fusion::Rrf,
                language: LanguageSetting::None,
                document: Weight::ZERO,
                ..Ranking::default()
            };
            let (now, before) = (found(Ranking::default()), found(before));
            assert!(now + 3 >= before, "{corpus}, question {at}: {now} of 40, {before} before");
        }
    }
}

#[test]
fn the_program_ranks_and_packs_as_it_is_told() {
    let home = folder(&[
        ("docs/fiverr.txt", "They keep it for thirty days.\n"),
        ("docs/groupon.txt", "They keep it for sixty days.\n"),
    ]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let top = |more: &[&str]| {
        let question = "Groupon: how long do they keep it?";
        let (code, out, err) = run(home.path(), &[&["search", "out", question, "--json", "-k", "1"], more].concat());
        assert_eq!(code, 0, "{err}");
        json_lines(&out)[0].clone()
    };
    assert_eq!(top(&["--mode", "keyword"])["path"], "groupon.txt");
    assert!(top(&["--mode", "keyword", "--document-weight", "0"])["scores"]["keyword"]["rank"].is_u64());
    let linear = top(&["--mode", "hybrid", "--vector-share", "0"]);
    assert_eq!(linear["path"], "groupon.txt");
    assert!(linear["scores"]["vector"]["score"].is_f64() && linear["scores"]["vector"].get("rank").is_none());
    let ranks = top(&["--mode", "hybrid", "--fusion", "rrf"]);
    assert!(ranks["scores"]["vector"]["rank"].is_u64());
    for wrong in [["--vector-share", "1.5"], ["--fusion", "sum"], ["--language", "xx"], ["--packing", "tight"]] {
        let (code, _, err) = run(home.path(), &[&["search", "out", "x"][..], &wrong].concat());
        assert!(code == 2 && err.contains(wrong[0]), "{err}");
    }
    write(home.path(), "docs/long.txt", "Zebra one.\n\nZebra two.\n\nZebra three.\n".as_bytes());
    let small = ["--strategy", "recursive", "--unit", "words", "--max", "4"];
    let index = ["index", "docs", "-o", "small", "--embedder", "fake"];
    assert_eq!(run(home.path(), &[&index[..], &small].concat()).0, 0);
    let shown = |show: &str| {
        let (code, out, err) = run(
            home.path(),
            &["search", "small", "zebra", "--mode", "keyword", "--document-weight", "0", "--json", "--show", show],
        );
        assert_eq!(code, 0, "{err}");
        json_lines(&out)
    };
    let (chunks, spans) = (shown("chunks"), shown("spans"));
    assert_eq!((chunks.len(), spans.len()), (3, 1), "consecutive chunks are one span");
    assert_eq!((&spans[0]["citation"], &spans[0]["rank"]), (&"long.txt:1-5".into(), &1.into()));
    assert_eq!(spans[0]["content"], "Zebra one.\n\nZebra two.\n\nZebra three.");
    let (code, out, _) = run(home.path(), &["context", "out", "days", "--mode", "hybrid", "--packing", "rank"]);
    assert!(code == 0 && out.starts_with("[1] "), "{out}");
    assert!(Path::new(&home.path().join("out")).is_dir());
}

#[test]
fn in_the_models_tokens_a_chunk_fits_its_window_together_with_its_context() {
    let text: String = (0..30).map(|n| format!("Sentence {n} of a page that says little. ")).collect();
    let home =
        folder(&[("docs/a-page-of-some-name.md", &format!("# Top of it\n\n## A heading of some words\n\n{text}\n"))]);
    // The model reads 60 tokens, two of which are special.
    Tiny { inner: 40, layers: 1, max_tokens: 60, ..Tiny::new("bert", 32, 2) }.write(&home.path().join("tiny"));
    let truncated = |more: &[&str]| {
        let index =
            ["index", "docs", "-o", "out", "--model", "tiny", "--unit", "model", "--max", "58", "--min", "1", "--json"];
        let (code, report, err) = run(home.path(), &[&index[..], more].concat());
        assert_eq!(code, 0, "{err}");
        let report = &json_lines(&report)[0];
        assert!(report["counts"]["chunks"].as_u64().or(report["chunks"].as_u64()).unwrap() > 3, "{report}");
        report["truncated"].as_u64().unwrap()
    };
    assert_eq!(truncated(&[]), 0);
    assert_eq!(truncated(&["--context", "none"]), 0);
    // Another strategy leaves no room, and reports that.
    assert!(truncated(&["--strategy", "windows", "--context", "full"]) > 3);
}

#[test]
fn a_language_without_stems_is_searched_as_it_is_written_and_spoils_no_other() {
    let polish = "Kopie zapasowe są przechowywane przez trzydzieści dni, a potem usuwane. Administrator może zmienić ten okres w \
                  ustawieniach, jeśli ma odpowiednie uprawnienia i zgodę właściciela danych.";
    let home = folder(&[
        ("docs/en.md", &format!("# One\n\n{ENGLISH} The backups are kept for a while.\n")),
        ("docs/more.md", &format!("# Two\n\n{ENGLISH} What is it that they do?\n")),
        ("docs/pl.md", &format!("# Kopie\n\n{polish}\n")),
    ]);
    let searcher = open(&home, "heading-tokens");
    let found = |text: &str| keyword(&searcher, text, chunks(LanguageSetting::Auto));
    assert_eq!(found("uprawnienia"), ["pl.md"]);
    assert_eq!(found("uprawnieni"), [""; 0], "no stem of another language");
    // A question this short does not reveal its language, but most documents are in English.
    assert_eq!(found("What does a backup do?"), ["en.md"]);
}
