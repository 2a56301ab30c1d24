//! What verdicts are worth, beside labels and beside what readers thought of the comments.

use serde::Serialize;
use veridiff_detector::cohen_kappa;
use veridiff_detector::{Interval, proportion_interval};

/// Precision, recall and their harmonic mean; null where nothing is flagged or nothing is there to be found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rates {
    /// Share of what is flagged that should be.
    pub precision: Option<f64>,
    /// Share of what should be flagged that is.
    pub recall: Option<f64>,
    /// 2PR / (P + R); 0 if both are.
    pub f1: Option<f64>,
}

impl Rates {
    /// Of counts: rightly flagged, flagged, and to be flagged.
    fn of(right: usize, flagged: usize, wanted: usize) -> Rates {
        let share = |of: usize| (of > 0).then(|| right as f64 / of as f64);
        Rates::from_shares(share(flagged), share(wanted))
    }

    fn from_shares(precision: Option<f64>, recall: Option<f64>) -> Rates {
        Rates { precision, recall, f1: precision.zip(recall).map(|(p, r)| harmonic(p, r)) }
    }

    /// The mean of two, each with its weight; null where one of them that has a weight is.
    fn mean(classes: [(Rates, f64); 2]) -> Rates {
        let of = |field: fn(&Rates) -> Option<f64>| {
            let mut terms = classes.iter().filter(|(_, weight)| *weight > 0.0).peekable();
            terms.peek()?;
            terms.map(|(rates, weight)| field(rates).map(|value| value * weight)).sum::<Option<f64>>()
        };
        Rates { precision: of(|r| r.precision), recall: of(|r| r.recall), f1: of(|r| r.f1) }
    }
}

/// The harmonic mean; 0 of two zeros.
fn harmonic(a: f64, b: f64) -> f64 {
    if a + b > 0.0 { 2.0 * a * b / (a + b) } else { 0.0 }
}

/// Counts of verdicts beside labels: positive is hallucinated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Hallucinated, and flagged.
    pub true_positive: usize,
    /// Not hallucinated, and flagged.
    pub false_positive: usize,
    /// Hallucinated, and not flagged.
    pub false_negative: usize,
    /// Not hallucinated, and not flagged.
    pub true_negative: usize,
    /// Rows with a label and no verdict.
    pub n_unjudged: usize,
}

/// The figures of one judge on labelled rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeFigures {
    /// The counts that all of it follows from.
    pub counts: Counts,
    /// Share of the rows that have a verdict.
    pub judged_share: Option<f64>,
    /// Of the positive class.
    pub positive: Rates,
    /// The mean of both classes.
    pub macro_mean: Rates,
    /// The mean of both classes, weighted by how often they are.
    pub weighted: Rates,
    /// Share of the verdicts that are right.
    pub accuracy: Option<f64>,
    /// The mean of both classes' recalls.
    pub balanced_accuracy: Option<f64>,
    /// Cohen's kappa with the labels.
    pub kappa: Option<f64>,
    /// Matthews' correlation coefficient; null where verdicts or labels are all alike.
    pub mcc: Option<f64>,
    /// Share of what is not hallucinated that is flagged.
    pub false_alarm_rate: Option<f64>,
    /// Wilson's 95% interval of the precision.
    pub precision_interval: Option<Interval>,
    /// Wilson's 95% interval of the recall.
    pub recall_interval: Option<Interval>,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.true_positive += other.true_positive;
        self.false_positive += other.false_positive;
        self.false_negative += other.false_negative;
        self.true_negative += other.true_negative;
        self.n_unjudged += other.n_unjudged;
    }
}

impl Counts {
    /// Counts rows, each a label (hallucinated or not) and a verdict (flagged, not, or none).
    pub fn of(rows: impl IntoIterator<Item = (bool, Option<bool>)>) -> Counts {
        let mut counts = Counts::default();
        for row in rows {
            *match row {
                (true, Some(true)) => &mut counts.true_positive,
                (false, Some(true)) => &mut counts.false_positive,
                (true, Some(false)) => &mut counts.false_negative,
                (false, Some(false)) => &mut counts.true_negative,
                (_, None) => &mut counts.n_unjudged,
            } += 1;
        }
        counts
    }

    /// The same rows, all of them flagged or none: what a judge has to be better than.
    pub fn if_all(&self, flagged: bool) -> Counts {
        let (positive, negative) = (self.true_positive + self.false_negative, self.true_negative + self.false_positive);
        let n_unjudged = self.n_unjudged;
        if flagged {
            Counts { true_positive: positive, false_positive: negative, n_unjudged, ..Counts::default() }
        } else {
            Counts { false_negative: positive, true_negative: negative, n_unjudged, ..Counts::default() }
        }
    }

