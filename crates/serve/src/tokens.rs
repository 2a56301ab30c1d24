//! Who may ask: tokens by their hashes, compared in constant time, each with its rate and its quota.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, header};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::{limits::Limits, rate::Bucket, refusal::Refusal};

/// Fewest bytes of a token that is given as it is.
const FEWEST_BYTES: usize = 16;

/// A SHA-256.
pub(crate) type Hash = [u8; 32];

/// The name of whoever asks a service that has no tokens.
const LOCAL: &str = "local";

/// Where tokens come from.
#[derive(Clone, Default)]
pub struct TokenSource {
    /// A TOML file: a list `[[token]]`, each with `name`, `sha256` and, if it has them, `per_second` and `per_day`.
    pub file: Option<PathBuf>,
    /// One token as it is, for a client called `environment`.
    pub plain: Option<String>,
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource").field("file", &self.file).field("has_plain", &self.plain.is_some()).finish()
    }
}

/// Why tokens cannot be used. No message has any of a token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the tokens in `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not of this form.
    #[error("the tokens in `{}` cannot be used: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which entry.
        problem: String,
    },
    /// The token of the environment is too short.
    #[error("a token of fewer than {FEWEST_BYTES} bytes can be guessed")]
    Short,
}

impl TokenError {
    /// How to mend it.
    pub fn hint(&self) -> String {
        match self {
            TokenError::Read { .. } => "the service must be allowed to read it".to_owned(),
            TokenError::File { .. } => {
                "an entry is `[[token]]` with name = \"bot\" and sha256 = \"…\", as `printf %s TOKEN | sha256sum` gives \
                 it; per_second and per_day may follow"
                    .to_owned()
            }
            TokenError::Short => "take 32 random bytes: `openssl rand -hex 32`".to_owned(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    sha256: String,
    per_second: Option<f64>,
    per_day: Option<u64>,
}

/// One who may ask.
#[derive(Debug)]
pub struct Client {
    /// What logs call it.
    pub name: String,
    rate: Option<Mutex<Bucket>>,
    quota: Option<Mutex<Bucket>>,
}

impl Client {
    fn new(name: &str, per_second: Option<f64>, per_day: Option<u64>) -> Arc<Client> {
        let now = Instant::now();
        // a second's worth at once, and one request at least
        let rate = per_second.map(|rate| Mutex::new(Bucket::new(rate, rate.max(1.0), now)));
        let quota = per_day.map(|most| Mutex::new(Bucket::of_day(most, now)));
        Arc::new(Client { name: name.to_owned(), rate, quota })
    }

    /// Who asks from within the process, and has no bounds.
    pub(crate) fn inside() -> Arc<Client> {
        Client::new("inside", None, None)
    }

    /// Counts a request.
    pub(crate) fn request(&self) -> Result<(), Refusal> {
        spend(self.rate.as_ref(), 1.0).map_err(Refusal::Rate)
    }

    /// Counts samples.
    pub(crate) fn samples(&self, n: usize) -> Result<(), Refusal> {
        spend(self.quota.as_ref(), n as f64).map_err(Refusal::Quota)
    }
}

fn spend(bucket: Option<&Mutex<Bucket>>, n: f64) -> Result<(), Duration> {
    bucket.map_or(Ok(()), |bucket| bucket.lock().unwrap_or_else(PoisonError::into_inner).spend(n, Instant::now()))
}

/// Everyone who may ask.
#[derive(Debug)]
pub struct Tokens {
    known: Vec<Known>,
    /// Who asks where there is no token.
    local: Arc<Client>,
}

#[derive(Debug)]
struct Known {
    hash: Hash,
    bounds: (Option<f64>, Option<u64>),
    client: Arc<Client>,
}

impl Tokens {
    /// Reads them anew. A client that `before` has under the same token and the same bounds goes on with what it had left.
    ///
    /// # Errors
    /// [`TokenError`].
    pub fn read(source: &TokenSource, limits: &Limits, before: Option<&Tokens>) -> Result<Tokens, TokenError> {
        let mut entries = Vec::new();
        if let Some(path) = &source.file {
            entries.extend(read_file(path)?);
        }
        if let Some(plain) = &source.plain {
            if plain.len() < FEWEST_BYTES {
                return Err(TokenError::Short);
            }
            entries.push(("environment".to_owned(), hash(plain.as_bytes()), (None, None)));
        }
        let known = entries.into_iter().map(|(name, hash, (per_second, per_day))| {
            let bounds = (per_second.or(limits.requests_per_second), per_day);
            let same = |known: &&Known| known.hash == hash && known.bounds == bounds && known.client.name == name;
            let old = before.and_then(|before| before.known.iter().find(same));
            let client = old.map_or_else(|| Client::new(&name, bounds.0, bounds.1), |old| Arc::clone(&old.client));
            Known { hash, bounds, client }
        });
        let local = match before {
            Some(before) => Arc::clone(&before.local),
            None => Client::new(LOCAL, limits.requests_per_second, None),
        };
        Ok(Tokens { known: known.collect(), local })
    }

    /// Whether a token is needed.
    pub fn are_needed(&self) -> bool {
        !self.known.is_empty()
    }

    /// The client whose token has this hash.
    pub(crate) fn by_hash(&self, given: &Hash) -> Result<Arc<Client>, Refusal> {
        // every hash is compared to its end, whichever is the right one
        let mut found = u64::MAX;
        for (place, known) in (0u64..).zip(&self.known) {
            found.conditional_assign(&place, known.hash.ct_eq(given));
        }
        let known = usize::try_from(found).ok().and_then(|place| self.known.get(place));
        known.map(|known| Arc::clone(&known.client)).ok_or(Refusal::Token)
    }

    /// The client that a request comes from.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Result<Arc<Client>, Refusal> {
        if !self.are_needed() {
            return if is_local(headers) { Ok(Arc::clone(&self.local)) } else { Err(Refusal::Host) };
        }
        let given = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
        let is_bearer = given.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "));
        let token = if is_bearer { given[7..].trim_ascii() } else { &[] };
        self.by_hash(&hash(token))
    }
}

/// Whether a request names this machine: a page of another site that a browser shows here would name that site.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}

pub(crate) fn hash(token: &[u8]) -> Hash {
    Sha256::digest(token).into()
}

type Listed = (String, Hash, (Option<f64>, Option<u64>));

fn read_file(path: &Path) -> Result<Vec<Listed>, TokenError> {
    let text = fs::read_to_string(path).map_err(|source| TokenError::Read { path: path.to_owned(), source })?;
    let wrong = |problem: String| TokenError::File { path: path.to_owned(), problem };
    // the parser's own message shows the line, which has a hash in it
    let file: File = toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
    if file.token.is_empty() {
        return Err(wrong("it has no entry".to_owned()));
    }
    let mut listed: Vec<Listed> = Vec::new();
    for Entry { name, sha256, per_second, per_day } in file.token {
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if !is_name || listed.iter().any(|(other, ..)| *other == name) {
            return Err(wrong(format!(
                "`{}` is no name of letters, digits, `-`, `_` and `.` of its own",
                name.escape_debug()
            )));
        }
        let hash = unhex(&sha256).ok_or_else(|| wrong(format!("sha256 of `{name}` is not 64 hexadecimal digits")))?;
        if per_second.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(wrong(format!("per_second of `{name}` is not a number above 0")));
        }
        listed.push((name, hash, (per_second, per_day)));
    }
    Ok(listed)
}

fn unhex(digits: &str) -> Option<Hash> {
    let digits = digits.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    fn of_file(text: &str, before: Option<&Tokens>) -> Result<Tokens, TokenError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let source = TokenSource { file: Some(file.path().to_owned()), plain: None };
        Tokens::read(&source, &Limits::default(), before)
    }

