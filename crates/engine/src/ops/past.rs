//! Causal attention of rows that follow others whose keys and values are already there.

use candle_core::WithDType;
use rayon::prelude::*;

use super::{
    HeadLayout,
    attention::{first_of_tile, softmax_within},
    kernel::{Columns, Element, Left, Packed, product},
    simd::vectorised,
};

/// Query rows handled at once, as in [`super::attention`].
const TILE: usize = 64;

/// As [`super::attention`] on the CPU, for rows `qkv` `[R, W]` behind `past` `[P, 2 * n_kv_heads * head_dim]`, rows
/// `[k … | v …]`; returns `[R, n_heads * head_dim]`.
///
/// Past and own keys are two products side by side, so rows are not put together. Under a window either begins with the panel
/// that holds the first key the tile's first query sees, and the past may be out of sight.
pub(super) fn attention_after<E: Element>(qkv: &[E::Real], past: &[E::Real], heads: HeadLayout) -> Vec<E::Real> {
    let (width, past_width, d) = (heads.width(), heads.past_width(), heads.head_dim);
    let (n_rows, n_past) = (qkv.len() / width, past.len() / past_width);
    let scale = E::Real::from_f64(1.0 / (d as f64).sqrt());
    let n_keys = n_past + n_rows;
    let keys: Vec<[Packed<E>; 2]> = (0..heads.n_kv_heads)
        .into_par_iter()
        .map(|h| {
            let own = &qkv[(heads.n_heads + h) * d..];
            [Packed::of_rows(&past[h * d..], n_past, d, past_width), Packed::of_rows(own, n_rows, d, width)]
        })
        .collect();
    let per_head: Vec<Vec<E::Real>> = (0..heads.n_heads)
        .into_par_iter()
        .map(|h| {
            let (q, _, v) = heads.columns(h);
            let [past_keys, own_keys] = &keys[h / heads.group()];
            let past_values = Columns::<E>::new(&past[v - heads.n_heads * d..], n_past, d, past_width);
            let own_values = Columns::<E>::new(&qkv[v..], n_rows, d, width);
            let mut out = vec![E::Real::default(); n_rows * d];
            let mut p = vec![E::Real::default(); TILE.min(n_rows) * n_keys];
            for start in (0..n_rows).step_by(TILE) {
                let end = (start + TILE).min(n_rows);
                let rows = end - start;
                let seen_by_first = heads.visible(n_past + start).start;
                let sees_past = seen_by_first < n_past;
                let (past, own) = (first_of_tile(seen_by_first), first_of_tile(seen_by_first.saturating_sub(n_past)));
                let queries = Left::<E>::rows(&qkv[start * width + q..], rows, d, width);
                if sees_past {
                    product(&queries, past_keys.right().columns(past..n_past), &mut p[past..], n_keys, false);
                }
                product(&queries, own_keys.right().columns(own..end), &mut p[n_past + own..], n_keys, false);
                let first = if sees_past { past } else { n_past + own };
                vectorised(
                    #[inline(always)]
                    || {
                        for (i, row) in p.chunks_mut(n_keys).take(rows).enumerate() {
                            let seen = heads.visible(n_past + start + i);
                            softmax_within(&mut row[first..n_past + end], seen.start - first..seen.end - first, scale);
                        }
                    },
                );
                let to = &mut out[start * d..];
                if sees_past {
                    let left = Left::<E>::rows(&p[past..], rows, n_past - past, n_keys);
                    product(&left, past_values.part(past..n_past, d).right(), to, d, false);
                }
                let left = Left::<E>::rows(&p[n_past + own..], rows, end - own, n_keys);
                product(&left, own_values.part(own..end, d).right(), to, d, sees_past);
            }
            out
        })
        .collect();

    let mut out = vec![E::Real::default(); n_rows * heads.n_heads * d];
    for (h, head) in per_head.iter().enumerate() {
        for (row, head) in out.chunks_exact_mut(heads.n_heads * d).zip(head.chunks_exact(d)) {
            row[h * d..][..d].copy_from_slice(head);
        }
    }
    out
}
