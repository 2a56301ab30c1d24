//! Matrices of a GGUF file, and their products with a vector of each text.
//!
//! A file's row is blocks of 32 numbers. Eight rows are laid beside each other here, so that each has a lane of a vector and no lanes are ever
//! summed; the numbers and their size stay those of the file. The vector is rounded to 8 bits a number, block by block, as llama.cpp does, so
//! that a block's product is one of whole numbers. Each format has a portable product, which says what is meant, and one for AVX2 and one for
//! AVX-512's products of bytes (VNNI) with the same bits. Of several vectors each is multiplied while a panel is in the processor's nearest
//! memory: that it comes there is what takes the time.
//!
//! Of a block, one after the other, each for all eight rows:
//!
//! | | Q4_1 | Q5_0 | Q8_0 |
//! |---|---|---|---|
//! | scales d, as halves | 16 bytes | 16 bytes | 16 bytes |
//! | offsets m, as halves | 16 bytes | | |
//! | fifth bits: bit g of byte j of a row is that of its number 4g + j | | 32 bytes | |
//! | words of four bytes of a row, as the file has them | 4 times 32 bytes | 4 times 32 bytes | 8 times 32 bytes |

use candle_core::quantized::{GgmlDType, QTensor};
use half::f16;
use rayon::prelude::*;

use super::rounded::{BLOCK, Rounded};
#[cfg(target_arch = "x86_64")]
use crate::ops::{Instructions, instructions};

/// Rows of a panel, which lie beside each other.
const LANES: usize = 8;

/// Panels that one thread works on at a time.
const PANELS: usize = 8;

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

    /// Bytes of a row's block.
    fn bytes(self) -> usize {
        match self {
            Format::Q4_1 => 20,
            Format::Q5_0 => 22,
            Format::Q8_0 => 34,
        }
    }

    /// Where a row's words of four bytes begin in its block, and those of all eight in theirs.
    fn words_at(self) -> usize {
        match self {
            Format::Q4_1 => 4,
            Format::Q5_0 => 6,
            Format::Q8_0 => 2,
        }
    }

    /// Puts a block of each of eight rows behind `panel`; a row that is not there is nothing.
    fn interleave(self, blocks: [Option<&[u8]>; LANES], panel: &mut Vec<u8>) {
        let mut put = |of: &dyn Fn(&[u8]) -> [u8; 4], n: usize| {
            blocks.iter().for_each(|block| panel.extend_from_slice(&block.map_or([0; 4], of)[..n]));
        };
        let four = |block: &[u8], at: usize| [block[at], block[at + 1], block[at + 2], block[at + 3]];
        put(&|block| four(block, 0), 2);
        match self {
            Format::Q4_1 => put(&|block| four(block, 2), 2),
            Format::Q5_0 => put(&|block| fifth_bits(four(block, 2)), 4),
            Format::Q8_0 => {}
        }
        for at in (self.words_at()..self.bytes()).step_by(4) {
            put(&|block| four(block, at), 4);
        }
    }

    /// What a step of a row's block is worth.
    fn scale(self, block: &[u8], lane: usize) -> f32 {
        half_at(block, 2 * lane)
    }

    /// What is added to every number of a row's block.
    fn offset(self, block: &[u8], lane: usize) -> f32 {
        match self {
            Format::Q4_1 => half_at(block, 2 * (LANES + lane)),
            Format::Q5_0 => -16.0 * self.scale(block, lane),
            Format::Q8_0 => 0.0,
        }
    }

    /// The whole numbers of a row's block.
    fn steps(self, block: &[u8], lane: usize) -> [i32; BLOCK] {
        let word = |group: usize, byte: usize| block[LANES * self.words_at() + 4 * (LANES * group + lane) + byte];
        std::array::from_fn(|i| {
            let (group, byte) = (i / 4, i % 4);
            let nibble = || i32::from(word(group % 4, byte) >> (group / 4 * 4) & 15);
            match self {
                Format::Q4_1 => nibble(),
                Format::Q5_0 => nibble() | i32::from(block[2 * LANES + 4 * lane + byte] >> group & 1) << 4,
                Format::Q8_0 => i32::from(word(group, byte) as i8),
            }
        })
    }
}

/// Bit 4g + j of a block's word to bit g of byte j.
fn fifth_bits(word: [u8; 4]) -> [u8; 4] {
    let word = u32::from_le_bytes(word);
    std::array::from_fn(|byte| (0..8).map(|group| ((word >> (4 * group + byte) & 1) << group) as u8).sum())
}

