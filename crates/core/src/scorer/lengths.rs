//! How long the readings of a sample are, before any of them.

use veridiff_engine::plan::Lengths;
use veridiff_text::sample::Sample;

use super::Scorer;
use crate::{Error, Result, settings::Settings};
use veridiff_facts::case::Case;

/// What a scorer will read of a sample.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    /// The tokens of the prompt, by which samples are told apart that share one.
    pub(crate) prompt: Vec<u32>,
    /// How long prompt and text are.
    pub(crate) lengths: Lengths,
    /// The prompts with one side of the diff behind which the text is scored too.
    pub(crate) sides: Vec<Vec<u32>>,
}

impl Scorer {
    /// The tokens that [`Scorer::measure`] will read.
    ///
    /// # Errors
    /// Those of reading the diff and of [`Scorer::encode`].
    pub(crate) fn readings(&self, sample: &Sample, settings: &Settings) -> Result<Readings> {
        let case = Case::of_sample(sample).map_err(Error::from)?;
        let encoding = self.encode(case.diff(), case.text(), case.task(), settings)?;
        let of_side = |&side| self.side_prompt(side, case.diff(), &encoding, case.task(), settings).transpose();
        let sides = settings.features.needs().sides.iter().filter_map(of_side).collect::<Result<_>>()?;
        let lengths = Lengths { n_prompt: encoding.n_prompt, n_response: encoding.n_response() };
        Ok(Readings { prompt: encoding.ids[..encoding.n_prompt].to_vec(), lengths, sides })
    }
}
