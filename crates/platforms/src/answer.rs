//! What a code host answered: its status, and what follows from it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use ureq::http::{HeaderMap, StatusCode};

use crate::{error::HostError, site::Site};

/// How long to wait where a host says that too much was asked, and not until when: as GitHub's documentation has it.
const A_MINUTE: Duration = Duration::from_secs(60);

/// Characters of a host's own words that are kept.
const WORDS: usize = 300;

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub(crate) site: &'static Site,
    pub(crate) has_token: bool,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// What it says.
    pub body: String,
}

impl Answer {
    /// The status.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The answer, if it is one.
    ///
    /// # Errors
    /// [`HostError::Rate`], [`HostError::Token`], [`HostError::Hidden`], [`HostError::Status`].
    pub fn checked(self) -> Result<Answer, HostError> {
        if self.status.is_success() {
            return Ok(self);
        }
        let (site, status) = (self.site, self.status());
        Err(match status {
            403 | 429 if status == 429 || self.is_spent() => {
                HostError::Rate { site, wait: self.wait(SystemTime::now()), has_token: self.has_token }
            }
            401 => HostError::Token { site },
            403 | 404 => HostError::Hidden { site, status, said: self.said() },
            _ => HostError::Status { site, status, said: self.said() },
        })
    }

    /// The answer as JSON.
    ///
    /// # Errors
    /// Those of [`Answer::checked`], and [`HostError::Unlike`].
    pub fn json(self) -> Result<Value, HostError> {
        let answer = self.checked()?;
        serde_json::from_str(&answer.body)
            .map_err(|error| HostError::Unlike { site: answer.site, found: format!("no JSON: {error}") })
    }

    /// Whether it says that too much was asked, in whichever of the ways there are.
    fn is_spent(&self) -> bool {
        self.header("x-ratelimit-remaining") == Some("0")
            || self.header("retry-after").is_some()
            || self.body.contains("secondary rate limit")
    }

    /// How long to wait. A header that says it counts before one that is always there.
    fn wait(&self, now: SystemTime) -> Option<Duration> {
        let until = |then: SystemTime| then.duration_since(now).unwrap_or_default();
        if let Some(text) = self.header("retry-after") {
            let seconds = text.trim().parse().ok().map(Duration::from_secs);
            return seconds.or_else(|| httpdate::parse_http_date(text.trim()).ok().map(until)).or(Some(A_MINUTE));
        }
        let number = |name: &str| self.header(name).and_then(|text| text.trim().parse::<u64>().ok());
        let is_none_left =
            ["x-ratelimit-remaining", "ratelimit-remaining"].into_iter().any(|name| number(name) == Some(0));
        let reset = ["x-ratelimit-reset", "ratelimit-reset"].into_iter().find_map(number);
        match reset.and_then(|reset| UNIX_EPOCH.checked_add(Duration::from_secs(reset))).filter(|_| is_none_left) {
            // a second more, since the clocks are two
            Some(then) => Some(until(then) + Duration::from_secs(1)),
            None => Some(A_MINUTE),
        }
    }

    /// The host's own words.
    fn said(&self) -> String {
        let json: Value = serde_json::from_str(&self.body).unwrap_or_default();
        let said = ["message", "error", "error_description"].into_iter().find_map(|key| match json.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        });
        said.unwrap_or_default().chars().take(WORDS).collect()
    }

    /// The address of the next page, which must be one of the same server.
    pub(crate) fn next(&self, base: &str) -> Result<Option<String>, HostError> {
        let next = self.header("link").unwrap_or_default().split(',').find_map(|link| {
            let (address, of) = link.split_once(';')?;
            let is_next = of.split(';').any(|of| matches!(of.trim(), "rel=\"next\"" | "rel=next"));
            is_next.then(|| address.trim().trim_start_matches('<').trim_end_matches('>').to_owned())
        });
        match next {
            Some(address) if !address.strip_prefix(base).is_some_and(|rest| rest.starts_with('/')) => {
                Err(HostError::OtherServer { site: self.site })
            }
            next => Ok(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{GITHUB, GITLAB};

    fn answer(site: &'static Site, status: u16, headers: &[(&'static str, &str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Answer { site, has_token: true, status: StatusCode::from_u16(status).unwrap(), headers, body: body.to_owned() }
    }

    #[test]
    fn each_way_of_saying_that_too_much_was_asked_is_known_and_waited_for() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000);
        for (site, status, headers, body, seconds) in [
            (GITHUB, 403, vec![("retry-after", "17")], "", 17),
            (GITHUB, 429, vec![("retry-after", "17"), ("x-ratelimit-remaining", "0")], "", 17),
            (GITHUB, 403, vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1000030")], "", 31),
            // a secondary rate comes beside a primary one that has enough left
            (
                GITHUB,
                403,
                vec![("x-ratelimit-remaining", "4999"), ("x-ratelimit-reset", "1003000")],
                "{\"message\": \"You have exceeded a secondary rate limit.\"}",
                60,
            ),
            (GITHUB, 429, vec![], "", 60),
            (GITLAB, 429, vec![("ratelimit-remaining", "0"), ("ratelimit-reset", "1000009")], "", 10),
            (GITHUB, 429, vec![("retry-after", "soon")], "", 60),
        ] {
            let answer = answer(site, status, &headers, body);
            assert_eq!(answer.wait(now), Some(Duration::from_secs(seconds)), "{headers:?}");
            let error = answer.checked().unwrap_err();
            assert!(matches!(error, HostError::Rate { .. }) && error.may_pass(), "{headers:?}: {error}");
        }
        let refused = answer(GITHUB, 403, &[("x-ratelimit-remaining", "12")], r#"{"message": "Not yours"}"#);
        let error = refused.checked().unwrap_err();
        assert!(
            matches!(&error, HostError::Hidden { said, .. } if said == "Not yours") && !error.may_pass(),
            "{error}"
        );
    }

    #[test]
    fn the_next_page_is_of_the_same_server() {
        let linked = |link: &str| answer(GITLAB, 200, &[("link", link)], "").next("https://host/api/v4");
        assert_eq!(linked("<https://host/api/v4/x?page=1>; rel=\"first\"").unwrap(), None);
        let next = linked("<https://host/api/v4/a>; rel=\"prev\", <https://host/api/v4/b?page=2>; rel=\"next\"");
        assert_eq!(next.unwrap().as_deref(), Some("https://host/api/v4/b?page=2"));
        for elsewhere in ["https://host/api/v4.evil.example/x", "https://elsewhere/api/v4/x"] {
            assert!(linked(&format!("<{elsewhere}>; rel=\"next\"")).is_err(), "{elsewhere}");
        }
    }
}
