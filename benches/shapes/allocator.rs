//! The program's allocator; the system's gives large buffers back and pays for their pages again.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps freed memory for ten seconds, as the program does (`src/cli/allocator.rs`).
pub fn keep_freed_memory() {
    const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
    // SAFETY: the allocator writes a number to a table of its own.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, 10_000) };
}
