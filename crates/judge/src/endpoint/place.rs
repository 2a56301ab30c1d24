//! Which bytes of a text each token is that a server says it has read.
//!
//! Servers show tokens as text. One that is a piece of a letter has none: it shows as U+FFFD, or as nothing. So a token may stand for
//! one of several stretches of bytes. All ways in which the tokens together are the whole text are followed, and where these do not
//! agree on the border between prompt and text there is no answer.

use std::{collections::BTreeSet, fmt, ops::Range};

/// Most bytes of a letter that one piece of it hides.
const MOST_HIDDEN: usize = 3;

/// Most bytes of a token that is not told. A server that has cut off the beginning of a long prompt leaves out more.
const MOST_UNTOLD: usize = 64;

/// How a server shows pieces of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pieces {
    /// Each as U+FFFD.
    Replaced,
    /// Not at all.
    LeftOut,
}

/// A token as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'a> {
    /// As text.
    Text(&'a str),
    /// It marks the beginning of all and is no part of it.
    Beginning,
    /// It is the first, of which some servers tell nothing: a mark of the beginning, or some bytes.
    Untold,
}

/// Where the tokens of prompt and text stand.
#[derive(Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which tokens are the text's.
    pub text: Range<usize>,
    /// How many bytes each of the tokens of prompt and text is.
    pub n_bytes: Vec<usize>,
}

/// Why tokens cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotPlaced {
    /// From this byte on they are those of another text.
    Another(usize),
    /// They end before the text does.
    EndsBefore,
    /// More of them follow the text than were asked for.
    GoesOn,
    /// One of them is of both prompt and text.
    Across,
    /// They can be read in several ways, with borders that differ.
    Unclear,
}

impl fmt::Display for NotPlaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotPlaced::Another(byte) => write!(f, "the echoed tokens are not those of the text from byte {byte} on"),
            NotPlaced::EndsBefore => f.write_str("the echo ends before the text"),
            NotPlaced::GoesOn => f.write_str("the echo goes on behind the text"),
            NotPlaced::Across => {
                f.write_str("a token lies across the end of the prompt, so its probability is of both")
            }
            NotPlaced::Unclear => f.write_str("the echoed tokens do not tell where the prompt ends"),
        }
    }
}

