//! The map in `src/lib.rs` is correct: it lists every module in the order of the data flow, and a module uses only
//! modules above it. Every file states at its top why it exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{folder, write};

fn source(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(krate).join("src")
}

/// Returns the names in the first column of the map's table with this heading.
fn map(lib: &str, heading: &str) -> Vec<String> {
    let name = |row: &str| row.split('|').next().unwrap_or_default().trim().trim_matches(['[', ']', '`']).to_owned();
    let rows = lib.lines().map(|line| line.strip_prefix("//! | ").map(name));
    let table = rows.skip_while(|row| row.as_deref() != Some(heading)).map_while(|row| row);
    table.skip(1).filter(|name| !name.starts_with("---")).collect()
}

/// Returns every Rust file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
    found
}

/// Returns the module of the map that a file belongs to, or `None` for `lib.rs` and `main.rs`.
fn module_of(file: &Path, root: &Path) -> Option<String> {
    path_of(file, root).into_iter().next().filter(|name| name != "main")
}

/// Returns the names that follow `crate::` in the code of a file.
fn uses(text: &str) -> BTreeSet<&str> {
    let word = |rest: &'_ str| rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split("crate::").skip(1)).map(|rest| &rest[..word(rest)]).collect()
}

fn check(krate: &str) {
    let root = source(krate);
    let lib = fs::read_to_string(root.join("lib.rs")).unwrap();
    let map = map(&lib, "module");
    let declared: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(map, declared, "the map of {krate}/src/lib.rs lists its modules in their order");
    let present: BTreeSet<String> = files(&root).iter().filter_map(|file| module_of(file, &root)).collect();
    assert_eq!(present, map.iter().cloned().collect(), "every file of {krate}/src is in the map");
    for file in files(&root) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{} says at its top why it exists", file.display());
        let Some(own) = module_of(&file, &root) else { continue };
        let rank = |name: &str| map.iter().position(|module| module == name);
        for used in uses(&text) {
            let Some(other) = rank(used) else { continue };
            assert!(Some(other) <= rank(&own), "{} uses `{used}`, which is below `{own}` in the map", file.display());
        }
    }
}

/// The crates, in the order of the data.
const CRATES: [&str; 8] =
    ["crates/base", "crates/text", "crates/read", "crates/embed", "crates/dataset", "crates/search", ".", "eval"];

#[test]
fn the_map_of_each_crate_is_true() {
    CRATES.iter().for_each(|krate| check(krate));
}

