//! The job in pieces, for a scheduler: a plan, any number of processes that each make a shard of it, one commit.
//!
//! The unit of work is the part, as in a single run. A [`Plan`] says for every part what it is made from and, if it
//! is to be made, in which shard. [`run_shard`] makes a shard's parts in a folder of its own attempt, so it can be
//! killed, repeated, or run twice at once; what any attempt has finished is not made again. [`commit`] takes each part
//! from one attempt and publishes them together. All of it ends in the bytes of a single run, because a part's
//! bytes follow from its inputs alone; and what was not made from the plan's inputs is never taken.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::build::Builder;
use super::parts::{self, PartWork};
use super::reuse::Earlier;
use super::{Event, Job, Recipe, Report, Watcher, inputs, publish};
use crate::corpus::Source;
use crate::embed::{Batcher, Embedder, Role};
use crate::error::{Error, Result};
use crate::storage::Location;
use crate::store::{self, Counts, Dataset, FORMAT_VERSION, Manifest, Part, PartInputs, PartRecord, Staging, Table};

/// Most bytes of documents that are chunked for an estimate.
const SAMPLE_BYTES: u64 = 2 << 20;

/// Most documents for an estimate.
const SAMPLE_DOCUMENTS: usize = 64;

/// Time for measuring how fast the model is here.
const CALIBRATION: Duration = Duration::from_secs(2);

/// What a run would do, and how its work is shared out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The documents, compared with the dataset that is there.
    pub documents: Changes,
    /// What it takes to make the parts that are to be made.
    pub estimate: Estimate,
    /// How many shards the work is shared out to.
    pub shards: usize,
    /// The parts, in order.
    pub parts: Vec<PlannedPart>,
    /// What the dataset will be made with. Its files and counts are not known yet.
    pub manifest: Manifest,
    /// The snapshot that it will take the place of, see [`Dataset::id`].
    pub base: Option<String>,
    /// Whether a chunk that the model would cut stops a shard.
    pub deny_truncation: bool,
}

/// A part of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPart {
    /// What it is made from.
    #[serde(flatten)]
    pub inputs: PartInputs,
    /// Documents in it, quarantined ones included.
    pub documents: u64,
    /// Their size.
    pub bytes: u64,
    /// Which shard makes it, from 1; `None` if it is there already.
    pub shard: Option<usize>,
}

/// Documents of a corpus, compared with those of a dataset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// In the corpus.
    pub discovered: u64,
    /// In the corpus and not in the dataset.
    pub new: u64,
    /// In both, with different contents.
    pub changed: u64,
    /// In both, with the same contents.
    pub unchanged: u64,
    /// In the dataset only.
    pub deleted: u64,
    /// In the corpus, but known from the walk alone to be quarantined: too large, a symbolic link.
    pub passed_over: u64,
}

/// What making the parts will take, from a sample of the documents and a short trial of the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Documents whose texts are to be embedded.
    pub documents: u64,
    /// Their size.
    pub bytes: u64,
    /// Their chunks.
    pub chunks: u64,
    /// Tokens of these, in the chunk settings' encoding.
    pub tokens: u64,
    /// Tokens that the model will read, if all texts differ and none is in the cache.
    pub model_tokens: u64,
    /// Time on this machine, in one process.
    pub seconds: f64,
    /// The same with a static model, which is a table of vectors; 0 in plans of versions that had none.
    #[serde(default)]
    pub seconds_static: f64,
}

/// What [`run_shard`] says when it is done: one line for the scheduler.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Receipt {
    /// [`Plan::id`].
    pub plan: String,
    /// Which shard, from 1.
    pub shard: usize,
    /// Of how many.
    pub shards: usize,
    /// Parts that the shard consists of.
    pub parts: usize,
    /// Those of them that this attempt made; an earlier one had made the others.
    pub parts_made: usize,
    /// Documents in its parts.
    pub documents: u64,
    /// Chunks in its parts.
    pub chunks: u64,
    /// Texts that this attempt embedded.
    pub texts_embedded: usize,
    /// Whether the plan was committed already, so that nothing was left to do.
    pub committed: bool,
    /// Time that this attempt took.
    pub seconds: f64,
}

impl Plan {
    /// Identifies what the plan makes: 16 hexadecimal digits. Two plans that make the same in the same shards are the
    /// same plan.
    #[must_use]
    pub fn id(&self) -> String {
        let Self { shards, parts, manifest, base, deny_truncation, .. } = self;
        let text = serde_json::to_string(&(shards, parts, manifest, base, deny_truncation)).unwrap_or_default();
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }

    /// The parts of a shard, by their numbers.
    fn shard(&self, shard: usize) -> impl Iterator<Item = (usize, &PlannedPart)> {
        self.parts.iter().enumerate().filter(move |(_, part)| part.shard == Some(shard))
    }

