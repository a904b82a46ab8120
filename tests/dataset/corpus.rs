//! Finding and reading documents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use chunkmill::corpus::{DEFAULT_MAX_BYTES, Discovery, Filter, Root, discover, read};
use chunkmill::document::ReadSettings;
use chunkmill::error::Error;

use crate::common::{folder, write};

fn find(roots: &[Root], filter: &Filter) -> Discovery {
    discover(roots, filter, &[]).unwrap()
}

fn standard() -> Filter {
    Filter::new(&[], &[], true, DEFAULT_MAX_BYTES).unwrap()
}

fn ids(found: &Discovery) -> Vec<&str> {
    found.sources.iter().map(|source| &*source.origin.doc_id).collect()
}

#[test]
fn documents_are_found_in_a_stable_order_and_others_are_not() {
    let corpus = folder(&[
        ("b.md", ""),
        ("a/z.md", ""),
        ("a.txt", ""),
        ("A.MD", ""),
        ("x.png", ""),
        (".hidden/h.md", ""),
        (".git/g.md", ""),
    ]);
    let found = find(&[Root::new(corpus.path())], &standard());
    assert_eq!(ids(&found), [".hidden/h.md", "A.MD", "a.txt", "a/z.md", "b.md"]);
    let visible = Filter::new(&[], &[], false, DEFAULT_MAX_BYTES).unwrap();
    assert_eq!(ids(&find(&[Root::new(corpus.path())], &visible)), ["A.MD", "a.txt", "a/z.md", "b.md"]);
}

#[test]
fn ignore_files_count_without_a_repository_and_those_above_the_root_do_not() {
    let outer = folder(&[
        (".gitignore", "*.md\n"),
        ("root/.gitignore", "drafts/\n"),
        ("root/.ignore", "secret.md\n"),
        ("root/a.md", ""),
        ("root/secret.md", ""),
        ("root/drafts/d.md", ""),
        ("root/sub/.gitignore", "!x\nlocal.md\n"),
        ("root/sub/local.md", ""),
        ("root/sub/kept.md", ""),
    ]);
    assert_eq!(ids(&find(&[Root::new(outer.path().join("root"))], &standard())), ["a.md", "sub/kept.md"]);
}

#[test]
fn ignore_files_of_the_repository_above_a_root_count() {
    let outer = folder(&[
        (".gitignore", "*.md\n"),
        ("repo/.git/HEAD", ""),
        ("repo/.gitignore", "build/\n*.tmp.md\n/docs/anchored.md\nnamed/\n!kept.tmp.md\n"),
        ("repo/docs/.ignore", "below.md\n"),
        ("repo/docs/a.md", ""),
        ("repo/docs/b.tmp.md", ""),
        ("repo/docs/kept.tmp.md", ""),
        ("repo/docs/anchored.md", ""),
        ("repo/docs/deep/anchored.md", ""),
        ("repo/docs/build/c.md", ""),
        ("repo/docs/deep/build/d.md", ""),
        ("repo/docs/deep/below.md", ""),
        ("repo/docs/own/.gitignore", "!build/\n"),
        ("repo/docs/own/build/e.md", ""),
        ("repo/named/build/f.md", ""),
        ("repo/named/g.md", ""),
    ]);
    let found = |root: &str| find(&[Root::new(outer.path().join(root))], &standard());
    let docs = ["a.md", "deep/anchored.md", "kept.tmp.md", "own/build/e.md"];
    assert_eq!(ids(&found("repo/docs")), docs);
    let whole = ids(&found("repo")).join(" ");
    assert_eq!(whole, docs.map(|doc| format!("docs/{doc}")).join(" "), "as from the repository's own folder");
    assert_eq!(ids(&found("repo/named")), ["build/f.md", "g.md"], "somebody named what the repository ignores");
    assert_eq!(ids(&found("repo/docs/b.tmp.md")), ["b.tmp.md"]);
}