fn half_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Some rows of a matrix, in one format.
#[derive(Debug)]
struct Part {
    format: Format,
    n_rows: usize,
    /// One panel after the other, block by block.
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
        let (n_blocks, width) = (n_columns / BLOCK, format.bytes());
        let mut bytes = Vec::with_capacity(n_rows.div_ceil(LANES) * LANES * n_blocks * width);
        for first in (0..n_rows).step_by(LANES) {
            let rows: [Option<&[u8]>; LANES] = std::array::from_fn(|lane| {
                let row = first + lane;
                (row < n_rows).then(|| &data[order(row) * n_blocks * width..][..n_blocks * width])
            });
            for block in 0..n_blocks {
                format.interleave(rows.map(|row| row.map(|row| &row[block * width..][..width])), &mut bytes);
            }
        }
        self.parts.push(Part { format, n_rows, bytes });
        Ok(())
    }

    pub(super) fn n_rows(&self) -> usize {
        self.parts.iter().map(|part| part.n_rows).sum()
    }

    /// Bytes of a panel in a format.
    fn panel(&self, format: Format) -> usize {
        self.n_columns / BLOCK * LANES * format.bytes()
    }

    /// One row's numbers.
    pub(super) fn numbers(&self, mut row: usize) -> Vec<f32> {
        let mut parts = self.parts.iter();
        let part = loop {
            let part = parts.next().expect("the row is one of the matrix");
            if row < part.n_rows {
                break part;
            }
            row -= part.n_rows;
        };
        let (format, lane, width) = (part.format, row % LANES, self.panel(part.format));
        let panel = &part.bytes[row / LANES * width..][..width];
        let mut numbers = Vec::with_capacity(self.n_columns);
        for block in panel.chunks_exact(LANES * format.bytes()) {
            let (scale, offset) = (format.scale(block, lane), format.offset(block, lane));
            // exact: a scale has 11 bits, and a step at most 8
            numbers.extend(format.steps(block, lane).map(|step| scale * step as f32 + offset));
        }
        numbers
    }

    /// The product with each vector, `[N]`.
    pub(super) fn times(&self, all: &[Rounded]) -> Vec<Vec<f32>> {
        let n = all.len();
        // of each row the products with all vectors, one behind the other
        let mut products = vec![0.0; self.n_rows() * n];
        let product = product_for_this_processor();
        let (mut rest, mut pieces) = (&mut products[..], Vec::new());
        for part in &self.parts {
            let (own, below) = rest.split_at_mut(part.n_rows * n);
            rest = below;
            let width = self.panel(part.format);
            let of_part = own.chunks_mut((PANELS * LANES * n).max(1)).zip(part.bytes.chunks(PANELS * width));
            pieces.extend(of_part.map(|(products, bytes)| (part.format, width, products, bytes)));
        }
        pieces.into_par_iter().for_each(|(format, width, products, bytes)| {
            for (products, panel) in products.chunks_mut(LANES * n).zip(bytes.chunks_exact(width)) {
                for (place, x) in all.iter().enumerate() {
                    let of_x = products[place..].iter_mut().step_by(n);
                    of_x.zip(product(format, panel, x)).for_each(|(to, from)| *to = from);
                }
            }
        });
        (0..n).map(|place| products.iter().skip(place).step_by(n).copied().collect()).collect()
    }
}

/// The products of a panel's rows with a vector.
type Product = fn(Format, &[u8], &Rounded) -> [f32; LANES];

fn product_for_this_processor() -> Product {
    #[cfg(target_arch = "x86_64")]
    {
        if instructions() >= Instructions::Avx512 && vnni::is_there() {
            return vnni::product;
        }
        if instructions() >= Instructions::Avx2 && avx2::is_there() {
            return avx2::product;
        }
    }
    product_portable
}

