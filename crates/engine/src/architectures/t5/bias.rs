//! Attention's bias by distance (Raffel et al. 2020, arXiv:1910.10683, section 2.1): near distances have a bucket each, farther
//! ones share buckets that widen logarithmically.

use candle_core::{Result, Tensor};

/// One stack's table, which all its blocks share.
#[derive(Debug)]
pub struct RelativeBias {
    /// `[buckets, heads]`.
    table: Tensor,
    max_distance: usize,
    /// Whether later positions are seen: they have half of the buckets then.
    bidirectional: bool,
}

impl RelativeBias {
    /// From `table` `[buckets, heads]`.
    pub fn new(table: Tensor, max_distance: usize, bidirectional: bool) -> Self {
        RelativeBias { table, max_distance, bidirectional }
    }

    /// The biases among `s` positions, `[heads, 2s - 1]`: element `k - q + s - 1` is added where `q` looks at `k`.
    pub fn among(&self, s: usize) -> Result<Tensor> {
        let n_buckets = self.table.dim(0)?;
        let distances = 1 - s as i64..s as i64;
        let at: Vec<u32> = distances.map(|d| bucket(d, n_buckets, self.max_distance, self.bidirectional)).collect();
        self.table.index_select(&Tensor::new(at, self.table.device())?, 0)?.t()?.contiguous()
    }
}

/// The bucket of `distance` = key - query. The logarithm is rounded to f32 as in the reference, which decides the borders.
fn bucket(distance: i64, n_buckets: usize, max_distance: usize, bidirectional: bool) -> u32 {
    let (n_buckets, first, distance) = match (bidirectional, distance > 0) {
        (true, later) => (n_buckets / 2, if later { n_buckets / 2 } else { 0 }, distance.unsigned_abs() as usize),
        (false, true) => (n_buckets, 0, 0),
        (false, false) => (n_buckets, 0, distance.unsigned_abs() as usize),
    };
    let exact = n_buckets / 2;
    let within = if distance < exact {
        distance
    } else {
        let share = (distance as f32 / exact as f32).ln() / (max_distance as f64 / exact as f64).ln() as f32;
        (exact + (share * (n_buckets - exact) as f32) as usize).min(n_buckets - 1)
    };
    (first + within) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from the definition with 16 buckets up to 40: in the encoder 8 a side, of which 0 to 3 are exact and
    /// `4 + ⌊4 ln(d / 4) / ln 10⌋` follow; in the decoder 16, exact to 7, then `8 + ⌊8 ln(d / 8) / ln 5⌋`.
    #[test]
    fn buckets_by_hand() {
        let encoder = |d| bucket(d, 16, 40, true);
        assert_eq!(
            [0, -1, -3, -4, -7, -8, -12, -13, -22, -23, -40, -999].map(encoder),
            [0, 1, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7]
        );
        assert_eq!([1, 3, 4, 8, 13, 23, 999].map(encoder), [9, 11, 12, 13, 14, 15, 15]);
        let decoder = |d| bucket(d, 16, 40, false);
        assert_eq!([5, 1, 0, -7, -8, -9, -10, -39, -40, -999].map(decoder), [0, 0, 0, 7, 8, 8, 9, 15, 15, 15]);
    }
}
