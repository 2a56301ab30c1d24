//! `judge` as its users meet it: a study on a server on this machine, killed and resumed, replayed without a socket, and what it
//! keeps to itself.

#![cfg(all(unix, feature = "endpoint", feature = "local"))]

use std::{
    collections::HashMap,
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    judging::{Desk, answers_to, lines_of, samples, score_of, tiny},
    server::{Act, Asked, Server, plain, probe_answer},
};
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use veridiff_judge::prompts::{PromptSet, Strategy};
use veridiff_table::Table;

/// A study killed 50 times, each time while a request is on its way, is the study of one run to the byte; and no request that was
/// answered is made again.
#[test]
fn a_study_killed_at_any_reply_asks_for_none_twice() {
    const N: usize = 40;
    let victim: Arc<Mutex<Option<u32>>> = Arc::default();
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let (target, countdown) = (victim.clone(), left.clone());
    let answered: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let counts = answered.clone();
    let server = Server::new(move |_, asked| {
        if countdown.fetch_sub(1, Ordering::SeqCst) == 0 {
            // the request has come, and its sender dies before there is an answer
            let id = loop {
                match target.lock().unwrap().take() {
                    Some(id) => break id,
                    // it was quicker than the test, which has not noted its number yet
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            };
            let _gone = Command::new("kill").args(["-9", &id.to_string()]).status();
            return Act::Close;
        }
        if !asked.body["messages"].is_null() {
            *counts.lock().unwrap().entry(asked.body.to_string()).or_default() += 1;
        }
        probe_answer(asked).unwrap_or_else(|| score_of(asked))
    });
    let desk = Desk::new(&samples(N));
    let args = format!("judge --input in.jsonl --backend m={} --strategy direct,tree", server.spec());
    let one_by_one = format!("{args} --concurrency 1");
    desk.ends(&format!("{one_by_one} --output whole.parquet"), 0);
    // what is asked of given texts is no conversation, and not counted
    let asked_in_one_run = server.asked().iter().filter(|asked| asked.path.ends_with("/chat/completions")).count();
    // the probe's pair of the same request is no repetition
    let is_pair = |body: &String| body.contains("how many legs");
    assert!(answered.lock().unwrap().iter().all(|(body, n)| *n == 1 || is_pair(body)));

    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(25);
    let mut killed = |args: &str, output: &str, n: usize| {
        answered.lock().unwrap().clear();
        let mut n_killed = 0;
        for _ in 0..n {
            left.store(rng.random_range(0..3), Ordering::SeqCst);
            let mut command = desk.command(&format!("{args} --output {output} --resume"));
            let mut child = command.stderr(Stdio::null()).spawn().unwrap();
            *victim.lock().unwrap() = Some(child.id());
            n_killed += usize::from(!child.wait().unwrap().success());
        }
        assert_eq!(n_killed, n);
        left.store(usize::MAX, Ordering::SeqCst);
        desk.ends(&format!("{args} --output {output} --resume"), 0);
        assert_eq!(desk.read(output), desk.read("whole.parquet"), "{args}");
        let answered = answered.lock().unwrap();
        let again = answered.iter().filter(|(body, _)| !is_pair(body)).map(|(_, n)| n - 1).sum::<usize>();
        (again, answered.values().sum::<usize>())
    };
    assert_eq!(killed(&one_by_one, "killed.parquet", 50), (0, asked_in_one_run), "nothing is asked for twice");
    // of eight at once, those on their way when it is killed have been answered to nobody
    let (again, asked) = killed(&args, "killed-8.parquet", 10);
    assert!(again <= 10 * 7 && asked == asked_in_one_run + again, "{again} of {asked} again");
}

/// A finished study needs no server, whatever became of its rows.
#[test]
fn a_finished_study_replays_without_a_socket() {
    let desk = Desk::new(&samples(12));
    let server = plain(|asked| if asked.text().contains("Number 5 ") { Act::content("no") } else { score_of(asked) });
    let args = "judge --input in.jsonl --strategy all";
    let told = desk.ends(&format!("{args} --backend big={} --output a.jsonl", server.spec()), 3);
    assert!(told.contains(&server.address) && told.contains("12 diffs") && told.contains("1 not judged"), "{told}");
    let n = server.asked().len();
    drop(server);
    desk.ends(&format!("{args} --backend replay:a.jsonl.replies.jsonl --output b.jsonl"), 3);
    assert_eq!(desk.read("a.jsonl"), desk.read("b.jsonl"));
    assert!(n > 12 * 4);
    // another question was not asked
    let told = desk.ends("judge --input in.jsonl --threshold 2 --strategy direct --temperature 1 --backend replay:a.jsonl.replies.jsonl --output c.jsonl", 3);
    assert!(told.contains("not_recorded"), "{told}");
    desk.ends("judge --input in.jsonl --backend x=replay:a.jsonl.replies.jsonl --output d.jsonl", 2);

    let rows = desk.rows("a.jsonl");
    let row = &rows["s8"];
    assert_eq!(row["judge_direct@big"], json!(3.0));
    assert_eq!((&row["judge_direct_p@big"], &row["judge_direct_answer@big"]), (&json!(1.0), &json!(3)));
    assert_eq!((&row["judge_tree@big"], &row["judge_votes@big"]), (&json!(4.0), &json!(4)));
    assert_eq!(row["judge_direct_explanation@big"], "line 8");
    assert_eq!((&row["n_judge_in@big"], &row["status@big"]), (&json!(400), &json!("ok")));
    let bad = &rows["s5"];
    assert_eq!((&bad["judge_direct@big"], &bad["judge_mean@big"]), (&Value::Null, &Value::Null));
    assert_eq!((&bad["judge_direct_status@big"], &bad["status@big"]), (&json!("error"), &json!("error")));
    assert_eq!(bad["n_judge_replies@big"], json!(12));
}

/// A row that could not be judged is asked anew when the run is resumed, and what was answered is not.
#[test]
fn a_resumed_run_asks_anew_for_what_failed() {
    let desk = Desk::new(&samples(6));
    let is_mended = Arc::new(AtomicUsize::new(0));
    let mended = is_mended.clone();
    let server = plain(move |asked| {
        let fails = asked.text().contains("Number 2 ") && mended.load(Ordering::SeqCst) == 0;
        if fails { Act::content("no") } else { score_of(asked) }
    });
    let args = format!("judge --input in.jsonl --backend m={} --output t.jsonl --resume", server.spec());
    desk.ends(&args, 3);
    let n = server.asked().len();
    desk.ends(&args, 3);
    assert_eq!(server.asked().len(), n + 3, "three attempts more at one row, and no probe");
    is_mended.store(1, Ordering::SeqCst);
    desk.ends(&args, 0);
    assert_eq!(server.asked().len(), n + 4);
    assert_eq!(desk.rows("t.jsonl")["s2"]["judge_direct@m"], json!(2.0));
    // all seven replies were paid for
    assert_eq!(desk.rows("t.jsonl")["s2"]["n_judge_out@m"], json!(70));
}

/// A key is sent, and stands nowhere else: not where a server quotes it in answers, refusals and redirects, with its signs escaped or
/// not, whatever verb asks.
#[test]
fn a_key_is_never_written_or_printed() {
    const KEY: &str = "sk-s3cr3t/0123+45=";
    // what is searched for: the part that no way of writing changes
    const PART: &str = "s3cr3t";
    let is_probe = |asked: &Asked| match asked.body["prompt"].as_str() {
        Some(prompt) => prompt.starts_with("One, two:"),
        None => probe_answer(asked).is_some(),
    };
    // every character is a token
    let echo = |asked: &Asked| {
        let tokens: Vec<String> = asked.body["prompt"].as_str().unwrap().chars().map(String::from).collect();
        let log_probs: Vec<Option<f64>> = (0..=tokens.len()).map(|i| (i > 0).then_some(-1.0)).collect();
        let tokens = [tokens, vec!["!".to_owned()]].concat();
        json!({ "model": KEY, "choices": [{ "text": "", "logprobs": { "tokens": tokens, "token_logprobs": log_probs } }] })
    };
    let answers = Server::new(move |n, asked| {
        assert!(asked.head.contains(KEY), "{}", asked.head);
        if !is_probe(asked) && n % 2 == 1 {
            return Act::json(400, &json!({ "error": { "message": format!("bad key {KEY}") } }));
        }
        let body = match probe_answer(asked) {
            _ if asked.path.ends_with("/v1/completions") => echo(asked),
            Some(Act::Answer { body, .. }) => serde_json::from_slice(&body).unwrap(),
            _ => super::server::answer(&json!({ "explanation": KEY, "answer": 0 }).to_string()),
        };
        let body = body.to_string().replace("scripted-1", KEY).replace("\"fp\"", &json!(KEY).to_string());
        // as some servers write a slash and a plus
        let body = body.replace(KEY, &KEY.replace('/', "\\/").replace('+', "\\u002B"));
        Act::Answer { status: 200, headers: Vec::new(), body: body.into_bytes() }
    });
    let says = json!({ "error": { "message": format!("no access by {KEY}") } });
    let refusal = says.clone();
    let refuses = Server::new(move |_, _| Act::json(401, &refusal));
    let redirects = Server::new(move |_, _| Act::Answer {
        status: 307,
        headers: vec![("location", format!("http://127.0.0.1:9/{KEY}"))],
        body: says.to_string().into_bytes(),
    });
    let desk = Desk::new(&samples(3));
    let mut seen = Vec::new();
    for (server, name, codes) in
        [(&answers, "answers", [3, 0, 3]), (&refuses, "refuses", [2; 3]), (&redirects, "redirects", [2; 3])]
    {
        let spec = format!("m={}", server.spec());
        let verbs = [
            format!("judge --input in.jsonl --backend {spec} --output {name}-judge.jsonl --concurrency 1"),
            format!("judge --backend {spec} --probe"),
            format!("score --input in.jsonl --model {spec} --features uncertainty --output {name}-score.jsonl"),
        ];
        for (verb, code) in verbs.iter().zip(codes) {
            let output = desk.command(&format!("{verb} -vv")).env("OPENAI_API_KEY", KEY).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{name}, {verb}: {stderr}");
            assert!(
                code != 2 || name == "redirects" || stderr.contains("no access by [key]"),
                "{name}, {verb}: {stderr}"
            );
            seen.extend([(format!("stdout of {verb}"), output.stdout), (format!("stderr of {verb}"), output.stderr)]);
        }
    }
    for verb in ["judge", "score"] {
        let replies = desk.read(&format!("answers-{verb}.jsonl.replies.jsonl"));
        assert!(String::from_utf8(replies).unwrap().contains("[key]"), "what {verb} was answered quotes it");
    }
    // one that no header can hold is not told either
    let verb = format!("judge -vv --backend {} --probe", answers.spec());
    let output = desk.command(&verb).env("OPENAI_API_KEY", format!("{KEY}\nX")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    seen.extend([("stdout of a bad key".to_owned(), output.stdout), ("stderr of a bad key".to_owned(), output.stderr)]);
    let n_printed = seen.len();
    for entry in fs::read_dir(desk.0.path()).unwrap() {
        let path = entry.unwrap().path();
        seen.push((path.display().to_string(), fs::read(&path).unwrap()));
    }
    // of those that were answered the table, its journal and the replies, or the texts and the replies
    assert!(seen.len() - n_printed > 8, "{:?}", seen.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for (name, bytes) in seen {
        let holds = bytes.windows(PART.len()).any(|window| window == PART.as_bytes());
        assert!(!holds, "{name} holds the key: {}", String::from_utf8_lossy(&bytes));
    }
}

/// CPU seconds that this process's children have taken which have ended.
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // cutime and cstime, in ticks of a hundredth of a second
    (fields[13].parse::<f64>().unwrap() + fields[14].parse::<f64>().unwrap()) / 100.0
}

/// What the client itself takes: 1,000 rows at concurrency 32, by a server that needs a few milliseconds for each.
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "the figure is what the test is run for")]
#[test]
fn the_client_adds_little_of_its_own() {
    let desk = Desk::new(&samples(1000));
    let server = plain(|asked| {
        std::thread::sleep(Duration::from_millis(2));
        score_of(asked)
    });
    let before = cpu_of_children();
    desk.ends(&format!("judge --input in.jsonl --backend m={} --output t.parquet --concurrency 32", server.spec()), 0);
    let per_row = (cpu_of_children() - before) / 1000.0;
    eprintln!("{:.2} ms of CPU a row, {} requests open at most", per_row * 1000.0, server.most_open());
    assert!(server.most_open() > 8 && server.most_open() <= 32);
    assert!(per_row < 0.005, "{per_row} s a row");
}

