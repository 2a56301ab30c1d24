//! `veridiff eval`.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{
    Outcome, UsageError, notebook,
    rows::{FigureArgs, RowArgs, print},
};
use crate::{
    Error,
    detector::{
        Detector, EvalSettings, Evaluation, LabelledRows, NamedSet, StepDirection, apply_detector, best_features,
        coefficients, compare_sets, evaluate, evaluate_stepwise, joint_distribution, labelled_rows, standard_sets,
        top_overlap,
    },
    report::tables::{Format, evaluation_page, note_lines},
    table::Table,
};

/// Bins along each axis of a joint distribution.
const JOINT_BINS: usize = 20;

/// Arguments of `veridiff eval`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    rows: RowArgs,
    /// Judge this fitted detector, as it is, instead of fitting on the table's own folds
    #[arg(long, value_name = "FILE", conflicts_with_all = ["features", "l2", "folds"])]
    detector: Option<PathBuf>,
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
    /// Share of the rows that counts as ranked highest
    #[arg(long, value_name = "SHARE", default_value_t = 0.25, requires = "overlap")]
    top: f64,
    /// The joint distribution of two features
    #[arg(long, value_name = "X,Y", value_delimiter = ',')]
    joint: Vec<String>,
    /// How the tables are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the tables to this folder too: eval.md, eval.csv, eval.tex, eval.json
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write a Jupyter notebook (.ipynb) that draws every table and figure anew, and beside it the predictions it reads
    #[arg(long, value_name = "FILE", conflicts_with = "detector")]
    notebook: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let detector = args.detector.as_deref().map(Detector::read).transpose().map_err(Error::from)?;
    let table = args.rows.table()?;
    let settings = args.figures.settings();
    let rows = match &detector {
        Some(detector) => {
            labelled_rows(&table, &detector.feature_names(), &args.by).with_context(|| args.rows.place())?
        }
        None => args.rows.labelled(&table, &args.by)?,
    };
    let evaluation = match &detector {
        Some(detector) => apply_detector(detector, &rows, settings),
        None => evaluate(&rows, settings),
    };
    let mut evaluation = evaluation.map_err(Error::from).with_context(|| args.rows.place())?;
    args.add_what_was_asked_for(&mut evaluation, &rows, settings)?;
    if let Some(folder) = &args.out {
        write_pages(&evaluation, folder)?;
    }
    if let Some(path) = &args.notebook {
        args.write_notebook(path, &table, &rows, settings)?;
    }
    let format = if args.json { Format::Json } else { args.format };
    print(&evaluation_page(&evaluation, format))?;
    if format == Format::Csv {
        warn(&evaluation);
    }
    Ok(Outcome::Done)
}

impl Args {
    /// The parts of an evaluation that are made only on demand.
    fn add_what_was_asked_for(
        &self,
        evaluation: &mut Evaluation,
        rows: &LabelledRows,
        settings: EvalSettings,
    ) -> anyhow::Result<()> {
        let place = || self.rows.place();
        if !self.compare.is_empty() {
            let sets = self.sets(rows)?;
            let comparison = compare_sets(rows, &sets, settings).map_err(Error::from).with_context(place)?;
            evaluation.comparison = Some(comparison);
        }
        if self.coefficients {
            let fit = coefficients(rows).map_err(Error::from).with_context(place)?;
            evaluation.notes.extend(fit.notes());
            evaluation.coefficients = Some(fit);
        }
        if let Some(direction) = self.stepwise {
            let stepwise = evaluate_stepwise(rows, direction, settings).map_err(Error::from).with_context(place)?;
            let new = stepwise.choice.notes().into_iter().filter(|note| !evaluation.notes.contains(note));
            let new: Vec<String> = new.collect();
            evaluation.notes.extend(new);
            evaluation.stepwise = Some(stepwise);
        }
        if let Some(names) = &self.overlap {
            if !(self.top > 0.0 && self.top <= 1.0) {
                let problem = format!("`--top {}` is no share of the rows", self.top);
                return Err(UsageError::error(problem, "give a number above 0 and at most 1, such as 0.25"));
            }
            let columns = match names.iter().all(String::is_empty) {
                true => best_features(rows, 3),
                false => rows.columns(names).map_err(Error::from)?,
            };
            if columns.len() > 8 {
                let problem = format!("`--overlap` names {} features, expected at most 8", columns.len());
                return Err(UsageError::error(problem, "name the few that matter, with their scorer: `logprob@NAME`"));
            }
            evaluation.overlap = Some(top_overlap(rows, &columns, self.top));
        }
        if !self.joint.is_empty() {
            let columns = rows.columns(&self.joint).map_err(Error::from)?;
            let Ok(pair) = <[usize; 2]>::try_from(columns.as_slice()) else {
                let problem = format!("`--joint` names {} features, expected two", columns.len());
                return Err(UsageError::error(problem, "give two names, with their scorers: `logit@ONE,logit@OTHER`"));
            };
            evaluation.joint = Some(joint_distribution(rows, pair, JOINT_BINS));
        }
        Ok(())
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
            false => rows.columns(names).map_err(Error::from),
        };
        notebook::write(notebook::Request {
            path,
            input: &self.rows.input,
            table,
            clauses: &self.rows.clauses,
            rows,
            settings,
            sets: self.sets(rows)?,
            stepwise: self.stepwise,
            overlap: columns(self.overlap.as_deref().unwrap_or_default())?,
            top: self.top,
            joint: columns(&self.joint)?,
        })
    }

    /// The sets of features that `--compare` names; the standard ones where it stands alone.
    fn sets(&self, rows: &LabelledRows) -> anyhow::Result<Vec<NamedSet>> {
        let mut sets: Vec<NamedSet> = Vec::new();
        for text in &self.compare {
            if text.is_empty() {
                sets.extend(standard_sets(&rows.feature_names));
                continue;
            }
            let (name, features) = text.split_once('=').unwrap_or((text, text));
            let patterns: Vec<String> = features.split(',').map(|pattern| pattern.trim().to_owned()).collect();
            let mut columns = rows.columns(&patterns).map_err(Error::from)?;
            columns.sort_unstable();
            sets.push(NamedSet { name: name.trim().to_owned(), columns });
        }
        Ok(sets)
    }
}

fn write_pages(evaluation: &Evaluation, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    for (format, name) in
        [(Format::Md, "eval.md"), (Format::Csv, "eval.csv"), (Format::Latex, "eval.tex"), (Format::Json, "eval.json")]
    {
        let path = folder.join(name);
        std::fs::write(&path, evaluation_page(evaluation, format))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

/// CSV has no place for notes.
#[expect(clippy::print_stderr, reason = "stdout is data")]
fn warn(evaluation: &Evaluation) {
    for line in note_lines(&evaluation.notes) {
        eprintln!("{line}");
    }
}
