//! bf16 where its own products are slow: operands are rounded to bf16 and multiplied as f32.

use super::{Element, Tile, Words, f32_tile, put_transposed_singles, round_to_bf16};
use crate::ops::{scratch::Scratch, simd::vectorised};

/// Marks products of operands rounded to bf16, held as f32 and accumulated in f32. They mean what those of [`super::Bf16`] mean; the sums
/// are taken in another order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounded;

/// The nearest bf16 as an f32.
#[inline(always)]
fn rounded(x: f32) -> f32 {
    f32::from_bits(round_to_bf16(x) << 16)
}

/// Rows of `x`, each `cols` long and `stride` apart, rounded one behind the other.
fn all_rounded(x: &[f32], rows: usize, cols: usize, stride: usize) -> Scratch<f32> {
    let mut words = Scratch::<f32>::new(rows * cols);
    for (i, words) in words.chunks_exact_mut(cols.max(1)).enumerate() {
        Rounded::put_row_words(&x[i * stride..][..cols], words);
    }
    words
}

impl Element for Rounded {
    type Real = f32;
    type Word = f32;
    const PER_WORD: usize = 1;

    fn reals(numbers: &[f32]) -> Words<'_, f32> {
        Words::Lent(numbers)
    }

    #[inline(always)]
    fn word(first: f32, _: f32) -> f32 {
        rounded(first)
    }

    #[inline(always)]
    fn elements(word: f32) -> [f32; 2] {
        [word, 0.0]
    }

    #[inline(always)]
    fn transposed(a: f32, b: f32) -> [f32; 2] {
        [a, b]
    }

    fn row_words(x: &[f32], rows: usize, cols: usize, stride: usize) -> (Words<'_, f32>, usize) {
        (Words::Scratch(all_rounded(x, rows, cols, stride)), cols)
    }

    fn put_row_words(x: &[f32], words: &mut [f32]) {
        vectorised(
            #[inline(always)]
            || {
                for (word, &x) in words.iter_mut().zip(x) {
                    *word = rounded(x);
                }
            },
        );
    }

    fn scaled_words(x: &[f32], factors: &[f32], words: &mut [f32]) {
        vectorised(
            #[inline(always)]
            || {
                for ((word, &x), &factor) in words.iter_mut().zip(x).zip(factors) {
                    *word = rounded(x * factor);
                }
            },
        );
    }

    fn column_words(x: &[f32], rows: usize, cols: usize, stride: usize) -> (Words<'_, f32>, usize) {
        (Words::Scratch(all_rounded(x, rows, cols, stride)), cols)
    }

    fn put_column_words(x: &[f32], cols: usize, words: &mut [f32], stride: usize) {
        for (words, row) in words.chunks_mut(stride).zip(x.chunks_exact(cols)) {
            Self::put_row_words(row, &mut words[..cols]);
        }
    }

    #[inline(always)]
    fn multiply_add(acc: f32, a: f32, b: f32) -> f32 {
        acc + a * b
    }

    fn put_transposed(rows: &[f32], stride: usize, steps: &mut [f32]) {
        put_transposed_singles(rows, stride, steps);
    }

    unsafe fn tile(tile: &Tile<Self>) -> bool {
        let Tile { rows, cols, steps, a, a_row, a_step, b, b_step, c, c_row, accumulate } = *tile;
        // SAFETY: the same numbers at the same places; the caller vouches for them.
        unsafe { f32_tile(&Tile { rows, cols, steps, a, a_row, a_step, b, b_step, c, c_row, accumulate }) }
    }
}
