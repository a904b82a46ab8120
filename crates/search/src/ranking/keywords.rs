//! Keyword search: BM25 of every chunk and of every document, in two tantivy indexes.
//!
//! A question is a set of words, not a query language: all other characters only separate words, so no question is
//! a syntax error. The score of a chunk or a document is the sum over its fields of the field's weight times its
//! BM25 (k1 = 1.2, b = 0.75, lengths rounded as in Lucene). Each word of the question counts once. A chunk has its
//! content, the headings above and inside it, and the tags and aliases of its document. A document has the same
//! fields for its whole text, plus its title and the words of its path.
//!
//! Each index is one segment, written by one thread in the order of the dataset, so scores depend only on the
//! dataset. An index contains neither texts nor positions.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use arrow::array::{ArrayRef, AsArray};
use chunkmill_base::error::{Error, Result};
use chunkmill_dataset::dataset::{Dataset, Table};
use chunkmill_text::document::without_data_urls;
use serde_json::Value as Json;
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::directory::RamDirectory;
use tantivy::query::{BooleanQuery, BoostQuery, DisjunctionMaxQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::Compressor;
use tantivy::{
    DocId, Index, IndexSettings, ReloadPolicy, Score, SegmentOrdinal, SegmentReader, SingleSegmentIndexWriter,
    TantivyDocument, Term,
};
use unicode_segmentation::UnicodeSegmentation;

use super::batch::{Columns, texts_of};
use super::cache::{Cache, IndexDirectory, Sections, insert_index};
use super::document::DocumentInfo;
use super::language::{LEAST, Language, LanguageSetting, SAMPLE, TextLanguage};
use super::rows::Rows;
use super::settings::FieldWeights;
use super::words::{Analyser, Forms, of_path};

/// Searchable fields, in the order of [`FieldWeights::values`]. A chunk has the first four.
const FIELDS: [&str; 6] = ["content", "headings", "tags", "aliases", "title", "path"];

/// Name of the tantivy tokenizer that leaves words as they are.
const WORDS: &str = "whitespace";

/// Memory budget for tantivy in bytes. It does not limit a single segment.
const MEMORY: usize = 64 << 20;

/// Names of the indexes and sections in the cached file.
const CHUNKS: &str = "chunks";
const DOCUMENTS: &str = "documents";
const LANGUAGES: &str = "languages";
const ENGLISH: &str = "english";

/// The keyword indexes of a dataset.
pub(super) struct Keywords {
    chunks: Open,
    documents: Open,
    /// Document of each entry in the index of documents. The index contains the documents with chunks, in the
    /// order of their chunks.
    order: Vec<u32>,
    /// Languages of the documents, most frequent first. `None` groups documents that are not stemmed.
    languages: Vec<Option<Language>>,
    /// Whether at least half of the documents are in English, as far as their language is known.
    english: bool,
}

/// An open index.
struct Open {
    searcher: tantivy::Searcher,
    fields: [Field; FIELDS.len()],
}

impl std::fmt::Debug for Keywords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keywords").field("rows", &self.chunks.searcher.num_docs()).finish_non_exhaustive()
    }
}

impl Keywords {
    /// Opens the indexes, from the cache or else built from the dataset.
    pub(super) fn load(dataset: &Dataset, rows: &Rows, language: LanguageSetting, cache: &Cache) -> Result<Self> {
        let open = |sections: &Sections| Self::open(sections, rows).map_err(|problem| failed(dataset, &problem));
        cache.load(&format!("keywords-{language}"), || build(dataset, rows, language), open)
    }

    fn open(sections: &Sections, rows: &Rows) -> Result<Self, String> {
        let mut order = rows.docs().to_vec();
        order.dedup();
        let chunks = Open::new(IndexDirectory::new(sections, CHUNKS), rows.len())?;
        let documents = Open::new(IndexDirectory::new(sections, DOCUMENTS), order.len())?;
        let languages = sections.text(LANGUAGES).ok_or("the languages are missing")?;
        let languages = languages.split(' ').map(Language::named).collect();
        let english = sections.text(ENGLISH).ok_or("the share of English is missing")? == true.to_string();
        Ok(Self { chunks, documents, order, languages, english })
    }

