//! The tables of a report, each by itself: as printed, and in full as records.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    figures::{best_metrics, describe},
    statistics::{self, p_value},
    tables::{self, Grid, common_scorer, rate, short, with_interval},
};
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{Evaluation, Figure, Learner, LikelihoodFit, PredictorEvaluation, PredictorKind};

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTable {
    /// Name of its files, without extension.
    pub name: String,
    /// As it is printed.
    pub grid: Grid,
    /// One object a row, with every figure in full, as in the evaluation's own JSON.
    pub records: Vec<Value>,
}

impl NamedTable {
    fn new(name: impl Into<String>, grid: Grid, records: Vec<Value>) -> Self {
        Self { name: name.into(), grid, records }
    }

    /// The records as CSV: a column for every key, nested ones joined by dots; nothing stands for null.
    pub fn to_csv(&self) -> String {
        let rows: Vec<Map<String, Value>> = self
            .records
            .iter()
            .map(|record| {
                let mut flat = Map::new();
                flatten("", record, &mut flat);
                flat
            })
            .collect();
        let mut columns: Vec<&String> = Vec::new();
        for key in rows.iter().flat_map(Map::keys) {
            if !columns.contains(&key) {
                columns.push(key);
            }
        }
        let line =
            |cells: Vec<String>| cells.iter().map(|c| tables::csv_quoted(c)).collect::<Vec<_>>().join(",") + "\n";
        let head = line(columns.iter().map(|column| column.to_string()).collect());
        let body = rows.iter().map(|row| line(columns.iter().map(|column| cell(row.get(*column))).collect()));
        head + &body.collect::<String>()
    }

    /// The records as a JSON array.
    pub fn to_json(&self) -> String {
        tables::json(&self.records)
    }
}

fn flatten(prefix: &str, value: &Value, flat: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&name, value, flat);
            }
        }
        other => {
            flat.insert(prefix.to_owned(), other.clone());
        }
    }
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => items.iter().map(|item| cell(Some(item))).collect::<Vec<_>>().join("; "),
        Some(other) => other.to_string(),
    }
}

fn record(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("figures and names always serialise")
}

fn records<T: Serialize>(values: &[T]) -> Vec<Value> {
    values.iter().map(record).collect()
}

/// The value without these keys, here and in the object under `leave_one_generator_out`.
fn without(mut value: Value, keys: &[&str]) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|key, _| !keys.contains(&key.as_str()));
        if let Some(Value::Object(nested)) = fields.get_mut("leave_one_generator_out") {
            nested.retain(|key, _| !keys.contains(&key.as_str()));
        }
    }
    value
}

