//! Search: every list is exact and in one order, filters come first, fusion follows its formula, and a context never
//! exceeds its budget.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use chunkmill::chunk::Spec;
use chunkmill::corpus::{self, DEFAULT_MAX_BYTES, Root};
use chunkmill::dataset::{Dataset, FloatEncoding, Output};
use chunkmill::document::Admission;
use chunkmill::duplicates::DropRule;
use chunkmill::embed::{
    Batching, Embedder, EmbeddingTypes, EncodedText, Engine, ModelInfo, ModelInput, Parallel, Precision, Reads, Role,
};
use chunkmill::job::{self, Job};
use chunkmill::search::{
    FieldWeights, Filter, FoundChunk, Fusion, LanguageSetting, Mode, Packing, Passage, Query, Ranking, Searcher,
    StoredAs, Weight,
};
use chunkmill::tokens::{TokenCounter, cl100k};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::common::{finish, folder, json_lines, program, run, tiny_model, tree, write};

/// An embedder whose vectors have few small whole numbers: sums are exact, and many are equal.
pub(crate) struct Coarse(ModelInfo);

pub(crate) const DIM: usize = 19;

impl Coarse {
    fn new() -> Self {
        Self(ModelInfo {
            id: "coarse".to_owned(),
            revision: None,
            files: BTreeMap::new(),
            dim: DIM,
            max_tokens: 512,
            pooling: "mean".to_owned(),
            normalize: false,
            engine: Engine::Fake,
            precision: Precision::F32,
            fingerprint: "coarse".to_owned(),
            arithmetic: String::new(),
            query: None,
            sparse: None,
            service: None,
        })
    }

    pub(crate) fn vector(text: &str) -> Vec<f32> {
        let hash = blake3::hash(text.as_bytes());
        hash.as_bytes().iter().take(DIM).map(|byte| f32::from(byte % 3) - 1.0).collect()
    }
}

impl Embedder for Coarse {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    fn encode(&self, text: &str, _: Role) -> chunkmill::error::Result<EncodedText> {
        // Like a service, it reads texts and has no tokenizer.
        Ok(EncodedText { n_tokens: text.len(), ids: Vec::new(), cut: None })
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> chunkmill::error::Result<Vec<f32>> {
        assert!(batch.iter().all(|input| input.ids.is_empty()));
        Ok(batch.iter().flat_map(|input| Self::vector(input.text)).collect())
    }

    fn counter(&self) -> &dyn TokenCounter {
        cl100k()
    }

    fn batching(&self) -> Batching {
        Batching {
            reads: Reads::Text,
            tokens: 2048,
            texts: usize::MAX,
            mixed: true,
            padded: false,
            parallel: Parallel::Cores,
            remember: true,
        }
    }
}

/// Indexes folders of a home, named like roots on the command line, with `Coarse`.
pub(crate) fn dataset(home: &Path, roots: &[&str], spec: &str) -> Dataset {
    let root = |root: &&str| match root.split_once('=') {
        Some((name, folder)) => format!("{name}={}", home.join(folder).display()).parse::<Root>().unwrap(),
        None => Root::new(home.join(root)),
    };
    let job = Job {
        roots: roots.iter().map(root).collect(),
        filter: corpus::Filter::new(&["**/*.{md,txt,yaml}".to_owned()], &[], true, DEFAULT_MAX_BYTES).unwrap(),
        admission: Admission::default(),
        drop_duplicates: DropRule::None,
        skip_boilerplate: None,
        spec: spec.parse::<Spec>().unwrap(),
        output: Output { files: 3, embedding_type: EmbeddingTypes::default(), float_encoding: FloatEncoding::Bss },
        batch_tokens: None,
        deny_truncation: false,
        fresh: false,
        allow_shrink: true,
        cache: None,
    };
    let out = home.join("out");
    job::run(&job, &out.as_path().into(), &Coarse::new(), &AtomicBool::new(false), &|_| ()).unwrap();
    Dataset::open(&out).unwrap()
}

/// Creates documents in two collections, with levels, tags, headings and folders.
fn varied() -> TempDir {
    let home = TempDir::new().unwrap();
    for number in 0..40 {
        let level = ["draft", "standard", "critical"][number % 3];
        let tag = ["red", "green"][number % 2];
        let head = format!("---\npromotion_level: {level}\ntags: [{tag}, all]\naliases: [nick{number}]\n---\n");
        let body: String = (0..6)
            .map(|s| {
                format!(
                    "## {} part\n\n### Deep {s}\n\nText {s} of {number}: apples {}.\n\n",
                    ["Upper", "Lower"][s % 2],
                    number * s
                )
            })
            .collect();
        let folder = ["docs/a", "docs/a/b", "docs/ab", "more"][number % 4];
        write(home.path(), &format!("{folder}/{number}.md"), format!("{head}# Doc {number}\n\n{body}").as_bytes());
    }
    home
}

fn searcher(dataset: Dataset) -> Searcher {
    Searcher::open(dataset, None).unwrap()
}

fn query<'q>(mode: Mode, text: &'q str, vector: Option<&'q [f32]>, k: usize) -> Query<'q> {
    Query { mode, text, vector, k, ..Query::default() }
}

/// Returns a ranking by words as they are written, chunks alone and ranks alone, as in the designs that chunkmill
/// started from.
fn as_written() -> Ranking {
    let (fusion, language, document) = (Fusion::Rrf, LanguageSetting::None, Weight::ZERO);
    Ranking { fusion, language, document, ..Ranking::default() }
}

/// Returns the weights of fields, none of which counts.
fn no_field() -> FieldWeights {
    let zero = Weight::ZERO;
    FieldWeights { content: zero, headings: zero, tags: zero, aliases: zero, title: zero, path: zero }
}

/// Returns hits in a form that can be compared: score, document, position.
fn seen(searcher: &Searcher, found: &[FoundChunk]) -> Vec<(f64, String, u32)> {
    let one = |found: &FoundChunk| {
        let place = searcher.place(found.row);
        (found.score, place.document.doc_id.clone(), place.chunk_index)
    };
    found.iter().map(one).collect()
}

/// Returns all chunks by vector, computed from the texts alone: every dot product, sorted by score, document and
/// position.
fn by_hand(searcher: &Searcher, vector: &[f32], takes: impl Fn(u32) -> bool) -> Vec<(f64, String, u32)> {
    let all: Vec<FoundChunk> = (0..u32::try_from(searcher.len()).unwrap())
        .filter(|&row| takes(row))
        .map(|row| FoundChunk { row, score: 0.0, parts: Default::default(), chance: None })
        .collect();
    let mut hits: Vec<(f64, String, u32)> = searcher
        .hits(&all, false)
        .unwrap()
        .into_iter()
        .map(|hit| {
            let score: f32 = Coarse::vector(&hit.content).iter().zip(vector).map(|(a, b)| a * b).sum();
            (f64::from(score), hit.doc_id, hit.chunk_index)
        })
        .collect();
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (&a.1, a.2).cmp(&(&b.1, b.2))));
    hits
}

