//! Matrix products on the CPU: rows of a left-hand side against panels of columns of a right-hand side.
//!
//! The right-hand side of a layer is packed once and used by every row that passes; the left-hand side is read as it lies.
//! What is multiplied is an [`Element`]: f32, f64, bf16 pairs that are accumulated in f32 ([`Bf16`]), or f32 rounded to bf16
//! ([`Rounded`]). Tiles of 6 rows and a panel's columns live in registers; they are written with the intrinsics of AVX-512 or AVX2 where
//! the processor has them, elsewhere with loops that the compiler vectorises. Where it has AMX tiles of pairs have 16 rows. Every output row is worked out in the same order whatever rows are beside it, so results depend
//! neither on batches nor on threads.

use std::{
    fmt,
    ops::{Deref, DerefMut, Range},
};

use bytemuck::Pod;
use rayon::prelude::*;

use super::{
    instructions::{Instructions, instructions},
    scratch::Scratch,
    simd::{Real, vectorised},
    stored::StoredRows,
};

#[cfg(target_arch = "x86_64")]
pub(super) mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod rounded;

pub(crate) use rounded::Rounded;

/// Columns of the widest panel: four vectors of AVX-512. Every panel's width divides it.
pub(crate) const WIDEST: usize = 64;

/// Columns of a panel: those whose sums are in registers at once, so that a tile reads its panel from one end to the other. Panels wider
/// than that were read in strides that fill a quarter of the level-1 cache (measured: docs/measured.md, products on AVX2).
pub(crate) fn panel_width() -> usize {
    match instructions() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => avx2::COLUMNS,
        _ => WIDEST,
    }
}

/// Rows of a tile of vectors; with four of them a row this leaves registers for the operands.
const TILE_ROWS: usize = 6;
/// Most words of the reduction that a tile works through before it is put back: a panel's share of them stays in the level-2
/// cache. Longer reductions are cut into blocks of so many, and a rest: where they are cut must not depend on how long they are,
/// or a row of attention would depend on the keys behind it.
const BLOCK_STEPS: usize = 768;
/// Rows that go through all panels together.
pub(crate) const BLOCK_ROWS: usize = 96;
/// Columns of the rectangles that a large product is divided into.
const BLOCK_COLUMNS: usize = 8 * WIDEST;

/// What is multiplied, how it is stored, and what it is accumulated in.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    /// Inputs and results, and the accumulator.
    type Real: Real + Pod;
    /// What is loaded at once: one element, or two neighbours of the reduction.
    type Word: Pod + Default + Send + Sync + std::fmt::Debug;
    /// Elements of the reduction in a word.
    const PER_WORD: usize;

    /// Numbers of a file as they are worked with.
    fn reals(numbers: &[f32]) -> Words<'_, Self::Real>;
    /// A word of neighbours in the reduction; the second is ignored where a word holds one.
    fn word(first: Self::Real, second: Self::Real) -> Self::Word;
    /// The elements of a word; the second is zero where a word holds one.
    fn elements(word: Self::Word) -> [Self::Real; 2];
    /// The words of two neighbours in the other direction: what is first in `a` and `b`, and what is second.
    fn transposed(a: Self::Word, b: Self::Word) -> [Self::Word; 2];
    /// A matrix whose rows are reduced, as words; rows `stride` apart, the result's stride beside it.
    fn row_words(x: &[Self::Real], rows: usize, cols: usize, stride: usize) -> (Words<'_, Self::Word>, usize);
    /// The words of one row.
    fn put_row_words(x: &[Self::Real], words: &mut [Self::Word]);
    /// The words of `x ∘ factors`.
    fn scaled_words(x: &[Self::Real], factors: &[Self::Real], words: &mut [Self::Word]);
    /// A matrix whose columns are reduced, as `[rows / PER_WORD, cols]` words and their stride.
    fn column_words(x: &[Self::Real], rows: usize, cols: usize, stride: usize) -> (Words<'_, Self::Word>, usize);
    /// The same for `x` `[rows, cols]`, into the first columns of words `[rows / PER_WORD, stride]`.
    fn put_column_words(x: &[Self::Real], cols: usize, words: &mut [Self::Word], stride: usize);
    /// The first words of rows that begin `stride` apart, at most [`panel_width`] rows, into the columns of `steps`: as many of each row as
    /// there are steps, which are [`panel_width`] wide.
    fn put_transposed(rows: &[Self::Word], stride: usize, steps: &mut [Self::Word]);
    /// `acc + first * first + second * second`.
    fn multiply_add(acc: Self::Real, a: Self::Word, b: Self::Word) -> Self::Real;
    /// Most rows of a tile.
    fn tile_rows() -> usize {
        TILE_ROWS
    }
    /// Words of the reduction that are added up before they reach the sums: it begins at a multiple of them.
    fn steps_at_once() -> usize {
        1
    }
    /// Works a tile out with intrinsics; `false` where this processor has none for it.
    ///
    /// # Safety
    /// As [`Tile`] demands.
    unsafe fn tile(tile: &Tile<Self>) -> bool;
}

/// Marks products of operands rounded to bf16, two to a word, accumulated in f32.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bf16;

macro_rules! whole_word {
    ($t:ty, |$numbers:ident| $reals:expr, $transposed:path, |$tile:ident| $intrinsics:expr) => {
        impl Element for $t {
            type Real = $t;
            type Word = $t;
            const PER_WORD: usize = 1;

            fn reals($numbers: &[f32]) -> Words<'_, $t> {
                $reals
            }
            #[inline(always)]
            fn word(first: $t, _: $t) -> $t {
                first
            }
            #[inline(always)]
            fn elements(word: $t) -> [$t; 2] {
                [word, 0.0]
            }
            #[inline(always)]
            fn transposed(a: $t, b: $t) -> [$t; 2] {
                [a, b]
            }
            fn row_words(x: &[$t], _: usize, _: usize, stride: usize) -> (Words<'_, $t>, usize) {
                (Words::Lent(x), stride)
            }
            fn put_row_words(x: &[$t], words: &mut [$t]) {
                words.copy_from_slice(x);
            }
            fn scaled_words(x: &[$t], factors: &[$t], words: &mut [$t]) {
                vectorised(
                    #[inline(always)]
                    || {
                        for ((word, &x), &factor) in words.iter_mut().zip(x).zip(factors) {
                            *word = x * factor;
                        }
                    },
                );
            }
            fn column_words(x: &[$t], _: usize, _: usize, stride: usize) -> (Words<'_, $t>, usize) {
                (Words::Lent(x), stride)
            }
            fn put_column_words(x: &[$t], cols: usize, words: &mut [$t], stride: usize) {
                for (words, row) in words.chunks_mut(stride).zip(x.chunks_exact(cols)) {
                    words[..cols].copy_from_slice(row);
                }
            }
            #[inline(always)]
            fn multiply_add(acc: $t, a: $t, b: $t) -> $t {
                acc + a * b
            }
            fn put_transposed(rows: &[$t], stride: usize, steps: &mut [$t]) {
                $transposed(rows, stride, steps);
            }
            unsafe fn tile($tile: &Tile<Self>) -> bool {
                $intrinsics
            }
        }
    };
}

