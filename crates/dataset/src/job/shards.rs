//! The job in pieces, for a scheduler: a plan, any number of processes that each build one shard, and one commit.
//!
//! The unit of work is the part, as in a single run. A [`Plan`] records the inputs of every part and, if the part
//! must be built, its shard. [`run_shard`] builds the parts of a shard in a folder of its own for each attempt, so
//! it can be killed, repeated, or run twice at the same time. Parts that any attempt has finished are not rebuilt.
//! [`commit`] takes each part from one attempt and publishes them together. The result has the same bytes as a
//! single run, because the bytes of a part follow from its inputs alone. A part that was not built from the inputs
//! in the plan is never used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_embed::{Embedder, ModelInfo, SparseModel};
use chunkmill_text::document::MALFORMED_FRONT_MATTER;
use serde::{Deserialize, Serialize};

use super::build::Builder;
use super::changes::{Comparison, DocumentChanges};
use super::estimate::{Estimate, estimate};
use super::event::{Event, Watcher};
use super::job::Job;
use super::leaving::leaving;
use super::paragraphs::SkippedBoilerplate;
use super::parts::{self, PartWork};
use super::report::{Report, SparseWork};
use super::reuse::Earlier;
use super::skipped::skipped;
use super::{dropped, inputs, publish};

use crate::corpus::{OtherFiles, Source};
use crate::dataset::{
    self, ChunkChanges, Counts, Dataset, FORMAT_VERSION, Manifest, Part, PartInputs, PartRecord, QuarantineRow, Staging,
};
use crate::storage::Location;

/// A plan of a run: the work to do, divided into shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Documents of the corpus, compared with the existing dataset.
    pub documents: DocumentChanges,
    /// Estimated work for the parts that must be built.
    pub estimate: Estimate,
    /// Number of shards.
    pub shards: usize,
    /// The parts, in order.
    pub parts: Vec<PlannedPart>,
    /// Manifest of the planned dataset. Its files and counts are not known yet.
    pub manifest: Manifest,
    /// Id of the snapshot that will be replaced, see [`Dataset::id`].
    pub base: Option<String>,
    /// Whether a shard fails if the model would truncate a chunk.
    pub deny_truncation: bool,
    /// Files below the roots that the globs do not take.
    #[serde(default)]
    pub other_files: OtherFiles,
    /// Documents that are left out because they are duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<QuarantineRow>,
    /// Paragraphs that are left out of what is embedded.
    #[serde(default, skip_serializing_if = "SkippedBoilerplate::is_empty")]
    pub skipped: SkippedBoilerplate,
}

/// A part of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPart {
    /// Inputs of the part.
    #[serde(flatten)]
    pub inputs: PartInputs,
    /// Number of documents, including quarantined ones.
    pub documents: u64,
    /// Size of the documents to read, in bytes.
    pub bytes: u64,
    /// Number of the shard that builds the part, from 1; `None` if the part exists already.
    pub shard: Option<usize>,
}

/// The result of [`run_shard`]: one line for the scheduler.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Receipt {
    /// Id of the plan, see [`Plan::id`].
    pub plan: String,
    /// Number of the shard, from 1.
    pub shard: usize,
    /// Number of shards in the plan.
    pub shards: usize,
    /// Number of parts in the shard.
    pub parts: usize,
    /// Number of parts that this attempt built; earlier attempts built the others.
    pub parts_made: usize,
    /// Number of documents in its parts.
    pub documents: u64,
    /// Number of chunks in its parts.
    pub chunks: u64,
    /// Number of texts that this attempt embedded.
    pub texts_embedded: usize,
    /// Whether the plan was already committed, which left nothing to do.
    pub committed: bool,
    /// Seconds that this attempt took.
    pub seconds: f64,
}

impl Plan {
    /// Returns the id of the plan: 16 hexadecimal digits. Plans that build the same in the same shards have the
    /// same id.
    pub fn id(&self) -> String {
        let Self { shards, parts, manifest, base, deny_truncation, .. } = self;
        let text = serde_json::to_string(&(shards, parts, manifest, base, deny_truncation)).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }

    /// Returns the parts of a shard with their numbers.
    fn shard(&self, shard: usize) -> impl Iterator<Item = (usize, &PlannedPart)> {
        self.parts.iter().enumerate().filter(move |(_, part)| part.shard == Some(shard))
    }

