//! Regions that a site generator reads before a markdown parser would: MDX code, template tags, display math and
//! `:::` containers. A `#` in them does not start a heading.
//!
//! The parser does not support them, so it reads a copy in which each of these regions is one HTML comment or one
//! formula of the same length. Offsets stay the same, and everything else still reads the original.
//!
//! A region begins at the start of a line, outside fenced code and HTML comments. A region that is not closed does
//! not count, so an author's slip cannot swallow a document. Liquid's `{% raw %}` is deliberately left alone: it
//! only keeps tags from being run, and it contains ordinary markdown, often a whole page.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::line;
use super::position::Positions;
use super::white_space::is_blank;

/// Liquid blocks and shortcodes whose content is not markdown.
const LITERAL: [&str; 20] = [
    "chart",
    "code",
    "codeblock",
    "comment",
    "css",
    "diagram",
    "graphviz",
    "highlight",
    "html",
    "javascript",
    "katex",
    "latex",
    "math",
    "mermaid",
    "plantuml",
    "prism",
    "rawhtml",
    "schema",
    "style",
    "stylesheet",
];

/// Containers in Microsoft's documentation that end with a name of their own. They contain whole sections.
const SECTIONED: [&str; 4] = ["moniker", "zone", "row", "column"];

/// The kind of content in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Code, or a language other than markdown.
    Literal,
    /// A comment that no reader of the page sees.
    Comment,
    /// A formula between `$$` and `$$`, which the parser itself reports.
    Math,
}

/// A region of the document that is not markdown.
#[derive(Debug)]
pub(super) struct Region {
    pub(super) range: Range<usize>,
    pub(super) content: Content,
}

/// The regions of one document, in order.
#[derive(Debug, Default)]
pub(super) struct Regions {
    /// They do not overlap.
    literal: Vec<Region>,
    /// Containers of ordinary markdown; they do not overlap.
    containers: Vec<Range<usize>>,
}

impl Regions {
    /// Finds the regions of `text[body]`. `mdx` says whether there may be code between paragraphs.
    pub(super) fn find(text: &str, body: Range<usize>, positions: &Positions, mdx: bool) -> Self {
        let opens = |at: usize| may_open(&text.as_bytes()[at..body.end], mdx);
        if !(opens(body.start) || positions.line_ends(body.clone()).any(opens)) {
            return Self::default();
        }
        let mut scan = Scan { text, end: body.end, mdx, ..Scan::default() };
        let mut at = body.start;
        while at < body.end {
            at = scan.line(at);
        }
        scan.found.containers.sort_by_key(|range| range.start);
        scan.found.containers.dedup_by(|next, kept| {
            let nested = next.start < kept.end;
            kept.end = if nested { kept.end.max(next.end) } else { kept.end };
            nested
        });
        scan.found
    }

    /// Returns the text for the parser: the original if there is nothing to hide, otherwise a copy. `letters` are
    /// offsets of ASCII characters that become letters.
    pub(super) fn apply<'t>(&self, text: &'t str, letters: &[usize]) -> Cow<'t, str> {
        if self.literal.is_empty() && letters.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut bytes = text.as_bytes().to_vec();
        for &at in letters {
            bytes[at] = b'x';
        }
        for Region { range, content } in &self.literal {
            let (head, tail): (&[u8], &[u8]) =
                if *content == Content::Math { (b"$$", b"$$") } else { (b"<!--", b"-->") };
            let hidden = &mut bytes[range.clone()];
            hidden.fill(b'x');
            hidden[..head.len()].copy_from_slice(head);
            let end = hidden.len() - tail.len();
            hidden[end..].copy_from_slice(tail);
        }
        // Regions start and end next to ASCII, so the copy is valid UTF-8.
        String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Returns the region that was reported as a block or inline element at `at`.
    pub(super) fn at(&self, at: usize) -> Option<&Region> {
        let region = self.literal.get(self.literal.partition_point(|region| region.range.end <= at))?;
        // The reported start of a block may include up to three spaces before it.
        (region.range.start <= at + 3).then_some(region)
    }

    /// Returns whether a `:::` container contains the byte at `at`.
    pub(super) fn contained(&self, at: usize) -> bool {
        let before = self.containers.partition_point(|range| range.start <= at);
        before > 0 && at < self.containers[before - 1].end
    }

    /// Returns the comments that only the source shows.
    pub(super) fn comments(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.literal.iter().filter(|region| region.content == Content::Comment).map(|region| region.range.clone())
    }
}

