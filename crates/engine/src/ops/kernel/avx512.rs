//! Tiles in AVX-512 registers: one accumulator a row and vector, one broadcast a row and step.

use std::arch::x86_64::*;

use super::{Bf16, Tile};

macro_rules! tile {
    ($name:ident, $inner:ident, $element:ty, $features:literal, $zero:expr, $load:expr, $broadcast:expr, $step:expr) => {
        /// # Safety
        /// As [`Tile`] demands, on a processor with the instructions named.
        pub(super) unsafe fn $name(t: &Tile<$element>) {
            macro_rules! rows {
                ($vectors:literal) => {
                    match t.rows {
                        1 => $inner::<1, $vectors>(t),
                        2 => $inner::<2, $vectors>(t),
                        3 => $inner::<3, $vectors>(t),
                        4 => $inner::<4, $vectors>(t),
                        5 => $inner::<5, $vectors>(t),
                        _ => $inner::<6, $vectors>(t),
                    }
                };
            }
            // SAFETY: passed on from the caller.
            unsafe {
                match t.cols.div_ceil(16) {
                    1 => rows!(1),
                    2 => rows!(2),
                    3 => rows!(3),
                    _ => rows!(4),
                }
            }
        }

        #[target_feature(enable = $features)]
        unsafe fn $inner<const ROWS: usize, const VECTORS: usize>(t: &Tile<$element>) {
            // lanes of the last vector that are columns
            let last: __mmask16 = 0xffff >> (16 * VECTORS - t.cols);
            let mask = |v: usize| if v + 1 == VECTORS { last } else { 0xffff };
            // SAFETY: the caller vouches for every address; masked lanes are not touched.
            unsafe {
                let mut acc = [[_mm512_setzero_ps(); VECTORS]; ROWS];
                for p in 0..t.steps {
                    let mut b = [$zero; VECTORS];
                    for v in 0..VECTORS {
                        b[v] = $load(mask(v), t.b.add(p * t.b_step + 16 * v));
                    }
                    for i in 0..ROWS {
                        let a = $broadcast(*t.a.add(i * t.a_row + p * t.a_step));
                        for v in 0..VECTORS {
                            acc[i][v] = $step(acc[i][v], a, b[v]);
                        }
                    }
                }
                for i in 0..ROWS {
                    for v in 0..VECTORS {
                        let c = t.c.add(i * t.c_row + 16 * v);
                        let sum = if t.accumulate {
                            _mm512_add_ps(_mm512_maskz_loadu_ps(mask(v), c), acc[i][v])
                        } else {
                            acc[i][v]
                        };
                        _mm512_mask_storeu_ps(c, mask(v), sum);
                    }
                }
            }
        }
    };
}

tile!(
    f32_tile,
    f32_tile_of,
    f32,
    "avx512f",
    _mm512_setzero_ps(),
    |mask, at| _mm512_maskz_loadu_ps(mask, at),
    |a| _mm512_set1_ps(a),
    |acc, a, b| _mm512_fmadd_ps(a, b, acc)
);
tile!(
    bf16_tile,
    bf16_tile_of,
    Bf16,
    "avx512f,avx512bf16",
    _mm512_setzero_si512(),
    |mask, at: *const u32| _mm512_maskz_loadu_epi32(mask, at.cast()),
    |a: u32| _mm512_set1_epi32(a.cast_signed()),
    |acc, a: __m512i, b: __m512i| _mm512_dpbf16_ps(
        acc,
        std::mem::transmute::<__m512i, __m512bh>(a),
        std::mem::transmute::<__m512i, __m512bh>(b)
    )
);

/// Rounds neighbours to bf16 words, scaled where there are factors; lengths are multiples of 32.
///
/// # Safety
/// On a processor with AVX512-BF16; `factors` are as long as `x`, `words` half as long.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn round_pairs(x: &[f32], factors: Option<&[f32]>, words: &mut [u32]) {
    for p in (0..x.len()).step_by(32) {
        // SAFETY: 32 elements from `p` on are there.
        unsafe {
            let (mut low, mut high) = (_mm512_loadu_ps(x.as_ptr().add(p)), _mm512_loadu_ps(x.as_ptr().add(p + 16)));
            if let Some(factors) = factors {
                low = _mm512_mul_ps(low, _mm512_loadu_ps(factors.as_ptr().add(p)));
                high = _mm512_mul_ps(high, _mm512_loadu_ps(factors.as_ptr().add(p + 16)));
            }
            let pairs = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low));
            _mm512_storeu_si512(words.as_mut_ptr().add(p / 2).cast(), pairs);
        }
    }
}

/// Rounds each element of a row and of the one below it, if there is one, to a bf16 word; lengths are multiples of 16.
///
/// # Safety
/// On a processor with AVX512-BF16; all three are of one length.
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn round_stacked(first: &[f32], second: Option<&[f32]>, words: &mut [u32]) {
    for j in (0..first.len()).step_by(16) {
        // SAFETY: 16 elements from `j` on are there.
        unsafe {
            let word = |row: &[f32]| {
                let rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(row.as_ptr().add(j)));
                _mm512_cvtepu16_epi32(std::mem::transmute::<__m256bh, __m256i>(rounded))
            };
            let low = word(first);
            let both = second.map_or(low, |second| _mm512_or_si512(low, _mm512_slli_epi32::<16>(word(second))));
            _mm512_storeu_si512(words.as_mut_ptr().add(j).cast(), both);
        }
    }
}
