//! Marks inside of text: emphasis, literals, roles, links, footnotes, substitutions. Where a mark may begin and end is as
//! in docutils; a mark that does not end is text.

use std::ops::Range;

use chunkmill_text::document::{DropReason, Inline};

use super::Reader;
use super::lines::{Flat, Line};
use super::marks;
use super::names::id;

/// Longest text of a substitution that is put in.
const LONGEST_SUBSTITUTION: usize = 1000;

/// Longest name of a role, in characters.
const LONGEST_ROLE: usize = 100;

/// The marks that need an end, to remember which have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Strong,
    Emphasis,
    Literal,
    Interpreted,
    /// The same, with a role before it, which less may end.
    Role,
    Substitution,
}

impl Mark {
    fn of(rest: &str) -> Option<Self> {
        Some(match rest.as_bytes() {
            [b'*', b'*', ..] => Self::Strong,
            [b'*', ..] => Self::Emphasis,
            [b'`', b'`', ..] => Self::Literal,
            [b'`', ..] => Self::Interpreted,
            [b'|', ..] => Self::Substitution,
            _ => return None,
        })
    }

    fn text(self) -> &'static str {
        match self {
            Self::Strong => "**",
            Self::Emphasis => "*",
            Self::Literal => "``",
            Self::Interpreted | Self::Role => "`",
            Self::Substitution => "|",
        }
    }
}

/// A text that is being read.
struct Text<'f> {
    flat: &'f Flat,
    /// The text before this byte is already written.
    done: usize,
    inline: Inline,
    /// The marks that have no end in the rest of the text.
    endless: Vec<Mark>,
}

impl Text<'_> {
    fn str(&self) -> &str {
        &self.flat.text
    }
}

