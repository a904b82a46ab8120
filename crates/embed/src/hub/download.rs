//! Downloads files from the hub into its cache.
//!
//! Each file takes one request: the first response names the commit and the hash, and either contains the bytes or
//! redirects to another host that does. The token is sent to the hub alone. Bytes are hashed as they arrive, and
//! get their name in the cache only if the hash matches the announced one.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::blocking::{Client, Response};
use reqwest::redirect::{Attempt, Policy};
use serde::Deserialize;

use super::repository::{
    AnnouncedHash, Kind, Problem, Repository, differs, hash_of, home, is_offline, plain, shared_file, unreadable,
    unwritable, variable,
};
use crate::http::{self, Pauses, Retry};

/// Number of attempts after transient failures, and the pause after the first one.
const ATTEMPTS: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(300);

/// How long the hub may stay silent.
const SILENCE: Duration = Duration::from_secs(30);

/// Number of bytes that must arrive in [`SILENCE`].
const LEAST: u64 = 30_000;

/// Largest number of bytes of a list of files: a million long names.
const MOST_LISTED: u64 = 64 << 20;

/// Whether a download makes progress. A hub that sends a byte now and then would keep us waiting for days.
#[derive(Debug)]
pub struct Pace {
    since: Instant,
    bytes: u64,
}

impl Pace {
    /// Starts to watch.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self { since: now, bytes: 0 }
    }

    /// Returns whether enough has arrived, now that these bytes have.
    pub fn allows(&mut self, bytes: usize, now: Instant) -> bool {
        self.bytes += bytes as u64;
        if now.duration_since(self.since) < SILENCE {
            return true;
        }
        let enough = self.bytes >= LEAST;
        *self = Self::new(now);
        enough
    }
}

const UNREACHED: &str = "check the id and the network, set HF_ENDPOINT, or name a local folder";

/// The reason why an attempt failed, and whether a retry may succeed.
struct Failure {
    problem: Problem,
    retry: Retry,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.problem)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self { problem, retry: Retry::Never }
    }
}

impl Repository {
    /// Downloads a file into the cache; `None` if the repository does not contain it.
    pub(super) fn fetch(&self, name: &str) -> Result<Option<PathBuf>, Problem> {
        if is_offline() {
            let problem = format!("{name} is not in the cache, and HF_HUB_OFFLINE is set");
            return Err(Problem::new(problem, "run `chunkmill model pull` while online"));
        }
        let url = format!("{}{}/resolve/{}/{}", self.kind.prefix(), self.id, escaped(&self.revision), in_url(name));
        again(|| self.attempt(name, &url))
    }

    /// Returns the commit of this revision and the names of its files.
    pub(super) fn list(&self) -> Result<(String, Vec<String>), Problem> {
        #[derive(Deserialize)]
        struct Info {
            sha: String,
            siblings: Vec<Sibling>,
        }
        #[derive(Deserialize)]
        struct Sibling {
            rfilename: String,
        }
        let kind = match self.kind {
            Kind::Model => "models",
            Kind::Dataset => "datasets",
        };
        let url = format!("api/{kind}/{}/revision/{}", self.id, escaped(&self.revision));
        again(|| {
            let response = ask(&url)?;
            if response.status() == StatusCode::NOT_FOUND {
                return Err(Problem::new(format!("the hub has no {}", self.named()), UNREACHED).into());
            }
            let mut text = Vec::new();
            let mut response = answered(response)?;
            arrive("the list of files", &mut response, |bytes| {
                text.extend_from_slice(bytes);
                if text.len() as u64 <= MOST_LISTED {
                    return Ok(());
                }
                let problem = format!("the hub's list of files is over {MOST_LISTED} bytes");
                Err(Problem::new(problem, "check that HF_ENDPOINT is a hub").into())
            })?;
            let info: Info = serde_json::from_slice(&text).map_err(|error| {
                Problem::new(format!("cannot parse the hub's answer: {error}"), "check that HF_ENDPOINT is a hub")
            })?;
            let Info { sha, siblings } = info;
            let names = siblings.into_iter().map(|sibling| sibling.rfilename);
            Ok((named_by_hub(&sha)?.to_owned(), names.filter(|name| plain(name).is_some()).collect()))
        })
    }

    fn named(&self) -> String {
        format!("{}{}@{}", self.kind.prefix(), self.id, self.revision)
    }

