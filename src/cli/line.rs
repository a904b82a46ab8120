//! Lines for people. On a terminal, some of their parts stand out, places are links, and no line is wider than the
//! window. Elsewhere they are plain text of any width.

use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use url::Url;

use super::escape::visible;

/// Largest number of folders in which the file of a place is looked for.
const MOST_FOLDERS: usize = 200;

/// Number of columns of the longest name that a column of text follows.
const LONGEST_NAME: usize = 20;

/// How a part of a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Like any other text.
    Plain,
    /// The place of a text.
    Place,
    /// A part that matters less than the rest.
    Faint,
    /// A word of the question.
    Mark,
    /// The beginning of an error.
    Error,
    /// The beginning of advice.
    Help,
}

impl Look {
    fn style(self) -> Style {
        let color = |color: AnsiColor| color.on_default();
        match self {
            Self::Plain => Style::new(),
            Self::Place => color(AnsiColor::Cyan).bold(),
            Self::Faint => Style::new().dimmed(),
            Self::Mark => color(AnsiColor::Yellow).bold(),
            // As in clap's messages.
            Self::Error => color(AnsiColor::Red).bold(),
            Self::Help => color(AnsiColor::Green),
        }
    }
}

/// The looks and the width of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) colors: bool,
    pub(super) links: bool,
    /// Number of columns, if it is a terminal.
    pub(super) width: Option<usize>,
}

/// A line in parts. A part that is a place knows the path of its document.
#[derive(Debug, Clone, Default)]
pub struct Line {
    parts: Vec<(Look, String, Option<String>)>,
}

impl Line {
    /// Adds a part.
    #[must_use]
    pub fn with(mut self, look: Look, text: impl Display) -> Self {
        self.parts.push((look, text.to_string(), None));
        self
    }

    /// Adds a place in a document. Where links are shown, it leads to the file, if that is here.
    #[must_use]
    pub fn with_place(mut self, place: impl Display, path: &str) -> Self {
        self.parts.push((Look::Place, place.to_string(), Some(path.to_owned())));
        self
    }

    /// Adds the parts of another line.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// Returns the number of columns it takes.
    pub fn width(&self) -> usize {
        self.parts.iter().map(|(_, text, _)| columns(text)).sum()
    }

    /// Returns the bytes for a screen, without a line end. A line that is too wide ends in `…`.
    pub(super) fn on(&self, screen: Screen) -> String {
        let most = screen.width.filter(|&most| self.width() > most).map(|most| most.saturating_sub(1));
        let mut left = most.unwrap_or(usize::MAX);
        let mut out = String::new();
        for (look, text, path) in &self.parts {
            let text = visible(text);
            let shown = within(&text, left);
            left -= columns(shown);
            let style = if screen.colors { look.style() } else { Style::new() };
            // Looking for the file takes a while.
            let target = path.as_ref().filter(|_| screen.links).and_then(|path| here(Path::new(path)));
            let target = target.and_then(|file| Url::from_file_path(file).ok());
            if let Some(target) = &target {
                let _ = write!(out, "\x1b]8;;{target}\x1b\\");
            }
            let _ = write!(out, "{style}{shown}{style:#}");
            if target.is_some() {
                out.push_str("\x1b]8;;\x1b\\");
            }
            if shown.len() < text.len() {
                break;
            }
        }
        if most.is_some() {
            out.push('…');
        }
        out
    }
}

/// Returns the file of a document: in this folder, or in the only folder below it that has a file of that path. A dataset does
/// not say where its documents were.
fn here(path: &Path) -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    let file = folder.join(path);
    if file.is_file() {
        return Some(file);
    }
    let below = std::fs::read_dir(&folder).ok()?.flatten().take(MOST_FOLDERS);
    let mut files = below.map(|entry| entry.path().join(path)).filter(|file| file.is_file());
    files.next().filter(|_| files.next().is_none())
}

/// Breaks the lines of a text between words where they exceed a width. Only a single word can be wider. What follows a
/// short name and two spaces is a column: its further lines begin where it begins.
pub(super) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut taken = 0;
        let indent = Some(column(line)).filter(|indent| 2 * indent < width).unwrap_or_default();
        for word in line.split_inclusive(' ') {
            let wide = columns(word.trim_end());
            if taken > indent && taken + wide > width {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                taken = indent;
            }
            out.push_str(word);
            taken += columns(word.trim_end_matches('\n'));
        }
    }
    out
}

