//! Answers: those to a comment are given once, and those about a whole follow what is true of it.

use veridiff_facts::finding::Finding;
use veridiff_platforms::HostError;

use crate::{
    bot::{Bot, Site},
    problem::{Problem, may_pass, told},
    said::{self, Report},
};

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    pub repository: &'a str,
    pub sha: &'a str,
    /// What the report is called beside others of the same commit.
    pub name: &'static str,
    /// What was checked, in the plural.
    pub what: &'static str,
    pub n_texts: usize,
}

impl Site {
    /// The key of an answer.
    pub fn key(&self, parts: &[&str]) -> String {
        said::key(&self.config.secret, parts)
    }
}

impl Bot {
    /// Gives an answer, unless it was given, whether that was kept or is only seen there.
    pub(crate) fn once(
        &self,
        key: &str,
        what: &str,
        is_there: impl FnOnce() -> bool,
        give: impl FnOnce() -> Result<(), HostError>,
    ) -> Result<(), Problem> {
        if self.store.is_given(key)? {
            return Ok(());
        }
        if !is_there() {
            match give() {
                // one answer that may not be given keeps no other back
                Err(error) if !may_pass(&error) => {
                    tracing::error!("no {what}: {}", told(&error));
                    return Ok(self.store.given(key, &format!("no {what}"))?);
                }
                other => other?,
            }
        }
        Ok(self.store.given(key, what)?)
    }

    /// Gives an answer that stands in the place of the one before, unless that one says the same.
    pub(crate) fn anew(
        &self,
        place: &str,
        content: &str,
        what: &str,
        give: impl FnOnce() -> Result<(), HostError>,
    ) -> Result<(), Problem> {
        if self.store.answer(place)?.is_some_and(|last| last == content) {
            return Ok(());
        }
        match give() {
            // as in `once`
            Err(error) if !may_pass(&error) => tracing::error!("no {what}: {}", told(&error)),
            other => other?,
        }
        Ok(self.store.replaced(place, content)?)
    }

    /// Says what was found of a commit as a whole.
    pub(crate) fn report(&self, site: &Site, about: About<'_>, objected: &[&Finding]) -> Result<(), Problem> {
        let About { repository, sha, name, what, n_texts } = about;
        let annotations: Vec<said::Annotation> =
            objected.iter().flat_map(|finding| said::annotations(finding)).collect();
        let title = said::title(n_texts, objected.len(), what);
        // what is said anew of the same commit is another report
        let content: String =
            annotations.iter().map(|one| format!("{}\0{}\0{}\0", one.path, one.line, one.message)).collect();
        let key = site.key(&["report", repository, sha, name, &title, &content]);
        let report = Report { key: key.clone(), name, title, annotations };
        // what was said of it before and is true again is said again
        let place = site.key(&["report", repository, sha, name]);
        self.anew(&place, &key, "report", || site.remote.report(repository, sha, &report))
    }
}
