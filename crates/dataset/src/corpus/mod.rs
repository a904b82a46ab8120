//! Finding and reading documents: walking the roots, ignore rules, a stable order, and strict reading of one
//! document.
//!
//! The result depends on the roots alone, never on the machine: `.gitignore` and `.ignore` files inside a root
//! apply. Of those above the root, only those of the same git repository do; a user's global ones do not. A dataset
//! below a root is passed over, and a file that is below several roots is one document. Symbolic links are never
//! followed, and anything other than a file or folder is never opened. Hidden files are documents like any other;
//! only the folders of version control systems are skipped. A root may be in an object store, where the same rules
//! apply.

mod batch;
mod ignored;
mod inner;
mod list;
mod others;
mod own;
mod records;
mod rows;
mod special;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, hash_map};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

use chunkmill_base::error::{CONVERTERS, Error, Result, Skip};
use chunkmill_base::value::{count, did_you_mean};
use chunkmill_read::ReadFormat;
use chunkmill_text::document::{DEFAULT_COLLECTION, Format, Layer, MAX_BYTES, Origin, ReadSettings, Refusal};
use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::storage::{Entry, Location};
pub(crate) use batch::{checked, safely};
use ignored::{IgnoreRules, RULES};
pub use inner::{InnerDocuments, RowColumns};
pub use list::NameList;
pub use others::OtherFiles;
use own::{own_folder, told_by};
use records::{Record, RecordKind, RecordWriter};
use rows::is_table;
use special::{special, special_at, special_rules};

/// Formats that are data more often than documents: they are read, but not by default.
const DATA: [&str; 1] = ["csv"];

/// Returns the globs of the files that are documents by default. Tables whose rows are documents need no globs of their own.
pub fn default_include() -> Vec<String> {
    let texts = Format::EXTENSIONS.iter().filter(|(format, _)| matches!(format, Format::Markdown | Format::Text));
    let read = ReadFormat::ALL.iter().filter(|format| !DATA.contains(&format.name));
    let extensions = texts.map(|(_, extensions)| *extensions).chain(read.map(|format| format.extensions)).flatten();
    extensions.map(|extension| format!("*.{extension}")).collect()
}

/// Default size limit of a document: 256 MiB.
pub const DEFAULT_MAX_BYTES: u64 = 256 << 20;

/// A folder or file that contains documents. Written `PATH` or `NAME=PATH`; the path may be a URL, in the form of
/// a [`Location`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Collection name; [`DEFAULT_COLLECTION`] unless the root was named.
    pub collection: String,
    /// The folder or file.
    pub location: Location,
}

impl Root {
    /// Creates an unnamed root on this machine.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { collection: DEFAULT_COLLECTION.to_owned(), location: path.into().into() }
    }

    /// Returns the id of the document at `path` below this root: the path itself in the default collection,
    /// `name:path` in a named one. Ids are therefore unique across the corpus and do not change when a root is
    /// added.
    fn doc_id(&self, path: &str) -> String {
        if self.collection == DEFAULT_COLLECTION { path.to_owned() } else { format!("{}:{path}", self.collection) }
    }
}

impl Root {
    fn wrong(&self, problem: String, help: &str) -> Error {
        Error::Corpus { path: self.location.path().to_owned(), problem, help: help.to_owned() }
    }
}

impl FromStr for Root {
    type Err = Error;

    /// Parses a root. `NAME=PATH` names it, unless a file or folder with that whole name exists.
    fn from_str(s: &str) -> Result<Self> {
        let is_url = |(before, _): &(&str, &str)| before.contains("://");
        let named = s.split_once('=').filter(|split| !is_url(split) && !Path::new(s).exists());
        let Some((name, path)) = named else {
            return Ok(Self { collection: DEFAULT_COLLECTION.to_owned(), location: s.parse()? });
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            return Err(Error::Corpus {
                path: s.into(),
                problem: format!("`{name}` cannot name a collection"),
                help: "use letters, digits, `-`, `_` and `.`: docs=./manual".to_owned(),
            });
        }
        Ok(Self { collection: name.to_owned(), location: path.parse()? })
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.collection == DEFAULT_COLLECTION {
            write!(f, "{}", self.location)
        } else {
            write!(f, "{}={}", self.collection, self.location)
        }
    }
}

