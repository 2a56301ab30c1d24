//! Progress bars on stderr, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// For a download.
pub fn bytes() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}"));
    bar
}

/// For a batch whose rows cost very different amounts: it counts work, so that the time left is right, and the message
/// counts rows.
pub fn work(total: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    bar.set_style(style("{msg} {wide_bar} {percent}% {elapsed} left {eta}"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
