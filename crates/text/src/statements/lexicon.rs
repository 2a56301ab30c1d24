//! Word lists of English: verbs of programming with their forms, auxiliaries, words that evaluate, words that are vague.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

mod lists;

use lists::*;

/// A verb's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `add`
    Base,
    /// `adds`
    Third,
    /// `added`, also as a participle.
    Past,
    /// `adding`
    Gerund,
}

fn set(words: &'static str) -> HashSet<&'static str> {
    words.split_whitespace().collect()
}

static VERB_FORMS: LazyLock<HashMap<String, Form>> = LazyLock::new(|| {
    let mut forms = HashMap::new();
    for verb in VERBS.split_whitespace() {
        for (word, form) in inflections(verb) {
            forms.entry(word).or_insert(form);
        }
    }
    for row in IRREGULAR.split_whitespace() {
        let mut row = row.split('/');
        let Some(base) = row.next() else { continue };
        for (word, form) in inflections(base) {
            if form != Form::Past {
                forms.insert(word, form);
            }
        }
        // `set`, `put`: the plain form is the likelier
        for past in row.filter(|&past| past != base) {
            forms.insert(past.to_owned(), Form::Past);
        }
    }
    forms
});

/// The forms of a regular verb in plain form.
fn inflections(verb: &str) -> Vec<(String, Form)> {
    let is_vowel = |c: Option<char>| c.is_some_and(|c| "aeiou".contains(c));
    let mut letters = verb.chars().rev();
    let (last, second, third) = (letters.next(), letters.next(), letters.next());
    let cut = &verb[..verb.len().saturating_sub(1)];
    let sibilant = ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| verb.ends_with(end));
    let third_person = match last {
        Some('y') if !is_vowel(second) => format!("{cut}ies"),
        _ if sibilant => format!("{verb}es"),
        _ => format!("{verb}s"),
    };
    let mut forms = vec![(verb.to_owned(), Form::Base), (third_person, Form::Third)];
    let mut stems = vec![(verb.to_owned(), verb.to_owned())];
    match last {
        Some('e') => stems = vec![(verb[..verb.len() - 1].to_owned(), cut.to_owned())],
        Some('y') if !is_vowel(second) => stems = vec![(format!("{cut}i"), verb.to_owned())],
        Some(c) if !is_vowel(Some(c)) && is_vowel(second) && !is_vowel(third) && !"wxy".contains(c) => {
            let doubled = format!("{verb}{c}");
            stems.push((doubled.clone(), doubled));
        }
        _ => {}
    }
    for (past, gerund) in stems {
        forms.push((format!("{past}ed"), Form::Past));
        forms.push((format!("{gerund}ing"), Form::Gerund));
    }
    forms
}

/// The form of a lower-case word that is a verb of programming or reviewing.
pub(super) fn verb_form(word: &str) -> Option<Form> {
    VERB_FORMS.get(word).copied()
}

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident $list:ident;)*) => {$(
        $(#[$doc])*
        pub(super) fn $name(word: &str) -> bool {
            static SET: LazyLock<HashSet<&str>> = LazyLock::new(|| set($list));
            SET.contains(word)
        }
    )*};
}

lists! {
    /// Whether a lower-case word is an auxiliary in a finite form, with or without `n't` and with a pronoun before it.
    is_auxiliary AUXILIARIES;
    /// Whether a verb of the list is as often a noun, so that its form alone decides nothing.
    is_noun_too NOUNS_TOO;
    /// Whether a lower-case word is grammar.
    is_function FUNCTION;
    /// Whether a lower-case word says how good something is.
    is_evaluative EVALUATIVE;
    /// Whether a lower-case word names something that every change has.
    is_vague VAGUE;
    /// Whether a lower-case word thanks, greets or excuses.
    is_courtesy COURTESY;
    /// Whether a lower-case word only stands around a reference.
    is_around_reference AROUND_REFERENCES;
    /// Whether a lower-case word stands before a statement without changing what it does.
    is_lead LEADS;
    /// Whether a lower-case word begins a condition or a time.
    is_subordinator SUBORDINATORS;
    /// Whether a lower-case word is one of a title such as `Summary` or `Potential issues`.
    is_title TITLES;
    /// Whether a lower-case unit makes a number of what it stands behind.
    is_unit UNITS;
    /// Whether a lower-case word is frequent in English texts about code, beyond the other lists.
    is_english ENGLISH;
    /// Whether a lower-case word is frequent in another European language and no English word.
    is_foreign FOREIGN;
}

/// Whether a word in capitals is one of prose and no name.
pub(super) fn is_capitals_of_prose(word: &str) -> bool {
    static SET: LazyLock<HashSet<&str>> = LazyLock::new(|| set(CAPITALS));
    SET.contains(word)
}

/// Whether a line that ends with this word goes on.
pub(super) fn asks_for_more(word: &str) -> bool {
    is_function(word)
        && !matches!(word, "it" | "this" | "that" | "them" | "these" | "those" | "too" | "now" | "here" | "there")
}

/// Whether a lower-case word is an English one of any list.
pub(super) fn is_any_english(word: &str) -> bool {
    is_function(word)
        || is_auxiliary(word)
        || is_english(word)
        || verb_form(word).is_some()
        || is_evaluative(word)
        || is_vague(word)
        || is_courtesy(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_in_their_forms() {
        for (word, form) in [
            ("add", Form::Base),
            ("adds", Form::Third),
            ("fixes", Form::Third),
            ("copies", Form::Third),
            ("copied", Form::Past),
            ("removed", Form::Past),
            ("dropped", Form::Past),
            ("dropping", Form::Gerund),
            ("using", Form::Gerund),
            ("wrote", Form::Past),
            ("set", Form::Base),
            ("setting", Form::Gerund),
        ] {
            assert_eq!(verb_form(word), Some(form), "{word}");
        }
        assert_eq!(verb_form("cache"), Some(Form::Base));
        assert_eq!(verb_form("banana"), None);
    }

    #[test]
    fn what_says_something_is_not_vague() {
        for word in ["lock", "test", "parameter", "function", "removed", "used", "missing", "returns"] {
            assert!(!is_vague(word) && !is_evaluative(word) && !is_function(word), "{word}");
        }
        let foreign: Vec<_> = FOREIGN.split_whitespace().filter(|word| is_any_english(word)).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
    }
}