/// Every table that the evaluation has figures for, in the order to read them.
pub fn named_tables(evaluation: &Evaluation) -> Vec<NamedTable> {
    let slim = |p: &PredictorEvaluation| without(record(p), &["per_generator", "by", "curves"]);
    let predictors: Vec<Value> = evaluation.predictors.iter().map(slim).collect();
    let mut list = vec![
        combination(evaluation),
        NamedTable::new("metrics", tables::predictor_grid(evaluation), predictors.clone()),
        NamedTable::new("quality", statistics::quality_grid(evaluation), predictors),
    ];
    if let Some(whole) = evaluation.predictors.last() {
        list.push(NamedTable::new("generators", tables::generator_grid(evaluation), generators(whole)));
    }
    if let Some(comparison) = &evaluation.comparison {
        let grid = statistics::set_grid(comparison, evaluation.settings.learner);
        list.push(NamedTable::new("sets", grid, records(&comparison.sets)));
        list.push(NamedTable::new("set-pairs", statistics::pair_grid(comparison), records(&comparison.pairs)));
    }
    list.extend(leading_coefficients(evaluation));
    if let Some(fit) = &evaluation.coefficients {
        let grid = statistics::coefficient_grid("All features", fit, None);
        list.push(NamedTable::new("coefficients", grid, records(&fit.terms)));
    }
    if let Some(stepwise) = &evaluation.stepwise {
        let grid = statistics::choice_grid(stepwise, evaluation.settings.n_folds);
        list.push(NamedTable::new("stepwise-coefficients", grid, records(&stepwise.choice.fit.terms)));
        list.push(NamedTable::new("stepwise", statistics::step_grid(stepwise), records(&stepwise.choice.steps)));
    }
    if let Some(predictor) = evaluation.predictors.last() {
        let name = if predictor.kind == PredictorKind::Detector { "The detector" } else { "The combination" };
        list.extend(predictor.by.iter().map(|figures| {
            let file = format!("by-{}", super::figures::slug(&figures.column));
            NamedTable::new(file, statistics::column_grid(name, figures), records(&figures.values))
        }));
    }
    if let Some(overlap) = &evaluation.overlap {
        let named = overlap.regions.iter().map(|region| {
            let mut value = record(region);
            let names = region.metrics.iter().map(|&m| Value::from(overlap.metrics[m].feature.as_str()));
            value["metrics"] = Value::Array(names.collect());
            value
        });
        list.push(NamedTable::new("overlap", statistics::overlap_grid(overlap), named.collect()));
    }
    if let Some(joint) = &evaluation.joint {
        let sides = statistics::joint_sides(joint).into_iter().map(|(name, side)| {
            let mut value = record(&side);
            value["side"] = name.into();
            value
        });
        list.push(NamedTable::new("joint", statistics::joint_grid(joint), sides.collect()));
    }
    list.retain(|table| !table.grid.is_empty());
    let mut names: Vec<String> = Vec::new();
    for table in &mut list {
        let twins = names.iter().filter(|name| **name == table.name).count();
        names.push(table.name.clone());
        if twins > 0 {
            table.name += &format!("-{}", twins + 1);
        }
    }
    list
}

/// Each generator's figures, with those where it was left out of training.
fn generators(whole: &PredictorEvaluation) -> Vec<Value> {
    let left_out = whole.leave_one_generator_out.as_ref();
    let rows = whole.per_generator.iter().enumerate().map(|(i, within)| {
        let mut value = record(within);
        if let Some(figure) = left_out.and_then(|left_out| left_out.per_generator.get(i)) {
            value["left_out"] = record(&figure.figure);
        }
        value
    });
    rows.collect()
}

/// The paper's table 4: the best single metrics, then the learner over sets of metrics.
fn combination(evaluation: &Evaluation) -> NamedTable {
    let heads = ["predictor", "metrics", "acc. %", "major. %", "AUC [95%]", "in sample\nacc. %", "in sample\nAUC"];
    let title = match evaluation.predictors.last().map(|predictor| predictor.kind) {
        Some(PredictorKind::Detector) => "The detector".to_owned(),
        _ => format!(
            "Best single metrics (first the best of each family), and {} over several; out of fold",
            describe::learner(evaluation.settings.learner)
        ),
    };
    let mut grid = Grid::new(title, &heads);
    let mut records = Vec::new();
    let percent = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{:.1}", 100.0 * value));
    let mut push = |kind: &str, name: &str, n_features: Option<usize>, figure: &Figure| {
        let in_sample = figure.in_sample;
        grid.push(vec![
            name.to_owned(),
            n_features.map_or_else(String::new, |n| n.to_string()),
            percent(figure.accuracy),
            percent(figure.majority),
            with_interval(figure.auc, figure.interval),
            percent(in_sample.and_then(|in_sample| in_sample.accuracy)),
            rate(in_sample.and_then(|in_sample| in_sample.auc)),
        ]);
        let mut value = record(figure);
        if let Value::Object(fields) = &mut value {
            let mut named = Map::from_iter([
                ("kind".to_owned(), kind.into()),
                ("name".to_owned(), name.into()),
                ("n_features".to_owned(), n_features.into()),
            ]);
            named.append(fields);
            records.push(Value::Object(named));
        }
    };
    for metric in best_metrics(evaluation) {
        push("metric", &metric.name, Some(1), &metric.overall);
    }
    let n_features = evaluation.predictors.iter().filter(|p| p.kind == PredictorKind::Feature).count();
    let sets = evaluation.comparison.iter().flat_map(|comparison| &comparison.sets);
    // as the paper has them: all comes last
    let (all, parts): (Vec<_>, Vec<_>) = sets.partition(|set| set.features.len() == n_features);
    for set in parts {
        push("set", &set.name, Some(set.features.len()), &set.overall);
    }
    if let Some(stepwise) = &evaluation.stepwise {
        let name = match evaluation.settings.learner {
            Learner::Logistic => "all, chosen stepwise".to_owned(),
            _ => format!("all, chosen stepwise ({})", describe::learner(Learner::Logistic)),
        };
        push("stepwise", &name, Some(stepwise.choice.selected.len()), &stepwise.overall);
    }
    match all.first() {
        Some(set) => push("set", &set.name, Some(n_features), &set.overall),
        None => {
            if let Some(whole) = evaluation.predictors.last() {
                let detector = whole.kind == PredictorKind::Detector;
                let (name, n) = if detector { (whole.name.as_str(), None) } else { ("all", Some(n_features)) };
                push(if detector { "detector" } else { "set" }, name, n, &whole.overall);
            }
        }
    }
    NamedTable::new("combination", grid, records)
}

