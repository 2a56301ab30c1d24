//! Tiles in the sixteen registers of AVX2: 16 columns at a time, two accumulators a row, one broadcast a row and step.

use std::arch::x86_64::*;

use super::Tile;

/// Columns whose accumulators are in registers together with their operands.
pub(super) const COLUMNS: usize = 16;

/// # Safety
/// As [`Tile`] demands, on a processor with AVX2 and FMA.
pub(super) unsafe fn f32_tile(t: &Tile<f32>) {
    for first in (0..t.cols).step_by(COLUMNS) {
        let cols = COLUMNS.min(t.cols - first);
        // SAFETY: passed on from the caller; the columns are some of the tile's.
        unsafe {
            match t.rows {
                1 => columns::<1>(t, first, cols),
                2 => columns::<2>(t, first, cols),
                3 => columns::<3>(t, first, cols),
                4 => columns::<4>(t, first, cols),
                5 => columns::<5>(t, first, cols),
                _ => columns::<6>(t, first, cols),
            }
        }
    }
}

/// Some columns of a tile.
#[target_feature(enable = "avx2,fma")]
unsafe fn columns<const ROWS: usize>(t: &Tile<f32>, first: usize, cols: usize) {
    // a lane is loaded and stored where its sign is set
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let mask = |v: usize| _mm256_cmpgt_epi32(_mm256_set1_epi32(cols as i32 - 8 * v as i32), lanes);
    let masks = [mask(0), mask(1)];
    let is_whole = cols == COLUMNS;
    // SAFETY: the caller vouches for every address; masked lanes are not touched.
    unsafe {
        let load = |at: *const f32, v: usize| {
            if is_whole {
                _mm256_loadu_ps(at.wrapping_add(8 * v))
            } else {
                _mm256_maskload_ps(at.wrapping_add(8 * v), masks[v])
            }
        };
        let mut acc = [[_mm256_setzero_ps(); 2]; ROWS];
        for p in 0..t.steps {
            let at = t.b.add(p * t.b_step + first);
            let b = [load(at, 0), load(at, 1)];
            for (i, acc) in acc.iter_mut().enumerate() {
                let a = _mm256_set1_ps(*t.a.add(i * t.a_row + p * t.a_step));
                acc[0] = _mm256_fmadd_ps(a, b[0], acc[0]);
                acc[1] = _mm256_fmadd_ps(a, b[1], acc[1]);
            }
        }
        for (i, acc) in acc.into_iter().enumerate() {
            let c = t.c.add(i * t.c_row + first);
            for (v, acc) in acc.into_iter().enumerate() {
                let sum = if t.accumulate { _mm256_add_ps(load(c, v), acc) } else { acc };
                if is_whole {
                    _mm256_storeu_ps(c.add(8 * v), sum);
                } else {
                    _mm256_maskstore_ps(c.wrapping_add(8 * v), masks[v], sum);
                }
            }
        }
    }
}
