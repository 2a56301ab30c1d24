//! The page of a program's options, written from the definitions that the program parses its arguments by: for both commands.

use std::{fs, path::Path};

use clap::{Arg, Command};

/// Characters of a line, after which the page is wrapped.
const WIDTH: usize = 120;

/// Environment variable that makes the tests write the pages instead of comparing them.
const BLESS: &str = "VERIDIFF_BLESS";

/// The page about every verb of a program.
pub fn page(mut program: Command) -> String {
    program.build();
    let verbs: Vec<&Command> = verbs(&program).collect();
    let mut page = format!(
        "# Options\n\n{}\n\n",
        wrapped(
            "Every verb of the program, as `--help` prints it. A test writes this page from the program's definitions. \
             Do not edit it; see CONTRIBUTING.md.",
            ""
        )
    );
    page += "| verb | |\n|---|---|\n";
    for verb in &verbs {
        let name = verb.get_name();
        let anchor = verb.get_bin_name().unwrap_or(name).replace(' ', "-");
        page += &format!("| [`{name}`](#{anchor}) | {} |\n", escaped(&about(verb)));
    }
    page += &format!("\n## Every verb\n\n{}", section(&program, |arg| arg.is_global_set()));
    for verb in verbs {
        page += &chapter(verb, 2);
    }
    page
}

/// The verbs that are the program's own.
fn verbs(of: &Command) -> impl Iterator<Item = &Command> {
    of.get_subcommands().filter(|verb| verb.get_name() != "help")
}

fn about(verb: &Command) -> String {
    verb.get_about().map(ToString::to_string).unwrap_or_default()
}

/// A verb under a heading of this depth, and its own verbs one deeper.
fn chapter(verb: &Command, depth: usize) -> String {
    let title = verb.get_bin_name().unwrap_or(verb.get_name());
    let mut page = format!("\n{} {title}\n\n{}.\n\n", "#".repeat(depth), wrapped(&escaped(&about(verb)), ""));
    page += &section(verb, |arg| !arg.is_global_set());
    verbs(verb).for_each(|verb| page += &chapter(verb, depth + 1));
    page
}

/// How a command is used, its arguments under their headings, and what its help ends with.
fn section(command: &Command, is_of_section: impl Fn(&Arg) -> bool) -> String {
    let mut page = format!("```text\n{}\n```\n", command.clone().render_usage());
    let own = |arg: &&Arg| !matches!(arg.get_id().as_str(), "help" | "version") && !arg.is_hide_set();
    let arguments: Vec<&Arg> = command.get_arguments().filter(own).filter(|arg| is_of_section(arg)).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for arg in &arguments {
        if !headings.contains(&arg.get_help_heading()) {
            headings.push(arg.get_help_heading());
        }
    }
    // what has no heading comes first, as in the help
    headings.sort_by_key(Option::is_some);
    for heading in headings {
        page += &heading.map_or("\n".to_owned(), |heading| format!("\n**{heading}**\n\n"));
        for arg in arguments.iter().filter(|arg| arg.get_help_heading() == heading) {
            page += &item(arg);
        }
    }
    // examples are lines, and what stands behind a blank line is prose
    for part in command.get_after_help().map(ToString::to_string).iter().flat_map(|end| end.split("\n\n")) {
        page += &match part.strip_prefix("Examples:\n") {
            Some(examples) => {
                let lines: Vec<&str> = examples.lines().map(|line| line.trim_start()).collect();
                format!("\n```text\n{}\n```\n", lines.join("\n"))
            }
            None => format!("\n{}\n", wrapped(&escaped(part), "")),
        };
    }
    page
}

