//! Checklists made: of a comparison with what was accepted, of a review, or of the change alone.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use veridiff_judge::{
    backend::{Reply, Request},
    failure::Failure,
    recorder::Recorder,
};
use veridiff_text::{grounding::Words, named};

use super::{Checklist, Item, ItemLine, ReviewCase, passages::is_no_comment, replies};
use crate::ask::{Prompts, ask, object};

/// What a checklist is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The code under review and what was accepted in its place (the case's `merged`).
    Compare,
    /// A review that somebody wrote (the case's `review`).
    Review,
    /// The change alone.
    Direct,
}

named!(Mode, "mode", "compare" => Compare, "review" => Review, "direct" => Direct);

/// Who is asked, and in which words.
#[derive(Debug)]
pub struct Asker<'a> {
    /// What answers, and where its replies are kept.
    pub recorder: &'a Recorder,
    /// The prompts.
    pub prompts: &'a Prompts,
    /// What chance follows from.
    pub seed: u64,
}

impl Asker<'_> {
    /// The answer to one step.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn step<T>(
        &self,
        step: &str,
        data: &[(&str, &str)],
        read: impl Fn(&Reply) -> Result<T, String>,
    ) -> Result<T, String> {
        self.step_held(step, data, None, read)
    }

    /// The same, held to a form where the backend can.
    fn step_held<T>(
        &self,
        step: &str,
        data: &[(&str, &str)],
        schema: Option<Value>,
        read: impl Fn(&Reply) -> Result<T, String>,
    ) -> Result<T, String> {
        let template = self.prompts.step(step);
        let request = Request {
            seed: self.seed,
            schema,
            step: step.to_owned(),
            ..Request::of_user(template.fill(data), template.max_output)
        };
        ask(self.recorder, &request, read)
            .map(|(answer, _)| answer)
            .map_err(|failure: Failure| format!("{step}: {failure}"))
    }

    /// The answer as text, which is not blank.
    pub fn text(&self, step: &str, data: &[(&str, &str)]) -> Result<String, String> {
        self.step(step, data, |reply| match reply.content.trim() {
            "" => Err("the answer is blank".to_owned()),
            text => Ok(text.to_owned()),
        })
    }
}

/// A point as it was made, before it is looked up in the code.
#[derive(Debug, Default, Deserialize)]
struct Raw {
    text: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    line: Option<String>,
}

/// What was made of a case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Made {
    /// The checklist.
    pub list: Checklist,
    /// The review that it was made of, where there is one.
    pub review: Option<String>,
    /// Points that were left out, since nothing of them stands in the code.
    pub n_dropped: usize,
}

/// The checklist of a case. A review that has nothing to say makes it clean.
///
/// # Errors
/// What is missing or could not be answered, in words.
pub fn build(
    asker: &Asker<'_>,
    case: &ReviewCase,
    mode: Mode,
    deleak: bool,
    drop_ungrounded: bool,
) -> Result<Made, String> {
    let extra = |key: &str| case.extra.get(key).and_then(|value| value.as_str());
    let (raws, review) = match mode {
        Mode::Compare => {
            let merged = extra("merged").ok_or("the case has no `merged`")?;
            let mut review = asker.text("compare", &[("after", &case.after), ("merged", merged)])?;
            if deleak && !is_no_comment(&review) {
                review = asker.text("deleak", &[("review", &review)])?;
            }
            (of_review(asker, &review)?, Some(review))
        }
        Mode::Review => {
            let review = case.review.clone().ok_or("the case has no `review`")?;
            (of_review(asker, &review)?, Some(review))
        }
        Mode::Direct => {
            let description = case.description.as_deref().unwrap_or_default();
            let data = [("description", description), ("before", case.before.as_str()), ("diff", case.diff.as_str())];
            (asker.step_held("direct", &data, Some(form_of_direct()), |reply| direct(&reply.content))?, None)
        }
    };
    let n_all = raws.len();
    let mut items: Vec<Item> = raws.into_iter().map(|raw| item(case, raw)).collect();
    if drop_ungrounded {
        items.retain(|item| item.grounded == Some(true));
    }
    if n_all > 0 && items.is_empty() {
        return Err(format!("none of the {n_all} points names anything that stands in the code"));
    }
    let n_dropped = n_all - items.len();
    items.iter_mut().enumerate().for_each(|(i, item)| item.n = i + 1);
    let mut more = serde_json::Map::new();
    more.insert("n_dropped".into(), n_dropped.into());
    more.insert("backend".into(), asker.recorder.name().into());
    let list = Checklist {
        case: case.id.clone(),
        mode: Some(mode.name().to_owned()),
        clean: items.is_empty(),
        items,
        language: extra("language").map(str::to_owned),
        group: extra("group").map(str::to_owned),
        extra: more,
    };
    Ok(Made { list, review, n_dropped })
}

fn of_review(asker: &Asker<'_>, review: &str) -> Result<Vec<Raw>, String> {
    if is_no_comment(review) {
        return Ok(Vec::new());
    }
    let points = asker.step("checklist", &[("review", review)], |reply| replies::list(&reply.content))?;
    Ok(points.into_iter().map(|text| Raw { text, ..Raw::default() }).collect())
}

/// The form of points that are made of a change alone.
fn form_of_direct() -> Value {
    let text = json!({ "type": "string", "maxLength": 500 });
    let point = json!({
        "type": "object", "additionalProperties": false, "required": ["text", "kind", "line"],
        "properties": { "text": text, "kind": { "enum": ["defect", "risk", "style", "test", "docs"] }, "line": text },
    });
    json!({
        "type": "object", "additionalProperties": false, "required": ["items"],
        "properties": { "items": { "type": "array", "items": point, "maxItems": 64 } },
    })
}

/// `{"items": […]}`, which may be empty.
fn direct(reply: &str) -> Result<Vec<Raw>, String> {
    #[derive(Deserialize)]
    struct Answer {
        items: Vec<Raw>,
    }
    let answer: Answer = object(reply)?;
    match answer.items.iter().any(|raw| raw.text.trim().is_empty()) {
        true => Err("a point is blank".to_owned()),
        false => Ok(answer.items),
    }
}

/// A point with its line, if that is one, and whether anything that it names stands in the code.
fn item(case: &ReviewCase, raw: Raw) -> Item {
    let words = Words::of_text(&raw.text);
    let sources = [case.diff.as_str(), &case.before, &case.after];
    let mut names = words.words.iter().filter(|word| word.kind.is_name()).map(|word| &raw.text[word.span.clone()]);
    let is_named = names.any(|name| sources.iter().any(|source| source.contains(name)));
    let line = raw.line.as_deref().and_then(|line| exact_line(case, line));
    Item { n: 0, text: raw.text, kind: raw.kind, weight: 1.0, grounded: Some(is_named || line.is_some()), line }
}

fn exact_line(case: &ReviewCase, line: &str) -> Option<ItemLine> {
    let wanted = line.trim();
    let find = |side: &str, text: &str| {
        let number = text.lines().position(|known| known.trim() == wanted)? + 1;
        Some(ItemLine { side: side.to_owned(), number, text: wanted.to_owned() })
    };
    (!wanted.is_empty()).then(|| find("after", &case.after).or_else(|| find("before", &case.before)))?
}
