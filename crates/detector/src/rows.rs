//! From a feature table to labelled rows: which rows, which features, which groups.

use std::{collections::HashMap, str::FromStr};

use ndarray::Array2;

use crate::{ColumnKind, DetectorError, Groups, Learner, MISMATCH_COLUMN, Mismatched};
use veridiff_table::{
    Table,
    catalogue::{Catalogue, element, element_of, feature_of, model_of},
};
use veridiff_text::choice::matches;

/// Column prefixes before `@` that say how scoring went and are no features.
const NOT_FEATURES: [&str; 4] = ["status", "error", "boundary", "doubled_bos"];

/// One condition on a column: `key=value`, `key=one,other` or `key!=value`. An empty value means a missing one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhereClause {
    /// The whole clause as it was written.
    pub text: String,
    /// The name of the column that the condition is on.
    pub column: String,
    /// Whether the listed values are kept, or left out.
    pub keep: bool,
    /// The values that are listed behind the sign; an empty one stands for a missing value.
    pub values: Vec<String>,
}

impl FromStr for WhereClause {
    type Err = DetectorError;

    fn from_str(text: &str) -> Result<Self, DetectorError> {
        let syntax = || DetectorError::WhereSyntax { clause: text.to_owned() };
        let (column, values) = text.split_once('=').ok_or_else(syntax)?;
        let (column, keep) = match column.strip_suffix('!') {
            Some(column) => (column, false),
            None => (column, true),
        };
        if column.trim().is_empty() {
            return Err(syntax());
        }
        Ok(Self {
            text: text.to_owned(),
            column: column.trim().to_owned(),
            keep,
            values: values.split(',').map(|value| value.trim().to_owned()).collect(),
        })
    }
}

impl WhereClause {
    /// For every row, whether it passes.
    fn mask(&self, table: &Table) -> Result<Vec<bool>, DetectorError> {
        let (clause, column) = (self.text.clone(), self.column.clone());
        if !has(table, &column) {
            return Err(DetectorError::WhereColumn { clause, column, known: column_names(table) });
        }
        let cells: Vec<String> = table.strings(&column)?.into_iter().map(Option::unwrap_or_default).collect();
        for value in &self.values {
            if !cells.iter().any(|cell| same(cell, value)) {
                let mut known = cells.clone();
                known.sort_unstable();
                known.dedup();
                return Err(DetectorError::WhereValue { clause, column, value: value.clone(), known });
            }
        }
        Ok(cells.iter().map(|cell| self.values.iter().any(|value| same(cell, value)) == self.keep).collect())
    }
}

