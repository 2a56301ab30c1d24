//! A judge beside people: which items of which reviews somebody should look at, how often the judge is right there, and what its coverage
//! is worth after that.

use std::collections::{BTreeMap, BTreeSet};

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use veridiff_detector::{Kappa, cohen_kappa};

use super::{
    Checklist, ItemVerdict, JudgedItem, Metric, Review, ReviewVerdict, Status, baselines::is_baseline,
    figures::one_judge,
};
use crate::{
    SuiteError,
    resample::{Draws, Estimate, ratio, weighted},
};

/// An item beside a review, for somebody to say whether the review asks for it. What the judge said is not shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The case, who wrote, and the item's number.
    pub id: String,
    /// The item.
    pub item: String,
    /// The review.
    pub review: String,
    /// 1: the review asks for it, or says that it is wrong or missing; 0: it does not; null: not looked at yet.
    pub label: Option<u8>,
}

/// What a judge said of an item, under the id of its row.
#[derive(Debug, Clone)]
struct Said<'a> {
    id: String,
    group: &'a str,
    verdict: ItemVerdict,
    weight: f64,
    item: &'a str,
    review: &'a str,
}

fn said<'a>(
    lists: &'a [Checklist],
    reviews: &'a [Review],
    verdicts: &'a [ReviewVerdict],
) -> Result<Vec<Said<'a>>, SuiteError> {
    let list_of: BTreeMap<&str, &Checklist> = lists.iter().map(|list| (list.case.as_str(), list)).collect();
    let texts: BTreeMap<(&str, &str), &str> =
        reviews.iter().map(|review| ((&*review.case, &*review.generator), &*review.text)).collect();
    let mut all = Vec::new();
    let asked = |verdict: &&ReviewVerdict| {
        let is_answered = verdict.metric == Metric::Items && verdict.repeat == 0 && verdict.status == Status::Ok;
        is_answered && !is_baseline(&verdict.generator)
    };
    for verdict in verdicts.iter().filter(asked) {
        let list = list_of.get(verdict.case.as_str());
        let text = texts.get(&(&*verdict.case, &*verdict.generator));
        let Some((list, text)) = list.zip(text) else { continue };
        if verdict.items.len() != list.items.len() {
            let why = format!("the verdicts of `{}` are about other items than its checklist has", verdict.id);
            return Err(SuiteError::mismatch(why, "score anew: the checklists have changed"));
        }
        all.extend(list.items.iter().zip(&verdict.items).map(|(item, judged): (_, &JudgedItem)| Said {
            id: format!("{}/{}/{}", verdict.case, verdict.generator, item.n),
            group: list.group.as_deref().unwrap_or(&list.case),
            verdict: judged.counted(),
            weight: item.weight,
            item: &item.text,
            review: text,
        }));
    }
    Ok(all)
}

/// So many items beside reviews, as many of each verdict as there are, in an order that tells nothing.
///
/// # Errors
/// Verdicts that are not of one judge, do not fit the checklists, or hold nothing about items.
pub fn drawn(
    lists: &[Checklist],
    reviews: &[Review],
    verdicts: &[ReviewVerdict],
    n: usize,
    seed: u64,
) -> Result<Vec<Row>, SuiteError> {
    one_judge(verdicts)?;
    let mut all = said(lists, reviews, verdicts)?;
    if all.is_empty() {
        return Err(SuiteError::mismatch("there are no verdicts of items", "score with `--metric items` first"));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    all.shuffle(&mut rng);
    let mut by_verdict: BTreeMap<u8, Vec<Said<'_>>> = BTreeMap::new();
    all.into_iter().for_each(|one| by_verdict.entry(one.verdict as u8).or_default().push(one));
    let mut taken = Vec::new();
    while taken.len() < n && by_verdict.values().any(|left| !left.is_empty()) {
        taken.extend(by_verdict.values_mut().filter_map(Vec::pop));
    }
    taken.truncate(n);
    taken.shuffle(&mut rng);
    let row = |one: Said<'_>| Row { id: one.id, item: one.item.into(), review: one.review.into(), label: None };
    Ok(taken.into_iter().map(row).collect())
}

/// How right a judge is about items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Who judged.
    pub judge: String,
    /// Items that somebody looked at.
    pub n: usize,
    /// Items of the sheet that nobody looked at.
    pub n_open: usize,
    /// Counts: rows are the judge's absent and asked, columns people's.
    pub table: [[usize; 2]; 2],
    /// Cohen's kappa of judge and people on the items of the sheet.
    pub kappa: Option<f64>,
    /// Of items that people find asked for, those that the judge does; each verdict counts as much as there is of it.
    pub sensitivity: Estimate,
    /// Of items that people do not, those that the judge does not.
    pub specificity: Estimate,
    /// The judge's coverage, of all items of all generators.
    pub coverage: Estimate,
    /// What it would be if the judge erred nowhere: (C + sp − 1) / (se + sp − 1), 0 to 1; none where the judge knows nothing.
    pub corrected: Estimate,
}

