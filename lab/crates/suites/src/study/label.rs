//! What is to be said of a judge's reasons, asked of a backend: whether they agree with the verdict (A1), whether they name the true
//! fault of a buggy program (A2), and why a correct one was rejected.

use serde::Deserialize;
use serde_json::{Value, json};
use veridiff_judge::{backend::Request, failure::Failure, recorder::Recorder};

use super::{
    parse::Said,
    tables::{REASONS, Row},
    task::Truth,
};
use crate::ask::{Prompts, ask, object};

const AGREEMENTS: [&str; 3] = ["consistent", "contradiction", "unclear"];
const DIRECTIONS: [&str; 3] = ["none", "NO_but_positive", "YES_but_negative"];
const NAMED: [&str; 4] = ["match", "mismatch", "not_mentioned", "unclear"];

/// The prompts that come with the program.
pub fn prompts() -> Prompts {
    Prompts::own(include_str!("labels.toml"))
}

/// What can be asked of a row's reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Whether they agree with the verdict: `a1` and what belongs to it.
    Consistency,
    /// Whether they name the fault of a buggy program, and how it shows: `a2_bug`, `a2_symptoms`.
    Awareness,
    /// Why a correct program was rejected: `reason`.
    Reason,
}

impl Question {
    /// All of them.
    pub const ALL: [Question; 3] = [Question::Consistency, Question::Awareness, Question::Reason];

    /// The step of the prompts.
    pub fn step(self) -> &'static str {
        match self {
            Question::Consistency => "consistency",
            Question::Awareness => "awareness",
            Question::Reason => "reason",
        }
    }

    /// Whether it is to be asked of a row: it has reasons that the question is about, and nobody has answered it.
    pub fn is_open(self, row: &Row) -> bool {
        let has_reasons = row.rationale.as_deref().is_some_and(|text| !text.trim().is_empty());
        has_reasons
            && matches!(row.verdict, Some(Said::Yes | Said::No))
            && match self {
                Question::Consistency => row.a1.is_none(),
                Question::Awareness => {
                    row.truth != Truth::Correct
                        && row.bug_type.is_some()
                        && row.a2_bug.is_none()
                        && row.a2_symptoms.is_none()
                }
                Question::Reason => {
                    row.truth == Truth::Correct && row.verdict == Some(Said::No) && row.reason.is_none()
                }
            }
    }

    fn schema(self) -> Value {
        let one_of = |words: &[&str]| json!({ "type": "string", "enum": words });
        let properties = match self {
            Question::Consistency => json!({
                "evidence": { "type": "string", "maxLength": 300 },
                "agreement": one_of(&AGREEMENTS),
                "direction": one_of(&DIRECTIONS),
                "confidence": { "type": "integer", "minimum": 0, "maximum": 100 },
            }),
            Question::Awareness => json!({ "fault": one_of(&NAMED), "symptoms": one_of(&NAMED) }),
            Question::Reason => json!({ "reason": one_of(&REASONS) }),
        };
        let keys: Vec<&String> = properties.as_object().into_iter().flat_map(|all| all.keys()).collect();
        let required = json!(keys);
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }
}

#[derive(Deserialize)]
struct Agreement {
    evidence: String,
    agreement: String,
    direction: String,
    confidence: f64,
}

#[derive(Deserialize)]
struct Awareness {
    fault: String,
    symptoms: String,
}

#[derive(Deserialize)]
struct Rejection {
    reason: String,
}

/// A backend that labels reasons.
pub struct Labeller {
    recorder: Recorder,
    prompts: Prompts,
}

impl Labeller {
    /// Of a backend and the prompts that it is given.
    pub fn new(recorder: Recorder, prompts: Prompts) -> Labeller {
        Labeller { recorder, prompts }
    }

    /// Who labels.
    pub fn name(&self) -> &str {
        self.recorder.name()
    }

    /// Writes the answer to a question into a row whose program is to meet `requirement`; one that cannot be had leaves the row as it is.
    ///
    /// # Errors
    /// The backend's failure, or [`Malformed`](veridiff_judge::failure::Kind::Malformed) with what is wrong with its last answer.
    pub fn label(&self, question: Question, requirement: &str, row: &mut Row) -> Result<(), Failure> {
        let template = self.prompts.step(question.step());
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (rationale, bug_type, symptoms) = (text(&row.rationale), text(&row.bug_type), text(&row.failure_symptoms));
        let said = if row.verdict == Some(Said::Yes) { "Yes" } else { "No" };
        let prompt = template.fill(&[
            ("verdict", said),
            ("rationale", rationale.trim()),
            ("requirement", requirement.trim_end()),
            ("code", row.code.trim_end()),
            ("bug_type", &bug_type),
            ("failure_symptoms", if symptoms.is_empty() { "not known" } else { &symptoms }),
        ]);
        let request = Request {
            schema: Some(question.schema()),
            step: question.step().to_owned(),
            ..Request::of_user(prompt, template.max_output)
        };
        let (labels, _) = ask(&self.recorder, &request, |reply| labels(question, &reply.content))?;
        labels.write(row);
        row.labelled_by = Some(self.name().to_owned());
        Ok(())
    }
}

