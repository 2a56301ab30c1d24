//! Three generators that know nothing of the change: what a figure is worth is what it is above theirs.

use std::collections::BTreeMap;

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

/// The reviews of the three for every checklist. `written` gives the texts to shuffle, by case; of a case whose language has no other
/// one there is none.
pub fn reviews(lists: &[Checklist], written: &BTreeMap<&str, &str>) -> Vec<Review> {
    let review = |generator: &str, list: &Checklist, text: &str| Review {
        id: format!("{}/{generator}", list.case),
        case: list.case.clone(),
        generator: generator.to_owned(),
        text: text.to_owned(),
    };
    let mut all = Vec::new();
    for (generator, text) in [(SILENT, NO_COMMENT), (BOILERPLATE, ADVICE)] {
        all.extend(lists.iter().map(|list| review(generator, list, text)));
    }
    let mut by_language: BTreeMap<Option<&str>, Vec<&Checklist>> = BTreeMap::new();
    for list in lists.iter().filter(|list| written.contains_key(list.case.as_str())) {
        by_language.entry(list.language.as_deref()).or_default().push(list);
    }
    for same in by_language.values().filter(|same| same.len() > 1) {
        let others = same.iter().cycle().skip(1);
        all.extend(same.iter().zip(others).map(|(list, other)| review(SHUFFLED, list, written[other.case.as_str()])));
    }
    all
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
