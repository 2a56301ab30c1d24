//! Choices that a person makes by name, and what was probably meant by a name that none has.

/// The name that a slip of the fingers may have made `name` of, case aside: a letter in three may differ; the first of those that are
/// as near. A name of one or two letters is no slip of any other.
///
/// ```
/// use veridiff_text::choice::nearest;
///
/// let known = ["entropy", "logprob", "uncertainty"];
/// assert_eq!(nearest("uncertanty", known), Some("uncertainty"));
/// assert_eq!(nearest("LogProbs", known), Some("logprob"));
/// assert_eq!(nearest("speed", known), None);
/// assert_eq!(nearest("x", ["a", "b"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let bound = (wanted.chars().count() / 3).min(4);
    let distance = |known: &str| strsim::osa_distance(&wanted, &known.to_lowercase());
    let near = known.into_iter().map(|known| (distance(known), known)).filter(|(distance, _)| *distance <= bound);
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// The hint that goes with it.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, known).map(|known| format!("did you mean `{known}`?"))
}

/// Whether a name is one that a pattern stands for, in which `*` is any run of characters. It takes time in proportion to both, whatever
/// a stranger sends.
///
/// ```
/// use veridiff_text::choice::matches;
///
/// assert!(matches("attr_*@smol", "attr_source@smol") && matches("*", "") && matches("*é*", "caféx") && matches("a", "a"));
/// assert!(matches("a*b*b", "abb") && !matches("a*b*b", "ab") && !matches("ab*ba", "aba"));
/// assert!(!matches("attr_*", "logprob") && !matches("a", "ab") && !matches("*b", "abc"));
/// assert!(!matches(&("*".repeat(100_000) + "Z"), "contrast_context_explained"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(name) = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail)) else { return false };
    // the first place of each piece leaves the most for those behind it
    middle.split('*').try_fold(name, |name, piece| name.split_once(piece).map(|(_, rest)| rest)).is_some()
}

/// Names for the variants of a choice, as a user types them: every choice that the program parses by name has them from here.
///
/// A crate such as strum would derive the same, but its error knows neither what was asked for nor which names there are, so each
/// choice would need a function of its own for that, beside an attribute for every name that is not its variant's.
#[macro_export]
macro_rules! named {
    ($type:ty, $what:literal, $($name:literal => $variant:ident),+) => {
        impl $type {
            /// Every name a user can type, in the order of the documentation.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name by which a user chooses this one.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(s: &str) -> std::result::Result<Self, String> {
                match s {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(format!(concat!("unknown ", $what, " `{}`; one of {}"), s, Self::NAMES.join(", "))),
                }
            }
        }
    };
}
