//! `veridiff demo`: a small change, six comments about it, and what the program says of them, in a few seconds.

use std::{
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use serde::Deserialize;

use super::Exit;
use crate::cli::{
    args::{
        change::{NO_DETECTOR, detector_called, open_gate},
        scoring::ModelArgs,
    },
    terminal::{UsageError, note, print, print_styled},
};
use veridiff_core::{gate::GateOptions, settings::Settings};
use veridiff_facts::{finding::Finding, verdict::Verdict};
use veridiff_git::{Repository, diff_of_texts};
use veridiff_report::findings::{html_page, page};
use veridiff_table::files;
use veridiff_text::sample::{Sample, Task};

/// The file of the change, before and after it.
const FILE: &str = "cache.py";
const BEFORE: &str = include_str!("../../../examples/demo/before.py");
const AFTER: &str = include_str!("../../../examples/demo/after.py");

/// Comments about it, some of which are false.
const COMMENTS: &str = include_str!("../../../examples/demo/comments.jsonl");

/// What `demo` is like in use.
const USE: &str = "\
Examples:
  veridiff demo";

/// Arguments of `veridiff demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = USE)]
pub struct Args {
    /// The folder that is made for it, with the change, the comments and the page
    #[arg(long, value_name = "DIR", default_value = "veridiff-demo")]
    dir: PathBuf,
    /// As in `check`: a file, a detector that ships, or `none` to ask the change alone, which needs no model
    #[arg(long, value_name = "FILE|NAME")]
    detector: Option<String>,
    /// Do not open the page, even if there is a screen
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    model: ModelArgs,
}

/// A comment, and what its author knows of it.
#[derive(Debug, Deserialize)]
struct Comment {
    id: String,
    text: String,
    /// 1 if it is false.
    label: u8,
    /// What is true instead.
    #[serde(default)]
    why: String,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let comments: Vec<Comment> =
        COMMENTS.lines().map(serde_json::from_str).collect::<Result<_, _>>().context("the bundled comments")?;
    let diff = diff_of_texts(FILE, BEFORE, AFTER);
    let samples: Vec<Sample> = comments.iter().map(|comment| comment.sample(&diff)).collect();
    refuse_what_is_not_ours(&args.dir)?;

    let facts_only = args.detector.as_deref() == Some(NO_DETECTOR);
    let gate = open_gate(GateOptions {
        detector: args.detector.as_deref().filter(|_| !facts_only).map(detector_called).transpose()?,
        facts_only,
        tasks: vec![Task::Review],
        settings: Settings { max_memory: args.model.place.max_memory, ..Settings::default() },
        models: args.model.options()?,
        ..GateOptions::default()
    })?;
    lay_out(&args.dir, &diff, &samples)?;
    let ready = Instant::now();
    let findings = gate.check(&samples);
    let seconds = ready.elapsed().as_secs_f64();

    print_styled(&format!("{}\n", change_page(&diff)))?;
    for (comment, finding) in comments.iter().zip(&findings) {
        print_styled(&comment_page(comment, finding))?;
    }
    print(&format!("{}\n", score(&comments, &findings)))?;
    let html = args.dir.join("page.html");
    files::write(&html, html_page(&samples.iter().collect::<Vec<_>>(), &findings))
        .with_context(|| format!("cannot write `{}`", html.display()))?;
    let opened = if !args.no_open && is_opened(&html) { ", opened in the browser" } else { "" };
    print(&format!("The same as a page: {}{opened}\n\n{}", html.display(), yours()))?;
    note(&format!("six comments took {seconds:.1} s, all of it {:.1} s", start.elapsed().as_secs_f64()));
    Ok(Exit::Done)
}

impl Comment {
    fn sample(&self, diff: &str) -> Sample {
        Sample { label: Some(self.is_false()), ..Sample::new(&self.id, diff, &self.text) }
    }

    fn is_false(&self) -> bool {
        self.label == 1
    }
}

/// Whether a finding accuses its text.
fn accuses(finding: &Finding) -> bool {
    finding.verdict >= Some(Verdict::Unsupported)
}

/// A folder with something else in it is left alone.
fn refuse_what_is_not_ours(dir: &Path) -> anyhow::Result<()> {
    let is_ours = dir.join("change.diff").exists() && dir.join("comments.jsonl").exists();
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) && !is_ours {
        let problem = format!("`{}` is there already, and is no demonstration", dir.display());
        return Err(UsageError::error(problem, "give a folder that is not there: --dir DIR"));
    }
    Ok(())
}

