//! A review with all that one judge said of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use serde::Serialize;

use super::{
    Checklist, ItemVerdict, JudgedItem, JudgedPassage, Metric, PassageVerdict, Review, ReviewCase, ReviewVerdict,
    Status,
    passages::{is_empty_list, is_no_comment, leaks},
};

/// A review, its checklist, and the verdicts of one judge in one repeat.
#[derive(Debug, Clone)]
pub struct JudgedReview<'a> {
    /// What had to be raised.
    pub list: &'a Checklist,
    /// What was written.
    pub review: &'a Review,
    /// What its writer was shown: a phrase that stands there is no leak.
    pub shown: Vec<&'a str>,
    /// How many items are mentioned, as the judge counted.
    pub count: Option<u64>,
    /// 0 to 10, for the whole.
    pub rating: Option<u64>,
    /// What the review does with each item.
    pub items: Option<&'a [JudgedItem]>,
    /// What of it the code bears out.
    pub passages: Option<&'a [JudgedPassage]>,
    /// Questions that were asked and have no answer.
    pub failed: BTreeSet<Metric>,
}

/// How many claims of a review are what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Claims {
    /// The code bears them out, or they raise an item.
    pub supported: usize,
    /// The code contradicts them, or they speak of what was not shown.
    pub unsupported: usize,
    /// The code shown cannot decide.
    pub unknown: usize,
}

impl Claims {
    /// All of them.
    pub fn n(&self) -> usize {
        self.supported + self.unsupported + self.unknown
    }
}

impl<'a> JudgedReview<'a> {
    /// Of which nothing was asked yet.
    pub fn new(list: &'a Checklist, review: &'a Review, case: Option<&'a ReviewCase>) -> Self {
        let shown = case.map_or(Vec::new(), |case| {
            vec![case.diff.as_str(), &case.before, &case.after, case.description.as_deref().unwrap_or_default()]
        });
        JudgedReview {
            list,
            review,
            shown,
            count: None,
            rating: None,
            items: None,
            passages: None,
            failed: BTreeSet::new(),
        }
    }

    /// Takes a verdict in.
    pub fn add(&mut self, verdict: &'a ReviewVerdict) {
        if verdict.status == Status::Error {
            self.failed.insert(verdict.metric);
            return;
        }
        match verdict.metric {
            Metric::Paper => self.count = verdict.count,
            Metric::Rating => self.rating = verdict.count,
            Metric::Items => self.items = Some(&verdict.items),
            Metric::Claims => self.passages = Some(&verdict.passages),
        }
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.review.text.trim().is_empty()
    }

    /// Whether something was written and it claims nothing; none where nobody has judged. A blank text is not silent: who says nothing
    /// has not said that nothing is wrong.
    pub fn silent(&self) -> Option<bool> {
        match &self.review.text {
            _ if self.is_empty() => Some(false),
            text if is_no_comment(text) || is_empty_list(text) => Some(true),
            _ => self.claims().map(|claims| claims.n() == 0),
        }
    }

    /// The published share of items, with the count cut off at their number; `raw` is without the cut.
    pub fn clc(&self, raw: bool) -> Option<f64> {
        let (count, n) = (self.count? as f64, self.list.n() as f64);
        Some(if raw { count } else { count.min(n) } / n)
    }

    /// The weight of the items that are worth something, each between 0 and 1, as a share of all; of clean cases none.
    fn share(&self, worth: impl Fn(ItemVerdict) -> f64) -> Option<f64> {
        if self.list.clean {
            return None;
        }
        let judged = self.items?;
        let whole: f64 = self.list.items.iter().map(|item| item.weight).sum();
        let covered = |(item, judged): (&super::Item, &JudgedItem)| item.weight * worth(judged.counted());
        Some(self.list.items.iter().zip(judged).map(covered).sum::<f64>() / whole)
    }

    /// The share of items that are asked for.
    pub fn coverage(&self) -> Option<f64> {
        self.share(|verdict| f64::from(u8::from(verdict == ItemVerdict::Asked)))
    }

    /// The same with one half for what is asked for in part.
    pub fn coverage_soft(&self) -> Option<f64> {
        self.share(|verdict| match verdict {
            ItemVerdict::Asked => 1.0,
            ItemVerdict::Partly => 0.5,
            _ => 0.0,
        })
    }

    /// The share of items that are mentioned in any way but the contrary: what the published count should have been.
    pub fn mentioned(&self) -> Option<f64> {
        let is = |v| matches!(v, ItemVerdict::Asked | ItemVerdict::Partly | ItemVerdict::Described);
        self.share(|verdict| f64::from(u8::from(is(verdict))))
    }

    /// Bytes of the review that raise an item.
    fn raised(&self) -> Vec<Range<usize>> {
        let raises = |item: &&JudgedItem| matches!(item.counted(), ItemVerdict::Asked | ItemVerdict::Partly);
        self.items.unwrap_or_default().iter().filter(raises).filter_map(|item| item.quote.clone()).collect()
    }

    /// The review's claims: what raises an item is supported, whatever else was said of it; what speaks of a version that was not
    /// shown is not; what is said twice counts once.
    pub fn claims(&self) -> Option<Claims> {
        let judged = self.passages?;
        let raised = self.raised();
        let mut by_text: BTreeMap<String, PassageVerdict> = BTreeMap::new();
        for passage in judged {
            let Some(text) = self.review.text.get(passage.start..passage.end) else { continue };
            let is_raised = raised.iter().any(|quote| quote.start < passage.end && passage.start < quote.end);
            let verdict = match passage.counted() {
                _ if leaks(text, &self.shown) => PassageVerdict::Unsupported,
                _ if is_raised => PassageVerdict::Supported,
                verdict => verdict,
            };
            let folded = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
            by_text.entry(folded).or_insert(verdict);
        }
        let n = |wanted| by_text.values().filter(|verdict| **verdict == wanted).count();
        Some(Claims {
            supported: n(PassageVerdict::Supported),
            unsupported: n(PassageVerdict::Unsupported),
            unknown: n(PassageVerdict::Unknown),
        })
    }

    /// Whether it speaks of a version that its writer was not shown.
    pub fn leaks(&self) -> bool {
        leaks(&self.review.text, &self.shown)
    }

    /// The harmonic mean of coverage and of the share of claims that are supported; 0 without claims; of buggy cases.
    pub fn f1(&self) -> Option<f64> {
        let (coverage, claims) = (self.coverage()?, self.claims()?);
        if claims.n() == 0 || coverage == 0.0 || claims.supported == 0 {
            return Some(0.0);
        }
        let precision = claims.supported as f64 / claims.n() as f64;
        Some(2.0 * coverage * precision / (coverage + precision))
    }
}
