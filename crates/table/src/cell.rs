//! What one place of a table can hold, and the one rule that turns values into typed columns.
//!
//! A shard sees only some rows, so its columns may get other types than the whole would. [`Cell`]s are therefore
//! canonical: whatever column type a cell passes through, it comes back as the same cell or as one that gives the same
//! bytes in every wider type. That is what makes merged shards equal the unsharded table, byte for byte.

use std::{borrow::Borrow, collections::BTreeSet, sync::Arc};

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, Float64Array, Int64Array, NullArray, StringArray, builder::StringBuilder,
    cast::AsArray, types,
};
use arrow_schema::{DataType, Field};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Nothing but nulls.
    Null,
    /// Integers and booleans (1, 0): Int64.
    Int,
    /// Numbers: Float64.
    Float,
    /// Text: Utf8.
    Text,
    /// Values of several types, or nested ones, as JSON text: Utf8.
    Json,
    /// So many numbers a row: a fixed-size list of Float32.
    List(usize),
}

impl Kind {
    /// The Arrow type that stores it.
    pub(super) fn data_type(self) -> DataType {
        match self {
            Kind::Null => DataType::Null,
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Text | Kind::Json => DataType::Utf8,
            // arrow counts a list's items in an i32; what is longer was made JSON text by `kind_of`
            Kind::List(n) => DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), n as i32),
        }
    }
}

/// One value. Booleans are 1 and 0; a `Float` is finite, and so are the numbers of a `List`, of which there is at least one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Text(Box<str>),
    List(Arc<[f32]>),
    /// JSON text of an array, an object, or an integer that neither i64 nor f64 holds.
    Json(Box<str>),
}

impl From<&Value> for Cell {
    fn from(value: &Value) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Bool(truth) => Cell::Int((*truth).into()),
            Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(int), ..) => Cell::Int(int),
                (None, Some(big), _) if (big as f64) as u128 != u128::from(big) => Cell::Json(big.to_string().into()),
                (None, _, Some(float)) if float.is_finite() => Cell::Float(float),
                _ => Cell::Json(number.to_string().into()),
            },
            Value::String(text) => Cell::Text(text.as_str().into()),
            Value::Array(_) | Value::Object(_) => Cell::Json(value.to_string().into()),
        }
    }
}

impl From<&Cell> for Value {
    fn from(cell: &Cell) -> Value {
        match cell {
            Cell::List(numbers) => numbers.iter().map(|&number| f64::from(number)).collect(),
            Cell::Null => Value::Null,
            Cell::Int(int) => (*int).into(),
            Cell::Float(float) => Number::from_f64(*float).map_or(Value::Null, Value::Number),
            Cell::Text(text) => Value::String(text.to_string()),
            Cell::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string())),
        }
    }
}

impl Cell {
    /// The cell of a column called `column`. What a model gave, `<feature>@<model>`, can be a list of numbers.
    pub(super) fn of(column: &str, value: &Value) -> Cell {
        match value {
            Value::Array(items) if column.contains('@') => list(items).map_or_else(|| value.into(), Cell::List),
            value => value.into(),
        }
    }

    /// As JSON text, the same for an integer and the float that equals it: a shard may have made one of the other.
    fn json_text(&self) -> Option<String> {
        match self {
            Cell::Null => None,
            Cell::Float(float) if is_i64(*float) => Some((*float as i64).to_string()),
            Cell::Json(text) => Some(text.to_string()),
            other => Some(Value::from(other).to_string()),
        }
    }

    /// As a person would write it: text without quotes, anything else as JSON.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Cell::Null => None,
            Cell::Text(text) | Cell::Json(text) => Some(text.to_string()),
            other => Some(Value::from(other).to_string()),
        }
    }
}

/// The numbers of an array, if it has some, is not too long for a column and they are finite as f32.
fn list(items: &[Value]) -> Option<Arc<[f32]>> {
    let number = |item: &Value| item.as_f64().map(|number| number as f32).filter(|number| number.is_finite());
    let fits = !items.is_empty() && i32::try_from(items.len()).is_ok();
    fits.then(|| items.iter().map(number).collect()).flatten()
}

/// Whether a float is an integer that i64 holds; −0 is not.
fn is_i64(float: f64) -> bool {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    float.fract() == 0.0 && (-LIMIT..LIMIT).contains(&float) && !(float == 0.0 && float.is_sign_negative())
}

/// The narrowest kind that holds all cells and whatever `at_least` hold.
pub(super) fn kind_of(cells: &[Cell], at_least: impl IntoIterator<Item = Kind>) -> Kind {
    let (mut ints, mut floats, mut texts, mut json, mut exact) = (false, false, false, false, true);
    let mut lengths = BTreeSet::new();
    for kind in at_least {
        match kind {
            Kind::Null => {}
            Kind::Int => ints = true,
            Kind::Float => floats = true,
            Kind::Text => texts = true,
            Kind::Json => json = true,
            Kind::List(n) => {
                lengths.insert(n);
            }
        }
    }
    for cell in cells {
        match cell {
            Cell::Null => {}
            Cell::Int(int) => {
                ints = true;
                exact &= (*int as f64) as i128 == i128::from(*int);
            }
            Cell::Float(_) => floats = true,
            Cell::Text(_) => texts = true,
            Cell::Json(_) => json = true,
            Cell::List(numbers) => {
                lengths.insert(numbers.len());
            }
        }
    }
    if let Some(&n) = lengths.first() {
        return if (ints, floats, texts, json, lengths.len()) == (false, false, false, false, 1) {
            Kind::List(n)
        } else {
            Kind::Json
        };
    }
    match (ints, floats, texts, json) {
        (false, false, false, false) => Kind::Null,
        (true, false, false, false) => Kind::Int,
        (false, true, false, false) => Kind::Float,
        (true, true, false, false) if exact => Kind::Float,
        (false, false, true, false) => Kind::Text,
        _ => Kind::Json,
    }
}

