//! Everything that is known of one sample, token by token, once and as documented JSON; pages are made from it.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use super::features::{ComparedRows, FeatureValue, LogOdds, of_sample};
use veridiff_core::run::source::ColumnSource as _;
use veridiff_core::{
    Error, Result,
    families::{attribution::Aggregates, catalogue::FeatureSet},
    focus::Focused,
    gate::{Examined, Gate, ReadBy},
    run::sources::PlainFeatures,
    scorer::Scorer,
    settings::Settings,
    tokens::{Encoding, Segment},
};
use veridiff_facts::{
    case::Case,
    checker::{SharedTree, has_lines},
    finding::Finding,
};
use veridiff_text::{diff::LineKind, language, sample::Sample};

/// The version of the JSON's schema. Fields may be added under one version; none is taken away or changes its meaning.
pub const SCHEMA_VERSION: u32 = 2;

/// Everything measured on one sample, as documented JSON.
///
/// Byte ranges are half-open; positions, lines and tokens of the text count from 0 (people are shown them from 1); logarithms are
/// natural.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The version of the schema, [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The sample's id, or null if it has none.
    pub id: Option<String>,
    /// What is known of the sample beside its texts.
    pub sample: About,
    /// The name of the scorer, as in the columns of a feature table.
    pub scorer: String,
    /// How it was computed: the keys and values of a feature table's metadata.
    pub settings: BTreeMap<String, String>,
    /// N, the number of tokens of the prompt, the diff's among them.
    pub n_prompt_tokens: usize,
    /// T, the number of tokens of the text that is explained.
    pub n_response_tokens: usize,
    /// Diff tokens dropped to fit the token budget, of the hunks that were read if not all were; the notes say which.
    pub n_cut_tokens: usize,
    /// How prompt and text meet: `clean` or `merged`.
    pub boundary: String,
    /// Prompt and text as the model read them, what the spans of bytes are of.
    pub input: String,
    /// The finding of `check` about the sample: the verdict, its statements and its evidence.
    pub finding: Finding,
    /// The ids of all N + T tokens, in order.
    pub token_ids: Vec<u32>,
    /// The same tokens with their place and kind.
    pub tokens: Vec<Token>,
    /// The lines of the diff, in order, those that the model did not see too.
    pub lines: Vec<DiffLine>,
    /// Scores of the T text tokens.
    pub step: TokenScores,
    /// Which of the T text tokens the means are over.
    pub counted: Vec<bool>,
    /// `[N + T][T]`: row = position, column = text token; null where the position is not visible to it. Null as a whole
    /// without attribution.
    pub attribution: Option<Vec<Vec<Option<f64>>>>,
    /// The row of an encoder-decoder's start token, which has a share of every column: T entries. Absent for other models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attribution_start: Vec<f64>,
    /// Means over the text's tokens; null without attribution.
    pub aggregates: Option<AggregatesJson>,
    /// What the whole text rests on: the counted tokens together; null without attribution.
    pub sources: Option<Basis>,
    /// What the tokens chosen with `--token` or `--phrase` rest on; null if none were.
    pub chosen: Option<Basis>,
    /// Every feature of the registry for this sample, and others that a detector asks for.
    pub features: Vec<FeatureValue>,
    /// The rows that `percentile` is among; null if there are none.
    pub reference: Option<ComparedRows>,
    /// How the detector's features add up to its probability; null without a detector or a probability.
    pub log_odds: Option<LogOdds>,
    /// What a reader of the numbers should know.
    pub notes: Vec<String>,
    /// Milliseconds in the model, loading and text handling left out.
    pub timing_ms: Timing,
}

/// What is known of a sample beside its texts; null where it is not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct About {
    /// What kind of text it is: `review` or `commit`.
    pub task: String,
    /// Which system wrote the text.
    pub generator: Option<String>,
    /// The programming language of the change: the sample's own, else as the first file's name tells.
    pub language: Option<String>,
    /// 1 if a person found the text unsupported, 0 if supported.
    pub label: Option<u8>,
    /// Which kind of mistake an unsupported text makes.
    pub label_type: Option<String>,
}

/// Which part of the input a token is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TokenSegment {
    /// Put there by the tokenizer.
    Special,
    /// The prompt around the diff.
    Instruction,
    /// The diff, as far as the model read it.
    Diff,
    /// The text that is explained.
    Response,
}

