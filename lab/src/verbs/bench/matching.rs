//! `veridiff lab bench aacr match`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::args::backend::{BoundArgs, Opened, costs_beside, models, open};
use veridiff::cli::{
    progress,
    terminal::{UsageError, note, print},
    verbs::Exit,
};
use veridiff_report::TableFormat;
use veridiff_suites::{
    SuiteError,
    aacr::{
        classify::Classifier,
        counts,
        dataset::Dataset,
        decide::{Decider, Exact, Judge, prompts},
        entailed::{ByModels, Cuts, LabelledPair, Rightness},
        matching::pairs,
        predictions::{self, Prediction},
    },
    ask::side_by_side,
    lines,
    nearness::{Compare, Encoder, Models},
};

/// What a decider by two models begins with, and one by an encoder alone.
const BY_MODELS: &str = "embed+nli:";
const BY_ENCODER: &str = "embed:";

/// Whether a decider is models on this machine.
fn is_by_models(name: &str) -> bool {
    name.starts_with(BY_MODELS) || name.starts_with(BY_ENCODER)
}

/// Arguments of `veridiff lab bench aacr match`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder of the run, which is made if there is none
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// The references: the benchmark's folder, or a file of one's own [default: those that `prepare` put into RUN]
    #[arg(long, value_name = "FOLDER|FILE")]
    references: Option<PathBuf>,
    /// What a generator wrote: JSON lines, or a folder of tag files; once for each generator
    #[arg(long, value_name = "FILE|FOLDER", required_unless_present = "counts")]
    predictions: Vec<PathBuf>,
    /// How it is decided whether two comments say the same: exact, judge:SPEC with a backend, embed:ENCODER by the cosine of its
    /// vectors, or embed+nli:ENCODER,CLASSIFIER by entailment too; several give several columns
    #[arg(long, value_name = "DECIDER", default_values = ["exact"])]
    meaning: Vec<String>,
    /// Pairs of comments that people have labelled, {"first", "second", "same"} a line: how right each decider is on them is told, and
    /// embed and embed+nli take their cuts from them [default: from references that overlap]
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Have a judge say of what category and context each comment is, so that precision is told by them
    #[arg(long, value_name = "SPEC")]
    classify: Option<String>,
    /// Ask a judge so often; the majority decides, and every second time the comments change places
    #[arg(long, value_name = "N", default_value_t = 1)]
    votes: u32,
    /// How much chance a judge's answers have
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0)]
    temperature: f64,
    /// Do not show a judge the part of the change that the reference is on
    #[arg(long)]
    no_hunk: bool,
    /// How many lines a pair may be apart at most
    #[arg(long, value_name = "LINES", default_value_t = 1)]
    gap: u64,
    /// Pair comments of either side of the change
    #[arg(long)]
    either_side: bool,
    /// Prompts in the place of the program's own, a table a step
    #[arg(long, value_name = "FILE")]
    prompts: Option<PathBuf>,
    /// Most requests to a judge that are open at once
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Ask nobody on other machines, and fetch nothing
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    bounds: BoundArgs,
    /// Only print what the references are
    #[arg(long)]
    counts: bool,
}

