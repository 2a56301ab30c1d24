//! Three generators that know nothing of the change: what a figure is worth is what it is above theirs.

use std::{collections::BTreeMap, convert::Infallible};

use super::{Checklist, ItemVerdict, JudgedItem, Metric, NO_COMMENT, Review, ReviewVerdict, Status};

/// Says that nothing is wrong, always.
pub const SILENT: &str = "(silent)";
/// Says what fits any change.
pub const BOILERPLATE: &str = "(boilerplate)";
/// Says what was said of another change in the same language.
pub const SHUFFLED: &str = "(shuffled)";

/// Advice that fits any change, a sentence for each of eight subjects.
const ADVICE: &str = "\
- Make the code easier to read and say in comments what is not obvious.
- Consider whether this could be made faster or use less memory.
- Split long functions so that the code stays easy to maintain.
- Check that all input is validated and that no security hole is opened.
- Add error handling and log what goes wrong.
- Use names that say what things are, and keep them consistent.
- Use what the framework and the libraries offer for this.
- Add tests that cover the new behaviour and its edge cases.";

/// Whether a generator is one of these.
pub fn is_baseline(generator: &str) -> bool {
    [SILENT, BOILERPLATE, SHUFFLED].contains(&generator)
}

/// What a baseline says of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saying {
    /// That nothing is wrong.
    Nothing,
    /// What fits any change.
    Advice,
    /// What was said of the case of another checklist, which has this place.
    OfOther(usize),
}

/// What the three say of every checklist, by the places of the lists. `is_written` tells of which there is a text to shuffle; of a case whose language
/// has no other one there is none.
pub fn sayings(lists: &[Checklist], is_written: impl Fn(usize) -> bool) -> Vec<(usize, Saying)> {
    let mut all = Vec::new();
    for saying in [Saying::Nothing, Saying::Advice] {
        all.extend((0..lists.len()).map(|list| (list, saying)));
    }
    let mut by_language: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (place, list) in lists.iter().enumerate().filter(|(place, _)| is_written(*place)) {
        by_language.entry(list.language.as_deref()).or_default().push(place);
    }
    for same in by_language.values().filter(|same| same.len() > 1) {
        let others = same.iter().cycle().skip(1);
        all.extend(same.iter().zip(others).map(|(list, other)| (*list, Saying::OfOther(*other))));
    }
    all
}

/// The review that a saying is. `of_other` gives what was said of the case of a list.
///
/// # Errors
/// Those of `of_other`.
pub fn review<E>(
    lists: &[Checklist],
    (list, saying): (usize, Saying),
    of_other: impl FnOnce(usize) -> Result<String, E>,
) -> Result<Review, E> {
    let case = lists[list].case.clone();
    let (generator, text) = match saying {
        Saying::Nothing => (SILENT, NO_COMMENT.to_owned()),
        Saying::Advice => (BOILERPLATE, ADVICE.to_owned()),
        Saying::OfOther(other) => (SHUFFLED, of_other(other)?),
    };
    Ok(Review { id: format!("{case}/{generator}"), case, generator: generator.to_owned(), text })
}

/// The reviews of the three for every checklist. `written` gives the texts to shuffle, by case.
pub fn reviews(lists: &[Checklist], written: &BTreeMap<&str, &str>) -> Vec<Review> {
    let of_other = |list: usize| Ok::<_, Infallible>(written[lists[list].case.as_str()].to_owned());
    let sayings = sayings(lists, |list| written.contains_key(lists[list].case.as_str()));
    sayings.into_iter().map(|said| review(lists, said, of_other).unwrap_or_else(|never| match never {})).collect()
}

/// What any judge says of the silent one: nobody has to be asked.
pub fn verdict_of_silence(
    metric: Metric,
    repeat: u32,
    list: &Checklist,
    review: &Review,
    judge: &str,
) -> ReviewVerdict {
    let absent = |n| JudgedItem { n, verdict: ItemVerdict::Absent, p: None, quote: None, quote_ok: false };
    let count = match metric {
        Metric::Paper => Some(u64::from(list.clean)),
        Metric::Rating => Some(0),
        Metric::Items | Metric::Claims => None,
    };
    let items = match metric {
        Metric::Items => list.items.iter().map(|item| absent(item.n)).collect(),
        _ => Vec::new(),
    };
    ReviewVerdict {
        id: review.id.clone(),
        case: review.case.clone(),
        generator: review.generator.clone(),
        judge: judge.to_owned(),
        template: String::new(),
        metric,
        repeat,
        status: Status::Ok,
        error: None,
        count,
        loose: false,
        items,
        passages: Vec::new(),
        raw: String::new(),
        prompt_tokens: None,
        completion_tokens: None,
    }
}
