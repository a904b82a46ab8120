//! Work that the calling thread shares with others.
//!
//! A question takes a few milliseconds, in which the calling thread works, too. A thread of a pool shares with its pool. Another one
//! starts threads: one of a pool that has just finished something counts as awake, even if it waits for the calling thread's core,
//! and then no other is woken until the question is nearly answered.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Number of items for which another thread is worth it.
const FOR_A_THREAD: usize = 4;

/// Number of threads that are started at the moment: many questions at a time share as many as a pool has.
static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Passes each item to `work`, in any order, and returns what each thread began with `start` and `work` changed.
pub(super) fn share<T, S: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, T) + Sync,
) -> Vec<S> {
    let others = (items.len() / FOR_A_THREAD).min(rayon::current_num_threads() - 1);
    let (items, done) = (Mutex::new(items), Mutex::new(Vec::new()));
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take = || {
        // A thread that comes too late has nothing to begin with.
        let Some(first) = next() else { return };
        let mut state = start();
        work(&mut state, first);
        while let Some(item) = next() {
            work(&mut state, item);
        }
        done.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    };
    if rayon::current_thread_index().is_some() {
        rayon::scope(|scope| {
            (0..others).for_each(|_| scope.spawn(|_| take()));
            take();
        });
    } else {
        let started = Started::up_to(others);
        thread::scope(|scope| {
            // Without another thread, this one does all of it.
            let others = (0..started.0).map_while(|_| thread::Builder::new().spawn_scoped(scope, take).ok());
            let others: Vec<_> = others.collect();
            take();
            for other in others {
                other.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
    }
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A number of threads in [`STARTED`], until it is dropped.
struct Started(usize);

impl Started {
    fn up_to(wanted: usize) -> Self {
        let most = rayon::current_num_threads() - 1;
        let free = most.saturating_sub(STARTED.fetch_add(wanted, Ordering::Relaxed)).min(wanted);
        STARTED.fetch_sub(wanted - free, Ordering::Relaxed);
        Self(free)
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        STARTED.fetch_sub(self.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn sum(count: u64) -> u64 {
        share(0..usize::try_from(count).unwrap_or(0), || 0, |sum, item| *sum += item as u64 + 1).into_iter().sum()
    }

    /// Calls `test` on this thread and in pools.
    fn everywhere(test: impl Fn() + Sync) {
        test();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("a pool").install(&test);
        }
    }

    #[test]
    fn each_item_is_taken_once() {
        everywhere(|| {
            for count in [0, 1, 2, 7, 8, 1000] {
                assert_eq!(sum(count), count * (count + 1) / 2, "{count}");
            }
        });
    }

    #[test]
    fn work_may_share_and_many_threads_may_ask() {
        everywhere(|| {
            let sums = share(0..50, Vec::new, |sums, _| sums.push(sum(100))).concat();
            assert_eq!(sums, [5050; 50]);
        });
        thread::scope(|scope| {
            let asked: Vec<_> = (0..20).map(|_| scope.spawn(|| sum(10_000))).collect();
            for asked in asked {
                assert_eq!(asked.join().expect("a sum"), 50_005_000);
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_with_its_reason() {
        everywhere(|| {
            for bad in [0, 99] {
                let shared = || share(0..100, || (), |(), item| assert_ne!(item, bad, "item {bad}"));
                let panic = catch_unwind(AssertUnwindSafe(shared)).expect_err("a panic");
                let reason = panic.downcast_ref::<String>().expect("a reason");
                assert!(reason.contains(&format!("item {bad}")), "{reason}");
            }
        });
    }
}
