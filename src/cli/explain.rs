//! `veridiff explain`: one diff and one text, token by token.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use super::{
    Outcome, UsageError, one_line,
    rows::print,
    scoring::{ModelArgs, SettingArgs},
};
use crate::{
    features::FeatureSet,
    report::explanation::{Explanation, terminal_page},
    sample::{self, Sample, Task, make_ids_distinct},
    scorer::Settings,
};

/// Arguments of `veridiff explain`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The change: a file with a unified diff or one hunk; `-` reads stdin
    #[arg(long, value_name = "FILE", requires = "text", conflicts_with_all = ["input", "commit"])]
    diff: Option<PathBuf>,
    /// The text about it: a file; `-` reads stdin
    #[arg(long, value_name = "FILE", requires = "diff")]
    text: Option<PathBuf>,
    /// A commit of the repository here: its diff and its message
    #[arg(long, value_name = "REV", conflicts_with = "input")]
    commit: Option<String>,
    /// Samples, one JSON object a line
    #[arg(long, value_name = "FILE", requires = "id")]
    input: Option<PathBuf>,
    /// Which of them
    #[arg(long, requires = "input")]
    id: Option<String>,
    /// What the text was written as: review or commit [default: review; commit with --commit; the sample's own with --input]
    #[arg(long)]
    task: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let settings = Settings { max_memory: args.model.max_memory, ..args.settings.settings(FeatureSet::default())? };
    let mut sample = args.sample()?;
    if let Some(name) = &args.task {
        sample.task = Task::from_name(name)
            .with_context(|| format!("unknown task `{name}`; one of {}", Task::ALL.map(Task::name).join(", ")))?;
    }
    let scorer = args.model.scorer()?;
    let measurement = scorer.measure(&sample.diff, &sample.text, sample.task, &settings)?;
    if args.json {
        let id = args.id.as_deref().or(args.commit.as_deref());
        print(&format!("{}\n", serde_json::to_string(&Explanation::new(id, &scorer.name, &measurement))?))?;
    } else {
        super::print_styled(&terminal_page(&measurement))?;
    }
    Ok(Outcome::Done)
}

impl Args {
    fn sample(&self) -> anyhow::Result<Sample> {
        match (&self.diff, &self.text, &self.commit, &self.input) {
            (Some(diff), Some(text), ..) => {
                if diff == Path::new("-") && text == Path::new("-") {
                    bail!("--diff and --text cannot both read stdin");
                }
                Ok(Sample::new("", &read(diff)?, read(text)?.trim_end_matches('\n')))
            }
            (_, _, Some(revision), _) => commit(revision),
            (.., Some(input)) => find(input, self.id.as_deref().unwrap_or_default()),
            _ => Err(UsageError::error(
                "nothing to explain",
                "give --diff FILE with --text FILE, --input FILE with --id ID, or --commit REV",
            )),
        }
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let place = || format!("cannot read `{}`", path.display());
    if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).with_context(place)?;
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).with_context(place)?;
    }
    String::from_utf8(bytes).with_context(|| format!("`{}` is not UTF-8", path.display()))
}

/// A commit's own change and message, as git prints them.
fn commit(revision: &str) -> anyhow::Result<Sample> {
    let git = |format: &[&str]| -> anyhow::Result<String> {
        let output = Command::new("git")
            .args(["show", "--no-color", "--no-ext-diff"])
            .args(format)
            .args(["--end-of-options", revision])
            .output()
            .context("cannot run git")?;
        if !output.status.success() {
            bail!("git cannot show `{revision}`: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let diff = git(&["--format=", "--first-parent"])?;
    if diff.trim().is_empty() {
        bail!("the commit `{revision}` changes nothing");
    }
    let message = git(&["--format=%B", "--no-patch"])?;
    Ok(Sample { task: Task::Commit, ..Sample::new(revision, diff.trim_start_matches('\n'), message.trim()) })
}

fn find(input: &Path, id: &str) -> anyhow::Result<Sample> {
    let file = File::open(input).with_context(|| format!("cannot read `{}`", input.display()))?;
    let (mut samples, mut unreadable) = (Vec::new(), Vec::new());
    for sample in sample::read(BufReader::new(file)) {
        match sample {
            Ok(sample) => samples.push(sample),
            Err(error) => unreadable.push(error),
        }
    }
    // as `score` calls them
    make_ids_distinct(&mut samples);
    let n = samples.len();
    if let Some(sample) = samples.into_iter().find(|sample| sample.id == id) {
        return Ok(sample);
    }
    let problem = format!("no sample `{id}` among the {n} of `{}`", input.display());
    Err(match unreadable.first() {
        None => UsageError::error(problem, "ids are compared letter by letter"),
        Some(first) => UsageError::error(
            problem,
            format!("{} of its lines cannot be read, the first: {}", unreadable.len(), one_line(first)),
        ),
    })
}
