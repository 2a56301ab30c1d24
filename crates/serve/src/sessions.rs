//! Who has logged in with a browser. The browser holds a random name of its session, and never the token; the service holds that name's
//! hash, so that what is in its memory opens nothing.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, header};
use rand::{TryRngCore, rngs::OsRng};
use subtle::ConstantTimeEq;

use crate::tokens::{Hash, hash};

/// How long one is logged in.
pub(crate) const LASTS: Duration = Duration::from_secs(12 * 3600);

/// Sessions at most; of more the one that ends first is ended.
const MOST: usize = 1000;

/// The cookie's name.
const COOKIE: &str = "veridiff";

/// Everyone who has logged in.
#[derive(Debug)]
pub(crate) struct Sessions {
    open: Mutex<HashMap<Hash, Session>>,
    /// What forms carry where nobody logs in.
    local: String,
}

/// One who has logged in.
#[derive(Debug, Clone)]
struct Session {
    /// The hash of the token by which he did.
    token: Hash,
    form_token: String,
    until: Instant,
}

/// Who looks at pages.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    /// What his forms carry.
    pub form_token: String,
    pub is_logged_in: bool,
}

impl Visitor {
    /// Whether a form carries what it should.
    pub fn sent(&self, form_token: &str) -> bool {
        self.form_token.as_bytes().ct_eq(form_token.as_bytes()).into()
    }
}

impl Sessions {
    /// None yet; an error where the system gives no random bytes.
    pub fn new() -> Result<Sessions, String> {
        let local = random().ok_or("the system gives no random bytes")?;
        Ok(Sessions { open: Mutex::default(), local })
    }

    /// One who needs not log in.
    pub fn local(&self) -> Visitor {
        Visitor { form_token: self.local.clone(), is_logged_in: false }
    }

    /// Begins a session by a token, and gives the value of its cookie.
    pub fn begin(&self, token: Hash, now: Instant) -> Option<String> {
        let (name, form_token) = (random()?, random()?);
        let mut open = self.open();
        open.retain(|_, session| session.until > now);
        if open.len() >= MOST
            && let Some(first) = open.iter().min_by_key(|(_, session)| session.until).map(|(name, _)| *name)
        {
            open.remove(&first);
        }
        open.insert(hash(name.as_bytes()), Session { token, form_token, until: now + LASTS });
        Some(name)
    }

    /// Who a request comes from, and by which token he logged in.
    pub fn of(&self, headers: &HeaderMap, now: Instant) -> Option<(Hash, Visitor)> {
        let open = self.open();
        let session = names(headers).find_map(|name| open.get(&hash(name.as_bytes())))?;
        let visitor = Visitor { form_token: session.form_token.clone(), is_logged_in: true };
        (session.until > now).then_some((session.token, visitor))
    }

    /// Ends the session of a request.
    pub fn end(&self, headers: &HeaderMap) {
        let mut open = self.open();
        for name in names(headers) {
            open.remove(&hash(name.as_bytes()));
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Hash, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The header that gives a browser its cookie, or with an empty value takes it away.
pub(crate) fn set_cookie(value: &str, is_secure: bool) -> String {
    let seconds = if value.is_empty() { 0 } else { LASTS.as_secs() };
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// The values that a browser sends as the cookie.
fn names(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    all.flat_map(|cookies| cookies.split(';')).filter_map(|one| one.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// 32 random bytes in hexadecimal digits.
fn random() -> Option<String> {
    let mut bytes = [0_u8; 32];
    OsRng.try_fill_bytes(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(cookie: &str) -> HeaderMap {
        [(header::COOKIE, cookie.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn a_session_ends_by_itself_or_when_it_is_told_to() {
        let (sessions, now) = (Sessions::new().unwrap(), Instant::now());
        let name = sessions.begin([7; 32], now).unwrap();
        let headers = with(&format!("other=1; veridiff={name}"));
        let (token, visitor) = sessions.of(&headers, now).unwrap();
        assert_eq!((token, visitor.is_logged_in), ([7; 32], true));
        assert!(visitor.sent(&visitor.form_token) && !visitor.sent("") && !visitor.sent(&sessions.local().form_token));
        assert_ne!(visitor.form_token, name);
        assert!(sessions.of(&headers, now + LASTS).is_none());
        for wrong in ["", "veridiff=", "veridiff", "veridiff=0", &format!("xveridiff={name}")] {
            assert!(sessions.of(&with(wrong), now).is_none(), "{wrong}");
        }
        sessions.end(&headers);
        assert!(sessions.of(&headers, now).is_none());
    }

    #[test]
    fn there_are_so_many_sessions_and_the_oldest_goes() {
        let (sessions, now) = (Sessions::new().unwrap(), Instant::now());
        let at = |second: u64| now + Duration::from_secs(second);
        let first = sessions.begin([0; 32], at(0)).unwrap();
        let second = sessions.begin([0; 32], at(1)).unwrap();
        for n in 2..=MOST as u64 {
            sessions.begin([0; 32], at(n)).unwrap();
        }
        assert_eq!(sessions.open().len(), MOST);
        let is_open = |name: &str| sessions.of(&with(&format!("veridiff={name}")), at(2000)).is_some();
        assert!(!is_open(&first) && is_open(&second));
    }
}
