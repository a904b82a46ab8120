//! The `chunkmill-eval` program; its code is in the library's `cli` module.

use std::process::ExitCode;

/// The allocator of `chunkmill`, so the memory measured here is what that program needs.
#[cfg(all(feature = "jemalloc", not(target_env = "msvc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // As in `chunkmill`: candle's own threads spin, which halves the speed of embedding texts in parallel.
    if std::env::var_os("CANDLE_NUM_THREADS").is_none() {
        #[expect(unsafe_code, reason = "the variable is set before any other thread exists")]
        // SAFETY: this is the first statement of the program; no other thread reads the environment.
        unsafe {
            std::env::set_var("CANDLE_NUM_THREADS", "1");
        }
    }
    ExitCode::from(chunkmill_eval::cli::main())
}