/// Numbers of a file, widened.
fn widened(numbers: &[f32]) -> Words<'_, f64> {
    let mut wide = Scratch::<f64>::new(numbers.len());
    wide.iter_mut().zip(numbers).for_each(|(wide, &number)| *wide = f64::from(number));
    Words::Scratch(wide)
}

whole_word!(f64, |numbers| widened(numbers), put_transposed_doubles, |_tile| false);
whole_word!(f32, |numbers| Words::Lent(numbers), put_transposed_singles, |tile| {
    // SAFETY: the caller vouches for the tile.
    unsafe { f32_tile(tile) }
});

/// A tile of f32 by the widest vectors there are: every element is the same chain of fused multiply-adds in all of them.
///
/// # Safety
/// As [`Tile`] demands.
unsafe fn f32_tile(tile: &Tile<f32>) -> bool {
    match instructions() {
        // SAFETY: the processor has the instructions; the caller vouches for the tile.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 | Instructions::Amx => unsafe { avx512::f32_tile(tile) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => unsafe { avx2::f32_tile(tile) },
        _ => {
            let _ = tile;
            return false;
        }
    }
    #[cfg(target_arch = "x86_64")]
    true
}

/// The nearest bf16, ties to even, in the low half.
#[inline(always)]
fn round_to_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16
}

/// Neighbours of a row, scaled where there are factors, rounded into words.
fn pair_words(x: &[f32], factors: Option<&[f32]>, words: &mut [u32]) {
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if has_bf16_products() {
        done = x.len().min(factors.map_or(usize::MAX, <[f32]>::len)) / 32 * 32;
        // SAFETY: the processor has the instructions, and `done` elements are there.
        unsafe { avx512::round_pairs(&x[..done], factors.map(|f| &f[..done]), &mut words[..done / 2]) };
    }
    let scaled = |i: usize| x.get(i).map_or(0.0, |&x| factors.map_or(x, |factors| x * factors[i]));
    for (p, word) in words.iter_mut().enumerate().skip(done / 2) {
        *word = Bf16::word(scaled(2 * p), scaled(2 * p + 1));
    }
}

/// Elements of a row beside those of the row below it, rounded into words; zeros where there is none.
fn stacked_words(first: &[f32], second: Option<&[f32]>, words: &mut [u32]) {
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if has_bf16_products() {
        done = first.len() / 16 * 16;
        // SAFETY: the processor has the instructions, and `done` elements are there.
        unsafe { avx512::round_stacked(&first[..done], second.map(|row| &row[..done]), &mut words[..done]) };
    }
    for (j, word) in words.iter_mut().enumerate().skip(done) {
        *word = Bf16::word(first[j], second.map_or(0.0, |row| row[j]));
    }
}

impl Element for Bf16 {
    type Real = f32;
    type Word = u32;
    const PER_WORD: usize = 2;

