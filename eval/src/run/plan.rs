//! What a sweep tries: turns a TOML file of lists into cells and checks them before anything runs.
//!
//! ```toml
//! [defaults.chunking]           # tables of chunkmill.toml, for every cell
//! context = "headings"
//!
//! [[grid]]                      # every combination of the lists is a cell
//! strategy = ["recursive", "windows"]
//! unit = "tokens"
//! max = [100, 200, 400]
//! overlap = [0, 20]
//! mode = ["vector", "keyword", "hybrid"]
//! k = [5]
//!
//! [scoring]                     # see `score`
//! [timing]
//! repeats = 3                   # runs of the whole job without the cache
//! seconds = 5                   # no further run once they took this long in total
//! [sweep]
//! race = true                   # settings that are surely worse after some questions are not asked the rest
//! ```
//!
//! A key is a setting of `[chunking]`, `[embedding]` or `[output]`, which decide the dataset, a setting of
//! `[search]`, `stored_as`, or `k`. Cells that share a dataset share a [`Build`]. A combination that contradicts
//! itself is left out, with the reason. If several cells come to the same, the first one is kept. Fused retrieval
//! always includes its halves, because it may be worse than either.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use chunkmill::chunk::{Preset, Settings, Strategy};
use chunkmill::config::{Config, EmbeddingOptions, Options, OutputOptions, SearchOptions, ServiceOptions};
use chunkmill::embed::model_ref::ModelRef;
use chunkmill::error::{Error, Result};
use chunkmill::search::{FillRule, Fusion, Mode, Ranking, StoredAs, Weight};
use chunkmill::setting::Table as _;
use chunkmill::value::{nearest, one_of};
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::data::left_out::{LeftOut, Reason};
use crate::score::judge::ScoringOptions;

/// Largest number of cells in one sweep. More are a mistake in the file.
const MAX_CELLS: usize = 20_000;

/// Largest number of runs of each job.
const MOST_REPEATS: usize = 1000;

/// Help for a file that is not a sweep file.
const TABLES: &str = "a sweep file is a TOML file with the tables [defaults.…], [[grid]], [scoring], [timing] and [sweep]; see “Sweeps” in the manual";

/// A sweep file, checked.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The datasets to build, in the order of the file.
    pub builds: Vec<Build>,
    /// The cells, in the order of the file.
    pub cells: Vec<PlannedCell>,
    /// The settings that are not tried, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// How answers are scored.
    pub scoring: ScoringOptions,
    /// How indexing is timed.
    pub timing: Timing,
    /// Whether settings that are surely worse after some questions are not asked the rest.
    pub race: bool,
}

