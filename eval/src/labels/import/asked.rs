//! Questions that people ask already: search logs, pages of frequent questions, titles of issues.
//!
//! A log is a table or a file of lines, a page is Markdown or HTML inside it, issues are JSON as `gh issue list --json
//! title` and `glab` write it. Questions that ask the same become one ([`distinct`]), and the most frequent ones come
//! first, because the answers to these matter to most people.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use chunkmill::document::{Document, Format, on_one_line};
use chunkmill::error::{Error, Result};
use chunkmill::value::one_of;
use serde_json::{Value, json};

use super::alike::{AskedBefore, distinct};
use super::flaws::Flaws;
use super::source::Source;
use super::table::{each, form};
use crate::data::files::replace;

/// Names of the column of questions, the most likely one first.
const QUESTION: [&str; 10] =
    ["question", "query", "search_query", "search_term", "searchterm", "keyword", "title", "term", "text", "q"];

/// Names of the column that says how often a question was asked.
const COUNT: [&str; 9] = ["count", "counts", "n", "hits", "searches", "frequency", "occurrences", "volume", "total"];

/// A longer text is no question that a person typed into a search field.
const LONGEST: usize = 500;

/// Help for a row that is none.
const ROW: &str = "a row has a column with a question; name it with --column";

/// How questions are collected.
#[derive(Debug, Clone, Default)]
pub struct CollectSettings {
    /// The column of questions; by default the first one with a usual name.
    pub column: Option<String>,
    /// The column of counts; by default the first one with a usual name. Without one, each row counts once.
    pub count_column: Option<String>,
    /// Questions that were asked fewer times are left out.
    pub least: u64,
}

/// A question that people ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrequentQuestion {
    /// Its most frequent wording.
    pub text: String,
    /// How often it was asked, in any wording.
    pub count: u64,
    /// The first file that has it.
    pub file: PathBuf,
}

/// Questions from files.
#[derive(Debug, Default)]
pub struct CollectedQuestions {
    /// The questions, the most frequent ones first.
    pub questions: Vec<FrequentQuestion>,
    /// Number of questions in the files.
    pub read: usize,
    /// Number of repeats that differ in case, white space or punctuation at most.
    pub repeats: usize,
    /// The questions that ask the same as another one in other words, with that one.
    pub alike: Vec<(String, String)>,
    /// Number of questions that were asked too rarely.
    pub rare: usize,
    /// Rows that have no question.
    pub left_out: Flaws,
}

impl CollectedQuestions {
    /// Writes the questions for `label` and `recommend`: with their counts as JSON if the file's name ends with
    /// `.jsonl`, else one per line.
    ///
    /// # Errors
    /// [`Error::Setting`] if the file exists, [`Error::Io`] if it cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        if file.exists() {
            let help = "name a new file with -o, so no question of yours is overwritten";
            return Err(Error::setting(file.display().to_string(), "exists", help));
        }
        let has_counts = file.extension().is_some_and(|extension| extension == "jsonl");
        let mut text = String::new();
        for (number, FrequentQuestion { text: question, count, file }) in (1..).zip(&self.questions) {
            let from = file.file_name().unwrap_or_default().to_string_lossy();
            let line = json!({ "query_id": format!("q{number:03}"), "query": question, "count": count, "from": from });
            let _ = if has_counts { writeln!(text, "{line}") } else { writeln!(text, "{question}") };
        }
        replace(file, text.as_bytes())
    }
}

/// Collects the questions of files.
///
/// # Errors
/// [`Error::Named`] for a file that cannot be read, [`Error::Setting`] if a table has no column of questions, or if
/// nothing is left.
pub fn collect_questions(files: &[PathBuf], settings: &CollectSettings) -> Result<CollectedQuestions> {
    let mut collected = CollectedQuestions::default();
    let mut asked: Vec<AskedBefore> = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let mut put = |text: &str, count: u64| {
            let text = question(text)?;
            asked.push(AskedBefore { text, count, file: number });
            Ok(())
        };
        if form(file).is_some() {
            table(file, settings, &mut collected.left_out, &mut put)?;
        } else if Format::of_path(&file.to_string_lossy()) == Format::Markdown || is_html(file) {
            for text in frequent(file)? {
                // A heading that is only a mark is no question, and nothing is lost with it.
                let _ = put(&text, 1);
            }
        } else {
            let source = Source::read(file)?;
            source.lines("a line has a question", &mut collected.left_out, |_, line| put(line, 1));
        }
    }
    collected.read = asked.len();
    let (distinct, repeats, alike) = distinct(asked);
    (collected.repeats, collected.alike) = (repeats, alike);
    for AskedBefore { text, count, file } in distinct {
        if count < settings.least {
            collected.rare += 1;
        } else {
            collected.questions.push(FrequentQuestion { text, count, file: files[file].clone() });
        }
    }
    if collected.questions.is_empty() {
        if let Some(error) = collected.left_out.error() {
            return Err(error);
        }
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Error::setting(
            names.join(", "),
            if collected.rare > 0 { "has no question that was asked often enough" } else { "has no question" },
            "name a search log, a page with questions as headings, or titles of issues; `chunkmill-eval questions --help` says how they look",
        ));
    }
    Ok(collected)
}

