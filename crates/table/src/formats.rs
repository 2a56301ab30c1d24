//! Tables as files: Parquet, CSV and JSONL.
//!
//! What a format cannot say goes into Parquet's key-value metadata, and for CSV and JSONL into a sidecar
//! `<file>.meta.json`: provenance, the columns' types, and which empty CSV fields are empty strings rather than nulls
//! (CSV itself cannot tell; without a sidecar an empty field is null). A file without any of it is read by guessing.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchReader,
    cast::AsArray,
    types::{Float32Type, Float64Type, Int64Type},
};
use arrow_schema::{ArrowError, DataType, Schema};
use parquet::{
    arrow::{
        ArrowWriter,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    basic::Compression,
    errors::ParquetError,
    file::{
        metadata::{KeyValue, ParquetMetaData, RowGroupMetaData},
        properties::WriterProperties,
    },
};
use serde::{Deserialize, Serialize};

use super::{
    Column, Row, Table, TableBuilder, TableError,
    cell::{Cell, Kind},
};
use crate::files;

/// The Parquet key under which the columns' kinds stand.
pub(super) const COLUMNS_KEY: &str = "veridiff:columns";

/// Parquet keys that libraries write for themselves.
const FOREIGN_KEYS: [&str; 2] = ["ARROW:schema", "pandas"];

/// Who wrote it, in the form Parquet readers parse; part of the bytes, so it changes with the version only.
const CREATED_BY: &str = concat!("veridiff version ", env!("CARGO_PKG_VERSION"));

/// A file's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Csv,
    Jsonl,
}

impl Format {
    fn of(path: &Path) -> Result<Format, TableError> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("parquet") => Ok(Format::Parquet),
            Some("csv") => Ok(Format::Csv),
            Some("jsonl") => Ok(Format::Jsonl),
            _ => Err(TableError::UnknownFormat { path: path.to_owned() }),
        }
    }
}

/// What a text format cannot say; the content of `<file>.meta.json`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Sidecar {
    metadata: BTreeMap<String, String>,
    columns: Vec<Column>,
    /// By column, the rows (from 0) that hold an empty string, which CSV writes like a null.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    empty_strings: BTreeMap<String, Vec<usize>>,
}

impl Sidecar {
    fn path(table: &Path) -> PathBuf {
        let mut name = table.as_os_str().to_owned();
        name.push(".meta.json");
        name.into()
    }