/// A scan that goes through the lines once.
#[derive(Default)]
struct Scan<'t> {
    text: &'t str,
    end: usize,
    mdx: bool,
    found: Regions,
    /// The open fence: its character, its length, and whether it is in a quote.
    fence: Option<(u8, usize, bool)>,
    html_comment: bool,
    /// Open containers: the number of colons and the offset of each.
    containers: Vec<(usize, usize)>,
    /// Closing tags that do not occur in the rest of the text. They are not searched for again, which keeps the
    /// scan linear.
    absent: Vec<(&'static str, &'static str)>,
}

impl<'t> Scan<'t> {
    /// Returns the line at `at`, including its end.
    fn line_at(&self, at: usize) -> &'t str {
        let rest = &self.text[at..self.end];
        &rest[..line::len(rest)]
    }

    /// Reads the line at `at`. Returns where to continue: after the line, or after the region it opens.
    fn line(&mut self, at: usize) -> usize {
        let line = self.line_at(at);
        let next = at + line.len();
        if self.html_comment {
            self.html_comment = !line.contains("-->");
            return next;
        }
        let inner = inside_containers(line);
        let quoted = line.trim_start().starts_with('>');
        if let Some((byte, len, in_quote)) = self.fence {
            let closes = fence(inner).is_some_and(|(b, l, rest)| b == byte && l >= len && is_blank(rest));
            if !closes && (quoted || !in_quote) {
                return next;
            }
            self.fence = None;
            if closes {
                return next;
            }
        }
        if let Some((byte, len, rest)) = fence(inner)
            && !(byte == b'`' && rest.contains('`'))
        {
            self.fence = Some((byte, len, quoted));
            return next;
        }
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        if indent > 3 {
            return next;
        }
        let start = at + indent;
        if let Some(rest) = trimmed.strip_prefix("<!--") {
            self.html_comment = !rest.contains("-->");
        } else if trimmed.starts_with(":::") {
            self.container(start, trimmed, next);
        } else if let Some((content, end)) = self.region(start, trimmed, next, indent == 0) {
            let body = self.text[start..end].trim_end();
            let range = start..start + body.len();
            if range.len() >= "<!---->".len() || content == Content::Math && range.len() > "$$$$".len() {
                self.found.literal.push(Region { range, content });
            }
            return end;
        }
        next
    }

    /// Returns the region whose first line is `line` at `start`: its content and where its last line ends.
    fn region(&mut self, start: usize, line: &'t str, next: usize, unindented: bool) -> Option<(Content, usize)> {
        if let Some(tag) = line.strip_prefix("{%") {
            return self.liquid(tag.trim_start_matches('-').trim_start(), next);
        }
        if let Some(tag) = line.strip_prefix("{{<") {
            let name = literal_name(tag.trim_start())?;
            if line.trim_end().ends_with("/>}}") {
                return None;
            }
            return Some((Content::Literal, self.tag_end(next, "{{<", "/", name)?));
        }
        for (opening, closing) in [("{{/*", "*/}}"), ("{{- /*", "*/ -}}")] {
            if line.starts_with(opening) {
                return Some((Content::Comment, {
                    let end = self.seek(start, closing)?;
                    self.line_end(end)
                }));
            }
        }
        if let Some(formula) = line.strip_prefix("$$") {
            return Some((Content::Math, self.math_end(formula, next)?));
        }
        if self.mdx && unindented && is_module_line(line) {
            return Some((Content::Literal, self.module_end(start)?));
        }
        None
    }

    fn liquid(&mut self, tag: &str, next: usize) -> Option<(Content, usize)> {
        let name = literal_name(tag)?;
        if name == "comment" {
            return Some((Content::Comment, self.tag_end(next, "{%", "end", name)?));
        }
        // Some generators want a fence inside the block; that already keeps its lines from being headings.
        let first = self.text[next..self.end].trim_start();
        if fence(first).is_some() {
            return None;
        }
        Some((Content::Literal, self.tag_end(next, "{%", "end", name)?))
    }

    /// Returns the end of the line that contains the closing tag, `{% endNAME %}` or `{{< /NAME >}}`.
    fn tag_end(&mut self, from: usize, opening: &'static str, before: &str, name: &'static str) -> Option<usize> {
        if self.absent.contains(&(opening, name)) {
            return None;
        }
        let rest = &self.text[from..self.end];
        for at in memmem::find_iter(rest.as_bytes(), opening) {
            let tag = rest[at + opening.len()..].trim_start_matches('-').trim_start();
            let closing = tag.strip_prefix(before).map(str::trim_start);
            if closing.and_then(literal_name) == Some(name) {
                return Some(self.line_end(from + at));
            }
            if literal_name(tag) == Some(name) {
                // The previous tag was never closed.
                return None;
            }
        }
        self.absent.push((opening, name));
        None
    }

    /// Returns the offset after the first `needle` at or after `from`.
    fn seek(&mut self, from: usize, needle: &'static str) -> Option<usize> {
        if self.absent.contains(&("", needle)) {
            return None;
        }
        let found = memmem::find(&self.text.as_bytes()[from..self.end], needle.as_bytes());
        if found.is_none() {
            self.absent.push(("", needle));
        }
        found.map(|at| from + at + needle.len())
    }

    fn line_end(&self, at: usize) -> usize {
        at + self.line_at(at).len()
    }

    /// Returns the end of a formula that spans several lines. If it begins on the line of its `$$`, it must end
    /// before the next blank line, because `$$` also starts sentences, for example about shells.
    fn math_end(&self, formula: &str, next: usize) -> Option<usize> {
        if formula.contains("$$") {
            return None;
        }
        let alone = is_blank(formula);
        let mut at = next;
        while at < self.end {
            let line = self.line_at(at);
            at += line.len();
            if line.contains("$$") {
                let close = line.trim();
                return (close.ends_with("$$") && !close[..close.len() - 2].contains("$$")).then_some(at);
            }
            if is_blank(line) && !alone || fence(inside_containers(line)).is_some() {
                return None;
            }
        }
        None
    }

    /// Returns the end of the `import` and `export` lines that start at `start`: the first blank line or heading
    /// at which all brackets are closed.
    fn module_end(&self, start: usize) -> Option<usize> {
        let mut brackets = Brackets::default();
        let mut at = start;
        while at < self.end {
            let line = self.line_at(at);
            if brackets.closed() {
                if at > start && (is_blank(line) || line.starts_with('#')) {
                    return Some(at);
                }
            } else if at > start && is_module_line(line) {
                // This also keeps the scan linear: no line is read for two openings.
                return None;
            }
            brackets.read(line);
            at += line.len();
        }
        brackets.closed().then_some(at)
    }

    fn container(&mut self, start: usize, line: &str, next: usize) {
        let name = line.trim_start_matches(':');
        let colons = line.len() - name.len();
        let name = name.trim();
        if name.is_empty() {
            if let Some(&(opened, from)) = self.containers.last()
                && opened <= colons
            {
                self.containers.pop();
                self.found.containers.push(from..next);
            }
        } else if !name.ends_with(":::") && !name.ends_with("-end") {
            let word = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            if !SECTIONED.contains(&word) {
                self.containers.push((colons, start));
            }
        }
    }
}

