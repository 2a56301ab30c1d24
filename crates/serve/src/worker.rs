//! The threads that compute. Nothing that blocks runs on the threads of the sockets.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Instant, SystemTime},
};

use crate::{
    service::Service,
    work::{Piece, compute},
};

/// How much later than the threads of the sockets those that compute have their turn, in the steps of `nice`.
const LATER: i32 = 5;

/// Lets the threads of the sockets go first, so that who asks whether the service is well is answered while every core computes.
fn give_way() {
    // on Linux a thread has a priority of its own; one that keeps its own computes as well
    #[cfg(target_os = "linux")]
    let _kept = rustix::process::setpriority_process(None, LATER);
}

/// Computes what waits until the queue is closed and empty. One of several workers keeps to its own thread, so that none begins another
/// piece while it waits for a part of this one.
pub(crate) fn run(service: &Arc<Service>, is_one_of_many: bool) {
    give_way();
    let pool =
        is_one_of_many.then(|| rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(|_| give_way()).build());
    let pool = pool.and_then(Result::ok);
    while let Some(pieces) = service.queue.take() {
        let (wanted, dropped): (Vec<Piece>, Vec<Piece>) =
            pieces.into_iter().partition(|piece| !piece.is_forsaken() && Instant::now() < piece.deadline);
        service.meter.dropped(dropped.len());
        // who waits for one that is late is told by the clock of the request
        drop(dropped);
        let Some(kind) = wanted.first().map(|piece| piece.work.kind()) else { continue };
        let (resident, start, n) = (service.resident(), Instant::now(), wanted.len());
        let begin = SystemTime::now();
        let work = || compute(&resident, &wanted);
        let done = catch_unwind(AssertUnwindSafe(|| match &pool {
            Some(pool) => pool.install(work),
            None => work(),
        }));
        if done.is_err() {
            tracing::error!("a worker panicked at `{kind}`; the request is told, and the worker goes on");
        }
        if let Some(traces) = &service.traces {
            traces.computed(&wanted, kind, begin);
        }
        service.queue.took(n, start.elapsed());
        service.meter.computed(kind, n, start.elapsed());
    }
}
