use super::*;

const PYTHON: &str = "@@ -10,6 +10,8 @@ class Renderer(Exporter):\n     def visible(self, plot):\n-        return unbound(plot.streams)\n+        # TODO: cache\n+        limit = max_rows(plot)\n+        return unbound(plot.streams, False)\n \n     @property\n     def size(self):\n         return self._size\n";
const RUST: &str = "@@ -1,2 +1,3 @@\n use std::mem;\n-let total_rows = count(&rows);\n+let n_rows = rows.len();\n+mem::swap(&mut a, &mut b);\n";
const JS: &str = "@@ -1,3 +1,3 @@\n const h = require('./h');\n-export function diffProps(newProps, oldProps) {\n+export function diffProps(newProps, oldProps, isSvg) {\n   for (let i in newProps) {}\n";

fn alignment(diff: &str, text: &str) -> Alignment {
    Alignment::new(&Diff::parse(diff).unwrap(), text)
}

fn found<'t>(diff: &str, text: &'t str) -> Vec<(&'t str, Found)> {
    let alignment = alignment(diff, text);
    let of = |m: &Mention| (&text[alignment.words.words[m.word].span.clone()], m.found.clone());
    alignment.mentions.iter().map(of).collect()
}

fn claimed(diff: &str, text: &str) -> Vec<(ClaimKind, Stance)> {
    alignment(diff, text).claims.iter().map(|claim| (claim.kind, claim.stance)).collect()
}

#[test]
fn names_are_found_as_written_in_pieces_and_respelt() {
    assert_eq!(
        found(PYTHON, "`plot.streams`, `plot.size` and `maxRows` but not `getSource` nor `ubound`"),
        [
            ("plot.streams", Found::Exactly),
            ("plot.size", Found::InPieces),
            ("maxRows", Found::SpeltAs("max_rows".into())),
            ("getSource", Found::Nowhere),
            ("ubound", Found::Near { name: "unbound".into(), distance: 1 }),
        ]
    );
    assert_eq!(found(RUST, "std::mem::swap"), [("std::mem::swap", Found::InPieces)]);
    assert_eq!(found(JS, "`diffChildren`"), [("diffChildren", Found::Parts(0.5))]);
    // a word of prose is found in any inflection, in comments and within names
    assert_eq!(found(PYTHON, "caching rows"), [("caching", Found::Exactly), ("rows", Found::Exactly)]);
    assert_eq!(found(PYTHON, "see line 12"), [("line", Found::Nowhere), ("12", Found::AsLineNumber)]);
}

#[test]
fn places_say_on_which_side() {
    let alignment = alignment(PYTHON, "`limit` `unbound` `size` `Renderer`");
    let places: Vec<[usize; 4]> = alignment
        .mentions
        .iter()
        .map(|m| [m.places.added, m.places.removed, m.places.context, m.places.header])
        .collect();
    assert_eq!(places, [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]);
    assert_eq!(alignment.mentions[1].places.lines, [2, 5]);
}

#[test]
fn claims_that_the_lines_refute_fail() {
    use ClaimKind::*;
    use Stance::*;
    // defined in the hunk, in three languages
    assert_eq!(claimed(PYTHON, "The variable `limit` is not defined."), [(Undefined, Fails)]);
    assert_eq!(claimed(RUST, "n_rows isn't defined anywhere"), [(Undefined, Fails)]);
    assert_eq!(claimed(JS, "The function diffProps is undefined."), [(Undefined, Fails)]);
    assert_eq!(claimed(PYTHON, "`max_rows` is not defined."), [(Undefined, Open)]);
    // what is there is not missing, and what is used is not unused
    assert_eq!(claimed(JS, "`isSvg` is missing"), [(Lacking, Fails)]);
    assert_eq!(claimed(JS, "newProps is not used"), [(Unused, Fails)]);
    assert_eq!(claimed(JS, "isSvg is never used"), [(Unused, Open)]);
    assert_eq!(claimed(PYTHON, "This is missing a return statement."), [(NoReturn, Fails)]);
    // a proposal that the new lines contain already, and one that they do not
    assert_eq!(claimed(RUST, "this should be `rows.len()`"), [(Proposal, Fails)]);
    assert_eq!(claimed(RUST, "this should be `rows.is_empty()`"), [(Proposal, Open)]);
    assert_eq!(claimed(PYTHON, "`a and b` -> `a and b`"), [(Replaced, Fails)]);
}

