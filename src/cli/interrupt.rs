//! Ctrl-C: says how far the work was, what is kept of it and how to go on, and ends the program with status 130.

use std::sync::{Mutex, PoisonError};
#[cfg(unix)]
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

#[cfg(unix)]
use crate::cli::{progress::take_bars_away, terminal::note};

/// Gives a line to say.
type Line = Box<dyn Fn() -> String + Send>;

/// How far the work is; may be blank.
static AT: Mutex<Option<Line>> = Mutex::new(None);

/// What is kept of it, and how to go on.
static KEPT: Mutex<Option<Line>> = Mutex::new(None);

/// What a shell gives for a program that Ctrl-C has ended.
#[cfg(unix)]
const INTERRUPTED: i32 = 130;

/// How often it is looked whether Ctrl-C was pressed.
#[cfg(unix)]
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// Whether Ctrl-C was pressed.
#[cfg(unix)]
static PRESSED: AtomicBool = AtomicBool::new(false);

/// Takes care of Ctrl-C from here on; elsewhere than on Unix it ends the program in silence, as before.
pub fn start() {
    #[cfg(unix)]
    {
        extern "C" fn pressed(_signal: libc::c_int) {
            PRESSED.store(true, Ordering::Relaxed);
        }
        let looking = thread::Builder::new().spawn(|| {
            while !PRESSED.load(Ordering::Relaxed) {
                thread::sleep(BETWEEN_LOOKS);
            }
            end();
        });
        if looking.is_ok() {
            let handler = pressed as extern "C" fn(libc::c_int);
            // SAFETY: the handler only stores to an atomic, which a signal may interrupt anything with.
            unsafe { libc::signal(libc::SIGINT, handler as libc::sighandler_t) };
        }
    }
}

/// Says what there is to say, and ends the program.
#[cfg(unix)]
fn end() -> ! {
    let said = |line: &Mutex<Option<Line>>| {
        // whoever sets a line must not be waited for
        let line = line.try_lock().ok()?;
        line.as_ref().map(|line| line()).filter(|line| !line.is_empty())
    };
    let at = said(&AT).map_or(String::new(), |at| format!(" at {at}"));
    take_bars_away();
    // behind the `^C` that the terminal shows
    note(&format!("\ninterrupted{at}"));
    if let Some(kept) = said(&KEPT) {
        note(&kept);
    }
    std::process::exit(INTERRUPTED);
}

/// Sets what says how far the work is.
pub fn at(line: impl Fn() -> String + Send + 'static) {
    *AT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(line));
}

/// That work is over.
pub fn forget() {
    *AT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Sets what says what an interruption leaves, and how to go on.
pub fn keeps(line: impl Fn() -> String + Send + 'static) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(line));
}
