//! How probable a language model finds a text that sees no change: an edited text may be an improbable one.
//!
//! This crate knows no model. Whoever has one says how probable a text is ([`Likelihood`]), and what it said is kept in a file
//! ([`Remembered`]), so that a run that was stopped goes on from there.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::chance;
use crate::error::CorpusError;
use crate::rows::Pair;
use crate::tells::auc;

/// Of each road a model is asked about the texts of at most so many pairs.
pub const ASKED: usize = 500;

/// Says how probable a text is to one who does not see the change.
pub trait Likelihood: Sync {
    /// What is asked, in words, with everything that its answers hang on.
    fn model(&self) -> String;
    /// The mean log-probability of a text's tokens, in nats.
    ///
    /// # Errors
    /// Why it cannot say.
    fn log_prob(&self, text: &str) -> Result<f64, String>;
}

/// A model with what it said before.
pub struct Remembered<'l> {
    model: &'l dyn Likelihood,
    path: PathBuf,
    known: Mutex<HashMap<String, f64>>,
}

impl fmt::Debug for Remembered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered")
            .field("model", &self.model.model())
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Answer {
    text: String,
    log_prob: f64,
}

/// What a model's likelihood tells of a road's twins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tell {
    /// AUC of the log-probability over all texts, whichever way it tells.
    pub auc: f64,
    /// Share of pairs whose twin is the less probable text, those as probable counted half.
    pub less_probable: f64,
}

impl fmt::Display for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}, {:.1}%", self.auc, 100.0 * self.less_probable)
    }
}

impl<'l> Remembered<'l> {
    /// A model whose answers go to a file in `folder`, and come from there if they were given before. A line that a kill tore is
    /// asked for again.
    ///
    /// # Errors
    /// [`CorpusError::Read`].
    pub fn open(model: &'l dyn Likelihood, folder: &Path) -> Result<Self, CorpusError> {
        let number = chance(0, &["likelihood", &model.model()]);
        let path = folder.join(format!("likelihood-{number:016x}.jsonl"));
        let text = match path.is_file() {
            true => fs::read_to_string(&path).map_err(|source| CorpusError::Read { path: path.clone(), source })?,
            false => String::new(),
        };
        let answers = text.lines().filter_map(|line| serde_json::from_str::<Answer>(line).ok());
        let known = answers.map(|answer| (answer.text, answer.log_prob)).collect();
        Ok(Remembered { model, path, known: Mutex::new(known) })
    }

    /// What is asked.
    pub fn model(&self) -> String {
        self.model.model()
    }

    /// What the likelihood tells of some pairs' twins; `None` of none. Of many the model is asked of [`ASKED`], drawn by chance.
    ///
    /// # Errors
    /// [`CorpusError::Likelihood`], [`CorpusError::Write`].
    pub fn tell(&self, pairs: &[&Pair], seed: u64) -> Result<Option<Tell>, CorpusError> {
        let mut drawn = pairs.to_vec();
        drawn.sort_by_cached_key(|pair| chance(seed, &["likelihood", &pair.truth.pair]));
        drawn.truncate(ASKED);
        let (mut scores, mut labels, mut n_less) = (Vec::new(), Vec::new(), 0.0);
        for pair in &drawn {
            let [truth, twin] = [self.log_prob(&pair.truth.text)?, self.log_prob(&pair.twin.text)?];
            scores.extend([-truth, -twin]);
            labels.extend([false, true]);
            n_less += if truth == twin { 0.5 } else { f64::from(u8::from(twin < truth)) };
        }
        let tell = |auc: f64| Tell { auc: auc.max(1.0 - auc), less_probable: n_less / drawn.len() as f64 };
        Ok(auc(&scores, &labels).map(tell))
    }

    fn log_prob(&self, text: &str) -> Result<f64, CorpusError> {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(&log_prob) = known.get(text) {
            return Ok(log_prob);
        }
        let log_prob = self.model.log_prob(text).map_err(|why| CorpusError::Likelihood { why })?;
        let write = |source: std::io::Error| CorpusError::Write { path: self.path.clone(), source };
        let line =
            serde_json::to_string(&Answer { text: text.to_owned(), log_prob }).map_err(|error| write(error.into()))?;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).map_err(write)?;
        // a torn line before this one must not take it along
        file.write_all(format!("\n{line}").as_bytes()).map_err(write)?;
        known.insert(text.to_owned(), log_prob);
        Ok(log_prob)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::rows::Row;
    use crate::truth::Fact;

