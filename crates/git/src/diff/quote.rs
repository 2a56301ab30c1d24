//! Paths as git writes them.

/// A path behind a prefix; in quotes with escapes where a byte of it is no printable ASCII, or a quote or a backslash.
pub(super) fn quoted(prefix: &str, path: &[u8]) -> Vec<u8> {
    let plain = |&byte: &u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
    if path.iter().all(plain) {
        return [prefix.as_bytes(), path].concat();
    }
    let mut out = vec![b'"'];
    out.extend_from_slice(prefix.as_bytes());
    for &byte in path {
        let short = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => byte,
            b' '..=b'~' => {
                out.push(byte);
                continue;
            }
            _ => {
                out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', short]);
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusual_bytes_are_escaped() {
        let of = |path: &[u8]| String::from_utf8(quoted("a/", path)).unwrap();
        assert_eq!(of(b"plain name.rs"), "a/plain name.rs");
        assert_eq!(of("größe".as_bytes()), r#""a/gr\303\266\303\237e""#);
        assert_eq!(of(b"a\"b\\c\td\x01\x7f"), r#""a/a\"b\\c\td\001\177""#);
    }
}
