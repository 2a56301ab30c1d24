//! How much a client may ask: a bucket that fills with time, and is spent.

use std::time::{Duration, Instant};

/// A bucket of tries: as many as it holds at once, and so many a second again.
#[derive(Debug)]
pub(crate) struct Bucket {
    per_second: f64,
    most: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    /// A full one.
    pub fn new(per_second: f64, most: f64, now: Instant) -> Self {
        Bucket { per_second, most, left: most, at: now }
    }

    /// One of so much a day, all of which may be spent at once.
    pub fn of_day(most: u64, now: Instant) -> Self {
        const DAY: f64 = 24.0 * 3600.0;
        Bucket::new(most as f64 / DAY, most as f64, now)
    }

    /// Spends `n`, or says after how long there will be as many; what the bucket never holds at once is asked again after a day at most.
    pub fn spend(&mut self, n: f64, now: Instant) -> Result<(), Duration> {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * self.per_second).min(self.most);
        self.at = self.at.max(now);
        if n <= self.left {
            self.left -= n;
            return Ok(());
        }
        Err(Duration::from_secs_f64(((n - self.left) / self.per_second).clamp(0.0, 24.0 * 3600.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_spent_and_fills_again() {
        let start = Instant::now();
        let after = |seconds: f64| start + Duration::from_secs_f64(seconds);
        let mut bucket = Bucket::new(2.0, 4.0, start);
        assert!((0..4).all(|_| bucket.spend(1.0, start).is_ok()));
        assert_eq!(bucket.spend(1.0, start), Err(Duration::from_millis(500)));
        assert!(bucket.spend(1.0, after(0.5)).is_ok());
        assert!(bucket.spend(1.0, after(0.5)).is_err());
        // it never holds more than it held
        assert!(bucket.spend(5.0, after(100.0)).is_err());
        assert!(bucket.spend(4.0, after(100.0)).is_ok());
        // a clock that goes back gives nothing
        assert!(bucket.spend(1.0, after(50.0)).is_err());
        assert_eq!(Bucket::of_day(0, start).spend(1.0, start), Err(Duration::from_secs(86_400)));
    }
}
