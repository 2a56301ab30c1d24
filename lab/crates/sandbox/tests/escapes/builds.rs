//! 27: a build is as little trusted as what it builds.

use std::{fs, process::Command};

use serde_json::json;
use veridiff_sandbox::{
    job::{BoxFile, Job, fixed_env},
    runner::{Language, Runner},
    verify::{
        Options, Verifier,
        case::Case,
        rule::{Claim, Fix},
    },
    watch::Status,
};

use crate::support::*;

/// What a compiler runs while it compiles something else: it looks for the secret and leaves a file.
const PROCESSOR: &str = r#"
import java.nio.file.*; import java.util.*; import javax.annotation.processing.*; import javax.lang.model.element.*;
@SupportedAnnotationTypes("*")
public class Processor extends AbstractProcessor {
    public boolean process(Set<? extends TypeElement> types, RoundEnvironment round) {
        try { System.out.println("read: " + Files.readString(Path.of("FOLDER/canary"))); } catch (Exception e) { System.out.println("refused"); }
        try { Files.writeString(Path.of("FOLDER/made"), "x"); System.out.println("wrote"); } catch (Exception e) { System.out.println("refused"); }
        try { new ProcessBuilder("/bin/sh", "-c", "exit 0").start(); System.out.println("started"); } catch (Exception e) { System.out.println("refused"); }
        return false;
    }
}
"#;

#[test]
fn what_a_compiler_runs_is_confined_as_what_it_compiles() {
    let Some(_) = program("javac") else { return };
    let (runner, folder) = (Runner::find(Language::Java).unwrap(), folder());
    let (compiler, source) =
        (runner.compiler.clone().unwrap(), PROCESSOR.replace("FOLDER", &folder.path().display().to_string()));
    let service = "META-INF/services/javax.annotation.processing.Processor";
    let steps = |base: &str| -> Vec<Vec<String>> {
        let words = |options: &[&str], file: &str| {
            let all = options.iter().map(|option| option.replace("BASE", base));
            let first = std::iter::once(compiler.display().to_string());
            first.chain(all).chain([format!("{base}/{file}")]).collect()
        };
        let vm = ["-J-Xmx256m", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData"];
        let first: Vec<&str> = vm.iter().copied().chain(["-proc:none", "-d", "BASE/out"]).collect();
        let second: Vec<&str> = vm.iter().copied().chain(["-cp", "BASE/out", "-d", "BASE/out2"]).collect();
        vec![words(&first, "Processor.java"), words(&second, "Plain.java")]
    };
    let files = [
        ("Processor.java".to_owned(), source),
        ("Plain.java".to_owned(), "class Plain {}\n".to_owned()),
        (format!("out/{service}"), "Processor\n".to_owned()),
    ];
    let scratch = folder.path().join("scratch");
    for (path, text) in &files {
        let path = scratch.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut control = String::new();
    for step in steps(&scratch.display().to_string()) {
        let output = Command::new(&step[0]).args(&step[1..]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        control = String::from_utf8(output.stdout).unwrap();
    }
    let made = folder.path().join("made");
    assert!(control.contains(SECRET) && control.contains("wrote") && control.contains("started"), "{control}");
    fs::remove_file(&made).unwrap();
    for sandbox in sandboxes() {
        let files = files.iter().map(|(path, text)| BoxFile { path: path.clone(), text: text.clone() }).collect();
        let job =
            Job { steps: steps("/box"), files, env: fixed_env(0), limits: runner.limits, view: runner.view.clone() };
        let outcome = run(&sandbox, &job);
        assert_eq!(outcome.status, Status::Exit(0), "{outcome:?}");
        assert!(outcome.stdout.text.starts_with("refused\nrefused\nrefused\n"), "{outcome:?}");
        assert!(!outcome.stdout.text.contains(SECRET) && !made.exists());
    }
}

/// Blocks that a compiler writes out twice each, one within another.
fn doubling() -> String {
    let body = (0..24).fold("x++;".to_owned(), |body, _| format!("try {{ x++; }} finally {{ {body} }}"));
    format!("class Solution {{\n    static int x;\n    public int f(int n) {{ {body} return n; }}\n}}\n")
}

#[test]
fn a_build_that_does_not_end_is_ended_and_names_are_no_options() {
    let Some(compiler) = program("javac") else { return };
    let folder = tempfile::tempdir().unwrap();
    // outside, the compiler works at it for longer than it may within, and takes options of a file and of a name
    fs::write(folder.path().join("Solution.java"), doubling()).unwrap();
    fs::write(folder.path().join("options"), "-version\n").unwrap();
    let run = |words: &[&str]| Command::new(&compiler).args(words).current_dir(folder.path()).output().unwrap();
    for words in [&["@options"][..], &["-J-Dx=y", "-version"]] {
        assert!(String::from_utf8_lossy(&run(words).stdout).contains("javac"), "{words:?} are options");
    }
    let mut control =
        Command::new(&compiler).args(["-J-Xmx1g", "Solution.java"]).current_dir(folder.path()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let ended = control.try_wait().unwrap();
    control.kill().unwrap();
    control.wait().unwrap();
    assert_eq!(ended, None, "outside the compiler works on");
    let right = "class Solution {\n    public int f(int n) { return n; }\n}\n";
    let tests = "public class Main {\n    public static void main(String[] args) {\n        if (new Solution().f(1) != 1) throw new AssertionError();\n    }\n}\n";
    let named = |name: &str| format!("class {name} {{\n    public int f(int n) {{ return n; }}\n}}\n");
    let Some(first) = sandboxes().first().map(|sandbox| sandbox.backend().name()) else { return };
    in_both(|sandbox| {
        let backend = sandbox.backend().name();
        let verifier = Verifier::new(sandbox.clone(), Options { repeats: 1, ..Options::default() });
        // which words a compiler is started with does not hang on who confines it
        let names = ["-J-version", "@options"].map(|name| ("is named as options are", named(name)));
        let names = if backend == first { &names[..] } else { &[] };
        for (what, fix) in [("never ends", doubling())].iter().chain(names) {
            let case = json!({ "id": "a", "language": "java", "code": right, "fix": fix, "entry_point": "f", "limits": { "cpu_s": 1.5 },
                               "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": tests }] });
            let verified = verifier.verify(&Case::parse(&case.to_string(), 1, ".".as_ref()).unwrap());
            let conclusion = verified.conclusion.as_ref().unwrap_or_else(|| panic!("{backend}: {what}: {verified:?}"));
            assert_eq!(
                (conclusion.claim, conclusion.fix),
                (Claim::Abstain, Fix::NotRunnable),
                "{backend}: one that {what}: {verified:#?}"
            );
        }
        // one that compiles, and is ended by us while it runs, has been compiled
        let prints = "class Solution {\n    public int f(int n) { for (;;) System.out.println(\"and on, and on, and on, and on\"); }\n}\n";
        let case = json!({ "id": "a", "language": "java", "code": right, "fix": prints, "entry_point": "f",
                           "tests": [{ "name": "ref", "kind": "reference", "form": "program", "text": tests }] });
        let verified = verifier.verify(&Case::parse(&case.to_string(), 1, ".".as_ref()).unwrap());
        let found = verified.conclusion.as_ref().map(|conclusion| (conclusion.claim, conclusion.fix));
        assert_eq!(found, Some((Claim::Unsupported, Fix::Regresses)), "{backend}: {verified:#?}");
    });
}
