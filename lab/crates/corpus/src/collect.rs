//! From commits to cases with their twins.

use std::path::Path;

use rayon::prelude::*;
use veridiff_facts::change::Change;
use veridiff_git::Commit;
use veridiff_text::diff::{Diff, LineKind};

use crate::Settings;
use crate::aside::{Aside, changed_lines_hash};
use crate::case::{CommitCase, code_language};
use crate::error::CorpusError;
use crate::history::History;
use crate::message::{Refusal, Statement, reverted, statements};
use crate::part::{Counts, Header, PART, Part, commits_of, n_parts, path_of};
use crate::roads::{About, Around, ROADS, Scene, Twin, comment};
use crate::truth::{Seen, fact, seen};

/// A part that is to be there when a run is over.
#[derive(Debug, Clone)]
pub struct Job<'h> {
    /// The history.
    pub history: &'h History,
    /// The part of it.
    pub index: usize,
    /// Where it goes.
    pub path: std::path::PathBuf,
}

/// The parts of all histories in the order of the projects' names, and within them from the youngest commits to the oldest.
pub fn jobs<'h>(histories: &'h [History], folder: &Path, settings: &Settings, aside: &Aside) -> Vec<Job<'h>> {
    let mut sorted: Vec<&History> = histories.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let of_history = |history: &'h History| {
        let job = |index| Job { history, index, path: path_of(folder, history, index, settings, aside) };
        (0..n_parts(history)).map(job).collect::<Vec<_>>()
    };
    sorted.into_iter().flat_map(of_history).collect()
}

/// Makes the parts that are not there yet, several at a time, and calls `done` after each.
///
/// # Errors
/// [`CorpusError::Write`].
pub fn run(
    jobs: &[Job<'_>],
    settings: &Settings,
    aside: &Aside,
    done: impl Fn(&Job<'_>) + Sync,
) -> Result<(), CorpusError> {
    jobs.par_iter().try_for_each(|job| {
        if !job.path.is_file() {
            collect(job.history, job.index, settings, aside).write(&job.path)?;
        }
        done(job);
        Ok(())
    })
}

/// What a part of a history gives.
pub fn collect(history: &History, index: usize, settings: &Settings, aside: &Aside) -> Part {
    let mut counts = Counts::new();
    let mut cases = Vec::new();
    let mut diffs = Vec::new();
    let mut comments = Vec::new();
    let is_searched = index * PART < settings.max_searched;
    let mut n_silent = 0;
    for id in commits_of(history, index) {
        count(&mut counts, "commits");
        let commit = match history.repository.commit(id) {
            Ok(commit) => commit,
            Err(_) => {
                count(&mut counts, "broken");
                continue;
            }
        };
        let said = said(&commit);
        // a commit whose message says nothing may rewrite a comment all the same
        let is_silent = said.as_ref().is_err_and(|why| is_silent(why));
        if said.is_err() && !(is_silent && is_searched && n_silent < MAX_SILENT) {
            said.err().iter().for_each(|why| count(&mut counts, why));
            continue;
        }
        n_silent += usize::from(is_silent);
        let read = read(&commit, settings, aside, is_searched);
        if let (true, Ok((diff, _))) = (is_searched, &read) {
            count(&mut counts, "searched for comments");
            comments.extend(comment::cases(id, diff, settings));
        }
        let small = read.and_then(|(diff, hash)| is_one_thing(&diff, settings).map(|()| (diff, hash)));
        match said.and_then(|said| Ok((said, small?))) {
            Ok(((statements, reverts), (diff, hash))) => {
                count(&mut counts, "chosen");
                cases.push(CommitCase::new(id, &diff, hash, statements, reverts));
                diffs.push(diff);
            }
            Err(why) => count(&mut counts, why),
        }
    }
    comments.retain(|case| !aside.has_change(&case.hash));
    let changes: Vec<Change<'_>> = diffs.iter().map(Change::new).collect();
    for (case, change) in cases.iter_mut().zip(&changes) {
        case.statements.retain(|told| {
            count(&mut counts, "statements");
            let seen = seen(change, &told.statement.text);
            count(
                &mut counts,
                match seen {
                    Seen::Shown => "statements shown",
                    Seen::NotShown => "statements not shown",
                    Seen::Contradicted => "statements contradicted",
                },
            );
            seen == Seen::Shown
        });
    }
    let twins = twins(&cases, &changes, settings, &mut counts);
    for (case, of_case) in cases.iter_mut().zip(twins) {
        for (told, of_statement) in case.statements.iter_mut().zip(of_case) {
            told.twins = of_statement;
        }
    }
    cases.retain(|case| !case.statements.is_empty() || case.reverts.is_some());
    *counts.entry("comments rewritten with their code".into()).or_default() += comments.len();
    cases.extend(comments);
    let header = Header { project: history.name.clone(), licence: history.licence.to_owned(), counts };
    Part { header, cases }
}

fn count(counts: &mut Counts, what: &str) {
    *counts.entry(what.to_owned()).or_default() += 1;
}

/// What a commit's message says of it and which other one it takes back, or why nothing is taken from it.
fn said(commit: &Commit) -> Result<(Vec<Statement>, Option<String>), &'static str> {
    if commit.parents.len() != 1 {
        return Err(name_of(Refusal::Merge));
    }
    let reverts = reverted(&commit.message).map(str::to_owned);
    match statements(&commit.message) {
        Ok(statements) => Ok((statements, reverts)),
        Err(Refusal::Revert) if reverts.is_some() => Ok((Vec::new(), reverts)),
        Err(refusal) => Err(name_of(refusal)),
    }
}

/// Of a part's commits whose messages say nothing of the change so many are searched for comments.
const MAX_SILENT: usize = 25;

/// Whether nothing is taken from a message because it says nothing of the change, or several things.
fn is_silent(why: &str) -> bool {
    [Refusal::Vague, Refusal::Several].map(name_of).contains(&why)
}

/// Of a change that is so many times larger than one of which a message can be a statement a comment may still be taken, since it
/// speaks of one file.
const WIDER: usize = 4;

/// Whether a change is small enough for its message to speak of all of it.
fn is_one_thing(diff: &Diff, settings: &Settings) -> Result<(), &'static str> {
    match () {
        () if diff.files().len() > settings.max_files => Err("files"),
        () if diff.text().len() > settings.max_diff => Err("long"),
        () => Ok(()),
    }
}

