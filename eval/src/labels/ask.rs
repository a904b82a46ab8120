//! Labels questions that people asked and that have no evidence yet: search proposes passages, and a person says
//! which of them answer the question.
//!
//! # Bias
//!
//! Search does not propose what it does not find. To limit the bias, a proposal is one or a few sentences, never a
//! chunk, because its borders would favour the settings that found it. The person can also enter the text of any
//! other place, or say that the documents do not answer the question. A reference that was chosen from proposals says
//! so ([`Reference::proposed`]), and a verdict that rests on them repeats it.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, BufRead};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use chunkmill::config::Config;
use chunkmill::corpus::Root;
use chunkmill::dataset::Dataset;
use chunkmill::document::Positions;
use chunkmill::embed::{self, Embedder, Role};
use chunkmill::error::{Error, Result};
use chunkmill::job;
use chunkmill::search::{Query as Search, Searcher};
use chunkmill::value::count;
use serde::Deserialize;

use crate::data::files::{TextFile, remove_file, replace};
use crate::labels::set::{
    Corpus, Finder, LabelSet, Place, QUERIES, Query, Quote, REFERENCE, Reference, beginning, corpus_of, optional_id,
    to_jsonl, words,
};
use crate::labels::synth::sentences;

/// File of the questions that the documents do not answer, one per line, in a set's folder.
pub const UNANSWERED: &str = "unanswered.txt";

/// The dataset that search proposes from, in a set's folder.
const WORK: &str = ".chunkmill-label";

/// Number of passages that are proposed for a question.
const PROPOSED: usize = 5;

/// Largest number of sentences in a proposal.
const SENTENCES: usize = 3;

/// A typed text that is in several places needs this many characters, not counting white space. A shorter one is
/// probably a mistake, and its other places have nothing to do with the question.
const SHORTEST: usize = 16;

/// Number of places of a saved reference that are shown.
const SHOWN: usize = 3;

/// Number of characters of a saved text that are shown.
const START: usize = 60;

/// A neighbour of the best sentence is included if its similarity to the question is at least this share of the
/// best one's.
const NEAR: f32 = 0.9;

/// A question without evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Id, unique in its file.
    pub id: String,
    /// The question.
    pub text: String,
}

/// The questions of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct QuestionFile {
    /// Questions that name their evidence.
    pub labelled: Vec<Query>,
    /// Questions that do not.
    pub plain: Vec<OpenQuestion>,
}

/// A question without evidence, written as a JSON object.
#[derive(Deserialize)]
struct Plain {
    #[serde(default, deserialize_with = "optional_id")]
    query_id: Option<String>,
    query: String,
}

impl QuestionFile {
    /// Reads a file of questions with one line of text or one JSON object per line. An object has `query`, and
    /// optionally `query_id` and `references`.
    ///
    /// # Errors
    /// [`Error::Named`] if it cannot be read, [`Error::Setting`] with the file and line for anything that is not a
    /// question.
    pub fn read(path: &Path) -> Result<Self> {
        let text = TextFile::whole(path, "name a file with a question on each line, or a queries.jsonl")?;
        let mut questions = Self::default();
        let mut ids = HashSet::new();
        let lines = text.lines().enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |problem: String| {
                Error::setting(
                    format!("{}:{}", path.display(), at + 1),
                    problem,
                    r#"a line is a question, or {"query", "query_id"?, "references"?}"#.to_owned(),
                )
            };
            let number = format!("q{:03}", questions.labelled.len() + questions.plain.len() + 1);
            let id = if !line.trim_start().starts_with('{') {
                questions.plain.push(OpenQuestion { id: number.clone(), text: line.trim().to_owned() });
                number
            } else if let Ok(query) = Query::parse(line) {
                let id = query.id.clone();
                questions.labelled.push(query);
                id
            } else {
                // A line with references is a label, or is meant to be one.
                if line.contains("\"references\"") {
                    return Err(wrong(Query::parse(line).err().unwrap_or_default()));
                }
                let Plain { query_id, query } = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
                let id = query_id.unwrap_or(number);
                questions.plain.push(OpenQuestion { id: id.clone(), text: query.trim().to_owned() });
                id
            };
            if !ids.insert(id.clone()) {
                return Err(wrong(format!("query_id `{id}` was used before")));
            }
        }
        if ids.is_empty() {
            return Err(Error::setting(path.display().to_string(), "has no question", "write a question on each line"));
        }
        Ok(questions)
    }
}

