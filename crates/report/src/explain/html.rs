//! An explanation as a page for the browser: one file that fetches nothing and runs no script but its own.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;

use super::{
    explanation::{DiffLine, DiffLineKind, Explanation, Token, TokenSegment},
    features::FeatureValue,
    view::{Piece, ShownLine, folded},
};
use crate::{
    findings::{Card, Odds},
    hidden::visible,
    web::Page,
};

/// What the page is made of.
pub(crate) const PAGE: Page = Page {
    template: include_str!("page.html"),
    text: "",
    style: concat!(include_str!("../web/base.css"), include_str!("page.css")),
    script: concat!(include_str!("../web/base.js"), include_str!("page.js")),
};

/// The page, whole: no other file belongs to it. What the input says cannot act in it.
pub fn html_page(explanation: &Explanation) -> String {
    let title =
        explanation.id.as_deref().map_or("veridiff explain".to_owned(), |id| format!("{id} · veridiff explain"));
    PAGE.with(&visible(&title), &PageData::new(explanation))
}

/// What the script reads. Names are short where there are thousands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageData<'a> {
    title: String,
    meta: Vec<String>,
    how: Vec<String>,
    notes: Vec<&'a str>,
    said: Option<Card<'a>>,
    /// For each piece of the text that has tokens, the fact that speaks against it.
    against: Vec<Option<usize>>,
    scorer: &'a str,
    n_prompt: usize,
    /// Pieces of the text: what is shown, first position, number of tokens if it is not 1.
    text: Vec<PieceData<'a>>,
    lines: Vec<LineData<'a>>,
    step: StepData,
    counted: &'a [bool],
    /// A letter for each position: `c`hanged line, other line of the `d`iff, `p`rompt, `t`ext.
    kinds: String,
    /// The line of each position, -1 where there is none.
    line_of: Vec<i64>,
    /// For each text token the largest attribution of a position, and every visible position's in base64: a byte is
    /// 255 times the square root of its part of the largest, which keeps the small ones apart.
    scales: Vec<f32>,
    columns: Vec<String>,
    /// The start token's attribution.
    start: Vec<f32>,
    /// First and last chosen token of the text.
    chosen: Option<[usize; 2]>,
    features: Vec<FeatureData<'a>>,
    reference: Option<ReferenceData<'a>>,
    sum: Option<SumData>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum PieceData<'a> {
    /// A stretch that is of no token.
    Plain(&'a str),
    One(&'a str, usize),
    Many(&'a str, usize, usize),
}

impl<'a> From<Piece<'a>> for PieceData<'a> {
    fn from(piece: Piece<'a>) -> Self {
        match piece.positions.len() {
            0 => PieceData::Plain(piece.text),
            1 => PieceData::One(piece.text, piece.positions.start),
            n => PieceData::Many(piece.text, piece.positions.start, n),
        }
    }
}

#[derive(Debug, Serialize)]
struct LineData<'a> {
    /// `+`, `-`, a blank, or `@` for headers.
    k: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    o: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<usize>,
    u: Vec<PieceData<'a>>,
    /// What the model did not see of it, or what stands for lines that are folded away.
    #[serde(skip_serializing_if = "str::is_empty")]
    x: Cow<'a, str>,
    /// Whether the model saw nothing of the line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    c: bool,
}

#[derive(Debug, Serialize)]
struct StepData {
    logprob: Vec<f32>,
    entropy: Vec<f32>,
    logit: Vec<f32>,
}

#[derive(Debug, Serialize)]
struct FeatureData<'a> {
    name: &'a str,
    column: &'a str,
    unit: Option<&'a str>,
    meaning: Option<&'a str>,
    value: Option<f64>,
    percentile: Option<f64>,
    contribution: Option<f64>,
}

#[derive(Debug, Serialize)]
struct ReferenceData<'a> {
    rows: &'a str,
    n: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SumData {
    intercept: f64,
    log_odds: f64,
}