    fn promotions(&self) -> BTreeMap<String, String> {
        self.parts.iter().flat_map(|part| part.inputs.promotions.clone()).collect()
    }

    /// Returns whether a finished part is the one that the plan needs at this index.
    fn wants(&self, index: usize, record: &PartRecord) -> bool {
        let refused = self.deny_truncation && record.counts.is_truncated();
        !refused && self.parts.get(index).is_some_and(|planned| planned.inputs == record.inputs)
    }

    /// Returns the snapshot in `out` if it is the one that the plan builds.
    ///
    /// # Errors
    /// [`Error::Dataset`] if it is neither that snapshot nor the one that the plan was made for.
    fn committed(&self, out: &Location) -> Result<Option<Manifest>> {
        let found = Dataset::find(out)?;
        let base = found.as_ref().map(Dataset::id);
        let is_made = |manifest: &Manifest| {
            manifest.parts.len() == self.parts.len()
                && manifest.parts.iter().enumerate().all(|(index, record)| self.wants(index, record))
        };
        match found.map(|dataset| dataset.manifest().clone()).filter(is_made) {
            Some(manifest) => Ok(Some(manifest)),
            None if base == self.base => Ok(None),
            None => Err(Error::Dataset {
                path: out.path().to_owned(),
                problem: "is not the one that the plan was made for: it has changed since".to_owned(),
                help: "make a new plan".to_owned(),
            }),
        }
    }

    /// Rejects a plan of another release, which would build different files.
    fn check_release(&self) -> Result<()> {
        let now = (env!("CARGO_PKG_VERSION"), FORMAT_VERSION);
        if now == (self.manifest.tool_version.as_str(), self.manifest.format_version) {
            return Ok(());
        }
        let problem = format!("was made by chunkmill {}; this is {}", self.manifest.tool_version, now.0);
        Err(wrong(problem, "use the same program everywhere"))
    }

    /// Rejects a plan of another release, or for other settings or another model.
    fn check(&self, job: &Job, embedder: &dyn Embedder) -> Result<()> {
        let (here, there) = (embedder.info(), &self.manifest.model);
        let now = Manifest::new(&job.spec, job.admission, job.filter.inner(), here, job.output);
        self.check_release()?;
        let problem = if here.fingerprint != there.fingerprint {
            format!(
                "is for the model {} ({}); the model here has the fingerprint {}",
                there.id, there.fingerprint, here.fingerprint
            )
        } else if here.arithmetic != there.arithmetic {
            let (here, there) = (&here.arithmetic, &there.arithmetic);
            format!("is for vectors computed with {there}; this machine would compute them with {here}")
        } else if here.sparse != there.sparse {
            let name = |model: &ModelInfo| match &model.sparse {
                None => "none".to_owned(),
                Some(SparseModel { id, fingerprint, arithmetic, .. }) => format!("{id} ({fingerprint}, {arithmetic})"),
            };
            format!("is for the sparse model {}; the one here is {}", name(there), name(here))
        } else if self.manifest != now {
            "is for other settings".to_owned()
        } else {
            return Ok(());
        };
        Err(wrong(
            problem,
            "use the same program and model everywhere and, if processors differ, the same --cpu-isa, also for `plan`",
        ))
    }
}

fn wrong(problem: impl Into<String>, help: &str) -> Error {
    Error::setting("plan", problem, help)
}

/// Determines what [`run`](super::run) would do and divides the work into shards. Writes nothing.
///
/// # Errors
/// Any [`Error`] of finding, reading and embedding documents.
pub fn plan(job: &Job, out: &Location, embedder: &dyn Embedder, shards: usize, stop: &AtomicBool) -> Result<Plan> {
    let work = work(job, out, embedder, stop)?;
    let Work { manifest, base, documents, mut parts, to_embed, other_files, dropped, skipped } = work;
    share_out(&mut parts, shards);
    let estimate = estimate(job, embedder, &to_embed, &skipped, stop)?;
    let deny_truncation = job.deny_truncation;
    Ok(Plan { documents, estimate, shards, parts, manifest, base, deny_truncation, other_files, dropped, skipped })
}

