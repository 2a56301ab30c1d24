//! What `check` says of a text: a probability, a verdict, and the evidence in words and lines.

use std::{path::Path, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use crate::{
    case::Case,
    families::{
        attribution,
        catalogue::{FeatureSet, SCORER, TEXT},
    },
    scorer::{Measurement, Scorer, Settings, Workspace, describe},
    tokens::Segment,
};
use veridiff_detector::{Detector, DetectorError, Verdict};
use veridiff_table::Row;
use veridiff_text::{
    diff::{Diff, DiffError},
    grounding::{self, Found},
    sample::Sample,
};

/// Most entries of each kind of evidence.
const MOST: usize = 5;

/// Log-probability below which a word counts as surprising: the model gave it less than one chance in a thousand.
const SURPRISING_LOGPROB: f64 = -6.9;

/// What is said of one text. The schema is that of `check --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The sample's id.
    pub id: String,
    /// Calibrated probability that the change does not support the text, 0 to 1; null if it could not be computed.
    pub p_hallucination: Option<f64>,
    /// Null if it could not be reached.
    pub verdict: Option<Verdict>,
    /// Which detector says so.
    pub detector: DetectorName,
    /// Why.
    pub evidence: Evidence,
    /// What limits the verdict: a language, a generator, lengths or values unlike the detector's training rows, a diff that was cut.
    pub notes: Vec<String>,
    /// Why there is no verdict; null if there is one.
    pub error: Option<String>,
    /// The text, for reports that show it.
    #[serde(skip)]
    pub text: String,
    /// File of the diff and line of its new side to which a report points.
    pub place: Option<Place>,
}

/// A detector's names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DetectorName {
    /// The first 12 hex digits of its hash.
    pub id: String,
    /// SHA-256 of its content.
    pub sha256: String,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// As the diff names it.
    pub file: String,
    /// 1-based, on the new side.
    pub line: usize,
}

/// A detector with what it needs of a sample.
#[derive(Debug)]
pub struct Checker<'a> {
    detector: &'a Detector,
    features: FeatureSet,
    scorer: Option<String>,
}

impl<'a> Checker<'a> {
    /// Finds out which features and which model a detector needs; `full` asks for attribution whether it needs it or not.
    ///
    /// # Errors
    /// [`DetectorError::NotForChecking`] if it needs more than one scorer, an encoder, a classifier or a reference.
    pub fn new(detector: &'a Detector, full: bool) -> Result<Self, DetectorError> {
        let refuse =
            |feature: &str, why: &'static str| DetectorError::NotForChecking { feature: feature.to_owned(), why };
        let mut names = Vec::new();
        let mut scorer: Option<String> = None;
        for feature in &detector.features {
            let (name, model) = feature.name.split_once('@').unzip();
            let name = name.unwrap_or(&feature.name);
            let set =
                FeatureSet::parse(&[name]).map_err(|_| refuse(&feature.name, "is not a feature of this version"))?;
            if !set.needs_source(SCORER) && !set.needs_source(TEXT) {
                return Err(refuse(&feature.name, "needs a reference or an encoder, which `check` does not have"));
            }
            if let Some(model) = model {
                if scorer.as_deref().is_some_and(|known| known != model) {
                    return Err(refuse(&feature.name, "is of a second scorer, and `check` runs one"));
                }
                scorer = Some(model.to_owned());
            }
            names.push(name);
        }
        let features = FeatureSet::parse(&names).map_err(|error| refuse(&error.name, "is unknown"))?;
        let features = if full { features.with(&attribution::FAMILY) } else { features };
        Ok(Checker { detector, features, scorer })
    }

    /// The features to compute.
    pub fn features(&self) -> &FeatureSet {
        &self.features
    }

    /// The scorer that they come from, if one is needed.
    pub fn scorer(&self) -> Option<&str> {
        self.scorer.as_deref()
    }

    /// A finding by a detector that needs no model.
    pub fn without_model(&self, sample: &Sample) -> Finding {
        self.finding(sample, Case::of_sample(sample).map(Arc::new), None, Row::new(), None)
    }

