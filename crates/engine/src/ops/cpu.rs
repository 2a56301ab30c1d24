//! CPU kernels over slices, generic over f32 and f64. Each forward has its vector-Jacobian product beside it.
//!
//! Letters: `S` rows of the sequence, `B` targets in a chunk, `H` width. A gradient has `B * S` rows; row `r` belongs
//! to sequence row `r % S`, because all targets of a chunk share one forward pass.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::{Gate, HeadLayout, Real, scratch::written, simd::vectorised};

/// Rows handed to one task: large enough to hide the hand-over, small enough to share out.
const ROWS_PER_TASK: usize = 32;

/// Applies `f(row index, output row)` to every row of `out`, in parallel. A closure that is not always inlined is compiled
/// without the processor's vectors.
fn for_rows<T: Real>(out: &mut [T], width: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    out.par_chunks_mut(width * ROWS_PER_TASK).enumerate().for_each(|(task, rows)| {
        vectorised(
            #[inline(always)]
            || {
                for (i, row) in rows.chunks_exact_mut(width).enumerate() {
                    f(task * ROWS_PER_TASK + i, row);
                }
            },
        );
    });
}

/// Sum of a function of the rows' elements in sixteen partial sums, so that it vectorises; the order is fixed, so the result
/// is too.
#[inline(always)]
pub(super) fn sum<T: Real, U: Real, const N: usize>(rows: [&[T]; N], term: impl Fn([T; N]) -> U) -> U {
    let n = rows[0].len();
    let chunks = rows.map(|row| row[..n].as_chunks::<16>().0);
    let mut lanes = [U::zero(); 16];
    for c in 0..n / 16 {
        let chunk = chunks.map(|chunks| &chunks[c]);
        for (l, lane) in lanes.iter_mut().enumerate() {
            *lane += term(chunk.map(|row| row[l]));
        }
    }
    let mut total = U::zero();
    for lane in lanes {
        total += lane;
    }
    for i in n / 16 * 16..n {
        total += term(rows.map(|row| row[i]));
    }
    total
}

/// 1 / sqrt(mean(x²) + eps) of one row.
#[inline(always)]
fn inverse_rms<T: Real>(x: &[T], eps: T) -> T {
    T::one() / (sum([x], |[x]| x * x) / T::from_f64(x.len() as f64) + eps).sqrt()
}

#[inline(always)]
fn rms_norm_row<T: Real>(x: &[T], w: &[T], eps: T, y: &mut [T]) {
    let (x, w) = (&x[..y.len()], &w[..y.len()]);
    let inv = inverse_rms(x, eps);
    for i in 0..y.len() {
        y[i] = x[i] * inv * w[i];
    }
}

/// `inv` and `c` of the gradient `inv * (w∘dy) - c * x` of an RMS norm: `c = inv³ / H * Σ(w∘dy∘x)`.
#[inline(always)]
fn rms_norm_slopes<T: Real>(x: &[T], w: &[T], eps: T, dy: &[T]) -> (T, T) {
    let inv = inverse_rms(x, eps);
    (inv, inv * inv * inv * sum([w, dy, x], |[w, dy, x]| w * dy * x) / T::from_f64(x.len() as f64))
}

/// `y = x / rms(x) * w`, row by row.
pub(crate) fn rms_norm<T: Real>(x: &[T], w: &[T], eps: f64) -> Vec<T> {
    let (width, eps) = (w.len(), T::from_f64(eps));
    let mut y = vec![T::zero(); x.len()];
    for_rows(
        &mut y,
        width,
        #[inline(always)]
        |r, y| rms_norm_row(&x[r * width..][..width], w, eps, y),
    );
    y
}

/// An RMS norm at rows `x` `[S, H]` that all targets share, with weight `w` `[H]`.
pub(crate) struct NormRows<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) w: &'a [T],
    pub(crate) eps: f64,
}

