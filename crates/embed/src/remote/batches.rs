//! Texts that a service computes later, for half the price: OpenAI's batches. A batch is a file of requests, one for each
//! text, whose `custom_id` is the text's hash, so an answer finds its text in any order.
//!
//! Open batches are in a file next to the cache of vectors, because that is where their vectors go. The file names an
//! uploaded list before its batch is made: a run that is killed in between finds the batch in the list of the service, and no
//! batch is made twice.

use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use blake3::Hash;
use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer;
use super::embedder::{Remote, pauses};
use super::kept::KeptFile;
use crate::backend::Dialect;
use crate::embedder::{BatchApi, BatchProgress, KeepVectors, Role};
use crate::http::{Answered, RequestFailure};

/// Largest number of texts in a batch, and of bytes in its file. The service takes 50,000 and 200 MB; fewer keep its answer
/// small enough to be read at once.
const MOST_TEXTS: usize = 10_000;
const MOST_BYTES: usize = 50 << 20;

/// Number of vectors that are kept together.
const TOGETHER: usize = 256;

/// Path of the requests, as the service names it.
const PATH: &str = "/v1/embeddings";

/// Number of batches that the service is asked to list.
const LISTED: usize = 100;

/// Largest answer about a batch.
const MOST_ABOUT: u64 = 4 << 20;

/// A batch that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OpenBatch {
    /// The uploaded list of requests.
    file: String,
    /// The batch; `None` if the run ended before it was known.
    batch: Option<String>,
    /// Number of its texts.
    texts: usize,
}

/// A batch, as the service describes it.
#[derive(Debug, Deserialize)]
struct BatchStatus {
    id: String,
    status: String,
    input_file_id: String,
    output_file_id: Option<String>,
    error_file_id: Option<String>,
    errors: Option<Value>,
}

impl BatchStatus {
    fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed" | "expired" | "cancelled")
    }
}

/// A line of the answer of a batch.
#[derive(Deserialize)]
struct BatchLine {
    custom_id: String,
    response: Option<LineResponse>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct LineResponse {
    status_code: u16,
    body: Value,
}

/// Sends a request, and again while it fails for now.
fn ask(send: impl FnMut() -> Result<Answered, RequestFailure>) -> Result<Answered> {
    crate::http::again(pauses(), |failure: &RequestFailure| failure.retry, send).map_err(|failure| *failure.error)
}

impl Remote {
    /// Returns the file of the batches under way.
    fn batches(&self) -> Option<KeptFile> {
        Some(KeptFile::new(self.folder.as_deref()?, "batches", &self.info.fingerprint))
    }

    fn fetch(&self, path: &str, most: u64) -> Result<Answered> {
        ask(|| self.service.get(path, Instant::now() + self.settings.timeout, most))
    }

    fn parsed<T: for<'d> Deserialize<'d>>(&self, answered: &Answered) -> Result<T> {
        let wrong = |error| self.service.malformed(&format!("its answer is not understood ({error})"), &answered.body);
        serde_json::from_str(&answered.body).map_err(wrong)
    }

    /// Uploads a list of requests and returns its id.
    fn upload(&self, lines: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Uploaded {
            id: String,
        }
        let mark = format!("chunkmill-{}", &blake3::hash(lines.as_bytes()).to_hex()[..32]);
        let body = format!(
            "--{mark}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{mark}\r\n\
             Content-Disposition: form-data; name=\"file\"; filename=\"texts.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n\
             {lines}\r\n--{mark}--\r\n"
        );
        let kind = format!("multipart/form-data; boundary={mark}");
        let answered = ask(|| {
            let until = Instant::now() + self.settings.timeout;
            self.service.send_as(&kind, "files", body.clone(), until, MOST_ABOUT)
        })?;
        Ok(self.parsed::<Uploaded>(&answered)?.id)
    }