/// Rules that decide which files below a root are documents.
#[derive(Debug, Clone)]
pub struct Filter {
    include: Gitignore,
    exclude: Gitignore,
    /// The globs that were named, each alone.
    named: Vec<(String, Gitignore)>,
    hidden: bool,
    max_bytes: u64,
    inner: InnerDocuments,
}

impl Filter {
    /// Creates a filter. Globs are read as in a `.gitignore` file in the root: without a `/` before its end, a glob
    /// matches in every folder; with a `/` at its end, it matches folders; what matches a folder matches everything in
    /// it; `*` does not cross a `/`, `**` does; the last glob that matches decides, and `!` turns one around. Case does
    /// not matter. An empty `include` means [`default_include`].
    ///
    /// # Errors
    /// [`Error::Setting`] for a glob that cannot be parsed or a limit over [`MAX_BYTES`].
    pub fn new(include: &[String], exclude: &[String], hidden: bool, max_bytes: u64) -> Result<Self> {
        if max_bytes > MAX_BYTES {
            return Err(Error::setting(
                "max-file-size",
                format!("{max_bytes} is over the largest document that chunkmill can read"),
                format!("use at most {MAX_BYTES}"),
            ));
        }
        let alone = |glob: &String| Ok((glob.clone(), globs("include", std::slice::from_ref(glob))?));
        let named = include.iter().map(alone).collect::<Result<_>>()?;
        let default = default_include();
        let include = if include.is_empty() { &default } else { include };
        let (include, exclude) = (globs("include", include)?, globs("exclude", exclude)?);
        Ok(Self { include, exclude, named, hidden, max_bytes, inner: InnerDocuments::default() })
    }

    /// Takes the documents that are inside files too. Without globs of its own, the filter then takes tables, if rows are
    /// documents.
    ///
    /// # Errors
    /// [`Error::Setting`] for columns that contradict each other; those of [`new`](Self::new).
    pub fn with_inner(self, inner: InnerDocuments) -> Result<Self> {
        inner.check()?;
        let mut include = self.include;
        if inner.rows.is_some() && self.named.is_empty() {
            let tables = Format::TABLES.iter().map(|extension| format!("*.{extension}"));
            include = globs("include", &default_include().into_iter().chain(tables).collect::<Vec<_>>())?;
        }
        Ok(Self { include, inner, ..self })
    }

    /// Returns which files have documents inside them.
    pub fn inner(&self) -> &InnerDocuments {
        &self.inner
    }
}

/// Returns whether globs match a file, or a folder above it.
fn matches(globs: &Gitignore, path: &str) -> bool {
    globs.matched_path_or_any_parents(path, false).is_ignore()
}

/// A filter, and which of its globs have not matched a file yet.
struct Selection<'f> {
    filter: &'f Filter,
    unmatched: RefCell<Vec<&'f (String, Gitignore)>>,
}

/// Whether a file is a document, by the globs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// It is a document.
    Take,
    /// It was excluded, or has the rules of what is excluded.
    Exclude,
    /// No glob names it.
    Other,
}

impl<'f> Selection<'f> {
    fn new(filter: &'f Filter) -> Self {
        // A glob with `!` takes nothing, and says nothing about what exists.
        let unmatched = filter.named.iter().filter(|(glob, _)| !glob.starts_with('!')).collect();
        Self { filter, unmatched: RefCell::new(unmatched) }
    }

    fn choose(&self, path: &str) -> Choice {
        self.unmatched.borrow_mut().retain(|(_, glob)| !matches(glob, path));
        match (matches(&self.filter.include, path), matches(&self.filter.exclude, path)) {
            (_, true) => Choice::Exclude,
            (true, false) => Choice::Take,
            (false, false) if RULES.iter().any(|rules| path.rsplit('/').next() == Some(rules)) => Choice::Exclude,
            (false, false) => Choice::Other,
        }
    }

    /// Names the globs that matched nothing, if there are any: "no file matches `*.html`".
    fn remark(self) -> Option<String> {
        let globs: Vec<String> = self.unmatched.into_inner().iter().map(|(glob, _)| format!("`{glob}`")).collect();
        (!globs.is_empty()).then(|| format!("no file matches {}", globs.join(" or ")))
    }
}

