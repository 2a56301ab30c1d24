//! How far verdicts can be trusted: agreement with people over time, calibration, and drift.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::Serialize;
use veridiff_detector::{Binning, CalibrationBin, calibration, calibration_bins, proportion_interval};
use veridiff_facts::verdict::Verdict;
use veridiff_serve::{
    pages::{Ask, Shown},
    refusal::Refusal,
};

use super::{
    FIGURES,
    chart::{Chart, OfWeek, Point, over_probabilities, over_weeks},
    filter::Filter,
    list::{Filters, percent},
    render::{Frame, page},
    said::{Beside, Said},
    when,
};
use crate::bot::Bot;

/// Fewer labelled comments say nothing: of 30 with a share of one half, the interval is 34 points wide.
const FEW: usize = 30;

#[derive(Debug, Serialize)]
struct Figures<'a> {
    frame: Frame<'a>,
    filters: Filters,
    n: usize,
    few: usize,
    agreement: Agreement,
    calibration: Calibration,
    drift: Drift,
}

/// A share in words.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cell {
    share: String,
    counts: String,
    interval: String,
}

/// How many of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Part {
    hits: usize,
    n: usize,
}

impl Part {
    fn count(&mut self, is_hit: bool) {
        self.n += 1;
        self.hits += usize::from(is_hit);
    }

    /// None of nothing.
    fn cell(self) -> Option<Cell> {
        let interval = proportion_interval(self.hits, self.n)?;
        Some(Cell {
            share: percent(self.hits as f64 / self.n as f64),
            counts: format!("{} of {}", self.hits, self.n),
            interval: format!("{} to {}", percent(interval.low), percent(interval.high)),
        })
    }

    fn of_week(self, week: Date, what: &str) -> Option<OfWeek> {
        let interval = proportion_interval(self.hits, self.n)?;
        let share = self.hits as f64 / self.n as f64;
        let says = format!("week of {week}: {} of {} {what}", self.hits, self.n);
        Some(OfWeek { week, share, interval, says })
    }
}

#[derive(Debug, Serialize)]
struct Agreement {
    /// Labelled comments with a verdict that says something.
    n: usize,
    chart: Option<Chart>,
    rows: Vec<AgreementRow>,
}

#[derive(Debug, Serialize)]
struct AgreementRow {
    week: Option<String>,
    checked: usize,
    labelled: usize,
    agreement: Option<Cell>,
    accusations: Option<Cell>,
    misses: Option<Cell>,
}

/// What people and verdicts say of the comments of a week.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    checked: usize,
    labelled: usize,
    /// Of labelled comments whose verdict says something, those where both say the same.
    agreement: Part,
    /// Of labelled comments that were objected to, those that people call true.
    accusations: Part,
    /// Of comments that people call false and whose verdict says something, those without objection.
    misses: Part,
}

impl Counted {
    fn add(&mut self, said: &Said) {
        self.checked += 1;
        let Some((label, _)) = said.label else { return };
        self.labelled += 1;
        let (Some(objects), Some(beside)) = (said.objects(), said.beside()) else { return };
        self.agreement.count(beside == Beside::Agrees);
        if objects {
            self.accusations.count(beside == Beside::FalseAccusation);
        }
        if label == 1 {
            self.misses.count(beside == Beside::Miss);
        }
    }

    fn row(&self, week: Option<Date>) -> AgreementRow {
        AgreementRow {
            week: week.map(|week| week.to_string()),
            checked: self.checked,
            labelled: self.labelled,
            agreement: self.agreement.cell(),
            accusations: self.accusations.cell(),
            misses: self.misses.cell(),
        }
    }
}

/// What is counted of each week, the last one first, and of all.
fn by_week<T: Default>(all: &[&Said], add: impl Fn(&mut T, &Said)) -> (Vec<(Date, T)>, T) {
    let (mut weeks, mut whole): (BTreeMap<Date, T>, T) = Default::default();
    for said in all {
        add(weeks.entry(when::week(said.came.at)).or_default(), said);
        add(&mut whole, said);
    }
    (weeks.into_iter().rev().collect(), whole)
}

/// The points of one series, rising.
fn series<T>(weeks: &[(Date, T)], of: impl Fn(&T) -> Part, what: &str) -> Vec<OfWeek> {
    weeks.iter().rev().filter_map(|(week, counted)| of(counted).of_week(*week, what)).collect()
}