impl Reader<'_> {
    /// Reads the text of lines.
    pub(super) fn inline(&mut self, lines: &[Line]) -> Inline {
        let flat = Flat::new(self.text, lines);
        self.flat(&flat)
    }

    /// Reads a text.
    pub(super) fn flat(&mut self, flat: &Flat) -> Inline {
        let mut text = Text { flat, done: 0, inline: Inline::new(), endless: Vec::new() };
        let mut at = 0;
        // Whether the character before is an escaped space, after which marks may begin.
        let mut apart = false;
        while let Some(c) = flat.text[at..].chars().next() {
            let rest = &flat.text[at..];
            let found = match c {
                '\\' => {
                    let next = rest[1..].chars().next();
                    apart = next.is_some_and(char::is_whitespace);
                    at += 1 + next.map_or(0, char::len_utf8);
                    continue;
                }
                '*' | '`' | '|' | ':' => self.marked(&mut text, at, apart),
                '[' => self.footnote_reference(&mut text, at, apart),
                '_' if rest.starts_with("_`") => self.inline_target(&mut text, at, apart),
                '_' => self.reference(&mut text, at),
                'h' | 'f' | 'm' => self.url(&mut text, at),
                _ => None,
            };
            apart = false;
            at = found.unwrap_or_else(|| at + c.len_utf8());
        }
        self.plain(&mut text, at);
        text.inline.trim_end();
        text.inline
    }

    /// Writes the text that was read up to a byte.
    fn plain(&mut self, text: &mut Text<'_>, to: usize) {
        let range = text.done..to;
        text.done = to;
        self.escaped(&mut text.inline, text.flat, range);
    }

    /// Writes text, without the backslashes of escapes.
    fn escaped(&mut self, inline: &mut Inline, flat: &Flat, range: Range<usize>) {
        let mut at = range.start;
        while let Some(len) = flat.text.get(at..range.end).and_then(|rest| rest.find('\\')) {
            self.words(inline, flat, at..at + len);
            self.markup(&flat.text[at + len..=at + len]);
            at += len + 1;
            let Some(c) = flat.text[at..range.end].chars().next() else { return };
            if !c.is_whitespace() {
                self.raw(inline, flat, at..at + c.len_utf8());
            }
            at += c.len_utf8();
        }
        self.words(inline, flat, at..range.end);
    }

    /// Writes text with one space for each run of white space.
    fn words(&mut self, inline: &mut Inline, flat: &Flat, range: Range<usize>) {
        self.each_line(inline, flat, range, |inline, text, at| match at {
            Some(at) => inline.flow(text, at),
            None => inline.write(text),
        });
    }

    /// Writes text as it is.
    fn raw(&mut self, inline: &mut Inline, flat: &Flat, range: Range<usize>) {
        self.each_line(inline, flat, range, |inline, text, at| match at {
            Some(at) => inline.push(text, at..at + text.len()),
            None => inline.write(text),
        });
    }

    fn each_line(
        &self,
        inline: &mut Inline,
        flat: &Flat,
        range: Range<usize>,
        write: impl Fn(&mut Inline, &str, Option<usize>),
    ) {
        let mut at = range.start;
        let Some(all) = flat.text.get(range) else { return };
        for (index, line) in all.split('\n').enumerate() {
            if index > 0 {
                let feed = flat.place(at - 1);
                let next = flat.place(at);
                if !self.own && next == feed + 1 && self.text[feed..].starts_with('\n') {
                    inline.push("\n", feed..next);
                } else {
                    inline.write("\n");
                }
            }
            write(inline, line, (!self.own).then(|| flat.place(at)));
            at += line.len() + 1;
        }
    }

    /// Counts characters of the markup.
    pub(super) fn markup(&mut self, text: &str) {
        if !self.own {
            self.writer.drop(DropReason::Markup, text);
        }
    }

    /// Reads what is between two marks, if there is a mark here, and returns where it ends.
    fn marked(&mut self, text: &mut Text<'_>, at: usize, apart: bool) -> Option<usize> {
        if !may_begin(text.str(), at, apart) {
            return None;
        }
        let (role, from) = match text.str()[at..].strip_prefix(':') {
            Some(rest) => {
                let is_end = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+'));
                let end = rest.char_indices().take(LONGEST_ROLE).find(|(_, c)| is_end(*c))?.0;
                let role = rest[..end].strip_suffix(':').filter(|role| marks::is_name(role))?.to_owned();
                rest[end..].starts_with('`').then_some((role, at + 1 + end))?
            }
            None => (String::new(), at),
        };
        let mark = if role.is_empty() { Mark::of(&text.str()[from..])? } else { Mark::Role };
        let len = mark.text().len();
        if !begins(text.str(), at, from + len) || text.endless.contains(&mark) {
            return None;
        }
        let Some((end, suffix)) = end_of(text.str(), from + len, mark) else {
            text.endless.push(mark);
            return None;
        };
        self.plain(text, at);
        let inside = from + len..end;
        let behind = end + len + suffix;
        match mark {
            Mark::Strong => self.between(text, inside, "**"),
            Mark::Emphasis => self.between(text, inside, "*"),
            Mark::Literal => self.literal(text, inside),
            Mark::Interpreted | Mark::Role => {
                let suffix = text.str()[end + 1..behind].to_owned();
                self.interpreted(text, at..behind, inside, &role, &suffix);
                text.done = behind;
                return Some(behind);
            }
            Mark::Substitution => {
                let suffix = text.str()[end + 1..behind].to_owned();
                self.substitution(text, at..behind, inside, &suffix);
                text.done = behind;
                return Some(behind);
            }
        }
        self.markup(mark.text());
        self.markup(mark.text());
        text.done = behind;
        Some(behind)
    }

    fn between(&mut self, text: &mut Text<'_>, inside: Range<usize>, mark: &str) {
        let start = text.inline.start_mark(mark);
        self.escaped(&mut text.inline, text.flat, inside);
        text.inline.end_mark(mark, start);
    }

    fn literal(&mut self, text: &mut Text<'_>, inside: Range<usize>) {
        let mut code = Inline::new();
        self.raw(&mut code, text.flat, inside);
        text.inline.code(&code);
    }

    /// Writes code in which escapes are read.
    fn escaped_code(&mut self, text: &mut Text<'_>, inside: Range<usize>) {
        let mut code = Inline::new();
        self.escaped(&mut code, text.flat, inside);
        text.inline.code(&code);
    }

    /// Writes text in backticks: a link, or text with a role.
    fn interpreted(&mut self, text: &mut Text<'_>, all: Range<usize>, inside: Range<usize>, role: &str, suffix: &str) {
        self.markup(&text.flat.text[all.start..inside.start]);
        self.markup(&text.flat.text[inside.end..all.end]);
        if role.is_empty() && suffix.starts_with('_') {
            return self.phrase(text, inside, suffix.len() > 1);
        }
        let role = match (role, suffix.trim_matches(':')) {
            ("", "") => self.default_role.clone(),
            ("", role) | (role, _) => {
                self.roles.get(&role.to_ascii_lowercase()).cloned().unwrap_or_else(|| role.to_owned())
            }
        };
        self.role(text, inside, &role);
    }

    /// Writes the text of a link: `text <target>`, or the name of a target.
    fn phrase(&mut self, text: &mut Text<'_>, inside: Range<usize>, anonymous: bool) {
        let (shown, target) = split(&text.flat.text, &inside);
        let name = text.flat.text[shown.clone()].to_owned();
        let target = match target {
            Some(range) => {
                let written: String = text.flat.text[range.clone()].split_whitespace().collect();
                let shown_too = shown.is_empty();
                let url = match written.strip_suffix('_').filter(|name| !name.ends_with('\\')) {
                    Some(name) => self.names.resolve(name.trim_matches('`')).unwrap_or_else(|| name.to_owned()),
                    None => written.replace('\\', ""),
                };
                if shown_too {
                    self.markup(&text.flat.text[inside.start..range.start]);
                    self.markup(&text.flat.text[range.end..inside.end]);
                    return self.link(text, range, Some(&url));
                }
                if !anonymous {
                    self.names.insert(&name, &url);
                }
                Some(url)
            }
            None if anonymous => self.names.next_anonymous(),
            None => self.names.resolve(&name),
        };
        self.markup(&text.flat.text[shown.end..inside.end]);
        self.link(text, shown, target.as_deref());
    }

    fn link(&mut self, text: &mut Text<'_>, shown: Range<usize>, target: Option<&str>) {
        if let Some(target) = target {
            text.inline.start_link(target);
        }
        self.escaped(&mut text.inline, text.flat, shown);
        if target.is_some() {
            text.inline.end_link();
        }
    }

    /// Writes text that has a role.
    fn role(&mut self, text: &mut Text<'_>, inside: Range<usize>, role: &str) {
        let source = &text.flat.text;
        let name = role.rsplit(':').next().unwrap_or_default().to_ascii_lowercase();
        let is_link = !matches!(
            name.as_str(),
            "" | "math"
                | "code"
                | "literal"
                | "raw"
                | "samp"
                | "kbd"
                | "emphasis"
                | "strong"
                | "menuselection"
                | "sub"
                | "sup"
        );
        let (mut shown, target) = if is_link { split(source, &inside) } else { (inside.clone(), None) };
        if shown.is_empty() {
            shown.clone_from(&inside);
        }
        let named = target.as_ref().filter(|_| shown != inside);
        let to = named.map_or(&source[shown.clone()], |range| &source[range.clone()]);
        let to = to.trim_start_matches(['!', '~']).replace('\\', "");
        let spaced = source[shown.clone()].contains(char::is_whitespace);
        self.markup(&source[shown.end..inside.end]);
        match name.as_str() {
            "ref" | "numref" | "eq" => self.link(text, shown, Some(&format!("#{}", id(&to)))),
            "doc" => self.link(text, shown, Some(&document(&to))),
            "download" => self.link(text, shown, Some(&to)),
            "pep" | "pep-reference" | "rfc" | "rfc-reference" => self.numbered(text, shown, &name, &to),
            "emphasis" | "title-reference" | "title" | "t" | "dfn" => self.between(text, shown, "*"),
            "strong" | "guilabel" => self.between(text, shown, "**"),
            "math" => self.formula(text, shown),
            "code" | "literal" | "raw" => self.literal(text, shown),
            "sup" | "superscript" => {
                let start = text.inline.as_str().len();
                self.escaped(&mut text.inline, text.flat, shown);
                text.inline.raise(start);
            }
            "term" | "abbr" | "sub" | "subscript" | "menuselection" | "any" | "custom" => {
                self.link(text, shown, None);
            }
            "" if spaced => self.between(text, shown, "*"),
            _ if named.is_some() && to.contains("://") => self.link(text, shown, Some(&to)),
            _ if named.is_some() => {
                text.inline.start_link(&format!("#{to}"));
                self.escaped_code(text, shown);
                text.inline.end_link();
            }
            _ if spaced && !is_code(&name) => self.link(text, shown, None),
            _ => {
                let mark = text.flat.text[shown.clone()].chars().take_while(|c| matches!(c, '!' | '~')).count();
                if mark < shown.len() && is_code(&name) {
                    self.markup(&text.flat.text[shown.start..shown.start + mark]);
                    shown.start += mark;
                }
                self.escaped_code(text, shown);
            }
        }
    }

    fn formula(&mut self, text: &mut Text<'_>, inside: Range<usize>) {
        text.inline.write("$");
        self.raw(&mut text.inline, text.flat, inside);
        text.inline.write("$");
    }

    /// Writes a link to a document of a series: a PEP or an RFC.
    fn numbered(&mut self, text: &mut Text<'_>, shown: Range<usize>, name: &str, to: &str) {
        let (number, place) = to.split_once('#').unwrap_or((to, ""));
        let hash = if place.is_empty() { "" } else { "#" };
        let is_pep = name.starts_with("pep");
        let url = if is_pep {
            format!("https://peps.python.org/pep-{number:0>4}/{hash}{place}")
        } else {
            format!("https://datatracker.ietf.org/doc/html/rfc{number}{hash}{place}")
        };
        text.inline.start_link(&url);
        if text.flat.text[shown.clone()].starts_with(|c: char| c.is_ascii_digit()) {
            text.inline.write(if is_pep { "PEP " } else { "RFC " });
        }
        self.escaped(&mut text.inline, text.flat, shown);
        text.inline.end_link();
    }

    /// Writes what a substitution stands for, or the text as it is.
    fn substitution(&mut self, text: &mut Text<'_>, all: Range<usize>, inside: Range<usize>, suffix: &str) {
        let name = text.flat.text[inside.clone()].to_owned();
        let target = match suffix {
            "_" => self.names.resolve(&name),
            "__" => self.names.next_anonymous(),
            _ => None,
        };
        let value = if self.own { None } else { self.substituted(&name) };
        if let Some(target) = &target {
            text.inline.start_link(target);
        }
        if let Some(value) = value {
            self.markup(&text.flat.text[all]);
            text.inline.append(&value);
        } else {
            let written = if target.is_some() { all.start..inside.end + 1 } else { all.clone() };
            self.markup(&text.flat.text[written.end..all.end]);
            self.words(&mut text.inline, text.flat, written);
        }
        if target.is_some() {
            text.inline.end_link();
        }
    }

    /// Returns the value of a substitution, if it is simple.
    fn substituted(&mut self, name: &str) -> Option<Inline> {
        let found = self.names.substitutions.get(&super::names::normal(name))?.clone();
        let len: usize = found.lines.iter().map(|line| line.end.saturating_sub(line.start)).sum();
        self.room = self.room.checked_sub(len)?;
        if len > LONGEST_SUBSTITUTION {
            return None;
        }
        match found.directive.as_str() {
            "replace" => {
                self.own = true;
                let value = self.inline(&found.lines);
                self.own = false;
                Some(value)
            }
            "image" => Some(self.substituted_image(name, &found.lines)),
            "unicode" => {
                let words = found.lines.iter().flat_map(|line| line.text(self.text).split_whitespace());
                let words = words.take_while(|word| *word != ".." && !word.starts_with(':'));
                let all: Vec<String> =
                    words.map(|word| code_point(word).map_or(word.to_owned(), String::from)).collect();
                Some(Inline::from(all.concat().as_str()))
            }
            _ => None,
        }
    }

    /// Returns the image of a substitution, whose name says what it shows.
    fn substituted_image(&self, name: &str, lines: &[Line]) -> Inline {
        let target: String = lines.first().map(|line| line.text(self.text)).unwrap_or_default().to_owned();
        let option = |name: &str| {
            let mut fields = lines.iter().skip(1).filter_map(|line| {
                let text = line.text(self.text);
                marks::field(text).filter(|(found, _)| *found == name).map(|(_, len)| text[len..].trim())
            });
            fields.next()
        };
        let mut image = Inline::new();
        let link = option("target").filter(|link| !link.is_empty());
        if let Some(link) = link {
            image.start_link(link);
        }
        image.image(&target, &Inline::from(option("alt").unwrap_or(name)));
        if link.is_some() {
            image.end_link();
        }
        image
    }

    /// Reads a reference to a footnote or a citation: `[1]_`.
    fn footnote_reference(&mut self, text: &mut Text<'_>, at: usize, apart: bool) -> Option<usize> {
        if !may_begin(text.str(), at, apart) {
            return None;
        }
        let rest = &text.str()[at + 1..];
        let len =
            rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '#' | '*' | '-' | '_' | '.' | ':' | '+')))?;
        let label = &rest[..len];
        if !rest[len..].starts_with("]_") || !may_end(&rest[len + 2..]) || !marks::is_label(label) {
            return None;
        }
        let (behind, label) = (at + len + 3, label.to_owned());
        self.plain(text, at);
        text.inline.write("[^");
        let counted = match &*label {
            "#" => Some(self.next_number(false)),
            "*" => Some(self.next_symbol(false)),
            _ => None,
        };
        if let Some(counted) = counted {
            self.markup(&text.flat.text[at..behind]);
            text.inline.write(&counted);
        } else {
            let name = label.strip_prefix('#').unwrap_or(&label);
            let start = at + 1 + label.len() - name.len();
            self.markup(&text.flat.text[at..start]);
            self.raw(&mut text.inline, text.flat, start..start + name.len());
            self.markup("]_");
        }
        text.inline.write("]");
        text.done = behind;
        Some(behind)
    }

    /// Reads a target inside of text.
    fn inline_target(&mut self, text: &mut Text<'_>, at: usize, apart: bool) -> Option<usize> {
        if !may_begin(text.str(), at, apart) || !begins(text.str(), at, at + 2) {
            return None;
        }
        if text.endless.contains(&Mark::Role) {
            return None;
        }
        let Some((end, _)) = end_of(text.str(), at + 2, Mark::Role) else {
            text.endless.push(Mark::Role);
            return None;
        };
        self.plain(text, at);
        self.markup("_``");
        text.inline.anchor(&id(&text.flat.text[at + 2..end]));
        self.escaped(&mut text.inline, text.flat, at + 2..end);
        text.done = end + 1;
        Some(end + 1)
    }

    /// Reads a reference by a name: the `_` behind the name is here.
    fn reference(&mut self, text: &mut Text<'_>, at: usize) -> Option<usize> {
        let source = text.str();
        let len = if source[at..].starts_with("__") { 2 } else { 1 };
        if !may_end(&source[at + len..]) {
            return None;
        }
        let mut start = at;
        let mut joined = true;
        for (index, c) in source[text.done..at].char_indices().rev() {
            let joint = matches!(c, '-' | '_' | '.' | ':' | '+');
            if !(c.is_alphanumeric() || joint && !joined) {
                break;
            }
            (start, joined) = (text.done + index, joint);
        }
        if start == at || joined || !may_begin(source, start, false) {
            return None;
        }
        let name = source[start..at].to_owned();
        let target = if len == 2 { self.names.next_anonymous() } else { self.names.resolve(&name) }?;
        self.plain(text, start);
        self.link(text, start..at, Some(&target));
        self.markup(&text.flat.text[at..at + len]);
        text.done = at + len;
        Some(at + len)
    }

    /// Passes an address that stands in the text.
    #[expect(clippy::unused_self, reason = "it is called as the others are")]
    fn url(&self, text: &mut Text<'_>, at: usize) -> Option<usize> {
        let source = text.str();
        if source[..at].ends_with(char::is_alphanumeric) {
            return None;
        }
        let rest = &source[at..];
        ["https://", "http://", "ftp://", "mailto:"].iter().find(|scheme| rest.starts_with(**scheme))?;
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '\\' | '|'));
        Some(at + end.unwrap_or(rest.len()))
    }
}

