//! The gate: is a text supported by its change? One object that owns detectors and models and judges samples.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use serde_json::Value;

use crate::{
    Error, Result,
    evidence::{contributions, likelier, of_detector, rests_on, surprising, unlike_training},
    families::{
        adapter, attribution,
        catalogue::{CATALOGUE, FeatureSet},
        facts::{self, FACTS},
        family::{SCORER, TEXT},
        grounding::GROUNDING,
    },
    focus::{Focused, Reach},
    generator,
    run::{batch::Batch, models::ModelOptions, source::ColumnSource, sources::ScorerSource},
    scorer::{Scorer, Workspace, describe},
    settings::Settings,
};
use veridiff_detector::{Detector, DetectorError, Leaning, Predict, shipped};
use veridiff_engine::files::source::without_adapter;
use veridiff_facts::{
    case::Case,
    checker::{RuleChecker, SharedTree, has_change, has_lines},
    finding::{Evidence, Finding, Likelier, RestsOn, SurprisingWord, place},
    rules::Choice,
    verdict::DetectorDecision,
};
use veridiff_table::{
    Row,
    catalogue::{element_of, model_of},
};
use veridiff_text::{
    grounding, language,
    sample::{Sample, Task},
};

/// What a gate is opened with. The default judges texts of every task by the shipped detectors, with their model on the CPU.
#[derive(Debug, Clone)]
pub struct GateOptions {
    /// The detector; where absent, the shipped one for each task.
    pub detector: Option<Detector>,
    /// Whether the change alone is asked: no detector, no model.
    pub facts_only: bool,
    /// Which rules are asked of the change.
    pub rules: Choice,
    /// The tree behind the changes; without it, what lies outside a diff is unknown. It is asked only for what a diff does not name.
    pub tree: Option<SharedTree>,
    /// The tasks of the texts to come: only what these need is loaded.
    pub tasks: Vec<Task>,
    /// Whether texts are attributed even if the detector does not ask for it, to show the lines that they rest on: slower.
    pub full: bool,
    /// How features are computed; which ones follows from the detector.
    pub settings: Settings,
    /// The models that stand for those that the detector knows ([`ModelOptions::standing_for`]), and where they run.
    pub models: ModelOptions,
    /// A model in memory that stands for the one that the detector knows, in place of `models`.
    pub scorer: Option<Arc<Scorer>>,
}

impl Default for GateOptions {
    fn default() -> Self {
        GateOptions {
            detector: None,
            facts_only: false,
            rules: Choice::default(),
            tree: None,
            tasks: Task::ALL.to_vec(),
            full: false,
            settings: Settings::default(),
            models: ModelOptions::default(),
            scorer: None,
        }
    }
}

/// Detectors with the models that they need, ready to judge. It owns everything it uses and can be shared between threads.
#[derive(Debug)]
pub struct Gate {
    judges: Vec<Judge>,
    rules: RuleChecker,
    notes: Vec<String>,
    /// The models by what was asked for, each once.
    scorers: Scorers,
}

impl Gate {
    /// Reads detectors and loads the models that they need, each once, fetching what is missing.
    ///
    /// # Errors
    /// [`DetectorError::NotForChecking`] if a detector needs an encoder, a classifier or a reference;
    /// [`DetectorError::OtherSettings`] if the settings or the models are not those that it was fitted with;
    /// [`Error::NoAdapter`] if a model lacks an adapter of one's own; those of [`ModelOptions::load`].
    pub fn open(options: GateOptions) -> Result<Gate> {
        Gate::open_with(options, Scorers::new())
    }

    /// As [`Gate::open`], with the models of this gate, which stays as it is: what it has loaded is not loaded again. The options must
    /// name the device and the precision of its own.
    ///
    /// # Errors
    /// As [`Gate::open`].
    pub fn reopen(&self, options: GateOptions) -> Result<Gate> {
        Gate::open_with(options, self.scorers.clone())
    }