    /// A finding; none if the sample is too large for a workspace that shares its memory with others.
    pub fn with_model(
        &self,
        scorer: &Scorer,
        settings: &Settings,
        sample: &Sample,
        workspace: &mut Workspace,
    ) -> Option<Finding> {
        let case = Case::of_sample(sample).map(Arc::new);
        let measured = match &case {
            Ok(case) => scorer.measure_in(workspace, case, settings),
            Err(error) => Err(error.clone().into()),
        };
        if workspace.is_too_small(&measured) {
            return None;
        }
        let columns = scorer.columns_of(&measured, settings);
        let (measurement, error) = match &measured {
            Ok(measurement) => (Some(measurement), None),
            Err(error) => (None, Some(describe(error))),
        };
        Some(self.finding(sample, case, measurement, columns, error))
    }

    fn finding(
        &self,
        sample: &Sample,
        case: Result<Arc<Case>, DiffError>,
        measurement: Option<&Measurement>,
        mut columns: Row,
        error: Option<String>,
    ) -> Finding {
        let mut finding = Finding {
            id: sample.id.clone(),
            p_hallucination: None,
            verdict: None,
            detector: DetectorName { id: self.detector.id().to_owned(), sha256: self.detector.sha256().to_owned() },
            evidence: Evidence::default(),
            notes: Vec::new(),
            error,
            text: sample.text.clone(),
            place: None,
        };
        let case = match case {
            Ok(case) => case,
            Err(problem) => {
                finding.error.get_or_insert(describe(&problem.into()));
                return finding;
            }
        };
        finding.place = place(case.diff());
        if finding.error.is_some() {
            return finding;
        }
        columns.extend(self.features.plain_values(&case).into_iter().map(|(k, v)| (k.to_owned(), Value::from(v))));
        let mut values = Vec::with_capacity(self.detector.features.len());
        for feature in &self.detector.features {
            match columns.get(&feature.name).and_then(Value::as_f64) {
                Some(value) => values.push(value),
                None => {
                    finding.error =
                        Some(format!("`{}` has no value for this text, so there is no verdict", feature.name));
                    return finding;
                }
            }
        }
        let p = self.detector.probability(&values);
        finding.p_hallucination = Some(p);
        finding.verdict = Some(self.detector.verdict(p));
        finding.evidence = Evidence {
            ungrounded: ungrounded(case.evidence(), case.text()),
            surprising: measurement.map(surprising).unwrap_or_default(),
            lines: measurement.map(rests_on).unwrap_or_default(),
            features: contributions(self.detector, &values),
        };
        let kind = |key: &str, value: Option<String>| value.map(|value| (key.to_owned(), Value::from(value)));
        columns
            .extend(kind("language", sample.language.clone().or_else(|| language_of(case.diff()).map(str::to_owned))));
        columns.extend(kind("generator", sample.generator.clone()));
        finding.notes = self.detector.training.domain.differences(&columns);
        finding.notes.extend(range_notes(self.detector, &values));
        if let Some(m) = measurement.filter(|m| m.encoding.n_cut > 0) {
            finding.notes.push(format!("{} tokens of the diff were cut to fit the model", m.encoding.n_cut));
        }
        finding
    }
}

/// What speaks for a verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Evidence {
    /// What the text says that the change does not have, or contradicts: refuted statements, then misspelt names, then names that
    /// do not occur. A name that does not occur may be one from the rest of the file.
    pub ungrounded: Vec<Ungrounded>,
    /// Words of the text that the model found most surprising after the diff, worst first.
    pub surprising: Vec<SurprisingWord>,
    /// Lines of the diff that the text rests on most; empty without attribution.
    pub lines: Vec<RestsOn>,
    /// The features that moved the verdict most, strongest first.
    pub features: Vec<Contribution>,
}

/// Something that the text says and the change does not bear out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ungrounded {
    /// Of which kind.
    pub kind: UngroundedKind,
    /// The words of the text that it is about.
    pub words: String,
    /// First byte in the text.
    pub byte_start: usize,
    /// One past the last byte.
    pub byte_end: usize,
    /// 1-based lines of the diff that contradict it.
    pub diff_lines: Vec<usize>,
    /// The same as a sentence.
    pub says: String,
}

/// How a text fails to stand on a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UngroundedKind {
    /// Lines of the diff contradict a statement.
    Refuted,
    /// A name is not in the diff, but one that is spelt almost like it.
    NearMiss,
    /// A name is not in the diff.
    Absent,
}

