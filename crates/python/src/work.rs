//! Work beside the interpreter: it runs on a thread of its own, and the thread that asked for it lets go of the interpreter's lock, shows
//! how far the work is, and looks every 50 ms whether Ctrl-C was pressed. Then it raises at once, and the work ends at its next part.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use veridiff_core::run::{
    parts::NewPart,
    score::{Phase, Progress},
};

use crate::error::{Fault, Result};

/// How often it is looked whether Ctrl-C was pressed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Is told what is done, how much of it, and of how much.
type Tell = Box<dyn Fn(&str, usize, usize) + Send + Sync>;

/// What work says on its way.
enum Said<T> {
    /// So many pieces are done of so many, of what this is called.
    Far(String, usize, usize),
    /// It is over.
    Done(Result<T>),
}

/// What work tells how far it is, and asks whether it is still wanted.
pub struct Teller {
    tell: Tell,
    stopped: Arc<AtomicBool>,
}

impl Teller {
    /// Says how far the work is.
    pub fn far(&self, what: &str, n_done: usize, n: usize) {
        (self.tell)(what, n_done, n);
    }

    /// Whether nobody wants the work any more.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// As a run of the library tells it.
impl Progress for &Teller {
    fn phase(&mut self, phase: Phase<'_>) {
        match phase {
            Phase::Loading { source } => self.far(&format!("loading {source}"), 0, 0),
            Phase::Computing { source, n, .. } => self.far(source, 0, n),
        }
    }

    fn note(&mut self, text: &str) {
        tracing::info!("{text}");
    }

    fn part(&mut self, part: &NewPart<'_>) {
        self.far(part.source, part.n_done, part.n);
    }

    fn is_stopped(&self) -> bool {
        Teller::is_stopped(self)
    }
}

/// Does work without the interpreter's lock. `progress` is called with a name, how much is done and how much there is.
///
/// # Errors
/// The work's own, `KeyboardInterrupt`, or what `progress` raises.
pub fn beside<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Teller) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (say, said) = channel();
    let stopped = Arc::new(AtomicBool::new(false));
    let teller = Teller { tell: telling(say.clone(), progress.is_some()), stopped: Arc::clone(&stopped) };
    let pool = pool()?;
    thread::Builder::new().name("veridiff".to_owned()).spawn(move || {
        let all = || match &pool {
            Some(pool) => pool.install(|| work(&teller)),
            None => work(&teller),
        };
        let done = catch_unwind(AssertUnwindSafe(all));
        let fault = |_| Fault::new("the library failed in a way that it should not", "please report what you did");
        // who has raised in the meantime wants no answer
        let _gone = say.send(Said::Done(done.map_err(fault).and_then(|done| done)));
    })?;
    let done = heard(py, &Mutex::new(said), progress);
    stopped.store(done.is_err(), Ordering::Relaxed);
    done?.map_err(PyErr::from)
}

/// How the work tells how far it is; nothing where nobody listens.
fn telling<T: Send + 'static>(say: Sender<Said<T>>, is_heard: bool) -> Tell {
    let say = Mutex::new(say);
    Box::new(move |what, n_done, n| {
        if is_heard {
            let _gone = say.lock().unwrap_or_else(PoisonError::into_inner).send(Said::Far(what.to_owned(), n_done, n));
        }
    })
}

/// Listens until the work is over. The error is an exception that was raised here.
fn heard<T: Send>(
    py: Python<'_>,
    said: &Mutex<Receiver<Said<T>>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Result<T>> {
    let next = || said.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(BETWEEN_LOOKS);
    loop {
        match py.detach(next) {
            Ok(Said::Done(result)) => return Ok(result),
            Ok(Said::Far(what, n_done, n)) => {
                if let Some(progress) = progress {
                    progress.call1((what, n_done, n))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Err("the work ended without a result".to_owned().into())),
        }
        py.check_signals()?;
    }
}

/// Threads for a process that was forked from one which has computed already: those of its parent are not in it. None where the
/// process has its own.
fn pool() -> PyResult<Option<Arc<ThreadPool>>> {
    /// The process that the common threads belong to, and the threads of this one.
    static OWNER: Mutex<Option<(u32, Option<Arc<ThreadPool>>)>> = Mutex::new(None);
    let mut owner = OWNER.lock().unwrap_or_else(PoisonError::into_inner);
    let me = process::id();
    if owner.as_ref().is_none_or(|(process, _)| *process != me) {
        let pool = match *owner {
            None => None,
            Some(_) => Some(Arc::new(
                ThreadPoolBuilder::new().build().map_err(|error| Fault::from(format!("no threads: {error}")))?,
            )),
        };
        // a parent's pool must not be waited for
        std::mem::forget(owner.replace((me, pool)));
    }
    Ok(owner.as_ref().and_then(|(_, pool)| pool.clone()))
}
