//! `veridiff lab verify`: whether running a program, its fix and their tests supports what is said of the program.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::{self, BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use serde_json::{Value, json};
use veridiff_sandbox::{
    probe::{self, Wanted},
    verify::{
        Cache, Finished, Options, Verified, Verifier,
        rule::{Claim, Mark, Rule, Settings},
        settings, verify_all,
    },
};
use veridiff_table::Journal;
use veridiff_text::printable::printable;

use veridiff::cli::terminal::{UsageError, note, print};
use veridiff::cli::verbs::Exit;

/// What `verify` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab verify --input cases.jsonl --json -o verified.jsonl
  veridiff lab verify --code before.py --fix after.py --tests test.py --entry-point median
  veridiff lab doctor                                # can code be run safely on this machine?

Code that nobody trusts runs without network, without the machine's files, and within limits of time, memory and output; without a
sandbox that holds nothing runs. docs/verify.md has the format of cases, the table of verdicts, and what the sandbox does.";

/// The heading of options of the sandbox.
const SANDBOX: &str = "Sandbox";
/// The heading of options that decide what follows from what was seen.
const DECISION: &str = "Decision";

/// Arguments of `veridiff lab verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Cases, one JSON object a line; `-` reads standard input
    #[arg(short, long, value_name = "FILE", required_unless_present = "code", conflicts_with = "code")]
    input: Option<PathBuf>,
    /// A program that a text says has a defect, in place of --input
    #[arg(long, value_name = "FILE", requires = "tests")]
    code: Option<PathBuf>,
    /// The program with the fix
    #[arg(long, value_name = "FILE", requires = "code")]
    fix: Option<PathBuf>,
    /// The tests, a program that ends well if all is well
    #[arg(long, value_name = "FILE", requires = "code")]
    tests: Option<PathBuf>,
    /// The function that the tests call
    #[arg(long, value_name = "NAME", requires = "code")]
    entry_point: Option<String>,
    /// Where results go, one JSON object a line, in the order of the cases [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print results as JSON, one object a line, in place of text
    #[arg(long)]
    json: bool,
    /// Go on where an interrupted run was; its finished cases are in OUTPUT.journal.jsonl
    #[arg(long, requires = "output")]
    resume: bool,
    /// Start anew, and forget what an interrupted run has finished
    #[arg(long, requires = "output", conflicts_with = "resume")]
    overwrite: bool,
    /// Cases at the same time [default: processors]
    #[arg(short, long, value_name = "N")]
    jobs: Option<usize>,
    /// Keep results in this folder, and take those that are there
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// How to conclude: by what execution shows, by the paper's filter, or by the tests of the program alone
    #[arg(long, value_name = "RULE", default_value = "strict", value_parser = ["strict", "paper", "tests-only"], help_heading = DECISION)]
    rule: String,
    /// Inputs that must be compared without a difference before two programs count as the same
    #[arg(long, value_name = "N", default_value_t = Settings::default().min_inputs, help_heading = DECISION)]
    min_inputs: usize,
    /// Take the tests as complete: a program that passes them has no defect
    #[arg(long, help_heading = DECISION)]
    trust_suite: bool,
    /// End with status 1 for claims that are `unsupported`, or for those on which execution abstains too
    #[arg(long, value_name = "WHAT", default_value = "unsupported", value_parser = ["unsupported", "abstain"], help_heading = DECISION)]
    fail_on: String,
    /// Runs of each suite that decides, each with other hashes; what differs between them decides nothing
    #[arg(long, value_name = "N", default_value_t = Options::default().repeats, value_parser = clap::value_parser!(u32).range(1..=100),
          help_heading = DECISION)]
    repeats: u32,
    /// Inputs on which program and fix are compared, made of those of the tests and the requirement
    #[arg(long, value_name = "N", default_value_t = Options::default().n_inputs, help_heading = DECISION)]
    inputs: usize,
    /// What the programs' chance follows from
    #[arg(long, value_name = "N", default_value_t = Options::default().seed, help_heading = DECISION)]
    seed: u32,
    /// How to confine: our own way, bubblewrap, or the first that holds on this machine
    #[arg(long, value_name = "WAY", default_value = "auto", value_parser = ["auto", "native", "bwrap"], help_heading = SANDBOX)]
    backend: String,
}

