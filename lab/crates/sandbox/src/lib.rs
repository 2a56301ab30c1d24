//! Runs code that nobody trusts where it can do nothing, and says from outside what it did.
//!
//! A [`Sandbox`](sandbox::Sandbox) starts [`Job`](job::Job)s through helpers: this same program, started once more, which makes
//! namespaces, mounts a root with nothing in it but an interpreter, lowers limits, and takes away rights, paths and calls of the kernel
//! before it executes the program. [`watch`](watch::watch) drains what it prints, carries its messages, holds its limits, and reports
//! only when none of its processes is left.
//!
//! Two things hold whatever is run: *code under test never runs in our process, and never decides its own verdict.*

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(target_os = "linux")]
mod confine;
pub mod error;
#[cfg(target_os = "linux")]
pub mod helper;
pub mod job;
#[cfg(target_os = "linux")]
mod native;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod runner;
#[cfg(target_os = "linux")]
pub mod sandbox;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod usage;
pub mod value;
#[cfg(target_os = "linux")]
pub mod verify;
#[cfg(target_os = "linux")]
pub mod watch;