#[test]
fn a_dataset_below_a_root_is_passed_over_with_a_message() {
    let home = folder(&[
        ("docs/a.md", "# A\n\ntext\n"),
        ("docs/sub/manifest.json", "{\"format_version\": \"x\"}"),
        ("docs/sub/b.md", ""),
    ]);
    for _ in 0..2 {
        let (code, _, err) =
            crate::common::run(home.path(), &["index", "docs", "-o", "docs/out", "--embedder", "fake"]);
        assert_eq!((code, err.contains("is a dataset")), (0, false), "its own dataset is no surprise: {err}");
    }
    assert!(home.path().join("docs/out/README.md").exists());
    let (code, out, err) = crate::common::run(home.path(), &["chunk", "docs"]);
    let paths: Vec<_> = crate::common::json_lines(&out).iter().map(|row| row["path"].to_string()).collect();
    assert_eq!((code, paths), (0, vec!["\"a.md\"".to_owned()]), "{err}");
    assert!(err.contains("out is a dataset, not a part of the corpus; it is passed over"), "{err}");
    assert_eq!(ids(&find(&[Root::new(home.path().join("docs"))], &standard())), ["a.md", "sub/b.md"]);
}

#[test]
fn a_set_of_labels_below_a_root_is_passed_over_with_a_message() {
    let line = "{\"query_id\":\"q1\",\"query\":\"why?\",\"references\":[]}\n";
    let home = folder(&[
        ("docs/a.md", ""),
        ("docs/labels/queries.jsonl", line),
        ("docs/labels/corpus/a.md", ""),
        ("docs/beir/queries.jsonl", "{\"_id\":\"q1\",\"text\":\"why?\"}\n"),
        ("docs/beir/b.md", ""),
    ]);
    let (code, out, err) = crate::common::run(home.path(), &["chunk", "docs", "--include", "*.md"]);
    assert!(code == 0 && out.is_empty(), "{out}");
    assert!(err.contains("labels is a set of labels, not a part of the corpus; it is passed over"), "{err}");
    assert_eq!(ids(&find(&[Root::new(home.path().join("docs"))], &standard())), ["a.md", "beir/b.md"]);
    // A set that is named is meant.
    let set = Root::new(home.path().join("docs/labels"));
    assert_eq!(ids(&find(&[set], &standard())), ["corpus/a.md"]);
}

#[test]
fn a_file_below_several_roots_is_one_document() {
    let home = folder(&[("docs/a.md", ""), ("docs/sub/b.md", ""), ("docs/sub/c.xyz", ""), ("docs2/a2.md", "")]);
    let root = |name: &str| Root::new(home.path().join(name));
    for roots in [
        &["docs", "docs/sub"][..],
        &["docs/sub", "docs"],
        &["docs", "docs"],
        &["docs", "docs/a.md"],
        &["docs/sub/b.md", "docs/sub", "docs", "docs/../docs/sub"],
    ] {
        let roots: Vec<Root> = roots.iter().map(|name| root(name)).collect();
        assert_eq!(ids(&find(&roots, &standard())), ["a.md", "sub/b.md"], "{roots:?}");
    }
    assert_eq!(ids(&find(&[root("docs"), root("docs/sub/c.xyz")], &standard())), ["a.md", "c.xyz", "sub/b.md"]);
    assert_eq!(ids(&find(&[root("docs"), root("docs2")], &standard())), ["a.md", "a2.md", "sub/b.md"]);
    let named: Root = format!("x={}", home.path().join("docs/sub").display()).parse().unwrap();
    let error = discover(&[root("docs"), named], &standard(), &[]).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("b.md: is in two collections, `default` and `x`"), "{error}");
    // Quarantined documents count once too.
    let filter = Filter::new(&[], &[], true, 0).unwrap();
    crate::common::write(home.path(), "docs/sub/b.md", b"long");
    let found = find(&[root("docs"), root("docs/sub")], &filter);
    assert_eq!(found.quarantined.iter().map(|q| &*q.path).collect::<Vec<_>>(), ["sub/b.md"]);
    let (code, out, err) =
        crate::common::run(home.path(), &["index", "docs", "docs/sub", "-o", "out", "--embedder", "fake", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &summary["discovered"]), (0, &2.into()), "{err}");
    assert!(err.contains("1 document is below several of these folders and counted once"), "{err}");
}

