//! What was said of a change, about the commit that took it back. Both halves have the same words; what differs is the diff.

use super::undone::{is_directed, signs};
use super::{About, Balance, Kind, Road, Scene, Twin};
use crate::truth::Fact;

/// Twins about a commit of the history that reverts the one that is spoken of.
pub struct Revert;

impl Road for Revert {
    fn name(&self) -> &'static str {
        "revert"
    }

    fn kind(&self) -> Kind {
        Kind::Purpose
    }

    fn balance(&self) -> Balance {
        Balance::Exact
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let Some(at) = scene.around.revert_of(&scene.case.commit) else { return Vec::new() };
        if !is_directed(scene.body()) {
            return Vec::new();
        }
        let about = About::Commit(scene.around.cases[at].commit.clone());
        let text = scene.statement.text.clone();
        vec![Twin { road: self.name().to_owned(), text, about, edit: Some(signs(scene.change.diff)), fact: Fact::Open }]
    }
}
