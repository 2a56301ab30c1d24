//! Attention added up over groups of keys, for the few query rows that a reading asks about: a pass of its own beside the forward
//! pass, which keeps no probabilities. One tile of query rows is held at a time.

use std::ops::Range;

use candle_core::{DType, Device, Result, Tensor, WithDType};
use rayon::prelude::*;

use super::{
    attention::softmax,
    kernel::{Element, Left, Packed, product},
    scratch::Scratch,
    simd::vectorised,
};

/// Query rows handled at once, as in [`super::attention`].
const TILE: usize = 64;

/// The group of every key. What a group stands for is the caller's to know.
#[derive(Debug, Clone, Copy)]
pub struct KeyGroups<'a> {
    /// The group's number of each key, below `n_groups`.
    pub of_key: &'a [u8],
    /// G, the number of groups; one that no key is in has sums of zero.
    pub n_groups: usize,
}

impl KeyGroups<'_> {
    /// Checks that there is one for each of `n_keys` keys, and none that there is not.
    pub(super) fn check(self, n_keys: usize) -> Result<()> {
        if self.of_key.len() != n_keys {
            candle_core::bail!("{} keys have a group, expected {n_keys}", self.of_key.len());
        }
        match self.of_key.iter().position(|&group| usize::from(group) >= self.n_groups) {
            None => Ok(()),
            Some(key) => candle_core::bail!(
                "key {key} is in group {}, expected a number below {}",
                self.of_key[key],
                self.n_groups
            ),
        }
    }

    /// One where a key is in a group, `[K, G]`: the sums over groups are a product with it.
    pub(super) fn membership(self, dtype: DType, device: &Device) -> Result<Tensor> {
        let mut rows = vec![0_f32; self.of_key.len() * self.n_groups];
        for (row, &group) in rows.chunks_exact_mut(self.n_groups.max(1)).zip(self.of_key) {
            row[usize::from(group)] = 1.0;
        }
        Tensor::from_vec(rows, (self.of_key.len(), self.n_groups), device)?.to_dtype(dtype)
    }
}

/// Query rows and the keys that they look at. Head `h` has the columns from `h * head_dim` on of the queries, and from
/// `h / per_key_head * head_dim` on of the keys.
pub(super) struct Look<'a, T> {
    pub(super) queries: &'a [T],
    pub(super) query_width: usize,
    pub(super) keys: &'a [T],
    pub(super) key_width: usize,
    pub(super) n_heads: usize,
    /// Query heads that share a key head.
    pub(super) per_key_head: usize,
    pub(super) head_dim: usize,
    /// What scores are multiplied by.
    pub(super) scale: T,
    /// Added to the scores by distance, `[heads, Q + K - 1]`: element `k - q + Q - 1`.
    pub(super) bias: Option<&'a [T]>,
}

/// Sums of the probabilities over each group, `[n_heads, Q, G]`, added up in f64; row `i` sees the keys `visible(i)`.
pub(super) fn by_group<E: Element>(
    look: &Look<'_, E::Real>,
    visible: impl Fn(usize) -> Range<usize> + Sync,
    groups: KeyGroups<'_>,
) -> Vec<f64> {
    let (d, n_groups) = (look.head_dim, groups.n_groups);
    let (n_rows, n_keys) = (look.queries.len() / look.query_width, look.keys.len() / look.key_width);
    let packed: Vec<Packed<E>> = (0..look.n_heads / look.per_key_head)
        .into_par_iter()
        .map(|h| Packed::of_rows(&look.keys[h * d..], n_keys, d, look.key_width))
        .collect();
    let of_head = |(h, sums): (usize, &mut [f64])| {
        let keys = packed[h / look.per_key_head].right();
        let bias = look.bias.map(|bias| &bias[h * (n_rows + n_keys - 1)..][..n_rows + n_keys - 1]);
        let mut p = Scratch::<E::Real>::new(TILE.min(n_rows) * n_keys);
        for start in (0..n_rows).step_by(TILE) {
            let rows = TILE.min(n_rows - start);
            let queries = &look.queries[start * look.query_width + h * d..];
            product(&Left::<E>::rows(queries, rows, d, look.query_width), keys, &mut p, n_keys, false);
            for (i, row) in p.chunks_exact_mut(n_keys).take(rows).enumerate() {
                let seen = visible(start + i);
                let row = &mut row[seen.clone()];
                if let Some(bias) = bias {
                    let bias = &bias[n_rows - 1 - start - i..][seen.clone()];
                    row.iter_mut().zip(bias).for_each(|(score, &bias)| *score += bias);
                }
                vectorised(
                    #[inline(always)]
                    || softmax(row, look.scale),
                );
                let sums = &mut sums[(start + i) * n_groups..][..n_groups];
                for (p, &group) in row.iter().zip(&groups.of_key[seen]) {
                    sums[usize::from(group)] += p.to_f64();
                }
            }
        }
    };
    let mut sums = vec![0.0; look.n_heads * n_rows * n_groups];
    if !sums.is_empty() {
        sums.par_chunks_exact_mut(n_rows * n_groups).enumerate().for_each(of_head);
    }
    sums
}

/// The same from probabilities `[heads, Q, K]` that are there, as a composition; one product in f32 (f64 for f64).
pub(super) fn of_probabilities(p: &Tensor, membership: &Tensor) -> Result<Tensor> {
    let (heads, n_rows, n_keys) = p.dims3()?;
    let sums = p.to_dtype(membership.dtype())?.reshape((heads * n_rows, n_keys))?.matmul(membership)?;
    sums.reshape((heads, n_rows, membership.dim(1)?))
}

/// `[heads, Q, G]` on the host.
pub(super) fn to_host(sums: &Tensor) -> Result<Vec<f64>> {
    sums.to_device(&Device::Cpu)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}