/// A word that the model did not expect.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SurprisingWord {
    /// As in the text.
    pub word: String,
    /// First byte in the text.
    pub byte_start: usize,
    /// One past the last byte.
    pub byte_end: usize,
    /// ln p of its least likely token, nats.
    pub logprob: f64,
}

/// A line of the diff and its share of the text's attribution.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RestsOn {
    /// 1-based line of the diff.
    pub diff_line: usize,
    /// As in the diff.
    pub text: String,
    /// Whether it was added or removed.
    pub changed: bool,
    /// 0 to 1, of all attribution to the diff.
    pub share: f64,
}

/// A feature's part in a verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contribution {
    /// The feature's column.
    pub feature: String,
    /// Its value.
    pub value: f64,
    /// What it adds to the log-odds of "unsupported", against a training row with the mean value.
    pub log_odds: f64,
}

/// Refuted statements, misspelt names and absent ones, each kind in the order of the text.
fn ungrounded(evidence: &grounding::Evidence, text: &str) -> Vec<Ungrounded> {
    let mut found = Vec::new();
    for claim in evidence.claims.iter().filter(|claim| claim.verdict == grounding::Verdict::Fails) {
        let words = text[claim.subject.clone()].to_owned();
        let diff_lines: Vec<usize> = claim.lines.iter().map(|line| line + 1).collect();
        let lines = match diff_lines[..] {
            [] => "the change says otherwise".to_owned(),
            [line] => format!("line {line} of the diff says otherwise"),
            [first, ..] => format!("line {first} of the diff and others say otherwise"),
        };
        found.push(Ungrounded {
            kind: UngroundedKind::Refuted,
            says: format!("says that `{words}` {}: {lines}", claim.kind.says()),
            words,
            byte_start: claim.span.start.min(claim.subject.start),
            byte_end: claim.span.end.max(claim.subject.end),
            diff_lines,
        });
    }
    let mut name = |mention: &grounding::Mention, kind: UngroundedKind, says: &dyn Fn(&str) -> String| {
        let span = evidence.word_of(mention).span.clone();
        let words = text[span.clone()].to_owned();
        // a name is said once, however often the text repeats it
        if !found.iter().any(|known: &Ungrounded| known.words == words) {
            let says = says(&words);
            found.push(Ungrounded {
                kind,
                words,
                byte_start: span.start,
                byte_end: span.end,
                diff_lines: Vec::new(),
                says,
            });
        }
    };
    for mention in evidence.near_misses() {
        if let Found::Near { name: near, .. } = &mention.found {
            name(mention, UngroundedKind::NearMiss, &|words| {
                format!("`{words}` does not occur in the change; `{near}` does")
            });
        }
    }
    for mention in evidence.absent_names() {
        name(mention, UngroundedKind::Absent, &|words| format!("`{words}` does not occur in the change"));
    }
    found.truncate(2 * MOST);
    found
}

/// Words (runs without white space) whose least likely token is below [`SURPRISING_LOGPROB`].
fn surprising(m: &Measurement) -> Vec<SurprisingWord> {
    let e = &m.encoding;
    let Some(start) = e.spans.get(e.n_prompt..).and_then(|spans| spans.iter().map(|span| span.start).min()) else {
        return Vec::new();
    };
    let mut words: Vec<SurprisingWord> = Vec::new();
    for (t, &logprob) in m.scores.logprob.iter().enumerate() {
        let Some(span) = e.spans.get(e.n_prompt + t) else { break };
        let Some(token) = e.text.get(span.clone()) else { continue };
        if logprob > SURPRISING_LOGPROB || !token.contains(char::is_alphanumeric) {
            continue;
        }
        // the whole word around the token
        let from = span.start + (token.len() - token.trim_start().len());
        let before = e.text.get(start..from).unwrap_or("");
        let word_start = start
            + before
                .rfind(char::is_whitespace)
                .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let after = e.text.get(from..).unwrap_or("");
        let word_end = from + after.find(char::is_whitespace).unwrap_or(after.len());
        let Some(word) = e.text.get(word_start..word_end) else { continue };
        match words.iter_mut().find(|known| known.byte_start == word_start - start) {
            Some(known) => known.logprob = known.logprob.min(logprob),
            None => words.push(SurprisingWord {
                word: word.to_owned(),
                byte_start: word_start - start,
                byte_end: word_end - start,
                logprob,
            }),
        }
    }
    words.sort_by(|a, b| a.logprob.total_cmp(&b.logprob));
    words.truncate(MOST);
    words
}

