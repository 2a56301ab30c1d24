//! What came in: the comments that were checked, the newest first.

use std::collections::BTreeMap;

use serde::Serialize;
use veridiff_serve::{
    pages::{Ask, Shown},
    refusal::Refusal,
};

use super::{
    COMMENT, JOBS, LIST, fault,
    filter::{BESIDE, FAILED, Filter, LABELS, field},
    render::{Frame, page},
    said::{Beside, Said, VERDICTS, own},
    when,
};
use crate::{
    bot::Bot,
    store::{Came, Listed},
};

/// Comments on one page.
const ON_PAGE: usize = 50;

/// Letters of a comment in the list.
const BEGINNING: usize = 240;

#[derive(Debug, Serialize)]
struct List<'a> {
    frame: Frame<'a>,
    filters: Filters,
    summary: String,
    /// Which of them this page has.
    shown: String,
    rows: Vec<Row>,
    newer: Option<String>,
    older: Option<String>,
    /// Jobs that were given up, and where they are.
    n_failed: u64,
    failed: &'static str,
    /// Whether nothing was checked yet.
    is_new: bool,
    /// Where forms lead back to.
    back: String,
}

/// A comment in the list.
#[derive(Debug, Serialize)]
struct Row {
    key: String,
    href: String,
    beginning: String,
    verdict: &'static str,
    words: &'static str,
    p: Option<String>,
    repository: String,
    request: String,
    /// Where people look at it; none where the file has its host no more.
    link: Option<String>,
    account: String,
    at: String,
    state: Vec<String>,
    /// What people say, and what that comes from.
    label: Option<(&'static str, &'static str)>,
    beside: Option<&'static str>,
    own: Option<bool>,
}

/// The form of a filter.
#[derive(Debug, Serialize)]
pub(super) struct Filters {
    is_empty: bool,
    filter: Filter,
    verdicts: Vec<Choice>,
    repositories: Vec<Choice>,
    accounts: Vec<Choice>,
    labels: Vec<Choice>,
    besides: Vec<Choice>,
}

#[derive(Debug, Serialize)]
struct Choice {
    value: String,
    words: String,
    is_chosen: bool,
}

impl Filters {
    /// Of all comments, of which the filter chooses some.
    pub fn of(filter: &Filter, all: &[Said]) -> Filters {
        let counted = |of: fn(&Said) -> &str, chosen: &str| {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            all.iter().for_each(|said| *counts.entry(of(said)).or_default() += 1);
            if !chosen.is_empty() {
                counts.entry(chosen).or_default();
            }
            let choice = |(value, n): (&str, usize)| Choice {
                value: value.to_owned(),
                words: format!("{value} ({n})"),
                is_chosen: value == chosen,
            };
            counts.into_iter().map(choice).collect()
        };
        let listed = |known: &[(&str, &str)], chosen: &str| {
            let choice = |(value, words): &(&str, &str)| Choice {
                value: (*value).to_owned(),
                words: (*words).to_owned(),
                is_chosen: *value == chosen,
            };
            known.iter().map(choice).collect()
        };
        let verdicts: Vec<(&str, &str)> =
            VERDICTS.iter().map(|verdict| (verdict.name(), verdict.words())).chain([(FAILED, FAILED)]).collect();
        Filters {
            is_empty: filter.is_empty(),
            verdicts: listed(&verdicts, &filter.verdict),
            repositories: counted(|said| &said.came.repository, &filter.repository),
            accounts: counted(|said| &said.came.author, &filter.account),
            labels: listed(&LABELS, &filter.label),
            besides: listed(&BESIDE, &filter.beside),
            filter: filter.clone(),
        }
    }
}