/// Returns where the text of a line begins, after its name if it has one.
fn column(line: &str) -> usize {
    let before = line.len() - line.trim_start().len();
    let name = line.trim_start().split_once("  ").map(|(name, _)| name).filter(|name| columns(name) <= LONGEST_NAME);
    let Some(name) = name else { return before };
    let after = line[before + name.len()..].bytes().take_while(|&byte| byte == b' ').count();
    before + columns(name) + after
}

/// Returns the number of columns that a text takes, with control characters shown as [`visible`] shows them.
pub(super) fn columns(text: &str) -> usize {
    visible(text).width()
}

/// Returns the beginning of a text that fits some columns.
pub(super) fn within(text: &str, most: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|&(_, c)| {
        taken += c.width().unwrap_or_default();
        taken > most
    });
    end.map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Screen = Screen { colors: false, links: false, width: None };

    fn line() -> Line {
        Line::default().with(Look::Faint, " 1. ").with(Look::Place, "guide.md:3-4").with(Look::Plain, "  日本語の文書")
    }

    #[test]
    fn parts_stand_out_where_colours_are_shown_and_nowhere_else() {
        assert_eq!(line().on(PLAIN), " 1. guide.md:3-4  日本語の文書");
        let colored = line().on(Screen { colors: true, ..PLAIN });
        assert_eq!(colored, "\x1b[2m 1. \x1b[0m\x1b[1m\x1b[36mguide.md:3-4\x1b[0m  日本語の文書");
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        let whole = line().on(PLAIN);
        for width in 1..40 {
            let shown = line().on(Screen { width: Some(width), ..PLAIN });
            assert!(shown.width() <= width, "{width}: {shown}");
            match shown.strip_suffix('…') {
                Some(start) => assert!(whole.starts_with(start) && whole.width() > width, "{width}: {shown}"),
                None => assert_eq!(shown, whole),
            }
        }
    }

    #[test]
    fn sentences_break_between_words() {
        let text = "With 1,000 tokens per question, the reader gets 日本語の文書 all of it.\n\nreport  a/very/long/path.html\n";
        assert_eq!(
            wrapped("sure  one two three four\nnext  five", Some(14)),
            "sure  one two\n      three\n      four\nnext  five"
        );
        assert_eq!(
            wrapped("  left out  three of 3 pdf\n    more words", Some(25)),
            "  left out  three of 3\n            pdf\n    more words"
        );
        assert_eq!(wrapped("    more words", Some(12)), "    more\n    words");
        assert_eq!(wrapped(text, None), text);
        for width in 1..90 {
            let shown = wrapped(text, Some(width));
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&shown), words(text));
            let fits = |line: &str| columns(line) <= width || !line.contains(' ') || line.starts_with("report  ");
            assert!(shown.lines().all(fits) && shown.contains(".\n\nreport"), "{width}: {shown}");
        }
    }

    #[test]
    fn control_characters_of_documents_never_reach_the_screen() {
        let line = Line::default().with(Look::Mark, "a\x1b[2Jb").with(Look::Place, "c\u{202e}d");
        let shown = line.on(Screen { colors: true, links: true, width: Some(80) });
        assert!(shown.contains("a\\x1b[2Jb") && shown.contains("c\\u{202e}d"), "{shown:?}");
    }

    #[test]
    fn a_place_leads_to_its_file_if_it_is_here() {
        let screen = Screen { links: true, ..PLAIN };
        let shown = Line::default().with_place("Cargo.toml:1-1", "Cargo.toml").on(screen);
        assert!(shown.starts_with("\x1b]8;;file:///") && shown.contains("/Cargo.toml\x1b\\"), "{shown:?}");
        assert!(shown.ends_with("Cargo.toml:1-1\x1b]8;;\x1b\\"), "{shown:?}");
        let below = Line::default().with_place("x", "cli/line.rs").on(screen);
        assert!(below.contains("/src/cli/line.rs"), "in the folder `src`: {below:?}");
        assert_eq!(Line::default().with_place("x", "gone.md").on(screen), "x");
    }
}