/// Returns whether a line may begin with the opening of a region.
#[inline]
fn may_open(line: &[u8], mdx: bool) -> bool {
    if !matches!(line, [b' ' | b'{' | b'$' | b':' | b'i' | b'e', ..]) {
        return false;
    }
    let indent = line.iter().take(3).take_while(|byte| **byte == b' ').count();
    match line[indent..] {
        [b'{', b'%' | b'{', ..] | [b'$', b'$', ..] | [b':', b':', b':', ..] => true,
        [b'i' | b'e', ..] => mdx,
        _ => false,
    }
}

/// Returns a line without the list and quote markers at its start.
pub(crate) fn inside_containers(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = rest.len() - digits.len();
        let inner = if (1..10).contains(&number) {
            digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") "))
        } else {
            rest.strip_prefix('>').or_else(|| ["- ", "* ", "+ "].iter().find_map(|marker| rest.strip_prefix(marker)))
        };
        match inner {
            Some(inner) => rest = inner.trim_start(),
            None => return rest,
        }
    }
}

/// Returns the character and length of the fence at the start of a line, and the rest of the line.
pub(crate) fn fence(line: &str) -> Option<(u8, usize, &str)> {
    let byte = *line.as_bytes().first()?;
    if byte != b'`' && byte != b'~' {
        return None;
    }
    let rest = line.trim_start_matches(char::from(byte));
    let len = line.len() - rest.len();
    (len >= 3).then(|| (byte, len, line::without_end(&rest[..line::len(rest)])))
}