fn globs(setting: &str, patterns: &[String]) -> Result<Gitignore> {
    let invalid = |pattern: &str, problem: &dyn fmt::Display| {
        Error::setting(
            setting,
            format!("`{pattern}` is not a glob: {problem}"),
            "globs look like `*.md`, `guide/**/*.md` or `{a,b}/*.txt`",
        )
    };
    let problem = |error: &ignore::Error| match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    };
    let mut set = GitignoreBuilder::new("");
    // Unlike in a file of rules, which is read by others too, a mistake can be corrected here.
    set.allow_unclosed_class(false);
    for pattern in patterns {
        let line = pattern.strip_prefix("./").map_or_else(|| pattern.clone(), |path| format!("/{path}"));
        // It is not a line of a file, which may be a comment.
        let line = if line.starts_with('#') { format!("\\{line}") } else { line };
        let added = set.case_insensitive(true).and_then(|set| set.add_line(None, &line));
        added.map_err(|error| invalid(pattern, &problem(&error)))?;
    }
    set.build().map_err(|error| invalid(&patterns.join(" "), &problem(&error)))
}

/// A document that was found but not read yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its identity.
    pub origin: Origin,
    /// The root it came from.
    pub root: Arc<Location>,
    /// Whether the document is the root itself.
    pub is_root: bool,
    /// Size in bytes when it was found.
    pub bytes: u64,
    /// Its bytes, if it is inside a file.
    record: Option<Record>,
}

impl Source {
    /// Returns the path to read it from. That of a document inside a file is the path of
    /// the file, `#` and its name.
    pub fn file(&self) -> PathBuf {
        if self.is_root { self.root.path().to_owned() } else { self.root.join(&*self.origin.path) }
    }
}

/// Splits a list of documents into blocks of at most this many bytes, or of one document.
pub fn blocks(sources: &[Source], bytes: u64) -> impl Iterator<Item = &[Source]> {
    let mut rest = sources;
    std::iter::from_fn(move || {
        let mut weight = 0;
        let fits = |source: &&Source| {
            // Opening a file takes time too.
            weight += source.bytes + 1;
            weight <= bytes
        };
        let (block, after) = rest.split_at(rest.iter().take_while(fits).count().max(1).min(rest.len()));
        rest = after;
        (!block.is_empty()).then_some(block)
    })
}

/// A document that is not indexed, with the reason.
#[derive(Debug)]
pub struct QuarantinedDocument {
    /// Id of the document.
    pub doc_id: Arc<str>,
    /// Name of the root it came from.
    pub collection: Arc<str>,
    /// Path below the root.
    pub path: Arc<str>,
    /// The reason why it was skipped.
    pub reason: Skip,
    /// BLAKE3 hash of the bytes that were read, in hexadecimal; `None` if nothing was read.
    pub hash: Option<String>,
}

impl QuarantinedDocument {
    /// Quarantines a document for this reason. `hash` is the hash of the bytes that were read.
    #[must_use]
    pub fn of(origin: Origin, reason: Skip, hash: Option<String>) -> Self {
        let Origin { doc_id, collection, path, .. } = origin;
        Self { doc_id, collection, path, reason, hash }
    }
}

/// All discovered documents: `sources` and `quarantined` together; and what is no document.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Documents to read, sorted by id.
    pub sources: Vec<Source>,
    /// Documents that were ruled out without reading them, sorted by id.
    pub quarantined: Vec<QuarantinedDocument>,
    /// Files that are no documents because no glob takes them.
    pub others: OtherFiles,
    records: RecordWriter,
}

