//! Neighbours: the chunks one link away from a hit.
//!
//! A link says that somebody saw a connection between two texts. It is followed in both directions, because a
//! question may find either of them. A link to a section leads to the chunk with that section; a link to a
//! document leads to its first chunk. Links that lead nowhere in the corpus are ignored.

use std::collections::{BTreeSet, HashMap, HashSet};

use arrow::array::{Array, AsArray, StringArray};
use chunkmill_base::error::Result;
use chunkmill_dataset::dataset::{Dataset, Table};

use super::batch::damaged;
use super::reciprocal::{RankedRow, ranked};
use super::rows::Rows;
use super::top::ScoredRow;

/// The links between chunks, in both directions.
#[derive(Debug)]
pub(super) struct Graph {
    /// Sorted pairs of rows.
    pairs: Vec<(u32, u32)>,
}

impl Graph {
    pub(super) fn load(dataset: &Dataset, rows: &Rows) -> Result<Self> {
        let mut edges: Vec<[Option<String>; 3]> = Vec::new();
        for file in dataset.files(Table::Edges) {
            for batch in dataset.read(file, &["from_chunk", "to_doc", "to_chunk"], None)? {
                let batch = batch?;
                let column = |name: &str| -> Result<StringArray> {
                    let column = batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
                    column.cloned().ok_or_else(|| damaged(dataset, file, &format!("`{name}` is not a text column")))
                };
                let columns = [column("from_chunk")?, column("to_doc")?, column("to_chunk")?];
                let cell = |column: &StringArray, at| column.is_valid(at).then(|| column.value(at).to_owned());
                let led = (0..batch.num_rows()).filter(|&at| columns[1].is_valid(at));
                edges.extend(led.map(|at| [&columns[0], &columns[1], &columns[2]].map(|column| cell(column, at))));
            }
        }
        let named: HashSet<&str> =
            edges.iter().flat_map(|[from, _, to]| [from.as_deref(), to.as_deref()]).flatten().collect();
        let chunks = if named.is_empty() { HashMap::new() } else { find(dataset, rows, &named)? };
        let first = first_rows(rows);
        let row = |id: &Option<String>| chunks.get(id.as_deref()?).copied();
        let first_of = |id: &Option<String>| first[rows.find(id.as_deref()?)? as usize];
        let mut pairs = Vec::new();
        for [from, to_doc, to_chunk] in &edges {
            let to = if to_chunk.is_some() { row(to_chunk) } else { first_of(to_doc) };
            if let (Some(from), Some(to)) = (row(from), to)
                && from != to
            {
                pairs.extend([(from, to), (to, from)]);
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        Ok(Self { pairs })
    }

    /// Returns the neighbours of some rows, best first: those of the first row, in order of document and position,
    /// then those of the next. A row is listed once, with the score of the first row it is linked to.
    pub(super) fn neighbours(&self, rows: &Rows, of: &[ScoredRow], mask: Option<&[bool]>) -> Vec<RankedRow> {
        let mut seen = HashSet::new();
        let mut list = Vec::new();
        for seed in of {
            let first = self.pairs.partition_point(|&(from, _)| from < seed.row);
            let linked = self.pairs[first..].iter().take_while(|&&(from, _)| from == seed.row).map(|&(_, to)| to);
            let let_through = linked.filter(|&to| mask.is_none_or(|mask| mask[to as usize]));
            let in_order: BTreeSet<(u64, u32)> = let_through.map(|to| (rows.order(to as usize), to)).collect();
            for (place, row) in in_order {
                if seen.insert(row) {
                    list.push(ScoredRow { score: seed.score, place, row });
                }
            }
        }
        ranked(list)
    }
}

/// Finds the rows of the chunks with these ids.
fn find(dataset: &Dataset, rows: &Rows, ids: &HashSet<&str>) -> Result<HashMap<String, u32>> {
    let mut found = HashMap::new();
    for (index, file) in dataset.files(Table::Chunks).enumerate() {
        let mut of_file = rows.of_file(index);
        for batch in dataset.read_texts(file, ["chunk_id"])? {
            let [column] = batch?;
            for (id, row) in column.iter().flatten().zip(of_file.by_ref()) {
                if ids.contains(id) {
                    found.insert(id.to_owned(), u32::try_from(row).unwrap_or(u32::MAX));
                }
            }
        }
    }
    Ok(found)
}

/// Returns the row of each document's first chunk.
fn first_rows(rows: &Rows) -> Vec<Option<u32>> {
    let mut first = vec![None; rows.documents().len()];
    for (number, row) in (0..).zip(rows.iter()) {
        let first: &mut Option<u32> = &mut first[row.doc as usize];
        if first.is_none_or(|other| rows.row(other).position > row.position) {
            *first = Some(number);
        }
    }
    first
}
