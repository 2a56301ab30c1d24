//! Attribution over the lines of the diff: how much of it is there, how far it is on one line, and whether the text points at
//! the lines whose names it uses.

use veridiff_engine::reading::attribution::Matrix;
use veridiff_text::grounding::Alignment;

use super::{
    family::{Compute, Family, Field, Needs, OF_ATTRIBUTION, SCORER, field},
    per_token::{TokenClass, mean},
};
use crate::{
    measurement::Measurement,
    tokens::{Encoding, Segment},
};

const SHARE: &str = "0 to 1";

const FIELDS: &[Field<LineShape>] = &[
    field!("lines_diff_share", SHARE, "mean share of the prompt's attribution that is on the diff", diff_share),
    field!(
        "lines_changed_share",
        SHARE,
        "mean share of the diff's attribution that is on changed lines",
        changed_share
    ),
    field!(
        "lines_changed_ratio",
        "logarithm",
        "of a changed token's attribution over an unchanged one's",
        changed_ratio
    ),
    field!("lines_entropy", SHARE, "entropy of the diff's attribution over lines, 1 if spread evenly", line_entropy),
    field!("lines_top", SHARE, "largest share of a line, all tokens of the text together", top_line),
    field!("lines_top_excess", "-1 to 1", "that share less the line's share of the diff's tokens", top_line_excess),
    field!("lines_focus", SHARE, "mean over the text's tokens of the largest share of a line", focus),
    field!("lines_names_changed_share", SHARE, "as lines_changed_share, over tokens of names", names_changed_share),
    field!("lines_names_diff_share", SHARE, "as lines_diff_share, over tokens of names", names_diff_share),
    field!(
        "lines_agreement",
        "-1 to 1",
        "share on the lines that have the word, beyond their share of the tokens",
        agreement
    ),
];

/// The family `lines`: from the matrix that attribution gives.
pub static FAMILY: Family = Family {
    name: "lines",
    needs_reference: false,
    is_default: false,
    features: || FIELDS.iter().map(|field| field.feature(SCORER, OF_ATTRIBUTION)).collect(),
    compute: Compute::Reading {
        needs: |_| Needs { gradients: true, ..Needs::default() },
        measure: |m| Field::values(FIELDS, LineShape::of(m).as_ref()),
    },
};

/// Shares of attribution, in absolute values. Means are over the targets; a share of nothing is left out of its mean, and a mean of
/// nothing is the value that says nothing: a share that is not known 0, a ratio 0, an agreement 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LineShape {
    /// Mean share of the prompt's attribution that is on the diff.
    pub diff_share: f64,
    /// Mean share of the diff's that is on changed lines.
    pub changed_share: f64,
    /// Logarithm of the mean attribution of a changed token over that of an unchanged one of the diff.
    pub changed_ratio: f64,
    /// Entropy over lines of the diff's attribution, all targets together, over the logarithm of the number of lines; 1 on one
    /// line only.
    pub line_entropy: f64,
    /// The largest share of a line, all targets together.
    pub top_line: f64,
    /// Its share among the tokens of the diff taken away: above 0 where a line has more than its length gives.
    pub top_line_excess: f64,
    /// Mean over targets of the largest share of a line.
    pub focus: f64,
    /// As `changed_share`, over targets in names.
    pub names_changed_share: f64,
    /// As `diff_share`, over targets in names.
    pub names_diff_share: f64,
    /// Over targets in words that are in the diff: the share on lines with the word, less these lines' share of the tokens.
    pub agreement: f64,
}

/// The lines' attribution of one target.
struct OfTarget {
    diff_share: Option<f64>,
    changed_share: Option<f64>,
    /// Shares of the diff's attribution by line.
    lines: Vec<f64>,
}

impl LineShape {
    /// Of what a scorer read; `None` without attribution.
    pub fn of(m: &Measurement) -> Option<Self> {
        let (matrix, case) = (m.matrix.as_ref()?, &m.case);
        Some(LineShape::new(matrix, &m.encoding, case.alignment(), case.text(), &m.classes(), &m.counted))
    }

