//! What reaches the person: data on stdout, notes, warnings and errors on stderr, colours where they are shown.

use std::{
    error::Error,
    fmt,
    io::Write as _,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use tracing::{Event, Level, Metadata, Subscriber, field, level_filters::LevelFilter};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use veridiff_text::{hint::Hint, printable::printable};

use crate::cli::progress::beside_bars;

/// Whether the person asked for nothing but the error that ends the run.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Decides what stderr is told, and prints there what the library reports from here on; once, before a verb runs.
///
/// The library writes nowhere itself: what it has to report are events of `tracing`, which the log of whoever embeds it
/// receives, and this program's stderr.
pub fn start(quiet: bool, verbose: u8) {
    QUIET.store(quiet, Ordering::Relaxed);
    let told = Told { verbose, tell: note };
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(told))
        .expect("the program has no other subscriber");
}

/// Whether progress may be shown.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Tells the events of the library in lines for a person, such as `warning: slower operations are used`.
struct Told<F> {
    /// 0 tells what this program's own crates warn of, 1 what any crate informs of, 2 all but the finest traces.
    verbose: u8,
    tell: F,
}

impl<F> Told<F> {
    fn most_verbose_level(&self) -> Level {
        match self.verbose {
            0 => Level::WARN,
            1 => Level::INFO,
            _ => Level::DEBUG,
        }
    }
}

impl<S: Subscriber, F: Fn(&str) + 'static> Layer<S> for Told<F> {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        // what a library under this program warns of, such as a request that it repeats, is not for its user
        let is_for_the_user = self.verbose > 0 || metadata.target().starts_with("veridiff");
        *metadata.level() <= self.most_verbose_level() && is_for_the_user
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.most_verbose_level()))
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let kind = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG | Level::TRACE => "debug",
        };
        let mut line = Line::default();
        event.record(&mut line);
        (self.tell)(&format!("{kind}: {}{}", printable(&line.message), printable(&line.fields)));
    }
}

/// An event as a line: its message, and its fields as ` name=value`.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl field::Visit for Line {
    fn record_debug(&mut self, field: &field::Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push_str(&format!(" {name}={value:?}")),
        }
    }
}

/// Something asked for that cannot be done, found by the command line itself, with how to mend it.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct UsageError {
    /// What cannot be done.
    pub problem: String,
    /// How to mend it.
    pub hint: String,
}

impl UsageError {
    /// The error, which says what cannot be done and how to mend it.
    pub fn error(problem: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
        UsageError { problem: problem.into(), hint: hint.into() }.into()
    }
}

/// Writes to stdout; a reader that has gone away is no fault.
pub fn print(text: &str) -> anyhow::Result<()> {
    offer(text).map(drop)
}

/// Writes to stdout; false if the reader has gone away and wants no more.
pub fn offer(text: &str) -> anyhow::Result<bool> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write to stdout"),
    }
}

/// Prints an error, its causes one a line, and how to mend it, to stderr.
pub fn report(error: &anyhow::Error) {
    to_stderr(&format!("error: {error}"));
    for cause in error.chain().skip(1) {
        to_stderr(&format!("  caused by: {cause}"));
    }
    // an error that is the context of another is found by its own type only
    let usage = error.downcast_ref::<UsageError>().map(|error| error.hint.clone());
    let hint = usage.or_else(|| error.chain().find_map(hint_of)).or_else(|| error.chain().find_map(path_hint));
    if let Some(hint) = hint {
        to_stderr(&format!("hint: {hint}"));
    }
}

