//! Sets on the Hugging Face hub, named as in other tools: `hf://datasets/OWNER/NAME[@REVISION][/PATH]`.
//!
//! Files are stored in the Hugging Face cache, which other tools share. Each one is checked against the hash that
//! the hub announced.

use std::borrow::Cow;
use std::path::Path;

use chunkmill::error::{Error, Result};
use chunkmill::hub::{Kind, Problem, Repository, is_name};
use percent_encoding::percent_decode_str;

const SCHEME: &str = "hf://datasets/";

/// The short name and the real name of the branch where a hub keeps every set as Parquet.
const CONVERTED: (&str, &str) = ("~parquet", "refs/convert/parquet");

const NAME: &str = "write hf://datasets/OWNER/NAME, hf://datasets/OWNER/NAME/FOLDER or hf://datasets/OWNER/NAME@REVISION/FOLDER; \
     @~parquet names the hub's own conversion to Parquet";

/// A set on a hub, or a part of it.
#[derive(Debug, PartialEq, Eq)]
struct HubSet {
    owner: String,
    name: String,
    revision: String,
    /// A file or folder; empty for the whole set.
    path: String,
}

/// Returns the local folder or file for a name. This is the path itself unless it begins with `hf://datasets/`.
/// Files that are missing from the cache are downloaded.
///
/// # Errors
/// [`Error::Setting`] if the name is malformed, the set cannot be downloaded, or a file differs from what the hub
/// announced.
pub fn fetched(path: &Path) -> Result<Cow<'_, Path>> {
    let Some(name) = path.to_str().and_then(|path| path.strip_prefix(SCHEME)) else { return Ok(path.into()) };
    let wrong = |problem: String, help: &str| Error::setting(path.display().to_string(), problem, help);
    let named = parse(name).ok_or_else(|| wrong("does not name a set on a hub".to_owned(), NAME))?;
    let set = Repository::new(Kind::Dataset, &format!("{}/{}", named.owner, named.name), &named.revision);
    let snapshot = set
        .folder(&named.path)
        .map_err(|Problem { problem, help, .. }| wrong(format!("cannot be fetched: {problem}"), &help))?;
    let found = snapshot.join(&named.path);
    if !found.exists() {
        return Err(wrong(format!("`{}` is not in the set", named.path), NAME));
    }
    Ok(found.into())
}

fn parse(name: &str) -> Option<HubSet> {
    let mut parts = name.trim_end_matches('/').splitn(3, '/');
    let (owner, name, path) = (parts.next()?, parts.next()?, parts.next().unwrap_or_default());
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    let revision = if revision == CONVERTED.0 { CONVERTED.1 } else { revision };
    let revision = percent_decode_str(revision).decode_utf8().ok()?.into_owned();
    let plain = |path: &str| path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    // Brackets and stars would be read as patterns.
    let literal = path.chars().all(|c| !"*?[]{}\\".contains(c));
    let good = is_name(owner)
        && is_name(name)
        && revision.split('/').all(is_name)
        && literal
        && (path.is_empty() || plain(path));
    good.then(|| HubSet { owner: owner.to_owned(), name: name.to_owned(), revision, path: path.to_owned() })
}
