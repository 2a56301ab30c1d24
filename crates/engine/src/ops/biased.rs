//! Attention of T5: queries from one sequence, keys and values from the same or another, a bias by distance, no scaling
//! (Raffel et al. 2020, arXiv:1910.10683).
//!
//! As [`super::attention`], of which it is a sister: that one has rotated, grouped heads in one stacked row and always a mask.

use candle_core::{D, DType, Result, Tensor, WithDType};
use rayon::prelude::*;

use super::{
    BiasedShape,
    attention::{Kept, gradient_means, softmax, softmax_vjp},
    kernel::{Columns, Element, Left, Packed, product},
    scratch::Scratch,
    simd::vectorised,
};

/// Query rows handled at once, as in [`super::attention`].
const TILE: usize = 64;

/// Outputs `[Q, W]` of queries `q` `[Q, W]` over rows `kv` `[K, 2W]` of keys and values; `bias` `[heads, Q + K - 1]` is added to
/// the scores, element `k - q + Q - 1`. With `keep`, also what [`attention_vjp`] needs.
pub(super) fn attention<E: Element>(
    q: &[E::Real],
    kv: &[E::Real],
    bias: Option<&[E::Real]>,
    shape: BiasedShape,
    keep: bool,
) -> (Vec<E::Real>, Option<Kept<E>>) {
    let (width, d) = (shape.width(), shape.head_dim);
    let (n_q, n_k) = (q.len() / width, kv.len() / (2 * width));
    let one = E::Real::from_f64(1.0);
    let (heads_out, probabilities): (Vec<_>, Vec<_>) = (0..shape.n_heads)
        .into_par_iter()
        .map(|h| {
            let keys = Packed::<E>::of_rows(&kv[h * d..], n_k, d, 2 * width);
            let values = Columns::<E>::new(&kv[width + h * d..], n_k, d, 2 * width);
            let bias = bias.map(|bias| &bias[h * (n_q + n_k - 1)..][..n_q + n_k - 1]);
            let mut out = vec![E::Real::default(); n_q * d];
            let mut probabilities = Scratch::<E::Real>::new(TILE.min(n_q) * n_k);
            let mut kept = vec![E::Word::default(); if keep { n_q.div_ceil(E::PER_WORD) * n_k } else { 0 }];
            for start in (0..n_q).step_by(TILE) {
                let end = (start + TILE).min(n_q);
                let (rows, seen) = (end - start, shape.visible(end, n_k));
                let p = &mut probabilities[..rows * seen];
                let queries = Left::<E>::rows(&q[start * width + h * d..], rows, d, width);
                product(&queries, keys.right().columns(0..seen), p, seen, false);
                vectorised(
                    #[inline(always)]
                    || {
                        for (i, row) in p.chunks_exact_mut(seen).enumerate() {
                            let visible = shape.visible(start + i + 1, n_k);
                            if let Some(bias) = bias {
                                let bias = &bias[n_q - 1 - start - i..][..visible];
                                for (score, &bias) in row.iter_mut().zip(bias) {
                                    *score += bias;
                                }
                            }
                            softmax(&mut row[..visible], one);
                            row[visible..].fill(E::Real::default());
                        }
                    },
                );
                if keep {
                    E::put_column_words(p, seen, &mut kept[start / E::PER_WORD * n_k..], n_k);
                }
                let p = Left::<E>::rows(p, rows, seen, seen);
                product(&p, values.part(0..seen, d).right(), &mut out[start * d..], d, false);
            }
            (out, keep.then_some(kept))
        })
        .unzip();

    let mut out = vec![E::Real::default(); n_q * width];
    for (h, head) in heads_out.iter().enumerate() {
        for (row, head) in out.chunks_exact_mut(width).zip(head.chunks_exact(d)) {
            row[h * d..][..d].copy_from_slice(head);
        }
    }
    let values = |h: usize| Packed::of_rows(&kv[width + h * d..], n_k, d, 2 * width);
    let kept = keep.then(|| Kept {
        probabilities: probabilities.into_iter().flatten().collect(),
        values: (0..shape.n_heads).map(values).collect(),
        s: n_k,
    });
    (out, kept)
}

