//! Duplicates among texts in memory.

use super::*;

/// Texts by id, the way a dataset has them.
fn find_in(texts: &[(&str, String)]) -> Vec<Option<(String, f64)>> {
    let mut texts = texts.to_vec();
    texts.sort();
    let shingles: Vec<Shingles> = texts.iter().map(|(_, text)| Shingles::of(text)).collect();
    let sketch = |((id, text), shingles): (&(&str, String), &Shingles)| Sketch {
        doc_id: (*id).to_owned(),
        content: short(blake3::hash(text.as_bytes()).to_hex().as_str()),
        signature: Signature::of(shingles).map(|signature| Box::new(ShortSignature::new(&signature))),
        bytes: text.len() as u64,
    };
    let sketches: Vec<Sketch> = texts.iter().zip(&shingles).map(sketch).collect();
    let found = find(&sketches, NEAR, |wanted| Ok(wanted.iter().map(|&at| shingles[at].clone()).collect()))
        .expect("all is in memory");
    found.into_iter().map(|of| of.map(|of| (texts[of.of].0.to_owned(), of.jaccard))).collect()
}

fn page(seed: usize, words: usize) -> Vec<String> {
    (0..words).map(|i| format!("w{}", (seed * 7919 + i * i * 31 + i) % 5000)).collect()
}

#[test]
fn the_first_by_id_stays_and_the_others_are_its_duplicates() {
    let text = page(1, 400).join(" ");
    let mut edited = page(1, 400);
    edited[200] = "other".to_owned();
    let found = find_in(&[
        ("c", text.clone()),
        ("a", text.to_uppercase()),
        ("b", edited.join(" ")),
        ("d", page(2, 400).join(" ")),
    ]);
    assert_eq!(found[0], None);
    assert!(found[1].as_ref().is_some_and(|(of, jaccard)| of == "a" && *jaccard > 0.95 && *jaccard < 1.0), "{found:?}");
    assert_eq!(found[2], Some(("a".to_owned(), 1.0)));
    assert_eq!(found[3], None);
}

#[test]
fn short_texts_are_duplicates_only_if_they_are_the_same() {
    let text = |text: &str| text.to_owned();
    let found = find_in(&[("a", text("too short")), ("b", text("too short")), ("c", text("Too short"))]);
    assert_eq!(found, [None, Some(("a".to_owned(), 1.0)), None]);
}

#[test]
fn no_document_is_a_duplicate_by_way_of_a_third() {
    // Each page has nine tenths of the one before it, so the last has little of the first.
    let whole = page(3, 1500);
    let texts: Vec<(String, String)> =
        (0..12).map(|i| (format!("{i:02}"), whole[i * 50..i * 50 + 500].join(" "))).collect();
    let texts: Vec<(&str, String)> = texts.iter().map(|(id, text)| (id.as_str(), text.clone())).collect();
    let found = find_in(&texts);
    let kept: Vec<bool> = found.iter().map(Option::is_none).collect();
    assert!(kept.iter().filter(|kept| **kept).count() > 1, "{found:?}");
    for (of, jaccard) in found.iter().flatten() {
        let at = texts.iter().position(|(id, _)| id == of).expect("it is one of them");
        assert!(kept[at] && *jaccard >= NEAR, "{of} is a duplicate too");
    }
}

#[test]
fn pages_of_one_template_are_not_compared_by_their_words() {
    // More than half of each page is the same.
    let shared = page(0, 300).join(" ");
    let texts: Vec<(String, String)> =
        (0..600).map(|i| (format!("{i:03}"), format!("{shared} {}", page(i + 1, 200).join(" ")))).collect();
    let texts: Vec<(&str, String)> = texts.iter().map(|(id, text)| (id.as_str(), text.clone())).collect();
    let sketches: Vec<Sketch> = texts
        .iter()
        .map(|(id, text)| Sketch {
            doc_id: (*id).to_owned(),
            content: 0,
            signature: Signature::of(&Shingles::of(text)).map(|signature| Box::new(ShortSignature::new(&signature))),
            bytes: 1,
        })
        .collect();
    let sharing = candidates(&sketches, &(0..texts.len()).collect::<Vec<_>>(), 0.0);
    assert!(sharing.len() > 10, "some share a band: {}", sharing.len());
    let mut read = 0;
    let found = find(&sketches, NEAR, |wanted| {
        read += wanted.len();
        Ok(wanted.iter().map(|&at| Shingles::of(&texts[at].1)).collect())
    });
    assert!(found.expect("all is in memory").iter().all(Option::is_none));
    assert_eq!(read, 0, "no words are read");
}