    /// Makes the batch of an uploaded list and returns its id. A batch that was made already is found, and there is no second one.
    fn make(&self, file: &str) -> Result<String> {
        #[derive(Deserialize)]
        struct Listed {
            data: Vec<BatchStatus>,
        }
        let body = json!({"input_file_id": file, "endpoint": PATH, "completion_window": "24h"}).to_string();
        let mut pauses = pauses();
        loop {
            let listed: Listed = self.parsed(&self.fetch(&format!("batches?limit={LISTED}"), MOST_ABOUT)?)?;
            if let Some(batch) = listed.data.into_iter().find(|batch| batch.input_file_id == file) {
                return Ok(batch.id);
            }
            let until = Instant::now() + self.settings.timeout;
            match self.service.post("batches", body.clone(), until, MOST_ABOUT) {
                Ok(answered) => return Ok(self.parsed::<BatchStatus>(&answered)?.id),
                Err(failure) => match pauses.after(failure.retry) {
                    Some(pause) => std::thread::sleep(pause),
                    None => return Err(*failure.error),
                },
            }
        }
    }

    /// Hands over the vectors of a batch that is over. Returns how many there are, and what went wrong with the others.
    fn receive(&self, batch: &BatchStatus, keep: KeepVectors<'_>) -> Result<(usize, Vec<String>)> {
        let mut wrong: Vec<String> = Vec::new();
        let mut received = 0;
        let of_batch = batch.errors.as_ref().and_then(|errors| errors.get("data")?.as_array());
        let messages = of_batch.into_iter().flatten().filter_map(|error| error.get("message")?.as_str());
        wrong.extend(messages.map(|said| self.service.shown(said)));
        let most = MOST_TEXTS as u64 * self.most_bytes(1);
        for file in [&batch.output_file_id, &batch.error_file_id].into_iter().flatten() {
            let answered = self.fetch(&format!("files/{file}/content"), most)?;
            let mut vectors = Vec::new();
            for line in answered.body.lines().filter(|line| !line.trim().is_empty()) {
                match self.vector_of(line)? {
                    Ok(found) => vectors.push(found),
                    Err(said) => wrong.push(said),
                }
                if vectors.len() == TOGETHER {
                    received += vectors.len();
                    keep(std::mem::take(&mut vectors))?;
                }
            }
            received += vectors.len();
            keep(vectors)?;
        }
        Ok((received, wrong))
    }

