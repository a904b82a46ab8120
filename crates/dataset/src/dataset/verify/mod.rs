//! Whether a dataset is what it claims to be.
//!
//! The manifest is compared with the files, their bytes with its hashes, and the rows with each other: everything
//! that another program would take for granted. Unchanged bytes prove little if they were wrong when they were
//! written, so a hash is trusted only for what it proves.
//!
//! Parts are checked in parallel, rows in batches of bounded size. Memory for the whole dataset is 16 bytes per
//! document and 24 per chunk: hashes of their ids, used to look up links and find duplicates.

mod files;
mod graph;
mod report;
mod rows;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::array::AsArray;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value;
use chunkmill_text::chunk::Spec;
use chunkmill_text::document::MAX_BYTES;
use rayon::prelude::*;

use super::{Counts, Dataset, FileEntry, Manifest, QuarantineRow, Table, Texts, commit, gc};
use crate::corpus::{self, Filter, Root, Source};
use crate::storage::Location;
use graph::{Ids, OutlineCounts};
use report::Findings;
pub use report::{Check, Finding};
use rows::{ChunkKey, Layers, RowsPlace, Sums};

/// The result of a verification.
#[derive(Debug, Clone)]
pub struct Verification {
    /// Number of data files that the manifest names.
    pub files: u64,
    /// Number of their rows, according to the manifest.
    pub rows: u64,
    /// Number of their bytes, according to the manifest.
    pub bytes: u64,
    /// Totals of the dataset, according to the manifest.
    pub counts: Counts,
    /// Problems, by file as far as possible, at most a thousand of each kind.
    pub findings: Vec<Finding>,
    /// Number of findings of each kind.
    pub found: BTreeMap<Check, u64>,
    /// Leftovers: not errors, but they waste disk space.
    pub notes: Vec<Finding>,
}

/// Checks the dataset in `root`. With `corpus`, the roots that it was indexed from, also checks whether its
/// documents still match theirs. Nothing is changed.
///
/// # Errors
/// Those of [`Manifest::read`]; [`Error::Dataset`] if the dataset was replaced in the meantime; those of
/// [`corpus::discover`].
pub fn verify(root: &Location, corpus: Option<&[Root]>) -> Result<Verification> {
    let dataset = Dataset::open(root)?;
    let manifest = dataset.manifest();
    let sources = corpus.map(|roots| sources(roots, manifest, root)).transpose()?;
    let mut findings = Findings::new(root);
    let Texts { card, quarantine } = &manifest.texts;
    let pending = commit::pending(root).ok().flatten();
    settings(manifest, &mut findings);
    let place = (root, pending.as_deref());
    files::text(place, commit::CARD, card, Check::Card, &mut findings);
    if let Some(list) = files::text(place, commit::QUARANTINE, quarantine, Check::Quarantine, &mut findings) {
        listed(&list, manifest.counts.quarantined, &mut findings);
    }
    if files::complete(root, manifest, &mut findings) {
        whole(&dataset, sources.as_ref(), &mut findings);
    } else {
        // We cannot tell which files belong together, but we can still check each one.
        for file in &manifest.files {
            files::intact(root, file, &mut findings);
        }
    }
    if !findings.is_empty() && Dataset::open(root)?.manifest() != manifest {
        return Err(Error::Dataset {
            path: root.path().to_owned(),
            problem: "was replaced while it was being verified".to_owned(),
            help: "run again".to_owned(),
        });
    }
    let mut notes = Findings::new(root);
    match gc::leftovers(root, Some(manifest)) {
        Ok(found) => {
            for leftover in found {
                let shown = leftover.path.strip_prefix(root.path()).unwrap_or(&leftover.path);
                let problem = format!("{}, {}", value::count(leftover.bytes, "byte"), leftover.kind.what);
                notes.add(Check::Leftover, &shown.to_string_lossy(), problem);
            }
        }
        Err(error) => notes.add(Check::Leftover, ".", format!("cannot be searched for leftovers: {error}")),
    }
    let sum = |get: fn(&FileEntry) -> u64| manifest.files.iter().map(get).sum();
    Ok(Verification {
        files: manifest.files.len() as u64,
        rows: sum(|file| file.rows),
        bytes: sum(|file| file.bytes),
        counts: manifest.counts,
        findings: findings.kept,
        found: findings.counts,
        notes: notes.kept,
    })
}

