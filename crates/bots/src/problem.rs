//! Why a job is not at its end, and whether it is worth another try.

use std::time::Duration;

use veridiff_platforms::HostError;
use veridiff_serve::refusal::Refusal;
use veridiff_text::chain::one_line;

use crate::store::StoreError;

/// Why a job is not at its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Refusal(#[from] Refusal),
}

impl Problem {
    /// Whether the same may go well at another time.
    pub fn may_pass(&self) -> bool {
        match self {
            Problem::Host(error) => may_pass(error),
            Problem::Store(_) | Problem::Refusal(_) => true,
        }
    }

    /// How long to wait, where it is said.
    pub fn wait(&self) -> Option<Duration> {
        match self {
            Problem::Host(error) => error.wait(),
            Problem::Store(_) | Problem::Refusal(_) => None,
        }
    }

    /// Whether the host as a whole wants to be left alone.
    pub fn is_of_host(&self) -> bool {
        matches!(self, Problem::Host(HostError::Rate { .. }))
    }

    /// It, in one line.
    pub fn told(&self) -> String {
        match self {
            Problem::Host(error) => told(error),
            Problem::Store(_) | Problem::Refusal(_) => one_line(self),
        }
    }
}

/// Whether a host may answer the same otherwise at another time. A token may be one that is just being replaced.
pub(crate) fn may_pass(error: &HostError) -> bool {
    error.may_pass() || matches!(error, HostError::Token { .. })
}

/// An error of a host with its own words, which may be those of a stranger.
pub(crate) fn told(error: &HostError) -> String {
    let said = match error {
        HostError::Hidden { said, .. } | HostError::Status { said, .. } => said.as_str(),
        _ => "",
    };
    if said.is_empty() { one_line(error) } else { format!("{}: {}", one_line(error), said.escape_debug()) }
}
