//! Families of features, each with a learner and a penalty of its own, and a logistic regression over what they say (stacked
//! generalisation, Wolpert 1992; with weights that are not negative, Breiman 1996).
//!
//! A list of hundreds of numbers, such as a hidden state, would drown twenty others in one model: here it is projected by a regression
//! under a strong penalty to a single number, its member's log-odds. What is over the members is fitted to log-odds of rows that the
//! members did not see, on folds that split no group. All of it belongs to the fit, so an evaluation's folds make all of it anew.
//!
//! A row may lack whole families (NaN). A member learns from all rows that have its own, so that one of words may have seen many more
//! than one that needs a large model; what is over them learns from rows that have all.

use std::collections::BTreeMap;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    DetectorError, Groups, LearnSettings, Learner, Model, Predict, Regression, fit_logistic, grouped_folds,
    learners::{Learn, TrainingRows},
    roc_auc,
    rows::{by_family, require_both_classes},
};

/// Folds that the members' log-odds come from, or as many as there are groups.
const N_FOLDS: usize = 5;
/// Penalties of a regression on lists, one of which is taken.
const LIST_L2: [f64; 2] = [300.0, 3000.0];
/// The penalty of what is over the members: they are few.
const L2_OVER: f64 = 1.0;

/// Fits a [`Stack`].
pub struct Stacking;

/// Members and what is made of what they say: log-odds = intercept + Σ weight · (member's log-odds − mean) / scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    /// The members, in the order of their first columns.
    pub of: Vec<Member>,
    /// The regression over their log-odds, none of whose coefficients is negative.
    pub over: Regression,
    /// ROC-AUC of the regression on log-odds of rows that the members did not see.
    pub auc: Option<f64>,
}

/// A family of features with what was learnt from it alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// The family, and the model that it is of.
    pub family: String,
    /// The places of its features among all.
    pub columns: Vec<usize>,
    /// What makes log-odds of them.
    pub model: Model,
    /// The log-odds that stand in where a feature of the family has no value: those of a row of training means.
    pub absent: f64,
    /// ROC-AUC of its log-odds alone, of rows that it did not see.
    pub auc: Option<f64>,
    /// ROC-AUC of the others without it, as [`Stack::auc`].
    pub auc_without: Option<f64>,
}

/// A learner with its penalty, as a member may use it.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    learner: Learner,
    l2: f64,
}

/// A family's columns before anything is learnt.
struct Family {
    name: String,
    columns: Vec<usize>,
    is_list: bool,
}

/// What is said of rows that the sayer did not see; none where its training rows had one class, or the row lacks its features.
type Unseen = Vec<Option<f64>>;

impl Learn for Stacking {
    type Model = Stack;

    const TITLE: &'static str = "a stack of families";

    fn fit(rows: &TrainingRows, settings: LearnSettings) -> Result<Stack, DetectorError> {
        let families = families(rows);
        let inner = Inner::new(rows, settings)?;
        let chosen = families
            .par_iter()
            .map(|family| inner.choose(family, settings))
            .collect::<Result<Vec<(Candidate, Unseen)>, _>>()?;
        // rows of which every member says something
        let said: Vec<usize> =
            (0..inner.judged.len()).filter(|&place| chosen.iter().all(|(_, unseen)| unseen[place].is_some())).collect();
        if said.is_empty() {
            let families = families.iter().map(|family| family.name.clone()).collect();
            return Err(DetectorError::NoCommonRows { families });
        }
        let labels: Vec<bool> = said.iter().map(|&place| rows.labels[inner.judged[place]]).collect();
        require_both_classes(&labels)?;
        let log_odds = Array2::from_shape_fn((said.len(), chosen.len()), |(row, member)| {
            chosen[member].1[said[row]].unwrap_or_default() // there in rows of which every member says something
        });
        let over = over(&log_odds, &labels, &(0..families.len()).collect::<Vec<_>>())?;
        let auc_of = |over: &Regression| {
            roc_auc(&log_odds.outer_iter().map(|row| over.log_odds(&row.to_vec())).collect::<Vec<_>>(), &labels)
        };
        let members = families.par_iter().enumerate().map(|(place, family)| {
            let own = rows.select(&family.columns, &family.whole(rows, 0..rows.labels.len()));
            let means = own.features.mean_axis(Axis(0)).map(|means| means.to_vec()).unwrap_or_default();
            let Candidate { learner, l2 } = chosen[place].0;
            let model = learner.fit(&own, LearnSettings { l2, ..settings })?;
            let others: Vec<usize> = (0..families.len()).filter(|&other| other != place).collect();
            let without = if others.is_empty() { None } else { Some(self::over(&log_odds, &labels, &others)?) };
            Ok(Member {
                family: family.name.clone(),
                columns: family.columns.clone(),
                absent: model.log_odds(&means),
                model,
                auc: roc_auc(&log_odds.column(place).to_vec(), &labels),
                auc_without: without.as_ref().and_then(auc_of),
            })
        });
        let of = members.collect::<Result<Vec<Member>, DetectorError>>()?;
        Ok(Stack { of, auc: auc_of(&over), over })
    }
}

