//! Products in every layout against the triple loop.

use candle_core::WithDType;

use super::*;

fn noise(n: usize, seed: f64) -> Vec<f64> {
    (0..n).map(|i| ((i as f64 + seed) * 12.9898).sin() * 1.7).collect()
}

fn real<T: Real>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&v| T::from_f64(v)).collect()
}

/// `b` `[n, k]` with its columns one behind the other.
fn turned(b: &[f32], n: usize, k: usize) -> Vec<f32> {
    (0..k * n).map(|x| b[x % n * k + x / n]).collect()
}

/// Every way of writing a product, against the triple loop over operands rounded in the same way.
///
/// `bound` is relative to the sum of the products' magnitudes: the accumulator's rounding.
fn check<E: Element>(bound: f64) {
    // tiles of 1 to 6 rows (of AMX up to 13 and 16), panels of 1 to 4 vectors with and without a rest, one step, odd and several blocks of steps
    for (m, n, k) in [(1, 1, 1), (7, 64, 3), (13, 130, 65), (6, 17, 2049), (101, 33, 64), (5, 48, 7)] {
        let (a, b) = (real::<E::Real>(&noise(m * (k + 2), 0.3)), real::<E::Real>(&noise(n * (k + 1), 0.9)));
        let rounded = |v: E::Real| E::elements(E::word(v, E::Real::default()))[0].to_f64();
        let mut want = vec![0.0; m * n];
        let mut size = vec![0.0; m * n];
        for i in 0..m {
            for j in 0..n {
                for l in 0..k {
                    let product = rounded(a[i * (k + 2) + l]) * rounded(b[j * (k + 1) + l]);
                    want[i * n + j] += product;
                    size[i * n + j] += product.abs();
                }
            }
        }
        let compare = |what: &str, c: &[E::Real], row: usize, times: f64| {
            for i in 0..m {
                for j in 0..n {
                    let (got, want) = (c[i * row + j].to_f64(), want[i * n + j] * times);
                    let error = (got - want).abs() / (times * size[i * n + j]);
                    assert!(error <= bound, "{what} {m} {n} {k} at ({i}, {j}): got {got}, want {want}, {error:e}");
                }
            }
        };
        let packed = Packed::<E>::of_rows(&b, n, k, k + 1);
        let left = Left::<E>::rows(&a, m, k, k + 2);
        let mut c = vec![E::Real::default(); m * (n + 3)];
        product(&left, packed.right(), &mut c, n + 3, false);
        compare("packed", &c, n + 3, 1.0);
        product(&left, packed.right(), &mut c, n + 3, true);
        compare("accumulated", &c, n + 3, 2.0);
        assert!((0..m).all(|i| c[i * (n + 3) + n].to_f64() == 0.0), "the gap between rows was written");

        // (b as it lies)ᵀ on the left, and the transpose of the transpose
        let at: Vec<E::Real> = (0..k * m).map(|x| a[(x % m) * (k + 2) + x / m]).collect();
        let bt: Vec<E::Real> = (0..k * n).map(|x| b[(x % n) * (k + 1) + x / n]).collect();
        let (at, bt) = (Columns::<E>::new(&at, k, m, m), Columns::<E>::new(&bt, k, n, n));
        let mut c = vec![E::Real::default(); m * n];
        product(&Left::transposed(&at), bt.right(), &mut c, n, false);
        compare("columns", &c, n, 1.0);
        let again = packed.transposed();
        assert_eq!((again.inputs, again.outputs), (n, k));
        let mut row = vec![E::Real::default(); k];
        let mut c = vec![E::Real::default(); m * n];
        product(&left, again.transposed().right(), &mut c, n, false);
        compare("transposed twice", &c, n, 1.0);
        packed.row(n - 1, &mut row);
        assert!(row.iter().zip(&b[(n - 1) * (k + 1)..]).all(|(r, &b)| r.to_f64() == rounded(b)), "row");
        // (dy W) through the transposed panels: dy is b's columns, W is b
        let dy = noise(m * n, 0.1);
        let dy = real::<E::Real>(&dy);
        let mut got = vec![E::Real::default(); m * k];
        product(&Left::<E>::rows(&dy, m, n, n), again.right(), &mut got, k, false);
        for (i, l) in [(0, 0), (m - 1, k - 1), (m / 2, k / 2)] {
            let terms = (0..n).map(|j| rounded(dy[i * n + j]) * rounded(b[j * (k + 1) + l]));
            let (want, size) = terms.fold((0.0, 0.0), |(w, s), t| (w + t, s + t.abs()));
            assert!((got[i * k + l].to_f64() - want).abs() <= bound * size, "transposed {m} {n} {k}");
        }
    }
}

