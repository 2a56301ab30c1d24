//! How many requests are open at once and in a minute.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::{Duration, Instant, SystemTime},
};

/// What limits are over.
const WINDOW: Duration = Duration::from_secs(60);

/// Successes in a row after which one more request may be open.
const SUCCESSES_FOR_ONE_MORE: usize = 20;

/// Time, as a test may make it.
pub trait Clock: Send + Sync + fmt::Debug {
    /// A moment to measure from.
    fn now(&self) -> Instant;
    /// The time of day, which servers' dates are about.
    fn date(&self) -> SystemTime;
    /// Waits.
    fn sleep(&self, pause: Duration);
}

/// The system's time.
#[derive(Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn date(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}

/// The bounds that a person or a server sets.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Most requests open at once.
    pub concurrency: usize,
    /// Most requests in a minute.
    pub rpm: Option<u32>,
    /// Most tokens in a minute.
    pub tpm: Option<u64>,
}

/// A gate that requests pass within their bounds.
#[derive(Debug)]
pub struct Limits {
    bounds: Bounds,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    is_free: Condvar,
}

#[derive(Debug)]
struct State {
    n_open: usize,
    /// How many may be open now: fewer than the bound after the server was too busy.
    n_allowed: usize,
    n_successes: usize,
    /// The requests of the last minute with their tokens, the oldest first. The number names one.
    recent: VecDeque<(u64, Instant, u64)>,
    n_begun: u64,
}

/// A request that has passed the gate; it is open until this is gone.
#[derive(Debug)]
pub struct Pass<'a> {
    limits: &'a Limits,
    number: u64,
    /// When it passed.
    pub begun: Instant,
}

impl Limits {
    /// A gate with these bounds.
    pub fn new(bounds: Bounds, clock: Arc<dyn Clock>) -> Limits {
        let state =
            State { n_open: 0, n_allowed: bounds.concurrency, n_successes: 0, recent: VecDeque::new(), n_begun: 0 };
        Limits { bounds, clock, state: Mutex::new(state), is_free: Condvar::new() }
    }

    /// The bounds that were set.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Waits until a request of about so many tokens may begin.
    pub fn pass(&self, tokens: u64) -> Pass<'_> {
        let mut state = self.state();
        loop {
            while state.n_open >= state.n_allowed {
                state = self.is_free.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
            let now = self.clock.now();
            let Some(pause) = self.pause(&mut state, now, tokens) else {
                let number = state.n_begun;
                state.n_begun += 1;
                state.n_open += 1;
                state.recent.push_back((number, now, tokens));
                return Pass { limits: self, number, begun: now };
            };
            drop(state);
            self.clock.sleep(pause);
            state = self.state();
        }
    }

    /// How long a request has to wait for the last minute's to be over; none if it may begin.
    fn pause(&self, state: &mut State, now: Instant, tokens: u64) -> Option<Duration> {
        while state.recent.front().is_some_and(|(_, begun, _)| now.duration_since(*begun) >= WINDOW) {
            state.recent.pop_front();
        }
        let (oldest_begun, _) = state.recent.front().map(|(_, begun, tokens)| (*begun, *tokens))?;
        let sum: u64 = state.recent.iter().map(|(_, _, tokens)| tokens).sum();
        let too_many = self.bounds.rpm.is_some_and(|rpm| state.recent.len() >= rpm as usize);
        // one that is larger than the bound alone waits until nothing else is in the window
        let too_large = self.bounds.tpm.is_some_and(|tpm| sum + tokens > tpm);
        (too_many || too_large).then(|| (oldest_begun + WINDOW).duration_since(now))
    }

    /// The server is too busy: half as many may be open.
    pub fn is_too_busy(&self) {
        let mut state = self.state();
        state.n_allowed = (state.n_allowed / 2).max(1);
        state.n_successes = 0;
    }

    /// A request was answered.
    pub fn was_answered(&self) {
        let mut state = self.state();
        state.n_successes += 1;
        if state.n_successes >= SUCCESSES_FOR_ONE_MORE && state.n_allowed < self.bounds.concurrency {
            state.n_allowed += 1;
            state.n_successes = 0;
            self.is_free.notify_all();
        }
    }

    /// How many requests may be open now.
    pub fn n_allowed(&self) -> usize {
        self.state().n_allowed
    }
}

