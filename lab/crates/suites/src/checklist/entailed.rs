//! What a review covers and claims by an encoder and a classifier, without any language model.
//!
//! An item is covered where a passage, or two neighbours, entail that the reviewer asks for it and do not contradict it, or where a passage
//! is near it and does not contradict it. What belongs together by chance is measured, not assumed: the cuts leave one in twenty items
//! above them beside reviews of other cases. A classifier does not see the code, so a claim is `unsupported` only where the change
//! itself refutes it, and `unknown` otherwise.

use std::ops::Range;

use veridiff_facts::case::Case;
use veridiff_facts::rules::Ruling;
use veridiff_text::sample::Task;

use super::{
    Checklist, ItemVerdict, JudgedItem, JudgedPassage, Metric, PassageVerdict, Review, ReviewCase, ReviewVerdict,
    Status,
    baselines::verdict_of_silence,
    choosing::mismatched,
    passages::{is_no_comment, passages},
};
use crate::nearness::{Compare, Entailed, cut_of_mismatched};

/// From which entailment on an item is covered where there were too few pairs to find it.
const UNCALIBRATED: f64 = 0.5;

/// What a passage has to entail to be a claim.
const CLAIMS: &str = "The reviewer reports a problem or asks for a change.";

/// From where on an item is covered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cuts {
    /// Entailment.
    pub entailment: f64,
    /// The cosine; none where there is no encoder or nothing to find it from.
    pub cosine: Option<f64>,
    /// Whether both come from pairs that do not belong together.
    pub calibrated: bool,
}

/// A judge that is two models which compare texts.
#[derive(Debug)]
pub struct ByModels<'a> {
    models: &'a dyn Compare,
    cuts: Cuts,
}

/// What a review has at most of an item.
#[derive(Debug, Clone)]
struct Best {
    entailed: Entailed,
    of_entailment: Range<usize>,
    near: Option<(f64, f64, Range<usize>)>,
}

impl<'a> ByModels<'a> {
    /// With cuts from pairs of items and reviews that do not belong together, if there are enough of them.
    ///
    /// # Errors
    /// A model fails.
    pub fn new(models: &'a dyn Compare, lists: &[Checklist], reviews: &[Review], seed: u64) -> Result<Self, String> {
        ByModels::of_pairs(models, &mismatched(lists, reviews, seed))
    }

    /// The same for pairs that were chosen before.
    ///
    /// # Errors
    /// A model fails.
    pub fn of_pairs(models: &'a dyn Compare, pairs: &[(&super::Item, &Review)]) -> Result<Self, String> {
        let mut judge = ByModels { models, cuts: Cuts { entailment: UNCALIBRATED, cosine: None, calibrated: false } };
        if pairs.len() < crate::nearness::FEWEST_MISMATCHED {
            return Ok(judge);
        }
        let (mut entailments, mut cosines) = (Vec::new(), Vec::new());
        for (item, review) in pairs {
            let Some(best) = judge.best(&review.text, &item.text)? else { continue };
            entailments.push(best.entailed.entailment);
            cosines.extend(best.near.map(|(cosine, ..)| cosine));
        }
        if let Some(entailment) = cut_of_mismatched(entailments) {
            judge.cuts = Cuts { entailment, cosine: cut_of_mismatched(cosines), calibrated: true };
        }
        Ok(judge)
    }

    /// From where on an item is covered.
    pub fn cuts(&self) -> Cuts {
        self.cuts
    }

    /// What its rows are called after.
    pub fn name(&self) -> String {
        format!("none:{}", self.models.name())
    }

    /// One question about one review; of `items` and `claims` alone, since it counts and rates nothing.
    pub fn verdict(
        &self,
        metric: Metric,
        list: &Checklist,
        review: &Review,
        case: Option<&ReviewCase>,
    ) -> ReviewVerdict {
        let base = verdict_of_silence(metric, 0, list, review, &self.name());
        let mut row = ReviewVerdict { count: None, items: Vec::new(), ..base };
        let answered = match metric {
            Metric::Items => self.items(list, review).map(|items| row.items = items),
            Metric::Claims => self.claims(review, case).map(|passages| row.passages = passages),
            Metric::Paper | Metric::Rating => Err(format!("`{metric}` is a language model's question")),
        };
        if let Err(error) = answered {
            (row.status, row.error) = (Status::Error, Some(error));
        }
        row
    }

