//! Snippets: what of a text a line can show, with the words of the question marked.

use std::ops::Range;

use super::line::{Line, Look, Screen, columns, within};
use crate::search::Marker;

/// Number of characters that are shown where lines have no width.
const CHARACTERS: usize = 240;

/// Returns the part of a text that fits a screen, on one line after an indent: where most words of the question are,
/// without the headings and fences. Without a width, the beginning.
pub(super) fn snippet(text: &str, header_path: &str, question: &str, indent: usize, screen: Screen) -> Line {
    let prose = prose(text, header_path);
    let width = screen.width.map(|width| width.saturating_sub(indent));
    // A pipe shows no marks.
    let found = if screen.colors || width.is_some() { Marker::new(question).marks(&prose) } else { Vec::new() };
    let shown = match width {
        Some(width) => window(&prose, &found, width),
        None => beginning(&prose),
    };
    let mut line = Line::default().with(Look::Plain, " ".repeat(indent));
    if shown.start > 0 {
        line = line.with(Look::Faint, "… ");
    }
    let mut at = shown.start;
    for mark in found.iter().filter(|mark| mark.start >= shown.start && mark.end <= shown.end) {
        line = line.with(Look::Plain, &prose[at..mark.start]).with(Look::Mark, &prose[mark.clone()]);
        at = mark.end;
    }
    line = line.with(Look::Plain, &prose[at..shown.end]);
    if shown.end < prose.len() { line.with(Look::Faint, " …") } else { line }
}

/// Joins the lines of a text with spaces, without the headings that its place names, fences, and marks of Markdown that
/// say nothing on one line.
fn prose(text: &str, header_path: &str) -> String {
    let named: Vec<&str> = header_path.split(" > ").collect();
    let is_shown = |line: &&str| {
        let line = line.trim();
        let heading = line.trim_start_matches('#');
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        let is_underline = line.len() > 2 && line.bytes().all(|byte| matches!(byte, b'=' | b'-'));
        let is_named = heading.len() < line.len() && named.contains(&heading.trim().trim_end_matches('#').trim_end());
        !is_fence && !is_underline && !is_named
    };
    text.lines().filter(is_shown).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// Returns the first words of a text.
fn beginning(prose: &str) -> Range<usize> {
    let Some((end, next)) = prose.char_indices().nth(CHARACTERS) else { return 0..prose.len() };
    0..end_of_word(prose, end, next)
}

/// Returns the end of the last whole word before an offset. A single long word is cut.
fn end_of_word(prose: &str, end: usize, next: char) -> usize {
    if next == ' ' { end } else { prose[..end].rfind(' ').unwrap_or(end) }
}

/// Returns the words that fit some columns, from the beginning if a word of the question is there, else from where most
/// of these words follow.
fn window(prose: &str, found: &[Range<usize>], width: usize) -> Range<usize> {
    if columns(prose) <= width {
        return 0..prose.len();
    }
    // Room for the signs that there is more.
    let room = width.saturating_sub(4).max(1);
    let from = |start: usize| {
        let fits = within(&prose[start..], room).len();
        match prose[start + fits..].chars().next() {
            None => start..prose.len(),
            Some(next) => start..start + end_of_word(&prose[start..], fits, next).max(1),
        }
    };
    let marks_in = |range: &Range<usize>| {
        let inside = found.iter().filter(|mark| mark.start >= range.start && mark.end <= range.end);
        inside.map(|mark| prose[mark.clone()].to_lowercase()).collect::<std::collections::BTreeSet<_>>().len()
    };
    // Some words before the mark say what it is about.
    let lead = |mark: &Range<usize>| {
        let earliest = prose[..mark.start].char_indices().rev().nth(room / 4).map_or(0, |(at, _)| at);
        let word = prose[earliest..mark.start].find(' ').map_or(mark.start, |space| earliest + space + 1);
        if earliest == 0 { 0 } else { word }
    };
    let starts = std::iter::once(0).chain(found.iter().map(lead));
    let windows: Vec<Range<usize>> = starts.map(from).collect();
    let most = windows.iter().map(marks_in).max().unwrap_or_default();
    windows.into_iter().find(|window| marks_in(window) == most).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen { colors: false, links: false, width: None };
    const COLORS: Screen = Screen { colors: true, ..SCREEN };

    fn of_width(width: usize) -> Screen {
        Screen { width: Some(width), ..SCREEN }
    }

    #[test]
    fn headings_of_the_place_and_fences_are_left_out() {
        let text = "# Guide\n## In the console\n1. **Restore** it:\n\n```sh\nlarder restore\n```\n# Other\n";
        assert_eq!(prose(text, "Guide > In the console"), "1. **Restore** it: larder restore # Other");
        assert_eq!(prose("Title\n=====\ntext", ""), "Title text");
    }

    #[test]
    fn a_window_fits_and_has_the_words_of_the_question() {
        let filler = "nothing of interest is in this sentence. ".repeat(20);
        let text = format!("{filler}To restore single files, use the console. {filler}日本語の文書");
        for width in [10, 30, 77, 200] {
            let shown = snippet(&text, "", "How do I restore a single file?", 2, of_width(width + 2)).on(SCREEN);
            assert!(shown.starts_with("  ") && columns(&shown) <= width + 2, "{width}: {shown}");
            if width > 20 {
                assert!(shown.contains("restore single") && shown.starts_with("  …"), "{width}: {shown}");
            }
        }
        let short = snippet("two words", "", "words", 0, of_width(40));
        assert_eq!(short.on(SCREEN), "two words");
        assert_eq!(snippet(&text, "", "zebra", 0, of_width(40)).on(SCREEN), "nothing of interest is in this …");
        assert_eq!(snippet("", "", "zebra", 0, of_width(40)).on(SCREEN), "");
        assert!(!snippet(&"x".repeat(900), "", "zebra", 0, SCREEN).on(SCREEN).is_empty());
    }

    #[test]
    fn words_of_the_question_are_marked_in_all_their_forms() {
        let (text, question) = ("Restoring a vault", "how do I restore vaults?");
        let colored = snippet(text, "", question, 0, COLORS).on(COLORS);
        assert_eq!(colored.matches("\x1b[33m").count(), 2, "{colored:?}");
        // Where nothing stands out, they are not looked for.
        let plain = snippet(text, "", question, 0, SCREEN).on(COLORS);
        assert_eq!(plain, text);
    }
}