    fn entry(name: &str, token: &str, more: &str) -> String {
        let digits: String = hash(token.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[[token]]\nname = \"{name}\"\nsha256 = \"{digits}\"\n{more}\n")
    }

    #[test]
    fn a_token_is_known_by_its_hash_until_it_is_taken_out() {
        let both = entry("a", "the first token", "") + &entry("b", "the second token", "per_second = 2\nper_day = 3");
        let tokens = of_file(&both, None).unwrap();
        let ask = |tokens: &Tokens, given: &str| {
            tokens.client(&headers(&[(header::AUTHORIZATION, given)])).map(|client| client.name.clone()).ok()
        };
        assert_eq!(ask(&tokens, "Bearer the first token").as_deref(), Some("a"));
        assert_eq!(ask(&tokens, "bearer the second token").as_deref(), Some("b"));
        for wrong in ["", "Bearer ", "Bearer the third token", "Basic the first token", "the first token", "Bearer"] {
            assert_eq!(ask(&tokens, wrong), None, "{wrong}");
        }
        let b = tokens.client(&headers(&[(header::AUTHORIZATION, "Bearer the second token")])).unwrap();
        assert!(b.samples(3).is_ok() && matches!(b.samples(1), Err(Refusal::Quota(_))));
        assert!(b.request().is_ok() && b.request().is_ok() && matches!(b.request(), Err(Refusal::Rate(_))));
        // who stays has spent what was spent; who is taken out is not known any more
        let only_b = of_file(&entry("b", "the second token", "per_second = 2\nper_day = 3"), Some(&tokens)).unwrap();
        assert_eq!(ask(&only_b, "Bearer the first token"), None);
        let b = only_b.client(&headers(&[(header::AUTHORIZATION, "Bearer the second token")])).unwrap();
        assert!(b.samples(1).is_err());
    }

    #[test]
    fn without_tokens_only_this_machine_is_answered() {
        let tokens = Tokens::read(&TokenSource::default(), &Limits::default(), None).unwrap();
        for here in ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "[::1]"] {
            assert!(tokens.client(&headers(&[(header::HOST, here)])).is_ok(), "{here}");
        }
        for there in ["evil.example", "localhost.evil.example:80", "10.0.0.1", ""] {
            assert!(tokens.client(&headers(&[(header::HOST, there)])).is_err(), "{there}");
        }
        assert!(tokens.client(&HeaderMap::new()).is_err());
    }

    #[test]
    fn a_file_that_is_no_list_of_tokens_says_what_is_wrong_and_shows_no_secret() {
        let secret = "0123456789abcdef0123456789abcdef";
        for text in [
            "",
            "token = 3",
            &format!("[[token]]\nname = \"a\"\nsha256 = \"{secret}\""),
            &format!("[[token]]\nname = \"a\"\ntoken = \"{secret}\""),
            &format!("[[token]]\nname = \"a b\"\nsha256 = \"{secret}\""),
            &(entry("a", secret, "") + &entry("a", "other", "")),
            &entry("a", secret, "per_second = 0"),
            &entry("a", secret, "per_second = nan"),
        ] {
            let error = of_file(text, None).unwrap_err();
            let said = format!("{error} {error:?} {}", error.hint());
            assert!(!said.contains(secret), "{said}");
        }
        let short = TokenSource { file: None, plain: Some("short".to_owned()) };
        assert!(matches!(Tokens::read(&short, &Limits::default(), None), Err(TokenError::Short)));
        assert!(!format!("{short:?}").contains("short\""), "{short:?}");
    }
}
