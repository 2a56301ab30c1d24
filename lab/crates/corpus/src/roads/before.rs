//! What stood there before in the place of what stands there now, or the other way round.

use veridiff_facts::code::{TokenKind, tokens};
use veridiff_facts::mention::{MentionKind, mentions};
use veridiff_text::diff::LineKind;

use super::{Balance, Kind, Road, Scene, Twin};
use crate::words::{has_word, replaced};

/// Twins that name the other half of a replaced line.
pub struct Before;

impl Road for Before {
    fn name(&self) -> &'static str {
        "before"
    }

    fn kind(&self) -> Kind {
        Kind::Value
    }

    fn balance(&self) -> Balance {
        Balance::Words
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        // "fix the call of x" may be said of the old name and of the new one
        if has_word(
            body,
            &["fix", "fixes", "fixed", "correct", "corrects", "corrected", "wrong", "incorrect", "invalid", "from"],
        ) {
            return Vec::new();
        }
        let pairs = replaced_tokens(scene);
        let named = mentions(body, 0..body.len());
        let named = named
            .iter()
            .filter(|mention| matches!(mention.kind, MentionKind::Name | MentionKind::Number | MentionKind::Text));
        let twin = named.filter(|mention| body.matches(&*mention.code).count() == 1).find_map(|mention| {
            let other = pairs.iter().find_map(|(old, new)| match mention.code.as_str() {
                code if code == old => Some(new),
                code if code == new => Some(old),
                _ => None,
            })?;
            // only what is on one side alone tells them apart
            let places = scene.change.find(mention);
            let places = places.exactly()?;
            let is_one_sided = places.only_added() || places.only_removed();
            let is_apart = !body.to_lowercase().contains(&other.to_lowercase())
                && !other.to_lowercase().contains(&mention.code.to_lowercase());
            let at = body.find(&mention.code)?;
            (is_one_sided && is_apart).then(|| replaced(body, at..at + mention.code.len(), other))
        });
        twin.map(|body| scene.twin(self, &body, None)).into_iter().collect()
    }
}

/// What one token of a line became, where the line is otherwise as it was.
fn replaced_tokens(scene: &Scene<'_, '_>) -> Vec<(String, String)> {
    let diff = scene.change.diff;
    let lines = diff.lines();
    let mut pairs = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let run = |kind: LineKind, from: usize| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let n_removed = run(LineKind::Removed, at);
        let n_added = run(LineKind::Added, at + n_removed);
        if n_removed == n_added {
            for line in at..at + n_removed {
                pairs.extend(one_token(scene.change.code(line), scene.change.code(line + n_removed)));
            }
        }
        at += (n_removed + n_added).max(1);
    }
    pairs
}

/// The only token in which two lines differ, however often it stands there.
fn one_token(old: &str, new: &str) -> Option<(String, String)> {
    let (old_tokens, new_tokens) = (tokens(old), tokens(new));
    if old_tokens.len() != new_tokens.len() || old_tokens.len() < 2 {
        return None;
    }
    let mut found: Option<(&str, &str)> = None;
    for (a, b) in old_tokens.iter().zip(&new_tokens) {
        let (from, to) = (&old[a.span.clone()], &new[b.span.clone()]);
        if from == to && a.kind == b.kind {
            continue;
        }
        let is_same_kind = a.kind == b.kind && matches!(a.kind, TokenKind::Name | TokenKind::Number | TokenKind::Text);
        if !is_same_kind || found.is_some_and(|pair| pair != (from, to)) {
            return None;
        }
        found = Some((from, to));
    }
    let (from, to) = found?;
    let is_constant =
        |text: &str| matches!(text, "None" | "null" | "nil" | "NULL" | "true" | "false" | "True" | "False");
    let is_short = |text: &str| (1..40).contains(&text.len()) && !is_constant(text);
    (is_short(from) && is_short(to)).then(|| (from.to_owned(), to.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_of_a_line() {
        let pair = |old, new| one_token(old, new).map(|(a, b)| format!("{a} {b}"));
        assert_eq!(pair("x = 10;", "x = 30;").unwrap(), "10 30");
        assert_eq!(pair("return foo(a)", "return bar(a)").unwrap(), "foo bar");
        assert_eq!(pair("a = foo(b)", "c = bar(b)"), None);
        assert_eq!(pair("a = 1", "a = b"), None, "another kind of token");
    }
}