impl Plan {
    /// Keeps the cells with these ids, and what they need.
    ///
    /// # Errors
    /// [`Error::Setting`] if no cell has one of the ids.
    pub fn only(mut self, ids: &[String]) -> Result<Self> {
        let known: Vec<&str> = self.cells.iter().map(|cell| cell.id.as_str()).collect();
        if let Some(id) = ids.iter().find(|id| !known.contains(&id.as_str())) {
            let near = nearest(id, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            let help = near.unwrap_or_else(|| "`sweep --list` shows them all".to_owned());
            return Err(setting("--only", &format!("no setting is called `{id}`"), &help));
        }
        self.cells.retain(|cell| ids.contains(&cell.id));
        let builds = std::mem::take(&mut self.builds);
        for (at, mut build) in builds.into_iter().enumerate() {
            let mut of_build: Vec<&mut PlannedCell> = self.cells.iter_mut().filter(|cell| cell.build == at).collect();
            let used: BTreeSet<usize> = of_build.iter().map(|cell| cell.variant).collect();
            if used.is_empty() {
                continue;
            }
            for cell in &mut of_build {
                cell.build = self.builds.len();
                cell.variant = used.range(..cell.variant).count();
            }
            build.variants =
                build.variants.into_iter().enumerate().filter(|(at, _)| used.contains(at)).map(|(_, it)| it).collect();
            self.builds.push(build);
        }
        self.left_out.clear();
        Ok(self)
    }
}

/// How the cost of indexing is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Timing {
    /// Number of runs of the whole job without the cache, each in its own process. 0 measures nothing.
    pub repeats: usize,
    /// Total time in seconds after which no further run starts. The first run always happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// A dataset to build and query.
#[derive(Debug, Clone)]
pub struct Build {
    /// Name, unique in the plan: `recursive max=400`.
    pub name: String,
    /// Its settings, without those of searches.
    pub options: Options,
    /// The ways to search it.
    pub variants: Vec<Variant>,
    key: String,
}

/// A way to search.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Name, unique in the build: `hybrid rrf_k=20`.
    pub name: String,
    /// The search mode.
    pub mode: Mode,
    /// How lists are fused, reduced to the settings that the mode reads.
    pub ranking: Ranking,
    /// How a context is filled, as far as the scores of the mode support it.
    pub fill: FillRule,
    /// The reranker, the number of chunks that it reads, the weight of the ranking next to it, and its time.
    pub rerank: Option<(ModelRef, usize, Weight, Option<Duration>)>,
    /// The form in which vectors are stored and searched.
    pub stored_as: StoredAs,
    /// The settings as written in the file.
    pub options: SearchOptions,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCell {
    /// Id, unique in the plan.
    pub id: String,
    /// Position of its build.
    pub build: usize,
    /// Position of its variant among those of the build.
    pub variant: usize,
    /// Number of the best chunks that are taken.
    pub k: usize,
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WirePlan {
    #[serde(default)]
    defaults: Options,
    grid: Vec<toml::Table>,
    #[serde(default)]
    scoring: ScoringOptions,
    #[serde(default)]
    timing: Timing,
    #[serde(default)]
    sweep: Sweep,
}

/// How a sweep runs.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Sweep {
    race: bool,
}

/// Reads a sweep file. Flags override its `[defaults]`; its grids override both.
///
/// # Errors
/// [`Error::Named`] if it cannot be read, [`Error::Setting`] if something in it is wrong.
pub fn read(path: &Path, flags: Options) -> Result<Plan> {
    let text = fs::read_to_string(path).map_err(Error::named(path, TABLES))?;
    parse(&text, &path.display().to_string(), flags)
}

/// Reads the text of a sweep file named `name`.
///
/// # Errors
/// [`Error::Setting`] with the file, and the line if it is known, if something is wrong.
pub fn parse(text: &str, name: &str, flags: Options) -> Result<Plan> {
    let file: WirePlan = toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        setting(&format!("{name}:{line}"), error.message(), &unread(text, error.message()))
    })?;
    file.scoring.check(name)?;
    if file.timing.repeats > MOST_REPEATS {
        let problem = format!("[timing] repeats = {} would not end", file.timing.repeats);
        return Err(setting(name, &problem, &format!("use at most {MOST_REPEATS}")));
    }
    let base = flags.or(file.defaults);
    let mut planner = Planner {
        name,
        base,
        plan: Plan {
            builds: Vec::new(),
            cells: Vec::new(),
            left_out: Vec::new(),
            scoring: file.scoring,
            timing: file.timing,
            race: file.sweep.race,
        },
        by_key: HashMap::new(),
        known: HashSet::new(),
    };
    for (at, table) in (1..).zip(&file.grid) {
        let mode_is_given = planner.base.search.mode.is_some();
        planner.add(&Grid::new(table, mode_is_given, &format!("{name}: grid {at}"))?)?;
    }
    let plan = planner.plan;
    if plan.cells.is_empty() {
        let first = plan
            .left_out
            .first()
            .map_or_else(|| "there is no [[grid]]".to_owned(), |cell| format!("{}: {}", cell.id, cell.reason));
        return Err(setting(name, &format!("has no cell that can be run; {first}"), "fix the settings"));
    }
    Ok(plan)
}

/// Returns the help for a file that cannot be read: a common mistake, or the tables that there are.
fn unread(text: &str, problem: &str) -> String {
    let is_key = |key: &str| ["name", "k", "stored_as"].contains(&key) || scope(key).is_some();
    let unknown = problem.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    if problem.starts_with("invalid type: map") && text.lines().any(|line| line.trim_start().starts_with("[grid]")) {
        "write [[grid]], with two brackets".to_owned()
    } else if unknown.is_some_and(is_key) {
        format!("settings go below [[grid]]; {TABLES}")
    } else {
        TABLES.to_owned()
    }
}

fn setting(origin: &str, problem: &str, help: &str) -> Error {
    Error::setting(origin, problem, help)
}

/// The table that a key of a grid belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Chunking,
    Embedding,
    Service,
    Output,
    Search,
}

