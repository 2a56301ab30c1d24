//! Gradients of what follows a norm, tile by tile: what is between the products never leaves the cache. The feed-forward
//! network, gated or plain, and a projection.

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::{
    cpu::NormRows,
    kernel::{BLOCK_ROWS, Element, Left, Packed, product},
    scratch::{Scratch, written},
};

/// Hidden units that a tile of rows goes through at once.
pub(crate) const UNITS: usize = 512;

/// The network at one input: transposed weights, and the derivatives of its hidden units for every row.
pub(crate) struct Mlp<'a, E: Element> {
    /// `Wᵀ` of the projection out of the hidden units, for `[H] -> [F]`.
    pub(crate) down: &'a Packed<E>,
    /// The projections into them: gate and up, or the one there is.
    pub(crate) branches: &'a [Branch<'a, E>],
}

/// A projection into the hidden units.
pub(crate) struct Branch<'a, E: Element> {
    /// Its `Wᵀ`, for `[F] -> [H]`.
    pub(crate) weight: &'a Packed<E>,
    /// The derivative of the hidden units by it, `[s, F]` in slices one behind the other.
    pub(crate) derivative: Vec<&'a [E::Real]>,
}

impl<E: Element> Mlp<'_, E> {
    /// Gradient of `x + network(norm(x))` with respect to `x`, for `dy` `[B, s, H]`.
    pub(crate) fn vjp(&self, norm: &NormRows<'_, E::Real>, dy: &[E::Real]) -> Vec<E::Real> {
        let (h, f) = (self.down.inputs, self.down.outputs);
        let write = |dx: &mut [MaybeUninit<E::Real>]| {
            let tiles = dx.par_chunks_mut(BLOCK_ROWS * h).zip(dy.par_chunks(BLOCK_ROWS * h));
            tiles.enumerate().for_each(|(tile, (dx, dy))| {
                let rows = dy.len() / h;
                let left = Left::<E>::rows(dy, rows, h, h);
                let mut d_normed = Scratch::<E::Real>::new(rows * h);
                let mut d_unit = Scratch::<E::Real>::new(rows * UNITS.min(f));
                for first in (0..f).step_by(UNITS) {
                    let units = first..f.min(first + UNITS);
                    let n = units.len();
                    let d_unit = &mut d_unit[..rows * n];
                    product(&left, self.down.right().columns(units.clone()), d_unit, n, false);
                    for (i, Branch { weight, derivative }) in self.branches.iter().enumerate() {
                        let s = norm.x.len() / h;
                        let row = |i: usize| &row_of(derivative, (tile * BLOCK_ROWS + i) % s, f)[first..][..n];
                        let left = Left::<E>::scaled_rows(d_unit, n, row);
                        let accumulate = first > 0 || i > 0;
                        product(&left, weight.right().inputs(units.clone()), &mut d_normed, h, accumulate);
                    }
                }
                norm.vjp_rows(tile * BLOCK_ROWS, &d_normed, dy, dx);
            });
        };
        // SAFETY: the tiles cover all rows, and the norm's gradient writes those of its own.
        unsafe { written(dy.len(), write) }
    }
}

/// A row of rows that lie one behind the other in several slices.
fn row_of<'a, T>(parts: &[&'a [T]], row: usize, width: usize) -> &'a [T] {
    let mut at = row * width;
    for part in parts {
        if at < part.len() {
            return &part[at..at + width];
        }
        at -= part.len();
    }
    panic!("row {row} is behind the last");
}

/// Gradient of `x + rest(norm(x) Wᵀ)` with respect to `x`, from that of the product, `d` `[B, s, N]`, and what by-passes the
/// norm, `residual` `[B, s, H]`; `weight` is `Wᵀ`, for `[N] -> [H]`.
pub(crate) fn projection_vjp<E: Element>(
    weight: &Packed<E>,
    norm: &NormRows<'_, E::Real>,
    d: &[E::Real],
    residual: &[E::Real],
) -> Vec<E::Real> {
    let (n, h) = (weight.inputs, weight.outputs);
    let write = |dx: &mut [MaybeUninit<E::Real>]| {
        let tiles = dx.par_chunks_mut(BLOCK_ROWS * h).zip(d.par_chunks(BLOCK_ROWS * n));
        tiles.zip(residual.par_chunks(BLOCK_ROWS * h)).enumerate().for_each(|(tile, ((dx, d), residual))| {
            let rows = d.len() / n;
            let mut d_normed = Scratch::<E::Real>::new(rows * h);
            product(&Left::<E>::rows(d, rows, n, n), weight.right(), &mut d_normed, h, false);
            norm.vjp_rows(tile * BLOCK_ROWS, &d_normed, residual, dx);
        });
    };
    // SAFETY: the tiles cover all rows, and the norm's gradient writes those of its own.
    unsafe { written(residual.len(), write) }
}