/// How many coefficients lead.
const N_LEADING: usize = 5;

/// The paper's tables 5 and 6: the metrics that matter most in the chosen regression, by the size of their z.
fn leading_coefficients(evaluation: &Evaluation) -> Option<NamedTable> {
    let (what, fit): (&str, &LikelihoodFit) = match (&evaluation.stepwise, &evaluation.coefficients) {
        (Some(stepwise), _) => ("stepwise choice", &stepwise.choice.fit),
        (None, Some(fit)) => ("all features", fit),
        (None, None) => return None,
    };
    let mut terms: Vec<_> = fit.terms.iter().filter_map(|term| Some((term, term.estimate?))).collect();
    terms.sort_by(|(_, a), (_, b)| b.model.z.abs().total_cmp(&a.model.z.abs()));
    terms.truncate(N_LEADING);
    let scorer = common_scorer(terms.iter().map(|(term, _)| term.feature.as_str()));
    let title = format!("The {} metrics that matter most ({what}), by |z|; * p < 0.05", terms.len());
    let mut grid = Grid::new(title, &["metric", "type", "per sd", "z", "p", "sign"]);
    for (term, estimate) in &terms {
        let test = &estimate.model;
        let family = CATALOGUE.family_of(&term.feature).map_or("other", |family| family.name);
        grid.push(vec![
            short(&term.feature, scorer).to_owned(),
            family.to_owned(),
            format!("{:+.2}{}", estimate.standardised, if test.p < 0.05 { "*" } else { "" }),
            format!("{:+.2}", test.z),
            p_value(Some(test.p)),
            if estimate.coefficient < 0.0 { "−" } else { "+" }.to_owned(),
        ]);
    }
    Some(NamedTable::new("leading-coefficients", grid, terms.iter().map(|(term, _)| record(term)).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn records_become_csv_with_every_key() {
        let table = NamedTable::new(
            "t",
            Grid::new("T", &["a"]),
            vec![
                json!({ "name": "a,\"b\"", "overall": { "auc": 0.5, "interval": null }, "features": ["x", "y"] }),
                json!({ "name": "\u{1b}[31m", "overall": { "auc": null, "interval": { "low": 0.25 } } }),
            ],
        );
        let want = "name,overall.auc,overall.interval,features,overall.interval.low\n\
                    \"a,\"\"b\"\"\",0.5,,x; y,\n\
                    \\u{1b}[31m,,,,0.25\n";
        assert_eq!(table.to_csv(), want);
        assert_eq!(serde_json::from_str::<Value>(&table.to_json()).unwrap(), json!(table.records));
    }
}
