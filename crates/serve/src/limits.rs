//! What one client, and all clients together, may take of the process.

use std::{sync::Arc, time::Duration};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::Refusal;

/// How much of everything the service takes. The default holds for a small machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Most bytes of a request's body.
    pub body_bytes: usize,
    /// Most bytes of a diff.
    pub diff_bytes: usize,
    /// Most bytes of a text, or of a prompt that is completed.
    pub text_bytes: usize,
    /// Most samples, or prompts, of one request.
    pub samples: usize,
    /// Most samples that wait, of all clients together.
    pub queue: usize,
    /// Most bytes of bodies that are being read or waited for, of all clients together.
    pub bytes_in_flight: usize,
    /// Most connections that are open; more wait to be accepted.
    pub connections: usize,
    /// How long a request may take from its last byte to the last of its answers.
    pub deadline: Duration,
    /// How long a client may take to send the head of its first request, and as long again to send a body.
    pub patience: Duration,
    /// How long a connection may be idle between an answer and the whole head of the next request.
    pub idle: Duration,
    /// How long accepted work may take to be finished once the service was told to stop.
    pub drain: Duration,
    /// Requests a second of a client that has no token with a rate of its own; no bound where absent.
    pub requests_per_second: Option<f64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_bytes: 4 << 20,
            diff_bytes: 1 << 20,
            text_bytes: 64 << 10,
            samples: 256,
            queue: 1024,
            bytes_in_flight: 256 << 20,
            connections: 2048,
            deadline: Duration::from_secs(60),
            patience: Duration::from_secs(10),
            // longer than the minute after which proxies close what is idle, so that it is theirs to close
            idle: Duration::from_secs(75),
            drain: Duration::from_secs(30),
            requests_per_second: None,
        }
    }
}

/// Header lines of a request.
pub(crate) const MOST_HEADERS: usize = 64;

/// Bytes of a request's head.
pub(crate) const HEAD_BYTES: usize = 32 << 10;

/// How long a client may leave an answer unread.
pub(crate) const UNREAD: Duration = Duration::from_secs(30);

/// Bytes of bodies that are in the process, counted in steps of this many.
const STEP: usize = 1 << 10;

/// Lends room for bodies.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    steps: Arc<Semaphore>,
}

/// Room that a body has until its request is answered.
#[derive(Debug)]
pub(crate) struct Lent {
    _permit: OwnedSemaphorePermit,
}

impl Room {
    pub fn new(bytes: usize) -> Self {
        Room { steps: Arc::new(Semaphore::new((bytes / STEP).clamp(1, Semaphore::MAX_PERMITS))) }
    }

    /// Room for a body of at most so many bytes.
    pub fn lend(&self, bytes: usize) -> Result<Lent, Refusal> {
        let steps = u32::try_from(bytes.div_ceil(STEP).max(1)).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.steps).try_acquire_many_owned(steps);
        permit.map(|_permit| Lent { _permit }).map_err(|_| Refusal::NoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_lent_until_it_is_given_back() {
        let room = Room::new(10 * STEP);
        let first = room.lend(8 * STEP - 1).unwrap();
        assert!(room.lend(3 * STEP).is_err());
        let _second = room.lend(1).unwrap();
        drop(first);
        assert!(room.lend(9 * STEP).is_ok());
    }
}