/// Compares verdicts with the labels of a sheet.
///
/// # Errors
/// Verdicts that are not of one judge or do not fit; a label that is none; a row about what was not judged; a sheet without labels.
pub fn audit(
    lists: &[Checklist],
    reviews: &[Review],
    verdicts: &[ReviewVerdict],
    sheet: &[Row],
    resamples: usize,
    seed: u64,
) -> Result<Audit, SuiteError> {
    let judge = one_judge(verdicts)?;
    let all = said(lists, reviews, verdicts)?;
    let by_id: BTreeMap<&str, &Said<'_>> = all.iter().map(|one| (one.id.as_str(), one)).collect();
    let mut labelled: Vec<(&Said<'_>, bool)> = Vec::new();
    let mut seen = BTreeSet::new();
    for row in sheet {
        let Some(one) = by_id.get(row.id.as_str()) else {
            let why = format!("the sheet has `{}`, which these verdicts are not about", row.id);
            return Err(SuiteError::mismatch(why, "name the verdicts that the sheet was drawn from"));
        };
        match row.label {
            _ if !seen.insert(&row.id) => {
                return Err(SuiteError::mismatch(
                    format!("`{}` is on the sheet twice", row.id),
                    "name each sheet once",
                ));
            }
            None => {}
            Some(label @ 0..=1) => labelled.push((one, label == 1)),
            Some(label) => {
                let why = format!("`{}` has the label {label}", row.id);
                return Err(SuiteError::mismatch(
                    why,
                    "1: the review asks for the item; 0: it does not; null: not looked at",
                ));
            }
        }
    }
    if labelled.is_empty() {
        let hint = "write 1 (the review asks for the item) or 0 behind `label`";
        return Err(SuiteError::mismatch("nobody has labelled a row of the sheet", hint));
    }
    let asked = |one: &Said<'_>| one.verdict == ItemVerdict::Asked;
    let mut table = [[0usize; 2]; 2];
    labelled.iter().for_each(|(one, label)| table[usize::from(asked(one))][usize::from(*label)] += 1);
    // a verdict of which few were drawn stands for all that there are of it
    let mut n_of: BTreeMap<u8, [f64; 2]> = BTreeMap::new();
    all.iter().for_each(|one| n_of.entry(one.verdict as u8).or_default()[0] += 1.0);
    labelled.iter().for_each(|(one, _)| n_of.entry(one.verdict as u8).or_default()[1] += 1.0);
    let share = |one: &Said<'_>| {
        let [there, here] = n_of[&(one.verdict as u8)];
        there / here
    };
    let groups: Vec<&str> = all.iter().map(|one| one.group).collect::<BTreeSet<_>>().into_iter().collect();
    let place = |group: &str| groups.binary_search(&group).expect("every group is there");
    // by group: judged right and all, of those asked for and of those not; covered weight and weight
    let mut sums = [(); 6].map(|()| vec![0.0; groups.len()]);
    for (one, label) in &labelled {
        let (at, share, kind) = (place(one.group), share(one), if *label { 0 } else { 2 });
        sums[kind][at] += if asked(one) == *label { share } else { 0.0 };
        sums[kind + 1][at] += share;
    }
    for one in &all {
        sums[4][place(one.group)] += if asked(one) { one.weight } else { 0.0 };
        sums[5][place(one.group)] += one.weight;
    }
    let draws = Draws::new(&vec![0; groups.len()], resamples, seed);
    let of = |kind: usize, counts: &[u16]| ratio(weighted(&sums[kind], counts), weighted(&sums[kind + 1], counts));
    let corrected = |counts: &[u16]| {
        let (se, sp, coverage) = (of(0, counts)?, of(2, counts)?, of(4, counts)?);
        (se + sp > 1.0).then(|| ((coverage + sp - 1.0) / (se + sp - 1.0)).clamp(0.0, 1.0))
    };
    let kappa: Kappa = cohen_kappa(&table.map(|row| row.to_vec()));
    Ok(Audit {
        judge,
        n: labelled.len(),
        n_open: sheet.len() - labelled.len(),
        table,
        kappa: kappa.kappa,
        sensitivity: draws.estimate(|counts| of(0, counts)),
        specificity: draws.estimate(|counts| of(2, counts)),
        coverage: draws.estimate(|counts| of(4, counts)),
        corrected: draws.estimate(corrected),
    })
}

