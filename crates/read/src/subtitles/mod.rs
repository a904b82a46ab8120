//! Subtitles in SRT and `WebVTT`: what is said, and when.
//!
//! A cue is a line or two, cut where the screen ends. People look for what was said, so cues that follow each other become
//! one paragraph, up to a pause, another speaker, or a length that can be read. A paragraph is found by its times. Both
//! formats are read by one scanner, because files are often named as one and written as the other. There is no crate that
//! says where the text of a cue is in the file.
//!
//! Captions that are made while somebody speaks repeat each line once it moves up; a repetition is left out.

mod cue;
#[cfg(test)]
#[allow(clippy::pedantic, clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests;

use chunkmill_base::error::Skip;
use chunkmill_text::document::{DropReason, Inline, Layer, LayerWriter, Place, ReadSettings, on_one_line};

use cue::{LineKind, Part};

/// A pause after which a new paragraph begins, in milliseconds.
const PAUSE: u64 = 2000;

/// Bytes after which a paragraph ends with the next sentence, and after which it ends with the next cue: captions of a
/// machine often have no sentences.
const LONG: usize = 600;
const TOO_LONG: usize = 1200;

/// Longest time between two cues of captions that move up, in milliseconds.
const MOVE: u64 = 100;

/// Reads a file of subtitles.
#[expect(clippy::unnecessary_wraps, reason = "other readers refuse files")]
pub(crate) fn read(source: &Layer, writer: &mut LayerWriter, _: &ReadSettings) -> Result<(), Skip> {
    let text = source.text.as_str();
    let vtt = text.trim_start_matches('\u{feff}').starts_with("WEBVTT");
    if let Some(language) = language(text).filter(|_| vtt) {
        writer.about().metadata.insert("language".to_owned(), language.into());
    }
    let mut speech = Speech::new(writer, vtt);
    let mut cue = Cue::default();
    for line in cue::lines(text) {
        let words = &text[line.range.clone()];
        match line.kind {
            LineKind::Text => cue.lines.push((words, line.range.start)),
            LineKind::Time(start, end) => {
                speech.cue(&std::mem::replace(&mut cue, Cue { times: Some((start, end)), lines: Vec::new() }));
                speech.writer.drop(DropReason::Markup, words);
            }
            LineKind::Markup => speech.writer.drop(DropReason::Markup, words),
            LineKind::Comment => speech.writer.drop(DropReason::Comment, words),
            // Without times, text is what it is in a text file.
            LineKind::Blank if cue.times.is_none() => {
                speech.cue(&std::mem::take(&mut cue));
                speech.flush();
            }
            LineKind::Blank => {}
        }
        if speech.writer.is_full() {
            break;
        }
    }
    speech.cue(&cue);
    speech.flush();
    Ok(())
}

/// Returns the language that the head of a `WebVTT` file names.
fn language(text: &str) -> Option<String> {
    let head = text.lines().take_while(|line| !line.trim().is_empty()).take(20);
    let language = head.filter_map(|line| line.strip_prefix("Language:")).map(str::trim).next()?;
    (!language.is_empty() && language.len() <= 40).then(|| language.to_owned())
}

/// A cue: its times, and its lines with where they start.
#[derive(Default)]
struct Cue<'t> {
    times: Option<(u64, u64)>,
    lines: Vec<(&'t str, usize)>,
}

/// The spoken text, written paragraph by paragraph.
struct Speech<'w> {
    writer: &'w mut LayerWriter,
    /// Whether character references are read, as in `WebVTT`.
    references: bool,
    paragraph: Inline,
    /// When the paragraph begins and ends.
    times: Option<(u64, u64)>,
    speaker: String,
    /// The last cue: its end and its lines as they are seen.
    before: (u64, Vec<String>),
}

impl<'w> Speech<'w> {
    fn new(writer: &'w mut LayerWriter, references: bool) -> Self {
        let (paragraph, speaker) = (Inline::new(), String::new());
        Self { writer, references, paragraph, times: None, speaker, before: (0, Vec::new()) }
    }

    /// Adds a cue.
    fn cue(&mut self, cue: &Cue<'_>) {
        let lines: Vec<_> = cue.lines.iter().map(|(line, at)| cue::parts(line, *at, self.references)).collect();
        let seen: Vec<String> = lines.iter().map(|parts| plain(parts)).collect();
        if let (Some((start, _)), Some((_, end))) = (cue.times, self.times) {
            let len = self.paragraph.as_str().len();
            let over = len > TOO_LONG || len > LONG && ends_sentence(self.paragraph.as_str());
            if over || start > end.saturating_add(PAUSE) {
                self.flush();
            }
        }
        let repeated = self.repeated(cue, &seen);
        for (index, parts) in lines.iter().enumerate() {
            if index < repeated {
                for part in parts {
                    self.drop(part);
                }
            } else {
                self.line(parts, cue.times);
            }
        }
        if let Some((start, end)) = cue.times {
            self.before = (end.max(start), seen);
        }
    }

