//! Checklists and reviews from files.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use serde::Deserialize;

use super::{
    Checklist, Item, Review, ReviewCase,
    baselines::{self, Saying},
    choosing::{mismatched_places, says_something},
};
use crate::{
    SuiteError,
    lines::{self, Place, Rows},
};

/// What a generator is called that has no name.
const UNNAMED: &str = "unnamed";

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

/// A line of a file of reviews.
#[derive(Debug, Deserialize)]
struct Line {
    id: Option<String>,
    case: Option<String>,
    group: Option<String>,
    generator: Option<String>,
    text: Option<String>,
}

/// A review that stays in its file.
#[derive(Debug)]
struct Written {
    generator: u32,
    list: u32,
    first: Place,
    /// Further lines of the same case and generator.
    more: Vec<Place>,
    says_something: bool,
}

/// Checklists, with reviews and cases that stay in their files, and the baselines behind the reviews.
///
/// Of a review the place is in memory, and of a case its name and place; texts and code are read when they are asked for.
#[derive(Debug)]
pub struct Material {
    /// The checklists.
    pub lists: Vec<Checklist>,
    /// Reviews of cases that have no checklist, which are left out.
    pub n_unknown: usize,
    rows: Option<Rows<Line>>,
    written: Vec<Written>,
    generators: Vec<String>,
    baselines: Vec<(usize, Saying)>,
    cases: Option<Rows<ReviewCase>>,
    /// By the case's name: where it stands, and whether it has a review of its own.
    case_places: HashMap<String, (Place, bool)>,
    /// By checklist: the first review of its case.
    first_of: HashMap<usize, usize>,
}

impl Material {
    /// Of checklists, a file of reviews of any generators and a file of cases, where there are any. A line of reviews is a sample whose
    /// text may be blank; several lines of one case and generator are one review, joined by a blank line.
    ///
    /// # Errors
    /// Those of [`lines::read`]; [`SuiteError::Mismatch`] if no review is about a case that there is.
    pub fn open(lists: Vec<Checklist>, reviews: Option<&Path>, cases: Option<&Path>) -> Result<Material, SuiteError> {
        let mut all = Material {
            lists,
            n_unknown: 0,
            rows: None,
            written: Vec::new(),
            generators: Vec::new(),
            baselines: Vec::new(),
            cases: None,
            case_places: HashMap::new(),
            first_of: HashMap::new(),
        };
        if let Some(path) = cases {
            let places = &mut all.case_places;
            all.cases = Some(Rows::open(path, |place, case: ReviewCase| {
                places.insert(case.id, (place, case.review.is_some()));
                Ok(())
            })?);
        }
        if let Some(path) = reviews {
            all.take_reviews(path)?;
            for (place, review) in all.written.iter().enumerate() {
                all.first_of.entry(review.list as usize).or_insert(place);
            }
            let is_written = |list: usize| {
                let case = all.case_places.get(&all.lists[list].case);
                case.is_some_and(|(_, has_review)| *has_review) || all.first_of.contains_key(&list)
            };
            all.baselines = baselines::sayings(&all.lists, is_written);
        }
        Ok(all)
    }

