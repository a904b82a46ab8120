//! The `chunkmill-eval` program: everything is in its library's `cli`.

use std::process::ExitCode;

/// That of `chunkmill`, so that the memory that is measured here is what it needs.
#[cfg(all(feature = "jemalloc", not(target_env = "msvc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // As in `chunkmill`: candle's own spinning threads halve the speed of texts embedded in parallel.
    if std::env::var_os("CANDLE_NUM_THREADS").is_none() {
        #[expect(unsafe_code, reason = "the variable is set before any other thread exists")]
        // SAFETY: this is the first statement of the program; no other thread reads the environment.
        unsafe {
            std::env::set_var("CANDLE_NUM_THREADS", "1");
        }
    }
    ExitCode::from(chunkmill_eval::cli::main())
}