    fn promotions(&self) -> BTreeMap<String, String> {
        self.parts.iter().flat_map(|part| part.inputs.promotions.clone()).collect()
    }

    /// Whether a finished part is what the plan wants there.
    fn wants(&self, index: usize, record: &PartRecord) -> bool {
        let refused = self.deny_truncation && record.counts.truncated > 0;
        !refused && self.parts.get(index).is_some_and(|planned| planned.inputs == record.inputs)
    }

    /// The snapshot in `out`, if it is the one that the plan makes.
    ///
    /// # Errors
    /// [`Error::Dataset`] if it is neither that nor the one that the plan was made for.
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
                problem: "is not the one that the plan was made for: it was changed since".to_owned(),
                help: "make a new plan".to_owned(),
            }),
        }
    }

    /// Refuses a plan of another release, which would make other files.
    fn check_release(&self) -> Result<()> {
        let now = (env!("CARGO_PKG_VERSION"), FORMAT_VERSION);
        if now == (self.manifest.tool_version.as_str(), self.manifest.format_version) {
            return Ok(());
        }
        let problem = format!("was made by chunkmill {}; this is {}", self.manifest.tool_version, now.0);
        Err(wrong(problem, "use the same program everywhere"))
    }

    /// Refuses a plan of another program, or for another model than the one at hand.
    fn check(&self, job: &Job, embedder: &dyn Embedder) -> Result<()> {
        let (here, there) = (embedder.info(), &self.manifest.model);
        let now = Manifest::new(&job.spec, job.admission, here, job.output);
        self.check_release()?;
        let problem = if here.fingerprint != there.fingerprint {
            format!("is for the model {} ({}); the one here has {}", there.id, there.fingerprint, here.fingerprint)
        } else if here.arithmetic != there.arithmetic {
            let (here, there) = (&here.arithmetic, &there.arithmetic);
            format!("is for vectors computed with {there}; they would be computed with {here} here")
        } else if self.manifest != now {
            "is not for these settings".to_owned()
        } else {
            return Ok(());
        };
        Err(wrong(
            problem,
            "use the same program and model everywhere, and on different processors the same --cpu-isa, also for `plan`",
        ))
    }
}

fn wrong(problem: impl Into<String>, help: &str) -> Error {
    Error::Setting { origin: "plan".to_owned(), problem: problem.into(), help: help.to_owned() }
}

/// Finds out what [`run`](super::run) would do, and shares the work out. Nothing is written.
///
/// # Errors
/// Any [`Error`] of finding, reading and embedding documents.
pub fn plan(job: &Job, out: &Location, embedder: &dyn Embedder, shards: usize, stop: &AtomicBool) -> Result<Plan> {
    let manifest = Manifest::new(&job.spec, job.admission, embedder.info(), job.output);
    let dataset = Dataset::find(out)?;
    let mut parts = parts::find(job, out, &parts::promotions(dataset.as_ref()))?;
    let recipe = inputs::Recipe::new(job, embedder.info());
    let mut known = dataset.as_ref().map(contents).transpose()?.unwrap_or_default();
    let keeps_vectors = dataset.clone().and_then(|dataset| Earlier::open(dataset, &manifest)).is_some();
    let mut documents = Changes::default();
    let mut to_embed: Vec<Source> = Vec::new();
    let mut planned = Vec::new();
    for (index, part) in parts.iter_mut().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let contents = part.look(&recipe)?;
        let there = dataset.as_ref().and_then(|dataset| dataset.manifest().part(index));
        let is_there = there.is_some_and(|there| parts::is_usable(job, part, &there));
        documents.passed_over += part.passed_over.len() as u64;
        part.passed_over.iter().for_each(|row| drop(known.remove(&row.doc_id)));
        for (source, content) in part.sources.iter().zip(contents) {
            let before = known.remove(&*source.doc_id);
            // A part that is there has no document that is not as it was, those that cannot be read included.
            let same = is_there || (before.is_some() && before == content);
            let count = if same {
                &mut documents.unchanged
            } else if before.is_some() {
                &mut documents.changed
            } else {
                &mut documents.new
            };
            *count += 1;
            let keeps = same && keeps_vectors;
            if !(is_there || keeps) {
                to_embed.push(source.clone());
            }
        }
        let (inputs, documents, bytes) = (part.inputs.clone(), part.documents(), part.bytes());
        planned.push(PlannedPart { inputs, documents, bytes, shard: if is_there { None } else { Some(0) } });
    }
    documents.discovered = planned.iter().map(|part| part.documents).sum();
    documents.deleted = known.len() as u64;
    share_out(&mut planned, shards);
    let estimate = estimate(job, embedder, &to_embed, stop)?;
    let base = dataset.as_ref().map(Dataset::id);
    let deny_truncation = job.deny_truncation;
    Ok(Plan { documents, estimate, shards, parts: planned, manifest, base, deny_truncation })
}

