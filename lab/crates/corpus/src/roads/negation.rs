//! `Do not` for doing, `now` for `no longer`, `always` for `never`, each in both directions.

use super::{Balance, Kind, Road, Scene, Twin};
use crate::verbs::{Form, denied, verb_of};
use crate::words::{has_word, replaced, words};

/// Twins that deny what was said, or say what was denied.
pub struct Negation;

/// Words that deny each other wherever they stand.
const DENIALS: [(&str, &str); 5] =
    [("now", "no longer"), ("always", "never"), ("can", "cannot"), ("must", "must not"), ("is now", "is no longer")];

impl Road for Negation {
    fn name(&self) -> &'static str {
        "negation"
    }

    fn kind(&self) -> Kind {
        Kind::Condition
    }

    fn balance(&self) -> Balance {
        Balance::Exact
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        // of a mended fault it is open what is denied, whoever does not try may do, and two denials are none
        let is_denied = body.contains(" no ") && !body.contains(" no longer ");
        if is_denied || has_word(body, &["fix", "fixes", "fixed", "unless", "avoid", "prevent", "try", "tries"]) {
            return Vec::new();
        }
        let both = DENIALS.into_iter().chain(DENIALS.map(|(one, other)| (other, one)));
        // what is "no longer needed" is not "now needed" either when it is removed
        let takes = has_word(body, &["remove", "removes", "removed", "drop", "delete", "cleanup"]);
        let inside = both.filter(|_| !takes).filter_map(|(from, to)| {
            let place = phrase(body, from)?;
            Some(scene.twin(self, &replaced(body, place, to), Some((from, to))))
        });
        inside.chain(of_verb(self, scene)).collect()
    }
}

/// Where a phrase stands, if once.
fn phrase(body: &str, phrase: &str) -> Option<std::ops::Range<usize>> {
    let padded = format!(" {phrase} ");
    let at = body.find(&padded)? + 1;
    (body.matches(&padded).count() == 1).then(|| at..at + phrase.len())
}

/// `Do not allow` of `Allow`, and the other way round; how often is balanced verb by verb.
fn of_verb(road: &Negation, scene: &Scene<'_, '_>) -> Option<Twin> {
    let body = scene.body();
    if let Some((place, verb)) = denied(body) {
        let edit = (format!("not {verb}"), verb);
        return Some(scene.twin(road, &replaced(body, place, verb), Some((&edit.0, edit.1))));
    }
    let first = words(body).first()?.clone();
    let (verb, form) = verb_of(&body[first.clone()])?;
    let with = format!("{} {verb}", if scene.chance(&["not"]).is_multiple_of(3) { "do not" } else { "don't" });
    (form == Form::Base).then(|| scene.twin(road, &replaced(body, first, &with), Some((verb, &format!("not {verb}")))))
}
