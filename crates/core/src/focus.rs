//! What a model reads of a change that is longer than a budget of tokens: the hunks that the text speaks of.

use std::sync::Arc;

use crate::{
    Result,
    measurement::Measurement,
    scorer::{Scorer, Workspace},
    settings::Settings,
};
use veridiff_engine::plan::Limits;
use veridiff_facts::case::Case;
use veridiff_facts::{change::Change, topic};
use veridiff_text::{
    diff::{Diff, Hunk},
    sample::Sample,
};

/// Hunks of a change that stand for the whole.
#[derive(Debug, Clone)]
pub struct Focus {
    /// The text beside these hunks alone.
    pub case: Arc<Case>,
    /// For each line of its diff the line of the whole one.
    pub lines: Vec<usize>,
    /// How many hunks were chosen, and of how many.
    pub n_read: usize,
    /// How many hunks the change has.
    pub n_hunks: usize,
    /// Whether no hunk that the text points at was left out.
    pub has_all_named: bool,
    /// Where the chosen hunks are, as `file:line`, the one that the text is most about first.
    places: Vec<String>,
}

/// What a model made of a case.
#[derive(Debug)]
pub struct Focused {
    /// The whole change, and the text.
    pub case: Arc<Case>,
    /// Of the whole case, or of the hunks that stand for it.
    pub measurement: Measurement,
    /// These hunks; none where the model read the whole change.
    pub focus: Option<Focus>,
}

/// How much of a change a model read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// What to say of it, if it was not all.
    pub note: Option<String>,
    /// Whether something that the text may speak of was left out: what a detector makes of the rest decides nothing.
    pub is_partial: bool,
}

impl Focused {
    /// Runs a model over a case: of a change that is too long for it, over the hunks that the text speaks of.
    ///
    /// # Errors
    /// Those of [`Scorer::measure_in`].
    pub fn measure(
        scorer: &Scorer,
        workspace: &mut Workspace,
        case: &Arc<Case>,
        settings: &Settings,
    ) -> Result<Focused> {
        let focus = Focus::of(scorer, case, settings)?;
        let read = focus.as_ref().map_or(case, |focus| &focus.case);
        Ok(Focused { case: Arc::clone(case), measurement: scorer.measure_in(workspace, read, settings)?, focus })
    }

    /// The same of a sample by itself, with the memory that the settings allow.
    ///
    /// # Errors
    /// The change cannot be read; those of [`Scorer::measure_in`].
    pub fn of_sample(scorer: &Scorer, sample: &Sample, settings: &Settings) -> Result<Focused> {
        let limits = Limits { max_bytes: settings.max_memory, ..Limits::default() };
        Focused::measure(scorer, &mut Workspace::new(limits), &Arc::new(Case::of_sample(sample)?), settings)
    }

    /// How many tokens a model reads of a sample: of the prompt, and of the text.
    ///
    /// # Errors
    /// The change cannot be read; those of [`Scorer::encode`].
    pub fn n_tokens(scorer: &Scorer, sample: &Sample, settings: &Settings) -> Result<(usize, usize)> {
        let case = Case::of_sample(sample)?;
        let focus = Focus::of(scorer, &case, settings)?;
        let diff = focus.as_ref().map_or(case.diff(), |focus| focus.case.diff());
        let encoding = scorer.encode(diff, case.text(), case.task(), settings)?;
        Ok((encoding.n_prompt, encoding.n_response()))
    }

    /// The line of the whole diff that a line of the diff that was read is.
    pub fn line(&self, read: usize) -> usize {
        self.focus.as_ref().map_or(read, |focus| focus.lines[read])
    }

    /// How much of the change was read.
    pub fn reach(&self) -> Reach {
        let n_cut = self.measurement.encoding.n_cut;
        let cut = || format!("{n_cut} tokens of the diff were cut to fit the model");
        let note = self.focus.as_ref().map(Focus::note).or_else(|| (n_cut > 0).then(cut));
        Reach { note, is_partial: n_cut > 0 || self.focus.as_ref().is_some_and(|focus| !focus.has_all_named) }
    }
}

