//! From parts to a corpus.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use veridiff_text::diff::Diff;

use crate::aside::changed_lines_hash;
use crate::case::CommitCase;
use crate::chance;
use crate::error::CorpusError;
use crate::likelihood::Remembered;
use crate::part::{Counts, Part, write_whole};
use crate::report::Report;
use crate::roads::elsewhere::{self, Said};
use crate::roads::{About, LEFT_OUT, ROADS, Road, Twin, road};
use crate::rows::{Pair, Row};
use crate::select::{Candidate, select};
use crate::tells::{Read, auc_of_words};
use crate::undo::undone;

/// Which pairs are taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Chooses among what is equally good.
    pub seed: u64,
    /// Of one project more statements are not taken, so that no project's habits rule.
    pub max_statements: usize,
    /// Words that more statements have than this say nothing of any.
    pub max_repeats: usize,
    /// Roads that are left out.
    pub without: Vec<String>,
    /// A road whose twins words alone tell with this AUC or more is left out.
    pub max_auc: f64,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            seed: 0,
            max_statements: 3000,
            max_repeats: 3,
            without: LEFT_OUT.map(str::to_owned).into(),
            max_auc: 0.55,
        }
    }
}

/// Pairs, and what is to be known of them.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// In the order of the projects' names, then from the youngest commit to the oldest.
    pub pairs: Vec<Pair>,
    /// Counts and tells.
    pub report: Report,
}

impl Corpus {
    /// Writes the rows, one a line, and beside them the report; its path.
    ///
    /// # Errors
    /// [`CorpusError::Write`].
    pub fn write(&self, path: &Path) -> Result<PathBuf, CorpusError> {
        let mut lines = String::new();
        for row in self.pairs.iter().flat_map(Pair::rows) {
            let wrong = |error: serde_json::Error| CorpusError::Write { path: path.to_owned(), source: error.into() };
            lines += &serde_json::to_string(row).map_err(wrong)?;
            lines.push('\n');
        }
        let report = path.with_extension("report.md");
        write_whole(path, lines.as_bytes())?;
        write_whole(&report, self.report.to_string().as_bytes())?;
        Ok(report)
    }
}

/// A case with where it is from.
#[derive(Debug)]
struct Placed<'a> {
    case: &'a CommitCase,
    project: &'a str,
    licence: &'a str,
}

/// Makes a corpus of parts, in whichever order they are given. With a model's `likelihood` a road whose twins it tells is left out.
///
/// # Errors
/// [`CorpusError::Empty`] where nothing could be paired, and what goes wrong with the model.
pub fn assemble(
    mut parts: Vec<Part>,
    selection: &Selection,
    likelihood: Option<&Remembered<'_>>,
) -> Result<Corpus, CorpusError> {
    // within a project the parts' own order, which is that of time, is kept
    parts.sort_by(|a, b| a.header.project.cmp(&b.header.project));
    let mut counts = Counts::new();
    for (what, n) in parts.iter().flat_map(|part| &part.header.counts) {
        *counts.entry(what.clone()).or_default() += n;
    }
    let placed = distinct(&parts, &mut counts);
    let statements = statements(&placed, selection, &mut counts);
    let keys: Vec<String> = statements.iter().map(|&(at, index)| placed[at].case.key(index)).collect();
    let said = statements.iter().map(|&(at, index)| Said { project: placed[at].project, case: placed[at].case, index });
    let of_others = elsewhere::twins(&said.collect::<Vec<_>>(), selection.seed);
    let mut left_out = selection.without.clone();
    // a statement of a road that is left out may take another one, so all is chosen again
    loop {
        let pairs = chosen(&placed, &statements, &keys, &of_others, &left_out, selection);
        if pairs.is_empty() {
            return Err(CorpusError::Empty);
        }
        let told = told(&pairs, selection, likelihood)?;
        if told.is_empty() {
            let report = Report::new(&pairs, counts, &left_out, selection.seed, likelihood)?;
            return Ok(Corpus { pairs, report });
        }
        left_out.extend(told);
    }
}

/// Roads whose twins words alone tell, or else how probable a model finds them without the change.
fn told(
    pairs: &[Pair],
    selection: &Selection,
    likelihood: Option<&Remembered<'_>>,
) -> Result<Vec<String>, CorpusError> {
    let of_road = |road: &str| pairs.iter().filter(|pair| pair.truth.road == road).collect::<Vec<&Pair>>();
    let tells = |auc: Option<f64>| auc.is_some_and(|auc| auc >= selection.max_auc);
    let by_words = |road: &&&dyn Road| {
        let texts: Vec<Read<'_>> = of_road(road.name()).into_iter().flat_map(Pair::rows).map(Row::read).collect();
        tells(auc_of_words(&texts, false, selection.seed))
    };
    let mut told: Vec<&str> = ROADS.par_iter().filter(by_words).map(|road| road.name()).collect();
    // a model takes longer, so it is asked of what words do not tell
    if let Some(likelihood) = likelihood.filter(|_| told.is_empty()) {
        for road in ROADS {
            if tells(likelihood.tell(&of_road(road.name()), selection.seed)?.map(|tell| tell.auc)) {
                told.push(road.name());
            }
        }
    }
    Ok(told.into_iter().map(str::to_owned).collect())
}

