//! Runs a plan: builds, times and queries every dataset and writes its record, one after the other.
//!
//! A run is a folder:
//!
//! ```text
//! RUN/
//!   run.json        the run: labels, plan, machine
//!   records/        one file per finished dataset
//!   datasets/       the datasets, if they are kept
//!   .chunkmill-work/  work in progress; removed at the end
//!   report.*        the result
//! ```
//!
//! An interrupted run resumes: a dataset is not built again if it has a record of the same documents, questions
//! and settings.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use chunkmill::chunk::Pooling;
use chunkmill::config::{CacheFolder, Config, EmbeddingOptions, Options};
use chunkmill::embed::Engine;
use chunkmill::error::{Error, Result};
use chunkmill::safely;
use chunkmill::search::QuestionVectors;
use chunkmill::value::count;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::files::{refuse_inside, remove, remove_file, replace};
use crate::data::left_out::LeftOut;
use crate::data::record::{self, Answer, Elimination, FORMAT_VERSION, Record, VariantRecord};
use crate::data::report::{Environment, IndexCost, Spread};
use crate::labels::set::{Corpus, LabelSet, Place, PlaceCheck, PlaceState, Query, SET, corpus_of, queries_of};
use crate::run::plan::{Build, Plan, PlannedCell, Timing, Variant};
use crate::run::race::Race;
use crate::run::worker::{
    AskReply, AskRequest, ChunkReply, ChunkRequest, IndexReply, IndexRequest, QueryVectors, ReadReply, ReadRequest,
    Request, Way, delegate,
};
use crate::score::judge::{Chunks, Judge, ScoringOptions};

/// The run's plan, in its folder.
const FILE: &str = "run.json";

/// The folder of work in progress.
const WORK: &str = ".chunkmill-work";

/// A run with more cells, or a cell with more hits, is damaged.
const MOST_CELLS: usize = 100_000;
const MOST_HITS: usize = 1_000_000;

/// The lock file, locked while a sweep writes.
const LOCK: &str = ".lock";

/// A run's plan as stored: what a report needs in addition to the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// When it was last started, as RFC 3339.
    pub started: String,
    /// The command line, without the path of the program.
    pub command: Vec<String>,
    /// The machine.
    pub environment: Environment,
    /// Folder of the labels.
    pub labels: PathBuf,
    /// Hashes of the questions and of the documents.
    pub hashes: [String; 2],
    /// How answers are scored.
    pub scoring: ScoringOptions,
    /// The datasets.
    pub builds: Vec<RunBuild>,
    /// The cells, each with the positions of its build and variant.
    pub cells: Vec<RunCell>,
    /// The settings that are not tried, with the reasons.
    pub left_out: Vec<LeftOut>,
}

/// A dataset of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunBuild {
    /// Its name.
    pub name: String,
    /// The key of its record.
    pub key: String,
    /// Its settings, without those of searches.
    pub options: Options,
    /// The ways to search it.
    pub variants: Vec<Way>,
}

impl RunBuild {
    /// Returns its record, if it has been measured.
    fn record(&self, folder: &Path, labelled: &Labelled) -> Option<Record> {
        Record::find(folder, &self.name, &self.key, self.variants.len(), labelled.labels.queries.len())
    }
}

/// A cell of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCell {
    /// Its id.
    pub id: String,
    /// Position of its build.
    pub build: usize,
    /// Position of its variant.
    pub variant: usize,
    /// Number of the best chunks that are taken.
    pub k: usize,
}

/// A set of labels, checked against its corpus.
#[derive(Debug)]
pub struct Labelled {
    /// The labels.
    pub labels: LabelSet,
    /// The documents.
    pub corpus: Corpus,
    /// The state of every place of the references.
    pub checked: Vec<PlaceCheck>,
    /// Hashes of the questions and of the documents.
    pub hashes: [String; 2],
}

impl Labelled {
    /// Reads a set and its corpus.
    ///
    /// # Errors
    /// Those of [`LabelSet::read`] and [`LabelSet::corpus`].
    pub fn read(path: &Path) -> Result<Self> {
        Self::of(LabelSet::read(path)?)
    }

    /// Reads a set whose documents may have changed since it fitted them, and its corpus.
    ///
    /// # Errors
    /// Those of [`LabelSet::read_changed`] and [`LabelSet::corpus`].
    pub fn read_changed(path: &Path) -> Result<Self> {
        Self::of(LabelSet::read_changed(path)?)
    }

