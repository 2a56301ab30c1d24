//! Interpreters and what they need to see of this machine.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read as _},
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    error::SandboxError,
    job::{Limits, View},
};

/// A language that programs are run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript, by node.
    #[serde(alias = "js")]
    Javascript,
    /// Java, compiled within the sandbox.
    Java,
}

impl Language {
    /// Its name, as a case gives it.
    pub fn name(self) -> &'static str {
        match self {
            Language::Python => "python",
            Language::Javascript => "javascript",
            Language::Java => "java",
        }
    }
}

/// An interpreter that was found, and how it is started.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The language.
    pub language: Language,
    /// The interpreter's own file, links followed.
    pub program: PathBuf,
    /// The compiler, where there is one.
    pub compiler: Option<PathBuf>,
    /// What it says of its version.
    pub version: String,
    /// The hash of the interpreter's file, so that results of another build are not taken for this one's.
    pub hash: String,
    /// What it needs to see.
    pub view: View,
    /// What it may take, unless a case says otherwise.
    pub limits: Limits,
}

impl Runner {
    /// Finds the interpreter of a language: the first on the `PATH`, or in the usual folders, that a user who owns nothing could read. One
    /// that was found is remembered: it was started to say what it is, and its file was read from end to end.
    ///
    /// # Errors
    /// [`SandboxError::NoRunner`].
    pub fn find(language: Language) -> Result<Runner, SandboxError> {
        static FOUND: [OnceLock<Runner>; 3] = [const { OnceLock::new() }; 3];
        let found = &FOUND[language as usize];
        if let Some(runner) = found.get() {
            return Ok(runner.clone());
        }
        let runner = Runner::look_for(language)?;
        Ok(found.get_or_init(|| runner).clone())
    }

    fn look_for(language: Language) -> Result<Runner, SandboxError> {
        let missing = |why: String| SandboxError::NoRunner { language: language.name().into(), why };
        let (names, said): (&[&str], &[&str]) = match language {
            Language::Python => (&["python3"], &["-I", "-S", "-c", PYTHON_SAYS]),
            Language::Javascript => (&["node", "nodejs"], &["-p", "process.version + '\\n'"]),
            Language::Java => (&["java"], &["-XshowSettings:properties", "-version"]),
        };
        let program = find_readable(names).map_err(missing)?;
        let output = Command::new(&program).args(said).env_clear().output();
        let output = output.map_err(|error| missing(format!("{}: {error}", program.display())))?;
        if !output.status.success() {
            return Err(missing(format!("{} ended with {}", program.display(), output.status)));
        }
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut runner = Runner {
            language,
            compiler: None,
            version: String::new(),
            hash: hash(&program).map_err(|error| missing(format!("{}: {error}", program.display())))?,
            view: View::default(),
            limits: Limits::default(),
            program: program.clone(),
        };
        let mut executes = vec![program];
        match language {
            Language::Python => {
                runner.version = lines.next().unwrap_or_default().to_owned();
                runner.view.reads.extend(lines.map(PathBuf::from).filter(|path| path.is_dir()));
            }
            Language::Javascript => {
                runner.version = lines.next().unwrap_or_default().to_owned();
                runner.limits =
                    Limits { address_mb: None, data_mb: Some(1024), processes: 32, files: 512, ..runner.limits };
            }
            Language::Java => {
                let setting =
                    |name: &str| text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(" = "));
                runner.version = setting("java.vm.version").unwrap_or_default().to_owned();
                let home =
                    setting("java.home").ok_or_else(|| missing("`java` does not say where its home is".into()))?;
                let home = PathBuf::from(home);
                let compiler = home.join("bin/javac");
                if !compiler.is_file() {
                    return Err(missing(format!("{} has no compiler: it is no JDK", home.display())));
                }
                executes.push(compiler.clone());
                let spawner = home.join("lib/jspawnhelper");
                executes.extend(Some(spawner).filter(|path| path.is_file()));
                runner.compiler = Some(compiler);
                // Debian's home is full of links to its settings
                runner.view.reads.extend(
                    [home.clone(), PathBuf::from("/etc/java-17-openjdk")].into_iter().filter(|path| path.is_dir()),
                );
                let time = 5.0 * runner.limits.cpu_s;
                runner.limits = Limits {
                    address_mb: None,
                    data_mb: Some(1024),
                    processes: 64,
                    files: 512,
                    memory_mb: 768,
                    wall_s: time,
                    ..runner.limits
                };
                runner.view.proc = true;
            }
        }
        complete(&mut runner.view, executes);
        Ok(runner)
    }

    /// The program and the arguments that come before a program's own.
    pub fn argv(&self) -> Vec<String> {
        let options: &[&str] = match self.language {
            Language::Python => &["-I", "-S", "-B", "-X", "utf8"],
            Language::Javascript => &["--max-old-space-size=256", "--disallow-code-generation-from-strings=false"],
            Language::Java => &[
                "-Xmx256m",
                "-Xss16m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
                "-Xshare:auto",
                "-ea",
            ],
        };
        let options = options.iter().filter(|option| !option.ends_with("=false")).map(|option| (*option).to_owned());
        std::iter::once(self.program.display().to_string()).chain(options).collect()
    }
}

