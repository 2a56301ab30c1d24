//! `veridiff score`: samples in, feature table out.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Exit,
    remote::{self, Remotes},
};
use crate::cli::{
    args::{
        references::{ReferenceArgs, in_options},
        samples::{BeginArgs, ChoiceArgs, print_summary, tell_failures},
        scoring::{ModelArgs, SettingArgs},
    },
    interrupt,
    progress::{self, RunBar, about},
    terminal::{UsageError, note, offer, print},
};
use veridiff_core::{
    Error,
    families::{catalogue::FeatureSet, family::SCORER, reference::BLEU4},
    preset,
    run::{
        estimate::{Basis, Estimate, SourceEstimate},
        forecast::Time,
        score::{Begin, ScoreRun, Summary, journal_path},
        source::ColumnSource,
        sources::ScorerSource,
    },
    settings::Settings,
};
use veridiff_table::{Row, Table};

/// What `score` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff score --input samples.jsonl -o table.parquet --estimate   # how long would it take?
  veridiff score --input samples.jsonl -o table.parquet              # one forward pass a row
  veridiff score --input samples.jsonl -o table.parquet --resume     # go on where a run stopped
  veridiff score --input samples.jsonl -o paper.parquet --preset paper
  veridiff score --input samples.jsonl --features grounding,facts    # without a model, rows to stdout
  veridiff score --input samples.jsonl -o table.parquet --model big=openai:https://host/v1#MODEL   # by a server's log-probabilities";

/// Rows that are computed to know how long a source takes that cannot foretell it.
const MEASURED: usize = 6;

/// Arguments of `veridiff score`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Samples, one JSON object a line; `-` reads stdin. The second sample with the id `a` is called `a-2`, the third `a-3`
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Feature table (.parquet, .csv or .jsonl); without it rows go to stdout as JSON lines
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Features or families (uncertainty, attribution, shape, contrast, edits, adapter, lines, attention, hidden,
    /// grounding, form, facts, similarity, reference, execution) to compute, `*` for any letters; grounding, form and facts need no model [default: the preset's; without one
    /// uncertainty, grounding, form and facts, and what encoders and classifiers that are named give]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    features: Vec<String>,
    /// Say how long all rows would take and in how much memory, by their tokens and two seconds of measuring, and write nothing
    #[arg(long, conflicts_with_all = ["resume", "overwrite"])]
    estimate: bool,
    /// What this machine costs an hour, in any currency: the estimate says what all rows would cost
    #[arg(long, value_name = "AMOUNT", value_parser = price, requires = "estimate")]
    price: Option<f64>,
    #[command(flatten)]
    begin: BeginArgs,
    /// Print a summary of the run, or the estimate, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    references: ReferenceArgs,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    if let Some(output) = &args.output {
        Table::check_output(output)?;
    }
    if args.json && args.output.is_none() && !args.estimate {
        return Err(UsageError::error("--json needs --output or --estimate", "rows go to stdout without it"));
    }
    let preset = args.settings.preset.as_deref().map(preset::find).transpose()?;
    let columns = preset.and_then(|preset| preset.columns.as_ref());
    let base = if preset.is_some() { FeatureSet::default() } else { FeatureSet::recommended() };
    let references = args.references.references()?;
    let choice = references.choose(&args.features, columns, base).map_err(in_options)?;
    if let Some(classifiers) = &choice.without_entailment {
        let hint = format!("built-in ones: {}", classifiers.join(", "));
        note(&format!("without a --classifier only `{BLEU4}` is computed of the family reference ({hint})"));
    }
    let settings =
        Settings { max_memory: args.model.place.max_memory, ..args.settings.settings(choice.features.clone())? };
    let (samples, n_unreadable) = args.choice.samples(&args.input)?;
    choice.check()?;
    let (remote, local) = Remotes::split(&args.model)?;
    let mut models = local.options()?;
    models.models = preset::models(columns.map_or(&[], |columns| columns.models), &models.models);
    // where servers alone are named, the default model is not meant
    let needs_files = choice.features.needs_source(SCORER) && (remote.is_empty() || !models.models.is_empty());
    let files = if needs_files { models.files()? } else { Vec::new() };
    let mut names: Vec<String> = files.iter().map(|files| files.name.clone()).collect();
    let servers = remote.sources(&settings, &names, args.output.as_deref(), samples.len())?;
    names.extend(servers.iter().map(|server| server.name().to_owned()));
    let scorers = models.prepare(files)?.into_iter().map(ScorerSource::from);
    let mut sources: Vec<Box<dyn ColumnSource>> = scorers.map(|scorer| Box::new(scorer) as _).collect();
    let stopped = remote::Stopped::of(&servers);
    sources.extend(servers.into_iter().map(|server| Box::new(server) as Box<dyn ColumnSource>));
    sources.extend(references.sources(&choice, &models, &names).map_err(|error| match error {
        Error::Reference(error) => in_options(error),
        other => other.into(),
    })?);
    // with it goes the bar of what was fetched
    drop(models);
    let bar = args.bar(&choice.features);
    let run = ScoreRun::new(samples, sources, settings, args.choice.shard);
    if args.estimate {
        let estimate = progress::waiting("measuring for some seconds", || run.estimate(MEASURED))?;
        return args.tell_estimate(&estimate).map(|()| Exit::Done);
    }
    let summary = match &args.output {
        None => stream(run, bar)?,
        Some(output) => {
            args.keeps(output);
            run.write(output, args.begin.begin(), &mut { bar })?
        }
    };
    args.tell(&summary, n_unreadable)?;
    stopped.tell();
    Ok(if summary.n_failed + n_unreadable > 0 { Exit::SomeRowsFailed } else { Exit::Done })
}