/// One argument: what is written, what it does, its default and its values.
fn item(arg: &Arg) -> String {
    let short = arg.get_short().map_or(String::new(), |short| format!("-{short}, "));
    let mut text = format!("- **`{short}{}`**: ", arg.to_string().trim_end_matches("..."));
    text += &escaped(&arg.get_help().map(ToString::to_string).unwrap_or_default());
    if arg.get_action().takes_values() {
        let quoted = |values: Vec<String>| values.iter().map(|v| format!("`{v}`")).collect::<Vec<_>>().join(", ");
        let values = arg.get_possible_values();
        if !values.is_empty() {
            text += &format!("; one of {}", quoted(values.iter().map(|v| v.get_name().to_owned()).collect()));
        }
        let defaults = arg.get_default_values();
        if !defaults.is_empty() {
            let defaults = defaults.iter().map(|v| v.to_string_lossy().into_owned()).collect();
            text += &format!(" \\[default: {}\\]", quoted(defaults));
        }
    }
    format!("{}\n", wrapped(&text, "  "))
}

/// Text that Markdown shows as it is; what stands between backticks already is so.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '`';
        if !quoted && matches!(c, '<' | '>' | '*' | '[' | ']' | '|') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Words in lines of at most [`WIDTH`] letters where they can be, each line but the first behind `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    // what is in backticks must not be divided, because the blank at a line's start would show
    for (i, part) in text.split('`').enumerate() {
        let words: Vec<&str> = if i % 2 == 1 { vec![part] } else { part.split_inclusive(' ').collect() };
        let tick = if i % 2 == 1 { "`" } else { "" };
        for word in words {
            let word = format!("{tick}{word}{tick}");
            let line = lines.last_mut().expect("there is a first line");
            let n = line.chars().count() + word.trim_end().chars().count();
            if n > WIDTH && line.ends_with(' ') {
                line.truncate(line.trim_end().len());
                lines.push(format!("{indent}{word}"));
            } else {
                line.push_str(&word);
            }
        }
    }
    lines.join("\n")
}

/// Compares a page, or what stands in it between `<!-- keys -->` marks, with what it is now; or writes it anew.
pub fn is_written(root: &str, file: &str, now: &str, marks: Option<&str>) {
    let path = Path::new(root).join(file);
    let written = fs::read_to_string(&path).unwrap_or_default();
    let now = match marks {
        None => now.to_owned(),
        Some(mark) => {
            let parts: Vec<&str> = written.split(mark).collect();
            assert_eq!(parts.len(), 3, "{file} has the mark `{mark}` twice");
            format!("{}{mark}\n{now}{mark}{}", parts[0], parts[2])
        }
    };
    if std::env::var_os(BLESS).is_some() {
        fs::write(&path, now).unwrap();
        return;
    }
    let differs = written.lines().zip(now.lines()).position(|(written, now)| written != now);
    assert!(
        written == now,
        "{file} is not what the options are now (from line {}); run its test with {BLESS}=1 in the environment and commit it",
        differs.unwrap_or(written.lines().count().min(now.lines().count())) + 1
    );
}

/// The words of a line as a shell has them: in quotes, and without what stands behind a `#`.
pub fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Parses every example in the help of every verb, and returns how many there are.
pub fn parse_examples(command: fn() -> Command, name: &[&str]) -> usize {
    let mut program = command();
    program.build();
    let mut n = 0;
    for verb in verbs(&program).chain([&program]) {
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(verb.has_subcommands() || help.contains("veridiff"), "{} has examples", verb.get_name());
        for line in help.lines().filter(|line| line.starts_with("  ")) {
            let words = shell_words(line.rsplit(" | ").next().unwrap_or(line));
            let own: Vec<String> =
                words.into_iter().skip_while(|word| word != "veridiff").take_while(|word| word != ">").collect();
            // an example of the other program is parsed by its own test
            let Some(arguments) =
                own.iter().map(String::as_str).collect::<Vec<_>>().strip_prefix(name).map(<[&str]>::to_vec)
            else {
                continue;
            };
            if let Err(error) = command().try_get_matches_from([&["veridiff"], &arguments[..]].concat()) {
                panic!("{line}\n{error}");
            }
            n += 1;
        }
    }
    n
}

#[test]
fn what_markdown_would_read_is_escaped_outside_of_code() {
    assert_eq!(escaped("before <msg>, `<s>` and *"), "before \\<msg\\>, `<s>` and \\*");
    let long = format!("{} `two words` end", "word ".repeat(23).trim_end());
    assert_eq!(wrapped(&long, "  ").lines().nth(1), Some("  `two words` end"));
}