    fn items(&self, list: &Checklist, review: &Review) -> Result<Vec<JudgedItem>, String> {
        let is_silent = is_no_comment(&review.text);
        let judged = |item: &super::Item| {
            let absent = JudgedItem { n: item.n, verdict: ItemVerdict::Absent, p: None, quote: None, quote_ok: false };
            let best = if is_silent { None } else { self.best(&review.text, &item.text)? };
            let Some(best) = best else { return Ok(absent) };
            let p = Some(best.entailed.entailment);
            let follows = best.entailed.entailment >= self.cuts.entailment
                && best.entailed.entailment > best.entailed.contradiction;
            let is_near = |(cosine, contradiction, _): &&(f64, f64, Range<usize>)| {
                self.cuts.cosine.is_some_and(|cut| *cosine >= cut) && *contradiction < 0.5
            };
            let quote = match follows {
                true => Some(best.of_entailment),
                false => best.near.as_ref().filter(is_near).map(|(.., span)| span.clone()),
            };
            let verdict = if quote.is_some() { ItemVerdict::Asked } else { ItemVerdict::Absent };
            Ok(JudgedItem { verdict, p, quote_ok: quote.is_some(), quote, ..absent })
        };
        list.items.iter().map(judged).collect()
    }

    /// The passage, or two neighbours, that entail most, and the passage that is nearest; none of a review without passages.
    fn best(&self, review: &str, item: &str) -> Result<Option<Best>, String> {
        let spans = passages(review);
        let hypothesis = asks_for(item);
        let neighbours = spans.windows(2).map(|two| two[0].start..two[1].end);
        let mut best: Option<Best> = None;
        for (at, span) in spans.iter().cloned().chain(neighbours).enumerate() {
            let text = &review[span.clone()];
            let entailed = self.models.entailed(&format!("The reviewer writes: {text}"), &hypothesis)?;
            let cosine = if at < spans.len() { self.models.cosine(text, item)? } else { None };
            let near = cosine.map(|cosine| (cosine, entailed.contradiction, span.clone()));
            match &mut best {
                None => best = Some(Best { entailed, of_entailment: span, near }),
                Some(best) => {
                    if entailed.entailment > best.entailed.entailment {
                        (best.entailed, best.of_entailment) = (entailed, span);
                    }
                    if near
                        .as_ref()
                        .is_some_and(|(cosine, ..)| best.near.as_ref().is_none_or(|(known, ..)| cosine > known))
                    {
                        best.near = near;
                    }
                }
            }
        }
        Ok(best)
    }

    fn claims(&self, review: &Review, case: Option<&ReviewCase>) -> Result<Vec<JudgedPassage>, String> {
        if is_no_comment(&review.text) {
            return Ok(Vec::new());
        }
        let case = case.ok_or("the case is not in the file of cases")?;
        let judged = |span: Range<usize>| {
            let text = &review.text[span.clone()];
            let claims = self.models.entailed(&format!("The reviewer writes: {text}"), CLAIMS)?.entailment >= 0.5;
            let is_refuted = || {
                let case = Case::new(&case.diff, text, Task::Review).ok();
                case.is_some_and(|case| case.judgement().ruling() == Some(Ruling::Contradicted))
            };
            let verdict = match claims {
                false => PassageVerdict::None,
                true if is_refuted() => PassageVerdict::Unsupported,
                true => PassageVerdict::Unknown,
            };
            Ok(JudgedPassage { start: span.start, end: span.end, verdict, code: None, code_ok: false })
        };
        passages(&review.text).into_iter().map(judged).collect()
    }
}

