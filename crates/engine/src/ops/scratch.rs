//! Memory for what lives no longer than one task. Each thread keeps it for its next task: fresh pages from the system cost as
//! much as the passes over them.

use std::{
    cell::RefCell,
    marker::PhantomData,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
};

use bytemuck::{Pod, Zeroable};

/// A cache line, which is also what the widest loads are aligned to.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

// SAFETY: plain numbers without padding, for which all zeros are a value.
unsafe impl Zeroable for Line {}
// SAFETY: as above.
unsafe impl Pod for Line {}

thread_local! {
    static FREE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// `len` elements that hold whatever was there before; gives its memory to the thread it is dropped on.
pub(crate) struct Scratch<T: Pod> {
    lines: Vec<Line>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Scratch<T> {
    pub(crate) fn new(len: usize) -> Self {
        let needed = (len * size_of::<T>()).div_ceil(size_of::<Line>());
        let mut lines = FREE.with_borrow_mut(|free| {
            // the smallest that is large enough, else the largest, which grows
            let best = (0..free.len()).min_by_key(|&i| (free[i].len() < needed, free[i].len().abs_diff(needed)));
            best.map(|i| free.swap_remove(i)).unwrap_or_default()
        });
        if lines.len() < needed {
            lines = vec![Line::zeroed(); needed];
        }
        Scratch { lines, len, element: PhantomData }
    }
}

impl<T: Pod> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl<T: Pod> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl<T: Pod> Drop for Scratch<T> {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        // a thread that is ending has nowhere to keep it
        let _ = FREE.try_with(|free| free.borrow_mut().push(lines));
    }
}

/// A vector of `len` elements, all of which `write` writes: zeros would be written to memory first and soon overwritten.
///
/// # Safety
/// `write` leaves no element unwritten.
pub(crate) unsafe fn written<T>(len: usize, write: impl FnOnce(&mut [MaybeUninit<T>])) -> Vec<T> {
    let mut out = Vec::with_capacity(len);
    write(&mut out.spare_capacity_mut()[..len]);
    // SAFETY: the caller vouches for it.
    unsafe { out.set_len(len) };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_grows() {
        let mut small = Scratch::<f32>::new(10);
        small.fill(1.0);
        let at = small.as_ptr();
        drop(small);
        let again = Scratch::<u32>::new(16);
        assert_eq!((again.as_ptr().cast(), again.len(), again[9]), (at, 16, 1.0_f32.to_bits()));
        let beside = Scratch::<f64>::new(9);
        assert_ne!(beside.as_ptr().cast(), at);
        drop((again, beside));
        let large = Scratch::<f64>::new(1000);
        assert_eq!(large.len(), 1000);
        assert_eq!(large.as_ptr() as usize % 64, 0);
    }
}
