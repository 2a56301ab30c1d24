//! Tiles of bf16 pairs in AMX's tile registers: 16 rows by 64 columns of sums, 16 words of the reduction an instruction.
//!
//! An instruction adds the products of its 16 words up before they reach the sums, so what is left out of a reduction at its beginning has
//! to be a multiple of [`STEPS`] ([`super::Within`]), or a row would depend on those beside it.

use std::{arch::asm, mem::MaybeUninit, sync::OnceLock};

use super::{BLOCK_STEPS, Bf16, Tile, WIDEST};
use crate::ops::instructions::cpuid;

/// Rows of a tile register.
pub(super) const ROWS: usize = 16;
/// Words of the reduction that an instruction takes.
pub(super) const STEPS: usize = 16;
/// Columns of a tile register.
const COLUMNS: usize = 16;
/// Tile registers: four of sums, one of the left-hand side, two of whole columns of the right-hand side and one of its last ones.
const LEFT: usize = 4;
const WHOLE: [usize; 2] = [5, 6];
const LAST: usize = 7;

/// Whether this processor has the instructions and the system lets us use their registers, for which a process has to ask.
pub(crate) fn is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    *IS_THERE.get_or_init(|| {
        const BF16_AND_TILES: u32 = 1 << 22 | 1 << 24;
        let has_instructions = cpuid(0, 0).eax >= 7 && cpuid(7, 0).edx & BF16_AND_TILES == BF16_AND_TILES;
        has_instructions && is_allowed()
    })
}

#[cfg(target_os = "linux")]
fn is_allowed() -> bool {
    const ASK_FOR_STATE: libc::c_long = 0x1023;
    const TILE_DATA: libc::c_long = 18;
    // SAFETY: it takes two numbers and changes what this process may use.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn is_allowed() -> bool {
    false
}

