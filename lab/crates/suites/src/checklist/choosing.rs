//! A judge's answers by how probable they are: nothing is written, and a small model here is asked in one pass a question.

use std::{collections::BTreeMap, ops::Range};

use rand::{SeedableRng, seq::index::sample};
use rand_chacha::ChaCha8Rng;
use veridiff_judge::{
    backend::{Backend, Message, Probabilities, Request, Role},
    failure::{Failure, Kind},
};

use super::{
    Checklist, Item, ItemVerdict, JudgedItem, Review,
    baselines::is_baseline,
    judge::{Judge, Said},
    passages::{is_no_comment, passages},
};
use crate::nearness::{FEWEST_MISMATCHED, cut_of_mismatched};

/// How many pairs are looked at to find those that do not belong together, where there are more.
const MOST_LOOKED_AT: usize = 100_000;

/// The most items that one digit can count.
const MOST_COUNTED: usize = 9;

impl Judge<'_> {
    /// How many items are mentioned: the most probable digit.
    pub(super) fn counted(&self, list: &Checklist, review: &Review, said: &mut Said) -> Result<u64, String> {
        if list.n() > MOST_COUNTED {
            return Err(format!("one digit cannot count {} items: read the text", list.n()));
        }
        let template = self.prompts.step("count");
        let content = template.fill(&[("checklist", list.text().as_str()), ("review", &review.text)]);
        let request =
            Request { seed: self.seed, step: "count".to_owned(), ..Request::of_user(content, template.max_output) };
        let digits: Vec<String> = (0..=list.n()).map(|n| n.to_string()).collect();
        let chosen = self.choice(&request, &digits, said).map_err(|failure| failure.to_string())?;
        let best = (0u64..).zip(&chosen).max_by(|(_, a), (_, b)| a.total_cmp(b));
        best.map(|(n, _)| n).ok_or_else(|| "there is nothing to count".to_owned())
    }

    /// Each item: asked for or absent, by the probability of Yes. What shows an item is the passage without which it is least probable.
    pub(super) fn chosen(&self, list: &Checklist, review: &Review, said: &mut Said) -> Result<Vec<JudgedItem>, String> {
        let is_blank = review.text.trim().is_empty() || is_no_comment(&review.text);
        let judged = |item: &Item| {
            if is_blank {
                return Ok(JudgedItem {
                    n: item.n,
                    verdict: ItemVerdict::Absent,
                    p: None,
                    quote: None,
                    quote_ok: false,
                });
            }
            let p = self.p_asked(&review.text, &item.text, said)?;
            let is_asked = p >= self.cut;
            let quote = if is_asked { self.shows(&review.text, &item.text, said)? } else { None };
            let verdict = if is_asked { ItemVerdict::Asked } else { ItemVerdict::Absent };
            Ok(JudgedItem { n: item.n, verdict, p: Some(p), quote_ok: quote.is_some(), quote })
        };
        // what failed of one item does not keep the others from being asked about
        let all: Vec<Result<JudgedItem, Failure>> = list.items.iter().map(judged).collect();
        all.into_iter().collect::<Result<_, _>>().map_err(|failure| failure.to_string())
    }

    /// The probability of Yes, of Yes and No together, that a review asks for an item.
    fn p_asked(&self, review: &str, item: &str, said: &mut Said) -> Result<f64, Failure> {
        let template = self.prompts.step("asked");
        let (content, n_shared) = template.fill_behind(("review", review), ("item", item));
        let message = Message { n_shared, ..Message::new(Role::User, content) };
        let request = Request {
            seed: self.seed,
            messages: vec![message],
            step: "asked".to_owned(),
            ..Request::of_user("", template.max_output)
        };
        let chosen = self.choice(&request, &["Yes", "No"].map(str::to_owned), said)?;
        Ok(chosen[0] / (chosen[0] + chosen[1]))
    }

    /// How probable each answer is; at least one of them is at all.
    fn choice(&self, request: &Request, choices: &[String], said: &mut Said) -> Result<Vec<f64>, Failure> {
        let Probabilities { log_probs, usage, .. } = self.recorder.choose(request, "", choices)?;
        let all: Vec<f64> = log_probs.iter().map(|p| p.map_or(0.0, f64::exp)).collect();
        let shown: Vec<String> = choices.iter().zip(&all).map(|(choice, p)| format!("{choice} {p:.4}")).collect();
        said.note(&shown.join(", "), usage);
        match all.iter().any(|p| *p > 0.0) {
            true => Ok(all),
            false => Err(Failure::new(
                Kind::NoLogprobs,
                "none of the answers that were asked for is among the probable ones",
            )),
        }
    }

    /// The passage whose absence makes an item least probable; the only one where there is one.
    fn shows(&self, review: &str, item: &str, said: &mut Said) -> Result<Option<Range<usize>>, Failure> {
        let mut spans = passages(review);
        if spans.len() < 2 {
            return Ok(spans.pop());
        }
        let mut least: Option<(f64, Range<usize>)> = None;
        for span in spans {
            let without = format!("{}{}", &review[..span.start], &review[span.end..]);
            let p = self.p_asked(&without, item, said)?;
            if least.as_ref().is_none_or(|(known, _)| p < *known) {
                least = Some((p, span));
            }
        }
        Ok(least.map(|(_, span)| span))
    }

    /// The probability from which on an item is asked for: the one that 95 of 100 items stay below beside a review of another case. None
    /// where there are fewer than [`FEWEST_MISMATCHED`] such pairs.
    ///
    /// # Errors
    /// A question has no answer.
    pub fn calibrated(&self, lists: &[Checklist], reviews: &[Review]) -> Result<Option<f64>, Failure> {
        self.calibrated_on(&mismatched(lists, reviews, self.seed))
    }

    /// The same for pairs that were chosen before.
    ///
    /// # Errors
    /// A question has no answer.
    pub fn calibrated_on(&self, pairs: &[(&Item, &Review)]) -> Result<Option<f64>, Failure> {
        if pairs.len() < FEWEST_MISMATCHED {
            return Ok(None);
        }
        let one = |(item, review): &(&Item, &Review)| self.p_asked(&review.text, &item.text, &mut Said::default());
        Ok(cut_of_mismatched(pairs.iter().map(one).collect::<Result<_, _>>()?))
    }
}

