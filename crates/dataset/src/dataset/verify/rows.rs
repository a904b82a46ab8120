//! Whether the rows of a part are consistent: documents first, then their chunks against them.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use arrow::array::{Array, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Int64Type};
use chunkmill_base::value::count;
use chunkmill_embed::{EmbeddingType, Representation, SparseModel, SparseVector, ZERO_VECTOR, restore};
use chunkmill_text::document::{DEFAULT_COLLECTION, ReadSettings, line};

use super::super::row_hash::{ROW_HASH, row_hashes};
use super::super::{
    BoilerplateRow, FileEntry, Manifest, SPARSE, boilerplate_rows, file_of, flagged, sparse_vectors, vectors,
};
use super::report::{Check, Findings};
use crate::corpus::{self, Source};

/// Names a row for people, counting from 1.
pub(super) fn at(row: usize, what: &str, id: &str) -> String {
    format!("row {}, {what} `{id}`", row + 1)
}

/// Returns a hash that represents a text in memory.
pub(super) fn hash(text: &str) -> u128 {
    let mut first = [0; 16];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    u128::from_le_bytes(first)
}

/// Hashes of a chunk's id and its document's id: 24 bytes per chunk are kept in memory for the whole dataset.
pub(super) type ChunkKey = [u64; 3];

pub(super) fn chunk_key(chunk_id: &str, doc_id: &str) -> ChunkKey {
    let halves = |id: &str| {
        let bytes = hash(id).to_le_bytes();
        let (first, second) = bytes.split_at(8);
        [first, second].map(|half| u64::from_le_bytes(half.try_into().unwrap_or_default()))
    };
    let ([first, second], [document, _]) = (halves(chunk_id), halves(doc_id));
    [first, second, document]
}

/// The texts of the documents of a part that are not the files themselves, in the order of the documents.
pub(super) struct Layers<I> {
    batches: I,
    batch: Option<RecordBatch>,
    /// The next row of the batch.
    row: usize,
}

impl Layers<()> {
    /// The columns that are read.
    pub(super) const COLUMNS: [&'static str; 2] = ["doc_id", "layer"];
}

impl<I: Iterator<Item = Result<RecordBatch, String>>> Layers<I> {
    pub(super) fn new(batches: I) -> Self {
        Self { batches, batch: None, row: 0 }
    }

    /// Returns the layer of a document. Documents before it are not returned any more.
    fn of(&mut self, doc_id: &str) -> Option<String> {
        loop {
            let Some(batch) = &self.batch else {
                (self.batch, self.row) = (Some(self.batches.next()?.ok()?), 0);
                continue;
            };
            let columns = ChunkColumns(batch);
            let (ids, layers) = (columns.text("doc_id")?, columns.text("layer")?);
            while self.row < batch.num_rows() {
                match ids.value(self.row).cmp(doc_id) {
                    Ordering::Less => self.row += 1,
                    Ordering::Equal => return layers.is_valid(self.row).then(|| layers.value(self.row).to_owned()),
                    Ordering::Greater => return None,
                }
            }
            self.batch = None;
        }
    }
}

/// The data kept about a document while its part is checked.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) id: u128,
    /// Size of the file.
    bytes: i64,
    /// Size of the text, if it is in the dataset.
    layer: Option<i64>,
    lines: i64,
    chunks: i64,
    level: Option<u128>,
    seen: i64,
    /// Where its boilerplate is, in order, and whether a chunk has the text.
    boilerplate: Vec<(BoilerplateRow, bool)>,
    /// Whether its file in the corpus is the one that was indexed; `false` if no corpus was given.
    comparable: bool,
}

/// Sums over rows, under their names in the manifest.
pub(super) type Sums = BTreeMap<&'static str, u64>;

/// The place of rows, and what they are compared with.
pub(super) struct RowsPlace<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) file: &'a FileEntry,
    pub(super) part: usize,
    /// The documents of the corpus by id, if there is a corpus to compare with.
    pub(super) sources: Option<&'a HashMap<String, Source>>,
}

