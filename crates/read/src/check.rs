//! Checks what is true of the layer of any format, for the tests of all readers.

#[cfg(feature = "package")]
use std::io::{Cursor, Write as _};

use chunkmill_text::document::{Document, Layer, Width, visible_chars};

use crate::{ReadFormat, ReadSettings, read};

/// Reads a text as a file of this name, checks the layer, and returns it.
#[allow(dead_code, reason = "not all builds have readers of text")]
pub(crate) fn layer(path: &str, text: &str) -> Layer {
    let layer = read(path, text.as_bytes().to_vec(), &ReadSettings::default()).expect("it can be read");
    check(&layer, Some(text));
    layer
}

/// Reads bytes as a file of this name, checks the layer, and returns it.
#[allow(dead_code, reason = "not all builds have readers of bytes")]
pub(crate) fn layer_of(path: &str, bytes: &[u8]) -> Layer {
    let layer = read(path, bytes.to_vec(), &ReadSettings::default()).expect("it can be read");
    check(&layer, None);
    layer
}

/// Checks that stretches are in order and have the bytes of the file, and that the blocks are a tree in document order.
pub(crate) fn check(layer: &Layer, source: Option<&str>) {
    let text = &layer.text;
    let mut end = 0;
    for stretch in layer.map.stretches().expect("a reader wrote it") {
        let range = stretch.start as usize..stretch.start as usize + stretch.len as usize;
        assert!(end <= range.start && range.end <= text.len(), "{stretch:?} is not after {end}");
        end = range.end;
        let first = usize::try_from(stretch.source).expect("files are smaller");
        let place = first..first + stretch.source_len as usize;
        if let Some(source) = source.filter(|_| layer.map.width() == Width::Utf8) {
            let at = source.get(place).unwrap_or_else(|| panic!("{stretch:?} is not characters of the source"));
            if stretch.exact {
                assert_eq!(at, &text[range], "{stretch:?}");
            }
        }
    }
    let document = Document::parse("document".into(), layer.clone());
    assert!(ReadFormat::ALL.iter().any(|format| format.name == document.format.name()));
    for (index, block) in document.blocks.iter().enumerate() {
        assert!(block.range.start < block.range.end && block.range.end <= text.len(), "{block:?}");
        assert!(text.is_char_boundary(block.range.start) && text.is_char_boundary(block.range.end), "{block:?}");
        for inside in &document.blocks[index + 1..block.next] {
            assert!(
                block.range.start <= inside.range.start && inside.range.end <= block.range.end,
                "{block:?} {inside:?}"
            );
        }
        if let Some(next) = document.blocks.get(block.next) {
            assert!(block.range.end <= next.range.start, "{block:?} {next:?}");
        }
    }
    for link in &document.links {
        assert!(text.get(link.range.clone()).is_some_and(|text| text.starts_with(['[', '!', '<'])), "{link:?}");
    }
}

/// Returns how many characters of a layer stand for characters of the source without white space, and how many were dropped.
#[allow(dead_code, reason = "not all builds count")]
pub(crate) fn kept_and_dropped(layer: &Layer) -> (u64, u64) {
    let stretches = layer.map.stretches().unwrap_or_default();
    let kept = stretches.iter().map(|s| visible_chars(&layer.text[s.start as usize..(s.start + s.len) as usize])).sum();
    (kept, layer.structure.iter().flat_map(|read| &read.dropped).map(|dropped| dropped.chars).sum())
}

/// Reads a text as a file of this name, checks that each of its characters is in the layer or counted, and returns the
/// layer.
#[allow(dead_code, reason = "not all builds count")]
#[track_caller]
pub(crate) fn counted(path: &str, text: &str) -> Layer {
    let layer = layer(path, text);
    let (kept, dropped) = covered(&layer, text);
    assert_eq!(kept + dropped, visible_chars(text), "{kept} kept, {dropped} dropped of {text:?}\n{}", layer.text);
    layer
}

/// Returns how many characters of a source a layer stands for, and how many were dropped. A text that is written in place of
/// another, such as the value of an attribute or a letter with an accent, stands for all of the other's characters.
#[allow(dead_code, reason = "not all builds count")]
pub(crate) fn covered(layer: &Layer, text: &str) -> (u64, u64) {
    let mut seen = vec![false; text.len()];
    for stretch in layer.map.stretches().unwrap_or_default() {
        let start = usize::try_from(stretch.source).expect("files are smaller");
        seen[start..start + stretch.source_len as usize].fill(true);
    }
    let kept = text.char_indices().filter(|(at, c)| seen[*at] && !c.is_whitespace()).count() as u64;
    (kept, layer.structure.iter().flat_map(|read| &read.dropped).map(|dropped| dropped.chars).sum())
}

/// Calls a function with texts that differ from the samples in a few bytes, which are the same texts each time.
#[allow(dead_code, reason = "not all readers are tested with it")]
pub(crate) fn mutations(samples: &[&str], count: u64, mut read: impl FnMut(&[u8])) {
    const BYTES: &[u8] = b"\n\r\"'<>{}[]:;,|-=\\ \0a9\xe9";
    let mut state = 1_u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("it is small") % limit.max(1)
    };
    for round in 0..count {
        let mut text = samples[usize::try_from(round).expect("it is small") % samples.len()].as_bytes().to_vec();
        for _ in 0..=below(6) {
            let start = below(text.len());
            let end = (start + below(20)).min(text.len());
            let at = below(text.len());
            match below(5) {
                // Characters of two, three and four bytes.
                4 => drop(text.splice(at..at, "\u{e9}\u{7b2c}\u{1d11e}".bytes())),
                0 => drop(text.drain(start..end)),
                1 => drop(text.splice(at..at, text[start..end].to_vec())),
                2 => text.truncate(start.max(1)),
                _ => text[at..].iter_mut().take(1).for_each(|byte| *byte = BYTES[below(BYTES.len())]),
            }
        }
        read(&text);
    }
}

/// Checks that texts which differ from the samples are read, and that each of their characters is in the layer or counted.
#[allow(dead_code, reason = "not all readers are tested with it")]
pub(crate) fn mutations_are_counted(path: &str, samples: &[&str]) {
    mutations(samples, 4000, |bytes| {
        let Ok(layer) = read(path, bytes.to_vec(), &ReadSettings::default()) else { return };
        let Ok(text) = std::str::from_utf8(bytes) else { return check(&layer, None) };
        check(&layer, Some(text));
        let (kept, dropped) = covered(&layer, text);
        assert_eq!(kept + dropped, visible_chars(text), "{text:?}\n{}", layer.text);
    });
}

/// Checks that texts of one part, again and again, are read in time.
#[allow(dead_code, reason = "not all readers are tested with it")]
pub(crate) fn takes_linear_time(path: &str, parts: &[&str]) {
    for part in parts {
        let start = std::time::Instant::now();
        layer(path, &part.repeat(60_000 / part.len()));
        assert!(start.elapsed().as_secs() < 10, "{part:?} {:?}", start.elapsed());
    }
}

/// Packs parts into a ZIP file.
#[cfg(feature = "package")]
pub(crate) fn zip(parts: &[(&str, impl AsRef<[u8]>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).expect("the part is new");
        zip.write_all(bytes.as_ref()).expect("memory takes all");
    }
    zip.finish().expect("memory takes all").into_inner()
}
