//! `veridiff explain`: one diff and one text, token by token.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::Context;

use super::{Exit, judged::Beside};
use crate::cli::{
    args::{
        JUDGING, OUTPUT,
        change::DetectorChoice,
        rules::RuleArgs,
        scoring::{ModelArgs, SettingArgs},
        subject::{Group, INPUT, Purpose, Subject, SubjectArgs, UNNAMED},
    },
    progress::waiting,
    terminal::{UsageError, has_colours, note, print},
};
use veridiff_core::{
    Error,
    families::catalogue::FeatureSet,
    focus::Focused,
    gate::{Gate, GateOptions, Shown},
    scorer::Scorer,
    settings::Settings,
};
use veridiff_detector::Detector;
use veridiff_facts::checker::SharedTree;
use veridiff_report::{
    explain::{Colours, Detail, Explanation, Screen, html_page, terminal_page},
    findings::judge_lines,
};
use veridiff_table::{Table, files};
use veridiff_text::sample::{Sample, Task};

/// Columns of a page that is written to no terminal.
const DEFAULT_WIDTH: usize = 100;

/// Tokens of the prompt times tokens of the text up to which a page has attribution unasked. With the default model 986 times 9 took 37 s
/// of processor time and 1,982 times 9 took 88 s.
const MAX_ATTRIBUTED: usize = 20_000;

/// What `explain` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff explain HEAD --html page.html                     # a commit and its message
  veridiff explain HEAD -m 'Adds a retry to `fetch`.'        # a sentence about a commit
  git diff | veridiff explain -m 'Adds a retry to `fetch`.'
  veridiff explain --diff fetch.diff --text comment.txt --phrase 'never closed'
  veridiff explain samples.jsonl --id a --detector review";

/// Arguments of `veridiff explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Which text, where there are several: the id of its sample or comment, or a commit
    #[arg(long, help_heading = INPUT)]
    id: Option<String>,
    /// Show what this token of the text rests on, counted from 1; N-M for several
    #[arg(long, value_name = "N", conflicts_with = "phrase", help_heading = OUTPUT, hide_short_help = true)]
    token: Option<TokenRange>,
    /// Show what these words of the text rest on, where they first occur
    #[arg(long, value_name = "WORDS", help_heading = OUTPUT)]
    phrase: Option<String>,
    /// A detector, a file that `fit` wrote or one that ships with the program, or `none` for the facts alone [default: the shipped one
    /// for the task, unless --model names another model]
    #[arg(long, value_name = "FILE|NAME", help_heading = JUDGING)]
    detector: Option<String>,
    #[command(flatten)]
    rules: RuleArgs,
    /// Ask a language model too, and show its score and its reasons, which decide nothing: `local:MODEL`, `openai:URL#MODEL` or another
    /// backend of `judge`
    #[arg(long, value_name = "SPEC", help_heading = JUDGING)]
    judge: Option<String>,
    /// Show what the model read too: surprise and attribution of every token, and the features; slower. A page has these without, unless
    /// that takes minutes
    #[arg(long, help_heading = OUTPUT)]
    full: bool,
    /// A feature table: where each feature falls among its rows; features of other models from its row with the sample's id
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, hide_short_help = true)]
    table: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Write one self-contained page for the browser
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    html: Option<PathBuf>,
    /// Print everything as one JSON object
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
    /// Columns of the page for the terminal [default: the terminal's, else 100]
    #[arg(long, value_name = "COLUMNS", help_heading = OUTPUT, hide_short_help = true)]
    width: Option<usize>,
}

/// The verb whose short help leaves out where a model runs and what only papers choose.
pub fn shown(verb: clap::Command) -> clap::Command {
    ["device", "dtype", "preset"].into_iter().fold(verb, |verb, id| verb.mut_arg(id, |arg| arg.hide_short_help(true)))
}

/// Tokens of the text as a person counts them.
#[derive(Debug, Clone)]
struct TokenRange {
    /// From 1, inclusive.
    first: usize,
    last: usize,
}

