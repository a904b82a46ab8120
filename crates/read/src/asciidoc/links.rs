//! What has a name inside of text: links, images, footnotes, keys.

use std::ops::Range;

use chunkmill_text::document::Inline;

use super::Reader;
use super::attributes::reference;
use super::lines::{Line, Text};
use super::piece::{Found, Kind, Macro, Missing, Piece, Style};

/// Longest target of a macro, in bytes.
const MAX_TARGET: usize = 2048;

/// Beginnings of addresses.
const SCHEMES: [&str; 7] = ["https://", "http://", "ftp://", "irc://", "ircs://", "file://", "mailto:"];

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "link" => Kind::Link,
        "xref" => Kind::Place,
        "image" => Kind::Image,
        "footnote" | "footnoteref" => Kind::Footnote,
        "stem" | "latexmath" | "asciimath" => Kind::Math,
        "pass" => Kind::Literal,
        "btn" | "indexterm2" => Kind::Text,
        "kbd" => Kind::Keys,
        "menu" => Kind::Menu,
        "anchor" => Kind::Anchor,
        "indexterm" | "icon" => Kind::Hidden,
        _ => return None,
    })
}

impl Reader<'_> {
    /// Returns the address that the value of an attribute begins, if it has a text: `{url}/page[text]`.
    pub(super) fn url_of_value(&self, text: &Text<'_>, at: usize, range: &Range<usize>) -> Found {
        let name = reference(&text.joined[at..range.end])?;
        let value = self.value(name)?;
        SCHEMES.iter().find(|scheme| value.starts_with(**scheme))?;
        let (end, piece) = address(text, at, at + name.len() + 2, range, 0)?;
        Some((end, piece))
    }

    pub(super) fn write_macro(
        &mut self,
        text: &Text<'_>,
        all: Range<usize>,
        found: &Macro,
        out: &mut Inline,
        depth: usize,
    ) {
        let whole = &text.joined;
        match found.kind {
            Kind::Link | Kind::Place => self.link(text, all, found, out, depth),
            Kind::Image => {
                let target = found.target.clone();
                self.image(text, out, all.start, target, all.end);
            }
            Kind::Footnote => self.footnote(text, all, found, out, depth),
            Kind::Math => {
                self.markup(&whole[all.start..found.text.start]);
                out.write("$");
                text.push(out, found.text.clone());
                out.write("$");
                self.markup(&whole[found.text.end..all.end]);
            }
            Kind::Literal | Kind::Text | Kind::Keys => {
                self.markup(&whole[all.start..found.text.start]);
                let has_marks = found.kind == Kind::Text || whole[found.target.clone()].contains(['q', 'n', 'm']);
                if has_marks {
                    self.write_inline(text, found.text.clone(), out, depth + 1);
                } else {
                    text.push(out, found.text.clone());
                }
                self.markup(&whole[found.text.end..all.end]);
            }
            Kind::Menu => {
                self.markup(&whole[all.start..found.target.start]);
                text.push(out, found.target.clone());
                self.markup(&whole[found.target.end..found.text.start]);
                if !found.text.is_empty() {
                    out.write(" > ");
                    text.push(out, found.text.clone());
                }
                self.markup(&whole[found.text.end..all.end]);
            }
            Kind::Anchor => {
                out.anchor(&whole[found.target.clone()]);
                self.markup(&whole[all]);
            }
            Kind::Hidden => self.markup(&whole[all]),
        }
    }

    /// Writes a link. Without a text, its target is shown.
    fn link(&mut self, text: &Text<'_>, all: Range<usize>, found: &Macro, out: &mut Inline, depth: usize) {
        let whole = &text.joined;
        let shown = shown(whole, found.text.clone());
        let has_text = !whole[shown.clone()].trim().is_empty();
        let shown = if has_text { shown } else { found.target.clone() };
        let target = self.expanded(&whole[found.target.clone()]);
        let target = target.strip_prefix("++").and_then(|rest| rest.strip_suffix("++")).unwrap_or(&target);
        let target = if found.kind == Kind::Place { self.place_of(target) } else { target.to_owned() };
        self.markup(&whole[all.start..shown.start]);
        let is_link = self.in_code == 0;
        if is_link {
            out.start_link(&target);
        }
        if has_text || whole[shown.clone()].contains('{') {
            self.write_inline(text, shown.clone(), out, depth + 1);
        } else {
            text.push(out, shown.clone());
        }
        if is_link {
            out.end_link();
        }
        self.markup(&whole[shown.end..all.end]);
    }

    /// Returns the target of a link to a place: `#id`, or the file and the place in it.
    fn place_of(&self, target: &str) -> String {
        let target = target.trim();
        let (file, id) = target.split_once('#').map_or((None, target), |(file, id)| (Some(file), id));
        match file {
            Some("") => format!("#{id}"),
            Some(file) if id.is_empty() => with_extension(file),
            Some(file) => format!("{}#{id}", with_extension(file)),
            None if target.rsplit_once('.').is_some_and(|(_, end)| matches!(end, "adoc" | "asciidoc")) => {
                target.to_owned()
            }
            None => match self.titles.get(target) {
                Some(name) => format!("#{name}"),
                None => format!("#{target}"),
            },
        }
    }

    /// Writes an image.
    pub(super) fn image(&mut self, text: &Text<'_>, out: &mut Inline, start: usize, target: Range<usize>, end: usize) {
        let whole = &text.joined;
        let open = (target.end + 1).min(end);
        let inside = &whole[open..end.saturating_sub(1).max(open)];
        let named = inside.match_indices("alt=").map(|(at, _)| at).find(|at| {
            let before = inside[..*at].trim_end();
            before.is_empty() || before.ends_with(',')
        });
        let from = open + named.map_or(0, |at| at + "alt=".len());
        let inside = &whole[from..end.saturating_sub(1).max(from)];
        let len = if let Some(quoted) = inside.strip_prefix('"') {
            quoted.find('"').map_or(inside.len(), |quote| quote + 2)
        } else {
            inside.find(',').unwrap_or(inside.len())
        };
        let first = &inside[..len];
        let is_setting = named.is_none() && first.contains('=') && !first.contains(' ');
        let alt = if is_setting { open..open } else { unquoted(whole, from..from + len) };
        let name = self.expanded(&whole[target]);
        self.markup(&whole[start..alt.start]);
        let mut shown = Inline::new();
        text.push(&mut shown, alt.clone());
        self.markup(&whole[alt.end..end]);
        out.image(&name, &shown);
    }

    fn footnote(&mut self, text: &Text<'_>, all: Range<usize>, found: &Macro, out: &mut Inline, depth: usize) {
        let whole = &text.joined;
        let mut inside = found.text.clone();
        let mut name = whole[found.target.clone()].to_owned();
        if whole[all.start..].starts_with("footnoteref") && name.is_empty() {
            let len = whole[inside.clone()].find(',').unwrap_or(inside.len());
            whole[inside.start..inside.start + len].clone_into(&mut name);
            inside.start = (inside.start + len + 1).min(inside.end);
        }
        let known = self.note_names.get(&name).filter(|_| !name.is_empty()).cloned();
        let label = known.unwrap_or_else(|| {
            self.note_count += 1;
            let label = self.note_count.to_string();
            if !name.is_empty() {
                self.note_names.insert(name, label.clone());
            }
            label
        });
        self.markup(&whole[all.start..inside.start]);
        out.write(&format!("[^{label}]"));
        let mut note = Inline::new();
        let in_code = std::mem::take(&mut self.in_code);
        self.write_inline(text, inside.clone(), &mut note, depth + 1);
        self.in_code = in_code;
        self.markup(&whole[inside.end..all.end]);
        if !note.is_blank() {
            self.notes.push((label, note));
        }
    }
}