/// Prints rows as JSON lines as they come; a reader that has gone away ends the run.
fn stream(run: ScoreRun, mut bar: RunBar) -> anyhow::Result<Summary> {
    interrupt::keeps(|| {
        "nothing but the rows that were printed is kept; with --output FILE a run can go on".to_owned()
    });
    let mut failed = Ok(());
    let summary =
        run.stream(&mut bar, &mut |row| match progress::beside_bars(|| offer(&format!("{}\n", Value::Object(row)))) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                failed = Err(error);
                ControlFlow::Break(())
            }
        })?;
    failed.map(|()| summary)
}

impl Args {
    /// What is told of a long run.
    fn bar(&self, features: &FeatureSet) -> RunBar {
        let mut beside = match self.output {
            Some(_) => "what is finished is kept, so Ctrl-C and --resume will do".to_owned(),
            None => "with --output FILE what is finished would be kept".to_owned(),
        };
        if features.needs_attribution() {
            beside +=
                "; most of it goes into attribution, which --features uncertainty,grounding,facts,form leaves out";
        }
        RunBar::beside(beside)
    }

    /// Has Ctrl-C say what is kept.
    fn keeps(&self, output: &Path) {
        let journal = journal_path(output).display().to_string();
        interrupt::keeps(move || match Path::new(&journal).exists() {
            true => format!("what is finished is kept in `{journal}`; go on with the same command and --resume"),
            false => "nothing was finished yet".to_owned(),
        });
    }

    /// Says what a run would take.
    fn tell_estimate(&self, estimate: &Estimate) -> anyhow::Result<()> {
        let money = self.price.map(|price| price * estimate.seconds() / 3600.0);
        if self.json {
            return print(&format!("{}\n", estimate_json(estimate, self.price.zip(money))));
        }
        let Estimate { n_rows, sources } = estimate;
        let width = sources.iter().map(|source| source.name.len()).max().unwrap_or_default();
        let mut page = String::new();
        for SourceEstimate { name, seconds, basis, memory } in sources {
            let length = about(Duration::from_secs_f64(*seconds));
            let basis = match basis {
                Basis::Rows(1) => "by one row that was computed".to_owned(),
                Basis::Rows(n) => format!("by {n} rows that were computed"),
                Basis::Work(Time { n_tokens, operations, n_workers, .. }) => format!(
                    "by {n_tokens:.0} tokens, {:.3} TFLOP at {:.0} GFLOP/s, {}",
                    operations / 1e12,
                    operations / seconds / 1e9,
                    if *n_workers == 1 {
                        "one row at a time".to_owned()
                    } else {
                        format!("{n_workers} rows at a time")
                    },
                ),
            };
            page += &format!("{name:width$}  {:>8.3} s a row  {length}, {basis}\n", seconds / *n_rows as f64);
            page += &memory.as_ref().map_or(String::new(), |memory| format!("{:width$}  {}\n", "", memory.text));
        }
        page += &format!(
            "{n_rows} rows take {}, {:.3} hours{}; loading models comes on top\n",
            about(Duration::from_secs_f64(estimate.seconds())),
            estimate.seconds() / 3600.0,
            self.price
                .zip(money)
                .map_or(String::new(), |(price, money)| format!(", and cost {} at {price} an hour", amount(money))),
        );
        print(&page)
    }

