//! `veridiff eval --notebook`: the notebook and the data beside it.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::cli::terminal::{UsageError, note};
use veridiff_core::{
    analysis::{joint_columns, overlap_columns},
    families::catalogue::CATALOGUE,
};
use veridiff_detector::{
    EvalSettings, LabelledRows, LikelihoodFit, NamedSet, StepDirection, coefficients, fold_scores, standard_sets,
};
use veridiff_report::notebook::{notebook, predictions_csv};
use veridiff_table::{catalogue::element_of, files};

/// What was asked of `eval` that the notebook shows too.
pub(super) struct Request<'a> {
    /// The file that the notebook is written to.
    pub path: &'a Path,
    /// The file that the table was read from.
    pub input: &'a Path,
    /// The clauses, as they were given.
    pub clauses: &'a [String],
    /// Its labelled rows after the clauses.
    pub rows: &'a LabelledRows,
    /// How figures are made.
    pub settings: EvalSettings,
    /// Sets to compare, beside the standard ones.
    pub sets: Vec<NamedSet>,
    /// Whether, and how, features are chosen by steps.
    pub stepwise: Option<StepDirection>,
    /// Columns to compare the highest rows of; none chooses them.
    pub overlap: Vec<usize>,
    /// The share of the rows that is highest.
    pub top: f64,
    /// Two columns to show together; any other number chooses them.
    pub joint: Vec<usize>,
    /// Columns by whose values verdicts are counted.
    pub by: Vec<String>,
}

/// Whether there can be such a notebook, to be asked before anything is computed.
pub(super) fn check(path: &Path) -> anyhow::Result<()> {
    if path.extension().is_none_or(|ending| ending != "ipynb") {
        let problem = format!("`--notebook {}` does not end in .ipynb", path.display());
        return Err(UsageError::error(problem, "notebooks are called so: `--notebook figures.ipynb`"));
    }
    let predictions = predictions_path(path);
    [predictions.as_path(), path]
        .into_iter()
        .try_for_each(|path| files::check(path).with_context(|| cannot_write(path)))
}

/// Whether these rows can be shown: every metric has a curve and a column of its own there.
///
/// # Errors
/// A feature is one of hundreds in a list.
pub(super) fn check_features(rows: &LabelledRows) -> anyhow::Result<()> {
    let Some((list, _)) = rows.feature_names.iter().find_map(|name| element_of(name)) else { return Ok(()) };
    let problem = format!("a notebook shows single numbers, and `{list}` is a list of them");
    Err(UsageError::error(problem, "choose others by `--features`; `--out` draws figures with lists"))
}

/// Where the predictions go, beside the notebook.
fn predictions_path(notebook: &Path) -> PathBuf {
    notebook.with_extension("predictions.csv")
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write `{}`", path.display())
}

/// Writes the notebook, and its predictions beside it.
pub(super) fn write(request: Request) -> anyhow::Result<()> {
    let Request { path, rows, settings, .. } = request;
    let mut sets = standard_sets(&rows.feature_names, &CATALOGUE);
    let new = request.sets.iter().filter(|set| sets.iter().all(|known| known.name != set.name)).cloned();
    let new: Vec<NamedSet> = new.collect();
    sets.extend(new);
    let scores = fold_scores(rows, &sets, request.stepwise, settings)?;
    let fit = coefficients(rows)?;

    let predictions = predictions_path(path);
    let parameters = request.parameters(&sets, &fit, &predictions);
    // the notebook comes last: where it is, its data are
    for (path, text) in [(predictions.as_path(), predictions_csv(rows, &scores)), (path, notebook(&parameters))] {
        files::write(path, text).with_context(|| cannot_write(path))?;
    }
    note(&format!("written: {} and {}", path.display(), predictions.display()));
    Ok(())
}

impl Request<'_> {
    /// Every name of the template with its value.
    fn parameters(&self, sets: &[NamedSet], fit: &LikelihoodFit, predictions: &Path) -> Map<String, Value> {
        let rows = self.rows;
        let names = |columns: &[usize]| -> Vec<&str> {
            columns.iter().map(|&column| rows.feature_names[column].as_str()).collect()
        };
        let sets: Map<String, Value> = sets.iter().map(|set| (set.name.clone(), names(&set.columns).into())).collect();
        let overlap = if self.overlap.is_empty() { overlap_columns(rows) } else { self.overlap.clone() };
        let named = <[usize; 2]>::try_from(self.joint.as_slice()).ok();
        let joint = named.or_else(|| joint_columns(rows));
        let left_out: Map<String, Value> = fit
            .terms
            .iter()
            .filter_map(|term| Some((term.feature.clone(), serde_json::to_value(term.left_out?).ok()?)))
            .collect();
        let parameters = json!({
            "table": relative(files::folder_of(self.path), self.input),
            "predictions": predictions.file_name().unwrap_or_default().to_string_lossy(),
            "where": self.clauses,
            "features": rows.feature_names,
            "sets": sets,
            "folds": self.settings.n_folds,
            "learner": self.settings.learner,
            "l2": self.settings.l2,
            "overlap": names(&overlap),
            "top": self.top,
            "joint": joint.map(|pair| names(&pair)),
            "by": self.by,
            "left_out": left_out,
            "fit_status": fit.status,
        });
        match parameters {
            Value::Object(parameters) => parameters,
            _ => Map::new(),
        }
    }
}

/// A file as seen from a folder: what a notebook, which runs in its own folder, finds it by.
fn relative(folder: &Path, file: &Path) -> String {
    let as_given = || file.display().to_string();
    let (Ok(folder), Ok(file)) = (fs::canonicalize(folder), fs::canonicalize(file)) else { return as_given() };
    let (folder, file): (Vec<Component>, Vec<Component>) = (folder.components().collect(), file.components().collect());
    let common = folder.iter().zip(&file).take_while(|(a, b)| a == b).count();
    // on another drive there is no way but the whole one
    if common == 0 {
        return as_given();
    }
    let up = folder[common..].iter().map(|_| "..".to_owned());
    let down = file[common..].iter().map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_found_from_the_notebooks_folder() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(folder.path().join("c")).unwrap();
        let table = folder.path().join("c/t.csv");
        fs::write(&table, "").unwrap();
        assert_eq!(relative(&deep, &table), "../../c/t.csv");
        assert_eq!(relative(&folder.path().join("c"), &table), "t.csv");
        assert_eq!(relative(folder.path(), Path::new("none.csv")), "none.csv");
    }
}
