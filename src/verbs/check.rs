//! `veridiff check`: is a text supported by its change? A gate for review bots and commit hooks.

use std::{
    io::IsTerminal,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use anyhow::bail;

use super::Outcome;
use crate::{
    args::{
        change::{commit, detector_called, diff_and_text, is_stdin, read, samples_of, task_called, without_comments},
        scoring::{ModelArgs, SettingArgs},
    },
    progress,
    terminal::{UsageError, note, print},
};
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_core::{
    families::{catalogue::SCORER, grounding::GROUNDING},
    gate::{Checker, Finding},
    run::batch::Batch,
    scorer::Settings,
};
use veridiff_detector::{Verdict, shipped};
use veridiff_report::findings::{page, rdjson_line, sarif};
use veridiff_text::{
    grounding,
    sample::{Sample, Task},
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
}

/// The verdict from which on a text fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Only what is called unsupported.
    Unsupported,
    /// What is too close to call as well.
    Abstain,
}

/// Arguments of `veridiff check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing to object to, 1 some text failed, 2 nothing ran, 3 some samples could not be checked."
)]
pub struct Args {
    /// The change: a file with a unified diff or one hunk; `-` reads stdin [default, with --text: stdin]
    #[arg(long, value_name = "FILE", requires = "text", conflicts_with_all = ["input", "commit"])]
    diff: Option<PathBuf>,
    /// The text about it: a file; `-` reads stdin, where it stands behind the diff unless --diff is given
    #[arg(long, value_name = "FILE", conflicts_with_all = ["input", "commit"])]
    text: Option<PathBuf>,
    /// Leave out lines of the text that start with `#`, and all below git's scissors, as a commit-msg hook must
    #[arg(long, requires = "text")]
    strip_comments: bool,
    /// A commit of the repository here: is its message true to its change?
    #[arg(long, value_name = "REV", conflicts_with = "input")]
    commit: Option<String>,
    /// Samples, one JSON object a line; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// What the text was written as: review or commit [default: review; commit with --commit; the sample's own with --input]
    #[arg(long)]
    task: Option<String>,
    /// A detector: a file that `fit` wrote, or one that ships with the program [default: the shipped one for the task]
    #[arg(long, value_name = "FILE|NAME")]
    detector: Option<String>,
    /// Attribute the text too, and show the lines of the diff that it rests on: slower
    #[arg(long)]
    full: bool,
    /// The verdict from which on a text fails
    #[arg(long, value_enum, default_value = "unsupported")]
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
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let (samples, unreadable) = args.samples()?;
    for problem in &unreadable {
        note(&format!("warning: {problem}"));
    }
    let mut output = Output::new(if args.json { Format::Json } else { args.format }, samples.len());
    // each task has a detector of its own
    for task in Task::ALL {
        let places: Vec<usize> = (0..samples.len()).filter(|&place| samples[place].task == task).collect();
        if !places.is_empty() {
            let of_task: Vec<&Sample> = places.iter().map(|&place| &samples[place]).collect();
            args.check(task, &of_task, |index, finding| output.take(places[index], finding))?;
        }
    }
    let findings = output.finish()?;

