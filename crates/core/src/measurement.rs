//! What a scorer read of a case, before any feature is made of it.

use std::{sync::Arc, time::Duration};

use veridiff_engine::reading::{
    attention::LayerAttention,
    attribution::Matrix,
    hidden::LayerStates,
    scores::{StepRanks, StepScores},
};
use veridiff_text::named;

use crate::{
    families::per_token::{TokenClass, classes},
    scorer::{Answer, ScoredEdit},
    side::PromptSide,
    tokens::Encoding,
};
use veridiff_facts::case::Case;

/// Everything that a scorer read of one case.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The change and the text that were read.
    pub case: Arc<Case>,
    /// The prompt and the text as the model's tokens, each with its part of the diff.
    pub encoding: Encoding,
    /// Scores of the T response tokens; none where the model itself was not asked
    /// ([`FeatureSet::needs_likelihood`](crate::families::catalogue::FeatureSet::needs_likelihood)).
    pub scores: StepScores,
    /// Which of them the means are over.
    pub counted: Vec<bool>,
    /// Their ranks, if a feature needs them.
    pub ranks: Option<StepRanks>,
    /// Attribution under the settings' fold, if a feature needs it.
    pub matrix: Option<Matrix>,
    /// Whether an encoder-decoder's attribution is to the prompt only, so that none of it is to earlier tokens.
    pub prompt_only: bool,
    /// The scores behind the prompt with one side of the diff, for each side that a feature needs and that can be read.
    pub sides: Vec<(PromptSide, StepScores)>,
    /// Edits of the text and what the model prefers, if a feature needs them.
    pub edits: Vec<ScoredEdit>,
    /// What the model's adapter says of the text, if a feature needs it.
    pub answer: Option<Answer>,
    /// Attention by groups of keys ([`crate::families::attention`]) of every layer, if a feature needs it.
    pub attention: Vec<LayerAttention>,
    /// The states of a few layers ([`crate::families::hidden`]), if a feature needs them.
    pub hidden: Vec<LayerStates>,
    /// How the attribution to earlier tokens of the text is aggregated.
    pub target_rule: TargetRule,
    /// Time in the model, without text handling.
    pub elapsed: Duration,
}

impl Measurement {
    /// What each of the response's tokens is part of.
    pub fn classes(&self) -> Vec<TokenClass> {
        classes(&self.encoding, self.case.text(), self.case.words())
    }

    /// The same of those that count.
    pub fn classes_counted(&self) -> Vec<TokenClass> {
        let of_tokens = self.counted.iter().zip(self.classes());
        of_tokens.filter(|(counted, _)| **counted).map(|(_, class)| class).collect()
    }
}

/// Whether an encoder-decoder's start token is an earlier token of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StartRow {
    /// It is not: nothing generated it.
    #[default]
    Exclude,
    /// It is, as in Inseq's matrix.
    Include,
}

/// What becomes of a target without earlier tokens, which the first one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstTarget {
    /// The first token counts with a share of zero.
    #[default]
    Zero,
    /// It is left out of the mean.
    Skip,
}

named!(StartRow, "start row", "exclude" => Exclude, "include" => Include);
named!(FirstTarget, "treatment of the first target", "zero" => Zero, "skip" => Skip);

/// How TargetAttr is taken where Eq. 6 leaves it open (specification, section 6, questions 7 and 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TargetRule {
    /// Which tokens are earlier ones.
    pub start_row: StartRow,
    /// What becomes of the first target, which has no earlier text to be attributed to.
    pub first_target: FirstTarget,
}