    fn reals(numbers: &[f32]) -> Words<'_, f32> {
        Words::Lent(numbers)
    }

    #[inline(always)]
    fn word(first: f32, second: f32) -> u32 {
        round_to_bf16(first) | round_to_bf16(second) << 16
    }

    #[inline(always)]
    fn elements(word: u32) -> [f32; 2] {
        [f32::from_bits(word << 16), f32::from_bits(word & 0xffff_0000)]
    }

    #[inline(always)]
    fn transposed(a: u32, b: u32) -> [u32; 2] {
        [a & 0xffff | b << 16, a >> 16 | b & 0xffff_0000]
    }

    fn row_words(x: &[f32], rows: usize, cols: usize, stride: usize) -> (Words<'_, u32>, usize) {
        let steps = cols.div_ceil(2);
        let mut words = Scratch::<u32>::new(rows * steps);
        for (i, words) in words.chunks_exact_mut(steps.max(1)).enumerate() {
            Self::put_row_words(&x[i * stride..][..cols], words);
        }
        (Words::Scratch(words), steps)
    }

    fn put_row_words(x: &[f32], words: &mut [u32]) {
        pair_words(x, None, words);
    }

    fn scaled_words(x: &[f32], factors: &[f32], words: &mut [u32]) {
        pair_words(x, Some(factors), words);
    }

    fn column_words(x: &[f32], rows: usize, cols: usize, stride: usize) -> (Words<'_, u32>, usize) {
        let mut words = Scratch::<u32>::new(rows.div_ceil(2) * cols);
        for (p, words) in words.chunks_exact_mut(cols.max(1)).enumerate() {
            let second = if 2 * p + 1 < rows { Some(&x[(2 * p + 1) * stride..][..cols]) } else { None };
            stacked_words(&x[2 * p * stride..][..cols], second, words);
        }
        (Words::Scratch(words), cols)
    }

    fn put_column_words(x: &[f32], cols: usize, words: &mut [u32], stride: usize) {
        for (words, rows) in words.chunks_mut(stride).zip(x.chunks(2 * cols)) {
            stacked_words(&rows[..cols], rows.get(cols..2 * cols), &mut words[..cols]);
        }
    }

    #[inline(always)]
    fn multiply_add(acc: f32, a: u32, b: u32) -> f32 {
        let ([a0, a1], [b0, b1]) = (Self::elements(a), Self::elements(b));
        acc + a0 * b0 + a1 * b1
    }

    fn put_transposed(rows: &[u32], stride: usize, steps: &mut [u32]) {
        // moved as they are, whatever numbers the bits would be
        put_transposed_singles(bytemuck::cast_slice(rows), stride, bytemuck::cast_slice_mut(steps));
    }

    #[cfg(target_arch = "x86_64")]
    fn tile_rows() -> usize {
        if has_amx() { amx::ROWS } else { TILE_ROWS }
    }

    #[cfg(target_arch = "x86_64")]
    fn steps_at_once() -> usize {
        if has_amx() { amx::STEPS } else { 1 }
    }

    unsafe fn tile(tile: &Tile<Self>) -> bool {
        #[cfg(target_arch = "x86_64")]
        if has_amx() {
            // SAFETY: the processor has the instructions; the caller vouches for the tile.
            unsafe { amx::bf16_tile(tile) };
            return true;
        }
        #[cfg(target_arch = "x86_64")]
        if has_bf16_products() {
            // SAFETY: the processor has the instructions; the caller vouches for the tile.
            unsafe { avx512::bf16_tile(tile) };
            return true;
        }
        let _ = tile;
        false
    }
}

/// See [`Element::put_transposed`]; of some rows and columns.
fn put_transposed<W: Copy>(words: &[W], stride: usize, rows: Range<usize>, columns: Range<usize>, steps: &mut [W]) {
    let width = panel_width();
    for p in columns {
        let step = &mut steps[p * width..][..width];
        for c in rows.clone() {
            step[c] = words[c * stride + p];
        }
    }
}

fn put_transposed_doubles(words: &[f64], stride: usize, steps: &mut [f64]) {
    put_transposed(words, stride, 0..words.len().div_ceil(stride.max(1)), 0..steps.len() / panel_width(), steps);
}

/// The same of words of four bytes, squares of four at a time where the processor has vectors for that.
fn put_transposed_singles(words: &[f32], stride: usize, steps: &mut [f32]) {
    let width = panel_width();
    let (n, n_steps) = (words.len().div_ceil(stride.max(1)), steps.len() / width);
    assert!(n <= width && (n == 0 || (n - 1) * stride + n_steps <= words.len()), "the words do not fit");
    #[cfg(target_arch = "x86_64")]
    let (rows, columns) = (n / 4 * 4, n_steps / 4 * 4);
    #[cfg(not(target_arch = "x86_64"))]
    let (rows, columns) = (0, 0);
    #[cfg(target_arch = "x86_64")]
    for c in (0..rows).step_by(4) {
        for p in (0..columns).step_by(4) {
            use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
            // SAFETY: SSE2 is part of x86-64; rows `c..c + 4` and columns `p..p + 4` are inside the words, and so are the steps.
            unsafe {
                let row = |i: usize| _mm_loadu_ps(words.as_ptr().add((c + i) * stride + p));
                let (mut r0, mut r1, mut r2, mut r3) = (row(0), row(1), row(2), row(3));
                _MM_TRANSPOSE4_PS(&mut r0, &mut r1, &mut r2, &mut r3);
                for (i, r) in [r0, r1, r2, r3].into_iter().enumerate() {
                    _mm_storeu_ps(steps.as_mut_ptr().add((p + i) * width + c), r);
                }
            }
        }
    }
    put_transposed(words, stride, rows..n, 0..columns, steps);
    put_transposed(words, stride, 0..n, columns..n_steps, steps);
}

