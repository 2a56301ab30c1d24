//! Checklists: a change has points that a review must raise, and a review is measured by how many it raises and by what it says
//! beside them.
//!
//! | file | owns |
//! |---|---|
//! | `files.rs`, `written.rs` | checklists and reviews in, with what is wrong in them; reviews that stay in their file |
//! | `passages.rs` | a review as passages; silent, empty and leaking ones |
//! | `quotes.rs` | where a quote stands in a text |
//! | `replies.rs` | a judge's reply becomes a count, verdicts of items or of passages, or is an error |
//! | `judge.rs`, `prompts.toml` | the three questions to a judge |
//! | `choosing.rs` | the same by how probable answers are, with nothing written |
//! | `entailed.rs` | items and claims by an encoder and a classifier, without any language model |
//! | `audit.rs` | a judge beside people: which pairs to look at, and what its coverage is worth |
//! | `judged.rs` | a review with all its verdicts: coverage, claims, silence |
//! | `baselines.rs` | the three generators that everybody can beat, or should |
//! | `figures.rs` | figures of generators: the published score, and those that say what it hides |
//! | `measure.rs` | sums by group, and the intervals of all figures |
//! | `likeness.rs` | BLEU-1 and ROUGE-L, as the named references have them |
//! | `reward.rs`, `emit.rs`, `columns.rs` | what a review is paid; data for trainers; Parquet as verl reads it |
//! | `build.rs` | checklists made of a comparison, a review or the change alone |
//! | `pipeline.rs` | cases made of pull requests that were merged |
//! | `tables.rs` | the figures as a page |

pub mod audit;
pub mod baselines;
pub mod build;
pub mod choosing;
pub mod columns;
pub mod emit;
pub mod entailed;
pub mod figures;
mod files;
pub mod judge;
pub mod judged;
pub mod likeness;
mod measure;
pub mod passages;
pub mod pipeline;
pub mod quotes;
pub mod replies;
pub mod reward;
pub mod tables;
mod written;

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use files::{Material, read_checklists, read_reviews};

/// One point that a review of the change has to raise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// Its number in the list, from 1.
    pub n: usize,
    /// What has to be said.
    pub text: String,
    /// What kind of point it is, if somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// How much it counts.
    #[serde(default = "one")]
    pub weight: f64,
    /// The line that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<ItemLine>,
    /// Whether a name or quoted code of it stands in the change or the code; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounded: Option<bool>,
}

fn one() -> f64 {
    1.0
}

/// A line of code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemLine {
    /// `before` or `after`.
    pub side: String,
    /// Its number in that file, from 1.
    pub number: usize,
    /// Its text.
    pub text: String,
}