impl RowsPlace<'_> {
    /// Checks that a row is in the part of its document, and after the previous row.
    fn order(&self, row: &str, doc_id: &str, before: Option<Ordering>, findings: &mut Findings) {
        let part = file_of(doc_id, self.manifest.output.files);
        if part != self.part {
            findings.add(Check::Order, &self.file.path, format!("{row}: belongs in file number {part}"));
        }
        if before == Some(Ordering::Greater) {
            findings.add(Check::Order, &self.file.path, format!("{row}: comes after rows that it should precede"));
        }
    }
}

/// The columns of a batch, with the types that the footer promised.
struct ChunkColumns<'b>(&'b RecordBatch);

impl<'b> ChunkColumns<'b> {
    fn text(&self, name: &str) -> Option<&'b StringArray> {
        self.0.column_by_name(name)?.as_string_opt()
    }

    fn int(&self, name: &str) -> Option<&'b Int64Array> {
        self.0.column_by_name(name)?.as_primitive_opt::<Int64Type>()
    }

    fn flag(&self, name: &str) -> Option<&'b BooleanArray> {
        self.0.column_by_name(name)?.as_boolean_opt()
    }
}

fn level(column: &StringArray, row: usize) -> Option<u128> {
    column.is_valid(row).then(|| hash(column.value(row)))
}

/// Checks the documents of a part. Returns the facts that their chunks are compared with, sorted by id.
pub(super) fn documents(
    place: &RowsPlace<'_>,
    batches: impl Iterator<Item = Result<RecordBatch, String>>,
    findings: &mut Findings,
    sums: &mut Sums,
) -> Option<Vec<Fact>> {
    let file = &place.file.path;
    let mut facts: Vec<Fact> = Vec::new();
    let mut before: Option<String> = None;
    for batch in batches {
        let batch = batch.map_err(|problem| findings.add(Check::Footer, file, problem)).ok()?;
        let columns = ChunkColumns(&batch);
        let [ids, collections, paths] = [columns.text("doc_id")?, columns.text("collection")?, columns.text("path")?];
        let [bytes, lines, counts] = [columns.int("bytes")?, columns.int("lines")?, columns.int("chunk_count")?];
        let (hashes, levels) = (columns.text("content_hash")?, columns.text("promotion_level")?);
        let (is_chunked, layers) = (columns.flag("is_chunked")?, columns.text("layer")?);
        let mut boilerplate = boilerplate_rows(batch.column_by_name("boilerplate")?)?.into_iter();
        for row in 0..batch.num_rows() {
            let (id, chunks) = (ids.value(row), counts.value(row));
            let name = at(facts.len(), "document", id);
            let order = before.as_deref().map(|before| before.cmp(id));
            place.order(&name, id, order, findings);
            if order == Some(Ordering::Equal) {
                findings.add(Check::Id, file, format!("{name}: has the same id as the previous row"));
            }
            if !is_id(id, collections.value(row), paths.value(row)) {
                findings.add(Check::Id, file, format!("{name}: has an id that does not match its path"));
            }
            if chunks < 0 || is_chunked.value(row) != (chunks > 1) {
                let problem = format!("{name}: chunk_count {chunks} and is_chunked contradict each other");
                findings.add(Check::Document, file, problem);
            }
            let boilerplate = boilerplate.next()?;
            if !boilerplate.is_sorted_by_key(|range| range.start_byte) {
                findings.add(Check::Document, file, format!("{name}: its boilerplate is not in order"));
            }
            *sums.entry("documents").or_default() += 1;
            *sums.entry("bytes").or_default() += bytes.value(row).unsigned_abs();
            let comparable = place.sources.is_some_and(|sources| {
                let layer = layers.is_valid(row).then(|| layers.value(row));
                let problem = compare(sources.get(id), hashes.value(row), layer, &place.manifest.admission.read);
                let same = problem.is_none();
                if let Some(problem) = problem {
                    findings.add(Check::Corpus, file, format!("{name}: {problem}"));
                }
                same
            });
            facts.push(Fact {
                id: hash(id),
                bytes: bytes.value(row),
                layer: layers.is_valid(row).then(|| i64::from(layers.value_length(row))),
                lines: lines.value(row),
                chunks,
                level: level(levels, row),
                seen: 0,
                boilerplate: boilerplate.into_iter().map(|range| (range, false)).collect(),
                comparable,
            });
            before = Some(id.to_owned());
        }
    }
    facts.sort_unstable_by_key(|fact| fact.id);
    Some(facts)
}