    fn attempt(&self, name: &str, url: &str) -> Result<Option<PathBuf>, Failure> {
        let mut response = ask(url)?;
        let header = |response: &Response, name: &str| {
            response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        if response.status() == StatusCode::NOT_FOUND {
            let code = header(&response, "x-error-code").unwrap_or_default();
            if matches!(&*code, "RepoNotFound" | "RevisionNotFound") {
                return Err(Problem::new(format!("the hub has no {} ({code})", self.named()), UNREACHED).into());
            }
            return Ok(None);
        }
        if !response.status().is_redirection() {
            response = answered(response)?;
        }
        let missing = |what: &str| Problem::new(format!("the hub sent no {what} for {name}"), "check HF_ENDPOINT");
        let commit = header(&response, "x-repo-commit").ok_or_else(|| missing("commit"))?;
        let etag = header(&response, "x-linked-etag").or_else(|| header(&response, "etag"));
        let etag = etag.ok_or_else(|| missing("hash"))?;
        let etag = etag.trim_start_matches("W/").trim_matches('"');
        let (commit, etag) = (named_by_hub(&commit)?, named_by_hub(etag)?);
        let snapshot = self.commit_folder(commit);
        let blobs = snapshot.ancestors().nth(2).unwrap_or(&snapshot).join("blobs");
        let blob = blobs.join(etag);
        if !is_kept(&blob, etag)? {
            if response.status().is_redirection() {
                let to = header(&response, "location").ok_or_else(|| missing("location"))?;
                // This is another host, which must not get the token.
                let to = response.url().join(&to).map_err(|error| Problem::new(error.to_string(), UNREACHED))?;
                response = answered(client()?.get(to).send().map_err(unreached)?)?;
            }
            receive(name, response, etag, &blob)?;
        }
        let path = snapshot.join(name);
        place(&blob, &path, Path::new(name).components().count() + 1).map_err(|error| unwritable(&path, &error))?;
        if commit != self.revision {
            self.remember(commit)?;
        }
        Ok(Some(path))
    }
}

impl Kind {
    /// Returns the prefix of an id in URLs.
    fn prefix(self) -> &'static str {
        match self {
            Self::Model => "",
            Self::Dataset => "datasets/",
        }
    }
}

/// Repeats an attempt until it succeeds, fails for good, or has failed too often.
fn again<T>(attempt: impl Fn() -> Result<T, Failure>) -> Result<T, Problem> {
    let pauses = Pauses::new(FIRST_PAUSE, 4, ATTEMPTS - 1);
    http::again(pauses, |failure: &Failure| failure.retry, attempt).map_err(|failure| failure.problem)
}

fn client() -> Result<&'static Client, Problem> {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    if let Some(client) = CLIENT.get() {
        return Ok(client);
    }
    // Follow redirects within the hub: a renamed repository has another path. Do not follow those to another host:
    // for a large file, the headers that count are those of the redirect.
    let on_the_hub = |attempt: Attempt| {
        let same = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
        if same && attempt.previous().len() < 10 { attempt.follow() } else { attempt.stop() }
    };
    let made = http::client().timeout(SILENCE).redirect(Policy::custom(on_the_hub)).build();
    let made = made.map_err(|error| {
        Problem::new(format!("cannot create the hub's client: {}", http::reason(error)), "check the certificates")
    })?;
    Ok(CLIENT.get_or_init(|| made))
}