#[test]
fn vector_search_is_exact_ties_stand_in_order_and_threads_make_no_difference() {
    let home = varied();
    let searcher = searcher(dataset(home.path(), &["docs", "more=more"], "heading-tokens"));
    assert!(searcher.len() > 500, "more rows than one thread takes for many questions: {}", searcher.len());
    let vectors: Vec<Vec<f32>> = ["one", "two", "three", "four", "five"].map(Coarse::vector).to_vec();
    let queries: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for k in [0, 1, 7, 100, 10_000] {
        let batch = searcher.nearest(&queries, k, &Filter::default()).unwrap();
        for threads in [1, 2, 5] {
            let many = || searcher.nearest(&queries.repeat(4), k, &Filter::default()).unwrap();
            assert_eq!(pool(threads).install(many), vec![batch.clone(); 4].concat(), "k {k}, {threads} threads");
        }
        for (vector, batch) in queries.iter().zip(&batch) {
            let mut expected = by_hand(&searcher, vector, |_| true);
            let ties = expected.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
            assert!(ties > 100, "there are ties to be put in order");
            expected.truncate(k);
            for threads in [1, 2, 5] {
                let query = query(Mode::Vector, "", Some(vector), k);
                let found = pool(threads).install(|| searcher.search(&query)).unwrap();
                assert_eq!(seen(&searcher, &found), expected, "k {k}, {threads} threads");
                assert_eq!(&found, batch, "in a batch and alone");
            }
        }
    }
    let ranks = searcher.search(&query(Mode::Vector, "", Some(queries[0]), 3)).unwrap();
    assert_eq!(ranks.iter().map(|found| found.parts.vector.unwrap().rank.unwrap()).collect::<Vec<_>>(), [1, 2, 3]);
    let error = searcher.search(&query(Mode::Vector, "", Some(&[1.0; 3]), 3)).unwrap_err().to_string();
    assert!(error.contains("3 dimensions, but those of the dataset have 19"), "{error}");
    let error = searcher.search(&query(Mode::Hybrid, "apples", None, 3)).unwrap_err().to_string();
    assert!(error.contains("needs the query's vector"), "{error}");
}

#[test]
fn a_heading_is_found_wherever_it_is_in_a_chunk() {
    let home = TempDir::new().unwrap();
    let long = |word: &str| format!("{word} ").repeat(60);
    let lines = "line\n".repeat(520);
    for (name, text) in [
        ("bare.md", format!("# Guide\n\n## Install\n\n{}\n\n## Use\n\n{}\n", long("install"), long("use"))),
        ("merged.md", format!("# A\n\nsmall a words\n\n## In A\n\nmore\n\n# B\n\n{}\n\n# C\n\nend\n", long("b"))),
        // The strategy `lines` leaves the empty section out of every chunk.
        ("long.md", format!("# T\n\n## Part\n\n{lines}\n## Void\n\n### Deep\n\ntext\n\n#### Deeper\n\nend\n")),
    ] {
        write(home.path(), &format!("docs/{name}"), text.as_bytes());
    }
    let found = |preset: &str, heading: &str| {
        let searcher = searcher(dataset(home.path(), &["docs"], preset));
        let filter = Filter { headings: vec![heading.to_owned()], ..Filter::default() };
        let vector = Coarse::vector("a question");
        let found = searcher.search(&Query { filter, ..query(Mode::Vector, "", Some(&vector), 100) }).unwrap();
        let hits = searcher.hits(&found, false).unwrap();
        hits.into_iter().map(|hit| (hit.path, hit.content)).collect::<Vec<_>>()
    };
    for preset in ["ragdocs", "structure", "docs", "sections", "heading-tokens", "line-threshold"] {
        for (heading, path, holds) in [
            ("Guide > Install", "bare.md", "install install"),
            ("Guide", "bare.md", "use use"),
            ("B", "merged.md", "b b b"),
            ("A > In A", "merged.md", "more"),
            ("C", "merged.md", "end"),
            ("T > Void > Deep", "long.md", "text"),
            ("T > Void > Deep > Deeper", "long.md", "end"),
        ] {
            let found = found(preset, heading);
            assert!(found.iter().all(|(of, _)| of == path), "{preset}: {heading}");
            let whole = preset == "line-threshold" && path != "long.md";
            assert!(whole || found.iter().any(|(_, content)| content.contains(holds)), "{preset}: {heading}");
        }
        for heading in ["In A", "Guide > Instal", "B > A", "A > B", "Install", "T > Part > Deep", "Guide > "] {
            assert!(found(preset, heading).is_empty(), "{preset}: {heading}");
        }
    }
}

#[test]
fn filters_come_before_the_best_are_chosen() {
    let home = varied();
    let searcher = searcher(dataset(home.path(), &["docs", "more=more"], "heading-tokens"));
    let vector = Coarse::vector("a question");
    let paths = |text: &str| vec![text.parse().unwrap()];
    let strings = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    type Takes<'s> = Box<dyn Fn(u32) -> bool + 's>;
    let place = |row| searcher.place(row);
    let cases: Vec<(&str, Filter, Takes<'_>)> = vec![
        (
            "collection",
            Filter { collections: strings(&["more"]), ..Filter::default() },
            Box::new(|row| place(row).document.collection == "more"),
        ),
        (
            "levels",
            Filter { promotion_levels: strings(&["draft", "critical"]), ..Filter::default() },
            Box::new(|row| place(row).document.promotion_level.as_deref() != Some("standard")),
        ),
        (
            "folder",
            Filter { paths: paths("a"), ..Filter::default() },
            Box::new(|row| place(row).document.path.starts_with("a/")),
        ),
        (
            "glob in a folder",
            Filter { paths: paths("a/*.md"), ..Filter::default() },
            Box::new(|row| place(row).document.path.starts_with("a/") && !place(row).document.path.starts_with("a/b/")),
        ),
        (
            "glob below a folder",
            Filter { paths: paths("a/**/1?.md"), ..Filter::default() },
            Box::new(|row| {
                let path = &place(row).document.path;
                path.starts_with("a/")
                    && path.rsplit('/').next().is_some_and(|name| name.len() == 5 && name.starts_with('1'))
            }),
        ),
        (
            "heading",
            Filter { headings: strings(&["Doc 8 > Upper part"]), ..Filter::default() },
            Box::new(|row| place(row).heading_path.starts_with(&["Doc 8", "Upper part"])),
        ),
        (
            "all tags",
            Filter { tags: strings(&["red", "all"]), ..Filter::default() },
            Box::new(|row| place(row).document.tags.contains(&"red".to_owned())),
        ),
        (
            "several at once",
            Filter {
                tags: strings(&["green"]),
                paths: paths("a/b/"),
                promotion_levels: strings(&["draft"]),
                ..Filter::default()
            },
            Box::new(|_| false),
        ),
        ("nothing fits", Filter { tags: strings(&["blue"]), ..Filter::default() }, Box::new(|_| false)),
    ];
    for (name, filter, takes) in cases {
        let mut expected = by_hand(&searcher, &vector, takes);
        if name == "several at once" {
            expected = by_hand(&searcher, &vector, |row| {
                let document = place(row).document;
                document.tags.contains(&"green".to_owned())
                    && document.path.starts_with("a/b/")
                    && document.promotion_level.as_deref() == Some("draft")
            });
        }
        assert!(name == "nothing fits" || expected.len() >= 3, "{name}: {}", expected.len());
        assert!(expected.len() < searcher.len(), "{name} leaves something out");
        let in_all = expected.len();
        expected.truncate(9);
        let with = |mode| Query { filter: filter.clone(), ..query(mode, "apples", Some(&vector), 9) };
        assert_eq!(seen(&searcher, &searcher.search(&with(Mode::Vector)).unwrap()), expected, "{name}");
        // Every leaf chunk contains the keyword, so the filter alone decides here too.
        for mode in [Mode::Keyword, Mode::Hybrid, Mode::Graph] {
            let found = searcher.search(&Query { k: 10_000, ..with(mode) }).unwrap();
            let allowed: HashSet<_> = by_hand_rows(&searcher, &filter);
            assert!(found.iter().all(|found| allowed.contains(&found.row)), "{name} in {mode}");
            assert!(found.is_empty() == (in_all == 0), "{name} in {mode}");
        }
    }
}

