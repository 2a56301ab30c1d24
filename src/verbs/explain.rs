//! `veridiff explain`: one diff and one text, token by token.

use std::{
    ops::{ControlFlow, Range},
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, bail};

use super::Exit;
use crate::{
    args::{
        change::{change_in, commit, detector_called, is_stdin, read, samples_of},
        choice,
        repository::RepositoryArgs,
        scoring::{ModelArgs, SettingArgs},
    },
    terminal::{UsageError, has_colours, note, print},
};
use veridiff_core::{
    families::catalogue::{CATALOGUE, FeatureSet},
    gate::SharedTree,
    run::{
        source::ColumnSource,
        sources::{PlainFeatures, ScorerSource},
    },
    scorer::Scorer,
    settings::Settings,
};
use veridiff_detector::{Detector, shipped};
use veridiff_facts::change::Tree;
use veridiff_report::explain::{Colours, Detail, Explanation, Screen, html_page, terminal_page};
use veridiff_table::{Table, files};
use veridiff_text::{
    chain::one_line,
    sample::{Sample, Task},
};

/// Columns of a page that is written to no terminal.
const DEFAULT_WIDTH: usize = 100;

/// What `explain` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff explain --commit HEAD --html page.html
  veridiff explain --diff fetch.diff --text comment.txt --phrase 'never closed'
  veridiff explain --input samples.jsonl --id a --detector review";

/// Arguments of `veridiff explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The change: a file with a unified diff or one hunk; `-` reads stdin
    #[arg(long, value_name = "FILE", requires = "text", conflicts_with_all = ["input", "commit"])]
    diff: Option<PathBuf>,
    /// The text about it: a file; `-` reads stdin
    #[arg(long, value_name = "FILE", requires = "diff")]
    text: Option<PathBuf>,
    /// A commit of the repository here: its diff and its message
    #[arg(long, value_name = "REV", conflicts_with = "input")]
    commit: Option<String>,
    /// Samples, one JSON object a line; `-` reads stdin
    #[arg(long, value_name = "FILE", requires = "id")]
    input: Option<PathBuf>,
    /// Which of them
    #[arg(long, requires = "input")]
    id: Option<String>,
    /// What the text was written as [default: review; commit with --commit; the sample's own with --input]
    #[arg(long, value_parser = choice::<Task>(Task::NAMES))]
    task: Option<Task>,
    /// Show what this token of the text rests on, counted from 1; N-M for several
    #[arg(long, value_name = "N", conflicts_with = "phrase")]
    token: Option<TokenRange>,
    /// Show what these words of the text rest on, where they first occur
    #[arg(long, value_name = "TEXT")]
    phrase: Option<String>,
    /// A detector, a file that `fit` wrote or one that ships with the program, or `none` for the facts alone [default: the shipped one
    /// for the task, unless --model names another model]
    #[arg(long, value_name = "FILE|NAME")]
    detector: Option<String>,
    #[command(flatten)]
    repository: RepositoryArgs,
    /// In the terminal, show what the model read too: surprise and attribution of every token, and the features; slower
    #[arg(long)]
    full: bool,
    /// A feature table: where each feature falls among its rows; features of other models from its row with the sample's id
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Write one self-contained page for the browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
    /// Columns of the page for the terminal [default: the terminal's, else 100]
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
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
    let mut sample = args.sample()?;
    if let Some(task) = args.task {
        sample.task = task;
    }
    // whatever can be wrong with files shows before the model runs
    let detector = args.detector(sample.task)?;
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(args.features()?)? };
    let tree = args.repository.tree(args.commit.as_deref())?;
    let table = args.table.as_deref().map(Table::read).transpose()?;
    args.html.as_deref().map(check_writable).transpose()?;
    let models = args.model.options()?;
    let mut scorers: Vec<ScorerSource> = models.prepare(models.files()?)?.into_iter().map(ScorerSource::from).collect();
    drop(models);
    // the first is explained; the others give the features that a detector needs of them
    let first = scorers.remove(0).scorer()?;
    let mut explanation = explain(&first, &sample, &settings, tree.as_ref())?;
    drop(first);
    for mut other in scorers {
        let provenance = other.provenance();
        other.columns(&[&sample], &settings, &mut |_, columns| {
            explanation.add_scorer(&columns, provenance.clone());
            ControlFlow::Continue(())
        })?;
    }
    if let (Some(table), Some(path)) = (&table, &args.table) {
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
        explanation.compare(table, &name).with_context(|| format!("cannot use the table `{}`", path.display()))?;
    }
    match &detector {
        Asked::Named(detector) => judge(&mut explanation, detector)?,
        Asked::Shipped(detector) if detector.check_provenance(&explanation.settings, &CATALOGUE).is_ok() => {
            judge(&mut explanation, detector)?;
        }
        Asked::Shipped(_) => {
            explanation
                .notes
                .push("no detector was asked: the one that ships is for other settings than these".to_owned());
        }
        Asked::Nobody => {}
    }
    if let Some(tokens) = args.chosen(&explanation)? {
        explanation.choose(tokens);
    }
    if let Some(path) = &args.html {
        write_page(path, &explanation)?;
    }
    if args.json {
        print(&format!("{}\n", serde_json::to_string(&explanation)?))?;
    } else if args.html.is_none() {
        let detail = if args.full { Detail::Full } else { Detail::Brief };
        print(&terminal_page(&explanation, screen(args.width), detail))?;
    }
    Ok(Exit::Done)
}

