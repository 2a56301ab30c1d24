//! A language model behind a server as a scorer of texts: the columns of a scorer's family `uncertainty`, from the log-probabilities
//! that the server tells of the sample's text behind its prompt.
//!
//! What is told is exact, or it is null and `note@NAME` says why: logits are never told, and the entropy needs the probabilities of all
//! that could stand at every place of the text. A text of which one token's log-probability is not told has none at all.
//!
//! | column | says |
//! |---|---|
//! | `logprob`, `probability` | means over the text's tokens, as a scorer's |
//! | `entropy` | the same; null unless the server tells the probability of every token at every place |
//! | `logit` | null |
//! | `n_prompt_tokens`, `n_response_tokens` | as the server splits prompt and text |
//! | `status`, `error` | `ok`, or `error` with the reason |
//! | `note` | why a column of an `ok` row is null |

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use veridiff_core::{
    Result,
    families::{FAMILIES, family::SCORER},
    run::source::{ColumnSource, Done},
    settings::{Settings, Targets},
};
use veridiff_facts::case::Case;
use veridiff_table::Row;
use veridiff_text::{prompt::Template, sample::Sample};

use crate::{
    backend::{Backend, GivenText},
    failure::{Failure, JudgeError, Kind},
    judge::mean,
    parallel::in_parallel,
    recorder::Recorder,
};

/// The family whose features a server gives.
const GIVEN: &str = "uncertainty";

/// Why there are no logits.
const NO_LOGIT: &str = "logit: a server tells no logits";

/// A scorer behind a server, and of how many samples it is asked at once.
#[derive(Debug)]
pub struct RemoteScorer {
    recorder: Arc<Recorder>,
    concurrency: usize,
}

impl RemoteScorer {
    /// A source of one server's columns, if it can give what the settings ask for.
    ///
    /// # Errors
    /// Those of [`RemoteScorer::check`]; the replies of a finished study are none about texts.
    pub fn new(recorder: Arc<Recorder>, concurrency: usize, settings: &Settings) -> Result<RemoteScorer, JudgeError> {
        let name = recorder.name();
        RemoteScorer::check(name, settings)?;
        if !recorder.abilities().text_log_probs {
            return Err(JudgeError::settings(
                format!("`{name}` tells no log-probabilities of a text that is given"),
                "name the replies of a run of `score` over a server, TABLE.replies.jsonl",
            ));
        }
        Ok(RemoteScorer { recorder, concurrency: concurrency.max(1) })
    }

    /// Whether a server called `name` could give what the settings ask for, before it is asked anything.
    ///
    /// # Errors
    /// [`JudgeError::Settings`]: a feature, a prompt or a choice of tokens needs a model on this machine.
    pub fn check(name: &str, settings: &Settings) -> Result<(), JudgeError> {
        let error = |problem: String, hint: &str| Err(JudgeError::settings(problem, hint));
        let given: Vec<&str> = FAMILIES
            .iter()
            .filter(|family| family.name == GIVEN)
            .flat_map(|family| (family.features)())
            .map(|feature| feature.name)
            .collect();
        if let Some(feature) = settings.features.names_from(SCORER).find(|name| !given.contains(name)) {
            return error(
                format!("`{feature}` needs a model on this machine, and `{name}` is a server"),
                "a server gives the family uncertainty alone: --features uncertainty,grounding,facts,form",
            );
        }
        if settings.template.as_ref().is_some_and(Template::has_markers) {
            return error(
                format!("the prompt has tokens of its own, and `{name}` reads text"),
                "choose another --prompt",
            );
        }
        if settings.targets == Targets::AppendEos || settings.encode.max_tokens.is_some() {
            return error(
                format!(
                    "the tokens of `{name}` are its server's: none is added, and no diff is cut to a number of them"
                ),
                "leave --targets append-eos and --max-tokens out; a request that is too long is an error of its row",
            );
        }
        Ok(())
    }

    /// What answers.
    pub fn recorder(&self) -> Arc<Recorder> {
        self.recorder.clone()
    }