/// Checks that the settings in the manifest are those of its fingerprint: a run compares only the fingerprint.
fn settings(manifest: &Manifest, findings: &mut Findings) {
    let record = &manifest.spec;
    let problem = match Spec::resolve(&record.settings) {
        Ok(spec)
            if spec.to_string() == record.text
                && spec.settings() == record.settings
                && spec.fingerprint() == record.fingerprint =>
        {
            return;
        }
        Ok(spec) => format!(
            "spec: the settings are `{spec}` ({}), not `{}` ({})",
            spec.fingerprint(),
            record.text,
            record.fingerprint
        ),
        Err(error) => format!("spec: the settings cannot be used: {error}"),
    };
    findings.add(Check::Manifest, super::manifest::FILE, problem);
}

/// Returns all documents of a corpus by id, whatever settings chose them. Indexed documents are looked up here,
/// and a document that is not indexed is not reported as missing.
fn sources(roots: &[Root], manifest: &Manifest, out: &Location) -> Result<HashMap<String, Source>> {
    let filter = Filter::new(&["**".to_owned()], &[], true, MAX_BYTES)?.with_inner(manifest.inner.clone())?;
    let found = corpus::discover(roots, &filter, std::slice::from_ref(out))?;
    Ok(found.sources.into_iter().map(|source| (source.origin.doc_id.to_string(), source)).collect())
}

/// The results for a part's files; `None` for anything that could not be read.
struct PartResult {
    findings: Findings,
    sums: Sums,
    keys: Vec<ChunkKey>,
    documents: Vec<u128>,
    outlined: Option<OutlineCounts>,
    /// Whether the part's documents and chunks could be read.
    read: bool,
    edges: Option<FileEntry>,
    duplicates: Option<FileEntry>,
}

/// Checks a dataset whose parts can be told apart.
fn whole(dataset: &Dataset, sources: Option<&HashMap<String, Source>>, findings: &mut Findings) {
    let (root, manifest) = (dataset.root(), dataset.manifest());
    let parts = 0..manifest.output.files;
    let mut checked: Vec<PartResult> =
        parts.clone().into_par_iter().map(|index| part(root, manifest, sources, index)).collect();
    let mut ids = Ids { read: checked.iter().map(|part| part.read).collect(), ..Ids::default() };
    ids.chunks.reserve_exact(checked.iter().map(|part| part.keys.len()).sum());
    for part in &mut checked {
        ids.chunks.extend(std::mem::take(&mut part.keys));
        ids.documents.extend(std::mem::take(&mut part.documents));
    }
    ids.chunks.par_sort_unstable();
    ids.documents.par_sort_unstable();
    let edges = parts.into_par_iter().zip(&checked).map(|(index, part)| {
        let mut findings = Findings::new(root);
        let counts = part.edges.as_ref().and_then(|file| {
            let batches = files::open(root, manifest, Table::Edges, file, None, &mut findings)?;
            let counts = graph::edges(file, index, batches, &ids, &mut findings)?;
            if let Some(outlined) = part.outlined.filter(|outlined| outlined.links != counts.edges) {
                let (edges, links) = (value::count(counts.edges, "edge"), value::count(outlined.links, "link"));
                let problem = format!("has {edges}; the outlines have {links}");
                findings.add(Check::Edge, &file.path, problem);
            }
            Some(counts)
        });
        if counts.is_none() && part.edges.is_some() && findings.is_empty() {
            findings.add(Check::Footer, super::manifest::FILE, format!("edges of part {index} cannot be read"));
        }
        (findings, counts)
    });
    let edges: Vec<(Findings, Option<Counts>)> = edges.collect();
    alike(dataset, checked.iter().map(|part| part.duplicates.as_ref()), &ids, findings);
    let totals = manifest.counts;
    let mut sums = Some(Sums::new());
    for (part, (of_edges, counts)) in checked.into_iter().zip(edges) {
        findings.append(part.findings);
        findings.append(of_edges);
        let all = part.read.then_some(()).and(part.outlined).and(counts);
        sums = sums.zip(all).map(|(mut sums, counts)| {
            for (name, value) in part.sums.into_iter().chain(of_edges_by_name(&counts)) {
                *sums.entry(name).or_default() += value;
            }
            sums
        });
    }
    not_unique(dataset, &ids, findings);
    if totals.documents + totals.quarantined != totals.discovered {
        let Counts { documents, quarantined, discovered, .. } = totals;
        let documents = value::count(documents, "document");
        let problem = format!("{documents} and {quarantined} in quarantine do not add up to {discovered} discovered");
        findings.add(Check::Count, super::manifest::FILE, problem);
    }
    if let Some(sums) = sums {
        let said = by_name(&totals).into_iter().chain(of_edges_by_name(&totals));
        count("the dataset", said.filter(|(name, _)| !OF_LIST.contains(name)), &sums, findings);
    }
}

