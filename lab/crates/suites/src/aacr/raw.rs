//! Pull requests and comments as the benchmark writes them.

use serde::Deserialize;

use super::dataset::{CATEGORIES, CONTEXTS, Comment, CommentSide, Normalised, PullRequest, clean_path, id_of};

/// A pull request as the benchmark writes it.
#[derive(Deserialize)]
pub(super) struct RawPr {
    pub(super) change_line_count: usize,
    pub(super) project_main_language: String,
    pub(super) source_commit: String,
    pub(super) target_commit: String,
    #[serde(rename = "githubPrUrl")]
    pub(super) url: String,
    pub(super) comments: Vec<RawComment>,
    pub(super) category: String,
}

impl RawPr {
    /// As it is known here.
    pub(super) fn pull_request(&self) -> Result<PullRequest, String> {
        for commit in [&self.source_commit, &self.target_commit] {
            if commit.len() != 40 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(format!("`{commit}` is no commit of 40 hexadecimal digits"));
            }
        }
        let parts: Vec<&str> = self.url.trim_start_matches("https://github.com/").split('/').collect();
        let [owner, name, "pull", number] = parts[..] else { return Err(format!("`{}` is no pull request", self.url)) };
        number.parse::<u64>().map_err(|_| format!("`{}` is no pull request", self.url))?;
        Ok(PullRequest {
            pr: format!("{owner}/{name}#{number}"),
            repo: format!("{owner}/{name}"),
            language: self.project_main_language.clone(),
            domain: self.category.clone(),
            source: self.source_commit.clone(),
            target: self.target_commit.clone(),
            recorded_changed_lines: self.change_line_count,
            ..PullRequest::default()
        })
    }
}

/// A comment as the benchmark writes it.
#[derive(Deserialize)]
pub(super) struct RawComment {
    pub(super) note: String,
    pub(super) path: String,
    pub(super) side: String,
    pub(super) source_model: String,
    pub(super) from_line: u64,
    pub(super) to_line: u64,
    pub(super) category: String,
    pub(super) context: String,
}

impl RawComment {
    /// One of the benchmark, whose categories are known.
    pub(super) fn comment(self, pr: &str, valid: bool, normalised: &mut Normalised) -> Result<Comment, String> {
        for (what, value, known) in
            [("category", &self.category, &CATEGORIES[..]), ("context", &self.context, &CONTEXTS[..])]
        {
            if !known.contains(&value.as_str()) {
                return Err(format!("unknown {what} `{value}`; one of {}", known.join(", ")));
            }
        }
        self.of_anybody(pr, valid, normalised)
    }

    /// One of anybody, whose kinds are free.
    pub(super) fn of_anybody(self, pr: &str, valid: bool, normalised: &mut Normalised) -> Result<Comment, String> {
        let side =
            CommentSide::of(&self.side).ok_or_else(|| format!("unknown side `{}`; one of left, right", self.side))?;
        if self.from_line == 0 || self.to_line == 0 {
            return Err("lines are counted from 1".to_owned());
        }
        let path = clean_path(&self.path)?;
        normalised.paths += usize::from(path != self.path);
        normalised.sorted += usize::from(self.from_line > self.to_line);
        let (from_line, to_line) = (self.from_line.min(self.to_line), self.from_line.max(self.to_line));
        let text = match self.note.split_once("<details>") {
            Some((said, _)) if self.note.trim_end().ends_with("</details>") => {
                normalised.reasoning += 1;
                said.trim_end().to_owned()
            }
            _ => self.note,
        };
        if text.trim().is_empty() {
            return Err("the comment is blank".to_owned());
        }
        let id = id_of(pr, &path, side, from_line, to_line, &text);
        Ok(Comment {
            id,
            pr: pr.to_owned(),
            valid,
            text,
            path,
            side,
            from_line,
            to_line,
            category: self.category,
            context: self.context,
            source_model: self.source_model,
            duplicate_of: None,
            conflict: false,
            reversed: self.from_line > self.to_line,
        })
    }
}
