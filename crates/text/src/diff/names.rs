//! File names in the headers of a diff.

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
            (strip_side(unquote(old)) == strip_side(unquote(new))).then_some(new)
        });
        let name = same.or_else(|| rest.rsplit_once(' ').map(|(_, new)| new)).unwrap_or(rest);
        self.start(strip_side(unquote(name)));
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
            self.replace(unquote(new));
        }
    }

    fn set_name(&mut self, name: &str) {
        // GNU diff puts a tab and the time after the name.
        let name = unquote(name.split('\t').next().unwrap_or(name));
        if name != "/dev/null" {
            self.replace(strip_side(name));
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

/// Git quotes names with unusual bytes; their escapes are left as they stand.
fn unquote(name: &str) -> &str {
    name.strip_prefix('"').and_then(|n| n.strip_suffix('"')).unwrap_or(name)
}

/// Without git's `a/` or `b/`.
fn strip_side(name: &str) -> &str {
    name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name)
}
