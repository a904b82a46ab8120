//! Synthetic questions: that their labels fit, what they ask and what counts as an answer, which ones are chosen,
//! and what is rejected.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chunkmill_eval::labels::set::{LabelSet, PlaceState, Query, Reference, SYNTHETIC};
use tempfile::TempDir;

use crate::common::{arg, eval, folder, shared, tree};

/// Runs `synth` on a corpus into a new folder and checks the labels. Returns the labels, standard output and error,
/// and the folder.
fn synth(corpus: &Path, more: &[&str]) -> (LabelSet, String, String, TempDir) {
    let home = TempDir::new().unwrap();
    let set = home.path().join("set");
    let (code, out, err) = eval(&[&["synth", arg(corpus), "-o", arg(&set)], more].concat());
    assert_eq!(code, 0, "{err}");
    let labels = LabelSet::read(&set).unwrap();
    check(&labels);
    (labels, out, err, home)
}

fn larder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder/corpus")
}

/// Asserts that every label fits, and that no two questions have the same text or overlapping evidence.
fn check(labels: &LabelSet) {
    let corpus = labels.corpus().unwrap();
    for checked in labels.check(&corpus) {
        assert_eq!(checked.state, PlaceState::Valid, "{:?}", labels.queries[checked.query]);
    }
    let texts: BTreeSet<String> = labels.queries.iter().map(|query| query.text.to_lowercase()).collect();
    assert_eq!(texts.len(), labels.queries.len(), "no question is asked twice");
    let mut taken: BTreeMap<&str, Vec<std::ops::Range<usize>>> = BTreeMap::new();
    for query in &labels.queries {
        assert_eq!(query.tags.len(), 2);
        assert_eq!(query.tags[0], SYNTHETIC);
        assert!(query.is_synthetic() && query.id.starts_with(&format!("synthetic-{}-", query.tags[1])), "{query:?}");
        let evidence = query.references.iter().flat_map(Reference::places).map(|place| place.quote.as_ref().unwrap());
        let size: usize = evidence.clone().map(|quote| quote.text.chars().count()).sum();
        assert!((80..=1500).contains(&size), "{query:?}");
        for quote in evidence {
            assert_eq!(quote.text, quote.text.trim());
            let others = taken.entry(&query.references[0].any[0][0].doc_id).or_default();
            assert!(others.iter().all(|other| other.end <= quote.range.start || quote.range.end <= other.start));
            others.push(quote.range.clone());
            let copies = corpus.texts.values().map(|text| text.matches(&quote.text).count()).sum::<usize>();
            assert!(copies == 1 || quote.text.len() < 60, "evidence of {query:?} occurs {copies} times");
        }
    }
}

fn quotes(query: &Query) -> Vec<&str> {
    query
        .references
        .iter()
        .flat_map(Reference::places)
        .map(|place| place.quote.as_ref().unwrap().text.as_str())
        .collect()
}

#[test]
fn our_corpus_gives_every_kind_and_labels_that_fit() {
    let (labels, out, err, home) = synth(&larder(), &["--queries", "120"]);
    assert_eq!((labels.queries.len(), err.as_str()), (120, ""));
    assert!(out.contains(": 120 synthetic questions (40 heading, 40 sentence, 40 title) about "), "{out}");
    assert_eq!(tree(&home.path().join("set/corpus")), tree(&larder()), "the corpus is copied byte for byte");
    let (code, out, _) = eval(&["verify", arg(&home.path().join("set"))]);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("120 synthetic queries, made from the text "), "{out}");
}

#[test]
fn real_documents_give_labels_that_fit() {
    let Some(root) = shared("anthropic_docs/corpus") else { return };
    let (labels, ..) = synth(&root, &["--queries", "150"]);
    assert_eq!(labels.queries.len(), 150);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    let files = |more: &[&str]| {
        let (.., home) = synth(&larder(), more);
        tree(&home.path().join("set"))
    };
    let first = files(&["--queries", "60", "--seed", "7"]);
    assert_eq!(files(&["--queries", "60", "--seed", "7"]), first);
    assert_eq!(files(&["--queries", "60", "--seed", "7", "--kinds", "title,sentence,heading"]), first);
    assert_ne!(files(&["--queries", "60", "--seed", "8"]), first);
    // Roots in another order mean documents in another order.
    let root = |name: &str| format!("{name}={}", arg(&larder().join(name)));
    let (manual, other) = (root("guide"), root("operate"));
    let set = |roots: [&str; 2]| {
        let home = TempDir::new().unwrap();
        let set = home.path().join("set");
        assert_eq!(eval(&["synth", roots[0], roots[1], "-o", arg(&set)]).0, 0);
        tree(&set)
    };
    let files = set([&manual, &other]);
    assert_eq!(set([&other, &manual]), files);
    assert!(files.iter().any(|(name, _)| name == "corpus/guide/plans.md"));
}