/// What a question was answered with.
enum Labels {
    Consistency(Agreement),
    Awareness(Awareness),
    Reason(&'static str),
}

impl Labels {
    fn write(self, row: &mut Row) {
        match self {
            Labels::Consistency(said) => {
                row.a1_type = Some(said.direction).filter(|direction| direction != "none");
                (row.a1, row.a1_evidence) = (Some(said.agreement), Some(said.evidence));
                row.a1_confidence = Some(said.confidence);
            }
            Labels::Awareness(said) => (row.a2_bug, row.a2_symptoms) = (Some(said.fault), Some(said.symptoms)),
            Labels::Reason(reason) => row.reason = Some(reason.to_owned()),
        }
    }
}

/// An answer, if it is one of the question's.
fn labels(question: Question, reply: &str) -> Result<Labels, String> {
    let known = |word: &str, words: &[&'static str]| {
        let word = word.trim();
        words
            .iter()
            .find(|known| known.eq_ignore_ascii_case(word))
            .copied()
            .ok_or(format!("`{word}` is none of {words:?}"))
    };
    Ok(match question {
        Question::Consistency => {
            let mut said: Agreement = object(reply)?;
            said.agreement = known(&said.agreement, &AGREEMENTS)?.to_owned();
            said.direction = known(&said.direction, &DIRECTIONS)?.to_owned();
            // a direction belongs to a contradiction, and to nothing else
            match (said.agreement == "contradiction", said.direction == "none") {
                (true, true) => return Err("a contradiction without a direction".into()),
                (false, _) => said.direction = "none".to_owned(),
                (true, false) => {}
            }
            if !(0.0..=100.0).contains(&said.confidence) {
                return Err(format!("a confidence is 0 to 100, got {}", said.confidence));
            }
            Labels::Consistency(said)
        }
        Question::Awareness => {
            let said: Awareness = object(reply)?;
            let named = |word: &str| known(word, &NAMED).map(str::to_owned);
            Labels::Awareness(Awareness { fault: named(&said.fault)?, symptoms: named(&said.symptoms)? })
        }
        Question::Reason => {
            let said: Rejection = object(reply)?;
            Labels::Reason(known(&said.reason, &REASONS)?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(truth: Truth, said: Said) -> Row {
        let line = json!({ "task_id": "t", "dataset": "d", "variant": "v", "truth": truth, "judge": "j", "mode": "full", "verdict": said,
                           "rationale": "It adds where it must not.", "bug_type": "operator misuse" });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn each_question_is_asked_of_the_rows_it_is_about() {
        let open = |row: &Row| Question::ALL.map(|question| question.is_open(row));
        assert_eq!(open(&row(Truth::Correct, Said::No)), [true, false, true]);
        assert_eq!(open(&row(Truth::Correct, Said::Yes)), [true, false, false]);
        assert_eq!(open(&row(Truth::Buggy, Said::No)), [true, true, false]);
        assert_eq!(open(&row(Truth::Buggy, Said::Unparsed)), [false; 3]);
        let bare = Row { rationale: Some(" \n".into()), ..row(Truth::Correct, Said::No) };
        assert_eq!(open(&bare), [false; 3], "a verdict without reasons");
        let known = Row { a1: Some("unclear".into()), reason: Some("Other".into()), ..row(Truth::Correct, Said::No) };
        assert_eq!(open(&known), [false; 3], "what others have said stands");
    }

    #[test]
    fn answers_are_labels_or_nothing() {
        let read = |question, reply: &str| {
            let mut row = row(Truth::Correct, Said::No);
            labels(question, reply).map(|labels| {
                labels.write(&mut row);
                row
            })
        };
        let said = |agreement: &str, direction: &str, confidence: f64| {
            json!({ "evidence": "it", "agreement": agreement, "direction": direction, "confidence": confidence })
                .to_string()
        };
        let one =
            read(Question::Consistency, &format!("```json\n{}\n```", said("Contradiction", "no_but_positive", 80.0)));
        let one = one.unwrap();
        assert_eq!((one.a1.as_deref(), one.a1_type.as_deref()), (Some("contradiction"), Some("NO_but_positive")));
        assert_eq!((one.a1_evidence.as_deref(), one.a1_confidence), (Some("it"), Some(80.0)));
        let clear = read(Question::Consistency, &said("consistent", "YES_but_negative", 80.0)).unwrap();
        assert_eq!((clear.a1.as_deref(), clear.a1_type), (Some("consistent"), None));
        let reason = read(Question::Reason, r#"{"reason": "boundary error"}"#).unwrap();
        assert_eq!(reason.reason.as_deref(), Some("Boundary Error"));
        let two = read(Question::Awareness, r#"{"fault": "mismatch", "symptoms": "unclear"}"#).unwrap();
        assert_eq!((two.a2_bug.as_deref(), two.a2_symptoms.as_deref()), (Some("mismatch"), Some("unclear")));
        for (question, reply) in [
            (Question::Consistency, said("contradiction", "none", 80.0)),
            (Question::Consistency, said("agrees", "none", 80.0)),
            (Question::Consistency, said("unclear", "none", 180.0)),
            (Question::Reason, r#"{"reason": "Laziness"}"#.into()),
            (Question::Awareness, r#"{"fault": "match"}"#.into()),
            (Question::Reason, "} Other {".into()),
            (Question::Reason, String::new()),
        ] {
            assert!(read(question, &reply).is_err(), "{reply}");
        }
    }

    #[test]
    fn every_prompt_has_the_places_that_it_needs() {
        let prompts = prompts();
        for (question, places) in [
            (Question::Consistency, &["verdict", "rationale"][..]),
            (Question::Awareness, &["verdict", "rationale", "bug_type", "failure_symptoms"]),
            (Question::Reason, &["requirement", "code", "rationale"]),
        ] {
            let template = prompts.step(question.step());
            assert!(places.iter().chain(&["nonce"]).all(|place| template.has(place)), "{question:?}");
            assert!(question != Question::Reason || REASONS.iter().all(|reason| template.text.contains(reason)));
        }
    }

    #[test]
    fn the_words_change_only_on_purpose() {
        let hashes = prompts().hashes().into_values().map(|hash| hash[..8].to_owned()).collect::<Vec<_>>();
        assert_eq!(hashes, ["5681810c", "434f2502", "cf178689"]);
    }
}
