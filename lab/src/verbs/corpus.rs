//! `veridiff lab corpus`: git histories in, labelled pairs of statements out.

use std::path::PathBuf;

use veridiff::cli::verbs::Exit;
use veridiff::cli::{
    args::change::check_samples_file,
    interrupt, progress,
    terminal::{UsageError, note, print},
};
use veridiff_core::{
    run::{choice::Shard, models::ModelOptions},
    scorer::{Scorer, Unseen, describe},
    settings as scoring,
};
use veridiff_corpus::{
    CorpusError, Selection, Settings,
    aside::Aside,
    assemble,
    collect::{self, Job},
    history::{self, History},
    likelihood::{Likelihood, Remembered},
    part::Part,
    roads::{LEFT_OUT, NAMES},
};
use veridiff_engine::files::source::ResolveOptions;
use veridiff_text::sample::Task;

/// The heading of options that bound the work.
const BOUNDS: &str = "Bounds";

/// What `corpus` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab corpus --repo ../click ../mine=/src/repo -o corpus.jsonl";

/// Arguments of `veridiff lab corpus`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A git repository; NAME= before it says what its project is called, else the folder does (repeatable)
    #[arg(long = "repo", required = true, num_args = 1.., value_name = "[NAME=]DIR")]
    repos: Vec<String>,
    /// Where the samples go (.jsonl); the report goes beside them (.report.md), and finished work into a folder (.parts), from which
    /// an interrupted run goes on
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Repositories and hashes of changed lines that are not looked at, as JSON (repeatable)
    #[arg(long, value_name = "FILE")]
    keep_out: Vec<PathBuf>,
    /// Samples whose diffs are left out, such as those that measure (repeatable)
    #[arg(long, num_args = 1.., value_name = "FILE")]
    not_in: Vec<PathBuf>,
    /// Make twins in this way too, of those that are left out since readers found too many of their twins not false (repeatable)
    #[arg(long, value_name = "ROAD", value_parser = clap::builder::PossibleValuesParser::new(LEFT_OUT))]
    with: Vec<String>,
    /// Make no twins in this way (repeatable)
    #[arg(long, value_name = "ROAD", value_parser = clap::builder::PossibleValuesParser::new(NAMES))]
    without: Vec<String>,
    /// Leave a way of making twins out if a text's words alone tell them from true statements with this AUC
    #[arg(long, value_name = "AUC", default_value_t = Selection::default().max_auc, allow_negative_numbers = true, help_heading = BOUNDS, hide_short_help = true)]
    max_auc: f64,
    /// Also ask a language model how probable a text is without the change, and leave a way of making twins out if that tells them
    /// with --max-auc; named as for `score --model`
    #[arg(long, value_name = "MODEL")]
    likelihood: Option<String>,
    /// Look at the youngest N commits of each history
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_commits, help_heading = BOUNDS, hide_short_help = true)]
    max_commits: usize,
    /// Leave out commits that change more files
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_files, help_heading = BOUNDS, hide_short_help = true)]
    max_files: usize,
    /// Leave out commits whose diff has more bytes
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_diff, help_heading = BOUNDS, hide_short_help = true)]
    max_diff: usize,
    /// Search the youngest N commits of each history for comments that were rewritten with their code
    #[arg(long, value_name = "N", default_value_t = Settings::default().max_searched, help_heading = BOUNDS, hide_short_help = true)]
    max_searched: usize,
    /// Take at most so many statements of one project
    #[arg(long, value_name = "N", default_value_t = Selection::default().max_statements, help_heading = BOUNDS, hide_short_help = true)]
    max_statements: usize,
    /// Chooses among what is equally good
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = BOUNDS, hide_short_help = true)]
    seed: u64,
    /// Do the I-th of N shares of the work and write no samples; once all are done, a run without it does
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    check_samples_file(&args.output)?;
    if !(0.0..=1.0).contains(&args.max_auc) {
        let problem = format!("--max-auc is {}, which is no AUC from 0 to 1", args.max_auc);
        return Err(UsageError::error(problem, "0.5 is a coin; without the option it is 0.55"));
    }
    let aside = args.aside()?;
    let settings = args.settings();
    let (histories, n_skipped) = args.histories(&settings, &aside)?;
    let folder = args.output.with_extension("parts");
    std::fs::create_dir_all(&folder).map_err(|source| CorpusError::Write { path: folder.clone(), source })?;
    let all = collect::jobs(&histories, &folder, &settings, &aside);
    let mine = all.iter().enumerate().filter(|(place, _)| args.shard.is_none_or(|shard| shard.has(*place)));
    let mine: Vec<Job<'_>> = mine.map(|(_, job)| job.clone()).collect();
    let kept = folder.display().to_string();
    interrupt::keeps(move || format!("finished parts are kept in `{kept}`; the same command goes on from there"));
    let bar = progress::work(mine.len(), "parts");
    let done = |job: &Job<'_>| {
        bar.set_message(job.history.name.clone());
        bar.inc(1);
    };
    collect::run(&mine, &settings, &aside, done)?;
    drop(bar);
    let exit = if n_skipped == 0 { Exit::Done } else { Exit::SomeRowsFailed };
    if args.shard.is_some() {
        note(&format!("{} of {} parts are in `{}`", mine.len(), all.len(), folder.display()));
        return Ok(exit);
    }
    let parts = all.iter().map(|job| Part::read(&job.path)).collect::<Result<Vec<Part>, _>>()?;
    let scorer = args.likelihood.clone().map(scorer).transpose()?;
    let model = scorer.as_ref().map(Unread::new).transpose()?;
    let remembered = model.as_ref().map(|model| Remembered::open(model, &folder)).transpose()?;
    let corpus = assemble(parts, &args.selection(), remembered.as_ref())?;
    let report = corpus.write(&args.output)?;
    print(&corpus.report.to_string())?;
    note(&format!(
        "{} pairs are in `{}`, the report in `{}`",
        corpus.pairs.len(),
        args.output.display(),
        report.display()
    ));
    Ok(exit)
}

