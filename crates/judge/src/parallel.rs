//! Many samples at once, where each waits for somebody else.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

/// Works on `0..n`, at most `concurrency` at once and in that order of beginning, and hands each result to `done` on the thread of the
/// caller as soon as it is there. After a break nothing more is begun.
pub fn in_parallel<T: Send>(
    n: usize,
    concurrency: usize,
    work: impl Fn(usize) -> T + Sync,
    done: impl FnMut(usize, T) -> ControlFlow<()>,
) {
    in_parallel_by(n, concurrency, |index| index, work, done);
}

/// As [`in_parallel`], those of one key one after the other as long as there are others: what they begin with is then read once, by a
/// model here as by a server that remembers beginnings.
pub fn in_parallel_by<K: Eq + Hash, T: Send>(
    n: usize,
    concurrency: usize,
    key: impl Fn(usize) -> K,
    work: impl Fn(usize) -> T + Sync,
    mut done: impl FnMut(usize, T) -> ControlFlow<()>,
) {
    let (left, is_over) = (Mutex::new(Left::new(n, key)), AtomicBool::new(false));
    let next = |own| left.lock().unwrap_or_else(PoisonError::into_inner).next(own);
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..concurrency.max(1).min(n) {
            let sender = sender.clone();
            let (next, is_over, work) = (&next, &is_over, &work);
            scope.spawn(move || {
                let mut own = None;
                while !is_over.load(Ordering::Relaxed) {
                    let Some((group, index)) = next(own) else { break };
                    own = Some(group);
                    if sender.send((index, work(index))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        for (index, result) in results {
            if done(index, result) == ControlFlow::Break(()) {
                is_over.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
}

/// What nobody has begun.
struct Left {
    /// The items of each key, in the order in which keys come first.
    groups: Vec<VecDeque<usize>>,
    /// Groups before this one have been begun.
    untouched: usize,
    /// Groups before this one have no item left.
    unfinished: usize,
}

impl Left {
    fn new<K: Eq + Hash>(n: usize, key: impl Fn(usize) -> K) -> Left {
        let mut groups: Vec<VecDeque<usize>> = Vec::new();
        let mut places: HashMap<K, usize> = HashMap::new();
        for index in 0..n {
            let place = *places.entry(key(index)).or_insert_with(|| {
                groups.push(VecDeque::new());
                groups.len() - 1
            });
            groups[place].push_back(index);
        }
        Left { groups, untouched: 0, unfinished: 0 }
    }

    /// The group and the item for somebody who worked on `own`: of that, else of one that nobody works on, else of any.
    fn next(&mut self, own: Option<usize>) -> Option<(usize, usize)> {
        if let Some((own, index)) = own.and_then(|own| Some((own, self.groups[own].pop_front()?))) {
            return Some((own, index));
        }
        if self.untouched < self.groups.len() {
            let group = self.untouched;
            self.untouched += 1;
            return Some((group, self.groups[group].pop_front()?));
        }
        while let Some(group) = self.groups.get_mut(self.unfinished) {
            match group.pop_front() {
                Some(index) => return Some((self.unfinished, index)),
                None => self.unfinished += 1,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_and_a_key_is_not_shared_while_there_are_others() {
        let keys = [0, 1, 0, 2, 1, 0, 2, 0];
        let begun = |n: usize| {
            let order = Mutex::new(Vec::new());
            let mut results = Vec::new();
            let work = |index: usize| order.lock().unwrap().push(index);
            in_parallel_by(
                keys.len(),
                n,
                |index| keys[index],
                work,
                |index, ()| {
                    results.push(index);
                    ControlFlow::Continue(())
                },
            );
            results.sort_unstable();
            assert_eq!(results, (0..keys.len()).collect::<Vec<_>>(), "{n} at once");
            order.into_inner().unwrap()
        };
        assert_eq!(begun(1), [0, 2, 5, 7, 1, 4, 3, 6]);
        begun(3);
        begun(20);
        let mut left = Left::new(keys.len(), |index| keys[index]);
        let two: Vec<_> = [None, None, Some(0), Some(1), Some(1)].map(|own| left.next(own).unwrap()).to_vec();
        assert_eq!(two, [(0, 0), (1, 1), (0, 2), (1, 4), (2, 3)]);
        // the last key's are for everybody
        assert_eq!(
            [Some(1), Some(0), Some(1), Some(0), Some(1)].map(|own| left.next(own)),
            [Some((0, 5)), Some((0, 7)), Some((2, 6)), None, None]
        );
    }

    #[test]
    fn after_a_break_nothing_more_is_begun() {
        let begun = Mutex::new(0);
        let work = |_| {
            *begun.lock().unwrap() += 1;
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        in_parallel(
            1000,
            1,
            work,
            |index, ()| if index == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) },
        );
        assert!(*begun.lock().unwrap() < 1000);
    }
}
