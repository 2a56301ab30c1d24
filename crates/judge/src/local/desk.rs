//! Where answers meet that are written at the same time: every step of the model takes a token of each, so that its weights, whose reading is
//! what takes the time, are read once for all of them. An answer has the same words whoever sits beside it.
//!
//! Who writes takes a seat. The last to bring a token computes the step for all; one who leaves while the others wait hands it to one of them.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    mpsc::{self, Sender},
};

use veridiff_engine::quantised::{Quantised, Writing};

/// A model that writes, and who waits for it.
pub struct Desk {
    model: Quantised,
    seats: Mutex<Seats>,
    /// Whose the processor is.
    turn: Mutex<()>,
}

#[derive(Default)]
struct Seats {
    n_taken: usize,
    waiting: Vec<Waiting>,
}

/// An answer that waits for what may come behind a token.
struct Waiting {
    writing: Writing,
    id: u32,
    sender: Sender<Call>,
}

/// What who waits is called for.
enum Call {
    /// To compute a step for all.
    Compute(Vec<Waiting>),
    /// The step is done: the logits of what comes next.
    Done(Writing, Vec<f64>),
}

/// An answer's place at the desk, free again once it is dropped.
pub struct Seat<'a> {
    desk: &'a Desk,
    /// None while a step is computed, and after one that failed.
    writing: Option<Writing>,
}

impl Seats {
    /// All answers, if each waits.
    fn all(&mut self) -> Option<Vec<Waiting>> {
        let is_all = !self.waiting.is_empty() && self.waiting.len() == self.n_taken;
        is_all.then(|| std::mem::take(&mut self.waiting))
    }
}

impl Desk {
    /// A desk with nobody at it.
    pub fn new(model: Quantised) -> Desk {
        Desk { model, seats: Mutex::default(), turn: Mutex::default() }
    }

    /// The model that writes.
    pub fn model(&self) -> &Quantised {
        &self.model
    }

    /// Computes with all threads, while nobody else at the desk does.
    pub fn alone<R: Send>(&self, compute: impl FnOnce() -> R + Send) -> R {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // on one of the pool's threads: from outside, every parallel step would wake the pool and put this thread to sleep
        rayon::scope(|_| compute())
    }

    /// A seat for an answer.
    pub fn seat(&self, writing: Writing) -> Seat<'_> {
        self.seats().n_taken += 1;
        Seat { desk: self, writing: Some(writing) }
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step(&self, mut all: Vec<Waiting>) {
        let mut texts: Vec<_> = all.iter_mut().map(|waiting| (&mut waiting.writing, waiting.id)).collect();
        let logits = self.alone(|| self.model.push(&mut texts));
        for (Waiting { writing, sender, .. }, logits) in all.into_iter().zip(logits) {
            // who no longer waits wants no answer
            drop(sender.send(Call::Done(writing, logits)));
        }
    }
}

impl Seat<'_> {
    /// The logits of what comes behind one token more, once all at the desk have brought one; none after a step that failed.
    pub fn push(&mut self, id: u32) -> Option<Vec<f64>> {
        let (sender, calls) = mpsc::channel();
        let waiting = Waiting { writing: self.writing.take()?, id, sender };
        let all = {
            let mut seats = self.desk.seats();
            seats.waiting.push(waiting);
            seats.all()
        };
        if let Some(all) = all {
            self.desk.step(all);
        }
        loop {
            match calls.recv() {
                Ok(Call::Compute(all)) => self.desk.step(all),
                Ok(Call::Done(writing, logits)) => {
                    self.writing = Some(writing);
                    return Some(logits);
                }
                // whoever computed the step has panicked
                Err(mpsc::RecvError) => return None,
            }
        }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let all = {
            let mut seats = self.desk.seats();
            seats.n_taken -= 1;
            seats.all()
        };
        if let Some(all) = all {
            let sender = all[0].sender.clone();
            // it waits, so it hears
            drop(sender.send(Call::Compute(all)));
        }
    }
}
