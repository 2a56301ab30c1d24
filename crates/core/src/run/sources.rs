//! The sources of columns that there are.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    batch::{Batch, cost_behind_shared_prompts},
    forecast::Forecast,
    source::{ColumnSource, Done, one_by_one, prompt_bytes},
};
use crate::{
    Error, Result,
    families::{
        catalogue::FeatureSet,
        execution::{self, EXEC_KNOWN, EXECUTION},
        facts,
        family::TEXT,
        grounding::{GROUNDING, provenance},
        reference::{BLEU4, bleu::Bleu, entailment::ReferenceEntailment},
        similarity::Similarity,
    },
    scorer::{Prepared, Scorer, describe},
    settings::Settings,
};
use veridiff_facts::{case::Case, execution::Executions};
use veridiff_table::Row;
use veridiff_text::sample::Sample;

/// Bytes of code or prose that make a token, about.
const BYTES_PER_TOKEN: f64 = 3.3;

/// A language model, whose weights are read when its turn comes.
#[derive(Debug)]
pub struct ScorerSource {
    name: String,
    provenance: BTreeMap<String, String>,
    state: State,
}

/// What there is of a model.
#[derive(Debug)]
enum State {
    /// Its weights are on disk.
    Prepared(Box<Prepared>),
    /// It can score.
    Loaded(Arc<Scorer>),
    /// Reading its weights has failed.
    Lost,
}

impl ScorerSource {
    /// The scorer, whose weights are read now if they were not before.
    ///
    /// # Errors
    /// [`Error::Loading`]; [`Error::NotLoaded`] if that has failed before.
    pub fn scorer(&mut self) -> Result<Arc<Scorer>> {
        let scorer = match std::mem::replace(&mut self.state, State::Lost) {
            State::Prepared(prepared) => Arc::new(prepared.load().map_err(|error| Error::loading(&self.name, error))?),
            State::Loaded(scorer) => scorer,
            State::Lost => return Err(Error::NotLoaded { name: self.name.clone() }),
        };
        self.state = State::Loaded(scorer.clone());
        Ok(scorer)
    }
}

impl From<Prepared> for ScorerSource {
    fn from(prepared: Prepared) -> Self {
        ScorerSource {
            name: prepared.name().to_owned(),
            provenance: prepared.provenance().clone(),
            state: State::Prepared(Box::new(prepared)),
        }
    }
}

impl From<Arc<Scorer>> for ScorerSource {
    fn from(scorer: Arc<Scorer>) -> Self {
        ScorerSource {
            name: scorer.name.clone(),
            provenance: scorer.provenance().clone(),
            state: State::Loaded(scorer),
        }
    }
}

impl ColumnSource for ScorerSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        self.provenance.clone()
    }

    /// With attribution text times what each of its tokens sees, else the length.
    fn cost(&self, sample: &Sample, settings: &Settings) -> u64 {
        let (n, t) = (prompt_bytes(sample) as u64, sample.text.len() as u64);
        if settings.features.needs_attribution() { t * (n + t / 2) } else { n + t }
    }

    fn cost_of_all(&self, samples: &[&Sample], settings: &Settings) -> u64 {
        if settings.features.needs_attribution() {
            return samples.iter().map(|sample| self.cost(sample, settings)).sum();
        }
        cost_behind_shared_prompts(samples)
    }

    fn is_heavy(&self) -> bool {
        true
    }

    fn load(&mut self, settings: &Settings) -> Result<()> {
        let scorer = self.scorer()?;
        scorer.check(&settings.features)?;
        scorer.prepare(settings);
        Ok(())
    }

    fn forecast(&self, samples: &[&Sample], settings: &Settings, least: f64) -> Option<Forecast> {
        let State::Loaded(scorer) = &self.state else { return None };
        let cost = samples.iter().map(|sample| self.cost(sample, settings)).sum();
        let batch = || Batch { scorer: scorer.clone(), settings: settings.clone() };
        (operations(scorer, settings, cost) >= least).then(|| batch().forecast(samples))
    }

    fn columns(&mut self, samples: &[&Sample], settings: &Settings, done: &mut Done<'_>) -> Result<()> {
        let batch = Batch { scorer: self.scorer()?, settings: settings.clone() };
        let _stopped = batch.run(samples, done);
        Ok(())
    }
}

/// Operations of a run of this cost, roughly.
fn operations(scorer: &Scorer, settings: &Settings, cost: u64) -> f64 {
    let power = if settings.features.needs_attribution() { 2 } else { 1 };
    2.0 * scorer.model.config().n_block_parameters() as f64 * cost as f64 / BYTES_PER_TOKEN.powi(power)
}

