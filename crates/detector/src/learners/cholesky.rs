//! Cholesky's factorisation of small symmetric matrices.

use ndarray::{Array1, Array2};

/// Smallest share of a diagonal entry that may be left after the earlier columns explained the rest. Sums of thousands of
/// products leave rounding errors of about 1e-14.
const SMALLEST_PIVOT: f64 = 1e-13;

/// The lower factor L of a symmetric positive definite matrix A = L · Lᵀ.
#[derive(Debug, Clone)]
pub(crate) struct Cholesky {
    lower: Array2<f64>,
}

impl Cholesky {
    /// Factors `a`, of which only the lower triangle is read; `None` if it is not positive definite.
    pub(crate) fn new(mut a: Array2<f64>) -> Option<Self> {
        let n = a.nrows();
        for j in 0..n {
            for i in j..n {
                let dot: f64 = (0..j).map(|k| a[[i, k]] * a[[j, k]]).sum();
                let rest = a[[i, j]] - dot;
                if i > j {
                    a[[i, j]] = rest / a[[j, j]];
                } else if rest > SMALLEST_PIVOT * a[[j, j]] {
                    a[[j, j]] = rest.sqrt();
                } else {
                    return None;
                }
            }
        }
        Some(Self { lower: a })
    }

    /// Solves A · x = b.
    pub(crate) fn solve(&self, mut b: Array1<f64>) -> Array1<f64> {
        let (n, lower) = (b.len(), &self.lower);
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| lower[[i, k]] * b[k]).sum();
            b[i] = (b[i] - dot) / lower[[i, i]];
        }
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| lower[[k, i]] * b[k]).sum();
            b[i] = (b[i] - dot) / lower[[i, i]];
        }
        b
    }

    pub(crate) fn inverse(&self) -> Array2<f64> {
        let n = self.lower.nrows();
        let mut inverse = Array2::zeros((n, n));
        for j in 0..n {
            let mut unit = Array1::zeros(n);
            unit[j] = 1.0;
            inverse.column_mut(j).assign(&self.solve(unit));
        }
        inverse
    }
}

/// Positions of the columns of a symmetric positive semidefinite matrix that those before them do not explain but for
/// a share of `tolerance`: what R calls not aliased.
pub(crate) fn independent_columns(gram: &Array2<f64>, tolerance: f64) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    let mut rows: Vec<Vec<f64>> = Vec::new(); // of the factor, over the kept columns
    for j in 0..gram.nrows() {
        let mut row = Vec::with_capacity(kept.len());
        for (position, &k) in kept.iter().enumerate() {
            let dot: f64 = row.iter().zip(&rows[position]).map(|(a, b): (&f64, &f64)| a * b).sum();
            row.push((gram[[j, k]] - dot) / rows[position][position]);
        }
        let rest = gram[[j, j]] - row.iter().map(|x| x * x).sum::<f64>();
        if rest > tolerance * gram[[j, j]] {
            row.push(rest.sqrt());
            rows.push(row);
            kept.push(j);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn positive_definite_systems_are_solved_and_others_refused() {
        // [[4, 2], [2, 3]] · [1, -2] = [0, -4]
        let factor = Cholesky::new(array![[4.0, 2.0], [2.0, 3.0]]).unwrap();
        let x = factor.solve(array![0.0, -4.0]);
        assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] + 2.0).abs() < 1e-15, "{x}");
        // determinant 8
        let want = array![[0.375, -0.25], [-0.25, 0.5]];
        assert!((factor.inverse() - want).iter().all(|x| x.abs() < 1e-15));
        assert!(Cholesky::new(array![[1.0, 1.0], [1.0, 1.0]]).is_none());
        assert!(Cholesky::new(array![[-1.0]]).is_none());
    }

    #[test]
    fn columns_that_others_explain_are_found() {
        // the third is the sum of the first two, the fourth is zero, the fifth stands alone
        let x = array![[1.0, 0.0, 1.0, 0.0, 2.0], [0.0, 1.0, 1.0, 0.0, -1.0], [1.0, 1.0, 2.0, 0.0, 5.0]];
        assert_eq!(independent_columns(&x.t().dot(&x), 1e-10), [0, 1, 4]);
    }
}
