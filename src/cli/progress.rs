//! What a person sees while waiting: on a terminal a bar with the time that is left, elsewhere a line every half minute.

use std::{
    io::IsTerminal,
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use veridiff_engine::files::options::OnProgress;

use crate::cli::{
    interrupt,
    terminal::{is_quiet, note},
};
use veridiff_core::run::{
    parts::NewPart,
    score::{Phase, Progress},
};

/// How often a line is told where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// From what on a run is long, so that its length is told at its beginning.
const LONG: Duration = Duration::from_secs(120);

/// Finished pieces with a time, or a longer time with one at least, after which the length of a run is known well enough: the first piece
/// may have made ready what all of them use.
const KNOWN_AFTER: (u64, Duration) = (4, Duration::from_secs(5));
const KNOWN_ANYHOW: Duration = Duration::from_secs(20);

/// All bars that are shown, one under the other.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Runs what prints to the terminal that bars may be on.
pub fn beside_bars<R>(print: impl FnOnce() -> R) -> R {
    BARS.suspend(print)
}

/// Takes all bars away for good, as the program ends.
pub fn take_bars_away() {
    // a terminal that cannot be written to shows nothing anyway
    let _cleared = BARS.clear();
    BARS.set_draw_target(ProgressDrawTarget::hidden());
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Things of this name.
    Pieces(&'static str),
    Bytes,
    /// Nothing: the work is one piece.
    Whole,
}

/// How far a piece of work is. Its length is foretold by the rate over all that is finished: what a piece costs is known before.
#[derive(Debug, Clone)]
struct State {
    /// What is done, such as the name of a model; may be blank.
    what: String,
    unit: Unit,
    n: u64,
    n_done: u64,
    /// The cost of all pieces, and of those that are finished.
    cost: u64,
    cost_done: u64,
    begun: Instant,
    /// When the last piece was finished.
    latest: Option<Instant>,
}

impl State {
    fn new(what: &str, unit: Unit, n: u64, cost: u64) -> Self {
        let what = what.to_owned();
        State { what, unit, n, n_done: 0, cost, cost_done: 0, begun: Instant::now(), latest: None }
    }

    fn finished(&mut self, n: u64, cost: u64, now: Instant) {
        (self.n_done, self.cost_done) = (self.n_done + n, self.cost_done + cost);
        self.latest = Some(now);
    }

    /// The time that is left; none before something is finished.
    fn left(&self, now: Instant) -> Option<Duration> {
        let latest = self.latest.filter(|_| self.cost_done > 0)?;
        let per_cost = (latest - self.begun).as_secs_f64() / self.cost_done as f64;
        let left = per_cost * self.cost.saturating_sub(self.cost_done) as f64;
        Some(Duration::from_secs_f64((left - (now - latest).as_secs_f64()).max(0.0)))
    }

    /// How far it is, in a line: `smollm2-135m: 12 of 30 rows, about 6 min left`.
    fn line(&self, now: Instant) -> String {
        let what = match (self.unit, self.what.as_str()) {
            (_, "") => String::new(),
            (Unit::Whole, what) => what.to_owned(),
            (_, what) => format!("{what}: "),
        };
        let far = match self.unit {
            Unit::Pieces(unit) => format!("{} of {} {unit}", self.n_done, self.n),
            Unit::Bytes if self.n == 0 => format!("{} fetched", megabytes(self.n_done)),
            Unit::Bytes => format!("{} of {} fetched", megabytes(self.n_done), megabytes(self.n)),
            Unit::Whole => String::new(),
        };
        let time = match self.left(now) {
            _ if self.n > 0 && self.n_done >= self.n => String::new(),
            Some(left) => format!(", {} left", about(left)),
            None if now - self.begun >= Duration::from_secs(1) => format!(", {} so far", about(now - self.begun)),
            None => String::new(),
        };
        format!("{what}{far}{time}")
    }
}

/// A size in whole megabytes.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// A length of time as a person says it: `about 6 min`.
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1.5 => "a second".to_owned(),
        s if s < 10.0 => format!("about {s:.0} s"),
        s if s < 90.0 => format!("about {:.0} s", (s / 5.0).round() * 5.0),
        // a line is told every half minute, and two in a row are to differ
        s if s < 9.75 * 60.0 => format!("about {} min", (s / 30.0).round() / 2.0),
        s if s < 90.0 * 60.0 => format!("about {:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("about {:.1} h", s / 3600.0),
        s => format!("about {:.0} days", s / 86400.0),
    }
}

/// Work that a person waits for. Dropping it takes its bar away.
pub struct Work {
    shared: Arc<Shared>,
    /// On a terminal.
    bar: Option<ProgressBar>,
    /// Elsewhere, what tells lines.
    teller: Option<thread::JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Set and signalled when nothing more is to be told.
    is_over: Mutex<bool>,
    over: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a line every so often until the work is over.
    fn tell(&self, every: Duration, tell: impl Fn(&str)) {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waited = self.over.wait_timeout_while(is_over, every, |is_over| !*is_over);
        while let Ok((is_over, timeout)) = waited {
            if !timeout.timed_out() {
                return;
            }
            tell(&self.state().line(Instant::now()));
            waited = self.over.wait_timeout_while(is_over, every, |is_over| !*is_over);
        }
    }
}

impl Work {
    fn new(state: State) -> Self {
        let shared = Arc::new(Shared { state: Mutex::new(state), is_over: Mutex::new(false), over: Condvar::new() });
        let of_bar = Arc::clone(&shared);
        interrupt::at(move || {
            of_bar.state.try_lock().map_or_else(|_| String::new(), |state| state.line(Instant::now()))
        });
        let (mut bar, mut teller) = (None, None);
        if is_quiet() {
        } else if std::io::stderr().is_terminal() {
            bar = Some(shown(&shared));
        } else {
            let of_teller = Arc::clone(&shared);
            teller = thread::Builder::new().spawn(move || of_teller.tell(BETWEEN_LINES, note)).ok();
        }
        Work { shared, bar, teller }
    }

    /// One more is finished, of a cost that was counted in the whole.
    pub fn inc(&self, cost: u64) {
        self.shared.state().finished(1, cost, Instant::now());
        if let Some(bar) = &self.bar {
            bar.inc(cost);
        }
    }

    /// What the work is about now.
    pub fn set_message(&self, what: String) {
        self.shared.state().what = what;
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        interrupt::forget();
        *self.shared.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.over.notify_all();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(teller) = self.teller.take() {
            let _ended = teller.join();
        }
    }
}

/// A bar behind the line of a state.
fn shown(shared: &Arc<Shared>) -> ProgressBar {
    let cost = shared.state().cost;
    let bar = BARS.add(if cost > 0 { ProgressBar::new(cost) } else { ProgressBar::no_length() });
    let of_line = Arc::clone(shared);
    let style = ProgressStyle::with_template("{line} {wide_bar} {percent}%").map(|style| {
        style.with_key("line", move |_: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            // nobody could be told that a bar cannot be drawn
            let _written = out.write_str(&of_line.state().line(Instant::now()));
        })
    });
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// `n` pieces of work, called `unit`, that cost about the same.
pub fn work(n: usize, unit: &'static str) -> Work {
    Work::new(State::new("", Unit::Pieces(unit), n as u64, n as u64))
}

/// Shows that something is done that has no parts.
pub fn waiting<R>(what: &str, work: impl FnOnce() -> R) -> R {
    let _shown = Work::new(State::new(what, Unit::Whole, 1, 1));
    work()
}

/// Shows the progress of transfers until it is dropped. Each file has a line that says what it is, and a bar of its own.
pub fn transfers() -> OnProgress {
    let current: Mutex<Option<(String, Work)>> = Mutex::new(None);
    Arc::new(move |progress| {
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        let total = progress.total.unwrap_or_default();
        if total > 0 && progress.done >= total {
            *current = None;
            return;
        }
        if current.as_ref().is_none_or(|(what, _)| *what != progress.what) {
            *current = None;
            let size = if total > 0 { format!(", {}", megabytes(total)) } else { String::new() };
            note(&format!("fetching {}{size}", progress.what));
            let state = State::new(&progress.what, Unit::Bytes, total, total);
            *current = Some((progress.what.clone(), Work::new(state)));
        }
        if let Some((_, work)) = current.as_ref() {
            let mut state = work.shared.state();
            if progress.done != state.n_done {
                (state.n_done, state.cost_done, state.latest) = (progress.done, progress.done, Some(Instant::now()));
            }
            if let Some(bar) = &work.bar {
                bar.set_position(progress.done);
            }
        }
    })
}

/// Shows the phases of a run, how far it is, and at its beginning how long it will take if that is long.
#[derive(Default)]
pub struct RunBar {
    /// What to say beside the length of a long run.
    beside: Option<String>,
    work: Option<Work>,
    is_length_told: bool,
}

impl RunBar {
    /// The same, with something to say beside the length of a long run.
    pub fn beside(text: String) -> Self {
        RunBar { beside: Some(text), ..RunBar::default() }
    }

    /// The length of a run, once it is known that it is long.
    fn tell_length(&mut self) {
        let Some(work) = &self.work else { return };
        let (state, now) = (work.shared.state().clone(), Instant::now());
        let taken = now - state.begun;
        let is_known = (state.n_done >= KNOWN_AFTER.0 && taken >= KNOWN_AFTER.1) || taken >= KNOWN_ANYHOW;
        let Some(left) = state.left(now).filter(|left| is_known && *left >= LONG) else { return };
        let each = (now - state.begun).as_secs_f64() / state.n_done as f64;
        self.tell(&state.what, state.n, left, each);
    }

    fn tell(&mut self, what: &str, n: u64, length: Duration, each: f64) {
        self.is_length_told = true;
        let beside = self.beside.as_ref().map_or(String::new(), |beside| format!("; {beside}"));
        note(&format!("{what}: {n} rows take {}, {each:.1} s each{beside}", about(length)));
    }
}

impl Progress for RunBar {
    fn phase(&mut self, phase: Phase<'_>) {
        self.work = None;
        self.work = Some(Work::new(match phase {
            Phase::Loading { source } => State::new(&format!("loading {source}"), Unit::Whole, 1, 1),
            Phase::Computing { source, n, cost } => State::new(source, Unit::Pieces("rows"), n as u64, cost),
        }));
    }

    fn note(&mut self, text: &str) {
        note(text);
    }

    fn forecast(&mut self, source: &str, n: usize, seconds: f64) {
        let length = Duration::from_secs_f64(seconds);
        if length >= LONG {
            self.tell(source, n as u64, length, seconds / n as f64);
        }
    }

    fn part(&mut self, part: &NewPart<'_>) {
        if let Some(work) = &self.work {
            work.inc(part.cost);
        }
        if !self.is_length_told {
            self.tell_length();
        }
    }

    fn end(&mut self) {
        self.work = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_all_that_is_finished_and_counts_down() {
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let mut state = State { begun, ..State::new("m", Unit::Pieces("rows"), 10, 1000) };
        assert_eq!(state.line(after(0)), "m: 0 of 10 rows");
        assert_eq!(state.line(after(7)), "m: 0 of 10 rows, about 7 s so far");
        // a long row of 600 in 60 s, then a short one of 100 in 10 s: 300 are left
        state.finished(1, 600, after(60));
        assert_eq!(state.left(after(60)), Some(Duration::from_secs(40)));
        state.finished(1, 100, after(70));
        assert_eq!(state.left(after(70)), Some(Duration::from_secs(30)));
        assert_eq!(state.line(after(70)), "m: 2 of 10 rows, about 30 s left");
        // between rows it goes on counting, and never below nothing
        assert_eq!(state.left(after(80)), Some(Duration::from_secs(20)));
        assert_eq!(state.left(after(200)), Some(Duration::ZERO));
        state.finished(8, 300, after(90));
        assert_eq!(state.line(after(90)), "m: 10 of 10 rows");
    }

    #[test]
    fn bytes_and_times_are_said_as_a_person_says_them() {
        let begun = Instant::now();
        let mut state = State { begun, ..State::new("smollm2-135m", Unit::Bytes, 98_400_000, 98_400_000) };
        state.finished(49_200_000, 49_200_000, begun + Duration::from_secs(20));
        let line = state.line(begun + Duration::from_secs(20));
        assert_eq!(line, "smollm2-135m: 49 MB of 98 MB fetched, about 20 s left");
        let said =
            [0.4, 7.0, 43.0, 105.0, 135.0, 372.0, 6000.0, 86400.0 * 3.0].map(|s| about(Duration::from_secs_f64(s)));
        let minutes = ["about 2 min", "about 2.5 min", "about 6 min"];
        assert_eq!(said[3..6], minutes);
        assert_eq!(
            [&said[..3], &said[6..]].concat(),
            ["a second", "about 7 s", "about 45 s", "about 1.7 h", "about 3 days"]
        );
    }

    #[test]
    fn lines_are_told_until_the_work_is_over() {
        let state = State::new("m", Unit::Pieces("rows"), 2, 2);
        let shared = Shared { state: Mutex::new(state), is_over: Mutex::new(false), over: Condvar::new() };
        let lines = Mutex::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| shared.tell(Duration::from_millis(5), |line| lines.lock().unwrap().push(line.to_owned())));
            while lines.lock().unwrap().len() < 3 {
                thread::sleep(Duration::from_millis(1));
            }
            *shared.is_over.lock().unwrap() = true;
            shared.over.notify_all();
        });
        assert_eq!(lines.lock().unwrap()[0], "m: 0 of 2 rows");
    }
}
