//! What is no diff, and what it is taken for.

use super::*;

#[track_caller]
fn refused(text: &str, instead: Instead) {
    let error = read(text).unwrap_err();
    assert_eq!(error, InputError::NotADiff(instead), "{text}");
    assert!(error.hint().is_some_and(|hint| !hint.is_empty()));
    assert!(!looks_like_diff(text));
}

#[test]
fn what_git_prints_without_a_change() {
    refused(" cache.py | 10 +++++++---\n 1 file changed, 7 insertions(+), 3 deletions(-)\n", Instead::Summary);
    refused("3\t1\tcache.py\n-\t-\tlogo.png\n", Instead::Summary);
    refused(":100644 100644 1111111 2222222 M\tcache.py\n", Instead::Summary);
    refused("M\tsrc/a.rs\nR100\tsrc/b.rs\tsrc/c.rs\n", Instead::Names);
    refused("src/a.rs\nCargo.toml\n", Instead::Names);
    let log = "commit 0123456789\nAuthor: A <a@b>\nDate:   Mon\n\n    - Say it\n";
    refused(log, Instead::Messages);
    refused(&format!("{log}\n cache.py | 10 +++---\n 1 file changed, 7 insertions(+)\n"), Instead::Summary);
    refused("On branch main\nChanges not staged for commit:\n\tmodified:   a.py\n", Instead::Status);
    refused("@@ -1,2 +1,2 @@\n say [-this-]{+that+}\n\n", Instead::WordDiff);
    refused("diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n", Instead::Headers);
    refused("* commit 0123456\n| diff --git a/a b/a\n| @@ -1 +1 @@\n| -a\n| +b\n", Instead::Behind("| ".into()));
    refused("> diff --git a/a b/a\n> @@ -1 +1 @@\n> -a\n> +b\n", Instead::Behind("> ".into()));
    let encoded = format!("From: A\nSubject: x\nContent-Transfer-Encoding: quoted-printable\n\n{CLEAN}");
    refused(&encoded, Instead::EncodedMail);
}

#[test]
fn what_people_confuse_with_a_diff() {
    assert_eq!(read("\u{feff} \n\r\n"), Err(InputError::Blank));
    refused("hello world\n", Instead::Prose);
    refused("Expire cached values.\n\n- take a lock\n- drop the old values\n- `get` raises\n", Instead::Prose);
    refused("The default for `ttl` is 300 seconds, and the lock is never released.\n", Instead::Prose);
    refused(
        "{\"id\": \"1\", \"diff\": \"@@ -1 +1 @@\\n-a\\n+b\\n\", \"text\": \"x\"}\n{\"id\": \"2\"}\n",
        Instead::Json,
    );
    refused("[\n  {\"id\": 1}\n]\n", Instead::Json);
    refused(
        "total 8\n-rw-r--r-- 1 u u 12 Nov 23 22:27 a.py\ndrwxr-xr-x 2 u u 4096 Nov 23 22:27 src\n",
        Instead::Listing,
    );
    refused("@@ garbage @@\n", Instead::Context);
    refused("@@ -1,2 +1,2 @@\n a\n b\n", Instead::Context);
    refused("    a = 1\n    b = 2\n", Instead::Context);
    refused("a\n<<<<<<< HEAD\n-b\n=======\n+c\n>>>>>>> topic\n", Instead::Conflict);
    refused("import os\n\ndef f(x):\n    return x - 1\n", Instead::Code);
    refused("int main(void) {\n  return 0;\n}\n", Instead::Code);
    refused("2c2\n< a\n---\n> b\n", Instead::OtherFormat);
    refused("*** a.c\n--- b.c\n***************\n*** 1,2 ****\n- a\n  b\n--- 1,1 ----\n  b\n", Instead::OtherFormat);
}

#[test]
fn the_hints_are_those_of_the_mistake() {
    let hint = |text: &str| read(text).unwrap_err().hint().unwrap();
    assert_eq!(hint(" a | 2 +-\n 1 file changed\n"), "this is a summary by --stat: drop --stat, or add -p");
    assert_eq!(hint("hello world"), "is this the text? did you swap --diff and --text?");
    assert_eq!(hint("{\"id\": 1}"), "samples: use --input");
    assert_eq!(read("hello world").unwrap_err().to_string(), "this is no diff: it looks like a text");
    assert!(looks_like_diff(CLEAN) && looks_like_diff("-a\n+b\n"));
}
