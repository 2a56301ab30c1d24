//! All that a sentence says of the code taken together: where it speaks of how things are now, and every word of it that tells the sides
//! apart is on removed lines.

use std::sync::LazyLock;

use regex::Regex;
use veridiff_text::sample::Task;

use crate::rules::{
    Claimed, Ruling, Scene,
    phrase::pattern,
    terms::{Side, Term, Weight, terms},
};

/// Words with which a sentence speaks of what was, of what goes, or of what is not so.
static NOT_NOW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:no|not|none|nothing|never|[a-z]+n't|without|was|were|had|been|used to|previous\w*|before|formerly|originally|old|once|gone|goes|lost|loses?|longer|anymore|instead|rather|than|remov\w+|delet\w+|drop\w*|eliminat\w+|get rid|strip\w*|clean\w*|tid(?:y|ies)|simplif\w+|refactor\w*|rework\w*|rewrit\w+|inlin\w+|unus\w+|obsolete|dead|deprecat\w+|replac\w+|renam\w+|mov(?:e|es|ed|ing)|chang\w+|switch\w*|convert\w*|swap\w*|turn\w*|updat\w+|upgrad\w*|bump\w*|migrat\w+|port\w*|fix\w*|correct\w*|improv\w+|adjust\w*|avoid\w*|prevent\w*|stop\w*|skip\w*|ignor\w+|disabl\w+|hid(?:e|es|ing)|revert\w*|undo\w*|merg\w+|split\w*|extract\w*|extend\w*|shorten\w*|reduc\w+|optimi[sz]\w+|format\w*|style|lint|typos?|docs?|document\w*|comments?|why|missing|less|fewer|unless|existing|existed|redundant|duplicat\w+|unnecessar\w+|needless\w*|relax\w*|loosen\w*|reformat\w*|reorder\w*|reorgani[sz]\w*|combin\w+|consolidat\w+|release|version|prepar\w+|speed\w*|faster|slow\w*|history|minor|cleanup|perf\w*|original\w*|remain\w*|stay\w*|keep\w*|kept|only|just|default|back|away|out|from)\b",
    )
});

static MODAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:should|could|would|may|might|must|consider|please|suggest|recommend|can|perhaps|maybe|if we|let's)\b",
    )
});

/// What the whole statement's words stand on.
pub fn check(scene: &Scene<'_, '_>) -> Vec<Claimed> {
    let Some(said) = scene.said() else { return Vec::new() };
    if NOT_NOW.is_match(said) || MODAL.is_match(said) || super::ELSEWHERE.is_match(said) {
        return Vec::new();
    }
    let all = terms(scene, said);
    let on = |side: Side| all.iter().filter(move |term| term.side() == side && term.weight > Weight::Common);
    let agrees = all
        .iter()
        .any(|term| matches!(term.side(), Side::New) || (term.weight == Weight::Name && term.side() == Side::Came));
    let against: Vec<&Term<'_>> = on(Side::Old).collect();
    let least = if scene.task == Task::Commit { 2 } else { 3 };
    let weight: usize = against.iter().map(|term| if term.weight == Weight::Name { 2 } else { 1 }).sum();
    if agrees
        || weight < least
        || scene.change.diff.lines().iter().all(|line| line.kind != veridiff_text::diff::LineKind::Removed)
    {
        return Vec::new();
    }
    let lines = against[0].places.removed.clone();
    let words = against.iter().map(|term| format!("`{}`", term.key)).collect::<Vec<_>>().join(", ");
    let message = format!("{words}: on removed lines alone");
    vec![Claimed { ruling: Ruling::Contradicted, part: 0..said.len(), lines, message }]
}

#[cfg(test)]
mod tests {
    use veridiff_text::sample::Task;

    use crate::rules::state::RULE;
    use crate::rules::twins::texts_apart;

    const RUBY: &str = "--- a/user.rb\n+++ b/user.rb\n@@ -1,4 +1,3 @@\n class User\n-  validates :nickname, presence: true\n-  before_save :normalize_nickname\n+  belongs_to :team\n end\n";

    #[test]
    fn all_words_on_removed_lines_speak_against_a_sentence_on_how_it_is() {
        texts_apart(
            &RULE,
            Task::Commit,
            RUBY,
            &[
                ("Users belong to a team", "Validate presence of nickname in users"),
                ("Remove the presence validation of nickname", "Normalize nickname and validate presence"),
            ],
        );
    }
}