impl ColumnSource for Similarity {
    fn name(&self) -> &str {
        &self.name
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        Similarity::provenance(self).clone()
    }

    fn columns(&mut self, samples: &[&Sample], _settings: &Settings, done: &mut Done<'_>) -> Result<()> {
        one_by_one(samples.len(), done, |index| Similarity::columns(self, samples[index], &samples[index..]));
        Ok(())
    }
}

impl ColumnSource for ReferenceEntailment {
    fn name(&self) -> &str {
        &self.name
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        ReferenceEntailment::provenance(self).clone()
    }

    fn columns(&mut self, samples: &[&Sample], _settings: &Settings, done: &mut Done<'_>) -> Result<()> {
        one_by_one(samples.len(), done, |index| ReferenceEntailment::columns(self, samples[index], &samples[index..]));
        Ok(())
    }
}

impl ColumnSource for Bleu {
    fn name(&self) -> &str {
        BLEU4
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(BLEU4.to_owned(), self.to_string())])
    }

    fn owns(&self, column: &str) -> bool {
        column == BLEU4
    }

    fn columns(&mut self, samples: &[&Sample], _settings: &Settings, done: &mut Done<'_>) -> Result<()> {
        one_by_one(samples.len(), done, |index| {
            let sample = samples[index];
            let score = sample.reference().map(|reference| self.sentence(reference, &sample.text));
            Row::from_iter([(BLEU4.to_owned(), score.map_or(Value::Null, Value::from))])
        });
        Ok(())
    }
}

/// What `verify` found of the programs that texts are about, by the ids of the samples.
impl ColumnSource for Arc<Executions> {
    fn name(&self) -> &str {
        EXECUTION
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        BTreeMap::from([(EXEC_KNOWN.to_owned(), format!("version {}: {}", execution::VERSION, self.sha256()))])
    }

    fn owns(&self, column: &str) -> bool {
        execution::FIELDS.iter().any(|field| field.name == column)
    }

    fn columns(&mut self, samples: &[&Sample], settings: &Settings, done: &mut Done<'_>) -> Result<()> {
        let wanted: Vec<&str> = settings.features.names_from(EXECUTION).collect();
        one_by_one(samples.len(), done, |index| {
            let counts = self.counts(&samples[index].id);
            let fields = execution::FIELDS.iter().filter(|field| wanted.contains(&field.name));
            fields.map(|field| (field.name.to_owned(), Value::from((field.value)(&counts)))).collect()
        });
        Ok(())
    }
}

/// Grounding and form: the features of diff and text that need no model.
#[derive(Debug, Clone)]
pub struct PlainFeatures(pub FeatureSet);

impl PlainFeatures {
    /// The columns of a sample; a diff that cannot be read becomes `status@grounding = error` and its message.
    fn part(&self, sample: &Sample) -> Row {
        let (mut row, error) = match Case::of_sample(sample) {
            Ok(case) => {
                (self.0.plain_values(&case).into_iter().map(|(name, v)| (name, Value::from(v))).collect(), None)
            }
            Err(error) => (self.0.names_from(TEXT).map(|name| (name, Value::Null)).collect::<Vec<_>>(), Some(error)),
        };
        let status = if error.is_some() { "error" } else { "ok" };
        row.push(("status@grounding", status.into()));
        row.push(("error@grounding", error.map_or(Value::Null, |error| describe(&error.into()).into())));
        row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl ColumnSource for PlainFeatures {
    fn name(&self) -> &str {
        GROUNDING
    }

    fn provenance(&self) -> BTreeMap<String, String> {
        let (of_facts, others): (Vec<&str>, Vec<&str>) =
            self.0.names_from(TEXT).partition(|name| name.starts_with(facts::PREFIX));
        let mut map = BTreeMap::new();
        if !others.is_empty() {
            map.extend([provenance(others)]);
        }
        if !of_facts.is_empty() {
            map.extend([facts::provenance(of_facts)]);
        }
        map
    }

    fn owns(&self, column: &str) -> bool {
        self.0.names_from(TEXT).any(|name| name == column) || column.ends_with("@grounding")
    }

    /// Words and rules have journal groups of their own, so that the one may be there without the other.
    fn is_whole(&self, part: &Row) -> bool {
        self.0.names_from(TEXT).all(|name| part.contains_key(name))
    }

    /// Grammars are read and patterns of rules compiled when a row first comes to them.
    fn warms_up(&self) -> bool {
        true
    }

    fn columns(&mut self, samples: &[&Sample], _settings: &Settings, done: &mut Done<'_>) -> Result<()> {
        one_by_one(samples.len(), done, |index| self.part(samples[index]));
        Ok(())
    }
}
