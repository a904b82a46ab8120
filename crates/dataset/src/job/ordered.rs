//! Parallel work whose results are consumed in order, with only a few of them in memory.
//!
//! Pieces of work are handed out in order, and each has its own queue of results. A second queue contains these
//! queues, in the order of the work. The consumer therefore always waits for the oldest piece, which is running
//! and can make progress; pieces ahead of it block when their queues are full. A piece may produce its results one
//! at a time, so they need never be in memory together.

use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Number of results of one piece that can wait to be consumed.
const RESULTS: usize = 4;

/// Number of pieces per thread that are started but not yet consumed: as many small ones as take the time of a
/// large one.
const PIECES: usize = 8;

/// Queue for the results of a piece of work. Sending blocks while the queue is full, and fails when no more
/// results are wanted.
pub type Results<T> = SyncSender<T>;

/// Runs pieces of work on as many threads as the program is set to use, and consumes their results in order on
/// this thread.
///
/// # Errors
/// The first error of `take`. Pieces that have not been started are then skipped.
pub fn in_order<W: Send, T: Send, E>(
    work: impl Iterator<Item = W> + Send,
    run: impl Fn(W, &Results<T>) -> Result<(), SendError<T>> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = rayon::current_num_threads();
    let (order, queues) = sync_channel(threads * PIECES);
    let work = Mutex::new(work);
    let next = |order: &SyncSender<Receiver<T>>| {
        // Under one lock, to keep the queues in the order of the work.
        let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
        let (results, queue) = sync_channel(RESULTS);
        let piece = work.next()?;
        order.send(queue).ok()?;
        Some((piece, results))
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            let (order, next, run) = (order.clone(), &next, &run);
            scope.spawn(move || {
                while let Some((piece, results)) = next(&order) {
                    if run(piece, &results).is_err() {
                        break;
                    }
                }
            });
        }
        drop(order);
        queues.into_iter().flatten().try_for_each(&mut take)
    })
}
