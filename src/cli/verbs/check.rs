//! `veridiff check`: is a text supported by its change? A gate for review bots and commit hooks.

use std::{collections::HashSet, ops::ControlFlow, path::PathBuf};

use anyhow::Context;
use clap::Args as _;

use super::{Exit, hook, judged::Beside};
use crate::cli::{
    args::{
        JUDGING, OUTPUT,
        change::{DetectorChoice, open_gate},
        choice,
        execution::executions_in,
        rules::{FailOn, RuleArgs},
        scoring::{ModelArgs, SettingArgs},
        subject::{Group, INPUT, Purpose, SKIPPED, Subject, SubjectArgs},
    },
    progress,
    terminal::{note, print},
};
use veridiff_core::{gate::GateOptions, settings::Settings};
use veridiff_facts::{
    case::Case,
    execution::{ExecutionRule, Executions},
    finding::Finding,
    verdict::Verdict,
};
use veridiff_report::findings::{codequality, github, html_page, page, rdjson_lines, sarif, summary};
use veridiff_table::files;
use veridiff_text::sample::{Sample, Task};

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
    /// GitLab's report of code quality.
    Codequality,
}

/// What `check` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff check HEAD                                  # is the message true to the commit?
  veridiff check HEAD~3..                              # the same of every commit of a range
  veridiff check HEAD -m 'Adds a retry to `fetch`.'    # a sentence about a commit
  git diff | veridiff check -m 'Adds a retry to `fetch`.'
  veridiff check --diff fetch.diff --text comment.txt
  veridiff check comments.jsonl --format sarif > veridiff.sarif
  veridiff check reviews.jsonl --execution verified.jsonl --execution-rule veto
  veridiff check --pr octocat/hello-world#1347         # the review comments of a pull request
  veridiff check --mr 'gitlab-org/cli!1347'            # the discussions of a merge request
  veridiff check --hook commit-msg \"$1\"                # as .git/hooks/commit-msg

Exit status: 0 nothing to object to, 1 some text failed, 2 nothing ran, 3 some samples could not be checked.";

/// A hook of git that `check` can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Hook {
    /// Before a commit is made: the message against what is staged.
    CommitMsg,
}

/// Arguments of `veridiff check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Commit messages that pass untested, since git made them: merges, reverts, fixups (with squash! and amend!); or none
    #[arg(long, value_name = "KINDS", value_delimiter = ',', default_value = "merges,reverts,fixups", value_parser = SKIPPED,
          help_heading = INPUT, hide_short_help = true)]
    skip: Vec<String>,
    /// A detector: a file that `fit` wrote, one that ships with the program, or `none` to ask the change alone, which needs no model
    /// [default: the shipped one for the task; none with --hook]
    #[arg(long, value_name = "FILE|NAME", help_heading = JUDGING)]
    detector: Option<String>,
    /// Ask a language model too, and show its score and its reasons, which decide nothing: `local:MODEL`, `openai:URL#MODEL` or another
    /// backend of `judge`
    #[arg(long, value_name = "SPEC", conflicts_with = "hook", help_heading = JUDGING, hide_short_help = true)]
    judge: Option<String>,
    /// Read what `verify` wrote about the programs that texts are about, joined by id, and show it as evidence
    #[arg(long, value_name = "FILE", conflicts_with = "hook", help_heading = JUDGING, hide_short_help = true)]
    execution: Option<PathBuf>,
    /// What execution may do to a verdict: show, nothing; override, decide it; veto, take an accusation back. Only what the program
    /// could not have forged decides
    #[arg(long, value_name = "RULE", default_value = "show", requires = "execution", help_heading = JUDGING, hide_short_help = true,
          value_parser = choice::<ExecutionRule>(ExecutionRule::NAMES))]
    execution_rule: ExecutionRule,
    #[command(flatten)]
    rules: RuleArgs,
    /// The verdict from which on a text fails: contradicted, unsupported or abstain; or codes of rules, with commas [default:
    /// unsupported; contradicted with --hook]
    #[arg(long, value_name = "VERDICT|CODES", help_heading = JUDGING)]
    fail_on: Option<FailOn>,
    /// Exit with 0 even if a text failed
    #[arg(long, help_heading = JUDGING, hide_short_help = true)]
    exit_zero: bool,
    /// Be git's hook of this name, which gives the message's file: warn, and stop the commit only of a text that fails
    #[arg(long, value_name = "NAME", value_enum, requires = "what", conflicts_with_all = ["text", "message"],
          help_heading = JUDGING)]
    hook: Option<Hook>,
    /// Attribute the text too, and show the lines of the diff that it rests on: slower
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    full: bool,
    /// How findings are written
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json", help_heading = OUTPUT)]
    format: Format,
    /// One JSON object a sample, the same as `--format json`
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    json: bool,
    /// Write a page for the browser too, sorted by verdict, on which texts are labelled with one key each
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    html: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
}