    /// Returns how many lines at the start of a cue are the last ones of the cue before it, moved up.
    fn repeated(&self, cue: &Cue<'_>, seen: &[String]) -> usize {
        let (end, before) = &self.before;
        if cue.times.is_none_or(|(start, _)| start > end.saturating_add(MOVE)) {
            return 0;
        }
        let most = before.len().min(seen.len()).min(8);
        let shown = |lines: &[String]| lines.iter().any(|line| !line.is_empty());
        (1..=most)
            .rev()
            .find(|count| {
                let last = &before[before.len() - count..];
                shown(last) && last == &seen[..*count]
            })
            .unwrap_or_default()
    }

    /// Adds a line of a cue.
    fn line(&mut self, parts: &[Part<'_>], times: Option<(u64, u64)>) {
        let mut first = true;
        for part in parts {
            match part {
                Part::Text(text, at) => self.text(text, *at, std::mem::take(&mut first), times),
                Part::Reference(c, range) => {
                    self.begin(std::mem::take(&mut first), times);
                    self.paragraph.replaced(c.encode_utf8(&mut [0; 4]), range.clone());
                }
                Part::Speaker(name, _) if *name == self.speaker && !self.paragraph.is_blank() => {
                    self.writer.drop(DropReason::Repeated, name);
                }
                Part::Speaker(name, at) => {
                    self.flush();
                    self.begin(false, times);
                    (*name).clone_into(&mut self.speaker);
                    self.paragraph.flow(name, *at);
                    self.paragraph.write(": ");
                    first = false;
                }
                Part::Markup(tag) => self.writer.drop(DropReason::Markup, tag),
            }
        }
    }

    fn text(&mut self, text: &str, at: usize, first: bool, times: Option<(u64, u64)>) {
        if first && changes_speaker(text) {
            self.flush();
        }
        if first && text.trim().is_empty() {
            return;
        }
        self.begin(first, times);
        self.paragraph.flow(text, at);
    }

    /// Continues the paragraph, on a new line of a cue behind a space.
    fn begin(&mut self, line: bool, times: Option<(u64, u64)>) {
        let text = self.paragraph.as_str();
        if line && !text.is_empty() && !text.ends_with([' ', '\n']) {
            self.paragraph.write(" ");
        }
        if let Some((start, end)) = times {
            let (first, last) = self.times.unwrap_or((start, end));
            self.times = Some((first.min(start), last.max(end)));
        }
    }

    fn drop(&mut self, part: &Part<'_>) {
        match part {
            Part::Text(text, _) | Part::Speaker(text, _) => self.writer.drop(DropReason::Repeated, text),
            Part::Reference(c, _) => self.writer.drop(DropReason::Repeated, c.encode_utf8(&mut [0; 4])),
            Part::Markup(tag) => self.writer.drop(DropReason::Markup, tag),
        }
    }

    /// Writes the paragraph, with its times as its place.
    fn flush(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let times = self.times.take();
        if paragraph.is_blank() {
            return;
        }
        if let Some((start, end)) = times {
            self.writer.place(Place::new(format!("{}-{}", cue::name(start), cue::name(end))));
        }
        self.writer.paragraph(&paragraph);
    }
}

/// Returns a line as it is seen.
fn plain(parts: &[Part<'_>]) -> String {
    let mut line = String::new();
    for part in parts {
        match part {
            Part::Text(text, _) => line.push_str(text),
            Part::Reference(c, _) => line.push(*c),
            Part::Speaker(..) | Part::Markup(_) => {}
        }
    }
    on_one_line(&line)
}

/// Returns whether somebody else speaks in a line: it begins with a dash, or with `>>` as in captions of television.
fn changes_speaker(line: &str) -> bool {
    let line = line.trim_start();
    let dash = line.strip_prefix(['-', '–', '—']);
    dash.is_some_and(|rest| rest.starts_with(|c: char| c == ' ' || c.is_alphabetic())) || line.starts_with(">>")
}

fn ends_sentence(text: &str) -> bool {
    let closing = ['"', '\'', '”', '’', '»', ')', ']', '♪', ' ', '」'];
    text.trim_end_matches(closing).ends_with(['.', '!', '?', '…', '。', '！', '？', '؟', '।'])
}
