//! The bytes of a message as text.

/// A commit's message. Git takes it for UTF-8 unless the commit names another encoding; of those Latin-1 is understood, and what
/// fits neither is replaced by `\u{fffd}`.
pub(crate) fn decode(message: &[u8], encoding: Option<&[u8]>) -> String {
    let latin1 = encoding.is_some_and(|name| {
        // ISO-8859-1, iso8859-1, latin1 and latin-1 are one.
        let name: Vec<u8> =
            name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
        name == b"iso88591" || name == b"latin1"
    });
    match latin1 {
        true => message.iter().map(|&byte| char::from(byte)).collect(),
        false => String::from_utf8_lossy(message).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin1_where_the_commit_says_so() {
        assert_eq!(decode(b"Gr\xfc\xdfe", Some(b"ISO-8859-1")), "Grüße");
        assert_eq!(decode(b"Gr\xfc\xdfe", Some(b"latin1")), "Grüße");
        assert_eq!(decode("Grüße".as_bytes(), None), "Grüße");
        assert_eq!(decode(b"Gr\xfce", None), "Gr\u{fffd}e");
        assert_eq!(decode(b"Gr\xfce", Some(b"EUC-JP")), "Gr\u{fffd}e");
    }
}
