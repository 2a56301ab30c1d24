//! Another number of the change.

use veridiff_facts::code::{TokenKind, tokens, value as code_value};
use veridiff_facts::mention::{MentionKind, mentions};

use super::{Balance, Kind, Road, Scene, Twin};
use crate::words::replaced;

/// Twins with another number that stands in the diff, but not where the change puts numbers.
pub struct Number;

impl Road for Number {
    fn name(&self) -> &'static str {
        "number"
    }

    fn kind(&self) -> Kind {
        Kind::Value
    }

    fn balance(&self) -> Balance {
        Balance::Words
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        let named = mentions(body, 0..body.len());
        let twin = named.iter().filter(|mention| mention.kind == MentionKind::Number).find_map(|mention| {
            let value = mention.value()?;
            let places = scene.change.occurrences.number(value)?;
            if places.added.is_empty() || !places.removed.is_empty() {
                return None;
            }
            let other = scene.choose(self.name(), others(scene, &mention.code, body))?;
            Some(replaced(body, mention.span.clone(), &other))
        });
        twin.map(|body| scene.twin(self, &body, None)).into_iter().collect()
    }
}

/// Numbers of the diff of the same form that no added line has.
fn others(scene: &Scene<'_, '_>, number: &str, body: &str) -> Vec<String> {
    let Some(value) = code_value(number) else { return Vec::new() };
    // a number that could stand there: as long, and not far from it
    let is_like = |other: &str, of_other: f64| {
        other.len() == number.len()
            && other.contains('.') == number.contains('.')
            && other.contains('x') == number.contains('x')
            && (of_other - value).abs() <= 2.0 * value.abs().max(2.0)
            && (!number.contains('.') || of_other.trunc() == value.trunc())
    };
    let lines = 0..scene.change.diff.lines().len();
    let mut found: Vec<String> = Vec::new();
    for line in lines.filter(|&line| scene.change.diff.lines()[line].kind != veridiff_text::diff::LineKind::Header) {
        let code = scene.change.code(line);
        for token in tokens(code).into_iter().filter(|token| token.kind == TokenKind::Number) {
            let other = &code[token.span];
            let Some(of_other) = code_value(other) else { continue };
            let places = scene.change.occurrences.number(of_other);
            let is_absent = places.is_some_and(|places| places.added.is_empty()) && !body.contains(other);
            if is_absent && is_like(other, of_other) && !matches!(other, "0" | "1") {
                found.push(other.to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}