    /// The sidecar of `table`, or an empty one.
    fn read(table: &Path) -> Result<Sidecar, TableError> {
        let path = Sidecar::path(table);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|source| TableError::Sidecar { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Sidecar::default()),
            Err(source) => Err(TableError::Read { path, source }),
        }
    }

    fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Table {
    /// Reads `.parquet`, `.csv` or `.jsonl`, as the file's name says.
    ///
    /// Files of other programs will do: numbers of any width, booleans and text of any Arrow type are taken. In a CSV
    /// file without a sidecar a column of integers without leading zeros is Int64, one of numbers is Float64, one of
    /// true and false is Int64, any other is text.
    ///
    /// # Errors
    /// [`TableError::UnknownFormat`], [`TableError::Read`], the format's own ([`TableError::Parquet`],
    /// [`TableError::Csv`], [`TableError::Json`], [`TableError::Sidecar`]), [`TableError::DuplicateColumn`],
    /// [`TableError::ColumnType`], [`TableError::Cell`], and [`TableError::NotFinite`] for the first NaN or infinity.
    pub fn read(path: &Path) -> Result<Table, TableError> {
        let format = Format::of(path)?;
        let file = File::open(path).map_err(|source| TableError::Read { path: path.to_owned(), source })?;
        match format {
            Format::Parquet => {
                // The decoder has assertions that a damaged file can trip; a file is no reason to bring us down.
                catch_unwind(AssertUnwindSafe(|| read_parquet(path, file)))
                    .unwrap_or_else(|_| Err(TableError::ParquetDamaged { path: path.to_owned() }))
            }
            Format::Csv => read_csv(path, file),
            Format::Jsonl => read_jsonl(path, file),
        }
    }

    /// Writes `.parquet`, `.csv` or `.jsonl`, as the file's name says; equal tables give equal bytes.
    ///
    /// At every moment `path` holds either what it held before or the whole table: the bytes go to a temporary file in
    /// the same folder, to the disk, and then under their name. For CSV and JSONL the sidecar is put in place just
    /// before. A link is followed; a pipe or device is written to directly and gets no sidecar.
    ///
    /// # Errors
    /// [`TableError::UnknownFormat`]; [`TableError::Write`] with the system's reason.
    pub fn write(&self, path: &Path) -> Result<(), TableError> {
        let format = Format::of(path)?;
        if let Some(list) = self.columns.iter().find(|column| matches!(column.kind, Kind::List(_))) {
            Table::check_lists(path, &list.name)?;
        }
        let target = files::followed(path);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| TableError::Write { path, source }
        };
        if format != Format::Parquet && !files::is_stream(&target) {
            let sidecar = Sidecar {
                metadata: self.metadata.clone(),
                columns: self.columns.clone(),
                empty_strings: if format == Format::Csv { self.empty_strings() } else { BTreeMap::new() },
            };
            let beside = Sidecar::path(&target);
            let write =
                |out: &mut (dyn Write + Send)| Ok(writeln!(out, "{}", serde_json::to_string_pretty(&sidecar)?)?);
            files::write_with(&beside, write).map_err(failed(&beside))?;
        }
        let write = |out: &mut (dyn Write + Send)| match format {
            Format::Parquet => self.write_parquet(out).map_err(io_of_parquet),
            Format::Csv => self.write_csv(out).map_err(io_of_csv),
            Format::Jsonl => self.write_jsonl(out),
        };
        files::write_with(&target, write).map_err(failed(&target))
    }

    /// Whether [`Table::write`] could write `path`, to be asked before hours of work: a known ending, and a folder that
    /// takes a new file. Nothing is left behind.
    ///
    /// # Errors
    /// As [`Table::write`].
    pub fn check_output(path: &Path) -> Result<(), TableError> {
        Format::of(path)?;
        files::check(path).map_err(|source| TableError::Write { path: path.to_owned(), source })
    }

    /// Whether [`Table::write`] could write the list column `column` to `path`, to be asked before hours of work.
    ///
    /// # Errors
    /// [`TableError::ListColumn`] unless it is Parquet; [`TableError::UnknownFormat`].
    pub fn check_lists(path: &Path, column: &str) -> Result<(), TableError> {
        match Format::of(path)? {
            Format::Parquet => Ok(()),
            Format::Csv | Format::Jsonl => {
                Err(TableError::ListColumn { path: path.to_owned(), column: column.to_owned() })
            }
        }
    }

    fn write_parquet(&self, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
        let columns = self.columns_text().map_err(|e| ParquetError::External(Box::new(e)))?;
        let mut pairs: Vec<KeyValue> =
            self.metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        pairs.push(KeyValue::new(COLUMNS_KEY.to_owned(), columns));
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(pairs))
            .build();
        let mut writer = ArrowWriter::try_new(out, self.batch.schema(), Some(properties))?;
        writer.write(&self.batch)?;
        writer.close()?;
        Ok(())
    }

    fn write_csv(&self, out: &mut (dyn Write + Send)) -> csv::Result<()> {
        if self.columns.is_empty() {
            return Ok(()); // the CSV writer has no record without fields
        }
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(self.columns.iter().map(|column| &column.name))?;
        let mut record = csv::StringRecord::new();
        for row in 0..self.n_rows() {
            record.clear();
            for (column, array) in self.columns.iter().zip(self.batch.columns()) {
                push_field(&mut record, array, column.kind, row);
            }
            writer.write_record(&record)?;
        }
        writer.flush()?;
        Ok(())
    }

    fn write_jsonl(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        for row in 0..self.n_rows() {
            serde_json::to_writer(&mut *out, &self.row(row))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn empty_strings(&self) -> BTreeMap<String, Vec<usize>> {
        let mut all = BTreeMap::new();
        for (column, array) in self.columns.iter().zip(self.batch.columns()) {
            if column.kind == Kind::Text {
                let texts = array.as_string::<i32>().iter().enumerate();
                let rows: Vec<usize> = texts.filter(|(_, text)| *text == Some("")).map(|(row, _)| row).collect();
                if !rows.is_empty() {
                    all.insert(column.name.clone(), rows);
                }
            }
        }
        all
    }
}

/// The system's error inside, so that its kind is not lost.
fn io_of_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => inner.downcast::<io::Error>().map_or_else(io::Error::other, |error| *error),
        other => io::Error::other(other),
    }
}

