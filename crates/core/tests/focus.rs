//! What a model reads of a change that is longer than its budget.

use std::path::PathBuf;

use veridiff_core::{case::Case, focus::Focus, run::models::ModelOptions, scorer::Scorer, settings::Settings};
use veridiff_text::sample::Task;

fn scorer() -> Scorer {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "tests", "fixtures", "llama_tied"].iter().collect();
    let models = vec![path.display().to_string()];
    ModelOptions { models, ..ModelOptions::default() }.load().unwrap().remove(0)
}

fn settings(max_tokens: usize) -> Settings {
    let mut settings = Settings::default();
    settings.encode.max_tokens = Some(max_tokens);
    settings
}

/// Twelve hunks in two files, each with a name of its own.
fn diff() -> String {
    let hunk = |index: usize| {
        format!("@@ -{0},2 +{0},2 @@\n-old_value_{index} = {index}\n+new_value_{index} = {index}\n kept\n", index * 50)
    };
    let file = |name: &str, range: std::ops::Range<usize>| {
        format!("--- a/{name}\n+++ b/{name}\n{}", range.map(hunk).collect::<String>())
    };
    file("first.py", 1..7) + &file("second.py", 7..13)
}

#[test]
fn the_hunks_that_a_text_names_are_read_first() {
    let (scorer, diff) = (scorer(), diff());
    let case = Case::new(&diff, "`new_value_9` takes the place of `old_value_9`", Task::Review).unwrap();
    let whole = scorer.encode(case.diff(), case.text(), Task::Review, &settings(2000)).unwrap();
    assert_eq!(whole.n_cut, 0, "the fixture's context holds all of it");
    assert!(Focus::of(&scorer, &case, &settings(2000)).unwrap().is_none());

    let budget = settings(whole.ids.len() / 2);
    let focus = Focus::of(&scorer, &case, &budget).unwrap().unwrap();
    let chosen = focus.case.diff().text();
    assert!(chosen.contains("new_value_9 = 9") && chosen.contains("+++ b/second.py"), "{chosen}");
    assert_eq!((focus.n_hunks, focus.has_all_named), (12, true));
    assert_eq!(scorer.encode(focus.case.diff(), case.text(), Task::Review, &budget).unwrap().n_cut, 0);
    for (line, &in_whole) in focus.lines.iter().enumerate() {
        assert_eq!(focus.case.diff().line_text(line), case.diff().line_text(in_whole));
    }
    assert!(focus.note().contains("second.py:450"), "{}", focus.note());
}

#[test]
fn what_does_not_fit_is_told() {
    let (scorer, diff) = (scorer(), diff());
    let names: Vec<String> = (1..13).map(|index| format!("`new_value_{index}`")).collect();
    let case = Case::new(&diff, names.join(" "), Task::Review).unwrap();
    let whole = scorer.encode(case.diff(), case.text(), Task::Review, &settings(2000)).unwrap();
    let focus = Focus::of(&scorer, &case, &settings(whole.ids.len() - 100)).unwrap().unwrap();
    assert!(!focus.has_all_named && focus.n_read < 12, "{}", focus.note());
    assert!(focus.note().ends_with("others that it may speak of did not fit"));
    // a text that points at nothing has the beginning of the change
    let silent = Case::new(&diff, "Nice!", Task::Review).unwrap();
    let focus = Focus::of(&scorer, &silent, &settings(whole.ids.len() / 3)).unwrap().unwrap();
    assert_eq!(focus.lines.first(), Some(&0));
    assert!(focus.has_all_named && focus.n_read > 0);
}
