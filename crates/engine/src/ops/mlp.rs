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
/// Most targets whose rows make up a tile: each should have several rows in it.
const TARGETS: usize = 16;

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
        let target = norm.x.len();
        let write = |dx: &mut [MaybeUninit<E::Real>]| {
            for (dx, dy) in dx.chunks_mut(TARGETS * target).zip(dy.chunks(TARGETS * target)) {
                self.vjp_of_targets(norm, dy, dx);
            }
        };
        // SAFETY: every target is in one chunk, and all of a chunk is written.
        unsafe { written(dy.len(), write) }
    }

    /// [`Mlp::vjp`] of a few targets; writes all of `dx`. The same rows of all of them make a tile, so that the derivatives of these
    /// rows, which are too many for the cache, are read once.
    fn vjp_of_targets(&self, norm: &NormRows<'_, E::Real>, dy: &[E::Real], dx: &mut [MaybeUninit<E::Real>]) {
        let (h, f) = (self.down.inputs, self.down.outputs);
        let target = norm.x.len().max(1);
        let n_rows = (BLOCK_ROWS / dy.len().div_ceil(target).max(1)).max(1);
        let mut of_targets: Vec<_> = dx.chunks_mut(target).map(|dx| dx.chunks_mut(n_rows * h)).collect();
        let tiles: Vec<Vec<_>> = (0..target.div_ceil(n_rows * h))
            .map(|_| of_targets.iter_mut().filter_map(Iterator::next).collect())
            .collect();
        tiles.into_par_iter().enumerate().for_each(|(tile, dx)| {
            let first = tile * n_rows;
            let dy: Vec<_> = dy.chunks(target).zip(&dx).map(|(dy, dx)| &dy[first * h..][..dx.len()]).collect();
            let left = Left::<E>::rows_of_all(&dy, h);
            let rows = dx.iter().map(|dx| dx.len() / h).sum::<usize>();
            let period = rows / dx.len();
            let mut d_normed = Scratch::<E::Real>::new(rows * h);
            let mut d_unit = Scratch::<E::Real>::new(rows * UNITS.min(f));
            for start in (0..f).step_by(UNITS) {
                let units = start..f.min(start + UNITS);
                let n = units.len();
                let d_unit = &mut d_unit[..rows * n];
                product(&left, self.down.right().columns(units.clone()), d_unit, n, false);
                for (i, Branch { weight, derivative }) in self.branches.iter().enumerate() {
                    let row = |i: usize| &row_of(derivative, first + i, f)[start..][..n];
                    let left = Left::<E>::scaled_rows(d_unit, n, period, row);
                    let accumulate = start > 0 || i > 0;
                    product(&left, weight.right().inputs(units.clone()), &mut d_normed, h, accumulate);
                }
            }
            for ((dx, dy), d_normed) in dx.into_iter().zip(dy).zip(d_normed.chunks_exact(period * h)) {
                norm.vjp_rows(first, d_normed, dy, dx);
            }
        });
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