/// What every kernel computes, to the bit.
fn product_portable(format: Format, panel: &[u8], x: &Rounded) -> [f32; LANES] {
    let mut totals = [0.0; LANES];
    for (i, block) in panel.chunks_exact(LANES * format.bytes()).enumerate() {
        for (lane, total) in totals.iter_mut().enumerate() {
            let steps = format.steps(block, lane);
            let product: i32 = steps.iter().zip(x.block(i)).map(|(step, x)| step * i32::from(*x)).sum();
            *total = (format.scale(block, lane) * x.scales[i]).mul_add(product as f32, *total);
            *total = format.offset(block, lane).mul_add(x.sums[i], *total);
        }
    }
    totals
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{BLOCK, Format, LANES, Rounded};

    /// Whether the processor has what [`product`] uses.
    pub(super) fn is_there() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
    }

    /// The products of a panel of one format.
    pub(super) type Kernel = unsafe fn(&[u8], &Rounded) -> __m256;

    /// The products, on a processor that [has](is_there) the instructions.
    pub(super) fn product(format: Format, panel: &[u8], x: &Rounded) -> [f32; LANES] {
        product_by([of_q4_1, of_q5_0, of_q8_0], format, panel, x)
    }

    /// The products by the kernel that is the format's, of those for Q4_1, Q5_0 and Q8_0.
    pub(super) fn product_by(kernels: [Kernel; 3], format: Format, panel: &[u8], x: &Rounded) -> [f32; LANES] {
        let n_blocks = panel.len() / (LANES * format.bytes());
        let has_all = [x.scales.len(), x.sums.len(), x.wholes.len()].iter().all(|n| *n == n_blocks);
        assert!(has_all && n_blocks * BLOCK == x.steps.len(), "panel and vector are of one length");
        let [q4_1, q5_0, q8_0] = kernels;
        let kernel = match format {
            Format::Q4_1 => q4_1,
            Format::Q5_0 => q5_0,
            Format::Q8_0 => q8_0,
        };
        let mut totals = [0.0; LANES];
        // SAFETY: whoever chose these kernels has looked for their instructions, and panel and vector have the same number of blocks
        unsafe { _mm256_storeu_ps(totals.as_mut_ptr(), kernel(panel, x)) };
        totals
    }

    /// # Safety
    /// The panel has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn of_q4_1(panel: &[u8], x: &Rounded) -> __m256 {
        let mut totals = _mm256_setzero_ps();
        for (i, (scale, sum)) in x.scales.iter().zip(&x.sums).enumerate() {
            // SAFETY: the block is within the panel, by the caller
            unsafe {
                let block = panel.as_ptr().add(i * LANES * 20);
                // eight sums of two products, each at most 15 * 127, stay below 2^15
                let mut sums = _mm256_setzero_si256();
                for group in 0..4 {
                    let (low, high) = nibbles(block.add(32 + 32 * group));
                    sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(low, four(x, i, group)));
                    sums = _mm256_add_epi16(sums, _mm256_maddubs_epi16(high, four(x, i, group + 4)));
                }
                totals = scaled(halves(block), *scale, pairs(sums), totals);
                totals = _mm256_fmadd_ps(halves(block.add(16)), _mm256_set1_ps(*sum), totals);
            }
        }
        totals
    }

    /// # Safety
    /// The panel has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn of_q5_0(panel: &[u8], x: &Rounded) -> __m256 {
        let mut totals = _mm256_setzero_ps();
        for (i, (scale, sum)) in x.scales.iter().zip(&x.sums).enumerate() {
            // SAFETY: the block is within the panel, by the caller
            unsafe {
                let block = panel.as_ptr().add(i * LANES * 22);
                let fifth = _mm256_loadu_si256(block.add(16).cast());
                // four sums of two products, each at most 31 * 127, stay below 2^15
                let (mut first, mut last) = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for group in 0..4 {
                    let (low, high) = nibbles(block.add(48 + 32 * group));
                    let (of_low, of_high) = fifth_bits(fifth, group);
                    let (low, high) = (_mm256_or_si256(low, of_low), _mm256_or_si256(high, of_high));
                    first = _mm256_add_epi16(first, _mm256_maddubs_epi16(low, four(x, i, group)));
                    last = _mm256_add_epi16(last, _mm256_maddubs_epi16(high, four(x, i, group + 4)));
                }
                let d = halves(block);
                totals = scaled(d, *scale, _mm256_add_epi32(pairs(first), pairs(last)), totals);
                totals = _mm256_fmadd_ps(d, _mm256_set1_ps(-16.0 * sum), totals);
            }
        }
        totals
    }

    /// Signed bytes: their signs go to the vector's side.
    ///
    /// # Safety
    /// The panel has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn of_q8_0(panel: &[u8], x: &Rounded) -> __m256 {
        let mut totals = _mm256_setzero_ps();
        for (i, scale) in x.scales.iter().enumerate() {
            // SAFETY: the block is within the panel, by the caller
            unsafe {
                let block = panel.as_ptr().add(i * LANES * 34);
                let mut sums = _mm256_setzero_si256();
                for group in 0..8 {
                    let steps = _mm256_loadu_si256(block.add(16 + 32 * group).cast());
                    let of_x = _mm256_sign_epi8(four(x, i, group), steps);
                    sums = _mm256_add_epi32(sums, pairs(_mm256_maddubs_epi16(_mm256_abs_epi8(steps), of_x)));
                }
                totals = scaled(halves(block), *scale, sums, totals);
            }
        }
        totals
    }

    /// Four numbers of the vector's block `i`, for each row the same.
    ///
    /// # Safety
    /// There is such a block, and the group is below eight.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn four(x: &Rounded, i: usize, group: usize) -> __m256i {
        // SAFETY: by the caller
        _mm256_set1_epi32(unsafe { x.steps.as_ptr().add(i * BLOCK + 4 * group).cast::<i32>().read_unaligned() })
    }

    /// 32 bytes as numbers of half a byte, the low halves and the high ones.
    ///
    /// # Safety
    /// 32 bytes stand there.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn nibbles(at: *const u8) -> (__m256i, __m256i) {
        // SAFETY: by the caller
        let bytes = unsafe { _mm256_loadu_si256(at.cast()) };
        let low = _mm256_set1_epi8(15);
        (_mm256_and_si256(bytes, low), _mm256_and_si256(_mm256_srli_epi16(bytes, 4), low))
    }

    /// What the fifth bits of a group's low and high numbers are worth.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn fifth_bits(fifth: __m256i, group: usize) -> (__m256i, __m256i) {
        let count = |n: usize| _mm_cvtsi32_si128(n as i32);
        let of_low = _mm256_and_si256(_mm256_sll_epi16(fifth, count(4 - group)), _mm256_set1_epi8(16));
        let of_high = _mm256_and_si256(_mm256_srl_epi16(fifth, count(group)), _mm256_set1_epi8(16));
        (of_low, of_high)
    }

    /// The eight halves that stand there.
    ///
    /// # Safety
    /// 16 bytes stand there.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub(super) unsafe fn halves(at: *const u8) -> __m256 {
        // SAFETY: by the caller
        _mm256_cvtph_ps(unsafe { _mm_loadu_si128(at.cast()) })
    }

    /// Sums of the two 16-bit numbers of each row.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn pairs(sums: __m256i) -> __m256i {
        _mm256_madd_epi16(sums, _mm256_set1_epi16(1))
    }

    /// `totals` and a block's products, by what a step of the rows and one of the vector are worth.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(super) fn scaled(d: __m256, scale: f32, products: __m256i, totals: __m256) -> __m256 {
        _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_set1_ps(scale)), _mm256_cvtepi32_ps(products), totals)
    }
}

