//! What `check` and `explain` are about: changes, and the texts about them, however they are given.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};

use anyhow::bail;
use veridiff_facts::checker::SharedTree;
use veridiff_git::{Commit, Repository};
use veridiff_platforms::{github::PullRequest, gitlab::MergeRequest};
use veridiff_text::{
    chain::one_line,
    diff::input,
    message::{Made, made},
    sample::{
        Sample, Task,
        platforms::{Exported, PlatformError, github_comments, gitlab_discussions, is_of_platform},
    },
};

use super::{
    change::{change_and_text_in, change_in, is_stdin, read, samples_of, task_called, without_comments},
    platform,
    repository::RepositoryArgs,
};
use crate::cli::terminal::{UsageError, note};

/// The heading of options about inputs.
pub const INPUT: &str = "Input";

/// What of [`Made`] is let pass, or nothing of it.
pub const SKIPPED: [&str; 4] = ["merges", "reverts", "fixups", "none"];

/// The id of a text that was given none.
pub const UNNAMED: &str = "stdin";

/// Options that say what is looked at.
#[derive(Debug, clap::Args)]
pub struct SubjectArgs {
    /// Commits, as git names them: HEAD, or HEAD~3.. for all of a range; a file of samples (.jsonl) or of comments (as GitHub's API
    /// gives them); a diff, with --message or --text
    #[arg(value_name = "REV|FILE", conflicts_with_all = ["diff", "commit", "input", "github_comments", "gitlab_discussions", "pr", "mr"])]
    what: Vec<String>,
    /// The change: a file with a unified diff or one hunk; `-` reads stdin [default, with a text and no REV: stdin]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "commit"], help_heading = INPUT)]
    diff: Option<PathBuf>,
    /// The text about it: a file; `-` reads stdin, where it stands behind the diff unless --diff is given
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "commit"], help_heading = INPUT)]
    text: Option<PathBuf>,
    /// The text about it, here in the command
    #[arg(short, long, value_name = "TEXT", conflicts_with_all = ["text", "input", "commit"], help_heading = INPUT)]
    message: Option<String>,
    /// Leave out lines of the text that start with `#`, and all below git's scissors
    #[arg(long, help_heading = INPUT, hide_short_help = true)]
    strip_comments: bool,
    /// A commit of the repository, as REV
    #[arg(long, value_name = "REV", conflicts_with = "input", help_heading = INPUT, hide_short_help = true)]
    commit: Option<String>,
    /// Samples, one JSON object a line, as FILE; `-` reads stdin
    #[arg(long, value_name = "FILE", help_heading = INPUT, hide_short_help = true)]
    input: Option<PathBuf>,
    /// GitHub's review comments, as FILE: what `gh api repos/OWNER/REPO/pulls/N/comments --paginate` prints; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "commit", "text", "message", "diff"], help_heading = INPUT,
          hide_short_help = true)]
    github_comments: Option<PathBuf>,
    /// GitLab's discussions of a merge request, beside its diff: what `glab api projects/ID/merge_requests/N/discussions` prints
    #[arg(long, value_name = "FILE", requires = "diff", help_heading = INPUT, hide_short_help = true,
          conflicts_with_all = ["input", "commit", "text", "message", "github_comments"])]
    gitlab_discussions: Option<PathBuf>,
    /// A pull request, of which GitHub is asked once for its review comments; GITHUB_TOKEN has a token, GITHUB_API_URL a server of
    /// one's own
    #[arg(long, value_name = "OWNER/REPO#N", help_heading = INPUT, hide_short_help = true,
          conflicts_with_all = ["input", "commit", "text", "message", "diff", "github_comments", "gitlab_discussions"])]
    pr: Option<PullRequest>,
    /// A merge request, of which GitLab is asked once for its discussions; GITLAB_TOKEN has a token, GITLAB_API_URL or CI_API_V4_URL a
    /// server of one's own
    #[arg(long, value_name = "GROUP/PROJECT!N", help_heading = INPUT, hide_short_help = true,
          conflicts_with_all = ["input", "commit", "text", "message", "diff", "github_comments", "gitlab_discussions", "pr"])]
    mr: Option<MergeRequest>,
    #[command(flatten)]
    repository: RepositoryArgs,
    /// What the text was written as [default: commit about a REV; the sample's own for samples; else review]
    #[arg(long, value_parser = Task::ALL.map(Task::name), help_heading = INPUT, hide_short_help = true)]
    task: Option<String>,
}