/// Returns the macro or the address that begins at a word.
pub(super) fn named(text: &Text<'_>, at: usize, range: &Range<usize>) -> Found {
    let rest = text.joined.get(at..range.end)?;
    if let Some(scheme) = SCHEMES.iter().find(|scheme| rest.starts_with(**scheme)) {
        return address(text, at, at + scheme.len(), range, scheme.len());
    }
    let name_len = rest.bytes().take(12).take_while(u8::is_ascii_alphanumeric).count();
    let kind = kind(&rest[..name_len])?;
    let behind = rest[name_len..].strip_prefix(':')?;
    let behind = &behind[..behind.floor_char_boundary(MAX_TARGET)];
    if behind.starts_with(':') {
        return None;
    }
    // The target of a menu may have spaces.
    let ends = |byte: u8| byte == b'[' || byte == b'\n' || byte.is_ascii_whitespace() && kind != Kind::Menu;
    let len = behind.bytes().position(ends)?;
    if !behind[len..].starts_with('[') {
        return None;
    }
    let target = at + name_len + 1..at + name_len + 1 + len;
    let close = text.closing(target.end, range.end)?;
    let text = target.end + 1..close;
    Some((close + 1, Piece::Macro(Macro { kind, name_len: name_len + 1, target, text })))
}

