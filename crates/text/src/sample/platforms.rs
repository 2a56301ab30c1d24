//! Review comments as code hosts export them, as samples.
//!
//! GitHub: what `gh api repos/OWNER/REPO/pulls/N/comments --paginate` prints, arrays one after the other; every comment has the hunk
//! that it stands under. GitLab: what `merge_requests/N/discussions` of its API gives; its notes have a place and no hunk, so the
//! whole diff is needed beside it.

use serde_json::{Deserializer, Map, Value};

use super::Sample;
use crate::diff::{
    Diff,
    input::{self, InputError},
};

/// Why an export cannot be read.
///
/// `found` is what the export holds in words and `expected` what it should hold; `said` is the host's own word; `source` says where in it, with line and column for JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are described above, once")]
pub enum PlatformError {
    /// It is no JSON.
    #[error("the export is no JSON")]
    Json { source: serde_json::Error },
    /// It is JSON of another kind.
    #[error("the export holds {found}, where {expected} was expected")]
    Shape { found: &'static str, expected: &'static str },
    /// The code host gave no comments and said why, as in `{"message": "Not Found"}`.
    #[error("the export holds no comments, but what the code host answered: {said}")]
    Refused { said: String },
    /// The diff beside GitLab's discussions cannot be read.
    #[error("the diff of the discussions cannot be read")]
    Diff {
        #[from]
        source: InputError,
    },
}

impl PlatformError {
    /// How to get an export that can be read.
    pub fn hint(&self) -> &'static str {
        match self {
            PlatformError::Diff { .. } => "give --diff with what `git diff BASE...HEAD` prints for the merge request",
            PlatformError::Refused { .. } => {
                "ask again, with the right repository and number, and a token that may read them"
            }
            _ => {
                "GitHub: `gh api repos/OWNER/REPO/pulls/N/comments --paginate`; GitLab: `glab api projects/ID/merge_requests/N/discussions`"
            }
        }
    }
}

/// Samples of an export, and how many of its entries were left out because they are on no line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exported {
    /// One a comment, in the order of the export, with `path` and `line` of the new side among their extra keys.
    pub samples: Vec<Sample>,
    /// Comments on no line of the diff: replies without a hunk, general remarks, notes of the system.
    pub n_left_out: usize,
}

/// Reads GitHub's review comments.
///
/// # Errors
/// [`PlatformError::Json`] and [`PlatformError::Shape`] for what is no list of comments.
pub fn github_comments(json: &str) -> Result<Exported, PlatformError> {
    let mut exported = Exported::default();
    for comment in entries(json)? {
        let text = |key: &str| comment.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let (Some(body), Some(path), Some(hunk)) = (text("body"), text("path"), text("diff_hunk")) else {
            exported.n_left_out += 1;
            continue;
        };
        // the hunk ends at the comment's line, so its header promises more than there is
        let whole = format!("--- a/{path}\n+++ b/{path}\n{}\n", hunk.trim_end_matches('\n'));
        let Ok(change) = input::read(&whole) else {
            exported.n_left_out += 1;
            continue;
        };
        let id = comment.get("id").map_or_else(|| exported.samples.len().to_string(), Value::to_string);
        let mut sample = Sample::new(&format!("github-{id}"), &change.diff, body);
        let line = ["line", "original_line"].into_iter().find_map(|key| comment.get(key).and_then(Value::as_u64));
        let line = match comment.get("side").and_then(Value::as_str) {
            Some("LEFT") => line.and_then(|line| new_line(&change.diff, line)),
            _ => line,
        };
        let line = line.or_else(|| last_line(&change.diff));
        sample.extra.insert("path".into(), path.into());
        sample.extra.extend(line.map(|line| ("line".to_owned(), Value::from(line))));
        if let Some(login) = comment.pointer("/user/login").and_then(Value::as_str) {
            sample.extra.insert("author".into(), login.into());
        }
        exported.samples.push(sample);
    }
    Ok(exported)
}

