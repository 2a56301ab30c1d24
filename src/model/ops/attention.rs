//! Causal attention on the CPU, tile by tile over the causal half, and its vector-Jacobian product.
//!
//! Rows of `qkv` are `[q heads | k heads | v heads]`, so a head is a column range and nothing is transposed or copied.

use rayon::prelude::*;

use super::{
    HeadLayout, Real,
    matmul::{Mat, MatMut, gemm},
    simd::vectorised,
};

/// Query rows handled at once: their scores against all earlier keys stay in the level-2 cache.
const TILE: usize = 64;

/// Scaled dot-product attention with a causal mask.
///
/// `qkv` is `[S, W]` with rotated queries and keys. Returns the heads' outputs `[S, n_heads * head_dim]` and, with
/// `keep`, the attention probabilities `[n_heads, S, S]` (zero above the diagonal).
pub(crate) fn attention<T: Real>(qkv: &[T], heads: HeadLayout, keep: bool) -> (Vec<T>, Vec<T>) {
    let (width, d) = (heads.width(), heads.head_dim);
    let s = qkv.len() / width;
    let scale = T::from_f64(1.0 / (d as f64).sqrt());
    // in one piece from the start: heads put together afterwards would be there twice
    let mut probabilities = vec![T::zero(); if keep { heads.n_heads * s * s } else { 0 }];
    let run = |h: usize, kept: Option<&mut [T]>| {
        let (q, k, v) = heads.columns(h);
        let mut out = vec![T::zero(); s * d];
        let mut tile = vec![T::zero(); if kept.is_some() { 0 } else { TILE.min(s) * s }];
        let (probabilities, kept) = match kept {
            Some(all) => (all, true),
            None => (&mut tile[..], false),
        };
        for start in (0..s).step_by(TILE) {
            let end = (start + TILE).min(s);
            let (rows, p_rows) = (end - start, if kept { start } else { 0 });
            let p = &mut probabilities[p_rows * s..];
            gemm(
                MatMut::new(p, rows, end, s),
                false,
                scale,
                Mat::new(&qkv[start * width + q..], rows, d, width),
                Mat::new(&qkv[k..], end, d, width).t(),
            );
            vectorised(
                #[inline(always)]
                || {
                    for (i, row) in p.chunks_mut(s).take(rows).enumerate() {
                        let visible = start + i + 1;
                        softmax(&mut row[..visible]);
                        row[visible..end].fill(T::zero());
                    }
                },
            );
            gemm(
                MatMut::new(&mut out[start * d..], rows, d, d),
                false,
                T::one(),
                Mat::new(p, rows, end, s),
                Mat::new(&qkv[v..], end, d, width),
            );
        }
        out
    };
    let per_head: Vec<Vec<T>> = if keep {
        probabilities.par_chunks_exact_mut(s * s).enumerate().map(|(h, p)| run(h, Some(p))).collect()
    } else {
        (0..heads.n_heads).into_par_iter().map(|h| run(h, None)).collect()
    };

    let mut out = vec![T::zero(); s * heads.n_heads * d];
    for (h, head) in per_head.iter().enumerate() {
        for (row, head) in out.chunks_exact_mut(heads.n_heads * d).zip(head.chunks_exact(d)) {
            row[h * d..][..d].copy_from_slice(head);
        }
    }
    (out, probabilities)
}

#[inline(always)]
pub(super) fn softmax<T: Real>(row: &mut [T]) {
    let max = row.iter().fold(T::neg_infinity(), |m, &x| if x > m { x } else { m });
    let mut lanes = [T::zero(); 16];
    let mut chunks = row.chunks_exact_mut(16);
    for chunk in &mut chunks {
        for (x, lane) in chunk.iter_mut().zip(&mut lanes) {
            *x = (*x - max).exp_fast();
            *lane += *x;
        }
    }
    let mut total = lanes.into_iter().fold(T::zero(), |a, b| a + b);
    for x in chunks.into_remainder() {
        *x = (*x - max).exp_fast();
        total += *x;
    }
    let inverse = T::one() / total;
    for x in row {
        *x *= inverse;
    }
}