/// A detector, and who chose it.
enum Asked {
    /// The user.
    Named(Detector),
    /// The task.
    Shipped(Detector),
    Nobody,
}

/// Measures a sample and gathers what there is to say about it.
fn explain(
    scorer: &Scorer,
    sample: &Sample,
    settings: &Settings,
    tree: Option<&SharedTree>,
) -> anyhow::Result<Explanation> {
    scorer.prepare(settings);
    let measurement = scorer.measure(&sample.diff, &sample.text, sample.task, settings)?;
    let mut provenance = settings.provenance();
    provenance.extend(scorer.provenance().clone());
    provenance.extend(PlainFeatures(FeatureSet::plain()).provenance());
    let tree = tree.map(|SharedTree(tree)| tree.as_ref() as &dyn Tree);
    Ok(Explanation::new(sample, &scorer.name, settings, provenance, &measurement, tree))
}

/// Adds a detector's verdict; one that uses nothing of this scorer is refused, one that needs more is noted.
fn judge(explanation: &mut Explanation, detector: &Detector) -> anyhow::Result<()> {
    let missing = explanation.judge(detector);
    let list = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if missing.len() == detector.features.len() {
        let problem = format!("the detector {} uses no feature of `{}`", detector.id(), explanation.scorer);
        let hint = format!(
            "it uses {}; choose that model, or name this one as the detector does: --model NAME=SOURCE",
            list(&missing)
        );
        return Err(UsageError::error(problem, hint));
    }
    if !missing.is_empty() {
        explanation.notes.push(format!(
            "no verdict: the detector needs {}, which a --table with a row of the sample's id can give",
            list(&missing)
        ));
    }
    Ok(())
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
    fn detector(&self, task: Task) -> anyhow::Result<Asked> {
        Ok(match self.detector.as_deref() {
            Some("none") => Asked::Nobody,
            Some(name) => Asked::Named(detector_called(name)?),
            None if self.model.model.is_empty() => Asked::Shipped(shipped::default_for(task)),
            None => Asked::Nobody,
        })
    }

    /// What is measured: attribution takes most of the time, and not every page shows it.
    fn features(&self) -> anyhow::Result<FeatureSet> {
        let shows_attribution =
            self.full || self.json || self.html.is_some() || self.token.is_some() || self.phrase.is_some();
        // a detector and a table of the user's may be about it
        if shows_attribution || self.detector.is_some() || self.table.is_some() {
            return Ok(FeatureSet::default());
        }
        Ok(FeatureSet::parse(&["uncertainty"])?)
    }

    fn sample(&self) -> anyhow::Result<Sample> {
        match (&self.diff, &self.text, &self.commit, &self.input) {
            (Some(diff), Some(text), ..) => {
                if is_stdin(diff) && is_stdin(text) {
                    bail!("--diff and --text cannot both read stdin");
                }
                let text = read(text)?;
                let change = change_in(diff, &text)?;
                for told in &change.notes {
                    note(&format!("note: {told}"));
                }
                Ok(Sample::new("", &change.diff, text.trim_end_matches('\n')))
            }
            (_, _, Some(revision), _) => commit(self.repository.dir(), revision),
            (.., Some(input)) => find(input, self.id.as_deref().unwrap_or_default()),
            _ => Err(UsageError::error(
                "nothing to explain",
                "give --diff FILE with --text FILE, --input FILE with --id ID, or --commit REV",
            )),
        }
    }

    /// The tokens that `--token` or `--phrase` choose.
    fn chosen(&self, explanation: &Explanation) -> anyhow::Result<Option<Range<usize>>> {
        let n = explanation.n_response_tokens;
        if let Some(TokenRange { first, last }) = self.token {
            if last > n {
                let problem = format!("--token {last}: the text has {n} tokens");
                return Err(UsageError::error(problem, "leave --token out to see them with their numbers"));
            }
            return Ok(Some(first - 1..last));
        }
        let Some(phrase) = &self.phrase else { return Ok(None) };
        let found = explanation.tokens_of(phrase).ok_or_else(|| {
            let problem = format!("--phrase `{phrase}` does not occur in the text");
            UsageError::error(problem, "it is compared letter by letter; --token takes numbers")
        })?;
        Ok(Some(found))
    }
}

fn find(input: &Path, id: &str) -> anyhow::Result<Sample> {
    let read = samples_of(input)?;
    let n = read.samples.len();
    let hint = match read.unreadable.first() {
        None => "ids are compared letter by letter".to_owned(),
        Some(first) => {
            format!("{} of its lines cannot be read, the first: {}", read.unreadable.len(), one_line(first))
        }
    };
    read.into_samples()
        .into_iter()
        .find(|sample| sample.id == id)
        .ok_or_else(|| UsageError::error(format!("no sample `{id}` among the {n} of `{}`", input.display()), hint))
}
