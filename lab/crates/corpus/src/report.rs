//! What is to be known of a corpus before anything learns from it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rayon::prelude::*;
use veridiff_facts::change::Change;
use veridiff_facts::mention::mentions;
use veridiff_text::diff::Diff;

use crate::case::CommitCase;
use crate::error::CorpusError;
use crate::likelihood::{Remembered, Tell};
use crate::part::Counts;
use crate::roads::ROADS;
use crate::rows::{Pair, Row};
use crate::tells::{Read, auc, auc_of_words, denies};
use crate::truth::Fact;

/// Counts and tells.
#[derive(Debug, Clone)]
pub struct Report {
    /// Road by road, in the order of the list; the last row is all of them.
    pub roads: Vec<Tells>,
    /// Roads that are left out.
    pub left_out: Vec<String>,
    /// The model that was asked how probable the texts are.
    pub model: Option<String>,
    /// Pairs by project, with its licence.
    pub projects: BTreeMap<String, (String, usize)>,
    /// Pairs by language.
    pub languages: BTreeMap<String, usize>,
    /// What became of commits and statements on the way.
    pub counts: Counts,
}

/// Of so many pairs of a road the names are looked up.
const MEASURED: usize = 1000;

/// What can be told of a road's twins without reading the change, or from the change alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Tells {
    /// The road.
    pub road: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// How many pairs.
    pub pairs: usize,
    /// Twins of which a fact says that they are false.
    pub contradicted: usize,
    /// AUC of words and length.
    pub auc_words: Option<f64>,
    /// AUC of words, two words that follow each other, and length.
    pub auc_two_words: Option<f64>,
    /// AUC of the diff's lines added less those removed, whichever way it tells.
    pub auc_net_lines: Option<f64>,
    /// What the model's likelihood tells, where one was asked.
    pub likelihood: Option<Tell>,
    /// Of the true ones and of the twins: mean length in characters.
    pub length: [f64; 2],
    /// Share with a denial.
    pub denials: [f64; 2],
    /// Share of the names and numbers in the text that the diff has.
    pub named: [f64; 2],
}

impl Report {
    /// Looks at all pairs.
    ///
    /// # Errors
    /// What goes wrong with the model of `likelihood`.
    pub fn new(
        pairs: &[Pair],
        counts: Counts,
        left_out: &[String],
        seed: u64,
        likelihood: Option<&Remembered<'_>>,
    ) -> Result<Report, CorpusError> {
        let mut projects: BTreeMap<String, (String, usize)> = BTreeMap::new();
        let mut languages: BTreeMap<String, usize> = BTreeMap::new();
        for pair in pairs {
            let row = &pair.truth;
            projects.entry(row.project.clone()).or_insert_with(|| (row.licence.clone(), 0)).1 += 1;
            *languages.entry(row.language.clone().unwrap_or_default()).or_default() += 1;
        }
        let mut roads: Vec<Tells> = ROADS
            .par_iter()
            .filter_map(|road| {
                let of_road: Vec<&Pair> = pairs.iter().filter(|pair| pair.truth.road == road.name()).collect();
                (!of_road.is_empty()).then(|| tells(road.name(), road.kind().name(), &of_road, seed))
            })
            .collect();
        roads.push(tells("all", "", &pairs.iter().collect::<Vec<_>>(), seed));
        if let Some(likelihood) = likelihood {
            for tells in &mut roads {
                let of_road = pairs.iter().filter(|pair| tells.kind.is_empty() || pair.truth.road == tells.road);
                tells.likelihood = likelihood.tell(&of_road.collect::<Vec<_>>(), seed)?;
            }
        }
        let model = likelihood.map(|likelihood| likelihood.model());
        Ok(Report { roads, left_out: left_out.to_vec(), model, projects, languages, counts })
    }

    /// Pairs by licence.
    pub fn licences(&self) -> BTreeMap<&str, usize> {
        let mut licences = BTreeMap::new();
        self.projects.values().for_each(|(licence, n)| *licences.entry(licence.as_str()).or_default() += n);
        licences
    }
}

