//! Blocks: sections, paragraphs, and what stands between two equal lines.

use chunkmill_text::document::{DropReason, Inline, on_one_line};
use serde_json::Value;

use super::attributes::Attributes;
use super::lines::{Line, Text};
use super::marks::{self, Fence};
use super::{MAX_DEPTH, Reader};
use crate::raw::shows_words;

/// Words that make a note of a block or a paragraph, and how they are written.
const NOTES: [(&str, &str); 5] = [
    ("NOTE", "**Note:**"),
    ("TIP", "**Tip:**"),
    ("IMPORTANT", "**Important:**"),
    ("WARNING", "**Warning:**"),
    ("CAUTION", "**Caution:**"),
];

fn note(style: &str) -> Option<&'static str> {
    NOTES.iter().find(|(word, _)| *word == style).map(|(_, lead)| *lead)
}

fn is_math(style: &str) -> bool {
    matches!(style, "stem" | "latexmath" | "asciimath")
}

impl Reader<'_> {
    /// Reads lines as blocks.
    pub(super) fn blocks(&mut self, lines: &[Line]) {
        if self.depth >= MAX_DEPTH {
            let text = self.inline(lines);
            return self.paragraph(&text);
        }
        self.depth += 1;
        let markers = std::mem::take(&mut self.markers);
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            if self.writer.is_full() {
                break;
            }
            at = if line.is_blank() { at + 1 } else { self.block(lines, at).max(at + 1) };
        }
        self.before_block();
        self.markers = markers;
        self.depth -= 1;
    }

    /// Readies for a block that is written next: its names, its title, and what should have begun a paragraph.
    pub(super) fn before_block(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.begin(&pending);
    }

    pub(super) fn begin(&mut self, pending: &Attributes) {
        if let Some(lead) = self.lead.take() {
            self.writer.paragraph(&lead);
        }
        for anchor in &pending.anchors {
            self.writer.anchor(anchor);
        }
        self.markup_lines(DropReason::Markup, &pending.credit);
        if let Some(title) = pending.title {
            let title = self.inline(&[title]);
            let mut bold = Inline::new();
            let start = bold.start_mark("**");
            bold.append(&title);
            bold.end_mark("**", start);
            self.writer.paragraph(&bold);
        }
    }

    /// Writes a paragraph.
    pub(super) fn paragraph(&mut self, text: &Inline) {
        let lead = self.lead.take();
        self.before_block();
        let Some(mut lead) = lead else { return self.writer.paragraph(text) };
        if !text.is_blank() {
            lead.write(" ");
            lead.append(text);
        }
        self.writer.paragraph(&lead);
    }

    /// Reads the block that begins at a line, and returns the line behind it.
    pub(super) fn block(&mut self, lines: &[Line], at: usize) -> usize {
        let line = lines[at];
        let text = line.of(self.text);
        if marks::is_comment(text) {
            self.writer.drop(DropReason::Comment, text);
            return at + 1;
        }
        if let Some(behind) = self.entry(lines, at) {
            return behind;
        }
        if marks::is_attributes(text) {
            self.attribute_line(line);
            return at + 1;
        }
        if marks::is_block_title(text) {
            return self.block_title(line, at);
        }
        if marks::is_rule(text) {
            self.markup(text);
            self.before_block();
            self.writer.rule();
            return at + 1;
        }
        if text == "<<<" || text == "toc::[]" {
            self.markup(text);
            return at + 1;
        }
        if let Some(kind) = marks::fence(text) {
            return self.fenced(lines, at, kind);
        }
        if let Some(behind) = self.heading(lines, at) {
            return behind;
        }
        if let Some(behind) = self.block_macro(line, at) {
            return behind;
        }
        if self.is_styled() || marks::item(text).is_none() {
            return self.text(lines, at);
        }
        self.list(lines, at)
    }

    /// Returns whether the next lines are one block because of what was said before.
    fn is_styled(&self) -> bool {
        let style = self.pending.style.as_str();
        is_math(style) || matches!(style, "source" | "listing" | "literal" | "verse" | "pass" | "comment")
    }

    fn block_title(&mut self, line: Line, at: usize) -> usize {
        self.markup(".");
        let title = line.behind(self.text, 1);
        if let Some(before) = self.pending.set_title(title) {
            let text = self.inline(&[before]);
            self.writer.paragraph(&text);
        }
        at + 1
    }

    /// Reads a title of a section.
    fn heading(&mut self, lines: &[Line], at: usize) -> Option<usize> {
        let line = lines[at];
        let text = line.of(self.text);
        let (level, title, behind) = if let Some((level, len)) = marks::title(text) {
            self.markup(&text[..len]);
            let title = line.behind(self.text, len);
            let kept = title.of(self.text).trim_end_matches(['=', '#']);
            // The same marks may stand behind the title.
            let closed = kept.ends_with(' ') && title.of(self.text)[kept.len()..] == text[..len];
            if closed {
                self.markup(&text[..len]);
            }
            let title = Line { end: title.start + if closed { kept.len() } else { title.end - title.start }, ..title };
            (level, title.bare(self.text), at + 1)
        } else {
            let under = lines.get(at + 1).filter(|_| self.depth == 1)?.of(self.text);
            let level = marks::underlined(text, under)?;
            self.markup(under);
            (level, line, at + 2)
        };
        if self.depth == 1 {
            self.write_notes();
        }
        let is_first = level == 1 && self.depth == 1 && !self.has_title;
        let pending = std::mem::take(&mut self.pending);
        let anchor = pending.anchors.first().cloned();
        self.begin(&Attributes { anchors: pending.anchors.get(1..).unwrap_or_default().to_vec(), ..pending });
        let inline = self.inline(&[title]);
        self.writer.anchor(&marks::section_name(title.of(self.text)));
        if is_first {
            self.has_title = true;
            let plain = on_one_line(inline.as_str());
            self.writer.about().title.get_or_insert(plain.replace(['`', '*'], ""));
        }
        self.writer.heading(level, &inline, anchor.as_deref());
        Some(if is_first { self.people(lines, behind) } else { behind })
    }

    /// Reads the lines of authors and of the revision behind the title of the document.
    fn people(&mut self, lines: &[Line], at: usize) -> usize {
        let skip = |at: usize, reader: &mut Self| {
            let mut at = at;
            while let Some(line) = lines.get(at).map(|line| line.of(reader.text)).filter(|line| marks::is_comment(line))
            {
                reader.writer.drop(DropReason::Comment, line);
                at += 1;
            }
            at
        };
        let at = skip(at, self);
        let Some(authors) = lines.get(at).and_then(|line| authors(line.of(self.text))) else { return at };
        self.markup(lines[at].of(self.text));
        let (names, mails): (Vec<_>, Vec<_>) = authors.into_iter().unzip();
        self.settings.insert("author".to_owned(), names[0].clone());
        if let Some(mail) = mails.into_iter().flatten().next() {
            self.settings.insert("email".to_owned(), mail);
        }
        if names.len() > 1 {
            self.writer.about().metadata.insert("authors".to_owned(), Value::String(names.join("; ")));
        }
        let at = skip(at + 1, self);
        let Some(revision) = lines.get(at).map(|line| line.of(self.text)).filter(|line| is_revision(line)) else {
            return at;
        };
        self.markup(revision);
        let (before, remark) = revision.split_once(": ").unwrap_or((revision, ""));
        let (number, date) = match before.split_once(',') {
            Some((number, date)) => (number, date.trim()),
            None if before.starts_with('v') => (before, ""),
            None => ("", before),
        };
        let number = number.trim().trim_start_matches(|c: char| c.is_alphabetic());
        for (name, value) in [("revnumber", number), ("revdate", date), ("revremark", remark)] {
            if !value.is_empty() {
                self.settings.insert(name.to_owned(), value.to_owned());
            }
        }
        at + 1
    }

    /// Reads a block on one line: an image, a file that is put in.
    fn block_macro(&mut self, line: Line, at: usize) -> Option<usize> {
        let text = line.of(self.text);
        let (name, rest) = text.split_once("::")?;
        if !rest.ends_with(']') || rest.starts_with([' ', '[']) {
            return None;
        }
        match name {
            "include" => {
                self.before_block();
                let mut code = Inline::new();
                code.push(text, line.range());
                let mut kept = Inline::new();
                kept.code(&code);
                self.writer.paragraph(&kept);
            }
            "image" | "video" | "audio" => {
                let open = text.find('[')?;
                let pending = std::mem::take(&mut self.pending);
                self.begin(&pending);
                let mut out = Inline::new();
                let joined = Text::of(self.text, &[line]);
                self.image(&joined, &mut out, 0, name.len() + 2..open, text.len());
                self.writer.paragraph(&out);
            }
            _ => return None,
        }
        Some(at + 1)
    }

    /// Reads what stands between two equal lines.
    fn fenced(&mut self, lines: &[Line], at: usize, kind: Fence) -> usize {
        let mark = lines[at].of(self.text);
        let close = if kind == Fence::Code { "```" } else { mark };
        let inside = &lines[at + 1..];
        let len = inside.iter().position(|line| line.of(self.text) == close).unwrap_or(inside.len());
        let behind = (at + len + 2).min(lines.len());
        let is_closed = len < inside.len();
        let inside = &inside[..len];
        if kind == Fence::Comment {
            self.markup_lines(DropReason::Comment, &lines[at..behind]);
            return behind;
        }
        self.markup(mark);
        if is_closed {
            self.markup(close);
        }
        self.between(kind, mark, inside);
        behind
    }

    /// Reads the lines of a block as its kind and what was said before want it.
    fn between(&mut self, kind: Fence, mark: &str, inside: &[Line]) {
        let style = self.pending.style.clone();
        match kind {
            Fence::Table => self.table(mark, inside),
            Fence::Code => self.code(mark.trim_start_matches('`'), inside),
            _ if style == "comment" => {
                self.pending = Attributes::default();
                self.markup_lines(DropReason::Comment, inside);
            }
            Fence::Pass if is_math(&style) => self.math(inside),
            Fence::Pass if shows_words("html", inside.iter().map(|line| line.of(self.text))) => {
                self.code("html", inside);
            }
            Fence::Pass => {
                self.before_block();
                self.markup_lines(DropReason::Markup, inside);
            }
            Fence::Listing | Fence::Literal => self.listing(inside),
            Fence::Open if matches!(style.as_str(), "source" | "listing" | "literal") => self.listing(inside),
            Fence::Open if is_math(&style) => self.math(inside),
            Fence::Quote | Fence::Open if style == "verse" => self.verse(inside),
            Fence::Quote => self.quote(None, inside),
            _ if note(&style).is_some() => self.quote(note(&style), inside),
            _ if style == "quote" => self.quote(None, inside),
            Fence::Sidebar => self.quote(None, inside),
            _ if style == "sidebar" => self.quote(None, inside),
            Fence::Example | Fence::Open | Fence::Comment => {
                self.before_block();
                self.blocks(inside);
            }
        }
    }

    fn math(&mut self, inside: &[Line]) {
        self.before_block();
        let text = Text::verbatim(self.text, inside);
        let mut formula = Inline::new();
        text.push(&mut formula, 0..text.joined.len());
        self.writer.math(&formula);
    }

    /// Writes code in the language that was said before.
    fn listing(&mut self, inside: &[Line]) {
        let source = self.text;
        let pending = &self.pending;
        let first = pending.more.first().map(|line| line.of(source)).filter(|word| !word.is_empty());
        let is_source = matches!(pending.style.as_str(), "source" | "");
        let language = pending.value(source, "language").or(first).filter(|_| is_source).map(str::to_owned);
        let language = match language {
            Some(language) => language,
            None if pending.style == "source" => self.settings.get("source-language").cloned().unwrap_or_default(),
            None => String::new(),
        };
        if is_math(&self.pending.style) {
            return self.math(inside);
        }
        self.code(&language, inside);
    }

    fn code(&mut self, language: &str, inside: &[Line]) {
        self.before_block();
        let text = Text::verbatim(self.text, inside);
        let mut code = Inline::new();
        text.push(&mut code, 0..text.joined.len());
        self.writer.code(language, &code);
    }

    /// Reads a quotation, or a note that is written like one.
    fn quote(&mut self, lead: Option<&str>, inside: &[Line]) {
        let mut pending = std::mem::take(&mut self.pending);
        let credit = std::mem::take(&mut pending.credit);
        let title = pending.title.take();
        self.begin(&pending);
        self.writer.open_quote();
        self.begin(&Attributes { title, ..Attributes::default() });
        self.lead = lead.map(Inline::from);
        self.blocks(inside);
        self.credit(&credit);
        self.writer.close();
    }

    fn credit(&mut self, credit: &[Line]) {
        let mut text = Inline::new();
        for part in credit {
            text.write(if text.is_blank() { "\u{2014} " } else { ", " });
            let part = self.inline(&[*part]);
            text.append(&part);
        }
        if !credit.is_empty() {
            self.writer.paragraph(&text);
        }
    }

    fn verse(&mut self, inside: &[Line]) {
        let mut pending = std::mem::take(&mut self.pending);
        let credit = std::mem::take(&mut pending.credit);
        self.begin(&pending);
        self.writer.open_quote();
        let text = Text::verbatim(self.text, inside);
        let mut out = Inline::new();
        self.write_inline(&text, 0..text.joined.len(), &mut out, 0);
        self.writer.paragraph(&out);
        self.credit(&credit);
        self.writer.close();
    }

    /// Returns where the paragraph ends that begins at a line.
    fn end_of_paragraph(&self, lines: &[Line], at: usize) -> usize {
        let is_part = |line: &&Line| {
            let text = line.of(self.text);
            let ends_in_list = !self.markers.is_empty() && (text == "+" || marks::item(text).is_some());
            !line.is_blank() && marks::fence(text).is_none() && !marks::is_attributes(text) && !ends_in_list
        };
        at + 1 + lines[at + 1..].iter().take_while(is_part).count()
    }

    /// Returns lines without comments, which are counted.
    pub(super) fn without_comments(&mut self, lines: &[Line]) -> Vec<Line> {
        let source = self.text;
        let (comments, kept): (Vec<Line>, Vec<Line>) =
            lines.iter().partition(|line| marks::is_comment(line.of(source)));
        self.markup_lines(DropReason::Comment, &comments);
        kept
    }

    /// Reads a paragraph, or what is one by its lines only.
    fn text(&mut self, lines: &[Line], at: usize) -> usize {
        let end = self.end_of_paragraph(lines, at);
        let part = &lines[at..end];
        let style = self.pending.style.clone();
        match style.as_str() {
            "source" | "listing" | "literal" => {
                self.listing(part);
                return end;
            }
            "verse" => {
                self.verse(part);
                return end;
            }
            "comment" => {
                self.pending = Attributes::default();
                self.markup_lines(DropReason::Comment, part);
                return end;
            }
            _ if is_math(&style) => {
                self.math(part);
                return end;
            }
            _ => {}
        }
        let text = lines[at].of(self.text);
        if text.starts_with([' ', '\t']) && !matches!(style.as_str(), "normal" | "quote" | "abstract") {
            self.literal(part);
            return end;
        }
        let mut part = self.without_comments(part);
        let mut lead = note(&style);
        if let Some((word, len)) = announced(text) {
            self.markup(&text[..len]);
            if let Some(first) = part.first_mut() {
                *first = first.behind(self.text, len);
            }
            lead = note(word);
        }
        if lead.is_some() || style == "quote" {
            self.quote_of_lines(lead, &part);
            return end;
        }
        let text = self.inline(&part);
        self.paragraph(&text);
        end
    }

    /// Writes a paragraph as a quotation.
    fn quote_of_lines(&mut self, lead: Option<&str>, part: &[Line]) {
        let mut pending = std::mem::take(&mut self.pending);
        let credit = std::mem::take(&mut pending.credit);
        self.begin(&pending);
        self.writer.open_quote();
        self.lead = lead.map(Inline::from);
        let text = self.inline(part);
        self.paragraph(&text);
        self.credit(&credit);
        self.writer.close();
    }

    /// Writes lines that are indented as they are, without the indentation that all have.
    pub(super) fn literal(&mut self, part: &[Line]) {
        let indent = |line: &Line| line.of(self.text).len() - line.of(self.text).trim_start().len();
        let shared = part.iter().map(indent).min().unwrap_or_default();
        let is_space = |line: &Line| line.of(self.text).as_bytes()[..shared].iter().all(u8::is_ascii_whitespace);
        let shared = if part.iter().all(is_space) { shared } else { 0 };
        let inside: Vec<_> = part.iter().map(|line| Line { start: line.start + shared, ..*line }).collect();
        self.code("", &inside);
    }
}