/// Whether this processor multiplies bf16 pairs in one instruction (AVX512-BF16). Without it bf16 products are worked out
/// element by element and are slower than f32.
pub fn has_bf16_products() -> bool {
    #[cfg(target_arch = "x86_64")]
    return instructions() >= Instructions::Avx512 && std::arch::is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether pairs go through the tile registers of AMX.
#[cfg(target_arch = "x86_64")]
fn has_amx() -> bool {
    instructions() >= Instructions::Amx && has_bf16_products()
}

/// Asks for memory that is about to be read.
fn prefetch<T>(of: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(of)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is inside the slice, and nothing is read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(of.as_ptr().cast::<i8>().add(at)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = of;
}

/// Words of an operand: those of a matrix as it lies, or made of it.
pub(crate) enum Words<'a, W: Pod> {
    Lent(&'a [W]),
    Scratch(Scratch<W>),
}

impl<W: Pod> Deref for Words<'_, W> {
    type Target = [W];

    fn deref(&self) -> &[W] {
        match self {
            Words::Lent(words) => words,
            Words::Scratch(words) => words,
        }
    }
}

/// The left-hand side of a product: `rows x steps` words at any strides.
pub(crate) struct Left<'a, E: Element> {
    words: Words<'a, E::Word>,
    rows: usize,
    steps: usize,
    row_stride: usize,
    step_stride: usize,
}

impl<'a, E: Element> Left<'a, E> {
    /// `x` `[rows, cols]`, rows `stride` apart, reduced over its columns.
    pub(crate) fn rows(x: &'a [E::Real], rows: usize, cols: usize, stride: usize) -> Self {
        assert!(rows == 0 || (rows - 1) * stride + cols <= x.len(), "matrix view out of bounds");
        let (words, row_stride) = E::row_words(x, rows, cols, stride);
        Left { words, rows, steps: cols.div_ceil(E::PER_WORD), row_stride, step_stride: 1 }
    }

    /// The rows of several matrices of `cols` columns, one behind the other, reduced over their columns.
    pub(crate) fn rows_of_all(parts: &[&[E::Real]], cols: usize) -> Self {
        let steps = cols.div_ceil(E::PER_WORD);
        let rows = parts.iter().map(|part| part.len() / cols.max(1)).sum();
        let mut words = Scratch::<E::Word>::new(rows * steps);
        let all = parts.iter().flat_map(|part| part.chunks_exact(cols.max(1)));
        for (x, words) in all.zip(words.chunks_exact_mut(steps.max(1))) {
            E::put_row_words(x, words);
        }
        Left { words: Words::Scratch(words), rows, steps, row_stride: steps, step_stride: 1 }
    }

    /// `x ∘ factors(row % period)`, for `x` `[rows, cols]`, reduced over its columns.
    pub(crate) fn scaled_rows(
        x: &[E::Real],
        cols: usize,
        period: usize,
        factors: impl Fn(usize) -> &'a [E::Real],
    ) -> Self {
        let steps = cols.div_ceil(E::PER_WORD);
        let rows = x.len() / cols.max(1);
        let mut words = Scratch::<E::Word>::new(rows * steps);
        let mut next = if rows > 0 { factors(0) } else { &[] };
        for row in 0..period.min(rows) {
            let factors_of_row = &next[..cols];
            if row + 1 < period.min(rows) {
                // parts of rows that lie far apart, which the processor does not foresee
                next = factors(row + 1);
                prefetch(&next[..cols]);
            }
            for i in (row..rows).step_by(period) {
                E::scaled_words(&x[i * cols..][..cols], factors_of_row, &mut words[i * steps..][..steps]);
            }
        }
        Left { words: Words::Scratch(words), rows, steps, row_stride: steps, step_stride: 1 }
    }

    /// Some of the rows and of the elements that are reduced over; the first of these is even.
    pub(crate) fn part(&self, rows: Range<usize>, inputs: Range<usize>) -> Left<'_, E> {
        debug_assert!(inputs.start.is_multiple_of(E::PER_WORD));
        let (first, last) = (inputs.start / E::PER_WORD, inputs.end.div_ceil(E::PER_WORD));
        let at = rows.start * self.row_stride + first * self.step_stride;
        Left { words: Words::Lent(&self.words[at..]), rows: rows.len(), steps: last - first, ..*self }
    }

    /// The transpose of a matrix, reduced over its rows.
    pub(crate) fn transposed(x: &'a Columns<'_, E>) -> Self {
        Left { words: Words::Lent(&x.words), rows: x.cols, steps: x.steps, row_stride: 1, step_stride: x.stride }
    }
}

