//! A limit for the memory of a job. Half of it is for documents on their way, the other half for the program, its model
//! and what is written. A block of documents starts when what it may take is free, so fewer are in memory together.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::corpus::Source;
use crate::document::Admission;
use crate::error::{Error, Result};

/// Bytes for each byte of a document whose chunks are very small: their rows and vectors.
const MOST_FOR_A_BYTE: u64 = 700;

/// Blocks in memory together: one each that is prepared, embedded, written.
const BLOCKS: u64 = 3;

/// What a batch of the model and a file that is being written take.
const WORKING: u64 = 64 << 20;

/// The memory that documents share.
pub(super) struct Budget {
    admission: Admission,
    /// Bytes for all, if there is a limit.
    most: Option<u64>,
    taken: Mutex<u64>,
    freed: Condvar,
}

impl Budget {
    /// That of a job whose model is loaded.
    ///
    /// # Errors
    /// [`Error::Setting`] if less than half of it is left beside the program.
    pub(super) fn new(admission: Admission) -> Result<Arc<Self>> {
        let most = admission.memory_of_documents();
        if let (Some(memory), Some(most), Some(here)) = (admission.memory, most, resident()) {
            let need = here + WORKING;
            if need > most {
                return Err(Error::Setting {
                    origin: "memory".to_owned(),
                    problem: format!(
                        "{memory} bytes are too few: the program and its model take {here} before the first document"
                    ),
                    help: format!("set at least {}, or a smaller model", 2 * need),
                });
            }
        }
        Ok(Arc::new(Self { admission, most, taken: Mutex::new(0), freed: Condvar::new() }))
    }

    /// How many bytes of documents make a block, if `usual` are not too many.
    pub(super) fn block_bytes(&self, usual: u64) -> u64 {
        self.most.map_or(usual, |most| usual.min(most / BLOCKS / MOST_FOR_A_BYTE))
    }

    /// Waits until there is room for some documents, and takes it. What would not even fit alone is let through alone.
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

/// Room that was taken; free again when this is dropped.
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

/// Bytes of memory that this process has now, where the system says so.
fn resident() -> Option<u64> {
    of_process("VmRSS:")
}

/// The most bytes of memory that this process has had at once, where the system says so.
#[must_use]
pub fn peak_memory() -> Option<u64> {
    of_process("VmHWM:")
}

fn of_process(field: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
