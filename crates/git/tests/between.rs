//! Two commits of a history that parts, beside what git says of them.

mod support;

use support::{Fixture, git_in};

#[test]
fn a_base_that_moved_on_is_left_out_and_the_diff_is_gits() {
    let fixture = Fixture::new();
    fixture
        .write("a.txt", (0..60).map(|i| format!("line {i}\n")).collect::<String>())
        .write("old.txt", "one\ntwo\nthree\nfour\n");
    fixture.write("bin", b"\0\x01\x02").write("crlf.txt", "a\r\nb\r\nc");
    let fork = fixture.commit("fork");
    fixture.git(&["switch", "--quiet", "--create", "side"]);
    fixture.git(&["mv", "old.txt", "new.txt"]);
    fixture.write("new.txt", "one\ntwo\nTHREE\nfour\n").write("bin", b"\0\x03").write("crlf.txt", "a\r\nB\r\nc\n");
    fixture.write("latin.txt", b"caf\xe9\n");
    let changed: String =
        (0..60).map(|i| if i == 3 || i == 40 { format!("changed {i}\n") } else { format!("line {i}\n") }).collect();
    fixture.write("a.txt", changed);
    let head = fixture.commit("change");
    fixture.git(&["switch", "--quiet", "main"]);
    fixture.write("a.txt", "all of it\n");
    let source = fixture.commit("the base moves on");
    let repository = fixture.repository();
    assert_eq!(repository.merge_base(&source, &head).unwrap(), Some(fork.clone()));
    for (from, to) in [(&fork, &head), (&source, &head), (&head, &fork)] {
        let git = git_in(fixture.folder.path(), &["diff", "--no-color", "--no-ext-diff", from, to], 0).stdout;
        assert_eq!(String::from_utf8_lossy(&repository.diff_between(from, to).unwrap()), String::from_utf8_lossy(&git));
    }
    assert!(repository.has(&head) && !repository.has(&"0".repeat(40)));
    fixture.git(&["switch", "--quiet", "--orphan", "other"]);
    let other = fixture.write("z", "z\n").commit("nothing in common");
    assert_eq!(repository.merge_base(&other, &head).unwrap(), None);
}
