//! Where one part of every row comes from.

use std::{collections::BTreeMap, ops::ControlFlow};

use super::forecast::Forecast;
use crate::{Result, settings::Settings};
use veridiff_table::Row;
use veridiff_text::sample::Sample;

/// Takes the index of a sample and what was computed of it, as soon as that is there; breaks if no more is wanted. Whoever lends it
/// keeps what the breaking is about, such as an error of his own.
pub type Done<'a> = dyn FnMut(usize, Row) -> ControlFlow<()> + 'a;

/// Something that computes some columns of every row: a scorer, an encoder, a classifier, BLEU-4, the words of the texts. No source
/// depends on another's columns, so that they run one after the other, each over all samples that lack its part; journal, resuming,
/// shards and merging come with that.
///
/// To add one, implement this in a file of its own and add a line where sources are gathered
/// ([`References::sources`](super::references::References::sources)).
pub trait ColumnSource: Send {
    /// What a person knows it by. Columns that end in `@` and this name are its own.
    fn name(&self) -> &str;

    /// What its columns come from, as metadata of a table. A key ends in `@` and the name, or is the name of a feature that no
    /// model gives: it then binds, in a journal, the columns of this source alone.
    fn provenance(&self) -> BTreeMap<String, String>;

    /// Whether a column is its own.
    fn owns(&self, column: &str) -> bool {
        column.split_once('@').is_some_and(|(_, name)| name == self.name())
    }

    /// Whether a part that an earlier run has left has all that this one gives: without, it is computed again.
    fn is_whole(&self, _part: &Row) -> bool {
        true
    }

    /// What a sample's part costs, roughly, in bytes that are read once; only the ratio between sources matters.
    fn cost(&self, sample: &Sample, _settings: &Settings) -> u64 {
        (prompt_bytes(sample) + sample.text.len()) as u64
    }

    /// What all samples of a run cost: less than the sum of them where what they share is computed once.
    fn cost_of_all(&self, samples: &[&Sample], settings: &Settings) -> u64 {
        samples.iter().map(|sample| self.cost(sample, settings)).sum()
    }

    /// Whether it takes much memory once it is loaded. Such sources run after the others, one of them in memory at a time.
    fn is_heavy(&self) -> bool {
        false
    }

    /// Whether its first rows make ready what later ones find, such as grammars, and so say little of what a row takes. It computes a
    /// row again as if it had not before: it keeps none, and asks nobody who is paid for it.
    fn warms_up(&self) -> bool {
        false
    }

    /// Reads from disk what it computes with, when its turn comes; nothing if that is there. The time is not counted as computing.
    ///
    /// # Errors
    /// What it needs cannot be read.
    fn load(&mut self, _settings: &Settings) -> Result<()> {
        Ok(())
    }

    /// Once it is loaded: what it will take for `samples`, without computing one of them. None where that is not known, or where it
    /// has fewer than `operations` to do, so that it is not worth the seconds that knowing it takes.
    fn forecast(&self, _samples: &[&Sample], _settings: &Settings, _operations: f64) -> Option<Forecast> {
        None
    }

    /// Computes the parts of all samples and hands each to `done` as soon as it is there, in any order. What fails for a sample is a
    /// column `status@…` that says `error`, and not an error.
    ///
    /// # Errors
    /// The source as a whole cannot compute.
    fn columns(&mut self, samples: &[&Sample], settings: &Settings, done: &mut Done<'_>) -> Result<()>;
}

/// Bytes of instruction that a prompt has around the diff, about.
const AROUND_DIFF: usize = 300;

/// Bytes of a sample's prompt, about.
pub(super) fn prompt_bytes(sample: &Sample) -> usize {
    AROUND_DIFF + sample.diff.len()
}

/// Computes part after part, in the order of the samples, until there is none or no more is wanted.
pub fn one_by_one(n_samples: usize, done: &mut Done<'_>, part: impl Fn(usize) -> Row) {
    let _stopped = (0..n_samples).try_for_each(|index| done(index, part(index)));
}

/// Whether a part says that its source could not compute it.
pub fn failed(part: &Row) -> bool {
    part.iter().any(|(key, value)| key.starts_with("status@") && value.as_str() == Some("error"))
}
