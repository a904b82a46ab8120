//! The names of a file: targets of links, titles, substitutions and numbers of footnotes. They are found before the blocks
//! are read, because text refers to what is defined below it.

use std::collections::{HashMap, HashSet};

use chunkmill_text::document::slug;

use super::lines::{Line, deeper};
use super::marks;

/// Most steps from a target to the target that it names.
const MOST_STEPS: usize = 10;

/// The meaning of a target's name.
#[derive(Debug, Clone)]
enum Target {
    Url(String),
    /// The place where the target is.
    Here,
    /// The same as another target.
    Name(String),
}

/// A substitution: the directive that it is, and the bytes of the lines of its text.
#[derive(Debug, Clone)]
pub(super) struct Substitution {
    pub directive: String,
    pub lines: Vec<Line>,
}

/// The names of a file.
#[derive(Debug, Default)]
pub(super) struct Names {
    targets: HashMap<String, Target>,
    titles: HashSet<String>,
    pub substitutions: HashMap<String, Substitution>,
    /// Targets of links without names, in their order.
    anonymous: Vec<Target>,
    /// How many of them were referred to.
    referred: usize,
    /// Footnotes with a number.
    numbers: HashSet<String>,
}

/// A definition of a target: `.. _name: value`.
pub(super) struct Definition<'t> {
    /// Its name; empty if it is anonymous.
    pub name: &'t str,
    /// The text after the colon.
    pub value: &'t str,
}

/// Reads the definition of a target that a line begins with.
pub(super) fn definition(text: &str) -> Option<Definition<'_>> {
    if let Some(value) = text.strip_prefix("__ ") {
        return Some(Definition { name: "", value });
    }
    let rest = text.strip_prefix("..")?.trim_start_matches(' ');
    let name = rest.strip_prefix('_').filter(|_| text.starts_with(".. "))?;
    if let Some(value) = name.strip_prefix("_:") {
        return Some(Definition { name: "", value });
    }
    if let Some(quoted) = name.strip_prefix('`') {
        let end = quoted.find("`:")?;
        return Some(Definition { name: &quoted[..end], value: &quoted[end + 2..] });
    }
    let mut escaped = false;
    for (at, c) in name.char_indices() {
        let behind = &name[at + c.len_utf8()..];
        if c == ':' && !escaped && at > 0 && (behind.is_empty() || behind.starts_with([' ', '\t'])) {
            return Some(Definition { name: &name[..at], value: behind });
        }
        escaped = c == '\\' && !escaped;
    }
    None
}

impl Names {
    /// Finds the names of a file.
    pub(super) fn new(source: &str, lines: &[Line]) -> Self {
        let mut names = Self::default();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let text = line.text(source);
            let indent = line.indent(source);
            at += 1;
            names.find_inside(text);
            if is_literal(text) {
                at = deeper(source, lines, at, indent + 1);
                continue;
            }
            let more = |from: usize| {
                let rest = lines.get(from..).unwrap_or_default();
                let len = rest.iter().take_while(|line| !line.is_blank() && line.indent(source) > indent).count();
                &rest[..len]
            };
            if let Some(found) = definition(text) {
                names.define(source, &found, more(at));
            } else if let Some((name, directive, len)) = marks::substitution(text) {
                let mut all = vec![line.bare(source).behind(source, len)];
                all.extend_from_slice(more(at));
                let directive = directive.to_ascii_lowercase();
                names.substitutions.insert(normal(name), Substitution { directive, lines: all });
            } else if let Some(label) = marks::footnote(text) {
                names.numbers.insert(label.0.to_owned());
            } else if let Some(next) = lines.get(at)
                && (indent == 0 || at > 1 && marks::underline(lines[at - 2].raw(source)).is_some())
                && marks::underline(next.raw(source)).is_some()
            {
                names.titles.insert(normal(&text.replace(['`', '*'], "")));
            }
        }
        names
    }

    /// Finds targets inside of text.
    fn find_inside(&mut self, text: &str) {
        for (at, mark) in text.match_indices("_`") {
            let is_start = !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '`' | '_'));
            let inside = &text[at + mark.len()..];
            if let Some(end) = inside.find('`').filter(|end| is_start && *end > 0) {
                self.targets.entry(normal(&inside[..end])).or_insert(Target::Here);
            }
        }
    }

    fn define(&mut self, source: &str, found: &Definition<'_>, more: &[Line]) {
        let mut value = found.value.trim().to_owned();
        for line in more {
            value.push_str(line.text(source));
        }
        let target = match value.strip_suffix('_') {
            _ if value.is_empty() => Target::Here,
            Some(name) if !name.ends_with('\\') && !value.contains("://") => {
                Target::Name(normal(name.trim_matches('`')))
            }
            _ => Target::Url(value.replace('\\', "")),
        };
        if found.name.is_empty() {
            self.anonymous.push(target);
        } else {
            self.targets.insert(normal(found.name), target);
        }
    }

    /// Defines a target that a link names.
    pub(super) fn insert(&mut self, name: &str, url: &str) {
        self.targets.entry(normal(name)).or_insert_with(|| Target::Url(url.to_owned()));
    }

    /// Returns the target of a link of this name.
    pub(super) fn resolve(&self, name: &str) -> Option<String> {
        self.follow(normal(name))
    }

    /// Returns the target of the next link without a name.
    pub(super) fn next_anonymous(&mut self) -> Option<String> {
        let target = self.anonymous.get(self.referred)?.clone();
        self.referred += 1;
        match target {
            Target::Url(url) => Some(url),
            Target::Here => None,
            Target::Name(name) => self.follow(name),
        }
    }

    fn follow(&self, mut name: String) -> Option<String> {
        for _ in 0..MOST_STEPS {
            match self.targets.get(&name) {
                Some(Target::Url(url)) => return Some(url.clone()),
                Some(Target::Here) => return Some(format!("#{}", id(&name))),
                Some(Target::Name(next)) => name.clone_from(next),
                None => return self.titles.contains(&name).then(|| format!("#{}", slug(&name))),
            }
        }
        None
    }

    /// Returns the first number from this on that no footnote has.
    pub(super) fn free_number(&self, mut number: usize) -> usize {
        while self.numbers.contains(&number.to_string()) {
            number += 1;
        }
        number
    }
}

/// Returns whether the lines below that are deeper are not read as text.
fn is_literal(text: &str) -> bool {
    let Some((name, _)) = marks::directive(text) else { return text.ends_with("::") && !text.starts_with(".. ") };
    matches!(name.to_ascii_lowercase().as_str(), "code" | "code-block" | "sourcecode" | "raw" | "parsed-literal")
}

/// Returns a name as names are compared.
pub(super) fn normal(name: &str) -> String {
    name.split_whitespace().map(|word| word.replace('\\', "").to_lowercase()).collect::<Vec<_>>().join(" ")
}

/// Returns what a place of this name is called in a link.
pub(super) fn id(name: &str) -> String {
    normal(name).replace(' ', "-")
}
