//! What is learnt on the rows with one value of a column is worth on those with another: one language, one data set.

use rayon::prelude::*;
use serde::Serialize;

use crate::{
    DetectorError, EvalSettings, Figure, LabelledRows, MeanFigure,
    evaluation::evaluate::usable_folds,
    evaluation::predictions::{Predictor, by_generator, fold_splits, pool},
};

/// Most values of a column to train on one of and test on another.
const MOST_VALUES: usize = 12;

/// Trained on rows with one value, tested on rows with one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferFigure {
    /// The value of the training rows.
    pub trained_on: String,
    /// The value of the tested rows. Where it is the same, each fold is tested by a fit on the others.
    pub tested_on: String,
    /// Figures on the tested rows.
    #[serde(flatten)]
    pub figure: Figure,
    /// Mean of the AUCs within generators.
    pub within_generators: MeanFigure,
}

/// Figures of every pair of a column's values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transfer {
    /// The column.
    pub column: String,
    /// For every value trained on, each value tested on.
    pub figures: Vec<TransferFigure>,
}

/// Trains on the rows with each value of `column`, which must be one of `rows.by`, and tests on those with each. A group (diff) that
/// is tested is never trained on; rows without a value take no part, nor do values whose rows have one class.
///
/// # Errors
/// [`DetectorError::ByColumn`], [`DetectorError::ByTooManyValues`], and those of [`evaluate`](crate::evaluate).
pub fn transfer(rows: &LabelledRows, column: &str, settings: EvalSettings) -> Result<Transfer, DetectorError> {
    let folds = usable_folds(rows, settings)?;
    let Some((_, of_row)) = rows.by.iter().find(|(name, _)| name == column) else {
        let known = rows.by.iter().map(|(name, _)| name.clone()).collect();
        return Err(DetectorError::ByColumn { column: column.to_owned(), known });
    };
    let mut values: Vec<&String> = of_row.iter().flatten().collect();
    values.sort_unstable();
    values.dedup();
    if values.len() > MOST_VALUES {
        let (column, n_values) = (column.to_owned(), values.len());
        return Err(DetectorError::ByTooManyValues { column, n_values, most: MOST_VALUES });
    }
    let with = |value: &String| (0..rows.len()).filter(|&row| of_row[row].as_ref() == Some(value)).collect::<Vec<_>>();
    let all: Vec<usize> = (0..rows.feature_names.len()).collect();
    let pairs: Vec<(&String, &String)> = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).collect();
    let figures = pairs.par_iter().map(|&(trained_on, tested_on)| {
        let (train, test) = (with(trained_on), with(tested_on));
        let splits: Vec<(Vec<usize>, Vec<usize>)> = if trained_on == tested_on {
            let own = |part: Vec<usize>| part.into_iter().filter(|row| train.binary_search(row).is_ok()).collect();
            fold_splits(&folds, settings.n_folds).map(|(outside, inside)| (own(outside), own(inside))).collect()
        } else {
            let tested: Vec<usize> = rows.groups.of_rows(&test);
            let unseen = |row: &usize| !tested.contains(&rows.groups.of_row[*row]);
            vec![(train.into_iter().filter(unseen).collect(), test)]
        };
        let predictions = pool(rows, Predictor::Combination(&all), splits.into_iter(), settings)?;
        let within_generators = by_generator(rows, &predictions, settings.bootstrap).0;
        let figure = predictions.figure(rows, settings.bootstrap);
        let (trained_on, tested_on) = (trained_on.clone(), tested_on.clone());
        Ok(TransferFigure { trained_on, tested_on, figure, within_generators })
    });
    let figures = figures.collect::<Result<Vec<_>, DetectorError>>()?;
    let figures = figures.into_iter().filter(|figure| figure.figure.n > 0).collect();
    Ok(Transfer { column: column.to_owned(), figures })
}
