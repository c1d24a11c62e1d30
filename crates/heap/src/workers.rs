//! Work on several threads.

use std::thread;

use crate::Error;

/// Runs a function for each of these on a thread of its own.
pub(crate) fn in_threads<I: Send, T: Send>(
    all: impl Iterator<Item = I>,
    run: impl Fn(I) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = all.map(|it| scope.spawn(move || run(it))).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Result<T, Error>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}
