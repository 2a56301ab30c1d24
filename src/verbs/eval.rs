//! `veridiff eval`.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use anyhow::Context;

use super::{Outcome, notebook};
use crate::{
    args::{
        change::detector_called,
        choice,
        rows::{FigureArgs, RowArgs},
    },
    terminal::{UsageError, note, print},
};
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{
    DetectorError, EvalSettings, Evaluation, LabelledRows, MISMATCH_COLUMN, NamedSet, StepDirection, ablation_sets,
    apply_detector, best_features, best_pair, coefficients, compare_sets, evaluate, evaluate_stepwise,
    joint_distribution, labelled_rows, repeat_folds, standard_sets, top_overlap, transfer,
};
use veridiff_report::{
    figures::COLUMNS,
    folder::{report_files, write_report},
    tables::{Format, evaluation_page, note_lines},
};
use veridiff_table::Table;

/// Bins along each axis of a joint distribution.
const JOINT_BINS: usize = 20;

/// Metrics in the overlap of a report, as the paper has them.
const OVERLAP_METRICS: usize = 3;

/// Share of the rows that is a top, as the paper has it.
const TOP: f64 = 0.25;

/// How often folds are drawn for an ablation.
const ABLATION_REPEATS: usize = 10;

/// Most values of a column that a report or a notebook sorts rows by without being asked.
const MOST_VALUES: usize = 60;

/// Arguments of `veridiff eval`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Judge this fitted detector, a file or one that ships with the program, as it is, instead of fitting on the table's own
    /// folds
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["features", "l2", "folds"])]
    detector: Option<String>,
    #[command(flatten)]
    figures: FigureArgs,
    /// Figures by the values of these columns too, such as `language` or `label_type`
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    by: Vec<String>,
    /// Compare sets of features on the same folds, each pair by a paired test: those named (repeatable), or all,
    /// reference-based, reference-free and every family
    #[arg(long, value_name = "NAME=FEATURE,…", num_args = 0..=1, default_missing_value = "",
          conflicts_with = "detector")]
    compare: Vec<String>,
    /// Fit all features without a penalty: coefficients with standard errors, p-values and variance inflation
    #[arg(long)]
    coefficients: bool,
    /// Choose features by steps that lower Akaike's criterion, on all rows and within each training fold
    #[arg(long, value_name = "DIRECTION", num_args = 0..=1, default_missing_value = "both",
          conflicts_with = "detector")]
    stepwise: Option<StepDirection>,
    /// How far the rows that these features rank highest are the same; without names the best three, of several families
    #[arg(long, value_name = "FEATURE,…", value_delimiter = ',', num_args = 0..=1, default_missing_value = "")]
    overlap: Option<Vec<String>>,
    /// Share of the rows that counts as ranked highest in an overlap [default: 0.25]
    #[arg(long, value_name = "SHARE")]
    top: Option<f64>,
    /// The joint distribution of two features
    #[arg(long, value_name = "X,Y", value_delimiter = ',')]
    joint: Vec<String>,
    /// Draw the folds N times, with seeds from `--seed` on, and give means over the draws; of the sets of `--compare` too
    #[arg(long, value_name = "N", conflicts_with = "detector")]
    repeats: Option<NonZeroUsize>,
    /// Leave each family of features out, and take each alone, on the same folds, drawn 10 times unless `--repeats` says
    /// otherwise
    #[arg(long, conflicts_with = "detector")]
    ablate: bool,
    /// Train on the rows with one value of a column, such as `language`, and test on those with another
    #[arg(long, value_name = "COLUMN", conflicts_with = "detector")]
    transfer: Option<String>,
    /// How the tables are printed
    #[arg(long, value_parser = choice::<Format>(Format::NAMES), default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the whole report to this folder too: index.html, figures (SVG, PNG), tables (Markdown, CSV, LaTeX, JSON).
    /// Everything above that it needs is turned on, with these defaults where no choice is made
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write a Jupyter notebook (.ipynb) that draws every table and figure anew, and beside it the predictions it reads
    #[arg(long, value_name = "FILE", conflicts_with = "detector")]
    notebook: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let detector = args.detector.as_deref().map(detector_called).transpose()?;
    let settings = args.figures.settings();
    if let Some(path) = &args.notebook {
        notebook::check(path, settings.learner)?;
    }
    let table = args.rows.table()?;
    // a detector that the table is not for is refused before anything is computed
    let rounded = match &detector {
        Some(detector) => detector.check_provenance(table.metadata(), &CATALOGUE).with_context(|| args.rows.place())?,
        None => Vec::new(),
    };
    let by = if args.out.is_some() { args.columns_to_sort_by(&table)? } else { args.columns_named() };
    let rows = match &detector {
        Some(detector) => {
            labelled_rows(&table, &CATALOGUE, &detector.feature_names(), &by).with_context(|| args.rows.place())?
        }
        None => args.rows.labelled(&table, &by)?,
    };
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
    args.add_what_was_asked_for(&mut evaluation, &rows, settings)?;
    if let Some(folder) = &args.out {
        let source = args.rows.input.file_name().unwrap_or(args.rows.input.as_os_str()).to_string_lossy();
        let files = report_files(&evaluation, &rows, &source)?;
        write_report(folder, &files)?;
        note(&format!("written to {}: {} files, to be read from index.html", folder.display(), files.len()));
    }
    if let Some(path) = &args.notebook {
        args.write_notebook(path, &table, &rows, settings)?;
    }
    let format = if args.json { Format::Json } else { args.format };
    print(&evaluation_page(&evaluation, format))?;
    if format == Format::Csv {
        note_lines(&evaluation.notes).for_each(|line| note(&line));
    }
    Ok(Outcome::Done)
}

