//! The questions to a judge, and its answers as rows.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use veridiff_judge::{
    backend::{Reply, Request},
    failure::Failure,
    recorder::Recorder,
};

use super::{
    Checklist, ItemVerdict, JudgedItem, JudgedPassage, Metric, Review, ReviewCase, ReviewVerdict, Status,
    passages::{is_no_comment, passages},
    quotes, replies,
};
use crate::ask::{Prompts, Template, ask};

/// Items and passages that are asked about at once.
const BATCH: usize = 20;

/// The prompts that come with the program.
pub fn prompts() -> Prompts {
    Prompts::own(include_str!("prompts.toml"))
}

/// Who is asked, and in which words.
#[derive(Debug)]
pub struct Judge<'a> {
    /// What answers, and where its replies are kept.
    pub recorder: &'a Recorder,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// What chance follows from.
    pub seed: u64,
}

/// What was said, and what asking took.
#[derive(Debug, Default)]
struct Said {
    raw: String,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

impl Said {
    fn add(&mut self, reply: &Reply) {
        if !self.raw.is_empty() {
            self.raw.push('\n');
        }
        self.raw.push_str(&reply.content);
        if let Some(usage) = reply.usage {
            *self.prompt_tokens.get_or_insert(0) += usage.input;
            *self.completion_tokens.get_or_insert(0) += usage.output;
        }
    }
}

impl Judge<'_> {
    /// One question about one review. What failed is a row that says so.
    pub fn verdict(
        &self,
        metric: Metric,
        repeat: u32,
        list: &Checklist,
        review: &Review,
        case: Option<&ReviewCase>,
    ) -> ReviewVerdict {
        let mut row = ReviewVerdict {
            id: review.id.clone(),
            case: review.case.clone(),
            generator: review.generator.clone(),
            judge: self.recorder.name().to_owned(),
            template: self.template(metric).sha256(),
            metric,
            repeat,
            status: Status::Ok,
            error: None,
            count: None,
            loose: false,
            items: Vec::new(),
            passages: Vec::new(),
            raw: String::new(),
            prompt_tokens: None,
            completion_tokens: None,
        };
        let mut said = Said::default();
        let answered = match metric {
            Metric::Paper => self.count(repeat, list, review, &mut said).map(|(count, loose)| {
                (row.count, row.loose) = (Some(count), loose);
            }),
            Metric::Rating => self.rating(repeat, review, case, &mut said).map(|count| row.count = Some(count)),
            Metric::Items => self.items(repeat, list, review, &mut said).map(|items| row.items = items),
            Metric::Claims => self.claims(repeat, review, case, &mut said).map(|passages| row.passages = passages),
        };
        if let Err(error) = answered {
            (row.status, row.error) = (Status::Error, Some(error));
        }
        (row.raw, row.prompt_tokens, row.completion_tokens) = (said.raw, said.prompt_tokens, said.completion_tokens);
        row
    }

    fn template(&self, metric: Metric) -> &Template {
        self.prompts.step(match metric {
            Metric::Paper => "count",
            Metric::Rating => "rating",
            Metric::Items => "items",
            Metric::Claims => "claims",
        })
    }

    fn ask<T>(
        &self,
        metric: Metric,
        repeat: u32,
        data: &[(&str, &str)],
        said: &mut Said,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let template = self.template(metric);
        let request = Request { repeat, seed: self.seed, ..Request::of_user(template.fill(data), template.max_output) };
        let told = |failure: Failure| failure.to_string();
        let (understood, reply) = ask(self.recorder, &request, |reply| read(&reply.content)).map_err(told)?;
        said.add(&reply);
        Ok(understood)
    }

    fn count(&self, repeat: u32, list: &Checklist, review: &Review, said: &mut Said) -> Result<(u64, bool), String> {
        let checklist = list.text();
        let data = [("checklist", checklist.as_str()), ("review", review.text.as_str())];
        self.ask(Metric::Paper, repeat, &data, said, |reply| replies::count(reply, list.clean))
    }

