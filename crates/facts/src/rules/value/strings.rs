//! Words between quotes that no changed line has, said of a change that brings other ones.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::diff::LineKind;

use crate::{
    code::{TokenKind, tokens},
    mention::{Mention, MentionKind},
    rules::{Claimed, Ruling, Scene, phrase::pattern, thing::is_comment},
};

/// Words before a string that say that the code has it now.
static SAYS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:to|returns?|gives?|yields?|prints?|logs?|sends?|sets?|defaults? to|says?|reads?|plural|singular)(?: the| a| an| now| string| value| label| message| text| word)*[ (]*$",
    )
});

static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|please|suggest|recommend|not|[a-z]+n't|no longer|never|was|were|used to|previously|like|such as|e\.g|instead|rather|unlike|similar|than|fix(?:es|ed)?|typo|mean|old|from|still|so-called|feels?|looks?|seems?|sounds?|perhaps|maybe|prefer|if|when|unless)\b",
    )
});

/// What the statement quotes.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    let new = new_strings(scene);
    const MANY: usize = 4;
    let lower = scene.clause.text[scene.clause.span.clone()].to_lowercase();
    if new.is_empty() || new.len() > MANY || new.iter().any(|(text, _)| lower.contains(&text.to_lowercase())) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, mention) in scene.clause.mentions.iter().enumerate().filter(|(_, mention)| is_quoted(scene, mention)) {
        let placeholder = format!("@{index}");
        let Some(at) = said.find(&placeholder) else { continue };
        let start = said[..at].rfind([',', ';', ':', '.']).map_or(0, |at| at + 1);
        if OPEN.is_match(&said[start..at]) || !SAYS.is_match(&said[..at]) || is_changed(scene, mention) {
            continue;
        }
        let message = format!("the change has \"{}\", and no \"{}\"", new[0].0, mention.code);
        found.push(Claimed {
            ruling: Ruling::Contradicted,
            part: at..at + placeholder.len(),
            lines: vec![new[0].1],
            message,
        });
    }
    found.truncate(1);
    found
}

/// Whether a mention is a string as a sentence quotes it.
fn is_quoted(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    let quotes = ['"', '\'', '“', '‘'];
    let outer = &scene.clause.text[mention.outer.clone()];
    let inner = outer.trim_start_matches('`');
    // a name of the code is quoted as one
    let is_word = mention.code.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'));
    let is_value =
        is_word && mention.code.split(' ').count() <= 3 && scene.change.occurrences.name(&mention.code).is_none();
    is_value
        && matches!(mention.kind, MentionKind::Text | MentionKind::Name)
        && (outer.starts_with(quotes) || inner.starts_with(['"', '\'']))
}

/// Whether a changed line has the words in any case.
fn is_changed(scene: &Scene<'_, '_>, mention: &Mention) -> bool {
    let wanted = mention.code.to_lowercase();
    let lines = scene.change.diff.lines().iter().enumerate();
    lines
        .filter(|(_, line)| line.kind.is_changed())
        .any(|(line, _)| scene.change.code(line).to_lowercase().contains(&wanted))
}

/// The strings of added lines that no other line has, with their lines.
fn new_strings<'s>(scene: &'s Scene<'_, '_>) -> Vec<(&'s str, usize)> {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for (line, _) in scene.change.diff.lines().iter().enumerate().filter(|(_, line)| line.kind == LineKind::Added) {
        let code = scene.change.code(line);
        for token in tokens(code).into_iter().filter(|token| token.kind == TokenKind::Text && !is_comment(code)) {
            let text = &code[token.span];
            let is_new = scene.change.occurrences.text(text).is_some_and(crate::occurrences::Places::only_added);
            if is_new && text.len() > 1 && !found.iter().any(|(other, _)| *other == text) {
                found.push((text, line));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::twins::texts_apart;
    use crate::rules::value::RULE;

    const JS: &str = "--- a/label.js\n+++ b/label.js\n@@ -1,3 +1,3 @@\n function label(kind) {\n-  return kind;\n+  return 'Unsorted';\n }\n";

    #[test]
    fn a_quoted_value_that_no_changed_line_has_is_another() {
        texts_apart(
            &RULE,
            Task::Review,
            JS,
            &[
                ("This returns \"Unsorted\" whatever the kind.", "This returns \"Archived\" whatever the kind."),
                ("It should rather return \"Archived\".", "Without a kind it gives \"Archived\" now."),
            ],
        );
    }
}
