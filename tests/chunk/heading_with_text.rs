//! A heading belongs to the first thing under it, even if that is oversized. If nothing is under it, it belongs to
//! what comes before it.

use chunkmill::chunk::{Chunk, Preset, Spec, chunk};
use chunkmill::document::{BlockKind, Document};
use proptest::prelude::*;
use rayon::prelude::*;

use crate::common::{Cut, cut, documents, note, powershell, sizer};
use crate::promises::check;

/// The presets that never leave a heading alone.
const PRESETS: [Preset; 6] =
    [Preset::Docs, Preset::Code, Preset::Fixed, Preset::Pdf, Preset::Ragdocs, Preset::Structure];

/// Returns whether a chunk's own text consists of headings only.
fn is_bare(document: &Document, chunk: &Chunk) -> bool {
    let inside = document.blocks_in(&chunk.range);
    let starts = inside.first().is_some_and(|block| block.range.start <= chunk.range.start);
    starts && inside.iter().all(|block| matches!(block.kind, BlockKind::Heading(_)))
}

/// Returns the chunks that consist of headings only, in a document that has more than that. The presets of seed 3
/// put footnotes elsewhere, so a heading cannot belong to a footnote.
fn alone(document: &Document, spec: &Spec) -> Vec<String> {
    let text = |kind| !matches!(kind, BlockKind::Heading(_) | BlockKind::Footnote);
    let mut top_level = std::iter::successors(document.blocks.first(), |block| document.blocks.get(block.next));
    if !top_level.any(|block| text(block.kind)) {
        return Vec::new();
    }
    let chunks = chunk(document, spec, sizer(spec)).unwrap();
    chunks.iter().filter(|chunk| is_bare(document, chunk)).map(|chunk| chunk.content(document)).collect()
}