    /// The figures.
    pub fn figures(&self) -> JudgeFigures {
        let Counts { true_positive: tp, false_positive: fp, false_negative: fn_, true_negative: tn, n_unjudged } =
            *self;
        let n = tp + fp + fn_ + tn;
        let share = |a: usize, of: usize| (of > 0).then(|| a as f64 / of as f64);
        let positive = Rates::of(tp, tp + fp, tp + fn_);
        let negative = Rates::of(tn, tn + fn_, tn + fp);
        let weight = |count: usize| share(count, n).unwrap_or(0.0);
        let product = [tp + fp, tp + fn_, tn + fp, tn + fn_].iter().map(|n| *n as f64).product::<f64>();
        let mcc = (tp as f64 * tn as f64 - fp as f64 * fn_ as f64) / product.sqrt();
        let recalls = positive.recall.zip(negative.recall);
        JudgeFigures {
            counts: *self,
            judged_share: share(n, n + n_unjudged),
            positive,
            macro_mean: Rates::mean([(positive, 0.5), (negative, 0.5)]),
            weighted: Rates::mean([(positive, weight(tp + fn_)), (negative, weight(tn + fp))]),
            accuracy: share(tp + tn, n),
            balanced_accuracy: recalls.map(|(a, b)| (a + b) / 2.0),
            kappa: cohen_kappa(&[vec![tp, fn_], vec![fp, tn]]).kappa,
            mcc: (product > 0.0).then_some(mcc),
            false_alarm_rate: share(fp, fp + tn),
            precision_interval: proportion_interval(tp, tp + fp),
            recall_interval: proportion_interval(tp, tp + fn_),
        }
    }
}

/// The figures of one judge on comments that readers reacted to: of those it lets pass, and of those that were liked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReactionFigures {
    /// Comments with a reaction and a verdict.
    pub n: usize,
    /// Share of what is not flagged that was liked.
    pub consistency: Option<f64>,
    /// Share of what was liked that is not flagged.
    pub coverage: Option<f64>,
    /// The harmonic mean of both, which the paper prints as the average.
    pub harmonic: Option<f64>,
    /// The arithmetic mean of both.
    pub arithmetic: Option<f64>,
    /// Consistency over the share that was liked at all.
    pub lift: Option<f64>,
    /// The correlation of passing and being liked.
    pub phi: Option<f64>,
}

/// Figures of rows, each whether a comment was liked and whether it is flagged.
pub fn reaction_figures(rows: impl IntoIterator<Item = (bool, bool)>) -> ReactionFigures {
    // passing is what is looked for: liked and passing is a hit
    let counts = Counts::of(rows.into_iter().map(|(liked, flagged)| (liked, Some(!flagged))));
    let figures = counts.figures();
    let n = counts.true_positive + counts.false_positive + counts.false_negative + counts.true_negative;
    let Rates { precision: consistency, recall: coverage, f1: harmonic } = figures.positive;
    let liked = (n > 0).then(|| (counts.true_positive + counts.false_negative) as f64 / n as f64);
    ReactionFigures {
        n,
        consistency,
        coverage,
        harmonic,
        arithmetic: consistency.zip(coverage).map(|(a, b)| (a + b) / 2.0),
        lift: consistency.zip(liked).map(|(consistency, liked)| consistency / liked),
        phi: figures.mcc,
    }
}

/// Cohen's kappa of two judges' scores 0 to 4, a disagreement weighted by its square; null where both give one score only.
pub fn quadratic_kappa(scores: &[(u8, u8)]) -> Option<f64> {
    let n = scores.len() as f64;
    let weight = |a: usize, b: usize| (a as f64 - b as f64).powi(2);
    let count = |of: fn(&(u8, u8)) -> u8, level: usize| scores.iter().filter(|s| usize::from(of(s)) == level).count();
    let observed: f64 = scores.iter().map(|(a, b)| weight((*a).into(), (*b).into())).sum::<f64>() / n;
    let pairs = (0..5).flat_map(|a| (0..5).map(move |b| (a, b)));
    let expected: f64 =
        pairs.map(|(a, b)| weight(a, b) * count(|s| s.0, a) as f64 * count(|s| s.1, b) as f64).sum::<f64>() / (n * n);
    (expected > 0.0).then(|| 1.0 - observed / expected)
}

