//! Requests to a service, as an embedder.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use blake3::{Hash, Hasher};
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_text::tokens::TokenCounter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::{self, Answer};
use super::counter::Counter;
use super::dialect::{self, About, Asked, Form};
use super::kept::KeptFile;
use super::limits::{Limits, Permit};
use super::settings::ServiceSettings;
use crate::backend::{Dialect, Engine};
use crate::embedder::{
    Arrived, BatchApi, Batching, Embedder, EncodedText, MAX_DIM, ModelInfo, ModelInput, Parallel, Reads, Role,
    ServiceModel,
};
use crate::http::{Advice, ApiKey, Endpoint, Pauses, RequestFailure, Retry, Service};
use crate::kernel::Precision;

/// Advice if a service fails.
const ADVICE: Advice = Advice {
    key: "set CHUNKMILL_API_KEY to a key that the endpoint accepts",
    busy: "lower --requests, or set the limits that it has: --requests-per-minute, --tokens-per-minute",
    slow: "raise --request-timeout, or ask for less at once: --batch-tokens, --batch-texts",
    form: "check the endpoint's path, often /v1, and name its --dialect",
};

/// Pauses after failures that pass: the first one, what the next ones are multiplied with, and their number. Together they
/// last about two minutes.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const FACTOR: u32 = 2;
const RETRIES: u32 = 8;

/// How often a request is sent again whose answer is wrong, and a text whose vector is none.
const SECOND_TRIES: u32 = 2;

/// Time for what a service says of itself.
const ABOUT_TIME: Duration = Duration::from_secs(10);

/// Largest answer about a service, and largest answer with vectors: that for each value as text, and that for the rest.
const MOST_ABOUT: u64 = 16 << 20;
const BYTES_OF_VALUE: u64 = 32;
const MOST_OTHER: u64 = 1 << 20;

/// The texts of the first request, which shows how long vectors are.
const FIRST_TEXTS: [ModelInput<'static>; 2] = [
    ModelInput { text: "chunk", role: Role::Document, ids: &[] },
    ModelInput { text: "mill", role: Role::Document, ids: &[] },
];

/// Advice if a service refuses texts that nothing is wrong with.
const REFUSES_ALL: &str = "check the name of the model and the settings in [service]";

/// Number of texts that a service may refuse in a row. Then it is asked whether it still accepts any.
const REFUSED_IN_A_ROW: usize = 4;

/// Special tokens of a text that services count differently.
const SPECIAL: u64 = 3;

/// A model at a service.
pub(super) struct Remote {
    pub(super) info: ModelInfo,
    pub(super) settings: ServiceSettings,
    pub(super) form: &'static Form,
    pub(super) service: Service,
    pub(super) limits: Limits,
    /// Folder for what is kept between runs.
    pub(super) folder: Option<PathBuf>,
    counter: Counter,
    is_exact: bool,
    /// Texts before documents and questions.
    prefixes: [String; 2],
    batch_texts: usize,
    facts: Option<KeptFile>,
    /// Number of texts that were refused since one was accepted.
    refused: AtomicUsize,
    has_warned: AtomicBool,
    /// Texts that were refused in a batch.
    pub(super) refused_in_batch: Mutex<HashSet<Hash>>,
}

/// The facts about a model at a service that a first request shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Facts {
    /// Number of values of a vector.
    dim: usize,
    /// The model, as its answers name it.
    model: Option<String>,
}

/// The outcome of a request.
enum Outcome {
    Answered(Answer, Vec<u64>),
    /// It refuses the request, with its words.
    Refused(String),
}