/// Returns what is shown and the target of `text <target>`.
fn split(text: &str, inside: &Range<usize>) -> (Range<usize>, Option<Range<usize>>) {
    let all = &text[inside.clone()];
    let target = all.strip_suffix('>').and_then(|rest| rest.rfind('<').map(|open| open + 1..rest.len()));
    let Some(target) = target.filter(|target| !target.is_empty()) else { return (inside.clone(), None) };
    let before = &all[..target.start - 1];
    if !before.is_empty() && !before.ends_with(char::is_whitespace) {
        return (inside.clone(), None);
    }
    let by = inside.start;
    (by..by + before.trim_end().len(), Some(by + target.start..by + target.end))
}

/// Returns the path of a document that is named without its extension.
pub(super) fn document(name: &str) -> String {
    let known = [".rst", ".txt", ".md"].iter().any(|extension| name.ends_with(extension));
    if known { name.to_owned() } else { format!("{name}.rst") }
}

/// Returns whether text with a role is code.
fn is_code(role: &str) -> bool {
    matches!(
        role,
        "samp"
            | "kbd"
            | "file"
            | "command"
            | "program"
            | "option"
            | "envvar"
            | "func"
            | "class"
            | "meth"
            | "mod"
            | "attr"
    ) || matches!(
        role,
        "data" | "exc" | "obj" | "const" | "function" | "member" | "macro" | "struct" | "type" | "keyword" | "token"
    )
}

