//! Feature tables: rows to Parquet, CSV and JSONL and back; the journal that survives a kill.
//!
//! A [`Row`] is a JSON object. A [`Table`] gives every key one column with one type, found over all rows:
//!
//! | the values are | the column is |
//! |---|---|
//! | integers, booleans | Int64; true is 1, false is 0 |
//! | floats, or floats and integers | Float64 (JSON text if it cannot hold one of the integers exactly) |
//! | strings | Utf8 |
//! | arrays of equally many numbers, in a column called `<feature>@<model>` | a fixed-size list of Float32; Parquet only |
//! | of several of these types, or nested otherwise | Utf8, each value as JSON text |
//! | all null | Null |
//!
//! A missing key is a null. A column stands where its key first appeared. A table never holds NaN or an infinity.
//! Provenance is the table's [metadata](Table::metadata).

mod arrow;
mod beside;
pub mod catalogue;
mod cell;
mod error;
pub mod files;
mod formats;
mod journal;
mod merge;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use beside::BesideSummary;
use cell::{Cell, Kind};
pub use error::{KeyDifference, TableError};
pub use journal::{Groups, Journal};
pub use merge::{MergeSummary, SHARD_KEY, TIME_KEYS};

/// One sample's values by column name.
pub type Row = Map<String, Value>;

/// The integer column that holds a row's place in the input, from 0.
pub const ROW_COLUMN: &str = "row";

/// The text column that names a row.
pub const ID_COLUMN: &str = "id";

/// What a table remembers of a column beside its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Column {
    name: String,
    kind: Kind,
    /// Where the key first appeared, in the input's row numbers if the rows have them ([`ROW_COLUMN`]): what decides
    /// the order of columns when shards with different columns are merged.
    first_row: i64,
}

impl Column {
    /// The column that holds `cells` and, besides, whatever columns of the kinds `at_least` hold.
    ///
    /// # Errors
    /// [`TableError::TooMuchText`].
    fn of_cells(
        name: String,
        first_row: i64,
        cells: &[Cell],
        at_least: impl IntoIterator<Item = Kind>,
    ) -> Result<(Column, ArrayRef), TableError> {
        let kind = cell::kind_of(cells, at_least);
        let column = Column { name, kind, first_row };
        let array = column.array(cells, kind)?;
        Ok((column, array))
    }

    /// `cells` as this column stores them, of the given kind.
    fn array(&self, cells: &[Cell], kind: Kind) -> Result<ArrayRef, TableError> {
        cell::to_array(cells, kind).map_err(|cell::TooMuchText(n_bytes)| {
            let column = self.name.clone();
            TableError::TooMuchText { column, n_bytes }
        })
    }
}

/// A table in the making. It takes rows one by one, so that they need not be kept: it holds 24 bytes a value, and text.
#[derive(Debug, Default)]
pub struct TableBuilder {
    /// Cells by column; those of a column that the last rows lacked end early.
    columns: Vec<(Column, Vec<Cell>)>,
    /// Where a name stands in `columns`.
    places: HashMap<String, usize>,
    n_rows: usize,
}

impl TableBuilder {
    /// A builder that begins with these columns; they become at least of their kinds.
    fn with_columns(columns: &[Column]) -> TableBuilder {
        TableBuilder {
            places: columns.iter().enumerate().map(|(index, column)| (column.name.clone(), index)).collect(),
            columns: columns.iter().map(|column| (column.clone(), Vec::new())).collect(),
            n_rows: 0,
        }
    }

    /// Adds a row below the others.
    pub fn push(&mut self, row: &Row) {
        for (name, value) in row {
            let place = self.places.get(name).copied().unwrap_or_else(|| {
                let first_row = row.get(ROW_COLUMN).and_then(Value::as_i64).unwrap_or(self.n_rows as i64);
                self.places.insert(name.clone(), self.columns.len());
                self.columns.push((Column { name: name.clone(), kind: Kind::Null, first_row }, Vec::new()));
                self.columns.len() - 1
            });
            let cells = &mut self.columns[place].1;
            cells.resize(self.n_rows, Cell::Null);
            cells.push(Cell::of(name, value));
        }
        self.n_rows += 1;
    }

    /// The table of the rows so far, under the types of the [module's table](self).
    ///
    /// # Errors
    /// [`TableError::NoColumns`] if there are rows but not one key, [`TableError::TooMuchText`].
    pub fn finish(self, metadata: BTreeMap<String, String>) -> Result<Table, TableError> {
        let n_rows = self.n_rows;
        if self.columns.is_empty() && n_rows > 0 {
            return Err(TableError::NoColumns { n_rows });
        }
        let columns = self.columns.into_iter().map(|(Column { name, kind, first_row }, mut cells)| {
            cells.resize(n_rows, Cell::Null);
            Column::of_cells(name, first_row, &cells, [kind])
        });
        Ok(Table::from_arrays(columns.collect::<Result<_, _>>()?, n_rows, metadata))
    }
}

/// Columns of equal length, each with a name and one type, and string metadata about them all.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    batch: RecordBatch,
    /// As many as the batch has, in its order.
    columns: Vec<Column>,
    metadata: BTreeMap<String, String>,
}

