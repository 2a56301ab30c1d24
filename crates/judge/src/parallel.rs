//! Many samples at once, where each waits for somebody else.

use std::{
    ops::ControlFlow,
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
};

/// Works on `0..n`, at most `concurrency` at once and in that order of beginning, and hands each result to `done` on the thread of the
/// caller as soon as it is there. After a break nothing more is begun.
pub fn in_parallel<T: Send>(
    n: usize,
    concurrency: usize,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize, T) -> ControlFlow<()>,
) {
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..concurrency.max(1).min(n) {
            let sender = sender.clone();
            let (next, is_over, work) = (&next, &is_over, &work);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= n || sender.send((index, work(index))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (index, result) in results {
            if done(index, result) == ControlFlow::Break(()) {
                is_over.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
}
