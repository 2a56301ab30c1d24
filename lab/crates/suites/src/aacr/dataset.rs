//! References: comments that somebody has judged, by pull request.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::raw::{RawComment, RawPr};
use crate::{SuiteError, lines};

/// The side of a change that a comment is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommentSide {
    /// The file as it was.
    Left,
    /// The file as it is after the change.
    #[default]
    Right,
}

impl CommentSide {
    /// The side of a name in any case.
    pub fn of(name: &str) -> Option<CommentSide> {
        match name.trim().to_lowercase().as_str() {
            "left" | "old" => Some(CommentSide::Left),
            "right" | "new" => Some(CommentSide::Right),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            CommentSide::Left => "left",
            CommentSide::Right => "right",
        }
    }
}

/// The categories of the benchmark, in its words.
pub const CATEGORIES: [&str; 4] =
    ["Security Vulnerability", "Code Defect", "Performance", "Maintainability and Readability"];

/// What one has to read to judge a comment, in the benchmark's words.
pub const CONTEXTS: [&str; 3] = ["Diff Level", "File Level", "Repo Level"];

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PullRequest {
    /// `owner/name#number`.
    pub pr: String,
    /// `owner/name`.
    pub repo: String,
    /// The programming language of the project.
    #[serde(default)]
    pub language: String,
    /// What kind of change it is.
    #[serde(default)]
    pub domain: String,
    /// The commit that it is made from, as the dataset says.
    #[serde(default)]
    pub source: String,
    /// The commit under review.
    #[serde(default)]
    pub target: String,
    /// Changed lines, as the dataset says.
    #[serde(default)]
    pub recorded_changed_lines: usize,
    /// What a person calls it.
    #[serde(default)]
    pub title: String,
    /// What a person says of it.
    #[serde(default)]
    pub description: String,
}

impl PullRequest {
    /// Its size by changed lines, from XS to XL.
    pub fn size(&self) -> &'static str {
        match self.recorded_changed_lines {
            0..10 => "XS",
            10..30 => "S",
            30..100 => "M",
            100..500 => "L",
            _ => "XL",
        }
    }
}

/// A comment that somebody has judged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Comment {
    /// The pull request, and a hash of what stands where.
    pub id: String,
    /// Its pull request.
    pub pr: String,
    /// Whether it was accepted; else it was rejected.
    pub valid: bool,
    /// What it says.
    pub text: String,
    /// The file that it is on.
    pub path: String,
    /// The side that it is on.
    pub side: CommentSide,
    /// Its first line, from 1.
    pub from_line: u64,
    /// Its last line.
    pub to_line: u64,
    /// What kind of problem it raises.
    #[serde(default)]
    pub category: String,
    /// What one has to read to judge it.
    #[serde(default)]
    pub context: String,
    /// Who wrote it; blank if a person.
    #[serde(default)]
    pub source_model: String,
    /// The comment that it repeats, if its text stands in that file already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// Whether the same text was accepted at one place and rejected at another.
    #[serde(default)]
    pub conflict: bool,
    /// Whether its lines stood in the wrong order where they were read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
}

/// How often something had to be set right while reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Normalised {
    /// Ranges whose lines were reversed.
    pub sorted: usize,
    /// Paths with backslashes or a leading `./`.
    pub paths: usize,
    /// Notes with the generator's reasoning behind them, which was cut off.
    pub reasoning: usize,
}

/// All references.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dataset {
    /// Pull requests in the order of the files.
    pub prs: Vec<PullRequest>,
    /// Comments, accepted ones first, in the order of the files.
    pub comments: Vec<Comment>,
    /// What was set right.
    pub normalised: Normalised,
    /// Names and hashes of the files.
    pub files: BTreeMap<String, String>,
}

/// The files of the benchmark, and whether their comments are valid.
const FILES: [(&str, bool); 2] = [("positive_samples.json", true), ("negative_samples.json", false)];

/// Versions of the benchmark's files that are known, by hash.
pub const KNOWN: [(&str, &str); 4] = [
    ("d8683cb240249bc4e0aff6428802bdffa7b7573ace600552cab1cd0cb7e905c9", "valid comments of 29 January 2026"),
    ("c0601008ec5f444317143b0ee59d7f99a0bc2b45735710d25c2f1a305ee519d0", "rejected comments of 29 January 2026"),
    ("0e221299", "valid comments of the first commit, with reasoning"),
    ("5f31b852", "rejected comments of the first commit, with reasoning"),
];

