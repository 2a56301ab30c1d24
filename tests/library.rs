//! The library prints nothing and knows no command line: whoever embeds it owns the terminal.
//!
//! Clippy refuses `println!` and its like wherever the workspace's lints hold; these tests see that they hold in every crate, that
//! no code lifts them, and that nothing goes around them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders of the library's crates.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["crates", "lab/crates"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let mut crates: Vec<PathBuf> = folders.into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    crates.retain(|path| path.join("Cargo.toml").exists());
    crates.sort();
    crates
}

/// Every Rust file under a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Lines of code above a file's own tests, comments left out: a measurement in a test may print.
fn code(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = source.lines().enumerate().map(|(i, line)| (i + 1, line.trim_start()));
    lines.take_while(|(_, line)| *line != "#[cfg(test)]").filter(|(_, line)| !line.starts_with("//"))
}

#[test]
fn every_crate_takes_the_lints_that_refuse_printing() {
    let root = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let lints = root.split("[workspace.lints.clippy]").nth(1).unwrap().split("\n[").next().unwrap();
    for lint in ["print_stdout", "print_stderr", "dbg_macro"] {
        assert!(lints.lines().any(|line| line.starts_with(lint) && !line.contains("\"allow\"")), "{lint}: {lints}");
    }
    let crates = crates();
    assert!(crates.len() >= 6, "{crates:?}");
    for path in crates {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{} takes no lints of the workspace", path.display());
    }
}

#[test]
fn no_code_of_the_library_lifts_the_lints_or_goes_around_them() {
    const REFUSED: [&str; 6] =
        ["clippy::print", "clippy::restriction", "clippy::all", "io::stdout", "io::stderr", "/dev/std"];
    let mut files = Vec::new();
    crates().iter().for_each(|path| sources(&path.join("src"), &mut files));
    // a crate's own program owns its terminal
    files.retain(|path| !path.components().any(|part| part.as_os_str() == "bin"));
    assert!(files.len() > 100, "{} files", files.len());
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        for (line, text) in code(&source) {
            let refused = REFUSED.iter().find(|refused| text.contains(**refused));
            assert_eq!(refused, None, "{}:{line}: {text}", file.display());
        }
    }
}

#[test]
fn no_crate_of_the_library_knows_a_terminal_or_a_command_line() {
    // the report sets tables as text with comfy-table and marks colours with anstyle, which print nothing
    const REFUSED: [&str; 6] = ["clap", "indicatif", "console", "anstream", "terminal_size", "tracing-subscriber"];
    // the Python module stands where the command stands: it takes what the library tells to Python's `logging`
    for path in crates().into_iter().filter(|path| !path.ends_with("python")) {
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let needed = manifest.split("[dev-dependencies]").next().unwrap();
        for line in needed.lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap();
            assert!(!REFUSED.contains(&name), "{} depends on {name}", path.display());
        }
    }
}