/// Returns what `<` begins: a link to a place, or an address between `<` and `>`.
pub(super) fn angle(text: &Text<'_>, at: usize, range: &Range<usize>, missing: &mut Missing) -> Found {
    let all = &text.joined;
    let rest = &all[at..range.end];
    if let Some(behind) = rest.strip_prefix("<<") {
        let from = at + 2;
        if behind.starts_with(|c: char| c.is_whitespace() || c == '<') {
            return None;
        }
        let close = missing.find(">>", || all.get(from..range.end)?.find(">>").map(|found| from + found))?;
        let inside = &all[from..close];
        if inside.is_empty() {
            return None;
        }
        let target_len = inside.find(',').unwrap_or(inside.len());
        let shown = (from + target_len + 1).min(close)..close;
        let found = Macro { kind: Kind::Place, name_len: 2, target: from..from + target_len, text: shown };
        return Some((close + 2, Piece::Macro(found)));
    }
    SCHEMES.iter().find(|scheme| rest[1..].starts_with(**scheme))?;
    let len = rest[1..].find(|c: char| c.is_whitespace() || matches!(c, '>' | '<'))?;
    rest[1 + len..].starts_with('>').then(|| (at + len + 2, Piece::Styled(Style::Literal, at + 1..at + 1 + len)))
}

/// Returns an address with its text, or alone. `at` is where it begins, and `from` what is surely part of it.
fn address(text: &Text<'_>, at: usize, from: usize, range: &Range<usize>, name_len: usize) -> Found {
    let all = &text.joined;
    let rest = &all[from..range.end];
    let len = rest.find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '<' | '>' | '`' | '"'));
    let len = len.unwrap_or(rest.len());
    let target = at..from + len;
    if rest[len..].starts_with('[')
        && let Some(close) = text.closing(target.end, range.end)
    {
        let found = Macro { kind: Kind::Link, name_len, text: target.end + 1..close, target };
        return Some((close + 1, Piece::Macro(found)));
    }
    if name_len == 0 || len == 0 {
        return None;
    }
    let kept = all[target.clone()].trim_end_matches(['.', ',', ';', ':', ')', '*', '_', '+', '\'']);
    // Nothing in an address is a mark.
    Some((target.start + kept.len(), Piece::Styled(Style::Literal, target.start..target.start + kept.len())))
}

/// Returns the text of a link without its attributes.
fn shown(all: &str, text: Range<usize>) -> Range<usize> {
    let inside = &all[text.clone()];
    if inside.starts_with('"')
        && let Some(quote) = inside[1..].find('"')
    {
        return text.start + 1..text.start + 1 + quote;
    }
    let named = inside.match_indices(',').map(|(at, _)| at).find(|at| {
        let rest = inside[at + 1..].trim_start();
        let name = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        name > 0 && rest[name..].starts_with('=')
    });
    let kept = inside[..named.unwrap_or(inside.len())].trim();
    let kept = kept.strip_suffix('^').unwrap_or(kept);
    let start = text.start + inside.len() - inside.trim_start().len();
    let is_named = kept
        .split_once('=')
        .is_some_and(|(name, _)| matches!(name, "window" | "role" | "opts" | "id" | "title" | "xrefstyle"));
    if is_named || kept.is_empty() { text.start..text.start } else { start..start + kept.len() }
}

fn unquoted(all: &str, range: Range<usize>) -> Range<usize> {
    let line = Line { start: range.start, end: range.end }.bare(all);
    let kept = super::attributes::unquoted(all, line);
    kept.start..kept.end
}

/// Returns the name of a file of a link, which may be without its extension.
fn with_extension(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    if name.contains('.') { file.to_owned() } else { format!("{file}.adoc") }
}
