//! Lists: of items with bullets or numbers, definitions, fields, options; and lines that stay lines.

use std::ops::Range;

use chunkmill_text::document::{DropReason, Inline, is_blank};
use serde_json::Value;

use super::Reader;
use super::lines::{Line, dedent, indented, is_loose, is_space, trim};
use super::marks::{self, Enumerator};
use super::names::id;

/// Fields that tell Sphinx how to build a page.
const SETTINGS: [&str; 6] = ["orphan", "nocomments", "tocdepth", "nosearch", "no-search", "html_theme"];

/// Longest value of a field that is about the document.
const LONGEST_VALUE: usize = 1000;

/// An item of a list.
pub(super) struct Item {
    /// The mark to write before it.
    mark: String,
    /// The bytes of its mark.
    pub place: Range<usize>,
    pub lines: Vec<Line>,
    /// The line behind it.
    pub end: usize,
}

impl Reader<'_> {
    /// Reads a list that begins at a line, and returns the line behind it.
    pub(super) fn list(&mut self, lines: &[Line], at: usize) -> Option<usize> {
        let text = lines[at].raw(self.text);
        if let Some((mark, _)) = marks::bullet(text) {
            let items = self.bullets(lines, at, mark);
            return self.items(lines, at, &items);
        }
        if let Some(first) = marks::enumerator(text).filter(|_| self.is_item(lines, at)) {
            let items = self.numbered_items(lines, at, first);
            return self.items(lines, at, &items);
        }
        if marks::field(text).is_some() {
            return Some(self.fields(lines, at));
        }
        if marks::option(text).is_some() {
            return self.options(lines, at);
        }
        let is_line = text == "|" || text.starts_with("| ") || text.starts_with("|\t");
        is_line.then(|| self.line_block(lines, at))
    }

    /// Returns the items with a bullet that begin at a line.
    pub(super) fn bullets(&self, lines: &[Line], mut at: usize, mark: char) -> Vec<Item> {
        let mut items = Vec::new();
        while let Some(line) = next_line(lines, &mut at) {
            let text = line.raw(self.text);
            let Some((found, len)) = marks::bullet(text).filter(|_| line.pad == 0) else { break };
            if found != mark {
                break;
            }
            let item = self.item(lines, at, "-".to_owned(), mark.len_utf8(), len);
            at = item.end;
            items.push(item);
        }
        items
    }

    fn item(&self, lines: &[Line], at: usize, mark: String, bytes: usize, len: usize) -> Item {
        let line = lines[at];
        let first = line.behind(self.text, len);
        // A tab behind the mark is as wide as it looks.
        let columns = line.width_to(&first);
        let end = self.end_of_item(lines, at, &first, columns);
        let shared =
            if first.is_blank() { lines.get(at + 1).map_or(0, |line| line.indent(self.text)) } else { columns };
        let mut inside = vec![first];
        inside.extend(lines[at + 1..end].iter().map(|line| line.strip(self.text, shared)));
        Item { mark, place: line.start..line.start + bytes, lines: inside, end }
    }

    /// Returns whether a number at a line is that of an item: the next line is not the rest of a paragraph.
    fn is_item(&self, lines: &[Line], at: usize) -> bool {
        let Some(next) = lines.get(at + 1).filter(|line| !line.is_blank() && line.indent(self.text) == 0) else {
            return true;
        };
        let (Some(this), Some(next)) =
            (marks::enumerator(lines[at].raw(self.text)), marks::enumerator(next.raw(self.text)))
        else {
            return false;
        };
        this.around == next.around && follows(this, next)
    }

    fn numbered_items(&self, lines: &[Line], mut at: usize, first: Enumerator<'_>) -> Vec<Item> {
        let mut items = Vec::new();
        let sequence = marks::sequence(first.number);
        let mut value = sequence.and_then(|sequence| marks::ordinal(first.number, sequence)).unwrap_or(1);
        while let Some(line) = next_line(lines, &mut at) {
            let Some(found) = marks::enumerator(line.raw(self.text)) else { break };
            let is_next = items.is_empty()
                || found.number == "#"
                || sequence.and_then(|sequence| marks::ordinal(found.number, sequence)) == Some(value);
            if !is_next || found.around != first.around || !self.is_item(lines, at) {
                break;
            }
            let mark = &line.raw(self.text)[..found.mark];
            let item = self.item(lines, at, mark.replace('#', &value.to_string()), found.mark, found.len);
            value = value.saturating_add(1);
            at = item.end;
            items.push(item);
        }
        items
    }

    fn items(&mut self, lines: &[Line], at: usize, items: &[Item]) -> Option<usize> {
        let end = items.last()?.end;
        self.before_block();
        self.writer.open_list(!is_loose(&lines[at..end]));
        for item in items {
            self.markup(&self.text[item.place.clone()]);
            self.writer.open_item(&item.mark);
            self.blocks(&item.lines);
            self.before_block();
            self.writer.close();
        }
        self.writer.close();
        Some(end)
    }

    /// Reads a term with its definition.
    pub(super) fn definition(&mut self, lines: &[Line], at: usize) -> usize {
        let end = indented(self.text, lines, at + 1);
        let inside = dedent(self.text, &lines[at + 1..end]);
        let term = self.inline(&lines[at..=at]);
        self.defined(&term, &inside);
        end
    }

    /// Writes a term and what it means.
    pub(super) fn defined(&mut self, term: &Inline, inside: &[Line]) {
        self.before_block();
        self.writer.paragraph(term);
        self.writer.open_list(!is_loose(inside));
        self.writer.open_item(":");
        self.blocks(inside);
        self.before_block();
        self.writer.close();
        self.writer.close();
    }

    /// Reads terms with their definitions, where several lines may be terms of one definition.
    pub(super) fn glossary(&mut self, lines: &[Line]) {
        let mut at = 0;
        while let Some(line) = next_line(lines, &mut at) {
            let is_term = |line: &&Line| !line.is_blank() && line.indent(self.text) == 0;
            let terms = lines[at..].iter().take_while(is_term).count();
            if terms == 0 || line.raw(self.text).starts_with("..") {
                let end = indented(self.text, lines, at + 1);
                self.blocks(&lines[at..end]);
                at = end;
                continue;
            }
            let end = indented(self.text, lines, at + terms);
            let inside = dedent(self.text, &lines[at + terms..end]);
            self.before_block();
            for term in &lines[at..at + terms] {
                let name = term.raw(self.text);
                self.writer.anchor(&format!("term-{}", id(name.split(" : ").next().unwrap_or(name))));
            }
            let term = self.inline(&lines[at..at + terms]);
            self.defined(&term, &inside);
            at = end;
        }
    }

    fn fields(&mut self, lines: &[Line], mut at: usize) -> usize {
        let is_about = self.at_top && self.depth == 1;
        let (start, mut fields) = (at, Vec::new());
        while let Some(line) = next_line(lines, &mut at) {
            let Some((name, len)) = marks::field(line.raw(self.text)) else { break };
            let end = indented(self.text, lines, at + 1);
            let inside = self.hanging(line.behind(self.text, len), &lines[at + 1..end]);
            if is_about && self.about(name, &inside) {
                self.drop_lines(DropReason::Markup, &lines[at..end]);
            } else {
                fields.push((line.behind(self.text, 1).front(name.len()), inside));
            }
            at = end;
        }
        // Not the blank lines behind it.
        let end = start + trim(&lines[start..at]).len();
        self.before_block();
        self.writer.open_list(!is_loose(&lines[start..end]));
        for (name, inside) in fields {
            let lead = self.bold(&[name], ":");
            self.markup("::");
            self.writer.open_item("-");
            self.blocks_with_lead(Some(lead), &inside);
            self.writer.close();
        }
        self.writer.close();
        end
    }

    /// Takes a field about the document, and returns whether it is a setting that no one reads.
    fn about(&mut self, name: &str, lines: &[Line]) -> bool {
        let name = name.trim().to_lowercase();
        if is_loose(lines) {
            return false;
        }
        let words = lines.iter().map(|line| line.text(self.text)).filter(|text| !is_blank(text));
        let value = words.collect::<Vec<_>>().join(" ");
        if value.len() > LONGEST_VALUE {
            return false;
        }
        // `$Date: 2024-01-01 $`
        let value = match value.strip_prefix('$').and_then(|rest| rest.strip_suffix('$')) {
            Some(keyword) => keyword.split_once(':').map_or("", |(_, value)| value).trim().to_owned(),
            None => value,
        };
        let is_setting = SETTINGS.contains(&name.as_str());
        if value.is_empty() && !is_setting {
            return false;
        }
        let about = self.writer.about();
        if matches!(name.as_str(), "tags" | "keywords") {
            about.tags.extend(value.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()));
        } else {
            let value = if value.is_empty() { Value::Bool(true) } else { Value::String(value) };
            about.metadata.entry(name).or_insert(value);
        }
        is_setting
    }

    /// Returns text in bold, with something of our own behind it.
    pub(super) fn bold(&mut self, lines: &[Line], behind: &str) -> Inline {
        let text = self.inline(lines);
        let mut bold = Inline::new();
        let start = bold.start_mark("**");
        bold.append(&text);
        bold.write(behind);
        bold.end_mark("**", start);
        bold
    }

    fn options(&mut self, lines: &[Line], mut at: usize) -> Option<usize> {
        let mut end = None;
        while let Some(line) = next_line(lines, &mut at) {
            let Some((len, text)) = marks::option(line.raw(self.text)) else { break };
            let first = line.behind(self.text, text);
            let behind = indented(self.text, lines, at + 1);
            if first.is_blank() && behind == at + 1 {
                break;
            }
            let inside = self.hanging(first, &lines[at + 1..behind]);
            let name = line.front(len);
            let mut term = Inline::new();
            term.code(&self.verbatim(&[name]));
            self.defined(&term, &inside);
            at = behind;
            end = Some(behind);
        }
        end
    }

    /// Reads lines that stay lines.
    fn line_block(&mut self, lines: &[Line], at: usize) -> usize {
        let mut text = Inline::new();
        let mut end = at;
        while let Some(line) = lines.get(end).filter(|line| line.raw(self.text).starts_with('|')) {
            let raw = line.raw(self.text);
            if raw.len() > 1 && !raw[1..].starts_with(is_space) {
                break;
            }
            let more =
                lines[end + 1..].iter().take_while(|line| !line.is_blank() && line.indent(self.text) > 0).count();
            self.markup("|");
            let first = line.behind(self.text, 1);
            let mut all = vec![first];
            all.extend_from_slice(&lines[end + 1..=end + more]);
            let inline = self.inline(&all);
            end += 1 + more;
            if inline.is_blank() {
                // The end of a verse.
                self.paragraph(&std::mem::take(&mut text));
                continue;
            }
            if !text.is_blank() {
                text.write("\n");
            }
            text.write(&" ".repeat(first.indent(self.text).saturating_sub(1).min(80)));
            text.append(&inline);
        }
        self.paragraph(&text);
        end
    }
}

/// Passes blank lines, and returns the next line.
pub(super) fn next_line(lines: &[Line], at: &mut usize) -> Option<Line> {
    while lines.get(*at)?.is_blank() {
        *at += 1;
    }
    lines.get(*at).copied()
}

/// Returns whether a number is the next of a list.
fn follows(this: Enumerator<'_>, next: Enumerator<'_>) -> bool {
    if next.number == "#" {
        return true;
    }
    let sequences = [marks::Sequence::Arabic, marks::Sequence::Alpha(false), marks::Sequence::Alpha(true)];
    let romans = [marks::Sequence::Roman(false), marks::Sequence::Roman(true)];
    sequences.into_iter().chain(romans).any(|sequence| {
        let values = (marks::ordinal(this.number, sequence), marks::ordinal(next.number, sequence));
        matches!(values, (Some(this), Some(next)) if this.saturating_add(1) == next)
    })
}
