//! What the verbs for labels by people print, whole.

use serde_json::json;

use super::transcript::Transcript;

/// The samples of `annotate`: two diffs with the texts of two generators each.
fn two_generators() -> String {
    let mut lines = String::new();
    for diff in ["@@ -1 +1 @@\n-a\n+b\n", "@@ -5 +5,2 @@\n c\n+d\n"] {
        for generator in ["one", "two"] {
            let id = format!("{}-{generator}", diff.len());
            lines += &json!({ "id": id, "diff": diff, "text": format!("{generator} is here"), "generator": generator })
                .to_string();
            lines.push('\n');
        }
    }
    lines
}

#[test]
fn annotate_agree_and_prevalence() {
    let mut page = Transcript::new();
    page.desk.write("in.jsonl", two_generators());
    let annotate = |name: &str| format!("annotate --input in.jsonl --output {name}.jsonl --annotator {name} --all");
    page.run_with_stdin(&annotate("ann"), "w\nodd\nn\ni\n?\nb\nx\nq\n")
        .run_with_stdin(&annotate("ann"), "y\n1\ny\n2\nu\n")
        .run_with_stdin(&annotate("bob"), "n\ni\ny\n3\ny\n2\ny\n4\n")
        .run(&annotate("eve"))
        .run("annotate --input in.jsonl --output ann.jsonl --annotator bob")
        .run_with_stdin("annotate --input in.jsonl --output c.jsonl --annotator c --by generator --size 2", "q\n");
    page.is("annotate");

    page.text.clear();
    page.run("agree ann.jsonl bob.jsonl");
    for format in ["md", "csv", "latex", "json"] {
        page.run(&format!("agree ann.jsonl bob.jsonl --format {format}"));
    }
    page.run_with_stdin(
        "annotate --input in.jsonl --output both.jsonl --annotator both --resolve ann.jsonl bob.jsonl",
        "y\n1\ny\n2\nu\n",
    )
    .run("agree ann.jsonl bob.jsonl --settled both.jsonl --input in.jsonl --output labelled.jsonl")
    .run("agree ann.jsonl")
    .run("agree ann.jsonl in.jsonl")
    .run("agree ann.jsonl none.jsonl");
    page.is("agree");

    page.text.clear();
    page.run("prevalence ann.jsonl bob.jsonl");
    for format in ["md", "csv", "latex", "json"] {
        page.run(&format!("prevalence ann.jsonl --format {format}"));
    }
    page.run("prevalence in.jsonl");
    page.is("prevalence");
}
