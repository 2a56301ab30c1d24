//! `veridiff bench aacr retrieve`.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{progress, terminal::note, verbs::Exit};
use veridiff_suites::{
    aacr::{
        changes::{Hunk, Preparation},
        dataset::Dataset,
        prepare::open,
        retrieve::{Index, Settings, chunks_of},
    },
    lines,
};

/// Arguments of `veridiff bench aacr retrieve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the run, in which `prepare` was
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The folder with the projects' repositories
    #[arg(long, value_name = "DIR")]
    repos: PathBuf,
    /// Where a repository is in that folder
    #[arg(long, value_name = "PATTERN", default_value = "{owner}/{name}.git")]
    repo_pattern: String,
    /// Pieces of other code for each hunk
    #[arg(long, value_name = "N", default_value_t = Settings::default().top)]
    top: usize,
    /// Most lines of a piece
    #[arg(long, value_name = "N", default_value_t = Settings::default().lines)]
    chunk_lines: usize,
    /// Lines that a piece shares with the one before
    #[arg(long, value_name = "N", default_value_t = Settings::default().overlap)]
    overlap: usize,
    /// Leave the hunk's own file out
    #[arg(long)]
    other_files_only: bool,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let settings = Settings {
        lines: args.chunk_lines,
        overlap: args.overlap,
        top: args.top,
        other_files_only: args.other_files_only,
    };
    let dataset = Dataset::read(&args.run)?;
    let at = |name: &str| args.run.join(name);
    let preparations: Vec<Preparation> = lines::read(&at("prs.jsonl"))?;
    let mut hunks: BTreeMap<String, Vec<Hunk>> = BTreeMap::new();
    for hunk in lines::read::<Hunk>(&at("hunks.jsonl"))? {
        hunks.entry(hunk.pr.clone()).or_default().push(hunk);
    }
    let bar = progress::work(dataset.prs.len(), "pull requests");
    let (mut contexts, mut n_failed) = (Vec::new(), 0);
    for (pr, preparation) in dataset.prs.iter().zip(&preparations) {
        let own = hunks.remove(&pr.pr).unwrap_or_default();
        let pieces = open(&args.repos, &args.repo_pattern, pr).and_then(|repository| {
            let tree = repository.snapshot(&preparation.head);
            tree.and_then(|tree| chunks_of(&tree, &settings)).map_err(|error| veridiff_text::chain::one_line(&error))
        });
        match pieces {
            Ok(pieces) if !own.is_empty() => {
                let index = Index::new(pieces);
                contexts.extend(own.iter().flat_map(|hunk| index.contexts(hunk, &settings)));
            }
            Ok(_) => {}
            Err(reason) => {
                n_failed += 1;
                note(&format!("{}: {reason}", pr.pr));
            }
        }
        bar.inc(1);
    }
    drop(bar);
    lines::write(&at("contexts.jsonl"), &contexts)?;
    note(&format!("{} pieces of other code for the hunks of {} pull requests", contexts.len(), dataset.prs.len()));
    Ok(if n_failed > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}
