//! 3: names that lead out of the box, for the host to follow.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;
use veridiff_sandbox::{job::BoxFile, verify::case::Case, watch::Status};

use crate::support::*;

/// Four threads that swap a file for a link to a secret and back, as fast as they can, to the end of the run and beyond.
const SWAPS: &str = "
import _thread, time
scratch, secret = GIVEN['scratch'], GIVEN['folder'] + '/canary'
os.symlink(secret, scratch + '/link')
def swap(number):
    one = scratch + '/swap%d' % number
    while True:
        try:
            os.symlink(secret, one)
            os.rename(one, scratch + '/result')
            with open(one, 'w') as file: file.write('harmless')
            os.rename(one, scratch + '/result')
        except OSError: pass
for number in range(4): _thread.start_new_thread(swap, (number,))
time.sleep(float(GIVEN['seconds']))
print('ended', flush=True)
os._exit(0)
";

#[test]
fn links_that_a_program_leaves_are_never_followed() {
    let folder = folder();
    let with = |scratch: &std::path::Path, seconds: &str| {
        given(folder.path(), scratch, &vec![("seconds", seconds.to_owned())])
    };
    // outside, a host that reads what a program left by its name reads the secret, by the link and now and then by what is swapped
    let scratch = folder.path().join("scratch");
    assert!(outside(SWAPS, &with(&scratch, "0.3")).status().unwrap().success());
    assert_eq!(fs::read_to_string(scratch.join("link")).unwrap(), SECRET);
    for sandbox in sandboxes() {
        let mut job = job(SWAPS, &with("/box".as_ref(), "0.5"), |limits| limits);
        job.files = vec![BoxFile { path: "result".into(), text: "harmless".into() }];
        let outcome = run(&sandbox, &job);
        assert_eq!(
            (outcome.status, outcome.stdout.text.as_str()),
            (Status::Exit(0), "ended\n"),
            "{}",
            outcome.stderr.text
        );
        // all that comes back is what was printed; the next run has the same files, and none that was left
        job.steps = plain("print(os.listdir('/box'), open('/box/result').read())").steps;
        assert_eq!(run(&sandbox, &job).stdout.text, "['result'] harmless\n");
    }
    assert_eq!(fs::read_to_string(folder.path().join("canary")).unwrap(), SECRET);
}

#[test]
fn names_that_leave_a_case_s_folder_are_refused_by_name() {
    let folder = folder();
    let cases = folder.path().join("scratch");
    fs::create_dir(cases.join("a")).unwrap();
    symlink(folder.path(), cases.join("up")).unwrap();
    symlink(folder.path().join("canary"), cases.join("link")).unwrap();
    let absolute = folder.path().join("canary").display().to_string();
    for path in ["../canary", "a/../../canary", "up/canary", "link", &absolute] {
        // a host that follows names reads the secret
        assert_eq!(fs::read_to_string(cases.join(path)).unwrap(), SECRET, "{path}");
        for key in ["code", "fix"] {
            let mut case = json!({ "id": "a", "language": "python", "code": "pass", "entry_point": "f", "tests": [] });
            case[key] = json!({ "path": path });
            let error = Case::parse(&case.to_string(), 7, &cases).expect_err(path).to_string();
            assert!(error.contains("line 7") && error.contains(&format!("`{key}`")), "{path}: {error}");
        }
        let case = json!({ "id": "a", "language": "python", "code": "pass", "entry_point": "f",
                           "tests": [{ "name": "t", "kind": "reference", "form": "command", "argv": ["python"], "files": { path: "x" }, "results": "exit" }] });
        if !matches!(path, "up/canary" | "link") {
            let error = Case::parse(&case.to_string(), 7, &cases).expect_err(path).to_string();
            assert!(error.contains("tests[0].files"), "{path}: {error}");
        }
    }
}

#[test]
fn a_box_is_unpacked_beneath_itself_only() {
    for sandbox in sandboxes() {
        for path in ["../tmp/out", "/tmp/out"] {
            let mut job = plain("print('ran')");
            job.files = vec![BoxFile { path: path.into(), text: "x".into() }];
            let outcome = run(&sandbox, &job);
            assert!(matches!(&outcome.status, Status::Failed(why) if why.contains("/out")), "{path}: {outcome:?}");
        }
        let mut job = plain("print(open('/box/a/b').read())");
        job.files = vec![BoxFile { path: "a/b".into(), text: "within".into() }];
        assert_eq!(run(&sandbox, &job).stdout.text, "within\n");
    }
}
