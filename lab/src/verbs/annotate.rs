//! `veridiff lab annotate`: a person labels samples along the core paper's decision tree.

use std::{
    collections::{HashMap, HashSet},
    io::IsTerminal,
    path::{Path, PathBuf},
};

use anyhow::Context;
use console::{Key, Term};

use veridiff::cli::verbs::Exit;
use veridiff::cli::{
    args::change::samples_of,
    terminal::{UsageError, note, print_styled},
};
use veridiff_annotation::{
    Annotation, AnnotationError, AnnotationFile, Annotations, Draw, Pressed, Session, SettledSample, Settlement, Size,
    Stratum, draw, settle,
};
use veridiff_annotation::{Earlier, definitions, question_lines, sample_page};
use veridiff_text::sample::{Renamed, Sample};

/// The heading of options about which samples are drawn.
const DRAW: &str = "Which samples";

/// What `annotate` is like in use.
const EXAMPLES: &str = "\
Examples:
  veridiff lab annotate --input samples.jsonl -o ann.jsonl --annotator ann --by generator    # run it again to go on
  veridiff lab annotate --input samples.jsonl -o both.jsonl --annotator both --resolve ann.jsonl bob.jsonl";

/// Arguments of `veridiff lab annotate`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Samples, one JSON object a line
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The annotator's file (JSONL); one that is there is gone on with, every answer is written at once
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Who answers; a file holds one annotator's answers
    #[arg(long, value_name = "NAME")]
    annotator: String,
    /// Draw as many samples as a share needs to be known within the margin with this confidence, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, allow_negative_numbers = true, help_heading = DRAW, hide_short_help = true)]
    confidence: f64,
    /// The margin of error, either way, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, allow_negative_numbers = true, help_heading = DRAW, hide_short_help = true)]
    margin: f64,
    /// Draw this many samples instead
    #[arg(long, value_name = "N", conflicts_with_all = ["confidence", "margin"],
          value_parser = clap::value_parser!(u64).range(1..), help_heading = DRAW)]
    size: Option<u64>,
    /// Take every sample
    #[arg(long, conflicts_with_all = ["confidence", "margin", "size"], help_heading = DRAW)]
    all: bool,
    /// Spread the draw over this key's values in proportion, and over the same diffs where they have the same
    #[arg(long, value_name = "KEY", help_heading = DRAW)]
    by: Option<String>,
    /// With --by: draw that many for each value, as the core paper does, and not for all together
    #[arg(long, requires = "by", help_heading = DRAW, hide_short_help = true)]
    each: bool,
    /// Seed of the draw: the same input and options give every annotator the same samples in the same order
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = DRAW, hide_short_help = true)]
    seed: u64,
    /// Which round; a later one goes on in the order of the draw where one of the same size before it ended
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = DRAW, hide_short_help = true)]
    round: u32,
    /// Instead of a draw, the samples on which these annotators differ, with their answers, to settle them together
    #[arg(long, value_name = "FILE", num_args = 2..,
          conflicts_with_all = ["confidence", "margin", "size", "all", "by", "each", "seed"])]
    resolve: Vec<PathBuf>,
}

/// Runs the verb.
pub fn run(args: Args) -> anyhow::Result<Exit> {
    let annotator = args.annotator.trim();
    if annotator.is_empty() {
        return Err(UsageError::error("`--annotator` is blank", "give a name, such as `--annotator ann`"));
    }
    let all = samples(&args.input)?;
    let place = || format!("cannot annotate the samples of `{}`", args.input.display());
    let disputed = args.disputed()?;
    let chosen = match &disputed {
        Some(disputed) => args.find(&all, disputed)?,
        None => args.draw(&all).with_context(place)?,
    };
    let (mut file, before) = AnnotationFile::open(&args.output, annotator)?;
    warn_of_other_rounds(&before, &chosen, args.round);
    let mut session = Session::new(annotator, args.round, chosen, &before);
    note(&format!("round {}: {} of {} answered", args.round, session.n_answered(), session.len()));

    let mut keys = Keys::new();
    let stopped =
        Dialogue { session: &mut session, keys: &mut keys, disputed: disputed.as_deref(), file: &mut file }.run()?;
    let (n, of) = (session.n_answered(), session.len());
    if matches!(stopped, Stop::EndOfInput { keys: 0 }) {
        return Err(UsageError::error(
            "the input ended before the first key",
            "run this in a terminal, or give it keys on stdin, one a line",
        ));
    }
    let rest = if n < of { "; run the same command to go on" } else { "" };
    note(&format!("{n} of {of} answered, in `{}`{rest}", args.output.display()));
    Ok(Exit::Done)
}

/// Every sample of a file, under the ids that `score` gives them; a line that is none is refused.
pub(super) fn samples(path: &Path) -> anyhow::Result<Vec<Sample>> {
    let mut read = samples_of(path)?;
    if !read.unreadable.is_empty() {
        return Err(read.unreadable.remove(0)).with_context(|| format!("cannot read `{}`", path.display()));
    }
    if let Some(Renamed { n, first }) = &read.renamed {
        note(&format!("{n} samples share an id with an earlier one and are renamed, the first to `{first}`"));
    }
    Ok(read.into_samples())
}