    fn of(labels: LabelSet) -> Result<Self> {
        let corpus = labels.corpus()?;
        let checked = labels.check(&corpus);
        let file = queries_of(&labels.path);
        let queries = blake3::hash(&fs::read(&file).map_err(Error::named(&file, SET))?);
        let mut documents = blake3::Hasher::new();
        for (id, text) in &corpus.texts {
            documents.update(id.as_bytes()).update(&[0]).update(blake3::hash(text.as_bytes()).as_bytes());
        }
        let short = |hash: blake3::Hash| hash.to_hex()[..32].to_owned();
        Ok(Self { labels, corpus, checked, hashes: [short(queries), short(documents.finalize())] })
    }

    /// Returns whether any question can be scored.
    pub fn has_evidence(&self) -> bool {
        self.labels.scored(&self.checked).iter().any(|references| !references.is_empty())
    }

    /// Refuses labels of which no question can be scored, so this is noticed before hours have passed.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the first reference that does not fit.
    pub fn require_evidence(&self) -> Result<()> {
        if self.has_evidence() {
            return Ok(());
        }
        let first = self.checked.iter().find(|checked| checked.state.has_drifted()).map(|first| {
            let (Query { id, .. }, Place { doc_id, .. }) = first.of(&self.labels);
            match &first.state {
                PlaceState::NoDocument => format!(": `{id}` names {}", self.corpus.missing(doc_id)),
                state => format!(": `{id}` names `{doc_id}`, but {}", state.describe()),
            }
        });
        Err(Error::setting(
            self.labels.path.display().to_string(),
            format!("has no question whose evidence is in its corpus{}", first.unwrap_or_default()),
            "`chunkmill-eval verify` shows the state of each reference",
        ))
    }
}

impl Run {
    /// Creates a run of a plan over labels. `models` identifies, for each build, everything that decides its
    /// vectors.
    #[must_use]
    pub fn new(plan: &Plan, labelled: &Labelled, models: &[String], command: Vec<String>, started: String) -> Self {
        let depth = plan.scoring.depth(plan.cells.iter().map(|cell| cell.k));
        let program = program();
        let build = |(build, model): (&Build, &String)| {
            let way = |variant: &Variant| Way {
                name: variant.name.clone(),
                options: variant.options.clone(),
                stored_as: variant.stored_as.to_string(),
            };
            let variants: Vec<Way> = build.variants.iter().map(way).collect();
            let made_from = format!(
                "{FORMAT_VERSION} {program} {model} {} {variants:?} {depth} {:?} {:?} {:?} {:?} {:?}",
                build.key(),
                plan.race.then_some(&plan.scoring),
                plan.scoring.budgets,
                labelled.hashes,
                plan.timing,
                // Threads do not change results, but they change times.
                (plan.timing.repeats > 0).then_some((build.options.run.threads, build.options.embedding.batch_tokens)),
            );
            let key = blake3::hash(made_from.as_bytes()).to_hex()[..32].to_owned();
            RunBuild { name: build.name.clone(), key, options: build.options.clone(), variants }
        };
        let cell = |PlannedCell { id, build, variant, k }: &PlannedCell| RunCell {
            id: id.clone(),
            build: *build,
            variant: *variant,
            k: *k,
        };
        let labels = &labelled.labels.path;
        Self {
            format_version: FORMAT_VERSION,
            started,
            command,
            environment: environment(),
            labels: fs::canonicalize(labels).unwrap_or_else(|_| labels.clone()),
            hashes: labelled.hashes.clone(),
            scoring: plan.scoring.clone(),
            builds: plan.builds.iter().zip(models).map(build).collect(),
            cells: plan.cells.iter().map(cell).collect(),
            left_out: plan.left_out.clone(),
        }
    }

