use std::{collections::BTreeMap, sync::Arc, time::Duration};

use base64::Engine;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::{explain::*, hidden::is_hidden};
use veridiff_core::families::catalogue::CATALOGUE;
use veridiff_core::{
    measurement::{Measurement, TargetRule},
    tokens::Boundary,
};
use veridiff_detector::{
    Bootstrap, DEFAULT_L2, Detector, EvalSettings, FitSettings, Gaps, Learner, fit_detector, labelled_rows,
};
use veridiff_engine::reading::{attribution::Matrix, scores::StepScores};
use veridiff_facts::{case::Case, checker::RuleChecker, finding::Likelier};
use veridiff_table::{Row, Table};
use veridiff_text::{diff::Diff, sample::Task};

/// A measurement of `diff` and `text` behind the prompt `see: `, in tokens that the bars of `diff` and `text` part; a token
/// between two bars alone is one more of the same bytes.
fn measurement(diff: &str, text: &str) -> (Sample, Focused) {
    let pieces: Vec<&str> = ["see: "].into_iter().chain(diff.split('|')).chain(text.split('|')).collect();
    let n_prompt = 1 + diff.split('|').count();
    let (diff, text) = (diff.replace('|', ""), text.replace('|', ""));
    let parsed = Diff::parse(&diff).unwrap();
    let start = "see: ".len();
    let (mut at, mut spans) = (0, Vec::<Range<usize>>::new());
    for piece in &pieces {
        // as the encoder has it: each part of a character has all of it
        let span = if piece.is_empty() { spans.last().cloned().unwrap_or(0..0) } else { at..at + piece.len() };
        at += piece.len();
        spans.push(span);
    }
    let in_diff = |i: usize| (1..n_prompt).contains(&i);
    let line = |i: usize| in_diff(i).then(|| parsed.line_at(spans[i].start - start)).flatten();
    let diff_lines: Vec<Option<usize>> = (0..spans.len()).map(line).collect();
    let changed: Vec<bool> =
        diff_lines.iter().map(|line| line.is_some_and(|line| parsed.lines()[line].kind.is_changed())).collect();
    let segments: Vec<Segment> = (0..spans.len())
        .map(|i| match i {
            0 => Segment::Instruction,
            i if in_diff(i) => Segment::Diff,
            _ => Segment::Response,
        })
        .collect();
    let n_response = pieces.len() - n_prompt;
    let column = |t: usize| {
        let raw: Vec<f64> = (0..n_prompt + t).map(|i| ((i * 7 + t * 3) % 5) as f64 + 0.25).collect();
        let sum: f64 = raw.iter().sum();
        raw.into_iter().map(|value| value / sum).collect()
    };
    let matrix = Matrix { n_prompt, columns: (0..n_response).map(column).collect(), start: Vec::new() };
    let scores = StepScores {
        logprob: (0..n_response).map(|t| -0.5 - t as f64).collect(),
        logit: (0..n_response).map(|t| 10.0 - t as f64).collect(),
        probability: (0..n_response).map(|t| (-0.5 - t as f64).exp()).collect(),
        entropy: (0..n_response).map(|t| 1.0 + t as f64 / 4.0).collect(),
    };
    let encoding = Encoding {
        text: pieces.concat(),
        diff: start..start + diff.len(),
        ids: (0..spans.len() as u32).collect(),
        spans,
        segments,
        changed,
        diff_lines,
        n_prompt,
        boundary: Boundary::Clean,
        n_cut: 0,
        doubled_bos: false,
        n_lost_bytes: 0,
    };
    let m = Measurement {
        case: Arc::new(Case::new(parsed.text(), text.as_str(), Task::Review).unwrap()),
        encoding,
        scores,
        counted: vec![true; n_response],
        matrix: Some(matrix),
        ranks: None,
        prompt_only: false,
        target_rule: TargetRule::default(),
        sides: Vec::new(),
        edits: Vec::new(),
        answer: None,
        attention: Vec::new(),
        hidden: Vec::new(),
        elapsed: Duration::from_millis(3),
    };
    (Sample::new("a-1", &diff, &text), Focused { case: Arc::clone(&m.case), measurement: m, focus: None })
}

