//! Worker threads, and how Ctrl-C stops the work.
//!
//! Nothing here installs signal handlers. While a call works on its own threads, the calling thread checks several
//! times a second whether Python has an exception to raise. If so, the work is told to stop, and the exception is
//! raised once it has stopped.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use chunkmill::error::Error;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{exception, raised};

/// Interval at which a call checks for an exception.
const LOOK: Duration = Duration::from_millis(50);

/// Worker threads of this process.
struct Workers {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

static WORKERS: Mutex<Option<Workers>> = Mutex::new(None);

/// Returns a pool with the given number of worker threads; reuses that of the previous call if the number is the
/// same.
///
/// This is not rayon's global pool: a process that Python has forked has none of its parent's threads, and would
/// wait for them forever. It gets new ones here.
pub(crate) fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let (process, threads) = (std::process::id(), threads.unwrap_or_default());
    let mut workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(workers) = &*workers
        && workers.process == process
        && workers.threads == threads
    {
        return Ok(Arc::clone(&workers.pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().map_err(cannot_start)?);
    let before = workers.replace(Workers { process, threads, pool: Arc::clone(&pool) });
    if let Some(before) = before.filter(|before| before.process != process) {
        // Its threads belong to another process.
        std::mem::forget(before);
    }
    Ok(pool)
}

/// Sets the number of threads for the job's own stages, which use the global pool; the first job of a process
/// decides it.
pub(crate) fn threads_of_process(threads: Option<usize>) -> PyResult<()> {
    static STARTED: Mutex<Option<(u32, Option<usize>)>> = Mutex::new(None);
    let process = std::process::id();
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = match *started {
        Some((other, _)) if other != process => {
            let problem = "this process was forked from one that ran a job, and has none of its threads";
            let help = "start processes by multiprocessing's method `spawn`, or run no job before";
            return Err(exception("Error", &format!("{problem}\n  help: {help}")));
        }
        Some((_, before)) => before,
        None => {
            let builder = ThreadPoolBuilder::new().num_threads(threads.unwrap_or_default());
            builder.build_global().map_err(cannot_start)?;
            *started = Some((process, threads));
            threads
        }
    };
    // Logging lets other Python threads run, and one of them may wait for this lock.
    drop(started);
    if threads.is_some() && threads != before {
        tracing::warn!("`threads` has no effect: the first job of this process has decided it");
    }
    Ok(())
}

fn cannot_start(problem: impl std::fmt::Display) -> PyErr {
    exception("Error", &format!("cannot start the worker threads: {problem}"))
}

/// Does some work while other Python threads run, and checks for signals meanwhile. `look` is called as often, and
/// an exception from it stops the work too.
pub(crate) fn interruptibly<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> Result<T, Error> + Send,
    mut look: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (done, mut waiting) = sync_channel(1);
        let asked = &stop;
        // The receiver is gone only after a panic here, which propagates anyway.
        let worker = scope.spawn(move || drop(done.send(work(asked))));
        let mut exception = None;
        loop {
            let waiting = &mut waiting;
            match py.detach(move || waiting.recv_timeout(LOOK)) {
                Ok(result) => {
                    return match exception {
                        Some(exception) => Err(exception),
                        None => result.map_err(|error| raised(&error)),
                    };
                }
                Err(RecvTimeoutError::Timeout) if exception.is_none() => {
                    exception = py.check_signals().and_then(|()| look(py)).err();
                    stop.store(exception.is_some(), Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => return Err(cannot_start("they ended without a word")),
                },
            }
        }
    })
}
