//! `veridiff eval`.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::Context;

use super::{Exit, judges, notebook};
use crate::cli::{
    args::{
        OUTPUT,
        change::{detector_called, samples_of},
        choice,
        rows::{FigureArgs, RowArgs},
    },
    terminal::{UsageError, note, print},
};
use veridiff_core::{
    analysis::{
        ABLATION_REPEATS, Analysis, Coefficients, Compare, Joint, MAX_OVERLAP_FEATURES, Repeat, Steps, TOP_SHARE, Tops,
        Transfers, add_analyses, overlap_columns, report_columns,
    },
    families::catalogue::CATALOGUE,
};
use veridiff_detector::{
    EvalSettings, Gaps, LabelledRows, MISMATCH_COLUMN, NamedSet, StepDirection, apply_detector, evaluate,
    labelled_rows, standard_sets,
};
use veridiff_report::{
    TableFormat, note_lines,
    pages::{evaluation_page, report_files, write_report},
};
use veridiff_table::Table;

/// The heading of options that ask for more tables.
const ANALYSES: &str = "Analyses";

/// What `eval` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff eval --input table.parquet
  veridiff eval --input table.parquet --detector detector.json    # as it is, on other rows
  veridiff eval --input table.parquet -o report    # report/index.html, figures, tables";

/// Arguments of `veridiff eval`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Judge this fitted detector, a file or one that ships with the program, as it is, instead of fitting on the table's own
    /// folds
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["features", "l2", "folds", "learner"])]
    detector: Option<String>,
    #[command(flatten)]
    figures: FigureArgs,
    /// Figures by the values of these columns too, such as `language` or `label_type`
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',', help_heading = ANALYSES)]
    by: Vec<String>,
    /// Compare sets of features on the same folds, each pair by a paired test: those named (repeatable), or all,
    /// reference-based, reference-free and every family
    #[arg(long, value_name = "NAME=FEATURE,…", num_args = 0..=1, default_missing_value = "",
          conflicts_with = "detector", help_heading = ANALYSES)]
    compare: Vec<String>,
    /// Fit all features without a penalty: coefficients with standard errors, p-values and variance inflation
    #[arg(long, help_heading = ANALYSES, hide_short_help = true)]
    coefficients: bool,
    /// Choose features by steps that lower Akaike's criterion, on all rows and within each training fold
    #[arg(long, value_name = "DIRECTION", num_args = 0..=1, default_missing_value = "both",
          value_parser = choice::<StepDirection>(StepDirection::NAMES), conflicts_with = "detector",
          help_heading = ANALYSES, hide_short_help = true)]
    stepwise: Option<StepDirection>,
    /// How far the rows that these features rank highest are the same; without names the best three, of several families
    #[arg(long, value_name = "FEATURE,…", value_delimiter = ',', num_args = 0..=1, default_missing_value = "",
          help_heading = ANALYSES, hide_short_help = true)]
    overlap: Option<Vec<String>>,
    /// Share of the rows that counts as ranked highest in an overlap [default: 0.25]
    #[arg(long, value_name = "SHARE", help_heading = ANALYSES, hide_short_help = true)]
    top: Option<f64>,
    /// The joint distribution of two features
    #[arg(long, value_name = "X,Y", value_delimiter = ',', help_heading = ANALYSES, hide_short_help = true)]
    joint: Vec<String>,
    /// Draw the folds N times, with seeds from `--seed` on, and give means over the draws; of the sets of `--compare` too
    #[arg(long, value_name = "N", conflicts_with = "detector", help_heading = ANALYSES, hide_short_help = true)]
    repeats: Option<NonZeroUsize>,
    /// Leave each family of features out, and take each alone, on the same folds, drawn 10 times unless `--repeats` says
    /// otherwise
    #[arg(long, conflicts_with = "detector", help_heading = ANALYSES, hide_short_help = true)]
    ablate: bool,
    /// Train on the rows with one value of a column, such as `language`, and test on those with another
    #[arg(long, value_name = "COLUMN", conflicts_with = "detector", help_heading = ANALYSES, hide_short_help = true)]
    transfer: Option<String>,
    /// Print what the judges of the table are worth, as `judge` wrote them: verdicts beside labels and reactions, beside always and
    /// never flagging, with intervals, kappa and cost
    #[arg(long, help_heading = ANALYSES,
          conflicts_with_all = ["detector", "compare", "out", "notebook", "features", "by", "coefficients", "stepwise", "overlap", "top",
                                "joint", "repeats", "ablate", "transfer", "texts"])]
    judges: bool,
    /// How the tables are printed
    #[arg(long, value_parser = choice::<TableFormat>(TableFormat::NAMES), default_value_t = TableFormat::Text,
          help_heading = OUTPUT)]
    format: TableFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format", help_heading = OUTPUT, hide_short_help = true)]
    json: bool,
    /// Write the whole report to this folder too: index.html, figures (SVG, PNG), tables (Markdown, CSV, LaTeX, JSON).
    /// Everything above that it needs is turned on, with these defaults where no choice is made
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Samples with the texts of the rows, by their ids: the worst misses and false alarms then say what was written
    #[arg(long, value_name = "SAMPLES", help_heading = OUTPUT, hide_short_help = true)]
    texts: Option<PathBuf>,
    /// Write a Jupyter notebook (.ipynb) that draws every table and figure anew, and beside it the predictions it reads
    #[arg(long, value_name = "FILE", conflicts_with = "detector", help_heading = OUTPUT)]
    notebook: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if args.judges {
        judges::run(&args.rows, &args.figures, if args.json { TableFormat::Json } else { args.format })?;
        return Ok(Exit::Done);
    }
    let detector = args.detector.as_deref().map(detector_called).transpose()?;
    let settings = args.figures.settings();
    if let Some(path) = &args.notebook {
        notebook::check(path)?;
    }
    let table = args.rows.table()?;
    // a detector that the table is not for is refused before anything is computed
    let rounded = match &detector {
        Some(detector) => detector.check_provenance(table.metadata(), &CATALOGUE).with_context(|| args.rows.place())?,
        None => Vec::new(),
    };
    let by = if args.out.is_some() { args.columns_to_sort_by(&table)? } else { args.columns_named() };
    let learner = detector.as_ref().map_or(settings.learner, |detector| detector.learner());
    // what is asked beside compares features on the same rows
    let gaps = if args.asks_more() { Gaps::LeftOut } else { Gaps::of(learner) };
    let mut rows = match &detector {
        Some(detector) => {
            let features = detector.feature_names();
            labelled_rows(&table, &CATALOGUE, &features, &by, gaps).with_context(|| args.rows.place())?
        }
        None => args.rows.labelled(&table, &by, gaps)?,
    };
    if let Some(samples) = &args.texts {
        add_texts(&mut rows, samples)?;
    }
    if args.notebook.is_some() {
        notebook::check_features(&rows)?;
    }
    if args.notebook.is_some() && !rows.mismatched.is_empty() {
        let hint = format!("leave them out: --where {MISMATCH_COLUMN}=; `--out` draws figures with them");
        return Err(UsageError::error("a notebook does not know of rows that only train", hint));
    }
    let evaluation = match &detector {
        Some(detector) => apply_detector(detector, &rows, settings),
        None => evaluate(&rows, settings),
    };
    let mut evaluation = evaluation.with_context(|| args.rows.place())?;
    evaluation.notes.extend(rounded.iter().map(|difference| format!("{difference} in training")));
    let asked = args.analyses(&rows)?;
    add_analyses(&mut evaluation, &rows, &asked, args.out.is_some()).with_context(|| args.rows.place())?;
    if let Some(folder) = &args.out {
        let source = args.rows.input.file_name().unwrap_or(args.rows.input.as_os_str()).to_string_lossy();
        let files = report_files(&evaluation, &rows, &source)?;
        write_report(folder, &files)?;
        note(&format!("written to {}: {} files, to be read from index.html", folder.display(), files.len()));
    }
    if let Some(path) = &args.notebook {
        args.write_notebook(path, &table, &rows, settings)?;
    }
    let format = if args.json { TableFormat::Json } else { args.format };
    print(&evaluation_page(&evaluation, format))?;
    if format == TableFormat::Csv {
        note_lines(&evaluation.notes).for_each(|line| note(&line));
    }
    Ok(Exit::Done)
}

