//! Notebooks from the file to the layer: its blocks, its places, and the count of what is left out.

use chunkmill_text::document::{Document, Structure, visible_chars};
use serde_json::json;

use super::*;
use crate::check::{check, kept_and_dropped, layer};
use crate::read;

const OUTPUTS: ReadSettings = ReadSettings { notebook_outputs: true, html: crate::HtmlPart::Main, growth: 8 };

fn notebook(cells: serde_json::Value) -> String {
    let metadata = json!({ "kernelspec": { "language": "python" }, "title": "Étude" });
    serde_json::to_string_pretty(&json!({ "metadata": metadata, "nbformat": 4, "cells": cells })).unwrap()
}

fn sample() -> String {
    notebook(json!([
        { "cell_type": "markdown", "source": ["# Title\n", "\n", "Some *text* with [a link](b.md).\n", "\n", "- é\n", "- b"],
          "attachments": { "a.png": { "image/png": "AAAA" } } },
        { "cell_type": "code", "source": "def f():\n    return \"\\n\"\n", "outputs": [
            { "output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"] },
            { "output_type": "execute_result", "data": { "text/plain": "42", "text/html": "<b>42</b>", "image/png": "iVBO" } },
            { "output_type": "error", "ename": "E", "evalue": "no", "traceback": ["\u{1b}[0;31mE\u{1b}[0m: no", "line 2"] },
            { "output_type": "display_data", "data": { "text/markdown": ["**bold**"], "application/json": { "a": [1, 2] } } }
        ] },
        { "cell_type": "raw", "source": "one\ntwo\n\nthree" }
    ]))
}

fn structure(layer: &Layer) -> &Structure {
    layer.structure.as_deref().unwrap()
}

/// Returns the characters of the sources and outputs of cells.
fn promised(text: &str) -> u64 {
    fn of(value: &serde_json::Value) -> u64 {
        match value {
            serde_json::Value::String(text) => visible_chars(text),
            serde_json::Value::Array(lines) if lines.iter().all(serde_json::Value::is_string) => {
                lines.iter().map(of).sum()
            }
            serde_json::Value::Null => 0,
            other => visible_chars(&other.to_string()),
        }
    }
    let root: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut sum = 0;
    for cell in root["cells"].as_array().unwrap() {
        sum += of(&cell["source"]);
        for output in cell["outputs"].as_array().into_iter().flatten() {
            sum += of(&output["text"]) + of(&output["traceback"]);
            sum += output["data"].as_object().into_iter().flatten().map(|(_, value)| of(value)).sum::<u64>();
        }
        let files = cell["attachments"].as_object().into_iter().flatten();
        sum +=
            files.flat_map(|(_, file)| file.as_object().into_iter().flatten()).map(|(_, value)| of(value)).sum::<u64>();
    }
    sum
}

#[test]
fn cells_are_written_in_order() {
    let layer = layer("a.ipynb", &sample());
    assert_eq!(
        layer.text,
        "# Title\n\nSome *text* with [a link](b.md).\n\n- é\n- b\n\n```python\ndef f():\n    return \"\\n\"\n```\n\none\ntwo\n\nthree\n"
    );
    let document = Document::parse("a.ipynb".into(), layer.clone());
    let kinds: Vec<_> = document.blocks.iter().map(|block| block.kind.name()).collect();
    let list = ["heading", "paragraph", "list", "list_item", "list_item", "code_block", "paragraph", "paragraph"];
    assert_eq!(kinds, list);
    let places: Vec<_> = document.places.iter().map(|(at, place)| (*at, &*place.name)).collect();
    assert_eq!(places, [(0, "cell 1"), (52, "cell 2"), (92, "cell 3")]);
    assert_eq!((document.title.as_deref(), &document.metadata["language"]), (Some("Étude"), &json!("python")));
    assert_eq!((&*document.links[0].target, &*document.sections[0].anchor), ("b.md", "title"));
}

#[test]
fn all_characters_are_kept_or_counted() {
    let text = sample();
    for settings in [ReadSettings::default(), OUTPUTS] {
        let layer = read("a.ipynb", text.clone().into_bytes(), &settings).unwrap();
        check(&layer, Some(&text));
        let (kept, dropped) = kept_and_dropped(&layer);
        assert_eq!(kept + dropped, promised(&text), "{}", layer.text);
    }
}