/// The families of the columns, in the order of their first ones.
fn families(rows: &TrainingRows) -> Vec<Family> {
    let of_columns = |columns: Vec<usize>| {
        let kind = &rows.kinds[columns[0]];
        Family { name: kind.family.clone(), is_list: kind.is_element, columns }
    };
    by_family(&rows.kinds).into_iter().map(of_columns).collect()
}

impl Family {
    /// Those of some rows that have all its values.
    fn whole(&self, rows: &TrainingRows, of: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let has = |row: &usize| self.columns.iter().all(|&column| !rows.features[[*row, column]].is_nan());
        of.into_iter().filter(has).collect()
    }
}

/// Fits what is over the members of these places; the others, and those that would count against what they say, get no weight.
fn over(log_odds: &Array2<f64>, labels: &[bool], places: &[usize]) -> Result<Regression, DetectorError> {
    let mut places = places.to_vec();
    loop {
        let fitted: Regression = fit_logistic(log_odds.select(Axis(1), &places).view(), labels, L2_OVER)?.into();
        let right: Vec<usize> =
            places.iter().zip(&fitted.coefficients).filter(|(_, c)| **c >= 0.0).map(|(place, _)| *place).collect();
        if right.len() == places.len() {
            let mut all = Regression {
                mean: vec![0.0; log_odds.ncols()],
                scale: vec![1.0; log_odds.ncols()],
                coefficients: vec![0.0; log_odds.ncols()],
                ..fitted
            };
            for (of_place, &place) in places.iter().enumerate() {
                all.mean[place] = fitted.mean[of_place];
                all.scale[place] = fitted.scale[of_place];
                all.coefficients[place] = fitted.coefficients[of_place];
            }
            return Ok(all);
        }
        places = right;
    }
}

/// Folds inside the training rows.
struct Inner<'a> {
    rows: &'a TrainingRows,
    /// The rows that are judged: those whose text and change are of one group.
    judged: Vec<usize>,
    /// Of each judged row the fold that it is judged in.
    fold_of: Vec<usize>,
    /// By fold, the rows that train where it is judged: neither their text nor their change is in it.
    training: Vec<Vec<usize>>,
}

impl<'a> Inner<'a> {
    fn new(rows: &'a TrainingRows, settings: LearnSettings) -> Result<Self, DetectorError> {
        let judged: Vec<usize> =
            (0..rows.labels.len()).filter(|&row| rows.groups[row][0] == rows.groups[row][1]).collect();
        let labels: Vec<bool> = judged.iter().map(|&row| rows.labels[row]).collect();
        let groups = Groups::new(judged.iter().map(|&row| format!("{:09}", rows.groups[row][0])).collect());
        let n_folds = N_FOLDS.min(groups.names.len());
        let fold_of = grouped_folds(&labels, &groups, n_folds, settings.seed)?;
        let of_group: BTreeMap<usize, usize> =
            judged.iter().zip(&fold_of).map(|(&row, &fold)| (rows.groups[row][0], fold)).collect();
        let training = (0..n_folds).map(|fold| {
            let is_held_out = |row: &usize| rows.groups[*row].iter().any(|group| of_group.get(group) == Some(&fold));
            (0..rows.labels.len()).filter(|row| !is_held_out(row)).collect()
        });
        let training = training.collect();
        Ok(Inner { rows, judged, fold_of, training })
    }

    /// The candidate that says least wrong of rows that it has not seen, and what it says.
    fn choose(&self, family: &Family, settings: LearnSettings) -> Result<(Candidate, Unseen), DetectorError> {
        let candidates: Vec<Candidate> = if family.is_list {
            LIST_L2.map(|l2| Candidate { learner: Learner::Logistic, l2 }).to_vec()
        } else {
            [Learner::Logistic, Learner::Boosted, Learner::Mixed]
                .map(|learner| Candidate { learner, l2: settings.l2 })
                .to_vec()
        };
        let tried = candidates
            .into_par_iter()
            .map(|candidate| {
                let unseen = self.unseen(family, candidate, settings)?;
                Ok((self.loss(&unseen), candidate, unseen))
            })
            .collect::<Result<Vec<_>, DetectorError>>()?;
        let best = tried.into_iter().min_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let (_, candidate, unseen) = best.expect("every family has candidates");
        Ok((candidate, unseen))
    }

