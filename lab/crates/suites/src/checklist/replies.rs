//! A judge's reply becomes a verdict or an error, never a guess.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{ItemVerdict, PassageVerdict, passages::without_fence};
use crate::ask::object;

/// Most points of a list, and most letters of one.
const MAX_ITEMS: usize = 64;
const MAX_LETTERS: usize = 500;

/// A count, and whether other words stood around it. A clean case is counted 0 or 1.
///
/// # Errors
/// What is wrong with the reply.
pub fn count(reply: &str, is_clean: bool) -> Result<(u64, bool), String> {
    let text = without_fence(reply).trim().trim_matches('*').trim();
    let (count, loose) = match text.parse::<u64>() {
        Ok(count) => (count, false),
        Err(_) => {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '/' | '%');
            let words = text.split(|c: char| !is_part(c)).map(|word| word.trim_matches('.'));
            let numbers: Vec<&str> = words.filter(|word| word.contains(|c: char| c.is_ascii_digit())).collect();
            match numbers.as_slice() {
                [only] => (only.parse().map_err(|_| format!("`{only}` is no count"))?, true),
                [] => return Err("the reply has no number".to_owned()),
                several => return Err(format!("the reply has {} numbers", several.len())),
            }
        }
    };
    if is_clean && count > 1 {
        return Err(format!("of a clean case the count is 0 or 1, got {count}"));
    }
    Ok((count, loose))
}

/// The entries `1..=n` of a list under a key, each once.
fn numbered<T: for<'de> Deserialize<'de>>(reply: &str, key: &str, n: usize) -> Result<Vec<T>, String> {
    #[derive(Deserialize)]
    struct Numbered {
        n: usize,
    }
    let mut object: Value = object(reply)?;
    let entries = match object.get_mut(key).map(Value::take) {
        Some(Value::Array(entries)) => entries,
        _ => return Err(format!("the reply has no list `{key}`")),
    };
    let mut by_number = BTreeMap::new();
    for entry in entries {
        let Numbered { n: number } =
            Numbered::deserialize(&entry).map_err(|error| format!("an entry of `{key}`: {error}"))?;
        if number == 0 || number > n {
            return Err(format!("`{key}` has a number {number}, expected 1 to {n}"));
        }
        let entry: T = serde_json::from_value(entry).map_err(|error| format!("entry {number} of `{key}`: {error}"))?;
        if by_number.insert(number, entry).is_some() {
            return Err(format!("`{key}` has number {number} twice"));
        }
    }
    match (1..=n).find(|number| !by_number.contains_key(number)) {
        Some(missing) => Err(format!("`{key}` lacks number {missing}")),
        None => Ok(by_number.into_values().collect()),
    }
}

/// A verdict of an item, with the words that show it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ItemReply {
    /// What the judge says.
    pub verdict: ItemVerdict,
    /// Words of the review.
    #[serde(default)]
    pub quote: Option<String>,
}

/// A verdict of a passage, with the line that bears it out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PassageReply {
    /// What the judge says.
    pub verdict: PassageVerdict,
    /// A line of the code.
    #[serde(default)]
    pub code: Option<String>,
}

/// The verdicts of `n` items.
///
/// # Errors
/// What is wrong with the reply; an item that it lacks is an error and never absent.
pub fn items(reply: &str, n: usize) -> Result<Vec<ItemReply>, String> {
    numbered(reply, "items", n)
}

/// The verdicts of `n` passages.
///
/// # Errors
/// What is wrong with the reply.
pub fn passages(reply: &str, n: usize) -> Result<Vec<PassageReply>, String> {
    numbered(reply, "passages", n)
}

/// A list of points as models write them: JSON, Python's quotes, or lines with numbers or bullets. Points that are the same but for
/// case and blanks are one.
///
/// # Errors
/// There is no point in it, or something that is none.
pub fn list(reply: &str) -> Result<Vec<String>, String> {
    let text = without_fence(reply).trim();
    let strings = match serde_json::from_str::<Vec<String>>(text) {
        Ok(strings) => strings,
        Err(_) if text.starts_with('[') => python_list(text).ok_or("the reply is no list of strings")?,
        Err(_) => lines(text),
    };
    let mut seen = std::collections::BTreeSet::new();
    let fold = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let points = strings.into_iter().map(|point| point.trim().to_owned()).filter(|point| !point.is_empty());
    let mut points: Vec<String> = points.filter(|point| seen.insert(fold(point))).collect();
    if points.is_empty() {
        return Err("the reply has no point".to_owned());
    }
    if let Some(long) = points.iter().find(|point| point.chars().count() > MAX_LETTERS) {
        return Err(format!("a point has {} letters, expected at most {MAX_LETTERS}", long.chars().count()));
    }
    points.truncate(MAX_ITEMS);
    Ok(points)
}

