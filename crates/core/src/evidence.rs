//! What speaks for a detector's probability, in words, lines and features, and in what a text is unlike the detector's training rows.

use veridiff_detector::{Detector, Member};
use veridiff_facts::finding::{Contribution, DetectorName, Finding, Likelier, MAX_EVIDENCE, RestsOn, SurprisingWord};
use veridiff_table::{Row, catalogue::element_of};
use veridiff_text::sample::Sample;

use crate::{focus::Focused, measurement::Measurement, scorer::ScoredEdit, tokens::Segment};

/// Log-probability below which a word counts as surprising: the model gave it less than one chance in a thousand.
const SURPRISING_LOGPROB: f64 = -6.9;

/// A finding about a sample without a verdict yet, which names the detector.
pub(crate) fn of_detector(sample: &Sample, detector: &Detector) -> Finding {
    Finding {
        threshold: Some(detector.objects_from()),
        detector: Some(DetectorName { id: detector.id().to_owned(), sha256: detector.sha256().to_owned() }),
        ..Finding::new(sample)
    }
}

/// What every note says of a text that is unlike those of a detector's training.
const LEARNT_FROM: &str = "the detector learnt from";

/// Whether a finding's notes say that the text, its change or a value of a feature is unlike the training rows of the detector that was asked.
pub fn is_unlike_training(finding: &Finding) -> bool {
    finding.notes.iter().any(|note| note.contains(LEARNT_FROM))
}

/// The words of a text that the model would rather have read otherwise, the least likely first: of edits that meet in the text only
/// the likeliest.
pub(crate) fn likelier(text: &str, edits: &[ScoredEdit]) -> Vec<Likelier> {
    let mut preferred: Vec<&ScoredEdit> = edits.iter().filter(|edit| edit.margin < 0.0).collect();
    preferred.sort_by(|a, b| a.margin.total_cmp(&b.margin));
    let mut found: Vec<Likelier> = Vec::new();
    for ScoredEdit { span, with, margin, .. } in preferred {
        let meets = |known: &Likelier| span.start <= known.byte_end && known.byte_start <= span.end;
        let Some(words) = text.get(span.clone()).filter(|_| !found.iter().any(meets)) else { continue };
        found.push(Likelier {
            words: words.to_owned(),
            byte_start: span.start,
            byte_end: span.end,
            instead: with.clone(),
            margin: *margin,
        });
    }
    found.truncate(MAX_EVIDENCE);
    found
}

/// Words (runs without white space) whose least likely token is below [`SURPRISING_LOGPROB`].
pub(crate) fn surprising(m: &Measurement) -> Vec<SurprisingWord> {
    let e = &m.encoding;
    let Some(start) = e.spans.get(e.n_prompt..).and_then(|spans| spans.iter().map(|span| span.start).min()) else {
        return Vec::new();
    };
    let mut words: Vec<SurprisingWord> = Vec::new();
    for (t, &logprob) in m.scores.logprob.iter().enumerate() {
        let Some(span) = e.spans.get(e.n_prompt + t) else { break };
        let Some(token) = e.text.get(span.clone()) else { continue };
        if logprob > SURPRISING_LOGPROB || !token.contains(char::is_alphanumeric) {
            continue;
        }
        // the whole word around the token
        let from = span.start + (token.len() - token.trim_start().len());
        let before = e.text.get(start..from).unwrap_or("");
        let word_start = start
            + before
                .rfind(char::is_whitespace)
                .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let after = e.text.get(from..).unwrap_or("");
        let word_end = from + after.find(char::is_whitespace).unwrap_or(after.len());
        let Some(word) = e.text.get(word_start..word_end) else { continue };
        match words.iter_mut().find(|known| known.byte_start == word_start - start) {
            Some(known) => known.logprob = known.logprob.min(logprob),
            None => words.push(SurprisingWord {
                word: word.to_owned(),
                byte_start: word_start - start,
                byte_end: word_end - start,
                logprob,
            }),
        }
    }
    words.sort_by(|a, b| a.logprob.total_cmp(&b.logprob));
    words.truncate(MAX_EVIDENCE);
    words
}

/// The lines of the diff with the largest shares of the attribution's magnitude.
pub(crate) fn rests_on(read: &Focused) -> Vec<RestsOn> {
    let (m, whole) = (&read.measurement, read.case.diff());
    let Some(matrix) = &m.matrix else { return Vec::new() };
    let e = &m.encoding;
    let mut of_line = vec![0.0; m.case.diff().lines().len()];
    for column in &matrix.columns {
        for (i, value) in column.iter().enumerate().take(e.n_prompt) {
            if let (Segment::Diff, Some(line)) = (e.segments[i], e.diff_lines[i]) {
                of_line[line] += value.abs();
            }
        }
    }
    let total = of_line.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut most: Vec<usize> = (0..of_line.len()).filter(|&line| of_line[line] > 0.0).collect();
    most.sort_by(|&a, &b| of_line[b].total_cmp(&of_line[a]));
    most.truncate(MAX_EVIDENCE);
    let line = |index: usize| {
        let in_whole = read.line(index);
        RestsOn {
            diff_line: in_whole + 1,
            text: whole.line_text(in_whole).trim_end().to_owned(),
            changed: whole.lines()[in_whole].kind.is_changed(),
            share: of_line[index] / total,
        }
    };
    most.into_iter().map(line).collect()
}