impl Args {
    fn draw<'a>(&self, samples: &'a [Sample]) -> Result<Vec<&'a Sample>, AnnotationError> {
        let size = match self.size {
            Some(size) => Size::Count(usize::try_from(size).unwrap_or(usize::MAX)),
            None if self.all => Size::All,
            None => Size::Margin { confidence: self.confidence, margin: self.margin },
        };
        let how = Draw { size, by: self.by.clone(), each: self.each, seed: self.seed, round: self.round };
        let drawn = draw(samples, &how)?;
        let why = match size {
            Size::Margin { confidence, margin } => {
                let each = if self.each { ", for each value" } else { "" };
                format!(" (±{} points at {}%{each}; seed {})", 100.0 * margin, 100.0 * confidence, self.seed)
            }
            Size::Count(_) => format!(" (seed {})", self.seed),
            Size::All => String::new(),
        };
        note(&format!("{} of {} samples drawn{why}", drawn.rows.len(), samples.len()));
        if let Some(by) = &self.by {
            let of =
                |s: &Stratum| format!("{} {} of {}", s.value.as_deref().unwrap_or("(none)"), s.drawn, s.population);
            note(&format!("by {by}: {}", drawn.strata.iter().map(of).collect::<Vec<_>>().join(", ")));
        }
        Ok(drawn.rows.into_iter().map(|row| &samples[row]).collect())
    }

    /// With --resolve, what the annotators differ on.
    fn disputed(&self) -> anyhow::Result<Option<Vec<SettledSample>>> {
        if self.resolve.is_empty() {
            return Ok(None);
        }
        let files = self.resolve.iter().map(|path| Annotations::read(path)).collect::<Result<Vec<_>, _>>()?;
        let (mut settled, other_texts) = settle(&files, None);
        for other in &other_texts {
            note(&format!("note: `{}` answered `{}` on other texts; left out", other.annotator, other.id));
        }
        settled.retain(|sample| !matches!(sample.settlement, Settlement::Settled(_)));
        if settled.is_empty() {
            return Err(UsageError::error(
                "the annotators differ on nothing",
                "there is nothing to settle: see `agree`",
            ));
        }
        Ok(Some(settled))
    }

    fn find<'a>(&self, samples: &'a [Sample], disputed: &[SettledSample]) -> anyhow::Result<Vec<&'a Sample>> {
        let by_id: HashMap<&str, &Sample> = samples.iter().map(|sample| (sample.id.as_str(), sample)).collect();
        let find = |wanted: &SettledSample| {
            let sample = by_id.get(wanted.id.as_str()).copied();
            sample.filter(|sample| veridiff_text::sample::fingerprint(sample) == wanted.texts).ok_or_else(|| {
                UsageError::error(
                    format!("`{}` does not hold the sample `{}` as it was annotated", self.input.display(), wanted.id),
                    "give the samples that the annotators had",
                )
            })
        };
        let found = disputed.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        note(&format!("{} samples to settle", found.len()));
        Ok(found)
    }
}

fn warn_of_other_rounds(before: &[Annotation], chosen: &[&Sample], round: u32) {
    let ids: HashSet<&str> = chosen.iter().map(|sample| sample.id.as_str()).collect();
    let again: HashSet<&str> = before.iter().filter(|a| a.round != round).map(|a| a.id.as_str()).collect();
    let n = again.intersection(&ids).count();
    if n > 0 {
        note(&format!(
            "note: {n} of the samples were answered in other rounds of this file too; the latest round counts"
        ));
    }
}

/// Where keys come from.
enum Keys {
    /// A terminal: single keys.
    Terminal(Term),
    /// A file or a pipe: a line each.
    Lines {
        /// Keys read.
        n: usize,
    },
}

/// What somebody typed.
enum Typed {
    /// A single key.
    Key(char),
    /// The name of an answer, or anything else that is no single key.
    Word(String),
    /// The input has ended.
    End,
}

impl Keys {
    fn new() -> Keys {
        let term = Term::stdout();
        if std::io::stdin().is_terminal() && term.is_term() { Keys::Terminal(term) } else { Keys::Lines { n: 0 } }
    }

    /// Columns to wrap at; none where nobody looks.
    fn columns(&self) -> Option<usize> {
        match self {
            Keys::Terminal(term) => Some(usize::from(term.size().1)),
            Keys::Lines { .. } => None,
        }
    }

