//! Hashes by which files are known.

use std::{fs::File, io, path::Path};

use sha2::{Digest, Sha256};

use crate::ModelError;

/// The sha256 of the files one after the other, as 64 lower-case hexadecimal digits.
///
/// # Errors
/// [`ModelError::Read`] names the file that cannot be read.
pub(super) fn sha256_of<P: AsRef<Path>>(files: &[P]) -> Result<String, ModelError> {
    let mut hash = Sha256::new();
    for path in files {
        let path = path.as_ref();
        let mut file = File::open(path).map_err(ModelError::read(path))?;
        io::copy(&mut file, &mut hash).map_err(ModelError::read(path))?;
    }
    Ok(hex(hash))
}

/// The digest so far, as 64 lower-case hexadecimal digits.
pub(super) fn hex(hash: Sha256) -> String {
    format!("{:x}", hash.finalize())
}

/// The hash by which git names a file's content, as 40 lower-case hexadecimal digits.
#[cfg(feature = "hub")]
pub(super) fn git_hash(path: &Path) -> Result<String, ModelError> {
    let bytes = std::fs::read(path).map_err(ModelError::read(path))?;
    let mut hash = sha1::Sha1::new();
    hash.update(format!("blob {}\0", bytes.len()));
    hash.update(&bytes);
    Ok(format!("{:x}", hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digests are those of `printf abc | sha256sum` and `printf abc | git hash-object --stdin`.
    #[test]
    fn digests_are_those_of_sha256sum_and_git() {
        let folder = tempfile::tempdir().unwrap();
        let [a, bc, abc] = [("a", "a"), ("b", "bc"), ("c", "abc")].map(|(name, content)| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        });
        let want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(&[&abc]).unwrap(), want);
        assert_eq!(sha256_of(&[a, bc]).unwrap(), want);
        #[cfg(feature = "hub")]
        assert_eq!(git_hash(&abc).unwrap(), "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f");
        let missing = folder.path().join("missing");
        assert!(matches!(sha256_of(&[&missing]), Err(ModelError::Read { path, .. }) if path == missing));
    }
}
