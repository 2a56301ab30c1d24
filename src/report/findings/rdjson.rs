//! reviewdog's diagnostics, one JSON object a line (rdjsonl).

use serde_json::{Value, json};

use super::{RULE, message};
use crate::{check::Finding, detector::Verdict};

/// A line for every text that is called unsupported (a warning) or that it abstains on (an information). A finding of a diff
/// without file names is about the path that its sample is called.
pub fn rdjson_lines(findings: &[Finding]) -> String {
    findings.iter().filter_map(diagnostic).map(|line| format!("{line}\n")).collect()
}

fn diagnostic(finding: &Finding) -> Option<Value> {
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
        "source": { "name": env!("CARGO_PKG_NAME") },
        "code": { "value": RULE },
    }))
}
