//! Sentence BLEU-4. Papers mean different numbers by that name: tokens, smoothing and brevity penalty differ.
//!
//! | variant | tokens | smoothing | as in |
//! |---|---|---|---|
//! | `codereviewer` | lower case; runs of letters and digits, `_`, any other character alone | one added for n = 2 to 4 | CodeReviewer, CCT5 |
//! | `sacrebleu` | mteval 13a | `exp`, `floor`, `add-k`, `none` | sacrebleu's sentence score |
//! | `nltk` | blanks, or words and punctuation | methods 0 to 4 | NLTK's `sentence_bleu` |

mod tokens;

use std::{collections::HashMap, fmt, str::FromStr};

use veridiff_text::named;

pub use tokens::{Words, blanks, code_reviewer, mteval_13a, words_and_punctuation};

/// Longest n-gram.
const ORDER: usize = 4;

/// The variant of sentence BLEU-4 that a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bleu {
    /// The sentence score that CodeReviewer and CCT5 report, and the core paper after them.
    #[default]
    CodeReviewer,
    /// sacrebleu's sentence score.
    Sacrebleu {
        /// What stands in for a precision of zero.
        smoothing: Smoothing,
        /// Whether n-grams longer than the text are left out of the mean (sacrebleu's `effective_order`).
        effective_order: bool,
        /// Whether both texts are put in lower case.
        lowercase: bool,
    },
    /// The score of NLTK's `sentence_bleu`.
    Nltk {
        /// Number of its smoothing method, 0 to 4.
        method: u8,
        /// Words and runs of punctuation apart, rather than what blanks separate.
        word_punct: bool,
    },
}

/// How sacrebleu keeps a precision of zero from making the score zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Smoothing {
    /// The k-th precision of zero becomes `1 / (2^k total)`.
    #[default]
    Exp,
    /// A count of zero becomes 0.1.
    Floor,
    /// One is added to counts and totals of n = 2 to 4.
    AddK,
    /// None: a precision of zero makes the score zero.
    None,
}

// sacrebleu's own names
named!(Smoothing, "smoothing", "exp" => Exp, "floor" => Floor, "add-k" => AddK, "none" => None);

impl Bleu {
    /// sacrebleu's defaults for a sentence.
    pub const SACREBLEU: Bleu = Bleu::Sacrebleu { smoothing: Smoothing::Exp, effective_order: true, lowercase: false };
    /// NLTK's defaults for a sentence: no smoothing, words as blanks separate them.
    pub const NLTK: Bleu = Bleu::Nltk { method: 0, word_punct: false };

    /// The score of one text against one reference, 0 to 1 in every variant.
    pub fn sentence(self, reference: &str, text: &str) -> f64 {
        self.score(&self.counts(reference, text))
    }

    /// The score of a corpus of (reference, text), 0 to 1: of the counts of all sentences together, or, for
    /// [`Bleu::CodeReviewer`], which has no other, the mean over sentences.
    pub fn corpus(self, pairs: &[(&str, &str)]) -> f64 {
        if self == Bleu::CodeReviewer {
            let sum: f64 = pairs.iter().map(|(reference, text)| self.sentence(reference, text)).sum();
            return if pairs.is_empty() { 0.0 } else { sum / pairs.len() as f64 };
        }
        let mut all = Counts::default();
        pairs.iter().for_each(|(reference, text)| all.add(&self.counts(reference, text)));
        self.score(&all)
    }

    /// The words of a text, as this variant sees them.
    pub fn words(self, text: &str) -> Words {
        match self {
            Bleu::CodeReviewer => code_reviewer(text),
            Bleu::Sacrebleu { lowercase: true, .. } => mteval_13a(&text.to_lowercase()),
            Bleu::Sacrebleu { lowercase: false, .. } => mteval_13a(text),
            Bleu::Nltk { word_punct: true, .. } => words_and_punctuation(text),
            Bleu::Nltk { word_punct: false, .. } => blanks(text),
        }
    }

    /// Matches and totals of one text against one reference, under this variant's tokens.
    pub fn counts(self, reference: &str, text: &str) -> Counts {
        let mut counts = Counts::new(&self.words(reference), &self.words(text));
        if matches!(self, Bleu::Nltk { .. }) {
            // NLTK never divides by zero: a text too short for an n-gram counts as having one.
            counts.totals.iter_mut().for_each(|total| *total = (*total).max(1));
        }
        counts
    }

    fn score(self, counts: &Counts) -> f64 {
        match self {
            Bleu::CodeReviewer => code_reviewer_score(counts),
            Bleu::Sacrebleu { smoothing, effective_order, .. } => sacrebleu_score(counts, smoothing, effective_order),
            Bleu::Nltk { method, .. } => nltk_score(counts, method),
        }
    }
}

