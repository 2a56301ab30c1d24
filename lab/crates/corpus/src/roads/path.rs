//! Another file of the project than the one that changed.

use std::path::Path as FilePath;

use super::{Balance, Kind, Road, Scene, Twin};
use crate::words::{replaced, words};

/// Twins that name a file which the change does not touch.
pub struct Path;

impl Road for Path {
    fn name(&self) -> &'static str {
        "path"
    }

    fn kind(&self) -> Kind {
        Kind::Path
    }

    fn balance(&self) -> Balance {
        Balance::Words
    }

    fn twins(&self, scene: &Scene<'_, '_>) -> Vec<Twin> {
        let body = scene.body();
        let twin = words(body).into_iter().find_map(|word| {
            let said = &body[word.clone()];
            let path = scene.case.paths.iter().find(|path| path.as_str() == said || base_name(path) == said)?;
            let ending = FilePath::new(path).extension()?.to_string_lossy().into_owned();
            let is_whole = path == said && path.contains('/');
            let others = scene.around.files(&ending).filter(|other| {
                let name = base_name(other);
                name != base_name(path) && !scene.case.diff.contains(name) && !body.contains(name)
            });
            // a file beside it is the likelier slip
            let (beside, elsewhere): (Vec<&str>, Vec<&str>) = others.partition(|other| folder(other) == folder(path));
            let others = if beside.is_empty() { elsewhere } else { beside };
            let others = others.into_iter().filter(|other| base_name(other).len() <= 2 * base_name(path).len());
            let others = others.map(|other| if is_whole { other } else { base_name(other) }.to_owned());
            let other = scene.choose(self.name(), others)?;
            // the file must not be named twice, or be a part of a longer name
            (body.matches(said).count() == 1).then(|| replaced(body, word, &other))
        });
        twin.map(|body| scene.twin(self, &body, None)).into_iter().collect()
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}
