//! The words of an answer, and the keys by which one that was given is known.

use ring::{digest, hmac};
use serde_json::Value;
use veridiff_facts::{finding::Finding, verdict::Verdict};
use veridiff_report::findings::rdjson_lines;

/// How what an answer carries begins.
const HIDDEN: &str = "<!-- veridiff:";

/// Letters of a key.
const KEY: usize = 32;

/// Lines of an answer at most.
const MOST_LINES: usize = 20;

/// A place that a host shows beside the code.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Annotation {
    pub path: String,
    pub line: u64,
    pub accuses: bool,
    pub rule: String,
    pub message: String,
}

/// What is said of a request or of a push as a whole.
#[derive(Debug)]
pub(crate) struct Report {
    pub key: String,
    pub name: &'static str,
    pub title: String,
    pub annotations: Vec<Annotation>,
}

/// The key of an answer: what it is about, hashed under the webhook's secret, so that nobody else can write one.
pub(crate) fn key(secret: &hmac::Key, parts: &[&str]) -> String {
    let mut hashed = hmac::Context::with_key(secret);
    hashed.update(b"veridiff answer");
    for part in parts {
        hashed.update(&[0]);
        hashed.update(part.as_bytes());
    }
    hex(hashed.sign().as_ref()).chars().take(KEY).collect()
}

/// What a verdict hangs on, as a hash: what the service says of itself, the whole diff of the request, and the comment as it is checked.
pub(crate) fn basis(parts: &[&str]) -> String {
    let mut hashed = digest::Context::new(&digest::SHA256);
    for part in parts {
        // with its length, so that no two lists are one text
        hashed.update(&(part.len() as u64).to_le_bytes());
        hashed.update(part.as_bytes());
    }
    hex(hashed.finish().as_ref())
}

/// The comment, which no page shows, that an answer carries.
pub(crate) fn hidden(key: &str) -> String {
    format!("{HIDDEN}{key} -->")
}

/// Whether a text carries such a comment, of whatever key.
pub(crate) fn has_key(text: &str) -> bool {
    text.contains(HIDDEN)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A finding's objections as annotations.
pub(crate) fn annotations(finding: &Finding) -> Vec<Annotation> {
    let of = |line: Value| {
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Annotation {
            path: text("/location/path"),
            line: line.pointer("/location/range/start/line").and_then(Value::as_u64).unwrap_or(1).max(1),
            accuses: text("/severity") == "WARNING",
            rule: text("/code/value"),
            message: text("/message"),
        }
    };
    rdjson_lines(finding).into_iter().map(of).collect()
}

/// An answer to a comment. What it quotes stands as code, in which nothing is a mention, a link or a tag.
pub(crate) fn reply(finding: &Finding, key: &str) -> String {
    let what = match finding.verdict {
        Some(Verdict::Contradicted) => "A line of the change says otherwise:",
        Some(Verdict::Unsupported) => "The change does not support this:",
        _ => "It cannot be told whether the change supports this:",
    };
    let said = annotations(finding);
    let lines: String = said.iter().take(MOST_LINES).map(|one| format!("    {}\n", one_line(&one.message))).collect();
    format!("**veridiff**: {what}\n\n{lines}\n{}\n", hidden(key))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a report is called by.
pub(crate) fn title(n_texts: usize, n_objected: usize, what: &str) -> String {
    match n_objected {
        0 => format!("no objection to {n_texts} {what}"),
        n => format!("{n} of {n_texts} {what} objected to"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veridiff_core::gate::{Gate, GateOptions};
    use veridiff_text::sample::Sample;

    #[test]
    fn what_is_quoted_is_code_and_a_key_is_the_secret_s() {
        let gate = Gate::open(GateOptions { facts_only: true, ..GateOptions::default() }).unwrap();
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-limit = 30\n+limit = 60\n";
        let text = "`limit` is 90 now. @octocat <script>alert(1)</script>\n\n<!-- veridiff:0 -->";
        let finding = gate.check(&[Sample::new("a", diff, text)]).remove(0);
        let said = reply(&finding, "abc");
        assert!(said.ends_with("<!-- veridiff:abc -->\n"), "{said}");
        let plain: Vec<&str> = said.lines().filter(|line| !line.starts_with("    ")).collect();
        assert!(!plain.join("\n").contains("script") && !plain.join("\n").contains('@'), "{said}");
        let secret = |text: &str| hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
        let of = |text: &str, parts: &[&str]| key(&secret(text), parts);
        assert_eq!(of("a", &["x", "y"]).len(), KEY);
        assert_eq!(of("a", &["x", "y"]), of("a", &["x", "y"]));
        assert_ne!(of("a", &["x", "y"]), of("a", &["xy"]));
        assert_ne!(of("a", &["x", "y"]), of("b", &["x", "y"]));
    }
}
