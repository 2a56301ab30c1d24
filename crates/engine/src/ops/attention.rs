//! Causal attention on the CPU, tile by tile over the causal half, and its vector-Jacobian product. Under a sliding window a
//! tile's keys begin with the panel that holds the first key its first query sees; those before it are not worked out.
//!
//! Rows of `qkv` are `[q heads | k heads | v heads]`, so a head is a column range. Products are of [`Element`]s; probabilities,
//! the softmax and its gradient are worked out in the accumulator's type.

use std::{mem::MaybeUninit, ops::Range};

use bytemuck::Pod;
use candle_core::WithDType;
use rayon::prelude::*;

use super::{
    HeadLayout, Real,
    cpu::{rotate_head, sum},
    kernel::{Columns, Element, Left, Packed, WIDEST, Within, product_within},
    scratch::{Scratch, written},
    simd::vectorised,
};

/// Query rows handled at once: their scores against all earlier keys stay in the level-2 cache.
const TILE: usize = 64;

/// Where the keys of a tile begin whose first query sees those from `first` on: where a panel begins, which products of columns need, and
/// at the same key whatever a panel's width is.
pub(super) fn first_of_tile(first: usize) -> usize {
    first / WIDEST * WIDEST
}

/// Softmax of `scale * row` over the entries `seen`; the rest become zero.
#[inline(always)]
pub(super) fn softmax_within<T: Real>(row: &mut [T], seen: Range<usize>, scale: T) {
    row[..seen.start].fill(T::default());
    row[seen.end..].fill(T::default());
    softmax(&mut row[seen], scale);
}

/// What all targets' gradients of one layer's attention share.
#[derive(Debug)]
pub(crate) struct Kept<E: Element> {
    /// Probabilities `[queries, keys]` by head, zero where masked, as words of neighbouring rows.
    pub(super) probabilities: Vec<Vec<E::Word>>,
    /// Right-hand side of `x Vᵀ`, by key-value head.
    pub(super) values: Vec<Packed<E>>,
    /// Keys.
    pub(super) s: usize,
}

impl<E: Element> Kept<E> {
    /// The probabilities `[n_heads, queries, keys]` as they are kept, and a row of zeros if the number of queries is odd.
    #[cfg(test)]
    pub(crate) fn probabilities(&self) -> Vec<Vec<E::Real>> {
        let rows = |words: &[E::Word]| -> Vec<E::Real> {
            let of_word = |k| words.iter().map(move |&word| E::elements(word)[k]);
            (0..E::PER_WORD).flat_map(of_word).collect()
        };
        self.probabilities.iter().map(|head| head.chunks(self.s).flat_map(rows).collect()).collect()
    }
}