/// The same with products of bytes that are summed to 32 bits in one instruction. It multiplies bytes without a sign by such with one.
#[cfg(target_arch = "x86_64")]
mod vnni {
    use std::arch::x86_64::*;

    use super::{
        Format, LANES, Rounded,
        avx2::{self, fifth_bits, four, halves, nibbles, product_by, scaled},
    };

    /// Whether the processor has what [`product`] uses.
    pub(super) fn is_there() -> bool {
        avx2::is_there() && is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512vl")
    }

    /// The products, on a processor that [has](is_there) the instructions.
    pub(super) fn product(format: Format, panel: &[u8], x: &Rounded) -> [f32; LANES] {
        product_by([of_q4_1, of_q5_0, of_q8_0], format, panel, x)
    }

    /// # Safety
    /// The panel has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c,avx512vnni,avx512vl")]
    unsafe fn of_q4_1(panel: &[u8], x: &Rounded) -> __m256 {
        let mut totals = _mm256_setzero_ps();
        for (i, (scale, sum)) in x.scales.iter().zip(&x.sums).enumerate() {
            // SAFETY: the block is within the panel, by the caller
            unsafe {
                let block = panel.as_ptr().add(i * LANES * 20);
                let (mut first, mut last) = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for group in 0..4 {
                    let (low, high) = nibbles(block.add(32 + 32 * group));
                    first = _mm256_dpbusd_epi32(first, low, four(x, i, group));
                    last = _mm256_dpbusd_epi32(last, high, four(x, i, group + 4));
                }
                totals = scaled(halves(block), *scale, _mm256_add_epi32(first, last), totals);
                totals = _mm256_fmadd_ps(halves(block.add(16)), _mm256_set1_ps(*sum), totals);
            }
        }
        totals
    }

