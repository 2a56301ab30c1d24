//! What a dataset holds, by every way of dividing it.

use std::collections::BTreeMap;

use serde::Serialize;
use veridiff_report::{
    Grid, NamedTable,
    pages::{Book, Tile},
};

use super::dataset::{Comment, CommentSide, Dataset};

/// How many comments of a kind were accepted and rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Such as `language`.
    pub by: &'static str,
    /// Such as `C++`.
    pub value: String,
    /// Pull requests, where that is what is divided.
    pub prs: Option<usize>,
    /// Accepted comments.
    pub valid: usize,
    /// Rejected comments.
    pub rejected: usize,
}

/// All counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DatasetCounts {
    /// Pull requests.
    pub prs: usize,
    /// Pull requests with accepted and with rejected comments, with both, and with rejected ones alone.
    pub prs_valid_rejected_both_only: [usize; 4],
    /// Repositories.
    pub repositories: usize,
    /// Accepted comments.
    pub valid: usize,
    /// Rejected comments.
    pub rejected: usize,
    /// Changed lines, as the dataset says.
    pub changed_lines: usize,
    /// Least, median and most accepted comments of a pull request that has any.
    pub valid_per_pr: [usize; 3],
    /// Comments that repeat another of their file and label.
    pub duplicates: usize,
    /// Texts with both labels in one file.
    pub conflicts: usize,
    /// Ranges whose lines were reversed.
    pub sorted: usize,
    /// By every kind.
    pub by: Vec<Count>,
}

/// The counts of a dataset.
pub fn counts(dataset: &Dataset) -> DatasetCounts {
    let comments = &dataset.comments;
    let n = |valid: bool| comments.iter().filter(|comment| comment.valid == valid).count();
    let mut per_pr: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for comment in comments {
        per_pr.entry(&comment.pr).or_default()[usize::from(!comment.valid)] += 1;
    }
    let having = |is: fn(&[usize; 2]) -> bool| per_pr.values().filter(|counts| is(counts)).count();
    let mut valid_per_pr: Vec<usize> = per_pr.values().map(|counts| counts[0]).filter(|n| *n > 0).collect();
    valid_per_pr.sort_unstable();
    let at = |place: usize| valid_per_pr.get(place).copied().unwrap_or(0);
    let repositories: std::collections::BTreeSet<&str> = dataset.prs.iter().map(|pr| pr.repo.as_str()).collect();
    let mut conflicts: Vec<(&str, &str, String)> = comments
        .iter()
        .filter(|comment| comment.conflict)
        .map(|comment| (comment.pr.as_str(), comment.path.as_str(), super::dataset::collapsed(&comment.text)))
        .collect();
    conflicts.sort();
    conflicts.dedup();
    DatasetCounts {
        prs: dataset.prs.len(),
        prs_valid_rejected_both_only: [
            having(|c| c[0] > 0),
            having(|c| c[1] > 0),
            having(|c| c[0] > 0 && c[1] > 0),
            having(|c| c[0] == 0),
        ],
        repositories: repositories.len(),
        valid: n(true),
        rejected: n(false),
        changed_lines: dataset.prs.iter().map(|pr| pr.recorded_changed_lines).sum(),
        valid_per_pr: [at(0), at(valid_per_pr.len() / 2), at(valid_per_pr.len().saturating_sub(1))],
        duplicates: comments.iter().filter(|comment| comment.duplicate_of.is_some()).count(),
        conflicts: conflicts.len(),
        sorted: dataset.normalised.sorted,
        by: by(dataset),
    }
}

