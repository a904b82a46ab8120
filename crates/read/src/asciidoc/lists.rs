//! Lists: bullets, numbers, callouts and terms.

use chunkmill_text::document::{DropReason, Inline};

use super::lines::{Line, Text};
use super::marks::{self, Item, Marker};
use super::{MAX_DEPTH, Reader};

impl Reader<'_> {
    /// Reads the list that begins at a line, and returns the line behind it.
    pub(super) fn list(&mut self, lines: &[Line], at: usize) -> usize {
        let Some(first) = marks::item(lines[at].of(self.text)) else { return at };
        if self.depth + self.markers.len() >= MAX_DEPTH {
            let text = self.inline(&lines[at..=at]);
            self.paragraph(&text);
            return at + 1;
        }
        let start = self.pending.value(self.text, "start").and_then(|start| start.parse().ok());
        self.before_block();
        let tight = self.is_tight(lines, at);
        let is_terms = matches!(first.marker, Marker::Term(_));
        if !is_terms {
            self.writer.open_list(tight);
        }
        self.markers.push(first.marker);
        let (mut at, mut number) = (at, start.or(first.number).unwrap_or(1));
        while let Some(line) = lines.get(at) {
            let Some(item) = marks::item(line.of(self.text)).filter(|item| item.marker == first.marker) else { break };
            if self.writer.is_full() {
                break;
            }
            number = item.number.unwrap_or(number);
            let next = if is_terms { self.term(lines, at, item, tight) } else { self.item(lines, at, item, number) };
            at = next.max(at + 1);
            number = number.saturating_add(1);
        }
        self.markers.pop();
        if !is_terms {
            self.writer.close();
        }
        at
    }

    /// Returns whether no item of a list has more than lines of text and other lists.
    fn is_tight(&self, lines: &[Line], at: usize) -> bool {
        for (index, line) in lines.iter().enumerate().skip(at) {
            let text = line.of(self.text);
            if text == "+" {
                return false;
            }
            if index > at && (marks::fence(text).is_some() || marks::is_attributes(text) || marks::is_block_title(text))
            {
                // Without a line of `+` before it, it ends the list.
                return true;
            }
            let after_blank = index > at && lines[index - 1].is_blank() && !line.is_blank();
            match marks::item(text) {
                Some(item) if self.markers.contains(&item.marker) => return true,
                None if after_blank && line.of(self.text).starts_with([' ', '\t']) => return false,
                None if after_blank => return true,
                _ => {}
            }
        }
        true
    }

    fn item(&mut self, lines: &[Line], at: usize, item: Item, number: u32) -> usize {
        let line = lines[at];
        let (indent, len) = item.mark;
        self.markup(&line.of(self.text)[indent..indent + len]);
        let mark = match item.marker {
            Marker::Stars(_) | Marker::Dash => "-".to_owned(),
            _ => format!("{number}."),
        };
        self.writer.open_item(&mark);
        let first = line.behind(self.text, indent + len);
        let behind = self.content(lines, at + 1, Some(first));
        self.writer.close();
        behind
    }

    /// Reads a term with what is said about it.
    fn term(&mut self, lines: &[Line], at: usize, item: Item, tight: bool) -> usize {
        let line = lines[at];
        let (start, len) = item.mark;
        let term = Line { end: line.start + start, ..line }.bare(self.text);
        self.markup(&line.of(self.text)[start..start + len]);
        let term = self.inline(&[term]);
        self.paragraph(&term);
        self.writer.open_list(tight);
        self.writer.open_item(":");
        let first = line.behind(self.text, start + len);
        let behind = self.content(lines, at + 1, Some(first).filter(|first| !first.is_blank()));
        self.writer.close();
        self.writer.close();
        behind
    }

    /// Reads the text of an item and the blocks that belong to it, and returns the line behind them.
    fn content(&mut self, lines: &[Line], at: usize, first: Option<Line>) -> usize {
        let mut at = at;
        let is_part = |line: &Line, source: &str| {
            let text = line.of(source);
            let is_other = text == "+" || marks::fence(text).is_some() || marks::is_attributes(text);
            !line.is_blank() && !is_other && !marks::is_block_title(text) && marks::item(text).is_none()
        };
        let first_line = first.or_else(|| {
            // The text of a term may stand below it.
            let next = at + lines[at..].iter().take_while(|line| line.is_blank()).count();
            let is_text = |line: &&Line| is_part(line, self.text) && !marks::is_comment(line.of(self.text));
            let text = lines.get(next).filter(is_text)?;
            at = next + 1;
            Some(*text)
        });
        if let Some(first) = first_line {
            let more = lines[at..].iter().take_while(|line| is_part(line, self.text)).count();
            let mut part = vec![first];
            part.extend(self.without_comments(&lines[at..at + more]));
            at += more;
            let text = self.item_text(&part);
            self.paragraph(&text);
        }
        while at < lines.len() && !self.writer.is_full() {
            let Some(next) = self.attached(lines, at) else { break };
            at = next;
        }
        at.min(lines.len())
    }

    /// Returns the text of an item; whether it is done is shown as in Markdown.
    fn item_text(&mut self, part: &[Line]) -> Inline {
        let text = Text::of(self.text, part);
        let is_task = ["[ ] ", "[x] ", "[X] ", "[*] "].iter().any(|mark| text.joined.starts_with(mark));
        let mut out = Inline::new();
        let start = if is_task {
            let done = !text.joined.starts_with("[ ]");
            out.write(if done { "[x] " } else { "[ ] " });
            self.markup(&text.joined[..3]);
            4
        } else {
            0
        };
        self.write_inline(&text, start..text.joined.len(), &mut out, 0);
        out
    }

    /// Reads a block that belongs to the item that is open, and returns the line behind it; `None` if there is none.
    /// Blank lines before the end of the item are behind it.
    fn attached(&mut self, lines: &[Line], at: usize) -> Option<usize> {
        let blank = lines[at..].iter().take_while(|line| line.is_blank()).count();
        let next = at + blank;
        let line = lines.get(next)?;
        let text = line.of(self.text);
        if text == "+" {
            if blank > 0 && self.markers.len() > 1 {
                // It belongs to the item around.
                return None;
            }
            self.markup(text);
            return Some(self.one_block(lines, next + 1));
        }
        if let Some(item) = marks::item(text) {
            // Without a blank line, attributes begin a list of its own.
            let is_inner = !self.markers.contains(&item.marker);
            return is_inner.then(|| self.list(lines, next));
        }
        if blank > 0 && text.starts_with([' ', '\t']) {
            let end =
                next + lines[next..].iter().take_while(|line| !line.is_blank() && line.of(self.text) != "+").count();
            self.before_block();
            self.literal(&lines[next..end]);
            return Some(end);
        }
        if blank == 0 && marks::is_comment(text) {
            self.writer.drop(DropReason::Comment, text);
            return Some(next + 1);
        }
        if marks::is_attributes(text) || marks::is_block_title(text) {
            // It belongs to a list inside.
            let is_about =
                |line: &&Line| marks::is_attributes(line.of(self.text)) || marks::is_block_title(line.of(self.text));
            let about = lines[next..].iter().take_while(is_about).count();
            let item = lines.get(next + about).and_then(|line| marks::item(line.of(self.text)))?;
            if blank == 0 && !self.markers.contains(&item.marker) {
                return Some(self.one_block(lines, next));
            }
        }
        None
    }

    /// Reads one block with the lines that say something about it.
    fn one_block(&mut self, lines: &[Line], at: usize) -> usize {
        let mut at = at;
        while let Some(line) = lines.get(at) {
            if line.is_blank() {
                at += 1;
                continue;
            }
            if line.of(self.text) == "+" {
                break;
            }
            if marks::item(line.of(self.text)).is_some_and(|item| self.markers.contains(&item.marker)) {
                break;
            }
            at = self.block(lines, at).max(at + 1);
            if self.pending.is_empty() {
                break;
            }
        }
        at
    }
}