fn explanation(diff: &str, text: &str) -> Explanation {
    let (sample, read) = measurement(diff, text);
    let settings = Settings::default();
    Explanation::new(&sample, "tiny", &settings, settings.provenance(), &read, finding(&sample))
}

/// The finding of rules alone.
fn finding(sample: &Sample) -> Finding {
    RuleChecker::default().check(sample)
}

const DIFF: &str = "@@ -3,2| +3,2 @@|\n| a|()\n|-b|ar|(|)\n|+b|az()|\n";
const TEXT: &str = "Renames| bar| to| baz|.";

fn plain(width: usize) -> Screen {
    Screen { width, colours: Colours::None }
}

#[test]
fn the_json_comes_back_as_it_was_and_has_its_fields() {
    let mut explanation = explanation(DIFF, TEXT);
    explanation.choose(1..2);
    let text = serde_json::to_string(&explanation).unwrap();
    // all but the text of the finding, which stands in the input
    let read = serde_json::from_str::<Explanation>(&text).unwrap();
    let finding = Finding { text: String::new(), ..explanation.finding.clone() };
    assert_eq!(read, Explanation { finding, ..explanation });
    let value: Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let documented = "schema_version id sample scorer settings n_prompt_tokens n_response_tokens n_cut_tokens boundary input \
                      finding token_ids tokens lines step counted attribution aggregates sources chosen features reference log_odds \
                      notes timing_ms";
    assert_eq!(keys.join(" "), documented);
    let line = json!({"kind": "removed", "old": 4, "new": null, "file": null, "text": "-bar()", "byte_start": 26, "byte_end": 32});
    for (key, want) in line.as_object().unwrap() {
        assert_eq!(&value["lines"][2][key], want, "{key}");
    }
    assert_eq!(value["input"].as_str().unwrap()[26..32], *"-bar()");
    assert_eq!(value["finding"]["verdict"], "clear");
    assert_eq!(value["finding"]["statements"][0]["byte_end"], TEXT.replace('|', "").len());
    assert_eq!(value["tokens"][1]["segment"], "diff");
    assert_eq!(value["features"][0]["column"], "logprob@tiny");
    assert_eq!(value["features"][0]["value"], -2.5);
}

#[test]
fn words_that_would_be_likelier_as_others_are_shown() {
    let mut explanation = explanation(DIFF, TEXT);
    explanation.finding.evidence.likelier = vec![Likelier {
        words: "baz".into(),
        byte_start: 15,
        byte_end: 18,
        instead: "a\u{202e}()".into(),
        margin: -2.0,
    }];
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["finding"]["evidence"]["likelier"].as_array().unwrap().len(), 1);
    assert_eq!(json["finding"]["evidence"]["likelier"][0]["words"], "baz");
    let page = terminal_page(&explanation, plain(80), Detail::Brief);
    assert!(page.contains("`baz` would be likelier as `a") && !page.contains('\u{202e}'), "{page}");
    let page = html_page(&explanation);
    assert!(page.contains("`baz` would be likelier as `a"), "the page's data has it");
}

