//! File names in the headers of a diff.

use std::borrow::Cow;

/// The files met so far; the last one is current.
#[derive(Debug, Default)]
pub(super) struct Files {
    names: Vec<String>,
    /// The current file has had a hunk, so the next `---` header is of another one.
    has_hunk: bool,
    /// The current file has both its names, so the next `---` header is of another one as well.
    has_new_name: bool,
}

impl Files {
    /// Index of the file that lines belong to now.
    pub(super) fn current(&self) -> Option<usize> {
        self.names.len().checked_sub(1)
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.names
    }

    /// Name of the file that lines belong to now.
    pub(super) fn current_name(&self) -> Option<&str> {
        self.names.last().map(String::as_str)
    }

    /// `diff --git a/old b/new` starts a file. Names with blanks make the line ambiguous unless both are the same,
    /// which is the usual case; other headers set the name right.
    pub(super) fn git_header(&mut self, line: &str) {
        let rest = line.trim_start_matches("diff --git ").trim_end_matches('\r');
        let middle = rest.len() / 2;
        let same = rest.is_char_boundary(middle).then(|| rest.split_at(middle)).and_then(|(old, new)| {
            let new = new.strip_prefix(' ')?;
            (strip_side(&unquote(old)) == strip_side(&unquote(new))).then_some(new)
        });
        let name = same.or_else(|| rest.rsplit_once(' ').map(|(_, new)| new)).unwrap_or(rest);
        self.start(strip_side(&unquote(name)));
    }

    /// The current file has a hunk now.
    pub(super) fn hunk(&mut self) {
        self.has_hunk = true;
    }

    /// A line outside hunks.
    pub(super) fn header(&mut self, line: &str) {
        let line = line.trim_end_matches('\r');
        if let Some(old) = line.strip_prefix("--- ") {
            if self.has_hunk || self.has_new_name || self.names.is_empty() {
                self.start("");
            }
            self.set_name(old);
        } else if let Some(new) = line.strip_prefix("+++ ") {
            self.set_name(new);
            self.has_new_name = true;
        } else if let Some(name) = line.strip_prefix("Index: ") {
            self.start(name);
        } else if line.starts_with("diff -") {
            self.start(strip_side(line.rsplit(' ').next().unwrap_or_default()));
        } else if let Some(new) = line.strip_prefix("rename to ").or_else(|| line.strip_prefix("copy to ")) {
            self.replace(&unquote(new));
        }
    }

    fn set_name(&mut self, name: &str) {
        // GNU diff puts a tab and the time after the name.
        let name = unquote(name.split('\t').next().unwrap_or(name));
        if name != "/dev/null" {
            self.replace(strip_side(&name));
        }
    }

    fn start(&mut self, name: &str) {
        self.names.push(name.to_owned());
        self.has_hunk = false;
        self.has_new_name = false;
    }

    fn replace(&mut self, name: &str) {
        if let Some(last) = self.names.last_mut() {
            name.clone_into(last);
        }
    }
}

/// Git quotes names with unusual bytes, as C writes a string: by default all that is not ASCII, each byte as three octal digits.
fn unquote(name: &str) -> Cow<'_, str> {
    let Some(quoted) = name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) else { return Cow::Borrowed(name) };
    if !quoted.contains('\\') {
        return Cow::Borrowed(quoted);
    }
    let (mut bytes, mut rest) = (Vec::new(), quoted.as_bytes());
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        let (read, n) = match (byte, behind) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                ((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), 3)
            }
            (b'\\', [letter, ..]) => match letter {
                b'a' => (7, 1),
                b'b' => (8, 1),
                b't' => (b'\t', 1),
                b'n' => (b'\n', 1),
                b'v' => (11, 1),
                b'f' => (12, 1),
                b'r' => (b'\r', 1),
                b'"' | b'\\' => (*letter, 1),
                // not git's: as it stands
                _ => (byte, 0),
            },
            _ => (byte, 0),
        };
        bytes.push(read);
        rest = &rest[n..];
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// Without git's `a/` or `b/`.
fn strip_side(name: &str) -> &str {
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_name_is_read_as_git_wrote_it() {
        for (written, name) in [
            (r#""b/src/\303\274ber.py""#, "b/src/über.py"),
            (r#""a \"b\" \\ c\td""#, "a \"b\" \\ c\td"),
            (r#""\377.py""#, "\u{fffd}.py"),
            (r#""a\q\7\"#, r#""a\q\7\"#),
            (r#""a\q\7""#, r"a\q\7"),
            ("plain\\303.py", "plain\\303.py"),
            ("\"\"", ""),
            ("\"", "\""),
        ] {
            assert_eq!(unquote(written), name, "{written}");
        }
        let mut files = Files::default();
        files.git_header(r#"diff --git "a/src/\303\274ber.py" "b/src/\303\274ber.py""#);
        files.header(r#"--- "a/src/\303\274ber.py""#);
        files.header(r#"+++ "b/src/\303\274ber.py""#);
        assert_eq!(files.into_names(), ["src/über.py"]);
    }
}
