//! What a detector's opinion makes of a text that the facts leave clear.

use veridiff_detector::Leaning;
use veridiff_facts::judge::{Judgement, Standing};
use veridiff_facts::verdict::{DetectorDecision, Verdict, of_text};
use veridiff_text::{diff::Diff, sample::Task};

const DIFF: &str = "--- a/box.py\n+++ b/box.py\n@@ -1,2 +1,3 @@\n import os\n-def pack(box, size=3):\n+def pack(box, size=8):\n+    box.seal(size)\n";

fn judgement(text: &str, standing: Standing) -> Judgement {
    let judgement = Judgement::of(&Diff::parse(DIFF).unwrap(), text, Task::Review);
    assert_eq!(judgement.statements[0].standing(), Some(standing), "{text}");
    judgement
}

/// A detector's decision with this probability.
fn decision(leaning: Leaning, p: f64, is_taught: bool) -> DetectorDecision {
    DetectorDecision { p, flags: leaning == Leaning::Unsupported, supports: leaning == Leaning::Supported, is_taught }
}

fn verdict(judgement: &Judgement, leaning: Leaning, p: f64) -> Verdict {
    of_text(judgement, Some(decision(leaning, p, false))).verdict
}

#[test]
fn names_alone_clear_nothing_that_is_rather_false() {
    let named = judgement("The `box` and its `size`.", Standing::Named);
    assert_eq!(of_text(&named, None).verdict, Verdict::Clear);
    assert_eq!(verdict(&named, Leaning::Abstain, 0.49), Verdict::Clear);
    for (leaning, p) in [(Leaning::Abstain, 0.5), (Leaning::Unsupported, 0.9), (Leaning::Unsupported, 0.3)] {
        assert_eq!(verdict(&named, leaning, p), Verdict::Abstain, "{leaning:?} {p}");
    }
    let decided = of_text(&named, Some(decision(Leaning::Abstain, 0.6, false)));
    assert!(decided.reason.unwrap().contains("rather false than true"));
}

#[test]
fn what_a_line_confirms_stays_clear() {
    let confirmed = judgement("`size` is 8 now.", Standing::Confirmed);
    assert_eq!(verdict(&confirmed, Leaning::Unsupported, 0.95), Verdict::Clear);
    // and what a line contradicts stays contradicted
    let contradicted = judgement("`size` is 3 now.", Standing::Contradicted);
    assert_eq!(verdict(&contradicted, Leaning::Supported, 0.01), Verdict::Contradicted);
}

#[test]
fn a_detector_that_was_taught_truth_accuses_what_is_named_rightly() {
    let of = |judgement: &Judgement, leaning| of_text(judgement, Some(decision(leaning, 0.9, true))).verdict;
    let named = judgement("The `box` and its `size`.", Standing::Named);
    assert_eq!(of(&named, Leaning::Unsupported), Verdict::Unsupported);
    assert_eq!(of(&named, Leaning::Abstain), Verdict::Abstain);
    assert_eq!(of(&judgement("`size` is 8 now.", Standing::Confirmed), Leaning::Unsupported), Verdict::Clear);
    assert_eq!(of(&judgement("`size` is 3 now.", Standing::Contradicted), Leaning::Supported), Verdict::Contradicted);
}

#[test]
fn names_alone_clear_nothing_that_a_taught_detector_does_not_call_supported() {
    let of = |judgement: &Judgement, leaning, p| of_text(judgement, Some(decision(leaning, p, true)));
    let named = judgement("The `box` and its `size`.", Standing::Named);
    assert_eq!(of(&named, Leaning::Supported, 0.1).verdict, Verdict::Clear);
    let unsure = of(&named, Leaning::Abstain, 0.3);
    assert_eq!(unsure.verdict, Verdict::Abstain);
    assert!(unsure.reason.unwrap().contains("not sure enough"));
    assert_eq!(of(&judgement("`size` is 8 now.", Standing::Confirmed), Leaning::Abstain, 0.3).verdict, Verdict::Clear);
}
