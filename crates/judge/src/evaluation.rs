//! What the judges of a table are worth: verdicts beside labels and reactions, beside each other, and beside those who always or never
//! flag.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_detector::{
    Bootstrap, EvalSettings, Figure, Gaps, Interval, LabelledRows, Ranking, evaluate, labelled_rows, pearson,
    rank_as_it_stands,
};
use veridiff_table::{Table, TableError};

use crate::{
    figures::{Counts, JudgeFigures, ReactionFigures, flip_rate, quadratic_kappa, reaction_figures},
    recorder::mean_seconds,
    store::Store,
};

/// The column of what readers thought of a comment: `up`, `down` or nothing.
const REACTION: &str = "reaction";

/// From this probability on a judge flags.
const FLAGS_FROM: f64 = 0.5;

/// All that is said of the judges of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgesEvaluation {
    /// Rows with a label.
    pub n_labelled: usize,
    /// Hallucinated ones among them.
    pub n_positive: usize,
    /// Flagging every labelled row.
    pub always: JudgeFigures,
    /// Flagging none.
    pub never: JudgeFigures,
    /// Each judge by each strategy, in the order of the columns.
    pub judges: Vec<JudgeEvaluation>,
    /// Every two of them.
    pub pairs: Vec<JudgePair>,
    /// Passing every comment with a reaction; null without reactions.
    pub reactions_if_never: Option<ReactionFigures>,
}

/// One judge by one strategy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeEvaluation {
    /// The judge's name.
    pub judge: String,
    /// The strategy, `panel` for several together, or `cascade`.
    pub strategy: String,
    /// Over the rows with a label and a verdict.
    pub figures: JudgeFigures,
    /// 95% intervals of what depends on which changes were drawn: changes are drawn with replacement, with all their rows.
    pub intervals: Option<Intervals>,
    /// As `figures`, where a row without a verdict counts as not flagged.
    pub if_unjudged_pass: JudgeFigures,
    /// The same rows by the cut of the score that was best on the training folds; null for what has no score.
    pub tuned: Option<JudgeFigures>,
    /// How well its score orders rows as it stands, higher taken as hallucinated; null for what has no score.
    pub ranking: Option<Ranking>,
    /// Verdicts beside reactions; null without reactions.
    pub reactions: Option<ReactionFigures>,
    /// How many rows have each status.
    pub statuses: BTreeMap<String, usize>,
    /// The mean probability that the five digits have together; null where digits are not read.
    pub mass: Option<f64>,
    /// The share of rows whose written score is the most probable one; null where not both are read.
    pub agrees: Option<f64>,
    /// Means a row of what the judge took, by all its strategies together.
    pub spent: Spent,
}

/// 95% intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Intervals {
    /// Of the precision.
    pub precision: Option<Interval>,
    /// Of the recall.
    pub recall: Option<Interval>,
    /// Of F1.
    pub f1: Option<Interval>,
    /// Of Cohen's kappa with the labels.
    pub kappa: Option<Interval>,
    /// Of Matthews' correlation coefficient.
    pub mcc: Option<Interval>,
}

/// Means a row; null where replies do not say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spent {
    /// Tokens read.
    pub input: Option<f64>,
    /// Tokens written.
    pub output: Option<f64>,
    /// Those of them that are hidden reasoning.
    pub reasoning: Option<f64>,
    /// In the currency of the prices.
    pub cost: Option<f64>,
    /// Seconds that its replies were waited for, by the means a reply of the file of replies; of several that were waited for at once each
    /// has the whole.
    pub seconds: Option<f64>,
}

/// Two judges, or two strategies of one, on the rows that both have judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgePair {
    /// Judge and strategy.
    pub first: String,
    /// Judge and strategy.
    pub second: String,
    /// Rows with both verdicts.
    pub n: usize,
    /// Cohen's kappa of the scores 0 to 4, rounded, with quadratic weights.
    pub kappa: Option<f64>,
    /// Spearman's correlation of the scores.
    pub spearman: Option<f64>,
    /// Share of rows that they decide otherwise.
    pub flip_rate: Option<f64>,
}

/// One judge by one strategy, as its columns hold it.
struct Columns {
    judge: String,
    strategy: String,
    /// The probability of being flagged.
    p: Vec<Option<f64>>,
    /// The column of the score, and what it holds; none for a panel and a cascade.
    score: Option<(String, Vec<Option<f64>>)>,
}