/// The content hash of each document of a dataset.
fn contents(dataset: &Dataset) -> Result<HashMap<String, String>> {
    let mut known = HashMap::new();
    for file in dataset.files(Table::Documents) {
        for batch in dataset.read_texts(file, ["doc_id", "content_hash"])? {
            let [ids, hashes] = batch?;
            let pairs = ids.iter().zip(hashes.iter()).filter_map(|(id, hash)| Some((id?.to_owned(), hash?.to_owned())));
            known.extend(pairs);
        }
    }
    Ok(known)
}

/// Gives each part that is to be made to the shard with the least to do so far, the largest parts first.
fn share_out(parts: &mut [PlannedPart], shards: usize) {
    let mut open: Vec<&mut PlannedPart> = parts.iter_mut().filter(|part| part.shard.is_some()).collect();
    open.sort_by_key(|part| std::cmp::Reverse(part.bytes));
    let mut loads: BTreeSet<(u64, usize)> = (1..=shards.max(1)).map(|shard| (0, shard)).collect();
    for part in open {
        if let Some((load, shard)) = loads.pop_first() {
            part.shard = Some(shard);
            loads.insert((load + part.bytes.max(1), shard));
        }
    }
}

/// Chunks a sample of the documents and embeds some of it.
fn estimate(job: &Job, embedder: &dyn Embedder, documents: &[Source], stop: &AtomicBool) -> Result<Estimate> {
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    let recipe = Recipe { spec: &job.spec, sizer, admission: job.admission, levels: None };
    let bytes: u64 = documents.iter().map(|source| source.bytes).sum();
    let every = documents.len().div_ceil(SAMPLE_DOCUMENTS).max(1);
    let (mut sampled, mut chunks, mut tokens, mut model_tokens) = (0, 0, 0, 0);
    let mut texts = Vec::new();
    let started = Instant::now();
    // Small ones first, so that a large one does not stand for all, unless there are only such.
    let mut sample: Vec<&Source> = documents.iter().step_by(every).collect();
    sample.sort_by_key(|source| source.bytes);
    for source in sample {
        if sampled > 0 && sampled + source.bytes > SAMPLE_BYTES {
            break;
        }
        sampled += source.bytes;
        let Ok(prepared) = recipe.prepare(source.clone())? else { continue };
        chunks += prepared.chunks.len() as u64;
        tokens += prepared.chunks.iter().map(|row| row.n_tokens.unsigned_abs()).sum::<u64>();
        texts.extend(prepared.texts);
    }
    let preparing = started.elapsed();
    for text in &texts {
        model_tokens += embedder.encode(text, Role::Document)?.ids.len() as u64;
    }
    let rate = speed(job, embedder, &texts, stop)?;
    let scale = |sum: u64| if sampled == 0 { 0 } else { mul_div(sum, bytes, sampled) };
    let model_tokens = scale(model_tokens);
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let [seconds, seconds_static] = if sampled == 0 {
        [0.0; 2]
    } else {
        let threads = rayon::current_num_threads() as f64;
        let preparing = preparing.as_secs_f64() * bytes as f64 / sampled as f64 / threads;
        [rate, STATIC_RATE * threads].map(|rate| preparing + model_tokens as f64 / rate)
    };
    let documents = documents.len() as u64;
    Ok(Estimate {
        documents,
        bytes,
        chunks: scale(chunks),
        tokens: scale(tokens),
        model_tokens,
        seconds,
        seconds_static,
    })
}

fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    u64::try_from(u128::from(a) * u128::from(b) / u128::from(c)).unwrap_or(u64::MAX)
}

/// Tokens per second that a thread reads with a static model: half of what was measured, since other tables are wider.
const STATIC_RATE: f64 = 5e6;

/// Tokens per second of the model on some texts.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn speed(job: &Job, embedder: &dyn Embedder, texts: &[String], stop: &AtomicBool) -> Result<f64> {
    let mut batcher = Batcher::new(embedder, job.batch_tokens);
    let mut run = |texts: &[String]| -> Result<(usize, Duration)> {
        let started = Instant::now();
        let tokens = batcher.embed(texts, Role::Document, stop, &|_, _| ())?.tokens_read;
        Ok((tokens, started.elapsed()))
    };
    // The first texts warm up threads and memory.
    let (warm_up, rest) = texts.split_at(texts.len().min(16));
    let (mut tokens, mut time) = run(warm_up)?;
    if rest.len() >= warm_up.len() {
        (tokens, time) = (0, Duration::ZERO);
        for texts in rest.chunks(128) {
            let (more, took) = run(texts)?;
            (tokens, time) = (tokens + more, time + took);
            if time > CALIBRATION {
                break;
            }
        }
    }
    Ok((tokens as f64 / time.as_secs_f64().max(1e-9)).max(1.0))
}

