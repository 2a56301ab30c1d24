//! A judge beside a finding: one text, one score, and its reasons with their quotes looked up.

use veridiff_core::judged::{JudgeFinding, JudgeQuote};
use veridiff_text::sample::Sample;

use crate::{
    backend::Backend,
    failure::JudgeError,
    judge::{Judge, ScoreReading, Settings},
    prompts::{PromptSet, Strategy},
    recorder::Recorder,
};

/// A judge that gives reasons for its scores: at once, by the digits' probabilities where the backend has them.
///
/// # Errors
/// As [`Judge::new`].
pub fn judge_with_reasons(recorder: Recorder) -> Result<Judge, JudgeError> {
    let reading = if recorder.abilities().log_probs { ScoreReading::Digits } else { ScoreReading::Text };
    Judge::new(recorder, PromptSet::builtin(), Settings { reading, explain: true, ..Settings::default() })
}

/// What a judge says of a sample by its first strategy.
pub fn finding_of(judge: &Judge, sample: &Sample) -> JudgeFinding {
    let strategy = judge.settings().strategies.first().copied().unwrap_or(Strategy::Direct);
    let judgement = judge.judge(sample, strategy);
    let scored = judgement.scored();
    let verdict = scored.as_ref().and_then(|scored| scored.first()).map(|scored| &scored.verdict);
    let quotes = verdict.map_or(&[][..], |verdict| &verdict.quotes);
    JudgeFinding {
        judge: judge.recorder().name().to_owned(),
        score: judgement.score(),
        p: judgement.p(judge.settings().threshold),
        kind: verdict.and_then(|verdict| verdict.kind.clone()),
        explanation: verdict.and_then(|verdict| verdict.explanation.clone()),
        quotes: quotes.iter().map(|quote| JudgeQuote::of(quote, &sample.diff)).collect(),
        error: judgement.failure().map(ToString::to_string),
    }
}