/// Finds the documents below `roots`. Skips everything at or below a location in `except`: the dataset that is
/// being written may be inside a root.
///
/// # Errors
/// [`Error::Corpus`] if a root does not exist, is neither a file nor a folder, or is in `except`; if an ignore
/// file is not a regular file; if two documents would have the same id; or if there is no document at all.
pub fn discover(roots: &[Root], filter: &Filter, except: &[Location]) -> Result<Discovery> {
    let except: Vec<PathBuf> = except.iter().filter_map(|location| canonical(location).ok()).collect();
    let mut found = Discovery::default();
    let selection = Selection::new(filter);
    let mut places = Vec::with_capacity(roots.len());
    for root in roots {
        let canonical = canonical(&root.location).map_err(|error| absent(root, &error))?;
        if except.contains(&canonical) {
            return Err(is_output(root));
        }
        places.push(RootPlace::new(root, &canonical));
    }
    let mut once = Once::new(&mut places);
    for place in &places {
        let (root, canonical) = (place.root, place.canonical.path());
        let absent = |error: std::io::Error| absent(root, &error);
        let entry = root.location.storage().find(canonical).map_err(absent)?;
        let is_here = !root.location.is_in_object_store();
        if let Some(reason) = is_here.then(|| special_at(canonical)).flatten() {
            return Err(root.wrong(reason.to_string(), "name an existing folder or file"));
        }
        let before = [found.sources.len(), found.quarantined.len()];
        let others = if once.is_some() { found.others.clone() } else { OtherFiles::default() };
        match entry.filter(|entry| !entry.is_folder) {
            // A file that the user names is a document, whatever its name.
            Some(file) => {
                let name = root.location.path().file_name().unwrap_or(canonical.as_os_str()).to_str();
                // A glob that would take it is not a mistake.
                if let Some(name) = name {
                    selection.choose(name);
                }
                found.add(place, &file, name, filter)?;
            }
            None if !is_here => list(place, &selection, &except, &mut found)?,
            None => walk(place, &selection, &except, &mut found)?,
        }
        if let Some(once) = &mut once {
            if places.iter().take_while(|other| !std::ptr::eq(*other, place)).any(|above| is_below(place, above)) {
                found.others = others;
            }
            once.keep(&mut found, before, canonical)?;
        }
    }
    if let Some(Once { again: again @ 1.., .. }) = once {
        let (again, is) = (count(again, "document"), if again == 1 { "is" } else { "are" });
        tracing::warn!("{again} {is} below several of these folders and counted once, below the outermost one");
    }
    let remark = selection.remark();
    if found.sources.is_empty() && found.quarantined.is_empty() {
        let remark = remark.map(|remark| format!(": {remark}")).unwrap_or_default();
        let read = if filter.named.is_empty() {
            &format!(
                "without --include, these are the documents that `chunkmill formats` lists; `--include '*.py'` takes other files instead (convert documents of other kinds first, for example with {CONVERTERS})"
            )
        } else {
            "globs are read as in .gitignore: `*.py` matches in every folder, `/*.py` only at the top"
        };
        return Err(Error::Corpus {
            path: roots.first().map(|root| root.location.path().to_owned()).unwrap_or_default(),
            problem: format!("no document was found{remark}"),
            help: format!("{read}; ignore files may hide some"),
        });
    }
    if let Some(remark) = remark {
        tracing::warn!("{remark} (--include)");
    }
    found.records.finish()?;
    found.sources.sort_by(|a, b| a.origin.doc_id.cmp(&b.origin.doc_id));
    found.quarantined.sort_by(|a, b| a.doc_id.cmp(&b.doc_id));
    if let Some(pair) = found.sources.windows(2).find(|pair| pair[0].origin.doc_id == pair[1].origin.doc_id) {
        return Err(Error::Corpus {
            path: pair[1].file(),
            problem: format!("has the same document id `{}` as {}", pair[1].origin.doc_id, pair[0].file().display()),
            help: "give the roots names: chunkmill … one=DIR two=DIR".to_owned(),
        });
    }
    Ok(found)
}

/// Whether a root is below another one, which has its files already.
fn is_below(place: &RootPlace<'_>, above: &RootPlace<'_>) -> bool {
    place.canonical.path().starts_with(above.canonical.path())
}

/// Checks that no root is the folder to write to.
///
/// # Errors
/// [`Error::Corpus`] that names the root.
pub(crate) fn check_apart(roots: &[Root], out: &Location) -> Result<()> {
    let out = canonical(out).ok();
    let same = roots.iter().find(|root| out.is_some() && canonical(&root.location).ok() == out);
    same.map_or(Ok(()), |root| Err(is_output(root)))
}

/// One local folder has one canonical path, however it is written.
fn canonical(location: &Location) -> std::io::Result<PathBuf> {
    let path = location.path();
    if location.is_in_object_store() { Ok(path.to_owned()) } else { path.canonicalize() }
}

fn is_output(root: &Root) -> Error {
    root.wrong("is both corpus and output".to_owned(), "write the dataset to another folder: -o OUT")
}

fn absent(root: &Root, error: &std::io::Error) -> Error {
    let meant = did_you_mean(root.location.meant());
    root.wrong(error.to_string(), &format!("name an existing folder or file{meant}"))
}

