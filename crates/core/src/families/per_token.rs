//! Numbers of every token put together: means, quantiles, windows, and what kind of word a token is part of.

use std::ops::Range;

use crate::tokens::{Encoding, Segment};
use veridiff_text::grounding::{WordKind, Words};

/// How many tokens in a row a window of scores has.
pub const WINDOW: usize = 8;

/// What a token of a text is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenClass {
    /// A word of grammar or of every review, or a sign.
    Filler,
    /// Another word of prose, which says something of this change.
    Content,
    /// A name, a number or a file.
    Name,
}

/// The class of each of the response's tokens; a token that shares bytes with several words has the last of their classes in the
/// order of [`TokenClass`]. `words` are those of `text`.
pub fn classes(encoding: &Encoding, text: &str, words: &Words) -> Vec<TokenClass> {
    let words = &words.words;
    let start = encoding.text.len() - text.len();
    let class_of = |span: &Range<usize>| {
        let (from, to) = (span.start.saturating_sub(start), span.end.saturating_sub(start));
        let first = words.partition_point(|word| word.span.end <= from);
        let meets = words[first..].iter().take_while(|word| word.span.start < to);
        let class = meets.map(|word| match word.kind {
            WordKind::Name | WordKind::Number | WordKind::File => TokenClass::Name,
            WordKind::Plain => TokenClass::Content,
            WordKind::Stop | WordKind::Common => TokenClass::Filler,
        });
        class.max().unwrap_or(TokenClass::Filler)
    };
    let of_response = encoding.spans.iter().zip(&encoding.segments).skip(encoding.n_prompt);
    of_response
        .map(|(span, segment)| if *segment == Segment::Special { TokenClass::Filler } else { class_of(span) })
        .collect()
}

/// The mean; `None` of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.into_iter().fold((0.0, 0_usize), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / n as f64)
}

/// The standard deviation, with divisor n.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let center = mean(values.iter().copied()).unwrap_or(0.0);
    mean(values.iter().map(|value| (value - center).powi(2))).unwrap_or(0.0).sqrt()
}

/// A quantile of values in any order, at least one, by linear interpolation between neighbours.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    veridiff_detector::quantile(&sorted, share)
}

/// The means of all windows of [`WINDOW`] values in a row; of fewer values the mean of all.
pub(crate) fn windows(values: &[f64]) -> impl Iterator<Item = f64> {
    let width = WINDOW.min(values.len()).max(1);
    values.windows(width).map(move |window| window.iter().sum::<f64>() / width as f64)
}

/// The mean of the values of some classes; of all where there are none.
pub(crate) fn mean_of(values: &[f64], classes: &[TokenClass], keep: impl Fn(TokenClass) -> bool) -> f64 {
    let kept = values.iter().zip(classes).filter(|(_, class)| keep(**class)).map(|(&value, _)| value);
    mean(kept).or_else(|| mean(values.iter().copied())).unwrap_or(0.0)
}