/// A passage that may answer a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Id of the document.
    pub doc_id: String,
    /// Its byte range there.
    pub range: Range<usize>,
    /// Its first line, from 1.
    pub line: usize,
}

/// Proposes evidence by searching a set's documents.
pub struct Proposer {
    searcher: Searcher,
    embedder: Box<dyn Embedder>,
    corpus: Corpus,
}

impl Proposer {
    /// Indexes the documents of a set. A second call indexes only changes.
    ///
    /// # Errors
    /// Those of the job and of the model.
    pub fn new(set: &Path, config: Config) -> anyhow::Result<Self> {
        let corpus = LabelSet { path: set.to_owned(), queries: Vec::new() }.corpus()?;
        let embedder = config.embedder()?;
        let out = set.join(WORK);
        let job = config.job(vec![Root::new(corpus_of(set))], false);
        job::run(&job, &out.as_path().into(), embedder.as_ref(), &AtomicBool::new(false), &|_| {})?;
        Ok(Self { searcher: Searcher::open(Dataset::open(&out)?, None)?, embedder, corpus })
    }

    /// Returns the passages most similar to a question, best first, without overlaps.
    ///
    /// # Errors
    /// Those of the search and of the model.
    pub fn propose(&self, question: &str) -> Result<Vec<Proposal>> {
        let vector = embed::query(self.embedder.as_ref(), question)?;
        let query = Search { text: question, vector: Some(&vector), k: 4 * PROPOSED, ..Search::default() };
        let mut proposals: Vec<Proposal> = Vec::new();
        for found in self.searcher.search(&query)? {
            let place = self.searcher.place(found.row);
            let Some(text) = self.corpus.texts.get(&place.document.doc_id) else { continue };
            let range = usize::try_from(place.start_byte)
                .and_then(|start| Ok(start..usize::try_from(place.end_byte)?))
                .unwrap_or_default();
            let Some(range) = self.nearest(text, paragraphs(text, range), &vector)? else { continue };
            let line = Positions::new(text).line_at(range.start);
            let proposal = Proposal { doc_id: place.document.doc_id.clone(), range, line };
            let meets = |other: &Proposal| {
                other.doc_id == proposal.doc_id
                    && other.range.start < proposal.range.end
                    && proposal.range.start < other.range.end
            };
            if !proposals.iter().any(meets) {
                proposals.push(proposal);
            }
            if proposals.len() == PROPOSED {
                break;
            }
        }
        Ok(proposals)
    }

    /// Returns the consecutive sentences of a range that are most similar to a question.
    fn nearest(&self, text: &str, range: Range<usize>, question: &[f32]) -> Result<Option<Range<usize>>> {
        let sentences = passages(text, range);
        let near = |range: &Range<usize>| {
            let encoded = self.embedder.encode(&text[range.clone()], Role::Document)?;
            let vector = self.embedder.embed_ids(&[&encoded.ids])?;
            Ok(vector.iter().zip(question).map(|(a, b)| a * b).sum::<f32>())
        };
        let near: Vec<f32> = sentences.iter().map(near).collect::<Result<_>>()?;
        let Some(best) = (0..near.len()).max_by(|&a, &b| near[a].total_cmp(&near[b])) else { return Ok(None) };
        let (mut first, mut last) = (best, best);
        while last - first + 1 < SENTENCES {
            let value = |at: Option<usize>| at.and_then(|at| near.get(at)).copied().unwrap_or(f32::NEG_INFINITY);
            let (before, after) = (value(first.checked_sub(1)), value(Some(last + 1)));
            if before.max(after) < NEAR * near[best] {
                break;
            }
            if before > after { first -= 1 } else { last += 1 }
        }
        Ok(Some(sentences[first].start..sentences[last].end))
    }

    /// Returns every place with this text, ignoring differences in white space.
    fn places(&self, text: &str) -> Vec<Place> {
        let of = |(doc_id, document): (&String, &String)| {
            let quote = |range: Range<usize>| Quote { text: document[range.clone()].to_owned(), range };
            let place = |range| Place { doc_id: doc_id.clone(), quote: Some(quote(range)) };
            Finder::new(document).all(text).into_iter().map(place).collect::<Vec<_>>()
        };
        self.corpus.texts.iter().flat_map(of).collect()
    }