    /// Computes the score of every row for the words of a question: its own, plus `document` times that of its
    /// document.
    pub(super) fn scores(
        &self,
        dataset: &Dataset,
        rows: &Rows,
        text: &str,
        weights: &FieldWeights,
        document: f32,
    ) -> Result<Vec<f32>> {
        let words = Analyser::default().question(text, &self.languages);
        let mut scores = vec![0.0; rows.len()];
        let failed = |error: tantivy::TantivyError| failed(dataset, &error.to_string());
        for (row, score) in self.chunks.scores(&words, &weights.values()[..4]).map_err(failed)? {
            scores[row as usize] += score;
        }
        if document > 0.0 {
            let mut of_documents = vec![0.0; rows.documents().len()];
            for (at, score) in self.documents.scores(&words, &weights.values()).map_err(failed)? {
                of_documents[self.order[at as usize] as usize] = document * score;
            }
            rows.docs().iter().zip(&mut scores).for_each(|(doc, score)| *score += of_documents[*doc as usize]);
        }
        Ok(scores)
    }

    /// Returns whether at least half of the documents are in English, as far as their language is known.
    pub(super) fn english(&self) -> bool {
        self.english
    }

    /// Returns the words of a question that no document has, as they are written. Stop words do not count.
    pub(super) fn unknown(&self, dataset: &Dataset, text: &str) -> Result<Vec<String>> {
        let mut analyser = Analyser::default();
        let mut forms = |text: &str| analyser.question(text, &self.languages).into_iter().flatten().collect();
        let asked: BTreeSet<String> = forms(text);
        let mut unknown: Vec<String> = Vec::new();
        for word in text.unicode_words() {
            let forms: BTreeSet<String> = forms(word);
            let is_known = || forms.iter().try_fold(false, |known, form| Ok(known || self.documents.contains(form)?));
            let is_new = !forms.is_empty() && forms.is_subset(&asked) && !unknown.iter().any(|known| known == word);
            if is_new && !is_known().map_err(|error: tantivy::TantivyError| failed(dataset, &error.to_string()))? {
                unknown.push(word.to_owned());
            }
        }
        Ok(unknown)
    }
}

impl Open {
    fn new(directory: IndexDirectory, len: usize) -> Result<Self, String> {
        let index = Index::open(directory).map_err(|error| error.to_string())?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let searcher = reader.map_err(|error| error.to_string())?.searcher();
        if searcher.num_docs() != len as u64 || searcher.segment_readers().len() > 1 {
            return Err("the index belongs to another dataset".to_owned());
        }
        let fields: Result<Vec<Field>, _> = FIELDS.iter().map(|name| index.schema().get_field(name)).collect();
        let fields = fields.map_err(|error| error.to_string())?.try_into();
        Ok(Self { searcher, fields: fields.map_err(|_| "the index has other fields".to_owned())? })
    }

    /// Returns whether any entry contains a word in this form.
    fn contains(&self, form: &str) -> tantivy::Result<bool> {
        for &field in &self.fields {
            if self.searcher.doc_freq(&Term::from_field_text(field, form))? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the entries that contain any of the words, with their scores. Of the forms of a word, the one with the
    /// highest score counts.
    fn scores(&self, words: &BTreeSet<Forms>, weights: &[f32]) -> tantivy::Result<Vec<(DocId, Score)>> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for forms in words {
            for (&field, &weight) in self.fields.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                let term = |form: &String| -> Box<dyn Query> {
                    let term = TermQuery::new(Term::from_field_text(field, form), IndexRecordOption::WithFreqs);
                    Box::new(BoostQuery::new(Box::new(term), weight))
                };
                let mut terms: Vec<Box<dyn Query>> = forms.iter().map(term).collect();
                let any =
                    if terms.len() > 1 { Some(Box::new(DisjunctionMaxQuery::new(terms)) as _) } else { terms.pop() };
                clauses.extend(any.map(|query| (Occur::Should, query)));
            }
        }
        self.searcher.search(&BooleanQuery::new(clauses), &All)
    }
}

