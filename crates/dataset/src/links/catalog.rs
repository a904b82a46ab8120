//! All documents of a corpus by path, name and alias, with the places in them. The catalog is small in memory, and
//! look-ups take logarithmic time regardless of how many documents share a name.

use chunkmill_text::document::slug;

use super::name::hash;
use super::outline::Outgoing;
use super::target;

/// Extensions that a link may omit or write as `html`, in the order in which they are tried.
const EXTENSIONS: [&str; 4] = ["md", "markdown", "mdx", "mkd"];

/// A document to add to the catalog.
#[derive(Debug)]
pub struct Listing {
    entry: CatalogEntry,
    aliases: Vec<u64>,
}

/// A document in the catalog.
#[derive(Debug)]
struct CatalogEntry {
    doc_id: Box<str>,
    /// Offset of the path in the id, after the collection's name.
    path_at: usize,
    /// Sorted hashes of anchors, and the caller's number for each.
    anchors: Box<[(u64, u64)]>,
}

impl Listing {
    /// Creates the listing of a document from its id, its path (which is the end of the id), its aliases, and for
    /// the hash of each anchor a number that [`Lead::Place`] returns.
    #[must_use]
    pub fn new(doc_id: &str, path: &str, aliases: &[String], mut anchors: Vec<(u64, u64)>) -> Self {
        anchors.sort_unstable();
        let path_at = doc_id.strip_suffix(path).map_or(0, str::len);
        let aliases = aliases.iter().map(|alias| hash(&fold(alias.trim()))).collect();
        Self { entry: CatalogEntry { doc_id: doc_id.into(), path_at, anchors: anchors.into() }, aliases }
    }
}

impl CatalogEntry {
    fn collection(&self) -> &str {
        &self.doc_id[..self.path_at]
    }

    fn path(&self) -> &str {
        &self.doc_id[self.path_at..]
    }

    fn folder(&self) -> &str {
        self.path().rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    fn rank(&self) -> Rank<'_> {
        Rank::new(self.collection(), self.path())
    }

    fn anchor(&self, name: &str) -> Option<u64> {
        let name = hash(name);
        let at = self.anchors.partition_point(|(other, _)| *other < name);
        self.anchors.get(at).filter(|(other, _)| *other == name).map(|(_, number)| *number)
    }

    fn lead(&self, place: Option<&str>, find: impl Fn(&str) -> Option<u64>) -> Lead<'_> {
        match place.map(find) {
            None => Lead::Document(&self.doc_id),
            Some(None) => Lead::NoSuchPlace(&self.doc_id),
            Some(Some(number)) => Lead::Place(&self.doc_id, number),
        }
    }
}

/// The order of the catalog. If several documents of a collection have the same name, the first one wins: markdown
/// comes first, then the document with the fewest folders above it, then the first by path.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'e> {
    collection: &'e str,
    is_other: bool,
    depth: usize,
    path: &'e str,
}

impl<'e> Rank<'e> {
    fn new(collection: &'e str, path: &'e str) -> Self {
        Self { collection, is_other: without_extension(path).is_none(), depth: depth(path), path }
    }
}