#[test]
fn a_crate_uses_only_crates_above_it() {
    let names = map(&fs::read_to_string(source(".").join("lib.rs")).unwrap(), "crate");
    let folders: Vec<String> = names.iter().map(|name| name.replace("chunkmill-", "crates/")).collect();
    assert_eq!(folders, CRATES[..6], "the map of src/lib.rs lists the crates in their order");
    for (at, folder) in folders.iter().enumerate() {
        let manifest = fs::read_to_string(source(folder).with_file_name("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let used = manifest["dependencies"].as_table().unwrap().keys().filter(|name| name.starts_with("chunkmill"));
        used.for_each(|name| assert!(names[..at].contains(name), "{folder} uses {name}"));
    }
}

/// The path to a module, a type or a function, name by name.
type Named = Vec<String>;

/// Returns a file's place in the module tree.
fn path_of(file: &Path, root: &Path) -> Named {
    let inside = file.strip_prefix(root).unwrap().with_extension("");
    let mut path: Named = inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    path.pop_if(|name| matches!(name.as_str(), "mod" | "lib"));
    path
}

/// Collects the items that `use a::{b, c::d}` imports: the path to each, and its name, which `as` can change.
fn expand(tree: &str, before: &[String], found: &mut Vec<(Named, String)>) {
    let names = |text: &str| -> Vec<String> {
        text.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    };
    let Some(open) = tree.find('{') else {
        let (path, alias) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path = [before, &names(path)].concat();
        path.pop_if(|name| name == "self");
        let Some(last) = path.last() else { return };
        let name = if alias.is_empty() { last.clone() } else { alias.trim().to_owned() };
        return found.push((path, name));
    };
    let before = [before, &names(&tree[..open])].concat();
    let inside = &tree[open + 1..tree.rfind('}').unwrap()];
    let mut depth = 0;
    let split = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    inside.split(split).filter(|part| !part.trim().is_empty()).for_each(|part| expand(part, &before, found));
}

/// Returns the items that a file names: those imported by `use`, with their local names, and the paths in its text.
fn named_in(text: &str) -> (Vec<(Named, String)>, Vec<Named>) {
    // Tests beside the code are a module of their own.
    let text = text.split("\n#[cfg(test)]").next().unwrap();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    // `pub(in crate::a)` says who may name an item, not what the item needs.
    let lines =
        lines.map(|line| if line.contains("pub(in ") { line.split_once(')').map_or("", |two| two.1) } else { line });
    let (mut uses, mut rest, mut open) = (Vec::new(), String::new(), String::new());
    for line in lines {
        let before = line.split_once("use ").map(|(before, _)| before.trim());
        let declares = before.is_some_and(|before| matches!(before, "" | "pub") || before.starts_with("pub("));
        if open.is_empty() && !declares {
            rest += line;
            rest.push('\n');
            continue;
        }
        open += line;
        if line.trim_end().ends_with(';') {
            let tree = open.split_once("use ").unwrap().1.trim_end().trim_end_matches(';');
            expand(tree, &[], &mut uses);
            open.clear();
        }
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let paths = rest.split(|c| !is_name(c)).filter(|word| ["crate::", "super::"].iter().any(|at| word.starts_with(at)));
    let paths = paths.map(|word| word.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect());
    (uses, paths.collect())
}

/// Returns the files of a crate and the other files that each one names. A folder's `mod.rs` is a file like the others:
/// it names those inside, and none of them names it.
fn graph(root: &Path) -> BTreeMap<Named, BTreeSet<Named>> {
    let is_module = |file: &PathBuf| !file.ends_with("main.rs");
    let texts: BTreeMap<Named, String> = files(root)
        .into_iter()
        .filter(is_module)
        .map(|file| (path_of(&file, root), fs::read_to_string(&file).unwrap()))
        .collect();
    let absolute = |module: &[String], path: &[String]| -> Option<Named> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        match path.first()?.as_str() {
            "crate" => Some(path[1..].to_vec()),
            "self" => Some([module, &path[1..]].concat()),
            "super" => Some([&module[..module.len() - ups.min(module.len())], &path[ups..]].concat()),
            name => {
                let child = [module, &[name.to_owned()]].concat();
                texts.contains_key(&child).then(|| [module, path].concat())
            }
        }
    };
    let mut names = BTreeMap::new();
    let mut paths = BTreeMap::new();
    for (module, text) in &texts {
        let (uses, others) = named_in(text);
        let of_module: &mut Vec<Named> = paths.entry(module.clone()).or_default();
        for (path, name) in uses {
            let Some(path) = absolute(module, &path) else { continue };
            of_module.push(path.clone());
            names.insert((module.clone(), name), path);
        }
        of_module.extend(others.iter().filter_map(|path| absolute(module, path)));
    }
    // The file that contains an item. If the item is imported under another name, that import is followed.
    let home = |path: &[String]| {
        let mut path = path.to_vec();
        let mut seen = BTreeSet::new();
        loop {
            let depth = (0..=path.len()).rev().find(|&depth| texts.contains_key(&path[..depth])).unwrap_or_default();
            let module = path[..depth].to_vec();
            let leads = path.get(depth).and_then(|name| names.get(&(module.clone(), name.clone())));
            match leads {
                Some(other) if seen.insert(path.clone()) => path = [other, &path[depth + 1..]].concat(),
                _ => return module,
            }
        }
    };
    let of = |(module, paths): (&Named, &Vec<Named>)| {
        let others = paths.iter().map(|path| home(path));
        (module.clone(), others.filter(|other| other != module).collect())
    };
    paths.iter().map(of).collect()
}

/// Returns a cycle of the graph, if there is one.
fn circle(graph: &BTreeMap<Named, BTreeSet<Named>>) -> Option<Named> {
    fn walk<'g>(
        at: &'g Named,
        graph: &'g BTreeMap<Named, BTreeSet<Named>>,
        way: &mut Vec<&'g Named>,
        done: &mut BTreeSet<&'g Named>,
    ) -> Option<Named> {
        if let Some(first) = way.iter().position(|before| *before == at) {
            return Some(way[first..].iter().chain([&at]).map(|module| module.join("/")).collect());
        }
        if !done.insert(at) {
            return None;
        }
        way.push(at);
        let found = graph[at].iter().find_map(|other| walk(other, graph, way, done));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|module| walk(module, graph, &mut Vec::new(), &mut done))
}

#[test]
fn no_files_need_each_other() {
    let mut files = 0;
    for krate in CRATES {
        let graph = graph(&source(krate));
        files += graph.values().filter(|others| !others.is_empty()).count();
        assert_eq!(circle(&graph), None, "in {krate}/src");
    }
    assert!(files > 250, "the files were not read");
}

#[test]
fn a_circle_is_seen() {
    let home = folder(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
        ("a/mod.rs", "mod inner;\npub use inner::Thing;\nuse crate::c::Other;\n"),
        ("a/inner.rs", "pub struct Thing;\n"),
        ("a/next.rs", "use super::Thing;\n"),
        ("b.rs", "use super::a::{\n    Thing,\n};\npub struct Middle;\n"),
        ("c.rs", "pub struct Other;\nfn f() -> crate::b::Middle {}\n"),
    ]);
    assert_eq!(circle(&graph(home.path())), None, "a folder hands on what is inside it");
    write(home.path(), "a/inner.rs", b"use crate::c::Other;\npub struct Thing;\n");
    assert_eq!(circle(&graph(home.path())).unwrap().join(" "), "a/inner c b a/inner");
    write(home.path(), "a/inner.rs", b"use super::Words;\npub struct Thing;\n");
    write(home.path(), "a/mod.rs", b"mod inner;\npub use inner::Thing;\npub struct Words;\n");
    assert_eq!(circle(&graph(home.path())).unwrap().join(" "), "a a/inner a", "a folder's own file counts");
}