impl Dataset {
    /// References from a folder with the benchmark's two files (or a clone that has them under `dataset/`), from the folder of a
    /// run, or from a file of one's own with a JSON object a line: `pr`, `path`, `from_line`, `to_line`, `text`, and if wanted
    /// `side`, `valid`, `category`, `context`, `source_model`, `language`.
    ///
    /// # Errors
    /// [`SuiteError`] names the file and the line, or the place in it, that is at fault.
    pub fn read(path: &Path) -> Result<Dataset, SuiteError> {
        let folder = [path.to_owned(), path.join("dataset")].into_iter().find(|dir| dir.join(FILES[0].0).is_file());
        match folder {
            Some(folder) => Dataset::of_benchmark(&folder),
            None if path.join("comments.jsonl").is_file() => Dataset::of_run(path),
            None if path.is_dir() => Err(SuiteError::Form {
                path: path.to_owned(),
                why: format!("the folder has neither {} nor comments.jsonl", FILES[0].0),
                hint: "name the clone of the benchmark, the folder of a run, or a file of references (docs/aacr.md)"
                    .into(),
            }),
            None => Dataset::of_lines(path),
        }
    }

    fn of_benchmark(folder: &Path) -> Result<Dataset, SuiteError> {
        let mut dataset = Dataset::default();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        for (name, valid) in FILES {
            let path = folder.join(name);
            let text = lines::text(&path)?;
            dataset.files.insert(name.to_owned(), format!("{:x}", Sha256::digest(&text)));
            let wrong = |why: String| SuiteError::Form {
                path: path.clone(),
                why,
                hint: "the files of AACR-Bench are arrays of pull requests with their comments".into(),
            };
            if text.starts_with("version https://git-lfs") {
                let hint = "fetch the file itself: `git lfs pull`, or take the commit of 29 January 2026".into();
                return Err(SuiteError::Form { path, why: "it is a pointer of Git LFS, not the data".into(), hint });
            }
            let raw: Vec<RawPr> = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
            let mut seen = BTreeSet::new();
            for (i, raw) in raw.into_iter().enumerate() {
                let at = |why: String| wrong(format!("$[{i}]: {why}"));
                let pr = raw.pull_request().map_err(at)?;
                if !seen.insert(pr.pr.clone()) {
                    return Err(wrong(format!("$[{i}]: `{}` is there twice", pr.pr)));
                }
                match places.get(&pr.pr) {
                    Some(place) if dataset.prs[*place] != pr => {
                        return Err(wrong(format!("$[{i}]: `{}` is another than in {}", pr.pr, FILES[0].0)));
                    }
                    Some(_) => {}
                    None => {
                        places.insert(pr.pr.clone(), dataset.prs.len());
                        dataset.prs.push(pr.clone());
                    }
                }
                for (j, comment) in raw.comments.into_iter().enumerate() {
                    let comment = comment
                        .comment(&pr.pr, valid, &mut dataset.normalised)
                        .map_err(|why| wrong(format!("$[{i}].comments[{j}]: {why}")))?;
                    dataset.comments.push(comment);
                }
            }
        }
        dataset.finish();
        Ok(dataset)
    }

    fn of_run(folder: &Path) -> Result<Dataset, SuiteError> {
        let prs = lines::read(&folder.join("prs.jsonl"))?;
        let comments = lines::read(&folder.join("comments.jsonl"))?;
        Ok(Dataset { prs, comments, ..Dataset::default() })
    }

