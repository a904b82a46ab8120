//! Asks a person at a terminal: shows the question with its proposals and reads the answers as lines. On a terminal,
//! text is wrapped at words and the words of the question stand out; elsewhere it is plain.

use std::io::BufRead;
use std::ops::Range;

use chunkmill::cli::{Line, Look, tell, tell_line, width_of_messages};
use chunkmill::search::Marker;
use chunkmill::value::count;

use super::answers::{Answers, SessionOutcome};
use super::propose::{Proposal, Proposer};
use crate::labels::set::{FoundBy, Place, Reference, beginning};

/// Number of proposals that are shown at once.
const SHOWN: usize = 6;

/// A typed text that is in several places needs this many characters, not counting white space. A shorter one is
/// probably a mistake, and its other places have nothing to do with the question.
const SHORTEST: usize = 16;

/// Number of places of a saved reference that are shown.
const PLACES: usize = 3;

/// Number of characters of a saved text that are shown.
const START: usize = 60;

/// Number of lines before and after a proposal that are shown if a person looks around.
const AROUND: usize = 8;

/// Largest number of lines of code that are shown.
const MOST_LINES: usize = 40;

/// Number of columns before a proposal's text.
const INDENT: usize = 5;

const HELP: &str = "y or a number: this one answers it · n: the documents do not answer it · m: more · /words: search again · \
                    s: later · u: undo · q: stop · ?: all commands";

const LONG_HELP: &str = "\x20 y, 2          proposal 1, or 2, answers the question
  1,3           both are needed
  1/3           either one is enough
  m             show more proposals
  /other words  search again by other words; the proposals are numbered from 1 again
  v 2           look around proposal 2: the lines before and after it, with their numbers
  +2, 2+        make proposal 2 longer by the passage before it, or after it
  e             enter the evidence yourself: its text, or PATH:FROM-TO in lines
  n             the documents do not answer the question
  s             ask again in the next session
  u             undo the last answer
  q             stop; the same command goes on here
";

/// A person's decision about a question.
enum Decision {
    /// The references that answer it.
    Evidence(Vec<Reference>),
    Unanswered,
    Later,
    /// The last answer was wrong.
    Undo,
    Stop,
    /// The input ended.
    End,
}

/// Asks a person about each question that has no answer yet. Answers are read as lines. An answer that cannot be
/// understood is not an error; the question is asked again.
///
/// # Errors
/// Those of the search, and [`chunkmill::error::Error::Io`] if the set cannot be written.
pub fn session(proposer: &Proposer, answers: &mut Answers, input: &mut dyn BufRead) -> anyhow::Result<SessionOutcome> {
    let open: Vec<usize> = (0..answers.questions().len()).filter(|&at| answers.answer(at).is_none()).collect();
    tell(format_args!("{HELP}\n"));
    let (mut at, mut no_answer) = (0, false);
    while let Some(&question) = open.get(at) {
        let text = answers.questions()[question].text.clone();
        tell("\n");
        let number = format!("[{}/{}] ", at + 1, open.len());
        tell_line(&Line::default().with(Look::Faint, number).with(Look::Mark, &text));
        let mut asked = Asked::new(proposer, text)?;
        match asked.decide(input)? {
            Decision::Evidence(references) => {
                let saved: Vec<String> =
                    references.iter().map(|saved| format!("saved: {}\n", describe(proposer, saved))).collect();
                answers.give(question, references)?;
                tell(saved.concat());
            }
            Decision::Unanswered => answers.give(question, Vec::new())?,
            Decision::Later => answers.put_off(question),
            Decision::Undo => {
                match answers.undo()? {
                    Some(last) => at = open.iter().position(|&other| other == last).unwrap_or(at),
                    None => tell("there is no answer to undo\n"),
                }
                continue;
            }
            Decision::Stop => break,
            Decision::End => {
                no_answer = at == 0;
                break;
            }
        }
        at += 1;
    }
    Ok(SessionOutcome { no_answer, ..answers.outcome() })
}

/// A question with the proposals that are shown for it.
struct Asked<'p> {
    proposer: &'p Proposer,
    question: String,
    /// The words of the last search.
    words: String,
    proposals: Vec<Proposal>,
    shown: usize,
}

impl<'p> Asked<'p> {
    fn new(proposer: &'p Proposer, question: String) -> anyhow::Result<Self> {
        let proposals = proposer.propose(&question)?;
        let mut asked = Self { proposer, words: question.clone(), question, proposals, shown: 0 };
        asked.more();
        Ok(asked)
    }