/// Returns whether a document's id matches its path.
fn is_id(id: &str, collection: &str, path: &str) -> bool {
    let in_default = collection == DEFAULT_COLLECTION && id == path;
    in_default || id.strip_suffix(path).and_then(|start| start.strip_suffix(':')) == Some(collection)
}

/// Returns the difference between a document and its file in the corpus.
fn compare(source: Option<&Source>, hash: &str, layer: Option<&str>, settings: &ReadSettings) -> Option<String> {
    let Some(source) = source else { return Some("is no longer in the corpus".to_owned()) };
    match corpus::read(source.clone(), settings) {
        Err(skipped) => Some(format!("its file {} now {}", source.file().display(), skipped.reason)),
        Ok((_, content)) if content.hash != hash => {
            Some(format!("its file {} has changed since it was indexed", source.file().display()))
        }
        Ok((_, content)) if content.structure.as_ref().map(|_| &*content.text) != layer => {
            Some(format!("its layer is not what its file {} is read as", source.file().display()))
        }
        Ok(_) => None,
    }
}

/// Checks the chunks of a part against the facts of its documents, which are `None` if they could not be read.
/// Returns `None` if not all chunks could be read.
pub(super) fn chunks(
    place: &RowsPlace<'_>,
    batches: impl Iterator<Item = Result<RecordBatch, String>>,
    layers: Layers<impl Iterator<Item = Result<RecordBatch, String>>>,
    facts: Option<&mut Vec<Fact>>,
    findings: &mut Findings,
    sums: &mut Sums,
    keys: &mut Vec<ChunkKey>,
) -> Option<()> {
    let file = &place.file.path;
    let known = findings.total();
    let mut checker = Chunks { place, layers, facts, findings, doc_id: None, index: -1, fact: None, text: None };
    let mut number = 0;
    for batch in batches {
        let batch = batch.map_err(|problem| checker.findings.add(Check::Footer, file, problem)).ok()?;
        let columns = ChunkColumns(&batch);
        let [ids, documents, contents, hashes] = [
            columns.text("chunk_id")?,
            columns.text("doc_id")?,
            columns.text("content")?,
            columns.text("content_hash")?,
        ];
        let [collections, paths, levels] =
            [columns.text("collection")?, columns.text("path")?, columns.text("promotion_level")?];
        let [index, start_byte, end_byte, start_char, end_char, start_line, end_line, prefix_len, n_chars] = [
            columns.int("chunk_index")?,
            columns.int("start_byte")?,
            columns.int("end_byte")?,
            columns.int("start_char")?,
            columns.int("end_char")?,
            columns.int("start_line")?,
            columns.int("end_line")?,
            columns.int("prefix_len")?,
            columns.int("n_chars")?,
        ];
        let [n_tokens, n_model_tokens] = [columns.int("n_tokens")?, columns.int("n_model_tokens")?];
        let [overlap_start, overlap_end] = [columns.int("overlap_start_byte")?, columns.int("overlap_end_byte")?];
        let (truncated, has_overlap) = (columns.flag("truncated")?, columns.flag("has_overlap")?);
        for row in 0..batch.num_rows() {
            let (id, doc_id) = (ids.value(row), documents.value(row));
            let name = at(number, "chunk", id);
            number += 1;
            keys.push(chunk_key(id, doc_id));
            for (sum, value) in [
                ("chunks", 1),
                ("tokens", n_tokens.value(row)),
                ("model_tokens", n_model_tokens.value(row)),
                ("truncated", i64::from(truncated.is_valid(row) && truncated.value(row))),
            ] {
                *sums.entry(sum).or_default() += value.unsigned_abs();
            }
            if !is_id(doc_id, collections.value(row), paths.value(row)) {
                checker.wrong(Check::Document, &name, "its path or collection differs from its document's");
            }
            checker.place_in_document(&name, doc_id, index.value(row), level(levels, row));
            let content = contents.value(row);
            if blake3::hash(content.as_bytes()).to_hex().as_str() != hashes.value(row) {
                checker.wrong(Check::Content, &name, "content_hash is not the BLAKE3 of content");
            }
            let ranges = Ranges {
                bytes: [start_byte.value(row), end_byte.value(row)],
                chars: [start_char.value(row), end_char.value(row)],
                lines: [start_line.value(row), end_line.value(row)],
                prefix_len: prefix_len.value(row),
                n_chars: n_chars.value(row),
            };
            checker.ranges(&name, content, &ranges);
            let overlap = [overlap_start, overlap_end].map(|byte| byte.is_valid(row).then(|| byte.value(row)));
            checker.overlap(&name, content, &ranges, has_overlap.value(row), overlap);
        }
        let first = number - batch.num_rows();
        checker.vectors(&batch, first, ids)?;
        checker.sparse_vectors(&batch, first, ids)?;
        // Another finding says more of a row than that its hash is wrong.
        if checker.findings.total() == known {
            checker.row_hashes(&batch, first, ids)?;
        }
    }
    checker.end_document();
    checker.end();
    Some(())
}