/// Returns all files of all crates, each with its path from the root.
fn all_files() -> Vec<(PathBuf, String)> {
    let of = |krate: &&str| {
        files(&source(krate)).into_iter().map(|file| {
            let text = fs::read_to_string(&file).unwrap();
            (file.strip_prefix(source(".").parent().unwrap()).unwrap().to_owned(), text)
        })
    };
    CRATES.iter().flat_map(of).collect()
}

/// A name that two types share says less than it could, and a reader meets the wrong one. The formats of `crates/read`
/// have the same things: there, a name is alone in its folder.
#[test]
fn a_type_has_its_name_alone_in_its_crate() {
    // The flags of a command; a type that another one replaces if a feature is off; a part of the report's page.
    let shared = ["Args", "Client", "Cost"];
    let mut found = 0;
    for krate in CRATES {
        let mut places: BTreeMap<(PathBuf, String), PathBuf> = BTreeMap::new();
        for file in files(&source(krate)) {
            let scope = if krate == "crates/read" { file.parent().unwrap().to_owned() } else { source(krate) };
            for line in fs::read_to_string(&file).unwrap().lines() {
                let words: Vec<&str> = line.trim_start().split([' ', '<', '(', ';', ':']).collect();
                let at = words.iter().take(3).position(|word| ["struct", "enum", "trait", "union"].contains(word));
                let Some(name) =
                    at.and_then(|at| words.get(at + 1)).filter(|name| name.starts_with(char::is_uppercase))
                else {
                    continue;
                };
                if line.trim_start().starts_with("//") || shared.contains(name) {
                    continue;
                }
                found += 1;
                if let Some(other) = places.insert((scope.clone(), (*name).to_owned()), file.clone()) {
                    panic!("{name} is in {} and in {}", other.display(), file.display());
                }
            }
        }
    }
    assert!(found > 600, "only {found} types were found");
}

#[test]
fn only_the_embedder_knows_candle_and_only_the_command_line_knows_clap() {
    for (file, text) in all_files() {
        if text.contains("candle_core::") || text.contains("candle_nn::") {
            assert!(file.starts_with("crates/embed/src/candle") || file == Path::new("crates/embed/src/candle.rs"));
        }
        if text.contains("clap::") {
            let own = ["src/cli", "eval/src/cli"];
            assert!(own.iter().any(|own| file.starts_with(own)), "{}", file.display());
        }
    }
}

/// Text from outside is made harmless where it is printed, so nothing may be printed elsewhere.
#[test]
fn text_leaves_by_one_door() {
    for (file, text) in all_files().into_iter().filter(|(file, _)| file != Path::new("src/cli/output.rs")) {
        let code: String = text.lines().filter(|line| !line.starts_with("//!")).collect();
        for way in ["println!", "print!(", "dbg!", "io::stdout", "io::stderr", "stdout()", "stderr()"] {
            assert!(!code.contains(way), "{}: {way} bypasses `cli::output`", file.display());
        }
    }
}

#[test]
fn a_dataset_is_written_through_the_seam_alone() {
    // The lock is the operating system's own. The cache, what is kept next to it, the models and the demo's corpus are not part of a dataset.
    let others = [
        "src/cli/commands/demo.rs",
        "crates/base/src/safely.rs",
        "crates/dataset/src/storage/file_system.rs",
        "crates/dataset/src/storage/objects/mod.rs",
        "crates/dataset/src/dataset/lock.rs",
        "crates/embed/src/cache.rs",
        "crates/embed/src/hub/repository.rs",
        "crates/embed/src/hub/download.rs",
        "crates/embed/src/model_ref.rs",
        "crates/embed/src/remote/kept.rs",
        "crates/embed/src/package.rs",
    ];
    for (file, text) in all_files() {
        if file.starts_with("eval") || others.iter().any(|other| file.starts_with(other)) {
            continue;
        }
        for call in [
            "fs::write",
            "fs::create_dir",
            "fs::remove_",
            "fs::rename",
            "fs::copy",
            "fs::hard_link",
            "fs::set_permissions",
            "File::create",
            "File::options",
            "OpenOptions",
            "set_len(",
            "tempfile",
        ] {
            assert!(!text.contains(call), "{}: {call} bypasses `storage::Storage`", file.display());
        }
    }
}