    let worst = findings.iter().filter_map(|finding| finding.verdict).max();
    let limit = match args.fail_on {
        FailOn::Unsupported => Verdict::Unsupported,
        FailOn::Abstain => Verdict::Abstain,
    };
    Ok(if !unreadable.is_empty() || findings.iter().any(|finding| finding.error.is_some()) {
        Outcome::SomeRowsFailed
    } else if worst >= Some(limit) && !args.exit_zero {
        Outcome::Flagged
    } else {
        Outcome::Done
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
                Format::Text => crate::terminal::print_styled(&page(finding))?,
                Format::Json => print(&format!("{}\n", serde_json::to_string(finding)?))?,
                Format::Rdjsonl => rdjson_line(finding).map_or(Ok(()), |line| print(&format!("{line}\n")))?,
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
        Ok(findings)
    }
}

impl Args {
    /// The samples, and what of the input could not be read.
    fn samples(&self) -> anyhow::Result<(Vec<Sample>, Vec<String>)> {
        let task = self.task.as_deref().map(task_called).transpose()?;
        let (mut samples, unreadable) = match (&self.text, &self.commit, &self.input) {
            (Some(text), ..) => (vec![self.diff_and_text(text)?], Vec::new()),
            (_, Some(revision), _) => (vec![commit(revision)?], Vec::new()),
            (.., Some(input)) => match samples_of(input)? {
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
            _ => {
                return Err(UsageError::error(
                    "nothing to check",
                    "give a diff on stdin with --text FILE, --diff FILE with --text FILE, --commit REV, or --input FILE",
                ));
            }
        };
        if let Some(task) = task {
            samples.iter_mut().for_each(|sample| sample.task = task);
        }
        Ok((samples, unreadable))
    }

    fn diff_and_text(&self, text: &Path) -> anyhow::Result<Sample> {
        let (diff, text) = match &self.diff {
            Some(diff) if is_stdin(diff) && is_stdin(text) => bail!("--diff and --text cannot both read stdin"),
            Some(diff) => (read(diff)?, read(text)?),
            None => {
                if std::io::stdin().is_terminal() {
                    return Err(UsageError::error(
                        "no change on stdin",
                        "pipe a diff in, as in `git diff | veridiff check --text FILE`, or give --diff FILE",
                    ));
                }
                let stdin = read(Path::new("-"))?;
                if is_stdin(text) {
                    let (diff, text) = diff_and_text(&stdin);
                    (diff.to_owned(), text.to_owned())
                } else {
                    (stdin, read(text)?)
                }
            }
        };
        let text = if self.strip_comments { without_comments(&text) } else { text.trim().to_owned() };
        if diff.trim().is_empty() {
            return Err(UsageError::error(
                "the change is blank",
                "`git diff --cached` prints what is about to be committed",
            ));
        }
        if text.is_empty() {
            return Err(UsageError::error(
                "the text is blank",
                "with `--text -` and no --diff, the text stands behind the diff: `(git diff; cat MESSAGE) | veridiff check --text -`",
            ));
        }
        Ok(Sample::new("stdin", &diff, &text))
    }

    /// Gives `done` the index and the finding of each of these samples of one task, as they come.
    fn check(
        &self,
        task: Task,
        samples: &[&Sample],
        mut done: impl FnMut(usize, Finding) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let detector = self.detector.as_deref().map_or_else(|| Ok(shipped::default_for(task)), detector_called)?;
        let checker = Checker::new(&detector, self.full)?;
        let settings =
            Settings { max_memory: self.model.max_memory, ..self.settings.settings(checker.features().clone())? };
        let scorer = match checker.scorer() {
            // whatever a model is called here, it stands for the one that the detector knows: its weights are compared
            Some(name) => Some(self.model.standing_for(name).scorer()?),
            None if checker.features().needs_source(SCORER) => Some(self.model.scorer()?),
            None => None,
        };
        let mut provenance = settings.provenance();
        provenance.extend(scorer.iter().flat_map(|scorer| scorer.provenance().clone()));
        provenance.insert(GROUNDING.to_owned(), grounding::version());
        for difference in detector.check_provenance(&provenance, &CATALOGUE)? {
            note(&format!("note: {difference} in training: verdicts near a threshold may differ"));
        }
        let bar = progress::work(samples.len() as u64);
        let mut take = |index, finding| {
            bar.inc(1);
            bar.suspend(|| done(index, finding))
        };
        let ended = match &scorer {
            None => {
                samples.iter().enumerate().try_for_each(|(index, sample)| take(index, checker.without_model(sample)))
            }
            Some(scorer) => {
                let batch = Batch { scorer, settings: &settings };
                let ended = batch.run_by(
                    samples,
                    &|sample, workspace| checker.with_model(scorer, &settings, sample, workspace),
                    |index, finding| take(index, finding).map_or_else(ControlFlow::Break, ControlFlow::Continue),
                );
                ended.break_value().map_or(Ok(()), Err)
            }
        };
        bar.finish_and_clear();
        ended
    }
}