/// Runs the step.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let references = args.references.as_deref().unwrap_or(&args.run);
    let dataset = Dataset::read(references)?;
    if args.counts {
        print(&counts::book(&dataset, &counts::counts(&dataset)).page(TableFormat::Text))?;
        return Ok(Exit::Done);
    }
    std::fs::create_dir_all(&args.run).map_err(|source| SuiteError::Write { path: args.run.clone(), source })?;
    let mut written: Vec<Prediction> = Vec::new();
    let mut faults = BTreeMap::new();
    for path in &args.predictions {
        let (mut found, fault) = predictions::read(path, &dataset)?;
        fault.notes().iter().for_each(|line| note(&format!("{}: {line}", path.display())));
        if let Some(other) = found.iter().find(|p| written.iter().any(|other| other.generator == p.generator)) {
            let problem = format!("two files have comments of the generator `{}`", other.generator);
            return Err(UsageError::error(
                problem,
                "generators are called after their file, unless its lines name one: rename one",
            ));
        }
        faults.insert(path.display().to_string(), fault);
        written.append(&mut found);
    }
    if args.bounds.writes_nothing() && args.meaning.iter().any(|name| is_by_models(name)) {
        return Err(UsageError::error(
            "encoders and classifiers are asked nothing, and keep no replies",
            "leave embed:… and embed+nli:… to the run that writes the files",
        ));
    }
    if args.bounds.shard.is_some() {
        let (places, repositories) = (dataset.places(), dataset.repositories());
        let repository =
            |pr: &str| places.get(pr).and_then(|place| repositories.get(dataset.prs[*place].repo.as_str()));
        written.retain(|prediction| repository(&prediction.pr).is_some_and(|place| args.bounds.has(*place)));
    }
    let prompts = args.prompts.as_deref().map_or(Ok(prompts()), |path| prompts().with_file(path))?;
    let hunks = if args.no_hunk { BTreeMap::new() } else { hunks(&args.run)? };
    let opened = args.open()?;
    let judges: Vec<Judge<'_>> = opened
        .iter()
        .map(|opened| Judge {
            recorder: &opened.recorder,
            prompts: &prompts,
            votes: args.votes,
            temperature: args.temperature,
            hunks: &hunks,
        })
        .collect();
    let labelled: Vec<LabelledPair> = args.pairs.as_deref().map_or(Ok(Vec::new()), lines::read)?;
    let loaded = args.models()?;
    let by_models: Vec<ByModels<'_>> = loaded
        .iter()
        .map(|models| match args.pairs {
            Some(_) => ByModels::of_pairs(&**models, &labelled),
            None => ByModels::of_neighbours(&**models, &dataset),
        })
        .collect::<Result<_, String>>()
        .map_err(|why| SuiteError::mismatch(why, "labelled pairs are given by --pairs"))?;
    for decider in &by_models {
        let Cuts { cosine, entailment, from, n, right } = decider.cuts();
        let name = decider.name();
        let entailment = match name.starts_with(BY_ENCODER) {
            true => String::new(),
            false => format!(" and an entailment of {entailment:.3}"),
        };
        note(&format!(
            "{name}: the same from a cosine of {cosine:.3}{entailment} on, from {n} pairs ({from}; {:.1}% of them right)",
            100.0 * right
        ));
    }
    let mut deciders: Vec<&dyn Decider> = judges.iter().map(|judge| judge as &dyn Decider).collect();
    deciders.extend(by_models.iter().map(|decider| decider as &dyn Decider));
    if args.meaning.iter().any(|name| name == "exact") {
        deciders.push(&Exact);
    }
    // labelled pairs are of no repository: the first share asks about them
    let rightness: BTreeMap<String, Rightness> = match labelled.is_empty() || !args.bounds.has(0) {
        true => BTreeMap::new(),
        false => {
            let of = |decider: &&dyn Decider| {
                let name = decider.name();
                let in_sample = by_models.iter().any(|fitted| fitted.name() == name);
                (name, Rightness::of(*decider, &labelled, in_sample))
            };
            deciders.iter().map(of).collect()
        }
    };
    for (decider, right) in rightness.iter().filter(|_| !args.bounds.writes_nothing()) {
        let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}%", 100.0 * share));
        note(&format!(
            "{decider}: right on {} of the pairs that say the same and {} of the others ({} pairs, {} undecided{})",
            share(right.same),
            share(right.other),
            right.n,
            right.undecided,
            if right.in_sample { "; its cuts were taken from these very pairs, which flatters it" } else { "" }
        ));
    }
    if let Some(spec) = &args.classify {
        let replies = args.run.join("classify.replies.jsonl");
        let opened = open(spec, args.concurrency, Some(&replies), args.offline, args.bounds)?;
        let classifier = Classifier::new(&opened.recorder, &prompts, &dataset);
        let bar = progress::work(written.len(), "comments");
        written = side_by_side(written.len(), opened.concurrency, |i| {
            let classified = classifier.classified(written[i].clone());
            bar.inc(1);
            classified
        });
        drop(bar);
        if !opened.ends_here(args.bounds)? {
            opened.write_costs(&costs_beside(&args.run.join("classify")))?;
            let open = written.iter().filter(|p| p.category.is_none() || p.context.is_none()).count();
            note(&format!(
                "{open} of {} comments have no category or no context: the judge named not exactly one",
                written.len()
            ));
        }
    }
    let concurrency = opened.iter().map(|opened| opened.concurrency).max().unwrap_or(1);
    let pairs = pairs(&dataset, &written, args.gap, args.either_side, &deciders, concurrency);
    let mut n_unanswered = 0;
    for (i, judge) in opened.iter().enumerate() {
        if judge.ends_here(args.bounds)? {
            n_unanswered += judge.n_failed();
        } else {
            judge.write_costs(&costs_beside(&args.run.join(format!("judge{i}"))))?;
        }
    }
    if args.bounds.writes_nothing() {
        return Ok(if n_unanswered > 0 { Exit::SomeRowsFailed } else { Exit::Done });
    }
    let at = |name: &str| args.run.join(name);
    if args.references.is_some() {
        lines::write(&at("prs.jsonl"), &dataset.prs)?;
        lines::write(&at("comments.jsonl"), &dataset.comments)?;
    }
    lines::write(&at("predictions.jsonl"), &written)?;
    lines::write(&at("pairs.jsonl"), &pairs)?;
    let names: Vec<String> = deciders.iter().map(|decider| decider.name()).collect();
    let manifest = json!({
        "schema": 1, "program": env!("CARGO_PKG_VERSION"), "dataset": dataset.files, "normalised": dataset.normalised,
        "predictions": faults, "deciders": names, "cuts": by_models.iter().map(ByModels::cuts).collect::<Vec<_>>(),
        "labelled_pairs": rightness, "classified_by": args.classify, "gap": args.gap, "either_side": args.either_side, "votes": args.votes,
        "temperature": args.temperature, "hunk": !args.no_hunk && !hunks.is_empty(), "prompts": prompts.hashes(),
    });
    lines::write_value(&at("match.json"), &manifest)?;
    let failed = pairs.iter().flat_map(|pair| pair.meaning.values()).filter(|meaning| meaning.error.is_some()).count();
    note(&format!(
        "{} comments of {} generators beside {} references: {} pairs at most {} lines apart, judged by {}; {failed} failed",
        written.len(),
        args.predictions.len(),
        dataset.comments.len(),
        pairs.len(),
        args.gap,
        names.join(", ")
    ));
    Ok(if failed > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

impl Args {
    /// The judges that are named, each with a file of replies of its own in the folder of the run.
    fn open(&self) -> anyhow::Result<Vec<Opened>> {
        let mut opened = Vec::new();
        for (i, name) in self.meaning.iter().enumerate() {
            match name.split_once(':') {
                Some(("judge", spec)) => {
                    let replies = self.run.join(format!("judge{i}.replies.jsonl"));
                    opened.push(open(spec, self.concurrency, Some(&replies), self.offline, self.bounds)?);
                }
                _ if name == "exact" || is_by_models(name) => {}
                _ => {
                    let problem = format!("`--meaning {name}` is no decider");
                    return Err(UsageError::error(
                        problem,
                        "exact, judge:SPEC such as judge:openai:http://localhost:8080/v1#MODEL, embed:ENCODER, or \
                         embed+nli:ENCODER,CLASSIFIER",
                    ));
                }
            }
        }
        Ok(opened)
    }

    /// The encoders and classifiers that are named.
    fn models(&self) -> anyhow::Result<Vec<Box<dyn Compare>>> {
        let options = models(self.offline);
        let two = |names: &str| match names.split_once(',') {
            Some((encoder, classifier)) if !encoder.is_empty() && !classifier.is_empty() => {
                Ok(Box::new(Models::load(classifier, Some(encoder), &options)?) as Box<dyn Compare>)
            }
            _ => Err(UsageError::error(
                format!("`{BY_MODELS}{names}` does not name two models"),
                "write embed+nli:ENCODER,CLASSIFIER, such as embed+nli:all-minilm-l6-v2,nli-deberta-v3-base",
            )),
        };
        let load = |name: &String| match (name.strip_prefix(BY_MODELS), name.strip_prefix(BY_ENCODER)) {
            (Some(names), _) => Some(two(names)),
            (None, Some(encoder)) => {
                Some(Encoder::load(encoder, &options).map(|one| Box::new(one) as _).map_err(Into::into))
            }
            (None, None) => None,
        };
        self.meaning.iter().filter_map(load).collect()
    }
}

/// The part of the change that each reference is on, where the run was prepared.
fn hunks(run: &Path) -> Result<BTreeMap<String, String>, SuiteError> {
    #[derive(serde::Deserialize)]
    struct Line {
        comment: String,
        text: String,
    }
    let path = run.join("anchors.jsonl");
    match path.is_file() {
        false => Ok(BTreeMap::new()),
        true => Ok(lines::read::<Line>(&path)?.into_iter().map(|line| (line.comment, line.text)).collect()),
    }
}