impl Args {
    /// The columns that the command line names.
    fn columns_named(&self) -> Vec<String> {
        let transfer = self.transfer.iter().filter(|column| !self.by.contains(column));
        self.by.iter().chain(transfer).cloned().collect()
    }

    /// The columns to give figures by where figures are drawn: those named, or those of [`COLUMNS`] that have values, and not
    /// too many.
    fn columns_to_sort_by(&self, table: &Table) -> anyhow::Result<Vec<String>> {
        let mut columns = self.columns_named();
        let is_open = |column: &&str| self.by.is_empty() && !columns.iter().any(|named| named == column);
        let wanted: Vec<&str> =
            COLUMNS.into_iter().filter(is_open).filter(|column| table.column_names().contains(column)).collect();
        for column in wanted {
            let mut values = table.strings(column)?;
            values.retain(|value| value.as_ref().is_some_and(|value| !value.is_empty()));
            values.sort_unstable();
            values.dedup();
            if (1..=MOST_VALUES).contains(&values.len()) {
                columns.push(column.to_owned());
            }
        }
        Ok(columns)
    }

    /// The parts of an evaluation that are made only on demand, of the command line or of the report.
    fn add_what_was_asked_for(
        &self,
        evaluation: &mut Evaluation,
        rows: &LabelledRows,
        settings: EvalSettings,
    ) -> anyhow::Result<()> {
        let report = self.out.is_some();
        let fitted_here = self.detector.is_none();
        let sets =
            if self.compare.is_empty() { standard_sets(&rows.feature_names, &CATALOGUE) } else { self.sets(rows)? };
        if !self.compare.is_empty() || (report && fitted_here && sets.len() > 1) {
            let made = compare_sets(rows, &sets, settings);
            evaluation.comparison = self.made(!self.compare.is_empty(), "comparison of sets", made, evaluation)?;
        }
        if self.coefficients || (report && fitted_here) {
            let fit = self.made(self.coefficients, "table of coefficients", coefficients(rows), evaluation)?;
            evaluation.notes.extend(fit.iter().flat_map(|fit| fit.notes()));
            evaluation.coefficients = fit;
        }
        let direction = self.stepwise.or((report && fitted_here).then_some(StepDirection::Both));
        if let Some(direction) = direction {
            let made = evaluate_stepwise(rows, direction, settings);
            let stepwise = self.made(self.stepwise.is_some(), "stepwise choice", made, evaluation)?;
            let notes = stepwise.iter().flat_map(|stepwise| stepwise.choice.notes());
            let new: Vec<String> = notes.filter(|note| !evaluation.notes.contains(note)).collect();
            evaluation.notes.extend(new);
            evaluation.stepwise = stepwise;
        }
        if let Some(columns) = self.overlap_columns(rows)? {
            evaluation.overlap = Some(top_overlap(rows, &columns, self.top.unwrap_or(TOP)));
        }
        if let Some(pair) = self.joint_columns(rows)? {
            evaluation.joint = Some(joint_distribution(rows, pair, JOINT_BINS));
        }
        if self.ablate || self.repeats.is_some() {
            let all = || NamedSet { name: "all".to_owned(), columns: (0..rows.feature_names.len()).collect() };
            let mut sets = if self.ablate { ablation_sets(&rows.feature_names, &CATALOGUE) } else { vec![all()] };
            sets.extend(self.sets(rows)?);
            let n_repeats = self.repeats.map_or(ABLATION_REPEATS, NonZeroUsize::get);
            evaluation.repeats =
                self.made(true, "repeats", repeat_folds(rows, &sets, n_repeats, settings), evaluation)?;
        }
        if let Some(column) = &self.transfer {
            evaluation.transfer = self.made(true, "transfer", transfer(rows, column, settings), evaluation)?;
        }
        Ok(())
    }