/// The shapes of the tile registers, as the processor reads them.
#[repr(C, align(64))]
struct Config {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Config {
    /// For sums of so many rows and columns.
    fn new(rows: usize, cols: usize) -> Config {
        let mut config = Config { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        let mut shape = |register: usize, rows: usize, words: usize| {
            config.rows[register] = rows as u8;
            config.row_bytes[register] = 4 * words as u16;
        };
        let last = (cols - 1) / COLUMNS;
        let last_cols = cols - last * COLUMNS;
        (0..last).for_each(|register| shape(register, rows, COLUMNS));
        shape(last, rows, last_cols);
        shape(LEFT, rows, STEPS);
        WHOLE.into_iter().for_each(|register| shape(register, STEPS, COLUMNS));
        shape(LAST, STEPS, last_cols);
        config
    }
}

/// Operands whose reduction is a multiple of [`STEPS`].
struct Blocks {
    n: usize,
    a: *const u32,
    a_row: usize,
    b: *const u32,
    b_step: usize,
}

/// See [`super::Element::tile`].
///
/// # Safety
/// As [`Tile`] demands, where [`is_there`]; at most [`ROWS`] rows, [`WIDEST`] columns and [`BLOCK_STEPS`] steps.
pub(super) unsafe fn bf16_tile(t: &Tile<Bf16>) {
    // SAFETY: passed on from the caller.
    unsafe {
        match t.a_step {
            1 => tile_of(t, t.a, t.a_row),
            _ => turned_tile(t),
        }
    }
}

/// The same where words of a row of the left-hand side do not lie one behind the other, as a tile register has to have them.
///
/// # Safety
/// As [`bf16_tile`].
#[inline(never)]
unsafe fn turned_tile(t: &Tile<Bf16>) {
    let mut turned = [MaybeUninit::<u32>::uninit(); ROWS * BLOCK_STEPS];
    for p in 0..t.steps {
        for i in 0..t.rows {
            // SAFETY: inside the operand, as the caller vouches.
            turned[i * BLOCK_STEPS + p].write(unsafe { *t.a.add(i * t.a_row + p * t.a_step) });
        }
    }
    // SAFETY: the rows' steps were written just now.
    unsafe { tile_of(t, turned.as_ptr().cast(), BLOCK_STEPS) };
}

/// A tile whose left-hand side is `a`, its rows `a_row` words apart.
///
/// # Safety
/// As [`bf16_tile`].
unsafe fn tile_of(t: &Tile<Bf16>, a: *const u32, a_row: usize) {
    let config = Config::new(t.rows, t.cols);
    let (n, rest) = (t.steps / STEPS, t.steps % STEPS);
    // SAFETY: `n * STEPS` steps are there; the result is ours to write.
    unsafe { add(&config, t, Blocks { n, a, a_row, b: t.b, b_step: t.b_step }, t.accumulate) };
    if rest == 0 {
        return;
    }
    let (mut last_a, mut last_b) = ([0_u32; ROWS * STEPS], [0_u32; STEPS * WIDEST]);
    let first = n * STEPS;
    for (i, words) in last_a.chunks_exact_mut(STEPS).enumerate().take(t.rows) {
        // SAFETY: the last steps of the row.
        words[..rest].copy_from_slice(unsafe { std::slice::from_raw_parts(a.add(i * a_row + first), rest) });
    }
    for (p, words) in last_b.chunks_exact_mut(WIDEST).enumerate().take(rest) {
        // SAFETY: the columns of one of the last steps.
        let step = unsafe { std::slice::from_raw_parts(t.b.add((first + p) * t.b_step), t.cols) };
        words[..t.cols].copy_from_slice(step);
    }
    let blocks = Blocks { n: 1, a: last_a.as_ptr(), a_row: STEPS, b: last_b.as_ptr(), b_step: WIDEST };
    // SAFETY: whole blocks, zeros where the operands end.
    unsafe { add(&config, t, blocks, true) };
}

/// Adds the products of some blocks to a tile's result, or with `!onto` puts them there.
///
/// # Safety
/// As [`bf16_tile`].
unsafe fn add(config: &Config, t: &Tile<Bf16>, blocks: Blocks, onto: bool) {
    macro_rules! sums {
        ([$($start:literal)*], [$($zero:literal)*], [$($step:literal)*], [$($end:literal)*]) => {
            asm!(
                "ldtilecfg [{config}]",
                "test {onto}, {onto}",
                "jz 2f",
                $($start,)*
                "jmp 3f",
                "2:",
                $($zero,)*
                "3:",
                "test {n}, {n}",
                "jz 5f",
                "4:",
                "tileloadd tmm4, [{a} + {a_row}]",
                $($step,)*
                "add {a}, 64",
                "add {b}, {b_block}",
                "dec {n}",
                "jnz 4b",
                "5:",
                $($end,)*
                "tilerelease",
                config = in(reg) config,
                onto = in(reg) u64::from(onto),
                n = inout(reg) blocks.n => _,
                a = inout(reg) blocks.a => _,
                a_row = in(reg) 4 * blocks.a_row,
                b = inout(reg) blocks.b => _,
                b_row = in(reg) 4 * blocks.b_step,
                b_block = in(reg) 4 * STEPS * blocks.b_step,
                c = in(reg) t.c,
                c_row = in(reg) 4 * t.c_row,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            )
        };
    }
    // SAFETY: the registers have the shapes of what is read and written.
    unsafe {
        match t.cols.div_ceil(COLUMNS) {
            1 => sums!(
                ["tileloadd tmm0, [{c} + {c_row}]"],
                ["tilezero tmm0"],
                ["tileloadd tmm7, [{b} + {b_row}]" "tdpbf16ps tmm0, tmm4, tmm7"],
                ["tilestored [{c} + {c_row}], tmm0"]
            ),
            2 => sums!(
                ["tileloadd tmm0, [{c} + {c_row}]" "tileloadd tmm1, [{c} + {c_row} + 64]"],
                ["tilezero tmm0" "tilezero tmm1"],
                [
                    "tileloadd tmm5, [{b} + {b_row}]" "tdpbf16ps tmm0, tmm4, tmm5"
                    "tileloadd tmm7, [{b} + {b_row} + 64]" "tdpbf16ps tmm1, tmm4, tmm7"
                ],
                ["tilestored [{c} + {c_row}], tmm0" "tilestored [{c} + {c_row} + 64], tmm1"]
            ),
            3 => sums!(
                [
                    "tileloadd tmm0, [{c} + {c_row}]" "tileloadd tmm1, [{c} + {c_row} + 64]"
                    "tileloadd tmm2, [{c} + {c_row} + 128]"
                ],
                ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2"],
                [
                    "tileloadd tmm5, [{b} + {b_row}]" "tdpbf16ps tmm0, tmm4, tmm5"
                    "tileloadd tmm6, [{b} + {b_row} + 64]" "tdpbf16ps tmm1, tmm4, tmm6"
                    "tileloadd tmm7, [{b} + {b_row} + 128]" "tdpbf16ps tmm2, tmm4, tmm7"
                ],
                [
                    "tilestored [{c} + {c_row}], tmm0" "tilestored [{c} + {c_row} + 64], tmm1"
                    "tilestored [{c} + {c_row} + 128], tmm2"
                ]
            ),
            _ => sums!(
                [
                    "tileloadd tmm0, [{c} + {c_row}]" "tileloadd tmm1, [{c} + {c_row} + 64]"
                    "tileloadd tmm2, [{c} + {c_row} + 128]" "tileloadd tmm3, [{c} + {c_row} + 192]"
                ],
                ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"],
                [
                    "tileloadd tmm5, [{b} + {b_row}]" "tdpbf16ps tmm0, tmm4, tmm5"
                    "tileloadd tmm6, [{b} + {b_row} + 64]" "tdpbf16ps tmm1, tmm4, tmm6"
                    "tileloadd tmm5, [{b} + {b_row} + 128]" "tdpbf16ps tmm2, tmm4, tmm5"
                    "tileloadd tmm7, [{b} + {b_row} + 192]" "tdpbf16ps tmm3, tmm4, tmm7"
                ],
                [
                    "tilestored [{c} + {c_row}], tmm0" "tilestored [{c} + {c_row} + 64], tmm1"
                    "tilestored [{c} + {c_row} + 128], tmm2" "tilestored [{c} + {c_row} + 192], tmm3"
                ]
            ),
        }
    }
}
