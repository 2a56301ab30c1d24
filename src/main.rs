//! The `veridiff` program. A verb parses, calls the library and prints.

mod args;
mod progress;
mod terminal;
mod verbs;

use std::{
    ffi::{OsString, c_long},
    process::ExitCode,
};

// Attribution allocates and frees the same large buffers over and over: the system allocator returns them to the
// kernel each time and pays for it in page faults.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of the allocator's option for how long, in milliseconds, it keeps freed memory before the kernel gets it back: in
/// the headers of its versions 2 and 3 (`mi_option_purge_delay`), but not among the constants of its bindings.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// How long freed memory is kept. The allocator's second is less than loading takes, so that the memory that weights were read
/// into would be returned, and cleared again by the kernel for what comes next. A bound on memory is kept only if it is returned
/// at once: 50 to 90 MB of the reading would count besides.
fn purge_delay_ms(mut arguments: impl Iterator<Item = OsString>) -> c_long {
    let bounded = |argument: OsString| argument.to_str().is_some_and(|a| a.split('=').next() == Some("--max-memory"));
    if arguments.any(bounded) { 0 } else { 10_000 }
}

fn main() -> ExitCode {
    // Where the environment sets MIMALLOC_PURGE_DELAY, that counts.
    // SAFETY: the allocator writes a number to a table of its own.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, purge_delay_ms(std::env::args_os())) };
    verbs::main()
}

#[cfg(test)]
mod tests {
    use super::{PURGE_DELAY, purge_delay_ms};

    #[test]
    fn under_a_bound_freed_memory_is_returned_at_once() {
        let delay = |line: &str| purge_delay_ms(line.split(' ').map(Into::into));
        assert_eq!((delay("score --max-memory 2GB"), delay("score --max-memory=2GB")), (0, 0));
        assert_eq!(delay("score --threads 2"), 10_000);
    }

    /// The number is the allocator's, not ours: what its variable of that name sets must be what we read under it.
    #[test]
    fn the_allocators_option_is_the_delay_of_purges() {
        const NAME: &str = "MIMALLOC_PURGE_DELAY";
        if std::env::var_os(NAME).is_some_and(|value| value == "4321") {
            // SAFETY: the allocator reads a number in a table of its own.
            assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, 4321);
            return;
        }
        let program = std::env::current_exe().expect("the test's own program");
        let test = ["--exact", "tests::the_allocators_option_is_the_delay_of_purges"];
        let again = std::process::Command::new(program).args(test).env(NAME, "4321").output().expect("it runs again");
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
    }
}