    /// Shows the next proposals.
    fn more(&mut self) {
        let from = self.shown;
        self.shown = (from + SHOWN).min(self.proposals.len());
        let marker = self.marker();
        (from..self.shown).for_each(|at| self.show(at, &marker));
        if from == self.shown {
            let all = if from == 0 { "no passage was found" } else { "there are no more" };
            tell(format_args!("{all}: search by other words with /words, or enter the text with e\n"));
        }
    }

    /// Marks the words of the question, and those that were searched for instead.
    fn marker(&self) -> Marker {
        Marker::new(&format!("{} {}", self.question, self.words))
    }

    fn show(&self, at: usize, marker: &Marker) {
        let Self { proposer, proposals, .. } = self;
        let proposal = &proposals[at];
        let line = proposer.lines_of(&proposal.doc_id, &proposal.range).0;
        let ways: Vec<&str> = proposal.found_by.iter().map(|way| way.name()).collect();
        let headings = proposer.headings(proposal).join(" > ");
        let between = if headings.is_empty() { "" } else { "  " };
        let head = Line::default()
            .with(Look::Plain, format_args!("{:>3}  ", at + 1))
            .with_place(format_args!("{}:{line}", proposal.doc_id), &proposal.doc_id)
            .with(Look::Plain, format_args!("{between}{headings}"))
            .with(Look::Faint, format_args!("  {}", ways.join("+")));
        tell_line(&head);
        let text = proposer.text(&proposal.doc_id, &proposal.range);
        if let Some(head) = &proposal.head {
            let head = proposer.text(&proposal.doc_id, head).trim();
            tell_line(&indented(Line::default().with(Look::Faint, head)));
        }
        let found = marker.marks(text);
        let lines = if proposal.keeps_lines {
            let lines = lines_of(text);
            let more = lines.len().saturating_sub(MOST_LINES);
            let mut lines: Vec<Line> =
                lines.into_iter().take(MOST_LINES).map(|range| marked_line(text, range, &found)).collect();
            if more > 0 {
                lines.push(Line::default().with(Look::Faint, format_args!("… {}", count(more, "more line"))));
            }
            lines
        } else {
            wrapped(text, &found, width_of_messages().map(|width| width.saturating_sub(INDENT + 1)))
        };
        for line in lines {
            tell_line(&indented(line));
        }
    }

    /// Asks until the answer is understood.
    fn decide(&mut self, input: &mut dyn BufRead) -> anyhow::Result<Decision> {
        loop {
            let Some(line) = prompt("> ", input)? else { return Ok(Decision::End) };
            match line.as_str() {
                "n" => return Ok(Decision::Unanswered),
                "s" => return Ok(Decision::Later),
                "u" => return Ok(Decision::Undo),
                "q" => return Ok(Decision::Stop),
                "m" => self.more(),
                "?" => tell(LONG_HELP),
                "" => tell(format_args!("{HELP}\n")),
                "e" => {
                    let Some(text) = prompt("text, or PATH:FROM-TO> ", input)? else { return Ok(Decision::End) };
                    if let Some(reference) = self.typed(&text) {
                        return Ok(Decision::Evidence(vec![reference]));
                    }
                }
                line => {
                    if let Some(words) = line.strip_prefix('/').map(str::trim).filter(|words| !words.is_empty()) {
                        self.proposals = self.proposer.propose(words)?;
                        (self.words, self.shown) = (words.to_owned(), 0);
                        self.more();
                    } else if let Some(at) = line.strip_prefix('v').and_then(|number| self.number(number)) {
                        self.look_around(at);
                    } else if let Some((at, before)) = self.neighbour(line) {
                        match self.proposer.extended(&self.proposals[at], before) {
                            Some(extended) => {
                                self.proposals[at] = extended;
                                self.show(at, &self.marker());
                            }
                            None => tell("its document has no other passage there\n"),
                        }
                    } else if let Some(references) = self.chosen(line) {
                        return Ok(Decision::Evidence(references));
                    } else {
                        tell(format_args!("`{line}` is not one of: {HELP}\n"));
                    }
                }
            }
        }
    }

    /// Returns the position of a proposal that is shown.
    fn number(&self, text: &str) -> Option<usize> {
        let number = text.trim();
        let at = if number == "y" { 0 } else { number.parse::<usize>().ok()?.checked_sub(1)? };
        (at < self.shown).then_some(at)
    }

    /// Reads `+2` or `2+`: the proposal, and whether the passage before it is meant.
    fn neighbour(&self, line: &str) -> Option<(usize, bool)> {
        let before = line.strip_prefix('+').map(|number| (number, true));
        let (number, before) = before.or_else(|| line.strip_suffix('+').map(|number| (number, false)))?;
        Some((self.number(number)?, before))
    }

