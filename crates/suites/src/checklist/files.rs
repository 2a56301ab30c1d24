//! Checklists and reviews from files.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;

use super::{Checklist, Review};
use crate::{SuiteError, lines};

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

/// Reads reviews, of any generators. A line is a sample whose text may be blank; several lines of one case and generator are one
/// review, joined by a blank line. The second result counts reviews of cases that have no checklist.
///
/// # Errors
/// Those of [`lines::read`]; [`SuiteError::Mismatch`] if no review is about a case that there is.
pub fn read_reviews(path: &Path, lists: &[Checklist]) -> Result<(Vec<Review>, usize), SuiteError> {
    #[derive(Deserialize)]
    struct Line {
        id: Option<String>,
        case: Option<String>,
        group: Option<String>,
        generator: Option<String>,
        text: Option<String>,
    }
    let known: std::collections::BTreeSet<&str> = lists.iter().map(|list| list.case.as_str()).collect();
    let mut joined: BTreeMap<(String, String), Review> = BTreeMap::new();
    let (mut unknown, mut first_unknown) = (0, None);
    for (place, line) in lines::read::<Line>(path)?.into_iter().enumerate() {
        let wrong = |why: &str| SuiteError::Line { path: path.to_owned(), line: place + 1, why: why.to_owned() };
        let case = line.case.or(line.group).ok_or_else(|| wrong("it has neither `case` nor `group`"))?;
        let text = line.text.ok_or_else(|| wrong("it has no `text`; a blank one is \"\""))?;
        if !known.contains(case.as_str()) {
            unknown += 1;
            first_unknown.get_or_insert(case);
            continue;
        }
        let generator = line.generator.unwrap_or_else(|| "unnamed".to_owned());
        if generator.starts_with('(') {
            return Err(wrong("names in brackets are those of the baselines: call the generator otherwise"));
        }
        let id = line.id.unwrap_or_else(|| format!("{case}/{generator}"));
        joined
            .entry((case.clone(), generator.clone()))
            .and_modify(|review| {
                if !text.trim().is_empty() {
                    review.text = format!("{}\n\n{text}", review.text).trim_start().to_owned();
                }
            })
            .or_insert(Review { id, case, generator, text });
    }
    if joined.is_empty() {
        let near =
            first_unknown.as_deref().and_then(|case| veridiff_text::choice::did_you_mean(case, known.iter().copied()));
        let why = match first_unknown {
            Some(case) => format!(
                "no review of `{}` is about a case with a checklist; the first is about `{case}`",
                path.display()
            ),
            None => format!("`{}` holds no reviews", path.display()),
        };
        return Err(SuiteError::mismatch(
            why,
            near.unwrap_or_else(|| "reviews name their case by `case`, or by `group`".into()),
        ));
    }
    let order: BTreeMap<&str, usize> = lists.iter().enumerate().map(|(i, list)| (list.case.as_str(), i)).collect();
    let mut reviews: Vec<Review> = joined.into_values().collect();
    reviews.sort_by(|a, b| (&a.generator, order[a.case.as_str()]).cmp(&(&b.generator, order[b.case.as_str()])));
    Ok((reviews, unknown))
}
