//! A generator by a script, a service before it, and a client that sees every byte and when it came.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc::channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use veridiff_serve::{GatewayOptions, Listen, Mode, Open, Service, ServiceOptions, serve};

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request as the generator got it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its first line and its headers, in small letters.
    pub head: String,
    pub body: Vec<u8>,
}

impl Asked {
    /// The values of a header.
    pub fn header(&self, name: &str) -> Vec<&str> {
        self.head.lines().filter_map(|line| line.strip_prefix(&format!("{name}: "))).collect()
    }
}

/// A server that does what its script says.
pub struct Upstream {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Upstream {
    /// Answers each request by `script`, whose error closes the connection.
    pub fn start(script: impl Fn(&Asked, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (script, asked) = (Arc::new(script), Arc::new(Mutex::new(Vec::new())));
        let all = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, all) = (Arc::clone(&script), Arc::clone(&all));
                thread::spawn(move || {
                    let mut stream = stream?;
                    stream.set_nodelay(true)?;
                    let mut reader = BufReader::new(stream.try_clone()?);
                    while let Some(asked) = request(&mut reader)? {
                        all.lock().unwrap().push(asked.clone());
                        script(&asked, &mut stream)?;
                        if asked.header("connection").contains(&"close") {
                            break;
                        }
                    }
                    io::Result::Ok(())
                });
            }
        });
        Upstream { address, asked }
    }

    /// One that always answers the same bytes.
    pub fn saying(answer: &[u8]) -> Upstream {
        let answer = answer.to_vec();
        Upstream::start(move |_, stream| stream.write_all(&answer))
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

fn request(reader: &mut impl BufRead) -> io::Result<Option<Asked>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Asked { head, body }))
}

/// A whole answer.
pub fn answer(kind: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nX-Own: 7\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .into()
}

/// A conversation's answer of one text.
pub fn said(text: &str) -> String {
    let message = json!({ "role": "assistant", "content": text });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    json!({ "id": "c-1", "object": "chat.completion", "model": "g", "choices": [choice] }).to_string()
}

/// The events of a stream that says a text word by word.
pub fn streamed(text: &str) -> Vec<String> {
    let event = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "c-1", "object": "chat.completion.chunk", "choices": [choice] }))
    };
    let mut events = vec![event(json!({ "role": "assistant" }), Value::Null)];
    events.extend(text.split_inclusive(' ').map(|word| event(json!({ "content": word }), Value::Null)));
    events.push(event(json!({}), "stop".into()));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Begins a stream of events.
pub fn begin_stream(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
}

/// A chunk of an answer; an empty one is the last.
pub fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    write!(stream, "{:x}\r\n", bytes.len())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}

/// Says a whole stream.
pub fn say_stream(stream: &mut TcpStream, events: &[String]) -> io::Result<()> {
    begin_stream(stream)?;
    events.iter().try_for_each(|event| chunk(stream, event.as_bytes()))?;
    chunk(stream, b"")
}

/// A gateway to a generator.
pub fn gateway(upstream: &str, mode: Mode) -> GatewayOptions {
    GatewayOptions {
        upstream: upstream.to_owned(),
        key: None,
        mode,
        markers: None,
        task: Default::default(),
        refuses: Arc::new(|finding| finding.verdict >= Some(veridiff_facts::verdict::Verdict::Unsupported)),
        patience: Duration::from_secs(30),
        verdict_within: Duration::from_secs(30),
    }
}

/// A service that goes on until the tests end.
pub fn serving(options: ServiceOptions, open: Box<Open>) -> SocketAddr {
    let service = Service::start(ServiceOptions { workers: 2, ..options }, open).unwrap();
    let (address, addresses) = channel();
    let listen = Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), certificate: None };
    thread::spawn(move || serve(&service, &listen, |at| address.send(at).unwrap()));
    addresses.recv_timeout(PATIENCE).unwrap()
}

