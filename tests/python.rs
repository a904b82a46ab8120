//! Python environments that tests create from pinned and hashed packages. The harness's tests use this file too.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Returns the Python of an environment with the packages of these requirements files. The environment is created
/// once. If that fails, prints the reason and returns `None`, or panics if `CHUNKMILL_REQUIRE_ALL` is set. Two tests
/// may need it at the same time: one creates it while the other waits. The files name every package that is needed,
/// so the packages' own requirements are ignored.
pub fn environment(requirements: &[PathBuf]) -> Option<PathBuf> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut hasher = blake3::Hasher::new();
    for file in requirements {
        hasher.update(&fs::read(file).unwrap());
    }
    let hash = hasher.finalize().to_hex().to_string();
    let of = requirements[0].parent().and_then(Path::file_name).unwrap().to_str().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{of}-{}", &hash[..16]));
    let python = folder.join("bin/python");
    let complete = folder.join("complete");
    let succeeds = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    if !complete.exists() {
        let install =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps"];
        let mut pip = Command::new(&python);
        pip.args(install);
        for file in requirements {
            pip.arg("-r").arg(file);
        }
        let made = succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder)) && succeeds(&mut pip);
        if !made {
            let reason = format!("this needs python3 with venv, and the packages of {requirements:?}");
            assert!(std::env::var_os("CHUNKMILL_REQUIRE_ALL").is_none(), "{reason}");
            // Not `eprintln!`: the test harness hides its output if the test passes.
            let _ = std::io::stderr().write_all(format!("SKIPPED: {reason}\n").as_bytes());
            return None;
        }
        fs::write(complete, "").unwrap();
    }
    Some(python)
}
