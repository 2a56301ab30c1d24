//! A bot between a code host by a script and a service without sockets.

#![allow(dead_code, reason = "each test takes what it needs")]

pub mod github;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, LazyLock, Mutex},
    thread,
};

use ring::hmac;
use serde_json::{Value, json};
use tempfile::TempDir;
use veridiff_bots::{Bot, Config};
use veridiff_core::{
    gate::{Gate, GateOptions},
    settings::Settings,
};
use veridiff_serve::{Delivery, Hooks, Platform, Resident, Service, ServiceOptions, Taken, refusal::Refusal};

pub const SECRET: &str = "a secret of many bytes";
/// The private key of an App, made for these tests; in the file without its frame, which programs that look for secrets look for.
pub static KEY: LazyLock<String> = LazyLock::new(|| {
    let frame = |end: &str| format!("-----{end} RSA {} KEY-----\n", "PRIVATE");
    [&frame("BEGIN"), include_str!("../fixtures/app.key"), &frame("END")].concat()
});
pub const HUNK: &str = "@@ -7,2 +7,2 @@ def area(shape):\n     width = shape.width\n-    return width * width\n+    return width * shape.height";
pub const FALSE: &str = "`area` returns `width * width` now.";
pub const TRUE: &str = "`width` is multiplied by `shape.height` now.";

pub fn whole() -> String {
    format!("diff --git a/src/area.py b/src/area.py\n--- a/src/area.py\n+++ b/src/area.py\n{HUNK}\n")
}

/// A call that a host was asked for.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: String,
    pub path: String,
    pub head: String,
    pub body: Value,
}

impl Call {
    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        self.method != "GET"
    }
}

/// What a host answers: a status line with headers, and a body.
pub type Script = dyn Fn(&Call) -> (String, String) + Send + Sync;

/// A host by a script, which keeps what it was asked for.
pub struct Host {
    pub url: String,
    pub calls: Arc<Mutex<Vec<Call>>>,
}

impl Host {
    pub fn new(script: impl Fn(&Call) -> (String, String) + Send + Sync + 'static) -> Host {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (kept, script): (_, Arc<Script>) = (Arc::clone(&calls), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
                let length = head.to_ascii_lowercase();
                let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                let mut body = vec![0; length.unwrap_or(0)];
                if reader.read_exact(&mut body).is_err() {
                    continue;
                }
                let mut words = head.split(' ').map(str::to_owned);
                let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let call = Call { method, path, head, body };
                let (begin, said) = script(&call);
                kept.lock().unwrap().push(call);
                let more = format!("Content-Length: {}\r\nConnection: close", said.len());
                let _gone = write!(reader.get_mut(), "HTTP/1.1 {begin}\r\n{more}\r\n\r\n{said}");
            }
        });
        Host { url, calls }
    }

    /// What changed something, of all that was asked.
    pub fn changes(&self) -> Vec<Call> {
        self.calls.lock().unwrap().iter().filter(|call| call.changes()).cloned().collect()
    }
}

/// A bot with its folder and a service that asks the change alone.
pub struct Desk {
    pub folder: TempDir,
    pub bot: Arc<Bot>,
    pub service: Arc<Service>,
    config: String,
}

pub fn service() -> Arc<Service> {
    let options = ServiceOptions { workers: 1, ..ServiceOptions::default() };
    let open = |_: Option<&Resident>| {
        let gate = Gate::open(GateOptions { facts_only: true, ..GateOptions::default() });
        let gate = gate.map_err(|error| error.to_string())?;
        Ok(Resident { gate, models: Vec::new(), settings: Settings::default() })
    };
    Service::start(options, Box::new(open)).unwrap()
}

fn open(folder: &TempDir, config: &str) -> Arc<Bot> {
    let path = folder.path().join("bot.toml");
    fs::write(&path, config).unwrap();
    let variable = |name: &str| match name {
        "TOKEN" => Some("a secret token".to_owned()),
        "SECRET" => Some(SECRET.to_owned()),
        "KEY" => Some(KEY.clone()),
        _ => None,
    };
    Bot::open(Config::read(&path, &variable).unwrap()).unwrap()
}

impl Desk {
    /// A bot of `[github]` or `[gitlab]` at a host, which does these things, by a token.
    pub fn new(section: &str, host: &Host, does: &str) -> Desk {
        Desk::by("token = \"TOKEN\"", section, host, does)
    }

    /// A bot by another word than a token's.
    pub fn by(login: &str, section: &str, host: &Host, does: &str) -> Desk {
        let config = format!(
            "database = \"bot.sqlite\"\n[{section}]\napi = \"{}\"\n{login}\nsecret = \"SECRET\"\npause = 0.0\n\
             repositories = [\"octocat/*\"]\naccounts = [\"bot\"]\n{does}\n",
            host.url
        );
        let folder = tempfile::tempdir().unwrap();
        Desk { bot: open(&folder, &config), service: service(), folder, config }
    }

    /// The bot as it is after its process was killed: the file is what there is.
    pub fn again(self) -> Desk {
        let Desk { folder, service, config, bot } = self;
        drop(bot);
        Desk { bot: open(&folder, &config), folder, service, config }
    }

    /// The bot as it goes on with what was on disk at another moment.
    pub fn at(self, folder: TempDir) -> Desk {
        let Desk { service, config, .. } = self;
        Desk { bot: open(&folder, &config), folder, service, config }
    }

    /// Has what waits for its time wait no longer.
    pub fn set_free(&self) {
        self.database().execute("UPDATE jobs SET not_before = 0", []).unwrap();
    }

    pub fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder.path().join("bot.sqlite")).unwrap()
    }

    pub fn github(&self, name: &str, event: &str, body: &Value) -> Result<Taken, Refusal> {
        let body = body.to_string();
        self.signed(name, event, &body, &signature(&body))
    }

    pub fn signed(&self, name: &str, event: &str, body: &str, signature: &str) -> Result<Taken, Refusal> {
        let headers = [("x-github-event", event), ("x-github-delivery", name), ("x-hub-signature-256", signature)];
        self.deliver(Platform::GitHub, &headers, body)
    }

    pub fn deliver(&self, platform: Platform, headers: &[(&str, &str)], body: &str) -> Result<Taken, Refusal> {
        let mut map = veridiff_serve::HeaderMap::new();
        for (name, value) in headers {
            let name: ureq::http::HeaderName = name.parse().unwrap();
            map.insert(name, value.parse().unwrap());
        }
        self.bot.take(&Delivery { platform, headers: &map, body: body.as_bytes() })
    }

    pub fn work(&self) {
        self.bot.work(&self.service);
    }

    pub fn labels(&self) -> Vec<Value> {
        self.bot.labels().unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub fn signature(body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    format!("sha256={}", tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// A webhook about a pull request.
pub fn opened(number: u64) -> Value {
    json!({ "action": "opened", "pull_request": { "number": number }, "repository": { "full_name": "octocat/hello" } })
}