#[test]
fn shares_are_of_everything_that_the_tokens_rest_on() {
    let explanation = explanation(DIFF, TEXT);
    for tokens in [vec![0], vec![1, 3], (0..5).collect()] {
        let shares = explanation.shares(&tokens).unwrap();
        let sources = explanation.sources_of(&tokens).unwrap();
        let parts = sources.parts;
        assert!((parts.changed + parts.unchanged_diff + parts.prompt + parts.text - 1.0).abs() < 1e-12);
        let of_lines = explanation.line_shares(&shares);
        assert!((of_lines.iter().sum::<f64>() - parts.changed - parts.unchanged_diff).abs() < 1e-12);
        assert!((of_lines[2] + of_lines[3] - parts.changed).abs() < 1e-12, "the changed lines");
        assert!(sources.lines.windows(2).all(|pair| pair[0].share >= pair[1].share));
        assert!((sources.lines[0].share - of_lines.iter().copied().fold(0.0, f64::max)).abs() < 1e-12);
    }
    // by hand: token 0 sees the prompt's 13 tokens, with 0.25 + (0, 2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, …)
    let n = explanation.n_prompt_tokens;
    let raw: Vec<f64> = (0..n).map(|i| ((i * 7) % 5) as f64 + 0.25).collect();
    let shares = explanation.shares(&[0]).unwrap();
    assert!((shares[2] - raw[2] / raw.iter().sum::<f64>()).abs() < 1e-12);
    assert_eq!(explanation.sources_of(&[0]).unwrap().parts.text, 0.0, "nothing of the text is before its first token");
    assert!(explanation.sources_of(&[4]).unwrap().parts.text > 0.0);
}

#[test]
fn phrases_are_found_in_the_text_alone() {
    let mut explanation = explanation(DIFF, TEXT);
    assert_eq!(explanation.text(), "Renames bar to baz.");
    assert_eq!(explanation.tokens_of("bar to"), Some(1..3));
    assert_eq!(explanation.tokens_of("names b"), Some(0..2));
    assert_eq!(explanation.tokens_of("."), Some(4..5));
    assert_eq!((explanation.tokens_of("see"), explanation.tokens_of("")), (None, None));
    explanation.choose(1..3);
    let chosen = explanation.chosen.unwrap();
    assert_eq!((chosen.text.as_str(), chosen.tokens), (" bar to", vec![1, 2]));
}

#[test]
fn lines_are_shown_whole_and_tokens_are_cut_to_them() {
    let explanation = explanation(DIFF, TEXT);
    let shown = explanation.shown_lines();
    for (line, shown) in explanation.lines.iter().zip(&shown) {
        let text: String = shown.read.iter().map(|piece| piece.text).collect();
        assert_eq!(text + shown.unread, line.text);
    }
    // `()` + line feed is the first line's token, the lone line feeds are shown as such
    assert_eq!(shown[1].read.iter().map(|piece| piece.text).collect::<Vec<_>>(), [" a", "()"]);
    assert!(shown[0].read[2].is_line_feed && shown[0].read[2].positions == (3..4), "{:?}", shown[0]);
    assert!(shown[3].read[2].is_line_feed);
    let pieces = explanation.shown_text();
    assert_eq!(pieces.iter().map(|piece| piece.text).collect::<String>(), explanation.text());
    assert!(pieces.iter().enumerate().all(|(t, piece)| piece.positions == (13 + t..14 + t)), "{pieces:?}");
}

#[test]
fn characters_are_never_split() {
    // an emoji of one character in three tokens, one joined of three characters, a letter with its accent apart
    let explanation = explanation("+|🎉||| |👩|\u{200d}|💻|e|\u{301}|x", "ok");
    let shown = explanation.shown_lines();
    let pieces: Vec<(&str, usize)> = shown[0].read.iter().map(|piece| (piece.text, piece.positions.len())).collect();
    assert_eq!(pieces, [("+", 1), ("🎉", 3), (" ", 1), ("👩\u{200d}💻", 3), ("e\u{301}", 2), ("x", 1)]);
}