/// The target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lead<'c> {
    /// Not a document of the corpus.
    Nothing,
    /// The document with this id; the link names no place in it.
    Document(&'c str),
    /// The document with this id, which has no place of the given name.
    NoSuchPlace(&'c str),
    /// A place in the document with this id, as the caller's number for its anchor.
    Place(&'c str, u64),
}

/// All documents of a corpus, with the names that links can use.
#[derive(Debug)]
pub struct Catalog {
    /// Sorted by [`Rank`].
    entries: Vec<CatalogEntry>,
    /// Hash of each tail of a path (`c`, `b/c`, `a/b/c`), with the entry; equal hashes are in the order of entries.
    tails: Vec<(u64, u32)>,
    /// The same for tails as they are written, if they differ from that of another entry only in case.
    exact: Vec<(u64, u32)>,
    /// Hash of each alias, with the entry.
    aliases: Vec<(u64, u32)>,
    /// Hash of each folder that has its own page (`README.md`), with the entry of the page.
    folders: Vec<(u64, u32)>,
}

impl Catalog {
    /// Builds the catalog; the order of the listings does not matter.
    #[must_use]
    pub fn new(mut listings: Vec<Listing>) -> Self {
        listings.sort_by(|a, b| a.entry.rank().cmp(&b.entry.rank()));
        let (mut tails, mut aliases, mut folders) = (Vec::new(), Vec::new(), Vec::new());
        for (number, Listing { entry, aliases: own }) in (0..).zip(&listings) {
            let names = [without_extension(entry.path()), Some(entry.path()), stem(entry.path())];
            // Links name a page with or without its extension; for markdown, one key serves both.
            let names = if names[0].is_some() { &names[..1] } else { &names[1..] };
            for name in names.iter().flatten() {
                let starts = name.match_indices('/').map(|(slash, _)| slash + 1);
                let spelled = [0].into_iter().chain(starts).map(|start| &name[start..]);
                tails.extend(spelled.map(|tail| (hash(&fold(tail)), number, hash(tail))));
            }
            aliases.extend(own.iter().map(|alias| (*alias, number)));
            if page_of_folder(entry.path()).is_some() {
                folders.push((hash_folder(entry.collection(), entry.folder()), number));
            }
        }
        tails.sort_unstable();
        let same_but_for_case =
            tails.chunk_by(|a, b| a.0 == b.0).filter(|group| group.iter().any(|key| key.2 != group[0].2));
        let mut exact: Vec<_> = same_but_for_case.flatten().map(|&(_, number, spelled)| (spelled, number)).collect();
        let mut tails: Vec<_> = tails.into_iter().map(|(tail, number, _)| (tail, number)).collect();
        for keys in [&mut tails, &mut exact, &mut aliases, &mut folders] {
            keys.sort_unstable();
            keys.dedup();
            keys.shrink_to_fit();
        }
        Self { entries: listings.into_iter().map(|listing| listing.entry).collect(), tails, exact, aliases, folders }
    }

    /// Finds the target of a link in the document `from`.
    pub fn lead(&self, from: &str, link: &Outgoing) -> Lead<'_> {
        self.lead_from(from, link).unwrap_or(Lead::Nothing)
    }

    fn lead_from(&self, from: &str, link: &Outgoing) -> Option<Lead<'_>> {
        let from = self.by_id(from)?;
        if link.named {
            let (name, heading) = target::name(&link.target);
            let to = match (name, heading) {
                ("", None) => return None,
                ("", Some(_)) => from,
                _ => self.named(from, name)?,
            };
            // The names of blocks are in the text of a note; only note-taking tools read them.
            let heading = heading.filter(|heading| !heading.is_empty() && !heading.starts_with('^'));
            return Some(to.lead(heading, |heading| to.anchor(&slug(heading)).or_else(|| to.anchor(heading))));
        }
        let (path, fragment) = target::path(&link.target);
        let to = if path.is_empty() && !link.target.is_empty() { from } else { self.at_path(from, path)? };
        let fragment = fragment.map(target::decode).filter(|fragment| !fragment.is_empty());
        let found = |fragment: &str| {
            let fragment = fragment.strip_prefix("user-content-").unwrap_or(fragment);
            to.anchor(fragment).or_else(|| to.anchor(&fold(fragment)))
        };
        Some(match to.lead(fragment.as_deref(), found) {
            Lead::NoSuchPlace(doc) if fragment.is_some_and(|name| is_built_in(&name)) => Lead::Document(doc),
            lead => lead,
        })
    }

    fn by_id(&self, doc_id: &str) -> Option<&CatalogEntry> {
        // The collection's name ends at the first colon, unless the colon is part of a path.
        let split = doc_id.find(':').map_or(0, |colon| colon + 1);
        [split, 0].into_iter().find_map(|at| self.find(&doc_id[..at], &doc_id[at..]))
    }

    fn find(&self, collection: &str, path: &str) -> Option<&CatalogEntry> {
        let wanted = Rank::new(collection, path);
        let found = self.entries.binary_search_by(|entry| entry.rank().cmp(&wanted));
        found.ok().map(|at| &self.entries[at])
    }

    /// Finds the document that a path leads to: decoded, otherwise as written, otherwise without regard to case.
    fn at_path(&self, from: &CatalogEntry, path: &str) -> Option<&CatalogEntry> {
        if path.is_empty() {
            return None;
        }
        let decoded = target::decode(path);
        let found = self.at_plain_path(from, &decoded);
        let as_written = || if decoded == path { None } else { self.at_plain_path(from, path) };
        found.or_else(as_written).or_else(|| self.at_folded_path(from, &decoded))
    }

    /// Finds the document whose path differs only in case, which sites and some file systems ignore.
    fn at_folded_path(&self, from: &CatalogEntry, path: &str) -> Option<&CatalogEntry> {
        let target::LinkPlace { path, is_folder: false } = target::follow(from.folder(), path)? else { return None };
        let name = fold(without_extension(&path).unwrap_or(&path));
        let found = self.first(&self.tails, hash(&name), from.collection(), true);
        found.filter(|entry| depth(entry.path()) == depth(&path))
    }

    fn at_plain_path(&self, from: &CatalogEntry, path: &str) -> Option<&CatalogEntry> {
        let target::LinkPlace { path, is_folder } = target::follow(from.folder(), path)?;
        let find = |path: &str| self.find(from.collection(), path);
        let extended = |path: &str| EXTENSIONS.iter().find_map(|extension| find(&format!("{path}.{extension}")));
        let as_file = || find(&path).or_else(|| extended(&path));
        let as_html = || extended(path.strip_suffix(".html").or_else(|| path.strip_suffix(".htm"))?);
        let as_folder = || self.page_of(from.collection(), &path);
        if is_folder { as_folder().or_else(|| extended(&path)) } else { as_file().or_else(as_folder).or_else(as_html) }
    }

    /// Returns the page that represents a folder.
    fn page_of(&self, collection: &str, folder: &str) -> Option<&CatalogEntry> {
        let pages = group(&self.folders, hash_folder(collection, folder)).iter().filter_map(|&(_, at)| self.at(at));
        let own = pages.filter(|entry| (entry.collection(), entry.folder()) == (collection, folder));
        own.min_by_key(|entry| page_of_folder(entry.path()))
    }

    /// Finds the document that a wikilink names.
    fn named(&self, from: &CatalogEntry, name: &str) -> Option<&CatalogEntry> {
        if name.starts_with("./") || name.starts_with("../") || name.starts_with('/') {
            return self.at_plain_path(from, name);
        }
        let wanted = without_extension(name).unwrap_or(name);
        let in_folder = || {
            let (above, last) = wanted.rsplit_once('/').unwrap_or(("", wanted));
            let (folder, above) = (fold(from.folder()), fold(above));
            let fits = above.is_empty() || folder == above || folder.ends_with(&format!("/{above}"));
            let beside = if folder.is_empty() { last.to_owned() } else { format!("{}/{last}", from.folder()) };
            // A document with exactly this path has fewer parts than others whose paths end with it.
            let is_here = |entry: &&CatalogEntry| fits && depth(entry.path()) == depth(&beside);
            self.tails(&beside).find_map(|(keys, key)| self.first(keys, key, from.collection(), true).filter(is_here))
        };
        let by_tail = |own| self.tails(wanted).find_map(|(keys, key)| self.first(keys, key, from.collection(), own));
        let by_alias = |own| self.first(&self.aliases, hash(&fold(name)), from.collection(), own);
        let in_own = in_folder().or_else(|| by_tail(true)).or_else(|| by_alias(true));
        in_own.or_else(|| by_tail(false)).or_else(|| by_alias(false))
    }

    /// Returns where to look for the end of a path, and its key there: as it is spelled, then without regard to case.
    fn tails(&self, tail: &str) -> impl Iterator<Item = (&[(u64, u32)], u64)> {
        [(self.exact.as_slice(), hash(tail)), (self.tails.as_slice(), hash(&fold(tail)))].into_iter()
    }

    /// Returns the first entry that has a key, in the given collection or in any.
    fn first(&self, keys: &[(u64, u32)], key: u64, collection: &str, own: bool) -> Option<&CatalogEntry> {
        let group = group(keys, key);
        let before = |at: u32| self.at(at).is_some_and(|entry| entry.collection() < collection);
        let start = if own { group.partition_point(|&(_, at)| before(at)) } else { 0 };
        let found = group.get(start).and_then(|&(_, at)| self.at(at));
        found.filter(|entry| !own || entry.collection() == collection)
    }

    fn at(&self, number: u32) -> Option<&CatalogEntry> {
        self.entries.get(usize::try_from(number).ok()?)
    }
}

