//! The cues of subtitles: lines of text that are shown from one time to another.

use std::ops::Range;

/// A line of a file.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Its bytes, without its end.
    pub(super) range: Range<usize>,
    pub(super) kind: LineKind,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    /// The first lines of a `WebVTT` file, numbers and names of cues.
    Markup,
    /// A note, a style or a region of `WebVTT`.
    Comment,
    /// From when to when the next lines are shown, in milliseconds.
    Time(u64, u64),
    Text,
}

/// Returns the lines of a file.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n').flat_map(|line| line.split_inclusive('\r')) {
        let kept = line.trim_end_matches(['\n', '\r']);
        // Between `\r` and `\n` there is no line.
        if line != "\n" || !text[..at].ends_with('\r') {
            let kind = kind(kept);
            lines.push(Line { range: at..at + kept.len(), kind });
        }
        at += line.len();
    }
    names(text, &mut lines);
    if text.trim_start_matches('\u{feff}').starts_with("WEBVTT") {
        blocks(text, &mut lines);
    }
    lines
}

fn kind(line: &str) -> LineKind {
    if line.trim().is_empty() {
        return LineKind::Blank;
    }
    times(line).map_or(LineKind::Text, |(start, end)| LineKind::Time(start, end))
}

/// Finds the numbers and names of cues: the line before the times, if it is a number or the first after a blank one.
fn names(text: &str, lines: &mut [Line]) {
    for at in 1..lines.len() {
        if !matches!(lines[at].kind, LineKind::Time(..)) || lines[at - 1].kind != LineKind::Text {
            continue;
        }
        let name = text[lines[at - 1].range.clone()].trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let first = at == 1 || lines[at - 2].kind == LineKind::Blank;
        // A name is short; a line of text may stand before the times if the blank line is missing.
        if number || first && name.len() <= 80 {
            lines[at - 1].kind = LineKind::Markup;
        }
    }
}

/// Finds the head, notes, styles and regions of a `WebVTT` file, which end with a blank line.
fn blocks(text: &str, lines: &mut [Line]) {
    let mut block = Some(LineKind::Markup);
    let mut before = LineKind::Markup;
    for line in lines {
        if line.kind == LineKind::Text && before == LineKind::Blank {
            let word = text[line.range.clone()].split([' ', '\t']).next().unwrap_or_default();
            block = matches!(word, "NOTE" | "STYLE" | "REGION").then_some(LineKind::Comment);
        }
        before = line.kind;
        match (line.kind, block) {
            (LineKind::Text | LineKind::Markup, Some(kind)) => line.kind = kind,
            (LineKind::Blank | LineKind::Time(..), _) => block = None,
            _ => {}
        }
    }
}

/// Returns the times of a line such as `00:01:05,000 --> 00:01:20,500`.
fn times(line: &str) -> Option<(u64, u64)> {
    let (start, rest) = line.split_once("-->")?;
    let start = time(start.trim().trim_start_matches('\u{feff}'))?;
    let end = time(rest.split_whitespace().next()?)?;
    Some((start, end))
}

/// Returns a time in milliseconds: hours, which may be missing, minutes, seconds and their parts.
fn time(text: &str) -> Option<u64> {
    let (clock, parts) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let number = |digits: &str| {
        let plain = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| plain)
    };
    let fields: Vec<_> = clock.splitn(4, ':').map(str::trim).collect();
    if !(2..=3).contains(&fields.len()) {
        return None;
    }
    let seconds = fields.iter().try_fold(0, |sum, field| Some(sum * 60 + number(field)?))?;
    number(parts)?;
    let millis = number(&format!("{parts:0<3}")[..3])?;
    Some(seconds * 1000 + millis)
}

/// Returns a time as it is named in places: `00:01:05.000`.
pub(super) fn name(time: u64) -> String {
    let (seconds, millis) = (time / 1000, time % 1000);
    format!("{:02}:{:02}:{:02}.{millis:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A part of the text of a cue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part<'t> {
    /// Text, and where it starts.
    Text(&'t str, usize),
    /// A character that stands for a reference such as `&amp;`, with its bytes.
    Reference(char, Range<usize>),
    /// The name of who speaks, and where it starts.
    Speaker(&'t str, usize),
    /// A tag.
    Markup(&'t str),
}

/// Longest tag. A `<` without a `>` close behind it is text.
const MAX_TAG: usize = 200;

/// Returns the parts of a line of a cue that starts at a byte.
pub(super) fn parts(line: &str, at: usize, references: bool) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut plain, mut next) = (0, 0);
    while let Some(found) = line[next..].find(['<', '{', '&']).map(|found| next + found) {
        let (mut special, len) = special(&line[found..], at + found, references);
        if special.is_empty() {
            next = found + 1;
            continue;
        }
        if plain < found {
            parts.push(Part::Text(&line[plain..found], at + plain));
        }
        parts.append(&mut special);
        (plain, next) = (found + len, found + len);
    }
    if plain < line.len() {
        parts.push(Part::Text(&line[plain..], at + plain));
    }
    parts
}

/// Returns the tag or reference that a text starts with, and its length.
fn special(text: &str, at: usize, references: bool) -> (Vec<Part<'_>>, usize) {
    let head = &text.as_bytes()[..text.len().min(MAX_TAG)];
    let end = |last: u8| head.iter().position(|byte| *byte == last).map(|end| end + 1);
    match (head.first(), head.get(1)) {
        (Some(b'<'), Some(b'/' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z')) => {
            let Some(len) = end(b'>') else { return (Vec::new(), 0) };
            (tag(&text[..len], at), len)
        }
        (Some(b'{'), Some(b'\\')) => end(b'}').map_or((Vec::new(), 0), |len| (vec![Part::Markup(&text[..len])], len)),
        (Some(b'&'), Some(_)) if references => {
            let end = head[..head.len().min(10)].iter().position(|byte| *byte == b';');
            let Some(len) = end.map(|end| end + 1) else { return (Vec::new(), 0) };
            let c = reference(&text[1..len - 1]);
            c.map_or((Vec::new(), 0), |c| (vec![Part::Reference(c, at..at + len)], len))
        }
        _ => (Vec::new(), 0),
    }
}

/// Returns the parts of a tag: of `<v Name>`, the name.
fn tag(tag: &str, at: usize) -> Vec<Part<'_>> {
    let inside = &tag[1..tag.len() - 1];
    let voice = inside.split_once([' ', '\t']).filter(|(kind, _)| kind.split('.').next() == Some("v"));
    let Some((name, start)) = voice.and_then(|(_, name)| {
        let start = tag.len() - 1 - name.trim_start().len();
        let name = name.trim();
        (!name.is_empty()).then_some((name, start))
    }) else {
        return vec![Part::Markup(tag)];
    };
    vec![Part::Markup(&tag[..start]), Part::Speaker(name, at + start), Part::Markup(&tag[start + name.len()..])]
}

fn reference(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "lrm" => '\u{200e}',
        "rlm" => '\u{200f}',
        _ => {
            let digits = name.strip_prefix('#')?;
            let hex = digits.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| digits.parse(), |hex| u32::from_str_radix(hex, 16));
            char::from_u32(code.ok()?)?
        }
    })
}
