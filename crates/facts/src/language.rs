//! The languages whose syntax is read, and how a change tells its own.

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Python.
    Python,
    /// JavaScript, with or without JSX.
    JavaScript,
    /// TypeScript without JSX.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Java.
    Java,
    /// Go.
    Go,
    /// Rust.
    Rust,
    /// C.
    C,
    /// C++.
    Cpp,
    /// C#.
    CSharp,
    /// Ruby.
    Ruby,
    /// PHP.
    Php,
}

use Language::{C, CSharp, Cpp, Go, Java, JavaScript, Php, Python, Ruby, Rust, Tsx, TypeScript};

/// Each language with the names that people and tools give it, and the extensions of its files.
const NAMES: [(Language, &[&str], &[&str]); 12] = [
    (Python, &["python", "python3"], &["py", "pyi", "pyw", "pyx"]),
    (JavaScript, &["javascript", "node", "nodejs"], &["js", "jsx", "mjs", "cjs"]),
    (TypeScript, &["typescript"], &["ts", "mts", "cts"]),
    (Tsx, &["typescriptreact"], &["tsx"]),
    (Java, &["java"], &["java"]),
    (Go, &["go", "golang"], &["go"]),
    (Rust, &["rust"], &["rs"]),
    (C, &["c"], &["c", "h"]),
    (Cpp, &["cpp", "c++", "cplusplus"], &["cc", "cpp", "cxx", "hpp", "hh", "hxx", "ipp", "cu", "cuh"]),
    (CSharp, &["csharp", "c#"], &["cs", "csx"]),
    (Ruby, &["ruby"], &["rb", "rake", "gemspec"]),
    (Php, &["php"], &["php", "phtml"]),
];

/// Lines that hardly another language has; the marks stand at a line's start after its blanks, or anywhere where
/// they begin with `*`.
const MARKS: &[(Language, &[&str])] = &[
    (
        Python,
        &[
            "def ",
            "elif ",
            "import ",
            "from ",
            "except ",
            "except:",
            "async def ",
            "*self.",
            "*\"\"\"",
            "*is None",
            "*not in ",
        ],
    ),
    (
        JavaScript,
        &[
            "const ",
            "let ",
            "var ",
            "export ",
            "*=> {",
            "*===",
            "*!==",
            "*require(",
            "function ",
            "*function(",
            "*function (",
        ],
    ),
    (
        TypeScript,
        &[
            "export interface ",
            "export type ",
            "interface ",
            "*: string",
            "*: number",
            "*: boolean",
            "*: void",
            "*readonly ",
        ],
    ),
    (Java, &["public ", "private ", "protected ", "package ", "import java", "@Override", "*final ", "*throws "]),
    (Go, &["func ", "package ", "*:=", "defer ", "*!= nil", "*== nil", "*fmt.", "type "]),
    (Rust, &["fn ", "pub ", "let mut ", "impl ", "use ", "*::<", "*.unwrap()", "match ", "*&mut ", "#[", "*&str"]),
    (C, &["#include", "#define ", "#ifdef", "#endif", "static ", "struct ", "*->", "*NULL", "*char *", "*void *"]),
    (Cpp, &["template", "namespace ", "*std::", "*nullptr", "*const auto", "public:", "private:"]),
    (CSharp, &["using System", "namespace ", "*{ get;", "public async ", "*string.", "internal "]),
    (Ruby, &["end", "def ", "require ", "module ", "*.each do", "unless ", "attr_", "elsif "]),
    (Php, &["<?php", "*$this->", "*=> $", "public function ", "*$_", "use "]),
];

impl Language {
    /// Every language.
    pub const ALL: [Language; 12] = [Python, JavaScript, TypeScript, Tsx, Java, Go, Rust, C, Cpp, CSharp, Ruby, Php];

    /// The language that people call `name`, in any case.
    pub fn of_name(name: &str) -> Option<Language> {
        let name = name.trim().to_ascii_lowercase();
        let by_name = NAMES.iter().find(|(_, names, _)| names.contains(&name.as_str()));
        by_name
            .or_else(|| NAMES.iter().find(|(_, _, extensions)| extensions.contains(&name.as_str())))
            .map(|found| found.0)
    }

    /// The language of a file, by the extension of its name.
    pub fn of_file(name: &str) -> Option<Language> {
        let file = name.rsplit(['/', '\\']).next()?;
        if matches!(file, "Rakefile" | "Gemfile" | "Vagrantfile") {
            return Some(Ruby);
        }
        let extension = file.rsplit_once('.')?.1.to_ascii_lowercase();
        NAMES.iter().find(|(_, _, extensions)| extensions.contains(&extension.as_str())).map(|found| found.0)
    }

    /// The language that lines of code look like, if one stands out clearly.
    pub fn of_lines<'l>(lines: impl IntoIterator<Item = &'l str>) -> Option<Language> {
        let mut counts = [0usize; MARKS.len()];
        for line in lines.into_iter().take(400) {
            let line = line.trim_start();
            let line = crate::syntax::head(line, 400);
            for (count, (_, marks)) in counts.iter_mut().zip(MARKS) {
                let found = |mark: &&&str| {
                    mark.strip_prefix('*').map_or(line.starts_with(**mark), |inner| line.contains(inner))
                };
                *count += marks.iter().filter(found).count();
            }
        }
        let best = (0..counts.len()).max_by_key(|&index| counts[index])?;
        let second = (0..counts.len()).filter(|&index| index != best).map(|index| counts[index]).max().unwrap_or(0);
        let stands_out = counts[best] >= 2 && counts[best] >= 2 * second;
        stands_out.then_some(MARKS[best].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files_tell() {
        assert_eq!(Language::of_name("TypeScript"), Some(TypeScript));
        assert_eq!(Language::of_name("C++"), Some(Cpp));
        assert_eq!(Language::of_name("py"), Some(Python));
        assert_eq!(Language::of_name("shell"), None);
        assert_eq!(Language::of_file("src/a.test.TSX"), Some(Tsx));
        assert_eq!(Language::of_file("a.d/Makefile"), None);
        assert_eq!(Language::of_file("x/Rakefile"), Some(Ruby));
    }

    #[test]
    fn lines_tell_only_where_they_are_sure() {
        let python = ["def get(self, key):", "    if key is None:", "        return self.a"];
        assert_eq!(Language::of_lines(python), Some(Python));
        assert_eq!(Language::of_lines(["if err != nil {", "\tx := f()", "\tdefer g()"]), Some(Go));
        assert_eq!(Language::of_lines(["x = 1", "y = 2"]), None);
        assert_eq!(Language::of_lines(["fn get(&mut self) -> &str {", "let mut x = y.unwrap();"]), Some(Rust));
    }
}