/// Finds documents that are below several roots.
struct Once {
    /// Each document found so far, with its collection if it is not quarantined.
    known: HashMap<PathBuf, Option<Arc<str>>>,
    /// Number of documents that were found again.
    again: usize,
}

impl Once {
    /// If a root is below another, puts outer roots before inner ones. Otherwise returns `None`.
    fn new(places: &mut [RootPlace<'_>]) -> Option<Self> {
        let mut paths: Vec<&Path> = places.iter().map(|place| place.canonical.path()).collect();
        paths.sort();
        paths.windows(2).any(|two| two[1].starts_with(two[0])).then(|| {
            places.sort_by(|a, b| a.canonical.path().cmp(b.canonical.path()));
            Self { known: HashMap::new(), again: 0 }
        })
    }

    /// Keeps those of the last documents that were not found before.
    ///
    /// # Errors
    /// [`Error::Corpus`] if a document is in two collections.
    fn keep(&mut self, found: &mut Discovery, before: [usize; 2], root: &Path) -> Result<()> {
        for source in found.sources.split_off(before[0]) {
            match self.known.get(&source.file()) {
                None => {
                    self.known.insert(source.file(), Some(Arc::clone(&source.origin.collection)));
                    found.sources.push(source);
                }
                Some(Some(other)) if *other != source.origin.collection => {
                    return Err(Error::Corpus {
                        path: source.file(),
                        problem: format!("is in two collections, `{other}` and `{}`", source.origin.collection),
                        help: "name folders that do not overlap, or leave it out of one of them with --exclude"
                            .to_owned(),
                    });
                }
                Some(_) => self.again += 1,
            }
        }
        for document in found.quarantined.split_off(before[1]) {
            match self.known.entry(root.join(&*document.path)) {
                hash_map::Entry::Occupied(_) => self.again += 1,
                hash_map::Entry::Vacant(free) => {
                    free.insert(None);
                    found.quarantined.push(document);
                }
            }
        }
        Ok(())
    }
}

/// A root, with the values that its documents share.
struct RootPlace<'r> {
    root: &'r Root,
    collection: Arc<str>,
    canonical: Arc<Location>,
}

impl<'r> RootPlace<'r> {
    fn new(root: &'r Root, canonical: &Path) -> Self {
        let canonical = Arc::new(root.location.at(canonical));
        Self { root, collection: root.collection.as_str().into(), canonical }
    }
}