/// Returns the rows that vector search finds with this filter if all are requested.
fn by_hand_rows(searcher: &Searcher, filter: &Filter) -> HashSet<u32> {
    let vector = Coarse::vector("anything");
    let query = Query { filter: filter.clone(), ..query(Mode::Vector, "", Some(&vector), 1 << 20) };
    searcher.search(&query).unwrap().iter().map(|found| found.row).collect()
}

fn content_only() -> Ranking {
    Ranking { fields: FieldWeights { content: Weight::ONE, ..no_field() }, ..as_written() }
}

#[test]
fn keyword_scores_are_bm25() {
    let texts = ["cat dog", "cat cat bird fish", "dog bird", "fish fish fish worm ant", "cat mouse cat ant"];
    let home = TempDir::new().unwrap();
    for (number, text) in texts.iter().enumerate() {
        write(home.path(), &format!("docs/{number}.txt"), text.as_bytes());
    }
    let searcher = searcher(dataset(home.path(), &["docs"], "none"));
    let question = "ant, CAT!";
    let found = searcher.search(&Query { ranking: content_only(), ..query(Mode::Keyword, question, None, 9) }).unwrap();
    // Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with Lucene's idf.
    let (k1, b, n) = (1.2, 0.75, texts.len() as f64);
    let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let average = words.iter().map(Vec::len).sum::<usize>() as f64 / n;
    let score = |text: &Vec<&str>| -> f64 {
        let of = |word: &str| {
            let having = words.iter().filter(|words| words.contains(&word)).count() as f64;
            let idf = (1.0 + (n - having + 0.5) / (having + 0.5)).ln();
            let times = text.iter().filter(|other| **other == word).count() as f64;
            idf * times * (k1 + 1.0) / (times + k1 * (1.0 - b + b * text.len() as f64 / average))
        };
        of("ant") + of("cat")
    };
    let mut expected: Vec<(f64, String)> =
        words.iter().enumerate().map(|(number, words)| (score(words), format!("{number}.txt"))).collect();
    expected.retain(|(score, _)| *score > 0.0);
    expected.sort_by(|a, b| b.0.total_cmp(&a.0));
    assert_eq!(found.len(), expected.len());
    for (found, (score, doc)) in found.iter().zip(&expected) {
        assert_eq!(&searcher.place(found.row).document.doc_id, doc);
        assert!((found.score - score).abs() < 1e-5, "{doc}: {} is not {score}", found.score);
    }
}

/// Only headings count: those that a chunk starts under and those that start in it, each title once.
#[test]
fn every_heading_of_a_chunk_is_found_by_its_words() {
    let pages: String = (0..9).map(|page| format!("Page {page} is about other things.\n\n")).collect();
    let home = folder(&[
        ("docs/conf.yaml", "alpha: 1\nbeta: 2\ngamma: 3\n"),
        (
            "docs/guide.md",
            "# Guide\n\n## Small\n\nIt is.\n\n# Zebra\n\nIt sleeps in the shade of a tree, all day, and more.\n",
        ),
        ("docs/long.md", &format!("# Long\n\n## Omega\n\n{pages}{pages}\n")),
    ]);
    let searcher = searcher(dataset(home.path(), &["docs"], "header unit=chars min=100 max=400 overlap=0"));
    let ranking = Ranking { fields: FieldWeights { headings: Weight::ONE, ..no_field() }, ..as_written() };
    let found = |text: &str| searcher.search(&Query { ranking, ..query(Mode::Keyword, text, None, 99) }).unwrap();
    let places = |text: &str| -> Vec<(String, String)> {
        let place = |found: &FoundChunk| searcher.place(found.row);
        found(text).iter().map(|hit| (place(hit).document.doc_id.clone(), place(hit).header_path.to_owned())).collect()
    };
    for key in ["alpha", "beta", "gamma"] {
        assert_eq!(places(key), [("conf.yaml".to_owned(), "alpha".to_owned())], "{key}");
    }
    // The section before it is too small to be a chunk on its own.
    let zebra = places("zebra");
    assert!(zebra.len() == 1 && zebra[0] == ("guide.md".to_owned(), "Guide > Small".to_owned()), "{zebra:?}");
    // The first piece starts with its heading, and the others are under it.
    let omega = found("omega");
    assert!(omega.len() > 1 && omega.iter().skip(1).all(|hit| hit.score == omega[1].score), "{omega:?}");
    let twice = found("long");
    assert!(twice.iter().all(|hit| hit.score == twice[0].score), "{twice:?}");
}

#[test]
fn keywords_are_found_in_each_field_by_its_weight() {
    let home = folder(&[
        ("docs/content.md", "# One\n\nThe zebra sleeps.\n"),
        ("docs/heading.md", "# Zebra\n\n## Two\n\nIt sleeps.\n"),
        ("docs/tag.md", "---\ntags: [zebra]\n---\n# Three\n\nIt sleeps.\n"),
        ("docs/alias.md", "---\naliases: [The Zebra]\n---\n# Four\n\nIt sleeps.\n"),
        ("docs/none.md", "# Five\n\nIt sleeps. 斑马在睡觉。 ＺＥＢＲＡＳ; l’homme, snake_case\n"),
    ]);
    let searcher = searcher(dataset(home.path(), &["docs"], "heading-tokens"));
    let found = |text: &str, fields: FieldWeights| -> Vec<String> {
        let ranking = Ranking { fields, ..as_written() };
        let found = searcher.search(&Query { ranking, ..query(Mode::Keyword, text, None, 9) }).unwrap();
        let mut docs: Vec<String> = seen(&searcher, &found).into_iter().map(|(_, doc, _)| doc).collect();
        docs.sort();
        docs.dedup();
        docs
    };
    let all = FieldWeights::default();
    let none = no_field();
    assert_eq!(found("zebra", all), ["alias.md", "content.md", "heading.md", "tag.md"]);
    assert_eq!(found("zebra", FieldWeights { tags: Weight::ONE, ..none }), ["tag.md"]);
    assert_eq!(found("zebra", FieldWeights { aliases: Weight::ONE, ..none }), ["alias.md"]);
    assert_eq!(found("zebra", FieldWeights { headings: Weight::ONE, ..none }), ["heading.md"]);
    assert_eq!(found("zebra", none), Vec::<String>::new());
    // Unicode forms of one word, words without spaces, words with something between them.
    for text in ["zebras", "ZEBRAS", "马", "斑 马", "homme", "case", "snake", "SNAKE_CASE"] {
        assert_eq!(found(text, all), ["none.md"], "{text}");
    }
    let heavy: Weight = "9".parse().unwrap();
    let first = |fields| {
        let ranking = Ranking { fields, ..as_written() };
        let found = searcher.search(&Query { ranking, ..query(Mode::Keyword, "zebra", None, 1) }).unwrap();
        seen(&searcher, &found)[0].1.clone()
    };
    assert_eq!(first(FieldWeights { tags: heavy, ..all }), "tag.md");
    assert_eq!(first(FieldWeights { aliases: heavy, ..all }), "alias.md");
}

