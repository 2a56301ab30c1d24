//! One request with its repetitions.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

use super::{
    Exchange,
    http::{Answer, Transport},
    limits::{Bounds, Clock, Limits},
    retry,
};
use crate::{
    backend::spec::ServerSettings,
    failure::{Failure, Kind},
};

/// Failures in a row after which a server is given up.
const MAX_FAILURES_IN_A_ROW: usize = 20;

/// Bytes of a server's error that are told.
const TOLD: usize = 300;

/// What asks a server, from many threads at once.
pub struct Client {
    transport: Box<dyn Transport>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    n_failures_in_a_row: AtomicUsize,
    stopped: OnceLock<Failure>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl From<&ServerSettings> for Bounds {
    fn from(settings: &ServerSettings) -> Bounds {
        Bounds { concurrency: settings.concurrency, rpm: settings.rpm, tpm: settings.tpm }
    }
}

impl Client {
    /// What asks by a transport, within bounds.
    pub fn new(transport: Box<dyn Transport>, clock: Arc<dyn Clock>, bounds: Bounds) -> Client {
        let limits = Limits::new(bounds, clock.clone());
        Client { transport, clock, limits, n_failures_in_a_row: AtomicUsize::new(0), stopped: OnceLock::new() }
    }

    /// How many requests may be open at once.
    pub fn most_at_once(&self) -> usize {
        self.limits.bounds().concurrency
    }

    /// The body of an answer to a body, of about so many tokens together.
    ///
    /// # Errors
    /// The last attempt's failure; [`Kind::Stopped`] once the server is given up.
    pub fn ask(&self, path: &str, body: &Value, tokens: u64) -> Result<Vec<u8>, Failure> {
        let answer = self.repeat(path, body, tokens, true)?;
        if answer.status == 200 { Ok(answer.body) } else { Err(of_status(&answer)) }
    }

    /// An answer with any status that is not worth repeating, for finding out what a server does. One that cannot be reached is not
    /// waited for: its address is wrong more often than it is about to start.
    ///
    /// # Errors
    /// There is no such answer after all attempts.
    pub fn exchange(&self, path: &str, body: &Value) -> Result<Exchange, Failure> {
        let answer = self.repeat(path, body, 0, false)?;
        if retry::is_worth(Kind::Http(answer.status)) {
            return Err(of_status(&answer));
        }
        Ok(Exchange { status: answer.status, body: String::from_utf8_lossy(&answer.body).into_owned() })
    }

    /// Why nothing is asked any more.
    pub fn stopped(&self) -> Option<Failure> {
        self.stopped.get().cloned()
    }

    fn repeat(&self, path: &str, body: &Value, tokens: u64, waits_for_connection: bool) -> Result<Answer, Failure> {
        let bytes = serde_json::to_vec(body).expect("a JSON value has a JSON form");
        let mut n = 0;
        loop {
            if let Some(failure) = self.stopped.get() {
                return Err(failure.clone());
            }
            let pass = self.limits.pass(tokens);
            let outcome = self.transport.post(path, &bytes);
            if let Ok(answer) = &outcome {
                pass.correct(tokens_of(answer).unwrap_or(tokens));
            }
            drop(pass);
            n += 1;
            let kind = match &outcome {
                Ok(answer) if answer.status == 200 => {
                    self.limits.was_answered();
                    self.n_failures_in_a_row.store(0, Ordering::Relaxed);
                    return outcome;
                }
                Ok(answer) => Kind::Http(answer.status),
                Err(failure) => failure.kind,
            };
            self.count(kind, &outcome);
            let is_worth = retry::is_worth(kind) && (kind != Kind::Connect || waits_for_connection);
            if n >= retry::MAX_ATTEMPTS || !is_worth || self.stopped.get().is_some() {
                return outcome;
            }
            self.clock.sleep(retry::pause(n, outcome.as_ref().ok(), self.clock.date()));
        }
    }

