//! Matrices of a GGUF file as they are stored, and their products with one vector.
//!
//! A row is blocks of 32 numbers. The vector is rounded to 8 bits a number, block by block, as llama.cpp does, so that a product is one of
//! whole numbers. Each format has a portable product, which says what is meant, and one for AVX2.

use candle_core::quantized::{GgmlDType, QTensor};
use half::f16;
use rayon::prelude::*;

/// Numbers of a block.
pub(super) const BLOCK: usize = 32;

/// Rows that one thread works on at a time.
const ROWS: usize = 64;

/// How the numbers of a block are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// `d q + m` with q from 0 to 15.
    Q4_1,
    /// `d (q - 16)` with q from 0 to 31.
    Q5_0,
    /// `d q` with q from -127 to 127.
    Q8_0,
}

impl Format {
    fn of(dtype: GgmlDType) -> Option<Format> {
        match dtype {
            GgmlDType::Q4_1 => Some(Format::Q4_1),
            GgmlDType::Q5_0 => Some(Format::Q5_0),
            GgmlDType::Q8_0 => Some(Format::Q8_0),
            _ => None,
        }
    }

    /// Bytes of a block.
    fn bytes(self) -> usize {
        match self {
            Format::Q4_1 => 20,
            Format::Q5_0 => 22,
            Format::Q8_0 => 34,
        }
    }
}

/// A vector, rounded to 8 bits a number.
#[derive(Debug, Default)]
pub(super) struct Rounded {
    /// Of each block: what a step is worth.
    scales: Vec<f32>,
    /// Of each block: the sum of its rounded numbers.
    sums: Vec<f32>,
    steps: Vec<i8>,
}

impl Rounded {
    /// `x`, whose length is a multiple of [`BLOCK`].
    pub(super) fn of(x: &[f32]) -> Rounded {
        let mut rounded = Rounded::default();
        for block in x.chunks_exact(BLOCK) {
            let most = block.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            let scale = most / 127.0;
            let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
            let before = rounded.steps.len();
            rounded.steps.extend(block.iter().map(|x| (x * inverse).round() as i8));
            let sum: i32 = rounded.steps[before..].iter().map(|step| i32::from(*step)).sum();
            rounded.scales.push(scale);
            rounded.sums.push(scale * sum as f32);
        }
        rounded
    }
}

/// Some rows of a matrix, in one format.
#[derive(Debug)]
struct Part {
    format: Format,
    n_rows: usize,
    bytes: Vec<u8>,
}

/// A matrix `[N, K]`, or several above each other that have the same K.
#[derive(Debug, Default)]
pub(super) struct Rows {
    n_columns: usize,
    parts: Vec<Part>,
}

impl Rows {
    /// Puts a matrix below, its rows in the order that `order` gives: row r of it is row `order(r)` of what is stored. A matrix in another
    /// format than those above is rounded to 8 bits a number.
    pub(super) fn push(&mut self, stored: &QTensor, order: impl Fn(usize) -> usize) -> candle_core::Result<()> {
        let (n_rows, n_columns) = stored.shape().dims2()?;
        if n_columns % BLOCK != 0 || (!self.parts.is_empty() && n_columns != self.n_columns) {
            candle_core::bail!("rows of {n_columns} numbers are no blocks of {BLOCK}");
        }
        self.n_columns = n_columns;
        let (format, data) = match Format::of(stored.dtype()) {
            Some(format) => (format, stored.data()?.into_owned()),
            None => {
                let whole = stored.dequantize(&candle_core::Device::Cpu)?;
                (Format::Q8_0, QTensor::quantize(&whole, GgmlDType::Q8_0)?.data()?.into_owned())
            }
        };
        let width = n_columns / BLOCK * format.bytes();
        let mut bytes = Vec::with_capacity(data.len());
        (0..n_rows).for_each(|row| bytes.extend_from_slice(&data[order(row) * width..][..width]));
        self.parts.push(Part { format, n_rows, bytes });
        Ok(())
    }

    pub(super) fn n_rows(&self) -> usize {
        self.parts.iter().map(|part| part.n_rows).sum()
    }