impl Columns {
    fn flagged(&self) -> Vec<Option<bool>> {
        self.p.iter().map(|p| p.map(|p| p >= FLAGS_FROM)).collect()
    }

    fn name(&self) -> String {
        format!("{} {}", self.judge, self.strategy)
    }
}

/// Why a table's judges cannot be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// No column is a judge's.
    #[error("the table has no columns of a judge")]
    NoJudges,
    /// A column cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl EvaluationError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            EvaluationError::NoJudges => Some("name a table that `veridiff judge` wrote".to_owned()),
            EvaluationError::Table(error) => error.hint(),
        }
    }
}

/// Evaluates every judge and strategy of a table. How long replies were waited for is told by their file, if it is given: the table has
/// nothing that differs from run to run.
///
/// # Errors
/// [`EvaluationError`].
pub fn evaluate_judges(
    table: &Table,
    replies: Option<&Store>,
    settings: EvalSettings,
) -> Result<JudgesEvaluation, EvaluationError> {
    let judges = judges_of(table)?;
    if judges.is_empty() {
        return Err(EvaluationError::NoJudges);
    }
    let has = |column: &str| table.column_names().contains(&column);
    let labels: Vec<Option<bool>> = match has("label") {
        true => table.numbers("label")?.into_iter().map(|label| label.map(|label| label == 1.0)).collect(),
        false => vec![None; table.n_rows()],
    };
    let liked: Option<Vec<Option<bool>>> = match has(REACTION) {
        true => Some(table.strings(REACTION)?.iter().map(|cell| liked_of(cell.as_deref())).collect()),
        false => None,
    };
    let groups = groups_of(table)?;
    let all = Counts::of(labels.iter().flatten().map(|label| (*label, Some(false))));
    let mut evaluated = Vec::new();
    // the file is read once for all strategies of a judge
    let mut seconds_a_reply = BTreeMap::new();
    for judge in &judges {
        let mut evaluation = evaluation_of(table, judge, &labels, liked.as_deref(), &groups, settings)?;
        let n_replies = mean_of(&numbers_of(table, &format!("n_judge_replies@{}", judge.judge))?);
        let a_reply = *seconds_a_reply
            .entry(&judge.judge)
            .or_insert_with(|| replies.and_then(|replies| mean_seconds(replies, &judge.judge)));
        evaluation.spent.seconds = n_replies.zip(a_reply).map(|(n, seconds)| n * seconds);
        evaluated.push(evaluation);
    }
    let mut pairs = Vec::new();
    for (i, first) in judges.iter().enumerate() {
        pairs.extend(judges[i + 1..].iter().map(|second| pair_of(first, second)));
    }
    let never = liked.map(|liked| reaction_figures(liked.into_iter().flatten().map(|liked| (liked, false))));
    Ok(JudgesEvaluation {
        n_labelled: labels.iter().flatten().count(),
        n_positive: labels.iter().flatten().filter(|label| **label).count(),
        always: all.if_all(true).figures(),
        never: all.if_all(false).figures(),
        judges: evaluated,
        pairs,
        reactions_if_never: never.filter(|figures| figures.n > 0),
    })
}

fn liked_of(cell: Option<&str>) -> Option<bool> {
    match cell {
        Some("up") => Some(true),
        Some("down") => Some(false),
        _ => None,
    }
}

/// Every judge and strategy that the table has columns of.
fn judges_of(table: &Table) -> Result<Vec<Columns>, EvaluationError> {
    let mut judges = Vec::new();
    for column in table.column_names() {
        let Some((feature, judge)) = column.split_once('@') else { continue };
        let Some(feature) = feature.strip_prefix("judge_") else { continue };
        let (strategy, score) = match feature {
            "flag" => ("panel", None),
            "final" => ("cascade", None),
            _ => match feature.strip_suffix("_p") {
                Some(strategy) => (strategy, Some(format!("judge_{strategy}@{judge}"))),
                None => continue,
            },
        };
        let score = match score {
            Some(score) => Some((score.clone(), table.numbers(&score)?)),
            None => None,
        };
        let p = table.numbers(column)?;
        judges.push(Columns { judge: judge.to_owned(), strategy: strategy.to_owned(), p, score });
    }
    Ok(judges)
}