/// Returns the character that a number stands for: `0x2014`, `U+2014`, `8212`.
fn code_point(word: &str) -> Option<char> {
    let prefixes = ["0x", "x", "\\x", "U+", "u", "\\u"];
    let hex = prefixes.iter().find_map(|prefix| u32::from_str_radix(word.strip_prefix(prefix)?, 16).ok());
    char::from_u32(hex.or_else(|| word.parse().ok())?)
}

/// Returns where the end of a mark is, and how long what belongs to it is behind it: `_`, `__` or a role.
fn end_of(text: &str, from: usize, mark: Mark) -> Option<(usize, usize)> {
    let (bytes, end) = (text.as_bytes(), mark.text());
    let mut at = from;
    while at < bytes.len() {
        if bytes[at] == b'\\' && mark != Mark::Literal {
            at += 2;
            continue;
        }
        let spaced = text.get(..at).is_some_and(|text| text.ends_with(char::is_whitespace));
        if at > from && bytes[at..].starts_with(end.as_bytes()) && !spaced {
            let behind = &text[at + end.len()..];
            for suffix in suffixes(behind, mark) {
                if may_end(&behind[suffix..]) {
                    return Some((at, suffix));
                }
            }
        }
        at += 1;
    }
    None
}

/// Returns the lengths that what belongs to a mark may have behind it.
fn suffixes(behind: &str, mark: Mark) -> impl Iterator<Item = usize> {
    let refers = matches!(mark, Mark::Interpreted | Mark::Substitution);
    let under = if refers { behind.bytes().take(2).take_while(|byte| *byte == b'_').count() } else { 0 };
    let role = behind.strip_prefix(':').filter(|_| refers && mark == Mark::Interpreted).and_then(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+')));
        let name = rest[..end.unwrap_or(rest.len()).min(100)].rfind(':')?;
        marks::is_name(&rest[..name]).then_some(name + 2)
    });
    [role.unwrap_or(0), under, 0].into_iter().filter(move |len| *len > 0).chain(std::iter::once(0))
}