    /// Says what became of the rows.
    fn tell(&self, summary: &Summary, n_unreadable: usize) -> anyhow::Result<()> {
        if let (Some(output), Begin::New, false, 0) = (&self.output, self.begin.begin(), self.json, summary.n_new) {
            let (n, output) = (summary.n_rows, output.display());
            note(&format!(
                "nothing to do: `{output}` has all {n} rows, computed with these settings (--overwrite starts anew)"
            ));
            return Ok(());
        }
        tell_failures(summary);
        if summary.n_left_out > 0 {
            note(&format!(
                "note: {} rows of the earlier run are not among these samples, and not in the table any more; the journal keeps them",
                summary.n_left_out
            ));
        }
        if self.json {
            let of_models = [("cut".into(), summary.n_cut.into()), ("tokens".into(), summary.n_tokens.into())];
            return print_summary(summary, n_unreadable, self.output.as_deref(), Row::from_iter(of_models));
        }
        let rate = |n: f64| if summary.seconds > 0.0 { n / summary.seconds } else { 0.0 };
        note(&format!(
            "{} rows ({} now in {:.1} s: {:.2} rows/s, {:.0} tokens/s), {} failed, {} with a cut diff, {} unreadable lines",
            summary.n_rows,
            summary.n_new,
            summary.seconds,
            rate(summary.n_new as f64),
            rate(summary.n_tokens as f64),
            summary.n_failed,
            summary.n_cut,
            n_unreadable
        ));
        Ok(())
    }
}

/// A price an hour with how to mend it, which clap prints.
fn price(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(price) if price.is_finite() && price >= 0.0 => Ok(price),
        _ => {
            Err("a price an hour is a number from 0 on, such as 1.20; the currency is yours and is left out".to_owned())
        }
    }
}

/// An amount of money: hundredths, or the first two digits of less.
fn amount(money: f64) -> String {
    let digits = if money >= 0.1 || money == 0.0 { 2 } else { (1.0 - money.log10().floor()) as usize };
    format!("{money:.digits$}")
}

/// An estimate, and a price an hour with the money that comes of it.
fn estimate_json(estimate: &Estimate, price: Option<(f64, f64)>) -> Value {
    let each = |seconds: f64| seconds / estimate.n_rows.max(1) as f64;
    let of = |source: &SourceEstimate| {
        let mut row = json!({
            "source": source.name,
            "seconds": source.seconds,
            "seconds_per_row": each(source.seconds),
            "memory_bytes": source.memory.as_ref().and_then(|memory| memory.bytes),
        });
        match source.basis {
            Basis::Rows(n) => row["measured"] = n.into(),
            Basis::Work(Time { n_tokens, operations, n_workers, taken, .. }) => {
                row["work"] = json!({
                    "tokens": n_tokens, "operations": operations, "side_by_side": n_workers, "taken_seconds": taken,
                });
            }
        }
        row
    };
    let mut all = json!({
        "rows": estimate.n_rows,
        "seconds": estimate.seconds(),
        "seconds_per_row": each(estimate.seconds()),
        "hours": estimate.seconds() / 3600.0,
        "memory_bytes": estimate.memory(),
        "sources": estimate.sources.iter().map(of).collect::<Vec<_>>(),
    });
    if let Some((price, money)) = price {
        all["price_per_hour"] = price.into();
        all["cost"] = money.into();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_said_in_hundredths_or_in_two_digits() {
        let said = [0.0, 12.3456, 0.1, 0.0789, 0.000_123].map(amount);
        assert_eq!(said, ["0.00", "12.35", "0.10", "0.079", "0.00012"]);
    }

    #[test]
    fn a_price_is_a_number_from_nothing_on() {
        assert_eq!((price("1.20"), price("0")), (Ok(1.2), Ok(0.0)));
        for text in ["", "-1", "nan", "inf", "1.20 EUR", "1,20"] {
            assert!(price(text).unwrap_err().contains("1.20"), "{text}");
        }
    }
}
