//! A judge as a source of columns, many samples at once.
//!
//! Columns end in `@` and the judge's name. `<s>` is a strategy:
//!
//! | column | type | says |
//! |---|---|---|
//! | `judge_<s>` | 0 to 4 | the score: expected by the digits' probabilities, or as written; the mean of repeats |
//! | `judge_<s>_p` | 0 to 1 | the probability that the score is at least the threshold |
//! | `judge_<s>_entropy`, `_mass` | nats; 0 to 1 | of the five digits, where they are read |
//! | `judge_<s>_agrees` | 0 to 1 | share of answers whose written score is the most probable one, where digits are read and scores written |
//! | `judge_<s>_quotes` | 0 to 1 | share of the judge's quotes that stand in the diff; null if it quotes nothing |
//! | `judge_<s>_sd`, `_flip` | 0 to 2; 0 to 1 | deviation of repeats; share of them that is not of the majority |
//! | `judge_<s>_answer`, `_kind`, `_explanation` | text | of the first readable answer, as data |
//! | `judge_<s>_status`, `_error` | text | `ok`, `error` or `skipped`; null if the cascade did not ask; what failed |
//! | `judge_mean`, `_max`, `_votes`, `_flag` | | of several strategies; null where a member is missing or the panel abstains |
//! | `judge_final` | 0 to 1 | with a cascade: the probability by the last strategy that was asked |
//! | `n_judge_replies`, `_in`, `_cached`, `_out`, `_reasoning` | count | replies and tokens; null where replies do not say |
//! | `judge_cost` | currency | the replies' cost; null where prices or tokens are not known |
//! | `judge_note` | text | invisible characters and guessable tags in the data |
//! | `status`, `error` | text | `error` if some strategy could not judge, so that a resumed run asks again; the first failure |

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use serde_json::Value;
use veridiff_core::{
    Result,
    run::source::{ColumnSource, Done},
    settings::Settings as ScoreSettings,
};
use veridiff_table::Row;
use veridiff_text::sample::Sample;

use crate::{
    backend::{Backend, Request},
    judge::{Judge, JudgedSample, ScoreReading, Spent, mean},
    panel::{Member, Panel},
    parallel::in_parallel_by,
    prompts::Strategy,
};

/// A judge, and how many samples it judges at once.
#[derive(Debug)]
pub struct JudgeSource {
    judge: Arc<Judge>,
    concurrency: usize,
}

/// The part of a row, and the requests that got no verdict.
struct Part {
    row: Row,
    given_up: Vec<(Request, u32)>,
}

impl JudgeSource {
    /// A source of one judge's columns.
    pub fn new(judge: Arc<Judge>, concurrency: usize) -> JudgeSource {
        JudgeSource { judge, concurrency: concurrency.max(1) }
    }

    /// Makes all requests about a sample that can be made, and forgets what came of them: for a backend that only notes them.
    pub fn ask(&self, sample: &Sample) {
        drop(self.part(sample));
    }

    fn part(&self, sample: &Sample) -> Part {
        let settings = self.judge.settings();
        let mut columns = Columns { name: self.judge.recorder().name(), row: Row::new() };
        let (mut spent, mut given_up) = (Spent::default(), Vec::new());
        let (mut error, mut note) = (None, None);
        let (mut members, mut last_p) = (Vec::new(), None);
        for (place, &strategy) in settings.strategies.iter().enumerate() {
            let is_asked = match settings.cascade {
                Some((low, high)) if place > 0 => last_p.is_some_and(|p| (low..=high).contains(&p)),
                _ => true,
            };
            if !is_asked {
                columns.judgement(strategy, None, &self.judge, sample);
                continue;
            }
            let judgement = self.judge.judge(sample, strategy);
            columns.judgement(strategy, Some(&judgement), &self.judge, sample);
            spent += judgement.spent;
            let p = judgement.p(settings.threshold);
            let member = judgement.score().zip(p).map(|(score, p)| Member { score, is_flagged: p >= 0.5 });
            if member.is_none() && error.is_none() {
                error = judgement.failure().map(|failure| format!("{strategy}: {failure}"));
            }
            members.push(member);
            last_p = p;
            note = note.or(judgement.note);
            given_up.extend(judgement.given_up);
        }
        if settings.cascade.is_some() {
            columns.put("judge_final", last_p);
        } else if settings.strategies.len() > 1 {
            columns.panel(Panel::of(&members, settings.panel));
        }
        columns.spent(spent, &self.judge);
        columns.put("judge_note", note);
        columns.put("status", Some(if error.is_some() { "error" } else { "ok" }));
        columns.put("error", error);
        Part { row: columns.row, given_up }
    }
}

/// The columns of one sample in the making.
struct Columns<'a> {
    name: &'a str,
    row: Row,
}