/// Reads GitLab's discussions of a merge request beside its diff; a note's sample has the hunks of its file.
///
/// # Errors
/// Those of [`github_comments`], and [`PlatformError::Diff`] for a diff that cannot be read.
pub fn gitlab_discussions(json: &str, diff: &str) -> Result<Exported, PlatformError> {
    let change = input::read(diff)?;
    let diff = Diff::parse(&change.diff).map_err(InputError::Diff)?;
    let mut exported = Exported::default();
    for discussion in entries(json)? {
        let notes = discussion.get("notes").and_then(Value::as_array).cloned().unwrap_or_default();
        for note in notes {
            let is_of_system = note.get("system").and_then(Value::as_bool) == Some(true);
            let at = |key: &str| note.pointer(&format!("/position/{key}"));
            let path = at("new_path").or_else(|| at("old_path")).and_then(Value::as_str);
            let body = note.get("body").and_then(Value::as_str).filter(|body| !body.trim().is_empty());
            let (Some(body), Some(path), false) = (body, path, is_of_system) else {
                exported.n_left_out += 1;
                continue;
            };
            let is_of_file =
                |file: Option<usize>| file.and_then(|file| diff.files().get(file)).is_some_and(|name| name == path);
            let chosen = diff.select(|_, hunk| is_of_file(hunk.file)).text;
            if chosen.trim().is_empty() {
                exported.n_left_out += 1;
                continue;
            }
            let id = note.get("id").map_or_else(|| exported.samples.len().to_string(), Value::to_string);
            let mut sample = Sample::new(&format!("gitlab-{id}"), &chosen, body);
            sample.extra.insert("path".into(), path.into());
            let number = |key: &str| at(key).and_then(Value::as_u64);
            let line = number("new_line").or_else(|| new_line(&chosen, number("old_line")?));
            sample.extra.extend(line.map(|line| ("line".to_owned(), Value::from(line))));
            if let Some(name) = note.pointer("/author/username").and_then(Value::as_str) {
                sample.extra.insert("author".into(), name.into());
            }
            exported.samples.push(sample);
        }
    }
    Ok(exported)
}

/// The line of the new file that stands where a line of the old one does, or did: the next one that is there, or the one before.
fn new_line(diff: &str, old: u64) -> Option<u64> {
    let diff = Diff::parse(diff).ok()?;
    let lines = diff.lines();
    let place = lines.iter().position(|line| line.old.is_some_and(|line| u64::try_from(line) == Ok(old)))?;
    u64::try_from(diff.new_side(place)?).ok()
}

/// The line of the new file on which a hunk ends.
fn last_line(diff: &str) -> Option<u64> {
    let diff = Diff::parse(diff).ok()?;
    let last = diff.lines().iter().rev().find_map(|line| line.new)?;
    u64::try_from(last).ok()
}

/// The objects of one or more arrays that stand one after the other.
fn entries(json: &str) -> Result<Vec<Value>, PlatformError> {
    let mut all = Vec::new();
    for value in Deserializer::from_str(json.trim_start_matches('\u{feff}')).into_iter::<Value>() {
        match value.map_err(|source| PlatformError::Json { source })? {
            Value::Array(entries) if entries.iter().all(Value::is_object) => all.extend(entries),
            Value::Array(_) => {
                return Err(PlatformError::Shape { found: "a list of other things", expected: "a list of comments" });
            }
            Value::Object(answer) => {
                if let Some(said) = refusal(&answer) {
                    return Err(PlatformError::Refused { said: said.to_owned() });
                }
                // one alone, or one a line, as `--jq '.[]'` prints them
                if !["body", "notes"].into_iter().any(|key| answer.contains_key(key)) {
                    return Err(PlatformError::Shape { found: "one object", expected: "a list of comments" });
                }
                all.push(Value::Object(answer));
            }
            _ => return Err(PlatformError::Shape { found: "a single value", expected: "a list of comments" }),
        }
    }
    Ok(all)
}

/// Why a code host gave no comments, where its answer is one object that says so and holds no sample.
fn refusal(answer: &Map<String, Value>) -> Option<&str> {
    ["message", "error"].into_iter().find_map(|key| answer.get(key)?.as_str()).filter(|_| !is_sample(answer))
}

fn is_sample(object: &Map<String, Value>) -> bool {
    ["diff", "text"].into_iter().any(|key| object.contains_key(key))
}

