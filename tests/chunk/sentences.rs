//! Where sentences end: at a full stop that ends one, and not at every full stop before a capital.

use std::collections::BTreeMap;
use std::fmt::Write;

use chunkmill::chunk::{Spec, sentence_starts};
use proptest::prelude::*;

use crate::common::{cut, sizer};

/// Returns a text with `|` before each sentence but the first.
fn marked(text: &str) -> String {
    let mut borders = vec![0];
    borders.extend(sentence_starts(text));
    borders.push(text.len());
    borders.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect::<Vec<_>>().join("|")
}

#[test]
fn a_full_stop_ends_a_sentence_only_if_the_sentence_is_over() {
    let cases = [
        // Titles and abbreviations of four languages, and those that can be the last word.
        "We met Dr. Ames and Mrs. Jones at noon. |He left. |St. Louis is far.",
        "See e.g. San Marino, i.e. Europe, cf. Table 2, Google vs. Apple. |Done.",
        "The U.S. Army came to the U.S. |The army left. |Bring tea, etc. and go. |Bring tea, etc. |We go.",
        "Apple Inc. Park is new. |It belongs to Apple Inc. |The firm is old.",
        "At 5 a.m. Eastern we left. |At 6 p.m. |We came. |She has a Ph.D. from MIT. |She has a Ph.D. |He has none.",
        "See No. 5 and p. 12, pp. 3 and Fig. 3. |He said no. |Then he left. |Vol. 2 has ch. 4.",
        "Wir essen z. B. Brot, d. h. Teig, bzw. Kuchen usw. |Der Rest fehlt. |Vgl. Abb. 3 bei Fr. Dr. Meier.",
        "M. Dupont et Mme. Curie sont à Paris. |Voir art. 5, p. 12, etc. |L'armée part. |En 52 av. J.-C. Rome gagna.",
        "El Sr. García y la Dra. López viven aquí. |Vea la pág. 5, p. ej. Madrid. |Los EE. UU. Ganan. |Luego se van.",
        "Il Sig. Rossi, il dott. Verdi, pag. 5, ecc. |Poi vanno. |O Exmo. Senhor e a Sra. Costa. |Depois foram.",
        "В 1999 г. Москва росла. |Это так, т. е. Иванов, ул. Ленина. |А. С. Пушкин писал.",
        // Initials, ordinals, numbers, versions.
        "J. R. R. Tolkien and J.-P. Sartre and George W. Bush met. |They left. |Plan B. |The best plan.",
        "Am 29. Juli gewann der 1. FC Köln im 19. Jahrhundert. |Das war gut. |Er kam 1990. |Berlin war anders.",
        "It is 5,148.75 or 5.148,75 in version 1.2.3 of config.toml at https://x.org/a.b?C=D. |See it.",
        "1. Open it. |2. Close it. |IV. Go on.",
        // Marks that are not full stops, ellipses, and what closes a sentence.
        "What?! |No way! |\"Stop!\" he said. |He said \"stop.\" |(He left.) |Then what?",
        "Wait... |Then he came. |Wait... then not. |He met ... John. |It says [...] Therefore.",
        "**Note.** |See `foo.bar`. |A fact.[^1] |Another.[12] |_Done._ |Next.</b> |Last.",
        "Write vec![1, 2], a != B, .NET Framework and f(x).Go() in x?y=B. |Done.",
        "I can't. |Peter can.",
        // A line feed is a space.
        "We met Dr.\nAmes at noon.\n|He\nleft.",
        // Scripts without spaces or capitals.
        "你好。|我们走！|好吗？|「好。」|他说．|什么?|我不懂。",
        "これはペンです。|それは本です。",
        "यह एक है। |वह दो है।",
    ];
    let mut wrong = String::new();
    for case in cases {
        let got = marked(&case.replace('|', ""));
        if got != case {
            writeln!(wrong, "right {case}\ngot   {got}").unwrap();
        }
    }
    assert_eq!(wrong, "");
}

