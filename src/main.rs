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
    verbs::main()
}
