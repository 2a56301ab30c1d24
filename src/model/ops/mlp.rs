//! Gradient of the feed-forward network, gated or plain, tile by tile: what is between its products never leaves the cache.

use rayon::prelude::*;

use super::{
    kernel::{BLOCK_ROWS, Element, Left, Packed, product},
    scratch::Scratch,
};

/// Hidden units that a tile of rows goes through at once.
pub(crate) const UNITS: usize = 512;

/// The network at one input: transposed weights, and the derivatives of its hidden units for every row.
pub(crate) struct Mlp<'a, E: Element> {
    /// `Wᵀ` of the projection out of the hidden units, for `[H] -> [F]`.
    pub(crate) down: &'a Packed<E>,
    /// For each projection into them (gate and up, or the one there is): its `Wᵀ`, for `[F] -> [H]`, and the derivative of the
    /// hidden units by it, `[s, F]`.
    pub(crate) branches: &'a [(&'a Packed<E>, &'a [E::Real])],
}

impl<E: Element> Mlp<'_, E> {
    /// Gradient with respect to the network's input, for `dy` `[B, s, H]`.
    pub(crate) fn vjp(&self, dy: &[E::Real]) -> Vec<E::Real> {
        let (h, f) = (self.down.inputs, self.down.outputs);
        let mut dx = vec![E::Real::default(); dy.len()];
        dx.par_chunks_mut(BLOCK_ROWS * h).zip(dy.par_chunks(BLOCK_ROWS * h)).enumerate().for_each(
            |(tile, (dx, dy))| {
                let rows = dy.len() / h;
                let dy = Left::<E>::rows(dy, rows, h, h);
                let mut d_unit = Scratch::<E::Real>::new(rows * UNITS.min(f));
                for first in (0..f).step_by(UNITS) {
                    let units = first..f.min(first + UNITS);
                    let n = units.len();
                    let d_unit = &mut d_unit[..rows * n];
                    product(&dy, self.down.right().columns(units.clone()), d_unit, n, false);
                    for (branch, &(weight, derivative)) in self.branches.iter().enumerate() {
                        let s = derivative.len() / f;
                        let row = |i: usize| &derivative[(tile * BLOCK_ROWS + i) % s * f + first..][..n];
                        let left = Left::<E>::scaled_rows(d_unit, n, row);
                        let accumulate = first > 0 || branch > 0;
                        product(&left, weight.right().inputs(units.clone()), dx, h, accumulate);
                    }
                }
            },
        );
        dx
    }
}