#[test]
fn what_was_cut_is_shown_apart() {
    let (sample, mut read) = measurement(DIFF, TEXT);
    let m = &mut read.measurement;
    // the model read up to the middle of the removed line
    let cut = m.encoding.text.find("ar(").unwrap();
    m.encoding.diff.end = cut;
    m.encoding.n_cut = 5;
    for i in 1..m.encoding.n_prompt {
        if m.encoding.spans[i].start >= cut {
            m.encoding.segments[i] = Segment::Instruction;
            m.encoding.diff_lines[i] = None;
        }
    }
    let settings = Settings::default();
    let explanation = Explanation::new(&sample, "tiny", &settings, BTreeMap::new(), &read, finding(&sample));
    let shown = explanation.shown_lines();
    assert_eq!((shown[2].read[0].text, shown[2].unread), ("-b", "ar()"));
    assert_eq!((shown[3].read.len(), shown[3].unread, explanation.lines[3].byte_start), (0, "+baz()", None));
    assert!(explanation.notes[0].starts_with("5 tokens of the diff were cut"));
    let page = terminal_page(&explanation, plain(100), Detail::Full);
    assert!(page.lines().any(|line| line.trim_start().starts_with("unread ") && line.ends_with("+baz()")), "{page}");
}

#[test]
fn long_stretches_that_were_not_read_are_folded_away() {
    let rest: String = (0..30).map(|n| format!("+line {n}\n")).collect();
    let (sample, mut read) = measurement(&format!("{DIFF}@@ -9 +9,31 @@\n| c\n{rest}"), TEXT);
    // the model read the first hunk alone
    let m = &mut read.measurement;
    let end = m.encoding.text.find("@@ -9").unwrap();
    m.encoding.diff.end = end;
    m.encoding.n_cut = 5;
    for i in 1..m.encoding.n_prompt {
        if m.encoding.spans[i].start >= end {
            m.encoding.segments[i] = Segment::Instruction;
            m.encoding.diff_lines[i] = None;
        }
    }
    let settings = Settings::default();
    let mut explanation = Explanation::new(&sample, "tiny", &settings, BTreeMap::new(), &read, finding(&sample));
    let folds = explanation.folds();
    assert_eq!(folds.len(), 1);
    assert!(folds[0].len() > 25 && folds[0].end == explanation.lines.len(), "{folds:?}");
    explanation.choose(1..2);
    let page = terminal_page(&explanation, plain(100), Detail::Brief);
    assert!(page.contains("lines that the model did not read") && !page.contains("line 20"), "{page}");
    assert!(page.contains("+baz()"), "{page}");
    let html = html_page(&explanation);
    assert!(html.contains("lines that the model did not read") && !html.contains("line 20"));
}

/// A diff that tries everything.
fn hostile() -> Explanation {
    let long = format!("+{}", "long ".repeat(1000));
    let diff = format!(
        "@@ -1,1| +1,5 @@\n-|\tb\u{1b}]0;title\u{7}|\n+\u{1b}[31m|red</script>|<b>&amp;\r\n+\u{202e}ad|min\u{2066} \u{200b}x\n\
         +日本語の|コメント👩\u{200d}💻 שלום| עולם\u{9b}2J\n{long}|\n+\u{2028}\u{e0041}"
    );
    explanation(&diff, "see \u{1b}[2J|\u{202e}this| </script>\n\nand| 日本語")
}

fn is_raw(c: char) -> bool {
    c != '\n' && is_hidden(c)
}

#[test]
fn a_terminal_page_drives_nothing_and_keeps_its_width() {
    for mut explanation in [explanation(DIFF, TEXT), hostile()] {
        for chosen in [false, true] {
            if chosen {
                explanation.choose(1..3);
            }
            for width in [40, 57, 80, 120] {
                for detail in [Detail::Brief, Detail::Full] {
                    let page = terminal_page(&explanation, plain(width), detail);
                    assert!(!page.contains(is_raw), "{page:?}");
                    for line in page.lines() {
                        assert!(line.width() <= width, "{} columns, {width} wanted: {line}", line.width());
                    }
                }
                for colours in [Colours::Ansi256, Colours::TrueColor] {
                    let styled = terminal_page(&explanation, Screen { width, colours }, Detail::Full);
                    let code =
                        if colours == Colours::TrueColor { "\u{1b}[38;5;231m\u{1b}[48;2;" } else { "\u{1b}[48;5;" };
                    assert!(styled.contains("\u{1b}[") && styled.contains(&code[code.len() - 7..]), "{styled:?}");
                    let stripped = anstream::adapter::strip_str(&styled).to_string();
                    assert!(!stripped.contains(is_raw), "{stripped:?}");
                    assert!(stripped.lines().all(|line| line.width() <= width), "{stripped}");
                }
            }
        }
    }
    let page = terminal_page(&hostile(), plain(100), Detail::Full);
    for shown in [
        "-→   b\\u{1b}]0;title",
        "red</script><b>&amp;\\r",
        "\\u{202e}admin\\u{2066}",
        "日本語のコメント👩\u{200d}💻 שלום",
        " characters",
    ] {
        assert!(page.contains(shown), "{shown} is not in {page}");
    }
}

