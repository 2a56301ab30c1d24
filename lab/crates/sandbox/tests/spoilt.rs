//! A case that cannot be read is a named error, whatever it is.

#[path = "support/spoilt.rs"]
mod copies;

use std::path::Path;

use copies::spoilt;
use serde_json::json;
use veridiff_sandbox::verify::case::Case;

#[test]
fn spoilt_case_files_are_named_errors() {
    let whole = json!({
        "id": "a", "language": "python", "code": "def f(n):\n    return n - 1\n", "fix": { "path": "fix.py" }, "entry_point": "f",
        "tests": [{ "name": "ref", "kind": "reference", "form": "calls", "inputs": [[1, "a", [2.5, null]]], "expected": [2], "atol": 0.1 },
                  { "name": "cmd", "kind": "proposed", "form": "command", "argv": ["python"], "files": { "a/b": "x" }, "results": "tap" }],
        "limits": { "cpu_s": 1.5, "memory_mb": 64 },
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fix.py"), "pass\n").unwrap();
    let mut n_refused = 0;
    for spoilt in spoilt(&whole.to_string()) {
        if let Err(error) = Case::parse(&spoilt, 3, folder.path()) {
            assert!(error.to_string().starts_with("line 3"), "{error}");
            n_refused += 1;
        }
    }
    assert!((200..1000).contains(&n_refused), "{n_refused} of 1000 were refused");
    assert!(Case::parse(&whole.to_string(), 3, Path::new(folder.path())).is_ok());
}
