//! What `--pr` and `--mr` name, read once from its code host.

use veridiff_facts::checker::SharedTree;
use veridiff_platforms::{github::PullRequest, gitlab::MergeRequest};
use veridiff_text::sample::Sample;

use crate::cli::terminal::note;

/// Comments with what the whole change names.
pub type Commented = (Vec<Sample>, Option<SharedTree>);

/// Tells how many comments are on no line.
pub fn left_out(n: usize) {
    if n > 0 {
        note(&format!("note: {n} comments on no line of the diff were left out"));
    }
}

/// Reads the comments of a pull request.
#[cfg(feature = "platforms")]
pub fn pull_request(pull: &PullRequest) -> anyhow::Result<Commented> {
    Ok(commented(pull.read()?, &pull.to_string()))
}

/// Reads the discussions of a merge request.
#[cfg(feature = "platforms")]
pub fn merge_request(merge: &MergeRequest) -> anyhow::Result<Commented> {
    Ok(commented(merge.read()?, &merge.to_string()))
}

#[cfg(feature = "platforms")]
fn commented(read: veridiff_platforms::Read, shown: &str) -> Commented {
    left_out(read.n_left_out);
    if read.samples.is_empty() {
        note(&format!("note: `{shown}` has no review comment on a line of its diff, so there is nothing to check"));
    }
    (read.samples, read.whole.map(|whole| SharedTree(std::sync::Arc::new(whole))))
}

#[cfg(not(feature = "platforms"))]
pub fn pull_request(_: &PullRequest) -> anyhow::Result<Commented> {
    Err(without())
}

#[cfg(not(feature = "platforms"))]
pub fn merge_request(_: &MergeRequest) -> anyhow::Result<Commented> {
    Err(without())
}

#[cfg(not(feature = "platforms"))]
fn without() -> anyhow::Error {
    crate::cli::terminal::UsageError::error(
        "this program was built without reading from code hosts",
        "build it with `cargo build --release --features platforms`",
    )
}
