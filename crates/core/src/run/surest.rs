//! The sample of a labelled table that shows most what a detector does, and a detector that has not seen it.

use crate::{Result, families::catalogue::CATALOGUE};
use veridiff_detector::{Detector, EvalSettings, FitSettings, fit_detector, labelled_rows};
use veridiff_table::Table;
use veridiff_text::sample::Sample;

/// The unsupported sample that a detector fitted on all rows is surest of, by its index, and a detector that was fitted without the
/// samples of its group. `table` has a row for each sample, in their order; `features` are its columns that the detectors use.
///
/// # Errors
/// A column does not hold numbers, or the rows do not suffice to fit a detector.
pub fn surest(samples: &[Sample], table: &Table, features: &[String], eval: EvalSettings) -> Result<(usize, Detector)> {
    let fit = |table: &Table| -> Result<Detector> {
        let settings = FitSettings::new(eval, table.metadata().clone());
        Ok(fit_detector(&labelled_rows(table, &CATALOGUE, features, &[])?, settings)?.detector)
    };
    let detector = fit(table)?;
    let columns: Vec<Vec<Option<f64>>> = features.iter().map(|name| table.numbers(name)).collect::<Result<_, _>>()?;
    let probability = |row: usize| {
        let values: Option<Vec<f64>> = columns.iter().map(|column| column[row]).collect();
        values.map_or(0.0, |values| detector.predict(&values))
    };
    let unsupported = (0..samples.len()).filter(|&row| samples[row].label == Some(true));
    let surest = unsupported.max_by(|&a, &b| probability(a).total_cmp(&probability(b))).unwrap_or(0);
    let others: Vec<bool> = samples.iter().map(|sample| sample.group != samples[surest].group).collect();
    Ok((surest, fit(&table.select(&others))?))
}
