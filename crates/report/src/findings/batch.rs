//! The findings of a batch as one page for the browser: sorted, filtered, and labelled with one key a text.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{card::Card, executed::execution_lines, judged::judge_lines, message::objections, page::summary};
use crate::{hidden::visible, web::Page};
use veridiff_facts::finding::Finding;
use veridiff_text::{
    diff::{Diff, LineKind},
    sample::{Sample, fingerprint},
};

/// What the page is made of.
pub(crate) const PAGE: Page = Page {
    template: include_str!("batch.html"),
    text: TEXT_HTML,
    style: concat!(include_str!("../web/base.css"), include_str!("text.css"), include_str!("batch.css")),
    script: concat!(include_str!("../web/base.js"), include_str!("text.js"), include_str!("batch.js")),
};

/// The elements in which one text is shown with what is said of it and its change.
pub const TEXT_HTML: &str = include_str!("text.html");
/// How they look, behind [`BASE_STYLE`](crate::web::BASE_STYLE).
pub const TEXT_STYLE: &str = include_str!("text.css");
/// The function `drawText(row, folds_away)` that fills them, behind [`BASE_SCRIPT`](crate::web::BASE_SCRIPT); `row` is of [`text_data`].
pub const TEXT_SCRIPT: &str = include_str!("text.js");

/// What `drawText` draws, as JSON: a text with its change and what is said of it, as on the page of a batch.
pub fn text_data(sample: &Sample, finding: &Finding) -> String {
    serde_json::to_string(&Row::new(0, sample, finding)).expect("numbers and strings always serialise")
}

/// The page, whole, of samples and the findings about them, one each in the same order: the worst first. It keeps the labels that a
/// person gives in the browser and writes them as samples that `score` reads, or as answers that `annotate` and `agree` read.
pub fn html_page(samples: &[&Sample], findings: &[Finding]) -> String {
    let mut rows: Vec<Row<'_>> = samples
        .iter()
        .zip(findings)
        .enumerate()
        .map(|(place, (sample, finding))| Row::new(place, sample, finding))
        .collect();
    rows.sort_by(|a, b| b.rank.partial_cmp(&a.rank).unwrap_or(std::cmp::Ordering::Equal));
    let mut hash = Sha256::new();
    for sample in samples {
        hash.update(fingerprint(sample));
    }
    let data = PageData { key: format!("veridiff {:x}", hash.finalize()), summary: summary(findings), rows };
    PAGE.with(&visible(&format!("{} · veridiff check", data.summary)), &data)
}

/// What the script reads.
#[derive(Debug, Serialize)]
struct PageData<'a> {
    /// What the browser keeps the labels of these texts under.
    key: String,
    summary: String,
    rows: Vec<Row<'a>>,
}

/// A text with its change and what is said of it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    id: &'a str,
    said: Card<'a>,
    /// The text in pieces: what is shown, and which fact is about it.
    text: Vec<(&'a str, Option<usize>)>,
    /// Lines of the diff: marker, old number, new number, the line without its marker.
    lines: Vec<(char, Option<usize>, Option<usize>, String)>,
    /// The file that it is about, if that is known.
    file: Option<&'a str>,
    /// Which of `lines` it is about, if that is known.
    line: Option<usize>,
    notes: Vec<String>,
    /// The sample, to be written with a label.
    sample: Map<String, Value>,
    /// The fingerprint of change and text that answers are kept with.
    texts: String,
    /// Its place among the samples: the order for who is to see nothing of what is said of them.
    place: usize,
    /// What the order goes by: the verdict, then the probability.
    #[serde(skip)]
    rank: (u8, f64),
}

impl<'a> Row<'a> {
    fn new(place: usize, sample: &'a Sample, finding: &'a Finding) -> Self {
        let spans: Vec<(usize, usize)> = objections(finding).map(|fact| (fact.byte_start, fact.byte_end)).collect();
        let mut whole = sample.to_row();
        whole.insert("diff".to_owned(), Value::from(sample.diff.as_str()));
        whole.insert("text".to_owned(), Value::from(sample.text.as_str()));
        let verdict = finding.verdict.map_or(0, |verdict| 1 + verdict as u8);
        let lines = lines(&sample.diff);
        let ran = finding.evidence.execution.iter().flat_map(execution_lines);
        let judged = finding.judge.iter().flat_map(judge_lines);
        // the samples of a code host know it; else the place is the change's first line, which tells nothing
        let is_known = sample.extra.contains_key("line");
        let new = finding.place.as_ref().filter(|_| is_known).map(|place| place.line);
        Row {
            id: &sample.id,
            said: Card::of(finding),
            text: pieces(&sample.text, &spans),
            line: new.and_then(|new| lines.iter().position(|(.., after, _)| *after == Some(new))),
            lines,
            file: finding.place.as_ref().map(|place| place.file.as_str()),
            notes: ran.chain(judged).chain(finding.notes.iter().cloned()).collect(),
            sample: whole,
            texts: fingerprint(sample),
            place,
            rank: (verdict, finding.p_hallucination.unwrap_or(0.0)),
        }
    }
}

/// A text cut where spans begin and end, each piece with the first span that it is in.
fn pieces<'a>(text: &'a str, spans: &[(usize, usize)]) -> Vec<(&'a str, Option<usize>)> {
    let mut borders: Vec<usize> = spans.iter().flat_map(|&(start, end)| [start, end]).collect();
    borders.extend([0, text.len()]);
    borders.retain(|&at| text.is_char_boundary(at));
    borders.sort_unstable();
    borders.dedup();
    let piece = |pair: &[usize]| {
        let fact = spans.iter().position(|&(start, end)| start <= pair[0] && pair[1] <= end);
        (&text[pair[0]..pair[1]], fact)
    };
    borders.windows(2).map(piece).collect()
}

/// The lines of a diff; of one that cannot be read, its lines as they are.
fn lines(diff: &str) -> Vec<(char, Option<usize>, Option<usize>, String)> {
    let Ok(diff) = Diff::parse(diff) else {
        return diff.lines().map(|line| ('@', None, None, line.to_owned())).collect();
    };
    let line = |(index, line): (usize, &veridiff_text::diff::Line)| {
        let text = diff.line_text(index).trim_end_matches(['\r', '\n']);
        let kind = match line.kind {
            LineKind::Added => '+',
            LineKind::Removed => '-',
            LineKind::Context => ' ',
            LineKind::Header => '@',
        };
        let text = if kind == '@' { text } else { text.get(1..).unwrap_or("") };
        (kind, line.old, line.new, text.to_owned())
    };
    diff.lines().iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_facts_begin_and_end() {
        assert_eq!(pieces("a bc d", &[(2, 4)]), [("a ", None), ("bc", Some(0)), (" d", None)]);
        // one inside the other, and one that would cut a character
        assert_eq!(pieces("éab", &[(0, 4), (2, 3), (1, 3)]), [("é", Some(0)), ("a", Some(0)), ("b", Some(0))]);
        assert_eq!(pieces("", &[]), []);
    }
}
