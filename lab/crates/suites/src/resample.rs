//! Intervals by drawing groups anew: rows of one pull request hang together, so whole pull requests are drawn, and a ratio is taken
//! after its sums were.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use veridiff_detector::{Interval, quantile};

/// How often groups are drawn unless asked otherwise.
pub const RESAMPLES: usize = 2000;

/// A figure with its 95% interval; neither where there is nothing to compute it from.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure.
    pub value: Option<f64>,
    /// The 2.5% and 97.5% quantiles of the resamples, widened to hold the figure.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
}

impl Estimate {
    /// A figure without an interval.
    pub fn exact(value: Option<f64>) -> Estimate {
        Estimate { value, low: None, high: None }
    }

    /// A figure with the interval that is known of it.
    pub fn with(value: Option<f64>, interval: Option<Interval>) -> Estimate {
        Estimate { value, low: interval.map(|i| i.low), high: interval.map(|i| i.high) }
    }
}

/// How often each group stands in each resample: drawn once, so that everything that is compared is drawn alike.
#[derive(Debug, Clone)]
pub struct Draws {
    /// A row a resample, a count a group.
    counts: Vec<Vec<u16>>,
    n_groups: usize,
}

/// A statistic of all groups as they are, and of each resample.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    whole: Option<f64>,
    drawn: Vec<Option<f64>>,
}

impl Values {
    /// The statistic with its percentile interval. Resamples in which it is not defined are left out.
    pub fn estimate(&self) -> Estimate {
        let Some(value) = self.whole else { return Estimate::default() };
        let mut found: Vec<f64> = self.drawn.iter().flatten().copied().collect();
        found.sort_unstable_by(f64::total_cmp);
        if found.is_empty() {
            return Estimate::exact(Some(value));
        }
        let [low, high] = [0.025, 0.975].map(|q| quantile(&found, q));
        Estimate { value: Some(value), low: Some(low.min(value)), high: Some(high.max(value)) }
    }

    /// This statistic less another of the same draws.
    pub fn less(&self, other: &Values) -> Values {
        let less = |a: Option<f64>, b: Option<f64>| Some(a? - b?);
        let drawn = self.drawn.iter().zip(&other.drawn).map(|(a, b)| less(*a, *b)).collect();
        Values { whole: less(self.whole, other.whole), drawn }
    }
}

impl Draws {
    /// `n` resamples of groups, drawn with replacement within strata: as many of each stratum as there are. `strata` has one
    /// entry for each group.
    pub fn new(strata: &[usize], n: usize, seed: u64) -> Draws {
        let mut members: std::collections::BTreeMap<usize, Vec<usize>> = Default::default();
        strata.iter().enumerate().for_each(|(group, stratum)| members.entry(*stratum).or_default().push(group));
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let counts = (0..n).map(|_| {
            let mut counts = vec![0u16; strata.len()];
            for groups in members.values() {
                for _ in groups {
                    let drawn = groups[rng.random_range(0..groups.len())];
                    counts[drawn] = counts[drawn].saturating_add(1);
                }
            }
            counts
        });
        Draws { counts: counts.collect(), n_groups: strata.len() }
    }

    /// A statistic of the groups, which is given how often each of them counts.
    pub fn values(&self, statistic: impl Fn(&[u16]) -> Option<f64>) -> Values {
        let whole = statistic(&vec![1; self.n_groups]);
        let drawn =
            if whole.is_some() { self.counts.iter().map(|counts| statistic(counts)).collect() } else { Vec::new() };
        Values { whole, drawn }
    }

    /// A statistic with its interval.
    pub fn estimate(&self, statistic: impl Fn(&[u16]) -> Option<f64>) -> Estimate {
        self.values(statistic).estimate()
    }

    /// The ratio of two sums over groups, each given by group.
    pub fn ratio(&self, over: &[f64], under: &[f64]) -> Estimate {
        self.estimate(|counts| ratio(weighted(over, counts), weighted(under, counts)))
    }
}

/// The sum of values, each as often as its group was drawn.
pub fn weighted(values: &[f64], counts: &[u16]) -> f64 {
    values.iter().zip(counts).map(|(value, count)| value * f64::from(*count)).sum()
}

/// A share; none of nothing.
pub fn ratio(over: f64, under: f64) -> Option<f64> {
    (under > 0.0).then(|| over / under)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same in the plainest way: groups written out as often as they were drawn.
    fn slow(draws: &Draws, over: &[f64], under: &[f64]) -> (f64, f64) {
        let mut shares = Vec::new();
        for counts in &draws.counts {
            let (mut a, mut b) = (0.0, 0.0);
            for (group, count) in counts.iter().enumerate() {
                for _ in 0..*count {
                    a += over[group];
                    b += under[group];
                }
            }
            if b > 0.0 {
                shares.push(a / b);
            }
        }
        shares.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let at = |q: f64| {
            let place = q * (shares.len() as f64 - 1.0);
            let (low, high) = (place.floor() as usize, place.ceil() as usize);
            shares[low] * (1.0 - place.fract()) + shares[high] * place.fract()
        };
        (at(0.025), at(0.975))
    }

    #[test]
    fn a_ratio_is_taken_after_its_sums_and_has_the_plain_interval() {
        let (over, under) = ([3.0, 0.0, 5.0, 2.0, 1.0], [4.0, 3.0, 5.0, 9.0, 1.0]);
        let draws = Draws::new(&[0, 0, 1, 1, 1], 500, 7);
        assert!(draws.counts.iter().all(|c| c[0] + c[1] == 2 && c[2] + c[3] + c[4] == 3), "within strata");
        let got = draws.ratio(&over, &under);
        let (low, high) = slow(&draws, &over, &under);
        assert_eq!(got.value, Some(11.0 / 22.0));
        assert!((got.low.unwrap() - low).abs() < 1e-12 && (got.high.unwrap() - high).abs() < 1e-12, "{got:?}");
    }

    #[test]
    fn a_constant_is_its_interval_and_nothing_has_none() {
        let draws = Draws::new(&[0; 9], 200, 0);
        let same = draws.ratio(&[2.0; 9], &[4.0; 9]);
        assert_eq!(same, Estimate { value: Some(0.5), low: Some(0.5), high: Some(0.5) });
        assert_eq!(draws.ratio(&[0.0; 9], &[0.0; 9]), Estimate::default());
        let of_itself = draws.estimate(|c| Some(weighted(&[1.0; 9], c) - weighted(&[1.0; 9], c)));
        assert_eq!(of_itself, Estimate { value: Some(0.0), low: Some(0.0), high: Some(0.0) });
        assert_eq!(Draws::new(&[], 10, 0).ratio(&[], &[]), Estimate::default());
        assert_eq!(Draws::new(&[0; 2], 0, 0).ratio(&[1.0, 0.0], &[1.0, 1.0]), Estimate::exact(Some(0.5)));
    }
}
