//! What reaches the person: data on stdout, notes and errors on stderr, colours where they are shown.

use std::error::Error;

use anyhow::Context;
use veridiff_text::printable::printable;

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
    note(&format!("error: {error}"));
    for cause in error.chain().skip(1) {
        note(&format!("  caused by: {cause}"));
    }
    // an error that is the context of another is found by its own type only
    let usage = error.downcast_ref::<UsageError>().map(|error| error.hint.clone());
    let hint = usage.or_else(|| error.chain().find_map(hint_of)).or_else(|| error.chain().find_map(path_hint));
    if let Some(hint) = hint {
        note(&format!("hint: {hint}"));
    }
}

/// The hint of one error of the chain. Every area's error gives its own, so that a verb passes errors on as they come.
fn hint_of(cause: &(dyn Error + 'static)) -> Option<String> {
    macro_rules! first {
        ($($error:ty),+) => { None$(.or_else(|| cause.downcast_ref::<$error>().and_then(<$error>::hint)))+ };
    }
    let usage = cause.downcast_ref::<UsageError>().map(|error| error.hint.clone());
    usage.or_else(|| {
        first!(
            veridiff_core::Error,
            veridiff_core::annotation::AnnotationError,
            veridiff_core::tokens::TokensError,
            veridiff_detector::DetectorError,
            veridiff_engine::DeviceError,
            veridiff_engine::ModelError,
            veridiff_engine::plan::PlanError,
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
    (error.kind() == std::io::ErrorKind::NotFound).then(|| "check the path; its folder must exist already".to_owned())
}

/// Tells the person something beside the data, on stderr. Messages quote files, which must not drive the terminal.
#[expect(clippy::print_stderr, reason = "this is the one place that prints errors and notes")]
pub fn note(text: &str) {
    text.split('\n').for_each(|line| eprintln!("{}", printable(line)));
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