/// The number of every row's group; a row without one is a group of its own.
fn groups_of(table: &Table) -> Result<Vec<usize>, EvaluationError> {
    if !table.column_names().contains(&"group") {
        return Ok((0..table.n_rows()).collect());
    }
    let mut numbers = BTreeMap::new();
    let names = table.strings("group")?;
    let name = |(row, name): (usize, Option<String>)| name.map_or_else(|| (row, String::new()), |name| (0, name));
    Ok(names
        .into_iter()
        .enumerate()
        .map(|row| {
            let next = numbers.len();
            *numbers.entry(name(row)).or_insert(next)
        })
        .collect())
}

fn evaluation_of(
    table: &Table,
    judge: &Columns,
    labels: &[Option<bool>],
    liked: Option<&[Option<bool>]>,
    groups: &[usize],
    settings: EvalSettings,
) -> Result<JudgeEvaluation, EvaluationError> {
    let flagged = judge.flagged();
    let labelled = || labels.iter().zip(&flagged).filter_map(|(label, flagged)| Some(((*label)?, *flagged)));
    let figures = Counts::of(labelled()).figures();
    let scored = judge.score.as_ref().and_then(|(column, _)| scored_rows(table, column));
    let ranking = scored.as_ref().and_then(|rows| rank_as_it_stands(rows, 0, settings.bootstrap).ok());
    let tuned = scored.as_ref().and_then(|rows| cut_on_folds(rows, settings)).map(|of| {
        let n_flagged_wrong = of.n_flagged - of.n_true_positive;
        let counts = Counts {
            true_positive: of.n_true_positive,
            false_positive: n_flagged_wrong,
            false_negative: of.n_positive - of.n_true_positive,
            true_negative: of.n - of.n_positive - n_flagged_wrong,
            n_unjudged: figures.counts.n_unjudged,
        };
        counts.figures()
    });
    let reactions = liked.map(|liked| {
        let rows = liked.iter().zip(&flagged).filter_map(|(liked, flagged)| Some(((*liked)?, (*flagged)?)));
        reaction_figures(rows)
    });
    let rows: Vec<(usize, bool, bool)> = labels
        .iter()
        .zip(&flagged)
        .zip(groups)
        .filter_map(|((label, flagged), group)| Some((*group, (*label)?, (*flagged)?)))
        .collect();
    let of = |column: &str| numbers_of(table, &format!("{column}@{}", judge.judge));
    let strategy = |what: &str| format!("judge_{}_{what}", judge.strategy);
    Ok(JudgeEvaluation {
        judge: judge.judge.clone(),
        strategy: judge.strategy.clone(),
        intervals: intervals_of(&rows, settings.bootstrap),
        if_unjudged_pass: Counts::of(labelled().map(|(label, flagged)| (label, Some(flagged == Some(true))))).figures(),
        tuned,
        ranking,
        reactions: reactions.filter(|figures| figures.n > 0),
        statuses: statuses_of(table, judge)?,
        mass: mean_of(&of(&strategy("mass"))?),
        agrees: mean_of(&of(&strategy("agrees"))?),
        spent: Spent {
            input: mean_of(&of("n_judge_in")?),
            output: mean_of(&of("n_judge_out")?),
            reasoning: mean_of(&of("n_judge_reasoning")?),
            cost: mean_of(&of("judge_cost")?),
            seconds: None,
        },
        figures,
    })
}

/// What a column holds; nothing if there is none.
fn numbers_of(table: &Table, column: &str) -> Result<Vec<Option<f64>>, EvaluationError> {
    Ok(if table.column_names().contains(&column) { table.numbers(column)? } else { Vec::new() })
}