    /// What was asked for must succeed; what only the report wants becomes a note where it cannot be made.
    fn made<T>(
        &self,
        asked: bool,
        what: &str,
        made: Result<T, DetectorError>,
        evaluation: &mut Evaluation,
    ) -> anyhow::Result<Option<T>> {
        match made {
            Ok(part) => Ok(Some(part)),
            Err(error) if asked => Err(error).with_context(|| self.rows.place()),
            Err(error) => {
                evaluation
                    .notes
                    .push(format!("warning: the report has no {what}: {}", crate::terminal::one_line(&error)));
                Ok(None)
            }
        }
    }

    /// The features whose tops are compared, if any are.
    fn overlap_columns(&self, rows: &LabelledRows) -> anyhow::Result<Option<Vec<usize>>> {
        let top = self.top.unwrap_or(TOP);
        if !(top > 0.0 && top <= 1.0) {
            let problem = format!("`--top {top}` is no share of the rows");
            return Err(UsageError::error(problem, "give a number above 0 and at most 1, such as 0.25"));
        }
        if self.top.is_some() && self.overlap.is_none() && self.out.is_none() {
            return Err(UsageError::error("`--top` is about an overlap, and none is asked for", "add `--overlap`"));
        }
        let named = self.overlap.as_deref().filter(|names| !names.iter().all(String::is_empty));
        let columns = match named {
            Some(names) => rows.columns(names)?,
            None => best_features(rows, &CATALOGUE, OVERLAP_METRICS),
        };
        if columns.len() > 8 {
            let problem = format!("`--overlap` names {} features, expected at most 8", columns.len());
            return Err(UsageError::error(problem, "name the few that matter, with their scorer: `logprob@NAME`"));
        }
        let wanted = self.overlap.is_some() || (self.out.is_some() && columns.len() == OVERLAP_METRICS);
        Ok(wanted.then_some(columns))
    }

    /// The two features whose joint distribution is made, if one is.
    fn joint_columns(&self, rows: &LabelledRows) -> anyhow::Result<Option<[usize; 2]>> {
        if self.joint.is_empty() {
            return Ok(best_pair(rows, &CATALOGUE).filter(|_| self.out.is_some()));
        }
        let columns = rows.columns(&self.joint)?;
        let Ok(pair) = <[usize; 2]>::try_from(columns.as_slice()) else {
            let problem = format!("`--joint` names {} features, expected two", columns.len());
            return Err(UsageError::error(problem, "give two names, with their scorers: `logit@ONE,logit@OTHER`"));
        };
        Ok(Some(pair))
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
            top: self.top.unwrap_or(TOP),
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
