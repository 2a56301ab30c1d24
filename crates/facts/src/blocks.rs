//! Blocks by indentation: under which conditions, and in which function, a line of one side stands.
//!
//! Indentation tells this in fragments too, which no grammar parses, and in every language that people indent.

mod heads;

use veridiff_text::diff::{Diff, LineKind};

use heads::{BEHIND, condition_of, scope_of};
pub use heads::{function_name, is_exit};

/// Guards of a line at most, those of the blocks around it before those of early exits above, of which generated code has thousands; more than
/// the lines over which a condition is looked for.
const MOST_GUARDS: usize = 48;

/// What kind of thing a scope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeKind {
    /// A function or a method.
    Function,
    /// A class, a struct, an interface and their like.
    Type,
    /// A test or a group of tests with a text for its name.
    Test,
}

/// Something with a name that has lines in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Its name, the last identifier of it.
    pub name: String,
    /// What it is.
    pub kind: ScopeKind,
}

/// A line of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideLine<'d> {
    /// Index in [`Diff::lines`].
    pub line: usize,
    /// Columns of white space before its code; a tab counts as four.
    pub indent: usize,
    /// Its code without white space around it.
    pub code: &'d str,
}

/// One side of a change, hunk by hunk.
#[derive(Debug, Default)]
pub struct Blocks<'d> {
    /// Its lines; blank ones are left out.
    pub lines: Vec<SideLine<'d>>,
    /// For each, the guards around it, innermost first.
    guards: Vec<Vec<Guard>>,
    /// For each, the scopes around it or opened on it, innermost first, as far as the change shows them.
    scopes: Vec<Vec<Scope>>,
    /// For each, whether the innermost function around it is known.
    known: Vec<bool>,
}

/// A condition that decides whether a line runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The condition's code.
    pub condition: String,
    /// Whether the line runs where the condition does not hold: an `else` branch, `unless`, or behind an early exit.
    pub negated: bool,
    /// Index in [`Diff::lines`] of the line with the condition.
    pub line: usize,
}

impl<'d> Blocks<'d> {
    /// The new side of a change.
    pub fn new_side(diff: &'d Diff) -> Self {
        Blocks::of(diff, LineKind::Removed)
    }

    /// The old side of a change.
    pub fn old_side(diff: &'d Diff) -> Self {
        Blocks::of(diff, LineKind::Added)
    }

    fn of(diff: &'d Diff, left_out: LineKind) -> Self {
        let mut blocks = Blocks::default();
        let mut hunk: Vec<SideLine<'d>> = Vec::new();
        let mut section = None;
        for (index, line) in diff.lines().iter().enumerate() {
            let text = diff.line_text(index);
            if line.kind == LineKind::Header {
                blocks.take(std::mem::take(&mut hunk), section);
                section =
                    text.strip_prefix("@@").and_then(|rest| rest.split_once("@@")).map(|(_, section)| section.trim());
            } else if line.kind != left_out {
                let code = text.get(1..).unwrap_or("");
                let trimmed = code.trim();
                if !trimmed.is_empty() {
                    let white = &code[..code.len() - code.trim_start().len()];
                    let indent = white.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
                    hunk.push(SideLine { line: index, indent, code: trimmed });
                }
            }
        }
        blocks.take(hunk, section);
        blocks
    }