/// Returns the word that makes a note of a paragraph, and the bytes of it: `NOTE: `.
fn announced(text: &str) -> Option<(&str, usize)> {
    let (word, rest) = text.split_once(':')?;
    (rest.starts_with([' ', '\t']) && note(word).is_some()).then_some((word, word.len() + 1))
}

/// Returns the names and mail addresses of a line of authors.
fn authors(line: &str) -> Option<Vec<(String, Option<String>)>> {
    let author = |part: &str| {
        let part = part.trim();
        let (name, mail) = match part.split_once('<') {
            Some((name, mail)) => (name.trim(), Some(mail.strip_suffix('>')?.to_owned())),
            None => (part, None),
        };
        let is_name = |word: &str| {
            word.starts_with(char::is_alphanumeric)
                && word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '\'' | '-' | '.' | '\u{2019}'))
        };
        let words = name.split_whitespace().count();
        let fits = (1..=3).contains(&words) && name.split_whitespace().all(is_name) && !name.ends_with('.');
        fits.then(|| (name.replace('_', " "), mail))
    };
    let line = line.trim_end_matches(';');
    if line.starts_with([' ', '\t']) {
        return None;
    }
    line.split(';').map(author).collect()
}

/// Returns whether a line behind the authors is about the revision.
fn is_revision(line: &str) -> bool {
    let digits = line.strip_prefix('v').unwrap_or(line).starts_with(|c: char| c.is_ascii_digit());
    digits || line.split_once(',').is_some_and(|(number, _)| number.contains(|c: char| c.is_ascii_digit()))
}
