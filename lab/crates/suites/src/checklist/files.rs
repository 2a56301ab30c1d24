//! Checklists and reviews from files.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use super::{
    Checklist, Item, Review, ReviewCase,
    baselines::{self, Saying},
    choosing::{mismatched_places, says_something},
    written::Written,
};
use crate::{
    SuiteError,
    lines::{self, Place, Rows},
};

/// Reads checklists: no case twice, each with items or clean.
///
/// # Errors
/// Those of [`lines::read`]; [`SuiteError::Mismatch`] for a list that is none.
pub fn read_checklists(path: &Path) -> Result<Vec<Checklist>, SuiteError> {
    let lists: Vec<Checklist> = lines::read(path)?;
    let mut seen = BTreeMap::new();
    for (place, list) in lists.iter().enumerate() {
        let hint = "a checklist is {\"case\", \"items\": [{\"n\": 1, \"text\"}, …]}, or {\"case\", \"clean\": true}";
        list.check().map_err(|why| {
            SuiteError::mismatch(format!("`{}`: the checklist of case `{}`: {why}", path.display(), list.case), hint)
        })?;
        if let Some(first) = seen.insert(&list.case, place) {
            let why = format!(
                "`{}`: case `{}` has two checklists, the {}. and the {}. of the file",
                path.display(),
                list.case,
                first + 1,
                place + 1
            );
            return Err(SuiteError::mismatch(why, "keep one of them"));
        }
    }
    if lists.is_empty() {
        return Err(SuiteError::Nothing { why: format!("`{}` holds no checklists", path.display()) });
    }
    Ok(lists)
}

/// Checklists, with reviews and cases that stay in their files, and the baselines behind the reviews.
///
/// Of a review and of a case the place is in memory; texts and code are read when they are asked for.
#[derive(Debug)]
pub struct Material {
    /// The checklists.
    pub lists: Vec<Checklist>,
    written: Option<Written>,
    baselines: Vec<(usize, Saying)>,
    cases: Option<Rows<ReviewCase>>,
    /// By checklist: where its case stands.
    case_places: Vec<Option<Place>>,
    /// By checklist: the first review of its case.
    first_of: Vec<Option<usize>>,
}

impl Material {
    /// Of checklists, a file of reviews of any generators and a file of cases, where there are any. A line of reviews is a sample whose
    /// text may be blank; several lines of one case and generator are one review, joined by a blank line.
    ///
    /// # Errors
    /// Those of [`lines::read`]; [`SuiteError::Mismatch`] if no review is about a case that there is.
    pub fn open(lists: Vec<Checklist>, reviews: Option<&Path>, cases: Option<&Path>) -> Result<Material, SuiteError> {
        let known: HashMap<&str, u32> = (0..).zip(&lists).map(|(place, list)| (list.case.as_str(), place)).collect();
        let (mut case_places, mut first_of) = (vec![None; lists.len()], vec![None; lists.len()]);
        let mut is_written = vec![false; lists.len()];
        let take_case = |place, case: ReviewCase| {
            if let Some(list) = known.get(case.id.as_str()).map(|list| *list as usize) {
                (case_places[list], is_written[list]) = (Some(place), case.review.is_some());
            }
            Ok(())
        };
        let cases = cases.map(|path| Rows::open(path, take_case)).transpose()?;
        let written = reviews.map(|path| Written::open(path, &known)).transpose()?;
        let mut baselines = Vec::new();
        if let Some(written) = &written {
            for (review, list) in (0..).map_while(|review| Some((review, written.list_of(review)?))) {
                first_of[list].get_or_insert(review);
                is_written[list] = true;
            }
            baselines = baselines::sayings(&lists, |list| is_written[list]);
        }
        Ok(Material { lists, written, baselines, cases, case_places, first_of })
    }

    fn n_written(&self) -> usize {
        self.written.as_ref().map_or(0, Written::n)
    }

    /// How many reviews there are of cases that have no checklist, which are left out.
    pub fn n_unknown(&self) -> usize {
        self.written.as_ref().map_or(0, |written| written.n_unknown)
    }

    /// How many reviews there are, those of the baselines too.
    pub fn n_reviews(&self) -> usize {
        self.n_written() + self.baselines.len()
    }

    /// Whether a review is a baseline's.
    pub fn is_baseline(&self, review: usize) -> bool {
        review >= self.n_written()
    }

    /// The place of a review's checklist.
    pub fn list_of(&self, review: usize) -> usize {
        let written = self.written.as_ref().and_then(|written| written.list_of(review));
        written.unwrap_or_else(|| self.baselines[review - self.n_written()].0)
    }

    /// A review: those of generators in the order of their names and of the checklists, then those of the baselines.
    ///
    /// # Errors
    /// Its file cannot be read again.
    pub fn review(&self, review: usize) -> Result<Review, SuiteError> {
        match &self.written {
            Some(written) if review < written.n() => written.review(review, &self.lists),
            _ => baselines::review(&self.lists, self.baselines[review - self.n_written()], |list| self.said_of(list)),
        }
    }

    /// What was said of a case: its own review, or else the first one.
    fn said_of(&self, list: usize) -> Result<String, SuiteError> {
        if let Some(review) = self.case(list)?.and_then(|case| case.review) {
            return Ok(review);
        }
        self.first_of[list].map_or(Ok(String::new()), |first| self.review(first).map(|review| review.text))
    }

    /// The case of a checklist, which has this place; none that is not in the file of cases.
    ///
    /// # Errors
    /// Its file cannot be read again.
    pub fn case(&self, list: usize) -> Result<Option<ReviewCase>, SuiteError> {
        match (&self.cases, self.case_places[list]) {
            (Some(cases), Some(place)) => cases.get(place).map(Some),
            _ => Ok(None),
        }
    }

    /// Items beside reviews of other cases, as [`mismatched`](super::choosing::mismatched) has them.
    ///
    /// # Errors
    /// The file of reviews cannot be read again.
    pub fn mismatched(&self, seed: u64) -> Result<Vec<(&Item, Review)>, SuiteError> {
        let mut cases = Vec::new();
        for review in 0..self.n_written() {
            if says_something(&self.review(review)?.text) {
                cases.push((review, self.lists[self.list_of(review)].case.as_str()));
            }
        }
        let pairs = mismatched_places(&self.lists, &cases, seed).into_iter();
        pairs.map(|(item, place)| Ok((item, self.review(place)?))).collect()
    }

    /// All reviews, those of the baselines behind the others, in memory.
    ///
    /// # Errors
    /// A file cannot be read again.
    pub fn reviews(&self) -> Result<Vec<Review>, SuiteError> {
        (0..self.n_reviews()).map(|review| self.review(review)).collect()
    }
}

/// Reads reviews as [`Material::open`] does, without the baselines. The second result counts reviews of cases that have no checklist.
///
/// # Errors
/// Those of [`Material::open`].
pub fn read_reviews(path: &Path, lists: &[Checklist]) -> Result<(Vec<Review>, usize), SuiteError> {
    let material = Material::open(lists.to_vec(), Some(path), None)?;
    let reviews = (0..material.n_written()).map(|review| material.review(review)).collect::<Result<_, _>>()?;
    Ok((reviews, material.n_unknown()))
}
