//! Causal attention on the CPU, tile by tile over the causal half, and its vector-Jacobian product.
//!
//! Rows of `qkv` are `[q heads | k heads | v heads]`, so a head is a column range. Products are of [`Element`]s; probabilities,
//! the softmax and its gradient are worked out in the accumulator's type.

use candle_core::WithDType;
use rayon::prelude::*;

use super::{
    HeadLayout, Real,
    kernel::{Columns, Element, Left, Packed, product},
    scratch::Scratch,
    simd::vectorised,
};

/// Query rows handled at once: their scores against all earlier keys stay in the level-2 cache.
const TILE: usize = 64;

/// What all targets' gradients of one layer's attention share.
#[derive(Debug)]
pub(crate) struct Kept<E: Element> {
    /// `[queries, keys]` by head, zero where masked.
    pub(super) probabilities: Vec<Vec<E::Real>>,
    /// The same as words of neighbouring rows, where those differ from it; by head.
    pub(super) probability_words: Vec<Option<Vec<E::Word>>>,
    /// Right-hand side of `x Vᵀ`, by key-value head.
    pub(super) values: Vec<Packed<E>>,
    /// Keys.
    pub(super) s: usize,
}

impl<E: Element> Kept<E> {
    /// The probabilities `[n_heads, S, S]`.
    #[cfg(test)]
    pub(crate) fn probabilities(&self) -> Vec<E::Real> {
        self.probabilities.concat()
    }
}

/// Scaled dot-product attention with a causal mask.
///
/// `qkv` is `[S, W]` with rotated queries and keys. Returns the heads' outputs `[S, n_heads * head_dim]` and, with
/// `keep`, what [`attention_vjp`] needs.
pub(crate) fn attention<E: Element>(qkv: &[E::Real], heads: HeadLayout, keep: bool) -> (Vec<E::Real>, Option<Kept<E>>) {
    let (width, d) = (heads.width(), heads.head_dim);
    let s = qkv.len() / width;
    let scale = E::Real::from_f64(1.0 / (d as f64).sqrt());
    let packed = |first_column: usize| -> Vec<Packed<E>> {
        (0..heads.n_kv_heads).map(|h| Packed::of_rows(&qkv[first_column + h * d..], s, d, width)).collect()
    };
    let keys = packed(heads.n_heads * d);
    let (heads_out, probabilities): (Vec<_>, Vec<_>) = (0..heads.n_heads)
        .into_par_iter()
        .map(|h| {
            let (q, _, v) = heads.columns(h);
            let keys = &keys[h / heads.group()];
            let values = Columns::<E>::new(&qkv[v..], s, d, width);
            let mut out = vec![E::Real::default(); s * d];
            let mut probabilities = vec![E::Real::default(); if keep { s * s } else { TILE.min(s) * s }];
            for start in (0..s).step_by(TILE) {
                let end = (start + TILE).min(s);
                let (rows, p_rows) = (end - start, if keep { start } else { 0 });
                let p = &mut probabilities[p_rows * s..];
                let queries = Left::<E>::rows(&qkv[start * width + q..], rows, d, width);
                product(&queries, keys.right().columns(0..end), p, s, false);
                vectorised(
                    #[inline(always)]
                    || {
                        for (i, row) in p.chunks_mut(s).take(rows).enumerate() {
                            let visible = start + i + 1;
                            softmax(&mut row[..visible], scale);
                            row[visible..end].fill(E::Real::default());
                        }
                    },
                );
                let p = Left::<E>::rows(p, rows, end, s);
                product(&p, values.part(0..end, d).right(), &mut out[start * d..], d, false);
            }
            if !keep {
                probabilities.clear();
            }
            (out, probabilities)
        })
        .unzip();

    let mut out = vec![E::Real::default(); s * heads.n_heads * d];
    for (h, head) in heads_out.iter().enumerate() {
        for (row, head) in out.chunks_exact_mut(heads.n_heads * d).zip(head.chunks_exact(d)) {
            row[h * d..][..d].copy_from_slice(head);
        }
    }
    let kept = keep.then(|| Kept {
        probability_words: probabilities.par_iter().map(|p| Columns::<E>::new(p, s, s, s).into_kept()).collect(),
        probabilities,
        values: packed((heads.n_heads + heads.n_kv_heads) * d),
        s,
    });
    (out, kept)
}