/// The page.
pub(super) fn show(bot: &Bot, ask: &Ask<'_>) -> Result<Shown, Refusal> {
    let filter = Filter::read(ask.fields)?;
    let all = bot.said()?;
    let filters = Filters::of(&filter, &all);
    let is_new = all.is_empty();
    let chosen: Vec<Said> = all.into_iter().filter(|said| filter.has(said)).collect();
    let n_pages = chosen.len().div_ceil(ON_PAGE).max(1);
    // a page behind the last is the last
    let number = field(ask.fields, "page").parse::<usize>().unwrap_or(1).clamp(1, n_pages);
    let first = (number - 1) * ON_PAGE;
    let last = (first + ON_PAGE).min(chosen.len());
    let at = |number: usize| filter.link(LIST, &[("page", &number.to_string())]);
    let rows: Vec<Row> =
        chosen[first..last].iter().map(|said| row(bot, ask, &filter, said)).collect::<Result<_, _>>()?;
    let states = bot.store.states().map_err(|error| fault(&error))?;
    let shown = match chosen.len() {
        0 => String::new(),
        n => format!("{} to {last} of {n}, the newest first", first + 1),
    };
    page(
        "list.html",
        &List {
            frame: Frame::of(ask, "What came in", LIST, &filter),
            filters,
            summary: summary(&chosen),
            shown,
            rows,
            newer: (number > 1).then(|| at(number - 1)),
            older: (number < n_pages).then(|| at(number + 1)),
            n_failed: states.iter().find(|(state, _)| state == FAILED).map_or(0, |(_, n)| *n),
            failed: JOBS,
            is_new,
            back: at(number),
        },
    )
}

/// How many comments have which verdict.
fn summary(chosen: &[Said]) -> String {
    let count = |of: &dyn Fn(&Said) -> bool| chosen.iter().filter(|said| of(said)).count();
    let mut parts: Vec<String> = VERDICTS
        .iter()
        .map(|verdict| (count(&|said| said.verdict == Some(*verdict)), verdict.words()))
        .chain([(count(&|said| said.verdict.is_none()), FAILED)])
        .filter(|(n, _)| *n > 0)
        .map(|(n, words)| format!("{n} {words}"))
        .collect();
    let n = chosen.len();
    let comments = if n == 1 { "comment" } else { "comments" };
    parts.insert(0, format!("{n} {comments}"));
    let (first, rest) = parts.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    if rest.is_empty() { first.to_owned() } else { format!("{first}: {}", rest.join(", ")) }
}

fn row(bot: &Bot, ask: &Ask<'_>, filter: &Filter, said: &Said) -> Result<Row, Refusal> {
    let Came { platform, repository, number, author, at, p, feedback, .. } = &said.came;
    let beginning = bot.store.beginning(&said.came, BEGINNING).map_err(|error| fault(&error))?;
    let job = bot.store.job_of(platform, repository, *number).map_err(|error| fault(&error))?;
    let key = said.key();
    let mut state: Vec<String> = job.iter().map(of_job).collect();
    state.extend(bot.answers(said)?);
    Ok(Row {
        href: filter.link(COMMENT, &[("id", &key)]),
        key,
        beginning: beginning.split_whitespace().collect::<Vec<_>>().join(" "),
        verdict: said.verdict.map_or(FAILED, |verdict| verdict.name()),
        words: said.verdict.map_or(FAILED, |verdict| verdict.words()),
        p: p.map(percent),
        repository: repository.clone(),
        request: request_name(platform, *number),
        link: bot.site(platform).map(|site| site.config.comment(repository, *number, &said.came.comment)),
        account: author.clone(),
        at: when::minute(*at),
        state,
        label: said.label.map(|(label, from)| (word(label), from)),
        beside: said.beside().and_then(disagrees),
        own: own(feedback, ask.who),
    })
}

/// What people call a request of a host.
pub(super) fn request_name(platform: &str, number: u64) -> String {
    format!("{}{number}", if platform == "gitlab" { '!' } else { '#' })
}

/// What a label says of a comment.
pub(super) fn word(label: u8) -> &'static str {
    if label == 0 { "true" } else { "false" }
}

/// In what a verdict disagrees with people.
pub(super) fn disagrees(beside: Beside) -> Option<&'static str> {
    match beside {
        Beside::Agrees => None,
        Beside::FalseAccusation => Some("false accusation"),
        Beside::Miss => Some("miss"),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// Where the job of a request stands.
pub(super) fn of_job(job: &Listed) -> String {
    match job.state.as_str() {
        "done" => "job done".to_owned(),
        "running" => "job running".to_owned(),
        "failed" => "job given up".to_owned(),
        _ if job.tries > 0 => format!("job waits for try {}", job.tries + 1),
        _ => "job waits".to_owned(),
    }
}