    /// Works out the blocks of a hunk.
    fn take(&mut self, hunk: Vec<SideLine<'d>>, section: Option<&str>) {
        let mut section = section.and_then(scope_of);
        // open blocks, outermost first: indentation, what guards what is inside, the scope
        let mut open: Vec<(usize, Option<Guard>, Option<Scope>)> = Vec::new();
        // conditions whose block was left, by indentation, for `else` and behind early exits
        let mut closed: Vec<(usize, Guard, bool)> = Vec::new();
        for index in 0..hunk.len() {
            let SideLine { line, indent, code } = hunk[index].clone();
            // the header's code stands at the margin, so what stands there too is not in it
            if indent == 0 && !code.starts_with(['{', '#', '/', '*']) && !code.ends_with(':') {
                section = None;
            }
            let is_closing = code.starts_with(['}', ')', ']']);
            // a brace on a line of its own opens the block of the head above it
            let is_brace = code == "{"
                && open.last().is_some_and(|(at, guard, scope)| *at == indent && (guard.is_some() || scope.is_some()));
            while open.last().is_some_and(|(at, ..)| *at >= indent) && !is_brace {
                let (at, guard, _) = open.pop().expect("checked");
                if let Some(guard) = guard {
                    let exits = exits(&hunk, index, at);
                    closed.retain(|(other, _, exits)| *other < at || (*other == at && *exits));
                    closed.push((at, guard, exits));
                }
            }
            closed.retain(|(at, ..)| *at <= indent);
            let is_else = code.trim_start_matches(['}', ' ']).starts_with("else")
                || code.starts_with("elif")
                || code.starts_with("elsif");
            // behind `if …: return` the condition does not hold
            let behind = closed.iter().rev().filter(|(_, _, exits)| *exits && !is_else);
            let behind = behind.map(|(_, guard, _)| Guard { negated: !guard.negated, ..guard.clone() });
            let around: Vec<Guard> =
                open.iter().rev().filter_map(|(_, guard, _)| guard.clone()).take(MOST_GUARDS).collect();
            let mut guards: Vec<Guard> = behind.take(MOST_GUARDS - around.len()).collect();
            guards.extend(around);
            let condition = condition_of(code);
            if let Some((mut guard, inline)) = condition.clone() {
                guard.line = line;
                if let Some(inline) = inline {
                    // `if (x) return;` on a line of its own
                    guards.insert(0, guard.clone());
                    closed.retain(|(at, _, exits)| *at < indent || (*at == indent && *exits));
                    closed.push((indent, guard, is_exit(&inline)));
                } else {
                    open.push((indent, Some(guard), None));
                }
            } else if is_else {
                let before = closed.iter().rev().find(|(at, ..)| *at == indent).map(|(_, guard, _)| guard.clone());
                let guard = before.map(|guard| Guard { negated: !guard.negated, ..guard });
                open.push((indent, guard, None));
            } else if let Some(scope) = scope_of(code) {
                closed.clear();
                open.push((indent, None, Some(scope)));
            } else if !is_closing && hunk.get(index + 1).is_some_and(|next| next.indent > indent) {
                open.push((indent, None, None));
            }
            if let Some(captures) = BEHIND.captures(code).filter(|_| condition.is_none()) {
                let negated = &captures["keyword"] == "unless";
                guards.insert(0, Guard { condition: captures["rest"].to_owned(), negated, line });
            }
            let mut scopes: Vec<Scope> = open.iter().rev().filter_map(|(_, _, scope)| scope.clone()).collect();
            let is_function = |scope: &Scope| scope.kind != ScopeKind::Type;
            let known = indent == 0 || !scopes.is_empty() || section.as_ref().is_some_and(is_function);
            scopes.extend(section.clone());
            self.lines.push(hunk[index].clone());
            self.guards.push(guards);
            self.scopes.push(scopes);
            self.known.push(known);
        }
    }

    fn place(&self, line: usize) -> Option<usize> {
        self.lines.binary_search_by_key(&line, |side| side.line).ok()
    }

    /// The guards around a line of the diff, innermost first.
    pub fn guards(&self, line: usize) -> &[Guard] {
        self.place(line).map_or(&[], |place| &self.guards[place])
    }

    /// The scopes around a line of the diff, or opened on it, innermost first; `None` where the change does not show the innermost one.
    pub fn scopes(&self, line: usize) -> Option<&[Scope]> {
        let place = self.place(line)?;
        self.known[place].then(|| &self.scopes[place][..])
    }

    /// The scopes around a line of the diff as far as the change shows them, innermost first.
    pub fn around(&self, line: usize) -> &[Scope] {
        self.place(line).map_or(&[], |place| &self.scopes[place])
    }

    /// Whether a scope of this name is around a line, as far as the change shows it.
    pub fn is_in(&self, line: usize, name: &str) -> bool {
        self.place(line).is_some_and(|place| self.scopes[place].iter().any(|scope| scope.name == name))
    }

    /// Every scope that a line of this side is in, once, in order.
    pub fn all_scopes(&self) -> Vec<&Scope> {
        let mut all: Vec<&Scope> = Vec::new();
        for scope in self.scopes.iter().flatten() {
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        all
    }

    /// Every condition with the index of its line in the diff.
    pub fn conditions(&self) -> Vec<Guard> {
        let of = |side: &SideLine<'_>| {
            let (mut guard, _) = condition_of(side.code)?;
            guard.line = side.line;
            Some(guard)
        };
        self.lines.iter().filter_map(of).collect()
    }

    /// Whether a condition stands in the same hunk as a line and does not guard it: the line is no deeper than it and not in it.
    pub fn is_beside(&self, condition: usize, line: usize) -> bool {
        let (Some(a), Some(b)) = (self.place(condition), self.place(line)) else { return false };
        let between = &self.lines[a.min(b)..=a.max(b)];
        let is_whole = between.windows(2).all(|pair| pair[1].line - pair[0].line < 12) && between.len() < 40;
        is_whole && self.lines[b].indent <= self.lines[a].indent
    }