#[test]
fn marks_bars_and_brackets_do_without_colours() {
    let mut explanation = explanation(DIFF, TEXT);
    let brief = terminal_page(&explanation, plain(100), Detail::Brief);
    assert!(!brief.contains(['█', '^']) && !brief.contains("token by token") && brief.contains("--phrase"), "{brief}");
    let page = terminal_page(&explanation, plain(100), Detail::Full);
    assert!(
        page.contains('█') && page.lines().any(|line| line.trim_start().starts_with('┊') && line.ends_with('^')),
        "{page}"
    );
    explanation.choose(explanation.tokens_of("bar").unwrap());
    let page = terminal_page(&explanation, plain(100), Detail::Brief);
    assert!(page.contains("Token 2, ` bar`, rests on: changed lines ") && page.contains("Renames⟦ bar⟧ to"), "{page}");
    let rows = page.split("token by token").nth(1).unwrap().split("\n\n").next().unwrap();
    assert_eq!(rows.matches('`').count(), 4, "one row, of the chosen token: {rows}");
}

#[test]
fn the_html_page_holds_the_data_and_nothing_that_is_markup() {
    let mut explanation = hostile();
    explanation.choose(1..2);
    let page = html_page(&explanation);
    assert!(!page.contains(is_raw), "hidden characters are escapes");
    assert_eq!(page.matches("</script>").count(), 2, "the data's and the script's own ends");
    let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    let lines = data["lines"].as_array().unwrap();
    assert_eq!(lines.len(), explanation.lines.len());
    for (line, want) in lines.iter().zip(&explanation.lines) {
        let pieces = line["u"].as_array().unwrap().iter();
        let text: String = pieces.map(|piece| piece.as_str().or(piece[0].as_str()).unwrap()).collect();
        assert_eq!(text, want.text);
    }
    assert_eq!(data["chosen"], json!([1, 1]));
    assert_eq!(data["kinds"].as_str().unwrap().len(), explanation.tokens.len());
    // a byte is the root of a part: within half a step of it
    for t in 0..explanation.n_response_tokens {
        let bytes = base64::engine::general_purpose::STANDARD.decode(data["columns"][t].as_str().unwrap()).unwrap();
        let largest = data["scales"][t].as_f64().unwrap();
        assert_eq!(bytes.len(), explanation.n_prompt_tokens + t);
        for (i, byte) in bytes.into_iter().enumerate() {
            let want = explanation.attribution.as_ref().unwrap()[i][t].unwrap().abs();
            let root = (want / largest).sqrt();
            assert!((f64::from(byte) / 255.0 - root).abs() <= 0.5 / 255.0 + 1e-6, "[{i}][{t}]: {byte} for {root}");
        }
    }
}

/// Rows `logprob@tiny` of -4 to -1, the higher half hallucinated, `similarity@enc` beside it.
fn table() -> Table {
    let row = |i: usize| -> Row {
        let object = json!({"id": format!("a-{i}"), "group": format!("g{i}"), "label": u8::from(i >= 20),
            "logprob@tiny": -4.0 + i as f64 / 13.0, "similarity@enc": (i % 7) as f64});
        object.as_object().unwrap().clone()
    };
    Table::from_rows(&(0..40).map(row).collect::<Vec<_>>(), &BTreeMap::from([("fold".into(), "dot".into())])).unwrap()
}

