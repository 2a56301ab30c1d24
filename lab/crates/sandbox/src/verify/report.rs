//! What a command says of its tests.

use regex::Regex;

use crate::{
    verify::{case::Results, rule::Mark},
    watch::{Outcome, Status},
};

/// Each test's name, mark and detail. What is missing is not run, and nothing passes by an exit status.
pub fn read(results: Results, outcome: &Outcome, said_the_word: bool) -> Vec<(String, Mark, String)> {
    let end = |mark, detail: &str| vec![("command".to_owned(), mark, detail.to_owned())];
    match &outcome.status {
        Status::Exit(_) => {}
        Status::Timeout { .. } => return end(Mark::Timeout, "the command ran out of time"),
        Status::Memory => return end(Mark::Memory, "the command had too much memory"),
        Status::OutputLimit => return end(Mark::OutputLimit, "the command wrote too much"),
        Status::Signal(signal) => return end(Mark::Crash, &format!("signal {signal} ended the command")),
        Status::Failed(what) => return end(Mark::Error, what),
        Status::Stopped => return end(Mark::NotRun, "the run was ended"),
    }
    if outcome.stdout.cut {
        return end(Mark::Error, "the command's report is not whole");
    }
    let text = &outcome.stdout.text;
    let failed = outcome.status != Status::Exit(0);
    match results {
        Results::Exit if failed => end(Mark::Fail, "the command ended with a status other than 0"),
        Results::Exit if said_the_word => end(Mark::Pass, ""),
        Results::Exit => {
            end(Mark::NotRun, "status 0 alone is no pass: the word of standard input was not written to descriptor 3")
        }
        Results::Tap => tap(text),
        Results::Junit => junit(text),
    }
}

fn tap(text: &str) -> Vec<(String, Mark, String)> {
    let line = Regex::new(r"^(not )?ok\b\s*(\d+)?\s*-?\s*(.*)$").expect("a plain expression");
    let planned =
        text.lines().find_map(|line| line.strip_prefix("1..")?.split_whitespace().next()?.parse::<usize>().ok());
    let mut tests = Vec::new();
    for (at, found) in text.lines().filter_map(|text| line.captures(text)).enumerate() {
        let (name, directive) = found[3].split_once('#').unwrap_or((&found[3], ""));
        let name = if name.trim().is_empty() { format!("test {}", at + 1) } else { name.trim().to_owned() };
        let is_skipped = directive.trim().to_ascii_lowercase().starts_with("skip");
        let mark = match (found.get(1).is_some(), is_skipped) {
            (_, true) => Mark::NotRun,
            (true, _) => Mark::Fail,
            (false, _) => Mark::Pass,
        };
        tests.push((name, mark, directive.trim().to_owned()));
    }
    // what was planned and never came
    let Some(planned) = planned else {
        return vec![("plan".to_owned(), Mark::NotRun, "the report has no plan `1..N`".to_owned())];
    };
    for at in tests.len()..planned.min(10_000) {
        tests.push((format!("test {}", at + 1), Mark::NotRun, "planned, and never reported".to_owned()));
    }
    tests
}

fn junit(text: &str) -> Vec<(String, Mark, String)> {
    let case = Regex::new(r#"(?s)<testcase\b([^>]*?)(?:/>|>(.*?)</testcase>)"#).expect("a plain expression");
    let name = |attributes: &str, key: &str| {
        let attribute = Regex::new(&format!(r#"\b{key}\s*=\s*"([^"]*)""#)).expect("a plain expression");
        attribute.captures(attributes).map(|found| found[1].to_owned())
    };
    let tests: Vec<_> = case
        .captures_iter(text)
        .map(|found| {
            let body = found.get(2).map_or("", |body| body.as_str());
            let mark = match () {
                () if body.contains("<failure") || body.contains("<error") => Mark::Fail,
                () if body.contains("<skipped") => Mark::NotRun,
                () => Mark::Pass,
            };
            let class = name(&found[1], "classname").map_or(String::new(), |class| format!("{class}."));
            let detail = name(body, "message").unwrap_or_default();
            (format!("{class}{}", name(&found[1], "name").unwrap_or_default()), mark, detail)
        })
        .collect();
    if tests.is_empty() {
        vec![("report".to_owned(), Mark::NotRun, "no test case was reported".to_owned())]
    } else {
        tests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_planned_and_never_came_is_not_run() {
        let tests = tap("1..3\nok 1 - adds\nnot ok 2 - subtracts # because\n");
        let marks: Vec<_> = tests.iter().map(|(name, mark, _)| (name.as_str(), *mark)).collect();
        assert_eq!(marks, [("adds", Mark::Pass), ("subtracts", Mark::Fail), ("test 3", Mark::NotRun)]);
        assert_eq!(tap("ok 1\n")[0].1, Mark::NotRun, "without a plan nothing is known to be all");
        assert_eq!(tap("1..1\nok 1 - a # SKIP no\n")[0].1, Mark::NotRun);
    }

    #[test]
    fn junit_s_cases_are_told_apart() {
        let text = r#"<testsuite><testcase classname="A" name="x"/><testcase name="y"><failure message="no"/></testcase>
            <testcase name="z"><skipped/></testcase></testsuite>"#;
        let marks: Vec<_> = junit(text).into_iter().map(|(name, mark, _)| (name, mark)).collect();
        let name = str::to_owned;
        assert_eq!(marks, [(name("A.x"), Mark::Pass), (name("y"), Mark::Fail), (name("z"), Mark::NotRun)]);
    }
}
