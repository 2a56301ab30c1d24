//! `veridiff lab bench aacr prepare`.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};

use veridiff::cli::{
    terminal::{note, print},
    verbs::Exit,
};
use veridiff_report::TableFormat;
use veridiff_suites::{
    SuiteError,
    aacr::{
        counts,
        dataset::Dataset,
        prepare::{Settings, prepare, titles},
    },
    lines,
};

/// Arguments of `veridiff lab bench aacr prepare`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the run, which is made if there is none
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The benchmark's folder
    #[arg(long, value_name = "FOLDER|FILE")]
    references: PathBuf,
    /// The folder with the projects' repositories
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// Where a repository is in that folder
    #[arg(long, value_name = "PATTERN", default_value = "{owner}/{name}.git")]
    repo_pattern: String,
    /// Titles and descriptions of the pull requests, one JSON object a line [default: the subjects of the commits]
    #[arg(long, value_name = "FILE")]
    pr_info: Option<PathBuf>,
    /// Replace commits that are gone: the one under review by the head of the pull request, the other by the fork from the default
    /// branch if the change then has as many lines as are recorded
    #[arg(long)]
    fallback: bool,
    /// Read so many pull requests at once
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let dataset = Dataset::read(&args.references)?;
    let titles = args.pr_info.as_deref().map_or(Ok(BTreeMap::new()), titles)?;
    std::fs::create_dir_all(&args.run).map_err(|source| SuiteError::Write { path: args.run.clone(), source })?;
    let settings = Settings { pattern: args.repo_pattern, fallback: args.fallback, concurrency: args.threads };
    let prepared = prepare(&dataset, &args.repos, &titles, &settings);
    let at = |name: &str| args.run.join(name);
    let rows = prepared.prs.iter().map(|(pr, preparation)| {
        let mut row = json!(pr);
        if let (Some(row), Value::Object(preparation)) = (row.as_object_mut(), json!(preparation)) {
            row.extend(preparation);
        }
        row
    });
    lines::write(&at("prs.jsonl"), rows)?;
    lines::write(&at("comments.jsonl"), &dataset.comments)?;
    lines::write(&at("hunks.jsonl"), &prepared.hunks)?;
    lines::write(&at("anchors.jsonl"), &prepared.places)?;
    lines::write(&at("samples.jsonl"), &prepared.samples)?;
    let counts = counts::counts(&dataset);
    let manifest = json!({
        "schema": 1, "program": env!("CARGO_PKG_VERSION"), "dataset": dataset.files, "normalised": dataset.normalised,
        "fallback": settings.fallback, "counts": counts,
    });
    lines::write_value(&at("manifest.json"), &manifest)?;
    print(&counts::book(&dataset, &counts).page(TableFormat::Text))?;
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in prepared.prs.iter().filter_map(|(_, preparation)| preparation.reason.as_deref()) {
        *reasons.entry(reason).or_default() += 1;
    }
    reasons.iter().take(3).for_each(|(reason, n)| note(&format!("{n} unavailable: {reason}")));
    let n_prepared = prepared.prs.iter().filter(|(_, preparation)| preparation.status == "prepared").count();
    note(&format!(
        "{n_prepared} of {} pull requests are prepared: {} hunks, {} comments placed, {} samples in {}",
        prepared.prs.len(),
        prepared.hunks.len(),
        prepared.places.len(),
        prepared.samples.len(),
        at("samples.jsonl").display()
    ));
    Ok(if n_prepared == prepared.prs.len() { Exit::Done } else { Exit::SomeRowsFailed })
}
