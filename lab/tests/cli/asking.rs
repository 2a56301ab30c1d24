//! How much is asked of a judge, by whom and in what shares: what both review benchmarks share.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::two_repositories::{Desk, comment, desk, entry, project};
use serde_json::{Value, json};

fn rows(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// What a bot answers to the hunks of both repositories.
fn with_script(desk: &Desk) {
    let note = |diff: &str, text: &str| {
        format!("<diff>\n{diff}\n</diff>\n<side>right</side>\n<note>{text}</note>\n<notesplit />\n<end />")
    };
    let script = [
        json!({ "all": ["open('a')"], "replies": [note("+file = open('a')", "The file is never closed.")] }),
        json!({ "all": ["print(i)"], "replies": [note("+    print(i)", "Use a logger.")] }),
    ];
    desk.write("script.jsonl", &rows(&script));
    let judge = [json!({ "all": ["never closed"], "replies": ["Yes."] }), json!({ "replies": ["no"] })];
    desk.write("judge.jsonl", &rows(&judge));
}

#[test]
fn shares_of_a_benchmark_ask_apart_and_give_the_same_bytes() {
    let desk = desk();
    with_script(&desk);
    let results = ["bot.jsonl", "answers.jsonl", "predictions.jsonl", "pairs.jsonl", "matches.jsonl", "metrics.json"];
    let generate = |run: &str| format!("bench aacr generate {run} --backend bot=scripted:script.jsonl");
    let decide = |run: &str| {
        format!(
            "bench aacr match {run} --predictions {run}/bot.jsonl --meaning exact --meaning judge:scripted:judge.jsonl"
        )
    };
    let report = |run: &str| format!("bench aacr report {run} --resamples 20");
    for run in ["whole", "shared"] {
        desk.ends(&format!("bench aacr prepare {run} --references data --repos repos"), 0);
    }
    for step in [generate("whole"), decide("whole"), report("whole")] {
        desk.ends(&step, 0);
    }
    for step in [generate, decide] {
        for shard in ["2/2", "1/2"] {
            let (_, notes) = desk.ends(&format!("{} --shard {shard}", step("shared")), 0);
            assert!(
                notes.contains(&format!("share {shard}: ")) && notes.contains("0 answered before, 0 without"),
                "{notes}"
            );
        }
        // nobody is left to be asked: with a script that has no answers
        desk.ends(&step("shared"), 0);
    }
    desk.ends(&report("shared"), 0);
    for name in ["generate.1-of-2.replies.jsonl", "judge1.2-of-2.replies.jsonl"] {
        assert!(desk.path("shared").join(name).is_file(), "{name}");
    }
    for name in results {
        let [whole, shared] = ["whole", "shared"].map(|run| fs::read(desk.path(run).join(name)).unwrap());
        assert_eq!(whole, shared, "{name}");
    }
    let costs: Value = serde_json::from_slice(&fs::read(desk.path("shared/generate.cost.json")).unwrap()).unwrap();
    assert_eq!((costs["calls"].as_u64(), costs["cached"].as_u64()), (Some(0), Some(2)), "{costs}");
    for (line, says) in [
        ("bench aacr generate whole --backend scripted:script.jsonl --shard 3/2", "I/N"),
        ("bench aacr match whole --predictions whole/bot.jsonl --meaning embed+nli:a,b --shard 1/2", "keep no replies"),
    ] {
        let (_, stderr) = desk.ends(line, 2);
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn reviewing_that_is_killed_again_and_again_gives_the_same_bytes_and_asks_nothing_twice() {
    const HUNKS: usize = 24;
    let desk = Desk(tempfile::tempdir().unwrap());
    let code = |value: &str| -> String {
        (0..HUNKS).map(|i| format!("def number_{i}():\n    a = 1\n    b = 2\n    return {value}\n\n\n\n\n")).collect()
    };
    let ends = project(&desk, "a", &code("1"), &code("2"));
    let valid = json!([entry("a", &ends, json!([comment("It returns 2.", 4, "")]))]);
    fs::create_dir(desk.path("data")).unwrap();
    desk.write("data/positive_samples.json", &valid.to_string());
    desk.write("data/negative_samples.json", "[]");
    // what is answered follows from what is asked, after a while
    let server = super::server::plain(|asked| {
        thread::sleep(Duration::from_millis(30));
        let text = asked.text();
        let n = text.split("def number_").nth(1).and_then(|rest| rest.split('(').next()).unwrap_or("none").to_owned();
        super::server::Act::content(&format!(
            "<diff>\n+    return 2\n</diff>\n<side>right</side>\n<note>Number {n} returns 2.</note>\n<notesplit />\n<end />"
        ))
    });
    // by request: how often it was asked
    let asked = || {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        server.asked().iter().filter(|asked| asked.text().contains("@@")).for_each(|asked| {
            *times.entry(asked.body["messages"].to_string()).or_default() += 1;
        });
        times
    };
    let line = |run: &str| format!("bench aacr generate {run} --backend bot={}", server.spec());
    for run in ["whole", "killed"] {
        desk.ends(&format!("bench aacr prepare {run} --references data --repos repos"), 0);
    }
    let started = std::time::Instant::now();
    desk.ends(&line("whole"), 0);
    let whole = started.elapsed();
    let before = asked();
    assert_eq!((before.len(), before.values().sum::<usize>()), (HUNKS, HUNKS));
    let (mut n_kills, mut n_midway, mut wait) = (0u32, 0, 7u64);
    loop {
        let mut child = Command::new(env!("CARGO_BIN_EXE_veridiff-lab"))
            .args(line("killed").split_whitespace())
            .current_dir(desk.0.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // anywhere in the first half of a run; then, so that one ends, later and later
        wait = (wait * 7919 + 13) % 1009;
        let share = f64::from(n_kills).mul_add(0.02, wait as f64 / 2018.0);
        if n_kills == 0 {
            // surely between two requests, however busy the machine is
            while asked().values().sum::<usize>() == HUNKS && child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_millis(1));
            }
        } else {
            thread::sleep(whole.mul_f64(share));
        }
        if child.try_wait().unwrap().is_some_and(|status| status.success()) {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        n_kills += 1;
        n_midway += usize::from((HUNKS + 1..2 * HUNKS).contains(&asked().values().sum()));
        assert!(n_kills < 200, "no run came to its end");
    }
    desk.ends(&line("killed"), 0);
    for name in ["bot.jsonl", "answers.jsonl"] {
        let [whole, killed] = ["whole", "killed"].map(|run| fs::read(desk.path(run).join(name)).unwrap());
        assert_eq!(whole, killed, "{name}");
    }
    // what was on its way when a run was killed is asked again, which is at most what is asked at once; what was answered is not
    let after = asked();
    assert_eq!(after.len(), HUNKS);
    let again = after.values().sum::<usize>() - 2 * HUNKS;
    let at_once = server.most_open().max(1);
    assert!(again <= n_kills as usize * at_once, "{again} asked again in {n_kills} kills, {at_once} at once");
    assert!(n_midway > 0, "no run was killed between two requests: this shows nothing");
}

#[test]
fn chance_of_the_paper_and_larger_units_are_other_requests() {
    let desk = desk();
    with_script(&desk);
    desk.ends("bench aacr prepare run --references data --repos repos", 0);
    let generate = "bench aacr generate run --backend bot=scripted:script.jsonl";
    for (more, n) in [("", 2), (" --preset paper", 2), (" --unit file", 0), (" --unit pr --preset paper", 0)] {
        let (_, notes) = desk.ends(&format!("{generate}{more}"), 0);
        assert!(notes.contains("2 comments on 2 "), "{notes}");
        let costs: Value = serde_json::from_slice(&fs::read(desk.path("run/generate.cost.json")).unwrap()).unwrap();
        // a file with one hunk is shown as that hunk
        assert_eq!(costs["calls"].as_u64(), Some(n), "{more}: {costs}");
    }
    assert!(desk.rows("run/bot.jsonl").iter().all(|row| row["located"] == "exact"));
    let (_, stderr) = desk.ends(&format!("{generate} --preset paper --temperature 1"), 2);
    assert!(stderr.contains("cannot be used with"), "{stderr}");
}

/// A checklist of two items and one of a clean change, reviews of both, and a judge of them.
fn checklists() -> (Desk, String) {
    let desk = Desk(tempfile::tempdir().unwrap());
    let item = |n: usize, text: &str, kind: &str| json!({ "n": n, "text": text, "kind": kind });
    desk.write(
        "lists.jsonl",
        &rows(&[
            json!({ "case": "a", "items": [item(1, "Close the file", "defect"), item(2, "Add a test", "tests")] }),
            json!({ "case": "b", "clean": true }),
        ]),
    );
    desk.write(
        "reviews.jsonl",
        &rows(&[
            json!({ "id": "1", "case": "a", "generator": "bot", "text": "Please close the file." }),
            json!({ "id": "2", "case": "b", "generator": "bot", "text": "Rewrite all of this." }),
        ]),
    );
    desk.write("cases.jsonl", &rows(&[json!({ "id": "a", "diff": "+f = open(p)\n" }), json!({ "id": "b" })]));
    let items = json!({ "items": [
        { "n": 1, "verdict": "asked", "quote": "Please close the file." }, { "n": 2, "verdict": "absent", "quote": "" }
    ]});
    let absent = json!({ "items": [{ "n": 1, "verdict": "absent", "quote": "" }, { "n": 2, "verdict": "absent", "quote": "" }] });
    let claim =
        |verdict: &str, code: &str| json!({ "passages": [{ "n": 1, "verdict": verdict, "code": code }] }).to_string();
    desk.write(
        "judge.jsonl",
        &rows(&[
            json!({ "all": ["Compare a code review", "Please close the file."], "replies": [items.to_string()] }),
            json!({ "all": ["Compare a code review"], "replies": [absent.to_string()] }),
            json!({ "all": ["Check a code review", "Please close"], "replies": [claim("supported", "f = open(p)")] }),
            json!({ "all": ["Check a code review", "Rewrite all"], "replies": [claim("unsupported", "")] }),
        ]),
    );
    let score = "checklist score --checklists lists.jsonl --reviews reviews.jsonl --cases cases.jsonl --metric items,claims --no-baselines \
                 --backend j=scripted:judge.jsonl";
    (desk, score.to_owned())
}

#[test]
fn what_a_run_would_take_is_told_and_bounds_are_kept() {
    let (desk, score) = checklists();
    let (requests, notes) = desk.ends(&format!("{score} -o v.jsonl --dry-run"), 0);
    let steps: Vec<Value> = requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(steps.iter().map(|step| step["step"].as_str().unwrap()).collect::<Vec<_>>(), ["claims", "items"]);
    assert!(steps[0]["messages"][0]["content"].as_str().is_some_and(|text| text.contains("Rewrite all of this.")));
    assert!(notes.contains("j: 3 requests of about") && notes.contains("items: 1 requests"), "{notes}");
    assert!(!desk.path("v.jsonl").exists() && !desk.path("v.jsonl.replies.jsonl").exists());
    // prices as a server's settings have them
    desk.write("j.toml", "backend = \"openai:http://127.0.0.1:9/v1#m\"\nprice = { input = 1, output = 2, per = 1, currency = \"tokens\" }\n");
    let of_server = score.replace("j=scripted:judge.jsonl", "j.toml");
    let (_, notes) = desk.ends(&format!("{of_server} -o v.jsonl --dry-run"), 0);
    assert!(notes.contains(" tokens; what hangs on answers"), "{notes}");

    // one request a run: each goes on where the one before stopped
    for failed in [2, 1, 0] {
        let (_, notes) = desk.ends(&format!("{score} -o v.jsonl --max-calls 1"), if failed > 0 { 3 } else { 0 });
        assert!(notes.contains(&format!("4 verdicts on 2 reviews, {failed} failed")), "{notes}");
    }
    let costs: Value = serde_json::from_slice(&fs::read(desk.path("v.jsonl.cost.json")).unwrap()).unwrap();
    assert_eq!(
        (costs["calls"].as_u64(), costs["cached"].as_u64(), costs["failed"].as_u64()),
        (Some(1), Some(2), Some(0))
    );
    assert!(costs["by_step"]["claims"]["prompt_tokens"].is_u64() && costs["estimated_share"] == 1.0, "{costs}");
    let (_, stderr) = desk.ends(&format!("{score} -o v.jsonl --max-cost 1"), 2);
    assert!(stderr.contains("the price of a token is not known"), "{stderr}");

    // shares of the cases
    for shard in ["1/2", "2/2"] {
        desk.ends(&format!("{score} -o w.jsonl --shard {shard}"), 0);
    }
    assert!(!desk.path("w.jsonl").exists());
    desk.ends(&format!("{score} -o w.jsonl --max-calls 0"), 0);
    assert_eq!(fs::read(desk.path("v.jsonl")).unwrap(), fs::read(desk.path("w.jsonl")).unwrap());
}

#[test]
fn items_count_as_much_as_their_kind() {
    let (desk, score) = checklists();
    desk.ends(&format!("{score} -o v.jsonl"), 0);
    let files = "--checklists lists.jsonl --reviews reviews.jsonl --cases cases.jsonl --verdicts v.jsonl";
    let coverage = |weights: &str| {
        let (page, _) = desk.ends(&format!("checklist report {files} --resamples 20 {weights} -o report"), 0);
        let json: Value = serde_json::from_slice(&fs::read(desk.path("report/checklist.json")).unwrap()).unwrap();
        let record = json.get("record").unwrap_or(&json);
        let bot =
            record["generators"].as_array().unwrap().iter().find(|figures| figures["generator"] == "bot").cloned();
        fs::remove_dir_all(desk.path("report")).unwrap();
        (bot.unwrap()["coverage"]["value"].as_f64().unwrap(), page)
    };
    assert_eq!(coverage("").0, 0.5);
    let (weighted, page) = coverage("--weights defect=3");
    assert_eq!(weighted, 0.75);
    assert!(page.contains("items count by their kinds: defect 3"), "{page}");
    desk.ends(&format!("checklist reward {files} --weights tests=4 -o rewards.jsonl"), 0);
    assert_eq!(desk.rows("rewards.jsonl")[0]["coverage"], 0.2);
    let (_, stderr) = desk.ends(&format!("checklist report {files} --weights defect"), 2);
    assert!(stderr.contains("KIND=NUMBER"), "{stderr}");
    let (_, stderr) = desk.ends(&format!("checklist report {files} --weights nothing=2 --resamples 20"), 0);
    assert!(stderr.contains("no item is of the kind `nothing`"), "{stderr}");
}

#[test]
fn reviews_are_paid_line_by_line_in_order() {
    let (desk, _) = checklists();
    let mut process = Command::new(env!("CARGO_BIN_EXE_veridiff-lab"))
        .args(["checklist", "reward", "--stdio", "--checklists", "lists.jsonl", "--cases", "cases.jsonl"])
        .args(["--backend", "scripted:judge.jsonl"])
        .current_dir(desk.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let mut answers = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut ask = |line: &str| -> Value {
        // the answer comes before the next line is there
        writeln!(stdin, "{line}").unwrap();
        serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap()
    };
    let said = |case: &str, text: &str| json!({ "case": case, "completion": text }).to_string();
    let paid = ask(&said("a", "Please close the file."));
    assert_eq!((&paid["total"], &paid["case"], &paid["coverage"]), (&json!(0.5), &json!("a"), &json!(0.5)));
    assert_eq!(ask(&said("b", "No comment."))["total"], 1.0);
    assert_eq!(ask(&said("b", "Rewrite all of this."))["total"], 0.0);
    // what nobody can judge is null, says why, and stops nothing
    for (line, says) in [
        (said("a", "Something that the script does not know."), "no line of the script"),
        (said("c", "x"), "there is no checklist of the case `c`"),
        ("{".to_owned(), "the line is not"),
        (json!({ "case": "a" }).to_string(), "missing field `completion`"),
    ] {
        let answer = ask(&line);
        assert!(answer["total"].is_null() && answer["error"].as_str().unwrap().contains(says), "{answer}");
    }
    assert_eq!(ask(&said("a", ""))["total"], 0.0);
    drop(stdin);
    assert_eq!(process.wait().unwrap().code(), Some(3), "some are null");
    assert_eq!(fs::read_dir(desk.0.path()).unwrap().count(), 4, "nothing is kept");
    let (_, stderr) = desk.ends("checklist reward --stdio --checklists lists.jsonl", 2);
    assert!(stderr.contains("--backend"), "{stderr}");
    let (_, stderr) = desk.ends("checklist reward --checklists lists.jsonl", 2);
    assert!(stderr.contains("--reviews") && stderr.contains("--verdicts"), "{stderr}");
}

/// A command that is killed when it opens a socket.
#[cfg(target_os = "linux")]
fn without_sockets(desk: &Desk, line: &str) -> std::process::Output {
    use std::os::unix::process::CommandExt as _;

    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let rules = [(libc::SYS_socket, Vec::new())].into_iter().collect();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::KillProcess, arch).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_veridiff-lab"));
    command.args(line.split_whitespace()).current_dir(desk.0.path());
    // SAFETY: between fork and exec only two system calls are made, with what was allocated before
    unsafe { command.pre_exec(move || seccompiler::apply_filter(&filter).map_err(std::io::Error::other)) };
    command.output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn no_step_opens_a_socket_offline() {
    use std::os::unix::process::ExitStatusExt as _;
    let desk = desk();
    with_script(&desk);
    let judge = "--meaning exact --meaning judge:scripted:judge.jsonl";
    for line in [
        "bench aacr prepare run --references data --repos repos".to_owned(),
        "bench aacr retrieve run --repos repos --offline".into(),
        "bench aacr generate run --contexts --offline --backend bot=scripted:script.jsonl".into(),
        format!("bench aacr match run --offline --predictions run/bot.jsonl {judge}"),
        "bench aacr report run --resamples 20".into(),
    ] {
        let output = without_sockets(&desk, &line);
        assert!(output.status.success(), "{line}: {:?} {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let (other, score) = checklists();
    let output = without_sockets(&other, &format!("{score} --offline -o v.jsonl"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // a server on this machine is no other machine, and asking it takes a socket: so the filter does forbid them
    let line = "bench aacr generate run --offline --backend bot=openai:http://127.0.0.1:9/v1#m";
    assert_eq!(without_sockets(&desk, line).status.signal(), Some(libc::SIGSYS));
    // another machine is refused before any socket
    let output = without_sockets(&desk, &line.replace("127.0.0.1:9", "example.org"));
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
