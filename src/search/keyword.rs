//! Keyword search: BM25 over content, headings, tags and aliases, in an index of tantivy. The headings are those
//! that a chunk starts under and those that start in it.
//!
//! A query is words, not a language: whatever is no word only separates them, so no query is a
//! syntax error. A chunk's score is the sum over fields of the field's weight times its BM25
//! (k1 = 1.2, b = 0.75, lengths rounded as Lucene rounds them), each word of the query counted once.
//!
//! The index is one segment whose documents are the rows of the dataset in their order, written by
//! one thread: scores depend on nothing but the dataset. Neither texts nor positions are in it.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use icu_normalizer::ComposingNormalizerBorrowed;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::Compressor;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};
use tantivy::{DocId, Index, IndexSettings, ReloadPolicy, Score, SegmentOrdinal, SegmentReader, TantivyDocument, Term};
use unicode_segmentation::UnicodeSegmentation;

use super::cache;
use super::rows::{Columns, Rows, texts_of};
use super::settings::FieldWeights;
use super::top::{Scored, Top};
use crate::error::{Error, Result};
use crate::store::{Dataset, Table};

/// What is searched, in the order of [`FieldWeights::values`].
const FIELDS: [&str; 4] = ["content", "headings", "tags", "aliases"];

/// Raise it when the same dataset gives another index: other words, other fields.
const VERSION: u32 = 2;

/// Longer words are not searched for: they are encoded data.
const LONGEST_WORD: usize = 128;

/// Name of our tokenizer in the index.
const WORDS: &str = "words";

/// What tantivy is told about memory. It does not bound a single segment.
const MEMORY: usize = 64 << 20;

/// The index of a dataset.
pub(super) struct Keywords {
    searcher: tantivy::Searcher,
    fields: [Field; FIELDS.len()],
}

impl std::fmt::Debug for Keywords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keywords").field("rows", &self.searcher.num_docs()).finish_non_exhaustive()
    }
}

impl Keywords {
    /// The index from the cache in `folder`, or built from the dataset and left there.
    pub(super) fn load(dataset: &Dataset, rows: &Rows, folder: Option<&Path>) -> Result<Self> {
        let cached = folder.and_then(|folder| cache::read(folder, VERSION, &dataset.id()));
        if let Some(index) = cached.and_then(|directory| Self::open(directory, rows).ok()) {
            return Ok(index);
        }
        let directory = build(dataset)?;
        if let Some(folder) = folder {
            cache::write(folder, VERSION, &dataset.id(), &directory);
        }
        Self::open(directory, rows).map_err(|problem| failed(dataset, &problem))
    }

    fn open(directory: RamDirectory, rows: &Rows) -> Result<Self, String> {
        let index = Index::open(directory).map_err(|error| error.to_string())?;
        index.tokenizers().register(WORDS, Words);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let searcher = reader.map_err(|error| error.to_string())?.searcher();
        if searcher.num_docs() != rows.len() as u64 || searcher.segment_readers().len() > 1 {
            return Err("the index is of another dataset".to_owned());
        }
        let field = |name: &str| index.schema().get_field(name).map_err(|error| error.to_string());
        let [content, headings, tags, aliases] = FIELDS.map(field);
        Ok(Self { searcher, fields: [content?, headings?, tags?, aliases?] })
    }

    /// The `k` best rows for the words of `text`, of those that `mask` lets through. Rows without
    /// any of the words are not among them.
    pub(super) fn best(
        &self,
        dataset: &Dataset,
        rows: &Arc<Rows>,
        text: &str,
        weights: &FieldWeights,
        k: usize,
        mask: Option<&Arc<[bool]>>,
    ) -> Result<Vec<Scored>> {
        let words: BTreeSet<String> = words(text).into_iter().collect();
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for word in &words {
            for (&field, weight) in self.fields.iter().zip(weights.values()) {
                if weight > 0.0 {
                    let term = TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs);
                    clauses.push((Occur::Should, Box::new(BoostQuery::new(Box::new(term), weight))));
                }
            }
        }
        let collect = Collect { k, rows: Arc::clone(rows), mask: mask.cloned() };
        let found = self.searcher.search(&BooleanQuery::new(clauses), &collect);
        found.map_err(|error| failed(dataset, &error.to_string()))
    }
}

/// The words of a text: Unicode's words in compatibility form and lower case, cut at ASCII
/// punctuation inside them; an ideograph is a word of its own.
fn words(text: &str) -> Vec<String> {
    let text = ComposingNormalizerBorrowed::new_nfkc().normalize(text).to_lowercase();
    let between = |c: char| c == '\u{2019}' || (c.is_ascii() && !c.is_ascii_alphanumeric());
    text.unicode_words()
        .flat_map(|word| word.split(between))
        .filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD)
        .map(str::to_owned)
        .collect()
}

