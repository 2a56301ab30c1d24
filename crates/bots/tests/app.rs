//! The bot on GitHub as an App.

mod common;

use std::sync::{Arc, Mutex};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use common::{
    Desk, FALSE, KEY,
    github::{ALL, comment, github, kinds},
    opened,
};
use ring::{rsa, signature};
use rustls_pki_types::{PrivatePkcs1KeyDer, pem::PemObject};
use serde_json::{Value, json};

/// The claims of a word that the App signed.
fn claims(word: &str) -> Value {
    let der = PrivatePkcs1KeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let key = rsa::KeyPair::from_der(der.secret_pkcs1_der()).unwrap();
    let (said, signed) = word.rsplit_once('.').unwrap();
    let public = signature::UnparsedPublicKey::new(&signature::RSA_PKCS1_2048_8192_SHA256, key.public());
    public.verify(said.as_bytes(), &URL_SAFE_NO_PAD.decode(signed).unwrap()).unwrap();
    let parts: Vec<Value> =
        said.split('.').map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()).collect();
    assert_eq!(parts[0], json!({ "alg": "RS256", "typ": "JWT" }));
    parts[1].clone()
}

#[test]
fn an_app_asks_for_a_token_once_and_does_everything_by_it() {
    let words: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&words);
    let (host, state) = github(vec![comment(1, "bot", FALSE)], move |call, answer| {
        let head = call.head.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap_or_default();
        heard.lock().unwrap().push(head.to_owned());
        match call.path.as_str() {
            "/repos/octocat/hello/installation" => ("200 OK".to_owned(), json!({ "id": 5 }).to_string()),
            "/app/installations/5/access_tokens" => {
                ("201 Created".to_owned(), json!({ "token": "ghs_of_octocat" }).to_string())
            }
            _ => answer(),
        }
    });
    let desk = Desk::by("app = 123\nkey = \"KEY\"", "github", &host, ALL);
    desk.github("one", "pull_request", &opened(7)).unwrap();
    desk.work();
    assert_eq!(state.replies(1).len(), 1);
    assert_eq!(kinds(&host.changes())[..2], ["POST access_tokens", "POST replies"]);
    let words = words.lock().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for word in &words[..2] {
        let claims = claims(word);
        let (begin, end) = (claims["iat"].as_u64().unwrap(), claims["exp"].as_u64().unwrap());
        // GitHub takes ten minutes at most, and clocks may differ
        assert!(begin <= now && end > now && end - begin <= 600, "{claims}");
        assert_eq!(claims["iss"], "123");
    }
    assert!(words.len() > 5 && words[2..].iter().all(|word| word == "ghs_of_octocat"), "{words:?}");
}