impl FromStr for TokenRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 1 <= first && first <= last => Ok(TokenRange { first, last }),
            _ => {
                Err("give a token's number from 1 on, such as 3, or the first and last of several, such as 3-5".into())
            }
        }
    }
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let (sample, tree) = args.sample()?;
    // whatever can be wrong with files shows before the model runs
    let detector = DetectorChoice::named(args.detector.as_deref())?;
    let mut shown = args.features()?;
    let table = args.table.as_deref().map(Table::read).transpose()?;
    args.html.as_deref().map(check_writable).transpose()?;
    let (Shown { gate, others, note: no_detector }, settings) =
        waiting("loading", || args.open(sample.task, detector))?;
    let readers = gate.readers(sample.task);
    let first = readers.first().or(others.first()).ok_or(Error::NoReader)?;
    args.check_chosen(first, &sample, &settings)?;
    let columns = gate.detector(sample.task).map_or_else(Vec::new, Detector::feature_names);
    let left_out = args.leave_out_costly(first, &sample, &columns, &settings, &mut shown)?;
    let what = if shown.needs_attribution() { "attributing the text" } else { "reading the text" };
    let read = || Explanation::of_sample(&gate, &sample, &shown, &others, &settings, tree.clone());
    let mut explanation = waiting(what, read)?;
    explanation.notes.extend(no_detector.into_iter().chain(left_out));
    if let (Some(table), Some(path)) = (&table, &args.table) {
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
        explanation.compare(table, &name).with_context(|| format!("cannot use the table `{}`", path.display()))?;
    }
    let judge = Beside::open(args.judge.as_deref(), &args.model.place, 1)?;
    explanation.finding.judge = judge.map(|judge| judge.finding(&sample));
    if let Some(tokens) = args.chosen(&explanation)? {
        explanation.choose(tokens);
    }
    let lines: Vec<String> = explanation.finding.judge.iter().flat_map(judge_lines).collect();
    if args.json {
        print(&format!("{}\n", serde_json::to_string(&explanation)?))?;
    } else if args.html.is_none() {
        let detail = if args.full || args.table.is_some() { Detail::Full } else { Detail::Brief };
        print(&terminal_page(&explanation, screen(args.width), detail))?;
        lines.iter().try_for_each(|line| print(&format!("{line}\n")))?;
    }
    if let Some(path) = &args.html {
        explanation.notes.extend(lines);
        write_page(path, &explanation)?;
    }
    Ok(Exit::Done)
}

/// Whether a page can be written there, before the model runs.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    files::check(path).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Writes the page for the browser and says so.
fn write_page(path: &Path, explanation: &Explanation) -> anyhow::Result<()> {
    files::write(path, html_page(explanation)).with_context(|| format!("cannot write `{}`", path.display()))?;
    note(&format!("page written to {}", path.display()));
    Ok(())
}

/// What stdout is: its width, and the colours it takes.
fn screen(width: Option<usize>) -> Screen {
    let stdout = std::io::stdout();
    let of_terminal = || terminal_size::terminal_size_of(&stdout).map(|(width, _)| usize::from(width.0));
    let colours = match () {
        () if !has_colours() => Colours::None,
        () if anstyle_query::truecolor() => Colours::TrueColor,
        () => Colours::Ansi256,
    };
    Screen { width: width.or_else(of_terminal).unwrap_or(DEFAULT_WIDTH), colours }
}

impl Args {
    /// Opens the gate of `check`, and the models that read the text where its detector uses none. A detector that nobody named and that is
    /// for other models or settings than the given ones is left out.
    fn open(&self, task: Task, detector: Option<DetectorChoice>) -> anyhow::Result<(Shown, Settings)> {
        let trained = detector.as_ref().map_or_else(Settings::default, DetectorChoice::settings);
        let settings = Settings { max_memory: self.model.place.max_memory, ..self.settings.over(trained)? };
        let or_rules = matches!(detector, Some(DetectorChoice::Shipped));
        let options = GateOptions {
            facts_only: detector.is_none(),
            detector: detector.and_then(DetectorChoice::given),
            rules: self.rules.choice(),
            settings: settings.clone(),
            models: self.model.options()?,
            ..GateOptions::default()
        };
        Ok((Gate::open_to_show(options, task, or_rules)?, settings))
    }

    /// What is measured: attribution takes most of the time, and not every page shows it.
    fn features(&self) -> anyhow::Result<FeatureSet> {
        let shows_attribution =
            self.full || self.json || self.html.is_some() || self.token.is_some() || self.phrase.is_some();
        // a table of the user's may be about it; what a detector needs is measured besides
        if shows_attribution || self.table.is_some() {
            return Ok(FeatureSet::default());
        }
        Ok(FeatureSet::parse(&["uncertainty"])?)
    }