/// Returns a text as a question: on one line, without a label before it.
fn question(text: &str) -> Result<String, String> {
    let line = on_one_line(text);
    let mut text = line.as_str();
    // `[Bug]`, `Q:`, `3.`
    while let Some((_, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        text = rest.trim();
    }
    for label in ["Q:", "Q.", "Question:"] {
        text = text.strip_prefix(label).map_or(text, str::trim);
    }
    if let Some((first, rest)) = text.split_once(' ')
        && let Some(number) = first.strip_suffix(['.', ')'])
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        text = rest;
    }
    match text.chars().count() {
        0 => Err("has no question".to_owned()),
        _ if !text.contains(char::is_alphabetic) => Err("has no word".to_owned()),
        LONGEST.. => Err(format!("has more than {LONGEST} characters, which is no question")),
        _ => Ok(text.to_owned()),
    }
}

/// Reads the questions of a table.
fn table(
    file: &Path,
    settings: &CollectSettings,
    left_out: &mut Flaws,
    put: &mut dyn FnMut(&str, u64) -> Result<(), String>,
) -> Result<()> {
    let mut columns: Option<BTreeSet<String>> = None;
    let mut found = false;
    each(&[file.to_owned()], ROW, left_out, |row| {
        let known = columns.get_or_insert_with(|| row.fields.keys().cloned().collect());
        known.extend(row.fields.keys().cloned());
        let of = |wanted: &Option<String>, usual: &[&str]| -> Option<&Value> {
            match wanted {
                Some(name) => row.fields.get(name),
                None => usual.iter().find_map(|usual| {
                    row.fields.iter().find(|(name, _)| name.trim().eq_ignore_ascii_case(usual)).map(|(_, value)| value)
                }),
            }
        };
        let only =
            if row.fields.len() == 1 { row.fields.values().next().filter(|value| value.is_string()) } else { None };
        let text = of(&settings.column, &QUESTION).or(if settings.column.is_none() { only } else { None });
        let text = text.ok_or_else(|| "has no column with a question".to_owned())?;
        found = true;
        let text = text.as_str().ok_or_else(|| "the question is not a text".to_owned())?;
        let count = match of(&settings.count_column, &COUNT) {
            None => 1,
            Some(Value::Number(number)) => number.as_u64().ok_or_else(|| format!("{number} is not a count"))?,
            Some(Value::String(number)) => {
                let plain: String = number.chars().filter(|c| !matches!(c, ',' | '_' | ' ')).collect();
                plain.parse().map_err(|_| format!("`{number}` is not a count"))?
            }
            Some(other) => return Err(format!("{other} is not a count")),
        };
        if count == 0 { Ok(()) } else { put(text, count) }
    })?;
    let missing = |name: &String| columns.as_ref().is_some_and(|columns| !columns.contains(name));
    let asked = settings.column.as_ref().filter(|name| missing(name));
    let counted = settings.count_column.as_ref().filter(|name| missing(name));
    if let Some(columns) = columns.as_ref().filter(|_| !found || asked.or(counted).is_some()) {
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let wanted = asked.or(counted).map_or("question", String::as_str);
        let problem = match asked.or(counted) {
            Some(name) => format!("has no column `{name}`"),
            None => "has no column that is named like a question".to_owned(),
        };
        let help = format!("name it with --column; {}", one_of(wanted, &names));
        return Err(Error::setting(file.display().to_string(), problem, help));
    }
    Ok(())
}

fn is_html(file: &Path) -> bool {
    file.extension().is_some_and(|extension| ["html", "htm"].iter().any(|html| extension.eq_ignore_ascii_case(html)))
}

/// Returns the questions of a page: headings, lines in bold, summaries and terms that end with a question mark.
fn frequent(file: &Path) -> Result<Vec<String>> {
    let source = Source::exact(file)?;
    let document = Document::from_text("page.md", source.text());
    let mut found: Vec<(usize, String)> =
        document.sections.iter().map(|section| (section.range.start, section.title.clone())).collect();
    let mut at = 0;
    for line in document.text.split_inclusive('\n') {
        let text = line.trim().trim_start_matches(['-', '*', '+', '>']).trim_start();
        let text = if line.trim().starts_with("**") { line.trim() } else { text };
        for mark in ["**", "__"] {
            if let Some(inner) = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark)) {
                found.push((at, inner.to_owned()));
            }
        }
        at += line.len();
    }
    for tag in ["summary", "dt", "h1", "h2", "h3", "h4"] {
        let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
        let lower = document.text.to_ascii_lowercase();
        for (start, _) in lower.match_indices(&open) {
            let Some(inner) = lower[start..].find('>').map(|end| start + end + 1) else { break };
            let Some(end) = lower[inner..].find(&close).map(|end| inner + end) else { break };
            found.push((start, without_tags(&document.text[inner..end])));
        }
    }
    found.sort();
    let plain = |text: String| text.replace("**", "").replace("__", "").replace('`', "");
    let texts = found.into_iter().map(|(_, text)| plain(text)).map(|text| on_one_line(&text));
    let mut seen = BTreeSet::new();
    // A heading in HTML is a section, too.
    Ok(texts.filter(|text| text.ends_with(['?', '？']) && seen.insert(text.clone())).collect())
}

/// Returns a text without HTML tags.
fn without_tags(text: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => inside = false,
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    plain
}
