//! Paragraphs that stand in many documents, which a run leaves out of what is embedded. Whether a paragraph is one of them
//! depends on all documents, so they are found before anything is embedded, and all documents are cut once more than
//! without. Where they are in a document is an input of its part: if another document makes a paragraph one of them, the
//! part is built again, and parts of other documents are not.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use chunkmill_base::error::Result;
use chunkmill_text::tokens::Sizer;
use rayon::prelude::*;

use super::job::Job;
use super::paragraphs::{ParagraphHash, ParagraphPlace, SkippedBoilerplate, SkippedRanges};
use super::prepare::Recipe;
use crate::corpus::Source;
use crate::dataset::BoilerplateRow;

/// Finds the paragraphs that stand in as many documents as the job says. Documents that are not indexed do not count.
/// Memory is about 40 bytes for each paragraph.
pub(super) fn skipped<'s>(
    job: &Job,
    sizer: Sizer<'_>,
    sources: impl Iterator<Item = &'s Source>,
    stop: &AtomicBool,
) -> Result<SkippedBoilerplate> {
    let Some(least) = job.skip_boilerplate else { return Ok(SkippedBoilerplate::default()) };
    let recipe = Recipe { spec: &job.spec, sizer, admission: job.admission, levels: None };
    let sources: Vec<Source> = sources.cloned().collect();
    let found = recipe.cut_all(&sources, stop, |cut| {
        let places = cut.paragraphs();
        (cut.row.content_hash, places)
    })?;
    let of_document = |(_, places): &(String, Vec<ParagraphPlace>)| {
        // Once for each document.
        places.iter().map(|place| place.hash).collect::<BTreeSet<_>>()
    };
    let mut all: Vec<ParagraphHash> = found.iter().flatten().flat_map(of_document).collect();
    all.par_sort_unstable();
    let often = all.chunk_by(|a, b| a == b).filter(|same| same.len() as u64 >= least);
    let often: Vec<ParagraphHash> = often.map(|same| same[0]).collect();
    drop(all);
    let ranges = |(source, found): (Source, Option<(String, Vec<ParagraphPlace>)>)| {
        let (content_hash, mut places) = found?;
        places.retain(|place| often.binary_search(&place.hash).is_ok());
        places.sort_unstable_by_key(|place| place.start);
        let ranges: Vec<BoilerplateRow> =
            places.iter().map(|place| (place.start as usize..place.end as usize).into()).collect();
        (!ranges.is_empty()).then(|| (source.origin.doc_id.to_string(), SkippedRanges { content_hash, ranges }))
    };
    let documents = sources.into_iter().zip(found).filter_map(ranges).collect();
    Ok(SkippedBoilerplate { paragraphs: often.len() as u64, documents })
}