/// Tokens of a change that are read, unless the settings say how many: what the text points at most is among them, a model's whole context
/// of 8,192 takes five times as long to read, and detectors have learnt of changes of some hundred (nothing that they were measured on has
/// as many as this).
const READ: usize = 2048;

/// Most places that a note names.
const MOST_PLACES: usize = 5;

impl Focus {
    /// Chooses the hunks that fit, those first that the text points at most ([`topic::weights`]); if it points at none, those that
    /// come first. None where the whole change fits, or there is nothing to choose among.
    ///
    /// # Errors
    /// Those of [`Scorer::encode`].
    pub fn of(scorer: &Scorer, case: &Case, settings: &Settings) -> Result<Option<Focus>> {
        let diff = case.diff();
        let bound = settings.encode.max_tokens.map_or(READ, |_| usize::MAX);
        // a token has at least a byte
        if diff.text().len() + case.text().len() < bound.min(scorer.max_tokens(settings) / 2) {
            return Ok(None);
        }
        let whole = scorer.encode(diff, case.text(), case.task(), settings)?;
        let hunks = diff.hunks();
        if whole.n_cut == 0 && whole.n_diff() <= bound || hunks.len() < 2 {
            return Ok(None);
        }
        let weights = topic::weights(&Change::new(diff), case.text());
        let mut order: Vec<usize> = (0..hunks.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        if weights.iter().any(|&weight| weight > 0.0) {
            // what nothing points at only makes the prompt longer
            order.retain(|&index| weights[index] > 0.0);
        }
        let mut chosen = Vec::new();
        let mut room = bound.min(whole.n_diff());
        for (place, &index) in order.iter().enumerate() {
            let n_tokens = scorer.n_tokens(text_of(diff, &hunks[index]))?;
            // what the text is most about is read if the model can read it at all
            if n_tokens <= room || (place == 0 && n_tokens <= whole.n_diff()) {
                room = room.saturating_sub(n_tokens);
                chosen.push(index);
            }
        }
        // where not one fits, the one that the text is most about is cut
        if chosen.is_empty() {
            chosen.push(order[0]);
        }
        loop {
            let focus = Focus::on(case, &hunks, &weights, &chosen)?;
            let encoding = scorer.encode(focus.case.diff(), case.text(), case.task(), settings)?;
            // the headers of files have tokens too
            if encoding.n_cut == 0 || chosen.len() == 1 {
                return Ok(Some(focus));
            }
            chosen.pop();
        }
    }

    fn on(case: &Case, hunks: &[Hunk<'_>], weights: &[f64], chosen: &[usize]) -> Result<Focus> {
        let diff = case.diff();
        let selection = diff.select(|index, _| chosen.contains(&index));
        Ok(Focus {
            case: Arc::new(Case::new(&selection.text, case.text(), case.task())?),
            lines: selection.lines,
            n_read: chosen.len(),
            n_hunks: hunks.len(),
            has_all_named: (0..hunks.len()).all(|index| weights[index] == 0.0 || chosen.contains(&index)),
            places: chosen.iter().map(|&index| place(diff, &hunks[index])).collect(),
        })
    }

    /// What a person should know of the choice.
    pub fn note(&self) -> String {
        let Focus { n_read, n_hunks, places, .. } = self;
        let more = places.len().saturating_sub(MOST_PLACES);
        let places = places[..places.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let rest = if self.has_all_named { "" } else { "; others that it may speak of did not fit" };
        format!(
            "the change is too long for the model: it read {n_read} of {n_hunks} hunks, chosen by the text: {places}{more}{rest}"
        )
    }
}

/// A hunk with its own header.
fn text_of<'d>(diff: &'d Diff, hunk: &Hunk<'_>) -> &'d str {
    let start = hunk.header.unwrap_or(hunk.lines.start);
    let end = hunk.lines.end.max(start + 1);
    &diff.text()[diff.lines()[start].span.start..diff.lines()[end - 1].span.end]
}

/// Where a hunk begins on the new side.
fn place(diff: &Diff, hunk: &Hunk<'_>) -> String {
    let file = hunk.file.and_then(|file| diff.files().get(file)).map_or("hunk", String::as_str);
    match hunk.lines.clone().find_map(|line| diff.lines()[line].new) {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    }
}