/// Share of rows that two judges, or two runs of one, decide otherwise; null of no rows.
pub fn flip_rate(verdicts: &[(bool, bool)]) -> Option<f64> {
    let flips = verdicts.iter().filter(|(a, b)| a != b).count();
    (!verdicts.is_empty()).then(|| flips as f64 / verdicts.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn three(got: Option<f64>, want: f64) {
        let got = got.unwrap();
        assert!((got - want).abs() <= 0.0005 + 1e-12, "{got} is not {want} to three decimals");
    }

    #[track_caller]
    fn rates(got: Rates, [p, r, f]: [f64; 3]) {
        three(got.precision, p);
        three(got.recall, r);
        three(got.f1, f);
    }

    fn rows(counts: [(bool, Option<bool>, usize); 4]) -> impl Iterator<Item = (bool, Option<bool>)> {
        counts.into_iter().flat_map(|(label, verdict, n)| std::iter::repeat_n((label, verdict), n))
    }

    /// The specification's table, worked out by hand: 143 rows with TP 25, FP 8, FN 7, TN 103.
    #[test]
    fn the_table_of_143_rows() {
        let (t, f) = (Some(true), Some(false));
        let counts = Counts::of(rows([(true, t, 25), (false, t, 8), (true, f, 7), (false, f, 103)]));
        let figures = counts.figures();
        rates(figures.positive, [0.758, 0.781, 0.769]);
        rates(figures.macro_mean, [0.847, 0.855, 0.851]);
        rates(figures.weighted, [0.896, 0.895, 0.896]);
        three(figures.kappa, 0.701);
        three(figures.mcc, 0.702);
        three(figures.accuracy, 128.0 / 143.0);
        three(figures.false_alarm_rate, 8.0 / 111.0);
        // Wilson for 25 of 32
        let recall = figures.recall_interval.unwrap();
        assert!(recall.low < 0.781 && recall.high > 0.781);
    }

    /// A judge that always or never flags, and rows without a verdict.
    #[test]
    fn what_a_judge_has_to_be_better_than() {
        let (t, f) = (Some(true), Some(false));
        let counts = Counts::of(rows([(true, t, 25), (false, t, 8), (true, f, 7), (false, f, 103)]));
        let always = counts.if_all(true).figures();
        rates(always.positive, [32.0 / 143.0, 1.0, 0.366]);
        assert_eq!((always.mcc, always.balanced_accuracy, always.kappa), (None, Some(0.5), Some(0.0)));
        let never = counts.if_all(false).figures();
        assert_eq!((never.positive.precision, never.positive.recall), (None, Some(0.0)));
        three(never.accuracy, 111.0 / 143.0);
        let half = Counts::of([(true, None), (true, Some(true))]).figures();
        assert_eq!((half.judged_share, half.positive.recall), (Some(0.5), Some(1.0)));
        let nothing = Counts::default().figures();
        assert_eq!((nothing.accuracy, nothing.judged_share, nothing.kappa), (None, None, None));
        assert_eq!((nothing.weighted.f1, nothing.macro_mean.f1), (None, None));
    }

    /// The specification's second table: 557 rows, 370 liked, 348 pass, 240 of them liked.
    #[test]
    fn the_table_of_557_reactions() {
        let (liked_pass, liked_flagged, other_pass) = (240, 370 - 240, 348 - 240);
        let others = 557 - 370 - other_pass;
        let table =
            [(true, false, liked_pass), (true, true, liked_flagged), (false, false, other_pass), (false, true, others)];
        let rows = |flag: fn(bool) -> bool| {
            table.into_iter().flat_map(move |(liked, flagged, n)| std::iter::repeat_n((liked, flag(flagged)), n))
        };
        let figures = reaction_figures(rows(|flagged| flagged));
        assert_eq!(figures.n, 557);
        three(figures.consistency, 0.690);
        three(figures.coverage, 0.649);
        three(figures.harmonic, 0.669);
        three(figures.arithmetic, 0.669);
        three(figures.phi, 0.069);
        three(figures.lift, (240.0 / 348.0) / (370.0 / 557.0));
        let never = reaction_figures(rows(|_| false));
        three(never.consistency, 0.664);
        assert_eq!((never.coverage, never.phi), (Some(1.0), None));
        three(never.harmonic, 0.798);
    }

    #[test]
    fn two_judges_beside_each_other() {
        assert_eq!(quadratic_kappa(&[(0, 0), (4, 4), (2, 2)]), Some(1.0));
        assert_eq!(quadratic_kappa(&[(1, 1), (1, 1)]), None);
        assert_eq!(quadratic_kappa(&[]), None);
        // by hand: observed (0 + 4 + 0 + 4) / 4 = 2; both have 0, 0, 2, 2, so expected (16 * 4 / 2) / 16 = 2
        assert_eq!(quadratic_kappa(&[(0, 0), (0, 2), (2, 2), (2, 0)]), Some(0.0));
        assert_eq!(flip_rate(&[(true, false), (true, true)]), Some(0.5));
        assert_eq!(flip_rate(&[]), None);
    }
}
