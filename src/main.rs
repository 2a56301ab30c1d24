//! The `veridiff` program: everything is in the library's [`veridiff::cli`].

use std::process::ExitCode;

// Attribution allocates and frees the same large buffers over and over: the system allocator returns them to the
// kernel each time and pays for it in page faults.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    veridiff::cli::main()
}
