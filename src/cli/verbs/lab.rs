//! `veridiff lab`: the research tools, which are a program of their own, `veridiff-lab`.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
    process::{Command, ExitCode},
};

use super::Exit;
use crate::cli::terminal::{UsageError, note, report};

/// The name of the program with the research tools.
const PROGRAM: &str = "veridiff-lab";

/// Verbs that were verbs of `veridiff` before version 0.2, where they still run with a note.
const MOVED: [&str; 9] =
    ["agree", "annotate", "bench", "checklist", "corpus", "generate", "prevalence", "study", "verify"];

/// What `lab` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab --help
  veridiff lab corpus --repo ../click -o corpus.jsonl
  veridiff lab verify --input cases.jsonl --json -o verified.jsonl";

/// Arguments of `veridiff lab`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub struct Args {
    /// The tool and its options
    #[arg(value_name = "VERB", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the verb: the other program, in the place of this one.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    run_lab(&args.arguments)
}

/// Runs `veridiff-lab` if the verb among the arguments is `lab` or one that moved there, with all other arguments, and returns how it
/// ended.
pub fn run_moved_verb(arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let place = verb_at(&arguments)?;
    let verb = arguments[place].to_str()?.to_owned();
    if verb == "lab" && place + 1 < arguments.len() {
        arguments.remove(place);
    } else if MOVED.contains(&verb.as_str()) {
        let is_quiet = arguments.iter().any(|argument| argument == "-q" || argument == "--quiet");
        if !is_quiet {
            note(&format!(
                "note: `veridiff {verb}` is `veridiff lab {verb}` now; the old name is kept for one version"
            ));
        }
    } else {
        return None;
    }
    Some(match run_lab(&arguments) {
        Ok(Exit::Of(status)) => ExitCode::from(status),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error);
            ExitCode::from(2)
        }
    })
}

/// The place of the verb among the arguments: the first that is neither an option nor the value of `--config`.
fn verb_at(arguments: &[OsString]) -> Option<usize> {
    let mut place = 0;
    while let Some(argument) = arguments.get(place) {
        match argument.as_encoded_bytes() {
            b"--config" => place += 2,
            [b'-', ..] => place += 1,
            _ => return Some(place),
        }
    }
    None
}

/// Runs `veridiff-lab`, which stands next to this program or on the path, in the place of this process where the system can do that, so
/// that signals reach it.
pub fn run_lab(arguments: &[OsString]) -> anyhow::Result<Exit> {
    let next_to_this = env::current_exe().ok().map(|program| program.with_file_name(file_name()));
    let program = next_to_this.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from(PROGRAM));
    let ended = in_place_of_this(Command::new(&program).args(arguments));
    ended.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => UsageError::error(
            format!("cannot find `{PROGRAM}` next to this program or on the path"),
            format!("install it: cargo install --path lab, or cargo build --release -p {PROGRAM} in a checkout"),
        ),
        _ => anyhow::Error::new(error).context(format!("cannot run `{}`", program.display())),
    })
}

/// Becomes the other program, which only comes back with an error.
#[cfg(unix)]
fn in_place_of_this(command: &mut Command) -> io::Result<Exit> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Waits for the other program, and ends as it did.
#[cfg(not(unix))]
fn in_place_of_this(command: &mut Command) -> io::Result<Exit> {
    let status = command.status()?;
    Ok(Exit::Of(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}

/// The program's file name on this system.
fn file_name() -> OsString {
    let mut name = OsStr::new(PROGRAM).to_owned();
    name.push(env::consts::EXE_SUFFIX);
    name
}