impl Args {
    fn options(&self) -> Options {
        Options {
            rule: match self.rule.as_str() {
                "paper" => Rule::Paper,
                "tests-only" => Rule::TestsOnly,
                _ => Rule::Strict,
            },
            settings: Settings { min_inputs: self.min_inputs, trust_suite: self.trust_suite },
            repeats: self.repeats,
            n_inputs: self.inputs,
            seed: self.seed,
        }
    }

    /// The cases, and the folder that paths in them are relative to.
    fn cases(&self) -> anyhow::Result<(Box<dyn BufRead + Send>, PathBuf)> {
        if let (Some(code), Some(tests)) = (&self.code, &self.tests) {
            let case = one_case(code, self.fix.as_deref(), tests, self.entry_point.as_deref())?;
            return Ok((Box::new(io::Cursor::new(case.into_bytes())), PathBuf::from(".")));
        }
        let path = self.input.as_deref().unwrap_or(Path::new("-"));
        if path == Path::new("-") {
            return Ok((Box::new(BufReader::new(io::stdin())), PathBuf::from(".")));
        }
        let file = File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok((Box::new(BufReader::new(file)), folder.to_owned()))
    }
}

/// A case of files.
fn one_case(code: &Path, fix: Option<&Path>, tests: &Path, entry_point: Option<&str>) -> anyhow::Result<String> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()));
    let language = match code.extension().and_then(|ending| ending.to_str()) {
        Some("py") => "python",
        Some("js" | "cjs") => "javascript",
        Some("java") => "java",
        _ => {
            let problem = format!("`{}` ends in none of .py, .js, .java, so its language is not known", code.display());
            return Err(UsageError::error(
                problem,
                "give it such a name, or give a case with the key `language` by --input",
            ));
        }
    };
    let mut case = json!({
        "id": code.display().to_string(),
        "language": language,
        "code": read(code)?,
        "entry_point": entry_point,
        "tests": [{ "name": tests.display().to_string(), "kind": "reference", "form": "program", "text": read(tests)? }],
    });
    if let Some(fix) = fix {
        case["fix"] = read(fix)?.into();
    }
    Ok(format!("{case}\n"))
}

/// How cases ended.
#[derive(Debug, Default)]
struct Counts {
    claims: BTreeMap<String, usize>,
    n_failed: usize,
    n_known: usize,
    n: usize,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let wanted = match args.backend.as_str() {
        "native" => Wanted::Native,
        "bwrap" => Wanted::Bwrap,
        _ => Wanted::Auto,
    };
    let (cases, folder) = args.cases()?;
    let (sandbox, _) = probe::choose(wanted, &std::env::current_exe().context("cannot find this program's own file")?)?;
    let options = args.options();
    let verifier = Verifier::new(sandbox, options.clone());
    // nobody asks what results hang on where none is kept, and to know it every interpreter is started and read
    let is_kept = args.cache.is_some() || args.output.is_some();
    let said = if is_kept { settings(&options, &verifier) } else { BTreeMap::new() };
    let cache = args.cache.as_deref().map(|folder| {
        Cache::open(folder, &said).with_context(|| format!("cannot keep results in `{}`", folder.display()))
    });
    let cache = cache.transpose()?;
    let (mut journal, known) = open_journal(&args, said)?;
    // whole or not at all, whatever happens meanwhile
    let beside = args.output.as_ref().map(|path| PathBuf::from(format!("{}.part", path.display())));
    let mut output: Box<dyn io::Write> = match &beside {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write `{}`", path.display()));
            Box::new(io::BufWriter::new(or_leave(file, &mut journal)?))
        }
        None => Box::new(io::sink()),
    };
    let mut counts = Counts::default();
    let n_jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut ready = |one: &Finished| match &mut journal {
        Some(journal) if !one.is_known => {
            let row = [("id", one.key.as_str()), ("result", one.line.as_str())];
            journal
                .append(&row.map(|(name, text)| (name.to_owned(), Value::from(text))).into_iter().collect())
                .map_err(io::Error::other)
        }
        _ => Ok(()),
    };
    let mut finished = |one: Finished| {
        // names and values are those of whoever wrote the cases
        let shown: String = count(&mut counts, &one).lines().map(|line| printable(line) + "\n").collect();
        if args.output.is_some() {
            writeln!(output, "{}", one.line)
        } else if args.json {
            print(&format!("{}\n", one.line)).map_err(io::Error::other)
        } else {
            print(&shown).map_err(io::Error::other)
        }
    };
    let ran = verify_all(&verifier, cases, &folder, n_jobs, &known, cache.as_ref(), &mut ready, &mut finished);
    or_leave(ran.map_err(Into::into), &mut journal)?;
    output.flush()?;
    drop(output);
    if let (Some(path), Some(beside)) = (&args.output, &beside) {
        fs::rename(beside, path).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    if let Some(journal) = journal {
        let path = journal.path().to_owned();
        drop(journal);
        Journal::discard(&path)?;
    }
    Ok(end(&args, &counts))
}

