//! What a change and a text have in common, without a model.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use pyo3::prelude::*;
use rayon::prelude::*;

use veridiff_core::families::{
    catalogue::{CATALOGUE, FeatureSet},
    family::TEXT,
};
use veridiff_facts::case::Case;
use veridiff_table::{ID_COLUMN, catalogue::FamilyEntry};
use veridiff_text::{chain::one_line, sample::Sample};

use crate::{
    error::{Fault, Result},
    options::feature_set,
    table::{self, Out, Samples, Stream},
    work::beside,
};

/// Features of texts alone for every row of a table: its id, the features, and what is wrong with rows that have none.
#[pyfunction]
pub fn ground(
    py: Python<'_>,
    stream: Stream,
    features: Vec<String>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Out> {
    let batch = beside(py, progress.as_ref(), move |teller| {
        let features = feature_set(&features)?;
        if let Some(name) = features.names().find(|name| !features.names_from(TEXT).any(|plain| plain == *name)) {
            return Err(Fault::new(
                format!("`{name}` needs a model"),
                "`score` computes it; here are grounding, form and facts",
            ));
        }
        let Samples { samples, bad } = table::samples(&table::read(stream.0)?, false);
        let n_done = AtomicUsize::new(0);
        let measured: Vec<Measured> = samples
            .par_iter()
            .map(|(place, sample)| {
                let values = if teller.is_stopped() { Err(String::new()) } else { values(&features, sample) };
                let n = n_done.fetch_add(1, Ordering::Relaxed) + 1;
                if n.is_multiple_of(256) {
                    teller.far("texts", n, samples.len());
                }
                Measured { place: *place, id: sample.id.clone(), values }
            })
            .collect();
        let bad = bad.into_iter().map(|(place, id, error)| {
            let id = id.as_str().unwrap_or_default().to_owned();
            Measured { place, id, values: Err(one_line(&error).replacen("line", "row", 1)) }
        });
        let mut rows: Vec<Measured> = measured.into_iter().chain(bad).collect();
        rows.sort_by_key(|row| row.place);
        columns(&features, &rows)
    })?;
    Ok(table::batches(batch)?)
}

/// What there is of a row.
struct Measured {
    place: usize,
    id: String,
    values: std::result::Result<Vec<f64>, String>,
}

fn values(features: &FeatureSet, sample: &Sample) -> std::result::Result<Vec<f64>, String> {
    let case = Case::of_sample(sample).map_err(|error| one_line(&error))?;
    Ok(features.plain_values(&case).into_iter().map(|(_, value)| value).collect())
}

fn columns(features: &FeatureSet, rows: &[Measured]) -> Result<RecordBatch> {
    let ids: StringArray = rows.iter().map(|row| Some(row.id.as_str())).collect();
    let mut columns: Vec<(String, ArrayRef)> = vec![(ID_COLUMN.to_owned(), Arc::new(ids))];
    for (index, name) in features.names().enumerate() {
        let values: Float64Array =
            rows.iter().map(|row| row.values.as_ref().ok().and_then(|values| values.get(index).copied())).collect();
        columns.push((name.to_owned(), Arc::new(values)));
    }
    let errors: StringArray = rows.iter().map(|row| row.values.as_ref().err().map(String::as_str)).collect();
    columns.push(("error".to_owned(), Arc::new(errors)));
    RecordBatch::try_from_iter(columns).map_err(|error| Fault::from(error.to_string()))
}

/// Every feature that there is: its name, family, unit and meaning, and whether its column has a model's name.
#[pyfunction]
pub fn features() -> Vec<(String, String, String, String, bool)> {
    let of_family = |family: &'static FamilyEntry| {
        family.entries.iter().map(|entry| {
            let [name, unit, meaning] = [entry.name, entry.unit, entry.meaning].map(str::to_owned);
            (name, family.name.to_owned(), unit, meaning, entry.has_model)
        })
    };
    CATALOGUE.families().iter().flat_map(of_family).collect()
}