/// The points of one case; a clean one has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checklist {
    /// The case.
    pub case: String,
    /// How it was made: `compare`, `review`, `direct`, or by hand.
    #[serde(default)]
    pub mode: Option<String>,
    /// Whether nothing is wrong with the change: then a review should raise nothing.
    #[serde(default)]
    pub clean: bool,
    /// The points, in order.
    #[serde(default)]
    pub items: Vec<Item>,
    /// The programming language of the change.
    #[serde(default)]
    pub language: Option<String>,
    /// Cases of one group are drawn together; by default each stands alone.
    #[serde(default)]
    pub group: Option<String>,
    /// What else the line has.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Checklist {
    /// How many points count: a clean case has one, that nothing is to be said.
    pub fn n(&self) -> usize {
        if self.clean { 1 } else { self.items.len() }
    }

    /// The words of all points.
    pub fn text(&self) -> String {
        if self.clean {
            NO_COMMENT.to_owned()
        } else {
            self.items.iter().map(|item| item.text.as_str()).collect::<Vec<_>>().join("\n")
        }
    }

    fn check(&self) -> Result<(), String> {
        let numbered = self.items.iter().enumerate().all(|(i, item)| item.n == i + 1);
        match self {
            c if c.clean && !c.items.is_empty() => Err("it is clean and has items".to_owned()),
            c if !c.clean && c.items.is_empty() => Err("it has no items and is not clean".to_owned()),
            c if c.items.iter().any(|item| item.text.trim().is_empty()) => Err("an item is blank".to_owned()),
            _ if !numbered => Err("items are not numbered from 1 in order".to_owned()),
            c if c.items.iter().any(|item| !(item.weight > 0.0 && item.weight.is_finite())) => {
                Err("a weight is not above 0".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// Has the items of these kinds count so much, and the others what they count by themselves.
pub fn weigh(lists: &mut [Checklist], weights: &BTreeMap<String, f64>) {
    for item in lists.iter_mut().flat_map(|list| &mut list.items) {
        if let Some(weight) = item.kind.as_ref().and_then(|kind| weights.get(kind)) {
            item.weight = *weight;
        }
    }
}

/// What a reviewer says who finds nothing.
pub const NO_COMMENT: &str = "No comment.";

/// All that one generator wrote about one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// What the row is called.
    pub id: String,
    /// The case; where a line of samples has none, its group.
    pub case: String,
    /// Who wrote it.
    pub generator: String,
    /// What was written; may be blank.
    pub text: String,
}

/// What is known of a case beside its checklist.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReviewCase {
    /// What it is called.
    pub id: String,
    /// The change under review.
    #[serde(default)]
    pub diff: String,
    /// The file before it.
    #[serde(default)]
    pub before: String,
    /// The file under review.
    #[serde(default)]
    pub after: String,
    /// What the change is for.
    #[serde(default)]
    pub description: Option<String>,
    /// What a review is compared with word by word.
    #[serde(default)]
    pub review: Option<String>,
    /// fix, feature, refactor, other.
    #[serde(default)]
    pub category: Option<String>,
    /// What else the line has.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a judge says of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemVerdict {
    /// The review names the defect or asks for the change.
    Asked,
    /// Some of it.
    Partly,
    /// It speaks of the same code without saying that anything is wrong.
    Described,
    /// It says the contrary.
    Opposed,
    /// Nothing of it.
    Absent,
}

/// What a judge says of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PassageVerdict {
    /// It claims nothing: a greeting, praise, a summary.
    None,
    /// The code bears it out.
    Supported,
    /// The code contradicts it, or it speaks of what is not shown.
    Unsupported,
    /// The code shown cannot decide.
    Unknown,
}

/// An item as it was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedItem {
    /// Its number.
    pub n: usize,
    /// What the judge said.
    pub verdict: ItemVerdict,
    /// The probability that it is asked for, where the judge gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Bytes of the review that show it.
    #[serde(default)]
    pub quote: Option<Range<usize>>,
    /// Whether the quote stands in the review; what is asked without that counts as described.
    #[serde(default)]
    pub quote_ok: bool,
}

impl JudgedItem {
    /// The verdict that counts: without a quote that stands in the review nothing is asked for.
    pub fn counted(&self) -> ItemVerdict {
        match self.verdict {
            ItemVerdict::Asked | ItemVerdict::Partly if !self.quote_ok => ItemVerdict::Described,
            verdict => verdict,
        }
    }
}

/// A passage as it was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedPassage {
    /// First byte in the review.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
    /// What the judge said.
    pub verdict: PassageVerdict,
    /// The line of code that bears it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Whether that line is in the code; what is supported without that is unknown.
    #[serde(default)]
    pub code_ok: bool,
}

impl JudgedPassage {
    /// The verdict that counts: without a line that is in the code nothing is supported.
    pub fn counted(&self) -> PassageVerdict {
        match self.verdict {
            PassageVerdict::Supported if !self.code_ok => PassageVerdict::Unknown,
            verdict => verdict,
        }
    }
}

/// Which question a row of verdicts answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// How many items are mentioned: one number, as the paper has it.
    Paper,
    /// What the review does with each item, with a quote.
    Items,
    /// What of the review the code bears out.
    Claims,
    /// One number from 0 to 10 for the whole review.
    Rating,
}

veridiff_text::named!(Metric, "metric", "paper" => Paper, "items" => Items, "claims" => Claims, "rating" => Rating);

/// One question about one review, answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewVerdict {
    /// The review.
    pub id: String,
    /// Its case.
    pub case: String,
    /// Who wrote it.
    pub generator: String,
    /// Who judged.
    pub judge: String,
    /// The hash of the prompt.
    #[serde(default)]
    pub template: String,
    /// Which question.
    pub metric: Metric,
    /// Which asking of the same, from 0.
    #[serde(default)]
    pub repeat: u32,
    /// `ok` or `error`.
    pub status: Status,
    /// Why there is no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The count as the judge gave it; it may be more than there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Whether the count stood among other words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub loose: bool,
    /// The items' verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<JudgedItem>,
    /// The passages' verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<JudgedPassage>,
    /// The reply as it came.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub raw: String,
    /// Tokens read, if the backend says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Tokens written, if the backend says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
}

/// Whether a row has what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It has.
    Ok,
    /// It has not; `error` says why.
    Error,
}