fn tells(road: &'static str, kind: &'static str, pairs: &[&Pair], seed: u64) -> Tells {
    let rows: Vec<&Row> = pairs.iter().flat_map(|pair| pair.rows()).collect();
    let texts: Vec<Read<'_>> = rows.iter().map(|row| row.read()).collect();
    let labels: Vec<bool> = texts.iter().map(|text| text.is_false).collect();
    let net: Vec<f64> = rows.par_iter().map(|row| net_lines(row)).collect();
    // both halves of every so many pairs
    let step = pairs.len().div_ceil(MEASURED);
    let named: Vec<Option<f64>> =
        rows.par_iter().enumerate().map(|(row, of)| if row / 2 % step == 0 { named(of) } else { None }).collect();
    let mean = |value: &dyn Fn(usize) -> Option<f64>| {
        [false, true].map(|half| {
            let values: Vec<f64> = (0..rows.len()).filter(|&row| labels[row] == half).filter_map(value).collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        })
    };
    Tells {
        road,
        kind,
        pairs: pairs.len(),
        contradicted: pairs.iter().filter(|pair| pair.twin.fact == Fact::Contradicted).count(),
        auc_words: auc_of_words(&texts, false, seed),
        auc_two_words: auc_of_words(&texts, true, seed),
        auc_net_lines: auc(&net, &labels).map(|auc| auc.max(1.0 - auc)),
        likelihood: None,
        length: mean(&|row| Some(rows[row].text.len() as f64)),
        denials: mean(&|row| Some(f64::from(u8::from(denies(&rows[row].text))))),
        named: mean(&|row| named[row]),
    }
}

/// The lines that a row's diff adds less those that it removes.
fn net_lines(row: &Row) -> f64 {
    Diff::parse(&row.diff).map_or(0.0, |diff| CommitCase::net_lines(&diff) as f64)
}

/// The share of the names and numbers of a row's text that its diff has.
fn named(row: &Row) -> Option<f64> {
    let diff = Diff::parse(&row.diff).ok()?;
    let mentions = mentions(&row.text, 0..row.text.len());
    let change = Change::new(&diff);
    let found = mentions.iter().filter(|mention| change.find(mention).places().is_some()).count();
    (!mentions.is_empty()).then(|| found as f64 / mentions.len() as f64)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_pairs: usize = self.projects.values().map(|(_, n)| n).sum();
        writeln!(
            f,
            "# Corpus: {n_pairs} pairs from {} projects in {} languages\n",
            self.projects.len(),
            self.languages.len()
        )?;
        writeln!(f, "## What could be told without reading\n")?;
        writeln!(
            f,
            "AUC out of fold of a classifier that sees the words of a text and its length, then also two words together, then of the"
        )?;
        writeln!(
            f,
            "diff's net lines alone; of true texts and twins the mean length, the share with a denial, the share of names that the diff has."
        )?;
        if let Some(model) = &self.model {
            writeln!(
                f,
                "Likelihood: AUC of a text's mean log-probability without the change, and the share of pairs whose twin has the lower one,"
            )?;
            writeln!(f, "by {model}, of at most {} pairs of a road.", crate::likelihood::ASKED)?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "| road | kind | pairs | contradicted by facts | AUC words | AUC two words | AUC net lines | likelihood | length | denials | named |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|---|")?;
        let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
        for tells in &self.roads {
            let Tells {
                road,
                kind,
                pairs,
                contradicted,
                auc_words,
                auc_two_words,
                auc_net_lines,
                likelihood,
                length,
                denials,
                named,
            } = tells;
            let share = |pair: &[f64; 2]| format!("{:.1}%, {:.1}%", 100.0 * pair[0], 100.0 * pair[1]);
            writeln!(
                f,
                "| {road} | {kind} | {pairs} | {contradicted} | {} | {} | {} | {} | {:.1}, {:.1} | {} | {} |",
                number(*auc_words),
                number(*auc_two_words),
                number(*auc_net_lines),
                likelihood.map_or("-".into(), |tell| tell.to_string()),
                length[0],
                length[1],
                share(denials),
                share(named)
            )?;
        }
        let left_out: BTreeSet<&String> = self.left_out.iter().collect();
        if !left_out.is_empty() {
            let names: Vec<&str> = left_out.into_iter().map(String::as_str).collect();
            writeln!(f, "\nLeft out: {}.", names.join(", "))?;
        }
        section(f, "Licences", "licence", self.licences())?;
        section(f, "Languages", "language", self.languages.iter().map(|(name, n)| (name.as_str(), *n)))?;
        let projects = self.projects.iter().map(|(name, (licence, n))| (format!("{name} ({licence})"), *n));
        section(f, "Projects", "project", projects)?;
        section(f, "On the way", "what", self.counts.iter().map(|(what, n)| (what.as_str(), *n)))
    }
}

fn section<S: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    what: &str,
    rows: impl IntoIterator<Item = (S, usize)>,
) -> fmt::Result {
    writeln!(f, "\n## {title}\n\n| {what} | number |\n|---|---|")?;
    rows.into_iter().try_for_each(|(name, n)| writeln!(f, "| {name} | {n} |"))
}