/// The ranges that a chunk claims.
struct Ranges {
    bytes: [i64; 2],
    chars: [i64; 2],
    lines: [i64; 2],
    prefix_len: i64,
    n_chars: i64,
}

/// The state of checking the chunks of a part.
struct Chunks<'a, I> {
    place: &'a RowsPlace<'a>,
    layers: Layers<I>,
    facts: Option<&'a mut Vec<Fact>>,
    findings: &'a mut Findings,
    /// Document of the previous row.
    doc_id: Option<String>,
    /// Position of the previous row in that document.
    index: i64,
    /// Index of that document among the facts.
    fact: Option<usize>,
    /// Text of that document: its layer, or its file in the corpus.
    text: Option<String>,
}

impl<I: Iterator<Item = Result<RecordBatch, String>>> Chunks<'_, I> {
    fn wrong(&mut self, check: Check, row: &str, problem: &str) {
        self.findings.add(check, &self.place.file.path, format!("{row}: {problem}"));
    }

    fn fact(&self) -> Option<&Fact> {
        self.facts.as_ref()?.get(self.fact?)
    }

    /// Checks that the row's document exists and the row has the right position in it.
    fn place_in_document(&mut self, row: &str, doc_id: &str, index: i64, level: Option<u128>) {
        let order = self.doc_id.as_deref().map(|before| before.cmp(doc_id));
        if order != Some(Ordering::Equal) {
            self.end_document();
            self.place.order(row, doc_id, order, self.findings);
            let id = hash(doc_id);
            self.fact = self.facts.as_ref().and_then(|facts| facts.binary_search_by_key(&id, |fact| fact.id).ok());
            self.doc_id = Some(doc_id.to_owned());
            self.index = -1;
            if self.facts.is_some() && self.fact.is_none() {
                self.wrong(Check::Document, row, &format!("its document `{doc_id}` is not in the table documents"));
            }
            let source = self.fact().filter(|fact| fact.comparable && fact.layer.is_none()).and(self.place.sources);
            let source = source.and_then(|sources| sources.get(doc_id)).cloned();
            let read = |source| corpus::read(source, &self.place.manifest.admission.read).ok();
            self.text = self.layers.of(doc_id).or_else(|| source.and_then(read).map(|(_, layer)| layer.text));
        }
        if index != self.index + 1 {
            let problem = format!("has position {index} in its document; expected {}", self.index + 1);
            self.wrong(Check::Order, row, &problem);
        }
        self.index = index;
        if self.fact().is_some_and(|fact| fact.level != level) {
            self.wrong(Check::Document, row, "its promotion_level differs from its document's");
        }
        if let (Some(facts), Some(fact)) = (&mut self.facts, self.fact) {
            facts[fact].seen += 1;
        }
    }

    /// Ends the rows of a document. If it has more rows elsewhere, that is also wrong and reported there.
    fn end_document(&mut self) {
        let (Some(fact), Some(doc_id)) = (self.fact(), &self.doc_id) else { return };
        let nowhere = fact.boilerplate.iter().filter(|(_, is_text)| !is_text).count();
        if fact.seen != fact.chunks {
            let chunks = count(fact.seen, "chunk");
            let problem = format!("document `{doc_id}` has {chunks}; its row says {}", fact.chunks);
            self.findings.add(Check::Document, &self.place.file.path, problem);
        }
        if nowhere > 0 {
            let ranges = count(nowhere, "range");
            let problem = format!("document `{doc_id}` has boilerplate that is text of no chunk: {ranges}");
            self.findings.add(Check::Document, &self.place.file.path, problem);
        }
    }

    /// Marks the boilerplate of the document that is text of a chunk, whose own text starts at a byte.
    fn boilerplate(&mut self, start: i64, own: &str) {
        let Some(fact) = self.facts.as_mut().zip(self.fact).and_then(|(facts, fact)| facts.get_mut(fact)) else {
            return;
        };
        let first = fact.boilerplate.partition_point(|(range, _)| range.start_byte < start);
        for (range, is_text) in &mut fact.boilerplate[first..] {
            let [from, to] = [range.start_byte, range.end_byte].map(|byte| usize::try_from(byte.saturating_sub(start)));
            let Some(from) = from.ok().filter(|&from| from < own.len()) else { break };
            *is_text |= to.is_ok_and(|to| own.get(from..to).is_some_and(|text| !text.trim().is_empty()));
        }
    }

    /// Reports documents whose chunks are all missing.
    fn end(&mut self) {
        let lacking = self.facts.iter().flat_map(|facts| facts.iter());
        let lacking = lacking.filter(|fact| fact.seen == 0 && fact.chunks != 0).count();
        if lacking > 0 {
            let problem = format!("lacks all chunks of {} that should have some", count(lacking, "document"));
            self.findings.add(Check::Document, &self.place.file.path, problem);
        }
    }

    /// Checks that the ranges match the content's source and lie inside the document.
    fn ranges(&mut self, row: &str, content: &str, ranges: &Ranges) {
        let Ranges { bytes: [start, end], chars, lines, prefix_len, n_chars } = ranges;
        let pairs =
            [("byte", [start, end], 0), ("char", [&chars[0], &chars[1]], 0), ("line", [&lines[0], &lines[1]], 1)];
        for (unit, [start, end], least) in pairs {
            if *start < least || end < start {
                return self.wrong(
                    Check::Range,
                    row,
                    &format!("start_{unit} {start} and end_{unit} {end} are not a range"),
                );
            }
        }
        let text = usize::try_from(*prefix_len).ok().and_then(|prefix_len| content.get(prefix_len..));
        let Some(text) = text else {
            let problem = format!("prefix_len {prefix_len} is outside its content or inside a character");
            return self.wrong(Check::Range, row, &problem);
        };
        let source = usize::try_from(end - start).ok().and_then(|len| text.split_at_checked(len));
        let source = source.filter(|(_, after)| closes_fence(after)).map_or(text, |(source, _)| source);
        let ends = line::ends(source).filter(|&end| end < source.len()).count();
        for (what, said, is) in [
            ("byte", end - start, source.len()),
            ("character", chars[1] - chars[0], source.chars().count()),
            ("line end", lines[1] - lines[0], ends),
        ] {
            if usize::try_from(said) != Ok(is) {
                let problem = format!("its range has {}; its text without the prefix has {is}", count(said, what));
                self.wrong(Check::Range, row, &problem);
            }
        }
        self.boilerplate(*start, source);
        let is = content.chars().count();
        if usize::try_from(*n_chars) != Ok(is) {
            let problem = format!("n_chars is {n_chars}; its content has {}", count(is, "character"));
            self.wrong(Check::Range, row, &problem);
        }
        if let Some(fact) = self.fact() {
            let (bytes, doc_lines) = (fact.layer.unwrap_or(fact.bytes), fact.lines);
            if fact.layer.is_some_and(|bytes| *end > bytes) || fact.layer.is_none() && !fits(*end, chars[1], bytes) {
                self.wrong(Check::Range, row, &format!("ends at byte {end}; its document has {bytes}"));
            }
            // An empty chunk may come after the end of the last line.
            let most = if source.is_empty() { doc_lines + 1 } else { doc_lines };
            if lines[1] > most.max(1) {
                self.wrong(Check::Range, row, &format!("ends in line {}; its document has {doc_lines}", lines[1]));
            }
        }
        let range = usize::try_from(*start).unwrap_or(usize::MAX)..usize::try_from(*end).unwrap_or(usize::MAX);
        if self.text.as_ref().is_some_and(|text| text.get(range) != Some(source)) {
            let (check, whose) = self.whose_text();
            self.wrong(check, row, &format!("its text is not {whose} bytes {start}..{end}"));
        }
    }

    /// Returns which promise is broken if a chunk is not of its document's text, and whose text that is.
    fn whose_text(&self) -> (Check, &'static str) {
        let has_layer = self.fact().is_some_and(|fact| fact.layer.is_some());
        if has_layer { (Check::Range, "its layer's") } else { (Check::Corpus, "the file's") }
    }

    /// Checks that the range of the overlap lies before the chunk's own text, and that the prefix has its text.
    fn overlap(&mut self, row: &str, content: &str, ranges: &Ranges, said: bool, overlap: [Option<i64>; 2]) {
        let (start, end) = match overlap {
            [None, None] if !said => return,
            [Some(start), Some(end)] if said && 0 <= start && start < end && end <= ranges.bytes[0] => (start, end),
            _ => {
                let problem = "overlap_start_byte and overlap_end_byte are not a range before its own text";
                return self.wrong(Check::Range, row, problem);
            }
        };
        let prefix = usize::try_from(ranges.prefix_len).ok().and_then(|len| content.get(..len)).unwrap_or_default();
        let len = usize::try_from(end - start).unwrap_or(usize::MAX);
        if prefix.len() < len {
            return self.wrong(
                Check::Range,
                row,
                &format!("its overlap has {len} bytes; its prefix has {}", prefix.len()),
            );
        }
        let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
        let repeated = self.text.as_ref().map(|text| text.get(range).unwrap_or_default());
        // Blank lines stand between the overlap and the chunk's own text where something is left out.
        let ends = |repeated: &str| {
            !repeated.is_empty() && (prefix.ends_with(repeated) || prefix.trim_end().ends_with(repeated))
        };
        if repeated.is_some_and(|repeated| !ends(repeated)) {
            let (check, whose) = self.whose_text();
            self.wrong(check, row, &format!("its prefix does not end with {whose} bytes {start}..{end}"));
        }
    }

    /// Checks that the hash of each row follows from its other columns.
    fn row_hashes(&mut self, batch: &RecordBatch, first: usize, ids: &StringArray) -> Option<()> {
        let stored = batch.column_by_name(ROW_HASH)?.as_string_opt::<i32>()?;
        let computed = row_hashes(batch.schema_ref(), batch.columns(), batch.num_rows()).ok()?;
        for row in (0..batch.num_rows()).filter(|&row| stored.value(row) != computed.value(row)) {
            let name = at(first + row, "chunk", ids.value(row));
            self.wrong(Check::Content, &name, "row_hash is not the hash of its other columns");
        }
        Some(())
    }

    /// Checks that vectors are finite and, if the model says so, of length 1 or, where flagged, all zeros, and that all columns
    /// have the same ones.
    fn vectors(&mut self, batch: &RecordBatch, first: usize, ids: &StringArray) -> Option<()> {
        let (all, normalized) = (self.place.manifest.representations(), self.place.manifest.model.normalize);
        let [best, ..] = *all else { return Some(()) };
        let (dim, tolerance) = (best.dim, best.stored.tolerance(best.dim));
        let mut columns = Vec::with_capacity(all.len());
        for of in &all {
            let column = batch.column_by_name(of.column())?;
            let width = of.width();
            let uneven = matches!(column.data_type(), DataType::List(_))
                && (0..column.len()).any(|row| usize::try_from(column.as_list::<i32>().value_length(row)) != Ok(width));
            let values = if uneven { None } else { vectors(column, of) };
            let Some(values) = values else {
                let problem =
                    format!("from row {} on: {} does not have {}", first + 1, of.column(), count(width, "value"));
                self.findings.add(Check::Vector, &self.place.file.path, problem);
                return Some(());
            };
            columns.push(values);
        }
        let flags = flagged(batch.column_by_name("flags")?, ZERO_VECTOR)?;
        let mut values = restore(&columns[..Representation::sources(&all).len()], dim);
        if best.stored == EmbeddingType::Bits {
            // Bits cannot say that a vector is zero; all of them are 0 then.
            let zeros = values.chunks_mut(dim.max(1)).zip(&flags).filter(|(_, is_zero)| **is_zero);
            zeros.for_each(|(vector, _)| vector.fill(0.0));
        }
        for ((row, vector), &flagged) in values.chunks_exact(dim.max(1)).enumerate().zip(&flags) {
            let square: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
            let name = || at(first + row, "chunk", ids.value(row));
            if !square.is_finite() {
                self.wrong(Check::Vector, &name(), "its vector contains a value that is not a finite number");
            } else if flagged {
                if square > 0.0 {
                    self.wrong(
                        Check::Vector,
                        &name(),
                        &format!("it has the flag {ZERO_VECTOR}, but its vector is not zero"),
                    );
                }
            } else if normalized && (square.sqrt() - 1.0).abs() > tolerance {
                self.wrong(Check::Vector, &name(), &format!("its vector has length {:.5}, not 1", square.sqrt()));
            }
        }
        // The exact column has these values themselves.
        for (of, column) in all.iter().zip(&columns).filter(|(of, _)| !of.stored.is_exact()) {
            let alike = column.equal_rows(&of.store(&values), of.width());
            for row in (0..alike.len()).filter(|row| !alike[*row]) {
                let vector = &values[row * dim..][..dim];
                if vector.iter().all(|value| value.is_finite()) {
                    let problem = format!("its {} is not what is stored of its vector", of.column());
                    self.wrong(Check::Vector, &at(first + row, "chunk", ids.value(row)), &problem);
                }
            }
        }
        Some(())
    }

    /// Checks that sparse vectors have tokens of the vocabulary, in order, each with a weight.
    fn sparse_vectors(&mut self, batch: &RecordBatch, first: usize, ids: &StringArray) -> Option<()> {
        let Some(SparseModel { vocabulary, .. }) = self.place.manifest.model.sparse else { return Some(()) };
        let column = batch.column_by_name(SPARSE)?;
        for row in 0..column.len() {
            let vector = sparse_vectors(&column.slice(row, 1)).and_then(|mut vectors| vectors.pop());
            let problem = match vector.as_ref().map(SparseVector::weights) {
                None => "the tokens of its sparse vector are not in order, or a weight is not a number",
                Some(weights) if weights.iter().any(|(_, weight)| *weight == 0.0) => {
                    "its sparse vector has a token without a weight"
                }
                Some(weights) if weights.last().is_some_and(|(token, _)| *token as usize >= vocabulary) => {
                    "its sparse vector has a token that the model does not have"
                }
                Some(_) => continue,
            };
            self.wrong(Check::Vector, &at(first + row, "chunk", ids.value(row)), problem);
        }
        Some(())
    }
}

/// Returns whether the text after a chunk's source is allowed there: nothing, or the line that closes a fence.
fn closes_fence(text: &str) -> bool {
    let marks = text.trim_start_matches(['\n', '\r', ' ', '\t', '>']).trim_end();
    text.is_empty()
        || text.starts_with(['\n', '\r']) && marks.len() >= 3 && marks.bytes().all(|byte| matches!(byte, b'`' | b'~'))
}

/// Returns whether a range with this end fits into a file of `bytes` bytes. Ranges of a UTF-16 file refer to its
/// text as UTF-8, which can be half as long again as the file, and the file has at least two bytes for each
/// character.
fn fits(end_byte: i64, end_char: i64, bytes: i64) -> bool {
    let units = (bytes - 2) / 2;
    end_byte <= bytes || (end_byte <= units.saturating_mul(3) && end_char <= units)
}