#[test]
fn no_query_is_a_syntax_error() {
    let home = varied();
    let searcher = searcher(dataset(home.path(), &["docs"], "heading-tokens"));
    let long = "word ".repeat(3000);
    for text in [
        "",
        "   ",
        "\"",
        "\"apples",
        "apples AND",
        "OR",
        "NOT apples",
        "title:apples",
        "+",
        "-apples",
        "(((",
        "a^",
        "a~2",
        "[a TO b]",
        "*",
        "?",
        "\\",
        "field:\"x",
        "\0",
        "🦀",
        "\u{301}",
        "SELECT * FROM chunks; --",
        &long,
        &"x".repeat(70_000),
    ] {
        searcher.search(&query(Mode::Keyword, text, None, 5)).unwrap();
    }
    let plain = searcher.search(&query(Mode::Keyword, "apples part", None, 50)).unwrap();
    let noisy = searcher.search(&query(Mode::Keyword, "+part^~ AND:\"apples\" (Apples)", None, 50)).unwrap();
    assert!(!plain.is_empty());
    assert_eq!(plain, noisy[..plain.len().min(noisy.len())], "no word is special");
    assert!(searcher.search(&query(Mode::Keyword, "?!", None, 5)).unwrap().is_empty());
}

#[test]
fn a_cached_search_finds_the_same_and_damage_is_seen() {
    let home = varied();
    let data = dataset(home.path(), &["docs"], "heading-tokens");
    let cache = home.path().join("cache");
    let vector = Coarse::vector("question");
    let headings = ["Doc 8", "Doc 9"].map(str::to_owned).to_vec();
    let filter = Filter { headings, paths: vec!["a/**".to_owned().into()], ..Filter::default() };
    let ask = |dataset: &Dataset, cache: Option<&Path>| {
        let searcher = Searcher::open(dataset.clone(), cache.map(Path::to_owned)).unwrap();
        let of = |mode, filter: &Filter| {
            let query = Query { filter: filter.clone(), ..query(mode, "upper apples 12", Some(&vector), 1000) };
            let found = searcher.search(&query).unwrap();
            let hits = searcher.hits(&found, true).unwrap();
            let places = found.iter().map(|found| format!("{:?}", searcher.place(found.row)));
            (seen(&searcher, &found), hits, places.collect::<Vec<_>>())
        };
        let all = Filter::default();
        (of(Mode::Keyword, &all), of(Mode::Hybrid, &all), of(Mode::Vector, &filter))
    };
    let fresh = ask(&data, None);
    let by_keyword = &fresh.0.0;
    assert!(by_keyword.len() > 50 && by_keyword.windows(2).any(|pair| pair[0].0 == pair[1].0), "with ties");
    let is_before =
        |pair: &[(f64, String, u32)]| pair[0].0 > pair[1].0 || (&pair[0].1, pair[0].2) < (&pair[1].1, pair[1].2);
    assert!(by_keyword.windows(2).all(is_before));
    assert!(!fresh.2.0.is_empty() && fresh.2.0.len() < fresh.1.0.len(), "the filter takes some");
    assert_eq!(ask(&data, None), fresh, "read again");
    assert_eq!(ask(&data, Some(&cache)), fresh, "read and kept");
    let kept = tree(&cache);
    assert_eq!(kept.len(), 3, "rows, vectors and keywords, nothing unfinished");
    assert_eq!(ask(&data, Some(&cache)), fresh, "taken from the cache");
    assert!(tree(&cache) == kept, "which is not written again");
    for (name, whole) in &kept {
        let file = cache.join(name);
        let step = whole.len() / 40;
        for at in (0..60).chain((0..whole.len()).step_by(step)).chain([whole.len() - 1]) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(ask(&data, Some(&cache)), fresh, "{name} damaged at {at}");
            assert!(fs::read(&file).unwrap() != damaged, "{name} damaged at {at} and written again");
        }
        for length in [0, 10, 60, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..length]).unwrap();
            assert_eq!(ask(&data, Some(&cache)), fresh, "{name} cut at {length}");
        }
        fs::write(&file, [whole, &b"more"[..]].concat()).unwrap();
        assert_eq!(ask(&data, Some(&cache)), fresh, "{name} with more");
    }
    // A cache that cannot be created is not a failure.
    fs::write(home.path().join("file"), "").unwrap();
    assert_eq!(ask(&data, Some(&home.path().join("file/below"))), fresh);
    // Another snapshot has other files, which replace those of the one before when these are old.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
    for (name, _) in tree(&cache) {
        fs::File::options().write(true).open(cache.join(name)).unwrap().set_modified(old).unwrap();
    }
    write(home.path(), "docs/new.md", b"# New\n\nupper apples 12\n");
    let changed = dataset(home.path(), &["docs"], "heading-tokens");
    let found = ask(&changed, Some(&cache));
    assert!(found.0.0.iter().any(|(_, doc, _)| doc == "new.md"));
    assert_eq!(found, ask(&changed, None));
    let names = |files: Vec<(String, Vec<u8>)>| files.into_iter().map(|(name, _)| name).collect::<HashSet<_>>();
    let replaced = names(tree(&cache));
    assert!(replaced.len() == 3 && replaced.is_disjoint(&names(kept)), "{replaced:?}");
    // Those of another place stay, until there are too many.
    for number in 0..30 {
        let copy = home.path().join(format!("copy{number}"));
        tree(changed.root().path()).iter().for_each(|(name, bytes)| write(&copy, name, bytes));
        assert_eq!(ask(&Dataset::open(&copy).unwrap(), Some(&cache)), found);
    }
    assert_eq!(tree(&cache).len(), 64, "the oldest are removed");
}

