//! Namespaces and a root of our own making: the way of confining that needs nothing but the kernel.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use nix::{
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, unshare},
    unistd::{chdir, pivot_root, sethostname},
};

use crate::{
    confine::{DEVICES, Step, at},
    job::{BOX, INNER_ID, Job, MAX_MADE, View},
};

/// The namespaces of a run: it sees no user, mount, process, queue, name or group of processes but its own. Its network is the helper's,
/// see [`leave_network`].
pub const NAMESPACES: CloneFlags = CloneFlags::CLONE_NEWUSER
    .union(CloneFlags::CLONE_NEWNS)
    .union(CloneFlags::CLONE_NEWPID)
    .union(CloneFlags::CLONE_NEWIPC)
    .union(CloneFlags::CLONE_NEWUTS)
    .union(CloneFlags::CLONE_NEWCGROUP);

/// Where the new root is mounted before it is the root: a folder that every system has and no program to be shown is in.
const STAGE: &str = "/sys";

/// The name of the machine within.
pub const HOST_NAME: &str = "box";

/// Who may be named within.
pub const PASSWD: &str = "nobody:x:65534:65534:nobody:/tmp:/nonexistent\n";
/// The groups of [`PASSWD`].
pub const GROUP: &str = "nogroup:x:65534:\n";

/// Puts the helper into a network of its own that has no device that is up, and into namespaces of users that owns it.
///
/// A network costs more than all other namespaces of a run together, and its end as much again in the kernel's own threads. So the runs of
/// a helper have one after another the same: nothing stays in it when no process does, a helper runs one program at a time, and as no
/// program is in the namespace of users that owns it, none can be given a right to change it.
pub fn leave_network(ids: (u32, u32)) -> Step<()> {
    at("leaving the network")(unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET))?;
    map_user(ids, ids)?;
    crate::confine::drop_capabilities()
}

/// Says who a process's user and group outside are in the new namespace of users that it is in.
fn map_user((uid, gid): (u32, u32), (inner_uid, inner_gid): (u32, u32)) -> Step<()> {
    at("closing groups")(fs::write("/proc/self/setgroups", "deny"))?;
    at("mapping the user")(fs::write("/proc/self/uid_map", format!("{inner_uid} {uid} 1")))?;
    at("mapping the group")(fs::write("/proc/self/gid_map", format!("{inner_gid} {gid} 1")))
}

/// Makes the first process of new namespaces at home there: its user, its name, and a root with nothing but what the job may see.
pub fn enter(job: &Job, outer: (u32, u32)) -> Step<()> {
    map_user(outer, (INNER_ID, INNER_ID))?;
    at("naming the machine")(sethostname(HOST_NAME))?;
    nix::sys::stat::umask(nix::sys::stat::Mode::from_bits_truncate(0o022));
    let root = Path::new(STAGE);
    let none: Option<&str> = None;
    at("keeping mounts to ourselves")(mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none))?;
    tmpfs(root, MsFlags::empty(), 1, 1024)?;
    for path in &job.view.reads {
        show(root, path)?;
    }
    links(root, &job.view)?;
    let dev = root.join("dev");
    at("making /dev")(fs::create_dir(&dev))?;
    for name in DEVICES {
        at(format!("making /dev/{name}"))(fs::File::create(dev.join(name)))?;
        bind(&Path::new("/dev").join(name), &dev.join(name))?;
    }
    let etc = root.join("etc");
    at("making /etc")(fs::create_dir_all(&etc))?;
    at("writing /etc/passwd")(fs::write(etc.join("passwd"), PASSWD))?;
    at("writing /etc/group")(fs::write(etc.join("group"), GROUP))?;
    for path in [BOX, "/tmp"] {
        let path = root.join(&path[1..]);
        at(format!("making {}", path.display()))(fs::create_dir_all(&path))?;
        tmpfs(&path, MsFlags::MS_NOEXEC, 4 * job.limits.file_mb, MAX_MADE)?;
    }
    if job.view.proc {
        let proc = root.join("proc");
        at("making /proc")(fs::create_dir(&proc))?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
        at("mounting /proc")(mount(Some("proc"), &proc, Some("proc"), flags, Some("subset=pid")))?;
    }
    at("entering the new root")(chdir(root))?;
    at("changing the root")(pivot_root(".", "."))?;
    at("leaving the old root")(umount2(".", MntFlags::MNT_DETACH))?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    at("making the root read-only")(mount(none, "/", none, flags, none))?;
    at("entering the box")(chdir(BOX))
}

/// Mounts an empty file system in memory, of some MiB and files.
fn tmpfs(path: &Path, flags: MsFlags, mb: u64, files: u64) -> Step<()> {
    let flags = flags | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    let data = format!("size={mb}m,nr_inodes={files},mode=755");
    at(format!("mounting memory at {}", path.display()))(mount(
        Some("tmpfs"),
        path,
        Some("tmpfs"),
        flags,
        Some(data.as_str()),
    ))
}

/// Shows a file or folder of the machine under its own name, to be read only.
fn show(root: &Path, path: &Path) -> Step<()> {
    let inside: PathBuf = root.join(path.strip_prefix("/").unwrap_or(path));
    if path.is_dir() {
        at(format!("making {}", path.display()))(fs::create_dir_all(&inside))?;
    } else {
        at(format!("making the folder of {}", path.display()))(fs::create_dir_all(inside.parent().unwrap_or(root)))?;
        // it may be there already, below a folder that is shown
        if !inside.exists() {
            at(format!("making {}", path.display()))(fs::File::create(&inside))?;
        }
    }
    bind(path, &inside)?;
    read_only(&inside)
}

fn bind(path: &Path, inside: &Path) -> Step<()> {
    let none: Option<&str> = None;
    at(format!("showing {}", path.display()))(mount(Some(path), inside, none, MsFlags::MS_BIND | MsFlags::MS_REC, none))
}

/// Makes a mount and all below it read-only and without effect of set-user-id bits and devices. The older call would need the flags that
/// the machine has locked, and reaches no mount below.
fn read_only(path: &Path) -> Step<()> {
    let name = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| "a name with a NUL")?;
    // SAFETY: all bytes 0 are a valid value
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    // SAFETY: the name ends with NUL, and the size is that of the struct; neither nix nor rustix has the call
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            name.as_ptr(),
            libc::AT_RECURSIVE,
            &attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    let result = if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) };
    at(format!("making {} read-only", path.display()))(result)
}

/// Makes the links by which loaders find what is shown.
fn links(root: &Path, view: &View) -> Step<()> {
    for (path, target) in &view.links {
        let inside = root.join(path.strip_prefix("/").unwrap_or(path));
        at(format!("making the folder of {}", path.display()))(fs::create_dir_all(inside.parent().unwrap_or(root)))?;
        match symlink(target, &inside) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            result => at(format!("linking {}", path.display()))(result)?,
        }
    }
    Ok(())
}
