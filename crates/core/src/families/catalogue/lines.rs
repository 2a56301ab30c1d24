//! Features of attribution over the lines of the diff.

use super::{Family, Feature, Origin};

const SHARE: &str = "0 to 1";

/// An entry for a field of [`crate::families::aggregate::lines::LineShape`].
macro_rules! lines {
    ($name:literal, $unit:expr, $meaning:literal, $field:ident) => {
        Feature {
            name: $name,
            family: Family::Lines,
            unit: $unit,
            meaning: $meaning,
            origin: Origin::Scorer(|m| m.lines.map(|lines| lines.$field)),
        }
    };
}

pub(super) const LINES: &[Feature] = &[
    lines!("lines_diff_share", SHARE, "mean share of the prompt's attribution that is on the diff", diff_share),
    lines!(
        "lines_changed_share",
        SHARE,
        "mean share of the diff's attribution that is on changed lines",
        changed_share
    ),
    lines!(
        "lines_changed_ratio",
        "logarithm",
        "of a changed token's attribution over an unchanged one's",
        changed_ratio
    ),
    lines!("lines_entropy", SHARE, "entropy of the diff's attribution over lines, 1 if spread evenly", line_entropy),
    lines!("lines_top", SHARE, "largest share of a line, all tokens of the text together", top_line),
    lines!("lines_top_excess", "-1 to 1", "that share less the line's share of the diff's tokens", top_line_excess),
    lines!("lines_focus", SHARE, "mean over the text's tokens of the largest share of a line", focus),
    lines!("lines_names_changed_share", SHARE, "as lines_changed_share, over tokens of names", names_changed_share),
    lines!("lines_names_diff_share", SHARE, "as lines_diff_share, over tokens of names", names_diff_share),
    lines!(
        "lines_agreement",
        "-1 to 1",
        "share on the lines that have the word, beyond their share of the tokens",
        agreement
    ),
];