/// What one person finds of one case in the twelve statements of the paper's survey, 1 to 5 each; any names will do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Rating {
    /// Who rates.
    pub rater: String,
    /// The case.
    pub case: String,
    /// By the statement's name, such as `A1`.
    pub ratings: BTreeMap<String, f64>,
}

/// A statement of a survey, rated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statement {
    /// Its name; `all` for the mean of all.
    pub name: String,
    /// Ratings.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// ICC(2,k): how far the raters' mean could be relied on; of cases that every rater has rated.
    pub icc: Option<f64>,
}

/// A survey by statement, and of the mean of all statements.
pub fn survey(ratings: &[Rating]) -> Vec<Statement> {
    let mut by_name: BTreeMap<&str, Vec<(&str, &str, f64)>> = BTreeMap::new();
    let mut of_all = Vec::new();
    for rating in ratings {
        for (name, value) in &rating.ratings {
            by_name.entry(name).or_default().push((&rating.case, &rating.rater, *value));
        }
        let n = rating.ratings.len() as f64;
        if n > 0.0 {
            of_all.push((rating.case.as_str(), rating.rater.as_str(), rating.ratings.values().sum::<f64>() / n));
        }
    }
    let statement = |name: &str, all: &[(&str, &str, f64)]| {
        let raters: BTreeSet<&str> = all.iter().map(|(_, rater, _)| *rater).collect();
        let mut by_case: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        all.iter().for_each(|(case, rater, value)| {
            by_case.entry(case).or_default().insert(rater, *value);
        });
        let whole = by_case.values().filter(|of_case| of_case.len() == raters.len());
        let rows: Vec<Vec<f64>> = whole.map(|of_case| of_case.values().copied().collect()).collect();
        let mean = all.iter().map(|(.., value)| value).sum::<f64>() / all.len() as f64;
        Statement { name: name.to_owned(), n: all.len(), mean, icc: icc_2k(&rows) }
    };
    let mut found: Vec<Statement> = by_name.iter().map(|(name, all)| statement(name, all)).collect();
    if !of_all.is_empty() {
        found.push(statement("all", &of_all));
    }
    found
}

