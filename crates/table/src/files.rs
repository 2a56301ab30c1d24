//! Files that are either what they were or complete.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// Puts `bytes` under `path` in one step; see [`write_with`].
///
/// # Errors
/// The system's.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    write_with(path, |out| out.write_all(bytes.as_ref()))
}

/// Puts what `write` writes under `path` in one step: at every moment `path` holds either what it held before or the
/// whole. The bytes go to a temporary file in the same folder, to the disk, and then under their name. A link is
/// followed; a pipe or a device is written to directly.
///
/// # Errors
/// The system's, and those of `write`.
pub fn write_with(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<()> {
    let target = followed(path);
    if is_stream(&target) {
        let mut out = BufWriter::new(File::options().write(true).open(&target)?);
        write(&mut out)?;
        return out.flush();
    }
    let folder = folder_of(&target);
    let mut file = temporary_in(folder)?;
    let mut out = BufWriter::new(file.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    // the new name reaches the disk with its folder
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// Whether [`write()`] could write `path`, to be asked before hours of work; nothing is left behind.
///
/// # Errors
/// The system's.
pub fn check(path: &Path) -> io::Result<()> {
    let target = followed(path);
    match fs::metadata(&target) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => File::options().write(true).open(&target).map(drop),
        _ => temporary_in(folder_of(&target)).map(drop),
    }
}

/// Where a link leads; the path itself if nothing is there.
pub fn followed(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a pipe or a device is there, which cannot be replaced.
pub fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// How much of a file is read at once to find where a line ends.
const LINE_BYTES: usize = 2048;

/// The line of a file that begins at a byte, with its line feed.
///
/// # Errors
/// The system's.
pub fn line_at(file: &mut File, begins: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(begins))?;
    let mut line = Vec::new();
    BufReader::with_capacity(LINE_BYTES, file).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn temporary_in(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".veridiff-");
    // a temporary file is private by default; what we write is an ordinary file under the user's mask
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // the name of a temporary file, which such an error has, is one that nobody gave
    builder.tempfile_in(folder).map_err(|error| fs::metadata(folder).err().unwrap_or_else(|| error.kind().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_fails_midway_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write(&path, "old").unwrap();
        let error = write_with(&path, |out| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(error.unwrap_err().to_string(), "no more");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["a.txt"], "nothing else is left");
        let error = write(&folder.path().join("none/a.txt"), "").unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().contains(".veridiff-")),
            (io::ErrorKind::NotFound, false),
            "{error}"
        );
        assert!(write(folder.path(), "").is_err(), "a folder");
    }

    #[test]
    fn it_is_known_before_whether_a_file_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        check(&folder.path().join("a.txt")).unwrap();
        assert!(check(&folder.path().join("none/a.txt")).is_err());
        assert_eq!(check(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_devices_devices() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.txt"), folder.path().join("link"));
        write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        write(Path::new("/dev/null"), "gone").unwrap();
        assert!(is_stream(Path::new("/dev/null")));
    }
}
