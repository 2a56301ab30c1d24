//! What a language model that was asked says of a text: the columns of `judge`, for those who fit and evaluate.

use super::family::{Compute, Family, Feature};

/// The source of these features: a judge, which `veridiff judge` asks.
pub const JUDGE: &str = "judge";

/// What the numbers hang on: who answers, what is asked, and how the score is read.
const HANGS_ON: &[&str] = &[
    "backend@",
    "weights@",
    "chat@",
    "base_url@",
    "asked_model@",
    "model@",
    "prompts_sha256@",
    "reading@",
    "threshold@",
    "temperature@",
];

const SCORE: &str = "0 to 4";
const SHARE: &str = "0 to 1";

/// The features of one strategy.
macro_rules! strategy {
    ($($name:literal),*) => {
        [$(
            Feature::new(concat!("judge_", $name), SCORE, concat!("the score by the strategy ", $name), JUDGE, HANGS_ON),
            Feature::new(
                concat!("judge_", $name, "_p"),
                SHARE,
                concat!("probability that the score by ", $name, " is at least the threshold"),
                JUDGE,
                HANGS_ON,
            ),
            Feature::new(
                concat!("judge_", $name, "_entropy"),
                "nats, 0 to ln 5",
                concat!("how undecided the score by ", $name, " is"),
                JUDGE,
                HANGS_ON,
            ),
            Feature::new(
                concat!("judge_", $name, "_mass"),
                SHARE,
                concat!("probability of the five digits together by ", $name),
                JUDGE,
                HANGS_ON,
            ),
            Feature::new(
                concat!("judge_", $name, "_quotes"),
                SHARE,
                concat!("share of the quotes by ", $name, " that stand in the diff"),
                JUDGE,
                HANGS_ON,
            ),
            Feature::new(
                concat!("judge_", $name, "_sd"),
                SCORE,
                concat!("deviation of the repeats' scores by ", $name),
                JUDGE,
                HANGS_ON,
            ),
            Feature::new(
                concat!("judge_", $name, "_flip"),
                SHARE,
                concat!("share of the repeats by ", $name, " that are not of the majority"),
                JUDGE,
                HANGS_ON,
            ),
        )*]
    };
}

/// The family `judge`.
pub static FAMILY: Family = Family {
    name: "judge",
    needs_reference: false,
    is_default: false,
    features: || {
        let of_strategies = strategy!("direct", "few_shot", "multi_step", "tree");
        let of_panel = [
            Feature::new("judge_mean", SCORE, "the mean of the strategies' scores", JUDGE, HANGS_ON),
            Feature::new("judge_max", SCORE, "the highest of the strategies' scores", JUDGE, HANGS_ON),
            Feature::new("judge_votes", "count", "how many strategies flag", JUDGE, HANGS_ON),
        ];
        of_strategies.into_iter().chain(of_panel).collect()
    },
    compute: Compute::Source,
};