    /// What a candidate says of each judged row where it has not seen it.
    fn unseen(
        &self,
        family: &Family,
        Candidate { learner, l2 }: Candidate,
        settings: LearnSettings,
    ) -> Result<Unseen, DetectorError> {
        let of_folds = self
            .training
            .par_iter()
            .map(|training| {
                let training = family.whole(self.rows, training.iter().copied());
                match learner.fit(&self.rows.select(&family.columns, &training), LearnSettings { l2, ..settings }) {
                    Ok(model) => Ok(Some(model)),
                    Err(DetectorError::OneClass { .. }) => Ok(None),
                    Err(error) => Err(error),
                }
            })
            .collect::<Result<Vec<Option<Model>>, _>>()?;
        let of_row = |(&row, &fold): (&usize, &usize)| {
            let values: Vec<f64> = family.columns.iter().map(|&column| self.rows.features[[row, column]]).collect();
            let is_whole = !values.iter().any(|value| value.is_nan());
            of_folds[fold].as_ref().filter(|_| is_whole).map(|model| model.log_odds(&values))
        };
        Ok(self.judged.iter().zip(&self.fold_of).map(of_row).collect())
    }

    /// The summed log-loss of what is said.
    fn loss(&self, unseen: &Unseen) -> f64 {
        let of_row = |(said, &row): (&Option<f64>, &usize)| {
            let against = said.map(|log_odds| if self.rows.labels[row] { -log_odds } else { log_odds });
            // ln(1 + e^x) without overflow
            against.map_or(0.0, |x| x.max(0.0) + (-x.abs()).exp().ln_1p())
        };
        unseen.iter().zip(&self.judged).map(of_row).sum()
    }
}

impl Member {
    /// What it says of a row of all features; none if a feature of its family has no value.
    fn log_odds(&self, row: &[f64]) -> Option<f64> {
        let own = self.own(row);
        (!own.iter().any(|value| value.is_nan())).then(|| self.model.log_odds(&own))
    }

    fn own(&self, row: &[f64]) -> Vec<f64> {
        self.columns.iter().map(|&column| row[column]).collect()
    }
}

impl Stack {
    /// The members that say nothing of a row, for want of a value.
    pub fn absent(&self, row: &[f64]) -> Vec<&Member> {
        self.of.iter().filter(|member| member.own(row).iter().any(|value| value.is_nan())).collect()
    }
}

impl Predict for Stack {
    fn log_odds(&self, row: &[f64]) -> f64 {
        let said: Vec<f64> = self.of.iter().map(|member| member.log_odds(row).unwrap_or(member.absent)).collect();
        self.over.log_odds(&said)
    }

    fn contributions(&self, row: &[f64], baseline: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; row.len()];
        for (place, member) in self.of.iter().enumerate() {
            let weight = self.over.coefficients[place] / self.over.scale[place];
            let own = member.own(row);
            if own.iter().any(|value| value.is_nan()) {
                continue;
            }
            let added = member.model.contributions(&own, &member.own(baseline));
            member.columns.iter().zip(added).for_each(|(&column, added)| all[column] = weight * added);
        }
        all
    }

    /// A stack judges a row of which at least one member says something.
    fn judges(&self, row: &[f64]) -> bool {
        self.absent(row).len() < self.of.len()
    }

    fn fault(&self, n_features: usize) -> Option<String> {
        if self.of.is_empty() {
            return Some("a stack of nothing".to_owned());
        }
        let mut used = vec![false; n_features];
        for Member { family, columns, model, absent, .. } in &self.of {
            for &column in columns {
                match used.get_mut(column) {
                    Some(used) if !*used => *used = true,
                    _ => return Some(format!("member `{family}` has no feature {column} to itself, of {n_features}")),
                }
            }
            if matches!(model, Model::Stack(_)) || !absent.is_finite() {
                return Some(format!("member `{family}` is a stack itself, or says {absent} where it is absent"));
            }
            if let Some(what) = model.fault(columns.len()) {
                return Some(format!("member `{family}`: {what}"));
            }
        }
        self.over.fault(self.of.len())
    }
}
