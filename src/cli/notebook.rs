//! `veridiff eval --notebook`: the notebook and the data beside it.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::Context;
use serde_json::{Map, Value, json};

use super::{UsageError, note};
use crate::{
    Error,
    detector::{
        EvalSettings, LabelledRows, LikelihoodFit, NamedSet, StepDirection, best_features, coefficients, fold_scores,
        standard_sets,
    },
    report::notebook::{notebook, predictions_csv},
    table::Table,
};

/// Columns whose values verdicts are counted by if the table has them.
const BY: [&str; 2] = ["label_type", "language"];

/// The most values of such a column; more would make a picture that nobody reads.
const MOST_VALUES: usize = 100;

/// What was asked of `eval` that the notebook shows too.
pub(super) struct Request<'a> {
    /// Where the notebook goes.
    pub path: &'a Path,
    /// The file of the table.
    pub input: &'a Path,
    /// Its rows after the clauses.
    pub table: &'a Table,
    /// The clauses, as they were given.
    pub clauses: &'a [String],
    /// The labelled ones.
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
}

/// Writes the notebook, and its predictions beside it.
pub(super) fn write(request: Request) -> anyhow::Result<()> {
    let Request { path, rows, settings, .. } = request;
    if path.extension().is_none_or(|ending| ending != "ipynb") {
        let problem = format!("`--notebook {}` does not end in .ipynb", path.display());
        return Err(UsageError::error(problem, "notebooks are called so: `--notebook figures.ipynb`"));
    }
    let mut sets = standard_sets(&rows.feature_names);
    let new = request.sets.iter().filter(|set| sets.iter().all(|known| known.name != set.name)).cloned();
    let new: Vec<NamedSet> = new.collect();
    sets.extend(new);
    let scores = fold_scores(rows, &sets, request.stepwise, settings).map_err(Error::from)?;
    let fit = coefficients(rows).map_err(Error::from)?;

    let predictions = path.with_extension("predictions.csv");
    let parameters = request.parameters(&sets, &fit, &predictions)?;
    for (path, text) in [(&predictions, predictions_csv(rows, &scores)), (&path.to_owned(), notebook(&parameters))] {
        fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    note(&format!("written: {} and {}", path.display(), predictions.display()));
    Ok(())
}

impl Request<'_> {
    /// Every name of the template with its value.
    fn parameters(
        &self,
        sets: &[NamedSet],
        fit: &LikelihoodFit,
        predictions: &Path,
    ) -> anyhow::Result<Map<String, Value>> {
        let rows = self.rows;
        let names = |columns: &[usize]| -> Vec<&str> {
            columns.iter().map(|&column| rows.feature_names[column].as_str()).collect()
        };
        let sets: Map<String, Value> = sets.iter().map(|set| (set.name.clone(), names(&set.columns).into())).collect();
        let overlap = if self.overlap.is_empty() { best_features(rows, 3) } else { self.overlap.clone() };
        let joint = if self.joint.len() == 2 { self.joint.clone() } else { two_features(rows) };
        let left_out: Map<String, Value> = fit
            .terms
            .iter()
            .filter_map(|term| Some((term.feature.clone(), serde_json::to_value(term.left_out?).ok()?)))
            .collect();
        let folder = path_of_folder(self.path);
        let parameters = json!({
            "table": relative(&folder, self.input),
            "predictions": predictions.file_name().unwrap_or_default().to_string_lossy(),
            "where": self.clauses,
            "features": rows.feature_names,
            "sets": sets,
            "folds": self.settings.n_folds,
            "l2": self.settings.l2,
            "overlap": names(&overlap),
            "top": self.top,
            "joint": (joint.len() == 2).then(|| names(&joint)),
            "by": self.by_columns()?,
            "left_out": left_out,
            "fit_status": fit.status,
        });
        match parameters {
            Value::Object(parameters) => Ok(parameters),
            _ => Ok(Map::new()),
        }
    }

    /// The columns that were asked for, and those of [`BY`] that have values.
    fn by_columns(&self) -> anyhow::Result<Vec<String>> {
        let mut columns: Vec<String> = self.rows.by.iter().map(|(column, _)| column.clone()).collect();
        for column in BY.map(str::to_owned) {
            if columns.contains(&column) || !self.table.column_names().contains(&column.as_str()) {
                continue;
            }
            let mut values = self.table.strings(&column).map_err(Error::from)?;
            values.retain(|value| value.as_ref().is_some_and(|value| !value.is_empty()));
            values.sort_unstable();
            values.dedup();
            if (1..=MOST_VALUES).contains(&values.len()) {
                columns.push(column);
            }
        }
        Ok(columns)
    }
}

/// The first two scorers' logits, as in the paper's figure 9; else the best two features; fewer if there are not two.
fn two_features(rows: &LabelledRows) -> Vec<usize> {
    let logits: Vec<usize> = (0..rows.feature_names.len())
        .filter(|&column| rows.feature_names[column].starts_with("logit@"))
        .take(2)
        .collect();
    if logits.len() == 2 { logits } else { best_features(rows, 2) }
}

fn path_of_folder(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_owned)
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
        assert_eq!(path_of_folder(Path::new("x.ipynb")), Path::new("."));
    }
}
