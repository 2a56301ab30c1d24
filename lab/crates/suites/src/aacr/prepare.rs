//! A dataset with its repositories: hunks, where comments stand in them, and labelled samples.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Value, json};
use veridiff_git::Repository;

use super::{
    changes::{Anchor, Hunk, ParsedChange, Place, Preparation, change_of, place},
    dataset::{Comment, Dataset, PullRequest},
};
use crate::{SuiteError, ask::side_by_side};

/// How repositories are found and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// A repository's path below the folder of all, with `{owner}` and `{name}` in it.
    pub pattern: String,
    /// Whether commits that are gone may be replaced.
    pub fallback: bool,
    /// How many pull requests are read at once.
    pub concurrency: usize,
}

/// A dataset with its changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prepared {
    /// Pull requests, each with what there is of it.
    pub prs: Vec<(PullRequest, Preparation)>,
    /// All hunks.
    pub hunks: Vec<Hunk>,
    /// Where each comment of a prepared pull request stands.
    pub places: Vec<Place>,
    /// Comments as samples for `score`, `eval` and `check`: those that stand at a hunk.
    pub samples: Vec<Value>,
}

/// Title and description by pull request.
pub type Titles = BTreeMap<String, (String, String)>;

/// Reads the change of every pull request.
pub fn prepare(dataset: &Dataset, repos: &Path, titles: &Titles, settings: &Settings) -> Prepared {
    let mut comments: BTreeMap<&str, Vec<&Comment>> = BTreeMap::new();
    dataset.comments.iter().for_each(|comment| comments.entry(&comment.pr).or_default().push(comment));
    let read = |i: usize| {
        let pr = &dataset.prs[i];
        let (preparation, change) = match open(repos, &settings.pattern, pr) {
            Ok(repository) => {
                let (mut preparation, change) = change_of(&repository, pr, settings.fallback);
                let named = titled(&repository, pr, &mut preparation, titles);
                return (named, preparation, change);
            }
            Err(reason) => {
                let preparation =
                    Preparation { status: "unavailable".into(), reason: Some(reason), ..Preparation::default() };
                (preparation, ParsedChange::default())
            }
        };
        (pr.clone(), preparation, change)
    };
    let mut prepared = Prepared::default();
    for (pr, preparation, change) in side_by_side(dataset.prs.len(), settings.concurrency, read) {
        if preparation.status == "prepared" {
            for comment in comments.get(pr.pr.as_str()).into_iter().flatten() {
                let place = place(&change, comment);
                prepared.samples.extend(sample(&pr, &preparation, &change, comment, &place));
                prepared.places.push(place);
            }
        }
        prepared.hunks.extend(change.hunks);
        prepared.prs.push((pr, preparation));
    }
    prepared
}

/// The repository of a pull request.
///
/// # Errors
/// Why it cannot be read.
pub fn open(repos: &Path, pattern: &str, pr: &PullRequest) -> Result<Repository, String> {
    let (owner, name) = pr.repo.split_once('/').unwrap_or(("", &pr.repo));
    let path = repos.join(pattern.replace("{owner}", owner).replace("{name}", name));
    if !path.is_dir() {
        return Err(format!("there is no folder `{}`", path.display()));
    }
    let repository = Repository::discover(&path).map_err(|error| veridiff_text::chain::one_line(&error))?;
    if repository.is_shallow() {
        return Err(format!("`{}` is cut off at a depth: fetch the whole history", path.display()));
    }
    Ok(repository)
}

/// The pull request with its title and description: those given, or else the subjects of its commits.
fn titled(repository: &Repository, pr: &PullRequest, preparation: &mut Preparation, titles: &Titles) -> PullRequest {
    let mut pr = pr.clone();
    if let Some((title, description)) = titles.get(&pr.pr) {
        (pr.title, pr.description) = (title.clone(), description.clone());
        preparation.title_source = "given".into();
    } else if preparation.status == "prepared" {
        let ids = repository.range(&format!("{}..{}", preparation.base, preparation.head)).unwrap_or_default();
        let subject = |id: &String| {
            let message = repository.commit(id).ok()?.message;
            Some(message.lines().next().unwrap_or_default().to_owned())
        };
        let subjects: Vec<String> = ids.iter().filter_map(subject).filter(|subject| !subject.is_empty()).collect();
        if let Some((first, rest)) = subjects.split_first() {
            (pr.title, pr.description) = (first.clone(), rest.join("\n"));
            preparation.title_source = "commits".into();
        }
    }
    pr
}

/// A comment as a sample; none where it stands at no hunk. It says what experts said of it, which is more than whether it is true.
fn sample(
    pr: &PullRequest,
    preparation: &Preparation,
    change: &ParsedChange,
    comment: &Comment,
    place: &Place,
) -> Option<Value> {
    let is_about = |hunk: &&Hunk| place.hunks.contains(&hunk.hunk);
    let mut diff = String::new();
    for hunk in change.hunks.iter().filter(is_about) {
        // hunks of one file stand below one header
        match diff.is_empty() {
            true => diff.push_str(&hunk.diff),
            false => diff.push_str(&format!("{}\n", hunk.text)),
        }
    }
    if diff.is_empty() {
        return None;
    }
    let source = comment.source_model.as_str();
    Some(json!({
        "id": comment.id,
        "diff": diff,
        "text": comment.text,
        "task": "review",
        "generator": if source.is_empty() { "people" } else { source },
        "language": pr.language.to_lowercase(),
        "label": u8::from(!comment.valid),
        "label_type": if comment.valid { Value::Null } else { "expert-rejected".into() },
        "group": comment.pr,
        "repo": pr.repo,
        "path": comment.path,
        "side": comment.side.name(),
        "from_line": comment.from_line,
        "to_line": comment.to_line,
        "category": comment.category,
        "context": comment.context,
        "anchor": match place.anchor {
            Anchor::Near(n) => json!(format!("near({n})")),
            anchor => json!(anchor),
        },
        "head_used": preparation.head_used,
        "duplicate": comment.duplicate_of.is_some(),
        "conflict": comment.conflict,
    }))
}

/// Reads titles and descriptions, a JSON object a line.
///
/// # Errors
/// Those of [`crate::lines::read`].
pub fn titles(path: &Path) -> Result<Titles, SuiteError> {
    #[derive(serde::Deserialize)]
    struct Line {
        pr: String,
        title: String,
        #[serde(default)]
        description: String,
    }
    let lines: Vec<Line> = crate::lines::read(path)?;
    Ok(lines.into_iter().map(|line| (line.pr, (line.title, line.description))).collect())
}