/// Softmax of `scale * row`.
#[inline(always)]
pub(super) fn softmax<T: Real>(row: &mut [T], scale: T) {
    let max = row.iter().fold(T::neg_infinity(), |m, &x| if x > m { x } else { m });
    let mut lanes = [T::zero(); 16];
    let mut chunks = row.chunks_exact_mut(16);
    for chunk in &mut chunks {
        for (x, lane) in chunk.iter_mut().zip(&mut lanes) {
            *x = ((*x - max) * scale).exp_fast();
            *lane += *x;
        }
    }
    let mut total = lanes.into_iter().fold(T::zero(), |a, b| a + b);
    for x in chunks.into_remainder() {
        *x = ((*x - max) * scale).exp_fast();
        total += *x;
    }
    let inverse = T::one() / total;
    for x in row {
        *x *= inverse;
    }
}

/// Gradient of [`softmax`] in place: `ds` comes as the gradient by the probabilities `p`, whose mean under `p` is `mean`.
#[inline(always)]
pub(super) fn softmax_vjp<T: Real>(ds: &mut [T], p: &[T], mean: T, scale: T) {
    for (ds, &p) in ds.iter_mut().zip(p) {
        *ds = p * (*ds - mean) * scale;
    }
}

/// Gradient of [`attention`] with respect to `qkv`, for `d_out` `[B, s, n_heads * head_dim]`; returns `[B, s, W]`. `out` is the
/// forward pass's.
///
/// With `P` the probabilities: `dV = Pᵀ dO`, `dP = dO Vᵀ`, `dS = P ∘ (dP - rowsum(dO ∘ O))`, `dQ = dS K / √d`,
/// `dK = dSᵀ Q / √d`. Key and value gradients add up over the query heads that share them.
pub(crate) fn attention_vjp<E: Element>(
    qkv: &[E::Real],
    out: &[E::Real],
    kept: &Kept<E>,
    heads: HeadLayout,
    d_out: &[E::Real],
    s: usize,
) -> Vec<E::Real> {
    let (width, d, o_width) = (heads.width(), heads.head_dim, heads.n_heads * heads.head_dim);
    let s_all = kept.s;
    let scale = E::Real::from_f64(1.0 / (d as f64).sqrt());
    let qkv_words = Columns::<E>::new(qkv, s, width, width);
    let (queries, keys): (Vec<_>, Vec<_>) = (0..heads.n_heads)
        .map(|h| (qkv_words.at_column(heads.columns(h).0), qkv_words.at_column(heads.columns(h).1)))
        .unzip();
    let mut d_qkv = vec![E::Real::default(); d_out.len() / o_width * width];
    d_qkv.par_chunks_exact_mut(s * width).zip(d_out.par_chunks_exact(s * o_width)).for_each(|(d_qkv, d_out)| {
        let d_out_words = Columns::<E>::new(d_out, s, o_width, o_width);
        let mut ds = Scratch::<E::Real>::new(TILE.min(s) * s);
        for h in 0..heads.n_heads {
            let (q, k, v) = heads.columns(h);
            let p_head = &kept.probabilities[h];
            let p_words = Columns::<E>::kept(kept.probability_words[h].as_deref(), p_head, s_all, s_all, s_all);
            let values = kept.values[h / heads.group()].right();
            let d_out_head = d_out_words.at_column(h * d);
            for start in (0..s).step_by(TILE) {
                let end = (start + TILE).min(s);
                let rows = end - start;
                let d_o = &d_out[start * o_width + h * d..];
                product(&Left::<E>::rows(d_o, rows, d, o_width), values.columns(0..end), &mut ds, end, false);
                let p = &p_head[start * s_all..];
                let o = &out[start * o_width + h * d..];
                vectorised(
                    #[inline(always)]
                    || {
                        for (i, ds) in ds.chunks_exact_mut(end).take(rows).enumerate() {
                            let (o, d_o) = (&o[i * o_width..][..d], &d_o[i * o_width..][..d]);
                            let mean = o.iter().zip(d_o).fold(E::Real::default(), |sum, (&o, &d_o)| sum + o * d_o);
                            softmax_vjp(ds, &p[i * s_all..][..end], mean, scale);
                        }
                    },
                );
                let left = Left::<E>::rows(&ds, rows, end, end);
                product(&left, keys[h].part(0..end, d).right(), &mut d_qkv[start * width + q..], width, false);
                let ds_words = Columns::<E>::new(&ds, rows, end, end);
                let right = queries[h].part(start..end, d);
                product(&Left::transposed(&ds_words), right.right(), &mut d_qkv[k..], width, true);
                let (p, right) = (p_words.part(start..end, end), d_out_head.part(start..end, d));
                product(&Left::transposed(&p), right.right(), &mut d_qkv[v..], width, true);
            }
        }
    });
    d_qkv
}