/// What a verb wants a subject for.
#[derive(Debug, Clone, Copy)]
pub struct Purpose<'a> {
    /// The verb's name, for hints that show a command.
    pub verb: &'static str,
    /// Which messages pass untested, of [`SKIPPED`]; empty where nothing is tested.
    pub skip: &'a [String],
    /// Whether no socket may be opened.
    pub is_offline: bool,
}

impl Purpose<'_> {
    /// Whether messages of this kind pass untested.
    pub fn skips(self, made: Made) -> bool {
        self.skip.iter().any(|name| name == made.name())
    }
}

/// Samples with the tree that they are changes of.
pub struct Group {
    /// What a text names and the tree knows is not absent.
    pub tree: Option<SharedTree>,
    /// Changes of that tree, with texts.
    pub samples: Vec<Sample>,
}

/// What there is to check.
#[derive(Default)]
pub struct Subject {
    /// The samples, in the order of the findings.
    pub groups: Vec<Group>,
    /// What of the input could not be read.
    pub unreadable: Vec<String>,
}

impl Subject {
    /// All samples.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.groups.iter().flat_map(|group| &group.samples)
    }

    fn of(samples: Vec<Sample>, tree: Option<SharedTree>) -> Self {
        Subject { groups: vec![Group { tree, samples }], ..Subject::default() }
    }
}

/// Notes something that passes untested.
pub fn passes(text: &str) {
    note(&format!("note: {text}: passes untested"));
}

/// What a positional argument is.
enum What {
    /// A file, or stdin.
    File(PathBuf),
    /// A commit.
    Revision(String),
    /// All commits of a range.
    Range(String),
}

impl What {
    fn of(what: &str) -> What {
        let path = Path::new(what);
        match () {
            () if is_stdin(path) || path.is_file() => What::File(path.to_owned()),
            () if what.contains("..") => What::Range(what.to_owned()),
            () => What::Revision(what.to_owned()),
        }
    }
}

impl SubjectArgs {
    /// What there is to look at, but for what passes untested.
    pub fn subject(&self, purpose: Purpose<'_>) -> anyhow::Result<Subject> {
        let mut subject = match (&self.commit, &self.input) {
            (Some(revision), _) => self.of_commits(std::slice::from_ref(revision), purpose)?,
            (_, Some(input)) => self.of_samples(input)?,
            _ if self.github_comments.is_some() || self.gitlab_discussions.is_some() => {
                Subject::of(self.exported()?, self.repository.tree(None)?)
            }
            _ if self.pr.is_some() || self.mr.is_some() => self.of_platform(purpose)?,
            _ if self.text.is_some() || self.message.is_some() => self.of_text(purpose)?,
            _ => self.of_what(purpose)?,
        };
        if let Some(task) = self.task.as_deref().map(task_called).transpose()? {
            subject.groups.iter_mut().flat_map(|group| &mut group.samples).for_each(|sample| sample.task = task);
        }
        Ok(subject)
    }

    /// The one positional argument of a hook: the file with the message.
    pub fn only_file(&self) -> anyhow::Result<&Path> {
        match &self.what[..] {
            [file] if self.text.is_none() && self.message.is_none() => Ok(Path::new(file)),
            _ => Err(UsageError::error(
                "a commit-msg hook has one argument, the file with the message",
                "call it as git does: `veridiff check --hook commit-msg \"$1\"`",
            )),
        }
    }

    /// Where the repository is looked for, and the tree asked for.
    pub fn repository(&self) -> &RepositoryArgs {
        &self.repository
    }

