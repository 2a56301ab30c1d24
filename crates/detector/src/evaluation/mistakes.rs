//! The rows that a predictor has most wrong: what to read before a figure is believed.

use serde::Serialize;

use crate::{LabelledRows, evaluation::predictions::Predictions};

/// Most rows of each kind.
const MOST: usize = 10;

/// The rows that a predictor, which did not see them in training, has most wrong.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Mistakes {
    /// Hallucinated rows that it does not call so, the least probable first.
    pub misses: Vec<Mistake>,
    /// Rows that it calls hallucinated and that are not, the most probable first.
    pub false_alarms: Vec<Mistake>,
}

/// A row that a predictor has wrong.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mistake {
    /// What the table calls the row.
    pub id: Option<String>,
    /// Who wrote the text.
    pub generator: Option<String>,
    /// The probability of being hallucinated that the predictor gave it.
    pub probability: f64,
    /// The text, if the table has a column `text`.
    pub text: Option<String>,
}

impl Mistakes {
    /// Of predictions for rows.
    pub(crate) fn of(rows: &LabelledRows, predictions: &Predictions) -> Self {
        let scored = || predictions.rows.iter().zip(&predictions.scores).zip(&predictions.flagged);
        let wrong = |is_flagged: bool| -> Vec<Mistake> {
            let wrong =
                scored().filter(|((row, _), flagged)| **flagged == is_flagged && rows.labels[**row] != is_flagged);
            let mut wrong: Vec<(usize, f64)> = wrong.map(|((row, score), _)| (*row, *score)).collect();
            let sign = if is_flagged { -1.0 } else { 1.0 };
            wrong.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)).then(a.0.cmp(&b.0)));
            wrong.truncate(MOST);
            let mistake = |(row, probability): (usize, f64)| Mistake {
                id: rows.ids.get(row).cloned().flatten(),
                generator: rows.generators[row].clone(),
                probability,
                text: rows.texts.get(row).cloned().flatten(),
            };
            wrong.into_iter().map(mistake).collect()
        };
        Mistakes { misses: wrong(false), false_alarms: wrong(true) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn the_worst_come_first_and_what_is_right_is_no_mistake() {
        let mut rows = toy::two_features(4);
        rows.labels = vec![true, true, false, false];
        rows.ids = ["a", "b", "c", "d"].map(|id| Some(id.to_owned())).to_vec();
        let predicted = |scores: &[f64]| Predictions::of_detector(scores.to_vec(), 0.5);
        let ids = |mistakes: &[Mistake]| mistakes.iter().map(|m| m.id.clone().unwrap()).collect::<String>();
        let all_wrong = Mistakes::of(&rows, &predicted(&[0.4, 0.1, 0.6, 0.9]));
        assert_eq!((ids(&all_wrong.misses), ids(&all_wrong.false_alarms)), ("ba".to_owned(), "dc".to_owned()));
        let half = Mistakes::of(&rows, &predicted(&[0.9, 0.1, 0.2, 0.9]));
        assert_eq!((ids(&half.misses), ids(&half.false_alarms)), ("b".to_owned(), "d".to_owned()));
    }
}
