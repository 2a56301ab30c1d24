//! What a model reads of a change that is longer than its budget.

use std::path::{Path, PathBuf};

use veridiff_core::{focus::Focus, run::models::ModelOptions, scorer::Scorer, settings::Settings};
use veridiff_facts::case::Case;
use veridiff_text::sample::Task;

fn fixture() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "tests", "fixtures", "llama_tied"].iter().collect()
}

fn scorer() -> Scorer {
    scorer_in(&fixture())
}

fn scorer_in(folder: &Path) -> Scorer {
    let models = vec![folder.display().to_string()];
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

#[test]
fn of_a_change_far_beyond_the_context_a_bounded_part_is_read() {
    // the fixture, with a context that is longer than what is read of a change
    let (folder, own) = (tempfile::tempdir().unwrap(), fixture());
    for file in std::fs::read_dir(&own).unwrap().flatten().filter(|file| file.path().is_file()) {
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let config = std::fs::read_to_string(own.join("config.json")).unwrap();
    let config = config.replace("\"max_position_embeddings\": 2048", "\"max_position_embeddings\": 8192");
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let scorer = scorer_in(folder.path());
    assert_eq!(scorer.max_tokens(&Settings::default()), 8192);

    let hunk =
        |index: usize| format!("@@ -{0} +{0} @@\n-old_{index} = frobnicate\n+value_{index} = frobnicate\n", index * 9);
    let diff = format!("--- a/a.py\n+++ b/a.py\n{}", (1..600).map(hunk).collect::<String>());
    let case = Case::new(&diff, "Everything goes through frobnicate, `value_400` too", Task::Review).unwrap();
    let n_read = |settings: &Settings| {
        let focus = Focus::of(&scorer, &case, settings).unwrap().unwrap();
        assert!(focus.case.diff().text().contains("+value_400 = "), "{}", focus.note());
        scorer.encode(focus.case.diff(), case.text(), Task::Review, settings).unwrap().n_diff()
    };
    let bounded = n_read(&Settings::default());
    assert!(bounded > 1500 && bounded <= 2100, "{bounded}");
    // of one that the context would hold too, but not what is within the bound
    let some = |n: usize| format!("--- a/a.py\n+++ b/a.py\n{}", (1..n).map(hunk).collect::<String>());
    let focus_of = |n: usize| {
        let case = Case::new(&some(n), "Everything goes through frobnicate", Task::Review).unwrap();
        let n_diff = scorer.encode(case.diff(), case.text(), Task::Review, &Settings::default()).unwrap().n_diff();
        (n_diff, Focus::of(&scorer, &case, &Settings::default()).unwrap())
    };
    let (n_diff, focus) = focus_of(100);
    assert!(n_diff > 2048 && n_diff < 8000 && focus.is_some(), "{n_diff}");
    let (n_diff, focus) = focus_of(20);
    assert!(n_diff > 300 && n_diff < 2048 && focus.is_none(), "{n_diff}");
    // who says how many tokens there may be gets them
    let asked = n_read(&settings(6000));
    assert!(asked > 5000 && asked < 6000, "{asked}");
}
