//! Words of prose and names of code: what a text talks about, in whatever programming language.
//!
//! A name is what a programmer wrote: `camelCase`, `snake_case`, `dotted.path`, `Type::item`, `$dollar`, `call()`, `utf8`, `IAM`,
//! and anything between backticks or, if it is one word, between quotes. Its parts are what it is composed of.

use std::ops::Range;

use super::lexicon::{is_common, is_stop, stem};

/// What a word of a text can tell of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WordKind {
    /// Grammar; it says nothing about a change.
    Stop,
    /// A word of programming and reviewing in general.
    Common,
    /// A word of prose that is neither, such as `overflow`.
    Plain,
    /// A name as it stands in code, such as `max_size` or `Vec::new`.
    Name,
    /// A number, whole or broken.
    Number,
    /// The name of a file, with its ending.
    File,
}

impl WordKind {
    /// Whether it is a name, a number or a file: something that can be looked up.
    pub fn is_name(self) -> bool {
        matches!(self, WordKind::Name | WordKind::Number | WordKind::File)
    }
}

/// A word of a text: where it stands, and what it is looked up by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its bytes in the text, on character boundaries.
    pub span: Range<usize>,
    /// What the word can tell of a change.
    pub kind: WordKind,
    /// Index in [`Words::snippets`] of the quoted code that it stands in.
    pub snippet: Option<usize>,
    /// Keys of what it is composed of, in lower case and without inflection; of a word of prose its own key.
    pub parts: Vec<String>,
}

/// A piece of code that a text quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snippet {
    /// Its bytes without the marks around it.
    pub span: Range<usize>,
    /// What stands around it in the text.
    pub mark: Mark,
}

/// How a text marks what it quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Three backticks before and after.
    Fence,
    /// One or two backticks before and after.
    Backtick,
    /// Single or double quotes, which hold prose too.
    Quote,
}

/// A text taken apart into its words and what it quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// The words in the order of the text.
    pub words: Vec<Word>,
    /// What it quotes, in order, disjoint.
    pub snippets: Vec<Snippet>,
}

/// Most bytes between two quotes that are still a quotation.
const LONGEST_QUOTE: usize = 120;

/// Endings of the names of files.
const EXTENSIONS: &[&str] = &[
    "bat", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "ex", "gemspec", "go", "gradle", "h", "hpp",
    "html", "ini", "java", "js", "json", "jsx", "kt", "less", "lock", "lua", "m", "md", "mjs", "php", "pl", "proto",
    "ps1", "py", "pyi", "r", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "svg", "swift", "toml", "ts", "tsx",
    "txt", "vue", "xml", "yaml", "yml",
];

impl Words {
    /// Takes a text in prose apart.
    pub fn of_text(text: &str) -> Words {
        let snippets = snippets(text);
        let words = runs(text).into_iter().filter_map(|run| {
            let inside = snippets.partition_point(|snippet| snippet.span.start <= run.start).checked_sub(1);
            let snippet = inside.filter(|&i| run.end <= snippets[i].span.end);
            let quoted = snippet.map(|i| &snippets[i]);
            let whole = quoted.is_some_and(|snippet| is_one_word(&text[snippet.span.clone()]));
            let as_code = quoted.is_some_and(|snippet| snippet.mark != Mark::Quote || whole);
            let kind = kind_of(&text[run.clone()], text[run.end..].chars(), as_code)?;
            Some(Word { parts: parts(&text[run.clone()], kind), span: run, kind, snippet })
        });
        Words { words: words.collect(), snippets }
    }
}

/// The names of a line of code with their bytes; dotted paths whole.
pub fn names_of_code(line: &str) -> Vec<Range<usize>> {
    runs(line)
}

/// The pieces of a dotted path; of any other name itself.
pub fn pieces(name: &str) -> impl Iterator<Item = &str> {
    name.split(['.', ':']).filter(|piece| !piece.is_empty())
}

/// The keys of what a name is composed of: `getHTTPResponse_v2` gives `get`, `http`, `respons`, `v`, `2`.
pub fn subwords(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut current = String::new();
    let chars: Vec<char> = name.chars().collect();
    for (i, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            found.extend(take(&mut current));
            continue;
        }
        let previous = i.checked_sub(1).map(|p| chars[p]);
        let next = chars.get(i + 1);
        let starts = previous.is_some_and(|p| {
            (c.is_uppercase() && (p.is_lowercase() || (p.is_uppercase() && next.is_some_and(|n| n.is_lowercase()))))
                || (c.is_numeric() != p.is_numeric())
        });
        if starts {
            found.extend(take(&mut current));
        }
        current.push(c);
    }
    found.extend(take(&mut current));
    found
}

