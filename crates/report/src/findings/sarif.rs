//! SARIF 2.1.0 (OASIS), as code hosts read it.
//!
//! The object is written out here, with its keys in the order of the specification's examples; tests read it back with types
//! made from the published schema.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::message::{RULE, message};
use veridiff_core::finding::Finding;
use veridiff_detector::Verdict;

/// One run of the program: a result for every text that is called unsupported, a note for every one that it abstains on; failed
/// samples are notifications of the invocation.
pub fn sarif(findings: &[Finding]) -> Value {
    let results: Vec<Value> = findings.iter().filter_map(result).collect();
    let failures: Vec<Value> = findings
        .iter()
        .filter_map(|finding| {
            let error = finding.error.as_ref()?;
            Some(json!({ "level": "error", "message": { "text": format!("{}: {error}", finding.id) } }))
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "veridiff",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": [{
                    "id": RULE,
                    "shortDescription": { "text": "A text about a change says what the change does not support" },
                    "fullDescription": { "text":
                        "A detector over the log-probabilities and the attribution of an open model, and over the words that \
                         text and change share, finds it more probable than not that the change does not support the text." },
                    "defaultConfiguration": { "level": "warning" },
                }],
            } },
            "invocations": [{ "executionSuccessful": failures.is_empty(), "toolExecutionNotifications": failures }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(finding: &Finding) -> Option<Value> {
    let level = match finding.verdict? {
        Verdict::Unsupported => "warning",
        Verdict::Abstain => "note",
        Verdict::Supported => return None,
    };
    let mut result = json!({
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": level,
        "message": { "text": message(finding) },
        "partialFingerprints": { "sampleId/v1": finding.id },
        "properties": {
            "id": finding.id,
            "p_hallucination": finding.p_hallucination,
            "verdict": finding.verdict,
            "detector": finding.detector,
        },
    });
    if let Some(place) = &finding.place {
        result["locations"] = json!([{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&place.file) },
            "region": { "startLine": place.line },
        } }]);
    }
    Some(result)
}

/// What a URI's path holds as it is (RFC 3986): unreserved characters and `/`.
const IN_PATHS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    utf8_percent_encode(path, IN_PATHS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("src/a b#1.rs"), "src/a%20b%231.rs");
        assert_eq!(uri("é"), "%C3%A9");
    }
}
