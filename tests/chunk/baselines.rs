//! The baselines cut as the chunkers that they are named after.

use chunkmill::chunk::Boundary;

use crate::common::{cut, note, shared};

/// Compares with the chunks that Chroma's chunkers make of three of its corpora, as published with its evaluation.
#[test]
fn baselines_cut_chromas_corpora_into_as_many_chunks_as_chromas_own() {
    let Some(root) = shared("chroma") else { return };
    let expected: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(root.join("expected_omega.json")).unwrap()).unwrap();
    let corpora: Vec<String> = ["chatlogs", "state_of_the_union", "wikitexts"]
        .iter()
        .map(|name| std::fs::read_to_string(root.join(format!("corpora/{name}.md"))).unwrap())
        .collect();
    for (strategy, theirs) in [("chroma_recursive", "recursive"), ("windows", "token")] {
        for (max, overlap) in [(200, 0), (400, 0), (400, 200), (800, 400)] {
            let spec = format!("{strategy} unit=tokens max={max} overlap={overlap}");
            let chunks: usize = corpora.iter().map(|text| cut(&spec, text).chunks.len()).sum();
            note(&format!("{spec}: {chunks}"));
            let key = format!("{theirs} {max}/{overlap}");
            assert_eq!(chunks as u64, expected[&key][2].as_u64().unwrap(), "{spec}");
        }
    }
}

#[test]
fn recursive_cuts_at_the_coarsest_separator_that_serves() {
    let text = "one two\n\nthree four five. six seven eight\nnine";
    let cuts = |strategy: &str| cut(&format!("{strategy} unit=chars max=20 overlap=0"), text);
    let (chroma, langchain) = (cuts("chroma_recursive"), cuts("recursive"));
    assert_eq!(chroma.contents(), ["one two", "three four five", ". six seven eight", "nine"]);
    assert_eq!(chroma.chunks[2].boundary, Boundary::Separator("."));
    assert_eq!(langchain.contents(), ["one two", "three four five.", "six seven eight", "nine"]);
    assert_eq!(langchain.chunks[2].boundary, Boundary::Separator(" "));
}

#[test]
fn recursive_repeats_whole_pieces() {
    let cut = cut("recursive unit=chars max=14 overlap=8", "aaa bbb ccc ddd eee fff");
    assert_eq!(cut.contents(), ["aaa bbb ccc", "bbb ccc ddd", "ccc ddd eee", "ddd eee fff"]);
}
