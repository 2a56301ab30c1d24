//! SARIF 2.1.0 (OASIS), as code hosts read it.
//!
//! The object is written out here, with its keys in the order of the specification's examples; tests read it back with types
//! made from the published schema.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::message::{Objection, RULE, all};
use veridiff_facts::finding::Finding;
use veridiff_facts::rules::RULES;

/// One run of the program: a result for every fact that accuses a text and for every text that a detector finds improbable, a note
/// for what cannot be told; failed samples, and lines that are `unreadable`, are notifications of the invocation.
pub fn sarif(findings: &[Finding], unreadable: &[String]) -> Value {
    let results: Vec<Value> = findings.iter().flat_map(results).collect();
    let failed = findings.iter().filter_map(|finding| Some(format!("{}: {}", finding.id, finding.error.as_ref()?)));
    let failures: Vec<Value> = unreadable
        .iter()
        .cloned()
        .chain(failed)
        .map(|text| json!({ "level": "error", "message": { "text": text } }))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "veridiff",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules(),
            } },
            "invocations": [{ "executionSuccessful": failures.is_empty(), "toolExecutionNotifications": failures }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The rules that results name, the detector's first.
fn rules() -> Vec<Value> {
    let detector = json!({
        "id": RULE,
        "shortDescription": { "text": "A text about a change says what the change does not support" },
        "fullDescription": { "text":
            "A detector over the log-probabilities and the attribution of an open model, and over the words that \
             text and change share, finds it more probable than not that the change does not support the text." },
        "defaultConfiguration": { "level": "warning" },
    });
    let of_facts = RULES.iter().map(|rule| {
        json!({
            "id": rule.code,
            "name": rule.name,
            "shortDescription": { "text": rule.summary },
            "defaultConfiguration": { "level": "warning" },
        })
    });
    std::iter::once(detector).chain(of_facts).collect()
}

fn results(finding: &Finding) -> Vec<Value> {
    let of = |objection: &Objection<'_>| {
        let index = RULES.iter().position(|rule| rule.code == objection.rule).map_or(0, |index| index + 1);
        let mut result = json!({
            "ruleId": objection.rule,
            "ruleIndex": index,
            "level": if objection.accuses { "warning" } else { "note" },
            "message": { "text": objection.message },
            "partialFingerprints": { "sampleId/v1": finding.id },
            "properties": {
                "id": finding.id,
                "p_hallucination": finding.p_hallucination,
                "verdict": finding.verdict,
                "text_bytes": [objection.span.0, objection.span.1],
                "detector": finding.detector,
            },
        });
        if let Some(execution) = &finding.evidence.execution {
            result["properties"]["verdict_from"] = json!(finding.verdict_from);
            result["properties"]["execution"] = json!(execution);
        }
        if let Some(place) = objection.place {
            result["locations"] = json!([{ "physicalLocation": {
                "artifactLocation": { "uri": uri(&place.file) },
                "region": { "startLine": place.line },
            } }]);
        }
        result
    };
    all(finding).iter().map(of).collect()
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
