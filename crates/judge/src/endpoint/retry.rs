//! Which answers are worth another try, and after how long.

use std::time::{Duration, SystemTime};

use rand::Rng;

use super::http::Answer;
use crate::failure::Kind;

/// Attempts at one request.
pub const MAX_ATTEMPTS: u32 = 6;

/// The longest pause of our own.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The longest pause that a server may ask for.
const MAX_ASKED: Duration = Duration::from_secs(300);

/// Whether another try may get another answer.
pub fn is_worth(kind: Kind) -> bool {
    match kind {
        Kind::Connect | Kind::Timeout => true,
        Kind::Http(status) => matches!(status, 408 | 409 | 429 | 500 | 502 | 503 | 504 | 529),
        _ => false,
    }
}

/// The pause before attempt `n`, counted from 1 for the second: what the server asks for, or else anything up to 2^(n-1) seconds, by
/// chance, so that requests that failed together do not come again together.
pub fn pause(n: u32, answer: Option<&Answer>, now: SystemTime) -> Duration {
    let asked = answer.and_then(|answer| asked(answer, now));
    asked.map_or_else(
        || {
            let most = Duration::from_secs(1 << (n - 1).min(16)).min(MAX_PAUSE);
            most.mul_f64(rand::rng().random_range(0.0..=1.0))
        },
        |asked| asked.min(MAX_ASKED),
    )
}

/// The pause that a server asks for, in milliseconds, in seconds or until a date. What is none of these is not asked.
fn asked(answer: &Answer, now: SystemTime) -> Option<Duration> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    let seconds = |n: f64| Duration::from_secs_f64(n.min(MAX_ASKED.as_secs_f64()));
    let milliseconds = answer.retry_after_ms.as_deref().and_then(number);
    milliseconds.map(|n| seconds(n / 1000.0)).or_else(|| {
        let text = answer.retry_after.as_deref()?;
        let until = || httpdate::parse_http_date(text.trim()).ok();
        number(text).map(seconds).or_else(|| Some(until()?.duration_since(now).unwrap_or_default()))
    })
}

/// Whether an account has nothing left, so that no pause helps.
pub fn is_out_of_quota(answer: &Answer) -> bool {
    answer.status == 429 && String::from_utf8_lossy(&answer.body).contains("insufficient_quota")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_the_pause_that_it_asks_for() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let after = |ms: Option<&str>, s: Option<&str>| {
            let own = |text: &str| text.to_owned();
            let answer = Answer { retry_after_ms: ms.map(own), retry_after: s.map(own), ..Answer::default() };
            asked(&answer, now).map(|pause| pause.as_millis())
        };
        assert_eq!(after(Some("1500"), Some("9")), Some(1500));
        assert_eq!(after(None, Some("2")), Some(2000));
        // 2001-09-09 01:46:40 UTC is `now`
        assert_eq!(after(None, Some("Sun, 09 Sep 2001 01:47:00 GMT")), Some(20_000));
        assert_eq!(after(None, Some("Sun, 09 Sep 2001 01:00:00 GMT")), Some(0));
        assert_eq!(after(None, Some("soon")), None);
        assert_eq!(after(Some("-1"), Some("NaN")), None);
        assert_eq!(after(None, Some("1e300")), Some(300_000));
        let answer = Answer { retry_after: Some("100000".into()), ..Answer::default() };
        assert_eq!(pause(1, Some(&answer), now), MAX_ASKED);
    }

    #[test]
    fn pauses_of_our_own_grow_to_a_minute() {
        for n in 1..40 {
            let most = Duration::from_secs(2u64.pow((n - 1).min(6))).min(MAX_PAUSE);
            assert!((0..50).all(|_| pause(n, None, SystemTime::now()) <= most), "{n}");
        }
    }

    #[test]
    fn what_asks_too_much_is_not_asked_again() {
        for status in [400, 401, 403, 404, 413, 422, 302] {
            assert!(!is_worth(Kind::Http(status)), "{status}");
        }
        for kind in [Kind::Connect, Kind::Timeout, Kind::Http(429), Kind::Http(503), Kind::Http(529)] {
            assert!(is_worth(kind), "{kind}");
        }
        assert!(!is_worth(Kind::TooLong));
    }
}