impl<T: Real> NormRows<'_, T> {
    /// Gradient of [`rms_norm`] for `[B, S, H]` rows `dy`, plus `residual`, the gradient that by-passes the norm.
    pub(crate) fn vjp(&self, dy: &[T], residual: &[T]) -> Vec<T> {
        let of_task = self.w.len() * ROWS_PER_TASK;
        let rows = dy.par_chunks(of_task).zip(residual.par_chunks(of_task));
        let write = |dx: &mut [MaybeUninit<T>]| {
            dx.par_chunks_mut(of_task).zip(rows).enumerate().for_each(|(task, (dx, (dy, residual)))| {
                self.vjp_rows(task * ROWS_PER_TASK, dy, residual, dx);
            });
        };
        // SAFETY: the tasks cover all rows, and each writes its own.
        unsafe { written(dy.len(), write) }
    }

    /// Some rows of [`NormRows::vjp`], from row `first` of `[B * S]` on; writes all of `dx`, which is as long as the others.
    pub(crate) fn vjp_rows(&self, first: usize, dy: &[T], residual: &[T], dx: &mut [MaybeUninit<T>]) {
        let (width, eps) = (self.w.len(), T::from_f64(self.eps));
        let s = self.x.len() / width;
        assert!(dx.len() == dy.len() && dx.len() == residual.len() && dx.len().is_multiple_of(width), "whole rows");
        vectorised(
            #[inline(always)]
            || {
                let rows = dy.chunks_exact(width).zip(residual.chunks_exact(width));
                for (i, (dx, (dy, residual))) in dx.chunks_exact_mut(width).zip(rows).enumerate() {
                    let x = &self.x[(first + i) % s * width..][..width];
                    let w = &self.w[..width];
                    let (inv, c) = rms_norm_slopes(x, w, eps, dy);
                    for i in 0..width {
                        dx[i].write(residual[i] + (inv * w[i] * dy[i] - c * x[i]));
                    }
                }
            },
        );
    }
}

#[inline(always)]
fn sigmoid<T: Real>(x: T) -> T {
    T::one() / (T::one() + (-x).exp_fast())
}

/// `act(gate) ∘ up`, element by element.
pub(crate) fn gated<T: Real>(act: Gate, gate: &[T], up: &[T], width: usize) -> Vec<T> {
    let (c, d) = act.coefficients();
    let (c, d) = (T::from_f64(c), T::from_f64(d));
    let mut out = vec![T::zero(); gate.len()];
    for_rows(
        &mut out,
        width,
        #[inline(always)]
        |r, out| {
            let (gate, up) = (&gate[r * width..][..width], &up[r * width..][..width]);
            for i in 0..width {
                let x = gate[i];
                out[i] = x * sigmoid(c * (x + d * x * x * x)) * up[i];
            }
        },
    );
    out
}

/// The derivatives of [`gated`] that every target's gradient shares: `∂out/∂gate`, and `∂out/∂up`.
pub(crate) fn gated_jacobian<T: Real>(act: Gate, gate: &[T], up: &[T], width: usize) -> (Vec<T>, Vec<T>) {
    let (c, d) = act.coefficients();
    let (c, d, three) = (T::from_f64(c), T::from_f64(d), T::from_f64(3.0));
    let of_task = width * ROWS_PER_TASK;
    let write = |d_gate: &mut [MaybeUninit<T>], d_up: &mut [MaybeUninit<T>]| {
        let inputs = gate.par_chunks(of_task).zip(up.par_chunks(of_task));
        let outputs = d_gate.par_chunks_mut(of_task).zip(d_up.par_chunks_mut(of_task));
        outputs.zip(inputs).for_each(|((d_gate, d_up), (gate, up))| {
            vectorised(
                #[inline(always)]
                || {
                    for (((d_gate, d_up), &x), &up) in d_gate.iter_mut().zip(d_up).zip(gate).zip(up) {
                        let s = sigmoid(c * (x + d * x * x * x));
                        // σ(a) + x σ(a) (1 - σ(a)) a'
                        let slope = c * (T::one() + three * d * x * x);
                        d_gate.write(up * s * (T::one() + x * slope * (T::one() - s)));
                        d_up.write(x * s);
                    }
                },
            );
        });
    };
    assert_eq!(gate.len(), up.len(), "gate and up of unlike lengths");
    let mut d_up = Vec::new();
    // SAFETY: both results are as long as both inputs, whose chunks are written one for one.
    let d_gate = unsafe { written(gate.len(), |d_gate| d_up = written(up.len(), |d_up| write(d_gate, d_up))) };
    (d_gate, d_up)
}

/// Rotates one head of one row by its angles, element `i` paired with `i + head_dim / 2`; `inverse` turns back.
#[inline(always)]
pub(super) fn rotate_head<T: Real>(head: &mut [T], [cos, sin]: [&[T]; 2], inverse: bool) {
    let half = head.len() / 2;
    let sign = if inverse { -T::one() } else { T::one() };
    let (a, b) = head.split_at_mut(half);
    let (a, b, cos, sin) = (&mut a[..half], &mut b[..half], &cos[..half], &sin[..half]);
    for i in 0..half {
        (a[i], b[i]) = (a[i] * cos[i] - sign * b[i] * sin[i], b[i] * cos[i] + sign * a[i] * sin[i]);
    }
}

