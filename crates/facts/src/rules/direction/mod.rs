//! VD003: what is said to be added was removed, or the other way round; what is said to take a place gave it up.

use super::{Claimed, Rule, Ruling, Scene, phrase::is_denied, phrase::readings};
use veridiff_text::{sample::Task, statements::StatementKind};

mod contrast;
mod files;
mod patterns;
mod polarity;
mod single;
mod swap;
#[cfg(test)]
mod tests;
mod untouched;

pub use single::{takes_away, telling_word};

use patterns::{MOVED, NOUN_SWAPS, NOUNS, SWAPS, Swap};

/// The rule.
pub static RULE: Rule = Rule {
    code: "VD003",
    name: "direction",
    summary: "The text says that something was added, removed or replaced, and the lines show the opposite.",
    judges: true,
    precision: super::OF_ALL,
    is_of_presence: false,
    reads_bodies: true,
    check,
    check_statement: Some(|scene| {
        [contrast::check(scene), polarity::check(scene), files::check(scene), untouched::check(scene)].concat()
    }),
};

/// What the change says of a claim, with the lines and the words for it.
type Finding = (Ruling, Vec<usize>, String);

fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    // what a review asks for is not said to have happened
    if scene.kind != StatementKind::Assertion {
        return Vec::new();
    }
    let skeleton = &scene.clause.skeleton;
    let mut found: Vec<Claimed> = Vec::new();
    let mut put = |part: std::ops::Range<usize>, finding: Option<Finding>| {
        let claimed = finding.map(|(ruling, lines, message)| Claimed { ruling, part, lines, message });
        // several patterns read the same words
        found.extend(claimed.filter(|new| !found.iter().any(|old| old.message == new.message)));
    };
    for (way, weight, pattern) in &*MOVED {
        for reading in readings(scene, pattern) {
            if let ([thing], false) = (&reading.things[..], is_denied(&skeleton[..reading.part.start])) {
                put(reading.part, single::moved(scene, *way, *weight, thing));
            }
        }
    }
    for (way, pattern) in &*NOUNS {
        for captures in pattern.captures_iter(skeleton) {
            let (Some(whole), Some(noun)) = (captures.get(0), captures.get(1)) else { continue };
            if !is_denied(&skeleton[..whole.start()]) {
                put(whole.start()..noun.end(), single::noun_moved(scene, *way, noun.as_str()));
            }
        }
    }
    for (swap, pattern) in &*SWAPS {
        for reading in readings(scene, pattern) {
            let [first, second] = reading.things[..] else { continue };
            if is_hypothetical(scene, &skeleton[..reading.part.start]) {
                continue;
            }
            let (old, new) = if *swap == Swap::OldNew { (first, second) } else { (second, first) };
            put(reading.part, swap::swapped(scene, old, new, *swap));
        }
    }
    for (swap, pattern) in &*NOUN_SWAPS {
        for captures in pattern.captures_iter(skeleton) {
            let (Some(whole), Some(first), Some(second)) = (captures.get(0), captures.get(1), captures.get(2)) else {
                continue;
            };
            if is_hypothetical(scene, &skeleton[..whole.start()]) {
                continue;
            }
            let (old, new) = if *swap == Swap::OldNew { (first, second) } else { (second, first) };
            put(whole.range(), swap::nouns_swapped(scene, old.as_str(), new.as_str()));
        }
    }
    found
}

/// Whether a swap is only spoken of as possible; a commit message says what it does even where it says what for.
fn is_hypothetical(scene: &Scene<'_, '_>, before: &str) -> bool {
    let before = before.trim_end();
    match scene.task {
        Task::Commit => {
            let tail = before.split(' ').rev().take(3);
            tail.into_iter()
                .any(|word| ["not", "never", "should", "could", "would"].contains(&word) || word.ends_with("n't"))
        }
        _ => is_denied(before),
    }
}
