//! Blocks: sections, paragraphs, quotes, literal blocks, and what begins with `..`.

use chunkmill_text::document::{DropReason, Inline, slug};

use super::lines::{Line, dedent, deeper, indented, is_space, trim};
use super::names::{definition, id};
use super::{MAX_DEPTH, Reader, marks};

impl Reader<'_> {
    /// Reads lines as blocks.
    pub(super) fn blocks(&mut self, lines: &[Line]) {
        if self.depth >= MAX_DEPTH {
            let text = self.inline(lines);
            self.paragraph(&text);
            return;
        }
        self.depth += 1;
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            if self.writer.is_full() {
                break;
            }
            at = if line.is_blank() { at + 1 } else { self.block(lines, at).max(at + 1) };
        }
        self.depth -= 1;
    }

    /// Reads blocks, and writes what should have begun a paragraph if there is none.
    pub(super) fn blocks_with_lead(&mut self, lead: Option<Inline>, lines: &[Line]) {
        self.before_block();
        self.lead = lead;
        self.blocks(lines);
        self.before_block();
    }

    /// Reads the block that begins at a line, and returns the line behind it.
    fn block(&mut self, lines: &[Line], at: usize) -> usize {
        let line = lines[at];
        if line.indent(self.text) > 0 {
            return self.quote(lines, at);
        }
        let text = line.raw(self.text);
        if text.starts_with(">>>") && (text.len() == 3 || text[3..].starts_with(is_space)) {
            return self.doctest(lines, at);
        }
        if text.starts_with("..") && marks::explicit(text).is_some() {
            return self.explicit(lines, at);
        }
        if text.starts_with("__ ") {
            return self.target(lines, at);
        }
        if let Some(behind) = self.table(lines, at) {
            return behind;
        }
        if let Some(behind) = self.list(lines, at) {
            return behind;
        }
        if marks::underline(text).is_some()
            && let Some(behind) = self.ruled(lines, at)
        {
            return behind;
        }
        self.text(lines, at)
    }

    /// Readies for a block that is written next: names it, and writes what should have begun a paragraph.
    pub(super) fn before_block(&mut self) {
        if let Some(lead) = self.lead.take() {
            self.paragraph(&lead);
        }
        self.place_anchors();
    }

    fn place_anchors(&mut self) {
        self.at_top = false;
        for anchor in std::mem::take(&mut self.anchors) {
            self.writer.anchor(&anchor);
        }
    }

    /// Writes a paragraph.
    pub(super) fn paragraph(&mut self, text: &Inline) {
        self.place_anchors();
        let Some(mut lead) = self.lead.take() else { return self.writer.paragraph(text) };
        if !text.is_blank() {
            lead.write(" ");
            lead.append(text);
        }
        self.writer.paragraph(&lead);
    }

    fn quote(&mut self, lines: &[Line], at: usize) -> usize {
        let end = indented(self.text, lines, at);
        let inside = dedent(self.text, &lines[at..end]);
        self.before_block();
        self.writer.open_quote();
        self.blocks(&inside);
        self.before_block();
        self.writer.close();
        end
    }

    fn doctest(&mut self, lines: &[Line], at: usize) -> usize {
        let len = lines[at..].iter().take_while(|line| !line.is_blank()).count();
        self.code("pycon", &lines[at..at + len]);
        at + len
    }

    /// Writes lines as code.
    pub(super) fn code(&mut self, language: &str, lines: &[Line]) {
        self.before_block();
        let code = self.verbatim(lines);
        self.writer.code(language, &code);
    }

    /// Returns lines as they are.
    pub(super) fn verbatim(&self, lines: &[Line]) -> Inline {
        let mut code = Inline::new();
        let mut end = None;
        for line in trim(lines) {
            match end {
                Some(end) if line.pad == 0 && line.start == end + 1 && self.text[end..].starts_with('\n') => {
                    code.push("\n", end..line.start);
                }
                Some(_) => code.write("\n"),
                None => {}
            }
            code.write(&" ".repeat(line.pad.min(8)));
            code.push(line.raw(self.text), line.range());
            end = Some(line.end);
        }
        code
    }

    /// Reads a title with a line above it, or a line between two parts.
    fn ruled(&mut self, lines: &[Line], at: usize) -> Option<usize> {
        let text = lines[at].raw(self.text);
        let mark = marks::underline(text)?;
        if let (Some(title), Some(under)) = (lines.get(at + 1), lines.get(at + 2)) {
            let below = under.raw(self.text);
            let is_wide = text.len() >= 4 || text.len() >= marks::columns(title.text(self.text));
            if !title.is_blank() && marks::underline(below) == Some(mark) && is_wide {
                self.markup(text);
                self.markup(below);
                self.heading((mark, true), *title);
                return Some(at + 3);
            }
        }
        if text.len() < 4 || lines.get(at + 1).is_some_and(|line| !line.is_blank()) {
            return None;
        }
        self.markup(text);
        self.before_block();
        self.writer.rule();
        Some(at + 1)
    }

    fn heading(&mut self, style: (char, bool), title: Line) {
        let level = self.styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let at_top = self.at_top && self.title.is_none();
        let text = self.inline(&[title]);
        let anchor = self.anchors.pop();
        self.before_block();
        self.at_top = at_top;
        if level == 0 {
            self.first_titles += 1;
            let first = self.plain_title(title);
            self.title.get_or_insert(first);
        }
        if anchor.is_some() {
            // Links may use the name of the title too.
            self.writer.anchor(&slug(title.text(self.text)));
        }
        self.writer.heading(u8::try_from(level + 1).unwrap_or(6), &text, anchor.as_deref());
    }

    /// Returns a title without the marks in it.
    fn plain_title(&self, title: Line) -> String {
        title.text(self.text).replace(['`', '*', '\\', '|'], "")
    }

    /// Reads what begins with text: a title, a definition or a paragraph.
    fn text(&mut self, lines: &[Line], at: usize) -> usize {
        let line = lines[at];
        if let Some(next) = lines.get(at + 1).filter(|next| !next.is_blank()) {
            let (text, below) = (line.raw(self.text), next.raw(self.text));
            if let Some(mark) = marks::underline(below)
                && (below.len() >= 4 || below.len() >= marks::columns(text))
            {
                self.markup(below);
                self.heading((mark, false), line);
                return at + 2;
            }
            if next.indent(self.text) > 0 && !text.ends_with("::") {
                return self.definition(lines, at);
            }
        }
        let is_part = |line: &&Line| !line.is_blank() && line.indent(self.text) == 0;
        let end = at + 1 + lines[at + 1..].iter().take_while(is_part).count();
        let last = lines[end - 1];
        if last.raw(self.text).ends_with("::") && !last.raw(self.text).ends_with("\\::") {
            return self.before_literal(lines, at, end);
        }
        let text = self.inline(&lines[at..end]);
        self.paragraph(&text);
        end
    }

    /// Reads a paragraph that announces a literal block.
    fn before_literal(&mut self, lines: &[Line], at: usize, end: usize) -> usize {
        let mut part = lines[at..end].to_vec();
        if let Some(last) = part.last_mut() {
            let text = last.raw(self.text);
            let kept = text[..text.len() - 2].trim_end();
            // `text::` keeps one of the colons.
            let colon = usize::from(!kept.is_empty() && kept.len() + 2 == text.len());
            last.end = last.start + kept.len() + colon;
            self.markup(&text[kept.len() + colon..]);
        }
        if part.iter().any(|line| !line.is_blank()) {
            let text = self.inline(&part);
            self.paragraph(&text);
        }
        let Some(start) = lines[end..].iter().position(|line| !line.is_blank()).map(|blank| end + blank) else {
            return end;
        };
        let language = self.language.clone();
        if lines[start].indent(self.text) > 0 {
            let behind = indented(self.text, lines, start);
            let code = dedent(self.text, &lines[start..behind]);
            self.code(&language, &code);
            return behind;
        }
        let mark = lines[start].raw(self.text).chars().next().filter(char::is_ascii_punctuation);
        let Some(mark) = mark.filter(|_| start > end) else { return end };
        let quoted = lines[start..].iter().take_while(|line| line.raw(self.text).starts_with(mark)).count();
        let behind = start + quoted;
        if lines.get(behind).is_some_and(|line| !line.is_blank()) {
            return end;
        }
        self.code(&language, &lines[start..behind]);
        behind
    }

    /// Reads what begins with `..`.
    fn explicit(&mut self, lines: &[Line], at: usize) -> usize {
        let line = lines[at];
        let text = line.raw(self.text);
        if let Some((label, len)) = marks::footnote(text) {
            return self.footnote(lines, at, label, len);
        }
        if definition(text).is_some() {
            return self.target(lines, at);
        }
        if marks::substitution(text).is_some() {
            let end = indented(self.text, lines, at + 1);
            self.drop_lines(DropReason::Markup, &lines[at..end]);
            return end;
        }
        if let Some((name, len)) = marks::directive(text) {
            return self.directive(lines, at, name, len);
        }
        let is_empty = text.len() == 2 && lines.get(at + 1).is_none_or(Line::is_blank);
        let end = if is_empty { at + 1 } else { indented(self.text, lines, at + 1) };
        self.drop_lines(DropReason::Comment, &lines[at..end]);
        end
    }

    /// Counts lines that are left out.
    pub(super) fn drop_lines(&mut self, reason: DropReason, lines: &[Line]) {
        for line in lines {
            self.writer.drop(reason, line.raw(self.text));
        }
    }

    /// Reads the target of links.
    fn target(&mut self, lines: &[Line], at: usize) -> usize {
        let Some(found) = definition(lines[at].raw(self.text)) else { return self.text(lines, at) };
        let more = lines[at + 1..].iter().take_while(|line| !line.is_blank() && line.indent(self.text) > 0).count();
        let end = at + 1 + more;
        self.drop_lines(DropReason::Markup, &lines[at..end]);
        if more == 0 && found.value.trim().is_empty() && !found.name.is_empty() {
            self.anchors.push(id(found.name));
        }
        end
    }

    fn footnote(&mut self, lines: &[Line], at: usize, label: &str, len: usize) -> usize {
        let line = lines[at];
        self.markup(&line.raw(self.text)[..len]);
        let end = indented(self.text, lines, at + 1);
        let inside = self.hanging(line.behind(self.text, len), &lines[at + 1..end]);
        let label = match label {
            "#" => self.next_number(true),
            "*" => self.next_symbol(true),
            _ => label.strip_prefix('#').unwrap_or(label).to_owned(),
        };
        self.before_block();
        self.writer.open_footnote(&label);
        self.blocks(&inside);
        self.before_block();
        self.writer.close();
        end
    }

    /// Returns the lines of an item whose first line has a mark, without the indentation of the others.
    pub(super) fn hanging(&self, first: Line, rest: &[Line]) -> Vec<Line> {
        let rest = if rest.first().is_some_and(Line::is_blank) { rest } else { trim(rest) };
        let shared = rest.iter().filter(|line| !line.is_blank()).map(|line| line.indent(self.text)).min().unwrap_or(0);
        let mut lines = vec![first];
        lines.extend(rest.iter().map(|line| line.strip(self.text, shared)));
        lines
    }

    /// Returns where the lines end that are as deep as the text behind the mark of an item.
    pub(super) fn end_of_item(&self, lines: &[Line], at: usize, first: &Line, columns: usize) -> usize {
        let columns =
            if first.is_blank() { lines.get(at + 1).map_or(0, |line| line.indent(self.text)) } else { columns };
        if columns == 0 { at + 1 } else { deeper(self.text, lines, at + 1, columns) }
    }
}
