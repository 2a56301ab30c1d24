//! A judge beside a finding: one text, one score, and its reasons with their quotes looked up.

use veridiff_facts::judge_finding::{JudgeFinding, JudgeQuote};
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
    let quotes = verdict.map(|verdict| {
        let in_reasons = verdict.explanation.as_deref().map(quoted_code).unwrap_or_default().into_iter();
        // what the text says may be quoted to contradict it
        let of_diff = in_reasons.filter(|code| sample.diff.contains(code) || !sample.text.contains(code));
        verdict.quotes.iter().map(String::as_str).chain(of_diff).collect::<Vec<_>>()
    });
    JudgeFinding {
        judge: judge.recorder().name().to_owned(),
        score: judgement.score(),
        p: judgement.p(judge.settings().threshold),
        kind: verdict.and_then(|verdict| verdict.kind.clone()),
        explanation: verdict.and_then(|verdict| verdict.explanation.clone()),
        quotes: quotes.unwrap_or_default().into_iter().map(|quote| JudgeQuote::of(quote, &sample.diff)).collect(),
        error: judgement.failure().map(ToString::to_string),
    }
}

/// The code that reasons quote, between backticks of one line, each once.
fn quoted_code(reasons: &str) -> Vec<&str> {
    let mut quoted: Vec<&str> = Vec::new();
    for line in reasons.lines() {
        let mut parts: Vec<&str> = line.split('`').collect();
        // one that is open to the end of the line quotes nothing
        if parts.len().is_multiple_of(2) {
            parts.pop();
        }
        let code = parts.into_iter().skip(1).step_by(2).map(str::trim).filter(|code| !code.is_empty());
        for code in code {
            if !quoted.contains(&code) {
                quoted.push(code);
            }
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted_code;

    #[test]
    fn code_between_backticks_is_a_quote() {
        assert_eq!(quoted_code("`x = 3` is not there, ` y` and `x = 3` are"), ["x = 3", "y"]);
        assert_eq!(quoted_code("an open `end\nand ``, `z`"), ["z"]);
        assert!(quoted_code("no code").is_empty());
    }
}
