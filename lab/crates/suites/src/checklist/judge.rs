//! The questions to a judge, and its answers as rows.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use veridiff_judge::{
    backend::{Reply, Request, Usage},
    failure::Failure,
    recorder::Recorder,
};

use super::{
    Checklist, ItemVerdict, JudgedItem, JudgedPassage, Metric, Review, ReviewCase, ReviewVerdict, Status,
    passages::{is_no_comment, passages},
    quotes, replies,
};
use crate::ask::{Prompts, Template, ask};
use veridiff_text::named;

/// Items and passages that are asked about at once.
const BATCH: usize = 20;

/// What may be said of an item, and of a passage.
const ITEM_VERDICTS: [&str; 5] = ["asked", "partly", "described", "opposed", "absent"];
const PASSAGE_VERDICTS: [&str; 4] = ["none", "supported", "unsupported", "unknown"];

/// The form of an answer about so many numbered entries, where the backend can hold an answer to one.
fn entries_of(key: &str, n: usize, verdicts: &[&str], shows: &str) -> Value {
    let entry = json!({
        "type": "object", "additionalProperties": false, "required": ["n", "verdict", shows],
        "properties": {
            "n": { "enum": (1..=n).collect::<Vec<_>>() }, "verdict": { "enum": verdicts }, shows: { "type": "string", "maxLength": 300 },
        },
    });
    json!({
        "type": "object", "additionalProperties": false, "required": [key],
        "properties": { key: { "type": "array", "items": entry, "minItems": n, "maxItems": n } },
    })
}

/// The prompts that come with the program.
pub fn prompts() -> Prompts {
    Prompts::own(include_str!("prompts.toml"))
}

/// How the answers to a judge's questions are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// By what is written.
    #[default]
    Text,
    /// By how probable each answer is at its first place: nothing is written. Of the count it is the most probable digit, of an item Yes
    /// or No. Claims and ratings, whose answers are more than that, are written.
    Probabilities,
}

named!(Reading, "reading", "text" => Text, "probabilities" => Probabilities);

/// From which probability on an item is asked for, unless mismatched pairs say otherwise.
pub const DEFAULT_CUT: f64 = 0.5;

/// Who is asked, and in which words.
#[derive(Debug)]
pub struct Judge<'a> {
    /// What answers, and where its replies are kept.
    pub recorder: &'a Recorder,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// What chance follows from.
    pub seed: u64,
    /// How answers are read.
    pub reading: Reading,
    /// From which probability on an item is asked for, where probabilities are read.
    pub cut: f64,
}

/// What was said, and what asking took.
#[derive(Debug, Default)]
pub(super) struct Said {
    raw: String,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

impl Said {
    fn add(&mut self, reply: &Reply) {
        self.note(&reply.content, reply.usage);
    }

    pub(super) fn note(&mut self, said: &str, usage: Option<Usage>) {
        if !self.raw.is_empty() {
            self.raw.push('\n');
        }
        self.raw.push_str(said);
        if let Some(usage) = usage {
            *self.prompt_tokens.get_or_insert(0) += usage.input;
            *self.completion_tokens.get_or_insert(0) += usage.output;
        }
    }
}

impl Judge<'_> {
    /// What its rows are called after: readings of one backend are judges of their own.
    pub fn name(&self) -> String {
        match self.reading {
            Reading::Text => self.recorder.name().to_owned(),
            Reading::Probabilities => format!("{}:probabilities", self.recorder.name()),
        }
    }

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
            judge: self.name(),
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
        let by_probabilities = self.reading == Reading::Probabilities;
        let answered = match metric {
            Metric::Paper if by_probabilities => {
                self.counted(list, review, &mut said).map(|count| row.count = Some(count))
            }
            Metric::Items if by_probabilities => self.chosen(list, review, &mut said).map(|items| row.items = items),
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
        self.prompts.step(self.step(metric))
    }