/// The system's error inside, so that its kind is not lost.
fn io_of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(inner) => inner,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// Adds the value at `row` to a record of a CSV file: a null is an empty field, and a float has the fewest digits that
/// give it back.
fn push_field(record: &mut csv::StringRecord, array: &ArrayRef, kind: Kind, row: usize) {
    if kind == Kind::Null || array.is_null(row) {
        return record.push_field("");
    }
    match kind {
        Kind::Null => {}
        Kind::Int => record.push_field(&array.as_primitive::<Int64Type>().value(row).to_string()),
        Kind::Float => {
            record.push_field(ryu::Buffer::new().format(array.as_primitive::<Float64Type>().value(row)));
        }
        Kind::Text | Kind::Json => record.push_field(array.as_string::<i32>().value(row)),
        // `Table::write` has refused it
        Kind::List(_) => record.push_field(""),
    }
}

fn read_parquet(path: &Path, file: File) -> Result<Table, TableError> {
    let damaged = |source: ParquetError| TableError::Parquet { path: path.to_owned(), source };
    let found = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(damaged)?;
    let file_length = file.metadata().map_err(|e| damaged(e.into()))?.len();
    chunks_inside(found.metadata(), file_length).map_err(damaged)?;
    let pairs = found.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let metadata = pairs.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect();
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, found).build().map_err(damaged)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<RecordBatch>, ArrowError>>().map_err(|e| damaged(e.into()))?;
    of_batches(path, &schema, &batches, metadata)
}

/// The table of batches of one schema; `path` is for messages. `metadata` is what stands beside them, [`COLUMNS_KEY`] in it.
pub(super) fn of_batches(
    path: &Path,
    schema: &Schema,
    batches: &[RecordBatch],
    mut metadata: BTreeMap<String, String>,
) -> Result<Table, TableError> {
    metadata.retain(|key, _| !FOREIGN_KEYS.contains(&key.as_str()));
    // Without our key, or where another program spoilt it, the Arrow types alone decide.
    let known: Vec<Column> =
        metadata.remove(COLUMNS_KEY).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let n_rows = batches.iter().map(RecordBatch::num_rows).sum();

    no_duplicates(path, schema.fields().iter().map(|field| field.name().as_str()))?;
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (index, field) in schema.fields().iter().enumerate() {
        let remembered = known.iter().find(|column| column.name == *field.name());
        let kind = match arrow_kind(field.data_type()) {
            Some(Kind::Text) if remembered.is_some_and(|column| column.kind == Kind::Json) => Kind::Json,
            Some(kind) => kind,
            None => {
                let (column, got) = (field.name().clone(), field.data_type().to_string());
                return Err(TableError::ColumnType { path: path.to_owned(), column, got });
            }
        };
        let mut cells = Vec::with_capacity(n_rows);
        batches.iter().for_each(|batch| push_cells(batch.column(index), &mut cells));
        let first_row = remembered.map_or(0, |column| column.first_row);
        let column = Column { name: field.name().clone(), kind, first_row };
        // What is to be JSON text is that already: as text it stays as it is.
        let array = column.array(&cells, if kind == Kind::Json { Kind::Text } else { kind })?;
        all_finite(path, field.name(), &array)?;
        columns.push((column, array));
    }
    Ok(Table::from_arrays(columns, n_rows, metadata))
}

/// Whether every column chunk lies inside the file: the decoder takes that for granted.
fn chunks_inside(metadata: &ParquetMetaData, file_length: u64) -> Result<(), ParquetError> {
    for chunk in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
        let inside = |(start, length): (u64, u64)| start.checked_add(length).is_some_and(|end| end <= file_length);
        if !u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok()).is_some_and(inside) {
            let (name, length) = (chunk.column_path().string(), chunk.compressed_size());
            let message = format!("column `{name}` is at byte {start} for {length}, in a file of {file_length} bytes");
            return Err(ParquetError::General(message));
        }
    }
    Ok(())
}

/// The kind that holds an Arrow type's values, if one does.
fn arrow_kind(data_type: &DataType) -> Option<Kind> {
    match data_type {
        DataType::Null => Some(Kind::Null),
        DataType::Boolean => Some(Kind::Int),
        DataType::UInt64 => None, // may not fit
        integer if integer.is_integer() => Some(Kind::Int),
        float if float.is_floating() => Some(Kind::Float),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Kind::Text),
        DataType::Dictionary(_, values) => arrow_kind(values),
        DataType::FixedSizeList(item, n) if *item.data_type() == DataType::Float32 && *n > 0 => {
            Some(Kind::List(*n as usize))
        }
        _ => None,
    }
}