#[test]
fn processes_share_the_cache_of_indexes() {
    let home = varied();
    dataset(home.path(), &["docs"], "heading-tokens");
    let start = || {
        let mut command = program(home.path());
        command.args(["search", "out", "upper apples", "--mode", "keyword", "--json", "--search-cache", "cache"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    let ended: Vec<_> = running.into_iter().map(|child| finish(child.wait_with_output().unwrap())).collect();
    assert!(ended.iter().all(|end| end == &ended[0]), "{ended:?}");
    assert_eq!((ended[0].0, json_lines(&ended[0].1).len(), &*ended[0].2), (0, 5, ""));
    assert_eq!(tree(&home.path().join("cache")).len(), 2, "rows and keywords");
}

/// Returns each row's rank in the list of one mode.
fn ranks(searcher: &Searcher, mode: Mode, text: &str, vector: &[f32], depth: usize) -> HashMap<u32, usize> {
    let found = searcher.search(&Query { ranking: as_written(), ..query(mode, text, Some(vector), depth) }).unwrap();
    (1..).zip(found).map(|(rank, found)| (found.row, rank)).collect()
}

#[test]
fn hybrid_is_reciprocal_rank_fusion() {
    // Cormack, Clarke and Büttcher, SIGIR 2009: the sum over lists of 1 / (k + rank), here with weights.
    let home = varied();
    let searcher = searcher(dataset(home.path(), &["docs"], "heading-tokens"));
    let (text, vector) = ("lower apples 20", Coarse::vector("question"));
    for (k, depth, v, w) in [(60.0, 100, 1.0, 1.0), (0.0, 20, 0.5, 2.0), (10.0, 30, 1.0, 0.0), (10.0, 30, 0.0, 3.0)] {
        let weight = |value: f64| Weight::try_from(value).unwrap();
        let ranking = Ranking { rrf_k: weight(k), depth, vector: weight(v), keyword: weight(w), ..as_written() };
        let found = searcher.search(&Query { ranking, ..query(Mode::Hybrid, text, Some(&vector), 20) }).unwrap();
        let by_vector = ranks(&searcher, Mode::Vector, text, &vector, depth);
        let by_keyword = ranks(&searcher, Mode::Keyword, text, &vector, depth);
        let part = |ranks: &HashMap<u32, usize>, weight: f64, row| match ranks.get(&row) {
            Some(&rank) if weight > 0.0 => weight / (k + rank as f64),
            _ => 0.0,
        };
        let score = |row: u32| part(&by_vector, v, row) + part(&by_keyword, w, row);
        let rows: HashSet<u32> = by_vector.keys().chain(by_keyword.keys()).copied().collect();
        let mut expected: Vec<(f64, String, u32)> = rows
            .into_iter()
            .filter(|&row| score(row) > 0.0)
            .map(|row| (score(row), searcher.place(row).document.doc_id.clone(), searcher.place(row).chunk_index))
            .collect();
        expected.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (&a.1, a.2).cmp(&(&b.1, b.2))));
        expected.truncate(20);
        assert_eq!(seen(&searcher, &found), expected, "k {k}, depth {depth}, weights {v} and {w}");
        for found in found {
            let rank = |part: Option<chunkmill::search::Part>| part.and_then(|part| part.rank);
            assert_eq!(rank(found.parts.vector), by_vector.get(&found.row).copied().filter(|_| v > 0.0));
            assert_eq!(rank(found.parts.keyword), by_keyword.get(&found.row).copied().filter(|_| w > 0.0));
        }
    }
}

#[test]
fn recency_reorders_what_was_found() {
    let home = TempDir::new().unwrap();
    for number in 0..5_u64 {
        let name = format!("docs/{number}.md");
        write(home.path(), &name, format!("# Doc {number}\n\napples {number}\n\n## More\n\napples again\n").as_bytes());
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + number / 2 * 1000);
        fs::File::options().write(true).open(home.path().join(name)).unwrap().set_modified(time).unwrap();
    }
    write(home.path(), "docs/unrelated.md", b"# Other\n\npears\n");
    let searcher = searcher(dataset(home.path(), &["docs"], "heading-tokens"));
    let vector = Coarse::vector("x");
    let ranking = Ranking { vector: Weight::ZERO, recency: "1000".parse().unwrap(), ..as_written() };
    let found = searcher.search(&Query { ranking, ..query(Mode::Hybrid, "apples", Some(&vector), 99) }).unwrap();
    assert_eq!(found.len(), 10, "what is new but unrelated is not added");
    let order: Vec<(usize, f64, String)> = found
        .iter()
        .map(|found| {
            let recency = found.parts.recency.unwrap();
            (recency.rank.unwrap(), recency.score, searcher.place(found.row).document.doc_id.clone())
        })
        .collect();
    assert!(order.is_sorted_by_key(|(rank, ..)| *rank));
    assert!(order[..2].iter().all(|(rank, time, doc)| (*rank, *time, &**doc) == (1, 1_700_002_000.0, "4.md")));
    assert!(order[2..6].iter().all(|(rank, _, doc)| *rank == 3 && (doc == "2.md" || doc == "3.md")), "{order:?}");
    assert!(order[6..].iter().all(|(rank, ..)| *rank == 7));
}

#[test]
fn graph_brings_in_what_is_linked_with_the_best_hits_both_ways() {
    let home = folder(&[
        (
            "docs/hub.md",
            "# Hub\n\nxylophone, see [far](far.md#deep) and [[whole]] and [gone](gone.md) and [self](#hub)\n",
        ),
        ("docs/far.md", "# Far\n\nnothing\n\n## Deep\n\nof interest\n\n## Deeper\n\nneither\n"),
        ("docs/whole.md", "# Whole\n\nfirst\n\n## Second\n\nsecond\n"),
        ("docs/back.md", "# Back\n\nempty\n\n## Link\n\nback to [hub](hub.md)\n"),
        ("docs/two.md", "# Two\n\n[[back]] is two links away\n"),
    ]);
    let searcher = searcher(dataset(home.path(), &["docs"], "heading-tokens"));
    let vector = Coarse::vector("x");
    let ranking = Ranking { vector: Weight::ZERO, ..as_written() };
    let ask = |mode, ranking, filter| {
        let found = searcher.search(&Query { ranking, filter, ..query(mode, "xylophone", Some(&vector), 99) }).unwrap();
        let of = |found: FoundChunk| {
            let place = searcher.place(found.row);
            (place.document.doc_id.clone(), place.heading_path.last().unwrap().to_string(), found)
        };
        found.into_iter().map(of).collect::<Vec<_>>()
    };
    let hybrid = ask(Mode::Hybrid, ranking, Filter::default());
    assert_eq!(hybrid.len(), 1);
    let found = ask(Mode::Graph, ranking, Filter::default());
    let names: Vec<(&str, &str)> = found.iter().map(|(doc, heading, _)| (&**doc, &**heading)).collect();
    assert_eq!(names, [("hub.md", "Hub"), ("back.md", "Link"), ("far.md", "Deep"), ("whole.md", "Whole")]);
    for (rank, (.., found)) in found[1..].iter().enumerate() {
        let part = found.parts.graph.unwrap();
        assert_eq!((part.rank, part.score), (Some(rank + 1), 1.0 / 61.0), "the neighbour of the first hit");
        assert_eq!(found.score, 0.5 / (60.0 + (rank + 1) as f64));
    }
    let only = Filter { paths: vec!["whole.md".parse().unwrap(), "hub.md".parse().unwrap()], ..Filter::default() };
    assert_eq!(ask(Mode::Graph, ranking, only).len(), 2, "neighbours are filtered too");
    let without = Ranking { graph: Weight::ZERO, ..ranking };
    assert_eq!(ask(Mode::Graph, without, Filter::default()).len(), 1);
}

#[test]
fn documents_are_those_whose_best_chunk_reaches_the_threshold() {
    let home = varied();
    let searcher = searcher(dataset(home.path(), &["docs"], "heading-tokens"));
    let vector = Coarse::vector("what");
    let all = by_hand(&searcher, &vector, |_| true);
    let least = all[all.len() / 10].0;
    let mut expected: Vec<(String, f64, usize)> = Vec::new();
    for (score, doc, _) in &all {
        match expected.iter_mut().find(|(other, ..)| other == doc) {
            Some((.., chunks)) => *chunks += usize::from(*score >= least),
            None => expected.push((doc.clone(), *score, 1)),
        }
    }
    let ask =
        |k, min_score| searcher.documents(&Query { min_score, ..query(Mode::Vector, "", Some(&vector), k) }).unwrap();
    let passing: Vec<_> = expected.iter().filter(|(_, best, _)| *best >= least).cloned().collect();
    assert!(passing.len() > 3 && passing.len() < expected.len(), "{} of {}", passing.len(), expected.len());
    let short = |documents: Vec<chunkmill::search::DocumentHit>| -> Vec<(String, f64, usize)> {
        assert!(documents.iter().zip(1..).all(|(document, rank)| document.rank == rank));
        documents.into_iter().map(|hit| (hit.document.doc_id.clone(), hit.score, hit.chunks.len())).collect()
    };
    assert_eq!(short(ask(1000, Some(least))), passing);
    assert_eq!(short(ask(3, Some(least))), passing[..3]);
    let best: Vec<_> = expected.iter().map(|(doc, best, _)| (doc.clone(), *best, 1)).collect();
    assert_eq!(short(ask(7, None)), best[..7], "without a threshold, each with its best chunk");
    let chunks = Query { min_score: Some(least), ..query(Mode::Vector, "", Some(&vector), 10_000) };
    assert_eq!(searcher.search(&chunks).unwrap().len(), all.iter().filter(|(score, ..)| *score >= least).count());
    let hybrid = Query { ..query(Mode::Hybrid, "apples", Some(&vector), 4) };
    let documents = searcher.documents(&hybrid).unwrap();
    assert_eq!(documents.len(), 4);
    assert_eq!(documents[0].chunks[0].doc_id, documents[0].document.doc_id);
}

