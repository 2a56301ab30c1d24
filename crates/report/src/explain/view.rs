//! The tokens as they can be shown: cut to lines, with whole characters only, and nothing in them that hides or moves others.

use std::{cmp::Reverse, ops::Range};

use unicode_segmentation::GraphemeCursor;

use super::explanation::{Explanation, TokenSegment};
use crate::findings::against;
use veridiff_facts::{finding::FactFinding, verdict::Verdict};

/// A stretch of a line or of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    /// What is shown; empty for a line feed.
    pub text: &'a str,
    /// The tokens that it is from, in order; none for bytes that no token has.
    pub positions: Range<usize>,
    /// The tokens are nothing but the end of the line.
    pub is_line_feed: bool,
}

/// A line of the diff as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownLine<'a> {
    /// What the model read of the line, in stretches.
    pub read: Vec<Piece<'a>>,
    /// The rest of the line, which the model did not see.
    pub unread: &'a str,
}

/// Lines that the model did not read and that stand further than this from one that speaks against the text are folded away, where
/// there are more than [`MOST_UNREAD`] of them in a row.
const NEAR: usize = 3;
const MOST_UNREAD: usize = 8;

/// What stands for lines that are folded away.
pub(super) fn folded(lines: &Range<usize>) -> String {
    format!("… {} lines that the model did not read", lines.len())
}

impl Explanation {
    /// Lines that are not shown: long stretches that the model did not read and where nothing speaks against the text.
    pub(super) fn folds(&self) -> Vec<Range<usize>> {
        let against: Vec<usize> =
            self.against().iter().flat_map(|fact| &fact.lines).map(|line| line.diff_line.saturating_sub(1)).collect();
        let mut folds: Vec<Range<usize>> = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            if line.byte_start.is_some() || against.iter().any(|&other| other.abs_diff(index) <= NEAR) {
                continue;
            }
            match folds.last_mut() {
                Some(fold) if fold.end == index => fold.end += 1,
                _ => folds.push(index..index + 1),
            }
        }
        folds.retain(|fold| fold.len() > MOST_UNREAD);
        folds
    }

    /// The diff's lines, as many as [`Explanation::lines`] has.
    pub(super) fn shown_lines(&self) -> Vec<ShownLine<'_>> {
        let mut tokens: Vec<Range<usize>> = vec![0..0; self.lines.len()];
        for (position, token) in self.tokens.iter().enumerate() {
            if let Some(of_line) = token.diff_line.and_then(|line| tokens.get_mut(line)) {
                *of_line = if of_line.start == of_line.end { position } else { of_line.start }..position + 1;
            }
        }
        let shown = |(index, tokens): (usize, Range<usize>)| {
            let line = &self.lines[index];
            let span = line.byte_start.zip(line.byte_end);
            let Some(read) = span.and_then(|(start, end)| self.input.get(start..end)) else {
                return ShownLine { read: Vec::new(), unread: &line.text };
            };
            let tokens = tokens.filter(|&position| self.tokens[position].diff_line == Some(index));
            let unread = line.text.strip_prefix(read).unwrap_or("");
            ShownLine { read: self.pieces(span.map_or(0..0, |(start, end)| start..end), tokens), unread }
        };
        tokens.into_iter().enumerate().map(shown).collect()
    }

    /// The text that is explained; tokens that are not in it are [`TokenSegment::Special`].
    pub(super) fn shown_text(&self) -> Vec<Piece<'_>> {
        let positions = self.n_prompt_tokens..self.tokens.len();
        let is_special = |&position: &usize| self.tokens[position].segment == TokenSegment::Special;
        let special = |position| Piece { text: "", positions: position..position + 1, is_line_feed: false };
        let before = positions.clone().take_while(is_special);
        let after = positions.clone().skip_while(is_special).filter(is_special);
        let mut pieces: Vec<Piece<'_>> = before.map(special).collect();
        pieces.extend(self.pieces(self.text_span(), positions.clone().filter(|position| !is_special(position))));
        pieces.extend(after.map(special));
        pieces
    }

    /// The bytes of `span` as pieces, token by token.
    fn pieces(&self, span: Range<usize>, tokens: impl Iterator<Item = usize>) -> Vec<Piece<'_>> {
        // byte ranges first: neighbours are joined until each begins and ends with a whole character
        let mut parts: Vec<(Range<usize>, Range<usize>)> = Vec::new();
        let mut feed: Option<Range<usize>> = None;
        let mut at = span.start;
        for position in tokens {
            let token = &self.tokens[position];
            let (from, to) = (token.byte_start.max(at), token.byte_end.min(span.end));
            if from < to {
                if at < from {
                    parts.push((at..from, 0..0));
                }
                parts.push((from..to, position..position + 1));
                at = to;
            } else if token.byte_start >= span.end {
                feed = Some(feed.map_or(position, |feed| feed.start)..position + 1);
            } else if let Some((_, positions)) =
                parts.last_mut().filter(|(_, positions)| positions.start < positions.end)
            {
                // one more token of the same character
                positions.end = position + 1;
            }
        }
        if at < span.end {
            parts.push((at..span.end, 0..0));
        }
        let mut joined: Vec<(Range<usize>, Range<usize>)> = Vec::new();
        for (bytes, positions) in parts {
            match joined.last_mut() {
                Some((before, of)) if !self.is_border(bytes.start, &span) => {
                    before.end = bytes.end;
                    *of = match (of.len(), positions.len()) {
                        (0, _) => positions,
                        (_, 0) => of.clone(),
                        _ => of.start..positions.end,
                    };
                }
                _ => joined.push((bytes, positions)),
            }
        }
        let piece = |(bytes, positions): (Range<usize>, Range<usize>)| Piece {
            text: self.input.get(bytes).unwrap_or(""),
            positions,
            is_line_feed: false,
        };
        let feed = feed.map(|positions| Piece { text: "", positions, is_line_feed: true });
        joined.into_iter().map(piece).chain(feed).collect()
    }

    /// The facts that speak against the text.
    pub(super) fn against(&self) -> Vec<&FactFinding> {
        against(&self.finding.statements, self.finding.verdict == Some(Verdict::Unsupported)).collect()
    }

    /// Which of these facts is about a piece of the text; of several, one that accuses.
    pub(super) fn fact_at(&self, piece: &Piece<'_>, facts: &[&FactFinding]) -> Option<usize> {
        let tokens = self.tokens.get(piece.positions.clone())?;
        let (first, last) = (tokens.first()?.byte_start, tokens.last()?.byte_end);
        let start = self.text_span().start;
        let meets = |fact: &FactFinding| start + fact.byte_start < last && first < start + fact.byte_end;
        let met = (0..facts.len()).filter(|&fact| meets(facts[fact]));
        met.max_by_key(|&fact| (facts[fact].ruling, Reverse(fact)))
    }

    /// Whether a character as people see it (a grapheme cluster) begins at byte `at` of `span`.
    fn is_border(&self, at: usize, span: &Range<usize>) -> bool {
        let Some(text) = self.input.get(span.clone()) else { return true };
        GraphemeCursor::new(at - span.start, text.len(), true).is_boundary(text, 0).unwrap_or(true)
    }
}
