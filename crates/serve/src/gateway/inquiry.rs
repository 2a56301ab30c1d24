//! The question to the workers about an answer, and what is said of it. It never fails: where there is no verdict, it says why.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::Serialize;
use tokio::{
    runtime::Handle,
    task::{JoinSet, spawn_blocking},
    time::timeout,
};
use veridiff_core::generator;
use veridiff_facts::{finding::Finding, verdict::Verdict};
use veridiff_text::sample::{Sample, settle_changes};

use super::{
    Refuses,
    named::Change,
    written::{Choice, Choices, Reader, with_field},
};
use crate::{
    answers::Answers,
    body::Terms,
    meter::NO_VERDICT,
    refusal::{ErrorPart, Refusal},
    service::Service,
    tokens::Client,
    traces::{PLACE, Place},
    work::{Reading, Work},
};

/// What an answer is asked about.
pub(super) struct Inquiry {
    service: Arc<Service>,
    client: Arc<Client>,
    change: Result<Change, Refusal>,
    refuses: Arc<Refuses>,
    within: Duration,
    place: Option<Place>,
}

/// What is said of an answer: the field that it gets.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Attached {
    /// Each text of the answer that is not empty.
    choices: Vec<AttachedChoice>,
    /// Why there is nothing said; null where there is.
    error: Option<ErrorPart>,
}

/// What is said of one text.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct AttachedChoice {
    /// Its place in the answer, as the generator numbers it.
    index: u64,
    /// The finding of `check --json`; its id is the index.
    finding: Box<Finding>,
    /// What the generator gave its own tokens; null where it sends no log-probabilities.
    generator: Option<Likelihood>,
}

/// What a generator gave the tokens of its text.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Likelihood {
    /// How many tokens it told.
    n_tokens: usize,
    /// The features that follow from its log-probabilities, by the names of their columns, as a sample may have them among its keys.
    features: BTreeMap<String, f64>,
}

impl Likelihood {
    fn of(choice: &Choice) -> Option<Likelihood> {
        let n_tokens = choice.logprobs.len();
        (n_tokens > 0).then(|| Likelihood { n_tokens, features: generator::features(&choice.logprobs) })
    }
}

/// What is said of an answer, and what follows.
pub(super) struct Said {
    attached: Attached,
    problem: Option<Refusal>,
    is_refused: bool,
}

impl Said {
    /// Nothing, for this reason.
    pub fn unchecked(problem: Refusal) -> Said {
        let attached = Attached { choices: Vec::new(), error: Some(ErrorPart::of(&problem)) };
        Said { attached, problem: Some(problem), is_refused: false }
    }

    /// Why nothing is said.
    pub fn problem(&self) -> Option<&Refusal> {
        self.problem.as_ref()
    }

    /// The worst verdict, if there is one.
    pub fn worst(&self) -> Option<Verdict> {
        self.attached.choices.iter().filter_map(|choice| choice.finding.verdict).max()
    }

    /// Whether a text of the answer is one that is refused.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// The field, as JSON.
    pub fn field(&self) -> String {
        serde_json::to_string(&self.attached).unwrap_or_else(|_| "null".to_owned())
    }

    /// A whole answer with the field; none if it is no object.
    pub fn attached_to(&self, answer: &[u8]) -> Option<Vec<u8>> {
        with_field(answer, &self.field())
    }
}

impl Inquiry {
    /// About answers to this client's request, with the change that it names or why it names none.
    pub fn new(
        service: &Arc<Service>,
        client: &Arc<Client>,
        change: Result<Change, Refusal>,
        refuses: Arc<Refuses>,
        within: Duration,
    ) -> Inquiry {
        let place = PLACE.try_get().ok().flatten();
        Inquiry { service: Arc::clone(service), client: Arc::clone(client), change, refuses, within, place }
    }

    /// Asks about what is read, and waits for what is said.
    pub async fn of(self, read: impl FnOnce() -> Result<Choices, Refusal> + Send + 'static) -> Said {
        let (service, client, within) = (Arc::clone(&self.service), Arc::clone(&self.client), self.within);
        // a task of its own: a panic ends it alone, and who does not wait any more takes it along
        let mut asking = JoinSet::new();
        asking.spawn(PLACE.scope(self.place, self.answered(read)));
        let said = match timeout(within, asking.join_next()).await {
            Ok(Some(Ok(said))) => said.unwrap_or_else(Said::unchecked),
            Ok(Some(Err(_)) | None) => Said::unchecked(Refusal::Fault),
            Err(_) => Said::unchecked(Refusal::Late(within)),
        };
        told(&service, &client, &said);
        said
    }

    /// Asks about what was read, for who counts and logs alone.
    pub fn observe(self, reader: Reader) {
        // a body that is dropped with the service has nobody left who could be asked
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(self.of(move || reader.end()));
        }
    }

    /// Counts an answer about which nothing is asked.
    pub fn untold(&self, problem: &Refusal) {
        unchecked(&self.service, &self.client, problem);
    }

    async fn answered(self, read: impl FnOnce() -> Result<Choices, Refusal> + Send + 'static) -> Result<Said, Refusal> {
        let Inquiry { service, client, change, refuses, within, .. } = self;
        let change = change?;
        // texts and changes may be long: nothing of them is looked through on the threads of the sockets
        let prepared = spawn_blocking(move || {
            let (mut told, mut samples) = (Vec::new(), Vec::new());
            for (index, choice) in read()? {
                let generator = Likelihood::of(&choice);
                // numbers that JSON cannot hold are none
                let given = generator.iter().flat_map(|told| &told.features);
                let extra = given.map(|(name, value)| (name.clone(), (*value).into())).collect();
                let sample = Sample::new(&index.to_string(), &change.diff, &choice.text);
                samples.push(Sample { task: change.task, extra, ..sample });
                told.push((index, generator));
            }
            settle_changes(&mut samples);
            Ok::<_, Refusal>((told, samples))
        });
        let (told, samples) = prepared.await.map_err(|_| Refusal::Fault)??;
        let lent = service.room.lend(samples.iter().map(|sample| sample.diff.len() + sample.text.len()).sum())?;
        let work = samples.into_iter().map(|sample| Work::Sample(Reading::Check, sample)).collect();
        let outputs = Answers::to(&service, &client, work, Terms { lent, within })?.all().await?;
        let mut said =
            Said { attached: Attached { choices: Vec::new(), error: None }, problem: None, is_refused: false };
        for ((index, generator), output) in told.into_iter().zip(outputs) {
            let finding = output.finding.ok_or(Refusal::Fault)?;
            said.is_refused |= refuses(&finding);
            said.attached.choices.push(AttachedChoice { index, finding, generator });
        }
        Ok(said)
    }
}

fn told(service: &Service, client: &Client, said: &Said) {
    if let Some(problem) = &said.problem {
        return unchecked(service, client, problem);
    }
    for AttachedChoice { finding, generator, .. } in &said.attached.choices {
        let verdict = finding.verdict.map_or(NO_VERDICT, Verdict::name);
        service.meter.verdict(verdict);
        let logprob = generator.as_ref().and_then(|told| told.features.get("logprob@generator"));
        let p = finding.p_hallucination;
        tracing::info!(client = client.name, verdict, p, logprob, "an answer was checked");
    }
}

fn unchecked(service: &Service, client: &Client, problem: &Refusal) {
    let code = problem.code();
    service.meter.unchecked(code);
    tracing::info!(client = client.name, code, "an answer was not checked: {problem}");
}
