//! Code hosts: what a pull request of GitHub or a merge request of GitLab holds, read by their REST APIs.
//!
//! ```text
//!  name ──► host ──► pages of comments ──► samples
//!           (one     diff ──────────────► the names of the whole change
//!            client)
//! ```
//!
//! | file | owns |
//! |---|---|
//! | `host.rs`, `answer.rs` | the one HTTP client: where a host is, who asks, pages, and what an answer's status means |
//! | `site.rs` | in what hosts differ for it: names, variables, headers |
//! | `github.rs`, `gitlab.rs` | how a request is called, and where its comments and its diff are |
//! | `name.rs` | how people name a request |
//! | `whole.rs` | what a request's whole diff knows of the tree |
//! | `error.rs` | why nothing can be read, and how to go on |
//!
//! Nothing here decides what is asked next: who reads once and who answers webhooks use the same client.

#[cfg(feature = "http")]
mod answer;
mod error;
pub mod github;
pub mod gitlab;
#[cfg(feature = "http")]
mod host;
mod name;
mod site;
mod whole;

#[cfg(feature = "http")]
pub use answer::Answer;
pub use error::HostError;
#[cfg(feature = "http")]
pub use host::{Host, Token, entries};
pub use site::{GITHUB, GITLAB, Site};
pub use whole::WholeDiff;

use veridiff_text::sample::Sample;

/// What a pull request or a merge request has to look at.
#[derive(Debug)]
pub struct Read {
    /// Its comments, each beside the lines that it stands under.
    pub samples: Vec<Sample>,
    /// Comments on no line of the diff, which were left out.
    pub n_left_out: usize,
    /// What its whole diff names; none where the host gives none.
    pub whole: Option<WholeDiff>,
}