#[test]
fn a_file_may_be_older_than_1970() {
    let corpus = folder(&[("a.md", ""), ("b.md", "")]);
    let old = std::time::UNIX_EPOCH - Duration::from_micros(315_619_200_000_001);
    for (name, time) in [("a.md", old), ("b.md", std::time::UNIX_EPOCH)] {
        fs::File::options().write(true).open(corpus.path().join(name)).unwrap().set_modified(time).unwrap();
    }
    let found = find(&[Root::new(corpus.path())], &standard());
    let times: Vec<_> = found.sources.iter().map(|source| source.origin.modified_micros).collect();
    assert_eq!(times, [Some(-315_619_200_000_001), Some(0)]);
}

#[test]
fn globs_include_and_exclude() {
    let corpus = folder(&[("a.md", ""), ("a.xyz", ""), ("old/b.md", ""), ("old/deep/c.md", "")]);
    let root = [Root::new(corpus.path())];
    let filter = |include: &[&str], exclude: &[&str]| {
        let own = |globs: &[&str]| globs.iter().map(|&glob| glob.to_owned()).collect::<Vec<_>>();
        Filter::new(&own(include), &own(exclude), true, DEFAULT_MAX_BYTES)
    };
    assert_eq!(ids(&find(&root, &filter(&["**/*.xyz"], &[]).unwrap())), ["a.xyz"]);
    assert_eq!(ids(&find(&root, &filter(&[], &["old/**"]).unwrap())), ["a.md"]);
    assert_eq!(ids(&find(&root, &filter(&["old/*.md"], &[]).unwrap())), ["old/b.md"]);
    let error = filter(&["a[", "b"], &[]).unwrap_err();
    assert!(error.to_string().contains("include: `a[` is not a glob"), "{error}");
}

#[test]
fn several_roots_single_files_and_collections() {
    let one = folder(&[("a.md", "")]);
    let two = folder(&[("a.md", ""), ("notes.xyz", "")]);
    let named: Root = format!("wiki={}", two.path().display()).parse().unwrap();
    let file = Root::new(two.path().join("notes.xyz"));
    let found = find(&[Root::new(one.path()), named, file], &standard());
    assert_eq!(ids(&found), ["a.md", "notes.xyz", "wiki:a.md"]);
    let collections: Vec<_> = found.sources.iter().map(|source| &*source.origin.collection).collect();
    assert_eq!(collections, ["default", "default", "wiki"]);
}

#[test]
fn two_documents_with_one_id_are_an_error_that_says_what_to_do() {
    let (one, two) = (folder(&[("a.md", "")]), folder(&[("a.md", "")]));
    let error = discover(&[Root::new(one.path()), Root::new(two.path())], &standard(), &[]).unwrap_err();
    assert!(matches!(error, Error::Corpus { .. }));
    assert!(error.to_string().contains("one=DIR"), "{error}");
}

#[test]
fn a_corpus_without_documents_is_an_error() {
    let corpus = folder(&[("a.png", "")]);
    let error = discover(&[Root::new(corpus.path())], &standard(), &[]).unwrap_err();
    assert!(error.to_string().contains("no document was found"), "{error}");
}

#[test]
fn a_missing_root_is_an_error() {
    let error = discover(&[Root::new("/nowhere/at/all")], &standard(), &[]).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
    assert_eq!(error.exit_code(), 2);
}