/// An answer as it came.
#[derive(Debug)]
pub struct Got {
    pub status: u16,
    /// Names in small letters, in the order in which they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether it came to its end, as its head says.
    pub is_whole: bool,
    /// From the request to the first byte of the body.
    pub first: Duration,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A connection on which a request was sent.
pub struct Asking {
    stream: TcpStream,
    begun: Instant,
    raw: Vec<u8>,
    first: Option<Duration>,
}

/// Sends a request with these headers beside those that every client sends.
pub fn asking(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: &str) -> Asking {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = "Host: localhost\r\nConnection: close\r\nContent-Type: application/json";
    let request = format!("{line} HTTP/1.1\r\n{head}\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len());
    let begun = Instant::now();
    stream.write_all(request.as_bytes()).unwrap();
    Asking { stream, begun, raw: Vec::new(), first: None }
}

/// Where the head of an answer ends.
fn end_of_head(raw: &[u8]) -> Option<usize> {
    raw.windows(4).position(|four| four == b"\r\n\r\n").map(|place| place + 4)
}

impl Asking {
    /// Sends bytes as they are.
    pub fn raw(address: SocketAddr, bytes: &[u8]) -> Asking {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let begun = Instant::now();
        stream.write_all(bytes).unwrap();
        Asking { stream, begun, raw: Vec::new(), first: None }
    }

    /// Reads what comes next; whether there was anything.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 16 << 10];
        // a connection that is reset has ended too
        let n = self.stream.read(&mut bytes).unwrap_or(0);
        self.raw.extend_from_slice(&bytes[..n]);
        if self.first.is_none() && end_of_head(&self.raw).is_some_and(|end| self.raw.len() > end) {
            self.first = Some(self.begun.elapsed());
        }
        n > 0
    }

    /// Reads until something has come.
    pub fn until(&mut self, what: &str) {
        while !String::from_utf8_lossy(&self.raw).contains(what) {
            assert!(self.read(), "it ended before `{what}`: {}", String::from_utf8_lossy(&self.raw));
        }
    }

    /// Reads to the end.
    pub fn got(mut self) -> Got {
        while self.read() {}
        let end = end_of_head(&self.raw).unwrap_or_else(|| panic!("no head: {}", String::from_utf8_lossy(&self.raw)));
        let head = String::from_utf8_lossy(&self.raw[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let of = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let (body, is_whole) = match (of("transfer-encoding"), of("content-length")) {
            (Some("chunked"), _) => joined(&self.raw[end..]),
            (_, Some(length)) => (self.raw[end..].to_vec(), self.raw.len() - end == length.parse::<usize>().unwrap()),
            _ => (self.raw[end..].to_vec(), true),
        };
        let first = self.first.unwrap_or_else(|| self.begun.elapsed());
        Got { status, headers, body, is_whole, first }
    }
}

/// The bytes of chunks, and whether the last one came.
fn joined(mut chunks: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(line) = chunks.windows(2).position(|two| two == b"\r\n") else { return (body, false) };
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..line]).unwrap(), 16).unwrap();
        chunks = &chunks[line + 2..];
        if length == 0 {
            return (body, true);
        }
        body.extend_from_slice(&chunks[..length.min(chunks.len())]);
        if chunks.len() < length + 2 {
            return (body, false);
        }
        chunks = &chunks[length + 2..];
    }
}

/// Asks, and reads to the end.
pub fn ask(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: &str) -> Got {
    asking(address, line, headers, body).got()
}

/// Asks for a conversation.
pub fn converse(address: SocketAddr, headers: &[(&str, &str)], body: &Value) -> Got {
    ask(address, "POST /v1/chat/completions", headers, &body.to_string())
}

/// A counter of the service, or several of that beginning together; it may still be about to count.
pub fn counted(address: SocketAddr, line: &str, at_least: f64) -> f64 {
    let begun = Instant::now();
    loop {
        let page = ask(address, "GET /metrics", &[], "").text();
        let lines = page.lines().filter(|found| found.starts_with(line));
        let n: f64 = lines.filter_map(|found| found.rsplit(' ').next()?.parse::<f64>().ok()).sum();
        if n >= at_least || begun.elapsed() > PATIENCE {
            return n;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