#[test]
fn outputs_are_read_if_the_settings_say_so() {
    let layer = read("a.ipynb", sample().into_bytes(), &OUTPUTS).unwrap();
    let outputs = "```output\na\nb\n```\n\n```output\n42\n```\n\n```output\nE: no\nline 2\n```\n\n**bold**\n";
    assert!(layer.text.contains(outputs), "{}", layer.text);
    let reasons: Vec<_> = structure(&layer).dropped.iter().map(|dropped| dropped.reason).collect();
    assert!(!reasons.contains(&DropReason::Output));
}

#[test]
fn each_escape_stands_for_its_bytes() {
    let text = r#"{"cells": [{"cell_type": "markdown", "source": "a\u00e9\ud83d\ude00\ud83db\n\/c"}]}"#;
    let layer = layer("a.ipynb", text);
    assert_eq!(layer.text, "aé😀\u{fffd}b\n/c\n");
    let place = |part: &str| {
        let at = layer.text.find(part).unwrap();
        let range = layer.map.place(&layer.text, &(at..at + part.len()));
        &text[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()]
    };
    assert_eq!([place("é"), place("😀"), place("b"), place("/c")], [r"\u00e9", r"\ud83d\ude00", "b", r"\/c"]);
}

#[test]
fn notebooks_of_format_3_have_worksheets() {
    let cells = json!([
        { "cell_type": "heading", "level": 2, "source": ["Part"] },
        { "cell_type": "code", "language": "r", "input": ["x <- 1\n", "x"], "outputs": [
            { "output_type": "pyout", "text": ["1"], "png": "iVBO" }] },
        { "cell_type": "markdown", "source": ["## Part"] }
    ]);
    let text = json!({ "metadata": { "name": "" }, "nbformat": 3, "worksheets": [{ "cells": cells }] }).to_string();
    let layer = layer("a.ipynb", &text);
    assert_eq!(layer.text, "## Part\n\n```r\nx <- 1\nx\n```\n\n## Part\n");
    let document = Document::parse("a.ipynb".into(), layer);
    assert_eq!(document.sections.iter().map(|section| &*section.anchor).collect::<Vec<_>>(), ["part", "part-1"]);
}

#[test]
fn what_is_not_a_notebook_is_refused_with_line_and_column() {
    let problem = |text: &str| match read("a.ipynb", text.into(), &ReadSettings::default()) {
        Err(refusal) => refusal.reason.to_string(),
        Ok(layer) => panic!("{layer:?}"),
    };
    assert!(problem("{\n \"cells\": [}").contains("line 2 column 12"), "{}", problem("{\n \"cells\": [}"));
    for text in ["{}", "[]", "1", "\"cells\"", "null"] {
        assert!(problem(text).contains("no cells"), "{text}");
    }
}

#[test]
fn a_byte_order_mark_and_odd_cells_do_no_harm() {
    let text =
        "\u{feff}{\"cells\": [1, {}, [], null, {\"source\": [1, \"kept\", {}]}, {\"cell_type\": 3, \"source\": {}}]}";
    assert_eq!(layer("a.ipynb", text).text, "kept\n");
    let deep = format!("{{\"cells\": [{}{}]}}", "[".repeat(100_000), "]".repeat(100_000));
    let _ = read("a.ipynb", deep.into_bytes(), &ReadSettings::default());
}

#[test]
fn no_change_of_bytes_makes_it_panic() {
    crate::check::mutations(&[&sample()], 3000, |text| {
        if let Ok(layer) = read("a.ipynb", text.to_vec(), &OUTPUTS) {
            check(&layer, std::str::from_utf8(text).ok());
        }
    });
}

#[test]
fn an_open_fence_ends_with_its_cell() {
    let cell = |source: &str| json!({ "cell_type": "markdown", "source": source });
    let text = notebook(json!([cell("a\n\n~~~py\nb"), cell("After."), cell("```\nc\n```")]));
    assert_eq!(layer("a.ipynb", &text).text, "a\n\n~~~py\nb\n~~~\n\nAfter.\n\n```\nc\n```\n");
}

#[test]
fn soft_hyphens_are_left_out_and_counted() {
    let text = notebook(
        json!([{ "cell_type": "markdown", "source": "so\u{ad}ft\u{200b}" }, { "cell_type": "raw", "source": "x\u{ad}y" }]),
    );
    let layer = layer("a.ipynb", &text);
    let (kept, dropped) = kept_and_dropped(&layer);
    assert_eq!((&*layer.text, kept + dropped), ("soft\n\nxy\n", promised(&text)));
}