/// A matrix that is reduced over its rows: the right-hand side as it lies, or the transposed left one.
pub(crate) struct Columns<'a, E: Element> {
    words: Words<'a, E::Word>,
    steps: usize,
    cols: usize,
    stride: usize,
}

impl<'a, E: Element> Columns<'a, E> {
    /// `x` `[rows, cols]`, rows `stride` apart.
    pub(crate) fn new(x: &'a [E::Real], rows: usize, cols: usize, stride: usize) -> Self {
        assert!(rows == 0 || (rows - 1) * stride + cols <= x.len(), "matrix view out of bounds");
        let (words, stride) = E::column_words(x, rows, cols, stride);
        Columns { words, steps: rows.div_ceil(E::PER_WORD), cols, stride }
    }

    /// Of the words `[rows / PER_WORD, cols]` of a matrix, see [`Element::put_column_words`].
    pub(crate) fn of_words(words: &'a [E::Word], cols: usize) -> Self {
        Columns { words: Words::Lent(words), steps: words.len() / cols.max(1), cols, stride: cols }
    }

    /// From a column on.
    pub(crate) fn at_column(&self, column: usize) -> Columns<'_, E> {
        let words = Words::Lent(&self.words[column.min(self.words.len())..]);
        Columns { words, steps: self.steps, cols: self.cols - column, stride: self.stride }
    }

    /// Rows `rows.start..rows.end`, where the start is even, and the first `cols` columns.
    pub(crate) fn part(&self, rows: Range<usize>, cols: usize) -> Columns<'_, E> {
        debug_assert!(rows.start.is_multiple_of(E::PER_WORD));
        let (first, last) = (rows.start / E::PER_WORD, rows.end.div_ceil(E::PER_WORD));
        Columns {
            words: Words::Lent(&self.words[first * self.stride..]),
            steps: last - first,
            cols,
            stride: self.stride,
        }
    }

    /// As the right-hand side of a product.
    pub(crate) fn right(&self) -> Right<'_, E> {
        let (steps, cols) = (self.steps, self.cols);
        Right { words: &self.words, steps, cols, panel_stride: panel_width(), step_stride: self.stride }
    }
}

/// A right-hand side in panels of [`panel_width`] columns: `[panels, steps, width]` words, zeros after the last column and step.
pub(crate) struct Packed<E: Element> {
    words: Memory<E::Word>,
    /// Elements that are reduced over.
    pub(crate) inputs: usize,
    /// Columns of the product.
    pub(crate) outputs: usize,
}

/// Where panels are: memory of their own, or what a thread keeps for panels that live no longer than one product.
enum Memory<W: Pod> {
    Own(Vec<W>),
    Scratch(Scratch<W>),
}

impl<W: Pod> Deref for Memory<W> {
    type Target = [W];

    fn deref(&self) -> &[W] {
        match self {
            Memory::Own(words) => words,
            Memory::Scratch(words) => words,
        }
    }
}

impl<W: Pod> DerefMut for Memory<W> {
    fn deref_mut(&mut self) -> &mut [W] {
        match self {
            Memory::Own(words) => words,
            Memory::Scratch(words) => words,
        }
    }
}

impl<E: Element> fmt::Debug for Packed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed[{}, {}]", self.outputs, self.inputs)
    }
}

impl<E: Element> Packed<E> {
    fn steps(&self) -> usize {
        self.inputs.div_ceil(E::PER_WORD)
    }

    fn empty(inputs: usize, outputs: usize) -> Self {
        let words = vec![E::Word::default(); Self::len(inputs, outputs)];
        Packed { words: Memory::Own(words), inputs, outputs }
    }

    /// Words of all panels.
    fn len(inputs: usize, outputs: usize) -> usize {
        outputs.div_ceil(panel_width()) * inputs.div_ceil(E::PER_WORD) * panel_width()
    }

    /// The right-hand side of `x Wᵀ` for `w` `[outputs, inputs]`, rows `stride` apart.
    pub(crate) fn of_rows(w: &[E::Real], outputs: usize, inputs: usize, stride: usize) -> Self {
        assert!(outputs == 0 || (outputs - 1) * stride + inputs <= w.len(), "matrix view out of bounds");
        let (width, mut packed) = (panel_width(), Self::empty(inputs, outputs));
        packed.for_panels(|j, panel| {
            let rows = j * width..outputs.min((j + 1) * width);
            let (words, stride) = E::row_words(&w[rows.start * stride..], rows.len(), inputs, stride);
            for (c, row) in words.chunks(stride.max(1)).take(rows.len()).enumerate() {
                for (step, &word) in panel.chunks_exact_mut(width).zip(row) {
                    step[c] = word;
                }
            }
        });
        packed
    }