/// `["a", 'b']`, each string in either quotes, with backslashes before quotes.
fn python_list(text: &str) -> Option<Vec<String>> {
    let mut rest = text.strip_prefix('[')?.trim_start();
    let mut found = Vec::new();
    while !rest.starts_with(']') {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (mut string, mut end, mut is_escaped) = (String::new(), None, false);
        for (at, c) in rest.char_indices().skip(1) {
            match c {
                _ if is_escaped => {
                    string.push(if c == 'n' { '\n' } else { c });
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                c if c == quote => {
                    end = Some(at + 1);
                    break;
                }
                c => string.push(c),
            }
        }
        found.push(string);
        rest = rest[end?..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    rest[1..].trim().is_empty().then_some(found)
}

/// Lines without their numbers and bullets.
fn lines(text: &str) -> Vec<String> {
    let bare = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', '•']).trim_start();
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let behind = line[digits..].strip_prefix(['.', ')']);
        match behind {
            Some(rest) if digits > 0 => rest.trim().to_owned(),
            _ => line.to_owned(),
        }
    };
    text.lines().map(bare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_one_number_and_of_a_clean_case_no_more_than_one() {
        for (reply, want) in [
            ("3", Ok((3, false))),
            (" **2** ", Ok((2, false))),
            ("```\n4\n```", Ok((4, false))),
            ("The count is 3.", Ok((3, true))),
            ("9", Ok((9, false))),
        ] {
            assert_eq!(count(reply, false), want, "{reply}");
        }
        for (reply, is_clean, says) in [
            ("", false, "no number"),
            ("2 of 3", false, "2 numbers"),
            ("1.5", false, "no count"),
            ("2/3", false, "no count"),
            ("2", true, "0 or 1"),
            ("-1", false, "no count"),
        ] {
            assert!(count(reply, is_clean).unwrap_err().contains(says), "{reply}: {:?}", count(reply, is_clean));
        }
    }

    #[test]
    fn every_item_is_there_once() {
        let good = "Sure:\n{\"items\":[{\"n\":2,\"verdict\":\"absent\"},{\"n\":1,\"verdict\":\"asked\",\"quote\":\"a b c\"}]} done";
        let got = items(good, 2).unwrap();
        assert_eq!(got[0], ItemReply { verdict: ItemVerdict::Asked, quote: Some("a b c".into()) });
        assert_eq!(got[1].verdict, ItemVerdict::Absent);
        for (bad, says) in [
            ("none", "no JSON object"),
            ("{\"items\":3}", "no list"),
            ("{\"items\":[{\"n\":1,\"verdict\":\"asked\"}]}", "lacks number 2"),
            ("{\"items\":[{\"n\":3,\"verdict\":\"asked\"}]}", "expected 1 to 2"),
            ("{\"items\":[{\"n\":1,\"verdict\":\"asked\"},{\"n\":1,\"verdict\":\"asked\"}]}", "twice"),
            ("{\"items\":[{\"n\":1,\"verdict\":\"yes\"},{\"n\":2,\"verdict\":\"asked\"}]}", "entry 1"),
            ("{\"items\":[{\"verdict\":\"asked\"}]}", "entry of"),
        ] {
            assert!(items(bad, 2).unwrap_err().contains(says), "{bad}: {:?}", items(bad, 2));
        }
        assert_eq!(passages("{\"passages\":[]}", 0).unwrap(), []);
        let deep = "{\"items\":".to_owned() + &"[".repeat(100_000);
        assert!(items(&deep, 1).is_err(), "no stack is deep enough");
    }

    #[test]
    fn lists_are_read_as_models_write_them() {
        for text in [
            "[\"Rename a\", \"Add b\"]",
            "```python\n['Rename a', \"Add b\",]\n```",
            "1. Rename a\n2. Add b\n2. add  B",
            "- Rename a\n* Add b\n",
        ] {
            assert_eq!(list(text).unwrap(), ["Rename a", "Add b"], "{text}");
        }
        assert_eq!(list("['it\\'s', 'b']").unwrap(), ["it's", "b"]);
        for bad in ["", "[]", "['a'", "[1, 2]", &"x".repeat(501)] {
            assert!(list(bad).is_err(), "{bad}");
        }
    }
}
