//! What a document must not be able to say to a terminal. The harness's tests use this file too.

use std::collections::BTreeSet;

/// Gives the window another name, clears the screen, switches a colour on by a C1 character, deletes, turns the line
/// around, ends it, and goes back to its start. No slash in it: it can name a file.
pub const HOSTILE: &str = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{8}\u{202e}\u{2066}\u{2028}\r y";

/// Whether a character may change what a terminal shows of others.
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

/// The same text as YAML, TOML and JSON have it between double quotes.
pub fn quoted() -> String {
    let escaped = HOSTILE.chars().map(|c| if is_hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.into() });
    format!("\"{}\"", escaped.collect::<String>())
}

/// A document that says it wherever a document can say something.
pub fn page() -> String {
    let words = "Backups are kept for thirty days, and jars of an older day go first. ".repeat(6);
    format!(
        "---\ntitle: {quoted}\ntags: [{quoted}]\naliases: [{quoted}]\n---\n# {HOSTILE}\n\n{words}{HOSTILE}\n\n\
         ## {HOSTILE}\n\n[{HOSTILE}](other{HOSTILE}.md)\r\n\r\n```{HOSTILE}\n{HOSTILE}\n```\n\n| a | {HOSTILE} |\n| - | - |\n| b | c |\n",
        quoted = quoted()
    )
}

/// Every command of a program that does something, with the words that call it.
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

    /// A command that is new has no case here yet.
    pub fn assert_are(&self, all: &BTreeSet<String>) {
        let missing: Vec<&String> = all.difference(&self.0).collect();
        assert!(missing.is_empty(), "nobody has tried {missing:?} on a hostile document");
    }
}
