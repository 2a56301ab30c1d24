//! Who takes webhooks of code hosts. The service reads a delivery within its limits and knows nothing of what is in it.

use std::{fmt, sync::Arc};

use axum::http::HeaderMap;

use crate::refusal::Refusal;

/// A kind of code host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Platform {
    /// GitHub, which delivers to `/hooks/github`.
    GitHub,
    /// GitLab, which delivers to `/hooks/gitlab`.
    GitLab,
}

impl Platform {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Platform::GitHub => "github",
            Platform::GitLab => "gitlab",
        }
    }
}

/// What a code host sent.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'d> {
    /// To which path.
    pub platform: Platform,
    /// Its headers.
    pub headers: &'d HeaderMap,
    /// Its body, as it came.
    pub body: &'d [u8],
}

impl<'d> Delivery<'d> {
    /// The value of a header, where it is text.
    pub fn header(&self, name: &str) -> Option<&'d str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is kept, and worked on soon.
    Kept,
    /// It has come before; nothing more is done.
    Known,
    /// It is about nothing that is worked on.
    Ignored,
}

/// Takes webhooks. Both may block, and run on threads that may.
pub trait Hooks: Send + Sync {
    /// Takes a delivery, which is on disk when this returns.
    ///
    /// # Errors
    /// [`Refusal::Signature`], [`Refusal::NotFound`] for a host that is not served, [`Refusal::Json`], [`Refusal::Shape`], and
    /// [`Refusal::Fault`] where it cannot be kept.
    fn take(&self, delivery: &Delivery<'_>) -> Result<Taken, Refusal>;

    /// What people said of texts, as labelled samples: one JSON object a line.
    ///
    /// # Errors
    /// [`Refusal::Fault`].
    fn labels(&self) -> Result<String, Refusal>;
}

/// Hooks that are shared with who works on them.
#[derive(Clone)]
pub struct SharedHooks(pub Arc<dyn Hooks>);

impl fmt::Debug for SharedHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedHooks").finish_non_exhaustive()
    }
}