#[test]
fn questions_are_spread_evenly_over_documents() {
    // One document with forty sections, and five with four each.
    let topics = ["badger", "heron", "otter", "falcon", "lynx"];
    let sections = |topic: &str, count: usize| -> String {
        let section = |n: usize| {
            let word = format!("{topic}{}", ('a'..='z').nth(n % 26).unwrap());
            format!(
                "## The {word}{n} habitat\n\nEvery {word}{n} digs {topic}-burrows{n} near rivers{n} and sleeps{n} {topic}-like \
                 through winter{n}, unless {topic}{n} hunters{n} disturb it.\n\n"
            )
        };
        (0..count).map(section).collect()
    };
    let mut files: Vec<(String, String)> =
        topics.iter().map(|topic| (format!("{topic}.md"), sections(topic, 4))).collect();
    files.push(("all.md".to_owned(), sections("walrus", 40)));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let corpus = folder(&files);
    let (labels, out, ..) = synth(corpus.path(), &["--queries", "18", "--kinds", "heading"]);
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    labels
        .queries
        .iter()
        .for_each(|query| *asked.entry(query.references[0].any[0][0].doc_id.as_str()).or_default() += 1);
    assert_eq!(asked.into_values().collect::<Vec<_>>(), [3; 6]);
    assert!(out.contains("about 6 of 6 documents"), "{out}");
    // If there are more questions, the short documents provide all they have and the long one provides the rest.
    let (labels, ..) = synth(corpus.path(), &["--queries", "30", "--kinds", "heading"]);
    let long = labels.queries.iter().filter(|query| query.references[0].any[0][0].doc_id == "all.md").count();
    assert_eq!((labels.queries.len(), long), (30, 10));
}

const GUIDE: &str = "# Keeping vaults\n\n\
## Options\n\nThe flag `--lazy-unlock` keeps the vault closed until somebody asks for a file, which saves memory.\n\n\
## Rotating a key\n\nA vault key is replaced in three steps. First the server writes a fresh key beside the worn one. \
Afterwards every crate is sealed again with the fresh key, slowly, while backups continue. \
The worn key is destroyed when nothing depends on it.\n\n\
## Options\n\nRotation takes a rate limit and a time window, both of which default to none on a quiet machine.\n\n\
## 2. Losing the passphrase\n\nNobody can open the vault any more, so print the recovery sheet and lock it away.\n\n\
## 2024-05-01\n\nThis heading is a date and says nothing about what people look for in the text below it.\n\n\
## Tiny\n\nToo little.\n";

#[test]
fn a_heading_asks_for_its_section_and_takes_context_where_it_says_little() {
    let corpus = folder(&[("guide.md", GUIDE)]);
    let (labels, _, err, _) = synth(corpus.path(), &["--kinds", "heading"]);
    let asked: BTreeMap<&str, Vec<&str>> =
        labels.queries.iter().map(|query| (query.text.as_str(), quotes(query))).collect();
    // There are two `Options`, both with the same title before them: nobody could tell which one is meant.
    assert_eq!(asked.keys().collect::<Vec<_>>(), [&"Losing the passphrase", &"Rotating a key"]);
    assert!(asked["Rotating a key"][0].starts_with("A vault key is replaced"), "{asked:?}");
    assert!(asked["Rotating a key"][0].ends_with("depends on it."));
    assert!(err.contains("WARN 2 questions, not 200"), "{err}");

    let other =
        GUIDE.replace("vault", "barrel").replace("Keeping", "Rolling").replace("## Options\n\nThe", "## Notes\n\nThe");
    let other = other.replace("rate limit and a time window", "speed bound or some hours of the night");
    let corpus =
        folder(&[("guide.md", &GUIDE.replace("## Options\n\nRotation", "## Rates\n\nRotation")), ("other.md", &other)]);
    let (labels, ..) = synth(corpus.path(), &["--kinds", "heading"]);
    let asked: BTreeSet<&str> = labels.queries.iter().map(|query| query.text.as_str()).collect();
    assert!(asked.contains("Rolling barrels: Options"), "{asked:?}");
}

#[test]
fn the_sentence_that_asks_is_no_evidence() {
    let corpus = folder(&[("guide.md", GUIDE)]);
    let (labels, ..) = synth(corpus.path(), &["--kinds", "sentence"]);
    assert_eq!(labels.queries.len(), 1);
    let query = &labels.queries[0];
    assert_eq!(query.text, "sealed again with the fresh key slowly while backups continue");
    assert_eq!(
        quotes(query),
        [
            "A vault key is replaced in three steps. First the server writes a fresh key beside the worn one.",
            "The worn key is destroyed when nothing depends on it."
        ]
    );
    let (labels, ..) = synth(&larder(), &["--kinds", "sentence"]);
    for query in &labels.queries {
        assert!((2..=10).contains(&query.text.split(' ').count()), "{query:?}");
        assert!(quotes(query).iter().all(|quote| !quote.contains(&query.text)), "{query:?}");
    }
}

