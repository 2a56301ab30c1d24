//! Gradient of the gated feed-forward network, tile by tile: what is between its products never leaves the cache.

use rayon::prelude::*;

use super::{
    kernel::{BLOCK_ROWS, Element, Left, Packed, product},
    simd::vectorised,
};

/// Hidden units that a tile of rows goes through at once.
const UNITS: usize = 512;

/// The network at one input: transposed weights, and the derivatives of its gate for every row.
pub(crate) struct GatedMlp<'a, E: Element> {
    /// `Wᵀ` of the projections, for `[H] -> [F]`, `[F] -> [H]`, `[F] -> [H]`.
    pub(crate) down: &'a Packed<E>,
    pub(crate) gate: &'a Packed<E>,
    pub(crate) up: &'a Packed<E>,
    /// ∂ out / ∂ gate and ∂ out / ∂ up, `[s, F]` each.
    pub(crate) d_gate: &'a [E::Real],
    pub(crate) d_up: &'a [E::Real],
}

impl<E: Element> GatedMlp<'_, E> {
    /// Gradient with respect to the network's input, for `dy` `[B, s, H]`.
    pub(crate) fn vjp(&self, dy: &[E::Real]) -> Vec<E::Real> {
        let (h, f) = (self.down.inputs, self.down.outputs);
        let s = self.d_gate.len() / f;
        let mut dx = vec![E::Real::default(); dy.len()];
        dx.par_chunks_mut(BLOCK_ROWS * h).zip(dy.par_chunks(BLOCK_ROWS * h)).enumerate().for_each(
            |(tile, (dx, dy))| {
                let rows = dy.len() / h;
                let dy = Left::<E>::rows(dy, rows, h, h);
                let mut d_unit = vec![E::Real::default(); rows * UNITS.min(f)];
                let mut d_half = d_unit.clone();
                for first in (0..f).step_by(UNITS) {
                    let units = first..f.min(first + UNITS);
                    let n = units.len();
                    product(&dy, self.down.right().columns(units.clone()), &mut d_unit, n, false);
                    for (weight, derivative) in [(self.gate, self.d_gate), (self.up, self.d_up)] {
                        vectorised(
                            #[inline(always)]
                            || {
                                for (i, (out, d)) in
                                    d_half.chunks_exact_mut(n).zip(d_unit.chunks_exact(n)).take(rows).enumerate()
                                {
                                    let row = (tile * BLOCK_ROWS + i) % s;
                                    let derivative = &derivative[row * f + first..][..n];
                                    for ((out, &d), &j) in out.iter_mut().zip(d).zip(derivative) {
                                        *out = d * j;
                                    }
                                }
                            },
                        );
                        let left = Left::<E>::rows(&d_half, rows, n, n);
                        let accumulate = first > 0 || std::ptr::eq(weight, self.up);
                        product(&left, weight.right().inputs(units.clone()), dx, h, accumulate);
                    }
                }
            },
        );
        dx
    }
}
