//! What is run confined: programs one after another, their files, what they may see, and how much of everything they may take.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The user and group that a program believes to be.
pub const INNER_ID: u32 = 65534;

/// Where a program's files are, and where it starts.
pub const BOX: &str = "/box";

/// The descriptor on which a program may write messages to us; those that it reads come on its standard input.
pub const CHANNEL: i32 = 3;

/// How much a program may take. Each is a limit of the kernel's that is only ever lowered, or is watched from outside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Seconds of the processor, of each process. This decides what is too slow.
    pub cpu_s: f64,
    /// Seconds that pass, for everything. It only catches what uses no processor, and is much larger; what works and is slow because others
    /// are fast may take four times as long.
    pub wall_s: f64,
    /// Resident memory of all processes together, in MiB.
    pub memory_mb: u64,
    /// Address space of each process in MiB, where the runner can bear such a limit.
    pub address_mb: Option<u64>,
    /// Private writable memory of each process in MiB.
    pub data_mb: Option<u64>,
    /// Bytes of each of standard output and standard error, in KiB.
    pub output_kb: u64,
    /// Processes and threads at one time.
    pub processes: u64,
    /// Open descriptors of each process.
    pub files: u64,
    /// The largest file that can be written, in MiB; all of them together have four times as much.
    pub file_mb: u64,
}

impl Default for Limits {
    /// What a Python program of a test suite needs, and room beside it.
    fn default() -> Limits {
        Limits {
            cpu_s: 10.0,
            wall_s: 50.0,
            memory_mb: 512,
            address_mb: Some(1024),
            data_mb: None,
            output_kb: 1024,
            processes: 16,
            files: 64,
            file_mb: 16,
        }
    }
}

/// A file that stands in [`BOX`] when the program starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxFile {
    /// Its name within the box, checked by [`check_path`].
    pub path: String,
    /// What it says.
    pub text: String,
}

/// What is visible of this machine, and what may be executed of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Files and folders that can be read, at their own names; everything else is absent.
    pub reads: Vec<PathBuf>,
    /// Names that are links here, with what they point to, such as `/lib64` to `usr/lib64`.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// The files among them that can be executed.
    pub executes: Vec<PathBuf>,
    /// Whether the program needs `/proc`, which then shows its own processes only.
    pub proc: bool,
}

/// One thing to run confined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Programs with their arguments, run one after another in the same box until one fails.
    pub steps: Vec<Vec<String>>,
    /// The files of the box.
    pub files: Vec<BoxFile>,
    /// All environment variables.
    pub env: Vec<(String, String)>,
    /// How much it may take.
    pub limits: Limits,
    /// What it may see.
    pub view: View,
}

/// The variables that make a run repeatable: the same words, zone and order of hashes everywhere.
pub fn fixed_env(hash_seed: u32) -> Vec<(String, String)> {
    let seed = hash_seed.to_string();
    [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("PYTHONHASHSEED", &seed),
        ("OMP_NUM_THREADS", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// How many files a program may make in each of the folders that it may write to.
pub const MAX_MADE: u64 = 4096;

/// The most files of a box, and the most bytes of all of them.
pub const MAX_FILES: usize = 512;
/// The most bytes of a box's files together.
pub const MAX_BYTES: usize = 8 << 20;

/// Why a name cannot be that of a file in the box; none if it can.
pub fn check_path(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    match () {
        () if path.is_empty() => Some("is empty"),
        () if path.contains('\0') => Some("holds a NUL"),
        () if path.starts_with('/') => Some("is absolute"),
        () if parts.contains(&"..") => Some("goes up with `..`"),
        () if parts.iter().any(|part| part.is_empty() || *part == ".") => Some("has an empty part or `.`"),
        () if path.len() > 200 || parts.len() > 16 => Some("is longer than 200 bytes or deeper than 16 folders"),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::check_path;

    #[test]
    fn names_that_leave_the_box_are_refused() {
        for path in ["../x", "/x", "a/../../x", "a/./b", "a//b", "", "a\0b", "a/"] {
            assert!(check_path(path).is_some(), "{path:?} must be refused");
        }
        for path in ["x", "a/b.py", "..x", "a..b/c"] {
            assert_eq!(check_path(path), None, "{path:?} stays within");
        }
    }
}