/// Totals that include documents in no part.
const OF_LIST: [&str; 2] = ["discovered", "quarantined"];

/// Checks the documents, chunks and outlines of a part.
fn part(root: &Location, manifest: &Manifest, sources: Option<&HashMap<String, Source>>, index: usize) -> PartResult {
    let mut findings = Findings::new(root);
    let mut intact = |folder: &'static str| {
        let file = files::in_folder(manifest, folder).nth(index)?;
        files::intact(root, file, &mut findings).then_some(file)
    };
    let [documents, chunks, outline_file, edges, duplicates] =
        ["data/documents", "data/chunks", "state/outlines", "data/edges", "data/duplicates"].map(&mut intact);
    let mut sums = Sums::new();
    let mut keys = Vec::new();
    let mut facts = documents.and_then(|file| {
        let batches = files::open(root, manifest, Table::Documents, file, None, &mut findings)?;
        rows::documents(&RowsPlace { manifest, file, part: index, sources }, batches, &mut findings, &mut sums)
    });
    let read = chunks.and_then(|file| {
        let batches = files::open(root, manifest, Table::Chunks, file, None, &mut findings)?;
        // They are read a second time because the layers of a part may not fit into memory together. The first time has
        // reported all problems of the file.
        let layers = documents.filter(|_| facts.is_some()).and_then(|file| {
            let columns = Some(&Layers::COLUMNS[..]);
            files::open(root, manifest, Table::Documents, file, columns, &mut Findings::new(root))
        });
        let layers = Layers::new(layers.into_iter().flatten());
        let place = RowsPlace { manifest, file, part: index, sources };
        rows::chunks(&place, batches, layers, facts.as_mut(), &mut findings, &mut sums, &mut keys)
    });
    let outlined = outline_file.and_then(|file| graph::outlines(root, file, facts.as_deref(), &mut findings));
    let read = read.is_some() && facts.is_some();
    if !read && findings.is_empty() {
        // Rows that were not read are not verified, whatever the reason.
        findings.add(Check::Footer, super::manifest::FILE, format!("rows of part {index} cannot be read"));
    }
    if let Some(outlined) = outlined.filter(|_| read) {
        sums.insert("quarantined", outlined.quarantined);
        *sums.entry("discovered").or_default() += outlined.quarantined + sums.get("documents").copied().unwrap_or(0);
        let said = manifest.parts.get(index).map(|record| by_name(&record.counts)).unwrap_or_default();
        count(&format!("part {index}"), said.into_iter(), &sums, &mut findings);
    }
    let documents = facts.unwrap_or_default().iter().map(|fact| fact.id).collect();
    PartResult {
        findings,
        sums,
        keys,
        documents,
        outlined,
        read,
        edges: edges.cloned(),
        duplicates: duplicates.cloned(),
    }
}

/// Returns the totals of documents and chunks, by name.
fn by_name(counts: &Counts) -> Vec<(&'static str, u64)> {
    let Counts { discovered, documents, chunks, quarantined, bytes, tokens, model_tokens, truncated, .. } = *counts;
    vec![
        ("discovered", discovered),
        ("documents", documents),
        ("chunks", chunks),
        ("quarantined", quarantined),
        ("bytes", bytes),
        ("tokens", tokens),
        ("model_tokens", model_tokens),
        ("truncated", truncated),
    ]
}