/// Makes a shard of a plan, from 1, and leaves it for [`commit`]. It may be repeated, and run twice at once; after the
/// commit it does nothing.
///
/// # Errors
/// Any [`Error`]; [`Error::Setting`] if the plan has no such shard, is for another program, model or settings, or the
/// documents are not what they were when it was made.
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
        return Err(wrong(format!("has {} shards, and no shard {shard}", plan.shards), "count from 1"));
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
        let parts: Vec<_> = plan.shard(shard).filter_map(|(index, _)| Some((index, manifest.part(index)?))).collect();
        receipt(&parts, 0, 0, true)
    };
    if let Some(manifest) = plan.committed(out)? {
        return Ok(committed(&manifest));
    }
    match make_shard(job, out, embedder, plan, shard, stop, watch) {
        Ok(Made { parts, new, texts_embedded }) => {
            let is_late = plan.committed(out)?.is_some();
            if is_late {
                store::forget_attempts(out, &plan.id());
            }
            Ok(receipt(&parts, new, texts_embedded, is_late))
        }
        // Whoever committed in the meantime has removed the folder under this attempt.
        Err(error) => match plan.committed(out)? {
            Some(manifest) => Ok(committed(&manifest)),
            None => Err(error),
        },
    }
}

/// What came of an attempt.
struct Made {
    /// All parts of the shard.
    parts: Vec<(usize, Part)>,
    /// How many of them this attempt made.
    new: usize,
    /// How many texts were embedded for that.
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
) -> Result<Made> {
    let id = plan.id();
    let changed = |index| {
        let problem = format!("was made from other documents than are there now, in part {index}");
        wrong(
            problem,
            "make a new plan; what shards of the old one made is then of no use: `chunkmill gc OUT --staging` removes it",
        )
    };
    let sizer = job.spec.sizer(Some(embedder.counter()))?;
    let recipe = inputs::Recipe::new(job, embedder.info());
    let mut all = parts::find(job, out, &plan.promotions())?;
    if all.len() != plan.parts.len() {
        return Err(wrong("is for another number of files", "make a new plan"));
    }
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

    // What an attempt before this one has finished.
    let mut finished: BTreeMap<usize, Part> = store::attempted(out, &id)?
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
        let workspace = store::attempt(out, &id)?;
        let earlier = Dataset::find(out)?.and_then(|dataset| Earlier::open(dataset, &plan.manifest));
        let (workspace, manifest) = (&workspace, &plan.manifest);
        let builder = Builder { job, sizer, recipe, embedder, workspace, manifest, earlier, stop, watch };
        let built = builder.build(work)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        // A document that changed while it was at work.
        if let Some((index, _)) =
            built.parts.iter().find(|(index, part)| part.record.inputs != plan.parts[*index].inputs)
        {
            return Err(changed(*index));
        }
        workspace.sync()?;
        texts_embedded = built.texts_embedded;
        finished.extend(built.parts);
    }
    Ok(Made { parts: finished.into_iter().collect(), new, texts_embedded })
}

/// Publishes what the shards of a plan made as one snapshot. Doing it again does nothing.
///
/// # Errors
/// Any [`Error`]; [`Error::Dataset`] if a shard is not finished, or the dataset is no longer the one that the plan
/// was made for.
pub fn commit(plan: &Plan, out: &Location, stop: &AtomicBool) -> Result<Report> {
    let started = Instant::now();
    plan.check_release()?;
    let id = plan.id();
    let mut staging = Staging::open(out)?;
    if let Some(manifest) = plan.committed(out)? {
        let quarantined = store::quarantined(out, &manifest)?;
        staging.discard()?;
        store::forget_attempts(out, &id);
        return Ok(Report::of_commit(manifest, quarantined, started.elapsed()));
    }
    let dataset = Dataset::find(out)?;
    let wants = |index: usize, part: &Part| plan.wants(index, &part.record);
    let in_place = |index| {
        let part = dataset.as_ref()?.manifest().part(index)?;
        (wants(index, &part) && staging.is_in_place(&part)).then_some(part)
    };
    let mut parts: Vec<Option<Part>> = (0..plan.parts.len()).map(in_place).collect();
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
            problem: format!("lacks what these shards of the plan make: {}", list.join(", ")),
            help: format!("chunkmill run --plan FILE --shard {} -o {out}", list[0]),
        });
    }
    let parts = parts.into_iter().flatten().collect();
    let (manifest, quarantined) = publish::publish(staging, plan.manifest.clone(), parts, stop)?;
    store::forget_attempts(out, &id);
    Ok(Report::of_commit(manifest, quarantined, started.elapsed()))
}