/// Every word of the lists, before every capital that is no word of the lists.
#[test]
fn each_word_of_the_lists_says_one_thing() {
    let mut kinds: BTreeMap<(bool, &str), &str> = BTreeMap::new();
    let lists = include_str!("../../crates/text/src/chunk/sentence.txt").lines();
    for (head, words) in lists.filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':')) {
        let kind = head.split(' ').next().unwrap();
        for word in words.split_whitespace() {
            let other = kinds.insert((kind.starts_with("opens"), word), kind);
            assert!(other.is_none_or(|other| other == kind), "{word}: {kind} and {other:?}");
            let ends = |before: &str, after: &str| !sentence_starts(&format!("Xx {before}. {after}")).is_empty();
            match kind {
                "within" => assert!(!ends(word, "Zebra") && !ends(word, "The"), "{word}"),
                "maybe" => assert!(!ends(word, "Zebra") && ends(word, "The"), "{word}"),
                "number" => assert!(!ends(word, "5 Zebras") && ends(word, "Zebra"), "{word}"),
                _ => {
                    let mut letters = word.chars();
                    let first: String = letters.next().unwrap().to_uppercase().collect();
                    let opener = format!("{first}{}", letters.as_str());
                    assert!(ends("etc", &format!("{opener} zebra")), "{word}");
                    assert_eq!(ends("J", &format!("{opener} zebra")), kind == "opens", "{word}");
                }
            }
        }
    }
    assert!(kinds.len() > 900, "{}", kinds.len());
}

#[test]
fn no_chunk_ends_at_an_abbreviation() {
    let names =
        ["Dr. Ames", "Mr. Bell", "St. Louis", "the U.S. Army", "e.g. Rome", "J. R. R. Tolkien", "No. 5 Downing"];
    let sentence = |i: usize| format!("On day {i} we wrote to {} about it. ", names[i % names.len()]);
    let text = (0..400).map(sentence).collect::<String>();
    for spec in ["structure unit=tokens min=1 max=24", "sections", "ragdocs cut_oversized=true"] {
        let cut = cut(spec, &text);
        assert!(cut.chunks.len() > 5, "{spec}");
        for content in cut.contents() {
            assert!(content.trim_end().ends_with("about it."), "{spec}: {content:?}");
        }
    }
}

#[test]
fn a_paragraph_without_an_end_of_a_sentence_is_cut_at_the_maximum() {
    for word in ["Dr. ", "e.g. ", "z. B. ", "J. ", "Am 5. ", "(cf. ", "[1.] ", "... ", "A.B. "] {
        let text = word.repeat(10_000);
        for spec in ["structure unit=tokens min=8 max=32", "ragdocs unit=chars max=300 cut_oversized=true"] {
            let cut = cut(spec, &text);
            let visible = |text: &str| text.split_whitespace().collect::<String>();
            let kept: String = cut.chunks.iter().map(|chunk| &cut.document.text[chunk.range.clone()]).collect();
            assert_eq!(visible(&kept), visible(&text), "{word} {spec}");
            let spec: Spec = spec.parse().unwrap();
            for (chunk, content) in cut.chunks.iter().zip(cut.contents()) {
                let size = sizer(&spec).size(&content).unwrap();
                assert!(size <= spec.max() && chunk.flags.is_empty(), "{word} {spec}: {size} {:?}", chunk.flags);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sentences_start_at_visible_characters_in_order(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "Dr", "etc", "U.S", "the", "The", "J", "12", "no", ".", "...", "!", "?", "。", " ", " ", "\n", "\"", "**", ")",
                "[^1.]", "[1.][2.]", "</b>", "é", "日本", "\u{2028}", "…", ",", "-", "Zoë", "ᾳ", "İ", "\u{301}", "𝒜",
            ]),
            0..60,
        )
    ) {
        let text = words.concat();
        let starts = sentence_starts(&text);
        let mut last = 0;
        for &start in &starts {
            prop_assert!(start > last && start < text.len() && text.is_char_boundary(start), "{text:?} {starts:?}");
            prop_assert!(!text[start..].starts_with(char::is_whitespace), "{text:?} {starts:?}");
            last = start;
        }
        // A line feed within a paragraph is a space.
        prop_assert_eq!(sentence_starts(&text.replace('\n', " ")), starts);
    }
}
