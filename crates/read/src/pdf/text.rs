//! The text of lines: where a word that was cut goes on, which words are a link, and which are marked as code or emphasis.

use chunkmill_text::document::{DropReason, Inline, LayerWriter};

use super::font::Look;
use super::line::Line;
use super::usual::{HYPHENS, Usual};
use super::word::Word;
use crate::runs::{self, Runs};

/// Widest indentation and gap in code, in characters.
const MAX_INDENT: usize = 200;

/// Letters without a gap that words in italics have at least, and letters or digits in bold words. Names of variables have
/// fewer.
const LEAST_ITALIC: usize = 3;
const LEAST_BOLD: usize = 2;

/// Makes text of lines.
pub(super) struct Text<'d> {
    pub(super) usual: &'d Usual,
    /// The targets of all links.
    pub(super) links: &'d [String],
}

/// A part of a paragraph: a word, or the part of one that looks the same.
#[derive(Debug, Clone, Copy)]
struct Run<'w> {
    text: &'w str,
    look: Look,
    raised: bool,
    /// Whether a space is before it.
    space: bool,
    /// Its link, as in [`Word`].
    link: u32,
}

impl Text<'_> {
    /// Returns the text of a heading. Its look is not marked.
    pub(super) fn heading(&self, lines: &[Line], writer: &mut LayerWriter) -> Inline {
        let mut runs = Runs::new();
        runs.set_plain();
        self.write(runs, &self.parts(&of_lines(lines), writer))
    }

    /// Returns the text of lines that are one paragraph.
    pub(super) fn paragraph(&self, lines: &[Line], writer: &mut LayerWriter) -> Inline {
        self.flow(&of_lines(lines), writer)
    }

    /// Returns the text of an item, without the mark that its first word is.
    pub(super) fn item(&self, lines: &[Line], writer: &mut LayerWriter) -> Inline {
        let mut lines = of_lines(lines);
        if let Some(line) = lines.first_mut().filter(|line| !line.is_empty()) {
            line.remove(0);
        }
        self.flow(&lines, writer)
    }

    /// Returns the text of a cell. If all of it is bold or in italics, that is its place in the table, not emphasis.
    pub(super) fn cell(&self, lines: &[Vec<Word>], writer: &mut LayerWriter) -> Inline {
        let lines: Vec<Vec<&Word>> = lines.iter().map(|line| line.iter().collect()).collect();
        let mut parts = self.parts(&lines, writer);
        let (bold, italic) = (parts.iter().all(|part| part.look.bold), parts.iter().all(|part| part.look.italic));
        for part in &mut parts {
            part.look.bold &= !bold;
            part.look.italic &= !italic;
        }
        self.write(Runs::new(), &parts)
    }

    /// Returns the text of lines that stay lines.
    pub(super) fn lines(&self, lines: &[Line], writer: &mut LayerWriter) -> Inline {
        let mut text = Inline::new();
        for line in lines {
            if !text.is_blank() {
                text.line_break();
            }
            text.append(&self.flow(&[line.words().collect()], writer));
        }
        text
    }

    fn flow(&self, lines: &[Vec<&Word>], writer: &mut LayerWriter) -> Inline {
        self.write(Runs::new(), &self.parts(lines, writer))
    }

    /// Returns the parts of lines. Counts the hyphens that only cut words.
    fn parts<'w>(&self, lines: &[Vec<&'w Word>], writer: &mut LayerWriter) -> Vec<Run<'w>> {
        let mut parts: Vec<Run<'w>> = Vec::new();
        // The word before, and its hyphen if that is not written yet.
        let mut before: Option<(&Word, Option<Run<'w>>)> = None;
        for (number, line) in lines.iter().enumerate() {
            for (at, word) in line.iter().enumerate() {
                let mut space = before.is_some();
                if let Some((cut, Some(hyphen))) = before {
                    let lower = word.text.starts_with(char::is_lowercase);
                    if lower && !self.usual.keeps_hyphen(&cut.text, &word.text) {
                        writer.drop(DropReason::Markup, hyphen.text);
                    } else {
                        parts.push(hyphen);
                    }
                    space = false;
                } else if let Some((last, None)) = before.filter(|_| at == 0) {
                    let ideographs = last.text.chars().next_back().is_some_and(is_ideograph)
                        && word.text.chars().next().is_some_and(is_ideograph);
                    // Lines of code are cut in the middle of paths and of options, too.
                    let code = self.usual.is_code(last.look) && self.usual.is_code(word.look);
                    let cut = code && last.text.ends_with(['/', '-']);
                    space = !ideographs && !cut && !ends_with_hyphen(&last.text);
                }
                let last = at + 1 == line.len() && number + 1 < lines.len();
                // Nobody hyphenates names in code.
                let may_cut = last && !self.usual.is_code(word.look);
                let rest =
                    word.text.strip_suffix(HYPHENS).filter(|rest| may_cut && rest.ends_with(char::is_alphabetic));
                let end = rest.map_or(word.text.len(), str::len);
                let link_ends = !last && line.get(at + 1).is_none_or(|next| next.link != word.link);
                let linked = if link_ends { self.linked(word) } else { end };
                let raised = word.raised.filter(|raised| *raised > 0);
                for (range, look) in word.looks() {
                    // A part ends where its link ends, and where the raised end of its word starts.
                    let (start, end) = (range.start, range.end.min(end).max(range.start));
                    let mut cuts = [start, linked.clamp(start, end), raised.unwrap_or(0).clamp(start, end), end];
                    cuts.sort_unstable();
                    for cut in cuts.windows(2).filter(|cut| cut[0] < cut[1]) {
                        let raised = raised.is_some_and(|raised| raised <= cut[0]);
                        let link = if cut[0] < linked { word.link } else { 0 };
                        let text = &word.text[cut[0]..cut[1]];
                        parts.push(Run { text, look, raised, space: std::mem::take(&mut space), link });
                    }
                }
                let hyphen = rest.and_then(|rest| {
                    let last = parts.last()?;
                    Some(Run { text: &word.text[rest.len()..], space: false, ..*last })
                });
                before = Some((word, hyphen));
            }
        }
        parts.extend(before.and_then(|(_, hyphen)| hyphen));
        parts
    }

    /// Returns the byte of the last word of a link where the link ends: the end of a sentence is mostly not part of it.
    fn linked(&self, word: &Word) -> usize {
        let end = word.text.trim_end_matches(['.', ',', ';', ':']);
        let part = |target: &str| target.ends_with(&word.text[end.len()..]);
        if self.target(word.link).is_none_or(part) { word.text.len() } else { end.len() }
    }

    fn target(&self, link: u32) -> Option<&str> {
        let link = usize::try_from(link).ok()?.checked_sub(1)?;
        self.links.get(link).map(String::as_str)
    }

    /// Writes the parts of a paragraph.
    fn write(&self, mut runs: Runs, parts: &[Run<'_>]) -> Inline {
        let looks = self.looks(parts);
        let mut link = 0;
        let mut last = runs::Look::default();
        let mut raised = false;
        for (part, look) in parts.iter().zip(looks) {
            if part.link != link && self.target(link).is_some() {
                runs.close_link();
            }
            if part.space {
                runs.text(" ", if look == last && part.link == link { look } else { runs::Look::default() });
            }
            if part.link != link
                && let Some(target) = self.target(part.link)
            {
                runs.open_link(target);
            }
            // A raised number is an exponent or the mark of a note, not a digit more.
            if part.raised && !raised && part.text.starts_with(|c: char| c.is_ascii_digit()) {
                runs.text("^", look);
            }
            runs.text(part.text, look);
            (link, last, raised) = (part.link, look, part.raised);
        }
        runs.finish().0
    }

    /// Returns how each part is marked.
    fn looks(&self, parts: &[Run<'_>]) -> Vec<runs::Look> {
        let usual = self.usual;
        let code = |part: &Run<'_>| usual.is_code(part.look) && !part.text.contains(is_ideograph);
        let is_bold = |part: &Run<'_>| part.look.bold && !usual.look.bold && !code(part);
        let is_italic = |part: &Run<'_>| part.look.italic && !usual.look.italic && !code(part);
        let bold = emphasis(parts, is_bold, |text| has_run(text, LEAST_BOLD, char::is_alphanumeric));
        let italic = emphasis(parts, is_italic, |text| has_run(text, LEAST_ITALIC, char::is_alphabetic));
        let looks = parts.iter().zip(bold).zip(italic);
        looks.map(|((part, bold), italic)| runs::Look { bold, italic, code: code(part), raised: false }).collect()
    }
}

/// Returns for each part whether it is emphasis: it looks so, and one of those that follow each other counts. Symbols at their
/// ends are none.
fn emphasis(parts: &[Run<'_>], is: impl Fn(&Run<'_>) -> bool, counts: impl Fn(&str) -> bool) -> Vec<bool> {
    let mut found = vec![false; parts.len()];
    let mut at = 0;
    for run in parts.chunk_by(|a, b| is(a) == is(b)) {
        if is(&run[0]) && run.iter().any(|part| counts(part.text)) {
            let has_words = |part: &Run<'_>| part.text.contains(char::is_alphanumeric);
            let first = run.iter().position(has_words).unwrap_or(0);
            let last = run.iter().rposition(has_words).unwrap_or(0);
            found[at + first..=at + last].fill(true);
        }
        at += run.len();
    }
    found
}

/// Returns whether so many of these characters follow each other.
fn has_run(text: &str, least: usize, is: fn(char) -> bool) -> bool {
    text.split(|c| !is(c)).any(|run| run.chars().count() >= least)
}

fn of_lines(lines: &[Line]) -> Vec<Vec<&Word>> {
    lines.iter().map(|line| line.words().collect()).collect()
}

/// Returns whether a compound was cut after its hyphen, or a dash between numbers.
fn ends_with_hyphen(text: &str) -> bool {
    let mut chars = text.chars().rev();
    chars.next() == Some('-') && chars.next().is_some_and(char::is_alphanumeric)
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns the text of code, with the spaces that its places mean.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "lines are short"
)]
pub(super) fn code(lines: &[Line]) -> Inline {
    let widths = lines.iter().flat_map(Line::words).map(|word| (word.end - word.x) / word.chars().max(1) as f32);
    let width = super::line::median(widths).max(0.1);
    let left = lines.iter().map(|line| line.x).fold(f32::INFINITY, f32::min);
    let mut text = Inline::new();
    let mut before: Option<&Line> = None;
    for line in lines {
        if let Some(before) = before {
            text.write(if line.y - before.y > 1.8 * line.size { "\n\n" } else { "\n" });
        }
        let mut at = 0;
        for word in line.words() {
            let column = (((word.x - left) / width).round().max(0.0) as usize).min(MAX_INDENT + at);
            let spaces = column.saturating_sub(at).max(usize::from(at > 0));
            text.write(&" ".repeat(spaces));
            text.write(&word.text);
            at += spaces + word.chars();
        }
        before = Some(line);
    }
    text
}