#[cfg(unix)]
#[test]
fn links_are_never_followed() {
    use std::os::unix::fs::symlink;
    let outside = folder(&[("secret.md", "secret")]);
    let corpus = folder(&[("a.md", "a"), ("sub/b.md", "b")]);
    let path = corpus.path();
    symlink(outside.path().join("secret.md"), path.join("leak.md")).unwrap();
    symlink(outside.path(), path.join("leak")).unwrap();
    symlink(path.join("gone.md"), path.join("broken.md")).unwrap();
    symlink(path.join("a.md"), path.join("inside.md")).unwrap();
    symlink(path, path.join("sub/loop")).unwrap();
    write(path, "data.xyz", b"x");
    symlink(path.join("data.xyz"), path.join("renamed.md")).unwrap();
    let found = find(&[Root::new(path)], &standard());
    assert_eq!(ids(&found), ["a.md", "sub/b.md"]);
    let passed: Vec<_> = found.quarantined.iter().map(|q| (&*q.path, q.reason.code())).collect();
    assert_eq!(
        passed,
        [("broken.md", "symlink"), ("leak", "symlink"), ("leak.md", "symlink"), ("renamed.md", "symlink")]
    );
}

/// Creates a folder with FIFOs, a socket and a document. The socket exists as long as the returned listener.
#[cfg(unix)]
fn no_files() -> (tempfile::TempDir, std::os::unix::net::UnixListener) {
    let home = folder(&[("docs/a.md", "# A\n\ntext\n"), ("docs/data.xyz", "x")]);
    let docs = home.path().join("docs");
    for name in ["pipe.md", "pipe.xyz"] {
        assert!(std::process::Command::new("mkfifo").arg(docs.join(name)).status().unwrap().success());
    }
    let socket = std::os::unix::net::UnixListener::bind(docs.join("socket.md")).unwrap();
    (home, socket)
}

