//! Who asked what, a line a request: names, sizes and outcomes, never a text and never a token.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::mpsc::{Sender, channel},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;

/// A file of lines that is only ever added to.
#[derive(Debug)]
pub(crate) struct Audit {
    lines: Sender<Message>,
}

#[derive(Debug)]
enum Message {
    Line(String),
    Reopen,
}

/// One request.
#[derive(Debug, Serialize)]
pub(crate) struct Entry<'a> {
    /// Seconds since 1970.
    pub at: f64,
    pub client: Option<&'a str>,
    pub method: &'a str,
    pub route: &'a str,
    pub status: u16,
    /// The code of a refusal.
    pub code: Option<&'static str>,
    /// Samples or texts that were accepted.
    pub samples: usize,
    pub seconds: f64,
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

impl Audit {
    /// Begins to write behind what the file has.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path) -> io::Result<Audit> {
        let mut file = append(path)?;
        let path: PathBuf = path.to_owned();
        let (lines, messages) = channel();
        thread::Builder::new().name("audit".to_owned()).spawn(move || {
            for message in messages {
                let done = match message {
                    Message::Line(line) => file.write_all(line.as_bytes()),
                    Message::Reopen => append(&path).map(|opened| file = opened),
                };
                if let Err(error) = done {
                    tracing::error!("the audit log cannot be written: {error}");
                }
            }
        })?;
        Ok(Audit { lines })
    }

    /// Writes a request down.
    pub fn tell(&self, entry: &Entry<'_>) {
        if let Ok(line) = serde_json::to_string(entry) {
            // the thread ends with this
            let _written = self.lines.send(Message::Line(line + "\n"));
        }
    }

    /// Opens the file anew, for whoever has moved it away.
    pub fn reopen(&self) {
        let _told = self.lines.send(Message::Reopen);
    }
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
