//! The `veridiff` program; everything it does is in the library's `cli` module.

// attribution allocates and frees the same large buffers over and over, which the system allocator pays for in page faults
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    veridiff::cli::verbs::main()
}
