//! reviewdog's diagnostics, one JSON object a line (rdjsonl).

use serde_json::{Value, json};

use super::message::{RULE, message};
use veridiff_core::finding::Finding;
use veridiff_detector::Verdict;

/// The line of a text that is called unsupported (a warning) or that it abstains on (an information); none of a supported one.
/// A finding of a diff without file names is about the path that its sample is called.
pub fn rdjson_line(finding: &Finding) -> Option<Value> {
    let severity = match finding.verdict? {
        Verdict::Unsupported => "WARNING",
        Verdict::Abstain => "INFO",
        Verdict::Supported => return None,
    };
    let location = match &finding.place {
        Some(place) => json!({ "path": place.file, "range": { "start": { "line": place.line } } }),
        None => json!({ "path": finding.id }),
    };
    Some(json!({
        "message": message(finding),
        "location": location,
        "severity": severity,
        "source": { "name": "veridiff" },
        "code": { "value": RULE },
    }))
}
