//! Reviews that stay in their file.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use serde::Deserialize;

use super::{Checklist, Review};
use crate::{
    SuiteError,
    lines::{Place, Rows},
};

/// What a generator is called that has no name.
const UNNAMED: &str = "unnamed";

/// A line of a file of reviews.
#[derive(Debug, Deserialize)]
struct Line {
    id: Option<String>,
    case: Option<String>,
    group: Option<String>,
    generator: Option<String>,
    text: Option<String>,
}

/// A line that stays in its file.
#[derive(Debug, Clone, Copy)]
struct Said {
    generator: u32,
    list: u32,
    place: Place,
}

impl Said {
    /// What the lines of a review have in common.
    fn review(&self) -> (u32, u32) {
        (self.generator, self.list)
    }
}

/// The reviews of a file: those of generators in the order of their names and of the checklists. Of a line 24 bytes are in memory.
#[derive(Debug)]
pub(super) struct Written {
    /// Lines about cases that have no checklist, which are left out.
    pub(super) n_unknown: usize,
    rows: Rows<Line>,
    /// The first line of each review.
    first: Vec<Said>,
    /// Further lines, in the same order.
    more: Vec<Said>,
    generators: Vec<String>,
}

impl Written {
    /// Of a file, and the places of the checklists by their cases.
    ///
    /// # Errors
    /// Those of [`Rows::open`]; [`SuiteError::Mismatch`] if no review is about a case that there is.
    pub(super) fn open(path: &Path, known: &HashMap<&str, u32>) -> Result<Written, SuiteError> {
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let (mut first, mut more) = (Vec::new(), Vec::new());
        let (mut n_unknown, mut first_unknown) = (0, None);
        let rows = Rows::open(path, |place, line: Line| {
            let wrong =
                |why: &str| SuiteError::Line { path: path.to_owned(), line: place.line as usize, why: why.to_owned() };
            let case = line.case.or(line.group).ok_or_else(|| wrong("it has neither `case` nor `group`"))?;
            if line.text.is_none() {
                return Err(wrong("it has no `text`; a blank one is \"\""));
            }
            let Some(list) = known.get(case.as_str()).copied() else {
                n_unknown += 1;
                first_unknown.get_or_insert(case);
                return Ok(());
            };
            let generator = line.generator.unwrap_or_else(|| UNNAMED.to_owned());
            if generator.starts_with('(') {
                return Err(wrong("names in brackets are those of the baselines: call the generator otherwise"));
            }
            let next = numbers.len() as u32;
            first.push(Said { generator: *numbers.entry(generator).or_insert(next), list, place });
            Ok(())
        })?;
        if first.is_empty() {
            let near = first_unknown
                .as_deref()
                .and_then(|case| veridiff_text::choice::did_you_mean(case, known.keys().copied()));
            let why = match first_unknown {
                Some(case) => format!(
                    "no review of `{}` is about a case with a checklist; the first is about `{case}`",
                    path.display()
                ),
                None => format!("`{}` holds no reviews", path.display()),
            };
            let hint = near.unwrap_or_else(|| "reviews name their case by `case`, or by `group`".into());
            return Err(SuiteError::mismatch(why, hint));
        }
        // generators are numbered in the order of their names
        let mut order = vec![0; numbers.len()];
        (0..).zip(numbers.values()).for_each(|(place, number)| order[*number as usize] = place);
        first.iter_mut().for_each(|said| said.generator = order[said.generator as usize]);
        first.sort_unstable_by_key(|said| (said.review(), said.place.line));
        first.dedup_by(|said, before| {
            let goes_on = said.review() == before.review();
            more.extend(goes_on.then_some(*said));
            goes_on
        });
        Ok(Written { n_unknown, rows, first, more, generators: numbers.into_keys().collect() })
    }

    /// How many there are.
    pub(super) fn n(&self) -> usize {
        self.first.len()
    }

    /// The place of a review's checklist; none if there is no such review.
    pub(super) fn list_of(&self, review: usize) -> Option<usize> {
        self.first.get(review).map(|said| said.list as usize)
    }

    /// A review, beside the checklists of which the places were given.
    ///
    /// # Errors
    /// Its file cannot be read again.
    pub(super) fn review(&self, review: usize, lists: &[Checklist]) -> Result<Review, SuiteError> {
        let said = self.first[review];
        let (case, generator) = (&lists[said.list as usize].case, &self.generators[said.generator as usize]);
        let first = self.rows.get(said.place)?;
        let mut text = first.text.unwrap_or_default();
        let begins = self.more.partition_point(|more| more.review() < said.review());
        for more in self.more[begins..].iter().take_while(|more| more.review() == said.review()) {
            let more = self.rows.get(more.place)?.text.unwrap_or_default();
            if !more.trim().is_empty() {
                text = format!("{text}\n\n{more}").trim_start().to_owned();
            }
        }
        let id = first.id.unwrap_or_else(|| format!("{case}/{generator}"));
        Ok(Review { id, case: case.clone(), generator: generator.clone(), text })
    }
}