/// The lines of the diff with the largest shares of the attribution's magnitude.
fn rests_on(m: &Measurement) -> Vec<RestsOn> {
    let Some(matrix) = &m.matrix else { return Vec::new() };
    let e = &m.encoding;
    let mut of_line = vec![0.0; m.case.diff().lines().len()];
    for column in &matrix.columns {
        for (i, value) in column.iter().enumerate().take(e.n_prompt) {
            if let (Segment::Diff, Some(line)) = (e.segments[i], e.diff_lines[i]) {
                of_line[line] += value.abs();
            }
        }
    }
    let total = of_line.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut lines: Vec<usize> = (0..of_line.len()).filter(|&line| of_line[line] > 0.0).collect();
    lines.sort_by(|&a, &b| of_line[b].total_cmp(&of_line[a]));
    lines.truncate(MOST);
    let line = |index: usize| RestsOn {
        diff_line: index + 1,
        text: m.case.diff().line_text(index).trim_end().to_owned(),
        changed: m.case.diff().lines()[index].kind.is_changed(),
        share: of_line[index] / total,
    };
    lines.into_iter().map(line).collect()
}

fn contributions(detector: &Detector, values: &[f64]) -> Vec<Contribution> {
    let named = detector.features.iter().zip(values).zip(detector.contributions(values));
    let mut parts: Vec<Contribution> =
        named.map(|((f, &value), log_odds)| Contribution { feature: f.name.clone(), value, log_odds }).collect();
    parts.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()));
    parts.truncate(MOST);
    parts
}

/// Standard deviations from the training mean beyond which a value is unlike the training rows.
const UNLIKE: f64 = 4.0;

/// What a reader should know about values that the detector was not trained on.
pub fn range_notes(detector: &Detector, values: &[f64]) -> Vec<String> {
    let far = |(f, &value): (&veridiff_detector::Feature, &f64)| {
        let off = (value - f.mean) / f.scale;
        // quantiles from 0 to 100%: a value that some row had is not strange, however rare
        let was_seen = matches!(f.quantiles[..], [least, .., most] if (least..=most).contains(&value));
        (off.abs() > UNLIKE && !was_seen).then(|| {
            format!("`{}` is {value:.3}, {:.0} standard deviations from the training rows' mean", f.name, off.abs())
        })
    };
    detector.features.iter().zip(values).filter_map(far).collect()
}

/// The programming language of the first file that the diff names, if its extension tells.
fn language_of(diff: &Diff) -> Option<&'static str> {
    const EXTENSIONS: [(&str, &str); 22] = [
        ("c", "c"),
        ("cc", "cpp"),
        ("cpp", "cpp"),
        ("cs", "csharp"),
        ("go", "go"),
        ("h", "c"),
        ("hpp", "cpp"),
        ("java", "java"),
        ("js", "javascript"),
        ("jsx", "javascript"),
        ("kt", "kotlin"),
        ("md", "markdown"),
        ("mjs", "javascript"),
        ("php", "php"),
        ("py", "python"),
        ("rb", "ruby"),
        ("rs", "rust"),
        ("scala", "scala"),
        ("sh", "shell"),
        ("swift", "swift"),
        ("ts", "typescript"),
        ("tsx", "typescript"),
    ];
    let extension = Path::new(diff.files().first()?).extension()?.to_str()?;
    EXTENSIONS.into_iter().find_map(|(known, language)| (known == extension).then_some(language))
}

/// The first changed line, as the new side counts; a removal has the line that is there now.
pub fn place(diff: &Diff) -> Option<Place> {
    let lines = diff.lines();
    let first = lines.iter().position(|line| line.kind.is_changed())?;
    let file = diff.files().get(lines[first].file?)?.clone();
    let line = lines[first..].iter().chain(lines[..first].iter().rev()).find_map(|line| line.new)?;
    Some(Place { file, line })
}
