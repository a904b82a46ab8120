//! Damage: whatever happens to the files of a dataset, `verify` detects it, and no command trusts a manifest in
//! which a bit has changed.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use chunkmill::dataset::verify;
use chunkmill::error::exit;
use chunkmill::storage::Location;
use tempfile::TempDir;

use crate::common::{folder, run, tree, write};

const MANIFEST: &str = "manifest.json";
const TEXTS: [&str; 2] = ["README.md", "quarantine.jsonl"];

const INDEX: [&str; 6] = ["index", "docs", "-o", "out", "--embedder", "fake"];

/// Creates a dataset in `out`, with one quarantined document.
fn dataset() -> TempDir {
    let home = folder(&[("docs/a.md", "# A\n\nSee [b](b.md).\n"), ("docs/b.md", "# B\n\ntext\n")]);
    write(home.path(), "docs/bad.md", b"caf\xE9");
    index(home.path(), &[]);
    home
}

fn index(home: &Path, extra: &[&str]) {
    let (code, _, err) = run(home, &[&INDEX[..], &["--files", "1"], extra].concat());
    assert_eq!(code, 3, "one document is not text: {err}");
}

/// Returns what verification reports about a file: its findings, or the error that prevented them.
fn said_of(out: &Location, file: &str) -> Vec<String> {
    match verify(out, None) {
        Err(error) => {
            assert_eq!(error.exit_code(), exit::FAILED);
            vec![error.to_string()].into_iter().filter(|text| text.contains(&format!("/{file}: "))).collect()
        }
        Ok(verification) => {
            let found = verification.findings.into_iter().filter(|finding| finding.file == file);
            found.map(|finding| finding.problem).collect()
        }
    }
}

/// Flips one bit of a file at a time, in every `step`-th byte and each time another bit, and calls `check` after
/// each flip. This is done in place: a file system may be slow if a file is emptied and written.
fn flip_each(path: &Path, step: usize, mut check: impl FnMut(usize)) {
    let whole = fs::read(path).unwrap();
    let mut file = File::options().write(true).open(path).unwrap();
    let mut put = |at: usize, byte: u8| {
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(&[byte]).unwrap();
    };
    for (at, &byte) in whole.iter().enumerate().step_by(step) {
        put(at, byte ^ (1 << (at % 8)));
        check(at);
        put(at, byte);
    }
}

#[test]
fn a_bit_that_flips_anywhere_in_manifest_card_or_list_is_seen() {
    let home = dataset();
    let out = home.path().join("out");
    let place = Location::from(&*out);
    assert_eq!(verify(&place, None).unwrap().findings, []);
    // The findings about these three files do not depend on the data, and come faster without it.
    fs::rename(out.join("data"), home.path().join("data")).unwrap();
    for file in [MANIFEST].into_iter().chain(TEXTS) {
        let path = out.join(file);
        assert!(fs::metadata(&path).unwrap().len() > 100 && said_of(&place, file).is_empty(), "{file}");
        let said = match file {
            MANIFEST => "is damaged: ",
            _ => "has changed since it was written",
        };
        flip_each(&path, 1, |at| {
            let found = said_of(&place, file);
            assert!(found.iter().any(|text| text.contains(said)), "{file}, byte {at}: {found:?}");
        });
    }
    fs::rename(home.path().join("data"), out.join("data")).unwrap();
    assert_eq!(verify(&place, None).unwrap().findings, []);
}

