//! What workers do: samples and texts become JSON, by the code that the command prints it with.

use std::{ops::ControlFlow, sync::Arc, time::Instant};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use veridiff_core::{
    families::{catalogue::FeatureSet, family::SCORER},
    run::{
        models::ModelOptions,
        references::{Choice, References},
        score::ScoreRun,
        source::ColumnSource,
        sources::ScorerSource,
    },
    settings::Settings,
};
use veridiff_facts::{checker::SharedTree, finding::Finding};
use veridiff_report::explain::{Explanation, html_page};
use veridiff_text::sample::Sample;

use crate::{
    completion::Completion, limits::Lent, queue::Waiting, refusal::Refusal, resident::Resident, traces::Place,
};

/// One thing to compute.
#[derive(Debug)]
pub(crate) enum Work {
    /// Something about a change and a text.
    Sample(Reading, Sample),
    /// What a model makes of a text by itself.
    Complete(Completion),
}

/// What is wanted of a sample.
#[derive(Debug, Clone)]
pub(crate) enum Reading {
    /// A finding, as `check --json` prints it.
    Check,
    /// A finding, where more is known of the tree than the change shows.
    CheckIn(Arc<SharedTree>),
    /// A row, as `score` prints it.
    Score(Arc<Features>),
    /// An explanation, as `explain --json` or `explain --html` writes it.
    Explain(Form),
}

/// The features that are asked for.
#[derive(Debug)]
pub(crate) struct Features {
    names: Vec<String>,
    choice: Choice,
}

/// How an explanation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Page,
}

impl Work {
    /// What metrics call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Work::Sample(Reading::Check | Reading::CheckIn(_), _) => "check",
            Work::Sample(Reading::Score(_), _) => "score",
            Work::Sample(Reading::Explain(_), _) => "explain",
            Work::Complete(_) => "complete",
        }
    }
}

impl Features {
    /// Those of these names; without any what `score` computes, of models that are there.
    ///
    /// # Errors
    /// There is no such feature, or what gives it is not here.
    pub fn new(names: Vec<String>, resident: &Resident) -> Result<Features, Refusal> {
        let base = if resident.models.is_empty() { FeatureSet::plain() } else { FeatureSet::recommended() };
        let choice = References::default().choose(&names, None, base)?;
        if choice.features.needs_source(SCORER) {
            let settings = Settings { features: choice.features.clone(), ..resident.settings.clone() };
            resident.model(None)?;
            resident.models.iter().try_for_each(|model| model.check(&settings.features))?;
        }
        Ok(Features { names, choice })
    }

    /// The run over these samples, as `score` has it.
    fn run(&self, resident: &Resident, samples: Vec<(usize, Sample)>) -> Result<ScoreRun, Refusal> {
        let settings = Settings { features: self.choice.features.clone(), ..resident.settings.clone() };
        let wanted = self.choice.features.needs_source(SCORER);
        let scorers = resident.models.iter().filter(|_| wanted).map(|model| ScorerSource::from(Arc::clone(model)));
        let mut sources: Vec<Box<dyn ColumnSource>> = scorers.map(|source| Box::new(source) as _).collect();
        let names: Vec<String> = resident.models.iter().map(|model| model.name.clone()).collect();
        sources.extend(References::default().sources(&self.choice, &ModelOptions::default(), &names)?);
        Ok(ScoreRun::new(samples, sources, settings, None))
    }
}

/// What was asked for, on its way through the queue.
#[derive(Debug)]
pub(crate) struct Piece {
    pub work: Work,
    /// Its place in the request.
    pub place: usize,
    pub deadline: Instant,
    pub reply: UnboundedSender<Answer>,
    /// The span of the request, where one is kept.
    pub place_in_trace: Option<Place>,
    /// The room that the request's body has.
    pub _lent: Arc<Lent>,
}

/// What became of a piece.
#[derive(Debug)]
pub(crate) struct Answer {
    pub place: usize,
    pub result: Result<Output, Refusal>,
}

/// A piece that is computed.
#[derive(Debug)]
pub(crate) struct Output {
    /// JSON, or a page.
    pub text: String,
    /// Tokens that a completion read.
    pub n_tokens: usize,
    /// The finding, of a text that was checked.
    pub finding: Option<Box<Finding>>,
}

impl Output {
    fn of(text: String) -> Output {
        Output { text, n_tokens: 0, finding: None }
    }
}