    /// Says what a run in a folder has that this one does not have. Its report would be lost, because the records of this
    /// run do not give it. `None` if there is nothing.
    pub fn lost(&self, folder: &Path) -> Option<String> {
        if !Self::is_in(folder) {
            return None;
        }
        let Ok(earlier) = Self::read(folder) else {
            return Some("it is of another version of this program".to_owned());
        };
        let others: Vec<&str> = ["questions", "documents"]
            .into_iter()
            .zip(self.hashes.iter().zip(&earlier.hashes))
            .filter_map(|(name, (now, before))| (now != before).then_some(name))
            .collect();
        if !others.is_empty() {
            return Some(format!("it is of other {}", others.join(" and ")));
        }
        let cells: HashMap<&str, &RunCell> = self.cells.iter().map(|cell| (cell.id.as_str(), cell)).collect();
        let same: Vec<Option<&&RunCell>> = earlier.cells.iter().map(|cell| cells.get(cell.id.as_str())).collect();
        let absent = same.iter().filter(|cell| cell.is_none()).count();
        if absent > 0 {
            let all = count(same.len(), "setting");
            return Some(format!("{absent} of its {all} {} not tried now", if absent == 1 { "is" } else { "are" }));
        }
        let key = |run: &Self, cell: &RunCell| run.builds[cell.build].key.clone();
        let mut pairs = earlier.cells.iter().zip(same.into_iter().flatten());
        if pairs.any(|(before, now)| key(&earlier, before) != key(self, now)) {
            return Some(
                "it was measured in another way, or by another version of this program or its model".to_owned(),
            );
        }
        (earlier.scoring != self.scoring).then(|| "it was scored by other rules".to_owned())
    }

    /// Returns whether a folder contains a run.
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// Reads the plan of the run in a folder.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is none, or the file is not one.
    pub fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(FILE);
        let wrong = |problem: String| {
            Error::setting(file.display().to_string(), problem, "name the folder that `chunkmill-eval sweep -o` wrote")
        };
        let text = safely::read(&file).map_err(|error| wrong(error.to_string()))?;
        let run: Self = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if run.format_version != FORMAT_VERSION {
            return Err(wrong(format!("has format {}; this program reads {FORMAT_VERSION}", run.format_version)));
        }
        run.scoring.check(&file.display().to_string())?;
        let is_cell = |cell: &RunCell| {
            let build = run.builds.get(cell.build);
            build.is_some_and(|build| cell.variant < build.variants.len()) && (1..=MOST_HITS).contains(&cell.k)
        };
        if run.cells.len() > MOST_CELLS || !run.cells.iter().all(is_cell) {
            return Err(wrong("is damaged: a cell belongs to no dataset, or is out of range".to_owned()));
        }
        Ok(run)
    }
}