/// A key with its values.
struct GridAxis {
    scope: Scope,
    key: String,
    values: Vec<String>,
    /// Whether it was written as a list. Only lists are part of the names of cells.
    is_list: bool,
}

/// One `[[grid]]`.
struct Grid {
    name: Option<String>,
    axes: Vec<GridAxis>,
    ks: Vec<usize>,
    stored_as: Vec<StoredAs>,
}

impl Grid {
    fn new(table: &toml::Table, mode_is_given: bool, origin: &str) -> Result<Self> {
        let wrong = |problem: &str, help: &str| setting(origin, problem, help);
        let mut grid = Self { name: None, axes: Vec::new(), ks: vec![5], stored_as: vec![StoredAs::default()] };
        for (key, value) in table {
            let (values, is_list) = match value {
                Value::Array(values) => (values.as_slice(), true),
                value => (std::slice::from_ref(value), false),
            };
            let values: Vec<String> = values.iter().map(text).collect::<Option<_>>().ok_or_else(|| {
                wrong(&format!("`{key}` is not a value or a list of values"), "write max = [200, 400]")
            })?;
            if values.is_empty() {
                return Err(wrong(&format!("`{key}` has no value"), "list at least one, or leave the key out"));
            }
            match key.as_str() {
                "name" if !is_list => grid.name = values.into_iter().next(),
                "k" => {
                    let k = |value: &String| value.parse().ok().filter(|&k: &usize| k > 0);
                    grid.ks = values
                        .iter()
                        .map(k)
                        .collect::<Option<_>>()
                        .ok_or_else(|| wrong("`k` is not a number of chunks", "write k = [5, 10]"))?;
                }
                "stored_as" => {
                    let parsed: Result<Vec<StoredAs>, String> = values.iter().map(|value| value.parse()).collect();
                    grid.stored_as = parsed.map_err(|problem| {
                        wrong(&problem, r#"write stored_as = ["f32", "int8", "f32,bits", "bits@256"]"#)
                    })?;
                }
                _ => {
                    let scope =
                        scope(key).ok_or_else(|| wrong(&format!("there is no setting `{key}`"), &meant(key)))?;
                    grid.axes.push(GridAxis { scope, key: key.clone(), values, is_list });
                }
            }
        }
        // The most decisive keys come first in names and in the order of cells.
        let order = |axis: &GridAxis| ORDER.iter().position(|key| axis.key == *key).unwrap_or(ORDER.len());
        grid.axes.sort_by_key(order);
        if !mode_is_given && !grid.axes.iter().any(|axis| axis.key == "mode") {
            let values = [Mode::Vector, Mode::Keyword, Mode::Hybrid].map(|mode| mode.name().to_owned()).into();
            grid.axes.push(GridAxis { scope: Scope::Search, key: "mode".to_owned(), values, is_list: false });
        }
        Ok(grid)
    }
}

/// The keys that come first in a cell's name.
const ORDER: [&str; 8] = ["preset", "strategy", "unit", "min", "target", "max", "overlap", "mode"];

/// Returns the settings that a grid may have. The caches are excluded, because they do not change results, and so is the
/// address of a service: a file that came with somebody else's documents must not decide where they are sent.
fn usable() -> impl Iterator<Item = (Scope, &'static str)> {
    let tables = [
        (Scope::Chunking, Settings::SETTINGS),
        (Scope::Embedding, EmbeddingOptions::SETTINGS),
        (Scope::Service, ServiceOptions::SETTINGS),
        (Scope::Output, OutputOptions::SETTINGS),
        (Scope::Search, SearchOptions::SETTINGS),
    ];
    let all =
        tables.into_iter().flat_map(|(scope, settings)| settings.iter().map(move |setting| (scope, setting.name)));
    all.filter(|(_, name)| !name.contains("cache") && *name != "endpoint")
}

fn scope(key: &str) -> Option<Scope> {
    usable().find_map(|(scope, name)| (name == key).then_some(scope))
}

/// Says which key of a grid was probably meant by a name that is none: ours for a name of other tools, or the nearest ones.
fn meant(written: &str) -> String {
    let keys: Vec<&str> = ["name", "k", "stored_as"].into_iter().chain(usable().map(|(_, name)| name)).collect();
    one_of(written, &keys)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Adds grids to a plan.
struct Planner<'n> {
    name: &'n str,
    base: Options,
    plan: Plan,
    by_key: HashMap<String, usize>,
    known: HashSet<(usize, usize, usize)>,
}

impl Planner<'_> {
    fn add(&mut self, grid: &Grid) -> Result<()> {
        let (search, dataset): (Vec<&GridAxis>, Vec<&GridAxis>) =
            grid.axes.iter().partition(|axis| axis.scope == Scope::Search);
        let variants = self.variants(&combinations(&search, self.name)?, &grid.stored_as)?;
        for values in combinations(&dataset, self.name)? {
            let (name, options) = self.dataset(grid, &values)?;
            match options.clone().resolve() {
                Ok(config) => self.add_build(name, options, &config, &variants, &grid.ks)?,
                Err(Error::Setting { problem, .. }) => {
                    self.plan.left_out.push(LeftOut { id: name, reason: Reason::InWords(problem) });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the name and settings of a combination of the keys that decide a dataset.
    fn dataset(&self, grid: &Grid, values: &[(&GridAxis, &str)]) -> Result<(String, Options)> {
        let mut options = Options::default();
        let mut name = grid.name.clone().unwrap_or_default();
        for &(axis, value) in values {
            let set = match axis.scope {
                Scope::Chunking => options.chunking.set(&axis.key, value),
                Scope::Embedding => options.embedding.set(&axis.key, value),
                Scope::Service => options.service.set(&axis.key, value),
                _ => options.output.set(&axis.key, value),
            };
            set.map_err(|problem| {
                setting(&format!("{}: `{}`", self.name, axis.key), &problem, &fix(&axis.key, value))
            })?;
            let is_kind = matches!(axis.key.as_str(), "preset" | "strategy");
            // A preset or strategy is named even if it is the only one, unless the grid has a name.
            if axis.is_list || (is_kind && grid.name.is_none()) {
                push(&mut name, &axis.key, value, is_kind);
            }
        }
        if name.is_empty() {
            "default".clone_into(&mut name);
        }
        let base = self.base.clone();
        // A preset of the grid brings its own sizes; a strategy uses those of the defaults.
        let sizes =
            if options.chunking.preset.is_some() { base.chunking.clone().switches() } else { base.chunking.clone() };
        let options = Options { chunking: options.chunking.clone().or(sizes), ..options };
        Ok((name, options.or(Options { chunking: Settings::default(), ..base })))
    }

    /// Returns the ways to search, with the halves of fused ones before them.
    fn variants(&self, combinations: &[Vec<(&GridAxis, &str)>], stored_as: &[StoredAs]) -> Result<Vec<Variant>> {
        let mut variants: Vec<Variant> = Vec::new();
        for values in combinations {
            let mut options = SearchOptions::default();
            for &(axis, value) in values {
                options
                    .set(&axis.key, value)
                    .map_err(|problem| setting(&format!("{}: `{}`", self.name, axis.key), &problem, "fix the list"))?;
            }
            let options = options.or(self.base.search.clone());
            let whole = options.mode.unwrap_or_default();
            let halves = match whole {
                Mode::Hybrid | Mode::Graph => vec![Mode::Vector, Mode::Keyword, whole],
                mode => vec![mode],
            };
            let ways = stored_as.iter().flat_map(|&stored_as| halves.iter().map(move |&mode| (stored_as, mode)));
            for (stored_as, mode) in ways {
                // Keyword search uses no vectors.
                let stored_as = if mode.needs_vector() { stored_as } else { StoredAs::default() };
                // A half shows what fusion gains. With a reranker, each would cost as much as the whole.
                let rerank = options.rerank.clone().filter(|_| mode == whole);
                let options = SearchOptions { mode: Some(mode), rerank, ..options.clone() };
                let config = Options { search: options.clone(), ..Options::default() }.resolve()?;
                let ranking = as_read(mode, config.ranking);
                let rerank =
                    config.rerank.map(|model| (model, config.rerank_depth, config.rerank_weight, config.rerank_time));
                let is_kept = !matches!(rerank, Some((_, _, Weight::ZERO, _)));
                let fill = config.fill.supported(mode, ranking.fusion, is_kept);
                let mut name = mode.name().to_owned();
                let read = |key: &str| {
                    (mode == whole || key != "rerank") && reads(mode, ranking.fusion, rerank.is_some(), key)
                };
                for &(axis, value) in values.iter().filter(|(axis, _)| axis.is_list && read(&axis.key)) {
                    push(&mut name, &axis.key, value, false);
                }
                if stored_as != StoredAs::default() {
                    push(&mut name, "stored_as", &stored_as.to_string(), false);
                }
                let variant = Variant { name, mode, ranking, fill, rerank, stored_as, options };
                if !variants.iter().any(|other| other.finds_as(&variant)) {
                    variants.push(variant);
                }
            }
        }
        Ok(variants)
    }

    fn add_build(
        &mut self,
        name: String,
        options: Options,
        config: &Config,
        variants: &[Variant],
        ks: &[usize],
    ) -> Result<()> {
        let has_sparse = config.sparse_model.is_some();
        let variants = variants.iter().filter(|variant| has_sparse || variant.mode != Mode::Sparse);
        let variants: Vec<Variant> =
            variants.map(|variant| if has_sparse { variant.clone() } else { variant.without_sparse() }).collect();
        if variants.is_empty() {
            let reason = Reason::InWords("`sparse` needs a sparse_model".to_owned());
            self.plan.left_out.push(LeftOut { id: name, reason });
            return Ok(());
        }
        let key = key(&options, config);
        let build = match self.by_key.get(&key) {
            Some(&build) => build,
            None if self.plan.builds.iter().any(|build| build.name == name) => {
                let problem = format!("two grids make different cells called `{name}`");
                return Err(setting(self.name, &problem, "give each grid a name"));
            }
            None => {
                self.by_key.insert(key.clone(), self.plan.builds.len());
                self.plan.builds.push(Build { name: name.clone(), options, variants: Vec::new(), key });
                self.plan.builds.len() - 1
            }
        };
        let before = self.plan.cells.len();
        for variant in variants {
            let known = &mut self.plan.builds[build].variants;
            let at = known.iter().position(|other| other.finds_as(&variant)).unwrap_or_else(|| {
                let mut variant = variant;
                // Another grid has a search of the same name.
                while known.iter().any(|other| other.name == variant.name) {
                    variant.name.push('\'');
                }
                known.push(variant);
                known.len() - 1
            });
            for &k in ks {
                self.add_cell(build, at, k)?;
            }
        }
        if self.plan.cells.len() == before {
            let reason = Reason::EqualTo(self.plan.builds[build].name.clone());
            self.plan.left_out.push(LeftOut { id: name, reason });
        }
        Ok(())
    }

    fn add_cell(&mut self, build: usize, variant: usize, k: usize) -> Result<()> {
        if !self.known.insert((build, variant, k)) {
            return Ok(());
        }
        if self.plan.cells.len() == MAX_CELLS {
            return Err(setting(self.name, &format!("makes more than {MAX_CELLS} cells"), "shorten its lists"));
        }
        let Build { name, variants, .. } = &self.plan.builds[build];
        let id = format!("{name}, {}, k={k}", variants[variant].name);
        self.plan.cells.push(PlannedCell { id, build, variant, k });
        Ok(())
    }
}

/// Returns every combination of one value per axis, with the last axis changing fastest.
fn combinations<'a>(axes: &[&'a GridAxis], origin: &str) -> Result<Vec<Vec<(&'a GridAxis, &'a str)>>> {
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MAX_CELLS) {
        return Err(setting(origin, &format!("a grid makes more than {MAX_CELLS} cells"), "shorten its lists"));
    }
    let mut all = vec![Vec::new()];
    for &axis in axes {
        let longer = |so_far: Vec<(&'a GridAxis, &'a str)>| {
            axis.values.iter().map(move |value| [so_far.as_slice(), &[(axis, value.as_str())]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    Ok(all)
}

/// Returns the help for a value that its key does not have.
fn fix(key: &str, value: &str) -> String {
    if key == "strategy" && value.parse::<Preset>().is_ok() {
        format!("`{value}` is a preset: preset = \"{value}\"")
    } else if key == "preset" && value.parse::<Strategy>().is_ok() {
        format!("`{value}` is a strategy: strategy = \"{value}\"")
    } else {
        "fix the list".to_owned()
    }
}

/// Appends a setting to a name.
fn push(name: &mut String, key: &str, value: &str, bare: bool) {
    if !name.is_empty() {
        name.push(' ');
    }
    let _ = if bare { write!(name, "{value}") } else { write!(name, "{key}={value}") };
}

/// Returns whether a search reads a setting other than its own mode; see [`as_read`].
fn reads(mode: Mode, fusion: Fusion, reranks: bool, key: &str) -> bool {
    let is_word = [
        "language",
        "content_weight",
        "headings_weight",
        "tags_weight",
        "aliases_weight",
        "title_weight",
        "path_weight",
        "document_weight",
    ]
    .contains(&key);
    let is_graph = ["graph_weight", "graph_seeds"].contains(&key);
    let of_other_fusion = match fusion {
        Fusion::Linear => ["rrf_k", "vector_weight", "keyword_weight", "sparse_weight", "depth"].contains(&key),
        Fusion::Rrf => ["vector_share", "sparse_share", "neighbour_weight", "packing", "least"].contains(&key),
    };
    match mode {
        _ if key == "mode" || of_other_fusion => false,
        _ if key == "rerank" => true,
        _ if ["rerank_depth", "rerank_weight", "rerank_ms"].contains(&key) => reranks,
        Mode::Vector | Mode::Sparse => false,
        Mode::Keyword => is_word,
        Mode::Hybrid => !is_graph,
        Mode::Graph => true,
    }
}

/// Resets the settings of a ranking that a mode does not read to their defaults. Searches that find the same are
/// then equal.
fn as_read(mode: Mode, ranking: Ranking) -> Ranking {
    let default = Ranking::default();
    let ranking = match ranking.fusion {
        Fusion::Linear => Ranking {
            rrf_k: default.rrf_k,
            vector: default.vector,
            keyword: default.keyword,
            sparse: default.sparse,
            depth: default.depth,
            ..ranking
        },
        Fusion::Rrf => {
            let Ranking { vector_share, sparse_share, neighbours, .. } = default;
            Ranking { vector_share, sparse_share, neighbours, ..ranking }
        }
    };
    match mode {
        Mode::Vector | Mode::Sparse => default,
        Mode::Keyword => {
            let Ranking { fields, document, language, .. } = ranking;
            Ranking { fields, document, language, ..default }
        }
        Mode::Hybrid => Ranking { graph: default.graph, graph_seeds: default.graph_seeds, ..ranking },
        Mode::Graph => ranking,
    }
}

/// Returns a key of everything that decides a dataset: equal keys mean equal bytes.
fn key(options: &Options, config: &Config) -> String {
    // The caches and the settings of speed do not change a byte.
    let model = config.model.clone().unwrap_or_default();
    let corpus = &options.corpus;
    let service = (&config.service, &config.service_query_model);
    let models = (model, &config.query_model, &config.sparse_model, service);
    format!("{} {:?} {corpus:?} {models:?} {:?}", config.spec.fingerprint(), config.output, config.backend)
}

impl Plan {
    /// Returns the plan with only its first datasets. The others are left out because time ran out.
    #[must_use]
    pub fn first(mut self, builds: usize) -> Self {
        let late = self.builds.split_off(builds.min(self.builds.len()));
        self.left_out.extend(late.into_iter().map(|build| LeftOut { id: build.name, reason: Reason::TimeWasUp }));
        self.cells.retain(|cell| cell.build < builds);
        self
    }
}

impl Variant {
    /// Returns the same search of a dataset without sparse vectors, where their weights make no difference.
    fn without_sparse(&self) -> Self {
        let Ranking { sparse_share, sparse, .. } = Ranking::default();
        let is_read = |part: &&str| !["sparse_share=", "sparse_weight="].iter().any(|key| part.starts_with(key));
        Self {
            name: self.name.split(' ').filter(is_read).collect::<Vec<_>>().join(" "),
            ranking: Ranking { sparse_share, sparse, ..self.ranking },
            options: SearchOptions { sparse_share: None, sparse_weight: None, ..self.options.clone() },
            ..self.clone()
        }
    }

    /// Returns whether it finds and returns the same as another search.
    fn finds_as(&self, other: &Self) -> bool {
        let what = |of: &Self| (of.mode, of.ranking, of.fill, of.rerank.clone(), of.stored_as);
        what(self) == what(other)
    }
}

impl Build {
    /// Returns a key that is equal for builds that make the same dataset from the same corpus and model.
    pub fn key(&self) -> &str {
        &self.key
    }
}
