//! Matrices as a file holds them: smaller than the panels that products read, which are made of them when they are wanted.
//!
//! A text or two use a matrix a few times; to make its panels each time costs less then than to fill memory with them once. From
//! [`KEPT_AFTER`] uses on they are kept.

use std::{
    fmt,
    ops::{Deref, Range},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    kernel::{Element, Left, Packed, product_of, product_of_parts, product_onto},
    weight::TABLE_ROWS,
};

/// Uses of a matrix after which its panels are kept: those of a change and a message about it, read as a whole and by each of a few
/// assertions. Where pages are slow to come, to fill memory with all panels was one second of 1.45 that such a message took.
pub(crate) const KEPT_AFTER: usize = 8;

/// A matrix whose rows can be read as f32 in pieces.
pub trait StoredRows: fmt::Debug + Send + Sync {
    /// Rows and columns.
    fn dims(&self) -> (usize, usize);
    /// Columns that are stored together: pieces start at multiples of it, and end there or with the row.
    fn block(&self) -> usize;
    /// Some numbers of a row, exactly as a tensor that was read whole has them.
    fn read(&self, row: usize, columns: Range<usize>, out: &mut [f32]);
    /// The numbers will not be read again soon.
    fn done(&self) {}
}

/// The right-hand side of products: panels, or what they are made of.
#[derive(Debug)]
pub(crate) enum Panels<E: Element> {
    /// The panels.
    Packed(Packed<E>),
    /// What they are made of.
    Stored(Stored<E>),
}

/// What panels are made of, and these once they are kept.
#[derive(Debug)]
pub(crate) struct Stored<E: Element> {
    rows: Arc<dyn StoredRows>,
    uses: AtomicUsize,
    kept: OnceLock<Packed<E>>,
}

/// Panels that are kept, or that live for one product.
pub(crate) enum Whole<'a, E: Element> {
    /// They are kept.
    Kept(&'a Packed<E>),
    /// They were made for this.
    Made(Packed<E>),
}

impl<E: Element> Deref for Whole<'_, E> {
    type Target = Packed<E>;

    fn deref(&self) -> &Packed<E> {
        match self {
            Whole::Kept(packed) => packed,
            Whole::Made(packed) => packed,
        }
    }
}

impl<E: Element> From<Packed<E>> for Panels<E> {
    fn from(packed: Packed<E>) -> Self {
        Panels::Packed(packed)
    }
}

impl<E: Element> Stored<E> {
    /// The panels, if this use of them is one of many.
    fn kept(&self) -> Option<&Packed<E>> {
        if let Some(kept) = self.kept.get() {
            return Some(kept);
        }
        // The one use that makes them does it without a lock: while its threads share the work, one of them may come here with another
        // text, and has to go on by itself.
        if self.uses.fetch_add(1, Ordering::Relaxed) == KEPT_AFTER {
            let packed = Packed::of_stored(&*self.rows, 0..self.rows.dims().0, true);
            let _ = self.kept.set(packed);
            self.rows.done();
        }
        self.kept.get()
    }

    fn part(&self, rows: Range<usize>) -> Packed<E> {
        Packed::of_stored(&*self.rows, rows, false)
    }
}

impl<E: Element> Panels<E> {
    /// Of a matrix that is stored otherwise.
    pub(crate) fn stored(rows: Arc<dyn StoredRows>) -> Self {
        Panels::Stored(Stored { rows, uses: AtomicUsize::new(0), kept: OnceLock::new() })
    }

    /// Elements that are reduced over.
    pub(crate) fn inputs(&self) -> usize {
        match self {
            Panels::Packed(packed) => packed.inputs,
            Panels::Stored(stored) => stored.rows.dims().1,
        }
    }

