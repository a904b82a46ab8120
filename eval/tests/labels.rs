//! Labels: reading them, errors that name the place, and drift.

use std::ops::Range;
use std::path::Path;

use chunkmill_eval::labels::set::{LabelSet, PlaceState, ScorablePlace, ScorableReference, to_jsonl};
use tempfile::TempDir;

use crate::common::{arg, eval, folder};
use crate::paged::pdf;

fn set(document: &str, queries: &str) -> TempDir {
    folder(&[("corpus/a.md", document), ("queries.jsonl", queries)])
}

fn query(id: &str, start: usize, text: &str) -> String {
    let reference = serde_json::json!({"doc_id": "a.md", "start": start, "end": start + text.len(), "text": text});
    serde_json::json!({"query_id": id, "query": "why?", "references": [reference]}).to_string()
}

/// Returns the state of one reference, labelled at this place with this text, in this document.
fn state(document: &str, start: usize, text: &str) -> PlaceState {
    let folder = set(document, &query("q", start, text));
    let labels = LabelSet::read(folder.path()).unwrap();
    let mut checked = labels.check(&labels.corpus().unwrap());
    assert_eq!(checked.len(), 1);
    checked.remove(0).state
}

#[test]
fn our_own_set_fits_its_corpus() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/larder");
    let labels = LabelSet::read(&path).unwrap();
    let corpus = labels.corpus().unwrap();
    assert!(labels.check(&corpus).iter().all(|checked| checked.state == PlaceState::Valid));
    assert!((30..=60).contains(&corpus.documents) && labels.queries.len() >= 120);
    assert!(labels.queries.iter().all(|query| !query.references.is_empty()));
}

#[test]
fn a_text_that_stands_elsewhere_once_has_moved() {
    assert_eq!(state("one two é", 4, "two"), PlaceState::Valid);
    assert_eq!(state("one two é", 0, "two"), PlaceState::Moved(4..7));
    // Beyond the end, and inside a character.
    assert_eq!(state("one two é", 90, "two"), PlaceState::Moved(4..7));
    assert_eq!(state("é two", 1, "two"), PlaceState::Moved(3..6));
    assert_eq!(state("one two two", 0, "two"), PlaceState::Ambiguous(vec![4, 8]));
    // Places may overlap.
    assert_eq!(state("b aaa", 0, "aa"), PlaceState::Ambiguous(vec![2, 3]));
    assert_eq!(state("one two é", 0, "six"), PlaceState::Gone);
}

#[test]
fn a_text_that_was_edited_is_found_in_pieces() {
    let text = "Vaults are checked every night. A failed check raises an alert at once.";
    let before = "# Checks\n\nThere is more to say about this.\n\n";
    let pieces = |document: &str| match state(document, 0, text) {
        PlaceState::Split(pieces) => pieces.into_iter().map(|piece| document[piece].to_owned()).collect(),
        other => panic!("{other:?}"),
    };
    let inserted: Vec<String> =
        pieces(&format!("{before}{}", text.replace("night. A", "night, unless told otherwise. A")));
    assert_eq!(inserted, ["Vaults are checked every night", ". A failed check raises an alert at once."]);
    let replaced: Vec<String> = pieces(&format!("{before}{}", text.replace("every night", "täglich")));
    assert_eq!(replaced, ["Vaults are checked ", ". A failed check raises an alert at once."]);
    let shortened: Vec<String> = pieces(&format!("{before}A failed check raises an alert at once."));
    assert_eq!(shortened, ["A failed check raises an alert at once."]);
    let wrapped: Vec<String> = pieces(&format!("{before}{}", text.replace("night. A", "night.\r\nA")));
    assert_eq!(wrapped.concat().len(), text.len() - 1);

    // Less than half is left.
    assert_eq!(state(&format!("{before}Vaults are checked by hand."), 0, text), PlaceState::Gone);
    // The rest is too far away to belong to the same passage, and the first part alone is less than half.
    let apart = format!("A failed check raises an alert. {} Vaults are checked every night", "word ".repeat(200));
    assert_eq!(state(&apart, 0, &format!("{text} {}", "Nothing of this is left in it. ".repeat(2))), PlaceState::Gone);
    // Two places contain equally much of it.
    let twice = "A failed check raises an alert at once! A failed check raises an alert at once!";
    let at = twice.rfind('A').unwrap();
    assert_eq!(state(twice, 1, &text[32..]), PlaceState::Ambiguous(vec![0, at]));
}