/// The verb without what cannot do anything in it: how features are computed follows from the detector. What is given all the same is
/// compared with the detector, as in every verb. A prompt of one's own is not in the detector's file and must be given.
pub fn shown(verb: clap::Command) -> clap::Command {
    let settings = SettingArgs::augment_args(clap::Command::new("settings"));
    let hidden: Vec<clap::Id> = settings.get_arguments().map(|arg| arg.get_id().clone()).collect();
    let hidden = hidden.iter().filter(|id| id.as_str() != "template");
    let verb = hidden.fold(verb, |verb, id| verb.mut_arg(id.as_str(), |arg| arg.hide(true)));
    ["device", "dtype"].into_iter().fold(verb, |verb, id| verb.mut_arg(id, |arg| arg.hide_short_help(true)))
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let purpose = Purpose { verb: "check", skip: &args.skip, is_offline: args.model.place.offline };
    let subject = match args.hook {
        Some(Hook::CommitMsg) => hook::subject(&args.subject, purpose)?,
        None => args.subject.subject(purpose)?,
    };
    for problem in &subject.unreadable {
        note(&format!("warning: {problem}"));
    }
    if let Some(path) = &args.html {
        files::check(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let format = if args.json { Format::Json } else { args.format };
    let mut output = Output::new(format, subject.samples().count(), args.hook.is_some());
    args.check(&subject, |index, finding| output.take(index, finding))?;
    let findings = output.finish(&subject.unreadable)?;
    if let Some(path) = &args.html {
        files::write(path, html_page(&subject.samples().collect::<Vec<_>>(), &findings))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
        note(&format!("page written to {}", path.display()));
    }

    let default = if args.hook.is_some() { Verdict::Contradicted } else { Verdict::Unsupported };
    let fail_on = args.fail_on.clone().unwrap_or(FailOn::Verdict(default));
    let fails = !args.exit_zero && findings.iter().any(|finding| fail_on.is_met(finding));
    if args.hook.is_some() {
        return Ok(hook::end(&findings, fails));
    }
    Ok(if !subject.unreadable.is_empty() || findings.iter().any(|finding| finding.error.is_some()) {
        Exit::SomeRowsFailed
    } else if fails {
        Exit::Flagged
    } else {
        Exit::Done
    })
}

/// Asks the rules of the first change, where it is short: they compile their patterns when they are first asked.
fn warm_rules(subject: &Subject) {
    const SHORT: usize = 1 << 16;
    if let Some(first) = subject.samples().next().filter(|sample| sample.diff.len() + sample.text.len() < SHORT)
        && let Ok(case) = Case::of_sample(first)
    {
        let _ = case.judgement();
    }
}

/// Findings on their way out, in the order of the samples: each is written as soon as those before it are there.
struct Output {
    format: Format,
    findings: Vec<Option<Finding>>,
    n_written: usize,
    /// Whether only what is objected to is shown to a person.
    only_objections: bool,
}

impl Output {
    fn new(format: Format, n_samples: usize, only_objections: bool) -> Self {
        Output { format, findings: vec![None; n_samples], n_written: 0, only_objections }
    }

    /// The finding of the sample at `place`.
    fn take(&mut self, place: usize, finding: Finding) -> anyhow::Result<()> {
        self.findings[place] = Some(finding);
        while let Some(Some(finding)) = self.findings.get(self.n_written) {
            match self.format {
                Format::Text if self.only_objections && !hook::objects(finding) => {}
                Format::Text => crate::cli::terminal::print_styled(&page(finding, self.findings.len() > 1))?,
                Format::Json => print(&format!("{}\n", serde_json::to_string(finding)?))?,
                Format::Rdjsonl => rdjson_lines(finding).iter().try_for_each(|line| print(&format!("{line}\n")))?,
                Format::Github => print(&github(finding))?,
                // one document of all
                Format::Sarif | Format::Codequality => {}
            }
            self.n_written += 1;
        }
        Ok(())
    }

    /// All findings, now that each was taken; some lines of the input are `unreadable`.
    fn finish(self, unreadable: &[String]) -> anyhow::Result<Vec<Finding>> {
        let findings: Vec<Finding> = self.findings.into_iter().flatten().collect();
        if self.format == Format::Sarif {
            print(&format!("{}\n", serde_json::to_string_pretty(&sarif(&findings, unreadable))?))?;
        }
        if self.format == Format::Codequality {
            print(&format!("{}\n", serde_json::to_string_pretty(&codequality(&findings))?))?;
        }
        if self.format == Format::Text && findings.len() > 1 {
            print(&format!("{}\n", summary(&findings)))?;
        }
        Ok(findings)
    }
}

impl Args {
    /// The detector that was asked for; `None` where the change alone is asked.
    fn detector(&self) -> anyhow::Result<Option<DetectorChoice>> {
        match self.detector.as_deref() {
            None if self.hook.is_some() => Ok(None),
            name => DetectorChoice::named(name),
        }
    }

    /// What `verify` found of the programs; nothing where none was asked for.
    fn executions(&self, subject: &Subject) -> anyhow::Result<Executions> {
        let Some(path) = &self.execution else { return Ok(Executions::default()) };
        let executions = executions_in(path)?;
        let ids: HashSet<&str> = subject.samples().map(|sample| sample.id.as_str()).collect();
        let (n, n_known) = (executions.ids().count(), executions.ids().filter(|id| ids.contains(id)).count());
        if n_known < n {
            note(&format!(
                "note: {} of the {n} results of `{}` are about texts that are not here",
                n - n_known,
                path.display()
            ));
        }
        Ok(executions)
    }

    /// Gives `done` the index and the finding of each sample, as they come.
    fn check(
        &self,
        subject: &Subject,
        mut done: impl FnMut(usize, Finding) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let n = subject.samples().count();
        let (rules, detector) = (self.rules.choice(), self.detector()?);
        if n == 0 {
            return Ok(());
        }
        let trained = detector.as_ref().map_or_else(Settings::default, DetectorChoice::settings);
        let settings = Settings { max_memory: self.model.place.max_memory, ..self.settings.over(trained)? };
        let has = |task: &Task| subject.samples().any(|sample| sample.task == *task);
        let options = GateOptions {
            facts_only: detector.is_none(),
            detector: detector.and_then(DetectorChoice::given),
            rules,
            tree: None,
            tasks: Task::ALL.into_iter().filter(has).collect(),
            full: self.full,
            settings,
            models: self.model.options()?,
            scorer: None,
        };
        let mut gate = progress::waiting("loading", || {
            std::thread::scope(|scope| {
                // what rules are made of is made while the model is read
                if !options.facts_only {
                    scope.spawn(|| warm_rules(subject));
                }
                open_gate(options)
            })
        })?;
        for difference in gate.notes() {
            note(&format!("note: {difference} in training: verdicts near a threshold may differ"));
        }
        let executions = self.executions(subject)?;
        let judge = Beside::open(self.judge.as_deref(), &self.model.place, n)?;
        let bar = progress::work(n, "texts");
        let mut n_before = 0;
        for Group { tree, samples } in &subject.groups {
            gate.set_tree(tree.clone());
            let samples: Vec<&Sample> = samples.iter().collect();
            let mut failed = Ok(());
            let _ended = gate.check_each(&samples, &mut |index, mut finding| {
                finding.judge = judge.as_ref().map(|judge| judge.finding(samples[index]));
                executions.stand_beside(&mut finding, self.execution_rule);
                bar.inc(1);
                failed = progress::beside_bars(|| done(n_before + index, finding));
                if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            failed?;
            n_before += samples.len();
        }
        Ok(())
    }
}
