//! Tables beside each other: what several runs say of the same rows ([`Table::beside`]).

use std::collections::{BTreeMap, btree_map::Entry};

use serde::Serialize;

use super::{
    Column, ID_COLUMN, ROW_COLUMN, Table, TableError,
    cell::Cell,
    error::KeyDifference,
    merge::{SHARD_KEY, TIME_KEYS},
};

/// The metadata key with the names of the features that were asked for, commas between them; tables beside each other have those of all.
const FEATURES_KEY: &str = "features";

/// What [`Table::beside`] did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BesideSummary {
    /// How many rows the table has: those of the first.
    pub n_rows: usize,
    /// How many columns it has.
    pub n_columns: usize,
    /// Of each further table, how many of the first one's rows it lacks; their cells in its columns are null.
    pub n_lacking: Vec<usize>,
    /// Of each further table, how many rows the first one lacks; they are left out.
    pub n_left_out: Vec<usize>,
}

impl Table {
    /// The first table's rows with the columns of all, each table given with a name for messages (its path). Rows belong together by
    /// their `id`. A column that several tables have is kept once; a row's place in its input (`row`) is the first table's.
    ///
    /// # Errors
    /// [`TableError::Disagree`] if tables have different values in a column that both have; [`TableError::Provenance`] if a metadata
    /// key has different values in two of them ([`SHARD_KEY`] and [`TIME_KEYS`] are left out); [`TableError::Duplicate`] for an `id`
    /// that one table has twice; [`TableError::Unnamed`] for a row without one; [`TableError::MissingColumn`] for a table without `id`.
    pub fn beside(tables: &[(String, Table)]) -> Result<(Table, BesideSummary), TableError> {
        let Some(((left, first), others)) = tables.split_first() else {
            let empty = Table::from_rows(&[], &BTreeMap::new())?;
            return Ok((empty, BesideSummary { n_rows: 0, n_columns: 0, n_lacking: vec![], n_left_out: vec![] }));
        };
        let mut joined = first.clone();
        joined.metadata.retain(|key, _| !varies(key));
        let places = first.by_id(left)?;
        let (mut n_lacking, mut n_left_out) = (Vec::new(), Vec::new());
        for (right, table) in others {
            join_metadata(&mut joined.metadata, left, right, table)?;
            let by_id = table.by_id(right)?;
            let mut rows: Vec<Option<usize>> = vec![None; first.n_rows()];
            places.iter().for_each(|(id, &row)| rows[row] = by_id.get(id).copied());
            n_lacking.push(rows.iter().filter(|row| row.is_none()).count());
            n_left_out.push(by_id.keys().filter(|id| !places.contains_key(*id)).count());
            joined = joined.with_columns_of(left, (right, table), &rows)?;
        }
        let (n_rows, n_columns) = (joined.n_rows(), joined.columns.len());
        Ok((joined, BesideSummary { n_rows, n_columns, n_lacking, n_left_out }))
    }

    /// This table with another's columns; `rows` has the other's row for each of this one.
    fn with_columns_of(
        self,
        left: &str,
        (right, table): (&str, &Table),
        rows: &[Option<usize>],
    ) -> Result<Table, TableError> {
        let n_rows = self.n_rows();
        let mut columns: Vec<_> = self.columns.iter().cloned().zip(self.batch.columns().iter().cloned()).collect();
        for (index, column) in table.columns.iter().enumerate() {
            let cell = |row: &Option<usize>| row.map_or(Cell::Null, |row| table.cell(index, row));
            let Some(known) = self.find(&column.name) else {
                let cells: Vec<Cell> = rows.iter().map(cell).collect();
                columns.push(Column::of_cells(column.name.clone(), column.first_row, &cells, [column.kind])?);
                continue;
            };
            if column.name == ROW_COLUMN {
                continue;
            }
            for (row, other) in rows.iter().enumerate() {
                let (one, two) = (self.cell(known, row).text(), cell(other).text());
                if one.is_some() && two.is_some() && one != two {
                    let different = vec![KeyDifference { key: column.name.clone(), left: one, right: two }];
                    let (left, right, row) = (left.to_owned(), right.to_owned(), row + 1);
                    return Err(TableError::Disagree { left, right, row, different });
                }
            }
        }
        Ok(Table::from_arrays(columns, n_rows, self.metadata))
    }

    /// Where each row is, by its `id`.
    fn by_id(&self, name: &str) -> Result<BTreeMap<String, usize>, TableError> {
        let index = self.index(ID_COLUMN)?;
        let mut places = BTreeMap::new();
        for row in 0..self.n_rows() {
            let id = self.cell(index, row).text().ok_or_else(|| TableError::Unnamed {
                table: name.to_owned(),
                row: row + 1,
                column: ID_COLUMN,
            })?;
            match places.entry(id) {
                Entry::Vacant(free) => free.insert(row),
                Entry::Occupied(taken) => {
                    return Err(TableError::Duplicate {
                        column: ID_COLUMN,
                        value: taken.key().clone(),
                        left: name.to_owned(),
                        left_row: taken.get() + 1,
                        right: name.to_owned(),
                        right_row: row + 1,
                    });
                }
            };
        }
        Ok(places)
    }
}

