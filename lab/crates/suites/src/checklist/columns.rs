//! Rows for verl as it reads them: Parquet with nested columns.

use std::{path::Path, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray,
    builder::{ListBuilder, StringBuilder, StructBuilder},
};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use parquet::{arrow::ArrowWriter, errors::ParquetError};
use serde_json::Value;
use veridiff_table::files;

use crate::SuiteError;

/// Writes rows of [`Form::Verl`](super::emit::Form::Verl) in one step.
///
/// # Errors
/// [`SuiteError::Write`].
pub fn write(path: &Path, rows: &[Value]) -> Result<(), SuiteError> {
    let failed = |source| SuiteError::Write { path: path.to_owned(), source };
    let batch = batch(rows).map_err(|error| failed(std::io::Error::other(error)))?;
    files::write_with(path, |out| encode(&batch, out).map_err(std::io::Error::other)).map_err(failed)
}

fn encode(batch: &RecordBatch, out: &mut (dyn std::io::Write + Send)) -> Result<(), ParquetError> {
    let mut writer = ArrowWriter::try_new(out, batch.schema(), None)?;
    writer.write(batch)?;
    writer.close().map(|_| ())
}

fn batch(rows: &[Value]) -> Result<RecordBatch, ArrowError> {
    let text = |of: fn(&Value) -> &Value| -> ArrayRef {
        Arc::new(rows.iter().map(|row| of(row).as_str()).collect::<StringArray>())
    };
    let role_and_content =
        Fields::from(["role", "content"].map(|name| Field::new(name, DataType::Utf8, true)).to_vec());
    let message =
        StructBuilder::new(role_and_content, vec![Box::new(StringBuilder::new()), Box::new(StringBuilder::new())]);
    let mut prompts = ListBuilder::new(message);
    for row in rows {
        for said in row["prompt"].as_array().into_iter().flatten() {
            let message = prompts.values();
            for (i, key) in ["role", "content"].into_iter().enumerate() {
                let column = message.field_builder::<StringBuilder>(i).expect("both columns are texts");
                column.append_option(said[key].as_str());
            }
            message.append(true);
        }
        prompts.append(true);
    }
    let of = |columns: Vec<(&str, ArrayRef)>| -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(StructArray::try_from(columns)?))
    };
    let model = of(vec![
        ("style", text(|row| &row["reward_model"]["style"])),
        ("ground_truth", text(|row| &row["reward_model"]["ground_truth"])),
    ])?;
    let index: Int64Array = rows.iter().map(|row| row["extra_info"]["index"].as_i64()).collect();
    let clean: BooleanArray = rows.iter().map(|row| row["extra_info"]["clean"].as_bool()).collect();
    let extra = of(vec![
        ("index", Arc::new(index)),
        ("case", text(|row| &row["extra_info"]["case"])),
        ("clean", Arc::new(clean)),
    ])?;
    let columns: [(&str, ArrayRef); 5] = [
        ("data_source", text(|row| &row["data_source"])),
        ("prompt", Arc::new(prompts.finish())),
        ("ability", text(|row| &row["ability"])),
        ("reward_model", model),
        ("extra_info", extra),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.map(|(_, column)| column).to_vec())
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array as _, cast::AsArray as _};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_read_as_they_were() {
        let row = |i: usize, case: &str, clean: bool| {
            json!({
                "data_source": "veridiff-checklist", "prompt": [{ "role": "user", "content": format!("é {case}") }], "ability": "review",
                "reward_model": { "style": "rule", "ground_truth": "[\"x\"]" }, "extra_info": { "index": i, "case": case, "clean": clean },
            })
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verl.parquet");
        write(&path, &[row(0, "a", false), row(1, "b", true), row(2, "c", false)]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut batches = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let batch = batches.next().unwrap().unwrap();
        let names: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["data_source", "prompt", "ability", "reward_model", "extra_info"]);
        assert_eq!(batch.num_rows(), 3);
        let prompt = batch.column(1).as_list::<i32>().value(1);
        assert_eq!((prompt.len(), prompt.as_struct().column(1).as_string::<i32>().value(0)), (1, "é b"));
        let extra = batch.column(4).as_struct();
        assert!(extra.column(2).as_boolean().value(1) && !extra.column(2).as_boolean().value(2));
        write(&path, &[]).unwrap();
    }
}