    /// Returns a range of a document's lines as a place.
    fn lines(&self, doc_id: &str, from: usize, to: usize) -> Option<Place> {
        let document = self.corpus.texts.get(doc_id)?;
        let lines = Positions::new(document);
        let start = lines.line(from)?.start;
        let end = lines.line(to).map_or(document.len(), |last| last.end);
        let text = document.get(start..end)?;
        let quote = Quote { range: start..start + text.trim_end().len(), text: text.trim_end().to_owned() };
        (!quote.text.is_empty()).then(|| Place { doc_id: doc_id.to_owned(), quote: Some(quote) })
    }

    /// Describes a saved reference: its places, with the start of their texts.
    fn describe(&self, reference: &Reference) -> String {
        let describe = |Place { doc_id, quote }: &Place| {
            let (Some(text), Some(quote)) = (self.corpus.texts.get(doc_id), quote) else { return doc_id.clone() };
            format!(
                "{doc_id}:{} \"{}\"",
                Positions::new(text).line_at(quote.range.start),
                beginning(&quote.text, START)
            )
        };
        let mut places: Vec<String> = reference.places().take(SHOWN).map(describe).collect();
        let more = reference.places().skip(SHOWN).count();
        if more > 0 {
            places.push(count(more, "more place"));
        }
        places.join(", or ")
    }

    fn text(&self, proposal: &Proposal) -> &str {
        self.corpus.texts.get(&proposal.doc_id).and_then(|text| text.get(proposal.range.clone())).unwrap_or_default()
    }

    fn place(&self, proposal: &Proposal) -> Place {
        let quote = Quote { range: proposal.range.clone(), text: self.text(proposal).to_owned() };
        Place { doc_id: proposal.doc_id.clone(), quote: Some(quote) }
    }
}

/// Extends a chunk's range to the borders of its paragraphs if these are near, because a chunk may end within a
/// sentence.
fn paragraphs(text: &str, range: Range<usize>) -> Range<usize> {
    const REACH: usize = 500;
    const BORDER: &str = "\n\n";
    let before = text.get(..range.start).and_then(|before| before.rfind(BORDER)).map_or(0, |at| at + BORDER.len());
    let after = text.get(range.end..).map(|after| after.find(BORDER).unwrap_or(after.len()));
    let end = range.end + after.filter(|reach| *reach <= REACH).unwrap_or_default();
    let start = if range.start - before.min(range.start) <= REACH { before.min(range.start) } else { range.start };
    start..end
}

/// Returns the sentences of a range, each trimmed. A line feed ends none, except at an empty line and before a line
/// that begins a block: a heading, a list item, a quote, a row of a table or a fence. Each line of a fenced block
/// stands alone. Headings are left out: they say what is asked, not what is answered.
fn passages(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let Some(part) = text.get(range.clone()) else { return Vec::new() };
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut at = range.start;
    let (mut goes_on, mut in_list, mut fence) = (false, false, None);
    for line in part.split_inclusive('\n') {
        let end = at + line.len();
        let own = line.trim();
        let marks = fence_marks(own);
        let begins = |block: &Range<usize>| {
            if own.starts_with('>') {
                !text[block.clone()].trim_start().starts_with('>')
            } else {
                begins_block(own, in_list)
            }
        };
        if let Some(block) = blocks.last_mut().filter(|block| goes_on && !begins(block)) {
            block.end = end;
        } else {
            in_list = (in_list && goes_on) || begins_block(own, true);
            blocks.push(at..end);
        }
        goes_on = !own.is_empty() && marks.is_none() && fence.is_none() && !own.starts_with(['#', '|']);
        fence = if fence.is_some() && fence == marks { None } else { fence.or(marks) };
        at = end;
    }
    let is_text = |block: &Range<usize>| !text[block.clone()].trim_start().starts_with('#');
    let mut found: Vec<Range<usize>> =
        blocks.iter().filter(|block| is_text(block)).flat_map(|block| sentences(text, block)).collect();
    found.retain(|range| text[range.clone()].chars().any(char::is_alphanumeric));
    found
}

/// Returns the mark of a line that opens or closes a fenced block.
fn fence_marks(line: &str) -> Option<char> {
    ['`', '~'].into_iter().find(|&mark| line.len() - line.trim_start_matches(mark).len() >= 3)
}