#[test]
fn added_removed_and_replaced_are_read_by_side() {
    use ClaimKind::*;
    use Stance::*;
    assert_eq!(claimed(RUST, "`n_rows` has been added"), [(Added, Holds)]);
    assert_eq!(claimed(RUST, "`n_rows` has been removed"), [(Removed, Fails)]);
    assert_eq!(claimed(RUST, "The removal of `total_rows` is fine"), [(Removed, Holds)]);
    assert_eq!(claimed(RUST, "`std` was added"), [(Added, Fails)]);
    assert_eq!(claimed(RUST, "total_rows was renamed to n_rows"), [(Replaced, Holds)]);
    assert_eq!(claimed(RUST, "renamed from n_rows to total_rows"), [(Replaced, Fails)]);
    assert_eq!(claimed(RUST, "Two lines were added."), [(LineCount, Holds)]);
    assert_eq!(claimed(RUST, "Three lines have been added"), [(LineCount, Fails)]);
    assert_eq!(claimed(RUST, "Previously n_rows was counted"), [(Before, Fails)]);
    assert_eq!(claimed(RUST, "Now `n_rows` is counted"), [(After, Holds)]);
    assert_eq!(claimed(RUST, "line too long (25 > 20 characters)"), [(LineLength, Fails)]);
    assert_eq!(claimed(RUST, "line too long (24 > 20 characters)"), [(LineLength, Holds)]);
}

#[test]
fn a_text_without_names_states_nothing() {
    assert!(claimed(PYTHON, "Why do we need this? It was added for no reason.").is_empty());
    assert!(claimed(PYTHON, "").is_empty());
}

#[test]
fn quotation_best_line_and_coverage_by_hand() {
    let alignment = alignment(RUST, "it says mem::swap(&mut a, &mut b) here");
    assert_eq!(alignment.longest_quotation, (5, Some(4)));
    assert_eq!(alignment.best_line.1, Some(4));
    // rare words of the changed lines: total, row, rows' key is the same, len, mem, swap, mut; count is common
    assert_eq!(alignment.coverage.1, 3, "{:?}", alignment.coverage);
    let none = Alignment::new(&Diff::parse(RUST).unwrap(), "ok");
    assert_eq!((none.longest_quotation, none.best_line, none.mentions.len()), ((0, None), (0.0, None), 0));
}

#[test]
fn grounded_text_has_larger_shares_than_text_about_another_change() {
    let about = "`limit` comes from max_rows(plot) and unbound gets False";
    let (own, other) = (PlainScores::new(PYTHON, about).unwrap(), PlainScores::new(JS, about).unwrap());
    let (own, other) = (own.grounding, other.grounding);
    assert!(own.words > 0.8 && other.words < 0.2, "{} {}", own.words, other.words);
    assert!(own.changed > other.changed && own.names_changed > other.names_changed);
    assert!(own.names_absent < other.names_absent && own.coverage > other.coverage);
}

#[test]
fn texts_without_anything_to_look_up_have_one_half() {
    let plain = PlainScores::new(PYTHON, "Why is that so?").unwrap();
    for share in [plain.grounding.words, plain.grounding.names, plain.grounding.numbers, plain.grounding.claims_balance]
    {
        assert_eq!(share, 0.5);
    }
    assert_eq!((plain.form.question, plain.form.why, plain.form.words), (1.0, 1.0, 4f64.ln_1p()));
}

#[test]
fn hostile_diffs_and_texts_give_finite_numbers() {
    let long = "x".repeat(100_000);
    let many: String = (0..3000).map(|i| format!("nameNumber{i} ")).collect();
    let code: String = (0..3000).map(|i| format!("+let otherName{i} = nameNumber{};\n", i * 7)).collect();
    let texts = ["", "\u{0}", "`", "```", "''''", "->", "from ` to `", "\u{202e}é`ü`é", long.as_str(), many.as_str()];
    for diff in ["+", "@@ @@\n+\n-", "+\u{feff}é\n-ü", code.as_str(), "+a.b.c.::..", "diff --git a/x b/x"] {
        for text in texts {
            let scores = PlainScores::new(diff, text).unwrap();
            let Grounding { words, changed, best_line, coverage, quotation, .. } = scores.grounding;
            for number in [words, changed, best_line, coverage, quotation, scores.form.word_length] {
                assert!(number.is_finite(), "{diff:.20} {text:.20}");
            }
        }
    }
}

#[test]
fn the_same_input_gives_the_same_evidence() {
    let text = "`ubound` and rowss, `max_row` in 12 lines; see h.js";
    let first = format!("{:?}", alignment(PYTHON, text));
    for _ in 0..5 {
        assert_eq!(format!("{:?}", alignment(PYTHON, text)), first);
    }
}

#[test]
fn weights_of_nothing_are_plainly_zero() {
    let grounding = Grounding::new(&Diff::parse("+a = 1").unwrap(), &alignment("+a = 1", "why?"));
    assert_eq!(grounding.changed_weight.to_bits(), 0.0f64.to_bits());
}
