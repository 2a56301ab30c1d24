//! The `veridiff` program: everything is in the library's [`veridiff::cli`].

use std::process::ExitCode;

// Attribution allocates and frees the same large buffers over and over: the system allocator returns them to the
// kernel each time and pays for it in page faults.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of the allocator's option for how long, in milliseconds, it keeps freed memory before the kernel gets it back: in
/// `mimalloc.h`, but not among the constants of its bindings.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    // The default of a second is less than loading takes, so that the memory that weights were read into would be returned, and
    // cleared again by the kernel for what comes next. Where the environment sets MIMALLOC_PURGE_DELAY, that counts.
    // SAFETY: the allocator writes a number to a table of its own.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, 10_000) };
    veridiff::cli::main()
}