#[test]
fn no_chunk_of_a_corpus_is_a_heading_alone() {
    let larder = documents(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/larder/corpus"));
    let real = powershell().map(documents).unwrap_or_default();
    for preset in PRESETS {
        let spec = preset.spec();
        let found: Vec<String> = larder
            .par_iter()
            .chain(&real)
            .flat_map_iter(|document| {
                let path = &document.origin.path;
                alone(document, &spec).into_iter().map(move |content| format!("{path}: {content}"))
            })
            .collect();
        note(&format!("{preset}: {} headings alone", found.len()));
        assert!(found.is_empty(), "{preset}: {found:#?}");
    }
}

/// Generates blocks from a few words to far over the maximum of every preset, with headings wherever they may be.
fn pages() -> impl Strategy<Value = String> {
    let heading = (1..4_usize, "[a-z]{2,9}").prop_map(|(level, title)| format!("{} {title}", "#".repeat(level)));
    let size = || prop::sample::select(vec![3_usize, 30, 90, 200, 450, 700, 2_000]);
    let paragraph = size().prop_map(|words| "word ".repeat(words).trim_end().to_owned());
    let code = size().prop_map(|words| format!("```sh\n{}```", "run it now\n".repeat(words.div_ceil(3))));
    let table = size().prop_map(|words| format!("| a | b |\n|---|---|\n{}", "| x | y |\n".repeat(words.div_ceil(5))));
    let list = size().prop_map(|words| "- one item\n".repeat(words.div_ceil(3)).trim_end().to_owned());
    let block = prop_oneof![5 => heading, 2 => paragraph, 2 => code, 1 => table, 1 => list];
    prop::collection::vec(block, 0..12).prop_map(|blocks| blocks.join("\n\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_chunk_of_any_page_is_a_heading_alone(text in pages(), of in prop::sample::select(PRESETS.to_vec())) {
        let found = alone(&Document::from_text("page.md", text), &of.spec());
        prop_assert!(found.is_empty(), "{}: {:?}", of, found);
    }
}

fn flags(cut: &Cut) -> Vec<&'static str> {
    cut.chunks.iter().flat_map(|chunk| chunk.flags.clone()).collect()
}

#[test]
fn a_heading_stays_with_its_code_though_that_is_oversized() {
    let code = format!("```sh\n{}```", "run the tests of it now\n".repeat(400));
    let text = format!("# Top\n\nSome words.\n\n## Code\n\n{code}\n\n## Next\n\nMore words.\n");
    for preset in [Preset::Docs, Preset::Code, Preset::Fixed, Preset::Pdf, Preset::Ragdocs] {
        let cut = cut(preset.name(), &text);
        let oversized = cut.chunks.iter().position(|chunk| !chunk.flags.is_empty()).unwrap();
        let source = &text[cut.chunks[oversized].range.clone()];
        assert!(source.starts_with("## Code\n\n```sh") && source.ends_with("```"), "{preset}: {source:.60}");
        assert_eq!(flags(&cut), ["oversized_code_block"], "{preset}");
    }
}

#[test]
fn in_a_section_over_the_limit_of_lines_a_heading_stays_with_its_code() {
    let code = format!("```\n{}```", "line\n".repeat(1100));
    let text = format!("# T\n\n{}## B\n\n{code}\n", "a\n\n".repeat(200));
    let cut = cut("line-threshold", &text);
    let last = &cut.chunks.last().unwrap();
    assert!(text[last.range.clone()].starts_with("## B\n\n```"), "{:?}", last.range);
    assert_eq!(last.flags, ["oversized_code_block"]);
}

#[test]
fn code_that_is_cut_is_code_in_every_piece() {
    let text = format!("## A\n\nfirst\n\n## B\n\n```\n{}```\n", "let x = 1;\n".repeat(400));
    let cut = cut("code cut_oversized=true", &text);
    let kinds: Vec<&str> = cut.chunks.iter().map(|chunk| chunk.kind.name()).collect();
    assert!(kinds.len() > 3, "{kinds:?}");
    assert_eq!((kinds[0], kinds[1..].iter().all(|kind| *kind == "code")), ("text", true), "{kinds:?}");
    assert!(text[cut.chunks[1].range.clone()].starts_with("## B\n\n```"));
}

#[test]
fn a_heading_inside_a_container_is_cut_from_or_kept_with_its_text_whatever_its_length() {
    let body = "some words of it ".repeat(30);
    for container in ["- ", "> ", "1. ", "- > ", ":::\n"] {
        for title in 1..40 {
            let text = format!("{container}# {}\n\n   {body}\n", "h".repeat(title));
            for max in [20, 40, 60] {
                for strategy in ["header min=1", "section min=1", "semantic min=1", "structure min=1", "lines"] {
                    for cut_oversized in [false, true] {
                        let (unit, max) = if strategy == "lines" { ("lines", 1) } else { ("chars", max) };
                        let spec = format!("{strategy} unit={unit} max={max} overlap=0 cut_oversized={cut_oversized}");
                        let Cut { document, chunks } = cut(&spec, &text);
                        check(&document, &spec.parse().unwrap(), &chunks, true);
                    }
                }
            }
        }
    }
}

/// A property test with text in random order found these. Each was cut into itself forever.
#[test]
fn what_is_cut_gets_smaller() {
    for text in [
        "- :::{{< code >}}\rexport const a = {\n  # hexport const a = {\n$$  [^1]: note{% highlight %}|-|-||a|b|{{< /code >}}\n  text> }$${%- comment -%}$$*/}}|a|b|\n{% endhighlight %}\r~~~~|-|-|===\u{200b}\u{200b}é日本-->> {% endcomment %}{{/*\r\n- ~~~~*/}}\n- {{< code >}}",
        ":::: x é日本<!--\t{% highlight %}\n{% endhighlight %}[a]: b::: tip{{/*}:::: xtext{{< code >}}{{/*{% endcomment %}text{%- comment -%}```{% endhighlight %}\r\n\r\n$$    [a]: b\n- ::: tip\u{200b}1. export const a = {<!--|a|b|<div>{%- comment -%}{{< code >}}<div>    ===\n  # h \n\t",
    ] {
        let Cut { document, chunks } = cut("header unit=tokens min=5 max=20 overlap=3", text);
        check(&document, &"header unit=tokens min=5 max=20 overlap=3".parse().unwrap(), &chunks, true);
    }
}