impl From<Segment> for TokenSegment {
    fn from(segment: Segment) -> Self {
        match segment {
            Segment::Special => TokenSegment::Special,
            Segment::Instruction => TokenSegment::Instruction,
            Segment::Diff => TokenSegment::Diff,
            Segment::Response => TokenSegment::Response,
        }
    }
}

/// One token of the input: where it is, and what it is part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Token {
    /// Its bytes, as text (a token that splits a character has all of it).
    pub text: String,
    /// First byte in prompt + text.
    pub byte_start: usize,
    /// The byte behind its last one.
    pub byte_end: usize,
    /// `special`, `instruction`, `diff` or `response`.
    pub segment: TokenSegment,
    /// On an added or removed line.
    pub changed: bool,
    /// 0-based line of the diff; null outside it.
    pub diff_line: Option<usize>,
}

/// What a line of a diff says of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DiffLineKind {
    /// The line is in the new file only.
    Added,
    /// The line is in the old file only.
    Removed,
    /// The line is in both files.
    Context,
    /// The line is in neither file: it is a header.
    Header,
}

impl From<LineKind> for DiffLineKind {
    fn from(kind: LineKind) -> Self {
        match kind {
            LineKind::Added => DiffLineKind::Added,
            LineKind::Removed => DiffLineKind::Removed,
            LineKind::Context => DiffLineKind::Context,
            LineKind::Header => DiffLineKind::Header,
        }
    }
}

impl DiffLineKind {
    /// Whether the line is part of the change.
    pub fn is_changed(self) -> bool {
        matches!(self, DiffLineKind::Added | DiffLineKind::Removed)
    }
}

/// One line of the diff: its numbers, what the model read of it, and its share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffLine {
    /// `added`, `removed`, `context` or `header`.
    pub kind: DiffLineKind,
    /// 1-based number in the old file; null if it is not in it or the hunk header gave no numbers.
    pub old: Option<usize>,
    /// 1-based number in the new file.
    pub new: Option<usize>,
    /// The file's name, if a header gave one.
    pub file: Option<String>,
    /// The line as it was given, marker included, line feed excluded.
    pub text: String,
    /// First byte, in prompt + text, of what the model read of it; null if it read nothing (cut, or left out by the template).
    pub byte_start: Option<usize>,
    /// One past the last byte of that.
    pub byte_end: Option<usize>,
    /// Its tokens' share of everything that the text rests on, 0 to 1; null without attribution. See `sources`.
    pub share: Option<f64>,
}

/// What some tokens of the text rest on. A share is the sum of the absolute attribution that a position has from these tokens,
/// over that of all positions, an encoder-decoder's start token among them: 0 to 1. With normalised attribution every token
/// counts the same, without it in proportion to its gradients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Basis {
    /// The tokens of the text, ascending.
    pub tokens: Vec<usize>,
    /// The input from the first to the last of these tokens.
    pub text: String,
    /// Shares of the parts of the input; they sum to 1.
    pub parts: InputShares,
    /// The lines with the largest shares, largest first; at most 10, none without a share.
    pub lines: Vec<LineShare>,
    /// The diff's tokens with the largest shares.
    pub diff_tokens: Vec<TokenShare>,
}

/// Shares of the parts of the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputShares {
    /// Added and removed lines of the diff.
    pub changed: f64,
    /// The other lines of the diff: context and headers.
    pub unchanged_diff: f64,
    /// The prompt around the diff, special and start tokens with it.
    pub prompt: f64,
    /// Earlier tokens of the text.
    pub text: f64,
}

/// A line of the diff and its share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineShare {
    /// The line of the diff, counted from 0.
    pub line: usize,
    /// The share of the line's tokens together, 0 to 1.
    pub share: f64,
}

/// A position of the input and its share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenShare {
    /// The position, counted from 0 and below N + T.
    pub position: usize,
    /// The share of the position, 0 to 1.
    pub share: f64,
}

/// Scores of the text's tokens, one entry each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenScores {
    /// ln p, the natural logarithm of each token's probability, at most 0.
    pub logprob: Vec<f64>,
    /// The logit of each token before the softmax, with no unit.
    pub logit: Vec<f64>,
    /// The probability of each token behind those before it, 0 to 1.
    pub probability: Vec<f64>,
    /// The entropy of the distribution that each token was taken from, in nats.
    pub entropy: Vec<f64>,
}

/// The aggregates under their feature names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "documented once, in the registry of features")]
pub struct AggregatesJson {
    pub attr_source: f64,
    pub attr_target: Option<f64>,
    pub attr_changed: f64,
    pub attr_unchanged: f64,
    pub attr_source_diff: f64,
    pub attr_unchanged_diff: f64,
}

