//! What training rows were like beside their features, and in what a text is unlike them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::DetectorError;
use veridiff_table::{Row, Table};

/// Columns whose values are kept.
const KINDS: [&str; 2] = ["language", "generator"];
/// Columns whose least and largest values are kept, of whatever model: lengths.
const LENGTHS: [&str; 2] = ["n_prompt_tokens@", "n_response_tokens@"];
/// How many times as long as the longest of the training rows, or as short as the shortest, something is told to be: most changes are
/// a little longer than some, which says nothing of a verdict.
const FAR: f64 = 2.0;
/// A column with more values tells no kinds apart.
const MAX_VALUES: usize = 50;

/// Kinds and lengths of the training rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Domain {
    /// The values of `language` and `generator`, sorted; a column that is missing or has more than 50 is left out.
    pub kinds: BTreeMap<String, Vec<String>>,
    /// The least and the largest number of tokens, by the table's column.
    pub lengths: BTreeMap<String, [f64; 2]>,
}

impl Domain {
    /// That of a table's labelled rows; of all rows if there is no `label`.
    ///
    /// # Errors
    /// A column of lengths holds something else than numbers.
    pub fn new(table: &Table) -> Result<Self, DetectorError> {
        let labels = if table.column_names().contains(&"label") { Some(table.strings("label")?) } else { None };
        let counts = |row: usize| labels.as_ref().is_none_or(|labels| labels[row].is_some());
        let mut domain = Domain::default();
        for column in table.column_names() {
            if KINDS.contains(&column) {
                let cells = table.strings(column)?;
                let mut values: Vec<String> =
                    cells.into_iter().enumerate().filter_map(|(row, cell)| cell.filter(|_| counts(row))).collect();
                values.sort_unstable();
                values.dedup();
                if (1..=MAX_VALUES).contains(&values.len()) {
                    domain.kinds.insert(column.to_owned(), values);
                }
            } else if LENGTHS.iter().any(|prefix| column.starts_with(prefix)) {
                let cells = table.numbers(column)?;
                let known = cells.into_iter().enumerate().filter_map(|(row, cell)| cell.filter(|_| counts(row)));
                let span = known.fold(None, |span: Option<[f64; 2]>, value| {
                    Some(span.map_or([value; 2], |[least, most]| [least.min(value), most.max(value)]))
                });
                domain.lengths.extend(span.map(|span| (column.to_owned(), span)));
            }
        }
        Ok(domain)
    }

    /// Whether nothing is known of what was trained on.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.lengths.is_empty()
    }

    /// In what a row's columns are unlike the training rows', one sentence each; what one of them does not say is not compared.
    pub fn differences(&self, row: &Row) -> Vec<String> {
        let kinds = self.kinds.iter().filter_map(|(column, known)| {
            let value = row.get(column)?.as_str()?;
            let is_new = !known.iter().any(|other| other == value);
            is_new.then(|| format!("the detector learnt from no {column} `{value}`, but from {}", known.join(", ")))
        });
        let lengths = self.lengths.iter().filter_map(|(column, [least, most])| {
            let value = row.get(column)?.as_f64()?;
            let what = if column.starts_with(LENGTHS[0]) { "change" } else { "text" };
            let how = match () {
                () if value > FAR * most => "longer",
                () if FAR * value < *least => "shorter",
                () => return None,
            };
            let here = format!("{value} tokens, {least} to {most} there");
            Some(format!("the {what} is much {how} than those that the detector learnt from: {here}"))
        });
        kinds.chain(lengths).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(value: serde_json::Value) -> Row {
        value.as_object().cloned().unwrap_or_default().into_iter().collect()
    }

    #[test]
    fn a_text_unlike_the_training_rows_is_told_so() {
        let rows = [
            row(json!({ "label": 1, "language": "python", "n_prompt_tokens@m": 20, "n_response_tokens@m": 3 })),
            row(json!({ "label": 0, "language": "go", "n_prompt_tokens@m": 90, "n_response_tokens@m": 7 })),
            // not trained on
            row(json!({ "label": null, "language": "rust", "n_prompt_tokens@m": 900, "n_response_tokens@m": 7 })),
        ];
        let domain = Domain::new(&Table::from_rows(&rows, &BTreeMap::new()).unwrap()).unwrap();
        assert_eq!(domain.kinds, BTreeMap::from([("language".to_owned(), vec!["go".to_owned(), "python".to_owned()])]));
        assert_eq!(domain.lengths["n_prompt_tokens@m"], [20.0, 90.0]);
        let like =
            row(json!({ "language": "go", "generator": "new", "n_prompt_tokens@m": 180, "n_response_tokens@n": 99 }));
        assert_eq!(domain.differences(&like), Vec::<String>::new());
        let unlike = row(json!({ "language": "rust", "n_prompt_tokens@m": 181, "n_response_tokens@m": 1 }));
        assert_eq!(
            domain.differences(&unlike),
            [
                "the detector learnt from no language `rust`, but from go, python",
                "the change is much longer than those that the detector learnt from: 181 tokens, 20 to 90 there",
                "the text is much shorter than those that the detector learnt from: 1 tokens, 3 to 7 there",
            ]
        );
    }
}
