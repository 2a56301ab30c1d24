//! Reviews and what they are paid, as data for trainers. A reward that is missing stays null.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use veridiff_text::named;

use super::{
    ReviewCase,
    judged::JudgedReview,
    passages::n_words,
    reward::{Reward, RewardSpec, reward},
};
use crate::ask::Prompts;

/// The form of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A line a review: its reward and what it was made of.
    Rewards,
    /// A line a case: the prompt, and the checklist to judge what is written by.
    Prompt,
    /// A line a case: the best review over the worst.
    Preference,
    /// A line a review: good or not.
    Unpaired,
    /// A line a case in the fields that verl reads.
    Verl,
}

named!(Form, "form", "rewards" => Rewards, "trl-prompt" => Prompt, "trl-preference" => Preference, "trl-unpaired" => Unpaired, "verl" => Verl);

/// What data for trainers hang on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmitSettings {
    /// How reviews are paid.
    pub reward: RewardSpec,
    /// From which reward on a review is good.
    pub threshold: f64,
    /// By how much the best of a pair must be paid more.
    pub margin: f64,
    /// How many times the shorter's words the longer of a pair may have: length must not be what is learnt.
    pub longest: f64,
}

impl Default for EmitSettings {
    fn default() -> Self {
        EmitSettings { reward: RewardSpec::default(), threshold: 0.5, margin: 0.2, longest: 1.5 }
    }
}

/// What the rows are like, for who trains on them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Told {
    /// Reviews whose reward is missing.
    pub n_missing: usize,
    /// Cases with several reviews that are all paid the same: no gradient comes from them.
    pub n_equal: usize,
    /// Cases with several paid reviews.
    pub n_several: usize,
    /// Mean words of what was chosen and what was not.
    pub words: Option<(f64, f64)>,
}

/// The rows of a form, in the order of the reviews. `cases` has what the prompt shows.
pub fn rows(
    form: Form,
    judged: &[JudgedReview<'_>],
    cases: &BTreeMap<&str, &ReviewCase>,
    prompts: &Prompts,
    settings: &EmitSettings,
) -> (Vec<Value>, Told) {
    let paid: Vec<(&JudgedReview<'_>, Reward)> =
        judged.iter().map(|one| (one, reward(&settings.reward, one))).collect();
    let mut by_case: Vec<(&str, Vec<(&JudgedReview<'_>, Reward)>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (one, reward) in &paid {
        let place = *places.entry(&one.list.case).or_insert_with(|| {
            by_case.push((&one.list.case, Vec::new()));
            by_case.len() - 1
        });
        by_case[place].1.push((one, *reward));
    }
    let totals =
        |reviews: &[(&JudgedReview<'_>, Reward)]| -> Vec<f64> { reviews.iter().filter_map(|(_, r)| r.total).collect() };
    let several: Vec<Vec<f64>> = by_case.iter().map(|(_, reviews)| totals(reviews)).filter(|t| t.len() > 1).collect();
    let mut told = Told {
        n_missing: paid.iter().filter(|(_, reward)| reward.total.is_none()).count(),
        n_equal: several.iter().filter(|totals| totals.iter().all(|total| *total == totals[0])).count(),
        n_several: several.len(),
        words: None,
    };
    let prompt = |case: &str| -> Value { json!([{ "role": "user", "content": prompt_of(case, cases, prompts) }]) };
    let rows = match form {
        Form::Rewards => {
            let row = |(one, reward): &(&JudgedReview<'_>, Reward)| {
                let mut row = json!({ "case": one.list.case, "id": one.review.id, "generator": one.review.generator, "preset": settings.reward.preset.name() });
                let parts = serde_json::to_value(reward).expect("numbers have a JSON form");
                row.as_object_mut()
                    .zip(parts.as_object())
                    .into_iter()
                    .for_each(|(row, parts)| row.extend(parts.clone()));
                row
            };
            paid.iter().map(row).collect()
        }
        Form::Prompt => {
            let row = |(case, reviews): &(&str, Vec<(&JudgedReview<'_>, Reward)>)| {
                let list = reviews[0].0.list;
                json!({ "prompt": prompt(case), "case": case, "clean": list.clean, "checklist": checklist(list) })
            };
            by_case.iter().map(row).collect()
        }
        Form::Unpaired => {
            let known = paid.iter().filter_map(|(one, reward)| Some((one, reward.total?)));
            let row = |(one, total): (&&JudgedReview<'_>, f64)| {
                let completion = json!([{ "role": "assistant", "content": one.review.text }]);
                json!({ "prompt": prompt(&one.list.case), "completion": completion, "label": total >= settings.threshold })
            };
            known.map(row).collect()
        }
        Form::Preference => {
            let pairs: Vec<_> =
                by_case.iter().filter_map(|(case, reviews)| Some((case, pair(reviews, settings)?))).collect();
            let mean = |words: &dyn Fn(&Pair<'_>) -> usize| {
                pairs.iter().map(|(_, pair)| words(pair)).sum::<usize>() as f64 / pairs.len().max(1) as f64
            };
            told.words =
                (!pairs.is_empty()).then(|| (mean(&|pair| n_words(pair.chosen)), mean(&|pair| n_words(pair.rejected))));
            let said = |text: &str| json!([{ "role": "assistant", "content": text }]);
            let row = |(case, pair): &(&&str, Pair<'_>)| json!({ "prompt": prompt(case), "chosen": said(pair.chosen), "rejected": said(pair.rejected), "margin": pair.margin });
            pairs.iter().map(row).collect()
        }
        Form::Verl => {
            let rows = by_case.iter().enumerate().map(|(i, (case, reviews))| {
                let list = reviews[0].0.list;
                json!({
                    "data_source": "veridiff-checklist", "prompt": prompt(case), "ability": "review",
                    "reward_model": { "style": "rule", "ground_truth": checklist(list) },
                    "extra_info": { "index": i, "case": case, "clean": list.clean },
                })
            });
            rows.collect()
        }
    };
    (rows, told)
}

/// A checklist as a string of JSON, so that the column has one type in every row.
fn checklist(list: &super::Checklist) -> String {
    let items: Vec<&str> = list.items.iter().map(|item| item.text.as_str()).collect();
    serde_json::to_string(&items).expect("strings have a JSON form")
}

/// What somebody is asked who reviews a case.
pub fn prompt_of(case: &str, cases: &BTreeMap<&str, &ReviewCase>, prompts: &Prompts) -> String {
    let nothing = ReviewCase::default();
    let case = cases.get(case).copied().unwrap_or(&nothing);
    let after = if case.after.is_empty() { &case.diff } else { &case.after };
    let description = case.description.as_deref().unwrap_or_default();
    prompts.step("review").fill(&[("description", description), ("before", &case.before), ("after", after)])
}

struct Pair<'a> {
    chosen: &'a str,
    rejected: &'a str,
    margin: f64,
}

/// The best review of a case over the worst, if it is paid enough more and neither is much longer.
fn pair<'a>(reviews: &[(&JudgedReview<'a>, Reward)], settings: &EmitSettings) -> Option<Pair<'a>> {
    let paid: Vec<(&str, f64)> =
        reviews.iter().filter_map(|(one, r)| Some((one.review.text.as_str(), r.total?))).collect();
    let best = paid.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let worst = paid.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (a, b) = (n_words(best.0) as f64, n_words(worst.0) as f64);
    let margin = best.1 - worst.1;
    let is_fair = a.max(b) <= settings.longest * a.min(b);
    (margin >= settings.margin && is_fair && !best.0.trim().is_empty()).then_some(Pair {
        chosen: best.0,
        rejected: worst.0,
        margin,
    })
}