#[test]
fn an_empty_dataset_has_no_hits() {
    let home = TempDir::new().unwrap();
    write(home.path(), "docs/empty.md", b"");
    let searcher = searcher(dataset(home.path(), &["docs"], "ragdocs"));
    assert!(searcher.is_empty());
    let vector = Coarse::vector("x");
    for mode in Mode::ALL {
        assert!(searcher.search(&query(mode, "x", Some(&vector), 5)).unwrap().is_empty());
        assert!(searcher.documents(&query(mode, "x", Some(&vector), 5)).unwrap().is_empty());
    }
    let context = searcher.context(&[], 100, Packing::Rank).unwrap();
    assert_eq!((context.tokens, context.text.as_str(), context.passages.len()), (0, "", 0));
}

/// Returns documents of many shapes: sections that are split, CRLF, other scripts, repeated texts.
fn shapes() -> Vec<(String, String)> {
    let long = |n: usize| (0..n).map(|i| format!("Sentence number {i} of this rather long text. ")).collect::<String>();
    vec![
        ("long.md".into(), format!("# Long\n\n{}\n\n## Next\n\n{}\n\n{}\n", long(60), long(20), long(20))),
        ("crlf.md".into(), format!("# CR\r\n\r\n{}\r\n\r\n## LF\r\n\r\nshort\r\n", long(30))),
        (
            "cjk.md".into(),
            format!("# 汉字\n\n{}\n\n## 二\n\n{}\n", "这是一个很长的句子。".repeat(80), "短。".repeat(9)),
        ),
        ("lines.md".into(), (0..80).map(|i| format!("## H{i}\n\nline {i} 🦀\n\n")).collect()),
        ("copy-a.md".into(), "# Same\n\nthe very same words\n".into()),
        ("copy-b.md".into(), "# Same\n\nthe very same words\n".into()),
    ]
}

fn context_searcher(spec: &str) -> (TempDir, Searcher, Vec<(String, String)>) {
    let home = TempDir::new().unwrap();
    for (name, text) in shapes() {
        write(home.path(), &format!("docs/{name}"), text.as_bytes());
    }
    let searcher = searcher(dataset(home.path(), &["docs"], spec));
    (home, searcher, shapes())
}

#[test]
fn nearly_the_same_text_of_two_documents_is_handed_over_once_unless_it_says_something_else() {
    let home = TempDir::new().unwrap();
    let words: Vec<String> = (0..120)
        .map(|i| {
            [i / 26, i % 26].map(|at| char::from(b'a' + u8::try_from(at).unwrap())).iter().collect::<String>() + "ord"
        })
        .collect();
    let text = |days: usize| format!("{} Backups are kept for {days} days, then they go.", words.join(" "));
    let page = |plan: &str, text: &str| format!("# Plan {plan}\n\n{text}\n");
    let nearly = text(30).replacen("then they go", "and then they go", 1);
    for (name, page) in [
        ("a.md", page("one", &text(30))),
        ("mirror.md", page("one", &nearly)),
        ("other-number.md", page("one", &text(60))),
        ("other-plan.md", page("two", &nearly)),
    ] {
        write(home.path(), &format!("docs/{name}"), page.as_bytes());
    }
    let searcher = searcher(dataset(home.path(), &["docs"], "heading-tokens max=400 overlap=0"));
    let all: Vec<FoundChunk> = (0..u32::try_from(searcher.len()).unwrap())
        .map(|row| FoundChunk { row, score: 1.0, parts: Default::default(), chance: None })
        .collect();
    let context = searcher.context(&all, 100_000, Packing::Rank).unwrap();
    let paths: Vec<&str> = context.passages.iter().map(|passage| passage.path.as_str()).collect();
    assert_eq!(paths.len() + 1, all.len(), "{paths:?}");
    assert!(!(paths.contains(&"a.md") && paths.contains(&"mirror.md")), "{paths:?}");
    assert!(paths.contains(&"other-number.md") && paths.contains(&"other-plan.md"), "{paths:?}");
}

#[test]
fn vectors_that_are_stored_in_fewer_bits_or_dimensions_score_as_that_store_would() {
    for (text, bytes) in [
        ("f32", 1536),
        ("int8", 384),
        ("bits", 48),
        ("f32@100", 400),
        ("bits@100", 13),
        ("f32,bits", 1584),
        ("int8@999", 384),
    ] {
        let stored: StoredAs = text.parse().unwrap();
        assert_eq!((stored.to_string().as_str(), stored.bytes(384)), (text, bytes));
    }
    for text in ["int4", "f32@0", "@3", "bits@x", "f32,f16", ""] {
        assert!(text.parse::<StoredAs>().is_err(), "{text}");
    }
    let (_folder, searcher, _) = context_searcher("heading-tokens max=60 overlap=20");
    let dataset = searcher.dataset().clone();
    let vector = |searcher: &Searcher, row: usize, query: &[f32]| {
        let all = Query { mode: Mode::Vector, vector: Some(query), k: searcher.len(), ..Query::default() };
        searcher.search(&all).unwrap().into_iter().find(|found| found.row as usize == row).unwrap().score
    };
    let dim = dataset.manifest().representations()[0].dim;
    // A question that is one of the axes reveals one value of each vector.
    let values = |stored: &str, row: usize| -> Vec<f64> {
        let searcher = Searcher::open_as(dataset.clone(), None, stored.parse().unwrap()).unwrap();
        let axis = |at: usize| (0..dim).map(|other| f32::from(u8::from(other == at))).collect::<Vec<f32>>();
        (0..dim).map(|at| vector(&searcher, row, &axis(at))).collect()
    };
    let full = values("f32", 0);
    let length = full[..4].iter().map(|value| value * value).sum::<f64>().sqrt();
    for (at, value) in values("f32@4", 0).into_iter().enumerate() {
        let expected = if at < 4 { full[at] / length } else { 0.0 };
        assert!((value - expected).abs() < 1e-6, "{at}: {value} {expected}");
    }
    let size = 1.0 / (dim as f64).sqrt();
    for (binary, value) in values("bits", 0).into_iter().zip(&full) {
        assert!((binary - if *value > 0.0 { size } else { -size }).abs() < 1e-6);
    }
    let rows = searcher.len().min(20);
    let most =
        (0..searcher.len()).flat_map(|row| values("f32", row)).fold(0.0, |most: f64, value| most.max(value.abs()));
    for row in 0..rows {
        for (int8, value) in values("int8", row).into_iter().zip(values("f32", row)) {
            assert!((int8 - value).abs() <= most / 254.0 + 1e-6, "{int8} {value}");
            assert!((int8 / (most / 127.0)).fract().abs().min(1.0 - (int8 / (most / 127.0)).fract().abs()) < 1e-3);
        }
    }
}

