//! How `score` fills a table: part by part.
//!
//! A row is a sample's own keys and one part from each source: a scorer, an encoder, a classifier, BLEU-4. No part depends on
//! another. So the sources run one after the other, each over all the samples that lack its part: the quick ones first, then
//! the scorers, of which one is in memory at a time. Every finished part goes to the journal at once:
//!
//! ```text
//!  journal ──► finished parts ─────────────────────────────────────────────┐
//!                 │                                                        ├─► rows ─► table
//!  samples ──► missing parts ──► source by source ──► journal, line by line ┘
//! ```
//!
//! A resumed run computes what is missing: rows, parts that failed, and every row's part of a source that is new. Rows stand in
//! the order of the input and their columns in that of the command line, so a table does not show in how many runs it was made.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
    time::Instant,
};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{args::scoring, terminal::note};
use veridiff_core::{
    case::Case,
    families::{
        catalogue::{CATALOGUE, FeatureSet, SCORER, TEXT},
        grounding::GROUNDING,
        reference::{BLEU4, bleu::Bleu, entailment::ReferenceEntailment},
        similarity::Similarity,
    },
    run::batch::Batch,
    scorer::{Prepared, Settings, describe},
};
use veridiff_engine::plan::{Footprint, Lengths, Limits, size};
use veridiff_table::{Groups, ID_COLUMN, ROW_COLUMN, Row, SHARD_KEY};
use veridiff_text::{diff::Diff, sample::Sample};

/// In the journal only: what the finished columns were computed from. A resumed run takes them over if it is the same.
const CONTENT_KEY: &str = "content_sha256";

/// Operations from which on a run is long: some minutes of a few cores.
const LONG_RUN: f64 = 1e14;

/// Bytes of code or prose that make a token, about.
const BYTES_PER_TOKEN: f64 = 3.3;

/// Where one part of every row comes from.
pub enum Source<'a> {
    /// A language model, loaded when its turn comes.
    Scorer(Box<Prepared<'a>>),
    /// Similarity under an encoder.
    Encoder(Box<Similarity>),
    /// BLEU-4.
    Texts(Bleu),
    /// Grounding and form, without a model.
    Plain(FeatureSet),
    /// Entailment by the reference.
    Classifier(Box<ReferenceEntailment>),
}