/// Makes the folder: the file after the change, the change, the comments, and where git is there a repository that has it as a commit.
fn lay_out(dir: &Path, diff: &str, samples: &[Sample]) -> anyhow::Result<()> {
    let place = || format!("cannot make `{}`", dir.display());
    fs::create_dir_all(dir).with_context(place)?;
    let write = |name: &str, text: &str| files::write(&dir.join(name), text).with_context(place);
    let lines = samples.iter().map(|sample| {
        let mut line = sample.to_row();
        line.insert("diff".to_owned(), sample.diff.as_str().into());
        line.insert("text".to_owned(), sample.text.as_str().into());
        format!("{}\n", serde_json::Value::Object(line))
    });
    write("change.diff", diff)?;
    write("comments.jsonl", &lines.collect::<String>())?;
    write(FILE, BEFORE)?;
    // a repository that an earlier demonstration made has both commits
    if dir.join(".git").exists() {
        return write(FILE, AFTER);
    }
    let has_git = git(dir, &["init", "--quiet"]) && commits(dir, "A cache");
    write(FILE, AFTER)?;
    if !has_git || !commits(dir, "Expire entries sooner, and lock the cache") {
        note("note: git is not here or does not commit, so the folder has the change as a diff and no history");
    }
    Ok(())
}

/// Commits all files; false if there is no git or it refuses.
fn commits(dir: &Path, message: &str) -> bool {
    git(dir, &["add", FILE]) && git(dir, &["commit", "--quiet", "--allow-empty", "--no-verify", "-m", message])
}

/// Runs git in a folder, whatever repository and configuration is around it.
fn git(dir: &Path, args: &[&str]) -> bool {
    let who = ["-c", "user.name=veridiff demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
    let mut command = Command::new("git");
    command.current_dir(dir).args(who).args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command.status().is_ok_and(|status| status.success())
}

/// The change, in the colours that git shows it in.
fn change_page(diff: &str) -> String {
    let mut page =
        format!("A change to {FILE}, and {} comments about it. Some of them are false.\n\n", COMMENTS.lines().count());
    for line in diff.lines().filter(|line| !line.starts_with("---") && !line.starts_with("+++")) {
        let colour = match line.as_bytes().first() {
            Some(b'+') => Some(AnsiColor::Green),
            Some(b'-') => Some(AnsiColor::Red),
            Some(b'@') => Some(AnsiColor::Cyan),
            _ => None,
        };
        let style = Style::new().fg_color(colour.map(Into::into));
        page.push_str(&format!("  {style}{line}{style:#}\n"));
    }
    page
}

/// What the program says of a comment, and whether it is right.
fn comment_page(comment: &Comment, finding: &Finding) -> String {
    let (truth, outcome) = match (comment.is_false(), accuses(finding)) {
        (true, true) => ("false", "caught"),
        (true, false) => ("false", "missed"),
        (false, true) => ("true", "wrongly accused"),
        (false, false) => ("true", "left in peace"),
    };
    let bold = Style::new().bold();
    let why = if outcome == "missed" { format!("  what is true: {}\n", comment.why) } else { String::new() };
    format!("{bold}Comment {}, which is {truth}: {outcome}{bold:#}\n{}{why}\n", comment.id, page(finding, false))
}

/// How many were caught, in a sentence.
fn score(comments: &[Comment], findings: &[Finding]) -> String {
    let count = |is_false: bool, is_accused: bool| {
        let pairs = comments.iter().zip(findings);
        pairs.filter(|(comment, finding)| comment.is_false() == is_false && accuses(finding) == is_accused).count()
    };
    let (caught, missed) = (count(true, true), count(true, false));
    let (accused, cleared) = (count(false, true), count(false, false));
    format!(
        "{caught} of {} false comments caught, {missed} missed; {accused} of {} true ones accused. No objection is no proof.",
        caught + missed,
        accused + cleared
    )
}

/// Opens a page, if there is a screen and somebody before it.
fn is_opened(page: &Path) -> bool {
    if !std::io::stdout().is_terminal() {
        return false;
    }
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ if ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some()) => "xdg-open",
        _ => return false,
    };
    let quiet = Stdio::null;
    Command::new(program).arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_ok()
}

/// What to run next, in the folder that one stands in.
fn yours() -> String {
    let head = Repository::discover(Path::new(".")).and_then(|repository| repository.commit("HEAD"));
    match head {
        Ok(commit) => {
            let subject = commit.message.lines().next().unwrap_or_default();
            format!(
                "Now yours:\n  veridiff check HEAD                                    # is “{}” true to its change?\n  \
                 git diff | veridiff check -m 'Adds a retry to `fetch`.'   # a comment about what you have not committed\n",
                veridiff_text::printable::printable(subject)
            )
        }
        Err(_) => "Now yours, in a repository of your own:\n  veridiff check HEAD\n".to_owned(),
    }
}