pub(crate) fn contributions(detector: &Detector, values: &[f64]) -> Vec<Contribution> {
    let named = detector.features.iter().zip(values).zip(detector.contributions(values));
    let mut parts: Vec<Contribution> = Vec::new();
    for ((f, &value), log_odds) in named.filter(|((_, value), _)| !value.is_nan()) {
        // the elements of a list are one thing to a reader, and stand one behind the other
        let (feature, value) = match element_of(&f.name) {
            Some((list, _)) => (list, None),
            None => (f.name.as_str(), Some(value)),
        };
        match parts.last_mut().filter(|last| value.is_none() && last.feature == feature) {
            Some(last) => last.log_odds += log_odds,
            None => parts.push(Contribution { feature: feature.to_owned(), value, log_odds }),
        }
    }
    parts.sort_by(|a, b| b.log_odds.abs().total_cmp(&a.log_odds.abs()));
    parts.truncate(MAX_EVIDENCE);
    parts
}

/// In what a text is unlike those that a detector learnt from, one sentence each: the kinds and lengths among the columns of its row, its
/// features' `values`, and what a stack lacks.
pub fn unlike_training(detector: &Detector, row: &Row, values: &[f64]) -> Vec<String> {
    let mut notes = detector.training.domain.differences(row);
    notes.extend(range_note(detector, values));
    notes.extend(absent_notes(detector, values));
    notes
}

/// Standard deviations from the training mean beyond which a value is unlike the training rows.
const UNLIKE: f64 = 4.0;
/// How many are named beside the farthest: a detector of hidden states has a thousand.
const NAMED: usize = 3;

/// What a reader should know about values that the detector was not trained on: the value that is farthest away, and which others are
/// outside too.
fn range_note(detector: &Detector, values: &[f64]) -> Option<String> {
    let far = |(f, &value): (&veridiff_detector::DetectorFeature, &f64)| {
        // quantiles from 0 to 100%: a value that some row had is not strange, however rare
        let (least, lies, most) = match f.quantiles[..] {
            [least, .., most] => (least, "lies", most),
            _ => (f.mean - UNLIKE * f.scale, "mostly lies", f.mean + UNLIKE * f.scale),
        };
        let distance = ((value - f.mean) / f.scale).abs();
        // what is kept of the training rows is rounded
        let slack = 1e-3 * (most - least);
        let is_unlike = distance > UNLIKE && !(least - slack..=most + slack).contains(&value);
        is_unlike.then(|| {
            let range = format!("`{}` is {value:.3} and {lies} between {least:.3} and {most:.3}", f.name);
            (distance, range, f.name.clone())
        })
    };
    let mut all: Vec<(f64, String, String)> = detector.features.iter().zip(values).filter_map(far).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let ((_, farthest, _), others) = all.split_first()?;
    let names: Vec<String> = others.iter().take(NAMED).map(|(.., name)| format!("`{name}`")).collect();
    let others = match (&names[..], others.len().saturating_sub(NAMED)) {
        ([], _) => String::new(),
        ([one], 0) => format!(", and {one} is outside too"),
        (some, 0) => format!(", and {} are outside too", some.join(", ")),
        (some, more) => format!(", and {} and {more} more are outside too", some.join(", ")),
    };
    Some(format!("{farthest} in the texts that the detector learnt from{others}, so its probability says less"))
}

/// What a stack lacks of its members, and what they are worth to it.
fn absent_notes(detector: &Detector, values: &[f64]) -> Vec<String> {
    let Some(stack) = detector.model().stack() else { return Vec::new() };
    let auc = |auc: Option<f64>| auc.map_or("unknown".to_owned(), |auc| format!("{auc:.2}"));
    let note = |member: &Member| {
        let (without, with) = (auc(member.auc_without), auc(stack.auc));
        format!(
            "judged without `{}`, which has no value: out of fold the AUC is {without} so, {with} with it",
            member.family
        )
    };
    stack.absent(values).into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use veridiff_facts::edits::EditKind;

    #[test]
    fn of_words_that_meet_the_likeliest_is_told() {
        let text = "`load` raises nothing now.";
        let edit = |span, with: &str, margin| ScoredEdit {
            kind: EditKind::Direction,
            span,
            with: with.to_owned(),
            margin,
            prior: 0.0,
        };
        let edits = [
            edit(1..5, "fetch", -0.5),
            edit(7..13, "returns", -2.0),
            edit(1..5, "store", -1.0),
            edit(1..5, "limit", 3.0),
            edit(22..22, " not", -0.1),
        ];
        let says: Vec<String> = likelier(text, &edits).iter().map(Likelier::says).collect();
        let want = [
            "`raises` would be likelier as `returns`",
            "`load` would be likelier as `store`",
            "it would be likelier with `not`",
        ];
        assert_eq!(says, want);
        let without =
            Likelier { words: "not".into(), byte_start: 0, byte_end: 3, instead: String::new(), margin: -1.0 };
        assert_eq!(without.says(), "it would be likelier without `not`");
    }

    #[test]
    fn every_note_about_training_rows_is_known_for_one() {
        let detector = veridiff_detector::shipped::default_for(veridiff_text::sample::Task::Review);
        let far = vec![1e9; detector.features.len()];
        let row: Row = [("language".to_owned(), Value::from("cobol"))].into_iter().collect();
        // of all that is outside the farthest is told with its range, three by name, and how many more there are
        let note = range_note(&detector, &far).unwrap();
        assert_eq!(note.matches("between").count(), 1, "{note}");
        assert!(note.contains(&format!("and {} more are outside", detector.features.len() - 1 - NAMED)), "{note}");
        let sample = Sample::new("a", "@@ -1 +1 @@\n-a\n+b\n", "x");
        for note in detector.training.domain.differences(&row).into_iter().chain([note]) {
            let finding = Finding { notes: vec![note], ..of_detector(&sample, &detector) };
            assert!(is_unlike_training(&finding), "{:?}", finding.notes);
        }
        let plain = Finding { notes: vec!["a part of the change was read".to_owned()], ..Finding::new(&sample) };
        assert!(!is_unlike_training(&plain));
    }
}
