//! reviewdog's diagnostics, one JSON object a line (rdjsonl).

use serde_json::{Value, json};

use super::message::all;
use veridiff_facts::finding::Finding;

/// The lines of a finding: a warning for every fact that accuses and for a text that a detector finds improbable, an information for
/// what cannot be told; none of a text without objection. A finding of a diff without file names is about the path that its
/// sample is called.
pub fn rdjson_lines(finding: &Finding) -> Vec<Value> {
    let line = |objection: &super::message::Objection<'_>| {
        let location = match objection.place {
            Some(place) => json!({ "path": place.file, "range": { "start": { "line": place.line } } }),
            None => json!({ "path": finding.id }),
        };
        json!({
            // what it is about, of many at one place
            "message": format!("{}: {}", finding.id, objection.message),
            "location": location,
            "severity": if objection.accuses { "WARNING" } else { "INFO" },
            "source": { "name": "veridiff" },
            "code": { "value": objection.rule },
        })
    };
    all(finding).iter().map(line).collect()
}
