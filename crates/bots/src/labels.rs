//! What people said of comments, as labelled samples, of which `score` makes the table that `fit` takes.

use serde_json::{Map, Value, json};

use crate::store::{Feedback, Told};

/// What a person writes below a comment to say whether it is true.
const WORD: &str = "veridiff:";

/// What a reply says of the comment above it.
pub(crate) fn said(reply: &str) -> Option<&'static str> {
    let rest = reply.trim().to_ascii_lowercase();
    let rest = rest.strip_prefix(WORD)?.trim_start().to_owned();
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    ["true", "false"].into_iter().find(|known| *known == word)
}

/// How often each was said: for `false`, for `true`.
#[derive(Debug, Default)]
struct Counted {
    page: (u64, u64),
    replies: (u64, u64),
    thumbs: (u64, u64),
    is_resolved: Option<bool>,
}

impl Counted {
    fn of(feedback: &[Feedback]) -> Counted {
        let mut counted = Counted::default();
        for Feedback { kind, value, .. } in feedback {
            let (up, down) = value.split_once(' ').unwrap_or_default();
            let (up, down): (u64, u64) = (up.parse().unwrap_or(0), down.parse().unwrap_or(0));
            match (*kind, value.as_str()) {
                ("page", "false") => counted.page.0 += 1,
                ("page", "true") => counted.page.1 += 1,
                ("reply", "false") => counted.replies.0 += 1,
                ("reply", "true") => counted.replies.1 += 1,
                ("thumbs", _) => counted.thumbs = (counted.thumbs.0 + down, counted.thumbs.1 + up),
                // who likes our objection finds the comment false
                ("answer_thumbs", _) => counted.thumbs = (counted.thumbs.0 + up, counted.thumbs.1 + down),
                ("thumb", "down") => counted.thumbs.0 += 1,
                ("thumb", "up") => counted.thumbs.1 += 1,
                ("resolved", value) => counted.is_resolved = Some(value == "yes"),
                _ => {}
            }
        }
        counted
    }

    /// The label and what it comes from: what was said on the page, with the change before one's eyes, before words below the comment,
    /// words before thumbs, thumbs before what was resolved. None where both sides are as many.
    fn label(&self, resolved_is: Option<u8>) -> Option<(u8, &'static str)> {
        let more = |(against, for_): (u64, u64)| (against != for_).then_some(u8::from(against > for_));
        if self.page != (0, 0) {
            return more(self.page).map(|label| (label, "page"));
        }
        if self.replies != (0, 0) {
            return more(self.replies).map(|label| (label, "reply"));
        }
        if self.thumbs != (0, 0) {
            return more(self.thumbs).map(|label| (label, "thumbs"));
        }
        self.is_resolved.filter(|is| *is).and(resolved_is).map(|label| (label, "resolved"))
    }
}

/// What people say of a comment: 1 for false, 0 for true, and what that comes from.
pub(crate) fn label(feedback: &[Feedback], resolved_is: Option<u8>) -> Option<(u8, &'static str)> {
    Counted::of(feedback).label(resolved_is)
}

/// A comment as a sample, if anybody said whether it is true.
pub(crate) fn sample(told: &Told, resolved_is: Option<u8>) -> Option<Value> {
    let Told { platform, repository, judged, feedback } = told;
    let counted = Counted::of(feedback);
    let (label, from) = counted.label(resolved_is)?;
    let mut sample = Map::new();
    let mut put = |key: &str, value: Value| sample.insert(key.to_owned(), value);
    put("id", json!(format!("{platform}:{repository}:{}", judged.comment)));
    put("diff", json!(judged.diff));
    put("text", json!(judged.text));
    put("task", json!("review"));
    put("label", json!(label));
    put("label_from", json!(from));
    put("generator", json!(judged.author));
    // what is said of one request is not divided among folds
    put("group", json!(format!("{platform}:{repository}:{}", judged.number)));
    put("verdict", json!(judged.verdict));
    put("thumbs_up", json!(counted.thumbs.1));
    put("thumbs_down", json!(counted.thumbs.0));
    put("resolved", json!(counted.is_resolved));
    put("path", json!(judged.path));
    put("line", json!(judged.line));
    Some(Value::Object(sample))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feedback(kind: &'static str, value: &str) -> Feedback {
        Feedback { comment: "1".to_owned(), kind, who: String::new(), value: value.to_owned() }
    }

    #[test]
    fn words_come_before_thumbs_and_thumbs_before_what_was_resolved() {
        let of = |feedback: &[Feedback]| Counted::of(feedback).label(Some(0));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[feedback("resolved", "yes")]), Some((0, "resolved")));
        assert_eq!(of(&[feedback("resolved", "no")]), None);
        assert_eq!(of(&[feedback("resolved", "yes"), feedback("thumbs", "0 1")]), Some((1, "thumbs")));
        assert_eq!(of(&[feedback("thumbs", "1 1"), feedback("resolved", "yes")]), None);
        assert_eq!(of(&[feedback("answer_thumbs", "2 0"), feedback("thumbs", "1 0")]), Some((1, "thumbs")));
        assert_eq!(of(&[feedback("thumb", "up"), feedback("thumb", "none")]), Some((0, "thumbs")));
        assert_eq!(of(&[feedback("thumbs", "5 0"), feedback("reply", "false")]), Some((1, "reply")));
        assert_eq!(Counted::of(&[feedback("resolved", "yes")]).label(None), None);
        let page = |who: &str, value: &str| Feedback { who: who.to_owned(), ..feedback("page", value) };
        assert_eq!(of(&[page("a", "true"), feedback("reply", "false"), feedback("thumbs", "0 5")]), Some((0, "page")));
        // two who differ say nothing, and nobody else speaks for them
        assert_eq!(of(&[page("a", "true"), page("b", "false"), feedback("reply", "false")]), None);
    }

    #[test]
    fn a_reply_says_it_in_words_of_its_own() {
        for (reply, expected) in [
            ("veridiff: false", Some("false")),
            ("  Veridiff: TRUE, it is.", Some("true")),
            ("veridiff: falsehood", None),
            ("this is veridiff: false", None),
            ("false", None),
        ] {
            assert_eq!(said(reply), expected, "{reply}");
        }
    }
}