/// What BLEU is computed from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// n-grams of the text that the reference has too, each counted at most as often as it is there; n = 1 to 4.
    pub matches: [u64; ORDER],
    /// n-grams of the text; n = 1 to 4.
    pub totals: [u64; ORDER],
    /// How many tokens the reference has.
    pub reference_len: u64,
    /// How many tokens the text has.
    pub text_len: u64,
}

impl Counts {
    fn new(reference: &Words, text: &Words) -> Counts {
        let [reference, text]: [Vec<&str>; 2] = [reference, text].map(|words| words.iter().collect());
        let mut counts =
            Counts { reference_len: reference.len() as u64, text_len: text.len() as u64, ..Counts::default() };
        for n in 1..=ORDER {
            let (theirs, ours) = (n_grams(&reference, n), n_grams(&text, n));
            counts.totals[n - 1] = ours.values().sum();
            counts.matches[n - 1] =
                ours.iter().map(|(gram, count)| (*count).min(theirs.get(gram).copied().unwrap_or(0))).sum();
        }
        counts
    }

    fn add(&mut self, other: &Counts) {
        for n in 0..ORDER {
            self.matches[n] += other.matches[n];
            self.totals[n] += other.totals[n];
        }
        self.reference_len += other.reference_len;
        self.text_len += other.text_len;
    }

    /// exp(1 - r/c) for a text shorter than the reference, else 1; 0 for an empty text.
    fn brevity_penalty(&self) -> f64 {
        match (self.reference_len as f64, self.text_len as f64) {
            (_, 0.0) => 0.0,
            (r, c) if c < r => (1.0 - r / c).exp(),
            _ => 1.0,
        }
    }
}

fn n_grams<'a, 'w>(tokens: &'a [&'w str], n: usize) -> HashMap<&'a [&'w str], u64> {
    let mut counts = HashMap::new();
    tokens.windows(n).for_each(|gram| *counts.entry(gram).or_insert(0) += 1);
    counts
}

/// One is added for n = 2 to 4, and to both lengths in the brevity penalty. Without a common word the score is about
/// 1e-78, for an empty text exp(-r): the published script's own quirks.
fn code_reviewer_score(counts: &Counts) -> f64 {
    let log_precision = |n: usize| {
        let added = if n == 0 { 0.0 } else { 1.0 };
        let log = |count: u64| (count as f64 + added + f64::MIN_POSITIVE).ln();
        log(counts.matches[n]) - log(counts.totals[n])
    };
    let mean = (0..ORDER).map(log_precision).sum::<f64>() / ORDER as f64;
    let brevity = 1.0 - (counts.reference_len + 1) as f64 / (counts.text_len + 1) as f64;
    (mean + brevity.min(0.0)).exp()
}

fn sacrebleu_score(counts: &Counts, smoothing: Smoothing, effective_order: bool) -> f64 {
    if counts.matches.iter().all(|&count| count == 0) {
        return 0.0;
    }
    let mut precisions = [0.0; ORDER];
    let (mut order, mut n_zero) = (ORDER, 0);
    for (n, precision) in precisions.iter_mut().enumerate() {
        let added = if smoothing == Smoothing::AddK && n > 0 { 1.0 } else { 0.0 };
        let (matches, total) = (counts.matches[n] as f64 + added, counts.totals[n] as f64 + added);
        if total == 0.0 {
            break;
        }
        if effective_order {
            order = n + 1;
        }
        *precision = match smoothing {
            _ if matches > 0.0 => matches / total,
            Smoothing::Exp => {
                n_zero += 1;
                1.0 / (f64::from(1 << n_zero) * total)
            }
            Smoothing::Floor => 0.1 / total,
            Smoothing::AddK | Smoothing::None => 0.0,
        };
    }
    // The logarithm of a precision of zero is minus infinity, which makes the score zero.
    counts.brevity_penalty() * (precisions[..order].iter().map(|p| p.ln()).sum::<f64>() / order as f64).exp()
}