/// The bytes of text a column can have: Arrow counts them in an i32.
const MOST_TEXT: usize = i32::MAX as usize;

/// The bytes of text of a column that has too many.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMuchText(pub(super) usize);

/// A column of `kind`, which [`kind_of`] found; a cell that does not fit becomes null.
///
/// # Errors
/// [`TooMuchText`] if it is more than 2 GiB.
pub(super) fn to_array(cells: &[Cell], kind: Kind) -> Result<ArrayRef, TooMuchText> {
    Ok(match kind {
        Kind::Null => Arc::new(NullArray::new(cells.len())),
        Kind::Int => Arc::new(Int64Array::from_iter(cells.iter().map(|cell| match cell {
            Cell::Int(int) => Some(*int),
            _ => None,
        }))),
        Kind::Float => Arc::new(Float64Array::from_iter(cells.iter().map(|cell| match cell {
            Cell::Int(int) => Some(*int as f64),
            Cell::Float(float) => Some(*float),
            _ => None,
        }))),
        Kind::Text => texts(
            cells.iter().map(|cell| match cell {
                Cell::Text(text) => Some(text.as_ref()),
                _ => None,
            }),
            MOST_TEXT,
        )?,
        Kind::Json => texts(cells.iter().map(Cell::json_text), MOST_TEXT)?,
        Kind::List(n) => lists(cells.iter(), n),
    })
}

/// A column of texts that have at most `most` bytes together.
fn texts<S: AsRef<str>>(values: impl Iterator<Item = Option<S>>, most: usize) -> Result<ArrayRef, TooMuchText> {
    let (mut column, mut n_bytes) = (StringBuilder::new(), 0);
    for value in values {
        n_bytes += value.as_ref().map_or(0, |text| text.as_ref().len());
        if n_bytes <= most {
            column.append_option(value);
        }
    }
    if n_bytes > most { Err(TooMuchText(n_bytes)) } else { Ok(Arc::new(column.finish())) }
}

/// A column of lists of `n` numbers.
fn lists(cells: impl Iterator<Item = impl Borrow<Cell>>, n: usize) -> ArrayRef {
    let lists = cells.map(|cell| match cell.borrow() {
        Cell::List(numbers) => Some(numbers.iter().map(|&number| Some(number)).collect::<Vec<_>>()),
        _ => None,
    });
    Arc::new(FixedSizeListArray::from_iter_primitive::<types::Float32Type, _, _>(lists, n as i32))
}

/// The rows of a column of `kind` for which `keep` is true.
pub(super) fn kept(array: &dyn Array, kind: Kind, keep: &[bool]) -> ArrayRef {
    fn only<T>(values: impl Iterator<Item = T>, keep: &[bool]) -> impl Iterator<Item = T> {
        values.zip(keep).filter_map(|(value, keep)| keep.then_some(value))
    }
    match kind {
        Kind::Null => Arc::new(NullArray::new(keep.iter().filter(|keep| **keep).count())),
        Kind::Int => Arc::new(Int64Array::from_iter(only(array.as_primitive::<types::Int64Type>().iter(), keep))),
        Kind::Float => Arc::new(Float64Array::from_iter(only(array.as_primitive::<types::Float64Type>().iter(), keep))),
        Kind::Text | Kind::Json => Arc::new(StringArray::from_iter(only(array.as_string::<i32>().iter(), keep))),
        Kind::List(n) => lists(only((0..array.len()).map(|row| cell_at(array, kind, row)), keep), n),
    }
}

/// The cell of a column of `kind` at `row`, from 0.
pub(super) fn cell_at(array: &dyn Array, kind: Kind, row: usize) -> Cell {
    if kind == Kind::Null || array.is_null(row) {
        return Cell::Null;
    }
    match kind {
        Kind::Null => Cell::Null,
        Kind::Int => Cell::Int(array.as_primitive::<types::Int64Type>().value(row)),
        Kind::Float => Cell::Float(array.as_primitive::<types::Float64Type>().value(row)),
        Kind::Text => Cell::Text(array.as_string::<i32>().value(row).into()),
        Kind::Json => {
            let text = array.as_string::<i32>().value(row);
            // Someone may have edited the column: what is no longer JSON is text.
            serde_json::from_str::<Value>(text).map_or_else(|_| Cell::Text(text.into()), |value| Cell::from(&value))
        }
        Kind::List(_) => {
            let list = array.as_fixed_size_list().value(row);
            Cell::List(list.as_primitive::<types::Float32Type>().values().iter().copied().collect())
        }
    }
}

/// What stands at `place` in each list of a column of them.
pub(super) fn elements(array: &dyn Array, place: usize) -> Vec<Option<f64>> {
    let lists = array.as_fixed_size_list();
    let (values, length) = (lists.values().as_primitive::<types::Float32Type>(), lists.value_length() as usize);
    // a column that is read or picked starts at its first row
    (0..lists.len()).map(|row| lists.is_valid(row).then(|| f64::from(values.value(row * length + place)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_no_column_holds_are_an_error_and_no_panic() {
        let values = || [Some("ab"), None, Some(""), Some("cde")].into_iter();
        let column = texts(values(), 5).expect("five bytes");
        assert_eq!(column.as_string::<i32>().iter().collect::<Vec<_>>(), values().collect::<Vec<_>>());
        assert_eq!(texts(values(), 4).err(), Some(TooMuchText(5)));
    }
}