/// A commit's change and the hash of its changed lines, or why it is left out.
fn read(
    commit: &Commit,
    settings: &Settings,
    aside: &Aside,
    is_searched: bool,
) -> Result<(Diff, String), &'static str> {
    let wider = if is_searched { WIDER } else { 1 };
    let paths = commit.paths().map_err(|_| "broken")?;
    // a rename is two paths
    if paths.len() > 2 * wider * settings.max_files || !paths.iter().any(|path| code_language(path).is_some()) {
        return Err("files");
    }
    let text = commit.diff().map_err(|_| "broken")?;
    if text.len() > wider * settings.max_diff {
        return Err("long");
    }
    if text.contains('\u{fffd}') || text.contains("\nBinary files ") {
        return Err("not text");
    }
    let diff = Diff::parse(&text).map_err(|_| "not text")?;
    let has_code = diff.lines().iter().any(|line| line.kind == LineKind::Added || line.kind == LineKind::Removed);
    if !has_code || !is_searched && diff.files().len() > settings.max_files {
        return Err("files");
    }
    let hash = changed_lines_hash(&diff);
    if aside.has_change(&hash) {
        return Err("kept aside");
    }
    Ok((diff, hash))
}

fn name_of(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Merge => "merge or first",
        Refusal::Automatic => "automatic",
        Refusal::Revert => "revert",
        Refusal::Several => "several purposes",
        Refusal::Vague => "vague",
        Refusal::Language => "language",
    }
}

/// The twins of every statement of every case.
fn twins(
    cases: &[CommitCase],
    changes: &[Change<'_>],
    settings: &Settings,
    counts: &mut Counts,
) -> Vec<Vec<Vec<Twin>>> {
    let around = Around::new(cases);
    let mut all = Vec::with_capacity(cases.len());
    for (at, (case, change)) in cases.iter().zip(changes).enumerate() {
        let mut of_case = Vec::new();
        for (index, told) in case.statements.iter().enumerate() {
            let statement = &told.statement;
            let scene = Scene { case, at, statement, index, change, around: &around, settings };
            let mut of_statement = Vec::new();
            for mut twin in ROADS.into_iter().flat_map(|road| road.twins(&scene)) {
                if twin.about == About::Same {
                    let is_said = case.statements.iter().any(|other| other.statement.text == twin.text);
                    match fact(change, &statement.text, &twin.text).filter(|_| !is_said) {
                        Some(fact) => twin.fact = fact,
                        None => {
                            count(counts, "twins that hold");
                            continue;
                        }
                    }
                }
                of_statement.push(twin);
            }
            of_case.push(of_statement);
        }
        all.push(of_case);
    }
    all
}