/// The hash of a file, read piece by piece: an interpreter may be larger than all else that we have in memory.
fn hash(file: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut fs::File::open(file)?, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

fn is_elf(file: &Path) -> bool {
    let mut first = [0; 4];
    fs::File::open(file).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *b"\x7fELF"
}

/// Python says its version and the folders that its own library is in.
const PYTHON_SAYS: &str =
    "import sys; print(sys.version.replace('\\n', ' ')); [print(p) for p in sys.path if not p.endswith('.zip')]";

/// The first of some programs that any user can read: those of the `PATH`, then those of the usual folders.
fn find_readable(names: &[&str]) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/local/bin", "/usr/bin"].map(PathBuf::from);
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    let mut passed_over = BTreeSet::new();
    for name in names {
        for file in folders.iter().map(|folder| folder.join(name)) {
            let Ok(file) = fs::canonicalize(file) else { continue };
            // what pyenv and its like put there are scripts that look for the real one
            if !is_elf(&file) {
                continue;
            }
            if nix::unistd::Uid::effective().is_root() && !is_for_everybody(&file) {
                passed_over.insert(file.display().to_string());
                continue;
            }
            return Ok(file);
        }
    }
    if passed_over.is_empty() {
        return Err(format!("no `{}` on the PATH", names.join("` or `")));
    }
    let passed_over: Vec<String> = passed_over.into_iter().collect();
    Err(format!(
        "{} can be read by its owner only, and programs are run by a user who owns nothing",
        passed_over.join(", ")
    ))
}

/// Whether every user can read a file and go through the folders above it.
fn is_for_everybody(file: &Path) -> bool {
    let has = |path: &Path, bits: u32| fs::metadata(path).is_ok_and(|found| found.permissions().mode() & bits == bits);
    has(file, 0o005) && file.ancestors().skip(1).all(|folder| has(folder, 0o001))
}

/// Adds what programs need to be loaded: their libraries, the loader, and the names by which these are looked for.
fn complete(view: &mut View, executes: Vec<PathBuf>) {
    let mut reads: BTreeSet<PathBuf> = view.reads.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    for program in &executes {
        // what `ldd` does; the programs are those that the operator installed
        let output = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        for word in text.split_whitespace().filter(|word| word.starts_with('/')) {
            let (name, Ok(file)) = (Path::new(word), fs::canonicalize(word)) else { continue };
            if is_loader(&file) {
                view.executes.push(file.clone());
            }
            add_links(view, name);
            // one folder of libraries, and not all that is in it for one
            reads.extend(file.parent().filter(|folder| !program.starts_with(folder)).map(Path::to_owned));
        }
    }
    for name in ["/lib", "/lib64"] {
        add_links(view, Path::new(name));
    }
    let cache = PathBuf::from("/etc/ld.so.cache");
    reads.extend(Some(cache).filter(|path| path.is_file()));
    view.executes.extend(executes);
    view.executes.sort();
    view.executes.dedup();
    reads.extend(view.executes.iter().cloned());
    // what is below another is shown with it
    let all = reads.clone();
    reads.retain(|path| !path.ancestors().skip(1).any(|above| all.contains(above)));
    view.reads = reads.into_iter().collect();
    // those below a folder that is shown are there already
    view.links.retain(|(link, _)| !view.reads.iter().any(|shown| link.starts_with(shown)));
    view.links.sort();
}

fn is_loader(file: &Path) -> bool {
    file.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("ld-") || name.starts_with("ld.so"))
}

/// Remembers every link on the way from a name to the file that it leads to, so that the name can be followed within.
fn add_links(view: &mut View, name: &Path) {
    let (mut waiting, mut path) = (name.to_owned(), PathBuf::from("/"));
    // no chain of links of a system is longer
    for _ in 0..64 {
        let mut parts = waiting.components().filter(|part| !matches!(part, Component::RootDir | Component::CurDir));
        let Some(part) = parts.next() else { return };
        let rest: PathBuf = parts.collect();
        if part == Component::ParentDir {
            path.pop();
            waiting = rest;
            continue;
        }
        path.push(part);
        waiting = match fs::read_link(&path) {
            Ok(target) => {
                if !view.links.iter().any(|(link, _)| *link == path) {
                    view.links.push((path.clone(), target.clone()));
                }
                if target.is_absolute() {
                    path = PathBuf::from("/");
                } else {
                    path.pop();
                }
                target.join(rest)
            }
            Err(_) => rest,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_never_in_memory_as_a_whole() {
        let Ok(runner) = Runner::find(Language::Javascript) else { return };
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let peak: u64 = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok())
            .expect("the system says how much memory we had");
        let size = fs::metadata(&runner.program).unwrap().len() >> 10;
        assert!(peak < 60 << 10, "{peak} KiB were resident, and the interpreter has {size}");
        assert_eq!(runner.hash.len(), 64);
    }
}
