//! Cases made of pull requests that were merged: an instruction, somebody else's solution, and what is wrong with it.
//!
//! Each step is one question, whose answer is kept before it is used, so that a run that is repeated asks nothing twice and a prompt
//! that was changed asks its own step anew, and those after it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use pathfinding::undirected::connected_components::components;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use veridiff_git::diff_of_texts;
use veridiff_judge::backend::Finish;
use veridiff_text::named;

use crate::aacr::decide::verdict;

use super::{
    Checklist, ReviewCase,
    build::{Asker, Made, Mode, build},
    passages::without_fence,
};

/// A pull request that was merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    /// What it is called.
    pub id: String,
    /// The file that it changes.
    pub path: String,
    /// Its programming language.
    #[serde(default)]
    pub language: String,
    /// What a person says of it.
    #[serde(default)]
    pub description: String,
    /// The issue that it is for.
    #[serde(default)]
    pub issue: String,
    /// The file before it.
    pub before: String,
    /// The file after it.
    pub merged: String,
    /// Its repository: cases of one are never on both sides of a split.
    #[serde(default)]
    pub repo: Option<String>,
    /// Cases of one group are never on both sides of a split either.
    #[serde(default)]
    pub group: Option<String>,
    /// What else the line has.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The steps in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Which pull requests can be used.
    Filter,
    /// What somebody must do who makes the change anew.
    Instruct,
    /// The file as that somebody makes it.
    Pseudo,
    /// What is wrong with it, and the checklist of that.
    Checklist,
}

named!(Step, "step", "filter" => Filter, "instruct" => Instruct, "pseudo" => Pseudo, "checklist" => Checklist);

/// What a run hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The last step.
    pub until: Step,
    /// The longest description and file together, in bytes.
    pub max_bytes: usize,
    /// Whether mentions of the accepted version are written out of the reviews.
    pub deleak: bool,
    /// Languages that are taken; all where there is none.
    pub languages: Vec<String>,
    /// Whether the backend is asked if a description holds what nobody should be shown.
    pub screen: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { until: Step::Checklist, max_bytes: 96_000, deleak: true, languages: Vec::new(), screen: false }
    }
}

/// What became of a pull request.
#[derive(Debug, Clone, PartialEq)]
pub struct PullOutcome {
    /// The case, as far as it was made.
    pub case: Option<ReviewCase>,
    /// Its checklist.
    pub made: Option<Made>,
    /// The step at which it was left out or failed, and why.
    pub dropped: Option<(Step, String)>,
    /// Whether that was a question without an answer: it is asked again next time.
    pub failed: bool,
}

/// One pull request by all steps.
pub fn run_one(asker: &Asker<'_>, merged: &Merged, settings: &Settings) -> PullOutcome {
    let mut outcome = PullOutcome { case: None, made: None, dropped: None, failed: false };
    if let Err(reason) = usable(merged, settings) {
        outcome.dropped = Some((Step::Filter, reason.to_owned()));
        return outcome;
    }
    let mut case = ReviewCase {
        id: merged.id.clone(),
        before: merged.before.clone(),
        description: Some(merged.description.clone()),
        ..ReviewCase::default()
    };
    let pairs = [("merged", &merged.merged), ("language", &merged.language), ("path", &merged.path)];
    case.extra = pairs.into_iter().map(|(key, value)| (key.to_owned(), value.as_str().into())).collect();
    for (key, value) in [("group", &merged.group), ("repo", &merged.repo)] {
        if let Some(value) = value {
            case.extra.insert(key.into(), value.as_str().into());
        }
    }
    match make(asker, merged, settings, &mut case) {
        Ok(made) => outcome.made = made,
        Err((step, reason, failed)) => (outcome.dropped, outcome.failed) = (Some((step, reason)), failed),
    }
    outcome.case = Some(case);
    outcome
}

/// Why a pull request cannot be used.
fn usable(merged: &Merged, settings: &Settings) -> Result<(), &'static str> {
    match merged {
        m if m.before.trim().is_empty() || m.merged.trim().is_empty() => Err("incomplete"),
        m if m.before == m.merged => Err("unchanged"),
        m if m.extra.get("merged_at").is_some_and(serde_json::Value::is_null) => Err("unmerged"),
        m if m.extra.get("n_files").and_then(serde_json::Value::as_u64).is_some_and(|n| n > 1) => Err("multi_file"),
        m if !settings.languages.is_empty() && !settings.languages.contains(&m.language) => Err("language"),
        m if m.description.len() + m.before.len() > settings.max_bytes => Err("too_long"),
        _ => Ok(()),
    }
}

type Stopped = (Step, String, bool);