    fn of_lines(path: &Path) -> Result<Dataset, SuiteError> {
        #[derive(Deserialize)]
        struct Line {
            pr: String,
            path: String,
            side: Option<String>,
            from_line: u64,
            to_line: Option<u64>,
            text: String,
            valid: Option<bool>,
            #[serde(default)]
            category: String,
            #[serde(default)]
            context: String,
            #[serde(default)]
            source_model: String,
            #[serde(default)]
            language: String,
        }
        let mut dataset = Dataset::default();
        let mut seen = BTreeSet::new();
        for (i, line) in lines::read::<Line>(path)?.into_iter().enumerate() {
            let wrong = |why: String| SuiteError::Line { path: path.to_owned(), line: i + 1, why };
            if seen.insert(line.pr.clone()) {
                let repo = line.pr.rsplit_once('#').map_or(line.pr.as_str(), |(repo, _)| repo).to_owned();
                dataset.prs.push(PullRequest {
                    pr: line.pr.clone(),
                    repo,
                    language: line.language,
                    ..PullRequest::default()
                });
            }
            let raw = RawComment {
                note: line.text,
                path: line.path,
                side: line.side.unwrap_or_else(|| "right".into()),
                source_model: line.source_model,
                from_line: line.from_line,
                to_line: line.to_line.unwrap_or(line.from_line),
                category: line.category,
                context: line.context,
            };
            let comment =
                raw.of_anybody(&line.pr, line.valid.unwrap_or(true), &mut dataset.normalised).map_err(wrong)?;
            dataset.comments.push(comment);
        }
        if dataset.comments.is_empty() {
            return Err(SuiteError::Nothing { why: format!("`{}` holds no references", path.display()) });
        }
        dataset.finish();
        Ok(dataset)
    }

    /// Makes ids distinct, and marks what repeats or contradicts another.
    fn finish(&mut self) {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        let mut first: BTreeMap<(bool, (String, String, String)), String> = BTreeMap::new();
        let mut labels: BTreeMap<(String, String, String), BTreeSet<bool>> = BTreeMap::new();
        for comment in &mut self.comments {
            let n = times.entry(comment.id.clone()).and_modify(|n| *n += 1).or_insert(1);
            if *n > 1 {
                comment.id = format!("{}-{n}", comment.id);
            }
            let key = (comment.pr.clone(), comment.path.clone(), collapsed(&comment.text));
            labels.entry(key.clone()).or_default().insert(comment.valid);
            match first.get(&(comment.valid, key.clone())) {
                Some(id) => comment.duplicate_of = Some(id.clone()),
                None => drop(first.insert((comment.valid, key), comment.id.clone())),
            }
        }
        for comment in &mut self.comments {
            let key = (comment.pr.clone(), comment.path.clone(), collapsed(&comment.text));
            comment.conflict = labels[&key].len() > 1;
        }
    }

    /// The place of each pull request by its name.
    pub fn places(&self) -> BTreeMap<&str, usize> {
        self.prs.iter().enumerate().map(|(i, pr)| (pr.pr.as_str(), i)).collect()
    }

    /// Repositories, each with its place in the order of their names: a share of the work has whole ones.
    pub fn repositories(&self) -> BTreeMap<&str, usize> {
        let names: std::collections::BTreeSet<&str> = self.prs.iter().map(|pr| pr.repo.as_str()).collect();
        names.into_iter().enumerate().map(|(place, name)| (name, place)).collect()
    }

    /// Where a file of the dataset comes from, in words.
    pub fn version(&self) -> Vec<String> {
        let of = |(name, hash): (&String, &String)| {
            let known = KNOWN.iter().find(|(known, _)| hash.starts_with(known));
            format!("{name}: {}", known.map_or("a version that is not known here", |(_, what)| what))
        };
        self.files.iter().map(of).collect()
    }
}

/// A text with single blanks and none around it.
pub fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The pull request and 12 digits of the hash of what stands where.
pub fn id_of(pr: &str, path: &str, side: CommentSide, from_line: u64, to_line: u64, text: &str) -> String {
    let whole = format!("{path}\0{}\0{from_line}\0{to_line}\0{text}", side.name());
    format!("{pr}:{}", &format!("{:x}", Sha256::digest(whole))[..12])
}

/// A path below the root with slashes, and nothing that leads out.
///
/// # Errors
/// It leads elsewhere.
pub fn clean_path(path: &str) -> Result<String, String> {
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./");
    let leads_out = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if path.is_empty() || leads_out || Path::new(path).is_absolute() {
        return Err(format!("the path `{path}` leads out of the repository, or nowhere"));
    }
    Ok(path.to_owned())
}

/// A folder as a list of the files in it with an ending, by name.
///
/// # Errors
/// [`SuiteError::Read`].
pub fn files_of(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, SuiteError> {
    let unreadable = |source| SuiteError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