/// Items beside reviews of other cases in the same language, [`FEWEST_MISMATCHED`] of them by chance, or as many as there are.
pub fn mismatched<'a>(lists: &'a [Checklist], reviews: &'a [Review], seed: u64) -> Vec<(&'a Item, &'a Review)> {
    let says = |(_, review): &(usize, &Review)| says_something(&review.text) && !is_baseline(&review.generator);
    let cases: Vec<(usize, &str)> =
        reviews.iter().enumerate().filter(says).map(|(place, review)| (place, review.case.as_str())).collect();
    mismatched_places(lists, &cases, seed).into_iter().map(|(item, place)| (item, &reviews[place])).collect()
}

/// Whether a text is more than that nothing is wrong.
pub(super) fn says_something(text: &str) -> bool {
    !text.trim().is_empty() && !is_no_comment(text)
}

/// The same for reviews of which only a name, such as their place, and their case are given.
pub(super) fn mismatched_places<'a>(
    lists: &'a [Checklist],
    reviews: &[(usize, &str)],
    seed: u64,
) -> Vec<(&'a Item, usize)> {
    let languages: BTreeMap<&str, Option<&str>> =
        lists.iter().map(|list| (list.case.as_str(), list.language.as_deref())).collect();
    let language = |case: &str| languages.get(case).copied().flatten();
    let items: Vec<(&Checklist, &Item)> =
        lists.iter().flat_map(|list| list.items.iter().map(move |item| (list, item))).collect();
    let of = |at: usize| {
        let ((list, item), (review, case)) = (items[at / reviews.len()], reviews[at % reviews.len()]);
        (list.case != case && list.language.as_deref() == language(case)).then_some((item, review))
    };
    let n = items.len() * reviews.len();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    sample(&mut rng, n, n.min(MOST_LOOKED_AT)).into_iter().filter_map(of).take(FEWEST_MISMATCHED).collect()
}