    /// What the positional arguments name, each with its own text.
    fn of_what(&self, purpose: Purpose<'_>) -> anyhow::Result<Subject> {
        let mut all = Subject::default();
        for what in &self.what {
            let one = match What::of(what) {
                What::File(file) => self.of_file(&file)?,
                What::Range(range) => self.of_commits(&self.range(&range)?, purpose)?,
                What::Revision(revision) => self.of_commits(&[revision], purpose)?,
            };
            all.groups.extend(one.groups);
            all.unreadable.extend(one.unreadable);
        }
        if self.diff.is_some() {
            return Err(UsageError::error(
                "there is no text about the change",
                "give it as --message TEXT or as a file, --text FILE",
            ));
        }
        if self.what.is_empty() {
            let verb = purpose.verb;
            let hint = format!(
                "name a commit (`veridiff {verb} HEAD`), a file of samples or comments, or give a text about a diff: \
                 `git diff | veridiff {verb} -m TEXT`"
            );
            return Err(UsageError::error(format!("nothing to {verb}"), hint));
        }
        Ok(all)
    }

    /// The commits of a range, by the beginnings of their hashes.
    fn range(&self, range: &str) -> anyhow::Result<Vec<String>> {
        const DIGITS: usize = 10;
        let ids = Repository::discover(self.repository.dir())?.range(range)?;
        if ids.is_empty() {
            note(&format!("note: there is no commit in `{range}`"));
        }
        Ok(ids.into_iter().map(|id| id[..DIGITS].to_owned()).collect())
    }

    /// Commits and their messages.
    fn of_commits(&self, revisions: &[String], purpose: Purpose<'_>) -> anyhow::Result<Subject> {
        let mut subject = Subject::default();
        // what each is that passes, told together
        let mut passed: Vec<(&str, &str)> = Vec::new();
        for revision in revisions {
            let commit = self.commit(revision, purpose.verb)?;
            let is_merge = commit.parents.len() > 1;
            let made = if is_merge { Some(Made::Merge) } else { made(&commit.message) };
            let diff = commit.diff()?;
            match made.filter(|made| purpose.skips(*made)) {
                Some(made) => passed.push((revision.as_str(), made.what())),
                None if diff.trim().is_empty() => {
                    let passes = if purpose.skip.is_empty() { "" } else { ": passes untested" };
                    note(&format!("note: `{revision}` changes nothing{passes}"));
                }
                None => {
                    tell_unread(revision, &diff);
                    let sample = Sample { task: Task::Commit, ..Sample::new(revision, &diff, commit.message.trim()) };
                    let tree = self.repository.tree(Some(revision))?;
                    subject.groups.push(Group { tree, samples: vec![sample] });
                }
            }
        }
        match &passed[..] {
            [] => {}
            [(revision, what)] => {
                note(&format!("note: `{revision}` is {what}: passes untested (--skip none tests it)"))
            }
            _ => {
                let all = passed.iter().map(|(revision, what)| format!("`{revision}` is {what}"));
                let all = all.collect::<Vec<_>>().join(", ");
                note(&format!("note: {} commits pass untested (--skip none tests them): {all}", passed.len()));
            }
        }
        Ok(subject)
    }

    fn commit(&self, revision: &str, verb: &str) -> anyhow::Result<Commit> {
        let found = Repository::discover(self.repository.dir()).and_then(|repository| repository.commit(revision));
        found.map_err(|error| {
            let is_positional = self.what.iter().any(|what| what == revision);
            match is_positional {
                true if Path::new(revision).is_dir() => UsageError::error(
                    format!("`{revision}` is a folder, and no commit"),
                    format!("a commit of the repository there: `veridiff {verb} HEAD --repo {revision}`"),
                ),
                true if revision.contains(char::is_whitespace) => UsageError::error(
                    "a text needs the change that it is about",
                    format!(
                        "`veridiff {verb} HEAD -m TEXT` for a commit's, `git diff | veridiff {verb} -m TEXT` for another"
                    ),
                ),
                true if Path::new(revision).extension().is_some() => UsageError::error(
                    format!("there is no file `{revision}`, and no commit of that name"),
                    "check the path",
                ),
                _ => error.into(),
            }
        })
    }

    /// What a file holds: samples, or what a code host exported.
    fn of_file(&self, file: &Path) -> anyhow::Result<Subject> {
        let is_jsonl = file.extension().is_some_and(|ending| ending == "jsonl");
        if is_stdin(file) || is_jsonl {
            return self.of_samples(file);
        }
        let content = read(file)?;
        match content.trim_start().chars().next() {
            None => Err(UsageError::error(
                format!("`{}` is empty", file.display()),
                "see whether the command that writes it failed: a file of samples has one JSON object a line, an export of \
                 comments one list",
            )),
            Some('{') if !is_of_platform(&content) => self.of_samples(file),
            Some('[' | '{') => Ok(Subject::of(comments(file)?, self.repository.tree(None)?)),
            _ => Err(UsageError::error(
                format!("`{}` holds neither samples nor comments", file.display()),
                "if it is a diff, say what to check of it: --message TEXT or --text FILE; if it is the text, name the change: \
                 REV or --diff FILE, with --text FILE",
            )),
        }
    }

