//! How long the programs' memory allocator, mimalloc, keeps what is freed.

use std::ffi::c_long;

use clap::ArgMatches;

/// Number of the allocator's option for how long, in milliseconds, it keeps freed memory before the kernel gets it back: in
/// the headers of its versions 2 and 3 (`mi_option_purge_delay`), but not among the constants of its bindings.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Sets how long freed memory is kept, by the arguments of the verb.
///
/// The allocator reads the option whenever memory is freed, so that it holds for everything after this call; what the
/// parser of the arguments freed before it is kilobytes. Where the environment sets `MIMALLOC_PURGE_DELAY`, that counts.
pub fn keep_freed_memory(arguments: &ArgMatches) {
    // SAFETY: the allocator writes a number to a table of its own.
    unsafe { libmimalloc_sys::mi_option_set_default(PURGE_DELAY, purge_delay_ms(arguments)) };
}

/// How long freed memory is kept, in milliseconds. The allocator's second is less than loading takes, so that the memory that
/// weights were read into would be returned, and cleared again by the kernel for what comes next. A bound on memory is kept
/// only if it is returned at once: 50 to 90 MB of the reading would count besides.
fn purge_delay_ms(arguments: &ArgMatches) -> c_long {
    if is_bounded(arguments) { 0 } else { 10_000 }
}

/// Whether the verb has a `--max-memory` and it was given.
fn is_bounded(arguments: &ArgMatches) -> bool {
    arguments.try_contains_id("max_memory").unwrap_or(false)
        || arguments.subcommand().is_some_and(|(_, of_verb)| is_bounded(of_verb))
}

#[cfg(test)]
mod tests {
    use super::{PURGE_DELAY, purge_delay_ms};
    use crate::cli::verbs::command;

    #[test]
    fn under_a_bound_freed_memory_is_returned_at_once() {
        let delay = |line: &str| purge_delay_ms(&command().try_get_matches_from(line.split(' ')).unwrap());
        let bounded =
            ["score --input - --max-memory 2GB", "score --input - --max-memory=2GB", "doctor --max-memory 1GB"];
        assert_eq!(bounded.map(|line| delay(&format!("veridiff {line}"))), [0; 3]);
        // a verb without the option, one that is given others, and its name as another option's value
        let unbounded = ["models list", "score --input - --threads 2", "score --input=--max-memory"];
        assert_eq!(unbounded.map(|line| delay(&format!("veridiff {line}"))), [10_000; 3]);
    }

    /// Runs this program's test called `name` alone, in a process with the variable `variable` set to 4321.
    fn again(name: &str, variable: &str) {
        let program = std::env::current_exe().expect("the test's own program");
        let test = ["--exact", &format!("cli::allocator::tests::{name}")];
        let again =
            std::process::Command::new(program).args(test).env(variable, "4321").output().expect("it runs again");
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
    }

    fn is_set(variable: &str) -> bool {
        std::env::var_os(variable).is_some_and(|value| value == "4321")
    }

    /// The number is the allocator's, not ours: what its variable of that name sets must be what we read under it.
    #[test]
    fn the_allocators_option_is_the_delay_of_purges() {
        const NAME: &str = "MIMALLOC_PURGE_DELAY";
        if !is_set(NAME) {
            return again("the_allocators_option_is_the_delay_of_purges", NAME);
        }
        // SAFETY: the allocator reads a number in a table of its own.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, 4321);
        // the environment counts before the arguments
        super::keep_freed_memory(&command().get_matches_from(["veridiff", "models", "list"]));
        // SAFETY: as above.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, 4321);
    }

    /// The option is set behind the parser of the arguments, when memory was allocated and freed already.
    #[test]
    fn the_delay_can_be_set_when_memory_was_freed_already() {
        const NAME: &str = "VERIDIFF_TEST_LATE";
        if !is_set(NAME) {
            return again("the_delay_can_be_set_when_memory_was_freed_already", NAME);
        }
        drop(vec![1u8; 64 << 20]);
        let arguments = command().get_matches_from(["veridiff", "doctor", "--max-memory", "1GB"]);
        super::keep_freed_memory(&arguments);
        // SAFETY: the allocator reads a number in a table of its own.
        assert_eq!(unsafe { libmimalloc_sys::mi_option_get(PURGE_DELAY) }, 0);
    }
}
