//! The whole job, from discovery to commit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chunkmill_base::error::{Error, Result};
use chunkmill_embed::Embedder;
use chunkmill_text::document::MALFORMED_FRONT_MATTER;

use super::build::Builder;
use super::changes::Comparison;
use super::event::{Event, Watcher};
use super::job::Job;
use super::leaving::leaving;
use super::report::Report;
use super::reuse::Earlier;
use super::skipped::skipped;
use super::{dropped, inputs, parts, publish};
use crate::corpus;
use crate::dataset::{Counts, Dataset, Manifest, Part, Staging};
use crate::storage::Location;

/// Runs a job and commits its dataset to `out`.
///
/// # Errors
/// Any [`Error`]; the previous dataset is then unchanged. Setting `stop` ends the job with [`Error::Interrupted`]
/// at the next document or batch. Finished parts are kept for the next run.
pub fn run(
    job: &Job,
    out: &Location,
    embedder: &dyn Embedder,
    stop: &AtomicBool,
    watch: Watcher<'_>,
) -> Result<Report> {
    let started = Instant::now();
    embedder.info().check_stored(job.output.embedding_type)?;
    job.spec.encoding().load();
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    // Before the folder is opened as a dataset, which a folder of documents is not.
    corpus::check_apart(&job.roots, out)?;
    let mut staging = Staging::open(out)?;
    // A fresh run repairs a damaged dataset.
    let earlier = Dataset::find(out).or_else(|error| if job.fresh { Ok(None) } else { Err(error) })?;
    let (mut parts, other_files) = parts::find(job, out, &parts::promotions(earlier.as_ref()))?;
    let deleted = leaving(job, out, earlier.as_ref(), &parts)?;
    dropped::drop_duplicates(job, sizer, &mut parts, stop)?;
    let skipped = skipped(job, sizer, parts.iter().flat_map(|part| &part.sources), stop)?;
    watch(parts::discovered(parts.iter()));
    let manifest = Manifest::new(&job.spec, job.admission, job.filter.inner(), embedder.info(), job.output);

    // Parts that exist already and are still valid.
    let recipe = inputs::InputRecipe::new(job, embedder.info(), &skipped);
    let mut comparison = Comparison::new(earlier.as_ref(), parts.len(), deleted);
    let mut before: Vec<Option<Part>> =
        earlier.iter().flat_map(|dataset| dataset.manifest().parts_with_files()).collect();
    before.resize(parts.len(), None);
    let mut same = Vec::with_capacity(parts.len());
    for (part, before) in parts.iter_mut().zip(&before) {
        let contents = part.look(&recipe)?;
        let is_same = before.as_ref().is_some_and(|before| parts::is_usable(job, part, before));
        comparison.part(part, &contents, before.as_ref(), is_same);
        same.push(is_same);
    }
    let is_update = earlier.is_some();
    let reusable = earlier.as_ref().filter(|_| !job.fresh);
    let in_place = |(part, &is_same): (Option<Part>, &bool)| {
        part.filter(|part| is_same && !job.fresh && staging.is_in_place(part))
    };
    let mut finished: Vec<Option<Part>> = before.into_iter().zip(&same).map(in_place).collect();
    staging.keep(|index, part| {
        let is_open = finished.get(index).is_some_and(Option::is_none);
        !job.fresh && is_open && parts::is_usable(job, &parts[index], part)
    })?;
    for (&index, part) in staging.finished() {
        finished[index] = Some(part.clone());
    }
    let mut chunks_reused = 0;
    for (work, part) in parts.iter().zip(&finished) {
        let Some(Counts { discovered, chunks, .. }) = part.as_ref().map(|part| part.record.counts) else { continue };
        chunks_reused += chunks;
        watch(Event::Kept { documents: discovered, bytes: work.bytes(), chunks });
    }

    // The parts that must be built.
    let to_build: Vec<_> = parts.into_iter().enumerate().filter(|(index, _)| finished[*index].is_none()).collect();
    let reusable = reusable.filter(|_| !to_build.is_empty()).cloned();
    let reusable = reusable.and_then(|dataset| Earlier::open(dataset, &manifest));
    let (workspace, manifest_so_far) = (staging.workspace(), &manifest);
    let builder =
        Builder { job, sizer, recipe, embedder, workspace, manifest: manifest_so_far, earlier: reusable, stop, watch };
    let built = builder.build(to_build)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    for (index, part) in built.parts {
        finished[index] = Some(part);
    }

    let publishing = Instant::now();
    let (manifest, quarantined, chunks) =
        publish::publish(staging, manifest, finished.into_iter().flatten().collect(), job.fresh, stop)?;
    let [preparing, embedding, writing] = built.busy;
    Ok(Report {
        chunks,
        malformed_front_matter: publish::flagged(out, MALFORMED_FRONT_MATTER)?,
        manifest,
        documents: comparison.finish(Some(&quarantined)),
        quarantined,
        is_update,
        other_files,
        skipped,
        chunks_reused: chunks_reused + built.chunks_reused,
        texts_embedded: built.texts_embedded,
        texts_cached: built.texts_cached,
        tokens_read: built.tokens_read,
        sparse: built.sparse,
        elapsed: started.elapsed(),
        stages: [preparing, embedding, writing + publishing.elapsed()],
    })
}
