//! `veridiff lab checklist`: what reviews cover of the points that they have to raise.

mod audit;
mod build;
mod pipeline;
mod report;
mod reward;
mod score;
mod stdio;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::Subcommand;

use veridiff::cli::terminal::note;
use veridiff::cli::verbs::Exit;
use veridiff_suites::{
    SuiteError,
    checklist::{Checklist, Material, Review, ReviewCase, ReviewVerdict, read_checklists, weigh},
    lines,
};

/// What `checklist` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab checklist score --checklists lists.jsonl --reviews reviews.jsonl --cases cases.jsonl --backend SPEC -o verdicts.jsonl
  veridiff lab checklist report --checklists lists.jsonl --reviews reviews.jsonl --verdicts verdicts.jsonl -o report
  veridiff lab checklist reward --checklists lists.jsonl --reviews reviews.jsonl --verdicts verdicts.jsonl --emit rewards -o rewards.jsonl

The files are described in docs/checklists.md.";

/// Arguments of `veridiff lab checklist`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Make checklists: of reviews, of a comparison with what was accepted, or of the change alone
    Build(Box<build::Args>),
    /// Make cases of pull requests that were merged: an instruction, somebody else's solution, and what is wrong with it
    Pipeline(Box<pipeline::Args>),
    /// Ask a judge what each review does with each item, and which of its claims the code bears out
    Score(Box<score::Args>),
    /// Print what generators cover, make up and leave alone, beside three that know nothing of the change
    Report(Box<report::Args>),
    /// Compare a judge with people: draw items beside reviews for them to label, and say how right it is on those
    Audit(Box<audit::Args>),
    /// Pay each review, and write the data that trainers read
    Reward(Box<reward::Args>),
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    match args.step {
        Step::Build(args) => build::run(*args),
        Step::Pipeline(args) => pipeline::run(*args),
        Step::Score(args) => score::run(*args),
        Step::Report(args) => report::run(*args),
        Step::Audit(args) => audit::run(*args),
        Step::Reward(args) => reward::run(*args),
    }
}

/// What reviews have to raise, and of what.
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The checklists, one JSON object a line
    #[arg(long, value_name = "FILE")]
    checklists: PathBuf,
    /// The cases: diff, code before and after, and the review that others are compared with
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
}

impl ListArgs {
    /// The checklists, and the reviews of a file, if there is one, with what is known of their cases.
    fn open(&self, reviews: Option<&Path>) -> Result<Material, SuiteError> {
        let material = Material::open(read_checklists(&self.checklists)?, reviews, self.cases.as_deref())?;
        let n = material.n_unknown();
        if n > 0 {
            note(&format!("warning: {n} reviews are about cases without a checklist, and are left out"));
        }
        Ok(material)
    }

    /// The same in memory.
    fn read(&self, reviews: &Path) -> Result<Files, SuiteError> {
        let material = self.open(Some(reviews))?;
        let cases: Vec<ReviewCase> = self.cases.as_deref().map_or(Ok(Vec::new()), lines::read)?;
        Ok(Files { reviews: material.reviews()?, lists: material.lists, cases })
    }
}

/// The files that every step reads.
#[derive(Debug, clap::Args)]
pub struct FileArgs {
    #[command(flatten)]
    lists: ListArgs,
    /// The reviews of any generators, one JSON object a line
    #[arg(long, value_name = "FILE")]
    reviews: PathBuf,
}

/// What is in those files, with the reviews of the baselines behind the others.
pub struct Files {
    lists: Vec<Checklist>,
    reviews: Vec<Review>,
    cases: Vec<ReviewCase>,
}

impl FileArgs {
    fn read(&self) -> Result<Files, SuiteError> {
        self.lists.read(&self.reviews)
    }

    /// What is in them, of which reviews and cases stay in their files.
    fn open(&self) -> Result<Material, SuiteError> {
        self.lists.open(Some(&self.reviews))
    }
}

/// How much items count.
#[derive(Debug, clap::Args)]
struct WeightArgs {
    /// Have items of a kind count so much, such as `defect=3,style=0.5` [default: what each says, or 1]
    #[arg(long, value_name = "KIND=NUMBER,…", value_delimiter = ',', value_parser = weight)]
    weights: Vec<(String, f64)>,
}

fn weight(text: &str) -> Result<(String, f64), String> {
    let parts = text.split_once('=').and_then(|(kind, weight)| Some((kind.trim(), weight.trim().parse::<f64>().ok()?)));
    match parts {
        Some((kind, weight)) if !kind.is_empty() && weight > 0.0 && weight.is_finite() => Ok((kind.to_owned(), weight)),
        _ => Err(format!("`{text}` is not KIND=NUMBER with a number above 0, such as defect=3")),
    }
}

impl WeightArgs {
    /// Weighs the items, and gives what was said of it.
    fn weigh(&self, lists: &mut [Checklist]) -> BTreeMap<String, f64> {
        let weights: BTreeMap<String, f64> = self.weights.iter().cloned().collect();
        let kinds = lists.iter().flat_map(|list| &list.items).filter_map(|item| item.kind.as_ref());
        let known: std::collections::BTreeSet<&String> = kinds.collect();
        for kind in weights.keys().filter(|kind| !known.contains(kind)) {
            note(&format!("warning: no item is of the kind `{kind}`, so its weight changes nothing"));
        }
        weigh(lists, &weights);
        weights
    }
}

/// The verdicts of one judge.
#[derive(Debug, clap::Args)]
struct VerdictArgs {
    /// The verdicts that `checklist score` wrote
    #[arg(long, value_name = "FILE")]
    verdicts: PathBuf,
    /// The judge, where the file has several
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
}

impl VerdictArgs {
    /// The verdicts of the only judge of the file, or of the one that is named.
    fn read(&self) -> Result<Vec<ReviewVerdict>, SuiteError> {
        verdicts_of(&self.verdicts, self.judge.as_deref())
    }
}

/// The verdicts of a file, of its only judge or of the one that is named.
fn verdicts_of(path: &Path, judge: Option<&str>) -> Result<Vec<ReviewVerdict>, SuiteError> {
    let all: Vec<ReviewVerdict> = lines::read(path)?;
    let names: std::collections::BTreeSet<String> = all.iter().map(|verdict| verdict.judge.clone()).collect();
    let kept: Vec<ReviewVerdict> =
        all.into_iter().filter(|verdict| judge.is_none_or(|judge| verdict.judge == judge)).collect();
    if let (Some(judge), true) = (judge, kept.is_empty()) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let why = format!("`{}` has no verdicts of a judge called `{judge}`", path.display());
        return Err(SuiteError::mismatch(why, format!("the judges there are: {}", names.join(", "))));
    }
    Ok(kept)
}