    /// As [`Gate::open`], to show one text of this task as models read it too: gives the gate, and the models that read the text where the
    /// gate's detector uses none. Where `or_rules` is set and the detector is for other models or settings than the given ones, the gate
    /// has rules alone, and a note says so.
    ///
    /// # Errors
    /// As [`Gate::open`].
    pub fn open_to_show(options: GateOptions, task: Task, or_rules: bool) -> Result<Shown> {
        let options = GateOptions { tasks: vec![task], ..options };
        let (gate, note) = match Gate::open(options.clone()) {
            Err(Error::Detector(_) | Error::OtherModels { .. } | Error::NoAdapter { .. }) if or_rules => {
                let note = "no detector was used: the shipped one is for another model or other settings than these";
                (Gate::open(GateOptions { facts_only: true, ..options.clone() })?, Some(note.to_owned()))
            }
            gate => (gate?, None),
        };
        let mut others = Vec::new();
        if gate.readers(task).is_empty() {
            others.extend(options.scorer);
            if others.is_empty() {
                let models = options.models.prepare(options.models.files()?)?;
                others = models.into_iter().map(|model| ScorerSource::from(model).scorer()).collect::<Result<_>>()?;
            }
        }
        Ok(Shown { gate, others, note })
    }

    fn open_with(options: GateOptions, scorers: Scorers) -> Result<Gate> {
        let GateOptions { detector, facts_only, rules, tree, tasks, full, settings, models, scorer } = options;
        let mut by_task = match detector {
            _ if facts_only => Vec::new(),
            Some(detector) => vec![(tasks, detector)],
            None => tasks.into_iter().map(|task| (vec![task], shipped::default_for(task))).collect(),
        };
        // a model that one of them wants with an adapter serves the others too, if it is there before they ask
        by_task.sort_by_key(|(_, detector)| adapter::models_of(&detector.training.table).next().is_none());
        let mut loaded = Loaded { models, scorers, given: scorer };
        let (mut judges, mut notes) = (Vec::new(), Vec::new());
        for (tasks, detector) in by_task {
            let (judge, differences) = Judge::new(tasks, detector, full, &settings, &mut loaded)?;
            judges.push(judge);
            let new: Vec<String> = differences.into_iter().filter(|note| !notes.contains(note)).collect();
            notes.extend(new);
        }
        let is_used = |scorer: &Arc<Scorer>| {
            judges.iter().flat_map(|judge: &Judge| &judge.batches).any(|batch| Arc::ptr_eq(&batch.scorer, scorer))
        };
        loaded.scorers.retain(|_, scorer| is_used(scorer));
        Ok(Gate { judges, rules: RuleChecker::new(rules, tree), notes, scorers: loaded.scorers })
    }

    /// The models that its detectors use, by name.
    pub fn scorers(&self) -> Vec<Arc<Scorer>> {
        let mut scorers: Vec<Arc<Scorer>> = self.scorers.values().cloned().collect();
        scorers.sort_by(|a, b| a.name.cmp(&b.name));
        scorers
    }

    /// The detector that judges texts of a task, if one does.
    pub fn detector(&self, task: Task) -> Option<&Detector> {
        self.judges.iter().find(|judge| judge.tasks.contains(&task)).map(|judge| &judge.detector)
    }

    /// What a finding about a text of a task hangs on, beside the text, its change and the tree: this program, its rules and those of
    /// them that are asked, and the detector. Where it is the same, so is the finding, but for rounding.
    pub fn basis(&self, task: Task) -> String {
        let Choice { select, ignore } = self.rules.choice();
        let detector = self.detector(task).map_or("none", Detector::sha256);
        let rules = format!("{} of {} without {}", facts::version(), select.join(","), ignore.join(","));
        format!("veridiff {}; rules {rules}; detector {detector}", env!("CARGO_PKG_VERSION"))
    }

    /// Sets the tree behind the changes to come.
    pub fn set_tree(&mut self, tree: Option<SharedTree>) {
        self.rules.set_tree(tree);
    }

    /// What differs from the detectors' training and only rounds otherwise, such as the device: verdicts near a threshold may differ.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Judges samples; the findings are in their order. What cannot be judged has a finding that says why.
    pub fn check(&self, samples: &[Sample]) -> Vec<Finding> {
        let borrowed: Vec<&Sample> = samples.iter().collect();
        let mut findings: Vec<Option<Finding>> = vec![None; samples.len()];
        let _complete = self.check_each(&borrowed, &mut |index, finding| {
            findings[index] = Some(finding);
            ControlFlow::Continue(())
        });
        findings.into_iter().flatten().collect()
    }