/// Requests a path below the hub's endpoint, with the user's token if there is one.
fn ask(below: &str) -> Result<Response, Failure> {
    let endpoint = variable("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
    let request = client()?.get(format!("{}/{below}", endpoint.trim_end_matches('/')));
    let request = match token() {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.send().map_err(unreached)
}

fn token() -> Option<String> {
    let path = || variable("HF_TOKEN_PATH").map_or_else(|| home().join("token"), PathBuf::from);
    let kept = || fs::read_to_string(path()).ok().map(|token| token.trim().to_owned());
    let token = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"].into_iter().find_map(variable).or_else(kept);
    token.filter(|token| !token.is_empty())
}

fn unreached(error: reqwest::Error) -> Failure {
    let problem = format!("the hub cannot be reached: {}", http::reason(error));
    Failure { problem: Problem::new(problem, UNREACHED), retry: Retry::After(Duration::ZERO) }
}

/// The longest pause that the hub may ask for.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Returns the response if it is a success.
fn answered(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let help = match status.as_u16() {
        401 | 403 => "check the id; for a gated or private repository set HF_TOKEN",
        _ => UNREACHED,
    };
    let retry = http::passes(status, response.headers(), LONGEST_PAUSE);
    Err(Failure { problem: Problem::new(format!("the hub answered {status}"), help), retry })
}

/// Returns whether the cache has the content with this hash. Another revision of the repository may have brought it;
/// if it has been damaged since, it is downloaded again.
fn is_kept(blob: &Path, announced: &str) -> Result<bool, Failure> {
    if !blob.exists() {
        return Ok(false);
    }
    let found = hash_of(blob, announced).map_err(|error| unreadable(blob, &error))?;
    let damaged = found.is_some_and(|found| found != announced);
    if damaged {
        tracing::warn!("{} is damaged; it is downloaded again", blob.display());
    }
    Ok(!damaged)
}

/// Passes the body of a response on, piece by piece, as long as it arrives at a reasonable pace.
fn arrive(
    name: &str,
    response: &mut Response,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let ended =
        |problem: String| Failure { problem: Problem::new(problem, UNREACHED), retry: Retry::After(Duration::ZERO) };
    let mut buffer = vec![0; 1 << 20];
    let mut pace = Pace::new(Instant::now());
    loop {
        let read = response.read(&mut buffer);
        let count = read.map_err(|error| ended(format!("the download of {name} ended early: {error}")))?;
        if count == 0 {
            return Ok(());
        }
        take(&buffer[..count])?;
        if !pace.allows(count, Instant::now()) {
            let seconds = SILENCE.as_secs();
            return Err(ended(format!("the download of {name} brought less than {LEAST} bytes in {seconds} seconds")));
        }
    }
}

/// Writes the body of a response into the cache, if it matches the announced hash.
fn receive(name: &str, mut response: Response, announced: &str, blob: &Path) -> Result<(), Failure> {
    let cannot_write = |error: io::Error| Failure::from(unwritable(blob, &error));
    let folder = blob.parent().unwrap_or(blob);
    fs::create_dir_all(folder).map_err(cannot_write)?;
    let mut staged = shared_file(folder).map_err(cannot_write)?;
    // git's hash starts with the length.
    let bytes = response.content_length().or((announced.len() == 64).then_some(0));
    let mut hasher = bytes.and_then(|bytes| AnnouncedHash::new(announced, bytes));
    arrive(name, &mut response, |bytes| {
        staged.write_all(bytes).map_err(cannot_write)?;
        if let Some(hasher) = &mut hasher {
            hasher.update(bytes);
        }
        Ok(())
    })?;
    let found = match hasher {
        Some(hasher) => Some(hasher.finish()),
        None => hash_of(staged.path(), announced).map_err(cannot_write)?,
    };
    if let Some(found) = found.filter(|found| found != announced) {
        return Err(differs(name, &found, announced, "was not kept").into());
    }
    staged.persist(blob).map_err(|error| cannot_write(error.error))?;
    Ok(())
}

/// Links a file of a snapshot to its content in `blobs`. `up` is the number of levels from the link's folder to
/// the repository's folder.
fn place(blob: &Path, path: &Path, up: usize) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    #[cfg(unix)]
    {
        let name = blob.file_name().unwrap_or_default();
        let to = "../".repeat(up) + "blobs";
        match std::os::unix::fs::symlink(Path::new(&to).join(name), path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            placed => placed,
        }
    }
    // Outside Unix, links need a privilege; other tools, too, put the file itself into the snapshot there.
    #[cfg(not(unix))]
    {
        let _ = up;
        fs::copy(blob, path).map(drop)
    }
}

/// Checks a commit or a hash that becomes the name of a file.
fn named_by_hub(name: &str) -> Result<&str, Problem> {
    let good = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let problem = || format!("the hub sent `{name}`, which is neither a commit nor a hash");
    good.then_some(name).ok_or_else(|| Problem::new(problem(), "check that HF_ENDPOINT is a hub"))
}

/// Escapes a revision as one part of a path.
fn escaped(revision: &str) -> String {
    in_url(revision).replace('/', "%2F")
}

/// Escapes a path for a URL.
fn in_url(path: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(path, PLAIN).to_string()
}
