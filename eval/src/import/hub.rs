//! Sets on the Hugging Face hub, named as other tools name them: `hf://datasets/OWNER/NAME[@REVISION][/PATH]`.
//!
//! Files go to the Hugging Face cache (`HF_HOME`), which other tools share. The client does not check what it downloads,
//! so each file is checked here against the hash that the hub announced. `HF_ENDPOINT` and `HF_HUB_OFFLINE` are honoured.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use chunkmill::embed::model::sha256;
use chunkmill::error::{Error, Result};
use hf_hub::{HFClient, HFClientSync};
use percent_encoding::percent_decode_str;
use sha1::{Digest, Sha1};

const SCHEME: &str = "hf://datasets/";

/// What is called so for short: the branch where a hub keeps every set as Parquet.
const CONVERTED: (&str, &str) = ("~parquet", "refs/convert/parquet");

const NAME: &str = "write hf://datasets/OWNER/NAME, hf://datasets/OWNER/NAME/FOLDER or hf://datasets/OWNER/NAME@REVISION/FOLDER; \
     @~parquet is what the hub converted to Parquet";

/// A set of a hub, or a part of it.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    owner: String,
    name: String,
    revision: String,
    /// A file or folder; empty for all.
    path: String,
}

/// The folder or file that a name stands for, which is the path itself unless it begins with `hf://datasets/`. Fetches what
/// the cache lacks.
///
/// # Errors
/// [`Error::Setting`] if it is no such name, or cannot be fetched, or a file is not what the hub announced.
pub fn fetched(path: &Path) -> Result<Cow<'_, Path>> {
    let Some(name) = path.to_str().and_then(|path| path.strip_prefix(SCHEME)) else { return Ok(path.into()) };
    let wrong = |problem: String, help: &str| Error::Setting {
        origin: path.display().to_string(),
        problem,
        help: help.to_owned(),
    };
    let named = parse(name).ok_or_else(|| wrong("does not name a set on a hub".to_owned(), NAME))?;
    let client = HFClient::builder().retry_max_attempts(3).build().and_then(HFClientSync::from_inner);
    let client = client.map_err(|error| wrong(error.to_string(), "check HF_ENDPOINT and HF_HOME"))?;
    let offline = std::env::var("HF_HUB_OFFLINE").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    let patterns =
        if named.path.is_empty() { None } else { Some(vec![named.path.clone(), format!("{}/**", named.path)]) };
    let set = client.dataset(named.owner.clone(), named.name.clone());
    let request = set.snapshot_download().revision(named.revision.clone()).maybe_allow_patterns(patterns);
    let snapshot = request.local_files_only(offline).send().map_err(|error| {
        let help =
            if offline { "HF_HUB_OFFLINE is set" } else { "check the name and the network, or name a local folder" };
        wrong(format!("cannot be fetched: {error}"), help)
    })?;
    let found = snapshot.join(&named.path);
    if !found.exists() {
        return Err(wrong(format!("`{}` is not in the set", named.path), NAME));
    }
    for file in files(&found)? {
        if let Some(problem) = differs(&file)? {
            return Err(wrong(problem, "the download was damaged or tampered with: try again"));
        }
    }
    Ok(found.into())
}

fn parse(name: &str) -> Option<Named> {
    let mut parts = name.trim_end_matches('/').splitn(3, '/');
    let (owner, name, path) = (parts.next()?, parts.next()?, parts.next().unwrap_or_default());
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    let revision = if revision == CONVERTED.0 { CONVERTED.1 } else { revision };
    let revision = percent_decode_str(revision).decode_utf8().ok()?.into_owned();
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let plain = |path: &str| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    // Brackets and stars would be read as patterns.
    let literal = path.chars().all(|c| !"*?[]{}\\".contains(c));
    let good =
        part(owner) && part(name) && revision.split('/').all(part) && literal && (path.is_empty() || plain(path));
    good.then(|| Named { owner: owner.to_owned(), name: name.to_owned(), revision, path: path.to_owned() })
}

/// A file itself, or those below a folder.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![path.to_owned()]);
    while let Some(path) = open.pop() {
        if !path.is_dir() {
            found.push(path);
            continue;
        }
        for entry in fs::read_dir(&path).map_err(Error::io("read", &path))? {
            open.push(entry.map_err(Error::io("read", &path))?.path());
        }
    }
    Ok(found)
}

/// Compares a file with the hash that the hub announced for it, by which the cache names its content: SHA-256 for a large
/// file, git's own for a small one. A file that was put there in another way has none. The problem if it differs; it is
/// then removed.
fn differs(path: &Path) -> Result<Option<String>> {
    let Ok(blob) = fs::read_link(path) else { return Ok(None) };
    let announced = blob.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    let found = match announced.len() {
        64 => sha256(&bytes),
        40 => git_hash(&bytes),
        _ => return Ok(None),
    };
    if found == announced {
        return Ok(None);
    }
    // Remove it, or the next attempt would find it in the cache.
    for file in [path, path.parent().unwrap_or(path).join(&blob).as_path()] {
        fs::remove_file(file).map_err(Error::io("remove", file))?;
    }
    Ok(Some(format!("{} has hash {found}, but the hub announced {announced}; it was removed", path.display())))
}

/// The id that git gives a file's content.
fn git_hash(bytes: &[u8]) -> String {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", bytes.len()));
    hasher.update(bytes);
    hasher.finalize().iter().fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"))
}