fn mean_of(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn statuses_of(table: &Table, judge: &Columns) -> Result<BTreeMap<String, usize>, EvaluationError> {
    let column = format!("judge_{}_status@{}", judge.strategy, judge.judge);
    let mut statuses = BTreeMap::new();
    if table.column_names().contains(&&*column) {
        for status in table.strings(&column)?.into_iter().flatten() {
            *statuses.entry(status).or_default() += 1;
        }
    }
    Ok(statuses)
}

/// The labelled rows that have a score, which is their only feature; none where there are none.
fn scored_rows(table: &Table, column: &str) -> Option<LabelledRows> {
    labelled_rows(table, &CATALOGUE, &[column.to_owned()], &[], Gaps::LeftOut).ok()
}

/// The figures of a score by the cut that was best on the training folds, turned as it pointed there; none where too few rows have it.
fn cut_on_folds(rows: &LabelledRows, settings: EvalSettings) -> Option<Figure> {
    let mut evaluation = evaluate(rows, settings).ok()?;
    let place = evaluation.predictors.iter().position(|predictor| predictor.name == rows.feature_names[0])?;
    Some(evaluation.predictors.swap_remove(place).overall)
}

/// Intervals by drawing groups with replacement; none of fewer than two groups or no draws. A figure that half of the draws lack has
/// none.
fn intervals_of(rows: &[(usize, bool, bool)], bootstrap: Bootstrap) -> Option<Intervals> {
    let mut by_group: BTreeMap<usize, Counts> = BTreeMap::new();
    for (group, label, flagged) in rows {
        *by_group.entry(*group).or_default() += Counts::of([(*label, Some(*flagged))]);
    }
    let groups: Vec<Counts> = by_group.into_values().collect();
    if groups.len() < 2 || bootstrap.n_resamples == 0 {
        return None;
    }
    let mut random = ChaCha8Rng::seed_from_u64(bootstrap.seed);
    let mut drawn: [Vec<f64>; 5] = Default::default();
    for _ in 0..bootstrap.n_resamples {
        let mut counts = Counts::default();
        (0..groups.len()).for_each(|_| counts += groups[random.random_range(0..groups.len())]);
        let figures = counts.figures();
        let of = [figures.positive.precision, figures.positive.recall, figures.positive.f1, figures.kappa, figures.mcc];
        of.into_iter().zip(&mut drawn).for_each(|(value, drawn)| drawn.extend(value));
    }
    let [precision, recall, f1, kappa, mcc] = drawn.map(|mut values| {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        (2 * values.len() >= bootstrap.n_resamples).then(|| Interval { low: at(0.025), high: at(0.975) })
    });
    Some(Intervals { precision, recall, f1, kappa, mcc })
}

fn pair_of(first: &Columns, second: &Columns) -> JudgePair {
    let verdicts: Vec<(bool, bool)> =
        first.flagged().into_iter().zip(second.flagged()).filter_map(|(a, b)| Some((a?, b?))).collect();
    let scores: Vec<(f64, f64)> = match (&first.score, &second.score) {
        (Some((_, a)), Some((_, b))) => a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect(),
        _ => Vec::new(),
    };
    let level = |score: f64| score.round().clamp(0.0, 4.0) as u8;
    let levels: Vec<(u8, u8)> = scores.iter().map(|(a, b)| (level(*a), level(*b))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = scores.into_iter().unzip();
    JudgePair {
        first: first.name(),
        second: second.name(),
        n: verdicts.len(),
        kappa: quadratic_kappa(&levels),
        spearman: pearson(&ranks(&a), &ranks(&b)).map(|correlation| correlation.r),
        flip_rate: flip_rate(&verdicts),
    }
}

/// The rank of every value, that of equals their mean.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    for equals in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = start as f64 + (equals.len() as f64 + 1.0) / 2.0;
        equals.iter().for_each(|&row| ranks[row] = rank);
        start += equals.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use veridiff_detector::{DEFAULT_L2, Learner};
    use veridiff_table::Row;

    use super::*;

    fn settings() -> EvalSettings {
        EvalSettings {
            n_folds: 5,
            l2: DEFAULT_L2,
            learner: Learner::default(),
            bootstrap: Bootstrap { n_resamples: 200, seed: 0 },
        }
    }

    fn row(of: serde_json::Value) -> Row {
        of.as_object().unwrap().clone()
    }

    /// 143 rows with TP 25, FP 8, FN 7, TN 103, and some that were not judged: the specification's table by the road of `eval`.
    #[test]
    fn the_table_of_143_rows_from_a_table() {
        let mut rows = Vec::new();
        for (label, score, n) in [(1, 3, 25), (0, 1, 8), (1, 0, 7), (0, 0, 103)] {
            for _ in 0..n {
                let i = rows.len();
                rows.push(row(json!({
                    "id": i.to_string(), "label": label, "group": format!("g{}", i % 97), "generator": (i % 3).to_string(),
                    "judge_direct@j": score, "judge_direct_p@j": u8::from(score > 0), "judge_direct_status@j": "ok",
                    "judge_tree@j": score + u8::from(score > 1), "judge_tree_p@j": u8::from(score > 1),
                    "judge_tree_status@j": "ok", "n_judge_in@j": 100, "judge_cost@j": 0.5,
                })));
            }
        }
        for label in [0, 1] {
            rows.push(row(json!({ "id": format!("x{label}"), "label": label, "group": "x", "generator": "0",
                "judge_direct_status@j": "error", "n_judge_in@j": 100, "judge_cost@j": 0.5 })));
        }
        rows.push(row(json!({ "id": "u", "group": "x", "judge_direct@j": 4, "judge_direct_p@j": 1 })));
        let evaluation =
            evaluate_judges(&Table::from_rows(&rows, &BTreeMap::new()).unwrap(), None, settings()).unwrap();
        let [direct, tree] = &evaluation.judges[..] else { panic!("two strategies") };
        let near = |got: Option<f64>, want: f64| assert!((got.unwrap() - want).abs() < 5e-4, "{got:?} {want}");
        near(direct.figures.positive.precision, 0.758);
        near(direct.figures.weighted.f1, 0.896);
        near(direct.figures.kappa, 0.701);
        near(direct.figures.judged_share, 143.0 / 145.0);
        near(direct.if_unjudged_pass.positive.recall, 25.0 / 33.0);
        near(evaluation.always.positive.precision, 33.0 / 145.0);
        assert_eq!((evaluation.n_labelled, evaluation.n_positive), (145, 33));
        assert_eq!((direct.spent.input, direct.spent.cost, direct.spent.output), (Some(100.0), Some(0.5), None));
        assert_eq!(direct.statuses, BTreeMap::from([("error".to_owned(), 2), ("ok".to_owned(), 143)]));
        let recall = direct.intervals.unwrap().recall.unwrap();
        assert!(recall.low < 0.78 && 0.78 < recall.high && recall.low > 0.5);
        // AUC of 25 and 7 against 8 and 103: by hand with ties
        let auc = (25.0 * (103.0 + 8.0) + 7.0 * 0.5 * 103.0) / (32.0 * 111.0);
        near(direct.ranking.as_ref().unwrap().auc, auc);
        // the best cut is above the score of the false alarms
        near(direct.tuned.as_ref().unwrap().positive.precision, 1.0);
        let [pair] = &evaluation.pairs[..] else { panic!("one pair") };
        assert_eq!((pair.n, pair.flip_rate), (143, Some(8.0 / 143.0)));
        assert!(tree.figures.positive.precision == Some(1.0) && pair.spearman.unwrap() > 0.9);
    }

    /// A judge that passes what is false is worse than none, and its AUC says so: it is not turned round.
    #[test]
    fn a_score_that_is_upside_down_is_below_a_half() {
        let row_of = |i: usize| {
            let label = i % 2;
            let score = 4 * (1 - label);
            row(
                json!({ "id": i.to_string(), "label": label, "group": format!("g{}", i / 4), "generator": "ab"[i / 2 % 2..][..1],
                        "judge_direct@j": score, "judge_direct_p@j": u8::from(score > 0) }),
            )
        };
        let table = Table::from_rows(&(0..80).map(row_of).collect::<Vec<_>>(), &BTreeMap::new()).unwrap();
        let ranking = evaluate_judges(&table, None, settings()).unwrap().judges[0].ranking.clone().unwrap();
        let (auc, interval, within) = (ranking.auc.unwrap(), ranking.interval.unwrap(), ranking.within_generators);
        assert_eq!((auc, interval.high, within.auc), (0.0, 0.0, Some(0.0)));
    }

    #[test]
    fn reactions_and_tables_without_judges() {
        let rows: Vec<Row> = [("up", 0), ("up", 1), ("down", 1), ("", 0)]
            .iter()
            .map(|(reaction, p)| row(json!({ "id": "a", "reaction": reaction, "judge_flag@j": p })))
            .collect();
        let evaluation =
            evaluate_judges(&Table::from_rows(&rows, &BTreeMap::new()).unwrap(), None, settings()).unwrap();
        let panel = &evaluation.judges[0];
        let reactions = panel.reactions.unwrap();
        assert_eq!((&*panel.strategy, reactions.n), ("panel", 3));
        assert_eq!((reactions.consistency, reactions.coverage), (Some(1.0), Some(0.5)));
        assert_eq!(evaluation.reactions_if_never.unwrap().coverage, Some(1.0));
        let none = Table::from_rows(&[row(json!({ "id": "a" }))], &BTreeMap::new()).unwrap();
        assert!(matches!(evaluate_judges(&none, None, settings()), Err(EvaluationError::NoJudges)));
    }

    #[test]
    fn equals_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }
}
