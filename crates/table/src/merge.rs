//! Tables under each other: rows of one kind ([`Table::concat`]), and the shards of one run ([`Table::merge`]).

use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry};

use serde::Serialize;

use super::{
    Column, ID_COLUMN, ROW_COLUMN, Table, TableError,
    cell::{self, Cell},
    error::KeyDifference,
};

/// The metadata key that says which shard a table is, as `I/N`, or which of them it holds, as `I+J/N`; it may differ between shards.
pub const SHARD_KEY: &str = "shard";

/// Metadata keys that say when; they may differ between shards and between a run and its resumption.
pub const TIME_KEYS: [&str; 2] = ["started", "finished"];

/// What [`Table::merge`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MergeSummary {
    /// How many rows the merged table has: those of all shards together.
    pub n_rows: usize,
    /// Rows from each shard, in the order given.
    pub n_rows_by_shard: Vec<usize>,
    /// Columns in the merged table.
    pub n_columns: usize,
    /// Whether the rows were put in the input's order; without a `row` column they stay as given.
    pub ordered: bool,
    /// Row numbers between the first and the last of the input that no shard has, if there is a `row` column: not
    /// zero if a shard is missing or the run left rows out.
    pub n_missing_rows: Option<usize>,
    /// The shards, as `I/N`, that the tables' metadata speak of and that none of them is.
    pub missing_shards: Vec<String>,
}

impl Table {
    /// The tables' rows under each other, in order. A column's type is the one that holds
    /// the values of all. No table gives an empty one.
    ///
    /// # Errors
    /// [`TableError::Columns`] if the names differ (their order may), [`TableError::Provenance`] if the metadata do;
    /// both say where.
    pub fn concat(tables: &[Table]) -> Result<Table, TableError> {
        let Some(first) = tables.first() else { return Table::from_rows(&[], &BTreeMap::new()) };
        for (index, table) in tables.iter().enumerate().skip(1) {
            let sides = || ("table 1".to_owned(), format!("table {}", index + 1));
            let columns = |table: &Table| {
                table.columns.iter().map(|column| (column.name.clone(), "present".to_owned())).collect()
            };
            let different = differ(&columns(first), &columns(table), &[]);
            if !different.is_empty() {
                let (left, right) = sides();
                return Err(TableError::Columns { left, right, different });
            }
            let different = differ(&first.metadata, &table.metadata, &[]);
            if !different.is_empty() {
                let (left, right) = sides();
                return Err(TableError::Provenance { left, right, different });
            }
        }
        let places: Vec<(usize, usize)> = all_places(tables.iter()).collect();
        let names = first.columns.iter().map(|column| (column.name.clone(), column.first_row)).collect();
        stack(&tables.iter().collect::<Vec<_>>(), &places, names, first.metadata.clone())
    }