impl<'a> PageData<'a> {
    fn new(e: &'a Explanation) -> Self {
        let line = |(line, shown): (&'a DiffLine, ShownLine<'a>)| LineData {
            k: match line.kind {
                DiffLineKind::Added => "+",
                DiffLineKind::Removed => "-",
                DiffLineKind::Context => " ",
                DiffLineKind::Header => "@",
            },
            o: line.old,
            n: line.new,
            u: shown.read.into_iter().map(PieceData::from).collect(),
            x: shown.unread.into(),
            c: line.byte_start.is_none(),
        };
        let mut lines: Vec<LineData<'a>> = Vec::new();
        // the place on the page of each line of the diff
        let mut places: Vec<usize> = Vec::new();
        let folds = e.folds();
        for (index, pair) in e.lines.iter().zip(e.shown_lines()).enumerate() {
            match folds.iter().find(|fold| fold.contains(&index)) {
                None => lines.push(line(pair)),
                Some(fold) if fold.start == index => {
                    let x = folded(fold).into();
                    lines.push(LineData { k: "@", o: None, n: None, u: Vec::new(), x, c: true });
                }
                Some(_) => {}
            }
            places.push(lines.len() - 1);
        }
        let kind = |token: &Token| match (token.segment, token.changed) {
            (TokenSegment::Diff, true) => 'c',
            (TokenSegment::Diff, false) => 'd',
            (TokenSegment::Response, _) => 't',
            (TokenSegment::Instruction | TokenSegment::Special, _) => 'p',
        };
        let (scales, columns) = quantised(e).into_iter().unzip();
        let finding = &e.finding;
        let odds = Odds::new(finding.p_detector, finding.threshold);
        let said = finding.verdict.map(|verdict| {
            Card::new(e.text(), verdict, finding.reason.as_deref(), &finding.statements, odds)
                .with_lines_at(&places)
                .with_likelier(&finding.evidence.likelier)
        });
        let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        PageData {
            title: e.id.clone().unwrap_or_else(|| title(e).to_owned()),
            meta: meta(e),
            how: how(e),
            notes: finding.error.iter().chain(e.all_notes()).map(String::as_str).collect(),
            against: against(e),
            said,
            scorer: &e.scorer,
            n_prompt: e.n_prompt_tokens,
            text: e.shown_text().into_iter().map(PieceData::from).collect(),
            lines,
            step: StepData {
                logprob: single(&e.step.logprob),
                entropy: single(&e.step.entropy),
                logit: single(&e.step.logit),
            },
            counted: &e.counted,
            kinds: e.tokens.iter().map(kind).collect(),
            line_of: e.tokens.iter().map(|token| token.diff_line.map_or(-1, |line| places[line] as i64)).collect(),
            scales,
            columns,
            start: e.attribution_start.iter().map(|value| value.abs() as f32).collect(),
            chosen: e.chosen.as_ref().and_then(|chosen| Some([*chosen.tokens.first()?, *chosen.tokens.last()?])),
            features: e.features.iter().map(FeatureData::from).collect(),
            reference: e.reference.as_ref().map(|r| ReferenceData { rows: &r.rows, n: r.n_rows }),
            sum: e.log_odds.map(|odds| SumData { intercept: odds.intercept, log_odds: odds.sum }),
        }
    }
}

impl<'a> From<&'a FeatureValue> for FeatureData<'a> {
    fn from(feature: &'a FeatureValue) -> Self {
        FeatureData {
            name: feature.name(),
            column: &feature.column,
            unit: feature.unit.as_deref(),
            meaning: feature.meaning.as_deref(),
            value: feature.value,
            percentile: feature.percentile,
            contribution: feature.contribution,
        }
    }
}

/// For each piece of the text that has tokens, the fact that speaks against it.
fn against(e: &Explanation) -> Vec<Option<usize>> {
    let facts = e.against();
    let pieces = e.shown_text().into_iter().filter(|piece| !piece.positions.is_empty());
    pieces.map(|piece| e.fact_at(&piece, &facts)).collect()
}

/// What the text is, as a title says it.
fn title(e: &Explanation) -> &'static str {
    match e.sample.task.as_str() {
        "commit" => "A commit message and its change",
        _ => "A review comment and its change",
    }
}

/// What is known of the sample, for one line under the title.
fn meta(e: &Explanation) -> Vec<String> {
    let mut meta = vec![match e.sample.task.as_str() {
        "commit" => "commit message".to_owned(),
        _ => "review comment".to_owned(),
    }];
    meta.extend(e.sample.generator.as_ref().map(|generator| format!("written by {generator}")));
    meta.extend(e.sample.language.clone());
    let label = match e.sample.label {
        Some(1) => Some("unsupported"),
        Some(_) => Some("supported"),
        None => None,
    };
    let kind = e.sample.label_type.as_ref().map_or(String::new(), |kind| format!(" ({kind})"));
    meta.extend(label.map(|label| format!("labelled {label}{kind}")));
    meta
}

/// How the numbers were made.
fn how(e: &Explanation) -> Vec<String> {
    let mut how = vec![
        format!("scored by {}", e.scorer),
        format!("{} tokens of prompt, {} of text", e.n_prompt_tokens, e.n_response_tokens),
    ];
    how.extend(e.finding.detector.as_ref().map(|detector| format!("detector {}", detector.id)));
    let setting = |key: &str| e.settings.get(key).map(String::as_str);
    if let (Some(explained), Some(fold)) = (setting("attributed_fn"), setting("fold")) {
        let scaled = if setting("normalize") == Some("true") { ", normalised" } else { "" };
        how.push(format!("input × gradient of the {explained}, {fold}{scaled}"));
    }
    how
}

/// Each text token's column of attribution: its largest entry, and the entries as bytes in base64.
fn quantised(e: &Explanation) -> Vec<(f32, String)> {
    let Some(rows) = &e.attribution else { return Vec::new() };
    let column = |t: usize| {
        let values = || rows.iter().map_while(move |row| row.get(t).copied().flatten()).map(f64::abs);
        let largest = values().fold(0.0, f64::max);
        let byte = |value: f64| if largest > 0.0 { (255.0 * (value / largest).sqrt()).round() as u8 } else { 0 };
        let bytes: Vec<u8> = values().map(byte).collect();
        (largest as f32, STANDARD.encode(bytes))
    };
    (0..e.n_response_tokens).map(column).collect()
}