    /// Counts a failure, and gives the server up where it is of no use to go on.
    fn count(&self, kind: Kind, outcome: &Result<Answer, Failure>) {
        if let Ok(answer) = outcome
            && retry::is_out_of_quota(answer)
        {
            let failure = Failure::new(Kind::Stopped, format!("the quota is used up ({})", of_status(answer).message));
            let _already = self.stopped.set(failure);
            return;
        }
        // a busy server is there, and tells how it wants to be asked
        if kind == Kind::Http(429) {
            self.limits.is_too_busy();
            return;
        }
        // a request that is too long, or that asks for what is not taken, is read by a server that is well
        if matches!(kind, Kind::Http(400 | 413 | 422)) {
            self.n_failures_in_a_row.store(0, Ordering::Relaxed);
            return;
        }
        if self.n_failures_in_a_row.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_FAILURES_IN_A_ROW {
            let last = match outcome {
                Ok(answer) => of_status(answer),
                Err(failure) => failure.clone(),
            };
            let message = format!("{MAX_FAILURES_IN_A_ROW} requests in a row failed, the last with {last}");
            let _already = self.stopped.set(Failure::new(Kind::Stopped, message));
        }
    }
}

/// The failure that an error status is, with what the server says about it.
fn of_status(answer: &Answer) -> Failure {
    Failure::new(Kind::Http(answer.status), reason(&String::from_utf8_lossy(&answer.body)))
}

/// What the body of an error says of it.
pub(super) fn reason(body: &str) -> String {
    let said = serde_json::from_str::<Value>(body).ok();
    let said = said.as_ref().and_then(|json| json.pointer("/error/message")?.as_str()).unwrap_or(body);
    let said: String = said.chars().take(TOLD).collect();
    if said.trim().is_empty() { "no reason given".to_owned() } else { said }
}

/// The tokens that an answer says it took.
fn tokens_of(answer: &Answer) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Usage {
        total_tokens: u64,
    }
    #[derive(serde::Deserialize)]
    struct Body {
        usage: Usage,
    }
    serde_json::from_slice::<Body>(&answer.body).ok().map(|body| body.usage.total_tokens)
}

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, time::Duration};

    use serde_json::json;

    use super::*;
    use crate::endpoint::limits::fake::FakeClock;

    /// Answers in order; the last one for ever.
    struct Script(Mutex<Vec<Result<Answer, Failure>>>);

    impl Transport for Script {
        fn post(&self, _path: &str, _body: &[u8]) -> Result<Answer, Failure> {
            let mut left = self.0.lock().unwrap();
            if left.len() > 1 { left.remove(0) } else { left[0].clone() }
        }
    }

    fn status(status: u16) -> Result<Answer, Failure> {
        Ok(Answer { status, ..Answer::default() })
    }

    fn client(script: Vec<Result<Answer, Failure>>) -> (Client, Arc<FakeClock>) {
        let clock = Arc::new(FakeClock::default());
        let bounds = Bounds { concurrency: 8, rpm: None, tpm: None };
        (Client::new(Box::new(Script(Mutex::new(script))), clock.clone(), bounds), clock)
    }

    fn pauses(clock: &FakeClock) -> Vec<u64> {
        clock.pauses.lock().unwrap().iter().map(Duration::as_secs).collect()
    }

    #[test]
    fn a_busy_server_gets_the_pause_it_asks_for() {
        let busy = |after: &str| Ok(Answer { status: 429, retry_after: Some(after.into()), ..Answer::default() });
        let script = vec![busy("7"), busy("Sun, 09 Sep 2001 01:47:07 GMT"), status(429), status(200)];
        let (client, clock) = client(script);
        assert_eq!(client.ask("p", &json!({}), 1), Ok(Vec::new()));
        // the date is 27 s after the clock's first moment, and 7 of them are over
        assert_eq!(pauses(&clock)[..2], [7, 20]);
        assert!(pauses(&clock)[2] <= 4);
        assert_eq!(client.limits.n_allowed(), 1);
    }

    #[test]
    fn what_passes_is_waited_for_and_what_does_not_is_told() {
        let (passes, clock) = client(vec![status(500), status(500), status(500), status(200)]);
        assert!(passes.ask("p", &json!({}), 1).is_ok());
        assert_eq!(pauses(&clock).len(), 3);
        let (never, clock) = client(vec![status(503)]);
        assert_eq!(never.ask("p", &json!({}), 1).unwrap_err().kind, Kind::Http(503));
        assert_eq!(pauses(&clock).len(), 5, "six attempts");
        for kind in [Kind::Connect, Kind::Timeout] {
            let (gone, clock) = client(vec![Err(Failure::new(kind, "no"))]);
            assert_eq!(gone.ask("p", &json!({}), 1).unwrap_err().kind, kind);
            assert_eq!(pauses(&clock).len(), 5);
        }
        for code in [400, 401, 403, 404, 413, 422, 302] {
            let (refused, clock) = client(vec![status(code), status(200)]);
            assert_eq!(refused.ask("p", &json!({}), 1).unwrap_err().kind, Kind::Http(code));
            assert!(pauses(&clock).is_empty(), "{code}");
        }
    }

    #[test]
    fn a_dead_server_and_an_empty_account_end_the_run() {
        let (dead, clock) = client(vec![Err(Failure::new(Kind::Connect, "refused"))]);
        for _ in 0..3 {
            assert_eq!(dead.ask("p", &json!({}), 1).unwrap_err().kind, Kind::Connect);
        }
        assert!(dead.stopped().is_none());
        dead.ask("p", &json!({}), 1).unwrap_err();
        let stopped = dead.stopped().unwrap();
        assert!(stopped.kind == Kind::Stopped && stopped.message.contains("refused"), "{stopped}");
        let n = pauses(&clock).len();
        assert_eq!(dead.ask("p", &json!({}), 1).unwrap_err(), stopped);
        assert_eq!(pauses(&clock).len(), n, "nothing is asked any more");

        // a long row is no sign of a server that is gone, however many there are
        let (full, _) = client(vec![status(413)]);
        for _ in 0..2 * MAX_FAILURES_IN_A_ROW {
            assert_eq!(full.ask("p", &json!({}), 1).unwrap_err().kind, Kind::Http(413));
        }
        assert!(full.stopped().is_none());
        let (closed, _) = client(vec![status(403)]);
        (0..MAX_FAILURES_IN_A_ROW).for_each(|_| drop(closed.ask("p", &json!({}), 1)));
        assert!(closed.stopped().is_some());

        let body = br#"{"error": {"code": "insufficient_quota", "message": "pay"}}"#.to_vec();
        let (poor, clock) = client(vec![Ok(Answer { status: 429, body, ..Answer::default() })]);
        poor.ask("p", &json!({}), 1).unwrap_err();
        assert!(poor.stopped().unwrap().message.contains("pay"));
        assert!(pauses(&clock).is_empty());
    }
}
