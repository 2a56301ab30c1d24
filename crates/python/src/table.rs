//! Tables of Arrow as the library's, and what their rows say as samples.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchReader, ffi_stream::RecordBatchStreamReader};
use arrow_pyarrow::{PyArrowType, Table as Batches};
use rayon::prelude::*;
use serde_json::Value;

use veridiff_table::{ID_COLUMN, Row, Table};
use veridiff_text::sample::{Sample, SampleError, from_value, make_ids_distinct, settle_changes};

use crate::error::{Fault, Result};

/// What messages call a table in memory.
const NAME: &str = "the table";

/// Samples whose changes are read by one thread at a time.
const TOGETHER: usize = 64;

/// How many changes are told of that are not quite as they should be.
const TOLD: usize = 5;

/// A stream of Arrow, of whatever Python object that gives one.
pub type Stream = PyArrowType<RecordBatchStreamReader>;

/// A table of Arrow on its way to Python.
pub type Out = PyArrowType<Batches>;

/// Reads a stream to its end.
///
/// # Errors
/// A column is of a type that no table holds, its texts are not UTF-8, or the stream breaks.
pub fn read(stream: RecordBatchStreamReader) -> Result<Table> {
    let schema = stream.schema();
    let batches = stream.collect::<Result<Vec<RecordBatch>, _>>();
    let batches = batches.map_err(|error| Fault::from(format!("{NAME} cannot be read: {error}")))?;
    for batch in &batches {
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            // a stream is taken at its word, and a `str` of bytes that are no UTF-8 is undefined
            column.to_data().validate_full().map_err(|error| {
                let what = format!("column `{}` of {NAME} is not what its type says: {error}", field.name());
                Fault::new(what, "texts have to be UTF-8: decode the column as what it is first")
            })?;
        }
    }
    Ok(Table::from_batches(NAME, &schema, &batches)?)
}

/// The table for Python, which shares its columns.
///
/// # Errors
/// Never as yet.
pub fn give(table: &Table) -> Result<Out> {
    batches(table.to_batch()?)
}

/// One batch as a table for Python.
///
/// # Errors
/// Never: one batch has its own schema.
pub fn batches(batch: RecordBatch) -> Result<Out> {
    let schema = batch.schema();
    let table = Batches::try_new(vec![batch], Arc::clone(&schema));
    table.map(PyArrowType).map_err(|error| Fault::from(error.to_string()))
}

/// The samples of a table, and the rows that are none.
pub struct Samples {
    /// With their places, from 0.
    pub samples: Vec<(usize, Sample)>,
    /// Places of the rows that are none, what they are called, and what is wrong with them.
    pub bad: Vec<(usize, Value, SampleError)>,
}

/// The samples that the rows of a table are. A row without an id is called by its number, from 0; `distinct` has later rows of the same
/// id called `a-2`, `a-3`, as the command does.
pub fn samples(table: &Table, distinct: bool) -> Samples {
    let read = |place: usize| {
        let mut row = table.row(place);
        let id = id_of(&row, place);
        row.insert(ID_COLUMN.to_owned(), id.clone());
        (place, id, from_value(Value::Object(row), place + 1))
    };
    let rows: Vec<_> = (0..table.n_rows()).into_par_iter().map(read).collect();
    let (mut samples, mut bad) = (Vec::with_capacity(rows.len()), Vec::new());
    for (place, id, sample) in rows {
        match sample {
            Ok(sample) => samples.push((place, sample)),
            Err(error) => bad.push((place, id, error)),
        }
    }
    let settle = |some: &mut [(usize, Sample)]| settle_changes(some.iter_mut().map(|(_, sample)| sample));
    let told: Vec<String> = samples.par_chunks_mut(TOGETHER).flat_map_iter(settle).collect();
    told.iter().take(TOLD).for_each(|told| tracing::warn!("{told}"));
    if told.len() > TOLD {
        tracing::warn!("{} more changes have something of that kind", told.len() - TOLD);
    }
    if distinct && let Some((n, first)) = make_ids_distinct(samples.iter_mut().map(|(_, sample)| sample)) {
        tracing::warn!("{n} samples have the id of an earlier one and are called `{first}` and so on");
    }
    Samples { samples, bad }
}

/// What a row is called: numbers are names too.
fn id_of(row: &Row, place: usize) -> Value {
    match row.get(ID_COLUMN) {
        None | Some(Value::Null) => Value::String(place.to_string()),
        Some(Value::Number(number)) => Value::String(number.to_string()),
        Some(id) => id.clone(),
    }
}

impl Samples {
    /// The samples, if every row is one.
    ///
    /// # Errors
    /// The first row that is none.
    pub fn all(self) -> Result<Vec<(usize, Sample)>> {
        let n = self.bad.len();
        match self.bad.into_iter().next() {
            None => Ok(self.samples),
            Some((_, _, error)) => {
                let hint = error.hint().unwrap_or_else(|| "every row needs `diff` and `text`".to_owned());
                let others = if n > 1 { format!(" ({n} rows are no samples)") } else { String::new() };
                let what = error.to_string().replacen("line", "row", 1);
                Err(Fault::new(format!("{what}{others}"), hint))
            }
        }
    }
}