#[test]
fn products_match_the_triple_loop() {
    check::<f64>(1e-14);
    check::<f32>(1e-5);
    check::<Bf16>(1e-5);
    check::<Rounded>(1e-5);
}

#[test]
fn loops_and_intrinsics_agree() {
    let (m, n, k) = (6, 61, 130);
    let (a, b) = (real::<f32>(&noise(m * k, 0.0)), real::<f32>(&noise(n * k, 0.5)));
    fn both<E: Element<Real = f32>>(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> f32 {
        let (left, right) = (Left::<E>::rows(a, m, k, k), Packed::<E>::of_rows(b, n, k, k));
        let columns = turned(b, n, k);
        let columns = Columns::<E>::new(&columns, k, n, n);
        let (mut c, mut d) = (vec![0.0; m * n], vec![0.0; m * n]);
        product(&left, right.right(), &mut c, n, false);
        let tile = Tile::<E> {
            rows: m,
            cols: n,
            steps: left.steps,
            a: left.words.as_ptr(),
            a_row: left.row_stride,
            a_step: 1,
            b: columns.words.as_ptr(),
            b_step: columns.stride,
            c: d.as_mut_ptr(),
            c_row: n,
            accumulate: false,
        };
        // SAFETY: the sizes are those of the operands made above.
        unsafe { portable_tile(&tile) };
        c.iter().zip(&d).map(|(c, d)| (c - d).abs()).fold(0.0, f32::max)
    }
    // sums of 130 products of at most 3: a few units in the last place
    assert!(both::<f32>(&a, &b, m, n, k) < 1e-4);
    assert!(both::<Bf16>(&a, &b, m, n, k) < 1e-4);
    assert!(both::<Rounded>(&a, &b, m, n, k) < 1e-4);
}

/// Every element is one chain of fused multiply-adds, however wide the vectors are.
#[cfg(target_arch = "x86_64")]
#[test]
fn avx2_and_avx512_give_the_same_bits() {
    if !std::arch::is_x86_feature_detected!("fma") || !std::arch::is_x86_feature_detected!("avx2") {
        return;
    }
    for (m, n, k) in [(6, 64, 130), (1, 1, 1), (5, 17, 768), (4, 33, 3), (3, 48, 64), (2, 15, 9), (6, 63, 31)] {
        let (a, b) = (real::<f32>(&noise(m * k, 0.0)), real::<f32>(&noise(n * k, 0.5)));
        let (left, columns) = (Left::<f32>::rows(&a, m, k, k), turned(&b, n, k));
        let mut want = real::<f32>(&noise(m * (n + 5), 0.8));
        let tile = |c: &mut [f32], accumulate: bool| Tile::<f32> {
            rows: m,
            cols: n,
            steps: k,
            a: left.words.as_ptr(),
            a_row: left.row_stride,
            a_step: 1,
            b: columns.as_ptr(),
            b_step: n,
            c: c.as_mut_ptr(),
            c_row: n + 5,
            accumulate,
        };
        let mut got = want.clone();
        for accumulate in [false, true] {
            for (i, row) in want.chunks_mut(n + 5).enumerate() {
                for (j, c) in row[..n].iter_mut().enumerate() {
                    let chain = (0..k).fold(0.0_f32, |sum, p| a[i * k + p].mul_add(b[j * k + p], sum));
                    *c = if accumulate { *c + chain } else { chain };
                }
            }
            // SAFETY: the sizes are those of the operands made above, and the processor has the instructions.
            unsafe { avx2::f32_tile(&tile(&mut got, accumulate)) };
            assert!(got == want, "AVX2, {m} {n} {k}");
            if std::arch::is_x86_feature_detected!("avx512f") {
                let mut wide = want.clone();
                // SAFETY: as above.
                unsafe { avx512::f32_tile(&tile(&mut wide, false)) };
                // SAFETY: as above.
                unsafe { avx2::f32_tile(&tile(&mut got, false)) };
                assert!(got == wide, "AVX-512, {m} {n} {k}");
                got.copy_from_slice(&want);
            }
        }
    }
}

/// Both roads of bf16 round the same operands to the same numbers; only the order of the sums differs.
#[test]
fn both_roads_of_bf16_multiply_the_same_numbers() {
    let x = real::<f32>(&noise(7 * 65, 0.3));
    let factors = real::<f32>(&noise(65, 0.6));
    let (mut pairs, mut singles) = (vec![0; 33], vec![0.0; 65]);
    for scaled in [false, true] {
        if scaled {
            Bf16::scaled_words(&x[..65], &factors, &mut pairs);
            Rounded::scaled_words(&x[..65], &factors, &mut singles);
        } else {
            Bf16::put_row_words(&x[..65], &mut pairs);
            Rounded::put_row_words(&x[..65], &mut singles);
        }
        let pairs: Vec<f32> = pairs.iter().flat_map(|&word| Bf16::elements(word)).take(65).collect();
        assert_eq!(pairs, singles);
    }
    let (pairs, stride) = Bf16::column_words(&x, 7, 65, 65);
    let (singles, single_stride) = Rounded::column_words(&x, 7, 65, 65);
    for row in 0..7 {
        for column in 0..65 {
            let pair = Bf16::elements(pairs[row / 2 * stride + column])[row % 2];
            assert_eq!(pair, singles[row * single_stride + column]);
        }
    }
    let mut put = vec![0.0; 7 * 70];
    Rounded::put_column_words(&x, 65, &mut put, 70);
    assert!((0..7).all(|row| put[row * 70..][..65] == singles[row * single_stride..][..65]));
}

#[test]
fn rounding_is_to_the_nearest_even() {
    for x in [0.0_f32, -0.0, 1.0, 1.003_906_3, 1.011_718_8, -3.7e-39, 3.3e38, f32::INFINITY, 1.0 / 3.0, -2e-5] {
        assert_eq!(round_to_bf16(x) as u16, half::bf16::from_f32(x).to_bits(), "{x}");
    }
}

#[test]
fn a_row_does_not_depend_on_the_rows_beside_it() {
    let (m, n, k) = (200, 70, 1100);
    let (a, b) = (real::<f32>(&noise(m * k, 0.0)), real::<f32>(&noise(n * k, 0.5)));
    let right = Packed::<Bf16>::of_rows(&b, n, k, k);
    let mut all = vec![0.0; m * n];
    product(&Left::<Bf16>::rows(&a, m, k, k), right.right(), &mut all, n, false);
    for i in [0, 95, 96, 199] {
        let mut one = vec![0.0; n];
        product(&Left::<Bf16>::rows(&a[i * k..], 1, k, k), right.right(), &mut one, n, false);
        assert_eq!(one, all[i * n..][..n], "row {i}");
    }
}

/// What makes rows of a table independent of the number of threads: they divide a product, never a sum.
#[test]
fn threads_do_not_change_a_bit() {
    fn check<E: Element>() {
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        for (m, n, k) in [(33, 960, 576), (240, 1000, 576), (1, 49_152, 64), (300, 70, 1537)] {
            let (a, b) = (real::<E::Real>(&noise(m * k, 0.0)), real::<E::Real>(&noise(n * k, 0.5)));
            let right = Packed::<E>::of_rows(&b, n, k, k);
            let run = || product_of(&Left::<E>::rows(&a, m, k, k), right.right());
            let one = pool(1).install(run);
            for threads in [2, 3, 5, 6, 7] {
                assert!(pool(threads).install(run) == one, "[{m}, {k}] x [{k}, {n}], {threads} threads");
            }
        }
    }
    check::<f32>();
    check::<Bf16>();
    check::<Rounded>();
}

/// The rounding of many neighbours is that of one pair, whichever instructions do it.
#[test]
fn neighbours_round_like_a_pair() {
    // ties to even in both directions, signs, the largest that stays finite, powers far apart; subnormals are left out: the
    // processor's own rounding takes them for zero
    let edges = [1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, -1.0 - 1.0 / 256.0, 0.0, -0.0, 3.3e38, 1e-30, -2.5e19_f32];
    for n in [1, 31, 32, 33, 64, 95, 130] {
        let x: Vec<f32> = real::<f32>(&noise(n, 0.7))
            .into_iter()
            .zip(edges.into_iter().cycle())
            .enumerate()
            .map(|(i, (x, edge))| if i % 3 == 0 { edge } else { x })
            .collect();
        let factors: Vec<f32> = real(&noise(n, 0.2));
        for factors in [None, Some(factors.as_slice())] {
            let at = |i: usize| x.get(i).map_or(0.0, |&x| factors.map_or(x, |f| x * f[i]));
            let want: Vec<u32> = (0..n.div_ceil(2)).map(|p| Bf16::word(at(2 * p), at(2 * p + 1))).collect();
            let mut words = vec![u32::MAX; n.div_ceil(2)];
            pair_words(&x, factors, &mut words);
            assert_eq!(words, want, "{n} elements, factors: {}", factors.is_some());
        }
        let below = [None, Some(factors.as_slice())];
        for below in below {
            let want: Vec<u32> = (0..n).map(|j| Bf16::word(x[j], below.map_or(0.0, |row| row[j]))).collect();
            let mut words = vec![u32::MAX; n];
            stacked_words(&x, below, &mut words);
            assert_eq!(words, want, "{n} columns, a row below: {}", below.is_some());
        }
    }
}

/// What lies beyond a diagonal is zero on the left, so leaving it out changes no result; and what is left out of the result is
/// not written, but everything up to the diagonal is.
#[test]
fn what_is_beyond_a_diagonal_is_left_out() {
    fn check<E: Element>(m: usize, n: usize, k: usize, within: Within) {
        let wanted = |i: usize, p: usize, j: usize| match within {
            Within::All => true,
            Within::LeftUpTo(o) => p <= i + o,
            Within::LeftFrom(o) => p + o >= i,
            Within::ResultUpTo(o) => j <= i + o,
        };
        let mut a = real::<E::Real>(&noise(m * k, 0.2));
        for (at, a) in a.iter_mut().enumerate() {
            if !matches!(within, Within::ResultUpTo(_)) && !wanted(at / k, at % k, 0) {
                *a = E::Real::default();
            }
        }
        let b = real::<E::Real>(&noise(n * k, 0.6));
        let (left, right) = (Left::<E>::rows(&a, m, k, k), Packed::<E>::of_rows(&b, n, k, k));
        let (mut all, mut some) = (vec![E::Real::default(); m * n], vec![E::Real::from_f64(-7.0); m * n]);
        product(&left, right.right(), &mut all, n, false);
        product_within(&left, right.right(), &mut some, n, false, within);
        for (at, (all, some)) in all.iter().zip(&some).enumerate() {
            let is_written = wanted(at / n, 0, at % n) || !matches!(within, Within::ResultUpTo(_));
            assert!(!is_written || all == some, "{within:?} {m} {n} {k} at ({}, {})", at / n, at % n);
        }
        if let Within::ResultUpTo(o) = within {
            let spared = some.iter().enumerate().filter(|&(_, &c)| c == E::Real::from_f64(-7.0)).count();
            // a tile may write its own last row's columns in all of its rows
            let rows = E::tile_rows();
            let fewest: usize = (0..m).map(|i| n.saturating_sub(i / rows * rows + rows + o)).sum();
            assert!(spared >= fewest, "{spared} of {fewest} left out");
        }
    }
    for (m, n, k) in [(64, 100, 100), (13, 205, 41), (205, 64, 13), (70, 70, 1600), (1, 1, 1)] {
        for o in [0, 36, 192] {
            for within in [Within::All, Within::LeftUpTo(o), Within::LeftFrom(o), Within::ResultUpTo(o)] {
                check::<f64>(m, n, k, within);
                check::<f32>(m, n, k, within);
                check::<Bf16>(m, n, k, within);
                check::<Rounded>(m, n, k, within);
            }
        }
    }
}
