//! CPU kernels over slices, generic over f32 and f64. Each forward has its vector-Jacobian product beside it.
//!
//! Letters: `S` rows of the sequence, `B` targets in a chunk, `H` width. A gradient has `B * S` rows; row `r` belongs
//! to sequence row `r % S`, because all targets of a chunk share one forward pass.

use rayon::prelude::*;

use super::{Gate, HeadLayout, Real, simd::vectorised};

/// Rows handed to one task: large enough to hide the hand-over, small enough to share out.
const ROWS_PER_TASK: usize = 32;

/// Applies `f(row index, output row)` to every row of `out`, in parallel.
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
fn sum<T: Real, U: Real, const N: usize>(rows: [&[T]; N], term: impl Fn([T; N]) -> U) -> U {
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

/// `dx = inv * (w∘dy) - x * inv³ / H * Σ(w∘dy∘x)`, added to `dx` where `accumulate`.
#[inline(always)]
fn rms_norm_vjp_row<T: Real>(x: &[T], w: &[T], eps: T, dy: &[T], residual: Option<&[T]>, dx: &mut [T]) {
    let n = dx.len();
    let (x, w, dy) = (&x[..n], &w[..n], &dy[..n]);
    let inv = inverse_rms(x, eps);
    let dot = sum([w, dy, x], |[w, dy, x]| w * dy * x);
    let c = inv * inv * inv * dot / T::from_f64(n as f64);
    match residual {
        Some(residual) => {
            let residual = &residual[..n];
            for i in 0..n {
                dx[i] = residual[i] + (inv * w[i] * dy[i] - c * x[i]);
            }
        }
        None => {
            for i in 0..n {
                dx[i] = inv * w[i] * dy[i] - c * x[i];
            }
        }
    }
}

/// `y = x / rms(x) * w`, row by row.
pub(crate) fn rms_norm<T: Real>(x: &[T], w: &[T], eps: f64) -> Vec<T> {
    let (width, eps) = (w.len(), T::from_f64(eps));
    let mut y = vec![T::zero(); x.len()];
    for_rows(&mut y, width, |r, y| rms_norm_row(&x[r * width..][..width], w, eps, y));
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
        let mut dx = vec![T::zero(); dy.len()];
        let rows = dy.par_chunks(of_task).zip(residual.par_chunks(of_task));
        dx.par_chunks_mut(of_task).zip(rows).enumerate().for_each(|(task, (dx, (dy, residual)))| {
            self.vjp_rows(task * ROWS_PER_TASK, dy, residual, dx);
        });
        dx
    }

    /// Some rows of [`NormRows::vjp`], from row `first` of `[B * S]` on, into `dx`.
    pub(crate) fn vjp_rows(&self, first: usize, dy: &[T], residual: &[T], dx: &mut [T]) {
        let (width, eps) = (self.w.len(), T::from_f64(self.eps));
        let s = self.x.len() / width;
        vectorised(
            #[inline(always)]
            || {
                let rows = dy.chunks_exact(width).zip(residual.chunks_exact(width));
                for (i, (dx, (dy, residual))) in dx.chunks_exact_mut(width).zip(rows).enumerate() {
                    let x = &self.x[(first + i) % s * width..][..width];
                    rms_norm_vjp_row(x, self.w, eps, dy, Some(residual), dx);
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
    for_rows(&mut out, width, |r, out| {
        let (gate, up) = (&gate[r * width..][..width], &up[r * width..][..width]);
        for i in 0..width {
            let x = gate[i];
            out[i] = x * sigmoid(c * (x + d * x * x * x)) * up[i];
        }
    });
    out
}

/// The derivatives of [`gated`] that every target's gradient shares: `∂out/∂gate`, and `∂out/∂up`.
pub(crate) fn gated_jacobian<T: Real>(act: Gate, gate: &[T], up: &[T], width: usize) -> (Vec<T>, Vec<T>) {
    let (c, d) = act.coefficients();
    let (c, d, three) = (T::from_f64(c), T::from_f64(d), T::from_f64(3.0));
    let mut d_gate = vec![T::zero(); gate.len()];
    for_rows(&mut d_gate, width, |r, out| {
        let (gate, up) = (&gate[r * width..][..width], &up[r * width..][..width]);
        for i in 0..width {
            let x = gate[i];
            let s = sigmoid(c * (x + d * x * x * x));
            // σ(a) + x σ(a) (1 - σ(a)) a'
            let slope = c * (T::one() + three * d * x * x);
            out[i] = up[i] * s * (T::one() + x * slope * (T::one() - s));
        }
    });
    let mut d_up = vec![T::zero(); gate.len()];
    for_rows(&mut d_up, width, |r, out| {
        let gate = &gate[r * width..][..width];
        for i in 0..width {
            let x = gate[i];
            out[i] = x * sigmoid(c * (x + d * x * x * x));
        }
    });
    (d_gate, d_up)
}

/// Rotates the query and key heads of `[.., S, W]` rows by their position; `inverse` undoes it, which is also the
/// gradient. `cos` and `sin` are `[S, head_dim / 2]`; element `i` is paired with `i + head_dim / 2`.
pub(crate) fn rope<T: Real>(qkv: &[T], cos: &[T], sin: &[T], heads: HeadLayout, inverse: bool) -> Vec<T> {
    let (width, half) = (heads.width(), heads.head_dim / 2);
    let s = cos.len() / half;
    let sign = if inverse { -T::one() } else { T::one() };
    let mut out = vec![T::zero(); qkv.len()];
    for_rows(&mut out, width, |r, out| {
        let x = &qkv[r * width..][..width];
        let (cos, sin) = (&cos[(r % s) * half..][..half], &sin[(r % s) * half..][..half]);
        for h in 0..heads.n_rotated() {
            let at = h * heads.head_dim;
            let (a, b) = x[at..at + 2 * half].split_at(half);
            let (ya, yb) = out[at..at + 2 * half].split_at_mut(half);
            for i in 0..half {
                ya[i] = a[i] * cos[i] - sign * b[i] * sin[i];
                yb[i] = b[i] * cos[i] + sign * a[i] * sin[i];
            }
        }
        let v = heads.n_rotated() * heads.head_dim;
        out[v..].copy_from_slice(&x[v..]);
    });
    out
}

/// RMS norm of each query head (weight `wq`) and key head (`wk`), values untouched (Qwen3).
pub(crate) fn head_norm<T: Real>(qkv: &[T], wq: &[T], wk: &[T], eps: f64, heads: HeadLayout) -> Vec<T> {
    let (width, d, eps) = (heads.width(), heads.head_dim, T::from_f64(eps));
    let mut out = vec![T::zero(); qkv.len()];
    for_rows(&mut out, width, |r, out| {
        let x = &qkv[r * width..][..width];
        for h in 0..heads.n_rotated() {
            let w = if h < heads.n_heads { wq } else { wk };
            rms_norm_row(&x[h * d..][..d], w, eps, &mut out[h * d..][..d]);
        }
        let v = heads.n_rotated() * d;
        out[v..].copy_from_slice(&x[v..]);
    });
    out
}

/// Gradient of [`head_norm`] for `[B, S, W]` rows over the shared `qkv` `[S, W]` before the norm.
pub(crate) fn head_norm_vjp<T: Real>(qkv: &[T], wq: &[T], wk: &[T], eps: f64, heads: HeadLayout, dy: &[T]) -> Vec<T> {
    let (width, d, eps) = (heads.width(), heads.head_dim, T::from_f64(eps));
    let s = qkv.len() / width;
    let mut dx = vec![T::zero(); dy.len()];
    for_rows(&mut dx, width, |r, dx| {
        let x = &qkv[(r % s) * width..][..width];
        let dy = &dy[r * width..][..width];
        for h in 0..heads.n_rotated() {
            let w = if h < heads.n_heads { wq } else { wk };
            let at = h * d..(h + 1) * d;
            rms_norm_vjp_row(&x[at.clone()], w, eps, &dy[at.clone()], None, &mut dx[at]);
        }
        let v = heads.n_rotated() * d;
        dx[v..].copy_from_slice(&dy[v..]);
    });
    dx
}

/// Adds the row `bias` to every row of `x` in place.
pub(crate) fn add_bias<T: Real>(x: &mut [T], bias: &[T]) {
    for_rows(x, bias.len(), |_, row| {
        for (x, b) in row.iter_mut().zip(bias) {
            *x += *b;
        }
    });
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
