//! Helpers for several test modules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use chunkmill::chunk::{Chunk, Spec, chunk};
use chunkmill::document::Document;
use serde_json::Value;
use tempfile::TempDir;

pub use crate::promises::{Words, sizer};
pub use crate::tiny::tiny_model;

/// A document and its chunks.
pub struct Cut {
    pub document: Document,
    pub chunks: Vec<Chunk>,
}

impl Cut {
    pub fn contents(&self) -> Vec<String> {
        self.chunks.iter().map(|chunk| chunk.content(&self.document)).collect()
    }

    pub fn ids(&self) -> Vec<&str> {
        self.chunks.iter().map(|chunk| chunk.id.as_str()).collect()
    }

    pub fn paths(&self) -> Vec<&str> {
        self.chunks.iter().map(|chunk| &*chunk.header_path).collect()
    }
}

/// Chunks a Markdown text named `doc.md` with a spec in its text form.
pub fn cut(spec: &str, text: &str) -> Cut {
    cut_as("doc.md", spec, text)
}

/// Does the same with another name, which determines the format.
pub fn cut_as(path: &str, spec: &str, text: &str) -> Cut {
    let spec: Spec = spec.parse().unwrap();
    let document = Document::from_text(path, text);
    let chunks = chunk(&document, &spec, sizer(&spec)).unwrap();
    Cut { document, chunks }
}

/// Creates a folder with these files.
pub fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text.as_bytes());
    }
    folder
}

pub fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The path of the program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_chunkmill");

/// Returns the program as a command, in an environment without anyone's settings.
pub fn program(home: &Path) -> Command {
    other_program(home, PROGRAM)
}

/// Variables that decide how a terminal shows a text.
const LOOKS: [&str; 5] = ["CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR", "FORCE_HYPERLINK", "COLUMNS"];

/// Returns another program as a command, in the same environment.
pub fn other_program(home: &Path, name: &str) -> Command {
    let mut command = Command::new(name);
    for (name, _) in std::env::vars() {
        if name.starts_with("CHUNKMILL_") || name.starts_with("HF_") || name == "VIRTUAL_ENV" || LOOKS.contains(&&*name)
        {
            command.env_remove(name);
        }
    }
    command.env("XDG_CONFIG_HOME", home.join(".config")).current_dir(home);
    // Each run computes its own vectors. Tests of the cache set its folder.
    command.env("CHUNKMILL_EMBEDDING_CACHE", "off").env("CHUNKMILL_SEARCH_CACHE", "off");
    command
}

/// Returns the program as a command that finds models where this process does.
pub fn program_with_models(home: &Path) -> Command {
    let mut command = program(home);
    command.envs(std::env::vars_os().filter(|(name, _)| name == "HF_HOME"));
    command
}

/// Runs the program and returns its exit code, standard output and standard error.
pub fn run(home: &Path, args: &[&str]) -> (i32, String, String) {
    finish(program(home).args(args).output().unwrap())
}

pub fn finish(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Returns the peak memory of a command in bytes, and its exit code. The kernel keeps the peak only as long as the
/// process exists, but the last reading comes close to it.
pub fn peak(mut command: Command) -> (u64, i32) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let [status, exe] = ["status", "exe"].map(|name| format!("/proc/{}/{name}", child.id()));
    // For a moment after it was started, the process still shows this one's memory.
    let own = std::env::current_exe().ok();
    while fs::read_link(&exe).ok() == own && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (peak * 1024, child.wait().unwrap().code().unwrap())
}

/// Parses JSON lines.
pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the bytes of a manifest with this content and the checksum that its writer would have computed.
pub fn sealed(manifest: &Value) -> String {
    let mut manifest = manifest.clone();
    manifest.as_object_mut().unwrap().remove("checksum");
    let fields = serde_json::to_string_pretty(&manifest).unwrap();
    let fields = format!("{},\n", fields.strip_suffix("\n}").unwrap());
    format!("{fields}  \"checksum\": \"{}\"\n}}\n", blake3::hash(fields.as_bytes()).to_hex())
}

/// Returns the path and bytes of every file below a folder, sorted by path.
pub fn tree(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            // How a dataset came about is not part of it.
            if entry.ends_with(".changes") {
                continue;
            }
            if entry.is_dir() {
                open.push(entry);
            } else {
                let name = entry.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.push((name, fs::read(&entry).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Prints a text that is visible even if the test passes. The test harness would hide the output of `eprintln!`.
pub fn note(text: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
}

/// Returns a file or folder of the data next to the project, or prints why it cannot and returns `None`.
pub fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    note(&format!("SKIPPED: ../shared/data/{name} is not there"));
    None
}

/// Returns the PowerShell corpus, unpacked once, or prints why it cannot and returns `None`.
pub fn powershell() -> Option<&'static Path> {
    static UNPACKED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let unpack = || {
        let archive = shared("powershell-docs.tar.zst")?;
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("powershell");
        fs::create_dir_all(&folder).unwrap();
        let tar = Command::new("tar").arg("--zstd").arg("-xf").arg(archive).arg("-C").arg(&folder).status();
        if tar.is_ok_and(|status| status.success()) {
            return Some(folder.join("powershell-docs"));
        }
        note("SKIPPED: tar with zstd is needed to unpack the powershell corpus");
        None
    };
    UNPACKED.get_or_init(unpack).as_deref()
}

/// Returns every document of a corpus, parsed.
pub fn documents(root: &Path) -> Vec<Document> {
    use chunkmill::corpus::{DEFAULT_MAX_BYTES, Filter, Root, discover, read};
    use chunkmill::document::ReadSettings;
    let settings = ReadSettings::default();
    let filter = Filter::new(&[], &[], true, DEFAULT_MAX_BYTES).unwrap();
    let found = discover(&[Root::new(root)], &filter, &[]).unwrap();
    found
        .sources
        .into_iter()
        .map(|source| read(source, &settings).unwrap())
        .map(|(s, c)| Document::parse(s, c))
        .collect()
}

/// Returns the default model's reference if its files are here. Otherwise prints the reason and returns `None`, or
/// fails if `CHUNKMILL_REQUIRE_ALL` is set, as `make test` does.
pub fn default_model() -> Option<chunkmill::embed::model_ref::ModelRef> {
    use chunkmill::embed::model_ref::{ModelRef, locate};
    let model = ModelRef::default();
    match locate(&model) {
        Ok(_) => Some(model),
        Err(error) if std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_some() => panic!("{error}"),
        Err(error) => {
            note(&format!("SKIPPED: the default model is not here: {error}"));
            None
        }
    }
}
