//! What a line of code does with a name: brings it into being, uses it, calls it.

use crate::{
    code::{TokenKind, pieces, tokens},
    mention::without_self,
};

/// Whether a line is more than a comment.
fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !["#", "//", "*", "/*", "\"\"\"", "<!--", "--"].iter().any(|mark| line.starts_with(mark))
}

/// Whether a line imports a name.
pub fn imports(code: &str, name: &str) -> bool {
    let code = code.trim_start();
    let is_import = ["import ", "from ", "#include", "use ", "pub use ", "using ", "require", "export "]
        .iter()
        .any(|start| code.starts_with(start))
        || code.contains("require(")
        || code.contains(" import ");
    is_import
        && tokens(code).iter().any(|token| match token.kind {
            TokenKind::Name | TokenKind::Text => {
                code[token.span.clone()].split(|c: char| !crate::code::is_name_char(c)).any(|piece| piece == name)
            }
            _ => false,
        })
}

/// Whether a line imports a module that is written as a text: `"path/filepath"` in a list, `from './utils'`.
pub fn imports_module(code: &str, module: &str) -> bool {
    let line = code.trim();
    let is_import = line.contains("import") || line.contains("require") || line.contains("include");
    let has = |token: &crate::code::Token| token.kind == TokenKind::Text && &line[token.span.clone()] == module;
    let all = tokens(line);
    all.iter().any(has) && (is_import || all.len() <= 2)
}

/// How code uses a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// In any way.
    Any,
    /// It is called.
    Call,
}

/// Whether a line uses a name: not where it brings it into being, not in a comment or a string.
pub fn uses(code: &str, name: &str, how: Use) -> bool {
    if !is_code(code) || imports(code, name) || declares(code, name) {
        return false;
    }
    let all = tokens(code);
    for (index, token) in all.iter().enumerate() {
        let written = &code[token.span.clone()];
        // what follows is a comment
        let is_comment = written == "#" || (written == "/" && code[token.span.end..].starts_with('/'));
        if token.kind == TokenKind::Mark && is_comment {
            return false;
        }
        if token.kind != TokenKind::Name || !pieces(written).any(|piece| piece == name) {
            continue;
        }
        let behind = code[token.span.end..].trim_start();
        let is_assigned = behind.starts_with('=') && !behind.starts_with("==") || behind.starts_with(":=");
        // `x: x` and `x = x` store it; of them only the second one is a use
        let is_key = behind.starts_with(':') && !behind.starts_with("::");
        let last = pieces(written).next_back() == Some(name);
        let is_use = match how {
            Use::Any => !last || !(is_assigned || is_key),
            Use::Call => last && (behind.starts_with('(') || behind.starts_with("!(")),
        };
        let is_kept = index >= 2
            && all[index - 1].kind == TokenKind::Mark
            && &code[all[index - 1].span.clone()] == "="
            && code[all[index - 2].span.clone()].ends_with(name)
            && written == name;
        if is_use && !is_kept {
            return true;
        }
    }
    false
}

/// Whether a line defines a function, a type or a variable of that name, or is a signature with it as a parameter.
pub fn declares(code: &str, name: &str) -> bool {
    let is_signature = ["def ", "fn ", "func ", "function ", "class ", "struct ", "interface ", "type "]
        .iter()
        .any(|word| code.trim_start().starts_with(word) || code.contains(&format!(" {word}")));
    is_signature && defines(code, name)
}

/// Whether a line of code brings a name into being, or only stores it under its own name.
pub fn defines(code: &str, name: &str) -> bool {
    const OF_ALL_BEHIND: [&str; 10] =
        ["def", "fn", "func", "function", "import", "from", "include", "require", "use", "using"];
    const OF_THE_NEXT: [&str; 16] = [
        "class",
        "const",
        "enum",
        "interface",
        "let",
        "macro",
        "mod",
        "mut",
        "package",
        "static",
        "struct",
        "trait",
        "type",
        "union",
        "var",
        "final",
    ];
    let all = tokens(code);
    let is_name = |index: usize| all[index].kind == TokenKind::Name;
    let written = |index: usize| &code[all[index].span.clone()];
    let Some(at) = (0..all.len()).find(|&index| is_name(index) && pieces(without_self(written(index))).eq([name]))
    else {
        return false;
    };
    let before = |words: &[&str]| (0..at).any(|index| is_name(index) && words.contains(&written(index)));
    let follows = |mark: &str| code[all[at].span.end..].trim_start().starts_with(mark);
    let assigned = (follows("=") && !follows("==") && !follows("=>")) || follows(":=");
    before(&OF_ALL_BEHIND) || (at > 0 && is_name(at - 1) && OF_THE_NEXT.contains(&written(at - 1))) || assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_brings_a_name_into_being() {
        for code in [
            "import threading",
            "from a import threading",
            "def get(self, threading=None):",
            "self.threading = x",
            "const threading = 1",
            "threading := f()",
        ] {
            assert!(defines(code, "threading"), "{code}");
        }
        for code in ["threading.Lock()", "x = threading", "f(threading)", "if threading == 1:", "my_threading = 1"] {
            assert!(!defines(code, "threading"), "{code}");
        }
    }

    #[test]
    fn what_uses_a_name() {
        for code in ["f(ttl)", "auth: auth", "x = self.ttl + 1", "self.ttl()", "if ttl {"] {
            assert!(uses(code, code_name(code), Use::Any), "{code}");
        }
        for code in ["self.ttl = ttl", "def f(ttl):", "import ttl", "# ttl", "x = 1  # ttl", "'ttl'", "int ttl = 0"] {
            assert!(!uses(code, "ttl", Use::Any), "{code}");
        }
        assert!(uses("x.close();", "close", Use::Call) && !uses("f(close)", "close", Use::Call));
    }

    fn code_name(code: &str) -> &str {
        if code.contains("auth") { "auth" } else { "ttl" }
    }
}