/// Builds the indexes of a dataset in memory.
fn build(dataset: &Dataset, rows: &Rows, setting: LanguageSetting) -> Result<Sections> {
    let failed = |error: tantivy::TantivyError| failed(dataset, &error.to_string());
    let (languages, english) = languages(dataset, rows, setting)?;
    let mut analyser = Analyser::default();
    let (mut chunks, mut documents) = (Writer::new().map_err(failed)?, Writer::new().map_err(failed)?);
    for (index, file) in dataset.files(Table::Chunks).enumerate() {
        let mut of_file = rows.of_file(index);
        // The chunks of a document are consecutive.
        let mut whole: Option<Whole> = None;
        let columns = ["content", "heading_path", "headings", "tags", "aliases", "prefix_len"];
        for batch in dataset.read(file, &columns, None)? {
            let batch = Columns::of_file(dataset, file, batch?);
            let (contents, prefixes) = (batch.text("content")?, batch.ints("prefix_len")?);
            let [above, inside, tagged, called] =
                ["heading_path", "headings", "tags", "aliases"].map(|name| batch.lists(name));
            let (above, inside, tagged, called) = (above?, inside?, tagged?, called?);
            let damaged = || batch.damaged("a list does not contain text");
            for (at, row) in (0..batch.batch.num_rows()).zip(of_file.by_ref()) {
                let doc = rows.docs()[row];
                let mut words = |text: &str| analyser.words(text, languages[doc as usize]).join(" ");
                if whole.as_ref().is_none_or(|whole| whole.doc != doc) {
                    let DocumentInfo { title, path, .. } = &**rows.document(doc);
                    let [title, path] = [title.as_deref().unwrap_or_default(), &of_path(path)].map(&mut words);
                    if let Some(last) = whole.replace(Whole::new(doc, title, path)) {
                        last.write(&mut documents).map_err(failed)?;
                    }
                }
                let titles = titles_of(&inside.value(at)).ok_or_else(damaged)?;
                let mut headings = texts_of(&above.value(at)).ok_or_else(damaged)?;
                headings.extend(titles.iter().cloned());
                // In most chunks, the first heading is also the last one in the heading path.
                let mut seen = HashSet::new();
                headings.retain(|title| seen.insert(title.clone()));
                let content = contents.value(at);
                let fields = [
                    words(&without_data_urls(content)),
                    words(&headings.join("\n")),
                    words(&texts_of(&tagged.value(at)).ok_or_else(damaged)?.join("\n")),
                    words(&texts_of(&called.value(at)).ok_or_else(damaged)?.join("\n")),
                ];
                // A document contains its text once, whatever its chunks repeat.
                let repeated = usize::try_from(prefixes.value(at)).unwrap_or_default();
                let own = content.get(repeated..).filter(|_| repeated > 0);
                let own = own.map(|own| words(&without_data_urls(own)));
                if let Some(whole) = &mut whole {
                    whole.add(own.as_ref().unwrap_or(&fields[0]), &words(&titles.join("\n")), &fields);
                }
                let [content, headings, tags, aliases] = fields.each_ref().map(String::as_str);
                chunks.add([content, headings, tags, aliases, "", ""]).map_err(failed)?;
            }
        }
        if let Some(last) = whole {
            last.write(&mut documents).map_err(failed)?;
        }
    }
    let spoken = by_frequency(languages.into_iter());
    let spoken: Vec<&str> = spoken.into_iter().map(|language| language.map_or("none", Language::code)).collect();
    let mut sections = Sections::default();
    for (name, index) in [(CHUNKS, chunks), (DOCUMENTS, documents)] {
        let index = index.finish().map_err(failed)?;
        insert_index(&mut sections, name, &index).map_err(|error| failed(error.into()))?;
    }
    sections.insert(LANGUAGES, spoken.join(" ").into_bytes());
    sections.insert(ENGLISH, english.to_string().into_bytes());
    Ok(sections)
}