    /// Judges one sample.
    pub fn check_one(&self, sample: &Sample) -> Finding {
        let mut found = Finding::new(sample);
        let _complete = self.check_each(&[sample], &mut |_, finding| {
            found = finding;
            ControlFlow::Continue(())
        });
        found
    }

    /// The models that read texts of a task for its detector, in the order in which the detector names them.
    pub fn readers(&self, task: Task) -> Vec<Arc<Scorer>> {
        let judge = self.judges.iter().find(|judge| judge.tasks.contains(&task));
        judge.into_iter().flat_map(|judge| &judge.batches).map(|batch| Arc::clone(&batch.scorer)).collect()
    }

    /// Checks one sample as [`Gate::check`] does, and keeps what models read of it: the features `shown` besides those of the detector.
    /// Where no model reads texts of this task for a detector, `others` read it under `settings`, and the finding is as without them.
    pub fn examine(
        &self,
        sample: &Sample,
        tree: Option<SharedTree>,
        shown: &FeatureSet,
        others: &[Arc<Scorer>],
        settings: &Settings,
    ) -> Examined {
        let rules = tree.map_or_else(|| self.rules.clone(), |tree| self.rules.with_tree(tree));
        let judge = self.judges.iter().find(|judge| judge.tasks.contains(&sample.task));
        let of_judge = judge.into_iter().flat_map(|judge| &judge.batches).map(|batch| {
            let features = batch.settings.features.and(shown);
            Batch { scorer: Arc::clone(&batch.scorer), settings: Settings { features, ..batch.settings.clone() } }
        });
        let mut batches: Vec<Batch> = of_judge.collect();
        if batches.is_empty() {
            let settings = Settings { features: shown.clone(), ..settings.clone() };
            batches =
                others.iter().map(|scorer| Batch { scorer: Arc::clone(scorer), settings: settings.clone() }).collect();
        }
        let read = |Batch { scorer, settings }: Batch| {
            scorer.prepare(&settings);
            let read = Focused::of_sample(&scorer, sample, &settings);
            ReadBy { scorer, settings, read }
        };
        let reads: Vec<ReadBy> = batches.into_iter().map(read).collect();
        let finding = match judge {
            None => rules.check(sample),
            Some(judge) => {
                let case = Case::of_sample(sample).ok().map(Arc::new);
                let has_lines = case.as_ref().is_some_and(|case| has_change(case));
                let of = |read: &ReadBy| part_of(&read.scorer, &read.settings, case.clone(), &read.read);
                let of_judge = reads.iter().take(judge.batches.len()).filter(|_| has_lines);
                let parts: Vec<Part> = of_judge.map(of).collect();
                judge.finding(sample, &parts.iter().collect::<Vec<_>>(), &rules)
            }
        };
        Examined { finding, reads }
    }

    /// Judges samples and gives `done` the index and the finding of each as soon as it is there, in any order, until there is none or
    /// `done` breaks. A detector that uses several models has its findings when the last of them has run.
    pub fn check_each(
        &self,
        samples: &[&Sample],
        done: &mut dyn FnMut(usize, Finding) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.check_by(&self.rules, samples, done)
    }

    /// As [`Gate::check_each`], of changes of this tree, and not of the gate's.
    pub fn check_each_in(
        &self,
        tree: SharedTree,
        samples: &[&Sample],
        done: &mut dyn FnMut(usize, Finding) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.check_by(&self.rules.with_tree(tree), samples, done)
    }