fn nltk_score(counts: &Counts, method: u8) -> f64 {
    if counts.matches[0] == 0 {
        return 0.0;
    }
    let mut n_zero = 0;
    let precision = |n: usize| {
        let (matches, total) = (counts.matches[n] as f64, counts.totals[n] as f64);
        if method == 2 && n > 0 {
            return (matches + 1.0) / (total + 1.0);
        }
        if matches > 0.0 {
            return matches / total;
        }
        n_zero += 1;
        let halved = 1.0 / f64::from(1 << n_zero);
        match method {
            1 => 0.1 / total,
            3 => halved / total,
            // Its constant of 5 over the logarithm of the length; a single word has no logarithm to divide by.
            4 if counts.text_len > 1 => halved * (counts.text_len as f64).ln() / 5.0 / total,
            _ => f64::MIN_POSITIVE,
        }
    };
    let mean = (0..ORDER).map(precision).map(f64::ln).sum::<f64>() / ORDER as f64;
    counts.brevity_penalty() * mean.exp()
}

impl fmt::Display for Bleu {
    /// What [`Bleu::from_str`] reads, with every setting spelt out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bleu::CodeReviewer => f.write_str("codereviewer"),
            Bleu::Sacrebleu { smoothing, effective_order, lowercase } => {
                write!(f, "sacrebleu:{}", smoothing.name())?;
                f.write_str(if *effective_order { ":effective-order" } else { ":full-order" })?;
                f.write_str(if *lowercase { ":lowercase" } else { ":cased" })
            }
            Bleu::Nltk { method, word_punct } => {
                write!(f, "nltk:method{method}:{}", if *word_punct { "word-punct" } else { "whitespace" })
            }
        }
    }
}

impl FromStr for Bleu {
    type Err = UnknownBleu;

    /// `codereviewer`, `sacrebleu` or `nltk`, the latter two with settings after colons, in any order.
    fn from_str(text: &str) -> Result<Self, UnknownBleu> {
        let mut parts = text.split(':');
        let mut bleu = match parts.next() {
            Some("codereviewer") => Bleu::CodeReviewer,
            Some("sacrebleu") => Bleu::SACREBLEU,
            Some("nltk") => Bleu::NLTK,
            _ => return Err(UnknownBleu { got: text.into() }),
        };
        for part in parts {
            bleu.set(part).ok_or_else(|| UnknownBleu { got: text.into() })?;
        }
        Ok(bleu)
    }
}

impl Bleu {
    /// Changes one setting; `None` if this variant has no such setting.
    fn set(&mut self, setting: &str) -> Option<()> {
        match self {
            Bleu::CodeReviewer => return None,
            Bleu::Sacrebleu { smoothing, effective_order, lowercase } => match setting {
                "effective-order" => *effective_order = true,
                "full-order" => *effective_order = false,
                "lowercase" => *lowercase = true,
                "cased" => *lowercase = false,
                name => *smoothing = name.parse().ok()?,
            },
            Bleu::Nltk { method, word_punct } => match setting {
                "whitespace" => *word_punct = false,
                "word-punct" => *word_punct = true,
                name => *method = name.strip_prefix("method")?.parse().ok().filter(|method| *method <= 4)?,
            },
        }
        Some(())
    }
}

/// A BLEU variant that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown BLEU variant `{got}`; one of codereviewer, \
     sacrebleu[:exp|floor|add-k|none][:effective-order|full-order][:cased|lowercase], \
     nltk[:method0 to method4][:whitespace|word-punct]"
)]
pub struct UnknownBleu {
    /// The variant as it was asked for.
    pub got: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_written_as_it_is_read() {
        for text in [
            "codereviewer",
            "sacrebleu:exp:effective-order:cased",
            "sacrebleu:add-k:full-order:lowercase",
            "nltk:method0:whitespace",
            "nltk:method4:word-punct",
        ] {
            assert_eq!(text.parse::<Bleu>().unwrap().to_string(), text);
        }
        assert_eq!("sacrebleu".parse(), Ok(Bleu::SACREBLEU));
        assert_eq!("nltk:word-punct:method3".parse(), Ok(Bleu::Nltk { method: 3, word_punct: true }));
        for bad in ["", "bleu", "nltk:method5", "nltk:exp", "codereviewer:exp", "sacrebleu:method1"] {
            let error = bad.parse::<Bleu>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{bad}`")) && error.contains("codereviewer"), "{error}");
        }
    }

    #[test]
    fn every_variant_gives_a_number_for_any_text() {
        for variant in ["codereviewer", "sacrebleu", "sacrebleu:none:full-order", "nltk", "nltk:method4"] {
            let bleu: Bleu = variant.parse().unwrap();
            for (reference, text) in [("", ""), ("", "a"), ("a", ""), ("a", "a"), ("a b", "a"), ("\u{1c}", "…")] {
                let score = bleu.sentence(reference, text);
                assert!((0.0..=1.0).contains(&score), "{variant} of `{text}` against `{reference}` is {score}");
            }
            assert!((0.0..=1.0).contains(&bleu.corpus(&[])), "{variant} of nothing");
        }
    }
}