    /// One table of the shards of a run, each given with a name for messages (its path).
    ///
    /// If they have a `row` column the result equals the table of the run without shards, and so do its bytes: rows
    /// are put in the input's order, columns in the order of their first appearance there, and a column's type is the
    /// one that holds the values of all.
    /// A shard without some columns has nulls there. Metadata keys that may differ ([`SHARD_KEY`], [`TIME_KEYS`]) are
    /// left out; where shards are missing [`SHARD_KEY`] says which are there.
    ///
    /// # Errors
    /// [`TableError::Provenance`] if other metadata differ; [`TableError::Duplicate`] for an `id` or `row` that is
    /// there twice; [`TableError::Unnamed`] for a row that lacks it; [`TableError::MissingColumn`] for a shard without
    /// `id`, or without `row` where others have it.
    pub fn merge(shards: &[(String, Table)]) -> Result<(Table, MergeSummary), TableError> {
        let varying = [SHARD_KEY, TIME_KEYS[0], TIME_KEYS[1]];
        if let Some(((left, first), rest)) = shards.split_first() {
            for (right, shard) in rest {
                let different = differ(&first.metadata, &shard.metadata, &varying);
                if !different.is_empty() {
                    return Err(TableError::Provenance { left: left.clone(), right: right.clone(), different });
                }
            }
        }
        let tables: Vec<&Table> = shards.iter().map(|(_, table)| table).collect();
        // Shards without rows may lack every column.
        let filled: Vec<&(String, Table)> = shards.iter().filter(|(_, table)| table.n_rows() > 0).collect();
        unique(&filled, ID_COLUMN)?;
        let ordered = filled.iter().any(|(_, table)| table.find(ROW_COLUMN).is_some());

        let mut places: Vec<(usize, usize)> = all_places(tables.iter().copied()).collect();
        let mut n_missing_rows = None;
        if ordered {
            let numbers: BTreeSet<i64> = unique(&filled, ROW_COLUMN)?.into_iter().collect();
            let span = numbers.last().map_or(0, |last| last + 1);
            n_missing_rows = Some(usize::try_from(span).unwrap_or(0).saturating_sub(numbers.len()));
            let row_number = |&(table, row): &(usize, usize)| {
                let table = tables[table];
                table.find(ROW_COLUMN).and_then(|index| match table.cell(index, row) {
                    Cell::Int(number) => Some(number),
                    _ => None,
                })
            };
            places.sort_by_cached_key(row_number);
        }

        let mut metadata = tables.first().map(|table| table.metadata.clone()).unwrap_or_default();
        metadata.retain(|key, _| !varying.contains(&key.as_str()));
        let missing_shards = match held_shards(&tables) {
            Some((held, n)) if held.len() < n => {
                let names = held.iter().map(ToString::to_string).collect::<Vec<_>>().join("+");
                metadata.insert(SHARD_KEY.to_owned(), format!("{names}/{n}"));
                (1..=n).filter(|shard| !held.contains(shard)).map(|shard| format!("{shard}/{n}")).collect()
            }
            _ => Vec::new(),
        };
        let merged = stack(&tables, &places, column_order(&tables, ordered), metadata)?;
        let summary = MergeSummary {
            n_rows: merged.n_rows(),
            n_rows_by_shard: tables.iter().map(|table| table.n_rows()).collect(),
            n_columns: merged.columns.len(),
            ordered,
            n_missing_rows,
            missing_shards,
        };
        Ok((merged, summary))
    }

    pub(super) fn cell(&self, column: usize, row: usize) -> Cell {
        cell::cell_at(self.batch.column(column), self.columns[column].kind, row)
    }
}

/// Which shards the tables are together, and of how many; none where they do not all say, or say it of different runs.
fn held_shards(tables: &[&Table]) -> Option<(BTreeSet<usize>, usize)> {
    let marks: Option<Vec<(BTreeSet<usize>, usize)>> =
        tables.iter().map(|table| shards_of(table.metadata.get(SHARD_KEY)?)).collect();
    let marks = marks?;
    let n = marks.first()?.1;
    marks.iter().all(|(_, of)| *of == n).then(|| (marks.into_iter().flat_map(|(held, _)| held).collect(), n))
}

/// Most shards of a run that are told apart: a mark is read from a file, and those that are missing are written one by one.
const MOST_SHARDS: usize = 1000;

/// The shards in a mark, from 1, and how many there are, [`MOST_SHARDS`] at most: `I/N` or `I+J/N`.
fn shards_of(mark: &str) -> Option<(BTreeSet<usize>, usize)> {
    let (held, n) = mark.split_once('/')?;
    let n = n.parse().ok().filter(|n| *n <= MOST_SHARDS)?;
    let held: BTreeSet<usize> = held.split('+').map(|shard| shard.parse().ok()).collect::<Option<_>>()?;
    held.iter().all(|shard| (1..=n).contains(shard)).then_some((held, n))
}