impl Columns<'_> {
    fn put(&mut self, column: &str, value: Option<impl Into<Value>>) {
        self.row.insert(format!("{column}@{}", self.name), value.map_or(Value::Null, Into::into));
    }

    /// The columns of a strategy; all null if it was not asked.
    fn judgement(&mut self, strategy: Strategy, judgement: Option<&JudgedSample>, judge: &Judge, sample: &Sample) {
        let settings = judge.settings();
        let scored = judgement.and_then(JudgedSample::scored);
        let scored = scored.as_deref();
        let column = |what: &str| format!("judge_{strategy}{what}");
        let score = judgement.and_then(JudgedSample::score);
        let p = judgement.and_then(|judgement| judgement.p(settings.threshold));
        self.put(&column(""), score);
        self.put(&column("_p"), p);
        if settings.reading == ScoreReading::Digits {
            let levels = |of: fn(&crate::levels::Levels) -> f64| {
                scored.map(|scored| mean(scored.iter().filter_map(|scored| scored.levels.as_ref()).map(of)))
            };
            self.put(&column("_entropy"), levels(|levels| levels.entropy()));
            self.put(&column("_mass"), levels(|levels| levels.mass));
            let agrees = |scored: &&crate::judge::Scored| {
                let likely = scored.levels.map(|levels| levels.most_probable());
                f64::from(u8::from(likely == Some(scored.verdict.answer)))
            };
            let written = scored.filter(|scored| scored.iter().all(|scored| scored.is_written));
            self.put(&column("_agrees"), written.map(|scored| mean(scored.iter().map(agrees))));
        }
        let quotes: Vec<&String> = scored.unwrap_or_default().iter().flat_map(|s| &s.verdict.quotes).collect();
        let stands = |quote: &&String| f64::from(u8::from(sample.diff.contains(quote.as_str())));
        self.put(&column("_quotes"), (!quotes.is_empty()).then(|| mean(quotes.iter().map(stands))));
        if settings.repeats > 1 {
            let deviation = scored
                .zip(score)
                .map(|(scored, centre)| mean(scored.iter().map(|scored| (scored.score() - centre).powi(2))).sqrt());
            let flip = scored.map(|scored| {
                let share = mean(scored.iter().map(|s| f64::from(u8::from(s.p(settings.threshold) >= 0.5))));
                share.min(1.0 - share)
            });
            self.put(&column("_sd"), deviation);
            self.put(&column("_flip"), flip);
        }
        let first = scored.and_then(|scored| scored.first()).map(|scored| &scored.verdict);
        self.put(&column("_answer"), first.map(|verdict| verdict.answer));
        self.put(&column("_kind"), first.and_then(|verdict| verdict.kind.clone()));
        self.put(&column("_explanation"), first.and_then(|verdict| verdict.explanation.clone()));
        let failure = judgement.and_then(JudgedSample::failure);
        let status = judgement.map(|_| match failure {
            _ if scored.is_some() => "ok",
            Some(failure) if failure.kind.is_skip() => "skipped",
            _ => "error",
        });
        self.put(&column("_status"), status);
        self.put(&column("_error"), failure.map(ToString::to_string));
    }

    fn panel(&mut self, panel: Panel) {
        self.put("judge_mean", panel.mean);
        self.put("judge_max", panel.max);
        self.put("judge_votes", panel.votes);
        self.put("judge_flag", panel.is_flagged.map(u8::from));
    }

    fn spent(&mut self, spent: Spent, judge: &Judge) {
        let says = spent.n_silent == 0;
        self.put("n_judge_replies", Some(spent.n_replies));
        for (column, n) in [
            ("n_judge_in", spent.usage.input),
            ("n_judge_cached", spent.usage.cached_input),
            ("n_judge_out", spent.usage.output),
            ("n_judge_reasoning", spent.usage.reasoning),
        ] {
            self.put(column, says.then_some(n));
        }
        let prices = judge.recorder().prices().filter(|_| says);
        self.put("judge_cost", prices.map(|prices| prices.units(spent.cost)));
    }
}

impl ColumnSource for JudgeSource {
    fn name(&self) -> &str {
        self.judge.recorder().name()
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        let (settings, set) = (self.judge.settings(), self.judge.set());
        let names = settings.strategies.iter().map(|strategy| strategy.name()).collect::<Vec<_>>().join(",");
        let mut own = self.judge.recorder().identity();
        own.extend(self.judge.recorder().reported());
        own.extend(
            [
                ("prompts", set.name().to_owned()),
                ("prompts_sha256", set.hash(&settings.strategies, |strategy| settings.is_brief(strategy))),
                ("strategies", names),
                ("reading", settings.reading.to_string()),
                ("threshold", settings.threshold.to_string()),
                ("temperature", settings.temperature.to_string()),
                ("seed", settings.seed.to_string()),
                ("repeats", settings.repeats.to_string()),
                ("max_output", settings.max_output.to_string()),
            ]
            .map(|(key, value)| (key.to_owned(), value)),
        );
        own.extend(settings.cascade.map(|(low, high)| ("cascade".to_owned(), format!("{low},{high}"))));
        if settings.strategies.len() > 1 {
            own.insert("panel".to_owned(), settings.panel.to_string());
        }
        let currency = self.judge.recorder().prices().map(|prices| prices.currency.clone());
        own.extend(currency.map(|currency| ("currency".to_owned(), currency)));
        own.into_iter().map(|(key, value)| (format!("{key}@{}", self.name()), value)).collect()
    }

    fn columns(&mut self, samples: &[&Sample], _settings: &ScoreSettings, done: &mut Done<'_>) -> Result<()> {
        let this = &*self;
        in_parallel_by(
            samples.len(),
            this.concurrency,
            |index| samples[index].diff.as_str(),
            |index| this.part(samples[index]),
            |index, Part { row, given_up }| {
                done(index, row)?;
                // only now that the row is kept does a resumed run have to ask anew
                for (first, n_attempts) in given_up {
                    if let Err(failure) = this.judge.recorder().give_up(&first, n_attempts) {
                        tracing::warn!("a resumed run will not ask `{}` anew: {failure}", samples[index].id);
                    }
                }
                ControlFlow::Continue(())
            },
        );
        Ok(())
    }
}
