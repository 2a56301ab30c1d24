//! Jobs: which wait, and why some were given up.

use serde::Serialize;
use veridiff_serve::{
    pages::{Ask, Shown},
    refusal::Refusal,
};

use super::{
    JOBS, fault,
    filter::{Filter, field},
    list::request_name,
    render::{Frame, page},
    when,
};
use crate::{bot::Bot, store::Listed};

/// Jobs on one page.
const ON_PAGE: usize = 50;

/// The states, and what a person reads.
const STATES: [(&str, &str); 4] =
    [("failed", "given up"), ("waiting", "waiting"), ("running", "running"), ("done", "done")];

#[derive(Debug, Serialize)]
struct Jobs<'a> {
    frame: Frame<'a>,
    states: Vec<State>,
    rows: Vec<Row>,
    newer: Option<String>,
    older: Option<String>,
    /// Where a form leads back to.
    back: String,
}

/// A link to the jobs of a state.
#[derive(Debug, Serialize)]
struct State {
    words: String,
    href: String,
    is_shown: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    id: i64,
    at: String,
    repository: String,
    request: String,
    link: Option<String>,
    state: &'static str,
    words: &'static str,
    tries: u32,
    /// When it is tried next.
    next: Option<String>,
    problem: Option<String>,
}

/// The page: those of a state, or all.
pub(super) fn show(bot: &Bot, ask: &Ask<'_>) -> Result<Shown, Refusal> {
    let state = STATES.iter().map(|(name, _)| *name).find(|name| *name == field(ask.fields, "state"));
    let number = field(ask.fields, "page").parse::<usize>().unwrap_or(1).clamp(1, 1_000_000);
    let jobs = bot.store.jobs(state, (number - 1) * ON_PAGE, ON_PAGE + 1).map_err(|error| fault(&error))?;
    let counts = bot.store.states().map_err(|error| fault(&error))?;
    let count = |name: &str| counts.iter().find(|(state, _)| state == name).map_or(0, |(_, n)| *n);
    let link = |state: Option<&str>, number: usize| {
        let number = if number > 1 { number.to_string() } else { String::new() };
        Filter::default().link(JOBS, &[("state", state.unwrap_or_default()), ("page", &number)])
    };
    let all = counts.iter().map(|(_, n)| n).sum();
    let named = STATES.iter().map(|(name, words)| (Some(*name), *words, count(name)));
    let states = [(None, "all", all)].into_iter().chain(named).map(|(name, words, n): (_, _, u64)| State {
        words: format!("{words} ({n})"),
        href: link(name, 1),
        is_shown: name == state,
    });
    page(
        "jobs.html",
        &Jobs {
            frame: Frame::of(ask, "Jobs", JOBS, &Filter::default()),
            states: states.collect(),
            older: (jobs.len() > ON_PAGE).then(|| link(state, number + 1)),
            newer: (number > 1).then(|| link(state, number - 1)),
            rows: jobs.into_iter().take(ON_PAGE).map(|job| row(bot, job)).collect(),
            back: link(state, number),
        },
    )
}

fn row(bot: &Bot, job: Listed) -> Row {
    let Listed { id, at, platform, repository, number, state, tries, not_before, problem } = job;
    let is_push = number == 0;
    let (state, words) = STATES.into_iter().find(|(name, _)| *name == state).unwrap_or(("done", "done"));
    let link = bot.site(&platform).filter(|_| !is_push).map(|site| site.config.request(&repository, number));
    Row {
        id,
        at: when::minute(at),
        request: if is_push { "a push".to_owned() } else { request_name(&platform, number) },
        link,
        next: (state == "waiting" && not_before > 0.0).then(|| when::minute(not_before)),
        state,
        words,
        tries,
        problem,
        repository,
    }
}
