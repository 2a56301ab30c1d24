//! What replies are, and that none of them makes the reader panic or guess.

use proptest::prelude::*;

use super::*;

fn reply(content: &str) -> Reply {
    Reply {
        content: content.to_owned(),
        finish: Finish::Stop,
        refusal: None,
        has_tool_calls: false,
        tokens: None,
        usage: None,
    }
}

fn cut(content: &str) -> Reply {
    Reply { finish: Finish::Length, ..reply(content) }
}

#[track_caller]
fn is(reply: &Reply, answer: u8) -> JudgeVerdict {
    let verdict = parse(reply).unwrap_or_else(|failure| panic!("{}: {failure}", reply.content));
    assert_eq!(verdict.answer, answer, "{}", reply.content);
    let at = &reply.content[verdict.answer_at..];
    assert!(at.starts_with(&answer.to_string()), "the score stands at: {at}");
    verdict
}

#[track_caller]
fn fails(reply: &Reply, kind: Kind) {
    let failure = parse(reply).map(|verdict| panic!("{}: {verdict:?}", reply.content)).unwrap_err();
    assert_eq!(failure.kind, kind, "{}: {failure}", reply.content);
}

#[test]
fn a_valid_answer_in_whatever_dress() {
    let verdict = is(&reply(r#"{"explanation": "so {\"answer\": 4}", "kind": "none", "answer": 0}"#), 0);
    assert_eq!((verdict.explanation.as_deref(), verdict.kind.as_deref()), (Some(r#"so {"answer": 4}"#), Some("none")));
    is(&reply("```json\n{\"answer\": 3}\n```"), 3);
    is(&reply("Here it is: {\"answer\":2} Thank you {for asking}."), 2);
    is(&reply("\u{feff}{\"answer\": 3.0}"), 3);
    is(&reply("<think>maybe {\"answer\": 0}</think>\n{\"answer\": 4}"), 4);
    is(&reply(r#"{"result": {"answer": 1}}"#), 1);
    is(&reply("{\"answer\": 2} or {\"answer\": 2}"), 2);
    assert!(is(&reply(r#"{"answer": "3"}"#), 3).is_coerced);
    assert!(is(&reply(r#"{"answer": " 3) Mostly unsupported"}"#), 3).is_coerced);
    let long = is(&reply(&format!(r#"{{"explanation": "{}", "answer": 1}}"#, "é".repeat(5000))), 1);
    assert!(long.is_cut && long.explanation.unwrap().chars().count() == 4000);
}

#[test]
fn quotes_are_those_of_the_claims() {
    let content =
        r#"{"claims": [{"claim": "a", "quote": " x = 1 "}, {"quote": ""}, {"quote": "none"}, 3], "answer": 1}"#;
    assert_eq!(is(&reply(content), 1).quotes, ["x = 1"]);
}

#[test]
fn what_is_no_score_is_malformed() {
    for answer in [
        "\"0-4\"",
        "true",
        "null",
        "2.5",
        "5",
        "-1",
        "-0",
        "[0]",
        "{}",
        "\"\"",
        "\"three\"",
        "\"30\"",
        "1e2",
        "\"4 of 4\"",
        // the digit stands elsewhere than the decoded string has it, within a letter of three bytes
        "\"\\t\u{3000}4\"",
        "\"\\u00344\"",
    ] {
        fails(&reply(&format!(r#"{{"answer": {answer}}}"#)), Kind::Malformed);
    }
    for content in ["4", "[4]", "The score is 4.", "{answer: 4}", "{'answer': 4}", r#"{"score": 4}"#, "{\"answer\": 4"]
    {
        fails(&reply(content), Kind::Malformed);
    }
    // keys twice, at the top and below; other verdicts; too deep
    fails(&reply(r#"{"answer": 0, "answer": 4}"#), Kind::Malformed);
    fails(&reply(r#"{"answer": 0, "claims": [{"quote": "a", "quote": "b"}]}"#), Kind::Malformed);
    fails(&reply(r#"The text holds {"answer": 0}, so: {"answer": 4}"#), Kind::Malformed);
    fails(&reply(r#"{"answer": 4} {"answer": "0-4"}"#), Kind::Malformed);
    fails(&reply(&format!(r#"{{"x": {}{}, "answer": 0}}"#, "[".repeat(17), "]".repeat(17))), Kind::Malformed);
    fails(&reply(&format!("{}{}", r#"{"answer": 0}"#, " ".repeat(70_000))), Kind::Malformed);
}

#[test]
fn an_envelope_says_more_than_its_content() {
    let ok = r#"{"answer": 0}"#;
    fails(&Reply { finish: Finish::ContentFilter, ..reply(ok) }, Kind::Filtered);
    fails(&Reply { refusal: Some("no".into()), ..reply(ok) }, Kind::Refused);
    fails(&Reply { has_tool_calls: true, ..reply(ok) }, Kind::Malformed);
    fails(&Reply { finish: Finish::NoAnswer, ..reply(ok) }, Kind::Malformed);
    fails(&reply(" \n\u{feff}"), Kind::Empty);
    for words in ["I'm sorry, but I can't judge this.", "I cannot help with that.", "Sorry, no.", "I am unable to."] {
        fails(&reply(words), Kind::Refused);
    }
    is(&reply("I'm sorry for the delay: {\"answer\": 1}"), 1);
    is(&Reply { finish: Finish::Other, ..reply(ok) }, 0);
}

#[test]
fn an_answer_that_ended_too_early() {
    fails(&cut(r#"{"explanation": "the line"#), Kind::Truncated);
    fails(&cut(r#"{"explanation": "the line", "answer"#), Kind::Truncated);
    // the digit may be the first of more
    fails(&cut(r#"{"explanation": "the line", "answer": 4"#), Kind::Truncated);
    fails(&cut("<think>is it {\"answer\": 3}?"), Kind::Truncated);
    fails(&reply("<think>is it {\"answer\": 3}?"), Kind::Malformed);
    fails(&cut(""), Kind::Truncated);
    let verdict = is(&cut(r#"{"answer": 3, "explanation": "the li"#), 3);
    assert!(verdict.is_cut && verdict.explanation.is_none());
    assert!(is(&cut(r#"{"answer": "2", "claims": [{"quote": "a, b"#), 2).is_cut);
    // a score inside a string, or of an object below, is not the answer's
    fails(&cut(r#"{"explanation": "{\"answer\": 0, ", "x": "#), Kind::Truncated);
    fails(&cut(r#"{"answer": 9, "explanation": "the li"#), Kind::Malformed);
}

/// Pieces of answers, so that what is drawn is often nearly one.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("\"answer\"".to_owned()),
        Just(": ".to_owned()),
        Just(", ".to_owned()),
        Just("\"explanation\": \"".to_owned()),
        Just("\\".to_owned()),
        Just("\\t".to_owned()),
        Just("\u{3000}".to_owned()),
        Just("\"".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just("<think>".to_owned()),
        Just("</think>".to_owned()),
        "[0-9.eE-]{1,3}",
        "\\PC{0,3}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn finishes() -> impl Strategy<Value = Finish> {
    prop_oneof![Just(Finish::Stop), Just(Finish::Length), Just(Finish::Other)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Whatever comes, there is no panic, and a verdict's score is a digit that stands where it is said to.
    #[test]
    fn nothing_makes_it_panic_or_guess(content in prop_oneof![pieces(), ".{0,200}"], finish in finishes()) {
        let reply = Reply { finish, ..reply(&content) };
        if let Ok(verdict) = parse(&reply) {
            prop_assert!(verdict.answer <= 4);
            prop_assert!(content[verdict.answer_at..].starts_with(&verdict.answer.to_string()));
            prop_assert!(content.contains("answer"));
        }
    }

    /// A valid answer is read wherever it is cut: before the score's value is over never, after it always as the same score.
    #[test]
    fn a_cut_never_changes_the_score(answer in 0u8..5, text in "\\PC{0,20}", at in 0usize..200, first: bool) {
        let text = serde_json::to_string(&text).unwrap();
        let whole = if first {
            format!(r#"{{"answer": {answer}, "explanation": {text}}}"#)
        } else {
            format!(r#"{{"explanation": {text}, "answer": {answer}}}"#)
        };
        let mut at = at.min(whole.len());
        while !whole.is_char_boundary(at) {
            at -= 1;
        }
        match parse(&cut(&whole[..at])) {
            Ok(verdict) => prop_assert_eq!(verdict.answer, answer),
            Err(failure) => prop_assert_eq!(failure.kind, Kind::Truncated),
        }
    }
}