#[test]
fn a_title_question_names_a_term_where_it_is_introduced() {
    let guide = format!(
        "{GUIDE}\n## Later\n\nAgain `--lazy-unlock` is named here, but people who read on know it already by now.\n"
    );
    let corpus = folder(&[("guide.md", &guide), ("other.md", "# Other\n\nNothing of interest stands in this one.\n")]);
    let (labels, ..) = synth(corpus.path(), &["--kinds", "title"]);
    let asked: Vec<(&str, Vec<&str>)> =
        labels.queries.iter().map(|query| (query.text.as_str(), quotes(query))).collect();
    let (_, evidence) = asked.iter().find(|(text, _)| *text == "Keeping vaults: lazy-unlock").expect("the term");
    assert_eq!(
        evidence,
        &["The flag `--lazy-unlock` keeps the vault closed until somebody asks for a file, which saves memory."]
    );
}

#[test]
fn what_stands_in_two_places_is_not_asked_for() {
    let once = folder(&[("a.md", GUIDE), ("b.md", "# Else\n\nNothing.\n")]);
    assert!(!synth(once.path(), &[]).0.queries.is_empty());
    // The same document again, with some words changed.
    let copy = GUIDE.replace("slowly", "carefully").replace("print the", "keep a");
    let twice = folder(&[("a.md", GUIDE), ("b.md", &copy)]);
    let home = TempDir::new().unwrap();
    let (code, _, err) = eval(&["synth", arg(twice.path()), "-o", arg(&home.path().join("set"))]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("no question can be made from 2 documents") && err.contains("help: "), "{err}");
}

#[test]
fn marks_line_ends_and_front_matter_stay_where_they_are() {
    let windows = format!("\u{feff}---\ntitle: Vault keeping by hand\n---\n{GUIDE}").replace('\n', "\r\n");
    let wide: Vec<u8> = [0xFF, 0xFE].into_iter().chain(GUIDE.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let questions = |guide: &[u8]| {
        let corpus = folder(&[("plain.txt", PLAIN)]);
        fs::write(corpus.path().join("guide.md"), guide).unwrap();
        fs::write(corpus.path().join("broken.md"), b"# \xff\xfe\n").unwrap();
        let (labels, _, err, home) = synth(corpus.path(), &[]);
        assert!(err.contains("WARN broken.md is not in the set: it is not valid UTF-8"), "{err}");
        assert_eq!(fs::read(home.path().join("set/corpus/guide.md")).unwrap(), guide);
        assert!(!home.path().join("set/corpus/broken.md").exists());
        assert_eq!(eval(&["verify", arg(&home.path().join("set"))]).0, 0);
        assert!(labels.queries.iter().any(|query| query.references[0].any[0][0].doc_id == "plain.txt"));
        labels.queries.into_iter().map(|query| query.text).collect::<BTreeSet<_>>()
    };
    let plain = questions(GUIDE.as_bytes());
    assert!(plain.len() >= 4, "{plain:?}");
    assert_eq!(questions(&wide), plain);
    let titled = plain.into_iter().map(|text| text.replace("Keeping vaults", "Vault keeping by hand")).collect();
    assert_eq!(questions(windows.as_bytes()), titled);
}

const PLAIN: &str = "Marmots greet each other at dawn.\nThey whistle when an eagle circles above the scree and vanish below.\n\
Shepherds count on that alarm. It has saved many lambs in the high valleys since anyone can remember.\n";

#[test]
fn what_people_have_asked_is_not_replaced() {
    let corpus = folder(&[("guide.md", GUIDE)]);
    let home = TempDir::new().unwrap();
    let set = home.path().join("set");
    let run = |more: &[&str]| eval(&[&["synth", arg(corpus.path()), "-o", arg(&set)], more].concat());
    assert_eq!(run(&[]).0, 0);
    assert_eq!(run(&["--seed", "2"]).0, 0, "a synthetic set is replaced");
    let queries = set.join("queries.jsonl");
    let real = fs::read_to_string(&queries).unwrap().replacen("\"synthetic\",", "", 1);
    fs::write(&queries, &real).unwrap();
    let (code, _, err) = run(&[]);
    assert_eq!(code, 2);
    assert!(err.contains("were not made by synth") && err.contains("-o"), "{err}");
    assert_eq!(fs::read_to_string(&queries).unwrap(), real);
}

#[test]
fn what_is_wrong_is_said() {
    let home = TempDir::new().unwrap();
    let set = home.path().join("set");
    let corpus = folder(&[("guide.md", GUIDE)]);
    let tiny = folder(&[("a.md", "# Hello\n\nWorld.\n")]);
    let empty = folder(&[]);
    for (args, problem) in [
        (vec![arg(tiny.path())], "no question can be made from 1 document\n"),
        (vec![arg(empty.path())], ""),
        (vec![arg(corpus.path()), "--queries", "0"], "--queries"),
        (
            vec![arg(corpus.path()), "--kinds", "heading,poem"],
            "`poem` is not a kind of question; one of: heading, sentence, title",
        ),
        (vec![arg(&home.path().join("none"))], "none"),
    ] {
        let (code, _, err) = eval(&[&["synth", "-o", arg(&set)], &args[..]].concat());
        assert_eq!(code, 2, "{args:?}: {err}");
        assert!(err.contains(problem), "{args:?}: {err}");
        assert!(!set.exists(), "nothing is written");
    }
}
