//! What chosen tokens of the text rest on.

use super::explanation::{Basis, Explanation, InputShares, LineShare, TokenSegment, TokenShare};

/// The most lines and tokens that [`Basis`] names.
const MOST_NAMED: usize = 10;

impl Explanation {
    /// Every position's share of what these tokens of the text rest on; `None` without attribution.
    pub fn shares(&self, tokens: &[usize]) -> Option<Vec<f64>> {
        let rows = self.attribution.as_ref()?;
        let of_row = |row: &Vec<Option<f64>>| tokens.iter().filter_map(|&t| row[t]).map(f64::abs).sum::<f64>();
        let mut shares: Vec<f64> = rows.iter().map(of_row).collect();
        let start: f64 = tokens.iter().filter_map(|&t| self.attribution_start.get(t)).map(|value| value.abs()).sum();
        let total = shares.iter().sum::<f64>() + start;
        if total > 0.0 {
            shares.iter_mut().for_each(|share| *share /= total);
        }
        Some(shares)
    }

    /// Every line's share, from those of the positions.
    pub fn line_shares(&self, shares: &[f64]) -> Vec<f64> {
        let mut of_lines = vec![0.0; self.lines.len()];
        for (token, share) in self.tokens.iter().zip(shares) {
            if let Some(line) = token.diff_line.and_then(|line| of_lines.get_mut(line)) {
                *line += share;
            }
        }
        of_lines
    }

    /// What these tokens of the text rest on; `None` without attribution.
    pub fn sources_of(&self, tokens: &[usize]) -> Option<Basis> {
        let shares = self.shares(tokens)?;
        let mut parts = InputShares::default();
        for (token, share) in self.tokens.iter().zip(&shares) {
            *match (token.segment, token.changed) {
                (TokenSegment::Diff, true) => &mut parts.changed,
                (TokenSegment::Diff, false) => &mut parts.unchanged_diff,
                (TokenSegment::Response, _) => &mut parts.text,
                (TokenSegment::Instruction | TokenSegment::Special, _) => &mut parts.prompt,
            } += share;
        }
        // what is left is the start token's
        if parts != InputShares::default() {
            parts.prompt = (1.0 - parts.changed - parts.unchanged_diff - parts.text).max(0.0);
        }
        let in_diff = |&(position, _): &(usize, f64)| self.tokens[position].segment == TokenSegment::Diff;
        let named = |share: (usize, f64)| TokenShare { position: share.0, share: share.1 };
        let diff_tokens = largest(shares.iter().copied().enumerate().filter(in_diff)).into_iter().map(named);
        let lines = largest(self.line_shares(&shares).into_iter().enumerate()).into_iter();
        Some(Basis {
            tokens: tokens.to_vec(),
            text: self.text_of(tokens),
            parts,
            lines: lines.map(|(line, share)| LineShare { line, share }).collect(),
            diff_tokens: diff_tokens.collect(),
        })
    }

    /// The input from the first to the last of these tokens of the text.
    fn text_of(&self, tokens: &[usize]) -> String {
        let of_text = || tokens.iter().filter_map(|t| self.tokens.get(self.n_prompt_tokens + t));
        let start = of_text().map(|token| token.byte_start).min();
        let end = of_text().map(|token| token.byte_end).max();
        let span = start.zip(end).and_then(|(start, end)| self.input.get(start..end));
        span.unwrap_or("").to_owned()
    }
}

/// The largest, first the largest, of equal ones the first; none that is zero.
fn largest(shares: impl Iterator<Item = (usize, f64)>) -> Vec<(usize, f64)> {
    let mut shares: Vec<(usize, f64)> = shares.filter(|&(_, share)| share > 0.0).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    shares.truncate(MOST_NAMED);
    shares
}