/// Places tokens on a prompt and the text behind it; at most `n_written` more follow.
///
/// # Errors
/// They are not the tokens of both, or no token begins where the text does.
pub fn place(shown: &[Shown<'_>], prompt: &str, text: &str, n_written: usize) -> Result<Placed, NotPlaced> {
    let whole = [prompt, text].concat();
    let of = |pieces| place_by(pieces, shown, whole.as_bytes(), prompt.len(), n_written);
    let hides =
        !whole.is_ascii() && shown.iter().all(|token| !matches!(token, Shown::Text(t) if t.contains('\u{fffd}')));
    of(Pieces::Replaced).or_else(|why| if hides { of(Pieces::LeftOut).map_err(|_| why) } else { Err(why) })
}

fn place_by(
    pieces: Pieces,
    shown: &[Shown<'_>],
    whole: &[u8],
    border: usize,
    n_written: usize,
) -> Result<Placed, NotPlaced> {
    let mut reached = vec![BTreeSet::from([0])];
    for token in shown {
        let from = reached.last().expect("there is always one");
        let to: BTreeSet<usize> = from.iter().flat_map(|&at| ends(*token, pieces, whole, at)).collect();
        if to.is_empty() {
            break;
        }
        reached.push(to);
    }
    let is_whole = |n: usize| reached.get(n).is_some_and(|places| places.contains(&whole.len()));
    let Some(n) = (shown.len().saturating_sub(n_written)..=shown.len()).find(|n| is_whole(*n)) else {
        let furthest = reached.last().and_then(|places| places.last().copied()).unwrap_or(0);
        return Err(match () {
            () if reached.len() > shown.len() => NotPlaced::EndsBefore,
            // a first token that is not told can be all of it
            () if reached.iter().skip(2).any(|places| places.contains(&whole.len())) => NotPlaced::GoesOn,
            () => NotPlaced::Another(furthest),
        });
    };
    // what does not lead to the end was no way
    let mut left = BTreeSet::from([whole.len()]);
    let mut kept = vec![left.clone()];
    for (token, places) in shown[..n].iter().zip(&reached).rev() {
        let leads = |at: &usize| ends(*token, pieces, whole, *at).any(|end| left.contains(&end));
        left = places.iter().copied().filter(leads).collect();
        kept.push(left.clone());
    }
    kept.reverse();
    let mut borders = (0..=n).filter(|i| kept[*i].contains(&border));
    let first = match (borders.next(), borders.next()) {
        (Some(first), None) if kept[first].len() == 1 => first,
        (None, _) => return Err(NotPlaced::Across),
        _ => return Err(NotPlaced::Unclear),
    };
    let mut at = kept[0].first().copied().unwrap_or(0);
    let mut n_bytes = Vec::with_capacity(n);
    for (i, token) in shown[..n].iter().enumerate() {
        let end = ends(*token, pieces, whole, at).filter(|end| kept[i + 1].contains(end)).min().unwrap_or(at);
        n_bytes.push(end - at);
        at = end;
    }
    Ok(Placed { text: first..n, n_bytes })
}

/// Where a token can end that begins at a byte.
fn ends<'a>(token: Shown<'a>, pieces: Pieces, whole: &'a [u8], from: usize) -> impl Iterator<Item = usize> + use<'a> {
    let hidden = |at: usize, least: usize| {
        let n = whole[at..].iter().take(MOST_HIDDEN).take_while(|byte| !byte.is_ascii()).count();
        (least..=n).map(move |n| at + n)
    };
    let mut at = BTreeSet::from([from]);
    let text = match token {
        Shown::Text(text) => text,
        Shown::Beginning => return at.into_iter(),
        Shown::Untold => {
            at.extend(from..=whole.len().min(from + MOST_UNTOLD));
            return at.into_iter();
        }
    };
    if pieces == Pieces::LeftOut {
        at = at.into_iter().flat_map(|at| hidden(at, 0)).collect();
    }
    for (i, letters) in text.split('\u{fffd}').enumerate() {
        if i > 0 {
            at = at.into_iter().flat_map(|at| hidden(at, 1)).collect();
        }
        at = at
            .into_iter()
            .filter(|at| whole[*at..].starts_with(letters.as_bytes()))
            .map(|at| at + letters.len())
            .collect();
    }
    if from == 0 {
        // a blank that some tokenizers put before a text
        at.extend(text.strip_prefix(' ').filter(|rest| whole.starts_with(rest.as_bytes())).map(str::len));
    }
    if pieces == Pieces::LeftOut {
        at = at.into_iter().flat_map(|at| hidden(at, 0)).collect();
    }
    at.into_iter()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn placed(tokens: &[&str], prompt: &str, text: &str) -> Result<Placed, NotPlaced> {
        let shown: Vec<Shown<'_>> = tokens.iter().map(|text| Shown::Text(text)).collect();
        place(&shown, prompt, text, 1)
    }

    #[test]
    fn the_texts_tokens_are_those_behind_the_prompt() {
        let both = Placed { text: 2..4, n_bytes: vec![1, 2, 1, 2] };
        assert_eq!(placed(&["a", "b ", "c", " d", "extra"], "ab ", "c d"), Ok(both));
        for (tokens, why) in [
            (&["ab c", " d"][..], NotPlaced::Across),
            (&["a", "b "], NotPlaced::EndsBefore),
            (&["a", "x"], NotPlaced::Another(1)),
            (&["a", "b ", "c d", "and", "more"], NotPlaced::GoesOn),
            (&["extra"], NotPlaced::Another(0)),
            (&[], NotPlaced::EndsBefore),
            (&["a", "b", "c", " d"], NotPlaced::Another(2)),
        ] {
            assert_eq!(placed(tokens, "ab ", "c d"), Err(why), "{tokens:?}");
        }
    }

    #[test]
    fn pieces_of_letters_are_placed_however_they_are_shown() {
        // é is two tokens, € three, in the text and in the prompt
        let replaced =
            placed(&["\u{fffd}", "\u{fffd}", ":", " \u{fffd}", "\u{fffd}", "\u{fffd}!", "x"], "é:", " €!").unwrap();
        assert_eq!((replaced.text, replaced.n_bytes.iter().sum::<usize>()), (3..6, 8));
        let left_out = placed(&["", "", ":", " ", "", "!", ""], "é:", " €!").unwrap();
        assert_eq!((left_out.text, left_out.n_bytes.iter().sum::<usize>()), (3..6, 8));
        // whole letters among pieces
        assert_eq!(placed(&["\u{fffd}", "\u{fffd}", "é", "é", "\n", "é"], "ééé\n", "é").unwrap().text, 5..6);
        // a letter that is really U+FFFD
        assert_eq!(placed(&["\u{fffd}", "\n", "a"], "\u{fffd}\n", "a").unwrap().text, 2..3);
        // the pieces of a letter that prompt and text share
        assert_eq!(placed(&["\u{fffd}", "\u{fffd}", "\u{fffd}"], "é", "é"), Err(NotPlaced::Unclear));
    }

    #[test]
    fn what_stands_before_all_is_no_part_of_it() {
        let [start, a, b] = [Shown::Text("<s>"), Shown::Text("a"), Shown::Text("b")];
        for before in [Shown::Beginning, Shown::Untold] {
            let behind = Placed { text: 2..3, n_bytes: vec![0, 1, 1] };
            assert_eq!(place(&[before, a, b], "a", "b", 0), Ok(behind));
        }
        assert_eq!(place(&[Shown::Untold, b], "a", "b", 0), Ok(Placed { text: 1..2, n_bytes: vec![1, 1] }));
        assert_eq!(place(&[Shown::Beginning, b], "a", "b", 0), Err(NotPlaced::Another(0)));
        assert_eq!(place(&[start, a, b], "a", "b", 0), Err(NotPlaced::Another(0)));
        // a prompt whose beginning was cut off is another prompt
        let long = "a".repeat(100);
        assert_eq!(place(&[Shown::Untold, a, b], &long, "b", 0), Err(NotPlaced::Another(65)));
        assert_eq!(placed(&[" a", "b"], "a", "b").unwrap().n_bytes, [1, 1]);
    }

    proptest! {
        /// Whatever the cuts are, pieces of letters among them, the tokens are found again where they were cut.
        #[test]
        fn any_cut_is_found_again(text in "[a\n é€😀]{1,12}", cuts in prop::collection::btree_set(0usize..40, 0..12)) {
            let prompt = "Output:\n";
            let bytes = text.as_bytes();
            let mut at: Vec<usize> = cuts.into_iter().filter(|cut| *cut > 0 && *cut < bytes.len()).collect();
            at.insert(0, 0);
            at.push(bytes.len());
            let tokens: Vec<String> =
                at.windows(2).map(|cut| String::from_utf8_lossy(&bytes[cut[0]..cut[1]]).into_owned()).collect();
            let shown: Vec<Shown<'_>> =
                [Shown::Text("Output"), Shown::Text(":\n")].into_iter().chain(tokens.iter().map(|t| Shown::Text(t))).collect();
            let placed = place(&shown, prompt, &text, 0);
            prop_assert_eq!(placed.map(|placed| placed.text), Ok(2..2 + tokens.len()));
        }
    }
}