impl Agreement {
    fn of(all: &[&Said]) -> Agreement {
        let (weeks, whole) = by_week(all, Counted::add);
        let n = whole.agreement.n;
        let points = series(&weeks, |counted| counted.agreement, "agree");
        let title = "Share of labelled comments, by week, of which the verdict and people say the same";
        let rows = weeks.iter().map(|(week, counted)| counted.row(Some(*week)));
        Agreement {
            n,
            chart: if n < FEW { None } else { over_weeks("agreement", title, vec![("one", "agreement", points)]) },
            rows: rows.chain((weeks.len() > 1).then(|| whole.row(None))).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Calibration {
    /// Labelled comments with a probability.
    n: usize,
    chart: Option<Chart>,
    bins: Vec<Bin>,
    brier: String,
    base: String,
    error: String,
}

#[derive(Debug, Serialize)]
struct Bin {
    from: String,
    to: String,
    mean: String,
    cell: Option<Cell>,
}

impl Calibration {
    fn of(all: &[&Said]) -> Calibration {
        let known = all.iter().filter_map(|said| Some((said.came.p?, said.label?.0 == 1)));
        let (probabilities, labels): (Vec<f64>, Vec<bool>) = known.filter(|(p, _)| p.is_finite()).unzip();
        let n = labels.len();
        if n < FEW {
            let none = String::new;
            return Calibration { n, chart: None, bins: Vec::new(), brier: none(), base: none(), error: none() };
        }
        let bins = calibration_bins(&probabilities, &labels, Binning::EqualWidth);
        let part = |bin: &CalibrationBin| Part { hits: (bin.positive_rate * bin.n as f64).round() as usize, n: bin.n };
        let point = |bin: &CalibrationBin| {
            let Part { hits, n } = part(bin);
            let says = format!("{} on average: {hits} of {n} called false", percent(bin.mean_probability));
            let interval = proportion_interval(hits, n)?;
            Some(Point { x: bin.mean_probability, share: bin.positive_rate, interval, says })
        };
        let title = "Share of comments that people call false, by the probability that they were given";
        let figure = calibration(&probabilities, &labels);
        let three = |of: Option<f64>| of.map_or_else(String::new, |value| format!("{value:.3}"));
        Calibration {
            n,
            chart: Some(over_probabilities("calibration", title, bins.iter().filter_map(point).collect())),
            bins: bins
                .iter()
                .map(|bin| Bin {
                    from: percent(bin.low),
                    to: percent(bin.high),
                    mean: percent(bin.mean_probability),
                    cell: part(bin).cell(),
                })
                .collect(),
            brier: three(figure.map(|figure| figure.brier)),
            base: three(figure.map(|figure| figure.brier_base_rate)),
            error: three(figure.map(|figure| figure.ece_equal_width)),
        }
    }
}

#[derive(Debug, Serialize)]
struct Drift {
    /// Comments of which a detector was asked.
    n_asked: usize,
    chart: Option<Chart>,
    rows: Vec<DriftRow>,
}

#[derive(Debug, Serialize)]
struct DriftRow {
    week: Option<String>,
    checked: usize,
    unlike: Option<Cell>,
    abstained: Option<Cell>,
}

/// What came in a week.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    checked: usize,
    /// Of comments of which a detector was asked, those unlike its training rows.
    unlike: Part,
    /// Of comments with a verdict, those of which it cannot be told.
    abstained: Part,
}

impl Moved {
    fn add(&mut self, said: &Said) {
        self.checked += 1;
        if let Some(unlike) = said.came.unlike {
            self.unlike.count(unlike);
        }
        if let Some(verdict) = said.verdict {
            self.abstained.count(verdict == Verdict::Abstain);
        }
    }

    fn row(&self, week: Option<Date>) -> DriftRow {
        DriftRow {
            week: week.map(|week| week.to_string()),
            checked: self.checked,
            unlike: self.unlike.cell(),
            abstained: self.abstained.cell(),
        }
    }
}

impl Drift {
    fn of(all: &[&Said]) -> Drift {
        let (weeks, whole) = by_week(all, Moved::add);
        let unlike = series(&weeks, |moved: &Moved| moved.unlike, "unlike the training rows");
        let abstained = series(&weeks, |moved: &Moved| moved.abstained, "not decided");
        let title = "Share of comments, by week, that are unlike the detector's training rows, and of which nothing could be told";
        let drawn = vec![("one", "unlike the training rows", unlike), ("two", "cannot tell", abstained)];
        let drawn = drawn.into_iter().filter(|(.., weeks)| !weeks.is_empty()).collect();
        let rows = weeks.iter().map(|(week, moved)| moved.row(Some(*week)));
        Drift {
            n_asked: whole.unlike.n,
            chart: if whole.checked < FEW { None } else { over_weeks("drift", title, drawn) },
            rows: rows.chain((weeks.len() > 1).then(|| whole.row(None))).collect(),
        }
    }
}

/// The page.
pub(super) fn show(bot: &Bot, ask: &Ask<'_>) -> Result<Shown, Refusal> {
    let filter = Filter::read(ask.fields)?;
    let all = bot.said()?;
    let chosen: Vec<&Said> = all.iter().filter(|said| filter.has(said)).collect();
    page(
        "figures.html",
        &Figures {
            frame: Frame::of(ask, "Figures", FIGURES, &filter),
            filters: Filters::of(&filter, &all),
            n: chosen.len(),
            few: FEW,
            agreement: Agreement::of(&chosen),
            calibration: Calibration::of(&chosen),
            drift: Drift::of(&chosen),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Came;

    fn said(day: f64, verdict: Verdict, label: Option<u8>, p: Option<f64>, unlike: Option<bool>) -> Said {
        let came = Came {
            at: 1_795_622_400.0 + day * 86_400.0,
            platform: "github".to_owned(),
            repository: "a/b".to_owned(),
            number: 7,
            comment: "1".to_owned(),
            author: "bot".to_owned(),
            verdict: Some(verdict.name().to_owned()),
            p,
            unlike,
            feedback: Vec::new(),
        };
        Said { came, verdict: Some(verdict), label: label.map(|label| (label, "page")) }
    }

    fn counts(cell: &Option<Cell>) -> &str {
        cell.as_ref().map_or("", |cell| &cell.counts)
    }

    #[test]
    fn agreement_accusations_and_misses_are_counted_by_hand() {
        use Verdict::{Abstain, Clear, Contradicted, NothingToCheck, Unsupported};
        let all = [
            said(0.0, Contradicted, Some(1), None, None),
            said(0.0, Unsupported, Some(0), None, None),
            said(1.0, Clear, Some(1), None, None),
            said(1.0, NothingToCheck, Some(0), None, None),
            said(1.0, Abstain, Some(1), None, None),
            said(1.0, Clear, None, None, None),
            // the week before
            said(-7.0, Clear, Some(0), None, None),
        ];
        let all: Vec<&Said> = all.iter().collect();
        let Agreement { n, chart, rows } = Agreement::of(&all);
        assert_eq!((n, chart.is_none(), rows.len()), (5, true, 3), "5 labels are too few for a picture");
        let row = &rows[0];
        assert_eq!((row.week.as_deref(), row.checked, row.labelled), (Some("2026-11-23"), 6, 5));
        let told = [&row.agreement, &row.accusations, &row.misses].map(counts);
        assert_eq!(told, ["2 of 4", "1 of 2", "1 of 2"]);
        let told = [&rows[1].agreement, &rows[1].accusations, &rows[1].misses].map(counts);
        assert_eq!(told, ["1 of 1", "", ""], "none of nothing");
        assert_eq!((rows[2].week.as_deref(), counts(&rows[2].agreement)), (None, "3 of 5"));
        // Wilson's, as statsmodels has it for 3 of 10
        let cell = Part { hits: 3, n: 10 }.cell().unwrap();
        assert_eq!((cell.share.as_str(), cell.interval.as_str()), ("30%", "11% to 60%"));
    }

    #[test]
    fn calibration_says_nothing_of_few_labels() {
        let some = |n: usize| -> Vec<Said> {
            (0..n)
                .map(|at| {
                    let p = if at % 2 == 0 { 0.25 } else { 0.75 };
                    said(0.0, Verdict::Clear, Some(u8::from(at % 4 != 0)), Some(p), None)
                })
                .collect()
        };
        let few = some(FEW - 1);
        let few = Calibration::of(&few.iter().collect::<Vec<_>>());
        assert!((few.n, few.chart.is_none(), few.bins.is_empty()) == (FEW - 1, true, true));
        let mut enough = some(40);
        // without a probability or a label a comment says nothing of it
        enough.push(said(0.0, Verdict::Clear, Some(1), None, None));
        enough.push(said(0.0, Verdict::Clear, None, Some(0.9), None));
        let Calibration { n, chart, bins, .. } = Calibration::of(&enough.iter().collect::<Vec<_>>());
        assert!(n == 40 && chart.is_some());
        let told: Vec<_> = bins.iter().map(|bin| (bin.mean.as_str(), counts(&bin.cell))).collect();
        assert_eq!(told, [("25%", "10 of 20"), ("75%", "20 of 20")]);
    }

    #[test]
    fn drift_is_of_those_of_which_a_detector_was_asked() {
        use Verdict::{Abstain, Clear};
        let all = [
            said(0.0, Clear, None, None, Some(true)),
            said(0.0, Abstain, None, None, Some(false)),
            said(0.0, Abstain, None, None, None),
        ];
        let drift = Drift::of(&all.iter().collect::<Vec<_>>());
        let row = &drift.rows[0];
        assert_eq!((drift.n_asked, counts(&row.unlike), counts(&row.abstained)), (2, "1 of 2", "2 of 3"));
        assert_eq!(drift.rows.len(), 1);
    }
}
