//! How many words a review shares with another: BLEU-1 and ROUGE-L, as the named references compute them.

use std::collections::HashMap;

use veridiff_core::families::reference::bleu::Bleu;

/// What BLEU of order 1 is computed from: matches, words of the text, words of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unigrams([u64; 3]);

impl Unigrams {
    /// Of a text beside a reference. Words are those of the variant; at this order no smoothing can act. [`Bleu::SACREBLEU`] gives
    /// sacrebleu's `nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp` with `max_ngram_order=1`, [`Bleu::NLTK`] NLTK's sentence score
    /// with weights (1,).
    pub fn new(variant: Bleu, reference: &str, text: &str) -> Unigrams {
        Unigrams(unigrams(variant, reference, text))
    }

    /// The score, 0 to 1: clipped matches by words, times the penalty of a text that is shorter than the reference. Of several pairs
    /// added up it is that of the corpus.
    pub fn bleu1(self) -> f64 {
        of_counts(self.0)
    }
}

impl std::iter::Sum for Unigrams {
    fn sum<I: Iterator<Item = Unigrams>>(all: I) -> Unigrams {
        all.fold(Unigrams::default(), |Unigrams(a), Unigrams(b)| Unigrams([a[0] + b[0], a[1] + b[1], a[2] + b[2]]))
    }
}

/// Matches, words of the text, words of the reference.
fn unigrams(variant: Bleu, reference: &str, text: &str) -> [u64; 3] {
    let (reference, text) = (variant.tokens(reference), variant.tokens(text));
    let mut left: HashMap<&str, u64> = HashMap::with_capacity(reference.len());
    reference.iter().for_each(|token| *left.entry(token).or_default() += 1);
    let take = |token: &&String| match left.get_mut(token.as_str()) {
        Some(n @ 1..) => {
            *n -= 1;
            true
        }
        _ => false,
    };
    let matches = text.iter().filter(take).count();
    [matches, text.len(), reference.len()].map(|n| n as u64)
}

fn of_counts([matches, c, r]: [u64; 3]) -> f64 {
    if matches == 0 {
        return 0.0;
    }
    let (c, r) = (c as f64, r as f64);
    let penalty = if c < r { (1.0 - r / c).exp() } else { 1.0 };
    penalty * matches as f64 / c
}

/// Precision, recall and F of the longest common subsequence of words, each 0 to 1: rouge-score 0.1.2 without stemming, whose words are
/// runs of ASCII letters and digits in lower case.
pub fn rouge_l(reference: &str, text: &str) -> [f64; 3] {
    let (reference, text) = (reference.to_lowercase(), text.to_lowercase());
    // words as numbers: comparing letters is what would take the time
    let mut numbers = HashMap::new();
    let (reference, text) = (numbered(&reference, &mut numbers), numbered(&text, &mut numbers));
    let common = longest_common_subsequence(&reference, &text) as f64;
    if common == 0.0 {
        return [0.0; 3];
    }
    let (p, r) = (common / text.len() as f64, common / reference.len() as f64);
    [p, r, 2.0 * p * r / (p + r)]
}

/// The words of a text in lower case, each by its number, which is the same in all texts.
fn numbered<'a>(text: &'a str, numbers: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit())).filter(|word| !word.is_empty());
    let number = |word| {
        let next = numbers.len() as u32;
        *numbers.entry(word).or_insert(next)
    };
    words.map(number).collect()
}

fn longest_common_subsequence(a: &[u32], b: &[u32]) -> usize {
    let mut row = vec![0u32; b.len() + 1];
    for x in a {
        let (mut diagonal, mut left) = (0, 0);
        for (y, cell) in b.iter().zip(&mut row[1..]) {
            let above = *cell;
            left = if x == y { diagonal + 1 } else { above.max(left) };
            (*cell, diagonal) = (left, above);
        }
    }
    row[b.len()] as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sacrebleu 2.6.0, nltk 3.10.4 and rouge-score 0.1.2 gave these, in percent.
    const PAIRS: [(&str, &str, f64, f64, [f64; 3]); 6] = [
        (
            "Use `StrictStr` instead of plain str for the path field.",
            "Use StrictStr for the path field, not str.",
            59.2655,
            38.9400,
            [75.0, 60.0, 66.6667],
        ),
        (
            "Check that mail_u or mail_p exists before setting credentials.",
            "Sets credentials if mail_useauth is checked. Clears them if unchecked.",
            28.5714,
            0.0,
            [9.0909, 9.0909, 9.0909],
        ),
        ("No comment.", "The change looks good. No comment.", 37.5, 33.3333, [33.3333, 100.0, 50.0]),
        ("a b c d", "d c b a", 100.0, 100.0, [25.0, 25.0, 25.0]),
        ("the cat", "", 0.0, 0.0, [0.0; 3]),
        ("No comment.", "No comment.", 100.0, 100.0, [100.0; 3]),
    ];

    #[test]
    fn figures_are_those_of_the_references() {
        for (reference, text, sacrebleu, nltk, rouge) in PAIRS {
            let near = |got: f64, want: f64| assert!((100.0 * got - want).abs() < 6e-5, "{text}: {got} against {want}");
            near(Unigrams::new(Bleu::SACREBLEU, reference, text).bleu1(), sacrebleu);
            near(Unigrams::new(Bleu::NLTK, reference, text).bleu1(), nltk);
            rouge_l(reference, text).into_iter().zip(rouge).for_each(|(got, want)| near(got, want));
        }
        let of = |i: usize| Unigrams::new(Bleu::SACREBLEU, PAIRS[i].0, PAIRS[i].1);
        let corpus: Unigrams = [0, 1, 2, 5].into_iter().map(of).sum();
        assert!((corpus.bleu1() - 18.0 / 35.0).abs() < 1e-12);
    }

    /// What the page of docs/checklists.md says of the rate: pairs of texts of 100 words, BLEU-1 and ROUGE-L, on one thread.
    #[test]
    #[ignore = "a figure, for a quiet machine"]
    #[allow(clippy::print_stderr, reason = "the figure is what it is run for")]
    fn rate_of_pairs() {
        let text = |seed: usize| -> String {
            let word = |i: usize| match (i * 7919 + seed * 104_729) % 97 {
                n @ 0..12 => format!("`name_{n}`,"),
                n @ 12..20 => format!("{n}.5-fold."),
                n => format!("word{n}"),
            };
            (0..100).map(word).collect::<Vec<_>>().join(" ")
        };
        let texts: Vec<String> = (0..200).map(text).collect();
        let start = std::time::Instant::now();
        let mut sum = 0.0;
        let n = 20_000;
        for i in 0..n {
            let (a, b) = (&texts[i % 200], &texts[(i * 31 + 1) % 200]);
            sum += Unigrams::new(Bleu::SACREBLEU, a, b).bleu1() + rouge_l(a, b)[2];
        }
        let rate = f64::from(n as u32) / start.elapsed().as_secs_f64();
        assert!(sum > 0.0 && rate >= 10_000.0, "{rate:.0} pairs a second");
        eprintln!("{rate:.0} pairs a second");
    }

    #[test]
    fn letters_beside_ascii_part_words() {
        assert_eq!(rouge_l("caf\u{e9} x", "caf x"), [1.0, 1.0, 1.0]);
        assert_eq!(rouge_l("", "\u{e9}"), [0.0; 3]);
    }
}
