//! What waits to be computed: bounded, fair between clients, and work that shares a change goes together.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::tokens::Client;

/// Something that waits.
pub(crate) trait Waiting {
    /// Whether it is computed together with other work that waits.
    fn goes_with(&self, other: &Self) -> bool;
}

/// Most pieces of work that are taken together.
const MOST_TOGETHER: usize = 32;

/// How many times as long as expected a client may have to wait: others that go with what is before it are taken along.
const UNCERTAIN: f64 = 2.0;

/// The part of a piece's time that a worker without work waits for what goes with the first that comes.
const GATHERED: f64 = 0.02;

/// The longest that it waits.
const MOST_GATHERED: Duration = Duration::from_millis(5);

/// How much of a new duration goes into what is expected of the next.
const NEW: f64 = 0.1;

/// A line for every client, asked in turn.
#[derive(Debug)]
pub(crate) struct Queue<W> {
    state: Mutex<State<W>>,
    has_more: Condvar,
    capacity: usize,
    n_workers: usize,
}

#[derive(Debug)]
struct State<W> {
    lines: VecDeque<(Arc<Client>, VecDeque<W>)>,
    n: usize,
    is_closed: bool,
    /// Seconds that a piece of work takes one worker, about.
    seconds: f64,
}

/// Work was not taken.
#[derive(Debug, PartialEq)]
pub(crate) enum NotTaken {
    /// There is too much; so long it takes about until half of it is done.
    Full(Duration),
    /// Nothing is taken any more.
    Closed,
}

/// When to ask again: what was expected may be far from what comes.
fn after(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds.clamp(1.0, 60.0))
}

impl<W: Waiting> Queue<W> {
    /// An empty one of at most `capacity` pieces, for `n_workers` who take them.
    pub fn new(capacity: usize, n_workers: usize) -> Self {
        let state = State { lines: VecDeque::new(), n: 0, is_closed: false, seconds: 0.1 };
        Queue { state: Mutex::new(state), has_more: Condvar::new(), capacity, n_workers: n_workers.max(1) }
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many pieces wait.
    pub fn len(&self) -> usize {
        self.state().n
    }

    /// Whether `n` more pieces of a client would be taken now, and begun within this time.
    pub fn would_take(&self, client: &Arc<Client>, n: usize, within: Duration) -> Result<(), NotTaken> {
        let state = self.state();
        self.place(&state, n)?;
        self.in_time(&state, client, within)
    }

    /// Whether what stands before a client's next piece is done within this time, as far as can be told. An empty queue is always in
    /// time: what is expected of the next piece may be wrong, and only work shows it.
    fn in_time(&self, state: &State<W>, client: &Arc<Client>, within: Duration) -> Result<(), NotTaken> {
        let own = state.lines.iter().find(|(known, _)| Arc::ptr_eq(known, client)).map_or(0, |(_, line)| line.len());
        // of every other line as many as of its own have their turn before it
        let others = state.lines.iter().filter(|(known, _)| !Arc::ptr_eq(known, client));
        let n_before = own + others.map(|(_, line)| line.len().min(own + 1)).sum::<usize>();
        let wait = state.seconds * n_before as f64 / self.n_workers as f64;
        if wait * UNCERTAIN > within.as_secs_f64() { Err(NotTaken::Full(after(wait / 2.0))) } else { Ok(()) }
    }

    /// Whether there is place for `n` more pieces.
    fn place(&self, state: &State<W>, n: usize) -> Result<(), NotTaken> {
        if state.is_closed {
            return Err(NotTaken::Closed);
        }
        if state.n + n > self.capacity {
            return Err(NotTaken::Full(after(state.seconds * state.n as f64 / self.n_workers as f64 / 2.0)));
        }
        Ok(())
    }

    /// Puts work into a client's line: all of it or none.
    pub fn put(&self, client: &Arc<Client>, work: Vec<W>) -> Result<(), NotTaken> {
        let mut state = self.state();
        self.place(&state, work.len())?;
        state.n += work.len();
        match state.lines.iter_mut().find(|(known, _)| Arc::ptr_eq(known, client)) {
            Some((_, line)) => line.extend(work),
            None => state.lines.push_back((Arc::clone(client), work.into())),
        }
        drop(state);
        self.has_more.notify_all();
        Ok(())
    }

    /// Waits for work and takes the first piece of the line whose turn it is, with what goes with it in any line. None once the queue is
    /// closed and empty.
    pub fn take(&self) -> Option<Vec<W>> {
        let mut state = self.state();
        loop {
            if let Some(taken) = state.take() {
                return Some(taken);
            }
            if state.is_closed {
                return None;
            }
            state = self.has_more.wait(state).unwrap_or_else(PoisonError::into_inner);
            // what comes at the same time often shares a change, which is read once for all that is there
            let pause = Duration::from_secs_f64(state.seconds * GATHERED).min(MOST_GATHERED);
            drop(state);
            thread::sleep(pause);
            state = self.state();
        }
    }

    /// Says that `n` pieces took one worker so long.
    pub fn took(&self, n: usize, time: Duration) {
        let mut state = self.state();
        state.seconds += NEW * (time.as_secs_f64() / n.max(1) as f64 - state.seconds);
    }

    /// Takes nothing more; what waits is still given out.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.has_more.notify_all();
    }

