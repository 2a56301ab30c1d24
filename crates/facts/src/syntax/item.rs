//! One thing that stands in a piece of code.

use std::ops::Range;

/// What role a thing has in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ItemKind {
    /// A function or a method is defined; its parameters are items of their own with this one as scope.
    Function,
    /// A class, struct, enum, interface, trait or type is defined.
    Type,
    /// A parameter of a function; its value is the default.
    Parameter,
    /// A name gets a value: assignment, constant, keyword argument, key of an object or dictionary, field with an initial value,
    /// attribute of an element. The value is the code on the other side.
    Binding,
    /// A field or an enum's variant is declared without a value.
    Field,
    /// A function, method, macro or constructor is called; the value is the code of its arguments, without the parentheses.
    Call,
    /// What decides whether code runs: of `if`, `unless`, `while`, a ternary, a `match` arm's guard. The value is the condition's code,
    /// and the name is the keyword; `case` and `assert` among them. Its bytes are the keyword and the condition, without what it decides.
    Condition,
    /// What is given back; the value is its code.
    Return,
    /// An exception is thrown; the name is its type, the value its arguments. What makes it is a call as well.
    Raise,
    /// An exception is caught; the name is its type, empty for one that catches all. Its bytes hold the block.
    Catch,
    /// A module or a name is imported; the value is the module it comes from, where a name is imported out of one.
    Import,
    /// A lock or a resource is held for a block (`with`, `using`, `synchronized`, `try (…)`, `defer`); the value is its code. Its bytes
    /// hold the block.
    Resource,
    /// A number.
    Number,
    /// A string; the name is what is between the quotes.
    Text,
    /// `true`, `false`, or a nothing (`None`, `null`, `nil`, `undefined`).
    Constant,
    /// A comment or a documentation string; the name is its words without marks.
    Comment,
    /// A name is read or written without one of the roles above.
    Use,
}

/// One thing that stands in a piece of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its role.
    pub kind: ItemKind,
    /// Its name, the last part of a path: `Lock` of `threading.Lock()`. A literal's is its code.
    pub name: String,
    /// The whole path as it is written, without blanks: `threading.Lock`, `self._lock`, `std::fs::File`. The name where there is none.
    pub path: String,
    /// The code that belongs to it, by kind; blanks between its words are single.
    pub value: Option<String>,
    /// Its bytes in the side's text; of a definition the whole of it, body included.
    pub span: Range<usize>,
    /// 0-based line of the side's text in which its name stands.
    pub line: usize,
    /// Index of the innermost function or type around it.
    pub scope: Option<usize>,
    /// Indices of the conditions under which it runs, outermost first, with whether it is the branch in which the condition does
    /// not hold (`else`).
    pub guards: Vec<(usize, bool)>,
}