/// Connects to a model at a service. Facts of earlier runs are in `folder`. `known` is the record of a dataset with its
/// vectors: then nothing is asked.
pub(crate) fn load(
    mut settings: ServiceSettings,
    key: Option<ApiKey>,
    folder: Option<&Path>,
    known: Option<&ModelInfo>,
) -> Result<Box<dyn Embedder>> {
    let host = settings.endpoint.url().host_str().unwrap_or_default().to_owned();
    let known_service = known.and_then(|known| known.service.as_ref());
    if let Some(known) = known_service.filter(|_| settings.dialect == Dialect::Auto) {
        settings.dialect = known.dialect;
    }
    let form = if let Some(form) = Form::of(settings.dialect, &host) {
        form
    } else {
        let asking = Service::new(root(&settings.endpoint), key.clone(), OPENAI_KEY, ADVICE)?;
        dialect::ask(&host, &|path| get(&asking, path))?
    };
    let endpoint = if form.drops_version { root(&settings.endpoint) } else { settings.endpoint.clone() };
    let service = Service::new(endpoint, key, form.header, ADVICE)?;
    let about = match known_service {
        Some(_) => About::default(),
        None => dialect::about(form.dialect, &settings.model, &|path| get(&service, path), &|path, body| {
            optional(|| service.post(path, body.to_string(), Instant::now() + ABOUT_TIME, MOST_ABOUT))
        })?,
    };
    let counter = Counter::load(&settings)?;
    let [document, query] = (form.prefixes)(&settings.model).map(str::to_owned);
    let prefixes = match known_service {
        Some(known) => [known.document_prefix.clone(), known.query_prefix.clone()],
        None => [settings.document_prefix.clone().unwrap_or(document), settings.query_prefix.clone().unwrap_or(query)],
    };
    let of_model = (form.text_tokens)(&settings.model);
    let text_tokens = match (settings.text_tokens, known) {
        (None, Some(known)) => known.max_tokens,
        (own, _) => own.or(about.text_tokens).or(counter.limit()).unwrap_or(of_model),
    };
    let identity = format!("{}\n{}\n{:?}", service.endpoint(), settings.model, settings.dimensions);
    let mut remote = Remote {
        info: ModelInfo {
            id: settings.model.clone(),
            revision: None,
            files: BTreeMap::new(),
            dim: 0,
            max_tokens: text_tokens,
            pooling: "service".to_owned(),
            normalize: true,
            engine: Engine::Remote,
            precision: Precision::F32,
            fingerprint: String::new(),
            arithmetic: "any".to_owned(),
            query: None,
            sparse: None,
            service: Some(ServiceModel {
                endpoint: service.endpoint().to_string(),
                dialect: form.dialect,
                version: about.version,
                tokenizer: counter.name(),
                dimensions: settings.dimensions,
                document_prefix: prefixes[0].clone(),
                query_prefix: prefixes[1].clone(),
            }),
        },
        form,
        service,
        limits: Limits::new(&settings),
        is_exact: counter.is_exact(form.dialect, &settings.model),
        counter,
        prefixes,
        batch_texts: settings.batch_texts.or(about.texts).unwrap_or(form.texts),
        facts: folder.map(|folder| KeptFile::new(folder, "service", &identity)),
        folder: folder.map(Path::to_owned),
        settings,
        refused: AtomicUsize::new(0),
        has_warned: AtomicBool::new(false),
        refused_in_batch: Mutex::default(),
    };
    match (known, known_service) {
        (Some(known), Some(service)) => remote.is_known_as(known.dim, service.version.clone(), service.dimensions),
        _ => remote.learn()?,
    }
    Ok(Box::new(remote))
}

/// Loads only what counts tokens as the service does, or nearly.
pub(crate) fn load_counter(settings: &ServiceSettings) -> Result<Box<dyn TokenCounter>> {
    Ok(Box::new(Counter::load(settings)?))
}

/// The header for the key of a service that is not known yet.
const OPENAI_KEY: crate::http::KeyHeader = crate::http::KeyHeader::Bearer;

/// Returns the pauses after failures that pass.
pub(super) fn pauses() -> Pauses {
    Pauses::new(FIRST_PAUSE, FACTOR, RETRIES)
}

/// Returns an endpoint without the version at the end of its path.
fn root(endpoint: &Endpoint) -> Endpoint {
    endpoint.without("v1")
}

fn get(service: &Service, path: &str) -> Result<Option<Value>> {
    optional(|| service.get(path, Instant::now() + ABOUT_TIME, MOST_ABOUT))
}

/// Returns the JSON of an answer; `None` if the service has nothing there. A failure that passes is waited for: without the
/// answer, the model would be another one.
fn optional(send: impl FnMut() -> Result<crate::http::Answered, RequestFailure>) -> Result<Option<Value>> {
    match crate::http::again(pauses(), |failure: &RequestFailure| failure.retry, send) {
        Ok(answered) => Ok(serde_json::from_str(&answered.body).ok()),
        Err(RequestFailure { status: Some(400..=499), retry: Retry::Never, .. }) => Ok(None),
        Err(failure) => Err(*failure.error),
    }
}