/// Finds the documents below a local folder.
///
/// # Errors
/// [`Error::Corpus`] if an ignore file is not a regular file: what it was meant to hide must not be indexed.
fn walk(place: &RootPlace<'_>, selection: &Selection<'_>, except: &[PathBuf], found: &mut Discovery) -> Result<()> {
    let (root, canonical, filter) = (place.root, place.canonical.path(), selection.filter);
    let (skip, top, above) = (except.to_vec(), canonical.to_owned(), IgnoreRules::above(canonical));
    let refused = |(path, reason): (PathBuf, Skip)| Error::Corpus {
        path,
        problem: reason.to_string(),
        help: "remove it: ignore rules are read from a file of this name".to_owned(),
    };
    // The walk opens a folder's ignore files when it enters the folder, but it does not call the filter for the
    // root.
    special_rules(canonical).map_or(Ok(()), |rules| Err(refused(rules)))?;
    let (tell, told) = mpsc::channel();
    let mut links: Vec<(String, Option<PathBuf>)> = Vec::new();
    let walker = WalkBuilder::new(canonical)
        .standard_filters(false)
        .ignore(true)
        .git_ignore(true)
        .require_git(false)
        .hidden(!filter.hidden)
        .follow_links(false)
        .filter_entry(move |entry| {
            let vcs = entry.depth() > 0 && entry.file_name().to_str().is_some_and(is_of_version_control);
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let hidden = |above: &IgnoreRules| entry.depth() > 0 && above.hide(entry.path(), is_folder, &top);
            if vcs || skip.iter().any(|dir| dir == entry.path()) || above.as_ref().is_some_and(hidden) {
                return false;
            }
            if is_folder
                && entry.depth() > 0
                && let Some(own) = own_folder(entry.path())
            {
                own.tell(entry.path());
                return false;
            }
            let refused = is_folder.then(|| special_rules(entry.path())).flatten();
            refused.is_none_or(|rules| tell.send(rules).is_err())
        })
        .build();
    for entry in walker {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                found.unreadable(root, canonical, &error);
                continue;
            }
        };
        let path = entry.path();
        let relative = path.strip_prefix(canonical).unwrap_or(path);
        let name = slashed(relative);
        let Some(kind) = entry.file_type() else { continue };
        let shown = || name.clone().unwrap_or_else(|| relative.to_string_lossy().into_owned());
        let choice = || name.as_deref().map_or(Choice::Take, |name| selection.choose(name));
        let takes = || choice() == Choice::Take;
        if kind.is_symlink() {
            let target = path.canonicalize().ok();
            let inside = target.as_ref().is_some_and(|target| target.starts_with(canonical));
            let folder = path.is_dir();
            if (takes() && !folder) || (folder && !inside) {
                links.push((shown(), target.filter(|_| inside)));
            }
        } else if kind.is_file() {
            match choice() {
                Choice::Exclude => {}
                Choice::Other => found.others.add(&shown()),
                Choice::Take => match fs::metadata(path) {
                    Ok(metadata) => {
                        let modified = metadata.modified().ok();
                        let entry = Entry { path: path.to_owned(), is_folder: false, bytes: metadata.len(), modified };
                        found.add(place, &entry, name.as_deref(), filter)?;
                    }
                    Err(error) => found.quarantine(root, shown(), Skip::Unreadable(error)),
                },
            }
        } else if let Some(reason) = special(kind).filter(|_| takes()) {
            found.quarantine(root, shown(), reason);
        }
    }
    if let Ok(rules) = told.try_recv() {
        return Err(refused(rules));
    }
    // A link to a document that was found under its own name is not another document.
    if !links.is_empty() {
        let sources: HashSet<PathBuf> = found.sources.iter().map(Source::file).collect();
        links.retain(|(_, target)| target.as_ref().is_none_or(|target| !sources.contains(target)));
    }
    for (shown, _) in links {
        found.quarantine(root, shown, Skip::Symlink);
    }
    Ok(())
}

/// Finds the documents below a root in an object store, by the same rules as [`walk`]; there are no links.
fn list(place: &RootPlace<'_>, selection: &Selection<'_>, except: &[PathBuf], found: &mut Discovery) -> Result<()> {
    let (root, storage, filter) = (place.canonical.path(), place.canonical.storage(), selection.filter);
    let failed = |error: std::io::Error| absent(place.root, &error);
    let entries = storage.files_below(root).map_err(failed)?;
    let is_rule = |entry: &&Entry| RULES.contains(&&*entry.name());
    let rules: Vec<PathBuf> = entries.iter().filter(is_rule).map(|entry| entry.path.clone()).collect();
    let mut ignored = IgnoreRules::new(root, filter.hidden);
    for (path, text) in rules.iter().zip(storage.read_all(&rules)) {
        ignored.add(path, &String::from_utf8_lossy(&text.map_err(failed)?));
    }
    let mut except = except.to_vec();
    for (entry, own) in entries.iter().filter_map(|entry| Some((entry, told_by(&entry.name())?))) {
        let folder = entry.path.parent().filter(|folder| *folder != root);
        let folder = folder.filter(|folder| !except.iter().any(|known| folder.starts_with(known)));
        if let Some(folder) = folder
            && own.is_told_by(storage.open(&entry.path).map_err(failed)?)
        {
            own.tell(folder);
            except.push(folder.to_owned());
        }
    }
    for entry in &entries {
        let Some(name) = entry.path.strip_prefix(root).ok().and_then(slashed) else { continue };
        let passed_over = name.rsplit_once('/').is_some_and(|(above, _)| above.split('/').any(is_of_version_control))
            || except.iter().any(|folder| entry.path.starts_with(folder));
        if passed_over || ignored.ignores(&entry.path) {
            continue;
        }
        match selection.choose(&name) {
            Choice::Take => found.add(place, entry, Some(&name), filter)?,
            Choice::Other => found.others.add(&name),
            Choice::Exclude => {}
        }
    }
    Ok(())
}

/// Returns whether a file is a mail or a mailbox, by its name.
fn is_mail(name: &str) -> bool {
    ReadFormat::of_path(name).is_some_and(|format| format.name == "mail")
}

/// Returns whether a folder with this name belongs to a version control system.
fn is_of_version_control(name: &str) -> bool {
    matches!(name, ".git" | ".hg" | ".svn" | ".jj")
}

