//! How a table is filled: part by part.
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
//! the order of the input and their columns in that of the sources, so a table does not show in how many runs it was made.

use std::{
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
    time::Instant,
};

use sha2::{Digest, Sha256};

use super::{
    forecast::Forecast,
    score::{Phase, Progress},
    source::{ColumnSource, failed},
};
use crate::{
    Error, Result,
    families::{catalogue::CATALOGUE, facts::FACTS, family::SCORER, grounding::GROUNDING},
    settings::Settings,
};
use veridiff_table::{Groups, ID_COLUMN, Row, SHARD_KEY};
use veridiff_text::sample::Sample;

/// In the journal only: what the finished columns were computed from. A resumed run takes them over if it is the same.
const CONTENT_KEY: &str = "content_sha256";

/// Operations from which on it is worth two seconds to know what a run takes: some minutes of a few cores.
const WORTH_A_FORECAST: f64 = 1e14;

/// A source's part of the columns of a row; none if the part is missing or failed.
fn part_of(source: &dyn ColumnSource, columns: &Row) -> Option<Row> {
    let own = columns.iter().filter(|(key, _)| source.owns(key));
    let part: Row = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!part.is_empty() && !failed(&part) && source.is_whole(&part)).then_some(part)
}

/// What is known of the rows of a table: each sample's parts in the order of the sources, none where one is missing.
#[derive(Debug)]
pub struct Parts {
    parts: Vec<Vec<Option<Row>>>,
    /// Seconds that computing parts has taken; loading models is left out.
    pub seconds: f64,
}

/// A part that was computed now.
#[derive(Debug)]
pub struct NewPart<'a> {
    /// The sample's index in the input, counted from 0.
    pub index: usize,
    /// The name of the source of columns that computed the part.
    pub source: &'a str,
    /// The part's columns with their values.
    pub columns: Row,
    /// What it cost, as [`ColumnSource::cost`] counts.
    pub cost: u64,
    /// How many parts its source has computed.
    pub n_done: usize,
    /// How many it has to compute.
    pub n: usize,
    /// Parts a second, its loading left out.
    pub rate: f64,
}

impl Parts {
    /// The parts of `samples`, with what the lines `journal` of an earlier run hold of them.
    pub fn new(samples: &[&Sample], sources: &[Box<dyn ColumnSource>], journal: Vec<Row>) -> Self {
        let mut known: HashMap<(String, String), Row> = HashMap::new();
        for mut line in journal {
            let mut text = |key: &str| line.shift_remove(key).and_then(|v| v.as_str().map(str::to_owned));
            if let (Some(id), Some(content)) = (text(ID_COLUMN), text(CONTENT_KEY)) {
                known.entry((id, content)).or_default().extend(line);
            }
        }
        let parts_of = |sample: &&Sample| {
            let columns = known.get(&(sample.id.clone(), content_hash(sample)));
            sources.iter().map(|source| columns.and_then(|columns| part_of(&**source, columns))).collect()
        };
        Parts { parts: samples.iter().map(parts_of).collect(), seconds: 0.0 }
    }

    /// Whether nothing of a row is missing.
    pub fn is_complete(&self, index: usize) -> bool {
        self.parts[index].iter().all(Option::is_some)
    }

    /// The samples that lack the part of the source at `place`.
    fn lacking(&self, place: usize) -> Vec<usize> {
        (0..self.parts.len()).filter(|&index| self.parts[index][place].is_none()).collect()
    }

    /// The work there is and the work done already, as [`ColumnSource::cost`] counts.
    pub fn costs(&self, samples: &[&Sample], sources: &[Box<dyn ColumnSource>], settings: &Settings) -> (u64, u64) {
        let (mut all, mut done) = (0, 0);
        for (sample, parts) in samples.iter().zip(&self.parts) {
            for (source, part) in sources.iter().zip(parts) {
                let cost = source.cost(sample, settings);
                all += cost;
                done += if part.is_some() { cost } else { 0 };
            }
        }
        (all, done)
    }

    /// Computes what is missing, source after source; each source is gone when it has computed its parts. `done` gets each new
    /// part when it is there, with all that are known by then; if it breaks, nothing further is computed.
    ///
    /// # Errors
    /// A source cannot be loaded or cannot compute, or `done` failed; [`Error::Stopped`] if `progress` is.
    pub fn fill(
        &mut self,
        samples: &[&Sample],
        sources: Vec<Box<dyn ColumnSource>>,
        settings: &Settings,
        progress: &mut dyn Progress,
        done: &mut dyn FnMut(&mut Parts, &NewPart<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut order: Vec<(usize, Box<dyn ColumnSource>)> = sources.into_iter().enumerate().collect();
        order.sort_by_key(|(_, source)| source.is_heavy());
        for (place, mut source) in order {
            let missing = self.lacking(place);
            if missing.is_empty() {
                continue;
            }
            let name = source.name().to_owned();
            let lacking: Vec<&Sample> = missing.iter().map(|&index| samples[index]).collect();
            let costs: Vec<u64> = lacking.iter().map(|sample| source.cost(sample, settings)).collect();
            if source.is_heavy() {
                progress.phase(Phase::Loading { source: &name });
            }
            source.load(settings)?;
            let cost = costs.iter().sum();
            if let Some(Forecast { time, memory }) = source.forecast(&lacking, settings, WORTH_A_FORECAST) {
                if let Some(memory) = memory {
                    progress.note(&format!("{name}: {}", memory.text));
                }
                if let Some(time) = time {
                    progress.forecast(&name, lacking.len(), time.seconds);
                }
            }
            progress.phase(Phase::Computing { source: &name, n: lacking.len(), cost });
            let (mut n_done, start) = (0, Instant::now());
            let mut stopped = Ok(ControlFlow::Continue(()));
            source.columns(&lacking, settings, &mut |i, part| {
                n_done += 1;
                let rate = n_done as f64 / start.elapsed().as_secs_f64();
                let (index, columns, cost, n) = (missing[i], part.clone(), costs[i], missing.len());
                let new = NewPart { index, source: &name, columns, cost, n_done, n, rate };
                self.parts[index][place] = Some(part);
                stopped = done(self, &new);
                progress.part(&new);
                if stopped.is_ok() && progress.is_stopped() {
                    stopped = Err(Error::Stopped);
                }
                if matches!(stopped, Ok(ControlFlow::Continue(()))) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
            self.seconds += start.elapsed().as_secs_f64();
            if stopped?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The columns of a row, so far as they are known; they are taken out.
    pub fn take(&mut self, index: usize) -> Row {
        std::mem::take(&mut self.parts[index]).into_iter().flatten().flatten().collect()
    }
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
            None if CATALOGUE.is_plain_feature(key) || key == GROUNDING || key == FACTS => key.clone(),
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
    use crate::families::{catalogue::FeatureSet, reference::BLEU4};

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