    /// # Safety
    /// The panel has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c,avx512vnni,avx512vl")]
    unsafe fn of_q5_0(panel: &[u8], x: &Rounded) -> __m256 {
        let mut totals = _mm256_setzero_ps();
        for (i, (scale, sum)) in x.scales.iter().zip(&x.sums).enumerate() {
            // SAFETY: the block is within the panel, by the caller
            unsafe {
                let block = panel.as_ptr().add(i * LANES * 22);
                let fifth = _mm256_loadu_si256(block.add(16).cast());
                let (mut first, mut last) = (_mm256_setzero_si256(), _mm256_setzero_si256());
                for group in 0..4 {
                    let (low, high) = nibbles(block.add(48 + 32 * group));
                    let (of_low, of_high) = fifth_bits(fifth, group);
                    first = _mm256_dpbusd_epi32(first, _mm256_or_si256(low, of_low), four(x, i, group));
                    last = _mm256_dpbusd_epi32(last, _mm256_or_si256(high, of_high), four(x, i, group + 4));
                }
                let d = halves(block);
                totals = scaled(d, *scale, _mm256_add_epi32(first, last), totals);
                totals = _mm256_fmadd_ps(d, _mm256_set1_ps(-16.0 * sum), totals);
            }
        }
        totals
    }

    /// Signed bytes lose their sign by 128 more, which is 128 times the sum of the vector's steps too much.
    ///
    /// # Safety
    /// The panel has as many blocks as the vector.
    #[target_feature(enable = "avx2,fma,f16c,avx512vnni,avx512vl")]
    unsafe fn of_q8_0(panel: &[u8], x: &Rounded) -> __m256 {
        let mut totals = _mm256_setzero_ps();
        for (i, (scale, whole)) in x.scales.iter().zip(&x.wholes).enumerate() {
            // SAFETY: the block is within the panel, by the caller
            unsafe {
                let block = panel.as_ptr().add(i * LANES * 34);
                let (mut first, mut last) = (_mm256_set1_epi32(-128 * whole), _mm256_setzero_si256());
                let unsigned = |group: usize| {
                    let steps = _mm256_loadu_si256(block.add(16 + 32 * group).cast());
                    _mm256_xor_si256(steps, _mm256_set1_epi8(-128))
                };
                for group in 0..4 {
                    first = _mm256_dpbusd_epi32(first, unsigned(group), four(x, i, group));
                    last = _mm256_dpbusd_epi32(last, unsigned(group + 4), four(x, i, group + 4));
                }
                totals = scaled(halves(block), *scale, _mm256_add_epi32(first, last), totals);
            }
        }
        totals
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
            let [others, product] = rows.times(&[Rounded::of(&random(k, 4)), Rounded::of(&x)]).try_into().unwrap();
            assert_eq!((rows.n_rows(), product.len()), (2 * N, 2 * N));
            assert_eq!(vec![others], rows.times(&[Rounded::of(&random(k, 4))]), "each is as if it were alone");
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

    /// The kernel against what it stands for, over every byte that a file can hold: the same bits.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn kernels_compute_what_the_portable_code_does() {
        let kernels: [(&str, bool, Product); 2] =
            [("AVX2", avx2::is_there(), avx2::product), ("VNNI", vnni::is_there(), vnni::product)];
        let mut random_bytes = StdRng::seed_from_u64(3);
        for format in [Format::Q4_1, Format::Q5_0, Format::Q8_0] {
            for round in 0..500 {
                let x = Rounded::of(&random(K, round));
                let width = LANES * format.bytes();
                let mut panel: Vec<u8> = (0..K / BLOCK * width).map(|_| random_bytes.random()).collect();
                // scales and offsets that are numbers
                let n_halves = if format == Format::Q4_1 { 2 * LANES } else { LANES };
                for half in panel.chunks_exact_mut(width).flat_map(|block| block[..2 * n_halves].chunks_exact_mut(2)) {
                    half.copy_from_slice(&f16::from_f32(random_bytes.random_range(-2.0..2.0)).to_le_bytes());
                }
                let want = product_portable(format, &panel, &x);
                for (name, _, product) in kernels.iter().filter(|(_, is_there, _)| *is_there) {
                    let got = product(format, &panel, &x);
                    assert_eq!(got.map(f32::to_bits), want.map(f32::to_bits), "{name}, {format:?}: {got:?} {want:?}");
                }
            }
        }
    }

    #[test]
    fn a_vector_of_nothing_is_nothing() {
        let mut rows = Rows::default();
        rows.push(&stored(GgmlDType::Q4_1, K), |row| row).unwrap();
        assert!(rows.times(&[Rounded::of(&[0.0; K])])[0].iter().all(|y| *y == 0.0));
        assert!(rows.times(&[]).is_empty());
    }
}