/// Returns the path with `/` between its parts, or `None` if it is not UTF-8.
fn slashed(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.iter().map(|part| part.to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// Returns a time in microseconds since 1970; negative before that.
fn micros(time: SystemTime) -> Option<i64> {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_micros()).ok(),
        Err(error) => i64::try_from(error.duration().as_nanos().div_ceil(1000)).ok().map(|before| -before),
    }
}

impl Discovery {
    fn quarantine(&mut self, root: &Root, path: String, reason: Skip) {
        let (doc_id, collection) = (root.doc_id(&path).into(), root.collection.as_str().into());
        self.quarantined.push(QuarantinedDocument { doc_id, collection, path: path.into(), reason, hash: None });
    }

    fn unreadable(&mut self, root: &Root, canonical: &Path, error: &ignore::Error) {
        fn path_of(error: &ignore::Error) -> Option<&Path> {
            match error {
                ignore::Error::WithPath { path, .. } => Some(path),
                ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
                _ => None,
            }
        }
        let path = path_of(error).unwrap_or(canonical);
        let relative = path.strip_prefix(canonical).unwrap_or(path);
        let reason = Skip::Unreadable(std::io::Error::other(error.to_string()));
        self.quarantine(root, relative.to_string_lossy().into_owned(), reason);
    }

    fn add(&mut self, place: &RootPlace<'_>, file: &Entry, name: Option<&str>, filter: &Filter) -> Result<()> {
        let root = place.root;
        let Some(name) = name else {
            self.quarantine(root, file.name(), Skip::Name);
            return Ok(());
        };
        if let Some(columns) = filter.inner.rows.as_ref().filter(|_| is_table(name)) {
            let (rows, broken) =
                rows::rows(place.canonical.storage(), &file.path, columns, filter.max_bytes, &mut self.records)?;
            for (row, record) in rows {
                let name = format!("{name}#{row}");
                match record {
                    Ok(record) => self.found(place, file, &name, record.bytes(), Some(record)),
                    Err(reason) => self.quarantine(root, name, reason),
                }
            }
            if let Some(reason) = broken {
                self.quarantine(root, name.to_owned(), reason);
            }
        } else if file.bytes > filter.max_bytes {
            self.quarantine(root, name.to_owned(), Skip::TooLarge { bytes: file.bytes, limit: filter.max_bytes });
        } else {
            self.found(place, file, name, file.bytes, None);
            if filter.inner.attachments && is_mail(name) {
                self.attachments(place, file, name, filter)?;
            }
        }
        Ok(())
    }

    /// Adds the files that are attached to a mail, as the globs choose them.
    fn attachments(&mut self, place: &RootPlace<'_>, file: &Entry, name: &str, filter: &Filter) -> Result<()> {
        // If it cannot be read, it is quarantined when it is read as a document.
        let Ok(bytes) = place.canonical.storage().read(&file.path) else { return Ok(()) };
        let mut written = Ok(());
        chunkmill_read::attachments(&bytes, &mut |attached, bytes| {
            let name = format!("{name}#{attached}");
            if written.is_err() || matches(&filter.exclude, &name) {
            } else if !matches(&filter.include, &name) {
                self.others.add(&name);
            } else {
                match self.records.add(RecordKind::File, "", bytes) {
                    Ok(record) => self.found(place, file, &name, record.bytes(), Some(record)),
                    Err(error) => written = Err(error),
                }
            }
        });
        written
    }

    fn found(&mut self, place: &RootPlace<'_>, file: &Entry, name: &str, bytes: u64, record: Option<Record>) {
        let path: Arc<str> = name.into();
        let doc_id = place.root.doc_id(name);
        let origin = Origin {
            doc_id: if *doc_id == *path { Arc::clone(&path) } else { doc_id.into() },
            collection: Arc::clone(&place.collection),
            path,
            modified_micros: file.modified.and_then(micros),
        };
        self.sources.push(Source {
            origin,
            root: Arc::clone(&place.canonical),
            // The path of a document inside a file is more than that of the file.
            is_root: record.is_none() && file.path == place.canonical.path(),
            bytes,
            record,
        });
    }
}

/// A document that is about to be read, or whose bytes have already been fetched.
#[derive(Debug)]
pub struct FetchedDocument {
    source: Source,
    bytes: Option<std::io::Result<Vec<u8>>>,
}