/// A server that dies in the middle, or is not there.
#[test]
fn a_dead_server_ends_the_run_and_keeps_what_is_answered() {
    let desk = Desk::new(&samples(30));
    let stderr =
        desk.ends("judge --input in.jsonl --backend openai:http://127.0.0.1:9/v1#m --output t.jsonl --timeout 1", 2);
    assert!(stderr.contains("cannot be used") && stderr.contains("hint: check the address"), "{stderr}");
    assert!(!Path::new(&desk.path("t.jsonl")).exists());
    // out of money after ten answers
    let n = AtomicUsize::new(0);
    let server = plain(move |asked| match n.fetch_add(1, Ordering::SeqCst) {
        0..10 => score_of(asked),
        _ => Act::json(429, &json!({ "error": { "code": "insufficient_quota", "message": "pay first" } })),
    });
    let stderr =
        desk.ends(&format!("judge --input in.jsonl --backend m={} --output t.jsonl --concurrency 1", server.spec()), 3);
    assert!(stderr.contains("the quota is used up (pay first)") && stderr.contains("--resume"), "{stderr}");
    let rows = desk.rows("t.jsonl");
    let with = |status: &str| rows.values().filter(|row| row["judge_direct_status@m"] == status).count();
    assert!(with("ok") >= 8 && with("skipped") >= 19 && with("ok") + with("skipped") + with("error") == 30);
    assert!(server.asked().len() < 25, "{} were asked", server.asked().len());
}

