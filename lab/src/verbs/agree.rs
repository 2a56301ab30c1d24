//! `veridiff lab agree`: how far annotators agree, where they differ, and what is settled as labels.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::{Exit, annotate::samples};
use veridiff::cli::{
    args::choice,
    terminal::{UsageError, note, print},
};
use veridiff_annotation::agreement_page;
use veridiff_annotation::{
    Annotations, LabelCount, PairAgreement, SettledSample, Settlement, pair_agreement, put_labels, settle,
};
use veridiff_report::TableFormat;
use veridiff_table::files;
use veridiff_text::sample::Sample;

/// The annotation files that a verb reads.
#[derive(Debug, clap::Args)]
pub(super) struct FileArgs {
    /// Annotation files, one an annotator, as `annotate` writes them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The annotation file of what was settled together (`annotate --resolve`); it counts before the others
    #[arg(long, value_name = "FILE")]
    settled: Option<PathBuf>,
}

/// What stands in the annotation files.
pub(super) struct Files {
    /// The annotators' answers, one file each, none empty.
    pub(super) files: Vec<Annotations>,
    /// The answers that were settled together.
    decided: Option<Annotations>,
}

impl FileArgs {
    /// Reads the files; one without answers is refused.
    pub(super) fn read(&self) -> anyhow::Result<Files> {
        let files = self.files.iter().map(|path| Annotations::read(path)).collect::<Result<Vec<_>, _>>()?;
        if let Some(empty) = files.iter().find(|file| file.answers.is_empty()) {
            let problem = format!("`{}` holds no answers", empty.path.display());
            return Err(UsageError::error(problem, "`veridiff lab annotate --output` writes them"));
        }
        let decided = self.settled.as_deref().map(Annotations::read).transpose()?;
        Ok(Files { files, decided })
    }
}

impl Files {
    /// The annotators' names; with the file's where two files are one person's.
    fn names(&self) -> Vec<String> {
        let name = |file: &Annotations| {
            let alone = self.files.iter().filter(|other| other.annotator == file.annotator).count() == 1;
            let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
            if alone { file.annotator.clone() } else { format!("{} ({stem})", file.annotator) }
        };
        self.files.iter().map(name).collect()
    }

    /// One answer a sample, and what a reader should know.
    pub(super) fn settle(&self) -> (Vec<SettledSample>, Vec<String>) {
        let (settled, other_texts) = settle(&self.files, self.decided.as_ref());
        let note = |other: &veridiff_annotation::OtherTexts| {
            format!("`{}` answered `{}` on other texts than the first annotator: left out", other.annotator, other.id)
        };
        let mut notes: Vec<String> = listed(&other_texts.iter().map(note).collect::<Vec<_>>());
        let disputed = settled.iter().filter(|s| !matches!(s.settlement, Settlement::Settled(_))).count();
        if disputed > 0 {
            notes.push(format!(
                "the annotators differ on {disputed} of {} samples; `annotate --resolve` settles them, and `--settled` takes \
                 the file it writes",
                settled.len()
            ));
        }
        (settled, notes)
    }
}

/// How many notes of one kind are printed; the rest is counted.
const MAX_NOTES: usize = 3;

/// How many samples a note names; the rest is counted.
const MAX_IDS: usize = 5;

/// The first of many notes, and how many more.
fn listed(notes: &[String]) -> Vec<String> {
    let mut first: Vec<String> = notes.iter().take(MAX_NOTES).cloned().collect();
    if notes.len() > MAX_NOTES {
        first.push(format!("and {} more", notes.len() - MAX_NOTES));
    }
    first
}

/// What `agree` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab agree ann.jsonl bob.jsonl
  veridiff lab agree ann.jsonl bob.jsonl --settled both.jsonl --input samples.jsonl -o labelled.jsonl";