/// Gives rows that lack it the text of the sample with their id.
fn add_texts(rows: &mut LabelledRows, path: &Path) -> anyhow::Result<()> {
    let samples = samples_of(path)?.into_samples();
    let texts: HashMap<&str, &str> = samples.iter().map(|sample| (&*sample.id, &*sample.text)).collect();
    let text_of = |id: &Option<String>| id.as_deref().and_then(|id| texts.get(id)).map(|text| (*text).to_owned());
    for (id, text) in rows.ids.iter().zip(&mut rows.texts) {
        *text = text.take().or_else(|| text_of(id));
    }
    if rows.texts.iter().all(Option::is_none) {
        let problem = format!("no sample of `{}` has the id of a row", path.display());
        return Err(UsageError::error(problem, "give the samples that the table was made of"));
    }
    Ok(())
}

impl Args {
    /// The columns that the command line names.
    fn columns_named(&self) -> Vec<String> {
        let transfer = self.transfer.iter().filter(|column| !self.by.contains(column));
        self.by.iter().chain(transfer).cloned().collect()
    }

    /// The columns to give figures by where figures are drawn: those named; where `--by` names none, those of a report too.
    fn columns_to_sort_by(&self, table: &Table) -> anyhow::Result<Vec<String>> {
        let mut columns = self.columns_named();
        if self.by.is_empty() {
            let unasked = report_columns(table)?.into_iter().map(str::to_owned);
            let new: Vec<String> = unasked.filter(|column| !columns.contains(column)).collect();
            columns.extend(new);
        }
        Ok(columns)
    }