impl From<Aggregates> for AggregatesJson {
    fn from(a: Aggregates) -> Self {
        AggregatesJson {
            attr_source: a.source,
            attr_target: a.target,
            attr_changed: a.changed,
            attr_unchanged: a.unchanged,
            attr_source_diff: a.source_diff,
            attr_unchanged_diff: a.unchanged_diff,
        }
    }
}

/// How long the model took, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timing {
    /// Seconds of forward pass, scores and attribution together.
    pub total: f64,
}

impl Explanation {
    /// Checks a sample by a gate and gathers what models read of it: the features `shown` besides those of the gate's detector. Where no
    /// model reads texts of this task for a detector, `others` read it under `settings`. `tree` is the tree around the change, if known.
    ///
    /// # Errors
    /// The sample has no change that can be read, no model reads it ([`Error::NoReader`]), or the model that is shown cannot read it.
    pub fn of_sample(
        gate: &Gate,
        sample: &Sample,
        shown: &FeatureSet,
        others: &[Arc<Scorer>],
        settings: &Settings,
        tree: Option<SharedTree>,
    ) -> Result<Explanation> {
        has_lines(&Case::of_sample(sample)?)?;
        let Examined { finding, reads } = gate.examine(sample, tree, shown, others, settings);
        let mut reads = reads.into_iter();
        let ReadBy { scorer, settings, read } = reads.next().ok_or(Error::NoReader)?;
        let mut provenance = settings.provenance();
        provenance.extend(scorer.provenance().clone());
        provenance.extend(PlainFeatures(FeatureSet::plain()).provenance());
        let mut explanation = Explanation::new(sample, &scorer.name, &settings, provenance, &read?, finding);
        for ReadBy { scorer, settings, read } in reads {
            let columns = scorer.columns_of(read.as_ref().map(|read| &read.measurement), &settings);
            explanation.add_scorer(&columns, scorer.provenance().clone());
        }
        if let Some(detector) = gate.detector(sample.task) {
            explanation.add_detector(detector);
        }
        Ok(explanation)
    }

    /// Gathers what a model read of `sample` under `settings`, next to its finding; `provenance` is that of the settings and the scorer. A
    /// blank id is none.
    pub fn new(
        sample: &Sample,
        scorer: &str,
        settings: &Settings,
        provenance: BTreeMap<String, String>,
        read: &Focused,
        finding: Finding,
    ) -> Self {
        let m = &read.measurement;
        let e = &m.encoding;
        let of_reach = read.reach().note.filter(|note| !finding.notes.contains(note));
        let tokens = (0..e.ids.len()).map(|i| Token {
            text: e.token_text(i).to_owned(),
            byte_start: e.spans[i].start,
            byte_end: e.spans[i].end,
            segment: e.segments[i].into(),
            changed: e.changed[i],
            diff_line: e.diff_lines[i].map(|line| read.line(line)),
        });
        let attribution = m.matrix.as_ref().map(|matrix| {
            (0..e.ids.len()).map(|i| matrix.columns.iter().map(|column| column.get(i).copied()).collect()).collect()
        });
        let mut explanation = Explanation {
            schema_version: SCHEMA_VERSION,
            id: (!sample.id.is_empty()).then(|| sample.id.clone()),
            sample: About {
                task: sample.task.name().to_owned(),
                generator: sample.generator.clone(),
                language: sample.language.clone().or_else(|| language::of_diff(read.case.diff()).map(str::to_owned)),
                label: sample.label.map(u8::from),
                label_type: sample.label_type.clone(),
            },
            scorer: scorer.to_owned(),
            settings: provenance,
            n_prompt_tokens: e.n_prompt,
            n_response_tokens: e.n_response(),
            n_cut_tokens: e.n_cut,
            boundary: e.boundary.name().to_owned(),
            input: e.text.clone(),
            finding,
            token_ids: e.ids.clone(),
            tokens: tokens.collect(),
            lines: lines(read),
            step: TokenScores {
                logprob: m.scores.logprob.clone(),
                logit: m.scores.logit.clone(),
                probability: m.scores.probability.clone(),
                entropy: m.scores.entropy.clone(),
            },
            counted: m.counted.clone(),
            attribution,
            attribution_start: m.matrix.as_ref().map_or(Vec::new(), |matrix| matrix.start.clone()),
            aggregates: Aggregates::of(m).map(AggregatesJson::from),
            sources: None,
            chosen: None,
            features: of_sample(sample, scorer, settings, read),
            reference: None,
            log_odds: None,
            notes: notes(e, of_reach),
            timing_ms: Timing { total: m.elapsed.as_secs_f64() * 1e3 },
        };
        let counted: Vec<usize> = (0..e.n_response()).filter(|&t| m.counted[t]).collect();
        if let Some(shares) = explanation.shares(&counted) {
            for (line, share) in explanation.line_shares(&shares).into_iter().enumerate() {
                explanation.lines[line].share = Some(share);
            }
            explanation.sources = explanation.sources_of(&counted);
        }
        explanation
    }