/// Arguments of `veridiff lab agree`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    files: FileArgs,
    /// Write the samples of this file (JSONL) with what was settled as `label` and `label_type`
    #[arg(long, value_name = "FILE", requires = "output")]
    input: Option<PathBuf>,
    /// Where they go, ready for `score`
    #[arg(short, long, value_name = "FILE", requires = "input")]
    output: Option<PathBuf>,
    /// Write only samples that have a label then
    #[arg(long, requires = "output")]
    labelled_only: bool,
    /// How the tables are printed
    #[arg(long, value_parser = choice::<TableFormat>(TableFormat::NAMES), default_value_t = TableFormat::Text)]
    format: TableFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let files = args.files.read()?;
    if files.files.len() == 1 && args.output.is_none() {
        return Err(UsageError::error(
            "one file has nobody to agree with",
            "give two annotators' files; `prevalence` counts those of one, `--input` with `--output` makes labels of them",
        ));
    }
    let names = files.names();
    let mut pairs = Vec::new();
    for (i, first) in files.files.iter().enumerate() {
        for (j, second) in files.files.iter().enumerate().skip(i + 1) {
            pairs.push(pair_agreement(first, second, [&names[i], &names[j]]));
        }
    }
    if !pairs.is_empty() && pairs.iter().all(|pair| pair.levels[0].kappa.n == 0) {
        return Err(UsageError::error(
            "no sample was answered by two of these annotators in the same round",
            "annotators of one round run `annotate` with the same input, `--seed`, `--round` and size",
        ));
    }
    let (settled, mut notes) = files.settle();
    notes.splice(0..0, pairs.iter().flat_map(notes_of));
    if !pairs.is_empty() {
        let format = if args.json { TableFormat::Json } else { args.format };
        print(&agreement_page(&pairs, &notes, format))?;
        if format == TableFormat::Csv {
            notes.iter().for_each(|line| note(&format!("note: {line}")));
        }
    }
    if let (Some(input), Some(output)) = (&args.input, &args.output) {
        let mut samples = samples(input)?;
        let count = put_labels(&mut samples, &settled);
        if args.labelled_only {
            samples.retain(|sample| sample.label.is_some());
        }
        write_samples(&samples, output)?;
        tell(&count, samples.len(), output);
    }
    Ok(Exit::Done)
}

/// What a reader of a pair's figures should know.
fn notes_of(pair: &PairAgreement) -> Vec<String> {
    let some = |ids: &[String]| {
        let first: Vec<String> = ids.iter().take(MAX_IDS).map(|id| format!("`{id}`")).collect();
        let more = if ids.len() > MAX_IDS { format!(" and {} more", ids.len() - MAX_IDS) } else { String::new() };
        format!("{}{more}", first.join(", "))
    };
    let mut notes = Vec::new();
    for (ids, what) in [
        (&pair.only_first, format!("only {} answered", pair.first)),
        (&pair.only_second, format!("only {} answered", pair.second)),
        (&pair.other_texts, format!("other texts under one id for {} and {}, left out:", pair.first, pair.second)),
    ] {
        if !ids.is_empty() {
            notes.push(format!("{what} {} ({})", some(ids), ids.len()));
        }
    }
    let undefined = pair.levels.iter().any(|level| level.kappa.n > 0 && level.kappa.kappa.is_none());
    if undefined {
        notes.push(format!(
            "no kappa where {} and {} both gave the same answer to every sample: chance alone agrees as often",
            pair.first, pair.second
        ));
    }
    notes
}

/// One JSON object a line, as samples are read; whole or not at all, for samples may be written over themselves.
fn write_samples(samples: &[Sample], path: &Path) -> anyhow::Result<()> {
    let lines = samples.iter().map(|sample| {
        let mut object = sample.to_row();
        object.insert("diff".into(), sample.diff.clone().into());
        object.insert("text".into(), sample.text.clone().into());
        format!("{}\n", serde_json::Value::Object(object))
    });
    files::write(path, lines.collect::<String>()).with_context(|| format!("cannot write `{}`", path.display()))
}

fn tell(count: &LabelCount, n_written: usize, output: &Path) {
    let n = count.labelled + count.type_disputed;
    let samples = if n == 1 { "sample" } else { "samples" };
    note(&format!("{n} {samples} labelled, {n_written} written to `{}`", output.display()));
    for (n, what) in [
        (count.type_disputed, "of them have no type: the annotators differ on it"),
        (count.unsure, "are unsure and have no label"),
        (count.disputed, "have no label: the annotators differ on it"),
        (count.unanswered, "were not annotated and are as they were"),
        (count.other_texts, "were annotated with other texts under their id and are as they were"),
    ] {
        if n > 0 {
            note(&format!("note: {n} {what}"));
        }
    }
}