    /// Returns the text and the vector of a line, or what is wrong with it.
    ///
    /// # Errors
    /// Those of another version of the model.
    fn vector_of(&self, line: &str) -> Result<Result<(Hash, Vec<f32>), String>> {
        let shown = |text: &str| self.service.shown(text);
        let Ok(BatchLine { custom_id, response, error }) = serde_json::from_str(line) else {
            return Ok(Err(format!("a line is not understood: {}", shown(line))));
        };
        let Ok(hash) = Hash::from_hex(&custom_id) else {
            return Ok(Err(format!("there is no text {}", shown(&custom_id))));
        };
        let answered = match (response, error) {
            (Some(LineResponse { status_code: 200, body }), _) => body.to_string(),
            (Some(LineResponse { status_code, body }), _) => {
                if matches!(status_code, 400 | 413 | 422) {
                    self.refused_in_batch.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
                }
                return Ok(Err(shown(&body.to_string())));
            }
            (None, error) => return Ok(Err(shown(&error.unwrap_or_default().to_string()))),
        };
        match answer::read(self.form, &answered, 1, Some(self.info.dim)) {
            Err(problem) => {
                self.refused_in_batch.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
                Ok(Err(problem))
            }
            Ok(answer) => {
                self.check_version(&answer)?;
                let vector = answer.vectors.into_iter().next().unwrap_or_else(|| Err("it has no vector".to_owned()));
                if vector.is_err() {
                    self.refused_in_batch.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
                }
                Ok(vector.map(|vector| (hash, vector)))
            }
        }
    }
}

impl BatchApi for Remote {
    fn submit(&self, texts: &[(Hash, String)], stop: &AtomicBool) -> Result<usize> {
        if self.form.dialect != Dialect::OpenAi {
            let dialect = self.form.dialect;
            let problem = format!("batches of the dialect `{dialect}` are not known, only those of `openai`");
            return Err(Error::setting("batch", problem, "leave it out"));
        }
        let problem = "vectors of a batch go to the embedding cache, and there is none";
        let missing = || Error::setting("batch", problem, "leave out --embedding-cache off");
        let file = self.batches().ok_or_else(missing)?;
        let mut open: Vec<OpenBatch> = file.read()?.unwrap_or_default();
        let mut made = 0;
        // A text that was refused in a batch will be again; sent alone, it is quarantined with the service's words.
        let refused = std::mem::take(&mut *self.refused_in_batch.lock().unwrap_or_else(PoisonError::into_inner));
        let texts: Vec<&(Hash, String)> = texts.iter().filter(|(hash, _)| !refused.contains(hash)).collect();
        let mut rest = texts.as_slice();
        while !rest.is_empty() {
            let (mut lines, mut tokens, mut taken) = (String::new(), 0, 0);
            for &&(hash, ref text) in rest.iter().take(MOST_TEXTS) {
                let (body, count) = self.body(Role::Document, [text.as_str()].into_iter())?;
                let line = json!({"custom_id": hash.to_hex().as_str(), "method": "POST", "url": PATH, "body": body});
                let line = line.to_string();
                if taken > 0 && lines.len() + line.len() > MOST_BYTES {
                    break;
                }
                lines.push_str(&line);
                lines.push('\n');
                (tokens, taken) = (tokens + count.iter().sum::<u64>(), taken + 1);
            }
            let permit = self.limits.enter(tokens, stop)?;
            let uploaded = self.upload(&lines).inspect_err(|_| self.limits.give_back(&permit))?;
            open.push(OpenBatch { file: uploaded.clone(), batch: None, texts: taken });
            file.write(&open)?;
            let batch = self.make(&uploaded)?;
            if let Some(last) = open.last_mut() {
                last.batch = Some(batch);
            }
            file.write(&open)?;
            rest = &rest[taken..];
            made += taken;
        }
        Ok(made)
    }

    fn collect(&self, keep: KeepVectors<'_>) -> Result<BatchProgress> {
        let mut progress = BatchProgress::default();
        let Some(file) = self.batches() else { return Ok(progress) };
        let mut open: Vec<OpenBatch> = file.read()?.unwrap_or_default();
        for at in (0..open.len()).rev() {
            let OpenBatch { file: uploaded, batch, texts } = &mut open[at];
            let id = match batch {
                Some(id) => id.clone(),
                None => batch.insert(self.make(uploaded)?).clone(),
            };
            let found: BatchStatus = self.parsed(&self.fetch(&format!("batches/{id}"), MOST_ABOUT)?)?;
            if !found.is_over() {
                progress.waiting += *texts;
                continue;
            }
            let (received, wrong) = self.receive(&found, keep)?;
            let texts = *texts;
            if found.status == "failed" {
                open.remove(at);
                file.write(&open)?;
                let said = wrong.first().map(|said| format!(": {said}")).unwrap_or_default();
                let help = "run again with --batch to hand its texts over again";
                return Err(self.service.error(format!("refuses the batch {id}{said}"), help));
            }
            progress.received += received;
            progress.failed += texts.saturating_sub(received);
            if received < texts {
                let said = wrong.first().map(|said| format!(": {said}")).unwrap_or_default();
                let lost = count(texts - received, "text");
                tracing::warn!("batch {id} is {} without the vectors of {lost}{said}", found.status);
            }
            open.remove(at);
            file.write(&open)?;
        }
        if open.is_empty() {
            file.forget();
        }
        Ok(progress)
    }
}