    /// Of a matrix with a column for each of the response's tokens; `classes` say what each of them is part of, `counted` which of
    /// them count.
    pub fn new(
        matrix: &Matrix,
        encoding: &Encoding,
        alignment: &Alignment,
        text: &str,
        classes: &[TokenClass],
        counted: &[bool],
    ) -> Self {
        let n = encoding.n_prompt;
        let in_diff: Vec<bool> = encoding.segments[..n].iter().map(|&segment| segment == Segment::Diff).collect();
        let line_of = &encoding.diff_lines[..n];
        let n_lines = line_of.iter().flatten().max().map_or(0, |&last| last + 1);
        let mut tokens_of_line = vec![0.0; n_lines];
        line_of.iter().flatten().for_each(|&line| tokens_of_line[line] += 1.0);
        let n_tokens: f64 = tokens_of_line.iter().sum();
        let n_changed = (0..n).filter(|&i| in_diff[i] && encoding.changed[i]).count() as f64;
        let n_unchanged = in_diff.iter().filter(|&&inside| inside).count() as f64 - n_changed;

        let (mut changed_sum, mut unchanged_sum) = (0.0, 0.0);
        let targets: Vec<Option<OfTarget>> = matrix
            .columns
            .iter()
            .zip(counted)
            .map(|(column, &counts)| {
                if !counts {
                    return None;
                }
                let sum = |keep: &dyn Fn(usize) -> bool| -> f64 {
                    (0..n).filter(|&i| keep(i)).map(|i| column[i].abs()).sum()
                };
                let (all, diff) = (sum(&|_| true), sum(&|i| in_diff[i]));
                let changed = sum(&|i| in_diff[i] && encoding.changed[i]);
                let mut lines = vec![0.0; n_lines];
                for i in 0..n {
                    if let Some(line) = line_of[i] {
                        lines[line] += column[i].abs();
                    }
                }
                if diff > 0.0 {
                    changed_sum += changed / diff;
                    unchanged_sum += 1.0 - changed / diff;
                    lines.iter_mut().for_each(|share| *share /= diff);
                }
                Some(OfTarget {
                    diff_share: (all > 0.0).then(|| diff / all),
                    changed_share: (diff > 0.0).then(|| changed / diff),
                    lines,
                })
            })
            .collect();

        let known: Vec<&OfTarget> = targets.iter().flatten().collect();
        let mut together = vec![0.0; n_lines];
        for target in &known {
            target.lines.iter().enumerate().for_each(|(line, share)| together[line] += share);
        }
        let total: f64 = together.iter().sum();
        if total > 0.0 {
            together.iter_mut().for_each(|share| *share /= total);
        }
        let used = tokens_of_line.iter().filter(|&&tokens| tokens > 0.0).count();
        let entropy: f64 = together.iter().filter(|&&share| share > 0.0).map(|share| -share * share.ln()).sum();
        let top = (0..n_lines).max_by(|&a, &b| together[a].total_cmp(&together[b]).then(b.cmp(&a)));
        let named = |class: &TokenClass| *class == TokenClass::Name;
        let of_names = |of: &dyn Fn(&OfTarget) -> Option<f64>| {
            let names =
                targets.iter().zip(classes).filter(|(_, class)| named(class)).filter_map(|(target, _)| target.as_ref());
            mean(names.filter_map(of)).or_else(|| mean(known.iter().filter_map(|target| of(target)))).unwrap_or(0.0)
        };
        let (per_changed, per_unchanged) = (changed_sum / n_changed, unchanged_sum / n_unchanged);
        let both = n_changed > 0.0 && n_unchanged > 0.0 && per_changed > 0.0 && per_unchanged > 0.0;
        LineShape {
            diff_share: mean(known.iter().filter_map(|target| target.diff_share)).unwrap_or(0.0),
            changed_share: mean(known.iter().filter_map(|target| target.changed_share)).unwrap_or(0.0),
            changed_ratio: if both { (per_changed / per_unchanged).ln() } else { 0.0 },
            line_entropy: if used > 1 { entropy / (used as f64).ln() } else { 1.0 },
            top_line: top.map_or(0.0, |line| together[line]),
            top_line_excess: top.map_or(0.0, |line| together[line] - tokens_of_line[line] / n_tokens),
            focus: mean(known.iter().map(|target| target.lines.iter().copied().fold(0.0, f64::max))).unwrap_or(0.0),
            names_changed_share: of_names(&|target| target.changed_share),
            names_diff_share: of_names(&|target| target.diff_share),
            agreement: agreement(&targets, encoding, alignment, text, &tokens_of_line),
        }
    }
}