/// Finds the hint of one error of a chain, if the error is of a certain type.
pub type HintOf = fn(&(dyn Error + 'static)) -> Option<String>;

/// The hints of errors that only one program has, beside those of [`hint_of`].
static MORE_HINTS: OnceLock<&[HintOf]> = OnceLock::new();

/// Adds the hints of errors that this program has and the library has not; once, before a verb runs.
pub fn add_hints(hints: &'static [HintOf]) {
    // a second call would be a fault of the program's `main`, and changes nothing
    let _second = MORE_HINTS.set(hints);
}

/// The hint of one error of the chain. Every area's error gives its own, so that a verb passes errors on as they come.
fn hint_of(cause: &(dyn Error + 'static)) -> Option<String> {
    macro_rules! first {
        ($($error:ty),+) => { None$(.or_else(|| cause.downcast_ref::<$error>().and_then(<$error>::hint)))+ };
    }
    let usage = cause.downcast_ref::<UsageError>().map(|error| error.hint.clone());
    #[cfg(feature = "bots")]
    let usage = usage.or_else(|| first!(veridiff_bots::BotError));
    usage.or_else(|| MORE_HINTS.get()?.iter().find_map(|hint| hint(cause))).or_else(|| {
        first!(
            crate::cli::config::ConfigError,
            veridiff_core::Error,
            veridiff_core::run::references::ReferenceError,
            veridiff_core::tokens::TokensError,
            veridiff_detector::DetectorError,
            veridiff_engine::DeviceError,
            veridiff_engine::ModelError,
            veridiff_engine::plan::PlanError,
            veridiff_git::GitError,
            veridiff_judge::evaluation::EvaluationError,
            veridiff_judge::failure::JudgeError,
            veridiff_platforms::HostError,
            veridiff_report::pages::ReportError,
            veridiff_table::TableError,
            veridiff_text::diff::DiffError,
            veridiff_text::prompt::PromptError,
            veridiff_text::sample::SampleError
        )
    })
}

/// For errors of the system that nobody said more about.
fn path_hint(cause: &(dyn Error + 'static)) -> Option<String> {
    let error = cause.downcast_ref::<std::io::Error>()?;
    (error.kind() == std::io::ErrorKind::NotFound)
        .then(|| "check the path; of a file to be written, the folder must exist already".to_owned())
}

/// Tells the person something beside the data, on stderr, unless `--quiet` was given.
pub fn note(text: &str) {
    if !is_quiet() {
        to_stderr(text);
    }
}

/// Writes lines to stderr. Messages quote files, which must not drive the terminal.
fn to_stderr(text: &str) {
    beside_bars(|| {
        let mut stderr = std::io::stderr().lock();
        for line in text.split('\n') {
            // nobody is there to be told that nobody listens, and what was computed is still to be written
            let _nobody = writeln!(stderr, "{}", printable(line));
        }
    });
}

/// Whether stdout takes colours. `NO_COLOR` and `CLICOLOR_FORCE` come before what it seems to be.
pub fn has_colours() -> bool {
    use std::io::IsTerminal;
    let seems_to = std::io::stdout().is_terminal()
        && anstyle_query::term_supports_ansi_color()
        && anstyle_query::clicolor() != Some(false);
    !anstyle_query::no_color() && (anstyle_query::clicolor_force() || seems_to)
}

/// Prints styled text to stdout; styles are left out where it takes no colours.
pub fn print_styled(text: &str) -> anyhow::Result<()> {
    print(&if has_colours() { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What is told of the events of `emit`.
    fn told(verbose: u8, emit: impl FnOnce()) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        let tell = move |line: &str| sink.lock().unwrap().push(line.to_owned());
        let subscriber = tracing_subscriber::registry().with(Told { verbose, tell });
        tracing::subscriber::with_default(subscriber, emit);
        let lines = lines.lock().unwrap();
        lines.clone()
    }

    #[test]
    fn a_warning_of_the_library_is_one_line() {
        let warn = || {
            // as the engine says that a GPU's kernels are not used
            tracing::warn!(target: "veridiff_engine::ops::fused", "{}; slower operations are used", "cuda:0: no\u{1b}[31m\npe");
            tracing::error!(target: "veridiff_core", n = 3, file = "a b", "rows are lost");
            tracing::info!(target: "veridiff_engine", "loaded");
            tracing::warn!(target: "hyper::client", "a request is repeated");
        };
        let own = [
            "warning: cuda:0: no\\u{1b}[31m\\npe; slower operations are used",
            "error: rows are lost n=3 file=\"a b\"",
        ];
        assert_eq!(told(0, warn), own);
        let all = [own[0], own[1], "info: loaded", "warning: a request is repeated"];
        assert_eq!(told(1, warn), all);
        let debug = || tracing::debug!(target: "hyper::client", "connected");
        assert_eq!((told(1, debug).len(), told(2, debug)), (0, vec!["debug: connected".to_owned()]));
    }
}
