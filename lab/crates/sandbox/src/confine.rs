//! The last steps before a program runs, in its own process: limits, rights, paths and calls are taken away, then it is executed.

use std::{
    convert::Infallible,
    ffi::{CString, c_char},
    fs::File,
    io::{self, Write as _},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    path::Path,
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use nix::{
    fcntl::{OFlag, OpenHow, ResolveFlag, openat2},
    sys::{
        personality::{self, Persona},
        resource::{Resource, getrlimit, setrlimit},
        stat::Mode,
    },
};
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};
use seccompiler::BpfProgram;

use crate::job::{BOX, BoxFile, CHANNEL, Job, Limits};

/// What a step of confining failed at.
pub type Step<T> = Result<T, String>;

/// Names what failed beside what the system said.
pub fn at<T, E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(Result<T, E>) -> Step<T> {
    move |result| result.map_err(|error| format!("{what}: {error}"))
}

/// The program's descriptors.
#[derive(Debug)]
pub struct Streams {
    /// What it reads.
    pub stdin: OwnedFd,
    /// What it prints.
    pub stdout: OwnedFd,
    /// What it complains about.
    pub stderr: OwnedFd,
    /// Where it writes messages to us.
    pub channel: OwnedFd,
}

/// Writes the files of the box. No program has run in it yet; even so no name is followed out of it.
pub fn unpack(files: &[BoxFile]) -> Step<()> {
    let root = at("opening the box")(File::open(BOX))?;
    let how = |flags: OFlag, mode: u32| {
        OpenHow::new()
            .flags(flags | OFlag::O_CLOEXEC)
            .mode(Mode::from_bits_truncate(mode))
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS)
    };
    for BoxFile { path, text } in files {
        let mut folder = String::new();
        for part in Path::new(path).parent().into_iter().flat_map(Path::components) {
            folder = format!("{folder}{}{}", if folder.is_empty() { "" } else { "/" }, part.as_os_str().display());
            match nix::sys::stat::mkdirat(&root, folder.as_str(), Mode::S_IRWXU) {
                Ok(()) | Err(nix::Error::EEXIST) => {}
                Err(error) => return Err(format!("making the folder `{folder}`: {error}")),
            }
        }
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
        let file = at(format!("creating `{path}`"))(openat2(&root, path.as_str(), how(flags, 0o644)))?;
        at(format!("writing `{path}`"))(File::from(file).write_all(text.as_bytes()))?;
    }
    Ok(())
}

/// Takes away all that the job does not need and executes a program of it. It returns only if that fails.
pub fn execute(
    job: &Job,
    argv: &[String],
    streams: Streams,
    processor: Option<usize>,
    filter: &BpfProgram,
) -> Step<Infallible> {
    arrange(streams)?;
    let view = Landlock::open(job)?;
    // an address that is the same in every run makes what a program prints of it the same
    at("fixing addresses")(personality::set(Persona::ADDR_NO_RANDOMIZE))?;
    if let Some(processor) = processor {
        let mut set = nix::sched::CpuSet::new();
        // a processor that is not there is no reason not to run
        let _ = set.set(processor);
        let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set);
    }
    drop_capabilities()?;
    at("giving up new rights")(rustix::thread::set_no_new_privs(true))?;
    view.restrict()?;
    let text = |text: &String| CString::new(text.as_str()).map_err(|_| format!("`{text}` holds a NUL"));
    let argv: Vec<CString> = argv.iter().map(text).collect::<Step<_>>()?;
    let env = job.env.iter().map(|(name, value)| text(&format!("{name}={value}"))).collect::<Step<Vec<_>>>()?;
    let program = argv.first().ok_or("a step without a program")?;
    let pointers = |texts: &[CString]| -> Vec<*const c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    // the program takes its memory as it would elsewhere
    at("letting pages be large")(crate::helper::small_pages(false))?;
    let (argv_pointers, env_pointers) = (pointers(&argv), pointers(&env));
    let executing = at(format!("executing {program:?}"));
    // from here on nothing may take memory: an allocator may have more addresses reserved than the program may have, and gets no more
    limit(&job.limits)?;
    at("filtering calls")(seccompiler::apply_filter(filter))?;
    // SAFETY: both arrays end with a null, and their strings live on
    unsafe { libc::execve(program.as_ptr(), argv_pointers.as_ptr(), env_pointers.as_ptr()) };
    executing(Err(io::Error::last_os_error()))
}

/// Opens something harmless wherever one of the lowest descriptors is free, so that none of ours gets a number that the program's will
/// have.
pub fn fill_low_descriptors() -> Step<()> {
    loop {
        let file = at("opening /dev/null")(File::options().read(true).write(true).open("/dev/null"))?;
        if file.as_raw_fd() > CHANNEL {
            return Ok(());
        }
        std::mem::forget(file);
    }
}

/// Puts the descriptors where the program expects them; every other is closed when it is executed.
fn arrange(streams: Streams) -> Step<()> {
    let numbered = [(streams.stdin, 0), (streams.stdout, 1), (streams.stderr, 2), (streams.channel, CHANNEL)];
    // out of the way first, so that none overwrites another that is still to be moved
    let mut high = Vec::new();
    for (fd, number) in numbered {
        let moved = at("moving a descriptor")(nix::fcntl::fcntl(&fd, nix::fcntl::FcntlArg::F_DUPFD_CLOEXEC(64)))?;
        high.push((moved, number));
    }
    for (fd, number) in high {
        // SAFETY: both are numbers of this process, which is about to be another program
        if unsafe { libc::dup2(fd, number) } < 0 {
            return Err(format!("placing descriptor {number}: {}", io::Error::last_os_error()));
        }
    }
    close_on_exec_from(CHANNEL + 1)
}