/// Whether a cell holds a value; numbers are compared as numbers, so that `1` finds `1.0`.
fn same(cell: &str, value: &str) -> bool {
    cell == value || matches!((cell.parse::<f64>(), value.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

/// The rows that pass every clause.
///
/// # Errors
/// [`DetectorError::WhereColumn`] and [`DetectorError::WhereValue`] list what there is; [`DetectorError::NoRows`].
pub fn filter_table(table: Table, clauses: &[WhereClause]) -> Result<Table, DetectorError> {
    let mut kept = vec![true; table.n_rows()];
    for clause in clauses {
        for (kept, passes) in kept.iter_mut().zip(clause.mask(&table)?) {
            *kept &= passes;
        }
    }
    if !clauses.is_empty() && !kept.contains(&true) {
        let clauses = clauses.iter().map(|clause| clause.text.clone()).collect();
        return Err(DetectorError::NoRows { clauses });
    }
    Ok(if clauses.is_empty() { table } else { table.select(&kept) })
}

/// The table's feature columns: named `<feature>@<model>` and not about how scoring went, or a feature of the texts alone. Lists of
/// numbers are left out.
pub fn feature_columns(table: &Table, catalogue: &Catalogue) -> Vec<String> {
    let is_feature = |name: &String| match name.split_once('@') {
        // a judge says more than numbers
        Some((feature, _)) if feature.starts_with("judge_") => catalogue.entry_of(name).is_some(),
        Some((feature, _)) => !NOT_FEATURES.contains(&feature) && !feature.starts_with("n_"),
        None => catalogue.is_plain_feature(name),
    };
    column_names(table).into_iter().filter(|name| table.list_length(name).is_none() && is_feature(name)).collect()
}

fn column_names(table: &Table) -> Vec<String> {
    table.column_names().into_iter().map(str::to_owned).collect()
}

fn has(table: &Table, column: &str) -> bool {
    table.column_names().contains(&column)
}

/// The features that patterns choose, in the table's order, each once; no pattern chooses every feature column that
/// has a value in some row. A list of numbers has to be chosen, and is a feature for each of its elements.
///
/// A pattern is a column's name, a name before the `@` (every scorer's), or either with `*` for any run of characters.
/// A column without `@` is chosen only by its full name.
///
/// # Errors
/// [`DetectorError::UnknownFeature`] for a pattern that matches nothing, [`DetectorError::NoFeatures`].
pub fn choose_features(
    table: &Table,
    catalogue: &Catalogue,
    patterns: &[String],
) -> Result<Vec<String>, DetectorError> {
    let features = feature_columns(table, catalogue);
    if patterns.is_empty() {
        let mut with_values = Vec::new();
        for name in features {
            if table.numbers(&name)?.iter().any(Option::is_some) {
                with_values.push(name);
            }
        }
        if with_values.is_empty() {
            return Err(DetectorError::NoFeatures { columns: column_names(table) });
        }
        return Ok(with_values);
    }
    let columns = column_names(table);
    let mut chosen = vec![false; columns.len()];
    for pattern in patterns {
        let mut found = false;
        for (chosen, column) in chosen.iter_mut().zip(&columns) {
            let is_feature = features.contains(column) || table.list_length(column).is_some();
            let before_at = column.split('@').next().unwrap_or(column);
            let is_chosen = if is_feature {
                matches(pattern, column) || matches(pattern, before_at)
            } else {
                // the label must never become its own evidence
                pattern == column && !column.contains('@') && column != "label"
            };
            *chosen |= is_chosen;
            found |= is_chosen;
        }
        if !found {
            return Err(DetectorError::UnknownFeature { pattern: pattern.clone(), known: features });
        }
    }
    let elements = |column: String| match table.list_length(&column) {
        Some(n) => (0..n).map(|place| element(&column, place)).collect(),
        None => vec![column],
    };
    Ok(columns.into_iter().zip(chosen).filter(|(_, chosen)| *chosen).flat_map(|(column, _)| elements(column)).collect())
}

/// Labelled rows with a value for every chosen feature, or of some families of them.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledRows {
    /// Names of the features, one per column of `features`.
    pub feature_names: Vec<String>,
    /// The features' values, `[n, F]`, all finite; NaN in the families that one of [`LabelledRows::n_partial`] rows lacks.
    pub features: Array2<f64>,
    /// True is hallucinated (label 1).
    pub labels: Vec<bool>,
    /// What a learner may know of the columns.
    pub kinds: Vec<ColumnKind>,
    /// Rows that must not be split across folds.
    pub groups: Groups,
    /// Who wrote each text, where known.
    pub generators: Vec<Option<String>>,
    /// What the table calls each row, where it says so.
    pub ids: Vec<Option<String>>,
    /// Each text, where the table has a column of them.
    pub texts: Vec<Option<String>>,
    /// Columns to give figures by, each with a value for every row that has one.
    pub by: Vec<(String, Vec<Option<String>>)>,
    /// Texts beside other changes, which train and are never judged.
    pub mismatched: Mismatched,
    /// Rows left out because they have no label.
    pub n_unlabelled: usize,
    /// Labelled rows left out because a chosen feature is missing.
    pub n_incomplete: usize,
    /// Rows that lack a family of features and stay, see [`Gaps::Kept`].
    pub n_partial: usize,
    /// The table has no `group` column, so every row is its own group.
    pub ungrouped: bool,
}

impl LabelledRows {
    /// Rows of which nothing but features `[n, F]` with their names, labels and groups is known.
    pub fn new(feature_names: Vec<String>, features: Array2<f64>, labels: Vec<bool>, groups: Groups) -> Self {
        let unknown = vec![None; labels.len()];
        let kinds = feature_names.iter().map(|name| kind_of(name, feature_of(name))).collect();
        LabelledRows {
            feature_names,
            kinds,
            features,
            labels,
            groups,
            generators: unknown.clone(),
            ids: unknown.clone(),
            texts: unknown,
            by: Vec::new(),
            mismatched: Mismatched::default(),
            n_unlabelled: 0,
            n_incomplete: 0,
            n_partial: 0,
            ungrouped: false,
        }
    }

    /// How many rows there are to judge; those that only train are apart.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Number of positive (hallucinated) rows.
    pub fn n_positive(&self) -> usize {
        self.labels.iter().filter(|label| **label).count()
    }

    /// What a reader of figures should know of rows that lack a family of features.
    pub(crate) fn partial_note(&self) -> Option<String> {
        (self.n_partial > 0).then(|| {
            let (n, all) = (self.n_partial, self.len());
            format!("{n} of {all} rows lack a family of features, and are judged by the families that they have")
        })
    }

    /// The columns of `features` that patterns choose, in the patterns' order, each once; patterns as for
    /// [`choose_features`].
    ///
    /// # Errors
    /// [`DetectorError::UnknownFeature`] for a pattern that matches nothing.
    pub fn columns(&self, patterns: &[String]) -> Result<Vec<usize>, DetectorError> {
        let mut columns: Vec<usize> = Vec::new();
        for pattern in patterns {
            let is_meant =
                |name: &String| matches(pattern, name) || matches(pattern, name.split('@').next().unwrap_or(name));
            let found: Vec<usize> =
                (0..self.feature_names.len()).filter(|&column| is_meant(&self.feature_names[column])).collect();
            if found.is_empty() {
                let known = self.feature_names.clone();
                return Err(DetectorError::UnknownFeature { pattern: pattern.clone(), known });
            }
            columns.extend(found);
        }
        let mut seen = vec![false; self.feature_names.len()];
        columns.retain(|&column| !std::mem::replace(&mut seen[column], true));
        Ok(columns)
    }

    /// The generators' names, sorted.
    pub fn generator_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.generators.iter().flatten().cloned().collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The family of a feature; of one that the catalogue does not know itself.
fn family<'a>(name: &'a str, catalogue: &'a Catalogue) -> &'a str {
    catalogue.family_of(name).map_or_else(|| feature_of(name), |family| family.name)
}

/// What is known of a column of a family.
fn kind_of(name: &str, family: &str) -> ColumnKind {
    let family = match model_of(name) {
        Some(model) => format!("{family}@{model}"),
        None => family.to_owned(),
    };
    ColumnKind { family, is_element: element_of(name).is_some() }
}

/// The places of the columns of each family, lists apart from single numbers, in the order of their first ones.
pub(crate) fn by_family(kinds: &[ColumnKind]) -> Vec<Vec<usize>> {
    let mut families: Vec<Vec<usize>> = Vec::new();
    for (column, kind) in kinds.iter().enumerate() {
        match families.iter_mut().find(|columns| kinds[columns[0]] == *kind) {
            Some(columns) => columns.push(column),
            None => families.push(vec![column]),
        }
    }
    families
}

/// What becomes of rows that lack a value of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gaps {
    /// They are left out.
    #[default]
    LeftOut,
    /// Those that have every value of one family at least stay, with NaN for all of a family that they lack a value of; a feature may
    /// be no column of the table. Only a stack can judge such rows.
    Kept,
}

impl Gaps {
    /// What a learner can do with them.
    pub fn of(learner: Learner) -> Gaps {
        if learner == Learner::Stack { Gaps::Kept } else { Gaps::LeftOut }
    }
}

/// The values of features in a table, a column each.
///
/// # Errors
/// [`DetectorError::MissingFeatures`] for features that are not there, where gaps are kept for all of them; the table's own for a
/// feature that is not numeric.
pub fn feature_values(
    table: &Table,
    catalogue: &Catalogue,
    features: &[String],
    gaps: Gaps,
) -> Result<Vec<Vec<Option<f64>>>, DetectorError> {
    let is_there = |feature: &String| {
        let is_element = |(list, place)| table.list_length(list).is_some_and(|n| place < n);
        has(table, feature) || element_of(feature).is_some_and(is_element)
    };
    let missing: Vec<String> = features.iter().filter(|feature| !is_there(feature)).cloned().collect();
    if !missing.is_empty() && (gaps == Gaps::LeftOut || missing.len() == features.len()) {
        let computed = missing.iter().filter(|column| catalogue.entry_of(column).is_some()).cloned().collect();
        return Err(DetectorError::MissingFeatures { missing, computed, known: feature_columns(table, catalogue) });
    }
    let column = |feature: &String| match missing.contains(feature) {
        true => Ok(vec![None; table.n_rows()]),
        false => Ok(table.numbers(feature)?),
    };
    features.iter().map(column).collect()
}

/// That rows of both labels are there: nothing is learnt or judged from one.
///
/// # Errors
/// [`DetectorError::OneClass`] with the only label there is, or 0 without rows.
pub(crate) fn require_both_classes(labels: &[bool]) -> Result<(), DetectorError> {
    let n_positive = labels.iter().filter(|label| **label).count();
    if n_positive == 0 || n_positive == labels.len() {
        return Err(DetectorError::OneClass { label: u8::from(n_positive > 0), n_rows: labels.len() });
    }
    Ok(())
}

/// Most values of a column that figures are given by; more would make a table that nobody reads.
const MAX_VALUES: usize = 100;

/// Takes the labelled rows with a value for every feature out of a table, and with them the columns `by` that figures
/// are wanted by; what becomes of rows without some value, `gaps` says.
///
/// # Errors
/// [`DetectorError::NoLabels`], [`DetectorError::BadLabel`], [`DetectorError::MismatchLabel`],
/// [`DetectorError::MissingFeatures`] for features that are not there, [`DetectorError::NoCompleteRows`],
/// [`DetectorError::ByColumn`], [`DetectorError::ByTooManyValues`]; the table's own for a feature that is not numeric.
pub fn labelled_rows(
    table: &Table,
    catalogue: &Catalogue,
    features: &[String],
    by: &[String],
    gaps: Gaps,
) -> Result<LabelledRows, DetectorError> {
    let kinds: Vec<ColumnKind> = features.iter().map(|name| kind_of(name, family(name, catalogue))).collect();
    let mut cells = Cells::read(table, catalogue, features, gaps)?;
    if gaps == Gaps::Kept {
        cells.blank_partial(&by_family(&kinds));
    }
    let (usable, mismatched) = cells.usable_rows(features, gaps)?;
    let is_partial = |&&row: &&usize| cells.columns.iter().any(|column| column[row].is_none());
    let n_partial = usable.iter().filter(is_partial).count();
    let groups = Groups::new(usable.iter().map(|&row| cells.group_name(row)).collect());
    let mismatched = cells.mismatched(mismatched, &usable, &groups);
    let by = by.iter().map(|column| by_column(table, column, &usable)).collect::<Result<_, _>>()?;
    let labels: Vec<bool> = usable.iter().map(|&row| cells.labels[row] == Some(1.0)).collect();
    Ok(LabelledRows {
        kinds,
        generators: usable.iter().map(|&row| cells.generators[row].clone()).collect(),
        ids: usable.iter().map(|&row| cells.ids[row].clone()).collect(),
        texts: usable.iter().map(|&row| cells.texts[row].clone()).collect(),
        by,
        mismatched,
        n_unlabelled: table.n_rows() - cells.n_mismatched() - cells.n_labelled(),
        n_incomplete: cells.n_labelled() - usable.len(),
        n_partial,
        ungrouped: !has(table, "group"),
        ..LabelledRows::new(features.to_vec(), cells.features_of(&usable), labels, groups)
    })
}

/// What a table says of each of its rows; null where it says nothing.
struct Cells {
    /// 0 or 1.
    labels: Vec<Option<f64>>,
    ids: Vec<Option<String>>,
    groups: Vec<Option<String>>,
    generators: Vec<Option<String>>,
    texts: Vec<Option<String>>,
    /// Of a text beside another change the id of its own row.
    twins: Vec<Option<String>>,
    /// One a chosen feature.
    columns: Vec<Vec<Option<f64>>>,
}

impl Cells {
    fn read(table: &Table, catalogue: &Catalogue, features: &[String], gaps: Gaps) -> Result<Self, DetectorError> {
        let n_rows = table.n_rows();
        let labels = if has(table, "label") { table.numbers("label")? } else { vec![None; n_rows] };
        for (row, label) in labels.iter().enumerate() {
            if let Some(value) = label.filter(|value| *value != 0.0 && *value != 1.0) {
                return Err(DetectorError::BadLabel { row: row + 1, value });
            }
        }
        let strings = |name: &str| if has(table, name) { table.strings(name) } else { Ok(vec![None; n_rows]) };
        let (ids, groups, generators, texts) =
            (strings("id")?, strings("group")?, strings("generator")?, strings("text")?);
        // an empty cell of a CSV is no value
        let twins: Vec<Option<String>> =
            strings(MISMATCH_COLUMN)?.into_iter().map(|twin| twin.filter(|twin| !twin.is_empty())).collect();
        if let Some(row) = (0..n_rows).find(|&row| twins[row].is_some() && labels[row] == Some(0.0)) {
            return Err(DetectorError::MismatchLabel { row: row + 1 });
        }
        let mut cells = Cells { labels, ids, groups, generators, texts, twins, columns: Vec::new() };
        if cells.n_labelled() == 0 {
            let is_near = |name: &&str| !has(table, "label") && name.eq_ignore_ascii_case("label");
            let near = table.column_names().into_iter().find(is_near).map(str::to_owned);
            return Err(DetectorError::NoLabels { n_rows, near });
        }
        cells.columns = feature_values(table, catalogue, features, gaps)?;
        Ok(cells)
    }

    /// Takes the values of a family that a row has in part, so that a family is there or not.
    fn blank_partial(&mut self, families: &[Vec<usize>]) {
        for row in 0..self.labels.len() {
            for family in families {
                if family.iter().any(|&column| self.columns[column][row].is_none()) {
                    family.iter().for_each(|&column| self.columns[column][row] = None);
                }
            }
        }
    }

    /// Whether a row is judged: it has a label and its text is about its change.
    fn is_labelled(&self, row: usize) -> bool {
        self.labels[row].is_some() && self.twins[row].is_none()
    }

    fn n_labelled(&self) -> usize {
        (0..self.labels.len()).filter(|&row| self.is_labelled(row)).count()
    }

    fn n_mismatched(&self) -> usize {
        self.twins.iter().flatten().count()
    }

    /// The rows with a label and every feature, or where gaps are kept any: those that are judged, and those that only train.
    fn usable_rows(&self, features: &[String], gaps: Gaps) -> Result<(Vec<usize>, Vec<usize>), DetectorError> {
        let n_rows = self.labels.len();
        let cells = |row: usize| self.columns.iter().map(move |column| column[row]);
        let is_usable = |&row: &usize| {
            self.labels[row].is_some()
                && match gaps {
                    Gaps::LeftOut => cells(row).all(|cell| cell.is_some()),
                    Gaps::Kept => cells(row).any(|cell| cell.is_some()),
                }
        };
        let (usable, mismatched): (Vec<usize>, Vec<usize>) =
            (0..n_rows).filter(is_usable).partition(|&row| self.twins[row].is_none());
        if usable.is_empty() {
            let lacking = |column: &Vec<Option<f64>>| {
                (0..n_rows).filter(|&row| self.is_labelled(row) && column[row].is_none()).count()
            };
            let mut missing: Vec<_> = features.iter().cloned().zip(self.columns.iter().map(lacking)).collect();
            missing.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            return Err(DetectorError::NoCompleteRows { n_labelled: self.n_labelled(), missing });
        }
        Ok((usable, mismatched))
    }

    fn group_name(&self, row: usize) -> String {
        match (&self.groups[row], &self.ids[row]) {
            (Some(group), _) => group.clone(),
            // a row without a group is one of its own; the prefix keeps ids and groups apart
            (None, Some(id)) => format!("row {id}"),
            (None, None) => format!("row {row}"),
        }
    }

    /// `[rows, F]` of usable rows.
    fn features_of(&self, rows: &[usize]) -> Array2<f64> {
        Array2::from_shape_fn((rows.len(), self.columns.len()), |(i, j)| {
            self.columns[j][rows[i]].unwrap_or(f64::NAN) // there but where gaps are kept
        })
    }

    /// Those of the complete rows beside another change that can train.
    fn mismatched(&self, rows: Vec<usize>, usable: &[usize], groups: &Groups) -> Mismatched {
        let place_of_id: HashMap<&String, usize> =
            usable.iter().enumerate().filter_map(|(place, &row)| Some((self.ids[row].as_ref()?, place))).collect();
        // without its text's own row, which tells when it may train, it takes no part
        let with_twin = |row: usize| Some((row, *place_of_id.get(self.twins[row].as_ref()?)?));
        let (rows, twin): (Vec<usize>, Vec<usize>) = rows.into_iter().filter_map(with_twin).unzip();
        Mismatched {
            features: self.features_of(&rows),
            twin,
            group: rows.iter().map(|&row| groups.names.binary_search(&self.group_name(row)).ok()).collect(),
            n_left_out: self.n_mismatched() - rows.len(),
        }
    }
}

/// A column's values in the usable rows.
fn by_column(table: &Table, column: &str, usable: &[usize]) -> Result<(String, Vec<Option<String>>), DetectorError> {
    if !has(table, column) {
        return Err(DetectorError::ByColumn { column: column.to_owned(), known: column_names(table) });
    }
    let all = table.strings(column)?;
    // an empty cell of a CSV is no value
    let values: Vec<Option<String>> =
        usable.iter().map(|&row| all[row].clone().filter(|value| !value.is_empty())).collect();
    let mut distinct: Vec<&Option<String>> = values.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() > MAX_VALUES {
        let error =
            DetectorError::ByTooManyValues { column: column.to_owned(), n_values: distinct.len(), most: MAX_VALUES };
        return Err(error);
    }
    Ok((column.to_owned(), values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_are_read() {
        let clause: WhereClause = "generator!=lstm, knn".parse().unwrap();
        assert_eq!((clause.column.as_str(), clause.keep), ("generator", false));
        assert_eq!(clause.values, ["lstm", "knn"]);
        let clause: WhereClause = "note=a=b".parse().unwrap();
        assert_eq!((clause.column.as_str(), clause.values[0].as_str()), ("note", "a=b"));
        for bad in ["generator", "=x", "!=x", ""] {
            assert!(matches!(bad.parse::<WhereClause>(), Err(DetectorError::WhereSyntax { .. })), "{bad}");
        }
    }

    #[test]
    fn values_are_compared_as_numbers_where_both_are() {
        assert!(same("1.0", "1") && same("x", "x"));
        assert!(!same("x1", "1") && !same("", "0"));
    }
}