    /// Whether more is asked for than the figures of each feature and of all together.
    fn asks_more(&self) -> bool {
        let named = self.overlap.is_some() || self.stepwise.is_some() || self.transfer.is_some();
        let repeated = self.ablate || self.repeats.is_some();
        let listed = !(self.compare.is_empty() && self.joint.is_empty());
        named || repeated || listed || self.coefficients || self.out.is_some() || self.notebook.is_some()
    }

    /// The analyses that the command line asks for.
    fn analyses(&self, rows: &LabelledRows) -> anyhow::Result<Vec<Box<dyn Analysis>>> {
        let mut asked: Vec<Box<dyn Analysis>> = Vec::new();
        if !self.compare.is_empty() {
            asked.push(Box::new(Compare { sets: self.sets(rows)? }));
        }
        if self.coefficients {
            asked.push(Box::new(Coefficients));
        }
        if let Some(direction) = self.stepwise {
            asked.push(Box::new(Steps { direction }));
        }
        if let Some(tops) = self.tops(rows)? {
            asked.push(Box::new(tops));
        }
        if !self.joint.is_empty() {
            asked.push(Box::new(Joint { columns: self.joint_columns(rows)? }));
        }
        if self.ablate || self.repeats.is_some() {
            let n_repeats = self.repeats.map_or(ABLATION_REPEATS, NonZeroUsize::get);
            asked.push(Box::new(Repeat::new(rows, self.ablate, self.sets(rows)?, n_repeats)));
        }
        if let Some(column) = &self.transfer {
            asked.push(Box::new(Transfers { column: column.clone() }));
        }
        Ok(asked)
    }

    /// The features whose tops are compared, and their share; none if nothing about them is said here.
    fn tops(&self, rows: &LabelledRows) -> anyhow::Result<Option<Tops>> {
        let share = self.top.unwrap_or(TOP_SHARE);
        if !(share > 0.0 && share <= 1.0) {
            let problem = format!("`--top {share}` is no share of the rows");
            return Err(UsageError::error(problem, "give a number above 0 and at most 1, such as 0.25"));
        }
        let Some(names) = &self.overlap else {
            return match (self.top, &self.out) {
                (Some(_), None) => {
                    Err(UsageError::error("`--top` is about an overlap, and none is asked for", "add `--overlap`"))
                }
                (Some(_), Some(_)) => Ok(Tops::unasked(rows, share)),
                (None, _) => Ok(None),
            };
        };
        let is_named = !names.iter().all(String::is_empty);
        let columns = if is_named { rows.columns(names)? } else { overlap_columns(rows) };
        if columns.len() > MAX_OVERLAP_FEATURES {
            let problem =
                format!("`--overlap` names {} features, expected at most {MAX_OVERLAP_FEATURES}", columns.len());
            return Err(UsageError::error(problem, "name the few that matter, with their scorer: `logprob@NAME`"));
        }
        Ok(Some(Tops { columns, share }))
    }

    /// The two features that `--joint` names.
    fn joint_columns(&self, rows: &LabelledRows) -> anyhow::Result<[usize; 2]> {
        let columns = rows.columns(&self.joint)?;
        <[usize; 2]>::try_from(columns.as_slice()).map_err(|_| {
            let problem = format!("`--joint` names {} features, expected two", columns.len());
            UsageError::error(problem, "give two names, with their scorers: `logit@ONE,logit@OTHER`")
        })
    }

    /// The notebook shows what was asked for here, and chooses where nothing was.
    fn write_notebook(
        &self,
        path: &Path,
        table: &Table,
        rows: &LabelledRows,
        settings: EvalSettings,
    ) -> anyhow::Result<()> {
        let columns = |names: &[String]| match names.iter().all(String::is_empty) {
            true => Ok(Vec::new()),
            false => rows.columns(names),
        };
        notebook::write(notebook::Request {
            path,
            input: &self.rows.input,
            clauses: &self.rows.clauses,
            rows,
            settings,
            sets: self.sets(rows)?,
            stepwise: self.stepwise,
            overlap: columns(self.overlap.as_deref().unwrap_or_default())?,
            top: self.top.unwrap_or(TOP_SHARE),
            joint: columns(&self.joint)?,
            by: self.columns_to_sort_by(table)?,
        })
    }

    /// The sets of features that `--compare` names; the standard ones where it stands alone.
    fn sets(&self, rows: &LabelledRows) -> anyhow::Result<Vec<NamedSet>> {
        let mut sets: Vec<NamedSet> = Vec::new();
        for text in &self.compare {
            if text.is_empty() {
                sets.extend(standard_sets(&rows.feature_names, &CATALOGUE));
                continue;
            }
            let (name, features) = text.split_once('=').unwrap_or((text, text));
            let patterns: Vec<String> = features.split(',').map(|pattern| pattern.trim().to_owned()).collect();
            let mut columns = rows.columns(&patterns)?;
            columns.sort_unstable();
            sets.push(NamedSet { name: name.trim().to_owned(), columns });
        }
        Ok(sets)
    }
}