fn literal_name(tag: &str) -> Option<&'static str> {
    let len = tag.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).unwrap_or(tag.len());
    LITERAL.into_iter().find(|name| *name == &tag[..len])
}

/// Returns whether a line of an MDX file is JavaScript rather than a sentence that begins with the same word.
fn is_module_line(line: &str) -> bool {
    let words = [
        "default ",
        "const ",
        "let ",
        "var ",
        "function ",
        "function* ",
        "async ",
        "class ",
        "type ",
        "interface ",
        "enum ",
    ];
    if let Some(rest) = line.strip_prefix("export") {
        let rest = rest.trim_start();
        return rest.starts_with(['{', '*']) || words.iter().any(|word| rest.starts_with(word));
    }
    let Some(rest) = line.strip_prefix("import") else { return false };
    let named = rest.starts_with(' ') && (rest.contains(" from ") || rest.trim_end().ends_with(['{', ',']));
    named || rest.trim_start().starts_with(['{', '*', '"', '\''])
}

/// Counts the open brackets of JavaScript, except those in strings and comments.
#[derive(Default)]
struct Brackets {
    open: usize,
    template: bool,
    comment: bool,
}

impl Brackets {
    fn closed(&self) -> bool {
        self.open == 0 && !self.template && !self.comment
    }

    fn read(&mut self, line: &str) {
        let mut quote = None;
        let mut bytes = line.bytes().peekable();
        while let Some(byte) = bytes.next() {
            if self.comment {
                if byte == b'*' && bytes.next_if_eq(&b'/').is_some() {
                    self.comment = false;
                }
                continue;
            }
            match (byte, quote) {
                (b'\\', _) => {
                    bytes.next();
                }
                (b'`', None) => self.template = !self.template,
                _ if self.template => {}
                (b'"' | b'\'', None) => quote = Some(byte),
                (_, Some(open)) => quote = if byte == open { None } else { quote },
                (b'/', None) if bytes.peek() == Some(&b'/') => return,
                (b'/', None) if bytes.next_if_eq(&b'*').is_some() => self.comment = true,
                (b'{' | b'(' | b'[', None) => self.open += 1,
                (b'}' | b')' | b']', None) => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
    }
}