impl Source<'_> {
    /// The model's name; none for what needs no model.
    fn model(&self) -> Option<&str> {
        match self {
            Source::Scorer(scorer) => Some(scorer.name()),
            Source::Encoder(encoder) => Some(&encoder.name),
            Source::Texts(_) | Source::Plain(_) => None,
            Source::Classifier(classifier) => Some(&classifier.name),
        }
    }

    /// What a person knows it by.
    pub fn name(&self) -> &str {
        match self {
            Source::Plain(_) => GROUNDING,
            _ => self.model().unwrap_or(BLEU4),
        }
    }

    /// What its columns come from.
    pub fn provenance(&self) -> BTreeMap<String, String> {
        match self {
            Source::Scorer(scorer) => scorer.provenance().clone(),
            Source::Encoder(encoder) => encoder.provenance().clone(),
            Source::Texts(bleu) => BTreeMap::from([(BLEU4.to_owned(), bleu.to_string())]),
            Source::Plain(features) => {
                BTreeMap::from([veridiff_core::families::grounding::provenance(features.names_from(TEXT))])
            }
            Source::Classifier(classifier) => classifier.provenance().clone(),
        }
    }

    /// Its part of the columns of a row; none if the part is missing or failed.
    fn part_of(&self, columns: &Row) -> Option<Row> {
        let is_own = |key: &str| match (self, self.model()) {
            (_, Some(name)) => key.split_once('@').is_some_and(|(_, model)| model == name),
            (Source::Plain(_), None) => {
                (key != BLEU4 && CATALOGUE.is_plain_feature(key)) || key.ends_with("@grounding")
            }
            (_, None) => key == BLEU4,
        };
        let part: Row = columns.iter().filter(|(key, _)| is_own(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
        (!part.is_empty() && !failed(&part)).then_some(part)
    }

    /// Rough cost of a sample's part in bytes: text times what each of its tokens sees, or just the length without gradients.
    pub fn cost(&self, sample: &Sample, settings: &Settings) -> u64 {
        let (n, t) = (sample.diff.len() as u64 + 300, sample.text.len() as u64);
        match self {
            Source::Scorer(_) if settings.features.needs_attribution() => t * (n + t / 2),
            _ => n + t,
        }
    }

    /// Computes the parts of all samples, which together cost `cost`, and calls `done` with each one's index and part. The
    /// source is gone afterwards. `clock` is set anew when its model is loaded.
    fn run<B>(
        self,
        samples: &[&Sample],
        settings: &Settings,
        cost: u64,
        clock: &Cell<Instant>,
        mut done: impl FnMut(usize, Row) -> ControlFlow<B>,
    ) -> anyhow::Result<ControlFlow<B>> {
        let mut one_by_one = |part: &dyn Fn(usize) -> Row| {
            for index in 0..samples.len() {
                if let ControlFlow::Break(value) = done(index, part(index)) {
                    return ControlFlow::Break(value);
                }
            }
            ControlFlow::Continue(())
        };
        Ok(match self {
            Source::Encoder(encoder) => one_by_one(&|i| encoder.columns(samples[i], &samples[i..])),
            Source::Classifier(classifier) => one_by_one(&|i| classifier.columns(samples[i], &samples[i..])),
            Source::Texts(bleu) => one_by_one(&|i| {
                let score = samples[i].reference().map(|reference| bleu.sentence(reference, &samples[i].text));
                Row::from_iter([(BLEU4.to_owned(), score.map_or(Value::Null, Value::from))])
            }),
            Source::Plain(features) => one_by_one(&|i| plain_columns(&features, samples[i])),
            Source::Scorer(prepared) => {
                let scorer = scoring::load(*prepared)?;
                scorer.prepare(settings);
                let batch = Batch { scorer: &scorer, settings };
                tell_memory(batch, samples, cost);
                clock.set(Instant::now());
                batch.run(samples, done)
            }
        })
    }
}

/// The columns of a sample that need no model; a diff that cannot be read becomes `status@grounding = error` and its message.
fn plain_columns(features: &FeatureSet, sample: &Sample) -> Row {
    let (mut row, error) = match Case::of_sample(sample) {
        Ok(case) => (features.plain_values(&case).into_iter().map(|(name, v)| (name, Value::from(v))).collect(), None),
        Err(error) => (features.names_from(TEXT).map(|name| (name, Value::Null)).collect::<Vec<_>>(), Some(error)),
    };
    let status = if error.is_some() { "error" } else { "ok" };
    row.push(("status@grounding", status.into()));
    row.push(("error@grounding", error.map_or(Value::Null, |error| describe(&error.into()).into())));
    row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether a part's source could not compute it.
fn failed(part: &Row) -> bool {
    part.iter().any(|(key, value)| key.starts_with("status@") && value.as_str() == Some("error"))
}

/// Before a long run: what memory it will take. Errors are the rows' business.
fn tell_memory(batch: Batch<'_>, samples: &[&Sample], cost: u64) {
    let Batch { scorer, settings } = batch;
    let gradients = settings.features.needs_attribution();
    let tokens = cost as f64 / BYTES_PER_TOKEN.powi(if gradients { 2 } else { 1 });
    if 2.0 * scorer.model.config().n_block_parameters() as f64 * tokens < LONG_RUN {
        return;
    }
    let longest = samples.iter().max_by_key(|sample| sample.diff.len() + sample.text.len());
    let Some(sample) = longest else { return };
    let Ok(diff) = Diff::parse(&sample.diff) else { return };
    let Ok(encoding) = scorer.encode(&diff, &sample.text, sample.task, settings) else { return };
    let lengths = Lengths { n_prompt: encoding.n_prompt, n_response: encoding.n_response() };
    let n = batch.n_side_by_side(samples);
    let threads = (rayon::current_num_threads() / n).max(1);
    let limits = Limits { max_bytes: settings.max_memory, sharers: n, threads };
    let footprint = Footprint::of(&scorer.model);
    // one that needs more than its share has all the memory to itself
    let plan = footprint.plan(lengths, gradients, limits).map(|plan| (n, plan)).or_else(|_| {
        let limits = Limits { max_bytes: settings.max_memory, ..Limits::default() };
        footprint.plan(lengths, gradients, limits).map(|plan| (1, plan))
    });
    match plan {
        Ok((1, plan)) => note(&format!("{}: memory for the longest sample, {lengths}: {plan}", scorer.name)),
        Ok((n, plan)) => {
            let bytes = size(plan.bytes_of(n));
            note(&format!("{}: memory {bytes} if {n} samples as long as {lengths} run at once", scorer.name));
        }
        Err(error) => note(&format!("{}: the longest sample cannot be scored: {error}", scorer.name)),
    }
}

/// What is known of the rows of a table: each sample's parts in the order of the columns, none where one is missing.
pub struct Parts<'a> {
    samples: Vec<&'a Sample>,
    parts: Vec<Vec<Option<Row>>>,
    /// Time that computing parts has taken; loading models is left out.
    pub seconds: f64,
}

impl<'a> Parts<'a> {
    /// Of `samples`, with what the lines `journal` of an earlier run hold of them.
    pub fn new(samples: Vec<&'a Sample>, sources: &[Source<'_>], journal: Vec<Row>) -> Self {
        let mut known: HashMap<(String, String), Row> = HashMap::new();
        for mut line in journal {
            let mut text = |key: &str| line.shift_remove(key).and_then(|v| v.as_str().map(str::to_owned));
            if let (Some(id), Some(content)) = (text(ID_COLUMN), text(CONTENT_KEY)) {
                known.entry((id, content)).or_default().extend(line);
            }
        }
        let parts_of = |sample: &&Sample| {
            let columns = known.get(&(sample.id.clone(), content_hash(sample)));
            sources.iter().map(|source| columns.and_then(|columns| source.part_of(columns))).collect()
        };
        let parts = samples.iter().map(parts_of).collect();
        Parts { samples, parts, seconds: 0.0 }
    }

    /// Whether nothing of a row is missing.
    pub fn is_complete(&self, index: usize) -> bool {
        self.parts[index].iter().all(Option::is_some)
    }

    /// The samples that lack the part of source `source`.
    fn lacking(&self, source: usize) -> Vec<usize> {
        (0..self.samples.len()).filter(|&index| self.parts[index][source].is_none()).collect()
    }

    /// The work there is and the work done already, as [`Source::cost`] counts.
    pub fn costs(&self, sources: &[Source<'_>], settings: &Settings) -> (u64, u64) {
        let (mut all, mut done) = (0, 0);
        for (sample, parts) in self.samples.iter().zip(&self.parts) {
            for (source, part) in sources.iter().zip(parts) {
                let cost = source.cost(sample, settings);
                all += cost;
                done += if part.is_some() { cost } else { 0 };
            }
        }
        (all, done)
    }

    /// Computes what is missing. `done` gets each new part when it is there: this, the sample's index and the part.
    ///
    /// # Errors
    /// A model cannot be loaded.
    pub fn fill<B>(
        &mut self,
        sources: Vec<Source<'_>>,
        settings: &Settings,
        mut done: impl FnMut(&mut Self, usize, &NewPart<'_>) -> ControlFlow<B>,
    ) -> anyhow::Result<ControlFlow<B>> {
        let mut order: Vec<(usize, Source<'_>)> = sources.into_iter().enumerate().collect();
        order.sort_by_key(|(_, source)| matches!(source, Source::Scorer(_)));
        for (place, source) in order {
            let missing = self.lacking(place);
            if missing.is_empty() {
                continue;
            }
            let name = source.name().to_owned();
            let costs: Vec<u64> = missing.iter().map(|&i| source.cost(self.samples[i], settings)).collect();
            let samples: Vec<&Sample> = missing.iter().map(|&index| self.samples[index]).collect();
            let (mut n_done, clock) = (0, Cell::new(Instant::now()));
            let flow = source.run(&samples, settings, costs.iter().sum(), &clock, |i, part| {
                n_done += 1;
                let rate = n_done as f64 / clock.get().elapsed().as_secs_f64();
                let (columns, cost, n) = (part.clone(), costs[i], missing.len());
                let new = NewPart { source: &name, columns, cost, n_done, n, rate };
                self.parts[missing[i]][place] = Some(part);
                done(self, missing[i], &new)
            })?;
            self.seconds += clock.get().elapsed().as_secs_f64();
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// A row of the table, so far as it is known; its parts are taken out.
    pub fn take_row(&mut self, index: usize, place: usize) -> Row {
        let mut row = self.samples[index].to_row();
        row.insert(ROW_COLUMN.into(), place.into());
        for part in std::mem::take(&mut self.parts[index]).into_iter().flatten() {
            row.extend(part);
        }
        row
    }
}

/// A part that was computed now.
pub struct NewPart<'a> {
    /// What computed it.
    pub source: &'a str,
    /// Its columns.
    pub columns: Row,
    /// As [`Source::cost`] counts.
    pub cost: u64,
    /// How many parts its source has computed.
    pub n_done: usize,
    /// How many it has to compute.
    pub n: usize,
    /// Parts a second, its loading left out.
    pub rate: f64,
}

/// The line of a journal for a sample's part.
pub fn journal_line(sample: &Sample, part: &Row) -> Row {
    let mut line = Row::new();
    line.insert(ID_COLUMN.into(), sample.id.clone().into());
    line.insert(CONTENT_KEY.into(), content_hash(sample).into());
    line.extend(part.clone());
    line
}

/// What the columns of a sample depend on beside the settings.
fn content_hash(sample: &Sample) -> String {
    let mut hash = Sha256::new();
    for part in [sample.task.name(), &sample.diff, &sample.text].into_iter().chain(sample.reference()) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("{:x}", hash.finalize())[..32].to_owned()
}

/// The provenance of a table by what depends on it, for its journal: the run, each source's columns, and those of all scorers.
pub fn groups(provenance: &BTreeMap<String, String>, settings: &Settings) -> Groups {
    let mut groups = Groups::new();
    let features: Vec<&str> = settings.features.names_from(SCORER).collect();
    for (key, value) in provenance {
        let group = match key.split_once('@') {
            Some((_, model)) => format!("@{model}"),
            None if CATALOGUE.is_plain_feature(key) || key == GROUNDING => key.clone(),
            None if ["program", "version", SHARD_KEY].contains(&key.as_str()) => "run".to_owned(),
            None if features.is_empty() => continue,
            None => "scorers".to_owned(),
        };
        let value = if key == "features" { features.join(",") } else { value.clone() };
        groups.entry(group).or_default().insert(key.clone(), value);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use veridiff_core::families::catalogue::FeatureSet;

    #[test]
    fn what_a_source_adds_is_a_group_of_its_own() {
        let of = |features: &[&str], more: &[(&str, &str)]| {
            let settings = Settings { features: FeatureSet::parse(features).unwrap(), ..Settings::default() };
            let mut provenance = settings.provenance();
            provenance.extend(more.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())));
            groups(&provenance, &settings)
        };
        let scorer = [("model@a", "x"), ("dtype@a", "f32")];
        let one = of(&["uncertainty"], &scorer);
        assert_eq!(one.keys().collect::<Vec<_>>(), ["@a", "run", "scorers"]);
        // an encoder and BLEU add a feature and groups, and leave those of the scorer as they are
        let more =
            of(&["uncertainty", "similarity", "bleu4"], &[scorer[0], scorer[1], ("model@b", "y"), (BLEU4, "nltk")]);
        assert_eq!(more.keys().collect::<Vec<_>>(), ["@a", "@b", "bleu4", "run", "scorers"]);
        assert!(one.iter().all(|(group, says)| more[group] == *says));
        // another feature of the scorer's changes its columns
        assert_ne!(of(&["logprob"], &scorer)["scorers"], one["scorers"]);
        // settings of scorers bind nothing where there is none
        assert_eq!(of(&["bleu4"], &[(BLEU4, "nltk")]).keys().collect::<Vec<_>>(), ["bleu4", "run"]);
    }
}
