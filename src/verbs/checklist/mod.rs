//! `veridiff checklist`: what reviews cover of the points that they have to raise.

mod audit;
mod build;
mod pipeline;
mod report;
mod reward;
mod score;

use std::{collections::BTreeMap, path::PathBuf};

use clap::Subcommand;

use super::Exit;
use crate::terminal::note;
use veridiff_suites::{
    SuiteError,
    checklist::{Checklist, Review, ReviewCase, ReviewVerdict, baselines, read_checklists, read_reviews},
    lines,
};

/// What `checklist` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff checklist score --checklists lists.jsonl --reviews reviews.jsonl --cases cases.jsonl --backend SPEC -o verdicts.jsonl
  veridiff checklist report --checklists lists.jsonl --reviews reviews.jsonl --verdicts verdicts.jsonl -o report
  veridiff checklist reward --checklists lists.jsonl --reviews reviews.jsonl --verdicts verdicts.jsonl --emit rewards -o rewards.jsonl

The files are described in docs/checklists.md.";

/// Arguments of `veridiff checklist`.
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

/// The files that every step reads.
#[derive(Debug, clap::Args)]
pub struct FileArgs {
    /// The checklists, one JSON object a line
    #[arg(long, value_name = "FILE")]
    checklists: PathBuf,
    /// The reviews of any generators, one JSON object a line
    #[arg(long, value_name = "FILE")]
    reviews: PathBuf,
    /// The cases: diff, code before and after, and the review that others are compared with
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,
}

/// What is in those files, with the reviews of the baselines behind the others.
pub struct Files {
    lists: Vec<Checklist>,
    reviews: Vec<Review>,
    cases: Vec<ReviewCase>,
}

impl FileArgs {
    fn read(&self) -> Result<Files, SuiteError> {
        let lists = read_checklists(&self.checklists)?;
        let (mut reviews, n_unknown) = read_reviews(&self.reviews, &lists)?;
        if n_unknown > 0 {
            note(&format!("warning: {n_unknown} reviews are about cases without a checklist, and are left out"));
        }
        let cases: Vec<ReviewCase> = self.cases.as_deref().map_or(Ok(Vec::new()), lines::read)?;
        let mut written: BTreeMap<&str, &str> = BTreeMap::new();
        for review in reviews.iter().rev() {
            written.insert(&review.case, &review.text);
        }
        written.extend(cases.iter().filter_map(|case| Some((case.id.as_str(), case.review.as_deref()?))));
        let baselines = baselines::reviews(&lists, &written);
        reviews.extend(baselines);
        Ok(Files { lists, reviews, cases })
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
        let (path, judge) = (&self.verdicts, self.judge.as_deref());
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
}
