//! Datasets of other versions: what can be read, what is refused, and that a new run turns each older one into what a run
//! from scratch produces.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use chunkmill::dataset::{Dataset, FORMAT_VERSION, Table};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{folder, run, sealed, tree, write};

/// The oldest version that is read.
const OLDEST: u32 = 8;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Creates the corpus of the fixtures, with the modification times with which they were made.
fn home() -> TempDir {
    let home = folder(&[]);
    for (name, bytes) in tree(&fixtures().join("corpus")) {
        write(home.path(), &format!("docs/{name}"), &bytes);
        let file = File::options().write(true).open(home.path().join("docs").join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    }
    home
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in tree(from) {
        write(to, &name, &bytes);
    }
}

/// Indexes the corpus with the settings of the fixtures.
fn index(home: &Path, out: &str, more: &[&str]) -> (i32, String) {
    let args = ["index", "docs", "-o", out, "--embedder", "fake", "--files", "2", "--min", "20", "--max", "200"];
    let (code, _, err) = run(home, &[&args[..], &["--overlap", "20"], more].concat());
    (code, err)
}

fn edit(out: &Path, edit: impl FnOnce(&mut Value)) {
    let path = out.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    edit(&mut manifest);
    fs::write(path, sealed(&manifest)).unwrap();
}

#[test]
fn there_is_a_dataset_of_every_version() {
    let mut found: Vec<String> = tree(&fixtures())
        .into_iter()
        .filter_map(|(name, _)| name.strip_suffix("/manifest.json").map(str::to_owned))
        .collect();
    found.sort();
    assert_eq!(found, (OLDEST..=FORMAT_VERSION).map(|version| format!("format-{version}")).collect::<Vec<_>>());
    let readme = fs::read_to_string(fixtures().join("README.md")).unwrap();
    for (name, manifest) in found.iter().map(|name| (name, fixtures().join(name).join("manifest.json"))) {
        let manifest: Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
        assert_eq!(format!("format-{}", manifest["format_version"]), *name);
        assert!(readme.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn the_stored_dataset_opens_and_each_program_reads_it() {
    let home = home();
    for version in OLDEST..=FORMAT_VERSION {
        let name = format!("format-{version}");
        let out = home.path().join(&name);
        copy(&fixtures().join(&name), &out);
        let before = tree(&out);

        let dataset = Dataset::open(&out).unwrap();
        let rows = |table| dataset.files(table).map(|file| file.rows).sum::<u64>();
        assert_eq!([Table::Documents, Table::Chunks, Table::Edges].map(rows), [2, 3, 3], "{name}");
        let (code, stats, err) = run(home.path(), &["stats", &name, "--json"]);
        assert_eq!(code, 0, "{err}");
        let stats: Value = serde_json::from_str(&stats).unwrap();
        assert_eq!((&stats["chunks"], &stats["format_version"]), (&3.into(), &version.into()));
        for mode in ["hybrid", "keyword"] {
            let (code, hits, err) = run(home.path(), &["search", &name, "open the lid", "--mode", mode, "--json"]);
            assert!(code == 0 && hits.contains("\"guide.md\""), "{hits}{err}");
        }
        let (code, said, _) = run(home.path(), &["verify", &name]);
        assert_eq!(code, 0, "{said}: if the format is still being worked on, run `make fixture`");
        assert_eq!(run(home.path(), &["gc", &name]).0, 0);
        assert!(tree(&out) == before, "{name} was touched");
    }
}

#[test]
fn a_new_run_makes_of_an_older_dataset_what_a_run_from_nothing_makes() {
    let home = home();
    assert_eq!(index(home.path(), "fresh", &[]).0, 0);
    let fresh = tree(&home.path().join("fresh"));
    for version in OLDEST..=FORMAT_VERSION {
        let name = format!("format-{version}");
        copy(&fixtures().join(&name), &home.path().join(&name));
        let (code, err) = index(home.path(), &name, &[]);
        assert_eq!(code, 0, "{name}: {err}");
        assert!(tree(&home.path().join(&name)) == fresh, "{name}");
    }
}

#[test]
fn a_dataset_from_before_the_first_release_is_refused_until_it_is_made_anew() {
    let home = home();
    assert_eq!(index(home.path(), "fresh", &[]).0, 0);
    let fresh = tree(&home.path().join("fresh"));
    copy(&home.path().join("fresh"), &home.path().join("out"));
    edit(&home.path().join("out"), |manifest| manifest["format_version"] = (OLDEST - 1).into());
    let before = tree(&home.path().join("out"));
    let commands: [&[&str]; 4] = [&["stats", "out"], &["search", "out", "lid"], &["verify", "out"], &["gc", "out"]];
    for args in commands {
        let (code, said, err) = run(home.path(), args);
        assert!(code == 5 && said.is_empty(), "{args:?}: {said}");
        assert!(
            err.contains(&*format!("has format version {}, from before the first release", OLDEST - 1)),
            "{args:?}: {err}"
        );
        assert!(err.contains("help: index the corpus again, with --fresh or into a new folder"), "{args:?}: {err}");
    }
    assert!(tree(&home.path().join("out")) == before, "it was touched");
    let (code, err) = index(home.path(), "out", &[]);
    assert!(code == 5 && err.contains("--fresh"), "{err}");
    assert_eq!(index(home.path(), "out", &["--fresh"]).0, 0);
    assert!(tree(&home.path().join("out")) == fresh);
}

#[test]
fn a_manifest_that_lacks_a_field_is_damaged() {
    let home = home();
    assert_eq!(index(home.path(), "fresh", &[]).0, 0);
    let lacking = ["/parts", "/admission", "/model/arithmetic", "/model/engine", "/counts/edges", "/texts"];
    for pointer in lacking {
        copy(&home.path().join("fresh"), &home.path().join("out"));
        edit(&home.path().join("out"), |manifest| {
            let (above, field) = pointer.rsplit_once('/').unwrap();
            assert!(manifest.pointer_mut(above).unwrap().as_object_mut().unwrap().remove(field).is_some(), "{pointer}");
        });
        let (code, _, err) = run(home.path(), &["verify", "out"]);
        let field = pointer.rsplit('/').next().unwrap();
        assert!(code == 5 && err.contains(&format!("is damaged: missing field `{field}`")), "{err}");
        fs::remove_dir_all(home.path().join("out")).unwrap();
    }
}

#[test]
fn a_newer_dataset_is_refused_by_everything_and_left_as_it_is() {
    let home = home();
    assert_eq!(index(home.path(), "out", &[]).0, 0);
    let out = home.path().join("out");
    edit(&out, |manifest| manifest["format_version"] = (FORMAT_VERSION + 1).into());
    write(&out, "data/chunks/train-00009-of-00009-0123456789abcdef.parquet", b"of a table that we do not know");
    write(&out, ".staging/part-00000.json", b"{}");
    let before = tree(&out);
    let problem = format!("has format version {}; this chunkmill reads up to {FORMAT_VERSION}", FORMAT_VERSION + 1);
    assert!(Dataset::open(&out).unwrap_err().to_string().contains(&problem));
    for args in [
        &["stats", "out"][..],
        &["search", "out", "lid"],
        &["verify", "out"],
        &["verify", "out", "--corpus", "docs"],
        &["gc", "out"],
        &["gc", "out", "--dry-run"],
        &["gc", "out", "--staging"],
        &["index", "docs", "-o", "out", "--embedder", "fake"],
        &["index", "docs", "-o", "out", "--embedder", "fake", "--fresh"],
    ] {
        let (code, said, err) = run(home.path(), args);
        assert!(code == 5 && said.is_empty(), "{args:?}: {said}");
        assert!(err.contains(&problem) && err.contains("help: use a newer chunkmill"), "{args:?}: {err}");
        assert!(tree(&out) == before, "{args:?} touched it");
    }
}
