//! Which token comes next.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use crate::{
    backend::Request,
    failure::{Failure, Kind},
};

/// The log-probabilities of all that may come, in nats.
pub struct LogProbs(Vec<f64>);

impl LogProbs {
    /// Of logits.
    ///
    /// # Errors
    /// They are no numbers.
    pub fn of(mut logits: Vec<f64>) -> Result<LogProbs, Failure> {
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total = most + logits.iter().map(|logit| (logit - most).exp()).sum::<f64>().ln();
        if !total.is_finite() {
            return Err(Failure::new(Kind::Model, "the model's logits are no numbers"));
        }
        logits.iter_mut().for_each(|logit| *logit -= total);
        Ok(LogProbs(logits))
    }

    /// That of one token.
    pub fn of_id(&self, id: u32) -> f64 {
        self.0.get(id as usize).copied().unwrap_or(f64::NEG_INFINITY)
    }
}

/// Chance that follows from a request alone: the same one is answered the same.
pub struct Draw {
    temperature: f64,
    top_k: Option<u32>,
    top_p: Option<f64>,
    random: ChaCha8Rng,
}

impl Draw {
    /// The chance of a request.
    pub fn new(request: &Request) -> Draw {
        let seed = Sha256::digest(request.key("draw", &std::collections::BTreeMap::new()));
        let Request { temperature, top_k, top_p, .. } = *request;
        Draw { temperature, top_k, top_p, random: ChaCha8Rng::from_seed(seed.into()) }
    }

    /// One of the tokens that may come: the most probable one at temperature 0, of several the first.
    ///
    /// # Errors
    /// None may come.
    pub fn next(&mut self, log_probs: &LogProbs, may_come: impl Fn(u32) -> bool) -> Result<u32, Failure> {
        let allowed = || (0u32..).zip(&log_probs.0).filter(|(id, _)| may_come(*id));
        let best = allowed().fold(None, |best: Option<(u32, f64)>, (id, p)| match best {
            Some((_, most)) if *p <= most => best,
            _ => Some((id, *p)),
        });
        let Some((best, most)) = best else {
            return Err(Failure::new(Kind::Model, "no token may come next"));
        };
        if self.temperature <= 0.0 {
            return Ok(best);
        }
        let weight = |p: f64| ((p - most) / self.temperature).exp();
        let mut weights: Vec<(u32, f64)> = allowed().map(|(id, p)| (id, weight(*p))).collect();
        self.keep_top(&mut weights);
        let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut left = self.random.random::<f64>() * total;
        for (id, weight) in weights {
            left -= weight;
            if left < 0.0 {
                return Ok(id);
            }
        }
        // rounding left a little of the last
        Ok(best)
    }
}

impl Draw {
    /// Leaves the most probable tokens, as many as may come: first by their number, then by what they add up to. The one that reaches
    /// the sum stays, so at least one does.
    fn keep_top(&self, weights: &mut Vec<(u32, f64)>) {
        if self.top_k.is_none() && self.top_p.is_none_or(|top_p| top_p >= 1.0) {
            return;
        }
        weights.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
        weights.truncate(self.top_k.map_or(usize::MAX, |top_k| top_k.max(1) as usize));
        if let Some(top_p) = self.top_p {
            let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
            let mut sum = 0.0;
            let n_below = weights.iter().take_while(|(_, weight)| {
                sum += weight;
                sum < top_p * total
            });
            let n = n_below.count() + 1;
            weights.truncate(n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_most_probable_may_come_where_that_is_wanted() {
        let log_probs = LogProbs::of([0.5f64, 0.25, 0.125, 0.125].map(f64::ln).to_vec()).unwrap();
        let drawn = |top_k: Option<u32>, top_p: Option<f64>| -> std::collections::BTreeSet<u32> {
            let mut draw = Draw::new(&Request { temperature: 1.0, top_k, top_p, ..Request::of_user("?", 1) });
            (0..300).map(|_| draw.next(&log_probs, |_| true).unwrap()).collect()
        };
        assert_eq!(drawn(None, None).len(), 4);
        assert_eq!(drawn(Some(2), None), [0, 1].into());
        assert_eq!(drawn(Some(0), None), [0].into());
        assert_eq!(drawn(None, Some(0.7)), [0, 1].into(), "half is below, three quarters reach it");
        assert_eq!(drawn(None, Some(0.0)), [0].into());
        assert_eq!(drawn(None, Some(1.0)).len(), 4);
        // of the two that are left the first has two thirds
        assert_eq!(drawn(Some(2), Some(0.6)), [0].into());
    }

    fn draws(temperature: f64, seed: u64, n: usize) -> Vec<u32> {
        let request = Request { temperature, seed, ..Request::of_user("?", 1) };
        let mut draw = Draw::new(&request);
        let log_probs = LogProbs::of([1.0, 4.0, 0.5, 4.0, 2.0].to_vec()).unwrap();
        (0..n).map(|_| draw.next(&log_probs, |id| id != 3).unwrap()).collect()
    }

    #[test]
    fn without_chance_the_first_of_the_most_probable_comes() {
        let log_probs = LogProbs::of(vec![0.0, 2.0, 2.0]).unwrap();
        let mut draw = Draw::new(&Request::of_user("?", 1));
        assert_eq!(draw.next(&log_probs, |_| true).unwrap(), 1);
        assert_eq!(draw.next(&log_probs, |id| id != 1).unwrap(), 2);
        assert!(draw.next(&log_probs, |_| false).is_err());
        assert!((log_probs.of_id(1).exp() - 0.4683).abs() < 1e-4);
        assert!(LogProbs::of(vec![f64::NAN]).is_err());
    }

    #[test]
    fn chance_follows_from_the_seed_and_the_probabilities() {
        assert_eq!(draws(1.0, 7, 50), draws(1.0, 7, 50));
        assert_ne!(draws(1.0, 7, 50), draws(1.0, 8, 50));
        let drawn = draws(1.0, 0, 20_000);
        // without the one that may not come: e^4 of e + e^4 + e^0.5 + e^2
        let share = drawn.iter().filter(|id| **id == 1).count() as f64 / 20_000.0;
        let want = 4f64.exp() / (1f64.exp() + 4f64.exp() + 0.5f64.exp() + 2f64.exp());
        // four standard deviations of 20,000 draws
        assert!((share - want).abs() < 4.0 * (want * (1.0 - want) / 20_000.0).sqrt(), "{share} {want}");
        assert!(!drawn.contains(&3));
    }
}
