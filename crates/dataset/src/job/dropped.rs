//! Documents that a run leaves out because they are duplicates of others. They are found before anything is embedded, so
//! all documents are cut once more than without. Collections are apart: a search may be for one of them, and documents of
//! others must not displace one's own. A document that was promoted stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use chunkmill_base::error::{Result, Skip};
use chunkmill_text::tokens::Sizer;
use rayon::prelude::*;

use super::job::Job;
use super::parts::PartWork;
use super::prepare::{Cut, Recipe};
use crate::corpus::{QuarantinedDocument, Source};
use crate::dataset::QuarantineRow;
use crate::duplicates::{self, DropRule, ShortSignature, Sketch};

/// Leaves out the documents of these parts that are duplicates by the job's rule, and returns why. Only a document that is
/// indexed can be the one that stays.
pub(super) fn drop_duplicates(
    job: &Job,
    sizer: Sizer<'_>,
    parts: &mut [PartWork],
    stop: &AtomicBool,
) -> Result<Vec<QuarantineRow>> {
    if job.drop_duplicates == DropRule::None {
        return Ok(Vec::new());
    }
    let near = job.drop_duplicates.near();
    let recipe = Recipe { spec: &job.spec, sizer, admission: job.admission, levels: None };
    let promoted: BTreeSet<String> = parts.iter().flat_map(|part| part.inputs.promotions.keys().cloned()).collect();
    let is_promoted = |source: &Source| promoted.contains(&*source.origin.doc_id);
    let mut collections: BTreeMap<Arc<str>, Vec<Source>> = BTreeMap::new();
    for source in parts.iter().flat_map(|part| &part.sources) {
        collections.entry(Arc::clone(&source.origin.collection)).or_default().push(source.clone());
    }
    let mut rows = Vec::new();
    for mut sources in collections.into_values() {
        sources.par_sort_unstable_by_key(|source| (!is_promoted(source), Arc::clone(&source.origin.doc_id)));
        let found = of_collection(&recipe, sources, near, stop)?;
        let dropped = found.into_iter().filter(|(source, _)| !is_promoted(source));
        rows.extend(dropped.map(|(_, row)| row));
    }
    leave_out(parts, &rows);
    Ok(rows)
}

/// Finds the duplicates among the documents of a collection, in the order in which they may stay.
fn of_collection(
    recipe: &Recipe<'_>,
    sources: Vec<Source>,
    near: Option<f64>,
    stop: &AtomicBool,
) -> Result<Vec<(Source, QuarantineRow)>> {
    let sketch = |cut: Cut<'_>| {
        let row = if near.is_some() { cut.signed().row } else { cut.row };
        let sketch = Sketch {
            doc_id: row.doc_id.to_string(),
            content: duplicates::short(&row.content_hash),
            signature: row.signature.map(|signature| Box::new(ShortSignature::new(&signature))),
            bytes: row.bytes.unsigned_abs(),
        };
        (sketch, row.content_hash)
    };
    let sketches = recipe.cut_all(&sources, stop, sketch)?;
    // Documents that are not indexed for another reason.
    let indexed = sources.into_iter().zip(sketches).filter_map(|(source, sketch)| Some((source, sketch?)));
    let (sources, sketches): (Vec<Source>, Vec<(Sketch, String)>) = indexed.unzip();
    let (sketches, hashes): (Vec<Sketch>, Vec<String>) = sketches.into_iter().unzip();
    let found = duplicates::find(&sketches, near.unwrap_or(1.0), |wanted| {
        let wanted: Vec<Source> = wanted.iter().map(|&document| sources[document].clone()).collect();
        let words = recipe.cut_all(&wanted, stop, |cut| cut.shingles())?;
        Ok(words.into_iter().map(Option::unwrap_or_default).collect())
    })?;
    let rows =
        sources.into_iter().zip(hashes).zip(found).zip(&sketches).filter_map(|(((source, hash), found), sketch)| {
            let duplicate = found?;
            let of = sketches[duplicate.of].doc_id.clone();
            let jaccard = sketch.signature.as_ref().map(|_| duplicate.jaccard);
            let reason = Skip::Duplicate { of, jaccard };
            let row = QuarantineRow::from(&QuarantinedDocument::of(source.origin.clone(), reason, Some(hash)));
            Some((source, row))
        });
    Ok(rows.collect())
}

/// Moves documents from those to read to those that are not read.
pub(super) fn leave_out(parts: &mut [PartWork], rows: &[QuarantineRow]) {
    let rows: BTreeMap<&str, &QuarantineRow> = rows.iter().map(|row| (row.doc_id.as_str(), row)).collect();
    for part in parts {
        let dropped = part.sources.iter().filter_map(|source| rows.get(&*source.origin.doc_id).copied().cloned());
        part.passed_over.extend(dropped);
        part.sources.retain(|source| !rows.contains_key(&*source.origin.doc_id));
    }
}