    /// Finds a text the less probable the longer it is, and counts how often it is asked.
    #[derive(Default)]
    struct Long(AtomicUsize);

    impl Likelihood for Long {
        fn model(&self) -> String {
            "long".into()
        }

        fn log_prob(&self, text: &str) -> Result<f64, String> {
            self.0.fetch_add(1, Ordering::Relaxed);
            if text.is_empty() { Err("no tokens".into()) } else { Ok(-(text.len() as f64)) }
        }
    }

    fn pair(place: usize, truth: &str, twin: &str) -> Pair {
        let row = |text: &str, label| Row {
            id: format!("{place}:{label}"),
            diff: String::new(),
            text: text.into(),
            task: "commit",
            label,
            label_type: None,
            language: None,
            group: format!("{place}"),
            pair: format!("{place}"),
            kind: "value",
            road: "number",
            fact: Fact::Open,
            project: String::new(),
            licence: String::new(),
            hash: String::new(),
        };
        Pair { truth: row(truth, 0), twin: row(twin, 1) }
    }

    #[test]
    fn improbable_twins_tell_and_balanced_ones_do_not() {
        let folder = tempfile::TempDir::new().unwrap();
        let model = Long::default();
        let remembered = Remembered::open(&model, folder.path()).unwrap();
        let told = [pair(0, "a", "bbb"), pair(1, "aa", "bbbb"), pair(2, "a", "aa")];
        let tell = remembered.tell(&told.iter().collect::<Vec<_>>(), 0).unwrap().unwrap();
        assert_eq!(tell.less_probable, 1.0);
        // of nine comparisons one is a draw
        assert!((tell.auc - 8.5 / 9.0).abs() < 1e-12, "{tell}");
        let balanced = [pair(0, "a", "bbb"), pair(1, "bbb", "a"), pair(2, "aa", "aa")];
        let tell = remembered.tell(&balanced.iter().collect::<Vec<_>>(), 0).unwrap().unwrap();
        assert_eq!((tell.auc, tell.less_probable), (0.5, 0.5));
        assert_eq!(remembered.tell(&[], 0).unwrap(), None);
    }

    #[test]
    fn what_was_said_is_not_asked_again() {
        let folder = tempfile::TempDir::new().unwrap();
        let model = Long::default();
        let pairs = [pair(0, "a", "bbb"), pair(1, "cc", "a")];
        let pairs: Vec<&Pair> = pairs.iter().collect();
        let first = Remembered::open(&model, folder.path()).unwrap();
        let tell = first.tell(&pairs, 0).unwrap();
        assert_eq!(model.0.load(Ordering::Relaxed), 3, "a text of two pairs is asked for once");
        // a kill tears the last line
        let mut text = fs::read_to_string(&first.path).unwrap();
        text.truncate(text.len() - 4);
        fs::write(&first.path, text).unwrap();
        let second = Remembered::open(&model, folder.path()).unwrap();
        assert_eq!(second.tell(&pairs, 0).unwrap(), tell);
        assert_eq!(model.0.load(Ordering::Relaxed), 4);
        let third = Remembered::open(&model, folder.path()).unwrap();
        assert_eq!(third.tell(&pairs, 0).unwrap(), tell);
        assert_eq!(model.0.load(Ordering::Relaxed), 4, "what stands behind a torn line is read");
    }

    #[test]
    fn a_model_that_cannot_say_is_an_error() {
        let folder = tempfile::TempDir::new().unwrap();
        let model = Long::default();
        let remembered = Remembered::open(&model, folder.path()).unwrap();
        let error = remembered.tell(&[&pair(0, "", "a")], 0).unwrap_err();
        assert!(matches!(error, CorpusError::Likelihood { why } if why == "no tokens"));
    }
}