    fn of_samples(&self, input: &Path) -> anyhow::Result<Subject> {
        let read = samples_of(input)?;
        let unreadable: Vec<String> = read.unreadable.iter().map(|error| one_line(error)).collect();
        let samples = read.into_samples();
        if samples.is_empty() {
            return Err(UsageError::error(
                format!("`{}` has no sample that can be read", input.display()),
                unreadable
                    .into_iter()
                    .next()
                    .unwrap_or_else(|| "one JSON object a line: {\"id\": …, \"diff\": …, \"text\": …}".into()),
            ));
        }
        Ok(Subject { unreadable, ..Subject::of(samples, self.repository.tree(None)?) })
    }

    /// The comments of a pull request or a merge request.
    fn of_platform(&self, purpose: Purpose<'_>) -> anyhow::Result<Subject> {
        let (samples, tree) = match (&self.pr, &self.mr) {
            (Some(_), _) if purpose.is_offline => {
                return Err(UsageError::error(
                    "--pr asks GitHub, and --offline opens no socket",
                    "leave one out; `gh api repos/OWNER/REPO/pulls/N/comments --paginate` prints what --github-comments takes",
                ));
            }
            (_, Some(_)) if purpose.is_offline => {
                return Err(UsageError::error(
                    "--mr asks GitLab, and --offline opens no socket",
                    "leave one out; `glab api projects/ID/merge_requests/N/discussions` prints what --gitlab-discussions takes",
                ));
            }
            (Some(pull), _) => platform::pull_request(pull)?,
            (_, Some(merge)) => platform::merge_request(merge)?,
            (None, None) => return Ok(Subject::default()),
        };
        // a tree that is here is more than the names of a diff
        Ok(Subject::of(samples, self.repository.tree(None)?.or(tree)))
    }

    /// Comments that a code host exported.
    fn exported(&self) -> anyhow::Result<Vec<Sample>> {
        match (&self.github_comments, &self.gitlab_discussions, &self.diff) {
            (Some(file), ..) => comments(file),
            (_, Some(file), Some(diff)) => exported(gitlab_discussions(&read(file)?, &read(diff)?)),
            _ => bail!("--gitlab-discussions needs --diff with the merge request's diff"),
        }
    }

    /// One text about one change.
    fn of_text(&self, purpose: Purpose<'_>) -> anyhow::Result<Subject> {
        let mut tree = None;
        let (notes, sample) = match &self.what[..] {
            [] => self.diff_and_text(self.diff.as_deref(), purpose.verb)?,
            [what] => match What::of(what) {
                What::File(file) => self.diff_and_text(Some(&file), purpose.verb)?,
                What::Revision(revision) => {
                    let diff = self.commit(&revision, purpose.verb)?.diff()?;
                    tell_unread(&revision, &diff);
                    let text = self.text_alone()?;
                    tree = self.repository.tree(Some(&revision))?;
                    (Vec::new(), Sample { task: Task::Commit, ..Sample::new(&revision, &diff, &text) })
                }
                What::Range(range) => {
                    let hint = format!(
                        "name one commit, or give the range's diff: `git diff {range} | veridiff {} -m TEXT`",
                        purpose.verb
                    );
                    return Err(UsageError::error(format!("`{range}` is a range, and there is one text"), hint));
                }
            },
            _ => return Err(UsageError::error("there is one text, and more than one change", "name one REV or FILE")),
        };
        notes.iter().for_each(|told| note(&format!("note: {told}")));
        let text = if self.strip_comments { without_comments(&sample.text) } else { sample.text.trim().to_owned() };
        if text.is_empty() {
            let hint = match self.text.as_deref() {
                Some(path) if is_stdin(path) => {
                    "with `--text -` and no --diff, the text stands behind the diff, as `(git diff; cat MESSAGE)` prints them"
                }
                _ => "say what there is to check: --message TEXT or --text FILE",
            };
            return Err(UsageError::error("the text is blank", hint));
        }
        if self.task.as_deref().unwrap_or(sample.task.name()) == Task::Commit.name()
            && let Some(made) = made(&text).filter(|made| purpose.skips(*made))
        {
            passes(&format!("the message is that of {}", made.what()));
            return Ok(Subject::default());
        }
        let tree = tree.map_or_else(|| self.repository.tree(None), |tree| Ok(Some(tree)))?;
        Ok(Subject::of(vec![Sample { text, ..sample }], tree))
    }