    /// Shows the lines around a proposal.
    fn look_around(&self, at: usize) {
        let Proposal { doc_id, range, .. } = &self.proposals[at];
        let (first, last) = self.proposer.lines_of(doc_id, range);
        tell_line(&Line::default().with_place(doc_id, doc_id));
        for (number, text) in self.proposer.around(doc_id, range, AROUND) {
            let is_own = (first..=last).contains(&number);
            let mark = if is_own { '>' } else { ' ' };
            let look = if is_own { Look::Plain } else { Look::Faint };
            tell_line(&Line::default().with(Look::Faint, format_args!("{mark}{number:>5}  ")).with(look, text));
        }
    }

    /// Finds the places for typed text: `PATH:FROM-TO`, or a text in the documents. Says why if there is none.
    fn typed(&self, text: &str) -> Option<Reference> {
        let lines = text.rsplit_once(':').and_then(|(path, lines)| {
            let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
            self.proposer.lines(path, from.trim().parse().ok()?, to.trim().parse().ok()?)
        });
        let places = lines.map_or_else(|| self.proposer.places(text), |place| vec![place]);
        let characters = text.chars().filter(|c| !c.is_whitespace()).count();
        match places.len() {
            0 => tell("no document contains this text word for word, or has these lines\n"),
            several if several > 1 && characters < SHORTEST => {
                let places = count(several, "place");
                tell(format_args!("`{text}` is in {places}; choose e again and type more of the passage\n"));
            }
            _ => {
                // A text that appears in several places may be found in any of them.
                let any = places.into_iter().map(|place| vec![place]).collect();
                return Some(Reference { found_by: [FoundBy::Typed].into(), ..Reference::any(any) });
            }
        }
        None
    }

    /// Converts typed numbers to references. All numbers separated by commas are needed; of numbers separated by
    /// slashes, any one will do.
    fn chosen(&self, numbers: &str) -> Option<Vec<Reference>> {
        let reference = |any: &str| {
            let any = any.split('/').map(|number| Some(&self.proposals[self.number(number)?]));
            self.proposer.any_of(&any.collect::<Option<Vec<_>>>()?)
        };
        numbers.split(',').map(reference).collect()
    }
}

fn prompt(text: &str, input: &mut dyn BufRead) -> anyhow::Result<Option<String>> {
    tell(text);
    let mut line = String::new();
    Ok((input.read_line(&mut line)? > 0).then(|| line.trim().to_owned()))
}

/// Describes a saved reference: its places, with the start of their texts.
fn describe(proposer: &Proposer, reference: &Reference) -> String {
    let describe = |Place { doc_id, quote }: &Place| {
        let Some(quote) = quote else { return doc_id.clone() };
        let line = proposer.lines_of(doc_id, &quote.range).0;
        format!("{doc_id}:{line} \"{}\"", beginning(&quote.text, START))
    };
    let mut places: Vec<String> = reference.places().take(PLACES).map(describe).collect();
    let more = reference.places().skip(PLACES).count();
    if more > 0 {
        places.push(count(more, "more place"));
    }
    places.join(", or ")
}

fn indented(line: Line) -> Line {
    Line::default().with(Look::Plain, " ".repeat(INDENT)).and(line)
}

/// Returns the lines of a text without their ends.
fn lines_of(text: &str) -> Vec<Range<usize>> {
    let mut at = 0;
    let line = |line: &str| {
        at += line.len();
        at - line.len()..at - line.len() + line.trim_end_matches(['\n', '\r']).len()
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Returns a range of a text with its marks.
fn marked_line(text: &str, range: Range<usize>, marked: &[Range<usize>]) -> Line {
    let mut line = Line::default();
    let mut at = range.start;
    for mark in marked.iter().filter(|mark| mark.start < range.end && range.start < mark.end) {
        let (start, end) = (mark.start.max(at), mark.end.min(range.end));
        line = line.with(Look::Plain, &text[at..start]).with(Look::Mark, &text[start..end]);
        at = end;
    }
    line.with(Look::Plain, &text[at..range.end])
}

/// Returns a text with its marks in lines of whole words, as wide as possible; a single line without a width.
fn wrapped(text: &str, marked: &[Range<usize>], width: Option<usize>) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut open = Line::default();
    let mut from = 0;
    for word in text.split_whitespace() {
        let start = from + text[from..].find(word).unwrap_or_default();
        from = start + word.len();
        let word = marked_line(text, start..from, marked);
        let taken = open.width();
        if taken > 0 && width.is_some_and(|width| taken + 1 + word.width() > width) {
            lines.push(std::mem::take(&mut open));
        }
        let space = if open.width() > 0 { " " } else { "" };
        open = open.with(Look::Plain, space).and(word);
    }
    lines.push(open);
    lines
}
