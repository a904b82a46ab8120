//! The `chunkmill` program. Everything is in the library's `cli`.

use std::process::ExitCode;

/// Rows of all sizes are allocated and freed on several threads. jemalloc returns what they leave to the system; the
/// system's own allocator keeps more of it on some corpora. The book's page on installing has measurements.
#[cfg(all(feature = "jemalloc", not(target_env = "msvc")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    #[cfg(feature = "candle")]
    one_thread_for_each_sum();
    ExitCode::from(chunkmill::cli::main())
}

#[cfg(feature = "candle")]
fn one_thread_for_each_sum() {
    // candle splits every sum across its own spinning threads, under one lock. Texts are embedded in parallel
    // here, and these threads halve the speed (measured). Only the environment turns them off.
    if std::env::var_os("CANDLE_NUM_THREADS").is_none() {
        #[expect(unsafe_code, reason = "the variable is set before any other thread exists")]
        // SAFETY: this is the first statement of the program; no other thread reads the environment.
        unsafe {
            std::env::set_var("CANDLE_NUM_THREADS", "1");
        }
    }
}
