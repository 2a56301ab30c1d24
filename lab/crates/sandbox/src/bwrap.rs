//! The same root and namespaces made by bubblewrap, where the kernel lets only such a program make them.

use std::path::{Path, PathBuf};

use crate::{
    confine::DEVICES,
    job::{BOX, INNER_ID, Job},
    native::HOST_NAME,
};

/// The oldest version that has all options that we use.
pub const OLDEST: (u32, u32) = (0, 8);

/// Finds the program on the `PATH`.
pub fn find() -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join("bwrap")).find(|path| path.is_file())
}

/// Whether what `bwrap --version` says is new enough.
pub fn is_new_enough(said: &str) -> bool {
    let version = said.trim().rsplit(' ').next().unwrap_or_default();
    let mut numbers = version.split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST
}

/// The arguments that build the root of [`crate::native::enter`] and then run `inner` as its first process. `passwd` and `group` are
/// descriptors with what those files say.
pub fn arguments(job: &Job, passwd: i32, group: i32, inner: &[String]) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    let (id, path) = (INNER_ID.to_string(), |path: &Path| path.display().to_string());
    add(&["--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv"]);
    add(&["--cap-drop", "ALL", "--uid", &id, "--gid", &id, "--hostname", HOST_NAME, "--as-pid-1"]);
    for read in &job.view.reads {
        add(&["--ro-bind", &path(read), &path(read)]);
    }
    for (link, target) in &job.view.links {
        add(&["--symlink", &path(target), &path(link)]);
    }
    for name in DEVICES {
        let device = format!("/dev/{name}");
        add(&["--dev-bind", &device, &device]);
    }
    for (fd, file) in [(passwd, "/etc/passwd"), (group, "/etc/group")] {
        add(&["--perms", "0644", "--file", &fd.to_string(), file]);
    }
    let size = ((4 * job.limits.file_mb) << 20).to_string();
    for folder in [BOX, "/tmp"] {
        add(&["--size", &size, "--tmpfs", folder]);
    }
    // our own program is executed through it
    add(&["--proc", "/proc", "--remount-ro", "/", "--chdir", BOX, "--"]);
    arguments.extend_from_slice(inner);
    arguments
}
