//! A server on this machine that answers as a test says, and remembers what it was asked.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// What a server does with one request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Answers whole.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: Vec<u8> },
    /// Promises the body and breaks off after so many bytes of it.
    Cut { body: Vec<u8>, after: usize },
    /// Sends the head and then nothing.
    StallBody,
    /// Sends nothing.
    Stall,
    /// Closes the connection unanswered.
    Close,
}

impl Act {
    pub fn json(status: u16, body: &Value) -> Act {
        Act::Answer { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }

    /// An answer of chat completions with this text.
    pub fn content(content: &str) -> Act {
        Act::json(200, &answer(content))
    }
}

/// The body of an answer with this text.
pub fn answer(content: &str) -> Value {
    json!({
        "model": "scripted-1", "system_fingerprint": "fp",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": content } }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 }
    })
}

/// One request.
#[derive(Debug, Clone)]
pub struct Asked {
    pub path: String,
    pub head: String,
    pub body: Value,
}

impl Asked {
    /// The text of all messages.
    pub fn text(&self) -> String {
        let messages = self.body["messages"].as_array().cloned().unwrap_or_default();
        messages
            .iter()
            .filter_map(|message| message["content"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

#[derive(Default)]
struct State {
    asked: Mutex<Vec<Asked>>,
    n_open: AtomicUsize,
    most_open: AtomicUsize,
    is_over: AtomicBool,
}

/// The server; it ends with this.
pub struct Server {
    pub address: String,
    state: Arc<State>,
}

impl Server {
    /// A server that does with its `n`-th request, from 0, what `act` says.
    pub fn new(act: impl Fn(usize, &Asked) -> Act + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("127.0.0.1:{}", listener.local_addr().unwrap().port());
        let state = Arc::new(State::default());
        let (shared, act) = (state.clone(), Arc::new(act));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let (shared, act) = (shared.clone(), act.clone());
                thread::spawn(move || {
                    let _closed = stream.map(|stream| serve(stream, &shared, &*act));
                });
            }
        });
        Server { address, state }
    }

    /// What `--backend` takes.
    pub fn spec(&self) -> String {
        format!("openai:http://{}/v1#scripted", self.address)
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    /// The most that were open at once.
    pub fn most_open(&self) -> usize {
        self.state.most_open.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        let _wake = TcpStream::connect(&self.address);
    }
}

/// Serves one connection until it ends.
fn serve(stream: TcpStream, state: &State, act: &dyn Fn(usize, &Asked) -> Act) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head
            .to_ascii_lowercase()
            .lines()
            .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let asked = Asked { path, head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) };
        let number = {
            let mut all = state.asked.lock().unwrap();
            all.push(asked.clone());
            all.len() - 1
        };
        state.most_open.fetch_max(state.n_open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let act = act(number, &asked);
        state.n_open.fetch_sub(1, Ordering::SeqCst);
        match act {
            Act::Answer { status, headers, body } => {
                let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}content-length: {}\r\n\r\n",
                    body.len()
                );
                writer.write_all(&[head.as_bytes(), &body].concat())?;
            }
            Act::Cut { body, after } => {
                write!(writer, "HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n", body.len())?;
                writer.write_all(&body[..after.min(body.len())])?;
                return Ok(());
            }
            Act::StallBody => {
                write!(writer, "HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n")?;
                thread::sleep(Duration::from_secs(20));
                return Ok(());
            }
            Act::Stall => {
                thread::sleep(Duration::from_secs(20));
                return Ok(());
            }
            Act::Close => return Ok(()),
        }
    }
}

/// A plain server: it answers the questions of the probe as one that holds answers to schemas, and gives everything else to `judge`.
pub fn plain(judge: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Server {
    Server::new(move |_, asked| probe_answer(asked).unwrap_or_else(|| judge(asked)))
}

/// What the plain server answers to a question of the probe.
pub fn probe_answer(asked: &Asked) -> Option<Act> {
    if !asked.path.ends_with("/chat/completions") {
        return Some(Act::json(404, &json!({ "error": { "message": "no such path" } })));
    }
    let text = asked.text();
    let content = match &*text {
        text if text.starts_with("Answer with the word yes.") => "yes",
        text if text.starts_with("What is 17 + 25?") => "42",
        text if text.starts_with("Answer with one digit") => "4",
        text if text.starts_with("Answer with the JSON object {\"colour\"") => r#"{"colour": "red"}"#,
        text if text.starts_with("Answer with the word yes alone") => "yes",
        _ => return None,
    };
    Some(Act::content(content))
}