/// Runs the program. Opening one of these files would wait forever, so the program is killed after a while.
#[cfg(unix)]
fn run_for_a_while(home: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = crate::common::program(home);
    let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..600 {
        if child.try_wait().unwrap().is_some() {
            return crate::common::finish(child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    panic!("{args:?} did not end");
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_quarantined_with_its_kind_and_never_opened() {
    let (home, _socket) = no_files();
    let home = home.path();
    let (code, out, err) = run_for_a_while(home, &["index", "docs", "-o", "out", "--embedder", "fake", "--json"]);
    assert_eq!(code, 3, "{err}");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&summary["documents"], &summary["discovered"]), (&1.into(), &3.into()));
    let rows = crate::common::json_lines(&fs::read_to_string(home.join("out/quarantine.jsonl")).unwrap());
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows: Vec<_> = rows.iter().map(|row| ["path", "code", "reason"].map(|key| text(row, key))).collect();
    assert_eq!(
        rows,
        [
            ["pipe.md", "fifo", "is a FIFO, not a file; it is never opened"],
            ["socket.md", "socket", "is a socket, not a file; it is never opened"]
        ]
    );
    // The same again with nothing new, then a comparison with the corpus.
    assert_eq!(run_for_a_while(home, &["index", "docs", "-o", "out", "--embedder", "fake"]).0, 3);
    assert_eq!(run_for_a_while(home, &["verify", "out", "--corpus", "docs"]).0, 0);
    // A link to one of them does not lead to a document.
    std::os::unix::fs::symlink(home.join("docs/pipe.xyz"), home.join("docs/link.md")).unwrap();
    let (code, _, err) = run_for_a_while(home, &["chunk", "docs"]);
    assert!(code == 3 && err.contains("link.md"), "{code}: {err}");
}

#[cfg(unix)]
#[test]
fn devices_are_quarantined_too() {
    let filter = Filter::new(&["null".to_owned()], &[], true, DEFAULT_MAX_BYTES).unwrap();
    let found = find(&[Root::new("/dev")], &filter);
    // Links that lead out of a root are reported too, whatever is included.
    let others = found.quarantined.iter().filter(|q| q.reason.code() != "symlink");
    let passed: Vec<_> = others.map(|q| (&*q.path, q.reason.code())).collect();
    assert_eq!((found.sources.len(), passed), (0, vec![("null", "device")]));
}

#[cfg(unix)]
#[test]
fn a_root_that_is_no_file_is_an_error() {
    let (home, _socket) = no_files();
    for (root, kind) in [("docs/pipe.md", "a FIFO"), ("docs/socket.md", "a socket"), ("/dev/null", "a device")] {
        for args in [&["index", root, "-o", "out", "--embedder", "fake"][..], &["chunk", root], &["explain", root]] {
            let (code, _, err) = run_for_a_while(home.path(), args);
            let said =
                format!("{root}: is {kind}, not a file; it is never opened\n  help: name an existing folder or file");
            assert!(code == 2 && err.contains(&said), "{args:?}: {code}: {err}");
        }
    }
}

#[cfg(unix)]
#[test]
fn ignore_files_that_are_no_files_are_an_error() {
    for place in ["docs/.gitignore", "docs/.ignore", "docs/below/.gitignore"] {
        let home = folder(&[("docs/a.md", "# A\n"), ("docs/below/b.md", "# B\n")]);
        assert!(std::process::Command::new("mkfifo").arg(home.path().join(place)).status().unwrap().success());
        let (code, _, err) = run_for_a_while(home.path(), &["chunk", "docs"]);
        assert_eq!(code, 2, "{place}: {err}");
        assert!(err.contains(&format!("{place}: is a FIFO, not a file; it is never opened")), "{err}");
        assert!(err.contains("help: remove it: ignore rules"), "{err}");
    }
}

fn read_bytes(bytes: &[u8]) -> Result<String, String> {
    let corpus = folder(&[]);
    write(corpus.path(), "a.md", bytes);
    let source = find(&[Root::new(corpus.path())], &standard()).sources.remove(0);
    read(source, &ReadSettings::default())
        .map(|(_, content)| content.text)
        .map_err(|q| format!("{}: {}", q.reason.code(), q.reason))
}

#[test]
fn decoding_is_strict() {
    assert_eq!(
        read_bytes("\u{feff}é".as_bytes()).unwrap(),
        "\u{feff}é",
        "a byte order mark stays, offsets are the file's"
    );
    assert_eq!(read_bytes(b"\xFF\xFEa\0\xE9\0").unwrap(), "aé");
    assert_eq!(read_bytes(b"\xFE\xFF\xD8\x3D\xDE\xB2").unwrap(), "🚲");
    assert!(read_bytes(b"abc\xE9").unwrap_err().contains("not valid UTF-8 (first bad byte at offset 3)"));
    assert!(read_bytes(b"\xFF\xFEa\0\x00\xD8").unwrap_err().contains("UTF-16LE"));
    assert!(read_bytes(b"\xFF\xFEa").unwrap_err().contains("UTF-16LE"));
}

#[test]
fn other_encodings_and_files_that_are_no_text_are_named() {
    let encode = |text: &str, wide: bool, big: bool| -> Vec<u8> {
        let units: Vec<u32> =
            if wide { text.chars().map(u32::from).collect() } else { text.encode_utf16().map(u32::from).collect() };
        let bytes = units.iter().map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
        let kept = |bytes: [u8; 4]| match (wide, big) {
            (true, _) => bytes.to_vec(),
            (false, true) => bytes[2..].to_vec(),
            (false, false) => bytes[..2].to_vec(),
        };
        bytes.flat_map(kept).collect()
    };
    for text in ["# A\n\ntext\n", "# Überschrift\n\nein Text mit Größe\n", "# Имя\n\nэто текст, и он длинный\n", "a"]
    {
        for (wide, big, name) in
            [(false, false, "UTF-16LE"), (false, true, "UTF-16BE"), (true, false, "UTF-32LE"), (true, true, "UTF-32BE")]
        {
            let said = read_bytes(&encode(text, wide, big)).unwrap_err();
            assert!(said.starts_with(&format!("encoding: seems to be {name}, which is not read")), "{text:?}: {said}");
            let marked = read_bytes(&encode(&format!("\u{feff}{text}"), wide, big));
            match wide {
                true => assert!(marked.unwrap_err().contains(name)),
                false => assert_eq!(marked.unwrap(), text),
            }
        }
    }
    let archive = [b"a.md\0\0\0\0\0\0\0".as_slice(), &b"some text of a member\n".repeat(20), &[0; 400]].concat();
    assert_eq!(read_bytes(&archive).unwrap_err(), "binary: is not text: it contains 407 NUL bytes");
    let stray = format!("{}\0{}", "words ".repeat(100), "words ".repeat(100));
    assert_eq!(read_bytes(stray.as_bytes()).unwrap(), stray, "a stray one loses no text");
}

#[test]
fn what_is_no_text_in_any_encoding_gets_no_advice_to_convert_it_to_another_one() {
    let words = "Größe, naïve café. ".repeat(100);
    let latin: Vec<u8> = words.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let with = |start: &[u8]| [start, &latin].concat();
    for (start, said) in [
        (b"\x89PNG\r\n\x1a\n".as_slice(), "is a PNG image"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\0", "is a PNG image"),
        (b"\xFF\xD8\xFF\xE0\0\x10JFIF\0", "is a JPEG image"),
        (b"GIF89a", "is a GIF image"),
        (b"RIFF", "is a WebP image, a sound or a film"),
        (b"\x1F\x8B\x08", "is a gzip archive"),
        (b"\x28\xB5\x2F\xFD", "is compressed with Zstandard"),
        (b"7z\xBC\xAF\x27\x1C", "is a 7-Zip archive"),
        (b"\x7FELF\x02\x01\x01\0", "is a program"),
        (b"\x01\x02\x03", "contains control characters"),
        (b"\0", "contains 1 NUL byte"),
    ] {
        let refused = read_bytes(&with(start)).unwrap_err();
        assert_eq!(refused, format!("binary: is not text: it {said}"), "{start:?}");
    }
    // Text in another encoding: with white space, an end of file, an escape, or a stray control character.
    for start in [b"".as_slice(), b"\t\x0b\x0c\r\n", b"\x1a", b"\x1b[1m", b"\x08"] {
        let refused = read_bytes(&with(start)).unwrap_err();
        assert!(
            refused.starts_with("encoding: is not valid UTF-8") && refused.contains("iconv"),
            "{start:?}: {refused}"
        );
    }
    // UTF-8 is text, whatever it begins with.
    for text in ["GIF89a is a format.\n", "RIFF is another one.\n"] {
        assert_eq!(read_bytes(text.as_bytes()).unwrap(), text);
    }
}

#[test]
fn large_and_unreadable_files_are_quarantined() {
    let corpus = folder(&[("big.md", "12345"), ("small.md", "1234")]);
    let filter = Filter::new(&[], &[], true, 4).unwrap();
    let found = find(&[Root::new(corpus.path())], &filter);
    assert_eq!(ids(&found), ["small.md"]);
    assert_eq!(found.quarantined[0].reason.to_string(), "is 5 bytes, over the limit of 4");
    let source = found.sources.into_iter().next().unwrap();
    fs::remove_file(corpus.path().join("small.md")).unwrap();
    assert_eq!(read(source, &ReadSettings::default()).unwrap_err().reason.code(), "unreadable");
}

#[test]
fn the_content_hash_is_of_the_bytes() {
    let corpus = folder(&[("a.md", "text")]);
    let source = find(&[Root::new(corpus.path())], &standard()).sources.remove(0);
    let (_, content) = read(source, &ReadSettings::default()).unwrap();
    assert_eq!(content.hash, blake3::hash(b"text").to_hex().to_string());
    assert_eq!(content.bytes, 4);
}

#[test]
fn a_path_with_an_equals_sign_is_a_path_if_it_exists() {
    let corpus = folder(&[("a=b/x.md", "")]);
    let path = corpus.path().join("a=b");
    let root: Root = path.to_str().unwrap().parse().unwrap();
    assert_eq!(root, Root { collection: "default".to_owned(), location: PathBuf::from(&path).into() });
    assert!("bad name=docs".parse::<Root>().is_err());
}