fn make(
    asker: &Asker<'_>,
    merged: &Merged,
    settings: &Settings,
    case: &mut ReviewCase,
) -> Result<Option<Made>, Stopped> {
    let failed = |step| move |why: String| (step, why, true);
    if settings.screen {
        let text = format!("{}\n{}", merged.description, merged.issue);
        let read = |reply: &veridiff_judge::backend::Reply| {
            verdict(&reply.content).ok_or_else(|| "neither yes nor no".to_owned())
        };
        let is_unsafe = asker.step("safety", &[("text", text.as_str())], read).map_err(failed(Step::Filter))?;
        if is_unsafe {
            return Err((Step::Filter, "unsafe".to_owned(), false));
        }
    }
    if settings.until == Step::Filter {
        return Ok(None);
    }
    let diff = diff_of_texts(&merged.path, &merged.before, &merged.merged);
    let data =
        [("description", merged.description.as_str()), ("issue", merged.issue.as_str()), ("diff", diff.as_str())];
    let instruction = asker.text("instruction", &data).map_err(failed(Step::Instruct))?;
    case.extra.insert("instruction".into(), instruction.as_str().into());
    if settings.until == Step::Instruct {
        return Ok(None);
    }
    let data = [("instruction", instruction.as_str()), ("before", merged.before.as_str())];
    let pseudo = asker.step("pseudo", &data, |reply| match reply.finish {
        Finish::Length => Err("the file was cut off".to_owned()),
        _ => Ok(without_fence(&reply.content).to_owned()),
    });
    let mut pseudo = pseudo.map_err(failed(Step::Pseudo))?;
    if merged.before.ends_with('\n') && !pseudo.ends_with('\n') {
        pseudo.push('\n');
    }
    let n = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    let reason = match () {
        () if pseudo.trim().is_empty() => Some("empty"),
        () if bare(&pseudo) == bare(&merged.before) => Some("unchanged"),
        () if 2 * n(&pseudo) < n(&merged.before) && 2 * n(&merged.merged) >= n(&merged.before) => Some("truncated"),
        () => None,
    };
    if let Some(reason) = reason {
        return Err((Step::Pseudo, reason.to_owned(), false));
    }
    case.diff = diff_of_texts(&merged.path, &merged.before, &pseudo);
    case.after = pseudo;
    case.extra.insert("origin".into(), "pseudo".into());
    if settings.until == Step::Pseudo {
        return Ok(None);
    }
    // the same but for white space: nobody has to be asked
    if bare(&case.after) == bare(&merged.merged) {
        case.review = Some(super::NO_COMMENT.to_owned());
        case.extra.insert("clean_reason".into(), "identical".into());
        let made = build(asker, case, Mode::Review, false, false).map_err(failed(Step::Checklist))?;
        return Ok(Some(made));
    }
    let made = build(asker, case, Mode::Compare, settings.deleak, false).map_err(failed(Step::Checklist))?;
    case.review = made.review.clone();
    if made.list.clean {
        case.extra.insert("clean_reason".into(), "judge".into());
    }
    Ok(Some(made))
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Which cases are kept for the test: at most this share of them, whole repositories and groups at a time, drawn by chance. Cases that
/// share a repository or a group, directly or through others, stand on one side.
pub fn split(cases: &[ReviewCase], share: f64, seed: u64) -> Vec<bool> {
    let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (i, case) in cases.iter().enumerate() {
        let of = |key: &str| case.extra.get(key).and_then(Value::as_str);
        // what was made of a case has the case as its group, where there is no other
        groups.entry(("group", of("group").unwrap_or(&case.id))).or_default().push(i);
        if let Some(repo) = of("repo") {
            groups.entry(("repo", repo)).or_default().push(i);
        }
    }
    let sorted = |part: HashSet<usize>| part.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    let mut parts: Vec<Vec<usize>> =
        components(&groups.into_values().collect::<Vec<_>>()).into_iter().map(sorted).collect();
    // sets have no order of their own
    parts.sort_unstable();
    parts.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let most = (share * cases.len() as f64).round() as usize;
    let (mut is_test, mut n) = (vec![false; cases.len()], 0);
    for part in parts {
        if n + part.len() <= most {
            n += part.len();
            part.into_iter().for_each(|i| is_test[i] = true);
        }
    }
    is_test
}

/// Cases whose code under review is what was accepted: clean because they were made so, and said to be.
pub fn by_construction(case: &ReviewCase, path: &str) -> Option<(ReviewCase, Checklist)> {
    let merged = case.extra.get("merged")?.as_str()?.to_owned();
    let mut clean = case.clone();
    clean.id = format!("{}/merged", case.id);
    clean.diff = diff_of_texts(path, &case.before, &merged);
    clean.after = merged;
    clean.review = Some(super::NO_COMMENT.to_owned());
    clean.extra.insert("origin".into(), "merged".into());
    clean.extra.insert("clean_reason".into(), "by_construction".into());
    let text = |key: &str| case.extra.get(key).and_then(Value::as_str).map(str::to_owned);
    let group = text("group").unwrap_or_else(|| case.id.clone());
    clean.extra.insert("group".into(), group.as_str().into());
    let list = Checklist {
        case: clean.id.clone(),
        mode: Some("by_construction".to_owned()),
        clean: true,
        items: Vec::new(),
        language: text("language"),
        group: Some(group),
        extra: Map::new(),
    };
    Some((clean, list))
}