    /// The same of some rows of a matrix that is stored otherwise, to the bits of [`Packed::of_rows`] over all its numbers; in memory
    /// of its own, or in that of the thread.
    pub(crate) fn of_stored(w: &dyn StoredRows, rows: Range<usize>, own: bool) -> Self {
        /// Elements of each row that are read at once: whole blocks of all formats.
        const AT_ONCE: usize = 256;
        /// Steps of a panel that are written at once, 16 KiB of them.
        const STEPS: usize = 64;
        let (width, inputs) = (panel_width(), w.dims().1);
        let at_once = AT_ONCE.next_multiple_of(w.block().max(1));
        let len = Self::len(inputs, rows.len());
        let words = if own { Memory::Own(vec![E::Word::default(); len]) } else { Memory::Scratch(Scratch::new(len)) };
        let mut packed = Packed { words, inputs, outputs: rows.len() };
        packed.for_panels(|j, panel| {
            let of_panel = rows.start + j * width..rows.end.min(rows.start + (j + 1) * width);
            let n = of_panel.len();
            if n < width {
                panel.fill(E::Word::default());
            }
            let mut numbers = Scratch::<f32>::new(width * at_once);
            for first in (0..inputs).step_by(at_once) {
                let at = first..inputs.min(first + at_once);
                for (row, numbers) in of_panel.clone().zip(numbers.chunks_exact_mut(at.len())) {
                    w.read(row, at.clone(), numbers);
                }
                let numbers = E::reals(&numbers[..n * at.len()]);
                let (words, stride) = E::row_words(&numbers, n, at.len(), at.len());
                let steps = &mut panel[first / E::PER_WORD * width..][..stride * width];
                for (i, steps) in steps.chunks_mut(STEPS * width).enumerate() {
                    E::put_transposed(&words[i * STEPS..n * stride], stride, steps);
                }
            }
        });
        packed
    }

    /// The right-hand side of `dy W`, from that of `x Wᵀ`.
    pub(crate) fn transposed(&self) -> Self {
        self.transposed_part(0..self.outputs)
    }

    /// The same for some rows of `W` only; the first is a multiple of [`panel_width`].
    pub(crate) fn transposed_part(&self, rows: Range<usize>) -> Self {
        let width = panel_width();
        debug_assert!(rows.start.is_multiple_of(width));
        let mut out = Self::empty(rows.len(), self.inputs);
        let steps = self.steps();
        let words = &self.words[rows.start / width * steps * width..];
        // columns j*width.. of the transpose are inputs j*width.. of this one: a run of its steps
        out.for_panels(|j, panel| {
            let first = j * width / E::PER_WORD;
            let last = steps.min((j + 1) * width / E::PER_WORD);
            let n = last - first;
            let mut turned = Scratch::<E::Word>::new(if E::PER_WORD == 1 { 0 } else { width * width });
            // one panel of this one after the other
            for (out, words) in panel.chunks_mut(width / E::PER_WORD * width).zip(words.chunks(steps * width)) {
                let words = &words[first * width..last * width];
                if E::PER_WORD == 1 {
                    E::put_transposed(words, width, out);
                    continue;
                }
                // the last neighbour is a padding zero where the number of rows is odd: panels are even
                let turned = &mut turned[..out.len() * E::PER_WORD];
                E::put_transposed(words, width, turned);
                for (out, rows) in out.chunks_exact_mut(width).zip(turned.chunks_exact(2 * width)) {
                    let (one, other) = rows.split_at(width);
                    for (out, (&a, &b)) in out.chunks_exact_mut(2).zip(one[..n].iter().zip(other)) {
                        out.copy_from_slice(&E::transposed(a, b));
                    }
                }
            }
        });
        out
    }

    /// Calls `f(panel number, panel)` for all panels, in parallel.
    fn for_panels(&mut self, f: impl Fn(usize, &mut [E::Word]) + Sync) {
        let words = self.steps() * panel_width();
        if words > 0 {
            self.words.par_chunks_exact_mut(words).enumerate().for_each(|(j, panel)| f(j, panel));
        }
    }

    /// One row of the `w` that [`Packed::of_rows`] was given, as it was rounded.
    pub(crate) fn row(&self, row: usize, out: &mut [E::Real]) {
        let (steps, width) = (self.steps(), panel_width());
        let at = (row / width) * steps * width + row % width;
        for (p, out) in out.chunks_mut(E::PER_WORD).enumerate() {
            let elements = E::elements(self.words[at + p * width]);
            out.copy_from_slice(&elements[..out.len()]);
        }
    }

    /// The whole of it.
    pub(crate) fn right(&self) -> Right<'_, E> {
        let steps = self.steps();
        let step_stride = panel_width();
        Right { words: &self.words, steps, cols: self.outputs, panel_stride: steps * step_stride, step_stride }
    }
}

/// The right-hand side of a product.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a, E: Element> {
    words: &'a [E::Word],
    steps: usize,
    cols: usize,
    panel_stride: usize,
    step_stride: usize,
}

impl<'a, E: Element> Right<'a, E> {
    /// Some of the columns; the first is a multiple of [`panel_width`].
    pub(crate) fn columns(self, range: Range<usize>) -> Self {
        debug_assert!(range.start.is_multiple_of(panel_width()) && range.end <= self.cols);
        Right { words: &self.words[range.start / panel_width() * self.panel_stride..], cols: range.len(), ..self }
    }