    fn take_reviews(&mut self, path: &Path) -> Result<(), SuiteError> {
        let known: HashMap<&str, u32> =
            (0..).zip(&self.lists).map(|(place, list)| (list.case.as_str(), place)).collect();
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut joined: HashMap<(u32, u32), Written> = HashMap::new();
        let (mut n_unknown, mut first_unknown) = (0, None);
        let rows = Rows::open(path, |place, line: Line| {
            let wrong =
                |why: &str| SuiteError::Line { path: path.to_owned(), line: place.line as usize, why: why.to_owned() };
            let case = line.case.or(line.group).ok_or_else(|| wrong("it has neither `case` nor `group`"))?;
            let text = line.text.ok_or_else(|| wrong("it has no `text`; a blank one is \"\""))?;
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
            let generator = *numbers.entry(generator).or_insert(next);
            let says_something = says_something(&text);
            joined.entry((generator, list)).and_modify(|review| review.more.push(place)).or_insert(Written {
                generator,
                list,
                first: place,
                more: Vec::new(),
                says_something,
            });
            Ok(())
        })?;
        if joined.is_empty() {
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
        self.generators = numbers.into_keys().collect();
        self.written = joined.into_values().collect();
        self.written.iter_mut().for_each(|review| review.generator = order[review.generator as usize]);
        self.written.sort_unstable_by_key(|review| (review.generator, review.list));
        (self.rows, self.n_unknown) = (Some(rows), n_unknown);
        // what several lines say together is known only now
        for place in 0..self.written.len() {
            if !self.written[place].more.is_empty() {
                self.written[place].says_something = says_something(&self.review(place)?.text);
            }
        }
        Ok(())
    }

    /// How many reviews there are, those of the baselines too.
    pub fn n_reviews(&self) -> usize {
        self.written.len() + self.baselines.len()
    }

    /// Whether a review is a baseline's.
    pub fn is_baseline(&self, review: usize) -> bool {
        review >= self.written.len()
    }

    /// The place of a review's checklist.
    pub fn list_of(&self, review: usize) -> usize {
        match self.written.get(review) {
            Some(review) => review.list as usize,
            None => self.baselines[review - self.written.len()].0,
        }
    }

    /// A review: those of generators in the order of their names and of the checklists, then those of the baselines.
    ///
    /// # Errors
    /// Its file cannot be read again.
    pub fn review(&self, review: usize) -> Result<Review, SuiteError> {
        match (self.written.get(review), &self.rows) {
            (Some(written), Some(rows)) => {
                let first = rows.get(written.first)?;
                let (case, generator) =
                    (&self.lists[written.list as usize].case, &self.generators[written.generator as usize]);
                let mut text = first.text.unwrap_or_default();
                for place in &written.more {
                    let more = rows.get(*place)?.text.unwrap_or_default();
                    if !more.trim().is_empty() {
                        text = format!("{text}\n\n{more}").trim_start().to_owned();
                    }
                }
                let id = first.id.unwrap_or_else(|| format!("{case}/{generator}"));
                Ok(Review { id, case: case.clone(), generator: generator.clone(), text })
            }
            _ => baselines::review(&self.lists, self.baselines[review - self.written.len()], |list| self.said_of(list)),
        }
    }

    /// What was said of a case: its own review, or else the first one.
    fn said_of(&self, list: usize) -> Result<String, SuiteError> {
        if let Some(review) = self.case(&self.lists[list].case)?.and_then(|case| case.review) {
            return Ok(review);
        }
        self.first_of.get(&list).map_or(Ok(String::new()), |first| self.review(*first).map(|review| review.text))
    }

    /// A case; none that is not in the file of cases.
    ///
    /// # Errors
    /// Its file cannot be read again.
    pub fn case(&self, id: &str) -> Result<Option<ReviewCase>, SuiteError> {
        match (&self.cases, self.case_places.get(id)) {
            (Some(cases), Some((place, _))) => cases.get(*place).map(Some),
            _ => Ok(None),
        }
    }

    /// Items beside reviews of other cases, as [`mismatched`](super::choosing::mismatched) has them.
    ///
    /// # Errors
    /// The file of reviews cannot be read again.
    pub fn mismatched(&self, seed: u64) -> Result<Vec<(&Item, Review)>, SuiteError> {
        let says = self.written.iter().enumerate().filter(|(_, review)| review.says_something);
        let cases: Vec<(usize, &str)> =
            says.map(|(place, review)| (place, self.lists[review.list as usize].case.as_str())).collect();
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
    let reviews = (0..material.written.len()).map(|review| material.review(review)).collect::<Result<_, _>>()?;
    Ok((reviews, material.n_unknown))
}
