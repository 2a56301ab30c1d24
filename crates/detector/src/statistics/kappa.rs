//! Cohen's kappa of two raters, with its standard error.

use serde::Serialize;

use super::{distributions::Z_95, roc::Interval};

/// Cohen's kappa of a square table of counts: the first rater's classes are rows, the second's columns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Kappa {
    /// How many samples both annotators have answered.
    pub n: usize,
    /// Share of them in the same class, 0 to 1; null of no samples.
    pub observed: Option<f64>,
    /// The share that chance alone would give two raters who use the classes as often as these; null of no samples.
    pub expected: Option<f64>,
    /// (observed − expected) / (1 − expected), −1 to 1; null when both used one class only, and the same.
    pub kappa: Option<f64>,
    /// Its large-sample standard error (Fleiss, Cohen and Everitt, Psychological Bulletin 1969).
    pub standard_error: Option<f64>,
    /// 95%, by that error, at most 1.
    pub interval: Option<Interval>,
}

/// Cohen's kappa (Educational and Psychological Measurement 1960) of a table of counts, unweighted.
///
/// # Panics
/// If the table is not square.
pub fn cohen_kappa(table: &[Vec<usize>]) -> Kappa {
    let k = table.len();
    assert!(table.iter().all(|row| row.len() == k), "a square table");
    let n: usize = table.iter().flatten().sum();
    let mut kappa = Kappa { n, observed: None, expected: None, kappa: None, standard_error: None, interval: None };
    if n == 0 {
        return kappa;
    }
    let share = |count: usize| count as f64 / n as f64;
    let rows: Vec<f64> = table.iter().map(|row| share(row.iter().sum())).collect();
    let columns: Vec<f64> = (0..k).map(|j| share(table.iter().map(|row| row[j]).sum())).collect();
    let observed = share((0..k).map(|i| table[i][i]).sum());
    let expected: f64 = rows.iter().zip(&columns).map(|(row, column)| row * column).sum();
    (kappa.observed, kappa.expected) = (Some(observed), Some(expected));
    // both used one class only: counted, because a sum of squares need not come out as 1
    if table.iter().enumerate().any(|(i, row)| row[i] == n) {
        return kappa;
    }
    let value = (observed - expected) / (1.0 - expected);
    let mut variance = -(value - expected * (1.0 - value)).powi(2);
    for (i, row) in table.iter().enumerate() {
        for (j, &count) in row.iter().enumerate() {
            variance += share(count)
                * if i == j {
                    (1.0 - (rows[i] + columns[i]) * (1.0 - value)).powi(2)
                } else {
                    ((columns[i] + rows[j]) * (1.0 - value)).powi(2)
                };
        }
    }
    // the terms cancel where all agree, but for rounding
    let error = (variance.max(0.0) / n as f64).sqrt() / (1.0 - expected);
    kappa.kappa = Some(value);
    kappa.standard_error = Some(error);
    kappa.interval = Some(Interval { low: (value - Z_95 * error).max(-1.0), high: (value + Z_95 * error).min(1.0) });
    kappa
}
