//! Subtitles from the file to the layer: its blocks, its places, and the count of what is left out.

use chunkmill_text::document::{Document, visible_chars};

use super::*;
use crate::check::{check, kept_and_dropped, layer, mutations};
use crate::read;

const SRT: &str = "\u{feff}1\r\n00:00:01,000 --> 00:00:03,000\r\n<i>Hello</i> there,\r\nmy {\\an8}friend.\r\n\r\n2\r\n00:00:03,500 --> 00:00:05,000\r\nHow are you?\r\n\r\n3\r\n00:00:08,000 --> 00:00:09,000\r\n- Fine.\r\n- 2 < 3 & so on.\r\n";
const VTT: &str = "WEBVTT - Talk\nKind: captions\nLanguage: en\n\nSTYLE\n::cue { color: red }\n\nNOTE a note\nof two lines\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v.loud Ann Lee>One &amp; two</v>\n\n00:02.000 --> 00:04.000\n<v Ann Lee>three\n<v Bob>Four <00:03.000><c>five</c>\n\nNOTE last\n";

fn places(layer: &Layer) -> Vec<(usize, String)> {
    let document = Document::parse("a.srt".into(), layer.clone());
    document.places.iter().map(|(at, place)| (*at, place.name.clone())).collect()
}

fn counted(name: &str, text: &str) -> Layer {
    let layer = layer(name, text);
    let (kept, dropped) = kept_and_dropped(&layer);
    // A reference is fewer characters than it is in the file.
    let references = text.matches("&amp;").count() as u64 * 4;
    assert_eq!(kept + dropped + references, visible_chars(text), "{}", layer.text);
    layer
}

#[test]
fn cues_become_paragraphs_with_their_times() {
    let layer = counted("a.srt", SRT);
    assert_eq!(layer.text, "Hello there, my friend. How are you?\n\n- Fine.\n\n- 2 < 3 & so on.\n");
    let times = |start: usize, end: usize| format!("00:00:0{start}.000-00:00:0{end}.000");
    assert_eq!(places(&layer), [(0, times(1, 5)), (37, times(8, 9))]);
    let at = layer.text.find("How").unwrap();
    assert_eq!(layer.map.place(&layer.text, &(at..at + 3)).start, SRT.find("How").unwrap() as u64);
}

#[test]
fn speakers_of_webvtt_are_named() {
    let layer = counted("a.vtt", VTT);
    assert_eq!(layer.text, "Ann Lee: One & two three\n\nBob: Four five\n");
    let pause = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>One\n\n00:09.000 --> 00:10.000\n<v Ann>two\n";
    assert_eq!(counted("a.vtt", pause).text, "Ann: One\n\nAnn: two\n");
    let document = Document::parse("a.vtt".into(), layer);
    assert_eq!(document.metadata["language"], "en");
    let reasons: Vec<_> = document.dropped.iter().map(|dropped| dropped.reason).collect();
    assert!(reasons.contains(&DropReason::Comment) && reasons.contains(&DropReason::Repeated), "{reasons:?}");
}

#[test]
fn a_line_that_moves_up_is_not_said_twice() {
    let text = "WEBVTT\n\n00:00.000 --> 00:02.000\n \nso<00:01.000><c> this</c>\n\n00:02.000 --> 00:02.010\nso this\n \n\n00:02.010 --> 00:04.000\nso this\nis<c> it</c>\n\n00:04.000 --> 00:04.010\nis it\n\n00:09.000 --> 00:10.000\nis it\n";
    assert_eq!(counted("a.vtt", text).text, "so this is it\n\nis it\n");
}

#[test]
fn a_long_paragraph_ends_with_a_sentence_or_with_a_cue() {
    let cue = |at: usize, text: &str| {
        format!("{at}\n00:{:02}:{:02},000 --> 00:{:02}:{:02},900\n{text}\n\n", at / 60, at % 60, at / 60, at % 60)
    };
    let long: String = (0..90).map(|at| cue(at, &format!("Twenty bytes of {at}."))).collect();
    assert_eq!(counted("a.srt", &long).text.matches("\n\n").count(), 2);
    let endless: String = (0..100).map(|at| cue(at, &format!("words without an end 12345 {at}"))).collect();
    assert_eq!(counted("a.srt", &endless).text.matches("\n\n").count(), 2);
}

#[test]
fn text_without_times_is_kept() {
    assert_eq!(counted("a.srt", "one\ntwo\n\nthree <b>bold</b> <unclosed").text, "one two\n\nthree bold <unclosed\n");
    let missing = "1\n00:00:01,000 --> 00:00:02,000\na\n2\n00:00:02,000 --> 00:00:03,000\n\nb\n\nstill b\n";
    assert_eq!(counted("a.srt", missing).text, "a b still b\n");
    assert_eq!(counted("a.vtt", "WEBVTT\n").text, "");
}

#[test]
fn hostile_files_are_read_in_time() {
    for piece in ["<", "{\\", "&", "<v a>", "-->", "0:0-->0:0\n", "1\n0:0 --> 0:1\n-a\n", "\r", "\r\n\r"] {
        let text = piece.repeat(50_000);
        let _ = read("a.vtt", format!("WEBVTT\n\n{text}").into_bytes(), &ReadSettings::default());
        let _ = read("a.srt", text.into_bytes(), &ReadSettings::default());
    }
}

#[test]
fn no_change_of_bytes_makes_it_panic() {
    mutations(&[SRT, VTT], 4000, |text| {
        if let Ok(layer) = read("a.vtt", text.to_vec(), &ReadSettings::default()) {
            check(&layer, std::str::from_utf8(text).ok());
        }
    });
}
