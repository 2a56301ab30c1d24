//! A job about a request to merge: its comments are checked and answered, and what people said of them is kept.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;
use veridiff_core::evidence::is_unlike_training;
use veridiff_facts::{checker::SharedTree, finding::Finding, verdict::Verdict};
use veridiff_report::findings::sarif;
use veridiff_serve::{Platform, Service, refusal::Refusal};
use veridiff_text::sample::{Sample, Task};

use crate::{
    answers::About,
    bot::{Bot, Site},
    labels,
    problem::Problem,
    remote::{Comment, Request},
    said,
    store::{Before, Feedback, Job, Judged},
};

/// What a report about comments is called.
const NAME: &str = "veridiff";

/// Texts that are asked about together.
const TOGETHER: usize = 64;

/// Whether a finding is of a verdict from which on something is done.
fn is_met(limit: Option<Verdict>, finding: &Finding) -> bool {
    limit.is_some_and(|limit| finding.verdict >= Some(limit))
}

/// The findings that are.
pub(crate) fn met(limit: Verdict, findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| is_met(Some(limit), finding)).collect()
}

impl Bot {
    /// Looks at a request.
    pub(crate) fn request(&self, service: &Service, site: &Site, job: &Job) -> Result<(), Problem> {
        let mut request = site.remote.read(&job.repository, job.number)?;
        let whole = request.whole.as_ref().map(|whole| whole.diff().to_owned()).unwrap_or_default();
        // the names of a request's whole diff are known, whichever hunk a comment stands under
        let tree = request.whole.take().map(|whole| SharedTree(Arc::new(whole)));
        let mut comments = std::mem::take(&mut request.comments);
        let before = self.store.before(&job.platform, &job.repository, job.number)?;
        let own = own(site, job, &comments, &before);
        comments.retain(|comment| site.config.accounts.contains(&comment.author) && !own.contains(&comment.id));
        let (findings, judged) = self.judge(service, job, &comments, before, whole, tree.as_ref())?;
        let feedback = self.feedback(site, &request, &comments)?;
        let seen: Vec<&str> = comments.iter().map(|comment| comment.id.as_str()).collect();
        self.store.judged(&job.platform, &job.repository, &judged, &seen, &feedback)?;
        let (platform, repository, number) = (&job.platform, &job.repository, job.number);
        let (n, n_new) = (comments.len(), judged.len());
        tracing::info!(platform, repository, number, n, n_new, "comments were checked");
        self.answer(site, &request, &comments, &findings)
    }

    /// The findings about comments, and those of them that were not kept already.
    fn judge(
        &self,
        service: &Service,
        job: &Job,
        comments: &[Comment],
        mut before: HashMap<String, Before>,
        whole: String,
        tree: Option<&SharedTree>,
    ) -> Result<(Vec<Finding>, Vec<Judged>), Problem> {
        let of_all = [service.basis(Task::Review), whole];
        let bases: Vec<String> = comments.iter().map(|comment| basis(&of_all, comment)).collect();
        // what was found of the same is found again
        let mut findings: Vec<Option<Finding>> = comments
            .iter()
            .zip(&bases)
            .map(|(comment, basis)| kept(before.remove(&comment.id)?, basis, comment))
            .collect();
        let is_new: Vec<bool> = findings.iter().map(Option::is_none).collect();
        let new = comments.iter().zip(&is_new).filter(|(_, is_new)| **is_new);
        let samples: Vec<Sample> = new.map(|(comment, _)| comment.sample.clone()).collect();
        let found = self::findings(service, &samples, tree)?;
        findings
            .iter_mut()
            .filter(|finding| finding.is_none())
            .zip(found)
            .for_each(|(place, found)| *place = Some(found));
        let findings: Vec<Finding> = findings.into_iter().flatten().collect();
        let all = comments.iter().zip(&findings).zip(bases.into_iter().zip(is_new));
        let judged: Vec<Judged> = all
            .filter(|(_, (_, is_new))| *is_new)
            .map(|((comment, finding), (basis, _))| judged(job.number, comment, finding, basis))
            .collect();
        Ok((findings, judged))
    }

    /// Gives the answers that the file wants.
    fn answer(
        &self,
        site: &Site,
        request: &Request,
        comments: &[Comment],
        findings: &[Finding],
    ) -> Result<(), Problem> {
        let (does, Request { repository, number, .. }) = (&site.config.does, request);
        for (comment, finding) in comments.iter().zip(findings) {
            if is_met(does.reply, finding) {
                let key = site.key(&["reply", repository, &comment.id]);
                let is_there = || request.bodies.iter().any(|body| body.contains(&said::hidden(&key)));
                self.once(&key, "reply", is_there, || {
                    site.remote.reply(request, comment, &said::reply(finding, &key))
                })?;
            }
            if is_met(does.hide, finding) {
                let key = site.key(&["hide", repository, &comment.id]);
                self.once(&key, "hide", || false, || site.remote.hide(request, comment))?;
            }
        }
        if let Some((limit, name)) = &does.label
            && !met(*limit, findings).is_empty()
        {
            let key = site.key(&["label", repository, &number.to_string(), name]);
            self.once(&key, "label", || false, || site.remote.label(request, name))?;
        }
        // of a request without comments nothing is said, unless something was said when it had some
        let is_said = |place: &[&str]| Ok::<_, Problem>(self.store.answer(&site.key(place))?.is_some());
        if findings.is_empty()
            && !is_said(&["report", repository, &request.head, NAME])?
            && !is_said(&["sarif", repository, &request.head])?
        {
            return Ok(());
        }
        if let Some(limit) = does.check {
            let sha = &request.head;
            let about = About { repository, sha, name: NAME, what: "comments", n_texts: findings.len() };
            self.report(site, about, &met(limit, findings))?;
        }
        if let Some(limit) = does.sarif {
            let objected: Vec<Finding> = met(limit, findings).into_iter().cloned().collect();
            let sarif = sarif(&objected, &[]);
            let place = site.key(&["sarif", repository, &request.head]);
            let content = site.key(&["sarif", repository, &request.head, &sarif.to_string()]);
            self.anew(&place, &content, "sarif", || site.remote.sarif(request, &sarif))?;
        }
        Ok(())
    }