/// Gradients of [`attention`] with respect to `q` and `kv`, for `d_out` `[B, s, W]`: `[B, s, W]`, and `[B, s, 2W]` under a
/// mask or `[B, K, 2W]` without. `out` is the forward pass's. The formulas are those of [`super::attention::attention_vjp`].
pub(super) fn attention_vjp<E: Element>(
    q: &[E::Real],
    kv: &[E::Real],
    out: &[E::Real],
    kept: &Kept<E>,
    shape: BiasedShape,
    d_out: &[E::Real],
    s: usize,
) -> (Vec<E::Real>, Vec<E::Real>) {
    let (width, d, n_k) = (shape.width(), shape.head_dim, kept.s);
    let (n_q, one) = (q.len() / width, E::Real::from_f64(1.0));
    let seen_by_all = shape.visible(s, n_k);
    let q_words = Columns::<E>::new(q, n_q, width, width);
    let kv_words = Columns::<E>::new(kv, n_k, 2 * width, 2 * width);
    let (queries, keys): (Vec<_>, Vec<_>) =
        (0..shape.n_heads).map(|h| (q_words.at_column(h * d), kv_words.at_column(h * d))).unzip();
    let mut d_q = vec![E::Real::default(); d_out.len()];
    let mut d_kv = vec![E::Real::default(); d_out.len() / (s * width) * seen_by_all * 2 * width];
    let targets = d_q.par_chunks_exact_mut(s * width).zip(d_kv.par_chunks_exact_mut(seen_by_all * 2 * width));
    targets.zip(d_out.par_chunks_exact(s * width)).for_each(|((d_q, d_kv), d_out)| {
        let d_out_words = Columns::<E>::new(d_out, s, width, width);
        let means = gradient_means(out, d_out, d, shape.n_heads);
        let mut ds = Scratch::<E::Real>::new(TILE.min(s) * seen_by_all);
        for h in 0..shape.n_heads {
            let probabilities = Columns::<E>::of_words(&kept.probabilities[h], n_k);
            let (values, d_out_head) = (kept.values[h].right(), d_out_words.at_column(h * d));
            for start in (0..s).step_by(TILE) {
                let end = (start + TILE).min(s);
                let (rows, seen) = (end - start, shape.visible(end, n_k));
                let at = start * width + h * d;
                let d_o = Left::<E>::rows(&d_out[at..], rows, d, width);
                product(&d_o, values.columns(0..seen), &mut ds, seen, false);
                let p = (&kept.probabilities[h][start / E::PER_WORD * n_k..], n_k);
                let (means, visible) = (&means[h * s + start..][..rows], |i| shape.visible(start + i + 1, n_k));
                softmax_vjp::<E>(&mut ds[..rows * seen], seen, p, means, visible, one);
                let left = Left::<E>::rows(&ds, rows, seen, seen);
                product(&left, keys[h].part(0..seen, d).right(), &mut d_q[at..], width, false);
                let ds_words = Columns::<E>::new(&ds, rows, seen, seen);
                let right = queries[h].part(start..end, d);
                product(&Left::transposed(&ds_words), right.right(), &mut d_kv[h * d..], 2 * width, true);
                let (p, right) = (probabilities.part(start..end, seen), d_out_head.part(start..end, d));
                product(&Left::transposed(&p), right.right(), &mut d_kv[width + h * d..], 2 * width, true);
            }
        }
    });
    (d_q, d_kv)
}

/// Heads first: `[.., n, heads * d]` to `[heads, .., n, d]`.
fn by_head(x: &Tensor, shape: BiasedShape) -> Result<Tensor> {
    let mut dims = x.dims().to_vec();
    dims.pop();
    let rank = dims.len();
    dims.extend([shape.n_heads, shape.head_dim]);
    let order: Vec<usize> = std::iter::once(rank).chain(0..rank).chain([rank + 1]).collect();
    x.contiguous()?.reshape(dims)?.permute(order)?.contiguous()
}

/// The other way.
fn rows_first(x: &Tensor) -> Result<Tensor> {
    let rank = x.rank();
    let order: Vec<usize> = (1..rank - 1).chain([0, rank - 1]).collect();
    x.permute(order)?.contiguous()?.flatten_from(D::Minus2)
}