/// ICC(2,k) of cases by raters: two-way, raters by chance, of their mean (Shrout and Fleiss, Psychological Bulletin 1979). None of
/// fewer than two cases or raters.
pub fn icc_2k(rows: &[Vec<f64>]) -> Option<f64> {
    let (n, k) = (rows.len(), rows.first()?.len());
    if n < 2 || k < 2 {
        return None;
    }
    let mean = |values: &mut dyn Iterator<Item = f64>, n: usize| values.sum::<f64>() / n as f64;
    let all = mean(&mut rows.iter().flatten().copied(), n * k);
    let of_row: Vec<f64> = rows.iter().map(|row| mean(&mut row.iter().copied(), k)).collect();
    let of_column: Vec<f64> = (0..k).map(|j| mean(&mut rows.iter().map(|row| row[j]), n)).collect();
    let spread = |means: &[f64], times: usize| {
        means.iter().map(|mean| (mean - all).powi(2)).sum::<f64>() * times as f64 / (means.len() - 1) as f64
    };
    let (msr, msc) = (spread(&of_row, k), spread(&of_column, n));
    let rest = |i: usize, j: usize| (rows[i][j] - of_row[i] - of_column[j] + all).powi(2);
    let mse = (0..n).flat_map(|i| (0..k).map(move |j| (i, j))).map(|(i, j)| rest(i, j)).sum::<f64>()
        / ((n - 1) * (k - 1)) as f64;
    let under = msr + (msc - mse) / n as f64;
    (under > 0.0).then(|| (msr - mse) / under)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::{Item, baselines::verdict_of_silence};

    /// Ten cases with two items each; the judge finds the first of each asked for.
    fn judged() -> (Vec<Checklist>, Vec<Review>, Vec<ReviewVerdict>) {
        let item = |n| Item { n, text: format!("item {n}"), kind: None, weight: 1.0, line: None, grounded: None };
        let list = |i: usize| Checklist {
            case: format!("c{i}"),
            mode: None,
            clean: false,
            items: vec![item(1), item(2)],
            language: None,
            group: None,
            extra: Default::default(),
        };
        let lists: Vec<Checklist> = (0..10).map(list).collect();
        let review = |list: &Checklist| Review {
            id: list.case.clone(),
            case: list.case.clone(),
            generator: "g".into(),
            text: "t".into(),
        };
        let reviews: Vec<Review> = lists.iter().map(review).collect();
        let verdict = |(list, review): (&Checklist, &Review)| {
            let mut verdict = verdict_of_silence(Metric::Items, 0, list, review, "j");
            (verdict.items[0].verdict, verdict.items[0].quote_ok) = (ItemVerdict::Asked, true);
            verdict
        };
        let verdicts = lists.iter().zip(&reviews).map(verdict).collect();
        (lists, reviews, verdicts)
    }

    #[test]
    fn coverage_is_corrected_by_what_people_find() {
        let (lists, reviews, verdicts) = judged();
        let mut sheet = drawn(&lists, &reviews, &verdicts, 20, 0).unwrap();
        assert_eq!(sheet.len(), 20);
        assert!(sheet.iter().all(|row| row.label.is_none()));
        // people find 8 of the 10 asked for, and 2 of the 10 others: coverage of 0.5 either way, seen through errors of a fifth
        sheet.sort_by(|a, b| a.id.cmp(&b.id));
        for (i, row) in sheet.iter_mut().enumerate() {
            let (case, is_first) = (i / 2, i % 2 == 0);
            row.label = Some(u8::from(if is_first { case < 8 } else { case >= 8 }));
        }
        let audit = audit(&lists, &reviews, &verdicts, &sheet, 200, 0).unwrap();
        assert_eq!((audit.n, audit.table), (20, [[8, 2], [2, 8]]));
        assert!((audit.kappa.unwrap() - 0.6).abs() < 1e-12);
        let near =
            |estimate: Estimate, want: f64| assert!((estimate.value.unwrap() - want).abs() < 1e-12, "{estimate:?}");
        near(audit.sensitivity, 0.8);
        near(audit.specificity, 0.8);
        near(audit.coverage, 0.5);
        near(audit.corrected, 0.5);
        assert!(audit.corrected.low <= audit.corrected.value && audit.corrected.value <= audit.corrected.high);
    }

    #[test]
    fn verdicts_are_drawn_alike_and_count_as_much_as_there_is_of_them() {
        let (lists, reviews, mut verdicts) = judged();
        // one partly, which is rare: it is drawn with the first, and counts once
        (verdicts[0].items[1].verdict, verdicts[0].items[1].quote_ok) = (ItemVerdict::Partly, true);
        let mut sheet = drawn(&lists, &reviews, &verdicts, 5, 1).unwrap();
        assert!(sheet.iter().any(|row| row.id == "c0/g/2"), "{sheet:?}");
        assert_eq!(drawn(&lists, &reviews, &verdicts, 5, 1).unwrap(), sheet);
        // asked: all right; absent: all right; partly: people find it asked for
        for row in &mut sheet {
            row.label = Some(u8::from(row.id.ends_with("/1") || row.id == "c0/g/2"));
        }
        let audit = audit(&lists, &reviews, &verdicts, &sheet, 10, 0).unwrap();
        // ten asked for and one partly: ten of eleven are found
        assert!((audit.sensitivity.value.unwrap() - 10.0 / 11.0).abs() < 1e-12);
        assert_eq!(audit.specificity.value, Some(1.0));
    }

    #[test]
    fn sheets_that_do_not_fit_are_refused() {
        let (lists, reviews, verdicts) = judged();
        let sheet = drawn(&lists, &reviews, &verdicts, 4, 0).unwrap();
        let refused = |sheet: &[Row], says: &str| {
            let error = audit(&lists, &reviews, &verdicts, sheet, 10, 0).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        refused(&sheet, "nobody has labelled");
        let with = |label, id: &str| vec![Row { label, id: id.into(), ..sheet[0].clone() }];
        refused(&with(Some(2), &sheet[0].id), "the label 2");
        refused(&with(Some(1), "other"), "`other`");
        refused(&[sheet.clone(), sheet].concat(), "twice");
        assert!(drawn(&lists, &reviews, &[], 4, 0).is_err());
    }

    #[test]
    fn raters_agree_as_shrout_and_fleiss_print_it() {
        let rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]];
        let table: Vec<Vec<f64>> = rows.iter().map(|row| row.map(f64::from).to_vec()).collect();
        assert!((icc_2k(&table).unwrap() - 0.62).abs() < 0.005);
        assert_eq!((icc_2k(&table[..1]), icc_2k(&[])), (None, None));
        let rating = |case: usize, rater: usize| Rating {
            rater: rater.to_string(),
            case: case.to_string(),
            ratings: [("A1".to_owned(), table[case][rater])].into(),
        };
        let ratings: Vec<Rating> =
            (0..6).flat_map(|case| (0..4).map(move |rater| (case, rater))).map(|(c, r)| rating(c, r)).collect();
        let found = survey(&ratings);
        assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["A1", "all"]);
        assert_eq!((found[0].n, found[0].icc), (24, icc_2k(&table)));
        assert_eq!(survey(&[]), []);
    }
}
