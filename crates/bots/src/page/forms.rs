//! What a person does on a page: a comment is called true or false, that is taken back, and a job is begun again. The service has seen
//! to it that the form comes from one of these pages.

use veridiff_serve::{
    pages::{Ask, Shown},
    refusal::Refusal,
};

use super::{
    COMMENT, JOBS, LIST,
    comment::escaped,
    fault,
    filter::{Filter, field},
    said::{Said, parts},
};
use crate::bot::Bot;

/// Says of the comment `id` what `value` says: `true`, `false`, or `undo` for nothing. It goes on to the next comment that the filter in
/// `back` shows, in the list where `to` is `list`; who takes something back sees what it was about.
pub(super) fn label(bot: &Bot, ask: &Ask<'_>) -> Result<Shown, Refusal> {
    let of = |name: &str| field(ask.fields, name);
    let value = match of("value") {
        "true" => Some(true),
        "false" => Some(false),
        "undo" => None,
        _ => return Err(Refusal::Shape("`value` is true, false or undo".to_owned())),
    };
    let key = of("id");
    let (platform, repository, comment) = parts(key).ok_or(Refusal::NotFound)?;
    let back = of("back").split_once('?').map_or("", |(_, query)| query);
    let fields: Vec<(String, String)> = form_urlencoded::parse(back.as_bytes()).into_owned().collect();
    let filter = Filter::read(&fields)?;
    // what is said may have a filter show the comment no more
    let all = bot.said()?;
    let shown: Vec<&Said> = all.iter().filter(|said| filter.has(said) || said.key() == key).collect();
    let place = shown.iter().position(|said| said.key() == key).ok_or(Refusal::NotFound)?;
    let said = bot.store.says(platform, repository, comment, ask.who, value);
    said.map_err(|error| fault(&error))?;
    if of("to") == "list" {
        let page = field(&fields, "page");
        // one that is shown no more leaves the place to the next
        let after = bot.said()?;
        let is_there = after.iter().any(|said| said.key() == key && filter.has(said));
        let near = if is_there {
            Some(&shown[place])
        } else {
            shown.get(place + 1).or(place.checked_sub(1).map(|at| &shown[at]))
        };
        let fragment = near.map_or_else(String::new, |said| format!("#{}", escaped(&said.key())));
        return Ok(Shown::Elsewhere(format!("{}{fragment}", filter.link(LIST, &[("page", page)]))));
    }
    let next = shown.get(place + 1).map(|said| said.key());
    let next = next.filter(|_| value.is_some()).unwrap_or_else(|| key.to_owned());
    let last = if value.is_some() && next != key { key } else { "" };
    Ok(Shown::Elsewhere(filter.link(COMMENT, &[("id", &next), ("last", last)])))
}

/// Begins the job `id` again, which was given up.
pub(super) fn again(bot: &Bot, ask: &Ask<'_>) -> Result<Shown, Refusal> {
    let id = field(ask.fields, "id").parse().map_err(|_| Refusal::Shape("`id` is no number of a job".to_owned()))?;
    if bot.store.again(id).map_err(|error| fault(&error))? {
        bot.wake();
    }
    let state = field(ask.fields, "back").split_once('?').map_or("", |(_, query)| query);
    let fields: Vec<(String, String)> = form_urlencoded::parse(state.as_bytes()).into_owned().collect();
    let more = ["state", "page"].map(|name| (name, field(&fields, name)));
    Ok(Shown::Elsewhere(Filter::default().link(JOBS, &more)))
}
