//! Deliveries: who signed them, and what of a payload is read. A payload names what to look at, and decides nothing.

use ring::{digest, hmac, rand};
use serde_json::{Value, json};
use veridiff_serve::{Delivery, Platform, refusal::Refusal};

use crate::{
    config::SiteConfig,
    remote::{id, text},
    said::hex,
    store::{Feedback, Kept},
};

/// Letters of a delivery's own name at most.
const MOST_NAME: usize = 100;

/// Commits of a push that are looked at.
const MOST_COMMITS: usize = 50;

/// Whether a delivery is signed with the secret, compared in a time that tells nothing of it.
pub(crate) fn is_signed(site: &SiteConfig, delivery: &Delivery<'_>, token: &Secret) -> bool {
    match delivery.platform {
        Platform::GitHub => {
            let given = delivery.header("x-hub-signature-256").and_then(|given| given.strip_prefix("sha256="));
            let given = given.and_then(bytes_of);
            given.is_some_and(|given| hmac::verify(&site.secret, delivery.body, &given).is_ok())
        }
        Platform::GitLab => delivery.header("x-gitlab-token").is_some_and(|given| token.is(given)),
    }
}

/// A secret that is compared by hashes under a key of this process, which take as long whatever is given.
pub(crate) struct Secret {
    key: hmac::Key,
    tag: hmac::Tag,
}

impl Secret {
    pub fn new(secret: &str) -> Option<Secret> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &rand::SystemRandom::new()).ok()?;
        let tag = hmac::sign(&key, secret.as_bytes());
        Some(Secret { key, tag })
    }

    fn is(&self, given: &str) -> bool {
        hmac::verify(&self.key, given.as_bytes(), self.tag.as_ref()).is_ok()
    }
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    hex.len().is_multiple_of(2).then(|| hex.as_bytes().chunks(2).map(pair).collect()).flatten()
}

/// The names under which a delivery is known when it comes again: the host's own, and its body, since the name is not signed.
pub(crate) fn names(delivery: &Delivery<'_>) -> Vec<String> {
    let platform = delivery.platform.name();
    let own = match delivery.platform {
        Platform::GitHub => delivery.header("x-github-delivery"),
        Platform::GitLab => delivery.header("idempotency-key").or_else(|| delivery.header("x-gitlab-event-uuid")),
    };
    let hash = hex(digest::digest(&digest::SHA256, delivery.body).as_ref());
    let own = own.map(|name| format!("{platform} {}", name.chars().take(MOST_NAME).collect::<String>()));
    own.into_iter().chain([format!("{platform} body {hash}")]).collect()
}

/// The repository that a payload is about, and what is kept of it; none where it is about nothing that is looked at.
pub(crate) fn kept(site: &SiteConfig, delivery: &Delivery<'_>) -> Result<Option<(String, Kept)>, Refusal> {
    let payload: Value = serde_json::from_slice(delivery.body)
        .map_err(|error| Refusal::Json(error.to_string().chars().take(200).collect()))?;
    let repository = match delivery.platform {
        Platform::GitHub => text(&payload, "/repository/full_name"),
        Platform::GitLab => text(&payload, "/project/path_with_namespace"),
    };
    if !site.has(repository) {
        return Ok(None);
    }
    let kept = match delivery.platform {
        Platform::GitHub => of_github(site, delivery.header("x-github-event").unwrap_or_default(), &payload),
        Platform::GitLab => of_gitlab(site, &payload),
    };
    Ok(kept.map(|kept| (repository.to_owned(), kept)))
}

fn request(number: Option<&Value>) -> Option<Kept> {
    let number = number.and_then(Value::as_u64).filter(|number| i64::try_from(*number).is_ok())?;
    Some(Kept { job: Some((number, String::new())), ..Kept::default() })
}

fn of_github(site: &SiteConfig, event: &str, payload: &Value) -> Option<Kept> {
    let (action, number) = (text(payload, "/action"), payload.pointer("/pull_request/number"));
    match (event, action) {
        ("pull_request", "opened" | "synchronize" | "reopened" | "ready_for_review" | "closed")
        | ("pull_request_review", "submitted" | "edited")
        | ("pull_request_review_comment", "created" | "edited" | "deleted") => request(number),
        ("pull_request_review_thread", "resolved" | "unresolved") => {
            let comments = payload.pointer("/thread/comments").and_then(Value::as_array);
            let first = comments.and_then(|comments| id(comments.first()?, "/id"))?;
            let value = if action == "resolved" { "yes" } else { "no" };
            let resolved = Feedback { comment: first, kind: "resolved", who: String::new(), value: value.to_owned() };
            Some(Kept { feedback: vec![resolved], ..Kept::default() })
        }
        ("push", _) if site.does.messages.is_some() && payload["deleted"] != true => push(payload),
        _ => None,
    }
}

fn of_gitlab(site: &SiteConfig, payload: &Value) -> Option<Kept> {
    match text(payload, "/object_kind") {
        "merge_request" => request(payload.pointer("/object_attributes/iid")),
        "note" if text(payload, "/object_attributes/noteable_type") == "MergeRequest" => {
            request(payload.pointer("/merge_request/iid"))
        }
        "emoji" if text(payload, "/object_attributes/awardable_type") == "Note" => {
            let up = match text(payload, "/object_attributes/name") {
                "thumbsup" => "up",
                "thumbsdown" => "down",
                _ => return None,
            };
            let value = if text(payload, "/event_type") == "revoke" { "none" } else { up };
            let comment = id(payload, "/object_attributes/awardable_id")?;
            // a person can give both
            let who = format!("{} {up}", id(payload, "/object_attributes/user_id")?);
            let thumb = Feedback { comment, kind: "thumb", who, value: value.to_owned() };
            Some(Kept { feedback: vec![thumb], ..Kept::default() })
        }
        "push" if site.does.messages.is_some() => push(payload),
        _ => None,
    }
}

/// The commits of a push to a branch.
fn push(payload: &Value) -> Option<Kept> {
    let is_hash = |text: &str| text.len() >= 40 && text.chars().all(|c| c.is_ascii_hexdigit());
    let head = Some(text(payload, "/after")).filter(|head| is_hash(head) && head.chars().any(|c| c != '0'))?;
    if !text(payload, "/ref").starts_with("refs/heads/") {
        return None;
    }
    let commits = payload["commits"].as_array()?.iter().filter(|commit| commit["distinct"] != false);
    let commit = |commit: &Value| {
        let (id, message) = (text(commit, "/id"), text(commit, "/message"));
        is_hash(id).then(|| json!({ "id": id, "message": message }))
    };
    let commits: Vec<Value> = commits.filter_map(commit).take(MOST_COMMITS).collect();
    let push = json!({ "head": head, "commits": commits });
    (!commits.is_empty()).then(|| Kept { job: Some((0, push.to_string())), ..Kept::default() })
}
