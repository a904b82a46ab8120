//! Programs that are built along with the tests. The harness's tests use this file too.

use std::path::PathBuf;

/// Returns the path of an example's program. `cargo test` builds all examples, unless only some targets are named.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let program = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let build = "build it with `cargo build --release --workspace --examples`";
    assert!(program.is_file(), "the example is not at {}: {build}", program.display());
    program
}