    fn check_by(
        &self,
        rules: &RuleChecker,
        samples: &[&Sample],
        done: &mut dyn FnMut(usize, Finding) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for judge in &self.judges {
            let places: Vec<usize> =
                (0..samples.len()).filter(|&place| judge.tasks.contains(&samples[place].task)).collect();
            if !places.is_empty() {
                let own: Vec<&Sample> = places.iter().map(|&place| samples[place]).collect();
                judge.check(&own, rules, &mut |index, finding| done(places[index], finding))?;
            }
        }
        if self.judges.is_empty() {
            return samples.iter().enumerate().try_for_each(|(index, sample)| done(index, rules.check(sample)));
        }
        let is_judged = |task: Task| self.judges.iter().any(|judge| judge.tasks.contains(&task));
        if let Some(first) = self.judges.first() {
            for (index, sample) in samples.iter().enumerate().filter(|(_, sample)| !is_judged(sample.task)) {
                let error = format!("the gate was not opened for texts of the task `{}`", sample.task);
                done(index, Finding { error: Some(error), ..of_detector(sample, &first.detector) })?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// A gate for one text that is shown as models read it.
#[derive(Debug)]
pub struct Shown {
    /// The gate.
    pub gate: Gate,
    /// The models that read the text where the gate's detector uses none.
    pub others: Vec<Arc<Scorer>>,
    /// Why the detector was not used, if it was not.
    pub note: Option<String>,
}

/// A sample's finding, with what models read of the sample on the way to it.
#[derive(Debug)]
pub struct Examined {
    /// The finding of [`Gate::check`].
    pub finding: Finding,
    /// An entry for each model that read the sample.
    pub reads: Vec<ReadBy>,
}

/// What one model read of a sample.
#[derive(Debug)]
pub struct ReadBy {
    /// The model.
    pub scorer: Arc<Scorer>,
    /// The settings that it read under, with the features that were wanted.
    pub settings: Settings,
    /// Its measurement, or why it has none.
    pub read: Result<Focused>,
}

/// Models by what was asked for, `[NAME=]SOURCE[+ADAPTER]`.
type Scorers = BTreeMap<String, Arc<Scorer>>;

/// The models of a gate, each loaded once, whichever detectors use it.
struct Loaded {
    models: ModelOptions,
    scorers: Scorers,
    /// The one model that stands for a detector's own, where it is in memory already.
    given: Option<Arc<Scorer>>,
}

impl Loaded {
    /// The models that stand for those of a detector, in the order of `names`, with the adapters and in the precision that it was fitted with;
    /// the one model there is where it names none. Each comes with what was asked for; of those that are not there no weights are read.
    fn prepare(&self, names: &[String], detector: &Detector) -> Result<Vec<(String, ScorerSource)>> {
        if let Some(scorer) = &self.given {
            // under another name its columns would not be those of the detector
            if names.iter().any(|name| *name != scorer.name) {
                return Err(Error::OtherModels { given: vec![scorer.name.clone()], names: names.to_vec() });
            }
            return Ok(vec![(scorer.name.clone(), Arc::clone(scorer).into())]);
        }
        let models = self.models.standing_for(names)?.as_fitted(names, &detector.training.table);
        let specs = if models.models.is_empty() { vec![String::new()] } else { models.models.clone() };
        let missing: Vec<&String> = specs.iter().filter(|spec| self.find(spec).is_none()).collect();
        let mut new = Vec::new();
        if !missing.is_empty() {
            let named = missing.into_iter().filter(|spec| !spec.is_empty()).cloned().collect();
            let models = ModelOptions { models: named, ..models };
            new = models.prepare(models.files()?)?;
        }
        let mut new = new.into_iter().map(ScorerSource::from);
        let source = |spec: String| {
            let source = self.find(&spec).map(|scorer| Arc::clone(scorer).into()).or_else(|| new.next())?;
            Some((spec, source))
        };
        Ok(specs.into_iter().filter_map(source).collect())
    }

    /// Reads the weights of those that are not there.
    fn load(&mut self, sources: Vec<(String, ScorerSource)>) -> Result<Vec<Arc<Scorer>>> {
        let load = |(spec, mut source): (String, ScorerSource)| {
            let scorer = source.scorer()?;
            if self.find(&spec).is_none() {
                self.scorers.insert(spec, Arc::clone(&scorer));
            }
            Ok(scorer)
        };
        sources.into_iter().map(load).collect()
    }

    /// The model that was asked for so. One with an adapter reads what is the model's own as one without does, and is taken for it:
    /// weights are held once, and a name means one model.
    fn find(&self, spec: &str) -> Option<&Arc<Scorer>> {
        // its name sorts behind that of the model without: the last that fits has it
        self.scorers.iter().rev().find(|(known, _)| *known == spec || without_adapter(known) == spec).map(|(_, it)| it)
    }
}

/// A detector with what it needs of a sample.
#[derive(Debug)]
struct Judge {
    /// The tasks whose texts it judges.
    tasks: Vec<Task>,
    detector: Detector,
    /// All features that it needs.
    features: FeatureSet,
    /// A model each, with the settings that ask it for its features.
    batches: Vec<Batch>,
    /// Whether it takes numbers that come with a sample.
    takes_given: bool,
}

/// What one scorer says of a sample.
#[derive(Default)]
struct Part {
    /// The change and the text; none if the change cannot be read.
    case: Option<Arc<Case>>,
    columns: Row,
    error: Option<String>,
    reach: Reach,
    surprising: Vec<SurprisingWord>,
    likelier: Vec<Likelier>,
    lines: Vec<RestsOn>,
}

impl Part {
    /// Of a change without changed lines, which no model needs to read.
    fn unread(case: Arc<Case>) -> Self {
        Part { case: Some(case), ..Part::default() }
    }
}

impl Judge {
    /// A judge, and what differs from its detector's training and only rounds otherwise.
    fn new(
        tasks: Vec<Task>,
        detector: Detector,
        full: bool,
        settings: &Settings,
        loaded: &mut Loaded,
    ) -> Result<(Judge, Vec<String>)> {
        let Needs { features, of_scorers } = Needs::of(&detector, full)?;
        let names: Vec<String> = of_scorers.iter().map(|(name, _)| name.clone()).collect();
        let sources = if features.needs_source(SCORER) { loaded.prepare(&names, &detector)? } else { Vec::new() };
        let all = Settings { features: features.clone(), ..settings.clone() };
        let mut provenance: BTreeMap<String, String> = all.provenance();
        provenance.extend(sources.iter().flat_map(|(_, source)| source.provenance()));
        provenance.insert(GROUNDING.to_owned(), grounding::version());
        provenance.insert(FACTS.to_owned(), facts::version());
        // another model is told before its weights are read, or an adapter is put onto it
        let differences = detector.check_provenance(&provenance, &CATALOGUE)?;
        let scorers = loaded.load(sources)?;
        let of_scorer = |index: usize| of_scorers.get(index).map_or(&features, |(_, features)| features);
        let batch = |(index, scorer): (usize, Arc<Scorer>)| {
            let settings = Settings { features: of_scorer(index).clone(), ..settings.clone() };
            scorer.check(&settings.features)?;
            Ok(Batch { scorer, settings })
        };
        let batches = scorers.into_iter().enumerate().map(batch).collect::<Result<_>>()?;
        let takes_given = detector.features.iter().any(|feature| generator::is_given(&detector, &feature.name));
        Ok((
            Judge { tasks, detector, features, batches, takes_given },
            differences.iter().map(ToString::to_string).collect(),
        ))
    }

    fn check(
        &self,
        samples: &[&Sample],
        rules: &RuleChecker,
        done: &mut dyn FnMut(usize, Finding) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some((last, others)) = self.batches.split_last() else {
            return samples
                .iter()
                .enumerate()
                .try_for_each(|(index, sample)| done(index, self.finding(sample, &[], rules)));
        };
        let mut parts: Vec<Vec<Part>> = samples.iter().map(|_| Vec::new()).collect();
        for batch in others {
            batch.run_by(samples, &|index, workspace| part(batch, samples[index], workspace), &mut |index, part| {
                parts[index].push(part);
                ControlFlow::Continue(())
            })?;
        }
        let finding = |index: usize, workspace: &mut Workspace| {
            let last = part(last, samples[index], workspace)?;
            let parts: Vec<&Part> = parts[index].iter().chain([&last]).collect();
            Some(self.finding(samples[index], &parts, rules))
        };
        last.run_by(samples, &finding, done)
    }

    fn finding(&self, sample: &Sample, parts: &[&Part], rules: &RuleChecker) -> Finding {
        let error = parts.iter().find_map(|part| part.error.clone());
        let mut finding = Finding { error, ..of_detector(sample, &self.detector) };
        let known = parts.iter().find_map(|part| part.case.clone());
        let case = match known.map_or_else(|| Case::of_sample(sample).map(Arc::new), Ok) {
            Ok(case) => case,
            Err(problem) => {
                finding.error.get_or_insert(describe(&problem.into()));
                return finding;
            }
        };
        finding.place = place(sample, case.diff());
        match has_lines(&case) {
            Ok(true) => {}
            Ok(false) => {
                rules.decide(&mut finding, &case, None);
                return finding;
            }
            Err(problem) => finding.error = Some(problem.to_string()),
        }
        if finding.error.is_some() {
            return finding;
        }
        let mut columns: Row = parts.iter().flat_map(|part| part.columns.clone()).collect();
        if self.takes_given {
            columns.extend(generator::given(&sample.extra));
        }
        columns.extend(self.features.plain_values(&case).into_iter().map(|(k, v)| (k.to_owned(), Value::from(v))));
        let mut values = Vec::with_capacity(self.detector.features.len());
        for feature in &self.detector.features {
            values.push(number(&columns, &feature.name).unwrap_or(f64::NAN));
        }
        if !self.detector.model().judges(&values) {
            let missing = self.detector.features.iter().zip(&values).find(|(_, value)| value.is_nan());
            let name = missing.map_or("", |(feature, _)| &feature.name);
            finding.error = Some(format!("`{name}` has no value for this text, so there is no verdict"));
            return finding;
        }
        let p = self.detector.probability(&values);
        finding.p_detector = Some(p);
        let is_partial = parts.iter().any(|part| part.reach.is_partial);
        rules.decide(&mut finding, &case, (!is_partial).then(|| decision(&self.detector, p)));
        finding.evidence = Evidence {
            surprising: parts.first().map(|part| part.surprising.clone()).unwrap_or_default(),
            likelier: parts
                .iter()
                .find(|part| !part.likelier.is_empty())
                .map(|part| part.likelier.clone())
                .unwrap_or_default(),
            lines: parts.iter().find(|part| !part.lines.is_empty()).map(|part| part.lines.clone()).unwrap_or_default(),
            features: contributions(&self.detector, &values),
            execution: None,
        };
        let kind = |key: &str, value: Option<String>| value.map(|value| (key.to_owned(), Value::from(value)));
        let language = sample.language.clone().or_else(|| language::of_diff(case.diff()).map(str::to_owned));
        columns.extend(kind("language", language));
        columns.extend(kind("generator", sample.generator.clone()));
        finding.notes.extend(unlike_training(&self.detector, &columns, &values));
        finding.notes.extend(parts.iter().find_map(|part| part.reach.note.clone()));
        finding
    }
}

/// A detector's decision about a text with this calibrated probability.
fn decision(detector: &Detector, p: f64) -> DetectorDecision {
    let is_taught = detector.features.iter().any(|feature| adapter::is_feature(&feature.name));
    let leaning = detector.verdict(p);
    let (flags, supports) = (leaning == Leaning::Unsupported, leaning == Leaning::Supported);
    DetectorDecision { p, flags, supports, is_taught }
}

/// The number in a row's column, or in the element of a list that is called so.
fn number(row: &Row, column: &str) -> Option<f64> {
    match element_of(column) {
        Some((list, place)) => row.get(list)?.get(place)?.as_f64(),
        None => row.get(column)?.as_f64(),
    }
}

/// What one scorer says of a sample; none if the sample is too large for a workspace that shares its memory with others. Of a change
/// that is too long it reads the hunks that the text speaks of.
fn part(Batch { scorer, settings }: &Batch, sample: &Sample, workspace: &mut Workspace) -> Option<Part> {
    let case = Case::of_sample(sample).map(Arc::new);
    if let Ok(case) = &case
        && !has_change(case)
    {
        return Some(Part::unread(Arc::clone(case)));
    }
    let read = case.as_ref().map_err(|error| error.clone().into());
    let read = read.and_then(|case| Focused::measure(scorer, workspace, case, settings));
    if workspace.is_too_small(&read) {
        return None;
    }
    Some(part_of(scorer, settings, case.ok(), &read))
}

/// What a scorer's reading says of a sample.
fn part_of(scorer: &Scorer, settings: &Settings, case: Option<Arc<Case>>, read: &Result<Focused>) -> Part {
    let columns = scorer.columns_of(read.as_ref().map(|read| &read.measurement), settings);
    match read {
        Ok(read) => Part {
            columns,
            error: None,
            reach: read.reach(),
            surprising: surprising(&read.measurement),
            likelier: likelier(read.case.text(), &read.measurement.edits),
            lines: rests_on(read),
            case,
        },
        Err(error) => Part { case, columns, error: Some(describe(error)), ..Part::default() },
    }
}

/// Which features a detector needs, of which scorers.
#[derive(Debug)]
struct Needs {
    features: FeatureSet,
    /// Those of each scorer, in the order in which the detector first names it. With one scorer, all features.
    of_scorers: Vec<(String, FeatureSet)>,
}

impl Needs {
    /// Finds out what a detector needs; `full` asks for attribution by its first scorer whether it needs it or not.
    fn of(detector: &Detector, full: bool) -> Result<Needs, DetectorError> {
        let refuse =
            |feature: &str, why: &'static str| DetectorError::NotForChecking { feature: feature.to_owned(), why };
        let with_attribution = |set: FeatureSet| if full { set.with(&attribution::FAMILY) } else { set };
        let mut names = Vec::new();
        let mut scorers: Vec<(String, Vec<&str>)> = Vec::new();
        for feature in &detector.features {
            let name = veridiff_table::catalogue::feature_of(&feature.name);
            let is_known = CATALOGUE.entry_of(name).is_some();
            let set = FeatureSet::parse(&[name]).ok().filter(|_| is_known);
            let set = set.ok_or_else(|| refuse(&feature.name, "is not a feature of this version"))?;
            if !set.needs_source(SCORER) && !set.needs_source(TEXT) {
                return Err(refuse(
                    &feature.name,
                    "needs a reference, an encoder or a judge, which `check` does not have",
                ));
            }
            if generator::is_given(detector, &feature.name) {
                continue;
            }
            names.push(name);
            if let Some(model) = model_of(&feature.name) {
                match scorers.iter_mut().find(|(known, _)| known == model) {
                    Some((_, names)) => names.push(name),
                    None => scorers.push((model.to_owned(), vec![name])),
                }
            }
        }
        let parse = |names: &[&str]| FeatureSet::parse(names).map_err(|error| refuse(&error.name, "is unknown"));
        let features = with_attribution(parse(&names)?);
        let of_scorers = if scorers.len() > 1 {
            let of = |(index, (model, names)): (usize, &(String, Vec<&str>))| {
                let set = parse(names)?;
                Ok((model.clone(), if index == 0 { with_attribution(set) } else { set }))
            };
            scorers.iter().enumerate().map(of).collect::<Result<_, DetectorError>>()?
        } else {
            scorers.into_iter().map(|(model, _)| (model, features.clone())).collect()
        };
        Ok(Needs { features, of_scorers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service holds a gate and shares it between requests.
    const fn is_shared<T: Send + Sync + 'static>() {}
    const _: () = is_shared::<Gate>();

    #[test]
    fn of_the_shipped_detectors_only_that_of_words_needs_no_scorer() {
        for name in shipped::names() {
            let needs = Needs::of(&shipped::find(name).unwrap(), false).unwrap();
            let n_scorers = usize::from(name != "commit");
            assert_eq!(needs.of_scorers.len(), n_scorers, "{name}");
            assert_eq!(needs.features.needs_source(SCORER), n_scorers > 0);
            assert!(needs.features.needs_source(TEXT) && !needs.features.needs_attribution());
            // one pass is enough: what an adapter answers is not read by the model without it besides
            assert_eq!(needs.features.needs_likelihood(), !matches!(name, "truth" | "deep"), "{name}");
        }
        assert!(Needs::of(&shipped::default_for(Task::Review), true).unwrap().features.needs_attribution());
        assert!(Needs::of(&shipped::default_for(Task::Commit), true).unwrap().features.needs_likelihood());
    }
}
