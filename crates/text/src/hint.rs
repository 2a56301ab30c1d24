//! How an error can be mended, apart from what it says went wrong.

/// An error that may know what the reader can do next. Programs print it on a line of its own after the error and its causes.
///
/// ```
/// use veridiff_text::hint::Hint;
///
/// #[derive(Debug)]
/// enum Trouble {
///     NoFolder,
///     Cosmic,
/// }
///
/// impl Hint for Trouble {
///     fn hint(&self) -> Option<String> {
///         match self {
///             Trouble::NoFolder => Some("create the folder first".into()),
///             Trouble::Cosmic => None,
///         }
///     }
/// }
///
/// assert_eq!(Trouble::NoFolder.hint().as_deref(), Some("create the folder first"));
/// assert_eq!(Trouble::Cosmic.hint(), None);
/// ```
pub trait Hint {
    /// How to mend it, as a sentence without a capital letter and full stop; none where nothing better than the error itself
    /// can be said.
    fn hint(&self) -> Option<String>;
}