    /// Takes everything that waits away.
    pub fn clear(&self) -> Vec<W> {
        let mut state = self.state();
        state.n = 0;
        state.lines.drain(..).flat_map(|(_, line)| line).collect()
    }
}

impl<W: Waiting> State<W> {
    fn take(&mut self) -> Option<Vec<W>> {
        let (client, mut line) = self.lines.pop_front()?;
        let first = line.pop_front()?;
        // behind all others; of a client that has nothing more no line is kept
        self.lines.push_back((client, line));
        let mut taken = vec![first];
        for (_, line) in &mut self.lines {
            let mut place = 0;
            while place < line.len() && taken.len() < MOST_TOGETHER {
                match taken[0].goes_with(&line[place]) {
                    true => taken.extend(line.remove(place)),
                    false => place += 1,
                }
            }
        }
        self.lines.retain(|(_, line)| !line.is_empty());
        self.n -= taken.len();
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        limits::Limits,
        tokens::{TokenSource, Tokens},
    };
    use axum::http::{HeaderMap, HeaderValue, header};

    /// A change by its name, and whose it is.
    #[derive(Debug, PartialEq, Clone, Copy)]
    struct Piece(char, usize);

    impl Waiting for Piece {
        fn goes_with(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }

    fn client() -> Arc<Client> {
        let tokens = Tokens::read(&TokenSource::default(), &Limits::default(), None).unwrap();
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("localhost"))]);
        tokens.client(&headers).unwrap()
    }

    #[test]
    fn clients_take_turns_and_what_shares_a_change_goes_together() {
        let (a, b) = (client(), client());
        let queue = Queue::new(10, 1);
        queue.put(&a, vec![Piece('p', 1), Piece('q', 1), Piece('r', 1), Piece('q', 1)]).unwrap();
        queue.put(&b, vec![Piece('s', 2), Piece('q', 2)]).unwrap();
        let mut taken = Vec::new();
        while queue.len() > 0 {
            taken.push(queue.take().unwrap());
        }
        // one that asks for little waits for one piece of another's, not for all
        assert_eq!(taken[0], [Piece('p', 1)]);
        assert_eq!(taken[1], [Piece('s', 2)]);
        assert_eq!(taken[2].len(), 3, "{taken:?}");
        assert_eq!(taken[3], [Piece('r', 1)]);
    }

    #[test]
    fn all_of_a_request_is_taken_or_none_and_a_closed_queue_gives_out_what_it_has() {
        let a = client();
        let queue = Queue::new(3, 2);
        queue.took(1, Duration::from_secs(1000));
        assert_eq!(queue.would_take(&a, 4, Duration::ZERO), Err(NotTaken::Full(Duration::from_secs(1))));
        queue.put(&a, vec![Piece('p', 1), Piece('q', 1)]).unwrap();
        let full = queue.put(&a, vec![Piece('r', 1), Piece('s', 1)]).unwrap_err();
        assert!(matches!(full, NotTaken::Full(wait) if wait > Duration::from_secs(40)), "{full:?}");
        assert_eq!(queue.len(), 2);
        queue.close();
        assert_eq!(queue.put(&a, vec![Piece('r', 1)]), Err(NotTaken::Closed));
        assert!(queue.take().is_some() && queue.take().is_some() && queue.take().is_none());
        assert!(queue.clear().is_empty());
    }

    #[test]
    fn a_client_waits_for_its_own_line_and_as_much_of_the_others() {
        let (a, b) = (client(), client());
        let queue = Queue::new(1000, 2);
        queue.took(1, Duration::from_secs(10)); // about a second a piece
        queue.put(&a, (0..100).map(|n| Piece(char::from(n), 1)).collect()).unwrap();
        let within = |seconds| Duration::from_secs(seconds);
        assert_eq!(queue.would_take(&a, 1, within(120)), Ok(()));
        assert!(matches!(queue.would_take(&a, 1, within(100)), Err(NotTaken::Full(wait)) if wait > within(20)));
        // another one's first piece has its turn after the first of the long line
        assert_eq!(queue.would_take(&b, 1, within(2)), Ok(()));
        queue.clear();
        queue.took(1, within(100_000));
        assert_eq!(queue.would_take(&a, 1, within(1)), Ok(()));
    }

    #[test]
    fn no_more_are_taken_together_than_one_worker_should_have() {
        let a = client();
        let queue = Queue::new(100, 1);
        queue.put(&a, vec![Piece('p', 1); 50]).unwrap();
        assert_eq!(queue.take().unwrap().len(), MOST_TOGETHER);
        assert_eq!(queue.take().unwrap().len(), 50 - MOST_TOGETHER);
    }
}