/// Returns whether a line begins a block other than a quote, even directly under a paragraph. A number begins a list
/// there if it is 1; within a list, any number but a year begins an item.
fn begins_block(line: &str, in_list: bool) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &line[..line.len() - rest.len()];
    let is_item = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t']);
    line.starts_with('|')
        || is_item(line.trim_start_matches('#')) && line.starts_with('#')
        || fence_marks(line).is_some()
        || line.strip_prefix(['-', '*', '+']).is_some_and(is_item)
        || ['-', '=', '*', '_'].iter().any(|&mark| line.len() > 2 && line.trim_matches(mark).is_empty())
        || (number == "1" || (in_list && (1..=3).contains(&number.len())))
            && rest.strip_prefix(['.', ')']).is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// The result of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionOutcome {
    /// Number of questions that now have evidence.
    pub labelled: usize,
    /// Number of questions that the documents do not answer.
    pub unanswered: usize,
    /// Number of questions left for later.
    pub open: usize,
    /// Whether the input ended before the first answer.
    pub no_answer: bool,
}

/// A person's answer about a question.
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

const HELP: &str = "y or a number: this one answers it · 1,3: both are needed · 1/3: either one will do · \
                    e: type the text or PATH:FROM-TO · n: the documents do not answer it · s: later · u: undo the last answer · \
                    q: stop";

