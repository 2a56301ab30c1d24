//! What a revision names.

use gix::ObjectId;
use gix::objs::Kind;
use gix::revision::plumbing::Spec;
use gix::revision::spec::parse::Error as ParseError;

use crate::error::GitError;
use crate::objects::Objects;

/// What a revision must come down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Commit,
    Tree,
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::Commit => "commit",
            Wanted::Tree => "tree",
        }
    }
}

/// The hash of the commit or tree that a revision names; tags are followed.
pub(crate) fn resolve(objects: &Objects, rev: &str, wanted: Wanted) -> Result<ObjectId, GitError> {
    let spec = match objects.repo.rev_parse(rev) {
        Ok(spec) => spec.detach(),
        Err(error) => return Err(refused(objects, rev, error)),
    };
    let (Spec::Include(id) | Spec::ExcludeParents(id)) = spec else { return Err(GitError::Range { rev: rev.into() }) };
    let what = format!("what `{rev}` names");
    let object = match objects.repo.try_find_object(id) {
        Ok(Some(object)) => object,
        Ok(None) => return Err(GitError::Missing { what, id: id.to_string(), clone: objects.clone_kind() }),
        Err(error) => return Err(crate::objects::broken(what, id, veridiff_text::chain::one_line(&error))),
    };
    let (kind, target) = match wanted {
        Wanted::Commit => (Kind::Commit, object.peel_to_kind(Kind::Commit)),
        Wanted::Tree => (Kind::Tree, object.peel_to_kind(Kind::Tree)),
    };
    match target {
        Ok(target) if target.kind == kind => Ok(target.id),
        Ok(target) => Err(GitError::Kind { rev: rev.into(), found: target.kind.to_string(), wanted: wanted.name() }),
        Err(error) => match objects.repo.find_header(id) {
            Ok(header) if matches!(header.kind(), Kind::Blob | Kind::Tree) => {
                let found = if header.kind() == Kind::Blob { "file" } else { "tree" };
                Err(GitError::Kind { rev: rev.into(), found: found.into(), wanted: wanted.name() })
            }
            _ => Err(crate::objects::broken(what, id, veridiff_text::chain::one_line(&error))),
        },
    }
}

fn refused(objects: &Objects, rev: &str, error: gix::Error) -> GitError {
    if let Some(ParseError::AmbiguousPrefix { candidates, .. }) = error.downcast_any_ref() {
        let candidates = candidates.iter().take(8).map(|(prefix, info)| format!("{prefix} ({info})")).collect();
        return GitError::AmbiguousRevision { rev: rev.into(), candidates };
    }
    if let Some((from, n_before)) = steps_back(objects, rev) {
        return GitError::TooFarBack { rev: rev.into(), from, n_before, clone: objects.clone_kind() };
    }
    let no_such_name = matches!(error.downcast_any_ref(), Some(ParseError::MissingReference { .. }));
    GitError::UnknownRevision {
        rev: rev.into(),
        near: near(objects, rev),
        clone: objects.clone_kind(),
        why: (!no_such_name).then(|| first_cause(&error)),
    }
}

/// Of `FROM~N` the `FROM`, if that is a commit, and how many first parents it has before it.
fn steps_back(objects: &Objects, rev: &str) -> Option<(String, usize)> {
    let (from, n) = rev.rsplit_once('~')?;
    n.parse::<usize>().ok()?;
    let mut id = resolve(objects, from, Wanted::Commit).ok()?;
    for n_before in 0.. {
        // of a shallow clone, the parents of the last commit are not there
        let parent = || objects.repo.find_commit(id).ok()?.parent_ids().next().map(|parent| parent.detach());
        match parent().filter(|parent| objects.repo.find_header(*parent).is_ok()) {
            Some(parent) => id = parent,
            None => return Some((from.to_owned(), n_before)),
        }
    }
    None
}

/// The cause of all causes, which says what the revision lacks; what stands above it names the reader's own functions.
fn first_cause(error: &gix::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

/// A branch or tag whose name is a slip away from the one given, of those that come first in the order of names.
fn near(objects: &Objects, rev: &str) -> Option<String> {
    const LOOKED_AT: usize = 10_000;
    // What is wrong with `HEAD~9` is not its name.
    if rev.contains(['~', '^', ':', '@']) {
        return None;
    }
    let bound = (rev.chars().count() / 3).clamp(1, 3);
    let references = objects.repo.references().ok()?;
    let names = references.all().ok()?.take(LOOKED_AT).filter_map(Result::ok);
    let names = names.map(|reference| reference.name().shorten().to_string());
    names
        .chain(["HEAD".into()])
        .map(|name| (strsim::osa_distance(rev, &name), name))
        .filter(|(d, _)| *d <= bound)
        .min()
        .map(|(_, name)| name)
}