#[test]
fn a_context_is_never_over_its_budget_and_holds_no_byte_twice() {
    for spec in [
        "heading-tokens max=60 overlap=20",
        "ragdocs max=400 overlap=80 parent_headers=true",
        "windows max=50 overlap=10",
        "sections",
        "none",
        "line-threshold min=10",
    ] {
        let (_home, searcher, documents) = context_searcher(spec);
        let reference = tiktoken_rs::cl100k_base().unwrap();
        let mut merged = 0;
        for budget in [0, 1, 10, 30, 60, 100, 250, 500, 1000, 3000, 100_000] {
            for (question, packing) in
                [("a", Packing::Rank), ("b", Packing::Rank), ("a", Packing::Evidence), ("c", Packing::Evidence)]
            {
                let vector = Coarse::vector(question);
                let found = searcher.search(&query(Mode::Vector, "", Some(&vector), 60)).unwrap();
                let context = searcher.context(&found, budget, packing).unwrap();
                assert!(context.tokens <= budget, "{spec}: {} of {budget}", context.tokens);
                assert_eq!(context.tokens, reference.encode_ordinary(&context.text).len(), "{spec}");
                let mut taken: HashMap<&str, Vec<[u64; 2]>> = HashMap::new();
                for passage in &context.passages {
                    let text = &documents.iter().find(|(name, _)| *name == passage.path).unwrap().1;
                    let slice = |[from, to]: [u64; 2]| &text[from as usize..to as usize];
                    let mut rest = &passage.content[..];
                    for (at, &range) in passage.ranges.iter().enumerate() {
                        // Between two ranges there is white space that we added.
                        rest = if at == 0 { rest } else { &rest[rest.find(slice(range)).unwrap()..] };
                        assert!(rest.starts_with(slice(range)), "{spec}: the document's own bytes");
                        rest = &rest[slice(range).len()..];
                        taken.entry(&passage.path).or_default().push(range);
                    }
                    assert_eq!(rest, "", "{spec}: and nothing else");
                    let first = 1 + text[..passage.ranges[0][0] as usize].matches('\n').count() as u32;
                    assert_eq!(passage.start_line, first, "{spec}: {}", passage.citation);
                    let label =
                        format!("[{}] {}:{}-{}", passage.number, passage.path, passage.start_line, passage.end_line);
                    assert!(
                        context.text.contains(&label) && context.text.contains(passage.content.trim_end()),
                        "{label}"
                    );
                    let (above, title) = passage.header_path.rsplit_once(" > ").unwrap_or(("", &passage.header_path));
                    let starts = passage.content.trim_start().lines().next().unwrap_or_default();
                    let bare = |text: &str| text.trim_matches(['#', ' ']).to_owned();
                    let path = if bare(starts) == bare(title) { above } else { &passage.header_path };
                    let label = format!("{label}  {path}").trim_end().to_owned() + "\n";
                    assert!(context.text.contains(&label), "{label:?} in {}", context.text);
                }
                for ranges in taken.values_mut() {
                    ranges.sort_unstable();
                    assert!(ranges.windows(2).all(|pair| pair[0][1] <= pair[1][0]), "{spec}: {ranges:?}");
                }
                let by_document: Vec<_> = context.passages.chunk_by(|a, b| a.path == b.path).collect();
                let best = |passages: &[Passage]| passages.iter().map(|passage| passage.rank).min();
                assert!(
                    by_document.is_sorted_by_key(|passages| best(passages)),
                    "the document with the best hit first"
                );
                assert!(by_document.iter().all(|passages| passages.is_sorted_by_key(|passage| passage.start_line)));
                assert_eq!(by_document.len(), taken.len(), "those of a document together");
                merged += found.len() - context.left_out - context.passages.len();
                if budget == 100_000 {
                    let copies = context.text.matches("the very same words").count();
                    assert!(copies <= 1, "a text that two documents share is there once");
                }
            }
        }
        assert!(merged > 0 || spec == "none", "{spec}: no neighbours were merged");
    }
}

#[test]
fn neighbours_become_one_passage_and_the_first_lines_stand_for_a_chunk_that_is_too_large() {
    let (_home, searcher, documents) = context_searcher("heading-tokens max=60 overlap=20");
    let all: Vec<FoundChunk> = (0..u32::try_from(searcher.len()).unwrap())
        .filter(|&row| searcher.place(row).document.path == "long.md")
        .map(|row| FoundChunk { row, score: 1.0, parts: Default::default(), chance: None })
        .collect();
    assert!(all.len() > 5);
    let context = searcher.context(&all.iter().rev().copied().collect::<Vec<_>>(), 100_000, Packing::Rank).unwrap();
    assert_eq!(context.passages.len(), 1);
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(squeeze(&context.passages[0].content), squeeze(&documents[0].1), "the whole document, once");
    assert_eq!(context.passages[0].header_path, "Long");
    assert_eq!(context.left_out, 0);

    let (_home, searcher, _) = context_searcher("none");
    let row = (0..6).find(|&row| searcher.place(row).document.path == "lines.md").unwrap();
    let whole = [FoundChunk { row, score: 1.0, parts: Default::default(), chance: None }];
    let context = searcher.context(&whole, 100, Packing::Rank).unwrap();
    let passage = &context.passages[0];
    assert!(passage.cut && context.tokens <= 100 && context.tokens > 80, "{context:?}");
    assert!(shapes()[3].1.starts_with(&passage.content));
    assert_eq!(passage.content.matches('\n').count() as u32, passage.end_line);
    assert!(!searcher.context(&whole, 100_000, Packing::Rank).unwrap().passages[0].cut);
    assert_eq!(searcher.context(&whole, 3, Packing::Rank).unwrap().text, "");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_hits_in_any_order_make_a_context_within_its_budget(
        seed in 0_usize..1000, step in 1_usize..7, budget in 0_usize..900, evidence: bool,
    ) {
        use std::sync::OnceLock;
        static SEARCHER: OnceLock<(TempDir, Searcher)> = OnceLock::new();
        let open = |(home, searcher, _)| (home, searcher);
        let (_, searcher) = SEARCHER.get_or_init(|| open(context_searcher("ragdocs min=20 max=200 overlap=60")));
        let rows = (0..searcher.len()).map(|at| (seed + at * step) % searcher.len()).take(40);
        let mut seen = HashSet::new();
        let found: Vec<FoundChunk> = rows
            .filter(|row| seen.insert(*row))
            .map(|row| FoundChunk { row: row as u32, score: 1.0, parts: Default::default(), chance: None })
            .collect();
        let packing = if evidence { Packing::Evidence } else { Packing::Rank };
        let context = searcher.context(&found, budget, packing).unwrap();
        prop_assert!(context.tokens <= budget);
        prop_assert_eq!(context.tokens, cl100k().count(&context.text).unwrap());
        let mut ranges: Vec<(&str, [u64; 2])> =
            context.passages.iter().flat_map(|p| p.ranges.iter().map(|range| (&*p.doc_id, *range))).collect();
        ranges.sort_unstable();
        prop_assert!(ranges.windows(2).all(|pair| pair[0].0 != pair[1].0 || pair[0].1[1] <= pair[1].1[0]));
    }
}

