//! The memory limit of a job. Half of it is for documents on their way through the stages, the other half for the
//! program, its model and the files being written. A block of documents starts only when the memory that it may
//! take is free, so a lower limit means fewer blocks in memory together.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use chunkmill_base::error::{Error, Result};
use chunkmill_base::value::count;
use chunkmill_text::document::Admission;

use crate::corpus::Source;

/// Bytes of rows and vectors per byte of a document with very small chunks.
const MOST_FOR_A_BYTE: u64 = 700;

/// Number of blocks in memory together: one each being prepared, embedded and written.
const BLOCKS: u64 = 3;

/// Bytes for a batch of the model and a file that is being written.
const WORKING: u64 = 64 << 20;

/// The memory that documents share.
pub(super) struct Budget {
    admission: Admission,
    /// Bytes for all documents, if there is a limit.
    most: Option<u64>,
    taken: Mutex<u64>,
    freed: Condvar,
}

impl Budget {
    /// Creates the budget of a job whose model is loaded.
    ///
    /// # Errors
    /// [`Error::Setting`] if the program, its model and some working memory take more than half of the limit.
    pub(super) fn new(admission: Admission) -> Result<Arc<Self>> {
        let most = admission.memory_of_documents();
        if let (Some(memory), Some(most), Some(here)) = (admission.memory, most, resident()) {
            let need = here + WORKING;
            if need > most {
                return Err(Error::setting(
                    "memory",
                    format!(
                        "{} would not be enough: the program and its model take {here} before the first document",
                        count(memory, "byte")
                    ),
                    format!("set at least {}, or use a smaller model", 2 * need),
                ));
            }
        }
        Ok(Arc::new(Self { admission, most, taken: Mutex::new(0), freed: Condvar::new() }))
    }

    /// Returns how many bytes of documents form a block: `usual`, or fewer if the limit requires it.
    pub(super) fn block_bytes(&self, usual: u64) -> u64 {
        self.most.map_or(usual, |most| usual.min(most / BLOCKS / MOST_FOR_A_BYTE))
    }

    /// Waits until there is room for these documents, and reserves it. Documents that would not fit even alone are
    /// let through when nothing else is in memory.
    pub(super) fn enter(self: &Arc<Self>, sources: &[Source]) -> Share {
        let need =
            |source: &Source| self.admission.memory_of(source.bytes).min(source.bytes.saturating_mul(MOST_FOR_A_BYTE));
        let bytes = sources.iter().map(need).sum();
        if let Some(most) = self.most {
            let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            let full = |taken: &mut u64| *taken > 0 && *taken + bytes > most;
            *self.freed.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner) += bytes;
        }
        Share { budget: Arc::clone(self), bytes }
    }
}

/// Reserved memory. Dropping this value releases it.
pub(super) struct Share {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.budget.most.is_some() {
            *self.budget.taken.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
            self.budget.freed.notify_all();
        }
    }
}

/// Returns the memory that this process uses now, in bytes, if the system reports it.
fn resident() -> Option<u64> {
    of_process("VmRSS:")
}

/// Returns the peak memory of this process, in bytes, if the system reports it.
pub fn peak_memory() -> Option<u64> {
    of_process("VmHWM:")
}

fn of_process(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
