//! An explanation as a page for the browser: one file that fetches nothing and runs no script but its own.
//!
//! The diff and the text may be hostile. They are in the page as JSON in which every character that could end the element or
//! hide from a reader of the source is an escape; the script puts them into the document as text, never as markup; and the
//! policy allows that one script and that one style sheet, by their hashes, and nothing from elsewhere.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use sha2::{Digest, Sha256};

use veridiff_core::{
    finding::{FactFinding, FactsFinding},
    verdict::Verdict,
};

use super::{
    explanation::{DiffLine, DiffLineKind, Explanation, Token, TokenSegment},
    features::FeatureValue,
    view::{Piece, ShownLine, is_hidden, visible},
};

use crate::findings::{about, against, place_of};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page, whole: no other file belongs to it. What the input says cannot act in it.
pub fn html_page(explanation: &Explanation) -> String {
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    let data = serde_json::to_string(&PageData::new(explanation)).expect("numbers and strings always serialise");
    let title =
        explanation.id.as_deref().map_or("veridiff explain".to_owned(), |id| format!("{id} · veridiff explain"));
    filled(
        TEMPLATE,
        &[
            ("policy", &policy),
            ("title", &escaped_html(&visible(&title))),
            ("style", STYLE),
            ("data", &escaped_json(&data)),
            ("script", SCRIPT),
        ],
    )
}

/// As a content security policy names an element's text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// The template with each `{{name}}` replaced; what is put in is not looked at again.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut parts = template.split("{{");
    let mut page = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        page.push_str(values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value));
        page.push_str(rest);
    }
    page
}

fn escaped_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// JSON that may stand in a `script` element: characters that HTML reads and characters that hide are escapes. They occur in
/// strings only, where an escape means the same.
fn escaped_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    for c in json.chars() {
        if matches!(c, '<' | '>' | '&') || (is_hidden(c) && !c.is_ascii()) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// What the script reads. Names are short where there are thousands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageData<'a> {
    title: String,
    meta: Vec<String>,
    notes: &'a [String],
    facts: Option<FactsData<'a>>,
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
    verdict: Option<VerdictData<'a>>,
}

/// What the change alone says of the text.
#[derive(Debug, Serialize)]
struct FactsData<'a> {
    /// As in JSON, for the page's style.
    verdict: Verdict,
    words: &'static str,
    reason: &'a str,
    against: Vec<FactData<'a>>,
}

/// A fact that speaks against the text.
#[derive(Debug, Serialize)]
struct FactData<'a> {
    rule: &'static str,
    says: &'a str,
    /// The words of the text that are meant.
    words: &'a str,
    /// Lines of the change with their places.
    lines: Vec<[String; 2]>,
}