/// Lets no descriptor from a number on reach the next program.
pub fn close_on_exec_from(first: RawFd) -> Step<()> {
    // SAFETY: only marks descriptors of this process; neither nix nor rustix has the call
    let result = unsafe { libc::close_range(first as u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC as i32) };
    if result == 0 { Ok(()) } else { Err(format!("marking descriptors: {}", io::Error::last_os_error())) }
}

/// Lowers the limits of the kernel; one that is lower already stays.
fn limit(limits: &Limits) -> Step<()> {
    const MIB: u64 = 1 << 20;
    let cpu = limits.cpu_s.max(1.0).ceil() as u64;
    let mut all = vec![
        // a second more until it is killed, for a program that ignores the first warning
        (Resource::RLIMIT_CPU, cpu, cpu + 1),
        (Resource::RLIMIT_FSIZE, limits.file_mb * MIB, limits.file_mb * MIB),
        (Resource::RLIMIT_NOFILE, limits.files, limits.files),
        (Resource::RLIMIT_NPROC, limits.processes, limits.processes),
        (Resource::RLIMIT_CORE, 0, 0),
        (Resource::RLIMIT_STACK, 64 * MIB, 64 * MIB),
        (Resource::RLIMIT_MEMLOCK, 0, 0),
        (Resource::RLIMIT_MSGQUEUE, 0, 0),
    ];
    all.extend(limits.address_mb.map(|mb| (Resource::RLIMIT_AS, mb * MIB, mb * MIB)));
    all.extend(limits.data_mb.map(|mb| (Resource::RLIMIT_DATA, mb * MIB, mb * MIB)));
    for (resource, soft, hard) in all {
        let (_, inherited) = at(format!("reading {resource:?}"))(getrlimit(resource))?;
        let hard = hard.min(inherited);
        at(format!("lowering {resource:?}"))(setrlimit(resource, soft.min(hard), hard))?;
    }
    Ok(())
}

/// Gives up all capabilities, and those that a later program could have.
pub fn drop_capabilities() -> Step<()> {
    for number in 0..64 {
        let Some(capability) = CapabilitySet::from_bits(1 << number) else { continue };
        match remove_capability_from_bounding_set(capability) {
            // without the right to drop them there are none left to drop, or bubblewrap has done it; EINVAL: this kernel has no such
            Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::PERM) => {}
            Err(error) => return Err(format!("dropping a capability: {error}")),
        }
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    at("giving up capabilities")(set_capabilities(None, none))
}

/// The oldest Landlock that is enough beside namespaces and the filters of calls.
const LANDLOCK_FLOOR: ABI = ABI::V1;

/// The newest that we know rights of.
const LANDLOCK_NEWEST: ABI = ABI::V6;

/// Which paths a program may touch, opened before it loses the right to open them.
struct Landlock {
    rules: Vec<(PathFd, BitFlags<AccessFs>)>,
}

impl Landlock {
    fn open(job: &Job) -> Step<Landlock> {
        let reads = AccessFs::ReadFile | AccessFs::ReadDir;
        let writes = AccessFs::from_all(LANDLOCK_NEWEST)
            & !AccessFs::Execute
            & !AccessFs::IoctlDev
            & !AccessFs::MakeChar
            & !AccessFs::MakeBlock;
        let mut rules = Vec::new();
        let mut add = |path: &Path, access| {
            rules.push((PathFd::new(path).map_err(|error| format!("opening {}: {error}", path.display()))?, access));
            Step::Ok(())
        };
        let view = &job.view;
        for path in view.reads.iter().filter(|path| !view.executes.contains(path)) {
            add(path, if path.is_dir() { reads } else { AccessFs::ReadFile.into() })?;
        }
        for path in &view.executes {
            add(path, AccessFs::ReadFile | AccessFs::Execute)?;
        }
        for name in DEVICES {
            add(&Path::new("/dev").join(name), AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)?;
        }
        for path in [BOX, "/tmp"] {
            add(Path::new(path), writes)?;
        }
        add(Path::new("/etc"), reads)?;
        if view.proc {
            add(Path::new("/proc"), reads)?;
        }
        Ok(Landlock { rules })
    }

    fn restrict(self) -> Step<()> {
        let problem = |error: landlock::RulesetError| format!("Landlock: {error}");
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(LANDLOCK_FLOOR))
            .map_err(problem)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(LANDLOCK_NEWEST))
            .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(LANDLOCK_NEWEST)))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(LANDLOCK_NEWEST)))
            .and_then(Ruleset::create)
            .map_err(problem)?;
        let rules = self.rules.into_iter().map(|(path, access)| Ok(PathBeneath::new(path, access)));
        ruleset.add_rules(rules).and_then(|ruleset| ruleset.restrict_self()).map(drop).map_err(problem)
    }
}

/// The devices of the box.
pub const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Writes all of a message to a descriptor that stays open.
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match nix::unistd::write(fd, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A descriptor of the same file that is not closed when another program is executed.
pub fn inheritable(fd: &impl AsFd) -> Step<RawFd> {
    let number = fd.as_fd().as_raw_fd();
    at("keeping a descriptor")(nix::fcntl::fcntl(
        fd.as_fd(),
        nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()),
    ))?;
    Ok(number)
}