/// Returns whether a mark may begin at a byte, by the character before.
fn may_begin(text: &str, at: usize, apart: bool) -> bool {
    let Some(before) = text[..at].chars().next_back() else { return true };
    apart
        || before.is_whitespace()
        || matches!(before, '\'' | '"' | '(' | '[' | '{' | '<' | '-' | '/' | ':')
        || !before.is_ascii() && !before.is_alphanumeric()
}

/// Returns whether text follows a mark, and the mark is not one character in quotes.
fn begins(text: &str, at: usize, behind: usize) -> bool {
    let Some(next) = text[behind..].chars().next().filter(|c| !c.is_whitespace()) else { return false };
    let close = match text[..at].chars().next_back() {
        Some('"') => '"',
        Some('\'') => '\'',
        Some('(') => ')',
        Some('[') => ']',
        Some('{') => '}',
        Some('<') => '>',
        _ => return true,
    };
    next != close
}

/// Returns whether a mark may end before a text.
fn may_end(behind: &str) -> bool {
    behind.chars().next().is_none_or(|next| {
        next.is_whitespace()
            || matches!(next, '\'' | '"' | ')' | ']' | '}' | '>' | '-' | '/' | '\\' | ':' | '.' | ',' | ';' | '!' | '?')
            || !next.is_ascii() && !next.is_alphanumeric()
    })
}