    /// One row's format and blocks.
    fn row(&self, mut row: usize) -> (Format, &[u8]) {
        for part in &self.parts {
            if row < part.n_rows {
                let width = self.n_columns / BLOCK * part.format.bytes();
                return (part.format, &part.bytes[row * width..][..width]);
            }
            row -= part.n_rows;
        }
        unreachable!("the row is one of the matrix")
    }

    /// One row's numbers.
    pub(super) fn numbers(&self, row: usize) -> Vec<f32> {
        let (format, bytes) = self.row(row);
        let mut numbers = Vec::with_capacity(self.n_columns);
        for block in bytes.chunks_exact(format.bytes()) {
            let d = half_at(block, 0);
            let (low, high) = steps(format, block);
            let value = |step: i32| match format {
                Format::Q4_1 => d * step as f32 + half_at(block, 2),
                Format::Q5_0 => d * (step - 16) as f32,
                Format::Q8_0 => d * step as f32,
            };
            numbers.extend(low.into_iter().chain(high).map(value));
        }
        numbers
    }

    /// The product with a vector, `[N]`.
    pub(super) fn times(&self, x: &Rounded) -> Vec<f32> {
        let mut y = vec![0.0; self.n_rows()];
        let dot = dot_for_this_processor();
        y.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, y)| {
            for (place, y) in y.iter_mut().enumerate() {
                let (format, bytes) = self.row(chunk * ROWS + place);
                *y = dot(format, bytes, x);
            }
        });
        y
    }
}

/// The product of a row's blocks with a vector.
type Dot = fn(Format, &[u8], &Rounded) -> f32;

fn dot_for_this_processor() -> Dot {
    #[cfg(target_arch = "x86_64")]
    if avx2::is_there() {
        return avx2::dot;
    }
    dot_portable
}

fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// The stored whole numbers of a block, its first 16 and its last.
fn steps(format: Format, block: &[u8]) -> ([i32; 16], [i32; 16]) {
    let nibbles = |bytes: &[u8]| {
        (std::array::from_fn(|i| i32::from(bytes[i] & 15)), std::array::from_fn(|i| i32::from(bytes[i] >> 4)))
    };
    match format {
        Format::Q4_1 => nibbles(&block[4..]),
        Format::Q5_0 => {
            let fifth = u32::from_le_bytes([block[2], block[3], block[4], block[5]]);
            let bit = |i: usize| ((fifth >> i & 1) << 4) as i32;
            let (low, high) = nibbles(&block[6..]);
            (std::array::from_fn(|i| low[i] | bit(i)), std::array::from_fn(|i| high[i] | bit(i + 16)))
        }
        Format::Q8_0 => {
            let of = |i: usize| i32::from(block[2 + i] as i8);
            (std::array::from_fn(of), std::array::from_fn(|i| of(i + 16)))
        }
    }
}

