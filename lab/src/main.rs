//! The `veridiff-lab` program: research tools. `veridiff lab VERB` runs it.

mod args;
#[cfg(test)]
mod options;
mod verbs;

// attribution allocates and frees the same large buffers over and over, which the system allocator pays for in page faults
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // before anything else has started: a helper of the sandbox is this program with one thread
    #[cfg(target_os = "linux")]
    veridiff_sandbox::helper::start_if_asked();
    verbs::main()
}
