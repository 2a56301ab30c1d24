//! The other one of two things that go together, where the change speaks of one of them alone: `left` for `right`.

use super::{Balance, Kind, Road, Scene, Twin};
use crate::words::{replaced, words};

/// Twins that speak of the counterpart.
pub struct Opposite;

const COUNTERPARTS: [(&str, &str); 42] = [
    ("left", "right"),
    ("first", "last"),
    ("min", "max"),
    ("minimum", "maximum"),
    ("start", "end"),
    ("top", "bottom"),
    ("upper", "lower"),
    ("row", "column"),
    ("rows", "columns"),
    ("width", "height"),
    ("horizontal", "vertical"),
    ("client", "server"),
    ("request", "response"),
    ("requests", "responses"),
    ("input", "output"),
    ("read", "write"),
    ("reader", "writer"),
    ("reading", "writing"),
    ("parent", "child"),
    ("source", "target"),
    ("source", "destination"),
    ("key", "value"),
    ("keys", "values"),
    ("public", "private"),
    ("sync", "async"),
    ("success", "failure"),
    ("stdin", "stdout"),
    ("stdout", "stderr"),
    ("serialization", "deserialization"),
    ("encoder", "decoder"),
    ("encoding", "decoding"),
    ("windows", "linux"),
    ("linux", "macos"),
    ("windows", "macos"),
    ("prefix", "suffix"),
    ("previous", "next"),
    ("positive", "negative"),
    ("signed", "unsigned"),
    ("getter", "setter"),
    ("import", "export"),
    ("warning", "error"),
    ("warnings", "errors"),
];

impl Road for Opposite {
    fn name(&self) -> &'static str {
        "opposite"
    }

    fn kind(&self) -> Kind {
        Kind::Component
    }

    fn balance(&self) -> Balance {
        Balance::Exact
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        let all = words(body);
        let both = COUNTERPARTS.into_iter().chain(COUNTERPARTS.map(|(one, other)| (other, one)));
        let twins = both.filter_map(|(from, to)| {
            let mut found = all.iter().skip(1).filter(|word| body[(*word).clone()].eq_ignore_ascii_case(from));
            let place = found.next()?.clone();
            let is_changed = scene
                .change
                .occurrences
                .word(from)
                .is_some_and(|places| !(places.added.is_empty() && places.removed.is_empty()));
            let is_alone =
                found.next().is_none() && !body.to_lowercase().contains(to) && !scene.around.shown(scene.at).has(to);
            // `read-only` and `key/value` are words of their own
            let stands_alone = !body[place.end..].starts_with(['-', '/', '_', '.', '('])
                && !body[..place.start].ends_with(['-', '/', '_', '.']);
            (is_changed && is_alone && stands_alone)
                .then(|| scene.twin(self, &replaced(body, place, to), Some((from, to))))
        });
        twins.collect()
    }
}
