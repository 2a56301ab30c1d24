//! What was said of another change of the same file.

use std::collections::BTreeSet;

use super::{About, Balance, Kind, Road, Scene, Twin};
use crate::truth::Fact;
use crate::words::content_words;

/// Twins that are true of a neighbouring commit. Every text of the road is once true and once false.
pub struct Neighbour;

/// How many neighbours a statement is offered.
const MAX_OFFERED: usize = 6;

/// How far neighbours are looked for.
const MAX_LOOKED_AT: usize = 24;

impl Road for Neighbour {
    fn name(&self) -> &'static str {
        "neighbour"
    }

    fn kind(&self) -> Kind {
        Kind::Purpose
    }

    fn balance(&self) -> Balance {
        Balance::Mutual
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let around = scene.around;
        let own = key(&scene.case.commit, scene.index);
        let mut found: Vec<(usize, Twin)> = Vec::new();
        for other in around.neighbours(scene.at).into_iter().take(MAX_LOOKED_AT) {
            let case = &around.cases[other];
            for (index, told) in case.statements.iter().enumerate() {
                let there = shared(scene, other, scene.at, &told.statement.text);
                let here = shared(scene, scene.at, other, &scene.statement.text);
                if let (Some(there), Some(here)) = (there, here) {
                    let edit = Some((own.clone(), key(&case.commit, index)));
                    let text = told.statement.text.clone();
                    let twin = Twin { road: self.name().to_owned(), text, about: About::Same, edit, fact: Fact::Open };
                    found.push((there.min(here), twin));
                }
            }
        }
        // the most alike first
        found.sort_by_key(|(shared, twin)| (std::cmp::Reverse(*shared), scene.chance(&[&twin.text])));
        found.into_iter().take(MAX_OFFERED).map(|(_, twin)| twin).collect()
    }
}

/// What a statement is called among the edits of the road.
fn key(commit: &str, index: usize) -> String {
    format!("{commit}#{index}")
}

/// How many words of a statement about one change the other change has too; `None` where too many for it to be surely false: two
/// words, and half of all, must be missing that its own change shows.
fn shared(scene: &Scene<'_, '_>, from: usize, to: usize, text: &str) -> Option<usize> {
    let words: BTreeSet<String> = content_words(text).into_iter().collect();
    let (there, missing): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| scene.around.has_word(to, word));
    let n_shown = missing.iter().filter(|word| scene.around.has_word(from, word)).count();
    (n_shown >= 2 && missing.len() >= there.len()).then_some(there.len())
}