/// Every (table, row), in order.
fn all_places<'a>(tables: impl Iterator<Item = &'a Table>) -> impl Iterator<Item = (usize, usize)> {
    tables.enumerate().flat_map(|(index, table)| (0..table.n_rows()).map(move |row| (index, row)))
}

/// The columns (name, first row) of all tables by first appearance. Where two first appear in one row, that row is in
/// one table only, whose order then is the row's own.
fn column_order(tables: &[&Table], ordered: bool) -> Vec<(String, i64)> {
    let mut first: HashMap<&str, (i64, usize)> = HashMap::new();
    let mut before = 0;
    for table in tables {
        for (position, column) in table.columns.iter().enumerate() {
            let place = (if ordered { column.first_row } else { before + column.first_row }, position);
            first.entry(&column.name).and_modify(|found| *found = place.min(*found)).or_insert(place);
        }
        before += table.n_rows() as i64;
    }
    let mut order: Vec<_> = first.into_iter().collect();
    order.sort_by_key(|&(name, place)| (place, name));
    order.into_iter().map(|(name, (row, _))| (name.to_owned(), row)).collect()
}

/// A table of the rows at `places` under the columns `names`.
///
/// # Errors
/// [`TableError::TooMuchText`].
fn stack(
    tables: &[&Table],
    places: &[(usize, usize)],
    names: Vec<(String, i64)>,
    metadata: BTreeMap<String, String>,
) -> Result<Table, TableError> {
    let columns = names.into_iter().map(|(name, first_row)| {
        let indices: Vec<Option<usize>> = tables.iter().map(|table| table.find(&name)).collect();
        let cell = |&(table, row): &(usize, usize)| indices[table].map_or(Cell::Null, |i| tables[table].cell(i, row));
        let cells: Vec<Cell> = places.iter().map(cell).collect();
        // What was too mixed for one type in some of the rows is so in all of them, though the JSON text of a number
        // no longer shows whether it was an integer.
        let kinds = indices.iter().zip(tables).filter_map(|(index, table)| Some(table.columns[(*index)?].kind));
        Column::of_cells(name, first_row, &cells, kinds)
    });
    Ok(Table::from_arrays(columns.collect::<Result<_, _>>()?, places.len(), metadata))
}

/// The values of `column`, after making sure that each row has its own; integers where the column is `row`.
fn unique(shards: &[&(String, Table)], column: &'static str) -> Result<Vec<i64>, TableError> {
    let mut seen: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    let mut numbers = Vec::new();
    for (name, table) in shards {
        let index = table.index(column)?;
        for row in 0..table.n_rows() {
            let cell = table.cell(index, row);
            if let Cell::Int(number) = cell {
                numbers.push(number);
            }
            let unnamed = || TableError::Unnamed { table: name.clone(), row: row + 1, column };
            let is_place = matches!(cell, Cell::Int(number) if number >= 0);
            let value = cell.text().filter(|_| column != ROW_COLUMN || is_place).ok_or_else(unnamed)?;
            match seen.entry(value) {
                Entry::Vacant(free) => free.insert((name, row + 1)),
                Entry::Occupied(taken) => {
                    let (left, left_row) = *taken.get();
                    let (value, left) = (taken.key().clone(), left.to_owned());
                    let (right, right_row) = (name.clone(), row + 1);
                    return Err(TableError::Duplicate { column, value, left, left_row, right, right_row });
                }
            };
        }
    }
    Ok(numbers)
}

/// The keys outside `except` whose values differ.
pub(super) fn differ(
    left: &BTreeMap<String, String>,
    right: &BTreeMap<String, String>,
    except: &[&str],
) -> Vec<KeyDifference> {
    let keys: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    keys.into_iter()
        .filter(|key| !except.contains(&key.as_str()) && left.get(*key) != right.get(*key))
        .map(|key| KeyDifference { key: key.clone(), left: left.get(key).cloned(), right: right.get(key).cloned() })
        .collect()
}