/// Returns the totals of edges, by name.
fn of_edges_by_name(counts: &Counts) -> Vec<(&'static str, u64)> {
    let Counts { edges, unresolved_edges, edges_by_kind: kinds, .. } = *counts;
    vec![
        ("edges", edges),
        ("unresolved_edges", unresolved_edges),
        ("edges_by_kind.link.edges", kinds.link.edges),
        ("edges_by_kind.link.unresolved", kinds.link.unresolved),
        ("edges_by_kind.wikilink.edges", kinds.wikilink.edges),
        ("edges_by_kind.wikilink.unresolved", kinds.wikilink.unresolved),
        ("edges_by_kind.image.edges", kinds.image.edges),
        ("edges_by_kind.image.unresolved", kinds.image.unresolved),
    ]
}

/// Compares totals in the manifest with those of the rows.
fn count(of: &str, said: impl Iterator<Item = (&'static str, u64)>, sums: &Sums, findings: &mut Findings) {
    for (name, said) in said {
        let is = sums.get(name).copied().unwrap_or_default();
        if said != is {
            findings.add(
                Check::Count,
                super::manifest::FILE,
                format!("the count `{name}` of {of} is {said}; its rows add up to {is}"),
            );
        }
    }
}

/// Checks the duplicates of all parts against the documents, each other and the total.
fn alike<'f>(
    dataset: &Dataset,
    files: impl Iterator<Item = Option<&'f FileEntry>>,
    ids: &Ids,
    findings: &mut Findings,
) {
    let (root, manifest) = (dataset.root(), dataset.manifest());
    let mut read = Vec::with_capacity(manifest.output.files);
    for (part, file) in files.enumerate() {
        let rows = file.and_then(|file| {
            let batches = files::open(root, manifest, Table::Duplicates, file, None, findings)?;
            Some((file, graph::duplicates(file, part, batches, ids, findings)?))
        });
        read.push(rows);
    }
    let is_whole = read.iter().all(Option::is_some);
    let read: Vec<_> = read.into_iter().flatten().collect();
    let known: BTreeSet<&str> = read.iter().flat_map(|(_, rows)| rows).map(|row| &*row.doc_id).collect();
    for (file, rows) in &read {
        for row in rows.iter().filter(|row| known.contains(&*row.duplicate_of)) {
            let problem = format!("`{}` is a duplicate of `{}`, which is one too", row.doc_id, row.duplicate_of);
            findings.add(Check::Duplicate, &file.path, problem);
        }
    }
    if is_whole && known.len() as u64 != manifest.counts.duplicates {
        let (said, is) = (manifest.counts.duplicates, known.len());
        let problem = format!("the count `duplicates` of the dataset is {said}; its rows add up to {is}");
        findings.add(Check::Count, super::manifest::FILE, problem);
    }
}

/// Finds chunk ids that occur more than once. Their rows are looked up only if there are any.
fn not_unique(dataset: &Dataset, ids: &Ids, findings: &mut Findings) {
    let pairs = ids.chunks.windows(2).filter(|pair| pair[0][..2] == pair[1][..2]);
    let twice: BTreeSet<&[u64]> = pairs.map(|pair| &pair[0][..2]).collect();
    if twice.is_empty() {
        return;
    }
    for (file, _) in dataset.files(Table::Chunks).zip(&ids.read).filter(|(_, read)| **read) {
        let mut row = 0;
        for batch in dataset.read(file, &["chunk_id"], None).into_iter().flatten().flatten() {
            for id in batch.column(0).as_string::<i32>().iter().flatten() {
                if twice.contains(&rows::chunk_key(id, "")[..2]) {
                    findings.add(
                        Check::Id,
                        &file.path,
                        format!("{}: its id is not unique", rows::at(row, "chunk", id)),
                    );
                }
                row += 1;
            }
        }
    }
}

/// Checks every line of the list of documents that are not indexed, and that there are as many as the manifest
/// says. Documents that were excluded before they were assigned to a part are only in this list.
fn listed(list: &[u8], said: u64, findings: &mut Findings) {
    let mut wrong = |problem: String| findings.add(Check::Quarantine, commit::QUARANTINE, problem);
    let Ok(text) = std::str::from_utf8(list) else { return wrong("is not UTF-8".to_owned()) };
    for (number, line) in text.lines().enumerate() {
        if let Err(error) = serde_json::from_str::<QuarantineRow>(line) {
            wrong(format!("line {}: {error}", number + 1));
        }
    }
    let listed = text.lines().count() as u64;
    if listed != said {
        wrong(format!("lists {}; the manifest says {said}", value::count(listed, "document")));
    }
}