impl Pass<'_> {
    /// What the request did take, in place of the estimate.
    pub fn correct(&self, tokens: u64) {
        let mut state = self.limits.state();
        if let Some(entry) = state.recent.iter_mut().find(|(number, _, _)| *number == self.number) {
            entry.2 = tokens;
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.limits.state().n_open -= 1;
        self.limits.is_free.notify_one();
    }
}

/// Clocks for tests.
#[cfg(test)]
pub(crate) mod fake {
    use super::*;

    /// A clock on which sleeping takes no time.
    #[derive(Debug)]
    pub struct FakeClock {
        start: Instant,
        /// The time of day at the start.
        pub date: SystemTime,
        slept: Mutex<Duration>,
        /// Every pause, in its order.
        pub pauses: Mutex<Vec<Duration>>,
    }

    impl Default for FakeClock {
        fn default() -> Self {
            let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            FakeClock { start: Instant::now(), date, slept: Mutex::default(), pauses: Mutex::default() }
        }
    }

    impl Clock for FakeClock {
        fn now(&self) -> Instant {
            self.start + *self.slept.lock().unwrap()
        }

        fn date(&self) -> SystemTime {
            self.date + *self.slept.lock().unwrap()
        }

        fn sleep(&self, pause: Duration) {
            *self.slept.lock().unwrap() += pause;
            self.pauses.lock().unwrap().push(pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{fake::FakeClock, *};

    /// Begins `n` requests on eight and more threads; the moments, and the most that were open.
    fn begin(n: usize, bounds: Bounds, tokens: u64) -> (Vec<Instant>, usize) {
        let limits = Limits::new(bounds, Arc::new(FakeClock::default()));
        let (open, most, left) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(n));
        let moments = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| {
                    while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok() {
                        let pass = limits.pass(tokens);
                        moments.lock().unwrap().push(pass.begun);
                        most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_micros(200));
                        open.fetch_sub(1, Ordering::SeqCst);
                        drop(pass);
                    }
                });
            }
        });
        let mut moments = moments.into_inner().unwrap();
        moments.sort();
        (moments, most.into_inner())
    }

    /// The most moments in any window of a minute, its end left out.
    fn most_in_a_minute(moments: &[Instant]) -> usize {
        let within = |from: &Instant| moments.iter().filter(|m| *m >= from && m.duration_since(*from) < WINDOW).count();
        moments.iter().map(within).max().unwrap_or(0)
    }

    #[test]
    fn never_more_are_open_than_allowed() {
        let (moments, most) = begin(64, Bounds { concurrency: 8, rpm: Some(120), tpm: None }, 0);
        assert_eq!(moments.len(), 64);
        assert!((2..=8).contains(&most), "{most}");
    }

    #[test]
    fn the_rate_holds_over_any_minute() {
        let (moments, _) = begin(200, Bounds { concurrency: 8, rpm: Some(30), tpm: None }, 0);
        assert!(most_in_a_minute(&moments) <= 30, "{}", most_in_a_minute(&moments));
        assert!(moments[199].duration_since(moments[0]) >= WINDOW * 5);
        let (moments, _) = begin(50, Bounds { concurrency: 8, rpm: None, tpm: Some(1000) }, 100);
        assert!(most_in_a_minute(&moments) <= 10);
        // one that is larger than the bound is let through alone
        let (moments, _) = begin(3, Bounds { concurrency: 8, rpm: None, tpm: Some(10) }, 100);
        assert_eq!(most_in_a_minute(&moments), 1);
    }

    #[test]
    fn a_busy_server_is_asked_less_and_slowly_more() {
        let limits = Limits::new(Bounds { concurrency: 8, rpm: None, tpm: None }, Arc::new(SystemClock));
        limits.is_too_busy();
        limits.is_too_busy();
        assert_eq!(limits.n_allowed(), 2);
        (0..20).for_each(|_| limits.was_answered());
        assert_eq!(limits.n_allowed(), 3);
        (0..1000).for_each(|_| limits.was_answered());
        assert_eq!(limits.n_allowed(), 8);
        (0..9).for_each(|_| limits.is_too_busy());
        assert_eq!(limits.n_allowed(), 1);
    }

    #[test]
    fn an_estimate_is_corrected() {
        let clock = Arc::new(FakeClock::default());
        let limits = Limits::new(Bounds { concurrency: 8, rpm: None, tpm: Some(100) }, clock.clone());
        limits.pass(100).correct(40);
        drop(limits.pass(60));
        assert!(clock.pauses.lock().unwrap().is_empty());
        drop(limits.pass(1));
        assert_eq!(*clock.pauses.lock().unwrap(), [WINDOW]);
    }
}