fn take(current: &mut String) -> Option<String> {
    let word = std::mem::take(current);
    (!word.is_empty()).then(|| stem(&word))
}

fn parts(word: &str, kind: WordKind) -> Vec<String> {
    match kind {
        WordKind::Stop => Vec::new(),
        WordKind::Number => vec![word.to_lowercase()],
        WordKind::Common | WordKind::Plain => vec![stem(word)],
        WordKind::Name | WordKind::File => subwords(word),
    }
}

fn is_ident(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Runs of identifier characters, joined over `.` and `::` where an identifier goes on behind them.
fn runs(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        if !is_ident(c) {
            continue;
        }
        let mut end = start + c.len_utf8();
        loop {
            match chars.peek() {
                Some(&(at, c)) if is_ident(c) => {
                    end = at + c.len_utf8();
                    chars.next();
                }
                Some(&(at, '.' | ':')) => {
                    let joint = if text[at..].starts_with("::") { "::" } else { "." };
                    let goes_on = text[at..].starts_with(joint) && text[at + joint.len()..].starts_with(is_ident);
                    if !goes_on {
                        break;
                    }
                    chars.by_ref().take(joint.len()).for_each(|_| ());
                    end = at + joint.len();
                }
                _ => break,
            }
        }
        runs.push(start..end);
    }
    runs
}

fn is_one_word(quoted: &str) -> bool {
    !quoted.is_empty() && !quoted.contains(char::is_whitespace)
}

