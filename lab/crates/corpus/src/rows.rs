//! Pairs as samples.

use serde::Serialize;

use crate::tells::Read;
use crate::truth::Fact;

/// One line of the corpus, in the format of samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// What it is called: the pair, and which half.
    pub id: String,
    /// The change.
    pub diff: String,
    /// What is said of it.
    pub text: String,
    /// Always `commit`.
    pub task: &'static str,
    /// 1 if it is false, 0 if it is believed true.
    pub label: u8,
    /// The kind of a false one.
    pub label_type: Option<&'static str>,
    /// The programming language of the change.
    pub language: Option<String>,
    /// The commit that is spoken of: both halves have it, and so has everything that is said of that commit's change.
    pub group: String,
    /// What both halves of a pair share.
    pub pair: String,
    /// What the false half is wrong about.
    pub kind: &'static str,
    /// How the false half was made.
    pub road: &'static str,
    /// What facts say of the false half.
    pub fact: Fact,
    /// The project.
    pub project: String,
    /// Its licence, by SPDX.
    pub licence: String,
    /// The hash of the diff's changed lines.
    pub hash: String,
}

impl Row {
    /// What a reader sees who does not read the diff.
    pub fn read(&self) -> Read<'_> {
        Read { text: &self.text, group: &self.group, is_false: self.label == 1 }
    }
}

/// Both halves of a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// What the author said.
    pub truth: Row,
    /// Its twin.
    pub twin: Row,
}

impl Pair {
    /// Both, the true one first.
    pub fn rows(&self) -> [&Row; 2] {
        [&self.truth, &self.twin]
    }
}