/// The work of a run.
pub(super) struct Work {
    manifest: Manifest,
    base: Option<String>,
    documents: DocumentChanges,
    parts: Vec<PlannedPart>,
    /// Documents whose chunks have no vectors in the dataset.
    pub(super) to_embed: Vec<Source>,
    other_files: OtherFiles,
    dropped: Vec<QuarantineRow>,
    /// Paragraphs that are left out of what is embedded.
    pub(super) skipped: SkippedBoilerplate,
}

/// Finds the work of a run. Writes nothing.
pub(super) fn work(job: &Job, out: &Location, embedder: &dyn Embedder, stop: &AtomicBool) -> Result<Work> {
    let manifest = Manifest::new(&job.spec, job.admission, job.filter.inner(), embedder.info(), job.output);
    embedder.info().check_stored(job.output.embedding_type)?;
    let dataset = Dataset::find(out)?;
    let (mut parts, other_files) = parts::find(job, out, &parts::promotions(dataset.as_ref()))?;
    let deleted = leaving(job, out, dataset.as_ref(), &parts)?;
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    let dropped = dropped::drop_duplicates(job, sizer, &mut parts, stop)?;
    let skipped = skipped(job, sizer, parts.iter().flat_map(|part| &part.sources), stop)?;
    let recipe = inputs::InputRecipe::new(job, embedder.info(), &skipped);
    let earlier = dataset.clone().and_then(|dataset| Earlier::open(dataset, &manifest));
    let keeps_vectors = |source: &Source, content: Option<&str>| {
        let (id, content) = (&source.origin.doc_id, content.unwrap_or_default());
        earlier.as_ref().is_some_and(|earlier| earlier.skips(id, content, skipped.of(id, content)))
    };
    let mut comparison = Comparison::new(dataset.as_ref(), parts.len(), deleted);
    let mut to_embed: Vec<Source> = Vec::new();
    let mut planned = Vec::new();
    let mut before = dataset.iter().flat_map(|dataset| dataset.manifest().parts_with_files());
    for part in &mut parts {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let contents = part.look(&recipe)?;
        let before = before.next().flatten();
        let is_there = before.as_ref().is_some_and(|before| parts::is_usable(job, part, before));
        let same = comparison.part(part, &contents, before.as_ref(), is_there);
        let is_open = |((source, same), content): ((&Source, bool), &Option<String>)| {
            let is_kept = is_there || (same && keeps_vectors(source, content.as_deref()));
            (!is_kept).then(|| source.clone())
        };
        to_embed.extend(part.sources.iter().zip(same).zip(&contents).filter_map(is_open));
        let (inputs, documents, bytes) = (part.inputs.clone(), part.documents(), part.bytes());
        planned.push(PlannedPart { inputs, documents, bytes, shard: if is_there { None } else { Some(0) } });
    }
    let base = dataset.as_ref().map(Dataset::id);
    let documents = comparison.finish(None);
    Ok(Work { manifest, base, documents, parts: planned, to_embed, other_files, dropped, skipped })
}

/// Assigns each part that must be built to the shard with the least work so far, starting with the largest parts.
fn share_out(parts: &mut [PlannedPart], shards: usize) {
    let mut open: Vec<&mut PlannedPart> = parts.iter_mut().filter(|part| part.shard.is_some()).collect();
    open.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    // Further shards would get nothing.
    let shards = shards.min(open.len()).max(1);
    let mut loads: BTreeSet<(u64, usize)> = (1..=shards).map(|shard| (0, shard)).collect();
    for part in open {
        if let Some((load, shard)) = loads.pop_first() {
            part.shard = Some(shard);
            loads.insert((load + part.bytes.max(1), shard));
        }
    }
}

