//! Rules of ignore files, applied as in a walk of the `ignore` crate: the nearest file with a verdict wins, and
//! every `.ignore` takes precedence over every `.gitignore`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Names of the files that contain a folder's ignore rules.
pub(super) const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// Rules by the folder that contains their file.
type ByFolder = HashMap<PathBuf, Gitignore>;

/// The rules of a folder and of what is below it.
pub(super) struct IgnoreRules {
    root: PathBuf,
    /// Whether hidden files are documents. A file that the rules admit may be hidden.
    hidden: bool,
    ignore: ByFolder,
    gitignore: ByFolder,
}

impl IgnoreRules {
    pub(super) fn new(root: &Path, hidden: bool) -> Self {
        let (ignore, gitignore) = Default::default();
        Self { root: root.to_owned(), hidden, ignore, gitignore }
    }

    /// Reads the rules above a folder that is part of a git repository, up to the repository's own folder. Returns
    /// `None` if there are none, or if they ignore the folder itself, which somebody named nevertheless.
    pub(super) fn above(folder: &Path) -> Option<Self> {
        let repository = folder.ancestors().find(|above| above.join(".git").exists())?;
        let mut rules = Self::new(repository, true);
        for above in folder.ancestors().skip(1).take_while(|above| above.starts_with(repository)) {
            rules.read(above);
        }
        let any = !(rules.ignore.is_empty() && rules.gitignore.is_empty());
        let named = || folder.ancestors().take_while(|above| *above != repository).any(|path| rules.says(path, true));
        (any && !named()).then_some(rules)
    }

    /// Reads the rules in a local folder.
    fn read(&mut self, folder: &Path) {
        for path in RULES.map(|name| folder.join(name)) {
            if fs::metadata(&path).is_ok_and(|found| found.is_file())
                && let Ok(text) = fs::read(&path)
            {
                self.add(&path, &String::from_utf8_lossy(&text));
            }
        }
    }

    /// Adds the rules in a file with this text.
    pub(super) fn add(&mut self, path: &Path, text: &str) {
        let Some(folder) = path.parent() else { return };
        let mut rules = GitignoreBuilder::new(folder);
        for line in text.lines() {
            // Skip invalid patterns, as in a local folder.
            let _ = rules.add_line(None, line);
        }
        let is_git = path.file_name().is_some_and(|name| name == RULES[0]);
        let kind = if is_git { &mut self.gitignore } else { &mut self.ignore };
        if let Ok(rules) = rules.build() {
            kind.insert(folder.to_owned(), rules);
        }
    }

    /// Returns whether a file, or a folder above it, is ignored.
    pub(super) fn ignores(&self, file: &Path) -> bool {
        let below = |path: &&Path| path.starts_with(&self.root) && *path != self.root;
        file.ancestors().take_while(below).any(|path| {
            let is_hidden = || path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
            self.verdict(path, path != file).unwrap_or_else(|| !self.hidden && is_hidden())
        })
    }

    /// Returns whether these rules hide something in a local folder `root` below them, whose own rules come first.
    pub(super) fn hide(&self, path: &Path, is_folder: bool, root: &Path) -> bool {
        if !self.says(path, is_folder) {
            return false;
        }
        let mut inner = Self::new(root, true);
        for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(root)) {
            inner.read(folder);
        }
        let kinds = [[&inner.ignore, &self.ignore], [&inner.gitignore, &self.gitignore]];
        let said = kinds.into_iter().flatten().find_map(|kind| self.nearest(kind, path, is_folder));
        said.unwrap_or_default()
    }

    /// Returns whether the rules ignore this path itself.
    fn says(&self, path: &Path, is_folder: bool) -> bool {
        self.verdict(path, is_folder).unwrap_or_default()
    }

    /// Returns what the rules say about this path itself.
    fn verdict(&self, path: &Path, is_folder: bool) -> Option<bool> {
        [&self.ignore, &self.gitignore].into_iter().find_map(|kind| self.nearest(kind, path, is_folder))
    }

    /// Returns the verdict of the nearest file of one kind.
    fn nearest(&self, kind: &ByFolder, path: &Path, is_folder: bool) -> Option<bool> {
        let mut above = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root));
        above.find_map(|folder| {
            let verdict = kind.get(folder)?.matched(path, is_folder);
            (!verdict.is_none()).then(|| verdict.is_ignore())
        })
    }
}
