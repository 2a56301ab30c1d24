//! Progress bars on stderr, on a terminal only.

use std::{sync::Arc, time::Duration};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use veridiff_engine::files::options::OnProgress;

use crate::terminal::{is_quiet, note};
use veridiff_core::run::{parts::NewPart, score::Progress};

/// A bar for the work of a run, and its notes.
#[derive(Default)]
pub struct RunBar(Option<ProgressBar>);

impl Progress for RunBar {
    fn begin(&mut self, all: u64, done: u64) {
        let bar = work(all);
        bar.inc(done);
        self.0 = Some(bar);
    }

    fn note(&mut self, text: &str) {
        note(text);
    }

    fn part(&mut self, part: &NewPart<'_>) {
        if let Some(bar) = &self.0 {
            bar.inc(part.cost);
            bar.set_message(format!("{}: {}/{} rows, {:.2}/s", part.source, part.n_done, part.n, part.rate));
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.0.take() {
            bar.finish_and_clear();
        }
    }
}

/// A bar for a download, which [`onto`] moves.
pub fn bytes() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target());
    bar.set_style(style("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}"));
    bar
}

/// Shows the progress of a download on `bar`.
pub fn onto(bar: &ProgressBar) -> OnProgress {
    let bar = bar.clone();
    Arc::new(move |progress| {
        bar.set_message(progress.what);
        match progress.total {
            Some(total) => bar.set_length(total),
            None => bar.unset_length(),
        }
        bar.set_position(progress.done);
    })
}

/// A bar for a batch whose rows cost very different amounts: it counts work, so that the time left is right, and the message
/// counts rows.
pub fn work(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), target());
    bar.set_style(style("{msg} {wide_bar} {percent}% {elapsed} left {eta}"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

fn target() -> ProgressDrawTarget {
    if is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
