//! How intervals are drawn.

use veridiff_suites::resample::RESAMPLES;

/// How intervals are drawn.
#[derive(Debug, clap::Args)]
pub struct ResampleArgs {
    /// Draw the changes anew N times for the intervals
    #[arg(long, value_name = "N", default_value_t = RESAMPLES)]
    pub resamples: usize,
    /// Seed of those draws
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}