/// Builds a shard of a plan and leaves it for [`commit`]. Shards are numbered from 1. A shard may be repeated, or
/// run twice at the same time; after the commit this does nothing.
///
/// # Errors
/// Any [`Error`]; [`Error::Setting`] if the plan does not have this shard, if it is for another release, model or
/// settings, or if the documents have changed since it was made.
pub fn run_shard(
    job: &Job,
    out: &Location,
    embedder: &dyn Embedder,
    plan: &Plan,
    shard: usize,
    stop: &AtomicBool,
    watch: Watcher<'_>,
) -> Result<Receipt> {
    let started = Instant::now();
    if shard == 0 || shard > plan.shards {
        let shards = count(plan.shards, "shard");
        return Err(wrong(format!("has {shards}, but no shard {shard}"), "shards are numbered from 1"));
    }
    plan.check(job, embedder)?;
    let receipt = |parts: &[(usize, Part)], parts_made, texts_embedded, committed| {
        let sum = |count: fn(&Part) -> u64| parts.iter().map(|(_, part)| count(part)).sum();
        Receipt {
            plan: plan.id(),
            shard,
            shards: plan.shards,
            parts: plan.shard(shard).count(),
            parts_made,
            documents: sum(|part| part.record.counts.discovered),
            chunks: sum(|part| part.record.counts.chunks),
            texts_embedded,
            committed,
            seconds: started.elapsed().as_secs_f64(),
        }
    };
    let committed = |manifest: &Manifest| {
        let mine: BTreeSet<usize> = plan.shard(shard).map(|(index, _)| index).collect();
        let parts = manifest.parts_with_files().enumerate().filter(|(index, _)| mine.contains(index));
        let parts: Vec<_> = parts.filter_map(|(index, part)| Some((index, part?))).collect();
        receipt(&parts, 0, 0, true)
    };
    if let Some(manifest) = plan.committed(out)? {
        return Ok(committed(&manifest));
    }
    match make_shard(job, out, embedder, plan, shard, stop, watch) {
        Ok(AttemptResult { parts, new, texts_embedded }) => {
            let is_late = plan.committed(out)?.is_some();
            if is_late {
                dataset::forget_attempts(out, &plan.id());
            }
            Ok(receipt(&parts, new, texts_embedded, is_late))
        }
        // A commit in the meantime removes the folder of this attempt, which makes it fail.
        Err(error) => match plan.committed(out)? {
            Some(manifest) => Ok(committed(&manifest)),
            None => Err(error),
        },
    }
}

/// The result of an attempt.
struct AttemptResult {
    /// All parts of the shard.
    parts: Vec<(usize, Part)>,
    /// Number of parts that this attempt built.
    new: usize,
    /// Number of texts that were embedded for them.
    texts_embedded: usize,
}

fn make_shard(
    job: &Job,
    out: &Location,
    embedder: &dyn Embedder,
    plan: &Plan,
    shard: usize,
    stop: &AtomicBool,
    watch: Watcher<'_>,
) -> Result<AttemptResult> {
    let id = plan.id();
    let changed = |index| {
        let problem = format!("was made for other documents: part {index} has changed since");
        wrong(problem, "make a new plan; `chunkmill gc OUT --staging` removes what the shards of the old plan built")
    };
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    let recipe = inputs::InputRecipe::new(job, embedder.info(), &plan.skipped);
    let (mut all, _) = parts::find(job, out, &plan.promotions())?;
    if all.len() != plan.parts.len() {
        return Err(wrong("is for a different number of files", "make a new plan"));
    }
    dropped::leave_out(&mut all, &plan.dropped);
    let mut work: Vec<(usize, PartWork)> = Vec::new();
    for (index, planned) in plan.shard(shard) {
        let mut part = std::mem::take(&mut all[index]);
        part.look(&recipe)?;
        if part.inputs != planned.inputs {
            return Err(changed(index));
        }
        work.push((index, part));
    }
    drop(all);
    watch(parts::discovered(work.iter().map(|(_, part)| part)));

    // Parts that earlier attempts have finished.
    let mut finished: BTreeMap<usize, Part> = dataset::attempted(out, &id)?
        .into_iter()
        .filter(|(index, part)| plan.wants(*index, &part.record) && plan.parts[*index].shard == Some(shard))
        .collect();
    for (index, part) in &work {
        let Some(Counts { discovered, chunks, .. }) = finished.get(index).map(|part| part.record.counts) else {
            continue;
        };
        watch(Event::Kept { documents: discovered, bytes: part.bytes(), chunks });
    }
    work.retain(|(index, _)| !finished.contains_key(index));
    let new = work.len();
    let mut texts_embedded = 0;
    if new > 0 {
        let workspace = dataset::attempt(out, &id)?;
        let earlier = Dataset::find(out)?.and_then(|dataset| Earlier::open(dataset, &plan.manifest));
        let (workspace, manifest) = (&workspace, &plan.manifest);
        let builder = Builder { job, sizer, recipe, embedder, workspace, manifest, earlier, stop, watch };
        let built = builder.build(work)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        // A document changed while the shard was running.
        if let Some((index, _)) =
            built.parts.iter().find(|(index, part)| part.record.inputs != plan.parts[*index].inputs)
        {
            return Err(changed(*index));
        }
        workspace.sync()?;
        texts_embedded = built.texts_embedded;
        finished.extend(built.parts);
    }
    Ok(AttemptResult { parts: finished.into_iter().collect(), new, texts_embedded })
}

