//! Matrix products on the CPU: a checked, strided face on the `gemm` crate, which candle itself uses.

use gemm::Parallelism;

use super::Real;

/// A read-only matrix view with strides in elements.
#[derive(Clone, Copy)]
pub(crate) struct Mat<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> Mat<'a, T> {
    /// `rows x cols`, row-major, rows `row_stride` elements apart.
    pub(crate) fn new(data: &'a [T], rows: usize, cols: usize, row_stride: usize) -> Self {
        assert!(rows == 0 || cols == 0 || (rows - 1) * row_stride + cols <= data.len(), "matrix view out of bounds");
        Mat { data, rows, cols, row_stride, col_stride: 1 }
    }

    /// The transposed view; nothing moves.
    pub(crate) fn t(self) -> Self {
        Mat { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }
}

/// A row-major matrix to write, rows `row_stride` elements apart.
pub(crate) struct MatMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
}

impl<'a, T> MatMut<'a, T> {
    pub(crate) fn new(data: &'a mut [T], rows: usize, cols: usize, row_stride: usize) -> Self {
        assert!(rows == 0 || cols == 0 || (rows - 1) * row_stride + cols <= data.len(), "matrix view out of bounds");
        MatMut { data, rows, cols, row_stride }
    }
}

/// Inside a worker of the thread pool the caller already runs one task per core; a product that split itself again
/// would only wait for its siblings.
fn parallelism(flops: usize) -> Parallelism {
    let threads = rayon::current_num_threads();
    if threads == 1 || rayon::current_thread_index().is_some() || flops < 1 << 20 {
        Parallelism::None
    } else {
        Parallelism::Rayon(threads)
    }
}

/// `dst = alpha * lhs @ rhs`, or `dst += alpha * lhs @ rhs` with `accumulate`.
pub(crate) fn gemm<T: Real>(dst: MatMut<'_, T>, accumulate: bool, alpha: T, lhs: Mat<'_, T>, rhs: Mat<'_, T>) {
    gemm_with(parallelism(2 * dst.rows * dst.cols * lhs.cols), dst, accumulate, alpha, lhs, rhs);
}

fn gemm_with<T: Real>(
    parallelism: Parallelism,
    dst: MatMut<'_, T>,
    accumulate: bool,
    alpha: T,
    lhs: Mat<'_, T>,
    rhs: Mat<'_, T>,
) {
    let (m, n, k) = (dst.rows, dst.cols, lhs.cols);
    assert!(lhs.rows == m && rhs.cols == n && rhs.rows == k, "matrix product of unlike shapes");
    if m == 0 || n == 0 {
        return;
    }
    // SAFETY: the constructors checked that every element addressed by (rows, cols, strides) lies inside its slice,
    // `dst` is borrowed mutably so it overlaps neither operand, and without `read_dst` the kernel only writes it.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            dst.data.as_mut_ptr(),
            1,
            dst.row_stride as isize,
            accumulate,
            lhs.data.as_ptr(),
            lhs.col_stride as isize,
            lhs.row_stride as isize,
            rhs.data.as_ptr(),
            rhs.col_stride as isize,
            rhs.row_stride as isize,
            T::one(),
            alpha,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// A new row-major `[m, n]` buffer holding `lhs @ rhs`.
pub(crate) fn product<T: Real>(lhs: Mat<'_, T>, rhs: Mat<'_, T>) -> Vec<T> {
    let (m, n) = (lhs.rows, rhs.cols);
    let mut out = vec![T::zero(); m * n];
    gemm(MatMut::new(&mut out, m, n, n), false, T::one(), lhs, rhs);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_products_match_the_triple_loop() {
        let (m, n, k) = (7, 5, 9);
        let a: Vec<f64> = (0..m * 12).map(|i| (i as f64 * 0.37).sin()).collect();
        let b: Vec<f64> = (0..n * 11).map(|i| (i as f64 * 0.71).cos()).collect();
        let mut out = vec![1.0; m * 6];
        // a is [m, k] with rows 12 apart, b is [n, k] with rows 11 apart and used transposed
        gemm(MatMut::new(&mut out, m, n, 6), true, 2.0, Mat::new(&a, m, k, 12), Mat::new(&b, n, k, 11).t());
        for i in 0..m {
            for j in 0..n {
                let want: f64 = 1.0 + 2.0 * (0..k).map(|l| a[i * 12 + l] * b[j * 11 + l]).sum::<f64>();
                assert!((out[i * 6 + j] - want).abs() < 1e-12, "({i}, {j}): got {}, want {want}", out[i * 6 + j]);
            }
        }
        assert_eq!(out[5], 1.0, "the gap between rows is not touched");
    }

    /// What makes rows of a table independent of the number of threads: they divide a product, never a sum.
    #[test]
    fn threads_do_not_change_a_bit() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for (m, n, k) in [(33, 960, 576), (240, 3072, 576), (61, 576, 1536), (1, 49_152, 64), (300, 70, 1537)] {
            let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..n * k).map(|i| (i as f32 * 0.71).cos()).collect();
            let run = |threads: Option<usize>| {
                let mut out = vec![0f32; m * n];
                let parallelism = threads.map_or(Parallelism::None, Parallelism::Rayon);
                let (dst, lhs, rhs) =
                    (MatMut::new(&mut out, m, n, n), Mat::new(&a, m, k, k), Mat::new(&b, n, k, k).t());
                gemm_with(parallelism, dst, false, 1.0, lhs, rhs);
                out
            };
            let alone = one.install(|| product(Mat::new(&a, m, k, k), Mat::new(&b, n, k, k).t()));
            for threads in [None, Some(2), Some(3), Some(16)] {
                assert!(run(threads) == alone, "[{m}, {k}] x [{k}, {n}] with {threads:?} threads");
            }
        }
    }
}