/// Scaled dot-product attention with a causal mask, and the window of `heads` if there is one.
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
            let mut probabilities = Scratch::<E::Real>::new(TILE.min(s) * s);
            let mut kept = vec![E::Word::default(); if keep { s.div_ceil(E::PER_WORD) * s } else { 0 }];
            for start in (0..s).step_by(TILE) {
                let end = (start + TILE).min(s);
                let first = first_of_tile(heads.visible(start).start);
                let (rows, n_keys, before) = (end - start, end - first, start - first);
                let p = &mut probabilities[..rows * n_keys];
                let queries = Left::<E>::rows(&qkv[start * width + q..], rows, d, width);
                let right = keys.right().columns(first..end);
                product_within(&queries, right, p, n_keys, false, Within::ResultUpTo(before));
                vectorised(
                    #[inline(always)]
                    || {
                        for (i, row) in p.chunks_exact_mut(n_keys).enumerate() {
                            let seen = heads.visible(start + i);
                            softmax_within(row, seen.start - first..seen.end - first, scale);
                        }
                    },
                );
                if keep {
                    E::put_column_words(p, n_keys, &mut kept[start / E::PER_WORD * s + first..], s);
                }
                let p = Left::<E>::rows(p, rows, n_keys, n_keys);
                let (right, out) = (values.part(first..end, d), &mut out[start * d..]);
                product_within(&p, right.right(), out, d, false, Within::LeftUpTo(before));
            }
            (out, keep.then_some(kept))
        })
        .unzip();

    let mut out = vec![E::Real::default(); s * heads.n_heads * d];
    for (h, head) in heads_out.iter().enumerate() {
        for (row, head) in out.chunks_exact_mut(heads.n_heads * d).zip(head.chunks_exact(d)) {
            row[h * d..][..d].copy_from_slice(head);
        }
    }
    let kept = keep.then(|| Kept {
        probabilities: probabilities.into_iter().flatten().collect(),
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

/// `rowsum(d_out ∘ out)` of every head, `[heads, rows]`: what the mean of the scores' gradients under the probabilities is.
pub(super) fn gradient_means<T: Real + Pod>(out: &[T], d_out: &[T], head_dim: usize, n_heads: usize) -> Scratch<T> {
    let width = n_heads * head_dim;
    let rows = d_out.len() / width;
    let mut means = Scratch::new(n_heads * rows);
    vectorised(
        #[inline(always)]
        || {
            for (i, (o, d_o)) in out.chunks_exact(width).zip(d_out.chunks_exact(width)).enumerate() {
                for h in 0..n_heads {
                    let head = h * head_dim..(h + 1) * head_dim;
                    means[h * rows + i] = sum([&o[head.clone()], &d_o[head]], |[o, d_o]| o * d_o);
                }
            }
        },
    );
    means
}

/// Gradient of [`softmax`] of `scale * row` in place, for the rows of a tile: `ds` `[rows, keys]` comes as the gradient by the
/// probabilities, whose words `p` lie `stride` apart; `means` `[rows]` are those of [`gradient_means`]. Row `i` sees
/// `visible(i)` keys; what is in `ds` beyond them becomes zero.
pub(super) fn softmax_vjp<E: Element>(
    ds: &mut [E::Real],
    keys: usize,
    (p, stride): (&[E::Word], usize),
    means: &[E::Real],
    visible: impl Fn(usize) -> usize,
    scale: E::Real,
) {
    vectorised(
        #[inline(always)]
        || {
            for (i, (ds, &mean)) in ds.chunks_exact_mut(keys).zip(means).enumerate() {
                let p = &p[i / E::PER_WORD * stride..][..keys];
                let (seen, beyond) = ds.split_at_mut(visible(i));
                // the constant index vectorises
                if i % E::PER_WORD == 0 {
                    for (ds, &p) in seen.iter_mut().zip(p) {
                        *ds = E::elements(p)[0] * (*ds - mean) * scale;
                    }
                } else {
                    for (ds, &p) in seen.iter_mut().zip(p) {
                        *ds = E::elements(p)[1] * (*ds - mean) * scale;
                    }
                }
                beyond.fill(E::Real::default());
            }
        },
    );
}

/// Puts `rows` `[n, head_dim]` into the columns from `column` on of rows `out` `[n.., width]`, turned back by their angles if there
/// are some: cosines and sines `[n.., head_dim / 2]`.
fn put_rows<T: Real>(
    rows: &mut [T],
    head_dim: usize,
    out: &mut [MaybeUninit<T>],
    (column, width): (usize, usize),
    angles: Option<[&[T]; 2]>,
) {
    let half = head_dim / 2;
    vectorised(
        #[inline(always)]
        || {
            for (i, (row, out)) in rows.chunks_exact_mut(head_dim).zip(out.chunks_exact_mut(width)).enumerate() {
                if let Some([cos, sin]) = angles {
                    rotate_head(row, [&cos[i * half..], &sin[i * half..]], true);
                }
                for (out, &value) in out[column..column + head_dim].iter_mut().zip(row.iter()) {
                    out.write(value);
                }
            }
        },
    );
}

/// Gradient of [`attention`] with respect to `qkv`, for `d_out` `[B, s, n_heads * head_dim]`; returns `[B, s, W]`. `out` is the
/// forward pass's. With `angles`, cosines and sines `[s, head_dim / 2]`, the gradient goes on through the rotation of queries and
/// keys by them.
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
    angles: Option<[&[E::Real]; 2]>,
) -> Vec<E::Real> {
    let (width, d, o_width) = (heads.width(), heads.head_dim, heads.n_heads * heads.head_dim);
    let scale = E::Real::from_f64(1.0 / (d as f64).sqrt());
    let qkv_words = Columns::<E>::new(qkv, s, width, width);
    let of_target = |(d_qkv, d_out): (&mut [MaybeUninit<E::Real>], &[E::Real])| {
        let (d_out_columns, d_out_rows) =
            (Columns::<E>::new(d_out, s, o_width, o_width), Left::<E>::rows(d_out, s, o_width, o_width));
        let means = gradient_means(out, d_out, d, heads.n_heads);
        let mut ds = Scratch::<E::Real>::new(TILE.min(s) * s);
        let mut d_queries = Scratch::<E::Real>::new(TILE.min(s) * d);
        let (mut d_keys, mut d_values) = (Scratch::<E::Real>::new(s * d), Scratch::<E::Real>::new(s * d));
        for h in 0..heads.n_heads {
            let (q, k, v) = heads.columns(h);
            let (queries, keys) = (qkv_words.at_column(q), qkv_words.at_column(k));
            let probabilities = Columns::<E>::of_words(&kept.probabilities[h], kept.s);
            let values = kept.values[h / heads.group()].right();
            let d_out_head = d_out_columns.at_column(h * d);
            if h % heads.group() == 0 {
                d_keys.fill(E::Real::default());
                d_values.fill(E::Real::default());
            }
            for start in (0..s).step_by(TILE) {
                let end = (start + TILE).min(s);
                let first = first_of_tile(heads.visible(start).start);
                let (rows, n_keys, before) = (end - start, end - first, start - first);
                let d_o = d_out_rows.part(start..end, h * d..(h + 1) * d);
                let ds = &mut ds[..rows * n_keys];
                product_within(&d_o, values.columns(first..end), ds, n_keys, false, Within::ResultUpTo(before));
                let p = (&kept.probabilities[h][start / E::PER_WORD * kept.s + first..], kept.s);
                // before the window the probabilities are zero, and with them these gradients
                softmax_vjp::<E>(ds, n_keys, p, &means[h * s + start..][..rows], |i| before + i + 1, scale);
                let d_queries = &mut d_queries[..rows * d];
                let ds_rows = Left::<E>::rows(ds, rows, n_keys, n_keys);
                let right = keys.part(first..end, d);
                product_within(&ds_rows, right.right(), d_queries, d, false, Within::LeftUpTo(before));
                let angles = angles.map(|angles| angles.map(|table| &table[start * d / 2..]));
                put_rows(d_queries, d, &mut d_qkv[start * width..], (q, width), angles);
                let (ds, right) = (Columns::<E>::new(ds, rows, n_keys, n_keys), queries.part(start..end, d));
                let (d_keys, d_values) = (&mut d_keys[first * d..], &mut d_values[first * d..]);
                product_within(&Left::transposed(&ds), right.right(), d_keys, d, true, Within::LeftFrom(before));
                let (seen, right) = (probabilities.at_column(first), d_out_head.part(start..end, d));
                let p = seen.part(start..end, n_keys);
                product_within(&Left::transposed(&p), right.right(), d_values, d, true, Within::LeftFrom(before));
            }
            if (h + 1) % heads.group() == 0 {
                put_rows(&mut d_keys, d, d_qkv, (k, width), angles);
                put_rows(&mut d_values, d, d_qkv, (v, width), None);
            }
        }
    };
    let write = |d_qkv: &mut [MaybeUninit<E::Real>]| {
        d_qkv.par_chunks_exact_mut(s * width).zip(d_out.par_chunks_exact(s * o_width)).for_each(of_target);
    };
    // SAFETY: of every row, each query head is written in its tile, and each key and value head behind the last of its group.
    unsafe { written(d_out.len() / o_width * width, write) }
}