/// Whether a metadata key may differ between tables.
fn varies(key: &str) -> bool {
    key == SHARD_KEY || TIME_KEYS.contains(&key)
}

/// Of two lists of features, those of both; such a list stands under [`FEATURES_KEY`], or behind the version that its features are of.
fn union(key: &str, left: &str, right: &str) -> Option<String> {
    let parts = |value: &'_ str| match value.split_once(": ") {
        Some((version, _)) if version.starts_with("version ") => Some(version.len() + ": ".len()),
        _ => (key == FEATURES_KEY).then_some(0),
    };
    let (at_left, at_right) = (parts(left)?, parts(right)?);
    let ((version, known), (other, more)) = (left.split_at(at_left), right.split_at(at_right));
    if version != other {
        return None;
    }
    let known: Vec<&str> = known.split(',').filter(|name| !name.is_empty()).collect();
    let new = more.split(',').filter(|name| !name.is_empty() && !known.contains(name));
    Some(format!("{version}{}", known.iter().copied().chain(new).collect::<Vec<_>>().join(",")))
}

/// Adds a further table's metadata.
fn join_metadata(
    metadata: &mut BTreeMap<String, String>,
    left: &str,
    right: &str,
    table: &Table,
) -> Result<(), TableError> {
    let mut different = Vec::new();
    for (key, value) in table.metadata.iter().filter(|(key, _)| !varies(key)) {
        match metadata.get_mut(key) {
            None => {
                metadata.insert(key.clone(), value.clone());
            }
            Some(known) if known == value => {}
            Some(known) => match union(key, known, value) {
                Some(union) => *known = union,
                None => different.push(KeyDifference {
                    key: key.clone(),
                    left: Some(known.clone()),
                    right: Some(value.clone()),
                }),
            },
        }
    }
    match different.is_empty() {
        true => Ok(()),
        false => Err(TableError::Provenance { left: left.to_owned(), right: right.to_owned(), different }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(name: &str, rows: serde_json::Value, metadata: &[(&str, &str)]) -> (String, Table) {
        let rows: Vec<_> = rows.as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect();
        let metadata = metadata.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        (name.to_owned(), Table::from_rows(&rows, &metadata).unwrap())
    }

    #[test]
    fn rows_belong_together_by_their_id() {
        let one = table(
            "one",
            json!([{"id": "a", "label": 1, "row": 0, "x": 0.5}, {"id": "b", "label": 0, "row": 1, "x": 1.5}]),
            &[("features", "x"), ("facts", "version 3: x"), ("version", "1"), ("started", "then")],
        );
        let two = table(
            "two",
            json!([{"id": "c", "row": 0, "y@m": 9}, {"id": "a", "label": 1, "row": 1, "y@m": 2}]),
            &[("features", "z,x"), ("facts", "version 3: z"), ("version", "1"), ("model@m", "m"), ("started", "later")],
        );
        let (joined, summary) = Table::beside(&[one, two]).unwrap();
        assert_eq!(joined.column_names(), ["id", "label", "row", "x", "y@m"]);
        assert_eq!(joined.numbers("y@m").unwrap(), [Some(2.0), None]);
        assert_eq!(joined.numbers("row").unwrap(), [Some(0.0), Some(1.0)]);
        assert_eq!(summary, BesideSummary { n_rows: 2, n_columns: 5, n_lacking: vec![1], n_left_out: vec![1] });
        let metadata: Vec<(&str, &str)> = joined.metadata().iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(metadata, [("facts", "version 3: x,z"), ("features", "x,z"), ("model@m", "m"), ("version", "1")]);
    }

    #[test]
    fn what_tables_say_differently_is_an_error() {
        let one = || table("one", json!([{"id": "a", "label": 1}]), &[("version", "1")]);
        let of = |rows, metadata: &[(&str, &str)]| Table::beside(&[one(), table("two", rows, metadata)]).unwrap_err();
        let error = of(json!([{"id": "a", "label": 0}]), &[]);
        assert!(
            matches!(&error, TableError::Disagree { row: 1, different, .. } if different[0].key == "label"),
            "{error}"
        );
        for metadata in [[("version", "2")], [("facts", "version 4: x")]] {
            let one = table("one", json!([{"id": "a"}]), &[("version", "1"), ("facts", "version 3: x")]);
            let error = Table::beside(&[one, table("two", json!([{"id": "a"}]), &metadata)]).unwrap_err();
            assert!(matches!(error, TableError::Provenance { .. }), "{error}");
        }
        let error = of(json!([{"id": "a"}, {"id": "a"}]), &[]);
        assert!(matches!(error, TableError::Duplicate { left_row: 1, right_row: 2, .. }), "{error}");
        let error = of(json!([{"label": 0}]), &[]);
        assert!(matches!(error, TableError::MissingColumn { .. }), "{error}");
    }
}