    /// The text, where the change comes from elsewhere.
    fn text_alone(&self) -> anyhow::Result<String> {
        match (&self.message, &self.text) {
            (Some(message), _) => Ok(message.clone()),
            (None, Some(text)) => text_of(text),
            (None, None) => bail!("there is no text"),
        }
    }

    /// A change from a file, else from stdin, and the text, with what there is to tell of the change.
    fn diff_and_text(&self, diff: Option<&Path>, verb: &str) -> anyhow::Result<(Vec<String>, Sample)> {
        let stdin = Path::new("-");
        let is_text_stdin = self.text.as_deref().is_some_and(is_stdin);
        let (change, text) = match diff {
            Some(diff) if is_stdin(diff) && is_text_stdin => bail!("--diff and --text cannot both read stdin"),
            Some(diff) if self.text.as_deref() == Some(diff) => {
                return Err(UsageError::error(
                    format!("`{}` is given as the change and as the text", diff.display()),
                    "name the file with the text by --text, or give the text by --message",
                ));
            }
            Some(diff) => {
                let text = self.text_alone()?;
                (change_in(diff, &text)?, text)
            }
            None if std::io::stdin().is_terminal() => {
                let hint = format!(
                    "pipe a diff in, as in `git diff | veridiff {verb} -m TEXT`, name a commit (`veridiff {verb} HEAD -m TEXT`), \
                     or give --diff FILE"
                );
                return Err(UsageError::error("no change on stdin", hint));
            }
            None if is_text_stdin => change_and_text_in(stdin)?,
            None => {
                let text = self.text_alone()?;
                (change_in(stdin, &text)?, text)
            }
        };
        let notes = change.notes.iter().map(ToString::to_string).collect();
        let id = diff.filter(|diff| !is_stdin(diff)).map_or(UNNAMED.into(), |diff| diff.display().to_string());
        Ok((notes, Sample::new(&id, &change.diff, &text)))
    }
}

/// Says what of a commit's change cannot be read, such as its binary files.
fn tell_unread(revision: &str, diff: &str) {
    let change = input::read(diff).ok();
    change.iter().flat_map(|change| &change.notes).for_each(|told| note(&format!("note: `{revision}`: {told}")));
}

/// The text of a file. A sentence in the place of a path is not looked for on disk.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let words = path.as_os_str().to_string_lossy();
    if words.contains(char::is_whitespace) && !path.exists() {
        return Err(UsageError::error("--text names a file, and this is a sentence", "give it as --message TEXT (-m)"));
    }
    read(path)
}

fn comments(file: &Path) -> anyhow::Result<Vec<Sample>> {
    let found = github_comments(&read(file)?);
    // a gate that is given another list would be green for ever
    if let Ok(found) = &found
        && found.samples.is_empty()
        && found.n_left_out > 0
    {
        return Err(UsageError::error(
            format!("none of the {} comments in `{}` is on a line of a diff", found.n_left_out, file.display()),
            "those on lines are at `repos/OWNER/REPO/pulls/N/comments`; `issues/N/comments` are the conversation's",
        ));
    }
    let comments = exported(found)?;
    if comments.is_empty() {
        note(&format!("note: `{}` holds no comment on a line of a diff, so there is nothing to check", file.display()));
    }
    Ok(comments)
}

/// Comments with what was left out told.
fn exported(exported: Result<Exported, PlatformError>) -> anyhow::Result<Vec<Sample>> {
    let exported = exported.map_err(|error| {
        let hint = error.hint();
        UsageError::error(one_line(&error), hint)
    })?;
    platform::left_out(exported.n_left_out);
    Ok(exported.samples)
}
