//! The few definitions of a file that its text needs: names for words, environments of code, theorems.
//!
//! A command without arguments whose text is words, like the name of a product, is put in where it is used. Its text is
//! worked out where it is defined, from what is known there, so nothing is expanded twice and no definition can use itself.

use std::collections::{HashMap, HashSet};

use super::scan::Braces;
use super::{accents, scan};

/// Longest text of a command, in bytes.
const MAX_VALUE: usize = 300;

/// Most definitions that are kept.
const MAX_DEFINITIONS: usize = 10_000;

/// Deepest braces in the text of a command.
const MAX_DEPTH: usize = 8;

/// The text that a command stands for.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub text: String,
    /// Whether a space follows it before a word.
    pub is_spaced: bool,
}

/// The definitions of a file.
#[derive(Debug, Default)]
pub(super) struct Macros {
    values: HashMap<String, Value>,
    /// Environments that are code.
    code: HashSet<String>,
    theorems: HashSet<String>,
    /// How many bytes more may be put in.
    room: usize,
}

impl Macros {
    pub(super) fn new(room: usize) -> Self {
        Self { room, ..Self::default() }
    }

    pub(super) fn is_code(&self, environment: &str) -> bool {
        environment == "Highlighting" || self.code.contains(environment)
    }

    /// Returns whether the option of an environment is a title.
    pub(super) fn is_theorem(&self, environment: &str) -> bool {
        const KNOWN: &[&str] = &[
            "axiom",
            "claim",
            "conjecture",
            "corollary",
            "definition",
            "example",
            "exercise",
            "lemma",
            "proof",
            "proposition",
            "remark",
            "theorem",
        ];
        KNOWN.contains(&environment) || self.theorems.contains(environment)
    }

    /// Returns the text of a command, if there is room for it.
    pub(super) fn value(&mut self, name: &str) -> Option<Value> {
        let value = self.values.get(name).filter(|value| value.text.len() <= self.room)?;
        self.room -= value.text.len();
        Some(value.clone())
    }

    /// Reads a command that may define something. `at` is behind its name.
    pub(super) fn learn(&mut self, command: &str, text: &str, at: usize, braces: &Braces) {
        if self.values.len() + self.code.len() + self.theorems.len() >= MAX_DEFINITIONS {
            return;
        }
        match command {
            "newcommand"
            | "renewcommand"
            | "providecommand"
            | "DeclareRobustCommand"
            | "newrobustcmd"
            | "def"
            | "gdef" => {
                if let Some((name, value)) = self.definition(text, at, braces) {
                    match value {
                        Some(value) => drop(self.values.insert(name, value)),
                        // It means something else now.
                        None => drop(self.values.remove(&name)),
                    }
                }
            }
            "DefineVerbatimEnvironment" | "CustomVerbatimEnvironment" | "lstnewenvironment" | "newverbatim" => {
                self.code.extend(argument(text, at, braces).map(str::to_owned));
            }
            "newminted" => {
                // The name of the environment is that of the language with `code`, or in an option.
                let len = scan::option(&text[at..]).unwrap_or_default();
                let named = text.get(at + 1..(at + len).saturating_sub(1)).map(str::to_owned);
                let language = argument(text, at + len, braces).map(|language| format!("{language}code"));
                self.code.extend(named.filter(|_| len > 2).or(language));
            }
            "newtheorem" | "declaretheorem" => self.theorems.extend(argument(text, at, braces).map(str::to_owned)),
            _ => {}
        }
    }

    /// Returns a command without arguments with its text, or without a text if that is more than words.
    fn definition(&self, text: &str, at: usize, braces: &Braces) -> Option<(String, Option<Value>)> {
        let rest = text[at..].strip_prefix('*').unwrap_or(&text[at..]);
        let blank = scan::white_space(rest);
        let at = text.len() - rest.len() + blank;
        let (command, behind) = match argument(text, at, braces) {
            Some(command) => (command.trim(), at + command.len() + 2),
            None if text[at..].starts_with('\\') => {
                let len = scan::command(&text[at..]);
                (&text[at..at + len], at + len)
            }
            None => return None,
        };
        let name = command.strip_prefix('\\').filter(|name| name.bytes().all(|byte| byte.is_ascii_alphabetic()))?;
        let body = argument(text, behind + scan::white_space(&text[behind..]), braces);
        Some((name.to_owned(), body.and_then(|body| self.words(body))))
    }

    /// Returns a text that is words and known commands, as it is shown.
    fn words(&self, body: &str) -> Option<Value> {
        const MARKS: [(&str, &str); 7] = [
            ("``", "\u{201c}"),
            ("''", "\u{201d}"),
            ("'", "\u{2019}"),
            ("---", "\u{2014}"),
            ("--", "\u{2013}"),
            ("~", " "),
            ("\n", " "),
        ];
        if body.len() > MAX_VALUE {
            return None;
        }
        let (mut text, mut is_spaced, mut depth) = (String::new(), false, 0_usize);
        let mut rest = body;
        while let Some(c) = rest.chars().next() {
            if let Some((mark, shown)) = MARKS.iter().find(|(mark, _)| rest.starts_with(*mark)) {
                text.push_str(shown);
                rest = &rest[mark.len()..];
                continue;
            }
            let mut len = c.len_utf8();
            match c {
                '#' | '$' | '%' | '&' | '^' | '_' => return None,
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                '\\' => {
                    len = scan::command(rest);
                    let name = &rest[1..len];
                    match name {
                        "&" | "%" | "$" | "#" | "_" | "{" | "}" => text.push_str(name),
                        " " | "," | ";" | "quad" | "enspace" | "space" | "nobreakspace" => text.push(' '),
                        "-" | "/" | "emph" | "textit" | "textsl" | "textbf" | "textsc" | "textsf" | "textrm"
                        | "textnormal" | "texttt" | "textmd" | "textup" | "mbox" | "hbox" | "em" | "it" | "bf"
                        | "sc" | "sf" | "rm" | "tt" | "itshape" | "bfseries" | "scshape" | "sffamily" | "rmfamily"
                        | "ttfamily" | "protect" | "relax" | "normalfont" => {}
                        "xspace" => is_spaced = true,
                        _ => match (accents::symbol(name), self.values.get(name)) {
                            (Some(shown), _) => text.push_str(shown),
                            (None, Some(value)) => {
                                text.push_str(&value.text);
                                is_spaced |= value.is_spaced;
                            }
                            (None, None) => return None,
                        },
                    }
                    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                        len += scan::white_space(&rest[len..]);
                    }
                }
                c => text.push(c),
            }
            if depth > MAX_DEPTH || text.len() > MAX_VALUE {
                return None;
            }
            rest = &rest[len..];
        }
        (!text.trim().is_empty()).then_some(Value { text, is_spaced })
    }
}

/// Returns the text in the braces that open at a byte.
fn argument<'t>(text: &'t str, at: usize, braces: &Braces) -> Option<&'t str> {
    text.get(at + 1..braces.end(at)?)
}
