//! `veridiff lab bench aacr retrieve`.

use std::{collections::BTreeMap, path::PathBuf};

use crate::args::backend::models;
use veridiff::cli::{
    args::choice,
    progress,
    terminal::{UsageError, note},
    verbs::Exit,
};
use veridiff_suites::{
    aacr::{
        changes::{Hunk, Place, Preparation},
        dataset::Dataset,
        prepare::open,
        retrieve::{Context, Index, Method, Quality, Settings, chunks_of, shown},
    },
    lines,
    nearness::Encoder,
};

/// Arguments of `veridiff lab bench aacr retrieve`.
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
    /// How pieces are found: bm25 (identifiers in common), or embedding (near by an encoder)
    #[arg(long, value_name = "METHOD", value_parser = choice::<Method>(Method::NAMES), default_value_t = Method::Bm25)]
    method: Method,
    /// The encoder, with embedding: a built-in id, a folder or a repository of the hub
    #[arg(long, value_name = "SOURCE")]
    encoder: Option<String>,
    /// With embedding: look only at the N pieces that bm25 finds first for each hunk; 0 for all pieces of the project
    #[arg(long, value_name = "N", default_value_t = 1000)]
    prefilter: usize,
    /// Fetch no encoder that is not here
    #[arg(long)]
    offline: bool,
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
    let encoder = match (args.method, &args.encoder) {
        (Method::Embedding, Some(encoder)) => Some(Encoder::load(encoder, &models(args.offline))?),
        (Method::Embedding, None) => {
            return Err(UsageError::error(
                "no encoder is named",
                "name one by --encoder, such as --encoder all-minilm-l6-v2",
            ));
        }
        (Method::Bm25, Some(_)) => {
            return Err(UsageError::error("`--encoder` is for embeddings", "add --method embedding"));
        }
        (Method::Bm25, None) => None,
    };
    let dataset = Dataset::read(&args.run)?;
    let at = |name: &str| args.run.join(name);
    let preparations: Vec<Preparation> = lines::read(&at("prs.jsonl"))?;
    let mut hunks: BTreeMap<String, Vec<Hunk>> = BTreeMap::new();
    for hunk in lines::read::<Hunk>(&at("hunks.jsonl"))? {
        hunks.entry(hunk.pr.clone()).or_default().push(hunk);
    }
    let places: Vec<Place> = lines::read(&at("anchors.jsonl"))?;
    let bar = progress::work(dataset.prs.len(), "pull requests");
    let (mut contexts, mut by_chance, mut n_failed) = (Vec::<Context>::new(), Vec::new(), 0);
    for (pr, preparation) in dataset.prs.iter().zip(&preparations) {
        let own = hunks.remove(&pr.pr).unwrap_or_default();
        let pieces = open(&args.repos, &args.repo_pattern, pr).and_then(|repository| {
            let tree = repository.snapshot(&preparation.head);
            tree.and_then(|tree| chunks_of(&tree, &settings)).map_err(|error| veridiff_text::chain::one_line(&error))
        });
        match pieces {
            Ok(pieces) if !own.is_empty() => {
                let index = Index::new(pieces);
                let first = Some(args.prefilter).filter(|n| *n > 0);
                let found = |hunk: &Hunk| match &encoder {
                    None => Ok(index.contexts(hunk, &settings)),
                    Some(encoder) => index.nearest(hunk, &settings, first, |texts| encoder.vectors(texts)),
                };
                for hunk in &own {
                    match found(hunk) {
                        Ok(found) => contexts.extend(found),
                        Err(reason) => {
                            n_failed += 1;
                            note(&format!("{}: {reason}", hunk.hunk));
                        }
                    }
                    by_chance.extend(index.by_chance(hunk, &settings, 0));
                }
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
    let quality = quality(&dataset, &places, &contexts, &by_chance);
    for (context, q) in &quality {
        let share = |n: usize| 100.0 * n as f64 / q.wanted as f64;
        let (found, by_chance) = (share(q.found), share(q.by_chance));
        let warning = if found <= by_chance { "warning: no better than chance: " } else { "" };
        note(&format!(
            "{warning}{context}: of {} names that references have and their hunks lack, the pieces have {found:.1}%, as many by chance \
             {by_chance:.1}%",
            q.wanted
        ));
    }
    lines::write_value(
        &at("retrieval.json"),
        &serde_json::json!({ "schema": 1, "method": args.method.name(), "quality": quality }),
    )?;
    Ok(if n_failed > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

/// What retrieved pieces have of the names that accepted references use beyond their hunk, by what has to be read to judge them.
fn quality(
    dataset: &Dataset,
    places: &[Place],
    contexts: &[Context],
    by_chance: &[Context],
) -> BTreeMap<String, Quality> {
    let (found, chance) = (shown(contexts), shown(by_chance));
    let comments: BTreeMap<&str, _> = dataset.comments.iter().map(|comment| (comment.id.as_str(), comment)).collect();
    let mut all: BTreeMap<String, Quality> = BTreeMap::new();
    for place in places {
        let Some(comment) = comments.get(place.comment.as_str()).filter(|comment| comment.valid) else { continue };
        let of = |texts: &BTreeMap<String, String>| -> String {
            place.hunks.iter().filter_map(|hunk| texts.get(hunk)).map(String::as_str).collect()
        };
        let context = if comment.context.is_empty() { "all" } else { &comment.context };
        all.entry(context.to_owned()).or_default().add(&comment.text, &place.text, &of(&found), &of(&chance));
    }
    all.retain(|_, quality| quality.wanted > 0);
    all
}