impl Table {
    /// A table of `rows`, in their order, under the types of the [module's table](self).
    ///
    /// # Errors
    /// [`TableError::NoColumns`] if there are rows but not one key, [`TableError::TooMuchText`].
    pub fn from_rows(rows: &[Row], metadata: &BTreeMap<String, String>) -> Result<Table, TableError> {
        let mut builder = TableBuilder::default();
        rows.iter().for_each(|row| builder.push(row));
        builder.finish(metadata.clone())
    }

    /// A table of columns that have their types and equal lengths already.
    fn from_arrays(columns: Vec<(Column, ArrayRef)>, n_rows: usize, metadata: BTreeMap<String, String>) -> Table {
        let (columns, arrays): (Vec<Column>, Vec<ArrayRef>) = columns.into_iter().unzip();
        let field = |column: &Column| Field::new(&column.name, column.kind.data_type(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(n_rows));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)
            .expect("fields follow the arrays' kinds and every caller gives n_rows cells to each column");
        Table { batch, columns, metadata }
    }

    /// How many rows the table has; all columns have as many cells.
    pub fn n_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The columns' names in order.
    pub fn column_names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// What the table says about its origin.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// How many numbers each row of a list column has; `None` for any other column.
    pub fn list_length(&self, name: &str) -> Option<usize> {
        match self.columns[self.find(name)?].kind {
            Kind::List(n) => Some(n),
            _ => None,
        }
    }

    /// A numeric column, a value a row, `None` for null; booleans are 1 and 0. Integers beyond 2^53 are rounded. An element of a list
    /// column is a numeric column too, under the name that [`catalogue::element`] gives it.
    ///
    /// # Errors
    /// [`TableError::MissingColumn`]; [`TableError::NotANumber`] names the first row that holds something else.
    pub fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>, TableError> {
        if let (None, Some((list, place))) = (self.find(name), catalogue::element_of(name))
            && self.list_length(list).is_some_and(|n| place < n)
        {
            return Ok(cell::elements(self.batch.column(self.index(list)?), place));
        }
        let index = self.index(name)?;
        let error = |row: usize, value: String| TableError::NotANumber { column: name.to_owned(), row: row + 1, value };
        // one word makes all of a column texts: it is that one which is told, not a number above it
        let is_word = |cell: &Cell| matches!(cell, Cell::Text(text) if text.trim().parse::<f64>().is_err());
        let no_number = |row: usize, cell: &Cell| {
            let word = self.cells(index).enumerate().find(|(_, cell)| is_word(cell));
            let (row, value) = word.map_or_else(|| (row, cell.text()), |(row, word)| (row, word.text()));
            error(row, value.unwrap_or_default())
        };
        self.cells(index)
            .enumerate()
            .map(|(row, cell)| match cell {
                Cell::Null => Ok(None),
                Cell::Int(int) => Ok(Some(int as f64)),
                Cell::Float(float) => Ok(Some(float)),
                Cell::Text(_) | Cell::Json(_) => Err(no_number(row, &cell)),
                Cell::List(numbers) => Err(error(row, format!("a list of {} numbers", numbers.len()))),
            })
            .collect()
    }

    /// Any column as text, a value a row, `None` for null: strings as they are, other values as JSON.
    ///
    /// # Errors
    /// [`TableError::MissingColumn`].
    pub fn strings(&self, name: &str) -> Result<Vec<Option<String>>, TableError> {
        Ok(self.cells(self.index(name)?).map(|cell| cell.text()).collect())
    }

    /// The rows for which `keep` is true, in order. Types stay as they are.
    ///
    /// # Panics
    /// If `keep` is not as long as the table.
    pub fn select(&self, keep: &[bool]) -> Table {
        assert_eq!(keep.len(), self.n_rows(), "one flag a row");
        let kept = |(column, array): (&Column, &ArrayRef)| (column.clone(), cell::kept(array, column.kind, keep));
        let columns = self.columns.iter().zip(self.batch.columns()).map(kept).collect();
        Table::from_arrays(columns, keep.iter().filter(|keep| **keep).count(), self.metadata.clone())
    }

    /// All rows; each has every column, with null where there is no value. Values that became JSON text come back as
    /// they were, but booleans outside nested values as 1 and 0.
    pub fn rows(&self) -> Vec<Row> {
        (0..self.n_rows()).map(|row| self.row(row)).collect()
    }

    /// One row, from 0, as [`Table::rows`] gives it.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn row(&self, row: usize) -> Row {
        let value = |(index, column): (usize, &Column)| {
            (column.name.clone(), Value::from(&cell::cell_at(self.batch.column(index), column.kind, row)))
        };
        self.columns.iter().enumerate().map(value).collect()
    }

    fn cells(&self, index: usize) -> impl Iterator<Item = Cell> {
        let (array, kind) = (self.batch.column(index), self.columns[index].kind);
        (0..self.n_rows()).map(move |row| cell::cell_at(array, kind, row))
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    fn index(&self, name: &str) -> Result<usize, TableError> {
        self.find(name).ok_or_else(|| {
            let mut columns: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
            columns.sort_by_key(|column| strsim::damerau_levenshtein(column, name));
            TableError::MissingColumn { column: name.to_owned(), columns }
        })
    }
}
