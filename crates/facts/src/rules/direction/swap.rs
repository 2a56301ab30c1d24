//! Two things, one instead of the other.

use super::{Finding, patterns::Swap, single::telling_word};
use crate::{
    change::Found,
    code::{is_name_char, pieces, squeezed, tokens},
    mention::{Mention, MentionKind},
    occurrences::Places,
    rules::{Ruling, Scene},
};
use veridiff_text::{diff::LineKind, grounding::is_stop};

/// Whether what is said to be old is new, and what is said to be new is old. A claim of one and not the other asks for both.
pub fn swapped(scene: &Scene<'_, '_>, old: &Mention, new: &Mention, kind: Swap) -> Option<Finding> {
    if old.code == new.code || [old, new].iter().any(|mention| mention.kind == MentionKind::File) {
        return None;
    }
    let (was, is) = (find(scene, old, new)?, find(scene, new, old)?);
    if let Some((partner, lines)) = partner(scene, old, new, &was) {
        let message = format!("`{}` made way for `{partner}`", &scene.clause.text[old.span.clone()]);
        return Some((Ruling::Contradicted, lines.to_vec(), message));
    }
    let written = |mention: &Mention| &scene.clause.text[mention.span.clone()];
    let holds = || {
        let lines = [was.removed.as_slice(), &is.added].concat();
        (Ruling::Holds, lines, format!("`{}` made way for `{}`", written(old), written(new)))
    };
    let reversed = |lines: Vec<usize>| {
        let message = format!("it is the other way round: `{}` made way for `{}`", written(new), written(old));
        (Ruling::Contradicted, lines, message)
    };
    // a line that becomes the other by putting one thing for the other
    let exchange = |from: &Mention, to: &Mention, removed: &Places, added: &Places| {
        exchanged(scene, [&from.code, &to.code], &removed.removed, &added.added)
    };
    match (exchange(old, new, &was, &is), exchange(new, old, &is, &was)) {
        (Some(_), None) => return Some(holds()),
        (None, Some(lines)) => return Some(reversed(lines.to_vec())),
        _ => {}
    }
    if was.went() && is.came() {
        return Some(holds());
    }
    // code that replaces one thing by another when it runs has both on a line
    let runs = was.added.iter().any(|line| is.added.contains(line));
    let both = was.came() && is.went();
    let new_is_gone = is.only_removed() && !was.went() && !was.new_side().is_empty();
    let old_is_new = was.only_added() && !is.came() && !is.is_empty();
    // what stays as it was did not make way
    let old_stays = kind == Swap::OldNew && was.removed.is_empty() && was.added.is_empty() && is.only_added();
    if old_stays && !old.is_literal() && !new.is_literal() && old.kind != MentionKind::Snippet {
        let message = format!("`{}` is still there: no line with it is removed", written(old));
        return Some((Ruling::Contradicted, [was.context.as_slice(), &is.added].concat(), message));
    }
    let weak = kind != Swap::OneNotOther && !old.is_literal() && !new.is_literal() && (new_is_gone || old_is_new);
    (!runs && (both || weak)).then(|| reversed([is.removed.as_slice(), &was.added].concat()))
}

/// Where a thing stands by itself, if the other one can stand in it or it in the other.
fn find(scene: &Scene<'_, '_>, mention: &Mention, other: &Mention) -> Option<Places> {
    let (pieces, others) = (mention.pieces(), other.pieces());
    let overlap =
        pieces.iter().all(|piece| others.contains(piece)) || others.iter().all(|piece| pieces.contains(piece));
    if overlap && mention.kind == MentionKind::Name && other.kind == MentionKind::Name {
        return Some(scene.change.occurrences.alone(&mention.code).cloned().unwrap_or_default());
    }
    match scene.change.find(mention) {
        Found::Exactly(places) => Some(places),
        _ => None,
    }
}

/// A removed and an added line that are the same but for one thing in the place of the other.
fn exchanged(scene: &Scene<'_, '_>, [from, to]: [&str; 2], removed: &[usize], added: &[usize]) -> Option<[usize; 2]> {
    let (from, to) = (squeezed(from), squeezed(to));
    const MOST: usize = 60;
    removed.iter().take(MOST).find_map(|&old| {
        let before = squeezed(scene.change.code(old));
        let would_be = before.replace(&from, &to);
        let same = |&&new: &&usize| {
            let after = squeezed(scene.change.code(new));
            before != after && would_be == after
        };
        added.iter().take(MOST).find(same).map(|&new| [old, new])
    })
}

