use veridiff_text::diff::Diff;

use super::*;

mod languages;
mod robust;

fn changes(diff: &str, language: &str) -> Changes {
    let diff = Diff::parse(diff).unwrap();
    Changes::new(&FileChange::of_diff(&diff, Some(language)))
}

/// What became of the items that are not kept, one a line: `new Parameter ttl = 60.0: Changed (ttl = 300)`.
fn story(changes: &Changes) -> Vec<String> {
    let line = |fact: Fact| {
        let value = fact.item.value.as_ref().map_or(String::new(), |value| format!(" = {value}"));
        let status = match fact.status {
            Status::Kept => return None,
            Status::Changed { how: How::Value, .. } => "Changed".to_owned(),
            Status::Changed { how, .. } => format!("{how:?}"),
            Status::Renamed { .. } => "Renamed".to_owned(),
            status => format!("{status:?}"),
        };
        let other = changes.counterpart(&fact).map(|other| match other.item.value.as_ref() {
            Some(value) => format!(" ({} = {value})", other.item.path),
            None => format!(" ({})", other.item.path),
        });
        let (which, kind, path) = (fact.which, fact.item.kind, &fact.item.path);
        Some(format!("{which:?} {kind:?} {path}{value}: {status}{}", other.unwrap_or_default()))
    };
    changes.all(Which::Old).chain(changes.all(Which::New)).filter_map(line).collect()
}

#[track_caller]
fn assert_story(diff: &str, language: &str, expected: &[&str]) {
    let found = story(&changes(diff, language));
    let missing: Vec<_> = expected.iter().filter(|line| !found.iter().any(|f| f == *line)).collect();
    assert!(missing.is_empty(), "{language} lacks {missing:#?} in {found:#?}");
}
