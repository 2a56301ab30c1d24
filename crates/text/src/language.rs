//! Which programming language a change is in, by the names of its files.

use std::path::Path;

use crate::diff::Diff;

/// The extensions of files and the languages that they tell, in alphabetical order.
const EXTENSIONS: [(&str, &str); 22] = [
    ("c", "c"),
    ("cc", "cpp"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("go", "go"),
    ("h", "c"),
    ("hpp", "cpp"),
    ("java", "java"),
    ("js", "javascript"),
    ("jsx", "javascript"),
    ("kt", "kotlin"),
    ("md", "markdown"),
    ("mjs", "javascript"),
    ("php", "php"),
    ("py", "python"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("scala", "scala"),
    ("sh", "shell"),
    ("swift", "swift"),
    ("ts", "typescript"),
    ("tsx", "typescript"),
];

/// The programming language of a file, if its extension tells; `None` for an extension that is not known here.
pub fn of_file(name: &str) -> Option<&'static str> {
    let extension = Path::new(name).extension()?.to_str()?;
    EXTENSIONS.into_iter().find_map(|(known, language)| (known == extension).then_some(language))
}

/// The programming language of the first file that the diff names, if its extension tells.
pub fn of_diff(diff: &Diff) -> Option<&'static str> {
    of_file(diff.files().first()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_files_extension_tells() {
        let diff = Diff::parse("--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
        assert_eq!(of_diff(&diff), Some("rust"));
        assert_eq!(of_diff(&Diff::parse("-a\n+b\n").unwrap()), None);
        assert_eq!((of_file("Makefile"), of_file("x.unknown"), of_file("a.b/c.py")), (None, None, Some("python")));
    }
}