    /// Some of the elements that are reduced over; the first is even.
    pub(crate) fn inputs(self, range: Range<usize>) -> Self {
        debug_assert!(range.start.is_multiple_of(E::PER_WORD));
        let (first, last) = (range.start / E::PER_WORD, range.end.div_ceil(E::PER_WORD));
        Right { words: &self.words[first * self.step_stride..], steps: last - first, ..self }
    }
}

/// What a product leaves out because it lies beyond a diagonal, as under a causal mask: at least as much as is left out is zero, or
/// not wanted. Tiles on the diagonal are worked out as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Within {
    /// Nothing is left out.
    All,
    /// Row `i` of the left-hand side has elements `0..=i + n` only.
    LeftUpTo(usize),
    /// Row `i` of the left-hand side has elements from `i - n` on only.
    LeftFrom(usize),
    /// Row `i` of the result is wanted up to column `i + n`.
    ResultUpTo(usize),
}

impl Within {
    /// What is left of steps and columns for some rows.
    fn clip<E: Element>(self, rows: &Range<usize>, steps: Range<usize>, cols: Range<usize>) -> [Range<usize>; 2] {
        let (per_word, at_once) = (E::PER_WORD, E::steps_at_once());
        let before = |end: usize, range: &Range<usize>| range.start..end.clamp(range.start, range.end);
        match self {
            Within::All => [steps, cols],
            Within::LeftUpTo(n) => [before((rows.end + n).div_ceil(per_word), &steps), cols],
            Within::LeftFrom(n) => {
                let first = rows.start.saturating_sub(n) / per_word / at_once * at_once;
                [first.clamp(steps.start, steps.end)..steps.end, cols]
            }
            Within::ResultUpTo(n) => [steps, before(rows.end + n, &cols)],
        }
    }
}

/// Up to [`Element::tile_rows`] rows and [`panel_width`] columns of a product.
///
/// `a` must be readable at `i * a_row + p * a_step`, `b` at `p * b_step + j`, `c` writable at `i * c_row + j`, for all
/// `i < rows`, `p < steps`, `j < cols`.
pub(crate) struct Tile<E: Element> {
    rows: usize,
    cols: usize,
    steps: usize,
    a: *const E::Word,
    a_row: usize,
    a_step: usize,
    b: *const E::Word,
    b_step: usize,
    c: *mut E::Real,
    c_row: usize,
    accumulate: bool,
}

/// The same with loops; `vectorised` compiles them for the vectors that there are.
///
/// # Safety
/// As [`Tile`] demands.
unsafe fn portable_tile<E: Element>(t: &Tile<E>) {
    vectorised(
        #[inline(always)]
        || {
            for i in 0..t.rows {
                let mut acc = [E::Real::default(); WIDEST];
                for p in 0..t.steps {
                    // SAFETY: inside the operands, as the caller vouches.
                    let (a, b) = unsafe {
                        (
                            *t.a.add(i * t.a_row + p * t.a_step),
                            std::slice::from_raw_parts(t.b.add(p * t.b_step), t.cols),
                        )
                    };
                    for (acc, &b) in acc.iter_mut().zip(b) {
                        *acc = E::multiply_add(*acc, a, b);
                    }
                }
                // SAFETY: row `i` of the result is ours to write.
                let c = unsafe { std::slice::from_raw_parts_mut(t.c.add(i * t.c_row), t.cols) };
                for (c, acc) in c.iter_mut().zip(acc) {
                    *c = if t.accumulate { *c + acc } else { acc };
                }
            }
        },
    );
}

/// `left @ right`, rows one behind the other, in parallel where it is large.
pub(crate) fn product_of<E: Element>(left: &Left<'_, E>, right: Right<'_, E>) -> Vec<E::Real> {
    let (m, n) = (left.rows, right.cols);
    let mut out = Vec::with_capacity(m * n);
    Rectangles::new(left, right, out.as_mut_ptr(), m * n, n, false, Within::All).all();
    // SAFETY: every element was written, because nothing is accumulated.
    unsafe { out.set_len(m * n) };
    out
}

/// `left @ right`, rows one behind the other, where the right-hand side's `n` columns are made some at a time: `part` is asked for
/// `at_once` of them, a multiple of [`panel_width`], or for the rest.
pub(crate) fn product_of_parts<E: Element>(
    left: &Left<'_, E>,
    n: usize,
    at_once: usize,
    part: impl Fn(Range<usize>) -> Packed<E>,
) -> Vec<E::Real> {
    let m = left.rows;
    let mut out: Vec<E::Real> = Vec::with_capacity(m * n);
    if m > 0 {
        for first in (0..n).step_by(at_once) {
            let packed = part(first..n.min(first + at_once));
            // SAFETY: a column of the first row, for which there is room.
            let c = unsafe { out.as_mut_ptr().add(first) };
            Rectangles::new(left, packed.right(), c, m * n - first, n, false, Within::All).all();
        }
    }
    // SAFETY: every element was written, because the parts are all columns and nothing is accumulated.
    unsafe { out.set_len(m * n) };
    out
}

