//! One thing that came or went.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::grounding::{is_common, is_stop};

use super::{
    Finding,
    patterns::{Way, Weight},
};
use crate::{
    mention::{Mention, MentionKind},
    occurrences::Places,
    rules::{Ruling, Scene, already::defines},
};

/// Calls that take something away when the code runs: "removes `x`" can be said of them.
static TAKES_AWAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)remove|delete|\bdel\b|unlink|\brm\b|pop|strip|drop|unset|clear|trim|discard|erase|filter|exclude|ignore|without|replace|splice|omit|undefined").expect("valid")
});

/// Whether code on these lines takes something away when it runs.
pub fn takes_away(scene: &Scene<'_, '_>, lines: &[usize]) -> bool {
    lines.iter().any(|&line| TAKES_AWAY.is_match(scene.change.code(line)))
}

/// Whether a thing came or went, against what is said.
pub fn moved(scene: &Scene<'_, '_>, way: Way, weight: Weight, mention: &Mention) -> Option<Finding> {
    let found = scene.change.find(mention);
    let places = found.exactly()?;
    let name = &scene.clause.text[mention.span.clone()];
    let against = match weight {
        Weight::Change => is_against(places, way),
        Weight::Adjective if way == Way::Came => places.only_removed(),
        Weight::Adjective => places.only_added(),
    };
    match way {
        Way::Came if places.came() => {
            Some((Ruling::Holds, places.added.clone(), format!("`{name}` is on added lines")))
        }
        Way::Went if places.went() => {
            Some((Ruling::Holds, places.removed.clone(), format!("`{name}` is on removed lines")))
        }
        Way::Came if against => Some((
            Ruling::Contradicted,
            places.removed.clone(),
            match places.context.is_empty() {
                true => format!("`{name}` is only on removed lines: the change takes it away"),
                false => format!("`{name}` is on removed lines, and on no added one"),
            },
        )),
        Way::Went if against && !mention.is_literal() && !takes_away(scene, &places.added) => Some((
            Ruling::Contradicted,
            places.added.clone(),
            match places.context.is_empty() {
                true => format!("`{name}` is only on added lines: the change brings it"),
                false => format!("`{name}` is on added lines, and on no removed one"),
            },
        )),
        // its definition stands as it was, and no line with it is removed
        Way::Went
            if weight == Weight::Change
                && mention.kind == MentionKind::Name
                && places.removed.is_empty()
                && mention.is_marked
                && !takes_away(scene, &places.new_side()) =>
        {
            let stays = |line: &&usize| defines(scene.change.code(**line), mention.last());
            let lines: Vec<usize> = places.context.iter().filter(stays).copied().collect();
            let message = format!("`{name}` is still there: no line with it is removed");
            (!lines.is_empty()).then_some((Ruling::Contradicted, lines, message))
        }
        _ => None,
    }
}

fn is_against(places: &Places, way: Way) -> bool {
    match way {
        Way::Came => places.added.is_empty() && !places.removed.is_empty(),
        Way::Went => places.removed.is_empty() && !places.added.is_empty(),
    }
}

/// The same of a thing that is named by a word, such as "a lock".
pub fn noun_moved(scene: &Scene<'_, '_>, way: Way, noun: &str) -> Option<Finding> {
    // what a gerund says is done to something: "start throwing an error"
    let word = noun.split(' ').next().filter(|word| word.ends_with("ing") && word.len() > 6);
    let head = word.or_else(|| noun.rsplit(' ').next())?;
    let places = telling_word(scene, head)?;
    let against = places.context.is_empty() && is_against(places, way);
    if !against || (way == Way::Went && takes_away(scene, &places.added)) {
        return None;
    }
    let (lines, side) = match way {
        Way::Came => (places.removed.clone(), "removed lines: the change takes it away"),
        Way::Went => (places.added.clone(), "added lines: the change brings it"),
    };
    Some((Ruling::Contradicted, lines, format!("\"{head}\" is only on {side}")))
}

/// Where a word of prose stands in names, strings and comments, if it is no word that stands for anything.
pub fn telling_word<'s>(scene: &'s Scene<'_, '_>, word: &str) -> Option<&'s Places> {
    let is_vague = word.len() < 4 || is_common(word) || is_stop(word) || is_common(word.trim_end_matches('s'));
    scene.change.occurrences.word(word).filter(|_| !is_vague)
}