fn detector(table: &Table, features: &[&str]) -> Detector {
    let features: Vec<String> = features.iter().map(|name| (*name).to_owned()).collect();
    let eval = EvalSettings {
        n_folds: 5,
        l2: DEFAULT_L2,
        learner: Learner::Logistic,
        bootstrap: Bootstrap { n_resamples: 0, seed: 0 },
    };
    let settings = FitSettings::new(eval, table.metadata().clone());
    fit_detector(&labelled_rows(table, &CATALOGUE, &features, &[], Gaps::LeftOut).unwrap(), settings).unwrap().detector
}

fn feature<'a>(explanation: &'a Explanation, column: &str) -> &'a FeatureValue {
    explanation.features.iter().find(|feature| feature.column == column).unwrap()
}

#[test]
fn a_table_says_where_features_fall_and_lends_its_row() {
    let mut explanation = explanation(DIFF, TEXT);
    assert_eq!(feature(&explanation, "similarity").value, None);
    explanation.compare(&table(), "t.csv").unwrap();
    // -2.5 is half way from -4 to -1
    assert!((feature(&explanation, "logprob@tiny").percentile.unwrap() - 50.0).abs() < 1e-6);
    // row `a-1` has 1 of 0 to 6
    let similarity = feature(&explanation, "similarity@enc");
    assert_eq!((similarity.value, similarity.family.as_deref()), (Some(1.0), Some("similarity")));
    assert!(similarity.percentile.is_some_and(|percentile| percentile > 5.0 && percentile < 40.0));
    assert!(explanation.features.iter().all(|feature| feature.column != "similarity"), "its line was given away");
    assert_eq!(feature(&explanation, "entropy@tiny").percentile, None);
    assert_eq!(explanation.reference, Some(ComparedRows { rows: "rows of `t.csv`".into(), n_rows: 40 }));
    assert!(
        explanation.notes.iter().any(|note| note.contains("`fold` is `l2` here, but `dot`")),
        "{:?}",
        explanation.notes
    );
}

#[test]
fn contributions_add_up_to_the_detectors_probability() {
    let table = table();
    let mut explanation = explanation(DIFF, TEXT);
    let one = detector(&table, &["logprob@tiny"]);
    explanation.finding.p_detector = Some(one.probability(&[-2.5]));
    explanation.finding.threshold = Some(one.objects_from());
    let (id, sha256) = (one.id().to_owned(), one.sha256().to_owned());
    explanation.finding.detector = Some(veridiff_facts::finding::DetectorName { id, sha256 });
    explanation.add_detector(&one);
    let odds = explanation.log_odds.unwrap();
    let logprob = feature(&explanation, "logprob@tiny");
    assert!((odds.intercept + logprob.contribution.unwrap() - odds.sum).abs() < 1e-12);
    // from the quantiles that the detector keeps
    assert!((logprob.percentile.unwrap() - 50.0).abs() < 1e-4, "{:?}", logprob.percentile);
    assert!(explanation.reference.as_ref().is_some_and(|r| r.n_rows == 40 && r.rows.contains(one.id())));
    for width in [40, 100] {
        let page = terminal_page(&explanation, plain(width), Detail::Full);
        assert!(page.contains("doubtful: ") && page.contains("of 100"), "{page}");
        assert!(page.lines().all(|line| line.width() <= width), "{page}");
        // what the detector does not use is said to be there, and is not listed
        assert!(page.contains("logprob") && !page.contains("ground_") && page.contains("more features"), "{page}");
    }
    assert!(html_page(&explanation).contains(&format!("\"detector {}\"", one.id())));

    // a feature that the sample lacks: what the others contribute is shown, and no sum
    let two = detector(&table, &["logprob@tiny", "similarity@enc"]);
    let mut lacking = super::tests::explanation(DIFF, TEXT);
    lacking.add_detector(&two);
    assert!(lacking.log_odds.is_none() && feature(&lacking, "logprob@tiny").contribution.is_some());
}