impl Remote {
    /// Sets how long vectors are, and which version of the model makes them.
    fn is_known_as(&mut self, dim: usize, version: Option<String>, dimensions: Option<usize>) {
        let mut hasher = Hasher::new();
        self.info.dim = dim;
        if let Some(service) = &mut self.info.service {
            service.version = version;
            service.dimensions = dimensions;
            let parts: [&str; 5] = [
                "service 1",
                &service.endpoint,
                &self.info.id,
                service.version.as_deref().unwrap_or_default(),
                &service.document_prefix,
            ];
            // A text that is marked as a document has another vector.
            let roles = if self.form.has_roles { self.form.dialect.name() } else { "" };
            for part in parts.into_iter().chain([dim.to_string().as_str(), roles]) {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
        }
        self.settings.dimensions = dimensions;
        hasher.finalize().to_hex()[..16].clone_into(&mut self.info.fingerprint);
    }

    /// Finds out how long vectors are: from an earlier run, or with a first request.
    fn learn(&mut self) -> Result<()> {
        let is_whole = |facts: &Facts| (1..=MAX_DIM).contains(&facts.dim);
        // Damaged facts are asked for again.
        let kept = self.facts.as_ref().and_then(|file| file.read().ok().flatten()).filter(is_whole);
        let facts = kept.map_or_else(|| self.ask_first(), Ok)?;
        if let Some(asked) = self.settings.dimensions.filter(|asked| *asked != facts.dim) {
            return Err(Error::setting(
                "dimensions",
                format!("the service answers with vectors of {} where {asked} were asked for", facts.dim),
                "leave it out, or name a number that its model offers",
            ));
        }
        let told = self.info.service.as_ref().and_then(|service| service.version.clone());
        self.is_known_as(facts.dim, told.or(facts.model), self.settings.dimensions);
        Ok(())
    }

    /// Sends a first request. Its texts are two, so a service that errs in a length is found out.
    fn ask_first(&self) -> Result<Facts> {
        let mut tries = SECOND_TRIES;
        loop {
            let (vectors, model) = match self.request(&FIRST_TEXTS, &AtomicBool::new(false))? {
                Outcome::Answered(Answer { vectors, model, .. }, _) => (vectors, model),
                Outcome::Refused(said) => {
                    return Err(self.service.error(format!("refuses a first text: {said}"), REFUSES_ALL));
                }
            };
            // All that are there are of one length.
            let vector = vectors.into_iter().reduce(Result::or);
            match vector.unwrap_or_else(|| Err("it answered with no vector".to_owned())) {
                Ok(vector) => {
                    let facts = Facts { dim: vector.len(), model };
                    if let Some(Err(error)) = self.facts.as_ref().map(|file| file.write(&facts)) {
                        tracing::warn!("{error}; the next run asks the service once more");
                    }
                    return Ok(facts);
                }
                Err(problem) if tries == 0 => return Err(self.service.error(problem, ADVICE.form)),
                Err(_) => tries -= 1,
            }
        }
    }

    fn prefix(&self, role: Role) -> &str {
        match role {
            Role::Document => &self.prefixes[0],
            Role::Query => &self.prefixes[1],
        }
    }

    /// Sends one request, and again if it fails for now or its answer is wrong.
    fn request(&self, batch: &[ModelInput<'_>], stop: &AtomicBool) -> Result<Outcome> {
        let role = batch.first().map_or(Role::Document, |input| input.role);
        let (body, tokens) = self.body(role, batch.iter().map(|input| input.text))?;
        let (body, texts) = (body.to_string(), batch.len());
        let path = (self.form.path)(&self.settings.model);
        let mut pauses = pauses();
        let mut second_tries = SECOND_TRIES;
        loop {
            let permit = self.limits.enter(tokens.iter().sum(), stop)?;
            let until = Instant::now() + self.settings.timeout;
            let failure = match self.service.post(&path, body.clone(), until, self.most_bytes(texts)) {
                Ok(answered) => match self.read(&answered.body, texts, &permit) {
                    Ok(answer) => return Ok(Outcome::Answered(answer, tokens)),
                    Err(problem) => {
                        let error = self.service.malformed(&problem, &answered.body);
                        let retry = match second_tries.checked_sub(1) {
                            Some(left) => {
                                second_tries = left;
                                Retry::After(Duration::ZERO)
                            }
                            None => Retry::Never,
                        };
                        RequestFailure { retry, ..error.into() }
                    }
                },
                Err(failure) => {
                    if !failure.may_cost {
                        self.limits.give_back(&permit);
                    }
                    failure
                }
            };
            if let Some(400 | 413 | 422) = failure.status {
                return Ok(Outcome::Refused(failure.said));
            }
            let Some(pause) = pauses.after(failure.retry) else {
                if failure.status.is_none() {
                    // Its vectors may have another length now.
                    self.facts.iter().for_each(KeptFile::forget);
                }
                self.limits.close(&failure.error);
                return Err(*failure.error);
            };
            tracing::debug!("{failure}; trying again in {} ms", pause.as_millis());
            if failure.status.is_some() {
                self.limits.pause(pause);
            } else {
                // A connection that broke says nothing of the others.
                self.limits.rest(pause, stop)?;
            }
        }
    }

    /// Returns the body of a request for the vectors of texts, and the number of tokens of each.
    pub(super) fn body<'t>(&self, role: Role, texts: impl Iterator<Item = &'t str>) -> Result<(Value, Vec<u64>)> {
        let texts: Vec<String> = texts.map(|text| format!("{}{text}", self.prefix(role))).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let tokens = texts.iter().map(|text| Ok(self.counter.tokens(text)? as u64)).collect::<Result<_>>()?;
        let (model, dimensions) = (self.settings.model.as_str(), self.settings.dimensions);
        Ok((self.form.request(&Asked { model, role, texts: &texts, dimensions }), tokens))
    }

    pub(super) fn most_bytes(&self, texts: usize) -> u64 {
        let dim = if self.info.dim == 0 { MAX_DIM } else { self.info.dim };
        texts as u64 * dim as u64 * BYTES_OF_VALUE + MOST_OTHER
    }

    fn read(&self, body: &str, texts: usize, permit: &Permit) -> Result<Answer, String> {
        let answer = answer::read(self.form, body, texts, Some(self.info.dim).filter(|dim| *dim > 0))?;
        if let Some(used) = answer.used {
            self.limits.counted(permit, used);
        }
        Ok(answer)
    }

    /// Refuses an answer of another model than the recorded one.
    pub(super) fn check_version(&self, answer: &Answer) -> Result<()> {
        let recorded = self.info.service.as_ref().and_then(|service| service.version.as_deref());
        let has_names = !matches!(self.form.dialect, Dialect::Tei | Dialect::Ollama);
        match (recorded, answer.model.as_deref()) {
            (Some(recorded), Some(now)) if has_names && recorded != now => {
                self.facts.iter().for_each(KeptFile::forget);
                Err(self.service.error(
                    format!("answers with the model `{now}`, but the vectors so far are those of `{recorded}`"),
                    "index again: all texts are embedded with the model that it has now",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Embeds the part of a batch that begins at `at`, in several requests if the service refuses one.
    fn send(&self, batch: &[ModelInput<'_>], at: usize, stop: &AtomicBool, arrived: Arrived<'_>) -> Result<()> {
        let (answer, tokens) = match self.request(batch, stop)? {
            Outcome::Answered(answer, tokens) => (answer, tokens),
            Outcome::Refused(said) if batch.len() == 1 => return self.refuse(at, said, stop, arrived),
            Outcome::Refused(_) => {
                let (first, second) = batch.split_at(batch.len() / 2);
                self.send(first, at, stop, arrived)?;
                return self.send(second, at + first.len(), stop, arrived);
            }
        };
        self.check_version(&answer)?;
        let cut = self.silent_cut(&tokens, answer.used);
        let is_cut = |place: usize| cut.is_some_and(|limit| tokens[place] > limit);
        let mut vectors = Vec::new();
        let mut again = Vec::new();
        for (place, vector) in answer.vectors.into_iter().enumerate() {
            match vector {
                Ok(_) if is_cut(place) => {}
                Ok(vector) => vectors.push((at + place, Ok(vector))),
                Err(problem) => again.push((place, problem)),
            }
        }
        if !vectors.is_empty() {
            self.refused.store(0, Ordering::Relaxed);
        }
        arrived(vectors)?;
        if let Some(limit) = cut {
            return Err(self.service.error(
                format!(
                    "read only about the first {} of longer texts, and did not say so: it counted {} tokens for {}",
                    count(limit, "token"),
                    answer.used.unwrap_or_default(),
                    tokens.iter().sum::<u64>()
                ),
                &format!("set --text-tokens {limit}: longer texts are then cut there and flagged; or lower --max"),
            ));
        }
        for (place, problem) in again {
            self.send_again(batch[place], at + place, problem, stop, arrived)?;
        }
        Ok(())
    }

    /// Asks again for a text whose vector was none.
    fn send_again(
        &self,
        input: ModelInput<'_>,
        at: usize,
        mut problem: String,
        stop: &AtomicBool,
        arrived: Arrived<'_>,
    ) -> Result<()> {
        for _ in 0..SECOND_TRIES {
            match self.request(&[input], stop)? {
                Outcome::Refused(said) => return self.refuse(at, said, stop, arrived),
                Outcome::Answered(answer, _) => {
                    self.check_version(&answer)?;
                    match answer.vectors.into_iter().next() {
                        Some(Ok(vector)) => return arrived(vec![(at, Ok(vector))]),
                        Some(Err(again)) => problem = again,
                        None => {}
                    }
                }
            }
        }
        self.refuse(at, problem, stop, arrived)
    }

    fn refuse(&self, at: usize, said: String, stop: &AtomicBool, arrived: Arrived<'_>) -> Result<()> {
        let in_a_row = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
        // A model that is gone, or an account without money, is not the fault of the texts.
        if in_a_row.is_multiple_of(REFUSED_IN_A_ROW)
            && let Outcome::Refused(_) = self.request(&FIRST_TEXTS, stop)?
        {
            let error = self.service.error(format!("refuses every text now: {said}"), REFUSES_ALL);
            self.limits.close(&error);
            return Err(error);
        }
        arrived(vec![(at, Err(said))])
    }

    /// Returns the number of tokens at which the service cut texts, if it counted fewer than they have.
    fn silent_cut(&self, tokens: &[u64], used: Option<u64>) -> Option<u64> {
        let (sum, used) = (tokens.iter().sum::<u64>(), used?);
        let slack = SPECIAL * tokens.len() as u64 + sum / 50;
        if self.is_exact {
            return (used + slack < sum).then(|| cut_at(tokens, used));
        }
        // Tokenizers differ by less than this, whatever the language.
        if used * 3 < sum && used + slack < sum && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "{} counted {used} tokens where `cl100k_base` counts {sum}: it may read only the beginning of longer texts; \
                 name its --tokenizer to be sure",
                self.service.endpoint()
            );
        }
        None
    }
}

/// Returns the number of tokens at which texts were cut, if so many were read of all.
fn cut_at(tokens: &[u64], used: u64) -> u64 {
    let mut sorted = tokens.to_vec();
    sorted.sort_unstable();
    let mut left = used;
    for (done, &tokens) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - done) as u64;
        if tokens > share {
            return share;
        }
        left -= tokens;
    }
    sorted.last().copied().unwrap_or_default()
}

impl Embedder for Remote {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn encode(&self, text: &str, role: Role) -> Result<EncodedText> {
        let prefix = self.prefix(role);
        let sent = format!("{prefix}{text}");
        let n_tokens = self.counter.tokens(&sent)?;
        let cut = (n_tokens > self.info.max_tokens)
            .then(|| self.counter.cut(&sent, self.info.max_tokens, prefix.len()))
            .transpose()?;
        Ok(EncodedText { ids: Vec::new(), n_tokens, cut: cut.map(|end| end - prefix.len()) })
    }

    fn embed(&self, batch: &[ModelInput<'_>]) -> Result<Vec<f32>> {
        let mut vectors = vec![0.0; batch.len() * self.info.dim];
        self.embed_each(batch, &AtomicBool::new(false), &mut |arrived| {
            for (at, vector) in arrived {
                let vector =
                    vector.map_err(|said| self.service.error(format!("refuses a text: {said}"), "shorten it"))?;
                vectors[at * self.info.dim..][..self.info.dim].copy_from_slice(&vector);
            }
            Ok(())
        })?;
        Ok(vectors)
    }

    fn embed_each(&self, batch: &[ModelInput<'_>], stop: &AtomicBool, arrived: Arrived<'_>) -> Result<()> {
        let mut at = 0;
        for part in batch.chunk_by(|a, b| a.role == b.role).flat_map(|part| part.chunks(self.batch_texts)) {
            self.send(part, at, stop, arrived)?;
            at += part.len();
        }
        Ok(())
    }

    fn counter(&self) -> &dyn TokenCounter {
        &self.counter
    }

    fn batch_api(&self) -> Option<&dyn BatchApi> {
        Some(self)
    }

    fn batching(&self) -> Batching {
        Batching {
            reads: Reads::Text,
            // A larger request could never be sent.
            tokens: self.limits.most_at_once().map_or(self.form.tokens, |most| self.form.tokens.min(most)),
            texts: self.batch_texts,
            mixed: true,
            padded: false,
            parallel: Parallel::Requests(self.settings.requests),
            remember: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::cut_at;

    #[test]
    fn the_place_of_a_cut_follows_from_the_sums() {
        for (tokens, limit) in [(vec![10, 600, 900], 512), (vec![600], 512), (vec![513, 100, 512, 2000], 512)] {
            let used = tokens.iter().map(|&tokens: &u64| tokens.min(limit)).sum();
            assert_eq!(cut_at(&tokens, used), limit, "{tokens:?}");
        }
        assert_eq!(cut_at(&[1, 2], 3), 2);
    }
}