/// A cascade asks further only where the first is undecided; a panel decides by its rule.
#[test]
fn a_cascade_and_repeats_from_a_script() {
    let desk = Desk::new(&samples(4));
    let tokens = |p: [f64; 5]| {
        let alternatives: Vec<Value> = p.iter().enumerate().map(|(k, p)| json!([k.to_string(), p.ln()])).collect();
        json!([
            { "text": "{\"answer\": ", "n_bytes": 11, "log_prob": 0.0 },
            { "text": "1", "n_bytes": 1, "log_prob": p[1].ln(), "alternatives": alternatives },
            { "text": "}", "n_bytes": 1, "log_prob": 0.0 }
        ])
    };
    let rule = |all: &[&str], p: [f64; 5]| {
        json!({ "all": all, "replies": [{ "content": "{\"answer\": 1}", "tokens": tokens(p) }] }).to_string()
    };
    let script = [
        rule(&["Number 1 ", "branch_a"], [0.1, 0.1, 0.1, 0.1, 0.6]),
        rule(&["Number 1 "], [0.5, 0.3, 0.1, 0.05, 0.05]),
        rule(&[], [0.9, 0.025, 0.025, 0.025, 0.025]),
    ];
    fs::write(desk.path("s.jsonl"), script.join("\n")).unwrap();
    desk.ends(
        "judge --input in.jsonl --backend scripted:s.jsonl --strategy direct,tree --cascade 0.3,0.7 --output t.jsonl",
        0,
    );
    let rows = desk.rows("t.jsonl");
    let number = |id: &str, column: &str| rows[id][format!("{column}@scripted")].as_f64();
    assert!((number("s0", "judge_final").unwrap() - 0.1).abs() < 1e-9);
    assert_eq!((number("s0", "judge_tree"), &rows["s0"]["judge_tree_status@scripted"]), (None, &Value::Null));
    assert!((number("s1", "judge_direct_p").unwrap() - 0.5).abs() < 1e-9);
    assert!((number("s1", "judge_final").unwrap() - 0.9).abs() < 1e-9);
    // 0.1 * (0 + 1 + 2 + 3) + 0.6 * 4, by hand
    assert!((number("s1", "judge_tree").unwrap() - 3.0).abs() < 1e-9);
    assert_eq!((number("s0", "judge_direct_agrees"), number("s1", "judge_tree_agrees")), (Some(0.0), Some(0.0)));
    let stderr = desk.ends("judge --input in.jsonl --backend scripted:s.jsonl --repeats 3 --output r.jsonl", 2);
    assert!(stderr.contains("nothing to repeat") && stderr.contains("hint: use --reading text"), "{stderr}");
    desk.ends("judge --input in.jsonl --backend scripted:s.jsonl --repeats 3 --reading text --output r.jsonl", 0);
    let row = &desk.rows("r.jsonl")["s0"];
    assert_eq!((&row["judge_direct_sd@scripted"], &row["judge_direct_flip@scripted"]), (&json!(0.0), &json!(0.0)));
}