    /// The lines of the block that the line of the diff opens.
    pub fn block(&self, line: usize) -> &[SideLine<'d>] {
        let Some(place) = self.place(line) else { return &[] };
        let indent = self.lines[place].indent;
        let inside = self.lines[place + 1..].iter().take_while(|side| side.indent > indent).count();
        &self.lines[place + 1..place + 1 + inside]
    }
}

/// Whether the block that ended before `index` and was opened at `indent` is left by its last line.
fn exits(hunk: &[SideLine<'_>], index: usize, indent: usize) -> bool {
    hunk[..index].iter().rev().find(|side| side.indent > indent).is_some_and(|side| {
        // a call over several lines may be what is thrown
        is_exit(side.code)
            || hunk[..index]
                .iter()
                .rev()
                .take_while(|other| other.indent > indent)
                .take(6)
                .any(|other| is_exit(other.code) && other.indent < side.indent)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guards(diff: &str, code: &str) -> Vec<(String, bool)> {
        let diff = Diff::parse(diff).unwrap();
        let blocks = Blocks::new_side(&diff);
        let line = blocks.lines.iter().find(|side| side.code == code).unwrap().line;
        blocks.guards(line).iter().map(|guard| (guard.condition.clone(), guard.negated)).collect()
    }

    #[test]
    fn indentation_tells_under_which_conditions_a_line_runs() {
        let python = "@@ -1,3 +1,14 @@ def outer(x):\n     if x is None:\n+        raise ValueError(x)\n+    if not y:\n+        a()\n+    elif z:\n+        b()\n+    else:\n+        for i in y:\n+            c()\n+    d()\n";
        let diff = python.replace("@@ -1,3 +1,14 @@", "@@ @@");
        let is = |code: &str| guards(&diff, code);
        let of = |list: &[(&str, bool)]| list.iter().map(|(c, n)| ((*c).to_owned(), *n)).collect::<Vec<_>>();
        assert_eq!(is("raise ValueError(x)"), of(&[("x is None", false)]));
        assert_eq!(is("a()"), of(&[("x is None", true), ("not y", false)]));
        assert_eq!(is("b()"), of(&[("x is None", true), ("z", false)]));
        assert_eq!(is("c()"), of(&[("x is None", true), ("z", true)]));
        assert_eq!(is("d()"), of(&[("x is None", true)]));
        let blocks = Diff::parse(&diff).unwrap();
        let names =
            |diff: &Diff| Blocks::new_side(diff).all_scopes().iter().map(|s| s.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&blocks), ["outer"]);
    }

    #[test]
    fn of_a_thousand_early_exits_the_nearest_are_kept_and_the_block_around() {
        let lines: String = (0..1000).map(|n| format!("+  if (a{n}) return;\n")).collect();
        let diff = Diff::parse(&format!("@@ -0,0 +1,1003 @@\n+if (b) {{\n{lines}+  go();\n+}}\n")).unwrap();
        let blocks = Blocks::new_side(&diff);
        let all: Vec<&str> =
            blocks.guards(blocks.lines[1001].line).iter().map(|guard| guard.condition.as_str()).collect();
        assert_eq!((all.len(), all[0], all[46], all[47]), (MOST_GUARDS, "a999", "a953", "b"));
    }

    #[test]
    fn braces_and_short_forms() {
        let diff = "@@ @@\n function run(a) {\n+  if (!a || (b && c)) return;\n+  if (d) {\n+    go();\n+  } else {\n+    stay();\n+  }\n+  x = 1 if y\n }\n+static int size(const ring *r)\n+{\n+    return r->n;\n+}\n";
        let of = |list: &[(&str, bool)]| list.iter().map(|(c, n)| ((*c).to_owned(), *n)).collect::<Vec<_>>();
        assert_eq!(guards(diff, "go();"), of(&[("!a || (b && c)", true), ("d", false)]));
        assert_eq!(guards(diff, "stay();"), of(&[("!a || (b && c)", true), ("d", true)]));
        assert_eq!(guards(diff, "x = 1 if y"), of(&[("y", false), ("!a || (b && c)", true)]));
        let diff = Diff::parse(diff).unwrap();
        let blocks = Blocks::new_side(&diff);
        assert_eq!(blocks.all_scopes().iter().map(|s| &s.name[..]).collect::<Vec<_>>(), ["run", "size"]);
        assert_eq!(blocks.conditions().len(), 2);
        let line = blocks.lines.iter().find(|side| side.code == "return r->n;").unwrap().line;
        assert!(blocks.is_in(line, "size"), "behind a brace on a line of its own");
    }
}