impl From<Source> for FetchedDocument {
    fn from(source: Source) -> Self {
        Self { source, bytes: None }
    }
}

/// Prepares documents for reading. Those in object stores are fetched, many at once, because each one takes time
/// to arrive. The others are read when they are needed.
///
/// # Errors
/// [`Error::Io`] if a document that exists cannot be fetched. Unlike with a file that cannot be read, the cause is
/// not the document but the network or the credentials, and these would remove all other documents from the
/// dataset too.
pub fn fetch(sources: &[Source]) -> Result<Vec<FetchedDocument>> {
    let mut documents: Vec<FetchedDocument> = sources.iter().cloned().map(FetchedDocument::from).collect();
    let mut roots: Vec<&Arc<Location>> = Vec::new();
    for Source { root, .. } in sources.iter().filter(|source| source.record.is_none()) {
        if root.is_in_object_store() && !roots.iter().any(|known| Arc::ptr_eq(known, root)) {
            roots.push(root);
        }
    }
    for root in roots {
        let is_here = |source: &Source| source.record.is_none() && Arc::ptr_eq(&source.root, root);
        let mut here: Vec<&mut FetchedDocument> =
            documents.iter_mut().filter(|document| is_here(&document.source)).collect();
        let files: Vec<PathBuf> = here.iter().map(|document| document.source.file()).collect();
        for (document, bytes) in here.iter_mut().zip(root.storage().read_all(&files)) {
            document.bytes = match bytes {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("read", document.source.file())(error));
                }
                bytes => Some(bytes),
            };
        }
    }
    Ok(documents)
}

impl FetchedDocument {
    /// Returns the size in bytes when it was found.
    pub fn bytes(&self) -> u64 {
        self.source.bytes
    }

    /// Returns where the document comes from, without reading it.
    pub fn origin(self) -> Origin {
        self.source.origin
    }

    /// Reads the document with these settings.
    ///
    /// # Errors
    /// A [`Skip`], with the origin, if the file cannot be read, and those of [`layer`].
    pub fn read(self, settings: &ReadSettings) -> Result<(Origin, Layer), QuarantinedDocument> {
        let Self { source, bytes } = self;
        if let Some(record) = &source.record {
            return match record.layer(&source.origin.path, settings) {
                Ok(Ok(layer)) => Ok((source.origin, layer)),
                Ok(Err(Refusal { reason, hash })) => Err(QuarantinedDocument::of(source.origin, reason, Some(hash))),
                Err(error) => Err(QuarantinedDocument::of(source.origin, Skip::Unreadable(error), None)),
            };
        }
        match bytes.unwrap_or_else(|| source.root.storage().read(&source.file())) {
            Ok(bytes) => layer(source.origin, bytes, settings),
            Err(error) => Err(QuarantinedDocument::of(source.origin, Skip::Unreadable(error), None)),
        }
    }

    /// Returns the BLAKE3 hash of its bytes in hexadecimal, or `None` if they cannot be read. They need not fit
    /// into memory. That of a row is of its metadata and its text.
    pub fn hash(&self) -> Option<String> {
        if let Some(record) = &self.source.record {
            return record.hash().ok();
        }
        let mut hasher = blake3::Hasher::new();
        match &self.bytes {
            Some(bytes) => hasher.update(bytes.as_ref().ok()?),
            None => hasher.update_reader(self.source.root.storage().open(&self.source.file()).ok()?).ok()?,
        };
        Some(hasher.finalize().to_hex().to_string())
    }
}

/// Reads one document with these settings.
pub fn read(source: Source, settings: &ReadSettings) -> Result<(Origin, Layer), QuarantinedDocument> {
    FetchedDocument::from(source).read(settings)
}

/// Reads a document from its bytes, see [`chunkmill_read::read`].
///
/// # Errors
/// A [`Skip`], with the origin and the hash of the bytes.
pub fn layer(origin: Origin, bytes: Vec<u8>, settings: &ReadSettings) -> Result<(Origin, Layer), QuarantinedDocument> {
    match chunkmill_read::read(&origin.path, bytes, settings) {
        Ok(layer) => Ok((origin, layer)),
        Err(Refusal { reason, hash }) => Err(QuarantinedDocument::of(origin, reason, Some(hash))),
    }
}
