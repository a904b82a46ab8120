//! From the blocks of pages to those of a document: paragraphs that go on over columns and pages, and the text of lines.

use chunkmill_text::document::{DropReason, Inline, LayerWriter};

use super::block::{Block, Kind};
use super::line::Line;
use super::usual::Usual;
use super::word::Word;

/// Blocks before one that are searched for the paragraph that it continues: footnotes and figures stand between.
const BEFORE: usize = 8;

/// Widest indentation and gap in code, in characters.
const MAX_INDENT: usize = 200;

/// Joins paragraphs that go on in the next column or on the next page, and tables. Appends to `repeated` the text of headers
/// that a table has again on its next page.
pub(super) fn join(blocks: Vec<Block>, body: f32, repeated: &mut String) -> Vec<Block> {
    let mut joined: Vec<Block> = Vec::with_capacity(blocks.len());
    for block in blocks {
        if let Some(before) = joined.last_mut().filter(|before| before.pages.1 + 1 == block.pages.0)
            && let (Kind::Table(table), Kind::Table(next)) = (&mut before.kind, &block.kind)
            && block.first
            && table.is_continued_by(next)
            && let Kind::Table(next) = block.kind
        {
            repeated.push_str(&table.append(next));
            before.pages.1 = block.pages.1;
            continue;
        }
        if block.first && block.kind == Kind::Text && !block.aside {
            let from = joined.len().saturating_sub(BEFORE);
            let before = joined[from..].iter().rposition(|before| {
                matches!(before.kind, Kind::Text | Kind::Item(_))
                    && !before.aside
                    && (before.size() - block.size()).abs() < 0.06 * body
                    && block.pages.0 <= before.pages.1 + 1
            });
            if let Some(before) = before.map(|at| &mut joined[from + at])
                && goes_on(before, &block)
            {
                before.pages.1 = block.pages.1;
                before.right = block.right;
                before.lines.extend(block.lines);
                continue;
            }
        }
        joined.push(block);
    }
    joined
}

fn goes_on(before: &Block, block: &Block) -> bool {
    let (Some(last), Some(first)) = (before.lines.last(), block.lines.first()) else { return false };
    if last.look.bold != first.look.bold || last.look.mono != first.look.mono {
        return false;
    }
    let end = last.text();
    let Some(start) = first.words().next().and_then(|word| word.text.chars().next()) else { return false };
    if end.ends_with(['.', '!', '?', ':', ';', '。', '”', '"']) {
        return false;
    }
    let full = before.right - last.end < 2.0 * last.size;
    start.is_lowercase() || end.ends_with(['-', ',']) || full && block.lines.len() > 1 && before.lines.len() > 1
}

/// Makes text of lines.
pub(super) struct Text<'d> {
    pub(super) usual: &'d Usual,
    /// The targets of all links.
    pub(super) links: &'d [String],
}

impl Text<'_> {
    /// Returns the text of lines that are one paragraph.
    pub(super) fn paragraph(&self, lines: &[Line], writer: &mut LayerWriter) -> Inline {
        let lines: Vec<Vec<&Word>> = lines.iter().map(|line| line.words().collect()).collect();
        self.flow(&lines, writer)
    }

    /// Returns the text of an item, without the mark that its first word is.
    pub(super) fn item(&self, lines: &[Line], writer: &mut LayerWriter) -> Inline {
        let mut lines: Vec<Vec<&Word>> = lines.iter().map(|line| line.words().collect()).collect();
        if let Some(line) = lines.first_mut().filter(|line| !line.is_empty()) {
            line.remove(0);
        }
        self.flow(&lines, writer)
    }

    /// Returns the text of a cell.
    pub(super) fn cell(&self, lines: &[Vec<Word>], writer: &mut LayerWriter) -> Inline {
        let lines: Vec<Vec<&Word>> = lines.iter().map(|line| line.iter().collect()).collect();
        self.flow(&lines, writer)
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
        let mut text = Inline::new();
        let mut link = 0;
        // A hyphen at the end of the last line, which is not written yet.
        let mut hyphen = false;
        for (number, line) in lines.iter().enumerate() {
            for (at, word) in line.iter().enumerate() {
                let mut space = !text.as_str().is_empty();
                if std::mem::take(&mut hyphen) {
                    let lower = word.text.starts_with(char::is_lowercase);
                    if lower && !self.usual.keeps_hyphen(&format!("{}-", text.as_str()), &word.text) {
                        writer.drop(DropReason::Markup, "-");
                    } else {
                        text.write("-");
                    }
                    space = false;
                } else if at == 0 && space {
                    let ideographs = text.as_str().chars().next_back().is_some_and(is_ideograph)
                        && word.text.chars().next().is_some_and(is_ideograph);
                    space = !ideographs && !ends_with_hyphen(text.as_str());
                }
                if word.link != link {
                    if link > 0 {
                        text.end_link();
                    }
                    if space {
                        text.write(" ");
                    }
                    link = word.link;
                    if let Some(target) =
                        usize::try_from(link).ok().and_then(|link| self.links.get(link.checked_sub(1)?))
                    {
                        text.start_link(target);
                    } else {
                        link = 0;
                    }
                } else if space {
                    text.write(" ");
                }
                let last = at + 1 == line.len() && number + 1 < lines.len();
                if link > 0 && line.get(at + 1).is_none_or(|next| next.link != link) && !last {
                    let target = usize::try_from(link).ok().and_then(|link| self.links.get(link.checked_sub(1)?));
                    let end = word.text.trim_end_matches(['.', ',', ';', ':']);
                    if end.len() < word.text.len()
                        && target.is_some_and(|target| !target.ends_with(&word.text[end.len()..]))
                    {
                        write(&mut text, end, word.raised);
                        text.end_link();
                        link = 0;
                        text.write(&word.text[end.len()..]);
                        continue;
                    }
                }
                // Nobody hyphenates names in code.
                let may_cut = last && (!word.look.mono || self.usual.mono);
                match word.text.strip_suffix(['-', '‐']).filter(|rest| may_cut && rest.ends_with(char::is_alphabetic))
                {
                    Some(rest) => {
                        write(&mut text, rest, word.raised);
                        hyphen = true;
                    }
                    None => write(&mut text, &word.text, word.raised),
                }
            }
        }
        if hyphen {
            text.write("-");
        }
        if link > 0 {
            text.end_link();
        }
        text
    }
}

/// Returns whether a compound was cut after its hyphen, or a dash between numbers.
fn ends_with_hyphen(text: &str) -> bool {
    let mut chars = text.chars().rev();
    chars.next() == Some('-') && chars.next().is_some_and(char::is_alphanumeric)
}

/// Writes a word. A raised number is an exponent or the mark of a note, not a digit more.
fn write(text: &mut Inline, word: &str, raised: Option<usize>) {
    match raised.and_then(|at| word.split_at_checked(at)) {
        Some((base, raised)) if !base.is_empty() && raised.starts_with(|c: char| c.is_ascii_digit()) => {
            text.write(base);
            text.write("^");
            text.write(raised);
        }
        _ => text.write(word),
    }
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