/// Cases whose change no other has: forks and picked commits have the same.
fn distinct<'a>(parts: &'a [Part], counts: &mut Counts) -> Vec<Placed<'a>> {
    let mut seen = HashSet::new();
    let mut placed = Vec::new();
    for part in parts {
        for case in &part.cases {
            if seen.insert(case.hash.as_str()) {
                placed.push(Placed { case, project: &part.header.project, licence: &part.header.licence });
            } else {
                *counts.entry("changes twice".into()).or_default() += 1;
            }
        }
    }
    placed
}

/// Statements that may be taken, as places of cases and of their statements.
fn statements(placed: &[Placed<'_>], selection: &Selection, counts: &mut Counts) -> Vec<(usize, usize)> {
    let key = |text: &str| text.to_lowercase().trim_end_matches('.').to_owned();
    let mut repeats: HashMap<String, usize> = HashMap::new();
    placed
        .iter()
        .flat_map(|one| &one.case.statements)
        .for_each(|told| *repeats.entry(key(&told.statement.text)).or_default() += 1);
    let mut by_project: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, one) in placed.iter().enumerate() {
        for (index, told) in one.case.statements.iter().enumerate() {
            if repeats[&key(&told.statement.text)] > selection.max_repeats {
                *counts.entry("statements repeated".into()).or_default() += 1;
            } else {
                by_project.entry(one.project).or_default().push((at, index));
            }
        }
    }
    let mut all = Vec::new();
    for (_, mut of_project) in by_project {
        // a comment that was rewritten with its code is rare
        of_project.sort_by_cached_key(|&(at, index)| {
            let case = placed[at].case;
            (case.comment.is_none(), chance(selection.seed, &["taken", &case.key(index)]))
        });
        let beyond = of_project.len().saturating_sub(selection.max_statements);
        if beyond > 0 {
            *counts.entry("statements beyond a project's bound".into()).or_default() += beyond;
        }
        of_project.truncate(selection.max_statements);
        of_project.sort_unstable();
        all.extend(of_project);
    }
    all
}

fn chosen(
    placed: &[Placed<'_>],
    statements: &[(usize, usize)],
    keys: &[String],
    of_others: &[Vec<Twin>],
    left_out: &[String],
    selection: &Selection,
) -> Vec<Pair> {
    let whole = placed.iter().filter(|one| one.case.comment.is_none());
    let by_commit: HashMap<&str, &Placed<'_>> = whole.map(|one| (one.case.commit.as_str(), one)).collect();
    let mut candidates = Vec::new();
    for (number, &(at, index)) in statements.iter().enumerate() {
        let told = &placed[at].case.statements[index];
        for twin in told.twins.iter().chain(&of_others[number]).filter(|twin| !left_out.contains(&twin.road)) {
            candidates.push(Candidate { statement: number, key: &keys[number], text: &told.statement.text, twin });
        }
    }
    let taken = select(&candidates, selection.seed);
    let pair = |candidate: &Candidate<'_>| {
        let (at, index) = statements[candidate.statement];
        pair(&placed[at], index, candidate, &by_commit)
    };
    taken.iter().filter_map(pair).collect()
}

/// Both halves of a candidate; `None` for a change that cannot be found or undone.
fn pair(
    of: &Placed<'_>,
    index: usize,
    candidate: &Candidate<'_>,
    by_commit: &HashMap<&str, &Placed<'_>>,
) -> Option<Pair> {
    let road = road(&candidate.twin.road)?;
    let case = of.case;
    let group = format!("{}@{}", of.project, case.commit.get(..12)?);
    let key = case.key(index);
    let name = format!("{group}{}", &key[case.commit.len()..]);
    let truth = Row {
        id: format!("{name}:true"),
        diff: case.diff.clone(),
        text: candidate.text.to_owned(),
        task: "commit",
        label: 0,
        label_type: None,
        language: case.language.clone(),
        group,
        pair: name.clone(),
        kind: road.kind().name(),
        road: road.name(),
        fact: candidate.twin.fact,
        project: of.project.to_owned(),
        licence: of.licence.to_owned(),
        hash: case.hash.clone(),
    };
    let diff = match &candidate.twin.about {
        About::Same => case.diff.clone(),
        About::Undone => undone(&Diff::parse(&case.diff).ok()?)?,
        About::Commit(commit) => by_commit.get(commit.as_str())?.case.diff.clone(),
    };
    let hash = changed_lines_hash(&Diff::parse(&diff).ok()?);
    let twin = Row {
        id: format!("{name}:false"),
        text: candidate.twin.text.clone(),
        label: 1,
        label_type: Some(road.kind().name()),
        hash,
        diff,
        ..truth.clone()
    };
    Some(Pair { truth, twin })
}