fn by(dataset: &Dataset) -> Vec<Count> {
    let prs: BTreeMap<&str, _> = dataset.prs.iter().map(|pr| (pr.pr.as_str(), pr)).collect();
    let mut found: Vec<Count> = Vec::new();
    let of_pr = |comment: &Comment, of: fn(&super::dataset::PullRequest) -> String| {
        prs.get(comment.pr.as_str()).map(|pr| of(pr))
    };
    type Of<'a> = Box<dyn Fn(&Comment) -> Option<String> + 'a>;
    let kinds: [(&'static str, Of<'_>); 8] = [
        ("context", Box::new(|comment| Some(comment.context.clone()))),
        ("category", Box::new(|comment| Some(comment.category.clone()))),
        ("side", Box::new(|comment| Some(comment.side.name().to_owned()))),
        (
            "lines",
            Box::new(|comment| Some(if comment.from_line == comment.to_line { "one" } else { "several" }.to_owned())),
        ),
        (
            "source",
            Box::new(|comment| {
                Some(if comment.source_model.is_empty() { "people".to_owned() } else { comment.source_model.clone() })
            }),
        ),
        ("language", Box::new(|comment| of_pr(comment, |pr| pr.language.clone()))),
        ("domain", Box::new(|comment| of_pr(comment, |pr| pr.domain.clone()))),
        ("size", Box::new(|comment| of_pr(comment, |pr| pr.size().to_owned()))),
    ];
    for (by, of) in kinds {
        let mut values: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for comment in &dataset.comments {
            if let Some(value) = of(comment).filter(|value| !value.is_empty()) {
                values.entry(value).or_default()[usize::from(!comment.valid)] += 1;
            }
        }
        for (value, [valid, rejected]) in values {
            let n_prs = |of: fn(&super::dataset::PullRequest) -> String| {
                dataset.prs.iter().filter(|pr| of(pr) == value).count()
            };
            let prs = match by {
                "language" => Some(n_prs(|pr| pr.language.clone())),
                "domain" => Some(n_prs(|pr| pr.domain.clone())),
                "size" => Some(n_prs(|pr| pr.size().to_owned())),
                _ => None,
            };
            found.push(Count { by, value, prs, valid, rejected });
        }
    }
    found
}

/// The counts as a page.
pub fn book(dataset: &Dataset, counts: &DatasetCounts) -> Book {
    let mut grid =
        Grid::new("References by kind", &["kind", "value", "pull requests", "valid", "rejected", "share rejected"]);
    for count in &counts.by {
        let share = 100.0 * count.rejected as f64 / (count.valid + count.rejected).max(1) as f64;
        grid.push(vec![
            count.by.to_owned(),
            count.value.clone(),
            count.prs.map_or_else(String::new, |prs| prs.to_string()),
            count.valid.to_string(),
            count.rejected.to_string(),
            format!("{share:.1}%"),
        ]);
    }
    let record = serde_json::to_value(counts).expect("counts have a JSON form");
    let records = counts.by.iter().map(|count| serde_json::to_value(count).expect("counts have a JSON form")).collect();
    let [valid, rejected, both, only] = counts.prs_valid_rejected_both_only;
    let left = dataset.comments.iter().filter(|comment| comment.side == CommentSide::Left).count();
    let tile =
        |value: usize, what: &str, beside: String| Tile { value: value.to_string(), what: what.to_owned(), beside };
    Book {
        stem: "counts".into(),
        title: "References".into(),
        about: format!("{} pull requests of {} repositories.", counts.prs, counts.repositories),
        tiles: vec![
            tile(counts.valid, "accepted comments", format!("on {valid} pull requests")),
            tile(counts.rejected, "rejected comments", format!("on {rejected}, {only} of which have no others")),
        ],
        findings: vec![format!(
            "{both} pull requests have accepted and rejected comments; an accepted one stands beside {} others in the median.",
            counts.valid_per_pr[1].saturating_sub(1)
        )],
        tables: vec![NamedTable::new("references", grid, records)],
        legend: format!("{left} comments are on the left side, the file as it was."),
        notes: [
            format!("{} ranges were reversed and are sorted", counts.sorted),
            format!(
                "{} comments repeat another of their file; {} texts were accepted at one place and rejected at another",
                counts.duplicates, counts.conflicts
            ),
        ]
        .into_iter()
        .chain(dataset.version())
        .collect(),
        record,
    }
}
