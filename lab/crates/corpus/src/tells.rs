//! What could be guessed without reading a change.
//!
//! A logistic regression sees the words of a text and its length, and nothing of the diff. Its AUC is out of fold: five folds that
//! split neither a commit nor texts with the same words. Where every edit is as frequent as its opposite it is often below one half, since a word that is one too
//! many in the training folds is one too few in the tested one; that is no tell.

use std::collections::HashMap;

use crate::chance;

/// A text as a reader without the diff sees it.
#[derive(Debug, Clone)]
pub struct Read<'a> {
    /// Its words.
    pub text: &'a str,
    /// What must not be split across folds.
    pub group: &'a str,
    /// Whether it is false of its diff.
    pub is_false: bool,
}

const FOLDS: u64 = 5;

/// Rounds over the training rows.
const EPOCHS: usize = 12;

/// Step, and how much weights are pulled to zero, of the descent (AdaGrad).
const STEP: f64 = 0.2;
const PULL: f64 = 1e-4;

/// A word that fewer texts have is not learnt.
const LEAST: usize = 3;

/// The words of a text: letters, digits and underscores together, in lower case.
pub fn tokens(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let words = text.split(|c| !is_part(c)).map(|word| word.trim_matches('\''));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Whether a text denies something.
pub fn denies(text: &str) -> bool {
    const DENIALS: [&str; 9] = ["not", "no", "don't", "never", "without", "cannot", "doesn't", "unless", "isn't"];
    tokens(text).iter().any(|word| DENIALS.contains(&word.as_str()))
}

/// The AUC with which words and length tell false texts from true ones, out of fold; with `pairs` also every two words that follow
/// each other. `None` where there are too few texts.
pub fn auc_of_words(texts: &[Read<'_>], pairs: bool, seed: u64) -> Option<f64> {
    let (features, n_features) = features(texts, pairs);
    let folds: Vec<u64> =
        blocks(texts).into_iter().map(|block| chance(seed, &["fold", &block.to_string()]) % FOLDS).collect();
    let mut scores = vec![0.0; texts.len()];
    for fold in 0..FOLDS {
        let mut training: Vec<usize> = (0..texts.len()).filter(|&row| folds[row] != fold).collect();
        training.sort_by_cached_key(|row| chance(seed, &["order", &row.to_string()]));
        let weights = fitted(&features, n_features, texts, &training);
        for row in (0..texts.len()).filter(|&row| folds[row] == fold) {
            scores[row] = score(&weights, &features[row]);
        }
    }
    let labels: Vec<bool> = texts.iter().map(|text| text.is_false).collect();
    auc(&scores, &labels)
}

/// For each text the number of its block: texts of one commit and texts with the same words are in one, or what is learnt of one
/// half of a pair would be held against the other.
fn blocks(texts: &[Read<'_>]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..texts.len()).collect();
    fn root(parents: &mut [usize], mut at: usize) -> usize {
        while parents[at] != at {
            parents[at] = parents[parents[at]];
            at = parents[at];
        }
        at
    }
    let mut firsts: HashMap<(bool, &str), usize> = HashMap::new();
    for (row, text) in texts.iter().enumerate() {
        for key in [(true, text.group), (false, text.text)] {
            let first = *firsts.entry(key).or_insert(row);
            let (a, b) = (root(&mut parents, first), root(&mut parents, row));
            parents[a.max(b)] = a.min(b);
        }
    }
    (0..texts.len()).map(|row| root(&mut parents, row)).collect()
}

/// What a text has, by the numbers of features, and how much of it.
type Features = Vec<(usize, f64)>;

fn features(texts: &[Read<'_>], pairs: bool) -> (Vec<Features>, usize) {
    let words: Vec<Vec<String>> = texts
        .iter()
        .map(|text| {
            let words = tokens(text.text);
            let two = words.windows(2).filter(|_| pairs).map(|two| two.join(" ")).collect::<Vec<_>>();
            words.into_iter().chain(two).collect()
        })
        .collect();
    let mut frequency: HashMap<&str, usize> = HashMap::new();
    words.iter().flatten().for_each(|word| *frequency.entry(word).or_default() += 1);
    let mut known: Vec<&str> = frequency.iter().filter(|(_, n)| **n >= LEAST).map(|(word, _)| *word).collect();
    known.sort_unstable();
    // what every text has comes first: one, length, words, digits, capitals, marks of code, denial
    const FORM: usize = 7;
    let numbers: HashMap<&str, usize> = known.iter().enumerate().map(|(i, word)| (*word, i + FORM)).collect();
    let of_text = |(text, words): (&Read<'_>, &Vec<String>)| {
        let count = |is: fn(char) -> bool| text.text.chars().filter(|&c| is(c)).count() as f64;
        let form = [
            1.0,
            text.text.len() as f64 / 80.0,
            text.text.split_whitespace().count() as f64 / 10.0,
            count(|c| c.is_ascii_digit()) / 4.0,
            count(char::is_uppercase) / 4.0,
            count(|c| matches!(c, '`' | '_' | '(' | '.')) / 4.0,
            f64::from(u8::from(denies(text.text))),
        ];
        let mut features: Features = form.into_iter().enumerate().collect();
        features.extend(words.iter().filter_map(|word| Some((*numbers.get(word.as_str())?, 1.0))));
        features
    };
    (texts.iter().zip(&words).map(of_text).collect(), known.len() + FORM)
}

fn score(weights: &[f64], features: &Features) -> f64 {
    features.iter().map(|&(feature, value)| weights[feature] * value).sum()
}

fn fitted(features: &[Features], n_features: usize, texts: &[Read<'_>], training: &[usize]) -> Vec<f64> {
    let mut weights = vec![0.0; n_features];
    let mut squares = vec![1e-8; n_features];
    for _ in 0..EPOCHS {
        for &row in training {
            let probability = 1.0 / (1.0 + (-score(&weights, &features[row])).exp());
            let error = probability - f64::from(u8::from(texts[row].is_false));
            for &(feature, value) in &features[row] {
                let gradient = error * value + PULL * weights[feature];
                squares[feature] += gradient * gradient;
                weights[feature] -= STEP * gradient / squares[feature].sqrt();
            }
        }
    }
    weights
}

/// The chance that a false text scores higher than a true one; ties count half.
pub fn auc(scores: &[f64], labels: &[bool]) -> Option<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let n_false = labels.iter().filter(|label| **label).count() as f64;
    let n_true = labels.len() as f64 - n_false;
    let mut ranks = 0.0;
    let mut at = 0;
    while at < order.len() {
        let ties = order[at..].iter().take_while(|&&row| scores[row] == scores[order[at]]).count().max(1);
        let rank = at as f64 + (ties as f64 + 1.0) / 2.0;
        ranks += rank * order[at..at + ties].iter().filter(|&&row| labels[row]).count() as f64;
        at += ties;
    }
    (n_false > 0.0 && n_true > 0.0).then(|| (ranks - n_false * (n_false + 1.0) / 2.0) / (n_false * n_true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auc_counts_ties_half() {
        assert_eq!(auc(&[0.0, 1.0, 2.0, 3.0], &[false, false, true, true]), Some(1.0));
        assert_eq!(auc(&[1.0, 1.0], &[false, true]), Some(0.5));
        assert_eq!(auc(&[2.0, 1.0, 3.0], &[false, true, true]), Some(0.5));
        assert_eq!(auc(&[1.0], &[true]), None);
    }

    #[test]
    fn a_word_on_one_side_is_found_and_balance_is_not() {
        let auc = |told: fn(usize) -> bool| {
            let verb = |i: usize| if told(i) { "remove" } else { "add" };
            let texts: Vec<String> = (0..200).map(|i| format!("{} the reader of {i}", verb(i))).collect();
            let read = |(i, text): (usize, &'_ String)| (i % 2 == 0, text.clone());
            let texts: Vec<(bool, String)> = texts.iter().enumerate().map(read).collect();
            let rows = texts.iter().map(|(is_false, text)| Read { text, group: text, is_false: *is_false });
            auc_of_words(&rows.collect::<Vec<_>>(), false, 0).unwrap()
        };
        assert!(auc(|i| i % 2 == 0) > 0.99);
        assert!(auc(|i| i % 4 < 2) < 0.6);
    }
}