#[test]
fn the_program_searches_in_every_mode_and_shows_parts_documents_and_citations() {
    let home = folder(&[
        (
            "docs/fruit.md",
            "---\ntags: [food]\npromotion_level: standard\n---\n# Fruit\n\napples and pears, see [cars](cars.md)\n",
        ),
        ("docs/cars.md", "# Cars\n\nengines and wheels\n"),
        ("docs/sub/tree.md", "# Trees\n\napples grow on trees\n"),
    ]);
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 0);
    let search = |more: &[&str]| {
        let args = [&["search", "out", "apples and pears", "--json"], more].concat();
        let (code, out, err) = run(home.path(), &args);
        assert_eq!(code, 0, "{err}");
        json_lines(&out)
    };
    for mode in ["vector", "keyword", "hybrid", "graph"] {
        let hits = search(&["--mode", mode]);
        assert_eq!(hits[0]["citation"], "fruit.md:5-7", "{mode}");
        assert_eq!(hits[0]["scores"]["vector"].is_object(), mode != "keyword", "{mode}");
        assert_eq!(hits[0]["scores"]["keyword"].is_object(), mode != "vector", "{mode}");
        assert!(hits[0].get("document").is_none());
        assert!(hits.iter().zip(1..).all(|(hit, rank)| hit["rank"] == rank));
    }
    assert!(
        search(&[
            "--mode",
            "graph",
            "--fusion",
            "rrf",
            "--language",
            "none",
            "--document-weight",
            "0",
            "--vector-weight",
            "0"
        ])
        .iter()
        .any(|hit| hit["scores"]["graph"]["rank"] == 1)
    );
    let both = search(&["--show", "both", "-k", "1"]);
    assert_eq!((&both[0]["document"]["title"], &both[0]["document"]["tags"][0]), (&"Fruit".into(), &"food".into()));
    assert!(both[0]["document"]["modified_time"].as_str().unwrap().ends_with('Z'));
    let documents = search(&["--show", "documents", "--mode", "keyword", "--min-score", "0.5"]);
    assert_eq!((&documents[0]["doc_id"], &documents[0]["chunks"][0]["path"]), (&"fruit.md".into(), &"fruit.md".into()));
    assert!(search(&["--mode", "keyword", "--min-score", "1000"]).is_empty());
    for filter in [["--tag", "food"], ["--promotion-level", "standard"], ["--path", "fr*"], ["--heading", "Fruit"]] {
        let hits = search(&filter);
        assert!(hits.len() == 1 && hits[0]["doc_id"] == "fruit.md", "{filter:?}");
    }
    assert_eq!(search(&["--path", "sub", "--path", "cars.md"]).len(), 2);
    assert!(search(&["--collection", "other"]).is_empty());
    let (code, _, err) = run(home.path(), &["search", "out", "x", "--path", "a[", "--mode", "keyword"]);
    assert!(code == 2 && err.contains("path"), "{err}");
    let (_, out, _) = run(home.path(), &["search", "out", "apples", "--show", "documents", "--mode", "keyword"]);
    assert!(out.contains("fruit.md  Fruit\n") && out.contains("fruit.md:5-7  Fruit"), "{out}");

    let (code, out, _) = run(home.path(), &["context", "out", "apples", "--budget", "60", "--mode", "hybrid"]);
    assert!(code == 0 && out.starts_with("[1] ") && cl100k().count(&out).unwrap() <= 60, "{out}");
    let (_, out, _) = run(home.path(), &["context", "out", "apples", "--budget", "60", "--mode", "keyword", "--json"]);
    let context = &json_lines(&out)[0];
    assert_eq!(context["passages"][0]["number"], 1);
    assert_eq!(context["tokens"], cl100k().count(context["text"].as_str().unwrap()).unwrap());
    let (code, out, err) = run(home.path(), &["context", "out", "apples", "--budget", "2", "--mode", "keyword"]);
    assert!(code == 0 && out.is_empty() && err.contains("raise --budget"), "{err}");
    assert_eq!(run(home.path(), &["context", "out", "apples", "--budget", "0"]).0, 2);
}

#[test]
fn keyword_search_needs_no_model_and_settings_come_from_file_and_environment() {
    let home = folder(&[("docs/a.md", "the cat"), ("docs/b.md", "the dog")]);
    tiny_model(&home.path().join("tiny"));
    assert_eq!(run(home.path(), &["index", "docs", "-o", "out", "--model", "tiny"]).0, 0);
    fs::remove_dir_all(home.path().join("tiny")).unwrap();
    let (code, out, err) =
        run(home.path(), &["search", "out", "cat", "--mode", "keyword", "--json", "--document-weight", "0"]);
    assert_eq!((code, json_lines(&out).len()), (0, 1), "{err}");
    assert_eq!(run(home.path(), &["search", "out", "cat"]).0, 5, "the other modes do");
    write(home.path(), "mine.toml", b"[search]\nmode = \"keyword\"\ncontent_weight = 2.5\nsearch_cache = \"kept\"\n");
    let ask = ["search", "out", "cat", "--config", "mine.toml"];
    let plain = ["--json", "--headings-weight", "0", "--document-weight", "0"];
    let (_, doubled, err) = run(home.path(), &[&ask[..], &plain].concat());
    let score = |out: &str| json_lines(out)[0]["score"].as_f64().unwrap();
    assert!((score(&doubled) / score(&out) - 2.5).abs() < 1e-6, "{err}");
    assert!(!home.path().join("kept").exists(), "the environment says off");
    let mut command = program(home.path());
    command.args(ask).env_remove("CHUNKMILL_SEARCH_CACHE").env("CHUNKMILL_CONTENT_WEIGHT", "-1");
    let (code, _, err) = finish(command.output().unwrap());
    assert!(code == 2 && err.contains("CHUNKMILL_CONTENT_WEIGHT") && err.contains("-1"), "{err}");
    let mut command = program(home.path());
    command.args(ask).env_remove("CHUNKMILL_SEARCH_CACHE");
    assert_eq!(finish(command.output().unwrap()).0, 0);
    assert_eq!(tree(&home.path().join("kept")).len(), 2, "rows and keywords");
}

#[test]
fn front_matter_is_found_shown_and_counted() {
    let home = folder(&[
        ("docs/backup.md", "---\nowner: me\nversion: 1.10\nkeep: [1, yes]\n---\n# Backup\n\nHow to back up a vault.\n"),
        ("docs/plain.md", "# Plain\n\nAnother vault.\n"),
        ("docs/only.md", "---\ntitle: Harvest plan\ndescription: The zebra harvest starts in week 34.\n---\n"),
        ("docs/broken.md", "---\ntitle: Get-It: the guide\ntags: [no]\nowner: you\n---\n# A\n\nsome text\n"),
    ]);
    let index = |more: &[&str]| {
        let args = [&["index", "docs", "-o", "out", "--embedder", "fake"], more].concat();
        let (code, out, err) = run(home.path(), &args);
        assert_eq!(code, 0, "{err}");
        (out, err)
    };
    let (out, err) = index(&[]);
    let said = "front matter of 1 document is not valid and was read line by line (flag `malformed_front_matter`";
    assert!(out.contains(said) && !err.contains("broken.md"), "{out} {err}");
    // The same for what a later run finds unchanged.
    assert!(index(&["-v"]).1.contains("the front matter of broken.md is not valid"));
    let summary: serde_json::Value = serde_json::from_str(&index(&["--json"]).0).unwrap();
    assert_eq!(summary["malformed_front_matter"], 1);

    let search = |text: &str, more: &[&str]| {
        let args = [&["search", "out", text, "--mode", "keyword", "--json"], more].concat();
        json_lines(&run(home.path(), &args).1)
    };
    let hits = search("vault", &["--show", "both"]);
    let of = |path: &str| hits.iter().find(|hit| hit["path"] == path).unwrap()["metadata"].to_string();
    assert_eq!(of("backup.md"), r#"{"keep":[1,"yes"],"owner":"me","version":"1.10"}"#);
    assert_eq!(of("plain.md"), "{}");
    assert!(search("vault", &["--show", "documents"])[0]["chunks"][0]["metadata"].is_object());
    assert_eq!(search("get", &[])[0]["metadata"]["owner"], "you");
    let tagged = search("text", &["--tag", "no"]);
    assert_eq!((tagged.len(), &tagged[0]["path"]), (1, &"broken.md".into()));
    for word in ["zebra", "harvest"] {
        let found = search(word, &[]);
        let paths: Vec<_> = found.iter().map(|hit| hit["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["only.md"], "{word}");
    }
    assert_eq!(run(home.path(), &["verify", "out", "--corpus", "docs"]).0, 0);
}