/// What is asked of the classifier about an item: its words without the reason in brackets behind them.
fn asks_for(item: &str) -> String {
    let bare = item.trim().trim_end_matches('.');
    let bare = match bare.strip_suffix(')').and_then(|rest| rest.rfind(" (")) {
        Some(at) => &bare[..at],
        None => bare,
    };
    let mut letters = bare.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string()).unwrap_or_default();
    format!("The reviewer asks to {first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checklist::Item;

    /// Words in common, of the hypothesis': what a classifier might say. "not" contradicts.
    #[derive(Debug)]
    struct Words;

    impl Compare for Words {
        fn name(&self) -> String {
            "words".into()
        }

        fn cosine(&self, a: &str, b: &str) -> Result<Option<f64>, String> {
            Ok(Some(if a.len() == b.len() { 0.9 } else { 0.1 }))
        }

        fn entailed(&self, premise: &str, hypothesis: &str) -> Result<Entailed, String> {
            let premise = premise.strip_prefix("The reviewer writes: ").ok_or("no premise")?;
            if hypothesis == CLAIMS {
                return Ok(Entailed {
                    entailment: f64::from(u8::from(!premise.starts_with("Thanks"))),
                    contradiction: 0.0,
                });
            }
            let wanted = hypothesis.strip_prefix("The reviewer asks to ").ok_or("no hypothesis")?.trim_end_matches('.');
            let words: Vec<&str> = wanted.split(' ').collect();
            let n = words.iter().filter(|word| premise.to_lowercase().contains(**word)).count();
            let entailment = n as f64 / words.len() as f64;
            let contradiction = if premise.contains("not ") { 0.8 } else { 0.0 };
            Ok(Entailed { entailment: entailment - contradiction / 4.0, contradiction })
        }
    }

    fn list(case: &str, items: &[String]) -> Checklist {
        let item = |(i, text): (usize, &String)| Item {
            n: i + 1,
            text: text.clone(),
            kind: None,
            weight: 1.0,
            line: None,
            grounded: None,
        };
        Checklist {
            case: case.into(),
            mode: None,
            clean: items.is_empty(),
            items: items.iter().enumerate().map(item).collect(),
            language: None,
            group: None,
            extra: Default::default(),
        }
    }

    fn review(case: &str, text: &str) -> Review {
        Review { id: case.into(), case: case.into(), generator: "bot".into(), text: text.into() }
    }

    #[test]
    fn passages_cover_items_and_the_change_refutes_claims() {
        let items = ["Close the file (it leaks)", "Rename the path", "Add a test"].map(str::to_owned);
        let (list, review) =
            (list("a", &items), review("a", "Thanks. Do close the file. You need not rename the path!"));
        let judge = ByModels::new(&Words, std::slice::from_ref(&list), std::slice::from_ref(&review), 0).unwrap();
        assert_eq!(judge.cuts(), Cuts { entailment: 0.5, cosine: None, calibrated: false });
        let row = judge.verdict(Metric::Items, &list, &review, None);
        assert_eq!((row.judge.as_str(), row.status), ("none:words", Status::Ok));
        assert_eq!(
            row.items.iter().map(|item| item.verdict).collect::<Vec<_>>(),
            [ItemVerdict::Asked, ItemVerdict::Absent, ItemVerdict::Absent]
        );
        assert_eq!(&review.text[row.items[0].quote.clone().unwrap()], "Do close the file.");
        let case = ReviewCase { diff: "@@ -1 +1 @@\n-a = 1\n+a = 2\n".into(), ..ReviewCase::default() };
        let row = judge.verdict(Metric::Claims, &list, &review, Some(&case));
        let verdicts: Vec<PassageVerdict> = row.passages.iter().map(|passage| passage.verdict).collect();
        assert_eq!(verdicts, [PassageVerdict::None, PassageVerdict::Unknown, PassageVerdict::Unknown]);
        assert_eq!(judge.verdict(Metric::Claims, &list, &review, None).status, Status::Error);
        assert_eq!(judge.verdict(Metric::Paper, &list, &review, None).status, Status::Error);
        let silent = super::tests::review("a", "No comment.");
        assert!(judge.verdict(Metric::Items, &list, &silent, None).items.iter().all(|item| item.p.is_none()));
    }

    #[test]
    fn cuts_leave_few_mismatched_pairs_above_them() {
        let lists: Vec<Checklist> =
            (0..40).map(|i| list(&format!("c{i}"), &[format!("Check value number {i}")])).collect();
        let reviews: Vec<Review> =
            (0..40).map(|i| review(&format!("c{i}"), &format!("Please check value number {i}"))).collect();
        let judge = ByModels::new(&Words, &lists, &reviews, 0).unwrap();
        let cuts = judge.cuts();
        // three words of four stand in every review, and a short number stands in a few longer ones
        assert!(cuts.calibrated && cuts.entailment >= 0.75, "{cuts:?}");
        let own = judge.verdict(Metric::Items, &lists[37], &reviews[37], None);
        assert_eq!(own.items[0].verdict, ItemVerdict::Asked);
    }

    #[test]
    fn a_reason_in_brackets_is_not_asked_for() {
        assert_eq!(asks_for("Close the file (it leaks)."), "The reviewer asks to close the file.");
        assert_eq!(asks_for("Call f(x)"), "The reviewer asks to call f(x).");
        assert_eq!(asks_for(""), "The reviewer asks to .");
    }
}
