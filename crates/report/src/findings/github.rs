//! Workflow commands of GitHub Actions, which it shows as annotations beside the code.

use super::message::all;
use veridiff_facts::finding::Finding;

/// The lines of a finding, each with a line feed: warnings and notices at the comment's own place; empty for a text without objection.
pub fn github(finding: &Finding) -> String {
    let mut lines = String::new();
    for objection in all(finding) {
        let kind = if objection.accuses { "warning" } else { "notice" };
        let place = objection
            .place
            .map(|place| format!("file={},line={},", property(&place.file), place.line))
            .unwrap_or_default();
        let title = property(&format!("{} in {}", objection.rule, finding.id));
        lines.push_str(&format!("::{kind} {place}title={title}::{}\n", data(&objection.message)));
    }
    lines
}

/// What stands behind the second `::`, as the runner unescapes it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property's value, in which commas and colons end something too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_start_a_command() {
        assert_eq!(data("100%\n::error::x"), "100%25%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
    }
}
