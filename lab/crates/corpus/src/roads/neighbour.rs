//! What was said of another change of the same file.

use super::{About, Balance, Kind, Road, Scene, Twin};
use crate::truth::Fact;

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
        let own = scene.case.key(scene.index);
        let here = around.shown(scene.at);
        let mut found: Vec<(usize, Twin)> = Vec::new();
        for other in around.neighbours(scene.at).into_iter().take(MAX_LOOKED_AT) {
            let case = &around.cases[other];
            let there = around.shown(other);
            for (index, told) in case.statements.iter().enumerate() {
                let theirs = here.shared(there, &told.statement.text);
                let ours = there.shared(here, &scene.statement.text);
                if let (Some(theirs), Some(ours)) = (theirs, ours) {
                    let edit = Some((own.clone(), case.key(index)));
                    let text = told.statement.text.clone();
                    let twin = Twin { road: self.name().to_owned(), text, about: About::Same, edit, fact: Fact::Open };
                    found.push((theirs.min(ours), twin));
                }
            }
        }
        // the most alike first
        found.sort_by_key(|(shared, twin)| (std::cmp::Reverse(*shared), scene.chance(&[&twin.text])));
        found.into_iter().take(MAX_OFFERED).map(|(_, twin)| twin).collect()
    }
}