/// `sum += left @ right`, rows one behind the other, in parallel where it is large.
pub(crate) fn product_onto<E: Element>(left: &Left<'_, E>, right: Right<'_, E>, sum: &mut [E::Real]) {
    Rectangles::new(left, right, sum.as_mut_ptr(), sum.len(), right.cols, true, Within::All).all();
}

/// `c = left @ right`, or `c += left @ right` with `accumulate`; rows of `c` are `c_row` apart.
pub(crate) fn product<E: Element>(
    left: &Left<'_, E>,
    right: Right<'_, E>,
    c: &mut [E::Real],
    c_row: usize,
    accumulate: bool,
) {
    product_within(left, right, c, c_row, accumulate, Within::All);
}

/// As [`product`], without what lies beyond a diagonal.
pub(crate) fn product_within<E: Element>(
    left: &Left<'_, E>,
    right: Right<'_, E>,
    c: &mut [E::Real],
    c_row: usize,
    accumulate: bool,
    within: Within,
) {
    Rectangles::new(left, right, c.as_mut_ptr(), c.len(), c_row, accumulate, within).rows(0..left.rows);
}

/// A product, of which disjoint rectangles may be worked out at the same time.
struct Rectangles<'a, E: Element> {
    left: &'a Left<'a, E>,
    right: Right<'a, E>,
    c: *mut E::Real,
    c_row: usize,
    accumulate: bool,
    within: Within,
}

// SAFETY: what it points to is written in disjoint rectangles.
unsafe impl<E: Element> Sync for Rectangles<'_, E> {}

impl<'a, E: Element> Rectangles<'a, E> {
    /// Checks that all operands are as long as their shapes say; `c` has room for `len` elements.
    fn new(
        left: &'a Left<'a, E>,
        right: Right<'a, E>,
        c: *mut E::Real,
        len: usize,
        c_row: usize,
        accumulate: bool,
        within: Within,
    ) -> Self {
        let (m, n, steps) = (left.rows, right.cols, left.steps);
        assert_eq!(steps, right.steps, "matrix product of unlike shapes");
        assert!(m == 0 || n == 0 || (m - 1) * c_row + n <= len, "the result does not fit");
        if m > 0 && n > 0 && steps > 0 {
            let before = (n - 1) / panel_width();
            let last_panel = before * right.panel_stride + (steps - 1) * right.step_stride + n - before * panel_width();
            let last_left = (m - 1) * left.row_stride + (steps - 1) * left.step_stride + 1;
            assert!(last_panel <= right.words.len() && last_left <= left.words.len(), "an operand is too short");
        }
        Rectangles { left, right, c, c_row, accumulate, within }
    }

    /// The whole product, in parallel where it is large.
    fn all(&self) {
        let (m, n) = (self.left.rows, self.right.cols);
        if rayon::current_num_threads() == 1 || m * n * self.left.steps < 1 << 20 {
            return self.rows(0..m);
        }
        let (down, across) = (m.div_ceil(BLOCK_ROWS), n.div_ceil(BLOCK_COLUMNS));
        (0..down * across).into_par_iter().for_each(|t| {
            let (i, j) = (t % down * BLOCK_ROWS, t / down * BLOCK_COLUMNS);
            self.work_out(i..m.min(i + BLOCK_ROWS), j..n.min(j + BLOCK_COLUMNS));
        });
    }

    /// Whole rows, some at a time.
    fn rows(&self, rows: Range<usize>) {
        for first in rows.clone().step_by(BLOCK_ROWS) {
            self.work_out(first..rows.end.min(first + BLOCK_ROWS), 0..self.right.cols);
        }
    }

    /// A rectangle inside the result; the first column is a multiple of [`panel_width`].
    fn work_out(&self, rows: Range<usize>, cols: Range<usize>) {
        let (left, right, width) = (self.left, self.right, panel_width());
        for first in (0..left.steps.max(1)).step_by(BLOCK_STEPS) {
            let steps = first.min(left.steps)..left.steps.min(first + BLOCK_STEPS);
            for j in cols.clone().step_by(width) {
                for i in rows.clone().step_by(E::tile_rows()) {
                    let rows = i..rows.end.min(i + E::tile_rows());
                    let panel = j..cols.end.min(j + width);
                    let [steps, panel] = self.within.clip::<E>(&rows, steps.clone(), panel);
                    if panel.is_empty() {
                        continue;
                    }
                    // SAFETY: `new` saw to the last element of every operand.
                    unsafe {
                        let tile = Tile::<E> {
                            rows: rows.len(),
                            cols: panel.len(),
                            steps: steps.len(),
                            a: left.words.as_ptr().add(i * left.row_stride + steps.start * left.step_stride),
                            a_row: left.row_stride,
                            a_step: left.step_stride,
                            b: right
                                .words
                                .as_ptr()
                                .add(j / width * right.panel_stride + steps.start * right.step_stride),
                            b_step: right.step_stride,
                            c: self.c.add(i * self.c_row + j),
                            c_row: self.c_row,
                            accumulate: self.accumulate || first > 0,
                        };
                        if !E::tile(&tile) {
                            portable_tile(&tile);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
