//! Text that a document must not be able to send to a terminal. The harness's tests use this file too.

use std::collections::BTreeSet;

/// Renames the window, clears the screen, switches a colour on with a C1 character, deletes, reverses the direction
/// of the line, ends it, and returns to its start. It has no slash, so it can name a file.
pub const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{8}\u{202e}\u{2066}\u{2028}\r y";

/// Returns whether a character may change how a terminal shows other characters.
fn is_hidden(c: char) -> bool {
    let turns = matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && !matches!(c, '\n' | '\t'))
}

pub fn assert_tame(what: &str, text: &str) {
    if let Some((at, c)) = text.char_indices().find(|(_, c)| is_hidden(*c)) {
        let near: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{what}: {c:?} after {near:?}");
    }
}

/// Returns the same text as YAML, TOML and JSON write it between double quotes.
pub fn quoted() -> String {
    let escaped = HOSTILE.chars().map(|c| if is_hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Returns a document that has the text in every place where a document can have text.
pub fn page() -> String {
    let words = "Backups are kept for thirty days, and jars of an older day go first. ".repeat(6);
    format!(
        "---\ntitle: {quoted}\ntags: [{quoted}]\naliases: [{quoted}]\n---\n# {HOSTILE}\n\n{words}{HOSTILE}\n\n\
         ## {HOSTILE}\n\n[{HOSTILE}](other{HOSTILE}.md)\r\n\r\n```{HOSTILE}\n{HOSTILE}\n```\n\n| a | {HOSTILE} |\n| - | - |\n| b | c |\n",
        quoted = quoted()
    )
}

/// Returns every command of a program that does something, as the words that call it.
pub fn commands(program: &clap::Command) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = command.get_name();
        let below = commands(command);
        if below.is_empty() {
            found.insert(name.to_owned());
        }
        found.extend(below.into_iter().map(|below| format!("{name} {below}")));
    }
    found
}

/// The commands that were tried.
#[derive(Default)]
pub struct Tried(BTreeSet<String>);

impl Tried {
    pub fn add(&mut self, args: &[&str], all: &BTreeSet<String>) {
        let line = args.join(" ") + " ";
        self.0.extend(all.iter().filter(|command| line.starts_with(&format!("{command} "))).cloned());
    }

    /// Asserts that every command was tried. A new command has no case here yet.
    pub fn assert_are(&self, all: &BTreeSet<String>) {
        let missing: Vec<&String> = all.difference(&self.0).collect();
        assert!(missing.is_empty(), "these were not tried on a hostile document: {missing:?}");
    }
}
