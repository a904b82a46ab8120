//! Work in parallel whose results are taken in order, while only a few of them are in memory.
//!
//! Pieces of work are handed out in order, and each has a queue of its own for what it gives. The queues stand in a
//! queue themselves, in the order of the work. So the one who takes always waits for the oldest piece, which is
//! at work and can go on; those who are ahead of it stop when their queues are full. A piece may give its results one
//! after the other, so that none need ever be there as a whole.

use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Results of one piece that wait to be taken.
const RESULTS: usize = 4;

/// Pieces for each thread that were begun and are not yet taken: as many small ones as take the time of a large one.
const PIECES: usize = 8;

/// Where a piece of work puts its results. Putting waits while earlier ones are not taken, and fails when no more are
/// wanted.
pub(crate) type Results<T> = SyncSender<T>;

/// Does pieces of work on as many threads as the program is set to use, and takes what they give in order on this
/// thread.
///
/// # Errors
/// The first error of `take`; what is not yet begun is then left.
pub(crate) fn in_order<W: Send, T: Send, E>(
    work: impl Iterator<Item = W> + Send,
    run: impl Fn(W, &Results<T>) -> Result<(), SendError<T>> + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let threads = rayon::current_num_threads();
    let (order, queues) = sync_channel(threads * PIECES);
    let work = Mutex::new(work);
    let next = |order: &SyncSender<Receiver<T>>| {
        // Under one lock, so that the queues stand in the order of the work.
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
