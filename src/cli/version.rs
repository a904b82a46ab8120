//! `--version --verbose`: how a program was built, and what it finds on this machine. Fetches nothing and loads no
//! model.

use std::fmt::Write;
use std::thread::available_parallelism;

use crate::embed::model::{DEFAULT_ID, DEFAULT_PINS, DEFAULT_REVISION};
use crate::embed::model_ref::ModelRef;
use crate::embed::{Isa, Precision, PrecisionSetting, package};
use crate::hub::{Kind, Repository};

/// Pairs the name of each feature with whether it was compiled in.
macro_rules! features {
    ($($name:literal)*) => { [$(($name, cfg!(feature = $name))),*] };
}

/// Every feature of `Cargo.toml` that a user may name, as the tests check.
const FEATURES: &[(&str, bool)] = &features!["accelerate" "answer" "candle" "cuda" "epub" "formats" "html" "hub" "jemalloc" "mail" "markup" "metal" "mkl" "notebook" "object-store" "office" "pdf" "remote" "rtf" "table"];

/// Returns lines about the program, the processor and the default model.
pub(super) fn details() -> String {
    let names = |wanted: bool| list(FEATURES.iter().filter(|(_, is_in)| *is_in == wanted).map(|(name, _)| *name));
    let isa = Isa::best();
    let fast = list(Precision::ON_CPU.into_iter().filter(|&precision| isa.is_fast_in(precision)).map(Precision::name));
    let usual = PrecisionSetting::Auto.on(isa);
    // The number of threads that rayon starts by default.
    let threads = available_parallelism().map_or(1, usize::from);
    let mut text = String::new();
    for (what, is) in [
        // Set by release builds. Asking git here would rebuild everything after each commit.
        ("commit", option_env!("CHUNKMILL_COMMIT").unwrap_or("unknown, not a release build").to_owned()),
        ("target", env!("TARGET_TRIPLE").to_owned()),
        ("features", format!("{} (left out: {})", names(true), names(false))),
        ("encoder", format!("instructions {isa}; fast in {fast}; {usual} by default")),
        ("threads", threads.to_string()),
        ("model", format!("{}@{DEFAULT_REVISION}", ModelRef::default())),
        ("", default_model()),
    ] {
        let _ = write!(text, "\n  {what:<10} {is}");
    }
    text
}

fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Reports whether the default model's files are in the cache or in a Python environment. Their hashes are checked when
/// the model is loaded.
fn default_model() -> String {
    let folder = Repository::new(Kind::Model, DEFAULT_ID, DEFAULT_REVISION).commit_folder(DEFAULT_REVISION);
    let here = DEFAULT_PINS.iter().filter(|(name, _)| folder.join(name).is_file()).count();
    let place = folder.display();
    match (here, DEFAULT_PINS.len()) {
        (here, all)
            if here < all
                && let Some(folder) = package::installed() =>
        {
            format!("in a Python environment, {}", folder.display())
        }
        (0, _) => format!("not in the cache, {place}; `chunkmill model pull` fetches it"),
        (here, all) if here < all => {
            format!("{here} of {all} files in the cache, {place}; `chunkmill model pull` fetches the others")
        }
        _ => format!("in the cache, {place}"),
    }
}
