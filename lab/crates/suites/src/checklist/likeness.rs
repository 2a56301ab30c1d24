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
    let (reference, text) = (variant.words(reference), variant.words(text));
    let mut numbers = Numbers::default();
    let (reference, text) = (numbers.of(reference.iter()), numbers.of(text.iter()));
    let mut left = vec![0u32; numbers.0.len()];
    reference.iter().for_each(|word| left[*word as usize] += 1);
    let take = |word: &&u32| {
        let left = &mut left[**word as usize];
        let is_left = *left > 0;
        *left -= u32::from(is_left);
        is_left
    };
    let matches = text.iter().filter(take).count();
    [matches, text.len(), reference.len()].map(|n| n as u64)
}

/// Words as numbers, which are the same in all texts: comparing letters is what would take the time.
#[derive(Debug, Default)]
struct Numbers<'a>(HashMap<&'a str, u32>);

impl<'a> Numbers<'a> {
    fn of(&mut self, words: impl Iterator<Item = &'a str>) -> Vec<u32> {
        let number = |word| {
            let next = self.0.len() as u32;
            *self.0.entry(word).or_insert(next)
        };
        words.map(number).collect()
    }
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
    let mut numbers = Numbers::default();
    let (reference, text) = (numbers.of(letters_and_digits(&reference)), numbers.of(letters_and_digits(&text)));
    let common = longest_common_subsequence(&reference, &text, numbers.0.len()) as f64;
    if common == 0.0 {
        return [0.0; 3];
    }
    let (p, r) = (common / text.len() as f64, common / reference.len() as f64);
    [p, r, 2.0 * p * r / (p + r)]
}

/// The words of a text in lower case.
fn letters_and_digits(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit())).filter(|word| !word.is_empty())
}

/// How long the longest common subsequence of two texts is, whose words are numbers below `n`: the table of the textbook, of which 64
/// words of `a` are one number of 64 bits (Crochemore et al., A fast and practical bit-vector algorithm for the longest common
/// subsequence problem, 2001). A bit is 0 where the length grows from the word before it to this one.
fn longest_common_subsequence(a: &[u32], b: &[u32], n: usize) -> usize {
    let mut places = vec![0u64; n];
    // what the addition in a block carries over into the next, by word of `b`
    let mut carries = vec![false; b.len()];
    let mut length = 0;
    for block in a.chunks(64) {
        (0..).zip(block).for_each(|(i, word)| places[*word as usize] |= 1 << i);
        let mut row = u64::MAX;
        for (word, carry) in b.iter().zip(&mut carries) {
            let matched = row & places[*word as usize];
            let (sum, is_over) = row.overflowing_add(matched);
            let (sum, is_over_too) = sum.overflowing_add(u64::from(*carry));
            *carry = is_over | is_over_too;
            row = sum | (row & !matched);
        }
        length += row.count_zeros() as usize;
        block.iter().for_each(|word| places[*word as usize] = 0);
    }
    length
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::vec,
        strategy::{Just, Strategy},
    };

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

    /// The textbook's table, a cell after the other.
    fn by_table(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (at, y) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    proptest::proptest! {
        #[test]
        fn bits_say_what_the_table_says(
            (n, a, b) in (1u32..40).prop_flat_map(|n| (Just(n), vec(0..n, 0..300), vec(0..n, 0..300)))
        ) {
            proptest::prop_assert_eq!(longest_common_subsequence(&a, &b, n as usize), by_table(&a, &b));
        }
    }

    #[test]
    fn letters_beside_ascii_part_words() {
        assert_eq!(rouge_l("caf\u{e9} x", "caf x"), [1.0, 1.0, 1.0]);
        assert_eq!(rouge_l("", "\u{e9}"), [0.0; 3]);
    }
}