/// What came out; of what failed before there was a result no journal stays, so that it can be run again as it was.
fn or_leave<T>(outcome: anyhow::Result<T>, journal: &mut Option<Journal>) -> anyhow::Result<T> {
    if outcome.is_err()
        && let Some(journal) = journal.take()
    {
        // what failed first is told
        let _left = journal.leave();
    }
    outcome
}

/// The journal beside the output, and the results that an interrupted run has left in it.
fn open_journal(
    args: &Args,
    said: BTreeMap<String, String>,
) -> anyhow::Result<(Option<Journal>, HashMap<String, String>)> {
    let Some(output) = &args.output else { return Ok((None, HashMap::new())) };
    let path = PathBuf::from(format!("{}.journal.jsonl", output.display()));
    let groups = BTreeMap::from([("verify".to_owned(), said)]);
    if args.overwrite {
        Journal::discard(&path)?;
    }
    if !args.resume {
        return Ok((Some(Journal::create(&path, &groups)?), HashMap::new()));
    }
    let (journal, rows) = Journal::resume(&path, &groups)?;
    let take = |row: &mut veridiff_table::Row, name: &str| match row.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let known =
        rows.into_iter().filter_map(|mut row| Some((take(&mut row, "id")?, take(&mut row, "result")?))).collect();
    Ok((Some(journal), known))
}

/// Counts a result, and says it for a person.
fn count(counts: &mut Counts, one: &Finished) -> String {
    counts.n += 1;
    counts.n_known += usize::from(one.is_known);
    let found: Option<Verified> = serde_json::from_str(&one.line).ok();
    let Some((found, drawn)) = found.as_ref().and_then(|found| Some((found, found.conclusion.as_ref()?))) else {
        counts.n_failed += 1;
        let said: Value = serde_json::from_str(&one.line).unwrap_or_default();
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        return format!("{}: could not be run: {}\n", text("id"), text("error"));
    };
    let claim = match drawn.claim {
        Claim::Supported => "supported",
        Claim::Unsupported => "unsupported",
        Claim::Abstain => "abstain",
    };
    *counts.claims.entry(claim.to_owned()).or_default() += 1;
    let mut text = format!("{}: {claim}: {}\n", found.id, drawn.why);
    let evidence = &found.evidence;
    for test in evidence.fail_to_pass.iter().chain(&evidence.pass_to_fail).take(3) {
        let after = test.after.map_or("not run", said);
        text += &format!("    {}: {} ({} before, {after} after)\n", test.name, test.detail, said(test.before));
    }
    for note in found.notes.iter().take(3) {
        text += &format!("    {note}\n");
    }
    for witness in evidence.differs.iter().take(3) {
        text += &format!("    {} gives {} before, {} after\n", witness.input, witness.before, witness.after);
    }
    text
}

/// What a test did, for a person.
fn said(mark: Mark) -> &'static str {
    match mark {
        Mark::Pass => "passes",
        Mark::Fail => "fails",
        Mark::Error => "cannot be told",
        Mark::Timeout => "runs out of time",
        Mark::Memory => "takes too much memory",
        Mark::OutputLimit => "writes too much",
        Mark::Crash => "crashes",
        Mark::NotRun => "is not reached",
    }
}

/// Tells a person how it went, and the exit status.
fn end(args: &Args, counts: &Counts) -> Exit {
    let of = |claim: &str| counts.claims.get(claim).copied().unwrap_or(0);
    let known =
        if counts.n_known > 0 { format!(", {} of them from an earlier run", counts.n_known) } else { String::new() };
    note(&format!(
        "verified {} {}{known}: {} supported, {} unsupported, {} abstain, {} could not be run",
        counts.n,
        if counts.n == 1 { "case" } else { "cases" },
        of("supported"),
        of("unsupported"),
        of("abstain"),
        counts.n_failed
    ));
    match () {
        () if counts.n_failed > 0 => Exit::SomeRowsFailed,
        () if of("unsupported") > 0 || (args.fail_on == "abstain" && of("abstain") > 0) => Exit::Flagged,
        () => Exit::Done,
    }
}