    /// Columns of the product.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Panels::Packed(packed) => packed.outputs,
            Panels::Stored(stored) => stored.rows.dims().0,
        }
    }

    /// All panels.
    pub(crate) fn whole(&self) -> Whole<'_, E> {
        match self {
            Panels::Packed(packed) => Whole::Kept(packed),
            Panels::Stored(stored) => match stored.kept() {
                Some(kept) => Whole::Kept(kept),
                None => Whole::Made(stored.part(0..self.outputs())),
            },
        }
    }

    /// `left @ right`, a large table a part at a time.
    pub(crate) fn product(&self, left: &Left<'_, E>) -> Vec<E::Real> {
        match self {
            Panels::Packed(packed) => product_of(left, packed.right()),
            Panels::Stored(stored) => match stored.kept() {
                Some(kept) => product_of(left, kept.right()),
                None => product_of_parts(left, self.outputs(), TABLE_ROWS, |rows| stored.part(rows)),
            },
        }
    }

    /// `sum += left @ right`.
    pub(crate) fn product_onto(&self, left: &Left<'_, E>, sum: &mut [E::Real]) {
        product_onto(left, self.whole().right(), sum);
    }

    /// The transpose's panels of some rows; the first is a multiple of the panels' width.
    pub(crate) fn transposed_part(&self, rows: Range<usize>) -> Packed<E> {
        match self {
            Panels::Packed(packed) => packed.transposed_part(rows),
            Panels::Stored(stored) => match stored.kept() {
                Some(kept) => kept.transposed_part(rows),
                None => stored.part(rows).transposed(),
            },
        }
    }

    /// One row, as it was rounded.
    pub(crate) fn row(&self, row: usize, out: &mut [E::Real]) {
        match self {
            Panels::Packed(packed) => packed.row(row, out),
            Panels::Stored(Stored { rows, .. }) => {
                let mut numbers = vec![0.0; out.len()];
                rows.read(row, 0..out.len(), &mut numbers);
                let reals = E::reals(&numbers);
                let (words, _) = E::row_words(&reals, 1, out.len(), out.len());
                for (&word, out) in words.iter().zip(out.chunks_mut(E::PER_WORD)) {
                    out.copy_from_slice(&E::elements(word)[..out.len()]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::kernel::{Bf16, Rounded};

    #[derive(Debug)]
    struct InMemory {
        numbers: Vec<f32>,
        rows: usize,
        columns: usize,
        block: usize,
    }

    impl StoredRows for InMemory {
        fn dims(&self) -> (usize, usize) {
            (self.rows, self.columns)
        }

        fn block(&self) -> usize {
            self.block
        }

        fn read(&self, row: usize, columns: Range<usize>, out: &mut [f32]) {
            assert!(columns.start.is_multiple_of(self.block));
            assert!(columns.end == self.columns || columns.end.is_multiple_of(self.block));
            out.copy_from_slice(&self.numbers[row * self.columns..][columns]);
        }
    }

    fn noise(n: usize, seed: f64) -> Vec<f32> {
        (0..n).map(|i| (((i as f64 + seed) * 12.9898).sin() * 1.7) as f32).collect()
    }

    fn agree<E: Element>() {
        // one panel and a rest, more columns than are read at once, no whole blocks, a table of several parts
        for (rows, columns, block) in [(70, 1000, 1), (64, 576, 32), (3, 512, 256), (1, 7, 1), (9000, 64, 32)] {
            let numbers = noise(rows * columns, 0.4);
            let reals = E::reals(&numbers);
            let packed = Panels::from(Packed::<E>::of_rows(&reals, rows, columns, columns));
            let stored = Panels::<E>::stored(Arc::new(InMemory { numbers: numbers.clone(), rows, columns, block }));
            let x = noise(5 * columns, 0.9);
            let x = E::reals(&x);
            let left = Left::<E>::rows(&x, 5, columns, columns);
            let want = packed.product(&left);
            // before and behind the use from which on they are kept
            for use_of in 0..KEPT_AFTER + 2 {
                assert!(stored.product(&left) == want, "use {use_of} of [{rows}, {columns}]");
                let Panels::Stored(inner) = &stored else { unreachable!("it was made of rows") };
                assert_eq!(inner.kept.get().is_some(), use_of >= KEPT_AFTER);
                let last = rows - 1;
                let (mut got, mut row) = (vec![E::Real::default(); columns], vec![E::Real::default(); columns]);
                stored.row(last, &mut got);
                packed.row(last, &mut row);
                assert!(got == row, "row {last}");
            }
            let fresh = Panels::<E>::stored(Arc::new(InMemory { numbers: numbers.clone(), rows, columns, block }));
            let dy = noise(2 * rows, 0.1);
            let dy = E::reals(&dy);
            let dy = Left::<E>::rows(&dy, 2, rows, rows);
            let through = |panels: &Panels<E>| product_of(&dy, panels.transposed_part(0..rows).right());
            assert!(through(&fresh) == through(&packed), "the transpose of [{rows}, {columns}]");
            let (mut sum, mut want) = (want.clone(), want);
            packed.product_onto(&left, &mut want);
            fresh.product_onto(&left, &mut sum);
            assert!(sum == want, "a sum over [{rows}, {columns}]");
        }
    }

    /// Tasks of one pool that use a matrix at the same time, each within work that the others help with.
    #[test]
    fn many_tasks_use_a_matrix_and_none_waits_for_itself() {
        use rayon::prelude::*;
        let (rows, columns) = (700, 320);
        let numbers = noise(rows * columns, 0.4);
        let want = Panels::from(Packed::<f32>::of_rows(&numbers, rows, columns, columns));
        let x = noise(9 * columns, 0.9);
        let want = want.product(&Left::<f32>::rows(&x, 9, columns, columns));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for _ in 0..20 {
            let stored =
                Panels::<f32>::stored(Arc::new(InMemory { numbers: numbers.clone(), rows, columns, block: 32 }));
            let product = |_| stored.product(&Left::<f32>::rows(&x, 9, columns, columns)) == want;
            assert!(pool.install(|| (0..24).into_par_iter().all(product)));
        }
    }

    #[test]
    fn what_is_stored_gives_the_bits_of_what_is_packed() {
        agree::<f32>();
        agree::<f64>();
        agree::<Bf16>();
        agree::<Rounded>();
    }
}
