//! The page where a team works: what came in, a comment opened, labels by one key, jobs, and how far verdicts can be trusted.
//!
//! ```text
//!  GET ─► who asks (serve) ─► filter.rs ─► store/looked.rs: comments without their diffs, and what people said of each
//!                                              │
//!          list.rs  comment.rs  jobs.rs  figures.rs: what the page says ─► render.rs: templates ─► HTML and its policy
//!
//!  POST ─► who asks, and from one of these pages (serve) ─► forms.rs ─► store ─► on to the next page
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `filter.rs` | which comments are shown, as the query of a link |
//! | `said.rs` | a comment with what people say of it, and whether the verdict agrees |
//! | `list.rs`, `comment.rs`, `jobs.rs` | what came in; one comment, drawn by the code of `check --html`; jobs and why they failed |
//! | `figures.rs` | agreement, calibration and drift over time |
//! | `forms.rs` | labels by a person, and jobs that are begun again |
//! | `chart.rs`, `when.rs` | small pictures; days and weeks |
//! | `render.rs`, `templates/` | HTML, style, script and policy |
//!
//! Everything that a page says is computed when it is asked for, of all comments that were checked; without diffs these are few bytes
//! each. Pages work without script but for the drawing of one comment, of which there is the text of `check` then.

mod chart;
mod comment;
mod figures;
mod filter;
mod forms;
mod jobs;
mod list;
mod render;
mod said;
mod when;

use veridiff_serve::{
    pages::{Ask, Pages, Shown},
    refusal::Refusal,
};
use veridiff_text::chain::one_line;

use crate::{bot::Bot, store::StoreError};

/// The paths.
const LIST: &str = "/";
const COMMENT: &str = "/comment";
const JOBS: &str = "/jobs";
const FIGURES: &str = "/figures";
const LABEL: &str = "/label";
const AGAIN: &str = "/again";

impl Pages for Bot {
    fn paths(&self) -> &'static [&'static str] {
        &[LIST, COMMENT, JOBS, FIGURES]
    }

    fn forms(&self) -> &'static [&'static str] {
        &[LABEL, AGAIN]
    }

    fn show(&self, ask: &Ask<'_>) -> Result<Shown, Refusal> {
        match ask.path {
            LIST => list::show(self, ask),
            COMMENT => comment::show(self, ask),
            JOBS => jobs::show(self, ask),
            FIGURES => figures::show(self, ask),
            _ => Err(Refusal::NotFound),
        }
    }

    fn take(&self, ask: &Ask<'_>) -> Result<Shown, Refusal> {
        match ask.path {
            LABEL => forms::label(self, ask),
            AGAIN => forms::again(self, ask),
            _ => Err(Refusal::NotFound),
        }
    }

    fn login(&self, next: &str, is_wrong: bool) -> Shown {
        render::login(next, is_wrong)
    }

    fn refused(&self, refusal: &Refusal) -> Shown {
        render::refused(refusal)
    }
}

/// What went wrong with the database is for the log.
fn fault(error: &StoreError) -> Refusal {
    tracing::error!("the page cannot be shown: {}", one_line(error));
    Refusal::Fault
}