#[test]
fn pieces_end_between_characters_and_in_order() {
    let text = "日本語の文章がここにあります。それは長いです。終わりまで続きます。";
    let document = format!("前書き。{}", text.replace("それは長い", "これは短い"));
    let PlaceState::Split(pieces) = state(&document, 0, text) else { panic!("not split") };
    let found: Vec<&str> = pieces.iter().map(|piece: &Range<usize>| &document[piece.clone()]).collect();
    assert_eq!(found.first().unwrap(), &"日本語の文章がここにあります。");
    assert!(found.last().unwrap().ends_with("終わりまで続きます。"), "{found:?}");
    assert!(pieces.windows(2).all(|pair| pair[0].end <= pair[1].start));
}

/// A search for common pieces is slowest on rulers and repeated passages.
#[test]
fn drift_is_found_in_large_documents_without_delay() {
    let start = std::time::Instant::now();
    let ruler = format!("{}, the end of it as it was", "-".repeat(20_000));
    assert_eq!(state(&format!("{}{}", "-".repeat(400_000), "=".repeat(400_000)), 3, &ruler), PlaceState::Gone);
    let edited = format!("{}{}", "=".repeat(400_000), ruler.replace("was", "is"));
    assert_eq!(state(&edited, 3, &ruler), PlaceState::Split(vec![400_000..420_022]));
    let passage = "Every one of these passages has the same words in it, and there are very many. ";
    let text = format!("{}The end.", passage.repeat(30));
    assert!(matches!(state(&passage.repeat(20_000), 3, &text), PlaceState::Ambiguous(_)));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn what_has_moved_is_scored_where_it_is_and_what_has_drifted_is_not() {
    let references = r#"[{"doc_id": "a.md", "start": 0, "end": 3, "text": "two", "grade": 3},
        {"doc_id": "a.md", "start": 0, "end": 3, "text": "six"}, {"doc_id": "b.md"}, {"doc_id": "a.md"}]"#
        .replace('\n', "");
    let line = format!(r#"{{"query_id": "q", "query": "?", "references": {references}, "grade": 2}}"#);
    let folder = set("one two", &line);
    let labels = LabelSet::read(folder.path()).unwrap();
    let checked = labels.check(&labels.corpus().unwrap());
    let states: Vec<&str> = checked.iter().map(|checked| checked.state.name()).collect();
    assert_eq!(states, ["moved", "gone", "no_document", "valid"]);
    let scored = labels.scored(&checked);
    let place = |range, grade| ScorableReference { any: vec![vec![ScorablePlace { doc_id: "a.md", range }]], grade };
    assert_eq!(scored, [vec![place(Some(4..7), 3.0), place(None, 2.0)]]);
}

#[test]
fn of_alternatives_those_are_scored_that_still_fit() {
    let at = |start: usize, text: &str| serde_json::json!({"doc_id": "a.md", "start": start, "end": start + text.len(), "text": text});
    let line = serde_json::json!({"query_id": "q", "query": "?", "references": [
        {"any": [at(0, "six"), at(4, "two"), {"all": [at(0, "one"), {"doc_id": "a.md"}]}], "grade": 2.0},
        {"any": [at(0, "six"), {"all": [at(0, "one"), at(9, "ten")]}]},
    ]});
    let folder = set("one two", &line.to_string());
    let labels = LabelSet::read(folder.path()).unwrap();
    let checked = labels.check(&labels.corpus().unwrap());
    assert_eq!(checked.len(), 7);
    let place = |range| ScorablePlace { doc_id: "a.md", range };
    let any = vec![vec![place(Some(4..7))], vec![place(Some(0..3)), place(None)]];
    assert_eq!(labels.scored(&checked), [vec![ScorableReference { any, grade: 2.0 }]], "the second has no match left");
    assert_eq!(to_jsonl(&labels.queries).unwrap().trim_end(), sorted(&line));
    let (code, out, _) = eval(&["verify", arg(folder.path())]);
    assert_eq!(code, 1);
    assert!(out.contains("1 query, 2 references in 7 places of 1 document: 4 valid, 3 gone; 3 drifted"), "{out}");
}

/// Returns the line with its keys in the order in which labels are written.
fn sorted(line: &serde_json::Value) -> String {
    let place = |place: &serde_json::Value| match place.get("start") {
        Some(start) => format!(
            r#"{{"doc_id":{},"start":{start},"end":{},"text":{}}}"#,
            place["doc_id"], place["end"], place["text"]
        ),
        None => format!(r#"{{"doc_id":{}}}"#, place["doc_id"]),
    };
    let alternative = |alternative: &serde_json::Value| match alternative.get("all") {
        Some(all) => {
            let places: Vec<String> = all.as_array().unwrap().iter().map(place).collect();
            format!(r#"{{"all":[{}]}}"#, places.join(","))
        }
        None => place(alternative),
    };
    let reference = |reference: &serde_json::Value| {
        let any: Vec<String> = reference["any"].as_array().unwrap().iter().map(alternative).collect();
        let grade = reference.get("grade").map_or_else(String::new, |grade| format!(r#","grade":{grade}"#));
        format!(r#"{{"any":[{}]{grade}}}"#, any.join(","))
    };
    let references: Vec<String> = line["references"].as_array().unwrap().iter().map(reference).collect();
    format!(r#"{{"query_id":{},"query":{},"references":[{}]}}"#, line["query_id"], line["query"], references.join(","))
}

#[test]
fn what_is_no_list_of_alternatives_is_refused() {
    let place = r#"{"doc_id":"a.md"}"#;
    for (reference, problem) in [
        (r#"{"any":[]}"#.to_owned(), "`any` is empty"),
        (r#"{"any":[{"all":[]}]}"#.to_owned(), "`all` is empty"),
        (format!(r#"{{"any":[{place}],"doc_id":"b.md"}}"#), "a reference has `any` and something else"),
        (format!(r#"{{"any":[{{"all":[{place}],"start":1}}]}}"#), "an alternative has `all` and something else"),
        (format!(r#"{{"any":[{{"any":[{place}]}}]}}"#), "lists may be nested only as `all` inside `any`"),
        (r#"{"any":[{"doc_id":"a.md","grade":2}]}"#.to_owned(), "a grade belongs to the reference"),
        (r#"{"start":1}"#.to_owned(), "has no doc_id"),
    ] {
        let line = format!(r#"{{"query_id":"q","query":"?","references":[{reference}]}}"#);
        let error = LabelSet::read(set("one", &line).path()).unwrap_err().to_string();
        assert!(error.contains(problem), "{reference}: {error}");
    }
}

#[test]
fn verify_reports_every_state_and_fails_on_drift_alone() {
    let lines = [query("ok", 4, "two"), query("moved", 0, "two")].join("\n");
    let folder = set("one two é", &lines);
    let (code, out, _) = eval(&["verify", arg(folder.path())]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(
        out,
        "moved moved: a.md 0..3: the text is at 4..7 now\n2 queries, 2 references to 1 document: 1 valid, 1 moved; 0 drifted\n"
    );

    let folder = set("one two é", &format!("{lines}\n{}\n", query("far", 90, "six")));
    let (code, out, _) = eval(&["verify", arg(folder.path())]);
    assert_eq!(code, 1);
    assert!(out.contains("gone far: a.md 90..93: "), "{out}");
    assert!(out.ends_with("3 queries, 3 references to 1 document: 1 valid, 1 moved, 1 gone; 1 drifted\n"), "{out}");

    let (code, out, _) = eval(&["verify", arg(folder.path()), "--json"]);
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &found["drifted"], &found["states"]["moved"], &found["states"]["split"]),
        (1, &1.into(), &1.into(), &0.into())
    );
    assert_eq!(found["not_valid"][0]["found"], serde_json::json!([[4, 7]]));
    assert_eq!((&found["not_valid"][1]["query_id"], &found["not_valid"][1]["state"]), (&"far".into(), &"gone".into()));
}

/// Like the importers, the native format reads what other programs write.
#[test]
fn questions_are_read_however_programs_write_them() {
    let line = r#"{"query_id": 7, "query": "when?", "references": [{"doc_id": "a.md", "text": "at six"}]}"#;
    let other = r#"{"query_id": "b", "query": "when?", "references": [{"doc_id": "a.md", "text": "at six"}]}"#;
    for text in [
        line.to_owned(),
        format!("\u{feff}{line}\n"),
        format!("\u{feff}\r\n{line}\r\n\r\n{other}\r\n"),
        format!("\n \n{line}\n\n{other}"),
    ] {
        let folder = set("The gate opens at six.", &text);
        let labels = LabelSet::read(folder.path()).unwrap();
        assert_eq!(labels.queries[0].id, "7", "{text}");
        assert_eq!(labels.queries.len(), if text.contains("\"b\"") { 2 } else { 1 });
        assert_eq!(eval(&["verify", arg(folder.path())]).0, 0);
    }
    let file = folder(&[("corpus/7", "The gate opens at six."), ("queries.jsonl", &line.replace("\"a.md\"", "7"))]);
    assert_eq!(LabelSet::read(file.path()).unwrap().queries[0].references[0].any[0][0].doc_id, "7");
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (bytes, problem) in [
        (wide(&format!("\u{feff}{line}")), "queries.jsonl:1: is UTF-16"),
        (wide(line), "queries.jsonl:1: is UTF-16"),
        ([line.as_bytes(), b"\n\xff\n"].concat(), "queries.jsonl:2: is not UTF-8"),
        (b"{\"query_id\": null}".to_vec(), "queries.jsonl:1: an id is missing"),
        (b"{\"query_id\": true}".to_vec(), "queries.jsonl:1: an id is missing"),
    ] {
        let folder = set("The gate opens at six.", line);
        std::fs::write(folder.path().join("queries.jsonl"), bytes).unwrap();
        let (code, _, err) = eval(&["verify", arg(folder.path())]);
        assert!(code == 2 && err.contains(problem) && err.contains("help: "), "{problem}: {err}");
    }
}

#[test]
fn what_is_written_is_what_was_read() {
    let lines = concat!(
        r#"{"query_id":"a","query":"?","references":[{"doc_id":"a.md","start":0,"end":1,"text":"o","grade":2.5}],"grade":0.5,"tags":["why"]}"#,
        "\n",
        r#"{"query_id":"b","query":"\"é\"","references":[{"doc_id":"a.md"}]}"#,
        "\n"
    );
    let labels = LabelSet::read(set("one", lines).path()).unwrap();
    assert_eq!((labels.queries[0].grade, labels.queries[0].tags.as_slice()), (0.5, &["why".to_owned()][..]));
    let grades: Vec<f64> = labels
        .queries
        .iter()
        .flat_map(|query| query.references.iter().map(|reference| query.grade_of(reference)))
        .collect();
    assert_eq!(grades, [2.5, 1.0]);
    assert_eq!(to_jsonl(&labels.queries).unwrap(), lines);
}

#[test]
fn a_text_without_a_range_is_found_in_its_document() {
    let line = |doc_id: &str, text: &str| {
        let reference = serde_json::json!({"doc_id": doc_id, "text": text});
        serde_json::json!({"query_id": "q", "query": "?", "references": [{"any": [reference]}]}).to_string()
    };
    let folder = set("é two\nthree, two", &line("a.md", "two three"));
    let labels = LabelSet::read(folder.path()).unwrap();
    let quote = labels.queries[0].references[0].any[0][0].quote.as_ref().unwrap();
    assert_eq!((quote.range.clone(), quote.text.as_str()), (3..12, "two\nthree"));
    assert_eq!(labels.check(&labels.corpus().unwrap())[0].state, PlaceState::Valid);
    assert!(to_jsonl(&labels.queries).unwrap().contains("\"start\":3,\"end\":12"));
    for (doc_id, text, problem) in [
        ("a.md", "six", "queries.jsonl:1: `a.md` does not contain the text of its reference"),
        ("a.md", "two", "queries.jsonl:1: `a.md` has the text of its reference in 2 places"),
        ("a.md", " ", "has only some of start, end and text"),
        ("x/a.md", "two", "names `x/a.md`, which is not among the documents; did you mean `a.md`?"),
    ] {
        let error = LabelSet::read(set("é two\nthree, two", &line(doc_id, text)).path()).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("a reference is {"), "{error}");
    }
}

#[test]
fn a_text_is_found_on_the_page_that_a_label_names() {
    let folder = set("", "");
    std::fs::remove_file(folder.path().join("corpus/a.md")).unwrap();
    let pages = ["Of wheat and rye.", "Of wheat once more, of wheat.", "Of rye."];
    std::fs::write(folder.path().join("corpus/a.pdf"), pdf(&pages)).unwrap();
    let read = |page: u32, text: &str| {
        let reference = serde_json::json!({"doc_id": "a.pdf", "page": page, "text": text});
        let line = serde_json::json!({"query_id": "q", "query": "?", "references": [reference]});
        std::fs::write(folder.path().join("queries.jsonl"), line.to_string()).unwrap();
        LabelSet::read(folder.path()).map_err(|error| error.to_string())
    };
    let labels = read(3, "of  rye".replace("of", "Of").as_str()).unwrap();
    let corpus = labels.corpus().unwrap();
    let quote = labels.queries[0].references[0].any[0][0].quote.as_ref().unwrap();
    assert!(corpus.texts["a.pdf"][..quote.range.start].contains("once more"), "{quote:?}");
    assert_eq!(labels.check(&corpus)[0].state, PlaceState::Valid);
    assert!(to_jsonl(&labels.queries).unwrap().contains("\"page\":3"));
    for (page, text, problem) in [
        (1, "once", "`a.pdf` does not contain the text of its reference on page 1, but on page 2"),
        (2, "wheat", "`a.pdf` has the text of its reference on page 2 in 2 places"),
        (4, "rice", "`a.pdf` does not contain the text of its reference on page 4"),
        (1, " ", "has only some of start, end and text"),
    ] {
        let error = read(page, text).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn a_malformed_line_is_an_error_with_its_number() {
    let good = query("a", 0, "one");
    for (bad, problem) in [
        ("{", "EOF"),
        (&query("a", 0, "one"), "query_id `a` was used before"),
        (r#"{"query_id": "b", "query": "?", "references": []}"#, "references is empty"),
        (
            r#"{"query_id": "b", "query": " ", "references": [{"doc_id": "a", "start": 0, "end": 1, "text": "o"}]}"#,
            "query is empty",
        ),
        (
            r#"{"query_id": "b", "query": "?", "references": [{"doc_id": "a", "start": 0, "end": 9, "text": "o"}]}"#,
            "not as long as its text",
        ),
        (r#"{"query_id": "b", "query": "?", "references": [{"doc_id": "a", "start": 0}]}"#, "only some of start"),
        (
            r#"{"query_id": "b", "query": "?", "references": [{"doc_id": "a", "start": 0, "end": 1, "text": "o"}], "grade": -1}"#,
            "grade -1",
        ),
        (r#"{"query_id": "b", "query": "?", "references": [{"doc_id": "a", "page": 2}]}"#, "has a page and no text"),
        (r#"{"query_id": "b", "query": "?", "references": [{"doc_id": "a", "grade": 0}]}"#, "grade 0"),
        (r#"{"query_id": "b", "query": "?", "answer": 1, "references": []}"#, "unknown field `answer`"),
    ] {
        let folder = set("one", &format!("{good}\n\n{bad}\n"));
        let error = LabelSet::read(folder.path()).unwrap_err();
        assert!(error.to_string().contains("queries.jsonl:3: ") && error.to_string().contains(problem), "{error}");
        assert_eq!(eval(&["verify", arg(folder.path())]).0, 2);
    }
}