    fn rating(&self, repeat: u32, review: &Review, case: Option<&ReviewCase>, said: &mut Said) -> Result<u64, String> {
        let case = case.ok_or("the case is not in the file of cases")?;
        let data = [("diff", case.diff.as_str()), ("review", review.text.as_str())];
        let read = |reply: &str| match replies::count(reply, false)? {
            (rating @ 0..=10, _) => Ok(rating),
            (other, _) => Err(format!("a rating is 0 to 10, got {other}")),
        };
        self.ask(Metric::Rating, repeat, &data, said, read)
    }

    /// The items in an order of chance where the question is repeated, so that repeats also tell whether their order matters.
    fn items(
        &self,
        repeat: u32,
        list: &Checklist,
        review: &Review,
        said: &mut Said,
    ) -> Result<Vec<JudgedItem>, String> {
        let absent = |n| JudgedItem { n, verdict: ItemVerdict::Absent, p: None, quote: None, quote_ok: false };
        if review.text.trim().is_empty() || is_no_comment(&review.text) {
            return Ok(list.items.iter().map(|item| absent(item.n)).collect());
        }
        let mut order: Vec<usize> = (0..list.items.len()).collect();
        if repeat > 0 {
            order.shuffle(&mut ChaCha8Rng::seed_from_u64(self.seed.wrapping_add(u64::from(repeat))));
        }
        let spans = passages(&review.text);
        let mut judged = Vec::new();
        for batch in order.chunks(BATCH) {
            let line = |(i, item): (usize, &usize)| format!("{}. {}", i + 1, list.items[*item].text);
            let shown = batch.iter().enumerate().map(line).collect::<Vec<_>>().join("\n");
            let data = [("checklist", shown.as_str()), ("review", review.text.as_str())];
            let entries = self.ask(Metric::Items, repeat, &data, said, |reply| replies::items(reply, batch.len()))?;
            for (item, entry) in batch.iter().zip(entries) {
                let quote = entry.quote.and_then(|quote| quotes::verified(&review.text, &spans, &quote));
                let n = list.items[*item].n;
                judged.push(JudgedItem { n, verdict: entry.verdict, p: None, quote_ok: quote.is_some(), quote });
            }
        }
        judged.sort_by_key(|item| item.n);
        Ok(judged)
    }

    fn claims(
        &self,
        repeat: u32,
        review: &Review,
        case: Option<&ReviewCase>,
        said: &mut Said,
    ) -> Result<Vec<JudgedPassage>, String> {
        let spans = passages(&review.text);
        if is_no_comment(&review.text) || spans.is_empty() {
            return Ok(Vec::new());
        }
        let case = case.ok_or("the case is not in the file of cases")?;
        let code = [case.diff.as_str(), case.before.as_str(), case.after.as_str()];
        let mut judged = Vec::new();
        for batch in spans.chunks(BATCH) {
            let line =
                |(i, span): (usize, &std::ops::Range<usize>)| format!("{}. {}", i + 1, &review.text[span.clone()]);
            let shown = batch.iter().enumerate().map(line).collect::<Vec<_>>().join("\n");
            let data = [("diff", code[0]), ("before", code[1]), ("after", code[2]), ("passages", shown.as_str())];
            let entries =
                self.ask(Metric::Claims, repeat, &data, said, |reply| replies::passages(reply, batch.len()))?;
            for (span, entry) in batch.iter().zip(entries) {
                let code_ok = entry.code.as_deref().is_some_and(|line| quotes::is_line_of(&code, line));
                let (start, end) = (span.start, span.end);
                judged.push(JudgedPassage { start, end, verdict: entry.verdict, code: entry.code, code_ok });
            }
        }
        Ok(judged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_prompts_have_the_places_that_are_filled() {
        let prompts = prompts();
        for (step, places) in [
            ("count", &["checklist", "review", "nonce"][..]),
            ("items", &["checklist", "review", "nonce"]),
            ("claims", &["diff", "before", "after", "passages", "nonce"]),
            ("rating", &["diff", "review", "nonce"]),
            ("instruction", &["description", "issue", "diff"]),
            ("pseudo", &["instruction", "before"]),
            ("compare", &["after", "merged"]),
            ("deleak", &["review"]),
            ("checklist", &["review", "nonce"]),
            ("direct", &["description", "before", "diff"]),
            ("review", &["description", "before", "after"]),
        ] {
            for place in places {
                assert!(prompts.step(step).has(place), "{step}: {place}");
            }
        }
    }
}