/// Returns whether every page has a fragment: its top, or lines of a source file such as `L3-L7`.
fn is_built_in(fragment: &str) -> bool {
    let is_line = |line: &str| {
        let number = line.strip_prefix('L').unwrap_or(line);
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    };
    fragment.eq_ignore_ascii_case("top") || (fragment.starts_with('L') && fragment.splitn(2, '-').all(is_line))
}

/// Returns the pairs with a given key.
fn group(keys: &[(u64, u32)], key: u64) -> &[(u64, u32)] {
    let start = keys.partition_point(|(other, _)| *other < key);
    let len = keys[start..].partition_point(|(other, _)| *other == key);
    &keys[start..start + len]
}

/// Returns a markdown file's path without its extension.
fn without_extension(path: &str) -> Option<&str> {
    let (stem, extension) = path.rsplit_once('.')?;
    EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)).then_some(stem)
}

/// Returns a path without its apparent extension.
fn stem(path: &str) -> Option<&str> {
    let (stem, extension) = path.rsplit_once('.')?;
    (!extension.contains('/') && !stem.is_empty() && !stem.ends_with('/')).then_some(stem)
}

/// Returns the rank of a file among the pages of its folder, if it is one: an index comes before a readme.
fn page_of_folder(path: &str) -> Option<usize> {
    let (stem, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    let known = EXTENSIONS.contains(&extension) || extension == "html";
    let names = ["index", "readme"];
    names.iter().position(|name| known && stem.eq_ignore_ascii_case(name))
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

/// Returns a name in lower case; names are compared without regard to case.
fn fold(name: &str) -> String {
    name.to_lowercase()
}

fn hash_folder(collection: &str, folder: &str) -> u64 {
    hash(&format!("{collection}{folder}"))
}
