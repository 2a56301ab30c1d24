//! A vector in steps of 8 bits.

use crate::ops::vectorised;

/// Numbers of a block.
pub(super) const BLOCK: usize = 32;

/// A vector, rounded to 8 bits a number.
#[derive(Debug)]
pub(super) struct Rounded {
    /// Of each block: what a step is worth.
    pub(super) scales: Vec<f32>,
    /// Of each block: the sum of its rounded numbers.
    pub(super) sums: Vec<f32>,
    /// Of each block: the sum of its steps.
    pub(super) wholes: Vec<i32>,
    pub(super) steps: Vec<i8>,
}

impl Rounded {
    /// `x`, whose length is a multiple of [`BLOCK`].
    pub(super) fn of(x: &[f32]) -> Rounded {
        let n = x.len() / BLOCK;
        let mut rounded =
            Rounded { scales: vec![0.0; n], sums: vec![0.0; n], wholes: vec![0; n], steps: vec![0; n * BLOCK] };
        vectorised(
            #[inline(always)]
            || rounded.fill(x),
        );
        rounded
    }

    #[inline(always)]
    fn fill(&mut self, x: &[f32]) {
        let blocks = x.chunks_exact(BLOCK).zip(self.steps.chunks_exact_mut(BLOCK));
        let of_blocks = self.scales.iter_mut().zip(&mut self.sums).zip(&mut self.wholes);
        for ((x, steps), ((scale, sum), whole)) in blocks.zip(of_blocks) {
            let mut most = 0.0_f32;
            for x in x {
                most = most.max(x.abs());
            }
            *scale = most / 127.0;
            let inverse = if *scale > 0.0 { 1.0 / *scale } else { 0.0 };
            *whole = 0;
            for (step, x) in steps.iter_mut().zip(x) {
                *step = (x * inverse).round() as i8;
                *whole += i32::from(*step);
            }
            *sum = *scale * *whole as f32;
        }
    }

    /// The steps of a block.
    pub(super) fn block(&self, i: usize) -> &[i8] {
        &self.steps[i * BLOCK..][..BLOCK]
    }
}