impl<'a> FactsData<'a> {
    fn new(text: &'a str, facts: &'a FactsFinding) -> Self {
        let fact = |fact: &'a FactFinding| FactData {
            rule: fact.rule,
            says: &fact.says,
            words: text.get(fact.byte_start..fact.byte_end).unwrap_or(""),
            lines: fact.lines.iter().map(|line| [place_of(line), line.text.clone()]).collect(),
        };
        FactsData {
            verdict: facts.verdict,
            words: facts.verdict.words(),
            reason: about(facts),
            against: against(&facts.statements, false).map(fact).collect(),
        }
    }
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
    /// What the model did not see of it.
    #[serde(skip_serializing_if = "str::is_empty")]
    x: &'a str,
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
struct VerdictData<'a> {
    verdict: &'a str,
    p: f64,
    threshold: f64,
    detector: &'a str,
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
            x: shown.unread,
            c: line.byte_start.is_none(),
        };
        let kind = |token: &Token| match (token.segment, token.changed) {
            (TokenSegment::Diff, true) => 'c',
            (TokenSegment::Diff, false) => 'd',
            (TokenSegment::Response, _) => 't',
            (TokenSegment::Instruction | TokenSegment::Special, _) => 'p',
        };
        let (scales, columns) = quantised(e).into_iter().unzip();
        let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        PageData {
            title: e.id.clone().unwrap_or_else(|| "What this text rests on".to_owned()),
            meta: meta(e),
            notes: &e.notes,
            facts: e.facts.as_ref().map(|facts| FactsData::new(e.text(), facts)),
            scorer: &e.scorer,
            n_prompt: e.n_prompt_tokens,
            text: e.shown_text().into_iter().map(PieceData::from).collect(),
            lines: e.lines.iter().zip(e.shown_lines()).map(line).collect(),
            step: StepData {
                logprob: single(&e.step.logprob),
                entropy: single(&e.step.entropy),
                logit: single(&e.step.logit),
            },
            counted: &e.counted,
            kinds: e.tokens.iter().map(kind).collect(),
            line_of: e.tokens.iter().map(|token| token.diff_line.map_or(-1, |line| line as i64)).collect(),
            scales,
            columns,
            start: e.attribution_start.iter().map(|value| value.abs() as f32).collect(),
            chosen: e.chosen.as_ref().and_then(|chosen| Some([*chosen.tokens.first()?, *chosen.tokens.last()?])),
            features: e.features.iter().map(FeatureData::from).collect(),
            reference: e.reference.as_ref().map(|r| ReferenceData { rows: &r.rows, n: r.n_rows }),
            verdict: e.verdict.as_ref().map(|v| VerdictData {
                verdict: &v.verdict,
                p: v.p_hallucination,
                threshold: v.threshold,
                detector: &v.detector,
                intercept: v.intercept,
                log_odds: v.log_odds,
            }),
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

/// What is known of the sample, for one line under the title.
fn meta(e: &Explanation) -> Vec<String> {
    let mut meta = vec![
        match e.sample.task.as_str() {
            "commit" => "commit message".to_owned(),
            _ => "review comment".to_owned(),
        },
        format!("scored by {}", e.scorer),
    ];
    meta.extend(e.sample.generator.as_ref().map(|generator| format!("written by {generator}")));
    meta.extend(e.sample.language.clone());
    let label = match e.sample.label {
        Some(1) => Some("unsupported"),
        Some(_) => Some("supported"),
        None => None,
    };
    let kind = e.sample.label_type.as_ref().map_or(String::new(), |kind| format!(" ({kind})"));
    meta.extend(label.map(|label| format!("labelled {label}{kind}")));
    meta.push(format!("{} tokens of prompt, {} of text", e.n_prompt_tokens, e.n_response_tokens));
    let setting = |key: &str| e.settings.get(key).map(String::as_str);
    if let (Some(explained), Some(fold)) = (setting("attributed_fn"), setting("fold")) {
        let scaled = if setting("normalize") == Some("true") { ", normalised" } else { "" };
        meta.push(format!("input × gradient of the {explained}, {fold}{scaled}"));
    }
    meta
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_data_can_end_its_element_or_hide() {
        let hostile = "</script><!--<b>&\u{2028}\u{202e}\u{200b}\u{e0041}é👩\u{200d}💻\u{1b}\"\\\u{9b}";
        let json = escaped_json(&serde_json::to_string(hostile).unwrap());
        assert!(!json.contains(['<', '>', '&']) && !json.contains(is_hidden), "{json}");
        assert!(
            json.contains("\\u202e") && json.contains("\\udb40\\udc41") && json.contains("é👩\u{200d}💻"),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile, "and it says the same");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        assert_eq!(filled("a{{x}}b{{y}}{{none}}", &[("x", "{{y}}"), ("y", "Y")]), "a{{y}}bY");
        let names: Vec<&str> = TEMPLATE.split("{{").skip(1).map(|part| part.split_once("}}").unwrap().0).collect();
        assert_eq!(names, ["policy", "title", "style", "data", "script"]);
    }

    #[test]
    fn the_page_brings_its_own_style_and_script_only() {
        for own in [STYLE, SCRIPT] {
            assert!(!own.contains("</") && !own.contains("http") && !own.contains("@import") && !own.contains("url("));
        }
        assert!(!SCRIPT.contains("innerHTML") && !SCRIPT.contains("insertAdjacent") && !SCRIPT.contains("eval("));
        assert!(!TEMPLATE.contains("http:") && !TEMPLATE.contains("https:") && !TEMPLATE.contains("style=\""));
        assert_eq!(hash(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }
}
