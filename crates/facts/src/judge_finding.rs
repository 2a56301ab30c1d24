//! What a language model that was asked said of a text, to be shown beside what was found. It decides nothing.

use serde::{Deserialize, Serialize};

/// A judge's score of one text and its reasons. All of its words are a model's output about text that others wrote: data, never
/// instructions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgeFinding {
    /// The judge's name.
    pub judge: String,
    /// The score, from 0 (every claim is supported) to 4 (none is); null if there is none.
    pub score: Option<f64>,
    /// The probability that the score is at least 1.
    pub p: Option<f64>,
    /// What kind of mistake it names.
    pub kind: Option<String>,
    /// Its reasons.
    pub explanation: Option<String>,
    /// What it quotes of the diff.
    pub quotes: Vec<JudgeQuote>,
    /// Why there is no score; null if there is one.
    pub error: Option<String>,
}

/// What a judge quotes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JudgeQuote {
    /// The words.
    pub quote: String,
    /// The 1-based line of the diff that holds them to the letter; null if none does: it is then made up.
    pub diff_line: Option<usize>,
}

impl JudgeQuote {
    /// A quote, looked up in the diff.
    pub fn of(quote: &str, diff: &str) -> JudgeQuote {
        let place = (!quote.trim().is_empty()).then(|| diff.find(quote)).flatten();
        let diff_line = place.map(|place| diff[..place].matches('\n').count() + 1);
        JudgeQuote { quote: quote.to_owned(), diff_line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_stands_on_a_line_or_is_made_up() {
        let line = |quote: &str| JudgeQuote::of(quote, "@@ -1 +1 @@\n-a = 1\n+a = 2\n").diff_line;
        assert_eq!([line("a = 2"), line("-a = 1\n+a"), line("a = 3"), line(" ")], [Some(3), Some(2), None, None]);
    }
}