#[test]
fn a_file_that_is_cut_or_gone_is_seen() {
    let home = dataset();
    let out = home.path().join("out");
    let place = Location::from(&*out);
    let whole = tree(&out);
    assert_eq!(whole.len(), 5 + 3);
    for (file, bytes) in &whole {
        let path = out.join(file);
        let opened = File::options().write(true).open(&path).unwrap();
        for length in (0..bytes.len()).rev().step_by(1 + bytes.len() / 43).chain([0]) {
            opened.set_len(length as u64).unwrap();
            assert!(!said_of(&place, file).is_empty(), "{file}, cut to {length} of {} bytes", bytes.len());
        }
        fs::write(&path, [bytes, &b"\n"[..]].concat()).unwrap();
        assert!(!said_of(&place, file).is_empty(), "{file}, a line longer");
        fs::remove_file(&path).unwrap();
        assert!(!said_of(&place, file).is_empty(), "{file}, gone");
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(verify(&place, None).unwrap().findings, []);
}

#[test]
fn a_bit_that_flips_in_data_is_seen() {
    let home = dataset();
    let out = home.path().join("out");
    let place = Location::from(&*out);
    for (file, bytes) in tree(&out).into_iter().filter(|(file, _)| file.contains('/')) {
        flip_each(&out.join(&file), 1 + bytes.len() / 41, |at| {
            assert!(!said_of(&place, &file).is_empty(), "{file}, byte {at}");
        });
    }
    assert_eq!(verify(&place, None).unwrap().findings, []);
}

#[test]
fn a_damaged_manifest_stops_every_command_and_is_made_again_with_fresh() {
    let home = dataset();
    let out = home.path().join("out");
    let whole = tree(&out);
    let manifest = fs::read_to_string(out.join(MANIFEST)).unwrap();
    let flip = |after: &str| {
        let at = manifest.find(after).unwrap() + after.len();
        let mut bytes = manifest.as_bytes().to_vec();
        bytes[at] ^= 1;
        bytes
    };
    // Also a version that would be newer, names by which a manifest is recognised, and its last lines.
    let places = ["\"format_version\": ", "\"tool", "{", "\"checksum", "\"checksum\": \"", "\n}"];
    let mut damaged: Vec<Vec<u8>> = places.map(flip).into();
    damaged.extend([&manifest[..manifest.len() - 1], &manifest[..manifest.len() / 2]].map(|text| text.into()));
    let without = manifest.find(",\n  \"checksum\"").unwrap();
    damaged.push(format!("{}\n}}\n", &manifest[..without]).into());
    // Nothing in them tells what they were.
    damaged.extend(["", "{}", "x", &manifest[..8]].map(|text| text.into()));
    for (number, bytes) in damaged.into_iter().enumerate() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        fs::write(out.join(MANIFEST), &bytes).unwrap();
        let before = tree(&out);
        let commands = [
            &["verify", "out"][..],
            &INDEX,
            &["stats", "out"],
            &["search", "out", "text"],
            &["context", "out", "text"],
            &["gc", "out"],
            &["promote", "out", "a.md", "important"],
            &["delete", "out", "a.md"],
            &["plan", "docs", "-o", "out", "--embedder", "fake"],
        ];
        // Every command reads the manifest in the same way.
        for args in &commands[..if number == 0 { commands.len() } else { 1 }] {
            let (code, said, err) = run(home.path(), args);
            assert!(code == 5 && said.is_empty(), "{args:?}: {code}: {said}{err}: {text}");
            assert!(err.contains("out/manifest.json: is damaged: "), "{args:?}: {err}: {text}");
            let help = "help: index the corpus again, with --fresh or into a new folder";
            assert!(err.contains(help), "{args:?}: {err}");
            assert!(tree(&out) == before, "{args:?} touched it");
        }
        index(home.path(), &["--fresh"]);
        assert!(tree(&out) == whole, "--fresh does not repair {text}");
    }
}

#[test]
fn the_checksum_is_of_all_lines_before_the_last_two() {
    let home = dataset();
    let manifest = fs::read_to_string(home.path().join("out").join(MANIFEST)).unwrap();
    let lines: Vec<&str> = manifest.split_inclusive('\n').collect();
    let (fields, end) = lines.split_at(lines.len() - 2);
    let hash = blake3::hash(fields.concat().as_bytes()).to_hex();
    assert_eq!(end.concat(), format!("  \"checksum\": \"{hash}\"\n}}\n"));
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    for (field, file) in ["card", "quarantine"].into_iter().zip(TEXTS) {
        let bytes = fs::read(home.path().join("out").join(file)).unwrap();
        assert_eq!(manifest["texts"][field], *blake3::hash(&bytes).to_hex());
    }
}

#[test]
fn every_command_that_writes_leaves_what_passes() {
    let home = dataset();
    let home = home.path();
    let after = |args: &[&str]| {
        let (code, _, err) = run(home, args);
        assert!([0, 3].contains(&code), "{args:?}: {code}: {err}");
        let (code, said, err) = run(home, &["verify", "out"]);
        assert!(code == 0 && said.contains("verified: "), "after {args:?}: {said}{err}");
    };
    after(&INDEX);
    write(home, "docs/new.md", b"# New\n\n[a](a.md)\n");
    after(&INDEX);
    after(&["promote", "out", "a.md", "important"]);
    after(&["delete", "out", "b.md"]);
    after(&["gc", "out"]);
    fs::remove_file(home.join("docs/bad.md")).unwrap();
    after(&INDEX);
    after(&[&INDEX[..], &["--fresh", "--max", "300"]].concat());
    write(home, "docs/late.md", b"# Late\n");
    let (code, plan, err) = run(home, &["plan", "docs", "-o", "out", "--embedder", "fake", "--shards", "2"]);
    assert_eq!(code, 0, "{err}");
    write(home, "plan.json", plan.as_bytes());
    for shard in ["1", "2"] {
        after(&["run", "--plan", "plan.json", "--shard", shard, "-o", "out"]);
    }
    after(&["commit", "--plan", "plan.json", "-o", "out"]);
    after(&["commit", "--plan", "plan.json", "-o", "out"]);
}
