//! `docs/options.md` and the keys of `docs/config.md`, written from the definitions that the program parses its arguments by.

use std::{fs, path::Path};

use saphyr::{LoadableYamlNode, Yaml};

use crate::cli::{
    config::{HOOK, KEYS},
    verbs::command,
};
use options_page::{escaped, is_written, page, parse_examples, shell_words};

#[path = "../../tests/common/options_page.rs"]
mod options_page;

/// The repository's root.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What `docs/config.md` says of every key, between the marks.
fn keys() -> String {
    let mut program = command();
    program.build();
    let check = program.find_subcommand("check").expect("a verb of the program");
    let mut page = "| key | in `[hook]` too | what it sets |\n|---|---|---|\n".to_owned();
    for key in KEYS {
        let arg = check.get_arguments().find(|arg| arg.get_long() == Some(key.name)).expect("a test compares the keys");
        let of_hook = if key.is_of_hook { "yes" } else { "" };
        let takes = match arg.get_action() {
            action if !action.takes_values() => "; true or false".to_owned(),
            clap::ArgAction::Append => "; a list, or one".to_owned(),
            _ => String::new(),
        };
        let help = escaped(&arg.get_help().map(ToString::to_string).unwrap_or_default());
        page += &format!("| `{}` | {of_hook} | {help}{takes} |\n", key.name);
    }
    page
}

#[test]
fn the_page_of_options_is_that_of_the_program() {
    is_written(ROOT, "docs/options.md", &page(command()), None);
}

#[test]
fn the_page_of_the_configuration_has_every_key() {
    is_written(ROOT, "docs/config.md", &keys(), Some("<!-- keys -->"));
    let page = fs::read_to_string(Path::new(ROOT).join("docs/config.md")).unwrap();
    assert!(page.contains(&format!("[{HOOK}]")));
}

#[test]
fn every_example_of_every_help_is_a_line_that_the_program_takes() {
    let n = parse_examples(command, &["veridiff"]);
    assert!(n > 20, "{n} examples");
}

/// The commands of a workflow: what stands under `run` or in a `script`, a line each.
fn commands(of: &Yaml<'_>, found: &mut Vec<String>) {
    if let Some(mapping) = of.as_mapping() {
        for (key, value) in mapping {
            if matches!(key.as_str(), Some("run" | "script" | "before_script")) {
                let listed = value.as_sequence().into_iter().flatten().filter_map(|line| line.as_str());
                found.extend(value.as_str().into_iter().chain(listed).flat_map(str::lines).map(str::to_owned));
            }
            commands(value, found);
        }
    }
    of.as_sequence().into_iter().flatten().for_each(|entry| commands(entry, found));
}

#[test]
fn every_recipe_is_yaml_and_its_commands_are_lines_that_the_program_takes() {
    let folder = Path::new(ROOT).join("docs/guides/recipes");
    let page = fs::read_to_string(folder.join("../recipes.md")).unwrap();
    let mut n = 0;
    for recipe in fs::read_dir(folder).unwrap() {
        let path = recipe.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(page.contains(&format!("(recipes/{name})")), "{name} is in the guide");
        let documents = Yaml::load_from_str(&fs::read_to_string(&path).unwrap());
        let documents = documents.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut lines = Vec::new();
        documents.iter().for_each(|document| commands(document, &mut lines));
        let before = n;
        for line in lines.iter().filter(|line| line.starts_with("veridiff ")) {
            // what a job has for its variables
            let of_job = ["$GITHUB_REPOSITORY#$NUMBER", "$CI_PROJECT_PATH!$CI_MERGE_REQUEST_IID"].into_iter();
            let line = of_job
                .zip(["octocat/hello#7", "group/sub/hello!7"])
                .fold(line.clone(), |line, (name, value)| line.replace(name, value));
            let words = shell_words(&line);
            let words = words.iter().take_while(|word| !matches!(word.as_str(), ">" | "|"));
            if let Err(error) = command().try_get_matches_from(words) {
                panic!("{name}: {line}\n{error}");
            }
            n += 1;
        }
        assert!(n > before, "{name} calls the program");
    }
    assert!(n >= 8, "{n} commands");
}