/// Asks a person about each question that has no answer yet. Prompts are passed to `say`, and answers are read as
/// lines. Every answer is written to the set at once, so an interrupted session can be resumed.
///
/// # Errors
/// Those of the search, and [`Error::Io`] if the set cannot be written. An answer that cannot be understood is not
/// an error; the question is asked again.
pub fn session(
    proposer: &Proposer,
    questions: &QuestionFile,
    set: &Path,
    input: &mut dyn BufRead,
    say: &dyn Fn(&str),
) -> anyhow::Result<SessionOutcome> {
    let mut known: BTreeMap<String, Query> = if set.join(QUERIES).is_file() {
        LabelSet::read(set)?.queries.into_iter().map(|query| (query.id.clone(), query)).collect()
    } else {
        BTreeMap::new()
    };
    for query in &questions.labelled {
        let mut query = query.clone();
        query
            .locate(&proposer.corpus)
            .map_err(|problem| Error::setting(format!("question `{}`", query.id), problem, REFERENCE))?;
        known.insert(query.id.clone(), query);
    }
    let mut unanswered: Vec<String> = match fs::read_to_string(set.join(UNANSWERED)) {
        Ok(text) => text.lines().map(str::to_owned).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::io("read", set.join(UNANSWERED))(error).into()),
    };
    let open: Vec<&OpenQuestion> = questions.plain.iter().filter(|asked| is_open(asked, &known, &unanswered)).collect();
    say(&format!("{HELP}\n"));
    let (mut at, mut no_answer) = (0, false);
    while let Some(asked) = open.get(at) {
        say(&format!("\n[{}/{}] {}\n", at + 1, open.len(), asked.text));
        let proposals = proposer.propose(&asked.text)?;
        for (number, proposal) in (1..).zip(&proposals) {
            let text = words(proposer.text(proposal));
            say(&format!("  {number}  {}:{}\n     {text}\n", proposal.doc_id, proposal.line));
        }
        match ask(proposer, &proposals, input, say)? {
            Decision::Evidence(references) => {
                let mut id = asked.id.clone();
                while known.contains_key(&id) {
                    id.push('\'');
                }
                let (text, tags) = (asked.text.clone(), Vec::new());
                let saved: Vec<String> =
                    references.iter().map(|saved| format!("saved: {}\n", proposer.describe(saved))).collect();
                known.insert(id.clone(), Query { id, text, references, grade: 1.0, tags });
                save(set, &known, &unanswered)?;
                say(&saved.concat());
            }
            Decision::Unanswered => {
                unanswered.push(asked.text.clone());
                save(set, &known, &unanswered)?;
            }
            Decision::Later => {}
            Decision::Undo => {
                if let Some(last) = at.checked_sub(1) {
                    at = last;
                    known.retain(|_, query| query.text != open[at].text);
                    unanswered.retain(|text| *text != open[at].text);
                    save(set, &known, &unanswered)?;
                } else {
                    say("there is no answer to undo\n");
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
    // Labels from the file are part of the set even if nothing was asked.
    if !known.is_empty() {
        save(set, &known, &unanswered)?;
    }
    let open = open.into_iter().filter(|asked| is_open(asked, &known, &unanswered)).count();
    Ok(SessionOutcome { labelled: known.len(), unanswered: unanswered.len(), open, no_answer })
}

/// Returns whether a question has no answer yet.
fn is_open(asked: &OpenQuestion, known: &BTreeMap<String, Query>, unanswered: &[String]) -> bool {
    !known.values().any(|query| query.text == asked.text) && !unanswered.contains(&asked.text)
}

/// Writes the answers to a set. A file that would be empty is removed.
fn save(set: &Path, known: &BTreeMap<String, Query>, unanswered: &[String]) -> Result<()> {
    let queries: Vec<Query> = known.values().cloned().collect();
    let unanswered: String = unanswered.iter().flat_map(|text| [text, "\n"]).collect();
    for (name, text) in [(QUERIES, to_jsonl(&queries)?), (UNANSWERED, unanswered)] {
        let file = set.join(name);
        if text.is_empty() { remove_file(&file)? } else { replace(&file, text.as_bytes())? }
    }
    Ok(())
}

/// Asks a person about a question until the answer is understood.
fn ask(
    proposer: &Proposer,
    proposals: &[Proposal],
    input: &mut dyn BufRead,
    say: &dyn Fn(&str),
) -> anyhow::Result<Decision> {
    loop {
        let Some(line) = prompt("> ", input, say)? else { return Ok(Decision::End) };
        match line.as_str() {
            "n" => return Ok(Decision::Unanswered),
            "s" => return Ok(Decision::Later),
            "u" => return Ok(Decision::Undo),
            "q" => return Ok(Decision::Stop),
            "e" => {
                let Some(text) = prompt("text, or PATH:FROM-TO> ", input, say)? else { return Ok(Decision::End) };
                let places = given(proposer, &text);
                let characters = text.chars().filter(|c| !c.is_whitespace()).count();
                match places.len() {
                    0 => say("no document contains this text word for word, or has these lines\n"),
                    several if several > 1 && characters < SHORTEST => {
                        let places = count(several, "place");
                        say(&format!("`{text}` is in {places}; choose e again and type more of the passage\n"));
                    }
                    _ => {
                        // A text that appears in several places may be found in any of them.
                        let any = places.into_iter().map(|place| vec![place]).collect();
                        return Ok(Decision::Evidence(vec![Reference::any(any)]));
                    }
                }
            }
            "" => say(&format!("{HELP}\n")),
            numbers => match chosen(proposer, proposals, numbers) {
                Some(references) => return Ok(Decision::Evidence(references)),
                None => say(&format!("`{numbers}` is not one of: {HELP}\n")),
            },
        }
    }
}

fn prompt(text: &str, input: &mut dyn BufRead, say: &dyn Fn(&str)) -> anyhow::Result<Option<String>> {
    say(text);
    let mut line = String::new();
    Ok((input.read_line(&mut line)? > 0).then(|| line.trim().to_owned()))
}

/// Finds the places for typed text: `PATH:FROM-TO`, or a text in the documents.
fn given(proposer: &Proposer, text: &str) -> Vec<Place> {
    let lines = text.rsplit_once(':').and_then(|(path, lines)| {
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        proposer.lines(path, from.trim().parse().ok()?, to.trim().parse().ok()?)
    });
    lines.map_or_else(|| proposer.places(text), |place| vec![place])
}

/// Converts typed numbers to references. All numbers separated by commas are needed; of numbers separated by
/// slashes, any one will do.
fn chosen(proposer: &Proposer, proposals: &[Proposal], numbers: &str) -> Option<Vec<Reference>> {
    let place = |number: &str| {
        let at = if number == "y" { 0 } else { number.trim().parse::<usize>().ok()?.checked_sub(1)? };
        Some(vec![proposer.place(proposals.get(at)?)])
    };
    let reference = |any: &str| {
        let any = any.split('/').map(place).collect::<Option<Vec<_>>>()?;
        Some(Reference { proposed: true, ..Reference::any(any) })
    };
    numbers.split(',').map(reference).collect()
}