/// Publishes the parts that the shards of a plan built, as one snapshot. Repeating it does nothing.
///
/// # Errors
/// Any [`Error`]; [`Error::Dataset`] if a shard is not finished, or if the dataset is no longer the one that the
/// plan was made for.
pub fn commit(plan: &Plan, out: &Location, stop: &AtomicBool) -> Result<Report> {
    let started = Instant::now();
    plan.check_release()?;
    let id = plan.id();
    let mut staging = Staging::open(out)?;
    if let Some(manifest) = plan.committed(out)? {
        let quarantined = dataset::quarantined(out, &manifest)?;
        staging.discard()?;
        dataset::forget_attempts(out, &id);
        return report(plan, manifest, quarantined, out, None, started.elapsed());
    }
    let dataset = Dataset::find(out)?;
    let wants = |index: usize, part: &Part| plan.wants(index, &part.record);
    let before = dataset.iter().flat_map(|dataset| dataset.manifest().parts_with_files()).enumerate();
    let in_place =
        |(index, part): (usize, Option<Part>)| part.filter(|part| wants(index, part) && staging.is_in_place(part));
    let mut parts: Vec<Option<Part>> = before.map(in_place).take(plan.parts.len()).collect();
    parts.resize(plan.parts.len(), None);
    staging.keep(wants)?;
    staging.adopt(&id, wants)?;
    for (&index, part) in staging.finished() {
        parts[index].get_or_insert_with(|| part.clone());
    }
    let missing = plan.parts.iter().zip(&parts).filter(|(_, part)| part.is_none());
    let shards: BTreeSet<Option<usize>> = missing.map(|(planned, _)| planned.shard).collect();
    if shards.contains(&None) {
        return Err(Error::Dataset {
            path: out.path().to_owned(),
            problem: "lacks files that its manifest names".to_owned(),
            help: "the dataset is damaged: index the corpus again with --fresh".to_owned(),
        });
    }
    if !shards.is_empty() {
        let list: Vec<String> = shards.iter().flatten().map(|shard| format!("{shard}/{}", plan.shards)).collect();
        return Err(Error::Dataset {
            path: out.path().to_owned(),
            problem: format!("lacks the parts of these shards of the plan: {}", list.join(", ")),
            help: format!("chunkmill run --plan FILE --shard {} -o {out}", list[0]),
        });
    }
    let parts = parts.into_iter().flatten().collect();
    let (manifest, quarantined, chunks) = publish::publish(staging, plan.manifest.clone(), parts, false, stop)?;
    dataset::forget_attempts(out, &id);
    report(plan, manifest, quarantined, out, chunks, started.elapsed())
}

/// Creates the report of a commit of parts that other processes built.
fn report(
    plan: &Plan,
    manifest: Manifest,
    quarantined: Vec<QuarantineRow>,
    out: &Location,
    chunks: Option<ChunkChanges>,
    elapsed: Duration,
) -> Result<Report> {
    let (chunks_reused, stages) = (manifest.counts.chunks, [Duration::ZERO, Duration::ZERO, elapsed]);
    let (texts_embedded, texts_cached, tokens_read) = (0, 0, 0);
    Ok(Report {
        malformed_front_matter: publish::flagged(out, MALFORMED_FRONT_MATTER)?,
        manifest,
        quarantined,
        is_update: plan.base.is_some(),
        documents: plan.documents.clone(),
        chunks,
        other_files: plan.other_files.clone(),
        skipped: plan.skipped.clone(),
        chunks_reused,
        texts_embedded,
        texts_cached,
        tokens_read,
        sparse: SparseWork::default(),
        elapsed,
        stages,
    })
}