    /// What people said of comments, as the request shows it.
    fn feedback(&self, site: &Site, request: &Request, comments: &[Comment]) -> Result<Vec<Feedback>, Problem> {
        let mut all = Vec::new();
        for comment in comments {
            let mut put = |kind, who: &str, value: String| {
                all.push(Feedback { comment: comment.id.clone(), kind, who: who.to_owned(), value });
            };
            if comment.thumbs != (0, 0) {
                put("thumbs", "", format!("{} {}", comment.thumbs.0, comment.thumbs.1));
            }
            // what the bot resolved itself says nothing
            let hidden = site.key(&["hide", &request.repository, &comment.id]);
            if let Some(is_resolved) = comment.is_resolved.filter(|_| site.config.platform == Platform::GitLab)
                && !self.store.is_given(&hidden)?
            {
                put("resolved", "", if is_resolved { "yes" } else { "no" }.to_owned());
            }
            let answer = said::hidden(&site.key(&["reply", &request.repository, &comment.id]));
            for reply in &comment.replies {
                // nobody is a judge of himself
                let is_judge = reply.is_of_project && !site.config.accounts.contains(&reply.author);
                if reply.body.contains(&answer) {
                    if reply.thumbs != (0, 0) {
                        put("answer_thumbs", "", format!("{} {}", reply.thumbs.0, reply.thumbs.1));
                    }
                } else if let Some(value) = labels::said(&reply.body).filter(|_| is_judge) {
                    put("reply", &reply.author, value.to_owned());
                }
            }
        }
        Ok(all)
    }
}

/// Which comments are answers of ours, which are none to check, under whichever account they were given: those with the key of an answer to
/// the beginning of their thread, to another comment of it, or to one that was checked once and may be gone.
fn own(site: &Site, job: &Job, comments: &[Comment], checked: &HashMap<String, Before>) -> HashSet<String> {
    let key = |answered: &str| said::hidden(&site.key(&["reply", &job.repository, answered]));
    let is_own = |comment: &&Comment| {
        let of_thread = comments.iter().filter(|other| other.thread == comment.thread).map(|other| &other.id);
        let mut answered = of_thread.chain([&comment.thread]).chain(checked.keys());
        said::has_key(&comment.body)
            && answered.any(|answered| *answered != comment.id && comment.body.contains(&key(answered)))
    };
    comments.iter().filter(is_own).map(|comment| comment.id.clone()).collect()
}

/// The findings of samples, in parts that a queue takes.
pub(crate) fn findings(
    service: &Service,
    samples: &[Sample],
    tree: Option<&SharedTree>,
) -> Result<Vec<Finding>, Refusal> {
    let mut all = Vec::new();
    for part in samples.chunks(TOGETHER) {
        all.extend(service.findings(part.to_vec(), tree.cloned())?);
    }
    Ok(all)
}

/// What a comment's verdict hangs on.
fn basis(of_all: &[String; 2], comment: &Comment) -> String {
    let [service, whole] = of_all;
    let Sample { diff, text, extra, .. } = &comment.sample;
    let place = ["path", "line"].map(|key| extra.get(key).map(Value::to_string).unwrap_or_default());
    said::basis(&[service, whole, diff, text, &place[0], &place[1]])
}

/// What was found of a comment before, if it is what would be found now. What failed is tried again.
fn kept(before: Before, basis: &str, comment: &Comment) -> Option<Finding> {
    let found: Option<Finding> = serde_json::from_str(&before.finding).ok().filter(|_| before.basis == basis);
    let text = comment.sample.text.clone();
    found.filter(|finding| finding.verdict.is_some()).map(|finding| Finding { text, ..finding })
}

fn judged(number: u64, comment: &Comment, finding: &Finding, basis: String) -> Judged {
    let extra = &comment.sample.extra;
    Judged {
        number,
        comment: comment.id.clone(),
        author: comment.author.clone(),
        diff: comment.sample.diff.clone(),
        text: comment.sample.text.clone(),
        path: extra.get("path").and_then(Value::as_str).unwrap_or_default().to_owned(),
        line: extra.get("line").and_then(Value::as_u64),
        verdict: finding.verdict.map(|verdict| verdict.name().to_owned()),
        finding: serde_json::to_string(finding).unwrap_or_default(),
        basis,
        p: finding.p_hallucination,
        unlike: finding.p_detector.map(|_| is_unlike_training(finding)),
    }
}
