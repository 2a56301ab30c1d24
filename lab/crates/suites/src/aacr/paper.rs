//! The published rows, and whether they agree with each other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const ROWS: &str = include_str!("paper.toml");

/// Accepted references by context, of the dataset that the rows are about.
const BY_CONTEXT: [usize; 3] = [754, 518, 233];

const REFERENCES: usize = 1505;

/// Recall, precision and F1 in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Recall.
    pub recall: f64,
    /// Precision.
    pub precision: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

/// Recall in percent by what one has to read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ByContext {
    /// The change.
    pub diff: f64,
    /// The file.
    pub file: f64,
    /// The repository.
    pub repo: f64,
}

/// A published row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// `agent`, `none`, `bm25` or `embedding`.
    pub method: String,
    /// Whose row it is, by the tables that agree.
    pub model: String,
    /// Whose row two tables say it is, where that is another.
    pub printed: Option<String>,
    /// Comments for each hunk.
    pub comments_per_patch: f64,
    /// The same in another table.
    pub comments_per_patch_rounded: f64,
    /// By place.
    pub line: Published,
    /// By meaning.
    pub meaning: Published,
    /// Recall by what one has to read.
    pub by_context: ByContext,
    /// Security alone.
    pub security: Published,
    /// Defects alone.
    pub defect: Published,
    /// Performance alone.
    pub performance: Published,
    /// Maintainability alone.
    pub maintainability: Published,
}

impl Row {
    /// The references that it found, by its recall over all.
    pub fn found(&self) -> usize {
        (self.meaning.recall / 100.0 * REFERENCES as f64).round() as usize
    }

    /// The references that it found, by its recall in each context; none if a share is not one of whole references.
    pub fn found_by_context(&self) -> Option<usize> {
        let shares = [self.by_context.diff, self.by_context.file, self.by_context.repo];
        let count = |(share, n): (f64, usize)| {
            let found = (share / 100.0 * n as f64).round();
            // a printed share is rounded to a hundredth of a percent
            ((100.0 * found / n as f64 - share).abs() < 0.0051).then_some(found as usize)
        };
        shares.into_iter().zip(BY_CONTEXT).map(count).sum()
    }
}

/// The published rows in the order of the tables.
///
/// # Panics
/// Never: a test reads them.
pub fn rows() -> Vec<Row> {
    #[derive(Deserialize)]
    struct File {
        row: Vec<Row>,
    }
    toml::from_str::<File>(ROWS).expect("the program's own data are read by a test").row
}

/// Every renaming of the rows of a method, as two tables print their names, under which the counts of all tables agree: from the name
/// in those two to the true one.
pub fn renamings(rows: &[Row], method: &str) -> Vec<BTreeMap<String, String>> {
    let of: Vec<&Row> = rows.iter().filter(|row| row.method == method).collect();
    let printed: Vec<(&str, usize)> =
        of.iter().map(|row| (row.printed.as_deref().unwrap_or(&row.model), row.found())).collect();
    let real: Vec<(&str, Option<usize>)> = of.iter().map(|row| (row.model.as_str(), row.found_by_context())).collect();
    let mut found = Vec::new();
    let mut taken = vec![false; real.len()];
    extend(&printed, &real, &mut taken, &mut Vec::new(), &mut found);
    found
}

fn extend<'a>(
    printed: &[(&'a str, usize)],
    real: &[(&'a str, Option<usize>)],
    taken: &mut [bool],
    chosen: &mut Vec<(&'a str, &'a str)>,
    found: &mut Vec<BTreeMap<String, String>>,
) {
    let Some((name, count)) = printed.get(chosen.len()) else {
        found.push(chosen.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect());
        return;
    };
    for (i, (model, known)) in real.iter().enumerate() {
        if !taken[i] && *known == Some(*count) {
            taken[i] = true;
            chosen.push((name, model));
            extend(printed, real, taken, chosen, found);
            chosen.pop();
            taken[i] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_renaming_makes_the_tables_agree() {
        let rows = rows();
        assert_eq!(rows.len(), 20);
        let renamings = renamings(&rows, "bm25");
        let want = [("GPT", "Claude"), ("Claude", "Deepseek"), ("Deepseek", "GLM"), ("Qwen", "GPT"), ("GLM", "Qwen")];
        assert_eq!(renamings, [want.map(|(a, b)| (a.to_owned(), b.to_owned())).into_iter().collect()]);
        let counts: Vec<Option<usize>> =
            rows.iter().filter(|row| row.method == "bm25").map(Row::found_by_context).collect();
        assert_eq!(counts, [656, 538, 412, 690, 395].map(Some));
    }

    #[test]
    fn all_others_agree_but_those_of_agents() {
        for row in rows() {
            let agrees = row.found_by_context() == Some(row.found());
            assert_eq!(
                agrees,
                row.method != "agent",
                "{} {}: {:?} and {}",
                row.method,
                row.model,
                row.found_by_context(),
                row.found()
            );
        }
    }
}