/// An event of a running sweep.
#[derive(Debug)]
pub enum Event<'a> {
    /// One pass over the documents was shared by several settings: the number of settings, and of tokens read.
    Read(usize, u64),
    /// A dataset starts: its position from 1, the number of datasets, and its name.
    Begun(usize, usize, &'a str),
    /// The dataset already has a record.
    Kept,
    /// The dataset was built and queried.
    Done(&'a Record),
}

/// Settings of a sweep that are not part of its plan.
#[derive(Debug, Clone, Default)]
pub struct SweepSettings {
    /// Whether the datasets stay in the run's folder.
    pub keep_datasets: bool,
    /// No dataset except the first is started if the sweep would then take longer than this, estimated from the time
    /// per dataset so far. The sweep has its own clock, so what a person did before it does not count.
    pub limit: Option<Duration>,
}

/// Loads each model once, so a wrong name is noticed before hours have passed. Returns, for each build, what
/// decides its vectors.
///
/// # Errors
/// Those of loading a model.
pub fn check_models(plan: &Plan) -> Result<Vec<String>> {
    let mut known = Vec::new();
    let mut models = Vec::new();
    for Build { options, .. } in &plan.builds {
        let config = options.clone().resolve()?;
        let Config { backend, model, query_model, sparse_model, service, service_query_model, .. } = config.clone();
        let wanted = (backend, model, query_model, sparse_model, service, service_query_model);
        let at = if let Some(at) = known.iter().position(|(other, _)| *other == wanted) {
            at
        } else {
            let info = config.embedder()?.info().clone();
            tracing::info!(
                "model {}: {} dimensions, reads {} tokens, {}",
                info.id,
                info.dim,
                info.max_tokens,
                info.precision
            );
            known.push((wanted, info.identity().join(" ")));
            known.len() - 1
        };
        models.push(known[at].1.clone());
    }
    Ok(models)
}

/// Builds and queries every dataset of a plan that has no record yet. Returns how many have one now: all of them,
/// or those for which there was time.
///
/// # Errors
/// The error of the first dataset that fails; the records of earlier datasets stay. [`Error::Locked`] if another
/// sweep writes to the folder. Those of [`Labelled::require_evidence`].
pub fn sweep(
    plan: &Plan,
    run: &Run,
    folder: &Path,
    labelled: &Labelled,
    settings: &SweepSettings,
    watch: &mut dyn FnMut(Event<'_>),
) -> anyhow::Result<usize> {
    labelled.require_evidence()?;
    let _lock = begin(run, folder, &labelled.labels)?;
    let work = folder.join(WORK);
    remove(&work)?;
    read_once(plan, run, folder, labelled, watch)?;
    let judge = Judge::new(&labelled.labels, &labelled.corpus, &labelled.checked, plan.scoring.duplicates)?;
    let sources = judge.sources(labelled.labels.queries.len());
    let mut race = plan.race.then(|| Race::new(&judge, &plan.scoring, plan.cells.len()));
    // The questions are embedded once for each model.
    let mut embedded: Vec<(&EmbeddingOptions, QueryVectors)> = Vec::new();
    let (started, mut made) = (Instant::now(), 0);
    for (at, (build, run_build)) in plan.builds.iter().zip(&run.builds).enumerate() {
        let expected = started.elapsed() / made.max(1);
        if made > 0 && settings.limit.is_some_and(|limit| started.elapsed() + expected > limit) {
            return Ok(at);
        }
        watch(Event::Begun(at + 1, plan.builds.len(), &build.name));
        let kept = folder.join("datasets").join(record::file_name(&build.name));
        let is_kept = !settings.keep_datasets || kept.exists();
        let record = run_build.record(folder, labelled).filter(|_| is_kept);
        if let Some(record) = record {
            if let Some(race) = &mut race {
                lead(race, plan, at, &record);
            }
            watch(Event::Kept);
            continue;
        }
        let known = embedded.iter().position(|(options, _)| **options == build.options.embedding);
        let vectors = known.map(|at| &embedded[at].1);
        let step = Step {
            plan,
            build: (at, build),
            run_build,
            labelled,
            sources: &sources,
            work: &work,
            vectors,
            race: race.as_ref(),
        };
        let (record, dataset, vectors) = step.measure().with_context(|| format!("cell `{}` failed", build.name))?;
        embedded.extend(vectors.filter(|_| known.is_none()).map(|vectors| (&build.options.embedding, vectors)));
        if settings.keep_datasets {
            remove(&kept)?;
            fs::create_dir_all(folder.join("datasets")).map_err(Error::io("create", &kept))?;
            fs::rename(&dataset, &kept).map_err(Error::io("move a dataset to", &kept))?;
        }
        record.write(folder)?;
        remove(&work)?;
        if let Some(race) = &mut race {
            lead(race, plan, at, &record);
        }
        made += 1;
        watch(Event::Done(&record));
    }
    Ok(plan.builds.len())
}

/// Adds to a race the settings of a dataset that were asked all questions.
fn lead(race: &mut Race<'_>, plan: &Plan, build: usize, record: &Record) {
    let chunks = Chunks::new(race.judge(), &record.documents, &record.chunks);
    for cell in plan.cells.iter().filter(|cell| cell.build == build) {
        let variant = &record.variants[cell.variant];
        if variant.dropped.is_none() {
            let answers: Vec<Option<Answer>> = variant.answers.iter().cloned().map(Some).collect();
            let values = race.values(&chunks, &answers, cell.k);
            race.finish(&cell.id, values);
        }
    }
}

/// Embeds the documents once for all settings with late pooling that are not built yet, and leaves their vectors
/// in the cache. With late pooling, vectors are computed from a document's token states, whatever its chunks are,
/// so one pass is enough. Does nothing if runs are timed, because timed runs do not read the cache.
fn read_once(
    plan: &Plan,
    run: &Run,
    folder: &Path,
    labelled: &Labelled,
    watch: &mut dyn FnMut(Event<'_>),
) -> anyhow::Result<()> {
    if plan.timing.repeats > 0 {
        return Ok(());
    }
    let mut together: Vec<Vec<Options>> = Vec::new();
    for (build, run_build) in plan.builds.iter().zip(&run.builds) {
        let config = build.options.clone().resolve()?;
        let is_late = config.spec.pooling() == Pooling::Late && config.cache.is_some();
        if !is_late || run_build.record(folder, labelled).is_some() {
            continue;
        }
        let alike = |options: &&mut Vec<Options>| options[0].embedding == build.options.embedding;
        match together.iter_mut().find(alike) {
            Some(options) => options.push(build.options.clone()),
            None => together.push(vec![build.options.clone()]),
        }
    }
    for options in together.into_iter().filter(|options| options.len() > 1) {
        let settings = options.len();
        let request = Request::Read(ReadRequest { corpus: corpus_of(&labelled.labels.path), options });
        let ReadReply { tokens_read } = delegate(&request)?;
        watch(Event::Read(settings, tokens_read));
    }
    Ok(())
}

/// Starts a run in a folder, which is locked until the result is dropped.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be written, [`Error::Setting`] if it contains something else, [`Error::Locked`] if
/// another run uses it.
pub(crate) fn begin(run: &Run, folder: &Path, labels: &LabelSet) -> Result<fs::File> {
    refuse_inside(folder, &corpus_of(&labels.path))?;
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    refuse_foreign(folder)?;
    let lock = lock(folder)?;
    // A report of an earlier plan must not be taken for this one's.
    remove_file(&folder.join(crate::data::report::FILE))?;
    let json = serde_json::to_vec_pretty(run).map_err(|error| Error::io("write", folder.join(FILE))(error.into()))?;
    replace(&folder.join(FILE), &json)?;
    Ok(lock)
}

/// Refuses a folder with other contents than a run.
fn refuse_foreign(folder: &Path) -> Result<()> {
    if Run::is_in(folder) {
        return Ok(());
    }
    let mut entries = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    if entries.any(|entry| entry.is_ok_and(|entry| entry.file_name() != LOCK)) {
        return Err(Error::setting(
            folder.display().to_string(),
            "contains something other than a run of a sweep",
            "name a new or empty folder with -o",
        ));
    }
    Ok(())
}

/// Locks a folder, so only one sweep writes to it at a time. The operating system releases the lock when the
/// process ends.
fn lock(folder: &Path) -> Result<fs::File> {
    let path = folder.join(LOCK);
    let file = safely::open_to_lock(&path).map_err(Error::io("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            Err(Error::Locked { path: folder.to_owned(), holder: "another sweep".to_owned() })
        }
        Err(fs::TryLockError::Error(error)) => Err(Error::io("lock", &path)(error)),
    }
}

/// A way to search in a race.
struct Lane {
    found: VariantRecord,
    /// The answers, by question of the set.
    answers: Vec<Option<Answer>>,
    search_ms: Vec<Option<f64>>,
    dropped: Option<Elimination>,
}

impl Lane {
    fn new(name: &str, queries: usize) -> Self {
        let found = VariantRecord { name: name.to_owned(), ..VariantRecord::default() };
        Self { found, answers: vec![None; queries], search_ms: vec![None; queries], dropped: None }
    }

    /// Adds the answers to the questions of a stage.
    fn add(&mut self, stage: &[usize], found: VariantRecord) {
        for (&at, (answer, ms)) in stage.iter().zip(found.answers.into_iter().zip(found.search_ms)) {
            (self.answers[at], self.search_ms[at]) = (Some(answer), Some(ms));
        }
        self.found.mode = found.mode;
    }

    fn record(self) -> VariantRecord {
        let answers = if self.dropped.is_some() { Vec::new() } else { self.answers.into_iter().flatten().collect() };
        let search_ms = self.search_ms.into_iter().flatten().collect();
        VariantRecord { answers, search_ms, dropped: self.dropped, ..self.found }
    }
}

/// A dataset that is being measured.
struct Step<'a> {
    plan: &'a Plan,
    /// The dataset, and its position in the plan.
    build: (usize, &'a Build),
    run_build: &'a RunBuild,
    labelled: &'a Labelled,
    /// The documents that answer each question, by id.
    sources: &'a [Vec<String>],
    work: &'a Path,
    vectors: Option<&'a QueryVectors>,
    race: Option<&'a Race<'a>>,
}

impl Step<'_> {
    /// Returns the record, the path of the dataset, and the questions as vectors if they were needed.
    fn measure(&self) -> anyhow::Result<(Record, PathBuf, Option<QueryVectors>)> {
        let out = self.work.join("dataset");
        let runs = self.make(&out)?;
        let mut peak_rss = BTreeMap::new();
        let mut peak = |stage: &str, bytes: Option<u64>| {
            if let Some(bytes) = bytes {
                let highest = peak_rss.entry(stage.to_owned()).or_insert(0);
                *highest = bytes.max(*highest);
            }
        };
        // Chunking alone is measured in a separate pass only if costs are measured.
        if self.plan.timing.repeats > 0 {
            let chunked: ChunkReply = delegate(&self.chunk())?;
            peak("chunk", chunked.peak_rss);
        }
        peak("index", runs.iter().filter_map(|run| run.peak_rss).max());
        let asked = match self.race {
            Some(race) => self.ask_in_stages(&out, race)?,
            None => self.ask(&out, None, &self.run_build.variants)?,
        };
        peak("search", asked.peak_rss);
        let record = Record {
            format_version: FORMAT_VERSION,
            key: self.run_build.key.clone(),
            build: self.build.1.name.clone(),
            index: (self.plan.timing.repeats > 0).then(|| cost(&runs)),
            dataset: runs.into_iter().next_back().context("no run")?.dataset,
            peak_rss,
            documents: asked.documents,
            chunks: asked.chunks,
            embed_ms: asked.vectors.as_ref().map_or_else(Vec::new, |vectors| vectors.embed_ms.clone()),
            variants: asked.variants,
        };
        Ok((record, out, asked.vectors))
    }

    fn corpus(&self) -> PathBuf {
        corpus_of(&self.labelled.labels.path)
    }

    fn chunk(&self) -> Request {
        Request::Chunk(ChunkRequest { corpus: self.corpus(), options: Box::new(self.build.1.options.clone()) })
    }

    fn index(&self, options: Options, out: PathBuf) -> Request {
        Request::Index(IndexRequest { corpus: self.corpus(), options: Box::new(options), out })
    }

    /// Asks some questions, or all of them, in some of the ways to search.
    fn ask(&self, dataset: &Path, only: Option<&[usize]>, variants: &[Way]) -> anyhow::Result<AskReply> {
        let queries = &self.labelled.labels.queries;
        let all: Vec<usize> = (0..queries.len()).collect();
        let only = only.unwrap_or(&all);
        let known = |vectors: &QueryVectors| QueryVectors {
            vectors: only.iter().map(|&at| vectors.vectors[at].clone()).collect(),
            embed_ms: only.iter().map(|&at| vectors.embed_ms[at]).collect(),
        };
        delegate(&Request::Ask(AskRequest {
            dataset: dataset.to_owned(),
            options: Box::new(self.build.1.options.clone()),
            queries: only.iter().map(|&at| queries[at].text.clone()).collect(),
            sources: only.iter().map(|&at| self.sources[at].clone()).collect(),
            vectors: self.vectors.map(known),
            variants: variants.to_vec(),
            depth: self.plan.scoring.depth(self.plan.cells.iter().map(|cell| cell.k)),
            budgets: self.plan.scoring.budgets.clone(),
        }))
    }

    /// Asks the questions in stages and drops the ways to search that are surely worse.
    fn ask_in_stages(&self, dataset: &Path, race: &Race<'_>) -> anyhow::Result<AskReply> {
        let queries = self.labelled.labels.queries.len();
        let variants = &self.run_build.variants;
        let mut lanes: Vec<Lane> = variants.iter().map(|way| Lane::new(&way.name, queries)).collect();
        let mut vectors: Vec<Option<(QuestionVectors, f64)>> = vec![None; queries];
        let mut whole: Option<AskReply> = None;
        let stages = race.stages(queries);
        for (number, stage) in (1..).zip(&stages) {
            let running: Vec<usize> = (0..lanes.len()).filter(|&at| lanes[at].dropped.is_none()).collect();
            if running.is_empty() {
                break;
            }
            let ways: Vec<Way> = running.iter().map(|&at| variants[at].clone()).collect();
            let mut asked = self.ask(dataset, Some(stage), &ways)?;
            for (found, &at) in std::mem::take(&mut asked.variants).into_iter().zip(&running) {
                lanes[at].add(stage, found);
            }
            if let Some(embedded) = asked.vectors.take() {
                for (&at, vector) in stage.iter().zip(embedded.vectors.into_iter().zip(embedded.embed_ms)) {
                    vectors[at] = Some(vector);
                }
            }
            let peak = whole.as_ref().and_then(|whole| whole.peak_rss).max(asked.peak_rss);
            asked.peak_rss = peak;
            if number < stages.len() {
                let chunks = Chunks::new(race.judge(), &asked.documents, &asked.chunks);
                let own = |cell: &&PlannedCell| cell.build == self.build.0 && running.contains(&cell.variant);
                let cells: Vec<&PlannedCell> = self.plan.cells.iter().filter(own).collect();
                let values: Vec<(&str, Vec<Option<f64>>)> = cells
                    .par_iter()
                    .map(|cell| (cell.id.as_str(), race.values(&chunks, &lanes[cell.variant].answers, cell.k)))
                    .collect();
                let lagging = race.lagging(&values);
                for at in running {
                    let of_lane = cells.iter().zip(&lagging).filter(|(cell, _)| cell.variant == at);
                    // A way to search continues as long as it may be best at any k.
                    let all: Option<Vec<&Elimination>> = of_lane.map(|(_, dropped)| dropped.as_ref()).collect();
                    lanes[at].dropped = all.and_then(|all| all.first().map(|&dropped| dropped.clone()));
                }
            }
            whole = Some(asked);
        }
        let mut asked = whole.context("there is no question to ask")?;
        asked.variants = lanes.into_iter().map(Lane::record).collect();
        // Questions of a stage that no vector search reached were not embedded.
        asked.vectors = vectors.into_iter().collect::<Option<Vec<_>>>().map(|all| {
            let (vectors, embed_ms) = all.into_iter().unzip();
            QueryVectors { vectors, embed_ms }
        });
        Ok(asked)
    }

    /// Builds the dataset. This run is the one that is timed: it finds no vectors in a cache, and is repeated as
    /// often as the plan says. Every run produces the same bytes, so it does not matter which one stays. Vectors of a
    /// service are paid for, so they are never computed again for the sake of a time.
    fn make(&self, out: &Path) -> anyhow::Result<Vec<IndexReply>> {
        let Timing { repeats, seconds } = self.plan.timing;
        let mut options = self.build.1.options.clone();
        let is_paid = options.embedding.embedder == Some(Engine::Remote);
        let repeats = if is_paid { repeats.min(1) } else { repeats };
        if repeats > 0 && !is_paid {
            options.embedding.embedding_cache = Some(CacheFolder::Off);
        }
        let enough = seconds.map_or(Duration::MAX, Duration::from_secs).as_secs_f64();
        let mut runs: Vec<IndexReply> = Vec::new();
        loop {
            remove(out)?;
            runs.push(delegate(&self.index(options.clone(), out.to_owned()))?);
            if runs.len() >= repeats || runs.iter().map(|run| run.seconds).sum::<f64>() >= enough {
                return Ok(runs);
            }
        }
    }
}

/// Summarises the cost of several runs of the same job.
fn cost(runs: &[IndexReply]) -> IndexCost {
    let spread = |value: &dyn Fn(&IndexReply) -> f64| Spread::of(runs.iter().map(value).collect());
    let stage = |at: usize| spread(&move |run: &IndexReply| run.stages[at]);
    let share = |run: &IndexReply| run.stages[0] / run.stages.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    IndexCost {
        repeats: runs.len(),
        seconds: spread(&|run| run.seconds),
        stages: ["chunk", "embed", "write"].map(str::to_owned).into_iter().zip((0..3).map(stage)).collect(),
        chunking_share: spread(&share),
    }
}

/// Identifies the program. Measurements of another program are repeated.
fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read);
    bytes.map_or_else(|_| env!("CARGO_PKG_VERSION").to_owned(), |bytes| blake3::hash(&bytes).to_hex().to_string())
}

/// Describes this machine, as far as the system reports it.
fn environment() -> Environment {
    let value = |file: &str, key: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory =
        value("/proc/meminfo", "MemTotal").and_then(|text| text.trim_end_matches("kB").trim().parse::<u64>().ok());
    Environment {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu: value("/proc/cpuinfo", "model name"),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: memory.map(|kilobytes| kilobytes * 1024),
    }
}