impl Piece {
    fn sample(&self) -> Option<&Sample> {
        match &self.work {
            Work::Sample(_, sample) => Some(sample),
            Work::Complete(_) => None,
        }
    }

    /// Whether the same request waits for another one.
    pub fn is_of_one_request(&self, other: &Self) -> bool {
        self.reply.same_channel(&other.reply)
    }

    /// Whether nobody waits for it any more.
    pub fn is_forsaken(&self) -> bool {
        self.reply.is_closed()
    }

    pub fn answer(&self, result: Result<Output, Refusal>) {
        // who has gone wants no answer
        let _gone = self.reply.send(Answer { place: self.place, result });
    }
}

impl Waiting for Piece {
    /// Findings and rows of one change do: the change is read once.
    fn goes_with(&self, other: &Self) -> bool {
        let (Work::Sample(wanted, sample), Work::Sample(other_wanted, other)) = (&self.work, &other.work) else {
            return false;
        };
        let is_same = match (wanted, other_wanted) {
            (Reading::Check, Reading::Check) => true,
            // of one request, which alone has its tree
            (Reading::CheckIn(tree), Reading::CheckIn(other)) => Arc::ptr_eq(tree, other),
            (Reading::Score(features), Reading::Score(others)) => features.names == others.names,
            _ => false,
        };
        is_same && sample.task == other.task && sample.diff == other.diff
    }
}

/// Computes pieces that go together, and answers each as soon as it is there. One that gets no answer has failed, or nobody waits for it.
pub(crate) fn compute(resident: &Resident, pieces: &[Piece]) {
    let samples: Vec<&Sample> = pieces.iter().filter_map(Piece::sample).collect();
    match pieces.first().map(|piece| &piece.work) {
        None => {}
        Some(Work::Sample(Reading::Check, _)) => check(resident, None, pieces, &samples),
        Some(Work::Sample(Reading::CheckIn(tree), _)) => {
            check(resident, Some(SharedTree::clone(tree)), pieces, &samples)
        }
        Some(Work::Sample(Reading::Score(features), _)) => score(resident, pieces, &samples, features),
        Some(Work::Sample(Reading::Explain(form), _)) => {
            pieces.iter().zip(samples).for_each(|(piece, sample)| piece.answer(explain(resident, sample, *form)));
        }
        Some(Work::Complete(_)) => pieces.iter().for_each(|piece| {
            if let Work::Complete(asked) = &piece.work {
                piece.answer(asked.of(resident));
            }
        }),
    }
}

/// Goes on while anybody waits.
fn while_wanted(pieces: &[Piece]) -> ControlFlow<()> {
    if pieces.iter().all(Piece::is_forsaken) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn check(resident: &Resident, tree: Option<SharedTree>, pieces: &[Piece], samples: &[&Sample]) {
    let done = &mut |index: usize, finding: Finding| {
        let output = json(&finding);
        pieces[index].answer(output.map(|output| Output { finding: Some(Box::new(finding)), ..output }));
        while_wanted(pieces)
    };
    let _ended = match tree {
        Some(tree) => resident.gate.check_each_in(tree, samples, done),
        None => resident.gate.check_each(samples, done),
    };
}

fn score(resident: &Resident, pieces: &[Piece], samples: &[&Sample], features: &Features) {
    // a row's number is its place in its own request
    let rows = pieces.iter().zip(samples).map(|(piece, &sample)| (piece.place, sample.clone())).collect();
    let run = features.run(resident, rows);
    let mut pieces_left = pieces.iter();
    let ended = run.and_then(|run| {
        Ok(run.stream(&mut (), &mut |row| {
            if let Some(piece) = pieces_left.next() {
                piece.answer(Ok(Output::of(Value::Object(row).to_string())));
            }
            while_wanted(pieces)
        })?)
    });
    if let Err(error) = ended {
        tracing::error!("rows are missing: {error}");
    }
}

fn explain(resident: &Resident, sample: &Sample, form: Form) -> Result<Output, Refusal> {
    resident.model(None)?;
    let (gate, others, settings) = (&resident.gate, &resident.models, &resident.settings);
    let explanation = Explanation::of_sample(gate, sample, &FeatureSet::default(), others, settings, None)?;
    match form {
        Form::Json => json(&explanation),
        Form::Page => Ok(Output::of(html_page(&explanation))),
    }
}

fn json(value: &impl serde::Serialize) -> Result<Output, Refusal> {
    serde_json::to_string(value).map(Output::of).map_err(|_| Refusal::Fault)
}