    /// Leaves attribution out of a page where it would take minutes and neither the user nor the detector asked for it, and says so.
    fn leave_out_costly(
        &self,
        scorer: &Scorer,
        sample: &Sample,
        columns: &[String],
        settings: &Settings,
        shown: &mut FeatureSet,
    ) -> anyhow::Result<Option<String>> {
        let is_asked = self.full || self.json || self.token.is_some() || self.phrase.is_some() || self.table.is_some();
        let least = FeatureSet::parse(&["uncertainty"])?;
        let is_needed = scorer.features_for(&least, columns).needs_attribution();
        if is_asked || is_needed || !shown.needs_attribution() {
            return Ok(None);
        }
        let (n_prompt, n_text) = Focused::n_tokens(scorer, sample, settings)?;
        if n_prompt * n_text <= MAX_ATTRIBUTED {
            return Ok(None);
        }
        *shown = least;
        Ok(Some(format!(
            "what the text rests on is left out: attribution of {n_text} tokens to {n_prompt} takes minutes; --full computes it"
        )))
    }

    /// The text that is explained, its change, and the tree around that.
    fn sample(&self) -> anyhow::Result<(Sample, Option<SharedTree>)> {
        let Subject { groups, unreadable, .. } =
            self.subject.subject(Purpose { verb: "explain", skip: &[], is_offline: self.model.place.offline })?;
        let all = groups
            .into_iter()
            .flat_map(|Group { tree, samples }| samples.into_iter().map(move |sample| (sample, tree.clone())));
        let mut all: Vec<(Sample, Option<SharedTree>)> = all.collect();
        let n = all.len();
        let place = match &self.id {
            Some(id) => all.iter().position(|(sample, _)| sample.id == *id).ok_or_else(|| {
                let hint = match unreadable.first() {
                    None => format!("ids are compared letter by letter; there {}", ids(&all)),
                    Some(first) => {
                        format!("{} of the lines cannot be read, the first: {first}", unreadable.len())
                    }
                };
                UsageError::error(format!("no text `{id}` among the {n} there are"), hint)
            })?,
            None if n == 1 => 0,
            None if n == 0 => {
                return Err(UsageError::error(
                    "nothing to explain",
                    "name a commit with changes, or a file with a text",
                ));
            }
            None => {
                return Err(UsageError::error(
                    format!("there are {n} texts, and one is explained"),
                    format!("say which by --id; there {}", ids(&all)),
                ));
            }
        };
        for problem in &unreadable {
            note(&format!("warning: {problem}"));
        }
        let (mut sample, tree) = all.swap_remove(place);
        if sample.id == UNNAMED {
            sample.id.clear();
        }
        Ok((sample, tree))
    }

    /// Refuses a `--token` or `--phrase` that the text does not have, before anything is computed.
    fn check_chosen(&self, scorer: &Scorer, sample: &Sample, settings: &Settings) -> anyhow::Result<()> {
        if let Some(TokenRange { last, .. }) = self.token {
            let (_, n) = Focused::n_tokens(scorer, sample, settings)?;
            if last > n {
                let problem = format!("--token {last}: the text has {n} tokens");
                return Err(UsageError::error(problem, "leave --token out to see them with their numbers"));
            }
            return Ok(());
        }
        match &self.phrase {
            Some(phrase) if phrase.is_empty() || !sample.text.contains(phrase) => Err(no_phrase(phrase)),
            _ => Ok(()),
        }
    }

    /// The tokens that `--token` or `--phrase` choose, which [`Args::check_chosen`] has let through.
    fn chosen(&self, explanation: &Explanation) -> anyhow::Result<Option<Range<usize>>> {
        if let Some(TokenRange { first, last }) = self.token {
            return Ok(Some(first - 1..last));
        }
        let Some(phrase) = &self.phrase else { return Ok(None) };
        Ok(Some(explanation.tokens_of(phrase).ok_or_else(|| no_phrase(phrase))?))
    }
}

/// The text does not have these words.
fn no_phrase(phrase: &str) -> anyhow::Error {
    let problem = format!("--phrase `{phrase}` does not occur in the text");
    UsageError::error(problem, "it is compared letter by letter; --token takes numbers")
}

/// The first ids of texts, in words.
fn ids(all: &[(Sample, Option<SharedTree>)]) -> String {
    const MOST: usize = 8;
    let names: Vec<String> = all.iter().take(MOST).map(|(sample, _)| format!("`{}`", sample.id)).collect();
    let more = if all.len() > MOST { format!(" and {} more", all.len() - MOST) } else { String::new() };
    format!("{} {}{more}", if all.len() == 1 { "is" } else { "are" }, names.join(", "))
}