    /// What the server says of a sample's text.
    fn given(&self, sample: &Sample, settings: &Settings) -> Result<GivenText, Failure> {
        let case = Case::of_sample(sample).map_err(|error| Failure::new(Kind::Malformed, error.to_string()))?;
        let template = settings.template.clone().unwrap_or_else(|| Template::for_task(case.task()));
        let prompt = template.render(case.diff().text()).text;
        let given = self.recorder.log_probs(&prompt, case.text())?;
        let not_told = |why: &str| Err(Failure::new(Kind::NoLogprobs, why));
        if let Some(mark) = given.marks.first().filter(|_| !settings.encode.parse_special) {
            return not_told(&format!("the server reads `{mark}` in the data as a mark of its own and not as text"));
        }
        if given.tokens.is_empty() {
            return not_told("the text has no tokens");
        }
        Ok(given)
    }

    fn part(&self, sample: &Sample, settings: &Settings) -> Row {
        let given = self.given(sample, settings);
        let mut row = Row::new();
        let mut put = |column: &str, value: Option<Value>| {
            row.insert(format!("{column}@{}", self.recorder.name()), value.unwrap_or(Value::Null));
        };
        let entropies = given.as_ref().ok().and_then(entropies);
        for feature in settings.features.names_from(SCORER) {
            let log_probs = || given.as_ref().ok().map(|given| given.tokens.iter().filter_map(|token| token.log_prob));
            let value = match feature {
                "logprob" => log_probs().map(mean),
                "probability" => log_probs().map(|of| mean(of.map(f64::exp))),
                "entropy" => entropies.as_ref().map(|of| mean(of.iter().copied())),
                _ => None,
            };
            put(feature, value.map(Value::from));
        }
        put("status", Some(if given.is_ok() { "ok" } else { "error" }.into()));
        put("error", given.as_ref().err().map(|failure| failure.to_string().into()));
        put("n_prompt_tokens", given.as_ref().ok().map(|given| given.n_prompt.into()));
        put("n_response_tokens", given.as_ref().ok().map(|given| given.tokens.len().into()));
        put("note", given.as_ref().ok().and_then(|given| note(given, settings)).map(Value::from));
        row
    }
}

/// The entropies of all tokens, if all are told.
fn entropies(given: &GivenText) -> Option<Vec<f64>> {
    given.tokens.iter().map(|token| token.entropy).collect()
}

/// Why columns of a row are null that the settings ask for.
fn note(given: &GivenText, settings: &Settings) -> Option<String> {
    let wants = |name: &str| settings.features.names_from(SCORER).any(|feature| feature == name);
    let entropy = match (entropies(given), given.least_mass) {
        (Some(_), _) => None,
        (None, Some(mass)) => {
            Some(format!("entropy: the probabilities that are told of one place add up to {mass:.6}, not to 1"))
        }
        (None, None) => Some("entropy: the server is asked for the text's own tokens alone".to_owned()),
    };
    let notes: Vec<String> = [entropy.filter(|_| wants("entropy")), wants("logit").then(|| NO_LOGIT.to_owned())]
        .into_iter()
        .flatten()
        .collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

impl ColumnSource for RemoteScorer {
    fn name(&self) -> &str {
        self.recorder.name()
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        let identity = self.recorder.identity();
        let of = |key: &str| identity.get(key).map_or("", String::as_str);
        // a detector that was fitted on these columns knows the model by where it stands: its weights are not seen
        let weights = ("weights".to_owned(), format!("openai:{}#{}", of("base_url"), of("asked_model")));
        let known = self.recorder.reported().into_iter().chain(identity.clone()).chain([weights]);
        known.map(|(key, value)| (format!("{key}@{}", self.name()), value)).collect()
    }

    fn columns(&mut self, samples: &[&Sample], settings: &Settings, done: &mut Done<'_>) -> Result<()> {
        let this = &*self;
        in_parallel(samples.len(), this.concurrency, |index| this.part(samples[index], settings), done);
        Ok(())
    }
}