/// What all targets' gradients of one layer's [`attention`] share.
pub(crate) struct AttentionView<'a, T> {
    /// Rotated `[S, W]` rows.
    pub(crate) qkv: &'a [T],
    /// Probabilities `[n_heads, S_all, S_all]`, of which the first `S` rows and columns are used.
    pub(crate) probabilities: &'a [T],
    /// The heads' outputs, at least `S` rows of `n_heads * head_dim`.
    pub(crate) out: &'a [T],
    /// Rows of the sequence that the probabilities were kept for.
    pub(crate) s_all: usize,
    /// Where each head's columns are.
    pub(crate) heads: HeadLayout,
}

/// Gradient of [`attention`] with respect to `qkv`, for `d_out` `[B, S, n_heads * head_dim]`; returns `[B, S, W]`.
///
/// With `P` the probabilities: `dV = Pᵀ dO`, `dP = dO Vᵀ`, `dS = P ∘ (dP - rowsum(dO ∘ O))`, `dQ = dS K / √d`,
/// `dK = dSᵀ Q / √d`. Key and value gradients add up over the query heads that share them.
pub(crate) fn attention_vjp<T: Real>(shared: &AttentionView<'_, T>, d_out: &[T], s: usize) -> Vec<T> {
    let heads = shared.heads;
    let (width, d, o_width) = (heads.width(), heads.head_dim, heads.n_heads * heads.head_dim);
    let mut d_qkv = vec![T::zero(); d_out.len() / o_width * width];
    d_qkv.par_chunks_exact_mut(s * width).zip(d_out.par_chunks_exact(s * o_width)).for_each(|(d_qkv, d_out)| {
        let scale = T::from_f64(1.0 / (d as f64).sqrt());
        let mut ds = vec![T::zero(); TILE.min(s) * s];
        for h in 0..heads.n_heads {
            let (q, k, v) = heads.columns(h);
            let p_head = &shared.probabilities[h * shared.s_all * shared.s_all..][..shared.s_all * shared.s_all];
            for start in (0..s).step_by(TILE) {
                let end = (start + TILE).min(s);
                let rows = end - start;
                let p = &p_head[start * shared.s_all..];
                let d_o = &d_out[start * o_width + h * d..];
                let o = &shared.out[start * o_width + h * d..];
                gemm(
                    MatMut::new(&mut ds, rows, end, end),
                    false,
                    T::one(),
                    Mat::new(d_o, rows, d, o_width),
                    Mat::new(&shared.qkv[v..], end, d, width).t(),
                );
                vectorised(
                    #[inline(always)]
                    || {
                        for (i, ds) in ds.chunks_exact_mut(end).take(rows).enumerate() {
                            let (o, d_o) = (&o[i * o_width..][..d], &d_o[i * o_width..][..d]);
                            let mean = o.iter().zip(d_o).fold(T::zero(), |sum, (&o, &d_o)| sum + o * d_o);
                            let p = &p[i * shared.s_all..][..end];
                            for (ds, &p) in ds.iter_mut().zip(p) {
                                *ds = p * (*ds - mean) * scale;
                            }
                        }
                    },
                );
                gemm(
                    MatMut::new(&mut d_qkv[start * width + q..], rows, d, width),
                    false,
                    T::one(),
                    Mat::new(&ds, rows, end, end),
                    Mat::new(&shared.qkv[k..], end, d, width),
                );
                gemm(
                    MatMut::new(&mut d_qkv[k..], end, d, width),
                    true,
                    T::one(),
                    Mat::new(&ds, rows, end, end).t(),
                    Mat::new(&shared.qkv[start * width + q..], rows, d, width),
                );
                gemm(
                    MatMut::new(&mut d_qkv[v..], end, d, width),
                    true,
                    T::one(),
                    Mat::new(p, rows, end, shared.s_all).t(),
                    Mat::new(d_o, rows, d, o_width),
                );
            }
        }
    });
    d_qkv
}