/// The name that took the place of an old one, in lines that are the same but for it, where that is never the new one.
fn partner<'s>(scene: &'s Scene<'_, '_>, old: &Mention, new: &Mention, was: &Places) -> Option<(&'s str, [usize; 2])> {
    if [old, new].iter().any(|mention| mention.kind != MentionKind::Name) {
        return None;
    }
    let mut first = None;
    for spot in scene.change.spots().iter().filter(|spot| spot.replaces()) {
        for &before in spot.removed.iter().filter(|line| was.removed.contains(line)) {
            for &after in &spot.added {
                let codes = [before, after].map(|line| scene.change.code(line));
                let [a, b] = codes.map(tokens);
                let mut other = a.iter().zip(&b).filter(|(a, b)| codes[0][a.span.clone()] != codes[1][b.span.clone()]);
                let (Some((from, to)), None, true) = (other.next(), other.next(), a.len() == b.len()) else { continue };
                let (from, to) = (&codes[0][from.span.clone()], &codes[1][to.span.clone()]);
                if pieces(from).next_back() != Some(old.last()) {
                    continue;
                }
                if codes[1].contains(new.last()) {
                    return None;
                }
                first.get_or_insert((to, [before, after]));
            }
        }
    }
    first
}

/// The same of things that are named by words.
pub fn nouns_swapped(scene: &Scene<'_, '_>, old: &str, new: &str) -> Option<Finding> {
    let pairs = old.split(' ').flat_map(|was| new.split(' ').map(move |is| (was, is))).filter(|(was, is)| was != is);
    for (was, is) in pairs {
        // two names are read as such
        if was.starts_with('@') && is.starts_with('@') {
            continue;
        }
        let is_mixed = was.starts_with('@') || is.starts_with('@');
        let (was, is) = (&plain(scene, was)[..], &plain(scene, is)[..]);
        let message = || format!("it is the other way round: \"{is}\" made way for \"{was}\"");
        // beside a name of code a word is one too
        let place = |word| if is_mixed { scene.change.occurrences.alone(word) } else { telling_word(scene, word) };
        if let (Some(old_places), Some(new_places)) = (place(was), place(is))
            && old_places.only_added()
            && new_places.only_removed()
        {
            let lines = [new_places.removed.as_slice(), &old_places.added].concat();
            return Some((Ruling::Contradicted, lines, message()));
        }
        if let Some(lines) = words_exchanged(scene, is, was) {
            let holds = words_exchanged(scene, was, is);
            return holds.is_none().then(|| (Ruling::Contradicted, lines.to_vec(), message()));
        }
    }
    None
}

/// A word as it is; for a name that stands in its place, the name in lower case.
fn plain(scene: &Scene<'_, '_>, word: &str) -> String {
    let name = word.starts_with('@').then(|| scene.clause.mention(word)).flatten();
    name.map_or_else(|| word.to_owned(), |name| name.code.to_lowercase())
}

/// A removed and an added line that are the same but for one word, in any case, in the place of the other.
fn words_exchanged(scene: &Scene<'_, '_>, from: &str, to: &str) -> Option<[usize; 2]> {
    const SHORTEST: usize = 2;
    if from.len() < SHORTEST || to.len() < SHORTEST || is_stop(from) || is_stop(to) {
        return None;
    }
    let lines = scene.change.diff.lines();
    let words = |line: usize| -> Vec<String> {
        let code = scene.change.code(line).to_lowercase();
        code.split_inclusive(|c: char| !is_name_char(c))
            .flat_map(split_mark)
            .filter(|word| !word.trim().is_empty())
            .collect()
    };
    for (old, line) in lines.iter().enumerate().filter(|(_, line)| line.kind == LineKind::Removed) {
        let mut before = words(old);
        if !before.iter().any(|word| word == from) {
            continue;
        }
        before.iter_mut().filter(|word| *word == from).for_each(|word| to.clone_into(word));
        let end = lines.len().min(old + WINDOW);
        let is_other =
            |&new: &usize| lines[new].kind == LineKind::Added && line.file == lines[new].file && words(new) == before;
        if let Some(new) = (old.saturating_sub(WINDOW)..end).find(is_other) {
            return Some([old, new]);
        }
    }
    None
}

/// How far apart the two sides of one change of a line stand.
const WINDOW: usize = 40;

/// A word and the mark behind it.
fn split_mark(word: &str) -> Vec<String> {
    match word.char_indices().next_back() {
        Some((at, mark)) if !is_name_char(mark) => vec![word[..at].to_owned(), mark.to_string()],
        _ => vec![word.to_owned()],
    }
}