/// [`attention`] as a composition of candle operations; the probabilities `[heads, Q, K]` with `keep`.
pub(super) fn attention_composed(
    q: &Tensor,
    kv: &Tensor,
    bias: Option<&Tensor>,
    shape: BiasedShape,
    keep: bool,
) -> Result<(Tensor, Option<Tensor>)> {
    let width = shape.width();
    let p = probabilities_composed(q, &kv.narrow(1, 0, width)?, bias, shape)?;
    Ok((rows_first(&p.matmul(&by_head(&kv.narrow(1, width, width)?, shape)?)?)?, keep.then_some(p)))
}

/// The probabilities `[heads, Q, K]` of queries `[Q, W]` over keys `[K, W]`.
pub(super) fn probabilities_composed(
    q: &Tensor,
    k: &Tensor,
    bias: Option<&Tensor>,
    shape: BiasedShape,
) -> Result<Tensor> {
    let (n_q, n_k) = (q.dim(0)?, k.dim(0)?);
    let k = by_head(k, shape)?;
    let mut scores = by_head(q, shape)?.matmul(&k.transpose(1, 2)?.contiguous()?)?.to_dtype(DType::F32)?;
    if let Some(bias) = bias {
        let at: Vec<u32> = (0..n_q).flat_map(|i| (0..n_k).map(move |j| (j + n_q - 1 - i) as u32)).collect();
        let bias = bias.to_dtype(DType::F32)?.index_select(&Tensor::new(at, q.device())?, 1)?;
        scores = (scores + bias.reshape((shape.n_heads, n_q, n_k))?)?;
    }
    if shape.causal {
        let mask = Tensor::tril2(n_q, DType::F32, q.device())?;
        // exactly zero where masked: the mask is added as a large negative number before the maximum is taken
        scores = scores.broadcast_add(&((mask - 1.0)? * 1e30)?)?;
    }
    let scores = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?)?.exp()?;
    scores.broadcast_div(&scores.sum_keepdim(D::Minus1)?)?.to_dtype(q.dtype())
}

/// [`attention_vjp`] as a composition.
pub(super) fn attention_vjp_composed(
    q: &Tensor,
    kv: &Tensor,
    p: &Tensor,
    out: &Tensor,
    shape: BiasedShape,
    d_out: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let (b, s, width) = d_out.dims3()?;
    let (nh, d) = (shape.n_heads, shape.head_dim);
    let n_k = shape.visible(s, kv.dim(0)?);
    let kv = kv.narrow(0, 0, n_k)?;
    let q = by_head(&q.narrow(0, 0, s)?, shape)?;
    let (k, v) = (by_head(&kv.narrow(1, 0, width)?, shape)?, by_head(&kv.narrow(1, width, width)?, shape)?);
    let p = p.narrow(1, 0, s)?.narrow(2, 0, n_k)?.contiguous()?;
    let d_o = by_head(d_out, shape)?; // [nh, B, s, d]

    // rowsum(dO ∘ O), once per query row
    let o = by_head(&out.narrow(0, 0, s)?, shape)?.unsqueeze(1)?.to_dtype(DType::F32)?;
    let mean = d_o.to_dtype(DType::F32)?.broadcast_mul(&o)?.sum_keepdim(D::Minus1)?;

    let rows = d_o.reshape((nh, b * s, d))?;
    let dp = rows.matmul(&v.transpose(1, 2)?.contiguous()?)?.reshape((nh, b, s, n_k))?.to_dtype(DType::F32)?;
    let ds = dp.broadcast_sub(&mean)?.broadcast_mul(&p.unsqueeze(1)?.to_dtype(DType::F32)?)?.to_dtype(q.dtype())?;
    let dq = ds.reshape((nh, b * s, n_k))?.matmul(&k)?.reshape((nh, b, s, d))?;
    let over_targets = |x: &Tensor| x.unsqueeze(1)?.expand((nh, b, x.dim(1)?, x.dim(2)?))?.contiguous();
    let dk = ds.transpose(2, 3)?.contiguous()?.matmul(&over_targets(&q)?)?;
    let dv = over_targets(&p.transpose(1, 2)?.contiguous()?)?.matmul(&d_o)?;
    Ok((rows_first(&dq)?, Tensor::cat(&[rows_first(&dk)?, rows_first(&dv)?], 2)?))
}