/// What every kernel computes.
fn dot_portable(format: Format, row: &[u8], x: &Rounded) -> f32 {
    let mut total = 0.0;
    for (i, block) in row.chunks_exact(format.bytes()).enumerate() {
        let (low, high) = steps(format, block);
        let of_x = &x.steps[i * BLOCK..][..BLOCK];
        let product: i32 = low.iter().chain(&high).zip(of_x).map(|(step, x)| step * i32::from(*x)).sum();
        let d = half_at(block, 0);
        total += d * x.scales[i] * product as f32;
        total += match format {
            Format::Q4_1 => half_at(block, 2) * x.sums[i],
            Format::Q5_0 => -16.0 * d * x.sums[i],
            Format::Q8_0 => 0.0,
        };
    }
    total
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{BLOCK, Format, Rounded};

    /// Whether the processor has what [`dot`] uses.
    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
    }

    /// The product, on a processor that [has](is_there) the instructions.
    pub(super) fn dot(format: Format, row: &[u8], x: &Rounded) -> f32 {
        assert_eq!(row.len(), x.scales.len() * format.bytes(), "a row and the vector have the same blocks");
        // SAFETY: whoever chose this function has looked for the instructions, and both have the same number of blocks
        unsafe {
            match format {
                Format::Q4_1 => of_q4_1(row, x),
                Format::Q5_0 => of_q5_0(row, x),
                Format::Q8_0 => of_q8_0(row, x),
            }
        }
    }

    /// # Safety
    /// The row has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn of_q4_1(row: &[u8], x: &Rounded) -> f32 {
        let (mut sums, mut added) = (_mm256_setzero_ps(), 0.0_f32);
        for (i, (scale, sum)) in x.scales.iter().zip(&x.sums).enumerate() {
            // SAFETY: the block is within the row, by the caller
            unsafe {
                let block = row.as_ptr().add(i * 20);
                let products = _mm256_maddubs_epi16(nibbles(block.add(4)), steps_of(x, i));
                sums = _mm256_fmadd_ps(_mm256_set1_ps(half_at(block) * scale), in_floats(products), sums);
                added += half_at(block.add(2)) * sum;
            }
        }
        added + total(sums)
    }

    /// # Safety
    /// The row has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn of_q5_0(row: &[u8], x: &Rounded) -> f32 {
        let (mut sums, mut added) = (_mm256_setzero_ps(), 0.0_f32);
        for (i, (scale, sum)) in x.scales.iter().zip(&x.sums).enumerate() {
            // SAFETY: the block is within the row, by the caller
            unsafe {
                let block = row.as_ptr().add(i * 22);
                let fifth = _mm256_and_si256(spread(block.add(2).cast::<u32>().read_unaligned()), _mm256_set1_epi8(16));
                let steps = _mm256_or_si256(nibbles(block.add(6)), fifth);
                let products = _mm256_maddubs_epi16(steps, steps_of(x, i));
                let d = half_at(block);
                sums = _mm256_fmadd_ps(_mm256_set1_ps(d * scale), in_floats(products), sums);
                added -= 16.0 * d * sum;
            }
        }
        added + total(sums)
    }

    /// Signed bytes: their signs go to the vector's side.
    ///
    /// # Safety
    /// The row has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn of_q8_0(row: &[u8], x: &Rounded) -> f32 {
        let mut sums = _mm256_setzero_ps();
        for (i, scale) in x.scales.iter().enumerate() {
            // SAFETY: the block is within the row, by the caller
            unsafe {
                let block = row.as_ptr().add(i * 34);
                let steps = _mm256_loadu_si256(block.add(2).cast());
                let of_x = _mm256_sign_epi8(steps_of(x, i), steps);
                let products = _mm256_maddubs_epi16(_mm256_abs_epi8(steps), of_x);
                sums = _mm256_fmadd_ps(_mm256_set1_ps(half_at(block) * scale), in_floats(products), sums);
            }
        }
        total(sums)
    }

    /// The vector's block `i`.
    ///
    /// # Safety
    /// There is such a block.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn steps_of(x: &Rounded, i: usize) -> __m256i {
        // SAFETY: by the caller
        unsafe { _mm256_loadu_si256(x.steps.as_ptr().add(i * BLOCK).cast()) }
    }

    /// Sums of two products each to sums of four, as floats.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn in_floats(products: __m256i) -> __m256 {
        _mm256_cvtepi32_ps(_mm256_madd_epi16(products, _mm256_set1_epi16(1)))
    }

    /// 32 numbers of half a byte, the low halves first.
    ///
    /// # Safety
    /// 16 bytes stand there.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn nibbles(at: *const u8) -> __m256i {
        // SAFETY: by the caller
        let bytes = unsafe { _mm_loadu_si128(at.cast()) };
        let both = _mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes);
        _mm256_and_si256(both, _mm256_set1_epi8(15))
    }

    /// 32 bits to 32 bytes, all ones or none.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn spread(bits: u32) -> __m256i {
        let place = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
        let bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(bits as i32), place);
        let mask = _mm256_set1_epi64x(0x7fbf_dfef_f7fb_fdfe_u64 as i64);
        _mm256_cmpeq_epi8(_mm256_or_si256(bytes, mask), _mm256_set1_epi64x(-1))
    }

    /// # Safety
    /// Two bytes stand there.
    #[inline]
    #[target_feature(enable = "f16c")]
    unsafe fn half_at(at: *const u8) -> f32 {
        // SAFETY: by the caller
        let bits = unsafe { at.cast::<u16>().read_unaligned() };
        _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(i32::from(bits))))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn total(sums: __m256) -> f32 {
        let four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor};
    use rand::{Rng, SeedableRng, rngs::StdRng};

    use super::*;

    const N: usize = 70;
    const K: usize = 96;

    fn random(n: usize, seed: u64) -> Vec<f32> {
        let mut random = StdRng::seed_from_u64(seed);
        (0..n).map(|_| random.random_range(-3.0..3.0)).collect()
    }

    fn stored(dtype: GgmlDType, k: usize) -> QTensor {
        let whole = Tensor::from_vec(random(N * k, 1), (N, k), &Device::Cpu).unwrap();
        QTensor::quantize(&whole, dtype).unwrap()
    }

    /// Numbers and products against candle's own reading of the file; rows in another order too.
    #[test]
    fn rows_are_those_of_the_file() {
        for (dtype, k) in [(GgmlDType::Q4_1, K), (GgmlDType::Q5_0, K), (GgmlDType::Q8_0, K), (GgmlDType::Q6K, 256)] {
            let stored = stored(dtype, k);
            let whole: Vec<Vec<f32>> = stored.dequantize(&Device::Cpu).unwrap().to_vec2().unwrap();
            let mut rows = Rows::default();
            rows.push(&stored, |row| N - 1 - row).unwrap();
            rows.push(&stored, |row| row).unwrap();
            let x = random(k, 2);
            let product = rows.times(&Rounded::of(&x));
            assert_eq!((rows.n_rows(), product.len()), (2 * N, 2 * N));
            for (row, got) in product.iter().enumerate() {
                let want = &whole[if row < N { N - 1 - row } else { row - N }];
                let is_rounded = dtype == GgmlDType::Q6K;
                let near = |a: f32, b: f32| (a - b).abs() <= if is_rounded { 0.03 } else { 0.0 };
                assert!(rows.numbers(row).iter().zip(want).all(|(a, b)| near(*a, *b)), "{dtype:?} {row}");
                // the vector is rounded by at most 3 / 254 a number: four deviations of the sum
                let exact: f32 = want.iter().zip(&x).map(|(a, b)| a * b).sum();
                let bound = 4.0 * 3.0 * (3.0 / 254.0) * (k as f32).sqrt();
                assert!((got - exact).abs() < bound, "{dtype:?} {row}: {got} {exact}");
            }
        }
        let mut rows = Rows::default();
        rows.push(&stored(GgmlDType::Q8_0, K), |row| row).unwrap();
        assert!(rows.push(&stored(GgmlDType::Q8_0, 64), |row| row).is_err());
    }

    /// The kernels against what they stand for, over every byte that a file can hold.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn kernels_compute_what_the_portable_code_does() {
        if !avx2::is_there() {
            return;
        }
        let mut random_bytes = StdRng::seed_from_u64(3);
        for format in [Format::Q4_1, Format::Q5_0, Format::Q8_0] {
            for round in 0..500 {
                let x = Rounded::of(&random(K, round));
                let mut row: Vec<u8> = (0..K / BLOCK * format.bytes()).map(|_| random_bytes.random()).collect();
                // scales that are numbers
                for block in row.chunks_exact_mut(format.bytes()) {
                    block[..2].copy_from_slice(&f16::from_f32(0.25).to_le_bytes());
                    if format == Format::Q4_1 {
                        block[2..4].copy_from_slice(&f16::from_f32(-1.5).to_le_bytes());
                    }
                }
                let (got, want) = (avx2::dot(format, &row, &x), dot_portable(format, &row, &x));
                // sums of some hundred thousand in another order
                assert!((got - want).abs() <= 1e-5 * want.abs().max(3e4), "{format:?}: {got} {want}");
            }
        }
    }

    #[test]
    fn a_vector_of_nothing_is_nothing() {
        let mut rows = Rows::default();
        rows.push(&stored(GgmlDType::Q4_1, K), |row| row).unwrap();
        assert!(rows.times(&Rounded::of(&[0.0; K])).iter().all(|y| *y == 0.0));
    }
}