    fn step(&self, metric: Metric) -> &'static str {
        match metric {
            Metric::Items if self.reading == Reading::Probabilities => "asked",
            Metric::Paper => "count",
            Metric::Rating => "rating",
            Metric::Items => "items",
            Metric::Claims => "claims",
        }
    }

    fn ask<T>(
        &self,
        metric: Metric,
        repeat: u32,
        data: &[(&str, &str)],
        schema: Option<Value>,
        said: &mut Said,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let template = self.template(metric);
        let request = Request {
            repeat,
            seed: self.seed,
            schema,
            step: self.step(metric).to_owned(),
            ..Request::of_user(template.fill(data), template.max_output)
        };
        let told = |failure: Failure| failure.to_string();
        let (understood, reply) = ask(self.recorder, &request, |reply| read(&reply.content)).map_err(told)?;
        said.add(&reply);
        Ok(understood)
    }

    fn count(&self, repeat: u32, list: &Checklist, review: &Review, said: &mut Said) -> Result<(u64, bool), String> {
        let checklist = list.text();
        let data = [("checklist", checklist.as_str()), ("review", review.text.as_str())];
        self.ask(Metric::Paper, repeat, &data, None, said, |reply| replies::count(reply, list.clean))
    }

    fn rating(&self, repeat: u32, review: &Review, case: Option<&ReviewCase>, said: &mut Said) -> Result<u64, String> {
        let case = case.ok_or("the case is not in the file of cases")?;
        let data = [("diff", case.diff.as_str()), ("review", review.text.as_str())];
        let read = |reply: &str| match replies::count(reply, false)? {
            (rating @ 0..=10, _) => Ok(rating),
            (other, _) => Err(format!("a rating is 0 to 10, got {other}")),
        };
        self.ask(Metric::Rating, repeat, &data, None, said, read)
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
        let (mut judged, mut answers) = (Vec::new(), Vec::new());
        for batch in order.chunks(BATCH) {
            let line = |(i, item): (usize, &usize)| format!("{}. {}", i + 1, list.items[*item].text);
            let shown = batch.iter().enumerate().map(line).collect::<Vec<_>>().join("\n");
            let data = [("checklist", shown.as_str()), ("review", review.text.as_str())];
            let schema = Some(entries_of("items", batch.len(), &ITEM_VERDICTS, "quote"));
            // what failed of one batch does not keep the others from being asked about
            let read = |reply: &str| replies::items(reply, batch.len());
            answers.push((batch, self.ask(Metric::Items, repeat, &data, schema, said, read)));
        }
        for (batch, entries) in answers {
            for (item, entry) in batch.iter().zip(entries?) {
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
        let (mut judged, mut answers) = (Vec::new(), Vec::new());
        for batch in spans.chunks(BATCH) {
            let line =
                |(i, span): (usize, &std::ops::Range<usize>)| format!("{}. {}", i + 1, &review.text[span.clone()]);
            let shown = batch.iter().enumerate().map(line).collect::<Vec<_>>().join("\n");
            let data = [("diff", code[0]), ("before", code[1]), ("after", code[2]), ("passages", shown.as_str())];
            let schema = Some(entries_of("passages", batch.len(), &PASSAGE_VERDICTS, "code"));
            let read = |reply: &str| replies::passages(reply, batch.len());
            answers.push((batch, self.ask(Metric::Claims, repeat, &data, schema, said, read)));
        }
        for (batch, entries) in answers {
            for (span, entry) in batch.iter().zip(entries?) {
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
    fn every_verdict_of_a_form_is_read() {
        for verdict in ITEM_VERDICTS {
            let reply = json!({ "items": [{ "n": 1, "verdict": verdict, "quote": "" }] }).to_string();
            assert_eq!(replies::items(&reply, 1).unwrap().len(), 1, "{verdict}");
        }
        for verdict in PASSAGE_VERDICTS {
            let reply = json!({ "passages": [{ "n": 1, "verdict": verdict, "code": "" }] }).to_string();
            assert_eq!(replies::passages(&reply, 1).unwrap().len(), 1, "{verdict}");
        }
        let schema = entries_of("items", 3, &ITEM_VERDICTS, "quote");
        assert_eq!(schema["properties"]["items"]["items"]["properties"]["n"]["enum"], json!([1, 2, 3]));
    }

    #[test]
    fn the_programs_own_prompts_have_the_places_that_are_filled() {
        let prompts = prompts();
        for (step, places) in [
            ("count", &["checklist", "review", "nonce"][..]),
            ("items", &["checklist", "review", "nonce"]),
            ("asked", &["review", "item", "nonce"]),
            ("claims", &["diff", "before", "after", "passages", "nonce"]),
            ("rating", &["diff", "review", "nonce"]),
            ("safety", &["text", "nonce"]),
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
