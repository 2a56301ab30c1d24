//! The shape of uncertainty: not only its mean but its extremes, and where in the text they are.

use std::ops::Range;

use crate::tokens::{Encoding, Segment};
use veridiff_engine::reading::scores::{StepRanks, StepScores};
use veridiff_text::grounding::{WordKind, Words};

/// Tokens of a window.
pub const WINDOW: usize = 8;

/// What a token of a text is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenClass {
    /// Grammar, words of every review, signs.
    Filler,
    /// Another word.
    Content,
    /// A name, a number or a file.
    Name,
}

/// The class of each of the response's tokens; a token that shares bytes with several words has the last of their classes in the
/// order of [`TokenClass`].
pub fn classes(encoding: &Encoding, text: &str) -> Vec<TokenClass> {
    let words = Words::of_text(text).words;
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

/// Uncertainty of a text beyond its means. In nats but for ranks and shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Least log-probability.
    pub logprob_min: f64,
    /// Its tenth percentile.
    pub logprob_q10: f64,
    /// Its median.
    pub logprob_median: f64,
    /// Its standard deviation.
    pub logprob_spread: f64,
    /// Least mean over [`WINDOW`] tokens in a row.
    pub logprob_window: f64,
    /// Of the first token.
    pub logprob_first: f64,
    /// Mean over content words and names; over all tokens where there are none.
    pub logprob_content: f64,
    /// Mean over names; over all tokens where there are none.
    pub logprob_names: f64,
    /// Mean over the others; over all tokens where there are none.
    pub logprob_filler: f64,
    /// Largest entropy.
    pub entropy_max: f64,
    /// Before the first token.
    pub entropy_first: f64,
    /// Its standard deviation.
    pub entropy_spread: f64,
    /// Mean over content words and names; over all tokens where there are none.
    pub entropy_content: f64,
    /// Mean of surprise minus entropy.
    pub excess: f64,
    /// Sum of entropy minus surprise over the square root of the sum of the variances of the surprise under the model (Bao et
    /// al. 2024, arXiv:2310.05130, with the scorer as its own reference); 0 without variance.
    pub curvature: f64,
    /// Mean margin to the best other token.
    pub margin: f64,
    /// Its tenth percentile.
    pub margin_low: f64,
    /// Share of the tokens of rank 1.
    pub top: f64,
    /// Mean logarithm of the rank.
    pub rank: f64,
    /// Mean logarithm of the rank over content words and names; over all tokens where there are none.
    pub rank_content: f64,
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

/// A quantile by linear interpolation between the sorted values, at least one.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    sorted[low] + (place - low as f64) * (sorted[high] - sorted[low])
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

impl Shape {
    /// Of a text's tokens, at least one; `None` of none.
    pub fn new(scores: &StepScores, ranks: &StepRanks, classes: &[TokenClass]) -> Option<Self> {
        let (logprob, entropy) = (&scores.logprob, &scores.entropy);
        let first = *logprob.first()?;
        let is_content = |class| class != TokenClass::Filler;
        let excess: Vec<f64> = logprob.iter().zip(entropy).map(|(l, h)| -l - h).collect();
        let variance: f64 = ranks.variance.iter().sum();
        let log_rank: Vec<f64> = ranks.rank.iter().map(|rank| rank.ln()).collect();
        let all = |values: &[f64]| mean(values.iter().copied()).unwrap_or(0.0);
        Some(Shape {
            logprob_min: logprob.iter().copied().fold(f64::INFINITY, f64::min),
            logprob_q10: quantile(logprob, 0.1),
            logprob_median: quantile(logprob, 0.5),
            logprob_spread: deviation(logprob),
            logprob_window: windows(logprob).fold(f64::INFINITY, f64::min),
            logprob_first: first,
            logprob_content: mean_of(logprob, classes, is_content),
            logprob_names: mean_of(logprob, classes, |class| class == TokenClass::Name),
            logprob_filler: mean_of(logprob, classes, |class| class == TokenClass::Filler),
            entropy_max: entropy.iter().copied().fold(0.0, f64::max),
            entropy_first: entropy[0],
            entropy_spread: deviation(entropy),
            entropy_content: mean_of(entropy, classes, is_content),
            excess: all(&excess),
            curvature: if variance > 0.0 { -excess.iter().sum::<f64>() / variance.sqrt() } else { 0.0 },
            margin: all(&ranks.margin),
            margin_low: quantile(&ranks.margin, 0.1),
            top: all(&ranks.rank.iter().map(|&rank| f64::from(u8::from(rank <= 1.0))).collect::<Vec<_>>()),
            rank: all(&log_rank),
            rank_content: mean_of(&log_rank, classes, is_content),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(logprob: &[f64], entropy: &[f64]) -> StepScores {
        StepScores {
            logprob: logprob.to_vec(),
            logit: vec![0.0; logprob.len()],
            probability: logprob.iter().map(|l| l.exp()).collect(),
            entropy: entropy.to_vec(),
        }
    }

    #[test]
    fn by_hand() {
        use TokenClass::*;
        let ranks =
            StepRanks { rank: vec![1.0, 3.0, 2.0], margin: vec![2.0, -4.0, -1.0], variance: vec![1.0, 2.0, 1.0] };
        let shape =
            Shape::new(&scores(&[-1.0, -5.0, -3.0], &[2.0, 1.0, 3.0]), &ranks, &[Filler, Name, Content]).unwrap();
        assert_eq!((shape.logprob_min, shape.logprob_median, shape.logprob_first), (-5.0, -3.0, -1.0));
        // between the two lowest, a fifth of the way
        assert!((shape.logprob_q10 + 4.6).abs() < 1e-12, "{}", shape.logprob_q10);
        assert!((shape.logprob_spread - (8.0f64 / 3.0).sqrt()).abs() < 1e-12);
        // fewer tokens than a window: the mean of all
        assert_eq!((shape.logprob_window, shape.logprob_content, shape.logprob_names), (-3.0, -4.0, -5.0));
        assert_eq!((shape.logprob_filler, shape.entropy_max, shape.entropy_first), (-1.0, 3.0, 2.0));
        // surprise 1, 5, 3 against entropy 2, 1, 3
        assert_eq!((shape.excess, shape.curvature), (1.0, -3.0 / 2.0));
        assert_eq!((shape.margin, shape.top), (-1.0, 1.0 / 3.0));
        assert!((shape.rank - 6f64.ln() / 3.0).abs() < 1e-12);
        assert!((shape.rank_content - 6f64.ln() / 2.0).abs() < 1e-12);
        assert_eq!(shape.entropy_content, 2.0);
    }

    #[test]
    fn without_names_the_mean_is_over_all_and_no_tokens_have_no_shape() {
        let ranks = StepRanks { rank: vec![1.0, 1.0], margin: vec![1.0, 1.0], variance: vec![0.0, 0.0] };
        let shape = Shape::new(&scores(&[-1.0, -2.0], &[0.0, 0.0]), &ranks, &[TokenClass::Filler; 2]).unwrap();
        assert_eq!((shape.logprob_names, shape.logprob_content, shape.curvature), (-1.5, -1.5, 0.0));
        assert_eq!(Shape::new(&StepScores::default(), &StepRanks::default(), &[]), None);
    }

    #[test]
    fn windows_find_the_worst_stretch() {
        let mut values = vec![-1.0; 20];
        values[5..13].fill(-3.0);
        assert_eq!(windows(&values).fold(f64::INFINITY, f64::min), -3.0);
        assert_eq!(windows(&values).count(), 13);
        assert_eq!(windows(&[]).count(), 0);
    }
}
