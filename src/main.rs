//! The `veridiff` program. A verb parses, calls the library and prints.

mod allocator;
mod args;
mod config;
mod interrupt;
#[cfg(test)]
mod options;
mod progress;
mod terminal;
mod verbs;

fn main() -> std::process::ExitCode {
    // before anything else has started: a helper of the sandbox is this program with one thread
    #[cfg(target_os = "linux")]
    veridiff_sandbox::helper::start_if_asked();
    verbs::main()
}