/// The one model of a name, loaded.
fn scorer(model: String) -> anyhow::Result<Scorer> {
    let fetch = ResolveOptions { progress: Some(progress::transfers()), ..ResolveOptions::default() };
    Ok(ModelOptions { models: vec![model], fetch, ..ModelOptions::default() }.load()?.remove(0))
}

/// A model in front of a text whose change it has not read.
struct Unread<'s> {
    name: String,
    unseen: Unseen<'s>,
}

impl<'s> Unread<'s> {
    fn new(scorer: &'s Scorer) -> anyhow::Result<Self> {
        let weights = scorer.provenance().iter().find(|(key, _)| key.starts_with("weights@"));
        let weights = weights.map_or("", |(_, fingerprint)| fingerprint);
        let name = format!("{} ({}), prompt `commit`", scorer.name, weights);
        Ok(Unread { name, unseen: scorer.unseen(Task::Commit, &scoring::Settings::default())? })
    }
}

impl Likelihood for Unread<'_> {
    fn model(&self) -> String {
        self.name.clone()
    }

    fn log_prob(&self, text: &str) -> Result<f64, String> {
        self.unseen.log_prob(text).map_err(|error| describe(&error))
    }
}

impl Args {
    fn settings(&self) -> Settings {
        Settings {
            seed: self.seed,
            max_commits: self.max_commits,
            max_files: self.max_files,
            max_diff: self.max_diff,
            max_searched: self.max_searched,
        }
    }

    fn aside(&self) -> Result<Aside, CorpusError> {
        let mut aside = Aside::default();
        self.keep_out.iter().try_for_each(|path| aside.add_list(path))?;
        self.not_in.iter().try_for_each(|path| aside.add_samples(path))?;
        Ok(aside)
    }

    fn selection(&self) -> Selection {
        let default = Selection::default();
        let left_out = default.without.iter().filter(|road| !self.with.contains(road));
        Selection {
            seed: self.seed,
            max_statements: self.max_statements,
            without: left_out.chain(&self.without).cloned().collect(),
            max_auc: self.max_auc,
            ..default.clone()
        }
    }

    /// The histories that can be used, and how many cannot, which are named.
    fn histories(&self, settings: &Settings, aside: &Aside) -> Result<(Vec<History>, usize), CorpusError> {
        let named = self.repos.iter().map(|repo| match repo.split_once('=') {
            Some((name, dir)) => (name.to_owned(), PathBuf::from(dir)),
            None => (history::name_of(repo.as_ref()), PathBuf::from(repo)),
        });
        let named: Vec<(String, PathBuf)> = named.collect();
        history::all_distinct(&named)?;
        let mut histories = Vec::new();
        for (name, dir) in &named {
            match History::open(name, dir, settings, aside) {
                Ok(history) => histories.push(history),
                Err(skipped) => note(&format!("warning: {} is skipped: {}", skipped.name, skipped.why)),
            }
        }
        let n_skipped = named.len() - histories.len();
        Ok((histories, n_skipped))
    }
}