/// Adds the values of an array whose type has a kind to `cells`: booleans as 1 and 0, numbers in the widest type.
fn push_cells(array: &dyn Array, cells: &mut Vec<Cell>) {
    use arrow_array::types as t;
    macro_rules! push {
        ($values:expr, $cell:expr) => {
            cells.extend($values.iter().map(|value| value.map_or(Cell::Null, $cell)))
        };
    }
    match array.data_type() {
        DataType::Boolean => push!(array.as_boolean(), |truth| Cell::Int(truth.into())),
        DataType::Int8 => push!(array.as_primitive::<t::Int8Type>(), |int| Cell::Int(int.into())),
        DataType::Int16 => push!(array.as_primitive::<t::Int16Type>(), |int| Cell::Int(int.into())),
        DataType::Int32 => push!(array.as_primitive::<t::Int32Type>(), |int| Cell::Int(int.into())),
        DataType::Int64 => push!(array.as_primitive::<t::Int64Type>(), Cell::Int),
        DataType::UInt8 => push!(array.as_primitive::<t::UInt8Type>(), |int| Cell::Int(int.into())),
        DataType::UInt16 => push!(array.as_primitive::<t::UInt16Type>(), |int| Cell::Int(int.into())),
        DataType::UInt32 => push!(array.as_primitive::<t::UInt32Type>(), |int| Cell::Int(int.into())),
        DataType::Float16 => push!(array.as_primitive::<t::Float16Type>(), |float| Cell::Float(float.to_f64())),
        DataType::Float32 => push!(array.as_primitive::<t::Float32Type>(), |float| Cell::Float(float.into())),
        DataType::Float64 => push!(array.as_primitive::<t::Float64Type>(), Cell::Float),
        DataType::Utf8 => push!(array.as_string::<i32>(), |text| Cell::Text(text.into())),
        DataType::LargeUtf8 => push!(array.as_string::<i64>(), |text| Cell::Text(text.into())),
        DataType::Utf8View => push!(array.as_string_view(), |text| Cell::Text(text.into())),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let mut values = Vec::with_capacity(dictionary.values().len());
            push_cells(dictionary.values(), &mut values);
            // Without values every row is null, and there are no keys to speak of.
            let keys = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
            cells.extend(keys.into_iter().enumerate().map(|(row, key)| match values.get(key) {
                Some(value) if dictionary.keys().is_valid(row) => value.clone(),
                _ => Cell::Null,
            }));
        }
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            cells.extend((0..lists.len()).map(|row| {
                let list = lists.is_valid(row).then(|| lists.value(row));
                // a list with a hole in it has no place in a column of numbers
                let whole = list.filter(|list| list.null_count() == 0);
                let numbers =
                    whole.map(|list| list.as_primitive::<t::Float32Type>().values().iter().copied().collect());
                numbers.map_or(Cell::Null, Cell::List)
            }));
        }
        // Null; the types without a kind were refused before.
        _ => cells.resize(cells.len() + array.len(), Cell::Null),
    }
}

fn all_finite(path: &Path, column: &str, array: &ArrayRef) -> Result<(), TableError> {
    let bad = if let Some(floats) = array.as_primitive_opt::<Float64Type>() {
        let mut floats = floats.iter().enumerate();
        floats.find_map(|(row, float)| Some((row, float.filter(|float| !float.is_finite())?.to_string())))
    } else if let Some(lists) = array.as_fixed_size_list_opt() {
        let mut lists = lists.iter().enumerate();
        lists.find_map(|(row, list)| {
            let list = list?;
            let bad = list.as_primitive::<Float32Type>().iter().flatten().find(|float| !float.is_finite())?;
            Some((row, bad.to_string()))
        })
    } else {
        None
    };
    match bad {
        None => Ok(()),
        Some((row, value)) => {
            let column = column.to_owned();
            Err(TableError::NotFinite { path: path.to_owned(), row: row + 1, column, value })
        }
    }
}

fn no_duplicates<'a>(path: &Path, names: impl IntoIterator<Item = &'a str>) -> Result<(), TableError> {
    let mut seen = HashSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => Err(TableError::DuplicateColumn { path: path.to_owned(), column: name.to_owned() }),
    }
}