    /// Every note, those of the finding first.
    pub fn all_notes(&self) -> impl Iterator<Item = &String> {
        self.finding.notes.iter().chain(&self.notes)
    }

    /// The text that is explained.
    pub fn text(&self) -> &str {
        self.input.get(self.text_span()).unwrap_or("")
    }

    /// Where the text stands in the input, in bytes.
    pub(super) fn text_span(&self) -> Range<usize> {
        let of_text =
            self.tokens[self.n_prompt_tokens..].iter().filter(|token| token.segment == TokenSegment::Response);
        let start = of_text.map(|token| token.byte_start).min().unwrap_or(self.input.len());
        start..self.input.len()
    }

    /// The tokens of the text that share a byte with the first place where `phrase` occurs in it.
    pub fn tokens_of(&self, phrase: &str) -> Option<Range<usize>> {
        let span = self.text_span();
        let start = span.start + self.text().find(phrase).filter(|_| !phrase.is_empty())?;
        let end = start + phrase.len();
        let meets = |t: &usize| {
            let token = &self.tokens[self.n_prompt_tokens + t];
            token.byte_start < end && start < token.byte_end
        };
        let first = (0..self.n_response_tokens).find(meets)?;
        let last = (first..self.n_response_tokens).rev().find(meets)?;
        Some(first..last + 1)
    }

    /// Fills [`Explanation::chosen`] with what these tokens of the text rest on.
    pub fn choose(&mut self, tokens: Range<usize>) {
        let tokens: Vec<usize> = tokens.filter(|&t| t < self.n_response_tokens).collect();
        self.chosen = self.sources_of(&tokens);
    }
}

/// The diff's lines with what the model read of them.
fn lines(read: &Focused) -> Vec<DiffLine> {
    let (m, whole) = (&read.measurement, read.case.diff());
    let e = &m.encoding;
    // a template may take the lines apart: the tokens then say where their line is
    let is_whole = e.text.get(e.diff.clone()).is_some_and(|diff| m.case.diff().text().starts_with(diff));
    let mut spans: Vec<Option<Range<usize>>> = vec![None; whole.lines().len()];
    if is_whole {
        for (index, line) in m.case.diff().lines().iter().enumerate() {
            let (start, end) = (e.diff.start + line.span.start, e.diff.start + line.span.end);
            let is_cut = start > e.diff.end || (start == e.diff.end && e.n_cut > 0);
            spans[read.line(index)] = (!is_cut).then(|| start..end.min(e.diff.end));
        }
    } else {
        for (span, line) in e.spans.iter().zip(&e.diff_lines) {
            if let Some(of_line) = line.and_then(|line| spans.get_mut(read.line(line))) {
                let known = of_line.get_or_insert_with(|| span.clone());
                *known = known.start.min(span.start)..known.end.max(span.end);
            }
        }
    }
    let line = |(index, line): (usize, &veridiff_text::diff::Line)| DiffLine {
        kind: line.kind.into(),
        old: line.old,
        new: line.new,
        file: line.file.and_then(|file| whole.files().get(file).cloned()),
        text: whole.line_text(index).to_owned(),
        byte_start: spans[index].as_ref().map(|span| span.start),
        byte_end: spans[index].as_ref().map(|span| span.end),
        share: None,
    };
    whole.lines().iter().enumerate().map(line).collect()
}

/// What a reader should know, `of_reach` first.
fn notes(e: &Encoding, of_reach: Option<String>) -> Vec<String> {
    let mut notes = Vec::from_iter(of_reach);
    if e.n_lost_bytes > 0 {
        notes.push(format!(
            "{} bytes cannot be spelt with the model's vocabulary, so it did not see them",
            e.n_lost_bytes
        ));
    }
    if e.boundary == veridiff_core::tokens::Boundary::Merged {
        notes.push("prompt and text were encoded apart, because a token would straddle them".to_owned());
    }
    notes
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