/// A document, assembled from its chunks.
struct Whole {
    doc: u32,
    /// Words of each field.
    fields: [String; FIELDS.len()],
}

impl Whole {
    fn new(doc: u32, title: String, path: String) -> Self {
        Self { doc, fields: [String::new(), String::new(), String::new(), String::new(), title, path] }
    }

    /// Adds a chunk: its own content, the headings inside it, and its fields, whose tags and aliases are those of
    /// the document.
    fn add(&mut self, own: &str, titles: &str, [.., tags, aliases]: &[String; 4]) {
        for (field, more) in self.fields.iter_mut().zip([own, titles]) {
            field.push(' ');
            field.push_str(more);
        }
        self.fields[2].clone_from(tags);
        self.fields[3].clone_from(aliases);
    }

    fn write(&self, to: &mut Writer) -> tantivy::Result<()> {
        to.add(self.fields.each_ref().map(String::as_str))
    }
}

/// Returns the language of each document: the one it names, otherwise the one detected from its words, otherwise
/// that of most documents. If all documents are too short for detection, their language is detected from their
/// combined text. Also returns whether at least half of the documents are in English, as far as their language is known.
fn languages(dataset: &Dataset, rows: &Rows, setting: LanguageSetting) -> Result<(Vec<Option<Language>>, bool)> {
    let count = rows.documents().len();
    match setting {
        LanguageSetting::None => return Ok((vec![None; count], true)),
        LanguageSetting::Fixed(language) => return Ok((vec![Some(language); count], language.is_english())),
        LanguageSetting::Auto => {}
    }
    let mut found = vec![TextLanguage::Unknown; count];
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read(file, &["doc_id", "metadata"], None)? {
            let batch = Columns::of_file(dataset, file, batch?);
            let (ids, metadata) = (batch.text("doc_id")?, batch.text("metadata")?);
            for (id, metadata) in ids.iter().flatten().zip(metadata.iter()) {
                let said = metadata.and_then(said_in).map_or(TextLanguage::Unknown, |name| Language::said(&name));
                if let Some(doc) = rows.find(id) {
                    found[doc as usize] = said;
                }
            }
        }
    }
    let mut sample = (u32::MAX, String::new());
    let mut short = String::new();
    let mut detect = |(doc, text): (u32, String)| {
        if let Some(found) = found.get_mut(doc as usize).filter(|found| **found == TextLanguage::Unknown) {
            if text.len() >= LEAST {
                *found = Language::of(&text);
            } else if short.len() < SAMPLE {
                short += &text;
            }
        }
    };
    for (index, file) in dataset.files(Table::Chunks).enumerate() {
        let mut of_file = rows.of_file(index);
        for batch in dataset.read_texts(file, ["content"])? {
            let [contents] = batch?;
            for (content, row) in contents.iter().flatten().zip(of_file.by_ref()) {
                let doc = rows.docs()[row];
                if sample.0 != doc {
                    detect(std::mem::replace(&mut sample, (doc, String::new())));
                }
                if sample.1.len() < SAMPLE {
                    sample.1 += content;
                    sample.1.push('\n');
                }
            }
        }
    }
    detect(sample);
    let known = |spoken| if let TextLanguage::Known(language) = spoken { Some(language) } else { None };
    let most = by_frequency(found.iter().copied().filter_map(known)).first().copied();
    let most = most.or_else(|| known(Language::of(&short)));
    let language = |spoken| match spoken {
        TextLanguage::Unknown => most,
        TextLanguage::Other => None,
        TextLanguage::Known(language) => Some(language),
    };
    let told = || found.iter().filter(|language| **language != TextLanguage::Unknown);
    let english = told().filter(|language| known(**language).is_some_and(Language::is_english)).count();
    let english = english * 2 >= told().count();
    Ok((found.into_iter().map(language).collect(), english))
}