fn read_csv(path: &Path, file: File) -> Result<Table, TableError> {
    let malformed = |error: csv::Error| {
        let path = path.to_owned();
        match error.is_io_error() {
            true => TableError::Read { path, source: io_of_csv(error) },
            false => TableError::Csv { path, source: error },
        }
    };
    let sidecar = Sidecar::read(path)?;
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(malformed)?.clone();
    no_duplicates(path, &header)?;

    // Every field is read as text first: only so do we know the row and column of one that is not a number.
    let records = reader.into_records().collect::<csv::Result<Vec<_>>>().map_err(malformed)?;

    let mut columns = Vec::with_capacity(header.len());
    for (index, name) in header.iter().enumerate() {
        let name = name.to_owned();
        let mut fields: Vec<Option<&str>> =
            records.iter().map(|record| record.get(index).filter(|field| !field.is_empty())).collect();
        let known = sidecar.column(&name);
        for &row in sidecar.empty_strings.get(&name).into_iter().flatten() {
            if let Some(field @ None) = fields.get_mut(row) {
                *field = Some("");
            }
        }
        let kind = known.map_or_else(|| guess(&fields), |column| column.kind);
        let mut cells = Vec::with_capacity(fields.len());
        for (row, field) in fields.iter().enumerate() {
            cells.push(match field {
                None => Cell::Null,
                Some(text) => parse_field(text, kind).map_err(|expected| {
                    let (path, column) = (path.to_owned(), name.clone());
                    match text.parse::<f64>() {
                        Ok(float) if !float.is_finite() && kind != Kind::Int => {
                            TableError::NotFinite { path, row: row + 1, column, value: float.to_string() }
                        }
                        _ => TableError::Cell { path, row: row + 1, column, value: (*text).to_owned(), expected },
                    }
                })?,
            });
        }
        let first_row = known.map_or(0, |column| column.first_row);
        columns.push(Column::of_cells(name, first_row, &cells, [kind])?);
    }
    Ok(Table::from_arrays(columns, records.len(), sidecar.metadata))
}

/// The kind of a CSV column without a sidecar.
fn guess(fields: &[Option<&str>]) -> Kind {
    // `007` and `+1` name something; as numbers they would lose their spelling.
    let plain = |text: &&str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let leading_zero = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
        !digits.starts_with('+') && !leading_zero
    };
    let all = |test: &dyn Fn(&&str) -> bool| fields.iter().flatten().all(test);
    if fields.iter().all(Option::is_none) {
        Kind::Null
    } else if all(&|text| plain(text) && text.parse::<i64>().is_ok()) || all(&|text| truth(text).is_some()) {
        Kind::Int
    } else if all(&|text| plain(text) && text.parse::<f64>().is_ok()) {
        Kind::Float
    } else {
        Kind::Text
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// A CSV field as a cell of a column of `kind`; the error is what was expected.
fn parse_field(text: &str, kind: Kind) -> Result<Cell, &'static str> {
    match kind {
        // A column that was all null may have got values since.
        Kind::Null => match guess(&[Some(text)]) {
            Kind::Null => Ok(Cell::Null),
            kind => parse_field(text, kind),
        },
        Kind::Int => match truth(text) {
            Some(truth) => Ok(Cell::Int(truth.into())),
            None => text.parse().map(Cell::Int).map_err(|_| "an integer"),
        },
        Kind::Float => match text.parse::<f64>() {
            Ok(float) if float.is_finite() => Ok(Cell::Float(float)),
            _ => Err("a number"),
        },
        Kind::Text => Ok(Cell::Text(text.into())),
        // a sidecar of another program's: this one writes no lists to CSV
        Kind::Json | Kind::List(_) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => Ok(Cell::from(&value)),
            Err(_) => Ok(Cell::Text(text.into())),
        },
    }
}

fn read_jsonl(path: &Path, file: File) -> Result<Table, TableError> {
    let sidecar = Sidecar::read(path)?;
    let mut builder = TableBuilder::with_columns(&sidecar.columns);
    for (index, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(|source| TableError::Read { path: path.to_owned(), source })?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let row: Row = serde_json::from_slice(&line).map_err(|source| TableError::Json {
            path: path.to_owned(),
            line: index + 1,
            source,
        })?;
        builder.push(&row);
    }
    builder.finish(sidecar.metadata)
}
