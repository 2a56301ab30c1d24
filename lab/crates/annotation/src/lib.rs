//! Labels by people: which samples to look at, the core paper's decision tree, one file an annotator, how far annotators
//! agree, and how often each outcome is.
//!
//! | file | owns |
//! |---|---|
//! | `tree.rs` | the questions, the outcomes, the walk between them |
//! | `sampling.rs` | how many samples a margin of error needs, and the seeded draw |
//! | `session.rs` | one sitting: which sample is open, what a key does |
//! | `record.rs` | the annotation file |
//! | `agreement.rs` | Cohen's kappa, disagreements |
//! | `settle.rs` | several annotators' answers to one, back into samples |
//! | `prevalence.rs` | shares of the outcomes |
//! | `tables.rs`, `view.rs` | agreement and prevalence as tables, and what an annotator looks at |
//!
//! Nothing here reads keys or prints: the verbs `annotate`, `agree` and `prevalence` do that.

mod agreement;
mod prevalence;
mod record;
mod sampling;
mod session;
mod settle;
mod tables;
mod tree;
mod view;

use std::path::PathBuf;

pub use agreement::{Disagreement, Level, LevelAgreement, PairAgreement, pair_agreement};
pub use prevalence::{GeneratorPrevalence, Share, TaskPrevalence, TypeShare, Who, prevalence};
pub use record::{Annotation, AnnotationFile, Annotations};
pub use sampling::{Draw, Drawn, Size, Stratum, draw, sample_size};
pub use session::{Pressed, Session};
pub use settle::{LabelCount, OtherTexts, SettledSample, Settlement, put_labels, settle};
pub use tables::{agreement_page, prevalence_page};
pub use tree::{ByTask, Category, Choice, Outcome, Question, RULES, TREE, Walk};
pub use view::{Earlier, definitions, question_lines, sample_page};

/// Annotation files for tests.
#[cfg(test)]
mod fixtures {
    use std::{collections::BTreeMap, path::PathBuf};

    use super::{Annotation, Annotations, Outcome};
    use veridiff_text::sample::{Sample, Task, fingerprint};

    /// The diff that all samples of these files have; their text is their id.
    pub const DIFF: &str = "+x";

    /// An annotator's file of answers: round, id, outcome.
    pub fn file(name: &str, answers: &[(u32, &str, Outcome)]) -> Annotations {
        let answer = |&(round, id, outcome): &(u32, &str, Outcome)| Annotation {
            annotator: name.into(),
            round,
            id: id.into(),
            outcome,
            answers: BTreeMap::new(),
            note: None,
            task: Task::Review,
            generator: None,
            texts: fingerprint(&Sample::new(id, DIFF, id)),
            seconds: 0.0,
        };
        Annotations { path: PathBuf::new(), annotator: name.into(), answers: answers.iter().map(answer).collect() }
    }
}

/// What can go wrong with samples to annotate and with annotation files.
///
/// Fields are named as in the messages, and described where the message leaves a question: `path` is the annotation file, `line`
/// counts from 1, `round` and `column` are what was asked for, `source` is the error of the system or of the JSON parser.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields are described above, once")]
#[non_exhaustive]
pub enum AnnotationError {
    /// There are no samples to draw from, or none is asked for.
    #[error("there is no sample to annotate")]
    NoSamples,
    /// A confidence or margin that is not a share.
    #[error("the {what} is {value}, expected a number above 0 and below 1")]
    Share {
        /// Which of the two shares it is: `confidence` or `margin`.
        what: &'static str,
        value: f64,
    },
    /// A column to draw by that no sample has.
    #[error("no sample has the key `{column}` to draw by")]
    Column {
        column: String,
        /// The metadata keys that some sample has, sorted.
        known: Vec<String>,
    },
    /// A round for which the rounds before left nothing.
    #[error("round {round} has no samples: rounds of this size are through all {n_samples} before it")]
    RoundPastEnd {
        round: u32,
        /// How many samples the input has.
        n_samples: usize,
    },
    /// A file cannot be read.
    #[error("cannot read `{path}`")]
    Read { path: PathBuf, source: std::io::Error },
    /// A file cannot be written.
    #[error("cannot write `{path}`")]
    Write { path: PathBuf, source: std::io::Error },
    /// The path is a device or a folder, in which no answers can be kept.
    #[error("`{path}` is not a regular file")]
    NotAFile { path: PathBuf },
    /// Another process holds the file.
    #[error("`{path}` is open in another `annotate`")]
    Busy { path: PathBuf },
    /// A line of the file is not an answer as `annotate` writes it.
    #[error("`{path}`, line {line}: not an annotation")]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    /// The file is somebody else's.
    #[error("`{path}` holds the answers of `{found}`, not of `{wanted}`")]
    OtherAnnotator {
        path: PathBuf,
        /// The annotator whose answers the file holds.
        found: String,
        /// The annotator who asked to go on in it.
        wanted: String,
    },
    /// One file holds the answers of two annotators.
    #[error("`{path}`, line {line}: an answer of `{second}` among those of `{first}`")]
    TwoAnnotators {
        path: PathBuf,
        /// The annotator of the file's first answer; `second` is the one of this line.
        first: String,
        second: String,
        line: usize,
    },
}

impl AnnotationError {
    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        use AnnotationError::*;
        match self {
            Share { .. } => Some("95% within 5 points is `--confidence 0.95 --margin 0.05`".into()),
            Column { known, .. } => {
                Some(format!("keys: {}", known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")))
            }
            RoundPastEnd { .. } => Some("choose an earlier round, a smaller `--size`, or another `--seed`".into()),
            Busy { .. } => Some("finish there first, or give each annotator a file of their own".into()),
            Line { .. } | NotAFile { .. } => {
                Some("annotation files are written by `veridiff lab annotate --output`".into())
            }
            OtherAnnotator { .. } | TwoAnnotators { .. } => {
                Some("one annotator a file: give each a `--output` of their own".into())
            }
            NoSamples | Read { .. } | Write { .. } => None,
        }
    }
}
