//! One comment with its change and what was found, drawn by the code of `check --html`, and what people say of it.

use serde::Serialize;
use veridiff_facts::{finding::Finding, verdict::Verdict};
use veridiff_report::findings;
use veridiff_serve::{
    pages::{Ask, Shown},
    refusal::Refusal,
};
use veridiff_text::sample::{Sample, settle_changes};

use super::{
    COMMENT, LIST, fault,
    filter::{FAILED, Filter, field},
    list::{disagrees, of_job, percent, request_name, word},
    render::{Frame, page},
    said::{Said, own, parts},
    when,
};
use crate::{
    bot::{Bot, Site},
    store::{Feedback, Judged},
};

#[derive(Debug, Serialize)]
struct Opened<'a> {
    frame: Frame<'a>,
    key: String,
    /// What `drawText` draws; none of a finding that another version of the program wrote.
    data: Option<String>,
    /// The same as `check` prints it, for who allows no script.
    plain: String,
    verdict: &'static str,
    words: &'static str,
    p: Option<String>,
    repository: String,
    request: String,
    link: Option<String>,
    account: String,
    at: String,
    state: Vec<String>,
    problem: Option<String>,
    label: Option<(&'static str, &'static str)>,
    beside: Option<&'static str>,
    own: Option<bool>,
    feedback: Vec<String>,
    /// Its place among those that the filter shows.
    place: Option<String>,
    previous: Option<String>,
    next: Option<String>,
    list: String,
    /// The query of the filter, for forms.
    back: String,
    last: Option<Last>,
}

/// What was said last, to be taken back.
#[derive(Debug, Serialize)]
struct Last {
    key: String,
    href: String,
    words: String,
}

/// The page.
pub(super) fn show(bot: &Bot, ask: &Ask<'_>) -> Result<Shown, Refusal> {
    let filter = Filter::read(ask.fields)?;
    let key = field(ask.fields, "id");
    let (platform, repository, comment) = parts(key).ok_or(Refusal::NotFound)?;
    let judged = bot.store.one(platform, repository, comment).map_err(|error| fault(&error))?;
    let judged = judged.ok_or(Refusal::NotFound)?;
    let all = bot.said()?;
    let said = all.iter().find(|said| said.key() == key).ok_or(Refusal::NotFound)?;
    let chosen: Vec<&Said> = all.iter().filter(|said| filter.has(said) || said.key() == key).collect();
    let place = chosen.iter().position(|said| said.key() == key).unwrap_or_default();
    let at = |place: usize| chosen.get(place).map(|said| filter.link(COMMENT, &[("id", &said.key())]));
    let job = bot.store.job_of(platform, repository, judged.number).map_err(|error| fault(&error))?;
    let request = request_name(platform, judged.number);
    let (sample, finding) = drawn(&judged);
    let last = field(ask.fields, "last");
    let last = all.iter().find(|said| !last.is_empty() && said.key() == last);
    let mut state: Vec<String> = job.iter().map(of_job).collect();
    state.extend(bot.answers(said)?);
    page(
        "comment.html",
        &Opened {
            frame: Frame::of(ask, &format!("{repository} {request}"), COMMENT, &filter),
            data: finding.as_ref().map(|finding| findings::text_data(&sample, finding)),
            plain: plain(&judged, finding.as_ref()),
            verdict: said.verdict.map_or(FAILED, Verdict::name),
            words: said.verdict.map_or(FAILED, Verdict::words),
            p: said.came.p.map(percent),
            link: bot.site(platform).map(|site| site.config.comment(repository, judged.number, &judged.comment)),
            account: judged.author.clone(),
            at: when::minute(said.came.at),
            state,
            problem: job.and_then(|job| job.problem),
            label: said.label.map(|(label, from)| (word(label), from)),
            beside: said.beside().and_then(disagrees),
            own: own(&said.came.feedback, ask.who),
            feedback: said.came.feedback.iter().map(in_words).collect(),
            place: filter.has(said).then(|| format!("{} of {}", place + 1, chosen.len())),
            previous: place.checked_sub(1).and_then(at),
            next: at(place + 1),
            list: format!("{}#{}", filter.link(LIST, &[]), escaped(key)),
            back: filter.link("", &[]),
            last: last.and_then(|said| last_said(said, ask.who, &filter)),
            key: key.to_owned(),
            repository: repository.to_owned(),
            request,
        },
    )
}

