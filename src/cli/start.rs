//! Steps of a command before its work.

use anyhow::Context;

use crate::config::Config;

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