/// What a run is; `after` follows it. None for what is no word (an apostrophe's letter, a lone underscore).
fn kind_of(run: &str, mut after: std::str::Chars<'_>, as_code: bool) -> Option<WordKind> {
    let lower = run.to_lowercase();
    if !run.contains(char::is_alphanumeric) {
        return None;
    }
    if run.starts_with(|c: char| c.is_numeric()) {
        let letters: String = lower.chars().filter(|c| c.is_alphabetic()).collect();
        return Some(match letters.as_str() {
            "" | "x" | "e" | "s" | "ms" | "px" => WordKind::Number,
            "st" | "nd" | "rd" | "th" => WordKind::Stop,
            _ => WordKind::Name,
        });
    }
    if let Some((stem, extension)) = lower.rsplit_once('.')
        && !stem.is_empty()
        && EXTENSIONS.contains(&extension)
        && (stem.len() > 1 || as_code)
    {
        return Some(WordKind::File);
    }
    let is_call = after.next() == Some('(') && !after.as_str().starts_with("s)") && !after.as_str().starts_with("es)");
    let n_upper = run.chars().filter(|c| c.is_uppercase()).count();
    let n_letters = run.chars().filter(|c| c.is_alphabetic()).count();
    let is_camel = run.chars().zip(run.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let is_acronym = n_letters >= 2 && n_upper == n_letters && !is_common(&lower) && !is_stop(&lower);
    let is_coded = run.contains(['_', '$', ':']) || is_camel || is_acronym || run.contains(|c: char| c.is_numeric());
    if is_stop(&lower) {
        return Some(match (as_code, lower.len()) {
            (true, 1) => WordKind::Name,
            (true, _) => WordKind::Common,
            (false, _) => WordKind::Stop,
        });
    }
    if is_coded || run.contains('.') || is_call || as_code {
        return Some(WordKind::Name);
    }
    Some(if is_common(&lower) { WordKind::Common } else { WordKind::Plain })
}

/// Quoted code: fences, backticks, quotes, whichever begins first.
fn snippets(text: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find(['`', '"', '\'']) {
        let start = at + offset;
        let rest = &text[start..];
        let snippet = if rest.starts_with("```") {
            fence(text, start)
        } else if rest.starts_with('`') {
            quotation(text, start, '`').map(|span| Snippet { span, mark: Mark::Backtick })
        } else {
            let mark = if rest.starts_with('"') { '"' } else { '\'' };
            quotation(text, start, mark).map(|span| Snippet { span, mark: Mark::Quote })
        };
        at = match snippet {
            Some(snippet) => {
                let behind = if snippet.mark == Mark::Fence { 3 } else { 1 };
                let end = (snippet.span.end + behind).min(text.len());
                found.push(snippet);
                end
            }
            None => start + 1,
        };
    }
    found
}

/// A block behind three backticks and perhaps the name of a language; it may lack its end.
fn fence(text: &str, start: usize) -> Option<Snippet> {
    let inside = start + 3;
    let line_end = text[inside..].find('\n').map(|n| inside + n);
    let body = match line_end {
        Some(end) if text[inside..end].trim().chars().all(char::is_alphanumeric) => end + 1,
        _ => inside,
    };
    let end = text[body..].find("```").map_or(text.len(), |n| body + n);
    (body < end).then_some(Snippet { span: body..end, mark: Mark::Fence })
}

/// What stands between two marks on one line. A single quote opens only where no word ends, and closes only where none goes on,
/// so that apostrophes are none.
fn quotation(text: &str, start: usize, mark: char) -> Option<Range<usize>> {
    let inside = start + 1;
    let opens = mark == '`' || !text[..start].chars().next_back().is_some_and(char::is_alphanumeric);
    if !opens {
        return None;
    }
    for (offset, c) in text[inside..].char_indices() {
        let end = inside + offset;
        let longest = if mark == '`' { 4 * LONGEST_QUOTE } else { LONGEST_QUOTE };
        if offset > longest || (c == '\n' && mark != '`') {
            return None;
        }
        if c == mark && (mark == '`' || !text[end + 1..].starts_with(char::is_alphanumeric)) {
            return (end > inside).then_some(inside..end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(&str, WordKind)> {
        Words::of_text(text).words.into_iter().map(|word| (&text[word.span], word.kind)).collect()
    }

    fn names(text: &str) -> Vec<&str> {
        kinds(text).into_iter().filter(|(_, kind)| kind.is_name()).map(|(word, _)| word).collect()
    }

    #[test]
    fn names_of_several_languages_are_told_from_prose() {
        assert_eq!(
            names("The getNodeAttributes function reads node.attributes[0]"),
            ["getNodeAttributes", "node.attributes", "0"]
        );
        assert_eq!(names("`vec` is moved into std::mem::swap, see src/lib.rs"), ["vec", "std::mem::swap", "lib.rs"]);
        assert_eq!(names("call foo() or $scope.apply, not bar(s)"), ["foo", "$scope.apply"]);
        assert_eq!(names("MAX_RETRIES is 42 and IAM uses utf8; the API is fine"), ["MAX_RETRIES", "42", "IAM", "utf8"]);
        assert_eq!(names("Use 'mime-type' and \"text/html\" as keys"), ["mime", "type", "text", "html"]);
        assert_eq!(names("don't use it's, the user's one, e.g. this"), [""; 0]);
        assert_eq!(names("line 81 exceeds 79 characters"), ["81", "79"]);
    }

    #[test]
    fn kinds_of_prose() {
        use WordKind::*;
        assert_eq!(
            kinds("The scratch variable is 1st"),
            [("The", Stop), ("scratch", Plain), ("variable", Common), ("is", Stop), ("1st", Stop)]
        );
        // a quoted phrase is prose, a quoted word is a name
        assert_eq!(names("it says \"new component with key\" and 'scratch'"), ["scratch"]);
    }

    #[test]
    fn quoted_code_has_its_bytes() {
        let text = "Use `a b`:\n```python\nx = 1\n```\nthen 'y' and \"z\"";
        let words = Words::of_text(text);
        let of =
            |mark| words.snippets.iter().filter(|s| s.mark == mark).map(|s| &text[s.span.clone()]).collect::<Vec<_>>();
        assert_eq!(of(Mark::Backtick), ["a b"]);
        assert_eq!(of(Mark::Fence), ["x = 1\n"]);
        assert_eq!(of(Mark::Quote), ["y", "z"]);
    }

    #[test]
    fn subwords_of_every_convention() {
        assert_eq!(subwords("getHTTPResponse_v2"), ["get", "http", "respons", "v", "2"]);
        assert_eq!(subwords("force_empty_list"), ["forc", "empty", "list"]);
        assert_eq!(subwords("plot.streams"), ["plot", "stream"]);
        assert_eq!(subwords("__init__"), ["init"]);
        assert_eq!(subwords("größeÄndern"), ["größe", "ändern"]);
        assert!(subwords("___").is_empty());
    }

    #[test]
    fn hostile_texts_end() {
        for text in ["`", "``", "```", "'''", "\"", "a.", "a::", ".::.", "`\n`", "é'é'é", "`é", "\u{0}\u{202e}x", "𝒳.y"]
        {
            let words = Words::of_text(text);
            words.words.iter().for_each(|word| assert!(!text[word.span.clone()].is_empty()));
            words.snippets.iter().for_each(|snippet| assert!(text.get(snippet.span.clone()).is_some()));
        }
        let long = "`a".repeat(20_000);
        assert!(!Words::of_text(&long).words.is_empty());
        assert!(!Words::of_text(&"'a ".repeat(20_000)).words.is_empty());
    }
}