/// Returns each language once, most frequent first.
fn by_frequency<T: Ord + Copy>(languages: impl Iterator<Item = T>) -> Vec<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for language in languages {
        *counts.entry(language).or_default() += 1;
    }
    let mut languages: Vec<(T, usize)> = counts.into_iter().collect();
    languages.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    languages.into_iter().map(|(language, _)| language).collect()
}

/// Returns the language that the front matter names.
fn said_in(metadata: &str) -> Option<String> {
    let metadata: serde_json::Map<String, Json> = serde_json::from_str(metadata).ok()?;
    ["lang", "language", "locale"].iter().find_map(|name| {
        let value = metadata.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?.1;
        // A page in several languages names its own first.
        value.as_str().or_else(|| value.get(0)?.as_str()).map(str::to_owned)
    })
}

/// A writer for one index.
struct Writer {
    segment: SingleSegmentIndexWriter,
    directory: RamDirectory,
    fields: [Field; FIELDS.len()],
}

impl Writer {
    fn new() -> tantivy::Result<Self> {
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default().set_tokenizer(WORDS).set_index_option(IndexRecordOption::WithFreqs);
        let options = TextOptions::default().set_indexing_options(indexing);
        let fields = FIELDS.map(|name| schema.add_text_field(name, options.clone()));
        let settings = IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
        let directory = RamDirectory::create();
        let segment = Index::builder()
            .schema(schema.build())
            .settings(settings)
            .single_segment_index_writer::<TantivyDocument>(directory.clone(), MEMORY)?;
        Ok(Self { segment, directory, fields })
    }

    /// Adds an entry with the words of its fields.
    fn add(&mut self, words: [&str; FIELDS.len()]) -> tantivy::Result<()> {
        let mut document = TantivyDocument::new();
        for (field, words) in self.fields.into_iter().zip(words).filter(|(_, words)| !words.is_empty()) {
            document.add_text(field, words);
        }
        self.segment.add_document(document)
    }

    fn finish(self) -> tantivy::Result<RamDirectory> {
        self.segment.finalize()?;
        Ok(self.directory)
    }
}

/// Returns the titles in a list of headings.
fn titles_of(list: &ArrayRef) -> Option<Vec<String>> {
    texts_of(list.as_struct_opt()?.column_by_name("title")?)
}

fn failed(dataset: &Dataset, problem: &str) -> Error {
    Error::Dataset {
        path: dataset.root().path().to_owned(),
        problem: format!("its keyword index cannot be built: {problem}"),
        help: "search it with --mode vector".to_owned(),
    }
}

/// A collector of all matches with their scores.
struct All;

impl Collector for All {
    type Fruit = Vec<(DocId, Score)>;
    type Child = AllOfSegment;

    fn for_segment(&self, _: SegmentOrdinal, _: &SegmentReader) -> tantivy::Result<AllOfSegment> {
        Ok(AllOfSegment(Vec::new()))
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, segments: Vec<Vec<(DocId, Score)>>) -> tantivy::Result<Vec<(DocId, Score)>> {
        Ok(segments.into_iter().flatten().collect())
    }
}

struct AllOfSegment(Vec<(DocId, Score)>);

impl SegmentCollector for AllOfSegment {
    type Fruit = Vec<(DocId, Score)>;

    fn collect(&mut self, doc: DocId, score: Score) {
        self.0.push((doc, score));
    }

    fn harvest(self) -> Vec<(DocId, Score)> {
        self.0
    }
}