/// Whether JSON that begins with an object is what a code host gave, and not a sample: a comment, or a refusal in its place.
pub fn is_of_platform(json: &str) -> bool {
    let first = Deserializer::from_str(json).into_iter::<Map<String, Value>>().next();
    first
        .and_then(Result::ok)
        .is_some_and(|first| !is_sample(&first) && (first.contains_key("diff_hunk") || refusal(&first).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn github_comments_stand_under_their_hunks() {
        let comment = |id: u64, body: &str| {
            json!({
                "id": id, "path": "src/a.py", "line": null, "original_line": 12, "user": { "login": "bot" }, "body": body,
                "diff_hunk": "@@ -10,7 +10,9 @@ def f():\n x = 1\n+y = 2\n+z = 3",
            })
        };
        let reply = json!({ "id": 3, "body": "ok", "path": "src/a.py" });
        // two pages, as `--paginate` prints them
        let pages = format!("[{},{reply}][{}]", comment(1, "y is 2"), comment(2, "z is 4"));
        let exported = github_comments(&pages).unwrap();
        assert_eq!((exported.samples.len(), exported.n_left_out), (2, 1));
        let alone = comment(1, "y is 2").to_string();
        assert_eq!(github_comments(&alone).unwrap().samples, exported.samples[..1]);
        assert!(is_of_platform(&alone));
        assert!(!is_of_platform(r#"{"diff": "", "text": "", "diff_hunk": ""}"#), "a sample with a key of its own");
        let sample = &exported.samples[0];
        assert_eq!((sample.id.as_str(), sample.text.as_str()), ("github-1", "y is 2"));
        assert_eq!((&sample.extra["path"], &sample.extra["line"]), (&json!("src/a.py"), &json!(12)));
        let diff = Diff::parse(&sample.diff).unwrap();
        assert_eq!(diff.files(), ["src/a.py"]);
        assert_eq!(diff.lines().iter().filter(|line| line.kind.is_changed()).count(), 2);
    }

    /// A comment on a removed line points at what stands there now.
    #[test]
    fn a_line_of_the_old_side_is_one_of_the_new() {
        let hunk = "@@ -40,4 +10,3 @@\n a\n-b\n-c\n+d\n e";
        let line = |side: &str, line: u64| {
            let comment =
                json!([{ "id": 1, "path": "a.py", "side": side, "line": line, "body": "no", "diff_hunk": hunk }]);
            github_comments(&comment.to_string()).unwrap().samples[0].extra["line"].clone()
        };
        assert_eq!((line("RIGHT", 11), line("LEFT", 41), line("LEFT", 40)), (json!(11), json!(11), json!(10)));
        let diff = format!("--- a/a.py\n+++ b/a.py\n{hunk}\n");
        let note = json!({ "id": 7, "body": "no", "position": { "new_path": "a.py", "old_path": "a.py", "new_line": null, "old_line": 42 } });
        let exported = gitlab_discussions(&json!([{ "id": "d", "notes": [note] }]).to_string(), &diff).unwrap();
        assert_eq!(exported.samples[0].extra["line"], json!(11));
    }

    #[test]
    fn gitlab_notes_get_the_hunks_of_their_file() {
        let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n@@ -5 +5 @@\n-p\n+q\n";
        let note = json!({ "id": 7, "body": "q is new", "system": false, "author": { "username": "bot" }, "position": { "new_path": "b.py", "new_line": 5 } });
        let system = json!({ "id": 8, "body": "changed the title", "system": true });
        let json = json!([{ "id": "d", "notes": [note, system] }]).to_string();
        let exported = gitlab_discussions(&json, diff).unwrap();
        assert_eq!((exported.samples.len(), exported.n_left_out), (1, 1));
        assert_eq!(exported.samples[0].extra["author"], json!("bot"));
        assert!(exported.samples[0].diff.contains("+q") && !exported.samples[0].diff.contains("+y"));
        assert!(gitlab_discussions(&json, "hello").is_err());
    }

    #[test]
    fn other_json_is_refused() {
        for (json, says) in [("{}", "one object"), ("[1]", "other things"), ("3", "single value"), ("[", "no JSON")] {
            let error = github_comments(json).unwrap_err();
            assert!(error.to_string().contains(says) && error.hint().contains("gh api"), "{error}");
        }
        assert_eq!(github_comments("[]").unwrap(), Exported::default());
        let error = github_comments(r#"{"message": "Not Found", "status": "404"}"#).unwrap_err();
        assert!(error.to_string().ends_with("answered: Not Found") && error.hint().contains("token"), "{error}");
        let sample = json!({ "message": "a column of the user's", "diff": "+x", "text": "t" });
        assert_eq!(refusal(sample.as_object().unwrap()), None);
    }
}