/// The sample and the finding as they were, if this program can read it.
fn drawn(judged: &Judged) -> (Sample, Option<Finding>) {
    let Judged { comment, diff, text, author, path, line, finding, .. } = judged;
    let mut sample = Sample::new(&format!("comment {comment}"), diff, text);
    sample.generator = Some(author.clone());
    if !path.is_empty() {
        sample.extra.insert("path".to_owned(), path.as_str().into());
    }
    sample.extra.extend(line.map(|line| ("line".to_owned(), line.into())));
    // the lines that a finding names are those of the change as it was read
    settle_changes([&mut sample]);
    let finding = serde_json::from_str::<Finding>(finding).ok();
    (sample, finding.map(|finding| Finding { text: text.clone(), ..finding }))
}

fn plain(judged: &Judged, finding: Option<&Finding>) -> String {
    let said = finding.map_or_else(String::new, |finding| findings::page(finding, false));
    format!("{}\n\n{}\n{}", judged.text, without_colours(&said), judged.diff)
}

/// A text for the terminal without its colours. An escape begins nothing else there: those that strangers wrote are shown by name.
fn without_colours(said: &str) -> String {
    let mut parts = said.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or("", |(_, text)| text));
    std::iter::once(first).chain(rest).collect()
}

fn last_said(said: &Said, who: &str, filter: &Filter) -> Option<Last> {
    let value = own(&said.came.feedback, who)?;
    let (key, request) = (said.key(), request_name(&said.came.platform, said.came.number));
    let words =
        format!("You called a comment of {} {request} {}.", said.came.repository, if value { "true" } else { "false" });
    Some(Last { href: filter.link(COMMENT, &[("id", &key)]), key, words })
}

/// What somebody said, in words.
fn in_words(Feedback { kind, who, value, .. }: &Feedback) -> String {
    let thumbs = || {
        let (up, down) = value.split_once(' ').unwrap_or(("0", "0"));
        format!("{up} up, {down} down")
    };
    match *kind {
        "page" => format!("{who} on this page: {value}"),
        "reply" => format!("{who} in a reply: {value}"),
        "thumbs" => format!("thumbs on the comment: {}", thumbs()),
        "answer_thumbs" => format!("thumbs on our reply: {}", thumbs()),
        "thumb" => format!("a thumb on the comment: {value}"),
        _ => format!("resolved: {value}"),
    }
}

/// A key as the fragment of an address.
pub(super) fn escaped(key: &str) -> String {
    form_urlencoded::byte_serialize(key.as_bytes()).collect()
}

impl Bot {
    /// Where the answers to a comment stand that the file wants of its verdict.
    pub(super) fn answers(&self, said: &Said) -> Result<Vec<String>, Refusal> {
        let Some(site) = self.site(&said.came.platform) else { return Ok(Vec::new()) };
        let does = &site.config.does;
        let (repository, comment) = (said.came.repository.as_str(), said.came.comment.as_str());
        let number = said.came.number.to_string();
        let mut answers = Vec::new();
        let mut put = |limit: Option<Verdict>, what: &str, parts: &[&str]| -> Result<(), Refusal> {
            if limit.is_some_and(|limit| said.verdict >= Some(limit)) {
                answers.push(self.stands(site, what, parts)?);
            }
            Ok(())
        };
        put(does.reply, "reply", &["reply", repository, comment])?;
        put(does.hide, "hide", &["hide", repository, comment])?;
        if let Some((limit, name)) = &does.label {
            put(Some(*limit), "label", &["label", repository, &number, name])?;
        }
        Ok(answers)
    }

    fn stands(&self, site: &Site, what: &str, parts: &[&str]) -> Result<String, Refusal> {
        let kept = self.store.answer(&site.key(parts)).map_err(|error| fault(&error))?;
        Ok(match kept {
            None => format!("{what} waits"),
            Some(kept) if kept == what => format!("{what} given"),
            Some(_) => format!("{what} refused"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_nothing_else_does() {
        assert_eq!(without_colours("a\u{1b}[1;31mb\u{1b}[0m, m c"), "ab, m c");
        assert_eq!(without_colours("no m"), "no m");
    }
}