    fn read(&mut self) -> anyhow::Result<Typed> {
        match self {
            Keys::Terminal(term) => loop {
                match term.read_key() {
                    // control-D ends an input
                    Ok(Key::Char('\u{4}')) => return Ok(Typed::End),
                    Ok(Key::Char(key)) if !key.is_control() => return Ok(Typed::Key(key)),
                    Ok(Key::Backspace | Key::ArrowLeft) => return Ok(Typed::Key('b')),
                    Ok(_) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(Typed::End),
                    Err(error) => return Err(error).context("cannot read from the terminal"),
                }
            },
            Keys::Lines { n } => loop {
                let Some(line) = read_line()? else { return Ok(Typed::End) };
                let word = line.trim();
                let mut letters = word.chars();
                match (letters.next(), letters.next()) {
                    (None, _) => {}
                    (Some(key), None) => {
                        *n += 1;
                        return Ok(Typed::Key(key));
                    }
                    _ => {
                        *n += 1;
                        return Ok(Typed::Word(word.to_owned()));
                    }
                }
            },
        }
    }

    /// A line of text; `None` at the end of the input.
    fn line(&mut self) -> anyhow::Result<Option<String>> {
        match self {
            Keys::Terminal(term) => match term.read_line() {
                Ok(line) => Ok(Some(line)),
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
                Err(error) => Err(error).context("cannot read from the terminal"),
            },
            Keys::Lines { .. } => read_line(),
        }
    }
}

fn read_line() -> anyhow::Result<Option<String>> {
    let mut bytes = Vec::new();
    let n =
        std::io::BufRead::read_until(&mut std::io::stdin().lock(), b'\n', &mut bytes).context("cannot read stdin")?;
    Ok((n > 0).then(|| String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned()))
}

/// Why the dialogue stopped.
enum Stop {
    /// There is no further sample.
    Finished,
    /// Somebody said so.
    Quit,
    /// There are no further keys.
    EndOfInput {
        /// How many there were, on a pipe.
        keys: usize,
    },
}

/// A person's answers to a session's questions, each written to the file when it is given.
struct Dialogue<'d, 'a> {
    session: &'d mut Session<'a>,
    keys: &'d mut Keys,
    disputed: Option<&'d [SettledSample]>,
    file: &'d mut AnnotationFile,
}

impl Dialogue<'_, '_> {
    fn run(&mut self) -> anyhow::Result<Stop> {
        let mut shown = None;
        while let (Some(sample), Some(question)) = (self.session.sample(), self.session.question()) {
            if shown != Some(self.session.place()) {
                shown = Some(self.session.place());
                print_styled(&sample_page(self.session, &self.earlier(), self.keys.columns()))?;
            }
            print_styled(&question_lines(question, sample.task))?;
            let key = match self.keys.read()? {
                Typed::Key(key) => key,
                Typed::Word(word) => {
                    match question.choices.iter().find(|choice| choice.name.eq_ignore_ascii_case(&word)) {
                        Some(choice) => choice.key,
                        None => {
                            self.say(&format!("`{word}` is no answer here"))?;
                            continue;
                        }
                    }
                }
                Typed::End => return Ok(self.end_of_input()),
            };
            match self.session.press(key) {
                Pressed::Asked(choice) => self.say(choice.name)?,
                Pressed::Answered(choice, answer) => {
                    self.file.append(&answer)?;
                    let outcome = answer.outcome.name();
                    self.say(&if choice.name == outcome {
                        outcome.to_owned()
                    } else {
                        format!("{}: {outcome}", choice.name)
                    })?;
                }
                Pressed::Unknown => match key.to_ascii_lowercase() {
                    'b' if self.session.back() => {}
                    'b' => self.say("this is the first sample")?,
                    's' => self.session.skip(),
                    'r' => shown = None,
                    '?' | 'h' => print_styled(&definitions(sample.task, self.keys.columns()))?,
                    'w' => {
                        print_styled("note (empty for none): ")?;
                        let Some(line) = self.keys.line()? else { return Ok(self.end_of_input()) };
                        self.session.set_note(&line);
                    }
                    'q' => return Ok(Stop::Quit),
                    _ => self.say(&format!("`{key}` is no answer here"))?,
                },
            }
        }
        Ok(Stop::Finished)
    }

    fn say(&self, what: &str) -> anyhow::Result<()> {
        print_styled(&format!("> {}\n", veridiff_text::printable::printable(what)))
    }

    fn end_of_input(&self) -> Stop {
        Stop::EndOfInput {
            keys: match &*self.keys {
                Keys::Terminal(_) => usize::MAX,
                Keys::Lines { n } => *n,
            },
        }
    }

    /// What is shown of answers to the open sample: one's own, and those to settle.
    fn earlier(&self) -> Vec<Earlier> {
        let sample = self.session.sample();
        let to_settle = self.disputed.into_iter().flatten().find(|settled| sample.is_some_and(|s| s.id == settled.id));
        let theirs = to_settle.into_iter().flat_map(|settled| &settled.answers).map(|(who, outcome, note)| Earlier {
            who: who.clone(),
            outcome: *outcome,
            note: note.clone(),
        });
        let own = self.session.answer().map(|answer| Earlier {
            who: "your answer so far".to_owned(),
            outcome: answer.outcome,
            note: answer.note.clone(),
        });
        theirs.chain(own).collect()
    }
}