/// Writes the index of a dataset into memory.
fn build(dataset: &Dataset) -> Result<RamDirectory> {
    let failed = |error: tantivy::TantivyError| failed(dataset, &error.to_string());
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default().set_tokenizer(WORDS).set_index_option(IndexRecordOption::WithFreqs);
    let options = TextOptions::default().set_indexing_options(indexing);
    let [content, headings, tags, aliases] = FIELDS.map(|name| schema.add_text_field(name, options.clone()));
    let tokenizers = TokenizerManager::new();
    tokenizers.register(WORDS, Words);
    let settings = IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
    let directory = RamDirectory::create();
    let mut writer = Index::builder()
        .schema(schema.build())
        .settings(settings)
        .tokenizers(tokenizers)
        .single_segment_index_writer::<TantivyDocument>(directory.clone(), MEMORY)
        .map_err(failed)?;
    for file in dataset.files(Table::Chunks) {
        for batch in dataset.read(file, &["content", "heading_path", "headings", "tags", "aliases"], None)? {
            let batch = Columns { dataset, file, batch: batch? };
            let contents = batch.text("content")?;
            let [above, inside, tagged, called] =
                ["heading_path", "headings", "tags", "aliases"].map(|name| batch.lists(name));
            let (above, inside, tagged, called) = (above?, inside?, tagged?, called?);
            let damaged = || batch.damaged("a list is not one of texts");
            for at in 0..batch.batch.num_rows() {
                let mut titles = texts_of(&above.value(at)).ok_or_else(damaged)?;
                titles.extend(titles_of(&inside.value(at)).ok_or_else(damaged)?);
                // The first heading of most chunks is the last of its path.
                let mut seen = HashSet::new();
                titles.retain(|title| seen.insert(title.clone()));
                let mut document = TantivyDocument::new();
                document.add_text(content, contents.value(at));
                document.add_text(headings, titles.join("\n"));
                for (field, list) in [(tags, &tagged), (aliases, &called)] {
                    document.add_text(field, texts_of(&list.value(at)).ok_or_else(damaged)?.join("\n"));
                }
                writer.add_document(document).map_err(failed)?;
            }
        }
    }
    writer.finalize().map_err(failed)?;
    Ok(directory)
}

/// The titles in a list of headings.
fn titles_of(list: &ArrayRef) -> Option<Vec<String>> {
    texts_of(list.as_struct_opt()?.column_by_name("title")?)
}

fn failed(dataset: &Dataset, problem: &str) -> Error {
    Error::Dataset {
        path: dataset.root().path().to_owned(),
        problem: format!("no keyword index can be made of it: {problem}"),
        help: "search it with --mode vector".to_owned(),
    }
}

/// Cuts a text into [`words`] for tantivy.
#[derive(Clone)]
struct Words;

struct Stream {
    words: std::vec::IntoIter<String>,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = Stream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream {
        Stream { words: words(text).into_iter(), token: Token::default() }
    }
}

impl TokenStream for Stream {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.next() else { return false };
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text = word;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Collects the best rows: a document of the index has the number of its row.
struct Collect {
    k: usize,
    rows: Arc<Rows>,
    mask: Option<Arc<[bool]>>,
}

struct CollectSegment {
    top: Top,
    rows: Arc<Rows>,
    mask: Option<Arc<[bool]>>,
}

impl Collector for Collect {
    type Fruit = Vec<Scored>;
    type Child = CollectSegment;

    fn for_segment(&self, _: SegmentOrdinal, _: &SegmentReader) -> tantivy::Result<CollectSegment> {
        Ok(CollectSegment { top: Top::new(self.k), rows: Arc::clone(&self.rows), mask: self.mask.clone() })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, segments: Vec<Vec<Scored>>) -> tantivy::Result<Vec<Scored>> {
        Ok(segments.into_iter().flatten().collect())
    }
}

impl SegmentCollector for CollectSegment {
    type Fruit = Vec<Scored>;

    fn collect(&mut self, doc: DocId, score: Score) {
        let (row, score) = (doc as usize, f64::from(score));
        if self.top.wants(score) && self.mask.as_ref().is_none_or(|mask| mask[row]) {
            self.top.push(self.rows.scored(row, score));
        }
    }

    fn harvest(self) -> Vec<Scored> {
        self.top.into_best()
    }
}
