//! Steps of a command before its work.

use anyhow::Context;

use crate::config::Config;

/// Reads hostile formats in processes of their own from now on: in this program, started again. If this process is one of
/// these, does its work and returns its exit code. It has no settings and no environment.
pub fn reading_one() -> Option<u8> {
    #[cfg(feature = "pdf")]
    {
        use crate::error::exit;

        const READ_ONE: &str = "read-one";
        // The file of a running program may be replaced; this is still the same program.
        const SELF: &str = "/proc/self/exe";

        if std::env::args_os().nth(1).is_some_and(|command| command == READ_ONE) {
            let done = super::output::binary().is_ok_and(|output| crate::read::serve(std::io::stdin(), output).is_ok());
            return Some(if done { exit::DONE } else { exit::FAILED });
        }
        if cfg!(target_os = "linux") && std::path::Path::new(SELF).exists() {
            crate::read::isolate(SELF, [READ_ONE]);
        } else if let Ok(program) = std::env::current_exe() {
            crate::read::isolate(program, [READ_ONE]);
        }
    }
    None
}

/// Sets the number of worker threads for the whole process.
pub(super) fn use_threads(threads: Option<usize>) -> anyhow::Result<()> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or_default());
    builder.build_global().context("cannot start the worker threads")
}

/// Warns about settings that have no effect or that are probably a mistake.
pub fn warn_of_settings(config: &Config) {
    let spec = &config.spec;
    for name in &config.unused {
        tracing::warn!("`{name}` has no effect with strategy `{}`", spec.strategy());
    }
    for remark in &config.adjusted {
        tracing::warn!("{remark}");
    }
    if spec.is_tiny() {
        let (max, unit) = (spec.max(), spec.unit());
        tracing::warn!(
            "with a maximum of {max} (unit {unit}) a chunk has room for a word or two at most; raise --max or choose another --unit"
        );
    }
}