#[test]
fn what_cannot_begin_says_why() {
    let desk = Desk::new(&samples(2));
    fs::write(desk.path("s.jsonl"), "{\"replies\": [\"{\\\"answer\\\": 2}\"]}\n").unwrap();
    fs::write(desk.path("bad.jsonl"), "{\"replies\": []}\n").unwrap();
    fs::write(desk.path("bad.toml"), "name = 3\n").unwrap();
    for (args, says) in [
        ("--backend gpt", "names no backend"),
        ("--backend scripted:none.jsonl", "cannot read"),
        ("--backend scripted:bad.jsonl", "line 1"),
        ("--backend replay:s.jsonl", "line 1"),
        ("--backend scripted:s.jsonl --strategy direkt", "unknown strategy `direkt`"),
        ("--backend scripted:s.jsonl --prompts bad.toml", "bad.toml"),
        ("--backend scripted:s.jsonl --reading digits", "no log-probabilities"),
        ("--backend scripted:s.jsonl --threshold 5", "threshold"),
        ("--backend scripted:s.jsonl --temperature -1", "temperature"),
        ("--backend scripted:s.jsonl --temperature nan", "temperature"),
        ("--backend scripted:s.jsonl --max-output 0", "no answer"),
        ("--backend scripted:s.jsonl --repeats 0", "no request"),
        ("--backend scripted:s.jsonl --concurrency 0", "concurrency"),
        ("--backend scripted:s.jsonl --cascade 0.9,0.1 --strategy direct,tree", "cascade"),
        ("--backend scripted:s.jsonl --max-cost 1", "price"),
        ("--backend scripted:s.jsonl --panel 3", "quorum"),
        ("--backend scripted:s.jsonl --backend scripted:s.jsonl", "two backends"),
        ("--backend openai:https://me:key@host/v1#m", "environment"),
    ] {
        let stderr = desk.ends(&format!("judge --input in.jsonl --output t.jsonl {args}"), 2);
        assert!(stderr.contains(says) && stderr.contains("error: "), "{args}: {stderr}");
        assert!(!desk.path("t.jsonl").exists(), "{args}");
        // what was refused stands in nobody's way: at most who would have been asked is noted
        let replies = fs::read_to_string(desk.path("t.jsonl.replies.jsonl")).unwrap_or_default();
        assert!(replies.lines().skip(1).all(|line| line.contains(r#""id":"@"#)), "{args}: {replies}");
    }
    // nothing is sent, and no table is made
    let output = desk.run("judge --input in.jsonl --backend openai:http://127.0.0.1:9/v1#m --strategy all --dry-run");
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((output.status.code(), lines.len()), (Some(0), 4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("8 requests"));
    // digits that a model here is asked for take no answer
    let output = desk.run("judge --input in.jsonl --backend local:nobody --strategy direct,tree --dry-run");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("4 requests") && told.contains("at most 2048 tokens of answers"), "{told}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(r#"{\"answer\": 0}"#));
}

/// A model on this machine: every answer parses, and the table does not depend on threads, shards or interruptions.
#[test]
fn a_model_here_judges_the_same_however_it_is_run() {
    // two texts about each of two changes, whose diff is read once
    let about_two: String = samples(2)
        .lines()
        .flat_map(|line| {
            let mut other: Value = serde_json::from_str(line).unwrap();
            other["id"] = format!("{}-again", other["id"].as_str().unwrap()).into();
            other["text"] = "Something is changed.".into();
            [format!("{line}\n"), format!("{other}\n")]
        })
        .collect();
    let desk = Desk::new(&about_two);
    let args =
        format!("judge --input in.jsonl --backend {} --strategy direct,few_shot --reading text --offline", tiny());
    desk.ends(&format!("{args} --output a.parquet"), 0);
    desk.ends(&format!("{args} --output b.parquet --threads 1"), 0);
    assert_eq!(desk.read("a.parquet"), desk.read("b.parquet"));
    for shard in ["1/2", "2/2"] {
        desk.ends(&format!("{args} --output s{}.parquet --shard {shard}", &shard[..1]), 0);
    }
    desk.ends("merge s1.parquet s2.parquet --output s.parquet", 0);
    assert_eq!(desk.read("s.parquet"), desk.read("a.parquet"));
    desk.ends(&format!("{args} --output a.jsonl"), 0);
    // the replies of half of the rows, and a torn one, are what a kill leaves
    let replies = String::from_utf8(desk.read("a.jsonl.replies.jsonl")).unwrap();
    let half: Vec<&str> = replies.lines().take(replies.lines().count() / 2).collect();
    fs::write(desk.path("c.jsonl.replies.jsonl"), format!("{}\n{{\"id\": \"to", half.join("\n"))).unwrap();
    desk.ends(&format!("{args} --output c.jsonl --resume"), 0);
    assert_eq!(desk.read("c.jsonl"), desk.read("a.jsonl"));
    let rows = desk.rows("a.jsonl");
    for row in rows.values() {
        assert_eq!((&row["status@tiny"], &row["n_judge_replies@tiny"]), (&json!("ok"), &json!(2)), "{row}");
        assert!(row["judge_direct@tiny"].as_f64().is_some_and(|score| (0.0..=4.0).contains(&score)));
        assert!(row["judge_direct_explanation@tiny"].is_string());
    }
    // digits of random weights have no mass, which is an error of every row and no score
    let told = desk.ends(&format!("judge --input in.jsonl --backend {} --offline --output d.jsonl", tiny()), 3);
    assert!(told.contains("low_mass"), "{told}");
    assert_eq!(desk.rows("d.jsonl")["s1"]["judge_direct@tiny"], Value::Null);
}

/// Judges of a table as tables, and a judge's columns as features.
#[test]
fn a_judges_table_is_evaluated_and_fitted() {
    let desk = Desk::new(&samples(60));
    // right about two of three texts
    let score = |i: usize| if i.is_multiple_of(3) { 3 - 3 * (i % 2) } else { 3 * (i % 2) };
    let script: String = (0..60)
        .map(|i| {
            let reply = format!("{{\"explanation\": \"because\", \"answer\": {}}}", score(i));
            format!("{}\n", json!({ "all": [format!("Number {i} is")], "replies": [reply] }))
        })
        .collect();
    fs::write(desk.path("s.jsonl"), script).unwrap();
    desk.ends("judge --input in.jsonl --backend j=scripted:s.jsonl --output t.parquet", 0);
    let output = desk.run("eval --input t.parquet --judges");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for says in ["j direct", "always flag", "never flag", "kappa", "0.667"] {
        assert!(text.contains(says), "{says}: {text}");
    }
    let output = desk.run("eval --input t.parquet --judges --json");
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(whole["judges"][0]["figures"]["counts"]["true_positive"], json!(20));
    // how long replies were waited for is told by their file, whatever rows are looked at, and by nothing else
    assert!(whole["judges"][0]["spent"]["seconds"].is_number(), "{whole}");
    fs::rename(desk.path("t.parquet.replies.jsonl"), desk.path("elsewhere.jsonl")).unwrap();
    let output = desk.run("eval --input t.parquet --judges --json");
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(whole["judges"][0]["spent"]["seconds"].is_null(), "{whole}");
    for format in ["md", "csv", "latex"] {
        assert_eq!(desk.run(&format!("eval --input t.parquet --judges --format {format}")).status.code(), Some(0));
    }
    desk.ends("fit --input t.parquet --output d.json", 0);
    let detector: Value = serde_json::from_slice(&desk.read("d.json")).unwrap();
    assert!(detector.to_string().contains("judge_direct@j"), "{detector}");
    // what the judge was asked is part of what the detector's numbers mean
    desk.ends("judge --input in.jsonl --backend j=scripted:s.jsonl --threshold 4 --output u.parquet", 0);
    let stderr = desk.ends("eval --input u.parquet --detector d.json", 2);
    assert!(stderr.contains("threshold@j"), "{stderr}");
    let stderr = desk.ends("score --input in.jsonl --features judge_direct --output v.parquet", 2);
    assert!(stderr.contains("veridiff judge"), "{stderr}");
    fs::write(desk.path("plain.jsonl"), "{\"id\": \"a\", \"label\": 1}\n").unwrap();
    assert!(desk.ends("eval --input plain.jsonl --judges", 2).contains("no columns of a judge"));
}

/// Prompts of somebody else's, with fewer strategies, another form of the answer and tags in place of codes.
const FOREIGN: &str = r#"
name = "house"
tags = ["<change>", "</change>", "<said>", "</said>"]
[what]
review = "remark"
commit = "log entry"
[prompt]
system = """
House rules for a {what}.
{strategy}
Reply as {form}"""
user = """
<change>{diff}</change>
<said>{text}</said>"""
[strategy.direct]
form = '{"answer": 0, "why": ""}'
text = "Grade at once."
[strategy.tree]
form = '{"for": "", "against": "", "answer": 0}'
text = "Plead on both sides."
"#;

/// A foreign prompt set judges as any other, and what was fitted on its scores takes no others.
#[test]
fn a_foreign_prompt_set_is_asked_and_its_detector_refuses_other_prompts() {
    let desk = Desk::new(
        &(samples(60) + &json!({ "id": "tagged", "diff": "@@ -1 +1 @@\n-a\n+</CHANGE>\n", "text": "t" }).to_string()),
    );
    fs::write(desk.path("house.toml"), FOREIGN).unwrap();
    fs::write(desk.path("other.toml"), FOREIGN.replace("at once", "slowly")).unwrap();
    let rule = |all: &[&str], answer: usize| json!({ "all": all, "replies": [format!("{{\"answer\": {answer}}}")] });
    // right about two of three texts, by each strategy; another answer where the words are not the file's
    let right = |i: usize| if i.is_multiple_of(3) { 3 - 3 * (i % 2) } else { 3 * (i % 2) };
    let mut script: Vec<Value> = Vec::new();
    for (i, said) in (0..60).map(|i| (i, format!("<said>Number {i} is raised.</said>"))) {
        for words in ["Grade at once.", "Grade slowly.", "Plead on both sides."] {
            script.push(rule(&["House rules for a remark.", words, &said], right(i)));
        }
    }
    script.extend([
        rule(&["House rules", "<change>@@ -1 +1 @@\n-a\n+<-/CHANGE>\n</change>"], 0),
        rule(&["unified diff"], 2),
    ]);
    fs::write(desk.path("s.jsonl"), script.iter().map(|rule| format!("{rule}\n")).collect::<String>()).unwrap();

    let judge = |more: &str| format!("judge --input in.jsonl --backend j=scripted:s.jsonl {more}");
    desk.ends(&judge("--prompts house.toml --strategy direct,tree -o house.jsonl"), 0);
    let rows = desk.rows("house.jsonl");
    assert_eq!((&rows["s1"]["judge_direct@j"], &rows["s1"]["judge_votes@j"]), (&json!(3.0), &json!(2)));
    assert_eq!(rows["tagged"]["judge_note@j"], "1 prompt tags written apart");
    let told = desk.ends(&judge("--prompts house.toml --strategy all -o none.jsonl"), 2);
    assert!(told.contains("the prompt set `house` has no strategy `few_shot`"), "{told}");

    for (prompts, table) in [("house.toml", "house"), ("other.toml", "other"), ("veridiff", "veridiff")] {
        desk.ends(&judge(&format!("--prompts {prompts} -o {table}.parquet")), 0);
    }
    let path = |name: &str| desk.path(name).display().to_string();
    let known = ["house", "other", "veridiff"]
        .map(|table| Table::read(&desk.path(&format!("{table}.parquet"))).unwrap().metadata().clone());
    let hash = PromptSet::load(&path("house.toml")).unwrap().hash(&[Strategy::Direct], |_| false);
    assert_eq!((&*known[0]["prompts@j"], &*known[0]["prompts_sha256@j"]), ("house", &*hash));
    assert_eq!(known[1]["prompts@j"], "house", "the name is the same, and the words are not");
    desk.ends("fit --input house.parquet --where label=0,1 --bootstrap 0 --output d.json", 0);
    desk.ends("eval --input house.parquet --where label=0,1 --bootstrap 0 --detector d.json", 0);
    for (table, known) in ["other", "veridiff"].iter().zip(&known[1..]) {
        let told = desk.ends(&format!("eval --input {table}.parquet --where label=0,1 --detector d.json"), 2);
        // long values are told by their beginnings
        let says = format!("`prompts_sha256@j` is {}…, expected {}…", &known["prompts_sha256@j"][..40], &hash[..40]);
        assert!(told.contains(&says), "{table}: {told}");
    }
    let told = desk.ends("check --input in.jsonl --detector d.json", 2);
    assert!(told.contains("judge_direct") && told.contains("a judge, which `check` does not have"), "{told}");
}

/// The judge's reasons beside the finding: its quotes are looked up, and its words are data.
#[test]
fn check_and_explain_show_a_judge_beside_the_facts() {
    let desk = Desk::new("");
    fs::write(desk.path("a.diff"), "--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n").unwrap();
    fs::write(desk.path("a.txt"), "Sets `x` to 3.\n").unwrap();
    let reasons = "\u{1b}[2Jsee it: `x = 2` and `rm -rf` in place of `x` to 3";
    let reply = json!({ "explanation": reasons, "kind": "contradicted", "answer": 4 }).to_string();
    fs::write(desk.path("s.jsonl"), json!({ "replies": [reply] }).to_string()).unwrap();
    let args = "--diff a.diff --text a.txt --judge j=scripted:s.jsonl";
    let output = desk.run(&format!("check {args} --detector none"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("VD006") && text.contains("judge j: 4.0 of 4, contradicted"), "{text}");
    assert!(text.contains("see it") && !text.contains("\u{1b}[2J"), "{text}");
    assert!(text.contains("rm -rf") && text.contains("made up"), "{text}");
    let output = desk.run(&format!("check {args} --detector none --json"));
    let finding: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&finding["judge"]["score"], &finding["judge"]["kind"]), (&json!(4.0), &json!("contradicted")));
    let quotes = [("x = 2", json!(5)), ("rm -rf", Value::Null), ("x", json!(4))];
    let quotes = quotes.map(|(quote, line)| json!({ "quote": quote, "diff_line": line }));
    assert_eq!(finding["judge"]["quotes"], json!(quotes), "{finding}");
    let output = desk.run("check --diff a.diff --text a.txt --detector none --json");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("\"judge\""));
    let model = format!("--model {}/tests/fixtures/qwen2 --detector none", env!("CARGO_MANIFEST_DIR"));
    let output = desk.run(&format!("explain {args} {model} --json"));
    let explanation: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    assert_eq!(explanation["finding"]["judge"]["score"], json!(4.0));
    let output = desk.run(&format!("explain {args} {model}"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("judge j: 4.0 of 4") && !text.contains("\u{1b}[2J"), "{text}");
    let stderr = desk.ends(&format!("check {} --detector none --judge gpt", "--diff a.diff --text a.txt"), 2);
    assert!(stderr.contains("names no backend"), "{stderr}");
}

/// A study by batch files, of which one came back with gaps, is the study that was asked at once; the server is only asked what it does.
#[test]
fn a_study_by_batch_files_is_the_study_at_once() {
    const N: usize = 12;
    let server = plain(score_of);
    let desk = Desk::new(&samples(N));
    let args = format!("judge --input in.jsonl --backend m={} --strategy direct,tree --cascade 0.5,1", server.spec());
    desk.ends(&format!("{args} --output whole.jsonl"), 0);
    let probes = server.asked().iter().filter(|asked| probe_answer(asked).is_some()).count();
    let n_asked = server.asked().len();

    let told = desk.ends(&format!("{args} --output t.jsonl --batch-out ask.jsonl"), 0);
    assert!(told.contains(&format!("{N} requests are in `ask.jsonl`")) && !told.contains("diffs"), "{told}");
    assert!(!desk.path("t.jsonl").exists());
    assert_eq!(server.asked().len(), n_asked + probes, "nothing but what it can do");
    let first = desk.read("ask.jsonl");
    desk.ends(&format!("{args} --output t.jsonl --batch-out ask.jsonl"), 0);
    assert_eq!(desk.read("ask.jsonl"), first, "the same is asked while nothing has come");

    // one is refused, one is missing, one is another study's, one stands twice, and the last was torn off
    let mut answers = answers_to(&first);
    answers[1]["response"] = json!({ "status_code": 400, "body": { "error": { "message": "no such model" } } });
    answers.remove(2);
    let mut foreign = answers[0].clone();
    foreign["custom_id"] = json!("f".repeat(64));
    answers.push(foreign);
    answers.push(answers[0].clone());
    fs::write(desk.path("answers.jsonl"), lines_of(&answers) + "{\"custom_id\": \"to").unwrap();
    let told = desk.ends(&format!("{args} --output t.jsonl --batch-in answers.jsonl"), 3);
    for says in [
        "answers a request again; the first answer counts",
        "line 14 of `answers.jsonl` is no answer of a batch",
        "1 requests were refused as http_400, such as: no such model",
        "1 answers are to requests that this run does not make",
        "have no answer yet; --batch-out writes them",
    ] {
        assert!(told.contains(says), "{says}: {told}");
    }
    let rows = desk.rows("t.jsonl");
    assert_eq!(rows["s1"]["judge_direct_error@m"], "http_400: no such model");
    assert_eq!(
        (&rows["s2"]["judge_direct_status@m"], &rows["s2"]["judge_direct@m"]),
        (&json!("skipped"), &Value::Null)
    );

    // what is missing, what was refused, second attempts and second strategies go out until nothing is left
    for round in 0.. {
        let told = desk.ends(&format!("{args} --output t.jsonl --batch-out more.jsonl"), 0);
        if told.contains("nothing is left to ask") {
            break;
        }
        assert!(round < 4, "{told}");
        fs::write(desk.path("answers.jsonl"), lines_of(&answers_to(&desk.read("more.jsonl")))).unwrap();
        desk.run(&format!("{args} --output t.jsonl --batch-in answers.jsonl --resume"));
    }
    assert_eq!(desk.rows("t.jsonl"), desk.rows("whole.jsonl"));
    assert_eq!(server.asked().len(), n_asked + probes, "no answer was asked of the server");
    // answers that are there already are no others'
    let told =
        desk.ends(&format!("{args} --output again.jsonl --replies t.jsonl.replies.jsonl --batch-in answers.jsonl"), 0);
    assert!(!told.contains("left aside") && !told.contains("no answer yet"), "{told}");
    assert_eq!(desk.rows("again.jsonl"), desk.rows("whole.jsonl"));

    for (args, says) in [
        (format!("{args} --output x.jsonl --batch-out a.jsonl --batch-in answers.jsonl"), "cannot be used with"),
        (format!("{args} --output x.jsonl --batch-in none.jsonl"), "none.jsonl"),
        (format!("{args} --output x.jsonl --batch-in in.jsonl"), "is no answer of a batch"),
        (
            format!("{args} --backend o=scripted:s.jsonl --output x.jsonl --batch-out a.jsonl"),
            "a batch is of one server",
        ),
    ] {
        let told = desk.ends(&args, 2);
        assert!(told.contains(says), "{told}");
    }
}
