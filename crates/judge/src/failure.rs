//! Why there is no reply or no verdict, by kind, and what is wrong with settings.

use std::{fmt, path::PathBuf};

use serde::{Deserialize, Serialize};
use veridiff_table::TableError;

/// What kind of failure it is: one word in the table, so that failures can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The reply is not the object that was asked for.
    Malformed,
    /// The reply ended before the score.
    Truncated,
    /// The model declined.
    Refused,
    /// The server withheld the reply.
    Filtered,
    /// The reply is blank.
    Empty,
    /// The five digits together were improbable where the score stands.
    LowMass,
    /// The probabilities of the score's digits are not in the reply.
    NoLogprobs,
    /// No reply came in time.
    Timeout,
    /// The server could not be reached, or the connection broke.
    Connect,
    /// The server answered with an error status.
    Http(u16),
    /// A model here could not compute the answer.
    Model,
    /// Request or reply is longer than what is allowed.
    TooLong,
    /// The backend cannot do what was asked.
    Unsupported,
    /// Only replies of a file are allowed, and it holds none to this request.
    NotRecorded,
    /// The reply could not be journalled, so it must not be used.
    NotKept,
    /// Asking could cost more than what is allowed.
    Budget,
    /// The run was stopped before this request.
    Stopped,
}

impl Kind {
    /// Whether it was not even asked.
    pub fn is_skip(self) -> bool {
        matches!(self, Kind::Budget | Kind::Stopped)
    }

    /// Whether asking again in other words may help: the reply came, and could not be read.
    pub fn is_of_content(self) -> bool {
        matches!(self, Kind::Malformed | Kind::Truncated | Kind::Empty)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Kind::Malformed => "malformed",
            Kind::Truncated => "truncated",
            Kind::Refused => "refused",
            Kind::Filtered => "filtered",
            Kind::Empty => "empty",
            Kind::LowMass => "low_mass",
            Kind::NoLogprobs => "no_logprobs",
            Kind::Timeout => "timeout",
            Kind::Connect => "connect",
            Kind::Http(status) => return write!(f, "http_{status}"),
            Kind::Model => "model",
            Kind::TooLong => "too_long",
            Kind::Unsupported => "unsupported",
            Kind::NotRecorded => "not_recorded",
            Kind::NotKept => "not_kept",
            Kind::Budget => "budget",
            Kind::Stopped => "stopped",
        };
        f.write_str(name)
    }
}

/// Why one request has no reply, or one reply no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: Kind,
    /// What happened, for a person. It quotes no key and no address's query.
    pub message: String,
}

impl Failure {
    /// A failure of a kind, and what happened.
    pub fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }
}

/// Why a judge cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// A file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The name of a backend that cannot be understood.
    #[error("`{spec}` names no backend: {problem}")]
    Spec {
        /// The name as it was given.
        spec: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A file of settings, prompts or replies that cannot be used.
    #[error("cannot use `{}`: {problem}", path.display())]
    File {
        /// The file, or the name of a built-in one.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
        /// How to mend it.
        hint: String,
    },
    /// Settings that do not go together.
    #[error("{problem}")]
    Settings {
        /// What cannot be done.
        problem: String,
        /// How to mend it.
        hint: String,
    },
    /// A server does not do what is needed of it.
    #[error("the server at {host} cannot be used: {failure}")]
    Server {
        /// Its name and port.
        host: String,
        /// What it did.
        failure: Failure,
    },
    /// A model on this machine cannot be found or loaded.
    #[error("the model cannot be asked")]
    Model(#[from] veridiff_core::Error),
    /// The file of replies cannot be read or written.
    #[error("the replies cannot be kept")]
    Store(#[from] TableError),
}

impl JudgeError {
    /// Settings that do not go together, and how to mend it.
    pub fn settings(problem: impl Into<String>, hint: impl Into<String>) -> JudgeError {
        JudgeError::Settings { problem: problem.into(), hint: hint.into() }
    }

    /// How to mend it, if we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            JudgeError::Read { .. } => None,
            JudgeError::Spec { .. } => Some(
                "local:MODEL, openai:URL#MODEL, scripted:FILE, replay:FILE or a .toml file; NAME= before it names its columns"
                    .to_owned(),
            ),
            JudgeError::File { hint, .. } | JudgeError::Settings { hint, .. } => Some(hint.clone()),
            JudgeError::Server { failure, .. } => Some(server_hint(failure.kind).to_owned()),
            JudgeError::Model(error) => error.hint(),
            JudgeError::Store(error) => error.hint(),
        }
    }
}

/// What helps against a server's failure.
fn server_hint(kind: Kind) -> &'static str {
    match kind {
        Kind::Connect => "check the address and that the server runs; its base usually ends in /v1",
        Kind::Timeout => "raise timeout_s, or ask when the server has less to do",
        Kind::Http(401 | 403) => {
            "set the environment variable that api_key_env names (OPENAI_API_KEY unless said) to a key"
        }
        Kind::Http(404) => "check the model's name and the base address, which usually ends in /v1",
        Kind::Http(429) => "the account's quota or rate is used up; ask later, or set rpm and tpm",
        Kind::Unsupported => {
            "log-probabilities of a given text come from /completions with `echo` (veridiff serve) or \
             `prompt_logprobs` (vLLM); chat alone does not give them"
        }
        Kind::Http(300..=399) => "the server redirects; name the address that it redirects to",
        _ => "ask the server with --probe, and see its own log",
    }
}