/// Rotates the query and key heads of `[.., S, W]` rows by their position; `inverse` undoes it, which is also the
/// gradient. `cos` and `sin` are `[S, head_dim / 2]`; element `i` is paired with `i + head_dim / 2`.
pub(crate) fn rope<T: Real>(qkv: &[T], cos: &[T], sin: &[T], heads: HeadLayout, inverse: bool) -> Vec<T> {
    let (width, d, half) = (heads.width(), heads.head_dim, heads.head_dim / 2);
    let s = cos.len() / half;
    let mut out = qkv.to_vec();
    for_rows(
        &mut out,
        width,
        #[inline(always)]
        |r, out| {
            let angles = [&cos[(r % s) * half..], &sin[(r % s) * half..]];
            for head in out[..heads.n_rotated() * d].chunks_exact_mut(d) {
                rotate_head(head, angles, inverse);
            }
        },
    );
    out
}

/// RMS norm of each query head (weight `wq`) and key head (`wk`), values untouched (Qwen3).
pub(crate) fn head_norm<T: Real>(qkv: &[T], wq: &[T], wk: &[T], eps: f64, heads: HeadLayout) -> Vec<T> {
    let (width, d, eps) = (heads.width(), heads.head_dim, T::from_f64(eps));
    let mut out = vec![T::zero(); qkv.len()];
    for_rows(
        &mut out,
        width,
        #[inline(always)]
        |r, out| {
            let x = &qkv[r * width..][..width];
            for h in 0..heads.n_rotated() {
                let w = if h < heads.n_heads { wq } else { wk };
                rms_norm_row(&x[h * d..][..d], w, eps, &mut out[h * d..][..d]);
            }
            let v = heads.n_rotated() * d;
            out[v..].copy_from_slice(&x[v..]);
        },
    );
    out
}

/// Gradient of [`head_norm`] for `[B, S, W]` rows over the shared `qkv` `[S, W]` before the norm.
pub(crate) fn head_norm_vjp<T: Real>(qkv: &[T], wq: &[T], wk: &[T], eps: f64, heads: HeadLayout, dy: &[T]) -> Vec<T> {
    let (width, d, eps) = (heads.width(), heads.head_dim, T::from_f64(eps));
    let s = qkv.len() / width;
    let mut dx = vec![T::zero(); dy.len()];
    for_rows(
        &mut dx,
        width,
        #[inline(always)]
        |r, dx| {
            let x = &qkv[(r % s) * width..][..width];
            let dy = &dy[r * width..][..width];
            for h in 0..heads.n_rotated() {
                let w = if h < heads.n_heads { wq } else { wk };
                let at = h * d..(h + 1) * d;
                let (x, dy, dx) = (&x[at.clone()], &dy[at.clone()], &mut dx[at]);
                let (inv, c) = rms_norm_slopes(x, w, eps, dy);
                for i in 0..d {
                    dx[i] = inv * w[i] * dy[i] - c * x[i];
                }
            }
            let v = heads.n_rotated() * d;
            dx[v..].copy_from_slice(&dy[v..]);
        },
    );
    dx
}

/// Adds the row `bias` to every row of `x` in place.
pub(crate) fn add_bias<T: Real>(x: &mut [T], bias: &[T]) {
    for_rows(
        x,
        bias.len(),
        #[inline(always)]
        |_, row| {
            for (x, b) in row.iter_mut().zip(bias) {
                *x += *b;
            }
        },
    );
}

/// ‖x∘g‖₂ and Σ x∘g of every row of `g` (`[B, S, H]`) against the shared `x` (`[S, H]`), accumulated in f64.
pub(crate) fn input_x_gradient<T: Real>(x: &[T], g: &[T], width: usize) -> Vec<[f64; 2]> {
    let s = x.len() / width;
    g.par_chunks_exact(width)
        .enumerate()
        .map(|(r, g)| {
            let x = &x[(r % s) * width..][..width];
            vectorised(
                #[inline(always)]
                || {
                    let square = sum([x, g], |[x, g]| {
                        let v = x.to_f64() * g.to_f64();
                        v * v
                    });
                    let dot: f64 = sum([x, g], |[x, g]| x.to_f64() * g.to_f64());
                    [square.sqrt(), dot]
                },
            )
        })
        .collect()
}