/// For every target in a word that stands on some lines: the share on these lines beyond their share of the tokens.
fn agreement(
    targets: &[Option<OfTarget>],
    encoding: &Encoding,
    alignment: &Alignment,
    text: &str,
    tokens_of_line: &[f64],
) -> f64 {
    let start = encoding.text.len() - text.len();
    let n_tokens: f64 = tokens_of_line.iter().sum();
    let mut excesses = Vec::new();
    for mention in alignment.mentions.iter().filter(|mention| !mention.places.lines.is_empty() && mention.weight >= 1.0)
    {
        let word = &alignment.word_of(mention).span;
        for (target, span) in targets.iter().zip(&encoding.spans[encoding.n_prompt..]) {
            let meets = span.start < start + word.end && span.end > start + word.start;
            if let (true, Some(target)) = (meets, target) {
                let of_lines =
                    |values: &[f64]| -> f64 { mention.places.lines.iter().filter_map(|&line| values.get(line)).sum() };
                excesses.push(of_lines(&target.lines) - of_lines(tokens_of_line) / n_tokens.max(1.0));
            }
        }
    }
    mean(excesses).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Boundary;
    use veridiff_text::diff::Diff;

    /// A prompt of five tokens, `P`, ` a`, `\n-b`, `\n+c` and `R`, and a text of two, ` c` and ` d`.
    fn sample() -> (Diff, Encoding, &'static str) {
        let text = " c dd";
        let diff = Diff::parse(" aa\n-bb\n+cc").unwrap();
        let whole = format!("P{}R{text}", diff.text());
        let encoding = Encoding {
            diff: 1..12,
            ids: vec![0; 7],
            spans: vec![0..1, 1..4, 4..8, 8..12, 12..13, 13..15, 15..18],
            segments: vec![
                Segment::Instruction,
                Segment::Diff,
                Segment::Diff,
                Segment::Diff,
                Segment::Instruction,
                Segment::Response,
                Segment::Response,
            ],
            changed: vec![false, false, true, true, false, false, false],
            diff_lines: vec![None, Some(0), Some(1), Some(2), None, None, None],
            n_prompt: 5,
            boundary: Boundary::Clean,
            n_cut: 0,
            doubled_bos: false,
            n_lost_bytes: 0,
            text: whole,
        };
        (diff, encoding, text)
    }

    #[test]
    fn by_hand() {
        let (diff, encoding, _) = sample();
        let text = "cc dd";
        let alignment = Alignment::new(&diff, text);
        let columns = vec![vec![0.5, 0.1, 0.1, 0.2, 0.1], vec![0.2, 0.2, -0.2, 0.0, 0.2, 0.2]];
        let matrix = Matrix { n_prompt: 5, columns, start: Vec::new() };
        let classes = [TokenClass::Name, TokenClass::Content];
        let shape = LineShape::new(&matrix, &encoding, &alignment, text, &classes, &[true, true]);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(shape.diff_share, (0.4 / 1.0 + 0.4 / 0.8) / 2.0);
        close(shape.changed_share, (0.75 + 0.5) / 2.0);
        // changed 1.25 over two tokens, unchanged 0.75 over one
        close(shape.changed_ratio, (0.625f64 / 0.75).ln());
        // lines together: 1/4 + 1/2, 1/4 + 1/2, 1/2, over 2
        close(shape.top_line, 0.375);
        close(shape.top_line_excess, 0.375 - 1.0 / 3.0);
        let entropy = -(2.0 * 0.375 * 0.375f64.ln() + 0.25 * 0.25f64.ln());
        close(shape.line_entropy, entropy / 3f64.ln());
        close(shape.focus, 0.5);
        close(shape.names_changed_share, 0.75);
        close(shape.names_diff_share, 0.4);
        // `cc` is on the third line, where its token has half of the diff's attribution and the line a third of the tokens
        close(shape.agreement, 0.5 - 1.0 / 3.0);
    }

    #[test]
    fn without_attribution_nothing_is_said() {
        let (diff, encoding, text) = sample();
        let alignment = Alignment::new(&diff, text);
        let matrix = Matrix { n_prompt: 5, columns: vec![vec![0.0; 5], vec![0.0; 6]], start: Vec::new() };
        let shape = LineShape::new(&matrix, &encoding, &alignment, text, &[TokenClass::Filler; 2], &[true, false]);
        assert_eq!((shape.diff_share, shape.changed_share, shape.changed_ratio, shape.agreement), (0.0, 0.0, 0.0, 0.0));
    }
}
