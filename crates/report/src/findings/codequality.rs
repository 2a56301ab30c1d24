//! GitLab's report of code quality, which it shows beside the diff of a merge request.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::message::all;
use veridiff_facts::finding::Finding;

/// The report: an entry for every objection, `major` where it accuses and `info` where nothing can be told. A finding of a diff
/// without file names is about the path that its sample is called, at line 1.
pub fn codequality(findings: &[Finding]) -> Value {
    let mut entries: Vec<Value> = Vec::new();
    for finding in findings {
        for objection in all(finding) {
            let (path, line) =
                objection.place.map_or((finding.id.as_str(), 1), |place| (place.file.as_str(), place.line.max(1)));
            // what it is about, of many at one place
            let description = format!("{}: {}", finding.id, objection.message);
            // GitLab takes entries for the same as before by this alone: no line number is in it, since lines move
            let mut hash = Sha256::new();
            for part in [path, objection.rule, &description] {
                hash.update(part);
                hash.update([0]);
            }
            let fingerprint = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            entries.push(json!({
                "description": description,
                "check_name": objection.rule,
                "fingerprint": fingerprint,
                "severity": if objection.accuses { "major" } else { "info" },
                "location": { "path": path, "lines": { "begin": line } },
            }));
        }
    }
    Value::Array(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veridiff_core::gate::{Gate, GateOptions};
    use veridiff_text::sample::Sample;

    #[test]
    fn an_entry_has_the_keys_that_gitlab_reads_and_a_fingerprint_of_its_own() {
        let gate = Gate::open(GateOptions { facts_only: true, ..GateOptions::default() }).unwrap();
        let diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-limit = 30\n+limit = 60\n";
        let text = "`limit` is 90 now.";
        let samples = [Sample::new("a", diff, text), Sample::new("b", diff, text), Sample::new("c", diff, "Nice.")];
        let report = codequality(&gate.check(&samples));
        let entries = report.as_array().unwrap();
        assert_eq!(entries.len(), 2, "{report}");
        assert_ne!(entries[0]["fingerprint"], entries[1]["fingerprint"]);
        assert_eq!(entries[0]["location"], json!({ "path": "a.py", "lines": { "begin": 1 } }));
        assert_eq!((&entries[0]["severity"], &entries[1]["severity"]), (&json!("major"), &json!("major")), "{report}");
        assert_eq!(report, codequality(&gate.check(&samples)), "the same findings have the same report");
    }
}
