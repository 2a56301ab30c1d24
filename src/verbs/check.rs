//! `veridiff check`: is a text supported by its change? A gate for review bots and commit hooks.

use std::{
    io::IsTerminal,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use super::Exit;
use crate::{
    args::{
        change::{
            change_and_text_in, change_in, commit, detector_called, is_stdin, read, samples_of, task_called,
            without_comments,
        },
        repository::RepositoryArgs,
        rules::{FailOn, RuleArgs},
        scoring::{ModelArgs, SettingArgs},
    },
    progress,
    terminal::{UsageError, note, print},
};
use veridiff_core::{
    families::catalogue::FeatureSet,
    finding::Finding,
    gate::{Gate, GateOptions},
    settings::Settings,
};
use veridiff_report::findings::{github, html_page, page, rdjson_lines, sarif, summary};
use veridiff_table::files;
use veridiff_text::{
    chain::one_line,
    sample::{
        Sample, Task,
        platforms::{PlatformError, github_comments, gitlab_discussions},
    },
};

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For a person.
    Text,
    /// One JSON object a line.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// reviewdog's diagnostics, one a line.
    Rdjsonl,
    /// Annotations of GitHub Actions.
    Github,
}

/// Arguments of `veridiff check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing to object to, 1 some text failed, 2 nothing ran, 3 some samples could not be checked."
)]
pub struct Args {
    /// The change: a file with a unified diff or one hunk; `-` reads stdin [default, with --text: stdin]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "commit"])]
    diff: Option<PathBuf>,
    /// The text about it: a file; `-` reads stdin, where it stands behind the diff unless --diff is given
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "commit"])]
    text: Option<PathBuf>,
    /// Leave out lines of the text that start with `#`, and all below git's scissors, as a commit-msg hook must
    #[arg(long, requires = "text")]
    strip_comments: bool,
    /// A commit of the repository: is its message true to its change?
    #[arg(long, value_name = "REV", conflicts_with = "input")]
    commit: Option<String>,
    /// GitHub's review comments: what `gh api repos/OWNER/REPO/pulls/N/comments --paginate` prints; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "commit", "text", "diff"])]
    github_comments: Option<PathBuf>,
    /// GitLab's discussions of a merge request, beside its diff: what `glab api projects/ID/merge_requests/N/discussions` prints
    #[arg(long, value_name = "FILE", requires = "diff", conflicts_with_all = ["input", "commit", "text", "github_comments"])]
    gitlab_discussions: Option<PathBuf>,
    /// Samples, one JSON object a line; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgs,
    /// What the text was written as [default: review; commit with --commit; the sample's own with --input]
    #[arg(long, value_parser = Task::ALL.map(Task::name))]
    task: Option<String>,
    /// A detector: a file that `fit` wrote, one that ships with the program, or `none` to ask the change alone, which needs no model
    /// [default: the shipped one for the task]
    #[arg(long, value_name = "FILE|NAME")]
    detector: Option<String>,
    /// Attribute the text too, and show the lines of the diff that it rests on: slower
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    rules: RuleArgs,
    /// The verdict from which on a text fails: contradicted, unsupported or abstain; or codes of rules, with commas
    #[arg(long, value_name = "VERDICT|CODES", default_value = "unsupported")]
    fail_on: FailOn,
    /// Exit with 0 even if a text failed
    #[arg(long)]
    exit_zero: bool,
    /// How findings are written
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: Format,
    /// One JSON object a sample
    #[arg(long)]
    json: bool,
    /// Write a page for the browser too, sorted by verdict, on which texts are labelled with one key each
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let (samples, unreadable) = args.samples()?;
    for problem in &unreadable {
        note(&format!("warning: {problem}"));
    }
    if let Some(path) = &args.html {
        files::check(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let mut output = Output::new(if args.json { Format::Json } else { args.format }, samples.len());
    args.check(&samples, |index, finding| output.take(index, finding))?;
    let findings = output.finish()?;
    if let Some(path) = &args.html {
        files::write(path, html_page(&samples, &findings))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        note(&format!("page written to {}", path.display()));
    }

    let fails = findings.iter().any(|finding| args.fail_on.is_met(finding));
    Ok(if !unreadable.is_empty() || findings.iter().any(|finding| finding.error.is_some()) {
        Exit::SomeRowsFailed
    } else if fails && !args.exit_zero {
        Exit::Flagged
    } else {
        Exit::Done
    })
}

/// Findings on their way out, in the order of the samples: each is written as soon as those before it are there.
struct Output {
    format: Format,
    findings: Vec<Option<Finding>>,
    n_written: usize,
}

impl Output {
    fn new(format: Format, n_samples: usize) -> Self {
        Output { format, findings: vec![None; n_samples], n_written: 0 }
    }

    /// The finding of the sample at `place`.
    fn take(&mut self, place: usize, finding: Finding) -> anyhow::Result<()> {
        self.findings[place] = Some(finding);
        while let Some(Some(finding)) = self.findings.get(self.n_written) {
            match self.format {
                Format::Text => crate::terminal::print_styled(&page(finding, self.findings.len() > 1))?,
                Format::Json => print(&format!("{}\n", serde_json::to_string(finding)?))?,
                Format::Rdjsonl => rdjson_lines(finding).iter().try_for_each(|line| print(&format!("{line}\n")))?,
                Format::Github => print(&github(finding))?,
                // one document of all
                Format::Sarif => {}
            }
            self.n_written += 1;
        }
        Ok(())
    }

    /// All findings, now that each was taken.
    fn finish(self) -> anyhow::Result<Vec<Finding>> {
        let findings: Vec<Finding> = self.findings.into_iter().flatten().collect();
        if self.format == Format::Sarif {
            print(&format!("{}\n", serde_json::to_string_pretty(&sarif(&findings))?))?;
        }
        if self.format == Format::Text && findings.len() > 1 {
            print(&format!("{}\n", summary(&findings)))?;
        }
        Ok(findings)
    }
}

impl Args {
    /// The samples, and what of the input could not be read.
    fn samples(&self) -> anyhow::Result<(Vec<Sample>, Vec<String>)> {
        let task = self.task.as_deref().map(task_called).transpose()?;
        let (mut samples, unreadable) = match (&self.text, &self.commit, &self.input) {
            (Some(text), ..) => (vec![self.diff_and_text(text)?], Vec::new()),
            (_, Some(revision), _) => (vec![commit(self.repository.dir(), revision)?], Vec::new()),
            (.., Some(input)) => match read_samples(input)? {
                (samples, unreadable) if samples.is_empty() => {
                    return Err(UsageError::error(
                        format!("`{}` has no sample that can be read", input.display()),
                        unreadable
                            .into_iter()
                            .next()
                            .unwrap_or_else(|| "one JSON object a line: {\"diff\": …, \"text\": …}".into()),
                    ));
                }
                read => read,
            },
            _ if self.github_comments.is_some() || self.gitlab_discussions.is_some() => (self.exported()?, Vec::new()),
            _ => {
                return Err(UsageError::error(
                    "nothing to check",
                    "give a diff on stdin with --text FILE, --diff FILE with --text FILE, --commit REV, --input FILE or \
                     --github-comments FILE",
                ));
            }
        };
        if let Some(task) = task {
            samples.iter_mut().for_each(|sample| sample.task = task);
        }
        Ok((samples, unreadable))
    }

    /// Comments that a code host exported.
    fn exported(&self) -> anyhow::Result<Vec<Sample>> {
        let refuse = |error: PlatformError| {
            let hint = error.hint();
            UsageError::error(one_line(&error), hint)
        };
        let exported = match (&self.github_comments, &self.gitlab_discussions, &self.diff) {
            (Some(file), ..) => github_comments(&read(file)?).map_err(refuse)?,
            (_, Some(file), Some(diff)) => gitlab_discussions(&read(file)?, &read(diff)?).map_err(refuse)?,
            _ => bail!("--gitlab-discussions needs --diff with the merge request's diff"),
        };
        if exported.n_left_out > 0 {
            note(&format!("note: {} comments on no line of the diff were left out", exported.n_left_out));
        }
        Ok(exported.samples)
    }

    fn diff_and_text(&self, text: &Path) -> anyhow::Result<Sample> {
        let (change, text) = match &self.diff {
            Some(diff) if is_stdin(diff) && is_stdin(text) => bail!("--diff and --text cannot both read stdin"),
            Some(diff) => {
                let text = read(text)?;
                (change_in(diff, &text)?, text)
            }
            None => {
                if std::io::stdin().is_terminal() {
                    return Err(UsageError::error(
                        "no change on stdin",
                        "pipe a diff in, as in `git diff | veridiff check --text FILE`, or give --diff FILE",
                    ));
                }
                let stdin = Path::new("-");
                if is_stdin(text) {
                    change_and_text_in(stdin)?
                } else {
                    let text = read(text)?;
                    (change_in(stdin, &text)?, text)
                }
            }
        };
        for told in &change.notes {
            note(&format!("note: {told}"));
        }
        let text = if self.strip_comments { without_comments(&text) } else { text.trim().to_owned() };
        if text.is_empty() {
            return Err(UsageError::error(
                "the text is blank",
                "with `--text -` and no --diff, the text stands behind the diff: `(git diff; cat MESSAGE) | veridiff check --text -`",
            ));
        }
        Ok(Sample::new("stdin", &change.diff, &text))
    }

    fn is_without_detector(&self) -> bool {
        self.detector.as_deref() == Some("none")
    }

    /// Gives `done` the index and the finding of each sample, as they come.
    fn check(
        &self,
        samples: &[Sample],
        mut done: impl FnMut(usize, Finding) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let settings = Settings { max_memory: self.model.max_memory, ..self.settings.settings(FeatureSet::default())? };
        let gate = Gate::open(GateOptions {
            detector: self
                .detector
                .as_deref()
                .filter(|_| !self.is_without_detector())
                .map(detector_called)
                .transpose()?,
            facts_only: self.is_without_detector(),
            rules: self.rules.choice()?,
            tree: self.repository.tree(self.commit.as_deref())?,
            tasks: Task::ALL.into_iter().filter(|&task| samples.iter().any(|sample| sample.task == task)).collect(),
            full: self.full,
            settings,
            models: self.model.options()?,
        })?;
        for difference in gate.notes() {
            note(&format!("note: {difference} in training: verdicts near a threshold may differ"));
        }
        let bar = progress::work(samples.len() as u64);
        let mut failed = Ok(());
        let samples: Vec<&Sample> = samples.iter().collect();
        let _ended = gate.check_each(&samples, &mut |index, finding| {
            bar.inc(1);
            failed = bar.suspend(|| done(index, finding));
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        bar.finish_and_clear();
        failed
    }
}

/// The samples of an input, and what is wrong with the lines that are none.
fn read_samples(input: &Path) -> anyhow::Result<(Vec<Sample>, Vec<String>)> {
    let read = samples_of(input)?;
    let unreadable = read.unreadable.iter().map(|error| one_line(error)).collect();
    Ok((read.into_samples(), unreadable))
}
